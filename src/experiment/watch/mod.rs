//! A watch: samples of a server without a load, for an hour or for weeks. Each segment has a sampler and a clock of its own,
//! so that its ticks lie on the wall clock whatever happened to that before.
//! Start reading at [`run_watch`]; what is kept of a sample is decided in `recorder`.

mod classic;
mod guard;
mod heavy;
mod recorder;
mod room;
mod triggers;

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use super::run_context::RunOrigin;
use super::{facts, machine};
use crate::archive::{RunMeta, RunState, ServerRecord, WatchEvent, WatchEventKind, WatchWriter};
use crate::base::kernel::{self, local_time};
use crate::base::reactor::block_on;
use crate::base::units::show_duration;
use crate::base::{Clock as _, Nanos, RealClock, Stop};
use crate::client::Target;
use crate::plan::{Mistake, ProbePlan, WatchPlan};
use crate::probe::{ProbeSample, Sampler, find_probes, statement_times};
use crate::server::sandbox::ProcessId;
use classic::ClassicCapture;
use heavy::HeavyLooks;
use recorder::WatchRecorder;
use room::{WatchRoom, WriteGate, read_disk};

/// How often it is looked whether the watch has to end.
const LOOK: Nanos = Nanos(250_000_000);
/// A clock that is further off than this was set, seconds; what time services correct slowly stays below for an hour.
const CLOCK_STEP_S: f64 = 0.5;
/// A sampler is exchanged so long before the tick at which the next segment begins, or a quarter of an interval.
const LEAD: Nanos = Nanos(300_000_000);

/// Told what goes on during a watch.
pub trait WatchListener: Send {
    /// The watch begins.
    fn watch_started(&mut self, _dir: &std::path::Path, _server: &ServerRecord) {}
    /// A probe has looked; the time is that of its tick on the wall clock.
    fn sample_taken(&mut self, _sample: &ProbeSample, _unix_ns: u64) {}
    /// Something happened.
    fn event_noted(&mut self, _event: &WatchEvent) {}
}

/// What a watch cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WatchCost {
    /// How long it went on, seconds.
    pub seconds: f64,
    /// CPU time of this process, seconds.
    pub own_cpu_s: f64,
    /// CPU time of the server's threads that answered; `None` where they can't be seen.
    pub server_cpu_s: Option<f64>,
}

/// How a watch ended.
#[derive(Debug)]
pub struct FinishedWatch {
    /// Its folder.
    pub dir: PathBuf,
    /// How far it came.
    pub state: RunState,
    /// Samples of the probe that is looked at first.
    pub samples: u64,
    /// Ticks at which that one saw nothing.
    pub missing: u64,
    /// What it cost.
    pub cost: WatchCost,
    /// Why less was kept than was asked, if that is so.
    pub limited: Option<String>,
}

/// Why a segment ends.
#[derive(Clone, Debug, PartialEq)]
enum SegmentEnd {
    /// The next one begins.
    Rotated,
    /// The clock was set by so many seconds.
    ClockSet(f64),
    /// The time is over, or the file is gone.
    Through,
    /// The user wants it.
    Stopped,
}

/// Watches a server until the plan, the user or a file says that it is enough. A server that goes away is waited for.
///
/// # Errors
/// When a probe does not exist, the server does not answer at the beginning, or the folder can't be made.
pub fn run_watch(
    plan: &WatchPlan,
    target: &Target,
    origin: RunOrigin,
    stop: &Stop,
    listener: &mut dyn WatchListener,
) -> anyhow::Result<FinishedWatch> {
    let probes = sampled_probes(plan)?;
    // Before anything takes time: a process that ends meanwhile ends the watch, and is no mistake.
    let process = plan.pid.map(|pid| ProcessId::from_pid(pid).ok_or(pid));
    let process =
        process.transpose().map_err(|pid| anyhow::anyhow!("there is no process {pid}"))?;
    let server = facts::target_record(target, stop)?;
    check_percentiles(plan, target, stop)?;
    let clock = RealClock::start_now();
    let cpu_before = own_cpu();
    let meta = RunMeta {
        name: plan.name.clone(),
        command: origin.command,
        command_line: origin.command_line,
        defaults: origin.defaults,
        origin_unix_ns: clock.origin_unix_ns(),
        host: machine::host_facts(),
        server: Some(server.clone()),
        ..RunMeta::default()
    };
    let classic = plan.classic_dir.as_deref();
    let gate = WriteGate::default();
    let classic = classic.map(|dir| ClassicCapture::start(plan, dir, target, &gate)).transpose()?;
    let writer = WatchWriter::create(&plan.runs_dir, meta, &plan.to_toml())?;
    let dirs = [Some(writer.dir().to_owned()), plan.classic_dir.clone()];
    let dirs = dirs.into_iter().flatten().collect();
    let room = WatchRoom::new(&plan.limits, dirs, gate, Box::new(read_disk));
    let wants_heavy = !plan.triggers.is_empty();
    let heavy = wants_heavy.then(|| HeavyLooks::start(target, !plan.is_unredacted)).transpose()?;
    listener.watch_started(writer.dir(), &server);
    let mut recorder = WatchRecorder::new(plan, writer, room, listener);
    let run = WatchRun { plan, probes, target, stop, clock, process, heavy: heavy.as_ref() };
    let end = loop {
        match run.run_segment(&mut recorder)? {
            SegmentEnd::Rotated => {}
            SegmentEnd::ClockSet(by_s) => recorder.note_event(
                RealClock::start_now().origin_unix_ns(),
                WatchEventKind::ClockSet,
                clock_text(by_s),
            ),
            end => break end,
        }
    };
    if let Some(heavy) = heavy {
        heavy.stop();
    }
    let classic_cpu = classic.map(ClassicCapture::stop);
    let mut cost = WatchCost {
        seconds: clock.now().to_seconds(),
        own_cpu_s: own_cpu().since(cpu_before).to_seconds(),
        server_cpu_s: recorder.server_cpu_s(),
    };
    if let (Some(sum), Some(more)) = (&mut cost.server_cpu_s, classic_cpu.flatten()) {
        *sum += more.to_seconds();
    }
    let state = if end == SegmentEnd::Stopped { RunState::Interrupted } else { RunState::Done };
    recorder.close(state, cost, clock.now())
}

/// Names of the probes that look: those that were asked for, and one that a trigger needs besides.
fn sampled_probes(plan: &WatchPlan) -> Result<Vec<String>, Mistake> {
    let kinds = find_probes(&plan.probes)?;
    let mut names: Vec<String> = kinds.iter().map(|kind| kind.name.to_owned()).collect();
    let is_there = names.iter().any(|name| name == statement_times::NAME);
    if !is_there && plan.triggers.iter().any(|trigger| trigger.percentile().is_some()) {
        names.push(statement_times::NAME.to_owned());
    }
    Ok(names)
}

/// Whether the server tells what triggers need that wait for a percentile.
fn check_percentiles(plan: &WatchPlan, target: &Target, stop: &Stop) -> anyhow::Result<()> {
    let mut triggers = plan.triggers.iter().filter(|trigger| trigger.percentile().is_some());
    let Some(trigger) = triggers.next() else { return Ok(()) };
    let mut session = target.connect(stop)?;
    let seen = statement_times::check_statement_times(&mut session);
    block_on(session.quit());
    let mistake = |why: String| {
        let why = format!("the server does not say how long statements took: {why}");
        let hint = "`status.took_ms > 200` measures how long it takes to answer sweat";
        Mistake::new(format!("--when '{trigger}'"), why).hint(hint)
    };
    Ok(seen.map_err(mistake)?)
}

struct WatchRun<'a> {
    plan: &'a WatchPlan,
    probes: Vec<String>,
    target: &'a Target,
    stop: &'a Stop,
    /// Of the whole watch.
    clock: RealClock,
    /// The process with whose end it ends.
    process: Option<ProcessId>,
    heavy: Option<&'a HeavyLooks>,
}

impl WatchRun<'_> {
    fn run_segment(&self, recorder: &mut WatchRecorder<'_>) -> anyhow::Result<SegmentEnd> {
        let clock = RealClock::start_now();
        let origin = clock.origin_unix_ns();
        let span = SegmentSpan::at(origin, self.plan);
        recorder.start_segment(span.name_unix_ns, origin);
        let (out, samples) = mpsc::channel();
        let probes =
            ProbePlan { names: self.probes.clone(), interval: recorder.sampling_interval() };
        let sampler = Sampler::start_counted(&probes, self.target, clock, &out)?;
        let end = loop {
            let now = clock.now();
            if let Some(end) = self.reason_to_end(&clock, &span) {
                break end;
            }
            let left = span.ends_after.since(now);
            let wait = LOOK.min(left).min(self.time_left());
            if let Ok(sample) = samples.recv_timeout(wait.into()) {
                recorder.take_sample(sample, origin);
            }
            if let Some(heavy) = self.heavy {
                heavy.take_seen().for_each(|(origin, seen)| recorder.take_heavy(seen, origin));
                if recorder.take_heavy_request() {
                    heavy.ask();
                }
            }
            if recorder.wants_rotation(clock.unix_ns(clock.now())) {
                break SegmentEnd::Rotated;
            }
        };
        let server_cpu = sampler.server_cpu();
        let costs = sampler.stop();
        for sample in samples.try_iter() {
            recorder.take_sample(sample, origin);
        }
        recorder.end_segment(&costs, server_cpu, origin, clock.now());
        Ok(end)
    }

    fn reason_to_end(&self, clock: &RealClock, span: &SegmentSpan) -> Option<SegmentEnd> {
        if self.stop.is_set() {
            return Some(SegmentEnd::Stopped);
        }
        let is_gone = self.plan.while_file.as_ref().is_some_and(|file| !file.exists());
        let has_ended = self.process.as_ref().is_some_and(|process| !process.is_alive());
        if is_gone || has_ended || self.time_left() == Nanos(0) {
            return Some(SegmentEnd::Through);
        }
        let offset_s = clock.wall_offset_s();
        if offset_s.abs() > CLOCK_STEP_S {
            return Some(SegmentEnd::ClockSet(offset_s));
        }
        (clock.now() >= span.ends_after).then_some(SegmentEnd::Rotated)
    }

    fn time_left(&self) -> Nanos {
        let left = |time: Duration| Nanos::from(time).since(self.clock.now());
        self.plan.time.map_or(Nanos(u64::MAX), left)
    }
}

/// When a segment begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SegmentSpan {
    /// What it is called after.
    name_unix_ns: u64,
    /// Time after its origin at which its sampler ends.
    ends_after: Nanos,
}

impl SegmentSpan {
    /// Of a segment whose clock begins now. Its end is a multiple of the time of rotation in this machine's time zone.
    fn at(origin_unix_ns: u64, plan: &WatchPlan) -> SegmentSpan {
        let lead = LEAD.min(Nanos(Nanos::from(plan.every).0 / 4));
        let offset_s = local_time(origin_unix_ns / 1_000_000_000).map_or(0, |at| at.utc_offset_s);
        let step = Nanos::from(plan.rotate).0.max(1);
        let begin = next_multiple(origin_unix_ns, step, offset_s);
        // The sampler before this one ended a little before its time.
        let is_early = begin - origin_unix_ns <= lead.0;
        let name_unix_ns = if is_early { begin } else { origin_unix_ns };
        let end = if is_early { begin + step } else { begin };
        SegmentSpan { name_unix_ns, ends_after: Nanos(end - lead.0 - origin_unix_ns) }
    }
}

/// The first multiple of `step` on a clock that is `offset_s` ahead of UTC which is not before `unix_ns`.
fn next_multiple(unix_ns: u64, step: u64, offset_s: i64) -> u64 {
    let local = i128::from(unix_ns) + i128::from(offset_s) * 1_000_000_000;
    let past = local.rem_euclid(i128::from(step));
    let left = if past == 0 { 0 } else { i128::from(step) - past };
    unix_ns + u64::try_from(left).unwrap_or_default()
}

/// `this machine's clock was set back by 1 h`
fn clock_text(by_s: f64) -> String {
    let how = if by_s < 0.0 { "back" } else { "forward" };
    let by = match by_s.abs() {
        short if short < 10.0 => format!("{short:.1} s"),
        long => show_duration(long, 2),
    };
    format!("this machine's clock was set {how} by {by}; a new segment begins")
}

fn own_cpu() -> Nanos {
    let (user, system) = kernel::cpu_time();
    user + system
}

#[cfg(test)]
mod tests;
