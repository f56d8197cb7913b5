//! A run folder shown: loaded, analysed, written in the format asked for.

use std::path::Path;

use anyhow::Context as _;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::arguments::{OUTPUT_HEADING, switch_flag, text_arg, value_flag};
use super::check;
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::explain;
use super::progress::ProgressLine;
use super::report::write_page;
use super::runs;
use crate::analysis::{Findings, RawFile, RunFindings, caveat_ids};
use crate::archive::RunState;
use crate::experiment::FinishedRun;
use crate::plan::{CONSENT, Mistake};
use crate::report::{self, FORMATS, PAGE, ReportDetail, ReportFormat, ReportStyle};
use crate::server;
use crate::workload::JobProgress;

/// Adds the flags that say how a run is shown and judged.
pub(super) fn add_present_flags(command: Command) -> Command {
    check::add_check_flags(command).args(
        [
            value_flag("format", "FORMAT")
                .value_parser(FORMATS.iter().map(|f| f.name).collect::<Vec<_>>())
                .default_value("text")
                .hide_possible_values(true)
                .help("text, json, csv, markdown, html, ..."),
            verbose_flag(),
            switch_flag("strict").hide_short_help(true).help("Exit code 4 if the result is void"),
            open_flag(),
            value_flag("save-baseline", "NAME")
                .hide_short_help(true)
                .help("Keep this run under a name, for --base NAME"),
            value_flag("allow", "ID").action(ArgAction::Append).hide_short_help(true).help(
                "Accept this caveat: still shown, but it does not void the run. Or a word of \
                     consent: set-global, ps-setup, logging",
            ),
        ]
        .map(|arg| arg.help_heading(OUTPUT_HEADING)),
    )
}

/// The flag for all that there is to say.
pub(super) fn verbose_flag() -> Arg {
    switch_flag("verbose").short('v').help("Show all tables, and what to do about caveats")
}

/// The flag for a look at the page.
pub(super) fn open_flag() -> Arg {
    switch_flag("open").help("Open the page in a browser")
}

/// Opens a page; where that can't be done, says where it is. Never a reason to fail.
pub(super) fn show_page(page: &Path, context: &CliContext) {
    // A browser that runs already has another working directory.
    let full = page.canonicalize().unwrap_or_else(|_| page.to_owned());
    context.print_message(&match server::open_page(&full) {
        Ok(()) => format!("opened {}", page.display()),
        Err(why) => format!("note: --open: {why}; the page is {}", page.display()),
    });
}

/// What of a run the terminal shows.
pub(super) fn report_detail(args: &ArgMatches) -> ReportDetail {
    let is_set = |flag: &str| args.try_get_one::<bool>(flag).ok().flatten() == Some(&true);
    match (is_set("verbose"), is_set("quiet")) {
        (true, _) => ReportDetail::Full,
        (false, true) => ReportDetail::Short,
        (false, false) => ReportDetail::Summary,
    }
}

/// The caveats that `--allow` names, and the words of consent.
///
/// # Errors
/// Names that no caveat has, together.
pub(super) fn allowed_caveats(args: &ArgMatches) -> Result<Vec<String>, Vec<Mistake>> {
    let typed = args.get_many::<String>("allow").into_iter().flatten();
    let is_consent = |id: &str| CONSENT.contains(&id);
    let id = |id: &String| if is_consent(id) { id.clone() } else { id.to_uppercase() };
    let ids: Vec<String> = typed.map(id).collect();
    let is_known = |id: &str| is_consent(id) || caveat_ids().any(|known| known == id);
    let unknown = ids.iter().filter(|id| !is_known(id));
    let mistakes: Vec<Mistake> = unknown.map(|id| explain::unknown_caveat("--allow", id)).collect();
    if mistakes.is_empty() { Ok(ids) } else { Err(mistakes) }
}

/// The format asked for.
pub(super) fn report_format(args: &ArgMatches) -> &'static ReportFormat {
    let name = args.get_one::<String>("format").expect("it has a default");
    report::find_format(name).expect("clap takes only names of the list")
}

/// Whether a format can show what was found.
///
/// # Errors
/// Why it can't.
pub(super) fn check_format<'a>(
    format: &ReportFormat,
    findings: impl Into<Findings<'a>>,
) -> Result<(), Mistake> {
    let refusal = format.refusal(findings);
    refusal.map_or(Ok(()), |why| {
        let mistake = Mistake::new(format!("--format {}", format.name), why);
        Err(mistake.hint("other formats show it: `sweat report --help`"))
    })
}

/// Shows a run that ended, however it ended, and judges it. Commands that use this have a flag `quiet`.
///
/// # Errors
/// What stopped the run; or that it can't be shown.
pub(super) fn present_run(
    finished: FinishedRun,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let opens_page = args.get_flag("open");
    present_and_judge(finished, args, context, opens_page)
}

/// The same of a run whose page is open already.
///
/// # Errors
/// As of `present_run`.
pub(super) fn present_run_behind_page(
    finished: FinishedRun,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    present_and_judge(finished, args, context, false)
}

fn present_and_judge(
    finished: FinishedRun,
    args: &ArgMatches,
    context: &CliContext,
    opens_page: bool,
) -> anyhow::Result<CommandOutcome> {
    let shown = print_run(&finished, args, context, opens_page);
    // What stopped the run says more than why it can't be shown.
    if let Some(error) = finished.error {
        return Err(error);
    }
    let judged = shown?;
    let name = text_arg(args, "save-baseline").filter(|_| finished.state == RunState::Done);
    if let (Some(name), Some(runs_dir)) = (name, finished.dir.parent()) {
        runs::save_baseline(name, &finished.dir, runs_dir, context)?;
    }
    Ok(match finished.state {
        RunState::Interrupted => CommandOutcome::Interrupted,
        RunState::Failed | RunState::Running => CommandOutcome::Failed,
        RunState::Done => judged,
    })
}

/// Shows a run on stdout and as a page in its folder, and judges it.
fn print_run(
    finished: &FinishedRun,
    args: &ArgMatches,
    context: &CliContext,
    opens_page: bool,
) -> anyhow::Result<CommandOutcome> {
    let dir = &finished.dir;
    let is_silent = args.get_flag("quiet") || !context.terminal.overwrite;
    let mut line = ProgressLine::new(context.terminal, is_silent, false);
    let label = match finished.state {
        RunState::Interrupted => "stopping: analyzing what was measured",
        _ => "analyzing what was measured",
    };
    line.show(&JobProgress { label: label.to_owned(), ..JobProgress::default() });
    let mut findings = check::read_findings(dir, args)?;
    if findings.results.trials.is_empty() && finished.error.is_some() {
        line.finish();
        context.print_message(&format!("Run    {}", dir.display()));
        return Ok(CommandOutcome::Done);
    }
    let look = ReportStyle { colour: context.terminal.colour, detail: report_detail(args) };
    let page = write_page(&findings, dir);
    if let Ok(page) = &page {
        let bytes = std::fs::metadata(page).map_or(0, |page| page.len());
        findings.files.push(RawFile { path: PAGE.to_owned(), bytes, sha256: None });
    }
    let format = report_format(args);
    let shown = check_format(format, &findings).map(|()| format.render(&findings, look));
    line.finish();
    shown
        .map_err(Into::into)
        .and_then(|text| context.print_output(&String::from_utf8_lossy(&text)))
        .with_context(|| format!("the run is in {}", dir.display()))?;
    match page {
        Ok(page) if opens_page => show_page(&page, context),
        Ok(_) => {}
        Err(e) => context.print_note(&format!("no page: {e:#}")),
    }
    for path in check::write_files(&findings, args)? {
        context.print_message(&format!("wrote  {path}"));
    }
    Ok(findings_outcome(&findings, args.get_flag("strict")))
}

/// What a run's caveats and checks mean for the exit code: too many unexpected errors and failed checks always, being void
/// only where that was asked for.
pub(super) fn findings_outcome(findings: &RunFindings, strict: bool) -> CommandOutcome {
    match findings.results.void_caveat() {
        _ if findings.results.has_failed() => CommandOutcome::Negative,
        _ if check::checks_outcome(findings) == CommandOutcome::Negative => {
            CommandOutcome::Negative
        }
        Some(_) if strict => CommandOutcome::Void,
        // A search for capacity that confirms no rate has a negative answer.
        _ if findings.capacity.as_ref().is_some_and(|c| c.confirmed_per_s.is_none()) => {
            CommandOutcome::Negative
        }
        _ => check::checks_outcome(findings),
    }
}
