//! Who looks at server and host while the steps run: the sampler, and one look before and after each step.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use super::ground::Ground;
use super::keeper::Keeper;
use crate::archive::{self, Counters};
use crate::plan::Plan;
use crate::probe::variables::Variables;
use crate::probe::{Kind as _, Sample, Sampler, Values, counters_now};
use crate::target::Session;

/// A look that takes longer is none of this moment.
const LATEST: Duration = Duration::from_secs(5);

/// The sampler, and a session of our own for the looks between steps.
pub(super) struct Eyes<'scope> {
    sampler: Sampler,
    out: Sender<Sample>,
    scribe: ScopedJoinHandle<'scope, ()>,
    session: Option<Session>,
}

impl<'scope> Eyes<'scope> {
    /// Starts sampling. Returns when the sampler's session is open, so that a load can't take its place.
    ///
    /// # Errors
    /// When the plan names a probe that does not exist.
    pub(super) fn open<'env>(
        scope: &'scope Scope<'scope, 'env>,
        plan: &Plan,
        ground: &Ground,
        keeper: &'env Keeper<'_>,
    ) -> anyhow::Result<Eyes<'scope>> {
        let (out, samples) = mpsc::channel();
        let scribe = scope.spawn(move || write_down(&samples, keeper));
        let sampler =
            Sampler::start(&plan.probes, ground.target(), ground.pid(), keeper.clock, &out)?;
        Ok(Eyes { sampler, out, scribe, session: None })
    }

    /// Raw counters of this moment; empty where nobody answers.
    pub(super) fn look(&mut self, ground: &Ground, keeper: &Keeper<'_>) -> Counters {
        if self.session.as_ref().is_none_or(|s| !s.is_usable()) {
            self.session = ground.target().and_then(|t| t.connect(keeper.stop).ok());
            if let Some(session) = &mut self.session {
                session.limit_statements(LATEST);
            }
        }
        let pid = self.pid(ground);
        let seen = counters_now(self.session.as_mut(), pid).unwrap_or_else(|_| BTreeMap::new());
        archive::counters(&seen.into_iter().collect::<Vec<_>>())
    }

    /// The server's process, where it is known and on this machine.
    pub(super) fn pid(&self, ground: &Ground) -> Option<u32> {
        ground.pid().or(self.sampler.pid())
    }

    /// The server is about to be stopped: lets go of our session.
    pub(super) fn look_away(&mut self) {
        self.session = None;
    }

    /// The server runs again, as another process.
    pub(super) fn look_again(&mut self, ground: &Ground) {
        self.sampler.set_pid(ground.pid());
    }

    /// Takes the last samples and waits until they are written down.
    pub(super) fn close(self) {
        self.sampler.stop();
        drop(self.out);
        // A scribe that panicked has told so on its own; the run's record is whole but for samples.
        let _ = self.scribe.join();
    }
}

/// Writes samples into the run folder as they come, until the last sender is gone.
fn write_down(samples: &Receiver<Sample>, keeper: &Keeper<'_>) {
    let mut first: Option<Values> = None;
    for sample in samples {
        if sample.probe == Variables.name() {
            let (start, end) = match &first {
                None => (&sample.values, None),
                Some(start) => (start, Some(&sample.values)),
            };
            keeper.writer().variables(&archive::variables(start, end));
            first = first.or_else(|| Some(sample.values.clone()));
        }
        keeper.sample(&sample);
    }
}
