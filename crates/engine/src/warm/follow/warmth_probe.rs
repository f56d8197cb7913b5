//! How hot the standby is: now and then the active server's hot set is compared with the standby's pool.

use std::path::PathBuf;

use super::FollowPlan;
use super::send_queue::SendQueue;
use super::status::{FollowPhase, StandbyWarmth};
use crate::base::units::show_bytes;
use crate::base::{Clock, Nanos, RealClock, Stop};
use crate::client::{Session, Target};
use crate::warm::hotset::{
    ResidencyOptions, SavePlan, assess_readiness, compute_warmth, read_residency, save_hot_set,
};
use crate::warm::{
    PoolStatus, WarmContext, estimate_seconds, open_session, read_pool_status, with_abandon_flag,
};

/// How long the active server's accesses are watched.
const WATCH: Nanos = Nanos(1_000_000_000);
/// A server with fewer accesses to its pages per second than this does nothing for its clients, or hangs: what it would
/// ask of a standby is not known.
const FEWEST_ACCESSES: f64 = 100.0;
/// Largest pool whose every page is looked at without being asked to.
const LARGE: u64 = 32 << 30;
/// In place of the data folder: a look needs no keys, so no file is read for it.
const NO_FILES: &str = "/dev/null";
/// Time between two looks at the stop flag.
const NAP: Nanos = Nanos(50_000_000);

/// Who looks.
pub(super) struct WarmthProbe<'a> {
    pub plan: &'a FollowPlan,
    pub active: &'a Target,
    pub standby: &'a Target,
    pub queue: &'a SendQueue,
    pub clock: RealClock,
    pub stop: &'a Stop,
}

impl WarmthProbe<'_> {
    /// Looks again and again until the stop.
    pub(super) fn probe_until_stop(&self) {
        let mut next = self.clock.now();
        let (mut busiest, mut openings) = (PeakAccessRate::default(), self.queue.start_count());
        while !self.stop.is_set() {
            if self.queue.start_count() != openings {
                // It came back, perhaps cold: what is known of it is of before.
                openings = self.queue.start_count();
                next = self.clock.now();
            }
            let is_due =
                self.clock.now() >= next && self.queue.lock_state().phase == FollowPhase::Following;
            if !is_due {
                self.clock.sleep_until(self.clock.now() + NAP);
                continue;
            }
            next = self.clock.now() + self.plan.gauge_each;
            let looked = with_abandon_flag(self.clock, self.stop, |abandon| {
                self.measure_warmth(&mut busiest, abandon)
            });
            let is_of_before = self.queue.start_count() != openings;
            let mut state = self.queue.lock_state();
            match looked {
                _ if is_of_before || state.phase != FollowPhase::Following => {}
                Ok(heat) => (state.heat, state.no_heat) = (heat.or(state.heat.take()), None),
                Err(_) if self.stop.is_set() => return,
                Err(error) => state.no_heat = Some(format!("the hot set is not known: {error:#}")),
            }
        }
    }

    /// One look; `None` where it was broken off.
    fn measure_warmth(
        &self,
        busiest: &mut PeakAccessRate,
        abandon: &Stop,
    ) -> anyhow::Result<Option<StandbyWarmth>> {
        let mut standby = open_session(self.standby, abandon)?;
        let pool = self.read_affordable_pool("standby", &mut standby)?;
        let mut active = open_session(self.active, abandon)?;
        self.read_affordable_pool("active server", &mut active)?;
        let plan = SavePlan {
            datadir: Some(PathBuf::from(NO_FILES)),
            watch: WATCH,
            ..SavePlan::default()
        };
        let mut context = WarmContext {
            target: self.active,
            control: None,
            clock: self.clock,
            stop: self.stop,
            progress: &mut |_| {},
        };
        let saved = save_hot_set(&plan, &mut context)?;
        if saved.cut {
            return Ok(None);
        }
        let began = self.clock.now();
        let resident = read_residency(
            &mut standby,
            &saved.hot,
            &pool,
            ResidencyOptions { pages: true, rows: false },
        )?;
        let now = self.clock.now();
        let warmth = compute_warmth(&saved.hot, &resident);
        let accesses_per_s = busiest.include_rate(saved.hot.origin.accesses_per_s);
        let budget = self.plan.budget_per_s;
        Ok(Some(StandbyWarmth {
            at_s: now.to_seconds(),
            readiness: accesses_per_s.map(|rate| assess_readiness(&warmth, rate, budget)),
            warmth,
            accesses_per_s,
            active_cost_s: saved.look_seconds,
            standby_cost_s: now.since(began).to_seconds(),
        }))
    }

    /// The pool of a server, unless a look at all of its pages costs more than we may spend unasked.
    fn read_affordable_pool(&self, who: &str, session: &mut Session) -> anyhow::Result<PoolStatus> {
        let pool = read_pool_status(session)?;
        anyhow::ensure!(
            pool.total_bytes() <= LARGE || self.plan.large_too,
            "the {who}'s pool has {}: checking every page takes it about {:.0} s; add --yes to \
             allow that",
            show_bytes(pool.total_bytes()),
            estimate_seconds(&pool)
        );
        Ok(pool)
    }
}

/// The most accesses to pages per second that any look has seen of the active server: a failover need not come in a calm
/// second, and what comes before one often is a second in which it does nothing any more.
#[derive(Debug, Default)]
struct PeakAccessRate(Option<f64>);

impl PeakAccessRate {
    /// With what another look has seen; `None` until one has seen it at work.
    fn include_rate(&mut self, seen_per_s: Option<f64>) -> Option<f64> {
        let seen = seen_per_s.filter(|rate| *rate >= FEWEST_ACCESSES);
        self.0 = [self.0, seen].into_iter().flatten().reduce(f64::max);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_never_seen_at_work_has_no_rate() {
        let mut busiest = PeakAccessRate::default();
        for idle in [None, Some(0.0), Some(99.0)] {
            assert_eq!(busiest.include_rate(idle), None);
        }
        assert_eq!(busiest.include_rate(Some(5_000.0)), Some(5_000.0));
        // It hangs, or pauses: it would ask for as much as before.
        assert_eq!(busiest.include_rate(Some(0.0)), Some(5_000.0));
        assert_eq!(busiest.include_rate(Some(7_000.0)), Some(7_000.0));
    }
}
