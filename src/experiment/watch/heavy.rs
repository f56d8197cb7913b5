//! The heavy look of an incident, on a thread and a session of its own: a server in trouble must not hold up the watch.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use crate::base::{RealClock, Stop, StopReason};
use crate::client::Target;
use crate::probe::{IncidentLooker, ProbeSample};

/// The thread, waiting to be asked.
#[derive(Debug)]
pub(super) struct HeavyLooks {
    asked: Sender<()>,
    /// Wall time of the origin of its clock, and what was seen.
    samples: Receiver<(u64, ProbeSample)>,
    abandon: Stop,
    thread: JoinHandle<()>,
}

impl HeavyLooks {
    /// Opens the session now: a server in trouble may take no new one.
    ///
    /// # Errors
    /// When the machine gives no thread.
    pub(super) fn start(target: &Target, is_redacted: bool) -> anyhow::Result<HeavyLooks> {
        let (asked, requests) = mpsc::channel::<()>();
        let (out, samples) = mpsc::channel();
        let abandon = Stop::new();
        let (target, given_up) = (target.clone(), abandon.clone());
        let thread = std::thread::Builder::new().name("incident".to_owned()).spawn(move || {
            let mut looker = IncidentLooker::open(&target, &given_up, is_redacted);
            for () in requests {
                let clock = RealClock::start_now();
                looker.take_looks(clock, &mut |sample| {
                    let _ = out.send((clock.origin_unix_ns(), sample));
                });
            }
            looker.close();
        })?;
        Ok(HeavyLooks { asked, samples, abandon, thread })
    }

    /// Asks for one look.
    pub(super) fn ask(&self) {
        let _ = self.asked.send(());
    }

    /// What was seen since the last time.
    pub(super) fn take_seen(&self) -> impl Iterator<Item = (u64, ProbeSample)> + '_ {
        self.samples.try_iter()
    }

    pub(super) fn stop(self) {
        drop(self.asked);
        self.abandon.set(StopReason::Done);
        // One that panicked has told so on its own.
        let _ = self.thread.join();
    }
}
