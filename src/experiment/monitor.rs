//! Who looks at server and host while the steps run: the sampler, and one look before and after each step.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use super::counter_watch::{CostWatch, LogUse};
use super::run_context::RunContext;
use super::statement_log;
use super::system::SystemUnderTest;
use crate::archive::{self, Counters};
use crate::client::Session;
use crate::plan::Plan;
use crate::probe::{ProbeSample, SampleValues, Sampler, counters_now, variables};

/// A look that takes longer is none of this moment.
const LATEST: Duration = Duration::from_secs(5);

/// The sampler, and a session of our own for the looks between steps.
pub(super) struct RunMonitor<'scope> {
    sampler: Sampler,
    out: Sender<ProbeSample>,
    scribe: ScopedJoinHandle<'scope, ()>,
    session: Option<Session>,
    log: LogUse,
}

impl<'scope> RunMonitor<'scope> {
    /// Starts sampling. Returns when the sampler's session is open, so that a load can't take its place.
    ///
    /// # Errors
    /// When the plan names a probe that does not exist.
    pub(super) fn start_sampling<'env>(
        scope: &'scope Scope<'scope, 'env>,
        plan: &Plan,
        environment: &SystemUnderTest,
        run: &'env RunContext<'_>,
    ) -> anyhow::Result<RunMonitor<'scope>> {
        let (out, samples) = mpsc::channel();
        let scribe = scope.spawn(move || write_samples(&samples, run));
        let sampler = Sampler::start(
            &plan.probes,
            environment.target(),
            environment.server_pid(),
            run.clock,
            &out,
        )?;
        let log = if statement_log::is_allowed(plan) { LogUse::First } else { LogUse::Never };
        Ok(RunMonitor { sampler, out, scribe, session: None, log })
    }

    /// Raw counters of this moment; empty where nobody answers.
    pub(super) fn read_counters(
        &mut self,
        environment: &SystemUnderTest,
        run: &RunContext<'_>,
    ) -> Counters {
        if self.session.as_ref().is_none_or(|s| !s.is_usable()) {
            self.session = environment.target().and_then(|t| t.connect(run.stop).ok());
            if let Some(session) = &mut self.session {
                session.limit_statements(LATEST);
            }
        }
        let pid = self.server_pid(environment);
        let seen = counters_now(self.session.as_mut(), pid).unwrap_or_else(|_| BTreeMap::new());
        archive::finite_counters(&seen.into_iter().collect::<Vec<_>>())
    }

    /// Begins to look at what a load costs the server.
    pub(super) fn start_cost_watch(
        &mut self,
        environment: &SystemUnderTest,
        run: &RunContext<'_>,
    ) -> CostWatch {
        let pid = self.server_pid(environment);
        let watch = CostWatch::start(self.session.as_mut(), environment, pid, run, self.log);
        if self.log == LogUse::First {
            self.log = LogUse::Again;
        }
        watch
    }

    /// Ends it.
    ///
    /// # Errors
    /// When something could not be put back on the server.
    pub(super) fn end_cost_watch(
        &mut self,
        watch: CostWatch,
        run: &RunContext<'_>,
        trial: &str,
    ) -> anyhow::Result<()> {
        watch.stop(self.session.as_mut(), run, trial)
    }

    /// The server's process, where it is known and on this machine.
    pub(super) fn server_pid(&self, environment: &SystemUnderTest) -> Option<u32> {
        environment.server_pid().or(self.sampler.pid())
    }

    /// The server is about to be stopped: lets go of our session.
    pub(super) fn close_session(&mut self) {
        self.session = None;
    }

    /// The server runs again, as another process.
    pub(super) fn update_pid(&mut self, environment: &SystemUnderTest) {
        self.sampler.set_pid(environment.server_pid());
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
fn write_samples(samples: &Receiver<ProbeSample>, run: &RunContext<'_>) {
    let mut first: Option<SampleValues> = None;
    for sample in samples {
        if sample.probe == variables::NAME {
            let (start, end) = match &first {
                None => (&sample.values, None),
                Some(start) => (start, Some(&sample.values)),
            };
            run.lock_writer().write_variables(&archive::join_variables(start, end));
            first = first.or_else(|| Some(sample.values.clone()));
        }
        run.record_sample(&sample);
    }
}
