//! A load like TPC-C: order entry of a wholesale supplier, written from the published specification (5.11). Not audited, and
//! its results are not comparable with published ones.
//! Never knows: when events are due, how they are timed.
//! To add a way to put transactions into SQL: a `SqlVariant` and its statements in `transactions/`.

mod load;
mod load_record;
mod nonuniform;
mod options;
mod rows;
mod schema;

use crate::client::Target;
use crate::plan::{OptionSpec, Options};

use super::{
    BoxedWorker, DataJob, Endpoint, StatementPreview, WorkerContext, Workload, WorkloadKind,
};

use self::options::TpccSettings;

/// The kind.
#[derive(Debug)]
pub struct TpccKind;

impl WorkloadKind for TpccKind {
    fn name(&self) -> &'static str {
        "tpcc"
    }
    fn help_line(&self) -> &'static str {
        "TPC-C-like: order entry, five transactions (not audited)"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        options::option_specs()
    }
    fn example_args(&self) -> &'static [&'static str] {
        &[
            "--sandbox --warehouses=1 --threads=4 --time=10",
            "prepare -h db1 -u bench -p -D tpcc --warehouses=10",
            "-h db1 -u bench -p -D tpcc --threads=16 --time=5m",
        ]
    }
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let settings = TpccSettings::from_options(options)?;
        Ok(Box::new(TpccWorkload { settings, target: endpoint.require_mysql()?.clone() }))
    }
}

/// The workload.
pub(super) struct TpccWorkload {
    settings: TpccSettings,
    target: Target,
}

impl Workload for TpccWorkload {
    fn class_names(&self) -> Vec<String> {
        ["new_order", "payment", "order_status", "delivery", "stock_level"]
            .map(str::to_owned)
            .into()
    }
    fn new_worker(&self, _part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        anyhow::bail!("not yet")
    }
    fn prepare_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        load::prepare_data(&self.settings, &self.target, job)
    }
    fn describe_statements(&self) -> StatementPreview {
        let prepare = load::describe_prepare(&self.settings);
        StatementPreview { prepare, ..StatementPreview::default() }
    }
    fn cleanup_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        load::drop_tables(&self.target, job)
    }
}
