//! The answer in sentences. The first one stands alone: a reader who stops there knows the result.

use super::findings::{
    AnswerSentence, FindingResults, PoolTemperature, TimelineStep, TrialFinding, VariantFinding,
};
use super::number_format::{
    format_bytes, format_count, format_number, format_percent, format_plural, format_time,
    number_or_dash,
};
use super::sentences::{NOT_RELIABLE, answer_texts};
use super::steady::steady_in_words;
use super::{costs, stalls, warming};
use crate::archive::{CrashRound, RecordedStepKind};

/// The sentences. `noise` is how much slower than on a quiet machine a load may have been, as a factor.
pub(super) fn answer_sentences(
    variants: &[VariantFinding],
    trials: &[TrialFinding],
    phases: &[TimelineStep],
    noise: f64,
) -> Vec<AnswerSentence> {
    let cold = trials.iter().find(|t| t.temperature == PoolTemperature::Cold && t.pass == 1);
    let of_variants = cold.map(|cold| warming::warming_sentences(cold, variants, trials, noise));
    if let Some(of_variants) = of_variants.filter(|answer| !answer.is_empty()) {
        return of_variants;
    }
    match trials {
        [] => vec![crash_sentence(phases).unwrap_or_else(|| warming_sentence(phases))],
        [one] if !one.costs().is_empty() => costs::cost_sentence(one.costs()).into_iter().collect(),
        [one] => {
            [Some(load_sentence(one, false)), steady_sentence(one), stalls_sentence(one, false)]
                .into_iter()
                .flatten()
                .collect()
        }
        trials => trials
            .iter()
            .flat_map(|t| std::iter::once(load_sentence(t, true)).chain(stalls_sentence(t, true)))
            .collect(),
    }
}

/// The answer in one short sentence: of a single load its rate and response time, else the first sentence.
pub fn answer_headline(results: &FindingResults) -> String {
    let Some(said) = results.answer.first() else { return String::new() };
    match &results.trials[..] {
        [only] if said.id == answer_texts::LOAD.id => {
            let void = if said.starts_with(NOT_RELIABLE) { NOT_RELIABLE } else { "" };
            format!("{void}{}", load_headline(only))
        }
        _ => said.text.clone(),
    }
}

/// Rate, response time and errors.
fn load_headline(trial: &TrialFinding) -> String {
    let percentile = |label: &str, value: Option<f64>| {
        let sign = if value.is_some_and(|v| trial.is_lower_bound(v)) { "> " } else { "" };
        value.map(|v| format!(", {label} {sign}{}", format_time(v))).unwrap_or_default()
    };
    let errors = error_words(trial).map(|words| format!(", {words}")).unwrap_or_default();
    format!(
        "{} events/s{}{}{errors}.",
        number_or_dash(trial.events_per_s.value),
        percentile("p50", trial.response.p50_s),
        percentile("p99", trial.response.p99_s),
    )
}

/// What the mean of a load hides.
fn stalls_sentence(trial: &TrialFinding, named: bool) -> Option<AnswerSentence> {
    let stalls = trial.stalls.as_ref()?;
    let sentence = stalls::stalls_text(stalls)?;
    // Percentiles that are far below the stalls say nothing of them.
    let hides = |p99: &f64| stalls.events.iter().all(|e| *p99 < e.seconds / 2.0);
    let hidden = trial.response.p99_s.filter(hides).map_or_else(String::new, |p99| {
        format!(" The mean and a p99 of {} hide that.", format_time(p99))
    });
    Some(answer_texts::STALLS.to_sentence(&[
        ("load", &load_prefix(trial, named)),
        ("stalls", &sentence),
        ("hidden", &hidden),
    ]))
}

/// What a load is called among several.
/// Events that failed, and attempts that did not make their event fail; nothing if there are none.
fn error_words(trial: &TrialFinding) -> Option<String> {
    let failed = trial.failed.saturating_sub(trial.restarts);
    let failed = (failed > 0).then(|| format_plural(failed, "event failed", "events failed"));
    let again = "attempts failed and their events ran again";
    let once = "attempt failed and its event ran again";
    let again = (trial.restarts > 0).then(|| format_plural(trial.restarts, once, again));
    let words: Vec<String> = failed.into_iter().chain(again).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn load_prefix(trial: &TrialFinding, named: bool) -> String {
    if named { format!("{}: ", trial.title) } else { String::new() }
}

fn load_sentence(trial: &TrialFinding, named: bool) -> AnswerSentence {
    let (name, seconds) = (load_prefix(trial, named), format_time(trial.seconds));
    // They are in no number of this sentence, and would be the slowest.
    let under_way = match trial.abandoned {
        0 => String::new(),
        count => {
            let events = format_plural(count, "event was", "events were");
            format!("; {events} under way at its end")
        }
    };
    match (trial.events, trial.failed) {
        (0, 0) => {
            return answer_texts::LOAD_EMPTY.to_sentence(&[
                ("load", &name),
                ("time", &seconds),
                ("under_way", &under_way),
            ]);
        }
        (0, failed) => {
            return answer_texts::LOAD_FAILED.to_sentence(&[
                ("load", &name),
                ("failed", &format_count(failed)),
                ("time", &seconds),
                ("under_way", &under_way),
            ]);
        }
        _ => {}
    }
    let rate = trial.events_per_s.value.map_or_else(|| "-".to_owned(), format_number);
    let latency = |label: &str, value: Option<f64>| {
        value.map(|v| format!("{label} {}", format_time(v))).into_iter()
    };
    let response: Vec<String> = latency("p50", trial.response.p50_s)
        .chain(latency("p99", trial.response.p99_s))
        .chain(latency("max", trial.response.max_s))
        .collect();
    // What never began is in the percentiles with the time it had waited.
    let (at_least, unbegun) = trial.unbegun.map_or_else(
        || ("", String::new()),
        |u| {
            let arrivals = format_plural(u.arrivals, "arrival", "arrivals");
            let words =
                format!("; {arrivals} ({}) that were due never began", format_percent(u.share));
            (" at least", words)
        },
    );
    let is_plain = trial.closed_think_s == Some(0.0);
    let arrival = if is_plain { "closed loop" } else { &trial.arrival };
    let errors = error_words(trial).unwrap_or_else(|| "no errors".to_owned());
    answer_texts::LOAD.to_sentence(&[
        ("load", &name),
        ("rate", &rate),
        ("time", &seconds),
        ("events", &format_plural(trial.events, "event", "events")),
        ("workload", &trial.workload),
        ("workers", &format_plural(trial.workers as u64, "worker", "workers")),
        ("arrival", &arrival),
        ("at_least", &at_least),
        ("response", &response.join(", ")),
        ("errors", &errors),
        ("unbegun", &unbegun),
        ("under_way", &under_way),
    ])
}

/// Whether a load that was long enough to tell came to a steady state.
fn steady_sentence(trial: &TrialFinding) -> Option<AnswerSentence> {
    let steady = trial.steady.as_ref().filter(|s| s.level.is_some() && trial.events > 0)?;
    Some(answer_texts::STEADY.to_sentence(&[("steady", &steady_in_words(steady))]))
}

/// What came back after kills of the server.
fn crash_sentence(phases: &[TimelineStep]) -> Option<AnswerSentence> {
    let rounds: Vec<_> = phases.iter().filter_map(|p| p.crash.clone()).collect();
    let kills = CrashRound::answer_text(&rounds);
    (!rounds.is_empty()).then(|| answer_texts::CRASHES.to_sentence(&[("kills", &kills)]))
}

fn warming_sentence(phases: &[TimelineStep]) -> AnswerSentence {
    let warmed: Vec<_> = phases.iter().filter_map(|p| p.warmed.as_ref()).collect();
    let Some(last) = warmed.last() else {
        let has_loads = phases.iter().any(|p| p.kind == RecordedStepKind::Load);
        let lost = if has_loads { answer_texts::LOADS_LOST } else { answer_texts::NOTHING };
        return lost.to_sentence(&[]);
    };
    answer_texts::WARMED.to_sentence(&[
        ("strategy", &last.strategy),
        ("time", &format_time(warmed.iter().map(|w| w.seconds).sum())),
        ("bytes", &format_bytes(warmed.iter().map(|w| w.bytes_read).sum::<u64>() as f64)),
        ("after", &format_plural(last.pages_after, "page", "pages")),
        ("before", &format_count(warmed[0].pages_before)),
    ])
}
