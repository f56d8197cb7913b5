//! Rows of the ring, each counted once and merged into cells.

use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Bits of a time that are kept: a cell is narrower than 0.1 % of its time.
const KEPT_BITS: u32 = 11;
/// Times below this are looked at for the clock's tick, picoseconds: where most waits are.
const SHORT_PS: u64 = 2_000_000;
/// Most different short times kept for that.
const MOST_SHORT: usize = 4096;
/// No server's clock ticks faster, picoseconds; smaller differences are its arithmetic.
const FASTEST_PS: u64 = 100;
/// A wait may reach the ring this much after it ended: its thread was taken off the CPU in between. Picoseconds.
const LATE_PS: u64 = 50_000_000_000;

/// Times by their cell: the middle of the cell in picoseconds, and how many.
pub type WaitCells = BTreeMap<u64, u64>;

/// Single waits of one operation: `shared_lock`, `exclusive_lock`, `read`, ...
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitOperation {
    /// Its name.
    pub name: String,
    /// Rows read.
    pub rows: u64,
    /// Their sum, picoseconds.
    pub sum_ps: u64,
    /// The longest, picoseconds.
    pub max_ps: u64,
    /// Their times.
    pub cells: WaitCells,
}

/// One row of the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RingRow {
    pub(super) thread: u64,
    pub(super) event: u64,
    pub(super) ended_ps: u64,
    pub(super) wait_ps: u64,
    pub(super) operation: String,
    pub(super) instrument: String,
}

/// What was read from the ring so far.
#[derive(Debug, Default)]
pub(super) struct WaitRing {
    /// By instrument and operation.
    operations: BTreeMap<(String, String), WaitOperation>,
    /// End of the newest wait seen, picoseconds.
    newest_ps: u64,
    /// Waits seen that a later read may show again.
    seen: HashSet<(u64, u64)>,
    short: BTreeSet<u64>,
}

impl WaitRing {
    /// A ring whose waits up to this end, picoseconds, are not ours.
    pub(super) fn starting_after(newest_ps: u64) -> WaitRing {
        WaitRing { newest_ps, ..WaitRing::default() }
    }

    /// The next read need not show waits that ended at or before this, picoseconds.
    pub(super) fn since_ps(&self) -> u64 {
        if self.operations.is_empty() {
            return self.newest_ps;
        }
        self.newest_ps.saturating_sub(LATE_PS)
    }

    /// End of the newest wait seen, picoseconds.
    pub(super) fn newest_ps(&self) -> u64 {
        self.newest_ps
    }

    /// Takes the rows of one read; gives how many were new.
    pub(super) fn add_rows(&mut self, rows: &[RingRow]) -> u64 {
        let mut new = 0;
        let since = self.since_ps();
        let mut newest = self.newest_ps;
        let mut again = HashSet::new();
        let ends: Vec<u64> = rows.iter().map(|row| row.ended_ps).collect();
        let last = ends.iter().copied().max().unwrap_or(0).max(newest);
        for row in rows {
            let identity = (row.thread, row.event);
            if row.ended_ps > last.saturating_sub(LATE_PS) {
                again.insert(identity);
            }
            if row.ended_ps <= since || self.seen.contains(&identity) {
                continue;
            }
            new += 1;
            newest = newest.max(row.ended_ps);
            self.add_row(row);
        }
        (self.newest_ps, self.seen) = (newest, again);
        new
    }

    fn add_row(&mut self, row: &RingRow) {
        let key = (row.instrument.clone(), row.operation.clone());
        let operation = self.operations.entry(key).or_insert_with(|| WaitOperation {
            name: row.operation.clone(),
            ..WaitOperation::default()
        });
        operation.rows += 1;
        operation.sum_ps = operation.sum_ps.saturating_add(row.wait_ps);
        operation.max_ps = operation.max_ps.max(row.wait_ps);
        *operation.cells.entry(cell_middle_ps(row.wait_ps)).or_insert(0) += 1;
        if row.wait_ps < SHORT_PS && self.short.len() < MOST_SHORT {
            self.short.insert(row.wait_ps);
        }
    }

    /// Smallest difference between two times seen, picoseconds.
    pub(super) fn tick_ps(&self) -> Option<u64> {
        let times: Vec<u64> = self.short.iter().copied().collect();
        let steps = times.windows(2).map(|pair| pair[1] - pair[0]);
        steps.filter(|step| *step >= FASTEST_PS).min()
    }

    /// Operations of an instrument, by name.
    pub(super) fn operations_of(&self, instrument: &str) -> Vec<WaitOperation> {
        let of = self.operations.iter().filter(|(key, _)| key.0 == instrument);
        of.map(|(_, operation)| operation.clone()).collect()
    }
}

/// The middle of a time's cell, picoseconds.
fn cell_middle_ps(ps: u64) -> u64 {
    let shift = (u64::BITS - ps.leading_zeros()).saturating_sub(KEPT_BITS);
    let low = (ps >> shift) << shift;
    low + ((1_u64 << shift) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(thread: u64, event: u64, ended_ps: u64, wait_ps: u64) -> RingRow {
        let (operation, instrument) = ("shared_lock".to_owned(), "i".to_owned());
        RingRow { thread, event, ended_ps, wait_ps, operation, instrument }
    }

    #[test]
    fn a_cell_is_near_its_time() {
        for ps in [0, 1, 10_036, 20_072, 2047, 2048, 123_456_789, 45_500_000_000] {
            let far = cell_middle_ps(ps).abs_diff(ps) as f64;
            assert!(far <= 0.001 * ps as f64, "{ps} is in {}", cell_middle_ps(ps));
        }
        assert_eq!(cell_middle_ps(2047), 2047);
    }

    #[test]
    fn rows_shown_twice_count_once_and_late_ones_count() {
        let ms = 1_000_000_000;
        let mut ring = WaitRing::starting_after(10 * ms);
        // The first is from before.
        let first =
            [row(1, 1, 9 * ms, 7), row(1, 2, 100 * ms, 10_036), row(2, 1, 120 * ms, 30_108)];
        assert_eq!(ring.add_rows(&first), 2);
        assert_eq!(ring.since_ps(), 70 * ms);
        // One reached the ring late, one is new, two are shown again.
        let second = [
            row(1, 2, 100 * ms, 10_036),
            row(2, 1, 120 * ms, 30_108),
            row(3, 1, 110 * ms, 20_072),
            row(1, 3, 500 * ms, 0),
        ];
        assert_eq!(ring.add_rows(&second), 2);
        assert_eq!(ring.add_rows(&second[3..]), 0);
        let operations = ring.operations_of("i");
        assert_eq!(operations.len(), 1);
        assert_eq!((operations[0].rows, operations[0].sum_ps), (4, 60_216));
        assert_eq!(operations[0].max_ps, 30_108);
        assert_eq!(ring.tick_ps(), Some(10_036));
        assert_eq!(ring.newest_ps(), 500 * ms);
        assert!(ring.operations_of("j").is_empty());
    }

    #[test]
    fn a_thread_id_used_anew_is_told_apart_by_its_time() {
        let mut ring = WaitRing::starting_after(0);
        let second = 1_000_000_000_000;
        assert_eq!(ring.add_rows(&[row(1, 1, second, 5)]), 1);
        assert_eq!(ring.add_rows(&[row(1, 2, 3 * second, 5)]), 1);
        assert_eq!(ring.add_rows(&[row(1, 1, 4 * second, 5)]), 1);
    }
}
