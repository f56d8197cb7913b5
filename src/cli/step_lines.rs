//! A run of several steps as lines: one for each step with the time it took, and how far the longer ones are.

use std::path::Path;

use clap::ArgMatches;

use super::context::{CliContext, note_text};
use super::load_display::LoadDisplay;
use super::page::RunPage;
use super::progress::ProgressLine;
use crate::analysis::SteadyOutlook;
use crate::analysis::number_format::format_number;
use crate::archive::{PlanLock, RecordedStepKind, ServerRecord};
use crate::base::units::show_duration;
use crate::experiment::{self, AgentProgress, PlanStep, RemainingTime, RunListener, TimeEstimate};
use crate::plan::Plan;
use crate::probe::ProbeSample;
use crate::recorder::Interval;
use crate::report::shorten_cell;
use crate::workload::JobProgress;

/// Columns for a step's name, so that its time and rate fit in a terminal of 80.
const PLACE: usize = 49;

/// The same in a pane of the view, which has names at its left.
const PANE_PLACE: usize = 40;

/// Shows the steps of a run on stderr, and on a terminal each load in a view.
pub(super) struct StepLines<'a> {
    plan: &'a Plan,
    display: LoadDisplay<'a>,
    progress: ProgressLine,
    quiet: bool,
    /// Longest time of the load under way, whole seconds; 0 if it has none.
    load_s: u64,
    /// Events of the load under way, and seconds it has run; `None` outside loads.
    load: Option<(u64, f64)>,
    /// `[  3/17] block 1, a: restart`
    place: String,
    number: usize,
    left: RemainingTime,
    /// What the run to be repeated came to.
    repeats: Option<PlanLock>,
}

impl<'a> StepLines<'a> {
    /// Lines as the flags `quiet` and `plain` want them. `repeats` is what the run to be repeated came to, if this
    /// is a repeat: what differs is told.
    pub(super) fn new(
        args: &ArgMatches,
        context: &'a CliContext,
        plan: &'a Plan,
        repeats: Option<PlanLock>,
    ) -> StepLines<'a> {
        let quiet = args.get_flag("quiet");
        if !quiet {
            context.print_message(&estimate_text(plan));
        }
        StepLines {
            plan,
            display: LoadDisplay::new(plan, args, context, LoadDisplay::is_welcome(args, context)),
            progress: ProgressLine::new(context.terminal, quiet, args.get_flag("plain")),
            quiet,
            load_s: plan.load.time.map_or(0, |time| time.as_secs()),
            load: None,
            place: String::new(),
            number: 0,
            left: RemainingTime::from_plan(plan),
            repeats,
        }
    }

    /// Shows the run on this page, too.
    pub(super) fn with_page(mut self, page: &RunPage) -> StepLines<'a> {
        self.display.set_page(page.feed());
        self
    }

    /// How far the step is; its number also says how long is left of all steps.
    fn show_progress(&mut self, progress: JobProgress) {
        if self.display.is_open() {
            return;
        }
        let of_step = self.load.map_or(0.0, |(_, time)| time);
        let left = self.left.seconds_from(self.number).map(|all| (all - of_step).max(0.0));
        let left = left.map(|s| format!(", {} left]", show_duration(s, 2)));
        let label = progress.label.replacen(']', left.as_deref().unwrap_or("]"), 1);
        self.progress.show(&JobProgress { label, ..progress });
    }

    fn print_line(&mut self, line: &str) {
        if !self.quiet {
            self.progress.finish();
            self.display.print_line(line);
        }
    }
}

/// How long a plan takes: the times that it says itself, and which steps it does not say it of.
pub(super) fn estimate_text(plan: &Plan) -> String {
    let TimeEstimate { loads, settling, unknown } = experiment::estimate_time(plan);
    let mut text = format!("takes {} of loads", show_duration(loads.as_secs_f64(), 2));
    if !settling.is_zero() {
        text += &format!(", at most {} of settling", show_duration(settling.as_secs_f64(), 2));
    }
    if let Some(most) = plan.until_clear {
        text += &format!(", and more up to {most} blocks");
    }
    let name = |(kind, count): (&RecordedStepKind, &usize)| match count {
        1 => kind.as_str().replace('_', " "),
        count => format!("{count} x {}", kind.as_str().replace('_', " ")),
    };
    let names: Vec<String> = unknown.iter().map(name).collect();
    match names.is_empty() {
        true => text,
        false => format!("{text}\n  plus {}", names.join(", ")),
    }
}

impl RunListener for StepLines<'_> {
    fn run_started(&mut self, folder: &Path) {
        self.display.run_started(folder);
    }

    fn server_known(&mut self, server: &ServerRecord) {
        self.display.set_server(server);
    }

    fn plan_resolved(&mut self, lock: &PlanLock) {
        let Some(was) = self.repeats.take() else { return };
        let differences = was.describe_changes(lock);
        if differences.is_empty() {
            self.print_line("the same sweat, server, plan and machine as then");
        }
        for difference in differences {
            self.print_line(&format!("not as then: {difference}"));
        }
    }

    fn step_started(&mut self, step: &PlanStep, number: usize, of: usize) {
        self.place = format!("[{number:>3}/{of}] {step}");
        self.load = step.is_load().then_some((0, 0.0));
        self.number = number;
        self.display.step_started(step, &self.place);
        if let Some(load) = step.planned_load(self.plan) {
            self.load_s = load.time.map_or(0, |time| time.as_secs());
            self.display.set_step(load, self.place.clone(), self.left.seconds_from(number));
        }
        self.show_progress(JobProgress { label: self.place.clone(), ..JobProgress::default() });
    }

    fn load_started(&mut self, _classes: &[String]) {
        self.progress.finish();
        self.display.start_load();
    }

    fn step_ended(&mut self, step: &PlanStep, seconds: f64) {
        self.display.end_load();
        self.left.add_ended(step, seconds);
        let rate = match self.load.take() {
            Some((events, time)) if time > 0.0 => {
                format!("  {:>9} events/s", format_number(events as f64 / time))
            }
            _ => String::new(),
        };
        let place = shorten_cell(&self.place, PLACE);
        self.print_line(&format!("{place:<PLACE$} {seconds:>7.2} s{rate}"));
        let place = shorten_cell(&self.place, PANE_PLACE);
        self.display.add_ended_step(format!("{place:<PANE_PLACE$} {seconds:>7.2} s{rate}"));
        if let Some(stopping) = self.display.stopping_progress() {
            self.progress.show(&stopping);
        }
    }

    fn step_progressed(&mut self, progress: &JobProgress) {
        let label = format!("{}: {}", self.place, progress.label);
        self.show_progress(JobProgress { label, ..progress.clone() });
    }

    fn outlook_changed(&mut self, outlook: &SteadyOutlook) {
        self.display.set_outlook(outlook);
    }

    fn agents_changed(&mut self, agents: &[AgentProgress]) {
        self.display.set_agents(agents);
    }

    fn sample_taken(&mut self, sample: &ProbeSample) {
        self.display.add_sample(sample);
    }

    fn interval_ended(&mut self, interval: &Interval) {
        self.display.add_interval(interval);
        let Some((events, time)) = &mut self.load else { return };
        *events += interval.event_count();
        *time += interval.ended.since(interval.began).to_seconds();
        let (done, total) = (*time as u64, self.load_s);
        self.show_progress(JobProgress { label: self.place.clone(), done, total, unit: "s" });
    }

    fn note_added(&mut self, text: &str) {
        self.display.note_added(text);
        self.print_line(note_text(text).trim_end());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::VariantPlan;

    #[test]
    fn a_plan_says_how_long_it_takes() {
        let mut plan = Plan {
            variants: vec![VariantPlan::default(); 2],
            passes: 1,
            blocks: 5,
            ..Plan::default()
        };
        plan.load.time = Some(Duration::from_secs(8));
        assert_eq!(estimate_text(&plan), "takes 1 min 20 s of loads");
        (plan.prepare, plan.cold) = (true, true);
        plan.settle = Some(Duration::from_secs(10));
        assert_eq!(
            estimate_text(&plan),
            "takes 1 min 20 s of loads, at most 1 min 40 s of settling\n  \
             plus prepare, 10 x restart cold"
        );
        plan.until_clear = Some(20);
        assert!(estimate_text(&plan).contains(", and more up to 20 blocks\n"));
    }
}
