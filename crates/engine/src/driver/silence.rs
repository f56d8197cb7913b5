//! Stops a load that would wait for ever for a server that answers nobody.

use std::sync::Arc;
use std::thread::Builder;
use std::time::Duration;

use crate::base::{Stop, StopReason};
use crate::plan::LoadPlan;
use crate::recorder::Interval;

/// Whether the server answers at all; gives up when the flag is set.
type ServerCheck = Arc<dyn Fn(&Stop) -> bool + Send + Sync>;

/// Watches a load that ends with its work rather than at a time: where nothing has ended for a while, the server is asked
/// whether it lives.
pub struct SilenceWatch {
    patience_s: f64,
    stop: Stop,
    answers: ServerCheck,
    silent_s: f64,
}

impl SilenceWatch {
    /// For a load; `None` for one that ends at a time, which may find the server back before. `stop` is set when nothing has
    /// ended for as long as `patience` and the server does not answer either.
    pub fn for_load(
        load: &LoadPlan,
        patience: Duration,
        stop: &Stop,
        answers: impl Fn(&Stop) -> bool + Send + Sync + 'static,
    ) -> Option<SilenceWatch> {
        let (patience_s, stop) = (patience.as_secs_f64(), stop.clone());
        let watch = SilenceWatch { patience_s, stop, answers: Arc::new(answers), silent_s: 0.0 };
        load.time.is_none().then_some(watch)
    }

    /// Sees each interval of the load.
    pub fn note_interval(&mut self, interval: &Interval) {
        let moves = interval.event_count() + interval.error_count() > 0 || interval.in_flight == 0;
        self.silent_s = if moves { 0.0 } else { self.silent_s + interval.length_s() };
        if self.silent_s < self.patience_s {
            return;
        }
        self.silent_s = 0.0;
        let (stop, answers) = (self.stop.clone(), self.answers.clone());
        // Whoever collects intervals must not wait for a server; the thread ends by itself.
        let ask = move || {
            if !answers(&stop) {
                stop.set(StopReason::TargetLost);
            }
        };
        let _ = Builder::new().name("silence".to_owned()).spawn(ask);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::base::{Clock as _, Nanos, RealClock};

    /// A second in which nothing ended, with so many events under way.
    fn silent(second: u64, in_flight: u64) -> Interval {
        let [began, ended] = [second, second + 1].map(|s| Nanos(s * 1_000_000_000));
        Interval { in_flight, ..Interval::empty(began, ended) }
    }

    fn plan(time: Option<Duration>) -> LoadPlan {
        LoadPlan { time, ..LoadPlan::default() }
    }

    #[test]
    fn a_load_without_a_time_ends_where_the_server_answers_nobody() {
        let (stop, asked) = (Stop::new(), Arc::new(AtomicU32::new(0)));
        let counter = asked.clone();
        // It lives when it is asked first.
        let answers = move |_: &Stop| counter.fetch_add(1, Ordering::SeqCst) == 0;
        let patience = Duration::from_secs(3);
        let mut watch = SilenceWatch::for_load(&plan(None), patience, &stop, answers).unwrap();
        let clock = RealClock::start_now();
        let until_asked = |times| {
            while asked.load(Ordering::SeqCst) < times && clock.now() < Nanos(20_000_000_000) {
                clock.sleep_until(clock.now() + Nanos(1_000_000));
            }
            assert_eq!(asked.load(Ordering::SeqCst), times);
        };
        (0..2).for_each(|second| watch.note_interval(&silent(second, 1)));
        watch.note_interval(&silent(2, 0));
        (3..5).for_each(|second| watch.note_interval(&silent(second, 1)));
        assert_eq!(asked.load(Ordering::SeqCst), 0, "nothing was under way in between");
        watch.note_interval(&silent(5, 1));
        until_asked(1);
        (6..9).for_each(|second| watch.note_interval(&silent(second, 1)));
        until_asked(2);
        while !stop.is_set() && clock.now() < Nanos(20_000_000_000) {
            clock.sleep_until(clock.now() + Nanos(1_000_000));
        }
        assert_eq!(stop.reason(), Some(StopReason::TargetLost));
        let timed = plan(Some(Duration::from_secs(60)));
        assert!(SilenceWatch::for_load(&timed, patience, &stop, |_| false).is_none());
    }
}
