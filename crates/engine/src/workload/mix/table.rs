//! The tables that a file makes: by which statements, with which rows, and whether those that are there are ours.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;

use super::bind::{ServerAnswers, ValueBinder};
use super::dictionary::Dictionary;
use super::draw::SlotFormula;
use super::formula::Scalar;
use super::read::longest_text;
use super::spec::{MixSpec, RuleSpec, TableSpec};
use super::values::{ValueState, ValueTable};
use crate::client::{ParameterValue, Session};
use crate::plan::{Mistake, Mistakes};
use crate::workload::fill::{ExpectedColumn, FillSource, RowBuffer};

/// What the comment of a table of ours says while it is being filled, and once it is whole.
const FILLING: &str = "sweat mix, being filled";
const WHOLE: &str = "sweat mix";

/// Rows that tell how long rows are.
const SAMPLED_ROWS: u64 = 200;

/// What a table with a name of ours is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableOwner {
    Absent,
    /// Made by us, not to its end.
    Ours,
    OursWhole,
    Foreign,
}

/// A table of the file, ready to be filled.
pub(super) struct MixTable<'s> {
    spec: &'s TableSpec,
    names: [String; 1],
    rows: u64,
    values: ValueTable,
    /// Columns with a rule, in the order of the file, and their values.
    filled: Vec<(String, SlotFormula)>,
    /// The slot of the row's number, if a rule asks for it.
    row_slot: Option<usize>,
    row_key: Option<String>,
    longest_row: u64,
}

/// Values of rows under way: one for each session that fills.
pub(super) struct RowFiller<'t, 's> {
    table: &'t MixTable<'s>,
    seed: u64,
    idle: Mutex<Vec<ValueState<'t>>>,
}

impl<'s> MixTable<'s> {
    /// Looks its columns up.
    ///
    /// # Errors
    /// All mistakes together.
    pub(super) fn new(
        spec: &'s TableSpec,
        mix: &'s MixSpec,
        files: &'s BTreeMap<String, Dictionary>,
        facts: &'s ServerAnswers,
    ) -> Result<MixTable<'s>, Mistakes> {
        let mut binder = ValueBinder::new(mix, facts, files, &spec.columns);
        let mut mistakes = Vec::new();
        let mut filled = Vec::new();
        let rows = binder.rows_of(&spec.name).unwrap_or_else(|(why, hint)| {
            mistakes.push(Mistake::new(spec.place.clone(), why).maybe_hint(hint));
            0
        });
        for column in spec.columns.iter().filter(|column| column.value.is_some()) {
            match binder.bind_value(&column.name) {
                Ok(value) => filled.push((quote_name(&column.name), value)),
                Err((why, hint)) => {
                    let place = column.value.as_ref().map_or(&spec.place, |value| &value.place);
                    mistakes.push(Mistake::new(place.clone(), why).maybe_hint(hint));
                }
            }
        }
        Mistakes::check(mistakes)?;
        let values = binder.into_table();
        let row_slot = values.slots.iter().position(|slot| slot.name == "row");
        let rules = spec.columns.iter().filter_map(|column| column.value.as_ref());
        let longest_row = rules.map(|value| longest_text(&value.rule)).sum::<u64>() + 64;
        let names = [spec.name.clone()];
        let row_key = row_key(spec).map(quote_name);
        Ok(MixTable { spec, names, rows, values, filled, row_slot, row_key, longest_row })
    }

    /// Fills rows by this seed.
    pub(super) fn filler(&self, seed: u64) -> RowFiller<'_, 's> {
        RowFiller { table: self, seed, idle: Mutex::default() }
    }

    pub(super) fn row_count(&self) -> u64 {
        self.rows
    }

    /// What a row takes on disk, as far as can be said before there is one: the mean of the first rows, without indexes. A row has
    /// 20 bytes beside its values, and a page is filled to 15 parts of 16.
    pub(super) fn mean_row_bytes(&self, seed: u64) -> f64 {
        let mut values = ValueState::of_rows(&self.values, seed);
        let types = self.spec.columns.iter().filter(|column| column.value.is_some());
        let is_long: Vec<bool> =
            types.map(|column| column.sql_type.to_ascii_lowercase().contains("bigint")).collect();
        let mut bytes = 0;
        for row in 1..=SAMPLED_ROWS {
            values.begin_row(row, self.row_slot);
            for ((_, value), is_long) in self.filled.iter().zip(&is_long) {
                bytes += match values.compute(value) {
                    Scalar::Null => 0,
                    Scalar::Int(_) if !is_long => 4,
                    Scalar::Int(_) | Scalar::Real(_) => 8,
                    Scalar::Text(text) => text.len() + 1,
                };
            }
        }
        (bytes as f64 / SAMPLED_ROWS as f64 + 20.0) * 16.0 / 15.0
    }

    fn create_sql(&self) -> String {
        if let Some(create) = &self.spec.create {
            return create.clone();
        }
        let columns = self.spec.columns.iter();
        let mut parts: Vec<String> = columns
            .map(|column| format!("{} {}", quote_name(&column.name), column.sql_type))
            .collect();
        parts.extend(self.spec.key.clone());
        let options = self.spec.options.as_deref().map(|o| format!(" {o}")).unwrap_or_default();
        let name = quote_name(&self.spec.name);
        format!("CREATE TABLE {name} ({}){options} COMMENT='{FILLING}'", parts.join(", "))
    }
}

/// The column that holds the row's number and is the first of a key, so that a filling that was cut can go on.
fn row_key(spec: &TableSpec) -> Option<&str> {
    let key = spec.key.as_deref()?.to_ascii_lowercase();
    let numbers = spec.columns.iter().filter(|column| {
        let rule = column.value.as_ref().map(|value| &value.rule);
        let is_row = |formula: &super::spec::NamedFormula| {
            let name = super::formula::FormulaName::Value("row".to_owned());
            *formula == super::formula::Formula::Value(name)
        };
        matches!(rule, Some(RuleSpec::Computed(formula)) if is_row(formula))
    });
    let is_first = |name: &str| {
        let name = name.to_ascii_lowercase();
        let lists = key.split('(').skip(1);
        lists.map(|list| list.trim_start()).any(|list| {
            list.strip_prefix(&name).is_some_and(|r| r.trim_start().starts_with([',', ')']))
        })
    };
    numbers.map(|column| column.name.as_str()).find(|name| is_first(name))
}

impl FillSource for RowFiller<'_, '_> {
    fn table_names(&self) -> &[String] {
        &self.table.names
    }
    fn expected_columns(&self) -> Vec<ExpectedColumn<'_>> {
        let columns = self.table.spec.columns.iter();
        columns.map(|column| (column.name.as_str(), "", None)).collect()
    }
    fn filled_columns(&self) -> Vec<&str> {
        self.table.filled.iter().map(|(name, _)| name.as_str()).collect()
    }
    fn row_key(&self) -> Option<&str> {
        self.table.row_key.as_deref()
    }
    fn sql_name(&self, _: usize) -> String {
        quote_name(&self.table.names[0])
    }
    fn longest_row(&self) -> u64 {
        self.table.longest_row
    }
    fn rows_per_table(&self) -> u64 {
        self.table.rows
    }
    fn create_table_sql(&self, _: usize) -> String {
        self.table.create_sql()
    }
    fn is_auto_increment(&self) -> bool {
        let types = self.table.spec.columns.iter().map(|column| &column.sql_type);
        types.into_iter().any(|sql| sql.to_ascii_lowercase().contains("auto_increment"))
    }
    fn create_index_sql(&self, _: usize) -> Option<(String, String)> {
        None
    }
    fn write_row(&self, _: usize, row: u64, row_buffer: &mut RowBuffer) {
        let lock = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = lock().pop();
        let table = self.table;
        let mut values = idle.unwrap_or_else(|| {
            // The same rule in two tables draws two different columns.
            let name = super::draw::hash_bytes(table.names[0].bytes());
            ValueState::of_rows(&table.values, self.seed ^ name)
        });
        values.begin_row(row, table.row_slot);
        for (_, value) in &table.filled {
            row_buffer.push_value(match values.compute(value) {
                Scalar::Null => ParameterValue::Null,
                Scalar::Int(number) => ParameterValue::Int(number),
                Scalar::Real(number) => ParameterValue::Double(number),
                Scalar::Text(text) => ParameterValue::Bytes(text),
            });
        }
        lock().push(values);
    }
}

/// A name as statements have it, so that it may be a reserved word; each part of `database.table` for itself.
pub(super) fn quote_name(name: &str) -> String {
    name.split('.').map(|part| format!("`{part}`")).collect::<Vec<_>>().join(".")
}

/// Whose a table is: its comment says.
///
/// # Errors
/// When the server refuses.
pub(super) fn table_owner(session: &mut Session, name: &str) -> anyhow::Result<TableOwner> {
    let sql = format!(
        "SELECT table_comment FROM information_schema.tables \
         WHERE table_schema = DATABASE() AND table_name = '{name}'"
    );
    let rows = session.query_rows(&sql).with_context(|| format!("look up {name}"))?;
    Ok(match rows.rows.first() {
        None => TableOwner::Absent,
        Some(_) => match rows.text_value(0, 0).unwrap_or_default().as_str() {
            FILLING => TableOwner::Ours,
            WHOLE => TableOwner::OursWhole,
            _ => TableOwner::Foreign,
        },
    })
}

/// Runs what belongs behind a table's rows, and notes that it is whole.
///
/// # Errors
/// When the server refuses.
pub(super) fn finish_table(session: &mut Session, spec: &TableSpec) -> anyhow::Result<()> {
    for sql in &spec.after {
        session.run_command(sql).with_context(|| format!("{}: {sql}", spec.place))?;
    }
    let sql = format!("ALTER TABLE {} COMMENT='{WHOLE}'", quote_name(&spec.name));
    session.run_command(&sql).with_context(|| format!("note that {} is whole", spec.name))?;
    Ok(())
}

/// The complaint about a table of this name that is not ours.
pub(super) fn foreign_table(name: &str) -> Mistake {
    Mistake::new(format!("table {name}"), "it is there, and sweat did not make it")
        .hint("use another database with -D, or drop or rename that table")
}
