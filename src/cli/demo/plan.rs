//! The plan of `sweat demo`: what a warm buffer pool is worth, on a server of our own.

use std::path::PathBuf;
use std::time::Duration;

use crate::base::units::ByteSize;
use crate::plan::{
    LoadPlan, Mistake, OptionSpec, Options, Plan, ProbePlan, SandboxPlan, TargetPlan, VariantPlan,
    WarmPlan, WorkloadPlan,
};
use crate::workload::lookup::LookupTable;

/// Length of an interval: short, as the loads take few seconds.
const INTERVAL: Duration = Duration::from_millis(250);

/// What can be chosen.
#[derive(Clone, Debug)]
pub(super) struct DemoOptions {
    /// Buffer pool, in bytes.
    pub(super) pool_bytes: u64,
    /// Data with their index.
    pub(super) size: ByteSize,
    /// Rows, instead of a size.
    pub(super) rows: Option<u64>,
    /// How many different rows are looked up.
    pub(super) lookups: u64,
    /// The server program; found if not given.
    pub(super) server: Option<PathBuf>,
    /// Seed of data and lookups.
    pub(super) seed: u64,
    /// Where the run folder goes.
    pub(super) runs_dir: PathBuf,
}

impl DemoOptions {
    /// The plan: the same lookups twice after each way of warming, each from a cold start.
    ///
    /// # Errors
    /// When an option does not fit.
    pub(super) fn to_plan(&self) -> Result<Plan, Vec<Mistake>> {
        let bytes = match self.size {
            ByteSize::Bytes(bytes) => bytes,
            ByteSize::TimesPool(times) => (self.pool_bytes as f64 * times) as u64,
        };
        let rows = self.rows.unwrap_or_else(|| LookupTable::rows_for(bytes, true));
        let (rows, lookups) = (rows.to_string(), self.lookups.to_string());
        // The newest rows are the ones in use, as in most applications: what the lookups touch fits a pool that
        // the whole table does not.
        let given = [("rows", rows), ("newest", lookups.clone()), ("lookups", lookups)];
        let sandbox = SandboxPlan {
            server: self.server.clone(),
            pool: Some(ByteSize::Bytes(self.pool_bytes)),
            ..SandboxPlan::default()
        };
        Ok(Plan {
            name: "demo".to_owned(),
            seed: self.seed,
            target: TargetPlan::Sandbox(sandbox),
            workload: WorkloadPlan {
                kind: "lookup".to_owned(),
                options: check_options(workload_specs("lookup"), &given)?,
            },
            load: LoadPlan { interval: INTERVAL, ..LoadPlan::default() },
            prepare: true,
            cold: true,
            variants: warm_variants()?,
            passes: 2,
            probes: ProbePlan::default(),
            runs_dir: self.runs_dir.clone(),
            ..Plan::default()
        })
    }
}

/// Not at all; by reading everything; by reading everything as mysql-warmup does; by the server's own list of pages.
fn warm_variants() -> Result<Vec<VariantPlan>, Vec<Mistake>> {
    let none = VariantPlan { name: "none".to_owned(), dump_after: true, ..VariantPlan::default() };
    let mut variants = vec![none];
    for strategy in ["scan", "scan_classic", "load"] {
        let specs =
            crate::warm::find_strategy(strategy).map_or_else(|_| Vec::new(), |s| s.option_specs());
        let warm = WarmPlan { strategy: strategy.to_owned(), options: check_options(specs, &[])? };
        variants.push(VariantPlan {
            name: strategy.to_owned(),
            warm: vec![warm],
            ..VariantPlan::default()
        });
    }
    Ok(variants)
}

fn workload_specs(name: &str) -> Vec<OptionSpec> {
    crate::workload::find_kind(name).map_or_else(|_| Vec::new(), |k| k.option_specs())
}

fn check_options(
    specs: Vec<OptionSpec>,
    given: &[(&str, String)],
) -> Result<Options, Vec<Mistake>> {
    let given: Vec<(String, String)> =
        given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    Options::from_given(&specs, &given)
}
