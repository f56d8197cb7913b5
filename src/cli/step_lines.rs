//! A run of several steps as lines: one for each step with the time it took, and how far the longer ones are.

use clap::ArgMatches;

use super::context::CliContext;
use super::progress::ProgressLine;
use crate::analysis::number_format::format_number;
use crate::archive::PlanLock;
use crate::experiment::{PlanStep, RunListener};
use crate::plan::Plan;
use crate::recorder::Interval;
use crate::report::shorten_cell;
use crate::workload::JobProgress;

/// Columns for a step's name, so that its time and rate fit in a terminal of 80.
const PLACE: usize = 49;

/// Shows the steps of a run on stderr.
pub(super) struct StepLines<'a> {
    context: &'a CliContext,
    progress: ProgressLine,
    quiet: bool,
    /// Longest time of a load, whole seconds; 0 if it has none.
    load_s: u64,
    /// Events of the load under way, and seconds it has run; `None` outside loads.
    load: Option<(u64, f64)>,
    place: String,
    /// What the run to be repeated came to.
    repeats: Option<PlanLock>,
}

impl<'a> StepLines<'a> {
    /// Lines as the flags `quiet` and `plain` want them. `repeats` is what the run to be repeated came to, if this
    /// is a repeat: what differs is told.
    pub(super) fn new(
        args: &ArgMatches,
        context: &'a CliContext,
        plan: &Plan,
        repeats: Option<PlanLock>,
    ) -> StepLines<'a> {
        let quiet = args.get_flag("quiet");
        StepLines {
            context,
            progress: ProgressLine::new(context.terminal, quiet, args.get_flag("plain")),
            quiet,
            load_s: plan.load.time.map_or(0, |time| time.as_secs()),
            load: None,
            place: String::new(),
            repeats,
        }
    }

    fn print_line(&mut self, line: &str) {
        if !self.quiet {
            self.progress.finish();
            self.context.print_message(line);
        }
    }
}

impl RunListener for StepLines<'_> {
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
        self.progress.show(&JobProgress { label: self.place.clone(), ..JobProgress::default() });
    }

    fn step_ended(&mut self, _step: &PlanStep, seconds: f64) {
        let rate = match self.load.take() {
            Some((events, time)) if time > 0.0 => {
                format!("  {:>9} events/s", format_number(events as f64 / time))
            }
            _ => String::new(),
        };
        let place = shorten_cell(&self.place, PLACE);
        self.print_line(&format!("{place:<PLACE$} {seconds:>7.2} s{rate}"));
    }

    fn step_progressed(&mut self, progress: &JobProgress) {
        let label = format!("{}: {}", self.place, progress.label);
        self.progress.show(&JobProgress { label, ..progress.clone() });
    }

    fn interval_ended(&mut self, interval: &Interval) {
        let Some((events, time)) = &mut self.load else { return };
        *events += interval.event_count();
        *time += interval.ended.since(interval.began).to_seconds();
        let (done, total) = (*time as u64, self.load_s);
        self.progress.show(&JobProgress { label: self.place.clone(), done, total, unit: "s" });
    }

    fn note_added(&mut self, text: &str) {
        self.print_line(&format!("note: {text}"));
    }
}
