#![no_main]

use sweat::capture::read_only::{Allowed, Ruling, rule};
use sweat::capture::writes::read_half;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let allowed = Allowed::default();
    // The read half of a write is nothing but a read.
    if let Some(half) = read_half(data, &allowed) {
        let ruling = rule(&half, &allowed);
        assert!(matches!(ruling, Ruling::Read(_)), "{}: {ruling:?}", half.escape_ascii());
    }
});
