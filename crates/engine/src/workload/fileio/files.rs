//! The test files: made, found, removed. No file that is not ours is opened for writing or removed: ours have the size that
//! was asked for, or a note beside them says that `prepare` was making them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::options::{FileAccess, FileMode, FileOptions};
use crate::base::mapping::MemoryMapping;
use crate::base::random::Rng;
use crate::plan::{Mistake, Mistakes};
use crate::workload::{DataJob, JobProgress};

/// Bytes that are written at once when files are made.
const CHUNK: usize = 1 << 20;
/// Says which files are ours while they are not complete, and of which size they will be.
const NOTE: &str = ".sweat-fileio";

/// A test file, open.
pub(super) struct TestFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) mapping: Option<MemoryMapping>,
}

/// Where a file is, as sysbench names them: each tool can use the other's.
fn file_path(dir: &Path, file: u64) -> PathBuf {
    dir.join(format!("test_file.{file}"))
}

/// What the note in a folder says: how many files, and of how many bytes.
fn read_note(dir: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(dir.join(NOTE)).ok()?;
    let (files, bytes) = text.trim().split_once(' ')?;
    Some((files.parse().ok()?, bytes.parse().ok()?))
}

/// Notes that so many files of this size are ours.
fn write_note(dir: &Path, files: u64, bytes: u64) -> anyhow::Result<()> {
    let path = dir.join(NOTE);
    let mut open = OpenOptions::new();
    open.write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let written = open.open(&path).and_then(|mut note| writeln!(note, "{files} {bytes}"));
    written.map_err(|error| explain_failure("make", &path, &error))
}

/// The length of a regular file; `None` if nothing is there.
fn length_of(path: &Path) -> Result<Option<u64>, Mistake> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => Ok(Some(meta.len())),
        Ok(_) => Err(Mistake::new(path.display().to_string(), "this is not a regular file")
            .hint("choose another --dir")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Mistake::new(path.display().to_string(), error.to_string())
            .hint("choose a --dir that you may read and write")),
    }
}

/// What went wrong with a file while it was made, with what to do.
fn explain_failure(doing: &str, path: &Path, error: &io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room, choose another --dir or a smaller --total-size; `cleanup` removes what was \
             made"
        }
        ErrorKind::PermissionDenied => "choose a --dir that you may read and write",
        ErrorKind::NotFound => "make the folder first, or choose another --dir",
        ErrorKind::InvalidInput => "the file system may not support --open-flags=direct",
        _ => "see what the system says, in `dmesg` for one",
    };
    anyhow::anyhow!("{doing} {}: {error}\nhint: {hint}", path.display())
}

/// The files that are not there or not complete, with the bytes that they have.
///
/// # Errors
/// All files that are not ours, together.
fn missing_files(options: &FileOptions) -> anyhow::Result<Vec<(u64, u64)>> {
    let FileOptions { dir, files, file_bytes, .. } = options;
    let noted = read_note(dir) == Some((*files, *file_bytes));
    let (mut missing, mut mistakes) = (Vec::new(), Vec::new());
    for file in 0..*files {
        let path = file_path(dir, file);
        match length_of(&path) {
            Ok(Some(bytes)) if bytes == *file_bytes => {}
            Ok(Some(bytes)) if noted && bytes < *file_bytes => missing.push((file, bytes)),
            Ok(None) => missing.push((file, 0)),
            Ok(Some(bytes)) => {
                let why = format!("this file has {bytes} bytes, a test file has {file_bytes}");
                mistakes.push(Mistake::new(path.display().to_string(), why).hint(
                    "choose another --dir, or remove it: `cleanup` does, with the --total-size \
                     and --file-count that it was made with",
                ));
            }
            Err(mistake) => mistakes.push(mistake),
        }
        if mistakes.len() == 3 {
            break;
        }
    }
    Mistakes::check(mistakes)?;
    Ok(missing)
}

/// Makes the files, or what is missing of them.
///
/// # Errors
/// When files there are not ours, or the disk refuses.
pub(super) fn prepare_files(options: &FileOptions, job: &mut DataJob<'_>) -> anyhow::Result<()> {
    let FileOptions { dir, files, file_bytes, .. } = options;
    let missing = missing_files(options)?;
    let bytes: u64 = missing.iter().map(|(_, there)| file_bytes - there).sum();
    check_room(dir, bytes)?;
    let total = files * file_bytes;
    let mut done = total - bytes;
    if !missing.is_empty() {
        write_note(dir, *files, *file_bytes)?;
    }
    let mut report = |done| {
        let label = format!("{} files", options.files);
        (job.progress)(JobProgress { label, done, total, unit: "bytes" });
    };
    report(done);
    for (file, there) in missing {
        let path = file_path(dir, file);
        let mut made = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)
            .map_err(|error| explain_failure("make", &path, &error))?;
        let mut rng = Rng::new(job.seed, file, 1);
        let mut chunk = vec![0; CHUNK];
        let mut left = file_bytes - there;
        while left > 0 {
            if job.stop.is_set() {
                return Ok(());
            }
            let part = &mut chunk[..left.min(CHUNK as u64) as usize];
            if !options.zeros {
                rng.fill_bytes(part);
            }
            made.write_all(part).map_err(|error| explain_failure("write", &path, &error))?;
            left -= part.len() as u64;
            done += part.len() as u64;
            report(done);
        }
        // What is still to be written would disturb the load.
        made.sync_all().map_err(|error| explain_failure("write", &path, &error))?;
    }
    Ok(())
}

/// Whether the file system has so much room; where it does not say, writing will.
fn check_room(dir: &Path, bytes: u64) -> Result<(), Mistake> {
    let Ok(system) = rustix::fs::statvfs(dir) else { return Ok(()) };
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    if bytes <= free {
        return Ok(());
    }
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    let why = format!(
        "the files need {} MiB more, and {} has {} MiB free",
        mebibytes(bytes),
        dir.display(),
        mebibytes(free)
    );
    Err(Mistake::new("--total-size", why).hint("a smaller --total-size, or another --dir"))
}

/// Looks whether all files are there. A load that writes them anew makes those that are missing.
///
/// # Errors
/// Says what is missing, and how it is made.
pub(super) fn check_files(options: &FileOptions) -> anyhow::Result<()> {
    let missing = missing_files(options)?;
    if options.mode == FileMode::WriteNew {
        return Ok(check_room(&options.dir, missing.iter().map(|_| options.file_bytes).sum())?);
    }
    let Some((first, there)) = missing.first() else { return Ok(()) };
    let path = file_path(&options.dir, *first);
    let why = if *there > 0 { "this file is not complete" } else { "there is no such file" };
    let hint = options.prepare_command("prepare");
    Err(Mistake::new(path.display().to_string(), why).hint(hint).into())
}

/// Opens all files for a load.
///
/// # Errors
/// When one can't be opened.
pub(super) fn open_files(options: &FileOptions) -> anyhow::Result<Vec<TestFile>> {
    let FileOptions { dir, files, file_bytes, mode, flags, access, .. } = options;
    let anew = *mode == FileMode::WriteNew;
    if anew {
        missing_files(options)?;
        write_note(dir, *files, *file_bytes)?;
    }
    let mut bits = libc::O_NOFOLLOW;
    bits |= if flags.sync { libc::O_SYNC } else { 0 };
    bits |= if flags.dsync { libc::O_DSYNC } else { 0 };
    bits |= if flags.direct { direct_flag() } else { 0 };
    let open = |file| {
        let path = file_path(dir, file);
        let mut open = OpenOptions::new();
        open.read(true).write(mode.writes()).create(anew).truncate(anew).mode(0o600);
        let opened = open.custom_flags(bits).open(&path);
        let file = opened.map_err(|error| explain_failure("open", &path, &error))?;
        let mut mapping = None;
        if *access == FileAccess::Pages {
            if anew {
                file.set_len(*file_bytes)
                    .map_err(|error| explain_failure("make", &path, &error))?;
            }
            let bytes = usize::try_from(*file_bytes).unwrap_or(usize::MAX);
            let mapped = MemoryMapping::of_file(&file, bytes, mode.writes());
            mapping = Some(mapped.map_err(|error| explain_failure("map", &path, &error))?);
        }
        Ok(TestFile { file, path, mapping })
    };
    (0..*files).map(open).collect()
}

#[cfg(target_os = "linux")]
fn direct_flag() -> libc::c_int {
    libc::O_DIRECT
}

#[cfg(not(target_os = "linux"))]
fn direct_flag() -> libc::c_int {
    0
}

/// Removes the files, of the size that the note says or was asked for.
///
/// # Errors
/// When there are others under their names, of which none is removed; or when the system refuses.
pub(super) fn remove_files(options: &FileOptions) -> anyhow::Result<()> {
    let noted = read_note(&options.dir);
    let (files, bytes) = noted.unwrap_or((options.files, options.file_bytes));
    let (mut ours, mut mistakes) = (Vec::new(), Vec::new());
    for file in 0..files {
        let path = file_path(&options.dir, file);
        match length_of(&path) {
            Ok(None) => {}
            Ok(Some(length)) if length == bytes || noted.is_some() && length < bytes => {
                ours.push(path);
            }
            Ok(Some(length)) => {
                let why = format!("this file has {length} bytes, a test file has {bytes}");
                let hint = "give the --total-size and --file-count that it was made with, or \
                            remove it yourself";
                mistakes.push(Mistake::new(path.display().to_string(), why).hint(hint));
            }
            Err(mistake) => mistakes.push(mistake),
        }
        if mistakes.len() == 3 {
            break;
        }
    }
    Mistakes::check(mistakes)?;
    if noted.is_some() {
        ours.push(options.dir.join(NOTE));
    }
    for path in ours {
        fs::remove_file(&path).map_err(|error| explain_failure("remove", &path, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Stop, StopReason};
    use crate::plan::Options;
    use crate::workload::fileio::options::option_specs;

    fn options(dir: &Path, given: &[(&str, &str)]) -> FileOptions {
        let dir = dir.to_str().unwrap();
        let small = [("dir", dir), ("total-size", "96K"), ("file-count", "3")];
        let given: Vec<_> =
            small.iter().chain(given).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        FileOptions::from_options(&Options::from_given(&option_specs(), &given).unwrap()).unwrap()
    }

    fn prepare(options: &FileOptions, stop: &Stop) -> anyhow::Result<()> {
        let progress = &mut |_: JobProgress| {};
        prepare_files(options, &mut DataJob { threads: 1, seed: 7, stop, progress })
    }

    fn why(result: anyhow::Result<()>) -> String {
        format!("{:#}", result.expect_err("this must be refused"))
    }

    #[test]
    fn files_are_made_found_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path(), &[]);
        assert!(why(check_files(&options)).ends_with("test_file.0: there is no such file"));
        fs::write(dir.path().join("test_file.9"), "mine").unwrap();
        prepare(&options, &Stop::new()).unwrap();
        check_files(&options).unwrap();
        for file in 0..3 {
            let bytes = fs::read(file_path(dir.path(), file)).unwrap();
            assert_eq!(bytes.len(), 32 << 10);
            assert!(bytes.iter().filter(|byte| **byte == 0).count() < 500, "it compresses");
        }
        // A second time nothing is to be made; removing takes what is ours.
        prepare(&options, &Stop::new()).unwrap();
        remove_files(&options).unwrap();
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1);
        assert_eq!(fs::read_to_string(left[0].path()).unwrap(), "mine");
    }

    #[test]
    fn a_file_that_is_not_ours_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("test_file.1");
        fs::write(&theirs, "precious").unwrap();
        for given in [&[][..], &[("mode", "seqwr")]] {
            let options = options(dir.path(), given);
            for refused in [
                prepare(&options, &Stop::new()),
                check_files(&options),
                remove_files(&options),
                open_files(&FileOptions { mode: FileMode::WriteNew, ..options }).map(|_| ()),
            ] {
                assert!(why(refused).contains("this file has 8 bytes, a test file has 32768"));
            }
        }
        fs::remove_file(&theirs).unwrap();
        std::os::unix::fs::symlink("/dev/null", &theirs).unwrap();
        assert!(why(prepare(&options(dir.path(), &[]), &Stop::new())).contains("not a regular"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_was_interrupted_is_continued_or_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (options, stop) = (options(dir.path(), &[("zeros", "on")]), Stop::new());
        stop.set(StopReason::Interrupted);
        prepare(&options, &stop).unwrap();
        assert!(why(check_files(&options)).contains("test_file.0"));
        fs::write(dir.path().join("test_file.0"), [0; 1000]).unwrap();
        assert!(why(check_files(&options)).contains("not complete"));
        prepare(&options, &Stop::new()).unwrap();
        check_files(&options).unwrap();
        // Another size is told by the note.
        remove_files(&FileOptions { files: 2, file_bytes: 512, ..options }).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_does_not_fit_the_disk_is_refused_before() {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path(), &[("total-size", "9000T")]);
        assert!(why(prepare(&options, &Stop::new())).contains("MiB more, and "));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let full = io::Error::from(ErrorKind::StorageFull);
        let told = explain_failure("write", Path::new("x"), &full).to_string();
        assert!(told.starts_with("write x: ") && told.contains("\nhint: make room"), "{told}");
    }
}
