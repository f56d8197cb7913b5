//! What comparisons come to, in sentences.

use super::super::findings::{
    AnswerSentence, ComparisonVerdict, MetricComparison, SetupDifference,
};
use super::super::number_format::{format_number, format_plural, format_ratio};
use super::super::sentences::answer_texts;
use super::differences::differing_factors;
use super::metric::find_metric;

/// Beyond this ratio a percentage reads badly.
const MANY_TIMES: f64 = 2.0;
/// Beyond this ratio no digit matters.
const FARTHEST: f64 = 10_000.0;
/// Variants that a sentence lists.
const LISTED: usize = 6;
/// The metric beside rate that everybody asks for.
const TAIL: &str = "p99_s";
/// The metric of rate.
const RATE: &str = "events_per_s";

/// The answer: the deciding metric of each variant, the best variant where there are several, and what else everybody asks for.
/// Empty without comparisons.
pub(in super::super) fn comparison_sentences(
    comparisons: &[MetricComparison],
    differences: &[SetupDifference],
) -> Vec<AnswerSentence> {
    let deciding: Vec<&MetricComparison> = comparisons.iter().filter(|c| c.decides).collect();
    let mut answer = Vec::new();
    match deciding[..] {
        [] => return answer,
        [only] => {
            answer.push(pair_sentence(only));
            answer.extend(beyond_noise_sentence(only));
            answer.extend(second_metric_sentence(comparisons, only));
        }
        _ => answer.extend(variants_sentences(comparisons, &deciding)),
    }
    let outside: Vec<SetupDifference> =
        differences.iter().filter(|d| !d.intended).cloned().collect();
    let factors = differing_factors(&outside);
    if factors.len() > 1 {
        let listed = factors[..factors.len().min(LISTED)].join(", ");
        let more = factors.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        answer.push(answer_texts::DIFFER.to_sentence(&[
            ("things", &format_plural(factors.len() as u64, "thing", "things")),
            ("names", &listed),
            ("more", &more),
        ]));
    }
    answer
}

/// Whether a ratio reads better as times than in percent.
fn is_multiple(found: &MetricComparison) -> bool {
    let (low, high) = found.ratio.ci95.or(found.ratio.value.map(|v| (v, v))).unwrap_or((1.0, 1.0));
    high > MANY_TIMES || low < 1.0 / MANY_TIMES
}

/// A ratio as `+3.1`, in percent.
fn signed_percent(ratio: f64) -> String {
    format!("{:+.1}", (ratio - 1.0) * 100.0)
}

/// The ratio: `+3.1 %`, or `2.4x`.
fn ratio_text(found: &MetricComparison) -> String {
    match found.ratio.value {
        Some(ratio) if is_multiple(found) => format!("{}x", format_number(ratio)),
        Some(ratio) => format!("{} %", signed_percent(ratio)),
        None => "unknown".to_owned(),
    }
}

/// A ratio; beyond ten thousand a number says nothing more.
fn bounded_ratio_text(ratio: f64) -> String {
    match ratio {
        r if r > FARTHEST => format!(">{}", format_number(FARTHEST)),
        r if r < 1.0 / FARTHEST => "0".to_owned(),
        r => format_number(r),
    }
}

/// `+2.7 .. +3.5 %`, or `2.1 .. 3.0x`.
fn interval_text(found: &MetricComparison) -> String {
    match found.ratio.ci95 {
        Some((low, high)) if is_multiple(found) => {
            format!("{} .. {}x", bounded_ratio_text(low), bounded_ratio_text(high))
        }
        Some((low, high)) => format!("{} .. {} %", signed_percent(low), signed_percent(high)),
        None => "unknown".to_owned(),
    }
}

/// How much of the metric a variant has, against the base: `31 % more events/s than b`.
fn amount_text(found: &MetricComparison, ratio: f64) -> String {
    let title = find_metric(&found.metric).map_or(found.metric.as_str(), |m| m.title);
    let (up, base) = (ratio >= 1.0, &found.base);
    let share = {
        let percent = (ratio - 1.0).abs() * 100.0;
        if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
    };
    let much = is_multiple(found);
    match (found.metric == RATE, much) {
        (true, true) => format!("does {} the events/s of {base}", format_ratio(ratio)),
        (true, false) => {
            format!("does {share} {} events/s than {base}", if up { "more" } else { "fewer" })
        }
        (false, true) => format!("has {} the {title} of {base}", format_ratio(ratio)),
        (false, false) => {
            format!("has a {title} {share} {} than {base}", if up { "higher" } else { "lower" })
        }
    }
}

/// `6 blocks`; where they are not paired `6 runs each`, or `4 runs against 6` with those of the variant first.
fn run_count_text(found: &MetricComparison) -> String {
    if let Some((base, variant)) = found.uneven_runs {
        format!("{} against {base}", format_plural(variant.into(), "run", "runs"))
    } else if found.paired {
        format_plural(found.ratio.runs.into(), "block", "blocks")
    } else {
        format!("{} each", format_plural(found.ratio.runs.into(), "run", "runs"))
    }
}

fn interval_and_runs_text(found: &MetricComparison) -> String {
    format!("95 % interval {}, {}", interval_text(found), run_count_text(found))
}

/// The sentence that stands alone.
fn pair_sentence(found: &MetricComparison) -> AnswerSentence {
    let (variant, base) = (&found.variant, &found.base);
    let Some(ratio) = found.ratio.value else {
        let why = found.notes.join("; ");
        return answer_texts::PAIR_NONE.to_sentence(&[
            ("variant", variant),
            ("base", base),
            ("why", &why),
        ]);
    };
    let (low, high) = interval_ends_text(found);
    let row = match (found.verdict, found.ratio.ci95) {
        (_, None) => &answer_texts::PAIR_ONE_RUN,
        _ if found.within_noise => &answer_texts::PAIR_NOISE,
        (ComparisonVerdict::Better | ComparisonVerdict::Worse, _) => &answer_texts::PAIR_VERDICT,
        (ComparisonVerdict::Same, _) => &answer_texts::PAIR_SAME,
        (ComparisonVerdict::Unsure, Some((low, high))) if low <= 1.0 && high >= 1.0 => {
            &answer_texts::PAIR_UNSURE
        }
        (ComparisonVerdict::Unsure, _) => &answer_texts::PAIR_UNSURE_MARGIN,
    };
    row.to_sentence(&[
        ("variant", variant),
        ("base", base),
        ("amount", &amount_text(found, ratio)),
        ("change", &ratio_text(found)),
        ("title", &metric_title(found)),
        ("known", &interval_and_runs_text(found)),
        ("runs", &run_count_text(found)),
        ("low", &low),
        ("high", &high),
        ("margin", &format!("{} %", trimmed_number(found.margin * 100.0))),
        ("verdict", &found.verdict.as_str()),
        ("seen", &detectable_text(found)),
        ("more", &more_blocks_text(found)),
        ("noise", &noise_text(found)),
    ])
}

/// Both ends of the interval: `-5.0 %` and `+12.0 %`, or `0.04x` and `2580x`.
fn interval_ends_text(found: &MetricComparison) -> (String, String) {
    let end = |ratio: f64| match is_multiple(found) {
        true if ratio > FARTHEST => format!("more than {}x", format_number(FARTHEST)),
        true if ratio < 1.0 / FARTHEST => "0x".to_owned(),
        true => format!("{}x", format_number(ratio)),
        false => format!("{} %", signed_percent(ratio)),
    };
    let (low, high) = found.ratio.ci95.unwrap_or((0.0, f64::INFINITY));
    (end(low), end(high))
}

/// What the noise of the machine can make: `1.9x`.
fn noise_text(found: &MetricComparison) -> String {
    match found.noise {
        Some(factor) if factor.is_finite() => format_ratio(factor),
        Some(_) => "any size".to_owned(),
        None => "1.00x".to_owned(),
    }
}

/// Why a claim stands on a machine that was not quiet.
fn beyond_noise_sentence(found: &MetricComparison) -> Option<AnswerSentence> {
    let claims = matches!(found.verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse);
    (claims && found.noise.is_some_and(f64::is_finite))
        .then(|| answer_texts::PAIR_BEYOND_NOISE.to_sentence(&[("noise", &noise_text(found))]))
}

/// What these runs would have shown.
fn detectable_text(found: &MetricComparison) -> String {
    let share = match found.detectable {
        None => return String::new(),
        Some(d) if d < 0.5 => format!("{:.1} %", d * 100.0),
        Some(d) => format!("a factor of {}", bounded_ratio_text(d.exp())),
    };
    format!(" {} can show {share}.", run_count_text(found))
}

/// How many runs more may decide.
fn more_blocks_text(found: &MetricComparison) -> String {
    let (one, many) = match found.paired {
        true => ("more block", "more blocks"),
        false => ("more run of each", "more runs of each"),
    };
    found.more_blocks.map_or_else(String::new, |n| {
        format!(" {} may decide.", format_plural(n.into(), one, many))
    })
}

fn metric_title(found: &MetricComparison) -> &str {
    find_metric(&found.metric).map_or(found.metric.as_str(), |m| m.title)
}

fn trimmed_number(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The tail of the response times, where rate decides, and rate where something else does.
fn second_metric_sentence(
    comparisons: &[MetricComparison],
    deciding: &MetricComparison,
) -> Option<AnswerSentence> {
    let name = if deciding.metric == RATE { TAIL } else { RATE };
    let found = comparisons.iter().find(|c| c.metric == name && c.variant == deciding.variant)?;
    found.ratio.ci95?;
    let label = if name == RATE { "Events/s" } else { "p99" };
    Some(answer_texts::PAIR_BESIDE.to_sentence(&[
        ("label", &label),
        ("change", &ratio_text(found)),
        ("interval", &interval_text(found)),
        ("verdict", &found.verdict.as_str()),
    ]))
}

/// Several variants against the base: each in short, the best, and whether it is told from the second.
fn variants_sentences(
    comparisons: &[MetricComparison],
    deciding: &[&MetricComparison],
) -> Vec<AnswerSentence> {
    let base = &deciding[0].base;
    let mut answer = Vec::new();
    let metric_name = &deciding[0].metric;
    let race = comparisons.iter().find(|c| !c.decides && &c.metric == metric_name);
    if let Some(race) = race {
        answer.push(best_variant_sentence(race));
    }
    let mut words: Vec<String> = deciding.iter().take(LISTED).map(|c| variant_summary(c)).collect();
    if deciding.len() > LISTED {
        words.push(format!("{} more in the table", deciding.len() - LISTED));
    }
    answer.push(
        answer_texts::AGAINST.to_sentence(&[("base", base), ("variants", &words.join("; "))]),
    );
    answer
}

fn best_variant_sentence(race: &MetricComparison) -> AnswerSentence {
    let row = match race.verdict {
        ComparisonVerdict::Better => &answer_texts::RACE_BEST,
        ComparisonVerdict::Same => &answer_texts::RACE_SAME,
        ComparisonVerdict::Worse | ComparisonVerdict::Unsure => &answer_texts::RACE_UNSURE,
    };
    row.to_sentence(&[
        ("best", &race.variant),
        ("second", &race.base),
        ("title", &metric_title(race)),
        ("change", &ratio_text(race)),
        ("interval", &interval_text(race)),
        ("margin", &format!("{} %", trimmed_number(race.margin * 100.0))),
        ("blocks", &run_count_text(race)),
    ])
}

fn variant_summary(found: &MetricComparison) -> String {
    match (found.ratio.value, found.ratio.ci95) {
        (Some(_), Some(_)) => {
            format!(
                "{} {} ({}) {}",
                found.variant,
                ratio_text(found),
                interval_text(found),
                found.verdict.as_str()
            )
        }
        (Some(_), None) => format!("{} {} in one run", found.variant, ratio_text(found)),
        _ => format!("{} not measured", found.variant),
    }
}
