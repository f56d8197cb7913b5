//! When things happened by one clock that only goes on, from what a log says of them. A log's times are whole seconds
//! in some formats, a client can set its own, and a machine's clock can be set back: so the order of the file counts,
//! and a time far off is believed only when others agree with it.

use std::collections::VecDeque;

use crate::capture::LogRecord;

/// Microseconds of a second.
const SECOND: i64 = 1_000_000;
/// So far before the last end an end may lie: sessions write to a log one after the other, not all at once.
const SLACK: i64 = 2 * SECOND;
/// A time so far ahead is doubted.
const AHEAD: i64 = 5 * SECOND;
/// So many in a row that agree with each other are believed, whoever they are.
const ENOUGH: usize = 8;
/// A pause up to here at the end of a log is believed without a witness.
const LAST_PAUSE: i64 = 3_600 * SECOND;
/// Nobody waits longer than this for the next statement of a log.
const LONGEST_PAUSE: i64 = 86_400 * SECOND;

/// What a log says of the time of something.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecordedTime {
    /// When it began, microseconds since 1970.
    pub(super) began_us: Option<u64>,
    /// How long it took, microseconds.
    pub(super) took_us: u64,
    pub(super) session: u64,
    /// Whether its session has set its own clock.
    pub(super) is_own_clock: bool,
}

impl RecordedTime {
    pub(super) fn from_record(recorded: &LogRecord<'_>, is_own_clock: bool) -> RecordedTime {
        RecordedTime {
            began_us: recorded.began_us,
            took_us: recorded.took_us.unwrap_or(0),
            session: recorded.session.unwrap_or(0),
            is_own_clock,
        }
    }

    /// Begin and end as logged; `None` where that is not to be believed.
    fn start_and_end(&self) -> Option<(i64, i64)> {
        let began = self.began_us.filter(|_| !self.is_own_clock)? as i64;
        Some((began, began.saturating_add(self.took_us as i64)))
    }
}

/// What became of doubtful times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClockCaveats {
    /// Statements whose time was not believed: they keep their place in the file.
    pub(super) not_believed: u64,
    /// How often the clock of the log was set back.
    pub(super) set_back: u64,
    /// Pauses of more than a day that are left out.
    pub(super) pauses_cut: u64,
    /// Whether times are whole seconds.
    pub(super) is_coarse: bool,
}

/// The clock of a log. `T` is what is held back with a time that is doubted.
pub(super) struct LogTimeline<T> {
    /// From the log's clock to ours, microseconds.
    offset: i64,
    /// End of what ended last, on our clock; `None` before the first.
    last_end: Option<i64>,
    pending: VecDeque<(RecordedTime, T)>,
    doubted: ClockCaveats,
}

impl<T> LogTimeline<T> {
    pub(super) fn new() -> LogTimeline<T> {
        LogTimeline {
            offset: 0,
            last_end: None,
            pending: VecDeque::new(),
            doubted: ClockCaveats::default(),
        }
    }

    pub(super) fn clock_caveats(&self) -> ClockCaveats {
        self.doubted
    }

    /// Places something on our clock: `out` is given everything in the order of the file with the time at which it
    /// began, microseconds since 1970; what is doubted comes with a later call.
    pub(super) fn place_record(
        &mut self,
        stamp: RecordedTime,
        what: T,
        out: &mut dyn FnMut(T, i64),
    ) {
        let Some(last_end) = self.last_end else {
            let begin = self.start_time(&stamp);
            return out(what, begin);
        };
        let fits = stamp.start_and_end().is_none_or(|(_, end)| {
            let end = end.saturating_add(self.offset);
            end >= last_end - SLACK && end <= last_end + AHEAD
        });
        if fits && self.pending.iter().any(|(held, _)| held.start_and_end().is_some()) {
            if stamp.start_and_end().is_none() {
                // It says nothing for or against them.
                self.pending.push_back((stamp, what));
                return;
            }
            // The old clock goes on: those held back had another.
            self.place_at_end(out);
        }
        if fits {
            let begin = self.start_time(&stamp);
            return out(what, begin);
        }
        let agrees = self
            .last_held()
            .is_none_or(|held| stamp.start_and_end().is_some_and(|(_, end)| end >= held - SLACK));
        if !agrees {
            self.place_at_end(out);
        }
        self.pending.push_back((stamp, what));
        let first = self.pending[0].0.session;
        let others = self.pending.iter().any(|(held, _)| held.session != first);
        if others || self.pending.len() >= ENOUGH {
            self.accept_clock(out);
        }
    }

    /// Nothing comes for now, or ever: gives what is held back.
    pub(super) fn flush_held(&mut self, out: &mut dyn FnMut(T, i64)) {
        let held = self.pending.iter().find_map(|(held, _)| held.start_and_end());
        if let (Some((_, end)), Some(last)) = (held, self.last_end) {
            let ahead = end.saturating_add(self.offset) - last;
            if (0..=LAST_PAUSE).contains(&ahead) {
                return self.accept_clock(out);
            }
        }
        self.place_at_end(out);
    }

    /// End of the last one held back, as logged.
    fn last_held(&self) -> Option<i64> {
        self.pending.iter().rev().find_map(|(held, _)| held.start_and_end()).map(|(_, end)| end)
    }

    /// Places those held back at the end of what was before them.
    fn place_at_end(&mut self, out: &mut dyn FnMut(T, i64)) {
        let last = self.last_end.unwrap_or(0);
        for (stamp, what) in std::mem::take(&mut self.pending) {
            self.doubted.not_believed += u64::from(stamp.start_and_end().is_some());
            out(what, last);
        }
    }

    /// Takes the clock of those held back for the log's.
    fn accept_clock(&mut self, out: &mut dyn FnMut(T, i64)) {
        let first = self.pending.iter().find_map(|(held, _)| held.start_and_end());
        if let (Some((_, end)), Some(last)) = (first, self.last_end) {
            let ahead = end.saturating_add(self.offset) - last;
            if ahead < 0 {
                self.doubted.set_back += 1;
                self.offset -= ahead;
            } else if ahead > LONGEST_PAUSE {
                self.doubted.pauses_cut += 1;
                self.offset -= ahead;
            }
        }
        for (stamp, what) in std::mem::take(&mut self.pending) {
            let begin = self.start_time(&stamp);
            out(what, begin);
        }
    }

    /// When something began on our clock; what follows it in the file ended no earlier.
    fn start_time(&mut self, stamp: &RecordedTime) -> i64 {
        let Some((began, end)) = stamp.start_and_end() else {
            return self.last_end.unwrap_or(0);
        };
        let took = end - began;
        let (began, end) = (began + self.offset, end + self.offset);
        let last_end = self.last_end.unwrap_or(end);
        if began.rem_euclid(SECOND) == self.offset.rem_euclid(SECOND) {
            self.doubted.is_coarse = true;
            // It began within this second, and ended after what stands before it in the file.
            let begin = (last_end.max(end) - took).clamp(began, began + SECOND - 1);
            self.last_end = Some(last_end.max(begin + took));
            return begin;
        }
        self.last_end = Some(last_end.max(end));
        began
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places statements of (session, begin in seconds, time taken in seconds); gives begins in seconds.
    fn place(timeline: &mut LogTimeline<usize>, given: &[(u64, f64, f64)]) -> Vec<f64> {
        let mut found = Vec::new();
        let mut out = |n: usize, at: i64| found.push((n, at as f64 / 1e6));
        for (n, (session, began, took)) in given.iter().enumerate() {
            let stamp = RecordedTime {
                began_us: Some((began * 1e6) as u64),
                took_us: (took * 1e6) as u64,
                session: *session,
                is_own_clock: false,
            };
            timeline.place_record(stamp, n, &mut out);
        }
        timeline.flush_held(&mut out);
        assert!(found.iter().map(|(n, _)| *n).eq(0..given.len()), "order of the file: {found:?}");
        found.into_iter().map(|(_, at)| at).collect()
    }

    #[test]
    fn exact_times_are_kept() {
        let mut timeline = LogTimeline::new();
        let given = [(1, 100.25, 0.5), (2, 98.125, 3.0), (1, 101.5, 0.01)];
        assert_eq!(place(&mut timeline, &given), [100.25, 98.125, 101.5]);
        assert_eq!(timeline.clock_caveats(), ClockCaveats::default());
    }

    #[test]
    fn whole_seconds_are_spread_by_the_order_of_ends() {
        // A short statement stands before a long one that began in the same second, as it ended before.
        let mut timeline = LogTimeline::new();
        let given = [(1, 10.0, 0.5), (2, 10.0, 0.25), (1, 10.0, 2.5), (2, 12.0, 0.25)];
        // Ends: 10.5; not before it: 10.5; 12.5; not before that: 12.5.
        assert_eq!(place(&mut timeline, &given), [10.0, 10.25, 10.0, 12.25]);
        assert!(timeline.clock_caveats().is_coarse);
        // Never beyond its second.
        let given = [(1, 20.0, 3.0), (2, 21.0, 1.0)];
        assert_eq!(place(&mut LogTimeline::new(), &given), [20.0, 21.999999]);
    }

    #[test]
    fn one_time_far_off_does_not_move_the_clock() {
        let mut timeline = LogTimeline::new();
        let given = [
            (1, 100.5, 0.1),
            (2, 2_000_000_000.5, 0.1),
            (1, 101.5, 0.1),
            (2, 5.5, 0.1),
            (1, 102.5, 0.0),
        ];
        assert_eq!(place(&mut timeline, &given), [100.5, 100.6, 101.5, 101.6, 102.5]);
        assert_eq!(timeline.clock_caveats().not_believed, 2);
        // A session that has set its own clock is not asked at all.
        let mut found = Vec::new();
        let mut timeline = LogTimeline::new();
        for (n, own) in [(0u64, false), (1, true), (2, false)] {
            let stamp = RecordedTime {
                began_us: Some(if own { 1 } else { (100 + n) * 1_000_000 + 1 }),
                took_us: 5,
                session: n,
                is_own_clock: own,
            };
            timeline.place_record(stamp, n, &mut |_, at| found.push(at));
        }
        assert_eq!(found, [100_000_001, 100_000_006, 102_000_001]);
    }

    #[test]
    fn a_pause_is_believed_when_others_agree() {
        let given = [(1, 100.5, 0.1), (1, 400.5, 0.1), (2, 400.75, 0.1), (1, 401.5, 0.1)];
        assert_eq!(place(&mut LogTimeline::new(), &given), [100.5, 400.5, 400.75, 401.5]);
        // One session alone: each of its statements comes after a pause.
        let given: Vec<_> = (0..20).map(|n| (1, 100.5 + 60.0 * f64::from(n), 0.1)).collect();
        let expected: Vec<_> = given.iter().map(|(_, at, _)| *at).collect();
        assert_eq!(place(&mut LogTimeline::new(), &given), expected);
    }

    #[test]
    fn a_clock_set_back_goes_on_from_where_it_was() {
        let mut timeline = LogTimeline::new();
        let given = [(1, 7200.5, 0.5), (1, 3600.25, 0.5), (2, 3600.75, 0.5), (1, 3602.25, 0.5)];
        assert_eq!(place(&mut timeline, &given), [7200.5, 7200.5, 7201.0, 7202.5]);
        assert_eq!(timeline.clock_caveats().set_back, 1);
    }

    #[test]
    fn nobody_waits_for_years() {
        let mut timeline = LogTimeline::new();
        let far = 2_000_000_000.5;
        let given = [(1, 100.5, 0.5), (1, far, 0.5), (2, far + 1.0, 0.5)];
        assert_eq!(place(&mut timeline, &given), [100.5, 100.5, 101.5]);
        assert_eq!(timeline.clock_caveats().pauses_cut, 1);
        // At the end of the log there is no witness.
        let mut timeline = LogTimeline::new();
        assert_eq!(place(&mut timeline, &[(1, 100.5, 0.5), (1, far, 0.5)]), [100.5, 101.0]);
    }

    #[test]
    fn without_times_the_order_is_all_there_is() {
        let mut found = Vec::new();
        let mut timeline = LogTimeline::new();
        for n in 0..3 {
            timeline.place_record(RecordedTime::default(), n, &mut |n, at| found.push((n, at)));
        }
        assert_eq!(found, [(0, 0), (1, 0), (2, 0)]);
    }
}
