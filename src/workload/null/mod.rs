//! Does nothing: measures the ceiling of the driver itself. The example to copy for a new workload.

use crate::plan::{OptionSpec, Options};
use crate::recorder::{ClassId, Outcome, Tally};
use crate::target::{self, Target};
use crate::workload::{Kind, Part, Seat, Worker, Workload};

/// The kind `null`.
pub struct Null;

impl Kind for Null {
    fn name(&self) -> &'static str {
        "null"
    }
    fn about(&self) -> &'static str {
        "no work at all: the ceiling of the driver itself"
    }
    fn options(&self) -> Vec<OptionSpec> {
        Vec::new()
    }
    fn needs_target(&self) -> bool {
        false
    }
    fn build(&self, _: &Options, _: Option<&Target>) -> anyhow::Result<Box<dyn Workload>> {
        Ok(Box::new(Null))
    }
}

impl Workload for Null {
    fn classes(&self) -> Vec<String> {
        vec!["null".to_owned()]
    }
    fn seat(&self, _: Part) -> anyhow::Result<Box<dyn Seat + '_>> {
        Ok(Box::new(Idler))
    }
}

struct Idler;

impl Worker for Idler {
    async fn open(&mut self) -> Result<(), target::Error> {
        Ok(())
    }
    async fn event(&mut self, _: &mut Tally) -> Outcome {
        Outcome { class: ClassId(0), error: None }
    }
}
