//! When a load stood still: found in hundredths of a second, told from burstiness, explained by counters.
//!
//! Two passes with the steady state: that masks slow seconds by itself and gives T0; stalls are looked for from there;
//! then the steady state heeds them and says "steady with stalls".
//! Never knows: files, formats.
//! Start reading at [`find_stalls`]. To add a cause: `rules.rs`.

mod causes;
mod columns;
mod detect;
mod grid;
mod period;
mod rules;
mod stuck_events;
#[cfg(test)]
mod tests;
mod usual_rate;

use std::ops::Range;

use crate::archive::{IntervalRecord, RecordedEngine, RunRecord, Trial};

use super::findings::{Stall, StallFindings, StallKind};
use super::number_format::{format_percent, format_plural, format_time};
use super::statistics::robust::median;
use causes::StallContext;
use columns::TimeSpan;
use detect::{SlowStretch, StallDetection, detect_stalls};
use grid::CountGrid;
use period::find_period;
pub use rules::{CauseRule, stall_causes};

/// Shorter loads say nothing about stalls, seconds.
const SHORTEST_S: f64 = 3.0;
/// Width in which the depth of a stall is read, seconds.
const DEPTH_S: f64 = 0.1;
/// Dips needed before a counter may make stalls of them.
const DIPS: usize = 3;
/// Events that hung in a stall end just after it, seconds.
const AFTER_S: f64 = 0.05;
/// A load must be so many times as long as the shortest stall that it is said to show.
const TIMES_SHORTEST: f64 = 4.0;
/// Lateness of our own that covers this share of a stall may be the stall.
const OWN_SHARE: f64 = 0.3;

/// The stalls of a load from T0 on, seconds since its first start; from its start where there is none, and where it
/// stood still before T0, as no warming looks like that. `None` if it is too short to say.
pub(super) fn find_stalls(
    run: &RunRecord,
    trial: &Trial,
    t0_s: Option<f64>,
) -> Option<StallFindings> {
    let whole_load = CountGrid::from_trial(trial, trial.began_ns)?;
    let wanted = |slots: &Range<usize>| is_waited_for(trial, &whole_load, slots);
    let standstills = usual_rate::find_standstills(&whole_load, trial, wanted);
    let from_s = trial.began_ns as f64 / 1e9 + t0_s.unwrap_or(0.0).max(0.0);
    let before = standstills.first().is_some_and(|s| whole_load.slot_start_s(s.start) < from_s);
    let (grid, standstills) = if before {
        (whole_load, standstills)
    } else {
        let grid = CountGrid::from_trial(trial, (from_s * 1e9) as u64)?;
        let wanted = |slots: &Range<usize>| is_waited_for(trial, &grid, slots);
        let standstills = usual_rate::find_standstills(&grid, trial, wanted);
        (grid, standstills)
    };
    if grid.seconds() - grid.missing_s() < SHORTEST_S {
        return None;
    }
    let mut found = detect_stalls(&grid, &standstills);
    let mut notes = Vec::new();
    let promoted = promote_dips(run, trial, &grid, &mut found, &mut notes);
    let mut events: Vec<Stall> =
        found.stalls.iter().map(|s| stall_from_stretch(trial, &grid, &found, s)).collect();
    let rhythm = find_period(&grid, &found.usual, &stretch_middles(&found.stalls));
    add_stuck(trial, &grid, &found, &mut events);
    let spans: Vec<TimeSpan> = events.iter().map(stall_span).collect();
    let scene = StallContext::new(run, trial, whole_span(&grid), &spans);
    let any = !events.is_empty();
    let causes = if any { scene.find_causes(false) } else { Vec::new() };
    let counters = if any { scene.differing_counters() } else { Vec::new() };
    add_limit_notes(trial, &grid, &found, &events, &mut notes);
    if any && causes.is_empty() {
        notes.push(match counters.is_empty() {
            true => "no counter that was sampled differs inside the stalls".to_owned(),
            false => "none of the causes that sweat knows is proven; see the counters".to_owned(),
        });
    }
    let expected: f64 = found.usual.iter().sum();
    let lost = events.iter().fold(0.0, |sum, e| sum + e.lost_events);
    let silence = found.longest_silence as f64 * grid.slot_s;
    let shown = (grid.seconds() - grid.missing_s()) / TIMES_SHORTEST;
    let window_s = found.window_s.filter(|window| !is_blurred(*window, &grid));
    Some(StallFindings {
        dips: if promoted { 0 } else { found.dips.len() },
        lost_share: if expected > 0.0 { (lost / expected).min(1.0) } else { 0.0 },
        period_s: rhythm,
        resolution_s: window_s.filter(|s| *s <= shown),
        full_stop_s: found.window_s.and(Some(found.silence_s)).filter(|s| *s <= shown),
        longest_silence_s: (silence > 0.0).then_some(silence),
        slowest_by_median: found.slowest,
        events,
        causes,
        counters,
        notes,
    })
}

/// The stalls in a sentence; `None` without any.
pub(super) fn stalls_text(stalls: &StallFindings) -> Option<String> {
    let lengths: Vec<f64> = stalls.events.iter().map(|e| e.seconds).collect();
    let shortest = lengths.iter().copied().reduce(f64::min)?;
    let longest = lengths.iter().copied().reduce(f64::max)?;
    let long = match (format_time(shortest), format_time(longest)) {
        (one, other) if one == other => format!("{one} long"),
        (one, other) => format!("{one} to {other} long"),
    };
    let rhythm =
        stalls.period_s.map_or_else(String::new, |s| format!(", one every {}", format_time(s)));
    let cause = stalls.causes.first().map_or_else(String::new, |c| format!(": {}", c.title));
    Some(format!(
        "{}{rhythm}, {long}, {} of the work lost{cause}",
        format_plural(lengths.len() as u64, "stall", "stalls"),
        format_percent(stalls.lost_share),
    ))
}

/// Makes stalls of dips that have a rhythm, or that a counter explains better than chance; says whether it did.
fn promote_dips(
    run: &RunRecord,
    trial: &Trial,
    grid: &CountGrid,
    found: &mut StallDetection,
    notes: &mut Vec<String>,
) -> bool {
    if found.dips.is_empty() {
        return false;
    }
    let mut all = found.stalls.clone();
    all.append(&mut found.dips.clone());
    all.sort_by_key(|s| s.slots.start);
    let dips = format_plural(found.dips.len() as u64, "dip", "dips");
    if find_period(grid, &found.usual, &stretch_middles(&all)).is_some() {
        notes.push(format!("{dips} that burstiness might explain count, as they have a rhythm"));
        found.stalls = all;
        return true;
    }
    let spans: Vec<TimeSpan> = found.dips.iter().map(|s| stretch_span(grid, s)).collect();
    if spans.len() < DIPS {
        return false;
    }
    let causes = StallContext::new(run, trial, whole_span(grid), &spans).find_causes(true);
    let Some(cause) = causes.first() else { return false };
    notes.push(format!(
        "{dips} that burstiness might explain count, as counters explain them better: {}",
        cause.id
    ));
    found.stalls = all;
    true
}

/// Whether slow spells can't be told from burstiness at all.
fn is_blurred(window_s: f64, grid: &CountGrid) -> bool {
    window_s > detect::LONGEST_WINDOW_S && window_s > grid.slot_s
}

/// Whether somebody waited for the server in a stretch, so that a silence is its own: not where every worker thinks, no
/// arrival is due, or, at the end, most workers have finished.
fn is_waited_for(trial: &Trial, grid: &CountGrid, slots: &Range<usize>) -> bool {
    let (from_ns, to_ns) =
        (grid.slot_start_s(slots.start) * 1e9, grid.slot_start_s(slots.end) * 1e9);
    let inside = |i: &&IntervalRecord| (from_ns..to_ns).contains(&(i.ended_ns as f64));
    let waiting = |i: &IntervalRecord| i.in_flight + i.backlog;
    let mut ends = trial.intervals.iter().filter(inside).map(waiting);
    if slots.end < grid.counts.len() {
        // Whoever lost its session and opens another one is in no event, but wants one.
        return trial.arrival.closed_think_s() == Some(0.0) || ends.all(|waiting| waiting > 0);
    }
    // The reactor counts threads, not workers. At the end of a load those under way are given up.
    let all = if trial.engine == RecordedEngine::Reactor { 1 } else { trial.workers as u64 };
    let last = ends.next_back().unwrap_or(0).max(trial.abandoned);
    last > 0 && last * 2 >= all
}

fn whole_span(grid: &CountGrid) -> TimeSpan {
    TimeSpan { from_s: grid.began_s, to_s: grid.slot_start_s(grid.counts.len()) }
}

fn stretch_span(grid: &CountGrid, stretch: &SlowStretch) -> TimeSpan {
    TimeSpan {
        from_s: grid.slot_start_s(stretch.slots.start),
        to_s: grid.slot_start_s(stretch.slots.end),
    }
}

fn stall_span(stall: &Stall) -> TimeSpan {
    TimeSpan { from_s: stall.began_s, to_s: stall.began_s + stall.seconds }
}

fn stretch_middles(stretches: &[SlowStretch]) -> Vec<f64> {
    stretches.iter().map(|s| (s.slots.start + s.slots.end) as f64 / 2.0).collect()
}

fn stall_from_stretch(
    trial: &Trial,
    grid: &CountGrid,
    found: &StallDetection,
    stretch: &SlowStretch,
) -> Stall {
    let span = stretch_span(grid, stretch);
    let slots = stretch.slots.clone();
    let (counts, usual) = (&grid.counts[slots.clone()], &found.usual[slots]);
    let width = grid.slots_in(DEPTH_S).min(counts.len()).max(1);
    let part = |(c, u): (&[f64], &[f64])| {
        let usual = u.iter().sum::<f64>();
        if usual > 0.0 { c.iter().sum::<f64>() / usual } else { 1.0 }
    };
    let least = counts.windows(width).zip(usual.windows(width)).map(part).fold(1.0, f64::min);
    Stall {
        kind: if stretch.silent { StallKind::FullStop } else { StallKind::Slow },
        began_s: span.from_s,
        seconds: span.seconds(),
        depth: 1.0 - least,
        lost_events: (usual.iter().sum::<f64>() - counts.iter().sum::<f64>()).max(0.0),
        max_s: longest_response_s(trial, span),
    }
}

/// Longest response time in the intervals that a stretch touches.
fn longest_response_s(trial: &Trial, span: TimeSpan) -> Option<f64> {
    let (from, to) = (span.from_s * 1e9, (span.to_s + AFTER_S) * 1e9);
    let touched = |i: &&crate::archive::IntervalRecord| {
        (i.began_ns as f64) < to && i.ended_ns as f64 > from && !i.response.is_empty()
    };
    trial
        .intervals
        .iter()
        .filter(touched)
        .map(|i| i.response.max_ns() as f64 / 1e9)
        .reduce(f64::max)
}

/// Stretches in which events hung, unless they are known already.
fn add_stuck(trial: &Trial, grid: &CountGrid, found: &StallDetection, events: &mut Vec<Stall>) {
    let whole = whole_span(grid);
    for (stretch, share) in stuck_events::find_stuck_spans(trial) {
        let known = events.iter().any(|e| stall_span(e).overlaps(stretch));
        if known || stretch.from_s < whole.from_s || stretch.to_s > whole.to_s {
            continue;
        }
        let slot = |at: f64| ((at - grid.began_s) / grid.slot_s) as usize;
        let slots = slot(stretch.from_s)..slot(stretch.to_s).min(grid.counts.len());
        let sum = |of: &[f64]| of[slots.clone()].iter().sum::<f64>();
        events.push(Stall {
            kind: StallKind::Stuck,
            began_s: stretch.from_s,
            seconds: stretch.seconds(),
            depth: share,
            lost_events: (sum(&found.usual) - sum(&grid.counts)).max(0.0),
            max_s: longest_response_s(trial, stretch),
        });
    }
    events.sort_by(|a, b| a.began_s.total_cmp(&b.began_s));
}

/// What limits all this, in words.
fn add_limit_notes(
    trial: &Trial,
    grid: &CountGrid,
    found: &StallDetection,
    events: &[Stall],
    notes: &mut Vec<String>,
) {
    if grid.slot_s > 0.05 {
        notes.push(format!(
            "the run kept no hundredths of a second: intervals of {} blur shorter stalls",
            format_time(grid.slot_s)
        ));
    }
    if let Some(window) = found.window_s.filter(|window| is_blurred(*window, grid)) {
        notes.push(format!(
            "resolution {}: slow spells can't be told from burstiness (dispersion {}); silences of \
             {} and stuck events still count",
            format_time(window),
            super::number_format::format_number(found.dispersion),
            format_time(found.silence_s),
        ));
    }
    let missing = grid.missing_s();
    if missing > 0.0 {
        notes.push(format!(
            "{} of the load are not in the run folder: what happened then is not known",
            format_time(missing)
        ));
    }
    if found.slow_end {
        notes
            .push("slow to its end: a stall, or workers that had finished; not counted".to_owned());
    }
    let lengths: Vec<f64> = events.iter().map(|e| e.seconds).collect();
    let late = trial.lateness.max() as f64 / 1e9;
    if median(&lengths).is_some_and(|length| late >= OWN_SHARE * length) {
        notes.push(format!(
            "sweat itself began an event {} late in this load: a stall may be its own",
            format_time(late)
        ));
    }
}
