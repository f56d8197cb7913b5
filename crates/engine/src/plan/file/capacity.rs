//! The search for capacity in a plan file.

use super::document::PlanSection;
use crate::plan::{CapacityPlan, Metric, Objective};

/// The search, if the file asks for one.
pub(super) fn read_capacity(root: &PlanSection<'_>) -> Option<CapacityPlan> {
    let section = root.read_section("capacity");
    if !section.is_present() {
        section.check_unknown_keys();
        return None;
    }
    let default = CapacityPlan::default();
    let mut objectives = Vec::new();
    for text in section.read_texts("slo").unwrap_or_default() {
        match Objective::parse("", &text) {
            Ok(objective) if objective.metric == Metric::Rate => {
                section.add_mistake(
                    "slo",
                    "the search looks for the rate: leave it out",
                    Some(EXAMPLE.to_owned()),
                );
            }
            Ok(objective) => objectives.push(objective),
            Err(mistake) => section.add_mistake("slo", &mistake.why, mistake.hint),
        }
    }
    let plan = CapacityPlan {
        quantity: section.read_text("search").filter(|name| name != "rate"),
        objectives,
        settle: section.read_time("settle").unwrap_or(default.settle),
        step_time: section.read_time("step-time").unwrap_or(default.step_time),
        confirm: section.read_time("confirm").unwrap_or(default.confirm),
    };
    section.check_unknown_keys();
    Some(plan)
}

const EXAMPLE: &str = "name a latency or errors, as in \"p99 < 20ms\"";
