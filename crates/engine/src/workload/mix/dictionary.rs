//! Dictionaries: rows that values are picked from, in one piece of memory.

use std::path::{Path, PathBuf};

use super::formula::{OwnedScalar, Scalar};
use super::spec::{DataSource, DataSpec};
use crate::client::ResultSet;

/// Most bytes of a dictionary: more is data, not a dictionary.
const MOST_BYTES: u64 = 1 << 30;

/// One value of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum DictionaryCell {
    Null,
    Int(i64),
    Real(f64),
    /// From where to where in the texts.
    Text(u32, u32),
}

/// Rows of one or more fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Dictionary {
    fields: Vec<String>,
    cells: Vec<DictionaryCell>,
    texts: Vec<u8>,
}

impl Dictionary {
    fn with_fields(fields: Vec<String>) -> Dictionary {
        Dictionary { fields, ..Dictionary::default() }
    }

    /// A row for a look at what would be sent, where no server is asked.
    pub(super) fn stand_in(name: &str) -> Dictionary {
        let mut one = Dictionary::with_fields(vec![name.to_owned()]);
        one.push_text(Some(format!("a value of {name}").as_bytes()));
        one
    }

    pub(super) fn from_list(list: &[OwnedScalar]) -> Dictionary {
        let mut all = Dictionary::with_fields(vec!["value".to_owned()]);
        for value in list {
            match value {
                OwnedScalar::Null => all.cells.push(DictionaryCell::Null),
                OwnedScalar::Int(number) => all.cells.push(DictionaryCell::Int(*number)),
                OwnedScalar::Real(number) => all.cells.push(DictionaryCell::Real(*number)),
                OwnedScalar::Text(text) => all.push_text(Some(text)),
            }
        }
        all
    }

    /// What the server gave, as texts: a text finds rows by an index of numbers, a number finds none by one of texts.
    pub(super) fn from_rows(rows: &ResultSet, spec: &DataSpec) -> Dictionary {
        let mut all = Dictionary::with_fields(rows.columns.clone());
        let taken = rows.rows.iter().step_by(usize::try_from(spec.every).unwrap_or(usize::MAX));
        for row in taken.take(usize::try_from(spec.most).unwrap_or(usize::MAX)) {
            row.iter().for_each(|value| all.push_text(value.as_deref()));
        }
        all
    }

    /// The lines of a text: their fields, or the one that is asked for.
    pub(super) fn from_text(text: &str, spec: &DataSpec) -> Dictionary {
        let DataSource::File { field, delimiter, header, .. } = &spec.source else {
            return Dictionary::default();
        };
        let split = |line: &str| -> Vec<String> {
            let all: Vec<&str> = match delimiter.is_empty() {
                true => vec![line],
                false => line.split(delimiter.as_str()).collect(),
            };
            match field {
                Some(number) => {
                    let at = usize::try_from(number - 1).unwrap_or(usize::MAX);
                    all.get(at).map(|one| (*one).to_owned()).into_iter().collect()
                }
                None => all.into_iter().map(str::to_owned).collect(),
            }
        };
        let mut lines = text.lines().filter(|line| !line.is_empty()).peekable();
        let first = lines.peek().map(|line| split(line)).unwrap_or_default();
        let fields = match header {
            true => first,
            false => (1..=first.len()).map(|number| format!("f{number}")).collect(),
        };
        let mut all = Dictionary::with_fields(fields);
        let taken = lines
            .skip(usize::from(*header))
            .step_by(usize::try_from(spec.every).unwrap_or(usize::MAX))
            .take(usize::try_from(spec.most).unwrap_or(usize::MAX));
        for line in taken {
            let values = split(line);
            for number in 0..all.fields.len() {
                all.push_text(values.get(number).map(|value| value.as_bytes()));
            }
        }
        all
    }

    /// Reads the file of one. A path that is not absolute begins beside the file of the mix.
    ///
    /// # Errors
    /// Says why it can't be read.
    pub(super) fn from_file(
        path: &str,
        beside: &Path,
        spec: &DataSpec,
    ) -> Result<Dictionary, String> {
        let path: PathBuf = beside.join(path);
        let shown = path.display();
        let size = std::fs::metadata(&path).map_err(|error| format!("{shown}: {error}"))?.len();
        if size > MOST_BYTES {
            return Err(format!("{shown} is larger than 1 GiB"));
        }
        let bytes = std::fs::read(&path).map_err(|error| format!("{shown}: {error}"))?;
        let text = String::from_utf8(bytes).map_err(|_| format!("{shown} is not UTF-8"))?;
        let all = Dictionary::from_text(&text, spec);
        if all.row_count() == 0 { Err(format!("{shown} has no rows")) } else { Ok(all) }
    }

    fn push_text(&mut self, text: Option<&[u8]>) {
        let cell = text.and_then(|text| {
            let start = u32::try_from(self.texts.len()).ok()?;
            self.texts.extend_from_slice(text);
            Some(DictionaryCell::Text(start, u32::try_from(self.texts.len()).ok()?))
        });
        self.cells.push(cell.unwrap_or(DictionaryCell::Null));
    }

    pub(super) fn row_count(&self) -> usize {
        self.cells.len() / self.fields.len().max(1)
    }

    /// The place of a field of this name.
    pub(super) fn field_index(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.eq_ignore_ascii_case(name))
    }

    pub(super) fn field_names(&self) -> &[String] {
        &self.fields
    }

    /// A value; NULL where there is none.
    #[inline]
    pub(super) fn value(&self, row: usize, field: usize) -> Scalar<'_> {
        match self.cells.get(row * self.fields.len() + field) {
            Some(DictionaryCell::Int(number)) => Scalar::Int(*number),
            Some(DictionaryCell::Real(number)) => Scalar::Real(*number),
            Some(DictionaryCell::Text(from, to)) => {
                Scalar::Text(&self.texts[*from as usize..*to as usize])
            }
            Some(DictionaryCell::Null) | None => Scalar::Null,
        }
    }

    /// Whether every value may be pasted into SQL: whole numbers, and words of letters, digits and `_`.
    pub(super) fn holds_words_only(&self) -> bool {
        let is_word = |cell: &DictionaryCell| match cell {
            DictionaryCell::Int(_) => true,
            DictionaryCell::Text(from, to) => {
                is_plain_word(&self.texts[*from as usize..*to as usize])
            }
            _ => false,
        };
        self.cells.iter().all(is_word)
    }
}

/// Whether a text is a word that changes nothing but a name where it is pasted.
pub(super) fn is_plain_word(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(header: bool, field: Option<u64>, every: u64) -> DataSpec {
        let source =
            DataSource::File { path: String::new(), field, delimiter: ",".to_owned(), header };
        DataSpec { name: "d".into(), place: String::new(), source, every, most: 10 }
    }

    #[test]
    fn lines_have_fields_by_name_and_by_number() {
        let text = "id,name\n1,ann\n2,bob\n\n3\n";
        let all = Dictionary::from_text(text, &spec(true, None, 1));
        assert_eq!((all.row_count(), all.field_index("NAME")), (3, Some(1)));
        assert_eq!(all.value(1, 1), Scalar::Text(b"bob"));
        assert_eq!(all.value(2, 1), Scalar::Null, "a line may be short");
        assert_eq!(all.value(9, 0), Scalar::Null);
        let second = Dictionary::from_text(text, &spec(false, Some(1), 2));
        assert_eq!(second.field_names(), ["f1"]);
        assert_eq!((second.row_count(), second.value(1, 0)), (2, Scalar::Text(b"2")));
    }

    #[test]
    fn only_words_may_be_pasted() {
        let of = |list: &[&str]| {
            let list: Vec<_> = list.iter().map(|text| OwnedScalar::from_typed(text)).collect();
            Dictionary::from_list(&list).holds_words_only()
        };
        assert!(of(&["t1", "12", "a_b"]));
        for bad in ["a b", "a;b", "", "x'", "`"] {
            assert!(!of(&[bad]), "{bad}");
        }
    }
}
