//! Takes samples on clock-aligned ticks, from threads and a session of its own, and never holds up
//! a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::process::ThreadCpu;
use super::sampling_loop::{CostTable, ProbeCost, SampleSink, SamplingLoop};
use super::{PROBES, ProbeKind, ProbeSample, ProbedServer, TickGrid};
use crate::base::{Clock, Nanos, RealClock, Stop, StopReason};
use crate::client::Target;
use crate::plan::{Mistake, ProbePlan};

/// How long a look under way may go on once the sampler is told to stop, and how long it may take
/// to give up.
const GRACE: Nanos = Nanos(45_000_000);
/// How long the last looks may take.
const LAST: Nanos = Nanos(500_000_000);
/// How long `start` waits for the first session.
const OPENING: Duration = Duration::from_secs(5);

/// Probes at work. Dropping it stops them at once, without their last samples.
#[derive(Debug)]
pub struct Sampler {
    clock: RealClock,
    pid: Arc<AtomicU32>,
    abandon: Stop,
    /// Dropped to wake the threads.
    wakers: Vec<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
    boards: Vec<CostTable>,
    out: SampleSink,
    /// No last looks are wanted.
    cut: Arc<AtomicBool>,
    /// The server answered until the end: its last looks are under way.
    ending: Arc<AtomicBool>,
    /// What looks take of the server, where that is counted.
    server_cpu: Option<ThreadCpu>,
}

/// The probes of a list of names; those that look by default if it is empty.
///
/// # Errors
/// Names the first that doesn't exist.
pub fn find_probes(names: &[String]) -> Result<Vec<&'static ProbeKind>, Mistake> {
    if names.is_empty() {
        return Ok(PROBES.iter().filter(|kind| kind.is_default).collect());
    }
    let find = |name: &String| {
        PROBES.iter().find(|kind| kind.name == name).ok_or_else(|| {
            Mistake::new("probes", format!("no probe `{name}`")).hint(format!(
                "there are {}",
                PROBES.iter().map(|k| k.name).collect::<Vec<_>>().join(", ")
            ))
        })
    };
    names.iter().map(find).collect()
}

impl Sampler {
    /// Starts sampling into `out`, and returns once its session is open or could not be opened:
    /// call it before the load takes all connections. A server that is away, or refuses, leaves
    /// gaps. `pid` is the server's process where a control knows it; otherwise the server is asked.
    ///
    /// # Errors
    /// When a probe doesn't exist, or the machine gives no thread.
    pub fn start(
        plan: &ProbePlan,
        target: Option<&Target>,
        pid: Option<u32>,
        clock: RealClock,
        out: &Sender<ProbeSample>,
    ) -> anyhow::Result<Sampler> {
        Sampler::start_threads(plan, target, pid, clock, out, None)
    }

    /// The same, which also counts what it takes of the server's CPU, where that can be seen.
    ///
    /// # Errors
    /// As `start`.
    pub fn start_counted(
        plan: &ProbePlan,
        target: &Target,
        clock: RealClock,
        out: &Sender<ProbeSample>,
    ) -> anyhow::Result<Sampler> {
        let server_cpu = Some(ThreadCpu::default());
        Sampler::start_threads(plan, Some(target), None, clock, out, server_cpu)
    }

    fn start_threads(
        plan: &ProbePlan,
        target: Option<&Target>,
        pid: Option<u32>,
        clock: RealClock,
        out: &Sender<ProbeSample>,
        server_cpu: Option<ThreadCpu>,
    ) -> anyhow::Result<Sampler> {
        let kinds: Vec<_> = find_probes(&plan.names)?
            .into_iter()
            .filter(|kind| target.is_some() || !kind.needs_server)
            .collect();
        let pid = Arc::new(AtomicU32::new(pid.unwrap_or(0)));
        let abandon = Stop::new();
        let mut sampler = Sampler {
            clock,
            pid,
            abandon,
            wakers: Vec::new(),
            threads: Vec::new(),
            boards: Vec::new(),
            out: SampleSink::new(out.clone()),
            cut: Arc::default(),
            ending: Arc::default(),
            server_cpu,
        };
        let (ready, opened) = mpsc::channel();
        for (name, asks) in [("probe-server", true), ("probe-host", false)] {
            let kinds: Vec<_> = kinds.iter().copied().filter(|k| k.asks_server == asks).collect();
            if !kinds.is_empty() {
                sampler.spawn_thread(name, kinds, plan.interval.into(), target, &ready)?;
            }
        }
        for _ in &sampler.threads {
            // A server that takes longer is waited for by its thread alone.
            let _ = opened.recv_timeout(OPENING);
        }
        Ok(sampler)
    }

    fn spawn_thread(
        &mut self,
        name: &'static str,
        kinds: Vec<&'static ProbeKind>,
        interval: Nanos,
        target: Option<&Target>,
        ready: &Sender<()>,
    ) -> anyhow::Result<()> {
        let (waker, wake) = mpsc::channel();
        let (clock, pid, abandon) = (self.clock, self.pid.clone(), self.abandon.clone());
        let (target, ready) = (target.cloned(), ready.clone());
        let out = self.out.clone();
        let (cut, ending) = (self.cut.clone(), self.ending.clone());
        let (costs, shown) = mpsc::channel();
        let server_cpu = self.server_cpu.clone();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut subject = ProbedServer::new(target.as_ref(), &abandon, pid);
            if let Some(server_cpu) = server_cpu {
                subject = subject.with_thread_cpu(server_cpu);
            }
            let ticks = TickGrid::new(clock.origin_unix_ns(), interval);
            let mut round = SamplingLoop::new(name, &kinds, subject, clock, ticks, out);
            let _ = costs.send(round.cost_table());
            round.take_start_samples();
            let _ = ready.send(());
            round.run(|until| sleep_unless_woken(&wake, until.since(clock.now())));
            if !cut.load(Ordering::Relaxed) {
                ending.fetch_or(round.has_end_samples(), Ordering::Relaxed);
                round.take_end_samples();
            }
        })?;
        self.boards.extend(shown.recv());
        self.wakers.push(waker);
        self.threads.push(thread);
        Ok(())
    }

    /// The server was started anew: its process, if known.
    pub fn set_pid(&self, pid: Option<u32>) {
        self.pid.store(pid.unwrap_or(0), Ordering::Relaxed);
    }

    /// Process id of the server: what was set, or what the server said.
    pub fn pid(&self) -> Option<u32> {
        Some(self.pid.load(Ordering::Relaxed)).filter(|pid| *pid != 0)
    }

    /// CPU time of the server that looks took until the last tick; `None` where that is not counted or can't be seen.
    pub fn server_cpu(&self) -> Option<Nanos> {
        self.server_cpu.as_ref().and_then(ThreadCpu::total)
    }

    /// Takes the last samples (variables), stops, and says what sampling cost. Takes a few
    /// milliseconds where the server answers, at most half a second where it is slow, and less than
    /// 100 ms where it doesn't answer.
    pub fn stop(mut self) -> Vec<ProbeCost> {
        self.stop_threads();
        let costs = |board: &CostTable| board.lock().map(|costs| costs.clone()).unwrap_or_default();
        self.boards.iter().flat_map(costs).collect()
    }

    fn stop_threads(&mut self) {
        self.wakers.clear();
        self.wait_for_threads(GRACE);
        if self.ending.load(Ordering::Relaxed) {
            self.wait_for_threads(LAST);
        }
        self.abandon.set(StopReason::Done);
        self.wait_for_threads(GRACE);
        self.out.close();
        // A thread that still waits for a silent server ends by itself soon; nobody waits for it.
        for thread in self.threads.drain(..).filter(JoinHandle::is_finished) {
            let _ = thread.join();
        }
    }

    fn wait_for_threads(&self, most: Nanos) {
        let last = self.clock.now() + most;
        while !self.threads.iter().all(JoinHandle::is_finished) && self.clock.now() < last {
            self.clock.sleep_until(self.clock.now() + Nanos(1_000_000));
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        if self.threads.is_empty() {
            return;
        }
        self.cut.store(true, Ordering::Relaxed);
        self.abandon.set(StopReason::Done);
        self.stop_threads();
    }
}

/// Sleeps; `false` if woken to stop.
fn sleep_unless_woken(wake: &Receiver<()>, time: Nanos) -> bool {
    wake.recv_timeout(time.into()) == Err(RecvTimeoutError::Timeout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_found_by_name() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
            find_probes(&names).map(|kinds| kinds.iter().map(|k| k.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), PROBES.len() - 1, "one is asked for by name");
        assert_eq!(names(&["host", "status"]).unwrap(), ["host", "status"]);
        let mistake = names(&["hots"]).unwrap_err();
        assert!(mistake.hint.unwrap().contains("processlist"));
    }

    #[test]
    fn a_host_without_a_server_is_sampled_on_whole_ticks() {
        let clock = RealClock::start_now();
        let plan = ProbePlan { names: vec![], interval: Duration::from_millis(50) };
        let (out, samples) = mpsc::channel();
        let sampler = Sampler::start(&plan, None, None, clock, &out).unwrap();
        clock.sleep_until(Nanos(400_000_000));
        let before = clock.now();
        let costs = sampler.stop();
        assert!(clock.now().since(before).0 < 100_000_000);
        drop(out);
        let samples: Vec<ProbeSample> = samples.iter().collect();
        assert!(samples.len() >= 3, "{}", samples.len());
        for sample in samples.iter().filter(|s| s.probe == "host") {
            assert_eq!(clock.unix_ns(sample.planned) % 50_000_000, 0);
            assert!(sample.began >= sample.planned);
        }
        assert_eq!(costs.len(), 1);
        assert_eq!(costs[0].probe, "host");
        assert!(costs[0].total_ns > 0 && costs[0].longest_ns <= costs[0].total_ns);
    }
}
