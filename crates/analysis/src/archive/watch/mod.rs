//! The folder of a watch: a run folder whose samples lie in segments, each a run folder of its own, so that a kill loses
//! no more than the end of one, and old ones may be moved away while it goes on.
//! Start reading at [`WatchWriter`] and [`WatchReader`].

mod classic;
mod foreign;
mod foreign_looks;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use classic::{ClassicFiles, ClassicStamp, classic_look, status_look_text};
pub use foreign::{ForeignWatch, read_foreign_watch};
pub use foreign_looks::read_classic_looks;
pub use reader::{SegmentPlace, WatchReader};
pub use writer::WatchWriter;

use serde::{Deserialize, Serialize};

use super::recorded_names::WatchEventKind;

/// Folder of the segments.
const SEGMENTS: &str = "segments";
/// Folder of the incidents.
const INCIDENTS: &str = "incidents";
/// File of the events.
const EVENTS: &str = "events.jsonl";
/// Fact of a segment: its number, from 1. Names alone would go back with a clock that is set back.
const NUMBER: &str = "segment";

/// Something that happened during a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchEvent {
    /// When, nanoseconds since 1970 on the wall clock of that moment.
    pub unix_ns: u64,
    /// What.
    pub kind: WatchEventKind,
    /// The same in words.
    pub text: String,
}
