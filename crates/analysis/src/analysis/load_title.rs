//! What a load is called where people read of it.

use crate::archive::{RunRecord, Trial};

/// What a load is called in sentences: `the load` where it is the only one, else its variant with block and run where
/// there are several. A step of a search has its number, as has a load that nothing else tells from another.
pub(super) fn load_title(run: &RunRecord, trial: &Trial) -> String {
    if run.trials.len() == 1 {
        return if trial.variant.is_empty() {
            "the load".to_owned()
        } else {
            trial.variant.clone()
        };
    }
    let place = run.trials.iter().position(|t| t.id == trial.id).unwrap_or(0) + 1;
    if run.meta.asked.capacity.is_some() {
        return format!("step {place} ({})", trial.variant);
    }
    let mut parts: Vec<String> = Vec::new();
    parts.extend(Some(trial.variant.clone()).filter(|variant| !variant.is_empty()));
    if run.trials.iter().any(|t| t.block > 1) {
        parts.push(format!("block {}", trial.block));
    }
    if run.trials.iter().any(|t| t.pass > 1) {
        parts.push(format!("run {}", trial.pass));
    }
    let key = |t: &Trial| (t.variant.clone(), t.block, t.pass);
    let is_alone = run.trials.iter().filter(|t| key(t) == key(trial)).count() == 1;
    if parts.is_empty() || !is_alone {
        parts.push(format!("load {place}"));
    }
    parts.join(", ")
}
