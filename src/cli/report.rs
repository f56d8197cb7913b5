//! `sweat report`: shows a run folder again, in any format.

use std::fs::File;
use std::io::{self, IsTerminal, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{ArgMatches, Command, builder::PossibleValuesParser};

use crate::analysis::{RawFile, RunFindings, analyse_run, differing_settings};
use crate::archive::{self, RunRecord};
use crate::base::private;
use crate::plan::{DEFAULT_RUNS_DIR, Mistake};
use crate::report::{self, FORMATS, PAGE, ReportDetail, ReportStyle, WATCH_ONLY_FORMATS};
use crate::workload;

use super::arguments::{positional_arg, switch_flag, text_arg, value_flag};
use super::check;
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::run_names::{find_run, run_mistake};
use super::{present, watch_report};

/// The page a run folder gets.
/// The page of several runs, which belongs to none of their folders.
const OVERLAY: &str = "side-by-side.html";
/// The format that is a file by nature.
const HTML: &str = "html";

pub(super) fn command() -> Command {
    let formats = || {
        let all = FORMATS.iter().map(|format| (format.name, format.about));
        all.chain(WATCH_ONLY_FORMATS.iter().copied())
    };
    let names: Vec<&str> = formats().map(|(name, _)| name).collect();
    let about = formats().map(|(name, about)| format!("  {name:12} {about}\n"));
    let command = Command::new("report")
        .about("Show a run again: text, JSON, CSV or a page")
        .args([
            positional_arg("run", "RUN")
                .num_args(1..)
                .default_value("latest")
                .help("Run folder, name, baseline or `latest`; several are shown side by side"),
            value_flag("format", "FORMAT")
                .value_parser(PossibleValuesParser::new(names))
                .default_value("text")
                .hide_possible_values(true)
                .help("One of the formats below"),
            switch_flag("csv-summary").help("The same as --format csv-summary"),
            switch_flag("no-header").help("CSV without its header, to append with >>"),
            value_flag("output", "FILE")
                .short('o')
                .help("Write to a file [default: standard output; html: RUN/report.html]"),
            value_flag("from", "TIME").help("Of a watch: begin here, as in 15:04"),
            value_flag("to", "TIME").help("Of a watch: end here"),
            value_flag("at", "TIME").help("Of a watch: show all raw looks nearest to this"),
            value_flag("runs-dir", "DIR")
                .default_value(DEFAULT_RUNS_DIR)
                .help("Folder with run folders"),
        ])
        .after_help(format!(
            "Formats:\n{}\nExamples:\n  sweat report\n  sweat report latest --open\n  \
             sweat report RUN1 RUN2 --format html -o both.html\n  \
             sweat report runs/2026-11-21T07-40-15Z_demo --format json -o demo.json\n  \
             sweat report runs/2026-11-22T14-00-00Z_watch --from 15:00 --to 15:10\n  \
             sweat report /var/lib/pt-stalk --format html\n  \
             sweat report latest --csv-summary --no-header >> all.csv\n  \
             sweat report latest --check 'p99 < 20ms' --junit checks.xml",
            about.collect::<String>()
        ))
        .args([present::verbose_flag(), present::open_flag()])
        .arg(switch_flag("strict").help("Exit code 4 if the result is void"));
    check::add_check_flags(command)
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let text = |name: &str| args.get_one::<String>(name).expect("it has a default").as_str();
    let name = if args.get_flag("csv-summary") { "csv-summary" } else { text("format") };
    let no_header = args.get_flag("no-header");
    if no_header && !name.starts_with("csv") {
        return Err(Mistake::new("--no-header", format!("{name} has no header"))
            .hint("it is for --format csv and csv-summary")
            .into());
    }
    let runs: Vec<&String> = args.get_many("run").expect("it has a default").collect();
    let runs_dir = Path::new(text("runs-dir"));
    if runs.len() > 1 {
        return report_runs(&runs, runs_dir, name, args, context);
    }
    if let Some(outcome) = watch_report::report_foreign(Path::new(runs[0]), name, args, context)? {
        return Ok(outcome);
    }
    let dir = find_run(runs[0], runs_dir)?;
    if let Some(outcome) = watch_report::report_watch(&dir, name, args, context)? {
        return Ok(outcome);
    }
    let format = report::find_format(name).ok_or_else(|| {
        let why = "it shows a watch, and this run is none";
        Mistake::new(format!("--format {name}"), why).hint("--format text, or csv")
    })?;
    let findings = check::read_findings(&dir, args)?;
    present::check_format(format, &findings)?;
    let file = args.get_one::<String>("output").filter(|path| *path != "-");
    let render = |style| {
        let mut text = format.render(&findings, style);
        if no_header {
            let head =
                text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1);
            text.drain(..head);
        }
        text
    };
    let whole = ReportStyle { colour: false, detail: ReportDetail::Full };
    match file {
        Some(path) => write_report(&render(whole), Path::new(path), context)?,
        None if name == HTML && !args.contains_id("output") => {
            write_report(&render(whole), &dir.join(PAGE), context)?;
        }
        None => {
            let colour = context.terminal.colour && io::stdout().is_terminal();
            let detail = present::report_detail(args);
            context
                .print_output(&String::from_utf8_lossy(&render(ReportStyle { colour, detail })))?;
        }
    }
    for path in check::write_files(&findings, args)? {
        context.print_message(&format!("wrote {path}"));
    }
    if args.get_flag("open") {
        match file.filter(|_| name == HTML) {
            Some(path) => present::show_page(Path::new(path), context),
            None => present::show_page(&write_page(&findings, &dir)?, context),
        }
    }
    // Whoever looks at an old run again did not ask whether it failed, unless in words.
    match args.get_flag("strict") {
        true => Ok(present::findings_outcome(&findings, true)),
        false => Ok(check::checks_outcome(&findings)),
    }
}

/// Several runs side by side.
fn report_runs(
    runs: &[&String],
    runs_dir: &Path,
    format: &str,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    if !report::MULTI_RUN_FORMATS.contains(&format) {
        return Err(Mistake::new(format!("--format {format}"), "it shows one run only")
            .hint(format!("of several runs: {}", report::MULTI_RUN_FORMATS.join(" or ")))
            .into());
    }
    if args.get_many::<String>("check").is_some() {
        return Err(Mistake::new("--check", "it does not say which of the runs to check")
            .hint("report one run, and name another one with --base")
            .into());
    }
    let load_one = |run: &&String| read_run(&find_run(run, runs_dir)?);
    let loaded = runs.iter().map(load_one).collect::<anyhow::Result<Vec<_>>>()?;
    let (runs, all): (Vec<RunRecord>, Vec<RunFindings>) = loaded.into_iter().unzip();
    let mut page = Vec::new();
    report::write_side_by_side(&all, &differing_settings(&runs), format, &mut page)
        .expect("memory takes every write");
    let file = text_arg(args, "output");
    match file.or((format == HTML).then_some(OVERLAY)).filter(|path| *path != "-") {
        Some(path) => {
            replace_file(Path::new(path), &page)?;
            context.print_message(&format!("wrote {path}"));
            if args.get_flag("open") && format == HTML {
                present::show_page(Path::new(path), context);
            }
        }
        None => context.print_output(&String::from_utf8_lossy(&page))?,
    }
    let judged = all.iter().map(|findings| present::findings_outcome(findings, true));
    let bad = judged.into_iter().find(|exit| *exit != CommandOutcome::Done);
    Ok(bad.filter(|_| args.get_flag("strict")).unwrap_or(CommandOutcome::Done))
}

/// A run folder's contents. Loads of folders that keep no facts of their workload get today's, by its name and options.
///
/// # Errors
/// When it is no run folder, or a newer sweat wrote it.
pub(super) fn load_run(dir: &Path) -> Result<RunRecord, archive::ArchiveError> {
    let mut run = archive::read_run(dir)?;
    for trial in run.trials.iter_mut().filter(|trial| trial.facts.is_none()) {
        let options = trial.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        trial.facts = Some(workload::declare_facts(&trial.workload, options));
    }
    Ok(run)
}

/// Everything there is to say about a run folder.
///
/// # Errors
/// When it is no run folder, or a newer sweat wrote it.
pub(super) fn read_run(dir: &Path) -> anyhow::Result<(RunRecord, RunFindings)> {
    let run = load_run(dir).map_err(|e| run_mistake(&e))?;
    let mut findings = analyse_run(&run);
    findings.folder = Some(dir.display().to_string());
    list_files(dir, dir, &mut findings.files);
    let mut hashes = archive::manifest_hashes(dir);
    findings.files.iter_mut().for_each(|f| f.sha256 = hashes.remove(&f.path));
    findings.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((run, findings))
}

/// The files below a folder; what can't be looked at is left out, as the list is a courtesy.
fn list_files(root: &Path, dir: &Path, files: &mut Vec<RawFile>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let (path, Ok(meta)) = (entry.path(), entry.metadata()) else { continue };
        if meta.is_dir() {
            list_files(root, &path, files);
        } else if path.file_name().is_none_or(|name| name != PAGE) {
            let path = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            files.push(RawFile { path, bytes: meta.len(), sha256: None });
        }
    }
}

/// The page of a run, written into its folder.
///
/// # Errors
/// When it can't be written.
pub(super) fn write_page(findings: &RunFindings, dir: &Path) -> anyhow::Result<PathBuf> {
    let path = dir.join(PAGE);
    let format = report::find_format(HTML).expect("it is in the list");
    private::replace_file(&path, &format.render(findings, ReportStyle::default()))
        .with_context(|| format!("write {}", path.display()))?;
    Ok(path)
}

/// A report as a file, and says so.
pub(super) fn write_report(text: &[u8], path: &Path, context: &CliContext) -> anyhow::Result<()> {
    replace_file(path, text)?;
    context.print_message(&format!("wrote {}", path.display()));
    Ok(())
}

/// Writes beside the file first, so that a full disk leaves the old one as it was.
fn replace_file(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".tmp");
    let beside = PathBuf::from(beside);
    // One that is left of a sweat that was killed; a link there is removed, not followed.
    let _ = std::fs::remove_file(&beside);
    let done = File::create_new(&beside)
        .and_then(|mut file| file.write_all(text))
        .and_then(|()| std::fs::rename(&beside, path));
    done.inspect_err(|_| drop(std::fs::remove_file(&beside)))
        .with_context(|| format!("write {}", path.display()))
}
