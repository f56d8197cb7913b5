//! Caveats about what the server answered: errors, nothing, from a cache, from memory that was still filling.

use super::super::counters::{counter_rise, declared_facts, server_variable, step_of_trial};
use super::super::findings::{PoolTemperature, TrialFinding};
use super::super::number_format::{
    format_bytes, format_number, format_percent, format_plural, format_time,
};
use super::super::sentences::caveat_texts;
use super::{Caveat, CaveatInput};
use crate::archive::Trial;

/// Cached answers above this share of the reads make a load one of the cache.
const CACHED: f64 = 0.01;

/// QUERY-CACHE: MariaDB's query cache is on; whether it answered or not, every write takes its lock.
pub(super) fn query_cache(input: &CaveatInput<'_>) -> Option<Caveat> {
    let kind = server_variable(input.run, "query_cache_type")?;
    let size = server_variable(input.run, "query_cache_size")?.parse::<f64>().ok()?;
    let on = !matches!(kind.to_uppercase().as_str(), "OFF" | "0") && size > 0.0;
    on.then(|| {
        caveat_texts::QUERY_CACHE.to_caveat(&[("kind", &kind), ("size", &format_bytes(size))])
    })
}

/// SAME-QUERY: the same statements again and again, or answers from the query cache.
pub(super) fn same_query(input: &CaveatInput<'_>) -> Option<Caveat> {
    cached_answers(input).or_else(|| repeated_statements(input))
}

fn cached_answers(input: &CaveatInput<'_>) -> Option<Caveat> {
    let shares = input.run.trials.iter().filter_map(|trial| {
        let step = step_of_trial(input.run, trial)?;
        let hits = counter_rise(&step.before, &step.after, "Qcache_hits")?;
        let reads = trial.tally.count("reads");
        (reads > 0).then(|| (hits / reads as f64, trial))
    });
    let (share, trial) = shares.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|s| s.0 > CACHED)?;
    Some(
        caveat_texts::SAME_QUERY_CACHED
            .to_caveat(&[("share", &format_percent(share)), ("load", &input.title(trial))]),
    )
}

fn repeated_statements(input: &CaveatInput<'_>) -> Option<Caveat> {
    let repeats = |trial: &Trial| declared_facts(trial).repeats;
    let (trial, repeats) = input.run.trials.iter().find_map(|t| Some((t, repeats(t)?)))?;
    let is_single = repeats.shared || trial.workers <= 1;
    let times = match repeats.passes {
        None => "again and again".to_owned(),
        Some(1) if is_single => return None,
        Some(1) => format!("{} times, once by each worker", trial.workers),
        Some(passes) if is_single => format!("{passes} times"),
        Some(passes) => format!("{passes} times by each of {} workers", trial.workers),
    };
    Some(caveat_texts::SAME_QUERY_REPEATED.to_caveat(&[("times", &times)]))
}

/// EMPTY: reads that found nothing.
pub(super) fn empty_reads(input: &CaveatInput<'_>) -> Option<Caveat> {
    let shares = input.run.trials.iter().filter_map(|trial| {
        let (reads, rows) = (trial.tally.count("reads"), trial.tally.count("rows"));
        let missing = match declared_facts(trial).one_row_per_read {
            true => 1.0 - rows as f64 / reads.max(1) as f64,
            false => f64::from(u8::from(rows == 0)),
        };
        (reads > 0 && missing > 0.01).then_some((missing, trial))
    });
    let (missing, trial) = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(caveat_texts::EMPTY.to_caveat(&[
        ("share", &format_percent(missing)),
        ("reads", &format_plural(trial.tally.count("reads"), "read", "reads")),
        ("load", &input.title(trial)),
    ]))
}

/// Errors that come this much sooner than answers are no work.
const FAST: f64 = 0.2;
/// As many errors, and this share of a class, before it matters.
const FAST_ERRORS: u64 = 10;
const FAST_SHARE: f64 = 0.01;

/// SUDDENLY-FAST: errors that take far less time than answers: a broken load looks like a fast server.
pub(super) fn suddenly_fast(input: &CaveatInput<'_>) -> Option<Caveat> {
    let classes = input.trials.iter().flat_map(|t| t.classes.iter().map(move |c| (t, c)));
    let fast = classes.filter_map(|(trial, class)| {
        let failed = class.failed.events;
        let share = failed as f64 / (failed + class.response.events).max(1) as f64;
        let (error, good) = (class.failed.p50_s?, class.response.p50_s?);
        let counts = failed >= FAST_ERRORS && share > FAST_SHARE;
        (counts && error < FAST * good).then_some((share, trial, class, error, good))
    });
    let (share, trial, class, error, good) = fast.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(caveat_texts::SUDDENLY_FAST.to_caveat(&[
        ("share", &format_percent(share)),
        ("class", &class.name),
        ("load", &trial.title),
        ("error", &format_time(error)),
        ("good", &format_time(good)),
    ]))
}

/// The pool was filling if the first part of a load read so many times as much as the last.
const FILLING: f64 = 3.0;
/// And that much at least, pages per second.
const FILLING_PAGES: f64 = 50.0;

/// COLD: a load whose pool was still filling, although nobody asked for a cold one.
pub(super) fn cold_pool(input: &CaveatInput<'_>) -> Option<Caveat> {
    let seen = |trial: &TrialFinding| {
        let begun = matches!(trial.temperature, PoolTemperature::AsFound | PoolTemperature::Warm);
        let (first, last) = begun.then(|| pool_misses_per_s(input, trial))??;
        (first > FILLING_PAGES && first > FILLING * last).then_some((first, last))
    };
    let (trial, (first, last)) = input.trials.iter().find_map(|t| Some((t, seen(t)?)))?;
    Some(caveat_texts::COLD.to_caveat(&[
        ("load", &trial.title),
        ("first", &format_number(first)),
        ("last", &format_number(last)),
    ]))
}

/// Misses per second in the first and the last quarter of a load, by its samples.
fn pool_misses_per_s(input: &CaveatInput<'_>, trial: &TrialFinding) -> Option<(f64, f64)> {
    let record = input.run.trials.iter().find(|t| t.id == trial.id)?;
    let points: Vec<(f64, f64)> = input
        .run
        .samples
        .iter()
        .filter(|s| (record.began_ns..=record.ended_ns).contains(&s.began_ns))
        .filter_map(|s| Some((s.began_ns as f64 / 1e9, *s.numbers.get(READS)?)))
        .collect();
    let quarter = points.len() / 4;
    let rate = |from: (f64, f64), to: (f64, f64)| {
        (to.0 > from.0 && to.1 >= from.1).then(|| (to.1 - from.1) / (to.0 - from.0))
    };
    let last = points.len().checked_sub(1).filter(|_| quarter >= 1)?;
    Some((rate(points[0], points[quarter])?, rate(points[last - quarter], points[last])?))
}

/// Pages that a statement had to wait for.
const READS: &str = "Innodb_buffer_pool_reads";

/// Bytes read by InnoDB in a load below which it is not asked where they came from.
const ENOUGH: f64 = 64.0 * 1024.0 * 1024.0;
/// Share of them that must have come from a device.
const FROM_DEVICE: f64 = 0.5;
/// What a rotating disk can do, accesses per second, with its own cache.
const ROTATING: f64 = 1000.0;

/// PAGE-CACHE: reads that no disk served.
pub(super) fn page_cache(input: &CaveatInput<'_>) -> Option<Caveat> {
    input.run.trials.iter().find_map(|trial| {
        let step = step_of_trial(input.run, trial)?;
        let over = |name: &str| counter_rise(&step.before, &step.after, name);
        let asked = over("Innodb_data_read")?;
        let device = over("process.read_bytes")?;
        if asked > ENOUGH && device < FROM_DEVICE * asked {
            return Some(caveat_texts::PAGE_CACHE_SERVED.to_caveat(&[
                ("load", &input.title(trial)),
                ("asked", &format_bytes(asked)),
                ("device", &format_bytes(device)),
            ]));
        }
        let seconds = trial.ended_ns.saturating_sub(trial.began_ns) as f64 / 1e9;
        let accesses = over(READS)? / seconds.max(f64::MIN_POSITIVE);
        let rotating = step.noise.get("before.disk.rotational") == Some(&1.0);
        (rotating && accesses > ROTATING).then(|| {
            let rate = format_number(accesses);
            caveat_texts::PAGE_CACHE_ROTATING
                .to_caveat(&[("load", &input.title(trial)), ("rate", &rate)])
        })
    })
}

/// ERRLOG: the server wrote errors or warnings to its log while it was measured.
pub(super) fn error_log(input: &CaveatInput<'_>) -> Option<Caveat> {
    let lines = input.run.meta.facts.get("error_log")?.as_array()?;
    let lines: Vec<&str> = lines.iter().filter_map(|line| line.as_str()).collect();
    let grave = lines.iter().filter(|line| line.contains("[ERROR]")).count();
    let shown = lines.iter().find(|line| line.contains("[ERROR]")).or(lines.first())?;
    let row = if grave > 0 { caveat_texts::ERRLOG_ERRORS } else { caveat_texts::ERRLOG_WARNINGS };
    Some(row.to_caveat(&[
        ("errors", &format_plural(grave as u64, "new error", "new errors")),
        ("warnings", &format_plural((lines.len() - grave) as u64, "new warning", "new warnings")),
        ("first", shown),
    ]))
}
