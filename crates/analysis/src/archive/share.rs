//! What of a load a run folder holds, where several machines shared it, and which servers its sessions were dealt to.

use serde::{Deserialize, Serialize};

/// How the words of an arrival go on where the load is one of several shares.
pub const SHARE_TEXT: &str = ", share ";
/// The fact that says how far the clock of an agent may be from its coordinator's, nanoseconds.
pub const CLOCK_BOUND: &str = "clock_bound_ns";
/// The fact that says what the coordinator's clock was found to be ahead of an agent's, nanoseconds.
pub const CLOCK_OFFSET: &str = "clock_offset_ns";
/// The fact that says which coordinator's load an agent's run was part of.
pub const AGENTS_LOAD: &str = "agents_load";
/// The fact that says which share of it the run was.
pub const AGENTS_SHARE: &str = "agents_share";

/// One share of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareRecord {
    /// As it is typed: `2/3`, or `2/1:1:2` where weights differ.
    pub text: String,
    /// Which, from 1.
    pub number: usize,
    /// The weights of all shares.
    pub weights: Vec<u32>,
    /// Number of its first worker among those of the whole load.
    pub first_worker: usize,
    /// Workers of the whole load.
    pub all_workers: usize,
}

/// How many sessions of a load one of several servers had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DealtSessions {
    /// The server: `tcp db1:3306`.
    pub server: String,
    /// Sessions.
    pub sessions: usize,
}
