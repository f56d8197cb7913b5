//! Listens to a run and shows it: progress of the steps before the load, then a full view or a line per interval.

use std::path::Path;

use clap::ArgMatches;

use super::super::context::{CliContext, note_text};
use super::super::load_display::LoadDisplay;
use super::super::page::RunPage;
use super::super::progress::ProgressLine;
use super::{flags, lines, stream};
use crate::analysis::SteadyOutlook;
use crate::analysis::number_format::format_time;
use crate::archive::ServerRecord;
use crate::experiment::{AgentProgress, PlanStep, RunListener};
use crate::plan::Plan;
use crate::probe::ProbeSample;
use crate::recorder::Interval;
use crate::workload::JobProgress;

/// Shows a run on this terminal.
pub(in super::super) struct TerminalListener<'a> {
    context: &'a CliContext,
    display: LoadDisplay<'a>,
    progress: ProgressLine,
    variant: DisplayMode,
    /// Loads begun so far.
    loads: u32,
    /// How far the load is, if it is a work that comes to an end.
    work: Option<JobProgress>,
}

/// How intervals are shown.
enum DisplayMode {
    /// Not at all.
    Quiet,
    /// A line each on stdout, which is data.
    Lines,
    /// A line each on stderr, since stdout is for a format that programs read.
    Aside,
    /// A JSON object each on stderr.
    Stream,
    /// A view of the whole load.
    Live,
}

impl<'a> TerminalListener<'a> {
    /// A listener as the flags and the terminal want it.
    pub(in super::super) fn new(
        plan: &Plan,
        args: &ArgMatches,
        context: &'a CliContext,
    ) -> TerminalListener<'a> {
        let text = args.get_one::<String>("format").is_some_and(|f| f == "text");
        let variant = match () {
            () if is_stream(args) => DisplayMode::Stream,
            () if args.get_flag("quiet") => DisplayMode::Quiet,
            () if LoadDisplay::is_welcome(args, context) => DisplayMode::Live,
            () if text => DisplayMode::Lines,
            () => DisplayMode::Aside,
        };
        let is_live = matches!(variant, DisplayMode::Live);
        TerminalListener {
            context,
            display: LoadDisplay::new(plan, args, context, is_live),
            progress: flags::progress_line(args, context),
            variant,
            loads: 0,
            work: None,
        }
    }

    /// Shows the run on this page, too.
    pub(in super::super) fn with_page(mut self, page: &RunPage) -> TerminalListener<'a> {
        self.display.set_page(page.feed());
        self
    }

    fn is_quiet(&self) -> bool {
        matches!(self.variant, DisplayMode::Quiet | DisplayMode::Stream)
    }
}

impl RunListener for TerminalListener<'_> {
    fn run_started(&mut self, folder: &Path) {
        self.display.run_started(folder);
    }

    fn server_known(&mut self, server: &ServerRecord) {
        self.display.set_server(server);
    }

    fn step_started(&mut self, step: &PlanStep, _number: usize, _of: usize) {
        self.display.step_started(step, &step.to_string());
        if step.is_load() {
            return;
        }
        let label = step.to_string();
        self.progress.show(&JobProgress { label, ..JobProgress::default() });
    }

    fn step_ended(&mut self, step: &PlanStep, seconds: f64) {
        self.progress.finish();
        self.display.end_load();
        if !self.is_quiet() && !step.is_load() {
            self.context.print_message(&format!("{step}: {}", format_time(seconds)));
        }
        if let Some(stopping) = self.display.stopping_progress() {
            self.progress.show(&stopping);
        }
    }

    fn step_progressed(&mut self, progress: &JobProgress) {
        self.progress.show(progress);
    }

    fn load_started(&mut self, _classes: &[String]) {
        self.progress.finish();
        self.loads += 1;
        self.work = None;
        if !self.display.start_load() && matches!(self.variant, DisplayMode::Live) {
            self.variant = DisplayMode::Lines;
        }
    }

    fn load_progressed(&mut self, progress: &JobProgress) {
        self.display.set_work(progress);
        self.work = Some(progress.clone());
    }

    fn interval_ended(&mut self, interval: &Interval) {
        let Some(beat) = self.display.add_interval(interval).last_interval() else { return };
        let line = || match &self.work {
            // Events that are unlike each other have no rate.
            Some(work) => lines::work_line(beat.at_s, work),
            None => lines::interval_line(beat),
        };
        match self.variant {
            DisplayMode::Quiet | DisplayMode::Live => {}
            // A closed stdout ends the program when the summary is printed; the load itself goes on.
            DisplayMode::Lines => drop(self.context.print_output(&format!("{}\n", line()))),
            DisplayMode::Stream => {
                self.context.print_message(&stream::interval_json(beat, self.loads))
            }
            DisplayMode::Aside => self.context.print_message(&line()),
        }
    }

    fn outlook_changed(&mut self, outlook: &SteadyOutlook) {
        match self.variant {
            DisplayMode::Quiet | DisplayMode::Stream => {}
            DisplayMode::Lines => {
                drop(self.context.print_output(&format!("{}\n", lines::outlook_line(outlook))))
            }
            DisplayMode::Aside => self.context.print_message(&lines::outlook_line(outlook)),
            DisplayMode::Live => self.display.set_outlook(outlook),
        }
    }

    fn agents_changed(&mut self, agents: &[AgentProgress]) {
        self.display.set_agents(agents);
    }

    fn sample_taken(&mut self, sample: &ProbeSample) {
        self.display.add_sample(sample);
    }

    fn note_added(&mut self, text: &str) {
        self.display.note_added(text);
        if matches!(self.variant, DisplayMode::Stream) {
            self.context.print_message(&stream::note_json(text));
        }
        if !self.is_quiet() {
            self.display.print_line(note_text(text).trim_end());
        }
    }
}

/// Whether programs read the progress. Commands without the flag have no stream.
fn is_stream(args: &ArgMatches) -> bool {
    let typed = args.try_get_one::<String>("progress").ok().flatten();
    typed.is_some_and(|format| format == "json")
}
