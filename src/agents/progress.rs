//! Intervals of agents for the eyes of those who watch: small, and summed as they come. What is measured stands in the agents'
//! run folders.

use std::collections::{BTreeMap, BTreeSet};

use super::member::Member;
use super::wire::IntervalReport;
use crate::archive::{hdr_base64, parse_hdr_base64};
use crate::base::Nanos;
use crate::experiment::AgentProgress;
use crate::recorder::{ClassTotals, Interval, SparseHistogram};

/// Intervals that wait for the other agents' at most.
const MOST_WAITING: usize = 5;
/// Stands for how long a failed event took: that does not travel.
const FAILED_NS: u64 = 1_000_000;

/// An interval as it travels.
pub(super) fn report_interval(number: u64, start: Nanos, interval: &Interval) -> IntervalReport {
    IntervalReport {
        number,
        began_ns: interval.began.since(start).0,
        ended_ns: interval.ended.since(start).0,
        response: hdr_base64(&interval.response_times()),
        failed: interval.error_count(),
        in_flight: interval.in_flight,
        backlog: interval.backlog,
    }
}

/// Sums intervals of agents.
#[derive(Debug, Default)]
pub(super) struct ProgressSum {
    /// Sums under way, and whose intervals are in them.
    waiting: BTreeMap<u64, (Interval, BTreeSet<usize>)>,
    /// The first that was not given yet.
    next: u64,
    /// What is added to all times, to be those of the coordinator's clock.
    start: Nanos,
    /// What each agent has told.
    told: BTreeMap<usize, ToldIntervals>,
}

/// What an agent has told.
#[derive(Debug, Default)]
struct ToldIntervals {
    /// How many intervals.
    count: u64,
    /// Good events per second of the last one.
    events_per_s: f64,
    /// Their p99, seconds.
    p99_s: Option<f64>,
}

impl ProgressSum {
    /// Of a load that starts then.
    pub(super) fn starting_at(start: Nanos) -> ProgressSum {
        ProgressSum { start, ..ProgressSum::default() }
    }

    /// How far the agents are that run the load.
    pub(super) fn agents(&self, team: &[Member]) -> Vec<AgentProgress> {
        let most = self.told.values().map(|told| told.count).max().unwrap_or(0);
        let one = |(number, member): (usize, &Member)| {
            let told = self.told.get(&number);
            AgentProgress {
                name: member.name.clone(),
                events_per_s: told.map_or(0.0, |told| told.events_per_s),
                p99_s: told.and_then(|told| told.p99_s),
                behind: most - told.map_or(0, |told| told.count),
                lost: member.lost_reason().map(str::to_owned),
            }
        };
        team.iter().enumerate().map(one).collect()
    }

    /// Takes the interval of an agent; one that is too late, there already or damaged is left out.
    pub(super) fn add_report(&mut self, agent: usize, report: &IntervalReport) {
        let response = match report.response.as_str() {
            "" => None,
            text => match parse_hdr_base64(text) {
                Ok(response) => Some(response),
                Err(_) => return,
            },
        };
        let told = self.told.entry(agent).or_default();
        let count = report.number.saturating_add(1);
        if count > told.count {
            let seconds =
                Nanos(report.ended_ns.saturating_sub(report.began_ns).max(1)).to_seconds();
            let events = response.as_ref().map_or(0, SparseHistogram::len);
            let p99_ns = response.as_ref().map(|response| response.value_at_quantile(0.99));
            *told = ToldIntervals {
                count,
                events_per_s: events as f64 / seconds,
                p99_s: p99_ns.map(|ns| Nanos(ns).to_seconds()),
            };
        }
        if report.number < self.next {
            return;
        }
        let at = |ns: u64| Nanos(self.start.0.saturating_add(ns));
        let (began, ended) = (at(report.began_ns), at(report.ended_ns));
        let fresh = || {
            let mut interval = Interval::empty(began, ended);
            interval.classes.push(ClassTotals::default());
            (interval, BTreeSet::new())
        };
        let (sum, agents) = self.waiting.entry(report.number).or_insert_with(fresh);
        if !agents.insert(agent) {
            return;
        }
        (sum.began, sum.ended) = (sum.began.min(began), sum.ended.max(ended));
        if let Some(class) = sum.classes.first_mut() {
            response.iter().for_each(|response| class.response.add(response));
            class.failed.record_n(FAILED_NS, report.failed.min(u32::MAX.into()));
        }
        sum.in_flight = sum.in_flight.saturating_add(report.in_flight);
        sum.backlog = sum.backlog.saturating_add(report.backlog);
    }

    /// The next interval that all of these agents have told, or that has waited too long for it.
    pub(super) fn take_ready(&mut self, agents: &[usize]) -> Option<Interval> {
        let (number, (_, told)) = self.waiting.first_key_value()?;
        let is_whole = agents.iter().all(|agent| told.contains(agent));
        if !is_whole && self.waiting.len() <= MOST_WAITING {
            return None;
        }
        self.next = number.saturating_add(1);
        self.waiting.pop_first().map(|(_, (interval, _))| interval)
    }
}
