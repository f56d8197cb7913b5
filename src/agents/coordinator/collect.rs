//! The end of a load: the folders of those who have one.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::super::folder_pack::unpack_folder;
use super::super::member::{FolderReader, MemberFate};
use super::super::wire::{AgentOrder, short_run};
use super::{AGAIN, Coordinator};
use crate::archive::read_run;
use crate::base::{Clock as _, Nanos, private};

/// How long a folder may make no headway.
const STUCK: Nanos = Nanos(20_000_000_000);

/// A load that agents have run.
#[derive(Clone, Debug)]
pub struct CollectedLoad {
    /// A folder of ours with what was fetched; whoever has used it removes it.
    pub scratch: PathBuf,
    /// The run folders, by share.
    pub shares: Vec<CollectedShare>,
    /// The shares that are missing.
    pub lost: Vec<LostShare>,
}

/// A run folder of an agent.
#[derive(Clone, Debug)]
pub struct CollectedShare {
    /// The agent.
    pub agent: String,
    /// Where its folder is.
    pub dir: PathBuf,
}

/// An agent whose share is missing.
#[derive(Clone, Debug)]
pub struct LostShare {
    /// The agent.
    pub agent: String,
    /// The number of its share.
    pub number: usize,
    /// Why.
    pub why: String,
}

impl CollectedLoad {
    /// Why shares are missing, in words, by their numbers.
    pub fn lost_words(&self) -> impl Iterator<Item = (usize, String)> + '_ {
        self.lost.iter().map(|lost| (lost.number, format!("agent {}: {}", lost.agent, lost.why)))
    }
}

/// Whether there is a load in it to be merged: one without spoils no other's.
///
/// # Errors
/// Why not.
fn check_folder(dir: &Path) -> Result<(), String> {
    let run = read_run(dir).map_err(|e| format!("its folder: {e}"))?;
    match run.trials.is_empty() {
        false => Ok(()),
        true => Err(run.damage.into_iter().next().map_or_else(
            || "its folder has no load".to_owned(),
            |why| format!("its folder is damaged: {why}"),
        )),
    }
}

impl Coordinator<'_> {
    /// Fetches the folders of all that have one.
    pub(super) fn collect_folders(&mut self, runs_dir: &Path) -> anyhow::Result<CollectedLoad> {
        let own = std::process::id();
        let scratch = runs_dir.join(format!(".agents-{}-{own}", short_run(&self.run)));
        let made = std::fs::create_dir_all(runs_dir);
        made.and_then(|()| private::create_folder(&scratch))
            .with_context(|| format!("make {}", scratch.display()))?;
        let mut load = CollectedLoad { scratch, shares: Vec::new(), lost: Vec::new() };
        for number in 0..self.team.len() {
            let fetched = self.fetch_folder(number, &load.scratch);
            let agent = self.team[number].name.clone();
            match fetched {
                Ok(dir) => load.shares.push(CollectedShare { agent, dir }),
                Err(why) => load.lost.push(LostShare { agent, number: number + 1, why }),
            }
        }
        if load.shares.is_empty() {
            let _ = std::fs::remove_dir_all(&load.scratch);
            let all: Vec<String> = load.lost_words().map(|(_, words)| words).collect();
            anyhow::bail!(
                "no agent's run folder came back: {}\nhint: what they measured is in run folders \
                 on their machines; `sweat agents collect` makes one run of them while the agents \
                 are there, `sweat merge` where they are not",
                all.join("; ")
            );
        }
        Ok(load)
    }

    /// Fetches and unpacks the folder of an agent.
    ///
    /// # Errors
    /// Why there is none, in words.
    fn fetch_folder(&mut self, number: usize, scratch: &Path) -> Result<PathBuf, String> {
        let member = &mut self.team[number];
        match &member.fate {
            MemberFate::Present => {}
            MemberFate::Lost(why) | MemberFate::Refused(why) => return Err(why.clone()),
        }
        let offer = member.offered.clone().or_else(|| member.state.folder.clone());
        let none = || member.state.why.clone().unwrap_or_else(|| "it has no folder".to_owned());
        let offer = offer.ok_or_else(none)?;
        let pack = scratch.join(format!("{}.pack", member.name));
        member.folder = Some(FolderReader::create(&offer, &pack)?);
        let (mut asked_for, mut asked, mut moved) = (None, Nanos(0), self.clock.now());
        loop {
            let member = &self.team[number];
            let Some(reader) = &member.folder else { return Err("its folder is damaged".into()) };
            if let MemberFate::Lost(why) = &member.fate {
                return Err(why.clone());
            }
            if reader.is_whole() {
                break;
            }
            let (offset, now) = (reader.taken, self.clock.now());
            if asked_for != Some(offset) {
                moved = now;
            }
            if now.since(moved) > STUCK {
                return Err("its folder did not come; it is on its machine".to_owned());
            }
            if asked_for != Some(offset) || now.since(asked) > Nanos(2 * AGAIN.0) {
                (asked_for, asked) = (Some(offset), now);
                let run = self.run.clone();
                self.tell(number, &AgentOrder::Fetch { run, offset });
            }
            self.take_next_event();
            self.keep_team();
        }
        let member = &self.team[number];
        member.folder.as_ref().map_or(Ok(()), |reader| reader.check_sum(&pack))?;
        let dir = scratch.join(&member.name);
        unpack_folder(&pack, &dir).map_err(|e| format!("its folder: {e}"))?;
        let _ = std::fs::remove_file(&pack);
        check_folder(&dir)?;
        Ok(dir)
    }
}
