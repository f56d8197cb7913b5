//! Files of one load: `trial.json`, `intervals.jsonl`, `histograms.hlog`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ArchiveError;
use super::file::replace_file;
use super::hlog::{self, HistogramEntry, HistogramKind};
use super::old_folders;
use super::recorded_names::{ArrivalKind, ArrivalRecord, RecordedEngine, TrialEnding};
use super::share::{DealtSessions, ShareRecord};
use super::tally::TallyRecord;
use super::types::{ErrorRecord, IntervalRecord, StageRecord, Trial, UnopenedRecord};
use super::writer::to_json;
use super::{looks, replay, waits};
use crate::recorder::{
    DataVerdicts, Histogram, LoadAudit, MeasuredFigures, SparseHistogram, WorkloadFacts,
    new_histogram,
};

/// Name of the file that describes a load.
pub(super) const TRIAL_FILE: &str = "trial.json";

/// `trial.json`: written when the load begins, and again with totals when it has ended. The
/// histograms of the whole load are not in it: they are the sum of those in `histograms.hlog`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct TrialFile {
    id: String,
    #[serde(alias = "way")]
    variant: String,
    pass: u32,
    #[serde(default = "default_block", skip_serializing_if = "is_default_block")]
    block: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<String, String>,
    step: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    only_class: Option<String>,
    workload: String,
    options: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<WorkloadFacts>,
    /// In words.
    arrival: String,
    /// Absent in older folders, whose words are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    arrival_kind: Option<ArrivalKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    think_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offered_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stages: Vec<StageRecord>,
    workers: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<ShareRecord>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<DealtSessions>,
    engine: RecordedEngine,
    classes: Vec<String>,
    /// Steps inside events: classes of kind `step`, whose events are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    event_steps: Vec<String>,
    /// What they turned out to be, if that was not known before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    event_step_labels: Vec<String>,
    began_ns: u64,
    /// Absent while the load runs, and for good if it was cut.
    totals: Option<TrialTotals>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct TrialTotals {
    ended_ns: u64,
    reason: TrialEnding,
    /// Good events per class.
    events: Vec<u64>,
    /// Failed events per class.
    failed_events: Vec<u64>,
    late_events: u64,
    #[serde(default)]
    unbegun_events: u64,
    tally: TallyRecord,
    errors: Vec<ErrorRecord>,
    reconnects: u64,
    #[serde(default)]
    longest_outage_ns: u64,
    clipped_events: u64,
    #[serde(default)]
    restarts: u64,
    abandoned_events: u64,
    unopened: Vec<UnopenedRecord>,
    failure: Option<String>,
    cpu_user_ns: u64,
    cpu_system_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    audit: Option<LoadAudit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    figures: Option<MeasuredFigures>,
}

fn default_block() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_default_block(block: &u32) -> bool {
    *block <= 1
}

/// A line of `intervals.jsonl`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct IntervalLine {
    began_ns: u64,
    ended_ns: u64,
    events: Vec<u64>,
    errors: Vec<u64>,
    tally: TallyRecord,
    reconnects: u64,
    in_flight: u64,
    backlog: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    slots: Vec<u32>,
    /// How many lines of `histograms.hlog` belong to it; they were written before this line.
    hlog_lines: usize,
    /// How many machines' intervals it is the sum of; 0 where one machine ran the whole load.
    #[serde(default, skip_serializing_if = "is_zero")]
    machines: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl IntervalLine {
    pub(super) fn new(i: &IntervalRecord, hlog_lines: usize, machines: usize) -> IntervalLine {
        IntervalLine {
            began_ns: i.began_ns,
            ended_ns: i.ended_ns,
            events: i.events.clone(),
            errors: i.errors.clone(),
            tally: i.tally.clone(),
            reconnects: i.reconnects,
            in_flight: i.in_flight,
            backlog: i.backlog,
            slots: i.slots.clone(),
            hlog_lines,
            machines,
        }
    }

    /// How many lines of `histograms.hlog` are its own.
    pub(super) fn histogram_lines(&self) -> usize {
        self.hlog_lines
    }

    /// Its counts, without histograms.
    pub(super) fn into_plain_record(self) -> IntervalRecord {
        self.into_record(SparseHistogram::default(), Vec::new())
    }

    fn into_record(
        self,
        response: SparseHistogram,
        class_response: Vec<(usize, SparseHistogram)>,
    ) -> IntervalRecord {
        IntervalRecord {
            began_ns: self.began_ns,
            ended_ns: self.ended_ns,
            events: self.events,
            errors: self.errors,
            response,
            class_response,
            tally: self.tally,
            reconnects: self.reconnects,
            in_flight: self.in_flight,
            backlog: self.backlog,
            slots: self.slots,
        }
    }
}

impl TrialFile {
    /// The description of a load, with totals if it has ended.
    pub(super) fn new(t: &Trial, ended: bool) -> TrialFile {
        let counts = |all: &[Histogram]| all.iter().map(Histogram::len).collect();
        let totals = ended.then(|| TrialTotals {
            ended_ns: t.ended_ns,
            reason: t.reason.clone(),
            events: counts(&t.response),
            failed_events: counts(&t.failed),
            late_events: t.lateness.len(),
            unbegun_events: t.unbegun.len(),
            tally: t.tally.clone(),
            errors: t.errors.clone(),
            reconnects: t.reconnects,
            longest_outage_ns: t.longest_outage_ns,
            clipped_events: t.clipped,
            restarts: t.restarts,
            abandoned_events: t.abandoned,
            unopened: t.unopened.clone(),
            failure: t.failure.clone(),
            cpu_user_ns: t.cpu_user_ns,
            cpu_system_ns: t.cpu_system_ns,
            audit: t.audit.clone(),
            figures: t.figures.clone(),
        });
        TrialFile {
            id: t.id.clone(),
            variant: t.variant.clone(),
            pass: t.pass,
            block: t.block,
            value: t.value,
            settings: t.settings.clone(),
            step: t.step,
            only_class: t.only_class.clone(),
            workload: t.workload.clone(),
            options: t.options.clone(),
            facts: t.facts.clone(),
            arrival: t.arrival.text.clone(),
            arrival_kind: Some(t.arrival.kind.clone()),
            think_s: t.arrival.closed_think_s(),
            offered_per_s: t.offered_per_s,
            stages: t.stages.clone(),
            workers: t.workers,
            share: t.share.clone(),
            servers: t.dealt.clone(),
            engine: t.engine.clone(),
            classes: t.classes.clone(),
            event_steps: t.event_steps.clone(),
            event_step_labels: t.event_step_labels.clone(),
            began_ns: t.began_ns,
            totals,
        }
    }

    fn to_arrival(&self) -> ArrivalRecord {
        let Some(kind) = &self.arrival_kind else {
            return old_folders::arrival_of_text(&self.arrival);
        };
        let think_s = self.think_s.unwrap_or(0.0);
        ArrivalRecord { kind: kind.clone(), think_s, text: self.arrival.clone() }
    }

    fn to_trial(&self) -> Trial {
        Trial {
            id: self.id.clone(),
            variant: self.variant.clone(),
            pass: self.pass,
            block: self.block,
            value: self.value,
            settings: self.settings.clone(),
            step: self.step,
            only_class: self.only_class.clone(),
            workload: self.workload.clone(),
            options: self.options.clone(),
            facts: self.facts.clone(),
            arrival: self.to_arrival(),
            offered_per_s: self.offered_per_s,
            stages: self.stages.clone(),
            workers: self.workers,
            share: self.share.clone(),
            dealt: self.servers.clone(),
            engine: self.engine.clone(),
            classes: self.classes.clone(),
            event_steps: self.event_steps.clone(),
            event_step_labels: self.event_step_labels.clone(),
            began_ns: self.began_ns,
            ended_ns: self.began_ns,
            ..Trial::default()
        }
    }
}

/// Adds what was found of the data before or after a load to its `trial.json`: other programs find it there, we read it from
/// the step that looked.
pub(super) fn add_data_check(
    dir: &Path,
    when: &str,
    found: &DataVerdicts,
) -> Result<(), ArchiveError> {
    let path = dir.join(TRIAL_FILE);
    let Ok(text) = std::fs::read(&path) else { return Ok(()) };
    let Ok(mut file) = serde_json::from_slice::<serde_json::Value>(&text) else { return Ok(()) };
    file[format!("data_{when}")] = serde_json::json!({
        "all_hold": found.all_hold(), "answer": found.answer_text(), "verdicts": found,
    });
    replace_file(&path, &to_json(&file))
}

/// Reads one trial's folder; what is wrong with it goes to `damage`. `None` if even the description
/// is gone.
pub(super) fn read_trial(dir: &Path, damage: &mut Vec<String>) -> Option<Trial> {
    let id = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut note = |why: String| damage.push(format!("trial {id}: {why}"));
    let text = read_file(dir, TRIAL_FILE, &mut note);
    let file: TrialFile = match serde_json::from_slice(&text) {
        Ok(file) => file,
        Err(e) => {
            note(format!("trial.json: {e}"));
            return None;
        }
    };
    let mut trial = file.to_trial();
    trial.clear_histograms();
    let text = read_file(dir, "histograms.hlog", &mut note);
    let mut lines = hlog::HistogramLines::new(&trial.classes, &trial.event_steps, &text);
    let text = read_file(dir, "intervals.jsonl", &mut note);
    let (intervals, why) = super::reader::parse_json_lines::<IntervalLine>(&text);
    why.into_iter().for_each(|w| note(format!("intervals.jsonl {w}")));
    let by_class = file.totals.as_ref().is_some_and(|totals| totals.audit.is_some());
    for interval in intervals {
        let mine: Vec<HistogramEntry> = lines.by_ref().take(interval.hlog_lines).collect();
        if mine.len() < interval.hlog_lines {
            note("histograms.hlog ends before intervals.jsonl".to_owned());
            break;
        }
        add_interval(&mut trial, interval, mine, by_class);
    }
    lines.into_damage().into_iter().for_each(&mut note);
    match file.totals {
        Some(totals) => apply_totals(&mut trial, totals, &mut note),
        None => {
            trial.reason = TrialEnding::Cut;
            note("was interrupted: its totals are the sum of its intervals".to_owned());
        }
    }
    trial.waits = waits::read_waits(dir, &mut note);
    trial.replayed = replay::read_replay(dir, &mut note);
    trial.looks = looks::read_looks(dir, &mut note);
    trial.digests = looks::read_digests(dir, &mut note);
    Some(trial)
}

/// The good lines of a load's intervals, and the text of their histograms. What is wrong with them `read_trial` tells.
pub(super) fn read_interval_lines(dir: &Path) -> (Vec<IntervalLine>, Vec<u8>) {
    let text = read_file(dir, "intervals.jsonl", &mut drop);
    let (lines, _) = super::reader::parse_json_lines::<IntervalLine>(&text);
    (lines, read_file(dir, "histograms.hlog", &mut drop))
}

fn read_file(dir: &Path, name: &str, note: &mut impl FnMut(String)) -> Vec<u8> {
    std::fs::read(dir.join(name)).unwrap_or_else(|e| {
        note(format!("{name}: {e}"));
        Vec::new()
    })
}

/// Adds an interval and its histograms to the trial.
fn add_interval(
    trial: &mut Trial,
    line: IntervalLine,
    histograms: Vec<HistogramEntry>,
    by_class: bool,
) {
    let (mut response, mut class_response) = (SparseHistogram::default(), Vec::new());
    for HistogramEntry { part, histogram } in histograms {
        let sum = match part {
            HistogramKind::Response(class) => {
                response.add(&histogram);
                add_histogram(&mut trial.response[class], &histogram);
                if by_class {
                    class_response.push((class, histogram));
                }
                continue;
            }
            HistogramKind::Service(class) => &mut trial.service[class],
            HistogramKind::Failed(class) => &mut trial.failed[class],
            HistogramKind::Step(step) => &mut trial.step_latency[step],
            HistogramKind::FailedStep(step) => &mut trial.step_failed[step],
            HistogramKind::Lateness => &mut trial.lateness,
            HistogramKind::Unbegun => &mut trial.unbegun,
        };
        add_histogram(sum, &histogram);
    }
    let record = line.into_record(response, class_response);
    trial.ended_ns = trial.ended_ns.max(record.ended_ns);
    trial.tally.add(&record.tally);
    trial.reconnects = trial.reconnects.saturating_add(record.reconnects);
    trial.intervals.push(record);
}

/// Adds to a sum that is as small as an empty one until then.
fn add_histogram(sum: &mut Histogram, part: &SparseHistogram) {
    if sum.is_empty() {
        *sum = new_histogram();
    }
    part.add_to(sum);
}

fn apply_totals(trial: &mut Trial, totals: TrialTotals, note: &mut impl FnMut(String)) {
    let counts = |all: &[Histogram]| all.iter().map(Histogram::len).collect::<Vec<_>>();
    let read = (counts(&trial.response), counts(&trial.failed));
    let others = (trial.lateness.len(), trial.unbegun.len());
    if read != (totals.events.clone(), totals.failed_events.clone())
        || others != (totals.late_events, totals.unbegun_events)
    {
        // What the totals say is not checked yet.
        let sum = |v: &[u64]| v.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        note(format!(
            "its histograms hold {} good and {} failed events, its totals say {} and {}",
            sum(&read.0),
            sum(&read.1),
            sum(&totals.events),
            sum(&totals.failed_events)
        ));
    }
    trial.ended_ns = totals.ended_ns;
    trial.reason = totals.reason;
    trial.tally = totals.tally;
    trial.errors = totals.errors;
    trial.reconnects = totals.reconnects;
    trial.longest_outage_ns = totals.longest_outage_ns;
    trial.clipped = totals.clipped_events;
    trial.restarts = totals.restarts;
    trial.abandoned = totals.abandoned_events;
    trial.unopened = totals.unopened;
    trial.failure = totals.failure;
    trial.cpu_user_ns = totals.cpu_user_ns;
    trial.cpu_system_ns = totals.cpu_system_ns;
    trial.audit.clone_from(&totals.audit);
    trial.figures.clone_from(&totals.figures);
}
