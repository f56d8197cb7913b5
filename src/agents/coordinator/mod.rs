//! Has agents run a load: one after the other it finds them, measures their clocks, hands out shares, names the start, looks on,
//! and fetches their folders (`gather` until all are ready, `collect` for the folders). Everything that is said is said again until it is answered, and no wait is without an end.

mod collect;
mod gather;
mod held;
mod series;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Context as _;

use super::LONGEST_LEASE;
use super::agent_load::wall_now;
use super::member::{Member, MemberFate};
use super::progress::ProgressSum;
use super::wire::{
    AgentOrder, AgentPhase, AgentReport, AgentState, HeldLoad, decode_message, encode_message,
    is_load_word, orders_to, portable_plan, reporter_name, short_run, target_order,
};
use crate::analysis::number_format::format_time;
use crate::base::terminal::sanitize_text;
use crate::base::token::random_token;
use crate::base::{Clock as _, Nanos, RealClock, Stop};
use crate::client::{Error, NatsConnection, NatsEvent, NatsMessage};
use crate::experiment::{AgentProgress, RunListener};
use crate::plan::Plan;

/// How long something that is not answered is left before it is said again.
const AGAIN: Nanos = Nanos(500_000_000);
/// How long one event is waited for at most.
const TICK: Duration = Duration::from_millis(10);
/// From naming the start to the start: at least this, and so many times the largest bound of a clock.
const LEAD: Nanos = Nanos(500_000_000);
const LEAD_BOUNDS: u64 = 20;
/// How long after its end a load may take until it is told.
const LATE_END: Nanos = Nanos(30_000_000_000);
/// Longest words of an agent that are shown, characters.
const MOST_WORDS: usize = 500;
/// How long a connection that does not come back is waited for once all loads have ended by their leases.
const LAST_WAIT: Nanos = Nanos(3_000_000_000);

pub use collect::{CollectedLoad, CollectedShare, LostShare};
pub use series::{SeriesRequest, ShareReader};

/// What is asked of agents.
#[derive(Clone, Debug)]
pub struct AgentsRequest {
    /// How many.
    pub count: usize,
    /// How long to wait for them.
    pub join_time: Duration,
    /// How long their load goes on without a word of ours.
    pub lease: Duration,
    /// What to tell who has not started them yet.
    pub invitation: String,
}

/// Leads a load on agents.
pub struct Coordinator<'a> {
    link: NatsConnection,
    request: AgentsRequest,
    clock: RealClock,
    stop: &'a Stop,
    listener: &'a mut dyn RunListener,
    /// A word for the load that nobody guesses.
    run: String,
    /// Who was heard of, before the team stands.
    seen: BTreeMap<String, Member>,
    /// Who takes part, by share.
    team: Vec<Member>,
    /// Who has joined and has no part in this load: it has too few sessions.
    resting: Vec<Member>,
    progress: ProgressSum,
    /// When the lease was last renewed and the time asked for.
    renewed: Nanos,
    /// When something was last said again.
    repeated: Nanos,
    questions: u64,
    /// The loads whose folders agents keep, by their names.
    held: BTreeMap<String, Vec<HeldLoad>>,
    /// How far the agents are, as it was last told.
    told_agents: Vec<AgentProgress>,
    /// Since when there is no connection.
    gone: Option<Nanos>,
    start_unix_ns: Option<u64>,
}

impl<'a> Coordinator<'a> {
    /// A coordinator over a connection that listens to `reports_from("*")`.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn new(
        link: NatsConnection,
        request: AgentsRequest,
        stop: &'a Stop,
        listener: &'a mut dyn RunListener,
    ) -> anyhow::Result<Coordinator<'a>> {
        let run = random_token().context("make a name for the load")?.reveal().to_owned();
        let lease = request.lease.min(LONGEST_LEASE);
        Ok(Coordinator {
            link,
            request: AgentsRequest { lease, ..request },
            clock: RealClock::start_now(),
            stop,
            listener,
            run,
            seen: BTreeMap::new(),
            team: Vec::new(),
            resting: Vec::new(),
            progress: ProgressSum::default(),
            renewed: Nanos(0),
            repeated: Nanos(0),
            questions: 0,
            held: BTreeMap::new(),
            told_agents: Vec::new(),
            gone: None,
            start_unix_ns: None,
        })
    }

    /// Runs a load from its agents' joining to their folders.
    ///
    /// # Errors
    /// Why it was not begun, or nothing of it came back.
    pub fn run_load(&mut self, plan: &Plan) -> anyhow::Result<CollectedLoad> {
        let led = self.gather_agents().and_then(|()| self.lead_load(plan));
        self.tell_all(&|run| AgentOrder::Release { run, more: false });
        led
    }

    /// Leads one load of those that have joined.
    fn lead_load(&mut self, plan: &Plan) -> anyhow::Result<CollectedLoad> {
        let load = &portable_plan(plan)?;
        let (target, runs_dir) = (target_order(&plan.target), &plan.runs_dir);
        self.measure_clocks()?;
        let ready = self.prepare_shares(load, target);
        if let Err(error) = ready {
            self.tell_all(&|run| AgentOrder::Stop { run });
            return Err(error);
        }
        self.start_load(load);
        self.watch_load(load);
        self.collect_folders(runs_dir)
    }

    fn ask_times(&mut self) {
        self.questions += 1;
        let question = self.questions;
        for number in 0..self.team.len() {
            // One after the other, so that none waits for the others to be asked.
            self.team[number].asked = Some((question, self.clock.now()));
            let run = self.run.clone();
            self.tell(number, &AgentOrder::TellTime { run, question });
        }
    }

    /// The end of the lease, by the clock of an agent of which ours is ahead by this much.
    fn lease_end(&self, offset_ns: i64) -> u64 {
        let until = wall_now(self.clock).saturating_add(Nanos::from(self.request.lease).0);
        until.saturating_add_signed(offset_ns.saturating_neg())
    }

    /// Names one start for all.
    fn start_load(&mut self, load: &Plan) {
        let now = self.clock.now();
        let bound = |member: &Member| member.offset.best_estimate(now).map(|(_, bound)| bound);
        let bound = self.team.iter().filter_map(bound).max().unwrap_or_default();
        let lead = LEAD.max(Nanos(bound.0.saturating_mul(LEAD_BOUNDS)));
        self.progress = ProgressSum::starting_at(now + lead);
        self.start_unix_ns = Some(wall_now(self.clock).saturating_add(lead.0));
        let names: Vec<&str> = self.team.iter().map(|member| member.name.as_str()).collect();
        let bound = format_time(bound.to_seconds());
        let (run, names) = (short_run(&self.run), names.join(", "));
        let text = format!("load {run} by agents {names}: clocks within {bound} of ours");
        self.listener.note_added(&text);
        self.listener.load_started(std::slice::from_ref(&load.workload.kind));
        self.tell_agents();
        self.repeat_orders();
    }

    /// Looks on until all have ended or are lost.
    fn watch_load(&mut self, load: &Plan) {
        let time = load.load.time.map(|time| Nanos::from(time) + Nanos::from(load.load.grace));
        let limit = time.map(|time| self.clock.now() + LEAD + time + LATE_END);
        let mut told = BTreeSet::new();
        loop {
            self.take_next_event();
            self.keep_team();
            if limit.is_some_and(|limit| self.clock.now() > limit) {
                let run = self.run.clone();
                let late = self.team.iter_mut().filter(|m| !m.is_in(&run, AgentPhase::Ended));
                late.for_each(|member| member.lose("it did not end in time"));
            }
            let lost: Vec<String> = self.team.iter().filter_map(lost_text).collect();
            for text in lost {
                if told.insert(text.clone()) {
                    self.listener.note_added(&text);
                    self.tell_agents();
                }
            }
            let is_over = |m: &Member| !m.is_present() || m.is_in(&self.run, AgentPhase::Ended);
            if self.team.iter().all(is_over) {
                return;
            }
        }
    }

    /// # Errors
    /// That the user wants no load any more.
    fn stop_early(&self) -> anyhow::Result<()> {
        if self.stop.is_set() { Err(Error::Abandoned.into()) } else { Ok(()) }
    }

    /// What is to be done now and then while a team stands: leases, clocks, what was not heard, who is lost.
    fn keep_team(&mut self) {
        let now = self.clock.now();
        let every = Nanos::from(self.request.lease / 5).min(Nanos(2 * AGAIN.0));
        if now.since(self.renewed) >= every {
            self.renewed = now;
            for number in 0..self.team.len() {
                let estimate = self.team[number].offset.best_estimate(now);
                let until_unix_ns = self.lease_end(estimate.unwrap_or_default().0);
                let run = self.run.clone();
                self.tell(number, &AgentOrder::Renew { run, until_unix_ns });
            }
            // Who rests goes on waiting for the next load.
            for member in &self.resting {
                let order = AgentOrder::Release { run: self.run.clone(), more: true };
                let _ = self.link.publish(&orders_to(&member.name), &encode_message(&order, &[]));
            }
            self.ask_times();
        }
        if now.since(self.repeated) >= AGAIN {
            self.repeat_orders();
        }
        self.judge_members(now);
    }

    /// Says again what was not heeded: the start, and the stop.
    fn repeat_orders(&mut self) {
        self.repeated = self.clock.now();
        for number in 0..self.team.len() {
            let (member, run) = (&self.team[number], self.run.clone());
            let is_waiting = member.is_in(&run, AgentPhase::Ready);
            if self.stop.is_set() && !member.is_in(&run, AgentPhase::Ended) {
                self.tell(number, &AgentOrder::Stop { run });
            } else if let Some(at_unix_ns) = self.start_unix_ns.filter(|_| is_waiting) {
                self.tell(number, &AgentOrder::Start { run, at_unix_ns });
            }
        }
    }

    /// Who was silent for longer than a lease is lost: its load has ended by itself. While there is no connection nobody is
    /// heard; then all are lost once their loads must have ended and some more time has passed.
    fn judge_members(&mut self, now: Nanos) {
        let lease = Nanos::from(self.request.lease);
        let run = self.run.clone();
        let (patience, why) = match self.gone {
            Some(_) => (lease + lease + LAST_WAIT, "there is no connection to NATS"),
            None => (lease, "nothing was heard of it"),
        };
        for member in &mut self.team {
            let silent = now.since(member.heard);
            if silent > patience && !(self.gone.is_none() && member.is_in(&run, AgentPhase::Ended))
            {
                member.lose(&format!("{why} for {}", format_time(silent.to_seconds())));
            }
        }
    }

    fn tell(&self, number: usize, order: &AgentOrder) {
        let name = &self.team[number].name;
        // Orders are short; one that is lost is said again.
        let _ = self.link.publish(&orders_to(name), &encode_message(order, &[]));
    }

    fn tell_all(&self, order: &dyn Fn(String) -> AgentOrder) {
        (0..self.team.len()).for_each(|number| self.tell(number, &order(self.run.clone())));
    }

    /// Takes in the next thing that happens, if something does soon.
    fn take_next_event(&mut self) {
        match self.link.next_event(TICK) {
            None => {}
            Some(NatsEvent::Message(message)) => self.take_message(&message),
            Some(NatsEvent::Connected) => {
                self.gone = None;
                let now = self.clock.now();
                // The silence was not theirs.
                self.team.iter_mut().for_each(|member| member.heard = now);
                self.listener.note_added("NATS is there again");
            }
            Some(NatsEvent::Disconnected(why)) => {
                self.gone = Some(self.clock.now());
                let why = format!("no connection to NATS: {why}; agents stop when it lasts");
                self.listener.note_added(&sanitize_text(&why, false));
            }
            Some(NatsEvent::Complaint(why)) => {
                let why = format!("NATS refuses: {why}");
                self.listener.note_added(&sanitize_text(&why, false));
            }
        }
    }

    fn take_message(&mut self, message: &NatsMessage) {
        let now = self.clock.now();
        let Some(name) = reporter_name(&message.subject) else { return };
        // What is no report is nobody's: agents of other releases may be there, too.
        let Ok((report, bytes)) = decode_message::<AgentReport>(&message.payload) else { return };
        let Some(number) = self.team.iter().position(|member| member.name == name) else {
            return self.take_other_report(name, report, now);
        };
        let own = self.run.clone();
        let member = &mut self.team[number];
        match report {
            AgentReport::State(state) => {
                let why = state.why.as_deref().map(plain_words);
                member.take_state(AgentState { why, ..state }, &own, now);
                if member.is_in(&own, AgentPhase::Ready) && self.start_unix_ns.is_some() {
                    self.repeat_orders();
                }
            }
            AgentReport::Time { run, question, unix_ns } if run == own => {
                member.heard = now;
                if let Some((_, asked)) = member.asked.take_if(|(known, _)| *known == question) {
                    let own_unix_ns = self.clock.unix_ns(now);
                    member.offset.add_answer(asked, now, own_unix_ns, unix_ns);
                }
            }
            AgentReport::Offered { run, folder } if run == own => {
                // While it packed it could say nothing.
                (member.heard, member.offered) = (now, Some(folder));
            }
            AgentReport::Refused { run, why } if run == own && member.is_present() => {
                member.fate = MemberFate::Refused(plain_words(&why));
            }
            AgentReport::Progress { run, interval } if run == own => {
                self.progress.add_report(number, &interval);
                self.show_progress();
            }
            AgentReport::Part { run, offset } if run == own => {
                let taken = member.folder.as_mut().map(|reader| reader.take_part(offset, bytes));
                if let Some(Err(why)) = taken {
                    member.lose(&why);
                }
            }
            _ => {}
        }
    }

    /// A report of one that has no part in this load.
    fn take_other_report(&mut self, name: &str, report: AgentReport, now: Nanos) {
        let resting = self.resting.iter_mut().find(|member| member.name == name);
        match (report, resting) {
            (AgentReport::State(state), Some(member)) => member.take_state(state, "", now),
            (AgentReport::State(state), None) if self.team.is_empty() => {
                self.seen.insert(name.to_owned(), Member::new(name, state, now));
            }
            (AgentReport::Held { loads }, _) => {
                let loads = loads.into_iter().filter(|load| is_load_word(&load.run));
                let plain = |load: HeldLoad| HeldLoad {
                    name: plain_words(&load.name),
                    share: plain_words(&load.share),
                    ..load
                };
                self.held.insert(name.to_owned(), loads.map(plain).collect());
            }
            _ => {}
        }
    }

    /// Tells how far the agents are, if that is new.
    fn tell_agents(&mut self) {
        let agents = self.progress.agents(&self.team);
        if agents != self.told_agents {
            self.listener.agents_changed(&agents);
            self.told_agents = agents;
        }
    }

    /// Shows the intervals that all who are there have told.
    fn show_progress(&mut self) {
        let there = |(number, member): (usize, &Member)| member.is_present().then_some(number);
        let living: Vec<usize> = self.team.iter().enumerate().filter_map(there).collect();
        self.tell_agents();
        while let Some(interval) = self.progress.take_ready(&living) {
            self.listener.interval_ended(&interval);
        }
    }
}

/// What an agent says, as it may be shown.
fn plain_words(text: &str) -> String {
    let text: String = text.chars().take(MOST_WORDS).collect();
    sanitize_text(&text, false).into_owned()
}

fn lost_text(member: &Member) -> Option<String> {
    match &member.fate {
        MemberFate::Lost(why) => Some(format!("agent {} is lost: {why}", member.name)),
        _ => None,
    }
}
