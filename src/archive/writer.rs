//! Writes a run folder while the run proceeds. Nothing here stops a run: the first write that fails
//! is kept and told at the end, and what was written stays readable.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::error::Error;
use super::file::{Appended, Compressed, replace};
use super::lock::{self, Lock};
use super::trial::{IntervalLine, TrialFile};
use super::types::{
    IntervalRecord, Meta, RunState, SampleRecord, StepRecord, Trial, VariableRecord,
};
use super::waits::{self, WaitsRecord};
use super::{FORMAT, hlog, manifest, replay};
use crate::base::{Nanos, private};
use crate::recorder::{Interval, Recording, Replayed};

/// Room that must be free on the disk before a run begins, in bytes.
const NEEDED_BYTES: u64 = 32 << 20;

/// A run folder being written.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    meta: Meta,
    steps: Appended,
    log: Appended,
    raw: BTreeMap<String, Compressed>,
    trial: Option<OpenTrial>,
    trouble: Option<Error>,
}

#[derive(Debug)]
struct OpenTrial {
    dir: PathBuf,
    trial: Trial,
    intervals: Appended,
    histograms: Appended,
}

impl Writer {
    /// Makes the folder `<runs_dir>/<UTC time>_<name>/` with `meta.json` and `plan.toml`, after a
    /// look at the room on the disk. `meta.id`, `format` and `tool_version` are filled in here;
    /// `plan` must hold no password.
    ///
    /// # Errors
    /// When the folder can't be made or written to, or the disk is as good as full.
    pub fn create(runs_dir: &Path, meta: Meta, plan: &str) -> Result<Writer, Error> {
        let (dir, id) = make(runs_dir, &meta)?;
        check_room(&dir)?;
        let meta = Meta {
            format: FORMAT,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            id,
            state: RunState::Running,
            ..meta
        };
        replace(&dir.join("meta.json"), &json(&meta))?;
        replace(&dir.join("plan.toml"), plan.as_bytes())?;
        create_dir(&dir.join("trials"))?;
        create_dir(&dir.join("raw"))?;
        let steps = Appended::create(dir.join("steps.jsonl"))?;
        let log = Appended::create(dir.join("log.txt"))?;
        let raw = BTreeMap::new();
        Ok(Writer { dir, meta, steps, log, raw, trial: None, trouble: None })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What `meta.json` says now.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The first write that failed, if any.
    pub fn trouble(&self) -> Option<&Error> {
        self.trouble.as_ref()
    }

    /// Changes `meta.json`.
    pub fn update(&mut self, change: impl FnOnce(&mut Meta)) {
        change(&mut self.meta);
        let result = replace(&self.dir.join("meta.json"), &json(&self.meta));
        self.keep(result);
    }

    /// Notes a step: once when it begins, and once more, with the same number, when it has ended.
    pub fn step(&mut self, step: &StepRecord) {
        let result = self.steps.append(&json_line(step));
        self.keep(result);
    }

    /// Notes something in words.
    pub fn note(&mut self, at: Nanos, text: &str) {
        let line = format!("{:.3} s  {}\n", at.seconds(), text.trim_end().replace('\n', "\n    "));
        let result = self.log.append(line.as_bytes());
        self.keep(result);
    }

    /// Keeps the server's variables; written at the start, and again at the end.
    pub fn variables(&mut self, variables: &[VariableRecord]) {
        let result = replace(&self.dir.join("variables.json"), &json(&variables));
        self.keep(result);
    }

    /// Keeps what the plan came to.
    pub fn lock(&mut self, found: &Lock) {
        let result = replace(&self.dir.join(lock::NAME), &json(found));
        self.keep(result);
    }

    /// Keeps a raw sample.
    pub fn sample(&mut self, sample: &SampleRecord) {
        let result = self.append_sample(sample);
        self.keep(result);
    }

    fn append_sample(&mut self, sample: &SampleRecord) -> Result<(), Error> {
        if !self.raw.contains_key(&sample.probe) {
            let name = format!("{}.jsonl.gz", clean(&sample.probe));
            let stream = Compressed::create(self.dir.join("raw").join(name))?;
            self.raw.insert(sample.probe.clone(), stream);
        }
        match self.raw.get_mut(&sample.probe) {
            Some(stream) => stream.append(&json_line(sample), sample.ended_ns),
            None => Ok(()),
        }
    }

    /// Opens the folder of a load. `trial` describes it: `id`, `way`, `pass`, `step`, `workload`,
    /// `options`, `arrival`, `workers`, `engine`, `classes`, `began_ns`; the rest comes with its
    /// intervals and at its end.
    pub fn begin_trial(&mut self, trial: Trial) {
        self.trial = None;
        let opened = OpenTrial::create(&self.dir, self.meta.origin_unix_ns, trial);
        let result = opened.map(|open| self.trial = Some(open));
        self.keep(result);
    }

    /// Keeps an interval of the open trial.
    pub fn interval(&mut self, interval: &Interval) {
        let result = self.trial.as_mut().map_or(Ok(()), |open| open.append(interval));
        self.keep(result);
    }

    /// Closes the open trial with its totals; does nothing if none is open.
    pub fn end_trial(&mut self, recording: &Recording) {
        let Some(OpenTrial { dir, mut trial, .. }) = self.trial.take() else { return };
        trial.fill(recording);
        let result = replace(&dir.join("trial.json"), &json(&TrialFile::new(&trial, true)));
        self.keep(result);
    }

    /// Keeps what the server waited for during the load of this id, open or ended.
    pub fn waits(&mut self, id: &str, waits: &WaitsRecord) {
        let path = self.dir.join("trials").join(clean(id)).join(waits::FILE);
        let result = replace(&path, &json(waits));
        self.keep(result);
    }

    /// Keeps what a replay has to tell of the load of this id, open or ended.
    pub fn replayed(&mut self, id: &str, replayed: &Replayed) {
        let path = self.dir.join("trials").join(clean(id)).join(replay::FILE);
        let result = replace(&path, &json_line(&replay::ReplayFile::from(replayed)));
        self.keep(result);
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
    ) -> Result<(), Error> {
        for (_, stream) in std::mem::take(&mut self.raw) {
            let result = stream.finish();
            self.keep(result);
        }
        self.trial = None;
        let lost = self.trouble.as_ref().map(ToString::to_string);
        self.update(|meta| {
            meta.state = state;
            meta.why = match (why, lost) {
                (Some(why), Some(lost)) => Some(format!("{why}; {lost}")),
                (why, lost) => why.or(lost),
            };
            meta.ended_ns = Some(ended.0);
        });
        let path = self.dir.join(manifest::NAME);
        let result = manifest::Manifest::of(&self.dir)
            .map_err(|e| Error::write(&path, e))
            .and_then(|m| replace(&path, &json(&m)));
        self.keep(result);
        self.trouble.map_or(Ok(()), Err)
    }

    /// Makes writes of interval lines fail as on a full disk, or work again.
    #[cfg(test)]
    pub(super) fn fill_disk(&mut self, full: bool) {
        self.trial.as_mut().unwrap().intervals.fill_disk(full);
    }

    /// Keeps the first trouble.
    fn keep(&mut self, result: Result<(), Error>) {
        if let (Err(e), None) = (result, &self.trouble) {
            self.trouble = Some(e);
        }
    }
}

impl OpenTrial {
    fn create(run: &Path, origin_unix_ns: u64, trial: Trial) -> Result<OpenTrial, Error> {
        let dir = run.join("trials").join(clean(&trial.id));
        create_dir(&dir)?;
        replace(&dir.join("trial.json"), &json(&TrialFile::new(&trial, false)))?;
        let intervals = Appended::create(dir.join("intervals.jsonl"))?;
        let mut histograms = Appended::create(dir.join("histograms.hlog"))?;
        histograms.append(&hlog::header(origin_unix_ns))?;
        Ok(OpenTrial { dir, trial, intervals, histograms })
    }

    /// Histograms first: an interval counts once its own line says how many of them are its own. Nothing of it stays
    /// in memory: a load may last for days.
    fn append(&mut self, interval: &Interval) -> Result<(), Error> {
        let record = IntervalRecord::from(interval);
        let (lines, count) = hlog::lines(&self.trial.classes, interval);
        let line = json_line(&IntervalLine::new(&record, count));
        self.histograms.append(&lines)?;
        self.intervals.append(&line).inspect_err(|_| self.histograms.take_back(lines.len()))
    }
}

fn create_dir(path: &Path) -> Result<(), Error> {
    private::create_folder(path).map_err(|e| Error::create(path, e))
}

/// Makes a folder nobody has: the second run of one second and name gets `-2`.
fn make(runs_dir: &Path, meta: &Meta) -> Result<(PathBuf, String), Error> {
    std::fs::create_dir_all(runs_dir).map_err(|why| Error::create(runs_dir, why))?;
    let began = SystemTime::UNIX_EPOCH + Duration::from_nanos(meta.origin_unix_ns);
    let stamp = humantime::format_rfc3339_seconds(began).to_string().replace(':', "-");
    let name = format!("{stamp}_{}", clean(&meta.name));
    let mut id = name.clone();
    for next in 2.. {
        let dir = runs_dir.join(&id);
        match private::create_folder(&dir) {
            Ok(()) => return Ok((dir, id)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && next < 10_000 => {
                id = format!("{name}-{next}");
            }
            Err(why) => return Err(Error::create(&dir, why)),
        }
    }
    unreachable!("the loop ends by returning")
}

fn check_room(dir: &Path) -> Result<(), Error> {
    let stat = rustix::fs::statvfs(dir).map_err(|why| Error::create(dir, why.into()))?;
    let free_bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
    if free_bytes < NEEDED_BYTES {
        let _ = std::fs::remove_dir(dir);
        return Err(Error::Full { path: dir.to_owned(), free_bytes, needed_bytes: NEEDED_BYTES });
    }
    Ok(())
}

/// A name as a file may have it.
fn clean(name: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '=');
    let text: String = name.chars().take(80).map(|c| if keep(c) { c } else { '-' }).collect();
    match text.trim_start_matches('.') {
        "" => "run".to_owned(),
        rest => rest.to_owned(),
    }
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("our records have text keys only");
    text.push(b'\n');
    text
}

fn json_line<T: Serialize>(value: &T) -> Vec<u8> {
    let mut text = serde_json::to_vec(value).expect("our records have text keys only");
    text.push(b'\n');
    text
}
