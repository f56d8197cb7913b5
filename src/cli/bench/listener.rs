//! Listens to a run and shows it: progress of the steps before the load, then a full view or a line per interval.

use clap::ArgMatches;

use super::super::desk::Desk;
use super::super::progress::ProgressLine;
use super::live::Live;
use super::{flags, lines, stream};
use crate::analysis::figure::time;
use crate::analysis::{Outlook, Pulse};
use crate::archive::{SampleRecord, ServerRecord};
use crate::base::{Nanos, kernel};
use crate::experiment::{Listener, Step};
use crate::plan::Plan;
use crate::probe::Sample;
use crate::recorder::Interval;
use crate::workload::Progress;

/// Shows a run on this terminal.
pub(in super::super) struct Show<'a> {
    desk: &'a Desk,
    plan: &'a Plan,
    pulse: Pulse,
    progress: ProgressLine,
    /// Product and version, once known.
    server: String,
    way: Way,
    /// Loads begun so far.
    loads: u32,
    /// What was said while the view stood there; it is told when the view has gone.
    held: Vec<String>,
}

/// How intervals are shown.
enum Way {
    /// Not at all.
    Quiet,
    /// A line each on stdout, which is data.
    Lines,
    /// A line each on stderr, since stdout is for a format that programs read.
    Aside,
    /// A JSON object each on stderr.
    Stream,
    /// A view of the whole load; `None` until the load begins.
    Live(Option<Box<Live>>),
}

impl<'a> Show<'a> {
    /// A listener as the flags and the terminal want it.
    pub(in super::super) fn new(plan: &'a Plan, args: &ArgMatches, desk: &'a Desk) -> Show<'a> {
        let flag = |name: &str| args.get_flag(name);
        let text = args.get_one::<String>("format").is_some_and(|f| f == "text");
        let way = match () {
            () if is_stream(args) => Way::Stream,
            () if flag("quiet") => Way::Quiet,
            () if desk.terminal.live && !flag("plain") => Way::Live(None),
            () if text => Way::Lines,
            () => Way::Aside,
        };
        let progress = flags::progress_line(args, desk);
        let server = String::new();
        Show {
            desk,
            plan,
            pulse: Pulse::default(),
            progress,
            server,
            way,
            loads: 0,
            held: Vec::new(),
        }
    }

    fn is_quiet(&self) -> bool {
        matches!(self.way, Way::Quiet | Way::Stream)
    }

    /// Takes the view away and tells what was held back.
    fn end_view(&mut self) {
        if let Way::Live(view) = &mut self.way {
            *view = None;
        }
        for line in std::mem::take(&mut self.held) {
            self.desk.say(&line);
        }
    }
}

impl Listener for Show<'_> {
    fn server(&mut self, server: &ServerRecord) {
        let version = server.version.split('-').find(|part| part.contains('.'));
        self.server = format!("{} {}", server.product, version.unwrap_or_default());
    }

    fn step_began(&mut self, step: &Step, _number: usize, _of: usize) {
        if step.is_load() {
            return;
        }
        let label = step.to_string();
        self.progress.show(&Progress { label, ..Progress::default() });
    }

    fn step_ended(&mut self, step: &Step, seconds: f64) {
        self.progress.finish();
        self.end_view();
        if !self.is_quiet() && !step.is_load() {
            self.desk.say(&format!("{step}: {}", time(seconds)));
        }
    }

    fn progress(&mut self, progress: &Progress) {
        self.progress.show(progress);
    }

    fn load_began(&mut self, _classes: &[String]) {
        self.progress.finish();
        self.loads += 1;
        self.pulse = Pulse::begin(own_cpu());
        if let Way::Live(view) = &mut self.way {
            match Live::open(self.plan, &self.server, self.desk.terminal.colour) {
                Ok(live) => *view = Some(Box::new(live)),
                // A terminal that can't tell where its cursor stands still takes lines.
                Err(_) => self.way = Way::Lines,
            }
        }
    }

    fn interval(&mut self, interval: &Interval) {
        self.pulse.interval(interval, own_cpu());
        let Some(beat) = self.pulse.last() else { return };
        match &mut self.way {
            Way::Quiet => {}
            // A closed stdout ends the program when the summary is printed; the load itself goes on.
            Way::Lines => drop(self.desk.print(&format!("{}\n", lines::interval(beat)))),
            Way::Stream => self.desk.say(&stream::interval(beat, self.loads)),
            Way::Aside => self.desk.say(&lines::interval(beat)),
            Way::Live(Some(live)) => live.draw(&self.pulse),
            Way::Live(None) => {}
        }
    }

    fn outlook(&mut self, outlook: &Outlook) {
        match &mut self.way {
            Way::Quiet | Way::Stream | Way::Live(None) => {}
            Way::Lines => drop(self.desk.print(&format!("{}\n", lines::outlook(outlook)))),
            Way::Aside => self.desk.say(&lines::outlook(outlook)),
            Way::Live(Some(live)) => live.outlook(outlook),
        }
    }

    fn sample(&mut self, sample: &Sample) {
        self.pulse.sample(SampleRecord::from(sample));
    }

    fn note(&mut self, text: &str) {
        if matches!(self.way, Way::Stream) {
            self.desk.say(&stream::note(text));
        }
        if self.is_quiet() {
            return;
        }
        if matches!(self.way, Way::Live(Some(_))) {
            self.held.push(format!("note: {text}"));
        } else {
            self.desk.say(&format!("note: {text}"));
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

impl Drop for Show<'_> {
    fn drop(&mut self) {
        self.end_view();
    }
}
