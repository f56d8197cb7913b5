//! Where a load fell below half of its usual rate, and for how short a time that can be told from burstiness.
//!
//! The usual rate is a rolling median outside of standstills (`usual`). How bursty the load is, its dispersion (variance by mean of counts), is read from
//! the upper half of the counts, which stalls can't inflate. A window that holds a hundred times the dispersion in
//! events falls below half by chance once in millions (5 standard deviations); shorter ones are only dips.
//! Never knows: counters, causes.

use std::ops::Range;

use super::super::statistics::robust::{MAD_TO_SIGMA, median};
use super::grid::CountGrid;
use super::usual_rate;

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
pub(super) struct SlowStretch {
    pub(super) slots: Range<usize>,
    /// Nothing ended for long enough in it.
    pub(super) silent: bool,
}

/// What the counts alone say.
#[derive(Clone, Debug)]
pub(super) struct StallDetection {
    /// Usual events per slot, one for each slot.
    pub(super) usual: Vec<f64>,
    /// Variance of counts by their mean; 1 for independent arrivals.
    pub(super) dispersion: f64,
    /// The window that was needed, seconds; `None` if nothing ended.
    pub(super) window_s: Option<f64>,
    /// Shortest silence that counts, seconds.
    pub(super) silence_s: f64,
    /// What can't be burstiness.
    pub(super) stalls: Vec<SlowStretch>,
    /// What could be.
    pub(super) dips: Vec<SlowStretch>,
    /// Longest time without an event, in slots; at an end of the load only if it is a standstill.
    pub(super) longest_silence: usize,
    /// Slowest whole second by the median one.
    pub(super) slowest: Option<f64>,
    /// Slow to its very end: a stall, or stragglers.
    pub(super) slow_end: bool,
}

/// Looks at the whole grid. `standstills` are the silences in it that no chance explains.
pub(super) fn detect_stalls(grid: &CountGrid, standstills: &[Range<usize>]) -> StallDetection {
    let usual = usual_rate::usual_rates(grid, standstills);
    let known: Vec<f64> =
        usual.iter().zip(&grid.recorded).filter(|(_, r)| **r).map(|(usual, _)| *usual).collect();
    let typical = median(&known).unwrap_or(0.0) / grid.slot_s;
    let cell = grid.slots_in(CELL_S);
    let dispersion = count_dispersion(grid, &usual, cell);
    let inner = grid.silent_ranges().filter(|s| s.start > 0 && s.end < grid.counts.len());
    let mut found = StallDetection {
        slowest: slowest_by_median(&grid.cell_sums(grid.slots_in(1.0))),
        usual,
        dispersion,
        window_s: None,
        silence_s: SILENCE_S,
        stalls: Vec::new(),
        dips: Vec::new(),
        longest_silence: inner.map(|s| s.len()).max().unwrap_or(0),
        slow_end: false,
    };
    if typical <= 0.0 {
        return found;
    }
    let longest = standstills.iter().map(Range::len).max().unwrap_or(0);
    found.longest_silence = found.longest_silence.max(longest);
    let window_s = (WINDOW_EVENTS * dispersion / typical).max(CELL_S).max(grid.slot_s);
    found.window_s = Some(window_s);
    let short = grid.slots_in(SHORT_CELL_EVENTS / typical).min(cell);
    let batches = self::count_dispersion(grid, &found.usual, short).min(dispersion);
    found.silence_s = (SILENCE_EVENTS * batches / typical).max(SILENCE_S);
    let quiet = long_silences(grid, found.silence_s).into_iter().chain(standstills.iter().cloned());
    let slow = if window_s > LONGEST_WINDOW_S && window_s > grid.slot_s {
        Vec::new()
    } else {
        slow_windows(grid, &found.usual, window_s)
    };
    let gap = (JOIN_S / grid.slot_s).floor() as usize;
    let all = slow.into_iter().map(|slots| (slots, false));
    let all = all.chain(quiet.map(|slots| (slots, true))).collect();
    let (stalls, at_end) = without_load_ends(join_ranges(all, gap), grid.counts.len(), standstills);
    found.slow_end = at_end;
    found.stalls = stalls.into_iter().map(|s| widen_stretch(s, window_s, grid)).collect();
    let dips = find_dips(grid, &found.usual, typical);
    let (mut dips, _) = without_load_ends(join_ranges(dips, gap), grid.counts.len(), &[]);
    dips.retain(|dip| !found.stalls.iter().any(|s| are_adjacent(&s.slots, &dip.slots, gap)));
    found.dips = dips;
    found
}

/// Whether two stretches touch, or nearly.
fn are_adjacent(a: &Range<usize>, b: &Range<usize>, gap: usize) -> bool {
    a.start <= b.end + gap && b.start <= a.end + gap
}

/// Variance by mean of the counts of cells of so many slots, 1 at least. From the half above the usual rate only: stalls lie below.
fn count_dispersion(grid: &CountGrid, usual: &[f64], cell: usize) -> f64 {
    let expected = usual.chunks_exact(cell).map(|slots| slots.iter().sum::<f64>());
    let cells: Vec<(f64, f64)> = grid.cell_sums(cell).into_iter().zip(expected).collect();
    let above: Vec<f64> = cells.iter().map(|(c, e)| c - e).filter(|d| *d > 0.0).collect();
    let running: Vec<f64> = cells.iter().map(|(c, _)| *c).filter(|c| *c > 0.0).collect();
    let (Some(above), Some(middle)) = (median(&above), median(&running)) else { return 1.0 };
    ((MAD_TO_SIGMA * above).powi(2) / middle).max(1.0)
}

/// Stretches in which a window sliding along the slots holds less than half of what is usual. A stretch reaches from
/// the middle of its first window to the middle of its last: as long as the stall itself.
fn slow_windows(grid: &CountGrid, usual: &[f64], window_s: f64) -> Vec<Range<usize>> {
    let width = ((window_s / grid.slot_s).ceil() as usize).max(1);
    let (counts, expected) = (prefix_sums(&grid.counts), prefix_sums(usual));
    let missing: Vec<f64> = grid.recorded.iter().map(|r| f64::from(u8::from(!r))).collect();
    let gaps = prefix_sums(&missing);
    let sum = |of: &[f64], at: usize| of[at + width] - of[at];
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in 0..(grid.counts.len() + 1).saturating_sub(width) {
        let limit = SLOW * sum(&expected, at);
        let is_recorded = sum(&gaps, at) == 0.0;
        if is_recorded && limit > 0.0 && sum(&counts, at) < limit {
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

/// A slow stretch is a window long at least: what is shorter can't be told. An end that it did not reach stays unreached.
fn widen_stretch(stretch: SlowStretch, window_s: f64, grid: &CountGrid) -> SlowStretch {
    let SlowStretch { slots, silent } = stretch;
    let lack = ((window_s / grid.slot_s).ceil() as usize).saturating_sub(slots.len());
    if silent || lack == 0 {
        return SlowStretch { slots, silent };
    }
    let all = grid.counts.len();
    let from = slots.start.saturating_sub(lack / 2).max(slots.start.min(1));
    let to = (slots.end + lack - lack / 2).min(if slots.end < all { all - 1 } else { all });
    SlowStretch { slots: from..to, silent }
}

fn prefix_sums(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = values.iter().map(|v| {
        sum += v;
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}

fn long_silences(grid: &CountGrid, at_least_s: f64) -> Vec<Range<usize>> {
    let slots = (at_least_s / grid.slot_s).ceil() as usize;
    grid.silent_ranges().filter(|s| s.len() >= slots).collect()
}

/// Cells below half, where cells hold enough events to be called a dip.
fn find_dips(grid: &CountGrid, usual: &[f64], typical: f64) -> Vec<(Range<usize>, bool)> {
    let cell = match typical {
        rate if rate * CELL_S >= DIP_EVENTS => grid.slots_in(CELL_S),
        rate if rate >= DIP_EVENTS => grid.slots_in(1.0),
        _ => return Vec::new(),
    };
    let cells = grid.counts.chunks_exact(cell).zip(usual.chunks_exact(cell)).enumerate();
    let is_recorded = |n: usize| grid.recorded[n * cell..(n + 1) * cell].iter().all(|r| *r);
    cells
        .filter(|(n, _)| is_recorded(*n))
        .filter(|(_, (c, u))| c.iter().sum::<f64>() < SLOW * u.iter().sum::<f64>())
        .map(|(n, _)| (n * cell..(n + 1) * cell, false))
        .collect()
}

/// Joins what lies no further apart than `gap` slots.
fn join_ranges(mut all: Vec<(Range<usize>, bool)>, gap: usize) -> Vec<SlowStretch> {
    all.sort_by_key(|(slots, _)| slots.start);
    let mut joined: Vec<SlowStretch> = Vec::new();
    for (slots, silent) in all {
        match joined.last_mut().filter(|last| slots.start <= last.slots.end + gap) {
            Some(last) => {
                last.slots.end = last.slots.end.max(slots.end);
                last.silent |= silent;
            }
            None => joined.push(SlowStretch { slots, silent }),
        }
    }
    joined
}

/// Without what touches an end of the load: there a slow spell can't be told from workers that begin or finish, but a
/// standstill can. Also says whether something at the end was left out.
fn without_load_ends(
    stretches: Vec<SlowStretch>,
    slots: usize,
    standstills: &[Range<usize>],
) -> (Vec<SlowStretch>, bool) {
    let is_inner = |s: &SlowStretch| s.slots.start > 0 && s.slots.end < slots;
    let stood = |s: &SlowStretch| standstills.iter().any(|known| are_adjacent(known, &s.slots, 0));
    let (kept, left): (Vec<_>, Vec<_>) =
        stretches.into_iter().partition(|s| is_inner(s) || stood(s));
    (kept, left.iter().any(|s| s.slots.end >= slots))
}

/// The slowest whole second by the median one of those in which anything ended.
fn slowest_by_median(seconds: &[f64]) -> Option<f64> {
    let running: Vec<f64> = seconds.iter().copied().filter(|events| *events > 0.0).collect();
    let middle = median(&running)?;
    seconds.iter().copied().min_by(f64::total_cmp).map(|slowest| slowest / middle)
}
