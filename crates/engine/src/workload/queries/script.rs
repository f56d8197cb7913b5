//! A text of statements, cut and sorted into classes. The text is kept once; statements are places in it.

use std::collections::HashMap;

use crate::plan::Mistake;

use super::split::{StatementSpan, split_statements};
use crate::capture::digest::write_digest;

/// Classes told apart; statements of all others are one more class.
const MOST_CLASSES: usize = 64;
/// Different statements that are shown to the server before the load.
const MOST_SAMPLES: usize = 2000;
/// Characters of a class's name.
const LONGEST_NAME: usize = 80;

/// A statement: its place in the text, and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::workload) struct ScriptStatement {
    start: usize,
    length: u32,
    /// Its class.
    pub(in crate::workload) class: u16,
    /// Whether it reads.
    pub(in crate::workload) reads: bool,
}

/// A text of statements.
#[derive(Debug)]
pub(in crate::workload) struct StatementScript {
    text: Vec<u8>,
    /// In the order of the text.
    pub(in crate::workload) statements: Vec<ScriptStatement>,
    /// Names of the classes.
    pub(in crate::workload) classes: Vec<String>,
    /// The first statement of each sort.
    pub(in crate::workload) samples: Vec<StatementSpan>,
    /// Whether it makes or chooses what later statements need, so that they can't be judged beforehand.
    pub(in crate::workload) builds: bool,
}

impl StatementScript {
    /// Cuts a text; `name` is what messages call it.
    ///
    /// # Errors
    /// When it is no text, holds no statement, or a quote has no end.
    pub(in crate::workload) fn new(
        text: Vec<u8>,
        delimiter: &[u8],
        name: &str,
    ) -> Result<StatementScript, Mistake> {
        let mistake = |place: String, why: &str| Mistake::new(place, why);
        if let Some(line) = first_binary_line(&text) {
            let why = "is not text: it contains bytes that no statement has";
            return Err(mistake(format!("{name} line {line}"), why));
        }
        let chunks = split_statements(&text, delimiter).map_err(|unclosed| {
            let why = format!("{} starts here and has no end", unclosed.what);
            mistake(format!("{name} line {}", unclosed.line), &why)
        })?;
        if chunks.is_empty() {
            return Err(mistake(name.to_owned(), "holds no statement"));
        }
        StatementScript::from_spans(text, chunks, name)
    }

    /// A text that was cut already.
    ///
    /// # Errors
    /// When a statement is too long.
    pub(in crate::workload) fn from_spans(
        text: Vec<u8>,
        spans: Vec<StatementSpan>,
        name: &str,
    ) -> Result<StatementScript, Mistake> {
        let mut script = StatementScript {
            text,
            statements: Vec::with_capacity(spans.len()),
            classes: Vec::new(),
            samples: Vec::new(),
            builds: false,
        };
        script.classify_statements(spans, name)?;
        Ok(script)
    }

    fn classify_statements(
        &mut self,
        chunks: Vec<StatementSpan>,
        name: &str,
    ) -> Result<(), Mistake> {
        let mut known: HashMap<Vec<u8>, u16> = HashMap::new();
        let mut key = Vec::new();
        for chunk in chunks {
            let bytes = &self.text[chunk.range.clone()];
            let length = u32::try_from(bytes.len()).map_err(|_| {
                Mistake::new(
                    format!("{name} line {}", chunk.line),
                    "is longer than any server accepts",
                )
                .hint("is the --delimiter right?")
            })?;
            write_digest(bytes, &mut key);
            let class = match known.get(&key) {
                Some(class) => *class,
                None => {
                    let class = known.len().min(MOST_CLASSES) as u16;
                    if known.len() < MOST_CLASSES {
                        self.classes.push(class_name(&key, &self.classes));
                    } else if known.len() == MOST_CLASSES {
                        self.classes.push("other".to_owned());
                    }
                    if known.len() < MOST_SAMPLES {
                        self.samples.push(chunk.clone());
                        known.insert(key.clone(), class);
                    }
                    self.builds |= is_prerequisite(&key);
                    class
                }
            };
            let start = chunk.range.start;
            self.statements.push(ScriptStatement { start, length, class, reads: is_read(&key) });
        }
        Ok(())
    }

    /// The bytes of a statement.
    #[inline]
    pub(in crate::workload) fn statement_bytes(&self, statement: ScriptStatement) -> &[u8] {
        &self.text[statement.start..statement.start + statement.length as usize]
    }

    /// The bytes of a sample.
    pub(in crate::workload) fn sample_bytes(&self, chunk: &StatementSpan) -> &[u8] {
        &self.text[chunk.range.clone()]
    }
}

/// Line of the first byte that no text has, from 1.
fn first_binary_line(text: &[u8]) -> Option<u64> {
    let odd = |b: &u8| *b < b' ' && !matches!(b, b'\t'..=b'\r' | 0x1a | 0x1b) || *b == 0x7f;
    let at = text.iter().position(odd)?;
    Some(1 + text[..at].iter().filter(|b| **b == b'\n').count() as u64)
}

fn first_word(digest: &[u8]) -> &[u8] {
    let digest = digest.trim_ascii_start();
    let start = digest.iter().position(|b| *b != b'(').unwrap_or(digest.len());
    let digest = &digest[start..];
    let end = digest.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(digest.len());
    &digest[..end]
}

fn is_read(digest: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"select",
        b"show",
        b"explain",
        b"describe",
        b"desc",
        b"values",
        b"table",
        b"with",
        b"check",
    ];
    WORDS.contains(&first_word(digest))
}

/// Whether later statements may only make sense once this one has run.
fn is_prerequisite(digest: &[u8]) -> bool {
    const WORDS: &[&[u8]] =
        &[b"create", b"alter", b"drop", b"rename", b"use", b"set", b"call", b"prepare", b""];
    WORDS.contains(&first_word(digest))
}

/// A name that no other class has.
fn class_name(digest: &[u8], others: &[String]) -> String {
    let text = String::from_utf8_lossy(digest);
    let mut name: String = text.chars().take(LONGEST_NAME).collect();
    if text.chars().nth(LONGEST_NAME).is_some() {
        name.push('…');
    }
    let plain = name.clone();
    let mut number = 2;
    while others.contains(&name) || name == "other" {
        name = format!("{plain} #{number}");
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Result<StatementScript, Mistake> {
        StatementScript::new(text.as_bytes().to_vec(), b";", "f.sql")
    }

    #[test]
    fn statements_that_differ_in_literals_are_one_class() {
        let script = script("select 1; update t set a=5; select 2;\nselect 'x'").unwrap();
        assert_eq!(script.classes, ["select ?", "update t set a=?"]);
        let classes: Vec<_> = script.statements.iter().map(|s| (s.class, s.reads)).collect();
        assert_eq!(classes, [(0, true), (1, false), (0, true), (0, true)]);
        assert_eq!(script.statement_bytes(script.statements[3]), b"select 'x'");
        assert_eq!(script.samples.len(), 2);
        assert!(!script.builds);
    }

    #[test]
    fn beyond_so_many_classes_all_are_one() {
        let text: String = (0..100).map(|n| format!("select c{n} from t;\n")).collect();
        let script = script(&text).unwrap();
        assert_eq!(script.classes.len(), 65);
        assert_eq!(script.classes[64], "other");
        assert_eq!(script.statements[63].class, 63);
        assert!(script.statements[64..].iter().all(|s| s.class == 64));
        assert_eq!(script.samples.len(), 100, "all are shown to the server");
    }

    #[test]
    fn long_names_are_cut_and_stay_different() {
        let long = "x".repeat(100);
        let script = script(&format!("select {long}1; select {long}2")).unwrap();
        assert_ne!(script.classes[0], script.classes[1]);
        assert!(script.classes[0].ends_with('…'), "{:?}", script.classes);
    }

    #[test]
    fn what_is_no_script_is_refused_with_its_line() {
        let why = |text: &str| script(text).unwrap_err().to_string();
        assert_eq!(why(" \n-- nothing"), "f.sql: holds no statement");
        assert_eq!(why(""), "f.sql: holds no statement");
        assert!(why("select 1;\n\u{0}").starts_with("f.sql line 2: is not text"));
        assert!(why("a;\nb;\n'").starts_with("f.sql line 3: a quote starts here"));
    }

    #[test]
    fn scripts_that_build_what_they_use_are_known() {
        for text in ["create table t (a int); select a from t", "use x; select 1", "/*! x */"] {
            assert!(script(text).unwrap().builds, "{text}");
        }
        assert!(!script("insert into t values (1); (select 1)").unwrap().builds);
    }
}
