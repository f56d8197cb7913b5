//! Looks and loads with known numbers, and the levels they earn.

use super::*;
use crate::analysis::fixture_runs;

fn look(pairs: &[(&str, f64)]) -> Counters {
    let mut seen: Counters = [
        ("gap.cpus", 2.0),
        ("gap.span_ns", 4e9),
        ("gap.lost_ns", 8e6),
        ("gap.longest_ns", 100e3),
        ("gap.steal_s", 0.0),
        ("gap.server_cpu_s", 0.0),
        ("quiet.seconds", 1.5),
        ("quiet.cpu.busy_s", 0.03),
        ("quiet.own_cpu_s", 0.01),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    seen.extend(pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)));
    seen
}

fn sentinel(name: &str, times: &[f64]) -> Counters {
    let numbered = times.iter().enumerate();
    numbered.map(|(n, ns)| (format!("sentinel.{name}.{n}_ns"), *ns)).collect()
}

#[track_caller]
fn check(seen: &Counters, id: &str, level: &str, value: f64) {
    let items = judge_noise(seen, "now");
    let item = items.iter().find(|i| i.id == id).unwrap_or_else(|| panic!("no {id}"));
    assert_eq!(item.level.as_str(), level, "{item:?}");
    assert!((item.value - value).abs() < 1e-6, "{item:?}");
    assert_eq!(item.remedy.is_empty(), level == "ok", "{item:?}");
}

#[test]
fn lost_time_is_what_the_server_did_not_use() {
    check(&look(&[]), "lost_time", "ok", 0.2);
    check(&look(&[("gap.lost_ns", 40e6)]), "lost_time", "warn", 1.0);
    check(&look(&[("gap.lost_ns", 400e6)]), "lost_time", "void", 10.0);
    let server = [("gap.lost_ns", 400e6), ("gap.server_cpu_s", 0.39)];
    check(&look(&server), "lost_time", "ok", 0.25);
    let gaps = judge_noise(&look(&server), "now");
    assert!(gaps.iter().all(|i| i.id != "longest_gap"), "the server's gaps are not the machine's");
    assert!(judge_noise(&Counters::new(), "now").is_empty());
}

#[test]
fn others_are_what_neither_we_nor_the_server_did() {
    check(&look(&[]), "foreign_cpu", "ok", 100.0 * 0.02 / 3.0);
    check(&look(&[("quiet.cpu.busy_s", 0.25)]), "foreign_cpu", "warn", 8.0);
    check(&look(&[("quiet.cpu.busy_s", 1.51)]), "foreign_cpu", "void", 50.0);
    let server = [("quiet.cpu.busy_s", 1.51), ("quiet.process.cpu_user_s", 1.5)];
    check(&look(&server), "foreign_cpu", "ok", 0.0);
    // Hundredths of a second say nothing about fifty milliseconds.
    let short = judge_noise(&look(&[("quiet.seconds", 0.05)]), "now");
    assert!(short.iter().all(|i| i.id != "foreign_cpu"));
    check(&look(&[("gap.steal_s", 0.04)]), "steal", "warn", 1.0);
    check(&look(&[("gap.steal_s", 0.2)]), "steal", "void", 5.0);
    check(&look(&[("quiet.pressure.io.some_us", 150e3)]), "pressure_io", "warn", 10.0);
    let disks = [("quiet.disk.vda.sectors_written", 12_288.0), ("quiet.disk.vda1.reads", 9e9)];
    check(&look(&disks), "disk_writers", "warn", 4.0);
    let ours = [disks[0], ("quiet.process.write_bytes", 12_288.0 * 512.0)];
    check(&look(&ours), "disk_writers", "ok", 0.0);
}

#[test]
fn what_the_machine_is_is_a_note() {
    check(&look(&[("cpu.hypervisor", 1.0)]), "virtual", "note", 1.0);
    check(&look(&[("cpu.hypervisor", 0.0)]), "virtual", "ok", 0.0);
    check(&look(&[("cpu.saving_governors", 2.0)]), "saving_governors", "note", 2.0);
    check(&look(&[("cgroup.cpus", 0.5)]), "cpu_limited", "note", 1.0);
    check(&look(&[("cgroup.cpus", 2.0)]), "cpu_limited", "ok", 0.0);
    check(&look(&[("disk.free_share", 0.05)]), "disk_free", "warn", 95.0);
    let nodes = [("memory.node_least_free_bytes", 1e9), ("memory.node_most_free_bytes", 8e9)];
    check(&look(&nodes), "numa", "warn", 8.0);
}

#[test]
fn sentinels_are_judged_by_their_spread() {
    let mut seen = look(&[]);
    seen.extend(sentinel("cpu", &[100.0, 101.0, 99.0, 100.0]));
    seen.extend(sentinel("sync", &[900e3, 910e3, 905e3]));
    let cv = (2.0_f64 / 3.0).sqrt();
    check(&seen, "cpu_repeats", "ok", cv);
    check(&seen, "sync_time", "ok", 905.0);
    check(&seen, "sync_too_fast", "ok", 0.0);
    let five = resolvable_difference(&seen, 5).unwrap();
    assert!((five - 2.351 * cv / 100.0).abs() < 1e-5, "{five}");
    assert!(
        resolvable_difference(&seen, 10).unwrap() < five
            && resolvable_difference(&seen, 1).is_none()
    );
    seen.extend(sentinel("cpu", &[100.0, 120.0, 80.0, 100.0]));
    check(&seen, "cpu_repeats", "void", 100.0 * (800.0_f64 / 3.0).sqrt() / 100.0);
    seen.extend(sentinel("sync", &[4e3, 5e3, 4.5e3]));
    check(&seen, "sync_too_fast", "note", 1.0);
    // One outlier among short repeats is no spread.
    seen.insert("quiet.seconds".to_owned(), 0.05);
    seen.extend(sentinel("cpu", &[100.0, 300.0, 100.5, 99.5]));
    check(&seen, "cpu_repeats", "ok", 100.0 * 1.482_602_218_505_602 * 0.5 / 100.25);
}

/// A run whose only load has these looks before and after.
fn run_with(before: &Counters, after: &Counters) -> RunRecord {
    let mut run = fixture_runs::bench_run();
    let with = |prefix: &'static str, seen: &Counters| {
        seen.iter().map(move |(n, v)| (format!("{prefix}{n}"), *v)).collect::<Vec<_>>()
    };
    run.steps[0].noise.extend(with("before.", before));
    run.steps[0].noise.extend(with("after.", after));
    run
}

fn found(run: &RunRecord, id: &str) -> Option<(&'static str, f64, String)> {
    let items = noise_of_run(run);
    items.into_iter().find(|i| i.id == id).map(|i| (i.level.as_str(), i.value, i.when))
}

#[test]
fn a_machine_that_slows_down_voids_comparisons_only() {
    let steady = sentinel("cpu", &[100.0, 100.5, 99.5, 100.0, 100.2]);
    let slower = sentinel("cpu", &[105.0, 105.5, 104.5, 105.0, 105.2]);
    let wild = sentinel("cpu", &[105.0, 130.0, 85.0, 105.0, 125.2]);
    let (level, value, when) = found(&run_with(&steady, &slower), "cpu_drift").unwrap();
    assert_eq!((level, when.as_str()), ("note", "over the load"));
    assert!((value - 5.0).abs() < 1e-9);
    assert_eq!(found(&run_with(&steady, &steady), "cpu_drift").unwrap().0, "ok");
    // A spread as large as the difference proves nothing.
    assert_eq!(found(&run_with(&steady, &wild), "cpu_drift").unwrap().0, "ok");
    let mut compared = run_with(&steady, &slower);
    let other = crate::archive::Trial { block: 2, ..compared.trials[0].clone() };
    compared.trials.push(other);
    assert_eq!(found(&compared, "cpu_drift").unwrap().0, "void");
}

#[test]
fn the_worst_look_stands_for_all() {
    let (quiet, busy) = (look(&[]), look(&[("gap.lost_ns", 400e6)]));
    let mut run = run_with(&quiet, &quiet);
    assert_eq!(found(&run, "lost_time").unwrap().0, "ok");
    let mut second = run.steps[0].clone();
    second.number = 2;
    second.label = "load, pass 2".to_owned();
    second.noise = busy.iter().map(|(n, v)| (format!("before.{n}"), *v)).collect();
    run.steps.push(second);
    let (level, _, when) = found(&run, "lost_time").unwrap();
    assert_eq!((level, when.as_str()), ("void", "before load, pass 2"));
    let fault = [("fault.file_system_errors", 1.0)];
    let run = run_with(&look(&[("fault.file_system_errors", 0.0)]), &look(&fault));
    assert_eq!(found(&run, "file_system_errors").unwrap().0, "void");
}

#[test]
fn loads_tell_of_swapping_limits_and_clocks() {
    let mut run = fixture_runs::bench_run();
    assert!(found(&run, "swap_during").is_none());
    let mut edge = |name: &str, rise: f64| {
        run.steps[0].before.insert(name.to_owned(), 1.0);
        run.steps[0].after.insert(name.to_owned(), 1.0 + rise);
        run.clone()
    };
    edge("vm.swapped_out_pages", 0.0);
    assert_eq!(found(&edge("vm.swapped_in_pages", 0.0), "swap_during").unwrap().0, "ok");
    assert_eq!(found(&edge("vm.swapped_in_pages", 3.0), "swap_during").unwrap().1, 3.0);
    assert_eq!(found(&edge("cgroup.throttled_s", 0.0), "throttled_during").unwrap().0, "ok");
    assert_eq!(found(&edge("cgroup.throttled_s", 0.5), "throttled_during").unwrap().0, "warn");
    assert_eq!(found(&edge("cpu.steal_s", 0.2), "steal_during").unwrap().0, "warn");
    let (began, mut offsets) = (run.trials[0].began_ns, [0.0, 0.0004, 0.0504, 0.0504]);
    for (place, offset) in offsets.iter_mut().enumerate() {
        let at = began + place as u64 * 1_000_000_000;
        let numbers = [("clock.wall_offset_s".to_owned(), *offset)].into();
        let sample = crate::archive::SampleRecord { began_ns: at, numbers, ..Default::default() };
        run.samples.push(sample);
    }
    let (level, ms, _) = found(&run, "clock_step").unwrap();
    assert_eq!(level, "warn");
    assert!((ms - 49.5).abs() < 1e-6, "{ms}");
}
