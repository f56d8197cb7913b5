//! Statements without their secrets. MariaDB writes passwords into its logs as they were typed, and both products write
//! the statements of programs that keep passwords in tables.
//! A statement that mentions no secret (`signs`) stays as it is. Any other is read as the read-only filter reads it, in
//! every way in which a server may, and what is not known to be harmless (`reading`) is hidden. What can't be read is
//! hidden but for its first word.

mod secret_scanner;
mod secret_words;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use super::digest::write_digest;
use super::read_only::tokens::{EscapedQuotes, TokenError, Tokens};
use secret_scanner::SecretScanner;

/// What stands in place of a secret.
const HIDDEN: &[u8] = b"'<secret>'";
/// What stands in place of a comment that may hold one.
const HIDDEN_COMMENT: &[u8] = b" /* <secret> */ ";
/// Longest statement that is read, bytes: some megabytes of tokens. A longer one is hidden but for its first word.
const LONGEST_READ: usize = 256 << 10;

/// A statement as text: secrets hidden, bytes that are no text replaced, and cut to `longest` bytes.
pub fn redacted_text(statement: &[u8], longest: usize) -> String {
    // What follows the cut may be what says that something before it is a secret.
    let safe = hide_secrets(statement);
    let mut out = String::from_utf8_lossy(&safe[..safe.len().min(longest)]).into_owned();
    if safe.len() > longest {
        out.push_str(" ...");
    }
    out
}

/// A statement with its secrets hidden, other bytes as they are.
pub(super) fn hide_secrets(statement: &[u8]) -> Cow<'_, [u8]> {
    if !secret_words::may_hold_secret(statement) {
        return Cow::Borrowed(statement);
    }
    match find_secrets(statement) {
        Some(hidden) if hidden.is_empty() => Cow::Borrowed(statement),
        Some(hidden) => Cow::Owned(apply_replacements(statement, hidden)),
        None => Cow::Owned(first_word_only(statement)),
    }
}

/// What a statement has in common with others of its class, as it may be shown: what follows a quote that another server
/// reads otherwise is no literal to [`write_digest`].
pub fn redacted_digest(statement: &[u8]) -> String {
    let mut out = Vec::new();
    write_digest(&hide_secrets(statement), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether a text may hold a secret.
pub(super) fn may_hold_secret(text: &[u8]) -> bool {
    secret_words::find_secret_word(text).is_some()
}

/// Whether there is anything in it but blanks and signs.
fn has_more(text: &[u8]) -> bool {
    text.iter().any(|b| b.is_ascii_alphanumeric() || !b.is_ascii())
}

/// A piece that is hidden, and by what.
type Replacement = (Range<usize>, &'static [u8]);

/// What is to be hidden, in every reading; `None` where there is none.
fn find_secrets(statement: &[u8]) -> Option<Vec<Replacement>> {
    if statement.len() > LONGEST_READ {
        return None;
    }
    let modes: &[EscapedQuotes] = if memchr::memchr(b'\\', statement).is_some() {
        &[EscapedQuotes::Both, EscapedQuotes::Single, EscapedQuotes::None]
    } else {
        &[EscapedQuotes::Both]
    };
    let mut pieces = Vec::new();
    let mut is_read = false;
    for mode in modes {
        let tokens = match Tokens::from_statement(statement, *mode) {
            Ok(tokens) => tokens,
            // No statement in this mode.
            Err(TokenError::Invalid) => continue,
            Err(TokenError::Unclear | TokenError::Long) => return None,
        };
        is_read = true;
        hide_comments(statement, &tokens, &mut pieces);
        // Executable comments as code, and as comments.
        let outer = tokens.outside_comments();
        for tokens in outer.into_iter().chain([tokens.into_all()]) {
            let reading = SecretScanner::new(statement, tokens);
            if reading.is_misquoted() {
                return None;
            }
            reading.add_replacements(&mut pieces);
        }
    }
    is_read.then_some(pieces)
}

/// Hides what stands between the tokens where it mentions a secret: comments, also hints for the optimizer.
fn hide_comments(statement: &[u8], tokens: &Tokens, pieces: &mut Vec<Replacement>) {
    let mut at = 0;
    let end = statement.len()..statement.len();
    for place in tokens.token_ranges().chain(std::iter::once(end)) {
        let between = &statement[at..place.start];
        if secret_words::find_secret_word(between)
            .is_some_and(|sign| has_more(&between[sign.end..]))
        {
            pieces.push((at..place.start, HIDDEN_COMMENT));
        }
        at = place.end;
    }
}

/// The statement with the pieces replaced; those that touch are one.
fn apply_replacements(statement: &[u8], mut pieces: Vec<Replacement>) -> Vec<u8> {
    pieces.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = Vec::with_capacity(statement.len());
    let mut at = 0;
    let mut pieces = pieces.into_iter().peekable();
    while let Some((range, by)) = pieces.next() {
        let mut end = range.end;
        while let Some((next, _)) = pieces.next_if(|(next, _)| next.start <= end) {
            end = end.max(next.end);
        }
        out.extend_from_slice(&statement[at..range.start]);
        out.extend_from_slice(by);
        at = end;
    }
    out.extend_from_slice(&statement[at..]);
    out
}

/// `ALTER '<secret>'`: what is left of a statement that can't be read.
fn first_word_only(statement: &[u8]) -> Vec<u8> {
    let rest = statement.trim_ascii_start();
    let length = rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let mut out = rest[..length].to_vec();
    if length > 0 {
        out.push(b' ');
    }
    out.extend_from_slice(HIDDEN);
    out
}
