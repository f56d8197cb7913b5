//! Stops a load that would wait for ever for a server that answers nobody.

use std::sync::Arc;
use std::thread::Builder;
use std::time::Duration;

use crate::base::{Stop, StopReason};
use crate::plan::LoadPlan;
use crate::recorder::Interval;

/// Whether the server answers at all; gives up when the flag is set.
type Answers = Arc<dyn Fn(&Stop) -> bool + Send + Sync>;

/// Watches a load that ends with its work rather than at a time: where nothing has ended for a while, the server is asked
/// whether it lives.
pub struct SilenceWatch {
    patience_s: f64,
    stop: Stop,
    answers: Answers,
    silent_s: f64,
}

impl SilenceWatch {
    /// For a load; `None` for one that ends at a time, which may find the server back before. `stop` is set when nothing has
    /// ended for as long as `patience` and the server does not answer either.
    pub fn of(
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
    pub fn look(&mut self, interval: &Interval) {
        let moves = interval.events() + interval.errors() > 0 || interval.in_flight == 0;
        self.silent_s = if moves { 0.0 } else { self.silent_s + interval.seconds() };
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
