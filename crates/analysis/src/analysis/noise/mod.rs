//! How quiet the machine was: raw numbers of looks before and after each load, and of the load itself, against
//! bounds. Bounds are data: `rules`. To add one: a row there.

mod aa;
mod claim;
mod during;
mod rules;
mod server;

use crate::archive::{Counters, RunRecord};

use super::findings::{HealthLevel, NoiseItem};
use super::load_title::load_title;
use super::statistics::power::detectable_difference;
use super::statistics::robust::{mad, median};

pub(super) use aa::aa_sentences;
pub(super) use claim::{NoiseSlowdown, is_noisy, mean_slowdown, withdraw_noisy_verdicts};
pub(super) use during::foreign_share;
use rules::RULES;
pub use server::{ServerFacts, ServerItem, judge_server};

/// A sentinel that took this much longer or shorter after a load than before it voids a comparison.
const DRIFT: f64 = 0.03;
/// And it must be this many standard errors away from none.
const DRIFT_Z: f64 = 4.0;

/// The raw numbers of one look.
pub(super) struct NoiseReading<'a> {
    seen: &'a Counters,
    prefix: &'a str,
}

impl NoiseReading<'_> {
    fn get(&self, name: &str) -> Option<f64> {
        self.seen.get(&format!("{}{name}", self.prefix)).copied().filter(|v| v.is_finite())
    }

    /// All numbers whose names begin and end like this.
    fn values_matching(&self, begin: &str, end: &'static str) -> impl Iterator<Item = f64> {
        let begin = format!("{}{begin}", self.prefix);
        let from = self.seen.range(begin.clone()..).take_while(move |(n, _)| n.starts_with(&begin));
        from.filter(move |(name, _)| name.ends_with(end)).map(|(_, v)| *v)
    }

    /// Time per unit of a sentinel, nanoseconds, repeat by repeat.
    fn sentinel_repeats(&self, name: &str) -> Vec<f64> {
        (0..).map_while(|n| self.get(&format!("sentinel.{name}.{n}_ns"))).collect()
    }

    /// Coefficient of variation of a sentinel; of short repeats the part that no outlier moves.
    fn sentinel_spread(&self, name: &str) -> Option<f64> {
        let repeats = self.sentinel_repeats(name);
        if self.is_short() { robust_spread(&repeats) } else { coefficient_of_variation(&repeats) }
    }

    /// Whether this is a look beside a load, as opposed to a doctor's.
    fn is_short(&self) -> bool {
        self.get("quiet.seconds").is_none_or(|s| s < 1.0)
    }

    /// Percent of the quiet time that something waited.
    fn pressure_percent(&self, kind: &str) -> Option<f64> {
        let waited = self.get(&format!("quiet.pressure.{kind}.some_us"))?;
        let seconds = self.get("quiet.seconds").filter(|s| *s > 0.0)?;
        Some(100.0 * waited / 1e6 / seconds)
    }

    /// Whether gaps may be the server's own work.
    fn is_server_busy(&self) -> bool {
        let server = self.get("gap.server_cpu_s").unwrap_or(0.0) * 1e9;
        self.get("gap.lost_ns").is_some_and(|lost| server > 0.2 * lost)
    }
}

/// Everything about one look of `sweat doctor`, or of one beside a load.
pub fn judge_noise(seen: &Counters, when: &str) -> Vec<NoiseItem> {
    judge_reading(&NoiseReading { seen, prefix: "" }, when)
}

fn judge_reading(look: &NoiseReading<'_>, when: &str) -> Vec<NoiseItem> {
    let judged = |rule: &rules::NoiseRule| {
        let value = (rule.value)(look).filter(|v| v.is_finite())?;
        let mut level = level_beyond(rule.bounds, value);
        // What a fifth of a second saw is a hint, not a verdict: only lost time is counted exactly.
        if look.is_short() && !matches!(rule.id, "lost_time" | "steal") {
            level = level.min(HealthLevel::Warn);
        }
        let remedy = if level == HealthLevel::Ok { "" } else { rule.remedy };
        Some(noise_item(rule.id, rule.title, when, (value, rule.unit), level, remedy))
    };
    RULES.iter().filter_map(judged).collect()
}

/// The level of a value by the bounds above which it is note, warn, void.
fn level_beyond(bounds: [f64; 3], value: f64) -> HealthLevel {
    let levels = [HealthLevel::Note, HealthLevel::Warn, HealthLevel::Void];
    bounds.iter().rposition(|b| value > *b).map_or(HealthLevel::Ok, |place| levels[place])
}

fn noise_item(
    id: &'static str,
    title: &'static str,
    when: &str,
    (value, unit): (f64, &'static str),
    level: HealthLevel,
    remedy: &str,
) -> NoiseItem {
    NoiseItem { id, title, when: when.to_owned(), value, unit, level, remedy: remedy.to_owned() }
}

/// How quiet the machine was in a run: of each number the worst that any look saw.
pub(super) fn noise_of_run(run: &RunRecord) -> Vec<NoiseItem> {
    let mut all = Vec::new();
    for step in run.steps.iter().filter(|s| !s.noise.is_empty()) {
        let trial = run.trials.iter().find(|t| t.step == step.number);
        let name = trial.map_or_else(|| step.label.clone(), |t| load_title(run, t));
        let before = NoiseReading { seen: &step.noise, prefix: "before." };
        let after = NoiseReading { seen: &step.noise, prefix: "after." };
        all.extend(judge_reading(&before, &format!("before {name}")));
        all.extend(sentinel_drift(&before, &after, &name, is_experiment(run)));
        all.extend(kernel_faults(&before, &after, &name));
    }
    all.extend(during::noise_during_loads(run));
    worst_per_id(all)
}

/// Whether loads are compared with each other, so that a machine that changes meanwhile decides the answer.
fn is_experiment(run: &RunRecord) -> bool {
    let first = run.trials.first();
    run.trials.iter().any(|t| first.is_some_and(|f| t.variant != f.variant || t.block != f.block))
}

/// The worst level among items.
pub fn worst_level(items: &[NoiseItem]) -> HealthLevel {
    items.iter().map(|item| item.level).max().unwrap_or_default()
}

/// Of each id the worst item, the first among equals, in the order of their first appearance.
fn worst_per_id(all: Vec<NoiseItem>) -> Vec<NoiseItem> {
    let mut kept: Vec<NoiseItem> = Vec::new();
    for item in all {
        match kept.iter_mut().find(|k| k.id == item.id) {
            Some(k) if (item.level, item.value) > (k.level, k.value) => *k = item,
            Some(_) => {}
            None => kept.push(item),
        }
    }
    kept
}

/// The change of the CPU sentinel over a load as a share, and whether it is one.
fn sentinel_change(before: &NoiseReading<'_>, after: &NoiseReading<'_>) -> Option<(f64, bool)> {
    let (first, second) = (before.sentinel_repeats("cpu"), after.sentinel_repeats("cpu"));
    let (a, b) = (median(&first)?, median(&second)?);
    let error = (error_of_median(&first)?.powi(2) + error_of_median(&second)?.powi(2)).sqrt();
    let moved = b / a - 1.0;
    Some((moved, moved.abs() > DRIFT && moved.abs() > DRIFT_Z * error))
}

/// The CPU sentinel after a load by the one before.
fn sentinel_drift(
    before: &NoiseReading<'_>,
    after: &NoiseReading<'_>,
    name: &str,
    compared: bool,
) -> Option<NoiseItem> {
    let (moved, real) = sentinel_change(before, after)?;
    let level = match (real, compared) {
        (true, true) => HealthLevel::Void,
        (true, false) => HealthLevel::Note,
        (false, _) => HealthLevel::Ok,
    };
    let remedy = "the machine itself became slower or faster meanwhile: loads before and after \
                  are not comparable; find out why (heat, credits, neighbors) and run again";
    let remedy = if level > HealthLevel::Ok { remedy } else { "" };
    let title = "fixed CPU work after the load by before it";
    Some(noise_item(
        "cpu_drift",
        title,
        &format!("over {name}"),
        (100.0 * moved, "%"),
        level,
        remedy,
    ))
}

/// What the kernel counted that should never happen.
fn kernel_faults(
    before: &NoiseReading<'_>,
    after: &NoiseReading<'_>,
    name: &str,
) -> Vec<NoiseItem> {
    const FAULTS: [(&str, &str, &str, HealthLevel, &str); 4] = [
        (
            "fault.file_system_errors",
            "file_system_errors",
            "file system errors",
            HealthLevel::Void,
            "see dmesg",
        ),
        ("fault.memory_errors", "memory_errors", "memory errors", HealthLevel::Warn, "see dmesg"),
        (
            "fault.out_of_memory_kills",
            "oom_kills",
            "processes killed for memory",
            HealthLevel::Void,
            "memory ran out: a smaller pool; see dmesg",
        ),
        (
            "cpu.thermal_throttles",
            "thermal_throttles",
            "times a core was slowed for heat",
            HealthLevel::Warn,
            "fix the cooling, or use a lower clock",
        ),
    ];
    let rise = |&(counter, id, title, level, remedy): &(_, _, _, HealthLevel, &str)| {
        let rise = after.get(counter)? - before.get(counter)?;
        let level = if rise > 0.0 { level } else { HealthLevel::Ok };
        let remedy = if level > HealthLevel::Ok { remedy } else { "" };
        Some(noise_item(id, title, &format!("over {name}"), (rise, ""), level, remedy))
    };
    FAULTS.iter().filter_map(rise).collect()
}

/// The smallest difference that so many blocks of two variants show in 8 of 10 experiments, as a share, if loads vary as
/// the CPU sentinel does: they never vary less. The difference of two loads varies by the root of 2 more.
pub fn resolvable_difference(seen: &Counters, blocks: u32) -> Option<f64> {
    let look = NoiseReading { seen, prefix: "" };
    let variation =
        coefficient_of_variation(&look.sentinel_repeats("cpu")).filter(|_| blocks >= 2)?;
    let n = f64::from(blocks);
    Some(detectable_difference(variation * (2.0 / n).sqrt(), n - 1.0, 0.05))
}

/// Standard deviation by mean.
fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean > 0.0).then(|| (squares / (n - 1.0)).sqrt() / mean)
}

/// Median distance from the median, scaled to a standard deviation, by the median.
fn robust_spread(values: &[f64]) -> Option<f64> {
    let middle = median(values).filter(|m| *m > 0.0 && values.len() >= 3)?;
    mad(values).map(|distance| distance / middle)
}

/// Standard error of the median of a sentinel, relative to it; that of a normal distribution is 1.25 times that of
/// the mean.
fn error_of_median(values: &[f64]) -> Option<f64> {
    let spread = robust_spread(values)?.max(coefficient_of_variation(values)? / 2.0);
    Some(1.2533 * spread / (values.len() as f64).sqrt())
}

#[cfg(test)]
mod tests;
