//! How many statements run at once on the standby, and what is too old to be sent. Pure.

use serde::Serialize;

use crate::base::Nanos;

/// When the standby has enough to do without us.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StandbyLimits {
    /// Most statements of ours at once.
    pub sessions: u32,
    /// Lag of the standby above which nothing is sent, seconds.
    pub max_lag_s: f64,
    /// Statements of others at once above which we go slower.
    pub max_running: u64,
    /// Reads of data files that wait, above which we go slower.
    pub max_pending_reads: u64,
    /// Share of time that the disk is busy, 0 to 1, above which we go slower.
    pub max_busy: f64,
    /// Mean time of our own statements above which we go slower, nanoseconds.
    pub max_latency_ns: u64,
}

impl Default for StandbyLimits {
    fn default() -> StandbyLimits {
        StandbyLimits {
            sessions: 8,
            max_lag_s: 5.0,
            max_running: 16,
            max_pending_reads: 32,
            max_busy: 0.95,
            max_latency_ns: 200_000_000,
        }
    }
}

/// What the standby felt since the last look. What is not known is `None`, and holds nothing back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StandbyLoad {
    /// Its lag behind the active server, seconds.
    pub lag_s: Option<f64>,
    /// Statements of others under way.
    pub running: Option<u64>,
    /// Reads of data files that wait.
    pub pending_reads: Option<u64>,
    /// Share of the time that its disk was busy, 0 to 1.
    #[serde(rename = "disk_busy")]
    pub busy: Option<f64>,
    /// Mean time of our own statements, nanoseconds.
    pub latency_ns: Option<u64>,
}

/// Why we hold back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThrottleReason {
    /// The standby lags.
    Lag,
    /// Others run many statements.
    Running,
    /// Reads wait.
    PendingReads,
    /// The disk is busy.
    Disk,
    /// Our own statements take long.
    Latency,
}

impl ThrottleReason {
    /// In words, as in JSON.
    pub fn to_text(self) -> &'static str {
        match self {
            ThrottleReason::Lag => "replica lag",
            ThrottleReason::Running => "other statements",
            ThrottleReason::PendingReads => "waiting reads",
            ThrottleReason::Disk => "a busy disk",
            ThrottleReason::Latency => "our own statements are slow",
        }
    }
}

/// Statements at once: one more with each calm look at which statements waited, half as many at each sign of trouble,
/// none while the standby lags.
#[derive(Clone, Copy, Debug)]
pub(super) struct Throttle {
    limits: StandbyLimits,
    allowed: u32,
}

impl Throttle {
    pub(super) fn new(limits: StandbyLimits) -> Throttle {
        Throttle { limits, allowed: 1 }
    }

    /// Statements at once from now on, and what holds them back, if anything.
    pub(super) fn adjust_limit(
        &mut self,
        load: &StandbyLoad,
        waiting: usize,
    ) -> (u32, Option<ThrottleReason>) {
        let throttle = self.throttle_reason(load);
        self.allowed = match throttle {
            Some(ThrottleReason::Lag) => 0,
            Some(_) => (self.allowed / 2).max(1),
            None if self.allowed == 0 => 1,
            None if waiting > 0 => (self.allowed + 1).min(self.limits.sessions.max(1)),
            None => self.allowed,
        };
        (self.allowed, throttle)
    }

    fn throttle_reason(&self, load: &StandbyLoad) -> Option<ThrottleReason> {
        let StandbyLimits {
            max_lag_s,
            max_running,
            max_pending_reads,
            max_busy,
            max_latency_ns,
            ..
        } = self.limits;
        let signs = [
            (load.lag_s.is_some_and(|v| v > max_lag_s), ThrottleReason::Lag),
            (load.running.is_some_and(|v| v > max_running), ThrottleReason::Running),
            (
                load.pending_reads.is_some_and(|v| v > max_pending_reads),
                ThrottleReason::PendingReads,
            ),
            (load.busy.is_some_and(|v| v > max_busy), ThrottleReason::Disk),
            (load.latency_ns.is_some_and(|v| v > max_latency_ns), ThrottleReason::Latency),
        ];
        signs.into_iter().find(|(is_on, _)| *is_on).map(|(_, throttle)| throttle)
    }
}

/// What is too old to be sent. The clocks of two machines differ: a source that has nothing more to give is at its
/// now, so the age of what it gave last is the difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgeFilter {
    limit_ns: i64,
    /// What our clock says when the active server's says 0.
    offset_ns: i64,
    /// Age of what came last, by the two clocks as they are.
    last_ns: Option<i64>,
    /// Whether we drop what comes until we are near enough to now.
    is_skipping: bool,
}

impl AgeFilter {
    /// Nothing older than this is sent.
    pub(super) fn new(limit: Nanos) -> AgeFilter {
        let limit_ns = i64::try_from(limit.0).unwrap_or(i64::MAX);
        AgeFilter { limit_ns, offset_ns: 0, last_ns: None, is_skipping: false }
    }

    /// How old a statement is that ended at `ended_unix_ns` and came at `now_unix_ns`, nanoseconds; 0 if its log
    /// does not tell.
    pub(super) fn statement_age(&mut self, now_unix_ns: u64, ended_unix_ns: Option<u64>) -> Nanos {
        let Some(ended) = ended_unix_ns else { return Nanos(0) };
        let signed = |v: u64| i64::try_from(v).unwrap_or(i64::MAX);
        let raw = signed(now_unix_ns).saturating_sub(signed(ended));
        self.last_ns = Some(raw);
        Nanos(u64::try_from(raw.saturating_sub(self.offset_ns)).unwrap_or(0))
    }

    /// Whether a statement of this age is to be dropped. Once behind, all are until half the limit is reached.
    pub(super) fn is_too_old(&mut self, age: Nanos) -> bool {
        let age = i64::try_from(age.0).unwrap_or(i64::MAX);
        let limit = if self.is_skipping { self.limit_ns / 2 } else { self.limit_ns };
        self.is_skipping = age > limit;
        self.is_skipping
    }

    /// The source has nothing more: what came last is now.
    pub(super) fn mark_caught_up(&mut self) {
        if let Some(age) = self.last_ns.take() {
            self.offset_ns = age;
        }
        self.is_skipping = false;
    }
}

/// How long to wait before the next attempt: twice as long each time, up to five seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BackOff {
    failures: u32,
}

impl BackOff {
    /// It went well.
    pub(super) fn reset_delay(&mut self) {
        self.failures = 0;
    }

    /// It failed; how long to wait.
    pub(super) fn next_delay(&mut self) -> Nanos {
        let wait = 200_000_000_u64 << self.failures.min(5);
        self.failures += 1;
        Nanos(wait.min(5_000_000_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const CALM: StandbyLoad = StandbyLoad {
        lag_s: None,
        running: None,
        pending_reads: None,
        busy: None,
        latency_ns: None,
    };

    #[test]
    fn one_more_at_each_calm_look_half_at_trouble() {
        let mut pace = Throttle::new(StandbyLimits {
            sessions: 6,
            max_running: 4,
            ..StandbyLimits::default()
        });
        let mut allowed = Vec::new();
        let trouble = StandbyLoad { running: Some(5), ..CALM };
        for load in [CALM, CALM, CALM, CALM, CALM, CALM, CALM, trouble, trouble, trouble, CALM] {
            allowed.push(pace.adjust_limit(&load, 10).0);
        }
        assert_eq!(allowed, [2, 3, 4, 5, 6, 6, 6, 3, 1, 1, 2]);
        assert_eq!(pace.adjust_limit(&trouble, 10), (1, Some(ThrottleReason::Running)));
    }

    #[test]
    fn nothing_waits_nothing_grows() {
        let mut pace = Throttle::new(StandbyLimits::default());
        assert_eq!(pace.adjust_limit(&CALM, 0), (1, None));
        assert_eq!(pace.adjust_limit(&StandbyLoad { running: Some(16), ..CALM }, 3), (2, None));
    }

    #[test]
    fn lag_stops_all_and_the_begin_after_it_is_slow() {
        let mut pace = Throttle::new(StandbyLimits { max_lag_s: 2.0, ..StandbyLimits::default() });
        for _ in 0..5 {
            pace.adjust_limit(&CALM, 9);
        }
        let lagging = StandbyLoad { lag_s: Some(2.5), ..CALM };
        assert_eq!(pace.adjust_limit(&lagging, 9), (0, Some(ThrottleReason::Lag)));
        assert_eq!(pace.adjust_limit(&lagging, 9), (0, Some(ThrottleReason::Lag)));
        assert_eq!(pace.adjust_limit(&StandbyLoad { lag_s: Some(2.0), ..CALM }, 9), (1, None));
        assert_eq!(pace.adjust_limit(&CALM, 9), (2, None));
    }

    #[test]
    fn each_sign_counts() {
        let signs = [
            (StandbyLoad { pending_reads: Some(33), ..CALM }, ThrottleReason::PendingReads),
            (StandbyLoad { busy: Some(0.99), ..CALM }, ThrottleReason::Disk),
            (StandbyLoad { latency_ns: Some(S), ..CALM }, ThrottleReason::Latency),
        ];
        for (load, throttle) in signs {
            assert_eq!(
                Throttle::new(StandbyLimits::default()).adjust_limit(&load, 9),
                (1, Some(throttle))
            );
        }
    }

    #[test]
    fn what_is_too_old_is_dropped_until_half_the_limit() {
        let mut behind = AgeFilter::new(Nanos(10 * S));
        let mut late = |age: u64| behind.is_too_old(Nanos(age * S));
        let found: Vec<bool> = [0, 9, 10, 11, 10, 6, 5, 9, 11].map(&mut late).to_vec();
        assert_eq!(found, [false, false, false, true, true, true, false, false, true]);
    }

    #[test]
    fn a_source_that_has_no_more_tells_the_offset_of_its_clock() {
        let mut behind = AgeFilter::new(Nanos(10 * S));
        // Its clock is an hour behind ours: all looks old.
        let age = behind.statement_age(10_000 * S, Some(6_400 * S));
        assert_eq!(age, Nanos(3_600 * S));
        assert!(behind.is_too_old(age));
        behind.mark_caught_up();
        let age = behind.statement_age(10_007 * S, Some(6_401 * S));
        assert_eq!(age, Nanos(6 * S));
        assert!(!behind.is_too_old(age), "six seconds are not too many");
        assert_eq!(behind.statement_age(10_008 * S, None), Nanos(0));
        // It is set back by an hour: nothing is old any more than it was.
        behind.mark_caught_up();
        assert_eq!(behind.statement_age(10_009 * S, Some(2_000 * S)), Nanos(4_403 * S));
        behind.mark_caught_up();
        assert_eq!(behind.statement_age(10_010 * S, Some(2_001 * S)), Nanos(0));
        // And ahead of ours: never less than nothing.
        assert_eq!(behind.statement_age(10_011 * S, Some(20_000 * S)), Nanos(0));
    }

    #[test]
    fn waiting_grows_to_five_seconds() {
        let mut back_off = BackOff::default();
        let waits: Vec<u64> = (0..7).map(|_| back_off.next_delay().0 / 1_000_000).collect();
        assert_eq!(waits, [200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        back_off.reset_delay();
        assert_eq!(back_off.next_delay(), Nanos(200_000_000));
    }
}
