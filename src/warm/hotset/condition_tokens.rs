//! Whether a condition holds nothing but names between backticks, values of a key, comparisons and the words between
//! them. Knows nothing of how conditions are made: the tests, and the fuzz target `hotset`, hold the makers to it.

const WORDS: &[&str] = &["AND", "OR", "IS", "NOT", "NULL", "TRUE", "FALSE"];

/// Whether all tokens of a condition are known ones.
pub(crate) fn are_known(condition: &str) -> bool {
    let mut rest = condition;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            ' ' | '(' | ')' | '<' | '>' | '=' => Some(1),
            '`' => name(rest),
            '\'' => quoted(rest, |b| b.is_ascii_hexdigit() || b" :.-".contains(&b)),
            'x' => bytes(rest),
            '_' => text(rest),
            '-' | '0'..='9' => number(rest),
            'A'..='Z' => word(rest),
            _ => None,
        };
        let Some(length) = length else { return false };
        rest = &rest[length..];
    }
    true
}

fn run(text: &str, is_part: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|b| is_part(*b)).count()
}

/// A name ends with the first backtick that is not doubled.
fn name(text: &str) -> Option<usize> {
    let mut at = 1;
    loop {
        at += text[at..].find('`')? + 1;
        if !text[at..].starts_with('`') {
            return Some(at);
        }
        at += 1;
    }
}

fn quoted(text: &str, is_part: impl Fn(u8) -> bool) -> Option<usize> {
    let inside = run(text.strip_prefix('\'')?, is_part);
    text[1 + inside..].starts_with('\'').then_some(inside + 2)
}

fn bytes(text: &str) -> Option<usize> {
    Some(1 + quoted(text.strip_prefix('x')?, |b| b.is_ascii_hexdigit())?)
}

fn text(text: &str) -> Option<usize> {
    let name = 1 + run(&text[1..], |b| b.is_ascii_alphanumeric());
    Some(name + 1 + bytes(text[name..].strip_prefix(' ')?)?)
}

/// Nothing may hang on to a number.
fn number(text: &str) -> Option<usize> {
    let sign = run(text, |b| b == b'-');
    let digits = run(&text[sign..], |b| b.is_ascii_digit() || b == b'.');
    let mut length = sign + digits;
    if text[length..].starts_with('e') {
        length += 1;
        length += run(&text[length..], |b| b == b'-');
        length += run(&text[length..], |b| b.is_ascii_digit());
    }
    let ends = text[length..].starts_with([' ', ')']) || length == text.len();
    (sign <= 1 && digits > 0 && ends).then_some(length)
}

fn word(text: &str) -> Option<usize> {
    let length = run(text, |b| b.is_ascii_uppercase());
    WORDS.contains(&&text[..length]).then_some(length)
}
