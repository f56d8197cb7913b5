//! Does nothing: measures the ceiling of the driver itself. The example to copy for a new workload.

use crate::plan::{OptionSpec, Options};
use crate::recorder::{ClassId, EventOutcome, Tally};
use crate::workload::{
    BoxedWorker, Endpoint, EndpointKind, OpenError, Worker, WorkerContext, Workload, WorkloadKind,
};

/// The kind `null`.
pub struct NullWorkload;

impl WorkloadKind for NullWorkload {
    fn name(&self) -> &'static str {
        "null"
    }
    fn help_line(&self) -> &'static str {
        "no work: the highest rate sweat itself can drive"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        Vec::new()
    }
    fn endpoint_kind(&self) -> EndpointKind {
        EndpointKind::None
    }
    fn build_workload(&self, _: &Options, _: Endpoint<'_>) -> anyhow::Result<Box<dyn Workload>> {
        Ok(Box::new(NullWorkload))
    }
}

impl Workload for NullWorkload {
    fn class_names(&self) -> Vec<String> {
        vec!["null".to_owned()]
    }
    fn new_worker(&self, _: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        Ok(Box::new(NullWorker))
    }
}

struct NullWorker;

impl Worker for NullWorker {
    async fn open(&mut self) -> Result<(), OpenError> {
        Ok(())
    }
    async fn run_event(&mut self, _: &mut Tally) -> EventOutcome {
        EventOutcome { class: ClassId(0), error: None }
    }
}
