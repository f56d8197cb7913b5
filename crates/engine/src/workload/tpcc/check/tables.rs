//! Names of the tables, as other programs made them, and the reader of their rows.

use anyhow::Context as _;

use super::super::load_record::RECORD_TABLE;
use super::super::schema::TpccTable;
use super::rules::MoneyCents;
use crate::base::Stop;
use crate::client::{Session, Target, TextRow};
use crate::plan::Mistake;

/// Names of `--schema`; the first finds out by itself.
pub(in super::super) const SCHEMAS: [&str; 6] =
    ["auto", "own", "tpcc-mysql", "sysbench-tpcc", "go-tpc", "hammerdb"];

/// One set of the nine tables. All known programs give the columns the names of the specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableSet {
    /// What names of tables end with: the number of the set.
    suffix: String,
    /// Whether the table of new orders is in the plural.
    has_plural: bool,
}

impl TableSet {
    /// The name of one of its tables.
    pub(super) fn name(&self, table: TpccTable) -> String {
        let plural = if self.has_plural && table == TpccTable::NewOrder { "s" } else { "" };
        format!("{}{plural}{}", table.shape().name, self.suffix)
    }

    /// What keys begin with where there are several sets.
    pub(super) fn key_prefix(&self) -> String {
        if self.suffix.is_empty() { String::new() } else { format!("set {}, ", self.suffix) }
    }
}

/// All sets of a database, and who made them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableMap {
    pub(super) sets: Vec<TableSet>,
    /// Who made them, where it is not us.
    pub(super) maker: Option<&'static str>,
}

/// The map of the schema of this name, or of the one that is there.
///
/// # Errors
/// When the server can't be asked, or tables are missing.
pub(super) fn find_tables(session: &mut Session, schema: &str) -> anyhow::Result<TableMap> {
    let sql = "SELECT LOWER(table_name) FROM information_schema.tables \
               WHERE table_schema = DATABASE()";
    let rows = session.query_rows(sql).context("list the tables")?;
    let there: Vec<String> =
        (0..rows.rows.len()).filter_map(|row| rows.text_value(row, 0)).collect();
    Ok(map_tables(&there, schema)?)
}

fn map_tables(there: &[String], schema: &str) -> Result<TableMap, Mistake> {
    let has = |name: &str| there.iter().any(|table| table == name);
    let is_set = |number: &u32| has(&format!("warehouse{number}"));
    let schema = match schema {
        "auto" if has(RECORD_TABLE) => "own",
        "auto" if is_set(&1) => "sysbench-tpcc",
        "auto" if has("new_orders") => "tpcc-mysql",
        "auto" if has("new_order") => "other",
        "auto" => "own",
        named => named,
    };
    let set = |suffix: String, has_plural| TableSet { suffix, has_plural };
    let (sets, maker) = match schema {
        "sysbench-tpcc" => {
            let numbers = (1..).take_while(is_set).map(|number| set(number.to_string(), true));
            (numbers.collect(), Some("sysbench-tpcc"))
        }
        "tpcc-mysql" => (vec![set(String::new(), true)], Some("tpcc-mysql")),
        "go-tpc" => (vec![set(String::new(), false)], Some("go-tpc")),
        "hammerdb" => (vec![set(String::new(), false)], Some("HammerDB")),
        "other" => (vec![set(String::new(), false)], Some("go-tpc, HammerDB or another program")),
        _ => (vec![set(String::new(), false)], None),
    };
    let names = sets.iter().flat_map(|set: &TableSet| TpccTable::ALL.map(|table| set.name(table)));
    let first = if sets.is_empty() { Some("warehouse1".to_owned()) } else { None };
    match first.into_iter().chain(names).find(|name| !has(name)) {
        None => Ok(TableMap { sets, maker }),
        Some(name) => {
            let hint = match schema {
                "own" => "sweat bench tpcc prepare",
                _ => "name the program that made the tables with --schema",
            };
            Err(Mistake::new(format!("table {name}"), "does not exist").hint(hint))
        }
    }
}

/// A session that reads rows in one snapshot after the other.
pub(super) struct TableReader {
    session: Session,
    pub(super) set: TableSet,
}

impl TableReader {
    /// # Errors
    /// When the server can't be reached.
    pub(super) fn connect(
        target: &Target,
        set: &TableSet,
        stop: &Stop,
    ) -> anyhow::Result<TableReader> {
        let mut session = target.connect(stop)?;
        session.allow_long_statements();
        session.run_command("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
        Ok(TableReader { session, set: set.clone() })
    }

    /// All that is read from now on is of this moment.
    pub(super) fn begin_snapshot(&mut self) -> anyhow::Result<()> {
        self.session.run_command("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
        Ok(())
    }

    /// Lets go of the snapshot, which keeps the server from purging.
    pub(super) fn end_snapshot(&mut self) -> anyhow::Result<()> {
        self.session.run_command("COMMIT")?;
        Ok(())
    }

    /// Tells each row of `SELECT columns FROM table rest`.
    pub(super) fn read(
        &mut self,
        columns: &str,
        table: TpccTable,
        rest: &str,
        on_row: &mut (dyn FnMut(RowFields<'_>) + Send),
    ) -> anyhow::Result<()> {
        let name = self.set.name(table);
        let sql = format!("SELECT {columns} FROM {name} {rest}");
        self.session
            .for_each_row(&sql, &mut |row| on_row(RowFields(&row)))
            .with_context(|| format!("read table {name}"))
    }
}

/// The fields of a row; NULL is 0.
#[derive(Clone, Copy)]
pub(super) struct RowFields<'a>(&'a TextRow);

impl RowFields<'_> {
    /// A whole number.
    pub(super) fn number(self, at: usize) -> i64 {
        let Some(Some(value)) = self.0.get(at) else { return 0 };
        let text = std::str::from_utf8(value).unwrap_or_default();
        let rounded = || text.parse::<f64>().map_or(0, |number| number.round() as i64);
        text.parse().unwrap_or_else(|_| rounded())
    }

    /// An amount of money.
    pub(super) fn money(self, at: usize) -> MoneyCents {
        let Some(Some(value)) = self.0.get(at) else { return MoneyCents(0) };
        MoneyCents::from_text(value).unwrap_or_default()
    }

    /// Whether it is NULL.
    pub(super) fn is_null(self, at: usize) -> bool {
        !matches!(self.0.get(at), Some(Some(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    const COMMON: &str = "item warehouse district customer history orders order_line stock ";

    #[test]
    fn tables_tell_who_made_them() {
        let map = |more: &str| map_tables(&there(&format!("{COMMON}{more}")), "auto").unwrap();
        assert_eq!(map("new_order tpcc_load").maker, None);
        assert_eq!(map("new_orders").maker, Some("tpcc-mysql"));
        assert_eq!(map("new_orders").sets[0].name(TpccTable::NewOrder), "new_orders");
        assert!(map("new_order").maker.is_some());
        let two = |n: u32| COMMON.replace(' ', &format!("{n} ")) + &format!("new_orders{n} ");
        let sets = map_tables(&there(&(two(1) + &two(2))), "auto").unwrap();
        assert_eq!((sets.maker, sets.sets.len()), (Some("sysbench-tpcc"), 2));
        assert_eq!(sets.sets[1].name(TpccTable::OrderLine), "order_line2");
    }

    #[test]
    fn a_missing_table_is_named() {
        let mistake = map_tables(&there(COMMON), "auto").unwrap_err();
        assert_eq!(mistake.to_string(), "table new_order: does not exist");
        assert_eq!(mistake.hint.as_deref(), Some("sweat bench tpcc prepare"));
        let mistake = map_tables(&there(COMMON), "sysbench-tpcc").unwrap_err();
        assert_eq!(mistake.to_string(), "table warehouse1: does not exist");
    }
}
