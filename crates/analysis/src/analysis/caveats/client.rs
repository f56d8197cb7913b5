//! Caveats about ourselves: was the load generator the limit, or in the way?

use super::super::counters::step_of_trial;
use super::super::findings::{StallKind, TrialFinding};
use super::super::noise::foreign_share;
use super::super::number_format::{format_count, format_percent, format_plural, format_time};
use super::super::sentences::caveat_texts;
use super::{Caveat, CaveatInput, load_names_text, machines};
use crate::archive::RunState;

/// Lateness of our own making below this is the clock and the scheduler, not a limit.
const LATENESS_FLOOR_S: f64 = 100e-6;
/// Lateness above this share of the median response time distorts it.
const LATENESS_SHARE: f64 = 0.1;
/// CPU above this share of a core per engine thread leaves no room for a burst.
pub(super) const BUSY_CORE: f64 = 0.8;

/// CLIENT-BOUND: lateness p99 above max(100 µs, 10 % of the median), or our threads at more than 80 % of a core.
pub(super) fn client_bound(input: &CaveatInput<'_>) -> Option<Caveat> {
    // Without a server our own limit is what is measured.
    input.run.meta.server.as_ref()?;
    if input.run.merged.is_some() {
        return machines::bound_machine(input);
    }
    let late: Vec<_> = input.trials.iter().filter(|t| is_late(t)).collect();
    if let Some(worst) = late.iter().max_by(|a, b| lateness_p99_s(a).total_cmp(&lateness_p99_s(b)))
    {
        return Some(caveat_texts::CLIENT_BOUND_LATE.to_caveat(&[
            ("where", &load_names_text(input, &late)),
            ("late", &format_time(lateness_p99_s(worst))),
            ("p50", &worst.response.p50_s.map_or_else(|| "-".to_owned(), format_time)),
        ]));
    }
    let busy: Vec<_> = input
        .trials
        .iter()
        .filter(|t| busy_share(input, t).is_some_and(|b| b > BUSY_CORE))
        .collect();
    let worst = busy.iter().filter_map(|t| busy_share(input, t)).reduce(f64::max)?;
    Some(
        caveat_texts::CLIENT_BOUND_BUSY.to_caveat(&[
            ("share", &format_percent(worst)),
            ("where", &load_names_text(input, &busy)),
        ]),
    )
}

fn lateness_p99_s(trial: &TrialFinding) -> f64 {
    // The longest stands in for the percentile where there are too few events for one.
    trial.lateness.p99_s.or(trial.lateness.max_s).unwrap_or(0.0)
}

fn is_late(trial: &TrialFinding) -> bool {
    is_too_late(lateness_p99_s(trial), trial.response.p50_s)
}

/// Whether lateness of our own making, its 99th percentile, distorts response times with this median; both in seconds.
pub(in super::super) fn is_too_late(lateness_p99_s: f64, p50_s: Option<f64>) -> bool {
    let share = p50_s.map_or(0.0, |p50| LATENESS_SHARE * p50);
    lateness_p99_s > LATENESS_FLOOR_S.max(share)
}

/// Our CPU time by wall time and threads: (user + system) / (seconds x min(workers, CPUs)).
/// The reactor has at most as many threads as there are CPUs, so this is a lower bound there.
fn busy_share(input: &CaveatInput<'_>, trial: &TrialFinding) -> Option<f64> {
    let record = input.run.trials.iter().find(|t| t.id == trial.id)?;
    let cpus = input.run.meta.host.get("cpus").and_then(|c| c.parse::<usize>().ok());
    let threads = trial.workers.min(cpus.unwrap_or(usize::MAX)).max(1);
    let cpu_s = (record.cpu_user_ns + record.cpu_system_ns) as f64 / 1e9;
    (trial.seconds > 0.0).then(|| cpu_s / (trial.seconds * threads as f64))
}

/// CLIPPED: events longer than the histogram's bound count as one hour.
pub(super) fn clipped_events(input: &CaveatInput<'_>) -> Option<Caveat> {
    let clipped: u64 = input.trials.iter().map(|t| t.clipped).sum();
    (clipped > 0).then(|| caveat_texts::CLIPPED.to_caveat(&[("events", &events_text(clipped))]))
}

/// ABANDONED: events that had not ended when the grace was over are in no histogram. A load of which nothing else is left
/// fails the run: its server may have answered nobody.
pub(super) fn abandoned_events(input: &CaveatInput<'_>) -> Option<Caveat> {
    let sum = |trials: &[&TrialFinding]| events_text(trials.iter().map(|t| t.abandoned).sum());
    let some: Vec<_> = input.trials.iter().filter(|t| t.abandoned > 0).collect();
    // A search for capacity goes beyond what the server holds on purpose, and who stops a load waits for nothing.
    let meta = &input.run.meta;
    let may_be_none = meta.asked.capacity.is_some() || meta.state == RunState::Interrupted;
    let is_none = |t: &&TrialFinding| t.events == 0 && !may_be_none;
    let all: Vec<_> = some.iter().copied().filter(is_none).collect();
    match (some.is_empty(), all.is_empty()) {
        (true, _) => None,
        (_, true) => Some(caveat_texts::ABANDONED.to_caveat(&[("events", &sum(&some))])),
        (_, false) => Some(
            caveat_texts::ABANDONED_ALL
                .to_caveat(&[("where", &load_names_text(input, &all)), ("events", &sum(&all))]),
        ),
    }
}

/// UNOPENED: workers that could not open their session ran nothing.
pub(super) fn unopened_sessions(input: &CaveatInput<'_>) -> Option<Caveat> {
    let trial = input.run.trials.iter().max_by_key(|t| t.unopened.len())?;
    let first = trial.unopened.first()?;
    Some(caveat_texts::UNOPENED.to_caveat(&[
        ("unopened", &format_count(trial.unopened.len() as u64)),
        ("workers", &format_plural(trial.workers as u64, "worker", "workers")),
        ("load", &input.title(trial)),
        ("why", &first.why),
    ]))
}

fn events_text(number: u64) -> String {
    format_plural(number, "event", "events")
}

/// SAME-HOST: server and load share the machine.
pub(super) fn same_host(input: &CaveatInput<'_>) -> Option<Caveat> {
    let server = input.run.meta.server.as_ref().filter(|s| s.local)?;
    let split = cpu_split(input).unwrap_or_default();
    Some(caveat_texts::SAME_HOST.to_caveat(&[("address", &server.address), ("split", &split)]))
}

/// CPU per event of both sides in the load with the most events.
fn cpu_split(input: &CaveatInput<'_>) -> Option<String> {
    let trial = input.trials.iter().max_by_key(|t| t.events)?;
    let cost = |id: &str| trial.cost.iter().find(|c| c.id == id)?.per_event;
    let ours = cost("client_user_us")? + cost("client_system_us")?;
    let server = cost("server_cpu_us")?;
    let others = input
        .run
        .trials
        .iter()
        .find(|t| t.id == trial.id)
        .and_then(|record| foreign_share(input.run, step_of_trial(input.run, record)?, record))
        .map(|share| format!("; other programs used {} of the machine", format_percent(share)))
        .unwrap_or_default();
    let (server, ours) = (format_time(server / 1e6), format_time(ours / 1e6));
    Some(format!("; CPU per event: server {server}, sweat {ours}{others}"))
}

/// CLOSED-LOOP: a worker that waits sends nothing, so a stall hides the events that would have come. Grave where the
/// server stood still and hardly an event tells of it.
pub(super) fn closed_loop(input: &CaveatInput<'_>) -> Option<Caveat> {
    // A search for capacity has a closed loop only to set its scale: what it says comes from fixed rates.
    if input.run.meta.asked.capacity.is_some() {
        return None;
    }
    let closed = |t: &&TrialFinding| t.closed_think_s.is_some();
    input.trials.iter().find(closed)?;
    let silent = input.trials.iter().filter(closed).filter_map(|t| silent_stalls(input, t));
    if let Some((_, caveat)) = silent.max_by(|a, b| a.0.total_cmp(&b.0)) {
        return Some(caveat);
    }
    Some(caveat_texts::CLOSED_LOOP.to_caveat(&[]))
}

/// Seconds of full stops of a load, and how few events felt them, in words.
fn silent_stalls(input: &CaveatInput<'_>, trial: &TrialFinding) -> Option<(f64, Caveat)> {
    let stops = trial.stalls.iter().flat_map(|s| &s.events);
    let stops: Vec<f64> =
        stops.filter(|s| s.kind == StallKind::FullStop).map(|s| s.seconds).collect();
    let shortest = stops.iter().copied().reduce(f64::min)?;
    let all = stops.iter().sum::<f64>();
    let record = input.run.trials.iter().find(|t| t.id == trial.id)?;
    // An event that was under way when the server stopped took about as long as the stop.
    let long = (shortest / 2.0 * 1e9) as u64;
    let felt: u64 = record.response.iter().map(|h| h.count_between(long, h.high())).sum();
    let share = felt as f64 / trial.events.max(1) as f64;
    let p99 = trial.response.p99_s.map_or_else(|| "nothing".to_owned(), format_time);
    let caveat = caveat_texts::CLOSED_LOOP_SILENT.to_caveat(&[
        ("seconds", &format_time(all)),
        ("stops", &format_plural(stops.len() as u64, "full stop", "full stops")),
        ("where", &load_names_text(input, &[trial])),
        ("felt", &events_text(felt)),
        ("share", &format_percent(share)),
        ("p99", &p99),
    ]);
    // Where events are so few that the percentiles hold the stops, nothing is hidden.
    (share < 0.01).then_some((all, caveat))
}
