//! One thread's probes: what happens at a tick, and when ticks are missed or looks take too long.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use super::{Kind, Missed, Probe, Rhythm, Sample, Subject, Ticks, Values};
use crate::base::{Clock, Nanos, RealClock};

/// A tick whose looks take more than this share of the interval is slow.
const SLOW_SHARE: f64 = 0.2;
/// So many slow ticks in a row, and the rate is halved: a single one may be the server's own stall.
const SLOW_TICKS: u32 = 2;
/// The rate is not halved beyond this interval.
const SLOWEST: Nanos = Nanos(60_000_000_000);

/// What sampling cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
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
pub(super) struct Round<C: Clock> {
    name: &'static str,
    posts: Vec<Post>,
    subject: Subject,
    clock: C,
    origin_unix_ns: u64,
    ticks: Ticks,
    slow: u32,
    out: Out,
    board: Board,
}

/// Where samples go, until nobody wants them any more: a thread that waits for a silent server must
/// not keep the channel open.
#[derive(Clone, Debug)]
pub(super) struct Out(Arc<Mutex<Option<Sender<Sample>>>>);

impl Out {
    pub(super) fn new(sender: Sender<Sample>) -> Out {
        Out(Arc::new(Mutex::new(Some(sender))))
    }

    /// Lets go of the channel.
    pub(super) fn close(&self) {
        self.0.lock().expect("nobody panics while sending").take();
    }

    fn send(&self, sample: Sample) {
        if let Some(sender) = &*self.0.lock().expect("nobody panics while sending") {
            // Whoever doesn't listen any more will stop us soon.
            let _ = sender.send(sample);
        }
    }
}

/// Costs, shared with whoever wants to know.
pub(super) type Board = Arc<Mutex<Vec<Cost>>>;

struct Post {
    probe: Box<dyn Probe>,
    rhythm: Rhythm,
    /// Has not looked yet: its first tick is any.
    fresh: bool,
    /// Never asked again.
    retired: bool,
    cost: Cost,
}

impl Round<RealClock> {
    pub(super) fn new(
        name: &'static str,
        kinds: &[&dyn Kind],
        subject: Subject,
        clock: RealClock,
        ticks: Ticks,
        out: Out,
    ) -> Round<RealClock> {
        Round::with_clock(name, kinds, subject, clock, clock.origin_unix_ns(), ticks, out)
    }
}

impl<C: Clock> Round<C> {
    fn with_clock(
        name: &'static str,
        kinds: &[&dyn Kind],
        subject: Subject,
        clock: C,
        origin_unix_ns: u64,
        ticks: Ticks,
        out: Out,
    ) -> Round<C> {
        let posts = kinds.iter().map(|kind| Post::new(*kind)).collect();
        let board = Board::default();
        Round { name, posts, subject, clock, origin_unix_ns, ticks, slow: 0, out, board }
    }

    /// Opens the session and takes what is taken at the start.
    pub(super) fn begin(&mut self) {
        // Failure shows as a gap at the first look.
        let _ = self.subject.session();
        self.ends();
    }

    /// Takes samples until `wait`, which sleeps until a time, says that it is enough.
    pub(super) fn run(&mut self, mut wait: impl FnMut(Nanos) -> bool) {
        let mut tick = self.ticks.after(self.clock.now());
        while wait(tick) {
            tick = self.tick(tick);
        }
    }

    /// Whether something is taken at the end.
    pub(super) fn has_last_looks(&self) -> bool {
        self.posts.iter().any(|post| post.rhythm == Rhythm::Ends && !post.retired)
    }

    /// Takes what is taken at the end, and says good-bye to the server.
    pub(super) fn end(mut self) {
        self.subject.begin_tick();
        self.ends();
        self.subject.close();
    }

    /// What looks cost so far, by probe; stays readable while they go on.
    pub(super) fn board(&self) -> Board {
        self.board.clone()
    }

    fn publish(&self) {
        let costs = self.posts.iter().map(|post| post.cost.clone()).collect();
        *self.board.lock().expect("nobody panics while holding a list") = costs;
    }

    fn ends(&mut self) {
        let planned = self.clock.now();
        for at in 0..self.posts.len() {
            if self.posts[at].rhythm == Rhythm::Ends {
                self.look(at, planned);
            }
        }
        self.publish();
    }

    /// All looks of a tick; gives the next one.
    fn tick(&mut self, tick: Nanos) -> Nanos {
        let began = self.clock.now();
        let number = self.ticks.number(tick, self.origin_unix_ns);
        self.subject.begin_tick();
        for at in 0..self.posts.len() {
            if self.posts[at].is_due(number) {
                self.look(at, tick);
            }
        }
        let now = self.clock.now();
        let took = now.since(began);
        let next = self.ticks.after(now);
        let missed = self.ticks.between(tick, next);
        if missed > 0 {
            self.missed(tick + self.ticks.interval(), missed, took);
        }
        self.mind_cost(tick, took);
        self.publish();
        self.ticks.after(now)
    }

    fn look(&mut self, at: usize, planned: Nanos) {
        let post = &mut self.posts[at];
        if post.retired {
            return;
        }
        post.fresh = false;
        let began = self.clock.now();
        let values = match post.probe.sample(&mut self.subject) {
            Ok(values) => values,
            Err(Missed::Now(why)) => Values::Gap(why),
            Err(Missed::ForGood(why)) => {
                post.retired = true;
                Values::Gap(why)
            }
        };
        let ended = self.clock.now();
        post.cost.note(&values, ended.since(began));
        let sample = Sample { probe: post.cost.probe, planned, began, ended, values };
        self.out.send(sample);
    }

    /// Ticks went by without a look: one gap per probe, never looks in a burst.
    fn missed(&mut self, first: Nanos, ticks: u64, took: Nanos) {
        let now = self.clock.now();
        let why = format!("{ticks} ticks missed: the look before took {:.3} s", took.seconds());
        for post in &mut self.posts {
            if post.rhythm == Rhythm::Ticks(1) && !post.retired {
                let values = Values::Gap(why.clone());
                post.cost.gaps += ticks;
                let (planned, probe) = (first, post.cost.probe);
                self.out.send(Sample { probe, planned, began: now, ended: now, values });
            }
        }
    }

    /// Halves the rate where looks take too much of it.
    fn mind_cost(&mut self, tick: Nanos, took: Nanos) {
        let interval = self.ticks.interval();
        let slow = took.seconds() > SLOW_SHARE * interval.seconds();
        self.slow = if slow { self.slow + 1 } else { 0 };
        if self.slow < SLOW_TICKS || interval.0 * 2 > SLOWEST.0 {
            return;
        }
        self.slow = 0;
        self.ticks = Ticks::new(self.origin_unix_ns, Nanos(interval.0 * 2));
        let now = self.clock.now();
        let text = format!(
            "{}: looks took {:.3} s, more than a fifth of the interval, {SLOW_TICKS} times in a \
             row; from now on every {:.3} s",
            self.name,
            took.seconds(),
            self.ticks.interval().seconds()
        );
        let values = Values::Text(text);
        self.out.send(Sample { probe: "sampler", planned: tick, began: now, ended: now, values });
    }
}

impl Post {
    fn new(kind: &dyn Kind) -> Post {
        let probe = kind.name();
        let cost = Cost { probe, samples: 0, gaps: 0, total_ns: 0, longest_ns: 0 };
        let (probe, rhythm) = (kind.build(), kind.rhythm());
        Post { probe, rhythm, fresh: true, retired: false, cost }
    }

    fn is_due(&self, tick: u64) -> bool {
        match self.rhythm {
            Rhythm::Ticks(every) => self.fresh || tick % every.max(1) == 0,
            Rhythm::Ends => false,
        }
    }
}

impl Cost {
    fn note(&mut self, values: &Values, took: Nanos) {
        match values {
            Values::Gap(_) => self.gaps += 1,
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
        fn sample(&mut self, _: &mut Subject) -> Result<Values, Missed> {
            let took = if self.took_ms.is_empty() { 0 } else { self.took_ms.remove(0) };
            if took == u64::MAX {
                return Err(Missed::ForGood("needs PROCESS".to_owned()));
            }
            self.clock.advance(Nanos(took * MS));
            Ok(Values::Numbers(Vec::new()))
        }
    }

    /// Runs a script at 100 ms for so many waits; gives (planned ms, what) of every sample and the
    /// costs.
    fn run(rhythm: Rhythm, took_ms: &[u64], waits: u32) -> (Vec<(u64, String)>, Vec<Cost>) {
        let clock = SimClock::default();
        let (out, samples) = mpsc::channel();
        let cost = Cost { probe: "x", samples: 0, gaps: 0, total_ns: 0, longest_ns: 0 };
        let probe = Box::new(Scripted { clock: clock.clone(), took_ms: took_ms.to_vec() });
        let mut round = Round {
            name: "test",
            posts: vec![Post { probe, rhythm, fresh: true, retired: false, cost }],
            subject: Subject::new(None, &Stop::new(), Arc::default()),
            clock: clock.clone(),
            origin_unix_ns: 0,
            ticks: Ticks::new(0, Nanos(100 * MS)),
            slow: 0,
            out: Out::new(out),
            board: Board::default(),
        };
        let mut left = waits;
        round.begin();
        round.run(|until| {
            clock.sleep_until(until);
            left -= 1;
            left > 0
        });
        let board = round.board();
        round.end();
        let costs = board.lock().unwrap().clone();
        let word = |values: Values| match values {
            Values::Gap(why) => why,
            Values::Text(text) => text,
            _ => "ok".to_owned(),
        };
        (samples.iter().map(|s| (s.planned.0 / MS, word(s.values))).collect(), costs)
    }

    fn ok(times: &[u64]) -> Vec<(u64, String)> {
        times.iter().map(|t| (*t, "ok".to_owned())).collect()
    }

    #[test]
    fn looks_are_on_ticks_whatever_they_take() {
        let (samples, costs) = run(Rhythm::Ticks(1), &[10, 19, 0, 5], 5);
        assert_eq!(samples, ok(&[100, 200, 300, 400]));
        assert_eq!((costs[0].samples, costs[0].gaps), (4, 0));
        assert_eq!((costs[0].total_ns, costs[0].longest_ns), (34 * MS, 19 * MS));
    }

    #[test]
    fn a_stall_leaves_one_gap_and_no_burst() {
        let (samples, costs) = run(Rhythm::Ticks(1), &[0, 350, 0, 0], 5);
        let gap = (300, "3 ticks missed: the look before took 0.350 s".to_owned());
        let mut expected = ok(&[100, 200]);
        expected.push(gap);
        expected.extend(ok(&[600, 700]));
        assert_eq!(samples, expected);
        assert_eq!((costs[0].samples, costs[0].gaps), (4, 3));
    }

    #[test]
    fn slow_looks_halve_the_rate_and_say_so() {
        let (samples, _) = run(Rhythm::Ticks(1), &[21, 21, 0, 0], 5);
        let times: Vec<u64> = samples.iter().map(|s| s.0).collect();
        assert_eq!(times, [100, 200, 200, 400, 600]);
        assert!(samples[2].1.contains("from now on every 0.200 s"), "{}", samples[2].1);
        let (samples, _) = run(Rhythm::Ticks(1), &[21, 0, 21, 0], 5);
        assert_eq!(samples, ok(&[100, 200, 300, 400]));
    }

    #[test]
    fn a_missing_privilege_is_told_once() {
        let (samples, costs) = run(Rhythm::Ticks(1), &[0, u64::MAX], 6);
        let mut expected = ok(&[100]);
        expected.push((200, "needs PROCESS".to_owned()));
        assert_eq!(samples, expected);
        assert_eq!((costs[0].samples, costs[0].gaps), (1, 1));
    }

    #[test]
    fn rarer_probes_look_first_at_once_and_then_on_their_own_grid() {
        let (samples, _) = run(Rhythm::Ticks(4), &[], 10);
        assert_eq!(samples, ok(&[100, 400, 800]));
        let (samples, _) = run(Rhythm::Ends, &[], 3);
        assert_eq!(samples, ok(&[0, 300]));
    }
}
