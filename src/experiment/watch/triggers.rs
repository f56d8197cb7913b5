//! When an incident begins: conditions on samples, by their times alone; and the ring of what was just before.

use std::collections::VecDeque;

use crate::base::Nanos;
use crate::plan::Trigger;
use crate::probe::{ProbeSample, SampleValues, statement_times};

/// How long samples stay in the ring.
const RING: Nanos = Nanos(60_000_000_000);
/// Values that the ring holds at most, so that many sessions do not fill the memory.
const MOST_VALUES: usize = 250_000;
/// How long a number may take to show up before it is said that no probe has it.
const UNSEEN: Nanos = Nanos(15_000_000_000);
/// A day of the limit of incidents.
const DAY_NS: u64 = 86_400_000_000_000;

/// A trigger under watch.
#[derive(Debug)]
pub(super) struct TriggerState {
    pub(super) trigger: Trigger,
    /// Since when the condition holds, nanoseconds since 1970.
    met_since: Option<u64>,
    /// When the number was read last, and its value then.
    last: Option<(u64, f64)>,
    began: Option<u64>,
    /// It was said that no probe has the number.
    is_told: bool,
    /// When its last incident began.
    fired: Option<u64>,
    /// The server's counts of statements at the last look, where a percentile of their times is meant.
    buckets: Option<TimeBuckets>,
}

/// The upper ends of buckets in milliseconds, ascending, each with how many statements it holds.
type TimeBuckets = Vec<(f64, f64)>;

/// What a sample means for a trigger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TriggerSign {
    /// Nothing.
    Quiet,
    /// It holds for long enough; the value that was seen last.
    Fired(f64),
    /// No probe has its number.
    Unknown,
}

impl TriggerState {
    pub(super) fn new(trigger: &Trigger) -> TriggerState {
        TriggerState {
            trigger: trigger.clone(),
            met_since: None,
            last: None,
            began: None,
            is_told: false,
            fired: None,
            buckets: None,
        }
    }

    /// Takes in a sample. A sample without the number says nothing: while a server does not answer, what held before still
    /// may.
    pub(super) fn observe(&mut self, sample: &ProbeSample, unix_ns: u64) -> TriggerSign {
        let began = *self.began.get_or_insert(unix_ns);
        let Some(raw) = self.read_value(sample) else {
            let is_late = unix_ns.saturating_sub(began) > UNSEEN.0;
            if self.last.is_none() && is_late && !self.is_told {
                self.is_told = true;
                return TriggerSign::Unknown;
            }
            return TriggerSign::Quiet;
        };
        let before = self.last.replace((unix_ns, raw));
        let value = match (self.trigger.is_rate, before) {
            (false, _) => raw,
            (true, Some((at, old))) if unix_ns > at && raw >= old => {
                (raw - old) / Nanos(unix_ns - at).to_seconds()
            }
            // The first reading, and the first after a restart.
            (true, _) => return TriggerSign::Quiet,
        };
        if !self.trigger.is_met(value) {
            self.met_since = None;
            return TriggerSign::Quiet;
        }
        let since = *self.met_since.get_or_insert(unix_ns);
        let needed = Nanos::from(self.trigger.time).0;
        match unix_ns.saturating_sub(since) >= needed {
            true => TriggerSign::Fired(value),
            false => TriggerSign::Quiet,
        }
    }

    /// The number that it waits for, if the sample has it.
    fn read_value(&mut self, sample: &ProbeSample) -> Option<f64> {
        let Some(percentile) = self.trigger.percentile() else {
            return value_of(sample, &self.trigger);
        };
        let SampleValues::Numbers(numbers) = &sample.values else { return None };
        if sample.probe != statement_times::NAME {
            return None;
        }
        let bucket = |(name, count): &(String, f64)| {
            Some((name.strip_prefix(statement_times::UP_TO_MS)?.parse().ok()?, *count))
        };
        let mut now: TimeBuckets = numbers.iter().filter_map(bucket).collect();
        now.sort_by(|a, b| a.0.total_cmp(&b.0));
        let rises = rises_between(&self.buckets.replace(now.clone())?, &now)?;
        percentile_of_buckets(&rises, percentile)
    }

    /// Whether an incident may begin so soon after the last one; if so, it does.
    pub(super) fn take_turn(&mut self, unix_ns: u64, pause: Nanos) -> bool {
        let is_free = self.fired.is_none_or(|last| unix_ns.saturating_sub(last) >= pause.0);
        if is_free {
            self.fired = Some(unix_ns);
        }
        is_free
    }
}

/// Behind the name of a probe: how long its look took, milliseconds.
const TOOK: &str = "took_ms";

/// What a sample says of the number that a trigger waits for.
fn value_of(sample: &ProbeSample, trigger: &Trigger) -> Option<f64> {
    let of_probe = trigger.row_text().filter(|(probe, _)| probe.eq_ignore_ascii_case(sample.probe));
    let is_seen = !matches!(sample.values, SampleValues::Gap(_));
    match (&sample.values, of_probe) {
        (_, Some((_, text))) if is_seen && text.eq_ignore_ascii_case(TOOK) => {
            Some(sample.ended.since(sample.began).to_seconds() * 1000.0)
        }
        (SampleValues::Table(_, rows), Some((_, text))) => {
            let text = text.to_ascii_lowercase();
            let holds = |cell: &String| cell.to_ascii_lowercase().contains(&text);
            Some(rows.iter().filter(|row| row.iter().any(holds)).count() as f64)
        }
        (SampleValues::Numbers(numbers) | SampleValues::Mixed(numbers, _), _) => {
            let is_named = |name: &str| name.eq_ignore_ascii_case(&trigger.counter);
            numbers.iter().find(|(name, _)| is_named(name)).map(|(_, value)| *value)
        }
        _ => None,
    }
}

/// What buckets rose by; `None` if one fell, as after a restart.
fn rises_between(before: &TimeBuckets, now: &TimeBuckets) -> Option<TimeBuckets> {
    let count_before =
        |end: f64| before.iter().find(|(known, _)| *known == end).map_or(0.0, |b| b.1);
    let are_there = before.iter().all(|(end, _)| now.iter().any(|(known, _)| known == end));
    let rises: TimeBuckets =
        now.iter().map(|(end, count)| (*end, count - count_before(*end))).collect();
    (are_there && rises.iter().all(|(_, rise)| *rise >= 0.0)).then_some(rises)
}

/// The upper end of the bucket that holds a percentile; `None` if no statement ended.
fn percentile_of_buckets(buckets: &TimeBuckets, percentile: f64) -> Option<f64> {
    let total: f64 = buckets.iter().map(|(_, count)| count).sum();
    let rank = (total * percentile / 100.0).ceil();
    let mut passed = 0.0;
    let holds = |(_, count): &&(f64, f64)| {
        passed += count;
        passed >= rank
    };
    buckets.iter().filter(|(_, count)| *count > 0.0).find(holds).map(|(end, _)| *end)
}

/// How many incidents began on this day.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DayCount {
    day: u64,
    count: u32,
}

impl DayCount {
    /// Counts one more, unless there were `most` on this day.
    pub(super) fn take_one(&mut self, unix_ns: u64, most: u32) -> bool {
        let day = unix_ns / DAY_NS;
        if day != self.day {
            *self = DayCount { day, count: 0 };
        }
        self.count += 1;
        self.count <= most
    }

    /// Whether the one that was counted last was the first too many.
    pub(super) fn is_first_over(&self, most: u32) -> bool {
        self.count == most + 1
    }
}

/// The samples of the last minute, with the wall time of their clock's origin.
#[derive(Debug, Default)]
pub(super) struct SampleRing {
    samples: VecDeque<(u64, ProbeSample)>,
    values: usize,
}

impl SampleRing {
    pub(super) fn push(&mut self, origin_unix_ns: u64, sample: &ProbeSample) {
        self.values += value_count(sample);
        self.samples.push_back((origin_unix_ns, sample.clone()));
        let now = origin_unix_ns.saturating_add(sample.planned.0);
        while let Some((origin, first)) = self.samples.front() {
            // A clock that was set back makes what was before look younger than it is.
            let at = origin.saturating_add(first.planned.0);
            let is_old = at.saturating_add(RING.0) < now || at > now.saturating_add(RING.0);
            if !is_old && self.values <= MOST_VALUES {
                break;
            }
            self.values -= value_count(first);
            self.samples.pop_front();
        }
    }

    /// All samples, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(u64, ProbeSample)> {
        self.samples.iter()
    }

    /// Wall time at which the oldest sample was planned.
    pub(super) fn first_unix_ns(&self) -> Option<u64> {
        self.samples.iter().map(|(origin, s)| origin.saturating_add(s.planned.0)).min()
    }
}

fn value_count(sample: &ProbeSample) -> usize {
    match &sample.values {
        SampleValues::Numbers(numbers) => numbers.len(),
        SampleValues::Mixed(numbers, words) => numbers.len() + words.len(),
        SampleValues::Text(text) => text.len() / 32,
        SampleValues::Table(columns, rows) => columns.len() * rows.len() * 2,
        SampleValues::Gap(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn look(at_s: u64, value: f64) -> ProbeSample {
        let at = Nanos(at_s * SECOND);
        let values = SampleValues::Numbers(vec![("Threads_running".to_owned(), value)]);
        ProbeSample { probe: "status", planned: at, began: at, ended: at, values }
    }

    /// Seconds at which a trigger fires on these values, one a second.
    fn fires(text: &str, values: &[f64]) -> Vec<u64> {
        let mut state = TriggerState::new(&Trigger::parse(text).unwrap());
        let at = |second: usize| second as u64;
        let fired = |(second, value): (usize, &f64)| {
            let sign = state.observe(&look(at(second), *value), at(second) * SECOND);
            matches!(sign, TriggerSign::Fired(_)).then(|| at(second))
        };
        values.iter().enumerate().filter_map(fired).collect()
    }

    #[test]
    fn a_condition_has_to_hold_for_its_whole_time() {
        let values = [1.0, 60.0, 60.0, 40.0, 60.0, 60.0, 60.0, 60.0, 1.0];
        assert_eq!(fires("threads_running > 50 for 3s", &values), [7]);
        assert_eq!(fires("Threads_running > 50", &values), [1, 2, 4, 5, 6, 7]);
        assert_eq!(fires("rate(Threads_running) >= 59", &values), [1]);
    }

    #[test]
    fn rows_and_the_time_of_a_look_count() {
        let sees = |text: &str, sample: &ProbeSample| {
            let mut state = TriggerState::new(&Trigger::parse(text).unwrap());
            state.observe(sample, SECOND)
        };
        let rows = ["Waiting for table lock", "sending", "waiting for commit"];
        let rows = rows.map(|state| vec!["7".to_owned(), state.to_owned()]).to_vec();
        let columns = ["ID", "STATE"].map(str::to_owned).to_vec();
        let values = SampleValues::Table(columns, rows);
        let list = ProbeSample { probe: "processlist", values, ..look(1, 0.0) };
        assert_eq!(sees("processlist(waiting for table) >= 1", &list), TriggerSign::Fired(1.0));
        assert_eq!(sees("processlist.Waiting > 1", &list), TriggerSign::Fired(2.0));
        assert_eq!(sees("processlist(nothing) > 0", &list), TriggerSign::Quiet);
        let slow = ProbeSample { ended: Nanos(SECOND + SECOND / 4), ..look(1, 0.0) };
        assert_eq!(sees("status.took_ms > 200", &slow), TriggerSign::Fired(250.0));
        assert_eq!(sees("host.took_ms > 200", &slow), TriggerSign::Quiet);
    }

    #[test]
    fn percentiles_are_those_of_the_statements_between_two_looks() {
        let mut state = TriggerState::new(&Trigger::parse("p99 > 20ms").unwrap());
        let mut observe = |at_s: u64, counts: &[(&str, f64)]| {
            let named = |(end, count): &(&str, f64)| {
                (format!("{}{end}", statement_times::UP_TO_MS), *count)
            };
            let values = SampleValues::Numbers(counts.iter().map(named).collect());
            let probe = statement_times::NAME;
            state.observe(&ProbeSample { probe, values, ..look(at_s, 0.0) }, at_s * SECOND)
        };
        // What was before the watch does not count.
        assert_eq!(observe(1, &[("100.5", 1e6), ("9.5", 10.0)]), TriggerSign::Quiet);
        assert_eq!(observe(2, &[("100.5", 1e6 + 1.0), ("9.5", 109.0)]), TriggerSign::Quiet);
        assert_eq!(observe(3, &[("100.5", 1e6 + 3.0), ("9.5", 207.0)]), TriggerSign::Fired(100.5));
        // Nothing has ended, and then the server was started anew.
        assert_eq!(observe(4, &[("100.5", 1e6 + 3.0), ("9.5", 207.0)]), TriggerSign::Quiet);
        assert_eq!(observe(5, &[("100.5", 7.0)]), TriggerSign::Quiet);
        assert_eq!(observe(6, &[("100.5", 8.0)]), TriggerSign::Fired(100.5));
    }

    #[test]
    fn pauses_and_days_limit_incidents() {
        let mut state = TriggerState::new(&Trigger::parse("a > 1").unwrap());
        let pause = Nanos(300 * SECOND);
        assert!(state.take_turn(SECOND, pause) && !state.take_turn(300 * SECOND, pause));
        assert!(state.take_turn(301 * SECOND, pause));
        let mut day = DayCount::default();
        assert!(day.take_one(DAY_NS, 2) && day.take_one(DAY_NS, 2) && !day.take_one(DAY_NS, 2));
        assert!(day.is_first_over(2) && day.take_one(2 * DAY_NS, 2));
    }

    #[test]
    fn a_number_that_nobody_has_is_told_once() {
        let mut state = TriggerState::new(&Trigger::parse("nosuch > 1").unwrap());
        let signs = (0..40).map(|s| state.observe(&look(s, 1.0), s * SECOND));
        assert_eq!(signs.filter(|sign| *sign == TriggerSign::Unknown).count(), 1);
    }

    #[test]
    fn the_ring_holds_a_minute_and_not_more_than_it_may() {
        let mut ring = SampleRing::default();
        (0..200).for_each(|s| ring.push(0, &look(s, 1.0)));
        assert_eq!(ring.iter().count(), 61);
        assert_eq!(ring.first_unix_ns(), Some(139 * SECOND));
        let many = SampleValues::Numbers(vec![(String::new(), 0.0); MOST_VALUES / 2]);
        (200..210)
            .for_each(|s| ring.push(0, &ProbeSample { values: many.clone(), ..look(s, 1.0) }));
        assert_eq!(ring.iter().count(), 2);
    }
}
