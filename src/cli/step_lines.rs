//! A run of several steps as lines: one for each step with the time it took, and how far the longer ones are.

use clap::ArgMatches;

use super::desk::Desk;
use super::progress::ProgressLine;
use crate::analysis::figure::figure;
use crate::archive::Lock;
use crate::experiment::{Listener, Step};
use crate::plan::Plan;
use crate::recorder::Interval;
use crate::workload::Progress;

/// Shows the steps of a run on stderr.
pub(super) struct StepLines<'a> {
    desk: &'a Desk,
    progress: ProgressLine,
    quiet: bool,
    /// Longest time of a load, whole seconds; 0 if it has none.
    load_s: u64,
    /// Events of the load under way, and seconds it has run; `None` outside loads.
    load: Option<(u64, f64)>,
    place: String,
    /// What the run to be repeated came to.
    repeats: Option<Lock>,
}

impl<'a> StepLines<'a> {
    /// Lines as the flags `quiet` and `plain` want them. `repeats` is what the run to be repeated came to, if this
    /// is a repeat: what differs is told.
    pub(super) fn new(
        args: &ArgMatches,
        desk: &'a Desk,
        plan: &Plan,
        repeats: Option<Lock>,
    ) -> StepLines<'a> {
        let quiet = args.get_flag("quiet");
        StepLines {
            desk,
            progress: ProgressLine::new(desk.terminal, quiet, args.get_flag("plain")),
            quiet,
            load_s: plan.load.time.map_or(0, |time| time.as_secs()),
            load: None,
            place: String::new(),
            repeats,
        }
    }

    fn say(&mut self, line: &str) {
        if !self.quiet {
            self.progress.finish();
            self.desk.say(line);
        }
    }
}

impl Listener for StepLines<'_> {
    fn lock(&mut self, lock: &Lock) {
        let Some(was) = self.repeats.take() else { return };
        let differences = was.differences(lock);
        if differences.is_empty() {
            self.say("the same sweat, server, plan and machine as then");
        }
        for difference in differences {
            self.say(&format!("not as then: {difference}"));
        }
    }

    fn step_began(&mut self, step: &Step, number: usize, of: usize) {
        self.place = format!("[{number:>3}/{of}] {step}");
        self.load = step.is_load().then_some((0, 0.0));
        self.progress.show(&Progress { label: self.place.clone(), ..Progress::default() });
    }

    fn step_ended(&mut self, _step: &Step, seconds: f64) {
        let rate = match self.load.take() {
            Some((events, time)) if time > 0.0 => {
                format!("  {:>9} events/s", figure(events as f64 / time))
            }
            _ => String::new(),
        };
        self.say(&format!("{:<66} {seconds:>7.2} s{rate}", self.place));
    }

    fn progress(&mut self, progress: &Progress) {
        let label = format!("{}: {}", self.place, progress.label);
        self.progress.show(&Progress { label, ..progress.clone() });
    }

    fn interval(&mut self, interval: &Interval) {
        let Some((events, time)) = &mut self.load else { return };
        *events += interval.events();
        *time += interval.ended.since(interval.began).seconds();
        let (done, total) = (*time as u64, self.load_s);
        self.progress.show(&Progress { label: self.place.clone(), done, total, unit: "s" });
    }

    fn note(&mut self, text: &str) {
        self.say(&format!("note: {text}"));
    }
}
