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
pub(crate) struct MistakeCollector<'t> {
    text: &'t str,
    found: RefCell<Vec<(usize, Mistake)>>,
    notes: RefCell<Vec<String>>,
}

impl<'t> MistakeCollector<'t> {
    pub(crate) fn new(text: &'t str) -> MistakeCollector<'t> {
        MistakeCollector { text, found: RefCell::default(), notes: RefCell::default() }
    }

    /// Notes a mistake at a place in the text.
    pub(crate) fn add_mistake(&self, at: usize, path: &str, why: String, hint: Option<String>) {
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
    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// Whether anything is wrong so far.
    pub(crate) fn has_mistakes(&self) -> bool {
        !self.found.borrow().is_empty()
    }

    /// All mistakes, in the order of the text.
    pub(crate) fn into_mistakes(self) -> Vec<Mistake> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, mistake)| mistake).collect()
    }
}

/// Reads a document; `read` notes what is wrong in it.
///
/// # Errors
/// All mistakes together, in the order of the text, each with its line.
pub(crate) fn read_document<T>(
    text: &str,
    read: impl FnOnce(&PlanSection<'_>) -> T,
) -> Result<T, Vec<Mistake>> {
    let complaints = MistakeCollector::new(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().map_or(0, |s| s.start);
        complaints.add_mistake(at, "", error.message().trim().to_owned(), None);
    }
    if complaints.has_mistakes() {
        return Err(complaints.into_mistakes());
    }
    let found = read(&PlanSection::from_root(&complaints, document.get_ref()));
    let mistakes = complaints.into_mistakes();
    if mistakes.is_empty() { Ok(found) } else { Err(mistakes) }
}

/// A table of the document. What is asked of it is what it knows; `check_unknown_keys` complains about the rest.
pub(crate) struct PlanSection<'d> {
    complaints: &'d MistakeCollector<'d>,
    path: String,
    /// Where its name stands.
    at: usize,
    table: Option<&'d DeTable<'d>>,
    asked: RefCell<Vec<&'static str>>,
}

type TomlField<'d> = &'d Spanned<DeValue<'d>>;

impl<'d> PlanSection<'d> {
    /// The whole document.
    pub(crate) fn from_root(
        complaints: &'d MistakeCollector<'d>,
        table: &'d DeTable<'d>,
    ) -> PlanSection<'d> {
        PlanSection {
            complaints,
            path: String::new(),
            at: 0,
            table: Some(table),
            asked: RefCell::default(),
        }
    }

    fn subsection(&self, key: &str, at: usize, table: Option<&'d DeTable<'d>>) -> PlanSection<'d> {
        let complaints = self.complaints;
        PlanSection { complaints, path: self.key_path(key), at, table, asked: RefCell::default() }
    }

    /// Where it stands and what it is called: `line 7: value.key`.
    pub(crate) fn place_text(&self) -> String {
        format!("line {}: {}", self.complaints.line_of(self.at), self.path)
    }

    /// Whether it has a value under this key.
    pub(crate) fn has_key(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.iter().any(|(k, _)| k.get_ref() == key))
    }

    /// Complains about the table as a whole.
    pub(crate) fn add_own_mistake(&self, why: &str, hint: Option<String>) {
        self.complaints.add_mistake(self.at, &self.path, why.to_owned(), hint);
    }

    /// The tables below this one, whatever their names, in the order of the text.
    pub(crate) fn named_sections(&self) -> Vec<(String, PlanSection<'d>)> {
        let mut fields: Vec<_> = self.table.into_iter().flatten().collect();
        fields.sort_by_key(|(key, _)| key.span().start);
        let sections = fields.into_iter().map(|(key, field)| {
            let name = key.get_ref().as_ref();
            if !field.get_ref().is_table() {
                self.add_wrong_type(name, field.span(), field.get_ref(), "a table");
            }
            let table = field.get_ref().as_table();
            (name.to_owned(), self.subsection(name, key.span().start, table))
        });
        sections.collect()
    }

    /// A list of pairs: a number, and a table.
    pub(crate) fn read_weighted_sections(&self, key: &'static str) -> Vec<(f64, PlanSection<'d>)> {
        let Some(field) = self.take_field(key) else { return Vec::new() };
        let mut all = Vec::new();
        for (n, item) in field.get_ref().as_array().into_iter().flatten().enumerate() {
            let pair = item.get_ref().as_array().map(|pair| pair.iter().collect::<Vec<_>>());
            let Some([weight, rule]) = pair.as_deref() else { continue };
            let number = scalar_text(weight.get_ref()).and_then(|text| text.parse().ok());
            if let (Some(number), Some(table)) = (number, rule.get_ref().as_table()) {
                let at = rule.span().start;
                all.push((number, self.subsection(&format!("{key}[{n}]"), at, Some(table))));
            }
        }
        let given = field.get_ref().as_array().map_or(0, |list| list.len());
        if all.len() != given || given == 0 {
            let why = "it is not a list of pairs";
            let hint = "as in [[0.9, {int = [1, 5]}], [0.1, {int = [6, 9]}]]";
            self.add_mistake(key, why, Some(hint.to_owned()));
        }
        all
    }

    fn key_path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Whether the table is there at all.
    pub(crate) fn is_present(&self) -> bool {
        self.table.is_some()
    }

    fn take_field(&self, key: &'static str) -> Option<TomlField<'d>> {
        self.asked.borrow_mut().push(key);
        self.table?.iter().find(|(k, _)| k.get_ref() == key).map(|(_, v)| v)
    }

    /// Complains about the value of a key.
    pub(crate) fn add_mistake(&self, key: &'static str, why: &str, hint: Option<String>) {
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

    pub(crate) fn read_text(&self, key: &'static str) -> Option<String> {
        self.read_scalar(key, OptionKind::Text)
    }

    pub(crate) fn read_switch(&self, key: &'static str) -> Option<bool> {
        self.read_scalar(key, OptionKind::Switch).and_then(|v| parse_switch(&v))
    }

    pub(crate) fn read_time(&self, key: &'static str) -> Option<Duration> {
        self.read_scalar(key, OptionKind::Time).and_then(|v| parse_time(&v).ok())
    }

    pub(crate) fn read_size(&self, key: &'static str) -> Option<ByteSize> {
        self.read_scalar(key, OptionKind::Size).and_then(|v| v.parse().ok())
    }

    pub(crate) fn read_number(&self, key: &'static str) -> Option<f64> {
        self.read_scalar(key, OptionKind::Number).and_then(|v| v.parse().ok())
    }

    /// Events per second, above 0.
    pub(crate) fn read_rate(&self, key: &'static str) -> Option<f64> {
        self.read_scalar(key, OptionKind::Rate).and_then(|v| parse_rate(&v).ok())
    }

    /// A whole number within bounds.
    pub(crate) fn read_count(&self, key: &'static str, least: u64, most: u64) -> Option<u64> {
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
    pub(crate) fn read_choice<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let text = self.read_scalar(key, OptionKind::Text)?.to_ascii_lowercase().replace('-', "_");
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let hint = nearest_or_all(&text, words.iter().map(|(word, _)| *word));
            self.add_mistake(key, &format!("`{text}` is not known"), Some(hint));
        }
        found.map(|(_, value)| *value)
    }

    /// A list of texts.
    pub(crate) fn read_texts(&self, key: &'static str) -> Option<Vec<String>> {
        let field = self.take_field(key)?;
        let Some(list) = field.get_ref().as_array() else {
            self.add_wrong_type(key, field.span(), field.get_ref(), "a list");
            return None;
        };
        Some(list.iter().filter_map(|item| scalar_text(item.get_ref())).collect())
    }

    /// A text, or a list of texts.
    pub(crate) fn read_list_or_text(&self, key: &'static str) -> Option<Vec<String>> {
        let is_list =
            self.table.is_some_and(|table| table.get(key).is_some_and(|f| f.get_ref().is_array()));
        if is_list { self.read_texts(key) } else { self.read_text(key).map(|text| vec![text]) }
    }

    /// A text, or a list of texts that is one with commas.
    pub(crate) fn read_text_list(&self, key: &'static str) -> Option<String> {
        self.read_list_or_text(key).map(|list| list.join(", "))
    }

    /// A table below this one.
    pub(crate) fn read_section(&self, key: &'static str) -> PlanSection<'d> {
        let field = self.take_field(key);
        let table = field.and_then(|f| f.get_ref().as_table());
        if let (Some(field), None) = (field, table) {
            self.add_wrong_type(key, field.span(), field.get_ref(), "a table");
        }
        let found = self.table.and_then(|t| t.iter().find(|(k, _)| k.get_ref() == key));
        self.subsection(key, found.map_or(self.at, |(k, _)| k.span().start), table)
    }

    /// A list of tables below this one.
    pub(crate) fn read_sections(&self, key: &'static str) -> Vec<PlanSection<'d>> {
        let Some(field) = self.take_field(key) else { return Vec::new() };
        let Some(list) = field.get_ref().as_array() else {
            self.add_wrong_type(key, field.span(), field.get_ref(), "a list of tables");
            return Vec::new();
        };
        let tables = list.iter().enumerate().map(|(n, item)| {
            if !item.get_ref().is_table() {
                self.add_wrong_type(key, item.span(), item.get_ref(), "a table");
            }
            self.subsection(&format!("{key}[{n}]"), item.span().start, item.get_ref().as_table())
        });
        tables.collect()
    }

    /// The same under a key that had another name, which still works, with a note.
    pub(crate) fn read_renamed_sections(
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
    pub(crate) fn read_pairs(&self) -> Vec<(String, String, usize)> {
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
    pub(crate) fn add_pair_mistakes(
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
    pub(crate) fn check_unknown_keys(&self) {
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
