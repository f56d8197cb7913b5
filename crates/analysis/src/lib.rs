//! What is kept of runs, and what it says. [`archive`] writes and reads run folders; [`analysis`] is pure functions from
//! their records to findings: rates with intervals, verdicts, stalls, caveats, and the sentences of the answer.
//!
//! Begin with [`archive::read_run`] and [`analysis::analyse_run`].

pub mod analysis;
pub mod archive;

use sweat_engine::{base, plan, probe, recorder};
