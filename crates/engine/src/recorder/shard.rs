//! What one thread of the driver writes while workers run on it. One writer, no locks, nothing allocated per event.
//! Never knows: who reads, and when.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use super::atomic_histogram::{AtomicHistogram, bump_counter};
use super::slots::CompletionRing;
use super::types::{
    ClassId, EventError, EventErrorKind, EventRecord, MOST_COUNTERS, StepLatency, Tally,
};
use crate::base::Nanos;

/// Different errors (class, kind, code) that one lane tells apart.
const SLOTS: usize = 128;
/// First texts kept in all.
const TEXTS: usize = 100;

/// Histograms of one class.
pub(super) struct ClassHistograms {
    pub(super) response: AtomicHistogram,
    pub(super) service: AtomicHistogram,
    pub(super) failed: AtomicHistogram,
}

/// Histograms of one step inside events.
pub(super) struct StepHistograms {
    pub(super) latency: AtomicHistogram,
    pub(super) failed: AtomicHistogram,
}

/// How often one error happened; `key` 0 means that the slot is free.
#[derive(Default)]
struct ErrorSlot {
    key: AtomicU64,
    count: AtomicU64,
}

/// Everything that one thread counts. Apart from other lanes in memory, so that no two share a cache line.
#[repr(align(128))]
pub(super) struct RecorderShard {
    pub(super) classes: Box<[ClassHistograms]>,
    /// Made when a step is first timed: a workload may name many and time few.
    pub(super) steps: Box<[OnceLock<StepHistograms>]>,
    pub(super) lateness: AtomicHistogram,
    pub(super) ended_at: CompletionRing,
    counts: [AtomicU64; MOST_COUNTERS],
    bytes_received: AtomicU64,
    bytes_sent: AtomicU64,
    pub(super) began: AtomicU64,
    pub(super) ended: AtomicU64,
    pub(super) reconnects: AtomicU64,
    /// Longest time that a worker was without a session it had lost, nanoseconds.
    pub(super) outage_ns: AtomicU64,
    pub(super) restarts: AtomicU64,
    pub(super) clipped: AtomicU64,
    pub(super) abandoned: AtomicU64,
    slots: Box<[ErrorSlot]>,
}

/// The first text of each error.
pub(super) type ErrorTexts = Arc<Mutex<BTreeMap<EventError, String>>>;

impl RecorderShard {
    /// One of so many lanes.
    pub(super) fn new(classes: usize, steps: usize, lanes: usize) -> RecorderShard {
        let class = |_| ClassHistograms {
            response: AtomicHistogram::new(),
            service: AtomicHistogram::new(),
            failed: AtomicHistogram::new(),
        };
        RecorderShard {
            classes: (0..classes).map(class).collect(),
            steps: (0..steps).map(|_| OnceLock::new()).collect(),
            lateness: AtomicHistogram::new(),
            ended_at: CompletionRing::new(lanes),
            counts: Default::default(),
            bytes_received: AtomicU64::new(0),
            bytes_sent: AtomicU64::new(0),
            began: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            reconnects: AtomicU64::new(0),
            outage_ns: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
            clipped: AtomicU64::new(0),
            abandoned: AtomicU64::new(0),
            slots: (0..SLOTS).map(|_| ErrorSlot::default()).collect(),
        }
    }

    /// What was counted so far.
    pub(super) fn read_tally(&self) -> Tally {
        Tally {
            counts: self.counts.each_ref().map(|cell| cell.load(Relaxed)),
            bytes_received: self.bytes_received.load(Relaxed),
            bytes_sent: self.bytes_sent.load(Relaxed),
        }
    }

    /// Errors so far.
    pub(super) fn error_counts(&self) -> impl Iterator<Item = (ClassId, EventError, u64)> + '_ {
        self.slots.iter().filter_map(|slot| {
            let (class, error) = unpack_error_key(slot.key.load(Relaxed))?;
            Some((class, error, slot.count.load(Relaxed)))
        })
    }

    #[inline]
    fn add_tally(&self, tally: &Tally) {
        // Most events count only some of them.
        for (cell, by) in self.counts.iter().zip(&tally.counts).filter(|(_, by)| **by > 0) {
            bump_counter(cell, *by);
        }
        bump_counter(&self.bytes_received, tally.bytes_received);
        bump_counter(&self.bytes_sent, tally.bytes_sent);
    }

    /// Counts an error; gives true if this lane sees it for the first time.
    fn add_error(&self, class: ClassId, error: EventError) -> bool {
        let key = pack_error_key(class, error);
        let free_or_same =
            |slot: &&ErrorSlot| matches!(slot.key.load(Relaxed), k if k == 0 || k == key);
        // A table that is full counts what is new under the last slot's code 0 of the same kind, or, at worst, in
        // the last slot as it is: the number of failed events stays right.
        let slot = self.slots[..SLOTS - 1].iter().find(free_or_same);
        let (slot, key) = match slot {
            Some(slot) => (slot, key),
            None => {
                (&self.slots[SLOTS - 1], pack_error_key(class, EventError { code: 0, ..error }))
            }
        };
        let new = slot.key.load(Relaxed) == 0;
        if new {
            slot.key.store(key, Relaxed);
        }
        bump_counter(&slot.count, 1);
        new
    }
}

fn pack_error_key(class: ClassId, error: EventError) -> u64 {
    let kind = match error.kind {
        EventErrorKind::Server => 1,
        EventErrorKind::Lost => 2,
        EventErrorKind::Protocol => 3,
        EventErrorKind::Check => 4,
    };
    u64::from(class.0) << 32 | kind << 16 | u64::from(error.code)
}

fn unpack_error_key(key: u64) -> Option<(ClassId, EventError)> {
    let kind = match key >> 16 & 0xffff {
        1 => EventErrorKind::Server,
        2 => EventErrorKind::Lost,
        3 => EventErrorKind::Protocol,
        4 => EventErrorKind::Check,
        _ => return None,
    };
    Some((ClassId((key >> 32) as u16), EventError { kind, code: key as u16 }))
}

/// The only one who writes to a lane: belongs to one thread of the driver, shared by the workers on it.
pub struct ShardWriter {
    histogram: Arc<RecorderShard>,
    texts: ErrorTexts,
    new_error: Cell<bool>,
}

impl ShardWriter {
    pub(super) fn new(histogram: Arc<RecorderShard>, texts: ErrorTexts) -> ShardWriter {
        ShardWriter { histogram, texts, new_error: Cell::new(false) }
    }

    /// An event begins.
    #[inline]
    pub fn start_event(&self) {
        bump_counter(&self.histogram.began, 1);
    }

    /// An event has ended.
    #[inline]
    pub fn end_event(&self, record: &EventRecord, tally: &Tally) {
        let class = &self.histogram.classes[usize::from(record.outcome.class.0)];
        let response = record.ended.since(record.intended).0;
        let within = match record.outcome.error {
            None => {
                class.service.count_value(record.ended.since(record.started).0);
                class.response.count_value(response)
            }
            Some(error) => {
                self.new_error.set(self.histogram.add_error(record.outcome.class, error));
                class.failed.count_value(response)
            }
        };
        if !within {
            bump_counter(&self.histogram.clipped, 1);
        }
        self.histogram.ended_at.count_end(record.ended);
        self.histogram.add_tally(tally);
        bump_counter(&self.histogram.ended, 1);
    }

    /// An attempt at an event failed, and the event runs again: its statements and its error count, the event does not.
    pub fn note_failed_attempt(&self, record: &EventRecord, tally: &Tally) {
        let Some(error) = record.outcome.error else { return };
        self.new_error.set(self.histogram.add_error(record.outcome.class, error));
        bump_counter(&self.histogram.restarts, 1);
        let class = &self.histogram.classes[usize::from(record.outcome.class.0)];
        class.failed.count_value(record.ended.since(record.intended).0);
        self.histogram.add_tally(tally);
    }

    /// Steps inside an event that has ended. They count in histograms of their own and nowhere else.
    #[inline]
    pub fn note_steps(&self, steps: &[StepLatency]) {
        for step in steps {
            let histograms = self.histogram.steps[usize::from(step.step.0)].get_or_init(|| {
                StepHistograms { latency: AtomicHistogram::new(), failed: AtomicHistogram::new() }
            });
            let into = if step.failed { &histograms.failed } else { &histograms.latency };
            into.count_value(step.time.0);
        }
    }

    /// How late an event began for reasons of our own.
    #[inline]
    pub fn note_lateness(&self, by: Nanos) {
        self.histogram.lateness.count_value(by.0);
    }

    /// A lost session is open again.
    pub fn note_reconnect(&self) {
        bump_counter(&self.histogram.reconnects, 1);
    }

    /// A session that was lost was away for so long.
    pub fn note_outage(&self, time: Nanos) {
        self.histogram.outage_ns.fetch_max(time.0, Relaxed);
    }

    /// An event under way was given up because the load is over.
    pub fn note_abandoned(&self) {
        bump_counter(&self.histogram.abandoned, 1);
        bump_counter(&self.histogram.ended, 1);
    }

    /// The text of the error that `end_event` just counted; kept if it is the first of its code.
    #[inline]
    pub fn error_text(&self, error: EventError, text: &str) {
        if self.new_error.replace(false) {
            self.keep_text(error, text);
        }
    }

    #[cold]
    fn keep_text(&self, error: EventError, text: &str) {
        let mut texts = self.texts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if texts.len() < TEXTS {
            texts.entry(error).or_insert_with(|| text.to_owned());
        }
    }
}
