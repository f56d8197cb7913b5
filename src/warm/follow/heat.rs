//! How hot the standby is: now and then the active server's hot set is compared with the standby's pool.

use std::path::PathBuf;

use super::FollowPlan;
use super::board::Board;
use super::view::{Heat, Phase};
use crate::base::units::show_bytes;
use crate::base::{Clock, Nanos, RealClock, Stop};
use crate::target::{Session, Target};
use crate::warm::hotset::{Look, SavePlan, look, readiness, save, warmth};
use crate::warm::{Scene, Warmth, estimate_seconds, gauge, guarded, open};

/// How long the active server's accesses are watched.
const WATCH: Nanos = Nanos(1_000_000_000);
/// Largest pool whose every page is looked at without being asked to.
const LARGE: u64 = 32 << 30;
/// In place of the data folder: a look needs no keys, so no file is read for it.
const NO_FILES: &str = "/dev/null";
/// Time between two looks at the stop flag.
const NAP: Nanos = Nanos(50_000_000);

/// Who looks.
pub(super) struct Thermometer<'a> {
    pub plan: &'a FollowPlan,
    pub active: &'a Target,
    pub standby: &'a Target,
    pub board: &'a Board,
    pub clock: RealClock,
    pub stop: &'a Stop,
}

impl Thermometer<'_> {
    /// Looks again and again until the stop.
    pub(super) fn watch(&self) {
        let mut next = self.clock.now();
        while !self.stop.is_set() {
            let is_due = self.clock.now() >= next && self.board.state().phase == Phase::Following;
            if !is_due {
                self.clock.sleep_until(self.clock.now() + NAP);
                continue;
            }
            next = self.clock.now() + self.plan.gauge_each;
            let looked = guarded(self.clock, self.stop, |abandon| self.look(abandon));
            let mut state = self.board.state();
            match looked {
                Ok(heat) => (state.heat, state.no_heat) = (heat.or(state.heat.take()), None),
                Err(_) if self.stop.is_set() => return,
                Err(error) => state.no_heat = Some(format!("the hot set is not known: {error:#}")),
            }
        }
    }

    /// One look; `None` where it was broken off.
    fn look(&self, abandon: &Stop) -> anyhow::Result<Option<Heat>> {
        let mut standby = open(self.standby, abandon)?;
        let pool = self.affordable("standby", &mut standby)?;
        let mut active = open(self.active, abandon)?;
        self.affordable("active server", &mut active)?;
        let plan = SavePlan {
            datadir: Some(PathBuf::from(NO_FILES)),
            watch: WATCH,
            ..SavePlan::default()
        };
        let mut scene = Scene {
            target: self.active,
            control: None,
            clock: self.clock,
            stop: self.stop,
            progress: &mut |_| {},
        };
        let saved = save(&plan, &mut scene)?;
        if saved.cut {
            return Ok(None);
        }
        let began = self.clock.now();
        let resident = look(&mut standby, &saved.hot, &pool, Look { pages: true, rows: false })?;
        let now = self.clock.now();
        let warmth = warmth(&saved.hot, &resident);
        let accesses_per_s = saved.hot.origin.accesses_per_s;
        let budget = self.plan.budget_per_s;
        Ok(Some(Heat {
            at_s: now.seconds(),
            readiness: accesses_per_s.map(|rate| readiness(&warmth, rate, budget)),
            warmth,
            accesses_per_s,
            active_cost_s: saved.look_seconds,
            standby_cost_s: now.since(began).seconds(),
        }))
    }

    /// The pool of a server, unless a look at all of its pages costs more than we may spend unasked.
    fn affordable(&self, who: &str, session: &mut Session) -> anyhow::Result<Warmth> {
        let pool = gauge(session)?;
        anyhow::ensure!(
            pool.total_bytes() <= LARGE || self.plan.large_too,
            "the {who}'s pool has {}: a look at every page takes it about {:.0} s; say --yes if \
             that is fine",
            show_bytes(pool.total_bytes()),
            estimate_seconds(&pool)
        );
        Ok(pool)
    }
}
