//! Series over time from raw counters: gauges as they were read, rates as differences by real time.
//! To add one: a line in `SPECS`.

use crate::archive::{Counters, RecordedStepKind, RunRecord};

use super::counters::page_bytes;
use super::findings::{ProbeSeries, SeriesUnit};

/// How a series comes from a counter.
#[derive(Clone, Copy, PartialEq)]
enum SeriesKind {
    /// The reading itself.
    Gauge,
    /// Pages read as bytes.
    GaugePages,
    /// Rise by second.
    Rate,
}

struct SeriesSpec {
    id: &'static str,
    title: &'static str,
    unit: SeriesUnit,
    how: SeriesKind,
    /// Names to look for; the first that any reading holds is taken.
    counters: &'static [&'static str],
}

type Text = &'static str;

const fn gauge(id: Text, title: Text, unit: SeriesUnit, counters: &'static [Text]) -> SeriesSpec {
    SeriesSpec { id, title, unit, how: SeriesKind::Gauge, counters }
}

const fn pages(id: Text, title: Text, counters: &'static [Text]) -> SeriesSpec {
    SeriesSpec { how: SeriesKind::GaugePages, ..gauge(id, title, SeriesUnit::Bytes, counters) }
}

const fn rate(id: Text, title: Text, unit: SeriesUnit, counters: &'static [Text]) -> SeriesSpec {
    SeriesSpec { how: SeriesKind::Rate, ..gauge(id, title, unit, counters) }
}

/// In the order shown. Names from the status variables of MySQL 8-9 and MariaDB 10.6-11.8.
const SPECS: &[SeriesSpec] = &[
    pages("pool_data_bytes", "data in the pool", &["Innodb_buffer_pool_pages_data"]),
    pages("pool_total_bytes", "size of the pool", &["Innodb_buffer_pool_pages_total"]),
    pages("pool_dirty_bytes", "dirty pages", &["Innodb_buffer_pool_pages_dirty"]),
    rate("disk_reads_per_s", "pool misses", SeriesUnit::PerSecond, &["Innodb_buffer_pool_reads"]),
    rate(
        "read_ahead_per_s",
        "pages read ahead",
        SeriesUnit::PerSecond,
        &["Innodb_buffer_pool_read_ahead"],
    ),
    rate(
        "disk_read_bytes_per_s",
        "read from disk",
        SeriesUnit::BytesPerSecond,
        &["process.read_bytes", "Innodb_data_read"],
    ),
    rate(
        "disk_write_bytes_per_s",
        "written to disk",
        SeriesUnit::BytesPerSecond,
        &["process.write_bytes", "Innodb_data_written"],
    ),
    gauge("threads_running", "Threads_running", SeriesUnit::Count, &["Threads_running"]),
    gauge("checkpoint_age_bytes", "checkpoint age", SeriesUnit::Bytes, &["Innodb_checkpoint_age"]),
    rate(
        "redo_bytes_per_s",
        "redo written",
        SeriesUnit::BytesPerSecond,
        &["Innodb_os_log_written"],
    ),
    rate("fsyncs_per_s", "fsyncs", SeriesUnit::PerSecond, &["Innodb_data_fsyncs"]),
    rate(
        "row_lock_waits_per_s",
        "row lock waits",
        SeriesUnit::PerSecond,
        &["Innodb_row_lock_waits"],
    ),
    rate("rows_read_per_s", "rows read", SeriesUnit::PerSecond, &["Innodb_rows_read", "Rows_read"]),
    rate("statements_per_s", "statements (Questions)", SeriesUnit::PerSecond, &["Questions"]),
    rate("sent_bytes_per_s", "sent by the server", SeriesUnit::BytesPerSecond, &["Bytes_sent"]),
    rate(
        "server_cpu_cores",
        "CPU of the server, cores",
        SeriesUnit::Cores,
        &["process.cpu_user_s+process.cpu_system_s"],
    ),
    rate(
        "machine_cpu_cores",
        "CPU of this machine, cores busy",
        SeriesUnit::Cores,
        &["cpu.busy_s"],
    ),
    gauge(
        "history_list",
        "history list length",
        SeriesUnit::Count,
        &["Innodb_history_list_length"],
    ),
];

/// Kind of the steps that restart the server.
/// Two readings closer than this give no rate: the clock's and the server's own grain would be the result.
const CLOSEST_S: f64 = 0.02;
/// A hole longer than this many usual spacings is a gap, not a line across it.
const LONGEST_SPACINGS: f64 = 4.0;

/// Readings of one counter, in time: seconds and value; `None` where a probe found nothing.
type CounterReadings = Vec<(f64, Option<f64>)>;

/// All series that have at least one value between the two times (seconds).
pub(super) fn build_series(run: &RunRecord, from_s: f64, to_s: f64) -> Vec<ProbeSeries> {
    let page = page_bytes(run);
    let one = |spec: &SeriesSpec| {
        let source = spec.counters.iter().find(|name| is_recorded(run, name))?;
        let readings = counter_readings(run, source);
        let mut points = match spec.how {
            SeriesKind::Gauge => readings,
            SeriesKind::GaugePages => {
                readings.iter().map(|(t, v)| (*t, v.map(|v| v * page))).collect()
            }
            SeriesKind::Rate => rates_from_readings(&readings),
        };
        points.retain(|(t, _)| *t >= from_s && *t <= to_s);
        let useful = points.iter().any(|(_, value)| value.is_some());
        useful.then_some(ProbeSeries {
            id: spec.id,
            title: spec.title,
            unit: spec.unit,
            source,
            points,
        })
    };
    SPECS.iter().filter_map(one).collect()
}

fn is_recorded(run: &RunRecord, name: &str) -> bool {
    run.samples.iter().any(|s| counter_value(&s.numbers, name).is_some())
        || run.steps.iter().any(|s| {
            counter_value(&s.before, name).is_some() || counter_value(&s.after, name).is_some()
        })
}

/// What samples and the edges of steps say about a counter. A probe that usually reads it and found nothing once
/// leaves a gap.
fn counter_readings(run: &RunRecord, name: &str) -> CounterReadings {
    let probe =
        run.samples.iter().find(|s| counter_value(&s.numbers, name).is_some()).map(|s| &s.probe);
    let mut all = CounterReadings::new();
    for sample in run.samples.iter().filter(|s| Some(&s.probe) == probe) {
        // The value was true at some moment between the beginning and the end of the look.
        let at = (sample.began_ns + sample.ended_ns) as f64 / 2e9;
        all.push((at, counter_value(&sample.numbers, name)));
    }
    for step in &run.steps {
        // Another process counts from here on: nothing may be drawn or subtracted across.
        if step.kind == RecordedStepKind::RestartCold {
            let ended_ns = step.ended_ns.unwrap_or(step.began_ns);
            all.push(((step.began_ns + ended_ns) as f64 / 2e9, None));
        }
        let edges = [(Some(step.began_ns), &step.before), (step.ended_ns, &step.after)];
        for (at, counters) in edges {
            if let (Some(at), Some(value)) = (at, counter_value(counters, name)) {
                all.push((at as f64 / 1e9, Some(value)));
            }
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// A counter, or the sum of several whose names are joined by `+`.
fn counter_value(counters: &Counters, name: &str) -> Option<f64> {
    let sum: Option<f64> = name.split('+').map(|part| counters.get(part)).sum();
    sum.filter(|v| v.is_finite())
}

/// Rise by second between neighbours, at the later of the two: a rate holds from the point before to its own.
/// A first reading, one that went backwards, and one after a hole have no rate and are gaps.
fn rates_from_readings(readings: &CounterReadings) -> CounterReadings {
    let longest = LONGEST_SPACINGS * usual_spacing(readings);
    let mut rates = CounterReadings::new();
    let mut last: Option<(f64, f64)> = None;
    for (at, value) in readings {
        let Some(value) = *value else {
            rates.push((*at, None));
            last = None;
            continue;
        };
        if let Some((before_at, before)) = last {
            let seconds = at - before_at;
            if seconds < CLOSEST_S && value >= before {
                continue;
            }
            let usable = value >= before && seconds <= longest;
            rates.push((*at, usable.then(|| (value - before) / seconds)));
        } else {
            rates.push((*at, None));
        }
        last = Some((*at, value));
    }
    rates
}

/// Upper quartile of the spacings in seconds: step edges between the ticks make small ones.
fn usual_spacing(readings: &CounterReadings) -> f64 {
    let mut spacings: Vec<f64> = readings.windows(2).map(|w| w[1].0 - w[0].0).collect();
    spacings.sort_by(f64::total_cmp);
    spacings.get(spacings.len() * 3 / 4).copied().unwrap_or(0.0).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{SampleRecord, StepRecord};

    fn sample(second: f64, value: Option<f64>) -> SampleRecord {
        let at = (second * 1e9) as u64;
        SampleRecord {
            probe: "status".to_owned(),
            planned_ns: at,
            began_ns: at,
            ended_ns: at,
            numbers: value.map(|v| ("Questions".to_owned(), v)).into_iter().collect(),
            gap: value.is_none().then(|| "server down".to_owned()),
            ..SampleRecord::default()
        }
    }

    fn points(samples: Vec<SampleRecord>) -> CounterReadings {
        let run = RunRecord { samples, ..RunRecord::default() };
        let found = build_series(&run, 0.0, 100.0);
        found.into_iter().find(|s| s.id == "statements_per_s").unwrap().points
    }

    #[test]
    fn rates_divide_by_real_time() {
        let found = points(vec![
            sample(0.0, Some(100.0)),
            sample(1.0, Some(300.0)),
            sample(3.0, Some(400.0)),
        ]);
        assert_eq!(found, [(0.0, None), (1.0, Some(200.0)), (3.0, Some(50.0))]);
    }

    #[test]
    fn a_counter_that_goes_backwards_leaves_a_gap() {
        let found = points(vec![
            sample(0.0, Some(100.0)),
            sample(1.0, Some(5.0)),
            sample(2.0, Some(15.0)),
            sample(3.0, None),
            sample(4.0, Some(35.0)),
            sample(5.0, Some(45.0)),
            sample(25.0, Some(46.0)),
        ]);
        let expected = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 25.0].into_iter().zip([
            None,
            None,
            Some(10.0),
            None,
            None,
            Some(10.0),
            None,
        ]);
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_restart_leaves_a_gap_even_if_the_counter_is_higher() {
        let step = StepRecord {
            kind: RecordedStepKind::RestartCold,
            began_ns: 1_200_000_000,
            ended_ns: Some(1_800_000_000),
            ..StepRecord::default()
        };
        let samples = vec![
            sample(0.0, Some(0.0)),
            sample(1.0, Some(1.0)),
            sample(2.0, Some(50.0)),
            sample(3.0, Some(51.0)),
        ];
        let run = RunRecord { samples, steps: vec![step], ..RunRecord::default() };
        let expected = [(0.0, None), (1.0, Some(1.0)), (1.5, None), (2.0, None), (3.0, Some(1.0))];
        assert_eq!(build_series(&run, 0.0, 9.0)[0].points, expected);
    }

    #[test]
    fn cores_are_seconds_of_cpu_by_second() {
        let both = |user: f64, system: f64| {
            Counters::from([
                ("process.cpu_user_s".to_owned(), user),
                ("process.cpu_system_s".to_owned(), system),
            ])
        };
        let mut samples = vec![sample(0.0, None), sample(2.0, None), sample(3.0, None)];
        samples[0].numbers = both(5.0, 1.0);
        samples[1].numbers = both(7.0, 2.0);
        samples[2].numbers = [("process.cpu_user_s".to_owned(), 9.0)].into();
        let run = RunRecord { samples, ..RunRecord::default() };
        let found = build_series(&run, 0.0, 9.0);
        assert_eq!(found[0].id, "server_cpu_cores");
        assert_eq!(found[0].points, [(0.0, None), (2.0, Some(1.5)), (3.0, None)]);
    }

    #[test]
    fn edges_of_steps_are_readings_too() {
        let counters = |v: f64| Counters::from([("Questions".to_owned(), v)]);
        let step = StepRecord {
            began_ns: 1_000_000_000,
            ended_ns: Some(1_500_000_000),
            before: counters(10.0),
            after: counters(60.0),
            ..StepRecord::default()
        };
        let run = RunRecord { steps: vec![step], ..RunRecord::default() };
        assert_eq!(build_series(&run, 0.0, 9.0)[0].points, [(1.0, None), (1.5, Some(100.0))]);
        assert!(build_series(&run, 5.0, 9.0).is_empty());
    }
}
