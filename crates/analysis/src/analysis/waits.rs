//! What the server waited for, by load and by variant, and what gathering that cost.
//!
//! Counts, sums and means are of all waits, from the server's summaries. Percentiles are from single rows: of (nearly) all
//! waits where these were read in time, of a sample of them where reads found rows all through the load, else there are none.
//! performance_schema tells picoseconds; no number here is finer than the tick seen in the times.

mod cost;
mod groups;

pub(super) use cost::tracing_cost;
pub(super) use groups::wait_groups;

use crate::archive::{
    InstrumentRecord, OperationRecord, RunRecord, SampleRecord, Trial, WaitsRecord,
};

use super::findings::{AnswerSentence, TrialFinding, WaitFinding, WaitGroup, WaitSource};
use super::number_format::{format_number, format_percent, format_plural, format_time_in_steps};
use super::sentences::answer_texts;

/// Share of the waits whose rows stand for all.
const AS_GOOD_AS_ALL: f64 = 0.95;
/// Share of the reads that must have found rows for a sample from all over the load.
const ALL_OVER: f64 = 0.8;
/// Fewest rows of a sample.
const FEWEST: u64 = 1000;
/// The longest so many of all waits are looked at on their own.
const TOP: f64 = 0.001;
/// From this share of all waiting on the longest waits are worth a note.
const HEAVY: f64 = 0.2;
/// How far the server's clock may be from ours beyond what the reads themselves take.
const CLOCK: f64 = 0.1;

/// One finding per load, instrument and operation; the one without operation is of all of them and comes first.
pub(super) fn wait_findings(run: &RunRecord) -> Vec<WaitFinding> {
    let mut findings = Vec::new();
    for (index, trial) in run.trials.iter().enumerate() {
        let Some(waits) = &trial.waits else { continue };
        for instrument in &waits.instruments {
            findings.push(instrument_finding(run, index, trial, waits, instrument));
            if instrument.operations.len() > 1 {
                let parts = instrument.operations.iter();
                findings.extend(
                    parts.map(|part| operation_finding(index, trial, waits, instrument, part)),
                );
            }
        }
    }
    findings
}

/// Which rows there are, and what they are good for.
struct RowSource {
    kind: WaitSource,
    coverage: f64,
}

fn row_source(waits: &WaitsRecord, instrument: &InstrumentRecord) -> Option<RowSource> {
    if instrument.count == 0 {
        return None;
    }
    let rows = instrument.row_count();
    let coverage = (rows as f64 / instrument.count as f64).min(1.0);
    let reads = f64::from(waits.drains_with_rows) / f64::from(waits.drains.max(1));
    let kind = if coverage >= AS_GOOD_AS_ALL {
        WaitSource::Rows
    } else if rows >= FEWEST && waits.drains >= 3 && reads >= ALL_OVER {
        WaitSource::Sample
    } else {
        WaitSource::Summary
    };
    Some(RowSource { kind, coverage })
}

fn instrument_finding(
    run: &RunRecord,
    index: usize,
    trial: &Trial,
    waits: &WaitsRecord,
    instrument: &InstrumentRecord,
) -> WaitFinding {
    let source = row_source(waits, instrument);
    let has_rows = source.as_ref().is_some_and(|source| source.kind != WaitSource::Summary);
    let cells = if has_rows { instrument.merged_cells() } else { Vec::new() };
    let step = waits.tick_ps;
    let longest_row = instrument.operations.iter().map(|o| o.max_ps).max();
    let mean_ps =
        (instrument.count > 0).then(|| instrument.sum_ps as f64 / instrument.count as f64);
    let mean_objects = instrument.count as f64 / instrument.objects.max(1) as f64;
    let mut finding = WaitFinding {
        trial: index,
        value: sweep_value_text(trial),
        instrument: instrument.name.clone(),
        count: instrument.count,
        total_s: instrument.sum_ps as f64 / 1e12,
        average_s: mean_ps.map(|ps| round_to_tick(ps, step)),
        p50_s: wait_quantile(&cells, 0.5, step),
        p90_s: wait_quantile(&cells, 0.9, step),
        p99_s: wait_quantile(&cells, 0.99, step),
        max_s: instrument.max_ps.or(longest_row).map(|ps| round_to_tick(ps as f64, step)),
        top_share: top_share(&cells),
        tick_s: step.map(|ps| ps as f64 / 1e12),
        clock: clock_ratio(waits),
        source: source.as_ref().map_or(WaitSource::Summary, |source| source.kind),
        coverage: source.as_ref().map(|source| source.coverage),
        objects: (instrument.objects > 0).then_some(instrument.objects),
        busiest: (instrument.objects > 1).then(|| instrument.busiest as f64 / mean_objects),
        ..WaitFinding::default()
    };
    finding.notes = wait_notes(run, trial, waits, &finding);
    finding
}

/// The same of the rows of one operation: the summaries do not tell operations apart.
fn operation_finding(
    index: usize,
    trial: &Trial,
    waits: &WaitsRecord,
    instrument: &InstrumentRecord,
    part: &OperationRecord,
) -> WaitFinding {
    let source = row_source(waits, instrument);
    let step = waits.tick_ps;
    let has_rows = source.as_ref().is_some_and(|source| source.kind != WaitSource::Summary);
    let cells: &[(u64, u64)] = if has_rows { &part.cells } else { &[] };
    let mean_ps = (part.rows > 0).then(|| part.sum_ps as f64 / part.rows as f64);
    WaitFinding {
        trial: index,
        value: sweep_value_text(trial),
        instrument: instrument.name.clone(),
        operation: part.name.clone(),
        count: part.rows,
        total_s: part.sum_ps as f64 / 1e12,
        average_s: mean_ps.map(|ps| round_to_tick(ps, step)),
        p50_s: wait_quantile(cells, 0.5, step),
        p90_s: wait_quantile(cells, 0.9, step),
        p99_s: wait_quantile(cells, 0.99, step),
        max_s: Some(round_to_tick(part.max_ps as f64, step)),
        top_share: top_share(cells),
        tick_s: step.map(|ps| ps as f64 / 1e12),
        source: source.as_ref().map_or(WaitSource::Summary, |source| source.kind),
        coverage: source.as_ref().map(|source| source.coverage),
        ..WaitFinding::default()
    }
}

/// A value along a sweep as people write it.
fn sweep_value_text(trial: &Trial) -> String {
    trial.value.map(|value| value.to_string()).unwrap_or_default()
}

/// Seconds, no finer than the decade nearest to the clock's tick: with ticks of 9.6 or 10.04 ns whole tens of
/// nanoseconds.
fn round_to_tick(ps: f64, tick_ps: Option<u64>) -> f64 {
    let Some(tick) = tick_ps.filter(|tick| *tick > 0) else { return ps / 1e12 };
    let decade = 10_f64.powf((tick as f64).log10().round());
    (ps / decade).round() * decade / 1e12
}

/// The time that a share of the waits does not exceed, seconds; `None` where fewer than one wait is beyond it.
fn wait_quantile(cells: &[(u64, u64)], share: f64, tick_ps: Option<u64>) -> Option<f64> {
    let count: u64 = cells.iter().map(|cell| cell.1).sum();
    // A share of 0.99 needs a hundred.
    if (count as f64) * (1.0 - share) < 1.0 - 1e-9 {
        return None;
    }
    let rank = (share * count as f64).ceil().max(1.0) as u64;
    let mut seen = 0;
    for (ps, count) in cells {
        seen += count;
        if seen >= rank {
            return Some(round_to_tick(*ps as f64, tick_ps));
        }
    }
    None
}

/// Share of all waiting that is in the longest waits.
fn top_share(cells: &[(u64, u64)]) -> Option<f64> {
    let count: u64 = cells.iter().map(|cell| cell.1).sum();
    let sum: f64 = cells.iter().map(|(ps, count)| *ps as f64 * *count as f64).sum();
    if count < FEWEST || sum <= 0.0 {
        return None;
    }
    let mut left = (count as f64 * TOP).round().max(1.0);
    let mut top = 0.0;
    for (ps, count) in cells.iter().rev() {
        let taken = left.min(*count as f64);
        top += taken * *ps as f64;
        left -= taken;
        if left <= 0.0 {
            break;
        }
    }
    Some(top / sum)
}

/// The server's seconds by ours, and how far off that may be.
fn clock_ratio(waits: &WaitsRecord) -> Option<(f64, f64)> {
    let (server, ours, slack) = waits.calibration_s?;
    (ours > 0.0).then(|| (server / ours, slack / ours))
}

fn wait_notes(
    run: &RunRecord,
    trial: &Trial,
    waits: &WaitsRecord,
    finding: &WaitFinding,
) -> Vec<String> {
    let mut notes = Vec::new();
    let coverage = finding.coverage.unwrap_or(0.0);
    match finding.source {
        _ if finding.count == 0 => notes.push("it had no waits".to_owned()),
        WaitSource::Sample => notes.push(format!(
            "percentiles are from {} of the waits, the last ones before each of {} reads of the \
             server's ring of {} rows",
            format_percent(coverage),
            waits.drains,
            format_number(waits.ring_rows.unwrap_or(0) as f64)
        )),
        WaitSource::Summary => notes.push(format!(
            "no percentiles: rows of {} of the waits could be read, too few to represent the load",
            format_percent(coverage)
        )),
        _ => {}
    }
    if let (Some(mean), Some(p99)) = (finding.average_s, finding.p99_s) {
        if mean > p99 {
            notes.push(mean_above_p99_note(run, trial, finding));
        } else if finding.top_share.is_some_and(|share| share >= HEAVY) {
            let share = format_percent(finding.top_share.unwrap_or(0.0));
            notes.push(format!("the longest 0.1 % of the waits are {share} of all waiting"));
        }
    }
    if let Some((ratio, slack)) = finding.clock {
        if (ratio - 1.0).abs() > slack + CLOCK {
            notes.push(format!(
                "the server's times run {} times as fast as our clock: its picoseconds are wrong, \
                 and so are the seconds here",
                format_number(ratio)
            ));
        }
    }
    notes.extend(waits.notes.iter().cloned());
    notes
}

/// Few long waits make the mean: what that is, and how long threads waited for a CPU meanwhile.
fn mean_above_p99_note(run: &RunRecord, trial: &Trial, finding: &WaitFinding) -> String {
    let carried = finding.top_share.map_or_else(String::new, |share| {
        format!(" (the longest 0.1 % are {} of all waiting)", format_percent(share))
    });
    let queued = threads_waiting_for_cpu(run, trial).map_or_else(String::new, |waited| {
        format!(
            "; meanwhile {} threads of the server on average waited for a CPU",
            format_number(waited)
        )
    });
    format!(
        "the mean is above the 99th percentile{carried}: a few waits were long because the holder \
         of the lock had lost its CPU: the scheduler caused them, not the lock{queued}"
    )
}

/// Threads of the server that were ready and had no CPU, the mean over the load.
fn threads_waiting_for_cpu(run: &RunRecord, trial: &Trial) -> Option<f64> {
    let name = "process.threads_waited_for_cpu_s";
    let of_load = |s: &&SampleRecord| s.began_ns >= trial.began_ns && s.began_ns <= trial.ended_ns;
    let points: Vec<(u64, f64)> = run
        .samples
        .iter()
        .filter(of_load)
        .filter_map(|s| Some((s.began_ns, *s.numbers.get(name)?)))
        .collect();
    let (first, last) = (points.first()?, points.last()?);
    let seconds = last.0.checked_sub(first.0).filter(|ns| *ns > 0)? as f64 / 1e9;
    Some(((last.1 - first.1) / seconds).max(0.0))
}

/// The answer of a run that was made to see waits: a sentence per instrument, or per variant where there are several.
pub(super) fn wait_sentences(
    findings: &[WaitFinding],
    groups: &[WaitGroup],
) -> Vec<AnswerSentence> {
    if !groups.is_empty() {
        let told = groups.iter().filter(|group| !group.words.is_empty());
        let of_variant = |g: &WaitGroup| {
            let instrument = short_instrument(&g.instrument);
            answer_texts::WAITS_WAY.to_sentence(&[
                ("variant", &g.variant),
                ("instrument", &instrument),
                ("words", &g.words),
            ])
        };
        return told.map(of_variant).collect();
    }
    let whole = findings.iter().filter(|f| f.operation.is_empty());
    whole
        .map(|f| {
            let step = f.tick_s.unwrap_or(0.0);
            let shown = |label: &str, v: Option<f64>| {
                v.map(|v| format!(", {label} {}", format_time_in_steps(v, step)))
            };
            let times =
                [shown("mean", f.average_s), shown("p99", f.p99_s), shown("longest", f.max_s)];
            answer_texts::WAITS.to_sentence(&[
                ("instrument", &short_instrument(&f.instrument)),
                ("waits", &format_plural(f.count, "wait", "waits")),
                ("times", &times.into_iter().flatten().collect::<String>()),
            ])
        })
        .collect()
}

/// The workload that asks the server for nothing: it keeps the time where the load is that of others.
const NO_LOAD: &str = "null";

/// Whether no load was ours, so that rates and times of events say nothing of the server.
pub(super) fn is_without_load(trials: &[TrialFinding]) -> bool {
    trials.iter().all(|trial| trial.workload == NO_LOAD)
}

/// The last part of an instrument's name.
pub(crate) fn short_instrument(instrument: &str) -> &str {
    instrument.rsplit('/').next().unwrap_or(instrument)
}

#[cfg(test)]
mod tests;
