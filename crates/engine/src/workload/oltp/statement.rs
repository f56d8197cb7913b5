//! The statements: their texts with holes for the table's number and for values, and how a text is filled in.

use std::io::Write as _;

use crate::client::ParameterValue;

use super::options::OltpSettings;

/// What can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OltpStatement {
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

impl OltpStatement {
    /// How many there are.
    pub(super) const COUNT: usize = 12;

    /// Whether it can only be sent to the first table.
    pub(super) fn needs_single_table(self) -> bool {
        matches!(self, OltpStatement::RandomPoints | OltpStatement::RandomRanges)
    }

    /// Whether it reads.
    #[inline]
    pub(super) fn is_read(self) -> bool {
        !matches!(
            self,
            OltpStatement::IndexUpdate
                | OltpStatement::NonIndexUpdate
                | OltpStatement::Delete
                | OltpStatement::Insert
                | OltpStatement::InsertNew
        )
    }

    /// The text; `{}` stands for the table's number, `?` for a value.
    pub(super) fn sql_text(self, settings: &OltpSettings) -> String {
        let fixed = match self {
            OltpStatement::PointSelect => "SELECT c FROM sbtest{} WHERE id=?",
            OltpStatement::SimpleRange => "SELECT c FROM sbtest{} WHERE id BETWEEN ? AND ?",
            OltpStatement::SumRange => "SELECT SUM(k) FROM sbtest{} WHERE id BETWEEN ? AND ?",
            OltpStatement::OrderRange => {
                "SELECT c FROM sbtest{} WHERE id BETWEEN ? AND ? ORDER BY c"
            }
            OltpStatement::DistinctRange => {
                "SELECT DISTINCT c FROM sbtest{} WHERE id BETWEEN ? AND ? ORDER BY c"
            }
            OltpStatement::IndexUpdate => "UPDATE sbtest{} SET k=k+1 WHERE id=?",
            OltpStatement::NonIndexUpdate => "UPDATE sbtest{} SET c=? WHERE id=?",
            OltpStatement::Delete => "DELETE FROM sbtest{} WHERE id=?",
            OltpStatement::Insert | OltpStatement::InsertNew => {
                "INSERT INTO sbtest{} (id, k, c, pad) VALUES (?, ?, ?, ?)"
            }
            OltpStatement::RandomPoints => {
                let holes = vec!["?"; settings.random_points].join(", ");
                return format!("SELECT id, k, c, pad FROM sbtest{{}} WHERE k IN ({holes})");
            }
            OltpStatement::RandomRanges => {
                let ranges = vec!["k BETWEEN ? AND ?"; settings.random_ranges].join(" OR ");
                return format!("SELECT count(k) FROM sbtest{{}} WHERE {ranges}");
            }
        };
        fixed.to_owned()
    }
}

/// Writes a text for a table, with its values filled in; holes stay where no values are given.
pub(super) fn fill_in(text: &str, table: u64, values: &[ParameterValue<'_>], out: &mut Vec<u8>) {
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
fn write_value(value: ParameterValue<'_>, out: &mut Vec<u8>) {
    let written = match value {
        ParameterValue::Null => write!(out, "NULL"),
        ParameterValue::Int(n) => write!(out, "{n}"),
        ParameterValue::Uint(n) => write!(out, "{n}"),
        ParameterValue::Double(n) => write!(out, "{n}"),
        ParameterValue::Bytes(text) => {
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

    fn filled(text: &str, values: &[ParameterValue<'_>]) -> String {
        let mut out = b"old".to_vec();
        fill_in(text, 12, values, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_go_into_the_holes_in_order() {
        let settings = OltpSettings::default();
        let insert = OltpStatement::Insert.sql_text(&settings);
        let values = [
            ParameterValue::Int(-7),
            ParameterValue::Uint(3),
            ParameterValue::Bytes(b"1-2"),
            ParameterValue::Null,
        ];
        assert_eq!(
            filled(&insert, &values),
            "INSERT INTO sbtest12 (id, k, c, pad) VALUES (-7, 3, '1-2', NULL)"
        );
        assert_eq!(
            filled(&OltpStatement::PointSelect.sql_text(&settings), &[]),
            "SELECT c FROM sbtest12 WHERE id=?"
        );
    }

    #[test]
    fn lists_have_as_many_holes_as_asked() {
        let settings =
            OltpSettings { random_points: 3, random_ranges: 2, ..OltpSettings::default() };
        assert_eq!(
            filled(&OltpStatement::RandomPoints.sql_text(&settings), &[]),
            "SELECT id, k, c, pad FROM sbtest12 WHERE k IN (?, ?, ?)"
        );
        assert_eq!(
            filled(&OltpStatement::RandomRanges.sql_text(&settings), &[ParameterValue::Uint(1)]),
            "SELECT count(k) FROM sbtest12 WHERE k BETWEEN 1 AND ? OR k BETWEEN ? AND ?"
        );
    }
}
