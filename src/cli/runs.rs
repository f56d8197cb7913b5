//! `sweat runs`: the runs that were made: listed, shown, named as baselines, removed.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};
use serde_json::json;

use super::arguments::{ArgReader, positional_arg, switch_flag, text_arg, value_flag, wants_json};
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::run_names::{LATEST, find_run, run_mistake};
use super::{prompt, report};
use crate::analysis::number_format::{format_bytes, format_plural, format_time};
use crate::analysis::{RunFindings, analyse_run, answer_headline};
use crate::archive::{self, RunMeta, RunState};
use crate::base::RealClock;
use crate::base::calendar::format_utc;
use crate::base::kernel::folder_bytes;
use crate::base::units::{parse_time, show_duration};
use crate::plan::{DEFAULT_RUNS_DIR, Mistake};
use crate::report::truncate_text;

/// Columns of a terminal.
const WIDTH: usize = 80;
/// Runs that fit a terminal of 24 lines.
const SHOWN: &str = "10";

pub(super) fn command() -> Command {
    let baseline = || positional_arg("name", "NAME").required(true).help("Name of the baseline");
    Command::new("runs")
        .about("List runs, name baselines, remove old runs")
        .args_conflicts_with_subcommands(true)
        .args([
            value_flag("limit", "N")
                .default_value(SHOWN)
                .help("Number of runs, the latest last; 0 for all"),
            format_flag(),
            runs_dir_flag(),
        ])
        .after_help(
            "Examples:\n  sweat runs\n  sweat runs latest\n  sweat runs show before\n  \
             sweat runs save main\n  sweat runs prune --keep 20\n  \
             sweat runs prune --older 30d --yes\n  sweat runs forget main",
        )
        .subcommand(
            Command::new("latest").about("Print the path of the latest run").arg(runs_dir_flag()),
        )
        .subcommand(
            report::command().name("show").about("Show a run, as `sweat report` does").after_help(
                "Examples:\n  sweat runs show before\n  sweat runs show main --format html",
            ),
        )
        .subcommand(Command::new("save").about("Give a run a name that stays: a baseline").args([
            baseline(),
            positional_arg("run", "RUN").default_value("latest").help("The run"),
            runs_dir_flag(),
        ]))
        .subcommand(
            Command::new("forget")
                .about("Take a baseline's name away; the run stays")
                .args([baseline(), runs_dir_flag()]),
        )
        .subcommand(Command::new("prune").about("Remove old runs, but no baselines").args([
            value_flag("keep", "N").required_unless_present("older").help("Keep the latest N"),
            value_flag("older", "TIME").help("Remove only what is older: 30d"),
            switch_flag("yes").help("Don't ask"),
            switch_flag("dry-run").help("Say what would go, and remove nothing"),
            runs_dir_flag(),
        ]))
}

fn format_flag() -> clap::Arg {
    value_flag("format", "FORMAT")
        .value_parser(["text", "json"])
        .default_value("text")
        .help("How to show them")
}

fn runs_dir_flag() -> clap::Arg {
    value_flag("runs-dir", "DIR").default_value(DEFAULT_RUNS_DIR).help("Where run folders are")
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    match args.subcommand() {
        None => list_runs(args, context),
        Some(("show", args)) => report::run(args, context),
        Some(("latest", args)) => {
            let dir = find_run(LATEST, runs_dir(args))?;
            context.print_output(&format!("{}\n", dir.display()))?;
            Ok(CommandOutcome::Done)
        }
        Some(("save", args)) => {
            let run = text_arg(args, "run").expect("it has a default");
            let dir = find_run(run, runs_dir(args))?;
            save_baseline(text_arg(args, "name").unwrap_or_default(), &dir, runs_dir(args), context)
        }
        Some(("forget", args)) => forget_baseline(args, context),
        Some((_, args)) => prune_runs(args, context),
    }
}

fn runs_dir(args: &ArgMatches) -> &Path {
    Path::new(text_arg(args, "runs-dir").expect("it has a default"))
}

/// A run as the list shows it.
struct RunSummary {
    dir: PathBuf,
    meta: RunMeta,
    findings: Option<RunFindings>,
    baselines: Vec<String>,
}

impl RunSummary {
    fn read(dir: PathBuf, meta: RunMeta, named: &BTreeMap<String, PathBuf>) -> RunSummary {
        let findings = report::load_run(&dir).ok().map(|run| analyse_run(&run));
        let baselines = named.iter().filter(|(_, path)| archive::is_same_folder(path, &dir));
        let baselines = baselines.map(|(name, _)| name.clone()).collect();
        RunSummary { dir, meta, findings, baselines }
    }

    fn seconds(&self) -> Option<f64> {
        self.meta.ended_ns.map(|ns| ns as f64 / 1e9)
    }

    /// In one sentence; empty if there is none.
    fn answer(&self) -> String {
        self.findings.as_ref().map(|found| answer_headline(&found.results)).unwrap_or_default()
    }

    /// How far it came, or what it can't carry; nothing if all is well.
    fn trouble(&self) -> Option<&'static str> {
        match self.meta.state {
            RunState::Running => return Some("running, or killed"),
            RunState::Interrupted => return Some("interrupted"),
            RunState::Failed => return Some("failed"),
            RunState::Done => {}
        }
        let results = &self.findings.as_ref()?.results;
        results.void_caveat().map(|_| results.void_word())
    }

    /// Name, what it was and the answer, in two lines of a terminal.
    fn to_text(&self, now_unix_ns: u64) -> String {
        let mut facts = vec![self.meta.command.as_str().to_owned()];
        facts.extend(self.seconds().map(format_time));
        facts.push(age_text(now_unix_ns.saturating_sub(self.meta.origin_unix_ns)));
        facts.extend(self.trouble().map(str::to_owned));
        facts.extend(self.baselines.iter().map(|name| format!("baseline {name}")));
        let facts = facts.join(", ");
        let said = self.answer();
        let answer = if said.is_empty() { "no answer" } else { said.as_str() };
        let separator = match self.meta.id.chars().count() + 2 + facts.chars().count() <= WIDTH {
            true => "  ",
            false => "\n  ",
        };
        format!(
            "{}{separator}{}\n  {}\n",
            self.meta.id,
            facts,
            truncate_text(&answer.replace(char::is_control, " "), WIDTH - 2)
        )
    }

    fn to_json(&self) -> serde_json::Value {
        let results = self.findings.as_ref().map(|found| &found.results);
        let kinds = results.into_iter().flat_map(|all| &all.trials);
        let workloads: std::collections::BTreeSet<&str> =
            kinds.map(|trial| trial.workload.as_str()).collect();
        json!({
            "name": self.meta.id,
            "path": self.dir.display().to_string(),
            "command": self.meta.command.as_str(),
            "command_line": self.meta.command_line,
            "plan": self.meta.name,
            "workloads": workloads,
            "started": format_utc(self.meta.origin_unix_ns),
            "seconds": self.seconds(),
            "state": self.meta.state,
            "void": results.map(|all| all.void_caveat().is_some()),
            "answer": self.answer(),
            "baselines": self.baselines,
        })
    }
}

/// `5 min ago`.
fn age_text(age_ns: u64) -> String {
    match age_ns / 1_000_000_000 {
        0..=59 => "just now".to_owned(),
        seconds => format!("{} ago", show_duration(seconds as f64, 1)),
    }
}

fn list_runs(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let mut reader = ArgReader::new(args);
    let limit = reader.read_count("limit").map_or(0, |n| usize::try_from(n).unwrap_or(0));
    reader.finish()?;
    let place = runs_dir(args);
    let mut runs = read_list(place)?;
    let named = archive::read_baselines(place).map_err(|e| run_mistake(&e))?;
    let older = if limit == 0 { 0 } else { runs.len().saturating_sub(limit) };
    runs.drain(..older);
    let listed: Vec<RunSummary> =
        runs.into_iter().map(|(dir, meta)| RunSummary::read(dir, meta, &named)).collect();
    let now = RealClock::start_now().origin_unix_ns();
    context.print_result(
        wants_json(args),
        || listed.iter().map(RunSummary::to_json).collect(),
        || listed.iter().map(|run| run.to_text(now)).collect(),
    )?;
    if wants_json(args) {
        return Ok(CommandOutcome::Done);
    }
    context.print_message(&match (listed.len(), older) {
        (0, _) => format!("no runs in {}", place.display()),
        (_, 0) => "`sweat runs show NAME` shows one; a part of its name is enough".to_owned(),
        (_, more) => format!(
            "{} older: `sweat runs --limit 0` lists all",
            format_plural(more as u64, "run is", "runs are")
        ),
    });
    Ok(CommandOutcome::Done)
}

/// The runs in a folder, the oldest first; none if there is no such folder.
fn read_list(place: &Path) -> anyhow::Result<Vec<(PathBuf, RunMeta)>> {
    if !place.exists() {
        return Ok(Vec::new());
    }
    archive::list_runs(place).map_err(|e| run_mistake(&e))
}

/// What is wrong with a name for a baseline, if anything is.
pub(super) fn baseline_mistake(place: &str, name: &str, runs_dir: &Path) -> Option<Mistake> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name =
        name.chars().all(is_plain) && name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let taken = name == LATEST || archive::is_run_folder(&runs_dir.join(name));
    let why = match (is_name, taken) {
        (false, _) => "a baseline's name has letters, digits, - _ and . only",
        (_, true) => "this name means a run already",
        _ => return None,
    };
    Some(Mistake::new(format!("{place} {name}"), why).hint("as in main, or v1.2"))
}

/// Names a run as a baseline, and says so.
///
/// # Errors
/// A name that can't be one; or that it can't be written.
pub(super) fn save_baseline(
    name: &str,
    run: &Path,
    runs_dir: &Path,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    if let Some(mistake) = baseline_mistake("NAME", name, runs_dir) {
        return Err(mistake.into());
    }
    let meta = archive::read_meta(run).map_err(|e| run_mistake(&e))?;
    let before = archive::name_baseline(runs_dir, name, Some(run)).map_err(|e| run_mistake(&e))?;
    let before = before.filter(|dir| !archive::is_same_folder(dir, run));
    let before = before.as_deref().and_then(Path::file_name);
    let was = before.map(|id| format!(", no longer {}", id.to_string_lossy())).unwrap_or_default();
    context.print_message(&format!("baseline {name} is {}{was}", meta.id));
    Ok(CommandOutcome::Done)
}

fn forget_baseline(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let (name, place) = (text_arg(args, "name").unwrap_or_default(), runs_dir(args));
    let named = archive::read_baselines(place).map_err(|e| run_mistake(&e))?;
    if !named.contains_key(name) {
        let all: Vec<&str> = named.keys().map(String::as_str).collect();
        let known = if all.is_empty() { "there are none".to_owned() } else { all.join(", ") };
        let why = format!("there is no baseline `{name}`");
        return Err(Mistake::new("NAME", why).hint(format!("baselines: {known}")).into());
    }
    archive::name_baseline(place, name, None).map_err(|e| run_mistake(&e))?;
    context.print_message(&format!("baseline {name} is forgotten; its run is still there"));
    Ok(CommandOutcome::Done)
}

fn prune_runs(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let mut reader = ArgReader::new(args);
    let keep = reader.read_count("keep").map_or(0, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let older = reader.read_value("older", parse_time).unwrap_or_default();
    reader.finish()?;
    let place = runs_dir(args);
    let mut runs = read_list(place)?;
    let named = archive::read_baselines(place).map_err(|e| run_mistake(&e))?;
    let now = RealClock::start_now().origin_unix_ns();
    let oldest = now.saturating_sub(u64::try_from(older.as_nanos()).unwrap_or(u64::MAX));
    runs.truncate(runs.len().saturating_sub(keep));
    runs.retain(|(_, meta)| meta.origin_unix_ns < oldest);
    let (mut text, mut going, mut bytes) = (String::new(), Vec::new(), 0);
    for (dir, meta) in &runs {
        match archive::reason_to_keep(dir, meta, &named, now) {
            Some(why) => text += &format!("keeps    {}: {why}\n", meta.id),
            None => {
                let size = folder_bytes(dir);
                text += &format!("removes  {}  {}\n", meta.id, format_bytes(size as f64));
                bytes += size;
                going.push(dir);
            }
        }
    }
    context.print_output(&text)?;
    if going.is_empty() {
        context.print_message("there is nothing to remove");
        return Ok(CommandOutcome::Done);
    }
    let runs = format_plural(going.len() as u64, "run", "runs");
    let what = format!("{runs}, {}", format_bytes(bytes as f64));
    if args.get_flag("dry-run") {
        context.print_message(&format!("would remove {what}"));
        return Ok(CommandOutcome::Done);
    }
    if !args.get_flag("yes") && !confirm_removal(&what, context)? {
        context.print_message("nothing was removed");
        return Ok(CommandOutcome::Done);
    }
    for dir in going {
        archive::remove_run(dir)?;
    }
    context.print_message(&format!("removed {what}"));
    Ok(CommandOutcome::Done)
}

/// Asks, where somebody can answer.
fn confirm_removal(what: &str, context: &CliContext) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let hint = "add --yes to remove them, or --dry-run to look only";
        return Err(Mistake::new("--yes", "there is no terminal to ask on").hint(hint).into());
    }
    prompt::ask_yes(&format!("Remove {what}? [y/N] "), &context.stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_a_terminal() {
        let meta = RunMeta {
            id: "2026-11-21T07-40-15Z_oltp_read_write".to_owned(),
            command: "bench".into(),
            ended_ns: Some(30_200_000_000),
            state: RunState::Done,
            ..RunMeta::default()
        };
        let mut run = RunSummary {
            dir: PathBuf::new(),
            meta,
            findings: Some(analyse_run(&crate::archive::RunRecord::default())),
            baselines: vec!["main".to_owned()],
        };
        let text = run.to_text(7_200_000_000_000);
        assert!(text.starts_with("2026-11-21T07-40-15Z_oltp_read_write  bench, 30.2 s, 2 h ago"));
        run.meta.id += "_with_quite_a_long_name_indeed";
        let text = run.to_text(0);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn ages_are_in_the_unit_that_fits() {
        let minutes = |n: u64| age_text(n * 60_000_000_000);
        let ages = [0, 1, 59, 60, 1439, 2880].map(minutes);
        let words = ["just now", "1 min ago", "59 min ago", "1 h ago", "23 h ago", "2 days ago"];
        assert_eq!(ages, words);
    }

    #[test]
    fn names_that_mean_something_else_are_no_baselines() {
        let dir = Path::new("nowhere");
        for name in ["main", "v1.2", "2026"] {
            assert!(baseline_mistake("NAME", name, dir).is_none(), "{name}");
        }
        for name in ["latest", "", "../x", "a b", "-x", ".x"] {
            assert!(baseline_mistake("NAME", name, dir).is_some(), "{name}");
        }
    }
}
