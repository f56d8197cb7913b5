//! Waits gathered during a load: instruments on before it, gathered meanwhile, everything back after it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::ground::Ground;
use super::keeper::Keeper;
use crate::archive::WaitsRecord;
use crate::base::{RealClock, Stop};
use crate::plan::{AddressPlan, Plan, SandboxPlan};
use crate::probe::waits::{Gatherer, Order, Waits};
use crate::server::instruments::{self, ALLOW, Asked, Instruments};
use crate::server::journal::{Consent, WAITS_FILE};
use crate::target::Target;

/// Rows of the ring on servers of our own: a second of a busy instrument, about 50 MB of the server's memory.
const RING_ROWS: u64 = 300_000;

/// Settings that a throw-away server needs for this, unless the user says otherwise: performance_schema can't be switched
/// on later, nor its ring be made longer.
pub(super) fn prepared(sandbox: &SandboxPlan) -> SandboxPlan {
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
pub(super) fn check(plan: &Plan, ground: &Ground, stop: &Stop) -> anyhow::Result<()> {
    let (Some(pattern), Some(target)) = (&plan.waits, ground.target()) else { return Ok(()) };
    let mut session = target.connect(stop)?;
    let names = instruments::find(&mut session, pattern)?;
    instruments::check_consent(&mut session, &names, ground.is_own() || is_allowed(plan))
}

fn is_allowed(plan: &Plan) -> bool {
    plan.allow.iter().any(|word| word == ALLOW)
}

/// Who looks, where, and with what right.
#[derive(Clone, Debug)]
pub(super) struct Place {
    target: Target,
    names: Vec<String>,
    consent: Option<Consent>,
    own: bool,
    journal: PathBuf,
}

impl Place {
    /// Of a plan that asks for waits; `None` for others.
    ///
    /// # Errors
    /// As `check`.
    pub(super) fn of(
        plan: &Plan,
        ground: &Ground,
        dir: &Path,
        stop: &Stop,
    ) -> anyhow::Result<Option<Place>> {
        let (Some(pattern), Some(target)) = (&plan.waits, ground.target()) else {
            return Ok(None);
        };
        // Database and statement limits of the workload are not ours.
        let address = AddressPlan { database: None, ..target.plan().clone() };
        let target = target.again(&address)?;
        let names = instruments::find(&mut target.connect(stop)?, pattern)?;
        let consent = match ground.is_own() {
            true => Some(Consent::own()),
            false => is_allowed(plan).then(|| Consent::given(&format!("--allow {ALLOW}"))),
        };
        let (own, journal) = (ground.is_own(), dir.join(WAITS_FILE));
        Ok(Some(Place { target, names, consent, own, journal }))
    }

    /// Whether instruments may be switched on and off.
    pub(super) fn may_change(&self) -> bool {
        self.consent.is_some()
    }

    /// Switches on and begins to gather.
    ///
    /// # Errors
    /// When the server refuses; nothing stays changed then.
    pub(super) fn watch(
        &self,
        clock: RealClock,
        stop: &Stop,
        when: When<'_>,
    ) -> anyhow::Result<Watch> {
        let mut gatherer = Gatherer::open(&self.target, clock, stop)?;
        let (before_load, others) = match when {
            When::BeforeLoad => (self.own, &[][..]),
            When::UnderLoad(ours) => (false, ours),
        };
        let ours = [others, &[gatherer.id()]].concat();
        let asked = Asked {
            target: &self.target,
            names: &self.names,
            consent: self.consent.as_ref(),
            own: self.own,
            before_load,
            journal: &self.journal,
            ours: &ours,
        };
        let instruments = Instruments::enable(&asked, stop).context("switch on the instruments")?;
        let order = Order { names: self.names.clone(), rows: self.may_change(), fresh: self.own };
        gatherer.begin(order)?;
        Ok(Watch { instruments, gatherer })
    }
}

/// When gathering begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum When<'a> {
    /// Before the sessions of the load are opened.
    BeforeLoad,
    /// While it runs; these are connection ids of our own sessions that are no part of it.
    UnderLoad(&'a [u64]),
}

/// Waits being gathered. Dropping it puts everything back.
#[derive(Debug)]
pub(super) struct Watch {
    instruments: Instruments,
    gatherer: Gatherer,
}

impl Watch {
    /// Begins, if the plan asks for it.
    ///
    /// # Errors
    /// As `Place::watch`.
    pub(super) fn begin(
        plan: &Plan,
        keeper: &Keeper<'_>,
        ground: &Ground,
    ) -> anyhow::Result<Option<Watch>> {
        let place = Place::of(plan, ground, &keeper.dir(), keeper.stop)?;
        place.map(|place| place.watch(keeper.clock, keeper.stop, When::BeforeLoad)).transpose()
    }

    /// Ends: what was gathered goes into the run folder, everything is put back. A server that went away meanwhile is
    /// told by the load itself.
    ///
    /// # Errors
    /// When something could not be put back on a server that is not ours.
    pub(super) fn end(self, keeper: &Keeper<'_>, trial: &str) -> anyhow::Result<()> {
        let gathered = self.gatherer.stop();
        let restored = self.instruments.restore();
        match gathered {
            Ok(waits) => {
                let mut record = WaitsRecord::from(&waits);
                record.notes.extend(restored.iter().flatten().cloned());
                keeper.writer().waits(trial, &record);
            }
            Err(e) => keeper.note(&format!("no waits: {e:#}")),
        }
        for note in restored?.iter().filter(|note| note.contains("still counts")) {
            keeper.note(note);
        }
        Ok(())
    }

    /// Ends a short look: what was gathered meanwhile, and what puts everything back.
    ///
    /// # Errors
    /// When the server went away.
    pub(super) fn gathered(self) -> anyhow::Result<(Waits, Instruments)> {
        Ok((self.gatherer.stop()?, self.instruments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_gets_what_it_needs_unless_told_otherwise() {
        let plain = prepared(&SandboxPlan::default());
        assert!(plain.settings.contains(&("performance_schema".to_owned(), "ON".to_owned())));
        assert_eq!(plain.settings.len(), 2);
        let given = vec![("performance-schema".to_owned(), "OFF".to_owned())];
        let told = prepared(&SandboxPlan { settings: given.clone(), ..SandboxPlan::default() });
        assert_eq!(told.settings[..1], given);
        assert_eq!(told.settings.len(), 2);
    }
}
