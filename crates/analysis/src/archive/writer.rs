//! Writes a run folder while the run proceeds. Nothing here stops a run: the first write that fails
//! is kept and told at the end, and what was written stays readable.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::error::ArchiveError;
use super::file::{AppendFile, GzipFile, replace_file};
use super::looks::{CounterLook, DigestsRecord};
use super::merge::{MergeRecord, machines};
use super::plan_lock::{self, PlanLock};
use super::trial::{self, IntervalLine, TRIAL_FILE, TrialFile};
use super::types::{
    IntervalRecord, RunMeta, RunState, SampleRecord, StepRecord, Trial, VariableRecord,
};
use super::waits::{self, WaitsRecord};
use super::{FORMAT, hlog, looks, manifest, replay};
use crate::base::{Nanos, private};
use crate::recorder::{DataVerdicts, Interval, Recording, ReplayTotals};

/// Room that must be free on the disk before a run begins, in bytes.
const NEEDED_BYTES: u64 = 32 << 20;

/// A run folder being written.
#[derive(Debug)]
pub struct RunWriter {
    dir: PathBuf,
    meta: RunMeta,
    steps: AppendFile,
    log: AppendFile,
    raw: BTreeMap<String, GzipFile>,
    trial: Option<OpenTrial>,
    /// What was found of the data last, by variant.
    checked: BTreeMap<String, DataVerdicts>,
    /// Loads that ended since: variant and folder.
    unchecked: Vec<(String, PathBuf)>,
    trouble: Option<ArchiveError>,
}

/// An interval of several machines.
#[derive(Debug)]
pub(super) struct MergedInterval {
    /// Its times and counts.
    pub(super) record: IntervalRecord,
    /// Its histograms; nothing else in it is looked at.
    pub(super) histograms: Interval,
    /// How many machines' intervals it is the sum of.
    pub(super) machines: usize,
}

#[derive(Debug)]
struct OpenTrial {
    dir: PathBuf,
    trial: Trial,
    intervals: AppendFile,
    histograms: AppendFile,
    /// Made when the first look comes.
    looks: Option<AppendFile>,
}

impl RunWriter {
    /// Makes the folder `<runs_dir>/<UTC time>_<name>/` with `meta.json` and `plan.toml`, after a
    /// look at the room on the disk. `meta.id`, `format` and `tool_version` are filled in here;
    /// `plan` must hold no password.
    ///
    /// # Errors
    /// When the folder can't be made or written to, or the disk is as good as full.
    pub fn create(runs_dir: &Path, meta: RunMeta, plan: &str) -> Result<RunWriter, ArchiveError> {
        let began = SystemTime::UNIX_EPOCH + Duration::from_nanos(meta.origin_unix_ns);
        let stamp = humantime::format_rfc3339_seconds(began).to_string().replace(':', "-");
        let name = format!("{stamp}_{}", safe_file_name(&meta.name));
        let (dir, id) = create_run_dir(runs_dir, &name)?;
        check_free_space(&dir)?;
        RunWriter::create_in(dir, id, meta, plan)
    }

    /// The same in a folder of this name, which must not be there yet.
    ///
    /// # Errors
    /// As `create`, and when the folder is there.
    pub(super) fn create_at(
        dir: &Path,
        meta: RunMeta,
        plan: &str,
    ) -> Result<RunWriter, ArchiveError> {
        create_dir(dir)?;
        let id = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        check_free_space(dir)?;
        RunWriter::create_in(dir.to_owned(), id, meta, plan)
    }

    /// Makes the folder `<parent>/<name>/` as a part of another run: whoever makes it has looked at the room on the disk.
    ///
    /// # Errors
    /// When the folder can't be made or written to.
    pub(super) fn create_part(
        parent: &Path,
        name: &str,
        meta: RunMeta,
        plan: &str,
    ) -> Result<RunWriter, ArchiveError> {
        let (dir, id) = create_run_dir(parent, &safe_file_name(name))?;
        RunWriter::create_in(dir, id, meta, plan)
    }

    fn create_in(
        dir: PathBuf,
        id: String,
        meta: RunMeta,
        plan: &str,
    ) -> Result<RunWriter, ArchiveError> {
        let meta = RunMeta {
            format: FORMAT,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            id,
            state: RunState::Running,
            ..meta
        };
        replace_file(&dir.join("meta.json"), &to_json(&meta))?;
        replace_file(&dir.join("plan.toml"), plan.as_bytes())?;
        create_dir(&dir.join("trials"))?;
        create_dir(&dir.join("raw"))?;
        let steps = AppendFile::create(dir.join("steps.jsonl"))?;
        let log = AppendFile::create(dir.join("log.txt"))?;
        let raw = BTreeMap::new();
        Ok(RunWriter {
            dir,
            meta,
            steps,
            log,
            raw,
            trial: None,
            checked: BTreeMap::new(),
            unchecked: Vec::new(),
            trouble: None,
        })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What `meta.json` says now.
    pub fn meta(&self) -> &RunMeta {
        &self.meta
    }

    /// The first write that failed, if any.
    pub fn first_error(&self) -> Option<&ArchiveError> {
        self.trouble.as_ref()
    }

    /// Changes `meta.json`.
    pub fn update_meta(&mut self, change: impl FnOnce(&mut RunMeta)) {
        change(&mut self.meta);
        let result = replace_file(&self.dir.join("meta.json"), &to_json(&self.meta));
        self.keep_error(result);
    }

    /// Notes a step: once when it begins, and once more, with the same number, when it has ended.
    pub fn write_step(&mut self, step: &StepRecord) {
        let result = self.steps.append(&to_json_line(step));
        self.keep_error(result);
        if let Some(found) = step.data.as_ref().filter(|_| step.ended_ns.is_some()) {
            self.note_data_check(&step.variant, found);
        }
    }

    /// What was found of the data stands in the record of the loads before and after it, too.
    fn note_data_check(&mut self, variant: &str, found: &DataVerdicts) {
        let all = std::mem::take(&mut self.unchecked);
        let (ended, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(of, _)| of == variant);
        self.unchecked = rest;
        for (_, dir) in ended {
            let result = trial::add_data_check(&dir, "after", found);
            self.keep_error(result);
        }
        self.checked.insert(variant.to_owned(), found.clone());
    }

    /// Notes something in words.
    pub fn write_note(&mut self, at: Nanos, text: &str) {
        let line =
            format!("{:.3} s  {}\n", at.to_seconds(), text.trim_end().replace('\n', "\n    "));
        let result = self.log.append(line.as_bytes());
        self.keep_error(result);
    }

    /// Keeps the server's variables; written at the start, and again at the end.
    pub fn write_variables(&mut self, variables: &[VariableRecord]) {
        let result = replace_file(&self.dir.join("variables.json"), &to_json(&variables));
        self.keep_error(result);
    }

    /// Keeps what the plan came to.
    pub fn write_plan_lock(&mut self, found: &PlanLock) {
        let result = replace_file(&self.dir.join(plan_lock::NAME), &to_json(found));
        self.keep_error(result);
    }

    /// Keeps a raw sample.
    pub fn write_sample(&mut self, sample: &SampleRecord) {
        let result = self.append_sample(sample);
        self.keep_error(result);
    }

    fn append_sample(&mut self, sample: &SampleRecord) -> Result<(), ArchiveError> {
        if !self.raw.contains_key(&sample.probe) {
            let name = format!("{}.jsonl.gz", safe_file_name(&sample.probe));
            let stream = GzipFile::create(self.dir.join("raw").join(name))?;
            self.raw.insert(sample.probe.clone(), stream);
        }
        match self.raw.get_mut(&sample.probe) {
            Some(stream) => stream.append(&to_json_line(sample), sample.ended_ns),
            None => Ok(()),
        }
    }

    /// Opens the folder of a load. `trial` describes it: `id`, `variant`, `pass`, `write_step`, `workload`,
    /// `options`, `arrival`, `workers`, `engine`, `classes`, `began_ns`; the rest comes with its
    /// intervals and at its end.
    pub fn start_trial(&mut self, trial: Trial) {
        self.trial = None;
        let opened = OpenTrial::create(&self.dir, self.meta.origin_unix_ns, trial);
        let result = opened.map(|open| self.trial = Some(open));
        self.keep_error(result);
    }

    /// Keeps an interval of the open trial.
    pub fn write_interval(&mut self, interval: &Interval) {
        let result = self.trial.as_mut().map_or(Ok(()), |open| open.append_interval(interval));
        self.keep_error(result);
    }

    /// Keeps the server's counters as an interval of the open trial ended.
    pub fn write_look(&mut self, look: &CounterLook) {
        let result = self.trial.as_mut().map_or(Ok(()), |open| open.append_look(look));
        self.keep_error(result);
    }

    /// Keeps the statements that the server saw during the load of this id, open or ended.
    pub fn write_digests(&mut self, id: &str, digests: &DigestsRecord) {
        let path = self.dir.join("trials").join(safe_file_name(id)).join(looks::DIGESTS_FILE);
        let result = replace_file(&path, &to_json(digests));
        self.keep_error(result);
    }

    /// Closes the open trial with its totals; does nothing if none is open.
    pub fn end_trial(&mut self, recording: &Recording) {
        let Some(OpenTrial { dir, mut trial, .. }) = self.trial.take() else { return };
        trial.fill_totals(recording);
        let result = replace_file(&dir.join(TRIAL_FILE), &to_json(&TrialFile::new(&trial, true)));
        self.keep_error(result);
        if let Some(found) = self.checked.get(&trial.variant) {
            let result = trial::add_data_check(&dir, "before", found);
            self.keep_error(result);
        }
        self.unchecked.push((trial.variant, dir));
    }

    /// Keeps an interval of several machines in the open trial.
    pub(super) fn write_merged_interval(&mut self, merged: &MergedInterval) {
        let MergedInterval { record, histograms, machines } = merged;
        let result =
            self.trial.as_mut().map_or(Ok(()), |open| open.append(record, histograms, *machines));
        self.keep_error(result);
    }

    /// Closes the open trial with totals that were added up.
    pub(super) fn end_merged_trial(&mut self, trial: &Trial) {
        let Some(OpenTrial { dir, .. }) = self.trial.take() else { return };
        let result = replace_file(&dir.join(TRIAL_FILE), &to_json(&TrialFile::new(trial, true)));
        self.keep_error(result);
    }

    /// Keeps which machines ran the load.
    pub(super) fn write_machines(&mut self, merged: &MergeRecord) {
        let result = replace_file(&self.dir.join(machines::NAME), &to_json(merged));
        self.keep_error(result);
    }

    /// Keeps what the server waited for during the load of this id, open or ended.
    pub fn write_waits(&mut self, id: &str, waits: &WaitsRecord) {
        let path = self.dir.join("trials").join(safe_file_name(id)).join(waits::FILE);
        let result = replace_file(&path, &to_json(waits));
        self.keep_error(result);
    }

    /// Keeps what a replay has to tell of the load of this id, open or ended.
    pub fn write_replay(&mut self, id: &str, replayed: &ReplayTotals) {
        let path = self.dir.join("trials").join(safe_file_name(id)).join(replay::FILE);
        let result = replace_file(&path, &to_json_line(&replay::ReplayFile::from(replayed)));
        self.keep_error(result);
    }

    /// Closes the folder: compressed streams, state, manifest.
    ///
    /// # Errors
    /// The first write of the whole run that failed.
    pub fn close(
        mut self,
        state: RunState,
        why: Option<String>,
        ended: Nanos,
    ) -> Result<(), ArchiveError> {
        for (_, stream) in std::mem::take(&mut self.raw) {
            let result = stream.finish();
            self.keep_error(result);
        }
        self.trial = None;
        let lost = self.trouble.as_ref().map(ToString::to_string);
        self.update_meta(|meta| {
            meta.state = state;
            meta.why = match (why, lost) {
                (Some(why), Some(lost)) => Some(format!("{why}; {lost}")),
                (why, lost) => why.or(lost),
            };
            meta.ended_ns = Some(ended.0);
        });
        let path = self.dir.join(manifest::NAME);
        let result = manifest::RunManifest::from_folder(&self.dir)
            .map_err(|e| ArchiveError::write_failed(&path, e))
            .and_then(|m| replace_file(&path, &to_json(&m)));
        self.keep_error(result);
        self.trouble.map_or(Ok(()), Err)
    }

    /// Makes writes of interval lines fail as on a full disk, or work again.
    #[cfg(test)]
    pub(super) fn fill_disk(&mut self, full: bool) {
        self.trial.as_mut().unwrap().intervals.fill_disk(full);
    }

    /// Keeps the first trouble.
    fn keep_error(&mut self, result: Result<(), ArchiveError>) {
        if let (Err(e), None) = (result, &self.trouble) {
            self.trouble = Some(e);
        }
    }
}

impl OpenTrial {
    fn create(run: &Path, origin_unix_ns: u64, trial: Trial) -> Result<OpenTrial, ArchiveError> {
        let dir = run.join("trials").join(safe_file_name(&trial.id));
        create_dir(&dir)?;
        replace_file(&dir.join(TRIAL_FILE), &to_json(&TrialFile::new(&trial, false)))?;
        let intervals = AppendFile::create(dir.join("intervals.jsonl"))?;
        let mut histograms = AppendFile::create(dir.join("histograms.hlog"))?;
        histograms.append(&hlog::header_lines(origin_unix_ns))?;
        Ok(OpenTrial { dir, trial, intervals, histograms, looks: None })
    }

    /// Histograms first: an interval counts once its own line says how many of them are its own. Nothing of it stays
    /// in memory: a load may last for days.
    fn append_interval(&mut self, interval: &Interval) -> Result<(), ArchiveError> {
        self.append(&IntervalRecord::from(interval), interval, 0)
    }

    fn append(
        &mut self,
        record: &IntervalRecord,
        histograms: &Interval,
        machines: usize,
    ) -> Result<(), ArchiveError> {
        let (lines, count) =
            hlog::encode_interval(&self.trial.classes, &self.trial.event_steps, histograms);
        let line = to_json_line(&IntervalLine::new(record, count, machines));
        self.histograms.append(&lines)?;
        self.intervals.append(&line).inspect_err(|_| self.histograms.undo_append(lines.len()))
    }

    fn append_look(&mut self, look: &CounterLook) -> Result<(), ArchiveError> {
        let file = match self.looks.take() {
            Some(file) => file,
            None => AppendFile::create(self.dir.join(looks::LOOKS_FILE))?,
        };
        self.looks.insert(file).append(&to_json_line(look))
    }
}

fn create_dir(path: &Path) -> Result<(), ArchiveError> {
    private::create_folder(path).map_err(|e| ArchiveError::create_failed(path, e))
}

/// Makes a folder nobody has: the second run of one second and name gets `-2`.
fn create_run_dir(runs_dir: &Path, name: &str) -> Result<(PathBuf, String), ArchiveError> {
    std::fs::create_dir_all(runs_dir).map_err(|why| ArchiveError::create_failed(runs_dir, why))?;
    let mut id = name.to_owned();
    for next in 2.. {
        let dir = runs_dir.join(&id);
        match private::create_folder(&dir) {
            Ok(()) => return Ok((dir, id)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && next < 10_000 => {
                id = format!("{name}-{next}");
            }
            Err(why) => return Err(ArchiveError::create_failed(&dir, why)),
        }
    }
    unreachable!("the loop ends by returning")
}

fn check_free_space(dir: &Path) -> Result<(), ArchiveError> {
    let stat =
        rustix::fs::statvfs(dir).map_err(|why| ArchiveError::create_failed(dir, why.into()))?;
    let free_bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
    if free_bytes < NEEDED_BYTES {
        let _ = std::fs::remove_dir(dir);
        return Err(ArchiveError::Full {
            path: dir.to_owned(),
            free_bytes,
            needed_bytes: NEEDED_BYTES,
        });
    }
    Ok(())
}

/// A name as a file may have it.
pub(super) fn safe_file_name(name: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '=');
    let text: String = name.chars().take(80).map(|c| if keep(c) { c } else { '-' }).collect();
    match text.trim_start_matches('.') {
        "" => "run".to_owned(),
        rest => rest.to_owned(),
    }
}

pub(super) fn to_json<T: Serialize>(value: &T) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("our records have text keys only");
    text.push(b'\n');
    text
}

pub(super) fn to_json_line<T: Serialize>(value: &T) -> Vec<u8> {
    let mut text = serde_json::to_vec(value).expect("our records have text keys only");
    text.push(b'\n');
    text
}
