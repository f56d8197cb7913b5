//! What of a write goes to the standby.

use super::FollowPlan;
use super::filter::ReadHalfFn;
use crate::base::Stop;
use crate::capture::read_only::{AllowList, read_target_objects};
use crate::capture::writes::{IndexCatalog, index_lookups, read_half};
use crate::client::{Error, Target};
use crate::plan::WritesPlan;

/// How writes are halved, as planned. The standby's indexes are asked for once.
pub(super) fn build_read_half_fn(
    plan: &FollowPlan,
    standby: &Target,
    stop: &Stop,
    notes: &mut Vec<String>,
) -> ReadHalfFn {
    let allowed = plan.allowed.clone();
    match plan.writes {
        WritesPlan::Drop | WritesPlan::Execute => Box::new(|_, _| Vec::new()),
        WritesPlan::Where => {
            Box::new(move |text, _| read_half(text, &allowed).into_iter().collect())
        }
        WritesPlan::Probe => {
            let indexes = read_indexes(standby, stop).unwrap_or_else(|error| {
                notes.push(format!(
                    "no lookups for writes because the indexes are not known: \
                                    {error}"
                ));
                IndexCatalog::default()
            });
            Box::new(move |text, database| {
                let database = std::str::from_utf8(database).ok().filter(|name| !name.is_empty());
                let own = read_half(text, &allowed).into_iter();
                own.chain(index_lookups(text, database, &indexes, &allowed)).collect()
            })
        }
    }
}

/// What is allowed, with what the filter must know of the standby: views that call functions.
pub(super) fn learn_allowed(
    plan: &FollowPlan,
    standby: &Target,
    stop: &Stop,
    notes: &mut Vec<String>,
) -> AllowList {
    let mut allowed = plan.allowed.clone();
    let learnt = standby.connect(stop).and_then(|mut s| read_target_objects(&mut s, &mut allowed));
    if let Err(error) = learnt {
        notes.push(format!("views were not checked and may call functions: {error}"));
    }
    allowed
}

fn read_indexes(standby: &Target, stop: &Stop) -> Result<IndexCatalog, Error> {
    IndexCatalog::read_catalog(&mut standby.connect(stop)?)
}
