//! The view of a load under way, for every command that runs loads: it is opened when a load begins and taken away when it
//! ends, and what is said meanwhile is told afterwards.

use std::io::ErrorKind;
use std::path::Path;

use clap::ArgMatches;

use super::context::CliContext;
#[cfg(feature = "live-view")]
use super::live::LiveLoadView;
#[cfg(not(feature = "live-view"))]
use super::no_live_view::AbsentLoadView as LiveLoadView;
use super::page::PageFeed;
use crate::analysis::{LiveStats, SteadyOutlook};
use crate::archive::{SampleRecord, ServerRecord};
use crate::base::{Nanos, StopReason, kernel};
use crate::experiment::{AgentProgress, PlanStep};
use crate::plan::{Check, CheckCondition, LoadPlan, Objective, Plan};
use crate::probe::ProbeSample;
use crate::recorder::Interval;
use crate::workload::JobProgress;

/// Ended steps that the view can show.
const MOST_STEPS: usize = 100;

/// What is known of a load before it begins.
#[derive(Clone, Debug, Default)]
#[cfg_attr(not(feature = "live-view"), expect(dead_code, reason = "the view reads them"))]
pub(super) struct LoadHeader {
    /// The workload's name.
    pub(super) kind: String,
    /// The load as this step runs it.
    pub(super) load: LoadPlan,
    /// Product and version; empty if there is no server.
    pub(super) server: String,
    /// What has to hold, as far as one load can tell.
    pub(super) objectives: Vec<Objective>,
    /// `[3/17] block 1, a: load`; empty if the plan is this one load.
    pub(super) step: String,
    /// The steps of the plan that have ended, a line each.
    pub(super) ended_steps: Vec<String>,
    /// The agents that run the load; empty if there are none.
    pub(super) agents: Vec<AgentProgress>,
    /// Seconds from the beginning of this step to the end of the plan.
    pub(super) left_s: Option<f64>,
}

/// Shows loads, where that is wanted and the terminal can.
pub(super) struct LoadDisplay<'a> {
    context: &'a CliContext,
    is_wanted: bool,
    header: LoadHeader,
    stats: LiveStats,
    view: Option<Box<LiveLoadView>>,
    /// The page, if there is one.
    page: Option<PageFeed>,
    /// What was said while the view stood there; it is told when the view has gone.
    held: Vec<String>,
}

impl<'a> LoadDisplay<'a> {
    /// For the loads of a plan; shows nothing unless `is_wanted`.
    pub(super) fn new(
        plan: &Plan,
        args: &ArgMatches,
        context: &'a CliContext,
        is_wanted: bool,
    ) -> LoadDisplay<'a> {
        let header = LoadHeader {
            kind: plan.workload.kind.clone(),
            load: plan.load.clone(),
            objectives: objectives_of(plan, args),
            ..LoadHeader::default()
        };
        let (stats, view, held) = (LiveStats::default(), None, Vec::new());
        LoadDisplay { context, is_wanted, header, stats, view, page: None, held }
    }

    /// Shows all of it on a page, too.
    pub(super) fn set_page(&mut self, page: Option<PageFeed>) {
        self.page = page;
    }

    /// The run has this folder.
    pub(super) fn run_started(&self, folder: &Path) {
        self.page.iter().for_each(|page| page.run_started(folder));
    }

    /// A step begins; `text` names it.
    pub(super) fn step_started(&mut self, step: &PlanStep, text: &str) {
        self.page.iter_mut().for_each(|page| page.step_started(text, &step.variant));
    }

    /// Something worth a line was said.
    pub(super) fn note_added(&self, text: &str) {
        self.page.iter().for_each(|page| page.note_added(text));
    }

    /// Whether a flag or the terminal speaks against a view.
    pub(super) fn is_welcome(args: &ArgMatches, context: &CliContext) -> bool {
        context.terminal.live && !args.get_flag("plain") && !args.get_flag("quiet")
    }

    pub(super) fn set_server(&mut self, server: &ServerRecord) {
        self.header.server = format!("{} {}", server.product, server.version_number());
    }

    /// The load that comes next, and its place in the plan.
    pub(super) fn set_step(&mut self, load: LoadPlan, step: String, left_s: Option<f64>) {
        let header = &mut self.header;
        (header.load, header.step, header.left_s) = (load, step, left_s);
    }

    /// A step of the plan has ended; its line.
    pub(super) fn add_ended_step(&mut self, line: String) {
        self.header.ended_steps.push(line);
        if self.header.ended_steps.len() > MOST_STEPS {
            self.header.ended_steps.remove(0);
        }
    }

    /// A load begins. Whether the view is there now.
    pub(super) fn start_load(&mut self) -> bool {
        self.stats = LiveStats::at_load_start(own_cpu());
        if !self.is_wanted {
            return false;
        }
        let colour = self.context.terminal.colour;
        match LiveLoadView::open(self.header.clone(), colour, &self.context.stop) {
            Ok(view) => self.view = Some(Box::new(view)),
            // A terminal that can't tell where its cursor stands still takes lines.
            Err(error) => {
                self.is_wanted = false;
                if error.kind() == ErrorKind::Unsupported {
                    self.context.print_note(&error.to_string());
                }
            }
        }
        self.view.is_some()
    }

    /// Whether the view is there.
    pub(super) fn is_open(&self) -> bool {
        self.view.is_some()
    }

    pub(super) fn add_interval(&mut self, interval: &Interval) -> &LiveStats {
        self.stats.add_interval(interval, own_cpu());
        if let Some(page) = &self.page {
            page.interval_ended(interval, &self.stats, &self.header);
        }
        if let Some(view) = &mut self.view {
            view.draw(&self.stats);
        }
        &self.stats
    }

    pub(super) fn add_sample(&mut self, sample: &ProbeSample) {
        self.stats.add_sample(SampleRecord::from(sample));
    }

    pub(super) fn set_outlook(&mut self, outlook: &SteadyOutlook) {
        if let Some(view) = &mut self.view {
            view.set_outlook(outlook);
        }
    }

    /// How far the agents are that run the load.
    pub(super) fn set_agents(&mut self, agents: &[AgentProgress]) {
        self.header.agents = agents.to_vec();
        if let Some(view) = &mut self.view {
            view.set_agents(agents);
        }
    }

    /// What the load is at.
    pub(super) fn set_work(&mut self, progress: &JobProgress) {
        if let Some(view) = &mut self.view {
            view.set_work(super::bench::work_text(progress));
        }
    }

    /// Prints a line, once the view has gone.
    pub(super) fn print_line(&mut self, line: &str) {
        match self.is_open() {
            true => self.held.push(line.to_owned()),
            false => self.context.print_message(line),
        }
    }

    /// Takes the view away and tells what was held back.
    pub(super) fn end_load(&mut self) {
        self.view = None;
        for line in std::mem::take(&mut self.held) {
            self.context.print_message(&line);
        }
    }

    /// What is done after a load that the user has ended: said where a view has just gone.
    pub(super) fn stopping_progress(&self) -> Option<JobProgress> {
        let is_stopping = self.context.stop.reason() == Some(StopReason::Interrupted);
        let label = "stopping: keeping what was measured, ending what was started".to_owned();
        (self.is_wanted && is_stopping).then(|| JobProgress { label, ..JobProgress::default() })
    }
}

impl Drop for LoadDisplay<'_> {
    fn drop(&mut self) {
        self.end_load();
    }
}

/// Agents and who of them is behind: `a1, a2 (3 intervals behind), a3 (lost)`.
pub(super) fn agents_text(agents: &[AgentProgress]) -> String {
    let one = |agent: &AgentProgress| match (&agent.lost, agent.is_late()) {
        (Some(_), _) => format!("{} (lost)", agent.name),
        (None, true) => format!("{} ({} intervals behind)", agent.name, agent.behind),
        (None, false) => agent.name.clone(),
    };
    agents.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What has to hold of each load as a whole: checks typed or of the plan, and the objectives of a search.
fn objectives_of(plan: &Plan, args: &ArgMatches) -> Vec<Objective> {
    let typed = args.try_get_many::<String>("check").ok().flatten().into_iter().flatten();
    let checks = typed.chain(&plan.checks).filter_map(|text| Check::parse(text).ok());
    let objective = |check: Check| match (check.asked, &check.class, check.share) {
        (CheckCondition::Objective(objective), None, None) => Some(objective),
        _ => None,
    };
    let searched = plan.capacity.iter().flat_map(|capacity| capacity.objectives.iter().copied());
    checks.filter_map(objective).chain(searched).collect()
}

fn own_cpu() -> Nanos {
    let (user, system) = kernel::cpu_time();
    user + system
}
