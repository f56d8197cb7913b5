//! What exchanges of requests and replies come to, for the reports of http_load and ab. Pure arithmetic.

use std::collections::BTreeMap;

use crate::base::Nanos;
use crate::recorder::{ExchangeFault, ExchangeSample, ExchangeSamples};

/// All exchanges of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeTotals {
    /// Those that ended, with a reply or without.
    pub ended: u64,
    /// Of these, those with a reply.
    pub replied: u64,
    /// Those that were given up at the end.
    pub unfinished: u64,
    /// Most at once.
    pub most_parallel: usize,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Bytes received.
    pub received: u64,
    /// Length of the load, seconds.
    pub seconds: f64,
    /// Replies by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Replies after which the connection could be used again.
    pub kept_alive: u64,
    /// Exchanges for which there was no connection.
    pub unconnected: u64,
    /// Those whose reply was cut or no reply at all.
    pub broken: u64,
    /// Those that took too long.
    pub timed_out: u64,
    /// Bodies of another length than the first.
    pub bad_sizes: u64,
    /// Bodies other than the first.
    pub bad_sums: u64,
    /// Times of connections that were made.
    pub connects: TimeSpread,
    /// From requests to the first bytes of replies.
    pub waits: TimeSpread,
}

/// The least, the mean and the most of times, milliseconds; zeros where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeSpread {
    /// How many.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ms: f64,
    /// The shortest.
    pub least_ms: f64,
    /// The longest.
    pub most_ms: f64,
}

impl TimeSpread {
    fn from_times(times: impl Iterator<Item = Nanos>) -> TimeSpread {
        let (mut count, mut sum, mut least, mut most) = (0u64, 0u64, u64::MAX, 0u64);
        for Nanos(time) in times {
            count += 1;
            sum += time;
            least = least.min(time);
            most = most.max(time);
        }
        if count == 0 {
            return TimeSpread::default();
        }
        let ms = |ns: f64| ns / 1e6;
        TimeSpread {
            count,
            mean_ms: ms(sum as f64 / count as f64),
            least_ms: ms(least as f64),
            most_ms: ms(most as f64),
        }
    }
}

impl ExchangeTotals {
    /// Sums up a load of this length.
    pub fn from_samples(samples: &ExchangeSamples, seconds: f64) -> ExchangeTotals {
        let list = &samples.list;
        let replied = || list.iter().filter(|sample| sample.status > 0);
        let mut totals = ExchangeTotals {
            ended: list.len() as u64,
            replied: replied().count() as u64,
            unfinished: samples.unfinished,
            most_parallel: samples.most_parallel,
            body_bytes: list.iter().map(|sample| sample.body_bytes).sum(),
            received: list.iter().map(|sample| sample.received).sum(),
            seconds,
            kept_alive: list.iter().filter(|sample| sample.keeps_alive).count() as u64,
            connects: TimeSpread::from_times(list.iter().filter_map(|sample| sample.connect)),
            waits: TimeSpread::from_times(replied().map(|sample| sample.wait)),
            ..ExchangeTotals::default()
        };
        for sample in replied() {
            *totals.statuses.entry(sample.status).or_default() += 1;
        }
        for sample in list {
            *match sample.fault {
                ExchangeFault::None => continue,
                ExchangeFault::Connect => &mut totals.unconnected,
                ExchangeFault::Receive => &mut totals.broken,
                ExchangeFault::Timeout => &mut totals.timed_out,
                ExchangeFault::Size => &mut totals.bad_sizes,
                ExchangeFault::Checksum => &mut totals.bad_sums,
            } += 1;
        }
        totals
    }

    /// Exchanges that did not go as they should, whatever their status.
    pub fn failed(&self) -> u64 {
        self.unconnected + self.broken + self.timed_out + self.bad_sizes + self.bad_sums
    }

    /// Replies whose status says that something failed.
    pub fn error_statuses(&self) -> u64 {
        self.statuses.range(400..).map(|(_, count)| count).sum()
    }

    /// Whether anything went wrong.
    pub fn has_errors(&self) -> bool {
        self.error_statuses() + self.failed() + self.unfinished > 0
    }
}

/// The parts of an exchange's time, as ab tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExchangePart {
    /// Until the connection was there.
    Connect,
    /// From then to the end.
    Processing,
    /// From the request to the first byte.
    Waiting,
    /// All of it.
    Total,
}

impl ExchangePart {
    /// All, in ab's order.
    const ALL: [ExchangePart; 4] = [
        ExchangePart::Connect,
        ExchangePart::Processing,
        ExchangePart::Waiting,
        ExchangePart::Total,
    ];

    /// Its time in an exchange.
    fn of_sample(self, sample: &ExchangeSample) -> Nanos {
        let connect = sample.connect.unwrap_or_default().min(sample.total);
        match self {
            ExchangePart::Connect => connect,
            ExchangePart::Processing => sample.total.since(connect),
            ExchangePart::Waiting => sample.wait,
            ExchangePart::Total => sample.total,
        }
    }
}

/// A row of ab's table: times with fractions, milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExchangeTimes {
    /// The shortest.
    pub least_ms: f64,
    /// Arithmetic mean.
    pub mean_ms: f64,
    /// Standard deviation.
    pub deviation_ms: f64,
    /// Median.
    pub median_ms: f64,
    /// The longest.
    pub most_ms: f64,
}

/// The times of all exchanges as ab shows them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeTable {
    /// Connect, processing, waiting, total.
    pub rows: [ExchangeTimes; 4],
    /// Whole times in order, milliseconds.
    pub totals_ms: Vec<f64>,
    /// Each exchange with a reply: when it began, seconds since 1970, then its parts, milliseconds; in the order of whole times.
    pub exchanges: Vec<(u64, [f64; 4])>,
}

impl ExchangeTable {
    /// Of all exchanges that had a reply.
    pub fn from_samples(samples: &ExchangeSamples) -> ExchangeTable {
        let times = ExchangePart::ALL.map(|part| sorted_times_ms(samples, part));
        let mut list: Vec<&ExchangeSample> =
            samples.list.iter().filter(|sample| sample.status > 0).collect();
        list.sort_by_key(|sample| sample.total);
        let exchange = |sample: &&ExchangeSample| {
            let ms = ExchangePart::ALL.map(|part| part.of_sample(sample).0 as f64 / 1e6);
            (sample.started.0 / 1_000_000_000, ms)
        };
        ExchangeTable {
            rows: [0, 1, 2, 3].map(|part| ExchangeTimes::from_sorted(&times[part])),
            exchanges: list.iter().map(exchange).collect(),
            totals_ms: times.into_iter().nth(3).unwrap_or_default(),
        }
    }
}

/// Times of one part of all exchanges that had a reply, in order.
fn sorted_times_ms(samples: &ExchangeSamples, part: ExchangePart) -> Vec<f64> {
    let replied = samples.list.iter().filter(|sample| sample.status > 0);
    let mut times: Vec<f64> = replied.map(|sample| part.of_sample(sample).0 as f64 / 1e6).collect();
    times.sort_by(f64::total_cmp);
    times
}

impl ExchangeTimes {
    /// Of times in order; zeros where there are none.
    fn from_sorted(times: &[f64]) -> ExchangeTimes {
        let [least, .., most] = times else {
            let only = times.first().copied().unwrap_or(0.0);
            return ExchangeTimes {
                least_ms: only,
                mean_ms: only,
                deviation_ms: 0.0,
                median_ms: only,
                most_ms: only,
            };
        };
        let count = times.len();
        let mean = times.iter().sum::<f64>() / count as f64;
        let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
        let middle = count / 2;
        let median = match count % 2 {
            0 => (times[middle - 1] + times[middle]) / 2.0,
            _ => times[middle],
        };
        ExchangeTimes {
            least_ms: *least,
            mean_ms: mean,
            deviation_ms: (squares / (count - 1) as f64).sqrt(),
            median_ms: median,
            most_ms: *most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(status: u16, total: u64, connect: Option<u64>) -> ExchangeSample {
        ExchangeSample {
            status,
            total: Nanos(total * 1_000_000),
            connect: connect.map(|ms| Nanos(ms * 1_000_000)),
            wait: Nanos(1_000_000),
            body_bytes: 10,
            ..ExchangeSample::default()
        }
    }

    #[test]
    fn exchanges_are_summed_up() {
        let list = vec![
            sample(200, 3, Some(1)),
            sample(500, 5, None),
            ExchangeSample { fault: ExchangeFault::Connect, ..sample(0, 9, None) },
        ];
        let samples = ExchangeSamples { list, unfinished: 2, ..ExchangeSamples::default() };
        let totals = ExchangeTotals::from_samples(&samples, 2.0);
        assert_eq!((totals.ended, totals.replied, totals.error_statuses()), (3, 2, 1));
        assert_eq!((totals.connects.count, totals.connects.mean_ms), (1, 1.0));
        assert_eq!((totals.waits.count, totals.unconnected, totals.failed()), (2, 1, 1));
        assert!(totals.has_errors());
        let times = sorted_times_ms(&samples, ExchangePart::Processing);
        assert_eq!(times, [2.0, 5.0]);
        let row = ExchangeTimes::from_sorted(&times);
        assert_eq!((row.mean_ms, row.median_ms, row.most_ms), (3.5, 3.5, 5.0));
        assert!((row.deviation_ms - 2.1213).abs() < 1e-3);
        assert_eq!(ExchangeTimes::from_sorted(&[]), ExchangeTimes::default());
        assert_eq!(ExchangeTimes::from_sorted(&[4.0]).median_ms, 4.0);
    }
}
