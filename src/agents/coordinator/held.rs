//! Loads of coordinators that are gone: which agents still keep folders of them, and how these are fetched.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use super::super::wire::encode_message;
use super::super::wire::{AgentOrder, HeldLoad, orders_to, short_run};
use super::{AGAIN, CollectedLoad, Coordinator};
use crate::base::{Clock as _, Nanos};

/// How long agents are listened to: each says how it is every second.
const LISTEN: Nanos = Nanos(2_500_000_000);
/// How long a folder may take to be packed.
const PACK: Nanos = Nanos(60_000_000_000);

impl Coordinator<'_> {
    /// Who is there, and which loads each agent keeps, the youngest first.
    ///
    /// # Errors
    /// That the user wants it no more.
    pub fn list_held(&mut self) -> anyhow::Result<&BTreeMap<String, Vec<HeldLoad>>> {
        let began = self.clock.now();
        let mut asked: BTreeMap<String, Nanos> = BTreeMap::new();
        while self.clock.now().since(began) < LISTEN
            || self.seen.keys().any(|name| !self.held.contains_key(name))
                && self.clock.now().since(began) < LISTEN + LISTEN
        {
            let now = self.clock.now();
            for name in self.seen.keys().filter(|name| !self.held.contains_key(*name)) {
                if asked.get(name).is_none_or(|at| now.since(*at) > AGAIN) {
                    asked.insert(name.clone(), now);
                    let order = encode_message(&AgentOrder::ListHeld, &[]);
                    let _ = self.link.publish(&orders_to(name), &order);
                }
            }
            self.take_next_event();
            self.stop_early()?;
        }
        Ok(&self.held)
    }

    /// Fetches all folders of a load that agents keep; `list_held` has found them. `load` is the beginning of its word, the
    /// youngest load if it is empty.
    ///
    /// # Errors
    /// When there is no such load, or nothing of it came back.
    pub fn collect_held(
        &mut self,
        load: &str,
        runs_dir: &Path,
    ) -> anyhow::Result<(CollectedLoad, HeldLoad)> {
        let all = self.held.values().flatten().filter(|held| held.run.starts_with(load));
        let found = all.max_by_key(|held| held.began_unix_ns).cloned();
        let found = found.with_context(|| match load {
            "" => "no agent keeps a folder of a load".to_owned(),
            load => format!("no agent keeps a folder of load {load}"),
        })?;
        let same = |held: &&HeldLoad| held.run.starts_with(load) && held.run != found.run;
        if !load.is_empty() && self.held.values().flatten().any(|held| same(&held)) {
            anyhow::bail!("several loads begin with {load}\nhint: type more of the load's name");
        }
        self.run.clone_from(&found.run);
        let keeps = |name: &String| {
            self.held.get(name).is_some_and(|loads| loads.iter().any(|l| l.run == found.run))
        };
        let names: Vec<String> = self.seen.keys().filter(|name| keeps(name)).cloned().collect();
        self.team = names.iter().filter_map(|name| self.seen.remove(name)).collect();
        let text =
            format!("load {} of {}: {}", short_run(&found.run), found.name, names.join(", "));
        self.listener.note_added(&super::plain_words(&text));
        self.ask_for_folders()?;
        let collected = self.collect_folders(runs_dir);
        // Another coordinator may have them wait for its next load.
        self.tell_all(&|run| AgentOrder::Release { run, more: true });
        let mut collected = collected?;
        for lost in &mut collected.lost {
            let loads = self.held.get(&lost.agent).into_iter().flatten();
            let own = loads.into_iter().find(|held| held.run == found.run);
            let number = own.and_then(|held| held.share.split_once('/')?.0.parse().ok());
            lost.number = number.unwrap_or(lost.number);
        }
        Ok((collected, found))
    }

    /// Has all pack what they keep; who does not is told with the folders.
    fn ask_for_folders(&mut self) -> anyhow::Result<()> {
        let began = self.clock.now();
        let mut asked = None;
        loop {
            let now = self.clock.now();
            let is_missing = |m: &super::Member| m.is_present() && m.offered.is_none();
            if !self.team.iter().any(is_missing) || now.since(began) > PACK {
                break;
            }
            if asked.is_none_or(|at| now.since(at) > Nanos(2 * AGAIN.0)) {
                asked = Some(now);
                for number in 0..self.team.len() {
                    if is_missing(&self.team[number]) {
                        let run = self.run.clone();
                        self.tell(number, &AgentOrder::Offer { run });
                    }
                }
            }
            self.take_next_event();
            self.stop_early()?;
        }
        Ok(())
    }
}
