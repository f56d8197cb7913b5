//! A first look through logs that are plain files: how many sessions there are at once, where each ends, and which begin
//! inside a transaction. So a replay need not guess.

use std::path::PathBuf;

use super::setup::ReplaySetup;
use super::source::{LogStep, walk_logs};
use super::timeline::{LogTimeline, RecordedTime};
use super::tracker::Tracker;
use crate::base::Stop;

/// What a first look found out.
#[derive(Clone, Debug, Default)]
pub(super) struct LogPrescan {
    /// Number of the last record of each session.
    last: Vec<u64>,
    /// Whether each begins inside a transaction.
    cut: Vec<bool>,
    /// When the first statement began, microseconds since 1970.
    pub(super) first_us: i64,
    /// Sessions at once.
    pub(super) at_once: u64,
    pub(super) records: u64,
    /// Bytes of the logs as they were read.
    pub(super) bytes: u64,
    /// Files that are no logs.
    pub(super) foreign: Vec<PathBuf>,
}

impl LogPrescan {
    /// Whether a session ends with this record.
    pub(super) fn is_last(&self, session: u64, record: u64) -> bool {
        self.last.get(session as usize) == Some(&record)
    }

    /// Whether a session begins inside a transaction.
    pub(super) fn is_cut(&self, session: u64) -> bool {
        self.cut.get(session as usize).copied().unwrap_or(false)
    }

    /// Looks through the logs; what can't be read ends there, as it will when it is replayed.
    pub(super) fn scan_logs(setup: &ReplaySetup, stop: &Stop) -> LogPrescan {
        let mut ends = LogPrescan { first_us: i64::MAX, ..LogPrescan::default() };
        let mut tracker = Tracker::for_prescan(setup);
        let mut timeline = LogTimeline::new();
        let mut spans: Vec<SessionSpan> = Vec::new();
        walk_logs(setup, &mut |step| {
            match step {
                LogStep::Recorded(recorded) => {
                    let seen = tracker.track_record(recorded);
                    let session = seen.session as usize;
                    if session == ends.last.len() {
                        ends.last.push(0);
                        ends.cut.push(false);
                        spans.push(SessionSpan {
                            first: tracker.record_count(),
                            begin_us: i64::MAX,
                            end_us: i64::MIN,
                        });
                    }
                    ends.last[session] = tracker.record_count();
                    ends.cut[session] |= seen.is_cut;
                    let stamp = RecordedTime::from_record(recorded, seen.has_own_clock);
                    let took_us = stamp.took_us as i64;
                    timeline.place_record(stamp, (session, took_us), &mut |w, at| {
                        widen_span(&mut spans, w, at)
                    });
                }
                LogStep::Idle => {
                    timeline.flush_held(&mut |what, at| widen_span(&mut spans, what, at))
                }
                LogStep::Failed(_) | LogStep::LeftOut(_) => {}
                LogStep::Foreign(path) => ends.foreign.push(path.to_owned()),
                LogStep::Read(bytes) => ends.bytes += bytes,
            }
            !stop.is_set()
        });
        timeline.flush_held(&mut |what, at| widen_span(&mut spans, what, at));
        ends.records = tracker.record_count();
        ends.first_us = spans.iter().map(|span| span.begin_us).min().unwrap_or(0);
        let by_order = spans.iter().zip(&ends.last).map(|(s, last)| (s.first as i64, *last as i64));
        let by_time = spans.iter().map(|span| (span.begin_us, span.end_us));
        ends.at_once = most_at_once(by_order).max(most_at_once(by_time));
        ends
    }
}

/// From a session's begin to its end.
struct SessionSpan {
    /// Number of its first record.
    first: u64,
    begin_us: i64,
    end_us: i64,
}

/// Something of a session began then and took so long.
fn widen_span(spans: &mut [SessionSpan], (session, took_us): (usize, i64), at: i64) {
    let span = &mut spans[session];
    span.begin_us = span.begin_us.min(at);
    span.end_us = span.end_us.max(at + took_us);
}

/// How many spans overlap at most; each is there at its end too.
fn most_at_once(spans: impl Iterator<Item = (i64, i64)>) -> u64 {
    let (mut begins, mut ends): (Vec<i64>, Vec<i64>) = spans.unzip();
    begins.sort_unstable();
    ends.sort_unstable();
    let (mut most, mut gone) = (0, 0);
    for (begun, begin) in begins.iter().enumerate() {
        while ends[gone] < *begin {
            gone += 1;
        }
        most = most.max(begun + 1 - gone);
    }
    most as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_overlap() {
        let most = |spans: &[(i64, i64)]| most_at_once(spans.iter().copied());
        assert_eq!(most(&[]), 0);
        assert_eq!(most(&[(1, 2), (3, 4), (5, 5)]), 1);
        assert_eq!(most(&[(1, 3), (3, 4), (2, 9), (10, 11)]), 3);
    }
}
