#![no_main]

use sweat::capture::read_only::{AllowList, FilterDecision, filter_statement};
use sweat::capture::writes::read_half;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let allowed = AllowList::default();
    // The read half of a write is nothing but a read.
    if let Some(half) = read_half(data, &allowed) {
        let ruling = filter_statement(&half, &allowed);
        assert!(matches!(ruling, FilterDecision::Read(_)), "{}: {ruling:?}", half.escape_ascii());
    }
});
