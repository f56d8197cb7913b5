//! What `fileio` can be told.

use std::path::PathBuf;

use crate::plan::{Mistake, OptionKind, OptionSpec, Options};
use crate::workload::local::{byte_count, count_between};

/// Most test files.
const MOST_FILES: u64 = 1 << 20;
/// Sectors of disks: what direct access is a multiple of.
const SECTOR: u64 = 512;

/// What is done with the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileMode {
    /// Writes them anew, in order.
    WriteNew,
    /// Writes over them, in order.
    Overwrite,
    /// Reads them in order.
    Read,
    ReadRandom,
    WriteRandom,
    /// Reads and writes at random.
    MixRandom,
}

impl FileMode {
    const NAMES: [(&'static str, FileMode); 6] = [
        ("seqwr", FileMode::WriteNew),
        ("seqrewr", FileMode::Overwrite),
        ("seqrd", FileMode::Read),
        ("rndrd", FileMode::ReadRandom),
        ("rndwr", FileMode::WriteRandom),
        ("rndrw", FileMode::MixRandom),
    ];

    pub(super) fn is_random(self) -> bool {
        matches!(self, FileMode::ReadRandom | FileMode::WriteRandom | FileMode::MixRandom)
    }
    pub(super) fn writes(self) -> bool {
        !matches!(self, FileMode::Read | FileMode::ReadRandom)
    }
}

/// How the files are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileAccess {
    /// By one call per request.
    Calls,
    /// By the kernel's queue of requests, this many at once per worker.
    Queue { depth: u64 },
    /// Through their pages in memory.
    Pages,
}

/// Flags with which the files are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenFlags {
    pub(super) sync: bool,
    pub(super) dsync: bool,
    pub(super) direct: bool,
}

/// When files are synchronized with the disk, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SyncPlan {
    /// After so many requests of a worker, all files; 0 for never.
    pub(super) every: u64,
    /// After each write, its file.
    pub(super) each_write: bool,
    /// All files, when the load is over.
    pub(super) at_end: bool,
    /// The data and no more of the file's attributes than they need.
    pub(super) data_only: bool,
}

/// All of it, checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileOptions {
    pub(super) dir: PathBuf,
    pub(super) files: u64,
    /// Bytes of each file.
    pub(super) file_bytes: u64,
    /// Bytes of a request.
    pub(super) block: u64,
    pub(super) mode: FileMode,
    pub(super) access: FileAccess,
    pub(super) flags: OpenFlags,
    pub(super) sync: SyncPlan,
    /// Blocks that a sequential request may join.
    pub(super) merged: u64,
    /// Reads per write.
    pub(super) read_ratio: f64,
    /// What is written is zeros.
    pub(super) zeros: bool,
}

pub(super) fn option_specs() -> Vec<OptionSpec> {
    use OptionKind::{Count, Number, Size, Switch, Text};
    let spec = OptionSpec::new;
    let word = |name, words: &[&str], help| spec(name, OptionKind::one_of(words), words[0], help);
    let modes = OptionKind::Choice(FileMode::NAMES.map(|(name, _)| name.to_owned()).to_vec());
    vec![
        spec("mode", modes, "rndrd", "what is done with the files").with_alias("file-test-mode"),
        spec("dir", Text, ".", "folder of the test files"),
        spec("total-size", Size, "2G", "size of all files together").with_alias("file-total-size"),
        spec("file-count", Count, "128", "number of files").with_alias("file-num"),
        spec("block-size", Size, "16K", "bytes of a request").with_alias("file-block-size"),
        word("io-mode", &["sync", "async", "mmap"], "how files are read and written")
            .with_alias("file-io-mode"),
        spec("queue-depth", Count, "128", "async: requests of a worker that may be under way")
            .with_alias("file-async-backlog"),
        spec("open-flags", Text, "", "any of sync, dsync, direct; separated by commas")
            .with_alias("file-extra-flags"),
        spec("fsync-freq", Count, "100", "fsync all files after every N requests; 0: never")
            .with_alias("file-fsync-freq"),
        spec("fsync-all", Switch, "off", "fsync after each write").with_alias("file-fsync-all"),
        spec("fsync-end", Switch, "on", "fsync all files when the load is over")
            .with_alias("file-fsync-end"),
        word("fsync-mode", &["fsync", "fdatasync"], "the call").with_alias("file-fsync-mode"),
        spec("merged-requests", Count, "0", "in order: join up to N blocks in one request")
            .with_alias("file-merged-requests"),
        spec("rw-ratio", Number, "1.5", "rndrw: reads per write").with_alias("file-rw-ratio"),
        spec("zeros", Switch, "off", "write zeros, as sysbench does, instead of random data"),
    ]
}

impl FileOptions {
    /// What was given, checked.
    ///
    /// # Errors
    /// The first mistake.
    pub(super) fn from_options(options: &Options) -> Result<FileOptions, Mistake> {
        let files = count_between(options, "file-count", 1, MOST_FILES)?;
        let total = byte_count(options, "total-size")?;
        let block = byte_count(options, "block-size")?;
        let flags = read_flags(options.text("open-flags").unwrap_or_default())?;
        let mode = options.text("mode").unwrap_or_default();
        let mode = FileMode::NAMES.iter().find(|(name, _)| *name == mode);
        let access = match options.text("io-mode") {
            Some("async") => {
                FileAccess::Queue { depth: count_between(options, "queue-depth", 1, 65_536)? }
            }
            Some("mmap") => FileAccess::Pages,
            _ => FileAccess::Calls,
        };
        let read_ratio = options.number("rw-ratio");
        if read_ratio < 0.0 {
            return Err(Mistake::new("--rw-ratio", format!("{read_ratio} is less than 0")));
        }
        check_sizes(total / files, block, flags)?;
        Ok(FileOptions {
            dir: PathBuf::from(options.text("dir").unwrap_or(".")),
            files,
            file_bytes: total / files,
            block,
            mode: mode.map_or(FileMode::ReadRandom, |(_, mode)| *mode),
            access,
            flags,
            sync: SyncPlan {
                every: options.count("fsync-freq"),
                each_write: options.switch("fsync-all"),
                at_end: options.switch("fsync-end"),
                data_only: options.text("fsync-mode") == Some("fdatasync"),
            },
            merged: options.count("merged-requests").max(1),
            read_ratio,
            zeros: options.switch("zeros"),
        })
    }

    /// The words with which `prepare` makes what is missing.
    pub(super) fn prepare_command(&self, command: &str) -> String {
        format!(
            "sweat bench fileio {command} --dir={} --file-count={} --total-size={}",
            self.dir.display(),
            self.files,
            self.file_bytes * self.files
        )
    }
}

fn check_sizes(file_bytes: u64, block: u64, flags: OpenFlags) -> Result<(), Mistake> {
    if block == 0 || file_bytes < block {
        let why = format!("{block} bytes do not fit a file of {file_bytes} bytes");
        let hint = "a file is --total-size by --file-count; a block is at most as large";
        return Err(Mistake::new("--block-size", why).hint(hint));
    }
    if flags.direct && (block % SECTOR != 0 || file_bytes % SECTOR != 0) {
        let why = format!("direct access needs blocks and files of whole sectors, {SECTOR} bytes");
        return Err(Mistake::new("--open-flags", why).hint("as in --block-size=4K"));
    }
    Ok(())
}

fn read_flags(text: &str) -> Result<OpenFlags, Mistake> {
    let mut flags = OpenFlags::default();
    for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
        match word {
            "sync" => flags.sync = true,
            "dsync" => flags.dsync = true,
            "direct" => flags.direct = true,
            _ => {
                return Err(Mistake::new("--open-flags", format!("`{word}` is not known"))
                    .hint("any of sync, dsync, direct; separated by commas"));
            }
        }
    }
    Ok(flags)
}
