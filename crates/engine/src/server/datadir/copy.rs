//! Copies a folder, and puts a copy back in place.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use anyhow::Context as _;

use crate::base::{Clock as _, RealClock, Stop};
use crate::client;

use super::{CopyMethod, CopyResult, FolderEntry, list_entries};

/// Part of a file that one thread does at a time, bytes.
const PART: u64 = 16 << 20;
/// What is read at once, bytes.
const BLOCK: usize = 1 << 20;
/// What is compared and written as one, bytes: InnoDB's page.
const PAGE: usize = 16 << 10;
/// A page of nothing.
static ZEROS: [u8; PAGE] = [0; PAGE];
/// Most threads that copy: more don't help a disk, and the machine has other things to do.
const THREADS: usize = 4;

/// One part of one file.
struct FilePart {
    from: PathBuf,
    to: PathBuf,
    start: u64,
    end: u64,
}

/// Copies the folder `from` to `to`, which must not exist.
///
/// # Errors
/// When something can't be read or written, or `stop` is set.
pub(in crate::server) fn copy_folder(
    from: &Path,
    to: &Path,
    stop: &Stop,
) -> anyhow::Result<CopyResult> {
    let clock = RealClock::start_now();
    let entries = list_entries(from)?;
    make_folder(to)?;
    let (way, bytes_written) = copy_entries(from, to, &entries, stop)?;
    Ok(CopyResult {
        way,
        files: count_files(&entries),
        bytes_total: entries.iter().map(|e| e.length).sum(),
        bytes_written,
        seconds: clock.now().to_seconds(),
    })
}

/// Makes the folder `to` equal to the copy `from`.
///
/// # Errors
/// When something can't be read or written, or `stop` is set: then `to` is neither the one nor the other.
pub(in crate::server) fn restore_folder(
    from: &Path,
    to: &Path,
    stop: &Stop,
) -> anyhow::Result<CopyResult> {
    let clock = RealClock::start_now();
    let wanted = list_entries(from)?;
    let present = if to.exists() { list_entries(to)? } else { Vec::new() };
    make_folder(to)?;
    let reflink = wanted.iter().find(|e| e.length > 0).is_some_and(|e| can_reflink(from, to, e));
    let (way, bytes_written) = if reflink || !present.iter().any(|e| e.length > 0) {
        clear_folder(to)?;
        copy_entries(from, to, &wanted, stop)?
    } else {
        (CopyMethod::PageDiff, patch_entries(from, to, &wanted, &present, stop)?)
    };
    Ok(CopyResult {
        way,
        files: count_files(&wanted),
        bytes_total: wanted.iter().map(|e| e.length).sum(),
        bytes_written,
        seconds: clock.now().to_seconds(),
    })
}

fn count_files(entries: &[FolderEntry]) -> u64 {
    entries.iter().filter(|e| e.kind.is_file()).count() as u64
}

/// Copies all entries into the empty folder `to`; gives how, and the bytes written.
fn copy_entries(
    from: &Path,
    to: &Path,
    entries: &[FolderEntry],
    stop: &Stop,
) -> anyhow::Result<(CopyMethod, u64)> {
    let first = entries.iter().find(|e| e.length > 0);
    let reflink = first.is_some_and(|entry| can_reflink(from, to, entry));
    let mut parts = Vec::new();
    for entry in entries {
        let (source, goal) = (from.join(&entry.path), to.join(&entry.path));
        if entry.kind.is_dir() {
            make_folder(&goal)?;
        } else if entry.kind.is_symlink() {
            copy_link(&source, &goal)?;
        } else if reflink && entry.length > 0 {
            reflink_file(&source, &goal)
                .with_context(|| format!("share the blocks of {}", source.display()))?;
        } else {
            make_file(&source, &goal)
                .with_context(|| format!("make {} of {} bytes", goal.display(), entry.length))?;
            parts.extend(split_file(&source, &goal, entry.length));
        }
    }
    let written = run_parts(&parts, stop, copy_part)?;
    Ok((if reflink { CopyMethod::Reflink } else { CopyMethod::Copy }, written))
}

/// Changes the present files in place where they differ; gives the bytes written.
fn patch_entries(
    from: &Path,
    to: &Path,
    wanted: &[FolderEntry],
    present: &[FolderEntry],
    stop: &Stop,
) -> anyhow::Result<u64> {
    // Children come after their parents, so going backwards empties folders before they are removed.
    for entry in present.iter().rev() {
        let stays = wanted.iter().any(|w| w.path == entry.path && w.kind == entry.kind);
        if !stays {
            let path = to.join(&entry.path);
            let gone = if entry.kind.is_dir() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
            gone.with_context(|| format!("remove {}", path.display()))?;
        }
    }
    let mut parts = Vec::new();
    for entry in wanted {
        let (source, goal) = (from.join(&entry.path), to.join(&entry.path));
        if entry.kind.is_dir() {
            make_folder(&goal)?;
        } else if entry.kind.is_symlink() {
            let _ = std::fs::remove_file(&goal);
            copy_link(&source, &goal)?;
        } else {
            if goal.exists() {
                let file = open_to_write(&goal)?;
                file.set_len(entry.length).with_context(|| format!("cut {}", goal.display()))?;
            } else {
                make_file(&source, &goal).with_context(|| format!("make {}", goal.display()))?;
            }
            parts.extend(split_file(&source, &goal, entry.length));
        }
    }
    run_parts(&parts, stop, patch_part)
}

/// Does all parts on a few threads; gives the bytes written, or the first error.
fn run_parts(
    parts: &[FilePart],
    stop: &Stop,
    part: fn(&FilePart, &Stop) -> anyhow::Result<u64>,
) -> anyhow::Result<u64> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (next, written) = (AtomicUsize::new(0), AtomicU64::new(0));
    let failed: Mutex<Option<anyhow::Error>> = Mutex::new(None);
    let has_failed = || failed.lock().map_or(true, |f| f.is_some());
    std::thread::scope(|scope| {
        for _ in 0..cores.min(THREADS).min(parts.len()) {
            scope.spawn(|| {
                while !has_failed() {
                    let Some(job) = parts.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    match part(job, stop) {
                        Ok(bytes) => {
                            written.fetch_add(bytes, Ordering::Relaxed);
                        }
                        Err(e) => {
                            let e = e.context(format!("copy to {}", job.to.display()));
                            if let Ok(mut first) = failed.lock() {
                                first.get_or_insert(e);
                            }
                        }
                    }
                }
            });
        }
    });
    match failed.into_inner() {
        Ok(None) => Ok(written.into_inner()),
        Ok(Some(e)) => Err(e),
        Err(_) => anyhow::bail!("a thread that copied files has panicked"),
    }
}

fn split_file(from: &Path, to: &Path, length: u64) -> Vec<FilePart> {
    (0..length.div_ceil(PART))
        .map(|i| FilePart {
            from: from.to_owned(),
            to: to.to_owned(),
            start: i * PART,
            end: ((i + 1) * PART).min(length),
        })
        .collect()
}

/// Copies what isn't zero: the new file reads as zeros already.
fn copy_part(part: &FilePart, stop: &Stop) -> anyhow::Result<u64> {
    let from = File::open(&part.from).context("open the source")?;
    let to = open_to_write(&part.to)?;
    let mut buffer = vec![0; BLOCK];
    let mut written = 0;
    each_block(part, stop, |at, length| {
        let block = &mut buffer[..length];
        from.read_exact_at(block, at)?;
        // Runs of pages that hold something go out in one write each.
        let mut page = 0;
        while page < length {
            let full = |p: usize| {
                let end = (p + PAGE).min(length);
                block[p..end] != ZEROS[..end - p]
            };
            let begin = page;
            while page < length && full(page) {
                page += PAGE;
            }
            let end = page.min(length);
            if end > begin {
                to.write_all_at(&block[begin..end], at + begin as u64)?;
                written += (end - begin) as u64;
            }
            page += PAGE;
        }
        Ok(())
    })?;
    Ok(written)
}

/// Writes the pages that differ, and waits until they are on disk.
fn patch_part(part: &FilePart, stop: &Stop) -> anyhow::Result<u64> {
    let from = File::open(&part.from).context("open the source")?;
    let to = OpenOptions::new().read(true).write(true).open(&part.to).context("open to write")?;
    let (mut wanted, mut present) = (vec![0; BLOCK], vec![0; BLOCK]);
    let mut written = 0;
    each_block(part, stop, |at, length| {
        from.read_exact_at(&mut wanted[..length], at)?;
        to.read_exact_at(&mut present[..length], at)?;
        for begin in (0..length).step_by(PAGE) {
            let end = (begin + PAGE).min(length);
            if wanted[begin..end] != present[begin..end] {
                to.write_all_at(&wanted[begin..end], at + begin as u64)?;
                written += (end - begin) as u64;
            }
        }
        Ok(())
    })?;
    if written > 0 {
        to.sync_data().context("wait for the disk")?;
    }
    Ok(written)
}

fn each_block(
    part: &FilePart,
    stop: &Stop,
    mut block: impl FnMut(u64, usize) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut at = part.start;
    while at < part.end {
        if stop.is_set() {
            return Err(client::Error::Abandoned.into());
        }
        let length = (part.end - at).min(BLOCK as u64);
        block(at, length as usize)?;
        at += length;
    }
    Ok(())
}

fn open_to_write(path: &Path) -> anyhow::Result<File> {
    OpenOptions::new()
        .write(true)
        .open(path)
        .with_context(|| format!("open {} to write", path.display()))
}

/// Makes a file of the source's length that reads as zeros. Its space is set aside as servers do for theirs, unless
/// the source has holes on purpose (compressed pages).
fn make_file(source: &Path, goal: &Path) -> io::Result<()> {
    let meta = source.metadata()?;
    let file =
        OpenOptions::new().write(true).create_new(true).mode(meta.mode() & 0o777).open(goal)?;
    file.set_len(meta.len())?;
    #[cfg(target_os = "linux")]
    {
        let dense = meta.blocks() * 512 >= meta.len();
        if dense && meta.len() > 0 {
            use rustix::fs::{FallocateFlags, fallocate};
            match fallocate(&file, FallocateFlags::empty(), 0, meta.len()) {
                Err(e) if e == rustix::io::Errno::NOSPC => return Err(e.into()),
                // Not every file system can; then the space is taken as it is written.
                _ => {}
            }
        }
    }
    Ok(())
}

fn make_folder(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            Err(e).with_context(|| format!("make the folder {}", path.display()))
        }
        _ => Ok(()),
    }
}

fn copy_link(source: &Path, goal: &Path) -> anyhow::Result<()> {
    std::fs::read_link(source)
        .and_then(|to| std::os::unix::fs::symlink(to, goal))
        .with_context(|| format!("copy the link {}", source.display()))
}

/// Removes everything in a folder.
fn clear_folder(folder: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry.with_context(|| format!("list {}", folder.display()))?.path();
        let gone = if path.is_dir() && !path.is_symlink() {
            std::fs::remove_dir_all(&path)
        } else {
            std::fs::remove_file(&path)
        };
        gone.with_context(|| format!("remove {}", path.display()))?;
    }
    Ok(())
}

/// Whether the file system can share blocks between the two folders: tried with one file.
fn can_reflink(from: &Path, to: &Path, entry: &FolderEntry) -> bool {
    let trial = to.join(".reflink");
    let shared = reflink_file(&from.join(&entry.path), &trial).is_ok();
    let _ = std::fs::remove_file(&trial);
    shared
}

#[cfg(target_os = "linux")]
fn reflink_file(source: &Path, goal: &Path) -> io::Result<()> {
    let from = File::open(source)?;
    let mode = from.metadata()?.mode() & 0o777;
    let to = OpenOptions::new().write(true).create_new(true).mode(mode).open(goal)?;
    Ok(rustix::fs::ioctl_ficlone(&to, &from)?)
}

#[cfg(not(target_os = "linux"))]
fn reflink_file(_source: &Path, _goal: &Path) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
