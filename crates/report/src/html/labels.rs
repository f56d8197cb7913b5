//! Names of rows in pictures: whole, on as many lines as they need.

use std::fmt::Write as _;

use super::escape::escape_html;

/// Height of a line.
pub(super) const LABEL_LINE: f64 = 14.0;

/// The name in lines of at most so many characters, broken where a word ends; nothing is left out.
pub(super) fn wrap_label(name: &str, most: usize) -> Vec<String> {
    let most = most.max(4);
    let mut lines = vec![String::new()];
    let mut word = String::new();
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        word.push(c);
        let ends = chars.peek().is_none() || matches!(c, ' ' | '_' | '-' | '=' | ',' | '/');
        if !ends && word.chars().count() < most {
            continue;
        }
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + word.trim_end().chars().count() > most {
            lines.push(std::mem::take(&mut word));
        } else {
            line.push_str(&word);
            word.clear();
        }
    }
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    lines
}

/// The lines as text that ends at `x`, their middle at `y`.
pub(super) fn draw_label(svg: &mut String, lines: &[String], x: f64, y: f64, attributes: &str) {
    let first = y + 4.0 - LABEL_LINE * (lines.len() as f64 - 1.0) / 2.0;
    for (place, line) in lines.iter().enumerate() {
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" {attributes}>{}</text>",
            first + LABEL_LINE * place as f64,
            escape_html(line)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_broken_and_never_cut() {
        let name = "innodb_flush_log_at_trx_commit=2";
        assert_eq!(wrap_label(name, 16), ["innodb_flush_", "log_at_trx_", "commit=2"]);
        assert_eq!(wrap_label("p99 response time", 40), ["p99 response time"]);
        assert_eq!(wrap_label("p99 response time", 12), ["p99 response", "time"]);
        assert_eq!(wrap_label("abcdefghij", 4).concat(), "abcdefghij");
        assert_eq!(wrap_label("", 10), [""]);
    }
}
