//! What must hold (`--check`), what it is held against (`--base`), and files for those who asked for them: JUnit for a
//! build server, Markdown for its summary, OpenMetrics for a monitor.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use clap::{ArgAction, ArgMatches, Command};

use super::arguments::value_flag;
use super::exit::CommandOutcome;
use super::report::read_run;
use super::run_names::find_run;
use super::runs::baseline_mistake;
use crate::analysis::{self, CheckOutcome, RunFindings};
use crate::archive::RunRecord;
use crate::plan::{Check, DEFAULT_RUNS_DIR, Mistake, Mistakes, checks_in};
use crate::report::{self, ReportStyle};

/// Flags that write a file: name, format, help.
const FILES: &[(&str, &str, &str)] = &[
    ("junit", "junit", "Write the checks as JUnit XML, for a CI server"),
    ("markdown", "markdown", "Write a summary as Markdown; appends to $GITHUB_STEP_SUMMARY"),
    ("openmetrics", "openmetrics", "Write OpenMetrics, for a textfile collector"),
];
/// Where GitHub's summary of a step goes; others may have written to it.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Adds the flags.
pub(super) fn add_check_flags(mut command: Command) -> Command {
    command = command.args([
        value_flag("check", "CHECK")
            .action(ArgAction::Append)
            .help_heading("Checks")
            .help("Exit code 1 unless this holds, as in 'p99 < 20ms'"),
        value_flag("base", "RUN")
            .help_heading("Checks")
            .hide_short_help(true)
            .help("The run that `of base` in a check refers to"),
    ]);
    for (name, _, help) in FILES {
        let arg = value_flag(*name, "FILE").help(*help).hide_short_help(true);
        command = command.arg(arg.help_heading("Checks"));
    }
    command
}

/// What was typed: all values of a flag, also of the subcommand below; none if the command has no such flag.
fn typed_values(args: &ArgMatches, name: &str) -> Vec<String> {
    let here = args.try_get_many::<String>(name).ok().flatten().into_iter().flatten().cloned();
    let below = args.subcommand().map(|(_, args)| typed_values(args, name)).unwrap_or_default();
    here.chain(below).collect()
}

/// Looks at all that was typed before anything starts.
///
/// # Errors
/// All mistakes together: checks that can't be read, a base that is missing, files that can't be written.
pub(super) fn check_args(args: &ArgMatches) -> anyhow::Result<()> {
    let (mut mistakes, mut needs_base) = (Vec::new(), None);
    for text in typed_values(args, "check") {
        match Check::parse(&text) {
            Ok(check) if check.needs_base() => needs_base = Some(text),
            Ok(_) => {}
            Err(mistake) => mistakes.push(mistake),
        }
    }
    let base = typed_values(args, "base").pop();
    match (&base, needs_base) {
        (None, Some(text)) => mistakes.push(
            Mistake::new(format!("--check {text}"), "there is no base to compare with")
                .hint("name a run with --base RUN"),
        ),
        (Some(run), _) => mistakes.extend(read_base(run, args).err()),
        (None, None) => {}
    }
    if let Some(name) = typed_values(args, "save-baseline").pop() {
        let dirs =
            typed_values(args, "runs-dir").pop().unwrap_or_else(|| DEFAULT_RUNS_DIR.to_owned());
        mistakes.extend(baseline_mistake("--save-baseline", &name, Path::new(&dirs)));
    }
    for (name, ..) in FILES {
        for path in typed_values(args, name) {
            // Opening creates it: a typo is told in the first second, not after an hour.
            if let Err(e) = OpenOptions::new().create(true).append(true).open(&path) {
                mistakes.push(
                    Mistake::new(format!("--{name} {path}"), e.to_string())
                        .hint("name a file in an existing folder"),
                );
            }
        }
    }
    Ok(Mistakes::check(mistakes)?)
}

/// The run that `--base` names.
fn read_base(run: &str, args: &ArgMatches) -> Result<(RunRecord, RunFindings), Mistake> {
    let dirs = typed_values(args, "runs-dir").pop().unwrap_or_else(|| DEFAULT_RUNS_DIR.to_owned());
    let loaded = find_run(run, Path::new(&dirs)).and_then(|dir| read_run(&dir));
    loaded.map_err(|e| match e.downcast::<Mistake>() {
        Ok(mistake) => Mistake { place: format!("--base {run}"), ..mistake },
        Err(e) => Mistake::new(format!("--base {run}"), e.root_cause().to_string())
            .hint("`latest`, a folder, a baseline, or the run's name"),
    })
}

/// A run with what was found in it, and what became of the checks of its plan and of those typed now.
///
/// # Errors
/// When it is no run folder, or a newer sweat wrote it.
pub(super) fn read_findings(dir: &Path, args: &ArgMatches) -> anyhow::Result<RunFindings> {
    let (run, mut findings) = read_run(dir)?;
    let mut texts = checks_in(&run.plan);
    for text in typed_values(args, "check") {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let checks = texts.iter().map(|text| Check::parse(text)).collect::<Result<Vec<Check>, _>>()?;
    let base = typed_values(args, "base").pop().map(|name| read_base(&name, args)).transpose()?;
    let base = base.as_ref().map(|(run, findings)| (run, findings));
    findings.checks = analysis::judge_checks(&checks, (&run, &findings), base);
    Ok(findings)
}

/// Writes the files that were asked for, and says which.
///
/// # Errors
/// The first that can't be written.
pub(super) fn write_files(
    findings: &RunFindings,
    args: &ArgMatches,
) -> anyhow::Result<Vec<String>> {
    let mut paths = Vec::new();
    for (name, format, _) in FILES {
        let format =
            report::find_format(format).expect("the formats of these flags are in the list");
        for path in typed_values(args, name) {
            let grows = std::env::var_os(STEP_SUMMARY).is_some_and(|file| file == *path.as_str());
            let mut file = OpenOptions::new();
            file.create(true).write(true).append(grows).truncate(!grows);
            let text = format.render(findings, ReportStyle::default());
            file.open(&path)
                .and_then(|mut file| file.write_all(&text))
                .with_context(|| format!("write {path}"))?;
            paths.push(path);
        }
    }
    Ok(paths)
}

/// What the checks mean for the exit code: a failed one is a negative verdict, and an unsure one is no pass.
pub(super) fn checks_outcome(findings: &RunFindings) -> CommandOutcome {
    let any = |verdict: CheckOutcome| findings.checks.iter().any(|c| c.verdict == verdict);
    match () {
        () if any(CheckOutcome::Fail) => CommandOutcome::Negative,
        () if any(CheckOutcome::Unsure) => CommandOutcome::Unsure,
        () => CommandOutcome::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(words: &[&str]) -> ArgMatches {
        let words = std::iter::once(&"sweat").chain(words);
        add_check_flags(Command::new("sweat")).try_get_matches_from(words).unwrap()
    }

    #[test]
    fn mistakes_are_told_together_before_anything_starts() {
        let args = matches(&[
            "--check=tsp > 5",
            "--check=tps >= 97% of base",
            "--check=steady",
            "--junit=/no/such/folder/a.xml",
        ]);
        let error = check_args(&args).unwrap_err();
        let Mistakes(list) = error.downcast_ref().unwrap();
        let places: Vec<&str> = list.iter().map(|m| m.place.as_str()).collect();
        assert_eq!(
            places,
            ["--check tsp > 5", "--check tps >= 97% of base", "--junit /no/such/folder/a.xml"]
        );
        assert_eq!(list[0].hint.as_deref(), Some("did you mean tps?"));
        let args = matches(&["--check=tps >= 97% of base", "--base=/no/such/run"]);
        let error = check_args(&args).unwrap_err().to_string();
        assert!(error.starts_with("--base /no/such/run: "), "{error}");
        assert!(check_args(&matches(&["--check=stalls == 0"])).is_ok());
    }
}
