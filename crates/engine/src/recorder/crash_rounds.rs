//! What was left of a load after its server was killed.

use serde::{Deserialize, Serialize};

use super::{BrokenRow, DataVerdicts};

/// The commits that clients saw acknowledged, held against the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LedgerBalance {
    /// Commits that the server acknowledged.
    pub acknowledged: u64,
    /// Those of them that are not in the data.
    pub lost: u64,
    /// Commits in the data that nobody saw acknowledged: at most one per session that was cut.
    pub surplus: u64,
    /// Some of the places where commits were lost.
    pub examples: Vec<BrokenRow>,
}

/// One kill of the server, and what it was like once it was back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CrashRound {
    /// The setting under test: `innodb_flush_log_at_trx_commit=1`; empty for the server's own.
    pub setting: String,
    /// Which kill with this setting, from 1.
    pub kill: u32,
    /// How long the load had run, seconds.
    pub after_s: f64,
    /// From the start of the server until it answered, seconds.
    pub recovery_s: f64,
    /// The same after a clean stop, seconds.
    pub clean_start_s: f64,
    /// Sessions of the load.
    pub sessions: usize,
    /// Whether the server promises to keep what it acknowledged.
    pub is_durable: bool,
    /// The client's ledger.
    pub ledger: LedgerBalance,
    /// The rules of the data.
    pub data: DataVerdicts,
}

impl CrashRound {
    /// Whether the server kept its promises: data whole, nothing lost that is durable, nothing there that nobody sent.
    pub fn is_kept(&self) -> bool {
        let is_lost = self.is_durable && self.ledger.lost > 0;
        !is_lost && self.ledger.surplus <= self.sessions as u64 && self.data.all_hold()
    }

    /// What came back after all these kills, in words.
    pub fn answer_text(rounds: &[CrashRound]) -> String {
        let lost: u64 = rounds.iter().map(|round| round.ledger.lost).sum();
        let acknowledged: u64 = rounds.iter().map(|round| round.ledger.acknowledged).sum();
        let broken = rounds.iter().filter(|round| !round.data.all_hold()).count();
        let kept = rounds.iter().filter(|round| round.is_kept()).count();
        let kills = match rounds.len() {
            1 => "1 kill".to_owned(),
            many => format!("{many} kills"),
        };
        let data = match broken {
            0 => "the data are whole".to_owned(),
            broken => format!("the data are broken after {broken} of them"),
        };
        let promise = if kept == rounds.len() { "" } else { "; promises were broken" };
        format!("{kills}, {data}, {lost} of {acknowledged} commits lost{promise}")
    }
}
