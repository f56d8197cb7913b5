//! `sweat http_load`, and sweat called `http_load`: its command line, its lines, and what it hides. Its words are not clap's.

mod words;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgMatches, Command};

use super::arguments::{given_words, words_command};
use super::context::CliContext;
use super::exchange_load::{WebCall, run_exchanges};
use super::exit::CommandOutcome;
use crate::client::{OriginSetup, WebTls};
use crate::experiment::raise_file_limit;
use crate::plan::{ArrivalPlan, LoadPlan, Mistake};
use crate::recorder::Interval;
use crate::report::http_load as lines;
use crate::workload::http::{HttpLoad, SizeCheck, read_url_list};
use words::{FetchEnd, FetchPace, FetchWords};

pub(super) const NAME: &str = "http_load";
/// Most connections at once where a rate says when fetches begin.
const MOST_PARALLEL: usize = 10_000;
/// How far a start may be off, as a part of the time between two.
const JITTER: f64 = 0.1;
/// Files that the program has open besides.
const OWN_FILES: u64 = 64;

const USAGE: &str = "\
usage: http_load [-checksum] [-timeout SECONDS] [-verbose]
                 -parallel N | -rate N [-jitter]
                 -fetches N | -seconds N  URL_FILE
Each option may be cut to its first letters. One connection per fetch.
sweat's own: --allow-target HOST (public servers), --ca FILE, --insecure.
Taken and without effect: -throttle, -sip FILE, -cipher NAME.
";

pub(super) fn command() -> Command {
    words_command(NAME, "Fetch URLs as http_load does").after_help(
        "Examples:\n  \
         sweat http_load -parallel 5 -fetches 100 urls.txt\n  \
         sweat http_load -rate 20 -seconds 10 urls.txt",
    )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    run_words(&given_words(args), context)
}

/// The call that these arguments make of this program, if they make one.
pub(super) fn own_call(args: &[OsString]) -> Option<WebCall> {
    WebCall::from_args(args, NAME, true)
}

/// Runs the program.
pub(super) fn run_program(call: &WebCall) -> ExitCode {
    call.run(NAME, run_words)
}

fn run_words(words: &[String], context: &CliContext) -> anyhow::Result<CommandOutcome> {
    if matches!(words, [only] if ["--help", "-?", "help"].contains(&only.as_str())) {
        context.print_output(USAGE)?;
        return Ok(CommandOutcome::Done);
    }
    let words = FetchWords::from_args(words).inspect_err(|_| {
        context.print_message(USAGE.trim_end());
    })?;
    for word in &words.ignored {
        context.print_note(&format!("{word} has no effect here"));
    }
    let urls = read_url_list(&words.file)?;
    if urls.is_empty() {
        let hint = "one URL in each line, as in http://localhost:8080/";
        return Err(Mistake::new(words.file.display().to_string(), "no URL is in this file")
            .hint(hint)
            .into());
    }
    let mut load = HttpLoad::new(urls);
    load.is_http10 = true;
    load.keep_alive = false;
    load.timeout = words.timeout;
    load.checks.checksum = words.checksum;
    if !words.checksum {
        load.checks.size = SizeCheck::AsFirst;
    }
    load.verifies = !words.insecure;
    let tls = match load.urls.iter().any(|url| url.is_tls) {
        true => Some(WebTls::new(words.ca.as_deref(), load.verifies)?),
        false => None,
    };
    load.setup =
        OriginSetup { allowed_hosts: words.allowed.clone(), tls, ..OriginSetup::default() };
    let plan = load_plan(&words);
    let mut completed = 0;
    let mut began = None;
    let mut tell = |interval: &Interval| {
        let began = *began.get_or_insert(interval.began);
        completed += interval.event_count() + interval.error_count();
        if words.verbose && interval.in_flight > 0 {
            let seconds = interval.ended.since(began).to_seconds();
            let started = completed + interval.in_flight;
            context.print_message(lines::progress_line(seconds, started, completed).trim_end());
        }
    };
    let ran = run_exchanges(load, &plan, &context.stop, &mut tell)?;
    context.print_output(&lines::totals_text(&ran.totals))?;
    let errors = ran.error_lines(NAME);
    if !errors.is_empty() {
        context.print_message(errors.trim_end());
    }
    Ok(if context.stop.is_set() {
        CommandOutcome::Interrupted
    } else if ran.totals.has_errors() || ran.unbegun > 0 {
        CommandOutcome::Failed
    } else {
        CommandOutcome::Done
    })
}

fn load_plan(words: &FetchWords) -> LoadPlan {
    let (events, time) = match words.end {
        FetchEnd::Fetches(count) => (Some(count), None),
        FetchEnd::Time(time) => (None, Some(time)),
    };
    let (workers, arrival) = match words.pace {
        FetchPace::Parallel(workers) => {
            raise_file_limit();
            (workers, ArrivalPlan::default())
        }
        FetchPace::Rate(per_second) => {
            let files =
                raise_file_limit().map_or(u64::MAX, |files| files.saturating_sub(OWN_FILES));
            // More are never under way at once: each ends at its time limit.
            let needed = (per_second * words.timeout.as_secs_f64()).ceil() + 1.0;
            let workers = (needed as usize).clamp(1, MOST_PARALLEL);
            let workers = workers.min(usize::try_from(files).unwrap_or(usize::MAX)).max(1);
            (workers, ArrivalPlan::Constant { per_second })
        }
    };
    // What is under way when the time is over is given up, as there; of a number of fetches, all come to their end.
    let grace = match words.end {
        FetchEnd::Fetches(_) => words.timeout * 2,
        FetchEnd::Time(_) => Duration::ZERO,
    };
    let interval = Duration::from_secs(60);
    let jitter = if words.jitter { JITTER } else { 0.0 };
    LoadPlan { workers, arrival, jitter, events, time, interval, grace, ..LoadPlan::default() }
}
