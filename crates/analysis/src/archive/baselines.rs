//! Names that people gave to runs, in `baselines.json` beside the run folders; and run folders removed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::error::ArchiveError;
use super::file::replace_file;
use super::reader::read_meta;
use super::types::{RunMeta, RunState};

/// The list: name, and the run's folder, relative to the list where it lies beside it.
const NAME: &str = "baselines.json";
/// What tells of changes of a server that are not put back.
const JOURNALS: &[&str] = &["journal.jsonl", "journal-waits.jsonl"];
/// A run that says that it runs is taken to do so for so long, then to have been killed.
const LONGEST_RUN_NS: u64 = 86_400_000_000_000;

/// The baselines of a folder of runs: their names, and where the runs lie.
///
/// # Errors
/// When the list can't be read.
pub fn read_baselines(runs_dir: &Path) -> Result<BTreeMap<String, PathBuf>, ArchiveError> {
    let listed = read_list(runs_dir)?;
    Ok(listed.into_iter().map(|(name, run)| (name, runs_dir.join(run))).collect())
}

fn read_list(runs_dir: &Path) -> Result<BTreeMap<String, PathBuf>, ArchiveError> {
    let path = runs_dir.join(NAME);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(why) => return Err(ArchiveError::Baselines { path, why: why.to_string() }),
    };
    serde_json::from_slice(&text)
        .map_err(|why| ArchiveError::Baselines { path, why: why.to_string() })
}

/// Names a run, or no run any more; gives what the name meant before.
///
/// # Errors
/// When the list can't be read or written.
pub fn name_baseline(
    runs_dir: &Path,
    name: &str,
    run: Option<&Path>,
) -> Result<Option<PathBuf>, ArchiveError> {
    let mut listed = read_list(runs_dir)?;
    let before = match run {
        Some(run) => listed.insert(name.to_owned(), path_below(runs_dir, run)),
        None => listed.remove(name),
    };
    let mut text = serde_json::to_vec_pretty(&listed).expect("its keys are text");
    text.push(b'\n');
    replace_file(&runs_dir.join(NAME), &text)?;
    Ok(before.map(|run| runs_dir.join(run)))
}

/// The run's name if it lies in the folder, so that the folder can be moved; else its whole path.
fn path_below(runs_dir: &Path, run: &Path) -> PathBuf {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (runs_dir, run) = (whole(runs_dir), whole(run));
    run.strip_prefix(&runs_dir).map(Path::to_owned).unwrap_or(run)
}

/// Whether two paths lead to the same folder; of two that lead nowhere that is taken to be so.
pub fn is_same_folder(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok() == other.canonicalize().ok()
}

/// Why a folder is not to be removed among old runs, in words; `None` if nothing speaks against it.
pub fn reason_to_keep(
    dir: &Path,
    meta: &RunMeta,
    baselines: &BTreeMap<String, PathBuf>,
    now_unix_ns: u64,
) -> Option<String> {
    if let Some((name, _)) = baselines.iter().find(|(_, path)| is_same_folder(path, dir)) {
        return Some(format!("baseline {name}"));
    }
    let is_folder = dir.symlink_metadata().is_ok_and(|of| of.is_dir());
    if !is_folder || dir.file_name().is_none_or(|name| *name != *meta.id) {
        return Some("renamed, or a link".to_owned());
    }
    let is_young = now_unix_ns.saturating_sub(meta.origin_unix_ns) < LONGEST_RUN_NS;
    if meta.state == RunState::Running && is_young {
        return Some("still running".to_owned());
    }
    let holds = |name: &&str| dir.join(name).metadata().is_ok_and(|file| file.len() > 0);
    let is_open = JOURNALS.iter().any(holds);
    is_open.then(|| "changes of a server to be put back (`sweat restore`)".to_owned())
}

/// Removes a run folder with all that is in it.
///
/// # Errors
/// When it is no run folder, or can't be removed.
pub fn remove_run(dir: &Path) -> Result<(), ArchiveError> {
    read_meta(dir)?;
    std::fs::remove_dir_all(dir).map_err(|why| ArchiveError::write_failed(dir, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_is_kept_by_name_and_moves_with_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (runs, outside) = (dir.path().join("runs"), dir.path().join("elsewhere"));
        let run = runs.join("2026-11-21T07-40-15Z_a");
        for path in [&run, &outside] {
            std::fs::create_dir_all(path).unwrap();
        }
        assert!(read_baselines(&runs).unwrap().is_empty());
        assert_eq!(name_baseline(&runs, "main", Some(&run)).unwrap(), None);
        assert_eq!(name_baseline(&runs, "main", Some(&outside)).unwrap(), Some(run.clone()));
        assert!(read_baselines(&runs).unwrap()["main"].ends_with("elsewhere"));
        name_baseline(&runs, "main", Some(&run)).unwrap();
        let moved = dir.path().join("moved");
        std::fs::rename(&runs, &moved).unwrap();
        assert_eq!(read_baselines(&moved).unwrap()["main"], moved.join("2026-11-21T07-40-15Z_a"));
        assert!(name_baseline(&moved, "main", None).unwrap().is_some());
        assert!(read_baselines(&moved).unwrap().is_empty());
        std::fs::write(moved.join(NAME), "{").unwrap();
        assert!(read_baselines(&moved).is_err());
    }

    #[test]
    fn what_may_still_be_needed_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("2026-11-21T07-40-15Z_a");
        std::fs::create_dir(&run).unwrap();
        let id = "2026-11-21T07-40-15Z_a".to_owned();
        let meta = RunMeta { id, state: RunState::Done, ..RunMeta::default() };
        let none = BTreeMap::new();
        let why = |meta: &RunMeta, named: &BTreeMap<String, PathBuf>, now| {
            reason_to_keep(&run, meta, named, now)
        };
        assert_eq!(why(&meta, &none, 0), None);
        let named = BTreeMap::from([("main".to_owned(), run.clone())]);
        assert_eq!(why(&meta, &named, 0).unwrap(), "baseline main");
        let running = RunMeta { state: RunState::Running, ..meta.clone() };
        assert!(why(&running, &none, 1).unwrap().contains("running"));
        assert_eq!(why(&running, &none, LONGEST_RUN_NS), None);
        let renamed = RunMeta { id: "x".to_owned(), ..meta.clone() };
        assert!(why(&renamed, &none, 0).is_some());
        std::fs::write(run.join("journal.jsonl"), "").unwrap();
        assert_eq!(why(&meta, &none, 0), None);
        std::fs::write(run.join("journal.jsonl"), "{}\n").unwrap();
        assert!(why(&meta, &none, 0).unwrap().contains("sweat restore"));
        assert!(remove_run(&run).is_err(), "it holds no meta.json");
        assert!(run.exists());
    }
}
