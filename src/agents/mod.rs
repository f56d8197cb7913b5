//! One load from several machines, with one command: `sweat agent` waits on load machines, `--agents N` has N of them run shares
//! of a load. They talk over NATS; what travels is a plan as data, never a command, the name of a file or a password.
//!
//! The coordinator finds agents, measures their clocks, hands out shares, names one start, renews a lease, and in the end fetches
//! their run folders. Folding those is `archive::merge_runs`, as `sweat merge` does it.
//! Start reading at `Coordinator::run_load` and `Agent::serve_loads`; what they say to each other is in `wire`.
//! Never knows: clap, formats, how a load is made or a folder written.

mod agent;
mod agent_load;
mod allowed;
mod clock_offset;
mod coordinator;
mod folder_pack;
mod held;
mod link;
mod member;
mod progress;
#[cfg(test)]
mod tests;
mod wire;

use std::time::Duration;

pub use agent::{Agent, AgentOptions};
pub use allowed::AllowedTarget;
pub use coordinator::{
    AgentsRequest, CollectedLoad, CollectedShare, Coordinator, LostShare, SeriesRequest,
    ShareReader,
};
pub use link::{LinkOptions, open_link};
pub use wire::{HeldLoad, check_agent_name, portable_plan, short_run};

/// What an agent listens to.
pub fn agent_subject(name: &str) -> String {
    wire::orders_to(name)
}

/// What a coordinator listens to.
pub fn coordinator_subject() -> String {
    wire::reports_from("*")
}
/// Longest time that an agent's load goes on without a word of its coordinator.
pub const LONGEST_LEASE: Duration = Duration::from_secs(15);
