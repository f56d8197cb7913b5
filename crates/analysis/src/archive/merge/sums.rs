//! The load of all shares: what adds is added, cell by cell.

use std::collections::BTreeMap;

use super::super::hlog::{HistogramEntry, HistogramKind, HistogramLines};
use super::super::recorded_names::{RecordedEngine, RecordedErrorKind, TrialEnding};
use super::super::share::{DealtSessions, SHARE_TEXT};
use super::super::tally::TallyRecord;
use super::super::trial::{self, IntervalLine};
use super::super::types::{ErrorRecord, IntervalRecord, StageRecord, Trial, UnopenedRecord};
use super::super::writer::MergedInterval;
use super::refusal::SharedRun;
use super::timeline::{IntervalSpan, MergedSlots, MergedTimeline};
use crate::base::Nanos;
use crate::recorder::{
    ClassTotals, DurationCounts, Histogram, Interval, LoadAudit, StepTotals, new_histogram,
};

/// The sum of histograms.
pub(super) fn add_all(all: &[Histogram]) -> Histogram {
    let mut sum = new_histogram();
    all.iter().for_each(|part| add_cells(&mut sum, part));
    sum
}

fn add_cells(sum: &mut Histogram, part: &Histogram) {
    sum.add(part).expect("the reader lets only our bounds through");
}

/// What describes the load, and its totals.
pub(super) fn merge_totals(runs: &[SharedRun<'_>], shifts: &[u64]) -> Trial {
    let (first, trials) = (runs[0].trial, || runs.iter().map(|run| run.trial));
    let shifted = |of: fn(&Trial) -> u64| {
        runs.iter().zip(shifts).map(move |(run, shift)| of(run.trial).saturating_add(*shift))
    };
    let sum = |of: fn(&Trial) -> u64| trials().map(of).fold(0u64, u64::saturating_add);
    let histograms = |of: fn(&Trial) -> &[Histogram]| -> Vec<Histogram> {
        let add = |at: usize| {
            let mut sum = new_histogram();
            trials().filter_map(|t| of(t).get(at)).for_each(|part| add_cells(&mut sum, part));
            sum
        };
        (0..of(first).len()).map(add).collect()
    };
    let one = |of: fn(&Trial) -> &Histogram| {
        let mut sum = new_histogram();
        trials().for_each(|trial| add_cells(&mut sum, of(trial)));
        sum
    };
    let mut arrival = first.arrival.clone();
    let own = format!("{SHARE_TEXT}{}", runs[0].share.text);
    arrival.text = arrival.text.strip_suffix(&own).unwrap_or(&arrival.text).to_owned();
    let mut tally = TallyRecord::default();
    trials().for_each(|trial| tally.add(&trial.tally));
    let same_engine = trials().all(|trial| trial.engine == first.engine);
    Trial {
        arrival,
        offered_per_s: trials().map(|t| t.offered_per_s).sum::<Option<f64>>().map(round_rate),
        stages: merge_stages(runs),
        workers: trials().map(|trial| trial.workers).sum(),
        share: None,
        dealt: merge_dealt(runs),
        engine: match same_engine {
            true => first.engine.clone(),
            false => RecordedEngine::Other("threads and reactor".to_owned()),
        },
        began_ns: shifted(|t| t.began_ns).min().unwrap_or(0),
        ended_ns: shifted(|t| t.ended_ns).max().unwrap_or(0),
        reason: merge_reason(trials().map(|trial| &trial.reason)),
        response: histograms(|t| &t.response),
        service: histograms(|t| &t.service),
        failed: histograms(|t| &t.failed),
        step_latency: histograms(|t| &t.step_latency),
        step_failed: histograms(|t| &t.step_failed),
        lateness: one(|t| &t.lateness),
        unbegun: one(|t| &t.unbegun),
        tally,
        errors: merge_errors(runs),
        reconnects: sum(|t| t.reconnects),
        longest_outage_ns: trials().map(|t| t.longest_outage_ns).max().unwrap_or(0),
        clipped: sum(|t| t.clipped),
        restarts: sum(|t| t.restarts),
        abandoned: sum(|t| t.abandoned),
        unopened: merge_unopened(runs),
        failure: runs.iter().find_map(|run| {
            Some(format!("share {}: {}", run.share.text, run.trial.failure.as_ref()?))
        }),
        cpu_user_ns: sum(|t| t.cpu_user_ns),
        cpu_system_ns: sum(|t| t.cpu_system_ns),
        intervals: Vec::new(),
        waits: None,
        replayed: None,
        audit: merge_audits(&trials().map(|trial| trial.audit.as_ref()).collect::<Vec<_>>()),
        figures: None,
        ..first.clone()
    }
}

/// Sums of shares of a rate, without the last digits that the shares lost.
fn round_rate(rate: f64) -> f64 {
    let scale = 10f64.powf((9.0 - rate.abs().max(1e-9).log10()).floor());
    (rate * scale).round() / scale
}

/// The sessions of each server over all machines, in the order in which servers are named.
fn merge_dealt(runs: &[SharedRun<'_>]) -> Vec<DealtSessions> {
    let mut sums: Vec<DealtSessions> = Vec::new();
    for one in runs.iter().flat_map(|run| &run.trial.dealt) {
        match sums.iter_mut().find(|sum| sum.server == one.server) {
            Some(sum) => sum.sessions += one.sessions,
            None => sums.push(one.clone()),
        }
    }
    sums
}

fn merge_stages(runs: &[SharedRun<'_>]) -> Vec<StageRecord> {
    let sum = |at: usize, of: fn(&StageRecord) -> f64| {
        round_rate(runs.iter().filter_map(|run| run.trial.stages.get(at)).map(of).sum())
    };
    let merge = |(at, stage): (usize, &StageRecord)| StageRecord {
        seconds: stage.seconds,
        from_per_s: sum(at, |s| s.from_per_s),
        to_per_s: sum(at, |s| s.to_per_s),
    };
    runs[0].trial.stages.iter().enumerate().map(merge).collect()
}

/// The gravest of the ends.
fn merge_reason<'a>(reasons: impl Iterator<Item = &'a TrialEnding>) -> TrialEnding {
    let rank = |reason: &TrialEnding| match reason {
        TrialEnding::Done => 0,
        TrialEnding::Interrupted => 1,
        TrialEnding::Other(_) => 2,
        TrialEnding::Cut => 3,
        TrialEnding::TargetLost => 4,
        TrialEnding::Failed => 5,
    };
    reasons.max_by_key(|reason| rank(reason)).cloned().unwrap_or_default()
}

/// Sums by class and code, the most frequent first; the text is the first share's.
fn merge_errors(runs: &[SharedRun<'_>]) -> Vec<ErrorRecord> {
    let mut sums: BTreeMap<(&str, &RecordedErrorKind, u16), ErrorRecord> = BTreeMap::new();
    for error in runs.iter().flat_map(|run| &run.trial.errors) {
        let sum = sums.entry((&error.class, &error.kind, error.code));
        let sum = sum.or_insert_with(|| ErrorRecord { count: 0, ..error.clone() });
        sum.count = sum.count.saturating_add(error.count);
    }
    let mut errors: Vec<ErrorRecord> = sums.into_values().collect();
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    errors
}

fn merge_unopened(runs: &[SharedRun<'_>]) -> Vec<UnopenedRecord> {
    let mut all: Vec<UnopenedRecord> =
        runs.iter().flat_map(|run| run.trial.unopened.iter().cloned()).collect();
    all.sort_by_key(|one| one.worker);
    all
}

/// The sum of what the workload's rules count; nothing where a share has none, or other rules.
fn merge_audits(audits: &[Option<&LoadAudit>]) -> Option<LoadAudit> {
    let mut sum = (*audits.first()?)?.clone();
    for audit in &audits[1..] {
        let audit = (*audit)?;
        let (ours, theirs) = (sum.counts.iter(), audit.counts.iter());
        let same_counts =
            ours.map(|c| (&c.clause, &c.label)).eq(theirs.map(|c| (&c.clause, &c.label)));
        let same_rates = sum.rates.iter().map(|r| &r.name).eq(audit.rates.iter().map(|r| &r.name));
        let bins = |all: &[DurationCounts]| -> Vec<(String, String, f64, usize)> {
            let bins_of = |one: &DurationCounts| {
                (one.clause.clone(), one.label.clone(), one.bin_s, one.counts.len())
            };
            all.iter().map(bins_of).collect()
        };
        let same_bins = bins(&sum.durations) == bins(&audit.durations);
        if !same_counts || !same_rates || !same_bins || sum.limits != audit.limits {
            return None;
        }
        for (one, by) in sum.durations.iter_mut().zip(&audit.durations) {
            one.longer = one.longer.saturating_add(by.longer);
            for (count, by) in one.counts.iter_mut().zip(&by.counts) {
                *count = count.saturating_add(*by);
            }
        }
        for (count, by) in sum.counts.iter_mut().zip(&audit.counts) {
            count.count = count.count.saturating_add(by.count);
            count.of = count.of.saturating_add(by.of);
        }
        for (rate, by) in sum.rates.iter_mut().zip(&audit.rates) {
            rate.count = rate.count.saturating_add(by.count);
        }
    }
    Some(sum)
}

/// One machine's intervals while they are merged. Histograms are unpacked one interval at a time: an hour has thousands.
struct MachineIntervals<'a> {
    lines: std::vec::IntoIter<IntervalLine>,
    places: std::vec::IntoIter<usize>,
    histograms: HistogramLines<'a>,
    next: Option<(usize, IntervalLine)>,
}

impl MachineIntervals<'_> {
    fn advance(&mut self) {
        self.next = self.places.next().zip(self.lines.next());
    }

    /// The next interval, if it belongs there, with its histograms.
    fn take_at(&mut self, place: usize) -> Option<(IntervalRecord, Vec<HistogramEntry>)> {
        let (_, line) = self.next.take_if(|(at, _)| *at == place)?;
        let entries = self.histograms.by_ref().take(line.histogram_lines()).collect();
        self.advance();
        Some((line.into_plain_record(), entries))
    }
}

/// Merges the intervals and gives them one by one.
pub(super) fn merge_intervals(
    runs: &[SharedRun<'_>],
    shifts: &[u64],
    trial: &Trial,
    on_interval: &mut dyn FnMut(&MergedInterval),
) {
    let spans: Vec<Vec<IntervalSpan>> = runs
        .iter()
        .zip(shifts)
        .map(|(run, shift)| {
            let span = |i: &IntervalRecord| {
                (i.began_ns.saturating_add(*shift), i.ended_ns.saturating_add(*shift))
            };
            run.trial.intervals.iter().map(span).collect()
        })
        .collect();
    let timeline = MergedTimeline::new(&spans);
    let mut slots = MergedSlots::new();
    for (run, spans) in runs.iter().zip(&spans) {
        let intervals = run.trial.intervals.iter().zip(spans);
        intervals.for_each(|(interval, (began_ns, _))| slots.add(*began_ns, interval));
    }
    let files: Vec<(Vec<IntervalLine>, Vec<u8>)> = runs
        .iter()
        .map(|run| trial::read_interval_lines(&run.input.dir.join("trials").join(&run.trial.id)))
        .collect();
    let mut machines: Vec<MachineIntervals<'_>> = files
        .iter()
        .zip(&timeline.places)
        .map(|((lines, text), places)| {
            // Where the reader stopped, so does this.
            let lines = lines[..places.len().min(lines.len())].to_vec();
            let mut machine = MachineIntervals {
                lines: lines.into_iter(),
                places: places.clone().into_iter(),
                histograms: HistogramLines::new(&trial.classes, &trial.event_steps, text),
                next: None,
            };
            machine.advance();
            machine
        })
        .collect();
    for place in 0..timeline.len() {
        let span = (timeline.edges[place], timeline.edges[place + 1]);
        let merged = merge_one(&mut machines, place, span, trial, slots.take(span));
        on_interval(&merged);
    }
}

fn merge_one(
    machines: &mut [MachineIntervals<'_>],
    place: usize,
    (began_ns, ended_ns): IntervalSpan,
    trial: &Trial,
    slots: Vec<u32>,
) -> MergedInterval {
    let mut sum = Interval::empty(Nanos(began_ns), Nanos(ended_ns));
    sum.classes = trial.classes.iter().map(|_| ClassTotals::default()).collect();
    sum.steps = trial.event_steps.iter().map(|_| StepTotals::default()).collect();
    let classes = trial.classes.len();
    let mut record = IntervalRecord {
        began_ns,
        ended_ns,
        events: vec![0; classes],
        errors: vec![0; classes],
        slots,
        ..IntervalRecord::default()
    };
    let mut here = 0;
    for machine in machines {
        let (mut in_flight, mut backlog) = (0, 0);
        let mut is_here = false;
        while let Some((part, entries)) = machine.take_at(place) {
            is_here = true;
            add_counts(&mut record.events, &part.events);
            add_counts(&mut record.errors, &part.errors);
            record.tally.add(&part.tally);
            record.reconnects = record.reconnects.saturating_add(part.reconnects);
            // Those at the end of the merged interval are those at the end of its last part.
            (in_flight, backlog) = (part.in_flight, part.backlog);
            entries.iter().for_each(|entry| add_entry(&mut sum, entry));
        }
        here += usize::from(is_here);
        record.in_flight = record.in_flight.saturating_add(in_flight);
        record.backlog = record.backlog.saturating_add(backlog);
    }
    MergedInterval { record, histograms: sum, machines: here }
}

fn add_counts(sums: &mut [u64], parts: &[u64]) {
    sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum = sum.saturating_add(*part));
}

fn add_entry(sum: &mut Interval, entry: &HistogramEntry) {
    let of = match entry.part {
        HistogramKind::Response(class) => &mut sum.classes[class].response,
        HistogramKind::Service(class) => &mut sum.classes[class].service,
        HistogramKind::Failed(class) => &mut sum.classes[class].failed,
        HistogramKind::Step(step) => &mut sum.steps[step].latency,
        HistogramKind::FailedStep(step) => &mut sum.steps[step].failed,
        HistogramKind::Lateness => &mut sum.lateness,
        HistogramKind::Unbegun => &mut sum.unbegun,
    };
    of.add(&entry.histogram);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_all_machines_are_added_where_their_bins_are_the_same() {
        let audit = |bin_s: f64, longer: u64| {
            let label = "think time".to_owned();
            let counts = vec![1, 2, longer];
            let one = DurationCounts { label, bin_s, counts, longer, ..DurationCounts::default() };
            LoadAudit { durations: vec![one], ..LoadAudit::default() }
        };
        let (one, two) = (audit(0.5, 3), audit(0.5, 4));
        let sum = merge_audits(&[Some(&one), Some(&two)]).unwrap();
        assert_eq!(sum.durations[0].counts, [2, 4, 7]);
        assert_eq!(sum.durations[0].longer, 7);
        assert_eq!(merge_audits(&[Some(&one), Some(&audit(0.25, 4))]), None);
    }
}
