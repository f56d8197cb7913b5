//! Watches made up, with exact numbers.

use super::*;

const SECOND: u64 = 1_000_000_000;
const T0: u64 = 1_795_384_800 * SECOND;

fn sample(at_s: u64, took_s: u64, numbers: &[(&str, f64)]) -> SampleRecord {
    SampleRecord {
        probe: "status".to_owned(),
        planned_ns: at_s * SECOND,
        began_ns: at_s * SECOND,
        ended_ns: (at_s + took_s) * SECOND,
        numbers: numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        ..SampleRecord::default()
    }
}

/// Samples every 5 s; values are `Queries`.
fn watch(queries: &[(u64, f64)]) -> WatchFindings {
    let mut table = WatchTable::default();
    for (at, value) in queries {
        table.add_sample(1, T0, &sample(*at, 0, &[("Queries", *value), ("Uptime", *value)]));
    }
    analyse_watch(&table)
}

fn rates(findings: &WatchFindings) -> Vec<Option<f64>> {
    findings.rows.iter().map(|row| row.values[0]).collect()
}

#[test]
fn rates_are_by_the_time_between_two_looks_and_gaps_have_the_right_average() {
    let found = watch(&[(0, 0.0), (5, 500.0), (10, 1000.0), (25, 2500.0), (30, 3000.0)]);
    assert_eq!(rates(&found), [100.0; 4].map(Some));
    assert_eq!((found.missing(), found.samples, found.interval_s), (2, 5, Some(5.0)));
    // What is by second adds up to what the counter grew by.
    let sum: f64 = found.rows.iter().map(|row| row.values[0].unwrap() * row.seconds).sum();
    assert_eq!(sum, 3000.0);
}

#[test]
fn a_look_that_is_answered_late_leaves_the_interval_and_the_gaps_as_they_are() {
    let mut table = WatchTable::default();
    for (at, took, queries) in [(0, 0, 0.0), (1, 0, 10.0), (2, 5, 20.0), (7, 0, 30.0)] {
        table.add_sample(1, T0, &sample(at, took, &[("Queries", queries)]));
    }
    let found = analyse_watch(&table);
    assert_eq!((found.interval_s, found.missing()), (Some(1.0), 4));
    // Rates are still those of the time between the middles.
    let lengths: Vec<f64> = found.rows.iter().map(|row| row.seconds).collect();
    assert_eq!(lengths, [1.0, 3.5, 2.5]);
}

#[test]
fn nothing_is_subtracted_across_a_restart_or_a_clock_that_is_set_back() {
    let found = watch(&[(0, 1000.0), (5, 1500.0), (10, 100.0), (15, 600.0)]);
    assert_eq!(rates(&found), [Some(100.0), None, Some(100.0)]);
    let mut table = WatchTable::default();
    for (segment, at, value) in [(1, 100, 0.0), (1, 105, 50.0), (2, 3, 60.0), (2, 8, 110.0)] {
        table.add_sample(segment, T0, &sample(at, 0, &[("Queries", value)]));
    }
    assert_eq!(rates(&analyse_watch(&table)), [Some(10.0), Some(10.0)]);
}

#[test]
fn nothing_is_said_of_the_time_between_collections() {
    let mut table = WatchTable::of_collections();
    for (stretch, at, queries) in [(1, 0, 0.0), (1, 1, 10.0), (2, 60, 900.0), (2, 61, 920.0)] {
        table.add_sample(stretch, T0, &sample(at, 0, &[("Queries", queries)]));
    }
    let found = analyse_watch(&table);
    assert_eq!((rates(&found), found.missing()), (vec![Some(10.0), Some(20.0)], 0));
}

#[test]
fn probes_of_one_tick_are_one_row() {
    let mut table = WatchTable::default();
    for (at, queries, cpu, reads) in [(0, 0.0, 1.0, 10.0), (5, 10.0, 3.5, 20.0)] {
        let numbers = [
            ("Queries", queries),
            ("Innodb_buffer_pool_read_requests", 10.0 * reads),
            ("Innodb_buffer_pool_reads", reads),
            ("Innodb_buffer_pool_pages_dirty", 25.0),
            ("Innodb_buffer_pool_pages_total", 100.0),
        ];
        table.add_sample(1, T0, &sample(at, 0, &numbers));
        let host = [("process.cpu_user_s", cpu), ("process.cpu_system_s", 0.0)];
        table.add_sample(1, T0, &sample(at, 0, &host));
        table.add_sample(1, T0, &sample(at, 0, &[("nothing we know", 1.0)]));
    }
    let found = analyse_watch(&table);
    let value = |id: &str| found.figure(id).map(|figure| figure.median);
    assert_eq!(value("server_cpu_cores"), Some(0.5));
    assert_eq!(value("pool_hit_ratio"), Some(0.9));
    assert_eq!(value("pool_dirty_share"), Some(0.25));
    assert_eq!(value("selects_per_s"), None);
}

#[test]
fn slow_intervals_are_stalls_and_neighbours_are_one() {
    let mut at = 0.0;
    let per_s: Vec<f64> = (0..40)
        .map(|n| match n {
            10 => 40.0,
            20 | 21 => 1.0,
            30 => 60.0,
            _ => 100.0,
        })
        .collect();
    let mut looks = vec![(0, 0.0)];
    for (n, rate) in per_s.iter().enumerate() {
        at += rate * 5.0;
        looks.push((5 * (n as u64 + 1), at));
    }
    let found = watch(&looks);
    let seen: Vec<_> = found
        .stalls
        .iter()
        .map(|s| (s.began_s - T0 as f64 / 1e9, s.seconds, s.is_full_stop, s.queries_per_s))
        .collect();
    assert_eq!(seen, [(50.0, 5.0, false, 40.0), (100.0, 10.0, true, 1.0)]);
    // So few queries come and go by chance.
    let few: Vec<(u64, f64)> = looks.iter().map(|(at, value)| (*at, value / 10.0)).collect();
    assert!(watch(&few).stalls.is_empty());
}

#[test]
fn a_watch_without_samples_has_nothing_to_say() {
    let found = analyse_watch(&WatchTable::default());
    assert_eq!((found.samples, found.interval_s, found.rows.len()), (0, None, 0));
    assert!(found.figures.is_empty() && found.stalls.is_empty());
}
