//! The run, or the plan, that a word on the command line means.

use std::path::{Path, PathBuf};

use crate::archive::{self, RunMeta};
use crate::plan::{Mistake, nearest_name};

/// Where plans are looked for that are named without their folder.
const PLAN_DIRS: &[&str] = &[".", "docs/plans"];
/// Names that a message lists.
const LISTED: usize = 5;
/// The youngest run.
pub(super) const LATEST: &str = "latest";

/// The run folder that is meant: a folder, a name below the runs folder, `latest`, a baseline, the beginning of a name
/// or the name without its time if only one run has it; of a folder of runs the youngest.
///
/// # Errors
/// A name that no run or more than one has; what there is is listed.
pub(super) fn find_run(run: &str, runs_dir: &Path) -> anyhow::Result<PathBuf> {
    if run == LATEST {
        return archive::latest_run(runs_dir).map_err(|e| run_mistake(&e));
    }
    let (path, below) = (PathBuf::from(run), runs_dir.join(run));
    if let Some(found) = [&path, &below].into_iter().find(|dir| archive::is_run_folder(dir)) {
        return Ok(found.clone());
    }
    if let Some(found) = find_named_run(run, runs_dir)? {
        return Ok(found);
    }
    if path.exists() {
        // What is in it that is no run tells the reader.
        return Ok(archive::latest_run(&path).unwrap_or(path));
    }
    Err(unknown_run(run, runs_dir))
}

/// A wrong folder is wrong input.
pub(super) fn run_mistake(error: &archive::ArchiveError) -> anyhow::Error {
    let (why, hint) = (error.to_string(), Some(error.hint().to_owned()));
    Mistake::new("RUN", why).maybe_hint(hint).into()
}

/// A run by its baseline, or by a part of its name that no other one has.
fn find_named_run(name: &str, runs_dir: &Path) -> anyhow::Result<Option<PathBuf>> {
    let baselines = archive::read_baselines(runs_dir).map_err(|e| run_mistake(&e))?;
    if let Some(dir) = baselines.get(name) {
        if archive::is_run_folder(dir) {
            return Ok(Some(dir.clone()));
        }
        let why = format!("the run of baseline {name} is gone: {}", dir.display());
        let hint = format!("name another one: sweat runs save {name} RUN");
        return Err(Mistake::new("RUN", why).hint(hint).into());
    }
    let runs = archive::list_runs(runs_dir).unwrap_or_default();
    for is_meant in [begins_with as fn(&RunMeta, &str) -> bool, is_called] {
        let found: Vec<&(PathBuf, RunMeta)> =
            runs.iter().filter(|(_, meta)| is_meant(meta, name)).collect();
        match found[..] {
            [] => {}
            [(dir, _)] => return Ok(Some(dir.clone())),
            _ => {
                let why = format!("{} runs are meant by `{name}`", found.len());
                let hint = format!("name one of them:\n{}", name_lines(&found));
                return Err(Mistake::new("RUN", why).hint(hint).into());
            }
        }
    }
    Ok(None)
}

fn begins_with(meta: &RunMeta, name: &str) -> bool {
    !name.is_empty() && meta.id.starts_with(name)
}

fn is_called(meta: &RunMeta, name: &str) -> bool {
    meta.name == name
}

/// The youngest of these runs, a line each.
fn name_lines(runs: &[&(PathBuf, RunMeta)]) -> String {
    let older = runs.len().saturating_sub(LISTED);
    let mut lines: Vec<String> =
        runs[older..].iter().map(|(_, meta)| format!("  {}", meta.id)).collect();
    if older > 0 {
        lines.insert(0, format!("  ({older} older; `sweat runs --limit 0` lists all)"));
    }
    lines.join("\n")
}

/// The mistake of a name that no run has, with what there is.
fn unknown_run(name: &str, runs_dir: &Path) -> anyhow::Error {
    let place = runs_dir.display();
    let runs = archive::list_runs(runs_dir).unwrap_or_default();
    let baselines = archive::read_baselines(runs_dir).unwrap_or_default();
    let mistake = Mistake::new("RUN", format!("there is no run `{name}`"));
    if runs.is_empty() {
        let hint = format!("there are no runs in {place}; --runs-dir names another folder");
        return mistake.hint(hint).into();
    }
    let all: Vec<&(PathBuf, RunMeta)> = runs.iter().collect();
    let mut hint = format!("in {place} there are\n{}", name_lines(&all));
    if !baselines.is_empty() {
        let names: Vec<&str> = baselines.keys().map(String::as_str).collect();
        hint += &format!("\n  baselines: {}", names.join(", "));
    }
    mistake.hint(hint).into()
}

/// The plan file or run folder that is meant: a path, a name of a plan here or in docs/plans, or a run's name.
///
/// # Errors
/// When there is none; plans that are there are listed.
pub(super) fn find_plan(given: &str, runs_dir: &Path) -> anyhow::Result<PathBuf> {
    let path = PathBuf::from(given);
    if path.exists() {
        return Ok(path);
    }
    for dir in PLAN_DIRS.iter().map(Path::new) {
        for name in [given.to_owned(), format!("{given}.toml")] {
            let below = if dir == Path::new(".") { PathBuf::from(name) } else { dir.join(name) };
            if below.is_file() {
                return Ok(below);
            }
        }
    }
    if let Ok(run) = find_run(given, runs_dir) {
        return Ok(run);
    }
    let plans = known_plans();
    let names = plans.iter().map(String::as_str);
    let word = given.trim_end_matches(".toml");
    let hint = match nearest_name(word, names.clone()) {
        Some(near) => format!("did you mean {near}?"),
        None if plans.is_empty() => {
            "there are no plans here or in docs/plans; `sweat init` writes one".to_owned()
        }
        None => format!("plans here and in docs/plans:\n  {}", plans.join("\n  ")),
    };
    Err(Mistake::new("PLAN", format!("there is no plan or run `{given}`")).hint(hint).into())
}

/// Names of the plans that `find_plan` finds.
fn known_plans() -> Vec<String> {
    let mut names = Vec::new();
    for entry in PLAN_DIRS.iter().flat_map(std::fs::read_dir).flatten().flatten() {
        let path = entry.path();
        let is_plan = path.extension().is_some_and(|e| e == "toml")
            && std::fs::read_to_string(&path).is_ok_and(|text| text.contains("[workload]"));
        names
            .extend(path.file_stem().filter(|_| is_plan).map(|n| n.to_string_lossy().into_owned()));
    }
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of runs with these names, a second apart.
    fn runs(names: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (second, name) in names.iter().enumerate() {
            let id = format!("2026-11-21T07-40-{:02}Z_{name}", 10 + second);
            let meta = RunMeta {
                format: 1,
                id: id.clone(),
                name: (*name).to_owned(),
                origin_unix_ns: second as u64,
                ..RunMeta::default()
            };
            let run = dir.path().join(id);
            std::fs::create_dir(&run).unwrap();
            std::fs::write(run.join("meta.json"), serde_json::to_vec(&meta).unwrap()).unwrap();
        }
        dir
    }

    fn found(name: &str, dir: &Path) -> String {
        match find_run(name, dir) {
            Ok(path) => path.file_name().unwrap().to_string_lossy().into_owned(),
            Err(e) => {
                let mistake = e.downcast::<Mistake>().unwrap();
                format!("{mistake}\n{}", mistake.hint.clone().unwrap_or_default())
            }
        }
    }

    #[test]
    fn a_run_is_found_by_any_name_that_only_it_has() {
        let dir = runs(&["before", "after", "after"]);
        let dir = dir.path();
        let (before, last) = ("2026-11-21T07-40-10Z_before", "2026-11-21T07-40-12Z_after");
        for name in [before, "before", "2026-11-21T07-40-10", dir.join(before).to_str().unwrap()] {
            assert_eq!(found(name, dir), before, "{name}");
        }
        assert_eq!(found("latest", dir), last);
        assert_eq!(found(dir.to_str().unwrap(), Path::new("nowhere")), last, "a folder of runs");
        assert!(found("after", dir).contains("2 runs are meant by `after`"));
        assert!(found("after", dir).contains(last));
        archive::name_baseline(dir, "main", Some(&dir.join(before))).unwrap();
        assert_eq!(found("main", dir), before);
        let none = found("nosuch", dir);
        assert!(none.contains("no run `nosuch`") && none.contains("baselines: main"), "{none}");
        assert!(none.contains(last) && none.lines().all(|line| line.len() <= 80), "{none}");
        std::fs::remove_dir_all(dir.join(before)).unwrap();
        assert!(found("main", dir).contains("is gone"));
    }

    #[test]
    fn an_empty_folder_is_said_to_be_so() {
        let dir = tempfile::tempdir().unwrap();
        assert!(found("x", dir.path()).contains("there are no runs in"));
        assert!(found("latest", dir.path()).contains("no run in"));
    }
}
