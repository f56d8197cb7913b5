//! Findings made by hand of operations that were measured one by one.

use super::samples::{bench_findings, comparison_sample};
use crate::analysis::{
    AnswerSentence, ComparisonVerdict, CostChange, CostFinding, Estimate, FiguresFinding,
    MetricComparison, RunFindings,
};

/// A load that measured operations one by one: with an interval, without one, not to its end.
pub(super) fn costs_sample() -> RunFindings {
    let mut findings = bench_findings();
    let cost = |name: &str, group: &str, count: u64, time_s: Option<f64>, remark: &str| {
        let [name, group, remark] = [name, group, remark].map(str::to_owned);
        CostFinding {
            name,
            group,
            count,
            rounds: if time_s.is_some() { 10 } else { 0 },
            time_s,
            time_low_s: time_s.map(|s| s * 0.97),
            time_high_s: time_s.map(|s| s * 1.04),
            cpu_s: time_s.map(|s| s * 0.8),
            rows_per_s: time_s.map(|s| 100.0 / s),
            remark,
        }
    };
    let connect = CostFinding {
        cpu_s: None,
        rows_per_s: None,
        ..cost("connect", "connect", 120, Some(163e-6), "")
    };
    let few = CostFinding {
        rounds: 3,
        time_low_s: None,
        time_high_s: None,
        ..cost("create_table", "ddl", 7, Some(4.5e-3), "")
    };
    findings.results.trials[0].figures = Some(FiguresFinding {
        header: "one operation: median wall time of 10 rounds, each over all operations in turn; \
                 CPU time of the server's thread"
            .to_owned(),
        figures: Vec::new(),
        costs: vec![
            connect,
            few,
            cost("order_by_no_key_limit", "sort", 35, Some(0.424e-3), ""),
            cost("count_distinct_no_key", "group", 1, Some(1.2), ""),
            cost("update_all", "update", 300, None, "cut after 12 of 300"),
            cost("load_1000_rows", "insert", 0, None, "left out"),
        ],
        notes: vec![
            "[CUT] update_all: a round took longer than 10s: cut after 12 of 300".to_owned(),
            "[LEFT-OUT] load_1000_rows: the server has local_infile=OFF <b>".to_owned(),
        ],
    });
    findings.results.answer = vec![AnswerSentence::from_text(
        "4 operations measured in 10 rounds each; without figures: update_all cut after 12 of \
         300, load_1000_rows left out.",
    )];
    findings
}

/// The same in two variants: one operation slower, one faster, one not told, one in one of them only, and the mean.
pub(super) fn cost_changes_sample() -> RunFindings {
    let mut findings = comparison_sample();
    let sample = findings.results.comparisons[0].clone();
    findings.results.comparisons.clear();
    findings.results.levels.clear();
    let change = |name: &str, ratio: Option<f64>, spread: f64, verdict: ComparisonVerdict| {
        let base_s = Some(163e-6);
        CostChange {
            name: name.to_owned(),
            group: "key".to_owned(),
            is_mean: name.starts_with("geometric"),
            base_s,
            variant_s: ratio.zip(base_s).map(|(ratio, base)| ratio * base),
            change: MetricComparison {
                metric: "time_s".to_owned(),
                more_is_better: false,
                verdict,
                ratio: Estimate {
                    value: ratio,
                    ci95: ratio.map(|ratio| (ratio / spread, ratio * spread)),
                    runs: 6,
                },
                decides: false,
                pairs: Vec::new(),
                levels: None,
                ..sample.clone()
            },
        }
    };
    findings.results.cost_changes = vec![
        change("select_key", Some(1.31), 1.05, ComparisonVerdict::Worse),
        change("insert_5_indexes", Some(0.42), 1.1, ComparisonVerdict::Better),
        change("range_key", Some(1.003), 1.01, ComparisonVerdict::Same),
        change("truncate", Some(1.02), 1.4, ComparisonVerdict::Unsure),
        change("geometric mean of 4", Some(0.87), 1.02, ComparisonVerdict::Better),
        change("load_1000_rows", None, 1.0, ComparisonVerdict::Unsure),
    ];
    findings.results.answer = vec![AnswerSentence::from_text(
        "Of 4 operations measured in both, with `O_DIRECT` against `fsync`: 1 slower, 1 faster, \
         1 the same, 1 unsure.",
    )];
    findings
}
