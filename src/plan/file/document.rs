//! A TOML document that notes what is wrong with it while it is read, each with its line.

use std::cell::RefCell;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::base::units::{Size, parse_count, parse_time};
use crate::plan::options::read_switch;
use crate::plan::{Mistake, OptionKind, nearest};

/// What is wrong with a text, as it is found.
pub(super) struct Complaints<'t> {
    text: &'t str,
    found: RefCell<Vec<(usize, Mistake)>>,
}

impl<'t> Complaints<'t> {
    pub(super) fn new(text: &'t str) -> Complaints<'t> {
        Complaints { text, found: RefCell::default() }
    }

    /// Notes a mistake at a place in the text.
    pub(super) fn add(&self, at: usize, path: &str, why: String, hint: Option<String>) {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        let place =
            if path.is_empty() { format!("line {line}") } else { format!("line {line}: {path}") };
        self.found.borrow_mut().push((at, Mistake { place, why, hint }));
    }

    /// Whether anything is wrong so far.
    pub(super) fn any(&self) -> bool {
        !self.found.borrow().is_empty()
    }

    /// All mistakes, in the order of the text.
    pub(super) fn list(self) -> Vec<Mistake> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, mistake)| mistake).collect()
    }
}

/// A table of the document. What is asked of it is what it knows; `done` complains about the rest.
pub(super) struct Section<'d> {
    complaints: &'d Complaints<'d>,
    path: String,
    table: Option<&'d DeTable<'d>>,
    asked: RefCell<Vec<&'static str>>,
}

type Field<'d> = &'d Spanned<DeValue<'d>>;

impl<'d> Section<'d> {
    /// The whole document.
    pub(super) fn root(complaints: &'d Complaints<'d>, table: &'d DeTable<'d>) -> Section<'d> {
        Section { complaints, path: String::new(), table: Some(table), asked: RefCell::default() }
    }

    fn below(&self, key: &str, table: Option<&'d DeTable<'d>>) -> Section<'d> {
        let complaints = self.complaints;
        Section { complaints, path: self.place(key), table, asked: RefCell::default() }
    }

    fn place(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Whether the table is there at all.
    pub(super) fn is_there(&self) -> bool {
        self.table.is_some()
    }

    fn field(&self, key: &'static str) -> Option<Field<'d>> {
        self.asked.borrow_mut().push(key);
        self.table?.iter().find(|(k, _)| k.get_ref() == key).map(|(_, v)| v)
    }

    /// Complains about the value of a key.
    pub(super) fn complain(&self, key: &'static str, why: &str, hint: Option<String>) {
        let found = self.table.and_then(|t| t.iter().find(|(k, _)| k.get_ref() == key));
        let at = found.map_or(0, |(k, _)| k.span().start);
        self.complaints.add(at, &self.place(key), why.to_owned(), hint);
    }

    fn wrong_type(&self, key: &str, span: Range<usize>, value: &DeValue<'_>, wanted: &str) {
        let why = format!("{} where {wanted} belongs", with_article(value.type_str()));
        self.complaints.add(span.start, &self.place(key), why, None);
    }

    /// The text of a value that is checked by its kind.
    fn scalar(&self, key: &'static str, kind: OptionKind) -> Option<String> {
        let field = self.field(key)?;
        let Some(text) = scalar_text(field.get_ref()) else {
            self.wrong_type(key, field.span(), field.get_ref(), "a single value");
            return None;
        };
        if let Some((why, hint)) = kind.refuses(&text) {
            self.complaints.add(field.span().start, &self.place(key), why, Some(hint));
            return None;
        }
        Some(text)
    }

    pub(super) fn text(&self, key: &'static str) -> Option<String> {
        self.scalar(key, OptionKind::Text)
    }

    pub(super) fn switch(&self, key: &'static str) -> Option<bool> {
        self.scalar(key, OptionKind::Switch).and_then(|v| read_switch(&v))
    }

    pub(super) fn time(&self, key: &'static str) -> Option<Duration> {
        self.scalar(key, OptionKind::Time).and_then(|v| parse_time(&v).ok())
    }

    pub(super) fn size(&self, key: &'static str) -> Option<Size> {
        self.scalar(key, OptionKind::Size).and_then(|v| v.parse().ok())
    }

    pub(super) fn number(&self, key: &'static str) -> Option<f64> {
        self.scalar(key, OptionKind::Number).and_then(|v| v.parse().ok())
    }

    /// A whole number within bounds.
    pub(super) fn count(&self, key: &'static str, least: u64, most: u64) -> Option<u64> {
        let count = self.scalar(key, OptionKind::Count).and_then(|v| parse_count(&v).ok())?;
        if (least..=most).contains(&count) {
            return Some(count);
        }
        let hint = if most == u64::MAX {
            format!("at least {least}")
        } else {
            format!("{least} to {most}")
        };
        self.complain(key, &format!("{count} is out of range"), Some(hint));
        None
    }

    /// One of these words, as what it stands for.
    pub(super) fn choice<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let text = self.scalar(key, OptionKind::Text)?.to_ascii_lowercase().replace('-', "_");
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let hint = nearest(&text, list.iter().copied())
                .map_or(list.join(", "), |near| format!("did you mean {near}?"));
            self.complain(key, &format!("`{text}` is not known"), Some(hint));
        }
        found.map(|(_, value)| *value)
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &'static str) -> Option<Vec<String>> {
        let field = self.field(key)?;
        let Some(list) = field.get_ref().as_array() else {
            self.wrong_type(key, field.span(), field.get_ref(), "a list");
            return None;
        };
        Some(list.iter().filter_map(|item| scalar_text(item.get_ref())).collect())
    }

    /// A table below this one.
    pub(super) fn section(&self, key: &'static str) -> Section<'d> {
        let field = self.field(key);
        let table = field.and_then(|f| f.get_ref().as_table());
        if let (Some(field), None) = (field, table) {
            self.wrong_type(key, field.span(), field.get_ref(), "a table");
        }
        self.below(key, table)
    }

    /// A list of tables below this one.
    pub(super) fn sections(&self, key: &'static str) -> Vec<Section<'d>> {
        let Some(field) = self.field(key) else { return Vec::new() };
        let Some(list) = field.get_ref().as_array() else {
            self.wrong_type(key, field.span(), field.get_ref(), "a list of tables");
            return Vec::new();
        };
        let tables = list.iter().enumerate().map(|(n, item)| {
            if !item.get_ref().is_table() {
                self.wrong_type(key, item.span(), item.get_ref(), "a table");
            }
            self.below(&format!("{key}[{n}]"), item.get_ref().as_table())
        });
        tables.collect()
    }

    /// All keys of this table with their values as text, and where they stand.
    pub(super) fn pairs(&self) -> Vec<(String, String, usize)> {
        let mut pairs = Vec::new();
        for (key, field) in self.table.into_iter().flatten() {
            match scalar_text(field.get_ref()) {
                Some(text) => pairs.push((key.get_ref().to_string(), text, key.span().start)),
                None => {
                    self.wrong_type(key.get_ref(), field.span(), field.get_ref(), "a single value")
                }
            }
        }
        pairs
    }

    /// Complains about mistakes in pairs, each at its own line.
    pub(super) fn complain_pairs(&self, pairs: &[(String, String, usize)], mistakes: Vec<Mistake>) {
        for mistake in mistakes {
            let name = mistake.place.trim_start_matches('-');
            let at = pairs.iter().find(|(key, ..)| key == name).map_or(0, |(.., at)| *at);
            let hint = mistake.hint.map(|h| h.replace("did you mean --", "did you mean "));
            self.complaints.add(at, &self.place(name), mistake.why, hint);
        }
    }

    /// Complains about every key that nobody asked for.
    pub(super) fn done(&self) {
        let asked = self.asked.borrow();
        for (key, _) in self.table.into_iter().flatten() {
            let name = key.get_ref().as_ref();
            if asked.contains(&name) {
                continue;
            }
            let near = nearest(name, asked.iter().copied());
            let hint = near.map_or(asked.join(", "), |near| format!("did you mean {near}?"));
            let why = "no such key".to_owned();
            self.complaints.add(key.span().start, &self.place(name), why, Some(hint));
        }
    }
}

/// A value that is neither a list nor a table, as one would type it.
fn scalar_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(on) => Some(if *on { "on" } else { "off" }.to_owned()),
        _ => None,
    }
}

fn with_article(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {word}")
}
