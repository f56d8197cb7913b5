//! What of a write goes to the standby.

use super::FollowPlan;
use super::sieve::Halves;
use crate::base::Stop;
use crate::capture::read_only::{Allowed, learn};
use crate::capture::writes::{Indexes, probes, read_half};
use crate::plan::WritesPlan;
use crate::target::{Error, Target};

/// How writes are halved, as planned. The standby's indexes are asked for once.
pub(super) fn of(
    plan: &FollowPlan,
    standby: &Target,
    stop: &Stop,
    notes: &mut Vec<String>,
) -> Halves {
    let allowed = plan.allowed.clone();
    match plan.writes {
        WritesPlan::Drop | WritesPlan::Execute => Box::new(|_, _| Vec::new()),
        WritesPlan::Where => {
            Box::new(move |text, _| read_half(text, &allowed).into_iter().collect())
        }
        WritesPlan::Probe => {
            let indexes = indexes(standby, stop).unwrap_or_else(|error| {
                notes.push(format!("no look-ups for writes: the indexes are not known: {error}"));
                Indexes::default()
            });
            Box::new(move |text, database| {
                let database = std::str::from_utf8(database).ok().filter(|name| !name.is_empty());
                let own = read_half(text, &allowed).into_iter();
                own.chain(probes(text, database, &indexes, &allowed)).collect()
            })
        }
    }
}

/// What is allowed, with what the filter must know of the standby: views that call functions.
pub(super) fn learned(
    plan: &FollowPlan,
    standby: &Target,
    stop: &Stop,
    notes: &mut Vec<String>,
) -> Allowed {
    let mut allowed = plan.allowed.clone();
    let learnt = standby.connect(stop).and_then(|mut s| learn(&mut s, &mut allowed));
    if let Err(error) = learnt {
        notes.push(format!("views were not looked at, they may call functions: {error}"));
    }
    allowed
}

fn indexes(standby: &Target, stop: &Stop) -> Result<Indexes, Error> {
    Indexes::load(&mut standby.connect(stop)?)
}
