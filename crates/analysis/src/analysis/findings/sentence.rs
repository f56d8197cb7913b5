//! A sentence of an answer, as data.

use std::borrow::Borrow;
use std::fmt::{self, Display};
use std::ops::Deref;

/// A sentence that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerSentence {
    /// Which one.
    pub id: &'static str,
    /// In full.
    pub text: String,
    /// What is left of it if the run can't support it.
    pub(in crate::analysis) if_void: String,
}

#[cfg(any(test, feature = "fixtures"))]
impl AnswerSentence {
    /// Words of no row, for findings that are made up.
    pub fn from_text(text: &str) -> AnswerSentence {
        AnswerSentence { id: "MADE_UP", text: text.to_owned(), if_void: text.to_owned() }
    }
}

impl Display for AnswerSentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq<&str> for AnswerSentence {
    fn eq(&self, text: &&str) -> bool {
        self.text == *text
    }
}

impl Deref for AnswerSentence {
    type Target = str;
    fn deref(&self) -> &str {
        &self.text
    }
}

/// So that an answer can be joined.
impl Borrow<str> for AnswerSentence {
    fn borrow(&self) -> &str {
        &self.text
    }
}
