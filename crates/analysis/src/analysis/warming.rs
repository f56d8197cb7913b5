//! Ways to warm against each other: first by what they left to be read, which repeats well, then by seconds as far as
//! these can be told apart on this machine.

use super::findings::{AnswerSentence, TrialFinding, VariantFinding};
use super::number_format::{
    format_bytes, format_percent, format_plural, format_ratio, format_time,
};
use super::sentences::answer_texts;

/// A single run can't tell seconds apart that differ by less than this factor.
const GAIN: f64 = 1.1;
/// Reads, or bytes, that differ by less than this share of those of the cold run are equal.
const EQUAL: f64 = 0.01;
/// A run that reads at most this share of what the cold one reads does work that another such run does, too.
const NOTHING_READ: f64 = 0.02;
/// Page reads saved below this share are few.
const SAVED: f64 = 0.1;

/// A variant that warms, and its first run.
#[derive(Clone, Copy)]
struct WarmedVariant<'a> {
    variant: &'a VariantFinding,
    first: &'a TrialFinding,
}

/// Pages read one by one in a load.
fn disk_reads(trial: &TrialFinding) -> Option<f64> {
    trial.disk_reads.map(|counted| counted.value)
}

/// What the variants come to; nothing if none of them warms. `noise` is a factor: how much slower than on a quiet machine
/// a load may have been.
pub(super) fn warming_sentences(
    cold: &TrialFinding,
    variants: &[VariantFinding],
    trials: &[TrialFinding],
    noise: f64,
) -> Vec<AnswerSentence> {
    let warmed = |variant| Some(WarmedVariant { variant, first: &trials[variant.first?] });
    let mut all: Vec<WarmedVariant<'_>> =
        variants.iter().filter(|variant| variant.warm_s.is_some()).filter_map(warmed).collect();
    all.retain(|one| one.variant.times_faster.value.is_some());
    let spread = seconds_range(cold, trials);
    let told_from = spread.map_or(1.0, |(fast, slow)| slow / fast).max(noise).max(GAIN);
    let Some(best) = best_variant(cold, &all, told_from) else { return Vec::new() };
    let mut answer = Vec::new();
    answer.extend(reads_sentence(cold, &best));
    all.retain(|one| one.variant.variant != best.variant.variant);
    all.sort_by(|a, b| {
        reads_and_bytes(a)
            .0
            .total_cmp(&reads_and_bytes(b).0)
            .then(reads_and_bytes(a).1.total_cmp(&reads_and_bytes(b).1))
    });
    if !all.is_empty() {
        let variants: Vec<String> = all.iter().map(variant_summary).collect();
        answer.push(answer_texts::WARM_OTHERS.to_sentence(&[("variants", &variants.join("; "))]));
    }
    answer.extend(time_sentences(cold, &best, &all, (spread, told_from)));
    answer
}

/// Whether variants are told apart by page reads, which what else runs on the machine does not change.
pub(super) fn are_reads_counted(variants: &[VariantFinding], trials: &[TrialFinding]) -> bool {
    let is_warmed = |variant: &&VariantFinding| {
        variant.warm_s.is_some() && variant.times_faster.value.is_some()
    };
    let first =
        |variant: &VariantFinding| variant.first.and_then(|first| disk_reads(&trials[first]));
    let mut warmed = variants.iter().filter(is_warmed).peekable();
    warmed.peek().is_some() && warmed.all(|variant| first(variant).is_some())
}

/// What counts first: pages read one by one, then bytes.
fn reads_and_bytes(one: &WarmedVariant<'_>) -> (f64, f64) {
    let bytes = one.first.disk_bytes.map_or(f64::MAX, |counted| counted.value);
    (disk_reads(one.first).unwrap_or(f64::MAX), bytes)
}

/// The variant that left least to be read; of equals the fastest, of equals in that the one that warms fastest.
fn best_variant<'a>(
    cold: &TrialFinding,
    all: &[WarmedVariant<'a>],
    told_from: f64,
) -> Option<WarmedVariant<'a>> {
    let mut left: Vec<WarmedVariant<'a>> = all.to_vec();
    let mut keep = |of: &dyn Fn(&WarmedVariant<'_>) -> f64, most: &dyn Fn(f64) -> f64| {
        let least = left.iter().map(of).fold(f64::INFINITY, f64::min);
        left.retain(|one| of(one) <= most(least));
    };
    let (cold_reads, cold_bytes) = (disk_reads(cold), cold.disk_bytes.map(|counted| counted.value));
    keep(&|one| reads_and_bytes(one).0, &|least| least + EQUAL * cold_reads.unwrap_or(0.0));
    keep(&|one| reads_and_bytes(one).1, &|least| least + EQUAL * cold_bytes.unwrap_or(0.0));
    keep(&|one| one.first.seconds, &|least| least * told_from);
    let cost = |one: &&WarmedVariant<'_>| one.variant.warm_s.unwrap_or(f64::MAX);
    left.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).copied()
}

/// Fastest and slowest of the runs that did the same work without reading: what seconds are worth on this machine.
/// First runs are compared with first ones and second ones with second ones, as the work itself warms more than pages.
fn seconds_range(cold: &TrialFinding, trials: &[TrialFinding]) -> Option<(f64, f64)> {
    let most = NOTHING_READ * disk_reads(cold)?;
    let work = |t: &TrialFinding| t.events + t.failed;
    let passes = trials.iter().map(|t| t.pass).max().unwrap_or(0);
    let of_pass = |pass: u32| {
        let same = |t: &&TrialFinding| {
            t.pass == pass && work(t) == work(cold) && disk_reads(t).is_some_and(|r| r <= most)
        };
        let seconds: Vec<f64> = trials.iter().filter(same).map(|t| t.seconds).collect();
        let fast = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let slow = seconds.iter().copied().fold(0.0, f64::max);
        (seconds.len() >= 2 && fast > 0.0).then_some((fast, slow))
    };
    (1..=passes).filter_map(of_pass).max_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)))
}

/// `8 254 pages (129 MiB)`.
fn reads_text(trial: &TrialFinding) -> Option<String> {
    let pages = disk_reads(trial)?.round() as u64;
    // The server reads other files too: without a page read the bytes are not of pages.
    let size = trial.disk_bytes.filter(|_| pages > 0);
    let size = size.map_or_else(String::new, |b| format!(" ({})", format_bytes(b.value)));
    Some(format_plural(pages, "page", "pages") + &size)
}

fn warm_time(variant: &VariantFinding) -> String {
    format_time(variant.warm_s.unwrap_or(f64::NAN))
}

/// What the best variant left to be read; nothing where the server does not count it.
fn reads_sentence(cold: &TrialFinding, best: &WarmedVariant<'_>) -> Option<AnswerSentence> {
    let saved = 1.0 - disk_reads(best.first)? / disk_reads(cold)?.max(1.0);
    let row =
        if saved >= SAVED { &answer_texts::WARM_READS } else { &answer_texts::WARM_READS_FEW };
    Some(row.to_sentence(&[
        ("share", &format_percent(saved)),
        ("work", &format_plural(cold.events + cold.failed, "event", "events")),
        ("cold", &reads_text(cold)?),
        ("reads", &reads_text(best.first)?),
        ("variant", &best.variant.variant),
        ("warm", &warm_time(best.variant)),
    ]))
}

fn variant_summary(one: &WarmedVariant<'_>) -> String {
    let left = reads_text(one.first).unwrap_or_else(|| format_time(one.first.seconds));
    format!("`{}` {left} after {} of warming", one.variant.variant, warm_time(one.variant))
}

/// What seconds say, as far as they can.
fn time_sentences(
    cold: &TrialFinding,
    best: &WarmedVariant<'_>,
    others: &[WarmedVariant<'_>],
    (spread, told_from): (Option<(f64, f64)>, f64),
) -> Vec<AnswerSentence> {
    let is_apart = |one: f64, other: f64| (one / other).max(other / one) >= told_from;
    let (cold_s, took) = (format_time(cold.seconds), format_time(best.first.seconds));
    let spread = spread.map_or_else(String::new, |(fast, slow)| {
        format!(
            "; the same work without page reads took {} to {}",
            format_time(fast),
            format_time(slow)
        )
    });
    if !is_apart(cold.seconds, best.first.seconds) {
        return vec![answer_texts::WARM_TIMES_BLIND.to_sentence(&[
            ("cold_s", &cold_s),
            ("took", &took),
            ("variant", &best.variant.variant),
            ("spread", &spread),
        ])];
    }
    let gain = best.variant.times_faster.value.unwrap_or(f64::NAN);
    let mut answer = vec![answer_texts::WARM_TIMES.to_sentence(&[
        ("cold_s", &cold_s),
        ("took", &took),
        ("variant", &best.variant.variant),
        ("times", &format_ratio(gain)),
        ("spread", &spread),
    ])];
    let near = |one: &&WarmedVariant<'_>| !is_apart(one.first.seconds, best.first.seconds);
    let near: Vec<String> =
        others.iter().filter(near).map(|one| format!("`{}`", one.variant.variant)).collect();
    if !near.is_empty() {
        answer.push(
            answer_texts::WARM_TIMES_CLOSE
                .to_sentence(&[("variant", &best.variant.variant), ("others", &near.join(", "))]),
        );
    }
    answer.extend(payback_sentence(cold, best, is_apart));
    answer
}

/// Whether warming and running is sooner done than running cold.
fn payback_sentence(
    cold: &TrialFinding,
    best: &WarmedVariant<'_>,
    is_apart: impl Fn(f64, f64) -> bool,
) -> Option<AnswerSentence> {
    let both = best.variant.until_first_done_s.filter(|both| is_apart(*both, cold.seconds))?;
    let row =
        if both < cold.seconds { &answer_texts::WARM_PAYS } else { &answer_texts::WARM_WAITS };
    Some(row.to_sentence(&[("both", &format_time(both)), ("cold_s", &format_time(cold.seconds))]))
}
