//! `sweat ab`: the command line of ab and its block, and what it hides. Its words are not clap's.

mod words;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{ArgMatches, Command};

use super::arguments::{given_words, words_command};
use super::context::CliContext;
use super::exchange_load::{ExchangeRun, WebCall, run_exchanges};
use super::exit::CommandOutcome;
use crate::base::Secret;
use crate::base::calendar::format_utc;
use crate::base::token::encode_base64;
use crate::client::{OriginSetup, WebTls};
use crate::experiment::raise_file_limit;
use crate::plan::{LoadPlan, Mistake};
use crate::report::ab as texts;
use crate::workload::http::{HttpLoad, SizeCheck, check_field};
use words::AbWords;

pub(super) const NAME: &str = "ab";

const USAGE: &str = "\
usage: ab [OPTIONS] http[s]://HOST[:PORT]/PATH
  -n N          requests [1]          -c N          at once [1]
  -t SECONDS    longest time          -s SECONDS    longest reply [30]
  -k            keep connections      -l            bodies may differ in length
  -i            HEAD                  -m METHOD     another method
  -p FILE       POST this             -u FILE       PUT this
  -T TYPE       Content-type of it    -C NAME=VALUE a cookie
  -H 'A: b'     a field               -A USER:PASS  basic authentication
  -e FILE       percentages, CSV      -g FILE       each request, for gnuplot
  -d            no percentages        -S            no median and deviation
  -r, -q, -v N  taken and without effect
sweat's own: --allow-target HOST (public servers), --ca FILE, --insecure.
";

pub(super) fn command() -> Command {
    words_command(NAME, "Request a URL as ab does").after_help(
        "Examples:\n  \
         sweat ab -n 10000 -c 64 -k http://localhost:8080/\n  \
         sweat ab -t 10 -c 8 -p order.json -T text/json http://localhost/orders",
    )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    run_words(&given_words(args), context)
}

/// The call that these arguments make, if they make one.
pub(super) fn own_call(args: &[OsString]) -> Option<WebCall> {
    WebCall::from_args(args, NAME, false)
}

/// Where secrets stand in the process's arguments: in which one, from which byte on.
pub(super) fn secret_places(call: &WebCall) -> Vec<(usize, usize)> {
    let places = words::secret_places(&call.words).into_iter();
    places.map(|(word, at)| (word + call.before, at)).collect()
}

/// Runs the program.
pub(super) fn run_program(call: &WebCall) -> ExitCode {
    call.run(NAME, run_words)
}

fn run_words(words: &[String], context: &CliContext) -> anyhow::Result<CommandOutcome> {
    if matches!(words, [only] if ["--help", "-h", "-?", "help"].contains(&only.as_str())) {
        context.print_output(USAGE)?;
        return Ok(CommandOutcome::Done);
    }
    let words = AbWords::from_args(words).inspect_err(|_| {
        context.print_message(USAGE.trim_end());
    })?;
    raise_file_limit();
    let load = read_load(&words)?;
    let plan = LoadPlan {
        workers: words.concurrency,
        events: Some(words.requests),
        time: words.time,
        // What is under way when the time is over is given up, as there; else all come to their end.
        grace: if words.time.is_some() { Duration::ZERO } else { words.timeout * 2 },
        ..LoadPlan::default()
    };
    let body_bytes = load.body.as_ref().map(Vec::len);
    let ran = run_exchanges(load, &plan, &context.stop, &mut |_| {})?;
    print_block(&words, body_bytes, &ran, context)?;
    let errors = ran.error_lines(NAME);
    if !errors.is_empty() {
        context.print_message(errors.trim_end());
    }
    // With a time, requests are under way at its end.
    let unfinished = if words.time.is_some() { 0 } else { ran.totals.unfinished };
    if ran.totals.unfinished > 0 {
        context.print_note(&format!("{} requests were not finished", ran.totals.unfinished));
    }
    Ok(if context.stop.is_set() {
        CommandOutcome::Interrupted
    } else if ran.totals.failed() + ran.totals.error_statuses() + unfinished > 0 {
        CommandOutcome::Failed
    } else {
        CommandOutcome::Done
    })
}

fn read_load(words: &AbWords) -> anyhow::Result<HttpLoad> {
    let mut load = HttpLoad::new(vec![words.url.clone()]);
    load.is_http10 = true;
    load.keep_alive = words.keep_alive;
    load.timeout = words.timeout;
    load.method.clone_from(&words.method);
    if !words.lengths_vary {
        load.checks.size = SizeCheck::AsFirst;
    }
    // Their number is in the block, and decides the exit code.
    load.checks.status = vec![crate::workload::http::StatusRange(100, 999)];
    if let Some(path) = &words.body_file {
        let read = std::fs::read(path);
        load.body = Some(read.with_context(|| format!("read {}", path.display()))?);
        load.fields.push(Secret::new(format!("Content-type: {}", words.content_type)));
    }
    for field in &words.fields {
        check_field(field.reveal()).map_err(|why| Mistake::new("-H", why))?;
        load.fields.push(field.clone());
    }
    if let Some(login) = &words.login {
        let code = encode_base64(login.reveal().as_bytes());
        load.fields.push(Secret::new(format!("Authorization: Basic {code}")));
    }
    load.verifies = !words.insecure;
    let tls = match words.url.is_tls {
        true => Some(WebTls::new(words.ca.as_deref(), load.verifies)?),
        false => None,
    };
    load.setup =
        OriginSetup { allowed_hosts: words.allowed.clone(), tls, ..OriginSetup::default() };
    Ok(load)
}

fn print_block(
    words: &AbWords,
    body_bytes: Option<usize>,
    ran: &ExchangeRun,
    context: &CliContext,
) -> anyhow::Result<()> {
    let totals = &ran.totals;
    let request = texts::AbRequest {
        server: ran.samples.server.clone(),
        host: words.url.host.clone(),
        port: words.url.port,
        tls: ran.samples.tls.as_ref().map(|(cipher, version)| format!("{version},{cipher}")),
        path: words.url.path.clone(),
        document_bytes: (!words.lengths_vary).then_some(ran.samples.first_size),
        concurrency: words.concurrency,
        mean_ms: None,
        keeps_alive: words.keep_alive,
        body_sent: body_bytes.map(|bytes| bytes as u64 * totals.replied),
        no_percentages: words.no_percentages,
        no_deviation: words.no_deviation,
    };
    let table = ran.table();
    context.print_output(&texts::block_text(&request, totals, &table))?;
    let write = |path: &std::path::Path, text: String| {
        std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
    };
    if let Some(path) = &words.percentages_file {
        write(path, texts::percentages_csv(&table))?;
    }
    if let Some(path) = &words.gnuplot_file {
        let utc = |second: u64| format_utc(second * 1_000_000_000);
        write(path, texts::gnuplot_text(&table, utc))?;
    }
    Ok(())
}
