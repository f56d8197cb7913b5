//! One Lua state: the prelude, the script, and calls of the script's functions as coroutines.
#![expect(unsafe_code, reason = "Lua and its worker share a context by its address")]

use std::fs;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use mlua::{
    Function, IntoLua, IntoLuaMulti, LightUserData, Lua, MultiValue, Table, Thread, ThreadStatus,
    Value, ffi,
};

use super::connection::ScriptConnections;
use super::host_functions::{ContextPointer, add_functions};
use super::interrupt::{RunningStates, StateRegistration};
use super::module_paths::{c_module_path, module_path};
use super::natives::{NATIVES, ScriptContext};
use super::random::{ScriptRandom, UniqueNumbers};
use super::request::{ScriptRequest, perform_request};
use super::settings::{
    ScriptError, ScriptOption, ScriptOptionType, ScriptSetup, ScriptSource, ScriptValue,
};
use super::statements::{StatementClasses, StatementTimes};
use crate::base::Stop;
use crate::workload::ErrorRule;

/// Our side of what scripts call, in the order in which it is run.
const PRELUDE: [(&str, &str); 5] = [
    ("=[core]", include_str!("prelude/core.lua")),
    ("=[random]", include_str!("prelude/random.lua")),
    ("=[string \"sysbench.sql.lua\"]", include_str!("prelude/sql.lua")),
    ("=[legacy]", include_str!("prelude/legacy.lua")),
    ("=[reports]", include_str!("prelude/reports.lua")),
];
/// The version whose scripts ours understand.
const VERSION: &str = "1.0.20";
/// What sysbench says of an error that is a table or nothing.
const NOT_TEXT: &str = "(not a string)";
/// What Lua says where a script yields to nobody.
const YIELDED: &str = "attempt to yield from outside a coroutine";
/// What all states of one script share.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedScript {
    pub(super) unique: UniqueNumbers,
    pub(super) turn: Arc<AtomicUsize>,
    pub(super) running: RunningStates,
    pub(super) classes: StatementClasses,
}

/// One Lua state with what the sessions in it share: compiled texts, C declarations. Lives on one thread at a time.
#[derive(Debug)]
pub(super) struct LuaHost {
    /// Goes first: while it is on its list the state may be interrupted.
    _registration: StateRegistration,
    /// The host's table of the prelude.
    table: Table,
    lua: Lua,
}

impl LuaHost {
    /// A state that has run nothing of a script yet.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(super) fn new(shared: &SharedScript) -> Result<Rc<LuaHost>, ScriptError> {
        // SAFETY: scripts may use FFI and load C modules, as they may in sysbench: they are their user's programs.
        let lua = unsafe { Lua::unsafe_new() };
        let table = lua.create_table().map_err(script_error)?;
        let host = lua.load(include_str!("prelude/host.lua")).set_name("=[host]");
        host.call::<()>(table.clone()).map_err(script_error)?;
        Ok(Rc::new(LuaHost { _registration: shared.running.register_state(&lua), table, lua }))
    }
}

/// What one session of a script sees: globals of its own, over the state that it shares with others.
#[derive(Debug)]
pub(super) struct LuaState {
    prelude: Table,
    /// Its `_G`.
    globals: Table,
    host: Rc<LuaHost>,
    context: ContextPointer,
    setup: ScriptSetup,
}

impl Drop for LuaState {
    fn drop(&mut self) {
        if Rc::strong_count(&self.host) == 1 {
            // What the script left to be finished may still print, and needs the context.
            let _ = self.host.lua.gc_collect();
        }
        // SAFETY: it came from a box, and what is left of the session makes no calls.
        drop(unsafe { Box::from_raw(self.context.0.as_ptr()) });
    }
}

/// Which session of a script this is.
#[derive(Clone, Debug)]
pub(super) struct StateRole {
    /// `sysbench.tid`.
    pub(super) thread: usize,
    /// Whether its requests may block the thread.
    pub(super) blocks: bool,
    /// Set when it shall give up waiting.
    pub(super) abandon: Stop,
}

impl LuaState {
    /// Makes a session in a state and runs the script's top level in it.
    ///
    /// # Errors
    /// When the script can't be read, or fails.
    pub(super) fn load(
        setup: &ScriptSetup,
        shared: &SharedScript,
        host: Rc<LuaHost>,
        role: &StateRole,
    ) -> Result<LuaState, ScriptError> {
        let connections =
            ScriptConnections::new(setup.driver.clone(), shared.turn.clone(), role.thread);
        let random =
            ScriptRandom::new(setup.random.clone(), shared.unique.clone(), role.thread as u64);
        let times = StatementTimes::new(shared.classes.clone());
        let (prelude, globals) = new_tables(&host, setup).map_err(script_error)?;
        let context =
            ScriptContext::new(role.blocks, connections, random, times, role.abandon.clone());
        let context = ContextPointer(NonNull::from(Box::leak(Box::new(context))));
        let state = LuaState { prelude, globals, host, context, setup: setup.clone() };
        state.run_prelude(role).map_err(script_error)?;
        state.run_script()?;
        Ok(state)
    }

    /// The context, for the worker while Lua does not run.
    pub(super) fn context(&self) -> &mut ScriptContext {
        self.context.context()
    }

    fn run_prelude(&self, role: &StateRole) -> mlua::Result<()> {
        let LuaState { prelude, setup, .. } = self;
        let lua = &self.host.lua;
        let context = self.context.0.as_ptr().cast();
        prelude.set("context", LightUserData(context))?;
        let natives = std::ptr::from_ref(&NATIVES).cast_mut().cast();
        prelude.set("natives", LightUserData(natives))?;
        prelude.set("tid", role.thread)?;
        prelude.set("version", VERSION)?;
        prelude.set("command", setup.command.as_deref())?;
        prelude.set("script_path", script_name(&setup.source))?;
        prelude.set("strict", setup.driver.strict)?;
        let arguments = lua.create_table()?;
        for (place, word) in setup.arguments.iter().enumerate() {
            arguments.set(place, word.as_str())?;
        }
        prelude.set("arguments", arguments)?;
        let ignored = lua.create_table()?;
        if let ErrorRule::Restart(codes) = &setup.driver.ignored {
            for code in codes {
                ignored.set(*code, true)?;
            }
        }
        prelude.set("ignored", ignored)?;
        prelude.set("ignores_all", setup.driver.ignored == ErrorRule::RestartAll)?;
        add_functions(lua, prelude, setup, self.context)?;
        for (name, text) in PRELUDE {
            self.instance(text, name)?.call::<()>((prelude, &self.host.table))?;
        }
        Ok(())
    }

    /// A function of this session's own from a text.
    fn instance(&self, text: impl IntoLua, name: &str) -> mlua::Result<Function> {
        let instance: Function = self.host.table.get("instance")?;
        let (made, wrong): (Option<Function>, Option<String>) =
            instance.call((text, name, &self.globals))?;
        let message = wrong.unwrap_or_default();
        made.ok_or(mlua::Error::SyntaxError { message, incomplete_input: false })
    }

    fn run_script(&self) -> Result<(), ScriptError> {
        let run_text = |text: &[u8], name: &str| {
            let text = self.host.lua.create_string(text).map_err(script_error)?;
            let function = self.instance(text, name).map_err(script_error)?;
            self.run_now(function, ())
        };
        match &self.setup.source {
            ScriptSource::Path(path) => {
                let text = fs::read(path).map_err(|error| {
                    ScriptError::new(format!("cannot open {}: {error}", path.display()))
                })?;
                run_text(&text, &format!("@{}", path.display()))
            }
            ScriptSource::Text { name, text } => run_text(text.as_bytes(), &format!("={name}")),
            ScriptSource::Module(name) => {
                let require: Function = self.globals.get("require").map_err(script_error)?;
                self.run_now(require, name.as_str())
            }
        }
    }

    /// A coroutine whose globals, and those of texts that are loaded in it, are this session's.
    fn new_coroutine(&self, function: Function) -> mlua::Result<Thread> {
        let coroutine = self.host.lua.create_thread(function)?;
        let arguments = (coroutine.clone(), self.globals.clone());
        // SAFETY: the stack holds the coroutine and the table; the call takes the table and leaves the coroutine.
        unsafe {
            self.host.lua.exec_raw::<()>(arguments, |state| {
                ffi::lua_setfenv(state, -2);
                ffi::lua_settop(state, 0);
            })?;
        }
        Ok(coroutine)
    }

    /// Runs a function that waits for nothing but what blocks.
    fn run_now(&self, function: Function, arguments: impl IntoLuaMulti) -> Result<(), ScriptError> {
        let coroutine = self.new_coroutine(function).map_err(script_error)?;
        coroutine.resume::<()>(arguments).map_err(script_error)?;
        match coroutine.status() {
            ThreadStatus::Resumable => Err(ScriptError::new(YIELDED)),
            _ => Ok(()),
        }
    }

    /// The options that the script declares, by name.
    ///
    /// # Errors
    /// When a declaration makes no sense.
    pub(super) fn declared_options(&self) -> Result<Vec<ScriptOption>, ScriptError> {
        let list: Function = self.prelude.get("declared_options").map_err(script_error)?;
        let list: Vec<Vec<Value>> = list.call(()).map_err(script_error)?;
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => Some(text.to_string_lossy()),
            _ => None,
        };
        let option = |parts: &Vec<Value>| {
            let kind = parts.iter().rev().find_map(Value::as_integer);
            ScriptOption {
                name: text(parts.first()).unwrap_or_default(),
                description: text(parts.get(1)).unwrap_or_default(),
                default: text(parts.get(2)),
                kind: option_type(kind.unwrap_or(5)),
                is_checked: parts.get(4).is_some_and(|own| own.as_boolean() == Some(true)),
            }
        };
        Ok(list.iter().map(option).collect())
    }

    /// Whether the script takes this text for its option.
    ///
    /// # Errors
    /// What the script raised.
    pub(super) fn accepts_option(&self, name: &str, text: &str) -> Result<bool, ScriptError> {
        let accepts: Function = self.prelude.get("accepts_option").map_err(script_error)?;
        accepts.call((name, text)).map_err(script_error)
    }

    /// Fills `sysbench.opt`, where `threads` is how many there really are, and the globals of a script that declares no options.
    ///
    /// # Errors
    /// When a value does not fit its option.
    pub(super) fn export_options(&self, threads: usize) -> Result<(), ScriptError> {
        let declared = self.declared_options()?;
        let mut values = self.setup.options.clone();
        values.retain(|(name, _)| name != "threads");
        values.push(("threads".to_owned(), ScriptValue::Number(threads as f64)));
        for option in &declared {
            let name = option.name.replace('-', "_");
            let given = self.setup.given.iter().rev().find(|(given, _)| *given == name);
            let text = given.map(|(_, text)| text.as_str()).or(option.default.as_deref());
            let value = match text {
                Some(text) => option.value_from(text).ok_or_else(|| {
                    let shown = option.name.replace('_', "-");
                    ScriptError::new(format!("Invalid value for the '{shown}' option: '{text}'"))
                })?,
                None => empty_value(option.kind),
            };
            values.push((name, value));
        }
        self.set_options(&values, declared.is_empty()).map_err(script_error)
    }

    fn set_options(&self, values: &[(String, ScriptValue)], is_legacy: bool) -> mlua::Result<()> {
        let globals = &self.globals;
        let sysbench: Table = globals.get("sysbench")?;
        let opt = self.host.lua.create_table()?;
        for (name, value) in values {
            let value = self.lua_value(value)?;
            if is_legacy && !globals.get::<Value>(name.as_str())?.is_function() {
                globals.set(name.as_str(), value.clone())?;
            }
            opt.set(name.as_str(), value)?;
        }
        sysbench.set("opt", &opt)?;
        if is_legacy {
            for (name, text) in &self.setup.given {
                globals.set(name.as_str(), text.as_str())?;
                opt.set(name.as_str(), text.as_str())?;
            }
        }
        Ok(())
    }

    fn lua_value(&self, value: &ScriptValue) -> mlua::Result<Value> {
        Ok(match value {
            ScriptValue::Nil => Value::Nil,
            ScriptValue::Switch(on) => Value::Boolean(*on),
            ScriptValue::Number(number) => Value::Number(*number),
            ScriptValue::Text(text) => Value::String(self.host.lua.create_string(text)?),
            ScriptValue::List(list) => {
                Value::Table(self.host.lua.create_sequence_from(list.clone())?)
            }
        })
    }

    /// Whether the script defines this function.
    pub(super) fn has_function(&self, name: &str) -> bool {
        self.globals.get::<Value>(name).is_ok_and(|value| value.is_function())
    }

    /// Calls in the script's texts that hold a whole thread while they wait.
    pub(super) fn blocking_calls(&self) -> Vec<String> {
        self.host.table.get("blocking").unwrap_or_default()
    }

    /// Whether the script brings its own loop over events.
    pub(super) fn replaces_thread_run(&self) -> bool {
        let own: mlua::Result<Value> = self.globals.get("thread_run");
        own.is_ok_and(|own| own != self.prelude.get::<Value>("thread_run").unwrap_or(Value::Nil))
    }

    /// The script's commands, and whether each runs on all threads.
    pub(super) fn commands(&self) -> Vec<(String, bool)> {
        let list = || -> mlua::Result<Vec<(String, bool)>> {
            let sysbench: Table = self.globals.get("sysbench")?;
            let commands: Table = sysbench.get::<Table>("cmdline")?.get("commands")?;
            let pairs = commands.pairs::<String, Table>();
            pairs.map(|pair| pair.and_then(|(name, what)| Ok((name, what.get(2)?)))).collect()
        };
        let mut all = list().unwrap_or_default();
        all.sort();
        all
    }

    /// Runs one of the script's commands; says whether it succeeded.
    ///
    /// # Errors
    /// What the script raised.
    pub(super) async fn call_command(&self, name: &str) -> Result<bool, ScriptError> {
        let function = self.sysbench_function("cmdline", "call_command").map_err(script_error)?;
        let name = self.host.lua.create_string(name).map_err(script_error)?;
        let result = self.drive(function, MultiValue::from_iter([Value::String(name)])).await?;
        Ok(result.as_boolean() != Some(false))
    }

    fn sysbench_function(&self, table: &str, name: &str) -> mlua::Result<Function> {
        self.globals.get::<Table>("sysbench")?.get::<Table>(table)?.get(name)
    }

    /// Calls a function of the script with its thread's number, if there is one.
    ///
    /// # Errors
    /// What the script raised.
    pub(super) async fn call_hook(
        &self,
        name: &str,
        thread: Option<usize>,
    ) -> Result<(), ScriptError> {
        if !self.has_function(name) {
            return Ok(());
        }
        let function: Function = self.globals.get(name).map_err(script_error)?;
        let arguments = thread.map(|thread| Value::Integer(thread as i64));
        self.drive(function, MultiValue::from_iter(arguments)).await.map(|_| ())
    }

    /// Calls a report's hook, or one of the ready-made reports; says whether there was one.
    ///
    /// # Errors
    /// What the script raised.
    pub(super) fn call_report(
        &self,
        hook: &str,
        values: &[(&str, f64)],
    ) -> Result<bool, ScriptError> {
        let call = || -> mlua::Result<bool> {
            let sysbench: Table = self.globals.get("sysbench")?;
            let found: Value = sysbench.get::<Table>("hooks")?.get(hook)?;
            let Value::Function(report) = found else { return Ok(false) };
            let stat = self.host.lua.create_table()?;
            for (name, value) in values {
                stat.set(*name, *value)?;
            }
            report.call::<()>(stat)?;
            Ok(true)
        };
        call().map_err(script_error)
    }

    /// Runs a function as a coroutine, and does what it asks for whenever it waits.
    async fn drive(&self, function: Function, arguments: MultiValue) -> Result<Value, ScriptError> {
        let coroutine = self.new_coroutine(function).map_err(script_error)?;
        let mut result = coroutine.resume::<MultiValue>(arguments);
        loop {
            let values = result.map_err(script_error)?;
            if coroutine.status() != ThreadStatus::Resumable {
                return Ok(values.into_iter().next().unwrap_or(Value::Nil));
            }
            if self.context().request == ScriptRequest::None {
                return Err(ScriptError::new(YIELDED));
            }
            let status = perform_request(self.context()).await;
            result = coroutine.resume::<MultiValue>(status);
        }
    }
}

/// The prelude's table and the globals of a new session.
fn new_tables(host: &LuaHost, setup: &ScriptSetup) -> mlua::Result<(Table, Table)> {
    let new_globals: Function = host.table.get("new_globals")?;
    let paths = (module_path(setup), c_module_path());
    Ok((host.lua.create_table()?, new_globals.call(paths)?))
}

fn empty_value(kind: ScriptOptionType) -> ScriptValue {
    match kind {
        ScriptOptionType::Text => ScriptValue::Text(String::new()),
        // As sysbench has it: what has no value is on.
        ScriptOptionType::Bool => ScriptValue::Switch(true),
        ScriptOptionType::List => ScriptValue::List(Vec::new()),
        ScriptOptionType::Int | ScriptOptionType::Size | ScriptOptionType::Double => {
            ScriptValue::Number(0.0)
        }
        ScriptOptionType::Null | ScriptOptionType::File => ScriptValue::Nil,
    }
}

fn option_type(number: i64) -> ScriptOptionType {
    match number {
        0 => ScriptOptionType::Null,
        1 => ScriptOptionType::Bool,
        2 => ScriptOptionType::Int,
        3 => ScriptOptionType::Size,
        4 => ScriptOptionType::Double,
        6 => ScriptOptionType::List,
        7 => ScriptOptionType::File,
        _ => ScriptOptionType::Text,
    }
}

/// What `sysbench.cmdline.script_path` holds.
fn script_name(source: &ScriptSource) -> Option<String> {
    match source {
        ScriptSource::Path(path) => Some(path.display().to_string()),
        ScriptSource::Module(name) => Some(name.clone()),
        ScriptSource::Text { .. } => None,
    }
}

/// An error of Lua as message and calls.
fn script_error(error: mlua::Error) -> ScriptError {
    let text = match &error {
        mlua::Error::RuntimeError(text) => text.clone(),
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        mlua::Error::CallbackError { traceback, cause } => format!("{cause}\n{traceback}"),
        other => other.to_string(),
    };
    let (message, traceback) = match text.split_once("\nstack traceback:") {
        Some((message, calls)) => (message, format!("stack traceback:{calls}")),
        None => (text.as_str(), String::new()),
    };
    // Errors raised within errors repeat the calls.
    let traceback = traceback.split("\nstack traceback:").next().unwrap_or_default().to_owned();
    let is_object = message == "nil" || message.starts_with("table: 0x");
    let message = if is_object { NOT_TEXT } else { message };
    ScriptError { message: message.to_owned(), traceback }
}
