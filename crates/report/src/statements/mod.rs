//! Statements of a log by class, as text, JSON or a page.

mod html;
mod json;
mod text;

use std::io::{self, Write};

use crate::analysis::number_format::{format_count, format_utc};
use crate::analysis::{StatementClass, StatementFindings};

/// Writes the statements of a log; the words are the names of the formats.
type StatementWriter = fn(&StatementFindings, &mut dyn Write) -> io::Result<()>;

/// The formats: name, and what writes it.
pub const STATEMENT_FORMATS: &[(&str, StatementWriter)] =
    &[("text", text::write_text), ("json", json::write_json), ("html", html::write_html)];

/// How many of the statements may be none, in words behind their number.
fn possible_note(found: &StatementFindings) -> String {
    match found.possible {
        0 => String::new(),
        possible => format!(" ({} of them only possible)", format_count(possible)),
    }
}

/// When the first and last statement of a class began, as RFC 3339 UTC.
fn seen_times(class: &StatementClass) -> (Option<String>, Option<String>) {
    let text = |seconds: f64| format_utc((seconds * 1e9) as u64);
    (class.first_unix_s.map(text), class.last_unix_s.map(text))
}

#[cfg(test)]
mod tests;
