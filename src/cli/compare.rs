//! `sweat compare`: finished runs against others.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{ArgAction, ArgMatches, Command, builder::PossibleValuesParser};

use crate::analysis::{
    CaveatLevel, ComparisonFindings, ComparisonOptions, ComparisonVerdict, FindingResults,
    SetupDifference, compare_runs, differences_of, metric_name, metric_names,
};
use crate::archive::{RunRecord, RunState};
use crate::base::units::parse_share;
use crate::plan::{DEFAULT_RUNS_DIR, Mistake, Mistakes, did_you_mean};
use crate::report::{self as formats, FORMATS, ReportDetail, ReportStyle};

use super::arguments::{positional_arg, switch_flag, value_flag};
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::present;
use super::report::{self, load_run};
use super::run_names::find_run;

pub(super) fn command() -> Command {
    let command = Command::new("compare")
        .about("Compare finished runs: better, worse or the same?")
        .args([
            positional_arg("run", "RUN")
                .num_args(1..)
                .required(true)
                .help("Runs to compare, all of the same thing: folders, names, `latest`"),
            value_flag("base", "RUN")
                .num_args(1..)
                .action(ArgAction::Append)
                .required(true)
                .help("Runs to compare them with, or a baseline"),
            value_flag("metric", "METRIC")
                .default_value("events_per_s")
                .help("What decides: events_per_s, p50, p95, p99, mean, ..."),
            value_flag("margin", "SHARE")
                .default_value("2%")
                .help("Smaller differences do not matter"),
            switch_flag("paired").help("The runs were made in turns: pair first with first, ..."),
            switch_flag("force").help("Compare even if workload, load or data differ"),
            present::verbose_flag(),
            switch_flag("strict").help("Exit code 4 if the result is void, 5 if it is unsure"),
        ])
        .after_help(
            "Exit code 1 means worse, 0 better, the same or unsure; with --strict, 4 means void \
             and 5 unsure.\n\n\
             Examples:\n  sweat compare latest --base main\n  \
             sweat compare new1 new2 new3 --base old1 old2 old3 --paired",
        );
    add_output_flags(command)
}

/// Adds the flags of how and where to show it.
fn add_output_flags(command: Command) -> Command {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    command.args([
        value_flag("format", "FORMAT")
            .value_parser(PossibleValuesParser::new(names))
            .default_value("text")
            .hide_possible_values(true)
            .help("text, json, csv, markdown, html, ..."),
        value_flag("output", "FILE").short('o').help("Write to a file instead of standard output"),
        value_flag("runs-dir", "DIR")
            .default_value(DEFAULT_RUNS_DIR)
            .help("Folder with run folders"),
    ])
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let text = |name: &str| args.get_one::<String>(name).expect("it has a default").as_str();
    let dirs = |name: &str| -> anyhow::Result<Vec<PathBuf>> {
        let given = args.get_many::<String>(name).expect("clap asks for it");
        given.map(|run| find_run(run, Path::new(text("runs-dir")))).collect()
    };
    let (others, bases) = (dirs("run")?, dirs("base")?);
    let how = parse_sides(args, others.len(), bases.len())?;
    let (base, other) = (read_runs("--base", &bases)?, read_runs("RUN", &others)?);
    check_sides(&base, &other)?;
    if !args.get_flag("force") {
        check_same_experiment(&differences_of(&base, &other))?;
    }
    let findings = compare_runs(&base, &other, &how);
    let format =
        formats::find_format(text("format")).expect("clap knows only the formats in the list");
    present::check_format(format, &findings)?;
    match args.get_one::<String>("output").filter(|path| *path != "-") {
        Some(path) => {
            let text =
                format.render(&findings, ReportStyle { colour: false, detail: ReportDetail::Full });
            report::write_report(&text, Path::new(path), context)?;
        }
        None => {
            let colour = context.terminal.colour && io::stdout().is_terminal();
            let detail = present::report_detail(args);
            let text = format.render(&findings, ReportStyle { colour, detail });
            context.print_output(&String::from_utf8_lossy(&text))?;
        }
    }
    Ok(comparison_outcome(&findings, args.get_flag("strict")))
}

/// What the verdict means for a script.
fn comparison_outcome(findings: &ComparisonFindings, strict: bool) -> CommandOutcome {
    let verdict = deciding_verdict(&findings.results);
    let void = findings.results.caveats.iter().any(|c| c.level == CaveatLevel::Void);
    match verdict {
        _ if strict && void => CommandOutcome::Void,
        Some(ComparisonVerdict::Worse) => CommandOutcome::Negative,
        Some(ComparisonVerdict::Unsure) | None if strict => CommandOutcome::Unsure,
        _ => CommandOutcome::Done,
    }
}

/// The verdict that decides. Where things were measured one by one, one that got slower is enough; else it is the mean's.
fn deciding_verdict(results: &FindingResults) -> Option<ComparisonVerdict> {
    let changes = &results.cost_changes;
    if let Some(slower) =
        changes.iter().map(|one| one.change.verdict).find(|v| *v == ComparisonVerdict::Worse)
    {
        return Some(slower);
    }
    let mean = changes.iter().find(|one| one.is_mean).or(changes.first());
    mean.map(|one| one.change.verdict)
        .or_else(|| results.comparisons.iter().find(|c| c.decides).map(|c| c.verdict))
}

/// How to compare, from the flags; all mistakes together.
fn parse_sides(
    args: &ArgMatches,
    others: usize,
    bases: usize,
) -> anyhow::Result<ComparisonOptions> {
    let text = |name: &str| args.get_one::<String>(name).expect("it has a default").as_str();
    let mut mistakes = Vec::new();
    let mut mistake = |place: &str, why: String, hint: String| {
        mistakes.push(Mistake::new(place, why).hint(hint));
    };
    let metric = metric_name(text("metric"));
    if metric.is_none() {
        let known = metric_names();
        let near = did_you_mean(text("metric"), known.iter().copied());
        let near = near.map(|near| near + " ").unwrap_or_default();
        let why = format!("there is no metric {}", text("metric"));
        mistake("--metric", why, format!("{near}metrics: {}", known.join(", ")));
    }
    let margin = parse_share(text("margin")).ok().filter(|share| (0.0..1.0).contains(share));
    if margin.is_none() {
        let why = format!("{} is not a share below 100 %", text("margin"));
        mistake("--margin", why, "write 2% or 0.02".to_owned());
    }
    let paired = args.get_flag("paired");
    if paired && others != bases {
        let why = format!("{others} runs can't be paired with {bases}");
        mistake(
            "--paired",
            why,
            "name the same number on both sides, in the order they ran".to_owned(),
        );
    }
    match (metric, margin) {
        (Some(metric), Some(margin)) if mistakes.is_empty() => {
            Ok(ComparisonOptions { paired, metric: metric.to_owned(), margin })
        }
        _ => Err(Mistakes(mistakes).into()),
    }
}

/// The runs of one side; all that can't be used are named together.
fn read_runs(place: &str, dirs: &[PathBuf]) -> anyhow::Result<Vec<RunRecord>> {
    let (mut runs, mut mistakes) = (Vec::new(), Vec::new());
    let mut mistake = |why: String, hint: &str| {
        mistakes.push(Mistake::new(place, why).hint(hint));
    };
    for dir in dirs {
        let run = match load_run(dir) {
            Ok(run) => run,
            Err(e) => {
                mistake(e.to_string(), e.hint());
                continue;
            }
        };
        let variants: BTreeSet<&str> = run.trials.iter().map(|t| t.variant.as_str()).collect();
        let name = dir.display();
        let open = "the run was interrupted, or is still running".to_owned();
        let is_open = run.meta.state == RunState::Running;
        if let Some(damage) = run.damage.first().or(is_open.then_some(&open)) {
            mistake(
                format!("{name} is not whole: {damage}"),
                "compare complete runs; if this is a copy, copy the folder again; `sweat report` \
                 shows what can be read",
            );
        } else if variants.is_empty() {
            mistake(
                format!("{name} holds no load"),
                "compare runs of `sweat bench` or `sweat run`",
            );
        } else if variants.len() > 1 {
            let variants: Vec<&str> = variants.into_iter().collect();
            mistake(
                format!(
                    "{name} compares {} variants already: {}",
                    variants.len(),
                    variants.join(", ")
                ),
                "its report compares them: sweat report",
            );
        } else {
            runs.push(run);
        }
    }
    if mistakes.is_empty() { Ok(runs) } else { Err(Mistakes(mistakes).into()) }
}

/// No run may stand twice: that would look like a repeat.
fn check_sides(base: &[RunRecord], other: &[RunRecord]) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    let twice = base.iter().chain(other).find(|run| !seen.insert(&run.meta.id));
    let Some(run) = twice else { return Ok(()) };
    let why = format!("{} is named twice", run.meta.id);
    let hint = Some("each run counts once".to_owned());
    Err(Mistake::new("RUN", why).maybe_hint(hint).into())
}

/// Runs of different experiments say nothing about each other.
fn check_same_experiment(differences: &[SetupDifference]) -> anyhow::Result<()> {
    let mistakes: Vec<Mistake> = differences
        .iter()
        .filter(|difference| difference.is_another_experiment())
        .map(|d| {
            Mistake::new(
                format!("{} {}", d.kind.as_str(), d.name),
                format!("the base has {}, the other {}: not the same experiment", d.base, d.other),
            )
            .hint("compare runs that did the same; --force compares these anyway")
        })
        .collect();
    Ok(Mistakes::check(mistakes)?)
}
