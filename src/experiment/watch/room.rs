//! The room on the disk: what a watch has written so far, and what of it goes where room is short.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::guard::{
    DiskPiece, DiskReading, GuardVerdict, WriteExtent, is_segment_full, judge_room,
};
use crate::base::kernel::folder_bytes;
use crate::plan::WatchLimits;

/// What a file system says of the one that holds a folder.
pub(super) type DiskReader = Box<dyn Fn(&Path) -> Option<DiskReading>>;

/// Files that are closed, and whether they are ours to remove.
type ClosedFiles = (Vec<PathBuf>, bool);

/// How much is written, and the files of the other thread that writes; copies share both.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteGate {
    extent: Arc<AtomicU8>,
    closed: Arc<Mutex<Vec<ClosedFiles>>>,
}

impl WriteGate {
    /// How much is written now.
    pub(super) fn extent(&self) -> WriteExtent {
        let all = [WriteExtent::All, WriteExtent::Thinned, WriteExtent::Nothing];
        let is_now = |extent: &WriteExtent| *extent as u8 == self.extent.load(Ordering::Relaxed);
        all.into_iter().find(is_now).unwrap_or_default()
    }

    fn set_extent(&self, extent: WriteExtent) {
        self.extent.store(extent as u8, Ordering::Relaxed);
    }

    /// Files are closed; those that were there before are not ours to remove.
    pub(super) fn add_closed(&self, paths: Vec<PathBuf>, is_ours: bool) {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner).push((paths, is_ours));
    }

    fn take_closed(&self) -> Vec<ClosedFiles> {
        std::mem::take(&mut self.closed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What changed at a check.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RoomChange {
    /// What was removed, in words.
    pub(super) removed: Vec<String>,
    /// More or less is written than before, in words.
    pub(super) extent: Option<String>,
}

/// The room of a watch.
pub(super) struct WatchRoom {
    limits: WatchLimits,
    /// Folders that are written to.
    dirs: Vec<PathBuf>,
    pieces: Vec<DiskPiece>,
    /// Bytes that are never removed: incidents.
    kept_bytes: u64,
    gate: WriteGate,
    read_disk: DiskReader,
}

impl WatchRoom {
    pub(super) fn new(
        limits: &WatchLimits,
        dirs: Vec<PathBuf>,
        gate: WriteGate,
        read_disk: DiskReader,
    ) -> WatchRoom {
        let (pieces, kept_bytes) = (Vec::new(), 0);
        WatchRoom { limits: limits.clone(), dirs, pieces, kept_bytes, gate, read_disk }
    }

    pub(super) fn extent(&self) -> WriteExtent {
        self.gate.extent()
    }

    /// A segment is closed.
    pub(super) fn add_segment(&mut self, dir: PathBuf, ended_unix_ns: u64, holds_incident: bool) {
        let bytes = folder_bytes(&dir);
        self.pieces.push(DiskPiece { paths: vec![dir], bytes, ended_unix_ns, holds_incident });
    }

    /// An incident is closed.
    pub(super) fn add_incident(&mut self, dir: &Path) {
        self.kept_bytes += folder_bytes(dir);
    }

    /// Whether the open segment has to end before its time.
    pub(super) fn is_full(&self, open: Option<&Path>) -> bool {
        open.is_some_and(|dir| is_segment_full(&self.limits, folder_bytes(dir)))
    }

    /// Looks at the disk, removes what has to go, and decides how much is written from now on. `open` is the open segment.
    pub(super) fn check(&mut self, open: Option<&Path>, now_unix_ns: u64) -> RoomChange {
        for (paths, is_ours) in self.gate.take_closed() {
            let bytes = paths.iter().map(|path| file_bytes(path)).sum();
            let holds_incident = !is_ours;
            self.pieces.push(DiskPiece {
                paths,
                bytes,
                ended_unix_ns: now_unix_ns,
                holds_incident,
            });
        }
        let before = self.extent();
        let own = self.own_bytes(open);
        let disk = self.dirs.iter().filter_map(|dir| (self.read_disk)(dir));
        let disk = disk.min_by_key(|disk| disk.free_bytes);
        let verdict = judge_room(&self.limits, disk, own, &self.pieces, before, now_unix_ns);
        self.apply(verdict, before)
    }

    fn own_bytes(&self, open: Option<&Path>) -> u64 {
        let closed: u64 = self.pieces.iter().map(|piece| piece.bytes).sum();
        closed + self.kept_bytes + open.map_or(0, folder_bytes)
    }

    fn apply(&mut self, verdict: GuardVerdict, before: WriteExtent) -> RoomChange {
        let mut change = RoomChange::default();
        for (place, flag) in verdict.removed.iter().rev() {
            let piece = self.pieces.remove(*place);
            for path in &piece.paths {
                // One that was moved away is gone already.
                let _ = match path.is_dir() {
                    true => std::fs::remove_dir_all(path),
                    false => std::fs::remove_file(path),
                };
            }
            let name = piece.paths.first().and_then(|path| path.file_name()).unwrap_or_default();
            change.removed.insert(0, format!("{} removed by {flag}", name.to_string_lossy()));
        }
        if verdict.extent != before {
            self.gate.set_extent(verdict.extent);
            change.extent = Some(match verdict.extent {
                WriteExtent::All => "all samples are written again".to_owned(),
                WriteExtent::Thinned => format!("1 of 12 samples is written: {}", verdict.why),
                WriteExtent::Nothing => format!("samples are not written: {}", verdict.why),
            });
        }
        change
    }
}

/// What the system says of the disk that holds a folder.
pub(super) fn read_disk(dir: &Path) -> Option<DiskReading> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    // What only root may use is not there for anybody else.
    let total = stat.f_blocks.saturating_sub(stat.f_bfree.saturating_sub(stat.f_bavail));
    Some(DiskReading { free_bytes: bytes(stat.f_bavail), total_bytes: bytes(total) })
}

fn file_bytes(path: &Path) -> u64 {
    std::fs::symlink_metadata(path).map_or(0, |meta| meta.len())
}
