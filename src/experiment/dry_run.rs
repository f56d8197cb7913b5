//! What a plan would do, step by step, and what each step would send to the server. Asks nobody.

use anyhow::Context as _;

use super::steps::{PlanStep, StepKind, plan_steps};
use super::trial;
use crate::base::units::show_time;
use crate::client::Target;
use crate::plan::{AddressPlan, Plan, Protocol, TargetPlan};
use crate::probe::{PROBES, SamplingSchedule};
use crate::server::Settings;
use crate::warm;
use crate::workload::StatementPreview;

/// A step as it would be, and what it would send or do, line by line.
#[derive(Clone, Debug, PartialEq)]
pub struct DryRunStep {
    /// The step; `None` for what goes on beside all of them.
    pub step: Option<PlanStep>,
    /// Statements and deeds.
    pub lines: Vec<String>,
}

/// All steps of a plan, rehearsed.
///
/// # Errors
/// When the plan's workload doesn't take its options.
pub fn dry_run_steps(plan: &Plan) -> anyhow::Result<Vec<DryRunStep>> {
    // Nobody listens there, and nobody is called.
    let nowhere = AddressPlan {
        socket: Some("/nowhere".into()),
        protocol: Some(Protocol::Socket),
        ..AddressPlan::default()
    };
    let target = match plan.target {
        TargetPlan::None => None,
        _ => Some(Target::new(&nowhere)?),
    };
    let workload = trial::build_workload(&plan.workload, target.as_ref().into())?;
    let described = workload.describe_statements();
    let mut loads = 0;
    let mut all = vec![describe_background(plan)];
    for step in plan_steps(plan) {
        loads += u32::from(step.is_load());
        let lines = describe_step(plan, &step, &described, loads == 1)
            .with_context(|| format!("rehearse {step}"))?;
        all.push(DryRunStep { step: Some(step), lines });
    }
    Ok(all)
}

/// The server that is started, and who looks at it meanwhile.
fn describe_background(plan: &Plan) -> DryRunStep {
    let mut lines = Vec::new();
    match &plan.target {
        TargetPlan::None => {}
        TargetPlan::Address(_) => lines.push("a server that sweat did not start".to_owned()),
        TargetPlan::Sandbox(sandbox) => {
            let pool = sandbox.pool.map(|pool| format!(" --innodb-buffer-pool-size={pool}"));
            lines.push(format!(
                "a throw-away server, started with{}{}",
                pool.unwrap_or_default(),
                setting_flags(&sandbox.settings)
            ));
            lines.push("CREATE DATABASE IF NOT EXISTS sbtest".to_owned());
        }
    }
    for probe in PROBES {
        let is_wanted = probe.is_asked_by(&plan.probes.names);
        let is_there = !probe.needs_server || has_target(plan);
        if is_wanted && is_there {
            let rhythm = match probe.schedule {
                SamplingSchedule::Ticks(ticks) => {
                    let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
                    format!("every {}", show_time(plan.probes.interval.saturating_mul(ticks)))
                }
                SamplingSchedule::Ends => "at start and end".to_owned(),
            };
            lines.push(format!("probe {}, {rhythm}: {}", probe.name, probe.about));
        }
    }
    if has_target(plan) {
        lines.push("before and after each step: SHOW GLOBAL STATUS".to_owned());
    }
    DryRunStep { step: None, lines }
}

fn has_target(plan: &Plan) -> bool {
    !matches!(plan.target, TargetPlan::None)
}

fn setting_flags(settings: &Settings) -> String {
    settings.iter().map(|(name, value)| format!(" --{}={value}", name.replace('_', "-"))).collect()
}

fn describe_step(
    plan: &Plan,
    step: &PlanStep,
    described: &StatementPreview,
    is_first_load: bool,
) -> anyhow::Result<Vec<String>> {
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Ok(match &step.kind {
        StepKind::Prepare => described.prepare.clone(),
        StepKind::Reload => {
            let mut lines = vec!["DROP TABLE, each table that the workload made".to_owned()];
            lines.extend(described.prepare.iter().cloned());
            lines
        }
        StepKind::CheckData { .. } => own(&["SELECT, all rows of all tables, in snapshots"]),
        StepKind::Snapshot => own(&["stop the server (SIGTERM)", "copy its data folder"]),
        StepKind::Restore => own(&["stop the server (SIGTERM)", "put the copy back, and check it"]),
        StepKind::Restart { settings, cold } => {
            let mut lines = vec!["stop the server (SIGTERM), if it runs".to_owned()];
            if *cold {
                lines.push("evict its files from the page cache".to_owned());
            }
            lines.push(format!("start it{}", setting_flags(settings)));
            lines.push("SHOW GLOBAL VARIABLES".to_owned());
            lines
        }
        StepKind::Set { settings } => {
            let set = |(name, value): &(String, String)| {
                [
                    format!("SELECT @@GLOBAL.{name}, kept in the journal"),
                    format!("SET GLOBAL {name} = {value}"),
                ]
            };
            let mut lines = own(&["SET GLOBAL, the old values of the variant before"]);
            lines.extend(settings.iter().flat_map(set));
            lines
        }
        StepKind::Warm { plan } => {
            vec![warm::find_strategy(&plan.strategy)?.help_line().to_owned()]
        }
        StepKind::Settle { .. } => own(&["SHOW GLOBAL STATUS, every second"]),
        StepKind::WatchCost => {
            own(&["the load for a while with its instruments on, and off, and on again"])
        }
        StepKind::Dump => own(&["SET GLOBAL innodb_buffer_pool_dump_now = ON"]),
        StepKind::ClassLoad { name, .. } => vec![format!("events of class {name} alone")],
        StepKind::WarmUp { .. } => own(&["the load, not counted"]),
        StepKind::Load { over, .. } => {
            let load = trial::apply_overrides(&plan.load, over);
            let time = load.time.map(|time| format!(", {}", show_time(time))).unwrap_or_default();
            let head = format!(
                "{} workers, {}{time}",
                load.own_workers().len(),
                trial::arrival_text(&load)
            );
            let statements = if is_first_load { described.load.as_slice() } else { &[] };
            std::iter::once(head).chain(statements.iter().cloned()).collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Options, SandboxPlan, VariantPlan, WorkloadPlan};
    use crate::workload;

    #[test]
    fn every_statement_that_would_change_something_is_told() {
        let kind = "oltp_read_write".to_owned();
        let specs = workload::find_kind(&kind).unwrap().option_specs();
        let plan = Plan {
            target: TargetPlan::Sandbox(SandboxPlan::default()),
            workload: WorkloadPlan { options: Options::from_given(&specs, &[]).unwrap(), kind },
            prepare: true,
            passes: 1,
            variants: vec![VariantPlan {
                settings: vec![("innodb_io_capacity".to_owned(), "500".to_owned())],
                ..VariantPlan::default()
            }],
            ..Plan::default()
        };
        let all = dry_run_steps(&plan).unwrap();
        let text = all.iter().flat_map(|r| &r.lines).cloned().collect::<Vec<_>>().join("\n");
        for word in [
            "SHOW GLOBAL STATUS",
            "CREATE TABLE sbtest1 (",
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES ..., 10000 rows",
            "CREATE INDEX k_1",
            "start it --innodb-io-capacity=500",
            "UPDATE sbtestN SET k=k+1 WHERE id=?",
            "COMMIT",
        ] {
            assert!(text.contains(word), "{word} is not in\n{text}");
        }
        assert_eq!(all.len(), 4);
    }
}
