//! The rules that data are held against, and the tally of what breaks them.

use crate::recorder::{BrokenRow, DataState, DataVerdict};

/// A rule: `C1` to `C12` are the conditions of clause 3.3.2, the others follow from the profiles of clause 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleId {
    C1,
    C2,
    C3,
    C4,
    C5,
    C6,
    C7,
    C8,
    C9,
    C10,
    C11,
    C12,
    X11,
    X13,
    X14,
    X15,
    R1,
}

/// Id, clause and what it says, each at the place of its [`RuleId`].
const RULES: [(&str, &str, &str); 17] = [
    ("C1", "3.3.2.1", "W_YTD = sum of D_YTD"),
    ("C2", "3.3.2.2", "D_NEXT_O_ID - 1 = last order = last new order"),
    ("C3", "3.3.2.3", "the new orders have no gap"),
    ("C4", "3.3.2.4", "sum of O_OL_CNT = order lines"),
    ("C5", "3.3.2.5", "O_CARRIER_ID is null = it is a new order"),
    ("C6", "3.3.2.6", "O_OL_CNT = lines of the order"),
    ("C7", "3.3.2.7", "OL_DELIVERY_D is null = O_CARRIER_ID is null"),
    ("C8", "3.3.2.8", "W_YTD = sum of H_AMOUNT"),
    ("C9", "3.3.2.9", "D_YTD = sum of H_AMOUNT"),
    ("C10", "3.3.2.10", "C_BALANCE = delivered OL_AMOUNT - H_AMOUNT"),
    ("C11", "3.3.2.11", "orders - new orders = 2100"),
    ("C12", "3.3.2.12", "C_BALANCE + C_YTD_PAYMENT = delivered OL_AMOUNT"),
    ("X11", "2.7.4", "orders - new orders = 2100 + C_DELIVERY_CNT"),
    ("X13", "2.5.2", "C_PAYMENT_CNT = rows of HISTORY"),
    ("X14", "2.5.2", "C_YTD_PAYMENT = sum of H_AMOUNT"),
    ("X15", "2.4.2", "S_YTD, S_ORDER_CNT, S_REMOTE_CNT = order lines"),
    ("R1", "4.2.2", "rows of DISTRICT, CUSTOMER, STOCK, ITEM"),
];

/// Rows that are named; the others are counted.
const MOST_EXAMPLES: usize = 5;

/// What breaks each rule, as far as was looked.
#[derive(Clone, Debug)]
pub(super) struct RuleTally {
    broken: [(u64, Vec<BrokenRow>); RULES.len()],
    /// Districts in which the load is all that has happened.
    pub(super) fresh_districts: u64,
    pub(super) districts: u64,
}

impl Default for RuleTally {
    fn default() -> RuleTally {
        RuleTally {
            broken: std::array::from_fn(|_| Default::default()),
            fresh_districts: 0,
            districts: 0,
        }
    }
}

impl RuleTally {
    /// Holds one value against what the rule asks for; the texts are made only where they differ.
    pub(super) fn compare<T: PartialEq + ToString>(
        &mut self,
        rule: RuleId,
        found: T,
        expected: T,
        key: impl FnOnce() -> String,
    ) {
        if found != expected {
            self.note_broken(rule, key, found, expected);
        }
    }

    /// Notes a row that breaks a rule.
    pub(super) fn note_broken(
        &mut self,
        rule: RuleId,
        key: impl FnOnce() -> String,
        found: impl ToString,
        expected: impl ToString,
    ) {
        let (count, examples) = &mut self.broken[rule as usize];
        *count += 1;
        if examples.len() < MOST_EXAMPLES {
            let (found, expected) = (found.to_string(), expected.to_string());
            examples.push(BrokenRow { key: key(), found, expected });
        }
    }

    /// Takes in what another part of the data came to.
    pub(super) fn merge(&mut self, other: RuleTally) {
        for ((count, examples), (more, rows)) in self.broken.iter_mut().zip(other.broken) {
            *count += more;
            examples.extend(rows);
            examples.sort_by_key(|row| natural_key(&row.key));
            examples.truncate(MOST_EXAMPLES);
        }
        self.districts += other.districts;
        self.fresh_districts += other.fresh_districts;
    }

    /// The verdicts in the order of the rules.
    pub(super) fn into_verdicts(self) -> Vec<DataVerdict> {
        let is_fresh = self.fresh_districts == self.districts;
        let verdict = |at: usize, (broken_rows, examples): (u64, Vec<BrokenRow>)| {
            let (id, clause, rule) = RULES[at];
            let applies = at != RuleId::C11 as usize || is_fresh;
            let (state, note) = match (applies, broken_rows) {
                (false, _) => (DataState::NotApplicable, "a load has run since; see X11"),
                (true, 0) => (DataState::Holds, ""),
                (true, _) => (DataState::Broken, ""),
            };
            let [id, clause, rule, note] = [id, clause, rule, note].map(str::to_owned);
            let is_broken = state == DataState::Broken;
            let broken_rows = if is_broken { broken_rows } else { 0 };
            let examples = if is_broken { examples } else { Vec::new() };
            DataVerdict { id, rule, clause, state, broken_rows, examples, note }
        };
        self.broken.into_iter().enumerate().map(|(at, broken)| verdict(at, broken)).collect()
    }
}

/// The numbers of a key, for an order that people expect.
fn natural_key(key: &str) -> Vec<u64> {
    key.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// Money as it is compared: cents, shown as they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MoneyCents(pub(super) i64);

impl std::fmt::Display for MoneyCents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}.{:02}", self.0.unsigned_abs() / 100, self.0.unsigned_abs() % 100)
    }
}

impl MoneyCents {
    /// From the server's text. Tables that others made may hold approximate numbers: they are rounded to cents.
    pub(super) fn from_text(text: &[u8]) -> Option<MoneyCents> {
        let text = std::str::from_utf8(text).ok()?;
        let (whole, part) = text.split_once('.').unwrap_or((text, "00"));
        let is_whole = whole.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
        if is_whole && part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit()) {
            let digits: i64 = part.parse().ok()?;
            let is_negative = whole.starts_with('-');
            let units = whole.parse::<i64>().ok()?.checked_mul(100)?;
            return Some(MoneyCents(if is_negative { units - digits } else { units + digits }));
        }
        text.parse::<f64>().ok().map(|number| MoneyCents((number * 100.0).round() as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_read_and_shown_to_the_cent() {
        for (text, cents) in
            [("-0.05", -5), ("12.34", 1234), ("7", 700), ("-10.00", -1000), ("1.5", 150)]
        {
            assert_eq!(MoneyCents::from_text(text.as_bytes()), Some(MoneyCents(cents)), "{text}");
        }
        assert_eq!(MoneyCents(-5).to_string(), "-0.05");
        assert_eq!(MoneyCents(123_456).to_string(), "1234.56");
        assert_eq!(MoneyCents::from_text(b"1e3"), Some(MoneyCents(100_000)));
        assert_eq!(MoneyCents::from_text(b"x"), None);
    }

    #[test]
    fn a_tally_names_the_first_rows_and_counts_all() {
        let mut all = RuleTally::default();
        for part in [20..30, 1..10] {
            let mut tally = RuleTally { districts: 1, ..RuleTally::default() };
            for w in part {
                tally.compare(RuleId::C1, 1, 2, || format!("w {w}"));
                tally.compare(RuleId::C11, 1, 2, || format!("w {w}"));
            }
            all.merge(tally);
        }
        let verdicts = all.into_verdicts();
        let (first, c11) = (&verdicts[0], &verdicts[RuleId::C11 as usize]);
        assert_eq!((first.state, first.broken_rows), (DataState::Broken, 19));
        let keys: Vec<_> = first.examples.iter().map(|row| row.key.as_str()).collect();
        assert_eq!(keys, ["w 1", "w 2", "w 3", "w 4", "w 5"]);
        assert_eq!((c11.state, c11.broken_rows), (DataState::NotApplicable, 0));
        assert_eq!(verdicts.len(), RuleId::R1 as usize + 1);
    }
}
