//! Cuts a text into statements at a delimiter, as the clients do: not inside quotes and comments, and a line that
//! begins with DELIMITER sets another one.

use std::ops::Range;

use crate::capture::is_dash_comment;

/// A statement in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::workload) struct StatementSpan {
    /// Its bytes.
    pub(in crate::workload) range: Range<usize>,
    /// Line of its first word, from 1.
    pub(in crate::workload) line: u64,
}

/// A text that can't be cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnclosedError {
    /// Line on which it begins.
    pub(super) line: u64,
    /// What has no end.
    pub(super) what: &'static str,
}

/// Cuts a text into statements, without delimiters, and without blanks and comments around them.
///
/// # Errors
/// When a quote or comment has no end.
pub(super) fn split_statements(
    text: &[u8],
    delimiter: &[u8],
) -> Result<Vec<StatementSpan>, UnclosedError> {
    let mut cutter =
        StatementSplitter { text, delimiter, at: 0, begun: None, end: 0, chunks: Vec::new() };
    cutter.run()?;
    let mut chunks = cutter.chunks;
    number_lines(text, &mut chunks);
    Ok(chunks)
}

struct StatementSplitter<'a> {
    text: &'a [u8],
    delimiter: &'a [u8],
    at: usize,
    /// Where the current statement began.
    begun: Option<usize>,
    /// Behind its last byte that is neither blank nor comment.
    end: usize,
    chunks: Vec<StatementSpan>,
}

impl<'a> StatementSplitter<'a> {
    fn run(&mut self) -> Result<(), UnclosedError> {
        while self.at < self.text.len() {
            if self.begun.is_none() && self.at_line_start() && self.take_delimiter_line() {
                continue;
            }
            let rest = &self.text[self.at..];
            if rest.starts_with(self.delimiter) {
                self.finish_statement();
                self.at += self.delimiter.len();
            } else {
                self.skip_token(rest)?;
            }
        }
        self.finish_statement();
        Ok(())
    }

    /// Passes over one word, quote, comment or blank.
    fn skip_token(&mut self, rest: &[u8]) -> Result<(), UnclosedError> {
        let length = match rest[0] {
            quote @ (b'\'' | b'"' | b'`') => {
                let what = "a quote";
                let length = quoted_length(rest, quote).ok_or_else(|| self.unclosed_error(what))?;
                self.extend_statement(length);
                length
            }
            b'#' => line_length(rest),
            b'-' if is_dash_comment(rest) => line_length(rest),
            b'/' if rest.starts_with(b"/*") => {
                let length = find_bytes(&rest[2..], b"*/")
                    .ok_or_else(|| self.unclosed_error("a comment"))?
                    + 4;
                // Comments that the server reads, and hints, belong to the statement.
                if matches!(rest.get(2), Some(b'!' | b'+')) || rest.starts_with(b"/*M!") {
                    self.extend_statement(length);
                }
                length
            }
            byte if byte.is_ascii_whitespace() => 1,
            _ => {
                let length = self.plain_length(rest);
                self.extend_statement(length);
                length
            }
        };
        self.at += length;
        Ok(())
    }

    /// Bytes up to the next one that may mean something, at least 1.
    fn plain_length(&self, rest: &[u8]) -> usize {
        let first = self.delimiter[0];
        let special = |b: &u8| {
            *b == first
                || matches!(b, b'\'' | b'"' | b'`' | b'#' | b'-' | b'/')
                || b.is_ascii_whitespace()
        };
        rest[1..].iter().position(special).map_or(rest.len(), |at| at + 1)
    }

    fn extend_statement(&mut self, length: usize) {
        self.begun.get_or_insert(self.at);
        self.end = self.at + length;
    }

    fn finish_statement(&mut self) {
        if let Some(begun) = self.begun.take() {
            self.chunks.push(StatementSpan { range: begun..self.end, line: 0 });
        }
    }

    fn at_line_start(&self) -> bool {
        self.at == 0 || self.text[self.at - 1] == b'\n'
    }

    /// Whether a line sets a delimiter; it is passed over then.
    fn take_delimiter_line(&mut self) -> bool {
        const WORD: &[u8] = b"delimiter";
        let line = &self.text[self.at..][..line_length(&self.text[self.at..])];
        let Some((word, rest)) = line.split_at_checked(WORD.len()) else { return false };
        let blank = rest.first().is_some_and(|b| matches!(b, b' ' | b'\t'));
        let delimiter = rest.trim_ascii();
        let delimiter = delimiter.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        if !word.eq_ignore_ascii_case(WORD) || !blank || delimiter.is_empty() {
            return false;
        }
        self.delimiter = delimiter;
        self.at += line.len();
        true
    }

    fn unclosed_error(&self, what: &'static str) -> UnclosedError {
        let line = 1 + self.text[..self.at].iter().filter(|b| **b == b'\n').count() as u64;
        UnclosedError { line, what }
    }
}

/// Length of a quoted text with its quotes; `None` if it has no end.
pub(in crate::workload) fn quoted_length(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    loop {
        let special = |b: &u8| *b == quote || (*b == b'\\' && quote != b'`');
        at += text.get(at..)?.iter().position(special)?;
        if text[at] == quote && text.get(at + 1) != Some(&quote) {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Bytes up to the line's end, without it.
pub(in crate::workload) fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
}

pub(in crate::workload) fn find_bytes(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

pub(in crate::workload) fn number_lines(text: &[u8], chunks: &mut [StatementSpan]) {
    let (mut line, mut seen) = (1, 0);
    for chunk in chunks {
        line += text[seen..chunk.range.start].iter().filter(|b| **b == b'\n').count() as u64;
        seen = chunk.range.start;
        chunk.line = line;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts<'a>(text: &'a str, delimiter: &str) -> Vec<&'a str> {
        let chunks = split_statements(text.as_bytes(), delimiter.as_bytes()).unwrap();
        chunks.into_iter().map(|p| &text[p.range]).collect()
    }

    #[test]
    fn statements_end_at_the_delimiter_or_the_end() {
        assert_eq!(
            texts("select 1; select 2 ;\n\nselect 3", ";"),
            ["select 1", "select 2", "select 3"]
        );
        assert_eq!(texts(";;  ; \n", ";"), [""; 0]);
        assert_eq!(texts("", ";"), [""; 0]);
    }

    #[test]
    fn a_line_can_be_a_statement() {
        assert_eq!(
            texts("select 1;\n\nselect 2\r\nselect 3", "\n"),
            ["select 1;", "select 2", "select 3"]
        );
        assert_eq!(texts("select 1 GO\nselect ';' GO", "GO"), ["select 1", "select ';'"]);
    }

    #[test]
    fn quotes_hide_the_delimiter() {
        let text = r#"select 'a;b', "c;d", `e;f`; select 'it''s;', 'a\';b', "\\"; select '`;"'"#;
        assert_eq!(
            texts(text, ";"),
            [
                r#"select 'a;b', "c;d", `e;f`"#,
                r#"select 'it''s;', 'a\';b', "\\""#,
                r#"select '`;"'"#
            ]
        );
        assert_eq!(texts(r"select `a\`; select 2", ";"), [r"select `a\`", "select 2"]);
    }

    #[test]
    fn comments_hide_the_delimiter_and_are_dropped_at_the_edges() {
        let text =
            "-- one; two\n# three;\n/* four; */ select 1 /* in;side */ + 1 -- end;\n; select 2";
        assert_eq!(texts(text, ";"), ["select 1 /* in;side */ + 1", "select 2"]);
        assert_eq!(texts("-- nothing but; a comment", ";"), [""; 0]);
        assert_eq!(texts("select 1--1; select 2--\n", ";"), ["select 1--1", "select 2"]);
        assert_eq!(texts("select 'a'#;\n;", ";"), ["select 'a'"]);
    }

    #[test]
    fn comments_that_mean_something_stay() {
        let text = "/*!40000 set a=1; */; /*M! set b=1 */; select /*+ hint */ 1 /*!*/";
        assert_eq!(
            texts(text, ";"),
            ["/*!40000 set a=1; */", "/*M! set b=1 */", "select /*+ hint */ 1 /*!*/"]
        );
    }

    #[test]
    fn a_delimiter_line_sets_another_delimiter() {
        let text = "select 1;\nDELIMITER $$\ncreate procedure p() begin select 1; end$$\n\
                    delimiter ;\nselect 2;";
        assert_eq!(
            texts(text, ";"),
            ["select 1", "create procedure p() begin select 1; end", "select 2"]
        );
        assert_eq!(texts("select\ndelimiter\nfrom t", ";"), ["select\ndelimiter\nfrom t"]);
    }

    #[test]
    fn lines_are_those_of_the_first_word() {
        let text = "-- c\nselect 1;\n\n/* x\n */ select\n 2; select 3";
        let lines: Vec<_> =
            split_statements(text.as_bytes(), b";").unwrap().iter().map(|p| p.line).collect();
        assert_eq!(lines, [2, 5, 6]);
    }

    #[test]
    fn what_has_no_end_is_named_with_its_line() {
        let unclosed = |text: &str| split_statements(text.as_bytes(), b";").unwrap_err();
        assert_eq!(unclosed("select 1;\nselect 'a;\n"), UnclosedError { line: 2, what: "a quote" });
        assert_eq!(unclosed("\n\n/* ; "), UnclosedError { line: 3, what: "a comment" });
        assert_eq!(unclosed("select 'a\\"), UnclosedError { line: 1, what: "a quote" });
    }

    /// Pieces of statements, each complete in itself, none with a bare delimiter.
    fn part() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z0-9_.,()=*+]{1,12}",
            "'([^'\\\\]|''|\\\\.){0,10}'",
            "\"([^\"\\\\]|\"\"|\\\\.){0,10}\"",
            "`([^`]|``){0,6}`",
            "/\\*[a-z; '\"`]{0,10}\\*/",
            "-- [a-z; '\"`]{0,10}\n",
            "#[a-z; '\"`]{0,10}\n",
        ]
    }

    proptest! {
        #[test]
        fn joined_statements_come_apart_again(
            parts in prop::collection::vec(prop::collection::vec(part(), 0..6), 0..8)
        ) {
            // Words at both ends, so that no comment stands at an edge.
            let statements: Vec<String> =
                parts.iter().map(|p| format!("select {} end", p.join(" "))).collect();
            let text = statements.join(" ;\n");
            let chunks = split_statements(text.as_bytes(), b";").unwrap();
            let back: Vec<&str> = chunks.iter().map(|p| &text[p.range.clone()]).collect();
            prop_assert_eq!(back, statements);
        }

        #[test]
        fn whatever_comes_in_pieces_are_in_order_and_trimmed(
            text in prop::collection::vec(
                prop::sample::select(b" \n;$'\"`#-/*\\aD!".to_vec()), 0..60
            )
        ) {
            if let Ok(chunks) = split_statements(&text, b";") {
                let mut end = 0;
                for chunk in chunks {
                    prop_assert!(chunk.range.start >= end && chunk.range.end > chunk.range.start);
                    let bytes = &text[chunk.range.clone()];
                    prop_assert_eq!(bytes.trim_ascii(), bytes);
                    end = chunk.range.end;
                }
            }
        }
    }
}
