//! Arrivals of an open loop that were due and have not begun: how many, and, when the load is over, how long they had
//! waited at least.
//! Never knows: clocks, workers, what an event does.

use super::arrival::{ArrivalSchedule, TicketShare};
use super::load::SharedLoad;
use crate::base::Nanos;
use crate::recorder::{Histogram, new_histogram};

/// Ages of so many arrivals are looked up; of more, each stands for its neighbours.
const LOOKED_UP: u64 = 1_000_000;

/// What waits. Tickets begin in their order, so those due and not begun are the last ones.
pub(super) struct Backlog {
    due: ArrivalSchedule,
    /// A copy that stays at what has begun: a schedule can't go back.
    begun: ArrivalSchedule,
    time: Option<Nanos>,
    events: Option<u64>,
    share: TicketShare,
}

impl Backlog {
    pub(super) fn new(schedule: ArrivalSchedule, load: &SharedLoad) -> Backlog {
        Backlog {
            due: schedule.clone(),
            begun: schedule,
            time: load.time,
            events: load.events,
            share: load.share.clone(),
        }
    }

    /// How many are due so long after the start and not among the `begun`. Times may only rise from call to call.
    pub(super) fn count_waiting(&mut self, after: Nanos, begun: u64) -> u64 {
        // What is due at the end of the load or later doesn't belong to it.
        let last = self.time.map_or(Nanos(u64::MAX), |time| time - Nanos(1));
        let due = self.share.count_own(self.due.tickets_due_by(after.min(last)));
        self.begun.due_time(self.share.ticket(begun));
        self.events.map_or(due, |events| due.min(events)).saturating_sub(begun)
    }

    /// How long those that will never begin had waited when, so long after the start, no event began any more.
    pub(super) fn waiting_times(&mut self, after: Nanos, begun: u64) -> Histogram {
        let mut ages = new_histogram();
        let after = self.time.map_or(after, |time| time.min(after));
        let count = self.count_waiting(after, begun);
        let step = count.div_ceil(LOOKED_UP).max(1);
        let mut known = 0;
        while known < count {
            let some = step.min(count - known);
            known += some;
            // The youngest of its neighbours: at least so long have they all waited.
            let ticket = self.share.ticket(begun + known - 1);
            let age = after.since(self.begun.due_time(ticket));
            ages.saturating_record_n(age.0.max(1), some);
        }
        ages
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrival::ArrivalMode;
    use super::*;
    use crate::plan::{ArrivalPlan, LoadPlan};

    const MS: u64 = 1_000_000;

    fn backlog(arrival: &ArrivalPlan, plan: &LoadPlan) -> Backlog {
        Backlog::new(
            ArrivalMode::new(arrival, 3).unwrap().open_schedule().unwrap(),
            &SharedLoad::new(plan),
        )
    }

    #[test]
    fn ages_are_counted_to_the_end_of_the_load() {
        let arrival = ArrivalPlan::Constant { per_second: 1000.0 };
        let plan =
            LoadPlan { time: Some(std::time::Duration::from_secs(2)), ..LoadPlan::default() };
        let mut waiting = backlog(&arrival, &plan);
        assert_eq!(waiting.count_waiting(Nanos(1000 * MS), 400), 601);
        // Events under way kept the load for half a second more; nothing could begin in it.
        let ages = waiting.waiting_times(Nanos(2500 * MS), 500);
        assert_eq!(ages.len(), 1500);
        let near = |ns: u64, ms: u64| ns.abs_diff(ms * MS) <= ms * MS / 500;
        assert!(near(ages.max(), 1500) && near(ages.min(), 1), "{} {}", ages.max(), ages.min());
        assert!(near(ages.value_at_quantile(0.5), 750));
    }

    #[test]
    fn a_load_by_events_or_cut_short_leaves_what_was_due() {
        let arrival = ArrivalPlan::Constant { per_second: 1000.0 };
        let by_events = LoadPlan { events: Some(600), ..LoadPlan::default() };
        assert_eq!(backlog(&arrival, &by_events).waiting_times(Nanos(5000 * MS), 600).len(), 0);
        assert_eq!(backlog(&arrival, &by_events).waiting_times(Nanos(5000 * MS), 590).len(), 10);
        assert_eq!(
            backlog(&arrival, &LoadPlan::default()).waiting_times(Nanos(99 * MS), 60).len(),
            40
        );
    }

    #[test]
    fn of_many_a_neighbour_stands_for_some_and_none_is_lost() {
        let mut waiting =
            backlog(&ArrivalPlan::Poisson { per_second: 1_000_000.0 }, &LoadPlan::default());
        let all = waiting.count_waiting(Nanos(3500 * MS), 7);
        let ages = waiting.waiting_times(Nanos(3500 * MS), 7);
        assert_eq!(ages.len(), all);
        assert!(all > 3_400_000);
        assert!(ages.max() <= 3500 * MS + 4 * MS);
    }
}
