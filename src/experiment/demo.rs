//! The plan of `sweat demo`: what a warm buffer pool is worth, on a server of our own.

use std::path::PathBuf;
use std::time::Duration;

use crate::base::units::Size;
use crate::plan::{
    LoadPlan, Mistake, OptionSpec, Options, Plan, ProbePlan, SandboxPlan, TargetPlan, WarmPlan,
    WayPlan, WorkloadPlan,
};
use crate::workload::lookup::Table;

/// Length of an interval: short, as the loads take few seconds.
const INTERVAL: Duration = Duration::from_millis(250);

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Demo {
    /// Buffer pool, in bytes.
    pub pool_bytes: u64,
    /// Data with their index.
    pub size: Size,
    /// Rows, instead of a size.
    pub rows: Option<u64>,
    /// How many different rows are looked up.
    pub lookups: u64,
    /// The server program; found if not given.
    pub server: Option<PathBuf>,
    /// Seed of data and lookups.
    pub seed: u64,
    /// Where the run folder goes.
    pub runs_dir: PathBuf,
}

impl Demo {
    /// The plan: the same lookups twice after each way of warming, each from a cold start.
    ///
    /// # Errors
    /// When an option does not fit.
    pub fn plan(&self) -> Result<Plan, Vec<Mistake>> {
        let bytes = match self.size {
            Size::Bytes(bytes) => bytes,
            Size::TimesPool(times) => (self.pool_bytes as f64 * times) as u64,
        };
        let rows = self.rows.unwrap_or_else(|| Table::rows_for(bytes, true));
        let (rows, lookups) = (rows.to_string(), self.lookups.to_string());
        // The newest rows are the ones in use, as in most applications: what the lookups touch fits a pool that
        // the whole table does not.
        let given = [("rows", rows), ("newest", lookups.clone()), ("lookups", lookups)];
        let sandbox = SandboxPlan {
            server: self.server.clone(),
            pool: Some(Size::Bytes(self.pool_bytes)),
            ..SandboxPlan::default()
        };
        Ok(Plan {
            name: "demo".to_owned(),
            seed: self.seed,
            target: TargetPlan::Sandbox(sandbox),
            workload: WorkloadPlan {
                kind: "lookup".to_owned(),
                options: options(workload_specs("lookup"), &given)?,
            },
            load: LoadPlan { interval: INTERVAL, ..LoadPlan::default() },
            prepare: true,
            cold: true,
            ways: ways()?,
            passes: 2,
            probes: ProbePlan::default(),
            runs_dir: self.runs_dir.clone(),
            ..Plan::default()
        })
    }
}

/// Not at all; by reading everything; by reading everything as mysql-warmup does; by the server's own list of pages.
fn ways() -> Result<Vec<WayPlan>, Vec<Mistake>> {
    let none = WayPlan { name: "none".to_owned(), dump_after: true, ..WayPlan::default() };
    let mut ways = vec![none];
    for strategy in ["scan", "scan_classic", "load"] {
        let specs = crate::warm::strategy(strategy).map_or_else(|_| Vec::new(), |s| s.options());
        let warm = WarmPlan { strategy: strategy.to_owned(), options: options(specs, &[])? };
        ways.push(WayPlan { name: strategy.to_owned(), warm: vec![warm], ..WayPlan::default() });
    }
    Ok(ways)
}

fn workload_specs(name: &str) -> Vec<OptionSpec> {
    crate::workload::kind(name).map_or_else(|_| Vec::new(), |k| k.options())
}

fn options(specs: Vec<OptionSpec>, given: &[(&str, String)]) -> Result<Options, Vec<Mistake>> {
    let given: Vec<(String, String)> =
        given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    Options::check(&specs, &given)
}
