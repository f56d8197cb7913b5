//! What a load of URLs comes to in the terms of ab, from its histograms: single exchanges are not kept.

use std::collections::BTreeMap;

use super::exchange_totals::{ExchangeTable, ExchangeTimes, ExchangeTotals};
use super::latency::sum_histograms;
use crate::archive::{RecordedErrorKind, Trial};
use crate::base::host_port::split_host_port;
use crate::recorder::Histogram;

/// Steps of an event, each alone or before the name of a class.
const CONNECT: &str = "connect";
const FIRST_BYTE: &str = "first byte";
/// Codes of checks: size, checksum.
const BAD_SIZE: u16 = 1;
const BAD_SUM: u16 = 2;
/// The system's number for what took too long.
const TIMED_OUT: u16 = 110;
/// Replies that were taken are somewhere below 400; most of them have this status.
const GOOD: u16 = 200;
/// A check's status that nobody expected is not told: any that is not good stands for it.
const UNEXPECTED: u16 = 300;

/// A load as ab sees one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunExchanges {
    /// Host of the first URL.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Its path.
    pub path: String,
    /// How many there are.
    pub urls: usize,
    /// Whether any connection was kept.
    pub keeps_alive: bool,
    /// Numbers of all.
    pub totals: ExchangeTotals,
    /// Times of good events.
    pub table: ExchangeTable,
}

/// The load as ab sees it; `None` for events that are not one request each.
pub(super) fn run_exchanges(trial: &Trial) -> Option<RunExchanges> {
    let step = |name: &str| {
        let of = |(place, step): (usize, &String)| {
            let rest = step.strip_prefix(name)?;
            let is_it = rest.is_empty() || rest.starts_with(' ');
            is_it.then(|| trial.step_latency.get(place).cloned()).flatten()
        };
        trial.event_steps.iter().enumerate().filter_map(of).collect::<Vec<_>>()
    };
    let waits = step(FIRST_BYTE);
    if waits.is_empty() {
        return None;
    }
    let all = sum_histograms(&trial.response);
    let connects = padded(sum_histograms(&step(CONNECT)), all.len());
    let option = |name: &str| trial.options.get(name).map(String::as_str).unwrap_or_default();
    let totals = totals_of(trial);
    let keeps_alive = totals.kept_alive > 0;
    let (connect, total) = (times_of(&connects), times_of(&all));
    let processing = if keeps_alive { total } else { difference(total, connect) };
    let rows = [connect, processing, times_of(&sum_histograms(&waits)), total];
    let (host, port, path) = split_url(option("url").lines().next().unwrap_or_default());
    Some(RunExchanges {
        host,
        port,
        path,
        urls: option("url").lines().count(),
        keeps_alive,
        totals,
        table: ExchangeTable { rows, totals_ms: percentiles_ms(&all), exchanges: Vec::new() },
    })
}

/// Host, port and path of an address; nothing of one that names no host.
fn split_url(url: &str) -> (String, u16, String) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
    let Ok((host, port)) = split_host_port(place) else { return Default::default() };
    let usual = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    (host.to_owned(), port.unwrap_or(usual), format!("/{path}"))
}

fn totals_of(trial: &Trial) -> ExchangeTotals {
    let good: u64 = trial.response.iter().map(|times| times.len()).sum();
    let mut totals = ExchangeTotals {
        seconds: trial.ended_ns.saturating_sub(trial.began_ns) as f64 / 1e9,
        body_bytes: trial.tally.count("body_bytes"),
        received: trial.tally.count("body_bytes"),
        unfinished: trial.abandoned,
        statuses: BTreeMap::from([(GOOD, good)]),
        ..ExchangeTotals::default()
    };
    for error in &trial.errors {
        match (&error.kind, error.code) {
            (RecordedErrorKind::Server, status) => {
                *totals.statuses.entry(status).or_default() += error.count;
            }
            (RecordedErrorKind::Check, BAD_SIZE) => totals.bad_sizes += error.count,
            (RecordedErrorKind::Check, BAD_SUM) => totals.bad_sums += error.count,
            (RecordedErrorKind::Check, _) => {
                *totals.statuses.entry(UNEXPECTED).or_default() += error.count;
            }
            (_, TIMED_OUT) => totals.timed_out += error.count,
            _ => totals.broken += error.count,
        }
    }
    let checked = totals.bad_sizes + totals.bad_sums;
    *totals.statuses.entry(GOOD).or_default() += checked;
    totals.replied = totals.statuses.values().sum();
    totals.ended = totals.replied + totals.broken + totals.timed_out;
    totals.kept_alive = totals.replied.saturating_sub(trial.tally.count("connections"));
    totals
}

/// With a zero for each event that made no connection.
fn padded(mut connects: Histogram, events: u64) -> Histogram {
    let kept = events.saturating_sub(connects.len());
    connects.saturating_record_n(0, kept);
    connects
}

fn times_of(times: &Histogram) -> ExchangeTimes {
    if times.is_empty() {
        return ExchangeTimes::default();
    }
    let ms = |ns: u64| ns as f64 / 1e6;
    ExchangeTimes {
        least_ms: ms(times.min()),
        mean_ms: times.mean() / 1e6,
        deviation_ms: times.stdev() / 1e6,
        median_ms: ms(times.value_at_quantile(0.5)),
        most_ms: ms(times.max()),
    }
}

/// About what is left of one part without another.
fn difference(whole: ExchangeTimes, part: ExchangeTimes) -> ExchangeTimes {
    let less = |whole: f64, part: f64| (whole - part).max(0.0);
    ExchangeTimes {
        least_ms: less(whole.least_ms, part.least_ms),
        mean_ms: less(whole.mean_ms, part.mean_ms),
        deviation_ms: whole.deviation_ms,
        median_ms: less(whole.median_ms, part.median_ms),
        most_ms: less(whole.most_ms, part.least_ms),
    }
}

/// The times at 0, 1, .. 100 percent.
fn percentiles_ms(times: &Histogram) -> Vec<f64> {
    if times.is_empty() {
        return Vec::new();
    }
    let at = |percent: u32| times.value_at_quantile(f64::from(percent) / 100.0).min(times.max());
    (0..=100).map(|percent| at(percent) as f64 / 1e6).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{ErrorRecord, TallyRecord};
    use crate::recorder::new_histogram;

    fn histogram(ms: &[u64]) -> Histogram {
        let mut times = new_histogram();
        ms.iter().for_each(|ms| times.saturating_record(ms * 1_000_000));
        times
    }

    fn load() -> Trial {
        let error = |kind, code, count| ErrorRecord { kind, code, count, ..ErrorRecord::default() };
        let mut tally = TallyRecord::default();
        *tally.count_mut("body_bytes") = 3000;
        *tally.count_mut("connections") = 1;
        let names = ["connect /a", "tls /a", "first byte /a", "connect /b", "first byte /b"];
        Trial {
            options: [("url".to_owned(), "http://h:81/a\nhttp://h:81/b".to_owned())].into(),
            event_steps: names.map(str::to_owned).to_vec(),
            step_latency: vec![
                histogram(&[4]),
                histogram(&[]),
                histogram(&[2, 2]),
                histogram(&[]),
                histogram(&[5]),
            ],
            response: vec![histogram(&[10, 20]), histogram(&[30])],
            errors: vec![
                error(RecordedErrorKind::Server, 500, 2),
                error(RecordedErrorKind::Check, 1, 1),
                error(RecordedErrorKind::Lost, 110, 3),
            ],
            tally,
            ended_ns: 2_000_000_000,
            ..Trial::default()
        }
    }

    #[test]
    fn histograms_of_all_urls_make_one_table() {
        let seen = run_exchanges(&load()).unwrap();
        let totals = &seen.totals;
        assert_eq!((totals.replied, totals.failed(), totals.error_statuses()), (6, 4, 2));
        assert_eq!((totals.kept_alive, totals.body_bytes, totals.seconds), (5, 3000, 2.0));
        let [connect, processing, wait, total] = seen.table.rows;
        assert!((connect.least_ms, connect.median_ms) == (0.0, 0.0) && connect.mean_ms > 1.0);
        assert!((total.mean_ms - 20.0).abs() < 0.1 && (wait.mean_ms - 3.0).abs() < 0.1);
        assert_eq!((processing, seen.table.totals_ms.len()), (total, 101));
        assert_eq!((&*seen.host, seen.port, &*seen.path, seen.urls), ("h", 81, "/a", 2));
    }

    #[test]
    fn addresses_have_a_host_a_port_and_a_path() {
        let of = |url: &str| {
            let (host, port, path) = split_url(url);
            format!("{host} {port} {path}")
        };
        assert_eq!(of("http://h/a/b?c"), "h 80 /a/b?c");
        assert_eq!(of("https://h"), "h 443 /");
        assert_eq!(of("http://[::1]:81/x"), "::1 81 /x");
        assert_eq!(of(""), " 0 ");
    }

    #[test]
    fn what_has_no_requests_is_not_shown() {
        assert_eq!(run_exchanges(&Trial::default()), None);
    }
}
