#![no_main]

#[path = "../../crates/engine/src/warm/hotset/condition_tokens.rs"]
mod condition_tokens;

use std::path::PathBuf;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let path = PathBuf::from(format!("/dev/shm/sweat-fuzz-{}", std::process::id()));
    std::fs::write(&path, data).expect("memory takes a small file");
    let read = sweat::warm::hotset::read_hot_set(&path);
    let _ = std::fs::remove_file(&path);
    if let Ok(hot) = read {
        for condition in sweat::warm::hotset::all_conditions(&hot) {
            assert!(condition_tokens::are_tokens_known(&condition), "{condition}");
        }
        sweat::warm::hotset::write_hot_set(&hot, &path).expect("what was read can be written");
        let again = sweat::warm::hotset::read_hot_set(&path).expect("and read again");
        let _ = std::fs::remove_file(&path);
        assert_eq!(format!("{hot:?}"), format!("{again:?}"));
    }
});
