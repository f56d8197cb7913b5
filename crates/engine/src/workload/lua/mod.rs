//! Scripts of sysbench, unmodified: one Lua state for each of its threads, over our sessions, paces and records.
//!
//! A script's functions run as coroutines. On the engine `threads` what they ask for is done at once, in the C function that
//! asks; on the reactor the coroutine yields until its worker has done it. See `natives.rs` for what scripts call, `prelude/` for
//! what they see, `settings.rs` for what they are given.

mod commands;
mod connection;
mod host_functions;
mod interrupt;
mod kind;
mod module_paths;
mod natives;
mod random;
mod request;
mod script_file;
mod settings;
mod state;
mod statements;
#[cfg(test)]
mod tests;
mod worker;

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{BoxedWorker, DataJob, WorkerContext, Workload, sql};
use crate::base::{Stop, reactor};
use crate::recorder::{CounterSpec, MOST_COUNTERS};

use self::state::{LuaHost, LuaState, SharedScript, StateRole};
use self::statements::StatementClasses;
use self::worker::LuaWorker;

pub use commands::{ReportState, ScriptInfo, find_refused_value, read_script, run_command};
pub use kind::LuaKind;
pub use random::RandomSettings;
pub use settings::{
    DriverSettings, FatalPrinter, ScriptError, ScriptOption, ScriptOptionType, ScriptPrinter,
    ScriptSetup, ScriptSource, ScriptValue, split_list,
};

/// Sessions that share a Lua state at most: mlua holds some 8,000 references into one, and a session needs a handful.
const SESSIONS_PER_STATE: usize = 500;

/// What events of scripts count.
const COUNTERS: &[CounterSpec] = &[
    sql::COUNTERS[0],
    sql::COUNTERS[1],
    sql::COUNTERS[2],
    sql::COUNTERS[3],
    CounterSpec { name: "script_errors", unit: "errors" },
];
const _: () =
    assert!(COUNTERS.len() == natives::SCRIPT_ERRORS + 1 && COUNTERS.len() <= MOST_COUNTERS);

/// A script, ready to run. `init` and `done` run once per load, before the first thread and after the last.
#[derive(Debug)]
pub struct LuaWorkload {
    setup: ScriptSetup,
    shared: SharedScript,
    load: Mutex<LoadLife>,
    /// What holds a whole thread, once it was looked for.
    blocking_calls: OnceLock<Vec<String>>,
}

/// The life of one load: the state that `init` and `done` run in.
#[derive(Debug, Default)]
struct LoadLife {
    global: Option<GlobalState>,
    /// `init` and `done` run before and after the load, not within it.
    is_outside: bool,
    /// What `init` raised: no thread begins.
    failed: Option<ScriptError>,
    begun: usize,
    ended: usize,
    workers: usize,
}

/// The state of `init` and `done`.
#[derive(Debug)]
struct GlobalState(LuaState);

// SAFETY: a Lua state may be used from any thread, by one at a time; the lock around it sees to that, and all that refers to
// the state is in it.
#[expect(unsafe_code, reason = "mlua leaves it to us that a state is used by one thread at a time")]
unsafe impl Send for GlobalState {}

impl LuaWorkload {
    /// Looks at nothing yet: mistakes in the script show when it is read.
    pub fn new(setup: ScriptSetup) -> LuaWorkload {
        LuaWorkload {
            setup,
            shared: SharedScript::default(),
            load: Mutex::default(),
            blocking_calls: OnceLock::new(),
        }
    }

    /// Knows already which calls hold a whole thread: the script was read.
    #[must_use]
    fn with_blocking_calls(self, calls: Vec<String>) -> LuaWorkload {
        LuaWorkload { blocking_calls: OnceLock::from(calls), ..self }
    }

    /// Runs the top level and `init` now; the load that follows runs neither `init` nor `done`.
    ///
    /// # Errors
    /// What the script raised.
    pub fn run_init_early(&self, threads: usize, stop: &Stop) -> Result<(), ScriptError> {
        let (worker, abandon) = (0, stop.clone());
        let part = WorkerContext {
            worker,
            workers: threads,
            seed: 0,
            abandon,
            shares_thread: false,
            only_class: None,
        };
        let state = self.run_init(&part)?;
        *self.lock_load() = LoadLife {
            global: Some(GlobalState(state)),
            is_outside: true,
            workers: threads,
            ..LoadLife::default()
        };
        Ok(())
    }

    /// Runs `done` in the state of [`LuaWorkload::run_init_early`].
    ///
    /// # Errors
    /// What the script raised.
    pub fn run_done_late(&self) -> Result<(), ScriptError> {
        let life = std::mem::take(&mut *self.lock_load());
        let Some(GlobalState(state)) = life.global else { return Ok(()) };
        reactor::block_on(state.call_hook("done", None)).map(|_| ())
    }

    /// Makes a report of the whole load, in the state of [`LuaWorkload::run_init_early`]; says whether the script has it.
    ///
    /// # Errors
    /// What the script raised.
    pub fn call_final_report(
        &self,
        name: &str,
        values: &[(&str, f64)],
    ) -> Result<bool, ScriptError> {
        match &self.lock_load().global {
            Some(GlobalState(state)) => state.call_report(name, values),
            None => Ok(false),
        }
    }

    fn lock_load(&self) -> std::sync::MutexGuard<'_, LoadLife> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls that hold a whole thread; none of a script that can't be read, which is told when its load begins.
    fn blocking_calls(&self) -> &[String] {
        self.blocking_calls.get_or_init(|| {
            let info = read_script(&self.setup.silenced());
            info.map(|info| info.blocking_calls).unwrap_or_default()
        })
    }

    /// The first worker of a load runs `init` while the others wait.
    fn begin_worker(&self, part: &WorkerContext) -> anyhow::Result<()> {
        let mut load = self.lock_load();
        if load.begun == 0 && !load.is_outside {
            *load = LoadLife { workers: part.workers, ..LoadLife::default() };
            match self.run_init(part) {
                Ok(state) => load.global = Some(GlobalState(state)),
                Err(error) => load.failed = Some(error),
            }
        }
        load.begun += 1;
        match &load.failed {
            Some(error) => anyhow::bail!("`init' function failed: {}", error.full_text()),
            None => Ok(()),
        }
    }

    fn run_init(&self, part: &WorkerContext) -> Result<LuaState, ScriptError> {
        let state = commands::load_global(&self.setup, &self.shared, 0, part.abandon.clone())?;
        state.export_options(part.workers)?;
        reactor::block_on(state.call_hook("init", None))?;
        if !state.has_function("event") && !state.replaces_thread_run() {
            let name = commands::base_name(&self.setup.source);
            return Err(ScriptError::new(format!("cannot find the event() function in {name}")));
        }
        Ok(state)
    }

    /// The Lua state for a session: one that sessions of the same thread share, as thousands of states would not fit.
    fn host_of_thread(&self, is_shared: bool) -> Result<Rc<LuaHost>, ScriptError> {
        thread_local! {
            static HOST: RefCell<(usize, Weak<LuaHost>)> = const { RefCell::new((0, Weak::new())) };
        }
        let key = std::ptr::from_ref(self).addr();
        let known = HOST.with_borrow(|(owner, host)| host.upgrade().filter(|_| *owner == key));
        let has_room = |host: &Rc<LuaHost>| Rc::strong_count(host) <= SESSIONS_PER_STATE;
        if let Some(host) = known.filter(|host| is_shared && has_room(host)) {
            return Ok(host);
        }
        let host = LuaHost::new(&self.shared)?;
        if is_shared {
            HOST.set((key, Rc::downgrade(&host)));
        }
        Ok(host)
    }

    /// The last worker of a load runs `done`.
    fn end_worker(&self) {
        let mut load = self.lock_load();
        load.ended += 1;
        if load.ended < load.workers || load.is_outside {
            return;
        }
        let life = std::mem::take(&mut *load);
        drop(load);
        if let Some(GlobalState(state)) = life.global {
            // The load is over: nothing is left that could fail by it.
            let ended = reactor::block_on(state.call_hook("done", None));
            if let (Err(error), Some(printer)) = (ended, &self.setup.printer) {
                printer(format!("FATAL: `done' function failed: {error}\n").as_bytes());
            }
        }
    }
}

impl Workload for LuaWorkload {
    fn class_names(&self) -> Vec<String> {
        vec!["event".to_owned()]
    }
    fn split_obstacle(&self) -> Option<&'static str> {
        Some("the sessions of a script share state and random numbers")
    }
    fn counters(&self) -> &'static [CounterSpec] {
        COUNTERS
    }
    fn step_names(&self) -> Vec<String> {
        StatementClasses::placeholders()
    }
    fn step_labels(&self) -> Vec<String> {
        self.shared.classes.labels()
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        self.begin_worker(&part)?;
        let role = StateRole { thread: part.worker, blocks: true, abandon: part.abandon.clone() };
        let state = self
            .host_of_thread(part.shares_thread)
            .and_then(|host| LuaState::load(&self.setup, &self.shared, host, &role))
            .and_then(|state| state.export_options(part.workers).map(|()| state));
        match state {
            Ok(state) => Ok(Box::new(LuaWorker { workload: self, state, thread: part.worker })),
            Err(error) => {
                self.end_worker();
                Err(anyhow::anyhow!("{}", error.full_text()))
            }
        }
    }
    fn needs_own_threads(&self) -> bool {
        !self.blocking_calls().is_empty()
    }
    fn load_note(&self) -> Option<String> {
        let calls = self.blocking_calls();
        let why = || format!("each session has a thread: the script calls {}", calls.join(", "));
        (!calls.is_empty()).then(why)
    }
    fn interrupt_events(&self) {
        self.shared.running.interrupt_all();
    }
    fn prepare_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        self.run_data_command("prepare", job)
    }
    fn cleanup_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        self.run_data_command("cleanup", job)
    }
}

impl LuaWorkload {
    fn run_data_command(&self, name: &str, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        let mut setup = self.setup.clone();
        setup.command = Some(name.to_owned());
        setup.threads = job.threads;
        run_command(&setup, name, job.stop)?;
        Ok(())
    }
}
