//! `--listen`: the page of a run under way. This makes the page out of the run's folder and tells it what happens; the room
//! `live_page` serves it.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context as _;
use clap::{Arg, ArgMatches};
use serde_json::json;

use super::arguments::{OUTPUT_HEADING, text_arg, value_flag};
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::load_display::{LoadHeader, agents_text};
use super::{present, report as report_command};
use crate::analysis::number_format::{format_count, format_number, format_time};
use crate::analysis::{LiveInterval, LiveStats, analyse_so_far};
use crate::archive::RunState;
use crate::base::units::{parse_time, show_duration};
use crate::base::{Nanos, Secret};
use crate::experiment::FinishedRun;
use crate::live_page::{
    LivePageServer, PageMessage, PageOptions, PageSender, PageSource, RenderedPage,
};
use crate::plan::{Mistake, RefusedError};
use crate::recorder::Interval;
use crate::report::{self, ReportStyle};
use crate::server;

/// A token that stays the same from run to run, for monitors.
const TOKEN: &str = "SWEAT_PAGE_TOKEN";
/// Fewest characters of it.
const SHORTEST_TOKEN: usize = 16;
/// How long a reader may take nothing until it is cut off.
const PATIENCE: Nanos = Nanos(10_000_000_000);

/// The flags of a page.
pub(super) fn listen_flags() -> [Arg; 2] {
    [
        value_flag("listen", "ADDRESS:PORT")
            .help("Serve the page while the run goes on, as 127.0.0.1:0 (any free port)"),
        value_flag("listen-after", "TIME")
            .help("Serve the page for this long after the run, or until Ctrl-C"),
    ]
    .map(|arg| arg.hide_short_help(true).help_heading(OUTPUT_HEADING))
}

/// The page of a run, if one was asked for.
pub(super) struct RunPage {
    server: Option<LivePageServer>,
    serve_on: Nanos,
}

impl RunPage {
    /// Listens, says where, and opens a browser where that was asked for. `command` is what runs.
    ///
    /// # Errors
    /// When others than this machine could reach it, or the address can't be had.
    pub(super) fn open(
        command: &'static str,
        args: &ArgMatches,
        context: &CliContext,
    ) -> anyhow::Result<RunPage> {
        let serve_on = parse_serve_on(args)?;
        let Some(listen) = parse_listen(args)? else {
            return Ok(RunPage { server: None, serve_on });
        };
        let options = PageOptions { listen, token: read_token()?, patience: PATIENCE };
        let server =
            LivePageServer::open(&options, Box::new(FolderPage { command })).map_err(|e| {
                let hint = "choose another port, or 127.0.0.1:0 for any that is free";
                RefusedError(format!("listen on {listen}: {e}\nhint: {hint}"))
            })?;
        let line = format!("page: {}", server.url());
        let is_stream = args.try_get_one::<String>("progress").ok().flatten();
        context.print_message(&match is_stream.is_some_and(|format| format == "json") {
            true => json!({ "kind": "note", "text": line }).to_string(),
            false => line,
        });
        if args.get_flag("open") {
            let url = server.url_for_once().context("make an address for the browser")?;
            if let Err(why) = server::open_page(Path::new(&url)) {
                context.print_note(&format!("--open: {why}; the address is above"));
            }
        }
        Ok(RunPage { server: Some(server), serve_on })
    }

    /// What tells the page what happens, if there is one.
    pub(super) fn feed(&self) -> Option<PageFeed> {
        let sender = self.server.as_ref()?.sender();
        Some(PageFeed { sender, variant: String::new() })
    }

    /// Shows the run on the terminal, then serves its page on as long as was asked for.
    ///
    /// # Errors
    /// As `present::present_run`.
    pub(super) fn present_run(
        self,
        finished: FinishedRun,
        args: &ArgMatches,
        context: &CliContext,
    ) -> anyhow::Result<CommandOutcome> {
        let Some(server) = self.server else {
            return present::present_run(finished, args, context);
        };
        let state = finished.state;
        let outcome = present::present_run_behind_page(finished, args, context);
        let serve_on = if context.stop.is_set() { Nanos(0) } else { self.serve_on };
        if serve_on > Nanos(0) {
            let time = show_duration(serve_on.to_seconds(), 2);
            context.print_message(&format!("the page stays for {time}; Ctrl-C ends it"));
        }
        server.end_run(state_word(state), serve_on, &context.stop);
        outcome
    }
}

/// How a run ended, for its readers.
fn state_word(state: RunState) -> &'static str {
    match state {
        RunState::Done => "done",
        RunState::Interrupted => "interrupted",
        RunState::Failed | RunState::Running => "failed",
    }
}

fn parse_listen(args: &ArgMatches) -> Result<Option<SocketAddr>, Mistake> {
    let Some(text) = text_arg(args, "listen") else { return Ok(None) };
    let flag = format!("--listen {text}");
    let address: SocketAddr = text.parse().map_err(|_| {
        Mistake::new(flag.clone(), "it is not an address with a port")
            .hint("as in 127.0.0.1:8080, or 127.0.0.1:0 for any free port")
    })?;
    if !address.ip().is_loopback() {
        let port = if address.port() == 0 { 8080 } else { address.port() };
        return Err(Mistake::new(flag, "others could reach the page").hint(format!(
            "use --listen 127.0.0.1:{port} here, and a tunnel from your machine: \
             ssh -L {port}:127.0.0.1:{port} HOST"
        )));
    }
    Ok(Some(address))
}

fn parse_serve_on(args: &ArgMatches) -> Result<Nanos, Mistake> {
    let Some(text) = text_arg(args, "listen-after") else { return Ok(Nanos(0)) };
    if !args.contains_id("listen") {
        let why = "there is no page to serve";
        return Err(Mistake::new("--listen-after", why).hint("add --listen 127.0.0.1:0"));
    }
    let time = parse_time(text)
        .map_err(|e| Mistake::new("--listen-after", e.to_string()).hint("as in 10m"))?;
    Ok(time.into())
}

/// The token of the environment: it stands in a cookie and in an address.
fn read_token() -> Result<Option<Secret>, Mistake> {
    let Some(text) = std::env::var(TOKEN).ok().filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let is_plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b));
    if text.len() < SHORTEST_TOKEN || !is_plain {
        let why = format!("a token has at least {SHORTEST_TOKEN} letters and digits");
        return Err(Mistake::new(format!("${TOKEN}"), why).hint("make one: openssl rand -hex 16"));
    }
    Ok(Some(Secret::new(text)))
}

/// The page of a run, out of its folder.
struct FolderPage {
    command: &'static str,
}

impl PageSource for FolderPage {
    fn render_page(&self, folder: Option<&Path>, last_event: u64) -> anyhow::Result<RenderedPage> {
        let Some(folder) = folder else {
            let html = report::live_page(None, self.command, last_event);
            return Ok(RenderedPage { html, metrics: "# EOF\n".to_owned() });
        };
        let mut findings = analyse_so_far(report_command::load_run(folder)?);
        findings.folder = Some(folder.display().to_string());
        let format = report::find_format("openmetrics").expect("it is in the list");
        let metrics = format.render(&findings, ReportStyle::default());
        Ok(RenderedPage {
            html: report::live_page(Some(&findings), self.command, last_event),
            metrics: String::from_utf8_lossy(&metrics).into_owned(),
        })
    }
}

/// Tells a page what happens. Never waits.
#[derive(Clone, Debug)]
pub(super) struct PageFeed {
    sender: PageSender,
    /// The variant under load.
    variant: String,
}

impl PageFeed {
    /// The run has this folder.
    pub(super) fn run_started(&self, folder: &Path) {
        self.sender.send(PageMessage::Folder(folder.to_owned()));
    }

    /// A step begins; `text` names it.
    pub(super) fn step_started(&mut self, text: &str, variant: &str) {
        variant.clone_into(&mut self.variant);
        self.sender.send_event("step", json!({ "text": text, "variant": variant }));
    }

    /// Something worth a line.
    pub(super) fn note_added(&self, text: &str) {
        self.sender.send_event("note", json!({ "text": text }));
    }

    /// An interval is over; `stats` has taken it in.
    pub(super) fn interval_ended(
        &self,
        interval: &Interval,
        stats: &LiveStats,
        header: &LoadHeader,
    ) {
        let Some(beat) = stats.last_interval() else { return };
        let seconds = interval.length_s();
        // The last one may be cut; the plots leave it out, too.
        let is_whole = 2.0 * seconds >= header.load.interval.as_secs_f64();
        let rate = Some(beat.events_per_s).filter(|rate| is_whole && rate.is_finite());
        let time = |seconds: Option<f64>| seconds.map(format_time);
        let points = json!([
            ["throughput", "events/s", rate, rate.map(format_number)],
            ["latency", "p50", beat.p50_s, time(beat.p50_s)],
            ["latency", "p99", beat.p99_s, time(beat.p99_s)],
        ]);
        let data = json!({
            "t_s": interval.began.to_seconds() + seconds / 2.0,
            "seconds": seconds,
            "variant": self.variant,
            "points": points,
            "figures": beat_figures(beat, stats, header),
            "at_s": beat.at_s,
            "errors": beat.errors,
            "reconnects": beat.reconnects,
            "backlog": beat.backlog,
            "in_flight": beat.in_flight,
            "lateness_p99_s": beat.lateness_p99_s,
            "own_cores": Some(beat.own_cores).filter(|cores| cores.is_finite()),
        });
        self.sender.send_event("beat", data);
    }
}

/// What the line above the page says: names and values.
fn beat_figures(
    beat: &LiveInterval,
    stats: &LiveStats,
    header: &LoadHeader,
) -> Vec<(&'static str, String)> {
    let clock = |seconds: f64| show_duration(seconds, 2);
    let at = match header.load.time {
        Some(time) => format!("{} of {}", clock(beat.at_s), clock(time.as_secs_f64())),
        None => clock(beat.at_s),
    };
    let mut figures = Vec::new();
    if !header.step.is_empty() {
        figures.push(("", header.step.clone()));
    }
    figures.push(("", at));
    figures.push(("events/s", format_number(beat.events_per_s)));
    let times = [("p50", beat.p50_s), ("p99", beat.p99_s), ("longest", beat.max_s)];
    figures.extend(times.into_iter().filter_map(|(name, s)| Some((name, format_time(s?)))));
    figures.push(("failed", format_count(stats.error_count())));
    if !header.agents.is_empty() {
        figures.push(("agents", agents_text(&header.agents)));
    }
    if beat.backlog > 0 {
        figures.push(("backlog", format_count(beat.backlog)));
    }
    figures
}
