//! Words into a plan, with the checks and the messages of mysqlslap, and ours.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::FAILED;
use super::option_table::{ADDRESS_OPTIONS, IGNORED_OPTIONS};
use super::printer::{CsvSink, SlapFormat, SlapOutput};
use super::reader::SlapWords;
use crate::base::units::{parse_rate, parse_time};
use crate::base::{Secret, Stop};
use crate::cli::connection::{ENVIRONMENT, apply_option};
use crate::cli::exit::CommandOutcome;
use crate::cli::prompt;
use crate::experiment::{AroundRounds, QueryCount, RoundData, SlapEngine, SlapPlan};
use crate::plan::{AddressPlan, ArrivalPlan, LoadPlan, MOST_WORKERS, Mistake, Protocol};
use crate::workload::slap::{
    DetachRule, GeneratedShape, LoadMix, PrimaryColumn, QueryLimit, SlapLoad, SplitRule,
    StatementList, StatementOrder,
};

/// A round of so many columns fits a row of any server.
const MOST_COLUMNS: u32 = 1_000;
/// A file of lines of values is for its owner, and to be read by the group.
const CSV_MODE: u32 = 0o640;

/// What is wrong with the words: what is said behind the program's name, and the exit code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SettingsError {
    pub(super) text: String,
    pub(super) code: u8,
    /// Whether the program's name stands before it.
    pub(super) is_signed: bool,
}

/// What mysqlslap refuses itself.
fn refused(text: impl Into<String>) -> SettingsError {
    SettingsError { text: text.into(), code: FAILED, is_signed: true }
}

impl From<Mistake> for SettingsError {
    fn from(mistake: Mistake) -> SettingsError {
        let hint = mistake.hint.as_ref().map(|hint| format!("\nhint: {hint}"));
        let text = format!("{mistake}{}", hint.unwrap_or_default());
        SettingsError { text, code: CommandOutcome::Usage.exit_code(), is_signed: true }
    }
}

/// All that the words say.
pub(super) struct SlapSettings {
    pub(super) plan: SlapPlan,
    /// `None` if nothing is to be connected to.
    pub(super) address: Option<AddressPlan>,
    pub(super) output: SlapOutput,
    /// The folder of run folders and the run's name, if it is kept.
    pub(super) kept: Option<(PathBuf, String)>,
}

impl SlapSettings {
    /// # Errors
    /// The first thing that is wrong.
    pub(super) fn from_words(
        words: &SlapWords,
        program: &str,
        stop: &Stop,
    ) -> Result<SlapSettings, SettingsError> {
        let address = read_address(words, stop)?;
        check_combinations(words)?;
        let csv = words.given("csv").map(open_csv).transpose()?;
        let is_classic = words.is_on("as-mysqlslap");
        let rule = if is_classic { SplitRule::Bare } else { SplitRule::Quoted };
        let delimiter = words.given("delimiter").unwrap_or("\n").as_bytes().first().copied();
        let delimiter = delimiter.ok_or_else(|| {
            Mistake::new("--delimiter", "is empty").hint("one character, as in -F ';'")
        })?;
        let texts = StatementTexts { words, delimiter, rule };
        let is_generated = words.is_on("auto-generate-sql");
        let shape = generated_shape(words);
        let (data, list) = match is_generated {
            true => {
                let sql = shape.generate_sql();
                let list = StatementList::from_generated(&sql, is_classic)?;
                let rows = words.number("auto-generate-sql-write-number", 100);
                (RoundData::Generated(sql, rows), list)
            }
            false => {
                let create = texts.read_list("create", "Create file")?;
                let list = texts.read_list("query", "User query supplied file")?;
                let data = create.map_or(RoundData::None, RoundData::Statements);
                (data, list.unwrap_or(texts.empty_list()?))
            }
        };
        let clients = read_clients(words.given("concurrency"), is_classic)?;
        let count = read_count(words, &clients, is_generated, is_classic)?;
        let pace = read_pace(words)?;
        let only_print = words.is_on("only-print");
        let output = SlapOutput {
            verbosity: words.verbosity,
            silent: words.is_on("silent"),
            only_print,
            is_classic,
            csv,
            format: read_format(words)?,
            mix: words.given("auto-generate-sql-load-type").unwrap_or("mixed").to_owned(),
            debug_info: words.is_on("debug-info"),
        };
        let tells_statements = only_print || output.verbosity > 2;
        let has_keys = is_generated && shape.primary != PrimaryColumn::None;
        let plan = SlapPlan {
            schema: words.given("create-schema").unwrap_or("mysqlslap").to_owned(),
            engines: read_engines(words.given("engine").unwrap_or_default()),
            clients,
            iterations: words.number("iterations", 1),
            data,
            has_keys,
            count,
            load: read_load(words, list)?,
            pace,
            around: texts.read_around()?,
            keeps_schema: words.is_on("no-drop"),
            may_drop: read_allow(words)?,
            tells_statements,
            is_classic,
        };
        for name in IGNORED_OPTIONS.iter().filter(|name| words.is_typed(name)) {
            super::print_complaint(&format!("{program}: --{name} is passed over"));
        }
        let name = words.given("name").unwrap_or("slap").to_owned();
        let kept = words.given("runs-dir").map(|dir| (PathBuf::from(dir), name));
        Ok(SlapSettings { plan, address: (!only_print).then_some(address), output, kept })
    }
}

/// What mysqlslap says can't be together.
fn check_combinations(words: &SlapWords) -> Result<(), SettingsError> {
    let is_given = |name: &str| words.given(name).is_some();
    let is_generated = words.is_on("auto-generate-sql");
    if is_generated && (is_given("create") || is_given("query")) {
        let why = "Can't use --auto-generate-sql when create and query strings are specified!";
        return Err(refused(why));
    }
    let (guid, serial) = (
        words.is_on("auto-generate-sql-guid-primary"),
        words.is_on("auto-generate-sql-add-autoincrement"),
    );
    if guid && serial {
        return Err(refused(
            "Either auto-generate-sql-guid-primary or auto-generate-sql-add-autoincrement can be \
             used!",
        ));
    }
    let mix = words.given("auto-generate-sql-load-type").unwrap_or_default();
    if is_generated && LoadMix::from_word(mix) == LoadMix::Key && !guid && !serial {
        return Err(refused("Can't perform key test without a primary key!"));
    }
    let is_number = |name: &str| words.number(name, 0) > 0;
    if is_number("auto-generate-sql-execute-number") && is_number("number-of-queries") {
        return Err(refused(
            "Either auto-generate-sql-execute-number or number-of-queries can be used!",
        ));
    }
    Ok(())
}

/// Options that hold statements, or name a file that does.
struct StatementTexts<'a> {
    words: &'a SlapWords,
    delimiter: u8,
    rule: SplitRule,
}

impl StatementTexts<'_> {
    fn read_list(&self, name: &str, file: &str) -> Result<Option<StatementList>, SettingsError> {
        let Some(given) = self.words.given(name) else { return Ok(None) };
        let path = Path::new(given);
        let text = match path.metadata() {
            Ok(found) if !found.is_file() => {
                return Err(refused(format!("{file} was not a regular file")));
            }
            Ok(_) => std::fs::read(path).map_err(|_| {
                let file = file.to_lowercase().replace("user query supplied", "query supplied");
                refused(format!("Could not open {file}"))
            })?,
            Err(_) => given.as_bytes().to_vec(),
        };
        Ok(Some(self.cut_text(&text, name)?))
    }

    fn read_around(&self) -> Result<AroundRounds, SettingsError> {
        let command = |name: &str| self.words.given(name).map(str::to_owned);
        Ok(AroundRounds {
            pre_queries: self.read_list("pre-query", "User query supplied file")?,
            post_queries: self.read_list("post-query", "User query supplied file")?,
            pre_system: command("pre-system"),
            post_system: command("post-system"),
        })
    }

    fn empty_list(&self) -> Result<StatementList, SettingsError> {
        self.cut_text(b"", "query")
    }

    fn cut_text(&self, text: &[u8], name: &str) -> Result<StatementList, SettingsError> {
        Ok(StatementList::from_text(text, self.delimiter, self.rule, &format!("--{name}"))?)
    }
}

fn generated_shape(words: &SlapWords) -> GeneratedShape {
    // `N` or `N:1`, of which the second tells whether there are indexes.
    let columns = |name: &str| {
        let text = words.given(name).unwrap_or("1");
        let (count, index) = text.split_once(':').unwrap_or((text, "0"));
        (leading_number(count).min(u64::from(MOST_COLUMNS)) as u32, leading_number(index) > 0)
    };
    let (int_columns, int_indexes) = columns("number-int-cols");
    let (char_columns, char_indexes) = columns("number-char-cols");
    let primary = if words.is_on("auto-generate-sql-guid-primary") {
        PrimaryColumn::Guid
    } else if words.is_on("auto-generate-sql-add-autoincrement") {
        PrimaryColumn::Serial
    } else {
        PrimaryColumn::None
    };
    let secondary_keys = words.number("auto-generate-sql-secondary-indexes", 0);
    GeneratedShape {
        int_columns,
        int_indexes,
        char_columns,
        char_indexes,
        secondary_keys: secondary_keys.min(u64::from(MOST_COLUMNS)) as u32,
        primary,
        mix: LoadMix::from_word(words.given("auto-generate-sql-load-type").unwrap_or_default()),
        unique_queries: words.number("auto-generate-sql-unique-query-number", 10),
        unique_rows: words.number("auto-generate-sql-unique-write-number", 10),
    }
}

/// The number at the start of a text; 0 where there is none, as C's atoi() has it.
fn leading_number(text: &str) -> u64 {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().unwrap_or(0)
}

fn read_engines(text: &str) -> Vec<SlapEngine> {
    let engine = |part: &str| {
        let (name, options) = part.split_once(':').unwrap_or((part, ""));
        SlapEngine { name: name.to_owned(), options: options.to_owned() }
    };
    text.split(',').filter(|part| !part.is_empty()).map(engine).collect()
}

fn read_clients(text: Option<&str>, is_classic: bool) -> Result<Vec<usize>, SettingsError> {
    let text = text.unwrap_or("1");
    let mut numbers: Vec<u64> = text.split(',').map(leading_number).collect();
    if is_classic {
        // The first that is none ends the list. mysqlslap runs for ever if it is the first of all.
        let end = numbers.iter().position(|number| *number == 0);
        numbers.truncate(end.filter(|end| *end > 0).unwrap_or(numbers.len()));
    }
    match numbers.iter().find(|number| **number == 0 || **number > MOST_WORKERS) {
        Some(wrong) => Err(Mistake::new("--concurrency", format!("`{wrong}` clients in `{text}`"))
            .hint(format!("numbers from 1 to {MOST_WORKERS}, as in -c 1,8,64"))
            .into()),
        None => Ok(numbers.into_iter().map(|number| number as usize).collect()),
    }
}

fn read_count(
    words: &SlapWords,
    clients: &[usize],
    is_generated: bool,
    is_classic: bool,
) -> Result<QueryCount, SettingsError> {
    let of_each = words.number("auto-generate-sql-execute-number", 0);
    if is_generated && of_each > 0 {
        return Ok(QueryCount::PerClient(of_each));
    }
    match words.number("number-of-queries", 0) {
        0 if words.given("time").is_some() => Ok(QueryCount::Timed),
        0 => Ok(QueryCount::List),
        total => match clients.iter().find(|clients| **clients as u64 > total) {
            Some(clients) if !is_classic => Err(Mistake::new(
                "--number-of-queries",
                format!("{total} are fewer than {clients} clients"),
            )
            .hint("at least one for each client, or fewer clients")
            .into()),
            _ => Ok(QueryCount::Total(total)),
        },
    }
}

fn detach_rule(every: u64, is_classic: bool) -> DetachRule {
    match every {
        0 => DetachRule::Never,
        every if is_classic => DetachRule::Places(every),
        every => DetachRule::Queries(every),
    }
}

fn read_pace(words: &SlapWords) -> Result<LoadPlan, SettingsError> {
    let mut pace = LoadPlan::default();
    if let Some(text) = words.given("time") {
        let time = parse_time(text).map_err(|error| Mistake::new("--time", error.to_string()))?;
        if time.is_zero() {
            return Err(Mistake::new("--time", "is nothing").hint("as in 30s").into());
        }
        pace.time = Some(time);
    }
    if let Some(text) = words.given("rate") {
        let per_second =
            parse_rate(text).map_err(|error| Mistake::new("--rate", error.to_string()))?;
        pace.arrival = ArrivalPlan::Poisson { per_second };
    }
    Ok(pace)
}

/// What sessions do with the list.
fn read_load(words: &SlapWords, list: StatementList) -> Result<SlapLoad, SettingsError> {
    let is_classic = words.is_on("as-mysqlslap");
    Ok(SlapLoad {
        list: Arc::new(list),
        keys: Arc::default(),
        limit: QueryLimit::None,
        order: read_order(words)?,
        commit_every: words.number("commit", 0),
        detach: detach_rule(words.number("detach", 0), is_classic),
        init_command: words.given("init-command").map(str::to_owned),
        ends_at_error: is_classic,
        listener: None,
    })
}

fn read_order(words: &SlapWords) -> Result<StatementOrder, SettingsError> {
    match words.given("order") {
        None | Some("each") => Ok(StatementOrder::Each),
        Some("shared") => Ok(StatementOrder::Shared),
        Some("random") => Ok(StatementOrder::Random),
        Some(other) => Err(Mistake::new("--order", format!("`{other}` is none"))
            .hint("each, shared or random")
            .into()),
    }
}

fn read_format(words: &SlapWords) -> Result<SlapFormat, SettingsError> {
    match words.given("format") {
        None | Some("text") => Ok(SlapFormat::Text),
        Some("json") => Ok(SlapFormat::Json),
        Some("html") => Ok(SlapFormat::Html),
        Some(other) => Err(Mistake::new("--format", format!("`{other}` is none"))
            .hint("text, json or html")
            .into()),
    }
}

fn read_allow(words: &SlapWords) -> Result<bool, SettingsError> {
    match words.given("allow") {
        None => Ok(false),
        Some("drop") => Ok(true),
        Some(other) => Err(Mistake::new("--allow", format!("`{other}` is nothing to be allowed"))
            .hint("--allow drop")
            .into()),
    }
}

fn open_csv(name: &str) -> Result<CsvSink, SettingsError> {
    if name.is_empty() || name == "-" {
        return Ok(CsvSink::Stdout);
    }
    let file = OpenOptions::new().append(true).create(true).mode(CSV_MODE).open(name);
    // The n is theirs.
    file.map(CsvSink::File).map_err(|_| refused(format!("Could not open csv file: {name}n")))
}

/// Where the server is, by environment, files and words.
fn read_address(words: &SlapWords, stop: &Stop) -> Result<AddressPlan, SettingsError> {
    let mut plan = AddressPlan::default();
    let mut mistakes = Vec::new();
    for (variable, name) in ENVIRONMENT {
        if let Ok(value) = std::env::var(variable) {
            apply_option(&mut plan, variable, name, &value, &mut mistakes);
        }
    }
    for name in ADDRESS_OPTIONS {
        if let Some(value) = words.given(name) {
            apply_option(&mut plan, &format!("--{name}"), name, value, &mut mistakes);
        }
    }
    if let Some(protocol) = words.given("protocol").filter(|_| !mistakes.is_empty()) {
        let text = format!(
            "Unknown option to protocol: {protocol}\nAlternatives are: 'TCP','SOCKET','PIPE'"
        );
        return Err(SettingsError { is_signed: false, ..refused(text) });
    }
    if let Some(mistake) = mistakes.pop() {
        return Err(mistake.into());
    }
    let says = |name: &str| words.is_typed(name);
    if says("socket") && !says("host") && !says("protocol") {
        plan.protocol = Some(Protocol::Socket);
    }
    plan.password = match words.given("password").or_else(|| words.given("password1")) {
        None => plan.password,
        Some("") if words.is_on("only-print") => None,
        Some("") => {
            Some(prompt::ask_password(stop).map_err(|error| refused(format!("{error:#}")))?)
        }
        Some(password) => Some(Secret::new(password)),
    };
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(line: &str) -> Result<SlapSettings, SettingsError> {
        let words = ["--no-defaults", "-u", "root"].into_iter().chain(line.split_whitespace());
        let args: Vec<String> = words.map(str::to_owned).collect();
        let words = SlapWords::from_args(&args, "mysqlslap").unwrap();
        SlapSettings::from_words(&words, "mysqlslap", &Stop::new())
    }

    fn refusal(line: &str) -> (String, u8) {
        let error = settings(line).err().unwrap();
        (error.text, error.code)
    }

    #[test]
    fn what_mysqlslap_refuses_is_refused_in_its_words() {
        assert!(refusal("-a -q x").0.starts_with("Can't use --auto-generate-sql when create"));
        let key = "-a --auto-generate-sql-load-type=key";
        assert_eq!(refusal(key).0, "Can't perform key test without a primary key!");
        assert_eq!(refusal("-q /tmp").0, "User query supplied file was not a regular file");
        assert_eq!(refusal("--create=/tmp"), ("Create file was not a regular file".into(), 1));
        assert_eq!(refusal("--csv=/no/x").0, "Could not open csv file: /no/xn");
        assert!(refusal("--protocol=x").0.starts_with("Unknown option to protocol: x\nAltern"));
    }

    #[test]
    fn what_made_mysqlslap_run_wrong_is_a_mistake() {
        for line in ["-c 0", "-c x", "-c 1,,3", "-c 8 --number-of-queries=4", "--time=0"] {
            assert_eq!(refusal(line).1, 2, "{line}");
        }
        let classic = settings("-c 2,x,4 --number-of-queries=1 --as-mysqlslap").unwrap();
        assert_eq!(classic.plan.clients, [2]);
        assert_eq!(settings("-c 2,8 --time=3s").unwrap().plan.count, QueryCount::Timed);
    }

    #[test]
    fn engines_and_columns_have_a_part_behind_a_colon() {
        let plan = settings("-a -y 2:1 -x 3 -e innodb,memory:max_rows=9").unwrap().plan;
        let names: Vec<_> = plan.engines.iter().map(|e| (&*e.name, &*e.options)).collect();
        assert_eq!(names, [("innodb", ""), ("memory", "max_rows=9")]);
        let RoundData::Generated(sql, 100) = &plan.data else { panic!("{:?}", plan.data) };
        assert!(sql.create.contains("intcol2 INT(32), INDEX(intcol2),charcol1 VARCHAR(128),"));
    }
}
