//! What only the server knows of a mix: rows that are there, highest values, dictionaries that are asked of it.

use std::collections::BTreeSet;

use anyhow::Context as _;

use super::MixWorkload;
use super::bind::{ASSUMED_ROWS, ServerAnswers};
use super::dictionary::Dictionary;
use super::formula::FormulaName;
use super::spec::{DataSource, MixSpec, NamedFormula, RuleSpec};
use super::table::{MixTable, quote_name};
use crate::client::Session;

impl MixWorkload {
    /// Asks the server for what only it knows.
    pub(super) fn ask_facts(&self, session: &mut Session) -> anyhow::Result<ServerAnswers> {
        let mut facts = ServerAnswers::default();
        let mut names = BTreeSet::new();
        for_each_formula(&self.spec, &mut |formula| {
            formula.for_each_name(&mut |name| {
                names.insert(name.clone());
            });
        });
        for name in names {
            match name {
                FormulaName::Rows(table) if !self.has_number(&table) => {
                    let rows = count_rows(session, &table)?;
                    facts.rows.insert(table, rows);
                }
                FormulaName::Stored(table) => {
                    let rows = count_rows(session, &table)?;
                    facts.stored.insert(table, rows);
                }
                FormulaName::Highest(table, column) => {
                    let from = quote_name(&table);
                    let highest = quote_name(&column);
                    let sql = format!("SELECT COALESCE(MAX({highest}), 0) FROM {from}");
                    let asked = session.query_scalar(&sql);
                    let highest = asked.with_context(|| format!("look at {table}.{column}"))?;
                    let number = highest.and_then(|text| text.parse().ok()).unwrap_or(0);
                    facts.highest.insert((table, column), number);
                }
                _ => {}
            }
        }
        for data in &self.spec.data {
            let DataSource::Query(query) = &data.source else { continue };
            let rows = session.query_rows(query);
            let rows = rows.with_context(|| format!("{} {}", self.path.display(), data.place))?;
            facts.queried.insert(data.name.clone(), Dictionary::from_rows(&rows, data));
        }
        Ok(facts)
    }

    /// How many rows the tables get whose size is a multiple of the buffer pool.
    pub(super) fn size_pool_tables(
        &self,
        session: &mut Session,
        seed: u64,
    ) -> anyhow::Result<ServerAnswers> {
        let mut facts = assume_pool_tables(&self.spec);
        for spec in &self.spec.tables {
            let Some(factor) = spec.times_pool else { continue };
            let pool = session.query_scalar("SELECT @@innodb_buffer_pool_size");
            let pool = pool.context("ask for the size of the buffer pool")?;
            let pool: u64 = pool.and_then(|text| text.parse().ok()).unwrap_or(0);
            let assumed = facts.clone();
            let table = MixTable::new(spec, &self.spec, &self.files, &assumed)?;
            let rows = (factor * pool as f64 / table.mean_row_bytes(seed)) as u64;
            facts.rows.insert(spec.name.clone(), rows.max(1));
        }
        Ok(facts)
    }

    /// Whether the file says how many rows a table has.
    fn has_number(&self, table: &str) -> bool {
        self.spec.tables.iter().any(|spec| spec.name == table && spec.times_pool.is_none())
    }
}

/// What is taken for the rows of tables whose size follows from the buffer pool, while no server was asked.
pub(super) fn assume_pool_tables(spec: &MixSpec) -> ServerAnswers {
    let sized = spec.tables.iter().filter(|table| table.times_pool.is_some());
    let rows = sized.map(|table| (table.name.clone(), ASSUMED_ROWS)).collect();
    ServerAnswers { rows, ..ServerAnswers::default() }
}

fn count_rows(session: &mut Session, table: &str) -> anyhow::Result<u64> {
    let asked = session.query_scalar(&format!("SELECT COUNT(*) FROM {}", quote_name(table)));
    let rows = asked.with_context(|| format!("count the rows of {table}"))?;
    Ok(rows.and_then(|rows| rows.parse().ok()).unwrap_or(0))
}

/// Tells every formula that is not of a table's column.
fn for_each_formula(spec: &MixSpec, told: &mut dyn FnMut(&NamedFormula)) {
    for value in &spec.values {
        for_each_rule_formula(&value.rule, told);
    }
    for step in spec.transactions.iter().flat_map(|transaction| &transaction.steps) {
        step.when.iter().for_each(&mut *told);
        step.repeat.iter().for_each(|(low, high)| {
            told(low);
            told(high);
        });
    }
}

fn for_each_rule_formula(rule: &RuleSpec, told: &mut dyn FnMut(&NamedFormula)) {
    match rule {
        RuleSpec::Int { low, high, among, .. } => {
            told(low);
            told(high);
            among.iter().for_each(told);
        }
        RuleSpec::Real { low, high, .. } => {
            told(low);
            told(high);
        }
        RuleSpec::Unique { from, .. } => told(from),
        RuleSpec::Computed(formula)
        | RuleSpec::Hash(formula)
        | RuleSpec::YcsbKey { number: formula, .. } => told(formula),
        RuleSpec::YcsbText { key, field, .. } => {
            told(key);
            told(field);
        }
        RuleSpec::Mixture(rules) => {
            rules.iter().for_each(|(_, rule)| for_each_rule_formula(rule, told));
        }
        _ => {}
    }
}
