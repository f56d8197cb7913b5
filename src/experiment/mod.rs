//! Runs a plan: a pure list of steps, and the one loop over them. bench, warm and demo are all plans run by this.
//! Never knows: clap, formats, colours.
//! Start reading at `steps`, then `run`. To add a step: a `Deed`, its line in `run::Walk::perform`.

mod capacity;
mod change;
mod complaints;
pub mod demo;
pub mod doctor;
mod dry;
mod eyes;
mod facts;
mod ground;
mod instances;
mod keeper;
mod machine;
mod order;
mod preflight;
mod quiet;
mod resolved;
mod rest;
mod run;
mod script;
mod settings;
mod steps;
mod sweep;
mod trial;
mod waits;
mod watch_cost;

pub use change::SET_GLOBAL;
pub use dry::{Rehearsed, rehearse};
pub use instances::least_pool_bytes;
pub use keeper::Finished;
pub use order::order;
pub use run::{check, run, run_script, script};
pub use script::{Blocks, Clear, Script, SoFar};
pub use steps::{Deed, Overrides, Step, block_steps, blocks, first_steps, steps};
pub use watch_cost::WithCost;

use crate::analysis::Outlook;
use crate::archive::{Lock, ServerRecord};
use crate::probe::Sample;
use crate::recorder::Interval;
use crate::workload::Progress;

/// Told what goes on while a plan runs; `cli` shows it. All methods may be left out.
pub trait Listener: Send {
    /// The server is known.
    fn server(&mut self, _server: &ServerRecord) {}
    /// What the plan came to is known.
    fn lock(&mut self, _lock: &Lock) {}
    /// A step begins; `number` counts from 1.
    fn step_began(&mut self, _step: &Step, _number: usize, _of: usize) {}
    /// A step is through.
    fn step_ended(&mut self, _step: &Step, _seconds: f64) {}
    /// How far a longer step is.
    fn progress(&mut self, _progress: &Progress) {}
    /// A load begins with these classes.
    fn load_began(&mut self, _classes: &[String]) {}
    /// An interval of the load is over.
    fn interval(&mut self, _interval: &Interval) {}
    /// The load is to run until it is steady, and this is how it looks.
    fn outlook(&mut self, _outlook: &Outlook) {}
    /// A probe has looked.
    fn sample(&mut self, _sample: &Sample) {}
    /// Something worth a line.
    fn note(&mut self, _text: &str) {}
}

/// A listener that listens to nothing.
pub struct Silent;

impl Listener for Silent {}
