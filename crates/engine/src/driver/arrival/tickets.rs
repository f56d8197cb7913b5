//! Which tickets of an open loop's one schedule belong to a share: places of a fixed pattern that repeats. Due times are not
//! touched, so all shares together are due when one machine's load would be.

use std::sync::Arc;

use crate::plan::LoadShare;

/// The tickets of one share. All of them where the load is not shared.
#[derive(Clone, Debug)]
pub(in crate::driver) struct TicketShare {
    /// Length of the pattern.
    period: u64,
    /// Places of the pattern that are this share's, rising.
    places: Arc<[u64]>,
}

impl TicketShare {
    /// Of a load's share.
    pub(in crate::driver) fn new(share: Option<&LoadShare>) -> TicketShare {
        let Some(share) = share else { return TicketShare { period: 1, places: [0].into() } };
        let pattern = spread_shares(share.weights());
        let own = |(_, holder): &(usize, &usize)| **holder + 1 == share.number();
        let places = pattern.iter().enumerate().filter(own).map(|(place, _)| place as u64);
        TicketShare { period: pattern.len() as u64, places: places.collect() }
    }

    /// The ticket that is the share's own n-th, from 0.
    #[inline]
    pub(in crate::driver) fn ticket(&self, own: u64) -> u64 {
        if self.period == 1 {
            return own;
        }
        let count = self.places.len() as u64;
        own / count * self.period + self.places[(own % count) as usize]
    }

    /// How many of the first so many tickets are the share's own.
    pub(in crate::driver) fn count_own(&self, tickets: u64) -> u64 {
        let rest = tickets % self.period;
        let within = self.places.partition_point(|place| *place < rest) as u64;
        tickets / self.period * self.places.len() as u64 + within
    }
}

/// Who has which place of a pattern, each share as many as its weight, as evenly as can be: at each place the share that lags
/// furthest behind its due (smooth weighted round robin). Of equal ones the first.
fn spread_shares(weights: &[u32]) -> Vec<usize> {
    let period: i64 = weights.iter().map(|weight| i64::from(*weight)).sum();
    let mut lags = vec![0i64; weights.len()];
    let next_holder = |_| {
        lags.iter_mut().zip(weights).for_each(|(lag, weight)| *lag += i64::from(*weight));
        let most = lags.iter().copied().max().unwrap_or(0);
        let holder = lags.iter().position(|lag| *lag == most).unwrap_or(0);
        lags[holder] -= period;
        holder
    };
    (0..period).map(next_holder).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{ArrivalMode, ArrivalSchedule};
    use super::*;
    use crate::base::Nanos;
    use crate::plan::{ArrivalPlan, ArrivalSpacing, RateStages};

    fn shares_of(weights: &[u32]) -> Vec<TicketShare> {
        let share = |number| LoadShare::new(number, weights.to_vec()).unwrap();
        (1..=weights.len()).map(|number| TicketShare::new(Some(&share(number)))).collect()
    }

    #[test]
    fn the_pattern_is_even() {
        assert_eq!(spread_shares(&[1, 1, 1]), [0, 1, 2]);
        assert_eq!(spread_shares(&[1, 2]), [1, 0, 1]);
        assert_eq!(spread_shares(&[1, 1, 2]), [2, 0, 1, 2]);
        assert_eq!(spread_shares(&[7]).len(), 7);
    }

    #[test]
    fn each_ticket_is_one_share_s() {
        for weights in [&[1][..], &[1, 1], &[3, 1, 2], &[1000, 1, 999], &[1; 10]] {
            let shares = shares_of(weights);
            let mut next = vec![0; shares.len()];
            for ticket in 0..10_000u64 {
                let holders: Vec<usize> =
                    (0..shares.len()).filter(|n| shares[*n].ticket(next[*n]) == ticket).collect();
                assert_eq!(holders.len(), 1, "{weights:?} {ticket}");
                let counted: Vec<u64> = shares.iter().map(|s| s.count_own(ticket)).collect();
                assert_eq!(counted, next);
                next[holders[0]] += 1;
            }
        }
    }

    #[test]
    fn a_load_that_is_not_shared_has_all_tickets() {
        let all = TicketShare::new(None);
        for n in [0, 1, 77, u64::MAX] {
            assert_eq!((all.ticket(n), all.count_own(n)), (n, n));
        }
    }

    fn schedules() -> Vec<ArrivalSchedule> {
        let stages = RateStages::parse("100s:0..4000, 200s:4000, 1s:0, 100s:4000..0").unwrap();
        let staged = |spacing| ArrivalPlan::Stages { stages: stages.clone(), spacing };
        [
            ArrivalPlan::Constant { per_second: 12_345.678 },
            ArrivalPlan::Poisson { per_second: 50_000.0 },
            staged(ArrivalSpacing::Constant),
            staged(ArrivalSpacing::Poisson),
        ]
        .iter()
        .map(|plan| ArrivalMode::new(plan, 7).unwrap().open_schedule().unwrap())
        .collect()
    }

    #[test]
    fn all_shares_together_are_due_as_the_whole_to_the_nanosecond() {
        const ARRIVALS: u64 = 1_000_000;
        for whole in schedules() {
            let mut due: Vec<Nanos> = Vec::with_capacity(ARRIVALS as usize);
            for share in shares_of(&[3, 1, 2]) {
                let mut schedule = whole.clone();
                let own = share.count_own(ARRIVALS);
                due.extend((0..own).map(|n| schedule.due_time(share.ticket(n))));
            }
            due.sort_unstable();
            let mut one = whole.clone();
            let differs = (0..ARRIVALS).find(|n| one.due_time(*n) != due[*n as usize]);
            assert_eq!((due.len() as u64, differs), (ARRIVALS, None));
        }
    }

    #[test]
    fn what_is_due_by_a_time_adds_up() {
        for mut whole in schedules() {
            for ms in (0..400_000).step_by(1_777) {
                let due = whole.tickets_due_by(Nanos(ms * 1_000_000));
                let parts: u64 = shares_of(&[5, 2, 4]).iter().map(|s| s.count_own(due)).sum();
                assert_eq!(parts, due, "{ms}");
            }
        }
    }
}
