//! What is asked of a server before anything is sent to it, and what the filter must know of it.

use anyhow::Context as _;

use super::setup::{ReplaySetup, TargetClaims};
use crate::base::{Clock as _, Nanos, RealClock, Stop};
use crate::capture::read_only::read_target_objects;
use crate::capture::writes::IndexCatalog;
use crate::client::preflight::{
    PreflightCaveatKind, PreflightFacts, PreflightIntent, find_caveats,
};
use crate::client::{Session, Target};
use crate::plan::{AddressPlan, Mistakes, WritesPlan};

/// Looks at others on the server: sessions that have just ended may still be counted.
const LOOKS: u32 = 5;
/// Pause between two of them.
const PAUSE: Nanos = Nanos(60_000_000);

/// Asks the server; gives what was asked for with what must be known of it.
///
/// # Errors
/// All reasons not to send anything there.
pub(super) fn complete_setup(
    asked: &ReplaySetup,
    target: &Target,
    stop: &Stop,
) -> anyhow::Result<ReplaySetup> {
    let mut session = target.connect(stop)?;
    if let Some(too_old) = session.identity().too_old_for("a replay") {
        return Err(too_old.into());
    }
    refuse_unsafe_target(asked, target, &mut session, stop)?;
    let mut setup = asked.clone();
    read_target_objects(&mut session, &mut setup.allowed)
        .context("ask for views and stored functions")?;
    if setup.writes == WritesPlan::Probe {
        let indexes = IndexCatalog::read_catalog(&mut session);
        setup.indexes = indexes.context("ask for the indexes of the tables")?;
    }
    Ok(setup)
}

fn refuse_unsafe_target(
    asked: &ReplaySetup,
    target: &Target,
    session: &mut Session,
    stop: &Stop,
) -> anyhow::Result<()> {
    let TargetClaims { owned, source, may_write, may_disturb } = &asked.words;
    let source = match source {
        Some(words) => Some(source_facts(words, target, stop)?),
        None => None,
    };
    let intent = PreflightIntent {
        source: source.as_ref(),
        logs: &asked.logs,
        executes: asked.writes == WritesPlan::Execute,
        owned: owned.as_deref(),
        may_write: *may_write,
        may_disturb: *may_disturb,
    };
    let clock = RealClock::start_now();
    for look in 1.. {
        let facts = PreflightFacts::from_session(session).context(
            "check what the account may do on the \
                                                           target",
        )?;
        let caveats = find_caveats(&facts, &intent);
        if caveats.is_empty() {
            break;
        }
        if look == LOOKS || caveats.iter().any(|caveat| caveat.kind != PreflightCaveatKind::InUse) {
            return Err(Mistakes(
                caveats.into_iter().map(|caveat| caveat.into_mistake("target")).collect(),
            )
            .into());
        }
        clock.sleep_until(clock.now() + PAUSE);
    }
    Ok(())
}

/// Asks the server that the log comes from, by the account of the target.
fn source_facts(words: &str, target: &Target, stop: &Stop) -> anyhow::Result<PreflightFacts> {
    let plan = AddressPlan { port: None, ..target.plan().clone() }.with_place(words);
    let asked = || format!("check that the source {words} is another server");
    let mut session = Target::new(&plan).and_then(|s| s.connect(stop)).with_context(asked)?;
    PreflightFacts::from_session(&mut session).with_context(asked)
}
