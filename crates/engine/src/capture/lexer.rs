//! Where a statement ends, byte by byte: quotes and comments hide what stands in them. Pure; never parses.

use super::byte_lexer::{ByteLexer, LexerMode, is_torn};

/// What a backslash means in quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EscapeMode {
    /// It hides the byte behind it, as by default.
    Backslash,
    /// It is a byte like others, under `NO_BACKSLASH_ESCAPES`.
    None,
}

/// What a lexer is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LexContext {
    /// Code: names, numbers, signs.
    Code,
    /// `'text'`, `"text"` or `` `name` ``.
    Quote(u8),
    /// `/* comment */`; what a server reads as code (`/*! */`) is hidden no less.
    Comment,
    /// `-- comment` or `# comment`, up to the end of its line.
    Line,
}

impl LexContext {
    /// Whether a statement may end here: its log writes the end right behind a comment without a line's end.
    pub(super) fn may_end(self) -> bool {
        matches!(self, LexContext::Code | LexContext::Line)
    }
}

/// Bytes that mean something in code.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"'\"`/#-\n";
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
};

/// Goes over a text and stops at each line's end.
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    inside: LexContext,
    escapes: EscapeMode,
    /// Where the comment begins that it is in, if some servers run it as code.
    code_comment: Option<usize>,
    is_torn: bool,
}

impl<'a> Lexer<'a> {
    /// Begins in code at `at`.
    pub(super) fn new(text: &'a [u8], at: usize, escapes: EscapeMode) -> Lexer<'a> {
        Lexer { text, at, inside: LexContext::Code, escapes, code_comment: None, is_torn: false }
    }

    /// Whether there was a comment whose end depends on whether a server runs it as code.
    pub(super) fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// Goes on to behind the next line's end. Gives what it stood in just before that end, and the place of the next
    /// line; `None` where the text ends first.
    pub(super) fn next_line(&mut self) -> Option<(LexContext, usize)> {
        loop {
            let rest = &self.text[self.at..];
            match self.inside {
                LexContext::Code => {
                    let step = rest.iter().position(|b| SPECIAL[usize::from(*b)]);
                    let Some(step) = step else { return self.move_to_end() };
                    self.at += step;
                    let rest = &rest[step..];
                    self.at += 1;
                    match rest[0] {
                        b'\n' => return Some((LexContext::Code, self.at)),
                        b'#' => self.inside = LexContext::Line,
                        b'-' if is_dash_comment(rest) => self.inside = LexContext::Line,
                        b'-' => {}
                        b'/' if rest.get(1) == Some(&b'*') => {
                            if matches!(rest.get(2), Some(b'!' | b'M')) {
                                self.code_comment = Some(self.at - 1);
                            }
                            self.at += 1;
                            self.inside = LexContext::Comment;
                        }
                        b'/' => {}
                        quote => self.inside = LexContext::Quote(quote),
                    }
                }
                LexContext::Line => {
                    let Some(step) = memchr::memchr(b'\n', rest) else { return self.move_to_end() };
                    self.at += step + 1;
                    self.inside = LexContext::Code;
                    return Some((LexContext::Line, self.at));
                }
                LexContext::Comment => {
                    let Some(step) = memchr::memchr2(b'\n', b'*', rest) else {
                        return self.move_to_end();
                    };
                    self.at += step + 1;
                    if rest[step] == b'\n' {
                        return Some((LexContext::Comment, self.at));
                    }
                    if rest.get(step + 1) == Some(&b'/') {
                        self.at += 1;
                        self.inside = LexContext::Code;
                        if let Some(begin) = self.code_comment.take() {
                            self.is_torn |= is_torn(&self.text[begin..self.at]);
                        }
                    }
                }
                LexContext::Quote(quote) => {
                    let hides = self.escapes == EscapeMode::Backslash && quote != b'`';
                    let step = if hides {
                        memchr::memchr3(quote, b'\n', b'\\', rest)
                    } else {
                        memchr::memchr2(quote, b'\n', rest)
                    };
                    let Some(step) = step else { return self.move_to_end() };
                    self.at += step + 1;
                    match rest[step] {
                        b'\n' => return Some((self.inside, self.at)),
                        b'\\' => {
                            // A hidden line's end is still one, and no statement ends there.
                            if rest.get(step + 1) != Some(&b'\n') {
                                self.at = (self.at + 1).min(self.text.len());
                            }
                        }
                        // A doubled quote closes and opens again, which comes to the same.
                        _ => self.inside = LexContext::Code,
                    }
                }
            }
        }
    }

    /// What the text ends in, once `next_line` has given `None`.
    pub(super) fn current_context(&self) -> LexContext {
        self.inside
    }

    fn move_to_end(&mut self) -> Option<(LexContext, usize)> {
        self.at = self.text.len();
        None
    }
}

/// Lines of a text in any reading.
pub(super) enum LineLexer<'a> {
    /// By the quick lexer.
    Quick(Lexer<'a>),
    /// Byte by byte, and where it is.
    Slow(ByteLexer, &'a [u8], usize),
}

impl<'a> LineLexer<'a> {
    /// Begins in code at `at`.
    pub(super) fn new(text: &'a [u8], at: usize, reading: LexerMode) -> LineLexer<'a> {
        if reading.is_plain() {
            LineLexer::Quick(Lexer::new(text, at, reading.escapes))
        } else {
            LineLexer::Slow(ByteLexer::new(reading), text, at)
        }
    }

    /// As [`Lexer::next_line`].
    pub(super) fn next_line(&mut self) -> Option<(LexContext, usize)> {
        match self {
            LineLexer::Quick(lexer) => lexer.next_line(),
            LineLexer::Slow(machine, text, at) => {
                let found = machine.next_line(text, *at);
                *at = found.map_or(text.len(), |(_, next)| next);
                found
            }
        }
    }

    /// What the text ends in, once `next_line` has given `None`.
    pub(super) fn current_context(&self) -> LexContext {
        match self {
            LineLexer::Quick(lexer) => lexer.current_context(),
            LineLexer::Slow(machine, ..) => machine.current_context(),
        }
    }

    /// As [`Lexer::is_torn`].
    pub(super) fn is_torn(&self) -> bool {
        matches!(self, LineLexer::Quick(lexer) if lexer.is_torn())
    }
}

/// Whether two dashes begin a comment: a blank or the end must follow.
pub fn is_dash_comment(rest: &[u8]) -> bool {
    rest.starts_with(b"--") && rest.get(2).is_none_or(|b| b.is_ascii_whitespace())
}

/// A name that may stand in backticks, without them.
pub(super) fn unquote_name(name: &[u8]) -> Vec<u8> {
    let inner = name.strip_prefix(b"`").and_then(|n| n.strip_suffix(b"`"));
    let Some(inner) = inner else { return name.to_vec() };
    let mut plain = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        plain.push(*byte);
        if *byte == b'`' {
            bytes.next();
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, escapes: EscapeMode) -> (Vec<LexContext>, LexContext) {
        let mut lexer = Lexer::new(text.as_bytes(), 0, escapes);
        let mut all = Vec::new();
        while let Some((inside, _)) = lexer.next_line() {
            all.push(inside);
        }
        (all, lexer.current_context())
    }

    #[test]
    fn quotes_and_comments_hide_ends_of_lines() {
        use LexContext::{Code, Comment, Line, Quote};
        let of = |text| lines(text, EscapeMode::Backslash);
        assert_eq!(of("a\nb"), (vec![Code], Code));
        assert_eq!(of("'a\n'\n"), (vec![Quote(b'\''), Code], Code));
        assert_eq!(of("'a''\n'\n\"\n"), (vec![Quote(b'\''), Code, Quote(b'"')], Quote(b'"')));
        assert_eq!(of("/* '\n */ -- '\n# \"\n1--1\n"), (vec![Comment, Line, Line, Code], Code));
        assert_eq!(of("`a\\`\n'\\'\n'\n"), (vec![Code, Quote(b'\''), Code], Code));
        assert_eq!(of("'\\\n'\n"), (vec![Quote(b'\''), Code], Code));
        assert_eq!(of("a/b-c--\n"), (vec![Line], Code));
        assert_eq!(of("/**/\n/***\n"), (vec![Code, Comment], Comment));
        assert_eq!(of("'\\"), (vec![], Quote(b'\'')));
    }

    #[test]
    fn without_escapes_a_backslash_hides_nothing() {
        assert_eq!(lines("'\\'\n", EscapeMode::None), (vec![LexContext::Code], LexContext::Code));
    }
}
