//! Statements of a log by class, as text, JSON or a page.

mod html;
mod json;
mod text;

use std::io::{self, Write};

use crate::analysis::figure::count;
use crate::analysis::{StatementClass, StatementFindings};

/// Writes the statements of a log; the words are the names of the formats.
type Writer = fn(&StatementFindings, &mut dyn Write) -> io::Result<()>;

/// The formats: name, and what writes it.
pub const STATEMENT_FORMATS: &[(&str, Writer)] =
    &[("text", text::write), ("json", json::write), ("html", html::write)];

/// How many of the statements may be none, in words behind their number.
fn possible(found: &StatementFindings) -> String {
    match found.possible {
        0 => String::new(),
        possible => format!(" ({} of them only possible)", count(possible)),
    }
}

/// When the first and last statement of a class began, as RFC 3339 UTC.
fn seen(class: &StatementClass) -> (Option<String>, Option<String>) {
    let text = |seconds: f64| super::utc((seconds * 1e9) as u64);
    (class.first_unix_s.map(text), class.last_unix_s.map(text))
}

#[cfg(test)]
mod tests;
