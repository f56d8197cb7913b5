//! The TPC-C-like load against real servers.

mod load;
mod programs;
mod run;

use sweat::base::Stop;
use sweat::client::Target;
use sweat::plan::{AddressPlan, Options};
use sweat::workload::{DataJob, Endpoint, JobProgress, KINDS, Workload};

use crate::fixture::Fixture;

/// Seed of all rows in these tests.
const SEED: &str = "7";

/// A target whose default database is this one, made if it is not there.
fn database(server: &Fixture, name: &str) -> Target {
    server.sql(&format!("CREATE DATABASE IF NOT EXISTS {name}"));
    let plan = AddressPlan { database: Some(name.to_owned()), ..server.target().plan().clone() };
    Target::new(&plan).expect("a socket needs no name resolved")
}

/// The workload with rows of [`SEED`].
fn tpcc(given: &[(&str, &str)], target: &Target) -> Box<dyn Workload> {
    let kind = KINDS.iter().find(|kind| kind.name() == "tpcc").expect("the kind is listed");
    let given = given.iter().chain([&("data-seed", SEED)]);
    let given: Vec<_> = given.map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let options = Options::from_given(&kind.option_specs(), &given).expect("the options exist");
    kind.build_workload(&options, Endpoint::MySql(target)).expect("the options fit each other")
}

/// Makes the data; gives what the workload tells of it.
fn prepare(workload: &dyn Workload, threads: usize) -> anyhow::Result<Vec<String>> {
    prepare_telling(workload, threads, &Stop::new(), &mut |_| {})
}

fn prepare_telling(
    workload: &dyn Workload,
    threads: usize,
    stop: &Stop,
    progress: &mut (dyn FnMut(JobProgress) + Send),
) -> anyhow::Result<Vec<String>> {
    workload.prepare_data(&mut DataJob { threads, seed: 1, stop, progress })?;
    Ok(workload.data_notes())
}

fn cleanup(workload: &dyn Workload) -> anyhow::Result<()> {
    let (stop, progress) = (&Stop::new(), &mut |_| {});
    workload.cleanup_data(&mut DataJob { threads: 1, seed: 1, stop, progress })
}

/// What is wrong, in words; panics if nothing is.
fn why<T>(result: anyhow::Result<T>) -> String {
    format!("{:#}", result.err().expect("this must be refused"))
}
