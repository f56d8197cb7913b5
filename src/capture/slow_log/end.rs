//! Where a statement ends, and what may be doubted about that.

use super::super::SUSPECT_BYTES;
use super::super::lexer::{Escapes, Inside, Lines};
use super::super::log_clock::Fit;
use super::super::machine::Reading;
use super::banner::{banner_before, starts_banner};
use super::head::{Found, Head, head};
use super::{
    Ahead, Doubt, LONGEST_START, SlowLog, is_start_of_head, may_start_head, starts_head,
    starts_short_head,
};

/// Where a statement ends.
pub(super) struct End {
    /// Behind its last byte.
    pub(super) statement: usize,
    /// Where the next record begins.
    pub(super) next: usize,
    pub(super) doubt: Doubt,
    /// Whether what follows may be part of a literal.
    pub(super) is_guess: bool,
    /// Whether more of it may come.
    pub(super) is_early: bool,
    /// Lines from the statement's first on to there, where they were counted.
    pub(super) lines: Option<u64>,
}

/// What a search for a statement's end came to.
enum Search {
    End(End),
    /// A head of this log's own stands at this place inside a quote or comment.
    Own(usize),
    /// The next record, or a banner, stands at this place behind something that does not end.
    Cut(usize),
    /// The text ends inside a quote or comment.
    Open,
}

/// What becomes of heads of this log's own inside quotes and comments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Imitations {
    /// They end a search.
    Count,
    /// They are text: the statement's quotes are known to have ends.
    AreText,
}

impl End {
    /// At a line's end behind a semicolon.
    fn at(next: usize, doubt: Doubt, lines: u64) -> End {
        let is_early = doubt == Doubt::Early;
        End { statement: next - 2, next, doubt, is_guess: false, is_early, lines: Some(lines) }
    }

    /// Before a head inside of a quote that has no end.
    fn before(own: usize) -> End {
        End::guessed(own - 2, own, Doubt::Unbalanced)
    }

    fn guessed(statement: usize, next: usize, doubt: Doubt) -> End {
        End { statement, next, doubt, is_guess: true, is_early: false, lines: None }
    }

    /// At the end of the log.
    fn of_log(text: &[u8], begin: usize, doubt: Doubt) -> End {
        let trimmed = text[begin..].trim_ascii_end().len();
        End::guessed(begin + trimmed, text.len(), doubt)
    }

    fn with(self, doubt: Doubt, is_guess: bool) -> End {
        // What is cut stays so.
        match self.doubt {
            Doubt::Cut => self,
            _ => End { doubt, is_guess, ..self },
        }
    }
}

impl SlowLog {
    /// Where the statement that begins at `begin` ends; `None` where more text is needed to tell. `found` is its head.
    pub(super) fn end(
        &self,
        text: &[u8],
        begin: usize,
        found: Option<&Head<'_>>,
        ahead: Ahead,
    ) -> Option<End> {
        let (plain, is_torn) =
            self.search(text, begin, Reading::DEFAULT, Imitations::Count, ahead)?;
        let mode = self.modes.of(found.and_then(|head| head.session));
        if is_torn {
            let base = mode.map_or(Reading::DEFAULT, |mode| mode.reading);
            let reading = Reading { runs_comments: true, ..base };
            let (run, _) = self.search(text, begin, reading, Imitations::Count, ahead)?;
            return match (plain, run) {
                (Search::End(a), Search::End(b)) => {
                    let first = if b.next < a.next { b } else { a };
                    Some(first.with(Doubt::Ambiguous, true))
                }
                (Search::End(end), _) | (_, Search::End(end)) => {
                    Some(end.with(Doubt::Ambiguous, true))
                }
                (plain, _) => self.plain_end(text, begin, found, plain, ahead),
            };
        }
        if let Some(mode) = mode {
            let is_proven = self.is_proven(found);
            let imitations = if is_proven { Imitations::AreText } else { Imitations::Count };
            let (said, _) = self.search(text, begin, mode.reading, imitations, ahead)?;
            let is_said = |end: &End| !is_proven || !may_end_elsewhere(&text[begin..end.next]);
            if let Search::End(said) = said {
                if !is_said(&said) {
                    return self.plain_end(text, begin, found, plain, ahead);
                }
                if matches!(&plain, Search::End(plain) if plain.next == said.next) {
                    return Some(said);
                }
                let is_wide = mode.reading.wide.is_some();
                let doubt = if is_wide { Doubt::Ambiguous } else { Doubt::NoEscapes };
                return Some(said.with(doubt, !mode.is_sure));
            }
        }
        self.plain_end(text, begin, found, plain, ahead)
    }

    /// The same by what a search in the default reading came to.
    fn plain_end(
        &self,
        text: &[u8],
        begin: usize,
        found: Option<&Head<'_>>,
        plain: Search,
        ahead: Ahead,
    ) -> Option<End> {
        let without = Reading::with(Escapes::None);
        // Where it ends so is not told from a quiet while.
        let sure = if ahead.is_all() { ahead } else { Ahead::More };
        let is_proven = |end: &End| {
            let text = &text[begin..end.next];
            self.is_proven(found) && !has_wide_backslash(text) && !may_end_elsewhere(text)
        };
        match plain {
            Search::End(end) if end.doubt == Doubt::Imitates => {
                let is_guess = !is_proven(&end);
                Some(End { is_guess, ..end })
            }
            Search::End(end) => Some(end),
            Search::Own(own) => {
                match self.search(text, begin, without, Imitations::Count, sure)?.0 {
                    Search::End(end) if end.next <= own => {
                        return Some(end.with(Doubt::NoEscapes, true));
                    }
                    _ => {}
                }
                if self.is_proven(found) {
                    // What looks like a head is text, unless the rest of the statement was lost.
                    let reading = Reading::DEFAULT;
                    match self.search(text, begin, reading, Imitations::AreText, ahead)?.0 {
                        Search::End(end) if is_proven(&end) => {
                            return Some(end.with(Doubt::Imitates, false));
                        }
                        Search::Cut(at) => return Some(cut(text, begin, at)),
                        Search::End(_) | Search::Own(_) | Search::Open => {}
                    }
                }
                Some(End::before(own))
            }
            Search::Cut(at) => Some(cut(text, begin, at)),
            Search::Open => match self.search(text, begin, without, Imitations::Count, sure)?.0 {
                Search::End(end) => Some(End { doubt: Doubt::NoEscapes, is_guess: true, ..end }),
                _ => Some(End::of_log(text, begin, Doubt::Unbalanced)),
            },
        }
    }

    /// Whether a statement's head proves that all its quotes have an end. A head that may be text proves nothing.
    pub(super) fn is_proven(&self, found: Option<&Head<'_>>) -> bool {
        self.suspect_bytes == 0 && found.is_some_and(Head::proves_parse)
    }

    /// The first end in one reading, and whether a comment in it may end elsewhere.
    fn search(
        &self,
        text: &[u8],
        begin: usize,
        reading: Reading,
        imitations: Imitations,
        ahead: Ahead,
    ) -> Option<(Search, bool)> {
        let is_all = ahead.is_all();
        let mut lexer = Lines::new(text, begin, reading);
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
                    if let Some(cut) = self.cut(text, begin, (inside, next), is_all)? {
                        return Some((cut, lexer.is_torn()));
                    }
                }
                continue;
            }
            if rest.is_empty() {
                match ahead {
                    Ahead::Quiet if inside.may_end() => {
                        let end = End::at(next, Doubt::Early, lines);
                        return Some((Search::End(end), lexer.is_torn()));
                    }
                    Ahead::More | Ahead::Quiet => return None,
                    Ahead::Nothing if inside.may_end() => {
                        let end = End::at(next, Doubt::Clean, lines);
                        return Some((Search::End(end), lexer.is_torn()));
                    }
                    Ahead::Nothing => continue,
                }
            }
            if rest.len() < LONGEST_START && !is_all && may_start_head(rest) {
                return None;
            }
            if inside.may_end() {
                if let Some(doubt) = self.begins_record(text, next, is_all)? {
                    let end = End::at(next, doubt, lines);
                    let end = match late {
                        Some(_) => end.with(Doubt::Imitates, true),
                        None => end,
                    };
                    return Some((Search::End(end), lexer.is_torn()));
                }
            } else if imitations == Imitations::Count && self.starts(rest) {
                match head(text, next, is_all) {
                    Found::Incomplete => return None,
                    Found::Head(head) => match self.fit(&head) {
                        Fit::Own => return Some((Search::Own(next), lexer.is_torn())),
                        Fit::Late => late = late.or(Some(next)),
                        Fit::No => {}
                    },
                    Found::Nothing => {}
                }
            }
        }
        let is_torn = lexer.is_torn();
        match (late, lexer.inside()) {
            (Some(late), _) if is_all || text.len() > late + SUSPECT_BYTES => {
                Some((Search::Own(late), is_torn))
            }
            _ if !is_all => None,
            (_, Inside::Quote(_) | Inside::Comment) => Some((Search::Open, is_torn)),
            _ => Some((Search::End(End::of_log(text, begin, Doubt::Cut)), is_torn)),
        }
    }

    /// Whether the next record, or a banner, begins at a place behind a statement's end; with what it makes doubtful.
    /// `Some(None)` where none does, `None` where more text is needed to tell.
    pub(super) fn begins_record(
        &self,
        text: &[u8],
        at: usize,
        is_all: bool,
    ) -> Option<Option<Doubt>> {
        let rest = &text[at..];
        if rest.first() != Some(&b'#') {
            return Some(starts_banner(rest, is_all)?.then_some(Doubt::Clean));
        }
        if starts_head(rest) {
            return Some(Some(Doubt::Clean));
        }
        if !is_start_of_head(rest) {
            return Some(None);
        }
        // No head as most logs have them: it is one if it tells how long a statement took.
        match head(text, at, is_all) {
            Found::Incomplete => None,
            Found::Head(head) if head.took_us.is_some() => {
                let is_usual = self.is_short && starts_short_head(rest);
                Some(Some(if is_usual { Doubt::Clean } else { Doubt::Irregular }))
            }
            Found::Head(_) | Found::Nothing => Some(None),
        }
    }

    /// A head behind something that does not end: the server died, or the disk was full. It counts outside quotes, and
    /// behind a banner anywhere, if it is what this log would write next. `None` where the text is too short.
    fn cut(
        &self,
        text: &[u8],
        begin: usize,
        (inside, at): (Inside, usize),
        is_all: bool,
    ) -> Option<Option<Search>> {
        let rest = &text[at..];
        if !starts_head(rest) {
            let is_short = rest.len() < LONGEST_START && !is_all && may_start_head(rest);
            return if is_short { None } else { Some(None) };
        }
        let banner = banner_before(&text[begin..at]).map(|from| begin + from);
        if banner.is_none() && !inside.may_end() {
            return Some(None);
        }
        let is_next = |head: &Head<'_>| match banner {
            Some(_) => inside.may_end() || self.fits_restart(head),
            None => head.stamp_us.is_some() && self.fit(head) != Fit::No,
        };
        match head(text, at, is_all) {
            Found::Incomplete => None,
            Found::Head(head) if is_next(&head) => Some(Some(Search::Cut(banner.unwrap_or(at)))),
            _ => Some(None),
        }
    }

    /// How well a head is what this log would write next.
    pub(super) fn fit(&self, head: &Head<'_>) -> Fit {
        let is_known = |session: u64| {
            self.sessions.contains(&session)
                || (session > self.newest_session && session < self.newest_session + 1_000_000)
        };
        let is_alike = head.has_user != self.is_short
            && !head.is_odd
            && self.shape.is_none_or(|shape| shape == head.shape)
            && head.session.is_none_or(is_known);
        match head.time_us() {
            _ if !is_alike => Fit::No,
            None => Fit::Own,
            Some(us) => self.clock.fit(us, head.is_noted_end),
        }
    }

    /// Whether a head may be the first of a server that was started anew: its sessions are others, its time goes on.
    fn fits_restart(&self, head: &Head<'_>) -> bool {
        head.has_user != self.is_short
            && !head.is_odd
            && self.shape.is_none_or(|shape| shape == head.shape)
            && head.time_us().is_some_and(|us| self.clock.fit(us, head.is_noted_end) != Fit::No)
    }
}

/// What stands before a head behind something that has no end.
fn cut(text: &[u8], begin: usize, at: usize) -> End {
    let statement = begin + text[begin..at].trim_ascii_end().len();
    End::guessed(statement, at, Doubt::Cut)
}

/// Whether a backslash may be the second byte of a character: then nobody knows what it hides.
fn has_wide_backslash(text: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', text).any(|at| at > 0 && text[at - 1] >= 0x80)
}

/// Whether there may be a comment that some servers run as code, and that ends elsewhere then.
fn may_end_elsewhere(text: &[u8]) -> bool {
    [&b"/*!"[..], b"/*M!"].iter().any(|begin| memchr::memmem::find(text, begin).is_some())
}
