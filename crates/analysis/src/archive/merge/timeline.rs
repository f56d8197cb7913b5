//! Intervals of several machines on one time line: which of them belong together, and where the merged ones begin and end.
//!
//! The machines end their intervals at the same multiples of one length after their starts, each by its own clock and a little
//! late. So an edge is a number of lengths after the first start. A merged interval ends where every machine whose load is under
//! way then has an edge; its time is the mean of theirs, the first one's the earliest start and the last one's the latest end.

use std::collections::{BTreeMap, BTreeSet};

use super::super::types::IntervalRecord;

/// Length of a slot, nanoseconds.
pub(super) const SLOT_NS: u64 = 10_000_000;

/// Edges beyond this are no times of a load.
const MOST_EDGES: f64 = 1e15;

/// When an interval began and ended, nanoseconds on the merged clock.
pub(super) type IntervalSpan = (u64, u64);

/// The merged intervals.
#[derive(Debug, Default, PartialEq)]
pub(super) struct MergedTimeline {
    /// Where they begin and end: one more than there are intervals, rising.
    pub(super) edges: Vec<u64>,
    /// Per machine and interval of it: the merged one that it belongs to.
    pub(super) places: Vec<Vec<usize>>,
}

/// The edges of one machine, in lengths after the first start, and when each really was.
struct MachineEdges {
    /// The last of an interval's two; the first of the first stands in `first`.
    ends: Vec<i64>,
    first: i64,
    times: BTreeMap<i64, u64>,
}

impl MachineEdges {
    fn new(spans: &[IntervalSpan], start: u64, length: f64) -> Option<MachineEdges> {
        let number =
            |ns: u64| (ns.saturating_sub(start) as f64 / length).round().min(MOST_EDGES) as i64;
        let began = spans.first()?.0;
        let first = number(began);
        let (mut edge, mut times) = (first, BTreeMap::from([(first, began)]));
        let mut ends = Vec::with_capacity(spans.len());
        for (at, (_, ended)) in spans.iter().enumerate() {
            // One that was collected late leaves a short one behind it, which has no edge of its own. The last may be short.
            let least = edge + i64::from(at + 1 == spans.len());
            edge = number(*ended).max(least);
            ends.push(edge);
            times.insert(edge, *ended);
        }
        Some(MachineEdges { ends, first, times })
    }

    fn has_edge_or_rests(&self, edge: i64) -> bool {
        let last = self.ends.last().copied().unwrap_or(self.first);
        edge <= self.first || edge >= last || self.times.contains_key(&edge)
    }
}

impl MergedTimeline {
    /// Of the intervals of each machine, in their order.
    pub(super) fn new(machines: &[Vec<IntervalSpan>]) -> MergedTimeline {
        let all = || machines.iter().flatten();
        let mut lengths: Vec<u64> = all().map(|(from, to)| to.saturating_sub(*from)).collect();
        lengths.sort_unstable();
        let length = lengths.get(lengths.len() / 2).copied().unwrap_or(0).max(1) as f64;
        let start = all().map(|span| span.0).min().unwrap_or(0);
        let found: Vec<Option<MachineEdges>> =
            machines.iter().map(|spans| MachineEdges::new(spans, start, length)).collect();
        let known = || found.iter().flatten();
        let numbers: BTreeSet<i64> = known().flat_map(|m| m.times.keys().copied()).collect();
        let kept: Vec<i64> =
            numbers.into_iter().filter(|n| known().all(|m| m.has_edge_or_rests(*n))).collect();
        let mean = |number: &i64| {
            let times: Vec<u128> =
                known().filter_map(|m| m.times.get(number).copied().map(u128::from)).collect();
            (times.iter().sum::<u128>() / times.len().max(1) as u128) as u64
        };
        let mut edges: Vec<u64> = kept.iter().map(mean).collect();
        if let Some(first) = edges.first_mut() {
            *first = start;
        }
        if let Some(last) = edges.last_mut() {
            *last = all().map(|span| span.1).max().unwrap_or(*last);
        }
        for at in 1..edges.len() {
            edges[at] = edges[at].max(edges[at - 1].saturating_add(1));
        }
        let place = |end: &i64| kept.partition_point(|edge| edge < end).saturating_sub(1);
        let places = found.iter().map(|machine| {
            machine.as_ref().map_or_else(Vec::new, |m| m.ends.iter().map(place).collect())
        });
        MergedTimeline { places: places.collect(), edges }
    }

    /// How many merged intervals there are.
    pub(super) fn len(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }
}

/// The slots of all machines, to be cut into the merged intervals.
#[derive(Debug, Default)]
pub(super) struct MergedSlots {
    counts: BTreeMap<u64, u64>,
    /// Slots that were read, of all machines.
    read: usize,
    /// Whether every interval kept some.
    is_whole: bool,
}

impl MergedSlots {
    pub(super) fn new() -> MergedSlots {
        MergedSlots { is_whole: true, ..MergedSlots::default() }
    }

    /// Adds those of an interval that begins then on the merged clock.
    pub(super) fn add(&mut self, began_ns: u64, interval: &IntervalRecord) {
        self.is_whole &= !interval.slots.is_empty() || interval.ended_ns <= interval.began_ns;
        for (slot, count) in (began_ns / SLOT_NS..).zip(&interval.slots) {
            *self.counts.entry(slot).or_default() += u64::from(*count);
        }
        self.read += interval.slots.len();
    }

    /// Takes those of a merged interval; one that two of them touch goes to the first. Empty where a machine kept none.
    pub(super) fn take(&mut self, (began_ns, ended_ns): IntervalSpan) -> Vec<u32> {
        let (first, last) = (began_ns / SLOT_NS, ended_ns / SLOT_NS);
        let wanted = last.saturating_sub(first) as usize;
        // Believe a length only if the machines recorded as much.
        if !self.is_whole || wanted > self.read + 1 {
            return Vec::new();
        }
        let mut taken = vec![0u32; wanted + 1];
        let later = self.counts.split_off(&(last + 1));
        for (slot, count) in std::mem::replace(&mut self.counts, later) {
            let place = slot.saturating_sub(first) as usize;
            let sum = u64::from(taken[place]) + count;
            taken[place] = u32::try_from(sum).unwrap_or(u32::MAX);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Intervals of a second, each collected a little late.
    fn machine(start: u64, late: u64, count: u64) -> Vec<IntervalSpan> {
        let edge = |n: u64| start + n * S + if n == 0 { 0 } else { late };
        (0..count).map(|n| (edge(n), edge(n + 1))).collect()
    }

    #[test]
    fn intervals_that_ended_together_are_one() {
        let found = MergedTimeline::new(&[machine(5 * S, 100, 3), machine(5 * S + 50, 300, 3)]);
        assert_eq!(found.edges, [5 * S, 6 * S + 225, 7 * S + 225, 8 * S + 350]);
        assert_eq!(found.places, [[0, 1, 2], [0, 1, 2]]);
    }

    #[test]
    fn a_load_that_starts_later_has_its_place() {
        let found = MergedTimeline::new(&[machine(5 * S, 0, 4), machine(7 * S + 1000, 0, 3)]);
        assert_eq!(found.places, [vec![0, 1, 2, 3], vec![2, 3, 4]]);
        let edges = [5 * S, 6 * S, 7 * S + 500, 8 * S + 500, 9 * S + 500, 10 * S + 1000];
        assert_eq!(found.edges, edges);
    }

    #[test]
    fn an_interval_that_was_collected_late_takes_the_others_along() {
        // The second edge of this machine came 1.6 s after the first, the third is on time again.
        let late =
            vec![(0, S), (S, 2 * S + 600_000_000), (2 * S + 600_000_000, 3 * S), (3 * S, 4 * S)];
        let found = MergedTimeline::new(&[machine(0, 0, 4), late]);
        assert_eq!(found.places, [[0, 1, 1, 2], [0, 1, 1, 2]]);
        assert_eq!(found.edges, [0, S, 3 * S, 4 * S]);
    }

    #[test]
    fn a_short_last_interval_stays_one() {
        let short = |count| {
            let mut spans = machine(0, 0, count);
            spans.push((count * S, count * S + 200_000_000));
            spans
        };
        let found = MergedTimeline::new(&[short(2), short(2)]);
        assert_eq!(found.places, [[0, 1, 2], [0, 1, 2]]);
        assert_eq!(found.edges, [0, S, 2 * S, 2 * S + 200_000_000]);
    }

    #[test]
    fn strange_times_end_as_well() {
        let strange = [
            vec![],
            vec![vec![]],
            vec![vec![(0, 0)], vec![(u64::MAX, 0)], vec![]],
            vec![vec![(0, u64::MAX), (u64::MAX, 0), (7, 7)], vec![(9, 3); 5]],
        ];
        for machines in strange {
            let found = MergedTimeline::new(&machines);
            assert!(found.edges.is_sorted());
            for (spans, places) in machines.iter().zip(&found.places) {
                assert_eq!(spans.len(), places.len());
                assert!(places.iter().all(|place| *place < found.len()), "{found:?}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn each_interval_has_a_place_and_places_rise(
            machines in proptest::collection::vec(
                (0u64..5_000, proptest::collection::vec(1u64..3_000, 1..30)), 1..5)
        ) {
            let spans: Vec<Vec<IntervalSpan>> = machines.iter().map(|(start, lengths)| {
                let mut at = start * 1_000_000;
                lengths.iter().map(|ms| {
                    let from = at;
                    at += ms * 1_000_000;
                    (from, at)
                }).collect()
            }).collect();
            let found = MergedTimeline::new(&spans);
            proptest::prop_assert!(found.edges.windows(2).all(|pair| pair[0] < pair[1]));
            for places in &found.places {
                proptest::prop_assert!(places.is_sorted());
                proptest::prop_assert!(places.iter().all(|place| *place < found.len()));
            }
            let ends = spans.iter().flatten().map(|span| span.1).max();
            proptest::prop_assert_eq!(found.edges.last().copied(), ends);
        }

        #[test]
        fn slots_are_cut_and_none_is_lost(
            counts in proptest::collection::vec(0u32..9, 1..200),
            cuts in proptest::collection::vec(0u64..2_000, 0..5),
            began_ms in 0u64..100,
        ) {
            let began_ns = began_ms * 1_000_000;
            let ended_ns = (began_ns / SLOT_NS + counts.len() as u64 - 1) * SLOT_NS + 1;
            let sum: u32 = counts.iter().sum();
            let interval =
                IntervalRecord { began_ns, ended_ns, slots: counts, ..IntervalRecord::default() };
            let mut slots = MergedSlots::new();
            slots.add(began_ns, &interval);
            let mut edges: Vec<u64> = cuts.iter().map(|ms| began_ns + ms * 1_000_000)
                .filter(|at| *at < ended_ns).collect();
            edges.extend([began_ns, ended_ns.max(began_ns)]);
            edges.sort_unstable();
            let taken: u32 =
                edges.windows(2).flat_map(|pair| slots.take((pair[0], pair[1]))).sum();
            proptest::prop_assert_eq!(taken, sum);
        }
    }
}
