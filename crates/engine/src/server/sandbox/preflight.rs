//! What can be known before anything is made: whether memory and disk suffice.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::base::units::{ByteSize, show_bytes};
use crate::plan::{Mistake, RefusedError};
use crate::server::Settings;

use super::arguments;

/// What a new sandbox takes on disk before it holds any data, bytes.
const EMPTY_SANDBOX: u64 = 512 << 20;

/// Open files that a server needs before it serves anybody: its tables, logs and sockets.
const OPEN_FILES: u64 = 256;

/// Checks that a server may open the files that it needs.
///
/// # Errors
/// When the system's limit is lower; what the server says then is not about that.
pub(super) fn check_open_files() -> anyhow::Result<()> {
    use rustix::process::{Resource, getrlimit};
    judge_open_files(getrlimit(Resource::Nofile).maximum)
}

fn judge_open_files(limit: Option<u64>) -> anyhow::Result<()> {
    let Some(limit) = limit.filter(|limit| *limit < OPEN_FILES) else { return Ok(()) };
    anyhow::bail!(RefusedError(format!(
        "the system allows {limit} open files, a server needs at least {OPEN_FILES}\nhint: raise \
         the limit with `ulimit -Hn {OPEN_FILES}`, as root, or more for many sessions"
    )))
}

/// Checks that the pool fits into memory that is free.
///
/// # Errors
/// When it doesn't.
pub(super) fn check_memory(settings: &Settings) -> anyhow::Result<()> {
    let Some((place, pool)) = pool_setting(settings) else { return Ok(()) };
    let Some((free, whose)) = free_memory() else { return Ok(()) };
    judge_memory(&place, pool, free, whose)
}

fn judge_memory(place: &str, pool: u64, free: u64, whose: &str) -> anyhow::Result<()> {
    if pool <= free {
        return Ok(());
    }
    Err(Mistake::new(
        place,
        format!(
            "a buffer pool of {} is larger than {whose}: {}",
            show_bytes(pool),
            show_bytes(free)
        ),
    )
    .hint(format!("use at most {}", show_bytes(free / 4 * 3)))
    .into())
}

/// The pool that was asked for, bytes; and where.
fn pool_setting(settings: &Settings) -> Option<(String, u64)> {
    let is_pool = |name: &str| arguments::normalize_name(name) == "innodb_buffer_pool_size";
    let (name, value) = settings.iter().rev().find(|(name, _)| is_pool(name))?;
    match value.parse() {
        Ok(ByteSize::Bytes(bytes)) => Some((name.clone(), bytes)),
        // The server will say what it thinks of this.
        _ => None,
    }
}

/// Bytes of memory that we may use, and whose limit that is.
fn free_memory() -> Option<(u64, &'static str)> {
    let machine =
        std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse_available(&text));
    let group = control_group_limit();
    match (machine, group) {
        (Some(machine), Some(group)) if group < machine => {
            Some((group, "the memory limit of our control group"))
        }
        (None, Some(group)) => Some((group, "the memory limit of our control group")),
        (Some(machine), _) => Some((machine, "the machine's free memory")),
        (None, None) => None,
    }
}

fn parse_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// The tightest limit of our control group and those above it, bytes.
fn control_group_limit() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (kinds, path) = (fields.next()?, fields.next()?);
        let (root, file) = if kinds.is_empty() {
            ("/sys/fs/cgroup", "memory.max")
        } else if kinds.split(',').any(|kind| kind == "memory") {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            continue;
        };
        let mut folder = PathBuf::from(root).join(path.trim_start_matches('/'));
        while folder.starts_with(root) {
            let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
            limits.extend(text.trim().parse::<u64>());
            if !folder.pop() {
                break;
            }
        }
    }
    limits.into_iter().min()
}

/// Checks that a new sandbox fits on the disk.
///
/// # Errors
/// When it doesn't.
pub(super) fn check_disk(folder: &Path) -> anyhow::Result<()> {
    let stat = rustix::fs::statvfs(folder)
        .with_context(|| format!("ask how full the disk of {} is", folder.display()))?;
    judge_disk(folder, stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn judge_disk(folder: &Path, free: u64) -> anyhow::Result<()> {
    anyhow::ensure!(
        free >= EMPTY_SANDBOX,
        RefusedError(format!(
            "the disk that holds {} has {} left; an empty sandbox needs {}\nhint: make room, or \
             choose another disk with $SWEAT_HOME",
            folder.display(),
            show_bytes(free),
            show_bytes(EMPTY_SANDBOX)
        ))
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_not_started_where_it_may_not_open_its_files() {
        assert!(judge_open_files(None).is_ok());
        assert!(judge_open_files(Some(256)).is_ok());
        let refused = judge_open_files(Some(20)).unwrap_err();
        assert!(
            refused.is::<RefusedError>() && refused.to_string().contains("allows 20"),
            "{refused}"
        );
    }

    fn settings(value: &str) -> Settings {
        vec![("Innodb-Buffer-Pool-Size".to_owned(), value.to_owned())]
    }

    #[test]
    fn a_pool_larger_than_memory_is_a_mistake_before_anything_starts() {
        let error = check_memory(&settings("900T")).unwrap_err();
        assert!(error.is::<Mistake>(), "{error:#}");
        assert!(error.to_string().contains("is larger than"), "{error:#}");
        check_memory(&settings("16M")).unwrap();
        check_memory(&settings("rubbish")).unwrap();
        assert!(judge_memory("--pool", 5, 4, "x").is_err());
        assert!(judge_memory("--pool", 4, 4, "x").is_ok());
    }

    #[test]
    fn a_disk_too_small_is_said_so() {
        let error = judge_disk(Path::new("/x"), 100 << 20).unwrap_err();
        assert!(error.to_string().contains("/x has 100 MiB left"), "{error:#}");
        assert!(judge_disk(Path::new("/x"), 1 << 30).is_ok());
    }

    #[test]
    fn free_memory_is_what_the_system_calls_available() {
        let text = "MemTotal:       24000000 kB\nMemAvailable:    1024 kB\n";
        assert_eq!(parse_available(text), Some(1 << 20));
    }
}
