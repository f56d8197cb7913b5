#![no_main]

use sweat::workload::mix::{import_mix, rehearse_text};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A file is refused with its mistakes, or its events can be shown.
    match rehearse_text(text) {
        Ok(lines) => assert!(!lines.is_empty()),
        Err(mistakes) => assert!(!mistakes.0.is_empty()),
    }
    // What another tool's file becomes can be read.
    for name in ["x.smack", "x.sql", "workloada"] {
        let _ = import_mix(name, text);
    }
});
