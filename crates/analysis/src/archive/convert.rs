//! From what recorder and probes say to what the folder keeps.

use std::collections::BTreeMap;

use super::recorded_names::{RecordedErrorKind, TrialEnding};
use super::tally::TallyRecord;
use super::types::{
    Counters, ErrorRecord, IntervalRecord, SampleRecord, Trial, UnopenedRecord, VariableRecord,
};
use crate::base::StopReason;
use crate::probe::{ProbeSample, SampleValues};
use crate::recorder::{EventErrorKind, Interval, Recording, Tally, empty_histogram};

/// What an interval counted, by name.
impl From<&Interval> for TallyRecord {
    fn from(interval: &Interval) -> TallyRecord {
        let Tally { counts, bytes_received, bytes_sent } = interval.tally;
        let mut record = TallyRecord::default();
        for (counter, count) in interval.counters.iter().zip(counts) {
            *record.count_mut(counter.name) = count;
        }
        *record.count_mut("bytes_received") = bytes_received;
        *record.count_mut("bytes_sent") = bytes_sent;
        record
    }
}

impl From<&Interval> for IntervalRecord {
    fn from(i: &Interval) -> IntervalRecord {
        IntervalRecord {
            began_ns: i.began.0,
            ended_ns: i.ended.0,
            events: i.classes.iter().map(|c| c.response.len()).collect(),
            errors: i.classes.iter().map(|c| c.failed.len()).collect(),
            response: i.response_times(),
            class_response: Vec::new(),
            tally: i.into(),
            reconnects: i.reconnects,
            in_flight: i.in_flight,
            backlog: i.backlog,
            slots: i.slots.clone(),
        }
    }
}

impl From<StopReason> for TrialEnding {
    fn from(reason: StopReason) -> TrialEnding {
        match reason {
            StopReason::Done => TrialEnding::Done,
            StopReason::Interrupted => TrialEnding::Interrupted,
            StopReason::TargetLost => TrialEnding::TargetLost,
            StopReason::Failed => TrialEnding::Failed,
        }
    }
}

impl From<EventErrorKind> for RecordedErrorKind {
    fn from(kind: EventErrorKind) -> RecordedErrorKind {
        match kind {
            EventErrorKind::Server => RecordedErrorKind::Server,
            EventErrorKind::Lost => RecordedErrorKind::Lost,
            EventErrorKind::Protocol => RecordedErrorKind::Protocol,
            EventErrorKind::Check => RecordedErrorKind::Check,
        }
    }
}

impl Trial {
    /// Takes over the totals of a recording; what describes the trial (`id`, `variant`, `workload`,
    /// ...) and its intervals stay.
    pub fn fill_totals(&mut self, recording: &Recording) {
        let total = &recording.total;
        self.classes = recording.class_names.clone();
        self.workers = recording.workers;
        self.engine = recording.engine.into();
        self.began_ns = total.began.0;
        self.ended_ns = total.ended.0;
        self.reason = recording.reason.into();
        self.response = total.classes.iter().map(|c| c.response.to_histogram()).collect();
        self.service = total.classes.iter().map(|c| c.service.to_histogram()).collect();
        self.failed = total.classes.iter().map(|c| c.failed.to_histogram()).collect();
        self.event_steps = recording.step_names.clone();
        self.event_step_labels = recording.step_labels.clone();
        self.step_latency = total.steps.iter().map(|s| s.latency.to_histogram()).collect();
        self.step_failed = total.steps.iter().map(|s| s.failed.to_histogram()).collect();
        self.lateness = total.lateness.to_histogram();
        self.unbegun = total.unbegun.to_histogram();
        self.tally = total.into();
        self.reconnects = total.reconnects;
        self.longest_outage_ns = recording.longest_outage_ns;
        self.clipped = recording.clipped;
        self.restarts = recording.restarts;
        self.abandoned = recording.abandoned;
        self.unopened = recording
            .unopened
            .iter()
            .map(|u| UnopenedRecord { worker: u.worker, why: u.why.clone() })
            .collect();
        self.failure = recording.failure.clone();
        self.cpu_user_ns = recording.cpu_user_ns;
        self.cpu_system_ns = recording.cpu_system_ns;
        self.audit.clone_from(&recording.audit);
        self.figures.clone_from(&recording.figures);
        self.errors = recording
            .errors
            .iter()
            .map(|e| ErrorRecord {
                class: self.classes.get(usize::from(e.class.0)).cloned().unwrap_or_default(),
                kind: e.error.kind.into(),
                code: e.error.code,
                count: e.count,
                first_text: e.first_text.clone(),
            })
            .collect();
    }

    /// One empty histogram per class and kind.
    pub(super) fn clear_histograms(&mut self) {
        let empty = || self.classes.iter().map(|_| empty_histogram()).collect();
        (self.response, self.service, self.failed) = (empty(), empty(), empty());
        let empty = || self.event_steps.iter().map(|_| empty_histogram()).collect();
        (self.step_latency, self.step_failed) = (empty(), empty());
        (self.lateness, self.unbegun) = (empty_histogram(), empty_histogram());
    }
}

/// Numbers as the folder keeps them: what is no number (NaN, infinite) is left out.
pub fn finite_counters<'a>(numbers: impl IntoIterator<Item = &'a (String, f64)>) -> Counters {
    numbers.into_iter().filter(|(_, v)| v.is_finite()).cloned().collect()
}

impl From<&ProbeSample> for SampleRecord {
    fn from(s: &ProbeSample) -> SampleRecord {
        let mut record = SampleRecord {
            probe: s.probe.to_owned(),
            planned_ns: s.planned.0,
            began_ns: s.began.0,
            ended_ns: s.ended.0,
            ..SampleRecord::default()
        };
        match &s.values {
            SampleValues::Numbers(numbers) => record.numbers = finite_counters(numbers),
            SampleValues::Mixed(numbers, words) => {
                record.numbers = finite_counters(numbers);
                let row = |(name, word): &(String, String)| vec![name.clone(), word.clone()];
                let head = vec!["name".to_owned(), "value".to_owned()];
                record.table = std::iter::once(head).chain(words.iter().map(row)).collect();
            }
            SampleValues::Text(text) => record.text = Some(text.clone()),
            SampleValues::Table(columns, rows) => {
                record.table = std::iter::once(columns).chain(rows).cloned().collect();
            }
            SampleValues::Gap(why) => record.gap = Some(why.clone()),
        }
        record
    }
}

/// Joins the server's variables at the start and at the end, tables of name, value and, if known,
/// origin.
pub fn join_variables(start: &SampleValues, end: Option<&SampleValues>) -> Vec<VariableRecord> {
    fn table_rows(values: &SampleValues) -> &[Vec<String>] {
        match values {
            SampleValues::Table(_, rows) => rows.as_slice(),
            _ => &[],
        }
    }
    let cell = |row: &[String], at: usize| row.get(at).cloned().unwrap_or_default();
    let ends: BTreeMap<String, String> =
        end.map_or(&[][..], table_rows).iter().map(|r| (cell(r, 0), cell(r, 1))).collect();
    table_rows(start)
        .iter()
        .map(|row| VariableRecord {
            name: cell(row, 0),
            start: cell(row, 1),
            end: ends.get(&cell(row, 0)).cloned(),
            origin: row.get(2).filter(|o| !o.is_empty()).cloned(),
        })
        .collect()
}
