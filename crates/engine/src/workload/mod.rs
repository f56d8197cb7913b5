//! What to do: workloads, the workers they make, and the events those run.
//! Never knows: threads, arrival, clocks, reports.
//! To add one: a folder here with a `WorkloadKind`, and its line in `KINDS`. `null/` is the example to copy.

pub mod cpu;
mod data_action;
mod data_reach;
mod endpoint;
mod error_rule;
mod event_loop;
pub mod expression;
pub mod fileio;
mod fill;
pub mod http;
mod local;
pub mod lookup;
#[cfg(feature = "lua")]
pub mod lua;
pub mod memory;
pub mod micro;
pub mod mix;
pub mod mutex;
pub mod null;
pub mod oltp;
mod open_error;
mod pause;
pub mod queries;
mod recorded;
pub mod replay;
pub mod slap;
pub mod sql;
mod statement_preview;
mod thread_clock;
pub mod threads;
pub mod tpcc;
mod worker_pace;

use crate::base::{Nanos, Stop};
use crate::plan::{Mistake, OptionSpec, Options, unknown_name};
use crate::recorder::{
    CounterSpec, DataVerdicts, EventError, EventOutcome, EventRecord, LedgerBalance, LoadAudit,
    MeasuredFigures, StepLatency, Tally, WorkloadFacts,
};

pub use data_action::{DataAction, DataDeed};
pub use data_reach::{DataReach, LoadScale};
pub use endpoint::{Endpoint, EndpointKind};
pub use error_rule::ErrorRule;
pub use event_loop::BoxedWorker;
pub use open_error::OpenError;
pub use recorded::{RecordedKind, RecordedLoad};
pub use statement_preview::StatementPreview;
pub use worker_pace::WorkerPace;

/// All kinds of workload, in the order of `sweat bench --help`.
pub const KINDS: &[&dyn WorkloadKind] = &[
    &null::NullWorkload,
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
    &oltp::BulkInsertKind,
    &queries::QueriesKind,
    &expression::ExpressionKind,
    &micro::MicroKind,
    &tpcc::TpccKind,
    &mix::MixKind,
    &mix::YcsbKind,
    #[cfg(feature = "lua")]
    &lua::LuaKind,
    &lookup::LookupKind,
    &http::HttpKind,
    &cpu::CpuKind,
    &memory::MemoryKind,
    &threads::ThreadsKind,
    &mutex::MutexKind,
    &fileio::FileIoKind,
    &replay::ReplayKind,
];

/// The kind of this name.
///
/// # Errors
/// A mistake with the nearest known name.
pub fn find_kind(name: &str) -> Result<&'static dyn WorkloadKind, Mistake> {
    let found = KINDS.iter().find(|kind| kind.name() == name).copied();
    let names = KINDS.iter().map(|kind| kind.name());
    found.ok_or_else(|| unknown_name("workload", name, names))
}

/// Builds the workload of this name; the one place where it is asked whether it has the endpoint that it needs. One that
/// needs none gets none.
///
/// # Errors
/// When there is none of that name, it lacks its endpoint, or the options don't fit.
pub fn build_workload(
    name: &str,
    options: &Options,
    endpoint: Endpoint<'_>,
) -> anyhow::Result<Box<dyn Workload>> {
    let kind = find_kind(name)?;
    match kind.endpoint_kind().missing_hint() {
        None => kind.build_workload(options, Endpoint::None),
        Some(_) if kind.endpoint_kind() == endpoint.kind() => {
            kind.build_workload(options, endpoint)
        }
        Some((why, hint)) => Err(Mistake::new(name, why).hint(hint).into()),
    }
}

/// What was given to a kind, checked against all that it can be told.
///
/// # Errors
/// All mistakes together.
pub fn check_options(
    kind: &dyn WorkloadKind,
    given: &[(String, String)],
) -> Result<Options, Vec<Mistake>> {
    Options::from_given(&kind.option_specs_for(given).map_err(|mistake| vec![mistake])?, given)
}

/// What the workload of this name declares of itself under these options; nothing where the name or an option is none of
/// today's, as in the folder of an old run.
pub fn declare_facts<'a>(
    name: &str,
    options: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> WorkloadFacts {
    let given: Vec<(String, String)> =
        options.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let facts = |kind: &dyn WorkloadKind| {
        check_options(kind, &given).ok().map(|options| kind.facts(&options))
    };
    find_kind(name).ok().and_then(facts).unwrap_or_default()
}

/// The workload that does nothing: what it measures is the driver.
pub fn idle_workload() -> Box<dyn Workload> {
    Box::new(null::NullWorkload)
}

/// A kind of workload: its name, its options, how to build it.
pub trait WorkloadKind: Sync {
    /// Name on the command line, in plans and reports.
    fn name(&self) -> &'static str;
    /// One line for the help.
    fn help_line(&self) -> &'static str;
    /// What it can be told.
    fn option_specs(&self) -> Vec<OptionSpec>;
    /// What it can be told once it was told this: a script that is named in it may declare options of its own.
    ///
    /// # Errors
    /// When the script can't be read.
    fn option_specs_for(&self, _given: &[(String, String)]) -> Result<Vec<OptionSpec>, Mistake> {
        Ok(self.option_specs())
    }
    /// The option that a bare word after the kind's name gives, as in `sweat bench lua SCRIPT`.
    fn bare_word_option(&self) -> Option<&'static str> {
        None
    }
    /// What findings must know of a load with these options, which are as [`Workload::data_reach`] completes them.
    fn facts(&self, _options: &Options) -> WorkloadFacts {
        WorkloadFacts::default()
    }
    /// What it talks to.
    fn endpoint_kind(&self) -> EndpointKind {
        EndpointKind::MySql
    }
    /// Whether sessions of a load may be dealt to several servers.
    fn takes_several_servers(&self) -> bool {
        false
    }
    /// What may follow its name, for the examples of its help; none for the usual ones.
    fn example_args(&self) -> &'static [&'static str] {
        &[]
    }
    /// What must hold in a search for its highest rate, unless the user says something else: `p90<5s`.
    fn default_objective(&self) -> Option<&'static str> {
        None
    }
    /// How much of its data a load works on, where a search may raise that in place of the rate; none where a load with these
    /// options does not grow with it.
    ///
    /// # Errors
    /// Which option it takes.
    fn load_scale(&self, _options: &Options) -> Result<Option<LoadScale>, Mistake> {
        Ok(None)
    }
    /// Whether its workers come to an end of their own, as a list of statements does.
    fn ends_by_itself(&self) -> bool {
        false
    }
    /// Whether its data are made at the start of each run and removed at its end.
    fn makes_data_in_run(&self) -> bool {
        false
    }
    /// What can be done with its data beside making, loading and removing them.
    fn data_actions(&self) -> &'static [DataAction] {
        &[]
    }
    /// Whether a run of a plan looks at its data before and after each load unless told otherwise.
    fn is_checked_by_default(&self) -> bool {
        false
    }
    /// What it has beside the others if it sends recorded traffic again.
    fn as_recorded(&self) -> Option<&dyn RecordedKind> {
        None
    }
    /// Builds it for an endpoint of the kind that it asks for: see [`build_workload`].
    ///
    /// # Errors
    /// When the options or the endpoint don't fit.
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>>;
}

/// A workload, ready to make workers.
pub trait Workload: Send + Sync {
    /// Names of the classes of events; `ClassId` indexes them.
    fn class_names(&self) -> Vec<String>;
    /// What its events count; [`sql::COUNTERS`] unless it says otherwise. At most as many as a `Tally` has room for.
    fn counters(&self) -> &'static [CounterSpec] {
        sql::COUNTERS
    }
    /// Whether its events compute or block instead of waiting for a server, so that each worker needs a thread of its own.
    fn needs_own_threads(&self) -> bool {
        false
    }
    /// How many workers in a row share a connection, so that they must run on one thread.
    fn workers_per_connection(&self) -> usize {
        1
    }
    /// Whether its workers heed [`WorkerContext::only_class`].
    fn can_run_class_alone(&self) -> bool {
        false
    }
    /// Whether it loads other programs of this machine than a MySQL server: their CPU can't be told from that of neighbors.
    /// Asked after [`Workload::check_ready`].
    fn loads_this_machine(&self) -> bool {
        false
    }
    /// What a reader of the run should know of how its loads are run.
    fn load_note(&self) -> Option<String> {
        None
    }
    /// Why several machines can't each run a share of one load; `None` where they can, which asks that workers share nothing
    /// but their numbers, as each machine has some of them.
    fn split_obstacle(&self) -> Option<&'static str> {
        None
    }
    /// Names of the steps inside events that its workers time; `StepId` indexes them.
    fn step_names(&self) -> Vec<String> {
        Vec::new()
    }
    /// What the steps turned out to be, for a workload that knows it only once it has run: asked when the load has ended. Steps
    /// behind the end of the list were not used.
    fn step_labels(&self) -> Vec<String> {
        Vec::new()
    }
    /// Makes one worker; called on the thread that will run it.
    ///
    /// # Errors
    /// When the worker can't be made. Connecting comes later, in `Worker::open_table`.
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>>;
    /// A load begins; its workers come next.
    fn start_load(&self) {}
    /// How far the load under way is, and with what: for workloads whose events are pieces of one work.
    fn load_progress(&self) -> Option<JobProgress> {
        None
    }
    /// What the workload's own rules ask of the load that has ended.
    fn audit_load(&self) -> Option<LoadAudit> {
        None
    }
    /// What it measured itself in the load that has ended, beside events and their times.
    fn load_figures(&self) -> Option<MeasuredFigures> {
        None
    }
    /// Ends events that do not look whether they shall end, as a script's endless loop: called again and again, from the driver's
    /// own thread, once workers should long have ended.
    fn interrupt_events(&self) {}
    /// Looks before the load whether tables are there and fit.
    ///
    /// # Errors
    /// Says what is missing and what to do; or that `stop` was set while the server was asked.
    fn check_ready(&self, _stop: &Stop) -> anyhow::Result<()> {
        Ok(())
    }
    /// Loads from now on work on so much of the data; gives on how much, which is less where there is less. Only for kinds with a
    /// [`LoadScale`], and after [`Workload::check_ready`].
    fn set_scale(&self, scale: u64) -> u64 {
        scale
    }
    /// What of the data the load reaches, once it was looked at. `None` where that is all, or not known.
    fn data_reach(&self) -> Option<DataReach> {
        None
    }
    /// Makes the data.
    ///
    /// # Errors
    /// When the server refuses.
    fn prepare_data(&self, _job: &mut DataJob<'_>) -> anyhow::Result<()> {
        Ok(())
    }
    /// What `prepare_data` has to tell beside its progress, in lines: asked when it has ended, well or not.
    fn data_notes(&self) -> Vec<String> {
        Vec::new()
    }
    /// Holds its data against the rules that it states, changing nothing: for kinds with [`DataDeed::Check`].
    ///
    /// # Errors
    /// When the server refuses, or the data are not there.
    fn check_data(&self, _job: &mut DataJob<'_>) -> anyhow::Result<DataVerdicts> {
        anyhow::bail!("this workload states no rules for its data")
    }
    /// Opens a new book of what workers see acknowledged, on the data as they are: for kinds with [`DataDeed::Crash`].
    ///
    /// # Errors
    /// When the server can't be asked.
    fn open_ledger(&self, _stop: &Stop) -> anyhow::Result<()> {
        anyhow::bail!("this workload keeps no ledger")
    }
    /// Holds the book against the data, once no worker runs any more.
    ///
    /// # Errors
    /// When the server can't be asked.
    fn balance_ledger(&self, _stop: &Stop) -> anyhow::Result<LedgerBalance> {
        anyhow::bail!("this workload keeps no ledger")
    }
    /// Tests with a few sessions, step by step, how far the server keeps transactions apart: for kinds with
    /// [`DataDeed::Isolation`].
    ///
    /// # Errors
    /// When the server refuses, or the data are not there.
    fn test_isolation(&self, _job: &mut DataJob<'_>) -> anyhow::Result<DataVerdicts> {
        anyhow::bail!("this workload has no tests of isolation")
    }
    /// Writes the statements of its load so that other tools can run the same; `false` where there is no such list.
    ///
    /// # Errors
    /// When they can't be found out or written.
    fn write_statements(&self, _out: &mut dyn std::io::Write) -> anyhow::Result<bool> {
        Ok(false)
    }
    /// What it would send. Asks nobody.
    fn describe_statements(&self) -> StatementPreview {
        StatementPreview::default()
    }
    /// What it has to tell beside the others if it sends recorded traffic again.
    fn as_recorded(&self) -> Option<&dyn RecordedLoad> {
        None
    }
    /// The run is over, well or not: removes what was made for it alone.
    ///
    /// # Errors
    /// When the server refuses.
    fn end_run(&self) -> anyhow::Result<()> {
        Ok(())
    }
    /// Removes what `prepare_data` made.
    ///
    /// # Errors
    /// When the server refuses.
    fn cleanup_data(&self, _job: &mut DataJob<'_>) -> anyhow::Result<()> {
        Ok(())
    }
}

/// Which of the workers this is.
#[derive(Clone, Debug)]
pub struct WorkerContext {
    /// 0-based.
    pub worker: usize,
    /// How many there are.
    pub workers: usize,
    /// Seed of the run; combine with `worker`.
    pub seed: u64,
    /// Whether other workers run on its thread.
    pub shares_thread: bool,
    /// The only class of events that it runs, by its index; all of them if none is named. Only for workloads with
    /// [`Workload::can_run_class_alone`].
    pub only_class: Option<usize>,
    /// Set when a blocking session shall give up waiting for the server.
    pub abandon: Stop,
}

/// A longer piece of control-plane work (prepare, cleanup): how parallel, how to say how far it is, when to stop.
pub struct DataJob<'a> {
    /// Sessions to use.
    pub threads: usize,
    /// Seed for generated data.
    pub seed: u64,
    /// Set on Ctrl-C.
    pub stop: &'a Stop,
    /// Told now and then how far the work is, from one thread at a time.
    pub progress: &'a mut (dyn FnMut(JobProgress) + Send),
}

/// How far a longer piece of work is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobProgress {
    /// What is being done: `sbtest1: rows`.
    pub label: String,
    /// Units done.
    pub done: u64,
    /// Units in all; 0 if not known.
    pub total: u64,
    /// What is counted: `rows`, `pages`.
    pub unit: &'static str,
}

/// What an error makes of the event that it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorPolicy {
    /// The event failed and is counted as such.
    CountEvent,
    /// The error is counted, and the same event runs again while its clock runs on.
    RestartEvent,
    /// The whole load ends.
    FailLoad,
}

/// Executes events. Owns its session; lives on one thread.
#[expect(async_fn_in_trait, reason = "futures stay on their thread, so no Send bound is wanted")]
pub trait Worker {
    /// Connects and prepares statements; called again after a lost connection.
    async fn open(&mut self) -> Result<(), OpenError>;
    /// Runs one event.
    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome;
    /// When the worker itself wants its next event: at once (`now` as it was given), at a recorded time, or never
    /// again. It may wait for what it needs to know that; its future is dropped when the load is over.
    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        Some(now)
    }
    /// Hears of the times of the event that has just ended.
    fn note_record(&mut self, _record: &EventRecord) {}
    /// How long the steps inside the event that has just ended took, in memory that the worker keeps: none are allocated
    /// per event.
    fn step_latencies(&self) -> &[StepLatency] {
        &[]
    }
    /// In a closed loop: the pause after the event that has just ended, where the kind of event decides it; `None` for that
    /// of the load. In an open loop nobody thinks.
    fn think_time(&self) -> Option<Nanos> {
        None
    }
    /// Whether it makes its connections inside its events, so that a lost one ends the event and nothing more.
    fn connects_in_events(&self) -> bool {
        false
    }
    /// Whether it closed its session and opened another in the event that has just ended, as it was asked to.
    fn has_reopened_session(&self) -> bool {
        false
    }
    /// What an error means for the load.
    fn error_policy(&self, _error: EventError) -> ErrorPolicy {
        ErrorPolicy::CountEvent
    }
    /// Why the load ends, where [`Worker::error_policy`] said so.
    fn failure_text(&self, _error: EventError) -> String {
        self.error_text().to_owned()
    }
    /// Text of the last server error, for the first of each code.
    fn error_text(&self) -> &str {
        ""
    }
    /// Says good-bye to the server.
    async fn close(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{KeyChoice, StatementRepeats};

    #[test]
    fn an_unknown_workload_is_named_with_the_nearest() {
        let mistake = find_kind("nul").err().unwrap();
        assert_eq!(mistake.hint.as_deref(), Some("did you mean null?"));
    }

    #[test]
    fn facts_come_from_name_and_options_as_a_run_folder_keeps_them() {
        let point = [("table-size", "2k"), ("tables", "3"), ("rand-type", "uniform")];
        let facts = declare_facts(point_select_name(), point);
        assert!(facts.one_row_per_read);
        assert_eq!(facts.rows, Some(6_000));
        assert!(matches!(facts.keys, Some(KeyChoice::Drawn { rows: 2_000, .. })), "{facts:?}");
        assert_eq!(declare_facts(oltp::INSERT.name(), [("table-size", "9")]), Default::default());
        let repeats = declare_facts(queries::QueriesKind.name(), [("passes", "0")]).repeats;
        assert_eq!(repeats, Some(StatementRepeats { passes: None, shared: false }));
        let lookups = declare_facts(lookup::LookupKind.name(), [("lookups", "5")]);
        assert_eq!(lookups.amounts, [("lookups".to_owned(), 5)].into());
        assert_eq!(declare_facts("of another sweat", []), WorkloadFacts::default());
        assert_eq!(declare_facts(point_select_name(), [("of-another", "1")]), Default::default());
    }

    fn point_select_name() -> &'static str {
        oltp::POINT_SELECT.name()
    }

    #[test]
    fn whoever_needs_a_server_says_so() {
        for kind in KINDS.iter().filter(|kind| kind.endpoint_kind() == EndpointKind::MySql) {
            let options = Options::from_given(&kind.option_specs(), &[]).unwrap();
            let error = build_workload(kind.name(), &options, Endpoint::None).err().unwrap();
            assert!(error.to_string().ends_with("needs a server"), "{error:#}");
        }
    }
}
