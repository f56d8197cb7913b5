//! A log read piece by piece: knows its format by its begin, and holds no more of it than the record under way.

use std::io::Read;

use super::{Ahead, Doubt, Format, LOG_FORMATS, Recorded, Skipped, Step, format_names};

/// Bytes read at a time.
const PIECE: usize = 1 << 20;
/// So much of a log's begin is looked at to know its format.
const BEGIN: usize = 64 << 10;
/// Places that are kept of what could not be understood.
const MOST_PLACES: usize = 100;

/// Whether to go on after a record.
pub type Next = std::ops::ControlFlow<()>;

/// Why a log can't be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It can't be read at all.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Its begin is that of no log we know.
    #[error("this is no log of a known format ({})", format_names().join(", "))]
    Unknown,
}

/// Lines that could not be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The first of them, from 1.
    pub line: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// What was read of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records, whatever they are.
    pub records: u64,
    /// Among them with a quote or comment that has no end.
    pub unbalanced: u64,
    /// Among them that may be part of a literal.
    pub suspect: u64,
    /// Among them that end only where backslashes are bytes like others.
    pub no_escapes: u64,
    /// Among them given as nothing came behind them for a while.
    pub early: u64,
    /// Among those of which more came later: what was given is not all of them.
    pub continued: u64,
    /// Among the records, cut by the log's end.
    pub cut: u64,
    /// Starts and rotations of servers.
    pub banners: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Bytes not understood.
    pub skipped_bytes: u64,
    /// Where the first of them are.
    pub skipped: Vec<Place>,
}

/// What a log that is being written has for its reader.
#[derive(Clone, Copy, Debug)]
pub enum News<'r, 't> {
    /// Something recorded.
    Recorded(&'r Recorded<'t>),
    /// Nothing for a while: time to look at clocks and stop flags.
    Idle,
}

/// What becomes of each record.
type On<'a> = &'a mut dyn FnMut(&Recorded<'_>) -> Next;

/// One log. A file is [read](Log::read), a source that is still being written is [listened to](Log::listen); what comes
/// in another way is [pushed](Log::push).
pub struct Log {
    format: Option<Box<dyn Format>>,
    /// What was read last; made once, as a pipe may give little at a time.
    piece: Vec<u8>,
    text: Vec<u8>,
    /// Where the next record begins.
    at: usize,
    /// Its line, from 1.
    line: u64,
    /// Its place in the log.
    offset: u64,
    /// No look again before there is so much text behind `at`.
    wanted: usize,
    /// Whether nothing came since the last look in a quiet while.
    is_looked_at: bool,
    is_attached: bool,
    is_patient: bool,
    tally: Tally,
}

impl Default for Log {
    fn default() -> Log {
        Log {
            format: None,
            piece: Vec::new(),
            text: Vec::new(),
            at: 0,
            line: 1,
            offset: 0,
            wanted: 0,
            is_looked_at: true,
            is_attached: false,
            is_patient: false,
            tally: Tally::default(),
        }
    }
}

impl Log {
    /// A log that is read from anywhere in its midst: what stands before the first head is skipped and counted, however
    /// much it is. Which database is in use is unknown until the log tells.
    pub fn attached() -> Log {
        Log { is_attached: true, ..Log::default() }
    }

    /// The same, but a record is given only when the next one begins or the log ends: never early.
    pub fn patient(self) -> Log {
        Log { is_patient: true, ..self }
    }

    /// What was read so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Bytes of the log that are done with: a log attached there goes on with the next record.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads a source to its end, or until `on` says so; each record is given to `on` as soon as it is whole.
    ///
    /// # Errors
    /// When the source can't be read, or is no log.
    pub fn read(&mut self, source: &mut dyn Read, on: On<'_>) -> Result<(), LogError> {
        self.listen(source, &mut |news| match news {
            News::Recorded(recorded) => on(recorded),
            News::Idle => Next::Continue(()),
        })
    }

    /// Reads a source that is still being written until it ends or `on` says so. The source gives
    /// `ErrorKind::WouldBlock` or `TimedOut` when nothing came for a while (some 200 ms): then a last record that looks
    /// whole is given, [early](Doubt::Early), and after it `Idle`. May be called again after `on` ended it.
    ///
    /// # Errors
    /// When the source can't be read, or is no log.
    pub fn listen(
        &mut self,
        source: &mut dyn Read,
        on: &mut dyn FnMut(News<'_, '_>) -> Next,
    ) -> Result<(), LogError> {
        let mut piece = std::mem::take(&mut self.piece);
        piece.resize(PIECE, 0);
        let result = self.hear(source, &mut piece, on);
        self.piece = piece;
        result
    }

    fn hear(
        &mut self,
        source: &mut dyn Read,
        piece: &mut [u8],
        on: &mut dyn FnMut(News<'_, '_>) -> Next,
    ) -> Result<(), LogError> {
        use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        loop {
            let each = &mut |recorded: &Recorded<'_>| on(News::Recorded(recorded));
            let next = match source.read(piece) {
                Ok(0) => return self.finish(each).map(|_| ()),
                Ok(read) => self.push(&piece[..read], each)?,
                Err(e) if e.kind() == Interrupted => continue,
                Err(e) if matches!(e.kind(), WouldBlock | TimedOut) => match self.pause(each)? {
                    Next::Continue(()) => on(News::Idle),
                    stop => stop,
                },
                Err(e) => {
                    // What came before is good.
                    let _ = self.finish(each);
                    return Err(e.into());
                }
            };
            if next.is_break() {
                return Ok(());
            }
        }
    }

    /// Takes more of the log; gives what is whole.
    ///
    /// # Errors
    /// When it is no log.
    pub fn push(&mut self, text: &[u8], on: On<'_>) -> Result<Next, LogError> {
        self.text.extend_from_slice(text);
        self.tally.bytes += text.len() as u64;
        self.is_looked_at = false;
        self.walk(Ahead::More, on)
    }

    /// Nothing came for a while: gives a last record that looks whole.
    ///
    /// # Errors
    /// When it is no log.
    pub fn pause(&mut self, on: On<'_>) -> Result<Next, LogError> {
        if self.is_patient || self.is_looked_at {
            return Ok(Next::Continue(()));
        }
        self.is_looked_at = true;
        self.walk(Ahead::Quiet, on)
    }

    /// Nothing more will come: gives what is left.
    ///
    /// # Errors
    /// When it is no log.
    pub fn finish(&mut self, on: On<'_>) -> Result<Next, LogError> {
        self.walk(Ahead::Nothing, on)
    }

    /// Takes what is whole of the text.
    fn walk(&mut self, ahead: Ahead, on: On<'_>) -> Result<Next, LogError> {
        if ahead == Ahead::More && self.text.len() - self.at < self.wanted {
            return Ok(Next::Continue(()));
        }
        if self.format.is_none() && !self.know(ahead)? {
            return Ok(Next::Continue(()));
        }
        let Some(format) = &mut self.format else { return Ok(Next::Continue(())) };
        self.wanted = 0;
        let mut next = Next::Continue(());
        while self.at < self.text.len() && next.is_continue() {
            let from = self.at;
            match format.step(&self.text, from, self.line, ahead) {
                Step::Recorded(mut recorded, end) => {
                    recorded.raw = &self.text[from..end];
                    recorded.offset = self.offset;
                    self.tally.take(recorded.doubt);
                    self.at = end;
                    next = on(&recorded);
                }
                Step::Skipped(end, what) => {
                    self.tally.skip(&self.text[from..end], self.line, what);
                    self.at = end;
                    if self.tally.records == 0 && self.tally.skipped_bytes > 0 {
                        format.lacks_begin();
                    }
                }
                Step::More => {
                    // A long record is looked at again when there is twice as much of it.
                    self.wanted = (self.text.len() - from) * 2;
                    break;
                }
            }
            if self.at <= from {
                // A format that gets no further must not hang; what is there is not understood.
                self.tally.skip(&self.text[from..], self.line, Skipped::Strange);
                self.at = self.text.len();
            }
            let done = &self.text[from..self.at];
            self.line += line_count(done);
            self.offset += done.len() as u64;
        }
        self.text.drain(..self.at);
        self.at = 0;
        Ok(next)
    }

    /// Finds the format; `false` where more text is needed for it.
    fn know(&mut self, ahead: Ahead) -> Result<bool, LogError> {
        loop {
            let begin = &self.text[..self.text.len().min(BEGIN)];
            let whole = match memchr::memrchr(b'\n', begin) {
                _ if ahead.is_all() => begin,
                Some(end) => &begin[..=end],
                None => &[],
            };
            let mut lines = whole.split(|b| *b == b'\n');
            let of = |line| LOG_FORMATS.iter().find(|(_, begins, _)| begins(line));
            if let Some((_, _, open)) = lines.find_map(of) {
                let mut format = open();
                if self.tally.skipped_bytes > 0 {
                    format.lacks_begin();
                }
                self.format = Some(format);
                return Ok(true);
            }
            if begin.is_empty() || begin.len() < BEGIN && !ahead.is_all() {
                return Ok(false);
            }
            if !self.is_attached && !begin.iter().all(u8::is_ascii_whitespace) {
                return Err(LogError::Unknown);
            }
            // In the midst of something long, whose rest is of no use. A line that has no end yet leaves a byte of it, so
            // that what follows is no line's begin.
            let is_line = !whole.is_empty();
            self.at = if is_line { whole.len() } else { begin.len() - 1 };
            self.tally.skip(&self.text[..self.at], self.line, Skipped::Strange);
            self.line += line_count(&self.text[..self.at]);
            self.offset += self.at as u64;
            self.text.drain(..self.at);
            self.at = 0;
        }
    }
}

/// Ends of lines in a text.
pub(super) fn line_count(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

impl Tally {
    fn take(&mut self, doubt: Doubt) {
        self.records += 1;
        match doubt {
            Doubt::Clean => {}
            Doubt::NoEscapes => self.no_escapes += 1,
            Doubt::Unbalanced => self.unbalanced += 1,
            Doubt::Suspect => self.suspect += 1,
            Doubt::Early => self.early += 1,
            Doubt::Cut => self.cut += 1,
        }
    }

    fn skip(&mut self, text: &[u8], line: u64, what: Skipped) {
        if what == Skipped::Banner {
            self.banners += 1;
        } else if !text.iter().all(u8::is_ascii_whitespace) {
            self.continued += u64::from(what == Skipped::Rest);
            self.skipped_bytes += text.len() as u64;
            if self.skipped.len() < MOST_PLACES {
                self.skipped.push(Place { line, bytes: text.len() as u64 });
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::capture::{Database, Deed};

    /// What was recorded, on its own.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(in crate::capture) struct Owned {
        pub line: u64,
        pub deed: Deed,
        pub text: String,
        pub session: Option<u64>,
        pub database: Option<String>,
        pub began_us: Option<u64>,
        pub doubt: Doubt,
    }

    /// Everything in a log, given to us in pieces of so many bytes.
    pub(in crate::capture) fn all(text: &[u8], piece: usize) -> (Vec<Owned>, Tally) {
        struct Pieces<'a>(&'a [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                let length = self.0.len().min(self.1).min(out.len());
                out[..length].copy_from_slice(&self.0[..length]);
                self.0 = &self.0[length..];
                Ok(length)
            }
        }
        let (mut log, mut found) = (Log::default(), Vec::new());
        log.read(&mut Pieces(text, piece), &mut |r| {
            found.push(Owned {
                line: r.line,
                deed: r.deed,
                text: String::from_utf8_lossy(r.text).into_owned(),
                session: r.session,
                database: match r.database {
                    Database::Unknown => None,
                    Database::None => Some(String::new()),
                    Database::Named(name) => Some(String::from_utf8_lossy(name).into_owned()),
                },
                began_us: r.began_us,
                doubt: r.doubt,
            });
            Next::Continue(())
        })
        .unwrap();
        (found, log.tally().clone())
    }

    /// Hears a log that comes in these parts, with a quiet while behind each: texts with their doubts.
    fn heard(mut log: Log, parts: &[&str]) -> (Vec<(String, Doubt)>, Tally) {
        let mut found = Vec::new();
        let on = &mut |r: &Recorded<'_>| {
            found.push((String::from_utf8_lossy(r.text).into_owned(), r.doubt));
            Next::Continue(())
        };
        for part in parts {
            assert!(log.push(part.as_bytes(), on).unwrap().is_continue());
            assert!(log.pause(on).unwrap().is_continue());
            assert!(log.pause(on).unwrap().is_continue());
        }
        assert!(log.finish(on).unwrap().is_continue());
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        assert_eq!((log.offset(), log.tally().bytes), (bytes as u64, bytes as u64));
        (found, log.tally().clone())
    }

    /// Of a session that this log can't have.
    const FORGED: &str = "# User@Host: u[u] @ h []  Id: 99999999\n# Query_time: 0.1\n";

    const HEAD: &str = "# Time: 2026-11-21T07:12:09.637423Z\n# User@Host: u[u] @ h []  Id:     3\n\
         # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n\
         SET timestamp=1795245129;\n";

    #[test]
    fn what_looks_whole_is_given_in_a_quiet_while_and_once() {
        let one = format!("{HEAD}select 1;\n");
        let two = format!("{HEAD}select 2 -- end;\n");
        let (found, tally) = heard(Log::default(), &[&one, &two, &one]);
        let early = |text: &str| (text.to_owned(), Doubt::Early);
        assert_eq!(found, [early("select 1"), early("select 2 -- end"), early("select 1")]);
        assert_eq!((tally.records, tally.early, tally.skipped_bytes), (3, 3, 0));
        let (found, _) = heard(Log::default().patient(), &[&one, &two]);
        assert!(found.iter().all(|(_, doubt)| *doubt == Doubt::Clean), "{found:?}");
        let line = "2026-11-21T07:12:06.155357Z\t   27 Query\tselect 1\n";
        let (found, tally) = heard(Log::default(), &[line, line]);
        assert_eq!(found, [early("select 1"), early("select 1")]);
        assert_eq!(tally.skipped_bytes, 0);
    }

    #[test]
    fn a_record_that_comes_in_parts_is_one_wherever_it_is_cut() {
        let text = format!(
            "{HEAD}select 1;\n{HEAD}use x;\nselect 'a;\n{FORGED}drop table t;\n' -- it's\n, 2;\n{HEAD}do 3;\n"
        );
        let text = text.replace(&format!("{HEAD}use x;\n"), &HEAD.replace("SET", "use x;\nSET"));
        let (whole, _) = heard(Log::default().patient(), &[&text]);
        assert_eq!(whole.len(), 3);
        for cut in 0..text.len() {
            let (found, tally) = heard(Log::default(), &[&text[..cut], &text[cut..]]);
            let texts: Vec<&String> = found.iter().map(|(text, _)| text).collect();
            assert_eq!(texts, whole.iter().map(|(text, _)| text).collect::<Vec<_>>(), "{cut}");
            assert_eq!(tally.skipped_bytes, 0, "{cut}");
        }
        let text = "2026-11-21T07:12:06.155357Z\t   27 Query\tselect 'a\n\t\t    99 Quit\t\nb'\n\
                    2026-11-21T07:12:06.155358Z\t   28 Quit\t\n";
        for cut in 0..text.len() {
            let (found, _) = heard(Log::default(), &[&text[..cut], &text[cut..]]);
            assert_eq!(found.len(), 2, "{cut}: {found:?}");
        }
    }

    #[test]
    fn what_comes_after_a_record_was_given_early_is_no_record() {
        let (begin, rest) = ("create procedure p() begin\nselect 1;\n", "select '\n");
        let parts =
            [&format!("{HEAD}{begin}"), rest, FORGED, "drop table t;\n';\nend;\n", HEAD, "do 1;\n"];
        let (found, tally) = heard(Log::default(), &parts);
        let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts, ["create procedure p() begin\nselect 1", "do 1"]);
        assert_eq!(tally.continued, 1);
        let line = "2026-11-21T07:12:06.155357Z\t   27 Query\t";
        let parts = [
            line,
            "select 1\n",
            "from '\n",
            "\t\t    99 Query\t",
            "x'\n",
            "where 1\n",
            line,
            "do 1\n",
        ];
        let (found, tally) = heard(Log::default(), &parts);
        let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts, ["select 1", "do 1"]);
        assert_eq!(tally.continued, 1);
    }

    #[test]
    fn a_log_may_be_attached_to_in_the_midst_of_anything() {
        let long = "x;\nno head".repeat(20_000);
        let text = format!("{long}\n# User@Host, not\n{HEAD}select 1;\n");
        let (found, tally) = heard(Log::attached(), &[&text[..70_000], &text[70_000..]]);
        assert_eq!(found, [("select 1".to_owned(), Doubt::Suspect)]);
        assert_eq!(tally.skipped_bytes as usize, text.find("# Time").unwrap());
        let long = format!("{}# User@Host: e[e] @ h []\nselect 1;\n", "x".repeat(BEGIN));
        let (found, _) = heard(Log::attached(), &[&long]);
        assert_eq!(found, []);
        let (found, _) = heard(Log::attached(), &[&format!("{HEAD}select 1;\n")]);
        assert_eq!(found[0].1, Doubt::Early, "nothing is missing");
    }

    #[test]
    fn a_source_may_have_nothing_for_a_while() {
        struct Slow(Vec<Option<String>>);
        impl Read for Slow {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                match self.0.pop() {
                    None => Ok(0),
                    Some(None) => Err(std::io::ErrorKind::WouldBlock.into()),
                    Some(Some(text)) => text.as_bytes().read(out),
                }
            }
        }
        let one = || Some(format!("{HEAD}select 1;\n"));
        let mut source = Slow(vec![one(), None, one(), None, None, one()]);
        let (mut log, mut seen) = (Log::default(), String::new());
        let mut stops = 1;
        while stops < 4 {
            log.listen(&mut source, &mut |news| {
                seen.push(if matches!(news, News::Idle) { '.' } else { 'r' });
                let is_stop = seen.len() == stops;
                if is_stop { Next::Break(()) } else { Next::Continue(()) }
            })
            .unwrap();
            stops += 1;
        }
        log.listen(&mut source, &mut |news| {
            seen.push(if matches!(news, News::Idle) { '.' } else { 'r' });
            Next::Continue(())
        })
        .unwrap();
        assert_eq!(seen, "r.rr");
    }

    #[test]
    fn what_is_no_log_is_refused_and_nothing_is_nothing() {
        let on = &mut |_: &Recorded<'_>| Next::Continue(());
        let mut log = Log::default();
        assert!(matches!(log.read(&mut &b"hello\nworld\n"[..], on), Err(LogError::Unknown)));
        let mut log = Log::default();
        log.read(&mut &b"\n\n"[..], on).unwrap();
        assert_eq!(log.tally().records, 0);
    }
}
