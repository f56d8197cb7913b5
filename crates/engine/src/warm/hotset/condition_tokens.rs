//! Whether a condition holds nothing but names between backticks, values of a key, comparisons and the words between
//! them. Knows nothing of how conditions are made: the tests, and the fuzz target `hotset`, hold the makers to it.

const WORDS: &[&str] = &["AND", "OR", "IS", "NOT", "NULL", "TRUE", "FALSE"];

/// Whether all tokens of a condition are known ones.
pub(crate) fn are_tokens_known(condition: &str) -> bool {
    let mut rest = condition;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            ' ' | '(' | ')' | '<' | '>' | '=' => Some(1),
            '`' => name_length(rest),
            '\'' => quoted_length(rest, |b| b.is_ascii_hexdigit() || b" :.-".contains(&b)),
            'x' => hex_length(rest),
            '_' => charset_text_length(rest),
            '-' | '0'..='9' => number_length(rest),
            'A'..='Z' => keyword_length(rest),
            _ => None,
        };
        let Some(length) = length else { return false };
        rest = &rest[length..];
    }
    true
}

fn prefix_length(text: &str, is_part: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|b| is_part(*b)).count()
}

/// A name ends with the first backtick that is not doubled.
fn name_length(text: &str) -> Option<usize> {
    let mut at = 1;
    loop {
        at += text[at..].find('`')? + 1;
        if !text[at..].starts_with('`') {
            return Some(at);
        }
        at += 1;
    }
}

fn quoted_length(text: &str, is_part: impl Fn(u8) -> bool) -> Option<usize> {
    let inside = prefix_length(text.strip_prefix('\'')?, is_part);
    text[1 + inside..].starts_with('\'').then_some(inside + 2)
}

fn hex_length(text: &str) -> Option<usize> {
    Some(1 + quoted_length(text.strip_prefix('x')?, |b| b.is_ascii_hexdigit())?)
}

fn charset_text_length(text: &str) -> Option<usize> {
    let name = 1 + prefix_length(&text[1..], |b| b.is_ascii_alphanumeric());
    Some(name + 1 + hex_length(text[name..].strip_prefix(' ')?)?)
}

/// Nothing may hang on to a number.
fn number_length(text: &str) -> Option<usize> {
    let sign = prefix_length(text, |b| b == b'-');
    let digits = prefix_length(&text[sign..], |b| b.is_ascii_digit() || b == b'.');
    let mut length = sign + digits;
    if text[length..].starts_with('e') {
        length += 1;
        length += prefix_length(&text[length..], |b| b == b'-');
        length += prefix_length(&text[length..], |b| b.is_ascii_digit());
    }
    let ends = text[length..].starts_with([' ', ')']) || length == text.len();
    (sign <= 1 && digits > 0 && ends).then_some(length)
}

fn keyword_length(text: &str) -> Option<usize> {
    let length = prefix_length(text, |b| b.is_ascii_uppercase());
    WORDS.contains(&&text[..length]).then_some(length)
}
