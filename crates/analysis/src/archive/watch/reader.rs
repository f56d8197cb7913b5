//! Reads the folder of a watch, sample by sample: weeks of them do not fit into memory.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::writer::folder_stamp;
use super::{EVENTS, INCIDENTS, NUMBER, SEGMENTS, WatchEvent};
use crate::archive::error::ArchiveError;
use crate::archive::reader::{parse_json_lines, read_meta};
use crate::archive::recorded_names::RunCommand;
use crate::archive::types::{RunMeta, SampleRecord};

/// A segment: its folder, and when its clock began.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentPlace {
    /// Its folder.
    pub dir: PathBuf,
    /// Its name: a time on the wall clock.
    pub name: String,
    /// Wall time of its clock's origin, nanoseconds since 1970.
    pub origin_unix_ns: u64,
    /// Its number, from 1.
    pub number: u64,
}

/// The folder of a watch, to be read.
#[derive(Clone, Debug)]
pub struct WatchReader {
    dir: PathBuf,
    /// `meta.json` of the watch.
    pub meta: RunMeta,
    /// Its segments in the order in which they were written.
    pub segments: Vec<SegmentPlace>,
    /// What could not be read, in words.
    pub damage: Vec<String>,
}

/// Told each sample with the wall time of its clock's origin.
type RecordSink<'a> = &'a mut dyn FnMut(&SegmentPlace, SampleRecord);

impl WatchReader {
    /// Opens the folder of a watch, or one of its segments; `None` if it is the folder of another kind of run.
    ///
    /// # Errors
    /// When it is no run folder, or a newer sweat wrote it.
    pub fn open(dir: &Path) -> Result<Option<WatchReader>, ArchiveError> {
        let meta = read_meta(dir)?;
        if meta.command != RunCommand::Watch {
            return Ok(None);
        }
        let (mut segments, mut damage) = (Vec::new(), Vec::new());
        let below = dir.join(SEGMENTS);
        if below.is_dir() {
            let entries = std::fs::read_dir(&below).into_iter().flatten().flatten();
            for path in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
                match read_meta(&path) {
                    Ok(meta) => segments.push(place_of(path, &meta)),
                    Err(e) => damage.push(e.to_string()),
                }
            }
        } else {
            segments.push(place_of(dir.to_owned(), &meta));
        }
        segments.sort_by(|a, b| (a.number, &a.name).cmp(&(b.number, &b.name)));
        Ok(Some(WatchReader { dir: dir.to_owned(), meta, segments, damage }))
    }

    /// What happened within a span of wall time, in the order in which it was noted.
    pub fn read_events(&mut self, span: &Range<u64>) -> Vec<WatchEvent> {
        let Ok(text) = std::fs::read(self.dir.join(EVENTS)) else { return Vec::new() };
        let (mut events, bad) = parse_json_lines::<WatchEvent>(&text);
        self.damage.extend(bad.map(|why| format!("{EVENTS} {why}")));
        events.retain(|event| span.contains(&event.unix_ns));
        events
    }

    /// Folders of the incidents whose samples begin within a span of wall time, the oldest first.
    pub fn list_incidents(&self, span: &Range<u64>) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.dir.join(INCIDENTS)).into_iter().flatten().flatten();
        let is_inside =
            |path: &PathBuf| read_meta(path).is_ok_and(|meta| span.contains(&meta.origin_unix_ns));
        let mut dirs: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_inside).collect();
        dirs.sort();
        dirs
    }

    /// Tells each sample whose planned time lies within a span of wall time: segment by segment, and in each probe by
    /// probe. What can't be read is left out and named in `damage`.
    pub fn for_each_sample(&mut self, span: &Range<u64>, on_sample: RecordSink<'_>) {
        let mut damage = Vec::new();
        for (place, segment) in self.segments.iter().enumerate() {
            let next = self.segments.get(place + 1).map(|next| next.origin_unix_ns);
            // A clock that was set back begins the next segment earlier: then nothing is known of this one's end.
            let ended = next.filter(|next| *next > segment.origin_unix_ns).unwrap_or(u64::MAX);
            if segment.origin_unix_ns >= span.end || ended < span.start {
                continue;
            }
            read_segment(segment, span, &mut damage, on_sample);
        }
        self.damage.append(&mut damage);
    }
}

fn place_of(dir: PathBuf, meta: &RunMeta) -> SegmentPlace {
    let number = meta.facts.get(NUMBER).and_then(serde_json::Value::as_u64).unwrap_or_default();
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = if name.is_empty() { folder_stamp(meta.origin_unix_ns) } else { name };
    SegmentPlace { dir, name, origin_unix_ns: meta.origin_unix_ns, number }
}

fn read_segment(
    segment: &SegmentPlace,
    span: &Range<u64>,
    damage: &mut Vec<String>,
    on_sample: RecordSink<'_>,
) {
    let raw = segment.dir.join("raw");
    let files: BTreeMap<String, PathBuf> = std::fs::read_dir(&raw)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .filter(|(name, _)| name.ends_with(".jsonl.gz"))
        .collect();
    for (name, path) in files {
        let file = match std::fs::File::open(&path) {
            Ok(file) => file,
            Err(e) => {
                damage.push(format!("{}/raw/{name}: {e}", segment.name));
                continue;
            }
        };
        let mut lines = BufReader::new(flate2::read::GzDecoder::new(file));
        let (mut line, mut read) = (Vec::new(), 0);
        let why = loop {
            line.clear();
            match lines.read_until(b'\n', &mut line) {
                Ok(0) => break None,
                Ok(_) if line.last() != Some(&b'\n') => break Some("cut".to_owned()),
                Ok(_) => {}
                Err(e) => break Some(format!("cut: {e}")),
            }
            match serde_json::from_slice::<SampleRecord>(&line) {
                Ok(sample) => {
                    read += 1;
                    let planned = segment.origin_unix_ns.saturating_add(sample.planned_ns);
                    if span.contains(&planned) {
                        on_sample(segment, sample);
                    }
                }
                Err(e) => break Some(e.to_string()),
            }
        };
        let text = |why| format!("{}/raw/{name} after {read} samples: {why}", segment.name);
        damage.extend(why.map(text));
    }
}
