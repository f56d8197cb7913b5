//! What a statement read from disk, by the server that explains it as it runs: MariaDB only.

use crate::client::{Error, Session};

/// Pages of one statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StatementPages {
    /// Asked of the pool.
    pub asked: u64,
    /// Read from disk.
    pub read: u64,
}

/// Runs a SELECT and has the server tell its pages. `None` where it can't: then it is to be sent as it is.
pub(super) fn explain_statement(session: &mut Session, text: &[u8]) -> Option<StatementPages> {
    if session.identity().product != crate::client::ServerProduct::MariaDb {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    if !text.get(..6).is_some_and(|verb| verb.eq_ignore_ascii_case("SELECT")) {
        return None;
    }
    match session.query_scalar(&format!("ANALYZE FORMAT=JSON {text}")) {
        Ok(told) => parse_page_counts(&told.unwrap_or_default()),
        Err(Error::Server { .. } | _) => None,
    }
}

/// Adds up the pages of all tables.
fn parse_page_counts(told: &str) -> Option<StatementPages> {
    // Servers before 10.6.15 and 10.11.5 do not tell.
    if !told.contains("\"r_engine_stats\"") {
        return None;
    }
    let sum = |name: &str| {
        let mut sum = 0;
        let mut rest = told;
        while let Some(at) = rest.find(name) {
            rest = &rest[at + name.len()..];
            let digits = rest.trim_start_matches([':', ' ', '"']);
            let end = digits.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
            sum += digits[..end].parse::<u64>().unwrap_or(0);
        }
        sum
    };
    Some(StatementPages { asked: sum("\"pages_accessed\""), read: sum("\"pages_read_count\"") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_all_tables_are_added() {
        let told = r#"{"query_block": {"nested_loop": [
            {"table": {"r_engine_stats": {"pages_accessed": 84, "pages_read_count": 7,
             "pages_read_time_ms": 2.5}}},
            {"table": {"r_engine_stats": {"pages_accessed": 4}}}]}}"#;
        assert_eq!(parse_page_counts(told), Some(StatementPages { asked: 88, read: 7 }));
        assert_eq!(parse_page_counts("{\"query_block\": {}}"), None);
    }
}
