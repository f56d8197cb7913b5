//! `sweat warm follow`: keeps a standby's pool like the active server's.

mod lines;
mod live;
mod metrics;
mod words;

use clap::{ArgMatches, Command};

use crate::base::{Clock, Nanos, RealClock, Stop, StopReason};
use crate::cli::desk::Desk;
use crate::cli::fault::Exit;
use crate::plan::Refused;
use crate::target::Target;
use crate::warm::follow::{Phase, View, follow};
use live::Live;
use metrics::Server;
use words::Asked;

/// The name of the command.
pub(super) const NAME: &str = "follow";

pub(super) fn command() -> Command {
    words::command()
}

/// Where a follow is shown.
struct Show<'a> {
    desk: &'a Desk,
    asked: &'a Asked,
    live: Option<Live>,
    server: Option<&'a Server>,
    shown_at: Option<Nanos>,
    told: Option<Phase>,
    clock: RealClock,
    /// Why nothing more can be printed.
    broken: Option<anyhow::Error>,
}

pub(super) fn run(args: &ArgMatches, desk: &Desk) -> anyhow::Result<Exit> {
    let asked = words::read(args, desk)?;
    let standby = Target::new(&asked.standby)?;
    let server = asked
        .listen
        .map(|address| {
            Server::open(address).map_err(|e| {
                Refused(format!(
                    "listen on {address}: {e}\nhint: choose another address and port: --listen"
                ))
            })
        })
        .transpose()?;
    if let Some(server) = &server {
        desk.say(&format!("metrics: http://{}/metrics", server.address()?));
    }
    let clock = RealClock::start();
    let is_live = desk.terminal.live && !asked.quiet && !asked.json;
    let (over, stop) = (Stop::new(), desk.stop.part());
    let mut show = Show {
        desk,
        asked: &asked,
        live: is_live.then(|| Live::open(desk.terminal.colour)).transpose().unwrap_or(None),
        server: server.as_ref(),
        shown_at: None,
        told: None,
        clock,
        broken: None,
    };
    let last = std::thread::scope(|scope| {
        if let Some(server) = &server {
            scope.spawn(|| server.serve(clock, &over));
        }
        let last = follow(&asked.plan, &standby, clock, &stop, &mut |view| {
            show.take(view);
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
    desk.print(&if asked.json { lines::json(&last) } else { lines::summary(&last) })?;
    Ok(if desk.stop.is_set() { Exit::Interrupted } else { Exit::Done })
}

impl Show<'_> {
    fn take(&mut self, view: &View) {
        if let Some(server) = self.server {
            server.tell(metrics::text(view));
        }
        if let Some(live) = &mut self.live {
            live.draw(view);
            return;
        }
        // What it does now is told when it changes, whatever the interval.
        let is_news = self.told.as_ref().map(Phase::word) != Some(view.phase.word());
        let now = self.clock.now();
        let pause = Nanos::from(self.asked.interval);
        let is_due = self.shown_at.is_none_or(|last| now.since(last) >= pause);
        if !is_news && !is_due {
            return;
        }
        self.shown_at = Some(now);
        self.told = Some(view.phase.clone());
        if self.asked.json {
            self.broken = self.desk.print(&lines::json(view)).err();
        } else if !self.asked.quiet || is_news {
            self.desk.say(&lines::line(view));
        }
    }
}
