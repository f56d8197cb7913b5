//! What of a load is done, beside the hot set's file, so that one that was cut can go on where it was.
//!
//! The first line tells which start of which server; each further one is the mark of a piece. What was brought to a
//! server that has been restarted since is gone, so such a record is begun anew.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::base::private;

/// The record.
pub(super) struct ProgressFile {
    path: PathBuf,
    file: Option<File>,
    done: HashSet<u64>,
}

/// Which start of which server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerStart {
    /// What tells the server from others.
    pub server: String,
    /// When it started, seconds since 1970.
    pub unix_s: u64,
}

/// What is read of a record: marks of pieces of the largest hot set.
const MOST_BYTES: u64 = 64 << 20;
/// Uptimes are told in whole seconds.
const SLACK_S: u64 = 2;

impl ServerStart {
    fn header_line(&self) -> String {
        format!("sweat hot set 1 {} {}\n", self.unix_s, self.server)
    }

    fn matches_header(&self, line: &str) -> bool {
        let Some(rest) = line.strip_prefix("sweat hot set 1 ") else { return false };
        let Some((unix_s, server)) = rest.split_once(' ') else { return false };
        let near = unix_s.parse::<u64>().is_ok_and(|s| s.abs_diff(self.unix_s) <= SLACK_S);
        near && server == self.server
    }
}

impl ProgressFile {
    /// Where the record of a load of this file is.
    pub(super) fn path_for(file: &Path) -> PathBuf {
        let mut name = file.as_os_str().to_owned();
        name.push(".progress");
        PathBuf::from(name)
    }

    /// Begins a record, or goes on with the one that is there if `resume` and if it is of this start of this server;
    /// says so where it is not.
    pub(super) fn open_or_create(
        file: &Path,
        start: &ServerStart,
        resume: bool,
        notes: &mut Vec<String>,
    ) -> ProgressFile {
        let path = ProgressFile::path_for(file);
        let mut done = HashSet::new();
        if resume {
            match read_marks(&path, start) {
                Ok(marks) => done = marks,
                Err(why) => notes.push(format!("begun anew: {why}")),
            }
        }
        let opened = if done.is_empty() {
            create_file(&path, start)
        } else {
            OpenOptions::new().append(true).open(&path)
        };
        let file = match opened {
            Ok(file) => Some(file),
            Err(error) => {
                let path = path.display();
                notes
                    .push(format!("this load can't be resumed: {path} can't be written ({error})"));
                None
            }
        };
        ProgressFile { path, file, done }
    }

    /// Whether a piece was done before.
    pub(super) fn is_done(&self, mark: u64) -> bool {
        self.done.contains(&mark)
    }

    /// Notes that pieces are done.
    ///
    /// # Errors
    /// When the disk is full, for instance.
    pub(super) fn record_done(&mut self, marks: &[u64]) -> anyhow::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let lines: String = marks.iter().map(|mark| format!("{mark:016x}\n")).collect();
        file.write_all(lines.as_bytes())
            .with_context(|| format!("write progress to {}", self.path.display()))
    }

    /// All is done: nothing is left to resume.
    pub(super) fn delete_file(self) {
        if self.file.is_some() {
            // One that stays behind is begun anew or found done.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A fresh record in place of whatever is there.
fn create_file(path: &Path, start: &ServerStart) -> io::Result<File> {
    private::replace_file(path, start.header_line().as_bytes())?;
    OpenOptions::new().append(true).open(path)
}

fn read_marks(path: &Path, start: &ServerStart) -> Result<HashSet<u64>, String> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text))
        .map_err(|error| format!("there is no record of an interrupted load ({error})"))?;
    let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    if !lines.next().is_some_and(|first| start.matches_header(first)) {
        return Err(
            "the interrupted load was for another server, or the server has restarted since"
                .to_owned(),
        );
    }
    Ok(lines.filter_map(|line| u64::from_str_radix(line, 16).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(unix_s: u64) -> ServerStart {
        ServerStart { server: "db 1:3306".to_owned(), unix_s }
    }

    fn open(file: &Path, unix_s: u64, resume: bool) -> (ProgressFile, Vec<String>) {
        let mut notes = Vec::new();
        (ProgressFile::open_or_create(file, &start(unix_s), resume, &mut notes), notes)
    }

    #[test]
    fn what_was_done_is_known_until_the_server_restarts() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("hot");
        let (mut record, notes) = open(&file, 1_000, false);
        assert!(notes.is_empty());
        record.record_done(&[7, u64::MAX]).unwrap();
        drop(record);
        // Killed in the middle of a line.
        let path = ProgressFile::path_for(&file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text + "00000000000000").unwrap();
        let (record, notes) = open(&file, 1_001, true);
        assert!(record.is_done(7) && record.is_done(u64::MAX) && !record.is_done(0), "{notes:?}");
        let (record, notes) = open(&file, 5_000, true);
        assert!(!record.is_done(7) && notes[0].contains("has restarted since"), "{notes:?}");
        record.delete_file();
        assert!(!path.exists());
        assert!(open(&file, 5_000, true).1[0].contains("no record"));
    }

    #[test]
    fn a_place_that_can_not_be_written_is_said() {
        let (mut record, notes) = open(Path::new("/proc/nowhere/hot"), 1, false);
        assert!(notes[0].contains("can't be resumed"), "{notes:?}");
        record.record_done(&[1]).unwrap();
    }
}
