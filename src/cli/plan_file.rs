//! Plan files as commands read them: with all the plugins there are.

use std::path::Path;

use super::context::CliContext;
use crate::analysis;
use crate::plan::{self, KnownPlugins, Mistake, Mistakes, Plan};
use crate::probe::PROBES;
use crate::warm::STRATEGIES;
use crate::workload::{KINDS, find_kind};

/// The plugins that a plan may name.
pub(super) fn known_plugins() -> KnownPlugins {
    KnownPlugins {
        workloads: KINDS.iter().map(|k| (k.name(), k.option_specs())).collect(),
        strategies: STRATEGIES.iter().map(|s| (s.name(), s.option_specs())).collect(),
        probes: PROBES.iter().map(|probe| probe.name).collect(),
        metrics: analysis::metric_names(),
        declare: Some(|name, given| find_kind(name)?.option_specs_for(given)),
    }
}

/// Reads a plan file that the user wrote, and tells what is to be said of it.
///
/// # Errors
/// As `read_plan`.
pub(super) fn read_user_plan(path: &Path, context: &CliContext) -> anyhow::Result<Plan> {
    let plan = read_plan(path)?;
    for note in &plan.notes {
        context.print_note(&format!("{} {note}", path.display()));
    }
    Ok(plan)
}

/// Reads a plan file.
///
/// # Errors
/// All mistakes together, each with file and line.
pub(super) fn read_plan(path: &Path) -> anyhow::Result<Plan> {
    let place = path.display().to_string();
    let wrong = |why: String| Mistake::new(place.clone(), why);
    let bytes = std::fs::read(path).map_err(|e| {
        wrong(e.to_string()).hint("name a plan file, as in docs/plans, or the folder of a run")
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        wrong("this is not a text file".to_owned()).hint("a plan is TOML: docs/run.md")
    })?;
    plan::from_toml(&text, &known_plugins()).map_err(|mut mistakes| {
        mistakes.iter_mut().for_each(|m| m.place = format!("{place} {}", m.place));
        Mistakes(mistakes).into()
    })
}
