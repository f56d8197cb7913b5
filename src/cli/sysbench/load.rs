//! Runs a load and prints it as sysbench does: the options, a line for each interval, checkpoints, the report.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::FAILED;
use super::console::{SysbenchConsole, print_complaint};
use super::printer::{LoadPrinter, ReportHook, TOLERANCE_S};
use super::server::{is_timeout, try_session};
use super::settings::{CommonSettings, OutputFormat};
use super::signals::ending_signal;
use crate::base::{Clock as _, Nanos, RealClock, Stop, StopReason};
use crate::client::Target;
use crate::experiment::{self, LoadListener, NoSessionError};
use crate::plan::{ArrivalPlan, LoadPlan};
use crate::recorder::Recording;
use crate::report::sysbench as texts;
use crate::report::sysbench::TestFamily;
use crate::workload::Workload;

/// Exit code of a run that was cut, or did not get its sessions in time.
const CUT: u8 = 2;
/// Longer than any load: who does not want to be cut waits.
const NEVER: Duration = Duration::from_secs(365 * 86_400);
/// Arrivals that sysbench can queue.
const QUEUED: u64 = 131_072;
/// A test that is ready to run.
pub(super) struct LoadTest<'a> {
    pub(super) name: &'a str,
    pub(super) family: TestFamily,
    /// Whether it is a script, whose statements decide what its reports show.
    pub(super) is_script: bool,
    /// Reports that a script makes itself.
    pub(super) hook: Option<ReportHook<'a>>,
    /// Says what is behind a failure, given its words.
    pub(super) explain: Option<&'a dyn Fn(&str)>,
    /// What it says of itself before its threads start.
    pub(super) intro: String,
    pub(super) workload: &'a dyn Workload,
    /// The server that it needs, if any.
    pub(super) target: Option<&'a Target>,
    /// The events after which it ends by itself, or is told to; 0 where it goes on.
    pub(super) most_events: u64,
    /// Whether lost sessions are opened again.
    pub(super) reconnect: bool,
    /// Whether statements are sent as text.
    pub(super) as_text: bool,
    pub(super) settings: &'a CommonSettings,
    pub(super) stop: &'a Stop,
}

impl CommonSettings {
    /// Prints the options of a run, and that threads are started.
    pub(super) fn print_start(&self, intro: &str) {
        self.print_preamble(intro);
        if self.format == OutputFormat::Text {
            self.console.print_notice("Initializing worker threads...\n\n");
        }
    }

    /// Prints the options of a run, and what the test says of itself.
    pub(super) fn print_preamble(&self, intro: &str) {
        if self.format == OutputFormat::Text {
            self.console.print_notice(&texts::preamble_text(&self.preamble));
            self.console.print_notice(intro);
        }
    }

    /// The seed of a run: another one each time, unless one was given.
    pub(super) fn run_seed(&self) -> u64 {
        match self.seed {
            0 => RealClock::start_now().origin_unix_ns().max(1),
            seed => seed,
        }
    }

    /// The load that is asked for.
    fn load_plan(&self, reconnect: bool) -> LoadPlan {
        let cut = self.forced_shutdown_s.map_or(NEVER, Duration::from_secs);
        LoadPlan {
            workers: self.threads,
            arrival: match self.rate {
                rate @ 1.. => ArrivalPlan::Poisson { per_second: rate as f64 },
                _ => ArrivalPlan::default(),
            },
            time: (self.time_s > 0).then(|| Duration::from_secs(self.time_s + self.warmup_s)),
            events: (self.events > 0).then_some(self.events),
            interval: self.tick(),
            reconnect,
            grace: cut,
            all_sessions: true,
            ..LoadPlan::default()
        }
    }

    /// The longest interval that ends whenever something is to be printed.
    fn tick(&self) -> Duration {
        let seconds = self.checkpoints.iter().chain([&self.warmup_s]).map(|s| s * 1000);
        let every = self.report_interval.as_millis() as u64;
        let all = seconds.chain([every]).filter(|ms| *ms > 0).fold(0, greatest_divisor);
        Duration::from_millis(if all == 0 { 1000 } else { all.max(10) })
    }
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// Runs a test; gives the exit code.
pub(super) fn run_test(test: &LoadTest<'_>) -> u8 {
    let (settings, console) = (test.settings, test.settings.console);
    settings.print_start(&test.intro);
    if let Some(target) = test.target {
        if let Err(error) = try_session(target, console) {
            if is_timeout(&error) {
                return init_timeout(settings);
            }
            let failed = "function failed";
            let name = test.name;
            console.print_fatal(&format!(
                "`thread_init' {failed}: {name}: connection creation failed"
            ));
            console.print_fatal("Thread initialization failed!");
            return FAILED;
        }
    }
    if settings.rate < 0 {
        return fill_queue(test);
    }
    let mut printer = LoadPrinter::new(test);
    let is_text = settings.format == OutputFormat::Text;
    let begun = Arc::new(AtomicBool::new(false));
    watch_start(settings, begun.clone());
    let mut started = || {
        begun.store(true, Ordering::Relaxed);
        if is_text {
            for thread in 0..settings.threads {
                console.print_debug(&format!("Worker thread (#{thread}) started"));
                console.print_debug(&format!("Worker thread (#{thread}) initialized"));
            }
            console.print_notice("Threads started!\n\n");
            if settings.warmup_s > 0 {
                let seconds = settings.warmup_s;
                console.print_notice(&format!("Warming up for {seconds} seconds...\n\n"));
            }
        }
    };
    let load = settings.load_plan(test.reconnect);
    let listener = LoadListener {
        started: &mut started,
        interval: &mut |interval| printer.add_interval(interval),
    };
    let seed = settings.run_seed();
    let ran = experiment::run_bare_load(&load, seed, test.workload, test.stop, listener);
    begun.store(true, Ordering::Relaxed);
    match ran {
        Ok(recording) => end_test(test, &printer, &recording),
        Err(error) => {
            if let Some(none) = error.downcast_ref::<NoSessionError>() {
                if none.why.contains("no answer within") {
                    return init_timeout(settings);
                }
                print_prepare_error(test, &none.why);
            } else {
                console.print_fatal(&format!("{error:#}"));
            }
            console.print_fatal("Thread initialization failed!");
            FAILED
        }
    }
}

/// A rate below zero: for sysbench all arrivals are due at once, and without a report it ends with an error as soon as they fill its
/// queue, or when there are no more.
fn fill_queue(test: &LoadTest<'_>) -> u8 {
    let console = test.settings.console;
    if test.settings.format == OutputFormat::Text {
        console.print_notice("Threads started!\n\n");
    }
    if test.most_events == 0 || test.most_events > QUEUED {
        console.print_fatal(
            "The event queue is full. This means the worker threads are unable to keep up with \
             the specified event generation rate",
        );
    }
    FAILED
}

/// Ends the program when its threads have not begun in time, whatever they are doing.
fn watch_start(settings: &CommonSettings, begun: Arc<AtomicBool>) {
    let (seconds, console) = (settings.init_timeout_s, settings.console);
    let watch = move || {
        let clock = RealClock::start_now();
        clock.sleep_until(clock.now() + Nanos::from(Duration::from_secs(seconds)));
        if !begun.load(Ordering::Relaxed) {
            print_init_timeout(console, seconds);
            #[expect(clippy::exit, reason = "threads that hang can't be waited for")]
            std::process::exit(i32::from(CUT));
        }
    };
    // Without the thread, nothing is watched.
    let _ = std::thread::Builder::new().name("init timeout".to_owned()).spawn(watch);
}

fn init_timeout(settings: &CommonSettings) -> u8 {
    print_init_timeout(settings.console, settings.init_timeout_s);
    CUT
}

fn print_init_timeout(console: SysbenchConsole, seconds: u64) {
    console.print_fatal(&format!("Worker threads failed to initialize within {seconds} seconds!"));
}

/// A session that could not be made ready: `server error 1146 (42S02): text` as sysbench says it.
fn print_prepare_error(test: &LoadTest<'_>, why: &str) {
    let console = test.settings.console;
    if test.is_script {
        if let Some(explain) = test.explain {
            explain(why);
        }
        console.print_fatal(&format!("`thread_init' function failed: {why}"));
        return;
    }
    let parts = why.strip_prefix("server error ").and_then(|rest| rest.split_once(' '));
    let parts = parts.and_then(|(code, rest)| Some((code, rest.split_once("): ")?.1)));
    match parts {
        Some((code, text)) => {
            console.print_fatal("mysql_stmt_prepare() failed");
            console.print_fatal(&format!("MySQL error: {code} \"{text}\""));
        }
        None => console.print_fatal(why),
    }
    console.print_fatal(&format!("`thread_init' function failed: {}: SQL API error", test.name));
}

fn end_test(test: &LoadTest<'_>, printer: &LoadPrinter<'_>, recording: &Recording) -> u8 {
    let (settings, console) = (test.settings, test.settings.console);
    let mut code = 0;
    if let Some(why) = &recording.failure {
        print_failure(test, why, recording.failure_count);
        // All events had ended: there is a report all the same.
        if !why.starts_with("`thread_done'") {
            return FAILED;
        }
        code = if settings.strict { 0 } else { FAILED };
    }
    if recording.reason == StopReason::TargetLost {
        console.print_fatal("all connections to the server are lost");
        return FAILED;
    }
    let cut = (settings.forced_shutdown_s.is_some() && recording.abandoned > 0)
        .then_some(recording.abandoned);
    if cut.is_some() {
        console.print_fatal("The --max-time limit has expired, forcing shutdown...");
    } else if recording.reason == StopReason::Done && settings.format == OutputFormat::Text {
        let is_timed =
            settings.time_s > 0 && printer.total_s + TOLERANCE_S >= settings.time_s as f64;
        let limit = if is_timed { "Time" } else { "Event" };
        // Tests that end by themselves reach no limit.
        let has_limit = is_timed || !["memory", "mutex"].contains(&test.name);
        if has_limit {
            console.print_detail(&format!("{limit} limit exceeded, exiting...\n"));
        }
        if has_limit && console.shows_details() {
            console.print_repeats(settings.threads - 1);
        }
        console.print_detail("Done.\n\n");
    }
    printer.print_end(cut);
    if recording.longest_outage_ns > 0 && !settings.strict {
        let outage_s = recording.longest_outage_ns as f64 / 1e9;
        print_complaint(&format!(
            "NOTE: connections were lost and opened again; the longest was without a server for \
             {outage_s:.3} s."
        ));
    }
    let unbegun = recording.total.unbegun.len();
    // At the end of any load some are about to begin.
    if unbegun > settings.threads as u64 && !settings.strict {
        let wait_s = recording.total.unbegun.max_ns() as f64 / 1e9;
        print_complaint(&format!(
            "WARNING: {unbegun} events were due and never began; the first of them had waited \
             {wait_s:.1} s. No latency above counts them."
        ));
    }
    match (cut, recording.reason) {
        (Some(_), _) => CUT,
        (None, StopReason::Interrupted) => ending_signal(),
        (None, _) => code,
    }
}

/// What ended a load: an error of the server, or something of ours.
fn print_failure(test: &LoadTest<'_>, why: &str, threads: usize) {
    let console = test.settings.console;
    if !why.starts_with("error ") {
        let (said, trace) = why.split_once("\nstack traceback:").unwrap_or((why, ""));
        if let Some(explain) = test.explain {
            explain(said);
        }
        console.print_fatal(said);
        // The first that fails in an event ends the others.
        if !said.starts_with("`thread_run'") {
            console.print_repeats(threads.saturating_sub(1));
        }
        if !trace.is_empty() && !test.settings.strict {
            print_complaint(&format!("stack traceback:{trace}"));
        }
        if why.starts_with("`thread_init'") {
            console.print_fatal("Thread initialization failed!");
        }
        return;
    }
    let call = if test.as_text { "mysql_drv_query()" } else { "mysql_stmt_execute()" };
    console.print_fatal(&format!("{call} returned {why}"));
    let text = why.split(" for query '").next().unwrap_or(why);
    console.print_fatal(&format!("`thread_run' function failed: {}: SQL {text}", test.name));
}
