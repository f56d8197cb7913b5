//! Looks at the server's counters as intervals of a load end, from a thread of its own: a server that does not answer must
//! hold up neither the load nor its record.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::run_context::RunContext;
use super::statement_log::StatementLog;
use super::system::SystemUnderTest;
use crate::archive::{CounterLook, DigestsRecord, finite_counters};
use crate::base::reactor::block_on;
use crate::base::{Clock as _, Nanos, RealClock, Stop};
use crate::client::{Session, Target};
use crate::plan::Plan;
use crate::probe::digests::{DigestSnapshot, SOURCE, read_digests};
use crate::probe::{LOOK, ProbeError, cost_counters, measure_own_cost};
use crate::recorder::Interval;
use crate::server::logging::ALLOW;

/// Time between two looks is at least this share of the load's length so far, so that a load of days has some thousands.
const LEAST_SHARE: f64 = 1.0 / 600.0;
/// And at least so long.
const CLOSEST: Nanos = Nanos(100_000_000);
/// How long to wait for the session and the look before a load.
const OPENING: Duration = Duration::from_secs(2);
/// A look that takes longer is none of this moment.
const LATEST: Duration = Duration::from_secs(5);
/// How long a look under way may go on once the load is over.
const PATIENCE: Nanos = Nanos(500_000_000);
/// Name of the fact that says what sweat's own looks add to the counters.
const OWN_COST_FACT: &str = "own_cost";

/// Looks under way.
pub(super) struct CounterWatch {
    clock: RealClock,
    /// `None` once there is nothing more to ask.
    orders: Option<Sender<Nanos>>,
    looks: Receiver<CounterLook>,
    /// The look before the load, until somebody takes it.
    first: Option<CounterLook>,
    thread: JoinHandle<()>,
    began: Option<Nanos>,
    last: Option<Nanos>,
}

impl CounterWatch {
    /// Opens a session, takes a look and waits for orders; `None` where the server does not answer soon.
    fn start(target: &Target, pid: Option<u32>, clock: RealClock, stop: &Stop) -> Option<Self> {
        let (orders, asked) = mpsc::channel();
        let (out, looks) = mpsc::channel();
        let (target, stop) = (target.clone(), stop.clone());
        let work = move || {
            if let Ok(mut session) = target.connect(&stop) {
                session.limit_statements(LATEST);
                look_when_asked(&mut session, pid, clock, &asked, &out);
                block_on(session.quit());
            }
        };
        let thread = std::thread::Builder::new().name("counters".to_owned()).spawn(work).ok()?;
        let first = Some(looks.recv_timeout(OPENING).ok()?);
        let orders = Some(orders);
        Some(CounterWatch { clock, orders, looks, first, thread, began: None, last: None })
    }

    /// An interval of the load is over: has a look taken, unless the last one was just now.
    pub(super) fn note_interval(&mut self, interval: &Interval) {
        let now = interval.ended;
        let began = *self.began.get_or_insert(interval.began);
        let share = Nanos((now.since(began).0 as f64 * LEAST_SHARE) as u64);
        let spacing = CLOSEST.max(share);
        if self.last.is_some_and(|last| now.since(last) < spacing) {
            return;
        }
        self.last = Some(now);
        // A thread that is gone is missed at the end.
        let _ = self.orders.as_ref().map(|orders| orders.send(now));
    }

    /// Looks that were taken since this was asked last.
    pub(super) fn take_looks(&mut self) -> Vec<CounterLook> {
        self.first.take().into_iter().chain(self.looks.try_iter()).collect()
    }

    /// The load is over: the looks that nobody took yet, and a last one. A server that does not answer is not waited for.
    pub(super) fn end_load(&mut self) -> Vec<CounterLook> {
        self.orders = None;
        let patience = self.clock.now() + PATIENCE;
        while !self.thread.is_finished() && self.clock.now() < patience {
            self.clock.sleep_until(self.clock.now() + Nanos(1_000_000));
        }
        self.take_looks()
    }
}

/// A look before the load, one for each order, and one when there are no more orders.
fn look_when_asked(
    session: &mut Session,
    pid: Option<u32>,
    clock: RealClock,
    asked: &Receiver<Nanos>,
    out: &Sender<CounterLook>,
) {
    let mut look = |interval_ended: Option<Nanos>| {
        let began = clock.now();
        let Ok(numbers) = cost_counters(session, pid) else { return false };
        let look = CounterLook {
            interval_ended_ns: interval_ended.unwrap_or(began).0,
            began_ns: began.0,
            ended_ns: clock.now().0,
            numbers: finite_counters(&numbers.into_iter().collect::<Vec<_>>()),
        };
        out.send(look).is_ok()
    };
    let mut goes_on = look(None);
    while let (true, Ok(first)) = (goes_on, asked.recv()) {
        // Where a look took longer than an interval, the others are missed.
        goes_on = look(Some(asked.try_iter().last().unwrap_or(first)));
    }
    if goes_on {
        look(None);
    }
}

/// Keeps what sweat's own looks cost the server, so that it can be taken off what a load cost. Without it the cost of events
/// holds ours, too, and the report says so.
pub(super) fn record_own_cost(plan: &Plan, environment: &SystemUnderTest, run: &RunContext<'_>) {
    let Some(target) = environment.target() else { return };
    let measured = measure_own_cost(target, &plan.probes.names, run.stop);
    let Ok(found) = measured.map_err(|e: ProbeError| drop(e)) else { return };
    let of = |(name, counters): (&String, &BTreeMap<String, f64>)| {
        (name.clone(), serde_json::json!(counters))
    };
    debug_assert!(found.contains_key(LOOK), "our own look is always measured");
    let value = serde_json::Value::Object(found.iter().map(of).collect());
    run.lock_writer().update_meta(|meta| {
        meta.facts.insert(OWN_COST_FACT.to_owned(), value);
    });
}

/// Whether the slow log may tell what the server doesn't count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogUse {
    /// Nobody has allowed it.
    Never,
    /// For the first time in this run.
    First,
    /// Again.
    Again,
}

/// Where the statements of a load come from.
pub(super) enum DigestWatch {
    /// Those that the server counted before the load.
    Counted(DigestSnapshot),
    /// What it logs.
    Logged(Box<StatementLog>),
    /// Why there are none.
    Nothing(String),
}

impl DigestWatch {
    /// Before the load.
    pub(super) fn start(
        session: &mut Session,
        environment: &SystemUnderTest,
        run: &RunContext<'_>,
        log: LogUse,
    ) -> DigestWatch {
        let why = match read_digests(session) {
            Ok(before) => return DigestWatch::Counted(before),
            Err(why) if log == LogUse::Never => {
                let hint = format!("--allow {ALLOW} takes them from the slow log");
                return DigestWatch::Nothing(format!("{why}; {hint}"));
            }
            Err(why) => why,
        };
        match StatementLog::start(environment, run, log == LogUse::First) {
            Ok(log) => DigestWatch::Logged(Box::new(log)),
            Err(e) => DigestWatch::Nothing(format!("{why}, and so is the slow log: {e:#}")),
        }
    }

    /// After the load: what it added.
    ///
    /// # Errors
    /// When a log could not be put back as it was.
    pub(super) fn stop(
        self,
        session: Option<&mut Session>,
        run: &RunContext<'_>,
    ) -> anyhow::Result<DigestsRecord> {
        let counted = |found: Result<_, String>| {
            let (statements, why_not) = match found {
                Ok(statements) => (statements, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            DigestsRecord { source: SOURCE.to_owned(), why_not, statements }
        };
        match (self, session) {
            (DigestWatch::Logged(log), _) => log.stop(run),
            (DigestWatch::Nothing(why), _) => Ok(counted(Err(why))),
            (DigestWatch::Counted(_), None) => {
                Ok(counted(Err("the server did not answer after the load".to_owned())))
            }
            (DigestWatch::Counted(before), Some(session)) => {
                Ok(counted(read_digests(session).map(|after| after.rises_since(&before))))
            }
        }
    }
}

/// Both, around one load.
pub(super) struct CostWatch {
    /// Counters as intervals end.
    pub(super) counters: Option<CounterWatch>,
    digests: Option<DigestWatch>,
}

impl CostWatch {
    /// Begins. The statements are read through `session`; counters have one of their own.
    pub(super) fn start(
        session: Option<&mut Session>,
        environment: &SystemUnderTest,
        pid: Option<u32>,
        run: &RunContext<'_>,
        log: LogUse,
    ) -> CostWatch {
        let session = session.filter(|session| session.is_usable());
        let digests = session.map(|s| DigestWatch::start(s, environment, run, log));
        let target = environment.target().filter(|_| digests.is_some());
        let counters = target.and_then(|t| CounterWatch::start(t, pid, run.clock, run.stop));
        CostWatch { counters, digests }
    }

    /// Ends: the statements of the load go into the run folder.
    ///
    /// # Errors
    /// As `DigestWatch::stop`.
    pub(super) fn stop(
        self,
        session: Option<&mut Session>,
        run: &RunContext<'_>,
        trial: &str,
    ) -> anyhow::Result<()> {
        let session = session.filter(|session| session.is_usable());
        let Some(digests) = self.digests else { return Ok(()) };
        let found = digests.stop(session, run)?;
        run.lock_writer().write_digests(trial, &found);
        Ok(())
    }
}
