//! `sweat watch`: samples of a server without a load.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::arguments::{ArgReader, OUTPUT_HEADING, switch_flag, value_flag};
use super::connection;
use super::context::CliContext;
use super::exit::CommandOutcome;
#[cfg(feature = "live-view")]
use super::live::LiveWatchView;
#[cfg(not(feature = "live-view"))]
use super::no_live_view::AbsentWatchView as LiveWatchView;
use crate::analysis::number_format::{format_count, format_plural};
use crate::archive::{RunCommand, RunState, ServerRecord, WatchEvent};
use crate::base::kernel::{folder_bytes, local_time};
use crate::base::units::{ByteSize, parse_share, show_bytes, show_duration, show_time};
use crate::client::Target;
use crate::experiment::{FinishedWatch, WatchListener, run_watch};
use crate::plan::{DEFAULT_RUNS_DIR, Mistake, Trigger, WatchLimits, WatchPlan};
use crate::probe::{CLASSIC_PROBES, ProbeSample, find_probes};
use crate::server::sandbox::ProcessId;

/// Lines that are kept while the view stands there.
const HELD: usize = 20;
/// Samples closer than this cost more than they tell.
const CLOSEST: Duration = Duration::from_millis(100);
/// Segments shorter than this are more folders than samples.
const SHORTEST_SEGMENT: Duration = Duration::from_secs(10);

pub(super) fn command() -> Command {
    let command = Command::new("watch")
        .about("Sample a server without a load, for hours or weeks")
        .long_about(
            "Sample a server's state without a load, at multiples of an interval on the wall \
             clock, into a folder with a segment per hour. A server that goes away is waited for. \
             Ctrl-C ends it.",
        )
        .args([
            value_flag("every", "TIME").default_value("5s").help("Time between two samples"),
            value_flag("for", "TIME").help("How long [default: until Ctrl-C]"),
            value_flag("while-file", "FILE").help("End when this file is removed"),
            value_flag("pid", "PID").help("End when this process ends"),
            value_flag("probes", "NAME,..")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help("What to sample [default: everything; see docs/probes.md]"),
            value_flag("rotate", "TIME")
                .default_value("1h")
                .help("Start a new segment at each multiple of this time"),
            switch_flag("unredacted").help("Keep values in other sessions' statements"),
        ])
        .args(incident_flags())
        .args(
            [
                value_flag("keep", "TIME")
                    .default_value("30d")
                    .help("Remove segments older than this"),
                value_flag("max-disk", "SIZE").default_value("2G").help("Most disk space to use"),
                value_flag("min-free", "SHARE,SIZE")
                    .default_value("5%,100MiB")
                    .help("Disk space to leave free: the larger of both"),
            ]
            .map(|arg| arg.help_heading("Limits")),
        )
        .args(
            [
                value_flag("classic", "DIR")
                    .help("Also write hourly text files, as shell capture scripts do"),
                value_flag("name", "NAME").help("Name in the folder's name [default: watch]"),
                value_flag("runs-dir", "DIR")
                    .default_value(DEFAULT_RUNS_DIR)
                    .help("Folder with run folders"),
                switch_flag("plain").help("Print a line per event instead of the live view"),
                switch_flag("quiet").short('q').help("Print only the summary"),
            ]
            .map(|arg| arg.help_heading(OUTPUT_HEADING)),
        )
        .after_help(
            "Examples:\n  \
             sweat watch -S /run/mysqld/mysqld.sock\n  \
             sweat watch -h db1 -u monitor -p --every 1s --for 1h\n  \
             sweat watch --while-file /tmp/watching --probes status,host\n  \
             sweat watch --when 'Threads_running > 50 for 3s' --keep 7d --max-disk 1G\n  \
             sweat watch --when 'processlist(Waiting for table) > 5' --pid 4711\n  \
             sweat watch --when 'p99 > 20ms for 3s' --pause 10m\n  \
             sweat watch --classic /var/tmp/capture",
        );
    connection::add_address_flags(command)
}

fn incident_flags() -> [Arg; 4] {
    [
        value_flag("when", "TRIGGER").action(ArgAction::Append).help(
            "Keep the minute before, and more, as in 'Threads_running > 50 for 3s' or \
             'rate(Innodb_row_lock_waits) > 100'",
        ),
        value_flag("after", "TIME")
            .default_value("30s")
            .help("How long an incident is kept after it began"),
        value_flag("pause", "TIME")
            .default_value("5m")
            .help("Least time between two incidents of one trigger"),
        value_flag("incidents-per-day", "N").default_value("20").help("Most of them"),
    ]
    .map(|arg| arg.help_heading("Incidents"))
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let plan = plan_from_args(args)?;
    let target = Target::new(&connection::resolve_address(args, context)?)?;
    let is_quiet = args.get_flag("quiet");
    let is_live = context.terminal.live && !is_quiet && !args.get_flag("plain");
    let (view, held) = (None, VecDeque::new());
    let mut listener = WatchDisplay { context, plan: &plan, is_quiet, is_live, view, held };
    let origin = context.run_origin(RunCommand::Watch, args);
    let finished = run_watch(&plan, &target, origin, &context.stop, &mut listener);
    drop(listener);
    let finished = finished?;
    context.print_output(&summary_text(&finished, &plan))?;
    Ok(match finished.state {
        RunState::Interrupted => CommandOutcome::Interrupted,
        _ => CommandOutcome::Done,
    })
}

/// The plan that the words make.
fn plan_from_args(args: &ArgMatches) -> anyhow::Result<WatchPlan> {
    let mut reader = ArgReader::new(args);
    let every = reader.read_time("every");
    let rotate = reader.read_time("rotate");
    let time = args.contains_id("for").then(|| reader.read_time("for"));
    let probes: Vec<String> = args.get_many("probes").into_iter().flatten().cloned().collect();
    if let Err(mistake) = find_probes(&probes) {
        reader.add_mistake(mistake);
    }
    let is_classic = |name: &String| CLASSIC_PROBES.contains(&name.as_str());
    if args.contains_id("classic") && !probes.is_empty() && !probes.iter().any(is_classic) {
        let why = format!("these files hold {}, and --probes has none", CLASSIC_PROBES.join(", "));
        reader
            .add_mistake(Mistake::new("--classic", why).hint("name one of them, or leave it out"));
    }
    let mut check_least = |flag: &str, time: Duration, least: Duration| {
        if time < least {
            let why = format!("{} is too short", show_time(time));
            let hint = format!("at least {}", show_time(least));
            reader.add_mistake(Mistake::new(flag, why).hint(hint));
        }
    };
    check_least("--every", every, CLOSEST);
    check_least("--rotate", rotate, SHORTEST_SEGMENT.max(every));
    let limits = WatchLimits {
        keep: Some(reader.read_time("keep")),
        max_disk_bytes: reader.read_bytes("max-disk", "there is no pool here"),
        ..reader.read_value("min-free", parse_min_free).unwrap_or_default()
    };
    let mut triggers = Vec::new();
    for text in args.get_many::<String>("when").into_iter().flatten() {
        match Trigger::parse(text) {
            Ok(trigger) => triggers.push(trigger),
            Err(e) => {
                reader.add_mistake(Mistake::new("--when", e.to_string()).hint(e.hint.clone()));
            }
        }
    }
    let (after, pause) = (reader.read_time("after"), reader.read_time("pause"));
    let incidents_per_day = reader.read_count("incidents-per-day").unwrap_or_default();
    let while_file = reader.path("while-file");
    if let Some(file) = while_file.as_deref().filter(|file| !file.exists()) {
        let why = format!("there is no file {}", file.display());
        reader.add_mistake(Mistake::new("--while-file", why).hint("make it; remove it to end"));
    }
    let pid = reader.read_value("pid", read_pid);
    let plan = WatchPlan {
        runs_dir: reader.path("runs-dir").unwrap_or_else(|| PathBuf::from(DEFAULT_RUNS_DIR)),
        name: reader.text("name").unwrap_or("watch").to_owned(),
        probes,
        every,
        time,
        while_file,
        pid,
        rotate,
        classic_dir: reader.path("classic"),
        is_unredacted: args.get_flag("unredacted"),
        limits,
        triggers,
        after,
        pause,
        incidents_per_day: u32::try_from(incidents_per_day).unwrap_or(u32::MAX),
    };
    reader.finish()?;
    Ok(plan)
}

/// The number of a process that runs.
fn read_pid(text: &str) -> Result<u32, String> {
    let pid = text.parse().map_err(|_| format!("`{text}` is not the number of a process"))?;
    match ProcessId::from_pid(pid) {
        Some(_) => Ok(pid),
        None => Err(format!("there is no process {pid}")),
    }
}

/// `5%,100MiB`: a share of the disk, bytes, or both.
fn parse_min_free(text: &str) -> Result<WatchLimits, String> {
    let mut limits = WatchLimits::default();
    for word in text.split(',').map(str::trim) {
        match word.strip_suffix('%') {
            Some(_) => limits.min_free_share = parse_share(word).map_err(|e| e.to_string())?,
            None => match word.parse() {
                Ok(ByteSize::Bytes(bytes)) => limits.min_free_bytes = bytes,
                _ => return Err(format!("`{word}` is not a share or a size, as in 5%,100MiB")),
            },
        }
    }
    if limits.min_free_share < 1.0 { Ok(limits) } else { Err("all of it is too much".to_owned()) }
}

/// Shows what happens: in a view, or a line for each event.
struct WatchDisplay<'a> {
    context: &'a CliContext,
    plan: &'a WatchPlan,
    is_quiet: bool,
    is_live: bool,
    view: Option<Box<LiveWatchView>>,
    /// The last lines said while the view stood there; they are told when it has gone.
    held: VecDeque<String>,
}

impl WatchDisplay<'_> {
    fn print_line(&mut self, line: String) {
        if self.view.is_none() {
            self.context.print_message(&line);
            return;
        }
        self.held.push_back(line);
        if self.held.len() > HELD {
            self.held.pop_front();
        }
    }
}

impl Drop for WatchDisplay<'_> {
    fn drop(&mut self) {
        self.view = None;
        for line in std::mem::take(&mut self.held) {
            self.context.print_message(&line);
        }
    }
}

impl WatchListener for WatchDisplay<'_> {
    fn watch_started(&mut self, dir: &Path, server: &ServerRecord) {
        if self.is_quiet {
            return;
        }
        let end = match (self.plan.time, &self.plan.while_file, self.plan.pid) {
            (Some(time), ..) => format!("for {}", show_time(time)),
            (None, Some(file), _) => format!("until {} is removed", file.display()),
            (None, None, Some(pid)) => format!("until process {pid} ends"),
            (None, None, None) => "until Ctrl-C".to_owned(),
        };
        let (product, version) = (&server.product, server.version_number());
        self.context.print_message(&format!(
            "watching {product} {version} at {}\nevery {}, {end}, into {}",
            server.address,
            show_time(self.plan.every),
            dir.display()
        ));
        if self.is_live {
            let title = format!("{product} {version}, every {}", show_time(self.plan.every));
            let colour = self.context.terminal.colour;
            match LiveWatchView::open(title, colour, &self.context.stop) {
                Ok(view) => self.view = Some(Box::new(view)),
                Err(e) if e.kind() == ErrorKind::Unsupported => {
                    self.context.print_note(&e.to_string());
                }
                // A terminal that can't tell where its cursor stands still takes lines.
                Err(_) => {}
            }
        }
    }

    fn sample_taken(&mut self, sample: &ProbeSample, unix_ns: u64) {
        if let Some(view) = &mut self.view {
            view.add_sample(sample, unix_ns);
        }
    }

    fn event_noted(&mut self, event: &WatchEvent) {
        if !self.is_quiet {
            let clock = clock_text(event.unix_ns);
            if let Some(view) = &mut self.view {
                view.add_event(format!("{}  {}", &clock[clock.len().min(11)..], event.text));
            }
            self.print_line(format!("{clock}  {}", event.text));
        }
    }
}

/// `2026-11-22 22:00:05` in this machine's time zone.
pub(super) fn clock_text(unix_ns: u64) -> String {
    local_time(unix_ns / 1_000_000_000).map_or_else(String::new, |at| {
        format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
            at.year, at.month, at.day, at.hour, at.minute, at.second
        )
    })
}

/// What is printed at the end.
fn summary_text(finished: &FinishedWatch, plan: &WatchPlan) -> String {
    let cost = &finished.cost;
    let share = |cpu_s: f64| format!("{:.2} %", 100.0 * cpu_s / cost.seconds.max(1e-9));
    let missing = match finished.missing {
        0 => "none missing".to_owned(),
        missing => format!("{} missing", format_count(missing)),
    };
    let server = match cost.server_cpu_s {
        Some(cpu_s) => format!("server {}", share(cpu_s)),
        None => "server unknown (its threads can't be seen from here)".to_owned(),
    };
    let dir = finished.dir.display();
    let mut text = format!(
        "Watched  {}: {} every {}, {missing}\nCost     sweat {}, {server} of a core\n\
         Folder   {dir}  ({})\nReport   sweat report {dir}\n",
        show_duration(cost.seconds, 2),
        format_plural(finished.samples, "sample", "samples"),
        show_time(plan.every),
        share(cost.own_cpu_s),
        show_bytes(folder_bytes(&finished.dir)),
    );
    if let Some(why) = &finished.limited {
        text += &format!("Limited  {why}\n");
    }
    text
}
