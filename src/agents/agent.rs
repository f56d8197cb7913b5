//! A load machine: waits for shares of loads, runs them one after the other, and offers their folders.

use std::path::PathBuf;
use std::time::Duration;

use super::agent_load::{AgentLoad, LoadNews, wall_now};
use super::allowed::AllowedTarget;
use super::held::{HeldFolder, held_loads};
use super::wire::{
    AgentOrder, AgentPhase, AgentReport, AgentState, MOST_ORDER_BYTES, ShareOrder, TargetOrder,
    decode_message, encode_message, portable_plan, reports_from, short_run,
};
use crate::archive::RunState;
use crate::base::terminal::sanitize_text;
use crate::base::units::show_time;
use crate::base::{Clock as _, Nanos, RealClock, Stop, kernel};
use crate::client::{NatsConnection, NatsEvent, NatsMessage};
use crate::plan::{self, AddressPlan, KnownPlugins, Plan, Protocol, TargetPlan};
use crate::workload::{EndpointKind, find_kind};

/// How often an agent says how it is, if nothing happens.
const SAY_EVERY: Nanos = Nanos(1_000_000_000);
/// How long an agent waits for a word at most, before it looks after its load.
const TICK: Duration = Duration::from_millis(10);
/// How long a folder is offered after the lease.
const OFFERED: Nanos = Nanos(30_000_000_000);
/// How long an agent that is told to end waits for its folder to be fetched.
const LAST_OFFER: Nanos = Nanos(10_000_000_000);
/// How long the next load of several is waited for.
const MORE: Nanos = Nanos(30_000_000_000);
/// Bytes of a folder that travel at once.
const PART_BYTES: usize = 256 << 10;
/// Complaints about messages that are told.
const MOST_COMPLAINTS: usize = 20;

/// What the owner of a load machine says.
#[derive(Debug)]
pub struct AgentOptions {
    /// Its name among the agents.
    pub name: String,
    /// What it may load.
    pub allowed: Vec<AllowedTarget>,
    /// How it logs in.
    pub address: AddressPlan,
    /// Whether the owner has named the way to the server: a host, a port or a socket of this machine.
    pub is_way_named: bool,
    /// Where its run folders go.
    pub runs_dir: PathBuf,
    /// Most sessions of its share.
    pub most_sessions: usize,
    /// Longest load, with its warm-up; any if not given.
    pub most_time: Option<Duration>,
    /// Whether it leaves after one load.
    pub once: bool,
    /// Plugins that plans may name.
    pub known: KnownPlugins,
}

/// An agent at work.
pub struct Agent<'a> {
    link: NatsConnection,
    options: AgentOptions,
    clock: RealClock,
    cores: usize,
    stop: &'a Stop,
    say: &'a mut dyn FnMut(&str),
    load: Option<AgentLoad>,
    /// The folder of an earlier load, while it is fetched.
    held: Option<HeldFolder>,
    /// Until when another load of the same coordinator is waited for.
    more_until: Option<Nanos>,
    /// When it last said how it is, and what it said.
    said: Option<(Nanos, AgentState)>,
    complaints: usize,
    ended: Option<RunState>,
    told_to_end: Option<Nanos>,
}

impl<'a> Agent<'a> {
    /// An agent over a connection that listens to `orders_to(name)`.
    pub fn new(
        link: NatsConnection,
        mut options: AgentOptions,
        stop: &'a Stop,
        say: &'a mut dyn FnMut(&str),
    ) -> Agent<'a> {
        // Scripts are named by files: their options are not asked for.
        options.known.declare = None;
        Agent {
            link,
            options,
            clock: RealClock::start_now(),
            cores: kernel::core_count(),
            stop,
            say,
            load: None,
            held: None,
            more_until: None,
            said: None,
            complaints: 0,
            ended: None,
            told_to_end: None,
        }
    }

    /// Serves until it is told to stop, or has run one load where that was asked for; how far that one came.
    pub fn serve_loads(&mut self) -> Option<RunState> {
        loop {
            if let Some(event) = self.link.next_event(TICK) {
                self.take_event(event);
            }
            self.look_after_load();
            self.say_state();
            if self.is_through() {
                return self.ended;
            }
        }
    }

    /// Whether there is nothing left to do.
    fn is_through(&mut self) -> bool {
        let now = self.clock.now();
        if self.stop.is_set() {
            let since = *self.told_to_end.get_or_insert(now);
            let is_offered = self.load.as_ref().is_some_and(|load| {
                let waits = load.folder.is_some() && now.since(since) < LAST_OFFER;
                load.phase != AgentPhase::Ended || waits
            });
            return !is_offered;
        }
        let waits = self.held.is_some() || self.more_until.is_some_and(|until| now < until);
        self.options.once && self.load.is_none() && self.ended.is_some() && !waits
    }

    fn take_event(&mut self, event: NatsEvent) {
        match event {
            NatsEvent::Message(message) => self.take_message(&message),
            NatsEvent::Connected => {
                (self.say)("NATS is there again");
                self.said = None;
            }
            NatsEvent::Disconnected(why) => {
                (self.say)(&format!("no connection to NATS: {why}; trying again"));
            }
            NatsEvent::Complaint(why) => self.complain(&format!("NATS refuses: {why}")),
        }
    }

    fn complain(&mut self, text: &str) {
        self.complaints += 1;
        if self.complaints <= MOST_COMPLAINTS {
            let text: String = text.chars().take(300).collect();
            (self.say)(&sanitize_text(&text, false));
        }
    }

    fn take_message(&mut self, message: &NatsMessage) {
        if message.payload.len() > MOST_ORDER_BYTES {
            let bytes = message.payload.len();
            return self.complain(&format!("ignored an order of {bytes} bytes"));
        }
        match decode_message::<AgentOrder>(&message.payload) {
            Ok((order, _)) => self.take_order(order),
            Err(why) => self.complain(&format!("ignored an order: {why}")),
        }
    }

    fn take_order(&mut self, order: AgentOrder) {
        let now = wall_now(self.clock);
        match order {
            AgentOrder::TellTime { run, question } => {
                self.report(&AgentReport::Time { run, question, unix_ns: now }, &[]);
            }
            AgentOrder::Prepare(order) => self.prepare_share(&order),
            AgentOrder::Start { run, at_unix_ns } => {
                if let Some(load) = self.own_load(&run) {
                    load.name_start(at_unix_ns);
                }
            }
            AgentOrder::Renew { run, until_unix_ns } => {
                if let Some(load) = self.own_load(&run) {
                    load.renew_lease(until_unix_ns, now);
                }
            }
            AgentOrder::Stop { run } => {
                if let Some(load) = self.own_load(&run) {
                    load.stop_load("the coordinator stopped it");
                }
            }
            AgentOrder::Fetch { run, offset } => self.send_part(run, offset),
            AgentOrder::Release { run, more } => self.release_load(&run, more),
            AgentOrder::ListHeld => {
                let loads = held_loads(&self.options.runs_dir);
                self.report(&AgentReport::Held { loads }, &[]);
            }
            AgentOrder::Offer { run } => self.offer_held(run),
        }
    }

    /// The load under way, if it is this one.
    fn own_load(&mut self, run: &str) -> Option<&mut AgentLoad> {
        self.load.as_mut().filter(|load| load.run == run)
    }

    fn prepare_share(&mut self, order: &ShareOrder) {
        if self.own_load(&order.run).is_some() {
            // It was said again, as our answer was lost.
            self.said = None;
            return;
        }
        let run = order.run.clone();
        let is_busy = self.load.as_ref().is_some_and(|load| load.phase != AgentPhase::Ended);
        let ready = match is_busy || self.stop.is_set() {
            true => Err("it is busy with another load".to_owned()),
            false => self.check_share(order),
        };
        let name = &self.options.name;
        let started = ready.and_then(|plan| {
            let load = AgentLoad::start(order, plan, name, self.clock, self.stop);
            load.map_err(|e| e.to_string())
        });
        match started {
            Ok(load) => {
                let target = order.target.as_ref().map_or_else(String::new, target_text);
                let text = format!("load {}: preparing{target}", short_run(&run));
                (self.say)(&sanitize_text(&text, false));
                (self.load, self.said) = (Some(load), None);
            }
            Err(why) => {
                self.complain(&format!("refused load {}: {why}", short_run(&run)));
                self.report(&AgentReport::Refused { run, why }, &[]);
            }
        }
    }

    /// The plan of a share as it runs here.
    ///
    /// # Errors
    /// Why it will not, in words.
    fn check_share(&self, order: &ShareOrder) -> Result<Plan, String> {
        let own = env!("CARGO_PKG_VERSION");
        if order.version != own {
            return Err(format!("it is sweat {own}, the coordinator {}", order.version));
        }
        let read = plan::from_toml(&order.plan, &self.options.known);
        let read = read.map_err(|all| all.first().map(ToString::to_string).unwrap_or_default())?;
        let mut plan = portable_plan(&read).map_err(|all| all.to_string())?;
        if plan.load.share.is_none() || plan.seed == 0 {
            return Err("the plan names no share and seed".to_owned());
        }
        let (sessions, most) = (plan.load.own_workers().len(), self.options.most_sessions);
        if sessions > most {
            return Err(format!("{sessions} sessions are more than its --most-sessions {most}"));
        }
        let warmup = plan.warmup.unwrap_or_default();
        let is_short = |most: &Duration| {
            plan.load.time.is_some_and(|time| time.saturating_add(warmup) <= *most)
        };
        if let Some(most) = self.options.most_time.filter(|most| !is_short(most)) {
            let most = show_time(most);
            return Err(format!("the load has no end within its --most-time of {most}"));
        }
        plan.target = self.check_target(&plan, order.target.as_ref())?;
        plan.runs_dir.clone_from(&self.options.runs_dir);
        Ok(plan)
    }

    /// The server of a share, as it is reached from here.
    fn check_target(
        &self,
        plan: &Plan,
        target: Option<&TargetOrder>,
    ) -> Result<TargetPlan, String> {
        let kind = find_kind(&plan.workload.kind).map_err(|e| e.to_string())?;
        let Some(target) = target else {
            return match kind.endpoint_kind() {
                EndpointKind::None => Ok(TargetPlan::None),
                _ => Err("the plan names no server".to_owned()),
            };
        };
        let AgentOptions { allowed, address, .. } = &self.options;
        if !allowed.iter().any(|allowed| allowed.covers(target)) {
            let list: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            let list = if list.is_empty() { "is empty".to_owned() } else { list.join(", ") };
            let target = target_text(target);
            return Err(format!("it may not load{target}; its --allow-target: {list}"));
        }
        let mut address = address.clone();
        if !self.options.is_way_named {
            address.host = Some(target.host.clone());
            address.port = target.port;
            let is_local = target.host.eq_ignore_ascii_case("localhost");
            address.protocol =
                is_local.then_some(Protocol::Socket).filter(|_| target.port.is_none());
        }
        address.database = target.database.clone().or(address.database);
        Ok(TargetPlan::Address(address))
    }

    /// Passes on what the load tells, and ends it with its lease.
    fn look_after_load(&mut self) {
        let now = wall_now(self.clock);
        self.held = self.held.take().filter(|held| !held.is_stale(self.clock.now()));
        let Some(load) = &mut self.load else { return };
        let lease_over = load.since_lease(now);
        if lease_over.is_some() {
            load.stop_load("nothing was heard of its coordinator until the lease was over");
        }
        let run = load.run.clone();
        while let Some(news) = self.load.as_mut().and_then(AgentLoad::take_news) {
            match news {
                LoadNews::Progress(interval) => {
                    self.report(&AgentReport::Progress { run: run.clone(), interval }, &[]);
                }
                LoadNews::Ended(_) => self.tell_end(),
            }
        }
        let Some(load) = &self.load else { return };
        // Nobody comes for it any more.
        let patience = if self.options.once { Nanos(0) } else { OFFERED };
        let is_left = lease_over.is_some_and(|since| since > patience.0);
        if load.phase == AgentPhase::Ended && (is_left || load.is_released) {
            self.load = None;
        }
    }

    fn tell_end(&mut self) {
        let Some(load) = &self.load else { return };
        self.ended = Some(load.reached.unwrap_or(RunState::Failed));
        let why = load.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let folder = load.dir.as_ref().map(|dir| format!(", in {}", dir.display()));
        let text = format!(
            "load {}: ended{}{why}",
            short_run(&load.run),
            folder.as_deref().unwrap_or_default()
        );
        (self.say)(&sanitize_text(&text, false));
    }

    /// Packs the folder of an earlier load. Not beside a load, which it would disturb.
    fn offer_held(&mut self, run: String) {
        let now = self.clock.now();
        if self.held.as_ref().is_none_or(|held| held.run != run) {
            let is_busy = self.load.as_ref().is_some_and(|load| load.phase != AgentPhase::Ended);
            let packed = match is_busy {
                true => Err("it is busy with a load".to_owned()),
                false => HeldFolder::pack(&self.options.runs_dir, &run, now),
            };
            match packed {
                Ok(held) => self.held = Some(held),
                Err(why) => return self.report(&AgentReport::Refused { run, why }, &[]),
            }
        }
        let Some(held) = &self.held else { return };
        let folder = held.folder.offer.clone();
        self.report(&AgentReport::Offered { run, folder }, &[]);
    }

    fn send_part(&mut self, run: String, offset: u64) {
        let now = self.clock.now();
        let held = self.held.as_mut().filter(|held| held.run == run);
        let own = self.load.as_ref().filter(|load| load.run == run);
        let folder = match held {
            Some(held) => {
                held.note_asked(now);
                Some(&held.folder)
            }
            None => own.and_then(|load| load.folder.as_ref()),
        };
        let Some(folder) = folder else { return };
        match folder.read_part(offset, PART_BYTES) {
            Ok(bytes) => self.report(&AgentReport::Part { run, offset }, &bytes),
            Err(e) => self.complain(&format!("read the packed folder: {e}")),
        }
    }

    fn release_load(&mut self, run: &str, more: bool) {
        self.held = self.held.take().filter(|held| held.run != run);
        let waited = self.more_until.take().is_some();
        self.more_until = more.then(|| self.clock.now() + MORE);
        if waited && !more {
            // It may have had too few sessions to do in all of them.
            self.ended.get_or_insert(RunState::Done);
        }
        let Some(load) = self.own_load(run) else { return };
        match load.phase {
            AgentPhase::Ended => self.load = None,
            // It ends first; its folder stays here.
            _ => {
                load.is_released = true;
                load.stop_load("the coordinator gave it up");
            }
        }
    }

    /// Says how it is, if something has changed or it is time to.
    fn say_state(&mut self) {
        let load = self.load.as_ref();
        let state = AgentState {
            process: self.clock.origin_unix_ns(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cores: self.cores,
            phase: load.map(|load| load.phase).unwrap_or_default(),
            run: load.map(|load| load.run.clone()),
            why: load.and_then(|load| load.why.clone()),
            folder: load.and_then(|load| Some(load.folder.as_ref()?.offer.clone())),
        };
        let now = self.clock.now();
        let is_said =
            |(at, said): &(Nanos, AgentState)| now.since(*at) < SAY_EVERY && *said == state;
        if !self.said.as_ref().is_some_and(is_said) {
            self.report(&AgentReport::State(state.clone()), &[]);
            self.said = Some((now, state));
        }
    }

    fn report(&mut self, report: &AgentReport, bytes: &[u8]) {
        let subject = reports_from(&self.options.name);
        if let Err(e) = self.link.publish(&subject, &encode_message(report, bytes)) {
            self.complain(&e.to_string());
        }
    }
}

fn target_text(target: &TargetOrder) -> String {
    match target.port {
        Some(port) => format!(" {}:{port}", target.host),
        None => format!(" {}", target.host),
    }
}
