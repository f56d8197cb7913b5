//! Keeping a standby's pool like the active server's: the active server's reads, sent to the standby as they happen.
//! Never knows: how it is shown.
//! Start reading at `run_follow`, then `leg`. To add a source: a variant of `FollowSource` and its `StatementSource`.

mod checkpoint;
mod dedup_window;
mod explain;
mod filter;
mod preflight;
mod read_half;
mod send_queue;
mod senders;
mod session;
mod source;
mod source_reader;
mod standby_monitor;
mod status;
mod throttle;
mod warmth_probe;

pub use source::FollowSource;
pub use status::{FollowCounts, FollowPhase, FollowStatus, StandbyReads, StandbyWarmth};
pub use throttle::{StandbyLimits, StandbyLoad, ThrottleReason};

use std::path::PathBuf;
use std::time::Duration;

use crate::base::{Nanos, RealClock, Stop};
use crate::capture::read_only::AllowList;
use crate::client::Target;
use crate::plan::WritesPlan;

/// How to follow.
#[derive(Clone, Debug)]
pub struct FollowPlan {
    /// Where the active server's statements come from.
    pub source: FollowSource,
    /// The active server, where we may talk to it: for warmth, and to swap roles.
    pub active: Option<Target>,
    /// Swap roles when the standby is promoted: where its statements come from then.
    pub mirror: Option<FollowSource>,
    /// What becomes of writes. `Execute` is taken for `Drop`.
    pub writes: WritesPlan,
    /// Stored functions that may be called.
    pub allowed: AllowList,
    /// A statement is sent once in so long.
    pub window: Nanos,
    /// Nothing older is sent.
    pub behind: Nanos,
    /// When the standby has enough to do.
    pub limits: StandbyLimits,
    /// Longest that a statement may take on the standby.
    pub time_limit: Duration,
    /// Whether statements may go to a standby that is not read-only.
    pub writable_too: bool,
    /// Whether our account on the standby may be one that could write.
    pub may_write: bool,
    /// Where to keep how far the source was read.
    pub state: Option<PathBuf>,
    /// Database of sessions whose own the source does not tell.
    pub database: String,
    /// Time between two looks at the active server's hot set; 0 for none.
    pub gauge_each: Nanos,
    /// Extra reads per second at a failover that are fine.
    pub budget_per_s: f64,
    /// Whether to look also where a pool is larger than 32 GiB.
    pub large_too: bool,
}

/// Follows until told to stop, or until the source ends; `on` sees how it is, a few times a second.
///
/// # Errors
/// When the standby can't be had at the begin, or is not one.
pub fn run_follow(
    plan: &FollowPlan,
    standby: &Target,
    clock: RealClock,
    stop: &Stop,
    on: &mut dyn FnMut(&FollowStatus),
) -> anyhow::Result<FollowStatus> {
    preflight::check_standby(plan, standby, stop)?;
    let marks = checkpoint::Checkpoint::open_file(plan.state.as_deref())?;
    let mut sides = session::ServerRoles {
        source: plan.source.clone(),
        mirror: plan.mirror.clone(),
        active: plan.active.clone(),
        standby: standby.clone(),
    };
    let mut history = session::FollowHistory::default();
    loop {
        let end = session::run_session(plan, &sides, &marks, clock, stop, &mut history, on)?;
        marks.write_file()?;
        match end {
            session::SessionEnd::Through(view) => return Ok(*view),
            session::SessionEnd::Swap => {
                sides.swap_roles();
                history.swaps += 1;
            }
        }
    }
}
