//! Filling the pool: strategies, and how warm it is.
//! Never knows: experiments, reports.
//! To add one: a folder here and its line in `STRATEGIES`.

mod catalog;
mod dump;
pub mod follow;
pub mod hotset;
mod inventory;
pub mod load;
mod names;
mod pool_status;
pub mod replay;
pub mod scan;
pub mod scan_classic;

pub use dump::{DumpOutcome, DumpPlan, request_pool_dump};
pub use inventory::{CachedIndex, PoolInventory, estimate_seconds, read_inventory};
pub use names::{TableChoice, TableChoiceError, parse_choices};
pub use pool_status::{PoolStatus, read_pool_status};

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use serde::Serialize;

use crate::base::{Clock, Nanos, RealClock, Stop, StopReason, kernel};
use crate::client::{self, Session, Target};
use crate::plan::{Mistake, OptionSpec, Options, unknown_name};
use crate::server::ServerControl;
use crate::workload::JobProgress;

/// All strategies, in the order of `sweat warm --help`.
pub const STRATEGIES: &[&dyn WarmStrategy] = &[
    &scan::ScanStrategy,
    &load::PoolLoadStrategy,
    &hotset::HotSetStrategy,
    &scan_classic::ClassicScanStrategy,
    &replay::ReplayStrategy,
];

/// The strategy of this name.
///
/// # Errors
/// A mistake with the nearest known name.
pub fn find_strategy(name: &str) -> Result<&'static dyn WarmStrategy, Mistake> {
    let found = STRATEGIES.iter().find(|strategy| strategy.name() == name).copied();
    let names = STRATEGIES.iter().map(|strategy| strategy.name());
    found.ok_or_else(|| unknown_name("strategy", name, names))
}

/// A way to fill the pool.
pub trait WarmStrategy: Sync {
    /// Name on the command line, in plans and reports.
    fn name(&self) -> &'static str;
    /// One line for the help.
    fn help_line(&self) -> &'static str;
    /// What it can be told.
    fn option_specs(&self) -> Vec<OptionSpec>;
    /// Warms until done, full, or told to stop; `on_event` hears of databases and tables as they begin and end.
    ///
    /// # Errors
    /// When the server refuses.
    fn warm_with(
        &self,
        options: &Options,
        context: &mut WarmContext<'_>,
        on_event: &mut dyn FnMut(&WarmEvent),
    ) -> anyhow::Result<WarmOutcome>;
    /// Warms until done, full, or told to stop.
    ///
    /// # Errors
    /// When the server refuses.
    fn warm(
        &self,
        options: &Options,
        context: &mut WarmContext<'_>,
    ) -> anyhow::Result<WarmOutcome> {
        self.warm_with(options, context, &mut |_| {})
    }
}

/// What a strategy works with.
pub struct WarmContext<'a> {
    /// The server to warm.
    pub target: &'a Target,
    /// The same server if we may change it; `None` on a server that is not ours.
    pub control: Option<&'a mut dyn ServerControl>,
    /// The run's clock.
    pub clock: RealClock,
    /// Set on Ctrl-C.
    pub stop: &'a Stop,
    /// Told how far it is, from one thread at a time.
    pub progress: &'a mut (dyn FnMut(JobProgress) + Send),
}

/// What happens while a strategy works off tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarmEvent {
    /// The first table of a database begins.
    DatabaseBegan(String),
    /// A table begins: database, table.
    TableBegan(String, String),
    /// A table is through: database, table.
    TableEnded(String, String),
    /// A table could not be read to its end: database, table, why.
    TableFailed(String, String, String),
    /// The last table of a database is through.
    DatabaseEnded(String),
}

/// What warming did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WarmOutcome {
    /// How long it took.
    pub seconds: f64,
    /// Pages in the pool before.
    pub pages_before: u64,
    /// Pages in the pool after.
    pub pages_after: u64,
    /// Pages the server read from disk meanwhile.
    pub pages_read: u64,
    /// Bytes the server read from disk meanwhile.
    pub bytes_read: u64,
    /// What was left out or went wrong, in words.
    pub notes: Vec<String>,
    /// Whether it was stopped before its end.
    pub cut: bool,
    /// Indexes or tables that the server refused to read.
    pub failed: u64,
}

impl WarmOutcome {
    /// What the pool and the disk say, from a look before and one after.
    fn from_counters(before: &PoolStatus, after: &PoolStatus, seconds: f64) -> WarmOutcome {
        WarmOutcome {
            seconds,
            pages_before: before.pages_data,
            pages_after: after.pages_data,
            pages_read: after.pages_read.saturating_sub(before.pages_read),
            bytes_read: after.bytes_read.saturating_sub(before.bytes_read),
            ..WarmOutcome::default()
        }
    }
}

/// What our sessions set for themselves. Those that a product does not know are left out.
const SESSION: &[&str] = &[
    "SET SESSION sql_mode = ''",
    "SET SESSION time_zone = '+00:00'",
    // No old row versions are wanted, and none need be kept for us.
    "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    // A table that is being altered is left out rather than waited for.
    "SET SESSION lock_wait_timeout = 2",
    "SET SESSION max_execution_time = 0",
    "SET SESSION max_statement_time = 0",
    "SET SESSION query_cache_type = OFF",
    "SET SESSION information_schema_stats_expiry = 0",
    "SET SESSION optimizer_switch = 'use_invisible_indexes=on'",
];

/// Opens a session and sets it up for warming; nothing of that outlives the session.
fn open_session(target: &Target, abandon: &Stop) -> anyhow::Result<Session> {
    let mut session = target.connect(abandon).context("open a session to warm the pool")?;
    // Reading an index takes long, and so does a look at every page of a large pool, or at very many tables.
    session.allow_long_statements();
    if let Some(too_old) = session.identity().too_old_for("warming") {
        return Err(too_old.into());
    }
    for sql in SESSION {
        match session.run_command(sql) {
            Ok(_) | Err(crate::client::Error::Server { .. }) => {}
            Err(error) => return Err(error).context("set up a session"),
        }
    }
    Ok(session)
}

/// Sets a flag when it goes, also in a panic.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// What to say about a server that refuses to dump or load its list.
fn start_error(error: client::Error, what: &str) -> anyhow::Error {
    let is_denied = matches!(error, client::Error::Server { code: 1227, .. });
    let error = anyhow::Error::new(error);
    if !is_denied {
        return error.context(format!("start the {what}"));
    }
    error.context(format!(
        "the account may not start a {what}: it needs SYSTEM_VARIABLES_ADMIN (MySQL) or \
         SUPER (MariaDB)"
    ))
}

/// How long after a stop what runs may take to end by itself.
const GRACE: Nanos = Nanos(250_000_000);

/// Runs `work` with a flag that is set soon after the stop: a server that does not even answer must not hold us.
fn with_abandon_flag<T>(clock: RealClock, stop: &Stop, work: impl FnOnce(&Stop) -> T) -> T {
    let abandon = Stop::new();
    let through = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut since = None;
            while !through.load(Ordering::SeqCst) {
                let now = clock.now();
                if stop.is_set() && now.since(*since.get_or_insert(now)) > GRACE {
                    abandon.set(StopReason::Interrupted);
                }
                clock.sleep_until(now + Nanos(5_000_000));
            }
        });
        let _through = SetOnDrop(&through);
        work(&abandon)
    })
}

/// Runs `work` and, at a stop, has the server break off what the session `id` runs.
fn with_kill_on_stop<T>(
    target: &Target,
    clock: RealClock,
    stop: &Stop,
    id: u64,
    work: impl FnOnce() -> T,
) -> T {
    let through = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !through.load(Ordering::SeqCst) {
                let nap = if stop.is_set() { 100_000_000 } else { 5_000_000 };
                if stop.is_set() {
                    // It may be through in the meantime; then there is nothing to break off.
                    let _ = target.kill_statement(id);
                }
                clock.sleep_until(clock.now() + Nanos(nap));
            }
        });
        let _through = SetOnDrop(&through);
        work()
    })
}

/// The server's list of pages, as far as we can see it from here.
struct ServerFile {
    path: PathBuf,
    /// Its bytes, if it lies on this machine and may be read.
    bytes: Option<Vec<u8>>,
    /// We can see its folder, and it is not there.
    is_missing: bool,
}

/// Finds the server's list of pages. Only on the server's own machine, by its name: paths mean nothing elsewhere.
fn find_server_file(session: &mut Session, target: &Target) -> anyhow::Result<ServerFile> {
    let rows = session
        .query_rows(
            "SELECT @@GLOBAL.datadir, @@GLOBAL.innodb_buffer_pool_filename, @@GLOBAL.hostname",
        )
        .context("ask where the server keeps its list of pages")?;
    let row = rows.rows.first().context("the server does not say where it keeps its list")?;
    let value = |at| pool_status::column_text(row, at).unwrap_or_default();
    let (folder, name, host) = (PathBuf::from(value(0)), value(1), value(2));
    let path = folder.join(name);
    let here = kernel::host_name() == host;
    if !here || !target.is_local() {
        return Ok(ServerFile { path, bytes: None, is_missing: false });
    }
    let read = std::fs::read(&path);
    let absent = matches!(&read, Err(e) if e.kind() == std::io::ErrorKind::NotFound);
    let is_missing = absent && std::fs::read_dir(&folder).is_ok();
    Ok(ServerFile { path, bytes: read.ok(), is_missing })
}
