//! What `meta.json` says about the server and its data.

use serde_json::json;

use super::run_context::RunContext;
use super::steps::block_count;
use super::system::SystemUnderTest;
use crate::archive::{CapacityRequest, ExperimentRequest, LoadRequest, ServerRecord};
use crate::base::{Clock as _, RealClock, Stop};
use crate::client::Target;
use crate::plan::{CapacityPlan, LoadPlan, Objective, Plan};
use crate::workload::{self, EndpointKind, Workload};

/// The server, from its own words.
///
/// # Errors
/// When no session can be opened.
pub(super) fn server_record(
    plan: &Plan,
    environment: &SystemUnderTest,
    stop: &Stop,
) -> anyhow::Result<Option<ServerRecord>> {
    let Some(target) = environment.target() else { return Ok(None) };
    let (sandbox, observed) = (environment.is_own(), !talks_to_server(plan));
    Ok(Some(ServerRecord { sandbox, observed, ..target_record(target, stop)? }))
}

/// Whether the workload talks to the server itself; one that is only looked at has no session of its workers.
pub(super) fn talks_to_server(plan: &Plan) -> bool {
    workload::find_kind(&plan.workload.kind)
        .is_ok_and(|kind| kind.endpoint_kind() == EndpointKind::MySql)
}

/// A server that is not ours, from its own words.
///
/// # Errors
/// When no session can be opened.
pub(super) fn target_record(target: &Target, stop: &Stop) -> anyhow::Result<ServerRecord> {
    let session = target.connect(stop)?;
    Ok(ServerRecord {
        product: session.identity().product.name().to_owned(),
        version: session.identity().text.clone(),
        address: target.address_text(),
        cipher: session.tls_cipher().map(|(version, suite)| format!("{version} {suite}")),
        local: target.is_local(),
        sandbox: false,
        observed: false,
    })
}

/// What the plan asks of each load.
pub(super) fn load_request(load: &LoadPlan) -> LoadRequest {
    let is_timed = load.time.is_some() || load.until_steady || load.arrival.stages().is_some();
    LoadRequest { until_steady: load.until_steady, fixed_work: load.events.is_some() || !is_timed }
}

/// Notes a load of other programs on this machine: their CPU is nobody's noise.
pub(super) fn write_load_place(run: &RunContext<'_>, workload: &dyn Workload) {
    if workload.loads_this_machine() {
        run.lock_writer().update_meta(|meta| {
            meta.facts.insert("loads_this_machine".to_owned(), json!(true));
        });
    }
}

/// Name of the fact.
const ROUND_TRIP: &str = "round_trip_us";
/// Round trips taken before those that count, and those.
const TRIPS: (usize, usize) = (3, 9);

/// Adds how long the way to the server and back takes with next to nothing to do there, microseconds; asked once.
pub(super) fn write_round_trip(run: &RunContext<'_>, environment: &SystemUnderTest) {
    if run.lock_writer().meta().facts.contains_key(ROUND_TRIP) {
        return;
    }
    if let Some(us) = round_trip_us(environment, run.clock, run.stop) {
        run.lock_writer().update_meta(|meta| {
            meta.facts.insert(ROUND_TRIP.to_owned(), json!(us));
        });
    }
}

/// The median of a few trips; `None` where the server does not answer.
fn round_trip_us(environment: &SystemUnderTest, clock: RealClock, stop: &Stop) -> Option<f64> {
    let mut session = environment.target()?.connect(stop).ok()?;
    let mut took = Vec::new();
    for trip in 0..TRIPS.0 + TRIPS.1 {
        let began = clock.now();
        session.run_command("do 0").ok()?;
        if trip >= TRIPS.0 {
            took.push(clock.now().since(began).0);
        }
    }
    took.sort_unstable();
    Some(took[took.len() / 2] as f64 / 1e3)
}

/// What the plan asks, for findings; nothing for a load or a demonstration, whose plans count no blocks.
pub(super) fn asked_record(plan: &Plan) -> ExperimentRequest {
    let counts_blocks = plan.blocks > 0 || plan.until_clear.is_some();
    let is_plain = plan.sweep.is_none() && plan.capacity.is_none();
    if is_plain && !counts_blocks && plan.checks.is_empty() && plan.allow.is_empty() {
        return ExperimentRequest::default();
    }
    ExperimentRequest {
        question: plan.question.clone(),
        variants: plan.variants.iter().map(|variant| variant.name.clone()).collect(),
        metric: plan.decide.metric.clone(),
        margin: plan.decide.margin,
        blocks: block_count(plan),
        until_clear: plan.until_clear,
        order: plan.order.as_str().to_owned(),
        reset: plan.reset.as_str().to_owned(),
        axis: plan.sweep.as_ref().map(|sweep| sweep.axis.clone()),
        capacity: plan.capacity.as_ref().map(capacity_record),
        checks: plan.checks.clone(),
        allow: plan.allow.clone(),
    }
}

fn capacity_record(plan: &CapacityPlan) -> CapacityRequest {
    CapacityRequest {
        quantity: plan.quantity.clone(),
        objectives: plan.objectives.iter().map(Objective::to_string).collect(),
        settle_s: plan.settle.as_secs_f64(),
        step_s: plan.step_time.as_secs_f64(),
        confirm_s: plan.confirm.as_secs_f64(),
    }
}

/// Names of facts, and statements that tell them: the first one that the server answers counts. Sizes of files are
/// true at once, statistics only after a while.
const FACTS: &[(&str, &[&str])] = &[
    ("pool_bytes", &["select @@innodb_buffer_pool_size"]),
    (
        "data_bytes",
        &[
            "select sum(file_size) from information_schema.innodb_sys_tablespaces \
             where name like concat(database(), '/%')",
            "select sum(file_size) from information_schema.innodb_tablespaces \
             where name like concat(database(), '/%')",
            "select sum(data_length + index_length) from information_schema.tables \
             where table_schema = database()",
        ],
    ),
];

/// Adds what of the data the load reaches, once the workload has looked at them.
pub(super) fn write_reach(run: &RunContext<'_>, workload: &dyn Workload) {
    let Some(reach) = workload.data_reach() else { return };
    run.lock_writer().update_meta(|meta| {
        meta.facts.insert("reached_share".to_owned(), json!(reach.share));
        meta.facts.insert("reached_rows".to_owned(), json!(reach.rows));
        meta.facts.insert("table_rows".to_owned(), json!(reach.rows_there));
        meta.facts.insert("table".to_owned(), json!(reach.table));
    });
}

/// Adds the sizes of pool and data, in bytes, once the data are there, and the amounts that the workload was asked for. What the server does not tell is left out.
pub(super) fn write_data_sizes(run: &RunContext<'_>, plan: &Plan, environment: &SystemUnderTest) {
    let declared = workload::declare_facts(&plan.workload.kind, plan.workload.options.iter());
    if !declared.amounts.is_empty() {
        let amounts = declared.amounts.into_iter().map(|(name, amount)| (name, json!(amount)));
        run.lock_writer().update_meta(|meta| meta.facts.extend(amounts));
    }
    let session = environment.target().map(|t| t.connect(run.stop));
    let Some(Ok(mut session)) = session else { return };
    for (name, statements) in FACTS {
        let mut answers =
            statements.iter().filter_map(|sql| session.query_scalar(sql).ok().flatten());
        let number = answers.find_map(|text| text.parse::<f64>().ok());
        if let Some(number) = number {
            run.lock_writer().update_meta(|meta| {
                meta.facts.insert((*name).to_owned(), json!(number as u64));
            });
        }
    }
}
