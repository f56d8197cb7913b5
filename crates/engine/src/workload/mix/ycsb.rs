//! YCSB's workloads A to F: their properties become a mix, which does the rest.

use std::path::Path;

use anyhow::Context as _;

use super::draw::ycsb_key_number;
use super::import::ycsb::{
    RecordRange, YcsbProperties, core_workload, parse_properties, unknown_property, write_mix,
    wrong_value,
};
use super::spec::YcsbKeyForm;
use super::{MixWorkload, read};
use crate::client::Session;
use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Options};
use crate::recorder::{DataState, DataVerdict, DataVerdicts};
use crate::workload::{DataAction, DataDeed, Endpoint, Workload, WorkloadKind};

const NAME: &str = "ycsb";
/// Numbers whose rows `check` looks for.
const SAMPLE: u64 = 1000;
/// Keys that are looked for in one statement.
const BATCH: usize = 100;

/// The kind `ycsb`.
pub struct YcsbKind;

impl WorkloadKind for YcsbKind {
    fn name(&self) -> &'static str {
        NAME
    }
    fn help_line(&self) -> &'static str {
        "YCSB's core workloads, A to F"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        let letters = ["a", "b", "c", "d", "e", "f"];
        let spec = OptionSpec::new;
        vec![
            spec("workload", OptionKind::one_of(&letters), "a", "which of the core workloads"),
            spec("properties", OptionKind::Text, "", "files of properties, laid over it"),
            spec("property", OptionKind::Text, "", "name=value, several with commas"),
            spec("records", OptionKind::Count, "", "rows of the table (recordcount)"),
            spec("keys", OptionKind::one_of(&["java", "go"]), "java", "whose keys the table has"),
        ]
    }
    fn data_actions(&self) -> &'static [DataAction] {
        &[DataAction {
            name: "check",
            help: "Tell whose keys the table has and whether rows are missing",
            deed: DataDeed::Check,
        }]
    }
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let target = endpoint.require_mysql()?.clone();
        let properties = gather_properties(options)?;
        let imported = write_mix(&properties).finish(NAME);
        let spec = read::read_spec(&imported.text).map_err(Mistakes)?;
        let mut mix = MixWorkload::new(Path::new(NAME), spec, options, target)?;
        mix.prepare_command = format!("sweat bench {NAME} prepare");
        mix.keys = Some(TableKeys::from_properties(&properties));
        mix.notes = imported.notes;
        Ok(Box::new(mix))
    }
}

/// The workload's properties, with those of the files and those typed over them.
fn gather_properties(options: &Options) -> Result<YcsbProperties, Mistake> {
    let letter = options.text("workload").unwrap_or("a");
    let mut all = core_workload(letter).unwrap_or_default();
    for file in options.text("properties").into_iter().flat_map(|files| files.split(',')) {
        let place = || format!("--properties {file}");
        let text = std::fs::read_to_string(file)
            .map_err(|error| Mistake::new(place(), error.to_string()))?;
        // A file may say nothing but where the server is.
        let some = parse_properties(&text);
        if some.is_empty() {
            return Err(Mistake::new(place(), "it has no property"));
        }
        all.extend(some);
    }
    for pair in options.text("property").into_iter().flat_map(|text| text.split(',')) {
        let Some((name, value)) = pair.split_once('=') else {
            let why = format!("`{pair}` has no `=`");
            return Err(Mistake::new("--property", why).hint("as in --property=fieldcount=5"));
        };
        all.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    if let Some(keys) = options.text("keys") {
        all.insert("keys".to_owned(), keys.to_owned());
    }
    if let Some(records) = options.text("records").map(|_| options.count("records")) {
        all.insert("recordcount".to_owned(), records.to_string());
    }
    if let Some(why) = wrong_value(&all) {
        return Err(Mistake::new("--property", why).hint("as in --property=readproportion=0.5"));
    }
    check_range(&all)?;
    check_integrity(&all)?;
    match unknown_property(&all) {
        None => Ok(all),
        Some((name, hint)) => {
            let why = format!("`{name}` is not a property that sweat carries");
            Err(Mistake::new("--property", why).maybe_hint(hint))
        }
    }
}

/// Refuses records beyond `recordcount`, as YCSB does.
fn check_range(properties: &YcsbProperties) -> Result<(), Mistake> {
    let RecordRange { first, count } = RecordRange::from_properties(properties);
    let all = properties.get("recordcount").and_then(|text| text.parse::<f64>().ok());
    let all = all.map_or(1000, |all| all as u64).max(1);
    match first.checked_add(count) {
        Some(end) if end <= all => Ok(()),
        _ => {
            let why =
                format!("insertstart {first} and insertcount {count} go beyond {all} records");
            Err(Mistake::new("--property", why).hint("raise recordcount (--records)"))
        }
    }
}

/// Refuses values to be checked where they can't be: as in YCSB they have one length; go-ycsb makes others.
fn check_integrity(properties: &YcsbProperties) -> Result<(), Mistake> {
    let is = |name: &str, value: &str| {
        properties.get(name).is_some_and(|given| given.eq_ignore_ascii_case(value))
    };
    let mistake =
        |why: &str, hint: &str| Err(Mistake::new("--property dataintegrity=true", why).hint(hint));
    match is("dataintegrity", "true") {
        true if is("keys", "go") => {
            mistake("go-ycsb makes other values than YCSB", "leave it out, or use --keys=java")
        }
        true if properties.get("fieldlengthdistribution").is_some_and(|law| law != "constant") => {
            mistake("it needs fields of one length", "leave out fieldlengthdistribution")
        }
        _ => Ok(()),
    }
}

/// Which keys the table of a workload shall have.
pub(super) struct TableKeys {
    table: String,
    records: RecordRange,
    kind: YcsbKeyForm,
}

impl YcsbKeyForm {
    const ALL: [YcsbKeyForm; 3] = [YcsbKeyForm::Java, YcsbKeyForm::Go, YcsbKeyForm::Ordered];

    /// The key of a number.
    fn key_of(self, number: u64) -> String {
        let number = match self {
            YcsbKeyForm::Java => ycsb_key_number(number, false),
            YcsbKeyForm::Go => ycsb_key_number(number, true),
            YcsbKeyForm::Ordered => number,
        };
        format!("user{number}")
    }

    /// How they are asked for.
    fn option(self) -> &'static str {
        match self {
            YcsbKeyForm::Java => "--keys=java",
            YcsbKeyForm::Go => "--keys=go",
            YcsbKeyForm::Ordered => "--property=insertorder=ordered",
        }
    }

    fn title(self) -> &'static str {
        match self {
            YcsbKeyForm::Java => "keys of YCSB (java)",
            YcsbKeyForm::Go => "keys of go-ycsb (go)",
            YcsbKeyForm::Ordered => "ordered keys",
        }
    }
}

impl TableKeys {
    fn from_properties(properties: &YcsbProperties) -> TableKeys {
        let of = |name: &str, default: &str| {
            properties.get(name).map_or(default, String::as_str).to_owned()
        };
        let kind = match (of("insertorder", "hashed").as_str(), of("keys", "java").as_str()) {
            ("ordered", _) => YcsbKeyForm::Ordered,
            (_, "go") => YcsbKeyForm::Go,
            _ => YcsbKeyForm::Java,
        };
        let records = RecordRange::from_properties(properties);
        TableKeys { table: super::import::name_of(&of("table", "usertable")), records, kind }
    }

    /// The number of the row that tells whose keys the table has: 0 has the same key in both programs.
    fn telling_number(&self) -> u64 {
        self.records.first.max(1)
    }

    /// Whose keys the table has: by a row that each of them calls something else.
    fn find_kind(&self, session: &mut Session) -> anyhow::Result<Option<YcsbKeyForm>> {
        for kind in YcsbKeyForm::ALL {
            if self.count_rows(session, kind, &[self.telling_number()])? > 0 {
                return Ok(Some(kind));
            }
        }
        Ok(None)
    }

    fn count_rows(
        &self,
        session: &mut Session,
        kind: YcsbKeyForm,
        numbers: &[u64],
    ) -> anyhow::Result<u64> {
        let keys: Vec<String> =
            numbers.iter().map(|number| format!("'{}'", kind.key_of(*number))).collect();
        let table = &self.table;
        let sql = format!("SELECT COUNT(*) FROM {table} WHERE ycsb_key IN ({})", keys.join(","));
        let count = session.query_scalar(&sql).with_context(|| format!("look at {table}"))?;
        Ok(count.and_then(|count| count.parse().ok()).unwrap_or(0))
    }

    /// Whether a load would find its rows.
    ///
    /// # Errors
    /// When the table has the keys of another program.
    pub(super) fn check_kind(&self, session: &mut Session) -> anyhow::Result<()> {
        match self.find_kind(session)? {
            Some(found) if found != self.kind => {
                let why = format!("it has {}, not {}", found.title(), self.kind.title());
                let place = format!("table {}", self.table);
                Err(Mistake::new(place, why).hint(found.option()).into())
            }
            _ => Ok(()),
        }
    }

    /// What of the table is as the workload needs it.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub(super) fn judge_table(&self, session: &mut Session) -> anyhow::Result<DataVerdicts> {
        let table = &self.table;
        let rows = session.query_scalar(&format!("SELECT COUNT(*) FROM {table}"));
        let rows = rows.with_context(|| format!("count the rows of {table}"))?;
        let rows: u64 = rows.and_then(|rows| rows.parse().ok()).unwrap_or(0);
        let found = self.find_kind(session)?;
        let state = |holds: bool| if holds { DataState::Holds } else { DataState::Broken };
        let note = match found {
            Some(found) => format!("the table has {}: {}", found.title(), found.option()),
            None => format!("the row of the number {} is not there", self.telling_number()),
        };
        let RecordRange { first, count } = self.records;
        let step = (count / SAMPLE).max(1);
        let numbers: Vec<u64> = (first..first + count).step_by(step as usize).collect();
        let mut there = 0;
        for some in numbers.chunks(BATCH) {
            there += self.count_rows(session, self.kind, some)?;
        }
        let missing = numbers.len() as u64 - there.min(numbers.len() as u64);
        let verdict = |id: &str, rule: String, holds: bool, broken_rows: u64, note: String| {
            let (id, clause) = (id.to_owned(), String::new());
            DataVerdict {
                id,
                rule,
                clause,
                state: state(holds),
                broken_rows,
                note,
                ..Default::default()
            }
        };
        let wanted = self.kind.title().to_owned();
        Ok(DataVerdicts {
            subject: format!("{table}: {rows} rows"),
            list: vec![
                verdict("K1", wanted, found == Some(self.kind), 0, note),
                verdict(
                    "K2",
                    format!("at least {count} rows"),
                    rows >= count,
                    count.saturating_sub(rows),
                    String::new(),
                ),
                verdict(
                    "K3",
                    format!("rows of {} numbers up to {}", numbers.len(), first + count - 1),
                    missing == 0,
                    missing,
                    String::new(),
                ),
            ],
        })
    }
}
