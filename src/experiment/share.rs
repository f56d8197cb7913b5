//! What a share of a load asks of its plan: several machines run shares of one load, and nothing else together.

use crate::analysis::number_format::format_plural;
use crate::plan::{LoadShare, Mistake, Mistakes, Plan, ResetPlan, TargetPlan};
use crate::workload::Workload;

/// How to give a share what it needs, in words.
const SEED_HINT: &str = "add --seed=7, the same number for all shares";

/// What makes no sense together with a share.
///
/// # Errors
/// All of it, together.
pub(super) fn check_share(plan: &Plan) -> anyhow::Result<()> {
    let Some(share) = &plan.load.share else { return Ok(()) };
    let mut mistakes = Vec::new();
    let mut refuse = |is_there: bool, place: &str, why: &str, hint: &str| {
        if is_there {
            mistakes.push(Mistake::new(place, why).hint(hint));
        }
    };
    let sandbox = matches!(plan.target, TargetPlan::Sandbox(_));
    let what = "each share would start a server of its own";
    refuse(sandbox, "--share", what, "start one with `sweat sandbox start`, and name it");
    let kind = &plan.workload.kind;
    let prepare = format!("make it before, once: sweat bench {kind} prepare");
    refuse(plan.prepare && !sandbox, "prepare", "each share would make the data", &prepare);
    refuse(plan.load.until_steady, "--until-steady", OWN_END, "give --time instead");
    refuse(plan.check_data == Some(true), "--check-data", "other shares may still run", CHECK);
    refuse(plan.waits.is_some(), "waits", "each share would change the server's instruments", OUT);
    let any_settings = plan.variants.iter().any(|variant| !variant.settings.is_empty());
    let any_warm = plan.variants.iter().any(|v| !v.warm.is_empty() || v.dump_after);
    let loads = plan.variants.len().max(1) as u64
        * u64::from(plan.passes.max(1))
        * u64::from(plan.blocks.max(1));
    let is_search = plan.capacity.is_some() || plan.until_clear.is_some() || plan.sweep.is_some();
    let alone = loads == 1 && !is_search;
    refuse(!alone, "--share", "several loads would not begin together", "share one load at a time");
    let touches = any_settings || any_warm || plan.cold || plan.reset != ResetPlan::None;
    refuse(touches, "--share", "each share would change the server", "do that before, once");
    mistakes.extend(workers_mistake(plan, share));
    mistakes.extend(seed_mistake(plan, share));
    Ok(Mistakes::check(mistakes)?)
}

const OWN_END: &str = "each share would end at a time of its own";
const CHECK: &str = "check the data when all shares have ended";
const OUT: &str = "leave it out";

fn workers_mistake(plan: &Plan, share: &LoadShare) -> Option<Mistake> {
    let all = format_plural(plan.load.workers as u64, "worker", "workers");
    let is_empty = plan.load.own_workers().is_empty();
    let mistake = Mistake::new("--share", format!("share {share} of {all} has none"));
    is_empty.then(|| mistake.hint("use fewer shares, or more workers"))
}

fn seed_mistake(plan: &Plan, share: &LoadShare) -> Option<Mistake> {
    let why = format!("share {share} needs the seed that the other shares have");
    (plan.seed == 0).then(|| Mistake::new("--seed", why).hint(SEED_HINT))
}

/// Whether the workload lets several machines share its load.
///
/// # Errors
/// Why it does not.
pub(super) fn check_workload(plan: &Plan, workload: &dyn Workload) -> Result<(), Mistake> {
    let obstacle = plan.load.share.as_ref().and_then(|_| workload.split_obstacle());
    obstacle.map_or(Ok(()), |why| {
        let why = format!("{} can't be shared between machines: {why}", plan.workload.kind);
        Err(Mistake::new("--share", why).hint("run it on one machine"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{CapacityPlan, LoadPlan, SandboxPlan, VariantPlan};

    fn plan() -> Plan {
        let share = Some(LoadShare::parse("1/2").unwrap());
        let load = LoadPlan { workers: 4, share, ..LoadPlan::default() };
        let variants = vec![VariantPlan::default()];
        Plan { load, seed: 7, variants, passes: 1, ..Plan::default() }
    }

    #[test]
    fn one_load_with_a_seed_can_be_shared() {
        check_share(&plan()).unwrap();
        check_share(&Plan::default()).unwrap();
    }

    #[test]
    fn what_shares_can_t_do_together_is_refused() {
        let change = |change: &dyn Fn(&mut Plan)| {
            let mut plan = plan();
            change(&mut plan);
            check_share(&plan).unwrap_err().to_string()
        };
        let refused = [
            (change(&|p| p.seed = 0), "needs the seed"),
            (change(&|p| p.load.workers = 0), "share 1/2 of 0 workers has none"),
            (change(&|p| p.prepare = true), "make the data"),
            (change(&|p| p.target = TargetPlan::Sandbox(SandboxPlan::default())), "server of"),
            (change(&|p| p.load.until_steady = true), "a time of its own"),
            (change(&|p| p.passes = 2), "begin together"),
            (change(&|p| p.variants = vec![VariantPlan::default(); 2]), "begin together"),
            (change(&|p| p.capacity = Some(CapacityPlan::default())), "begin together"),
            (change(&|p| p.cold = true), "change the server"),
            (change(&|p| p.check_data = Some(true)), "may still run"),
            (change(&|p| p.waits = Some("wait/io".to_owned())), "instruments"),
        ];
        for (found, expected) in refused {
            assert!(found.contains(expected), "{found}");
        }
    }
}
