//! Recorded traffic, sent again: each session of a log on a connection of its own, its statements in their order and at
//! their times. A worker is a seat that plays one session after the other, so thousands of sessions need few threads.
//! Never knows: how logs are written, clocks.
//! Start reading at `seat`; what it is given comes from `feed` by way of `hall`.

mod log_reader;
mod preflight;
mod prescan;
mod run;
mod session_queues;
mod setup;
mod source;
mod start_order;
mod statement;
mod stats;
mod temporary_tables;
mod timeline;
mod tracker;
mod worker;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::Context as _;

use crate::base::{Nanos, Stop};
use crate::client::Target;
use crate::client::preflight::ConnectionLimits;
use crate::plan::{Mistake, OptionSpec, Options};
use crate::recorder::{Histogram, ReplayTotals, WorkloadFacts, new_histogram};

use super::{
    BoxedWorker, Endpoint, RecordedKind, RecordedLoad, WorkerContext, Workload, WorkloadKind,
};

use self::log_reader::{ReplayLogReader, StatementSink};
use self::prescan::LogPrescan;
use self::run::ReplayRun;
use self::session_queues::SessionAssignment;
use self::setup::ReplaySetup;
use self::statement::{ReplayEventKind, ReplayStatement};
use self::worker::ReplayWorker;

/// The kind `replay`.
pub struct ReplayKind;

impl WorkloadKind for ReplayKind {
    fn name(&self) -> &'static str {
        "replay"
    }
    fn help_line(&self) -> &'static str {
        "the sessions of a log, as recorded"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        setup::option_specs()
    }
    fn facts(&self, options: &Options) -> WorkloadFacts {
        let replay = Some(setup::replay_facts(options));
        WorkloadFacts { replay, ..WorkloadFacts::default() }
    }
    fn ends_by_itself(&self) -> bool {
        true
    }
    fn as_recorded(&self) -> Option<&dyn RecordedKind> {
        Some(self)
    }
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let target = endpoint.require_mysql()?.clone();
        Ok(Box::new(ReplayWorkload::new(ReplaySetup::new(options)?, target)))
    }
}

impl RecordedKind for ReplayKind {
    fn worker_count(&self, options: &Options, stop: &Stop) -> anyhow::Result<usize> {
        worker_count(options, stop)
    }
}

/// What is in a log, without a server.
#[derive(Clone, Debug)]
pub struct LogSurvey {
    /// What a replay of it would have to tell: `sent` is what would be sent, classes have only what was recorded.
    pub replayed: ReplayTotals,
    /// Workers that the load needs for as many sessions at once.
    pub workers: usize,
}

/// Looks through the logs that the options name, as a replay would, and sends nothing. A stream is read to its end.
///
/// # Errors
/// When the options don't fit, or a log can't be opened.
pub fn survey_logs(options: &Options, stop: &Stop) -> anyhow::Result<LogSurvey> {
    let setup = ReplaySetup::new(options)?;
    setup.check_logs()?;
    let ends = (!setup.is_stream()).then(|| LogPrescan::scan_logs(&setup, stop));
    let account = ReplayLogReader::new(&setup, ends.as_ref()).read_logs(&mut DryRunSink(stop));
    if let Some(mistake) =
        source::log_mistake(&setup, account.replay_totals().records, &account.foreign)
    {
        return Err(mistake.into());
    }
    let workers = setup.worker_count(ends.as_ref().map(|ends| ends.at_once));
    Ok(LogSurvey { replayed: account.replay_totals(), workers })
}

/// Whether the end of the logs can't be known before it is there: a pipe, or what `sweat ship` serves.
///
/// # Errors
/// When the options don't fit.
pub fn is_stream(options: &Options) -> anyhow::Result<bool> {
    Ok(ReplaySetup::new(options)?.is_stream())
}

/// Workers that a load of this kind needs so that each session of the logs has a seat when it begins: `--sessions`, or as
/// many as the log has at once, or 1,000 for a stream.
///
/// # Errors
/// When the options don't fit, or a log can't be opened.
pub fn worker_count(options: &Options, stop: &Stop) -> anyhow::Result<usize> {
    let setup = ReplaySetup::new(options)?;
    setup.check_logs()?;
    if setup.sessions.is_some() || setup.is_stream() {
        return Ok(setup.worker_count(None));
    }
    let ends = LogPrescan::scan_logs(&setup, stop);
    match source::log_mistake(&setup, ends.records, &ends.foreign) {
        Some(mistake) => Err(mistake.into()),
        None => Ok(setup.worker_count(Some(ends.at_once))),
    }
}

/// The same for a server: a stream, of which nobody knows how many sessions it has, gets what the server offers, but for
/// one in ten, as others want to log in too.
///
/// # Errors
/// Those of [`worker_count`]; when the server can't be asked.
pub fn worker_count_on(options: &Options, target: &Target, stop: &Stop) -> anyhow::Result<usize> {
    let workers = worker_count(options, stop)?;
    if options.count("sessions") > 0 || !is_stream(options)? {
        return Ok(workers);
    }
    let offered = ConnectionLimits::from_session(&mut target.connect(stop)?)?.max_workers();
    Ok(workers.min((offered - offered / 10) as usize))
}

/// Counts what would be sent.
struct DryRunSink<'a>(&'a Stop);

impl StatementSink for DryRunSink<'_> {
    fn start_session(&mut self, _: SessionAssignment) {}
    fn push_statement(&mut self, _: u64, item: ReplayStatement) {
        if let Some(class) = item.class {
            class.note_recorded(&item.before);
        }
    }
    fn end_session(&mut self, _: u64) {}
    fn is_full(&self) -> bool {
        self.0.is_set()
    }
}

/// Logs to replay on a server.
struct ReplayWorkload {
    asked: ReplaySetup,
    /// With what the server tells that it needs to know.
    setup: OnceLock<Arc<ReplaySetup>>,
    target: Target,
    /// What a first look found out; nothing for a stream.
    ends: OnceLock<Option<Arc<LogPrescan>>>,
    /// The load under way, or the last one.
    round: Mutex<Option<Arc<ReplayRun>>>,
}

impl ReplayWorkload {
    fn new(setup: ReplaySetup, target: Target) -> ReplayWorkload {
        ReplayWorkload {
            asked: setup,
            setup: OnceLock::new(),
            target,
            ends: OnceLock::new(),
            round: Mutex::new(None),
        }
    }

    fn log_prescan(&self) -> Option<Arc<LogPrescan>> {
        let find = || {
            let setup = &self.asked;
            (!setup.is_stream()).then(|| Arc::new(LogPrescan::scan_logs(setup, &Stop::new())))
        };
        self.ends.get_or_init(find).clone()
    }

    /// Asks the server what must be known of it.
    fn shared_setup(&self, stop: &Stop) -> anyhow::Result<Arc<ReplaySetup>> {
        if let Some(setup) = self.setup.get() {
            return Ok(setup.clone());
        }
        let setup = preflight::complete_setup(&self.asked, &self.target, stop)?;
        Ok(self.setup.get_or_init(|| Arc::new(setup)).clone())
    }
}

impl Workload for ReplayWorkload {
    fn class_names(&self) -> Vec<String> {
        ReplayEventKind::ALL.iter().map(|(_, name)| (*name).to_owned()).collect()
    }
    fn split_obstacle(&self) -> Option<&'static str> {
        Some("the sessions of a log wait for each other")
    }

    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        let mut current = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        let round = match &*current {
            Some(round) if round.workers.load(Ordering::Relaxed) < part.workers => round.clone(),
            _ => {
                let round = ReplayRun::start_reader(
                    &self.shared_setup(&Stop::new())?,
                    self.log_prescan(),
                    part.workers,
                );
                let round = Arc::new(round.context("begin to read the log")?);
                *current = Some(round.clone());
                round
            }
        };
        round.workers.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(ReplayWorker::new(round, self.target.clone(), part)))
    }

    /// Whether the logs can be opened and the server be logged in to. Looks through the logs, so that a load can begin at
    /// once.
    fn check_ready(&self, stop: &Stop) -> anyhow::Result<()> {
        self.asked.check_logs()?;
        self.shared_setup(stop)?;
        let ends = self.log_prescan();
        let mistake = ends.and_then(|e| source::log_mistake(&self.asked, e.records, &e.foreign));
        mistake.map_or(Ok(()), |mistake| Err(mistake.into()))
    }

    fn as_recorded(&self) -> Option<&dyn RecordedLoad> {
        Some(self)
    }
}

impl RecordedLoad for ReplayWorkload {
    fn replay_totals(&self) -> Option<ReplayTotals> {
        let round = self.round.lock().unwrap_or_else(PoisonError::into_inner).clone();
        round.map(|round| round.replay_totals())
    }

    fn input_mistake(&self) -> Option<Mistake> {
        let round = self.round.lock().unwrap_or_else(PoisonError::into_inner).clone();
        round.and_then(|round| round.input_mistake())
    }

    fn unbegun_ages(&self, ended: Nanos) -> Histogram {
        let round = self.round.lock().unwrap_or_else(PoisonError::into_inner).clone();
        round.map_or_else(new_histogram, |round| round.unbegun_ages(ended))
    }
}
