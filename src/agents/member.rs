//! An agent as its coordinator sees it.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use super::clock_offset::ClockOffset;
use super::wire::{AgentPhase, AgentState, FolderOffer};
use crate::archive::file_sha256;
use crate::base::{Nanos, private};

/// Largest packed folder that is taken.
const MOST_FOLDER_BYTES: u64 = 2 << 30;

/// Why an agent does not take part any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MemberFate {
    /// It takes part.
    Present,
    /// It will not run its share.
    Refused(String),
    /// It is gone.
    Lost(String),
}

/// An agent.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// What it said last.
    pub(super) state: AgentState,
    /// When.
    pub(super) heard: Nanos,
    /// Its clock.
    pub(super) offset: ClockOffset,
    /// The last question for its time, and when it was asked.
    pub(super) asked: Option<(u64, Nanos)>,
    pub(super) fate: MemberFate,
    pub(super) folder: Option<FolderReader>,
    /// The folder of an earlier load that it offers.
    pub(super) offered: Option<FolderOffer>,
}

impl Member {
    pub(super) fn new(name: &str, state: AgentState, heard: Nanos) -> Member {
        Member {
            name: name.to_owned(),
            state,
            heard,
            offset: ClockOffset::default(),
            asked: None,
            fate: MemberFate::Present,
            folder: None,
            offered: None,
        }
    }

    /// Whether it takes part.
    pub(super) fn is_present(&self) -> bool {
        self.fate == MemberFate::Present
    }

    /// Why it takes no part any more; `None` while it does.
    pub(super) fn lost_reason(&self) -> Option<&str> {
        match &self.fate {
            MemberFate::Present => None,
            MemberFate::Refused(why) | MemberFate::Lost(why) => Some(why),
        }
    }

    /// Whether it is in this phase of this load.
    pub(super) fn is_in(&self, run: &str, phase: AgentPhase) -> bool {
        self.state.phase == phase && self.state.run.as_deref() == Some(run)
    }

    /// Takes what it says of itself.
    pub(super) fn take_state(&mut self, state: AgentState, run: &str, now: Nanos) {
        self.heard = now;
        let has_left = self.state.run.as_deref() == Some(run) && state.run.as_deref() != Some(run);
        if state.process != self.state.process {
            self.lose("it was started anew");
        } else if has_left {
            self.lose("it left the load");
        }
        self.state = state;
    }

    /// It is gone; the first reason stands.
    pub(super) fn lose(&mut self, why: &str) {
        if self.is_present() {
            self.fate = MemberFate::Lost(why.to_owned());
        }
    }
}

/// A folder on its way.
#[derive(Debug)]
pub(super) struct FolderReader {
    offer: FolderOffer,
    file: File,
    /// What is there.
    pub(super) taken: u64,
}

impl FolderReader {
    /// For what was offered, into a new file.
    ///
    /// # Errors
    /// When it is too large, or the file can't be made.
    pub(super) fn create(offer: &FolderOffer, pack: &Path) -> Result<FolderReader, String> {
        if offer.bytes > MOST_FOLDER_BYTES {
            return Err(format!("its folder of {} bytes is too large to be sent", offer.bytes));
        }
        let file = private::create_file(pack).map_err(|e| format!("{}: {e}", pack.display()))?;
        Ok(FolderReader { offer: offer.clone(), file, taken: 0 })
    }

    /// Takes a part, if it is the one that comes next; whether it is.
    ///
    /// # Errors
    /// When there is more of it than was offered, or it can't be written.
    pub(super) fn take_part(&mut self, offset: u64, bytes: &[u8]) -> Result<bool, String> {
        if offset != self.taken {
            return Ok(false);
        }
        let taken = self.taken + bytes.len() as u64;
        if taken > self.offer.bytes || bytes.is_empty() {
            return Err("its folder is not as long as it said".to_owned());
        }
        self.file.write_all(bytes).map_err(|e| e.to_string())?;
        self.taken = taken;
        Ok(true)
    }

    /// Whether all is there.
    pub(super) fn is_whole(&self) -> bool {
        self.taken == self.offer.bytes
    }

    /// Whether what is there is what was sent.
    ///
    /// # Errors
    /// That it is not.
    pub(super) fn check_sum(&self, pack: &Path) -> Result<(), String> {
        match file_sha256(pack) {
            Ok(sum) if sum == self.offer.sha256 => Ok(()),
            Ok(_) => Err("its folder was damaged on the way".to_owned()),
            Err(e) => Err(e.to_string()),
        }
    }
}
