//! Which tables are there, and whether their columns are the ones we make: nothing else is ever filled or dropped.

use std::collections::BTreeMap;

use anyhow::Context as _;

use crate::client::Session;
use crate::plan::Mistake;

/// A column as the server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableColumn {
    /// Its name.
    pub(crate) name: String,
    /// Its type without length: `int`, `char`.
    pub(crate) kind: String,
    /// Its length in characters, for texts.
    pub(crate) length: Option<u64>,
}

/// A column to expect: name, type (empty for any), length.
pub(crate) type ExpectedColumn<'c> = (&'c str, &'c str, Option<u64>);

/// Columns of those of the named tables that exist in the session's database.
pub(crate) fn read_columns(
    session: &mut Session,
    names: &[String],
) -> anyhow::Result<BTreeMap<String, Vec<TableColumn>>> {
    let mut found: BTreeMap<String, Vec<TableColumn>> = BTreeMap::new();
    for some in names.chunks(200) {
        let list = some.iter().map(|n| format!("'{n}'")).collect::<Vec<_>>().join(",");
        let sql = format!(
            "SELECT table_name, column_name, data_type, character_maximum_length \
             FROM information_schema.columns WHERE table_schema = DATABASE() \
             AND table_name IN ({list}) ORDER BY table_name, ordinal_position"
        );
        for row in session.query_rows(&sql).context("look up tables")?.rows {
            let mut texts =
                row.into_iter().map(|v| v.map(|b| String::from_utf8_lossy(&b).into_owned()));
            let mut next = || texts.next().flatten();
            let table = next().unwrap_or_default();
            let column = TableColumn {
                name: next().unwrap_or_default(),
                kind: next().unwrap_or_default().to_lowercase(),
                length: next().and_then(|l| l.parse().ok()),
            };
            found.entry(table).or_default().push(column);
        }
    }
    Ok(found)
}

/// Whether columns are the expected ones, in order.
pub(crate) fn columns_match(columns: &[TableColumn], expected: &[ExpectedColumn<'_>]) -> bool {
    columns.len() == expected.len()
        && columns.iter().zip(expected).all(|(column, (name, kind, length))| {
            column.name.eq_ignore_ascii_case(name)
                && (kind.is_empty() || column.kind == *kind)
                && (length.is_none() || column.length == *length)
        })
}

/// The complaint about a table with other columns.
pub(crate) fn column_mismatch(
    table: &str,
    columns: &[TableColumn],
    expected: &[ExpectedColumn<'_>],
) -> Mistake {
    let has =
        columns.iter().map(|c| describe_column(&c.name, &c.kind, c.length)).collect::<Vec<_>>();
    let wants = expected.iter().map(|(n, k, l)| describe_column(n, k, *l)).collect::<Vec<_>>();
    Mistake::new(
        format!("table {table}"),
        format!("has other columns: {}, not {}", has.join(", "), wants.join(", ")),
    )
    .hint("use another database with -D, or drop or rename that table")
}

fn describe_column(name: &str, kind: &str, length: Option<u64>) -> String {
    match length {
        Some(length) if kind.ends_with("char") => format!("{name} {kind}({length})"),
        _ => format!("{name} {kind}"),
    }
}

/// The session's default database.
///
/// # Errors
/// When there is none.
pub(crate) fn current_database(session: &mut Session) -> anyhow::Result<String> {
    let name = session.query_scalar("SELECT DATABASE()").context("ask for the database")?;
    name.ok_or_else(|| {
        anyhow::Error::new(
            Mistake::new("--database", "no database is chosen for the tables")
                .hint("name one with -D"),
        )
    })
}

/// Drops those of the named tables that have the expected columns.
///
/// # Errors
/// When the server refuses, or when tables were left alone because they have other columns.
pub(crate) fn drop_matching_tables(
    session: &mut Session,
    names: &[String],
    expected: &[ExpectedColumn<'_>],
    dropped: &mut dyn FnMut(u64),
) -> anyhow::Result<()> {
    current_database(session)?;
    let found = read_columns(session, names)?;
    let mut left = None;
    let mut count = 0;
    for name in names {
        let Some(columns) = found.get(name) else { continue };
        if columns_match(columns, expected) {
            session
                .run_command(&format!("DROP TABLE {name}"))
                .with_context(|| format!("drop {name}"))?;
            count += 1;
            dropped(count);
        } else {
            left = left.or_else(|| Some(column_mismatch(name, columns, expected)));
        }
    }
    match left {
        Some(mistake) => {
            Err(anyhow::Error::new(mistake).context("some tables were left unchanged"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: &[ExpectedColumn<'_>] = &[("id", "int", None), ("c", "char", Some(120))];

    fn column(name: &str, kind: &str, length: Option<u64>) -> TableColumn {
        TableColumn { name: name.to_owned(), kind: kind.to_owned(), length }
    }

    #[test]
    fn only_the_same_columns_fit() {
        let ours = vec![column("id", "int", None), column("c", "char", Some(120))];
        assert!(columns_match(&ours, EXPECTED));
        assert!(!columns_match(&ours[..1], EXPECTED));
        assert!(!columns_match(&[ours[1].clone(), ours[0].clone()], EXPECTED));
        assert!(!columns_match(&[ours[0].clone(), column("c", "char", Some(60))], EXPECTED));
        assert!(!columns_match(&[column("id", "bigint", None), ours[1].clone()], EXPECTED));
    }

    #[test]
    fn the_complaint_names_table_and_columns() {
        let mistake = column_mismatch("sbtest1", &[column("a", "varchar", Some(9))], EXPECTED);
        assert_eq!(
            mistake.to_string(),
            "table sbtest1: has other columns: a varchar(9), not id int, c char(120)"
        );
    }
}
