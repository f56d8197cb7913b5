//! What tables that another program made say of it: shares that the specification names, and the skew of items.

use std::collections::HashMap;

use super::super::schema::ITEMS;
use crate::recorder::{DataState, DataVerdict};

/// How many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShareCount {
    pub(super) part: u64,
    pub(super) all: u64,
}

impl ShareCount {
    pub(super) fn add(&mut self, is_part: bool) {
        self.all += 1;
        self.part += u64::from(is_part);
    }

    fn merge(&mut self, other: ShareCount) {
        self.part += other.part;
        self.all += other.all;
    }

    fn value(self) -> f64 {
        self.part as f64 / (self.all as f64).max(1.0)
    }
}

/// What is counted along the way.
#[derive(Clone, Debug, Default)]
pub(super) struct DataShares {
    /// Customers with bad credit.
    pub(super) bad_credit: ShareCount,
    /// Rows of STOCK and ITEM whose data say ORIGINAL.
    pub(super) original: ShareCount,
    /// Districts in which each order of the load has another customer.
    pub(super) permutations: ShareCount,
    /// Order lines since the load from another warehouse.
    pub(super) remote_lines: ShareCount,
    /// Rows of the history for customers of another warehouse.
    pub(super) remote_payments: ShareCount,
    /// Order lines since the load, per item.
    pub(super) item_lines: HashMap<i64, u64>,
}

/// How far a share may lie from its mean by chance, in standard errors.
const SIGMAS: f64 = 3.3;
/// Order lines that the skew can be told from: with fewer, chance alone makes some items hot.
const LEAST_LINES: u64 = 100_000;
/// Share of the lines that the hottest 1 % of items take. NURand(8191, 1, 100000) makes it 30.5 %.
const HOT_SHARE: std::ops::Range<f64> = 0.25..0.36;

impl DataShares {
    pub(super) fn merge(&mut self, other: DataShares) {
        self.bad_credit.merge(other.bad_credit);
        self.original.merge(other.original);
        self.permutations.merge(other.permutations);
        self.remote_lines.merge(other.remote_lines);
        self.remote_payments.merge(other.remote_payments);
        for (item, lines) in other.item_lines {
            *self.item_lines.entry(item).or_default() += lines;
        }
    }

    /// The verdicts; `customers` and `warehouses` are those of all sets.
    pub(super) fn into_verdicts(self, customers: u64, warehouses: u64) -> Vec<DataVerdict> {
        // The load writes one row of the history for each customer, all of them local.
        let payments = self.remote_payments.all.saturating_sub(customers);
        let payments = ShareCount { all: payments, ..self.remote_payments };
        let one_only = if warehouses < 2 { "there is one warehouse only" } else { "" };
        let share = |id, clause, rule, count: ShareCount, (mean, slack): (f64, f64), why: &str| {
            let (state, note) = match why {
                "" => judge_share(count, mean, slack),
                why => (DataState::NotApplicable, why.to_owned()),
            };
            verdict(id, clause, rule, state, note)
        };
        let all = self.permutations.part == self.permutations.all;
        let ShareCount { part, all: districts } = self.permutations;
        let permutation = verdict(
            "D3",
            "4.3.3.1",
            "O_C_ID of the load is a permutation",
            if all { DataState::Holds } else { DataState::Broken },
            if all { String::new() } else { format!("in {part} of {districts} districts") },
        );
        let skew = judge_skew(&self.item_lines);
        vec![
            share("D1", "4.3.3.1", "10 % of customers: bad credit", self.bad_credit, LOADED, ""),
            share("D2", "4.3.3.1", "10 % of S_DATA, I_DATA: ORIGINAL", self.original, LOADED, ""),
            permutation,
            share("D4", "2.4.1.5", "1 % of lines: remote", self.remote_lines, LINES, one_only),
            share("D5", "2.5.1.2", "15 % of payments: remote", payments, PAYMENTS, one_only),
            verdict("D6", "2.1.6", "the hottest 1 % of items: 30 % of lines", skew.0, skew.1),
        ]
    }
}

/// Mean and slack of shares: 5 % of the mean in a load (clause 4.3.3.1), the bands of clause 5.5.1.5 in a run.
const LOADED: (f64, f64) = (0.10, 0.005);
const LINES: (f64, f64) = (0.01, 0.000_5);
const PAYMENTS: (f64, f64) = (0.15, 0.01);

fn verdict(id: &str, clause: &str, rule: &str, state: DataState, note: String) -> DataVerdict {
    let [id, clause, rule] = [id, clause, rule].map(str::to_owned);
    DataVerdict { id, clause, rule, state, note, ..DataVerdict::default() }
}

/// Holds a share against its band; what lies beside it by chance alone breaks nothing.
fn judge_share(count: ShareCount, mean: f64, slack: f64) -> (DataState, String) {
    let chance = SIGMAS * (mean * (1.0 - mean) / count.all.max(1) as f64).sqrt();
    let off = (count.value() - mean).abs();
    let note = format!("{:.2} % of {}", 100.0 * count.value(), count.all);
    match (off > slack + chance, chance > slack) {
        _ if count.all == 0 => (DataState::NotApplicable, "there are none".to_owned()),
        (true, _) => (DataState::Broken, note),
        (false, true) => (DataState::NotApplicable, format!("too few to tell: {note}")),
        (false, false) => (DataState::Holds, note),
    }
}

fn judge_skew(lines: &HashMap<i64, u64>) -> (DataState, String) {
    let all: u64 = lines.values().sum();
    if all < LEAST_LINES {
        return (DataState::NotApplicable, format!("too few to tell: {all} lines"));
    }
    let mut counts: Vec<u64> = lines.values().copied().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let hot: u64 = counts.iter().take(ITEMS as usize / 100).sum();
    let share = hot as f64 / all as f64;
    let holds = HOT_SHARE.contains(&share);
    let state = if holds { DataState::Holds } else { DataState::Broken };
    (state, format!("{:.1} % of {all}", 100.0 * share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_judged_by_its_band_and_by_chance() {
        let judge = |part, all, (mean, slack)| judge_share(ShareCount { part, all }, mean, slack).0;
        assert_eq!(judge(14_970, 30_000, LOADED), DataState::Broken);
        assert_eq!(judge(3_050, 30_000, LOADED), DataState::NotApplicable);
        assert_eq!(judge(15_050, 150_000, LOADED), DataState::Holds);
        assert_eq!(judge(0, 5_000, LINES), DataState::Broken);
        assert_eq!(judge(40, 5_000, LINES), DataState::NotApplicable);
        assert_eq!(judge(0, 0, PAYMENTS), DataState::NotApplicable);
    }

    #[test]
    fn items_drawn_alike_have_no_skew() {
        let even = (1..=100_000).map(|item| (item, 10)).collect();
        let (state, note) = judge_skew(&even);
        assert_eq!((state, note.as_str()), (DataState::Broken, "1.0 % of 1000000"));
        assert_eq!(judge_skew(&HashMap::from([(1, 10)])).0, DataState::NotApplicable);
        let mut skewed: HashMap<i64, u64> = even;
        skewed.iter_mut().filter(|(item, _)| **item <= 1000).for_each(|(_, lines)| *lines = 430);
        assert_eq!(judge_skew(&skewed).0, DataState::Holds);
    }
}
