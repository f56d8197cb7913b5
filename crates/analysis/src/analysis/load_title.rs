//! What a load is called where people read of it.

use crate::archive::{RunRecord, Trial};

/// What a load is called in sentences: `the load` where it is the only one, else its variant with block and run where
/// there are several. Loads without variants are known by their folders.
pub(super) fn load_title(run: &RunRecord, trial: &Trial) -> String {
    let (blocks, runs) = run
        .trials
        .iter()
        .fold((1, 1), |(blocks, runs), trial| (trial.block.max(blocks), trial.pass.max(runs)));
    match (trial.variant.as_str(), blocks, runs) {
        ("", ..) if run.trials.len() == 1 => "the load".to_owned(),
        ("", ..) => trial.id.clone(),
        (variant, ..) if run.trials.len() == 1 => variant.to_owned(),
        (variant, 1, 1) => variant.to_owned(),
        (variant, 1, _) => format!("{variant}, run {}", trial.pass),
        (variant, _, 1) => format!("{variant}, block {}", trial.block),
        (variant, ..) => format!("{variant}, block {}, run {}", trial.block, trial.pass),
    }
}
