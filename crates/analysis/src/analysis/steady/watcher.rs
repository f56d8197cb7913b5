//! The verdict while a load runs: when it is steady, and stays so, there is no more to wait for.

use super::judge::SteadyRules;
use super::rate_cells::EventSpan;
use super::server_rest::ServerReading;
use super::{LoadHistory, SteadyState};
use crate::archive::{SampleRecord, TallyRecord};
use crate::recorder::Interval;

/// When it is looked at, and what two looks must agree on.
#[derive(Clone, Copy, Debug)]
struct WatchSchedule {
    /// First look, seconds.
    first_s: f64,
    /// Time between two looks, seconds.
    every_s: f64,
    /// How near the begins of two steady parts must be, seconds.
    agree_s: f64,
}

/// Watches a load until it is steady: from 60 s on each 10 s.
#[derive(Clone, Debug)]
pub struct SteadyWatcher {
    course: LoadHistory,
    rules: SteadyRules,
    rhythm: WatchSchedule,
    next_s: f64,
    /// Begin of the steady part at the last look, if that was steady.
    before_s: Option<f64>,
}

/// What the watcher says.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyOutlook {
    /// Seconds since the load's first start.
    pub at_s: f64,
    /// The verdict on the load so far.
    pub steady: SteadyState,
    /// Steady twice in a row, from about the same moment on: the load may end.
    pub enough: bool,
}

impl Default for SteadyWatcher {
    fn default() -> SteadyWatcher {
        SteadyWatcher::new()
    }
}

impl SteadyWatcher {
    /// A watcher of a load that begins now.
    pub fn new() -> SteadyWatcher {
        let rhythm = WatchSchedule { first_s: 60.0, every_s: 10.0, agree_s: 10.0 };
        SteadyWatcher {
            course: LoadHistory::default(),
            rules: SteadyRules::default(),
            rhythm,
            next_s: rhythm.first_s,
            before_s: None,
        }
    }

    /// Takes in what a probe saw.
    pub fn add_sample(&mut self, sample: &SampleRecord) {
        self.course.looks.extend(ServerReading::from_sample(sample));
    }

    /// Takes in an interval; says something when it is time for it.
    pub fn add_interval(&mut self, interval: &Interval) -> Option<SteadyOutlook> {
        let span = EventSpan {
            began_ns: interval.began.0,
            ended_ns: interval.ended.0,
            events: interval.event_count(),
        };
        self.add_span(span, &TallyRecord::from(interval))
    }

    fn add_span(&mut self, span: EventSpan, tally: &TallyRecord) -> Option<SteadyOutlook> {
        self.course.add_span(span, tally);
        let at_s = self.course.seconds();
        // An interval that ended a little early is a whole one.
        if at_s + EARLY_S < self.next_s {
            return None;
        }
        while self.next_s <= at_s + EARLY_S {
            self.next_s += self.rhythm.every_s;
        }
        let steady = self.course.assess_so_far(&self.rules)?;
        let t0_s = steady.t0_s.filter(|_| steady.verdict.is_steady());
        let enough = t0_s
            .zip(self.before_s)
            .is_some_and(|(t0_s, before_s)| (t0_s - before_s).abs() <= self.rhythm.agree_s);
        self.before_s = t0_s;
        Some(SteadyOutlook { at_s, steady, enough })
    }
}

/// What an interval may lack of its length, seconds.
const EARLY_S: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::findings::SteadyVerdict;
    use crate::base::random::Rng;

    /// Rates for each second until the watcher has enough; what it said, and when.
    fn watch(most_s: u64, rate: impl Fn(f64) -> f64) -> Vec<(u64, SteadyVerdict, bool)> {
        let mut rng = Rng::new(5, 0, 0);
        let mut watcher = SteadyWatcher::new();
        let mut said = Vec::new();
        for second in 0..most_s {
            let noise = 1.0 + 0.1 * (rng.uniform_fraction() - 0.5);
            let span = EventSpan {
                began_ns: second * 1_000_000_000,
                ended_ns: (second + 1) * 1_000_000_000,
                events: (rate(second as f64) * noise) as u64,
            };
            let Some(outlook) = watcher.add_span(span, &TallyRecord::default()) else { continue };
            said.push((outlook.at_s as u64, outlook.steady.verdict, outlook.enough));
            if outlook.enough {
                break;
            }
        }
        said
    }

    #[test]
    fn an_even_load_is_through_at_the_second_look() {
        let steady = SteadyVerdict::Steady;
        assert_eq!(watch(600, |_| 1000.0), [(60, steady, false), (70, steady, true)]);
    }

    #[test]
    fn a_warm_up_is_waited_for() {
        let said = watch(900, |s| 1000.0 - 700.0 * (-s / 40.0).exp());
        let (ended, last, enough) = *said.last().unwrap();
        assert!(enough && last == SteadyVerdict::Steady, "{said:?}");
        // It takes four times 40 s to settle within 2 %, and as long again to be believed.
        assert!((180..=400).contains(&ended), "{said:?}");
        assert_ne!(said[0].1, SteadyVerdict::Steady);
    }

    #[test]
    fn what_never_settles_runs_to_its_end() {
        let said = watch(600, |s| 1000.0 - s);
        assert_eq!(said.len(), 55);
        assert!(said.iter().all(|(_, _, enough)| !enough), "{said:?}");
    }
}
