//! Caveats about what a sweep over load can tell.

use super::super::sentences::caveat_texts;
use super::{Caveat, CaveatInput};
use crate::plan::{RATE, THREADS};

/// ONE-USER: something is said about scaling from a single level.
pub(super) fn one_level(input: &CaveatInput<'_>) -> Option<Caveat> {
    let axis =
        input.run.meta.asked.axis.as_deref().filter(|axis| [THREADS, RATE].contains(axis))?;
    let mut values = input.trials.iter().filter_map(|trial| trial.value);
    let first = values.next()?;
    values
        .all(|value| value == first)
        .then(|| caveat_texts::ONE_USER_LEVEL.to_caveat(&[("axis", &axis), ("value", &first)]))
}
