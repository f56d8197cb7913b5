//! Parts of agents and coordinators without a server; `tests/it/agents.rs` has whole loads.

use proptest::prelude::*;

use super::allowed::AllowedTarget;
use super::clock_offset::ClockOffset;
use super::member::Member;
use super::progress::{ProgressSum, report_interval};
use super::wire::*;
use crate::archive::hdr_base64;
use crate::base::Nanos;
use crate::plan::{AddressPlan, Options, Plan, Protocol, TargetPlan, WorkloadPlan};
use crate::recorder::{ClassTotals, Interval, SparseHistogram};
use crate::workload::find_kind;

#[test]
fn names_of_agents_fit_into_subjects() {
    for name in ["a", "load-1", "A_9", &"x".repeat(40)] {
        check_agent_name(name).unwrap();
        assert_eq!(reporter_name(&reports_from(name)), Some(name));
    }
    for name in ["", "a.b", "*", ">", "a b", "ä", "a\n", &"x".repeat(41)] {
        check_agent_name(name).unwrap_err();
        assert_eq!(reporter_name(&reports_from(name)), None);
    }
}

#[test]
fn messages_come_out_as_they_went_in() {
    let order = AgentOrder::Start { run: "r".to_owned(), at_unix_ns: u64::MAX };
    let bytes = encode_message(&order, &[]);
    assert_eq!(String::from_utf8_lossy(&bytes).lines().count(), 1);
    assert_eq!(decode_message::<AgentOrder>(&bytes).unwrap(), (order, &[][..]));
    let part = AgentReport::Part { run: "r\n".to_owned(), offset: 7 };
    let bytes = encode_message(&part, b"\0\n\xff");
    assert_eq!(decode_message::<AgentReport>(&bytes).unwrap(), (part, &b"\0\n\xff"[..]));
}

proptest! {
    #[test]
    fn hostile_messages_are_refused_in_words(
        text in ".{0,200}",
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = decode_message::<AgentOrder>(text.as_bytes());
        let _ = decode_message::<AgentReport>(&bytes);
        let order = format!("{{\"order\":\"prepare\",\"run\":{text:?}}}");
        let _ = decode_message::<AgentOrder>(order.as_bytes());
    }

    /// The truth lies within what is printed, however the way there and the way back differ.
    #[test]
    fn the_true_offset_is_within_its_bound(
        apart in -1_000_000_000_000_i64..1_000_000_000_000,
        ways in prop::collection::vec((1_u64..50_000_000, 1_u64..50_000_000), 1..80),
        later in 0_u64..3_600_000_000_000,
        drift_ppm in -100_i64..=100,
    ) {
        let mut offset = ClockOffset::default();
        let (mut now, origin) = (1_000_000, 1_800_000_000_000_000_000);
        // The other clock shows ours less `apart`, and runs away from it.
        let told_at = |now: u64| {
            let drifted = (now as i128 * i128::from(drift_ppm) / 1_000_000) as i64;
            (origin + now).saturating_add_signed(-(apart + drifted))
        };
        for (there, back) in ways {
            let (asked, told) = (now, told_at(now + there));
            now += there + back;
            offset.add_answer(Nanos(asked), Nanos(now), origin + now, told);
            now += 1_000_000;
        }
        now += later;
        let (estimate, bound) = offset.best_estimate(Nanos(now)).unwrap();
        let truth = (origin + now) as i128 - told_at(now) as i128;
        let wrong = (truth - i128::from(estimate)).unsigned_abs();
        // The bound is computed in whole microseconds of drift.
        prop_assert!(wrong <= u128::from(bound.0) + 200, "{wrong} ns, bound {bound:?}");
    }
}

#[test]
fn a_list_of_targets_covers_what_it_names_and_no_more() {
    let target = |host: &str, port| TargetOrder { host: host.to_owned(), port, database: None };
    let covers =
        |allowed: &str, order: &TargetOrder| AllowedTarget::parse(allowed).unwrap().covers(order);
    assert!(covers("db1", &target("DB1", Some(3307))));
    assert!(covers("db1:3306", &target("db1", None)));
    assert!(!covers("db1:3306", &target("db1", Some(3307))));
    assert!(!covers("db1", &target("db10", None)));
    assert!(!covers("127.0.0.1", &target("localhost", None)));
    assert!(covers("[::1]:3306", &target("::1", Some(3306))));
    assert!(covers("::1", &target("::1", Some(1))));
    for wrong in ["", "a:", ":1", "a:0", "a:x", "*", "10.0.0.0/8", "a b", "[::1]x", "[::1"] {
        assert!(AllowedTarget::parse(wrong).is_err(), "{wrong}");
    }
    for text in ["db1", "db1:3306", "[::1]:3306"] {
        assert_eq!(AllowedTarget::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn a_target_travels_without_account_and_files() {
    let address = AddressPlan {
        host: Some("db1".to_owned()),
        port: Some(3307),
        user: Some("bob".to_owned()),
        password: Some(crate::base::Secret::new("hush")),
        database: Some("shop".to_owned()),
        socket: Some("/run/hidden.sock".into()),
        ..AddressPlan::default()
    };
    let order = target_order(&TargetPlan::Address(address.clone())).unwrap();
    let text = String::from_utf8(encode_message(&order, &[])).unwrap();
    assert_eq!(text, r#"{"host":"db1","port":3307,"database":"shop"}"#);
    let by = |host: Option<&str>, protocol| {
        let host = host.map(str::to_owned);
        let target = TargetPlan::Address(AddressPlan { host, protocol, ..address.clone() });
        target_order(&target).map(|order| (order.host, order.port)).unwrap()
    };
    assert_eq!(by(None, None), ("localhost".to_owned(), None));
    assert_eq!(by(Some("localhost"), Some(Protocol::Tcp)), ("localhost".to_owned(), Some(3307)));
    assert_eq!(by(None, Some(Protocol::Tcp)), ("127.0.0.1".to_owned(), Some(3307)));
    assert_eq!(target_order(&TargetPlan::None), None);
}

fn plan(kind: &str, given: &[(&str, &str)]) -> Plan {
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let specs = find_kind(kind).unwrap().option_specs();
    let options = Options::from_given(&specs, &given).unwrap();
    let workload = WorkloadPlan { kind: kind.to_owned(), options };
    let target = TargetPlan::Address(AddressPlan::default());
    Plan { workload, target, cold: true, prepare: true, runs_dir: "/etc".into(), ..Plan::default() }
}

#[test]
fn of_a_plan_only_the_load_travels() {
    let kept = portable_plan(&plan("oltp_read_write", &[("tables", "4")])).unwrap();
    assert_eq!(kept.workload.options.count("tables"), 4);
    assert!(matches!(kept.target, TargetPlan::None));
    assert!(!kept.cold && !kept.prepare && kept.runs_dir.as_os_str().is_empty());
    for (kind, given) in [("mix", ("file", "/etc/passwd")), ("ycsb", ("properties", "/etc/passwd"))]
    {
        let error = portable_plan(&plan(kind, &[given])).unwrap_err().to_string();
        assert!(error.contains("may name a file"), "{error}");
    }
    let error = portable_plan(&plan("http", &[])).unwrap_err().to_string();
    assert!(error.contains("MySQL and MariaDB servers only"), "{error}");
    assert!(portable_plan(&Plan::default()).is_err(), "it has no workload");
}

fn interval(began: u64, times: &[u64]) -> Interval {
    let mut interval = Interval::empty(Nanos(began), Nanos(began + 1_000_000_000));
    let mut class = ClassTotals::default();
    times.iter().for_each(|ns| class.response.record(*ns));
    class.failed.record(5_000);
    interval.classes.push(class);
    interval.in_flight = 2;
    interval
}

#[test]
fn intervals_of_agents_add_up() {
    let start = Nanos(7_000_000_000);
    let report =
        |number, times: &[u64]| report_interval(number, start, &interval(7_000_000_000, times));
    let mut sum = ProgressSum::default();
    sum.add_report(0, &report(0, &[1_000_000, 2_000_000]));
    assert!(sum.take_ready(&[0, 1]).is_none(), "the other one has not told it yet");
    // What is told twice counts once, what is damaged not at all.
    sum.add_report(0, &report(0, &[1_000_000]));
    sum.add_report(1, &IntervalReport { response: "x".to_owned(), ..report(0, &[]) });
    sum.add_report(1, &report(0, &[3_000_000]));
    let whole = sum.take_ready(&[0, 1]).unwrap();
    assert_eq!((whole.event_count(), whole.error_count(), whole.in_flight), (3, 2, 4));
    assert_eq!((whole.began, whole.ended), (Nanos(0), Nanos(1_000_000_000)));
    // It is past: who tells it now is late.
    sum.add_report(1, &report(0, &[4_000_000]));
    assert!(sum.take_ready(&[]).is_none());
    // One that is lost is not waited for, and one that is slow not for ever.
    sum.add_report(0, &report(1, &[1]));
    assert_eq!(sum.take_ready(&[0]).map(|interval| interval.event_count()), Some(1));
    (2..8).for_each(|number| sum.add_report(0, &report(number, &[1])));
    assert!(sum.take_ready(&[0, 1]).is_some() && sum.take_ready(&[0, 1]).is_none());
    assert_eq!(hdr_base64(&SparseHistogram::default()), "");
}

#[test]
fn words_of_loads_that_name_folders_are_digits_alone() {
    assert!(is_load_word("0123456789abcdef0123456789abcdef"));
    for word in ["", "ab", "../../../../../../etc/passwd/xxxx", &"é".repeat(16), &"a".repeat(33)] {
        assert!(!is_load_word(word), "{word}");
    }
}

#[test]
fn who_is_behind_is_named() {
    let member = |name: &str| Member::new(name, AgentState::default(), Nanos(0));
    let mut team = vec![member("a1"), member("a2"), member("a3")];
    let mut sum = ProgressSum::starting_at(Nanos(5_000));
    let report = |number| IntervalReport {
        number,
        began_ns: number * 100,
        ended_ns: (number + 1) * 100,
        ..IntervalReport::default()
    };
    let behind = |sum: &ProgressSum, team: &[Member]| -> Vec<u64> {
        sum.agents(team).iter().map(|agent| agent.behind).collect()
    };
    assert_eq!(behind(&sum, &team), [0, 0, 0]);
    (0..4).for_each(|number| sum.add_report(0, &report(number)));
    (0..3).for_each(|number| sum.add_report(1, &report(number)));
    sum.add_report(2, &report(0));
    assert_eq!(behind(&sum, &team), [0, 1, 3]);
    let mut times = SparseHistogram::default();
    (1..=100).for_each(|ms| times.record(ms * 1_000_000));
    let fast = IntervalReport { response: hdr_base64(&times), ..report(3) };
    sum.add_report(1, &IntervalReport { began_ns: 0, ended_ns: 500_000_000, ..fast });
    team[2].lose("gone");
    let agents = sum.agents(&team);
    assert!((agents[1].events_per_s - 200.0).abs() < 1e-9 && !agents[1].is_late());
    assert!((agents[1].p99_s.unwrap() - 0.099).abs() < 0.001, "{agents:?}");
    let lost: Vec<Option<&str>> = agents.iter().map(|agent| agent.lost.as_deref()).collect();
    assert_eq!(lost, [None, None, Some("gone")]);
    // Times are the coordinator's.
    let first = sum.take_ready(&[0, 1]).unwrap();
    assert_eq!((first.began, first.ended), (Nanos(5_000), Nanos(5_100)));
}
