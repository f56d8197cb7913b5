//! `sweat init`: a commented plan to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{ArgMatches, Command};

use super::arguments::{positional_arg, switch_flag, text_arg};
use super::context::CliContext;
use super::exit::CommandOutcome;
use crate::plan::Mistake;

/// The plan. `NAME` stands for its name.
const TEMPLATE: &str = include_str!("init/plan.toml");
/// The ending of plan files.
const ENDING: &str = "toml";

pub(super) fn command() -> Command {
    Command::new("init")
        .about("Write a commented plan for `sweat run`")
        .args([
            positional_arg("name", "NAME")
                .default_value("plan")
                .help("Name of the plan, and of its file: NAME.toml"),
            switch_flag("force").help("Write over a file that is there"),
        ])
        .after_help(
            "Examples:\n  sweat init\n  sweat init flush-log\n  sweat init plans/pool --force",
        )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let path = plan_path(text_arg(args, "name").expect("it has a default"))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut options = OpenOptions::new();
    options.write(true);
    match args.get_flag("force") {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let opened = options.open(&path).map_err(|e| {
        let mistake = Mistake::new(path.display().to_string(), e.to_string());
        match e.kind() {
            ErrorKind::AlreadyExists => mistake.hint("take another name, or --force"),
            _ => mistake.hint("name a file in a folder that is there"),
        }
    });
    opened?
        .write_all(plan_text(&name).as_bytes())
        .with_context(|| format!("write {}", path.display()))?;
    let shown = path.display();
    context.print_message(&format!(
        "wrote {shown}\nedit it, then: sweat run {shown} --dry-run; sweat run {shown}"
    ));
    Ok(CommandOutcome::Done)
}

/// The file of a plan of this name, which may have a folder and the ending already.
fn plan_path(name: &str) -> Result<PathBuf, Mistake> {
    let path = Path::new(name);
    let named = path.file_stem().is_some_and(|stem| !stem.to_string_lossy().starts_with('.'));
    if !named || name.ends_with('/') {
        return Err(Mistake::new("NAME", format!("`{name}` names no file")).hint("as in flush-log"));
    }
    Ok(if path.extension().is_some_and(|e| e == ENDING) {
        path.to_owned()
    } else {
        PathBuf::from(format!("{name}.{ENDING}"))
    })
}

/// The plan under this name.
fn plan_text(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_. ".contains(c) { c } else { '-' };
    TEMPLATE.replace("NAME", &name.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::plan_file::known_plugins;
    use crate::plan;

    #[test]
    fn the_plan_is_one_that_run_takes() {
        let text = plan_text("a \"b\"");
        let plan = plan::from_toml(&text, &known_plugins()).unwrap();
        assert_eq!((plan.name.as_str(), plan.variants.len()), ("a -b-", 2));
        assert!(plan.notes.is_empty() && plan.load.time.is_some());
        assert!(text.lines().all(|line| line.chars().count() <= 80));
    }

    /// What is only mentioned must be right, too.
    #[test]
    fn keys_in_comments_are_keys() {
        let is_key = |line: &str| line.contains(" = ") || line.starts_with('[');
        let line = |line: &str| match line.strip_prefix("#: ") {
            Some(key) if is_key(key) => key.to_owned(),
            _ => line.to_owned(),
        };
        let text: Vec<String> = TEMPLATE.lines().map(line).collect();
        plan::from_toml(&text.join("\n"), &known_plugins()).unwrap();
        assert!(text.len() > 30);
    }

    #[test]
    fn names_become_files() {
        let path = |name: &str| plan_path(name).map(|path| path.display().to_string());
        assert_eq!(path("a").unwrap(), "a.toml");
        assert_eq!(path("x/a.b.toml").unwrap(), "x/a.b.toml");
        assert_eq!(path("v1.2").unwrap(), "v1.2.toml");
        assert!(path("").is_err() && path("x/").is_err() && path("..").is_err());
    }
}
