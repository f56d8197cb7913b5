//! An examination before anything is measured: the machine, ourselves, and the server if there is one. Changes nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::machine;
use super::system::SystemUnderTest;
use crate::analysis::noise::ServerFacts;
use crate::base::{RealClock, Stop};
use crate::client::Session;
use crate::driver;
use crate::plan::{ArrivalPlan, LoadPlan, Plan, TargetPlan};
use crate::probe::noise::{NoiseChecks, NoiseContext, NoiseStage, measure_noise};
use crate::probe::{PROBES, server_pid};
use crate::workload;

/// Events per second of the open loop that shows our own lateness.
const PACE: f64 = 2000.0;

/// What to examine.
#[derive(Clone, Debug)]
pub struct DoctorOptions<'a> {
    /// The server, or none.
    pub target: TargetPlan,
    /// Where flushed writes go.
    pub dir: &'a Path,
    /// How closely to look at the machine.
    pub care: NoiseChecks,
    /// How long each of the two loads without work runs.
    pub calibrate: Duration,
}

/// What was found, raw.
#[derive(Clone, Debug, Default)]
pub struct Examination {
    /// The machine: `kernel`, `cpus`, ...
    pub host: BTreeMap<String, String>,
    /// The look, see docs/doctor.md.
    pub seen: BTreeMap<String, f64>,
    /// The server, if there is one.
    pub server: Option<ServerFacts>,
}

/// Examines; `told` hears what comes next, and which part of how many it is.
///
/// # Errors
/// When the server can't be reached or started, or the driver can't run at all.
pub fn examine_system(
    subject: &DoctorOptions<'_>,
    stop: &Stop,
    told: &mut dyn FnMut(&str, u64, u64),
) -> anyhow::Result<Examination> {
    const PARTS: u64 = 6;
    let clock = RealClock::start_now();
    let mut found = Examination { host: machine::host_facts(), ..Examination::default() };
    let plan = Plan { target: subject.target.clone(), ..Plan::default() };
    if !matches!(subject.target, TargetPlan::None) {
        told("the server", 0, PARTS);
    }
    let environment = SystemUnderTest::from_plan(&plan, stop)?;
    let mut session = environment.target().map(|target| target.connect(stop)).transpose()?;
    let local = environment.target().is_some_and(|target| target.is_local());
    let pid = environment.server_pid().or_else(|| server_pid(session.as_mut()?, local));
    let scene = NoiseContext { pid, dir: Some(subject.dir) };
    found.seen = measure_noise(&subject.care, &scene, clock, stop, &mut |stage| match stage {
        NoiseStage::Quiet => told("other programs", 1, PARTS),
        NoiseStage::Gap => told("lost time on each core", 2, PARTS),
        NoiseStage::Cpu => told("a fixed piece of CPU work", 3, PARTS),
        NoiseStage::Sync => told("flushed writes", 4, PARTS),
    });
    if !stop.is_set() {
        told("sweat itself", 5, PARTS);
        found.seen.extend(measure_own_limits(subject.calibrate, clock, stop)?);
    }
    if let Some(session) = &mut session {
        let mut facts = server_facts(session, pid);
        facts.local = local;
        facts.address = environment.target().map(|t| t.address_text()).unwrap_or_default();
        facts.memory_bytes = found.host.get("memory_bytes").and_then(|m| m.parse().ok());
        found.server = Some(facts);
    }
    told("done", PARTS, PARTS);
    Ok(found)
}

/// Our own ceiling and lateness: no work at all through the driver, as fast as it goes and at a pace.
fn measure_own_limits(
    time: Duration,
    clock: RealClock,
    stop: &Stop,
) -> anyhow::Result<Vec<(String, f64)>> {
    let workload = workload::idle_workload();
    let closed = LoadPlan { time: Some(time), ..LoadPlan::default() };
    let arrival = ArrivalPlan::Constant { per_second: PACE };
    let open = LoadPlan { arrival, ..closed.clone() };
    let run = |load: &LoadPlan| driver::run_load(load, 1, &*workload, clock, stop, &mut |_| {});
    let (fast, paced) = (run(&closed)?, run(&open)?);
    let seconds = fast.total.length_s().max(f64::MIN_POSITIVE);
    let late = |quantile: f64| paced.total.lateness.value_at_quantile(quantile) as f64;
    Ok(vec![
        ("ours.ceiling_per_s".to_owned(), fast.total.event_count() as f64 / seconds),
        ("ours.late_p50_ns".to_owned(), late(0.5)),
        ("ours.late_p99_ns".to_owned(), late(0.99)),
        ("ours.late_max_ns".to_owned(), paced.total.lateness.max_ns() as f64),
    ])
}

/// Size of all tables but the server's own.
const DATA: &str = "SELECT SUM(data_length + index_length) FROM information_schema.tables \
                    WHERE table_schema NOT IN \
                    ('mysql', 'sys', 'information_schema', 'performance_schema')";

/// What the watch of waits needs, and a statement that fails without it.
const WAITS_NEED: (&str, &str) = (
    "grant SELECT on performance_schema.*",
    "SELECT COUNT(*) FROM performance_schema.setup_consumers",
);

/// Everything the server says about itself.
fn server_facts(session: &mut Session, pid: Option<u32>) -> ServerFacts {
    let mut facts = ServerFacts {
        version: format!("{} {}", session.identity().product.name(), session.identity().text),
        cipher: session.tls_cipher().map(|(version, suite)| format!("{version} {suite}")),
        ..ServerFacts::default()
    };
    let mut pairs = |sql: &str| {
        let rows = session.query_rows(sql).ok();
        let text = |cell: Option<&Option<Vec<u8>>>| {
            cell.and_then(Option::as_ref).map(|b| String::from_utf8_lossy(b).into_owned())
        };
        let pair = |row: &Vec<Option<Vec<u8>>>| Some((text(row.first())?, text(row.get(1))?));
        rows.into_iter().flat_map(|r| r.rows).filter_map(|row| pair(&row)).collect::<Vec<_>>()
    };
    let variables = pairs("SHOW GLOBAL VARIABLES");
    facts.variables = variables.into_iter().map(|(n, v)| (n.to_lowercase(), v)).collect();
    let status = pairs("SHOW GLOBAL STATUS");
    facts.status = status.into_iter().filter_map(|(n, v)| Some((n, v.parse().ok()?))).collect();
    facts.data_bytes =
        session.query_scalar(DATA).ok().flatten().and_then(|text| text.parse::<f64>().ok());
    for (probes, (needs, sql)) in probe_needs() {
        if session.query_rows(sql).is_err() {
            facts.missing.push((probes, needs.to_owned()));
        }
    }
    let unreadable = |pid: u32| std::fs::read(format!("/proc/{pid}/io")).is_err();
    if pid.is_some_and(unreadable) {
        let needs = "run sweat as root or as the server's account";
        facts.missing.push(("process (I/O)".to_owned(), needs.to_owned()));
    }
    facts
}

/// What must be granted for probes, with a statement that fails without it: those that need the same together.
fn probe_needs() -> Vec<(String, (&'static str, &'static str))> {
    let mut needs: Vec<(String, (&str, &str))> = Vec::new();
    let kinds = PROBES.iter().filter_map(|kind| Some((kind.name, kind.needed_grant?)));
    for (name, grant) in kinds.chain([("waits", WAITS_NEED)]) {
        match needs.iter_mut().find(|(_, known)| *known == grant) {
            Some((names, _)) => *names = format!("{names}, {name}"),
            None => needs.push((name.to_owned(), grant)),
        }
    }
    needs
}
