//! Options of plugins (workloads, warm strategies): what one accepts, and what was given.

use std::collections::BTreeMap;

use super::Mistake;

/// What kind of value an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// `on`/`off`; given without a value it is `on`.
    Switch,
    /// A whole number, 0 or more.
    Count,
    /// A real number.
    Number,
    /// Bytes: `16KiB`, `1G`.
    Size,
    /// Time: `5s`, `200ms`.
    Time,
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// One option that a plugin accepts; help, checks and plan files come from it.
#[derive(Clone, Debug)]
pub struct OptionSpec {
    /// Name as written on the command line without dashes, and in plans.
    pub name: &'static str,
    /// What it takes.
    pub kind: OptionKind,
    /// Default, as one would write it; empty if there is none.
    pub default: &'static str,
    /// One line for the help.
    pub help: &'static str,
}

/// What was given, checked against the specs; absent ones have their default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// Checks what was given against the specs and fills in the defaults.
    ///
    /// # Errors
    /// All mistakes together.
    pub fn check(
        specs: &[OptionSpec],
        given: &[(String, String)],
    ) -> Result<Options, Vec<Mistake>> {
        let mut values: BTreeMap<String, String> = specs
            .iter()
            .filter(|s| !s.default.is_empty())
            .map(|s| (s.name.to_owned(), s.default.to_owned()))
            .collect();
        let mut mistakes = Vec::new();
        for (name, value) in given {
            match specs.iter().find(|s| s.name == name) {
                Some(_) => {
                    values.insert(name.clone(), value.clone());
                }
                None => mistakes.push(Mistake {
                    place: format!("--{name}"),
                    why: "no such option".to_owned(),
                    hint: None,
                }),
            }
        }
        if mistakes.is_empty() { Ok(Options(values)) } else { Err(mistakes) }
    }

    /// The value as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value as a whole number.
    pub fn count(&self, name: &str) -> u64 {
        self.text(name).and_then(|v| v.parse().ok()).unwrap_or(0)
    }

    /// Whether a switch is on.
    pub fn switch(&self, name: &str) -> bool {
        matches!(self.text(name), Some("on" | "1" | "true" | "yes"))
    }

    /// All values by name, for the run folder.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
}
