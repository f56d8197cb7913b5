//! A statement as tokens: what a server's own lexer would find, or a clear word that it can't be known.
//! Pure. Where servers or modes differ about where a token ends, there is a reading for each, or none at all.
//! To make a byte readable: an arm in `Tokenizer::next_token`, and its case in the tests.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::capture) enum TokenKind {
    /// A keyword or a name, not quoted.
    Word,
    /// A number, also `0x1F`.
    Number,
    /// `'text'`.
    Text,
    /// `"text"`, or a name under `ANSI_QUOTES`.
    Double,
    /// `` `name` ``.
    Name,
    /// One byte of anything else.
    Sign,
    /// `/*+ hints */`.
    Hint,
}

/// A piece of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::capture) struct Token {
    /// What it is.
    pub(in crate::capture) kind: TokenKind,
    /// Whether it follows the one before without a blank or comment between.
    pub(in crate::capture) is_joined: bool,
    /// The executable comment that it stands in, from 1; 0 for none.
    comment: u8,
    /// Whether it is the sixth digit of that comment's version, for servers that know five.
    is_digit: bool,
    /// Its first byte.
    pub(in crate::capture) from: u32,
    /// Behind its last.
    pub(in crate::capture) to: u32,
}

impl Token {
    /// Its bytes in the statement.
    pub(in crate::capture) fn bytes_in<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        &text[self.from as usize..self.to as usize]
    }
}

/// What a backslash in quotes hides, by the session's sql_mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::capture) enum EscapedQuotes {
    /// By default: the byte behind it, in `'` and `"`.
    Both,
    /// Under `ANSI_QUOTES`: only in `'`, as `"` holds a name.
    Single,
    /// Under `NO_BACKSLASH_ESCAPES`: nothing.
    None,
}

/// Why there are no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::capture) enum TokenError {
    /// A server can't read it either, in this mode: it would answer with an error and do nothing.
    Invalid,
    /// We can't tell how a server would read it.
    Unclear,
    /// It has more tokens than we look at.
    Long,
}

/// Most tokens of a statement: some megabytes of memory.
const MOST_TOKENS: usize = 1 << 20;
/// Most executable comments in one statement: each may count or not.
const MOST_COMMENTS: u8 = 4;

/// The tokens of a statement in one mode.
#[derive(Debug)]
pub(in crate::capture) struct Tokens {
    all: Vec<Token>,
    /// Executable comments; for each whether its version has six digits.
    comments: Vec<bool>,
}

impl Tokens {
    /// Reads a statement.
    pub(in crate::capture) fn from_statement(
        text: &[u8],
        escapes: EscapedQuotes,
    ) -> Result<Tokens, TokenError> {
        if u32::try_from(text.len()).is_err() {
            return Err(TokenError::Long);
        }
        let mut reader = Tokenizer {
            text,
            at: 0,
            end: text.len(),
            escapes,
            comment: 0,
            is_joined: false,
            tokens: Tokens { all: Vec::new(), comments: Vec::new() },
        };
        while reader.at < reader.end {
            reader.next_token()?;
        }
        Ok(reader.tokens)
    }

    /// Whether two modes come to the same.
    pub(in crate::capture) fn is_same(&self, other: &Tokens) -> bool {
        self.all == other.all
    }

    /// All tokens, executable comments read as code.
    pub(in crate::capture) fn into_all(self) -> Vec<Token> {
        self.all
    }

    /// The tokens for a server that skips all executable comments, where there are any.
    pub(in crate::capture) fn outside_comments(&self) -> Option<Vec<Token>> {
        let outer = || self.all.iter().filter(|token| token.comment == 0).copied().collect();
        (!self.comments.is_empty()).then(outer)
    }

    /// Where each token stands, but hints.
    pub(in crate::capture) fn token_ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let tokens = self.all.iter().filter(|token| token.kind != TokenKind::Hint);
        tokens.map(|token| token.from as usize..token.to as usize)
    }

    /// How many tokens all its variants have together, at most.
    pub(in crate::capture) fn variants_size(&self) -> usize {
        let choices = |has_six: &bool| if *has_six { 3 } else { 2 };
        self.all.len() * self.comments.iter().map(choices).product::<usize>()
    }

    /// Every way in which servers may count or skip its executable comments; one where there are none.
    pub(in crate::capture) fn into_readings(self) -> Vec<Vec<Token>> {
        if self.comments.is_empty() {
            return vec![self.all];
        }
        let mut states = vec![Vec::new()];
        for has_six in &self.comments {
            let choices: &[u8] = if *has_six { &[0, 1, 2] } else { &[0, 1] };
            let longer = |state: &Vec<u8>, choice: &u8| {
                let mut state = state.clone();
                state.push(*choice);
                state
            };
            states = states.iter().flat_map(|s| choices.iter().map(|c| longer(s, c))).collect();
        }
        let counts = |state: &[u8], token: &Token| match token.comment {
            0 => true,
            comment => {
                let choice = state[usize::from(comment) - 1];
                choice == 2 || (choice == 1 && !token.is_digit)
            }
        };
        let of = |state: &Vec<u8>| self.all.iter().filter(|t| counts(state, t)).copied().collect();
        states.iter().map(of).collect()
    }
}

struct Tokenizer<'t> {
    text: &'t [u8],
    at: usize,
    /// Where reading ends: the statement's end, or that of an executable comment.
    end: usize,
    escapes: EscapedQuotes,
    comment: u8,
    is_joined: bool,
    tokens: Tokens,
}

impl Tokenizer<'_> {
    fn remaining_bytes(&self) -> &[u8] {
        &self.text[self.at..self.end]
    }

    /// Reads one token, comment or blank.
    fn next_token(&mut self) -> Result<(), TokenError> {
        let rest = self.remaining_bytes();
        match rest[0] {
            b' ' | b'\t'..=b'\r' => self.skip_blank(1),
            b'#' => self.skip_line_comment(1),
            b'-' if rest.get(1) == Some(&b'-') => match rest.get(2) {
                None | Some(b' ' | b'\t'..=b'\r') => self.skip_line_comment(2),
                // Control characters begin a comment too, by the tables of the session's character set.
                Some(0..=0x1F | 0x7F..) => Err(TokenError::Unclear),
                Some(_) => self.push_token(TokenKind::Sign, 1),
            },
            b'/' if rest.get(1) == Some(&b'*') => self.read_block_comment(),
            quote @ (b'\'' | b'"' | b'`') => self.read_quoted(quote),
            b'\\' if rest.get(1) == Some(&b'N') => self.push_token(TokenKind::Word, 2),
            b'\\' => Err(TokenError::Invalid),
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' | 0x80.. => self.read_word(),
            0..=0x1F | 0x7F => Err(TokenError::Unclear),
            _ => self.push_token(TokenKind::Sign, 1),
        }
    }

    fn skip_blank(&mut self, length: usize) -> Result<(), TokenError> {
        self.at += length;
        self.is_joined = false;
        Ok(())
    }

    fn push_token(&mut self, kind: TokenKind, length: usize) -> Result<(), TokenError> {
        if self.tokens.all.len() >= MOST_TOKENS {
            return Err(TokenError::Long);
        }
        let from = self.at;
        self.at += length;
        self.tokens.all.push(Token {
            kind,
            is_joined: self.is_joined,
            comment: self.comment,
            is_digit: false,
            from: from as u32,
            to: self.at as u32,
        });
        self.is_joined = true;
        Ok(())
    }

    /// A comment up to the end of its line. A NUL ends it too, for servers.
    fn skip_line_comment(&mut self, from: usize) -> Result<(), TokenError> {
        if self.comment != 0 {
            // It would hide the end of the comment around it.
            return Err(TokenError::Unclear);
        }
        let end = memchr::memchr2(b'\n', 0, &self.remaining_bytes()[from..]);
        let length = end.map_or(self.remaining_bytes().len(), |end| from + end);
        if self.remaining_bytes().get(length) == Some(&0) {
            return Err(TokenError::Unclear);
        }
        self.skip_blank(length)
    }

    /// A comment of any kind between `/*` and `*/`.
    fn read_block_comment(&mut self) -> Result<(), TokenError> {
        if self.comment != 0 {
            return Err(TokenError::Unclear);
        }
        let rest = self.remaining_bytes();
        let Some(inner) = memchr::memmem::find(&rest[2..], b"*/") else {
            // Old servers take the rest for a comment, others for a mistake.
            return Err(TokenError::Unclear);
        };
        let length = inner + 4;
        let inside = &rest[2..2 + inner];
        let skipped = match inside {
            [b'!', ..] => 1,
            [b'M', b'!', ..] => 2,
            [b'+', ..] => {
                let quoted = inside.iter().any(|b| matches!(b, b'\'' | b'"' | b'`'));
                // Quotes there may hide the end from some servers.
                if quoted && !is_paired(inside) {
                    return Err(TokenError::Unclear);
                }
                self.is_joined = false;
                return self.push_token(TokenKind::Hint, length);
            }
            _ => return self.skip_blank(length),
        };
        self.read_executable_comment(length, skipped)
    }

    /// `/*! code */`, `/*!50000 code */`, `/*M! code */`: code for some servers, a comment for others. Those who skip it
    /// look for its end in the bytes, so that must be the end for those who read it, too.
    fn read_executable_comment(&mut self, length: usize, skipped: usize) -> Result<(), TokenError> {
        let inside = &self.remaining_bytes()[2..length - 2];
        if memchr::memmem::find(inside, b"/*").is_some() || inside.ends_with(b"/") {
            return Err(TokenError::Unclear);
        }
        let digits = inside[skipped..].iter().take_while(|b| b.is_ascii_digit()).count();
        let follows_blank = inside.get(skipped + digits).is_none_or(u8::is_ascii_whitespace);
        let is_version = match digits {
            0 | 5 => true,
            6 => follows_blank,
            _ => false,
        };
        if !is_version {
            return Err(TokenError::Unclear);
        }
        let number = self.tokens.comments.len() as u8 + 1;
        if number > MOST_COMMENTS {
            return Err(TokenError::Unclear);
        }
        self.tokens.comments.push(digits == 6);
        let (outer, behind) = (self.end, self.at + length);
        self.comment = number;
        self.end = behind - 2;
        self.at += 2 + skipped + digits.min(5);
        self.is_joined = false;
        if digits == 6 {
            self.push_token(TokenKind::Number, 1)?;
            self.tokens.all.last_mut().expect("just pushed").is_digit = true;
        }
        while self.at < self.end {
            // What has no end in there has one behind it, or none.
            self.next_token().map_err(|_| TokenError::Unclear)?;
        }
        self.comment = 0;
        self.end = outer;
        self.at = behind;
        self.is_joined = false;
        Ok(())
    }

    fn read_quoted(&mut self, quote: u8) -> Result<(), TokenError> {
        let rest = self.remaining_bytes();
        let hides = match quote {
            b'\'' => self.escapes != EscapedQuotes::None,
            b'"' => self.escapes == EscapedQuotes::Both,
            _ => false,
        };
        let mut at = 1;
        loop {
            let found = if hides {
                memchr::memchr2(quote, b'\\', &rest[at..])
            } else {
                memchr::memchr(quote, &rest[at..])
            };
            let Some(found) = found else { return Err(TokenError::Invalid) };
            at += found;
            if rest[at] == b'\\' {
                at += 2;
                if at > rest.len() {
                    return Err(TokenError::Invalid);
                }
            } else if rest.get(at + 1) == Some(&quote) {
                at += 2;
            } else {
                break;
            }
        }
        // A NUL ends a name, for servers.
        if quote != b'\'' && rest[..at].contains(&0) {
            return Err(TokenError::Unclear);
        }
        let kind = match quote {
            b'\'' => TokenKind::Text,
            b'"' => TokenKind::Double,
            _ => TokenKind::Name,
        };
        self.push_token(kind, at + 1)
    }

    /// A name, keyword or number.
    fn read_word(&mut self) -> Result<(), TokenError> {
        let rest = self.remaining_bytes();
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | 0x80..);
        let length = rest.iter().position(|b| !is_part(b)).unwrap_or(rest.len());
        let run = &rest[..length];
        if run[0] == b'$' {
            // MySQL 9 reads `$$ text $$` as a text.
            return Err(TokenError::Unclear);
        }
        // In latin1 the byte 0xA0 is a blank.
        if !run.is_ascii() && (run.contains(&0xA0) || std::str::from_utf8(run).is_err()) {
            return Err(TokenError::Unclear);
        }
        let is_fraction = self.is_fraction();
        if !is_fraction && !run[0].is_ascii_digit() {
            return self.push_token(TokenKind::Word, length);
        }
        // Behind a number servers begin a new token where we would not: `1.5into`, `1e5into`.
        let digits = run.iter().take_while(|b| b.is_ascii_digit()).count();
        let is_number = match &run[digits..] {
            [] => true,
            [b'e' | b'E', exponent @ ..] => exponent.iter().all(u8::is_ascii_digit),
            [b'x', hex @ ..] => run.starts_with(b"0x") && hex.iter().all(u8::is_ascii_hexdigit),
            [b'b', bits @ ..] => run.starts_with(b"0b") && bits.iter().all(u8::is_ascii_digit),
            _ => false,
        };
        if is_number {
            return self.push_token(TokenKind::Number, length);
        }
        if !is_fraction && run.get(digits) == Some(&b'_') {
            return self.push_token(TokenKind::Word, length);
        }
        Err(TokenError::Unclear)
    }

    /// Whether what comes is right behind the point of a number: `1.` or `.`, not `name.`.
    fn is_fraction(&self) -> bool {
        let all = &self.tokens.all;
        let [before @ .., point] = all.as_slice() else { return false };
        if !self.is_joined || point.kind != TokenKind::Sign || point.bytes_in(self.text) != b"." {
            return false;
        }
        match before.last() {
            Some(last) if point.is_joined && last.kind == TokenKind::Number => true,
            Some(last) if point.is_joined => {
                self.remaining_bytes()[0].is_ascii_digit()
                    && !matches!(last.kind, TokenKind::Word | TokenKind::Name | TokenKind::Double)
            }
            _ => self.remaining_bytes()[0].is_ascii_digit(),
        }
    }
}

/// Whether all quotes in it have an end.
fn is_paired(text: &[u8]) -> bool {
    let mut open = None;
    for byte in text {
        match open {
            None if matches!(byte, b'\'' | b'"' | b'`') => open = Some(*byte),
            Some(quote) if quote == *byte => open = None,
            _ => {}
        }
    }
    open.is_none()
}
