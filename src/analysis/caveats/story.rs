//! Doubts about how the run went: cut, damaged, failing, short, alone, with holes.

use std::collections::BTreeMap;

use crate::archive::RunState;

use super::super::figure::{count, percent, plural, time};
use super::super::findings::{SteadyVerdict, Temperature, TrialFinding};
use super::{Case, Caveat, Level, where_seen};

/// Unexpected errors above this share of all events make a run fail.
pub(in super::super) const ERROR_SHARE: f64 = 0.001;
/// Server errors that contention brings about and that programs are built to try again: lock wait timeout,
/// deadlock, record changed since last read.
const EXPECTED_CODES: &[u16] = &[1205, 1213, 1020];
/// A rate from less than this is a first look.
const SHORT_S: f64 = 10.0;
/// A rate is said steady from this on.
const STEADY_S: f64 = 60.0;
/// Why a load ends when all went well.
const DONE: &str = "done";

/// CUT: not everything that was asked was done.
pub(super) fn cut(case: &Case<'_>) -> Option<Caveat> {
    let meta = &case.run.meta;
    let broken = case.run.trials.iter().find_map(|t| t.failure.as_ref());
    let why = meta.why.as_ref().or(broken).map(|w| format!(": {w}")).unwrap_or_default();
    let cut_loads = case.trials.iter().filter(|t| t.reason != DONE).count();
    let (level, what, remedy) = match meta.state {
        RunState::Failed => (Level::Void, "the target or server failed", "mend it, run again"),
        RunState::Interrupted => (Level::Warn, "stopped by the user", "let it run to its end"),
        RunState::Running => (
            Level::Warn,
            "not closed: still running, or killed",
            "wait for its end, or take it as it is",
        ),
        RunState::Done if cut_loads > 0 => {
            (Level::Warn, "a load did not reach its end", "let it run to its end")
        }
        RunState::Done => return None,
    };
    let loads = match (cut_loads, case.trials.len()) {
        (0, 0) => "; no load was measured".to_owned(),
        (0, _) => String::new(),
        (cut, all) => {
            format!("; {} of {} cut", count(cut as u64), plural(all as u64, "load", "loads"))
        }
    };
    Some(Caveat {
        id: "CUT",
        level,
        evidence: format!("{what}{why}{loads}; what was measured until then is shown"),
        remedy: remedy.to_owned(),
    })
}

/// DAMAGE: something in the run folder could not be read.
pub(super) fn damage(case: &Case<'_>) -> Option<Caveat> {
    // A run that was not closed says so in CUT; it has no manifest to miss.
    let open = case.run.meta.state == RunState::Running;
    let all = &case.run.damage;
    let damage: Vec<_> = all.iter().filter(|d| !open || !d.starts_with("the run was")).collect();
    let (first, rest) = damage.split_first()?;
    let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
    Some(Caveat {
        id: "DAMAGE",
        level: Level::Warn,
        evidence: format!("the run folder is not whole: {first}{more}"),
        remedy: "what could be read is shown; copy the folder again if this is a copy".to_owned(),
    })
}

/// Whether the error is one that programs expect under contention.
fn is_expected(kind: &str, code: u16) -> bool {
    kind == "server" && EXPECTED_CODES.contains(&code)
}

/// Failed events that nobody expects, and their share of all.
pub(in super::super) fn unexpected(trial: &TrialFinding) -> (u64, f64) {
    let expected: u64 =
        trial.errors.iter().filter(|e| is_expected(&e.kind, e.code)).map(|e| e.count).sum();
    let unexpected = trial.failed.saturating_sub(expected.max(trial.failed_as_recorded));
    let tried = trial.events + trial.failed;
    (unexpected, if tried == 0 { 0.0 } else { unexpected as f64 / tried as f64 })
}

/// ERRORS: above 0.1 % unexpected errors the run fails; below it says so.
pub(super) fn errors(case: &Case<'_>) -> Option<Caveat> {
    let failed: u64 = case.trials.iter().map(|t| t.failed).sum();
    let worst = case.trials.iter().max_by(|a, b| unexpected(a).1.total_cmp(&unexpected(b).1))?;
    if failed == 0 {
        return None;
    }
    let (number, share) = unexpected(worst);
    let level = match share {
        s if s > ERROR_SHARE => Level::Void,
        _ if number > 0 => Level::Warn,
        _ => Level::Note,
    };
    let tried: u64 = case.trials.iter().map(|t| t.events + t.failed).sum();
    Some(Caveat {
        id: "ERRORS",
        level,
        evidence: format!(
            "{} of {} events failed ({}){}",
            count(failed),
            count(tried),
            percent(failed as f64 / tried as f64),
            first_error(case)
        ),
        remedy: match level {
            Level::Void => {
                "a run with more than 0.1 % unexpected errors has failed: find their \
                            cause first"
            }
            Level::Warn => "find their cause: failed events are in no rate and no percentile",
            Level::Note => "deadlocks and lock waits under contention: programs try again",
        }
        .to_owned(),
    })
}

fn first_error(case: &Case<'_>) -> String {
    let errors = case.trials.iter().flat_map(|t| &t.errors);
    let Some(most) = errors.max_by_key(|e| (!is_expected(&e.kind, e.code), e.count)) else {
        return String::new();
    };
    let text = if most.first_text.is_empty() { &most.kind } else { &most.first_text };
    format!("; {} times {} {}: {text}", count(most.count), most.kind, most.code)
}

/// TOO-SHORT: below a minute no rate is steady, below ten seconds it is a first look.
/// Loads of an experiment are a fixed amount of work, timed as a whole: for them it is a note.
pub(super) fn too_short(case: &Case<'_>) -> Option<Caveat> {
    let shortest = case.trials.iter().map(|t| t.seconds).min_by(f64::total_cmp)?;
    if shortest >= STEADY_S {
        return short_of_steady(case);
    }
    let is_replay = case.run.trials.iter().all(|t| t.replayed.is_some());
    let fixed_work = is_replay || !case.ways.is_empty();
    let what = if case.trials.len() == 1 { "the load took" } else { "the shortest load took" };
    let (level, remedy) = match (fixed_work, shortest < SHORT_S) {
        (true, _) => (
            Level::Note,
            "times of a fixed piece of work: compare the seconds, not the rate of a second",
        ),
        (false, true) => (Level::Warn, "run for at least 60 s before believing the rate"),
        (false, false) => (Level::Note, "run for at least 60 s, longer for writes"),
    };
    Some(Caveat {
        id: "TOO-SHORT",
        level,
        evidence: format!("{what} {}: too short to be called steady", time(shortest)),
        remedy: remedy.to_owned(),
    })
}

/// A load of more than a minute that is still too short to tell: for the cycles of the redo log, for its noise.
fn short_of_steady(case: &Case<'_>) -> Option<Caveat> {
    let open =
        |t: &&TrialFinding| t.steady.as_ref().is_some_and(|s| s.verdict == SteadyVerdict::TooShort);
    let seen: Vec<&TrialFinding> = case.trials.iter().filter(open).collect();
    let why = seen.first()?.steady.as_ref()?.why.first().cloned().unwrap_or_default();
    Some(Caveat {
        id: "TOO-SHORT",
        level: Level::Note,
        evidence: format!(
            "too short to tell whether it is steady{}: {why}",
            where_seen(case, &seen)
        ),
        remedy: "run longer, or with --until-steady".to_owned(),
    })
}

/// NOT-STEADY: a load long enough to tell was still rising, falling or changing its level. Void where the load was to
/// run until it is steady.
pub(super) fn not_steady(case: &Case<'_>) -> Option<Caveat> {
    let restless = |t: &&TrialFinding| {
        // A cold load is one that fills the pool: nobody expects it to be steady.
        let meant = matches!(t.temperature, Temperature::Cold | Temperature::Warming);
        let verdict = t.steady.as_ref().map(|s| s.verdict);
        !meant && verdict.is_some_and(|v| !v.is_steady() && v != SteadyVerdict::TooShort)
    };
    let seen: Vec<&TrialFinding> = case.trials.iter().filter(restless).collect();
    let steady = seen.first()?.steady.as_ref()?;
    let asked = case.run.plan.lines().any(|line| line.trim() == "until_steady = true");
    let why = steady.why.first().map(|why| format!(": {why}")).unwrap_or_default();
    Some(Caveat {
        id: "NOT-STEADY",
        level: if asked { Level::Void } else { Level::Warn },
        evidence: format!("{}{}{why}", steady.verdict.words(), where_seen(case, &seen)),
        remedy: "the rate is not the server's lasting one: run longer, or until steady".to_owned(),
    })
}

/// ONE-RUN: nothing was repeated, so nothing is known about how much the numbers move by themselves.
pub(super) fn one_run(case: &Case<'_>) -> Option<Caveat> {
    let repeated = case.trials.iter().any(|t| t.block > 1);
    (!case.trials.is_empty() && !repeated).then(|| Caveat {
        id: "ONE-RUN",
        level: Level::Note,
        evidence: "one run: no interval follows from it, and it is not comparable with others"
            .to_owned(),
        remedy: "repeat it, in alternating order, before acting on differences of a few percent"
            .to_owned(),
    })
}

/// How long a probe may take to find a server again that was restarted.
const FOUND_AGAIN_NS: u64 = 2_000_000_000;

/// PROBE-GAP: a probe had nothing to say, other than while the server was stopped or being restarted.
pub(super) fn probe_gap(case: &Case<'_>) -> Option<Caveat> {
    let restarting = |ns: u64| {
        case.run.steps.iter().any(|s| {
            let stops = ["restart", "restore", "snapshot"].iter().any(|k| s.kind.starts_with(k));
            stops && s.began_ns <= ns && s.ended_ns.is_none_or(|e| ns <= e + FOUND_AGAIN_NS)
        })
    };
    let mut gaps: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for sample in &case.run.samples {
        if let Some(why) = sample.gap.as_deref().filter(|_| !restarting(sample.planned_ns)) {
            *gaps.entry((&sample.probe, why)).or_default() += 1;
        }
    }
    if gaps.is_empty() {
        return None;
    }
    let taken = |probe: &str| case.run.samples.iter().filter(|s| s.probe == probe).count();
    let words: Vec<String> = gaps
        .iter()
        .map(|((probe, why), n)| format!("{probe} {n} of {} ({why})", count(taken(probe) as u64)))
        .collect();
    Some(Caveat {
        id: "PROBE-GAP",
        level: Level::Note,
        evidence: format!("samples missing: {}", words.join(", ")),
        remedy: "what these probes would have shown is unknown, not zero; grant what they need"
            .to_owned(),
    })
}
