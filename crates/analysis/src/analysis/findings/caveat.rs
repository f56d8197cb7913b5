//! Caveats, as data.

use serde::Serialize;

/// How grave a caveat is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaveatLevel {
    /// The run can't support the claim.
    Void,
    /// The number may be off.
    Warn,
    /// Good to know.
    Note,
}

impl CaveatLevel {
    /// In words, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            CaveatLevel::Void => "void",
            CaveatLevel::Warn => "warn",
            CaveatLevel::Note => "note",
        }
    }
}

/// One caveat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Caveat {
    /// Its name: `SAME-HOST`.
    pub id: &'static str,
    /// Which of the sentences with this name.
    #[serde(skip)]
    pub(in crate::analysis) sentence: &'static str,
    /// How grave.
    pub level: CaveatLevel,
    /// What was seen, with numbers.
    pub evidence: String,
    /// What to do.
    pub remedy: String,
}
