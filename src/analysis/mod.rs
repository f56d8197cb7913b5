//! Numbers from runs: rates, percentiles, comparisons, costs, and the doubts about them. Pure.
//! Never knows: files, clocks, servers, formats.
//! Start reading at [`analyse`]. To add a doubt: `caveats/mod.rs`; a series over time: `series.rs`; a cost: `cost.rs`.

mod answer;
pub mod capacity;
mod caveats;
mod checks;
mod compare;
mod cost;
mod counters;
pub mod figure;
mod findings;
mod heat;
mod latency;
pub mod noise;
mod pulse;
#[cfg(test)]
pub(crate) mod recorded;
pub(crate) mod replay;
mod scaling;
mod sentences;
mod series;
mod settings;
mod stalls;
pub mod statistics;
mod steady;
#[cfg(test)]
mod tests;
mod timeline;
mod trials;
pub(crate) mod waits;
mod warmed;
mod ways;

pub use caveats::{Caveat, Level, ids as caveat_ids};
pub use checks::{Judged, judge};
pub use compare::{
    Clarity, Sides, clear, compare_runs, detectable_before, differences_of, look_at, metric_name,
    metric_names, settings_that_differ,
};
pub use findings::{
    Behind, LeftOutFinding, ReplayChange, ReplayClassFinding, ReplayFinding, StatementClass,
    StatementFindings,
};
pub use findings::{
    Capacity, CapacityStep, Cause, CheckFinding, ClassFinding, Comparison, CostItem, Counted,
    DataSize, Difference, Estimate, Findings, Head, Heat, InsideOutside, IntervalFinding, Latency,
    Law, NoiseItem, Pair, Phase, RateSpread, RawFile, Scaling, ScalingPoint, Series, Setting,
    SignedRank, SizeClass, SpectrumPoint, Stall, StallKind, Stalls, Steady, SteadyVerdict,
    StepOutcome, Temperature, Timeline, TrialFinding, Unbegun, Unit, Verdict, WaitFinding,
    WaitGroup, WatchCost, WayFinding,
};

pub use sentences::{NOT_RELIABLE, Said};

pub use pulse::{Beat, Pulse, Surroundings};
pub use steady::{Outlook, Watcher, in_words as steady_in_words};

use crate::archive::{Meta, Run};

/// Facts that have a place of their own in the findings.
const PLACED_FACTS: &[&str] = &["data_bytes", "error_log", "pool_bytes", "rows"];

/// Everything there is to say about a run.
pub fn analyse(run: &Run) -> Findings {
    let trials = trials::all(run, &timeline::temperatures(run));
    let ways = ways::all(run, &trials);
    let data = data_size(run);
    let scaling = scaling::of(run, &trials);
    let capacity = capacity::of(run, &trials);
    let noise = noise::of_run(run);
    let case = caveats::Case { run, trials: &trials, ways: &ways, data: &data, noise: &noise };
    let mut doubts = caveats::all(&case);
    let waits = waits::all(run);
    // Levels of load and steps of a search are no alternatives of which one is better.
    let is_load = capacity.is_some() || scaling.as_ref().is_some_and(scaling::is_load);
    let compared =
        if is_load { compare::Compared::default() } else { compare::within(run, &trials, &noise) };
    let (mut replays, mut replay_changes) = (replay::all(run), replay::within(run));
    replay::heed_noise(run, &noise, &mut replays, &mut replay_changes);
    let classes = replays.iter().flat_map(|r| r.classes.iter().filter_map(|c| c.change.as_ref()));
    let deciding = compared.comparisons.iter().filter(|c| c.decides);
    caveats::relieve(&mut doubts, deciding.chain(classes));
    let is_counted = compared.comparisons.is_empty() && warmed::is_counted(&ways, &trials);
    if run.meta.command == "aa" || is_counted {
        caveats::warn_of_noise(&mut doubts);
    }
    let known = |caveat: &Caveat| run.meta.allow.iter().any(|id| id == caveat.id);
    let (allowed, caveats) = doubts.into_iter().partition(known);
    let mut findings = Findings {
        answer: Vec::new(),
        caveats,
        allowed,
        head: head(&run.meta),
        data,
        ways,
        trials,
        comparisons: compared.comparisons,
        differences: compared.differences,
        scaling,
        capacity,
        replays,
        replay_changes,
        wait_groups: waits::groups(run, &waits),
        waits,
        watch_cost: waits::cost(run),
        noise,
        checks: Vec::new(),
        timeline: timeline::of(run),
        settings: settings::all(run),
        plan: run.plan.clone(),
        folder: None,
        files: Vec::new(),
    };
    if findings.void().is_some() {
        take_back(&mut findings);
    }
    findings.answer = answer_of(run, &findings);
    findings.checks = checks::of_plan(run, &findings);
    findings
}

/// The answer in sentences; of a run that can't support it, what was seen.
fn answer_of(run: &Run, found: &Findings) -> Vec<Said> {
    let of_ways = compare::sentences(&found.comparisons, &[]);
    let of_ways_told = !of_ways.is_empty();
    let mut answer = match (&found.capacity, &found.scaling) {
        (Some(capacity), _) => capacity::sentences(capacity),
        _ if of_ways_told => of_ways,
        (_, Some(scaling)) => scaling::sentences(scaling),
        _ => {
            let noise = match noise::is_loud(&found.noise, &run.meta.allow) {
                true => noise::mean_slowed(&[(run, &found.noise)], |_| true).exp(),
                false => 1.0,
            };
            answer::sentences(&found.ways, &found.trials, &found.timeline.phases, noise)
        }
    };
    if !found.replays.is_empty() {
        // What was replayed comes first, unless ways of it are compared.
        let at = if of_ways_told { answer.len() } else { 0 };
        let changes = replay::of_changes(&found.replay_changes);
        answer.splice(at..at, changes.into_iter().chain(replay::sentences(&found.replays)));
    }
    if found.head.command == "waits" {
        answer.splice(0..0, waits::sentences(&found.waits, &found.wait_groups));
    }
    if found.head.command == "aa" {
        answer.splice(0..0, noise::against_itself(&found.comparisons));
    }
    if found.void().is_some() { sentences::not_reliable(answer) } else { answer }
}

/// No verdict stands beside void.
fn take_back(found: &mut Findings) {
    let of_replays = found.replays.iter_mut().flat_map(|replay| &mut replay.classes);
    let of_changes = found.replay_changes.iter_mut().map(|one| &mut one.change);
    let all = found.comparisons.iter_mut().chain(of_changes);
    for one in all.chain(of_replays.filter_map(|class| class.change.as_mut())) {
        if one.verdict != Verdict::Unsure {
            one.notes.push("no verdict, as the run is void".to_owned());
            one.verdict = Verdict::Unsure;
        }
    }
}

impl Findings {
    /// The gravest doubt, if it voids the run.
    pub fn void(&self) -> Option<&Caveat> {
        self.caveats.first().filter(|caveat| caveat.level == Level::Void)
    }
}

impl Findings {
    /// What the first line calls a run that can't support its claim.
    pub fn void_word(&self) -> &'static str {
        if self.has_failed() { "FAILED" } else { "VOID" }
    }

    /// Whether the run failed: the server answered too many events with errors that nobody expects.
    pub fn has_failed(&self) -> bool {
        self.caveats.iter().any(|c| c.level == Level::Void && c.id == caveats::ERRORS)
    }
}

fn head(meta: &Meta) -> Head {
    let words = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let facts = meta.facts.iter().filter(|(name, _)| !PLACED_FACTS.contains(&name.as_str()));
    Head {
        id: meta.id.clone(),
        name: meta.name.clone(),
        question: meta.asked.question.clone().filter(|text| !text.trim().is_empty()),
        command: meta.command.clone(),
        tool_version: meta.tool_version.clone(),
        origin_unix_ns: meta.origin_unix_ns,
        seconds: meta.ended_ns.map(|ns| ns as f64 / 1e9),
        state: meta.state,
        why: meta.why.clone(),
        seed: meta.seed,
        server: meta.server.clone(),
        host: meta.host.clone(),
        facts: facts.map(|(name, value)| (name.clone(), words(value))).collect(),
    }
}

/// Data against pool: in memory below 0.8, borderline to 1.5, I/O-bound above.
fn data_size(run: &Run) -> DataSize {
    let page_bytes = counters::page_bytes(run);
    let pages = || run.steps.iter().find_map(|s| s.after.get("Innodb_buffer_pool_pages_total"));
    let pool_bytes = counters::fact(run, "pool_bytes")
        .or_else(|| counters::variable(run, "innodb_buffer_pool_size")?.parse().ok())
        .or_else(|| Some(pages()? * page_bytes))
        .filter(|pool: &f64| *pool > 0.0);
    // What the load can't reach needs no room in the pool.
    let share = counters::fact(run, "reached_share").unwrap_or(1.0);
    let data_bytes = counters::fact(run, "data_bytes").map(|bytes| bytes * share);
    let ratio = data_bytes.zip(pool_bytes).map(|(data, pool)| data / pool);
    let class = ratio.map(|ratio| match ratio {
        r if r < 0.8 => SizeClass::InMemory,
        r if r <= 1.5 => SizeClass::Borderline,
        _ => SizeClass::IoBound,
    });
    DataSize { data_bytes, pool_bytes, rows: counters::fact(run, "rows"), page_bytes, ratio, class }
}
