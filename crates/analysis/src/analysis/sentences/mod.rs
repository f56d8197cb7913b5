//! All that can be said about a run, as data: when a sentence may be said, and its text. What is worth saying is found
//! elsewhere; the words stand here, so that they can be read, tested and mended in one place.
//! Never knows: how anything is found.
//! To change the English: `answer_texts.rs` and `caveat_texts.rs`. To add a sentence: a row there, and a situation in
//! `tests.rs` in which it is said.

pub(super) mod answer_texts;
pub(super) mod caveat_texts;
#[cfg(test)]
mod tests;

use std::fmt::Display;

use super::findings::{AnswerSentence, Caveat, CaveatLevel};

/// What the first sentence of an answer begins with if the run can't support it.
pub const NOT_RELIABLE: &str = "Not reliable: ";

/// A sentence of an answer.
#[derive(Debug)]
pub(super) struct SentenceTemplate {
    pub(super) id: &'static str,
    /// When it may be said.
    #[cfg_attr(not(test), expect(dead_code, reason = "for who reads the table, and its test"))]
    pub(super) when: &'static str,
    pub(super) text: &'static str,
    /// What is left of it if the run can't support it: what was seen, and nothing about what follows. The same words
    /// if it claims nothing.
    pub(super) if_void: &'static str,
}

/// A caveat: what was seen, and what to do.
#[derive(Debug)]
pub(super) struct CaveatTemplate {
    /// Of the row; several rows may have one id.
    pub(super) name: &'static str,
    pub(super) id: &'static str,
    /// Or the gravest one, where the level depends on what was seen.
    pub(super) level: CaveatLevel,
    /// When it is raised, as in `docs/reading-results.md`.
    pub(super) when: &'static str,
    pub(super) evidence: &'static str,
    pub(super) remedy: &'static str,
}

/// What goes into the gaps of a text.
pub(super) type TemplateValues<'a> = &'a [(&'a str, &'a dyn Display)];

impl SentenceTemplate {
    /// The sentence with these words in its gaps.
    pub(super) fn to_sentence(&self, words: TemplateValues<'_>) -> AnswerSentence {
        AnswerSentence {
            id: self.id,
            text: fill_template(self.text, words),
            if_void: fill_template(self.if_void, words),
        }
    }
}

impl CaveatTemplate {
    /// The caveat with these words in its gaps.
    pub(super) fn to_caveat(&self, words: TemplateValues<'_>) -> Caveat {
        self.to_caveat_at(self.level, words)
    }

    /// The same where the level depends on what was seen.
    pub(super) fn to_caveat_at(&self, level: CaveatLevel, words: TemplateValues<'_>) -> Caveat {
        Caveat {
            id: self.id,
            sentence: self.name,
            level,
            evidence: fill_template(self.evidence, words),
            remedy: fill_template(self.remedy, words),
        }
    }
}

/// The text with its gaps (`{name}`) filled; a gap that nobody fills stays, and a test finds it.
fn fill_template(text: &str, words: TemplateValues<'_>) -> String {
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

/// The answer of a run that can't support it: each sentence without what it claims, the first one marked.
pub(super) fn mark_unreliable(answer: Vec<AnswerSentence>) -> Vec<AnswerSentence> {
    let bare = |said: AnswerSentence| AnswerSentence { text: said.if_void.clone(), ..said };
    let mut bare: Vec<AnswerSentence> = answer.into_iter().map(bare).collect();
    bare.retain(|said| !said.text.is_empty());
    if let Some(first) = bare.first_mut() {
        first.text = format!("{NOT_RELIABLE}{}", first.text);
    }
    bare
}
