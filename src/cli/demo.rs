//! `sweat demo`: what a warm buffer pool is worth on this machine, from nothing to a page.

mod plan;

use crate::archive::RunCommand;

use clap::{ArgMatches, Command};

use super::arguments::{ArgReader, switch_flag, value_flag};
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::present;
use super::progress::ProgressLine;
use crate::base::units::ByteSize;
use crate::experiment::{self, PlanStep, RunListener};
use crate::plan::{DEFAULT_RUNS_DIR, Mistake, Mistakes, Plan};
use crate::recorder::Interval;
use crate::report::shorten_cell;
use crate::workload::JobProgress;

use self::plan::DemoOptions;

/// Bytes of the buffer pool if nothing else is said: in general, and with `--quick`.
const USUAL_POOL: u64 = 256 << 20;
const QUICK_POOL: u64 = 128 << 20;
/// The table with its index if nothing else is said.
const USUAL_SIZE: ByteSize = ByteSize::TimesPool(2.0);

pub(super) fn command() -> Command {
    let command = Command::new("demo")
        .about("Show what a warm buffer pool is worth")
        .long_about(
            "Show what a warm buffer pool is worth, on a throw-away server.\n\n\
             Makes a table and looks up rows of it by an indexed string after each of four \
             restarts: cold, warmed by a scan of all indexes, by the scan of mysql-warmup, and \
             by the server's own page list.",
        )
        .args([
            switch_flag("quick").help("Use a smaller pool and table: under 40 seconds"),
            switch_flag("dry-run").help("Print the steps and do nothing"),
            switch_flag("quiet").help("Show only the summary").short('q'),
            switch_flag("plain").help("Never overwrite lines, also on a terminal"),
        ])
        .after_help(
            "Examples:\n  sweat demo\n  sweat demo --quick\n  sweat demo --pool 1G --size \
             0.5x-pool\n  sweat demo --server /opt/mysql/bin/mysqld\n\n\
             The server listens on no port and is removed at the end; the run's folder stays.",
        );
    present::add_present_flags(
        command.args([
            value_flag("pool", "SIZE")
                .help("Size of the buffer pool [default: 256M; --quick: 128M]"),
            value_flag("size", "SIZE")
                .help("Size of table and index, as 1G or 2x-pool [default: 2x-pool]"),
            value_flag("rows", "N").help("Rows of the table (instead of --size)"),
            value_flag("lookups", "N").default_value("20000").help("Rows that are looked up"),
            value_flag("server", "PATH")
                .help("Its mariadbd or mysqld [default: the one installed]"),
            value_flag("seed", "N").default_value("1").help("Seed of data and lookups"),
            value_flag("runs-dir", "DIR")
                .default_value(DEFAULT_RUNS_DIR)
                .help("Folder for run folders"),
        ]),
    )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let mut plan = parse_args(args)?.to_plan().map_err(Mistakes)?;
    plan.allow = present::allowed_caveats(args).map_err(Mistakes)?;
    if args.get_flag("dry-run") {
        let steps = experiment::plan_steps(&plan);
        let lines = steps.iter().enumerate().map(|(i, step)| format!("{:>2}  {step}\n", i + 1));
        context.print_output(&lines.collect::<String>())?;
        return Ok(CommandOutcome::Done);
    }
    let mut listener = DemoListener::new(args, context, &plan);
    let finished = experiment::run_plan(
        &plan,
        context.run_origin(RunCommand::Demo, args),
        &context.stop,
        &mut listener,
    );
    drop(listener);
    present::present_run(finished?, args, context)
}

/// What the words ask for.
fn parse_args(args: &ArgMatches) -> Result<DemoOptions, Mistakes> {
    let mut reader = ArgReader::new(args);
    let rows = reader.read_count("rows");
    let lookups = reader.read_count("lookups").unwrap_or_default();
    let seed = reader.read_count("seed").unwrap_or_default();
    let pool_bytes = reader.read_bytes("pool", "the pool can't be a multiple of itself");
    let size = reader.read_value("size", str::parse::<ByteSize>);
    if rows.is_some() && args.contains_id("size") {
        let why = "--size already sets the size of the table";
        reader.add_mistake(Mistake::new("--rows", why));
    }
    let (server, runs_dir) = (reader.path("server"), reader.path("runs-dir"));
    reader.finish()?;
    let usual_pool = if args.get_flag("quick") { QUICK_POOL } else { USUAL_POOL };
    Ok(DemoOptions {
        pool_bytes: pool_bytes.unwrap_or(usual_pool),
        size: size.unwrap_or(USUAL_SIZE),
        rows,
        lookups,
        server,
        seed,
        runs_dir: runs_dir.expect("it has a default"),
    })
}

/// A line for each step, with the time it took, and how far the longer ones are.
struct DemoListener<'a> {
    context: &'a CliContext,
    progress: ProgressLine,
    quiet: bool,
    lookups: u64,
    /// The load under way, and events so far.
    load: Option<(String, u64)>,
    place: String,
}

impl<'a> DemoListener<'a> {
    fn new(args: &ArgMatches, context: &'a CliContext, plan: &Plan) -> DemoListener<'a> {
        let quiet = args.get_flag("quiet");
        let progress = ProgressLine::new(context.terminal, quiet, args.get_flag("plain"));
        let lookups = plan.workload.options.count("lookups");
        DemoListener { context, progress, quiet, lookups, load: None, place: String::new() }
    }
}

impl RunListener for DemoListener<'_> {
    fn step_started(&mut self, step: &PlanStep, number: usize, of: usize) {
        self.place = format!("[{number:>2}/{of}] {step}");
        self.load = step.is_load().then(|| (self.place.clone(), 0));
    }

    fn step_ended(&mut self, _step: &PlanStep, seconds: f64) {
        self.progress.finish();
        if !self.quiet {
            self.context
                .print_message(&format!("{:<58} {seconds:>7.2} s", shorten_cell(&self.place, 58)));
        }
    }

    fn step_progressed(&mut self, progress: &JobProgress) {
        let label = format!("{}: {}", self.place, progress.label);
        self.progress.show(&JobProgress { label, ..progress.clone() });
    }

    fn interval_ended(&mut self, interval: &Interval) {
        let Some((label, done)) = &mut self.load else { return };
        *done += interval.event_count();
        let (label, done, total) = (label.clone(), *done, self.lookups);
        self.progress.show(&JobProgress { label, done, total, unit: "lookups" });
    }

    fn note_added(&mut self, text: &str) {
        if !self.quiet {
            self.progress.finish();
            self.context.print_note(text);
        }
    }
}
