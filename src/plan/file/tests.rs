//! Plans there and back, and all their mistakes.

use std::time::Duration;

use super::*;
use crate::base::Secret;
use crate::base::units::Size;
use crate::plan::{
    AddressPlan, LoadPlan, Mistake, OptionKind, OptionSpec, Options, Plan, SandboxPlan, TargetPlan,
    WarmPlan, WayPlan, WorkloadPlan,
};

fn known() -> Known {
    let spec = |name, kind, default| OptionSpec { name, kind, default, help: "" };
    Known {
        workloads: vec![
            ("null", vec![]),
            ("oltp_read_only", vec![spec("tables", OptionKind::Count, "1")]),
        ],
        strategies: vec![("scan", vec![spec("chunk", OptionKind::Size, "")])],
        probes: vec!["status", "host"],
    }
}

fn options(specs: &[OptionSpec], given: &[(&str, &str)]) -> Options {
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Options::check(specs, &given).unwrap()
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
            pool: Some(Size::Bytes(256 << 20)),
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
            ..LoadPlan::default()
        },
        prepare: true,
        cold: true,
        passes: 2,
        ways: vec![
            WayPlan { name: "none".to_owned(), dump_after: true, ..WayPlan::default() },
            WayPlan { name: "scan".to_owned(), warm: vec![warm], ..WayPlan::default() },
        ],
        ..Plan::default()
    }
}

#[test]
fn a_plan_survives_being_written() {
    let text = write(&full());
    let again = read(&text, &known()).unwrap_or_else(|m| panic!("{m:#?}\n{text}"));
    assert_eq!(write(&again), text);
    assert_eq!(format!("{again:?}"), format!("{:?}", full()));
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
        ..AddressPlan::default()
    };
    let mut plan = Plan { target: TargetPlan::Address(address), ..full() };
    plan.target = match plan.target {
        TargetPlan::Address(mut a) => {
            a.ssl.mode = Some(SslMode::VerifyCa);
            TargetPlan::Address(a)
        }
        other => other,
    };
    let text = write(&plan);
    assert!(!text.contains("geheim"), "{text}");
    let Ok(Plan { target: TargetPlan::Address(again), .. }) = read(&text, &known()) else {
        panic!("{text}");
    };
    assert_eq!(again.host.as_deref(), Some("db1"));
    assert_eq!(again.ssl.mode, Some(SslMode::VerifyCa));
    assert_eq!(again.password, None);
}

fn mistakes(text: &str) -> Vec<(String, String, String)> {
    let list: Vec<Mistake> = read(text, &known()).expect_err("the plan is wrong");
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

[[way]]
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
        ("line 17: load.rate", "it must be above 0", "events per second"),
        ("line 18: load.interval", "it is out of range", "10ms to 1h"),
        ("line 19: load.engine", "an array where a single value belongs", ""),
        ("line 22: way[0].warm[0].options.chnk", "no such option", "did you mean chunk?"),
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
        let _ = read(&text, &known());
    }
}
