//! What holds where neither flags nor a plan say otherwise: `SWEAT_*` variables, then the defaults file.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command, parser::ValueSource};

use super::arguments::text_arg;
use crate::analysis::caveat_ids;
use crate::archive::RunCommand;
use crate::base::units::parse_count;
use crate::plan::{
    DEFAULT_RUNS_DIR, DefaultSettings, KnownNames, MOST_WORKERS, Mistake, Mistakes, Plan,
    defaults_from_toml, known_format, known_id,
};
use crate::report::FORMATS;

/// The file, below the user's folder of configuration.
const FILE: &str = "sweat/config.toml";
/// Variables of the environment.
const ALLOW: &str = "SWEAT_ALLOW";
const RUNS_DIR: &str = "SWEAT_RUNS_DIR";
const THREADS: &str = "SWEAT_THREADS";
const FORMAT: &str = "SWEAT_FORMAT";

/// The user's defaults, and where each comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UserDefaults {
    pub(super) settings: DefaultSettings,
    /// By the name of the flag: the value and where it comes from, `threads = 8 (SWEAT_THREADS)`.
    sources: BTreeMap<&'static str, String>,
}

impl UserDefaults {
    /// The defaults of this user.
    ///
    /// # Errors
    /// All mistakes together, with the file's line or the name of the variable.
    pub(super) fn read() -> anyhow::Result<UserDefaults> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        UserDefaults::from_environment(&variable)
    }

    fn from_environment(variable: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<UserDefaults> {
        let (caveats, formats) = (
            caveat_ids().collect::<Vec<_>>(),
            FORMATS.iter().map(|format| format.name).collect::<Vec<_>>(),
        );
        let known = KnownNames { caveats: &caveats, formats: &formats };
        let mut mistakes = Vec::new();
        let mut found = UserDefaults::default();
        if let Some(path) = config_path(variable) {
            match read_file(&path, &known) {
                Ok(settings) => found.lay_over(settings, |_| path.display().to_string()),
                Err(list) => mistakes.extend(list),
            }
        }
        match read_variables(variable, &known) {
            Ok(settings) => found.lay_over(settings, |name| variable_name(name).to_owned()),
            Err(list) => mistakes.extend(list),
        }
        if let Some(dir) = &mut found.settings.runs_dir {
            if let (Ok(below), Some(home)) = (dir.strip_prefix("~"), variable("HOME")) {
                *dir = Path::new(&home).join(below);
            }
        }
        Mistakes::check(mistakes)?;
        Ok(found)
    }

    /// What is set here holds instead of what was there.
    fn lay_over(&mut self, other: DefaultSettings, source: impl Fn(&str) -> String) {
        let mut note = |name: &'static str, value: String| {
            self.sources.insert(name, format!("{name} = {value} ({})", source(name)));
        };
        let DefaultSettings { allow, runs_dir, threads, format } = other;
        allow.iter().for_each(|ids| note("allow", ids.join(",")));
        runs_dir.iter().for_each(|dir| note("runs-dir", dir.display().to_string()));
        threads.iter().for_each(|count| note("threads", count.to_string()));
        format.iter().for_each(|name| note("format", name.clone()));
        let held = &mut self.settings;
        held.allow = allow.or(held.allow.take());
        held.runs_dir = runs_dir.or(held.runs_dir.take());
        held.threads = threads.or(held.threads.take());
        held.format = format.or(held.format.take());
    }

    /// The command line with these defaults instead of its own.
    pub(super) fn apply_to(&self, command: Command) -> Command {
        let command = command.mut_args(|arg| match arg.get_id().as_str() {
            "runs-dir" => match &self.settings.runs_dir {
                Some(dir) => arg.default_value(dir.display().to_string()),
                None => arg,
            },
            "format" => match &self.settings.format {
                Some(name) if arg.get_possible_values().iter().any(|v| v.matches(name, false)) => {
                    arg.default_value(name.clone())
                }
                _ => arg,
            },
            _ => arg,
        });
        command.mut_subcommands(|sub| self.apply_to(sub))
    }

    /// Lays over a plan what its flag says, or else these defaults where the plan says nothing. `has_threads` says that
    /// the plan leaves the number of sessions to flags and defaults.
    pub(super) fn apply_to_plan(&self, plan: &mut Plan, args: &ArgMatches, has_threads: bool) {
        let is_unset =
            plan.runs_dir.as_os_str().is_empty() || plan.runs_dir == Path::new(DEFAULT_RUNS_DIR);
        if is_unset || is_typed(args, "runs-dir") {
            if let Some(dir) = text_arg(args, "runs-dir") {
                plan.runs_dir = PathBuf::from(dir);
            }
        }
        if let Some(threads) = self.settings.threads.filter(|_| has_threads) {
            plan.load.workers = threads;
        }
        plan.allow.extend(self.settings.allow.iter().flatten().cloned());
    }

    /// Which of these defaults a command used, in words, for the record.
    pub(super) fn used_by(&self, command: &RunCommand, args: &ArgMatches) -> Vec<String> {
        let is_typed = |name: &str| is_typed(args, name);
        let takes_threads =
            matches!(command, RunCommand::Bench | RunCommand::Sweep | RunCommand::Waits)
                && !is_typed("plan");
        let is_used = |name: &str| match name {
            "allow" => true,
            "threads" => takes_threads && !is_typed(name),
            _ => !is_typed(name),
        };
        self.sources
            .iter()
            .filter(|(name, _)| is_used(name))
            .map(|(_, text)| text.clone())
            .collect()
    }
}

/// Whether a flag was typed; not if the command has no such flag.
pub(super) fn is_typed(args: &ArgMatches, name: &str) -> bool {
    args.try_contains_id(name).is_ok() && args.value_source(name) == Some(ValueSource::CommandLine)
}

fn config_path(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let named = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let dir = named.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")))?;
    Some(dir.join(FILE))
}

fn read_file(path: &Path, known: &KnownNames<'_>) -> Result<DefaultSettings, Vec<Mistake>> {
    let place = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        // One that nobody may look at is not the user's.
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
            return Ok(DefaultSettings::default());
        }
        Err(e) => return Err(vec![Mistake::new(place, e.to_string())]),
    };
    defaults_from_toml(&text, known).map_err(|mut mistakes| {
        mistakes.iter_mut().for_each(|m| m.place = format!("{place} {}", m.place));
        mistakes
    })
}

fn variable_name(flag: &str) -> &'static str {
    match flag {
        "allow" => ALLOW,
        "runs-dir" => RUNS_DIR,
        "threads" => THREADS,
        _ => FORMAT,
    }
}

fn read_variables(
    variable: &dyn Fn(&str) -> Option<String>,
    known: &KnownNames<'_>,
) -> Result<DefaultSettings, Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let mut found = DefaultSettings {
        runs_dir: variable(RUNS_DIR).map(PathBuf::from),
        ..DefaultSettings::default()
    };
    if let Some(list) = variable(ALLOW) {
        let ids = list.split(',').map(str::trim).filter(|id| !id.is_empty());
        let (good, bad): (Vec<_>, Vec<_>) =
            ids.map(|id| known_id(id, known)).partition(Result::is_ok);
        found.allow = Some(good.into_iter().flatten().collect());
        let bad = bad.into_iter().filter_map(Result::err);
        mistakes.extend(bad.map(|mistake| Mistake { place: ALLOW.to_owned(), ..mistake }));
    }
    if let Some(text) = variable(THREADS) {
        match parse_count(&text).ok().filter(|count| (1..=MOST_WORKERS).contains(count)) {
            Some(count) => found.threads = Some(count as usize),
            None => mistakes.push(
                Mistake::new(THREADS, format!("`{text}` is not a number of sessions"))
                    .hint(format!("1 to {MOST_WORKERS}")),
            ),
        }
    }
    if let Some(name) = variable(FORMAT) {
        match known_format(&name, known) {
            Ok(name) => found.format = Some(name),
            Err(mistake) => mistakes.push(Mistake { place: FORMAT.to_owned(), ..mistake }),
        }
    }
    if mistakes.is_empty() { Ok(found) } else { Err(mistakes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dir: &Path, more: &[(&str, &str)]) -> anyhow::Result<UserDefaults> {
        let home = dir.display().to_string();
        UserDefaults::from_environment(&|name| {
            let of_home = (name == "HOME").then(|| home.clone());
            let given = more.iter().find(|(known, _)| *known == name);
            given.map(|(_, value)| (*value).to_owned()).or(of_home)
        })
    }

    #[test]
    fn variables_come_before_the_file() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path(), &[]).unwrap(), UserDefaults::default());
        let config = dir.path().join(".config/sweat");
        std::fs::create_dir_all(&config).unwrap();
        let text = "threads = 4\nruns-dir = \"~/r\"\nallow = [\"noise\"]\n";
        std::fs::write(config.join("config.toml"), text).unwrap();
        let found = read(dir.path(), &[(THREADS, "8"), (FORMAT, "json")]).unwrap();
        assert_eq!(found.settings.threads, Some(8));
        assert_eq!(found.settings.runs_dir, Some(dir.path().join("r")));
        assert_eq!(found.settings.format.as_deref(), Some("json"));
        assert_eq!(found.sources["threads"], "threads = 8 (SWEAT_THREADS)");
        assert!(found.sources["allow"].ends_with("config.toml)"), "{:?}", found.sources);
        let elsewhere = [("XDG_CONFIG_HOME", "/nowhere")];
        assert_eq!(read(dir.path(), &elsewhere).unwrap(), UserDefaults::default());
    }

    #[test]
    fn all_mistakes_are_told_with_their_place() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(".config/sweat")).unwrap();
        let path = dir.path().join(".config/sweat/config.toml");
        std::fs::write(&path, "\nthreds = 4\n").unwrap();
        let wrong = [(THREADS, "0"), (FORMAT, "yaml"), (ALLOW, "NOISE, set-global, NOSUCH")];
        let Mistakes(list) = read(dir.path(), &wrong).unwrap_err().downcast().unwrap();
        let places: Vec<&str> = list.iter().map(|m| m.place.as_str()).collect();
        let line = format!("{} line 2: threds", path.display());
        assert_eq!(places, [line.as_str(), ALLOW, ALLOW, THREADS, FORMAT]);
    }
}
