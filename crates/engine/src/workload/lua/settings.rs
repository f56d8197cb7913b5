//! What a script is and what it is told: the interface between those who run scripts and this folder.

use std::path::PathBuf;
use std::sync::Arc;

use super::random::RandomSettings;
use crate::client::Target;
use crate::workload::ErrorRule;

/// Where a script comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptSource {
    /// A file.
    Path(PathBuf),
    /// A name that `require` finds.
    Module(String),
    /// Its text, with the name that messages use.
    Text {
        /// As in `stdin`.
        name: String,
        /// The text.
        text: String,
    },
}

/// A value of `sysbench.opt`.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptValue {
    /// No value.
    Nil,
    /// On or off.
    Switch(bool),
    /// Any number.
    Number(f64),
    /// A text.
    Text(String),
    /// Texts, separated by commas on the command line.
    List(Vec<String>),
}

/// Types of options, numbered as sysbench numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are the types that their names say")]
pub enum ScriptOptionType {
    Null = 0,
    Bool = 1,
    Int = 2,
    Size = 3,
    Double = 4,
    Text = 5,
    List = 6,
    File = 7,
}

/// An option that a script declares.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptOption {
    /// As the script writes it.
    pub name: String,
    /// One line for the help.
    pub description: String,
    /// What it is if nobody says.
    pub default: Option<String>,
    /// What it takes.
    pub kind: ScriptOptionType,
    /// Whether a function of the script decides on its values.
    pub is_checked: bool,
}

impl ScriptOption {
    /// The value of a text that was given for it; none if it is not of its kind.
    pub fn value_from(&self, text: &str) -> Option<ScriptValue> {
        Some(match self.kind {
            ScriptOptionType::Bool => ScriptValue::Switch(match text {
                "" | "on" | "true" | "1" => true,
                "off" | "false" | "0" => false,
                _ => return None,
            }),
            ScriptOptionType::Int | ScriptOptionType::Double => {
                ScriptValue::Number(text.trim().parse().ok().filter(|n: &f64| n.is_finite())?)
            }
            ScriptOptionType::Size => ScriptValue::Number(parse_size(text)?),
            ScriptOptionType::List => ScriptValue::List(split_list(text)),
            ScriptOptionType::File | ScriptOptionType::Null => ScriptValue::Nil,
            ScriptOptionType::Text => ScriptValue::Text(text.to_owned()),
        })
    }
}

/// The parts of a list; none of an empty one.
pub fn split_list(text: &str) -> Vec<String> {
    text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Digits and a letter of 1024s.
fn parse_size(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 1.0,
        "K" => 1024.0,
        "M" => 1024.0f64.powi(2),
        "G" => 1024.0f64.powi(3),
        "T" => 1024.0f64.powi(4),
        _ => return None,
    };
    Some(digits.parse::<u64>().ok()? as f64 * factor)
}

/// How scripts reach servers.
#[derive(Debug)]
pub struct DriverSettings {
    /// Servers, which connections take in turn; none in a dry run.
    pub targets: Vec<Target>,
    /// Whether all connections of a thread go to one server, and the threads take turns.
    pub deals_threads: bool,
    /// Whether nothing is sent: each statement succeeds at once and gives no rows.
    pub dry_run: bool,
    /// Whether the client fills the holes of statements instead of the server.
    pub fill_holes: bool,
    /// Which errors restart an event.
    pub ignored: ErrorRule,
    /// Whether known faults of sysbench are kept: no ROLLBACK after a lock wait that timed out, no rows of prepared statements.
    pub strict: bool,
}

impl Default for DriverSettings {
    fn default() -> DriverSettings {
        DriverSettings {
            targets: Vec::new(),
            deals_threads: false,
            dry_run: false,
            fill_holes: false,
            ignored: ErrorRule::of_sysbench(),
            strict: false,
        }
    }
}

/// Takes what a script prints.
pub type ScriptPrinter = Arc<dyn Fn(&[u8]) + Send + Sync>;
/// Takes an error that ends the load as the server said it: number, words, and the statement that got it; without a statement
/// it was a connection that could not be made.
pub type FatalPrinter = Arc<dyn Fn(u32, &str, Option<&str>) + Send + Sync>;

/// Everything a script is given.
#[derive(Clone)]
pub struct ScriptSetup {
    /// The script.
    pub source: ScriptSource,
    /// Folders that `require` looks into, after those that sysbench looks into.
    pub module_dirs: Vec<PathBuf>,
    /// The words that the program was called with.
    pub arguments: Vec<String>,
    /// `run`, `prepare` and so on.
    pub command: Option<String>,
    /// What `sysbench.opt` holds besides the script's own options, by names with `_`.
    pub options: Vec<(String, ScriptValue)>,
    /// Values given for options, by names with `_`: those that the script declares; for a script that declares none, all
    /// become globals.
    pub given: Vec<(String, String)>,
    /// Servers and how to treat them.
    pub driver: Arc<DriverSettings>,
    /// Random numbers.
    pub random: RandomSettings,
    /// Threads of the load; the states of reports have this number as theirs.
    pub threads: usize,
    /// Takes what the script prints; if nobody does, it goes to the standard error.
    pub printer: Option<ScriptPrinter>,
    /// Takes errors that end the load, before the script hears of them.
    pub fatal_printer: Option<FatalPrinter>,
}

impl ScriptSetup {
    /// A script that is given nothing: one thread, no server, no options.
    pub fn new(source: ScriptSource) -> ScriptSetup {
        ScriptSetup {
            source,
            module_dirs: Vec::new(),
            arguments: vec!["sysbench".to_owned()],
            command: None,
            options: Vec::new(),
            given: Vec::new(),
            driver: Arc::default(),
            random: RandomSettings::default(),
            threads: 1,
            printer: None,
            fatal_printer: None,
        }
    }

    /// The same, for a script that is only read: what it prints at its top level is printed when it runs.
    #[must_use]
    pub fn silenced(&self) -> ScriptSetup {
        ScriptSetup { printer: Some(Arc::new(|_| {})), ..self.clone() }
    }
}

impl std::fmt::Debug for ScriptSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("ScriptSetup");
        out.field("source", &self.source).field("command", &self.command).finish_non_exhaustive()
    }
}

/// What went wrong in a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ScriptError {
    /// With file and line, as Lua says it.
    pub message: String,
    /// The calls that led there; empty where there is none.
    pub traceback: String,
}

impl ScriptError {
    pub(super) fn new(message: impl Into<String>) -> ScriptError {
        ScriptError { message: message.into(), traceback: String::new() }
    }

    /// Message and calls.
    pub fn full_text(&self) -> String {
        match self.traceback.is_empty() {
            true => self.message.clone(),
            false => format!("{}\n{}", self.message, self.traceback),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_their_type_says() {
        let option = |kind| ScriptOption {
            name: "x".to_owned(),
            description: String::new(),
            default: None,
            kind,
            is_checked: false,
        };
        let read = |kind, text: &str| option(kind).value_from(text);
        assert_eq!(read(ScriptOptionType::Bool, ""), Some(ScriptValue::Switch(true)));
        assert_eq!(read(ScriptOptionType::Bool, "maybe"), None);
        assert_eq!(read(ScriptOptionType::Double, "1e6"), Some(ScriptValue::Number(1e6)));
        assert_eq!(read(ScriptOptionType::Size, "2K"), Some(ScriptValue::Number(2048.0)));
        assert_eq!(read(ScriptOptionType::Size, "2X"), None);
        let list = ScriptValue::List(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(read(ScriptOptionType::List, "a,b"), Some(list));
    }
}
