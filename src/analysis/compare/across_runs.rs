//! Finished runs against each other: they were not planned together, so what differs has to be said.

use std::collections::BTreeSet;

use crate::archive::RunRecord;

use super::super::caveats::{Caveat, CaveatLevel};
use super::super::findings::{
    Findings, MetricComparison, NoiseItem, RunTimeline, SetupDifference, TrialFinding,
};
use super::super::number_format::{UNKNOWN, format_plural};
use super::super::sentences::{caveat_texts, mark_unreliable};
use super::super::statistics::correction::ALPHA;
use super::super::{analyse_run, caveats, noise, replay, withdraw_verdicts};
use super::judge::{DecisionRule, StudyDesign};
use super::units::{self, ComparisonUnit};
use super::{answer, differences, judge, metric_name};

/// Differences that make two runs different experiments.
const OTHER_EXPERIMENT: &[&str] = &["workload", "load", "data"];
/// Factors that an evidence lists.
const LISTED: usize = 4;

/// How finished runs are compared.
#[derive(Clone, Debug)]
pub struct ComparisonOptions {
    /// Whether the first of one side belongs to the first of the other, and so on: they ran in turns.
    pub paired: bool,
    /// The metric that decides: one of [`super::metric_names`].
    pub metric: String,
    /// Differences below this share don't matter.
    pub margin: f64,
}

/// What differs between the first runs of both sides. Those of kind `workload`, `load` or `data` make them different
/// experiments, whose numbers say nothing about each other.
pub fn differences_of(base: &[RunRecord], other: &[RunRecord]) -> Vec<SetupDifference> {
    let (Some(first), Some(second)) = (base.first(), other.first()) else { return Vec::new() };
    differences::run_differences(first, second)
}

/// Settings that are not the same in several runs, as a comparison would tell them: name, and the value in each.
pub fn differing_settings(runs: &[RunRecord]) -> Vec<(String, Vec<String>)> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let of_other = |other| differences::run_differences(first, other).into_iter();
    let settings = others.iter().flat_map(of_other).filter(|d| d.kind == "setting");
    let names: BTreeSet<String> = settings.map(|difference| difference.name).collect();
    let value = |run: &RunRecord, name: &str| {
        let found = run.variables.iter().find(|v| v.name.eq_ignore_ascii_case(name));
        found.map_or_else(|| UNKNOWN.to_owned(), |v| v.start.clone())
    };
    let values = |name: String| {
        let all = runs.iter().map(|run| value(run, &name)).collect();
        (name, all)
    };
    names.into_iter().map(values).collect()
}

impl SetupDifference {
    /// Whether runs that differ in this did not do the same thing.
    pub fn is_another_experiment(&self) -> bool {
        OTHER_EXPERIMENT.contains(&self.kind)
    }
}

/// These runs against those of the base. All trials are in the findings, in the order given, the base first.
pub fn compare_runs(base: &[RunRecord], other: &[RunRecord], how: &ComparisonOptions) -> Findings {
    let mut differences = differences_of(base, other);
    let (base_name, name) = side_names(base, other, &differences);
    for difference in &mut differences {
        difference.variant.clone_from(&name);
    }
    let sides = [(base, base_name.as_str()), (other, name.as_str())];
    let analysed: Vec<Vec<Findings>> =
        sides.iter().map(|(runs, _)| runs.iter().map(analyse_run).collect()).collect();
    let mut notes = Vec::new();
    let mut units: Vec<Vec<ComparisonUnit>> = Vec::new();
    for ((runs, name), found) in sides.iter().zip(&analysed) {
        let (side, mut said) = side_units(runs, found, name);
        units.push(side);
        said.retain(|note| !notes.contains(note));
        notes.append(&mut said);
    }
    let design = if how.paired { StudyDesign::Paired } else { StudyDesign::Unpaired };
    let rule = DecisionRule { alpha: ALPHA, margin: how.margin };
    let sides: Vec<(&str, Vec<&ComparisonUnit>)> = sides
        .iter()
        .zip(&units)
        .map(|((_, name), units)| (*name, units.iter().collect()))
        .collect();
    let deciding = metric_name(&how.metric).unwrap_or(super::METRIC);
    let mut comparisons = judge::judge_variants(&sides, design, rule, deciding, &notes);
    let trials = trials_by_side(&analysed, [&base_name, &name]);
    apply_run_noise([base, other], &analysed, &base_name, &mut comparisons);
    let mut caveats = comparison_caveats(base, other, &differences);
    caveats.extend(inherited_caveats(&analysed.concat()));
    caveats::relax_noise_caveats(&mut caveats, comparisons.iter().filter(|c| c.decides));
    let folders: Vec<&str> = base.iter().chain(other).map(|run| run.meta.id.as_str()).collect();
    let whole = analysed.into_iter().flatten().next_back();
    let mut findings = whole.unwrap_or_else(|| analyse_run(&RunRecord::default()));
    findings.head.id = folders.join(", ");
    findings.head.command = "compare".to_owned();
    findings.caveats = caveats;
    findings.trials = trials;
    findings.comparisons = comparisons;
    findings.differences = differences;
    findings.variants.clear();
    findings.replay_changes =
        replay::changes_between_runs((&base_name, base), (&name, other), how.paired, how.margin);
    findings.replays.clear();
    findings.scaling = None;
    findings.capacity = None;
    findings.waits.clear();
    findings.wait_groups.clear();
    findings.watch_cost = None;
    findings.noise.clear();
    findings.checks.clear();
    findings.timeline = RunTimeline::default();
    if findings.void_caveat().is_some() {
        withdraw_verdicts(&mut findings);
    }
    let mut answer = answer::comparison_sentences(&findings.comparisons, &findings.differences);
    answer.extend(replay::change_sentences(&findings.replay_changes));
    findings.answer =
        if findings.void_caveat().is_some() { mark_unreliable(answer) } else { answer };
    findings
}

/// Holds the comparisons against the noise of the machine during these runs.
fn apply_run_noise(
    sides: [&[RunRecord]; 2],
    analysed: &[Vec<Findings>],
    base_name: &str,
    comparisons: &mut [MetricComparison],
) {
    let runs_of = |place: usize| -> Vec<(&RunRecord, &[NoiseItem])> {
        let runs = sides[place].iter().zip(&analysed[place]);
        runs.map(|(run, found)| (run, &found.noise[..])).collect()
    };
    let is_loud =
        |(run, found): &(&RunRecord, &[NoiseItem])| noise::is_noisy(found, &run.meta.allow);
    if runs_of(0).iter().chain(&runs_of(1)).any(is_loud) {
        let slowed =
            |side: &str| noise::mean_slowdown(&runs_of(usize::from(side != base_name)), |_| true);
        let trials = analysed.iter().flatten().flat_map(|found| &found.trials);
        super::apply_noise(comparisons, slowed, trials);
    }
}

/// Units of one side: each run counts its blocks on.
fn side_units(
    runs: &[RunRecord],
    found: &[Findings],
    name: &str,
) -> (Vec<ComparisonUnit>, Vec<String>) {
    let loads: Vec<(&RunRecord, &[TrialFinding])> =
        runs.iter().zip(found).map(|(run, found)| (run, &found.trials[..])).collect();
    let units = units::collect_units(&loads);
    let mut own: Vec<ComparisonUnit> = units.all_units().to_vec();
    for unit in &mut own {
        name.clone_into(&mut unit.variant);
    }
    let said = units.notes.iter();
    (own, said.cloned().collect())
}

/// All loads, each named by its run and side.
fn trials_by_side(analysed: &[Vec<Findings>], names: [&str; 2]) -> Vec<TrialFinding> {
    let mut all = Vec::new();
    for (side, name) in analysed.iter().zip(names) {
        for (number, found) in side.iter().enumerate() {
            for trial in &found.trials {
                let mut trial = trial.clone();
                trial.id = format!("{}/{}", found.head.id, trial.id);
                trial.variant = name.to_owned();
                trial.block += number as u32;
                trial.pass = trial.block;
                all.push(trial);
            }
        }
    }
    all
}

/// What the two sides are called: by the names their runs were given, else by the one setting or version that differs,
/// else by their place.
fn side_names(
    base: &[RunRecord],
    other: &[RunRecord],
    differences: &[SetupDifference],
) -> (String, String) {
    let name =
        |runs: &[RunRecord]| runs.first().map_or_else(String::new, |run| run.meta.name.clone());
    let (ours, theirs) = (name(base), name(other));
    if ours != theirs && !ours.is_empty() && !theirs.is_empty() {
        return (ours, theirs);
    }
    let bare = |value: &str| value.split(" (").next().unwrap_or(value).to_owned();
    let factors = differences::differing_factors(differences);
    if let ([name], Some(one)) =
        (&factors[..], differences.iter().find(|d| differences::is_factor(d)))
    {
        if one.kind == "setting" {
            return (format!("{name}={}", bare(&one.base)), format!("{name}={}", bare(&one.other)));
        }
        if one.kind == "server" && one.name == "version" {
            return (one.base.clone(), one.other.clone());
        }
    }
    ("the base".to_owned(), "the other".to_owned())
}

/// CONFOUNDED, MIXED and ONE-RUN.
fn comparison_caveats(
    base: &[RunRecord],
    other: &[RunRecord],
    differences: &[SetupDifference],
) -> Vec<Caveat> {
    let mut found = Vec::new();
    let factors = differences::differing_factors(differences);
    if factors.len() > 1 {
        let more = factors.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        found.push(caveat_texts::CONFOUNDED_RUNS.to_caveat(&[
            ("things", &format_plural(factors.len() as u64, "thing", "things")),
            ("names", &factors[..factors.len().min(LISTED)].join(", ")),
            ("more", &more),
        ]));
    }
    for (side, runs) in [("the base", base), ("the other side", other)] {
        let unlike: BTreeSet<String> = runs
            .iter()
            .skip(1)
            .flat_map(|run| {
                differences::differing_factors(&differences::run_differences(&runs[0], run))
            })
            .collect();
        if let Some(first) = unlike.first() {
            found.push(caveat_texts::MIXED.to_caveat(&[("side", &side), ("first", first)]));
        }
    }
    if base.len().min(other.len()) < 2 {
        found.push(caveat_texts::ONE_RUN_SIDE.to_caveat(&[]));
    }
    found
}

/// Doubts about the runs themselves that bear on a comparison, each once.
fn inherited_caveats(found: &[Findings]) -> Vec<Caveat> {
    let mut all: Vec<Caveat> = Vec::new();
    for caveat in found.iter().flat_map(|f| &f.caveats) {
        let grave = caveat.level != CaveatLevel::Note && caveat.id != "ONE-RUN";
        if grave && !all.iter().any(|known| known.id == caveat.id) {
            let with = found.iter().filter(|f| f.caveats.iter().any(|c| c.id == caveat.id)).count();
            let mut caveat = caveat.clone();
            caveat.evidence = format!("in {with} of {} runs: {}", found.len(), caveat.evidence);
            all.push(caveat);
        }
    }
    all
}

/// CONFOUNDED of a plan whose way changes several settings at once, as it was asked to.
pub(in super::super) fn confounded_settings(input: &caveats::CaveatInput<'_>) -> Option<Caveat> {
    let differences = differences::variant_differences(input.run, &super::variant_names(input.run));
    let count = |variant: &str| differences.iter().filter(|d| d.variant == variant).count();
    let most = differences.iter().max_by_key(|d| count(&d.variant))?;
    let names: Vec<&str> =
        differences.iter().filter(|d| d.variant == most.variant).map(|d| d.name.as_str()).collect();
    (names.len() > 1).then(|| {
        caveat_texts::CONFOUNDED_PLAN.to_caveat(&[
            ("way", &most.variant),
            ("things", &format_plural(names.len() as u64, "thing", "things")),
            ("names", &names.join(", ")),
        ])
    })
}
