//! Reads every loaded row back and compares it with the row that it should be.
//!
//! The checksum of a table is the sum of the first 8 bytes, little-endian, of SHA-256 over the table's number and each row as
//! `LOAD DATA` would read it, modulo 2^64: the same in any order, from any number of sessions, on any server.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use ring::digest;

use super::super::load_record::LoadRecord;
use super::super::rows::{RowMaker, TabbedRows, group_count};
use super::super::schema::{CUSTOMERS, DISTRICTS, ORDERS, TpccTable};
use super::units::LoadUnit;
use super::{configure_session, lock_shared};
use crate::base::Stop;
use crate::client::{self, Session, Target, TextRow};
use crate::plan::Mistake;
use crate::workload::{DataJob, JobProgress};

/// Differences of one unit that are told.
const TOLD_ROWS: usize = 3;
/// Units with differences that are told.
const TOLD_UNITS: usize = 10;
/// Characters of a value that are told.
const TOLD_VALUE: usize = 30;
/// Bytes of rows made at a time.
const PIECE: usize = 64 * 1024;

/// What the rows of one unit turned out to be.
#[derive(Clone, Debug, Default)]
struct UnitFindings {
    rows: u64,
    checksum: u64,
    /// Rows that differ, are missing, or should not be there.
    wrong: u64,
    /// The first of them in words.
    told: Vec<String>,
}

impl UnitFindings {
    fn note_wrong(&mut self, say: impl FnOnce() -> String) {
        self.wrong += 1;
        if self.told.len() < TOLD_ROWS {
            self.told.push(say());
        }
    }

    fn count_row(&mut self, table: TpccTable, line: &[u8]) {
        self.rows += 1;
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(&[table as u8]);
        context.update(line);
        let hash = context.finish();
        let first = hash.as_ref().first_chunk().copied().unwrap_or_default();
        self.checksum = self.checksum.wrapping_add(u64::from_le_bytes(first));
    }
}

/// A row as `LOAD DATA` reads it, without the newline.
fn write_line(row: &TextRow, line: &mut Vec<u8>) {
    line.clear();
    for value in row {
        line.extend_from_slice(value.as_deref().unwrap_or(b"\\N"));
        line.push(b'\t');
    }
    line.pop();
}

/// The fields of a row.
fn split_fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b'\t')
}

/// The first fields of a row as numbers: its key.
fn parse_key(line: &[u8], columns: usize) -> Vec<u64> {
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse().ok();
    split_fields(line).take(columns).map(|field| number(field).unwrap_or(0)).collect()
}

fn describe_key(names: &[&str], key: &[u64]) -> String {
    let pairs: Vec<String> = names.iter().zip(key).map(|(n, k)| format!("{n} {k}")).collect();
    pairs.join(", ")
}

fn describe_value(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    match text.chars().count() > TOLD_VALUE {
        true => format!("{}...", text.chars().take(TOLD_VALUE).collect::<String>()),
        false => text.into_owned(),
    }
}

/// `s_quantity is 11, not 12`, for the first column that differs.
fn describe_difference(table: TpccTable, found: &[u8], expected: &[u8]) -> String {
    let names = table.shape().columns.iter().map(|(name, _)| *name);
    let mut pairs = names.zip(split_fields(found).zip(split_fields(expected)));
    match pairs.find(|(_, (found, expected))| found != expected) {
        Some((name, (found, expected))) => {
            format!("{name} is {}, not {}", describe_value(found), describe_value(expected))
        }
        None => "the row differs".to_owned(),
    }
}

/// Compares the rows of a unit, which come in the order of the primary key.
struct OrderedComparison {
    maker: RowMaker,
    unit: LoadUnit,
    key: &'static [&'static str],
    next_group: u32,
    /// Rows that should come next, and how much of them is behind us.
    expected: TabbedRows,
    at: usize,
    findings: UnitFindings,
}

impl OrderedComparison {
    fn new(record: &LoadRecord, unit: LoadUnit) -> OrderedComparison {
        OrderedComparison {
            maker: RowMaker::new(record.clone()),
            unit,
            key: unit.table.shape().primary_key,
            next_group: 0,
            expected: TabbedRows::default(),
            at: 0,
            findings: UnitFindings::default(),
        }
    }

    /// End of the row that should come next; `None` behind the last.
    fn expected_end(&mut self) -> Option<usize> {
        let LoadUnit { table, warehouse } = self.unit;
        if self.at == self.expected.bytes.len() {
            self.expected.bytes.clear();
            self.at = 0;
            while self.next_group < group_count(table) && self.expected.bytes.len() < PIECE {
                self.maker.write_group(table, warehouse, self.next_group, &mut self.expected);
                self.next_group += 1;
            }
        }
        let length = memchr::memchr(b'\n', &self.expected.bytes[self.at..])?;
        Some(self.at + length)
    }

    fn compare_row(&mut self, line: &[u8]) {
        let table = self.unit.table;
        self.findings.count_row(table, line);
        while let Some(end) = self.expected_end() {
            let expected = &self.expected.bytes[self.at..end];
            if expected == line {
                self.at = end + 1;
                return;
            }
            let found_key = parse_key(line, self.key.len());
            let expected_key = parse_key(expected, self.key.len());
            if found_key < expected_key {
                break;
            }
            let key = describe_key(self.key, &expected_key);
            let is_missing = found_key > expected_key;
            self.findings.note_wrong(|| match is_missing {
                true => format!("{key}: missing"),
                false => format!("{key}: {}", describe_difference(table, line, expected)),
            });
            self.at = end + 1;
            if !is_missing {
                return;
            }
        }
        let key = describe_key(self.key, &parse_key(line, self.key.len()));
        self.findings.note_wrong(|| format!("{key}: should not be there"));
    }

    /// Behind the last row.
    fn finish(mut self) -> UnitFindings {
        while let Some(end) = self.expected_end() {
            let key = parse_key(&self.expected.bytes[self.at..end], self.key.len());
            self.findings.note_wrong(|| format!("{}: missing", describe_key(self.key, &key)));
            self.at = end + 1;
        }
        self.findings
    }
}

/// Compares the history of all warehouses in one pass: it may have no key, so rows come in any order. A loaded row is known by
/// its customer.
struct HistoryComparison {
    maker: RowMaker,
    /// Which rows of a warehouse have come.
    seen: BTreeMap<u32, Vec<bool>>,
    expected: TabbedRows,
    findings: UnitFindings,
}

impl HistoryComparison {
    const KEY: [&'static str; 3] = ["h_c_id", "h_c_d_id", "h_c_w_id"];

    fn new(record: &LoadRecord, warehouses: &[u32]) -> HistoryComparison {
        let rows = group_count(TpccTable::History) as usize;
        let seen = warehouses.iter().map(|warehouse| (*warehouse, vec![false; rows])).collect();
        let maker = RowMaker::new(record.clone());
        let (expected, findings) = (TabbedRows::default(), UnitFindings::default());
        HistoryComparison { maker, seen, expected, findings }
    }

    fn compare_row(&mut self, line: &[u8]) {
        let key = parse_key(line, 5);
        let [customer, district, warehouse, _, at] = key[..] else { return };
        // Warehouses that are left out.
        let Some(seen) = u32::try_from(at).ok().and_then(|at| self.seen.get_mut(&at)) else {
            return;
        };
        self.findings.count_row(TpccTable::History, line);
        let group = (district.wrapping_sub(1))
            .wrapping_mul(u64::from(CUSTOMERS))
            .wrapping_add(customer.wrapping_sub(1));
        let in_range = (1..=u64::from(CUSTOMERS)).contains(&customer)
            && (1..=u64::from(DISTRICTS)).contains(&district)
            && warehouse == at;
        let say_key = || describe_key(&Self::KEY, &key);
        let place = seen.get_mut(group as usize).filter(|seen| in_range && !**seen);
        let Some(place) = place else {
            return self.findings.note_wrong(|| format!("{}: should not be there", say_key()));
        };
        *place = true;
        self.expected.bytes.clear();
        let table = TpccTable::History;
        self.maker.write_group(table, at as u32, group as u32, &mut self.expected);
        self.expected.bytes.pop();
        let expected = &self.expected.bytes;
        if expected != line {
            let difference = || describe_difference(table, line, expected);
            self.findings.note_wrong(|| format!("{}: {}", say_key(), difference()));
        }
    }

    fn finish(mut self) -> UnitFindings {
        for (warehouse, seen) in &self.seen {
            for group in (0..).zip(seen).filter(|(_, seen)| !**seen).map(|(group, _)| group) {
                let (customer, district) = (group % CUSTOMERS + 1, group / CUSTOMERS + 1);
                let key = [customer, district, *warehouse].map(u64::from);
                let say = || format!("{}: missing", describe_key(&Self::KEY, &key));
                self.findings.note_wrong(say);
            }
        }
        self.findings
    }
}

/// All sessions that verify, and what they share.
struct VerifyPool<'a> {
    target: &'a Target,
    record: &'a LoadRecord,
    stop: &'a Stop,
    units: Vec<LoadUnit>,
    warehouses: Vec<u32>,
    next: AtomicUsize,
    findings: Mutex<Vec<(LoadUnit, UnitFindings)>>,
    progress: Mutex<(u64, &'a mut (dyn FnMut(JobProgress) + Send))>,
    rows_total: u64,
}

impl VerifyPool<'_> {
    fn run_session(&self) -> anyhow::Result<()> {
        let mut session = self.target.connect(self.stop)?;
        session.allow_long_statements();
        configure_session(&mut session)?;
        while !self.stop.is_set() {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(unit) = self.units.get(at).copied() else { break };
            let findings = self
                .verify_unit(&mut session, unit)
                .with_context(|| format!("read {}", unit.describe_unit()))?;
            lock_shared(&self.findings).push((unit, findings));
        }
        Ok(())
    }

    fn verify_unit(
        &self,
        session: &mut Session,
        unit: LoadUnit,
    ) -> Result<UnitFindings, client::Error> {
        let shape = unit.table.shape();
        let columns: Vec<&str> = shape.columns.iter().map(|(name, _)| *name).collect();
        let select = format!("SELECT {} FROM {}", columns.join(","), shape.name);
        let (mut line, mut told) = (Vec::new(), 0);
        let mut count = |rows: u64, is_last: bool| {
            if rows % 10_000 == 0 || is_last {
                self.report_rows(unit.table, rows - told);
                told = rows;
            }
        };
        let findings = if unit.table == TpccTable::History {
            let mut comparison = HistoryComparison::new(self.record, &self.warehouses);
            session.for_each_row(&select, &mut |row| {
                write_line(&row, &mut line);
                comparison.compare_row(&line);
                count(comparison.findings.rows, false);
            })?;
            comparison.finish()
        } else {
            let key = shape.primary_key.join(",");
            let sql = format!("{select} WHERE {} ORDER BY {key}", unit.row_condition());
            let mut comparison = OrderedComparison::new(self.record, unit);
            session.for_each_row(&sql, &mut |row| {
                write_line(&row, &mut line);
                comparison.compare_row(&line);
                count(comparison.findings.rows, false);
            })?;
            comparison.finish()
        };
        count(findings.rows, true);
        Ok(findings)
    }

    fn report_rows(&self, table: TpccTable, rows: u64) {
        let mut progress = lock_shared(&self.progress);
        progress.0 += rows;
        let (label, done) = (format!("{}: verified", table.shape().name), progress.0);
        let total = self.rows_total.max(done + 1);
        (progress.1)(JobProgress { label, done, total, unit: "rows compared" });
    }
}

/// Compares all loaded rows; gives the checksums in lines.
///
/// # Errors
/// When rows differ, all warehouses were changed by a run, or the server refuses.
pub(super) fn verify_rows(
    session: &mut Session,
    target: &Target,
    record: &LoadRecord,
    units: Vec<LoadUnit>,
    job: &mut DataJob<'_>,
    notes: &mut Vec<String>,
) -> anyhow::Result<()> {
    let touched = touched_warehouses(session)?;
    let warehouses: Vec<u32> = units
        .iter()
        .filter(|unit| unit.table == TpccTable::Warehouse && !touched.contains(&unit.warehouse))
        .map(|unit| unit.warehouse)
        .collect();
    if warehouses.is_empty() {
        let why = "a run has changed the rows: orders were entered after the load";
        let hint = "verify before the first run; `sweat bench tpcc check` works at any time";
        return Err(Mistake::new("--verify", why).hint(hint).into());
    }
    // One pass reads the history of all.
    let history = LoadUnit { table: TpccTable::History, warehouse: 0 };
    let others = units
        .into_iter()
        .filter(|unit| unit.table != TpccTable::History && !touched.contains(&unit.warehouse));
    let units: Vec<LoadUnit> = others.chain([history]).collect();
    let nominal = |unit: &LoadUnit| match unit.table {
        TpccTable::History => unit.nominal_rows() * warehouses.len() as u64,
        _ => unit.nominal_rows(),
    };
    let rows_total = units.iter().map(nominal).sum();
    let threads = job.threads.clamp(1, units.len());
    let pool = VerifyPool {
        target,
        record,
        stop: job.stop,
        units,
        warehouses,
        next: AtomicUsize::new(0),
        findings: Mutex::new(Vec::new()),
        progress: Mutex::new((0, &mut *job.progress)),
        rows_total,
    };
    std::thread::scope(|scope| {
        let sessions: Vec<_> = (1..threads).map(|_| scope.spawn(|| pool.run_session())).collect();
        let own = pool.run_session();
        let joined = sessions.into_iter().map(|s| s.join().unwrap_or(Ok(())));
        joined.fold(own, |first, next| first.and(next))
    })?;
    if job.stop.is_set() {
        return Err(client::Error::Abandoned.into());
    }
    let mut findings = std::mem::take(&mut *lock_shared(&pool.findings));
    findings.sort_by_key(|(unit, _)| (unit.table, unit.warehouse));
    note_checksums(&findings, notes);
    if !touched.is_empty() {
        let list = format!("{} of {}", touched.len(), touched.len() + pool.warehouses.len());
        notes.push(format!("{list} warehouses were left out: a run has changed them"));
    }
    refuse_wrong_rows(&findings)
}

/// Warehouses in which orders were entered after the load.
fn touched_warehouses(session: &mut Session) -> anyhow::Result<BTreeSet<u32>> {
    let sql = format!("SELECT DISTINCT d_w_id FROM district WHERE d_next_o_id <> {}", ORDERS + 1);
    let rows = session.query_rows(&sql).context("look for orders of a run")?;
    let number = |row| rows.text_value(row, 0).and_then(|text| text.parse().ok());
    Ok((0..rows.rows.len()).filter_map(number).collect())
}

/// A line for each table, and one for all.
fn note_checksums(findings: &[(LoadUnit, UnitFindings)], notes: &mut Vec<String>) {
    let mut tables: BTreeMap<TpccTable, (u64, u64)> = BTreeMap::new();
    let mut all = (0, 0u64);
    for (unit, of_unit) in findings {
        let of_table = tables.entry(unit.table).or_default();
        for sum in [of_table, &mut all] {
            sum.0 += of_unit.rows;
            sum.1 = sum.1.wrapping_add(of_unit.checksum);
        }
    }
    notes.push(format!("{:<12} {:>12}  {}", "table", "rows", "checksum"));
    let named = tables.iter().map(|(table, sums)| (table.shape().name, *sums));
    for (name, (rows, checksum)) in named.chain([("all", all)]) {
        notes.push(format!("{name:<12} {rows:>12}  {checksum:016x}"));
    }
}

/// The first differences of the first units, as an error.
fn refuse_wrong_rows(findings: &[(LoadUnit, UnitFindings)]) -> anyhow::Result<()> {
    let wrong: Vec<_> = findings.iter().filter(|(_, of_unit)| of_unit.wrong > 0).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let rows: u64 = wrong.iter().map(|(_, of_unit)| of_unit.wrong).sum();
    let mut text = format!("{rows} rows are not as loaded");
    for (unit, of_unit) in wrong.iter().take(TOLD_UNITS) {
        let _ = write!(text, "\n  {}: {}", unit.describe_unit(), of_unit.wrong);
        for line in &of_unit.told {
            let _ = write!(text, "\n    {line}");
        }
    }
    if wrong.len() > TOLD_UNITS {
        let _ = write!(text, "\n  and in {} more units", wrong.len() - TOLD_UNITS);
    }
    let hint = "runs change rows: verify before the first one, or load again after cleanup";
    anyhow::bail!("{text}\nhint: {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(table: TpccTable) -> Vec<Vec<u8>> {
        let mut maker = RowMaker::new(LoadRecord::from_seed(1));
        let mut rows = TabbedRows::default();
        for group in 0..group_count(table) {
            maker.write_group(table, 1, group, &mut rows);
        }
        rows.bytes.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(<[u8]>::to_vec).collect()
    }

    fn compare_lines(table: TpccTable, lines: &[Vec<u8>]) -> UnitFindings {
        let record = LoadRecord::from_seed(1);
        if table == TpccTable::History {
            let mut comparison = HistoryComparison::new(&record, &[1]);
            lines.iter().for_each(|line| comparison.compare_row(line));
            return comparison.finish();
        }
        let mut comparison = OrderedComparison::new(&record, LoadUnit { table, warehouse: 1 });
        lines.iter().for_each(|line| comparison.compare_row(line));
        comparison.finish()
    }

    #[test]
    fn what_is_wrong_is_named_by_key_and_column() {
        let table = TpccTable::District;
        let good = lines(table);
        let whole = compare_lines(table, &good);
        assert_eq!((whole.rows, whole.wrong), (10, 0));
        let mut spoiled = good.clone();
        spoiled.remove(9);
        spoiled[4] = String::from_utf8_lossy(&good[4]).replace("30000.00", "30001.00").into();
        spoiled.remove(2);
        spoiled.push(String::from_utf8_lossy(&good[9]).replacen("1\t10", "1\t11", 1).into());
        let found = compare_lines(table, &spoiled);
        assert_eq!(found.wrong, 4);
        assert_eq!(
            found.told,
            [
                "d_w_id 1, d_id 3: missing",
                "d_w_id 1, d_id 5: d_ytd is 30001.00, not 30000.00",
                "d_w_id 1, d_id 10: missing",
            ]
        );
        assert_ne!(found.checksum, whole.checksum);
    }

    #[test]
    fn the_history_is_compared_in_any_order() {
        let table = TpccTable::History;
        let mut rows = lines(table);
        rows.reverse();
        let whole = compare_lines(table, &rows);
        assert_eq!((whole.rows, whole.wrong), (30_000, 0));
        rows.rotate_left(7);
        assert_eq!(compare_lines(table, &rows).checksum, whole.checksum);
        let first = rows[0].clone();
        rows[1] = first;
        let found = compare_lines(table, &rows);
        assert_eq!(found.wrong, 2, "one twice, one missing: {:?}", found.told);
    }
}
