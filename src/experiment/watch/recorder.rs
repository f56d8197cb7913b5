//! What is kept of a watch: decides sample by sample, by their times alone, so that tests can simulate weeks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::guard::WriteExtent;
use super::room::WatchRoom;
use super::triggers::{DayCount, SampleRing, TriggerSign, TriggerState};
use super::{FinishedWatch, WatchCost, WatchListener};
use crate::analysis::number_format::format_number;
use crate::archive::{self, RunState, SampleRecord, WatchEvent, WatchEventKind, WatchWriter};
use crate::base::Nanos;
use crate::base::units::show_duration;
use crate::plan::WatchPlan;
use crate::probe::{
    GapKind, ProbeCost, ProbeKind, ProbeSample, SampleValues, SamplingSchedule, variables,
};

/// The counter that falls when a server is restarted.
const UPTIME: &str = "Uptime";
/// A look that takes longer than so many intervals is told.
const LONG_LOOK: f64 = 2.0;
/// Longest time between two looks where there are triggers.
const TRIGGER_INTERVAL: Duration = Duration::from_secs(1);
/// After a write that failed, so long until another segment is tried.
const RETRY: Nanos = Nanos(60_000_000_000);
/// Most different reasons for which something is not sampled that are told.
const MOST_REASONS: usize = 100;

/// The record of a watch under way.
pub(super) struct WatchRecorder<'a> {
    plan: &'a WatchPlan,
    writer: WatchWriter,
    room: WatchRoom,
    listener: &'a mut dyn WatchListener,
    /// Since when the server does not answer, nanoseconds since 1970.
    silent_since: Option<u64>,
    uptime_s: Option<f64>,
    /// What is not sampled, and why.
    unseen: BTreeSet<(&'static str, String)>,
    /// Variables as the open segment saw them first.
    first_variables: Option<SampleValues>,
    /// Variables as they were last seen.
    variables: BTreeMap<String, String>,
    /// Samples and ticks without one, by probe.
    counts: BTreeMap<&'static str, (u64, u64)>,
    server_cpu: Option<Nanos>,
    limited: Option<String>,
    /// When a write of the open segment failed.
    failed_unix_ns: Option<u64>,
    /// Tick at which the disk was looked at.
    checked_unix_ns: u64,
    is_segment_full: bool,
    triggers: Vec<TriggerState>,
    ring: SampleRing,
    day: DayCount,
    incident: Option<OpenIncident>,
    wants_heavy: bool,
    holds_incident: bool,
}

/// An incident whose samples are kept.
struct OpenIncident {
    dir: PathBuf,
    until_unix_ns: u64,
}

impl<'a> WatchRecorder<'a> {
    pub(super) fn new(
        plan: &'a WatchPlan,
        writer: WatchWriter,
        room: WatchRoom,
        listener: &'a mut dyn WatchListener,
    ) -> WatchRecorder<'a> {
        WatchRecorder {
            plan,
            writer,
            room,
            listener,
            silent_since: None,
            uptime_s: None,
            unseen: BTreeSet::new(),
            first_variables: None,
            variables: BTreeMap::new(),
            counts: BTreeMap::new(),
            server_cpu: None,
            limited: None,
            failed_unix_ns: None,
            checked_unix_ns: 0,
            is_segment_full: false,
            triggers: plan.triggers.iter().map(TriggerState::new).collect(),
            ring: SampleRing::default(),
            day: DayCount::default(),
            incident: None,
            wants_heavy: false,
            holds_incident: false,
        }
    }

    /// Time between two looks.
    pub(super) fn sampling_interval(&self) -> Duration {
        match self.triggers.is_empty() {
            true => self.plan.every,
            false => self.plan.every.min(TRIGGER_INTERVAL),
        }
    }

    /// CPU time of the server so far, seconds.
    pub(super) fn server_cpu_s(&self) -> Option<f64> {
        self.server_cpu.map(Nanos::to_seconds)
    }

    /// Begins a segment whose clock began at `origin_unix_ns`.
    pub(super) fn start_segment(&mut self, name_unix_ns: u64, origin_unix_ns: u64) {
        self.first_variables = None;
        self.failed_unix_ns = None;
        self.is_segment_full = false;
        self.holds_incident = false;
        if let Err(e) = self.writer.start_segment(name_unix_ns, origin_unix_ns) {
            self.limit(origin_unix_ns, &e.to_string());
        }
    }

    /// Takes in a sample of the open segment.
    pub(super) fn take_sample(&mut self, mut sample: ProbeSample, origin_unix_ns: u64) {
        if !self.plan.is_unredacted {
            sample.hide_values();
        }
        let unix_ns = origin_unix_ns.saturating_add(sample.planned.0);
        let kind = ProbeKind::of_sample(&sample);
        if kind.is_some_and(|kind| kind.asks_server) {
            self.follow_server(&sample, origin_unix_ns);
        }
        if sample.gap_kind() == Some(GapKind::NotSeen) {
            self.note_unseen(&sample, unix_ns);
        }
        if sample.probe == variables::NAME {
            self.keep_variables(&sample.values, unix_ns);
        }
        self.check_room(unix_ns);
        if self.is_kept(&sample, kind, unix_ns) {
            self.write_sample(&sample, unix_ns);
        }
        if !self.triggers.is_empty() {
            self.follow_triggers(&sample, origin_unix_ns, unix_ns);
        }
        self.listener.sample_taken(&sample, unix_ns);
    }

    /// Whether a sample belongs to those that are kept: looks may be taken more often.
    fn is_kept(&self, sample: &ProbeSample, kind: Option<&ProbeKind>, unix_ns: u64) -> bool {
        let is_ticked = kind.is_some_and(|kind| kind.schedule != SamplingSchedule::Ends);
        let every = Nanos::from(self.plan.every).0.max(1);
        let is_due = !is_ticked || sample.gap_kind().is_some() || unix_ns % every == 0;
        is_due && self.room.extent().takes_tick(unix_ns / every)
    }

    fn write_sample(&mut self, sample: &ProbeSample, unix_ns: u64) {
        if let Err(why) = self.writer.write_sample(&SampleRecord::from(sample)) {
            self.limit(unix_ns, &why);
        }
    }

    /// Something can't be written; said once for each segment.
    fn limit(&mut self, unix_ns: u64, why: &str) {
        if self.failed_unix_ns.is_none() {
            self.failed_unix_ns = Some(unix_ns);
            self.limited = Some(why.to_owned());
            let text = format!("samples are not written: {why}");
            self.note_event(unix_ns, WatchEventKind::Limited, text);
        }
    }

    /// Whether the open segment has to end before its time.
    pub(super) fn wants_rotation(&self, now_unix_ns: u64) -> bool {
        let is_over = |failed: u64| now_unix_ns.saturating_sub(failed) > RETRY.0;
        self.is_segment_full || self.failed_unix_ns.is_some_and(is_over)
    }

    /// Looks at the room on the disk, once per tick.
    fn check_room(&mut self, unix_ns: u64) {
        if self.checked_unix_ns == unix_ns {
            return;
        }
        self.checked_unix_ns = unix_ns;
        let change = self.room.check(self.writer.segment_dir(), unix_ns);
        self.is_segment_full = self.room.is_full(self.writer.segment_dir());
        for text in change.removed {
            self.note_event(unix_ns, WatchEventKind::Removed, text);
        }
        if let Some(text) = change.extent {
            if self.room.extent() != WriteExtent::All {
                self.limited = Some(text.clone());
            }
            self.note_event(unix_ns, WatchEventKind::Limited, text);
        }
    }

    /// Keeps what an incident needs, begins one where a trigger says so, and ends it.
    fn follow_triggers(&mut self, sample: &ProbeSample, origin_unix_ns: u64, unix_ns: u64) {
        self.ring.push(origin_unix_ns, sample);
        if self.incident.is_some() {
            self.writer.write_incident_sample(origin_unix_ns, SampleRecord::from(sample));
        }
        let is_over = |open: &mut OpenIncident| unix_ns >= open.until_unix_ns;
        if let Some(open) = self.incident.take_if(is_over) {
            self.end_incident(&open, unix_ns);
        }
        for place in 0..self.triggers.len() {
            match self.triggers[place].observe(sample, unix_ns) {
                TriggerSign::Quiet => {}
                TriggerSign::Fired(value) => self.start_incident(place, value, unix_ns),
                TriggerSign::Unknown => {
                    let name = &self.triggers[place].trigger.counter;
                    let text = format!("--when: no probe has a number `{name}`");
                    self.note_event(unix_ns, WatchEventKind::NotSampled, text);
                }
            }
        }
    }

    fn start_incident(&mut self, place: usize, value: f64, unix_ns: u64) {
        let pause = Nanos::from(self.plan.pause);
        if self.incident.is_some() || !self.triggers[place].take_turn(unix_ns, pause) {
            return;
        }
        let shown = if value.fract() == 0.0 { value.to_string() } else { format_number(value) };
        let why = format!("{} (it is {shown})", self.triggers[place].trigger);
        let most = self.plan.incidents_per_day;
        if !self.day.take_one(unix_ns, most) {
            if self.day.is_first_over(most) {
                let text = format!("{why}: not kept, there were {most} incidents on this day");
                self.note_event(unix_ns, WatchEventKind::Incident, text);
            }
            return;
        }
        if self.room.extent() == WriteExtent::Nothing {
            let text = format!("{why}: not kept, there is no room");
            self.note_event(unix_ns, WatchEventKind::Incident, text);
            return;
        }
        let first = self.ring.first_unix_ns().unwrap_or(unix_ns);
        let name = self.triggers[place].trigger.counter.clone();
        match self.writer.start_incident(&name, unix_ns, first, &why) {
            Ok(dir) => {
                for (origin, kept) in self.ring.iter() {
                    self.writer.write_incident_sample(*origin, SampleRecord::from(kept));
                }
                let name = dir.file_name().unwrap_or_default().to_string_lossy();
                let text = format!("{why}: kept in incidents/{name}");
                let until_unix_ns = unix_ns.saturating_add(Nanos::from(self.plan.after).0);
                self.incident = Some(OpenIncident { dir, until_unix_ns });
                self.holds_incident = true;
                self.wants_heavy = true;
                self.note_event(unix_ns, WatchEventKind::Incident, text);
            }
            Err(e) => self.limit(unix_ns, &e.to_string()),
        }
    }

    fn end_incident(&mut self, open: &OpenIncident, unix_ns: u64) {
        if let Err(e) = self.writer.end_incident(unix_ns) {
            self.limit(unix_ns, &e.to_string());
        }
        self.room.add_incident(&open.dir);
    }

    /// Whether a heavy look is wanted; asked once.
    pub(super) fn take_heavy_request(&mut self) -> bool {
        std::mem::take(&mut self.wants_heavy)
    }

    /// Takes in a part of a heavy look.
    pub(super) fn take_heavy(&mut self, seen: ProbeSample, origin_unix_ns: u64) {
        self.writer.write_incident_sample(origin_unix_ns, SampleRecord::from(&seen));
    }

    /// Notes that something happened.
    pub(super) fn note_event(&mut self, unix_ns: u64, kind: WatchEventKind, text: String) {
        let event = WatchEvent { unix_ns, kind, text };
        // On a full disk the listener still hears it.
        let _ = self.writer.write_event(&event);
        self.listener.event_noted(&event);
    }

    /// Whether the server answers, and whether it is still the same.
    fn follow_server(&mut self, sample: &ProbeSample, origin_unix_ns: u64) {
        let at = |nanos: Nanos| origin_unix_ns.saturating_add(nanos.0);
        match sample.gap_kind() {
            Some(GapKind::NoConnection) => {
                if self.silent_since.is_none() {
                    self.silent_since = Some(at(sample.planned));
                    let SampleValues::Gap(why) = &sample.values else { return };
                    self.note_event(at(sample.planned), WatchEventKind::NoAnswer, why.clone());
                }
            }
            Some(GapKind::MissedTicks | GapKind::NotSeen) => {}
            None => {
                let ended = at(sample.ended);
                if let Some(since) = self.silent_since.take() {
                    let long = show_duration(ended.saturating_sub(since) as f64 / 1e9, 2);
                    let text = format!("the server answers again, after {long}");
                    self.note_event(ended, WatchEventKind::Answered, text);
                }
                let took = sample.ended.since(sample.began).to_seconds();
                if took > LONG_LOOK * self.sampling_interval().as_secs_f64() {
                    let text = format!("the server took {took:.1} s to answer");
                    self.note_event(at(sample.began), WatchEventKind::NoAnswer, text);
                }
                if let Some(uptime) = sample.number(UPTIME) {
                    let before = self.uptime_s.replace(uptime);
                    if before.is_some_and(|before| uptime < before) {
                        let text = format!("the server was restarted {uptime} s before");
                        self.note_event(ended, WatchEventKind::Restarted, text);
                    }
                }
            }
        }
    }

    /// Says once what is not sampled.
    fn note_unseen(&mut self, sample: &ProbeSample, unix_ns: u64) {
        let SampleValues::Gap(why) = &sample.values else { return };
        let reason = (sample.probe, why.clone());
        if self.unseen.len() < MOST_REASONS && self.unseen.insert(reason) {
            let text = format!("{}: {why}", sample.probe);
            self.note_event(unix_ns, WatchEventKind::NotSampled, text);
        }
    }

    /// Keeps the server's variables with the segment, and notes which have changed since they were last seen.
    fn keep_variables(&mut self, values: &SampleValues, unix_ns: u64) {
        let (start, end) = match &self.first_variables {
            None => (values, None),
            Some(start) => (start, Some(values)),
        };
        let joined = archive::join_variables(start, end);
        self.writer.write_variables(&joined);
        if self.first_variables.is_none() {
            self.first_variables = Some(values.clone());
        }
        let mut changed = Vec::new();
        for variable in joined {
            let now = variable.end.unwrap_or(variable.start);
            let before = self.variables.insert(variable.name.clone(), now.clone());
            if let Some(before) = before.filter(|before| *before != now) {
                changed.push(format!("{}: {before} -> {now}", variable.name));
            }
        }
        for text in changed {
            self.note_event(unix_ns, WatchEventKind::VariableChanged, text);
        }
    }

    /// Closes the open segment.
    pub(super) fn end_segment(
        &mut self,
        costs: &[ProbeCost],
        server_cpu: Option<Nanos>,
        origin_unix_ns: u64,
        ended: Nanos,
    ) {
        for cost in costs {
            let (samples, gaps) = self.counts.entry(cost.probe).or_default();
            *samples += cost.samples;
            *gaps += cost.gaps;
        }
        if let Some(more) = server_cpu {
            self.server_cpu = Some(self.server_cpu.unwrap_or_default() + more);
        }
        let dir = self.writer.segment_dir().map(std::path::Path::to_owned);
        let ended_unix_ns = origin_unix_ns.saturating_add(ended.0);
        // What failed was told when it failed.
        let _ = self.writer.end_segment(ended);
        if let Some(dir) = dir {
            self.room.add_segment(dir, ended_unix_ns, self.holds_incident);
        }
    }

    /// Closes the folder.
    ///
    /// # Errors
    /// When it can't be written.
    pub(super) fn close(
        mut self,
        state: RunState,
        cost: WatchCost,
        ended: Nanos,
    ) -> anyhow::Result<FinishedWatch> {
        if let Some(open) = self.incident.take() {
            let now = self.checked_unix_ns;
            self.end_incident(&open, now);
        }
        let first = crate::probe::PROBES.iter().find_map(|kind| {
            let is_ticked = kind.schedule == SamplingSchedule::Ticks(1);
            self.counts.get(kind.name).filter(|_| is_ticked)
        });
        let (samples, missing) = first.copied().unwrap_or_default();
        self.writer.set_fact("samples", json!(samples));
        self.writer.set_fact("missing", json!(missing));
        self.writer.set_fact("seconds", json!(cost.seconds));
        self.writer.set_fact("own_cpu_s", json!(cost.own_cpu_s));
        self.writer.set_fact("server_cpu_s", json!(cost.server_cpu_s));
        let (dir, limited) = (self.writer.dir().to_owned(), self.limited);
        let closed = self.writer.close(state, limited.clone(), ended);
        if limited.is_none() {
            closed?;
        }
        Ok(FinishedWatch { dir, state, samples, missing, cost, limited })
    }
}
