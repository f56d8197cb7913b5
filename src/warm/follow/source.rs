//! Where statements come from: a log that is being written, one that is shipped, standard input, or a server's table.

use std::io::{self, Read, Seek};
use std::path::PathBuf;

use anyhow::Context;

use crate::base::Stop;
use crate::capture::{Log, News, Next, Recorded};
use crate::target::Target;

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
pub(super) trait Feed: Send {
    /// Gives what there is; waits for more no longer than a moment.
    fn poll(&mut self, on: On<'_>) -> anyhow::Result<Got>;
    /// How far it was read, in words that open it there again.
    fn mark(&self) -> Option<String>;
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
    pub(super) fn open(&self, mark: Option<String>, _stop: &Stop) -> anyhow::Result<Box<dyn Feed>> {
        match self {
            Source::File(path) => {
                let mut file = std::fs::File::open(path).context("open the log")?;
                let at = match mark.and_then(|mark| mark.parse().ok()) {
                    Some(at) => file.seek(io::SeekFrom::Start(at))?,
                    None => file.seek(io::SeekFrom::End(0))?,
                };
                Ok(Box::new(Text { log: Log::attached(), bytes: Growing { file }, began: at }))
            }
            _ => anyhow::bail!("not yet"),
        }
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
