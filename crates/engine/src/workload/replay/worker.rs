//! A seat: plays one session of the log after the other, each on a connection of its own.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;

use super::run::ReplayRun;
use super::session_queues::{SessionAssignment, SessionPoll};
use super::statement::{ReplayEventKind, ReplayStatement};
use super::tracker::statement_words;
use crate::base::Nanos;
use crate::client::{self, Session, Target};
use crate::plan::WritesPlan;
use crate::recorder::{EventError, EventErrorKind, EventOutcome, EventRecord, ReplayTiming, Tally};
use crate::workload::{OpenError, Worker, WorkerContext, sql};

/// Attempts to connect before a session is left out.
const MOST_ATTEMPTS: u32 = 20;
/// Pause after a failed attempt; it grows with each.
const PAUSE: Nanos = Nanos(100_000_000);
/// The client's own number for a connection that was lost.
const LOST: u16 = 2013;
/// So long before its first statement a session connects, microseconds of the log.
const LEAD_US: u64 = 20_000;
/// Settings of a session that are kept to be made again on a new connection.
const MOST_SETTINGS: usize = 100;

/// The session being played.
struct ReplayedSession {
    taken: SessionAssignment,
    attempts: u32,
    /// Whether it ever had a connection.
    was_open: bool,
    /// What it has set, for a new connection.
    settings: Vec<Box<[u8]>>,
    /// The connection was lost inside a transaction: the rest of that is left out.
    is_cut: bool,
    is_in_transaction: bool,
    /// What the connection's state is.
    database: Option<Arc<[u8]>>,
    is_binary: bool,
    /// A setting may have undone our guard.
    needs_guard: bool,
}

/// What the next event does.
enum NextEvent {
    Connect,
    Play(ReplayStatement),
}

/// One seat.
pub(super) struct ReplayWorker {
    round: Arc<ReplayRun>,
    target: Target,
    part: WorkerContext,
    worker: usize,
    session: Option<Session>,
    playing: Option<ReplayedSession>,
    items: VecDeque<ReplayStatement>,
    next: Option<NextEvent>,
    /// What went wrong while the next event was made ready.
    failure: Option<EventError>,
    /// That was the attempt to connect: the server may be gone.
    is_refused: bool,
    /// Number of the statement for which this seat waits for its turn, or has it.
    turn: Option<u64>,
    claims_origin: bool,
    is_begun: bool,
    /// The next event is under way.
    is_running: bool,
    rows: u64,
    error_text: String,
}

impl ReplayWorker {
    pub(super) fn new(round: Arc<ReplayRun>, target: Target, part: WorkerContext) -> ReplayWorker {
        ReplayWorker {
            worker: part.worker,
            round,
            target,
            part,
            session: None,
            playing: None,
            items: VecDeque::new(),
            next: None,
            failure: None,
            is_refused: false,
            turn: None,
            claims_origin: false,
            is_begun: false,
            is_running: false,
            rows: 0,
            error_text: String::new(),
        }
    }

    fn is_read_only(&self) -> bool {
        self.round.setup.writes != WritesPlan::Execute
    }

    /// Opens the session's connection and brings it to the state that it had.
    async fn open_connection(&mut self) -> Result<(), client::Error> {
        self.session = None;
        let mut session = self.target.open_session(&self.part.abandon).await?;
        let guard = &self.round.setup.guard;
        guard.set_up(&mut session).await?;
        if let Some(playing) = &mut self.playing {
            for setting in &playing.settings {
                // What the server refuses now, it has refused before.
                if let Err(error) = session.execute(&mut Tally::default(), setting).await {
                    if error.kind != EventErrorKind::Server {
                        return Err(session.error_from_event(error));
                    }
                }
            }
            if !playing.settings.is_empty() {
                guard.set_up(&mut session).await?;
            }
            playing.is_cut |= playing.was_open && playing.is_in_transaction;
            playing.was_open = true;
            playing.is_in_transaction = false;
            playing.database = None;
            playing.is_binary = false;
            playing.needs_guard = false;
            playing.attempts = 0;
        }
        self.session = Some(session);
        Ok(())
    }

    /// The connection of the session is not needed any more; what its transaction did is undone by the server.
    async fn close_connection(&mut self) {
        self.playing = None;
        if let Some(mut session) = self.session.take() {
            session.quit().await;
        }
    }

    /// What this seat does next; `None` when there is nothing more to play.
    async fn find_next_event(&mut self) -> Option<NextEvent> {
        loop {
            if self.playing.is_none() {
                let taken =
                    poll_fn(|cx| self.round.queues.poll_session(self.worker, cx.waker())).await?;
                self.playing = Some(ReplayedSession {
                    taken,
                    attempts: 0,
                    was_open: false,
                    settings: Vec::new(),
                    is_cut: false,
                    is_in_transaction: false,
                    database: None,
                    is_binary: false,
                    needs_guard: false,
                });
            }
            if self.must_connect() {
                return Some(NextEvent::Connect);
            }
            let Some(item) = self.items.pop_front() else {
                let Some(playing) = &self.playing else { continue };
                let session = playing.taken.session;
                let (queues, items) = (&self.round.queues, &mut self.items);
                match poll_fn(|cx| queues.poll_statements(session, cx.waker(), items)).await {
                    SessionPoll::Items => {}
                    SessionPoll::Ended | SessionPoll::GivenUp => self.close_connection().await,
                }
                continue;
            };
            if self.is_left_out(&item) {
                self.round.leave_out("its connection was lost inside a transaction", &item.text, 1);
                self.round.queues.finish_statement(&item);
                continue;
            }
            return Some(NextEvent::Play(item));
        }
    }

    /// Whether connecting is an event of its own, and due.
    fn must_connect(&self) -> bool {
        self.session.is_none() && self.round.setup.when != ReplayTiming::Arrival
    }

    /// Where a transaction lost its begin, nothing of it is sent on.
    fn is_left_out(&mut self, item: &ReplayStatement) -> bool {
        let reads_only = self.is_read_only();
        let Some(playing) = &mut self.playing else { return false };
        if !playing.is_cut || reads_only {
            return false;
        }
        let is_boundary = item.sort == ReplayEventKind::Transaction;
        playing.is_cut = !is_boundary;
        // An end of what is not there any more; a begin is good.
        let is_end = is_boundary && item.text.first().is_some_and(|b| matches!(b, b'C' | b'R'));
        !is_boundary || is_end
    }

    /// Brings the connection to where the statement needs it; that takes no part in its time.
    async fn make_ready(&mut self, item: &ReplayStatement) -> Result<(), EventError> {
        if self.session.is_none() {
            if let Err(error) = self.open_connection().await {
                self.is_refused = true;
                return Err(self.connect_error(&error));
            }
        }
        let (Some(session), Some(playing)) = (&mut self.session, &mut self.playing) else {
            return Ok(());
        };
        let tally = &mut Tally::default();
        if playing.needs_guard {
            if let Some(again) = self.round.setup.guard.read_only_statement(session.identity()) {
                session.execute(tally, again.as_bytes()).await?;
            }
            playing.needs_guard = false;
        }
        if item.database.is_some() && playing.database != item.database {
            let name = item.database.as_deref().unwrap_or_default();
            session.select_db(tally, name).await?;
            playing.database = item.database.clone();
        }
        if item.is_binary != playing.is_binary {
            let names: &[u8] =
                if item.is_binary { b"SET NAMES binary" } else { b"SET NAMES utf8mb4" };
            session.execute(tally, names).await?;
            playing.is_binary = item.is_binary;
        }
        if let Some(now_us) = item.now_us {
            let set = format!("SET timestamp={}.{:06}", now_us / 1_000_000, now_us % 1_000_000);
            session.execute(tally, set.as_bytes()).await?;
        }
        Ok(())
    }

    /// What a failed attempt to connect counts as. A server that is there and has no room is not a lost one.
    fn connect_error(&mut self, error: &client::Error) -> EventError {
        self.error_text = error.to_string();
        let lost = |code| EventError { kind: EventErrorKind::Lost, code };
        match error {
            client::Error::Login { code: code @ (1040 | 1203 | 1226), .. } => {
                EventError { kind: EventErrorKind::Server, code: *code }
            }
            client::Error::Server { code, .. } => {
                EventError { kind: EventErrorKind::Server, code: *code }
            }
            client::Error::Login { code, .. }
            | client::Error::Connect { code, .. }
            | client::Error::Lost { code, .. } => lost(*code),
            _ => lost(0),
        }
    }

    /// When the next event is due.
    async fn due_time(&mut self, now: Nanos) -> Nanos {
        let Some(playing) = &self.playing else { return now };
        let at_us = match &self.next {
            Some(NextEvent::Connect) if playing.attempts > 0 => {
                return now + Nanos(PAUSE.0 * u64::from(playing.attempts));
            }
            // A connection that was lost is made again at once.
            Some(NextEvent::Connect) if playing.was_open => return now,
            Some(NextEvent::Connect) => playing.taken.begins_us.saturating_sub(LEAD_US),
            Some(NextEvent::Play(item)) => item.at_us,
            None => return now,
        };
        match self.round.setup.when {
            ReplayTiming::Fast | ReplayTiming::Arrival => now,
            ReplayTiming::Recorded { .. } => {
                match poll_fn(|cx| self.round.poll_origin(cx.waker())).await {
                    Some(origin) => origin + self.round.replay_offset(at_us),
                    None => {
                        self.claims_origin = true;
                        now
                    }
                }
            }
        }
    }

    /// The session can't be had: what it still has to say is left out.
    fn give_up_session(&mut self) {
        if let Some(playing) = self.playing.take() {
            let text = self.items.front().map(|item| item.text.clone()).unwrap_or_default();
            let dropped = self.round.queues.drop_session(playing.taken.session, &mut self.items);
            let count = dropped.len() as u64;
            self.round.leave_out("no connection was available for its session", &text, count);
        }
        self.session = None;
    }

    async fn run_statement(&mut self, tally: &mut Tally) -> Result<(), EventError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let Some(NextEvent::Play(item)) = &self.next else { return Ok(()) };
        let Some(session) = &mut self.session else {
            return Err(EventError { kind: EventErrorKind::Lost, code: 0 });
        };
        match session.execute(tally, &item.text).await {
            Ok(reply) => {
                self.rows = reply.rows;
                match item.sort {
                    ReplayEventKind::Read | ReplayEventKind::ReadHalf | ReplayEventKind::Probe => {
                        tally.counts[sql::READS] += 1
                    }
                    ReplayEventKind::Write => tally.counts[sql::WRITES] += 1,
                    ReplayEventKind::Connect
                    | ReplayEventKind::Set
                    | ReplayEventKind::Transaction => tally.counts[sql::OTHER] += 1,
                }
                Ok(())
            }
            Err(error) => {
                self.error_text.clear();
                self.error_text.push_str(session.error_text());
                Err(error)
            }
        }
    }

    /// What a statement has changed of its session.
    fn note_effects(&mut self, item: &ReplayStatement, failed: bool) {
        let Some(playing) = &mut self.playing else { return };
        match item.sort {
            ReplayEventKind::Set => {
                playing.needs_guard = true;
                if statement_words(&item.text)
                    .take(8)
                    .any(|word| word.eq_ignore_ascii_case(b"names"))
                {
                    playing.is_binary = false;
                }
                if !failed && playing.settings.len() < MOST_SETTINGS {
                    playing.settings.push(item.text.clone());
                }
            }
            ReplayEventKind::Transaction if !failed => {
                let is_end = item.text.first().is_some_and(|b| matches!(b | 0x20, b'c' | b'r'));
                playing.is_in_transaction = !is_end;
            }
            _ => {}
        }
    }
}

impl Worker for ReplayWorker {
    /// A session connects when it begins, not when the load does; so there is something to do only for one that has lost
    /// its connection.
    async fn open(&mut self) -> Result<(), OpenError> {
        if self.is_begun && self.playing.is_some() {
            self.open_connection().await?;
        }
        Ok(())
    }

    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.round.note_start(now);
        }
        self.next = match self.find_next_event().await? {
            NextEvent::Connect => Some(NextEvent::Connect),
            NextEvent::Play(item) => {
                self.failure = self.make_ready(&item).await.err();
                if let (Some(_), Some(session)) = (self.failure, &self.session) {
                    self.error_text = session.error_text().to_owned();
                }
                if self.round.setup.when == ReplayTiming::Arrival {
                    self.turn = Some(item.number);
                    let (turn, worker) = (&self.round.turn, self.worker);
                    poll_fn(|cx| turn.poll_turn(item.number, worker, cx.waker())).await;
                }
                Some(NextEvent::Play(item))
            }
        };
        Some(self.due_time(now).await)
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        self.is_running = true;
        if let Some(number) = self.turn.take() {
            self.round.turn.pass_turn(number, self.worker);
        }
        let (sort, result) = match &self.next {
            Some(NextEvent::Play(item)) => (item.sort, self.run_statement(tally).await),
            _ => {
                tally.counts[sql::OTHER] += 1;
                let result = self.open_connection().await;
                (ReplayEventKind::Connect, result.map_err(|error| self.connect_error(&error)))
            }
        };
        let error = result.err().map(|error| {
            // A statement's lost connection is made again by the next event, which finds out whether the server is
            // there at all; only then is it the driver's affair.
            let is_refused = std::mem::take(&mut self.is_refused);
            if sort != ReplayEventKind::Connect && error.kind != EventErrorKind::Server {
                self.session = None;
                if !is_refused && !self.part.abandon.is_set() {
                    return EventError { kind: EventErrorKind::Server, code: LOST };
                }
            }
            error
        });
        EventOutcome { class: sort.class_id(), error }
    }

    fn note_record(&mut self, record: &EventRecord) {
        let error = record.outcome.error;
        self.is_running = false;
        if std::mem::take(&mut self.claims_origin) {
            let at_us = match (&self.next, &self.playing) {
                (Some(NextEvent::Play(item)), _) => item.at_us,
                (_, Some(playing)) => playing.taken.begins_us.saturating_sub(LEAD_US),
                _ => 0,
            };
            self.round.set_origin(at_us, record.started);
        }
        match self.next.take() {
            Some(NextEvent::Connect) | None => {
                if error.is_some_and(|error| error.kind == EventErrorKind::Server) {
                    let attempts = self.playing.as_mut().map_or(0, |playing| {
                        playing.attempts += 1;
                        playing.attempts
                    });
                    if attempts >= MOST_ATTEMPTS {
                        self.give_up_session();
                    }
                }
            }
            Some(NextEvent::Play(item)) => {
                self.round.note_sent(item.at_us, record);
                self.note_effects(&item, error.is_some());
                if let Some(class) = &item.class {
                    let took_ns = record.ended.since(record.started).0;
                    let error = error.map(|error| (error, self.error_text.as_str()));
                    let rows = (item.sort == ReplayEventKind::Read).then_some(self.rows);
                    class.note_sent(&item.before, took_ns, rows, error);
                }
                self.round.queues.finish_statement(&item);
            }
        }
    }

    fn error_text(&self) -> &str {
        &self.error_text
    }

    async fn close(&mut self) {
        self.close_connection().await;
    }
}

impl Drop for ReplayWorker {
    fn drop(&mut self) {
        if let Some(number) = self.turn.take() {
            self.round.turn.pass_turn(number, self.worker);
        }
        if self.claims_origin {
            self.round.unclaim_origin();
        }
        if let Some(NextEvent::Play(item)) = self.next.take() {
            if !self.is_running {
                self.round.note_unbegun([item.at_us]);
            }
            self.round.queues.finish_statement(&item);
        }
        if let Some(playing) = self.playing.take() {
            let session = playing.taken.session;
            self.round.note_unbegun(self.round.queues.drop_session(session, &mut self.items));
        }
        // One whose connection was closed has let its session go, and may still hold statements of it.
        self.round.note_unbegun(self.items.iter().map(|item| item.at_us));
        self.round.queues.remove_worker(self.worker);
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
