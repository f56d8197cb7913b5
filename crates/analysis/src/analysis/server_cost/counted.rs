//! What is counted, and how much of it came about between two looks.

use std::collections::BTreeMap;

use crate::archive::{CounterLook, Counters, IntervalRecord, RunRecord, Trial};

use super::super::counters::rise_of_sum;

/// A cost: id, title, unit, factor from the counters' unit to ours, counters to add.
pub(super) type CountedCost =
    (&'static str, &'static str, &'static str, f64, &'static [&'static str]);

/// Length of the slots in which intervals count their events: a hundredth of a second.
const SLOT_NS: u64 = 10_000_000;

/// The first of them.
pub(super) const STATEMENTS: &str = "statements";

/// In the order shown: statements and what kinds they are, then what they do.
pub(super) const COSTS: &[CountedCost] = &[
    (STATEMENTS, "statements", "", 1.0, &["Questions"]),
    ("selects", "SELECT", "", 1.0, &["Com_select"]),
    (
        "inserts",
        "INSERT",
        "",
        1.0,
        &["Com_insert", "Com_insert_select", "Com_replace", "Com_replace_select"],
    ),
    ("updates", "UPDATE", "", 1.0, &["Com_update", "Com_update_multi"]),
    ("deletes", "DELETE", "", 1.0, &["Com_delete", "Com_delete_multi"]),
    ("begins", "BEGIN", "", 1.0, &["Com_begin"]),
    ("commits", "COMMIT", "", 1.0, &["Com_commit"]),
    ("rollbacks", "ROLLBACK", "", 1.0, &["Com_rollback"]),
    ("calls", "CALL", "", 1.0, &["Com_call_procedure"]),
    ("sets", "SET", "", 1.0, &["Com_set_option"]),
    ("prepares", "prepares", "", 1.0, &["Com_stmt_prepare"]),
    (
        "rows_read",
        "rows read",
        "",
        1.0,
        &[
            "Handler_read_first",
            "Handler_read_key",
            "Handler_read_last",
            "Handler_read_next",
            "Handler_read_prev",
            "Handler_read_rnd",
            "Handler_read_rnd_next",
        ],
    ),
    (
        "rows_written",
        "rows written",
        "",
        1.0,
        &["Handler_write", "Handler_update", "Handler_delete"],
    ),
    ("page_reads", "page reads", "", 1.0, &["Innodb_buffer_pool_reads"]),
    ("disk_tables", "temporary tables on disk", "", 1.0, &["Created_tmp_disk_tables"]),
    ("sent_bytes", "sent", "B", 1.0, &["Bytes_sent"]),
    ("received_bytes", "received", "B", 1.0, &["Bytes_received"]),
    ("connections", "connections", "", 1.0, &["Connections"]),
    ("redo_bytes", "redo", "B", 1.0, &["Innodb_os_log_written"]),
    ("fsyncs", "fsyncs", "", 1.0, &["Innodb_data_fsyncs", "Innodb_os_log_fsyncs"]),
    ("row_lock_waits", "row lock waits", "", 1.0, &["Innodb_row_lock_waits"]),
    ("row_lock_wait_us", "waiting for row locks", "µs", 1e3, &["Innodb_row_lock_time"]),
    ("server_cpu_us", "server CPU", "µs", 1e6, &["process.cpu_user_s", "process.cpu_system_s"]),
];

/// What the looks of sweat itself add, by probe, as the run kept it.
pub(super) struct OwnCost(BTreeMap<String, Counters>);

/// Name of the fact, and of our own looks in it.
const OWN_COST: (&str, &str) = ("own_cost", "look");

impl OwnCost {
    /// As the run kept it; `None` where it was not measured.
    pub(super) fn of_run(run: &RunRecord) -> Option<OwnCost> {
        let value = run.meta.facts.get(OWN_COST.0)?.clone();
        serde_json::from_value(value).ok().map(OwnCost)
    }

    /// What they added to these counters between two looks.
    fn amount(&self, run: &RunRecord, span: &LookSpan<'_>, counters: &[&str]) -> f64 {
        let of = |probe: &str| -> f64 {
            let added = self.0.get(probe);
            counters.iter().filter_map(|name| added?.get(*name)).sum()
        };
        let is_inside = |at: u64| at >= span.from().began_ns && at < span.to().began_ns;
        let samples = run.samples.iter().filter(|s| s.gap.is_none() && is_inside(s.began_ns));
        (span.0.len() - 1) as f64 * of(OWN_COST.1) + samples.map(|s| of(&s.probe)).sum::<f64>()
    }
}

/// The time from the first of these looks to the last; there are two at least.
#[derive(Clone, Copy)]
pub(super) struct LookSpan<'a>(&'a [CounterLook]);

impl<'a> LookSpan<'a> {
    /// Over these looks; `None` if there are fewer than two.
    pub(super) fn new(looks: &'a [CounterLook]) -> Option<LookSpan<'a>> {
        (looks.len() > 1).then_some(LookSpan(looks))
    }

    pub(super) fn from(&self) -> &'a CounterLook {
        &self.0[0]
    }

    pub(super) fn to(&self) -> &'a CounterLook {
        &self.0[self.0.len() - 1]
    }

    pub(super) fn seconds(&self) -> f64 {
        self.to().began_ns.saturating_sub(self.from().began_ns) as f64 / 1e9
    }

    /// Good events of each class that ended in it.
    pub(super) fn class_events(&self, trial: &Trial) -> Vec<f64> {
        let (from, to) = (events_until(trial, self.from()), events_until(trial, self.to()));
        to.iter().zip(from).map(|(to, from)| to - from).collect()
    }

    /// Good events of all classes.
    pub(super) fn all_events(&self, trial: &Trial) -> f64 {
        self.class_events(trial).iter().sum()
    }

    /// How much of a cost came about in it, without our own looks; `None` where the server doesn't count it, or counted
    /// anew meanwhile.
    pub(super) fn amount(
        &self,
        run: &RunRecord,
        own: Option<&OwnCost>,
        cost: &CountedCost,
    ) -> Option<f64> {
        // A server that was restarted in between may have counted further than before.
        let mut steps = self.0.windows(2);
        if !steps.all(|pair| rise_of_sum(&pair[0].numbers, &pair[1].numbers, cost.4).is_some()) {
            return None;
        }
        let all = rise_of_sum(&self.from().numbers, &self.to().numbers, cost.4)?;
        let ours = own.map_or(0.0, |own| own.amount(run, self, cost.4));
        Some((all - ours).max(0.0) * cost.3)
    }

    /// Those of the counters that this server has.
    pub(super) fn source(&self, cost: &CountedCost) -> String {
        let known = |name: &&&str| self.to().numbers.contains_key(**name);
        cost.4.iter().filter(known).copied().collect::<Vec<_>>().join(" + ")
    }
}

/// Good events of each class that had ended when the server was looked at. A look comes a little after the end of an
/// interval, longer on a busy machine: of the next interval it gets the share that its hundredths of a second tell.
fn events_until(trial: &Trial, look: &CounterLook) -> Vec<f64> {
    let at = look.began_ns / 2 + look.ended_ns / 2;
    let mut sums = vec![0.0; trial.classes.len()];
    for interval in trial.intervals.iter().take_while(|interval| interval.began_ns < at) {
        let share = share_until(interval, at);
        sums.iter_mut().zip(&interval.events).for_each(|(sum, n)| *sum += share * *n as f64);
    }
    sums
}

/// The share of an interval's events that had ended at a moment.
fn share_until(interval: &IntervalRecord, at: u64) -> f64 {
    if at >= interval.ended_ns {
        return 1.0;
    }
    let length = interval.ended_ns.saturating_sub(interval.began_ns).max(1) as f64;
    let passed = at.saturating_sub(interval.began_ns) as f64;
    let all: f64 = interval.slots.iter().map(|n| f64::from(*n)).sum();
    if all == 0.0 {
        return passed / length;
    }
    // The first slot holds the beginning of the interval.
    let first = interval.began_ns / SLOT_NS;
    let before = |(place, n): (u64, &u32)| {
        let began = (first + place) * SLOT_NS;
        f64::from(*n) * (at.saturating_sub(began) as f64 / SLOT_NS as f64).min(1.0)
    };
    (0..).zip(&interval.slots).map(before).sum::<f64>() / all
}

/// The looks in the middle of a load: after its first interval, and before its last.
pub(super) fn middle_looks(trial: &Trial) -> &[CounterLook] {
    let Some(last) = trial.intervals.last() else { return &[] };
    let is_middle = |look: &CounterLook| {
        look.interval_ended_ns > trial.began_ns && look.interval_ended_ns < last.ended_ns
    };
    let from = trial.looks.iter().position(is_middle).unwrap_or(trial.looks.len());
    let count = trial.looks[from..].iter().take_while(|look| is_middle(look)).count();
    &trial.looks[from..from + count]
}
