//! From a plan to TOML, without passwords.

use std::path::PathBuf;
use std::time::Duration;

use toml::{Table, Value};

use super::{CONSENT, ENGINES, PROTOCOLS, SSL_MODES, arrival_word, word};
use crate::base::units::show_time;
use crate::plan::{
    AddressPlan, ArrivalPlan, LoadPlan, Options, Plan, SandboxPlan, TargetPlan, WayPlan,
};

/// Writes a plan so that `read` gives it again, except for its password, which is left out.
pub fn write(plan: &Plan) -> String {
    let mut root = Lines::default();
    root.text("name", Some(&plan.name));
    root.text("runs-dir", Some(&plan.runs_dir.display().to_string()));
    // TOML's integers have a sign; a seed beyond them is written as text, which `read` takes too.
    match i64::try_from(plan.seed) {
        Ok(seed) => root.put("seed", seed),
        Err(_) => root.text("seed", Some(&plan.seed.to_string())),
    }
    root.text("question", plan.question.as_deref());
    root.put("prepare", plan.prepare);
    root.text("reset", Some(plan.reset.word()));
    root.put("cold", plan.cold);
    root.time("settle", plan.settle);
    root.put("passes", i64::from(plan.passes.max(1)));
    root.put("blocks", i64::from(plan.blocks.max(1)));
    if let Some(most) = plan.until_clear {
        root.put("until-clear", i64::from(most));
    }
    root.text("order", Some(plan.order.word()));
    root.texts("checks", plan.checks.iter());
    // What was allowed by word of mouth is not allowed the next time.
    root.texts("allow", plan.allow.iter().filter(|word| !CONSENT.contains(&word.as_str())));
    root.text("waits", plan.waits.as_deref());
    let mut decide = Lines::default();
    decide.text("metric", Some(&plan.decide.metric));
    decide.put("margin", plan.decide.margin);
    root.put("decide", decide.0);
    match &plan.target {
        TargetPlan::None => {}
        TargetPlan::Address(address) => root.put("target", write_address(address)),
        TargetPlan::Sandbox(sandbox) => root.put("sandbox", write_sandbox(sandbox)),
    }
    let mut workload = Lines::default();
    workload.text("kind", Some(&plan.workload.kind));
    workload.put("options", write_options(&plan.workload.options));
    root.put("workload", workload.0);
    root.put("load", write_load(&plan.load));
    match &plan.sweep {
        None => root.put("way", plan.ways.iter().map(write_way).collect::<Vec<_>>()),
        Some(sweep) => {
            root.put("way", vec![write_way(&sweep.template(&plan.ways))]);
            let mut lines = Lines::default();
            lines.text("axis", Some(&sweep.axis));
            lines.put("values", sweep.texts());
            root.put("sweep", lines.0);
        }
    }
    if let Some(capacity) = &plan.capacity {
        let mut lines = Lines::default();
        let objectives: Vec<String> = capacity.objectives.iter().map(ToString::to_string).collect();
        lines.texts("slo", objectives.iter());
        lines.time("settle", Some(capacity.settle));
        lines.time("step-time", Some(capacity.step_time));
        lines.time("confirm", Some(capacity.confirm));
        root.put("capacity", lines.0);
    }
    let mut probes = Lines::default();
    probes.put("names", plan.probes.names.clone());
    probes.time("interval", Some(plan.probes.interval));
    root.put("probes", probes.0);
    root.0.to_string()
}

/// A table that grows.
#[derive(Default)]
struct Lines(Table);

impl Lines {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }
    fn text(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }
    fn texts<'a>(&mut self, key: &str, values: impl Iterator<Item = &'a String>) {
        let values: Vec<Value> = values.map(|text| Value::from(text.as_str())).collect();
        if !values.is_empty() {
            self.put(key, values);
        }
    }
    fn path(&mut self, key: &str, value: Option<&PathBuf>) {
        self.text(key, value.map(|p| p.display().to_string()).as_deref());
    }
    fn time(&mut self, key: &str, value: Option<Duration>) {
        self.text(key, value.map(show_time).as_deref());
    }
    fn flag(&mut self, key: &str, on: bool) {
        if on {
            self.put(key, true);
        }
    }
}

fn write_address(address: &AddressPlan) -> Table {
    let mut lines = Lines::default();
    lines.text("host", address.host.as_deref());
    if let Some(port) = address.port {
        lines.put("port", i64::from(port));
    }
    lines.path("socket", address.socket.as_ref());
    lines.text("protocol", address.protocol.map(|p| word(PROTOCOLS, &p)));
    lines.text("user", address.user.as_deref());
    lines.text("database", address.database.as_deref());
    lines.text("ssl-mode", address.ssl.mode.map(|m| word(SSL_MODES, &m)));
    lines.path("ssl-ca", address.ssl.ca.as_ref());
    lines.path("ssl-capath", address.ssl.capath.as_ref());
    lines.path("ssl-cert", address.ssl.cert.as_ref());
    lines.path("ssl-key", address.ssl.key.as_ref());
    lines.time("connect-timeout", address.connect_timeout);
    lines.time("control-timeout", address.control_timeout);
    lines.flag("get-server-public-key", address.get_server_public_key);
    lines.path("server-public-key-path", address.server_public_key_path.as_ref());
    lines.flag("enable-cleartext-plugin", address.enable_cleartext_plugin);
    lines.0
}

fn write_sandbox(sandbox: &SandboxPlan) -> Table {
    let mut lines = Lines::default();
    lines.path("server", sandbox.server.as_ref());
    lines.text("pool", sandbox.pool.map(|p| p.to_string()).as_deref());
    lines.flag("tcp", sandbox.tcp);
    lines.put("set", write_settings(&sandbox.settings));
    lines.0
}

fn write_settings(settings: &[(String, String)]) -> Table {
    settings.iter().map(|(k, v)| (k.clone(), Value::from(v.as_str()))).collect()
}

fn write_options(options: &Options) -> Table {
    options.iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
}

fn write_load(load: &LoadPlan) -> Table {
    let mut lines = Lines::default();
    lines.put("workers", i64::try_from(load.workers).unwrap_or(i64::MAX));
    lines.text("arrival", Some(arrival_word(&load.arrival)));
    match load.arrival {
        ArrivalPlan::Closed { think } => lines.time("think", Some(think)),
        ArrivalPlan::Constant { per_second } | ArrivalPlan::Poisson { per_second } => {
            lines.put("rate", per_second);
        }
    }
    lines.time("time", load.time);
    if let Some(events) = load.events {
        lines.put("events", i64::try_from(events).unwrap_or(i64::MAX));
    }
    lines.time("interval", Some(load.interval));
    lines.text("engine", Some(word(ENGINES, &load.engine)));
    lines.put("reconnect", load.reconnect);
    lines.time("grace", Some(load.grace));
    lines.put("precise", load.precise);
    lines.flag("until-steady", load.until_steady);
    lines.0
}

fn write_way(way: &WayPlan) -> Table {
    let mut lines = Lines::default();
    lines.text("name", Some(&way.name));
    if !way.settings.is_empty() {
        lines.put("set", write_settings(&way.settings));
    }
    if let Some(workers) = way.workers {
        lines.put("workers", i64::try_from(workers).unwrap_or(i64::MAX));
    }
    if let Some(rate) = way.per_second {
        lines.put("rate", rate);
    }
    if let Some(value) = way.value {
        lines.put("value", value);
    }
    lines.put("dump-after", way.dump_after);
    let warm = way.warm.iter().map(|warm| {
        let mut lines = Lines::default();
        lines.text("strategy", Some(&warm.strategy));
        lines.put("options", write_options(&warm.options));
        lines.0
    });
    lines.put("warm", warm.collect::<Vec<_>>());
    lines.0
}
