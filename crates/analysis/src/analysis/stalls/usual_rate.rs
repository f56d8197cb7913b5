//! The usual rate of a load, and the standstills that must not have a say in it: a server that stands for most of a load
//! would make nothing the usual.
//! Never knows: counters, causes.

use std::cmp::Reverse;
use std::ops::Range;

use crate::archive::Trial;

use super::super::latency;
use super::super::statistics::robust::rolling_median;
use super::grid::CountGrid;

/// Seconds that the usual rate is the median of; half of it for loads below [`SHORT_S`].
const BASELINE_S: usize = 61;
/// The same for short loads.
const SHORT_BASELINE_S: usize = 31;
const SHORT_S: f64 = 300.0;
/// Shortest standstill, seconds: it counts wherever it lies, also before T0 and at the ends of a load.
const STANDSTILL_S: f64 = 1.0;
/// A standstill lasts so many times the usual spacing of the slots in which anything ended: by chance that comes once in
/// e^20 times.
const SPACINGS: f64 = 20.0;
/// And so many times the median service time: events that take long end seldom.
const SERVICE_TIMES: f64 = 10.0;

/// Silences that no chance explains. The shortest of them is held against the spacing outside of all of them, so that
/// also what is nine tenths of a load is found. `wanted` says whether anybody waited for the server in a stretch.
pub(super) fn find_standstills(
    grid: &CountGrid,
    trial: &Trial,
    wanted: impl Fn(&Range<usize>) -> bool,
) -> Vec<Range<usize>> {
    let service = latency::sum_histograms(&trial.service);
    let service_s = service.value_at_quantile(0.5) as f64 / 1e9;
    let least = (STANDSTILL_S.max(SERVICE_TIMES * service_s) / grid.slot_s).ceil() as usize;
    let occupied = grid.counts.iter().filter(|count| **count > 0.0).count();
    let recorded = grid.recorded.iter().filter(|r| **r).count();
    let mut silences: Vec<Range<usize>> =
        grid.silent_ranges().filter(|s| s.len() >= least.max(1) && wanted(s)).collect();
    silences.sort_by_key(|s| Reverse(s.len()));
    let (mut outside, mut found) = (recorded, 0);
    for (place, silence) in silences.iter().enumerate() {
        outside -= silence.len();
        let spacing = outside as f64 / occupied.max(1) as f64;
        if occupied > 0 && silence.len() as f64 >= SPACINGS * spacing {
            found = place + 1;
        }
    }
    silences.truncate(found);
    silences.sort_by_key(|s| s.start);
    silences
}

/// Usual events of each slot, by the rolling median of the seconds outside of standstills and gaps; none in a gap.
pub(super) fn usual_rates(grid: &CountGrid, standstills: &[Range<usize>]) -> Vec<f64> {
    let slots = grid.counts.len();
    let mut running = grid.recorded.clone();
    for standstill in standstills {
        running[standstill.clone()].fill(false);
    }
    let second = grid.slots_in(1.0);
    let window = if grid.seconds() < SHORT_S { SHORT_BASELINE_S } else { BASELINE_S };
    let wide = (window as f64 / (second as f64 * grid.slot_s)).round() as usize;
    let (mut places, mut means) = (Vec::new(), Vec::new());
    for (place, (counts, running)) in
        grid.counts.chunks_exact(second).zip(running.chunks_exact(second)).enumerate()
    {
        let slots = running.iter().filter(|r| **r).count();
        // What is left of a second besides a standstill says too little.
        if slots * 2 >= second {
            places.push(place);
            means.push(counts.iter().sum::<f64>() / slots as f64);
        }
    }
    if means.is_empty() {
        let left = running.iter().filter(|r| **r).count().max(1);
        let mean = grid.counts.iter().sum::<f64>() / left as f64;
        return grid.recorded.iter().map(|r| if *r { mean } else { 0.0 }).collect();
    }
    let medians = rolling_median(&means, wide.max(3));
    let of_slot = |slot: usize| {
        // A second that says nothing is like the last one before it that does.
        let known = places.partition_point(|place| *place <= slot / second).saturating_sub(1);
        if grid.recorded[slot] { medians[known] } else { 0.0 }
    };
    (0..slots).map(of_slot).collect()
}
