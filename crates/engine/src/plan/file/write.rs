//! From a plan to TOML, without passwords.

use std::path::PathBuf;
use std::time::Duration;

use toml::{Table, Value};

use super::{CONSENT, ENGINES, PROTOCOLS, SSL_MODES, arrival_word, find_word};
use crate::base::units::show_time;
use crate::plan::{
    AddressPlan, ArrivalPlan, CapacityPlan, LoadPlan, LoadShare, Options, Plan, SandboxPlan,
    TargetPlan, VariantPlan,
};

/// Writes a plan so that `read` gives it again, except for its password, which is left out.
pub fn to_toml(plan: &Plan) -> String {
    let mut root = TableBuilder::default();
    root.insert_text("name", Some(&plan.name));
    root.insert_text("runs-dir", Some(&plan.runs_dir.display().to_string()));
    // TOML's integers have a sign; a seed beyond them is written as text, which `read` takes too.
    match i64::try_from(plan.seed) {
        Ok(seed) => root.insert_value("seed", seed),
        Err(_) => root.insert_text("seed", Some(&plan.seed.to_string())),
    }
    root.insert_text("question", plan.question.as_deref());
    root.insert_value("prepare", plan.prepare);
    if let Some(is_checked) = plan.check_data {
        root.insert_value("check-data", is_checked);
    }
    root.insert_text("reset", Some(plan.reset.as_str()));
    root.insert_value("cold", plan.cold);
    root.insert_time("settle", plan.settle);
    root.insert_time("warmup", plan.warmup);
    root.insert_value("passes", i64::from(plan.passes.max(1)));
    root.insert_value("blocks", i64::from(plan.blocks.max(1)));
    if let Some(most) = plan.until_clear {
        root.insert_value("until-clear", i64::from(most));
    }
    root.insert_text("order", Some(plan.order.as_str()));
    root.insert_texts("checks", plan.checks.iter());
    // What was allowed by word of mouth is not allowed the next time.
    root.insert_texts("allow", plan.allow.iter().filter(|word| !CONSENT.contains(&word.as_str())));
    root.insert_text("waits", plan.waits.as_deref());
    let mut decide = TableBuilder::default();
    decide.insert_text("metric", Some(&plan.decide.metric));
    decide.insert_value("margin", plan.decide.margin);
    root.insert_value("decide", decide.0);
    match &plan.target {
        TargetPlan::None => {}
        TargetPlan::Address(address) => root.insert_value("target", write_address(address)),
        TargetPlan::Sandbox(sandbox) => root.insert_value("sandbox", write_sandbox(sandbox)),
    }
    let mut workload = TableBuilder::default();
    workload.insert_text("kind", Some(&plan.workload.kind));
    workload.insert_value("options", write_options(&plan.workload.options));
    root.insert_value("workload", workload.0);
    root.insert_value("load", write_load(&plan.load));
    match &plan.sweep {
        None => root
            .insert_value("variant", plan.variants.iter().map(write_variant).collect::<Vec<_>>()),
        Some(sweep) => {
            root.insert_value(
                "variant",
                vec![write_variant(&sweep.variant_template(&plan.variants))],
            );
            let mut lines = TableBuilder::default();
            lines.insert_text("axis", Some(&sweep.axis));
            lines.insert_value("values", sweep.value_texts());
            root.insert_value("sweep", lines.0);
        }
    }
    if let Some(capacity) = &plan.capacity {
        root.insert_value("capacity", write_capacity(capacity));
    }
    if let Some(isolate) = plan.isolate {
        let mut lines = TableBuilder::default();
        lines.insert_value("rounds", i64::from(isolate.rounds));
        lines.insert_time("time", Some(isolate.time));
        root.insert_value("isolate", lines.0);
    }
    let mut probes = TableBuilder::default();
    probes.insert_value("names", plan.probes.names.clone());
    probes.insert_time("interval", Some(plan.probes.interval));
    root.insert_value("probes", probes.0);
    root.0.to_string()
}

fn write_capacity(capacity: &CapacityPlan) -> Table {
    let mut lines = TableBuilder::default();
    let objectives: Vec<String> = capacity.objectives.iter().map(ToString::to_string).collect();
    lines.insert_texts("slo", objectives.iter());
    lines.insert_text("search", capacity.quantity.as_deref());
    lines.insert_time("settle", Some(capacity.settle));
    lines.insert_time("step-time", Some(capacity.step_time));
    lines.insert_time("confirm", Some(capacity.confirm));
    lines.0
}

/// A table that grows.
#[derive(Default)]
struct TableBuilder(Table);

impl TableBuilder {
    fn insert_value(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }
    fn insert_text(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.insert_value(key, value);
        }
    }
    fn insert_texts<'a>(&mut self, key: &str, values: impl Iterator<Item = &'a String>) {
        let values: Vec<Value> = values.map(|text| Value::from(text.as_str())).collect();
        if !values.is_empty() {
            self.insert_value(key, values);
        }
    }
    fn insert_path(&mut self, key: &str, value: Option<&PathBuf>) {
        self.insert_text(key, value.map(|p| p.display().to_string()).as_deref());
    }
    fn insert_time(&mut self, key: &str, value: Option<Duration>) {
        self.insert_text(key, value.map(show_time).as_deref());
    }
    fn insert_flag(&mut self, key: &str, on: bool) {
        if on {
            self.insert_value(key, true);
        }
    }
}

fn write_address(address: &AddressPlan) -> Table {
    let mut lines = TableBuilder::default();
    lines.insert_text("host", address.host_text().as_deref());
    // A list names its ports itself.
    if let Some(port) = address.port.filter(|_| address.others.is_empty()) {
        lines.insert_value("port", i64::from(port));
    }
    lines.insert_path("socket", address.socket.as_ref());
    lines.insert_text("protocol", address.protocol.map(|p| find_word(PROTOCOLS, &p)));
    lines.insert_text("user", address.user.as_deref());
    lines.insert_text("database", address.database.as_deref());
    lines.insert_text("ssl-mode", address.ssl.mode.map(|m| find_word(SSL_MODES, &m)));
    lines.insert_path("ssl-ca", address.ssl.ca.as_ref());
    lines.insert_path("ssl-capath", address.ssl.capath.as_ref());
    lines.insert_path("ssl-cert", address.ssl.cert.as_ref());
    lines.insert_path("ssl-key", address.ssl.key.as_ref());
    lines.insert_time("connect-timeout", address.connect_timeout);
    lines.insert_time("control-timeout", address.control_timeout);
    lines.insert_flag("get-server-public-key", address.get_server_public_key);
    lines.insert_path("server-public-key-path", address.server_public_key_path.as_ref());
    lines.insert_flag("enable-cleartext-plugin", address.enable_cleartext_plugin);
    lines.0
}

fn write_sandbox(sandbox: &SandboxPlan) -> Table {
    let mut lines = TableBuilder::default();
    lines.insert_path("server", sandbox.server.as_ref());
    lines.insert_text("pool", sandbox.pool.map(|p| p.to_string()).as_deref());
    lines.insert_flag("tcp", sandbox.tcp);
    lines.insert_value("set", write_settings(&sandbox.settings));
    lines.0
}

fn write_settings(settings: &[(String, String)]) -> Table {
    settings.iter().map(|(k, v)| (k.clone(), Value::from(v.as_str()))).collect()
}

fn write_options(options: &Options) -> Table {
    options.iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
}

fn write_load(load: &LoadPlan) -> Table {
    let mut lines = TableBuilder::default();
    lines.insert_value("workers", i64::try_from(load.workers).unwrap_or(i64::MAX));
    lines.insert_text("arrival", Some(arrival_word(&load.arrival)));
    match &load.arrival {
        ArrivalPlan::Closed { think } => lines.insert_time("think", Some(*think)),
        ArrivalPlan::Constant { per_second } | ArrivalPlan::Poisson { per_second } => {
            lines.insert_value("rate", *per_second);
        }
        ArrivalPlan::Stages { stages, .. } => {
            lines.insert_text("stages", Some(&stages.to_string()));
        }
    }
    // Stages say it themselves.
    lines.insert_time("time", load.time.filter(|_| load.arrival.stages().is_none()));
    if let Some(events) = load.events {
        lines.insert_value("events", i64::try_from(events).unwrap_or(i64::MAX));
    }
    lines.insert_time("interval", Some(load.interval));
    lines.insert_text("engine", Some(find_word(ENGINES, &load.engine)));
    lines.insert_value("reconnect", load.reconnect);
    lines.insert_time("grace", Some(load.grace));
    lines.insert_value("precise", load.precise);
    lines.insert_flag("until-steady", load.until_steady);
    lines.insert_text("share", load.share.as_ref().map(LoadShare::to_string).as_deref());
    lines.0
}

fn write_variant(variant: &VariantPlan) -> Table {
    let mut lines = TableBuilder::default();
    lines.insert_text("name", Some(&variant.name));
    if !variant.settings.is_empty() {
        lines.insert_value("set", write_settings(&variant.settings));
    }
    if let Some(workers) = variant.workers {
        lines.insert_value("workers", i64::try_from(workers).unwrap_or(i64::MAX));
    }
    if let Some(rate) = variant.per_second {
        lines.insert_value("rate", rate);
    }
    if let Some(value) = variant.value {
        lines.insert_value("value", value);
    }
    lines.insert_value("dump-after", variant.dump_after);
    let warm = variant.warm.iter().map(|warm| {
        let mut lines = TableBuilder::default();
        lines.insert_text("strategy", Some(&warm.strategy));
        lines.insert_value("options", write_options(&warm.options));
        lines.0
    });
    lines.insert_value("warm", warm.collect::<Vec<_>>());
    lines.0
}
