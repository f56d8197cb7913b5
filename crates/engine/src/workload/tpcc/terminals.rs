//! Terminals: whose transaction comes next. In a closed loop each worker is one; paced ones key in and think (clauses 5.2.2 and
//! 5.2.5) and share the workers' sessions: the terminal that has been due longest gets the next session that is free.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::deck::CardDeck;
use super::found_data::FoundData;
use super::inputs::{InputGenerator, TransactionInput, TransactionKind};
use super::options::TpccSettings;
use super::schema::DISTRICTS;
use super::transactions::TerminalPlace;
use crate::base::Nanos;
use crate::base::random::Rng;

/// Think times are cut at ten times their mean, as clause 5.2.5.4 allows.
const LONGEST_THINK: f64 = 10.0;
/// Mean time from one transaction of a terminal to the next, seconds: keying and think times weighted by the mix.
pub(super) const MEAN_CYCLE_S: f64 = 21.0;

/// One terminal.
#[derive(Clone, Debug)]
pub(super) struct Terminal {
    pub(super) place: TerminalPlace,
    generator: InputGenerator,
    deck: CardDeck,
    /// Draws think times, apart from the inputs, so that these are the same at any pace.
    think_rng: Rng,
    /// Its last transaction, once there was one.
    last: Option<TransactionKind>,
    /// The only transaction that it keys in, if there is but one.
    pub(super) only: Option<TransactionKind>,
}

/// What is due next, and when.
#[derive(Clone, Debug)]
pub(super) struct DueTransaction {
    pub(super) due: Nanos,
    pub(super) kind: TransactionKind,
    pub(super) input: TransactionInput,
    pub(super) place: TerminalPlace,
    /// A delivery that a terminal has queued.
    pub(super) is_deferred: bool,
}

impl Terminal {
    /// Terminal `number` of a load with this seed.
    pub(super) fn new(
        settings: &TpccSettings,
        found: &FoundData,
        seed: u64,
        number: u32,
        place: TerminalPlace,
    ) -> Terminal {
        let generator = InputGenerator {
            rng: Rng::new(seed, number.into(), 0),
            constants: found.constants,
            warehouse: place.warehouse,
            warehouses: found.warehouses,
        };
        let think_rng = Rng::new(seed, number.into(), 1);
        let deck = CardDeck::new(settings.small_deck);
        Terminal { place, generator, deck, think_rng, last: None, only: None }
    }

    /// Keys in the next transaction.
    pub(super) fn draw(&mut self) -> (TransactionKind, TransactionInput) {
        let kind = match self.only {
            Some(kind) => kind,
            None => self.deck.deal(&mut self.generator.rng),
        };
        (kind, self.generator.draw(kind))
    }

    /// Thinks about the last answer from `now` on, and keys in the next transaction; what it thinks about, and for how long.
    fn draw_paced(
        &mut self,
        now: Nanos,
        time_scale: f64,
    ) -> (DueTransaction, Option<(TransactionKind, Nanos)>) {
        let scaled = |seconds: f64| Nanos((seconds * time_scale * 1e9) as u64);
        let think_s = match self.last {
            Some(kind) => {
                let mean = kind.think_s();
                self.think_rng.exponential(mean).min(mean * LONGEST_THINK)
            }
            // Terminals begin spread over one cycle.
            None => self.think_rng.uniform_fraction() * MEAN_CYCLE_S,
        };
        let think = scaled(think_s);
        let thought = self.last.map(|kind| (kind, think));
        let (kind, input) = self.draw();
        self.last = Some(kind);
        let due = now + think + scaled(kind.keying_s());
        (DueTransaction { due, kind, input, place: self.place, is_deferred: false }, thought)
    }
}

/// One entry of the queue.
#[derive(Debug)]
struct QueueEntry {
    transaction: DueTransaction,
    /// Whose it is; none for a deferred delivery.
    terminal: Option<Box<Terminal>>,
    /// Breaks ties, so that the order is always the same.
    number: u64,
}

impl QueueEntry {
    fn order(&self) -> (Nanos, u64) {
        (self.transaction.due, self.number)
    }
}

impl PartialEq for QueueEntry {
    fn eq(&self, other: &QueueEntry) -> bool {
        self.order() == other.order()
    }
}

impl Eq for QueueEntry {}

impl PartialOrd for QueueEntry {
    fn partial_cmp(&self, other: &QueueEntry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for QueueEntry {
    fn cmp(&self, other: &QueueEntry) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

#[derive(Debug, Default)]
struct TerminalQueueState {
    entries: BinaryHeap<Reverse<QueueEntry>>,
    pushed: u64,
}

/// Paced terminals by when they are due.
#[derive(Debug, Default)]
pub(super) struct TerminalQueue(Mutex<TerminalQueueState>);

impl TerminalQueue {
    fn lock(&self) -> MutexGuard<'_, TerminalQueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A load begins.
    pub(super) fn clear(&self) {
        *self.lock() = TerminalQueueState::default();
    }

    /// The transaction that is due first. `now` is the start of the load when it is called first.
    ///
    /// A session that waits for it does not turn to one that becomes due before: a terminal keys in for two seconds at least
    /// (at full scale), in which more terminals become due than there are sessions, or there are sessions enough.
    pub(super) fn take(
        &self,
        settings: &TpccSettings,
        found: &FoundData,
        seed: u64,
        now: Nanos,
    ) -> Option<(DueTransaction, Option<Box<Terminal>>)> {
        let mut state = self.lock();
        if state.pushed == 0 {
            state.add_terminals(settings, found, seed, now);
        }
        let Reverse(entry) = state.entries.pop()?;
        Some((entry.transaction, entry.terminal))
    }

    /// A terminal has its answer and thinks: about what, and for how long.
    pub(super) fn put_back(
        &self,
        mut terminal: Box<Terminal>,
        time_scale: f64,
        now: Nanos,
    ) -> Option<(TransactionKind, Nanos)> {
        let (transaction, thought) = terminal.draw_paced(now, time_scale);
        self.lock().push(transaction, Some(terminal));
        thought
    }

    /// A terminal has queued a delivery (clause 2.7.2).
    pub(super) fn defer(&self, transaction: DueTransaction) {
        self.lock().push(transaction, None);
    }
}

impl TerminalQueueState {
    /// Ten terminals for each warehouse, one for each of its districts.
    fn add_terminals(&mut self, settings: &TpccSettings, found: &FoundData, seed: u64, now: Nanos) {
        for number in 0..found.warehouses * DISTRICTS {
            let place = TerminalPlace {
                warehouse: number / DISTRICTS + 1,
                district: number % DISTRICTS + 1,
            };
            let mut terminal = Terminal::new(settings, found, seed, number, place);
            let (transaction, _) = terminal.draw_paced(now, settings.time_scale);
            self.push(transaction, Some(Box::new(terminal)));
        }
    }

    fn push(&mut self, transaction: DueTransaction, terminal: Option<Box<Terminal>>) {
        self.pushed += 1;
        let number = self.pushed;
        self.entries.push(Reverse(QueueEntry { transaction, terminal, number }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_key_and_think_as_long_as_the_specification_says() {
        let settings = TpccSettings { warehouses: 20, paced: true, ..TpccSettings::default() };
        let found = FoundData::planned(&settings);
        let queue = TerminalQueue::default();
        let mut now = Nanos(0);
        let (mut count, mut think_ns, mut orders) = (0u32, 0u64, 0u64);
        let mut places = std::collections::BTreeSet::new();
        while now < Nanos(7_200_000_000_000) {
            let (due, terminal) = queue.take(&settings, &found, 1, now).unwrap();
            assert!(due.due >= now, "in order");
            now = due.due;
            count += 1;
            places.insert((due.place.warehouse, due.place.district));
            let thought = queue.put_back(terminal.unwrap(), settings.time_scale, now);
            if let Some((TransactionKind::NewOrder, think)) = thought {
                orders += 1;
                think_ns += think.0;
            }
        }
        assert_eq!(places.len(), 200);
        // One transaction each in (106 * (18 + 12) + 104 * (3 + 12) + 10 * (12 + 7 + 7)) / 240 seconds.
        let per_cycle = f64::from(count) / 200.0 / (7200.0 / 20.83);
        assert!((0.99..1.01).contains(&per_cycle), "{per_cycle}");
        let mean_s = think_ns as f64 / orders as f64 / 1e9;
        assert!((11.8..12.2).contains(&mean_s), "{mean_s}");
    }

    /// In a short load of many terminals those that think longest are still thinking when it ends.
    #[test]
    fn think_times_that_end_after_the_load_are_told_too() {
        let settings = TpccSettings { warehouses: 600, paced: true, ..TpccSettings::default() };
        let found = FoundData::planned(&settings);
        let queue = TerminalQueue::default();
        let (mut now, mut times) = (Nanos(0), Vec::new());
        loop {
            let (due, terminal) = queue.take(&settings, &found, 1, now).unwrap();
            now = due.due;
            if now > Nanos(100_000_000_000) {
                break;
            }
            let thought = queue.put_back(terminal.unwrap(), settings.time_scale, now);
            if let Some((TransactionKind::NewOrder, think)) = thought {
                times.push(think.to_seconds());
            }
        }
        let mean_s = times.iter().sum::<f64>() / times.len() as f64;
        assert!(times.len() > 10_000 && (11.7..12.3).contains(&mean_s), "{mean_s}");
    }

    #[test]
    fn a_deferred_delivery_is_due_at_once() {
        let settings = TpccSettings { warehouses: 1, paced: true, ..TpccSettings::default() };
        let found = FoundData::planned(&settings);
        let queue = TerminalQueue::default();
        let (first, _) = queue.take(&settings, &found, 1, Nanos(0)).unwrap();
        queue.defer(DueTransaction { due: Nanos(5), is_deferred: true, ..first });
        let (next, terminal) = queue.take(&settings, &found, 1, Nanos(0)).unwrap();
        assert!(next.is_deferred && terminal.is_none());
    }
}
