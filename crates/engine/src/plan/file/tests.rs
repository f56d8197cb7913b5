//! Plans there and back, and all their mistakes.

use std::time::Duration;

use super::*;
use crate::base::Secret;
use crate::base::units::ByteSize;
use crate::plan::{
    AddressPlan, CapacityPlan, DecidePlan, LoadPlan, LoadShare, Mistake, Objective, OptionKind,
    OptionSpec, Options, Plan, SandboxPlan, SweepPlan, TargetPlan, VariantPlan, WarmPlan,
    WorkloadPlan,
};

fn known() -> KnownPlugins {
    let spec = |name, kind, default| OptionSpec::new(name, kind, default, "");
    KnownPlugins {
        workloads: vec![
            ("null", vec![]),
            ("oltp_read_only", vec![spec("tables", OptionKind::Count, "1")]),
        ],
        strategies: vec![("scan", vec![spec("chunk", OptionKind::Size, "")])],
        probes: vec!["status", "host"],
        metrics: vec!["events_per_s", "p50_s", "p99_s", "fsyncs"],
        declare: None,
    }
}

fn options(specs: &[OptionSpec], given: &[(&str, &str)]) -> Options {
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Options::from_given(specs, &given).unwrap()
}

fn full() -> Plan {
    let known = known();
    let warm = WarmPlan {
        strategy: "scan".to_owned(),
        options: options(&known.strategies[0].1, &[("chunk", "16M")]),
    };
    Plan {
        name: "demo".to_owned(),
        seed: u64::MAX,
        target: TargetPlan::Sandbox(SandboxPlan {
            pool: Some(ByteSize::Bytes(256 << 20)),
            settings: vec![("innodb_flush_method".to_owned(), "O_DIRECT".to_owned())],
            tcp: true,
            ..SandboxPlan::default()
        }),
        workload: WorkloadPlan {
            kind: "oltp_read_only".to_owned(),
            options: options(&known.workloads[1].1, &[("tables", "4")]),
        },
        load: LoadPlan {
            workers: 64,
            arrival: ArrivalPlan::Poisson { per_second: 1234.5 },
            time: Some(Duration::from_millis(1500)),
            events: Some(20_000),
            reconnect: true,
            engine: EnginePlan::Reactor,
            share: Some(LoadShare::parse("2/1:1:2").unwrap()),
            ..LoadPlan::default()
        },
        prepare: true,
        cold: true,
        passes: 2,
        variants: vec![
            VariantPlan { name: "none".to_owned(), dump_after: true, ..VariantPlan::default() },
            VariantPlan {
                name: "many".to_owned(),
                settings: vec![("innodb_io_capacity".to_owned(), "500".to_owned())],
                workers: Some(8),
                per_second: Some(250.5),
                value: Some(3.0),
                ..VariantPlan::default()
            },
            VariantPlan { name: "scan".to_owned(), warm: vec![warm], ..VariantPlan::default() },
        ],
        question: Some("does it help?".to_owned()),
        reset: ResetPlan::Snapshot,
        settle: Some(Duration::from_secs(30)),
        blocks: 6,
        until_clear: Some(20),
        order: OrderPlan::Shuffled,
        decide: DecidePlan { metric: "p99_s".to_owned(), margin: 0.05 },
        checks: vec!["p99_s<=0.02".to_owned()],
        allow: vec!["COLD-START".to_owned()],
        waits: Some("mutex".to_owned()),
        ..Plan::default()
    }
}

#[test]
fn a_plan_survives_being_written() {
    let text = to_toml(&full());
    let again = from_toml(&text, &known()).unwrap_or_else(|m| panic!("{m:#?}\n{text}"));
    assert_eq!(to_toml(&again), text);
    assert_eq!(format!("{again:?}"), format!("{:?}", full()));
}

#[test]
fn stages_are_a_text_or_a_list_and_survive_being_written() {
    let read = |lines: &str| {
        from_toml(&format!("[workload]\nkind = \"null\"\n[load]\n{lines}\n"), &known()).unwrap()
    };
    let plan = read("arrival = \"constant\"\nstages = [\"10s:0..500\", \"90s:500\"]");
    assert_eq!(plan.load.time, Some(Duration::from_secs(100)));
    let again = from_toml(&to_toml(&plan), &known()).unwrap();
    assert_eq!(again.load.arrival, plan.load.arrival);
    assert_eq!(again.load.time, plan.load.time);
    let text = read("arrival = \"constant\"\nstages = \"10s:0..500, 1m 30s:500\"");
    assert_eq!(text.load.arrival, plan.load.arrival);
    assert_eq!(read("rate = \"20k/s\"").load.arrival, ArrivalPlan::Poisson { per_second: 2e4 });
}

#[test]
fn an_address_survives_without_its_password() {
    let address = AddressPlan {
        host: Some("db1".to_owned()),
        port: Some(3307),
        user: Some("bob".to_owned()),
        password: Some(Secret::new("geheim")),
        protocol: Some(Protocol::Tcp),
        connect_timeout: Some(Duration::from_secs(3)),
        control_timeout: Some(Duration::from_secs(7)),
        ..AddressPlan::default()
    };
    let target = TargetPlan::Address(address);
    let mut plan = Plan { target, cold: false, reset: ResetPlan::Reload, ..full() };
    plan.target = match plan.target {
        TargetPlan::Address(mut a) => {
            a.ssl.mode = Some(SslMode::VerifyCa);
            TargetPlan::Address(a)
        }
        other => other,
    };
    let text = to_toml(&plan);
    assert!(!text.contains("geheim"), "{text}");
    let Ok(Plan { target: TargetPlan::Address(again), .. }) = from_toml(&text, &known()) else {
        panic!("{text}");
    };
    assert_eq!(again.host.as_deref(), Some("db1"));
    assert_eq!(again.ssl.mode, Some(SslMode::VerifyCa));
    assert_eq!(again.password, None);
}

#[test]
fn a_search_for_capacity_survives() {
    let objectives = ["p99 < 20ms", "errors <= 0.1%"];
    let objectives = objectives.map(|text| Objective::parse("", text).unwrap()).to_vec();
    let confirm = Duration::from_secs(20);
    let quantity = Some("warehouses".to_owned());
    let capacity = CapacityPlan { objectives, quantity, confirm, ..CapacityPlan::default() };
    let plan = Plan { capacity: Some(capacity), ..full() };
    let text = to_toml(&plan);
    let again = from_toml(&text, &known()).unwrap_or_else(|m| panic!("{m:#?}\n{text}"));
    assert_eq!(again.capacity, plan.capacity);
    let wrong = "[workload]\nkind = \"null\"\n[capacity]\nslo = [\"p99<20\", \"tps>5\"]\n";
    let found = mistakes(wrong);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0].0, "line 4: capacity.slo");
}

#[test]
fn a_sweep_survives_as_a_sweep() {
    let sweep = SweepPlan {
        axis: "innodb_io_capacity".to_owned(),
        values: vec!["200".to_owned(), "2k".to_owned()],
        doubles: false,
    };
    let template = VariantPlan { workers: Some(3), ..VariantPlan::default() };
    let variants = sweep.to_variants(&template).unwrap();
    let plan = Plan { sweep: Some(sweep), variants, ..full() };
    let text = to_toml(&plan);
    let again = from_toml(&text, &known()).unwrap_or_else(|m| panic!("{m:#?}\n{text}"));
    assert_eq!(format!("{again:?}"), format!("{plan:?}"));
}

#[test]
fn consent_is_neither_read_from_a_file_nor_written_to_one() {
    let plan = Plan { allow: vec!["set-global".to_owned(), "X".to_owned()], ..full() };
    let text = to_toml(&plan);
    assert!(!text.contains("set-global"), "{text}");
    let plan = "allow = [\"set-global\"]\n[workload]\nkind = \"null\"\n";
    assert_eq!(mistakes(plan)[0].1, "consent can't be given in a file");
}

#[test]
fn what_a_comparison_asks_is_checked() {
    let text = r#"reset = "snapshoot"
order = "random"
blocks = 4
until-clear = 4
cold = true
[decide]
metric = "p99_ms"
margin = 2
[target]
host = "db1"
[workload]
kind = "null"
[[variant]]
name = "a"
[variant.set]
innodb_io_capacity = 200
[[variant]]
name = "a"
wokers = 3
rate = 0
"#;
    let expected = [
        ("line 1: reset", "`snapshoot` is not known", "did you mean snapshot?"),
        ("line 2: order", "`random` is not known", "balanced, shuffled, written"),
        ("line 4: until-clear", "it is not more than blocks", "the most blocks there may be"),
        ("line 5: cold", "sweat restarts only servers that it started", "use [sandbox]"),
        ("line 7: decide.metric", "`p99_ms` is not known", "did you mean p99_s?"),
        ("line 8: decide.margin", "it is out of range", "a share, as in 0.02 for 2 %"),
        ("line 13: variant", "two variants are called `a`", "give each variant a name of its own"),
        ("line 19: variant[1].wokers", "no such key", "did you mean workers?"),
        ("line 20: variant[1].rate", "`0` is not a rate like 500, 20k/s or 300/m", "as in 20k/s"),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned()))
        .collect();
    assert_eq!(mistakes(text), expected);
    let sweep = "[workload]\nkind = \"null\"\n[sweep]\naxis = \"threads\"\nvalues = [1, 0]\n";
    assert_eq!(mistakes(sweep)[0].0, "line 5: sweep.values");
}

fn mistakes(text: &str) -> Vec<(String, String, String)> {
    let list: Vec<Mistake> = from_toml(text, &known()).expect_err("the plan is wrong");
    list.into_iter().map(|m| (m.place, m.why, m.hint.unwrap_or_default())).collect()
}

#[test]
fn all_mistakes_are_told_together_with_line_and_hint() {
    let text = r#"name = "x"
sead = 1

[target]
host = "db1"
port = 70000
protocol = "tpc"
password = "geheim"

[workload]
kind = "oltp_read_onyl"

[load]
workers = 0
workrs = 4
time = "soon"
rate = -1
interval = "1ms"
engine = ["threads"]

[[variant]]
warm = [{ strategy = "scan", options = { chnk = "1M" } }]

[probes]
names = ["statos"]
"#;
    let expected = [
        ("line 2: sead", "no such key", "did you mean seed?"),
        ("line 6: target.port", "70000 is out of range", "1 to 65535"),
        ("line 7: target.protocol", "`tpc` is not known", "did you mean tcp?"),
        (
            "line 8: target.password",
            "a password doesn't belong in a plan",
            "leave it out, and give it as -p, in MYSQL_PWD or in an option file",
        ),
        ("line 11: workload.kind", "`oltp_read_onyl` is not known", "did you mean oltp_read_only?"),
        ("line 14: load.workers", "0 is out of range", "1 to 100000"),
        ("line 15: load.workrs", "no such key", "did you mean workers?"),
        ("line 16: load.time", "`soon` is not a time like 5s, 200ms or 2m", "as in 5s"),
        ("line 17: load.rate", "`-1` is not a rate like 500, 20k/s or 300/m", "as in 20k/s"),
        ("line 18: load.interval", "it is out of range", "10ms to 1h"),
        ("line 19: load.engine", "an array where a single value belongs", ""),
        ("line 22: variant[0].warm[0].options.chnk", "no such option", "did you mean chunk?"),
        ("line 25: probes.names", "`statos` is not known", "did you mean status?"),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned()))
        .collect();
    assert_eq!(mistakes(text), expected);
}

#[test]
fn arrivals_that_make_no_sense_are_mistakes() {
    let load = |lines: &str| mistakes(&format!("[workload]\nkind = \"null\"\n[load]\n{lines}\n"));
    assert_eq!(load("arrival = \"constant\"")[0].1, "an open loop needs a rate");
    assert_eq!(load("arrival = \"closed\"\nrate = 5")[0].1, "a closed loop has no rate");
    assert_eq!(load("think = \"1s\"\nrate = 5")[0].1, "only a closed loop has think time");
    assert_eq!(load("share = \"4/3\"")[0].1, "there is no share 4 of 3");
    let stages = "stages = \"1s:5, 2s:0..5\"\n";
    for (line, place, why) in [
        ("rate = 5", "line 5: load.rate", "both a rate and stages"),
        ("think = \"1s\"", "line 5: load.think", "only a closed loop has think time"),
        ("arrival = \"closed\"", "line 5: load.arrival", "a closed loop has no stages"),
        ("time = \"3s\"", "line 5: load.time", "the stages have times of their own"),
        ("until-steady = true", "line 5: load.until-steady", "a changing rate has no steady state"),
    ] {
        let found = load(&format!("{stages}{line}"));
        assert_eq!((found[0].0.as_str(), found[0].1.as_str()), (place, why));
    }
    let found = load("stages = [\"1s:5\", \"2q:5\"]");
    assert_eq!(found[0].0, "line 4: load.stages");
    assert!(found[0].1.starts_with("stage 2, `2q:5`: `2q` is not a time"), "{found:?}");
    assert_eq!(
        mistakes("[workload]\nkind = \"null\"\n[target]\n[sandbox]")[0].0,
        "line 4: sandbox"
    );
    assert_eq!(mistakes("")[0].1, "no workload is named");
}

#[test]
fn broken_toml_is_told_with_its_line() {
    let list = mistakes("[workload]\nkind = \"null\"\n[load\nworkers = 1\n");
    assert!(list[0].0.starts_with("line 3"), "{list:?}");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[\\[\\]=a-z\"\n.{}0-9 -]{0,80}") {
        let _ = from_toml(&text, &known());
    }
}

#[test]
fn a_syntax_error_stands_alone() {
    for text in ["[sandbox\npool = \"64M\"\n", "name = \"x\n[load]\ntime = \"1s\"\n"] {
        let mistakes = from_toml(text, &known()).unwrap_err();
        assert!(mistakes.iter().all(|m| m.place == "line 1"), "{mistakes:?}");
    }
}

#[test]
fn the_former_name_of_variants_works_with_a_note() {
    let text =
        "[workload]\nkind = \"null\"\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n";
    let plan = from_toml(text, &known()).unwrap();
    assert_eq!(plan.notes, Vec::<String>::new());
    let old = from_toml(&text.replace("variant", "way"), &known()).unwrap();
    let names = |plan: &Plan| plan.variants.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&old), names(&plan));
    let note = "line 3: `way` is called `variant` now; the next version won't accept the old name";
    assert_eq!(old.notes, [note]);
    let both = mistakes(&text.replacen("variant", "way", 1));
    assert_eq!(both.len(), 1);
    assert_eq!(both[0].1, "both `way` and `variant`, which mean the same");
}
