//! Statements from the past: readers of logs, the statement type, the digest.
//! Never knows: load; threads, but where a log is served to many (`ship/serve`).
//! Start reading at `LogRecord`, then `LOG_FORMATS`. To add a format of logs: a folder with a `FormatParser`, and its line in
//! `LOG_FORMATS`.

mod byte_lexer;
pub mod classes;
mod compact_times;
#[cfg(test)]
mod dialects;
pub mod digest;
mod general_log;
mod lexer;
mod log;
mod log_clock;
mod long_record;
pub mod read_only;
pub mod redact;
mod session_databases;
mod session_modes;
pub mod ship;
mod slow_log;
pub mod source;
pub mod table_log;
mod time;
pub mod writes;

pub use compact_times::CompactTimes;
pub use digest::write_digest;
pub use lexer::is_dash_comment;
pub use log::{LogError, LogFlow, LogParser, LogTally, LogUpdate, MOST_RECORD_BYTES, SkippedRange};
pub use slow_log::write_slow_record;

/// One thing that a session did, as a log tells of it. What a log does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRecord<'t> {
    /// Line of the log on which its text begins, from 1.
    pub line: u64,
    /// Where in the log its bytes begin, bytes from where reading began.
    pub offset: u64,
    /// What it did.
    pub kind: EventKind,
    /// The statement as bytes, without the log's terminator; the argument of other deeds.
    pub text: &'t [u8],
    /// The session's number in its server.
    pub session: Option<u64>,
    /// The account it acts as.
    pub user: &'t [u8],
    /// Where the session comes from.
    pub host: &'t [u8],
    /// The session's default database.
    pub database: DefaultDatabase<'t>,
    /// When it began, microseconds since 1970.
    pub began_us: Option<u64>,
    /// How long it took, microseconds.
    pub took_us: Option<u64>,
    /// How much of that it waited for locks, microseconds.
    pub locked_us: Option<u64>,
    /// Rows it gave.
    pub rows_sent: Option<u64>,
    /// Rows it looked at.
    pub rows_examined: Option<u64>,
    /// Rows it changed.
    pub rows_affected: Option<u64>,
    /// Bytes it gave.
    pub bytes_sent: Option<u64>,
    /// The server's error number; 0 for none.
    pub errno: Option<u64>,
    /// Whether it ran inside a stored program, and was not sent by a client.
    pub is_inner: bool,
    /// What is doubtful about it.
    pub confidence: Confidence,
    /// All its bytes in the log, with its head and terminator.
    pub raw: &'t [u8],
}

/// What a session did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventKind {
    /// Ran a statement.
    #[default]
    Statement,
    /// Opened: `Connect`.
    Connect,
    /// Changed its default database by a command of the protocol.
    InitDb,
    /// Prepared a statement.
    Prepare,
    /// Ran a prepared statement: its text has the values filled in.
    Execute,
    /// Closed: `Quit`.
    Quit,
    /// Another command: `Statistics`, `Close stmt`, ...; the name is the text.
    Other,
}

/// What is known of a session's default database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultDatabase<'t> {
    /// The log does not tell: a session without one, or a log that was cut.
    #[default]
    Unknown,
    /// It has none.
    None,
    /// Its name.
    Named(&'t [u8]),
}

/// What is doubtful about something recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confidence {
    /// Nothing.
    #[default]
    Clean,
    /// Its end was found by taking backslashes for bytes like others.
    NoEscapes,
    /// A quote or comment in it has no end; where it ends is a guess by the head that follows.
    Unbalanced,
    /// It follows something unbalanced, or the begin of a log that was cut: it may be part of a literal there. Not to
    /// be sent if it writes.
    Suspect,
    /// Where it ends depends on what the log does not tell: the session's character set, or whether a server runs a
    /// comment like `/*! code */`.
    Ambiguous,
    /// A literal in it holds what could be records of this log. That they are text is proven by its head: the server
    /// could parse the statement.
    Imitates,
    /// Its head, or that of the next record, is not as this log writes them.
    Irregular,
    /// Its head, or one just before, holds texts that clients have a say in (`# explain`, `# Warnings`, a name with a
    /// line's end in it), and that are not marked off: they could imitate a record. Not to be sent if it writes.
    FreeText,
    /// It looks whole, and was given as nothing came behind it for a while: more of it may come. Not to be sent if it
    /// writes; see [`LogParser::without_early`].
    Early,
    /// The log ends before it does.
    Cut,
}

impl Confidence {
    /// Whether it is for sure what a session did, so that it may be sent even if it writes.
    pub fn is_certain(self) -> bool {
        matches!(self, Confidence::Clean | Confidence::NoEscapes)
    }

    /// Whether what stands around it decides: by itself it gives no reason to doubt what it is.
    fn depends_on_surroundings(self) -> bool {
        matches!(self, Confidence::Clean | Confidence::NoEscapes | Confidence::Early)
    }

    /// In words, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Clean => "clean",
            Confidence::NoEscapes => "no backslash escapes",
            Confidence::Unbalanced => "unbalanced",
            Confidence::Suspect => "suspect",
            Confidence::Ambiguous => "ambiguous",
            Confidence::Imitates => "imitates records",
            Confidence::Irregular => "irregular",
            Confidence::FreeText => "free text",
            Confidence::Early => "early",
            Confidence::Cut => "cut",
        }
    }
}

/// So many bytes behind something unbalanced may be part of a literal there. Beyond, a literal would have to be longer.
const SUSPECT_BYTES: usize = 1 << 20;

/// What a format finds at a place of a text.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, never kept; a box would be an allocation per record"
)]
enum ParseStep<'t> {
    /// Something recorded, where the next one begins, and its line, if lines were counted on the way.
    Recorded(LogRecord<'t>, usize, Option<u64>),
    /// Bytes up to there that are no record.
    Skipped(usize, SkipReason),
    /// The text ends before the next record does.
    More,
}

/// What is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SkipReason {
    /// What a server writes when it starts or rotates, as it belongs in logs.
    Banner,
    /// More of a record that was given early.
    Rest,
    /// What could not be understood.
    Strange,
    /// Part of a record that is longer than is kept.
    TooLong,
}

/// What comes behind the text that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lookahead {
    /// More.
    More,
    /// Perhaps more, but nothing came for a while: a last record that looks whole is to be given.
    Quiet,
    /// Nothing.
    Nothing,
}

impl Lookahead {
    /// Whether all of the log is there.
    fn is_all(self) -> bool {
        self == Lookahead::Nothing
    }
}

/// A format of logs, reading one log: what it has seen so far helps to understand the rest.
trait FormatParser: Send {
    /// Looks at a place; `line` is its number.
    fn parse_next<'t>(
        &'t mut self,
        text: &'t [u8],
        at: usize,
        line: u64,
        ahead: Lookahead,
    ) -> ParseStep<'t>;

    /// The log's begin is missing: the first heads may stand in a literal that began before.
    fn note_missing_start(&mut self);

    /// What is at a place is longer than is kept: the next steps skip it, as much as there is of it each time.
    fn skip_oversized(&mut self, text: &[u8], at: usize);
}

/// Name of a format, whether a line begins a record of it, and a fresh reader.
type LogFormat = (&'static str, fn(&[u8]) -> bool, fn() -> Box<dyn FormatParser>);

/// All formats. The first line of a log that begins a record of one tells which it is.
const LOG_FORMATS: &[LogFormat] = &[
    ("slow_log", slow_log::starts_record, || Box::new(slow_log::SlowLog::default())),
    ("general_log", general_log::starts_record, || Box::new(general_log::GeneralLog::default())),
];

/// Names of all formats.
pub fn format_names() -> Vec<&'static str> {
    LOG_FORMATS.iter().map(|(name, ..)| *name).collect()
}
