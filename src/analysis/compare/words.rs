//! What comparisons come to, in sentences.

use super::super::figure::{figure, plural, times};
use super::super::findings::{Comparison, Difference, Verdict};
use super::super::sentences::{Said, answers};
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
) -> Vec<Said> {
    let deciding: Vec<&Comparison> = comparisons.iter().filter(|c| c.decides).collect();
    let mut answer = Vec::new();
    match deciding[..] {
        [] => return answer,
        [only] => {
            answer.push(of_pair(only));
            answer.extend(beyond_noise(only));
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
        answer.push(answers::DIFFER.say(&[
            ("things", &plural(factors.len() as u64, "thing", "things")),
            ("names", &listed),
            ("more", &more),
        ]));
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
fn of_pair(found: &Comparison) -> Said {
    let (way, base) = (&found.way, &found.base);
    let Some(ratio) = found.ratio.value else {
        let why = found.notes.join("; ");
        return answers::PAIR_NONE.say(&[("way", way), ("base", base), ("why", &why)]);
    };
    let (low, high) = ends(found);
    let row = match (found.verdict, found.ratio.ci95) {
        (_, None) => &answers::PAIR_ONE_RUN,
        _ if found.within_noise => &answers::PAIR_NOISE,
        (Verdict::Better | Verdict::Worse, _) => &answers::PAIR_VERDICT,
        (Verdict::Same, _) => &answers::PAIR_SAME,
        (Verdict::Unsure, Some((low, high))) if low <= 1.0 && high >= 1.0 => &answers::PAIR_UNSURE,
        (Verdict::Unsure, _) => &answers::PAIR_UNSURE_MARGIN,
    };
    row.say(&[
        ("way", way),
        ("base", base),
        ("amount", &amount(found, ratio)),
        ("change", &change(found)),
        ("title", &title(found)),
        ("known", &known(found)),
        ("runs", &runs(found)),
        ("low", &low),
        ("high", &high),
        ("margin", &format!("{} %", trimmed(found.margin * 100.0))),
        ("verdict", &found.verdict.words()),
        ("seen", &seen(found)),
        ("more", &more(found)),
        ("noise", &noise(found)),
    ])
}

/// Both ends of the interval: `-5.0 %` and `+12.0 %`, or `0.04x` and `2580x`.
fn ends(found: &Comparison) -> (String, String) {
    let end = |ratio: f64| match is_many(found) {
        true if ratio > FARTHEST => format!("more than {}x", figure(FARTHEST)),
        true if ratio < 1.0 / FARTHEST => "0x".to_owned(),
        true => format!("{}x", figure(ratio)),
        false => format!("{} %", signed(ratio)),
    };
    let (low, high) = found.ratio.ci95.unwrap_or((0.0, f64::INFINITY));
    (end(low), end(high))
}

/// What the noise of the machine can make: `1.9x`.
fn noise(found: &Comparison) -> String {
    match found.noise {
        Some(factor) if factor.is_finite() => times(factor),
        Some(_) => "any size".to_owned(),
        None => "1.00x".to_owned(),
    }
}

/// Why a claim stands on a machine that was not quiet.
fn beyond_noise(found: &Comparison) -> Option<Said> {
    let claims = matches!(found.verdict, Verdict::Better | Verdict::Worse);
    (claims && found.noise.is_some_and(f64::is_finite))
        .then(|| answers::PAIR_BEYOND_NOISE.say(&[("noise", &noise(found))]))
}

/// What these runs would have shown.
fn seen(found: &Comparison) -> String {
    let share = match found.detectable {
        None => return String::new(),
        Some(d) if d < 0.5 => format!("{:.1} %", d * 100.0),
        Some(d) => format!("a factor of {}", bounded(d.exp())),
    };
    format!(" {} can show {share}.", runs(found))
}

/// How many runs more may decide.
fn more(found: &Comparison) -> String {
    let (one, many) = match found.paired {
        true => ("more block", "more blocks"),
        false => ("more run of each", "more runs of each"),
    };
    found
        .more_blocks
        .map_or_else(String::new, |n| format!(" {} may decide.", plural(n.into(), one, many)))
}

fn title(found: &Comparison) -> &str {
    metric(&found.metric).map_or(found.metric.as_str(), |m| m.title)
}

fn trimmed(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The tail of the response times, where rate decides, and rate where something else does.
fn beside(comparisons: &[Comparison], deciding: &Comparison) -> Option<Said> {
    let name = if deciding.metric == RATE { TAIL } else { RATE };
    let found = comparisons.iter().find(|c| c.metric == name && c.way == deciding.way)?;
    found.ratio.ci95?;
    let label = if name == RATE { "Events/s" } else { "p99" };
    Some(answers::PAIR_BESIDE.say(&[
        ("label", &label),
        ("change", &change(found)),
        ("interval", &interval(found)),
        ("verdict", &found.verdict.words()),
    ]))
}

/// Several ways against the base: each in short, the best, and whether it is told from the second.
fn of_sweep(comparisons: &[Comparison], deciding: &[&Comparison]) -> Vec<Said> {
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
    answer.push(answers::AGAINST.say(&[("base", base), ("ways", &words.join("; "))]));
    answer
}

fn best(race: &Comparison) -> Said {
    let row = match race.verdict {
        Verdict::Better => &answers::RACE_BEST,
        Verdict::Same => &answers::RACE_SAME,
        Verdict::Worse | Verdict::Unsure => &answers::RACE_UNSURE,
    };
    row.say(&[
        ("best", &race.way),
        ("second", &race.base),
        ("title", &title(race)),
        ("change", &change(race)),
        ("interval", &interval(race)),
        ("margin", &format!("{} %", trimmed(race.margin * 100.0))),
        ("blocks", &runs(race)),
    ])
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
