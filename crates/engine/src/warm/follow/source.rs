//! Where statements come from: a log that is being written, one that is shipped, standard input, or a server's table.

mod table;
mod text;

use std::path::PathBuf;

use crate::base::{Nanos, Stop};
use crate::capture::ship::RemoteAccess;
use crate::capture::{LogFlow, LogRecord};
use crate::client::Target;
use table::LogTableSource;
use text::LogTextSource;

/// A source by its name.
#[derive(Clone, Debug)]
pub enum FollowSource {
    /// Standard input, to its end.
    Standard,
    /// A log that is being written, on this machine.
    File(PathBuf),
    /// A log as `sweat ship` serves it, and what is needed to open it.
    Url(String, RemoteAccess),
    /// A server that writes its log into a table.
    Server(Target),
}

/// What a look at a source gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PollState {
    /// Statements; there may be more.
    More,
    /// All that there is for now.
    Idle,
    /// Nothing will come any more.
    End,
}

/// What becomes of each record.
pub(super) type RecordCallback<'a> = &'a mut dyn FnMut(&LogRecord<'_>) -> LogFlow;

/// A source that is open.
pub(super) trait StatementSource {
    /// Gives what there is; waits for more no longer than a moment.
    fn poll_records(&mut self, on: RecordCallback<'_>) -> anyhow::Result<PollState>;
    /// How far it was read, in words that open it there again.
    fn resume_mark(&self) -> Option<String>;
    /// What is to be said since this was asked last: gaps, connections lost and made.
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// What it can't tell faithfully.
    fn caveat(&self) -> Option<String> {
        None
    }
    /// How long to wait after a look that gave nothing.
    fn idle_delay(&self) -> Nanos {
        Nanos(20_000_000)
    }
}

impl FollowSource {
    /// Its name, as it was typed.
    pub fn describe(&self) -> String {
        match self {
            FollowSource::Standard => "standard input".to_owned(),
            FollowSource::File(path) => path.display().to_string(),
            FollowSource::Url(url, _) => url.clone(),
            FollowSource::Server(target) => target.address_text(),
        }
    }

    /// Opens it where it was read to, or at its end.
    pub(super) fn open_at(
        &self,
        mark: Option<&str>,
        stop: &Stop,
    ) -> anyhow::Result<Box<dyn StatementSource>> {
        match self {
            FollowSource::File(path) => Ok(Box::new(LogTextSource::open_file(path, mark)?)),
            FollowSource::Standard => Ok(Box::new(LogTextSource::from_stdin())),
            FollowSource::Server(target) => {
                Ok(Box::new(LogTableSource::open_log(target, mark, stop)?))
            }
            FollowSource::Url(url, access) => {
                Ok(Box::new(LogTextSource::open_shipped(url, access, mark, stop)?))
            }
        }
    }
}
