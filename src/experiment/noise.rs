//! How quiet it is beside a load.

use std::time::Duration;

use super::run_context::RunContext;
use crate::archive::{Counters, RunCommand};
use crate::plan::Plan;
use crate::probe::noise::{NoiseChecks, NoiseContext, measure_noise};

/// Loads shorter than this get a look that is shorter still.
const SHORT_LOAD: Duration = Duration::from_secs(30);
/// A look of two or three hundredths of a second: on each core a clock is read all the while, which must not be most of what
/// sweat does in a run of some seconds. What happens during the load is seen by other means.
const GLANCE: NoiseChecks = NoiseChecks {
    quiet: Duration::from_millis(10),
    gap: Duration::from_millis(8),
    repeats: 5,
    repeat: Duration::from_millis(1),
};

/// How closely to look beside the loads of a plan; not at all for some.
pub(super) fn choose_noise_checks(plan: &Plan, command: &RunCommand) -> Option<NoiseChecks> {
    let short = plan.load.time.is_none_or(|time| time < SHORT_LOAD);
    match command {
        // Its loads follow each other in seconds; looks between them would be a tenth of its time.
        RunCommand::Demo => None,
        _ if short => Some(GLANCE),
        _ => Some(NoiseChecks::SHORT),
    }
}

/// One look, its numbers under this prefix. Flushed writes go to the run's folder.
pub(super) fn record_noise(
    noise: &mut Counters,
    prefix: &str,
    care: &NoiseChecks,
    pid: Option<u32>,
    run: &RunContext<'_>,
) {
    let dir = run.run_dir();
    let scene = NoiseContext { pid, dir: Some(&dir) };
    let seen = measure_noise(care, &scene, run.clock, run.stop, &mut |_| {});
    noise.extend(seen.into_iter().map(|(name, value)| (format!("{prefix}{name}"), value)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LoadPlan;

    #[test]
    fn looks_are_short_beside_short_loads() {
        let plan = |seconds: Option<u64>| Plan {
            load: LoadPlan { time: seconds.map(Duration::from_secs), ..LoadPlan::default() },
            ..Plan::default()
        };
        assert_eq!(
            choose_noise_checks(&plan(Some(60)), &RunCommand::Bench),
            Some(NoiseChecks::SHORT)
        );
        assert_eq!(choose_noise_checks(&plan(Some(1)), &RunCommand::Bench), Some(GLANCE));
        assert_eq!(choose_noise_checks(&plan(None), &RunCommand::Bench), Some(GLANCE));
        assert_eq!(choose_noise_checks(&plan(Some(60)), &RunCommand::Demo), None);
    }
}
