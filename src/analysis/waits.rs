//! What the server waited for, by load and by way, and what gathering that cost.
//!
//! Counts, sums and means are of all waits, from the server's summaries. Percentiles are from single rows: of (nearly) all
//! waits where these were read in time, of a sample of them where reads found rows all through the load, else there are none.
//! performance_schema tells picoseconds; no number here is finer than the tick seen in the times.

use crate::archive::{InstrumentRecord, OperationRecord, Run, SampleRecord, Trial, WaitsRecord};

use super::figure::{figure, percent, plural, time_in_steps};
use super::findings::{Estimate, WaitFinding, WaitGroup, WatchCost};
use super::statistics::student;

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
const CLOCK: f64 = 0.01;
/// Name of the samples of windows with and without gathering.
const WINDOWS: &str = "watch_cost";

/// One finding per load, instrument and operation; the one without operation is of all of them and comes first.
pub(super) fn all(run: &Run) -> Vec<WaitFinding> {
    let mut findings = Vec::new();
    for (index, trial) in run.trials.iter().enumerate() {
        let Some(waits) = &trial.waits else { continue };
        for instrument in &waits.instruments {
            findings.push(of_instrument(run, index, trial, waits, instrument));
            if instrument.operations.len() > 1 {
                let parts = instrument.operations.iter();
                findings
                    .extend(parts.map(|part| of_operation(index, trial, waits, instrument, part)));
            }
        }
    }
    findings
}

/// Which rows there are, and what they are good for.
struct Source {
    word: &'static str,
    coverage: f64,
}

fn source(waits: &WaitsRecord, instrument: &InstrumentRecord) -> Option<Source> {
    if instrument.count == 0 {
        return None;
    }
    let rows = instrument.rows();
    let coverage = (rows as f64 / instrument.count as f64).min(1.0);
    let reads = f64::from(waits.drains_with_rows) / f64::from(waits.drains.max(1));
    let word = if coverage >= AS_GOOD_AS_ALL {
        "rows"
    } else if rows >= FEWEST && waits.drains >= 3 && reads >= ALL_OVER {
        "sample"
    } else {
        "summary"
    };
    Some(Source { word, coverage })
}

fn of_instrument(
    run: &Run,
    index: usize,
    trial: &Trial,
    waits: &WaitsRecord,
    instrument: &InstrumentRecord,
) -> WaitFinding {
    let source = source(waits, instrument);
    let has_rows = source.as_ref().is_some_and(|source| source.word != "summary");
    let cells = if has_rows { instrument.cells() } else { Vec::new() };
    let step = waits.tick_ps;
    let longest_row = instrument.operations.iter().map(|o| o.max_ps).max();
    let mean_ps =
        (instrument.count > 0).then(|| instrument.sum_ps as f64 / instrument.count as f64);
    let mean_objects = instrument.count as f64 / instrument.objects.max(1) as f64;
    let mut finding = WaitFinding {
        trial: index,
        value: value(trial),
        instrument: instrument.name.clone(),
        count: instrument.count,
        total_s: instrument.sum_ps as f64 / 1e12,
        average_s: mean_ps.map(|ps| on_step(ps, step)),
        p50_s: quantile(&cells, 0.5, step),
        p90_s: quantile(&cells, 0.9, step),
        p99_s: quantile(&cells, 0.99, step),
        max_s: instrument.max_ps.or(longest_row).map(|ps| on_step(ps as f64, step)),
        top_share: top_share(&cells),
        tick_s: step.map(|ps| ps as f64 / 1e12),
        clock: clock(waits),
        source: source.as_ref().map_or("summary", |source| source.word).to_owned(),
        coverage: source.as_ref().map(|source| source.coverage),
        objects: (instrument.objects > 0).then_some(instrument.objects),
        busiest: (instrument.objects > 1).then(|| instrument.busiest as f64 / mean_objects),
        ..WaitFinding::default()
    };
    finding.notes = notes(run, trial, waits, &finding);
    finding
}

/// The same of the rows of one operation: the summaries do not tell operations apart.
fn of_operation(
    index: usize,
    trial: &Trial,
    waits: &WaitsRecord,
    instrument: &InstrumentRecord,
    part: &OperationRecord,
) -> WaitFinding {
    let source = source(waits, instrument);
    let step = waits.tick_ps;
    let has_rows = source.as_ref().is_some_and(|source| source.word != "summary");
    let cells: &[(u64, u64)] = if has_rows { &part.cells } else { &[] };
    let mean_ps = (part.rows > 0).then(|| part.sum_ps as f64 / part.rows as f64);
    WaitFinding {
        trial: index,
        value: value(trial),
        instrument: instrument.name.clone(),
        operation: part.name.clone(),
        count: part.rows,
        total_s: part.sum_ps as f64 / 1e12,
        average_s: mean_ps.map(|ps| on_step(ps, step)),
        p50_s: quantile(cells, 0.5, step),
        p90_s: quantile(cells, 0.9, step),
        p99_s: quantile(cells, 0.99, step),
        max_s: Some(on_step(part.max_ps as f64, step)),
        top_share: top_share(cells),
        tick_s: step.map(|ps| ps as f64 / 1e12),
        source: source.as_ref().map_or("summary", |source| source.word).to_owned(),
        coverage: source.as_ref().map(|source| source.coverage),
        ..WaitFinding::default()
    }
}

/// A value along a sweep as people write it.
fn value(trial: &Trial) -> String {
    trial.value.map(|value| value.to_string()).unwrap_or_default()
}

/// Seconds, no finer than the decade nearest to the clock's tick: with ticks of 9.6 or 10.04 ns whole tens of
/// nanoseconds.
fn on_step(ps: f64, tick_ps: Option<u64>) -> f64 {
    let Some(tick) = tick_ps.filter(|tick| *tick > 0) else { return ps / 1e12 };
    let decade = 10_f64.powf((tick as f64).log10().round());
    (ps / decade).round() * decade / 1e12
}

/// The time that a share of the waits does not exceed, seconds; `None` where fewer than one wait is beyond it.
fn quantile(cells: &[(u64, u64)], share: f64, tick_ps: Option<u64>) -> Option<f64> {
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
            return Some(on_step(*ps as f64, tick_ps));
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
fn clock(waits: &WaitsRecord) -> Option<(f64, f64)> {
    let (server, ours, slack) = waits.calibration_s?;
    (ours > 0.0).then(|| (server / ours, slack / ours))
}

fn notes(run: &Run, trial: &Trial, waits: &WaitsRecord, finding: &WaitFinding) -> Vec<String> {
    let mut notes = Vec::new();
    let coverage = finding.coverage.unwrap_or(0.0);
    match finding.source.as_str() {
        _ if finding.count == 0 => notes.push("it was not waited for at all".to_owned()),
        "sample" => notes.push(format!(
            "percentiles are from {} of the waits, the last ones before each of {} reads of the \
             server's ring of {} rows",
            percent(coverage),
            waits.drains,
            figure(waits.ring_rows.unwrap_or(0) as f64)
        )),
        "summary" => notes.push(format!(
            "no percentiles: rows of {} of the waits could be read, which is too few to stand \
             for the load",
            percent(coverage)
        )),
        _ => {}
    }
    if let (Some(mean), Some(p99)) = (finding.average_s, finding.p99_s) {
        if mean > p99 {
            notes.push(above_p99(run, trial, finding));
        } else if finding.top_share.is_some_and(|share| share >= HEAVY) {
            let share = percent(finding.top_share.unwrap_or(0.0));
            notes.push(format!("the longest 0.1 % of the waits carry {share} of all waiting"));
        }
    }
    if let Some((ratio, slack)) = finding.clock {
        if (ratio - 1.0).abs() > slack + CLOCK {
            notes.push(format!(
                "the server's times run {} times as fast as our clock: what it calls picoseconds \
                 are none, and seconds here are wrong by as much",
                figure(ratio)
            ));
        }
    }
    notes.extend(waits.notes.iter().cloned());
    notes
}

/// Few long waits make the mean: what that is, and how long threads waited for a CPU meanwhile.
fn above_p99(run: &Run, trial: &Trial, finding: &WaitFinding) -> String {
    let carried = finding.top_share.map_or_else(String::new, |share| {
        format!(" (the longest 0.1 % carry {} of all waiting)", percent(share))
    });
    let queued = waited_for_cpu(run, trial).map_or_else(String::new, |waited| {
        format!("; meanwhile {} threads of the server on average waited for a CPU", figure(waited))
    });
    format!(
        "the mean is above the 99th percentile{carried}: a few waits were long because who held \
         the lock had lost its CPU, which is the scheduler's doing and not the lock's{queued}"
    )
}

/// Threads of the server that were ready and had no CPU, the mean over the load.
fn waited_for_cpu(run: &Run, trial: &Trial) -> Option<f64> {
    let name = "process.threads_waited_for_cpu_s";
    let of_load = |s: &&SampleRecord| {
        s.probe == "process" && s.began_ns >= trial.began_ns && s.began_ns <= trial.ended_ns
    };
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

/// Instruments by way, where there are several loads; in the order of the ways.
pub(super) fn groups(run: &Run, findings: &[WaitFinding]) -> Vec<WaitGroup> {
    let whole: Vec<&WaitFinding> = findings.iter().filter(|f| f.operation.is_empty()).collect();
    let way = |f: &WaitFinding| run.trials[f.trial].way.clone();
    let mut keys: Vec<(String, String)> = Vec::new();
    for finding in &whole {
        let key = (finding.instrument.clone(), way(finding));
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if whole.len() <= keys.iter().filter(|key| key.0 == keys[0].0).count() && keys.len() <= 1 {
        return Vec::new();
    }
    // Each instrument's ways together, in the order in which the ways are written if they have values.
    keys.sort_by(|a, b| a.0.cmp(&b.0).then(rank(run, &a.1).total_cmp(&rank(run, &b.1))));
    let of = |key: &(String, String)| -> Vec<&WaitFinding> {
        whole.iter().copied().filter(|f| f.instrument == key.0 && way(f) == key.1).collect()
    };
    keys.iter()
        .map(|key| {
            let base = keys.iter().find(|other| other.0 == key.0).filter(|base| *base != key);
            group(run, key, &of(key), &base.map(&of).unwrap_or_default())
        })
        .collect()
}

/// Where a way stands: by its value, else by its first load.
fn rank(run: &Run, way: &str) -> f64 {
    let first = run.trials.iter().position(|trial| trial.way == way);
    first.map_or(0.0, |at| run.trials[at].value.unwrap_or(at as f64))
}

fn group(
    run: &Run,
    key: &(String, String),
    own: &[&WaitFinding],
    base: &[&WaitFinding],
) -> WaitGroup {
    let trial = |f: &WaitFinding| &run.trials[f.trial];
    let seconds = |t: &Trial| t.ended_ns.saturating_sub(t.began_ns) as f64 / 1e9;
    let middle = |of: &dyn Fn(&WaitFinding) -> Option<f64>| spread(own, of).map(|s| s.0);
    let ratio = ratio(run, own, base);
    WaitGroup {
        way: key.1.clone(),
        value: own.first().map(|f| f.value.clone()).unwrap_or_default(),
        instrument: key.0.clone(),
        loads: u32::try_from(own.len()).unwrap_or(u32::MAX),
        average: spread(own, &|f| f.average_s),
        p50: spread(own, &|f| f.p50_s),
        p99: spread(own, &|f| f.p99_s),
        waits_per_s: middle(&|f| Some(f.count as f64 / seconds(trial(f)))),
        events_per_s: middle(&|f| {
            let events: u64 = trial(f).response.iter().map(|h| h.len()).sum();
            Some(events as f64 / seconds(trial(f)))
        }),
        words: verdict(ratio.as_ref()),
        ratio,
    }
}

/// Median, least and most; `None` where one is not known.
fn spread(
    findings: &[&WaitFinding],
    of: &dyn Fn(&WaitFinding) -> Option<f64>,
) -> Option<(f64, f64, f64)> {
    let mut values: Vec<f64> = findings.iter().map(|f| of(f)).collect::<Option<_>>()?;
    values.sort_by(f64::total_cmp);
    Some((median(&values)?, *values.first()?, *values.last()?))
}

/// The median of sorted values.
fn median(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some((sorted[half - 1] + sorted[half]) / 2.0),
    }
}

/// Mean wait by that of the base, in the same block.
fn ratio(run: &Run, own: &[&WaitFinding], base: &[&WaitFinding]) -> Option<Estimate> {
    let place = |f: &WaitFinding| (run.trials[f.trial].block, run.trials[f.trial].pass);
    // From sums and counts: means in the finding are rounded to the tick.
    let mean =
        |f: &WaitFinding| (f.count > 0 && f.total_s > 0.0).then(|| f.total_s / f.count as f64);
    let pairs = own.iter().filter_map(|f| {
        let other = base.iter().find(|other| place(other) == place(f))?;
        Some((mean(f)? / mean(other)?).ln())
    });
    of_logs(&pairs.collect::<Vec<_>>())
}

/// A ratio from its logarithms: geometric mean and, from three on, Student's interval.
fn of_logs(logs: &[f64]) -> Option<Estimate> {
    let n = logs.len();
    if n == 0 {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / n as f64;
    let ci95 = (n >= 3).then(|| {
        let variance = logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        let half = student::quantile(0.975, (n - 1) as f64) * (variance / n as f64).sqrt();
        ((mean - half).exp(), (mean + half).exp())
    });
    let runs = u32::try_from(n).unwrap_or(u32::MAX);
    Some(Estimate { value: Some(mean.exp()), ci95, runs })
}

/// What a ratio of mean waits means.
fn verdict(ratio: Option<&Estimate>) -> String {
    let Some(Estimate { value: Some(value), ci95, runs }) = ratio else { return String::new() };
    let shown = format!("mean wait {} times the first way's", figure(*value));
    match ci95 {
        None => format!(
            "{shown}: {} can't tell a difference",
            plural(u64::from(*runs), "block", "blocks")
        ),
        Some((low, high)) if *low <= 1.0 && *high >= 1.0 => {
            format!("{shown} ({} to {}): no difference is seen", figure(*low), figure(*high))
        }
        Some((low, high)) => {
            let word = if *value < 1.0 { "shorter" } else { "longer" };
            format!("{shown} ({} to {}): {word}", figure(*low), figure(*high))
        }
    }
}

/// What gathering cost, from windows of one load with and without it.
pub(super) fn cost(run: &Run) -> Option<WatchCost> {
    let windows: Vec<(bool, f64)> =
        run.samples.iter().filter(|s| s.probe == WINDOWS).filter_map(window).collect();
    let pairs: Vec<f64> = windows.chunks_exact(2).filter_map(log_of_pair).collect();
    let ratio = of_logs(&pairs)?;
    let share = |v: f64| v - 1.0;
    let share = Estimate {
        value: ratio.value.map(share),
        ci95: ratio.ci95.map(|(low, high)| (share(low), share(high))),
        runs: ratio.runs,
    };
    let middle = |on: bool| {
        let mut of: Vec<f64> = windows.iter().filter(|w| w.0 == on).map(|w| w.1).collect();
        of.sort_by(f64::total_cmp);
        median(&of)
    };
    Some(WatchCost {
        words: cost_words(&share, pairs.len()),
        share,
        pairs: pairs.len(),
        bare_s: middle(false),
        watched_s: middle(true),
    })
}

/// Whether it was gathered in a window, and the server's CPU time per statement, seconds.
fn window(sample: &SampleRecord) -> Option<(bool, f64)> {
    let number = |name: &str| sample.numbers.get(name).copied();
    let statements = number("statements").filter(|n| *n > 0.0)?;
    let cpu = number("server_cpu_s").filter(|s| *s > 0.0)?;
    Some((number("on")? > 0.5, cpu / statements))
}

fn log_of_pair(pair: &[(bool, f64)]) -> Option<f64> {
    match pair {
        [(true, on), (false, off)] | [(false, off), (true, on)] => Some((on / off).ln()),
        _ => None,
    }
}

fn cost_words(share: &Estimate, pairs: usize) -> String {
    let Some(value) = share.value else { return String::new() };
    let signed = |v: f64| format!("{}{}", if v >= 0.0 { "+" } else { "" }, percent(v));
    let how = format!("in {} of windows of one load", plural(pairs as u64, "pair", "pairs"));
    match share.ci95 {
        None => format!("{} server CPU per statement {how}: too few to be sure", signed(value)),
        Some((low, high)) => {
            let verdict = if low <= 0.0 && high >= 0.0 { ": within noise" } else { "" };
            format!(
                "{} server CPU per statement ({} to {}) {how}{verdict}",
                signed(value),
                signed(low),
                signed(high)
            )
        }
    }
}

/// The answer of a run that was made to see waits: a sentence per instrument, or per way where there are several.
pub(super) fn sentences(findings: &[WaitFinding], groups: &[WaitGroup]) -> Vec<String> {
    if !groups.is_empty() {
        let told = groups.iter().filter(|group| !group.words.is_empty());
        return told
            .map(|g| format!("{} of {}: {}.", g.way, short(&g.instrument), g.words))
            .collect();
    }
    let whole = findings.iter().filter(|f| f.operation.is_empty());
    whole
        .map(|f| {
            let step = f.tick_s.unwrap_or(0.0);
            let shown = |label: &str, v: Option<f64>| {
                v.map(|v| format!("{label} {}", time_in_steps(v, step)))
            };
            let parts =
                [shown("mean", f.average_s), shown("p99", f.p99_s), shown("longest", f.max_s)];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            let parts =
                if parts.is_empty() { String::new() } else { format!(", {}", parts.join(", ")) };
            format!("{}: {}{parts}.", short(&f.instrument), plural(f.count, "wait", "waits"))
        })
        .collect()
}

/// The last part of an instrument's name.
pub(crate) fn short(instrument: &str) -> &str {
    instrument.rsplit('/').next().unwrap_or(instrument)
}

#[cfg(test)]
mod tests;
