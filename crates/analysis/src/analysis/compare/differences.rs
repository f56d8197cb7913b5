//! What is not the same in what is compared: the variants of a plan, or two runs.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::{RunRecord, Trial, VariableRecord};

use super::super::counters;
use super::super::findings::{DifferenceKind, SetupDifference};
use super::super::number_format::{format_bytes, format_number};

/// What stands for something that is not there.
pub(in crate::analysis) const NONE: &str = "-";
/// Data may grow by so much, as a share, and still be the same amount.
const SAME_SIZE: f64 = 0.05;
/// Loads may differ so much in length, as a share, and still be as long.
const SAME_LENGTH: f64 = 0.2;

/// Variables that say where a server lives or who it is, or that move by themselves.
const VOLATILE: &[&str] = &[
    "admin_port",
    "basedir",
    "bind_address",
    "character_sets_dir",
    "datadir",
    "general_log_file",
    "hostname",
    "identity",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_temp_tablespaces_dir",
    "innodb_tmpdir",
    "innodb_undo_directory",
    "insert_id",
    "last_gtid",
    "last_insert_id",
    "lc_messages_dir",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "mysqlx_port",
    "mysqlx_socket",
    "pid_file",
    "plugin_dir",
    "port",
    "proxy_user",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "relay_log",
    "relay_log_basename",
    "relay_log_index",
    "report_host",
    "report_port",
    "secure_file_priv",
    "server_id",
    "server_uid",
    "server_uuid",
    "slave_load_tmpdir",
    "replica_load_tmpdir",
    "slow_query_log_file",
    "socket",
    "ssl_ca",
    "ssl_cert",
    "ssl_key",
    "statement_id",
    "timestamp",
    "tls_ca",
    "tmpdir",
    "version",
    "version_comment",
    "version_compile_machine",
    "version_compile_os",
    "version_source_revision",
    "version_ssl_library",
    "wsrep_node_name",
];
/// Beginnings of such variables.
const VOLATILE_BEGINNINGS: &[&str] = &["gtid_", "caching_sha2_password_private", "sha256_password"];
/// What the machine's facts hold that decides; memory apart, which differs by a few pages.
const MACHINE: &[&str] = &["cpu", "cpus", "kernel", "machine"];

/// Origins that mean that nobody set a variable: it follows from something else.
const NOT_SET: &[&str] = &["compile-time", "compiled", "auto"];

/// Whether a variable says nothing about how a server performs.
fn is_volatile(name: &str) -> bool {
    VOLATILE.contains(&name) || VOLATILE_BEGINNINGS.iter().any(|begin| name.starts_with(begin))
}

/// What each variant of a run changes against the first, as its plan asked.
pub(in crate::analysis) fn variant_differences(
    run: &RunRecord,
    variants: &[&str],
) -> Vec<SetupDifference> {
    let Some((base, others)) = variants.split_first() else { return Vec::new() };
    let first = |variant: &str| run.trials.iter().find(|t| t.variant == variant);
    let Some(base_trial) = first(base) else { return Vec::new() };
    let mut found = Vec::new();
    for variant in others {
        let Some(trial) = first(variant) else { continue };
        let push = |kind, name: &str, base: String, other: String| SetupDifference {
            kind,
            name: name.to_owned(),
            variant: (*variant).to_owned(),
            base,
            other,
            intended: true,
            is_derived: false,
        };
        for name in all_keys(&base_trial.settings, &trial.settings) {
            let value = |trial: &Trial| match trial.settings.get(name) {
                Some(value) => value.clone(),
                None => counters::server_variable(run, name).unwrap_or(NONE).to_owned(),
            };
            let (base, other) = (value(base_trial), value(trial));
            if base != other {
                found.push(push(DifferenceKind::Setting, name, base, other));
            }
        }
        for (name, of) in LOAD {
            if of(base_trial) != of(trial) {
                found.push(push(DifferenceKind::Load, name, of(base_trial), of(trial)));
            }
        }
        let (before, after) = (warming_strategies(run, base), warming_strategies(run, variant));
        if before != after {
            found.push(push(DifferenceKind::Warming, "warm", before, after));
        }
    }
    found
}

/// Parts of a load, as text.
type LoadPart = (&'static str, fn(&Trial) -> String);

const LOAD: &[LoadPart] =
    &[("workers", |t| t.workers.to_string()), ("arrival", |t| t.arrival.text.clone())];

/// What warmed a variant.
fn warming_strategies(run: &RunRecord, variant: &str) -> String {
    let steps = run.steps.iter().filter(|s| s.variant == variant);
    let strategies: BTreeSet<&str> =
        steps.filter_map(|s| Some(s.warmed.as_ref()?.strategy.as_str())).collect();
    if strategies.is_empty() {
        return NONE.to_owned();
    }
    strategies.into_iter().collect::<Vec<_>>().join(", ")
}

fn all_keys<'a, V>(a: &'a BTreeMap<String, V>, b: &'a BTreeMap<String, V>) -> BTreeSet<&'a String> {
    a.keys().chain(b.keys()).collect()
}

/// What is not the same in two runs. Nobody asked for it, as they were not planned together.
pub(in crate::analysis) fn run_differences(
    base: &RunRecord,
    other: &RunRecord,
) -> Vec<SetupDifference> {
    let mut found = Vec::new();
    let mut push = |kind: DifferenceKind, name: &str, base: String, other: String| {
        if base != other {
            let (name, variant, intended) = (name.to_owned(), String::new(), false);
            let is_derived = false;
            found.push(SetupDifference { kind, name, variant, base, other, intended, is_derived });
        }
    };
    let tool = |run: &RunRecord| run.meta.tool_version.clone();
    push(DifferenceKind::Tool, "sweat", tool(base), tool(other));
    for (name, of) in SERVER {
        push(DifferenceKind::Server, name, of(base), of(other));
    }
    for name in MACHINE {
        let fact = |run: &RunRecord| run.meta.host.get(*name).cloned().unwrap_or_default();
        push(DifferenceKind::Machine, name, fact(base), fact(other));
    }
    let memory = |run: &RunRecord| run.meta.host.get("memory_bytes")?.parse::<f64>().ok();
    push_size_difference(
        DifferenceKind::Machine,
        "memory",
        memory(base),
        memory(other),
        format_bytes,
        &mut push,
    );
    for (name, of) in WORKLOAD {
        push(DifferenceKind::Workload, name, of(base), of(other));
    }
    let options =
        |run: &RunRecord| run.trials.first().map(|t| t.options.clone()).unwrap_or_default();
    let (ours, theirs) = (options(base), options(other));
    for name in all_keys(&ours, &theirs) {
        let value = |options: &BTreeMap<String, String>| {
            options.get(name).map_or_else(|| NONE.to_owned(), |v| without_folder(v))
        };
        push(DifferenceKind::Workload, name, value(&ours), value(&theirs));
    }
    for (name, of) in LOAD {
        let all = |run: &RunRecord| run.trials.first().map(of).unwrap_or_default();
        push(DifferenceKind::Load, name, all(base), all(other));
    }
    let seconds =
        |run: &RunRecord| run.trials.first().map(|t| t.ended_ns.saturating_sub(t.began_ns));
    let length = |run: &RunRecord| seconds(run).map(|ns| ns as f64 / 1e9);
    if !is_near(length(base), length(other), SAME_LENGTH) {
        let text = |run| {
            length(run).map_or_else(|| NONE.to_owned(), |s| format!("{} s", format_number(s)))
        };
        push(DifferenceKind::Length, "seconds", text(base), text(other));
    }
    for (name, fact, format) in [
        ("bytes", "data_bytes", format_bytes as fn(f64) -> String),
        ("rows", "rows", format_number as fn(f64) -> String),
    ] {
        let (ours, theirs) = (run_fact(base, fact), run_fact(other, fact));
        push_size_difference(DifferenceKind::Data, name, ours, theirs, format, &mut push);
    }
    found.extend(setting_differences(&base.variables, &other.variables));
    // What follows from something else comes last.
    found.sort_by_key(|difference| !is_factor(difference));
    found
}

fn run_fact(run: &RunRecord, name: &str) -> Option<f64> {
    counters::numeric_fact(run, name)
}

fn is_near(a: Option<f64>, b: Option<f64>, share: f64) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= share * a.max(b),
        (a, b) => a == b,
    }
}

/// A size, where both know it or one does not.
fn push_size_difference(
    kind: DifferenceKind,
    name: &str,
    base: Option<f64>,
    other: Option<f64>,
    words: fn(f64) -> String,
    push: &mut impl FnMut(DifferenceKind, &str, String, String),
) {
    if !is_near(base, other, SAME_SIZE) {
        let text = |v: Option<f64>| v.map_or_else(|| NONE.to_owned(), words);
        push(kind, name, text(base), text(other));
    }
}

/// A path without its folder: where a file lies does not matter.
fn without_folder(value: &str) -> String {
    value.rsplit('/').next().unwrap_or(value).to_owned()
}

/// Parts of a run, as text.
type RunPart = (&'static str, fn(&RunRecord) -> String);

/// How the server was reached.
const CONNECTION: &str = "connection";
/// The server's version.
pub(in crate::analysis) const VERSION: &str = "version";

const SERVER: &[RunPart] = &[
    ("product", |r| r.meta.server.as_ref().map_or_else(String::new, |s| s.product.clone())),
    (VERSION, |r| r.meta.server.as_ref().map_or_else(String::new, |s| s.version.clone())),
    (CONNECTION, |r| r.meta.server.as_ref().map_or_else(String::new, connection_text)),
];

const WORKLOAD: &[RunPart] = &[
    ("kind", |r| r.trials.first().map_or_else(String::new, |t| t.workload.clone())),
    ("classes", |r| r.trials.first().map_or_else(String::new, |t| t.classes.join(", "))),
];

/// How the server was reached, without where.
fn connection_text(server: &crate::archive::ServerRecord) -> String {
    let variant = server.address.split(' ').next().unwrap_or_default();
    let place = if server.local { "same machine" } else { "another machine" };
    let tls = if server.cipher.is_some() { ", TLS" } else { "" };
    format!("{variant}, {place}{tls}")
}

/// Variables with their origins.
fn setting_differences(base: &[VariableRecord], other: &[VariableRecord]) -> Vec<SetupDifference> {
    if base.is_empty() || other.is_empty() {
        return Vec::new();
    }
    let by_name = |all: &[VariableRecord]| -> BTreeMap<String, VariableRecord> {
        all.iter().map(|v| (v.name.to_lowercase(), v.clone())).collect()
    };
    let (ours, theirs) = (by_name(base), by_name(other));
    let mut found = Vec::new();
    for name in all_keys(&ours, &theirs) {
        let value = |of: &BTreeMap<String, VariableRecord>| of.get(name).map(|v| v.start.clone());
        let is_path = |value: Option<String>| value.is_some_and(|text| text.starts_with('/'));
        let both_paths = is_path(value(&ours)) && is_path(value(&theirs));
        if both_paths || is_volatile(name) || value(&ours) == value(&theirs) {
            continue;
        }
        let text = |of: &BTreeMap<String, VariableRecord>| match of.get(name) {
            Some(VariableRecord { start, origin: Some(origin), .. }) => {
                format!("{start} ({})", origin.to_lowercase().replace('_', "-"))
            }
            Some(VariableRecord { start, .. }) => start.clone(),
            None => NONE.to_owned(),
        };
        let is_set = |of: &BTreeMap<String, VariableRecord>| {
            of.get(name).is_some_and(|v| !v.origin.as_deref().is_some_and(is_default_origin))
        };
        found.push(SetupDifference {
            kind: DifferenceKind::Setting,
            name: name.clone(),
            variant: String::new(),
            base: text(&ours),
            other: text(&theirs),
            intended: false,
            is_derived: !is_set(&ours) && !is_set(&theirs),
        });
    }
    found
}

fn is_default_origin(origin: &str) -> bool {
    NOT_SET.contains(&origin.to_lowercase().replace('_', "-").as_str())
}

/// Whether somebody made this difference, as far as one can see.
pub(in crate::analysis) fn is_factor(difference: &SetupDifference) -> bool {
    !difference.is_derived && difference.kind != DifferenceKind::Length
}

/// What differs, each cause once: another version of the server brings other defaults, another machine is one machine.
pub(in crate::analysis) fn differing_factors(differences: &[SetupDifference]) -> Vec<String> {
    let mut factors: Vec<String> = Vec::new();
    for difference in differences.iter().filter(|d| is_factor(d)) {
        let factor = match difference.kind {
            DifferenceKind::Setting => difference.name.clone(),
            DifferenceKind::Server if difference.name == CONNECTION => "the connection".to_owned(),
            DifferenceKind::Server => "the server's version".to_owned(),
            kind => format!("the {}", kind.as_str()),
        };
        if !factors.contains(&factor) {
            factors.push(factor);
        }
    }
    factors
}
