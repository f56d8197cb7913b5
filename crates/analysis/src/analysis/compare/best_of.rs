//! The best of several variants against the second best.

use super::super::findings::MetricComparison;
use super::judge::{ComparedValues, DecisionRule, StudyDesign, judge_metric};
use super::metric::ComparedMetric;
use super::units::ComparisonUnit;

/// The best variant against the second best, from three variants on. Which two these are was seen in the same numbers, so the
/// interval is as wide as if the best had been compared with each other variant (Bonferroni).
pub(super) fn compare_best_two(
    sides: &[(&str, Vec<&ComparisonUnit>)],
    design: StudyDesign,
    rule: DecisionRule,
    metric: &ComparedMetric,
) -> Option<MetricComparison> {
    if sides.len() < 3 {
        return None;
    }
    let mut ranked: Vec<(f64, &(&str, Vec<&ComparisonUnit>))> =
        sides.iter().filter_map(|side| Some((mean_log(&side.1, metric.name)?, side))).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    if metric.more_is_better {
        ranked.reverse();
    }
    let [(_, best), (_, second), ..] = ranked[..] else { return None };
    let others = sides.len() - 1;
    let values = ComparedValues::new((second.0, &second.1), (best.0, &best.1), design, metric.name);
    let rule = DecisionRule { alpha: rule.alpha / others as f64, ..rule };
    let mut found = judge_metric(&[values], metric, rule).pop()?;
    found.notes.push(format!(
        "best against second best, picked by the same numbers: the interval is widened for \
         {others} comparisons"
    ));
    Some(found)
}

/// Mean of the logarithms.
fn mean_log(units: &[&ComparisonUnit], metric: &str) -> Option<f64> {
    let logs: Vec<f64> = units.iter().filter_map(|u| Some(u.values.get(metric)?.ln())).collect();
    (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
}
