//! From plan to steps, without touching anything: what `--dry-run` prints.

use std::fmt;

use crate::plan::{Plan, WarmPlan};

/// One step of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Make the data.
    Prepare,
    /// Stop the server, evict its files, start it, and prove that it is cold.
    RestartCold {
        /// The way that begins.
        way: String,
    },
    /// Fill the pool.
    Warm {
        /// The way it belongs to.
        way: String,
        /// How.
        plan: WarmPlan,
    },
    /// Run the load.
    Load {
        /// The way it belongs to.
        way: String,
        /// From 1: which run since the way began.
        pass: u32,
    },
    /// Have the server write down which pages its pool holds.
    Dump {
        /// The way it belongs to.
        way: String,
    },
}

impl Step {
    /// The step's kind, as the run folder names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Step::Prepare => "prepare",
            Step::RestartCold { .. } => "restart_cold",
            Step::Warm { .. } => "warm",
            Step::Load { .. } => "load",
            Step::Dump { .. } => "dump",
        }
    }

    /// The way it belongs to; empty for none.
    pub fn way(&self) -> &str {
        match self {
            Step::Prepare => "",
            Step::RestartCold { way }
            | Step::Warm { way, .. }
            | Step::Load { way, .. }
            | Step::Dump { way } => way,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = self.way();
        if !way.is_empty() {
            write!(f, "{way}: ")?;
        }
        match self {
            Step::Prepare => f.write_str("make the data"),
            Step::RestartCold { .. } => f.write_str("restart cold"),
            Step::Warm { plan, .. } => write!(f, "warm by {}", plan.strategy),
            Step::Load { pass, .. } => write!(f, "load, pass {pass}"),
            Step::Dump { .. } => f.write_str("write down the pages in the pool"),
        }
    }
}

/// The steps of a plan, in order.
pub fn steps(plan: &Plan) -> Vec<Step> {
    let mut steps = Vec::new();
    if plan.prepare {
        steps.push(Step::Prepare);
    }
    for way in &plan.ways {
        let name = || way.name.clone();
        if plan.cold {
            steps.push(Step::RestartCold { way: name() });
        }
        for warm in &way.warm {
            steps.push(Step::Warm { way: name(), plan: warm.clone() });
        }
        for pass in 1..=plan.passes {
            steps.push(Step::Load { way: name(), pass });
        }
        if way.dump_after {
            steps.push(Step::Dump { way: name() });
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, WayPlan};

    fn way(name: &str, strategy: &str, dump_after: bool) -> WayPlan {
        let warm = WarmPlan { strategy: strategy.to_owned(), ..WarmPlan::default() };
        let warm = if strategy.is_empty() { Vec::new() } else { vec![warm] };
        WayPlan { name: name.to_owned(), warm, dump_after, ..WayPlan::default() }
    }

    fn printed(plan: &Plan) -> Vec<String> {
        steps(plan).iter().map(Step::to_string).collect()
    }

    #[test]
    fn a_plain_load_is_one_step() {
        let plan = Plan { ways: vec![WayPlan::default()], passes: 1, ..Plan::default() };
        assert_eq!(printed(&plan), ["load, pass 1"]);
    }

    #[test]
    fn each_way_begins_cold_and_the_list_of_pages_is_made_before_it_is_loaded() {
        let ways = vec![way("none", "", true), way("load", "load", false)];
        let plan = Plan { prepare: true, cold: true, ways, passes: 2, ..Plan::default() };
        let expected = [
            "make the data",
            "none: restart cold",
            "none: load, pass 1",
            "none: load, pass 2",
            "none: write down the pages in the pool",
            "load: restart cold",
            "load: warm by load",
            "load: load, pass 1",
            "load: load, pass 2",
        ];
        assert_eq!(printed(&plan), expected);
    }
}
