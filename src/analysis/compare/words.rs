//! What comparisons come to, in sentences.

use super::super::figure::{figure, plural, times};
use super::super::findings::{Comparison, Difference, Verdict};
use super::differences::factors;
use super::metric::metric;

/// Beyond this ratio a percentage reads badly.
const MANY_TIMES: f64 = 2.0;
/// Beyond this ratio no digit matters.
const FARTHEST: f64 = 10_000.0;
/// Ways that a sentence lists.
const LISTED: usize = 6;
/// The metric beside rate that everybody asks for.
const TAIL: &str = "p99_s";
/// The metric of rate.
const RATE: &str = "events_per_s";

/// The answer: the deciding metric of each way, the best way where there are several, and what else everybody asks for.
/// Empty without comparisons.
pub(in super::super) fn sentences(
    comparisons: &[Comparison],
    differences: &[Difference],
) -> Vec<String> {
    let deciding: Vec<&Comparison> = comparisons.iter().filter(|c| c.decides).collect();
    let mut answer = Vec::new();
    match deciding[..] {
        [] => return answer,
        [only] => {
            answer.push(of_pair(only));
            answer.extend(beside(comparisons, only));
        }
        _ => answer.extend(of_sweep(comparisons, &deciding)),
    }
    let outside: Vec<Difference> = differences.iter().filter(|d| !d.intended).cloned().collect();
    let factors = factors(&outside);
    if factors.len() > 1 {
        let listed = factors[..factors.len().min(LISTED)].join(", ");
        let more = factors.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        answer.push(format!("{} things differ: {listed}{more}.", factors.len()));
    }
    answer
}

/// Whether a ratio reads better as times than in percent.
fn is_many(found: &Comparison) -> bool {
    let (low, high) = found.ratio.ci95.or(found.ratio.value.map(|v| (v, v))).unwrap_or((1.0, 1.0));
    high > MANY_TIMES || low < 1.0 / MANY_TIMES
}

/// A ratio as `+3.1`, in percent.
fn signed(ratio: f64) -> String {
    format!("{:+.1}", (ratio - 1.0) * 100.0)
}

/// The ratio: `+3.1 %`, or `2.4x`.
fn change(found: &Comparison) -> String {
    match found.ratio.value {
        Some(ratio) if is_many(found) => format!("{}x", figure(ratio)),
        Some(ratio) => format!("{} %", signed(ratio)),
        None => "unknown".to_owned(),
    }
}

/// A ratio; beyond ten thousand a number says nothing more.
fn bounded(ratio: f64) -> String {
    match ratio {
        r if r > FARTHEST => format!(">{}", figure(FARTHEST)),
        r if r < 1.0 / FARTHEST => "0".to_owned(),
        r => figure(r),
    }
}

/// `+2.7 .. +3.5 %`, or `2.1 .. 3.0x`.
fn interval(found: &Comparison) -> String {
    match found.ratio.ci95 {
        Some((low, high)) if is_many(found) => format!("{} .. {}x", bounded(low), bounded(high)),
        Some((low, high)) => format!("{} .. {} %", signed(low), signed(high)),
        None => "unknown".to_owned(),
    }
}

/// How much of the metric a way has, against the base: `31 % more events/s than b`.
fn amount(found: &Comparison, ratio: f64) -> String {
    let title = metric(&found.metric).map_or(found.metric.as_str(), |m| m.title);
    let (up, base) = (ratio >= 1.0, &found.base);
    let share = {
        let percent = (ratio - 1.0).abs() * 100.0;
        if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
    };
    let much = is_many(found);
    match (found.metric == RATE, much) {
        (true, true) => format!("does {} the events/s of {base}", times(ratio)),
        (true, false) => {
            format!("does {share} {} events/s than {base}", if up { "more" } else { "fewer" })
        }
        (false, true) => format!("has {} the {title} of {base}", times(ratio)),
        (false, false) => {
            format!("has a {title} {share} {} than {base}", if up { "higher" } else { "lower" })
        }
    }
}

/// `6 blocks`, or `6 runs each` where they are not paired.
fn runs(found: &Comparison) -> String {
    if found.paired {
        plural(found.ratio.runs.into(), "block", "blocks")
    } else {
        format!("{} each", plural(found.ratio.runs.into(), "run", "runs"))
    }
}

fn known(found: &Comparison) -> String {
    format!("95 % interval {}, {}", interval(found), runs(found))
}

/// The sentence that stands alone.
fn of_pair(found: &Comparison) -> String {
    let Some(ratio) = found.ratio.value else {
        return format!(
            "{} can't be compared with {}: {}.",
            found.way,
            found.base,
            found.notes.join("; ")
        );
    };
    if found.ratio.ci95.is_none() {
        return format!(
            "{} {}, in one run each: nothing is known about how much runs vary, so this is no \
             answer.",
            found.way,
            amount(found, ratio)
        );
    }
    let margin = format!("{} %", trimmed(found.margin * 100.0));
    match found.verdict {
        Verdict::Better | Verdict::Worse => {
            format!(
                "{} {}, {}: {}.",
                found.way,
                amount(found, ratio),
                known(found),
                found.verdict.words()
            )
        }
        Verdict::Same => format!(
            "{} and {} are the same within {margin} in {}: {}, {}: same.",
            found.way,
            found.base,
            title(found),
            change(found),
            known(found)
        ),
        Verdict::Unsure => unsure(found, ratio, &margin),
    }
}

fn title(found: &Comparison) -> &str {
    metric(&found.metric).map_or(found.metric.as_str(), |m| m.title)
}

fn trimmed(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn unsure(found: &Comparison, ratio: f64, margin: &str) -> String {
    let (low, high) = found.ratio.ci95.unwrap_or((0.0, f64::INFINITY));
    let detectable = match found.detectable.unwrap_or(0.0) {
        d if d < 0.5 => format!("{:.1} %", d * 100.0),
        d => format!("a factor of {}", bounded(d.exp())),
    };
    let runs = runs(found);
    let more = found
        .more_blocks
        .map(|n| {
            format!(
                "; about {n} more {} would decide",
                if found.paired { "blocks" } else { "runs of each" }
            )
        })
        .unwrap_or_default();
    if low <= 1.0 && high >= 1.0 {
        return format!(
            "No difference seen between {} and {} in {}: {}, 95 % interval {}; {runs} could have \
             seen {detectable}{more}: unsure.",
            found.way,
            found.base,
            title(found),
            change(found),
            interval(found)
        );
    }
    format!(
        "{} {}, {}: unsure whether by more than {margin}{more}.",
        found.way,
        amount(found, ratio),
        known(found)
    )
}

/// The tail of the response times, where rate decides, and rate where something else does.
fn beside(comparisons: &[Comparison], deciding: &Comparison) -> Option<String> {
    let name = if deciding.metric == RATE { TAIL } else { RATE };
    let found = comparisons.iter().find(|c| c.metric == name && c.way == deciding.way)?;
    found.ratio.ci95?;
    let label = if name == RATE { "Events/s" } else { "p99" };
    Some(format!("{label}: {} ({}), {}.", change(found), interval(found), found.verdict.words()))
}

/// Several ways against the base: each in short, the best, and whether it is told from the second.
fn of_sweep(comparisons: &[Comparison], deciding: &[&Comparison]) -> Vec<String> {
    let base = &deciding[0].base;
    let mut answer = Vec::new();
    let metric_name = &deciding[0].metric;
    let race = comparisons.iter().find(|c| !c.decides && &c.metric == metric_name);
    if let Some(race) = race {
        answer.push(best(race));
    }
    let mut words: Vec<String> = deciding.iter().take(LISTED).map(|c| in_short(c)).collect();
    if deciding.len() > LISTED {
        words.push(format!("{} more in the table", deciding.len() - LISTED));
    }
    answer.push(format!("Against {base}: {}.", words.join("; ")));
    answer
}

fn best(race: &Comparison) -> String {
    let (best, second) = (&race.way, &race.base);
    let blocks = runs(race);
    match race.verdict {
        Verdict::Better => format!(
            "{best} is best in {}: {} against the second, {second} (interval {}), {blocks}.",
            title(race),
            change(race),
            interval(race)
        ),
        Verdict::Same => format!(
            "{best} and {second} are best in {}, and the same within {} % ({}), {blocks}.",
            title(race),
            trimmed(race.margin * 100.0),
            interval(race)
        ),
        _ => format!(
            "{best} looks best in {}, but is not told from the second, {second}: {} (interval \
             {}), {blocks}.",
            title(race),
            change(race),
            interval(race)
        ),
    }
}

fn in_short(found: &Comparison) -> String {
    match (found.ratio.value, found.ratio.ci95) {
        (Some(_), Some(_)) => {
            format!(
                "{} {} ({}) {}",
                found.way,
                change(found),
                interval(found),
                found.verdict.words()
            )
        }
        (Some(_), None) => format!("{} {} in one run", found.way, change(found)),
        _ => format!("{} not measured", found.way),
    }
}
