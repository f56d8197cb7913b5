//! Caveats about how the run went: cut, damaged, failing, short, alone, with holes.

use std::collections::BTreeMap;

use crate::archive::{LoadRequest, RecordedStepKind, RunState, TrialEnding};

use super::super::event_errors::{ERROR_SHARE, is_expected, unexpected_errors};
use super::super::findings::{PoolTemperature, SteadyVerdict, TrialFinding};
use super::super::number_format::{format_count, format_percent, format_plural, format_time};
use super::super::sentences::caveat_texts;
use super::{Caveat, CaveatInput, load_names_text};

/// A rate from less than this is a first look.
const SHORT_S: f64 = 10.0;
/// A rate is said steady from this on.
const STEADY_S: f64 = 60.0;

/// CUT: not everything that was asked was done.
pub(super) fn cut_run(input: &CaveatInput<'_>) -> Option<Caveat> {
    let meta = &input.run.meta;
    let broken = input.run.trials.iter().find_map(|t| t.failure.as_ref());
    let why = meta.why.as_ref().or(broken).map(|w| format!(": {w}")).unwrap_or_default();
    let cut_loads = input.trials.iter().filter(|t| t.reason != TrialEnding::Done).count();
    let row = match meta.state {
        RunState::Failed => caveat_texts::CUT_FAILED,
        RunState::Interrupted => caveat_texts::CUT_STOPPED,
        RunState::Running => caveat_texts::CUT_OPEN,
        RunState::Done if cut_loads > 0 => caveat_texts::CUT_LOAD,
        RunState::Done => return None,
    };
    let loads = match (cut_loads, input.trials.len()) {
        (0, 0) => "; no load was measured".to_owned(),
        (0, _) => String::new(),
        (cut, all) => {
            format!(
                "; {} of {} cut",
                format_count(cut as u64),
                format_plural(all as u64, "load", "loads")
            )
        }
    };
    Some(row.to_caveat(&[("why", &why), ("loads", &loads)]))
}

/// DAMAGE: something in the run folder could not be read.
pub(super) fn damaged_archive(input: &CaveatInput<'_>) -> Option<Caveat> {
    let (first, rest) = input.run.damage.split_first()?;
    let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
    Some(caveat_texts::DAMAGE.to_caveat(&[("first", first), ("more", &more)]))
}

/// BROKEN-DATA: what was found before or after a load; the first time counts, as it is nearest to the cause.
pub(super) fn broken_data(input: &CaveatInput<'_>) -> Option<Caveat> {
    let mut is_loaded = false;
    let mut found = None;
    for step in &input.run.steps {
        is_loaded |= step.kind == RecordedStepKind::Load;
        let broken = step.data.as_ref().filter(|data| !data.all_hold());
        found = found.or(broken.map(|data| (is_loaded, data)));
    }
    let (is_loaded, data) = found?;
    let when = if is_loaded { "after a load" } else { "before the load" };
    let rows = data.broken().flat_map(|verdict| verdict.examples.iter().map(move |e| (verdict, e)));
    let example = rows.map(|(verdict, row)| {
        format!("; {} {}: {}, expected {}", verdict.id, row.key, row.found, row.expected)
    });
    let example = example.take(1).collect::<String>();
    let answer = data.answer_text();
    let parts: [(&str, &dyn std::fmt::Display); 3] =
        [("when", &when), ("answer", &answer), ("example", &example)];
    Some(caveat_texts::BROKEN_DATA.to_caveat(&parts))
}

/// ERRORS: above 0.1 % unexpected errors the run fails; below it says so.
pub(super) fn failed_events(input: &CaveatInput<'_>) -> Option<Caveat> {
    let failed: u64 = input.trials.iter().map(|t| t.failed).sum();
    let worst = input
        .trials
        .iter()
        .max_by(|a, b| unexpected_errors(a).1.total_cmp(&unexpected_errors(b).1))?;
    if failed == 0 {
        return None;
    }
    let (number, share) = unexpected_errors(worst);
    let row = match share {
        s if s > ERROR_SHARE => caveat_texts::ERRORS_VOID,
        _ if number > 0 => caveat_texts::ERRORS_SOME,
        _ => caveat_texts::ERRORS_EXPECTED,
    };
    let tried: u64 = input.trials.iter().map(|t| t.events + t.failed).sum();
    Some(row.to_caveat(&[
        ("failed", &format_count(failed)),
        ("tried", &format_count(tried)),
        ("share", &format_percent(failed as f64 / tried as f64)),
        ("most", &main_error_text(input)),
    ]))
}

fn main_error_text(input: &CaveatInput<'_>) -> String {
    let errors = input.trials.iter().flat_map(|t| &t.errors);
    let Some(most) = errors.max_by_key(|e| (!is_expected(e), e.count)) else {
        return String::new();
    };
    let text =
        if most.first_text.is_empty() { most.kind.as_str() } else { most.first_text.as_str() };
    let times = format_plural(most.count, "time", "times");
    format!("; {times} {} {}: {text}", most.kind, most.code)
}

/// TOO-SHORT: below a minute no rate is steady, below ten seconds it is a first look.
/// Loads of an experiment are a fixed amount of work, timed as a whole: for them it is a note.
pub(super) fn too_short(input: &CaveatInput<'_>) -> Option<Caveat> {
    let shortest = input.trials.iter().map(|t| t.seconds).min_by(f64::total_cmp)?;
    if shortest >= STEADY_S {
        return too_short_for_steady(input);
    }
    let is_replay = input.run.trials.iter().all(|t| t.replayed.is_some());
    let fixed_work = is_replay || load_request(input).fixed_work;
    let what = if input.trials.len() == 1 { "the load" } else { "the shortest load" };
    let row = match (fixed_work, shortest < SHORT_S) {
        (true, _) => caveat_texts::TOO_SHORT_WORK,
        (false, true) => caveat_texts::TOO_SHORT_GLANCE,
        (false, false) => caveat_texts::TOO_SHORT,
    };
    Some(row.to_caveat(&[("what", &what), ("time", &format_time(shortest))]))
}

fn load_request(input: &CaveatInput<'_>) -> LoadRequest {
    input.run.meta.load.unwrap_or_default()
}

/// A load of more than a minute that is still too short to tell: for the cycles of the redo log, for its noise.
fn too_short_for_steady(input: &CaveatInput<'_>) -> Option<Caveat> {
    let open =
        |t: &&TrialFinding| t.steady.as_ref().is_some_and(|s| s.verdict == SteadyVerdict::TooShort);
    let seen: Vec<&TrialFinding> = input.trials.iter().filter(open).collect();
    let why = seen.first()?.steady.as_ref()?.why.first().cloned().unwrap_or_default();
    Some(
        caveat_texts::TOO_SHORT_OPEN
            .to_caveat(&[("where", &load_names_text(input, &seen)), ("why", &why)]),
    )
}

/// NOT-STEADY: a load long enough to tell was still rising, falling or changing its level. Void where the load was to
/// run until it is steady.
pub(super) fn not_steady(input: &CaveatInput<'_>) -> Option<Caveat> {
    let restless = |t: &&TrialFinding| {
        // A cold load is one that fills the pool: nobody expects it to be steady.
        let meant = matches!(t.temperature, PoolTemperature::Cold | PoolTemperature::Warming);
        let verdict = t.steady.as_ref().map(|s| s.verdict);
        !meant && verdict.is_some_and(|v| !v.is_steady() && v != SteadyVerdict::TooShort)
    };
    let seen: Vec<&TrialFinding> = input.trials.iter().filter(restless).collect();
    let steady = seen.first()?.steady.as_ref()?;
    let asked = load_request(input).until_steady;
    let why = steady.why.first().map(|why| format!(": {why}")).unwrap_or_default();
    let row = if asked { caveat_texts::NOT_STEADY_ASKED } else { caveat_texts::NOT_STEADY };
    Some(row.to_caveat(&[
        ("verdict", &steady.verdict.as_str()),
        ("where", &load_names_text(input, &seen)),
        ("why", &why),
    ]))
}

/// ONE-RUN: nothing was repeated, so nothing is known about how much the numbers move by themselves.
pub(super) fn one_run(input: &CaveatInput<'_>) -> Option<Caveat> {
    let repeated = input.trials.iter().any(|t| t.block > 1);
    (!input.trials.is_empty() && !repeated).then(|| caveat_texts::ONE_RUN.to_caveat(&[]))
}

/// How long a probe may take to find a server again that was restarted.
const FOUND_AGAIN_NS: u64 = 2_000_000_000;

/// PROBE-GAP: a probe had nothing to say, other than while the server was stopped or being restarted.
pub(super) fn probe_gap(input: &CaveatInput<'_>) -> Option<Caveat> {
    let restarting = |ns: u64| {
        input.run.steps.iter().any(|s| {
            s.kind.stops_server()
                && s.began_ns <= ns
                && s.ended_ns.is_none_or(|e| ns <= e + FOUND_AGAIN_NS)
        })
    };
    let mut gaps: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for sample in &input.run.samples {
        if let Some(why) = sample.gap.as_deref().filter(|_| !restarting(sample.planned_ns)) {
            *gaps.entry((&sample.probe, why)).or_default() += 1;
        }
    }
    if gaps.is_empty() {
        return None;
    }
    let taken = |probe: &str| input.run.samples.iter().filter(|s| s.probe == probe).count();
    let words: Vec<String> = gaps
        .iter()
        .map(|((probe, why), n)| {
            format!("{probe} {n} of {} ({why})", format_count(taken(probe) as u64))
        })
        .collect();
    Some(caveat_texts::PROBE_GAP.to_caveat(&[("probes", &words.join(", "))]))
}
