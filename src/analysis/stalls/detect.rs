//! Where a load fell below half of its usual rate, and for how short a time that can be told from burstiness.
//!
//! The usual rate is a rolling median. How bursty the load is, its dispersion (variance by mean of counts), is read from
//! the upper half of the counts, which stalls can't inflate. A window that holds a hundred times the dispersion in
//! events falls below half by chance once in millions (5 standard deviations); shorter ones are only dips.
//! Never knows: counters, causes.

use std::ops::Range;

use super::super::statistics::robust::{MAD_TO_SIGMA, median, rolling_median};
use super::grid::Grid;

/// Seconds that the usual rate is the median of; half of it for loads below [`SHORT_S`].
const BASELINE_S: usize = 61;
/// The same for short loads.
const SHORT_BASELINE_S: usize = 31;
const SHORT_S: f64 = 300.0;
/// Shortest window, and the cell that dispersion and dips are read from, seconds.
const CELL_S: f64 = 0.2;
/// Expected events in a window, by the dispersion.
const WINDOW_EVENTS: f64 = 100.0;
/// Below this share of the usual rate is slow.
const SLOW: f64 = 0.5;
/// What is slow twice within this time is one stall, seconds.
const JOIN_S: f64 = 0.5;
/// If no shorter window can tell, only silence and stuck events count as stalls, seconds.
pub(super) const LONGEST_WINDOW_S: f64 = 2.0;
/// Shortest silence that is a full stop, seconds.
const SILENCE_S: f64 = 0.3;
/// Events that would have been expected in a silence, by the dispersion of short cells.
const SILENCE_EVENTS: f64 = 20.0;
/// Expected events of such a cell. A rate that comes and goes makes long cells differ; only batches make short ones
/// differ, and only batches make silences.
const SHORT_CELL_EVENTS: f64 = 10.0;
/// A cell needs so many expected events to be called a dip.
const DIP_EVENTS: f64 = 50.0;

/// A stretch of slots that was slow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) slots: Range<usize>,
    /// Nothing ended for long enough in it.
    pub(super) silent: bool,
}

/// What the counts alone say.
#[derive(Clone, Debug)]
pub(super) struct Detected {
    /// Usual events per slot, one for each slot.
    pub(super) usual: Vec<f64>,
    /// Variance of counts by their mean; 1 for independent arrivals.
    pub(super) dispersion: f64,
    /// The window that was needed, seconds; `None` if nothing ended.
    pub(super) window_s: Option<f64>,
    /// Shortest silence that counts, seconds.
    pub(super) silence_s: f64,
    /// What can't be burstiness.
    pub(super) stalls: Vec<Stretch>,
    /// What could be.
    pub(super) dips: Vec<Stretch>,
    /// Longest time without an event, in slots, not at an end of the load.
    pub(super) longest_silence: usize,
    /// Slowest whole second by the median one.
    pub(super) slowest: Option<f64>,
    /// Slow to its very end: a stall, or stragglers.
    pub(super) slow_end: bool,
}

/// Looks at the whole grid.
pub(super) fn detect(grid: &Grid) -> Detected {
    let second = grid.slots(1.0);
    let seconds = grid.cells(second);
    let window = if grid.seconds() < SHORT_S { SHORT_BASELINE_S } else { BASELINE_S };
    let wide = (window as f64 / (second as f64 * grid.slot_s)).round() as usize;
    let medians = rolling_median(&seconds, wide.max(3));
    let last = medians.last().copied().unwrap_or(0.0);
    let of_slot = |slot: usize| medians.get(slot / second).copied().unwrap_or(last) / second as f64;
    let usual: Vec<f64> = (0..grid.counts.len()).map(of_slot).collect();
    let typical = median(&usual).unwrap_or(0.0) / grid.slot_s;
    let cell = grid.slots(CELL_S);
    let dispersion = dispersion(grid, &usual, cell);
    let mut found = Detected {
        usual,
        dispersion,
        window_s: None,
        silence_s: SILENCE_S,
        stalls: Vec::new(),
        dips: Vec::new(),
        longest_silence: inner_silences(&grid.counts).map(|s| s.len()).max().unwrap_or(0),
        slowest: slowest(&seconds),
        slow_end: false,
    };
    if typical <= 0.0 {
        return found;
    }
    let window_s = (WINDOW_EVENTS * dispersion / typical).max(CELL_S).max(grid.slot_s);
    found.window_s = Some(window_s);
    let short = grid.slots(SHORT_CELL_EVENTS / typical).min(cell);
    let batches = self::dispersion(grid, &found.usual, short).min(dispersion);
    found.silence_s = (SILENCE_EVENTS * batches / typical).max(SILENCE_S);
    let quiet = silences(grid, found.silence_s);
    let slow = if window_s > LONGEST_WINDOW_S && window_s > grid.slot_s {
        Vec::new()
    } else {
        slow_windows(grid, &found.usual, window_s)
    };
    let gap = (JOIN_S / grid.slot_s).floor() as usize;
    let all = slow.into_iter().map(|slots| (slots, false));
    let all = all.chain(quiet.into_iter().map(|slots| (slots, true))).collect();
    let (stalls, at_end) = inner(join(all, gap), grid.counts.len());
    found.slow_end = at_end;
    found.stalls = stalls;
    let dips = dips(grid, &found.usual, typical);
    let (mut dips, _) = inner(join(dips, gap), grid.counts.len());
    dips.retain(|dip| !found.stalls.iter().any(|s| overlap(&s.slots, &dip.slots, gap)));
    found.dips = dips;
    found
}

/// Whether two stretches touch, or nearly.
fn overlap(a: &Range<usize>, b: &Range<usize>, gap: usize) -> bool {
    a.start <= b.end + gap && b.start <= a.end + gap
}

/// Variance by mean of the counts of cells of so many slots, 1 at least. From the half above the usual rate only: stalls lie below.
fn dispersion(grid: &Grid, usual: &[f64], cell: usize) -> f64 {
    let counts = grid.cells(cell);
    let expected = usual.chunks_exact(cell).map(|slots| slots.iter().sum::<f64>());
    let above: Vec<f64> =
        counts.iter().zip(expected).map(|(c, e)| c - e).filter(|d| *d > 0.0).collect();
    let (Some(above), Some(middle)) = (median(&above), median(&counts)) else { return 1.0 };
    if middle > 0.0 { ((MAD_TO_SIGMA * above).powi(2) / middle).max(1.0) } else { 1.0 }
}

/// Stretches in which a window sliding along the slots holds less than half of what is usual. A stretch reaches from
/// the middle of its first window to the middle of its last: as long as the stall itself.
fn slow_windows(grid: &Grid, usual: &[f64], window_s: f64) -> Vec<Range<usize>> {
    let width = ((window_s / grid.slot_s).ceil() as usize).max(1);
    let (counts, expected) = (prefix(&grid.counts), prefix(usual));
    let sum = |of: &[f64], at: usize| of[at + width] - of[at];
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in 0..(grid.counts.len() + 1).saturating_sub(width) {
        let limit = SLOW * sum(&expected, at);
        if limit > 0.0 && sum(&counts, at) < limit {
            // At an end of the load a window's middle stands for all that lies beyond it.
            let middle = at + width / 2;
            let from = if at == 0 { 0 } else { middle };
            let to = if at + width == grid.counts.len() { at + width } else { middle + 1 };
            match found.last_mut().filter(|last| last.end >= from) {
                Some(last) => last.end = to,
                None => found.push(from..to),
            }
        }
    }
    found
}

fn prefix(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = values.iter().map(|v| {
        sum += v;
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}

/// Stretches of empty slots.
fn empty_stretches(counts: &[f64]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = at + counts[at..].iter().position(|c| *c == 0.0)?;
        at = counts[from..].iter().position(|c| *c != 0.0).map_or(counts.len(), |n| from + n);
        Some(from..at)
    })
}

fn inner_silences(counts: &[f64]) -> impl Iterator<Item = Range<usize>> + '_ {
    empty_stretches(counts).filter(|s| s.start > 0 && s.end < counts.len())
}

fn silences(grid: &Grid, at_least_s: f64) -> Vec<Range<usize>> {
    let slots = (at_least_s / grid.slot_s).ceil() as usize;
    empty_stretches(&grid.counts).filter(|s| s.len() >= slots).collect()
}

/// Cells below half, where cells hold enough events to be called a dip.
fn dips(grid: &Grid, usual: &[f64], typical: f64) -> Vec<(Range<usize>, bool)> {
    let cell = match typical {
        rate if rate * CELL_S >= DIP_EVENTS => grid.slots(CELL_S),
        rate if rate >= DIP_EVENTS => grid.slots(1.0),
        _ => return Vec::new(),
    };
    let cells = grid.counts.chunks_exact(cell).zip(usual.chunks_exact(cell)).enumerate();
    cells
        .filter(|(_, (c, u))| c.iter().sum::<f64>() < SLOW * u.iter().sum::<f64>())
        .map(|(n, _)| (n * cell..(n + 1) * cell, false))
        .collect()
}

/// Joins what lies no further apart than `gap` slots.
fn join(mut all: Vec<(Range<usize>, bool)>, gap: usize) -> Vec<Stretch> {
    all.sort_by_key(|(slots, _)| slots.start);
    let mut joined: Vec<Stretch> = Vec::new();
    for (slots, silent) in all {
        match joined.last_mut().filter(|last| slots.start <= last.slots.end + gap) {
            Some(last) => {
                last.slots.end = last.slots.end.max(slots.end);
                last.silent |= silent;
            }
            None => joined.push(Stretch { slots, silent }),
        }
    }
    joined
}

/// Without what touches an end of the load: there a stall can't be told from workers that begin or finish. Also says
/// whether the last one did.
fn inner(stretches: Vec<Stretch>, slots: usize) -> (Vec<Stretch>, bool) {
    let at_end = stretches.last().is_some_and(|s| s.slots.end >= slots);
    let inner = |s: &Stretch| s.slots.start > 0 && s.slots.end < slots;
    (stretches.into_iter().filter(inner).collect(), at_end)
}

fn slowest(seconds: &[f64]) -> Option<f64> {
    let middle = median(seconds).filter(|m| *m > 0.0)?;
    seconds.iter().copied().min_by(f64::total_cmp).map(|slowest| slowest / middle)
}
