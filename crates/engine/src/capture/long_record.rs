//! A record that is longer than is kept: it is gone over byte by byte up to its end, and left out.

use super::byte_lexer::{ByteLexer, LexerMode};
use super::lexer::LexContext;
use super::{ParseStep, SUSPECT_BYTES, SkipReason};

/// What is left of it.
#[derive(Debug)]
pub(super) struct LongRecord {
    machine: ByteLexer,
    /// Bytes before the statement, that are not looked at.
    head_bytes: usize,
    /// The byte before the next one.
    last: u8,
    /// A line has ended here, in this, and it is to be seen whether the record has.
    line: Option<LexContext>,
    /// Whether a record ends only behind a semicolon.
    needs_semicolon: bool,
}

impl LongRecord {
    /// Of a record with so many bytes before its statement.
    pub(super) fn new(reading: LexerMode, head_bytes: usize, needs_semicolon: bool) -> LongRecord {
        let machine = ByteLexer::new(reading);
        LongRecord { machine, head_bytes, last: b'\n', line: None, needs_semicolon }
    }

    /// Does not wait any longer to see whether the record has ended here: it has not.
    pub(super) fn continue_record(&mut self) {
        self.line = None;
    }

    /// What a reader gives for the bytes up to `gone`, the next record beginning there in `ended` where this one has
    /// ended. `long` is where the reader keeps what is left, `suspect_bytes` how much of what follows is suspect.
    pub(super) fn step(
        self,
        at: usize,
        (gone, ended): (usize, Option<LexContext>),
        long: &mut Option<LongRecord>,
        suspect_bytes: &mut usize,
    ) -> Option<ParseStep<'static>> {
        *suspect_bytes = suspect_bytes.saturating_sub(gone - at);
        match ended {
            Some(inside) if !inside.may_end() => *suspect_bytes = SUSPECT_BYTES,
            Some(_) => {}
            None => *long = Some(self),
        }
        match gone {
            gone if gone > at => Some(ParseStep::Skipped(gone, SkipReason::TooLong)),
            _ if ended.is_some() => None,
            _ => Some(ParseStep::More),
        }
    }

    /// Goes on from a place. `begins` says whether the next record begins behind a line's end, and `None` where more
    /// text is needed to tell. Gives the place up to which nothing of this one is needed any more, and if it ended
    /// there, in what.
    pub(super) fn skip_text(
        &mut self,
        text: &[u8],
        from: usize,
        begins: &mut dyn FnMut(usize, LexContext) -> Option<bool>,
    ) -> (usize, Option<LexContext>) {
        let skipped = self.head_bytes.min(text.len() - from);
        self.head_bytes -= skipped;
        let mut at = from + skipped;
        loop {
            if let Some(inside) = self.line {
                match begins(at, inside) {
                    None => return (at, None),
                    Some(true) => return (at, Some(inside)),
                    Some(false) => self.line = None,
                }
            }
            let Some((inside, next)) = self.machine.next_line(text, at) else {
                if at < text.len() {
                    self.last = text[text.len() - 1];
                }
                return (text.len(), None);
            };
            let before = if next - at >= 2 { text[next - 2] } else { self.last };
            self.last = b'\n';
            at = next;
            if before == b';' || !self.needs_semicolon {
                self.line = Some(inside);
            }
        }
    }
}
