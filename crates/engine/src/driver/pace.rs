//! The pace of one worker: the only logic of when an event begins, the same for both engines and for simulated time.
//! An engine brings a [`Waiter`]: how to tell the time, and how to let it pass.
//! Never knows: threads, sockets, what an event does.

use std::task::{Context, Poll, ready};

use super::arrival::ArrivalMode;
use super::load::{LoadStart, SharedLoad};
use crate::base::Nanos;
use crate::recorder::{
    EventError, EventOutcome, EventRecord, ShardWriter, StepLatency, Tally, WorkerTotals,
};
use crate::workload::{OpenError, WorkerPace};

/// How a worker waits: blocking its thread, pending on a reactor, or in simulated time.
pub(super) trait Waiter {
    /// The time.
    fn now(&self) -> Nanos;
    /// Resolves at `at`, or earlier: whoever waits looks again.
    fn poll_until(&mut self, at: Nanos) -> Poll<()>;
    /// The task waits for something else: it shall be polled at `end` at the latest, and when the load is halted.
    fn watch_until(&mut self, end: Nanos);
    /// Resolves when the worker may open its session; `false` if the load was stopped meanwhile.
    fn poll_enter_gate(&mut self) -> Poll<bool>;
    /// The session is open, or could not be opened.
    fn leave_gate(&mut self);
    /// Resolves when the start of the load is known, or earlier.
    fn poll_start(&mut self) -> Poll<()>;
    /// Gives others on the same thread their turn: `ReactorWaiter` if there are any, and soon polled again.
    fn poll_yield(&mut self) -> Poll<()>;
}

/// Pause before the second attempt to open a lost session; it doubles up to `LONGEST_PAUSE`.
const FIRST_PAUSE: Nanos = Nanos(100_000_000);
const LONGEST_PAUSE: Nanos = Nanos(1_000_000_000);

/// Events a worker may run without giving others a turn; those that wait for a server give it all the time.
const TURN: u32 = 256;

/// The pace of one worker.
pub(super) struct Pacer<'a, W: Waiter> {
    load: &'a SharedLoad,
    writer: &'a ShardWriter,
    waiter: W,
    arrival: ArrivalMode,
    worker: usize,
    /// No event begins from here on.
    end: Nanos,
    began: Nanos,
    now: Nanos,
    intended: Nanos,
    started: Nanos,
    /// How much later than it could the worker is running for reasons of our own.
    behind: Nanos,
    waiting: bool,
    first: bool,
    /// `now` is older than what the worker does next: it stood aside in between.
    resumed: bool,
    /// What the worker was told of the time, if it had to wait before it could say when its next event is due.
    told: Option<Nanos>,
    turn: u32,
    totals: WorkerTotals,
    /// The pause that the worker wants before its next event, if not the load's.
    own_think: Option<Nanos>,
    /// The last event was given up and counts nowhere.
    given_up: bool,
    lost: bool,
    /// The workload has no event left.
    exhausted: bool,
    /// Attempts to open a lost session: when the next may be made, and the pause before the one after.
    attempt: Option<Nanos>,
    pause: Nanos,
    /// When the session was lost that is not open again yet.
    lost_at: Option<Nanos>,
}

impl<'a, W: Waiter> Pacer<'a, W> {
    pub(super) fn new(
        load: &'a SharedLoad,
        writer: &'a ShardWriter,
        waiter: W,
        arrival: ArrivalMode,
        worker: usize,
    ) -> Pacer<'a, W> {
        Pacer {
            load,
            writer,
            waiter,
            arrival,
            worker,
            end: Nanos(u64::MAX),
            began: Nanos(0),
            now: Nanos(0),
            intended: Nanos(0),
            started: Nanos(0),
            behind: Nanos(0),
            waiting: false,
            first: true,
            resumed: true,
            told: None,
            turn: 0,
            totals: WorkerTotals::default(),
            own_think: None,
            given_up: false,
            lost: false,
            exhausted: false,
            attempt: None,
            pause: Nanos(0),
            lost_at: None,
        }
    }

    /// When the next event shall begin; `None` if there is none.
    #[inline]
    fn next_start_time(&mut self, own: Option<Nanos>) -> Option<Nanos> {
        self.exhausted = own.is_none();
        let own = own?;
        let told = self.told.take();
        if told.is_some() {
            // It waited for what it needs, which is neither the server's time nor our lateness.
            self.now = self.waiter.now();
            self.behind = Nanos(0);
        }
        let stale = told.unwrap_or(self.now);
        let resumed = std::mem::take(&mut self.resumed);
        if resumed && told.is_none() {
            self.now = self.waiter.now();
            self.behind = self.behind + self.now.since(stale);
        }
        match &mut self.arrival {
            ArrivalMode::Closed(think) => {
                if self.load.events.is_some() {
                    self.load.take_ticket()?;
                }
                // The first event needs no thought before it.
                let think = self.own_think.take().unwrap_or(*think);
                let pause = if std::mem::take(&mut self.first) { Nanos(0) } else { think };
                let at = own + pause;
                // A worker that wants to begin now does so now, however late it got its turn.
                Some(if at == stale { self.now } else { at })
            }
            ArrivalMode::Open(schedule) => {
                let ticket = self.load.take_ticket()?;
                Some(self.began + schedule.due_time(ticket))
            }
        }
    }

    /// After many events in a row, lets the other workers of this thread run.
    #[inline]
    fn poll_turn(&mut self) -> Poll<()> {
        self.turn += 1;
        if self.turn < TURN {
            return Poll::Ready(());
        }
        self.turn = 0;
        self.resumed = self.waiter.poll_yield().is_pending();
        if self.resumed { Poll::Pending } else { Poll::Ready(()) }
    }

    /// Notes how late the event begins for reasons of our own. A worker that waited and woke late is late by that
    /// much; and what it still lags behind because of that makes its next events late too.
    #[inline]
    fn note_lateness(&mut self, waited: bool) {
        let late = self.now.since(self.intended);
        if waited {
            self.behind = late;
            self.writer.note_lateness(late);
        } else if self.behind.0 > 0 {
            self.behind = self.behind.min(late);
            if self.behind.0 > 0 {
                self.writer.note_lateness(self.behind);
            }
        }
    }

    /// Waits until `at`; gives `false` if the load is over before.
    fn poll_time(&mut self, at: Nanos) -> Poll<bool> {
        loop {
            if self.load.halt.is_set() || self.now >= self.end {
                return Poll::Ready(false);
            }
            if self.now >= at {
                return Poll::Ready(true);
            }
            ready!(self.waiter.poll_until(at.min(self.end)));
            self.now = self.waiter.now();
        }
    }
}

impl<W: Waiter> WorkerPace for Pacer<'_, W> {
    fn poll_open(&mut self, _: &mut Context<'_>) -> Poll<bool> {
        self.waiter.poll_enter_gate()
    }

    fn note_opened(&mut self, result: Result<(), OpenError>) {
        self.waiter.leave_gate();
        self.load.note_opened(self.worker, result.map_err(|e| e.to_string()));
    }

    fn poll_load_start(&mut self, _: &mut Context<'_>) -> Poll<bool> {
        loop {
            match self.load.load_start() {
                LoadStart::NotYet => ready!(self.waiter.poll_start()),
                LoadStart::Never => return Poll::Ready(false),
                LoadStart::At(start) => {
                    self.now = self.waiter.now();
                    let on = ready!(self.poll_time(start));
                    self.began = start;
                    self.now = start;
                    self.end = self.load.time.map_or(Nanos(u64::MAX), |time| start + time);
                    return Poll::Ready(on);
                }
            }
        }
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn poll_over(&mut self, _: &mut Context<'_>) -> Poll<()> {
        self.told.get_or_insert(self.now);
        if self.load.halt.is_set() || self.waiter.now() >= self.end {
            return Poll::Ready(());
        }
        self.waiter.watch_until(self.end);
        Poll::Pending
    }

    fn poll_event_start(&mut self, _: &mut Context<'_>, own: Option<Nanos>) -> Poll<bool> {
        let waited = self.waiting;
        if waited {
            self.now = self.waiter.now();
        } else {
            ready!(self.poll_turn());
            let Some(intended) = self.next_start_time(own) else { return Poll::Ready(false) };
            self.intended = intended;
        }
        self.waiting = true;
        let waited = waited || self.now < self.intended;
        let on = ready!(self.poll_time(self.intended));
        self.waiting = false;
        if on {
            self.note_lateness(waited);
            self.started = self.now;
            self.writer.start_event();
        }
        Poll::Ready(on)
    }

    fn end_event(&mut self, outcome: EventOutcome, tally: &Tally) -> EventRecord {
        self.now = self.waiter.now();
        let (intended, started, ended) = (self.intended, self.started, self.now);
        let record = EventRecord { outcome, intended, started, ended };
        self.given_up = false;
        if outcome.error.is_some_and(|e| e.kind.ends_session()) {
            if self.load.abandon.is_set() {
                self.writer.note_abandoned();
                self.given_up = true;
                return record;
            }
        } else {
            self.pause = Nanos(0);
        }
        self.writer.end_event(&record, tally);
        self.totals.events += 1;
        self.totals.time = self.totals.time + ended.since(intended);
        self.load.set_totals(self.worker, self.totals);
        record
    }

    fn restart_event(&mut self, outcome: EventOutcome, tally: &Tally) -> bool {
        if self.load.abandon.is_set() {
            return false;
        }
        let (intended, started, ended) = (self.intended, self.started, self.waiter.now());
        self.writer.note_failed_attempt(&EventRecord { outcome, intended, started, ended }, tally);
        true
    }

    fn fail_start(&mut self, why: String) {
        if !self.load.abandon.is_set() {
            self.load.note_failure(why);
        }
    }

    fn fail_load(&mut self, why: String) {
        // What was given up on purpose says nothing about the server.
        if !self.load.abandon.is_set() {
            self.load.fail_load(why);
        }
    }

    fn note_steps(&mut self, steps: &[StepLatency]) {
        if !self.given_up {
            self.writer.note_steps(steps);
        }
    }

    fn set_think_time(&mut self, think: Nanos) {
        self.own_think = Some(think);
    }

    fn error_text(&mut self, error: EventError, text: &str) {
        self.writer.error_text(error, text);
    }

    fn discard_event(&mut self) {
        self.writer.note_abandoned();
    }

    fn poll_reopen(&mut self, _: &mut Context<'_>) -> Poll<bool> {
        if self.load.abandon.is_set() {
            // We gave the event up; that says nothing about the server.
            return Poll::Ready(false);
        }
        if !self.load.reconnect {
            self.lost = true;
            return Poll::Ready(false);
        }
        self.lost_at.get_or_insert(self.now);
        let at = match self.attempt {
            Some(at) => {
                self.now = self.waiter.now();
                at
            }
            None => {
                let at = self.now + self.pause;
                self.pause = (self.pause + self.pause).max(FIRST_PAUSE).min(LONGEST_PAUSE);
                self.attempt = Some(at);
                at
            }
        };
        let on = ready!(self.poll_time(at));
        self.attempt = None;
        self.lost = !on;
        Poll::Ready(on)
    }

    fn note_renewed(&mut self) {
        self.writer.note_reconnect();
    }

    fn note_outage(&mut self, time: Nanos) {
        self.writer.note_outage(time);
    }

    fn note_reopened(&mut self, result: &Result<(), OpenError>) {
        self.now = self.waiter.now();
        self.behind = Nanos(0);
        if result.is_ok() {
            self.writer.note_reconnect();
            if let Some(lost) = self.lost_at.take() {
                self.writer.note_outage(self.now.since(lost));
            }
        }
    }
}

impl<W: Waiter> Drop for Pacer<'_, W> {
    fn drop(&mut self) {
        self.load.note_worker_end(self.now, self.lost, self.exhausted);
    }
}
