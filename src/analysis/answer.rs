//! The answer in sentences. The first one stands alone: a reader who stops there knows the result.

use super::figure::{bytes, count, plural, time, times};
use super::findings::{Phase, Temperature, TrialFinding, WayFinding};
use super::{stalls, steady_in_words};

/// A single run can't tell a gain below this from none.
const GAIN: f64 = 1.1;
/// Ways whose gains differ by less than this are equals; the one that warms faster is named.
const EQUALS: f64 = 0.9;

/// The sentences.
pub(super) fn sentences(
    ways: &[WayFinding],
    trials: &[TrialFinding],
    phases: &[Phase],
) -> Vec<String> {
    let cold = trials.iter().find(|t| t.temperature == Temperature::Cold && t.pass == 1);
    if let Some(cold) = cold {
        let warmed: Vec<&WayFinding> =
            ways.iter().filter(|w| w.warm_s.is_some() && w.times_faster.value.is_some()).collect();
        if let Some(best) = best(&warmed) {
            return of_experiment(cold, best, &warmed, trials);
        }
    }
    match trials {
        [] => vec![of_warming(phases)],
        [one] => [Some(of_load(one, false)), of_steady(one), of_stalls(one, false)]
            .into_iter()
            .flatten()
            .collect(),
        trials => trials
            .iter()
            .flat_map(|t| std::iter::once(of_load(t, true)).chain(of_stalls(t, true)))
            .collect(),
    }
}

/// The way with the highest gain; among equals the one that warms fastest.
fn best<'a>(ways: &[&'a WayFinding]) -> Option<&'a WayFinding> {
    let gain = |w: &WayFinding| w.times_faster.value.unwrap_or(0.0);
    let highest = ways.iter().map(|w| gain(w)).reduce(f64::max)?;
    let equals = ways.iter().filter(|w| gain(w) >= EQUALS * highest);
    let cost = |w: &WayFinding| w.warm_s.unwrap_or(f64::MAX);
    equals.min_by(|a, b| cost(a).total_cmp(&cost(b))).copied()
}

fn of_experiment(
    cold: &TrialFinding,
    best: &WayFinding,
    ways: &[&WayFinding],
    trials: &[TrialFinding],
) -> Vec<String> {
    let first = best.first.map_or(f64::NAN, |t| trials[t].seconds);
    let gain = best.times_faster.value.unwrap_or(f64::NAN);
    let work = plural(cold.events + cold.failed, "event", "events");
    let (took, warm) = (time(cold.seconds), time(best.warm_s.unwrap_or(f64::NAN)));
    let verdict = if gain >= GAIN {
        format!("A warm buffer pool is worth {} here", times(gain))
    } else {
        "Warming brought nothing that one run could show".to_owned()
    };
    let mut answer = vec![format!(
        "{verdict}: the first {work} took {took} cold and {} after `{}`, which warmed for {warm}.",
        time(first),
        best.way,
    )];
    let others: Vec<String> =
        ways.iter().filter(|w| w.way != best.way).map(|w| in_short(w)).collect();
    if !others.is_empty() {
        answer.push(format!("The other ways: {}.", others.join("; ")));
    }
    answer.push(payback(cold, best));
    answer
}

fn in_short(way: &WayFinding) -> String {
    let gain = way.times_faster.value.unwrap_or(f64::NAN);
    let warm = time(way.warm_s.unwrap_or(f64::NAN));
    let gain_words = match gain {
        g if g >= GAIN => times(g),
        g if g > 1.0 / GAIN => format!("no gain ({})", times(g)),
        g => format!("slower ({})", times(g)),
    };
    format!("`{}` {gain_words} after {warm}", way.way)
}

/// Whether warming and running is sooner done than running cold.
fn payback(cold: &TrialFinding, best: &WayFinding) -> String {
    let Some(both) = best.until_first_done_s else {
        return String::new();
    };
    let (both_words, cold_words) = (time(both), time(cold.seconds));
    if both < cold.seconds {
        format!(
            "Warming included, the first run is done after {both_words} instead of {cold_words}: \
             it pays at once."
        )
    } else {
        format!(
            "Warming included, the first run is done after {both_words} instead of {cold_words}: \
             it pays when nobody waits for the warming."
        )
    }
}

/// What the mean of a load hides.
fn of_stalls(trial: &TrialFinding, named: bool) -> Option<String> {
    let stalls = trial.stalls.as_ref()?;
    let sentence = stalls::sentence(stalls)?;
    let name = if named { format!("{}: ", trial.id) } else { String::new() };
    // Percentiles that are far below the stalls say nothing of them.
    let hides = |p99: &f64| stalls.events.iter().all(|e| *p99 < e.seconds / 2.0);
    let hidden =
        trial.response.p99_s.filter(hides).map_or_else(String::new, |p99| {
            format!(" The mean and a p99 of {} hide that.", time(p99))
        });
    Some(format!("{name}{sentence}.{hidden}"))
}

fn of_load(trial: &TrialFinding, named: bool) -> String {
    let name = if named { format!("{}: ", trial.id) } else { String::new() };
    if trial.events == 0 {
        let what = match trial.failed {
            0 => "no event ended".to_owned(),
            failed => format!("no event ended well, {} failed", count(failed)),
        };
        return format!("{name}{what} in {}.", time(trial.seconds));
    }
    let rate = trial.events_per_s.value.map_or_else(|| "-".to_owned(), super::figure::figure);
    let latency =
        |label: &str, value: Option<f64>| value.map(|v| format!("{label} {}", time(v))).into_iter();
    let response: Vec<String> = latency("p50", trial.response.p50_s)
        .chain(latency("p99", trial.response.p99_s))
        .chain(latency("max", trial.response.max_s))
        .collect();
    let arrival = if trial.arrival == "closed" { "closed loop" } else { &trial.arrival };
    let errors = match trial.failed {
        0 => "no errors".to_owned(),
        failed => plural(failed, "event failed", "events failed"),
    };
    format!(
        "{name}{rate} events/s over {} ({} of {}, {}, {}): response time {}; {errors}.",
        time(trial.seconds),
        plural(trial.events, "event", "events"),
        trial.workload,
        plural(trial.workers as u64, "worker", "workers"),
        arrival,
        response.join(", "),
    )
}

/// Whether a load that was long enough to tell came to a steady state.
fn of_steady(trial: &TrialFinding) -> Option<String> {
    let steady = trial.steady.as_ref().filter(|s| s.level.is_some() && trial.events > 0)?;
    Some(format!("It was {}.", steady_in_words(steady)))
}

fn of_warming(phases: &[Phase]) -> String {
    let warmed: Vec<_> = phases.iter().filter_map(|p| p.warmed.as_ref()).collect();
    match warmed.last() {
        Some(last) => format!(
            "Warmed by `{}` in {}: {} read, {} pages in the pool (before: {}).",
            last.strategy,
            time(warmed.iter().map(|w| w.seconds).sum()),
            bytes(warmed.iter().map(|w| w.bytes_read).sum::<u64>() as f64),
            count(last.pages_after),
            count(warmed[0].pages_before),
        ),
        None => "Nothing was measured.".to_owned(),
    }
}
