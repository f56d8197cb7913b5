//! Statements of a mix that read a whole table, as EXPLAIN says before the load.

use super::program::{MixProgram, StatementPlan};
use super::run::write_statement;
use super::values::ValueState;
use crate::client::{self, Session};

/// Rows of a table, as the server estimates them, below which nobody minds that all are read.
const MANY_ROWS: u64 = 1000;

/// A line for each statement that reads all rows of a table; `program` is used up: values are drawn from it. What the server can't
/// explain is passed over, and all others once the session is gone, as when an EXPLAIN computes for too long.
pub(super) fn find_full_scans(session: &mut Session, program: &MixProgram) -> Vec<String> {
    let mut found = Vec::new();
    let mut values = ValueState::of_worker(&program.values, 1, 0, 1);
    let mut text = Vec::new();
    for plan in program.statements.iter().filter(|plan| may_scan(plan)) {
        values.begin_event();
        for hole in &plan.holes {
            values.ensure_formula(hole);
        }
        write_statement(plan, &values, &|_| None, &mut text);
        let sql = format!("EXPLAIN FORMAT=TRADITIONAL {}", String::from_utf8_lossy(&text));
        let rows = match session.query_rows(&sql) {
            Ok(rows) => rows,
            Err(client::Error::Server { .. }) => continue,
            Err(_) => break,
        };
        let column = |name: &str| rows.columns.iter().position(|known| known == name);
        let (Some(table), Some(kind), Some(count)) =
            (column("table"), column("type"), column("rows"))
        else {
            continue;
        };
        for row in 0..rows.rows.len() {
            let cell = |column| rows.text_value(row, column).unwrap_or_default();
            let count: u64 = cell(count).parse().unwrap_or(0);
            // UPDATE and DELETE go through an index even where they look at every row.
            if ["ALL", "index"].contains(&&*cell(kind)) && count >= MANY_ROWS {
                let (table, place) = (cell(table), &plan.place);
                found.push(format!("[FULL-SCAN] {place} reads all of {table}, about {count} rows"));
            }
        }
    }
    found
}

/// Whether it is a statement that looks for rows.
fn may_scan(plan: &StatementPlan) -> bool {
    let Some(super::program::TextPiece::Literal(text)) = plan.pieces.first() else { return false };
    let text = String::from_utf8_lossy(text).trim_start().to_ascii_lowercase();
    ["select", "update", "delete", "with", "(select"].iter().any(|word| text.starts_with(word))
}
