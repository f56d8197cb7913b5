//! `sweat merge`: the runs of several machines that shared a load as one run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};

use crate::analysis::{CaveatLevel, analyse_run};
use crate::archive::{MergeError, MergeInput, MergeOptions, MergeOutput, merge_runs};
use crate::experiment::FinishedRun;
use crate::plan::{DEFAULT_RUNS_DIR, Mistake};

use super::arguments::{positional_arg, switch_flag, text_arg, value_flag};
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::present;
use super::report::load_run;
use super::run_names::{find_run, run_mistake};

/// Caveats of a machine's run that the merged one has by itself.
const TOLD: &[&str] = &["CUT", "DAMAGE"];

pub(super) fn command() -> Command {
    let command = Command::new("merge")
        .about("Merge the runs of machines that shared a load")
        .args([
            positional_arg("run", "RUN")
                .num_args(1..)
                .required(true)
                .help("Run folders of all machines, made with `sweat bench --share`"),
            value_flag("output", "DIR")
                .short('o')
                .help("New folder for the merged run [default: one below --runs-dir]"),
            value_flag("name", "TEXT").help("Name of the merged run [default: NAME-merged]"),
            switch_flag("incomplete").help("Merge although shares are missing; the run is void"),
            value_flag("runs-dir", "DIR")
                .default_value(DEFAULT_RUNS_DIR)
                .help("Folder with run folders"),
            switch_flag("quiet").short('q').help("Show only the answer"),
        ])
        .after_help(
            "Histograms, counts and errors add up exactly; each machine's own folder is kept in \
             the\nmerged one, and can be reported by itself.\n\n\
             Examples:\n  sweat merge load1/runs/*_point load2/runs/*_point\n  \
             sweat merge share1 share2 share3 -o runs/three-machines\n  \
             sweat report runs/three-machines/machines/2",
        );
    present::add_present_flags(command)
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let runs_dir = Path::new(text_arg(args, "runs-dir").unwrap_or(DEFAULT_RUNS_DIR));
    let given = args.get_many::<String>("run").expect("clap asks for it");
    let dirs: Vec<PathBuf> = given.map(|run| find_run(run, runs_dir)).collect::<Result<_, _>>()?;
    let allow = present::allowed_caveats(args).map_err(crate::plan::Mistakes)?;
    let mut inputs =
        dirs.into_iter().map(read_input).collect::<anyhow::Result<Vec<MergeInput>>>()?;
    inputs.iter_mut().for_each(|input| input.run.meta.allow.extend(allow.iter().cloned()));
    let output = match text_arg(args, "output") {
        Some(dir) => MergeOutput::At(PathBuf::from(dir)),
        None => MergeOutput::Below(runs_dir.to_owned()),
    };
    let options = MergeOptions {
        name: text_arg(args, "name").map(str::to_owned),
        incomplete: args.get_flag("incomplete"),
        command_line: Some(context.command_line.clone()),
        lost: BTreeMap::new(),
    };
    let (dir, state) = merge_runs(&inputs, &output, &options).map_err(refuse)?;
    drop(inputs);
    present::present_run(FinishedRun { dir, state, error: None }, args, context)
}

/// A run to be merged, with what speaks against it alone.
///
/// # Errors
/// When it is none.
pub(super) fn read_input(dir: PathBuf) -> anyhow::Result<MergeInput> {
    let run = load_run(&dir).map_err(|e| run_mistake(&e))?;
    let caveats = analyse_run(&run).results.caveats;
    let is_void = |level, id| level == CaveatLevel::Void && !TOLD.contains(&id);
    let voids = caveats.iter().filter(|caveat| is_void(caveat.level, caveat.id));
    let voids = voids.map(|caveat| format!("{}: {}", caveat.id, caveat.evidence)).collect();
    Ok(MergeInput { dir, run, voids })
}

/// Runs that are no shares of one load are wrong input.
pub(super) fn refuse(error: MergeError) -> anyhow::Error {
    match error {
        MergeError::Refused(why) => Mistake::new("RUN", why.to_string()).hint(why.hint()).into(),
        MergeError::Archive(error) => error.into(),
    }
}
