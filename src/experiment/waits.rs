//! Waits gathered during a load: instruments on before it, gathered meanwhile, everything back after it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::run_context::RunContext;
use super::system::SystemUnderTest;
use crate::archive::WaitsRecord;
use crate::base::{RealClock, Stop};
use crate::client::Target;
use crate::plan::{AddressPlan, Plan, SandboxPlan};
use crate::probe::waits::{GatherOptions, GatheredWaits, WaitGatherer};
use crate::server::instruments::{self, ALLOW, EnabledInstruments, InstrumentRequest};
use crate::server::journal::{Consent, WAITS_FILE};

/// Rows of the ring on servers of our own: a second of a busy instrument, about 50 MB of the server's memory.
const RING_ROWS: u64 = 300_000;

/// Settings that a throw-away server needs for this, unless the user says otherwise: performance_schema can't be switched
/// on later, nor its ring be made longer.
pub(super) fn with_performance_schema(sandbox: &SandboxPlan) -> SandboxPlan {
    let mut sandbox = sandbox.clone();
    let own = [
        ("performance_schema", "ON".to_owned()),
        ("performance_schema_events_waits_history_long_size", RING_ROWS.to_string()),
    ];
    for (name, value) in own {
        let same = |given: &str| given.trim_start_matches('-').replace('-', "_") == name;
        if !sandbox.settings.iter().any(|(given, _)| same(given)) {
            sandbox.settings.push((name.to_owned(), value));
        }
    }
    sandbox
}

/// Before anything is measured: whether the pattern means something on this server, and whether we may.
///
/// # Errors
/// A mistake with what to do.
pub(super) fn check_pattern(
    plan: &Plan,
    environment: &SystemUnderTest,
    stop: &Stop,
) -> anyhow::Result<()> {
    let (Some(pattern), Some(target)) = (&plan.waits, environment.target()) else { return Ok(()) };
    let mut session = target.connect(stop)?;
    let names = instruments::find_instruments(&mut session, pattern)?;
    instruments::check_consent(&mut session, &names, environment.is_own() || is_allowed(plan))
}

fn is_allowed(plan: &Plan) -> bool {
    plan.allow.iter().any(|word| word == ALLOW)
}

/// Who looks, where, and with what right.
#[derive(Clone, Debug)]
pub(super) struct WaitsTarget {
    target: Target,
    names: Vec<String>,
    consent: Option<Consent>,
    own: bool,
    journal: PathBuf,
}

impl WaitsTarget {
    /// Of a plan that asks for waits; `None` for others.
    ///
    /// # Errors
    /// As `check_pattern`.
    pub(super) fn from_plan(
        plan: &Plan,
        environment: &SystemUnderTest,
        dir: &Path,
        stop: &Stop,
    ) -> anyhow::Result<Option<WaitsTarget>> {
        let (Some(pattern), Some(target)) = (&plan.waits, environment.target()) else {
            return Ok(None);
        };
        // Database and statement limits of the workload are not ours.
        let address = AddressPlan { database: None, ..target.plan().clone() };
        let target = target.with_plan(&address)?;
        let names = instruments::find_instruments(&mut target.connect(stop)?, pattern)?;
        let consent = match environment.is_own() {
            true => Some(Consent::for_own_server()),
            false => is_allowed(plan).then(|| Consent::from_flag(&format!("--allow {ALLOW}"))),
        };
        let (own, journal) = (environment.is_own(), dir.join(WAITS_FILE));
        Ok(Some(WaitsTarget { target, names, consent, own, journal }))
    }

    /// Whether instruments may be switched on and off.
    pub(super) fn may_change(&self) -> bool {
        self.consent.is_some()
    }

    /// Switches on and begins to gather.
    ///
    /// # Errors
    /// When the server refuses; nothing stays changed then.
    pub(super) fn start_watch(
        &self,
        clock: RealClock,
        stop: &Stop,
        when: WatchStart<'_>,
    ) -> anyhow::Result<WaitsWatch> {
        let mut gatherer = WaitGatherer::connect(&self.target, clock, stop)?;
        let (before_load, others) = match when {
            WatchStart::BeforeLoad => (self.own, &[][..]),
            WatchStart::UnderLoad(ours) => (false, ours),
        };
        let ours = [others, &[gatherer.connection_id()]].concat();
        let asked = InstrumentRequest {
            target: &self.target,
            names: &self.names,
            consent: self.consent.as_ref(),
            own: self.own,
            before_load,
            journal: &self.journal,
            ours: &ours,
        };
        let instruments =
            EnabledInstruments::enable(&asked, stop).context("switch on the instruments")?;
        let order =
            GatherOptions { names: self.names.clone(), rows: self.may_change(), fresh: self.own };
        gatherer.start_gathering(order)?;
        Ok(WaitsWatch { instruments, gatherer })
    }
}

/// When gathering begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum WatchStart<'a> {
    /// Before the sessions of the load are opened.
    BeforeLoad,
    /// While it runs; these are connection ids of our own sessions that are no part of it.
    UnderLoad(&'a [u64]),
}

/// Waits being gathered. Dropping it puts everything back.
#[derive(Debug)]
pub(super) struct WaitsWatch {
    instruments: EnabledInstruments,
    gatherer: WaitGatherer,
}

impl WaitsWatch {
    /// Begins, if the plan asks for it.
    ///
    /// # Errors
    /// As `WaitsTarget::start_watch`.
    pub(super) fn start_planned(
        plan: &Plan,
        run: &RunContext<'_>,
        environment: &SystemUnderTest,
    ) -> anyhow::Result<Option<WaitsWatch>> {
        let place = WaitsTarget::from_plan(plan, environment, &run.run_dir(), run.stop)?;
        place
            .map(|place| place.start_watch(run.clock, run.stop, WatchStart::BeforeLoad))
            .transpose()
    }

    /// Ends: what was gathered goes into the run folder, everything is put back. A server that went away meanwhile is
    /// told by the load itself.
    ///
    /// # Errors
    /// When something could not be put back on a server that is not ours.
    pub(super) fn write_and_restore(self, run: &RunContext<'_>, trial: &str) -> anyhow::Result<()> {
        let gathered = self.gatherer.stop();
        let restored = self.instruments.restore();
        match gathered {
            Ok(waits) => {
                let mut record = WaitsRecord::from(&waits);
                let told = restored.iter().flat_map(|r| r.notes.iter().chain(&r.still_counting));
                record.notes.extend(told.cloned());
                run.lock_writer().write_waits(trial, &record);
            }
            Err(e) => run.add_note(&format!("no waits: {e:#}")),
        }
        for note in &restored?.still_counting {
            run.add_note(note);
        }
        Ok(())
    }

    /// Ends a short look: what was gathered meanwhile, and what puts everything back.
    ///
    /// # Errors
    /// When the server went away.
    pub(super) fn into_gathered(self) -> anyhow::Result<(GatheredWaits, EnabledInstruments)> {
        Ok((self.gatherer.stop()?, self.instruments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_gets_what_it_needs_unless_told_otherwise() {
        let plain = with_performance_schema(&SandboxPlan::default());
        assert!(plain.settings.contains(&("performance_schema".to_owned(), "ON".to_owned())));
        assert_eq!(plain.settings.len(), 2);
        let given = vec![("performance-schema".to_owned(), "OFF".to_owned())];
        let told = with_performance_schema(&SandboxPlan {
            settings: given.clone(),
            ..SandboxPlan::default()
        });
        assert_eq!(told.settings[..1], given);
        assert_eq!(told.settings.len(), 2);
    }
}
