//! From TOML to a plan.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeTable;

use super::capacity::read_capacity;
use super::document::{MistakeCollector, PlanSection};
use super::variants::read_variants;
use super::{ARRIVALS, CONSENT, ENGINES, ORDERS, PROTOCOLS, RESETS, SSL_MODES};
use crate::plan::{
    AddressPlan, ArrivalPlan, ArrivalSpacing, DEFAULT_RUNS_DIR, DecidePlan, IsolatePlan,
    LONGEST_UNTIL_STEADY, LoadPlan, LoadShare, MOST_WORKERS, Mistake, OptionSpec, Options, Plan,
    ProbePlan, RateStages, ResetPlan, SandboxPlan, SslPlan, TargetPlan, WorkloadPlan,
    nearest_or_all,
};

/// Shortest and longest interval of a load or a probe.
const INTERVALS: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(3600);

/// The plugins there are, since a plan knows none: names, and the options of each.
#[derive(Clone, Debug, Default)]
pub struct KnownPlugins {
    /// Workloads.
    pub workloads: Vec<(&'static str, Vec<OptionSpec>)>,
    /// Warm strategies.
    pub strategies: Vec<(&'static str, Vec<OptionSpec>)>,
    /// Probes.
    pub probes: Vec<&'static str>,
    /// Metrics that may decide.
    pub metrics: Vec<&'static str>,
    /// Options of a workload that are known only once some were given; see [`DeclareOptions`].
    pub declare: Option<DeclareOptions>,
}

/// All options of the workload of this name, once these are given: a script that is named among them may declare more.
pub type DeclareOptions = fn(&str, &[(String, String)]) -> Result<Vec<OptionSpec>, Mistake>;

/// Reads a plan.
///
/// # Errors
/// All mistakes together, in the order of the text, each with its line.
pub fn from_toml(text: &str, known: &KnownPlugins) -> Result<Plan, Vec<Mistake>> {
    let complaints = MistakeCollector::new(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().map_or(0, |s| s.start);
        complaints.add_mistake(at, "", error.message().trim().to_owned(), None);
    }
    // What is missing or not known in a text that is no TOML may be there all the same.
    if complaints.has_mistakes() {
        return Err(complaints.into_mistakes());
    }
    let mut plan = read_plan(&PlanSection::from_root(&complaints, document.get_ref()), known);
    plan.notes = complaints.take_notes();
    let mistakes = complaints.into_mistakes();
    if mistakes.is_empty() { Ok(plan) } else { Err(mistakes) }
}

fn read_plan(root: &PlanSection<'_>, known: &KnownPlugins) -> Plan {
    let workload = root.read_section("workload");
    let load = root.read_section("load");
    let probes = root.read_section("probes");
    let decide = root.read_section("decide");
    let (sweep, variants) = read_variants(root, known);
    let mut plan = Plan {
        notes: Vec::new(),
        name: root.read_text("name").unwrap_or_else(|| "bench".to_owned()),
        question: root.read_text("question"),
        seed: root.read_count("seed", 0, u64::MAX).unwrap_or(0),
        target: read_target(root),
        workload: read_workload(&workload, known),
        load: read_load(&load),
        prepare: root.read_switch("prepare").unwrap_or(false),
        check_data: root.read_switch("check-data"),
        reset: root.read_choice("reset", RESETS).unwrap_or_default(),
        cold: root.read_switch("cold").unwrap_or(false),
        settle: root.read_time("settle"),
        warmup: root.read_time("warmup").filter(|time| !time.is_zero()),
        variants,
        sweep,
        capacity: read_capacity(root),
        isolate: read_isolate(root),
        passes: root.read_count("passes", 1, 1000).map_or(1, |n| n as u32),
        blocks: root.read_count("blocks", 1, MOST_BLOCKS).map_or(1, |n| n as u32),
        until_clear: root.read_count("until-clear", 1, MOST_BLOCKS).map(|n| n as u32),
        order: root.read_choice("order", ORDERS).unwrap_or_default(),
        decide: read_decide(&decide, known),
        checks: root.read_texts("checks").unwrap_or_default(),
        allow: root.read_texts("allow").unwrap_or_default(),
        waits: root.read_text("waits"),
        probes: read_probes(&probes, known),
        runs_dir: root.read_text("runs-dir").unwrap_or_else(|| DEFAULT_RUNS_DIR.to_owned()).into(),
    };
    check_combinations(root, &mut plan);
    [&workload, &load, &probes, &decide, root]
        .into_iter()
        .for_each(PlanSection::check_unknown_keys);
    plan
}

/// Most blocks of an experiment.
const MOST_BLOCKS: u64 = 10_000;

/// What makes no sense together.
fn check_combinations(root: &PlanSection<'_>, plan: &mut Plan) {
    let complain = |key, why: &str, hint: &str| root.add_mistake(key, why, Some(hint.to_owned()));
    if plan.until_clear.is_some_and(|most| most <= plan.blocks) {
        complain("until-clear", "it is not more than blocks", "the most blocks there may be");
    }
    if plan.until_clear.is_some() && plan.variants.len() < 2 {
        complain("until-clear", "there is nothing to compare", "name two variants, or a sweep");
    }
    let is_compared = plan.variants.len() > 1 || plan.sweep.is_some() || plan.capacity.is_some();
    if plan.isolate.is_some() && is_compared {
        let hint = "leave it out, or keep one variant";
        complain("isolate", "classes run alone only beside one plain load", hint);
    }
    if plan.load.arrival.stages().is_some() {
        if plan.capacity.is_some() {
            complain("capacity", "the search sets the rate itself", "leave out load.stages");
        }
        if plan.variants.iter().any(|variant| variant.per_second.is_some()) {
            let place = if plan.sweep.is_some() { "sweep" } else { "variant" };
            complain(place, "both a rate and load.stages", "leave out one of them");
        }
    }
    for word in plan.allow.iter().filter(|word| CONSENT.contains(&word.as_str())) {
        let hint = format!("leave it out, and type --allow {word} where you run the plan");
        root.add_mistake("allow", "consent can't be given in a file", Some(hint));
    }
    // As it stands in a plan: whose file is read on a server that is not ours is known only later.
    if matches!(plan.target, TargetPlan::Address(_)) {
        if plan.cold {
            complain("cold", "sweat restarts only servers that it started", "use [sandbox]");
        }
        if plan.reset == ResetPlan::Snapshot {
            complain("reset", "sweat stops only servers that it started", "use [sandbox]");
        }
    }
}

fn read_isolate(root: &PlanSection<'_>) -> Option<IsolatePlan> {
    let section = root.read_section("isolate");
    let (least, most) = (IsolatePlan::LEAST_ROUNDS, IsolatePlan::MOST_ROUNDS);
    let default = IsolatePlan::default();
    let rounds = section.read_count("rounds", least, most).map_or(default.rounds, |n| n as u32);
    let time = section.read_time("time").unwrap_or(default.time);
    if time < IsolatePlan::LEAST_TIME {
        section.add_mistake("time", "it is too short", Some("at least 200ms".to_owned()));
    }
    section.check_unknown_keys();
    section.is_present().then_some(IsolatePlan { rounds, time })
}

fn read_decide(section: &PlanSection<'_>, known: &KnownPlugins) -> DecidePlan {
    let default = DecidePlan::default();
    let words: Vec<(&str, &str)> = known.metrics.iter().map(|m| (*m, *m)).collect();
    let metric = section.read_choice("metric", &words).unwrap_or(&default.metric).to_owned();
    let margin = section.read_number("margin").unwrap_or(default.margin);
    if !(0.0..1.0).contains(&margin) {
        let hint = "a share, as in 0.02 for 2 %";
        section.add_mistake("margin", "it is out of range", Some(hint.to_owned()));
    }
    DecidePlan { metric, margin }
}

fn read_target(root: &PlanSection<'_>) -> TargetPlan {
    let (target, sandbox) = (root.read_section("target"), root.read_section("sandbox"));
    let plan = match (target.is_present(), sandbox.is_present()) {
        (true, true) => {
            root.add_mistake("sandbox", "both [target] and [sandbox]", Some("keep one".to_owned()));
            TargetPlan::None
        }
        (true, false) => TargetPlan::Address(read_address(&target)),
        (false, true) => TargetPlan::Sandbox(read_sandbox(&sandbox)),
        (false, false) => TargetPlan::None,
    };
    if !(target.is_present() && sandbox.is_present()) {
        target.check_unknown_keys();
        sandbox.check_unknown_keys();
    }
    plan
}

fn read_address(section: &PlanSection<'_>) -> AddressPlan {
    if section.read_text("password").is_some() {
        let hint = "leave it out, and give it as -p, in MYSQL_PWD or in an option file";
        section.add_mistake(
            "password",
            "a password doesn't belong in a plan",
            Some(hint.to_owned()),
        );
    }
    let path = |key| section.read_text(key).map(PathBuf::from);
    AddressPlan {
        host: section.read_text("host"),
        port: section.read_count("port", 1, 65_535).map(|n| n as u16),
        socket: path("socket"),
        protocol: section.read_choice("protocol", PROTOCOLS),
        user: section.read_text("user"),
        password: None,
        database: section.read_text("database"),
        ssl: SslPlan {
            mode: section.read_choice("ssl-mode", SSL_MODES),
            ca: path("ssl-ca"),
            capath: path("ssl-capath"),
            cert: path("ssl-cert"),
            key: path("ssl-key"),
        },
        connect_timeout: section.read_time("connect-timeout"),
        control_timeout: section.read_time("control-timeout"),
        get_server_public_key: section.read_switch("get-server-public-key").unwrap_or(false),
        server_public_key_path: path("server-public-key-path"),
        enable_cleartext_plugin: section.read_switch("enable-cleartext-plugin").unwrap_or(false),
        // A list of hosts is taken apart where the option files are read, which may know an account for each.
        others: Vec::new(),
    }
}

fn read_sandbox(section: &PlanSection<'_>) -> SandboxPlan {
    SandboxPlan {
        server: section.read_text("server").map(PathBuf::from),
        settings: section
            .read_section("set")
            .read_pairs()
            .into_iter()
            .map(|(k, v, _)| (k, v))
            .collect(),
        pool: section.read_size("pool"),
        tcp: section.read_switch("tcp").unwrap_or(false),
    }
}

fn read_workload(section: &PlanSection<'_>, known: &KnownPlugins) -> WorkloadPlan {
    let Some(kind) = section.read_text("kind") else {
        section.read_section("options");
        section.add_mistake("kind", "no workload is named", Some(plugin_names(&known.workloads)));
        return WorkloadPlan::default();
    };
    let options = read_options(section, "kind", &kind, (&known.workloads, known.declare));
    WorkloadPlan { kind, options }
}

/// The options of a plugin, checked against its specs.
pub(super) fn read_options(
    section: &PlanSection<'_>,
    key: &'static str,
    name: &str,
    (known, declare): (&[(&'static str, Vec<OptionSpec>)], Option<DeclareOptions>),
) -> Options {
    let options = section.read_section("options");
    let Some((_, specs)) = known.iter().find(|(known, _)| *known == name) else {
        let hint = nearest_or_all(name, known.iter().map(|(known, _)| *known));
        section.add_mistake(key, &format!("`{name}` is not known"), Some(hint));
        return Options::default();
    };
    let pairs = options.read_pairs();
    let given: Vec<_> = pairs.iter().map(|(k, v, _)| (k.clone(), v.clone())).collect();
    let declared = declare.map_or_else(|| Ok(specs.clone()), |declare| declare(name, &given));
    let specs = declared.unwrap_or_else(|mistake| {
        section.add_mistake(key, &mistake.why, mistake.hint);
        specs.clone()
    });
    Options::from_given(&specs, &given).unwrap_or_else(|mistakes| {
        options.add_pair_mistakes(&pairs, mistakes);
        Options::default()
    })
}

fn plugin_names(known: &[(&'static str, Vec<OptionSpec>)]) -> String {
    known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

fn read_load(section: &PlanSection<'_>) -> LoadPlan {
    let default = LoadPlan::default();
    let until_steady = section.read_switch("until-steady").unwrap_or(default.until_steady);
    let events = section.read_count("events", 0, u64::MAX).filter(|n| *n > 0);
    let longest = || (until_steady && events.is_none()).then_some(LONGEST_UNTIL_STEADY);
    let arrival = read_arrival(section);
    let told_time = section.read_time("time");
    if arrival.stages().is_some() {
        if told_time.is_some() {
            let hint = "leave it out; the load lasts as long as its stages";
            section.add_mistake(
                "time",
                "the stages have times of their own",
                Some(hint.to_owned()),
            );
        }
        if until_steady {
            let hint = "leave it out, or give a rate instead of stages";
            section.add_mistake(
                "until-steady",
                "a changing rate has no steady state",
                Some(hint.to_owned()),
            );
        }
    }
    let of_stages = arrival.stages().map(RateStages::total_time);
    let time = of_stages.or(told_time).or_else(longest).filter(|t| !t.is_zero());
    LoadPlan {
        workers: section
            .read_count("workers", 1, MOST_WORKERS)
            .map_or(default.workers, |n| n as usize),
        arrival,
        jitter: default.jitter,
        time,
        events,
        interval: read_interval(section).unwrap_or(default.interval),
        engine: section.read_choice("engine", ENGINES).unwrap_or_default(),
        reconnect: section.read_switch("reconnect").unwrap_or(default.reconnect),
        grace: section.read_time("grace").unwrap_or(default.grace),
        precise: section.read_switch("precise").unwrap_or(default.precise),
        all_sessions: default.all_sessions,
        until_steady,
        share: read_share(section),
        start_at_unix_ns: default.start_at_unix_ns,
        start_signal: default.start_signal,
        only_class: None,
    }
}

fn read_share(section: &PlanSection<'_>) -> Option<LoadShare> {
    match LoadShare::parse(&section.read_text("share")?) {
        Ok(share) => Some(share),
        Err(why) => {
            let hint = "as in \"2/3\", the second of three equal shares";
            section.add_mistake("share", &why, Some(hint.to_owned()));
            None
        }
    }
}

fn read_interval(section: &PlanSection<'_>) -> Option<Duration> {
    let time = section.read_time("interval")?;
    if !INTERVALS.contains(&time) {
        let hint = "10ms to 1h";
        section.add_mistake("interval", "it is out of range", Some(hint.to_owned()));
    }
    Some(time)
}

fn read_arrival(section: &PlanSection<'_>) -> ArrivalPlan {
    let words: Vec<(&str, &str)> = ARRIVALS.iter().map(|w| (*w, *w)).collect();
    let kind = section.read_choice("arrival", &words);
    let think = section.read_time("think");
    let rate = section.read_rate("rate");
    if let Some(text) = section.read_text_list("stages") {
        return read_stages(section, &text, kind, think.is_some(), rate.is_some());
    }
    let (kind, per_second) = match (kind, rate) {
        (None | Some("closed"), None) => {
            return ArrivalPlan::Closed { think: think.unwrap_or_default() };
        }
        (Some("closed"), Some(_)) => {
            let hint = "leave it out, or use arrival = \"poisson\"";
            section.add_mistake("rate", "a closed loop has no rate", Some(hint.to_owned()));
            return ArrivalPlan::default();
        }
        (Some(_), None) => {
            let hint = "add rate = 1000, in events per second";
            section.add_mistake("arrival", "an open loop needs a rate", Some(hint.to_owned()));
            return ArrivalPlan::default();
        }
        (kind, Some(rate)) => (kind, rate),
    };
    if think.is_some() {
        let hint = "leave out think, or rate";
        section.add_mistake("think", "only a closed loop has think time", Some(hint.to_owned()));
    }
    match kind {
        Some("constant") => ArrivalPlan::Constant { per_second },
        _ => ArrivalPlan::Poisson { per_second },
    }
}

fn read_stages(
    section: &PlanSection<'_>,
    text: &str,
    kind: Option<&str>,
    has_think: bool,
    has_rate: bool,
) -> ArrivalPlan {
    let complain =
        |key, why: &str, hint: &str| section.add_mistake(key, why, Some(hint.to_owned()));
    if has_rate {
        complain("rate", "both a rate and stages", "keep one");
    }
    if has_think {
        complain("think", "only a closed loop has think time", "leave out think, or stages");
    }
    let spacing = match kind {
        Some("closed") => {
            complain("arrival", "a closed loop has no stages", "poisson or constant");
            return ArrivalPlan::default();
        }
        Some("constant") => ArrivalSpacing::Constant,
        _ => ArrivalSpacing::Poisson,
    };
    match RateStages::parse(text) {
        Ok(stages) => ArrivalPlan::Stages { stages, spacing },
        Err(wrong) => {
            let hint = "as in stages = \"10s:0..500, 1m:500, 10s:500..0\"";
            wrong.iter().for_each(|why| complain("stages", why, hint));
            ArrivalPlan::default()
        }
    }
}

fn read_probes(section: &PlanSection<'_>, known: &KnownPlugins) -> ProbePlan {
    let names = section.read_texts("names").unwrap_or_default();
    for name in names.iter().filter(|n| !known.probes.contains(&n.as_str())) {
        let hint = nearest_or_all(name, known.probes.iter().copied());
        section.add_mistake("names", &format!("`{name}` is not known"), Some(hint));
    }
    let interval = read_interval(section).unwrap_or(ProbePlan::default().interval);
    ProbePlan { names, interval }
}
