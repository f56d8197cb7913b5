//! Cuts a text into the statements of a list, by one character. What is between two of them is sent as it stands.

use super::GeneratedSql;
use super::generated::KEY_PLACE;
use crate::capture::is_dash_comment;
use crate::plan::Mistake;
use crate::workload::queries::script::{ScriptStatement, StatementScript};
use crate::workload::queries::split::{
    StatementSpan, find_bytes, line_length, number_lines, quoted_length,
};

/// How a text is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitRule {
    /// Not inside quotes and comments; statements of which nothing is left are left out.
    #[default]
    Quoted,
    /// As mysqlslap does: at each delimiter, and an empty statement ends the list, though the length counts those behind it.
    Bare,
}

/// The statements of a list.
#[derive(Debug)]
pub struct StatementList {
    script: StatementScript,
    /// Which take a key that is chosen as they run; empty if none does.
    takes_key: Vec<bool>,
    /// How many there are to be in a pass.
    length: u64,
}

impl StatementList {
    /// Cuts a text at the delimiter. One blank behind a delimiter belongs to nothing.
    ///
    /// # Errors
    /// When a statement is too long.
    pub fn from_text(
        text: &[u8],
        delimiter: u8,
        rule: SplitRule,
        name: &str,
    ) -> Result<StatementList, Mistake> {
        let mut spans = match rule {
            SplitRule::Quoted => cut_outside_quotes(text, delimiter),
            SplitRule::Bare => cut_anywhere(text, delimiter),
        };
        let mut length = spans.len() as u64;
        match rule {
            SplitRule::Quoted => {
                spans.retain(|span| !is_blank(&text[span.range.clone()]));
                length = spans.len() as u64;
            }
            SplitRule::Bare => {
                let end = spans.iter().position(|span| span.range.is_empty());
                spans.truncate(end.unwrap_or(spans.len()));
            }
        }
        number_lines(text, &mut spans);
        let script = StatementScript::from_spans(text.to_vec(), spans, name)?;
        Ok(StatementList { script, takes_key: Vec::new(), length })
    }

    /// The load of generated statements. mysqlslap sends those without a key with a NUL behind them.
    ///
    /// # Errors
    /// Never: they are short.
    pub fn from_generated(
        generated: &GeneratedSql,
        with_nul: bool,
    ) -> Result<StatementList, Mistake> {
        let (mut text, mut spans) = (Vec::new(), Vec::new());
        for statement in &generated.load {
            let start = text.len();
            text.extend_from_slice(statement.sql.as_bytes());
            if with_nul && !statement.takes_key {
                text.push(0);
            }
            spans.push(StatementSpan { range: start..text.len(), line: 0 });
        }
        let length = spans.len() as u64;
        let script = StatementScript::from_spans(text, spans, "generated statements")?;
        let takes_key = generated.load.iter().map(|one| one.takes_key).collect();
        Ok(StatementList { script, takes_key, length })
    }

    /// How many statements a pass is to have.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// How many different places there are.
    pub fn statement_count(&self) -> usize {
        self.script.statements.len()
    }

    pub(super) fn is_ascii(&self) -> bool {
        (0..self.statement_count()).all(|place| self.statement_text(place).is_ascii())
    }

    /// Names of the classes of statements.
    pub fn classes(&self) -> &[String] {
        &self.script.classes
    }

    /// The text of a statement; a key that was not chosen is a place holder.
    pub fn statement_text(&self, place: usize) -> &[u8] {
        self.script.statement_bytes(self.script.statements[place])
    }

    pub(super) fn statement(&self, place: usize) -> ScriptStatement {
        self.script.statements[place]
    }

    /// What stands before the key, quote included, if the statement takes one.
    pub(super) fn text_before_key(&self, place: usize) -> Option<&[u8]> {
        let text = self.statement_text(place);
        let takes_key = self.takes_key.get(place).copied().unwrap_or(false);
        takes_key.then(|| &text[..text.len() - KEY_PLACE.len() - 1])
    }
}

/// Pieces between delimiters, wherever these stand.
fn cut_anywhere(text: &[u8], delimiter: u8) -> Vec<StatementSpan> {
    cut_text(text, delimiter, |_| 1)
}

fn cut_outside_quotes(text: &[u8], delimiter: u8) -> Vec<StatementSpan> {
    cut_text(text, delimiter, token_length)
}

/// Pieces between delimiters that are not inside what `token_length` passes over.
fn cut_text(
    text: &[u8],
    delimiter: u8,
    token_length: impl Fn(&[u8]) -> usize,
) -> Vec<StatementSpan> {
    let (mut spans, mut begun, mut at) = (Vec::new(), 0, 0);
    while at < text.len() {
        if text[at] != delimiter {
            at += token_length(&text[at..]);
            continue;
        }
        spans.push(StatementSpan { range: begun..at, line: 0 });
        at += 1;
        // A second delimiter in a row is no blank.
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() && *byte != delimiter;
        at += usize::from(text.get(at).is_some_and(is_blank));
        begun = at;
    }
    if begun < text.len() {
        spans.push(StatementSpan { range: begun..text.len(), line: 0 });
    }
    spans
}

/// Length of a quote, a comment or one byte. A quote without an end is a byte: the server will say what is wrong.
fn token_length(rest: &[u8]) -> usize {
    let comment_length = || find_bytes(&rest[2..], b"*/").map(|at| at + 4);
    match rest[0] {
        quote @ (b'\'' | b'"' | b'`') => quoted_length(rest, quote).unwrap_or(1),
        b'#' => line_length(rest).max(1),
        b'-' if is_dash_comment(rest) => line_length(rest).max(1),
        b'/' if rest.starts_with(b"/*") => comment_length().unwrap_or(1),
        _ => 1,
    }
}

/// Whether there is nothing but blanks and comments that the server passes over.
fn is_blank(mut text: &[u8]) -> bool {
    while let Some(first) = text.first() {
        let is_comment = match first {
            b'#' => true,
            b'-' => is_dash_comment(text),
            b'/' => text.starts_with(b"/*") && !matches!(text.get(2), Some(b'!' | b'+' | b'M')),
            byte => byte.is_ascii_whitespace(),
        };
        if !is_comment {
            return false;
        }
        text = &text[token_length(text).min(text.len())..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, rule: SplitRule) -> (Vec<String>, u64) {
        let list = StatementList::from_text(text.as_bytes(), b';', rule, "-q").unwrap();
        let text = |place| String::from_utf8_lossy(list.statement_text(place)).into_owned();
        ((0..list.statement_count()).map(text).collect(), list.length())
    }

    fn quoted(text: &str) -> Vec<String> {
        pieces(text, SplitRule::Quoted).0
    }

    #[test]
    fn quotes_and_comments_hide_the_delimiter() {
        assert_eq!(quoted("select 'a;b';select 2"), ["select 'a;b'", "select 2"]);
        assert_eq!(quoted("select 1 /* ; */; # x;\n"), ["select 1 /* ; */"]);
        assert_eq!(quoted("select 1 -- a;b\n+ 1;"), ["select 1 -- a;b\n+ 1"]);
        assert_eq!(quoted("select 'a;b"), ["select 'a", "b"], "no end: cut all the same");
    }

    #[test]
    fn one_blank_goes_and_empty_statements_are_left_out() {
        assert_eq!(
            quoted("select 1;  select 2 ;\n;;select 3;"),
            ["select 1", " select 2 ", "select 3"]
        );
        assert_eq!(quoted(" ; -- nothing\n; /* nothing */"), [""; 0]);
        assert_eq!(quoted("/*! select 1 */"), ["/*! select 1 */"]);
    }

    #[test]
    fn bare_cutting_is_that_of_mysqlslap() {
        let bare = |text| pieces(text, SplitRule::Bare);
        let one = |text: &str| vec![text.to_owned()];
        assert_eq!(bare("select 1;;select 2"), (one("select 1"), 3));
        assert_eq!(bare("select 1;"), (one("select 1"), 1));
        assert_eq!(bare("a';b"), (vec!["a'".to_owned(), "b".to_owned()], 2));
    }

    #[test]
    fn lines_are_statements_where_the_delimiter_is_a_line_end() {
        let list = |rule| {
            let list = StatementList::from_text(b"a\n\nb\n", b'\n', rule, "f").unwrap();
            (list.statement_count(), list.length())
        };
        assert_eq!((list(SplitRule::Quoted), list(SplitRule::Bare)), ((2, 2), (1, 3)));
    }
}
