//! Times in little memory: one by one while they are few, to one percent when they are many.

use hdrhistogram::Histogram;

/// So many times are kept one by one before a histogram takes them.
const FEW: usize = 32;
const GROWS: &str = "it grows with what it holds";

/// Times in whatever unit they are added.
#[derive(Clone, Debug)]
pub enum CompactTimes {
    /// Each of them, as they came.
    Few(Vec<u64>),
    /// How many of each, to two digits.
    Many(Box<Histogram<u32>>),
}

impl Default for CompactTimes {
    fn default() -> CompactTimes {
        CompactTimes::Few(Vec::new())
    }
}

impl CompactTimes {
    /// Adds one.
    pub fn add_time(&mut self, time: u64) {
        match self {
            CompactTimes::Few(few) if few.len() < FEW => few.push(time),
            CompactTimes::Few(few) => {
                let mut many = Histogram::new(2).expect("two digits are allowed");
                many.auto(true);
                for time in few.iter().chain([&time]) {
                    many.record(*time).expect(GROWS);
                }
                *self = CompactTimes::Many(Box::new(many));
            }
            CompactTimes::Many(many) => many.record(time).expect(GROWS),
        }
    }

    /// The time that this share (0 to 1) of them did not exceed; `None` where there is none.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        match self {
            CompactTimes::Few(few) => {
                let mut sorted = few.clone();
                sorted.sort_unstable();
                let place = (share * sorted.len() as f64).ceil() as usize;
                sorted.get(place.clamp(1, sorted.len().max(1)) - 1).copied()
            }
            CompactTimes::Many(many) => Some(many.value_at_quantile(share)),
        }
    }

    /// The times, and how often each was.
    pub fn counted_times(&self) -> Vec<(u64, u64)> {
        match self {
            CompactTimes::Few(few) => few.iter().map(|time| (*time, 1)).collect(),
            CompactTimes::Many(many) => {
                let times = many.iter_recorded();
                let middle = |value| many.median_equivalent(value);
                times.map(|t| (middle(t.value_iterated_to()), t.count_at_value().into())).collect()
            }
        }
    }
}
