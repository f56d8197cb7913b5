//! Where statements come from: a log that is being written, one that is shipped, standard input, or a server's table.

use std::io::{self, Read, Seek};
use std::path::PathBuf;

use anyhow::Context;

use crate::base::{Nanos, Stop};
use crate::capture::table_log::{TableKind, TableLog, TablePlace};
use crate::capture::{Log, News, Next, Recorded};
use crate::target::{Session, Target};

/// A source by its name.
#[derive(Clone, Debug)]
pub enum Source {
    /// Standard input, to its end.
    Standard,
    /// A log that is being written, on this machine.
    File(PathBuf),
    /// A log as `sweat ship` serves it.
    Url(String),
    /// A server that writes its log into a table.
    Server(Target),
}

/// What a look at a source gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Got {
    /// Statements; there may be more.
    More,
    /// All that there is for now.
    Idle,
    /// Nothing will come any more.
    End,
}

/// What becomes of each record.
pub(super) type On<'a> = &'a mut dyn FnMut(&Recorded<'_>) -> Next;

/// A source that is open.
pub(super) trait Feed {
    /// Gives what there is; waits for more no longer than a moment.
    fn poll(&mut self, on: On<'_>) -> anyhow::Result<Got>;
    /// How far it was read, in words that open it there again.
    fn mark(&self) -> Option<String>;
    /// What it can't tell faithfully.
    fn caveat(&self) -> Option<String> {
        None
    }
    /// How long to wait after a look that gave nothing.
    fn pause(&self) -> Nanos {
        Nanos(20_000_000)
    }
}

impl Source {
    /// Its name, as it was typed.
    pub fn describe(&self) -> String {
        match self {
            Source::Standard => "standard input".to_owned(),
            Source::File(path) => path.display().to_string(),
            Source::Url(url) => url.clone(),
            Source::Server(target) => target.describe(),
        }
    }

    /// Opens it where it was read to, or at its end.
    pub(super) fn open(&self, mark: Option<&str>, stop: &Stop) -> anyhow::Result<Box<dyn Feed>> {
        match self {
            Source::File(path) => {
                let mut file = std::fs::File::open(path).context("open the log")?;
                let began = match mark.and_then(|mark| mark.parse().ok()) {
                    Some(at) => file.seek(io::SeekFrom::Start(at))?,
                    None => file.seek(io::SeekFrom::End(0))?,
                };
                Ok(Box::new(Text { log: Log::attached(), bytes: Growing { file }, began }))
            }
            Source::Server(target) => Ok(Box::new(Table::open(target, mark, stop)?)),
            Source::Standard | Source::Url(_) => anyhow::bail!("not yet"),
        }
    }
}

/// A server's log in a table. Which of the two is on, the server tells.
struct Table {
    session: Session,
    log: TableLog,
    is_general: bool,
}

impl Table {
    fn open(target: &Target, mark: Option<&str>, stop: &Stop) -> anyhow::Result<Table> {
        let mut session = target.connect(stop).context("read the log of the active server")?;
        let rows = session
            .rows(
                "SELECT @@GLOBAL.log_output, @@GLOBAL.slow_query_log, @@GLOBAL.general_log, \
                   @@GLOBAL.long_query_time",
            )
            .context("ask where the active server writes its logs")?;
        let value = |at| rows.text(0, at).unwrap_or_default();
        anyhow::ensure!(
            value(0).to_ascii_uppercase().contains("TABLE"),
            "{} does not write its logs into tables (log_output = {})\n\
             hint: there, SET GLOBAL log_output = 'TABLE', slow_query_log = 1, long_query_time = 0; \
             or read its log file with --from FILE, or from afar with `sweat ship`",
            target.describe(),
            value(0)
        );
        let is_on = |at| value(at) == "1" || value(at) == "ON";
        let is_slow = is_on(1);
        anyhow::ensure!(
            is_slow || is_on(2),
            "{} writes no log\nhint: there, SET GLOBAL slow_query_log = 1, long_query_time = 0",
            target.describe()
        );
        let kind = if is_slow { TableKind::Slow } else { TableKind::General };
        let mut log = TableLog::open(&mut session, kind).context("read the log's table")?;
        let place = mark.and_then(|mark| mark.strip_prefix(kind_word(!is_slow)));
        match place.and_then(TablePlace::parse) {
            Some(place) => log.resume(place),
            None => log.skip_to_end(&mut session).context("read the log's table")?,
        }
        Ok(Table { session, log, is_general: !is_slow })
    }
}

/// What marks of this kind begin with.
fn kind_word(is_general: bool) -> &'static str {
    if is_general { "general " } else { "slow " }
}

impl Feed for Table {
    fn poll(&mut self, on: On<'_>) -> anyhow::Result<Got> {
        let look = self.log.look(&mut self.session, on).context("read the log's table")?;
        Ok(if look.has_more { Got::More } else { Got::Idle })
    }
    fn mark(&self) -> Option<String> {
        Some(format!("{}{}", kind_word(self.is_general), self.log.place()))
    }
    fn caveat(&self) -> Option<String> {
        self.log.caveat().map(str::to_owned)
    }
    fn pause(&self) -> Nanos {
        Nanos(200_000_000)
    }
}

/// Records given before others have their turn.
const AT_ONCE: u32 = 1_000;

/// The text of a log.
struct Text {
    log: Log,
    bytes: Growing,
    /// Where in the file it began.
    began: u64,
}

/// A file that grows.
struct Growing {
    file: std::fs::File,
}

impl Read for Growing {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.file.read(out)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }
}

impl Feed for Text {
    fn poll(&mut self, on: On<'_>) -> anyhow::Result<Got> {
        let mut got = Got::End;
        let mut left = AT_ONCE;
        self.log.listen(&mut self.bytes, &mut |news| match news {
            News::Idle => {
                got = Got::Idle;
                Next::Break(())
            }
            News::Recorded(recorded) => {
                left -= 1;
                if on(recorded).is_break() || left == 0 {
                    got = Got::More;
                    return Next::Break(());
                }
                Next::Continue(())
            }
        })?;
        Ok(got)
    }
    fn mark(&self) -> Option<String> {
        Some((self.began + self.log.offset()).to_string())
    }
}
