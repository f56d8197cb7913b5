//! The units of the load, and the table that keeps which of them are begun and which finished.

use std::collections::BTreeMap;

use anyhow::Context as _;

use super::super::options::TpccSettings;
use super::super::rows::group_count;
use super::super::schema::TpccTable;
use crate::client::{Error, Session};

/// The table that holds them.
pub(super) const UNIT_TABLE: &str = "tpcc_units";

/// The order in which a warehouse is loaded: what takes longest first, so that sessions end together.
const UNIT_ORDER: [TpccTable; 8] = [
    TpccTable::Stock,
    TpccTable::OrderLine,
    TpccTable::Customer,
    TpccTable::Orders,
    TpccTable::History,
    TpccTable::NewOrder,
    TpccTable::District,
    TpccTable::Warehouse,
];

/// What one table has for one warehouse; the items are one unit, of warehouse 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct LoadUnit {
    pub(in super::super) table: TpccTable,
    pub(in super::super) warehouse: u32,
}

/// How far a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitStage {
    New,
    /// Some of its rows may be there.
    Begun,
    Finished,
}

impl LoadUnit {
    /// Rows that it has, about: orders have 10 lines on average.
    pub(super) fn nominal_rows(self) -> u64 {
        let lines = if self.table == TpccTable::OrderLine { 10 } else { 1 };
        u64::from(group_count(self.table)) * lines
    }

    /// In words, for errors.
    pub(super) fn describe_unit(self) -> String {
        match self.warehouse {
            0 => format!("table {}", self.table.shape().name),
            warehouse => format!("table {} of warehouse {warehouse}", self.table.shape().name),
        }
    }

    /// The condition that its rows fulfil, behind WHERE.
    pub(super) fn row_condition(self) -> String {
        match self.table.shape().warehouse_column {
            Some(column) => format!("{column} = {}", self.warehouse),
            None => "1 = 1".to_owned(),
        }
    }

    fn key_condition(self) -> String {
        format!("table_number = {} AND w_id = {}", self.table as usize, self.warehouse)
    }

    /// Statements that mark it as begun, lock its mark, and mark it as finished.
    pub(super) fn mark_sql(self) -> [String; 3] {
        let (number, name) = (self.table as usize, self.table.shape().name);
        let (key, warehouse) = (self.key_condition(), self.warehouse);
        [
            format!("INSERT IGNORE INTO {UNIT_TABLE} VALUES ({number}, {warehouse}, '{name}', 0)"),
            format!("SELECT finished FROM {UNIT_TABLE} WHERE {key} FOR UPDATE"),
            format!("UPDATE {UNIT_TABLE} SET finished = 1 WHERE {key}"),
        ]
    }
}

/// Makes the table where it is missing.
pub(super) fn create_table(session: &mut Session, settings: &TpccSettings) -> anyhow::Result<()> {
    let sql = format!(
        "CREATE TABLE IF NOT EXISTS {UNIT_TABLE} (table_number TINYINT UNSIGNED NOT NULL, \
         w_id INT UNSIGNED NOT NULL, table_name VARCHAR(20) NOT NULL, \
         finished TINYINT UNSIGNED NOT NULL, PRIMARY KEY (table_number, w_id)) ENGINE={}",
        settings.storage_engine
    );
    session.run_command(&sql).with_context(|| format!("make table {UNIT_TABLE}"))?;
    Ok(())
}

/// A table that is not there has no units.
pub(super) fn forget_table(session: &mut Session, table: TpccTable) -> Result<(), Error> {
    let number = table as usize;
    session
        .run_command(&format!("DELETE FROM {UNIT_TABLE} WHERE table_number = {number}"))
        .map(|_| ())
}

/// All units of so many warehouses in the order in which they are loaded.
pub(super) fn all_units(warehouses: u32) -> Vec<LoadUnit> {
    let items = LoadUnit { table: TpccTable::Item, warehouse: 0 };
    let of = |warehouse| UNIT_ORDER.map(|table| LoadUnit { table, warehouse });
    std::iter::once(items).chain((1..=warehouses).flat_map(of)).collect()
}

/// The units that are finished, whoever asked for them.
pub(super) fn finished_units(session: &mut Session) -> anyhow::Result<Vec<LoadUnit>> {
    let states = read_states(session)?;
    let finished = states.into_iter().filter(|(_, state)| *state == UnitStage::Finished);
    let unit = |(table, warehouse): (u32, u32)| {
        let table = TpccTable::ALL.get(table as usize).copied()?;
        Some(LoadUnit { table, warehouse })
    };
    Ok(finished.filter_map(|(key, _)| unit(key)).collect())
}

/// The first unit of so many warehouses that is not finished.
pub(super) fn find_unfinished(
    session: &mut Session,
    warehouses: u32,
) -> anyhow::Result<Option<LoadUnit>> {
    let units = list_units(session, warehouses)?;
    Ok(units.into_iter().find(|(_, stage)| *stage != UnitStage::Finished).map(|(unit, _)| unit))
}

/// Whether the table of units is there.
pub(super) fn is_loaded_by_us(session: &mut Session) -> anyhow::Result<bool> {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() \
         AND table_name = '{UNIT_TABLE}'"
    );
    let found = session.query_scalar(&sql).context("look for the units of the load")?;
    Ok(found.as_deref() != Some("0"))
}

/// How far the units are that were begun, by table and warehouse.
fn read_states(session: &mut Session) -> anyhow::Result<BTreeMap<(u32, u32), UnitStage>> {
    let sql = format!("SELECT table_number, w_id, finished FROM {UNIT_TABLE}");
    let marks = session.query_rows(&sql).context("read which units are there")?;
    let number = |row, column| marks.text_value(row, column).and_then(|t| t.parse::<u32>().ok());
    let mut states = BTreeMap::new();
    for row in 0..marks.rows.len() {
        if let (Some(table), Some(warehouse)) = (number(row, 0), number(row, 1)) {
            let finished = number(row, 2) == Some(1);
            let state = if finished { UnitStage::Finished } else { UnitStage::Begun };
            states.insert((table, warehouse), state);
        }
    }
    Ok(states)
}

/// The same with how far they are.
pub(super) fn list_units(
    session: &mut Session,
    warehouses: u32,
) -> anyhow::Result<Vec<(LoadUnit, UnitStage)>> {
    let states = read_states(session)?;
    let state = |unit: LoadUnit| {
        let key = (unit.table as u32, unit.warehouse);
        (unit, states.get(&key).copied().unwrap_or(UnitStage::New))
    };
    Ok(all_units(warehouses).into_iter().map(state).collect())
}
