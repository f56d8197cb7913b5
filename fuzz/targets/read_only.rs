#![no_main]

use sweat::capture::read_only::{AllowList, FilterDecision, filter_statement};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let allowed = AllowList::default();
    // What may be sent is still what may be sent when it is looked at again as it is sent.
    match filter_statement(data, &allowed) {
        FilterDecision::Read(sent) => {
            let again = filter_statement(&sent, &allowed);
            assert!(matches!(again, FilterDecision::Read(_)), "{again:?}");
        }
        FilterDecision::Set(sent) => {
            let again = filter_statement(&sent, &allowed);
            assert!(matches!(again, FilterDecision::Set(_)), "{again:?}");
        }
        _ => {}
    }
});
