//! Reads words as the clients of MySQL and MariaDB do: options of files first, then those typed; `_` is `-`, unambiguous
//! beginnings of long names will do, `skip-`, `loose-` and their like are understood.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::option_table::{FILE_OPTIONS, OPTIONS, SlapArg, SlapOption, SlapSource};
use crate::cli::option_file::{self, OptionFileChoice};

/// Groups of option files that both programs read.
const GROUPS: &[&str] = &["mysqlslap", "mariadb-slap", "client", "client-server", "client-mariadb"];

/// Exit codes of the reader.
const UNKNOWN_OPTION: u8 = 2;
const AMBIGUOUS: u8 = 3;
const NO_ARGUMENT_ALLOWED: u8 = 4;
const ARGUMENT_REQUIRED: u8 = 5;
const UNKNOWN_VARIABLE: u8 = 7;
const UNKNOWN_SUFFIX: u8 = 9;
const DISABLED: u8 = 12;
const INCORRECT_NUMBER: u8 = 13;
/// Words without an option that are passed over.
const MOST_OTHER_WORDS: usize = 2;

/// Words that can't be read: what is said on standard error, and the exit code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SlapWordsError {
    pub(super) text: String,
    pub(super) code: u8,
}

/// What was said.
#[derive(Debug, Default)]
pub(super) struct SlapWords {
    values: BTreeMap<&'static str, String>,
    /// Names that were typed, not read from a file.
    typed: Vec<&'static str>,
    /// How often `-v`.
    pub(super) verbosity: u32,
    /// What is to be said on standard error.
    pub(super) complaints: Vec<String>,
    /// `--print-defaults`: the words after the files were read.
    pub(super) printed: Option<String>,
    program: String,
}

/// The word, where it has been cut, and what is said where it is none.
struct OptionWord<'a> {
    /// As typed, without its dashes.
    typed: &'a str,
    name: String,
    value: Option<&'a str>,
}

impl<'a> OptionWord<'a> {
    fn new(typed: &'a str) -> OptionWord<'a> {
        let (name, value) = match typed.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (typed, None),
        };
        OptionWord { typed, name: name.replace('_', "-"), value }
    }
}

impl SlapWords {
    /// Reads the words behind the program's name.
    ///
    /// # Errors
    /// As mysqlslap says it.
    pub(super) fn from_args(args: &[String], program: &str) -> Result<SlapWords, SlapWordsError> {
        let mut words = SlapWords { program: program.to_owned(), ..SlapWords::default() };
        let is_file_option = |word: &&String| {
            let name = OptionWord::new(word.trim_start_matches("--")).name;
            word.starts_with("--") && FILE_OPTIONS.contains(&&*name)
        };
        let first = args.iter().take_while(is_file_option).count();
        let (of_files, args) = args.split_at(first);
        let found = words.read_files(of_files, args)?;
        if of_files.iter().any(|word| word == "--print-defaults") {
            let all = found.iter().map(|(_, word)| word).chain(args);
            let shown = all.map(|word| hide_password(word) + " ").collect();
            words.printed = Some(shown);
            return Ok(words);
        }
        for (place, word) in &found {
            // What other programs of the group know is not for us to complain about.
            if words.add_long(&word[2..], &mut [].iter(), false).is_err() {
                words.complaints.push(format!("{program}: {place}: {word} is passed over"));
            }
        }
        words.add_typed(args)?;
        Ok(words)
    }

    /// Options of the files, as words.
    fn read_files(
        &self,
        of_files: &[String],
        args: &[String],
    ) -> Result<Vec<(String, String)>, SlapWordsError> {
        let given = |name: &str| {
            let mut words = of_files.iter().map(|word| OptionWord::new(&word[2..]));
            words.find(|word| word.name == name).map(|word| word.value.unwrap_or_default())
        };
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let suffix = || variable("MYSQL_GROUP_SUFFIX").and_then(|text| text.into_string().ok());
        let login_path = args.iter().find_map(|word| word.strip_prefix("--login-path="));
        let choice = OptionFileChoice {
            only: given("defaults-file").map(PathBuf::from),
            extra: given("defaults-extra-file").map(PathBuf::from),
            suffix: given("defaults-group-suffix").map(str::to_owned).or_else(suffix),
            none: given("no-defaults").is_some(),
            login_path: login_path.map(str::to_owned),
            no_login_paths: args.iter().any(|word| word == "--no-login-paths"),
            home: variable("HOME").map(PathBuf::from),
            mysql_home: variable("MYSQL_HOME").map(PathBuf::from),
            login_file: variable("MYSQL_TEST_LOGIN_FILE").map(PathBuf::from),
        };
        let missing = [&choice.only, &choice.extra].into_iter().flatten().find(|p| !p.exists());
        if let Some(path) = missing {
            let text = format!(
                "Could not open required defaults file: {}\n\
                 Fatal error in defaults handling. Program aborted",
                path.display()
            );
            return Err(SlapWordsError { text, code: 1 });
        }
        let contents = option_file::read_groups(&choice, GROUPS);
        if let Some(mistake) = contents.mistakes.first() {
            let text = format!("{}: {mistake}", self.program);
            return Err(SlapWordsError { text, code: 1 });
        }
        let word = |option: option_file::FoundOption| match option.value.as_str() {
            "" => (option.place, format!("--{}", option.name)),
            value => (option.place, format!("--{}={value}", option.name)),
        };
        Ok(contents.options.into_iter().map(word).collect())
    }

    fn add_typed(&mut self, args: &[String]) -> Result<(), SlapWordsError> {
        let mut args = args.iter();
        let mut others = 0;
        while let Some(word) = args.next() {
            // These two are obeyed before what follows is read.
            if self.is_on("help") || self.is_on("version") {
                return Ok(());
            }
            if word == "--" {
                others += args.by_ref().count();
            } else if let Some(long) = word.strip_prefix("--") {
                self.add_long(long, &mut args, true)?;
            } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                self.add_letters(letters, &mut args)?;
            } else {
                others += 1;
            }
        }
        if others > MOST_OTHER_WORDS {
            return Err(self.refuse(1, "Too many arguments"));
        }
        Ok(())
    }

    fn refuse(&self, code: u8, why: &str) -> SlapWordsError {
        SlapWordsError { text: format!("{}: {why}", self.program), code }
    }

    fn add_long<'a>(
        &mut self,
        typed: &'a str,
        rest: &mut impl Iterator<Item = &'a String>,
        is_typed: bool,
    ) -> Result<(), SlapWordsError> {
        let mut word = OptionWord::new(typed);
        let is_loose = word.name.starts_with("loose-");
        if is_loose {
            word.name.drain(.."loose-".len());
        }
        let mut switched = None;
        if exact_option(&word.name).is_none() {
            let prefixes = [("skip-", "0"), ("disable-", "0"), ("enable-", "1")];
            if let Some((prefix, value)) = prefixes.iter().find(|(p, _)| word.name.starts_with(p)) {
                word.name.drain(..prefix.len());
                switched = Some(*value);
            }
        }
        let option = match self.find_option(&word)? {
            Some(option) => option,
            None => {
                let (code, why) = match word.value {
                    Some(_) => (UNKNOWN_VARIABLE, format!("unknown variable '{typed}'")),
                    None => (UNKNOWN_OPTION, format!("unknown option '--{typed}'")),
                };
                if !is_loose {
                    return Err(self.refuse(code, &why));
                }
                self.complaints.push(format!("Warning: {}: {why}", self.program));
                return Ok(());
            }
        };
        if let Some(value) = switched {
            return self.set_value(option, value, is_typed);
        }
        match (option.arg, word.value) {
            (SlapArg::Switch, None) => self.set_value(option, "1", is_typed),
            (SlapArg::Switch, Some(value)) => match read_switch(value) {
                Some(is_on) => self.set_value(option, if is_on { "1" } else { "0" }, is_typed),
                None => {
                    let name = option.name;
                    self.complaints.push(format!(
                        "Warning: {}: ignoring option '--{name}' due to invalid value '{value}'",
                        self.program
                    ));
                    Ok(())
                }
            },
            (SlapArg::Repeated, None) => self.set_value(option, "", is_typed),
            (SlapArg::Repeated, Some(_)) => {
                let why = format!("option '--{}' cannot take an argument", option.name);
                Err(self.refuse(NO_ARGUMENT_ALLOWED, &why))
            }
            (SlapArg::MaybeText, value) => {
                self.set_value(option, value.unwrap_or_default(), is_typed)
            }
            (SlapArg::Number | SlapArg::Text, Some(value)) => {
                self.set_value(option, value, is_typed)
            }
            (SlapArg::Number | SlapArg::Text, None) => match rest.next() {
                Some(value) => self.set_value(option, value, is_typed),
                None => {
                    let why = format!("option '--{}' requires an argument", word.typed);
                    Err(self.refuse(ARGUMENT_REQUIRED, &why))
                }
            },
        }
    }

    fn add_letters<'a>(
        &mut self,
        letters: &'a str,
        rest: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), SlapWordsError> {
        for (at, letter) in letters.char_indices() {
            let known = OPTIONS.iter().find(|option| option.short == Some(letter));
            let Some(option) = known.or_else(|| (letter == 'I').then(help_option)) else {
                return Err(self.refuse(UNKNOWN_OPTION, &format!("unknown option '-{letter}'")));
            };
            let behind = &letters[at + letter.len_utf8()..];
            match option.arg {
                SlapArg::Switch => self.set_value(option, "1", true)?,
                SlapArg::Repeated => self.set_value(option, "", true)?,
                SlapArg::MaybeText => return self.set_value(option, behind, true),
                SlapArg::Number | SlapArg::Text if !behind.is_empty() => {
                    let value =
                        if option.short == Some('c') && behind == "=" { "" } else { behind };
                    return self.set_value(option, value, true);
                }
                SlapArg::Number | SlapArg::Text => {
                    let Some(value) = rest.next() else {
                        let why = format!("option '-{letter}' requires an argument");
                        return Err(self.refuse(ARGUMENT_REQUIRED, &why));
                    };
                    return self.set_value(option, value, true);
                }
            }
        }
        Ok(())
    }

    /// The option that is meant by a long name or its beginning.
    fn find_option(
        &mut self,
        word: &OptionWord<'_>,
    ) -> Result<Option<&'static SlapOption>, SlapWordsError> {
        if let Some(option) = exact_option(&word.name) {
            return Ok(Some(option));
        }
        let beginning = |source: SlapSource| -> Vec<&'static SlapOption> {
            let all = OPTIONS.iter().filter(|option| option.source == source);
            all.filter(|option| option.name.starts_with(&word.name)).collect()
        };
        // What MySQL's program has besides makes no beginning ambiguous.
        let mut found = beginning(SlapSource::MariaDb);
        if found.is_empty() {
            found = beginning(SlapSource::MySql);
        }
        match found.as_slice() {
            [] => Ok(None),
            [option] => {
                self.complaints.push(format!(
                    "Info: Using unique option prefix '{}' is error-prone and can break in the \
                     future. Please use the full name '{}' instead.",
                    word.name, option.name
                ));
                Ok(Some(option))
            }
            several => {
                let names: Vec<&str> = several.iter().map(|option| option.name).collect();
                let why = format!("ambiguous option '--{}' ({})", word.typed, names.join(", "));
                Err(self.refuse(AMBIGUOUS, &why))
            }
        }
    }

    fn set_value(
        &mut self,
        option: &'static SlapOption,
        value: &str,
        is_typed: bool,
    ) -> Result<(), SlapWordsError> {
        if option.short == Some('#') {
            return Err(self.refuse(DISABLED, "ERROR: Option '-#' used, but is disabled"));
        }
        if option.arg == SlapArg::Repeated {
            self.verbosity = if value == "0" { 0 } else { self.verbosity + 1 };
            return Ok(());
        }
        if option.arg == SlapArg::Number {
            self.check_number(option.name, value)?;
        }
        self.values.insert(option.name, value.to_owned());
        if is_typed {
            self.typed.push(option.name);
        }
        Ok(())
    }

    fn check_number(&self, name: &str, value: &str) -> Result<(), SlapWordsError> {
        let setting = format!("{}: Error while setting value '{value}' to '{name}'", self.program);
        let wrong =
            |why: String, code: u8| Err(SlapWordsError { text: format!("{why}\n{setting}"), code });
        match read_number(value) {
            Ok(_) => Ok(()),
            Err(NumberFault::Suffix(letter)) => wrong(
                format!(
                    "Unknown suffix '{letter}' used for variable '{name}' (value '{value}'). \
                     Legal suffix characters are: K, M, G, T, P, E"
                ),
                UNKNOWN_SUFFIX,
            ),
            Err(NumberFault::Negative) => {
                wrong(format!("Incorrect unsigned value: '{value}' for {name}"), INCORRECT_NUMBER)
            }
            Err(NumberFault::TooLarge) => wrong(
                format!("Integer value out of range for uint64: '{value}' for {name}"),
                INCORRECT_NUMBER,
            ),
        }
    }

    /// A value as it was given.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Whether an option was typed, not read from a file.
    pub(super) fn is_typed(&self, name: &str) -> bool {
        self.typed.contains(&name)
    }

    /// Whether a switch is on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.given(name) == Some("1")
    }

    /// A number, or its default.
    pub(super) fn number(&self, name: &str, default: u64) -> u64 {
        self.given(name).and_then(|value| read_number(value).ok()).unwrap_or(default)
    }
}

/// Why a text is no number.
#[derive(Debug, PartialEq, Eq)]
enum NumberFault {
    Suffix(char),
    Negative,
    TooLarge,
}

/// Digits and a letter that multiplies by powers of 1,024; nothing is 0.
fn read_number(text: &str) -> Result<u64, NumberFault> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let shift = match digits[end..].chars().next() {
        None => 0,
        Some(letter) => match "KMGTPE".find(letter.to_ascii_uppercase()) {
            Some(power) => 10 * (power + 1),
            None => return Err(NumberFault::Suffix(letter)),
        },
    };
    if end == 0 {
        return Ok(0);
    }
    let number: u64 = digits[..end].parse().map_err(|_| NumberFault::TooLarge)?;
    match number.checked_mul(1 << shift) {
        Some(number) if number > 0 && text.starts_with('-') => Err(NumberFault::Negative),
        Some(number) => Ok(number),
        None => Err(NumberFault::TooLarge),
    }
}

fn read_switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "on" | "true" => Some(true),
        "0" | "off" | "false" => Some(false),
        _ => None,
    }
}

fn exact_option(name: &str) -> Option<&'static SlapOption> {
    OPTIONS.iter().find(|option| option.name == name)
}

/// `-I` asks for help, too.
fn help_option() -> &'static SlapOption {
    exact_option("help").expect("there is one")
}

fn hide_password(word: &str) -> String {
    match word {
        word if word.starts_with("--password=") => "--password=*****".to_owned(),
        word if word.starts_with("-p") && word.len() > 2 => "-p*****".to_owned(),
        word => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<SlapWords, SlapWordsError> {
        let words = ["--no-defaults"].into_iter().chain(line.split_whitespace());
        let args: Vec<String> = words.map(str::to_owned).collect();
        SlapWords::from_args(&args, "mysqlslap")
    }

    fn refusal(line: &str) -> (String, u8) {
        let error = read(line).unwrap_err();
        (error.text, error.code)
    }

    #[test]
    fn words_are_read_as_the_clients_read_them() {
        let words = read("-ac1,8 -i 3 --number_of_queries=1k --skip-no-drop -psecret -vv").unwrap();
        assert!(words.is_on("auto-generate-sql") && !words.is_on("no-drop"));
        assert_eq!((words.given("concurrency"), words.number("iterations", 1)), (Some("1,8"), 3));
        assert_eq!((words.number("number-of-queries", 0), words.verbosity), (1024, 2));
        assert_eq!(words.given("password"), Some("secret"));
        assert!(words.is_typed("iterations") && words.complaints.is_empty());
        let words = read("--csv -s --csv=x foo bar").unwrap();
        assert_eq!((words.given("csv"), words.is_on("silent")), (Some("x"), true));
    }

    #[test]
    fn beginnings_will_do_with_a_word_about_it() {
        let words = read("--conc=2").unwrap();
        assert_eq!(words.given("concurrency"), Some("2"));
        assert!(words.complaints[0].starts_with("Info: Using unique option prefix 'conc' is"));
        let (text, code) = refusal("--auto-generate-sql-unique=3");
        assert_eq!(code, 3);
        assert_eq!(
            text,
            "mysqlslap: ambiguous option '--auto-generate-sql-unique=3' \
             (auto-generate-sql-unique-query-number, auto-generate-sql-unique-write-number)"
        );
        assert!(read("--pass=x").unwrap().given("password").is_some(), "MySQL has three more");
    }

    #[test]
    fn what_can_not_be_read_has_its_exit_code() {
        assert_eq!(refusal("--nope"), ("mysqlslap: unknown option '--nope'".to_owned(), 2));
        assert_eq!(refusal("-z"), ("mysqlslap: unknown option '-z'".to_owned(), 2));
        assert_eq!(refusal("--foo=3"), ("mysqlslap: unknown variable 'foo=3'".to_owned(), 7));
        assert_eq!(refusal("-c"), ("mysqlslap: option '-c' requires an argument".to_owned(), 5));
        let (text, code) = refusal("--verbose=2");
        assert_eq!((&*text, code), ("mysqlslap: option '--verbose' cannot take an argument", 4));
        assert!(refusal("-i x").0.starts_with("Unknown suffix 'x' used for variable 'iterations'"));
        assert_eq!((refusal("-i x").1, refusal("-i -1").1, refusal("-#").1), (9, 13, 12));
        assert_eq!(refusal("a b c"), ("mysqlslap: Too many arguments".to_owned(), 1));
        let loose = read("--loose-foo=3 --no-drop=maybe").unwrap();
        assert_eq!(loose.complaints[0], "Warning: mysqlslap: unknown variable 'loose-foo=3'");
        assert!(loose.complaints[1].contains("ignoring option '--no-drop' due to invalid value"));
    }

    #[test]
    fn a_password_is_not_printed() {
        let args = ["--no-defaults", "--print-defaults", "-psecret", "-a"].map(str::to_owned);
        let words = SlapWords::from_args(&args, "mysqlslap").unwrap();
        assert_eq!(words.printed.as_deref(), Some("-p***** -a "));
    }
}
