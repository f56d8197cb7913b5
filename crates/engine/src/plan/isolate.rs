//! Each class of events alone, after the load: what it costs the server is then exact.

use std::time::Duration;

/// Rounds, and how long each class runs in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsolatePlan {
    /// How often each class runs alone.
    pub rounds: u32,
    /// How long each time.
    pub time: Duration,
}

impl IsolatePlan {
    /// Fewest rounds: an interval needs two.
    pub const LEAST_ROUNDS: u64 = 2;
    /// Most rounds.
    pub const MOST_ROUNDS: u64 = 100;
    /// Shortest time of a class.
    pub const LEAST_TIME: Duration = Duration::from_millis(200);
}

impl Default for IsolatePlan {
    fn default() -> IsolatePlan {
        IsolatePlan { rounds: 5, time: Duration::from_secs(2) }
    }
}
