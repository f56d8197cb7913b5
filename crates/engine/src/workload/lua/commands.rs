//! What is done with a script besides its load: its options are read, its commands run, its reports called.

use std::sync::Mutex;

use super::settings::{ScriptError, ScriptOption, ScriptSetup, ScriptSource};
use super::state::{LuaHost, LuaState, SharedScript, StateRole};
use crate::base::reactor::block_on;
use crate::base::{Clock as _, Nanos, RealClock, Stop, StopReason};

/// How often to look whether the user wants to stop.
const LOOK: Nanos = Nanos(20_000_000);
/// How long a script that was told to stop may go on before it is interrupted.
const GRACE: Nanos = Nanos(500_000_000);

/// What a script says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptInfo {
    /// Its options, by name.
    pub options: Vec<ScriptOption>,
    /// Its commands and whether each runs on all threads.
    pub commands: Vec<(String, bool)>,
    /// Functions of those that sysbench knows: `event`, `prepare`, `help` and so on.
    pub functions: Vec<&'static str>,
    /// Calls in its text that hold a whole thread while they wait, as `os.execute`.
    pub blocking_calls: Vec<String>,
}

/// The functions that a script may define.
const FUNCTIONS: [&str; 9] = [
    "event",
    "init",
    "done",
    "thread_init",
    "thread_done",
    "thread_run",
    "prepare",
    "cleanup",
    "help",
];

/// Runs a script's top level and gives what it says of itself.
///
/// # Errors
/// When it can't be read, or fails.
pub fn read_script(setup: &ScriptSetup) -> Result<ScriptInfo, ScriptError> {
    let state = load_global(setup, &SharedScript::default(), 0, Stop::new())?;
    Ok(ScriptInfo {
        options: state.declared_options()?,
        commands: state.commands(),
        functions: FUNCTIONS
            .into_iter()
            .filter(|name| match *name {
                "thread_run" => state.replaces_thread_run(),
                name => state.has_function(name),
            })
            .collect(),
        blocking_calls: state.blocking_calls(),
    })
}

/// The first of these values, by the names of their options, that the script's own functions refuse.
///
/// # Errors
/// When the script can't be read, or fails.
pub fn find_refused_value(
    setup: &ScriptSetup,
    options: &[ScriptOption],
    given: &[(String, String)],
) -> Result<Option<usize>, ScriptError> {
    let checked = |name: &str| {
        let mut all = options.iter().filter(|option| option.is_checked);
        all.find(|option| option.name.replace('-', "_") == name)
    };
    let mut wanted = given.iter().enumerate();
    let mut wanted = wanted
        .by_ref()
        .filter_map(|(at, (name, text))| Some((at, checked(name)?.name.as_str(), text.as_str())));
    let Some(first) = wanted.next() else { return Ok(None) };
    let state = load_global(&setup.silenced(), &SharedScript::default(), 0, Stop::new())?;
    for (at, name, text) in std::iter::once(first).chain(wanted) {
        if !state.accepts_option(name, text)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// A state of its own, on a thread that may block.
pub(super) fn load_global(
    setup: &ScriptSetup,
    shared: &SharedScript,
    thread: usize,
    abandon: Stop,
) -> Result<LuaState, ScriptError> {
    let host = LuaHost::new(shared)?;
    LuaState::load(setup, shared, host, &StateRole { thread, blocks: true, abandon })
}

/// Runs a command of a script: on all threads if it asks for that, each with a state of its own. Blocks until it has ended, or
/// `stop` was set.
///
/// # Errors
/// What the script raised, also in one of its threads; that it said it failed.
pub fn run_command(setup: &ScriptSetup, name: &str, stop: &Stop) -> Result<(), ScriptError> {
    let shared = SharedScript::default();
    let abandon = stop.child_stop();
    let failed: Mutex<Option<ScriptError>> = Mutex::default();
    let run_one = |thread: usize| {
        let state = load_global(setup, &shared, thread, abandon.clone())?;
        state.export_options(setup.threads)?;
        match block_on(state.call_command(name)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ScriptError::new(format!("the command {name} failed"))),
            Err(error) => Err(error),
        }
    };
    let info = read_script(&setup.silenced())?;
    let own = info.commands.iter().find(|(command, _)| command == name);
    if own.is_none() && !info.functions.contains(&name) {
        let script = base_name(&setup.source);
        return Err(ScriptError::new(format!(
            "'{script}' test does not implement the '{name}' command."
        )));
    }
    let is_parallel = own.is_some_and(|(_, parallel)| *parallel);
    let threads = if is_parallel { setup.threads.max(1) } else { 1 };
    std::thread::scope(|scope| {
        let start = |thread| {
            let (run_one, failed) = (&run_one, &failed);
            scope.spawn(move || {
                if let Err(error) = run_one(thread) {
                    failed.lock().expect("no thread panics with it").get_or_insert(error);
                }
            })
        };
        let all: Vec<_> = (0..threads).map(start).collect();
        let clock = RealClock::start_now();
        let mut told = None;
        while all.iter().any(|thread| !thread.is_finished()) {
            clock.sleep_until(clock.now() + LOOK);
            if !stop.is_set() {
                continue;
            }
            abandon.set(StopReason::Interrupted);
            let since = *told.get_or_insert(clock.now());
            if clock.now().since(since) > GRACE {
                shared.running.interrupt_all();
            }
        }
    });
    let failed = failed.into_inner().expect("no thread panics with it");
    failed.filter(|_| !stop.is_set()).map_or(Ok(()), Err)
}

/// The last part of a script's name.
pub(super) fn base_name(source: &ScriptSource) -> String {
    match source {
        ScriptSource::Path(path) => {
            path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
        }
        ScriptSource::Module(name) | ScriptSource::Text { name, .. } => name.clone(),
    }
}

/// A state in which reports of a script run: its top level was run in it, none of its threads.
#[derive(Debug)]
pub struct ReportState(LuaState);

impl ReportState {
    /// Makes the state.
    ///
    /// # Errors
    /// When the script fails.
    pub fn new(setup: &ScriptSetup) -> Result<ReportState, ScriptError> {
        let state = load_global(setup, &SharedScript::default(), setup.threads, Stop::new())?;
        state.export_options(setup.threads)?;
        Ok(ReportState(state))
    }

    /// Calls `sysbench.hooks.NAME` with a table of these values, if the script set it; says whether it did. Times are seconds.
    ///
    /// # Errors
    /// What the script raised.
    pub fn call_hook(&self, name: &str, values: &[(&str, f64)]) -> Result<bool, ScriptError> {
        self.0.call_report(name, values)
    }
}
