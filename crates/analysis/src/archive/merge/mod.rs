//! Folds the run folders of several machines that ran shares of one load into the folder of that load. Cells of histograms,
//! counts, errors and slots add; nothing is averaged but the times at which intervals end. Each machine's own folder is kept
//! whole below the merged one.

pub(super) mod machines;
mod refusal;
mod series;
mod sums;
#[cfg(test)]
mod tests;
mod timeline;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

pub use machines::{MachineRecord, MergeRecord};
pub use refusal::MergeRefusal;
pub use series::{LoadPlace, MergedSeries};

use refusal::{SharedRun, check_runs, without_share};
use sums::{merge_intervals, merge_totals};
use timeline::SLOT_NS;

use super::error::ArchiveError;
use super::share::{AGENTS_LOAD, AGENTS_SHARE, CLOCK_BOUND, CLOCK_OFFSET};
use super::types::{Counters, RunMeta, RunRecord, RunState, SampleRecord, StepRecord, Trial};
use super::writer::{RunWriter, safe_file_name};
use crate::base::{Nanos, private};
use crate::probe::PROBES;

/// Facts that are a machine's own.
const OF_MACHINE: &[&str] = &[CLOCK_BOUND, CLOCK_OFFSET, AGENTS_LOAD, AGENTS_SHARE];
/// The folder below a merged one that holds each machine's own.
const FOLDER: &str = "machines";

/// A run folder to be merged.
#[derive(Clone, Debug)]
pub struct MergeInput {
    /// Where it is.
    pub dir: PathBuf,
    /// What it holds.
    pub run: RunRecord,
    /// Why its run alone is void: caveats with their ids.
    pub voids: Vec<String>,
}

/// Where the merged folder goes.
#[derive(Clone, Debug)]
pub enum MergeOutput {
    /// To a new folder below this one, named after time and run.
    Below(PathBuf),
    /// To this folder, which must not be there yet.
    At(PathBuf),
}

/// What else is asked of a merge.
#[derive(Clone, Debug, Default)]
pub struct MergeOptions {
    /// Name of the merged run; that of the shares if not given.
    pub name: Option<String>,
    /// Whether shares may be missing.
    pub incomplete: bool,
    /// Why shares are missing, in words, by their numbers.
    pub lost: BTreeMap<usize, String>,
    /// The command line as it was typed, without passwords.
    pub command_line: Option<String>,
}

/// Why nothing was merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The folders can't be merged.
    #[error(transparent)]
    Refused(#[from] MergeRefusal),
    /// The merged folder can't be written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// Merges run folders; gives the merged one and how far its run came.
///
/// # Errors
/// When they are no shares of one load, or the merged folder can't be written; nothing is left of it then.
pub fn merge_runs(
    inputs: &[MergeInput],
    output: &MergeOutput,
    options: &MergeOptions,
) -> Result<(PathBuf, RunState), MergeError> {
    let runs = check_runs(inputs)?;
    let missing = missing_shares(&runs, &options.lost);
    if !missing.is_empty() && !options.incomplete {
        return Err(MergeRefusal::Missing(missing).into());
    }
    let Some(first) = runs.first() else { return Err(MergeRefusal::Missing(Vec::new()).into()) };
    let origin_unix_ns = runs.iter().map(|r| r.run.meta.origin_unix_ns).min().unwrap_or(0);
    let shifts: Vec<u64> = runs.iter().map(|run| clock_shift(run, origin_unix_ns)).collect();
    let meta = merge_meta(&runs, origin_unix_ns, &shifts, options);
    let plan = without_share(&first.run.plan);
    let mut writer = match output {
        MergeOutput::Below(runs_dir) => RunWriter::create(runs_dir, meta.clone(), &plan)?,
        MergeOutput::At(dir) => RunWriter::create_at(dir, meta.clone(), &plan)?,
    };
    let dir = writer.dir().to_owned();
    let written = write_merged(&mut writer, &runs, &shifts, missing).and_then(|()| {
        writer.close(meta.state, meta.why.clone(), Nanos(meta.ended_ns.unwrap_or(0)))
    });
    if let Err(error) = written {
        let _ = std::fs::remove_dir_all(&dir);
        return Err(error.into());
    }
    Ok((dir, meta.state))
}

/// What of the merged folder is not in its head.
fn write_merged(
    writer: &mut RunWriter,
    runs: &[SharedRun<'_>],
    shifts: &[u64],
    missing: Vec<String>,
) -> Result<(), ArchiveError> {
    let steps = merge_steps(runs, shifts);
    steps.iter().for_each(|step| writer.write_step(step));
    writer.write_variables(&runs[0].run.variables);
    let trial = merge_totals(runs, shifts);
    let machines = write_load(writer, runs, shifts, trial, "")?;
    for machine in &machines {
        let name = replace_line_ends(&machine.name);
        writer.write_note(Nanos(0), &format!("share {} by {name}", machine.share.text));
    }
    writer.write_machines(&MergeRecord { machines, missing });
    Ok(())
}

/// One load: what adds is added, and each machine's own folder is kept. `load` names it among several.
fn write_load(
    writer: &mut RunWriter,
    runs: &[SharedRun<'_>],
    shifts: &[u64],
    trial: Trial,
    load: &str,
) -> Result<Vec<MachineRecord>, ArchiveError> {
    writer.start_trial(trial.clone());
    merge_intervals(runs, shifts, &trial, &mut |merged| writer.write_merged_interval(merged));
    writer.end_merged_trial(&trial);
    for sample in server_samples(runs[0].run, shifts[0]) {
        writer.write_sample(&sample);
    }
    let mut below = PathBuf::from(FOLDER);
    if !load.is_empty() {
        below.push(safe_file_name(load));
    }
    let folder = writer.dir().join(&below);
    private::create_folder(&folder).map_err(|e| ArchiveError::write_failed(&folder, e))?;
    let mut machines = Vec::with_capacity(runs.len());
    let origin_unix_ns = writer.meta().origin_unix_ns;
    for (run, shift) in runs.iter().zip(shifts) {
        let mut machine = machine_record(run, *shift, origin_unix_ns);
        let own = below.join(run.share.number.to_string());
        load.clone_into(&mut machine.load);
        machine.folder = own.display().to_string();
        let to = writer.dir().join(own);
        copy_folder(&run.input.dir, &to).map_err(|e| ArchiveError::write_failed(&to, e))?;
        machines.push(machine);
    }
    Ok(machines)
}

fn replace_line_ends(name: &str) -> String {
    name.replace(['\r', '\n'], " ")
}

/// What is added to a machine's times, in whole slots, so that slots add.
fn clock_shift(run: &SharedRun<'_>, origin_unix_ns: u64) -> u64 {
    let later = run.run.meta.origin_unix_ns.saturating_sub(origin_unix_ns);
    later.saturating_add(SLOT_NS / 2) / SLOT_NS * SLOT_NS
}

/// Shares that no run holds, as typed.
fn missing_shares(runs: &[SharedRun<'_>], lost: &BTreeMap<usize, String>) -> Vec<String> {
    let Some(first) = runs.first() else { return Vec::new() };
    let there: BTreeSet<usize> = runs.iter().map(|run| run.share.number).collect();
    let of = first.share.text.split_once('/').map_or("", |(_, of)| of);
    let all = 1..=first.share.weights.len();
    let text = |number: usize| {
        let why = lost.get(&number).map(|why| format!(" ({})", replace_line_ends(why)));
        format!("{number}/{of}{}", why.unwrap_or_default())
    };
    all.filter(|number| !there.contains(number)).map(text).collect()
}

fn merge_meta(
    runs: &[SharedRun<'_>],
    origin_unix_ns: u64,
    shifts: &[u64],
    options: &MergeOptions,
) -> RunMeta {
    let first = &runs[0].run.meta;
    let ends = runs.iter().zip(shifts).map(|(run, shift)| {
        run.run.meta.ended_ns.unwrap_or(run.trial.ended_ns).saturating_add(*shift)
    });
    let (state, why) = merge_state(runs);
    let locals = runs.iter().filter_map(|run| run.run.meta.server.as_ref()).find(|s| s.local);
    let name = options.name.clone().unwrap_or_else(|| format!("{}-merged", first.name));
    RunMeta {
        name,
        command_line: options.command_line.clone(),
        defaults: Vec::new(),
        origin_unix_ns,
        ended_ns: ends.max(),
        state,
        why,
        server: locals.cloned().or_else(|| first.server.clone()),
        host: merge_hosts(runs),
        facts: merge_facts(&first.facts),
        ..first.clone()
    }
}

/// Those of the first share, but for what is its machine's own.
fn merge_facts(facts: &BTreeMap<String, serde_json::Value>) -> BTreeMap<String, serde_json::Value> {
    let of_all = facts.iter().filter(|(name, _)| !OF_MACHINE.contains(&name.as_str()));
    of_all.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// How far all came: as far as the one that came least far.
fn merge_state(runs: &[SharedRun<'_>]) -> (RunState, Option<String>) {
    let rank = |state: RunState| match state {
        RunState::Done => 0,
        RunState::Interrupted => 1,
        RunState::Running => 2,
        RunState::Failed => 3,
    };
    let least = runs.iter().rev().max_by_key(|run| rank(run.run.meta.state));
    let Some(least) = least.filter(|run| run.run.meta.state != RunState::Done) else {
        return (RunState::Done, None);
    };
    let meta = &least.run.meta;
    let why = match (meta.state, &meta.why) {
        (RunState::Running, _) => "its run folder was not closed",
        (_, Some(why)) => why.as_str(),
        (_, None) => "it was stopped",
    };
    // The merge is closed, whatever its parts are.
    let state = if meta.state == RunState::Running { RunState::Failed } else { meta.state };
    (state, Some(format!("share {}: {why}", least.share.text)))
}

/// What all machines have in common, their names, and all their cores.
fn merge_hosts(runs: &[SharedRun<'_>]) -> BTreeMap<String, String> {
    let mut host = runs[0].run.meta.host.clone();
    host.retain(|name, value| runs.iter().all(|run| run.run.meta.host.get(name) == Some(value)));
    host.remove("memory_bytes");
    let names: Vec<String> = runs.iter().map(machine_name).collect();
    host.insert("name".to_owned(), names.join(", "));
    let cpus = |run: &SharedRun<'_>| run.run.meta.host.get("cpus")?.parse::<u64>().ok();
    if let Some(all) = runs.iter().map(cpus).collect::<Option<Vec<u64>>>() {
        host.insert("cpus".to_owned(), all.iter().sum::<u64>().to_string());
    }
    host
}

fn machine_name(run: &SharedRun<'_>) -> String {
    run.run.meta.host.get("name").cloned().unwrap_or_else(|| format!("share {}", run.share.text))
}

/// The steps of the first share, each as long as the longest. Of counters only the server's are kept: they are of one server,
/// those of hosts are each machine's own.
fn merge_steps(runs: &[SharedRun<'_>], shifts: &[u64]) -> Vec<StepRecord> {
    let same_step = |number: u32| {
        runs.iter().zip(shifts).filter_map(move |(run, shift)| {
            let step = run.run.steps.iter().find(|step| step.number == number)?;
            let ended = step.ended_ns.map(|end| end.saturating_add(*shift));
            Some((step, step.began_ns.saturating_add(*shift), ended))
        })
    };
    let of_server = |counters: &Counters| -> Counters {
        let kept = counters.iter().filter(|(name, _)| !name.contains('.'));
        kept.map(|(name, value)| (name.clone(), *value)).collect()
    };
    let merge = |step: &StepRecord| {
        let began = same_step(step.number).min_by_key(|(_, began, _)| *began);
        let ended = same_step(step.number).max_by_key(|(.., ended)| ended.unwrap_or(u64::MAX));
        StepRecord {
            began_ns: began.map_or(step.began_ns, |(_, began, _)| began),
            ended_ns: ended.and_then(|(.., ended)| ended),
            before: began.map(|(step, ..)| of_server(&step.before)).unwrap_or_default(),
            after: ended.map(|(step, ..)| of_server(&step.after)).unwrap_or_default(),
            noise: Counters::new(),
            ..step.clone()
        }
    };
    runs[0].run.steps.iter().map(merge).collect()
}

/// What the first share's probes asked the server: one machine's answers say it all. What they saw of their host stays in the
/// machines' own folders.
fn server_samples(run: &RunRecord, shift: u64) -> impl Iterator<Item = SampleRecord> + '_ {
    let asks_server =
        |name: &str| PROBES.iter().any(|probe| probe.name == name && probe.asks_server);
    run.samples.iter().filter(move |sample| asks_server(&sample.probe)).map(move |sample| {
        SampleRecord {
            planned_ns: sample.planned_ns.saturating_add(shift),
            began_ns: sample.began_ns.saturating_add(shift),
            ended_ns: sample.ended_ns.saturating_add(shift),
            ..sample.clone()
        }
    })
}

fn machine_record(run: &SharedRun<'_>, shift_ns: u64, origin_unix_ns: u64) -> MachineRecord {
    let (meta, trial) = (&run.run.meta, run.trial);
    let later_ns = meta.origin_unix_ns.saturating_sub(origin_unix_ns);
    let count = |all: &[crate::recorder::Histogram]| all.iter().map(|h| h.len()).sum();
    MachineRecord {
        name: machine_name(run),
        share: run.share.clone(),
        run: meta.id.clone(),
        load: String::new(),
        folder: String::new(),
        host: meta.host.clone(),
        state: meta.state,
        why: meta.why.clone(),
        damage: run.run.damage.clone(),
        voids: run.input.voids.clone(),
        shift_ns,
        clock_bound_ns: meta.facts.get(CLOCK_BOUND).and_then(serde_json::Value::as_u64),
        began_ns: trial.began_ns.saturating_add(later_ns),
        ended_ns: trial.ended_ns.saturating_add(later_ns),
        workers: trial.workers,
        events: count(&trial.response),
        failed: count(&trial.failed),
        intervals: trial.intervals.len(),
        cpu_user_ns: trial.cpu_user_ns,
        cpu_system_ns: trial.cpu_system_ns,
        response: (&sums::add_all(&trial.response)).into(),
        lateness: (&trial.lateness).into(),
    }
}

/// Copies files and folders; links are left out.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    private::create_folder(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_file() {
            let mut source = std::fs::File::open(entry.path())?;
            io::copy(&mut source, &mut private::create_file(&target)?)?;
        }
    }
    Ok(())
}
