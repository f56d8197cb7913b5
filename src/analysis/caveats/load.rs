//! Doubts about what a sweep over load can tell.

use super::{Case, Caveat, Level};
use crate::plan::{RATE, THREADS};

/// ONE-USER: something is said about scaling from a single level.
pub(super) fn one_level(case: &Case<'_>) -> Option<Caveat> {
    let axis = case.run.meta.asked.axis.as_deref().filter(|axis| [THREADS, RATE].contains(axis))?;
    let mut values = case.trials.iter().filter_map(|trial| trial.value);
    let first = values.next()?;
    values.all(|value| value == first).then(|| Caveat {
        id: "ONE-USER",
        level: Level::Void,
        evidence: format!(
            "the sweep has one level only, {axis}={first}: it says nothing about scaling"
        ),
        remedy: "give several levels, at least six for a law: threads=1..64".to_owned(),
    })
}
