//! The beginning of a load: who is there, what time it is for them, what they are to do.

use anyhow::Context as _;

use super::super::member::{Member, MemberFate};
use super::super::wire::{AgentOrder, AgentPhase, ShareOrder, TargetOrder};
use super::{AGAIN, Coordinator};
use crate::base::{Clock as _, Nanos};
use crate::plan::{self, LoadShare, Plan};

/// Questions for the time before a load.
const QUESTIONS: usize = 16;
/// How long an answer to one is waited for.
const ANSWER: Nanos = Nanos(300_000_000);
/// How long agents may take to open sessions: this, and so much for each.
const PREPARE: Nanos = Nanos(60_000_000_000);
const PREPARE_SESSION: Nanos = Nanos(10_000_000);

impl Coordinator<'_> {
    /// Waits for enough free agents.
    pub(super) fn gather_agents(&mut self) -> anyhow::Result<()> {
        let (count, began) = (self.request.count, self.clock.now());
        let limit = began + Nanos::from(self.request.join_time);
        let mut is_told = false;
        loop {
            self.take_next_event();
            self.stop_early()?;
            let now = self.clock.now();
            // Who has said nothing for a while has left.
            let is_free = |member: &Member| {
                member.state.phase == AgentPhase::Free
                    && now.since(member.heard) < Nanos(3 * AGAIN.0)
            };
            let free = self.seen.values().filter(|member| is_free(member)).count();
            if free >= count {
                let all = std::mem::take(&mut self.seen).into_values();
                self.team = all.filter(is_free).take(count).collect();
                return Ok(());
            }
            if !is_told && now.since(began) > Nanos(2 * AGAIN.0) {
                is_told = true;
                let text = format!("{free} of {count} agents are here");
                self.listener.note_added(&text);
            }
            if now > limit {
                let seen = self.seen.values().map(|member| match is_free(member) {
                    true => member.name.clone(),
                    false => format!("{} (busy or gone)", member.name),
                });
                let seen: Vec<String> = seen.collect();
                let who = if seen.is_empty() { "none".to_owned() } else { seen.join(", ") };
                anyhow::bail!(
                    "{free} of {count} agents joined: {who}\nhint: {}",
                    self.request.invitation
                );
            }
        }
    }

    /// Asks all for their time, several times.
    pub(super) fn measure_clocks(&mut self) -> anyhow::Result<()> {
        for _ in 0..QUESTIONS {
            self.ask_times();
            let asked = self.clock.now();
            while self.team.iter().any(|member| member.asked.is_some())
                && self.clock.now().since(asked) < ANSWER
            {
                self.take_next_event();
                self.stop_early()?;
            }
        }
        match self.team.iter().find(|member| member.offset.answer_count() == 0) {
            Some(silent) => anyhow::bail!("agent {} does not answer", silent.name),
            None => Ok(()),
        }
    }

    /// Hands out shares and waits until all sessions are open.
    pub(super) fn prepare_shares(
        &mut self,
        load: &Plan,
        target: Option<TargetOrder>,
    ) -> anyhow::Result<()> {
        let all = self.team.len();
        let mut orders = Vec::with_capacity(all);
        for number in 1..=all {
            let share = LoadShare::new(number, vec![1; all]).map_err(anyhow::Error::msg)?;
            let mut plan = load.clone();
            plan.load.share = Some(share);
            orders.push((plan::to_toml(&plan), target.clone()));
        }
        let sessions = Nanos(PREPARE_SESSION.0.saturating_mul(load.load.workers as u64));
        let warmup = Nanos::from(load.warmup.unwrap_or_default());
        let limit = self.clock.now() + PREPARE + sessions + warmup;
        let mut told = None;
        loop {
            let now = self.clock.now();
            if told.is_none_or(|told| now.since(told) > Nanos(4 * AGAIN.0)) {
                told = Some(now);
                for (number, (plan, target)) in orders.iter().enumerate() {
                    let is_told = self.team[number].state.run.as_deref() == Some(&self.run);
                    if !is_told {
                        self.send_share(number, plan, target.clone())?;
                    }
                }
            }
            self.take_next_event();
            self.keep_team();
            self.stop_early()?;
            self.check_preparing(now > limit)?;
            let is_ready = |member: &Member| member.is_in(&self.run, AgentPhase::Ready);
            if self.team.iter().all(is_ready) {
                return Ok(());
            }
        }
    }

    fn send_share(
        &mut self,
        number: usize,
        plan: &str,
        target: Option<TargetOrder>,
    ) -> anyhow::Result<()> {
        let now = self.clock.now();
        let estimate = self.team[number].offset.best_estimate(now);
        let (clock_offset_ns, bound) = estimate.context("its clock was not measured")?;
        let order = ShareOrder {
            run: self.run.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            plan: plan.to_owned(),
            target,
            clock_offset_ns,
            clock_bound_ns: bound.0,
            until_unix_ns: self.lease_end(clock_offset_ns),
        };
        self.tell(number, &AgentOrder::Prepare(Box::new(order)));
        Ok(())
    }

    /// # Errors
    /// Which agent can't run its share, and why.
    fn check_preparing(&self, is_late: bool) -> anyhow::Result<()> {
        for member in &self.team {
            let name = &member.name;
            match &member.fate {
                MemberFate::Present => {}
                MemberFate::Refused(why) => anyhow::bail!("agent {name} refuses the load: {why}"),
                MemberFate::Lost(why) => anyhow::bail!("agent {name} was lost: {why}"),
            }
            if member.is_in(&self.run, AgentPhase::Ended) {
                let why = member.state.why.as_deref().unwrap_or("it did not say why");
                anyhow::bail!("agent {name} can't run the load: {why}");
            }
            if is_late && !member.is_in(&self.run, AgentPhase::Ready) {
                anyhow::bail!("agent {name} has not opened its sessions in time");
            }
        }
        Ok(())
    }
}
