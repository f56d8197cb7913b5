//! The journal on disk: a line of JSON per fact, on disk before the deed it announces.
//!
//! The first line says which server. `{"change": ..}` announces a change of a variable, `{"became": ..}` says what the
//! server made of it; `{"rows": ..}` announces one of rows of performance_schema, `{"stand_in": ..}` a file of ours in
//! place of one of the server's; `{"over": true}` says that the last
//! change still open is no more. Each line ends with a seal, by which we know our own.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::plan::{AddressPlan, RefusedError};
use crate::server::sandbox::ProcessId;

use super::seal::{SealChain, split_seal};
use super::stand_in::SwappedFile;

/// Name of the journal in a run folder.
pub const FILE: &str = "journal.jsonl";
/// Name of the one of instruments in a run folder.
pub const WAITS_FILE: &str = "journal-waits.jsonl";
/// Name of the one of the slow log in a run folder.
pub const LOGGING_FILE: &str = "journal-logging.jsonl";

/// Which server a journal is about. Never holds a password.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalServer {
    /// Host.
    pub host: Option<String>,
    /// TCP port.
    pub port: Option<u16>,
    /// Unix socket.
    pub socket: Option<PathBuf>,
    /// Account.
    pub user: Option<String>,
}

/// A variable, what it was, what we set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct VariableChange {
    pub(super) variable: String,
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
    /// Whether `new` is what the server made of it; only known once it has been asked.
    #[serde(skip)]
    pub(super) is_seen: bool,
}

/// A column of some rows of performance_schema: what it was in all of them, what we set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RowsChange {
    pub(super) table: String,
    pub(super) column: String,
    /// The rows, by the table's key.
    pub(super) keys: Vec<String>,
    pub(super) old: String,
    pub(super) new: String,
}

/// Something changed that must be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JournalEntry {
    Variable(VariableChange),
    Rows(RowsChange),
    StandIn(SwappedFile),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JournalLine {
    Journal { format: u32, consent: String, server: JournalServer, tool: Option<ProcessId> },
    Change(VariableChange),
    Rows(RowsChange),
    StandIn(SwappedFile),
    Became(Option<String>),
    Over(bool),
}

/// The file and what it says.
#[derive(Debug)]
pub(super) struct JournalFile {
    path: PathBuf,
    file: File,
    open: Vec<JournalEntry>,
    tool: Option<ProcessId>,
    /// Behind the last line; `None` where one of them is not ours.
    seal: Option<SealChain>,
    /// Bytes of whole lines, where a cut one follows them.
    whole_bytes: Option<u64>,
}

impl JournalFile {
    /// A new journal; not over one that still has work to do.
    pub(super) fn create(
        path: &Path,
        plan: &AddressPlan,
        consent: &str,
    ) -> anyhow::Result<JournalFile> {
        if path.exists() {
            let old = JournalFile::read(path)?;
            anyhow::ensure!(
                old.open.is_empty(),
                RefusedError(format!(
                    "{} has changes that were not put back\nhint: run `sweat restore {}`",
                    path.display(),
                    path.display()
                ))
            );
        }
        let file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(path)
            .with_context(|| format!("make the journal {}", path.display()))?;
        let server = JournalServer {
            host: plan.host.clone(),
            port: plan.port,
            socket: plan.socket.clone(),
            user: plan.user.clone(),
        };
        let tool = Some(ProcessId::own_process()?);
        let mut log = JournalFile {
            path: path.to_owned(),
            file,
            open: Vec::new(),
            tool: tool.clone(),
            seal: SealChain::for_account(),
            whole_bytes: None,
        };
        log.write_line(&JournalLine::Journal {
            format: 1,
            consent: consent.to_owned(),
            server,
            tool,
        })?;
        // The file's name must be on disk as well.
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .with_context(|| format!("write {} to disk", folder.display()))?;
        Ok(log)
    }

    /// A journal that is there.
    pub(super) fn read(path: &Path) -> anyhow::Result<JournalFile> {
        let (mut open, mut tool) = (Vec::new(), None);
        let JournalLines { lines, seal, whole_bytes } = read_lines(path)?;
        for line in lines {
            match line {
                JournalLine::Journal { tool: by, .. } => tool = by,
                JournalLine::Change(change) => open.push(JournalEntry::Variable(change)),
                JournalLine::Rows(change) => open.push(JournalEntry::Rows(change)),
                JournalLine::StandIn(one) => open.push(JournalEntry::StandIn(one)),
                JournalLine::Became(value) => set_effective_value(&mut open, value),
                JournalLine::Over(_) => {
                    open.pop();
                }
            }
        }
        let file = OpenOptions::new()
            .append(true)
            .open(path)
            .with_context(|| format!("open {} to write", path.display()))?;
        Ok(JournalFile { path: path.to_owned(), file, open, tool, seal, whole_bytes })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Changes that are not put back yet, in the order they were made.
    pub(super) fn open_changes(&self) -> &[JournalEntry] {
        &self.open
    }

    /// Whether all of it was written by sweats of this account and home.
    pub(super) fn has_own_seal(&self) -> bool {
        self.seal.is_some()
    }

    /// What is still changed, in words.
    pub(super) fn describe_changes(&self) -> String {
        let word = |entry: &JournalEntry| match entry {
            JournalEntry::Variable(change) => change.variable.clone(),
            JournalEntry::Rows(change) => {
                format!("{} of {} rows of {}", change.column, change.keys.len(), change.table)
            }
            JournalEntry::StandIn(one) => one.path.display().to_string(),
        };
        let mut words: Vec<String> = Vec::new();
        for entry in &self.open {
            let word = word(entry);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.join(", ")
    }

    /// Whether this very program writes it.
    pub(super) fn is_own_process(&self) -> bool {
        let own = ProcessId::own_process().ok();
        own.is_some() && self.tool == own
    }

    /// Whether the sweat that writes it still runs.
    pub(super) fn is_in_use(&self) -> bool {
        self.tool.as_ref().is_some_and(ProcessId::is_alive)
    }

    /// Announces a change.
    pub(super) fn announce_change(&mut self, entry: JournalEntry) -> anyhow::Result<()> {
        self.write_line(&match &entry {
            JournalEntry::Variable(change) => JournalLine::Change(change.clone()),
            JournalEntry::Rows(change) => JournalLine::Rows(change.clone()),
            JournalEntry::StandIn(one) => JournalLine::StandIn(one.clone()),
        })?;
        self.open.push(entry);
        Ok(())
    }

    /// What the server made of the last change.
    pub(super) fn correct_last_value(&mut self, value: Option<String>) -> anyhow::Result<()> {
        set_effective_value(&mut self.open, value.clone());
        self.write_line(&JournalLine::Became(value))
    }

    /// The last open change is no more.
    pub(super) fn close_last_change(&mut self) -> anyhow::Result<()> {
        self.open.pop();
        self.write_line(&JournalLine::Over(true))
    }

    fn write_line(&mut self, line: &JournalLine) -> anyhow::Result<()> {
        let mut text = serde_json::to_string(line).context("write a line of the journal")?;
        if let Some(seal) = &mut self.seal {
            text = seal.seal_line(&text);
        }
        text.push('\n');
        if let Some(whole) = self.whole_bytes.take() {
            self.file.set_len(whole).with_context(|| format!("cut {}", self.path.display()))?;
        }
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("write the journal {}", self.path.display()))
    }
}

/// What the server made of the last change.
fn set_effective_value(open: &mut [JournalEntry], value: Option<String>) {
    if let Some(JournalEntry::Variable(last)) = open.last_mut() {
        (last.new, last.is_seen) = (value, true);
    }
}

/// Which server a journal is about.
///
/// # Errors
/// When it can't be read or is none.
pub fn read_server(path: &Path) -> anyhow::Result<JournalServer> {
    match read_lines(path)?.lines.into_iter().next() {
        Some(JournalLine::Journal { server, .. }) => Ok(server),
        _ => anyhow::bail!(RefusedError(format!("{} is not a journal", path.display()))),
    }
}

/// What a journal holds.
struct JournalLines {
    lines: Vec<JournalLine>,
    /// As [`JournalFile`] has it.
    seal: Option<SealChain>,
    whole_bytes: Option<u64>,
}

/// Longest journal that is read, bytes: a journal of all instruments has less than one MiB.
const MOST_BYTES: u64 = 64 << 20;

/// All lines. The last one may have been cut when we were killed: what it announced was not done then.
fn read_lines(path: &Path) -> anyhow::Result<JournalLines> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text))
        .with_context(|| format!("read the journal {}", path.display()))?;
    let mut found =
        JournalLines { lines: Vec::new(), seal: SealChain::for_account(), whole_bytes: None };
    let mut whole_bytes = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let Some(whole) = line.strip_suffix('\n') else {
            found.whole_bytes = Some(whole_bytes);
            break;
        };
        whole_bytes += line.len() as u64;
        let (body, seal) = split_seal(whole);
        found.seal = found.seal.and_then(|own| own.verify_line(&body, seal));
        found
            .lines
            .push(serde_json::from_str(&body).with_context(|| {
                format!("understand line {} of {}", number + 1, path.display())
            })?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Secret;

    fn change(variable: &str, old: &str, new: &str) -> JournalEntry {
        let text = |value: &str| Some(value.to_owned());
        let variable = variable.to_owned();
        JournalEntry::Variable(VariableChange {
            variable,
            old: text(old),
            new: text(new),
            is_seen: false,
        })
    }

    fn rows() -> JournalEntry {
        JournalEntry::Rows(RowsChange {
            table: "setup_consumers".to_owned(),
            column: "ENABLED".to_owned(),
            keys: vec!["events_waits_current".to_owned()],
            old: "NO".to_owned(),
            new: "YES".to_owned(),
        })
    }

    #[test]
    fn what_is_open_survives_a_kill_and_a_cut_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let plan = AddressPlan {
            host: Some("db1".to_owned()),
            password: Some(Secret::new("hush")),
            ..AddressPlan::default()
        };
        let mut log = JournalFile::create(&path, &plan, "--allow load").unwrap();
        log.announce_change(change("a", "1", "2")).unwrap();
        log.announce_change(rows()).unwrap();
        log.announce_change(change("b", "ON", "0")).unwrap();
        log.correct_last_value(Some("OFF".to_owned())).unwrap();
        log.announce_change(change("c", "1", "2")).unwrap();
        log.close_last_change().unwrap();
        log.announce_change(rows()).unwrap();
        log.close_last_change().unwrap();
        drop(log);
        let mut text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("hush"), "a password is in the journal: {text}");
        text += "{\"change\":{\"varia";
        std::fs::write(&path, text).unwrap();
        let log = JournalFile::read(&path).unwrap();
        let mut b = [change("b", "ON", "0")];
        set_effective_value(&mut b, Some("OFF".to_owned()));
        let [b] = b;
        assert_eq!(log.open_changes(), [change("a", "1", "2"), rows(), b]);
        assert_eq!(read_server(&path).unwrap().host.as_deref(), Some("db1"));
        let refused = JournalFile::create(&path, &plan, "x").unwrap_err();
        assert!(refused.to_string().contains("not put back"), "{refused:#}");
    }

    #[test]
    fn what_follows_a_cut_line_stands_on_a_line_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let mut log = JournalFile::create(&path, &AddressPlan::default(), "x").unwrap();
        log.announce_change(change("a", "1", "2")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text + "{\"change\":{\"varia").unwrap();
        let mut log = JournalFile::read(&path).unwrap();
        log.close_last_change().unwrap();
        let log = JournalFile::read(&path).unwrap();
        assert!(log.open_changes().is_empty() && log.has_own_seal());
    }

    #[test]
    fn a_journal_from_elsewhere_or_with_a_line_of_others_is_not_our_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let mut log = JournalFile::create(&path, &AddressPlan::default(), "x").unwrap();
        log.announce_change(change("a", "1", "2")).unwrap();
        assert!(JournalFile::read(&path).unwrap().has_own_seal());
        let text = std::fs::read_to_string(&path).unwrap();
        let line = "{\"change\":{\"variable\":\"init_connect\",\"old\":\"x\",\"new\":null}}\n";
        std::fs::write(&path, text.clone() + line).unwrap();
        let mut log = JournalFile::read(&path).unwrap();
        assert_eq!((log.has_own_seal(), log.open_changes().len()), (false, 2));
        log.close_last_change().unwrap();
        assert!(!JournalFile::read(&path).unwrap().has_own_seal(), "nor does it become our own");
        // As versions without seals wrote it.
        let plain: String = text.lines().map(|line| split_seal(line).0 + "\n").collect();
        std::fs::write(&path, plain).unwrap();
        assert!(!JournalFile::read(&path).unwrap().has_own_seal());
    }

    #[test]
    fn a_file_that_is_no_journal_is_said_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, "hello\n").unwrap();
        let error = read_server(&path).unwrap_err();
        assert!(format!("{error:#}").contains("understand line 1"), "{error:#}");
    }
}
