#![no_main]

use std::path::PathBuf;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let path = PathBuf::from(format!("/dev/shm/sweat-fuzz-{}", std::process::id()));
    std::fs::write(&path, data).expect("memory takes a small file");
    let read = sweat::warm::hotset::read(&path);
    let _ = std::fs::remove_file(&path);
    if let Ok(hot) = read {
        sweat::warm::hotset::write(&hot, &path).expect("what was read can be written");
        let again = sweat::warm::hotset::read(&path).expect("and read again");
        let _ = std::fs::remove_file(&path);
        assert_eq!(format!("{hot:?}"), format!("{again:?}"));
    }
});
