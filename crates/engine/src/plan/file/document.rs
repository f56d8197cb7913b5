//! A TOML document that notes what is wrong with it while it is read, each with its line.

use std::cell::RefCell;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::base::units::{ByteSize, parse_count, parse_rate, parse_time};
use crate::plan::options::parse_switch;
use crate::plan::{Mistake, OptionKind, nearest_or_all};

/// What is wrong with a text, as it is found.
pub(super) struct MistakeCollector<'t> {
    text: &'t str,
    found: RefCell<Vec<(usize, Mistake)>>,
    notes: RefCell<Vec<String>>,
}

impl<'t> MistakeCollector<'t> {
    pub(super) fn new(text: &'t str) -> MistakeCollector<'t> {
        MistakeCollector { text, found: RefCell::default(), notes: RefCell::default() }
    }

    /// Notes a mistake at a place in the text.
    pub(super) fn add_mistake(&self, at: usize, path: &str, why: String, hint: Option<String>) {
        let line = self.line_of(at);
        let place =
            if path.is_empty() { format!("line {line}") } else { format!("line {line}: {path}") };
        self.found.borrow_mut().push((at, Mistake::new(place, why).maybe_hint(hint)));
    }

    /// The line of a place in the text, from 1.
    fn line_of(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        1 + before.iter().filter(|b| **b == b'\n').count()
    }

    /// Notes what is not wrong, and worth telling.
    fn add_note(&self, note: String) {
        self.notes.borrow_mut().push(note);
    }

    /// What is worth telling.
    pub(super) fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// Whether anything is wrong so far.
    pub(super) fn has_mistakes(&self) -> bool {
        !self.found.borrow().is_empty()
    }

    /// All mistakes, in the order of the text.
    pub(super) fn into_mistakes(self) -> Vec<Mistake> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, mistake)| mistake).collect()
    }
}

/// A table of the document. What is asked of it is what it knows; `check_unknown_keys` complains about the rest.
pub(super) struct PlanSection<'d> {
    complaints: &'d MistakeCollector<'d>,
    path: String,
    table: Option<&'d DeTable<'d>>,
    asked: RefCell<Vec<&'static str>>,
}

type TomlField<'d> = &'d Spanned<DeValue<'d>>;

impl<'d> PlanSection<'d> {
    /// The whole document.
    pub(super) fn from_root(
        complaints: &'d MistakeCollector<'d>,
        table: &'d DeTable<'d>,
    ) -> PlanSection<'d> {
        PlanSection {
            complaints,
            path: String::new(),
            table: Some(table),
            asked: RefCell::default(),
        }
    }

    fn subsection(&self, key: &str, table: Option<&'d DeTable<'d>>) -> PlanSection<'d> {
        let complaints = self.complaints;
        PlanSection { complaints, path: self.key_path(key), table, asked: RefCell::default() }
    }

    fn key_path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Whether the table is there at all.
    pub(super) fn is_present(&self) -> bool {
        self.table.is_some()
    }

    fn take_field(&self, key: &'static str) -> Option<TomlField<'d>> {
        self.asked.borrow_mut().push(key);
        self.table?.iter().find(|(k, _)| k.get_ref() == key).map(|(_, v)| v)
    }

    /// Complains about the value of a key.
    pub(super) fn add_mistake(&self, key: &'static str, why: &str, hint: Option<String>) {
        let found = self.table.and_then(|t| t.iter().find(|(k, _)| k.get_ref() == key));
        let at = found.map_or(0, |(k, _)| k.span().start);
        self.complaints.add_mistake(at, &self.key_path(key), why.to_owned(), hint);
    }

    fn add_wrong_type(&self, key: &str, span: Range<usize>, value: &DeValue<'_>, wanted: &str) {
        let why = format!("{} where {wanted} belongs", with_article(value.type_str()));
        self.complaints.add_mistake(span.start, &self.key_path(key), why, None);
    }

    /// The text of a value that is checked by its kind.
    fn read_scalar(&self, key: &'static str, kind: OptionKind) -> Option<String> {
        let field = self.take_field(key)?;
        let Some(text) = scalar_text(field.get_ref()) else {
            self.add_wrong_type(key, field.span(), field.get_ref(), "a single value");
            return None;
        };
        if let Some((why, hint)) = kind.reject_reason(&text) {
            self.complaints.add_mistake(field.span().start, &self.key_path(key), why, Some(hint));
            return None;
        }
        Some(text)
    }

    pub(super) fn read_text(&self, key: &'static str) -> Option<String> {
        self.read_scalar(key, OptionKind::Text)
    }

    pub(super) fn read_switch(&self, key: &'static str) -> Option<bool> {
        self.read_scalar(key, OptionKind::Switch).and_then(|v| parse_switch(&v))
    }

    pub(super) fn read_time(&self, key: &'static str) -> Option<Duration> {
        self.read_scalar(key, OptionKind::Time).and_then(|v| parse_time(&v).ok())
    }

    pub(super) fn read_size(&self, key: &'static str) -> Option<ByteSize> {
        self.read_scalar(key, OptionKind::Size).and_then(|v| v.parse().ok())
    }

    pub(super) fn read_number(&self, key: &'static str) -> Option<f64> {
        self.read_scalar(key, OptionKind::Number).and_then(|v| v.parse().ok())
    }

    /// Events per second, above 0.
    pub(super) fn read_rate(&self, key: &'static str) -> Option<f64> {
        self.read_scalar(key, OptionKind::Rate).and_then(|v| parse_rate(&v).ok())
    }

    /// A whole number within bounds.
    pub(super) fn read_count(&self, key: &'static str, least: u64, most: u64) -> Option<u64> {
        let count = self.read_scalar(key, OptionKind::Count).and_then(|v| parse_count(&v).ok())?;
        if (least..=most).contains(&count) {
            return Some(count);
        }
        let hint = if most == u64::MAX {
            format!("at least {least}")
        } else {
            format!("{least} to {most}")
        };
        self.add_mistake(key, &format!("{count} is out of range"), Some(hint));
        None
    }

    /// One of these words, as what it stands for.
    pub(super) fn read_choice<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let text = self.read_scalar(key, OptionKind::Text)?.to_ascii_lowercase().replace('-', "_");
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let hint = nearest_or_all(&text, words.iter().map(|(word, _)| *word));
            self.add_mistake(key, &format!("`{text}` is not known"), Some(hint));
        }
        found.map(|(_, value)| *value)
    }

    /// A list of texts.
    pub(super) fn read_texts(&self, key: &'static str) -> Option<Vec<String>> {
        let field = self.take_field(key)?;
        let Some(list) = field.get_ref().as_array() else {
            self.add_wrong_type(key, field.span(), field.get_ref(), "a list");
            return None;
        };
        Some(list.iter().filter_map(|item| scalar_text(item.get_ref())).collect())
    }

    /// A text, or a list of texts that is one with commas.
    pub(super) fn read_text_list(&self, key: &'static str) -> Option<String> {
        let is_list =
            self.table.is_some_and(|table| table.get(key).is_some_and(|f| f.get_ref().is_array()));
        if is_list { self.read_texts(key).map(|list| list.join(", ")) } else { self.read_text(key) }
    }

    /// A table below this one.
    pub(super) fn read_section(&self, key: &'static str) -> PlanSection<'d> {
        let field = self.take_field(key);
        let table = field.and_then(|f| f.get_ref().as_table());
        if let (Some(field), None) = (field, table) {
            self.add_wrong_type(key, field.span(), field.get_ref(), "a table");
        }
        self.subsection(key, table)
    }

    /// A list of tables below this one.
    pub(super) fn read_sections(&self, key: &'static str) -> Vec<PlanSection<'d>> {
        let Some(field) = self.take_field(key) else { return Vec::new() };
        let Some(list) = field.get_ref().as_array() else {
            self.add_wrong_type(key, field.span(), field.get_ref(), "a list of tables");
            return Vec::new();
        };
        let tables = list.iter().enumerate().map(|(n, item)| {
            if !item.get_ref().is_table() {
                self.add_wrong_type(key, item.span(), item.get_ref(), "a table");
            }
            self.subsection(&format!("{key}[{n}]"), item.get_ref().as_table())
        });
        tables.collect()
    }

    /// The same under a key that had another name, which still works, with a note.
    pub(super) fn read_renamed_sections(
        &self,
        key: &'static str,
        former: &'static str,
    ) -> Vec<PlanSection<'d>> {
        let sections = self.read_sections(key);
        let old = self.table.and_then(|t| t.iter().find(|(k, _)| k.get_ref() == former));
        let Some((name, _)) = old else { return sections };
        if !sections.is_empty() {
            let why = format!("both `{former}` and `{key}`, which mean the same");
            self.asked.borrow_mut().push(former);
            self.add_mistake(former, &why, Some(format!("call all of them `{key}`")));
            return sections;
        }
        let line = self.complaints.line_of(name.span().start);
        self.complaints.add_note(format!(
            "line {line}: `{former}` is called `{key}` now; the next version won't accept the old \
             name"
        ));
        self.read_sections(former)
    }

    /// All keys of this table with their values as text, and where they stand.
    pub(super) fn read_pairs(&self) -> Vec<(String, String, usize)> {
        let mut pairs = Vec::new();
        for (key, field) in self.table.into_iter().flatten() {
            match scalar_text(field.get_ref()) {
                Some(text) => pairs.push((key.get_ref().to_string(), text, key.span().start)),
                None => self.add_wrong_type(
                    key.get_ref(),
                    field.span(),
                    field.get_ref(),
                    "a single value",
                ),
            }
        }
        pairs
    }

    /// Complains about mistakes in pairs, each at its own line.
    pub(super) fn add_pair_mistakes(
        &self,
        pairs: &[(String, String, usize)],
        mistakes: Vec<Mistake>,
    ) {
        for mistake in mistakes {
            let name = mistake.place.trim_start_matches('-');
            let at = pairs.iter().find(|(key, ..)| key == name).map_or(0, |(.., at)| *at);
            let hint = mistake.hint.map(|h| h.replace("did you mean --", "did you mean "));
            self.complaints.add_mistake(at, &self.key_path(name), mistake.why, hint);
        }
    }

    /// Complains about every key that nobody asked for.
    pub(super) fn check_unknown_keys(&self) {
        let asked = self.asked.borrow();
        for (key, _) in self.table.into_iter().flatten() {
            let name = key.get_ref().as_ref();
            if asked.contains(&name) {
                continue;
            }
            let hint = nearest_or_all(name, asked.iter().copied());
            let why = "no such key";
            self.complaints.add_mistake(
                key.span().start,
                &self.key_path(name),
                why.to_owned(),
                Some(hint),
            );
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
