//! What to do: workloads, the workers they make, and the events those run.
//! Never knows: threads, arrival, clocks, reports.
//! To add one: a folder here with a `Kind`, and its line in `KINDS`. `null/` is the example to copy.

mod fill;
pub mod lookup;
pub mod null;
pub mod oltp;
pub mod queries;
pub mod replay;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use crate::base::{Nanos, Stop};
use crate::plan::{Mistake, OptionSpec, Options, nearest};
use crate::recorder::{ErrorKind, EventError, Outcome, Record, Replayed, Tally};
use crate::target::{self, Target};

pub use crate::target::Error as OpenError;

/// All kinds of workload, in the order of `sweat bench --help`.
pub const KINDS: &[&dyn Kind] = &[
    &null::Null,
    &oltp::READ_WRITE,
    &oltp::READ_ONLY,
    &oltp::WRITE_ONLY,
    &oltp::POINT_SELECT,
    &oltp::INSERT,
    &oltp::DELETE,
    &oltp::UPDATE_INDEX,
    &oltp::UPDATE_NON_INDEX,
    &oltp::SELECT_RANDOM_POINTS,
    &oltp::SELECT_RANDOM_RANGES,
    &oltp::BulkInsert,
    &queries::Queries,
    &lookup::Lookup,
    &replay::Replay,
];

/// The kind of this name.
///
/// # Errors
/// A mistake with the nearest known name.
pub fn kind(name: &str) -> Result<&'static dyn Kind, Mistake> {
    let found = KINDS.iter().find(|kind| kind.name() == name).copied();
    let names = || KINDS.iter().map(|kind| kind.name());
    found.ok_or_else(|| Mistake {
        place: name.to_owned(),
        why: "no such workload".to_owned(),
        hint: Some(nearest(name, names()).map_or_else(
            || format!("one of {}", names().collect::<Vec<_>>().join(", ")),
            |near| format!("did you mean {near}?"),
        )),
    })
}

/// Builds the workload of this name; the one place where it is asked whether it has the server that it needs.
///
/// # Errors
/// When there is none of that name, it lacks a server, or the options don't fit.
pub fn build(
    name: &str,
    options: &Options,
    target: Option<&Target>,
) -> anyhow::Result<Box<dyn Workload>> {
    let kind = kind(name)?;
    if kind.needs_target() && target.is_none() {
        return Err(Mistake {
            place: name.to_owned(),
            why: "needs a server".to_owned(),
            hint: Some(
                "say where it is with -h HOST -P PORT or -S SOCKET, or use a sandbox".to_owned(),
            ),
        }
        .into());
    }
    kind.build(options, target)
}

/// What a workload would send, in words that are SQL where they can be: for a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// To make the data.
    pub prepare: Vec<String>,
    /// In the load, with holes for values.
    pub load: Vec<String>,
}

/// A kind of workload: its name, its options, how to build it.
pub trait Kind: Sync {
    /// Name on the command line, in plans and reports.
    fn name(&self) -> &'static str;
    /// One line for the help.
    fn about(&self) -> &'static str;
    /// What it can be told.
    fn options(&self) -> Vec<OptionSpec>;
    /// Whether it talks to a server at all.
    fn needs_target(&self) -> bool {
        true
    }
    /// Whether its workers come to an end of their own, as a list of statements does.
    fn ends_by_itself(&self) -> bool {
        false
    }
    /// Whether it has a command of its own, and is none of the loads that `bench` and its like know.
    fn has_command(&self) -> bool {
        false
    }
    /// How many workers its options ask for by themselves, as a log asks for its sessions; `None` leaves that to the load.
    ///
    /// # Errors
    /// When the options don't fit, or what they name can't be read.
    fn workers(&self, _options: &Options, _stop: &Stop) -> anyhow::Result<Option<usize>> {
        Ok(None)
    }
    /// Builds it; `target` is `None` only for workloads that need none: see [`build`].
    ///
    /// # Errors
    /// When the options or the target don't fit.
    fn build(
        &self,
        options: &Options,
        target: Option<&Target>,
    ) -> anyhow::Result<Box<dyn Workload>>;
}

/// A workload, ready to make workers.
pub trait Workload: Send + Sync {
    /// Names of the classes of events; `ClassId` indexes them.
    fn classes(&self) -> Vec<String>;
    /// Makes one worker; called on the thread that will run it.
    ///
    /// # Errors
    /// When the worker can't be made. Connecting comes later, in `Worker::open`.
    fn seat(&self, part: Part) -> anyhow::Result<Box<dyn Seat + '_>>;
    /// Looks before the load whether tables are there and fit.
    ///
    /// # Errors
    /// Says what is missing and what to do; or that `stop` was set while the server was asked.
    fn check(&self, _stop: &Stop) -> anyhow::Result<()> {
        Ok(())
    }
    /// What of the data the load reaches, once it was looked at. `None` where that is all, or not known.
    fn reach(&self) -> Option<Reach> {
        None
    }
    /// Makes the data.
    ///
    /// # Errors
    /// When the server refuses.
    fn prepare(&self, _job: &mut Job<'_>) -> anyhow::Result<()> {
        Ok(())
    }
    /// Writes the statements of its load so that other tools can run the same; `false` where there is no such list.
    ///
    /// # Errors
    /// When they can't be found out or written.
    fn write_statements(&self, _out: &mut dyn std::io::Write) -> anyhow::Result<bool> {
        Ok(false)
    }
    /// What it would send. Asks nobody.
    fn describe(&self) -> Described {
        Described::default()
    }
    /// After a load: what a replay has to tell of it beyond its events. `None` where nothing was replayed.
    fn replayed(&self) -> Option<Replayed> {
        None
    }
    /// After a load: what was wrong with what it was given, where that could not be known before.
    fn mistake(&self) -> Option<Mistake> {
        None
    }
    /// Removes what `prepare` made.
    ///
    /// # Errors
    /// When the server refuses.
    fn cleanup(&self, _job: &mut Job<'_>) -> anyhow::Result<()> {
        Ok(())
    }
}

/// What of its tables a load reaches.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// The first table, in words.
    pub table: String,
    /// Rows of a table that the load may touch.
    pub rows: u64,
    /// Rows of the largest table.
    pub rows_there: u64,
    /// Share of the rows of all tables, 0 to 1.
    pub share: f64,
}

/// Which of the workers this is.
#[derive(Clone, Debug)]
pub struct Part {
    /// 0-based.
    pub worker: usize,
    /// How many there are.
    pub workers: usize,
    /// Seed of the run; combine with `worker`.
    pub seed: u64,
    /// Set when a blocking session shall give up waiting for the server.
    pub abandon: Stop,
}

/// A longer piece of control-plane work (prepare, cleanup): how parallel, how to say how far it is, when to stop.
pub struct Job<'a> {
    /// Sessions to use.
    pub threads: usize,
    /// Seed for generated data.
    pub seed: u64,
    /// Set on Ctrl-C.
    pub stop: &'a Stop,
    /// Told now and then how far the work is, from one thread at a time.
    pub progress: &'a mut (dyn FnMut(Progress) + Send),
}

/// How far a longer piece of work is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// What is being done: `sbtest1: rows`.
    pub label: String,
    /// Units done.
    pub done: u64,
    /// Units in all; 0 if not known.
    pub total: u64,
    /// What is counted: `rows`, `pages`.
    pub unit: &'static str,
}

/// Executes events. Owns its session; lives on one thread.
#[expect(async_fn_in_trait, reason = "futures stay on their thread, so no Send bound is wanted")]
pub trait Worker {
    /// Connects and prepares statements; called again after a lost connection.
    async fn open(&mut self) -> Result<(), target::Error>;
    /// Runs one event.
    async fn event(&mut self, tally: &mut Tally) -> Outcome;
    /// When the worker itself wants its next event: at once (`now` as it was given), at a recorded time, or never
    /// again. It may wait for what it needs to know that; its future is dropped when the load is over.
    async fn due(&mut self, now: Nanos) -> Option<Nanos> {
        Some(now)
    }
    /// Hears of the times of the event that has just ended.
    fn ended(&mut self, _record: &Record) {}
    /// Text of the last server error, for the first of each code.
    fn error_text(&self) -> &str {
        ""
    }
    /// Says good-bye to the server.
    async fn close(&mut self) {}
}

/// What the driver gives a worker: when to begin, where to note the end.
pub trait Pace {
    /// Resolves when the worker may open its session; `false` if the run ended before.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<bool>;
    /// The session is open, or could not be opened.
    fn opened(&mut self, result: Result<(), target::Error>);
    /// Resolves when the load begins, once all sessions are open; `false` if it never does.
    fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<bool>;
    /// The time at the end of the last event; before the first one, when the load began.
    fn now(&self) -> Nanos;
    /// The worker can't yet say when it wants its next event: resolves when the load is over before it can.
    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()>;
    /// Resolves when the next event is due; `false` when the load is over. `own` is what `Worker::due` said.
    fn poll_begin(&mut self, cx: &mut Context<'_>, own: Option<Nanos>) -> Poll<bool>;
    /// Notes the end of the event; gives its times.
    fn end(&mut self, outcome: Outcome, tally: &Tally) -> Record;
    /// Notes the text of an error; the first of each code is kept.
    fn error_text(&mut self, error: EventError, text: &str);
    /// After a lost connection: resolves when to open again; `false` if the load shall not go on.
    fn poll_reopen(&mut self, cx: &mut Context<'_>) -> Poll<bool>;
    /// Whether the session could be opened again.
    fn reopened(&mut self, result: &Result<(), target::Error>);
}

/// A worker behind a pointer: one allocation per worker, none per event.
pub trait Seat {
    /// The worker's whole life.
    fn run<'a>(self: Box<Self>, pace: Box<dyn Pace + 'a>) -> Pin<Box<dyn Future<Output = ()> + 'a>>
    where
        Self: 'a;
}

impl<W: Worker> Seat for W {
    fn run<'a>(
        mut self: Box<Self>,
        mut pace: Box<dyn Pace + 'a>,
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
            pace.opened(opened);
            if usable {
                if poll_fn(|cx| pace.poll_start(cx)).await {
                    live(&mut *self, &mut *pace).await;
                }
                self.close().await;
            }
        })
    }
}

/// The one loop that every event of every mode goes through.
async fn live<W: Worker>(worker: &mut W, pace: &mut dyn Pace) {
    loop {
        let Some(own) = next_due(worker, pace).await else { return };
        if !poll_fn(|cx| pace.poll_begin(cx, own)).await {
            return;
        }
        let mut tally = Tally::default();
        let outcome = worker.event(&mut tally).await;
        worker.ended(&pace.end(outcome, &tally));
        if let Some(error) = outcome.error {
            pace.error_text(error, worker.error_text());
            if error.kind != ErrorKind::Server && !reopen(worker, pace).await {
                return;
            }
        }
    }
}

/// What the worker says of its next event; `None` if the load is over before it can say.
#[inline]
async fn next_due<W: Worker>(worker: &mut W, pace: &mut dyn Pace) -> Option<Option<Nanos>> {
    let mut due = pin!(worker.due(pace.now()));
    poll_fn(|cx| match due.as_mut().poll(cx) {
        Poll::Ready(own) => Poll::Ready(Some(own)),
        Poll::Pending => pace.poll_over(cx).map(|()| None),
    })
    .await
}

/// Opens a lost session again, as often as the load allows.
async fn reopen<W: Worker>(worker: &mut W, pace: &mut dyn Pace) -> bool {
    loop {
        if !poll_fn(|cx| pace.poll_reopen(cx)).await {
            return false;
        }
        let result = worker.open().await;
        pace.reopened(&result);
        if result.is_ok() {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_workload_is_named_with_the_nearest() {
        let mistake = kind("nul").err().unwrap();
        assert_eq!(mistake.hint.as_deref(), Some("did you mean null?"));
    }

    #[test]
    fn whoever_needs_a_server_says_so() {
        for kind in KINDS.iter().filter(|kind| kind.needs_target()) {
            let options = Options::check(&kind.options(), &[]).unwrap();
            let error = build(kind.name(), &options, None).err().unwrap();
            assert!(error.to_string().ends_with("needs a server"), "{error:#}");
        }
    }
}
