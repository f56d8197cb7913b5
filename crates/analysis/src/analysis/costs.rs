//! What things cost that a workload measured one by one: medians of rounds, and one load's against another's.
//!
//! All things of a comparison are judged together, so that among many one is seldom called a change by chance. The geometric
//! mean is that of the ratios of all things that both sides measured. Its interval comes from rounds or runs, as that of each
//! thing does: nothing is said of other things than these.

use std::collections::BTreeSet;

use super::compare::{
    FEWEST_BATCHES, SidedValues, StudyDesign, apply_noise, asked_margin, judge_sides, variant_names,
};
use super::findings::{
    AnswerSentence, ComparisonVerdict, CostChange, CostFinding, MetricComparison, NoiseItem,
    TrialFinding,
};
use super::noise;
use super::number_format::{format_number, format_plural};
use super::sentences::answer_texts;
use super::statistics::order_statistics::quantile_interval;
use super::statistics::robust::median;
use crate::archive::{RunRecord, Trial};
use crate::recorder::MeasuredCost;

/// What the mean over all is called.
const MEAN: &str = "geometric mean";

/// One load: its number, and what it measured.
type CostUnit<'r> = (u32, &'r [MeasuredCost]);

/// The figures of one thing.
pub(super) fn cost_of(measured: &MeasuredCost) -> CostFinding {
    let mut sorted = measured.wall_ns.clone();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = quantile_interval(sorted.len() as u64, 0.5);
    let at = |rank: u64| sorted.get(usize::try_from(rank.checked_sub(1)?).ok()?).copied();
    let bounds = at(low).zip(at(high));
    let seconds = |ns: f64| ns / 1e9;
    let time_s = median(&sorted).map(seconds);
    let rows = Some(measured.rows).filter(|rows| *rows > 0);
    CostFinding {
        name: measured.name.clone(),
        group: measured.group.clone(),
        count: measured.count,
        rounds: sorted.len() as u64,
        time_s,
        time_low_s: bounds.map(|(low, _)| seconds(low)),
        time_high_s: bounds.map(|(_, high)| seconds(high)),
        cpu_s: median(&measured.cpu_ns).map(seconds),
        rows_per_s: rows.zip(time_s).map(|(rows, time)| rows as f64 / time),
        remark: match time_s {
            None if measured.remark.is_empty() => "not measured".to_owned(),
            _ => measured.remark.clone(),
        },
    }
}

/// Each further variant of a run against its first, held against the noise of the machine.
pub(super) fn changes_between_variants(
    run: &RunRecord,
    trials: &[TrialFinding],
    items: &[NoiseItem],
) -> Vec<CostChange> {
    let variants = variant_names(run);
    let Some((base, others)) = variants.split_first() else { return Vec::new() };
    let units = |variant: &str| -> Vec<CostUnit<'_>> {
        let trials = run.trials.iter().filter(|trial| trial.variant == variant);
        trials.filter_map(|trial| Some((trial.block, costs_of(trial)?))).collect()
    };
    let margin = asked_margin(&run.meta.asked);
    let of = |other: &&str| {
        compare_costs((base, &units(base)), (other, &units(other)), StudyDesign::Paired, margin)
    };
    let mut found: Vec<CostChange> = others.iter().flat_map(of).collect();
    if noise::is_noisy(items, &run.meta.allow) {
        let slowed =
            |variant: &str| noise::mean_slowdown(&[(run, items)], |trial| trial.variant == variant);
        apply_noise(found.iter_mut().map(|one| &mut one.change), slowed, trials.iter());
    }
    found
}

/// Runs against others; each load of a run is one unit.
pub(super) fn changes_between_runs(
    base: (&str, &[RunRecord]),
    other: (&str, &[RunRecord]),
    design: StudyDesign,
    margin: f64,
) -> Vec<CostChange> {
    let (ours, theirs) = (units_of_runs(base.1), units_of_runs(other.1));
    compare_costs((base.0, &ours), (other.0, &theirs), design, margin)
}

fn units_of_runs(runs: &[RunRecord]) -> Vec<CostUnit<'_>> {
    (1..).zip(runs.iter().flat_map(|run| &run.trials).filter_map(costs_of)).collect()
}

fn costs_of(trial: &Trial) -> Option<&[MeasuredCost]> {
    let figures = trial.figures.as_ref()?;
    (!figures.costs.is_empty()).then_some(&figures.costs[..])
}

fn find_cost<'r>(unit: CostUnit<'r>, name: &str) -> Option<&'r MeasuredCost> {
    unit.1.iter().find(|cost| cost.name == name && !cost.wall_ns.is_empty())
}

/// The values of each side: a median for each load, or, of one load each, its rounds.
fn sided_values(
    base: &[CostUnit<'_>],
    other: &[CostUnit<'_>],
    design: StudyDesign,
    value: &dyn Fn(CostUnit<'_>) -> Vec<f64>,
) -> SidedValues {
    let rounds = |units: &[CostUnit<'_>]| -> Vec<(u32, f64)> {
        let samples = units.first().map(|unit| value(*unit)).unwrap_or_default();
        match samples.len() < FEWEST_BATCHES {
            // So few say nothing of how much rounds vary.
            true => median(&samples).map(|value| (1, value)).into_iter().collect(),
            false => (1..).zip(samples).collect(),
        }
    };
    if base.len().min(other.len()) < 2 {
        let design = StudyDesign::UnpairedBatches;
        return SidedValues { design, base: rounds(base), other: rounds(other) };
    }
    let medians = |units: &[CostUnit<'_>]| -> Vec<(u32, f64)> {
        let of = |unit: &CostUnit<'_>| Some((unit.0, median(&value(*unit))?));
        units.iter().filter_map(of).collect()
    };
    let (mut base, mut other) = (medians(base), medians(other));
    if design == StudyDesign::Paired {
        let has = |of: &[(u32, f64)], number: u32| of.iter().any(|one| one.0 == number);
        base.retain(|one| has(&other, one.0));
        other.retain(|one| has(&base, one.0));
    }
    SidedValues { design, base, other }
}

/// Round by round, the geometric mean over these things.
fn mean_rounds(unit: CostUnit<'_>, names: &[&str]) -> Vec<f64> {
    let costs: Vec<&MeasuredCost> = names.iter().filter_map(|name| find_cost(unit, name)).collect();
    if costs.len() < names.len() {
        return Vec::new();
    }
    let rounds = costs.iter().map(|cost| cost.wall_ns.len()).min().unwrap_or(0);
    let of_round = |round: usize| {
        let logs = costs.iter().map(|cost| cost.wall_ns[round].max(f64::MIN_POSITIVE).ln());
        (logs.sum::<f64>() / costs.len() as f64).exp()
    };
    (0..rounds).map(of_round).collect()
}

fn compare_costs(
    (base_name, base): (&str, &[CostUnit<'_>]),
    (name, other): (&str, &[CostUnit<'_>]),
    design: StudyDesign,
    margin: f64,
) -> Vec<CostChange> {
    let (Some(first), Some(second)) = (base.first(), other.first()) else { return Vec::new() };
    let is_single = base.len().min(other.len()) < 2;
    let sides = (base_name, name);
    // In the order of the base, then what only the other has.
    let known: BTreeSet<&str> = first.1.iter().map(|cost| cost.name.as_str()).collect();
    let more = second.1.iter().filter(|cost| !known.contains(cost.name.as_str()));
    let all: Vec<&MeasuredCost> = first.1.iter().chain(more).collect();
    let is_in = |units: &[CostUnit<'_>], name: &str| {
        units.iter().all(|unit| find_cost(*unit, name).is_some())
    };
    let (both, single): (Vec<&MeasuredCost>, Vec<&MeasuredCost>) =
        all.into_iter().partition(|cost| is_in(base, &cost.name) && is_in(other, &cost.name));
    let values = |cost: &&MeasuredCost| {
        let value = |unit: CostUnit<'_>| {
            find_cost(unit, &cost.name).map(|cost| cost.wall_ns.clone()).unwrap_or_default()
        };
        sided_values(base, other, design, &value)
    };
    let judged = judge_sides(sides, both.iter().map(values).collect(), margin);
    let mut found: Vec<CostChange> = Vec::new();
    for (cost, change) in both.iter().zip(judged) {
        found.push(to_change(cost.name.clone(), cost.group.clone(), change));
    }
    let names: Vec<&str> = both.iter().map(|cost| cost.name.as_str()).collect();
    if names.len() > 1 {
        let value = |unit: CostUnit<'_>| mean_rounds(unit, &names);
        let mean = judge_sides(sides, vec![sided_values(base, other, design, &value)], margin);
        let title = format!("{MEAN} of {}", names.len());
        let mean = mean.into_iter().map(|change| to_change(title.clone(), String::new(), change));
        found.extend(mean.map(|mean| CostChange { is_mean: true, ..mean }));
    }
    for one in found.iter_mut().filter(|_| is_single) {
        one.change.more_blocks = None;
        one.change.notes.push(
            "rounds of one run each: the interval does not cover differences from run to run"
                .to_owned(),
        );
    }
    found.extend(single.into_iter().map(|cost| {
        let mut change = to_change(cost.name.clone(), cost.group.clone(), Default::default());
        let median = |unit: &CostUnit<'_>| {
            find_cost(*unit, &cost.name).and_then(|cost| median(&cost.wall_ns))
        };
        (change.change.base, change.change.variant) = (base_name.to_owned(), name.to_owned());
        change.base_s = median(first).map(|ns| ns / 1e9);
        change.variant_s = median(second).map(|ns| ns / 1e9);
        change.change.notes.push("not measured on both sides".to_owned());
        change
    }));
    found
}

fn to_change(name: String, group: String, mut change: MetricComparison) -> CostChange {
    "time_s".clone_into(&mut change.metric);
    let levels = change.levels;
    let (base_s, variant_s) = (levels.map(|l| l.0 / 1e9), levels.map(|l| l.1 / 1e9));
    CostChange { name, group, is_mean: false, base_s, variant_s, change }
}

/// What one load measured: how many things, and which not.
pub(super) fn cost_sentence(costs: &[CostFinding]) -> Option<AnswerSentence> {
    let measured: Vec<&CostFinding> = costs.iter().filter(|c| c.time_s.is_some()).collect();
    let missing: Vec<String> = costs
        .iter()
        .filter(|cost| cost.time_s.is_none())
        .map(|cost| format!("{} {}", cost.name, cost.remark))
        .collect();
    let rounds = measured.iter().map(|cost| cost.rounds).max().unwrap_or(0);
    let left = match missing.len() {
        0 => String::new(),
        1..=LISTED => format!("; without figures: {}", missing.join(", ")),
        more => format!("; {more} without figures"),
    };
    (!costs.is_empty()).then(|| {
        answer_texts::COSTS.to_sentence(&[
            ("things", &format_plural(measured.len() as u64, "operation", "operations")),
            ("rounds", &format_plural(rounds, "round", "rounds")),
            ("left", &left),
        ])
    })
}

/// Names that a sentence lists.
const LISTED: usize = 3;

/// What comparisons come to, a pair of sentences for each two sides.
pub(super) fn change_sentences(changes: &[CostChange]) -> Vec<AnswerSentence> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for one in changes {
        let pair = (one.change.variant.as_str(), one.change.base.as_str());
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let of_pair = |(variant, base): (&str, &str)| {
        let own =
            || changes.iter().filter(move |c| c.change.variant == variant && c.change.base == base);
        let both: Vec<&CostChange> =
            own().filter(|c| !c.is_mean && c.change.ratio.value.is_some()).collect();
        let words = [
            (ComparisonVerdict::Worse, "slower"),
            (ComparisonVerdict::Better, "faster"),
            (ComparisonVerdict::Same, "the same"),
            (ComparisonVerdict::Unsure, "unsure"),
        ];
        let tally = words.map(|(verdict, word)| {
            let number = both.iter().filter(|c| c.change.verdict == verdict).count();
            (number > 0).then(|| format!("{number} {word}"))
        });
        let tally: Vec<String> = tally.into_iter().flatten().collect();
        let all = answer_texts::COST_CHANGES.to_sentence(&[
            ("things", &format_plural(both.len() as u64, "operation", "operations")),
            ("variant", &variant),
            ("base", &base),
            ("tally", &tally.join(", ")),
        ]);
        let mean = own().find(|c| c.is_mean).and_then(mean_sentence);
        [Some(all), mean].into_iter().flatten().collect::<Vec<_>>()
    };
    pairs.into_iter().flat_map(of_pair).collect()
}

fn mean_sentence(mean: &CostChange) -> Option<AnswerSentence> {
    let (ratio, (low, high)) = (mean.change.ratio.value?, mean.change.ratio.ci95?);
    Some(answer_texts::COST_MEAN.to_sentence(&[
        ("ratio", &format_number(ratio)),
        ("low", &format_number(low)),
        ("high", &format_number(high)),
        ("verdict", &speed_word(mean.change.verdict)),
    ]))
}

/// A verdict on a time.
pub fn speed_word(verdict: ComparisonVerdict) -> &'static str {
    match verdict {
        ComparisonVerdict::Better => "faster",
        ComparisonVerdict::Worse => "slower",
        ComparisonVerdict::Same => "same",
        ComparisonVerdict::Unsure => "unsure",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Rng;

    fn cost(name: &str, wall_ns: &[f64]) -> MeasuredCost {
        MeasuredCost {
            name: name.to_owned(),
            count: 10,
            rows: 100,
            wall_ns: wall_ns.to_vec(),
            ..MeasuredCost::default()
        }
    }

    #[test]
    fn a_cost_is_the_median_of_its_rounds() {
        let rounds: Vec<f64> = (1..=20).map(|n| f64::from(n) * 1e3).collect();
        let mut measured = cost("a", &rounds);
        measured.cpu_ns = vec![4e3, 2e3, 3e3];
        let found = cost_of(&measured);
        assert_eq!((found.time_s, found.rounds), (Some(10.5e-6), 20));
        assert_eq!((found.time_low_s, found.time_high_s), (Some(6e-6), Some(15e-6)));
        assert_eq!(found.cpu_s, Some(3e-6));
        assert!((found.rows_per_s.unwrap() - 100.0 / 10.5e-6).abs() < 1.0);
        let found = cost_of(&MeasuredCost { remark: "failed".to_owned(), ..cost("b", &[]) });
        assert_eq!((found.time_s, found.rows_per_s, found.remark.as_str()), (None, None, "failed"));
        assert_eq!(cost_of(&cost("c", &[])).remark, "not measured");
        assert_eq!(cost_of(&cost("d", &[1.0, 2.0])).time_low_s, None);
    }

    /// So many rounds about a value, a percent apart.
    fn rounds(rng: &mut Rng, about: f64, count: usize) -> Vec<f64> {
        (0..count).map(|_| about * (1.0 + 0.01 * (rng.uniform_fraction() - 0.5))).collect()
    }

    #[test]
    fn verdicts_are_by_name_and_the_mean_is_that_of_the_ratios() {
        let mut rng = Rng::new(5, 0, 0);
        let side = |rng: &mut Rng, factors: [f64; 3]| -> Vec<MeasuredCost> {
            let names = ["slow", "fast", "same"];
            let of = |(name, factor): (&str, f64)| cost(name, &rounds(rng, 1e4 * factor, 12));
            names.into_iter().zip(factors).map(of).collect()
        };
        let (mut base, mut other) = (side(&mut rng, [1.0; 3]), side(&mut rng, [2.0, 0.5, 1.0]));
        base.push(cost("gone", &[1e3; 8]));
        other.push(cost("gone", &[]));
        other.push(cost("new", &[1e3; 8]));
        let found = compare_costs(
            ("a", &[(1, &base[..])]),
            ("b", &[(1, &other[..])]),
            StudyDesign::Unpaired,
            0.02,
        );
        let told: Vec<(&str, &str)> =
            found.iter().map(|c| (c.name.as_str(), speed_word(c.change.verdict))).collect();
        let expected = [
            ("slow", "slower"),
            ("fast", "faster"),
            ("same", "same"),
            ("geometric mean of 3", "same"),
            ("gone", "unsure"),
            ("new", "unsure"),
        ];
        assert_eq!(told, expected);
        let mean = &found[3];
        assert!(mean.is_mean && (mean.change.ratio.value.unwrap() - 1.0).abs() < 0.01);
        let (low, high) = mean.change.ratio.ci95.unwrap();
        assert!(low < 1.0 && high > 1.0 && high / low < 1.02, "{low} {high}");
        assert!((found[0].base_s.unwrap() - 1e-5).abs() < 1e-6);
        assert_eq!((found[4].variant_s, found[5].base_s), (None, None));
        let said = change_sentences(&found);
        assert!(said[0].text.contains("1 slower, 1 faster, 1 the same"), "{}", said[0].text);
        assert!(said[1].text.contains("Geometric mean"), "{}", said[1].text);
    }

    #[test]
    fn several_runs_are_units_and_their_rounds_are_not() {
        let mut rng = Rng::new(6, 0, 0);
        let runs = |rng: &mut Rng, levels: [f64; 4]| -> Vec<Vec<MeasuredCost>> {
            // Within a run rounds hardly differ; from run to run they do.
            levels.iter().map(|level| vec![cost("a", &rounds(rng, 1e4 * level, 12))]).collect()
        };
        let base = runs(&mut rng, [1.0, 1.3, 0.8, 1.1]);
        let other = runs(&mut rng, [1.2, 0.9, 1.1, 1.3]);
        let base: Vec<CostUnit<'_>> = (1..).zip(base.iter().map(|unit| &unit[..])).collect();
        let other: Vec<CostUnit<'_>> = (1..).zip(other.iter().map(|unit| &unit[..])).collect();
        for design in [StudyDesign::Unpaired, StudyDesign::Paired] {
            let found = compare_costs(("a", &base), ("b", &other), design, 0.02);
            assert_eq!(found.len(), 1, "there is no mean of one");
            assert_eq!(found[0].change.verdict, ComparisonVerdict::Unsure);
            assert_eq!(found[0].change.ratio.runs, 4);
        }
    }

    #[test]
    fn among_many_equals_few_are_called_changes() {
        let mut rng = Rng::new(7, 0, 0);
        let mut wrong = 0;
        for _ in 0..12 {
            let mut side = || -> Vec<MeasuredCost> {
                let one = |n: usize| cost(&n.to_string(), &rounds(&mut rng, 1e4, 10));
                (0..20).map(one).collect()
            };
            let (base, other) = (side(), side());
            let found = compare_costs(
                ("a", &[(1, &base[..])]),
                ("b", &[(1, &other[..])]),
                StudyDesign::Unpaired,
                0.0,
            );
            let claims = |c: &CostChange| {
                matches!(c.change.verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse)
            };
            wrong += usize::from(found.iter().any(claims));
        }
        // 20 things at a time, 5 % in all, and as much for the mean.
        assert!(wrong <= 4, "{wrong} of 12");
    }
}
