//! What a watch was asked: a capture of a server's state without a load.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use super::{DEFAULT_RUNS_DIR, Trigger};
use crate::base::units::show_time;

/// Everything that was asked of a watch.
#[derive(Clone, Debug)]
pub struct WatchPlan {
    /// Short name; part of the folder's name.
    pub name: String,
    /// Folder with run folders.
    pub runs_dir: PathBuf,
    /// Names of probes; all if empty.
    pub probes: Vec<String>,
    /// Time between two samples that are kept.
    pub every: Duration,
    /// How long; until it is told to end if absent.
    pub time: Option<Duration>,
    /// It ends when this file is gone.
    pub while_file: Option<PathBuf>,
    /// It ends when this process does.
    pub pid: Option<u32>,
    /// A new segment begins at each multiple of this time on the wall clock.
    pub rotate: Duration,
    /// Where to write the files of the old kind of capture script, too.
    pub classic_dir: Option<PathBuf>,
    /// Whether values in the statements of others are kept.
    pub is_unredacted: bool,
    /// How much it may write.
    pub limits: WatchLimits,
    /// What begins an incident.
    pub triggers: Vec<Trigger>,
    /// How long samples are kept in an incident after it began.
    pub after: Duration,
    /// Least time between two incidents of one trigger.
    pub pause: Duration,
    /// Most incidents on one day.
    pub incidents_per_day: u32,
}

/// How much a watch may write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchLimits {
    /// Segments that are older are removed; those with an incident stay.
    pub keep: Option<Duration>,
    /// Most bytes of all it writes.
    pub max_disk_bytes: Option<u64>,
    /// Share of the disk that stays free.
    pub min_free_share: f64,
    /// Bytes of the disk that stay free; the larger of both counts.
    pub min_free_bytes: u64,
}

impl Default for WatchPlan {
    fn default() -> WatchPlan {
        WatchPlan {
            name: "watch".to_owned(),
            runs_dir: PathBuf::from(DEFAULT_RUNS_DIR),
            probes: Vec::new(),
            every: Duration::from_secs(5),
            time: None,
            while_file: None,
            pid: None,
            rotate: Duration::from_secs(3600),
            classic_dir: None,
            is_unredacted: false,
            limits: WatchLimits::default(),
            triggers: Vec::new(),
            after: Duration::from_secs(30),
            pause: Duration::from_secs(300),
            incidents_per_day: 20,
        }
    }
}

impl WatchPlan {
    /// The plan in words, for its folder.
    pub fn to_toml(&self) -> String {
        let mut text = String::from("[watch]\n");
        let mut add = |name: &str, value: &str| {
            // Writing to a string can't fail.
            let _ = writeln!(text, "{name} = {value:?}");
        };
        add("every", &show_time(self.every));
        add("rotate", &show_time(self.rotate));
        add("probes", &self.probes.join(","));
        if let Some(time) = self.time {
            add("for", &show_time(time));
        }
        if let Some(file) = &self.while_file {
            add("while-file", &file.display().to_string());
        }
        if let Some(pid) = self.pid {
            add("pid", &pid.to_string());
        }
        if let Some(dir) = &self.classic_dir {
            add("classic", &dir.display().to_string());
        }
        let triggers: Vec<String> = self.triggers.iter().map(Trigger::to_string).collect();
        if !triggers.is_empty() {
            let _ = writeln!(text, "when = {triggers:?}");
        }
        if self.is_unredacted {
            text += "unredacted = true\n";
        }
        text
    }
}
