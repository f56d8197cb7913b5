#![no_main]

use sweat::capture::redact::redacted;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let out = redacted(data, 1_000);
    assert!(out.len() <= 1_000 * 12 + 100, "what is hidden takes little");
    // A secret behind its word, before and after anything.
    let mut text = b"alter user u identified by 'hunter2' ".to_vec();
    text.extend_from_slice(data);
    assert!(!redacted(&text, 4_000).contains("hunter2"));
});
