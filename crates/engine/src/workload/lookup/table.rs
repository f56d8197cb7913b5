//! The table of the classic experiment about a cold pool, and the statements that look rows up in it.

use std::collections::HashSet;

use crate::base::random::Rng;
use crate::client::Target;
use crate::workload::DataJob;
use crate::workload::fill::{self, ExpectedColumn, FillSource, RowBuffer};

/// Its name.
pub const TABLE: &str = "test_data";

pub(super) const COLUMNS: &[ExpectedColumn<'static>] = &[
    ("id", "int", None),
    ("random_str", "varchar", Some(255)),
    ("random_str2", "varchar", Some(255)),
];

/// Characters of a value that is looked up.
pub(super) const VALUE_LENGTH: usize = 64;
/// Characters of the other column.
const OTHER_LENGTH: usize = 96;
/// Bytes that a row takes on disk with its index entry, pages packed; as measured on MariaDB 10.11.
const PACKED_BYTES: u64 = 280;
/// The same where pages have split at random.
const AGED_BYTES: u64 = 410;

/// The table `test_data`: an `id`, a `random_str` with an index and no value twice, and a `random_str2`.
/// The values of a row follow from the seed and the row's id alone, so lookups need no look at the table.
#[derive(Clone, Debug)]
pub struct LookupTable {
    rows: u64,
    seed: u64,
    aged: bool,
    names: [String; 1],
}

impl LookupTable {
    /// A table with so many rows. `aged` fills it in an order of chance with its index in place, so that pages
    /// that follow each other in an index lie scattered on disk, as in a table that has lived for long.
    pub fn new(rows: u64, seed: u64, aged: bool) -> LookupTable {
        LookupTable { rows, seed, aged, names: [TABLE.to_owned()] }
    }

    /// About how many rows make a table of this size on disk, in bytes.
    pub fn rows_for(bytes: u64, aged: bool) -> u64 {
        (bytes / if aged { AGED_BYTES } else { PACKED_BYTES }).max(1)
    }

    /// How many rows it has.
    pub fn row_count(&self) -> u64 {
        self.rows
    }

    /// Makes the table, or goes on where an earlier call was cut.
    ///
    /// # Errors
    /// When a table of that name has other columns, the server refuses, or the job was stopped.
    pub fn create_and_fill(&self, target: &Target, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        fill::fill_tables(target, self, job)
    }
}

/// Different rows of a table of so many, in an order of chance; the same ones for the same seed. As many as asked,
/// or as there are.
pub(super) fn draw_rows(rows: u64, count: u64, seed: u64) -> Vec<u64> {
    let mut rng = Rng::new(seed, 0, 0);
    let count = count.min(rows);
    // Floyd's way to draw without drawing twice, then in an order of chance.
    let mut drawn = HashSet::new();
    let mut order = Vec::new();
    for top in rows - count + 1..=rows {
        let row = rng.uniform_between(1, top);
        let row = if drawn.insert(row) { row } else { top };
        drawn.insert(row);
        order.push(row);
    }
    for at in (1..order.len()).rev() {
        order.swap(at, rng.uniform_below(at as u64 + 1) as usize);
    }
    order
}

/// Puts the statement that looks a row up into `out`, in place of what it held.
pub(super) fn write_lookup(seed: u64, row: u64, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(b"select * from test_data where random_str = \"");
    out.extend_from_slice(&row_value(seed, row));
    out.push(b'"');
}

/// The value of a row: no other row has it.
pub(super) fn row_value(seed: u64, row: u64) -> [u8; VALUE_LENGTH] {
    let mut out = [0; VALUE_LENGTH];
    let (unique, rest) = out.split_at_mut(16);
    // Each step can be undone, so different rows never meet.
    let mut mixed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed;
    for _ in 0..2 {
        mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    write_hex(mixed ^ (mixed >> 32), unique);
    let mut rng = Rng::new(seed, 1, row);
    rest.chunks_mut(16).for_each(|chunk| write_hex(rng.next_u64(), chunk));
    out
}

fn write_hex(mut number: u64, out: &mut [u8]) {
    for digit in out.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number & 15) as usize];
        number >>= 4;
    }
}

impl FillSource for LookupTable {
    fn table_names(&self) -> &[String] {
        &self.names
    }
    fn expected_columns(&self) -> Vec<ExpectedColumn<'_>> {
        COLUMNS.to_vec()
    }
    fn rows_per_table(&self) -> u64 {
        self.rows
    }
    fn create_table_sql(&self, _: usize) -> String {
        let index = if self.aged { ", KEY random_str (random_str)" } else { "" };
        format!(
            "CREATE TABLE {TABLE} (id INT NOT NULL AUTO_INCREMENT, random_str VARCHAR(255), \
             random_str2 VARCHAR(255), PRIMARY KEY (id){index}) ENGINE = InnoDB"
        )
    }
    fn is_auto_increment(&self) -> bool {
        true
    }
    fn create_index_sql(&self, _: usize) -> Option<(String, String)> {
        let sql = format!("CREATE INDEX random_str ON {TABLE} (random_str)");
        Some(("random_str".to_owned(), sql))
    }
    fn is_shuffled(&self) -> bool {
        self.aged
    }
    fn write_row(&self, _: usize, row: u64, row_buffer: &mut RowBuffer) {
        row_buffer.push_number(row);
        row_buffer.push_text(VALUE_LENGTH, |out| out.copy_from_slice(&row_value(self.seed, row)));
        let mut rng = Rng::new(self.seed, 2, row);
        row_buffer.push_text(OTHER_LENGTH, |out| {
            out.chunks_mut(16).for_each(|chunk| write_hex(rng.next_u64(), chunk));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookups(rows: u64, count: u64, seed: u64) -> Vec<String> {
        let mut statement = Vec::new();
        let written = draw_rows(rows, count, seed).into_iter().map(|row| {
            write_lookup(7, row, &mut statement);
            String::from_utf8(statement.clone()).unwrap()
        });
        written.collect()
    }

    #[test]
    fn values_differ_and_repeat() {
        let mut seen = HashSet::new();
        for row in 1..=50_000 {
            let value = row_value(7, row);
            assert!(value.iter().all(u8::is_ascii_hexdigit));
            assert!(seen.insert(value[..16].to_vec()), "row {row}");
        }
        assert_eq!(row_value(7, 1), row_value(7, 1));
        assert_ne!(row_value(7, 1), row_value(8, 1));
    }

    #[test]
    fn lookups_are_of_different_rows_that_exist() {
        let lines = lookups(1000, 300, 1);
        let known: HashSet<String> = (1..=1000)
            .map(|row| {
                let value = String::from_utf8(row_value(7, row).to_vec()).unwrap();
                format!("select * from test_data where random_str = \"{value}\"")
            })
            .collect();
        let different: HashSet<_> = lines.iter().collect();
        assert_eq!(different.len(), 300);
        assert!(lines.iter().all(|line| known.contains(line)));
        assert_eq!(lines, lookups(1000, 300, 1));
        assert_ne!(lines, lookups(1000, 300, 2));
        assert_eq!(lookups(1000, 5000, 1).len(), 1000, "there are no more");
    }

    #[test]
    fn all_rows_are_as_likely_to_be_looked_up() {
        let mut counts = std::collections::HashMap::new();
        for seed in 0..3000 {
            for line in lookups(10, 3, seed) {
                *counts.entry(line).or_insert(0_u32) += 1;
            }
        }
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|n| (750..1050).contains(n)), "{counts:?}");
    }
}
