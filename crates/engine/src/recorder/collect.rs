//! Reads the lanes at each interval, takes differences, and sums up at the end.
//! Never knows: what ran, or on which threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};

use super::atomic_histogram::{AtomicHistogram, CELLS, GROUP};
use super::shard::{ErrorTexts, RecorderShard, ShardWriter};
use super::slots::CompletionSlots;
use super::sparse::SparseHistogram;
use super::types::{
    ClassTotals, CounterSpec, ErrorCount, Interval, MOST_COUNTERS, Recording, StepTotals, Tally,
    UnopenedWorker, WorkerTotals,
};
use crate::base::{Nanos, StopReason};

/// How a load ended, as only the driver knows.
#[derive(Clone, Debug)]
pub struct LoadEnding {
    /// When the last event ended.
    pub ended: Nanos,
    /// Open loop: arrivals due and never begun, by how long they had waited when no event could begin any more.
    pub unbegun: SparseHistogram,
    /// What each worker did.
    pub worker_totals: Vec<WorkerTotals>,
    /// Why it ended.
    pub reason: StopReason,
    /// What the steps turned out to be, where the workload knows only now.
    pub step_labels: Vec<String>,
    /// Workers asked for.
    pub workers: usize,
    /// Workers that could not open their session.
    pub unopened: Vec<UnopenedWorker>,
    /// What broke in sweat itself.
    pub failure: Option<String>,
    /// How many workers said the same.
    pub failure_count: usize,
    /// Which engine ran: `threads` or `reactor`.
    pub engine: &'static str,
    /// CPU time of this process during the load: user mode, nanoseconds.
    pub cpu_user_ns: u64,
    /// The same, kernel mode.
    pub cpu_system_ns: u64,
}

/// Collects what the lanes' writers note.
pub struct Recorder {
    class_names: Vec<String>,
    step_names: Vec<String>,
    lanes: Vec<Arc<RecorderShard>>,
    texts: ErrorTexts,
    first_began: Nanos,
    began: Nanos,
    classes: Vec<CollectedClass>,
    steps: Vec<CollectedStep>,
    lateness: CollectedCounts,
    slots: CompletionSlots,
    counters: &'static [CounterSpec],
    tally: Tally,
    reconnects: u64,
    /// The news of one histogram at a time.
    news: SparseHistogram,
}

/// What was seen of one class.
#[derive(Default)]
struct CollectedClass {
    response: CollectedCounts,
    service: CollectedCounts,
    failed: CollectedCounts,
}

/// What was seen of one step inside events.
#[derive(Default)]
struct CollectedStep {
    latency: CollectedCounts,
    failed: CollectedCounts,
}

/// The sum over all lanes at the last look; empty as long as nothing was counted.
#[derive(Default)]
struct CollectedCounts {
    counts: Vec<u64>,
    touched: u64,
}

impl CollectedCounts {
    /// What was counted since the last look; gathered in memory that is used again, so that it takes what it holds.
    fn take_new<'a>(
        &mut self,
        lanes: impl Iterator<Item = &'a AtomicHistogram> + Clone,
        news: &mut SparseHistogram,
    ) -> SparseHistogram {
        news.clear();
        let touched = lanes.clone().fold(0, |all, histogram| all | histogram.touched_groups());
        self.touched |= touched;
        if touched != 0 && self.counts.is_empty() {
            self.counts = vec![0; CELLS];
        }
        for group in set_bit_indexes(touched) {
            let mut sums = [0u64; GROUP];
            for histogram in
                lanes.clone().filter(|histogram| histogram.touched_groups() & 1 << group != 0)
            {
                for (sum, cell) in sums.iter_mut().zip(histogram.group_counts(group)) {
                    *sum += cell.load(Relaxed);
                }
            }
            let seen = &mut self.counts[group * GROUP..(group + 1) * GROUP];
            for (offset, (seen, sum)) in seen.iter_mut().zip(sums).enumerate() {
                if sum != *seen {
                    news.push_cell(group * GROUP + offset, sum - *seen);
                    *seen = sum;
                }
            }
        }
        news.clone()
    }

    /// All that was ever counted.
    fn to_histogram(&self) -> SparseHistogram {
        let cells = || {
            let touched = set_bit_indexes(self.touched);
            let cells = touched.flat_map(|group| group * GROUP..(group + 1) * GROUP);
            cells.filter(|index| self.counts[*index] != 0)
        };
        let mut total = SparseHistogram::with_capacity(cells().count());
        for index in cells() {
            total.push_cell(index, self.counts[index]);
        }
        total
    }
}

/// The numbers of the set bits.
fn set_bit_indexes(touched: u64) -> impl Iterator<Item = usize> {
    (0..u64::BITS as usize).filter(move |group| touched & 1 << group != 0)
}

impl Recorder {
    /// A recorder and the writers of its lanes, one for each thread of the driver.
    ///
    /// # Panics
    /// When the workload names more than [`MOST_COUNTERS`] counters.
    pub fn new(
        class_names: Vec<String>,
        counters: &'static [CounterSpec],
        lanes: usize,
    ) -> (Recorder, Vec<ShardWriter>) {
        Recorder::with_steps(class_names, Vec::new(), counters, lanes)
    }

    /// The same for events inside which steps are timed.
    ///
    /// # Panics
    /// As `new`.
    pub fn with_steps(
        class_names: Vec<String>,
        step_names: Vec<String>,
        counters: &'static [CounterSpec],
        lanes: usize,
    ) -> (Recorder, Vec<ShardWriter>) {
        assert!(counters.len() <= MOST_COUNTERS, "at most {MOST_COUNTERS} counters");
        let shard = |_| Arc::new(RecorderShard::new(class_names.len(), step_names.len(), lanes));
        let lanes: Vec<_> = (0..lanes).map(shard).collect();
        let texts = ErrorTexts::default();
        let writers = lanes
            .iter()
            .map(|histogram| ShardWriter::new(histogram.clone(), texts.clone()))
            .collect();
        let recorder = Recorder {
            slots: CompletionSlots::new(lanes.len()),
            classes: class_names.iter().map(|_| CollectedClass::default()).collect(),
            steps: step_names.iter().map(|_| CollectedStep::default()).collect(),
            class_names,
            step_names,
            lanes,
            texts,
            first_began: Nanos(0),
            began: Nanos(0),
            lateness: CollectedCounts::default(),
            counters,
            tally: Tally::default(),
            reconnects: 0,
            news: SparseHistogram::default(),
        };
        (recorder, writers)
    }

    /// The load begins now: so does the first interval.
    pub fn start_recording(&mut self, now: Nanos) {
        self.first_began = now;
        self.began = now;
        self.slots.start_interval(now);
    }

    /// Events that have begun so far.
    pub fn started_events(&self) -> u64 {
        sum_counter(&self.lanes, |l| &l.began)
    }

    /// Workers inside an event.
    pub fn in_flight(&self) -> u64 {
        in_flight(&self.lanes)
    }

    /// To be called now and then between intervals, also long ones: several times a second. Does little.
    pub fn collect_slots(&mut self, now: Nanos) {
        if self.slots.is_due(now) {
            self.slots.collect_rings(self.lanes.iter().map(|l| &l.ended_at), now, false);
        }
    }

    /// What happened since the last look. `backlog`: arrivals due and not begun.
    pub fn collect_interval(&mut self, now: Nanos, backlog: u64) -> Interval {
        self.take_interval(now, backlog, false)
    }

    fn take_interval(&mut self, now: Nanos, backlog: u64, last: bool) -> Interval {
        let now = now.max(self.began);
        self.slots.collect_rings(self.lanes.iter().map(|l| &l.ended_at), now, last);
        let (lanes, news) = (&self.lanes, &mut self.news);
        let classes = self.classes.iter_mut().enumerate();
        let classes = classes
            .map(|(class, seen)| {
                let of_class = lanes.iter().map(|lane| &lane.classes[class]);
                ClassTotals {
                    response: seen
                        .response
                        .take_new(of_class.clone().map(|class| &class.response), news),
                    service: seen
                        .service
                        .take_new(of_class.clone().map(|class| &class.service), news),
                    failed: seen.failed.take_new(of_class.map(|class| &class.failed), news),
                }
            })
            .collect();
        let steps = self.steps.iter_mut().enumerate();
        let steps = steps
            .map(|(step, seen)| {
                let timed = lanes.iter().filter_map(|lane| lane.steps[step].get());
                StepTotals {
                    latency: seen.latency.take_new(timed.clone().map(|step| &step.latency), news),
                    failed: seen.failed.take_new(timed.map(|step| &step.failed), news),
                }
            })
            .collect();
        let lateness = self.lateness.take_new(lanes.iter().map(|l| &l.lateness), news);
        let tally = sum_tally(lanes);
        let reconnects = sum_counter(lanes, |l| &l.reconnects);
        let interval = Interval {
            began: self.began,
            ended: now,
            classes,
            steps,
            lateness,
            counters: self.counters,
            tally: tally_difference(&tally, &self.tally),
            reconnects: reconnects - self.reconnects,
            in_flight: in_flight(lanes),
            backlog,
            unbegun: SparseHistogram::default(),
            slots: self.slots.take_counts(now),
            worker_totals: Vec::new(),
        };
        self.began = interval.ended;
        self.tally = tally;
        self.reconnects = reconnects;
        interval
    }

    /// The last interval and the sum of all. Call it when nobody writes any more.
    pub fn finish_recording(mut self, ending: LoadEnding) -> (Interval, Recording) {
        let mut last = self.take_interval(ending.ended, ending.unbegun.len(), true);
        last.unbegun = ending.unbegun.clone();
        last.worker_totals = ending.worker_totals.clone();
        // Who is still inside an event now never comes back.
        let given_up = std::mem::take(&mut last.in_flight);
        let classes = self
            .classes
            .iter()
            .map(|seen| ClassTotals {
                response: seen.response.to_histogram(),
                service: seen.service.to_histogram(),
                failed: seen.failed.to_histogram(),
            })
            .collect();
        let steps = self.steps.iter().map(|seen| StepTotals {
            latency: seen.latency.to_histogram(),
            failed: seen.failed.to_histogram(),
        });
        let total = Interval {
            began: self.first_began,
            ended: last.ended,
            classes,
            steps: steps.collect(),
            lateness: self.lateness.to_histogram(),
            counters: self.counters,
            tally: self.tally,
            reconnects: self.reconnects,
            in_flight: 0,
            backlog: ending.unbegun.len(),
            unbegun: ending.unbegun,
            slots: Vec::new(),
            worker_totals: ending.worker_totals,
        };
        let recording = Recording {
            total,
            errors: self.error_counts(),
            reason: ending.reason,
            restarts: sum_counter(&self.lanes, |l| &l.restarts),
            longest_outage_ns: self
                .lanes
                .iter()
                .map(|l| l.outage_ns.load(Relaxed))
                .max()
                .unwrap_or(0),
            clipped: sum_counter(&self.lanes, |l| &l.clipped),
            abandoned: sum_counter(&self.lanes, |l| &l.abandoned) + given_up,
            workers: ending.workers,
            unopened: ending.unopened,
            failure: ending.failure,
            failure_count: ending.failure_count,
            engine: ending.engine,
            cpu_user_ns: ending.cpu_user_ns,
            cpu_system_ns: ending.cpu_system_ns,
            audit: None,
            figures: None,
            class_names: self.class_names,
            step_names: self.step_names,
            step_labels: ending.step_labels,
        };
        (last, recording)
    }

    fn error_counts(&self) -> Vec<ErrorCount> {
        let mut counts = BTreeMap::new();
        for (class, error, count) in self.lanes.iter().flat_map(|shard| shard.error_counts()) {
            *counts.entry((class, error)).or_insert(0) += count;
        }
        let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |((class, error), count)| ErrorCount {
            class,
            error,
            count,
            first_text: texts.get(&error).cloned().unwrap_or_default(),
        };
        counts.into_iter().map(count).collect()
    }
}

fn sum_counter(lanes: &[Arc<RecorderShard>], of: impl Fn(&RecorderShard) -> &AtomicU64) -> u64 {
    lanes.iter().map(|shard| of(shard).load(Relaxed)).sum()
}

fn sum_tally(lanes: &[Arc<RecorderShard>]) -> Tally {
    let mut all = Tally::default();
    for shard in lanes {
        all.add(&shard.read_tally());
    }
    all
}

/// Workers inside an event: each is inside one or none, however many it has begun between the two loads.
fn in_flight(lanes: &[Arc<RecorderShard>]) -> u64 {
    let is_inside = |shard: &&Arc<RecorderShard>| {
        let ended = shard.ended.load(Relaxed);
        shard.began.load(Relaxed) > ended
    };
    lanes.iter().filter(is_inside).count() as u64
}

fn tally_difference(now: &Tally, before: &Tally) -> Tally {
    Tally {
        counts: std::array::from_fn(|index| now.counts[index] - before.counts[index]),
        bytes_received: now.bytes_received - before.bytes_received,
        bytes_sent: now.bytes_sent - before.bytes_sent,
    }
}
