//! RunFindings made by hand, with everything that a report can show.

use std::sync::LazyLock;

use super::order_entry;

use crate::archive::DurationCounts;

use crate::analysis::{
    AnswerSentence, AuditClass, AuditFinding, AuditRate, AuditRule, AuditVerdict, BlockPair,
    CapacityFinding, CapacityStep, CheckFinding, CheckOutcome, ClassTimes, ComparisonVerdict,
    DifferenceKind, Estimate, FiguresFinding, HealthLevel, InsideOutside, MedianFigure,
    MetricComparison, NoiseItem, RunFindings, ScalabilityLaw, ScalingFinding, ScalingPoint,
    ScalingShape, SetupDifference, SignedRank, Stall, StallCause, StallFindings, StallKind,
    SteadyState, SteadyVerdict, StepOutcome, WaitFinding, WaitGroup, WaitSource, WaitTracingCost,
    analyse_run, fixture_runs, replay,
};

/// What the run of the demo says, analysed once for all tests.
pub(super) fn demo_findings() -> RunFindings {
    static FOUND: LazyLock<RunFindings> = LazyLock::new(|| analyse_run(&fixture_runs::demo_run()));
    FOUND.clone()
}

/// What one load says, analysed once for all tests.
pub(super) fn bench_findings() -> RunFindings {
    static FOUND: LazyLock<RunFindings> = LazyLock::new(|| analyse_run(&fixture_runs::bench_run()));
    FOUND.clone()
}

/// A load with rules of its own: of each verdict one.
pub(super) fn audit_sample() -> RunFindings {
    let mut findings = bench_findings();
    let rule = |clause: &str, label: &str, unit: &str, value, (low, high), samples, verdict| {
        let [clause, label, unit] = [clause, label, unit].map(str::to_owned);
        let samples_needed = 11_500;
        AuditRule { clause, label, unit, value, low, high, samples, samples_needed, verdict }
    };
    let bounds = (Some(14.0), Some(16.0));
    findings.results.trials[0].audit = Some(AuditFinding {
        header: "TPC-C-like, not audited, not comparable with published results".to_owned(),
        rates: vec![
            AuditRate {
                name: "tpmC".to_owned(),
                help: "new orders/min, rolled back ones too".to_owned(),
                class: Some("new_order".to_owned()),
                count: 617_280,
                value: 12_345.6,
                efficiency: Some(0.96),
            },
            AuditRate {
                name: "NOPM".to_owned(),
                help: "committed new orders/min".to_owned(),
                class: None,
                count: 611_110,
                value: 12_222.2,
                efficiency: None,
            },
        ],
        rules: vec![
            rule(
                "5.5.1.5",
                "remote payments",
                "%",
                Some(15.1),
                bounds,
                20_000,
                AuditVerdict::Holds,
            ),
            rule("5.5.1.5", "remote <b>", "%", Some(0.0), bounds, 20_000, AuditVerdict::Broken),
            rule("5.5.1.5", "rolled back", "%", None, bounds, 0, AuditVerdict::TooFew),
            rule(
                "5.2.5.3",
                "p90 new_order",
                "s",
                Some(0.0123),
                (None, Some(5.0)),
                60_000,
                AuditVerdict::Holds,
            ),
        ],
        classes: Vec::new(),
        durations: vec![DurationCounts {
            clause: "5.6.3".to_owned(),
            label: "think time, new order".to_owned(),
            bin_s: 0.5,
            counts: (0..96).map(|bin| 5000 - 50 * bin).collect(),
            longer: 17,
        }],
    });
    findings
}

/// A load with the five transactions of an order entry: one is too slow, one has retries, one failed.
pub(super) fn order_entry_sample() -> RunFindings {
    let mut findings = audit_sample();
    let trial = &mut findings.results.trials[0];
    let classes = order_entry::TRANSACTIONS.iter().zip(1..).map(|(name, number): (_, u64)| {
        let mut class = trial.classes[0].clone();
        (*name).clone_into(&mut class.name);
        class.response.mean_s = Some(number as f64 / 1000.0);
        class.response.p90_s = (number < 5).then_some(number as f64 / 500.0);
        class
    });
    trial.classes = classes.collect();
    let audit = trial.audit.as_mut().expect("the sample has one");
    let class = |name: &str, limit_s, in_time, late, restarted, failed| AuditClass {
        name: name.to_owned(),
        limit_s,
        in_time,
        late,
        restarted,
        failed,
        mean_s: Some(0.0123),
    };
    audit.classes = vec![
        class("new_order", 5.0, 617_200, 80, 12, 0),
        class("payment", 5.0, 590_000, 0, 3, 0),
        class("order_status", 5.0, 40_000, 0, 0, 0),
        class("delivery", 5.0, 40_000, 20_000, 7, 1),
        class("stock_level", 20.0, 60_000, 0, 0, 0),
    ];
    for (number, interval) in findings.timeline.intervals.iter_mut().enumerate().take(3) {
        let times = |class| ClassTimes {
            class,
            events: 1000 + number as u64,
            p95_s: 0.0095,
            p99_s: 0.0187,
            max_s: 0.2131 + class as f64,
        };
        interval.class_times = (0..5 - number).map(times).collect();
    }
    findings
}

/// A load that measured something itself: figures with and without an interval, and what must be known of them.
pub(super) fn figures_sample() -> RunFindings {
    let mut findings = bench_findings();
    let figure =
        |name: &str, unit: &str, value: Option<f64>, bounds: Option<(f64, f64)>, is_told_apart| {
            let [name, unit] = [name, unit].map(str::to_owned);
            let (low, high) = (bounds.map(|b| b.0), bounds.map(|b| b.1));
            let is_detail = value.is_none();
            MedianFigure { name, unit, value, low, high, samples: 20, is_told_apart, is_detail }
        };
    let (apart, same) = (Some(true), Some(false));
    findings.results.trials[0].figures = Some(FiguresFinding {
        header: "cost of an evaluation, the loop's own taken off: CPU time of the server's thread"
            .to_owned(),
        figures: vec![
            figure("md5(@x)", "ns", Some(412.3), Some((398.0, 431.0)), apart),
            figure(
                "'<b>' regexp concat('a very long', 'expression')",
                "ns",
                Some(87.6),
                None,
                None,
            ),
            figure("1 + 1", "ns", Some(0.12), Some((-0.3, 0.4)), same),
            figure("cut", "ns", None, None, None),
            figure("md5(@x) / sha1(@x)", "x", Some(4.71), Some((4.3, 5.1)), apart),
        ],
        costs: Vec::new(),
        notes: vec!["[FREE] 1 + 1: less than 2 ns, no more than a literal <i>".to_owned()],
    });
    findings
}

/// Two variants in six blocks: one metric tells, one doesn't. The loads are steady, with stalls.
pub(super) fn comparison_sample() -> RunFindings {
    let mut findings = bench_findings();
    let only = findings.results.trials.remove(0);
    for block in 1..=6u32 {
        for variant in ["fsync", "O_DIRECT"] {
            let mut trial = only.clone();
            let faster = if variant == "O_DIRECT" { 1.06 } else { 1.0 };
            let drift = 1.0 + f64::from(block % 3) * 0.006;
            trial.id = format!("{:02}-{variant}-1", findings.results.trials.len() + 1);
            variant.clone_into(&mut trial.variant);
            trial.block = block;
            trial.events_per_s.value = Some(3771.0 * faster * drift);
            trial.steady = Some(sample_steady());
            trial.stalls = Some(sample_stalls(only.began_s));
            findings.results.trials.push(trial);
        }
    }
    findings.results.answer = vec![AnswerSentence::from_text(
        "`O_DIRECT` is 6.0 % faster than `fsync`, 95 % interval +4.2 to +8.0 %, 6 blocks.",
    )];
    findings.results.comparisons = sample_comparisons();
    findings.results.differences = vec![
        sample_difference(
            DifferenceKind::Setting,
            "innodb_flush_method",
            "fsync",
            "O_DIRECT",
            true,
        ),
        sample_difference(DifferenceKind::Machine, "kernel", "Linux 6.12", "Linux 6.13 <b>", false),
    ];
    findings.noise = vec![
        sample_noise("foreign_cpu", "CPU of other programs", 0.4, "%", HealthLevel::Ok, ""),
        sample_noise(
            "steal",
            "stolen by the hypervisor",
            3.2,
            "%",
            HealthLevel::Warn,
            "measure on a quieter host",
        ),
    ];
    findings.checks = vec![
        sample_check(
            "p99 < 20ms",
            "11.8 ms",
            CheckOutcome::Pass,
            "its interval 11.2 to 12.5 ms lies below",
        ),
        sample_check(
            "events_per_s > 5000",
            "3 998 /s",
            CheckOutcome::Fail,
            "its interval lies below",
        ),
        sample_check(
            "stalls == 0",
            "2",
            CheckOutcome::Unsure,
            "the load could not show stalls below 0.4 s",
        ),
    ];
    findings
}

fn sample_difference(
    kind: DifferenceKind,
    name: &str,
    base: &str,
    other: &str,
    intended: bool,
) -> SetupDifference {
    let [name, base, other] = [name, base, other].map(str::to_owned);
    let variant = "O_DIRECT".to_owned();
    SetupDifference { kind, name, base, other, intended, variant, is_derived: false }
}

fn sample_noise(
    id: &'static str,
    title: &'static str,
    value: f64,
    unit: &'static str,
    level: HealthLevel,
    remedy: &str,
) -> NoiseItem {
    let (when, remedy) = ("during 01-load".to_owned(), remedy.to_owned());
    NoiseItem { id, title, when, value, unit, level, remedy }
}

fn sample_check(text: &str, value: &str, verdict: CheckOutcome, why: &str) -> CheckFinding {
    let [text, value, why] = [text, value, why].map(str::to_owned);
    CheckFinding { text, value, verdict, why }
}

fn sample_comparisons() -> Vec<MetricComparison> {
    let pairs = |base: f64, ratio: f64| {
        let pair = |block: u32| {
            let drift = 1.0 + f64::from(block % 3) * 0.006;
            let own = ratio * (1.0 + f64::from(block % 4) * 0.008 - 0.012);
            BlockPair { block, base: base * drift, variant: base * drift * own }
        };
        (1..=6).map(pair).collect::<Vec<_>>()
    };
    let ratio =
        |value, low, high| Estimate { value: Some(value), ci95: Some((low, high)), runs: 6 };
    let rate = MetricComparison {
        variant: "O_DIRECT".to_owned(),
        base: "fsync".to_owned(),
        metric: "events_per_s".to_owned(),
        decides: true,
        more_is_better: true,
        paired: true,
        ratio: ratio(1.06, 1.042, 1.08),
        verdict: ComparisonVerdict::Better,
        margin: 0.02,
        p: Some(0.0004),
        signed_rank: Some(SignedRank { p: 0.03125, ratio: 1.0595, ci95: (1.04, 1.079) }),
        detectable: Some(0.021),
        pairs: pairs(3771.0, 1.06),
        levels: Some((3793.0, 4020.0)),
        ..MetricComparison::default()
    };
    let p99 = MetricComparison {
        metric: "p99_s".to_owned(),
        decides: false,
        more_is_better: false,
        ratio: ratio(0.997, 0.95, 1.046),
        verdict: ComparisonVerdict::Unsure,
        p: Some(0.71),
        signed_rank: None,
        detectable: Some(0.06),
        more_blocks: Some(14),
        pairs: pairs(0.0118, 0.997),
        levels: Some((0.01187, 0.01183)),
        notes: vec!["one block has a stall in one variant only".to_owned()],
        ..rate.clone()
    };
    let cpu = MetricComparison {
        metric: "server_cpu_us".to_owned(),
        ratio: ratio(0.94, 0.93, 0.95),
        verdict: ComparisonVerdict::Better,
        pairs: pairs(182.0, 0.94),
        levels: Some((183.0, 172.0)),
        more_blocks: None,
        notes: Vec::new(),
        ..p99.clone()
    };
    vec![rate, p99, cpu]
}

fn sample_steady() -> SteadyState {
    SteadyState {
        verdict: SteadyVerdict::SteadyWithStalls,
        t0_s: Some(1.0),
        length_s: Some(6.0),
        level: Some(15_100.0),
        rate: Some(14_900.0),
        drift: Some(-0.004),
        phi: Some(0.21),
        n_eff: Some(44.0),
        precision: Some(0.013),
        why: Vec::new(),
    }
}

fn sample_stalls(began_s: f64) -> StallFindings {
    let stall = |at: f64, kind| Stall {
        kind,
        began_s: began_s + at,
        seconds: 0.6,
        depth: 1.0,
        lost_events: 9000.0,
        max_s: Some(0.61),
    };
    StallFindings {
        events: vec![stall(3.2, StallKind::FullStop), stall(5.4, StallKind::Slow)],
        dips: 1,
        lost_share: 0.08,
        period_s: Some(2.2),
        resolution_s: Some(0.1),
        full_stop_s: Some(0.3),
        longest_silence_s: Some(0.6),
        slowest_by_median: Some(0.4),
        causes: vec![StallCause {
            id: "CHECKPOINT",
            title: "the redo log was full and pages had to be written",
            evidence: "checkpoint age 94 % inside, 61 % outside".to_owned(),
            share: 1.0,
            remedy: "a larger redo log",
        }],
        counters: vec![InsideOutside {
            counter: "pages_written_per_s".to_owned(),
            inside: 5200.0,
            outside: 310.0,
            z: 9.3,
        }],
        notes: Vec::new(),
    }
}

/// A sweep over threads with a law, its rival and a peak.
pub(super) fn sweep_sample() -> RunFindings {
    let mut findings = bench_findings();
    let law = ScalabilityLaw { lambda: 1050.0, sigma: 0.025, kappa: 0.0006, r2: 0.998 };
    let rate = |n: f64| law.lambda * n / (1.0 + law.sigma * (n - 1.0) + law.kappa * n * (n - 1.0));
    let point = |n: &f64| {
        let value = rate(*n) * (1.0 + 0.01 * (n % 3.0 - 1.0));
        ScalingPoint {
            value: *n,
            concurrency: Some(*n * 0.98),
            events_per_s: Estimate {
                value: Some(value),
                ci95: Some((value * 0.97, value * 1.03)),
                runs: 3,
            },
            p99_s: Some(0.001 * n.sqrt()),
            threads_running: Some(n * 0.9),
            efficiency: Some(value / n / rate(1.0)),
        }
    };
    findings.scaling = Some(ScalingFinding {
        axis: "threads".to_owned(),
        points: [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].iter().map(point).collect(),
        law: Some(law),
        peak_n: Some((40.3, 35.0, 47.0)),
        peak_rate: Some((14_400.0, 14_000.0, 14_900.0)),
        two_lines: Some((990.0, 13_900.0)),
        better: ScalingShape::Law,
        notes: vec!["no point lies beyond twice the peak".to_owned()],
    });
    findings.waits = vec![
        sample_wait(0, "1", WaitSource::Rows, Some(4.1e-7)),
        sample_wait(0, "4", WaitSource::Summary, None),
    ];
    findings.wait_groups = vec![WaitGroup {
        variant: "4".to_owned(),
        value: "4".to_owned(),
        instrument: findings.waits[0].instrument.clone(),
        loads: 3,
        average: Some((7.4e-7, 7.0e-7, 8.1e-7)),
        waits_per_s: Some(152_000.0),
        events_per_s: Some(15_200.0),
        ratio: Some(Estimate { value: Some(0.81), ci95: Some((0.7, 0.93)), runs: 3 }),
        words: "waits are shorter by 19 %".to_owned(),
        ..WaitGroup::default()
    }];
    findings.watch_cost = Some(WaitTracingCost {
        share: Estimate { value: Some(0.04), ci95: Some((0.01, 0.07)), runs: 5 },
        pairs: 5,
        bare_s: Some(30e-6),
        watched_s: Some(31.2e-6),
        words: "gathering costs 4 % of the server's CPU per statement".to_owned(),
    });
    findings
}

fn sample_wait(trial: usize, value: &str, source: WaitSource, p50_s: Option<f64>) -> WaitFinding {
    WaitFinding {
        trial,
        value: value.to_owned(),
        instrument: "wait/synch/sxlock/innodb/hash_table_locks".to_owned(),
        operation: if p50_s.is_some() { "shared_lock".to_owned() } else { String::new() },
        count: 1_203_441,
        total_s: 0.9,
        average_s: Some(7.4e-7),
        p50_s,
        p90_s: p50_s.map(|v| v * 2.0),
        p99_s: p50_s.map(|v| v * 9.0),
        max_s: Some(0.0021),
        tick_s: Some(3.1e-8),
        source,
        coverage: Some(0.31),
        objects: Some(16),
        notes: vec!["rows cover 31 % of the waits".to_owned()],
        ..WaitFinding::default()
    }
}

/// A replay.
pub(super) fn replay_sample() -> RunFindings {
    analyse_run(&replay::fixture_replays::replay_run())
}

/// Two variants under the same replayed traffic, in six blocks.
pub(super) fn replay_variants_sample() -> RunFindings {
    analyse_run(&replay::fixture_replays::two_variant_run())
}

/// A search for capacity.
pub(super) fn capacity_sample() -> RunFindings {
    let mut findings = bench_findings();
    let only = findings.results.trials[0].clone();
    let steps = [
        ("unloaded", 100.0, 100.0, 0.0011, StepOutcome::Pass),
        ("burst", f64::NAN, 6100.0, 0.094, StepOutcome::Unjudged),
        ("curve", 1500.0, 1500.0, 0.0022, StepOutcome::Pass),
        ("curve", 3000.0, 3000.0, 0.0058, StepOutcome::Pass),
        ("curve", 4500.0, 4498.0, 0.017, StepOutcome::Pass),
        ("curve", 5500.0, 5300.0, 0.31, StepOutcome::Fail),
        ("bisect", 5000.0, 4990.0, 0.026, StepOutcome::Fail),
        ("confirm", 4700.0, 4699.0, 0.019, StepOutcome::Pass),
    ];
    findings.results.trials.clear();
    let step = |(place, step): (usize, &(&str, f64, f64, f64, StepOutcome))| CapacityStep {
        trial: place,
        phase: step.0.to_owned(),
        value: None,
        offered_per_s: Some(step.1).filter(|v| v.is_finite()),
        achieved_per_s: step.2,
        p99_s: Some(step.3),
        outcome: step.4,
        why: format!("p99 {:.1} ms against 20 ms", step.3 * 1e3),
    };
    findings.results.trials.extend(steps.iter().enumerate().map(|(place, s)| {
        let mut trial = only.clone();
        trial.id = format!("{:02}-{}", place + 1, s.0);
        trial
    }));
    findings.capacity = Some(CapacityFinding {
        objectives: vec!["p99 < 20ms".to_owned()],
        confirmed_per_s: Some(4700.0),
        first_failing_per_s: Some(5000.0),
        why: Some("p99 26 ms against 20 ms".to_owned()),
        steps: steps.iter().enumerate().map(step).collect(),
        ..CapacityFinding::default()
    });
    findings
}
