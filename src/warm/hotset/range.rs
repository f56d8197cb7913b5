//! A range of keys as a condition in SQL.

use super::{KeyColumn, KeyRange};
use crate::warm::names::quote;

/// What follows WHERE to read the keys of a range and no others. Written so that both products' optimizers see ranges
/// of the index: a chain of comparisons, never a comparison of rows.
pub fn condition(key: &[KeyColumn], range: &KeyRange) -> String {
    let low = bound(key, &range.low, Side::From);
    let high = bound(key, &range.high, Side::To { whole: range.high.len() == key.len() });
    match (low, high) {
        (Some(low), Some(high)) => format!("{low} AND {high}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "TRUE".to_owned(),
    }
}

/// What follows WHERE to touch every leaf of a range and none behind, on a server whose leaves are the same: a scan up
/// to the end of a range would go on to the leaf behind it to see that it is through. `None` where the range does not
/// know its last leaf.
pub(super) fn touching(key: &[KeyColumn], range: &KeyRange) -> Option<String> {
    if range.last.is_empty() {
        return None;
    }
    if range.last == range.low {
        let parts = key.iter().zip(&range.low).map(|(column, value)| equal(column, value));
        return Some(parts.collect::<Vec<_>>().join(" AND "));
    }
    let high = bound(key, &range.last, Side::To { whole: false })?;
    Some(match bound(key, &range.low, Side::From) {
        Some(low) => format!("{low} AND {high}"),
        None => high,
    })
}

/// Which end of the range, and whether `high` has a value for every column and so ends before its own key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    From,
    To { whole: bool },
}

fn bound(key: &[KeyColumn], values: &[String], side: Side) -> Option<String> {
    let (column, value) = (key.first()?, values.first()?);
    let rest = bound(&key[1..], &values[1..], side);
    let strict = match side {
        Side::From => after(column, value),
        Side::To { .. } => before(column, value),
    };
    let equal = equal(column, value);
    let closed = match (rest, side) {
        (Some(rest), _) => Some(format!("({equal} AND {rest})")),
        (None, Side::To { whole: true }) => None,
        (None, _) => Some(equal),
    };
    Some(match (strict, closed) {
        (Some(strict), Some(closed)) => format!("({strict} OR {closed})"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "FALSE".to_owned(),
    })
}

/// Keys whose value comes behind this one in the index; `None` if there are none.
fn after(column: &KeyColumn, value: &str) -> Option<String> {
    if column.descending { smaller(column, value) } else { larger(column, value) }
}

/// Keys whose value comes before this one in the index; `None` if there are none.
fn before(column: &KeyColumn, value: &str) -> Option<String> {
    if column.descending { larger(column, value) } else { smaller(column, value) }
}

fn larger(column: &KeyColumn, value: &str) -> Option<String> {
    let name = quote(&column.name);
    Some(if value == NULL { format!("{name} IS NOT NULL") } else { format!("{name} > {value}") })
}

fn smaller(column: &KeyColumn, value: &str) -> Option<String> {
    let name = quote(&column.name);
    match (value == NULL, column.nullable) {
        (true, _) => None,
        (false, true) => Some(format!("({name} IS NULL OR {name} < {value})")),
        (false, false) => Some(format!("{name} < {value}")),
    }
}

fn equal(column: &KeyColumn, value: &str) -> String {
    let name = quote(&column.name);
    if value == NULL { format!("{name} IS NULL") } else { format!("{name} = {value}") }
}

/// How no value is written.
pub(super) const NULL: &str = "NULL";

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, nullable: bool, descending: bool) -> KeyColumn {
        KeyColumn { name: name.to_owned(), nullable, descending, ..KeyColumn::default() }
    }

    fn said(key: &[KeyColumn], low: &[&str], high: &[&str]) -> String {
        let words = |w: &[&str]| w.iter().map(|v| (*v).to_owned()).collect();
        condition(key, &KeyRange { low: words(low), high: words(high), ..KeyRange::default() })
    }

    #[test]
    fn whole_bounds_begin_with_their_key_and_end_before_it() {
        let key = [column("a", false, false), column("b", false, false)];
        assert_eq!(said(&key[..1], &["1"], &["5"]), "(`a` > 1 OR `a` = 1) AND `a` < 5");
        assert_eq!(
            said(&key, &["1", "2"], &["5", "6"]),
            "(`a` > 1 OR (`a` = 1 AND (`b` > 2 OR `b` = 2))) AND (`a` < 5 OR (`a` = 5 AND `b` < 6))"
        );
    }

    #[test]
    fn same_leaves_are_touched_up_to_the_first_key_of_the_last() {
        let key = [column("a", true, false), column("b", false, false)];
        let said = |low: &[&str], last: &[&str]| {
            let words = |w: &[&str]| w.iter().map(|v| (*v).to_owned()).collect();
            touching(&key, &KeyRange { low: words(low), last: words(last), ..KeyRange::default() })
        };
        assert_eq!(said(&["1", "2"], &["1", "2"]).unwrap(), "`a` = 1 AND `b` = 2");
        assert_eq!(said(&["NULL", "2"], &["NULL", "2"]).unwrap(), "`a` IS NULL AND `b` = 2");
        assert!(said(&[], &["4", "5"]).unwrap().ends_with("(`a` = 4 AND (`b` < 5 OR `b` = 5)))"));
        assert_eq!(said(&["1", "2"], &[]), None);
    }

    #[test]
    fn short_bounds_hold_all_that_begins_with_them_and_empty_ones_are_open() {
        let key = [column("a", false, false), column("b", false, false)];
        assert_eq!(said(&key, &["1"], &["5"]), "(`a` > 1 OR `a` = 1) AND (`a` < 5 OR `a` = 5)");
        assert_eq!(said(&key, &[], &["5", "6"]), "(`a` < 5 OR (`a` = 5 AND `b` < 6))");
        assert_eq!(said(&key, &[], &[]), "TRUE");
    }

    #[test]
    fn null_comes_first_and_turns_round_with_the_column() {
        let up = [column("a", true, false)];
        assert_eq!(
            said(&up, &["NULL"], &["3"]),
            "(`a` IS NOT NULL OR `a` IS NULL) AND \
                   (`a` IS NULL OR `a` < 3)"
        );
        assert_eq!(said(&up, &[], &["NULL"]), "FALSE");
        let down = [column("a", true, true)];
        assert_eq!(
            said(&down, &["3"], &["NULL"]),
            "((`a` IS NULL OR `a` < 3) OR `a` = 3) AND \
                   `a` IS NOT NULL"
        );
    }
}
