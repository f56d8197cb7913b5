//! One statement in one reading: its tokens with their parentheses, and small questions about them. Pure; judges nothing.

use std::ops::Range;

use super::RefusalReason;
use super::tokens::{Token, TokenKind};

/// One statement.
#[derive(Debug)]
pub(in crate::capture) struct TokenizedStatement<'t> {
    text: &'t [u8],
    tokens: Vec<Token>,
    /// For each opening parenthesis where it closes, for each closing one where it opens.
    pairs: Vec<u32>,
    /// Hints: what optimizers read in comments.
    hints: Vec<Token>,
    /// Where the statement ends, without what stands at its end besides.
    end: usize,
}

impl<'t> TokenizedStatement<'t> {
    /// Puts a reading's tokens together.
    pub(in crate::capture) fn new(
        text: &'t [u8],
        all: Vec<Token>,
    ) -> Result<TokenizedStatement<'t>, RefusalReason> {
        let (hints, mut tokens): (Vec<Token>, Vec<Token>) =
            all.into_iter().partition(|token| token.kind == TokenKind::Hint);
        let mut end = text.len();
        let is_end = |token: &Token| token.kind == TokenKind::Sign && token.bytes_in(text) == b";";
        while tokens.last().is_some_and(is_end) {
            end = tokens.pop().map_or(end, |last| last.from as usize);
        }
        if tokens.is_empty() {
            return Err(RefusalReason::Empty);
        }
        if tokens.iter().any(is_end) {
            return Err(RefusalReason::Several);
        }
        if hints.last().is_some_and(|hint| hint.from as usize > end) {
            return Err(RefusalReason::Unreadable);
        }
        let mut statement =
            TokenizedStatement { text, pairs: vec![0; tokens.len()], tokens, hints, end };
        let mut open = Vec::new();
        for at in 0..statement.tokens.len() {
            if statement.is_sign(at, b'(') {
                open.push(at);
            } else if statement.is_sign(at, b')') {
                let from = open.pop().ok_or(RefusalReason::Unreadable)?;
                statement.pairs[from] = at as u32;
                statement.pairs[at] = from as u32;
            }
        }
        if open.is_empty() { Ok(statement) } else { Err(RefusalReason::Unreadable) }
    }

    /// Number of tokens.
    pub(in crate::capture) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The statement's bytes, without the `;` at its end.
    pub(in crate::capture) fn text(&self) -> &'t [u8] {
        &self.text[..self.end]
    }

    /// Its hints.
    pub(in crate::capture) fn hints(&self) -> &[Token] {
        &self.hints
    }

    /// What kind of token stands there.
    pub(in crate::capture) fn token_kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// First byte of a token, or the end of the statement.
    pub(in crate::capture) fn token_start(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(self.end, |token| token.from as usize)
    }

    /// Behind the last byte of a token.
    pub(in crate::capture) fn token_end(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(self.end, |token| token.to as usize)
    }

    /// The bytes of a token; none behind the end.
    pub(in crate::capture) fn token_bytes(&self, at: usize) -> &'t [u8] {
        self.tokens.get(at).map_or(b"", |token| token.bytes_in(self.text))
    }

    /// The bytes of some tokens and of what stands between them.
    pub(in crate::capture) fn slice_tokens(&self, tokens: &Range<usize>) -> &'t [u8] {
        if tokens.is_empty() {
            return b"";
        }
        &self.text[self.token_start(tokens.start)..self.token_end(tokens.end - 1)]
    }

    /// Whether a token is this word, unquoted; in capitals.
    pub(in crate::capture) fn is_word(&self, at: usize, word: &str) -> bool {
        self.token_kind(at) == Some(TokenKind::Word)
            && self.token_bytes(at).eq_ignore_ascii_case(word.as_bytes())
    }

    /// Whether a token is one of these words, unquoted.
    pub(in crate::capture) fn is_any_word(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is_word(at, word))
    }

    /// Whether these words stand there.
    pub(in crate::capture) fn are_words(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(nth, word)| self.is_word(at + nth, word))
    }

    /// Whether a token is this sign.
    pub(in crate::capture) fn is_sign(&self, at: usize, sign: u8) -> bool {
        self.token_kind(at) == Some(TokenKind::Sign) && self.token_bytes(at) == [sign]
    }

    /// Whether the token before is this sign.
    pub(in crate::capture) fn follows_sign(&self, at: usize, sign: u8) -> bool {
        at > 0 && self.is_sign(at - 1, sign)
    }

    /// Where a parenthesis closes or opens.
    pub(in crate::capture) fn matching_paren(&self, at: usize) -> usize {
        self.pairs.get(at).map_or(0, |pair| *pair as usize)
    }

    /// Whether a token can be a name.
    pub(in crate::capture) fn is_name(&self, at: usize) -> bool {
        matches!(self.token_kind(at), Some(TokenKind::Word | TokenKind::Name | TokenKind::Double))
    }

    /// A token as a name, without quotes, in lower case.
    pub(in crate::capture) fn token_name(&self, at: usize) -> String {
        String::from_utf8_lossy(&self.unquoted_bytes(at)).to_lowercase()
    }

    /// A token as a name or text, without its quotes; backslashes are left as they are.
    pub(in crate::capture) fn unquoted_bytes(&self, at: usize) -> Vec<u8> {
        let bytes = self.token_bytes(at);
        match self.token_kind(at) {
            Some(TokenKind::Name | TokenKind::Double | TokenKind::Text) => {
                let mut plain = Vec::with_capacity(bytes.len());
                let mut inner = bytes[1..bytes.len() - 1].iter();
                while let Some(byte) = inner.next() {
                    plain.push(*byte);
                    if *byte == bytes[0] {
                        inner.next();
                    }
                }
                plain
            }
            _ => bytes.to_vec(),
        }
    }

    /// A token's word in capitals, cut to a size for people.
    pub(in crate::capture) fn display_word(&self, at: usize) -> String {
        let bytes = self.token_bytes(at);
        String::from_utf8_lossy(&bytes[..bytes.len().min(32)]).to_ascii_uppercase()
    }

    /// Whether a word right behind a name and a point is a name itself, whatever it says: `t.update`.
    pub(in crate::capture) fn is_member(&self, at: usize) -> bool {
        at >= 2
            && self.follows_sign(at, b'.')
            && self.tokens[at].is_joined
            && self.tokens[at - 1].is_joined
            && matches!(self.token_kind(at - 2), Some(TokenKind::Word | TokenKind::Name))
            && !self.token_bytes(at - 2).starts_with(b"\\")
    }

    /// Behind a name with its database, if it has one: `a`, `a.b`. `None` where there is no name.
    pub(in crate::capture) fn name_end(&self, at: usize) -> Option<usize> {
        if !self.is_name(at) {
            return None;
        }
        if self.is_sign(at + 1, b'.') {
            return self.is_name(at + 2).then_some(at + 3);
        }
        Some(at + 1)
    }

    /// Whether between two parentheses there are names only: `(a, b)`.
    pub(in crate::capture) fn is_name_list(&self, open: usize) -> bool {
        let close = self.matching_paren(open);
        let inner = open + 1..close;
        !inner.is_empty()
            && inner.clone().all(|at| {
                if (at - open) % 2 == 1 { self.is_name(at) } else { self.is_sign(at, b',') }
            })
            && inner.len() % 2 == 1
    }
}
