//! What the probes read during a load, one column per counter, and what a column was worth in any stretch of time.
//!
//! Samples are a second apart, stalls are shorter. So the rate in a stretch is what remains of the windows that it
//! touches when the rest of them is taken to have been as usual.
//! Never knows: stalls, rules.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::{RunRecord, SampleRecord, Trial};

use super::super::statistics::robust::median;

/// Sessions that wait for a metadata lock, from the list of sessions.
pub(super) const METADATA_LOCK: &str = "processlist.metadata_lock";
/// A window longer than this many usual ones is a hole.
const LONGEST_WINDOWS: f64 = 5.0;
/// Words of a session's state while it waits for a metadata lock.
const METADATA_STATE: &str = "metadata lock";

/// A stretch of time, seconds of the run's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeSpan {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
}

impl TimeSpan {
    pub(super) fn seconds(self) -> f64 {
        self.to_s - self.from_s
    }

    pub(super) fn overlaps(self, other: TimeSpan) -> bool {
        self.from_s < other.to_s && other.from_s < self.to_s
    }
}

/// What a reading means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadingKind {
    /// The reading itself.
    Gauge,
    /// Its rise by second.
    Rate,
}

/// One counter over the load.
#[derive(Clone, Debug)]
pub(super) struct CounterColumn {
    pub(super) kind: ReadingKind,
    /// Moment and reading, in order; a gap has no reading.
    readings: Vec<(f64, Option<f64>)>,
    /// Usual time between two readings, seconds.
    spacing_s: f64,
    /// Median rate of the windows outside.
    usual: f64,
}

/// All readings of a load.
pub(super) struct CounterColumns<'a> {
    samples: BTreeMap<&'a str, Vec<&'a SampleRecord>>,
}

impl<'a> CounterColumns<'a> {
    /// Everything sampled during the load, one reading more on either side.
    pub(super) fn from_samples(run: &'a RunRecord, trial: &Trial) -> CounterColumns<'a> {
        let margin = 2_000_000_000;
        let from = trial.began_ns.saturating_sub(margin);
        let to = trial.ended_ns.max(trial.intervals.last().map_or(0, |i| i.ended_ns)) + margin;
        let mut samples: BTreeMap<&str, Vec<&SampleRecord>> = BTreeMap::new();
        for sample in run.samples.iter().filter(|s| s.ended_ns >= from && s.ended_ns <= to) {
            samples.entry(&sample.probe).or_default().push(sample);
        }
        for of_probe in samples.values_mut() {
            of_probe.sort_by_key(|s| s.ended_ns);
        }
        CounterColumns { samples }
    }

    /// Names of all that was read.
    pub(super) fn counter_names(&self) -> BTreeSet<&'a str> {
        let first = self.samples.values().filter_map(|s| s.iter().find(|s| !s.numbers.is_empty()));
        first.flat_map(|s| s.numbers.keys()).map(String::as_str).collect()
    }

    /// The column of a counter, or of `a + b`, `a - b`; `outside`: stretches in which all was as usual.
    pub(super) fn find_column(
        &self,
        name: &str,
        outside: &dyn Fn(TimeSpan) -> bool,
    ) -> Option<CounterColumn> {
        let of_probe = self.samples.values().map(|samples| {
            samples
                .iter()
                .map(|s| (s.ended_ns as f64 / 1e9, sample_value(s, name)))
                .collect::<Vec<_>>()
        });
        let readings = of_probe.max_by_key(|r| r.iter().filter(|(_, v)| v.is_some()).count())?;
        let known: Vec<f64> = readings.iter().filter_map(|(_, v)| *v).collect();
        if known.len() < 3 {
            return None;
        }
        let falls = known.windows(2).any(|w| w[1] < w[0]);
        let kind =
            if falls || name == METADATA_LOCK { ReadingKind::Gauge } else { ReadingKind::Rate };
        let spacings: Vec<f64> = readings.windows(2).map(|w| w[1].0 - w[0].0).collect();
        let spacing_s = median(&spacings)?;
        let mut column = CounterColumn { kind, readings, spacing_s, usual: 0.0 };
        let usual: Vec<f64> = column
            .rise_windows()
            .filter(|(window, _)| outside(*window))
            .map(|(window, rise)| rise / window.seconds())
            .collect();
        column.usual = median(&usual).unwrap_or(0.0);
        Some(column)
    }
}

/// A counter of a sample: plain, a sum or difference, or a count of rows.
fn sample_value(sample: &SampleRecord, name: &str) -> Option<f64> {
    if name == METADATA_LOCK {
        return waiting_for_metadata(sample);
    }
    if let Some((one, other)) = name.split_once(" + ") {
        return Some(sample_value(sample, one)? + sample_value(sample, other)?);
    }
    if let Some((one, other)) = name.split_once(" - ") {
        return Some(sample_value(sample, one)? - sample_value(sample, other)?);
    }
    sample.numbers.get(name).copied().filter(|v| v.is_finite())
}

fn waiting_for_metadata(sample: &SampleRecord) -> Option<f64> {
    let (head, rows) = sample.table.split_first()?;
    let state = head.iter().position(|name| name.eq_ignore_ascii_case("state"))?;
    let waits = |row: &&Vec<String>| {
        row.get(state).is_some_and(|s| s.to_ascii_lowercase().contains(METADATA_STATE))
    };
    Some(rows.iter().filter(waits).count() as f64)
}

impl CounterColumn {
    /// Usual time between two readings, seconds.
    pub(super) fn spacing_s(&self) -> f64 {
        self.spacing_s
    }

    /// Its readings, whatever they did.
    pub(super) fn into_gauge(self) -> CounterColumn {
        CounterColumn { kind: ReadingKind::Gauge, ..self }
    }

    /// Its rise, whatever it did: a counter that was reset fell too.
    pub(super) fn into_rate(self) -> CounterColumn {
        CounterColumn { kind: ReadingKind::Rate, ..self }
    }

    /// Neighbouring readings and the rise between them; not over gaps, holes and resets.
    fn rise_windows(&self) -> impl Iterator<Item = (TimeSpan, f64)> + '_ {
        self.rise_windows_from(0)
    }

    /// Windows, each with the stretch in its middle whose worth is that of this window alone.
    pub(super) fn window_middles(&self) -> impl Iterator<Item = (TimeSpan, TimeSpan)> + '_ {
        self.rise_windows().map(|(window, _)| {
            let quarter = window.seconds() / 4.0;
            let middle = TimeSpan { from_s: window.from_s + quarter, to_s: window.to_s - quarter };
            (window, middle)
        })
    }

    fn rise_windows_from(&self, first: usize) -> impl Iterator<Item = (TimeSpan, f64)> + '_ {
        let longest = LONGEST_WINDOWS * self.spacing_s;
        self.readings[first..].windows(2).filter_map(move |pair| {
            let window = TimeSpan { from_s: pair[0].0, to_s: pair[1].0 };
            let rise = pair[1].1? - pair[0].1?;
            (rise >= 0.0 && window.seconds() > 0.0 && window.seconds() <= longest)
                .then_some((window, rise))
        })
    }

    /// What the column was worth in a stretch: the highest reading of a gauge in or next to it, the rate of a counter.
    /// `None` where nothing was read.
    pub(super) fn value_in(&self, span: TimeSpan) -> Option<f64> {
        match self.kind {
            ReadingKind::Gauge => self.highest_in(span),
            ReadingKind::Rate => self.rate_in(span),
        }
    }

    fn highest_in(&self, span: TimeSpan) -> Option<f64> {
        let near = self.spacing_s / 2.0;
        let first = self.readings.partition_point(|(at, _)| *at < span.from_s - near);
        let inside = self.readings[first..].iter().take_while(|(at, _)| *at <= span.to_s + near);
        inside.filter_map(|(_, v)| *v).reduce(f64::max)
    }

    fn rate_in(&self, span: TimeSpan) -> Option<f64> {
        let first = self.readings.partition_point(|(at, _)| *at <= span.from_s).saturating_sub(1);
        let (mut rise, mut seconds, mut covered) = (0.0, 0.0, 0.0);
        for (window, by) in self.rise_windows_from(first) {
            if window.from_s >= span.to_s {
                break;
            }
            if window.overlaps(span) {
                rise += by;
                seconds += window.seconds();
                covered += window.to_s.min(span.to_s) - window.from_s.max(span.from_s);
            }
        }
        // Half of the stretch at least must have been looked at.
        if covered < 0.5 * span.seconds() || covered <= 0.0 {
            return None;
        }
        Some(((rise - self.usual * (seconds - covered)) / covered).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(readings: &[(f64, f64)]) -> RunRecord {
        let sample = |(at, value): &(f64, f64)| SampleRecord {
            probe: "status".to_owned(),
            ended_ns: (at * 1e9) as u64,
            numbers: [("a".to_owned(), *value), ("b".to_owned(), 2.0 * value)].into(),
            ..SampleRecord::default()
        };
        RunRecord { samples: readings.iter().map(sample).collect(), ..RunRecord::default() }
    }

    fn trial() -> Trial {
        Trial { ended_ns: 20_000_000_000, ..Trial::default() }
    }

    #[test]
    fn what_a_window_has_too_much_happened_in_the_stretch() {
        // 10 per second, and 300 more at once in the window from 2 to 3.
        let run = run(&[(0.0, 0.0), (1.0, 10.0), (2.0, 20.0), (3.0, 330.0), (4.0, 340.0)]);
        let stretch = TimeSpan { from_s: 2.4, to_s: 2.9 };
        let outside = |span: TimeSpan| !span.overlaps(stretch);
        let columns = CounterColumns::from_samples(&run, &trial());
        let column = columns.find_column("a", &outside).unwrap();
        assert_eq!(column.kind, ReadingKind::Rate);
        assert!((column.value_in(stretch).unwrap() - 610.0).abs() < 1e-6);
        assert!(
            (column.value_in(TimeSpan { from_s: 0.5, to_s: 1.5 }).unwrap() - 10.0).abs() < 1e-6
        );
        assert_eq!(column.value_in(TimeSpan { from_s: 7.0, to_s: 8.0 }), None);
        let sum = columns.find_column("a + b", &outside).unwrap();
        assert!((sum.value_in(stretch).unwrap() - 1830.0).abs() < 1e-6);
    }

    #[test]
    fn a_gauge_is_read_next_to_a_short_stretch() {
        let run = run(&[(0.0, 5.0), (1.0, 90.0), (2.0, 6.0), (3.0, 7.0)]);
        let columns = CounterColumns::from_samples(&run, &trial());
        let column = columns.find_column("a", &|_| true).unwrap();
        assert_eq!(column.kind, ReadingKind::Gauge);
        assert_eq!(column.value_in(TimeSpan { from_s: 1.1, to_s: 1.4 }), Some(90.0));
        assert_eq!(column.value_in(TimeSpan { from_s: 1.6, to_s: 1.8 }), Some(6.0));
        assert_eq!(columns.find_column("nowhere", &|_| true).map(|c| c.spacing_s), None);
    }

    #[test]
    fn sessions_that_wait_are_counted() {
        let row = |state: &str| vec!["7".to_owned(), state.to_owned()];
        let sample = SampleRecord {
            table: vec![
                vec!["ID".to_owned(), "STATE".to_owned()],
                row("Waiting for table metadata lock"),
                row("Sending data"),
            ],
            ..SampleRecord::default()
        };
        assert_eq!(sample_value(&sample, METADATA_LOCK), Some(1.0));
        assert_eq!(sample_value(&SampleRecord::default(), METADATA_LOCK), None);
    }
}
