//! What the driver gives a worker: the only way in which the two speak to each other during a load.

use std::task::{Context, Poll};

use super::{EventError, EventOutcome, EventRecord, OpenError, StepLatency, Tally};
use crate::base::Nanos;

/// What the driver gives a worker: when to begin, where to note the end.
pub trait WorkerPace {
    /// Resolves when the worker may open its session; `false` if the run ended before.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<bool>;
    /// The session is open, or could not be opened.
    fn note_opened(&mut self, result: Result<(), OpenError>);
    /// Resolves when the load begins, once all sessions are open; `false` if it never does.
    fn poll_load_start(&mut self, cx: &mut Context<'_>) -> Poll<bool>;
    /// The time at the end of the last event; before the first one, when the load began.
    fn now(&self) -> Nanos;
    /// The worker can't yet say when it wants its next event: resolves when the load is over before it can.
    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()>;
    /// Resolves when the next event is due; `false` when the load is over. `own` is what `Worker::next_event_time` said.
    fn poll_event_start(&mut self, cx: &mut Context<'_>, own: Option<Nanos>) -> Poll<bool>;
    /// Notes the end of the event; gives its times.
    fn end_event(&mut self, outcome: EventOutcome, tally: &Tally) -> EventRecord;
    /// Notes an attempt that failed at an event that is to run again; `false` if the load gives up events under way.
    fn restart_event(&mut self, outcome: EventOutcome, tally: &Tally) -> bool;
    /// Keeps the load from beginning, once all workers have tried; to be told before `note_opened`.
    fn fail_start(&mut self, why: String);
    /// Ends the load because of what a worker was told.
    fn fail_load(&mut self, why: String);
    /// Notes how long steps inside the event that has just ended took.
    fn note_steps(&mut self, steps: &[StepLatency]);
    /// In a closed loop: the pause before the next event, instead of the load's.
    fn set_think_time(&mut self, think: Nanos);
    /// Notes the text of an error; the first of each code is kept.
    fn error_text(&mut self, error: EventError, text: &str);
    /// The event under way ends without being counted.
    fn discard_event(&mut self);
    /// After a lost connection: resolves when to open again; `false` if the load shall not go on.
    fn poll_reopen(&mut self, cx: &mut Context<'_>) -> Poll<bool>;
    /// Whether the session could be opened again.
    fn note_reopened(&mut self, result: &Result<(), OpenError>);
    /// Notes that the event that has just ended opened another session.
    fn note_renewed(&mut self);
    /// Notes how long the worker was without a session that it opened again itself.
    fn note_outage(&mut self, time: Nanos);
}
