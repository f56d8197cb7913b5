//! Every sentence in a situation in which it is said, and what holds for all of them: no gap stays open, one of a thing
//! is not called many, and nothing is praised in a run that can't support it.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::super::caveats::{self, CaveatInput};
use super::super::findings::{AnswerSentence, CaveatLevel};
use super::super::findings::{
    CapacityFinding, ComparisonVerdict, Estimate, FindingResults, RunFindings, ScalingFinding,
    ScalingPoint, Stall, StallFindings, StallKind, SteadyState, SteadyVerdict, WaitGroup,
};
use super::super::replay::fixture_replays;
use super::super::{
    ComparisonOptions, analyse_run, capacity, compare, compare_runs, fixture_runs, noise, replay,
    scaling, waits,
};
use super::{NOT_RELIABLE, answer_texts, caveat_texts};
use crate::analysis::ScalingShape;
use crate::archive::{
    ArrivalKind, ArrivalRecord, Counters, CrashRound, LoadRequest, MergeRecord, RecordedStepKind,
    RunRecord, RunState, SampleRecord, StepRecord, TrialEnding, UnopenedRecord, VariableRecord,
};
use crate::recorder::{
    DataState, DataVerdict, DataVerdicts, KeyChoice, MeasuredCost, MeasuredFigures,
    StatementRepeats, WorkloadFacts,
};

/// Words that a void run has no right to.
const PRAISE: &[&str] = &[
    "worth",
    "highest",
    "best",
    "holds",
    "saves",
    "better",
    "worse",
    "faster",
    "slower",
    "pays",
    "levels off",
    "peak",
    "can resolve",
    "are the same",
    ": same",
];

/// A run, the sentences that must be among what is said of it, and those that must not.
struct Situation {
    run: RunRecord,
    said: &'static [&'static str],
    not_said: &'static [&'static str],
}

fn bench(change: impl FnOnce(&mut RunRecord)) -> RunRecord {
    let mut run = fixture_runs::bench_run();
    change(&mut run);
    run
}

fn demo(change: impl FnOnce(&mut RunRecord)) -> RunRecord {
    let mut run = fixture_runs::demo_run();
    change(&mut run);
    run
}

/// A rise of a counter over the first load.
fn raise(run: &mut RunRecord, name: &str, rise: f64) {
    let step = run.trials[0].step;
    let step = run.steps.iter_mut().find(|s| s.number == step).unwrap();
    let from = *step.before.entry(name.to_owned()).or_insert(10.0);
    step.after.insert(name.to_owned(), from + rise);
}

fn set(run: &mut RunRecord, name: &str, value: &str, end: &str) {
    run.variables.retain(|v| v.name != name);
    run.variables.push(VariableRecord {
        name: name.to_owned(),
        start: value.to_owned(),
        end: Some(end.to_owned()),
        origin: Some("compile-time".to_owned()),
    });
}

fn declare(run: &mut RunRecord, facts: WorkloadFacts) {
    run.trials[0].facts = Some(facts);
}

fn draw_keys(run: &mut RunRecord, keys: KeyChoice) {
    declare(run, WorkloadFacts { keys: Some(keys), ..WorkloadFacts::default() });
}

fn lose_time(run: &mut RunRecord, step: usize, ns: f64) {
    let noise = &mut run.steps[step].noise;
    noise.insert("before.gap.span_ns".to_owned(), 4e8);
    noise.insert("before.gap.lost_ns".to_owned(), ns);
    noise.insert("before.cpu.hypervisor".to_owned(), 1.0);
}

/// CPU of others during the first load, as a share of the machine.
fn share_cpu(run: &mut RunRecord, share: f64) {
    let step = &mut run.steps[0];
    let seconds = (step.ended_ns.unwrap() - step.began_ns) as f64 / 1e9;
    let ours = (run.trials[0].cpu_user_ns + run.trials[0].cpu_system_ns) as f64 / 1e9;
    step.before.insert("cpu.busy_s".to_owned(), 0.0);
    let busy = ours + 120_000.0 * 30e-6 + share * seconds * 2.0;
    step.after.insert("cpu.busy_s".to_owned(), busy);
}

fn sample(at: u64, name: &str, value: f64) -> SampleRecord {
    let numbers: Counters = [(name.to_owned(), value)].into();
    SampleRecord { began_ns: at, numbers, ..SampleRecord::default() }
}

fn last_s(run: &mut RunRecord, seconds: u64) {
    run.trials[0].ended_ns = run.trials[0].began_ns + seconds * 1_000_000_000;
}

type MachineSituation = (fn(&mut MergeRecord), &'static [&'static str], &'static [&'static str]);

/// What several machines can have gone through.
fn machine_situations() -> [MachineSituation; 9] {
    [
        (|_| (), &["LOAD"], &["MACHINES_PART", "MACHINES_APART", "MACHINES_UNEVEN"]),
        (|m| m.missing = vec!["3/3".to_owned()], &["MACHINES_MISSING"], &["MACHINES_PART"]),
        (|m| m.machines[1].state = RunState::Running, &["MACHINES_PART"], &["MACHINES_VOID"]),
        (|m| m.machines[0].damage = vec!["cut".to_owned()], &["MACHINES_PART"], &[]),
        (|m| m.machines[1].voids = vec!["NOISE: x".to_owned()], &["MACHINES_VOID"], &[]),
        (|m| m.machines[1].began_ns += 200_000_000, &["MACHINES_APART"], &["MACHINES_APART_VOID"]),
        (|m| m.machines[1].began_ns += 2_000_000_000, &["MACHINES_APART_VOID"], &[]),
        (|m| m.machines[1].events /= 3, &["MACHINES_UNEVEN"], &["CLIENT_BOUND_MACHINE"]),
        (
            |m| m.machines[0].lateness.record_n(9_000_000, 900),
            &["CLIENT_BOUND_MACHINE"],
            &["CLIENT_BOUND_LATE"],
        ),
    ]
}

/// Runs with a single load.
#[expect(clippy::too_many_lines, reason = "a table: a row for each situation")]
fn loads() -> Vec<Situation> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut RunRecord), said, not_said| {
        all.push(Situation { run: bench(change), said, not_said });
    };
    add(
        &|_| {},
        &[
            "LOAD",
            "ERRORS_SOME",
            "TOO_SHORT_GLANCE",
            "ONE_RUN",
            "PROBE_GAP",
            "SAME_HOST",
            "CLOSED_LOOP",
            "DURABILITY",
            "ONE_USER",
        ],
        &["ERRORS_VOID", "TOO_SHORT_WORK", "CUT_LOAD"],
    );
    add(&|run| run.meta.state = RunState::Failed, &["CUT_FAILED"], &["CUT_LOAD"]);
    add(&|run| run.meta.state = RunState::Interrupted, &["CUT_STOPPED"], &["CUT_FAILED"]);
    add(&|run| run.meta.state = RunState::Running, &["CUT_OPEN"], &["CUT_STOPPED"]);
    add(&|run| run.trials[0].reason = TrialEnding::Cut, &["CUT_LOAD"], &["CUT_OPEN"]);
    add(&|run| run.damage.push("a line is cut".to_owned()), &["DAMAGE"], &[]);
    for (change, said, not_said) in machine_situations() {
        let merge = |run: &mut RunRecord| {
            run.merged = fixture_runs::merged_run().merged;
            change(run.merged.as_mut().unwrap());
        };
        add(&merge, said, not_said);
    }
    add(
        &|run| run.trials[0].failed[0].record_n(1000, 200).unwrap(),
        &["ERRORS_VOID"],
        &["ERRORS_SOME"],
    );
    add(&|run| run.trials[0].errors[0].code = 1213, &["ERRORS_EXPECTED"], &["ERRORS_SOME"]);
    add(&|run| run.trials[0].failed[0].record_n(3_000, 2_000).unwrap(), &["SUDDENLY_FAST"], &[]);
    add(&|run| lose_time(run, 0, 80e6), &["NOISE"], &[]);
    add(&|run| lose_time(run, 0, 1e6), &["LOAD"], &["NOISE"]);
    add(
        &|run| {
            let why = "1040 Too many connections".to_owned();
            run.trials[0].unopened.push(UnopenedRecord { worker: 3, why });
        },
        &["UNOPENED"],
        &[],
    );
    add(
        &|run| run.trials[0].lateness.record_n(250_000, 1000).unwrap(),
        &["CLIENT_BOUND_LATE"],
        &["CLIENT_BOUND_BUSY"],
    );
    add(&|run| run.trials[0].cpu_user_ns = 1 << 40, &["CLIENT_BOUND_BUSY"], &[]);
    add(&|run| run.trials[0].clipped = 1, &["CLIPPED"], &["ABANDONED"]);
    add(
        &|run| run.trials[0].unbegun.record_n(3_000_000_000, 100_000).unwrap(),
        &["BACKLOG_VOID", "LOAD"],
        &["BACKLOG_SOME"],
    );
    add(
        &|run| run.trials[0].unbegun.record_n(900_000_000, 600).unwrap(),
        &["BACKLOG_SOME", "LOAD"],
        &["BACKLOG_VOID"],
    );
    add(
        &|run| {
            let facts = &mut run.meta.facts;
            facts.insert("reached_share".to_owned(), serde_json::json!(0.01));
            facts.insert("reached_rows".to_owned(), 10_000.into());
            facts.insert("table_rows".to_owned(), 1_000_000.into());
            facts.insert("table".to_owned(), "sbtest1".into());
        },
        &["PART_TABLE"],
        &["BACKLOG_VOID"],
    );
    add(&|run| run.trials[0].abandoned = 1, &["ABANDONED"], &["ABANDONED_ALL", "CLIPPED"]);
    add(&|run| share_cpu(run, 0.2), &["FOREIGN_CPU_VOID"], &["FOREIGN_CPU_SOME"]);
    add(&|run| share_cpu(run, 0.1), &["FOREIGN_CPU_SOME"], &["FOREIGN_CPU_VOID"]);
    add(&|run| raise(run, "cgroup.throttled_s", 1.0), &["THROTTLED"], &["SWAP"]);
    add(
        &|run| {
            raise(run, "vm.swapped_in_pages", 0.0);
            raise(run, "vm.swapped_out_pages", 9.0);
        },
        &["SWAP"],
        &["THROTTLED"],
    );
    add(
        &|run| {
            let at = run.trials[0].began_ns;
            run.samples.push(sample(at, "clock.wall_offset_s", 0.0));
            run.samples.push(sample(at + 1_000_000_000, "clock.wall_offset_s", -2.0));
        },
        &["NTP_STEP"],
        &[],
    );
    add(&|run| set(run, "innodb_io_capacity", "200", "2000"), &["VARS_CHANGED"], &["DEFAULTS"]);
    add(&|run| set(run, "innodb_buffer_pool_size", "1000000", "1000000"), &["DEFAULTS"], &[]);
    add(
        &|run| {
            run.meta.facts.insert("error_log".to_owned(), serde_json::json!(["[ERROR] a", "b"]));
        },
        &["ERRLOG_ERRORS"],
        &["ERRLOG_WARNINGS"],
    );
    add(
        &|run| {
            run.meta.facts.insert("error_log".to_owned(), serde_json::json!(["[Warning] a"]));
        },
        &["ERRLOG_WARNINGS"],
        &["ERRLOG_ERRORS"],
    );
    add(&|run| *run.trials[0].tally.count_mut("rows") = 0, &["EMPTY"], &[]);
    add(
        &|run| {
            run.samples.clear();
            last_s(run, 9);
            let mut reads = 0.0;
            for (place, more) in
                (0..).zip([0.0, 900.0, 800.0, 500.0, 300.0, 100.0, 50.0, 10.0, 10.0])
            {
                reads += more;
                let at = run.trials[0].began_ns + place * 1_000_000_000;
                run.samples.push(sample(at, "Innodb_buffer_pool_reads", reads));
            }
        },
        &["COLD"],
        &[],
    );
    add(
        &|run| {
            raise(run, "Innodb_data_read", 200e6);
            raise(run, "process.read_bytes", 10e6);
        },
        &["PAGE_CACHE_SERVED"],
        &["PAGE_CACHE_ROTATING"],
    );
    add(
        &|run| {
            raise(run, "Innodb_data_read", 200e6);
            raise(run, "process.read_bytes", 200e6);
            raise(run, "Innodb_buffer_pool_reads", 1e6);
            run.steps[0].noise.insert("before.disk.rotational".to_owned(), 1.0);
        },
        &["PAGE_CACHE_ROTATING"],
        &["PAGE_CACHE_SERVED"],
    );
    add(&|run| last_s(run, 30), &["TOO_SHORT"], &["TOO_SHORT_GLANCE"]);
    add(&|run| last_s(run, 60), &["TOO_SHORT_OPEN"], &["TOO_SHORT"]);
    add(
        &|run| run.meta.load = Some(LoadRequest { fixed_work: true, ..LoadRequest::default() }),
        &["TOO_SHORT_WORK"],
        &["TOO_SHORT_GLANCE"],
    );
    add(
        &|run| run.trials[0].arrival = ArrivalRecord::new(ArrivalKind::Poisson, "poisson 4000/s"),
        &["LOAD"],
        &["CLOSED_LOOP", "ONE_USER"],
    );
    add(
        &|run| {
            let (distribution, rows) = ("special".to_owned(), 10_000);
            let shape = Default::default();
            draw_keys(run, KeyChoice::Drawn { distribution, shape, rows });
        },
        &["DATA_DIST"],
        &["DATA_DIST_EVEN"],
    );
    add(&|run| draw_keys(run, KeyChoice::Even), &["DATA_DIST_EVEN"], &["DATA_DIST"]);
    add(
        &|run| {
            run.meta.facts.insert("rows".to_owned(), 1_200_000.into());
        },
        &["PARAM_DIST"],
        &[],
    );
    add(
        &|run| {
            run.meta.asked.axis = Some("threads".to_owned());
            run.trials[0].value = Some(4.0);
        },
        &["ONE_USER_LEVEL", "SWEEP_BEST"],
        &["ONE_USER"],
    );
    add(
        &|run| {
            last_s(run, 100);
            run.trials[0].failed.iter_mut().for_each(crate::recorder::Histogram::reset);
            run.trials[0].arrival = ArrivalRecord::closed(1.0, "closed, 1s think time");
        },
        &["THINK_OFF"],
        &["THINK"],
    );
    add(
        &|run| {
            last_s(run, 100);
            run.trials[0].failed.iter_mut().for_each(crate::recorder::Histogram::reset);
            run.trials[0].workers = 1000;
            run.trials[0].arrival = ArrivalRecord::closed(0.833, "closed, 833ms think time");
        },
        &["THINK"],
        &["THINK_OFF"],
    );
    add(&|run| raise(run, "Qcache_hits", 60_000.0), &["SAME_QUERY_CACHED"], &[]);
    add(
        &|run| {
            let repeats = Some(StatementRepeats { passes: Some(7), shared: false });
            declare(run, WorkloadFacts { repeats, ..WorkloadFacts::default() });
        },
        &["SAME_QUERY_REPEATED"],
        &["SAME_QUERY_CACHED"],
    );
    add(
        &|run| {
            set(run, "query_cache_type", "ON", "ON");
            set(run, "query_cache_size", "1048576", "1048576");
        },
        &["QUERY_CACHE"],
        &[],
    );
    add(&|run| *run = fixture_runs::cost_run(true), &["REPEATED_STATEMENT"], &["DATABASE"]);
    add(&|run| *run = fixture_runs::observed_run(), &["DATABASE", "LOCK_WAITS"], &[]);
    add(
        &|run| {
            *run = fixture_runs::observed_run();
            for look in &mut run.trials[0].looks {
                look.numbers.values_mut().for_each(|value| *value = 7.0);
            }
        },
        &["DATABASE_IDLE"],
        &["DATABASE"],
    );
    add(
        &|run| {
            *run = fixture_runs::cost_run(true);
            for (place, look) in run.trials[0].looks.iter_mut().enumerate() {
                look.numbers.insert("Connections".to_owned(), 500.0 * place as f64);
            }
        },
        &["CONNECT_PER_EVENT"],
        &[],
    );
    add(
        &|run| run.meta.server.as_mut().unwrap().cipher = Some("TLSv1.3".to_owned()),
        &["TLS"],
        &[],
    );
    add(
        &|run| {
            let first = run.trials[0].clone();
            for (block, variant) in [(1, "b"), (2, "a"), (2, "b")] {
                let variant = variant.to_owned();
                run.trials.push(crate::archive::Trial { block, variant, ..first.clone() });
            }
            run.trials[0].variant = "a".to_owned();
        },
        &["ORDER"],
        &["ONE_RUN"],
    );
    add(
        &|run| {
            for trial in &mut run.trials {
                trial.response.iter_mut().for_each(crate::recorder::Histogram::reset);
            }
        },
        &["LOAD_FAILED", "ERRORS_VOID"],
        &["LOAD"],
    );
    add(
        &|run| {
            let trial = &mut run.trials[0];
            trial.response.iter_mut().for_each(crate::recorder::Histogram::reset);
            trial.failed.iter_mut().for_each(crate::recorder::Histogram::reset);
        },
        &["LOAD_EMPTY"],
        &["LOAD_FAILED", "ERRORS_SOME"],
    );
    add(
        &|run| {
            let trial = &mut run.trials[0];
            trial.response.iter_mut().for_each(crate::recorder::Histogram::reset);
            trial.failed.iter_mut().for_each(crate::recorder::Histogram::reset);
            trial.abandoned = 2;
        },
        &["LOAD_EMPTY", "ABANDONED_ALL"],
        &["ABANDONED"],
    );
    all
}

/// Runs with several variants, and replays.
#[expect(clippy::too_many_lines, reason = "a table: a row for each situation")]
fn experiments() -> Vec<Situation> {
    let mut all = Vec::new();
    let mut add = |run: RunRecord, said, not_said| all.push(Situation { run, said, not_said });
    add(
        demo(|_| {}),
        &[
            "WARM_READS",
            "WARM_OTHERS",
            "WARM_TIMES",
            "WARM_PAYS",
            "DATA_SIZE_DISK",
            "TOO_SHORT_WORK",
        ],
        &["WARM_READS_FEW", "WARM_WAITS", "TOO_SHORT_GLANCE", "STEADY"],
    );
    add(demo(|run| lose_time(run, 0, 80e6)), &["NOISE", "WARM_READS"], &[]);
    let sized = |data: u64| {
        demo(|run| drop(run.meta.facts.insert("data_bytes".to_owned(), (data << 20).into())))
    };
    add(sized(200), &["DATA_SIZE_MEMORY"], &["DATA_SIZE_DISK"]);
    add(sized(300), &["DATA_SIZE_BORDERLINE"], &["DATA_SIZE_DISK"]);
    let from_device = |bytes: Option<f64>| {
        demo(|run| {
            let load = run.steps.iter_mut().find(|s| s.kind == RecordedStepKind::Load).unwrap();
            let before = load.before["process.read_bytes"];
            load.after.remove("process.read_bytes");
            load.after.extend(bytes.map(|b| ("process.read_bytes".to_owned(), before + b)));
        })
    };
    add(from_device(Some(1e6)), &["NOT_COLD_CACHED"], &["NOT_COLD_UNSEEN"]);
    add(from_device(None), &["NOT_COLD_UNSEEN"], &["NOT_COLD_CACHED"]);
    let noted = |run: &mut RunRecord| {
        run.steps[0].side_effects.push("cleaners is 4, and 1 before".to_owned());
    };
    add(demo(noted), &["SIDE_EFFECT"], &[]);
    let broken = |run: &mut RunRecord| {
        let list = vec![DataVerdict { state: DataState::Broken, ..DataVerdict::default() }];
        run.steps[0].data = Some(DataVerdicts { list, ..DataVerdicts::default() });
    };
    add(demo(broken), &["BROKEN_DATA"], &[]);
    let seconds_of = |variant: &str, times: f64| {
        demo(|run| {
            for trial in run.trials.iter_mut().filter(|t| t.variant == variant && t.pass == 1) {
                let length = (trial.ended_ns - trial.began_ns) as f64;
                trial.ended_ns = trial.began_ns + (length * times) as u64;
            }
        })
    };
    add(seconds_of("load", 5.0), &["WARM_TIMES_BLIND", "WARM_READS"], &["WARM_TIMES", "WARM_PAYS"]);
    add(seconds_of("scan", 0.5), &["WARM_TIMES_CLOSE", "WARM_TIMES"], &["WARM_TIMES_BLIND"]);
    let mut slow = seconds_of("load", 1.0);
    slow.steps.iter_mut().filter_map(|s| s.warmed.as_mut()).for_each(|w| w.seconds = 60.0);
    add(slow, &["WARM_WAITS"], &["WARM_PAYS"]);
    let few = demo(|run| {
        for trial in &run.trials {
            let step = run.steps.iter_mut().find(|s| s.number == trial.step).unwrap();
            let before = step.before["Innodb_buffer_pool_reads"];
            step.after.insert("Innodb_buffer_pool_reads".to_owned(), before + 8000.0);
        }
    });
    add(few, &["WARM_READS_FEW"], &["WARM_READS"]);
    let mut warmed = fixture_runs::demo_run();
    warmed.trials.clear();
    add(warmed, &["WARMED"], &["NOTHING"]);
    add(RunRecord::default(), &["NOTHING"], &["WARMED", "CRASHES"]);
    let crash = Some(CrashRound::default());
    let kill = StepRecord { kind: RecordedStepKind::Crash, crash, ..StepRecord::default() };
    let killed = RunRecord { steps: vec![kill], ..RunRecord::default() };
    let mut lost = demo(|_| {});
    lost.trials.clear();
    lost.steps.retain(|step| step.kind == RecordedStepKind::Load);
    add(lost, &["LOADS_LOST"], &["NOTHING"]);
    add(killed, &["CRASHES"], &["NOTHING", "WARMED"]);
    let pair =
        |base: &[u64], variant: &[u64]| compare::tests::experiment(&[("a", base), ("b", variant)]);
    let flat: &[u64] = &[1000, 1001, 999, 1002, 998, 1000];
    add(
        pair(flat, &[1310, 1320, 1300, 1315, 1303, 1312]),
        &["PAIR_VERDICT", "PAIR_BESIDE"],
        &["PAIR_UNSURE", "PAIR_SAME", "PAIR_NOISE", "PAIR_BEYOND_NOISE"],
    );
    add(pair(flat, &[1003, 1002, 1000, 1003, 1000, 1001]), &["PAIR_SAME"], &["PAIR_UNSURE"]);
    add(pair(&[1000, 1030, 980], &[1020, 1000, 1005]), &["PAIR_UNSURE"], &["PAIR_SAME"]);
    add(
        pair(flat, &[1021, 1024, 1015, 1022, 1016, 1030]),
        &["PAIR_UNSURE_MARGIN"],
        &["PAIR_UNSURE"],
    );
    let noisy = |variant: &[u64], lost: f64| {
        let mut run = pair(flat, variant);
        in_steps(&mut run);
        (0..run.steps.len()).for_each(|step| lose_time(&mut run, step, lost));
        run
    };
    add(
        noisy(&[3600, 3610, 3590, 3640, 3580, 3605], 80e6),
        &["PAIR_VERDICT", "PAIR_BEYOND_NOISE", "NOISE"],
        &["PAIR_NOISE"],
    );
    add(
        noisy(&[1310, 1320, 1300, 1315, 1303, 1312], 200e6),
        &["PAIR_NOISE", "NOISE"],
        &["PAIR_VERDICT", "PAIR_BEYOND_NOISE"],
    );
    add(
        noisy(&[1000, 1300, 1000, 900, 1100, 1005], 200e6),
        &["PAIR_UNSURE", "NOISE"],
        &["PAIR_NOISE"],
    );
    let three = |third: &[u64]| {
        compare::tests::experiment(&[
            ("a", &[1000, 1002, 998, 1001]),
            ("b", &[1200, 1203, 1199, 1201]),
            ("c", third),
        ])
    };
    add(three(&[1300, 1301, 1299, 1304]), &["RACE_BEST", "AGAINST"], &["RACE_UNSURE"]);
    add(three(&[1201, 1203, 1200, 1202]), &["RACE_SAME"], &["RACE_BEST"]);
    add(three(&[1150, 1290, 1150, 1240]), &["RACE_UNSURE"], &["RACE_BEST"]);
    let mut many = three(&[1300, 1301, 1299, 1304]);
    for trial in many.trials.iter_mut().filter(|t| t.variant == "c") {
        trial.settings = [("x", "1"), ("y", "2")].map(|(k, v)| (k.into(), v.into())).into();
    }
    add(many, &["CONFOUNDED_PLAN"], &["CONFOUNDED_RUNS"]);
    add(
        fixture_replays::replay_run(),
        &[
            "REPLAY_VERDICT",
            "REPLAY_SLOWED",
            "REPLAY_BEHIND",
            "REPLAY_LEFT_OUT",
            "BEHIND",
            "PART_LOAD",
            "OTHER_ROWS",
            "TWO_CLOCKS",
            "WHOLE_SECONDS",
        ],
        &["REPLAY_NONE"],
    );
    add(fixture_replays::two_variant_run(), &["REPLAY_CHANGES"], &[]);
    let costs = |times: &[f64]| {
        let cost = |name: &str, times: &[f64]| MeasuredCost {
            name: name.to_owned(),
            wall_ns: times.to_vec(),
            ..MeasuredCost::default()
        };
        let costs = vec![cost("insert", times), cost("update", times), cost("cut", &[])];
        Some(MeasuredFigures { costs, ..MeasuredFigures::default() })
    };
    let mut measured = fixture_runs::bench_run();
    measured.trials[0].figures = costs(&[1e5; 10]);
    add(measured, &["COSTS"], &["LOAD", "STEADY"]);
    let mut measured = pair(flat, flat);
    for (number, trial) in (0..).zip(&mut measured.trials) {
        let slower = if trial.variant == "b" { 1.5 } else { 1.0 };
        trial.figures = costs(&[1e5 * slower * (1.0 + f64::from(number % 5) / 1e3); 10]);
    }
    add(measured, &["COST_CHANGES", "COST_MEAN"], &["PAIR_SAME", "COSTS"]);
    let mut disturbed = fixture_replays::replay_run();
    lose_time(&mut disturbed, 0, 80e6);
    add(disturbed, &["REPLAY_VERDICT", "NOISE"], &["REPLAY_SLOWED"]);
    all
}

/// A step for each load, in which looks at the machine can be kept.
fn in_steps(run: &mut RunRecord) {
    for (number, trial) in (1..).zip(&mut run.trials) {
        trial.step = number;
        run.steps.push(crate::archive::StepRecord {
            number,
            kind: RecordedStepKind::Load,
            began_ns: trial.began_ns,
            ended_ns: Some(trial.ended_ns),
            ..Default::default()
        });
    }
}

/// What is said of these findings, and by which rows.
fn names(findings: &FindingResults) -> BTreeSet<&'static str> {
    let answer = findings.answer.iter().map(|said| said.id);
    answer.chain(findings.caveats.iter().map(|caveat| caveat.sentence)).collect()
}

/// Finished runs against each other.
fn finished() -> Vec<(FindingResults, &'static [&'static str])> {
    let single = |number, rate, flush: &str| compare::tests::single(number, rate, flush);
    let sides =
        ComparisonOptions { paired: false, metric: "events_per_s".to_owned(), margin: 0.02 };
    let base = [single(1, 1000, "1"), single(2, 1001, "1")];
    let mut other = [single(3, 1300, "2"), single(4, 1301, "2")];
    let mixed = [base[0].clone(), other[0].clone()];
    let one = compare_runs(&base[..1], &other[..1], &sides);
    for run in &mut other {
        run.meta.server.as_mut().unwrap().version = "11.8.2-MariaDB".to_owned();
    }
    let several = compare_runs(&base, &other, &sides);
    let mixed = compare_runs(&mixed, &base, &sides);
    vec![
        (one.results, &["PAIR_ONE_RUN", "ONE_RUN_SIDE"]),
        (several.results, &["CONFOUNDED_RUNS", "DIFFER"]),
        (mixed.results, &["MIXED"]),
    ]
}

/// Sentences of findings that no small run brings about.
fn made_up() -> Vec<AnswerSentence> {
    let mut all = Vec::new();
    let comparison =
        |verdict, more_blocks| fixture_runs::repeated_comparison(verdict, 1, more_blocks);
    for verdict in [ComparisonVerdict::Same, ComparisonVerdict::Unsure, ComparisonVerdict::Worse] {
        all.extend(noise::aa_sentences(&[comparison(verdict, Some(1))]));
    }
    let mut none = comparison(ComparisonVerdict::Unsure, None);
    none.ratio = Estimate::default();
    all.extend(compare::comparison_sentences(&[none], &[]));
    let point = |n: f64, rate: f64| ScalingPoint {
        value: n,
        concurrency: Some(n),
        events_per_s: Estimate::one_run(Some(rate)),
        ..ScalingPoint::default()
    };
    let sweep = |points: Vec<ScalingPoint>| ScalingFinding {
        axis: "threads".to_owned(),
        points,
        better: ScalingShape::Neither,
        notes: vec!["no law is fitted: 1 level of load".to_owned()],
        ..ScalingFinding::default()
    };
    all.extend(scaling::scaling_sentences(&sweep(Vec::new())));
    all.extend(scaling::scaling_sentences(&sweep(vec![point(1.0, 100.0)])));
    let level = vec![point(1.0, 100.0), point(2.0, 200.0), point(4.0, 201.0)];
    let two_lines = Some((100.0, 200.5));
    let level = ScalingFinding { two_lines, better: ScalingShape::TwoLines, ..sweep(level) };
    all.extend(scaling::scaling_sentences(&level));
    let law =
        Some(crate::analysis::ScalabilityLaw { lambda: 100.0, sigma: 0.1, kappa: 0.01, r2: 0.99 });
    let (peak_n, peak_rate) = (Some((9.0, 8.0, 10.0)), Some((400.0, 390.0, 410.0)));
    let peak = ScalingFinding { law, peak_n, peak_rate, ..sweep(vec![point(1.0, 100.0)]) };
    all.extend(scaling::scaling_sentences(&peak));
    let step = crate::analysis::CapacityStep {
        phase: "curve".to_owned(),
        offered_per_s: Some(10.0),
        achieved_per_s: 10.0,
        ..crate::analysis::CapacityStep::default()
    };
    let search = CapacityFinding {
        objectives: vec!["p99 < 20ms".to_owned()],
        why: Some("p99 21.0 ms".to_owned()),
        ..CapacityFinding::default()
    };
    let confirmed_per_s = Some(5000.0);
    let first_failing_per_s = Some(5100.0);
    let steps = vec![step];
    all.extend(capacity::capacity_sentences(&search));
    all.extend(capacity::capacity_sentences(&CapacityFinding {
        confirmed_per_s,
        first_failing_per_s,
        steps,
        ..search.clone()
    }));
    all.extend(capacity::capacity_sentences(&CapacityFinding {
        ill_posed: Some("p99 is 19 ms unloaded".to_owned()),
        ..search
    }));
    let mut replay = analyse_run(&fixture_replays::replay_run()).replays.remove(0);
    replay.behind = None;
    replay.classes.clear();
    all.extend(replay::replay_sentences(&[replay.clone()]));
    replay.sent = 0;
    all.extend(replay::replay_sentences(&[replay]));
    let group = WaitGroup { words: "1 wait".to_owned(), ..WaitGroup::default() };
    all.extend(waits::wait_sentences(&[], &[group]));
    let wait = crate::analysis::WaitFinding { count: 1, ..Default::default() };
    all.extend(waits::wait_sentences(&[wait], &[]));
    all
}

/// What is said of a load that was seen like this.
fn seen(change: impl FnOnce(&mut RunFindings), until_steady: bool) -> BTreeSet<&'static str> {
    let load = LoadRequest { until_steady, ..LoadRequest::default() };
    let run = bench(|run| run.meta.load = Some(load));
    let mut findings = analyse_run(&run);
    change(&mut findings);
    let RunFindings { results, variants, data, noise, timeline, .. } = &findings;
    let trials = &results.trials;
    let input = CaveatInput { run: &run, trials, variants, data, noise, costs: &[] };
    let answer = super::super::answer::answer_sentences(variants, trials, &timeline.phases, 1.0);
    let answer = answer.iter().map(|said| said.id);
    answer.chain(caveats::find_caveats(&input).iter().map(|caveat| caveat.sentence)).collect()
}

fn steady(verdict: SteadyVerdict) -> impl FnOnce(&mut RunFindings) {
    move |findings| {
        let level = Some(1000.0);
        findings.results.trials[0].steady =
            Some(SteadyState { verdict, level, ..SteadyState::default() });
    }
}

/// What long loads bring about.
fn long_loads() -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    all.extend(seen(steady(SteadyVerdict::Slowing), false));
    all.extend(seen(steady(SteadyVerdict::Slowing), true));
    let stop = Stall {
        kind: StallKind::FullStop,
        began_s: 1.0,
        seconds: 2.0,
        depth: 1.0,
        lost_events: 9.0,
        max_s: None,
    };
    let stalls = StallFindings { events: vec![stop], lost_share: 0.1, ..StallFindings::default() };
    all.extend(seen(|findings| findings.results.trials[0].stalls = Some(stalls), false));
    all
}

/// Each situation and what is found in it, analysed once for all tests.
fn situations() -> &'static [(Situation, RunFindings)] {
    static FOUND: LazyLock<Vec<(Situation, RunFindings)>> = LazyLock::new(|| {
        let all = loads().into_iter().chain(experiments());
        let found = all.map(|situation| {
            let findings = analyse_run(&situation.run);
            (situation, findings)
        });
        found.collect()
    });
    &FOUND
}

/// Everything that any situation brings about.
fn everything() -> Vec<FindingResults> {
    let of_runs = situations().iter().map(|(_, findings)| findings.results.clone());
    of_runs.chain(finished().into_iter().map(|(findings, _)| findings)).collect()
}

#[test]
fn each_situation_says_what_it_must_and_nothing_that_it_must_not() {
    let mut wrong = Vec::new();
    for (place, (situation, findings)) in situations().iter().enumerate() {
        let names = names(&findings.results);
        let missing = situation.said.iter().filter(|said| !names.contains(*said));
        wrong.extend(missing.map(|said| format!("{place}: {said} is missing in {names:?}")));
        let too_much = situation.not_said.iter().filter(|said| names.contains(*said));
        wrong.extend(too_much.map(|said| format!("{place}: {said} is in {names:?}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (findings, said) in finished() {
        let names = names(&findings);
        assert!(said.iter().all(|one| names.contains(one)), "{said:?}: {names:?}");
    }
}

#[test]
fn every_sentence_has_a_situation() {
    let mut said: BTreeSet<&str> = everything().iter().flat_map(names).collect();
    said.extend(made_up().iter().map(|one| one.id));
    said.extend(long_loads());
    let rows = caveat_texts::ALL.iter().map(|row| row.name);
    let rows = rows.chain(answer_texts::ALL.iter().map(|row| row.id));
    let missing: Vec<&str> = rows.filter(|name| !said.contains(name)).collect();
    assert!(missing.is_empty(), "never said: {missing:?}");
}

/// What is wrong with a text in any situation.
fn fault(text: &str) -> Option<String> {
    if text.contains(['{', '}']) {
        return Some("an open gap".to_owned());
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let many = words.windows(2).find(|pair| {
        let noun = pair[1].trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_word = noun.len() > 3 && noun.chars().all(char::is_alphabetic);
        let is_plural = noun.ends_with('s') && !noun.ends_with("ss");
        pair[0].trim_start_matches('(') == "1" && is_word && is_plural
    });
    many.map(|pair| pair.join(" "))
}

#[test]
fn every_text_is_whole_and_counts_right() {
    let made_up = made_up().into_iter().map(|said| said.text);
    let texts = everything().into_iter().flat_map(|findings| {
        let answer = findings.answer.into_iter().map(|said| said.text);
        let caveats = findings.caveats.into_iter().flat_map(|c| [c.evidence, c.remedy]);
        answer.chain(caveats).collect::<Vec<_>>()
    });
    let wrong = texts.chain(made_up).filter_map(|text| Some((fault(&text)?, text)));
    assert_eq!(wrong.collect::<Vec<_>>(), []);
    assert!(fault("in 1 blocks, 2").is_some() && fault("{gap}").is_some());
}

#[test]
fn void_and_a_verdict_never_stand_together() {
    let mut void = 0;
    for findings in everything() {
        let is_void = findings.caveats.iter().any(|caveat| caveat.level == CaveatLevel::Void);
        let first = findings.answer.first().map_or("", |said| &said.text);
        assert_eq!(first.starts_with(NOT_RELIABLE), is_void, "{first}");
        if !is_void {
            continue;
        }
        void += 1;
        let praise =
            |said: &AnswerSentence| PRAISE.iter().find(|word| said.text.contains(**word)).copied();
        for said in &findings.answer {
            assert_eq!(praise(said), None, "{}", said.text);
        }
        let changes = findings.replay_changes.iter().map(|one| &one.change);
        for one in findings.comparisons.iter().chain(changes) {
            assert_eq!(one.verdict, ComparisonVerdict::Unsure, "{}", one.variant);
        }
    }
    assert!(void > 5, "{void}");
    for (_, findings) in situations() {
        let classes = findings.replays.iter().flat_map(|replay| &replay.classes);
        let is_void = findings.results.void_caveat().is_some();
        for one in classes.filter(|_| is_void).filter_map(|class| class.change.as_ref()) {
            assert_eq!(one.verdict, ComparisonVerdict::Unsure, "{}", one.variant);
        }
    }
    // What is left of a claim claims nothing, whatever fills its gaps.
    for row in answer_texts::ALL {
        let words = row.if_void.split('{').map(|part| part.split_once('}').map_or(part, |p| p.1));
        let words: String = words.collect();
        let praised = PRAISE.iter().find(|word| words.contains(**word));
        assert_eq!(praised, None, "{}: {}", row.id, row.if_void);
    }
}

#[test]
fn only_what_is_the_same_is_called_so() {
    for findings in everything().iter().filter(|f| f.comparisons.iter().any(|c| c.decides)) {
        let is_same = findings.comparisons.iter().any(|c| c.verdict == ComparisonVerdict::Same);
        let says_so = findings.answer.iter().any(|said| said.text.contains("the same"));
        assert!(!says_so || is_same, "{:?}", findings.answer);
        assert!(findings.answer.iter().all(|said| !said.text.contains("No difference")));
    }
}

#[test]
fn every_row_says_when_and_names_its_gaps() {
    let gaps = |text: &str| -> Vec<String> {
        let parts = text.split('{').skip(1);
        parts.filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
    };
    let caveats =
        caveat_texts::ALL.iter().map(|row| (row.name, row.when, [row.evidence, row.remedy]));
    let answers = answer_texts::ALL.iter().map(|row| (row.id, row.when, [row.text, row.if_void]));
    for (name, when, texts) in caveats.chain(answers) {
        assert!(!when.is_empty(), "{name}");
        let all: Vec<String> = texts.iter().flat_map(|text| gaps(text)).collect();
        assert!(all.iter().all(|gap| !gap.is_empty()), "{name}: {all:?}");
    }
}

#[test]
fn the_documentation_says_when_a_doubt_is_raised() {
    let docs = include_str!("../../../../../docs/reading-results.md");
    let is_missing = |row: &&&super::CaveatTemplate| {
        let mut lines = docs.lines();
        let line = lines.find(|line| line.starts_with(&format!("| `{}` |", row.id)));
        !line.is_some_and(|line| line.contains(row.when))
    };
    let missing = caveat_texts::ALL.iter().filter(is_missing);
    let missing: Vec<String> = missing.map(|row| format!("{}: {}", row.id, row.when)).collect();
    assert!(missing.is_empty(), "not in docs/reading-results.md:\n{}", missing.join("\n"));
}
