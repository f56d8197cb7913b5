//! What a server program makes of settings, asked before anything is started.
//!
//! MariaDB lists its variables with the values that options give them; what it says meanwhile on stderr counts, for it
//! ends well even where it refused a value. MySQL has a switch that only reads the options. Each setting is asked alone,
//! because a program stops at the first one that it does not know.

use std::collections::BTreeSet;

use anyhow::Context as _;

use super::arguments::{self, normalize_name};
use super::{ServerProgram, process, settings_and_mistakes};
use crate::plan::{Mistake, SandboxPlan, did_you_mean};
use crate::server::Settings;

/// Asks the program about the settings of a sandbox and those of each variant; all mistakes together. A variant is its name and
/// its settings.
///
/// # Errors
/// When there is no program, or it can't be run.
pub fn validate_settings(
    plan: &SandboxPlan,
    variants: &[(&str, &Settings)],
) -> anyhow::Result<Vec<Mistake>> {
    let (own, mut mistakes) = settings_and_mistakes(plan);
    // Those of the settings are found below, with their place.
    mistakes.retain(|mistake| mistake.place == "--pool");
    let program = ServerProgram::find(plan.server.as_deref())?;
    let mut asked: BTreeSet<(String, String)> = BTreeSet::new();
    let mut names: Option<Vec<String>> = None;
    let all = std::iter::once(("", &own)).chain(variants.iter().copied());
    for (variant, settings) in all {
        let place = |name: &str| match variant {
            "" => format!("sandbox.set.{name}"),
            variant => format!("variant {variant}: {name}"),
        };
        for mistake in arguments::check_settings(settings) {
            let name = mistake.place.trim_start_matches("--set ").to_owned();
            mistakes.push(Mistake { place: place(&name), ..mistake });
        }
        for (name, value) in settings {
            let is_ours =
                !arguments::check_settings(&vec![(name.clone(), value.clone())]).is_empty();
            if is_ours || !asked.insert((normalize_name(name), value.clone())) {
                continue;
            }
            let Some(refusal) = ask_program(&program, name, value)? else { continue };
            if refusal.is_unknown && names.is_none() {
                names = Some(list_defaults(&program)?.into_iter().map(|(name, _)| name).collect());
            }
            let hint = refusal.hint(name, names.as_deref().unwrap_or_default(), &program);
            mistakes.push(Mistake::new(place(name), refusal.why).hint(hint));
        }
    }
    mistakes.dedup();
    Ok(mistakes)
}

/// What speaks against a setting.
#[derive(Debug, PartialEq, Eq)]
struct SettingRefusal {
    why: String,
    is_unknown: bool,
}

impl SettingRefusal {
    fn hint(&self, name: &str, names: &[String], program: &ServerProgram) -> String {
        let near = did_you_mean(&normalize_name(name), names.iter().map(String::as_str));
        near.filter(|_| self.is_unknown).unwrap_or_else(|| {
            format!("see `{} --no-defaults --help --verbose`", program.path.display())
        })
    }
}

/// What the program says against one setting; `None` for nothing.
fn ask_program(
    program: &ServerProgram,
    name: &str,
    value: &str,
) -> anyhow::Result<Option<SettingRefusal>> {
    let mut args = arguments::base_arguments(program, &std::env::temp_dir());
    if program.is_mariadb() {
        args.extend(["--help".to_owned(), "--verbose".to_owned()]);
    } else {
        args.extend(["--validate-config".to_owned(), "--log-error-verbosity=2".to_owned()]);
    }
    args.push(arguments::to_option(name, value));
    let said = process::capture_output(&program.path, &args)
        .with_context(|| format!("ask {} about {name}", program.path.display()))?;
    Ok(said.errors.lines().find_map(|line| parse_complaint(line, name, value)))
}

/// What a line of the program's says against a setting.
fn parse_complaint(line: &str, name: &str, value: &str) -> Option<SettingRefusal> {
    let lower = line.to_lowercase().replace('_', "-");
    if !mentions_setting(&lower, &normalize_name(name).replace('_', "-")) {
        return None;
    }
    let holds = |phrase: &str| lower.contains(phrase);
    let refusal = |why: String, is_unknown| Some(SettingRefusal { why, is_unknown });
    let is_loose = name.trim_start_matches('-').to_lowercase().starts_with("loose");
    if ["unknown variable", "unknown option", "ambiguous option"].iter().any(|p| holds(p)) {
        let why = "this server has no such setting, or needs another value";
        return if is_loose { None } else { refusal(why.to_owned(), true) };
    }
    if holds("was removed") || holds("does nothing") {
        let why = "the server accepts this setting but ignores it: it was removed";
        return refusal(why.to_owned(), false);
    }
    if let Some((_, to)) = lower.split_once("adjusted to ") {
        let to = to.trim_end_matches('.');
        return refusal(format!("{value} is out of range: the server changes it to {to}"), false);
    }
    let refused =
        ["error while setting value", "unknown suffix", "ignoring option", "invalid value"];
    if refused.iter().any(|p| holds(p)) || holds("wrong value") {
        return refusal(format!("the server doesn't accept the value `{value}`"), false);
    }
    None
}

/// Whether a line names this setting, and not one whose name only begins with it.
fn mentions_setting(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let next = line[at + name.len()..].chars().next();
        !next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-')
    })
}

/// All settings that the program has, with the values they have where nobody says otherwise.
///
/// # Errors
/// When it can't be run.
pub(super) fn list_defaults(program: &ServerProgram) -> anyhow::Result<Vec<(String, String)>> {
    let mut args = arguments::base_arguments(program, &std::env::temp_dir());
    args.extend(["--help".to_owned(), "--verbose".to_owned()]);
    let said = process::capture_output(&program.path, &args)
        .with_context(|| format!("list the settings of {}", program.path.display()))?;
    Ok(parse_help_table(&said.words))
}

/// The table at the end of a program's long help: names, and values behind blanks.
fn parse_help_table(words: &str) -> Vec<(String, String)> {
    let rows = words.lines().skip_while(|line| !line.starts_with("-----")).skip(1);
    rows.map_while(|row| {
        let (name, value) = row.split_once(' ')?;
        Some((normalize_name(name), value.trim().to_owned()))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(line: &str, name: &str, value: &str) -> Option<String> {
        parse_complaint(line, name, value).map(|refusal| refusal.why)
    }

    #[test]
    fn the_settings_of_a_program_are_read_from_its_help() {
        let help = "mariadbd  Ver 11.8\n\nVariables (--variable-name=value)\n\
             ----------------------------- ------------\n\
             basedir                       /opt/my maria/\n\
             init-connect                  \n\
             lc-messages-dir               (No default value)\n\n\
             To see what values a running server is using, type\n";
        let expected = [
            ("basedir", "/opt/my maria/"),
            ("init_connect", ""),
            ("lc_messages_dir", "(No default value)"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(parse_help_table(help), expected);
    }

    #[test]
    fn what_a_program_says_against_a_setting_is_understood() {
        let adjusted = "0 [Warning] option 'innodb-io-capacity': unsigned value 1 adjusted to 100.";
        assert_eq!(
            why(adjusted, "innodb_io_capacity", "1").unwrap(),
            "1 is out of range: the server changes it to 100"
        );
        assert_eq!(why(adjusted, "innodb_io", "1"), None);
        let longer = "option 'innodb-io-capacity-max': unsigned value 1 adjusted to 100";
        assert_eq!(why(longer, "innodb_io_capacity", "1"), None);
        let removed = "[Warning] 'innodb-buffer-pool-instances' was removed. It does nothing now";
        assert!(why(removed, "Innodb_Buffer_Pool_Instances", "4").unwrap().contains("ignores it"));
        let value = "[ERROR] x: Error while setting value 'O_SYNC' to 'innodb-flush-method'";
        assert!(why(value, "innodb_flush_method", "O_SYNC").unwrap().contains("`O_SYNC`"));
        let switch = "ignoring option '--innodb-doublewrite' due to invalid value 'maybe'";
        assert!(why(switch, "innodb_doublewrite", "maybe").is_some());
        let unknown = "[ERROR] mariadbd: unknown variable 'innodb_foo=3'";
        assert!(parse_complaint(unknown, "innodb_foo", "3").unwrap().is_unknown);
        assert_eq!(why(unknown, "loose_innodb_foo", "3"), None);
        assert_eq!(why("[Note] innodb-foo is fine", "innodb_foo", "3"), None);
    }
}
