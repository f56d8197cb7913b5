//! What is to be seen of a follow while it runs: plain data.

use serde::{Serialize, Serializer};
use serde_json::json;

use super::throttle::{StandbyLoad, ThrottleReason};
use crate::capture::read_only::RefusalReason;
use crate::warm::hotset::{FailoverReadiness, HotWarmth};

/// What a follow does just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowPhase {
    /// It connects to the standby for the first time.
    Starting,
    /// It sends.
    Following,
    /// The standby does not answer; why.
    StandbyGone(String),
    /// The standby is not read-only: promoted, or not yet a standby again. Nothing is sent.
    Promoted,
    /// The servers swap roles: it waits for the former active server to come back read-only.
    Swapping,
    /// It was told to stop, or its source has ended.
    Ended,
}

impl FollowPhase {
    /// One word for it, as in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            FollowPhase::Starting => "starting",
            FollowPhase::Following => "following",
            FollowPhase::StandbyGone(_) => "standby_gone",
            FollowPhase::Promoted => "promoted",
            FollowPhase::Swapping => "swapping",
            FollowPhase::Ended => "ended",
        }
    }
    /// All words.
    pub const WORDS: &'static [&'static str] =
        &["starting", "following", "standby_gone", "promoted", "swapping", "ended"];
}

/// What became of the statements since the begin. Sums.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FollowCounts {
    /// Records read from the source.
    pub records: u64,
    /// Records that are no statements of a client, that failed on the active server, or that read no rows of users.
    pub others: u64,
    /// Records in doubt: their text may not be what was sent.
    pub doubtful: u64,
    /// Statements of which only a read half goes on.
    pub halved: u64,
    /// Writes left out.
    pub writes: u64,
    /// Statements that set or begin or end something of their session.
    pub sessions_own: u64,
    /// Statements refused by the read-only filter.
    pub refused: u64,
    /// The same by reason, most first.
    #[serde(serialize_with = "serialize_map")]
    pub reasons: Vec<(&'static str, u64)>,
    /// Statements sent a moment ago already.
    pub deduplicated: u64,
    /// Statements too old to be sent.
    pub skipped: u64,
    /// Statements dropped because too many waited, or because they were too long.
    pub overrun: u64,
    /// Statements dropped because there was no standby to send them to.
    pub unsent: u64,
    /// Statements that ran on the standby.
    pub sent: u64,
    /// Those that gave an error.
    pub failed: u64,
    /// Those of them that the time limit ended.
    pub timed_out: u64,
    /// Statements under way when the standby went, or was promoted.
    pub lost: u64,
    /// Rows received.
    pub rows: u64,
    /// Time that statements took on the standby, nanoseconds.
    #[serde(skip)]
    pub service_ns: u64,
    /// The first error of the standby: its number, its words.
    #[serde(serialize_with = "serialize_error")]
    pub first_error: Option<(u16, String)>,
}

fn serialize_map<S: Serializer>(pairs: &[(&str, u64)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().copied())
}

fn serialize_error<S: Serializer>(error: &Option<(u16, String)>, to: S) -> Result<S::Ok, S::Error> {
    error.as_ref().map(|(code, text)| json!({"code": code, "text": text})).serialize(to)
}

impl FollowCounts {
    pub(super) fn count_refusal(&mut self, refusal: &RefusalReason) {
        self.refused += 1;
        let words = refusal.reason_text();
        match self.reasons.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => self.reasons.push((words, 1)),
        }
        self.reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    }
}

/// Disk reads that following causes: reads that a failover would have had instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StandbyReads {
    /// Pages that the standby had to read from disk since the begin, for our statements and its applier.
    pub misses: u64,
    /// Pages asked of its pool since the begin, by all.
    pub asked: u64,
    /// Pages read from disk per second, over the last seconds.
    pub misses_per_s: f64,
    /// Misses per 1000 pages asked, over the last seconds.
    pub misses_per_1000: f64,
    /// The same of our own statements alone, by a sample of them that the server explained; `None` where it can't.
    pub own_misses_per_1000: Option<f64>,
    /// Pages that our own statements read from disk, by the same sample.
    #[serde(rename = "saved")]
    pub own_misses: Option<f64>,
}

/// How hot the standby is, by the last look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StandbyWarmth {
    /// When the look was done, seconds since the begin.
    pub at_s: f64,
    /// The active server's hot set against the standby's pool.
    pub warmth: HotWarmth,
    /// Whether the standby could take over; `None` if no look has seen the active server at work.
    pub readiness: Option<FailoverReadiness>,
    /// Accesses to pages per second on the active server, the most that a look has seen.
    pub accesses_per_s: Option<f64>,
    /// What the look cost on the active server, seconds.
    pub active_cost_s: f64,
    /// What it cost on the standby, seconds.
    pub standby_cost_s: f64,
}

/// Everything to be seen.
#[derive(Clone, Debug)]
pub struct FollowStatus {
    /// Time since the begin, seconds.
    pub at_s: f64,
    /// What it does.
    pub phase: FollowPhase,
    /// Where statements come from.
    pub source: String,
    /// Whether the source gives nothing for a fault of its own, and why.
    pub source_gone: Option<String>,
    /// The server kept hot.
    pub standby: String,
    /// Times the servers swapped roles.
    pub swaps: u64,
    /// Times the standby was lost and found again.
    pub reconnects: u64,
    /// How far the statement sent last is behind the active server, seconds.
    pub behind_s: f64,
    /// Statements that wait to be sent.
    pub waiting: u64,
    /// Statements sent per second, over the last seconds.
    pub sent_per_s: f64,
    /// Statements that may run at once.
    pub allowed: u32,
    /// Most that may ever.
    pub sessions: u32,
    /// What holds them back.
    pub throttle: Option<ThrottleReason>,
    /// What the standby felt last.
    pub load: StandbyLoad,
    /// What became of statements.
    pub counts: FollowCounts,
    /// Disk reads.
    pub reads: StandbyReads,
    /// Whether we may talk to the active server, and so can know of its hot set.
    pub has_active: bool,
    /// How hot the standby is.
    pub heat: Option<StandbyWarmth>,
    /// Things to know, in words.
    pub notes: Vec<String>,
}
