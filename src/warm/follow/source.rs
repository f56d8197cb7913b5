//! Where statements come from: a log that is being written, one that is shipped, standard input, or a server's table.

mod table;
mod text;

use std::path::PathBuf;

use crate::base::{Nanos, Stop};
use crate::capture::ship::Access;
use crate::capture::{Next, Recorded};
use crate::target::Target;
use table::Table;
use text::Text;

/// A source by its name.
#[derive(Clone, Debug)]
pub enum Source {
    /// Standard input, to its end.
    Standard,
    /// A log that is being written, on this machine.
    File(PathBuf),
    /// A log as `sweat ship` serves it, and what is needed to open it.
    Url(String, Access),
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
    /// What is to be said since this was asked last: gaps, connections lost and made.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
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
            Source::Url(url, _) => url.clone(),
            Source::Server(target) => target.describe(),
        }
    }

    /// Opens it where it was read to, or at its end.
    pub(super) fn open(&self, mark: Option<&str>, stop: &Stop) -> anyhow::Result<Box<dyn Feed>> {
        match self {
            Source::File(path) => Ok(Box::new(Text::follow(path, mark)?)),
            Source::Standard => Ok(Box::new(Text::standard())),
            Source::Server(target) => Ok(Box::new(Table::open(target, mark, stop)?)),
            Source::Url(url, access) => Ok(Box::new(Text::shipped(url, access, mark, stop)?)),
        }
    }
}
