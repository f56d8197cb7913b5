//! What sessions have said of how their statements are to be read: a character set whose characters can end in a
//! backslash, or that backslashes hide nothing. Only those are kept that differ from the default, so a log without them
//! costs nothing.

use std::collections::HashMap;

use super::byte_lexer::{LexerMode, WideCharset};
use super::lexer::EscapeMode;
use super::{EventKind, LogRecord};

/// Sessions kept in mind.
const MOST: usize = 10_000;
/// Bytes of a statement that are looked at.
const LOOKED_AT: usize = 1_024;
/// What MariaDB answers to a statement that just succeeds takes so many bytes.
pub(super) const PLAIN_OK_BYTES: u64 = 11;

/// How a session said that it is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionMode {
    pub(super) reading: LexerMode,
    /// Whether the log tells that what said so was no error.
    pub(super) is_sure: bool,
}

/// Sessions that said something.
#[derive(Debug, Default)]
pub(super) struct SessionModes {
    all: HashMap<u64, SessionMode>,
}

impl SessionModes {
    /// What a session said; `None` for those that are read as by default.
    pub(super) fn for_session(&self, session: Option<u64>) -> Option<SessionMode> {
        if self.all.is_empty() {
            return None;
        }
        self.all.get(&session?).copied()
    }

    /// Takes note of what a session did.
    pub(super) fn note_record(&mut self, recorded: &LogRecord<'_>) {
        let Some(session) = recorded.session else { return };
        match recorded.kind {
            EventKind::Quit | EventKind::Connect => self.forget_session(session),
            EventKind::Other if matches!(recorded.text, b"Change user" | b"Reset Connection") => {
                self.forget_session(session);
            }
            EventKind::Statement | EventKind::Execute if is_set_statement(recorded.text) => {
                self.apply_settings(session, recorded)
            }
            _ => {}
        }
    }

    fn forget_session(&mut self, session: u64) {
        if !self.all.is_empty() {
            self.all.remove(&session);
        }
    }

    fn apply_settings(&mut self, session: u64, recorded: &LogRecord<'_>) {
        if recorded.errno.is_some_and(|errno| errno != 0) {
            return;
        }
        let known = self.all.get(&session).copied();
        let mut reading = known.map_or(LexerMode::DEFAULT, |mode| mode.reading);
        let text = &recorded.text[..recorded.text.len().min(LOOKED_AT)];
        if let Some(name) = character_set(text) {
            reading.wide = WideCharset::from_name(&name);
        }
        if let Some(escapes) = sql_mode_escapes(text) {
            reading.escapes = escapes;
        }
        if reading == LexerMode::DEFAULT {
            self.forget_session(session);
        } else if known.is_none_or(|mode| mode.reading != reading)
            && (known.is_some() || self.all.len() < MOST)
        {
            let is_sure = recorded.errno == Some(0) || recorded.bytes_sent == Some(PLAIN_OK_BYTES);
            let is_sure = is_sure && recorded.confidence.is_certain();
            self.all.insert(session, SessionMode { reading, is_sure });
        }
    }
}

/// Whether a statement begins with SET, behind blanks and comments.
fn is_set_statement(text: &[u8]) -> bool {
    let mut rest = text.trim_ascii_start();
    while rest.starts_with(b"/*") && !rest.starts_with(b"/*!") {
        let end = memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2);
        rest = rest[end..].trim_ascii_start();
    }
    rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case(b"set"))
}

/// Words of a text, in small letters.
fn lowercase_words(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let parts = text.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_'));
    parts.filter(|word| !word.is_empty()).map(<[u8]>::to_ascii_lowercase)
}

/// The character set that `SET NAMES x`, `SET CHARACTER SET x` or `SET character_set_client = x` names.
fn character_set(text: &[u8]) -> Option<Vec<u8>> {
    let mut words = lowercase_words(text);
    while let Some(word) = words.next() {
        match word.as_slice() {
            b"names" | b"character_set_client" | b"charset" => return words.next(),
            b"character" if words.next()?.as_slice() == b"set" => return words.next(),
            _ => {}
        }
    }
    None
}

/// What a backslash means by what `SET sql_mode = ..` names.
fn sql_mode_escapes(text: &[u8]) -> Option<EscapeMode> {
    let mut words = lowercase_words(text);
    words.find(|word| word.as_slice() == b"sql_mode")?;
    let mut rest = words.peekable();
    // An expression of what it was before says nothing of backslashes.
    let is_plain =
        |word: &Vec<u8>| !matches!(word.as_slice(), b"concat" | b"sql_mode" | b"replace");
    if !rest.peek().is_none_or(is_plain) {
        return rest.any(|word| word == b"no_backslash_escapes").then_some(EscapeMode::None);
    }
    let is_without = rest.any(|word| word == b"no_backslash_escapes");
    Some(if is_without { EscapeMode::None } else { EscapeMode::Backslash })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_says_how_it_is_to_be_read() {
        let mut modes = SessionModes::default();
        let mut after = |text: &str, bytes_sent: Option<u64>| {
            modes.note_record(&LogRecord {
                text: text.as_bytes(),
                session: Some(7),
                bytes_sent,
                ..LogRecord::default()
            });
            let mode = modes.for_session(Some(7));
            mode.map(|mode| (mode.reading.wide, mode.reading.escapes, mode.is_sure))
        };
        let plain = EscapeMode::Backslash;
        assert_eq!(after("SET NAMES utf8mb4", None), None);
        assert_eq!(
            after("/* x */ set names 'SJIS'", None),
            Some((Some(WideCharset::Sjis), plain, false))
        );
        assert_eq!(
            after("select 'set names gbk'", None),
            Some((Some(WideCharset::Sjis), plain, false))
        );
        assert_eq!(after("SET CHARACTER SET latin1", None), None);
        assert_eq!(
            after("set @@character_set_client = gbk", Some(11)),
            Some((Some(WideCharset::Gbk), plain, true))
        );
        assert_eq!(after("set names default", None), None);
        assert_eq!(
            after("SET sql_mode='ANSI,NO_BACKSLASH_ESCAPES'", Some(11)),
            Some((None, EscapeMode::None, true))
        );
        assert_eq!(
            after("SET sql_mode=CONCAT(@@sql_mode, ',ANSI_QUOTES')", Some(11)),
            Some((None, EscapeMode::None, true))
        );
        assert_eq!(after("SET sql_mode=default", Some(11)), None);
        assert_eq!(modes.for_session(None), None);
    }
}
