//! The text of a log: a file that is being written, or standard input.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{PollState, RecordCallback, StatementSource};
use crate::base::Stop;
use crate::capture::ship::{LiveLog, LogMark, RemoteAccess, StartPosition, Tail, open_live};
use crate::capture::{
    DefaultDatabase, LogFlow, LogParser, LogRecord, LogUpdate, MOST_RECORD_BYTES,
};

/// Records given before others have their turn.
const AT_ONCE: u32 = 1_000;
/// So much of what stands before the place where we begin is read for the database in use there.
const BEFORE: u64 = 8 << 20;

/// The text of a log.
pub(super) struct LogTextSource<S> {
    log: LogParser,
    bytes: S,
    /// The default database as the log told last, or as it was where we began.
    database: Option<Vec<u8>>,
    mark: Option<String>,
    /// Records longer than are kept, as were told of.
    too_long: u64,
}

/// Bytes as they come.
pub(super) trait LogBytes: Read {
    /// Where they were read to, as text: so many bytes of them are done with.
    fn mark_at(&mut self, database: Option<Vec<u8>>, offset: u64) -> Option<String>;
    /// What is to be said since this was asked last.
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// A log as it is shipped.
pub(super) struct ShippedLog(Box<dyn LiveLog>);

impl Read for ShippedLog {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

impl LogBytes for ShippedLog {
    fn mark_at(&mut self, _database: Option<Vec<u8>>, offset: u64) -> Option<String> {
        self.0.mark_at(offset)
    }
    fn take_notes(&mut self) -> Vec<String> {
        self.0.take_notes()
    }
}

impl LogTextSource<ShippedLog> {
    /// Reads what is shipped from where it was read to, or from now on.
    pub(super) fn open_shipped(
        url: &str,
        access: &RemoteAccess,
        mark: Option<&str>,
        stop: &Stop,
    ) -> anyhow::Result<LogTextSource<ShippedLog>> {
        let bytes = ShippedLog(open_live(url, access, mark, stop)?);
        Ok(LogTextSource {
            log: LogParser::new_attached(),
            bytes,
            database: None,
            mark: None,
            too_long: 0,
        })
    }
}

impl LogTextSource<Tail> {
    /// Follows a log from where it was read to, or from now on.
    pub(super) fn open_file(
        path: &Path,
        mark: Option<&str>,
    ) -> anyhow::Result<LogTextSource<Tail>> {
        let mark: Option<LogMark> = mark.and_then(|mark| mark.parse().ok());
        let from = mark.clone().map_or(StartPosition::Now, StartPosition::Mark);
        let bytes =
            Tail::open(path, &from).with_context(|| format!("follow {}", path.display()))?;
        let database = match mark {
            Some(mark) => mark.database,
            None => database_before(path),
        };
        Ok(LogTextSource {
            log: LogParser::new_attached(),
            bytes,
            database,
            mark: None,
            too_long: 0,
        })
    }
}

impl LogTextSource<StdinLog> {
    /// Reads standard input.
    pub(super) fn from_stdin() -> LogTextSource<StdinLog> {
        LogTextSource {
            log: LogParser::default(),
            bytes: StdinLog,
            database: None,
            mark: None,
            too_long: 0,
        }
    }
}

/// The default database at a log's end.
fn database_before(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let from = file.metadata().ok()?.len().saturating_sub(BEFORE);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut database = None;
    let mut log = LogParser::new_attached();
    // What can't be read tells nothing; the default is then what was asked for.
    let _ = log.read_source(&mut file.take(BEFORE), &mut |recorded| {
        track_database(&mut database, recorded);
        LogFlow::Continue(())
    });
    database
}

fn track_database(database: &mut Option<Vec<u8>>, recorded: &LogRecord<'_>) {
    match recorded.database {
        DefaultDatabase::Named(name) if database.as_deref() != Some(name) => {
            *database = Some(name.to_vec());
        }
        DefaultDatabase::None => *database = None,
        DefaultDatabase::Named(_) | DefaultDatabase::Unknown => {}
    }
}

impl<S: LogBytes> StatementSource for LogTextSource<S> {
    fn poll_records(&mut self, on: RecordCallback<'_>) -> anyhow::Result<PollState> {
        let (mut got, mut left) = (PollState::End, AT_ONCE);
        let LogTextSource { log, bytes, database, .. } = self;
        log.follow_source(bytes, &mut |news| match news {
            LogUpdate::Idle => {
                got = PollState::Idle;
                LogFlow::Break(())
            }
            LogUpdate::Recorded(recorded) => {
                let known = match (recorded.database, &database) {
                    (DefaultDatabase::Unknown, Some(name)) => DefaultDatabase::Named(name),
                    (other, _) => other,
                };
                left -= 1;
                let next = on(&LogRecord { database: known, ..*recorded });
                track_database(database, recorded);
                if next.is_break() || left == 0 {
                    got = PollState::More;
                    return LogFlow::Break(());
                }
                LogFlow::Continue(())
            }
        })?;
        // In a quiet while nothing is half read.
        if got == PollState::Idle {
            self.mark = self.bytes.mark_at(self.database.clone(), self.log.offset());
        }
        Ok(got)
    }
    fn resume_mark(&self) -> Option<String> {
        self.mark.clone()
    }
    fn take_notes(&mut self) -> Vec<String> {
        let mut notes = self.bytes.take_notes();
        let too_long = self.log.tally().too_long;
        if std::mem::replace(&mut self.too_long, too_long) != too_long {
            let most = MOST_RECORD_BYTES >> 20;
            notes.push(format!("{too_long} records of more than {most} MiB left out"));
        }
        notes
    }
}

impl LogBytes for Tail {
    fn mark_at(&mut self, database: Option<Vec<u8>>, _offset: u64) -> Option<String> {
        Some(Tail::current_mark(self, database).to_string())
    }
}

/// Standard input, that never makes us wait for long.
pub(super) struct StdinLog;

impl Read for StdinLog {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let stdin = io::stdin();
        let wait = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut fds, Some(&wait)) {
            Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
            Ok(_) => Ok(rustix::io::read(&stdin, out)?),
            Err(error) => Err(error.into()),
        }
    }
}

impl LogBytes for StdinLog {
    fn mark_at(&mut self, _database: Option<Vec<u8>>, _offset: u64) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const HEAD: &str = "# Time: 2026-01-01T00:00:00.000000Z\n\
        # User@Host: a[a] @ localhost []  Id: 7\n\
        # Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n";

    fn append(path: &Path, text: &str) {
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn all(feed: &mut LogTextSource<Tail>) -> Vec<(String, String)> {
        let mut found = Vec::new();
        while feed
            .poll_records(&mut |r| {
                let database = match r.database {
                    DefaultDatabase::Named(name) => String::from_utf8_lossy(name).into_owned(),
                    _ => String::new(),
                };
                found.push((String::from_utf8_lossy(r.text).into_owned(), database));
                LogFlow::Continue(())
            })
            .unwrap()
            != PollState::Idle
        {}
        found
    }

    #[test]
    fn a_log_is_followed_from_now_on_with_the_database_of_before_and_resumed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slow.log");
        let of = |n: u32| format!("{HEAD}SET timestamp=1767225600;\nSELECT {n};\n");
        let first = format!("{HEAD}use shop;\nSET timestamp=1767225600;\nSELECT 1;\n");
        std::fs::write(&path, &first).unwrap();
        let mut feed = LogTextSource::open_file(&path, None).unwrap();
        assert!(all(&mut feed).is_empty(), "what was there before is past");
        append(&path, &of(2));
        let shop = |n: u32| (format!("SELECT {n}"), "shop".to_owned());
        assert_eq!(all(&mut feed), [shop(2)]);
        // Rotated by a rename, and gone on in a new file while nobody looked.
        let mark = StatementSource::resume_mark(&feed).unwrap();
        drop(feed);
        append(&path, &of(3));
        std::fs::rename(&path, dir.path().join("slow.log.1")).unwrap();
        std::fs::write(&path, of(4)).unwrap();
        let mut feed = LogTextSource::open_file(&path, Some(&mark)).unwrap();
        let found: Vec<String> = all(&mut feed).into_iter().map(|(text, _)| text).collect();
        assert_eq!(found, ["SELECT 3", "SELECT 4"]);
        assert!(LogTextSource::open_file(&dir.path().join("none"), None).is_err());
    }
    #[test]
    fn a_record_that_is_left_out_is_said_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slow.log");
        std::fs::write(&path, "").unwrap();
        let mut feed = LogTextSource::open_file(&path, None).unwrap();
        let of = |text: &str| format!("{HEAD}SET timestamp=1767225600;\n{text};\n");
        append(&path, &of("SELECT 1"));
        append(&path, &of(&format!("SELECT '{}'", "x".repeat(MOST_RECORD_BYTES))));
        append(&path, &of("SELECT 2"));
        let found: Vec<String> = all(&mut feed).into_iter().map(|(text, _)| text).collect();
        assert_eq!(found, ["SELECT 1", "SELECT 2"]);
        assert_eq!(feed.take_notes(), ["1 records of more than 64 MiB left out"]);
        assert!(feed.take_notes().is_empty());
    }
}
