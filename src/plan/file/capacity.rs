//! The search for capacity in a plan file.

use super::document::Section;
use crate::plan::{CapacityPlan, Metric, Objective};

/// The search, if the file asks for one.
pub(super) fn read_capacity(root: &Section<'_>) -> Option<CapacityPlan> {
    let section = root.section("capacity");
    if !section.is_there() {
        section.done();
        return None;
    }
    let default = CapacityPlan::default();
    let mut objectives = Vec::new();
    for text in section.texts("slo").unwrap_or_default() {
        match Objective::parse("", &text) {
            Ok(objective) if objective.metric == Metric::Rate => {
                section.complain("slo", "a rate is what is searched for", Some(EXAMPLE.to_owned()));
            }
            Ok(objective) => objectives.push(objective),
            Err(mistake) => section.complain("slo", &mistake.why, mistake.hint),
        }
    }
    let plan = CapacityPlan {
        objectives,
        settle: section.time("settle").unwrap_or(default.settle),
        step_time: section.time("step-time").unwrap_or(default.step_time),
        confirm: section.time("confirm").unwrap_or(default.confirm),
    };
    section.done();
    Some(plan)
}

const EXAMPLE: &str = "name a latency or errors, as in \"p99 < 20ms\"";
