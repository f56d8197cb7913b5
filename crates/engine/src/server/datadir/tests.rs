//! Trees of real files in a temporary folder.

use super::*;
use crate::base::{Stop, StopReason};
use crate::client;

const PAGE: usize = 16 << 10;

/// A tree like a data folder: a big file with zeros in it, small ones, an empty one, a folder in a folder.
fn make(top: &Path) {
    std::fs::create_dir_all(top.join("db/empty")).unwrap();
    let mut big: Vec<u8> = (0..40 * PAGE + 5).map(|i| (i / PAGE % 251) as u8 + 1).collect();
    big[PAGE * 7..PAGE * 20].fill(0);
    std::fs::write(top.join("db/big.ibd"), big).unwrap();
    std::fs::write(top.join("small"), "abc").unwrap();
    std::fs::write(top.join("nothing"), "").unwrap();
    std::os::unix::fs::symlink("small", top.join("link")).unwrap();
}

fn read(top: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = list_entries(top).unwrap();
    let bytes = |e: &FolderEntry| {
        if e.kind.is_file() { std::fs::read(top.join(&e.path)).unwrap() } else { vec![] }
    };
    entries.iter().map(|e| (e.path.clone(), bytes(e))).collect()
}

#[test]
fn a_copy_is_equal_and_zeros_are_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    make(&from);
    let copied = copy_folder(&from, &to, &Stop::new()).unwrap();
    assert_eq!(read(&from), read(&to));
    assert_eq!(copied.files, 3);
    assert_eq!(copied.bytes_total, 40 * PAGE as u64 + 5 + 3);
    if copied.way == CopyMethod::Copy {
        assert_eq!(copied.bytes_written, 27 * PAGE as u64 + 5 + 3);
    }
}

#[test]
fn putting_back_writes_only_the_pages_that_differ() {
    let dir = tempfile::tempdir().unwrap();
    let (kept, data) = (dir.path().join("kept"), dir.path().join("data"));
    make(&data);
    let first = copy_folder(&data, &kept, &Stop::new()).unwrap();
    let before = read(&data);
    let mut big = std::fs::read(data.join("db/big.ibd")).unwrap();
    big[PAGE * 3] ^= 1;
    big[PAGE * 10 + 9] = 7;
    big.extend([9; 100_000]);
    std::fs::write(data.join("db/big.ibd"), big).unwrap();
    std::fs::create_dir(data.join("new")).unwrap();
    std::fs::write(data.join("new/table.ibd"), "x").unwrap();
    std::fs::remove_file(data.join("small")).unwrap();
    let back = restore_folder(&kept, &data, &Stop::new()).unwrap();
    assert_eq!(read(&data), before);
    if first.way == CopyMethod::Copy {
        assert_eq!(back.way, CopyMethod::PageDiff);
        assert_eq!(back.bytes_written, 2 * PAGE as u64 + 3);
    } else {
        assert_eq!(back.way, CopyMethod::Reflink);
    }
}

#[test]
fn a_lost_folder_is_copied_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (kept, data) = (dir.path().join("kept"), dir.path().join("data"));
    make(&kept);
    let back = restore_folder(&kept, &data, &Stop::new()).unwrap();
    assert_ne!(back.way, CopyMethod::PageDiff);
    assert_eq!(read(&data), read(&kept));
}

#[test]
fn a_manifest_sees_every_kind_of_difference() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let manifest = FolderManifest::from_folder(dir.path()).unwrap();
    manifest.verify_folder(dir.path()).unwrap();
    let complaint = || manifest.verify_folder(dir.path()).unwrap_err().to_string();
    std::fs::write(dir.path().join("small"), "abX").unwrap();
    assert_eq!(complaint(), "small has other contents");
    std::fs::write(dir.path().join("small"), "ab").unwrap();
    assert_eq!(complaint(), "small has 2 bytes instead of 3");
    std::fs::remove_file(dir.path().join("small")).unwrap();
    assert_eq!(complaint(), "small is missing");
    std::fs::write(dir.path().join("small"), "abc").unwrap();
    std::fs::write(dir.path().join("db/more"), "").unwrap();
    assert_eq!(complaint(), "db/more should not be there");
}

#[test]
fn copying_stops_when_told() {
    let dir = tempfile::tempdir().unwrap();
    make(&dir.path().join("from"));
    let stop = Stop::new();
    stop.set(StopReason::Interrupted);
    let result = copy_folder(&dir.path().join("from"), &dir.path().join("to"), &stop);
    // Where the blocks are shared, nothing long is done that could be stopped.
    match result {
        Ok(copied) => assert_eq!(copied.way, CopyMethod::Reflink),
        Err(e) => assert!(matches!(e.downcast_ref(), Some(client::Error::Abandoned)), "{e:#}"),
    }
}
