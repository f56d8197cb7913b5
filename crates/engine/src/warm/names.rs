//! Names of databases, tables and indexes: how they are written in SQL, and how people choose them.

use std::fmt;

use crate::plan::{Mistake, OptionKind, OptionSpec, Options};

/// A name between backticks, those inside doubled.
pub(super) fn quote_identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text literal, right under `sql_mode=''` as our sessions set it.
pub(super) fn text_literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// A database, or one table of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableChoice {
    /// The database.
    pub database: String,
    /// The table; all of the database's if `None`.
    pub table: Option<String>,
}

impl fmt::Display for TableChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quote_identifier(&self.database))?;
        match &self.table {
            Some(table) => write!(f, ".{}", quote_identifier(table)),
            None => Ok(()),
        }
    }
}

/// Why a choice could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableChoiceError {
    /// An opening backtick without its closing one.
    #[error("`{0}`: a backtick is missing at the end")]
    Open(String),
    /// More than `database.table`.
    #[error(
        "`{0}`: expected DATABASE or DATABASE.TABLE; put names with dots or commas in backticks"
    )]
    Shape(String),
}

/// Reads `db`, `db.table`, `` `a.b`.`c` ``, several of them separated by commas.
///
/// # Errors
/// When a backtick stays open, or a part is empty or one too many.
pub fn parse_choices(text: &str) -> Result<Vec<TableChoice>, TableChoiceError> {
    let mut found = Vec::new();
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    let mut chars = text.chars().peekable();
    loop {
        let c = chars.next();
        match c {
            Some('`') => loop {
                match (chars.next(), chars.peek()) {
                    (Some('`'), Some('`')) => {
                        chars.next();
                        part.push('`');
                    }
                    (Some('`'), _) => break,
                    (Some(other), _) => part.push(other),
                    (None, _) => return Err(TableChoiceError::Open(text.to_owned())),
                }
            },
            Some('.') => parts.push(std::mem::take(&mut part)),
            Some(',') | None => {
                parts.push(std::mem::take(&mut part));
                found.extend(choice_from_parts(text, &mut parts)?);
                if c.is_none() {
                    return Ok(found);
                }
            }
            Some(other) => part.push(other),
        }
    }
}

/// One choice from its parts between dots; `None` for an empty one between commas.
fn choice_from_parts(
    text: &str,
    parts: &mut Vec<String>,
) -> Result<Option<TableChoice>, TableChoiceError> {
    let parts = std::mem::take(parts);
    match parts.as_slice() {
        [only] if only.trim().is_empty() => Ok(None),
        [database] => Ok(Some(TableChoice { database: database.clone(), table: None })),
        [database, table] if !database.is_empty() && !table.is_empty() => {
            Ok(Some(TableChoice { database: database.clone(), table: Some(table.clone()) }))
        }
        _ => Err(TableChoiceError::Shape(text.to_owned())),
    }
}

/// The option of all strategies that read tables.
pub(super) fn tables_option() -> OptionSpec {
    let help = "DATABASE or DATABASE.TABLE, separated by commas; all if not given";
    OptionSpec::new(TABLES, OptionKind::Text, "", help)
}

/// What was given with it.
///
/// # Errors
/// When it can't be understood.
pub(super) fn chosen_tables(options: &Options) -> Result<Vec<TableChoice>, Mistake> {
    parse_choices(options.text(TABLES).unwrap_or_default()).map_err(|error| {
        Mistake::new(format!("--{TABLES}"), error.to_string())
            .hint("as in shop, shop.orders or `a.b`.`c`")
    })
}

/// Name of that option.
const TABLES: &str = "tables";

#[cfg(test)]
mod tests {
    use super::*;

    fn one(database: &str, table: Option<&str>) -> TableChoice {
        TableChoice { database: database.to_owned(), table: table.map(str::to_owned) }
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!(quote_identifier("a"), "`a`");
        assert_eq!(quote_identifier("we`ird"), "`we``ird`");
        assert_eq!(text_literal("it's a \\"), "'it''s a \\\\'");
    }

    #[test]
    fn choices_are_read() {
        assert_eq!(parse_choices("shop").unwrap(), [one("shop", None)]);
        assert_eq!(
            parse_choices("shop,crm.people").unwrap(),
            [one("shop", None), one("crm", Some("people"))]
        );
        assert_eq!(parse_choices("`a.b`.`c``,d`").unwrap(), [one("a.b", Some("c`,d"))]);
        assert_eq!(parse_choices("").unwrap(), []);
        assert_eq!(parse_choices("a,,b").unwrap(), [one("a", None), one("b", None)]);
    }

    #[test]
    fn a_choice_survives_printing_and_reading() {
        for c in [one("a`.b", Some("ü,'")), one(" x", None)] {
            assert_eq!(parse_choices(&c.to_string()).unwrap(), [c]);
        }
    }

    #[test]
    fn bad_choices_are_named() {
        assert_eq!(parse_choices("`a"), Err(TableChoiceError::Open("`a".to_owned())));
        assert_eq!(parse_choices("a.b.c"), Err(TableChoiceError::Shape("a.b.c".to_owned())));
        assert_eq!(parse_choices("a."), Err(TableChoiceError::Shape("a.".to_owned())));
    }
}
