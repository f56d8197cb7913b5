//! Waits by variant: medians over the loads, and each variant's mean wait against the first variant's, block by block.

use super::super::findings::{Estimate, WaitFinding, WaitGroup};
use super::super::number_format::{format_number, format_percent, format_plural};
use super::super::statistics::student;
use super::{AS_GOOD_AS_ALL, HEAVY};
use crate::archive::{RunRecord, Trial};

/// Instruments by variant, where there are several loads; in the order of the variants.
pub(in super::super) fn wait_groups(run: &RunRecord, findings: &[WaitFinding]) -> Vec<WaitGroup> {
    let whole: Vec<&WaitFinding> = findings.iter().filter(|f| f.operation.is_empty()).collect();
    let variant = |f: &WaitFinding| run.trials[f.trial].variant.clone();
    let mut keys: Vec<(String, String)> = Vec::new();
    for finding in &whole {
        let key = (finding.instrument.clone(), variant(finding));
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if whole.len() <= keys.iter().filter(|key| key.0 == keys[0].0).count() && keys.len() <= 1 {
        return Vec::new();
    }
    // Each instrument's variants together, in the order in which the variants are written if they have values.
    keys.sort_by(|a, b| {
        a.0.cmp(&b.0).then(variant_rank(run, &a.1).total_cmp(&variant_rank(run, &b.1)))
    });
    let of = |key: &(String, String)| -> Vec<&WaitFinding> {
        whole.iter().copied().filter(|f| f.instrument == key.0 && variant(f) == key.1).collect()
    };
    keys.iter()
        .map(|key| {
            let variants = keys.iter().filter(|other| other.0 == key.0).count();
            let base = keys.iter().find(|other| other.0 == key.0).filter(|base| *base != key);
            let base = base.map(&of).unwrap_or_default();
            wait_group(
                run,
                key,
                &of(key),
                &GroupBase { loads: &base, comparisons: variants.max(2) - 1 },
            )
        })
        .collect()
}

/// What a variant is held against.
struct GroupBase<'a> {
    loads: &'a [&'a WaitFinding],
    /// How many variants are held against it: their intervals hold all together (Bonferroni).
    comparisons: usize,
}

/// Where a variant stands: by its value, else by its first load.
fn variant_rank(run: &RunRecord, variant: &str) -> f64 {
    let first = run.trials.iter().position(|trial| trial.variant == variant);
    first.map_or(0.0, |at| run.trials[at].value.unwrap_or(at as f64))
}

fn wait_group(
    run: &RunRecord,
    key: &(String, String),
    own: &[&WaitFinding],
    base: &GroupBase<'_>,
) -> WaitGroup {
    let trial = |f: &WaitFinding| &run.trials[f.trial];
    let seconds = |t: &Trial| t.ended_ns.saturating_sub(t.began_ns) as f64 / 1e9;
    let middle = |of: &dyn Fn(&WaitFinding) -> Option<f64>| median_and_range(own, of).map(|s| s.0);
    let ratio = paired_ratio(run, own, base);
    WaitGroup {
        variant: key.1.clone(),
        value: own.first().map(|f| f.value.clone()).unwrap_or_default(),
        instrument: key.0.clone(),
        loads: u32::try_from(own.len()).unwrap_or(u32::MAX),
        average: median_and_range(own, &|f| f.average_s),
        p50: median_and_range(own, &|f| f.p50_s),
        p99: median_and_range(own, &|f| f.p99_s),
        waits_per_s: middle(&|f| Some(f.count as f64 / seconds(trial(f)))),
        events_per_s: middle(&|f| {
            let events: u64 = trial(f).response.iter().map(|h| h.len()).sum();
            Some(events as f64 / seconds(trial(f)))
        }),
        words: ratio_text(ratio.as_ref()),
        notes: group_notes(run, own),
        ratio,
    }
}

/// What limits the loads of a variant, all together.
fn group_notes(run: &RunRecord, own: &[&WaitFinding]) -> Vec<String> {
    let mut notes = Vec::new();
    let range =
        |of: &dyn Fn(&WaitFinding) -> Option<f64>| median_and_range(own, of).map(|s| (s.1, s.2));
    let shown =
        |(low, high): (f64, f64)| format!("{} to {}", format_percent(low), format_percent(high));
    if let Some(read) = range(&|f| f.coverage).filter(|read| read.0 < AS_GOOD_AS_ALL) {
        notes.push(format!("rows of {} of the waits were read", shown(read)));
    }
    if let Some(top) = range(&|f| f.top_share).filter(|top| top.1 >= HEAVY) {
        notes.push(format!("the longest 0.1 % of the waits are {} of all waiting", shown(top)));
    }
    let above = own.iter().filter(|f| f.average_s > f.p99_s && f.p99_s.is_some()).count();
    if above > 0 {
        notes.push(format!(
            "in {} of {} the mean is above the 99th percentile: a few waits were long because the \
             holder of the lock had lost its CPU",
            above,
            format_plural(own.len() as u64, "load", "loads")
        ));
    }
    for note in own.iter().flat_map(|f| &run.trials[f.trial].waits).flat_map(|w| &w.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

/// Median, least and most; `None` where one is not known.
fn median_and_range(
    findings: &[&WaitFinding],
    of: &dyn Fn(&WaitFinding) -> Option<f64>,
) -> Option<(f64, f64, f64)> {
    let mut values: Vec<f64> = findings.iter().map(|f| of(f)).collect::<Option<_>>()?;
    values.sort_by(f64::total_cmp);
    Some((median_of_sorted(&values)?, *values.first()?, *values.last()?))
}

/// The median of sorted values.
pub(super) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some((sorted[half - 1] + sorted[half]) / 2.0),
    }
}

/// Mean wait by that of the base, in the same block.
fn paired_ratio(run: &RunRecord, own: &[&WaitFinding], base: &GroupBase<'_>) -> Option<Estimate> {
    let place = |f: &WaitFinding| (run.trials[f.trial].block, run.trials[f.trial].pass);
    // From sums and counts: means in the finding are rounded to the tick.
    let mean =
        |f: &WaitFinding| (f.count > 0 && f.total_s > 0.0).then(|| f.total_s / f.count as f64);
    let pairs = own.iter().filter_map(|f| {
        let other = base.loads.iter().find(|other| place(other) == place(f))?;
        Some((mean(f)? / mean(other)?).ln())
    });
    ratio_from_logs(&pairs.collect::<Vec<_>>(), base.comparisons)
}

/// A ratio from its logarithms: geometric mean and, from three on, Student's interval, which holds together with those
/// of the other comparisons.
pub(super) fn ratio_from_logs(logs: &[f64], comparisons: usize) -> Option<Estimate> {
    let n = logs.len();
    if n == 0 {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / n as f64;
    let ci95 = (n >= 3).then(|| {
        let variance = logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        let half = student::student_quantile(1.0 - 0.025 / comparisons as f64, (n - 1) as f64)
            * (variance / n as f64).sqrt();
        ((mean - half).exp(), (mean + half).exp())
    });
    let runs = u32::try_from(n).unwrap_or(u32::MAX);
    Some(Estimate { value: Some(mean.exp()), ci95, runs })
}

/// What a ratio of mean waits means.
fn ratio_text(ratio: Option<&Estimate>) -> String {
    let Some(Estimate { value: Some(value), ci95, runs }) = ratio else { return String::new() };
    let shown = format!("mean wait {} times the first variant's", format_number(*value));
    match ci95 {
        None => format!(
            "{shown}: {} can't tell a difference",
            format_plural(u64::from(*runs), "block", "blocks")
        ),
        Some((low, high)) if *low <= 1.0 && *high >= 1.0 => {
            format!(
                "{shown} ({} to {}): no difference is seen",
                format_number(*low),
                format_number(*high)
            )
        }
        Some((low, high)) => {
            let word = if *value < 1.0 { "shorter" } else { "longer" };
            format!("{shown} ({} to {}): {word}", format_number(*low), format_number(*high))
        }
    }
}
