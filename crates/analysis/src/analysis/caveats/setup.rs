//! Caveats about what was asked: which keys, how many users, in which order, with which settings.

use crate::archive::Trial;
use crate::base::distribution::Distribution;
use crate::base::random::Rng;
use crate::recorder::KeyChoice;

use super::super::compare::differences::variant_differences;
use super::super::compare::variant_names;
use super::super::counters::{
    counter_rise, declared_facts, numeric_fact, server_variable, step_of_trial,
};
use super::super::findings::TrialFinding;
use super::super::number_format::{
    format_bytes, format_number, format_percent, format_plural, format_time,
};
use super::super::sentences::caveat_texts;
use super::super::settings::{is_set_by_user, moves_by_itself};
use super::{Caveat, CaveatInput, load};

/// Keys drawn to see how uneven a distribution is.
const DRAWS: usize = 50_000;
/// Parts of the keys that are told apart.
const BUCKETS: u64 = 1000;
/// The hottest part of the keys that is looked at.
const HOTTEST: f64 = 0.01;

/// DATA-DIST: keys that all come equally often, as no application has them.
pub(super) fn key_distribution(input: &CaveatInput<'_>) -> Option<Caveat> {
    let trial = input.run.trials.first()?;
    let share = hottest_share(trial)?;
    let even = share < 2.0 * HOTTEST;
    let row = if even { caveat_texts::DATA_DIST_EVEN } else { caveat_texts::DATA_DIST };
    Some(row.to_caveat(&[("share", &format_percent(share))]))
}

/// Share of the draws that the hottest 1 % of the keys take, by drawing from the load's own distribution.
fn hottest_share(trial: &Trial) -> Option<f64> {
    let (name, shape, rows) = match declared_facts(trial).keys? {
        KeyChoice::Even => return Some(HOTTEST),
        KeyChoice::Drawn { distribution, shape, rows } => (distribution, shape, rows.max(1)),
    };
    let distribution = Distribution::new(&name, &shape, 0, rows - 1).ok()?;
    // A bucket is a key where there are few, else a run of neighbours.
    let buckets = rows.min(BUCKETS);
    let mut rng = Rng::new(1, 0, 0);
    let mut draw = || -> Option<Vec<u32>> {
        let mut counts = vec![0; usize::try_from(buckets).ok()?];
        for _ in 0..DRAWS {
            let key = u128::from(distribution.next_key(&mut rng));
            counts[usize::try_from(key * u128::from(buckets) / u128::from(rows)).ok()?] += 1;
        }
        Some(counts)
    };
    // Which are hot is learned from one half and counted in the other: in a single one chance would look hot.
    let (learned, counted) = (draw()?, draw()?);
    let mut order: Vec<usize> = (0..learned.len()).collect();
    order.sort_unstable_by_key(|place| std::cmp::Reverse(learned[*place]));
    let hot = ((buckets as f64 * HOTTEST).round() as usize).max(1);
    let taken: u32 = order.iter().take(hot).map(|place| counted[*place]).sum();
    Some(f64::from(taken) / DRAWS as f64)
}

/// A load that touches less of its keys than this has a small working set.
const TOUCHED: f64 = 0.5;

/// PARAM-DIST: a load too small to have asked for more than a part of the keys.
pub(super) fn touched_rows(input: &CaveatInput<'_>) -> Option<Caveat> {
    let statements = |trial: &Trial| trial.tally.count("reads") + trial.tally.count("writes");
    let longest = input.run.trials.iter().max_by_key(|trial| statements(trial))?;
    let declared = || declared_facts(longest).rows.map(|rows| rows as f64);
    let rows = numeric_fact(input.run, "rows").or_else(declared);
    let rows = rows.filter(|rows| *rows > 0.0)?;
    let drawn = statements(longest) as f64;
    // Of n draws from N equal keys 1 - e^(-n/N) of the keys are there; uneven ones touch fewer.
    let touched = 1.0 - (-drawn / rows).exp();
    (drawn > 0.0 && touched < TOUCHED).then(|| {
        caveat_texts::PARAM_DIST.to_caveat(&[
            ("statements", &format_plural(drawn as u64, "statement", "statements")),
            ("rows", &format_plural(rows as u64, "row", "rows")),
            ("share", &format_percent(touched)),
        ])
    })
}

/// ONE-USER: one session, one event at a time.
pub(super) fn one_user(input: &CaveatInput<'_>) -> Option<Caveat> {
    let level = load::one_level(input);
    if level.is_some() {
        return level;
    }
    input.run.meta.server.as_ref()?;
    let one = |t: &TrialFinding| t.workers == 1 && t.closed_think_s.is_some();
    let all = !input.trials.is_empty() && input.trials.iter().all(one) && input.variants.is_empty();
    all.then(|| caveat_texts::ONE_USER.to_caveat(&[]))
}

/// A closed loop whose numbers don't add up to its workers by more than this is not what was asked.
const THINK_SHARE: f64 = 0.1;

/// THINK: in a closed loop N = X (R + Z): workers are rate by response and think time.
pub(super) fn think_time(input: &CaveatInput<'_>) -> Option<Caveat> {
    let (trial, think, found) = input
        .trials
        .iter()
        .filter_map(|trial| {
            let think = trial.closed_think_s?;
            let (rate, mean) = (trial.events_per_s.value?, trial.response.mean_s?);
            // Every worker's last think time is cut by the load's end.
            let long = trial.seconds > 10.0 * (think + mean);
            (long && trial.failed == 0).then_some((trial, think, rate * (mean + think)))
        })
        .max_by(|a, b| worker_mismatch(a.0, a.2).total_cmp(&worker_mismatch(b.0, b.2)))?;
    let missing = worker_mismatch(trial, found);
    let wrong = missing > THINK_SHARE;
    if think == 0.0 && !wrong {
        return None;
    }
    let rate = trial.events_per_s.value.unwrap_or_default();
    let row = if wrong { caveat_texts::THINK_OFF } else { caveat_texts::THINK };
    Some(row.to_caveat(&[
        ("load", &trial.title),
        ("workers", &format_plural(trial.workers as u64, "worker", "workers")),
        ("rate", &format_number(rate)),
        ("response", &format_time(trial.response.mean_s.unwrap_or_default())),
        ("think", &format_time(think)),
        ("found", &format_number(found)),
    ]))
}

fn worker_mismatch(trial: &TrialFinding, found: f64) -> f64 {
    (found / trial.workers.max(1) as f64 - 1.0).abs()
}

/// ORDER: the variants ran in the same order in every block, so drift of the machine looks like a difference of variants.
pub(super) fn fixed_order(input: &CaveatInput<'_>) -> Option<Caveat> {
    let mut blocks: Vec<(u32, Vec<&str>)> = Vec::new();
    for trial in &input.run.trials {
        match blocks.iter_mut().find(|(block, _)| *block == trial.block) {
            Some((_, variants)) if variants.last() == Some(&trial.variant.as_str()) => {}
            Some((_, variants)) => variants.push(&trial.variant),
            None => blocks.push((trial.block, vec![&trial.variant])),
        }
    }
    let (_, first) = blocks.first()?;
    let same =
        blocks.len() > 1 && first.len() > 1 && blocks.iter().all(|(_, variants)| variants == first);
    same.then(|| {
        caveat_texts::ORDER.to_caveat(&[
            ("order", &first.join(", ")),
            ("blocks", &format_plural(blocks.len() as u64, "block", "blocks")),
        ])
    })
}

/// VARS-CHANGED: somebody changed the server's variables while it was measured.
pub(super) fn vars_changed(input: &CaveatInput<'_>) -> Option<Caveat> {
    // Where variants have settings, the first and the last look may be of different variants: other variables follow their
    // settings, which SIDE-EFFECT tells.
    let ends = input.run.trials.first().zip(input.run.trials.last());
    if ends.is_some_and(|(first, last)| first.settings != last.settings) {
        return None;
    }
    let ours = |name: &str| {
        let plain = |n: &str| n.to_lowercase().replace('-', "_");
        input.run.trials.iter().any(|t| t.settings.keys().any(|k| plain(k) == plain(name)))
    };
    let changed: Vec<String> = input
        .run
        .variables
        .iter()
        .filter_map(|v| {
            let end = v.end.as_ref().filter(|end| **end != v.start)?;
            let counts = !ours(&v.name) && !moves_by_itself(&v.name);
            counts.then(|| format!("{} from {} to {end}", v.name, v.start))
        })
        .collect();
    let first = &changed[..changed.len().min(5)];
    (!changed.is_empty())
        .then(|| caveat_texts::VARS_CHANGED.to_caveat(&[("changed", &first.join(", "))]))
}

/// TLS: sessions are encrypted, which costs both sides CPU.
pub(super) fn tls_sessions(input: &CaveatInput<'_>) -> Option<Caveat> {
    let cipher = input.run.meta.server.as_ref()?.cipher.as_ref()?;
    Some(caveat_texts::TLS.to_caveat(&[("cipher", cipher)]))
}

/// DEFAULTS: variables that decide the result and that nobody has set.
pub(super) fn default_settings(input: &CaveatInput<'_>) -> Option<Caveat> {
    let compiled = |name: &str| {
        let v = input.run.variables.iter().find(|v| v.name.eq_ignore_ascii_case(name))?;
        (v.origin.is_some() && !is_set_by_user(v.origin.as_deref())).then_some(v.start.as_str())
    };
    let words: Vec<String> = [
        default_pool_size(input, &compiled),
        default_redo_log(input, &compiled),
        default_io_capacity(input, &compiled),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!words.is_empty())
        .then(|| caveat_texts::DEFAULTS.to_caveat(&[("settings", &words.join("; "))]))
}

/// A variable's value if nobody has set it.
type DefaultLookup<'a> = dyn Fn(&str) -> Option<&'a str> + 'a;

fn default_pool_size(input: &CaveatInput<'_>, compiled: &DefaultLookup<'_>) -> Option<String> {
    let pool: f64 = compiled("innodb_buffer_pool_size")?.parse().ok()?;
    let local = input.run.meta.server.as_ref()?.local;
    let memory = || input.run.meta.host.get("memory_bytes")?.parse::<f64>().ok();
    let memory = if local { memory() } else { None };
    let beside =
        memory.map(|m| format!(" on a machine of {}", format_bytes(m))).unwrap_or_default();
    Some(format!("innodb_buffer_pool_size = {}{beside}", format_bytes(pool)))
}

/// The redo log, and how soon the fastest load filled it.
fn default_redo_log(input: &CaveatInput<'_>, compiled: &DefaultLookup<'_>) -> Option<String> {
    let (name, size) = ["innodb_redo_log_capacity", "innodb_log_file_size"]
        .iter()
        .find_map(|name| Some((*name, compiled(name)?.parse::<f64>().ok()?)))?;
    let files = || server_variable(input.run, "innodb_log_files_in_group")?.parse::<f64>().ok();
    let size = if name == "innodb_log_file_size" { size * files().unwrap_or(1.0) } else { size };
    let rate =
        input.run.trials.iter().filter_map(|t| redo_bytes_per_s(input, t)).reduce(f64::max)?;
    // Reads write next to nothing.
    (rate * 3600.0 > size).then(|| {
        format!(
            "{name} = {}, filled in {} at this write rate",
            format_bytes(size),
            format_time(size / rate)
        )
    })
}

/// Bytes of redo per second.
fn redo_bytes_per_s(input: &CaveatInput<'_>, trial: &Trial) -> Option<f64> {
    let step = step_of_trial(input.run, trial)?;
    let seconds = trial.ended_ns.saturating_sub(trial.began_ns) as f64 / 1e9;
    let bytes = counter_rise(&step.before, &step.after, "Innodb_os_log_written")?;
    (seconds > 0.0).then(|| bytes / seconds)
}

/// The budget of background writes, against the pages really written.
fn default_io_capacity(input: &CaveatInput<'_>, compiled: &DefaultLookup<'_>) -> Option<String> {
    let budget: f64 = compiled("innodb_io_capacity")?.parse().ok()?;
    let rates = input.run.trials.iter().filter_map(|trial| {
        let step = step_of_trial(input.run, trial)?;
        let seconds = trial.ended_ns.saturating_sub(trial.began_ns) as f64 / 1e9;
        let pages = counter_rise(&step.before, &step.after, "Innodb_pages_written")?;
        (seconds > 0.0).then(|| pages / seconds)
    });
    let rate = rates.reduce(f64::max).filter(|rate| *rate > budget)?;
    Some(format!(
        "innodb_io_capacity = {}, while {} pages/s were written",
        format_number(budget),
        format_number(rate)
    ))
}

/// CONFOUNDED of a plan whose variant changes several settings at once, as it was asked to.
pub(super) fn confounded_settings(input: &CaveatInput<'_>) -> Option<Caveat> {
    let differences = variant_differences(input.run, &variant_names(input.run));
    let count = |variant: &str| differences.iter().filter(|d| d.variant == variant).count();
    let most = differences.iter().max_by_key(|d| count(&d.variant))?;
    let names: Vec<&str> =
        differences.iter().filter(|d| d.variant == most.variant).map(|d| d.name.as_str()).collect();
    (names.len() > 1).then(|| {
        caveat_texts::CONFOUNDED_PLAN.to_caveat(&[
            ("variant", &most.variant),
            ("things", &format_plural(names.len() as u64, "thing", "things")),
            ("names", &names.join(", ")),
        ])
    })
}
