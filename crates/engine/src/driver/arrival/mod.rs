//! When events shall begin. Closed: when the worker is ready and has thought. Open: at times that a schedule fixes in
//! advance, whatever the server does; workers share one counter of tickets, and ticket n begins at time n.
//! Never knows: clocks, threads, workers.

mod poisson;
mod staged;
mod tickets;

use poisson::PoissonSchedule;
use staged::{RateIntegral, StagedSchedule};
pub(super) use tickets::TicketShare;

use crate::base::Nanos;
use crate::plan::{ArrivalPlan, ArrivalSpacing, LoadPlan, Mistake};

/// When the events of one worker shall begin.
#[derive(Clone)]
pub(super) enum ArrivalMode {
    /// When the worker is ready, after this pause.
    Closed(Nanos),
    /// When the next free ticket says so.
    Open(ArrivalSchedule),
}

/// Due times of tickets, as time since the start of the load. Copies give the same times.
#[derive(Clone)]
pub(super) enum ArrivalSchedule {
    /// Evenly spaced.
    Constant(ConstantSchedule),
    /// The same where the rate changes.
    Staged(StagedSchedule),
    /// Random gaps.
    Poisson(PoissonSchedule),
}

/// Evenly spaced due times.
#[derive(Clone, Copy)]
pub(super) struct ConstantSchedule {
    per_second: f64,
}

impl ConstantSchedule {
    fn due_time(&self, ticket: u64) -> Nanos {
        Nanos((ticket as f64 * 1e9 / self.per_second).round() as u64)
    }

    fn tickets_due_by(&self, time: Nanos) -> u64 {
        let about = (time.0 as f64 * self.per_second / 1e9) as u64 + 1;
        count_due(about, time, |ticket| self.due_time(ticket))
    }
}

/// Tickets due by a time, from their number but for rounding.
fn count_due(about: u64, time: Nanos, due_time: impl Fn(u64) -> Nanos) -> u64 {
    let mut tickets = about;
    while tickets > 0 && due_time(tickets - 1) > time {
        tickets -= 1;
    }
    while due_time(tickets) <= time {
        tickets += 1;
    }
    tickets
}

impl ArrivalMode {
    /// What the load asks for.
    ///
    /// # Errors
    /// As [`ArrivalMode::new`].
    pub(super) fn of_load(load: &LoadPlan, seed: u64) -> Result<ArrivalMode, Mistake> {
        let mode = ArrivalMode::new(&load.arrival, seed)?;
        Ok(match (mode, load.jitter) {
            (ArrivalMode::Open(ArrivalSchedule::Constant(even)), part) if part > 0.0 => {
                let jittered = PoissonSchedule::with_jitter(even.per_second, part, seed);
                ArrivalMode::Open(ArrivalSchedule::Poisson(jittered))
            }
            (mode, _) => mode,
        })
    }

    /// What the plan asks for; `seed` fixes the times of a random schedule.
    ///
    /// # Errors
    /// When the rate is not a number of events per second that can be kept.
    pub(super) fn new(plan: &ArrivalPlan, seed: u64) -> Result<ArrivalMode, Mistake> {
        plan.check()?;
        Ok(match *plan {
            ArrivalPlan::Closed { think } => ArrivalMode::Closed(think.into()),
            ArrivalPlan::Constant { per_second } => {
                ArrivalMode::Open(ArrivalSchedule::Constant(ConstantSchedule { per_second }))
            }
            ArrivalPlan::Poisson { per_second } => {
                ArrivalMode::Open(ArrivalSchedule::Poisson(PoissonSchedule::new(per_second, seed)))
            }
            ArrivalPlan::Stages { ref stages, spacing } => {
                let rate = RateIntegral::new(stages);
                ArrivalMode::Open(match spacing {
                    ArrivalSpacing::Constant => ArrivalSchedule::Staged(StagedSchedule(rate)),
                    ArrivalSpacing::Poisson => {
                        ArrivalSchedule::Poisson(PoissonSchedule::from_stages(rate, seed))
                    }
                })
            }
        })
    }

    /// The times of an open loop.
    pub(super) fn open_schedule(&self) -> Option<ArrivalSchedule> {
        match self {
            ArrivalMode::Closed(_) => None,
            ArrivalMode::Open(schedule) => Some(schedule.clone()),
        }
    }
}

impl ArrivalSchedule {
    /// When a ticket is due. Tickets may be asked for in any rising order, with gaps.
    pub(super) fn due_time(&mut self, ticket: u64) -> Nanos {
        match self {
            ArrivalSchedule::Constant(constant) => constant.due_time(ticket),
            ArrivalSchedule::Staged(staged) => staged.due_time(ticket),
            ArrivalSchedule::Poisson(poisson) => poisson.due_time(ticket),
        }
    }

    /// How many tickets are due by then. Times may only rise from call to call.
    pub(super) fn tickets_due_by(&mut self, time: Nanos) -> u64 {
        match self {
            ArrivalSchedule::Constant(constant) => constant.tickets_due_by(time),
            ArrivalSchedule::Staged(staged) => staged.tickets_due_by(time),
            ArrivalSchedule::Poisson(poisson) => poisson.tickets_due_by(time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_schedule_is_exact_for_days() {
        let ArrivalMode::Open(mut schedule) =
            ArrivalMode::new(&ArrivalPlan::Constant { per_second: 3.0 }, 0).unwrap()
        else {
            panic!("a constant arrival is open")
        };
        assert_eq!(schedule.due_time(0), Nanos(0));
        assert_eq!(schedule.due_time(1), Nanos(333_333_333));
        assert_eq!(schedule.due_time(3), Nanos(1_000_000_000));
        assert_eq!(schedule.due_time(3 * 86_400 * 7), Nanos(86_400 * 7 * 1_000_000_000));
        for (time, due) in [(0, 1), (333_333_332, 1), (333_333_333, 2), (1_000_000_000, 4)] {
            assert_eq!(schedule.tickets_due_by(Nanos(time)), due, "{time}");
        }
    }

    #[test]
    fn rates_that_cannot_be_kept_are_refused() {
        for per_second in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e9] {
            assert!(ArrivalMode::new(&ArrivalPlan::Constant { per_second }, 0).is_err());
            assert!(ArrivalMode::new(&ArrivalPlan::Poisson { per_second }, 0).is_err());
        }
    }
}
