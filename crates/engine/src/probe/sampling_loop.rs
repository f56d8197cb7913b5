//! One thread's probes: what happens at a tick, and when ticks are missed or looks take too long.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use super::{
    Probe, ProbeError, ProbeKind, ProbeSample, ProbedServer, SampleValues, SamplingSchedule,
    TickGrid,
};
use crate::base::{Clock, Nanos, RealClock};

/// A tick whose looks take more than this share of the interval is slow.
const SLOW_SHARE: f64 = 0.2;
/// So many slow ticks in a row, and the rate is halved: a single one may be the server's own stall.
const SLOW_TICKS: u32 = 2;
/// The rate is not halved beyond this interval.
const SLOWEST: Nanos = Nanos(60_000_000_000);

/// What a gap says where looks took too long.
pub(super) const TICKS_MISSED: &str = "ticks missed";

/// What sampling cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeCost {
    /// Name of the probe.
    pub probe: &'static str,
    /// Looks that saw something.
    pub samples: u64,
    /// Looks that saw nothing, and ticks without a look.
    pub gaps: u64,
    /// Time of all looks, nanoseconds.
    pub total_ns: u64,
    /// Time of the longest look, nanoseconds.
    pub longest_ns: u64,
}

/// The probes of one thread.
pub(super) struct SamplingLoop<C: Clock> {
    name: &'static str,
    posts: Vec<ScheduledProbe>,
    subject: ProbedServer,
    clock: C,
    origin_unix_ns: u64,
    ticks: TickGrid,
    slow: u32,
    out: SampleSink,
    board: CostTable,
}

/// Where samples go, until nobody wants them any more: a thread that waits for a silent server must
/// not keep the channel open.
#[derive(Clone, Debug)]
pub(super) struct SampleSink(Arc<Mutex<Option<Sender<ProbeSample>>>>);

impl SampleSink {
    pub(super) fn new(sender: Sender<ProbeSample>) -> SampleSink {
        SampleSink(Arc::new(Mutex::new(Some(sender))))
    }

    /// Lets go of the channel.
    pub(super) fn close(&self) {
        self.0.lock().expect("nobody panics while sending").take();
    }

    fn send(&self, sample: ProbeSample) {
        if let Some(sender) = &*self.0.lock().expect("nobody panics while sending") {
            // Whoever doesn't listen any more will stop us soon.
            let _ = sender.send(sample);
        }
    }
}

/// Costs, shared with whoever wants to know.
pub(super) type CostTable = Arc<Mutex<Vec<ProbeCost>>>;

struct ScheduledProbe {
    probe: Box<dyn Probe>,
    rhythm: SamplingSchedule,
    /// Has not looked yet: its first tick is any.
    fresh: bool,
    /// Never asked again.
    retired: bool,
    cost: ProbeCost,
}

impl SamplingLoop<RealClock> {
    pub(super) fn new(
        name: &'static str,
        kinds: &[&ProbeKind],
        subject: ProbedServer,
        clock: RealClock,
        ticks: TickGrid,
        out: SampleSink,
    ) -> SamplingLoop<RealClock> {
        SamplingLoop::with_clock(name, kinds, subject, clock, clock.origin_unix_ns(), ticks, out)
    }
}

impl<C: Clock> SamplingLoop<C> {
    fn with_clock(
        name: &'static str,
        kinds: &[&ProbeKind],
        subject: ProbedServer,
        clock: C,
        origin_unix_ns: u64,
        ticks: TickGrid,
        out: SampleSink,
    ) -> SamplingLoop<C> {
        let posts = kinds.iter().map(|kind| ScheduledProbe::new(kind)).collect();
        let costs = CostTable::default();
        SamplingLoop {
            name,
            posts,
            subject,
            clock,
            origin_unix_ns,
            ticks,
            slow: 0,
            out,
            board: costs,
        }
    }

    /// Opens the session and takes what is taken at the start.
    pub(super) fn take_start_samples(&mut self) {
        // Failure shows as a gap at the first look.
        let _ = self.subject.open_session();
        self.sample_ends();
    }

    /// Takes samples until `wait`, which sleeps until a time, says that it is enough.
    pub(super) fn run(&mut self, mut wait: impl FnMut(Nanos) -> bool) {
        let mut tick = self.ticks.next_after(self.clock.now());
        while wait(tick) {
            tick = self.sample_tick(tick);
        }
    }

    /// Whether something is taken at the end.
    pub(super) fn has_end_samples(&self) -> bool {
        self.posts.iter().any(|post| post.rhythm == SamplingSchedule::Ends && !post.retired)
    }

    /// Takes what is taken at the end, and says good-bye to the server.
    pub(super) fn take_end_samples(mut self) {
        self.subject.start_tick();
        self.sample_ends();
        self.subject.close();
    }

    /// What looks cost so far, by probe; stays readable while they go on.
    pub(super) fn cost_table(&self) -> CostTable {
        self.board.clone()
    }

    fn publish_costs(&self) {
        let costs = self.posts.iter().map(|post| post.cost.clone()).collect();
        *self.board.lock().expect("nobody panics while holding a list") = costs;
    }

    fn sample_ends(&mut self) {
        let planned = self.clock.now();
        for at in 0..self.posts.len() {
            if self.posts[at].rhythm == SamplingSchedule::Ends {
                self.sample_probe(at, planned);
            }
        }
        self.publish_costs();
    }

    /// All looks of a tick; gives the next one.
    fn sample_tick(&mut self, tick: Nanos) -> Nanos {
        let began = self.clock.now();
        let number = self.ticks.tick_number(tick, self.origin_unix_ns);
        self.subject.start_tick();
        for at in 0..self.posts.len() {
            if self.posts[at].is_due(number) {
                self.sample_probe(at, tick);
            }
        }
        let now = self.clock.now();
        let took = now.since(began);
        let next = self.ticks.next_after(now);
        let missed = self.ticks.ticks_between(tick, next);
        if missed > 0 {
            self.record_missed_ticks(tick + self.ticks.interval(), missed, took);
        }
        self.throttle_if_slow(tick, took);
        self.subject.count_thread_cpu();
        self.publish_costs();
        self.ticks.next_after(now)
    }

    fn sample_probe(&mut self, at: usize, planned: Nanos) {
        let post = &mut self.posts[at];
        if post.retired {
            return;
        }
        post.fresh = false;
        let began = self.clock.now();
        let values = match post.probe.take_sample(&mut self.subject) {
            Ok(values) => values,
            Err(ProbeError::Now(why)) => SampleValues::Gap(why),
            Err(ProbeError::ForGood(why)) => {
                post.retired = true;
                SampleValues::Gap(why)
            }
        };
        let ended = self.clock.now();
        post.cost.add_sample(&values, ended.since(began));
        let sample = ProbeSample { probe: post.cost.probe, planned, began, ended, values };
        self.out.send(sample);
    }

    /// Ticks went by without a look: one gap per probe, never looks in a burst.
    fn record_missed_ticks(&mut self, first: Nanos, ticks: u64, took: Nanos) {
        let now = self.clock.now();
        let why =
            format!("{ticks} {TICKS_MISSED}: the sample before took {:.3} s", took.to_seconds());
        for post in &mut self.posts {
            if post.rhythm == SamplingSchedule::Ticks(1) && !post.retired {
                let values = SampleValues::Gap(why.clone());
                post.cost.gaps += ticks;
                let (planned, probe) = (first, post.cost.probe);
                self.out.send(ProbeSample { probe, planned, began: now, ended: now, values });
            }
        }
    }

    /// Halves the rate where looks take too much of it.
    fn throttle_if_slow(&mut self, tick: Nanos, took: Nanos) {
        let interval = self.ticks.interval();
        let slow = took.to_seconds() > SLOW_SHARE * interval.to_seconds();
        self.slow = if slow { self.slow + 1 } else { 0 };
        if self.slow < SLOW_TICKS || interval.0 * 2 > SLOWEST.0 {
            return;
        }
        self.slow = 0;
        self.ticks = TickGrid::new(self.origin_unix_ns, Nanos(interval.0 * 2));
        let now = self.clock.now();
        let text = format!(
            "{}: samples took {:.3} s, more than a fifth of the interval, {SLOW_TICKS} times in a \
             row; now sampling every {:.3} s",
            self.name,
            took.to_seconds(),
            self.ticks.interval().to_seconds()
        );
        let values = SampleValues::Text(text);
        self.out.send(ProbeSample {
            probe: "sampler",
            planned: tick,
            began: now,
            ended: now,
            values,
        });
    }
}

impl ScheduledProbe {
    fn new(kind: &ProbeKind) -> ScheduledProbe {
        let cost = ProbeCost { probe: kind.name, samples: 0, gaps: 0, total_ns: 0, longest_ns: 0 };
        let (probe, rhythm) = ((kind.build)(), kind.schedule);
        ScheduledProbe { probe, rhythm, fresh: true, retired: false, cost }
    }

    fn is_due(&self, tick: u64) -> bool {
        match self.rhythm {
            SamplingSchedule::Ticks(every) => self.fresh || tick % every.max(1) == 0,
            SamplingSchedule::Ends => false,
        }
    }
}

impl ProbeCost {
    fn add_sample(&mut self, values: &SampleValues, took: Nanos) {
        match values {
            SampleValues::Gap(_) => self.gaps += 1,
            _ => self.samples += 1,
        }
        self.total_ns += took.0;
        self.longest_ns = self.longest_ns.max(took.0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::base::{SimClock, Stop};

    const MS: u64 = 1_000_000;

    /// A probe whose looks take the times given, in ms, then none; `u64::MAX` says that a privilege
    /// is missing.
    struct Scripted {
        clock: SimClock,
        took_ms: Vec<u64>,
    }

    impl Probe for Scripted {
        fn take_sample(&mut self, _: &mut ProbedServer) -> Result<SampleValues, ProbeError> {
            let took = if self.took_ms.is_empty() { 0 } else { self.took_ms.remove(0) };
            if took == u64::MAX {
                return Err(ProbeError::ForGood("needs PROCESS".to_owned()));
            }
            self.clock.advance(Nanos(took * MS));
            Ok(SampleValues::Numbers(Vec::new()))
        }
    }

    /// Runs a script at 100 ms for so many waits; gives (planned ms, what) of every sample and the
    /// costs.
    fn run(
        rhythm: SamplingSchedule,
        took_ms: &[u64],
        waits: u32,
    ) -> (Vec<(u64, String)>, Vec<ProbeCost>) {
        let clock = SimClock::default();
        let (out, samples) = mpsc::channel();
        let cost = ProbeCost { probe: "x", samples: 0, gaps: 0, total_ns: 0, longest_ns: 0 };
        let probe = Box::new(Scripted { clock: clock.clone(), took_ms: took_ms.to_vec() });
        let mut round = SamplingLoop {
            name: "test",
            posts: vec![ScheduledProbe { probe, rhythm, fresh: true, retired: false, cost }],
            subject: ProbedServer::new(None, &Stop::new(), Arc::default()),
            clock: clock.clone(),
            origin_unix_ns: 0,
            ticks: TickGrid::new(0, Nanos(100 * MS)),
            slow: 0,
            out: SampleSink::new(out),
            board: CostTable::default(),
        };
        let mut left = waits;
        round.take_start_samples();
        round.run(|until| {
            clock.sleep_until(until);
            left -= 1;
            left > 0
        });
        let board = round.cost_table();
        round.take_end_samples();
        let costs = board.lock().unwrap().clone();
        let word = |values: SampleValues| match values {
            SampleValues::Gap(why) => why,
            SampleValues::Text(text) => text,
            _ => "ok".to_owned(),
        };
        (samples.iter().map(|s| (s.planned.0 / MS, word(s.values))).collect(), costs)
    }

    fn ok(times: &[u64]) -> Vec<(u64, String)> {
        times.iter().map(|t| (*t, "ok".to_owned())).collect()
    }

    #[test]
    fn looks_are_on_ticks_whatever_they_take() {
        let (samples, costs) = run(SamplingSchedule::Ticks(1), &[10, 19, 0, 5], 5);
        assert_eq!(samples, ok(&[100, 200, 300, 400]));
        assert_eq!((costs[0].samples, costs[0].gaps), (4, 0));
        assert_eq!((costs[0].total_ns, costs[0].longest_ns), (34 * MS, 19 * MS));
    }

    #[test]
    fn a_stall_leaves_one_gap_and_no_burst() {
        let (samples, costs) = run(SamplingSchedule::Ticks(1), &[0, 350, 0, 0], 5);
        let gap = (300, "3 ticks missed: the sample before took 0.350 s".to_owned());
        let mut expected = ok(&[100, 200]);
        expected.push(gap);
        expected.extend(ok(&[600, 700]));
        assert_eq!(samples, expected);
        assert_eq!((costs[0].samples, costs[0].gaps), (4, 3));
    }

    #[test]
    fn slow_looks_halve_the_rate_and_say_so() {
        let (samples, _) = run(SamplingSchedule::Ticks(1), &[21, 21, 0, 0], 5);
        let times: Vec<u64> = samples.iter().map(|s| s.0).collect();
        assert_eq!(times, [100, 200, 200, 400, 600]);
        assert!(samples[2].1.contains("now sampling every 0.200 s"), "{}", samples[2].1);
        let (samples, _) = run(SamplingSchedule::Ticks(1), &[21, 0, 21, 0], 5);
        assert_eq!(samples, ok(&[100, 200, 300, 400]));
    }

    #[test]
    fn a_missing_privilege_is_told_once() {
        let (samples, costs) = run(SamplingSchedule::Ticks(1), &[0, u64::MAX], 6);
        let mut expected = ok(&[100]);
        expected.push((200, "needs PROCESS".to_owned()));
        assert_eq!(samples, expected);
        assert_eq!((costs[0].samples, costs[0].gaps), (1, 1));
    }

    #[test]
    fn rarer_probes_look_first_at_once_and_then_on_their_own_grid() {
        let (samples, _) = run(SamplingSchedule::Ticks(4), &[], 10);
        assert_eq!(samples, ok(&[100, 400, 800]));
        let (samples, _) = run(SamplingSchedule::Ends, &[], 3);
        assert_eq!(samples, ok(&[0, 300]));
    }
}
