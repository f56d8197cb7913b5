//! A load as counts of ended events on an even grid: hundredths of a second where the run kept them, else its intervals.
//! Never knows: what a gap means.

use std::ops::Range;

use crate::archive::{IntervalRecord, Trial};

/// Length of a kept slot, nanoseconds.
const SLOT_NS: u64 = 10_000_000;

/// Counts on an even grid, without the cut slots at both ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CountGrid {
    /// When the first slot begins, seconds since the origin of the run's clock.
    pub(super) began_s: f64,
    /// Length of a slot, seconds.
    pub(super) slot_s: f64,
    /// Events that ended in each; parts of events where intervals of uneven length had to be spread.
    pub(super) counts: Vec<f64>,
    /// Whether the run folder holds the slot: a line that could not be written leaves a gap, which is no silence.
    pub(super) recorded: Vec<bool>,
}

impl CountGrid {
    /// The load from a moment on (nanoseconds of the run's clock). `None` if there is nothing to see.
    pub(super) fn from_trial(trial: &Trial, from_ns: u64) -> Option<CountGrid> {
        let mut intervals = trial.intervals.iter().filter(|i| i.ended_ns > i.began_ns).peekable();
        intervals.peek()?;
        let fine = trial.intervals.iter().all(|i| !i.slots.is_empty() || i.ended_ns <= i.began_ns);
        let grid = if fine {
            grid_from_slots(intervals, from_ns)
        } else {
            grid_from_intervals(trial, from_ns)
        };
        (!grid.counts.is_empty()).then_some(grid)
    }

    /// When a slot begins, seconds of the run's clock.
    pub(super) fn slot_start_s(&self, slot: usize) -> f64 {
        self.began_s + slot as f64 * self.slot_s
    }

    /// Length in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.counts.len() as f64 * self.slot_s
    }

    /// How many slots make so many seconds, one at least.
    pub(super) fn slots_in(&self, seconds: f64) -> usize {
        ((seconds / self.slot_s).round() as usize).max(1)
    }

    /// Sums of so many slots each; what is left over at the end is left out.
    pub(super) fn cell_sums(&self, slots: usize) -> Vec<f64> {
        self.counts.chunks_exact(slots).map(|cell| cell.iter().sum()).collect()
    }

    /// Stretches of recorded slots in which nothing ended.
    pub(super) fn silent_ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let silent = |slot: usize| self.recorded[slot] && self.counts[slot] == 0.0;
        let (mut at, slots) = (0, self.counts.len());
        std::iter::from_fn(move || {
            let from = (at..slots).find(|slot| silent(*slot))?;
            at = (from..slots).find(|slot| !silent(*slot)).unwrap_or(slots);
            Some(from..at)
        })
    }

    /// Seconds that the run folder does not hold.
    pub(super) fn missing_s(&self) -> f64 {
        self.recorded.iter().filter(|r| !**r).count() as f64 * self.slot_s
    }
}

fn grid_from_slots<'a>(
    intervals: impl Iterator<Item = &'a IntervalRecord>,
    from_ns: u64,
) -> CountGrid {
    let (mut first, mut counts, mut recorded) = (None, Vec::new(), Vec::new());
    let mut ended_ns = 0;
    for interval in intervals {
        let number = interval.began_ns / SLOT_NS;
        let first = *first.get_or_insert(number);
        for (place, count) in interval.slots.iter().enumerate() {
            let at = number.saturating_sub(first) as usize + place;
            if counts.len() <= at {
                counts.resize(at + 1, 0.0);
                recorded.resize(at + 1, false);
            }
            counts[at] += f64::from(*count);
            recorded[at] = true;
        }
        ended_ns = ended_ns.max(interval.ended_ns);
    }
    let first = first.unwrap_or(0);
    // The slots that hold the load's begin and its end are cut.
    let from = (from_ns / SLOT_NS + 1).saturating_sub(first) as usize;
    let to = (ended_ns / SLOT_NS).saturating_sub(first) as usize;
    counts.truncate(to);
    recorded.truncate(to);
    let from = from.min(counts.len());
    let began_s = ((first + from as u64) * SLOT_NS) as f64 / 1e9;
    CountGrid {
        began_s,
        slot_s: SLOT_NS as f64 / 1e9,
        counts: counts.split_off(from),
        recorded: recorded.split_off(from),
    }
}

/// Spreads each interval evenly over slots as long as the usual interval: for runs that kept no slots.
fn grid_from_intervals(trial: &Trial, from_ns: u64) -> CountGrid {
    let length = |i: &IntervalRecord| (i.ended_ns.saturating_sub(i.began_ns)) as f64 / 1e9;
    let mut lengths: Vec<f64> = trial.intervals.iter().map(length).filter(|l| *l > 0.0).collect();
    lengths.sort_by(f64::total_cmp);
    let slot_s = lengths[lengths.len() / 2];
    let second = |ns: u64| ns as f64 / 1e9;
    let first = trial.intervals.iter().find(|i| i.ended_ns > from_ns.max(i.began_ns));
    let began_s = first.map_or(0.0, |i| second(i.began_ns));
    let ended_s = trial.intervals.iter().map(|i| second(i.ended_ns)).fold(began_s, f64::max);
    // A little slack, as lengths differ by the scheduler's moods.
    let slots = ((ended_s - began_s) / slot_s + 0.05).floor() as usize;
    let (mut counts, mut recorded) = (vec![0.0; slots], vec![false; slots]);
    for interval in trial.intervals.iter().filter(|i| second(i.ended_ns) > began_s) {
        let events = interval.events.iter().chain(&interval.errors).sum::<u64>() as f64;
        let from = (second(interval.began_ns) - began_s) / slot_s;
        let to = (second(interval.ended_ns) - began_s) / slot_s;
        let mut at = from.max(0.0);
        while at < to {
            let edge = (at.floor() + 1.0).min(to);
            if let Some(count) = counts.get_mut(at as usize) {
                *count += events * (edge - at) / (to - from);
                recorded[at as usize] = true;
            }
            at = edge;
        }
    }
    CountGrid { began_s, slot_s, counts, recorded }
}
