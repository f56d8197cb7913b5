//! The one loop that every event of every mode goes through, and the life of a worker around it.
//! Never knows: threads, arrival, clocks, what an event does.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use super::{ErrorPolicy, Worker, WorkerPace};
use crate::base::Nanos;
use crate::recorder::Tally;

/// A worker behind a pointer: one allocation per worker, none per event.
pub trait BoxedWorker {
    /// The worker's whole life.
    fn run<'a>(
        self: Box<Self>,
        pace: Box<dyn WorkerPace + 'a>,
    ) -> Pin<Box<dyn Future<Output = ()> + 'a>>
    where
        Self: 'a;
}

impl<W: Worker> BoxedWorker for W {
    fn run<'a>(
        mut self: Box<Self>,
        mut pace: Box<dyn WorkerPace + 'a>,
    ) -> Pin<Box<dyn Future<Output = ()> + 'a>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            if !poll_fn(|cx| pace.poll_open(cx)).await {
                return;
            }
            let opened = self.open().await;
            let usable = opened.is_ok();
            pace.note_opened(opened);
            if usable {
                if poll_fn(|cx| pace.poll_load_start(cx)).await {
                    run_events(&mut *self, &mut *pace).await;
                }
                self.close().await;
            }
        })
    }
}

/// The one loop that every event of every mode goes through.
async fn run_events<W: Worker>(worker: &mut W, pace: &mut dyn WorkerPace) {
    loop {
        let Some(own) = next_due(worker, pace).await else { return };
        if !poll_fn(|cx| pace.poll_event_start(cx, own)).await {
            return;
        }
        let (outcome, tally) = loop {
            let mut tally = Tally::default();
            let outcome = worker.run_event(&mut tally).await;
            let Some(error) = outcome.error else { break (outcome, tally) };
            match worker.error_policy(error) {
                ErrorPolicy::RestartEvent if pace.restart_event(outcome, &tally) => {
                    pace.error_text(error, worker.error_text());
                }
                ErrorPolicy::FailLoad => {
                    pace.fail_load(worker.failure_text(error));
                    break (outcome, tally);
                }
                ErrorPolicy::CountEvent | ErrorPolicy::RestartEvent => break (outcome, tally),
            }
        };
        worker.note_record(&pace.end_event(outcome, &tally));
        // Workers that have neither are compiled without these.
        let steps = worker.step_latencies();
        if !steps.is_empty() {
            pace.note_steps(steps);
        }
        if worker.has_reopened_session() {
            pace.note_renewed();
        }
        if let Some(think) = worker.think_time() {
            pace.set_think_time(think);
        }
        if let Some(error) = outcome.error {
            pace.error_text(error, worker.error_text());
            let is_lost = error.kind.ends_session() && !worker.connects_in_events();
            if is_lost && !reopen_session(worker, pace).await {
                return;
            }
        }
    }
}

/// What the worker says of its next event; `None` if the load is over before it can say.
#[inline]
async fn next_due<W: Worker>(worker: &mut W, pace: &mut dyn WorkerPace) -> Option<Option<Nanos>> {
    let mut due = pin!(worker.next_event_time(pace.now()));
    poll_fn(|cx| match due.as_mut().poll(cx) {
        Poll::Ready(own) => Poll::Ready(Some(own)),
        Poll::Pending => pace.poll_over(cx).map(|()| None),
    })
    .await
}

/// Opens a lost session again, as often as the load allows.
async fn reopen_session<W: Worker>(worker: &mut W, pace: &mut dyn WorkerPace) -> bool {
    loop {
        if !poll_fn(|cx| pace.poll_reopen(cx)).await {
            return false;
        }
        let result = worker.open().await;
        pace.note_reopened(&result);
        if result.is_ok() {
            return true;
        }
    }
}
