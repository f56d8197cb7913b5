//! Finished runs against each other: they were not planned together, so what differs has to be said.

use std::collections::BTreeSet;

use crate::archive::RunRecord;

use super::compare::differences::{NONE, VERSION, differing_factors, is_factor, run_differences};
use super::compare::judge::{self, DecisionRule, StudyDesign};
use super::compare::levels;
use super::compare::units::{self, ComparisonUnit};
use super::compare::{METRIC, apply_noise, comparison_sentences, metric_name};
use super::counters::server_variable;
use super::findings::{
    Caveat, CaveatLevel, ComparedRun, ComparedSide, ComparisonFindings, DifferenceKind,
    FindingResults, MetricComparison, NoiseItem, RunFindings, SetupDifference, TrialFinding,
};
use super::number_format::{UNKNOWN, format_plural};
use super::one_run::{analyse_run, withdraw_verdicts};
use super::sentences::{caveat_texts, mark_unreliable};
use super::statistics::correction::ALPHA;
use super::{caveats, costs};
use super::{noise, replay};

/// Differences that make two runs different experiments.
const OTHER_EXPERIMENT: &[DifferenceKind] =
    &[DifferenceKind::Workload, DifferenceKind::Load, DifferenceKind::Data];
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
    run_differences(first, second)
}

/// Settings that are not the same in several runs, as a comparison would tell them: name, and the value in each.
pub fn differing_settings(runs: &[RunRecord]) -> Vec<(String, Vec<String>)> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let of_other = |other| run_differences(first, other).into_iter();
    let settings = others.iter().flat_map(of_other).filter(|d| d.kind == DifferenceKind::Setting);
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
pub fn compare_runs(
    base: &[RunRecord],
    other: &[RunRecord],
    how: &ComparisonOptions,
) -> ComparisonFindings {
    let mut differences = differences_of(base, other);
    let (base_name, name) = side_names(base, other, &differences);
    for difference in &mut differences {
        difference.variant.clone_from(&name);
    }
    let sides = [(base, base_name.as_str()), (other, name.as_str())];
    let analysed: [Vec<RunFindings>; 2] =
        sides.map(|(runs, _)| runs.iter().map(analyse_run).collect());
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
    let named_units: Vec<(&str, Vec<&ComparisonUnit>)> = sides
        .iter()
        .zip(&units)
        .map(|((_, name), units)| (*name, units.iter().collect()))
        .collect();
    let deciding = metric_name(&how.metric).unwrap_or(METRIC);
    let mut comparisons = judge::judge_variants(&named_units, design, rule, deciding, &notes);
    let mut cost_changes =
        costs::changes_between_runs((&base_name, base), (&name, other), design, how.margin);
    if !cost_changes.is_empty() {
        // Events are rounds of what was measured: how many there were says nothing.
        comparisons.clear();
    }
    let of_costs = cost_changes.iter_mut().map(|one| &mut one.change);
    let mut all: Vec<&mut MetricComparison> = comparisons.iter_mut().chain(of_costs).collect();
    apply_run_noise([base, other], &analysed, &base_name, &mut all);
    let levels = match cost_changes.is_empty() {
        true => levels::levels_of_sides(&named_units, deciding),
        false => Vec::new(),
    };
    let mut caveats = comparison_caveats(base, other, &differences);
    let bears = |c: &Caveat| c.level != CaveatLevel::Note && c.id != "ONE-RUN";
    caveats.extend(caveats_of_runs(&analysed, |run| &run.results.caveats, bears));
    let deciding = comparisons.iter().filter(|c| c.decides);
    let of_costs = cost_changes.iter().map(|one| &one.change);
    caveats::relax_noise_caveats(&mut caveats, deciding.chain(of_costs));
    let mut allowed = caveats_of_runs(&analysed, |run| &run.results.allowed, |_| true);
    allowed.sort_by_key(|caveat| caveat.level);
    let mut results = FindingResults {
        answer: Vec::new(),
        caveats,
        allowed,
        trials: trials_by_side(&analysed, [&base_name, &name]),
        comparisons,
        levels,
        differences,
        replay_changes: replay::changes_between_runs(
            (&base_name, base),
            (&name, other),
            how.paired,
            how.margin,
        ),
        cost_changes,
    };
    if results.void_caveat().is_some() {
        withdraw_verdicts(&mut results, &mut []);
    }
    let mut answer = comparison_sentences(&results.comparisons, &results.differences);
    answer.extend(replay::change_sentences(&results.replay_changes));
    answer.splice(0..0, costs::change_sentences(&results.cost_changes));
    results.answer = if results.void_caveat().is_some() { mark_unreliable(answer) } else { answer };
    let [ours, theirs] = analysed;
    let side = |name: String, runs: Vec<RunFindings>| ComparedSide {
        name,
        runs: runs.into_iter().map(compared_run).collect(),
    };
    ComparisonFindings { results, sides: [side(base_name, ours), side(name, theirs)] }
}

fn compared_run(run: RunFindings) -> ComparedRun {
    ComparedRun {
        head: run.head,
        data: run.data,
        settings: run.settings,
        plan: run.plan,
        allowed: run.results.allowed,
    }
}

/// Holds the comparisons against the noise of the machine during these runs.
fn apply_run_noise(
    sides: [&[RunRecord]; 2],
    analysed: &[Vec<RunFindings>],
    base_name: &str,
    comparisons: &mut [&mut MetricComparison],
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
        let trials = analysed.iter().flatten().flat_map(|found| &found.results.trials);
        apply_noise(comparisons.iter_mut().map(|one| &mut **one), slowed, trials);
    }
}

/// Units of one side: each run counts its blocks on.
fn side_units(
    runs: &[RunRecord],
    found: &[RunFindings],
    name: &str,
) -> (Vec<ComparisonUnit>, Vec<String>) {
    let loads: Vec<(&RunRecord, &[TrialFinding])> =
        runs.iter().zip(found).map(|(run, found)| (run, &found.results.trials[..])).collect();
    let units = units::collect_units(&loads);
    let mut own: Vec<ComparisonUnit> = units.all_units().to_vec();
    for unit in &mut own {
        name.clone_into(&mut unit.variant);
    }
    let said = units.notes.iter();
    (own, said.cloned().collect())
}

/// All loads, each named by its run and side.
fn trials_by_side(analysed: &[Vec<RunFindings>], names: [&str; 2]) -> Vec<TrialFinding> {
    let mut all = Vec::new();
    for (side, name) in analysed.iter().zip(names) {
        for (number, found) in side.iter().enumerate() {
            for trial in &found.results.trials {
                let mut trial = trial.clone();
                trial.id = format!("{}/{}", found.head.id, trial.id);
                trial.title = format!("{name}, {}", side_load_name(side, number, &trial));
                trial.variant = name.to_owned();
                trial.block += number as u32;
                trial.pass = trial.block;
                all.push(trial);
            }
        }
    }
    all
}

/// What a load of a side is called beside the side's name: its run where there are several, what it is called there
/// where that has several loads.
fn side_load_name(side: &[RunFindings], number: usize, trial: &TrialFinding) -> String {
    let run = format!("run {}", number + 1);
    match (side.len(), side[number].results.trials.len()) {
        (_, 1) => run,
        (1, _) => trial.title.clone(),
        _ => format!("{run}, {}", trial.title),
    }
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
    let factors = differing_factors(differences);
    if let ([name], Some(one)) = (&factors[..], differences.iter().find(|d| is_factor(d))) {
        if one.kind == DifferenceKind::Setting {
            return (setting_text(base, name), setting_text(other, name));
        }
        if one.kind == DifferenceKind::Server && one.name == VERSION {
            return (one.base.clone(), one.other.clone());
        }
    }
    ("the base".to_owned(), "the other".to_owned())
}

/// `sync_binlog=0`, as the first of these runs began.
fn setting_text(runs: &[RunRecord], name: &str) -> String {
    let value = runs.first().and_then(|run| server_variable(run, name));
    format!("{name}={}", value.unwrap_or(NONE))
}

/// CONFOUNDED, MIXED and ONE-RUN.
fn comparison_caveats(
    base: &[RunRecord],
    other: &[RunRecord],
    differences: &[SetupDifference],
) -> Vec<Caveat> {
    let mut found = Vec::new();
    let factors = differing_factors(differences);
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
            .flat_map(|run| differing_factors(&run_differences(&runs[0], run)))
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

/// Caveats of the runs themselves, each once, with how many runs have it.
fn caveats_of_runs(
    sides: &[Vec<RunFindings>],
    of: fn(&RunFindings) -> &[Caveat],
    bears: fn(&Caveat) -> bool,
) -> Vec<Caveat> {
    let found: Vec<&RunFindings> = sides.iter().flatten().collect();
    let mut all: Vec<Caveat> = Vec::new();
    for caveat in found.iter().flat_map(|run| of(run)).filter(|caveat| bears(caveat)) {
        if !all.iter().any(|known| known.id == caveat.id) {
            let has = |run: &&&RunFindings| of(run).iter().any(|c| c.id == caveat.id);
            let with = found.iter().filter(has).count();
            let mut caveat = caveat.clone();
            caveat.evidence = format!("in {with} of {} runs: {}", found.len(), caveat.evidence);
            all.push(caveat);
        }
    }
    all
}
