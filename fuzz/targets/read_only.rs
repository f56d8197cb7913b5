#![no_main]

use sweat::capture::read_only::{Allowed, Ruling, rule};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let allowed = Allowed::default();
    // What may be sent is still what may be sent when it is looked at again as it is sent.
    match rule(data, &allowed) {
        Ruling::Read(sent) => {
            let again = rule(&sent, &allowed);
            assert!(matches!(again, Ruling::Read(_)), "{again:?}");
        }
        Ruling::Set(sent) => {
            let again = rule(&sent, &allowed);
            assert!(matches!(again, Ruling::Set(_)), "{again:?}");
        }
        _ => {}
    }
});
