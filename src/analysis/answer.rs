//! The answer in sentences. The first one stands alone: a reader who stops there knows the result.

use super::figure::{bytes, count, figure, percent, plural, time};
use super::findings::{Phase, Temperature, TrialFinding, WayFinding};
use super::sentences::{Said, answers};
use super::{stalls, steady_in_words, warmed};

/// The sentences. `noise` is how much slower than on a quiet machine a load may have been, as a factor.
pub(super) fn sentences(
    ways: &[WayFinding],
    trials: &[TrialFinding],
    phases: &[Phase],
    noise: f64,
) -> Vec<Said> {
    let cold = trials.iter().find(|t| t.temperature == Temperature::Cold && t.pass == 1);
    let of_ways = cold.map(|cold| warmed::sentences(cold, ways, trials, noise));
    if let Some(of_ways) = of_ways.filter(|answer| !answer.is_empty()) {
        return of_ways;
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

/// What the mean of a load hides.
fn of_stalls(trial: &TrialFinding, named: bool) -> Option<Said> {
    let stalls = trial.stalls.as_ref()?;
    let sentence = stalls::sentence(stalls)?;
    // Percentiles that are far below the stalls say nothing of them.
    let hides = |p99: &f64| stalls.events.iter().all(|e| *p99 < e.seconds / 2.0);
    let hidden =
        trial.response.p99_s.filter(hides).map_or_else(String::new, |p99| {
            format!(" The mean and a p99 of {} hide that.", time(p99))
        });
    Some(answers::STALLS.say(&[
        ("load", &name(trial, named)),
        ("stalls", &sentence),
        ("hidden", &hidden),
    ]))
}

/// What a load is called among several.
fn name(trial: &TrialFinding, named: bool) -> String {
    if named { format!("{}: ", trial.id) } else { String::new() }
}

fn of_load(trial: &TrialFinding, named: bool) -> Said {
    let (name, seconds) = (name(trial, named), time(trial.seconds));
    match (trial.events, trial.failed) {
        (0, 0) => return answers::LOAD_EMPTY.say(&[("load", &name), ("time", &seconds)]),
        (0, failed) => {
            return answers::LOAD_FAILED.say(&[
                ("load", &name),
                ("failed", &count(failed)),
                ("time", &seconds),
            ]);
        }
        _ => {}
    }
    let rate = trial.events_per_s.value.map_or_else(|| "-".to_owned(), figure);
    let latency =
        |label: &str, value: Option<f64>| value.map(|v| format!("{label} {}", time(v))).into_iter();
    let response: Vec<String> = latency("p50", trial.response.p50_s)
        .chain(latency("p99", trial.response.p99_s))
        .chain(latency("max", trial.response.max_s))
        .collect();
    // What never began is in the percentiles with the time it had waited.
    let (at_least, unbegun) = trial.unbegun.map_or_else(
        || ("", String::new()),
        |u| {
            let arrivals = plural(u.arrivals, "arrival", "arrivals");
            let words = format!("; {arrivals} ({}) that were due never began", percent(u.share));
            (" at least", words)
        },
    );
    let arrival = if trial.arrival == "closed" { "closed loop" } else { &trial.arrival };
    let errors = match trial.failed {
        0 => "no errors".to_owned(),
        failed => plural(failed, "event failed", "events failed"),
    };
    answers::LOAD.say(&[
        ("load", &name),
        ("rate", &rate),
        ("time", &seconds),
        ("events", &plural(trial.events, "event", "events")),
        ("workload", &trial.workload),
        ("workers", &plural(trial.workers as u64, "worker", "workers")),
        ("arrival", &arrival),
        ("at_least", &at_least),
        ("response", &response.join(", ")),
        ("errors", &errors),
        ("unbegun", &unbegun),
    ])
}

/// Whether a load that was long enough to tell came to a steady state.
fn of_steady(trial: &TrialFinding) -> Option<Said> {
    let steady = trial.steady.as_ref().filter(|s| s.level.is_some() && trial.events > 0)?;
    Some(answers::STEADY.say(&[("steady", &steady_in_words(steady))]))
}

fn of_warming(phases: &[Phase]) -> Said {
    let warmed: Vec<_> = phases.iter().filter_map(|p| p.warmed.as_ref()).collect();
    let Some(last) = warmed.last() else { return answers::NOTHING.say(&[]) };
    answers::WARMED.say(&[
        ("strategy", &last.strategy),
        ("time", &time(warmed.iter().map(|w| w.seconds).sum())),
        ("bytes", &bytes(warmed.iter().map(|w| w.bytes_read).sum::<u64>() as f64)),
        ("after", &plural(last.pages_after, "page", "pages")),
        ("before", &count(warmed[0].pages_before)),
    ])
}
