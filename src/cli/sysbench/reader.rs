//! Reads sysbench's words: options anywhere, `-` and `_` alike, a config file in their midst, then a test and a command.
//! What belongs to a test is kept until the test is known.

use std::collections::BTreeMap;
use std::path::Path;

use super::option_table::{ArgKind, OptionGroup, SysbenchOption, find_option, is_common};
use crate::report::sysbench::SysbenchStyle;

/// What `--mysql-ssl` may be in 1.1 beside on and off.
const SSL_MODES: [&str; 5] = ["disabled", "preferred", "required", "verify_ca", "verify_identity"];

/// Words that can't be read, as sysbench says it; goes to standard error.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WordsError(pub(super) String);

/// What was typed.
#[derive(Debug, Default)]
pub(super) struct SysbenchWords {
    /// Values by name, with dashes; `None` for an option without one.
    values: BTreeMap<String, Option<String>>,
    /// Options that no test has in common with all others: as typed, without their dashes, and whether typed.
    pub(super) others: Vec<OtherOption>,
    /// The test: a name, a path; `-` for the standard input.
    pub(super) test: Option<String>,
    /// What to do.
    pub(super) command: Option<String>,
    /// Whether the test was named by `--test`.
    pub(super) by_test_option: bool,
    /// What is to be said on standard error.
    pub(super) complaints: Vec<String>,
    is_strict: bool,
}

/// An option that is not common to all tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OtherOption {
    /// Name as typed.
    pub(super) name: String,
    /// Value, if it has one.
    pub(super) value: Option<String>,
    /// Whether it was typed, and does not come from a config file.
    pub(super) is_typed: bool,
}

impl OtherOption {
    /// As it was typed.
    pub(super) fn typed_text(&self) -> String {
        match &self.value {
            Some(value) => format!("--{}={value}", self.name),
            None => format!("--{}", self.name),
        }
    }
}

impl SysbenchWords {
    /// Reads the words behind the program's name.
    ///
    /// # Errors
    /// As sysbench says it.
    pub(super) fn from_args(args: &[String]) -> Result<SysbenchWords, WordsError> {
        let is_strict = args.iter().any(|word| {
            let (name, value) = split_option(word.trim_start_matches("--"));
            name.replace('_', "-") == "strict-compat" && read_switch(value) == Some(true)
        });
        let mut words = SysbenchWords { is_strict, ..SysbenchWords::default() };
        for word in args {
            match word.strip_prefix("--") {
                Some(option) => words.add_option(option, true)?,
                None => words.add_word(word)?,
            }
        }
        Ok(words)
    }

    fn add_word(&mut self, word: &str) -> Result<(), WordsError> {
        if self.test.is_none() {
            self.test = Some(word.to_owned());
        } else if self.command.is_none() {
            self.command = Some(word.to_owned());
        } else {
            return Err(WordsError(format!("Unrecognized command line argument: {word}")));
        }
        Ok(())
    }

    fn add_option(&mut self, text: &str, is_typed: bool) -> Result<(), WordsError> {
        let (name, value) = split_option(text);
        let dashed = name.replace('_', "-");
        if dashed == "test" && value.is_some() {
            self.complaints.push(
                "WARNING: the --test option is deprecated. You can pass a script name or path on \
                 the command line without any options."
                    .to_owned(),
            );
            self.test = value.map(str::to_owned);
            self.by_test_option = true;
            return Ok(());
        }
        let known = find_option(name, is_common);
        let is_mode = dashed == "mysql-ssl" && value.is_some_and(|word| SSL_MODES.contains(&word));
        let is_refused = known.is_some_and(|option| {
            option.kind == ArgKind::Bool && !is_mode && read_switch(value).is_none()
        });
        let Some(option) = known.filter(|_| !is_refused) else {
            let value = value.map(str::to_owned);
            self.others.push(OtherOption { name: name.to_owned(), value, is_typed });
            return Ok(());
        };
        self.check_value(option, value)?;
        if option.kind == ArgKind::File {
            value.map_or(Ok(()), |path| self.read_config_file(path))?;
        }
        self.values.insert(dashed, value.map(str::to_owned));
        Ok(())
    }

    fn check_value(&self, option: &SysbenchOption, value: Option<&str>) -> Result<(), WordsError> {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(()) };
        let is_fine = match option.kind {
            ArgKind::Int => value.parse::<i64>().is_ok(),
            ArgKind::IntOrMore if self.is_strict => value.parse::<i64>().is_ok(),
            ArgKind::IntOrMore => value.split(',').all(|part| {
                part.parse::<f64>().is_ok_and(|n| n.is_finite() && !part.contains(['e', 'E']))
            }),
            _ => true,
        };
        if is_fine {
            return Ok(());
        }
        let name = option.name.replace('-', "_");
        Err(WordsError(format!("Invalid value for the '{name}' option: '{value}'")))
    }

    /// Lines `name=value`. What can't be read as an option is left out, as sysbench leaves it out.
    fn read_config_file(&mut self, path: &str) -> Result<(), WordsError> {
        let text = match std::fs::read_to_string(Path::new(path)) {
            Ok(text) => text,
            Err(error) => {
                let why = error.to_string();
                let why = why.split(" (os error").next().unwrap_or_default();
                self.complaints.push(format!("{path}: {why}"));
                return Ok(());
            }
        };
        for line in text.lines() {
            let Some(option) = config_line(line) else { continue };
            if find_option(split_option(&option).0, |_| true).is_some() {
                self.add_option(&option, false)?;
            }
        }
        Ok(())
    }

    /// The value of a common option as typed; `None` if it was not given.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|value| value.as_deref().unwrap_or_default())
    }

    /// The value of a common option, or its default.
    pub(super) fn text(&self, name: &str) -> &str {
        let default = || find_option(name, is_common).and_then(|option| option.default);
        self.given(name).unwrap_or_else(|| default().unwrap_or_default())
    }

    /// Whether a common option is on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        match self.values.get(name) {
            Some(value) => read_switch(value.as_deref()) == Some(true),
            None => self.text(name) == "on",
        }
    }

    /// A common option as a whole number.
    pub(super) fn int(&self, name: &str) -> i64 {
        read_lax_number(self.text(name)) as i64
    }

    /// The parts of a list.
    pub(super) fn list(&self, name: &str) -> Vec<&str> {
        self.text(name).split(',').map(str::trim).filter(|part| !part.is_empty()).collect()
    }

    /// Whether deviations are switched back.
    pub(super) fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// Whose reports.
    pub(super) fn style(&self) -> SysbenchStyle {
        match self.text("report-style") {
            "1.1" => SysbenchStyle::V1_1,
            _ => SysbenchStyle::V1_0,
        }
    }

    /// Takes the options that belong to the test: values by name, with dashes, with defaults.
    ///
    /// # Errors
    /// For the first one that the test does not have, and for values that can't be.
    pub(super) fn take_test_options(
        &self,
        wanted: impl Fn(OptionGroup) -> bool,
    ) -> Result<TestOptions, WordsError> {
        let mut options = TestOptions::default();
        for other in &self.others {
            let known = find_option(&other.name, &wanted);
            let is_refused = known.is_some_and(|option| {
                option.kind == ArgKind::Bool && read_switch(other.value.as_deref()).is_none()
            });
            let Some(option) = known.filter(|_| !is_refused) else {
                if !other.is_typed {
                    continue;
                }
                return Err(WordsError(format!("invalid option: {}", other.typed_text())));
            };
            self.check_value(option, other.value.as_deref())?;
            let name = option.name.replace('_', "-");
            options.0.insert(name, (option, other.value.clone()));
        }
        Ok(options)
    }
}

/// The options of a test that were given.
#[derive(Clone, Debug, Default)]
pub(super) struct TestOptions(BTreeMap<String, (&'static SysbenchOption, Option<String>)>);

impl TestOptions {
    /// All, by name with dashes: a switch is `on` or `off`, a number as it was read.
    pub(super) fn plain_values(&self) -> Vec<(String, String)> {
        let plain = |(name, (option, value)): (&String, &(&SysbenchOption, Option<String>))| {
            let text = value.as_deref().unwrap_or_default();
            let value = match option.kind {
                ArgKind::Bool if read_switch(value.as_deref()) == Some(true) => "on".to_owned(),
                ArgKind::Bool => "off".to_owned(),
                // Whole numbers keep all their digits.
                ArgKind::Double if text.parse::<u64>().is_ok() => text.to_owned(),
                ArgKind::Double => read_lax_number(text).to_string(),
                ArgKind::Int | ArgKind::IntOrMore if text.is_empty() => "0".to_owned(),
                ArgKind::Size | ArgKind::SizeNumber => read_size(text).to_string(),
                _ => text.to_owned(),
            };
            (name.clone(), value)
        };
        self.0.iter().map(plain).collect()
    }

    /// What was typed for one.
    pub(super) fn typed_text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|(_, value)| value.as_deref().unwrap_or_default())
    }

    /// The plain value of one.
    pub(super) fn plain_value(&self, name: &str) -> Option<String> {
        self.plain_values().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

/// A line of a config file as an option: no blank before `=`, nothing behind `#`, quotes taken away.
fn config_line(line: &str) -> Option<String> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let line = line.trim_start_matches("--");
    if line.is_empty() {
        return None;
    }
    let (name, value) = split_option(line);
    if name.ends_with(char::is_whitespace) || name.is_empty() {
        return None;
    }
    let Some(value) = value else { return Some(name.to_owned()) };
    let value = value.trim();
    let quoted = |quote: char| value.strip_prefix(quote).and_then(|v| v.strip_suffix(quote));
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    Some(format!("{name}={value}"))
}

fn split_option(text: &str) -> (&str, Option<&str>) {
    match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    }
}

/// A switch: `on` if it has no value.
pub(super) fn read_switch(value: Option<&str>) -> Option<bool> {
    match value {
        None | Some("on" | "true" | "1") => Some(true),
        Some("off" | "false" | "0") => Some(false),
        Some(_) => None,
    }
}

/// The number at the start of a text, 0 if there is none.
pub(super) fn read_lax_number(text: &str) -> f64 {
    let text = text.trim();
    let ends = (1..=text.len()).rev().filter(|end| text.is_char_boundary(*end));
    let number = |end: usize| text[..end].parse::<f64>().ok().filter(|n| n.is_finite());
    ends.filter_map(number).next().unwrap_or(0.0)
}

/// Digits with K, M, G or T; 0 with any other letter.
pub(super) fn read_size(text: &str) -> u64 {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().unwrap_or(0);
    let shift = match text[digits..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return 0,
    };
    number.checked_shl(shift).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<SysbenchWords, WordsError> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        SysbenchWords::from_args(&args)
    }

    #[test]
    fn options_stand_anywhere_and_dashes_are_underscores() {
        let read = words("--threads=2 cpu --report_interval=1 run --debug").unwrap();
        assert_eq!((read.int("threads"), read.int("report-interval")), (2, 1));
        assert_eq!((read.test.as_deref(), read.command.as_deref()), (Some("cpu"), Some("run")));
        assert!(read.is_on("debug") && !read.is_on("histogram"));
        assert_eq!((read.int("time"), read.text("mysql-db")), (10, "sbtest"));
        let error = words("cpu run more").unwrap_err();
        assert_eq!(error.0, "Unrecognized command line argument: more");
    }

    #[test]
    fn words_that_name_nothing_are_refused_or_skipped() {
        let refusal = |line: &str| {
            let read = words(line).unwrap();
            assert_eq!((read.test.as_deref(), read.complaints.len()), (Some("cpu"), 0));
            read.take_test_options(|group| group == OptionGroup::Test("cpu")).unwrap_err().0
        };
        assert_eq!(refusal("-- cpu run"), "invalid option: --");
        assert_eq!(refusal("--test cpu run --config-file"), "invalid option: --test");
    }

    #[test]
    fn numbers_are_strict_and_switches_that_are_none_wait_for_the_test() {
        let error = words("--report-interval=x cpu").unwrap_err();
        assert_eq!(error.0, "Invalid value for the 'report_interval' option: 'x'");
        assert!(words("--percentile=50,99.9 cpu").is_ok());
        assert!(words("--percentile=99.9 --strict-compat cpu").is_err());
        let read = words("cpu --debug=maybe run").unwrap();
        let error = read.take_test_options(|group| group == OptionGroup::Test("cpu")).unwrap_err();
        assert_eq!(error.0, "invalid option: --debug=maybe");
        let read = words("cpu --cpu_max_prime=x run").unwrap();
        let error = read.take_test_options(|group| group == OptionGroup::Test("cpu")).unwrap_err();
        assert_eq!(error.0, "Invalid value for the 'cpu_max_prime' option: 'x'");
        let read = words("cpu --foo --bar=1 run").unwrap();
        assert_eq!(read.take_test_options(|_| false).unwrap_err().0, "invalid option: --foo");
    }

    #[test]
    fn values_are_read_as_laxly_as_by_sysbench() {
        assert_eq!(
            [read_lax_number("1e1"), read_lax_number("x"), read_lax_number("7k")],
            [10.0, 0.0, 7.0]
        );
        assert_eq!([read_size("64K"), read_size("1X"), read_size("abc")], [65_536, 0, 0]);
        let read = words("x run --point_selects=1e1 --skip-trx --secondary=off").unwrap();
        let options = read.take_test_options(|group| group == OptionGroup::Oltp).unwrap();
        assert_eq!(options.plain_value("point-selects").as_deref(), Some("10"));
        assert_eq!(options.plain_value("skip-trx").as_deref(), Some("on"));
        assert_eq!(options.plain_value("secondary").as_deref(), Some("off"));
        assert_eq!(options.plain_value("tables"), None);
    }

    #[test]
    fn a_config_file_is_read_where_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let text = "threads=2\nevents=5 # few\n# none\n\ntime = 9\nfoo=3\nmysql-db=\"a\"\n";
        std::fs::write(&path, text).unwrap();
        let file = format!("--config-file={}", path.display());
        let read = words(&format!("--threads=7 {file} cpu run")).unwrap();
        assert_eq!((read.int("threads"), read.int("events"), read.int("time")), (2, 5, 10));
        assert_eq!(read.text("mysql-db"), "a");
        assert!(read.take_test_options(|_| false).is_ok());
        assert_eq!(words(&format!("{file} --threads=7 cpu")).unwrap().int("threads"), 7);
        let read = words("--config-file=/nonexistent cpu run").unwrap();
        assert_eq!(read.complaints, ["/nonexistent: No such file or directory"]);
    }
}
