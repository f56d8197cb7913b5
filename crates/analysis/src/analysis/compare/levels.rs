//! The deciding metric in absolute numbers: what a page draws first.

use super::super::findings::{LevelRange, TrialFinding, VariantLevel};
use super::super::statistics::correction::ALPHA;
use super::super::statistics::welch::one_sample;
use super::units::ComparisonUnit;

/// The level of each side over its blocks.
pub(in super::super) fn levels_of_sides(
    sides: &[(&str, Vec<&ComparisonUnit>)],
    metric: &'static str,
) -> Vec<VariantLevel> {
    let level = |(name, units): &(&str, Vec<&ComparisonUnit>)| {
        let values: Vec<f64> = units.iter().filter_map(|u| u.values.get(metric).copied()).collect();
        let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
        let interval = one_sample(&logs).map(|mean| mean.confidence_interval(ALPHA));
        let range = interval.map(|(low, high)| LevelRange::Confidence(low.exp(), high.exp()));
        let value = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let name = (*name).to_owned();
        (!values.is_empty()).then_some(VariantLevel { name, metric, value, range, values })
    };
    sides.iter().filter_map(level).collect()
}

/// The rate of each load by itself, where there are no blocks to tell more.
pub(in super::super) fn levels_of_loads(trials: &[TrialFinding]) -> Vec<VariantLevel> {
    let level = |trial: &TrialFinding| {
        Some(VariantLevel {
            name: trial.title.clone(),
            metric: super::METRIC,
            value: trial.events_per_s.value?,
            range: trial.rates.map(|rates| LevelRange::Intervals(rates.min, rates.max)),
            values: Vec::new(),
        })
    };
    trials.iter().filter_map(level).collect()
}
