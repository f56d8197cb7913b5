#![no_main]
mod logs;

libfuzzer_sys::fuzz_target!(|data: &[u8]| logs::check(data));
