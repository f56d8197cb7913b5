#![no_main]

use sweat::capture::digest::write_digest;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (mut first, mut again) = (b"old".to_vec(), Vec::new());
    write_digest(data, &mut first);
    assert!(first.len() <= data.len() + 1, "a digest is no longer than its statement");
    assert!(!first.ends_with(b" "));
    write_digest(data, &mut again);
    assert_eq!(first, again);
});
