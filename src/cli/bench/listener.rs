//! Listens to a run and shows it: progress of the steps before the load, then a full view or a line per interval.

use std::io::ErrorKind;

use clap::ArgMatches;

use super::super::context::CliContext;
#[cfg(not(feature = "live-view"))]
use super::super::no_live_view::AbsentLoadView as LiveLoadView;
use super::super::progress::ProgressLine;
#[cfg(feature = "live-view")]
use super::live::LiveLoadView;
use super::{flags, lines, stream};
use crate::analysis::number_format::format_time;
use crate::analysis::{LiveStats, SteadyOutlook};
use crate::archive::{SampleRecord, ServerRecord};
use crate::base::{Nanos, kernel};
use crate::experiment::{PlanStep, RunListener};
use crate::plan::Plan;
use crate::probe::ProbeSample;
use crate::recorder::Interval;
use crate::workload::JobProgress;

/// Shows a run on this terminal.
pub(in super::super) struct TerminalListener<'a> {
    context: &'a CliContext,
    plan: &'a Plan,
    pulse: LiveStats,
    progress: ProgressLine,
    /// Product and version, once known.
    server: String,
    variant: DisplayMode,
    /// Loads begun so far.
    loads: u32,
    /// What was said while the view stood there; it is told when the view has gone.
    held: Vec<String>,
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
    /// A view of the whole load; `None` until the load begins.
    Live(Option<Box<LiveLoadView>>),
}

impl<'a> TerminalListener<'a> {
    /// A listener as the flags and the terminal want it.
    pub(in super::super) fn new(
        plan: &'a Plan,
        args: &ArgMatches,
        context: &'a CliContext,
    ) -> TerminalListener<'a> {
        let flag = |name: &str| args.get_flag(name);
        let text = args.get_one::<String>("format").is_some_and(|f| f == "text");
        let variant = match () {
            () if is_stream(args) => DisplayMode::Stream,
            () if flag("quiet") => DisplayMode::Quiet,
            () if context.terminal.live && !flag("plain") => DisplayMode::Live(None),
            () if text => DisplayMode::Lines,
            () => DisplayMode::Aside,
        };
        let progress = flags::progress_line(args, context);
        let server = String::new();
        TerminalListener {
            context,
            plan,
            pulse: LiveStats::default(),
            progress,
            server,
            variant,
            loads: 0,
            held: Vec::new(),
        }
    }

    fn is_quiet(&self) -> bool {
        matches!(self.variant, DisplayMode::Quiet | DisplayMode::Stream)
    }

    /// Takes the view away and tells what was held back.
    fn end_view(&mut self) {
        if let DisplayMode::Live(view) = &mut self.variant {
            *view = None;
        }
        for line in std::mem::take(&mut self.held) {
            self.context.print_message(&line);
        }
    }
}

impl RunListener for TerminalListener<'_> {
    fn server_known(&mut self, server: &ServerRecord) {
        self.server = format!("{} {}", server.product, server.version_number());
    }

    fn step_started(&mut self, step: &PlanStep, _number: usize, _of: usize) {
        if step.is_load() {
            return;
        }
        let label = step.to_string();
        self.progress.show(&JobProgress { label, ..JobProgress::default() });
    }

    fn step_ended(&mut self, step: &PlanStep, seconds: f64) {
        self.progress.finish();
        self.end_view();
        if !self.is_quiet() && !step.is_load() {
            self.context.print_message(&format!("{step}: {}", format_time(seconds)));
        }
    }

    fn step_progressed(&mut self, progress: &JobProgress) {
        self.progress.show(progress);
    }

    fn load_started(&mut self, _classes: &[String]) {
        self.progress.finish();
        self.loads += 1;
        self.pulse = LiveStats::at_load_start(own_cpu());
        if let DisplayMode::Live(view) = &mut self.variant {
            match LiveLoadView::open(self.plan, &self.server, self.context.terminal.colour) {
                Ok(live) => *view = Some(Box::new(live)),
                // A terminal that can't tell where its cursor stands still takes lines.
                Err(error) => {
                    self.variant = DisplayMode::Lines;
                    if error.kind() == ErrorKind::Unsupported {
                        self.context.print_message(&format!("note: {error}"));
                    }
                }
            }
        }
    }

    fn interval_ended(&mut self, interval: &Interval) {
        self.pulse.add_interval(interval, own_cpu());
        let Some(beat) = self.pulse.last_interval() else { return };
        match &mut self.variant {
            DisplayMode::Quiet => {}
            // A closed stdout ends the program when the summary is printed; the load itself goes on.
            DisplayMode::Lines => {
                drop(self.context.print_output(&format!("{}\n", lines::interval_line(beat))))
            }
            DisplayMode::Stream => {
                self.context.print_message(&stream::interval_json(beat, self.loads))
            }
            DisplayMode::Aside => self.context.print_message(&lines::interval_line(beat)),
            DisplayMode::Live(Some(live)) => live.draw(&self.pulse),
            DisplayMode::Live(None) => {}
        }
    }

    fn outlook_changed(&mut self, outlook: &SteadyOutlook) {
        match &mut self.variant {
            DisplayMode::Quiet | DisplayMode::Stream | DisplayMode::Live(None) => {}
            DisplayMode::Lines => {
                drop(self.context.print_output(&format!("{}\n", lines::outlook_line(outlook))))
            }
            DisplayMode::Aside => self.context.print_message(&lines::outlook_line(outlook)),
            DisplayMode::Live(Some(live)) => live.set_outlook(outlook),
        }
    }

    fn sample_taken(&mut self, sample: &ProbeSample) {
        self.pulse.add_sample(SampleRecord::from(sample));
    }

    fn note_added(&mut self, text: &str) {
        if matches!(self.variant, DisplayMode::Stream) {
            self.context.print_message(&stream::note_json(text));
        }
        if self.is_quiet() {
            return;
        }
        if matches!(self.variant, DisplayMode::Live(Some(_))) {
            self.held.push(format!("note: {text}"));
        } else {
            self.context.print_message(&format!("note: {text}"));
        }
    }
}

/// Whether programs read the progress. Commands without the flag have no stream.
fn is_stream(args: &ArgMatches) -> bool {
    let typed = args.try_get_one::<String>("progress").ok().flatten();
    typed.is_some_and(|format| format == "json")
}

fn own_cpu() -> Nanos {
    let (user, system) = kernel::cpu_time();
    user + system
}

impl Drop for TerminalListener<'_> {
    fn drop(&mut self) {
        self.end_view();
    }
}
