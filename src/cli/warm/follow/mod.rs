//! `sweat warm follow`: keeps a standby's pool like the active server's.

mod args;
mod lines;
#[cfg(feature = "live-view")]
mod live;
mod metrics;

use std::io::ErrorKind;

use clap::{ArgMatches, Command};

use crate::base::{Clock, Nanos, RealClock, Stop, StopReason};
use crate::cli::context::CliContext;
use crate::cli::exit::CommandOutcome;
#[cfg(not(feature = "live-view"))]
use crate::cli::no_live_view::AbsentFollowView as LiveFollowView;
use crate::client::Target;
use crate::plan::RefusedError;
use crate::warm::follow::{FollowPhase, FollowStatus, run_follow};
use args::FollowArgs;
#[cfg(feature = "live-view")]
use live::LiveFollowView;
use metrics::MetricsServer;

/// The name of the command.
pub(super) const NAME: &str = "follow";

pub(super) fn command() -> Command {
    args::command()
}

/// Where a follow is shown.
struct FollowDisplay<'a> {
    context: &'a CliContext,
    asked: &'a FollowArgs,
    live: Option<LiveFollowView>,
    server: Option<&'a MetricsServer>,
    shown_at: Option<Nanos>,
    told: Option<FollowPhase>,
    clock: RealClock,
    /// Why nothing more can be printed.
    broken: Option<anyhow::Error>,
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let asked = args::parse_args(args, context)?;
    let standby = Target::new(&asked.standby)?;
    let server = asked
        .listen
        .map(|address| {
            MetricsServer::open(address).map_err(|e| {
                RefusedError(format!(
                    "listen on {address}: {e}\nhint: choose another address and port: --listen"
                ))
            })
        })
        .transpose()?;
    if let Some(server) = &server {
        context.print_message(&format!("metrics: http://{}/metrics", server.local_address()?));
    }
    let clock = RealClock::start_now();
    let is_live = context.terminal.live && !asked.quiet && !asked.json;
    let (over, stop) = (Stop::new(), context.stop.child_stop());
    let mut show = FollowDisplay {
        context,
        asked: &asked,
        live: if is_live { open_view(context) } else { None },
        server: server.as_ref(),
        shown_at: None,
        told: None,
        clock,
        broken: None,
    };
    let last = std::thread::scope(|scope| {
        if let Some(server) = &server {
            scope.spawn(|| server.serve_metrics(clock, &over));
        }
        let last = run_follow(&asked.plan, &standby, clock, &stop, &mut |view| {
            show.show_view(view);
            let is_over = asked.time.is_some_and(|time| view.at_s >= time.as_secs_f64());
            if is_over || show.broken.is_some() {
                stop.set(StopReason::Done);
            }
        });
        over.set(StopReason::Done);
        last
    });
    let broken = show.broken.take();
    drop(show);
    let last = last?;
    if let Some(error) = broken {
        return Err(error);
    }
    context.print_output(&if asked.json {
        lines::view_json(&last)
    } else {
        lines::summary_text(&last)
    })?;
    Ok(if context.stop.is_set() { CommandOutcome::Interrupted } else { CommandOutcome::Done })
}

/// The view; `None` where there can be none, then lines are printed.
fn open_view(context: &CliContext) -> Option<LiveFollowView> {
    match LiveFollowView::open(context.terminal.colour) {
        Ok(view) => Some(view),
        Err(error) => {
            if error.kind() == ErrorKind::Unsupported {
                context.print_note(&error.to_string());
            }
            None
        }
    }
}

impl FollowDisplay<'_> {
    fn show_view(&mut self, view: &FollowStatus) {
        if let Some(server) = self.server {
            server.set_text(metrics::metrics_text(view));
        }
        if let Some(live) = &mut self.live {
            live.draw(view);
            return;
        }
        // What it does now is told when it changes, whatever the interval.
        let is_news = self.told.as_ref().map(FollowPhase::as_str) != Some(view.phase.as_str());
        let now = self.clock.now();
        let pause = Nanos::from(self.asked.interval);
        let is_due = self.shown_at.is_none_or(|last| now.since(last) >= pause);
        if !is_news && !is_due {
            return;
        }
        self.shown_at = Some(now);
        self.told = Some(view.phase.clone());
        if self.asked.json {
            self.broken = self.context.print_output(&lines::view_json(view)).err();
        } else if !self.asked.quiet || is_news {
            self.context.print_message(&lines::view_line(view));
        }
    }
}
