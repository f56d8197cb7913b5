//! Folders of earlier loads that an agent keeps: which there are, by the word of their load, and one of them to be fetched.

use std::path::{Path, PathBuf};

use super::folder_pack::OfferedFolder;
use super::wire::HeldLoad;
use crate::archive::{AGENTS_LOAD, AGENTS_SHARE, RunMeta, list_runs};
use crate::base::Nanos;

/// Loads that are named at most, the youngest.
const MOST_NAMED: usize = 100;
/// How long a packed folder is kept that nobody asks for.
const KEPT: Nanos = Nanos(60_000_000_000);

/// A folder that was asked for.
#[derive(Debug)]
pub(super) struct HeldFolder {
    pub(super) run: String,
    pub(super) folder: OfferedFolder,
    /// When it was last asked for.
    asked: Nanos,
}

impl HeldFolder {
    /// Packs the folder of this load.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub(super) fn pack(runs_dir: &Path, run: &str, now: Nanos) -> Result<HeldFolder, String> {
        let is_run = |(_, meta): &(PathBuf, RunMeta)| load_word(meta) == Some(run);
        let all = list_runs(runs_dir).map_err(|e| e.to_string())?;
        let found = all.into_iter().rfind(is_run);
        let (dir, _) = found.ok_or("it has no folder of this load")?;
        let folder = OfferedFolder::pack(&dir, "held");
        let folder = folder.map_err(|e| format!("pack its folder: {e}"))?;
        Ok(HeldFolder { run: run.to_owned(), folder, asked: now })
    }

    /// A part of it was asked for.
    pub(super) fn note_asked(&mut self, now: Nanos) {
        self.asked = now;
    }

    /// Whether nobody has asked for it for long.
    pub(super) fn is_stale(&self, now: Nanos) -> bool {
        now.since(self.asked) > KEPT
    }
}

/// The loads of which there are folders, the youngest first.
pub(super) fn held_loads(runs_dir: &Path) -> Vec<HeldLoad> {
    let all = list_runs(runs_dir).unwrap_or_default();
    all.iter().rev().filter_map(|(_, meta)| held_load(meta)).take(MOST_NAMED).collect()
}

fn held_load(meta: &RunMeta) -> Option<HeldLoad> {
    let share = meta.facts.get(AGENTS_SHARE).and_then(serde_json::Value::as_str);
    Some(HeldLoad {
        run: load_word(meta)?.to_owned(),
        name: meta.name.clone(),
        share: share.unwrap_or_default().to_owned(),
        began_unix_ns: meta.origin_unix_ns,
        state: meta.state,
    })
}

/// Of a share; merged runs are no agent's.
fn load_word(meta: &RunMeta) -> Option<&str> {
    meta.facts.get(AGENTS_SHARE)?;
    meta.facts.get(AGENTS_LOAD).and_then(serde_json::Value::as_str)
}
