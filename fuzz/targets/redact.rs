#![no_main]

use sweat::capture::redact::{redacted_text, redacted_digest};

/// A secret behind its words, before anything.
const BEGINS: &[&str] = &[
    "alter user u identified by 'hunter2' ",
    "alter user u identified\n/* it's */ via x using 0x68756e746572 -- ",
    "set  password = \"hunter2\" /*",
    "change master to master_password='hunter2', master_host=",
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let out = redacted_text(data, 1_000);
    assert!(out.len() <= 1_000 * 12 + 100, "what is hidden takes little");
    for begin in BEGINS {
        let mut text = begin.as_bytes().to_vec();
        text.extend_from_slice(data);
        for shown in [redacted_text(&text, 4_000), redacted_digest(&text)] {
            assert!(!shown.contains("hunter2") || find(data, b"hunter2"), "{shown}");
            assert!(!shown.contains("68756e746572") || find(data, b"68756e746572"), "{shown}");
        }
    }
});

fn find(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}
