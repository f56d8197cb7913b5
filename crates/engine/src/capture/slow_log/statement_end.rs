//! Where a statement ends, and what may be doubted about that.

use super::super::SUSPECT_BYTES;
use super::super::byte_lexer::LexerMode;
use super::super::lexer::{EscapeMode, LexContext, LineLexer};
use super::super::log_clock::LogFit;
use super::banner::{banner_before, starts_banner};
use super::head::{HeadMatch, RecordHead, read_head};
use super::{
    Confidence, LONGEST_START, Lookahead, SlowLog, is_start_of_head, may_start_head, starts_head,
    starts_short_head,
};

/// Where a statement ends.
pub(super) struct StatementEnd {
    /// Behind its last byte.
    pub(super) statement: usize,
    /// Where the next record begins.
    pub(super) next: usize,
    pub(super) confidence: Confidence,
    /// Whether what follows may be part of a literal.
    pub(super) is_guess: bool,
    /// Whether more of it may come.
    pub(super) is_early: bool,
    /// Lines from the statement's first on to there, where they were counted.
    pub(super) lines: Option<u64>,
}

/// What a search for a statement's end came to.
enum StatementSearch {
    End(StatementEnd),
    /// A head of this log's own stands at this place inside a quote or comment.
    Own(usize),
    /// The next record, or a banner, stands at this place behind something that does not end.
    Cut(usize),
    /// The text ends inside a quote or comment.
    Open,
}

/// What becomes of heads of this log's own inside quotes and comments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuotedHeads {
    /// They end a search.
    Count,
    /// They are text: the statement's quotes are known to have ends.
    AreText,
}

impl StatementEnd {
    /// At a line's end behind a semicolon.
    fn at_line_end(next: usize, confidence: Confidence, lines: u64) -> StatementEnd {
        let is_early = confidence == Confidence::Early;
        StatementEnd {
            statement: next - 2,
            next,
            confidence,
            is_guess: false,
            is_early,
            lines: Some(lines),
        }
    }

    /// Before a head inside of a quote that has no end.
    fn before_head(own: usize) -> StatementEnd {
        StatementEnd::from_guess(own - 2, own, Confidence::Unbalanced)
    }

    fn from_guess(statement: usize, next: usize, confidence: Confidence) -> StatementEnd {
        StatementEnd { statement, next, confidence, is_guess: true, is_early: false, lines: None }
    }

    /// At the end of the log.
    fn at_log_end(text: &[u8], begin: usize, confidence: Confidence) -> StatementEnd {
        let trimmed = text[begin..].trim_ascii_end().len();
        StatementEnd::from_guess(begin + trimmed, text.len(), confidence)
    }

    fn with_confidence(self, confidence: Confidence, is_guess: bool) -> StatementEnd {
        // What is cut stays so.
        match self.confidence {
            Confidence::Cut => self,
            _ => StatementEnd { confidence, is_guess, ..self },
        }
    }
}

impl SlowLog {
    /// Where the statement that begins at `begin` ends; `None` where more text is needed to tell. `found` is its head.
    pub(super) fn find_end(
        &self,
        text: &[u8],
        begin: usize,
        found: Option<&RecordHead<'_>>,
        ahead: Lookahead,
    ) -> Option<StatementEnd> {
        let (plain, is_torn) =
            self.search_end(text, begin, LexerMode::DEFAULT, QuotedHeads::Count, ahead)?;
        let mode = self.modes.for_session(found.and_then(|head| head.session));
        if is_torn {
            let base = mode.map_or(LexerMode::DEFAULT, |mode| mode.reading);
            let reading = LexerMode { runs_comments: true, ..base };
            let (run, _) = self.search_end(text, begin, reading, QuotedHeads::Count, ahead)?;
            return match (plain, run) {
                (StatementSearch::End(a), StatementSearch::End(b)) => {
                    let first = if b.next < a.next { b } else { a };
                    Some(first.with_confidence(Confidence::Ambiguous, true))
                }
                (StatementSearch::End(end), _) | (_, StatementSearch::End(end)) => {
                    Some(end.with_confidence(Confidence::Ambiguous, true))
                }
                (plain, _) => self.default_mode_end(text, begin, found, plain, ahead),
            };
        }
        if let Some(mode) = mode {
            let is_proven = self.is_proven(found);
            let imitations = if is_proven { QuotedHeads::AreText } else { QuotedHeads::Count };
            let (said, _) = self.search_end(text, begin, mode.reading, imitations, ahead)?;
            let is_said =
                |end: &StatementEnd| !is_proven || !may_end_elsewhere(&text[begin..end.next]);
            if let StatementSearch::End(said) = said {
                if !is_said(&said) {
                    return self.default_mode_end(text, begin, found, plain, ahead);
                }
                if matches!(&plain, StatementSearch::End(plain) if plain.next == said.next) {
                    return Some(said);
                }
                let is_wide = mode.reading.wide.is_some();
                let confidence =
                    if is_wide { Confidence::Ambiguous } else { Confidence::NoEscapes };
                return Some(said.with_confidence(confidence, !mode.is_sure));
            }
        }
        self.default_mode_end(text, begin, found, plain, ahead)
    }

    /// The same by what a search in the default reading came to.
    fn default_mode_end(
        &self,
        text: &[u8],
        begin: usize,
        found: Option<&RecordHead<'_>>,
        plain: StatementSearch,
        ahead: Lookahead,
    ) -> Option<StatementEnd> {
        let without = LexerMode::with_escapes(EscapeMode::None);
        // Where it ends so is not told from a quiet while.
        let sure = if ahead.is_all() { ahead } else { Lookahead::More };
        let is_proven = |end: &StatementEnd| {
            let text = &text[begin..end.next];
            self.is_proven(found) && !has_wide_backslash(text) && !may_end_elsewhere(text)
        };
        match plain {
            StatementSearch::End(end) if end.confidence == Confidence::Imitates => {
                let is_guess = !is_proven(&end);
                Some(StatementEnd { is_guess, ..end })
            }
            StatementSearch::End(end) => Some(end),
            StatementSearch::Own(own) => {
                match self.search_end(text, begin, without, QuotedHeads::Count, sure)?.0 {
                    StatementSearch::End(end) if end.next <= own => {
                        return Some(end.with_confidence(Confidence::NoEscapes, true));
                    }
                    _ => {}
                }
                if self.is_proven(found) {
                    // What looks like a head is text, unless the rest of the statement was lost.
                    let reading = LexerMode::DEFAULT;
                    match self.search_end(text, begin, reading, QuotedHeads::AreText, ahead)?.0 {
                        StatementSearch::End(end) if is_proven(&end) => {
                            return Some(end.with_confidence(Confidence::Imitates, false));
                        }
                        StatementSearch::Cut(at) => return Some(end_at_cut(text, begin, at)),
                        StatementSearch::End(_)
                        | StatementSearch::Own(_)
                        | StatementSearch::Open => {}
                    }
                }
                Some(StatementEnd::before_head(own))
            }
            StatementSearch::Cut(at) => Some(end_at_cut(text, begin, at)),
            StatementSearch::Open => {
                match self.search_end(text, begin, without, QuotedHeads::Count, sure)?.0 {
                    StatementSearch::End(end) => Some(StatementEnd {
                        confidence: Confidence::NoEscapes,
                        is_guess: true,
                        ..end
                    }),
                    _ => Some(StatementEnd::at_log_end(text, begin, Confidence::Unbalanced)),
                }
            }
        }
    }

    /// Whether a statement's head proves that all its quotes have an end. A head that may be text proves nothing.
    pub(super) fn is_proven(&self, found: Option<&RecordHead<'_>>) -> bool {
        self.suspect_bytes == 0 && found.is_some_and(RecordHead::proves_parse)
    }

    /// The first end in one reading, and whether a comment in it may end elsewhere.
    fn search_end(
        &self,
        text: &[u8],
        begin: usize,
        reading: LexerMode,
        imitations: QuotedHeads,
        ahead: Lookahead,
    ) -> Option<(StatementSearch, bool)> {
        let is_all = ahead.is_all();
        let mut lexer = LineLexer::new(text, begin, reading);
        let (mut lines, mut late) = (0, None);
        while let Some((inside, next)) = lexer.next_line() {
            lines += 1;
            if late.is_some_and(|late| next > late + SUSPECT_BYTES) {
                break;
            }
            let is_terminated = next >= begin + 2 && text[next - 2] == b';';
            let rest = &text[next..];
            if !is_terminated {
                if rest.first() == Some(&b'#') {
                    if let Some(cut) = self.find_cut(text, begin, (inside, next), is_all)? {
                        return Some((cut, lexer.is_torn()));
                    }
                }
                continue;
            }
            if rest.is_empty() {
                match ahead {
                    Lookahead::Quiet if inside.may_end() => {
                        let end = StatementEnd::at_line_end(next, Confidence::Early, lines);
                        return Some((StatementSearch::End(end), lexer.is_torn()));
                    }
                    Lookahead::More | Lookahead::Quiet => return None,
                    Lookahead::Nothing if inside.may_end() => {
                        let end = StatementEnd::at_line_end(next, Confidence::Clean, lines);
                        return Some((StatementSearch::End(end), lexer.is_torn()));
                    }
                    Lookahead::Nothing => continue,
                }
            }
            if rest.len() < LONGEST_START && !is_all && may_start_head(rest) {
                return None;
            }
            if inside.may_end() {
                if let Some(confidence) = self.check_record_start(text, next, is_all)? {
                    let end = StatementEnd::at_line_end(next, confidence, lines);
                    let end = match late {
                        Some(_) => end.with_confidence(Confidence::Imitates, true),
                        None => end,
                    };
                    return Some((StatementSearch::End(end), lexer.is_torn()));
                }
            } else if imitations == QuotedHeads::Count && self.starts_own_record(rest) {
                match read_head(text, next, is_all) {
                    HeadMatch::Incomplete => return None,
                    HeadMatch::Head(head) => match self.head_fit(&head) {
                        LogFit::Own => return Some((StatementSearch::Own(next), lexer.is_torn())),
                        LogFit::Late => late = late.or(Some(next)),
                        LogFit::No => {}
                    },
                    HeadMatch::Nothing => {}
                }
            }
        }
        let is_torn = lexer.is_torn();
        match (late, lexer.current_context()) {
            (Some(late), _) if is_all || text.len() > late + SUSPECT_BYTES => {
                Some((StatementSearch::Own(late), is_torn))
            }
            _ if !is_all => None,
            (_, LexContext::Quote(_) | LexContext::Comment) => {
                Some((StatementSearch::Open, is_torn))
            }
            _ => Some((
                StatementSearch::End(StatementEnd::at_log_end(text, begin, Confidence::Cut)),
                is_torn,
            )),
        }
    }

    /// Whether the next record, or a banner, begins at a place behind a statement's end; with what it makes doubtful.
    /// `Some(None)` where none does, `None` where more text is needed to tell.
    pub(super) fn check_record_start(
        &self,
        text: &[u8],
        at: usize,
        is_all: bool,
    ) -> Option<Option<Confidence>> {
        let rest = &text[at..];
        if rest.first() != Some(&b'#') {
            return Some(starts_banner(rest, is_all)?.then_some(Confidence::Clean));
        }
        if starts_head(rest) {
            return Some(Some(Confidence::Clean));
        }
        if !is_start_of_head(rest) {
            return Some(None);
        }
        // No head as most logs have them: it is one if it tells how long a statement took.
        match read_head(text, at, is_all) {
            HeadMatch::Incomplete => None,
            HeadMatch::Head(head) if head.took_us.is_some() => {
                let is_usual = self.is_short && starts_short_head(rest);
                Some(Some(if is_usual { Confidence::Clean } else { Confidence::Irregular }))
            }
            HeadMatch::Head(_) | HeadMatch::Nothing => Some(None),
        }
    }

    /// A head behind something that does not end: the server died, or the disk was full. It counts outside quotes, and
    /// behind a banner anywhere, if it is what this log would write next. `None` where the text is too short.
    fn find_cut(
        &self,
        text: &[u8],
        begin: usize,
        (inside, at): (LexContext, usize),
        is_all: bool,
    ) -> Option<Option<StatementSearch>> {
        let rest = &text[at..];
        if !starts_head(rest) {
            let is_short = rest.len() < LONGEST_START && !is_all && may_start_head(rest);
            return if is_short { None } else { Some(None) };
        }
        let banner = banner_before(&text[begin..at]).map(|from| begin + from);
        if banner.is_none() && !inside.may_end() {
            return Some(None);
        }
        let is_next = |head: &RecordHead<'_>| match banner {
            Some(_) => inside.may_end() || self.fits_restart(head),
            None => head.stamp_us.is_some() && self.head_fit(head) != LogFit::No,
        };
        match read_head(text, at, is_all) {
            HeadMatch::Incomplete => None,
            HeadMatch::Head(head) if is_next(&head) => {
                Some(Some(StatementSearch::Cut(banner.unwrap_or(at))))
            }
            _ => Some(None),
        }
    }

    /// How well a head is what this log would write next.
    pub(super) fn head_fit(&self, head: &RecordHead<'_>) -> LogFit {
        let is_known = |session: u64| {
            self.sessions.contains(&session)
                || (session > self.newest_session && session < self.newest_session + 1_000_000)
        };
        let is_alike = head.has_user != self.is_short
            && !head.is_odd
            && self.shape.is_none_or(|shape| shape == head.shape)
            && head.session.is_none_or(is_known);
        match head.time_us() {
            _ if !is_alike => LogFit::No,
            None => LogFit::Own,
            Some(us) => self.clock.time_fit(us, head.is_noted_end),
        }
    }

    /// Whether a head may be the first of a server that was started anew: its sessions are others, its time goes on.
    fn fits_restart(&self, head: &RecordHead<'_>) -> bool {
        head.has_user != self.is_short
            && !head.is_odd
            && self.shape.is_none_or(|shape| shape == head.shape)
            && head
                .time_us()
                .is_some_and(|us| self.clock.time_fit(us, head.is_noted_end) != LogFit::No)
    }
}

/// What stands before a head behind something that has no end.
fn end_at_cut(text: &[u8], begin: usize, at: usize) -> StatementEnd {
    let statement = begin + text[begin..at].trim_ascii_end().len();
    StatementEnd::from_guess(statement, at, Confidence::Cut)
}

/// Whether a backslash may be the second byte of a character: then nobody knows what it hides.
fn has_wide_backslash(text: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', text).any(|at| at > 0 && text[at - 1] >= 0x80)
}

/// Whether there may be a comment that some servers run as code, and that ends elsewhere then.
fn may_end_elsewhere(text: &[u8]) -> bool {
    [&b"/*!"[..], b"/*M!"].iter().any(|begin| memchr::memmem::find(text, begin).is_some())
}
