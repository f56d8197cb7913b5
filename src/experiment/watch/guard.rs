//! How much a watch may write: pure decisions, from what is free and what there is.
//!
//! Well before a limit the oldest segments without an incident go. Where none is left, only one sample in twelve is written,
//! and at the limit none, until there is room again.

use std::path::PathBuf;

use crate::base::Nanos;
use crate::base::units::show_bytes;
use crate::plan::WatchLimits;

/// Before the limit of the watch's own size there is a reserve of one part in so many.
const OWN_RESERVE: u64 = 8;
/// The same for room on the disk, of what shall stay free.
const FREE_RESERVE: u64 = 4;
/// A segment that is larger than this part of the limit ends early, so that there is one to remove.
const SEGMENT_PART: u64 = 4;
/// Of so many ticks one is written where room is short.
const THINNED: u64 = 12;

/// What a file system says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DiskReading {
    pub(super) free_bytes: u64,
    pub(super) total_bytes: u64,
}

/// Something written and closed that may be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiskPiece {
    /// Folders or files.
    pub(super) paths: Vec<PathBuf>,
    pub(super) bytes: u64,
    pub(super) ended_unix_ns: u64,
    /// An incident began in it: it stays.
    pub(super) holds_incident: bool,
}

/// How much is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum WriteExtent {
    /// Every sample.
    #[default]
    All,
    /// One in twelve.
    Thinned,
    /// None.
    Nothing,
}

impl WriteExtent {
    /// Whether the samples of a tick are written; ticks are numbered on the wall clock.
    pub(super) fn takes_tick(self, tick: u64) -> bool {
        match self {
            WriteExtent::All => true,
            WriteExtent::Thinned => tick % THINNED == 0,
            WriteExtent::Nothing => false,
        }
    }
}

/// What to do now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GuardVerdict {
    /// Places of the pieces to remove, and why each goes.
    pub(super) removed: Vec<(usize, &'static str)>,
    pub(super) extent: WriteExtent,
    /// Why less than all is written.
    pub(super) why: String,
}

/// One limit: how much room it leaves, and how much of that is reserve.
struct RoomLeft {
    room: i128,
    reserve: i128,
    flag: &'static str,
    why: String,
}

/// Decides by these limits. `pieces` are in the order in which they were written.
pub(super) fn judge_room(
    limits: &WatchLimits,
    disk: Option<DiskReading>,
    own_bytes: u64,
    pieces: &[DiskPiece],
    before: WriteExtent,
    now_unix_ns: u64,
) -> GuardVerdict {
    let mut verdict = GuardVerdict::default();
    let mut rooms = rooms_left(limits, disk, own_bytes);
    let keep_ns = limits.keep.map_or(u64::MAX, |keep| Nanos::from(keep).0);
    let candidates = pieces.iter().enumerate().filter(|(_, piece)| !piece.holds_incident);
    for (place, piece) in candidates {
        let is_old = piece.ended_unix_ns.saturating_add(keep_ns) < now_unix_ns;
        let short = rooms.iter().find(|left| left.room < left.reserve).map(|left| left.flag);
        let Some(flag) = is_old.then_some("--keep").or(short) else { continue };
        verdict.removed.push((place, flag));
        rooms.iter_mut().for_each(|left| left.room += i128::from(piece.bytes));
    }
    for left in &rooms {
        // Once nothing was written, half of the reserve has to be free again.
        let least = if before == WriteExtent::Nothing { left.reserve / 2 } else { 0 };
        let extent = match left.room {
            room if room <= least => WriteExtent::Nothing,
            room if room < left.reserve => WriteExtent::Thinned,
            _ => WriteExtent::All,
        };
        let is_less = |a: WriteExtent, b: WriteExtent| (a as u8) > (b as u8);
        if is_less(extent, verdict.extent) {
            (verdict.extent, verdict.why) = (extent, left.why.clone());
        }
    }
    verdict
}

fn rooms_left(limits: &WatchLimits, disk: Option<DiskReading>, own_bytes: u64) -> Vec<RoomLeft> {
    let mut rooms = Vec::new();
    if let Some(most) = limits.max_disk_bytes {
        rooms.push(RoomLeft {
            room: i128::from(most) - i128::from(own_bytes),
            reserve: i128::from(most / OWN_RESERVE),
            flag: "--max-disk",
            why: format!("{} of --max-disk {} are used", show_bytes(own_bytes), show_bytes(most)),
        });
    }
    if let Some(disk) = disk {
        let least = (disk.total_bytes as f64 * limits.min_free_share) as u64;
        let least = least.max(limits.min_free_bytes);
        rooms.push(RoomLeft {
            room: i128::from(disk.free_bytes) - i128::from(least),
            reserve: i128::from(least / FREE_RESERVE),
            flag: "--min-free",
            why: format!(
                "{} are free on the disk, --min-free keeps {}",
                show_bytes(disk.free_bytes),
                show_bytes(least)
            ),
        });
    }
    rooms
}

/// Whether a segment of this size has to end before its time.
pub(super) fn is_segment_full(limits: &WatchLimits, bytes: u64) -> bool {
    limits.max_disk_bytes.is_some_and(|most| bytes > most / SEGMENT_PART)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MIB: u64 = 1 << 20;
    const DAY: u64 = 86_400_000_000_000;

    fn limits() -> WatchLimits {
        WatchLimits {
            keep: Some(Duration::from_secs(7 * 86_400)),
            max_disk_bytes: Some(100 * MIB),
            min_free_share: 0.05,
            min_free_bytes: 40 * MIB,
        }
    }

    fn pieces(count: u64) -> Vec<DiskPiece> {
        let piece = |n| DiskPiece {
            paths: Vec::new(),
            bytes: 10 * MIB,
            ended_unix_ns: n * DAY,
            holds_incident: n == 1,
        };
        (1..=count).map(piece).collect()
    }

    fn roomy() -> Option<DiskReading> {
        Some(DiskReading { free_bytes: 500 * MIB, total_bytes: 900 * MIB })
    }

    fn judge(
        own: u64,
        disk: Option<DiskReading>,
        of: &[DiskPiece],
        before: WriteExtent,
    ) -> GuardVerdict {
        judge_room(&limits(), disk, own, of, before, 5 * DAY)
    }

    #[test]
    fn the_oldest_without_an_incident_go_first() {
        let all = pieces(4);
        assert_eq!(judge(80 * MIB, roomy(), &all, WriteExtent::All), GuardVerdict::default());
        let verdict = judge(99 * MIB, roomy(), &all, WriteExtent::All);
        assert_eq!(verdict.removed, [(1, "--max-disk"), (2, "--max-disk")]);
        assert_eq!(verdict.extent, WriteExtent::All);
    }

    #[test]
    fn then_it_thins_and_then_it_stops_until_there_is_room() {
        let kept = pieces(1);
        for (own, before, extent) in [
            (80, WriteExtent::All, WriteExtent::All),
            (90, WriteExtent::All, WriteExtent::Thinned),
            (100, WriteExtent::Thinned, WriteExtent::Nothing),
            (97, WriteExtent::Nothing, WriteExtent::Nothing),
            (93, WriteExtent::Nothing, WriteExtent::Thinned),
        ] {
            let verdict = judge(own * MIB, roomy(), &kept, before);
            assert_eq!((verdict.extent, verdict.removed.len()), (extent, 0), "{own}");
        }
        let written = (0..24).filter(|tick| WriteExtent::Thinned.takes_tick(*tick)).count();
        assert_eq!(written, 2);
    }

    #[test]
    fn what_shall_stay_free_is_the_larger_of_share_and_bytes() {
        let of = |free_mib, total_mib| {
            Some(DiskReading { free_bytes: free_mib * MIB, total_bytes: total_mib * MIB })
        };
        // 5 % of 1000 MiB are 50.
        assert_eq!(judge(0, of(70, 1000), &[], WriteExtent::All).extent, WriteExtent::All);
        assert_eq!(judge(0, of(60, 1000), &[], WriteExtent::All).extent, WriteExtent::Thinned);
        let full = judge(0, of(50, 1000), &[], WriteExtent::All);
        assert_eq!(full.extent, WriteExtent::Nothing);
        assert_eq!(full.why, "50.0 MiB are free on the disk, --min-free keeps 50.0 MiB");
        // A disk that is too small for the least: nothing is written at all.
        assert_eq!(judge(0, of(2, 2), &[], WriteExtent::All).extent, WriteExtent::Nothing);
        assert_eq!(judge(0, None, &[], WriteExtent::All).extent, WriteExtent::All);
    }

    #[test]
    fn what_is_older_than_asked_goes_whatever_room_there_is() {
        let verdict = judge_room(&limits(), roomy(), 0, &pieces(4), WriteExtent::All, 11 * DAY);
        assert_eq!(verdict.removed, [(1, "--keep"), (2, "--keep")]);
        assert!(is_segment_full(&limits(), 26 * MIB) && !is_segment_full(&limits(), 25 * MIB));
    }
}
