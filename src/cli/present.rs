//! A run folder shown: loaded, analysed, written in the format asked for.

use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::desk::Desk;
use super::report::{findings, written};
use crate::analysis::Level;
use crate::report::{self, FORMATS, Look, ReportFormat};

/// Adds the flags that say how a run is shown and judged.
pub(super) fn flags(command: Command) -> Command {
    command
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(FORMATS.iter().map(|f| f.name()).collect::<Vec<_>>())
                .default_value("text")
                .help("Format of the summary"),
        )
        .arg(
            Arg::new("strict")
                .long("strict")
                .action(ArgAction::SetTrue)
                .help("End with exit code 4 if the run can't carry its claim"),
        )
        .arg(
            Arg::new("allow")
                .long("allow")
                .value_name("ID")
                .action(ArgAction::Append)
                .help("With --strict: a doubt that is no reason for exit code 4"),
        )
}

/// The format asked for.
pub(super) fn format(args: &ArgMatches) -> &'static dyn ReportFormat {
    let name = args.get_one::<String>("format").expect("it has a default");
    report::format(name).expect("clap takes only names of the list")
}

/// Shows a run on stdout. Gives whether it is void and that matters.
///
/// # Errors
/// When the folder can't be read, or stdout can't be written to.
pub(super) fn run(dir: &Path, args: &ArgMatches, desk: &Desk) -> anyhow::Result<bool> {
    let findings = findings(dir)?;
    let look = Look { colour: desk.terminal.colour };
    desk.print(&String::from_utf8_lossy(&written(format(args), &findings, look)))?;
    let allowed: Vec<&str> =
        args.get_many::<String>("allow").into_iter().flatten().map(String::as_str).collect();
    let void = findings.caveats.iter().any(|c| c.level == Level::Void && !allowed.contains(&c.id));
    Ok(void && args.get_flag("strict"))
}
