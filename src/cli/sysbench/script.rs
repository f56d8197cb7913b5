//! Scripts of sysbench: what they are given from the command line, their commands, their load.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::console::{SysbenchConsole, print_complaint, print_now};
use super::help_text::script_help;
use super::load::{LoadTest, run_test};
use super::lookup::SCRIPT_FOLDERS;
use super::option_table::{ArgKind, OptionSource, all_options, is_common};
use super::printer::ReportMoment;
use super::reader::{SysbenchWords, WordsError, read_lax_number, read_size, read_switch};
use super::server::{address_targets, check_driver, print_script_connect_error};
use super::settings::CommonSettings;
use super::{FAILED, OK, fail_words};
use crate::base::Stop;
use crate::base::distribution::DistributionOptions;
use crate::client::Target;
use crate::report::sysbench::TestFamily;
use crate::workload::ErrorRule;
use crate::workload::lua::{
    DriverSettings, LuaWorkload, RandomSettings, ReportState, ScriptError, ScriptInfo,
    ScriptOption, ScriptOptionType, ScriptPrinter, ScriptSetup, ScriptSource, ScriptValue,
    find_refused_value, read_script, run_command,
};

/// Commands that every script may have without declaring them.
const PLAIN_COMMANDS: [&str; 4] = ["prepare", "run", "cleanup", "help"];
/// Errors of statements that the server finds when they are prepared.
const PREPARE_ERRORS: [u32; 7] = [1049, 1054, 1064, 1142, 1146, 1295, 1461];

/// A script as it was named.
struct ScriptTest<'a> {
    source: ScriptSource,
    words: &'a SysbenchWords,
    /// All words that were typed.
    typed: &'a [String],
    settings: &'a CommonSettings,
    stop: &'a Stop,
}

/// A script in a file.
pub(super) fn run_script(
    path: &Path,
    words: &SysbenchWords,
    typed: &[String],
    settings: &CommonSettings,
    stop: &Stop,
) -> u8 {
    let source = ScriptSource::Path(path.to_owned());
    ScriptTest { source, words, typed, settings, stop }.run()
}

/// A script on standard input: its top level is run, whatever the command.
pub(super) fn run_input(
    words: &SysbenchWords,
    typed: &[String],
    settings: &CommonSettings,
    stop: &Stop,
) -> u8 {
    let mut text = String::new();
    if let Err(error) = std::io::Read::read_to_string(&mut std::io::stdin(), &mut text) {
        settings.console.print_fatal(&format!("stdin: {error}"));
        return FAILED;
    }
    let source = ScriptSource::Text { name: "stdin".to_owned(), text };
    let test = ScriptTest { source, words, typed, settings, stop };
    match test.setup(Vec::new()).map(|setup| read_script(&setup)) {
        Ok(Ok(_)) => OK,
        Ok(Err(error)) => test.fail(&error.message),
        Err(fatal) => test.fail(&fatal),
    }
}

impl ScriptTest<'_> {
    fn fail(&self, fatal: &str) -> u8 {
        self.settings.console.print_fatal(fatal);
        FAILED
    }

    /// The name of the test, as messages use it.
    fn name(&self) -> String {
        let typed = self.words.test.as_deref().unwrap_or_default();
        typed.rsplit('/').next().unwrap_or(typed).to_owned()
    }

    /// Does what the command says.
    fn run(&self) -> u8 {
        let mut setup = match self.setup(Vec::new()) {
            Ok(setup) => setup,
            Err(fatal) => return self.fail(&fatal),
        };
        // The top level says what the script is; what it prints counts only if nothing else runs it.
        let printed: Arc<Mutex<Vec<u8>>> = Arc::default();
        let kept = printed.clone();
        let keep = move |text: &[u8]| {
            kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(text);
        };
        let info = read_script(&ScriptSetup { printer: Some(Arc::new(keep)), ..setup.clone() });
        let show = || {
            let printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
            print_now(&String::from_utf8_lossy(&printed));
        };
        let info = match info {
            Ok(info) => info,
            Err(error) => {
                show();
                return self.fail(&error.message);
            }
        };
        let Some(command) = self.words.command.as_deref() else {
            show();
            return OK;
        };
        setup.given = match self.given_values(&info.options) {
            Ok(given) => given,
            Err(error) => {
                show();
                return fail_words(&error);
            }
        };
        match find_refused_value(&setup, &info.options, &setup.given) {
            Ok(None) => {}
            Ok(Some(at)) => {
                let (name, value) = &setup.given[at];
                let name = name.replace('_', "-");
                return fail_words(&WordsError(format!("invalid option: --{name}={value}")));
            }
            Err(error) => return self.fail(&error.message),
        }
        let has_own = info.commands.iter().any(|(name, _)| name == command);
        if has_own {
            return self.run_command(&setup, command, &info);
        }
        match command {
            "run" => self.run_load(&setup),
            "help" if !info.functions.contains(&"help") && !info.options.is_empty() => {
                show();
                let text = script_help(&self.name(), &info.options);
                self.settings.console.print_notice(&text);
                OK
            }
            _ if info.functions.contains(&command) => self.run_command(&setup, command, &info),
            _ if PLAIN_COMMANDS.contains(&command) => {
                show();
                let name = self.name();
                fail_words(&WordsError(format!(
                    "'{name}' test does not implement the '{command}' command."
                )))
            }
            _ => {
                show();
                fail_words(&WordsError(format!("Unknown command: {command}")))
            }
        }
    }

    /// Values for the options that the script declares; for one that declares none, all that were typed.
    fn given_values(&self, declared: &[ScriptOption]) -> Result<Vec<(String, String)>, WordsError> {
        let plain = |name: &str| name.replace('-', "_");
        let mut given = Vec::new();
        for other in &self.words.others {
            let value = other.value.clone();
            let name = plain(&other.name);
            let option = declared.iter().find(|option| plain(&option.name) == name);
            let text = value.clone().unwrap_or_default();
            let is_refused = option.is_some_and(|option| {
                option.kind == ScriptOptionType::Bool && read_switch(value.as_deref()).is_none()
            });
            if is_refused || (option.is_none() && !declared.is_empty() && other.is_typed) {
                return Err(WordsError(format!("invalid option: {}", other.typed_text())));
            }
            let text = match option.map(|option| option.kind) {
                Some(ScriptOptionType::Bool) if value.is_none() => "on".to_owned(),
                Some(ScriptOptionType::Int) if text.parse::<i64>().is_err() && !text.is_empty() => {
                    return Err(WordsError(format!(
                        "Invalid value for the '{name}' option: '{text}'"
                    )));
                }
                Some(ScriptOptionType::Int | ScriptOptionType::Double) => {
                    read_lax_number(&text).to_string()
                }
                Some(ScriptOptionType::Size) => read_size(&text).to_string(),
                None if !declared.is_empty() => continue,
                _ => text,
            };
            given.push((name, text));
        }
        Ok(given)
    }

    /// What the script is given.
    fn setup(&self, given: Vec<(String, String)>) -> Result<ScriptSetup, String> {
        let (words, settings) = (self.words, self.settings);
        let ignored = words.text("mysql-ignore-errors");
        let ignored = ErrorRule::from_option("mysql-ignore-errors", ignored)
            .map_err(|_| format!("Invalid value for --mysql-ignore-errors: '{ignored}'"))?;
        let targets = address_targets(words, settings)?;
        let targets: Vec<Target> = targets.into_iter().map(Target::with_multi_statements).collect();
        let is_text = words.text("db-ps-mode") == "disable";
        let number = |name: &str| read_lax_number(words.text(name));
        let shape = DistributionOptions {
            spec_iter: number("rand-spec-iter").max(0.0) as u32,
            spec_pct: number("rand-spec-pct"),
            spec_res: number("rand-spec-res"),
            pareto_h: number("rand-pareto-h"),
            zipfian_exp: number("rand-zipfian-exp"),
        };
        let console = settings.console;
        let first = targets.first().cloned();
        let fatal_printer = move |code: u32, text: &str, query: Option<&str>| match query {
            // We gave it up ourselves.
            _ if text.contains("stopped while waiting") => {}
            Some(query) => print_statement_error(console, code, text, query, is_text),
            None => print_script_connect_error(first.as_ref(), code, text, console),
        };
        Ok(ScriptSetup {
            source: self.source.clone(),
            module_dirs: SCRIPT_FOLDERS.iter().map(PathBuf::from).collect(),
            arguments: ["sysbench".to_owned()].iter().chain(self.typed).cloned().collect(),
            command: words.command.clone(),
            options: self.option_values(),
            given,
            driver: Arc::new(DriverSettings {
                targets,
                deals_threads: false,
                dry_run: words.is_on("mysql-dry-run"),
                fill_holes: is_text,
                ignored,
                strict: settings.strict,
            }),
            random: RandomSettings {
                kind: settings.rand_type.clone(),
                shape,
                seed: settings.run_seed(),
            },
            threads: settings.threads,
            printer: Some(print_script_text()),
            fatal_printer: Some(Arc::new(fatal_printer)),
        })
    }

    /// `sysbench.opt` but for the script's own options.
    fn option_values(&self) -> Vec<(String, ScriptValue)> {
        let (words, settings) = (self.words, self.settings);
        let options = all_options()
            .filter(|option| is_common(option.group) && option.source != OptionSource::Sweat);
        let mut values: Vec<(String, ScriptValue)> = options
            .map(|option| {
                let text = words.text(option.name);
                let value = match option.kind {
                    ArgKind::Bool => ScriptValue::Switch(words.is_on(option.name)),
                    ArgKind::Int | ArgKind::IntOrMore | ArgKind::Double => {
                        let first = text.split(',').next().unwrap_or_default();
                        ScriptValue::Number(read_lax_number(first))
                    }
                    ArgKind::Size | ArgKind::SizeNumber => {
                        ScriptValue::Number(read_size(text) as f64)
                    }
                    ArgKind::Text => ScriptValue::Text(text.to_owned()),
                    ArgKind::List => ScriptValue::List(
                        words.list(option.name).into_iter().map(str::to_owned).collect(),
                    ),
                    ArgKind::File => ScriptValue::Nil,
                };
                (option.name.replace('-', "_"), value)
            })
            .collect();
        let effective = [
            ("threads", settings.threads as f64),
            ("events", settings.events as f64),
            ("time", settings.time_s as f64),
            ("rate", settings.rate as f64),
        ];
        for (name, number) in effective {
            values.retain(|(known, _)| known != name);
            values.push((name.to_owned(), ScriptValue::Number(number)));
        }
        if check_driver(words).is_err() {
            // So that a script that asks for the driver hears that there is none.
            values.retain(|(known, _)| known != "db_driver");
            values.push(("db_driver".to_owned(), ScriptValue::Text("none".to_owned())));
        }
        values
    }

    fn run_command(&self, setup: &ScriptSetup, command: &str, info: &ScriptInfo) -> u8 {
        let console = self.settings.console;
        let is_parallel = info.commands.iter().any(|(name, parallel)| name == command && *parallel);
        let on_threads = is_parallel && setup.threads > 1;
        if on_threads {
            console.print_notice("Initializing worker threads...\n\n");
        }
        match run_command(setup, command, self.stop) {
            Ok(()) if self.stop.is_set() => super::signals::ending_signal(),
            Ok(()) => OK,
            Err(error) => {
                if error.message != format!("the command {command} failed") {
                    self.explain_driver(&error.message);
                    let is_own = info.commands.iter().any(|(name, _)| name == command);
                    let name = if is_own { "sysbench.cmdline.call_command" } else { command };
                    console.print_fatal(&format!("`{name}' function failed: {}", error.message));
                    self.show_traceback(&error);
                }
                if on_threads && self.settings.strict { OK } else { FAILED }
            }
        }
    }

    /// Says what is wrong with the driver where a script failed for want of one.
    fn explain_driver(&self, message: &str) {
        if message.contains("failed to initialize the DB driver") {
            if let Err(fatal) = check_driver(self.words) {
                self.settings.console.print_fatal(&fatal);
            }
        }
    }

    fn show_traceback(&self, error: &ScriptError) {
        if !self.settings.strict && !error.traceback.is_empty() {
            print_complaint(&error.traceback);
        }
    }

    fn run_load(&self, setup: &ScriptSetup) -> u8 {
        let (settings, console) = (self.settings, self.settings.console);
        let workload = LuaWorkload::new(setup.clone());
        if let Err(error) = workload.run_init_early(settings.threads, self.stop) {
            self.explain_driver(&error.message);
            match error.message.starts_with("cannot find the event() function") {
                true => self.fail(&error.message),
                false => self.fail(&format!("`init' function failed: {}", error.message)),
            };
            self.show_traceback(&error);
            return FAILED;
        }
        // Reports of intervals, of checkpoints and of the whole load have each their own globals.
        let intervals = RefCell::new(self.report_state(setup));
        let has_checkpoints = !settings.checkpoints.is_empty();
        let checkpoints = has_checkpoints.then(|| self.report_state(setup)).flatten();
        let hook = |moment: ReportMoment, values: &[(&str, f64)]| {
            let call = |state: Option<&ReportState>, name: &str| {
                state.map_or(Ok(false), |state| state.call_hook(name, values))
            };
            let (name, made) = match moment {
                ReportMoment::Interval => {
                    let name = "report_intermediate";
                    (name, call(intervals.borrow().as_ref(), name))
                }
                ReportMoment::Checkpoint => {
                    let name = "report_cumulative";
                    (name, call(checkpoints.as_ref(), name))
                }
                ReportMoment::End => {
                    // What a report prints when its globals go stands above the last one.
                    intervals.take();
                    let name = "report_cumulative";
                    (name, workload.call_final_report(name, values))
                }
            };
            made.unwrap_or_else(|error| {
                console.print_fatal(&format!("`{name}' function failed: {}", error.message));
                true
            })
        };
        let text = match &self.source {
            ScriptSource::Path(path) => std::fs::read_to_string(path).unwrap_or_default(),
            ScriptSource::Text { text, .. } => text.clone(),
            ScriptSource::Module(_) => String::new(),
        };
        let family = if uses_sql(&text) { TestFamily::Sql } else { TestFamily::Plain };
        let code = run_test(&LoadTest {
            name: &self.name(),
            family,
            is_script: true,
            intro: String::new(),
            workload: &workload,
            target: None,
            most_events: settings.events,
            reconnect: false,
            as_text: false,
            hook: Some(&hook),
            explain: Some(&|message| self.explain_driver(message)),
            settings,
            stop: self.stop,
        });
        if code == OK || code > 128 {
            if let Err(error) = workload.run_done_late() {
                console.print_fatal(&format!("`done' function failed: {}", error.message));
                return if settings.strict { OK } else { FAILED };
            }
        }
        code
    }
}

/// Whether a script looks as if it sends statements.
fn uses_sql(text: &str) -> bool {
    ["sysbench.sql", "oltp_common", "db_query", "db_connect", "db_prepare", "con:"]
        .iter()
        .any(|word| text.contains(word))
}

impl ScriptTest<'_> {
    /// The state in which reports run; what its top level prints was printed by others before.
    fn report_state(&self, setup: &ScriptSetup) -> Option<ReportState> {
        let is_open = Arc::new(AtomicBool::new(false));
        let (open, print) = (is_open.clone(), print_script_text());
        let printer = move |text: &[u8]| {
            if open.load(Ordering::Relaxed) {
                print(text);
            }
        };
        let setup = ScriptSetup { printer: Some(Arc::new(printer)), ..setup.clone() };
        let state = ReportState::new(&setup).ok();
        is_open.store(true, Ordering::Relaxed);
        state
    }
}

/// What scripts print goes to standard output at once.
fn print_script_text() -> ScriptPrinter {
    Arc::new(|text: &[u8]| {
        let mut out = std::io::stdout().lock();
        let _ = std::io::Write::write_all(&mut out, text);
        let _ = std::io::Write::flush(&mut out);
    })
}

/// A statement that the server refused, as sysbench says it.
fn print_statement_error(
    console: SysbenchConsole,
    code: u32,
    text: &str,
    query: &str,
    is_text: bool,
) {
    let is_prepared = !is_text && query.contains('?');
    if is_prepared && PREPARE_ERRORS.contains(&code) {
        console.print_fatal("mysql_stmt_prepare() failed");
        console.print_fatal(&format!("MySQL error: {code} \"{text}\""));
        return;
    }
    let call = if is_prepared { "mysql_stmt_execute()" } else { "mysql_drv_query()" };
    console.print_fatal(&format!("{call} returned error {code} ({text}) for query '{query}'"));
}
