//! All that can be said about a run, as data: when a sentence may be said, and its text. What is worth saying is found
//! elsewhere; the words stand here, so that they can be read, tested and mended in one place.
//! Never knows: how anything is found.
//! To change the English: `doubts.rs`. To add a sentence: a row there, and a situation in `situations.rs` in which it
//! is said.

pub(super) mod doubts;
#[cfg(test)]
mod situations;

use std::fmt::Display;

use super::caveats::{Caveat, Level};

/// A doubt: what was seen, and what to do.
#[derive(Debug)]
pub(super) struct Doubt {
    /// Of the row; several rows may have one id.
    pub(super) name: &'static str,
    pub(super) id: &'static str,
    /// Or the gravest one, where the level depends on what was seen.
    pub(super) level: Level,
    /// When it is raised, as in `docs/reading-results.md`.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares it with the documentation"))]
    pub(super) when: &'static str,
    pub(super) evidence: &'static str,
    pub(super) remedy: &'static str,
}

/// What goes into the gaps of a text.
pub(super) type Words<'a> = &'a [(&'a str, &'a dyn Display)];

impl Doubt {
    /// The doubt with these words in its gaps.
    pub(super) fn raise(&self, words: Words<'_>) -> Caveat {
        self.raise_at(self.level, words)
    }

    /// The same where the level depends on what was seen.
    pub(super) fn raise_at(&self, level: Level, words: Words<'_>) -> Caveat {
        Caveat {
            id: self.id,
            sentence: self.name,
            level,
            evidence: fill(self.evidence, words),
            remedy: fill(self.remedy, words),
        }
    }
}

/// The text with its gaps (`{name}`) filled; a gap that nobody fills stays, and a test finds it.
fn fill(text: &str, words: Words<'_>) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        match words.iter().find(|(known, _)| *known == name) {
            Some((_, word)) => out.push_str(&word.to_string()),
            None => out.push_str(&format!("{{{name}}}")),
        }
        rest = after;
    }
    out + rest
}
