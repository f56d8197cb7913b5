//! Reads run folders, whole or cut: what can't be read is named in `RunRecord::damage` and left out.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::error::ArchiveError;
use super::manifest::{self, RunManifest};
use super::types::{RunMeta, RunRecord, RunState, SampleRecord, StepRecord, Trial};
use super::{FORMAT, merge, old_folders, trial};

/// Loads a run folder.
///
/// # Errors
/// When it is none, or was written by a newer sweat.
pub fn read_run(dir: &Path) -> Result<RunRecord, ArchiveError> {
    let mut meta = read_meta(dir)?;
    let mut damage = Vec::new();
    let plan = read_text(dir, "plan.toml", &mut damage);
    meta.load.get_or_insert_with(|| old_folders::load_request_of_plan(&plan));
    let steps = read_steps(dir, &mut damage);
    let mut trials: Vec<Trial> = list_entries(&dir.join("trials"), &mut damage)
        .iter()
        .filter_map(|path| trial::read_trial(path, &mut damage))
        .collect();
    // By number: as a name, 100 stands before 99.
    trials.sort_by_key(|trial| trial.step);
    let (class_loads, trials) = trials.into_iter().partition(|trial| trial.only_class.is_some());
    let samples = read_samples(&dir.join("raw"), &mut damage);
    let variables = read_variables(dir, &mut damage);
    let merged = merge::machines::read_machines(dir, &mut damage);
    // A run that was not closed has no manifest to miss.
    if meta.state != RunState::Running {
        check_manifest(dir, &mut damage);
    }
    Ok(RunRecord { meta, plan, steps, trials, class_loads, samples, variables, merged, damage })
}

/// Whether a folder looks like a run folder: cheap enough for completions.
pub fn is_run_folder(dir: &Path) -> bool {
    dir.join("meta.json").exists()
}

/// Reads only `meta.json`: cheap enough for lists.
///
/// # Errors
/// As [`read_run`].
pub fn read_meta(dir: &Path) -> Result<RunMeta, ArchiveError> {
    let none = |why: String| ArchiveError::NotARun { path: dir.to_owned(), why };
    let text = std::fs::read(dir.join("meta.json")).map_err(|e| none(format!("meta.json: {e}")))?;
    let value: serde_json::Value =
        serde_json::from_slice(&text).map_err(|e| none(format!("meta.json: {e}")))?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    let format = format.ok_or_else(|| none("meta.json: no `format`".to_owned()))?;
    if format > u64::from(FORMAT) {
        let format = u32::try_from(format).unwrap_or(u32::MAX);
        return Err(ArchiveError::Newer { path: dir.to_owned(), format });
    }
    serde_json::from_value(value).map_err(|e| none(format!("meta.json: {e}")))
}

/// All run folders in a folder of runs, oldest first; other folders are passed over.
///
/// # Errors
/// When the folder can't be read.
pub fn list_runs(runs_dir: &Path) -> Result<Vec<(PathBuf, RunMeta)>, ArchiveError> {
    let none =
        |e: std::io::Error| ArchiveError::NotARun { path: runs_dir.to_owned(), why: e.to_string() };
    let mut runs = Vec::new();
    for entry in std::fs::read_dir(runs_dir).map_err(none)? {
        let path = entry.map_err(none)?.path();
        if let Ok(meta) = read_meta(&path) {
            runs.push((path, meta));
        }
    }
    runs.sort_by(|a, b| (a.1.origin_unix_ns, &a.0).cmp(&(b.1.origin_unix_ns, &b.0)));
    Ok(runs)
}

/// The youngest run folder in a folder of runs.
///
/// # Errors
/// When there is none, or the folder can't be read.
pub fn latest_run(runs_dir: &Path) -> Result<PathBuf, ArchiveError> {
    let last = if runs_dir.exists() { list_runs(runs_dir)?.pop() } else { None };
    last.map(|(path, _)| path).ok_or_else(|| ArchiveError::NoRuns { path: runs_dir.to_owned() })
}

/// The good lines of a text of JSON lines, and what is wrong with the first bad one.
pub(super) fn parse_json_lines<T: DeserializeOwned>(text: &[u8]) -> (Vec<T>, Option<String>) {
    let (mut good, mut bad) = (Vec::new(), None);
    for (number, line) in text.split_inclusive(|b| *b == b'\n').enumerate() {
        let whole = line.last() == Some(&b'\n');
        match serde_json::from_slice(line) {
            Ok(value) if whole => good.push(value),
            _ if bad.is_some() => {}
            Ok(_) => bad = Some(format!("line {}: cut", number + 1)),
            Err(_) if !whole => bad = Some(format!("line {}: cut", number + 1)),
            Err(e) => bad = Some(format!("line {}: {e}", number + 1)),
        }
    }
    (good, bad)
}

fn read_text(dir: &Path, name: &str, damage: &mut Vec<String>) -> String {
    match std::fs::read(dir.join(name)) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(e) => {
            damage.push(format!("{name}: {e}"));
            String::new()
        }
    }
}

/// A step has a line for its beginning and one for its end: the later one stands.
fn read_steps(dir: &Path, damage: &mut Vec<String>) -> Vec<StepRecord> {
    let text = read_text(dir, "steps.jsonl", damage);
    let (lines, bad) = parse_json_lines::<StepRecord>(text.as_bytes());
    damage.extend(bad.map(|why| format!("steps.jsonl {why}")));
    let steps: BTreeMap<u32, StepRecord> = lines.into_iter().map(|s| (s.number, s)).collect();
    let mut steps: Vec<StepRecord> = steps.into_values().collect();
    steps.iter_mut().for_each(old_folders::fill_side_effects);
    steps
}

fn read_variables(dir: &Path, damage: &mut Vec<String>) -> Vec<super::VariableRecord> {
    // A run without a server has none.
    let Ok(text) = std::fs::read(dir.join("variables.json")) else { return Vec::new() };
    serde_json::from_slice(&text).unwrap_or_else(|e| {
        damage.push(format!("variables.json: {e}"));
        Vec::new()
    })
}

fn list_entries(dir: &Path, damage: &mut Vec<String>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = match std::fs::read_dir(dir) {
        Ok(entries) => entries.filter_map(|e| e.ok().map(|e| e.path())).collect(),
        Err(e) => {
            let name = dir.file_name().unwrap_or_default().to_string_lossy();
            damage.push(format!("{name}: {e}"));
            Vec::new()
        }
    };
    paths.sort();
    paths
}

fn read_samples(dir: &Path, damage: &mut Vec<String>) -> Vec<SampleRecord> {
    let mut samples = Vec::new();
    for path in list_entries(dir, damage) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".jsonl.gz") {
            continue;
        }
        let mut text = Vec::new();
        let whole = decompress_file(&path, &mut text);
        let (mut lines, bad) = parse_json_lines::<SampleRecord>(&text);
        let why = match whole {
            Ok(_) => bad,
            Err(e) => Some(format!("cut after {} samples: {e}", lines.len())),
        };
        damage.extend(why.map(|why| format!("raw/{name} {why}")));
        samples.append(&mut lines);
    }
    samples.sort_by(|a, b| (a.planned_ns, &a.probe).cmp(&(b.planned_ns, &b.probe)));
    samples
}

/// A stream of ours unpacks to no more than so many times its size, and a little more for the smallest.
const MOST_RATIO: u64 = 400;
/// See there, bytes.
const LEAST_UNPACKED_BYTES: u64 = 64 << 20;

/// Unpacks a stream, as far as it is whole and of a size that ours can have.
fn decompress_file(path: &Path, text: &mut Vec<u8>) -> std::io::Result<()> {
    let file = std::fs::File::open(path)?;
    let most = LEAST_UNPACKED_BYTES + file.metadata()?.len().saturating_mul(MOST_RATIO);
    let read = flate2::read::GzDecoder::new(file).take(most + 1).read_to_end(text)?;
    if read as u64 > most {
        return Err(std::io::Error::other("it unpacks to more than a stream of ours can hold"));
    }
    Ok(())
}

fn check_manifest(dir: &Path, damage: &mut Vec<String>) {
    let manifest = std::fs::read(dir.join(manifest::NAME))
        .map_err(|e| e.to_string())
        .and_then(|text| serde_json::from_slice::<RunManifest>(&text).map_err(|e| e.to_string()));
    match manifest {
        Ok(manifest) => damage.extend(manifest.changed_files(dir)),
        Err(e) => damage.push(format!("{}: {e}", manifest::NAME)),
    }
}
