//! A load of requests as the programs http_load and ab run it: no run folder, each exchange kept by itself.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use super::argv::TypedPassword;
use super::context::CliContext;
use super::defaults::UserDefaults;
use super::exit::{self, CommandOutcome};
use super::signals::watch_signals;
use crate::analysis::{ExchangeTable, ExchangeTotals};
use crate::base::http_status::status_phrase;
use crate::base::{RealClock, Stop};
use crate::experiment::{LoadListener, run_bare_load};
use crate::plan::LoadPlan;
use crate::recorder::{ExchangeSamples, Interval};
use crate::workload::Workload as _;
use crate::workload::http::{HttpLoad, HttpWorkload};

/// What a load came to.
pub(super) struct ExchangeRun {
    pub(super) totals: ExchangeTotals,
    pub(super) samples: ExchangeSamples,
    /// Arrivals that were due and for which no worker was free.
    pub(super) unbegun: u64,
}

impl ExchangeRun {
    /// The times as ab shows them.
    pub(super) fn table(&self) -> ExchangeTable {
        ExchangeTable::from_samples(&self.samples)
    }

    /// What went wrong, in lines for standard error.
    pub(super) fn error_lines(&self, program: &str) -> String {
        let mut text = String::new();
        for (status, count) in self.totals.statuses.range(400..) {
            text += &format!("{program}: {count} of {} replies: {status}", self.totals.replied);
            text += " ";
            text += status_phrase(*status);
            text.truncate(text.trim_end().len());
            text += "\n";
        }
        for (why, count) in &self.samples.fault_texts {
            let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
            text += &format!("{program}: {why} ({times})\n");
        }
        if self.unbegun > 0 {
            text += &format!("{program}: {} fetches were due and not started\n", self.unbegun);
        }
        text
    }
}

/// Runs it.
///
/// # Errors
/// When an address can't be looked up or is not allowed, or the load can't run.
pub(super) fn run_exchanges(
    load: HttpLoad,
    plan: &LoadPlan,
    stop: &Stop,
    interval: &mut dyn FnMut(&Interval),
) -> anyhow::Result<ExchangeRun> {
    let load = HttpLoad { tries_first: false, keeps_samples: true, ..load };
    let workload = HttpWorkload::new(load);
    workload.check_ready(stop)?;
    workload.start_load();
    let seed = RealClock::start_now().origin_unix_ns();
    let listener = LoadListener { started: &mut || {}, interval };
    let recording = run_bare_load(plan, seed, &workload, stop, listener)?;
    if let Some(why) = recording.failure {
        anyhow::bail!(why);
    }
    let samples = workload.take_samples();
    let seconds = recording.total.ended.since(recording.total.began).to_seconds();
    let totals = ExchangeTotals::from_samples(&samples, seconds);
    Ok(ExchangeRun { totals, samples, unbegun: recording.total.backlog })
}

/// What such a program does with its words.
pub(super) type WordsDeed = fn(&[String], &CliContext) -> anyhow::Result<CommandOutcome>;

/// A program that is called by our word for it, or by its own name where that is ours, too.
pub(super) struct WebCall {
    pub(super) words: Vec<String>,
    /// How many arguments stand before the words.
    pub(super) before: usize,
}

impl WebCall {
    /// The call that these arguments make of this program, if they make one.
    pub(super) fn from_args(args: &[OsString], name: &str, own_name: bool) -> Option<WebCall> {
        let is_called = |word: &OsString| Path::new(word).file_name().is_some_and(|n| n == name);
        let (words, before) = match args {
            [called, rest @ ..] if own_name && is_called(called) => (rest, 1),
            [_, first, rest @ ..] if **first == *name => (rest, 2),
            _ => return None,
        };
        let words = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Some(WebCall { words, before })
    }

    /// Does what the words say, from begin to end of the process.
    pub(super) fn run(&self, name: &str, deed: WordsDeed) -> ExitCode {
        let context = CliContext::from_process(
            TypedPassword::Absent,
            name.to_owned(),
            UserDefaults::default(),
        );
        let result = watch_signals(&context.stop)
            .map_err(Into::into)
            .and_then(|()| deed(&self.words, &context));
        exit::report_result(result, &context).into()
    }
}
