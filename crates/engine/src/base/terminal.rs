//! What a terminal obeys instead of showing it: nothing that a server, a log or a file says may reach one as it is.

use std::borrow::Cow;

/// Whether a character tells a terminal to do something, or shows the text in another order than it has.
pub fn is_terminal_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text as a terminal may have it: lines, tabs and, where `colours` is set, the sequences that only colour remain;
/// whatever else it would obey is shown as U+FFFD.
pub fn sanitize_text(text: &str, colours: bool) -> Cow<'_, str> {
    let is_plain = |c: char| matches!(c, '\n' | '\t') || !is_terminal_control(c);
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = if colours { colour_sequence_length(rest) } else { 0 };
        let length = colour.max(c.len_utf8());
        match colour > 0 || is_plain(c) {
            true => out.push_str(&rest[..length]),
            false => out.push(char::REPLACEMENT_CHARACTER),
        }
        rest = &rest[length..];
    }
    Cow::Owned(out)
}

/// Bytes of the sequence that colours, at the start of a text; 0 if there is none.
fn colour_sequence_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\x1b[") else { return 0 };
    let numbers = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b';').count();
    if rest.as_bytes().get(numbers) == Some(&b'm') { numbers + 3 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_tabs_and_our_own_colours_remain() {
        assert!(matches!(sanitize_text("a\tb\nc ä", false), Cow::Borrowed(_)));
        assert_eq!(sanitize_text("x\x1b]0;owned\x07y\r\x7f\u{9b}2J", true), "x�]0;owned�y���2J");
        assert_eq!(sanitize_text("\x1b[1;31mred\x1b[0m\x1b[2J", true), "\x1b[1;31mred\x1b[0m�[2J");
        assert_eq!(sanitize_text("\x1b[1mx", false), "�[1mx");
        assert_eq!(sanitize_text("a\u{202e}b", true), "a�b");
    }
}
