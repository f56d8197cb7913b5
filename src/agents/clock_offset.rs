//! How far two clocks are apart. One asks, the other tells its time; of several answers the one that took least says most
//! (Cristian 1989): the true offset is within half its round trip, whatever the ways there and back took.

use std::collections::VecDeque;

use crate::base::Nanos;

/// Answers that are kept.
const KEPT: usize = 64;
/// How much clocks drift apart at most, parts in a million: quartz is specified to 50 at worst, each of the two.
const DRIFT_PPM: u64 = 100;

/// One answer.
#[derive(Clone, Copy, Debug)]
struct ClockAnswer {
    /// When it came, by the asker's clock.
    at: Nanos,
    /// What the asker's clock was ahead.
    offset_ns: i64,
    /// Half the round trip.
    half_trip: Nanos,
}

/// The clock of another machine against ours.
#[derive(Clone, Debug, Default)]
pub(super) struct ClockOffset {
    answers: VecDeque<ClockAnswer>,
}

impl ClockOffset {
    /// Takes an answer: asked and answered by our clock, which then shows these wall times, and what the other one told.
    pub(super) fn add_answer(
        &mut self,
        asked: Nanos,
        answered: Nanos,
        own_unix_ns: u64,
        told: u64,
    ) {
        let trip = answered.since(asked);
        // Our wall time halfway between question and answer.
        let middle = own_unix_ns.saturating_sub(trip.0 / 2);
        let apart = i128::from(middle) - i128::from(told);
        let Ok(offset_ns) = i64::try_from(apart) else { return };
        let half_trip = Nanos(trip.0.div_ceil(2));
        self.answers.push_back(ClockAnswer { at: answered, offset_ns, half_trip });
        if self.answers.len() > KEPT {
            self.answers.pop_front();
        }
    }

    /// What our clock is ahead of the other one, and how far that may be wrong now: half the round trip, and what the clocks
    /// may have drifted since.
    pub(super) fn best_estimate(&self, now: Nanos) -> Option<(i64, Nanos)> {
        let bound = |answer: &ClockAnswer| {
            let drift = now.since(answer.at).0 / 1_000_000 * DRIFT_PPM;
            answer.half_trip + Nanos(drift)
        };
        let best = self.answers.iter().min_by_key(|answer| bound(answer))?;
        Some((best.offset_ns, bound(best)))
    }

    /// How many answers there are.
    pub(super) fn answer_count(&self) -> usize {
        self.answers.len()
    }
}
