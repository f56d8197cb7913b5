//! Why run folders can't be merged: each names what differs, and both values.

use std::collections::BTreeMap;

use super::super::share::ShareRecord;
use super::super::types::{RunRecord, Trial};
use super::MergeInput;

/// Why folders can't be merged.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeRefusal {
    /// They are no shares of one load.
    #[error("{what} differs: {first} in {first_run}, {other} in {other_run}")]
    Differs {
        /// What is not the same.
        what: String,
        /// The value in the first run.
        first: String,
        /// Name of the first run.
        first_run: String,
        /// The value in the other one.
        other: String,
        /// Name of the other one.
        other_run: String,
    },
    /// Two hold the same share, or the same workers.
    #[error("{first_run} and {other_run} both hold {what}")]
    Overlap {
        /// What they both hold.
        what: String,
        /// Name of the first run.
        first_run: String,
        /// Name of the other one.
        other_run: String,
    },
    /// A run is not one share of a load.
    #[error("{run} {why}")]
    NoShare {
        /// Name of the run.
        run: String,
        /// Why not.
        why: String,
    },
    /// Shares are not there.
    #[error("shares of the load are missing: {}", .0.join(", "))]
    Missing(Vec<String>),
}

impl MergeRefusal {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            MergeRefusal::Differs { .. } => {
                "run all shares with the same version, options and --seed"
            }
            MergeRefusal::Overlap { .. } => "name the run of each machine once",
            MergeRefusal::NoShare { .. } => "run one load with --share on each machine",
            MergeRefusal::Missing(_) => {
                "name their runs too, or merge what is there, as a void run, with --incomplete"
            }
        }
    }
}

/// One run of several, with its one load.
#[derive(Clone, Copy)]
pub(super) struct SharedRun<'a> {
    pub(super) input: &'a MergeInput,
    pub(super) run: &'a RunRecord,
    pub(super) trial: &'a Trial,
    pub(super) share: &'a ShareRecord,
}

impl SharedRun<'_> {
    fn name(&self) -> String {
        self.input.dir.file_name().map_or_else(
            || self.input.dir.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        )
    }
}

/// The runs by the numbers of their shares.
///
/// # Errors
/// Why they can't be merged.
pub(super) fn check_runs(inputs: &[MergeInput]) -> Result<Vec<SharedRun<'_>>, MergeRefusal> {
    let mut runs: Vec<SharedRun<'_>> = inputs.iter().map(shared_run).collect::<Result<_, _>>()?;
    for other in runs.iter().skip(1) {
        check_same(&runs[0], other)?;
    }
    runs.sort_by_key(|run| run.share.number);
    for pair in runs.windows(2) {
        check_apart(&pair[0], &pair[1])?;
    }
    Ok(runs)
}

fn shared_run(input: &MergeInput) -> Result<SharedRun<'_>, MergeRefusal> {
    let refuse = |why: String| {
        let run = input.dir.file_name().unwrap_or(input.dir.as_os_str());
        MergeRefusal::NoShare { run: run.to_string_lossy().into_owned(), why }
    };
    let run = &input.run;
    let trial = match &run.trials[..] {
        [trial] => trial,
        [] => {
            let why = run.meta.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            return Err(refuse(format!("has no load{why}")));
        }
        trials => return Err(refuse(format!("has {} loads", trials.len()))),
    };
    let share = trial.share.as_ref();
    let share = share.ok_or_else(|| refuse("is a whole load, not a share of one".to_owned()))?;
    if share.number == 0 || share.number > share.weights.len() {
        return Err(refuse(format!("names share {} of {}", share.number, share.weights.len())));
    }
    Ok(SharedRun { input, run, trial, share })
}

/// What must be equal in all runs, by name.
fn same_values(run: &SharedRun<'_>) -> Vec<(String, String)> {
    let (meta, trial, share) = (&run.run.meta, run.trial, run.share);
    let weights: Vec<String> = share.weights.iter().map(u32::to_string).collect();
    let server = meta.server.as_ref().map(|s| format!("{} {}", s.product, s.version));
    let mut values = vec![
        ("the version of sweat".to_owned(), meta.tool_version.clone()),
        ("the seed".to_owned(), meta.seed.to_string()),
        ("the number of shares".to_owned(), share.weights.len().to_string()),
        ("the weight of the shares".to_owned(), weights.join(":")),
        ("the number of workers of all shares".to_owned(), share.all_workers.to_string()),
        ("the server".to_owned(), server.unwrap_or_else(|| "none".to_owned())),
        ("the workload".to_owned(), trial.workload.clone()),
    ];
    values.extend(plan_values(&run.run.plan));
    let options = trial.options.iter();
    values.extend(options.map(|(name, value)| (format!("option {name}"), value.clone())));
    values.push(("the list of classes".to_owned(), trial.classes.join(", ")));
    values.push(("the list of steps".to_owned(), trial.event_steps.join(", ")));
    values
}

fn check_same(first: &SharedRun<'_>, other: &SharedRun<'_>) -> Result<(), MergeRefusal> {
    let absent = || "nothing".to_owned();
    let (ours, theirs) = (same_values(first), same_values(other));
    let known: BTreeMap<&str, &str> =
        theirs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let differs = |what: &str, value: Option<&str>, found: Option<&str>| MergeRefusal::Differs {
        what: what.to_owned(),
        first: value.map_or_else(absent, str::to_owned),
        first_run: first.name(),
        other: found.map_or_else(absent, str::to_owned),
        other_run: other.name(),
    };
    for (what, value) in &ours {
        let found = known.get(what.as_str()).copied();
        if found != Some(value) {
            return Err(differs(what, Some(value), found));
        }
    }
    let is_ours = |what: &str| ours.iter().any(|(name, _)| name == what);
    match theirs.iter().find(|(what, _)| !is_ours(what)) {
        Some((what, value)) => Err(differs(what, None, Some(value))),
        None => Ok(()),
    }
}

fn check_apart(one: &SharedRun<'_>, next: &SharedRun<'_>) -> Result<(), MergeRefusal> {
    let overlap = |what: String| {
        Err(MergeRefusal::Overlap { what, first_run: one.name(), other_run: next.name() })
    };
    if one.share.number == next.share.number {
        return overlap(format!("share {}", one.share.text));
    }
    let workers = |run: &SharedRun<'_>| {
        let first = run.share.first_worker;
        first..first.saturating_add(run.trial.workers)
    };
    let (ours, theirs) = (workers(one), workers(next));
    if theirs.start < ours.end {
        let last = ours.end.min(theirs.end);
        return overlap(format!("workers {} to {last}", theirs.start + 1));
    }
    Ok(())
}

/// Sections and keys of a plan that each machine has for itself: where the server is, where runs go, which share it is.
const OWN_SECTIONS: &[&str] = &["target"];
const OWN_KEYS: &[&str] = &["load.share", "runs-dir"];

/// The values of a plan by their keys, but for those of one machine. Plans in run folders are written by one program, so two of
/// the same are alike line by line.
fn plan_values(plan: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut values = Vec::new();
    for line in plan.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with('[') && line.ends_with(']') && !line.contains('=') {
            line.trim_matches(['[', ']']).clone_into(&mut section);
            continue;
        }
        let (key, value) = line.split_once(" = ").unwrap_or((line, ""));
        let path = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
        let is_own = OWN_SECTIONS.iter().any(|own| section.split('.').next() == Some(own));
        if is_own || OWN_KEYS.contains(&path.as_str()) {
            continue;
        }
        // Of lists each entry counts.
        let times = seen.entry(path.clone()).or_default();
        *times += 1;
        let name = if *times == 1 { path } else { format!("{path} ({times})") };
        values.push((format!("plan: {name}"), value.to_owned()));
    }
    values
}

/// The plan of all shares together.
pub(super) fn without_share(plan: &str) -> String {
    let mut section = String::new();
    let mut whole = String::new();
    for line in plan.lines() {
        if line.starts_with('[') {
            section = line.trim().to_owned();
        }
        let is_share = section == "[load]" && line.trim_start().starts_with("share = ");
        if !is_share {
            whole.push_str(line);
            whole.push('\n');
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "name = \"x\"\nruns-dir = \"/a\"\n\n[target]\nhost = \"db1\"\n\n[load]\n\
                        workers = 8\nshare = \"1/2\"\n\n[workload.options]\nshare = \"9\"\n";

    #[test]
    fn a_plan_is_read_but_for_what_each_machine_has_for_itself() {
        let values = plan_values(PLAN);
        let names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
        let expected = ["plan: name", "plan: load.workers", "plan: workload.options.share"];
        assert_eq!(names, expected);
    }

    #[test]
    fn only_the_share_leaves_a_plan() {
        let whole = without_share(PLAN);
        assert_eq!(whole, PLAN.replace("share = \"1/2\"\n", ""));
    }
}
