//! A range of keys as a condition in SQL.

use super::{HotSet, KeyColumn, KeyLiteral, KeyRange};
use crate::warm::names::quote_identifier;

/// What follows WHERE to read the keys of a range and no others. Written so that both products' optimizers see ranges
/// of the index: a chain of comparisons, never a comparison of rows.
pub fn range_condition(key: &[KeyColumn], range: &KeyRange) -> String {
    let low = bound_condition(key, &range.low, BoundSide::From);
    let high =
        bound_condition(key, &range.high, BoundSide::To { whole: range.high.len() == key.len() });
    match (low, high) {
        (Some(low), Some(high)) => format!("{low} AND {high}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "TRUE".to_owned(),
    }
}

/// What follows WHERE to touch every leaf of a range and no other, on a server whose leaves are the same. InnoDB looks
/// for a key from the leaf before it if the key is the first of its leaf, and goes on to the leaf behind to see that a
/// range is through: so this begins behind the first key and ends with the first key of the last leaf, or at once.
/// `None` where that can't be said: the range does not know its last leaf, or there is no telling where one leaf ends.
pub(super) fn leaf_condition(key: &[KeyColumn], range: &KeyRange) -> Option<String> {
    if range.last.is_empty() || range.low.len() != key.len() {
        return None;
    }
    if range.last != range.low {
        let low = bound_condition(key, &range.low, BoundSide::Beyond)?;
        let high = bound_condition(key, &range.last, BoundSide::To { whole: false })?;
        return Some(format!("{low} AND {high}"));
    }
    let (column, value) = (key.last()?, range.low.last()?);
    let ahead = &key[..key.len() - 1];
    let mut parts: Vec<String> = ahead
        .iter()
        .zip(&range.low)
        .map(|(column, value)| equal_condition(column, value))
        .collect();
    parts.push(after_condition(column, value)?);
    let same_ahead =
        range.high.len() == key.len() && range.high[..ahead.len()] == range.low[..ahead.len()];
    match next_integer(value, column.descending) {
        Some(next) => parts.push(before_condition(column, &next)?),
        // All keys with these values before the last one are on this leaf.
        None if !ahead.is_empty() && !same_ahead => {}
        None => return None,
    }
    Some(parts.join(" AND "))
}

/// The whole number that comes next in the index: nothing lies between.
fn next_integer(value: &KeyLiteral, descending: bool) -> Option<KeyLiteral> {
    let number = value.as_integer()?;
    let next = if descending { number - 1 } else { number + 1 };
    // Beyond its own range a column is not compared but always smaller.
    let known = i128::from(i64::MIN)..=i128::from(i64::MAX);
    known.contains(&next).then(|| KeyLiteral::from_integer(next))
}

/// All conditions that a load of a hot set may write: the door for tests of hostile files.
#[doc(hidden)]
pub fn all_conditions(hot: &HotSet) -> impl Iterator<Item = String> + '_ {
    hot.indexes.iter().flat_map(|index| {
        let both =
            |range| [Some(range_condition(&index.key, range)), leaf_condition(&index.key, range)];
        index.ranges.iter().flat_map(both).flatten()
    })
}

/// Which end of the range; `Beyond` is without its own key, and so is `high` if it has a value for every column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BoundSide {
    From,
    Beyond,
    To { whole: bool },
}

fn bound_condition(key: &[KeyColumn], values: &[KeyLiteral], side: BoundSide) -> Option<String> {
    let (column, value) = (key.first()?, values.first()?);
    let rest = bound_condition(&key[1..], &values[1..], side);
    let strict = match side {
        BoundSide::From | BoundSide::Beyond => after_condition(column, value),
        BoundSide::To { .. } => before_condition(column, value),
    };
    let equal = equal_condition(column, value);
    let closed = match (rest, side) {
        (Some(rest), _) => Some(format!("({equal} AND {rest})")),
        (None, BoundSide::To { whole: true } | BoundSide::Beyond) => None,
        (None, _) => Some(equal),
    };
    Some(match (strict, closed) {
        (Some(strict), Some(closed)) => format!("({strict} OR {closed})"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "FALSE".to_owned(),
    })
}

/// Keys whose value comes behind this one in the index; `None` if there are none.
fn after_condition(column: &KeyColumn, value: &KeyLiteral) -> Option<String> {
    if column.descending { less_condition(column, value) } else { greater_condition(column, value) }
}

/// Keys whose value comes before this one in the index; `None` if there are none.
fn before_condition(column: &KeyColumn, value: &KeyLiteral) -> Option<String> {
    if column.descending { greater_condition(column, value) } else { less_condition(column, value) }
}

fn greater_condition(column: &KeyColumn, value: &KeyLiteral) -> Option<String> {
    let name = quote_identifier(&column.name);
    Some(if value.is_null() { format!("{name} IS NOT NULL") } else { format!("{name} > {value}") })
}

fn less_condition(column: &KeyColumn, value: &KeyLiteral) -> Option<String> {
    let name = quote_identifier(&column.name);
    match (value.is_null(), column.nullable) {
        (true, _) => None,
        (false, true) => Some(format!("({name} IS NULL OR {name} < {value})")),
        (false, false) => Some(format!("{name} < {value}")),
    }
}

fn equal_condition(column: &KeyColumn, value: &KeyLiteral) -> String {
    let name = quote_identifier(&column.name);
    if value.is_null() { format!("{name} IS NULL") } else { format!("{name} = {value}") }
}

#[cfg(test)]
#[path = "condition_tokens.rs"]
mod tokens;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(name: &str, nullable: bool, descending: bool) -> KeyColumn {
        KeyColumn { name: name.to_owned(), nullable, descending, ..KeyColumn::default() }
    }

    fn said(key: &[KeyColumn], low: &[&str], high: &[&str]) -> String {
        range_condition(
            key,
            &KeyRange { low: values(low), high: values(high), ..KeyRange::default() },
        )
    }

    fn values(words: &[&str]) -> Vec<KeyLiteral> {
        words.iter().map(|word| word.parse().unwrap()).collect()
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
    fn same_leaves_are_touched_from_behind_the_first_key_to_the_first_key_of_the_last() {
        let said = |key: &[KeyColumn], low: &[&str], last: &[&str], high: &[&str]| {
            let (low, last, high) = (values(low), values(last), values(high));
            leaf_condition(key, &KeyRange { low, last, high, ..KeyRange::default() })
        };
        let id = [column("id", false, false)];
        assert_eq!(said(&id, &["7"], &["7"], &["90"]).unwrap(), "`id` > 7 AND `id` < 8");
        assert_eq!(
            said(&id, &["7"], &["90"], &["120"]).unwrap(),
            "`id` > 7 AND (`id` < 90 OR `id` = 90)"
        );
        assert_eq!(said(&id, &[], &["90"], &["120"]), None);
        assert_eq!(said(&id, &["7"], &[], &["90"]), None);
        let down = [column("id", false, true)];
        assert_eq!(said(&down, &["7"], &["7"], &["1"]).unwrap(), "`id` < 7 AND `id` > 6");
        let two = [column("a", true, false), column("b", false, false)];
        assert_eq!(
            said(&two, &["NULL", "2"], &["NULL", "2"], &["1", "1"]).unwrap(),
            "`a` IS NULL AND `b` > 2 AND `b` < 3"
        );
        assert_eq!(
            said(&two, &["1", "x'78'"], &["1", "x'78'"], &["1", "x'7A'"]),
            None,
            "no end known"
        );
        assert_eq!(
            said(&two, &["1", "x'78'"], &["1", "x'78'"], &["2", "x'63'"]).unwrap(),
            "`a` = 1 AND `b` > x'78'"
        );
        assert_eq!(said(&id, &["9223372036854775807"], &["9223372036854775807"], &[]), None);
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

    #[test]
    fn the_tokens_of_a_condition_are_told_from_others() {
        assert!(tokens::are_tokens_known(
            "(`a``) OR 1` > -1e-5 OR `b` = _utf8mb4 x'00') AND `c` IS NULL"
        ));
        for evil in ["`a` > 1) INTO OUTFILE '/x' -- ", "`a` > sleep(3)", "`a` > 1; DO 1", "`a"] {
            assert!(!tokens::are_tokens_known(evil), "{evil}");
        }
    }

    proptest! {
        #[test]
        fn any_file_gives_known_tokens_only(
            names in prop::collection::vec("\\PC{0,6}", 1..4),
            words in prop::collection::vec("[x_'0-9a-fN:.()`;-]{0,9}|NULL|-?[0-9]{1,20}", 0..6),
            bounds in prop::array::uniform3(
                prop::collection::vec(any::<prop::sample::Index>(), 0..4),
            ),
        ) {
            let key: Vec<KeyColumn> =
                names.iter().map(|name| column(name, name.len() > 2, name.len() > 4)).collect();
            // What the reader lets through of these words.
            let read: Vec<KeyLiteral> = words.iter().filter_map(|w| w.parse().ok()).collect();
            let bound = |picks: &[prop::sample::Index]| {
                let values = picks.iter().take(if read.is_empty() { 0 } else { key.len() });
                values.map(|pick| pick.get(&read).clone()).collect::<Vec<_>>()
            };
            let [low, last, high] = [0, 1, 2].map(|at| bound(&bounds[at]));
            let range = KeyRange { low, last, high, ..KeyRange::default() };
            for said in [Some(range_condition(&key, &range)), leaf_condition(&key,
            &range)].iter().flatten() {
                prop_assert!(tokens::are_tokens_known(said), "{said}");
            }
        }
    }
}
