//! What a NATS server sends, in pieces: nothing breaks, and however the bytes come they mean the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sweat::client::scan_nats_frames;

fuzz_target!(|data: &[u8]| {
    let Some((how, frames)) = data.split_first() else { return };
    let whole = scan_nats_frames(frames, frames.len());
    assert_eq!(whole, scan_nats_frames(frames, 1 + usize::from(*how)));
});
