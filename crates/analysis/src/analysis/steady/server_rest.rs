//! Whether the server itself has come to rest: a rate can stand still for minutes while the pool fills, or while the
//! redo log runs towards its end.
//! Never knows: the load's rate.
//! To add a gauge: a row in `GAUGES`.

use super::judge::RequiredLength;
use crate::analysis::findings::SteadyVerdict;
use crate::analysis::number_format::{format_bytes, format_number, format_percent, format_time};
use crate::analysis::statistics::{time_series, trend};
use crate::archive::{Counters, SampleRecord};

/// Most that the pages in the pool may change, as a share of the pool.
const POOL: f64 = 0.02;
/// A trend is one below this probability that there is none.
const TREND: f64 = 0.01;
/// Batches that a gauge is judged by: more tell no more, and cost the square.
const BATCHES: usize = 60;
/// A history list that grows by fewer than this is as good as empty.
const FEW_HISTORY: f64 = 1000.0;

const PAGES: &str = "Innodb_buffer_pool_pages_data";
const DIRTY: &str = "Innodb_buffer_pool_pages_dirty";
const TOTAL: &str = "Innodb_buffer_pool_pages_total";
const AGE: &str = "Innodb_checkpoint_age";
const AGE_MOST: &str = "Innodb_checkpoint_max_age";
const LSN: &str = "Innodb_redo_log_current_lsn";
const CHECKPOINT_LSN: &str = "Innodb_redo_log_checkpoint_lsn";
const CAPACITY: &str = "Innodb_redo_log_capacity_resized";
const HISTORY: &str = "Innodb_history_list_length";
const MARIADB_LSN: &str = "Innodb_lsn_current";
const WRITTEN: &str = "Innodb_os_log_written";

/// All counters that are looked at.
const NAMES: &[&str] = &[
    PAGES,
    DIRTY,
    TOTAL,
    AGE,
    AGE_MOST,
    LSN,
    CHECKPOINT_LSN,
    CAPACITY,
    HISTORY,
    MARIADB_LSN,
    WRITTEN,
];

/// A gauge that must not have a trend.
struct TrendGauge {
    title: &'static str,
    value: fn(&Counters) -> Option<f64>,
    /// What it is measured by: a change below `share` of that does not matter.
    whole: fn(&Counters) -> Option<f64>,
    share: f64,
    show: fn(f64) -> String,
}

const GAUGES: &[TrendGauge] = &[
    TrendGauge {
        title: "the checkpoint age",
        value: checkpoint_age,
        whole: checkpoint_age_limit,
        share: 0.05,
        show: format_bytes,
    },
    TrendGauge {
        title: "dirty pages",
        value: |c| counter_value(c, DIRTY),
        whole: |c| counter_value(c, TOTAL),
        share: 0.05,
        show: format_number,
    },
    TrendGauge {
        title: "the history list",
        value: |c| counter_value(c, HISTORY),
        whole: |c| counter_value(c, HISTORY).map(|n| n.max(FEW_HISTORY)),
        share: 0.5,
        show: format_number,
    },
];

fn counter_value(counters: &Counters, name: &str) -> Option<f64> {
    counters.get(name).copied().filter(|v| v.is_finite())
}

fn checkpoint_age(c: &Counters) -> Option<f64> {
    let from_lsn = || Some(counter_value(c, LSN)? - counter_value(c, CHECKPOINT_LSN)?);
    counter_value(c, AGE).or_else(from_lsn).filter(|age| *age >= 0.0)
}

fn checkpoint_age_limit(c: &Counters) -> Option<f64> {
    counter_value(c, AGE_MOST).or_else(|| counter_value(c, CAPACITY)).filter(|most| *most > 0.0)
}

/// What one look at the server saw of all this.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ServerReading {
    at_ns: u64,
    counters: Counters,
}

impl ServerReading {
    /// What matters here of a sample; `None` if there is nothing.
    pub(super) fn from_sample(sample: &SampleRecord) -> Option<ServerReading> {
        let held =
            |name: &&str| counter_value(&sample.numbers, name).map(|v| ((*name).to_owned(), v));
        let counters: Counters = NAMES.iter().filter_map(held).collect();
        let at_ns = sample.began_ns / 2 + sample.ended_ns / 2;
        (!counters.is_empty()).then_some(ServerReading { at_ns, counters })
    }

    /// When it was, nanoseconds.
    pub(super) fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// Whether it was from the first to the second time, nanoseconds.
    pub(super) fn is_within(&self, from_ns: u64, to_ns: u64) -> bool {
        (from_ns..=to_ns).contains(&self.at_ns)
    }
}

/// The looks from the first to the second time, nanoseconds.
pub(super) fn readings_between(
    looks: &[ServerReading],
    from_ns: u64,
    to_ns: u64,
) -> &[ServerReading] {
    let from = looks.partition_point(|l| l.at_ns < from_ns);
    let to = looks.partition_point(|l| l.at_ns <= to_ns);
    &looks[from..to.max(from)]
}

/// How long a load that writes must be seen: so many times as long as the redo log takes to be written once around.
pub(super) fn redo_cycles(looks: &[ServerReading], cycles: f64) -> Option<RequiredLength> {
    let (first, last) = (looks.first()?, looks.last()?);
    let seconds = last.at_ns.saturating_sub(first.at_ns) as f64 / 1e9;
    let written = [LSN, MARIADB_LSN, WRITTEN].iter().find_map(|name| {
        Some(counter_value(&last.counters, name)? - counter_value(&first.counters, name)?)
    })?;
    let capacity = checkpoint_age_limit(&last.counters)?;
    if written <= 0.0 || seconds <= 0.0 {
        return None;
    }
    let cycle_s = capacity / (written / seconds);
    Some(RequiredLength {
        seconds: cycles * cycle_s,
        why: format!(
            "the redo log ({}) is written around once in {}: a load that writes is steady after {} \
             of these",
            format_bytes(capacity),
            format_time(cycle_s),
            format_number(cycles),
        ),
    })
}

/// What speaks against a server at rest during these looks.
pub(super) fn reasons_not_at_rest(looks: &[ServerReading]) -> Vec<(SteadyVerdict, String)> {
    let mut found: Vec<_> = pool_size_change(looks).into_iter().collect();
    found.extend(GAUGES.iter().filter_map(|gauge| gauge_trend(looks, gauge)));
    found
}

fn pool_size_change(looks: &[ServerReading]) -> Option<(SteadyVerdict, String)> {
    let share = |look: &ServerReading| {
        Some(counter_value(&look.counters, PAGES)? / counter_value(&look.counters, TOTAL)?)
    };
    let (first, last) = (share(looks.first()?)?, share(looks.last()?)?);
    if (last - first).abs() <= POOL {
        return None;
    }
    let (verdict, word) = if last > first {
        (SteadyVerdict::Warming, "still fills")
    } else {
        (SteadyVerdict::Unsteady, "loses pages")
    };
    let why = format!(
        "the buffer pool {word}: {} to {} of it",
        format_percent(first),
        format_percent(last)
    );
    Some((verdict, why))
}

fn gauge_trend(looks: &[ServerReading], gauge: &TrendGauge) -> Option<(SteadyVerdict, String)> {
    let seen: Vec<Option<f64>> = looks.iter().map(|l| (gauge.value)(&l.counters)).collect();
    let whole = looks.iter().find_map(|l| (gauge.whole)(&l.counters))?;
    let values = time_series::batch_means(&seen, seen.len().div_ceil(BATCHES));
    let change = trend::theil_sen(&values)? * (values.len() - 1) as f64;
    if change.abs() <= gauge.share * whole || trend::mann_kendall(&values)?.p > TREND {
        return None;
    }
    let word = if change > 0.0 { "rises" } else { "falls" };
    let shown = (gauge.show)(change.abs());
    let why =
        format!("the server is not at rest: {} {word} by {shown} over that part", gauge.title);
    Some((SteadyVerdict::Unsteady, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look per second at counters that depend on the second.
    fn looks(
        seconds: u64,
        counters: impl Fn(f64) -> Vec<(&'static str, f64)>,
    ) -> Vec<ServerReading> {
        let look = |s: u64| SampleRecord {
            began_ns: s * 1_000_000_000,
            ended_ns: s * 1_000_000_000,
            numbers: counters(s as f64).into_iter().map(|(k, v)| (k.to_owned(), v)).collect(),
            ..SampleRecord::default()
        };
        (0..seconds).filter_map(|s| ServerReading::from_sample(&look(s))).collect()
    }

    #[test]
    fn a_server_at_rest_oscillates_and_stays() {
        let looks = looks(300, |s| {
            vec![
                (PAGES, 8000.0 + s / 10.0),
                (TOTAL, 8192.0),
                (DIRTY, 3000.0 + 500.0 * (s / 7.0).sin()),
                (AGE, 6e7 + 1e7 * (s / 9.0).sin()),
                (AGE_MOST, 8e7),
                (HISTORY, 40.0 + s % 17.0),
                ("Questions", s),
            ]
        });
        assert_eq!(looks[0].counters.len(), 6);
        assert!(reasons_not_at_rest(&looks).is_empty(), "{:?}", reasons_not_at_rest(&looks));
        assert!(reasons_not_at_rest(&[]).is_empty());
    }

    #[test]
    fn a_pool_that_fills_is_warming() {
        let filling = looks(100, |s| vec![(PAGES, 4000.0 + 10.0 * s), (TOTAL, 8192.0)]);
        let found = reasons_not_at_rest(&filling);
        assert_eq!(found[0].0, SteadyVerdict::Warming);
        assert_eq!(found[0].1, "the buffer pool still fills: 48.8 % to 60.9 % of it");
        assert!(
            reasons_not_at_rest(readings_between(&filling, 90_000_000_000, u64::MAX)).is_empty()
        );
    }

    #[test]
    fn what_runs_towards_its_end_is_not_at_rest() {
        let found = reasons_not_at_rest(&looks(120, |s| {
            vec![
                (LSN, 1e9 + 1e6 * s),
                (CHECKPOINT_LSN, 1e9),
                (CAPACITY, 1e9),
                (HISTORY, 90.0 * s + (s * 7.0) % 11.0),
            ]
        }));
        let words: Vec<&str> = found.iter().map(|(_, why)| why.as_str()).collect();
        assert!(words[0].contains("the checkpoint age rises by 113 MiB"), "{words:?}");
        assert!(words[1].contains("the history list rises"), "{words:?}");
        assert!(found.iter().all(|(v, _)| *v == SteadyVerdict::Unsteady));
    }

    #[test]
    fn a_cycle_is_capacity_by_rate() {
        let writing = looks(11, |s| vec![(WRITTEN, 5e6 * s), (AGE_MOST, 8e7)]);
        let need = redo_cycles(&writing, 3.0).unwrap();
        assert!((need.seconds - 48.0).abs() < 1e-6, "{}", need.seconds);
        assert!(need.why.contains("once in 16.0 s"), "{}", need.why);
        assert!(redo_cycles(&looks(9, |_| vec![(WRITTEN, 5.0), (AGE_MOST, 8e7)]), 3.0).is_none());
        assert!(redo_cycles(&writing[..1], 3.0).is_none());
    }
}
