//! Frames of HTTP/2 servers, in pieces: nothing breaks, and however the bytes come they mean the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sweat::client::scan_frames;

/// The settings that a connection begins with, so that the rest is looked at.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

fuzz_target!(|data: &[u8]| {
    let Some((how, frames)) = data.split_first() else { return };
    let bytes = match how & 0x80 {
        0 => [&SETTINGS, frames].concat(),
        _ => frames.to_vec(),
    };
    let whole = scan_frames(&bytes, bytes.len());
    assert_eq!(whole, scan_frames(&bytes, 1 + usize::from(how & 0x7F)));
});
