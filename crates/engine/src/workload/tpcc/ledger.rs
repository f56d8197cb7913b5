//! What terminals saw acknowledged, held against the data after a crash (the success file of clause 3.5.4, as counts).

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;

use super::schema::DISTRICTS;
use super::transactions::{TerminalPlace, TransactionEnding};
use crate::base::Stop;
use crate::client::Target;
use crate::recorder::{BrokenRow, LedgerBalance};

/// Places that are named; the others are counted.
const MOST_EXAMPLES: usize = 5;

/// One district: what stood in its rows when the book was opened, and what was acknowledged since.
#[derive(Debug, Default)]
struct LedgerCell {
    /// `D_NEXT_O_ID`, and rows of the history.
    next_order: u64,
    payments: u64,
    acknowledged_orders: AtomicU64,
    acknowledged_payments: AtomicU64,
    last_order: AtomicU64,
}

/// The book of a load: a cell for each district.
#[derive(Debug, Default)]
pub(super) struct LedgerBook {
    cells: Vec<LedgerCell>,
}

/// What a district holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DistrictCounts {
    next_order: u64,
    payments: u64,
}

impl LedgerBook {
    /// Opens the book on the data as they are.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub(super) fn open(
        target: &Target,
        warehouses: u32,
        stop: &Stop,
    ) -> anyhow::Result<LedgerBook> {
        let counts = read_counts(target, warehouses, stop)?;
        let cell = |counts: DistrictCounts| LedgerCell {
            next_order: counts.next_order,
            payments: counts.payments,
            ..LedgerCell::default()
        };
        Ok(LedgerBook { cells: counts.into_iter().map(cell).collect() })
    }

    /// Notes an acknowledged commit; called on the path of events.
    pub(super) fn note_ending(&self, place: TerminalPlace, ending: &TransactionEnding) {
        match *ending {
            TransactionEnding::Ordered { district, order } => {
                let Some(cell) = self.cells.get(cell_index(place.warehouse, district)) else {
                    return;
                };
                cell.acknowledged_orders.fetch_add(1, Ordering::Relaxed);
                cell.last_order.fetch_max(u64::from(order), Ordering::Relaxed);
            }
            TransactionEnding::Paid { district } => {
                if let Some(cell) = self.cells.get(cell_index(place.warehouse, district)) {
                    cell.acknowledged_payments.fetch_add(1, Ordering::Relaxed);
                }
            }
            _ => {}
        }
    }

    /// Holds it against the data as they are now.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub(super) fn balance(&self, target: &Target, stop: &Stop) -> anyhow::Result<LedgerBalance> {
        let warehouses = self.cells.len() as u32 / DISTRICTS;
        Ok(self.compare(&read_counts(target, warehouses, stop)?))
    }

    fn compare(&self, now: &[DistrictCounts]) -> LedgerBalance {
        let mut balance = LedgerBalance::default();
        let mut note = |at: usize, what: &str, acknowledged: u64, there: u64, gone: u64| {
            balance.acknowledged += acknowledged;
            balance.lost += gone;
            balance.surplus += (there + gone).saturating_sub(acknowledged);
            if gone > 0 && balance.examples.len() < MOST_EXAMPLES {
                let (warehouse, district) = place_of(at);
                let key = format!("w {warehouse}, d {district}: {what}");
                let (found, expected) = (there.to_string(), acknowledged.to_string());
                balance.examples.push(BrokenRow { key, found, expected });
            }
        };
        for (at, (cell, now)) in self.cells.iter().zip(now).enumerate() {
            let acknowledged = cell.acknowledged_orders.load(Ordering::Relaxed);
            let there = now.next_order.saturating_sub(cell.next_order);
            // Numbers are given in turn, so the highest that was acknowledged must be there; one that was under way and is
            // there can't stand in for it.
            let last = cell.last_order.load(Ordering::Relaxed);
            let behind = (last + 1).saturating_sub(now.next_order).min(acknowledged);
            let gone = acknowledged.saturating_sub(there).max(behind);
            note(at, "new orders", acknowledged, there, gone);
            let acknowledged = cell.acknowledged_payments.load(Ordering::Relaxed);
            let there = now.payments.saturating_sub(cell.payments);
            note(at, "payments", acknowledged, there, acknowledged.saturating_sub(there));
        }
        balance
    }
}

fn cell_index(warehouse: u32, district: u32) -> usize {
    ((warehouse.max(1) - 1) * DISTRICTS + district.max(1) - 1) as usize
}

fn place_of(at: usize) -> (usize, usize) {
    (at / DISTRICTS as usize + 1, at % DISTRICTS as usize + 1)
}

/// What each district holds, in one snapshot.
fn read_counts(
    target: &Target,
    warehouses: u32,
    stop: &Stop,
) -> anyhow::Result<Vec<DistrictCounts>> {
    let mut session = target.connect(stop)?;
    session.allow_long_statements();
    session.run_command("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
    let mut counts = vec![DistrictCounts::default(); cell_index(warehouses + 1, 1)];
    let mut read = |sql: &str, is_order: bool| {
        let rows = session.query_rows(sql).context("read what the districts hold")?;
        for row in 0..rows.rows.len() {
            let number = |column| {
                rows.text_value(row, column).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0)
            };
            let at = cell_index(number(0) as u32, number(1) as u32);
            let Some(cell) = counts.get_mut(at) else { continue };
            match is_order {
                true => cell.next_order = number(2),
                false => cell.payments = number(2),
            }
        }
        anyhow::Ok(())
    };
    read("SELECT d_w_id, d_id, d_next_o_id FROM district", true)?;
    read("SELECT h_w_id, h_d_id, COUNT(*) FROM history GROUP BY h_w_id, h_d_id", false)?;
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book() -> LedgerBook {
        let cell = || LedgerCell { next_order: 3001, payments: 3000, ..LedgerCell::default() };
        LedgerBook { cells: (0..20).map(|_| cell()).collect() }
    }

    #[test]
    fn what_was_acknowledged_and_is_gone_is_lost() {
        let book = book();
        let place = TerminalPlace { warehouse: 2, district: 1 };
        for order in 3001..3005 {
            book.note_ending(place, &TransactionEnding::Ordered { district: 3, order });
        }
        book.note_ending(place, &TransactionEnding::Paid { district: 3 });
        book.note_ending(place, &TransactionEnding::RolledBack);
        let mut now = vec![DistrictCounts { next_order: 3001, payments: 3000 }; 20];
        now[12] = DistrictCounts { next_order: 3006, payments: 3001 };
        let balance = book.compare(&now);
        assert_eq!((balance.acknowledged, balance.lost, balance.surplus), (5, 0, 1));
        now[12] = DistrictCounts { next_order: 3003, payments: 3000 };
        let balance = book.compare(&now);
        assert_eq!((balance.acknowledged, balance.lost, balance.surplus), (5, 3, 0));
        assert_eq!(balance.examples[0].key, "w 2, d 3: new orders");
        assert_eq!((&*balance.examples[0].found, &*balance.examples[0].expected), ("2", "4"));
    }

    #[test]
    fn an_order_under_way_does_not_stand_in_for_one_that_is_gone() {
        let book = book();
        let place = TerminalPlace { warehouse: 1, district: 1 };
        // 3001 was not acknowledged, 3002 was, and only one of them is there.
        book.note_ending(place, &TransactionEnding::Ordered { district: 1, order: 3002 });
        let mut now = vec![DistrictCounts { next_order: 3001, payments: 3000 }; 20];
        now[0].next_order = 3002;
        let balance = book.compare(&now);
        assert_eq!((balance.acknowledged, balance.lost, balance.surplus), (1, 1, 1));
    }
}
