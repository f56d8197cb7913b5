#![no_main]

use std::io::{Cursor, Read as _};

use sweat::capture::source::decompress_source;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut text = Vec::new();
    let source = decompress_source(Box::new(Cursor::new(data.to_vec())));
    let read = source.take(1 << 22).read_to_end(&mut text);
    let is_packed = data.starts_with(&[0x1f, 0x8b]) || data.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    match read {
        Ok(_) if !is_packed => assert_eq!(text, data),
        Ok(_) => {}
        Err(e) => assert!(is_packed && e.to_string().starts_with("it is packed by "), "{e}"),
    }
});
