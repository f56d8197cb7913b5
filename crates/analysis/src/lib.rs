//! What is kept of runs, and what it says: pure functions from records to findings.

pub mod analysis;
pub mod archive;

use sweat_engine::{base, plan, probe, recorder};
