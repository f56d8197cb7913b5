//! The clock of a log: which times its next record can have.

/// How well a time, or a head, fits a log, where it must be told from a text that looks like one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogFit {
    /// It is what this log would write next.
    Own,
    /// So it is, after a very long time without any record.
    Late,
    No,
}

const MINUTE_US: u64 = 60_000_000;
const DAY_US: u64 = 1_440 * MINUTE_US;
/// How far a time may lie behind the one before where begins are logged: logs are in the order of ends.
const BACK_US: u64 = 60 * MINUTE_US;
/// The same where ends are logged, as servers write them one after the other.
const BACK_OF_ENDS_US: u64 = 10 * MINUTE_US;
/// How far it may lie ahead, and how far after a long time without any record.
const AHEAD_US: u64 = DAY_US;
const LONG_AHEAD_US: u64 = 366 * DAY_US;
/// So many records in a row with a time far off, and none that fits between them, are believed.
const ENOUGH: u32 = 8;

/// The latest plausible time of a log.
#[derive(Debug, Default)]
pub(super) struct LogClock {
    /// Microseconds since 1970; 0 before the first.
    now_us: u64,
    /// The last time that was far off, and how many agree with it.
    odd: Option<(u64, u32)>,
}

impl LogClock {
    /// The time of the record before, if there is one.
    pub(super) fn now_us(&self) -> Option<u64> {
        (self.now_us > 0).then_some(self.now_us)
    }

    /// How well a time fits the next record.
    pub(super) fn time_fit(&self, us: u64, is_end: bool) -> LogFit {
        let back_us = if is_end { BACK_OF_ENDS_US } else { BACK_US };
        if self.now_us == 0 {
            LogFit::Own
        } else if us.saturating_add(back_us) < self.now_us {
            LogFit::No
        } else if us <= self.now_us.saturating_add(AHEAD_US) {
            LogFit::Own
        } else if us <= self.now_us.saturating_add(LONG_AHEAD_US) {
            LogFit::Late
        } else {
            LogFit::No
        }
    }

    /// Takes note of a record's time. A client can set its own: the clock goes where one record's is not wildly off, or
    /// where many agree.
    pub(super) fn note_time(&mut self, us: u64) {
        let agreed = match self.odd {
            _ if self.time_fit(us, false) == LogFit::Own => {
                self.now_us = self.now_us.max(us);
                self.odd = None;
                return;
            }
            Some((odd_us, count)) if us.abs_diff(odd_us) <= BACK_US => count + 1,
            _ => 1,
        };
        self.odd = Some((us, agreed));
        if agreed >= ENOUGH {
            self.now_us = us;
            self.odd = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_795_245_129_000_000;

    #[test]
    fn yesterday_and_a_day_ahead_do_not_fit() {
        let mut clock = LogClock::default();
        assert_eq!(clock.time_fit(5, true), LogFit::Own, "the first may be any");
        clock.note_time(NOW);
        assert_eq!(clock.time_fit(NOW - 30 * MINUTE_US, false), LogFit::Own);
        assert_eq!(clock.time_fit(NOW - 30 * MINUTE_US, true), LogFit::No);
        assert_eq!(clock.time_fit(NOW - DAY_US, false), LogFit::No);
        assert_eq!(clock.time_fit(NOW + 23 * 60 * MINUTE_US, true), LogFit::Own);
        assert_eq!(clock.time_fit(NOW + 25 * 60 * MINUTE_US, true), LogFit::Late);
        assert_eq!(clock.time_fit(u64::MAX, true), LogFit::No);
    }

    #[test]
    fn a_clock_goes_far_only_where_others_agree() {
        let mut clock = LogClock::default();
        clock.note_time(NOW);
        (1..u64::from(ENOUGH)).for_each(|n| clock.note_time(NOW + 9 * DAY_US + n));
        clock.note_time(NOW + 1);
        clock.note_time(NOW + 9 * DAY_US);
        assert_eq!(clock.now_us(), Some(NOW + 1), "a client may have set its own");
        (0..ENOUGH).for_each(|_| clock.note_time(NOW - 9 * DAY_US));
        assert_eq!(clock.now_us(), Some(NOW - 9 * DAY_US), "it was set back");
    }
}
