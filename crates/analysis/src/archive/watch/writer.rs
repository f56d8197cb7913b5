//! Writes the folder of a watch.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{EVENTS, INCIDENTS, NUMBER, SEGMENTS, WatchEvent};
use crate::archive::error::ArchiveError;
use crate::archive::file::AppendFile;
use crate::archive::types::{RunMeta, RunState, SampleRecord, ServerRecord};
use crate::archive::writer::{RunWriter, to_json_line};
use crate::archive::{VariableRecord, file};
use crate::base::{Nanos, private};

/// The folder of a watch being written.
#[derive(Debug)]
pub struct WatchWriter {
    run: RunWriter,
    plan: String,
    events: AppendFile,
    segment: Option<RunWriter>,
    segments: u64,
    incident: Option<RunWriter>,
}

impl WatchWriter {
    /// Makes the folder; see [`RunWriter::create`].
    ///
    /// # Errors
    /// As there.
    pub fn create(runs_dir: &Path, meta: RunMeta, plan: &str) -> Result<WatchWriter, ArchiveError> {
        let run = RunWriter::create(runs_dir, meta, plan)?;
        let segments = run.dir().join(SEGMENTS);
        private::create_folder(&segments).map_err(|e| ArchiveError::write_failed(&segments, e))?;
        let events = AppendFile::create(run.dir().join(EVENTS))?;
        Ok(WatchWriter {
            run,
            plan: plan.to_owned(),
            events,
            segment: None,
            segments: 0,
            incident: None,
        })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        self.run.dir()
    }

    /// Keeps who is watched.
    pub fn set_server(&mut self, server: ServerRecord) {
        self.run.update_meta(|meta| meta.server = Some(server));
    }

    /// Begins a segment. Its name is a time on the wall clock; a name that is taken gets a number: nothing is
    /// overwritten, also by a clock that was set back.
    ///
    /// # Errors
    /// When the folder can't be made.
    pub fn start_segment(
        &mut self,
        name_unix_ns: u64,
        origin_unix_ns: u64,
    ) -> Result<(), ArchiveError> {
        self.segments += 1;
        let mut meta = RunMeta { origin_unix_ns, ended_ns: None, ..self.run.meta().clone() };
        meta.facts.insert(NUMBER.to_owned(), self.segments.into());
        let name = folder_stamp(name_unix_ns);
        let parent = self.run.dir().join(SEGMENTS);
        self.segment = Some(RunWriter::create_part(&parent, &name, meta, &self.plan)?);
        Ok(())
    }

    /// Where the open segment lies.
    pub fn segment_dir(&self) -> Option<&Path> {
        self.segment.as_ref().map(RunWriter::dir)
    }

    /// Keeps a sample in the open segment; without one it is dropped.
    ///
    /// # Errors
    /// The first write of this segment that failed: nothing after it is kept there.
    pub fn write_sample(&mut self, sample: &SampleRecord) -> Result<(), String> {
        let Some(segment) = &mut self.segment else { return Ok(()) };
        segment.write_sample(sample);
        segment.first_error().map_or(Ok(()), |error| Err(error.to_string()))
    }

    /// Keeps the server's variables in the open segment.
    pub fn write_variables(&mut self, variables: &[VariableRecord]) {
        if let Some(segment) = &mut self.segment {
            segment.write_variables(variables);
        }
    }

    /// Closes the open segment, and gives its folder.
    ///
    /// # Errors
    /// The first write of this segment that failed.
    pub fn end_segment(&mut self, ended: Nanos) -> Result<Option<PathBuf>, ArchiveError> {
        let Some(segment) = self.segment.take() else { return Ok(None) };
        let dir = segment.dir().to_owned();
        segment.close(RunState::Done, None, ended)?;
        Ok(Some(dir))
    }

    /// Begins an incident, and gives its folder. `why` is what began it, and `origin_unix_ns` the wall time from which its
    /// samples count.
    ///
    /// # Errors
    /// When the folder can't be made.
    pub fn start_incident(
        &mut self,
        name: &str,
        began_unix_ns: u64,
        origin_unix_ns: u64,
        why: &str,
    ) -> Result<PathBuf, ArchiveError> {
        let parent = self.run.dir().join(INCIDENTS);
        if !parent.is_dir() {
            private::create_folder(&parent).map_err(|e| ArchiveError::write_failed(&parent, e))?;
        }
        let mut meta = RunMeta { origin_unix_ns, ended_ns: None, ..self.run.meta().clone() };
        meta.facts.insert("incident".to_owned(), why.into());
        let name = format!("{}_{name}", folder_stamp(began_unix_ns));
        let incident = RunWriter::create_part(&parent, &name, meta, &self.plan)?;
        let dir = incident.dir().to_owned();
        self.incident = Some(incident);
        Ok(dir)
    }

    /// Keeps a sample in the open incident; without one it is dropped. Its times count from another origin: that of the
    /// clock it was taken by.
    pub fn write_incident_sample(&mut self, origin_unix_ns: u64, mut sample: SampleRecord) {
        let Some(incident) = &mut self.incident else { return };
        let base = incident.meta().origin_unix_ns;
        for at in [&mut sample.planned_ns, &mut sample.began_ns, &mut sample.ended_ns] {
            *at = origin_unix_ns.saturating_add(*at).saturating_sub(base);
        }
        incident.write_sample(&sample);
    }

    /// Closes the open incident, at this wall time.
    ///
    /// # Errors
    /// The first write of it that failed.
    pub fn end_incident(&mut self, ended_unix_ns: u64) -> Result<(), ArchiveError> {
        let Some(incident) = self.incident.take() else { return Ok(()) };
        let ended = Nanos(ended_unix_ns.saturating_sub(incident.meta().origin_unix_ns));
        incident.close(RunState::Done, None, ended)
    }

    /// Notes what happened.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn write_event(&mut self, event: &WatchEvent) -> Result<(), ArchiveError> {
        self.events.append(&to_json_line(event))
    }

    /// Keeps what the watch came to, as facts of its folder.
    pub fn set_fact(&mut self, name: &str, value: serde_json::Value) {
        self.run.update_meta(|meta| {
            meta.facts.insert(name.to_owned(), value);
        });
    }

    /// Closes the folder.
    ///
    /// # Errors
    /// The first write outside of segments that failed.
    pub fn close(
        mut self,
        state: RunState,
        why: Option<String>,
        ended: Nanos,
    ) -> Result<(), ArchiveError> {
        let segment = self.end_segment(ended).map(drop);
        self.run.close(state, why, ended).and(segment)
    }
}

/// `2026-11-22T22-00-00Z`
pub(super) fn folder_stamp(unix_ns: u64) -> String {
    let at = SystemTime::UNIX_EPOCH + Duration::from_nanos(unix_ns);
    humantime::format_rfc3339_seconds(at).to_string().replace(':', "-")
}

/// Appends a piece to a file of others, in one write; the file is made if it is not there.
pub(super) fn append_once(path: &Path, piece: &[u8]) -> Result<(), ArchiveError> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let file = std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    file.and_then(|mut file| match file.write(piece)? {
        all if all == piece.len() => Ok(()),
        part => {
            // A piece that is cut would be read as another one.
            let length = file.metadata()?.len();
            file.set_len(length.saturating_sub(part as u64))?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
    })
    .map_err(|e| ArchiveError::write_failed(path, e))
}

/// Writes a file whole, in place of the one that is there.
pub(super) fn write_whole(path: &Path, content: &[u8]) -> Result<(), ArchiveError> {
    file::replace_file(path, content)
}
