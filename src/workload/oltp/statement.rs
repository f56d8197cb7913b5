//! The statements: their texts with holes for the table's number and for values, and how a text is filled in.

use std::io::Write as _;

use crate::target::Value;

use super::options::Settings;

/// What can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// One row by id.
    PointSelect,
    /// Rows of a range of ids.
    SimpleRange,
    /// The sum of a column over a range.
    SumRange,
    /// A range, sorted.
    OrderRange,
    /// Different values in a range, sorted.
    DistinctRange,
    /// Adds 1 to an indexed column.
    IndexUpdate,
    /// New content in a column without index.
    NonIndexUpdate,
    /// Deletes a row; draws the id that the next insert puts in again.
    Delete,
    /// Inserts the row that was just deleted, with new content.
    Insert,
    /// Inserts a row under a new id.
    InsertNew,
    /// Rows of several values of an indexed column.
    RandomPoints,
    /// Counts rows in several ranges of an indexed column.
    RandomRanges,
}

impl Statement {
    /// How many there are.
    pub(super) const COUNT: usize = 12;

    /// Whether it can only be sent to the first table.
    pub(super) fn needs_single_table(self) -> bool {
        matches!(self, Statement::RandomPoints | Statement::RandomRanges)
    }

    /// Whether it reads.
    #[inline]
    pub(super) fn reads(self) -> bool {
        !matches!(
            self,
            Statement::IndexUpdate
                | Statement::NonIndexUpdate
                | Statement::Delete
                | Statement::Insert
                | Statement::InsertNew
        )
    }

    /// The text; `{}` stands for the table's number, `?` for a value.
    pub(super) fn text(self, settings: &Settings) -> String {
        let fixed = match self {
            Statement::PointSelect => "SELECT c FROM sbtest{} WHERE id=?",
            Statement::SimpleRange => "SELECT c FROM sbtest{} WHERE id BETWEEN ? AND ?",
            Statement::SumRange => "SELECT SUM(k) FROM sbtest{} WHERE id BETWEEN ? AND ?",
            Statement::OrderRange => "SELECT c FROM sbtest{} WHERE id BETWEEN ? AND ? ORDER BY c",
            Statement::DistinctRange => {
                "SELECT DISTINCT c FROM sbtest{} WHERE id BETWEEN ? AND ? ORDER BY c"
            }
            Statement::IndexUpdate => "UPDATE sbtest{} SET k=k+1 WHERE id=?",
            Statement::NonIndexUpdate => "UPDATE sbtest{} SET c=? WHERE id=?",
            Statement::Delete => "DELETE FROM sbtest{} WHERE id=?",
            Statement::Insert | Statement::InsertNew => {
                "INSERT INTO sbtest{} (id, k, c, pad) VALUES (?, ?, ?, ?)"
            }
            Statement::RandomPoints => {
                let holes = vec!["?"; settings.random_points].join(", ");
                return format!("SELECT id, k, c, pad FROM sbtest{{}} WHERE k IN ({holes})");
            }
            Statement::RandomRanges => {
                let ranges = vec!["k BETWEEN ? AND ?"; settings.random_ranges].join(" OR ");
                return format!("SELECT count(k) FROM sbtest{{}} WHERE {ranges}");
            }
        };
        fixed.to_owned()
    }
}

/// Writes a text for a table, with its values filled in; holes stay where no values are given.
pub(super) fn fill_in(text: &str, table: u64, values: &[Value<'_>], out: &mut Vec<u8>) {
    out.clear();
    let mut values = values.iter();
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|b| matches!(b, b'{' | b'?')) {
        out.extend_from_slice(&rest[..at]);
        if rest[at] == b'{' {
            write!(out, "{table}").expect("a vector takes all bytes");
            rest = &rest[at + 2..];
            continue;
        }
        match values.next() {
            Some(value) => write_value(*value, out),
            None => out.push(b'?'),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Writes a value as SQL. Our texts are digits and dashes, so there is nothing to escape.
fn write_value(value: Value<'_>, out: &mut Vec<u8>) {
    let written = match value {
        Value::Null => write!(out, "NULL"),
        Value::Int(n) => write!(out, "{n}"),
        Value::Uint(n) => write!(out, "{n}"),
        Value::Double(n) => write!(out, "{n}"),
        Value::Bytes(text) => {
            out.push(b'\'');
            out.extend_from_slice(text);
            out.push(b'\'');
            Ok(())
        }
    };
    written.expect("a vector takes all bytes");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, values: &[Value<'_>]) -> String {
        let mut out = b"old".to_vec();
        fill_in(text, 12, values, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_go_into_the_holes_in_order() {
        let settings = Settings::default();
        let insert = Statement::Insert.text(&settings);
        let values = [Value::Int(-7), Value::Uint(3), Value::Bytes(b"1-2"), Value::Null];
        assert_eq!(
            filled(&insert, &values),
            "INSERT INTO sbtest12 (id, k, c, pad) VALUES (-7, 3, '1-2', NULL)"
        );
        assert_eq!(
            filled(&Statement::PointSelect.text(&settings), &[]),
            "SELECT c FROM sbtest12 WHERE id=?"
        );
    }

    #[test]
    fn lists_have_as_many_holes_as_asked() {
        let settings = Settings { random_points: 3, random_ranges: 2, ..Settings::default() };
        assert_eq!(
            filled(&Statement::RandomPoints.text(&settings), &[]),
            "SELECT id, k, c, pad FROM sbtest12 WHERE k IN (?, ?, ?)"
        );
        assert_eq!(
            filled(&Statement::RandomRanges.text(&settings), &[Value::Uint(1)]),
            "SELECT count(k) FROM sbtest12 WHERE k BETWEEN 1 AND ? OR k BETWEEN ? AND ?"
        );
    }
}
