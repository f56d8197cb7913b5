//! One session that runs rounds of the operations in turn. The first pass finds how many units a round has, and warms what it
//! reads; it is in no figure.

use std::time::Duration;

use crate::base::{Nanos, RealClock};
use crate::client::{Session, Target};
use crate::plan::Mistake;
use crate::recorder::{ClassId, EventErrorKind, EventOutcome, Tally};
use crate::workload::local::give_up_event;
use crate::workload::thread_clock::ThreadClock;
use crate::workload::{OpenError, Worker, WorkerContext};

use super::MicroWorkload;
use super::operation::Operation;
use super::round::{ReadyOperation, RoundContext, RoundEnd};
use super::round_book::{OperationEnd, RoundTime};
use super::settings::MicroSettings;
use super::template::ValueSource;

/// A MariaDB may have results of its own; an answer from there is none of the operation's.
const NO_QUERY_CACHE: &str = "SET SESSION query_cache_type = OFF";
/// How long to wait for the session that made the schema, or one that was lost, to be gone.
const LOCK_WAIT_S: u32 = 10;
/// How much longer than the limit of a round this side waits for a statement.
const PATIENCE: Duration = Duration::from_secs(5);

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountState {
    /// It is not known how many units make a round: this many are tried.
    Searching(u64),
    Counted(u64),
    Ended,
}

/// The worker; there is one.
pub(super) struct MicroWorker<'a> {
    work: &'a MicroWorkload,
    part: WorkerContext,
    target: Target,
    session: Option<Session>,
    thread: Option<ThreadClock>,
    clock: RealClock,
    slots: Vec<(ReadyOperation, CountState)>,
    values: ValueSource,
    /// Rounds that have ended, or that were left out.
    place: u64,
    slot: usize,
    text: Vec<u8>,
    error_text: String,
}

impl<'a> MicroWorker<'a> {
    /// The worker of a load.
    ///
    /// # Errors
    /// When there shall be several.
    pub(super) fn new(
        work: &'a MicroWorkload,
        part: WorkerContext,
    ) -> anyhow::Result<MicroWorker<'a>> {
        if part.workers > 1 {
            let why = "operations are measured one after the other, by one session";
            return Err(Mistake::new("--threads", why).hint("leave it at 1").into());
        }
        let settings = &work.settings;
        let slot = |row: &&'static Operation| {
            (ReadyOperation::new(row), CountState::Searching(first_count(row, settings)))
        };
        let values = ValueSource::new(part.seed, settings.rows, settings.engine.as_deref());
        Ok(MicroWorker {
            work,
            target: work.schema.target()?,
            session: None,
            thread: None,
            clock: RealClock::start_now(),
            slots: settings.operations.iter().map(slot).collect(),
            values,
            place: 0,
            slot: 0,
            text: Vec::new(),
            error_text: String::new(),
            part,
        })
    }

    fn count(&self) -> u64 {
        match self.slots[self.slot].1 {
            CountState::Searching(count) | CountState::Counted(count) => count,
            CountState::Ended => 0,
        }
    }

    /// No round of this operation follows.
    fn end_operation(&mut self, end: OperationEnd) {
        self.slots[self.slot].1 = CountState::Ended;
        self.place += 1;
        self.work.lock_book().end_operation(self.slot, end);
    }

    fn note_whole(&mut self, count: u64, time: RoundTime) {
        let (operation, state) = &mut self.slots[self.slot];
        if *state == CountState::Counted(count) {
            self.work.lock_book().add_round(self.slot, count, time);
            self.place += 1;
            return;
        }
        match next_count(operation.row, &self.work.settings, count, Nanos(time.wall_ns)) {
            Some(more) => *state = CountState::Searching(more),
            None => {
                *state = CountState::Counted(count);
                self.place += 1;
            }
        }
    }
}

/// Units of the first round.
fn first_count(row: &Operation, settings: &MicroSettings) -> u64 {
    let most = row.most.with_rows(settings.rows).max(1);
    match settings.scale {
        Some(scale) => ((row.count as f64 * scale).round() as u64).clamp(1, most),
        None => 1,
    }
}

/// How many units to try after these took so long; `None` once they are enough.
fn next_count(row: &Operation, settings: &MicroSettings, count: u64, took: Nanos) -> Option<u64> {
    let (per, most) = (Nanos::from(settings.per), row.most.with_rows(settings.rows).max(1));
    if settings.scale.is_some() || count >= most || took.0 * 10 >= per.0 * 8 {
        return None;
    }
    // The first units of all are slow: what they need is not yet in memory.
    let factor = (per.0 as f64 / took.0.max(1) as f64).clamp(1.25, 10.0);
    Some(((count as f64 * factor).ceil() as u64).clamp(count + 1, most))
}

/// Which operation comes at this place of a load: each pass begins with the next one, so that none always follows the same.
fn slot_at(place: u64, slots: u64) -> usize {
    ((place % slots + place / slots) % slots) as usize
}

impl Worker for MicroWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        self.session = None;
        // One that may send a text to load.
        let mut session = self.target.connect(&self.part.abandon)?;
        let lock = session.query_scalar(&self.work.schema.lock_statement(LOCK_WAIT_S))?;
        if lock.as_deref() != Some("1") {
            let text = "another sweat has taken the schema".to_owned();
            return Err(OpenError { kind: EventErrorKind::Server, code: 0, text });
        }
        let _ = session.fetch_rows(NO_QUERY_CACHE).await;
        match ThreadClock::find(&mut session).await? {
            Ok(clock) => self.thread = Some(clock),
            Err(why) => {
                self.thread = None;
                self.work.lock_book().wall_reason = Some(why);
            }
        }
        self.session = Some(session);
        Ok(())
    }

    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        let slots = self.slots.len() as u64;
        while self.place < self.work.settings.all_rounds() {
            self.slot = slot_at(self.place, slots);
            if self.slots[self.slot].1 != CountState::Ended {
                return Some(now);
            }
            self.place += 1;
        }
        None
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let class = ClassId(self.slot as _);
        self.work.lock_book().under_way = Some((self.slot, self.place));
        let count = self.count();
        let session = self.session.as_mut().expect("open comes before any event");
        let limit = self.work.settings.limit;
        let mut context = RoundContext {
            session,
            target: &self.target,
            clock: self.clock,
            thread: self.thread.as_ref(),
            values: &mut self.values,
            abandon: &self.part.abandon,
            limit,
            patience: limit + PATIENCE,
            rows: self.work.settings.rows,
            text: std::mem::take(&mut self.text),
        };
        let ended = context.run(&self.slots[self.slot].0, count, tally).await;
        self.text = context.text;
        let told = match ended {
            Ok(RoundEnd::Whole(time)) => {
                self.note_whole(count, time);
                return EventOutcome { class, error: None };
            }
            Ok(RoundEnd::Cut(done)) => {
                self.end_operation(OperationEnd::Cut { done, count });
                return EventOutcome { class, error: None };
            }
            Ok(RoundEnd::Refused(why)) => {
                self.end_operation(OperationEnd::Refused(why));
                return EventOutcome { class, error: None };
            }
            Ok(RoundEnd::GivenUp) => return give_up_event(class),
            Err(told) => told,
        };
        if self.part.abandon.is_set() {
            return EventOutcome { class, error: Some(told.error) };
        }
        if told.error.kind.ends_session() {
            let id = self.session.as_ref().map_or(0, Session::id);
            // A server does not notice that its client went away, and would go on to the end.
            let _ = self.target.kill_statement(id);
        }
        let code = match told.error.code {
            0 => String::new(),
            code => format!("{code} "),
        };
        self.end_operation(OperationEnd::Failed(format!("{code}{}", told.text)));
        self.error_text = told.text;
        EventOutcome { class, error: Some(told.error) }
    }

    fn error_text(&self) -> &str {
        &self.error_text
    }

    async fn close(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.quit().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::option_specs;
    use super::*;
    use crate::plan::Options;

    fn settings(given: &[(&str, &str)]) -> MicroSettings {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let options = Options::from_given(&option_specs(), &given).unwrap();
        MicroSettings::from_options(&options).unwrap()
    }

    #[test]
    fn counts_grow_until_a_round_is_long_enough() {
        let settings = settings(&[("only", "select_key,delete_range,delete_all")]);
        let [key, range, all] = &settings.operations[..] else { panic!("three are chosen") };
        let (mut count, mut tries) = (first_count(key, &settings), 0);
        while let Some(more) = next_count(key, &settings, count, Nanos(count * 50_000)) {
            (count, tries) = (more, tries + 1);
        }
        assert!((320..=500).contains(&count) && tries < 6, "{count} after {tries}");
        assert_eq!(next_count(range, &settings, 60, Nanos(60)), Some(100), "no more are there");
        assert_eq!(next_count(range, &settings, 100, Nanos(100)), None);
        assert_eq!(next_count(all, &settings, 1, Nanos(1)), None);
    }

    #[test]
    fn a_scale_fixes_the_counts() {
        let settings = settings(&[("only", "select_key,truncate"), ("count-scale", "0.02")]);
        let counts: Vec<u64> =
            settings.operations.iter().map(|row| first_count(row, &settings)).collect();
        assert_eq!(counts, [4, 1]);
        assert_eq!(next_count(settings.operations[0], &settings, 4, Nanos(1)), None);
    }
}
