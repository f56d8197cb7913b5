//! Figures that a workload itself measured: the median of the samples with the interval that order statistics give it.

use super::costs;
use super::findings::{FiguresFinding, MedianFigure};
use super::statistics::order_statistics::quantile_interval;
use super::statistics::robust::median;
use crate::archive::Trial;
use crate::recorder::FigureSeries;

/// The figures of a load; `None` where its workload measures nothing itself.
pub(super) fn figures_of(trial: &Trial) -> Option<FiguresFinding> {
    let found = trial.figures.as_ref()?;
    Some(FiguresFinding {
        header: found.header.clone(),
        figures: found.series.iter().map(median_of).collect(),
        costs: found.costs.iter().map(costs::cost_of).collect(),
        notes: found.notes.clone(),
    })
}

fn median_of(series: &FigureSeries) -> MedianFigure {
    let mut sorted: Vec<f64> = series.samples.iter().copied().filter(|s| s.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let (low_rank, high_rank) = quantile_interval(sorted.len() as u64, 0.5);
    let at = |rank: u64| sorted.get(usize::try_from(rank.checked_sub(1)?).ok()?).copied();
    let bounds = at(low_rank).zip(at(high_rank));
    MedianFigure {
        name: series.name.clone(),
        unit: series.unit.clone(),
        value: median(&sorted),
        low: bounds.map(|(low, _)| low),
        high: bounds.map(|(_, high)| high),
        samples: sorted.len() as u64,
        is_detail: series.is_detail,
        is_told_apart: bounds
            .zip(series.neutral)
            .map(|((low, high), neutral)| !(low..=high).contains(&neutral)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::MeasuredFigures;

    fn figure(samples: &[f64], neutral: Option<f64>) -> MedianFigure {
        let [name, unit] = ["a", "ns"].map(str::to_owned);
        median_of(&FigureSeries {
            name,
            unit,
            samples: samples.to_vec(),
            neutral,
            is_detail: false,
        })
    }

    #[test]
    fn the_median_has_the_interval_of_its_order_statistics() {
        let samples: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        let found = figure(&samples, Some(5.0));
        // Between the 6th and the 15th of 20 lies the median in 95.9 % of all samples.
        assert_eq!((found.value, found.low, found.high), (Some(10.5), Some(6.0), Some(15.0)));
        assert_eq!(found.is_told_apart, Some(true));
        assert_eq!(figure(&samples, Some(6.0)).is_told_apart, Some(false));
        assert_eq!(figure(&samples, None).is_told_apart, None);
    }

    #[test]
    fn few_samples_have_no_interval_and_none_no_value() {
        let found = figure(&[1.0, 2.0, 3.0], Some(0.0));
        assert_eq!((found.value, found.low, found.is_told_apart), (Some(2.0), None, None));
        assert_eq!(found.remark(), "too few samples");
        assert_eq!(figure(&[f64::NAN], None).remark(), "no samples");
        let trial = Trial { figures: Some(MeasuredFigures::default()), ..Trial::default() };
        assert_eq!(figures_of(&trial).unwrap().figures, []);
        assert_eq!(figures_of(&Trial::default()), None);
    }
}
