#![no_main]

use sweat::plan::Trigger;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // What is read can be written and read again; what is not says why.
    match Trigger::parse(text) {
        Ok(trigger) => assert_eq!(Trigger::parse(&trigger.to_string()), Ok(trigger)),
        Err(error) => assert!(!error.to_string().is_empty() && !error.hint.is_empty()),
    }
});
