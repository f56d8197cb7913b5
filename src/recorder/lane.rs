//! What one thread of the driver writes while workers run on it. One writer, no locks, nothing allocated per event.
//! Never knows: who reads, and when.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::cells::{Cells, bump};
use super::slots::Ring;
use super::types::{ClassId, ErrorKind, EventError, Record, Tally};
use crate::base::Nanos;

/// Different errors (class, kind, code) that one lane tells apart.
const SLOTS: usize = 128;
/// First texts kept in all.
const TEXTS: usize = 100;

/// Histograms of one class.
pub(super) struct ClassCells {
    pub(super) response: Cells,
    pub(super) service: Cells,
    pub(super) failed: Cells,
}

/// How often one error happened; `key` 0 means that the slot is free.
#[derive(Default)]
struct Slot {
    key: AtomicU64,
    count: AtomicU64,
}

/// Everything that one thread counts. Apart from other lanes in memory, so that no two share a cache line.
#[repr(align(128))]
pub(super) struct LaneCells {
    pub(super) classes: Box<[ClassCells]>,
    pub(super) lateness: Cells,
    pub(super) ended_at: Ring,
    tally: [AtomicU64; 6],
    pub(super) began: AtomicU64,
    pub(super) ended: AtomicU64,
    pub(super) reconnects: AtomicU64,
    pub(super) clipped: AtomicU64,
    pub(super) abandoned: AtomicU64,
    slots: Box<[Slot]>,
}

/// The first text of each error.
pub(super) type Texts = Arc<Mutex<BTreeMap<EventError, String>>>;

impl LaneCells {
    /// One of so many lanes.
    pub(super) fn new(classes: usize, lanes: usize) -> LaneCells {
        let class =
            |_| ClassCells { response: Cells::new(), service: Cells::new(), failed: Cells::new() };
        LaneCells {
            classes: (0..classes).map(class).collect(),
            lateness: Cells::new(),
            ended_at: Ring::new(lanes),
            tally: Default::default(),
            began: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            reconnects: AtomicU64::new(0),
            clipped: AtomicU64::new(0),
            abandoned: AtomicU64::new(0),
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
        }
    }

    /// Statements, rows and bytes so far.
    pub(super) fn tally(&self) -> Tally {
        let [reads, writes, other, rows, bytes_received, bytes_sent] =
            self.tally.each_ref().map(|cell| cell.load(Relaxed));
        Tally { reads, writes, other, rows, bytes_received, bytes_sent }
    }

    /// Errors so far.
    pub(super) fn errors(&self) -> impl Iterator<Item = (ClassId, EventError, u64)> + '_ {
        self.slots.iter().filter_map(|slot| {
            let (class, error) = unpack(slot.key.load(Relaxed))?;
            Some((class, error, slot.count.load(Relaxed)))
        })
    }

    fn add_tally(&self, tally: &Tally) {
        let Tally { reads, writes, other, rows, bytes_received, bytes_sent } = *tally;
        for (cell, by) in
            self.tally.iter().zip([reads, writes, other, rows, bytes_received, bytes_sent])
        {
            bump(cell, by);
        }
    }

    /// Counts an error; gives true if this lane sees it for the first time.
    fn add_error(&self, class: ClassId, error: EventError) -> bool {
        let key = pack(class, error);
        let free_or_same = |slot: &&Slot| matches!(slot.key.load(Relaxed), k if k == 0 || k == key);
        // A table that is full counts what is new under the last slot's code 0 of the same kind, or, at worst, in
        // the last slot as it is: the number of failed events stays right.
        let slot = self.slots[..SLOTS - 1].iter().find(free_or_same);
        let (slot, key) = match slot {
            Some(slot) => (slot, key),
            None => (&self.slots[SLOTS - 1], pack(class, EventError { code: 0, ..error })),
        };
        let new = slot.key.load(Relaxed) == 0;
        if new {
            slot.key.store(key, Relaxed);
        }
        bump(&slot.count, 1);
        new
    }
}

fn pack(class: ClassId, error: EventError) -> u64 {
    let kind = match error.kind {
        ErrorKind::Server => 1,
        ErrorKind::Lost => 2,
        ErrorKind::Protocol => 3,
    };
    u64::from(class.0) << 32 | kind << 16 | u64::from(error.code)
}

fn unpack(key: u64) -> Option<(ClassId, EventError)> {
    let kind = match key >> 16 & 0xffff {
        1 => ErrorKind::Server,
        2 => ErrorKind::Lost,
        3 => ErrorKind::Protocol,
        _ => return None,
    };
    Some((ClassId((key >> 32) as u16), EventError { kind, code: key as u16 }))
}

/// The only one who writes to a lane: belongs to one thread of the driver, shared by the workers on it.
pub struct Writer {
    cells: Arc<LaneCells>,
    texts: Texts,
    new_error: Cell<bool>,
}

impl Writer {
    pub(super) fn new(cells: Arc<LaneCells>, texts: Texts) -> Writer {
        Writer { cells, texts, new_error: Cell::new(false) }
    }

    /// An event begins.
    #[inline]
    pub fn begin(&self) {
        bump(&self.cells.began, 1);
    }

    /// An event has ended.
    #[inline]
    pub fn end(&self, record: &Record, tally: &Tally) {
        let class = &self.cells.classes[usize::from(record.outcome.class.0)];
        let response = record.ended.since(record.intended).0;
        let within = match record.outcome.error {
            None => {
                class.service.add(record.ended.since(record.started).0);
                class.response.add(response)
            }
            Some(error) => {
                self.new_error.set(self.cells.add_error(record.outcome.class, error));
                class.failed.add(response)
            }
        };
        if !within {
            bump(&self.cells.clipped, 1);
        }
        self.cells.ended_at.add(record.ended);
        self.cells.add_tally(tally);
        bump(&self.cells.ended, 1);
    }

    /// How late an event began for reasons of our own.
    #[inline]
    pub fn lateness(&self, by: Nanos) {
        self.cells.lateness.add(by.0);
    }

    /// A lost session is open again.
    pub fn reconnected(&self) {
        bump(&self.cells.reconnects, 1);
    }

    /// An event under way was given up because the load is over.
    pub fn abandon(&self) {
        bump(&self.cells.abandoned, 1);
        bump(&self.cells.ended, 1);
    }

    /// The text of the error that `end` just counted; kept if it is the first of its code.
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
