//! Options of plugins (workloads, warm strategies): what one accepts, and what was given.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Mistake, nearest_name, nearest_or_all};
use crate::base::units::{ByteSize, parse_count, parse_rate, parse_time};

/// What kind of value an option takes.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Per second, above 0: `500`, `20k/s`, `300/m`.
    Rate,
    /// Any text.
    Text,
    /// Texts, one in each line; given again, it adds a line.
    Lines,
    /// One of these words.
    Choice(Vec<String>),
}

impl OptionKind {
    /// One of these words.
    pub fn one_of(words: &[&str]) -> OptionKind {
        OptionKind::Choice(words.iter().map(|word| (*word).to_owned()).collect())
    }

    /// Why `value` is none of this kind, and what would be; `None` if it is.
    pub(super) fn reject_reason(&self, value: &str) -> Option<(String, String)> {
        let (what, example) = match self {
            OptionKind::Text | OptionKind::Lines => return None,
            OptionKind::Switch if parse_switch(value).is_some() => return None,
            OptionKind::Switch => ("neither on nor off", "on or off".to_owned()),
            OptionKind::Count => {
                return parse_count(value).err().map(|e| (e.to_string(), "as in 1000".to_owned()));
            }
            OptionKind::Number if value.parse().is_ok_and(f64::is_finite) => return None,
            OptionKind::Number => ("not a number", "as in 0.5".to_owned()),
            OptionKind::Size => {
                return value
                    .parse::<ByteSize>()
                    .err()
                    .map(|e| (e.to_string(), "as in 16KiB".to_owned()));
            }
            OptionKind::Time => {
                return parse_time(value).err().map(|e| (e.to_string(), "as in 5s".to_owned()));
            }
            OptionKind::Rate => {
                return parse_rate(value).err().map(|e| (e.to_string(), "as in 20k/s".to_owned()));
            }
            OptionKind::Choice(words) if words.iter().any(|word| word == value) => return None,
            OptionKind::Choice(words) => {
                let hint = nearest_or_all(value, words.iter().map(String::as_str));
                ("not one of its values", hint)
            }
        };
        Some((format!("`{value}` is {what}"), example))
    }
}

/// `on` and `off` in the ways people write them; nothing means on.
pub(super) fn parse_switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "" | "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// One option that a plugin accepts, or a script that a plugin was told to run; help, checks and plan files come from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Name as written on the command line without dashes, and in plans.
    pub name: String,
    /// What it takes.
    pub kind: OptionKind,
    /// Default, as one would write it; empty if there is none.
    pub default: String,
    /// One line for the help.
    pub help: String,
    /// Its name in sysbench where that is another one; accepted wherever the option is, and listed nowhere.
    pub alias: Option<&'static str>,
    /// Its letter on the command line.
    pub short: Option<char>,
    /// What of its value a run folder must not hold.
    pub secrecy: OptionSecrecy,
}

/// What of an option's value is left out wherever it is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptionSecrecy {
    /// Nothing.
    #[default]
    Open,
    /// All of it.
    Hidden,
    /// Lines of `Name: value`: the values of names that stand for secrets.
    Fields,
}

/// What stands in a record instead of a value that is left out.
pub const LEFT_OUT: &str = "***";

/// Parts of names of HTTP fields that hold secrets.
const SECRET_NAMES: [&str; 8] =
    ["auth", "cookie", "token", "secret", "password", "api-key", "apikey", "session"];

/// Where the secret of a field begins, as in `Authorization: Bearer x`; `None` if it holds none.
pub fn field_secret_at(field: &str) -> Option<usize> {
    let (name, _) = field.split_once(':')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let name_lower = name.to_ascii_lowercase();
    let is_secret = SECRET_NAMES.iter().any(|part| name_lower.contains(part));
    (is_secret && name.chars().all(is_name)).then_some(name.len() + 1)
}

impl OptionSecrecy {
    /// The value as it may be recorded, if that is another one.
    fn shown_value(self, value: &str) -> Option<String> {
        match self {
            OptionSecrecy::Open => None,
            OptionSecrecy::Hidden => Some(LEFT_OUT.to_owned()),
            OptionSecrecy::Fields => {
                let shown = value.lines().map(|line| match field_secret_at(line) {
                    Some(at) => format!("{} {LEFT_OUT}", &line[..at]),
                    None => line.to_owned(),
                });
                let shown: Vec<String> = shown.collect();
                let shown = shown.join("\n");
                (shown != value).then_some(shown)
            }
        }
    }
}

impl OptionSpec {
    /// An option; an empty default is none.
    pub fn new(name: &str, kind: OptionKind, default: &str, help: &str) -> OptionSpec {
        let [name, default, help] = [name, default, help].map(str::to_owned);
        OptionSpec {
            name,
            kind,
            default,
            help,
            alias: None,
            short: None,
            secrecy: OptionSecrecy::Open,
        }
    }

    /// The same option, also known by this name.
    #[must_use]
    pub fn with_alias(self, alias: &'static str) -> OptionSpec {
        OptionSpec { alias: Some(alias), ..self }
    }

    /// The same option, also by this letter.
    #[must_use]
    pub fn with_short(self, short: char) -> OptionSpec {
        OptionSpec { short: Some(short), ..self }
    }

    /// The same option, recorded without its secrets.
    #[must_use]
    pub fn with_secrecy(self, secrecy: OptionSecrecy) -> OptionSpec {
        OptionSpec { secrecy, ..self }
    }

    fn has_name(&self, name: &str) -> bool {
        same_name(&self.name, name) || self.alias.is_some_and(|alias| same_name(alias, name))
    }
}

/// What was given, checked against the specs; absent ones have their default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    values: BTreeMap<String, String>,
    /// What is recorded of those that hold secrets.
    shown: BTreeMap<String, String>,
}

impl Options {
    /// Checks what was given against the specs and fills in the defaults. In names, `_` is `-`; of an option that
    /// was given twice the last value stands, but [`OptionKind::Lines`] keep all.
    ///
    /// # Errors
    /// All mistakes together.
    pub fn from_given(
        specs: &[OptionSpec],
        given: &[(String, String)],
    ) -> Result<Options, Vec<Mistake>> {
        let mut values: BTreeMap<String, String> = specs
            .iter()
            .filter(|s| !s.default.is_empty())
            .map(|s| (s.name.clone(), s.default.clone()))
            .collect();
        let mut mistakes = Vec::new();
        let mut lines: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (name, value) in given {
            match specs.iter().find(|s| s.has_name(name)) {
                Some(spec) => match spec.kind.reject_reason(value) {
                    None if spec.kind == OptionKind::Lines => {
                        lines.entry(spec.name.clone()).or_default().push(value);
                    }
                    None => {
                        values.insert(spec.name.clone(), value.clone());
                    }
                    Some((why, hint)) => {
                        mistakes.push(Mistake::new(format!("--{name}"), why).hint(hint))
                    }
                },
                None => mistakes.push(
                    Mistake::new(format!("--{name}"), "no such option").maybe_hint(
                        nearest_name(name, specs.iter().map(|s| s.name.as_str()))
                            .map(|near| format!("did you mean --{near}?")),
                    ),
                ),
            }
        }
        values.extend(lines.into_iter().map(|(name, lines)| (name, lines.join("\n"))));
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let shown = specs.iter().filter_map(|spec| {
            let value = values.get(&spec.name)?;
            Some((spec.name.clone(), spec.secrecy.shown_value(value)?))
        });
        let shown = shown.collect();
        Ok(Options { values, shown })
    }

    /// The value as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The value as text without blanks around it; `None` where nothing is left.
    pub fn given_text(&self, name: &str) -> Option<&str> {
        self.text(name).map(str::trim).filter(|text| !text.is_empty())
    }

    /// The value as a whole number; 0 if there is none.
    pub fn count(&self, name: &str) -> u64 {
        self.text(name).and_then(|v| parse_count(v).ok()).unwrap_or(0)
    }

    /// The value as a number; 0 if there is none.
    pub fn number(&self, name: &str) -> f64 {
        self.text(name).and_then(|v| v.parse().ok()).unwrap_or(0.0)
    }

    /// The value as an amount of bytes.
    pub fn size(&self, name: &str) -> Option<ByteSize> {
        self.text(name).and_then(|v| v.parse().ok())
    }

    /// The value as a time.
    pub fn time(&self, name: &str) -> Option<Duration> {
        self.text(name).and_then(|v| parse_time(v).ok())
    }

    /// Whether a switch is on.
    pub fn switch(&self, name: &str) -> bool {
        self.text(name).and_then(parse_switch).unwrap_or(false)
    }

    /// All values by name, for the run folder: without secrets.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(k, v)| (k.as_str(), self.shown.get(k).unwrap_or(v).as_str()))
    }
}

fn same_name(a: &str, b: &str) -> bool {
    a.len() == b.len()
        && a.bytes()
            .zip(b.bytes())
            .all(|(x, y)| x == y || matches!((x, y), (b'-', b'_') | (b'_', b'-')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, kind: OptionKind, default: &str) -> OptionSpec {
        OptionSpec::new(name, kind, default, "")
    }

    fn specs() -> Vec<OptionSpec> {
        vec![
            spec("table-size", OptionKind::Count, "10000"),
            spec("skip_trx", OptionKind::Switch, "off"),
            spec("skew", OptionKind::Number, "0.8"),
            spec("chunk", OptionKind::Size, "16MiB"),
            spec("pause", OptionKind::Time, "0s"),
            spec("file", OptionKind::Text, ""),
            spec("word", OptionKind::Lines, "none"),
            spec("order", OptionKind::one_of(&["given", "random"]), "given"),
            spec("depth", OptionKind::Count, "128").with_alias("file-async-backlog"),
        ]
    }

    fn check(given: &[(&str, &str)]) -> Result<Options, Vec<Mistake>> {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Options::from_given(&specs(), &given)
    }

    #[test]
    fn defaults_stand_until_told_otherwise() {
        let options = check(&[]).unwrap();
        assert_eq!(options.count("table-size"), 10_000);
        assert!(!options.switch("skip_trx"));
        assert_eq!(options.number("skew"), 0.8);
        assert_eq!(options.size("chunk"), Some(ByteSize::Bytes(16 << 20)));
        assert_eq!(options.time("pause"), Some(Duration::ZERO));
        assert_eq!(options.text("file"), None);
    }

    #[test]
    fn dashes_and_underscores_are_one_and_the_last_value_stands() {
        let given =
            [("table_size", "5"), ("table-size", "1M"), ("skip-trx", ""), ("order", "random")];
        let options = check(&given).unwrap();
        assert_eq!(options.count("table-size"), 1_000_000);
        assert!(options.switch("skip_trx"));
        assert_eq!(options.text("order"), Some("random"));
    }

    #[test]
    fn lines_are_added_and_read_back() {
        assert_eq!(check(&[]).unwrap().text("word"), Some("none"));
        let options = check(&[("word", "a, b"), ("word", "c")]).unwrap();
        assert_eq!(options.text("word"), Some("a, b\nc"));
        assert_eq!(check(&[("word", "a, b\nc")]).unwrap(), options);
    }

    #[test]
    fn the_name_in_sysbench_is_accepted_too() {
        let options = check(&[("depth", "1"), ("file_async-backlog", "7")]).unwrap();
        assert_eq!((options.count("depth"), options.text("file-async-backlog")), (7, None));
    }

    #[test]
    fn what_is_secret_is_not_recorded() {
        use OptionSecrecy::{Fields, Hidden};
        let specs = [
            OptionSpec::new("body", OptionKind::Text, "", "").with_secrecy(Hidden),
            OptionSpec::new("header", OptionKind::Lines, "", "").with_secrecy(Fields),
        ];
        let given = [
            ("body", "a=b"),
            ("header", "X-Route: a"),
            ("header", "authorization:Bearer x"),
            ("header", "Accept: Cookie: y"),
        ];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let options = Options::from_given(&specs, &given).unwrap();
        assert_eq!(options.text("body"), Some("a=b"));
        let shown: Vec<_> = options.iter().collect();
        let fields = "X-Route: a\nauthorization: ***\nAccept: Cookie: y";
        assert_eq!(shown, [("body", "***"), ("header", fields)]);
        assert!(options.text("header").unwrap().contains("Bearer x"));
        assert_eq!(field_secret_at("X-Api-Key: 1"), Some(10));
        assert_eq!(field_secret_at("select ':auth'"), None);
    }

    #[test]
    fn all_mistakes_are_named_with_what_to_do() {
        let mistakes = check(&[
            ("table-sise", "5"),
            ("table-size", "-1"),
            ("skip_trx", "maybe"),
            ("skew", "NaN"),
            ("chunk", "lots"),
            ("pause", "a while"),
            ("order", "randon"),
            ("banana", "1"),
        ])
        .unwrap_err();
        let hints: Vec<_> =
            mistakes.iter().map(|m| (m.place.as_str(), m.hint.as_deref().unwrap_or(""))).collect();
        assert_eq!(
            hints,
            [
                ("--table-sise", "did you mean --table-size?"),
                ("--table-size", "as in 1000"),
                ("--skip_trx", "on or off"),
                ("--skew", "as in 0.5"),
                ("--chunk", "as in 16KiB"),
                ("--pause", "as in 5s"),
                ("--order", "did you mean random?"),
                ("--banana", ""),
            ]
        );
    }
}
