//! Axes: where a value stands, and which values get a label.

use crate::analysis::SeriesUnit;

/// What an axis counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AxisMeasure {
    /// A number, or a number per second.
    #[default]
    Number,
    /// Bytes, or bytes per second.
    Bytes,
    /// Seconds of latency.
    Latency,
}

impl From<SeriesUnit> for AxisMeasure {
    fn from(unit: SeriesUnit) -> AxisMeasure {
        match unit {
            SeriesUnit::Bytes | SeriesUnit::BytesPerSecond => AxisMeasure::Bytes,
            SeriesUnit::Count | SeriesUnit::PerSecond | SeriesUnit::Cores => AxisMeasure::Number,
        }
    }
}

/// An axis from `low` to `high`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlotAxis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) log: bool,
    /// Values with a line and a label.
    pub(super) ticks: Vec<f64>,
}

impl PlotAxis {
    /// From zero to a round value above `max`, with about four steps.
    pub(super) fn linear(max: f64, measure: AxisMeasure) -> PlotAxis {
        let max = HEADROOM * if max.is_finite() && max > 0.0 { max } else { 1.0 };
        let step = round_step(max / 4.0, measure);
        let steps = (max / step).ceil().max(1.0);
        let ticks = (0..=steps as usize).map(|n| n as f64 * step).collect();
        PlotAxis { low: 0.0, high: steps * step, log: false, ticks }
    }

    /// Whole powers of ten round the values.
    pub(super) fn log(min: f64, max: f64) -> PlotAxis {
        let usable = min.is_finite() && max.is_finite() && min > 0.0 && max >= min;
        let (min, max) = if usable { (min, max) } else { (0.001, 1.0) };
        let first = min.log10().floor() as i32;
        let last = (max.log10().ceil() as i32).max(first + 1);
        let decades = last - first;
        let between: &[f64] = if decades <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let mut ticks: Vec<f64> = (first..last)
            .flat_map(|power| between.iter().map(move |b| b * 10f64.powi(power)))
            .collect();
        ticks.push(10f64.powi(last));
        PlotAxis { low: 10f64.powi(first), high: 10f64.powi(last), log: true, ticks }
    }

    /// A stretch of time in seconds, exactly from `low` to `high`, with about eight labels.
    pub(super) fn time_range(low: f64, high: f64) -> PlotAxis {
        let high = if high > low { high } else { low + 1.0 };
        let rough = (high - low) / 8.0;
        let clock = CLOCK_STEPS.iter().copied().find(|s| *s >= rough);
        let step = match clock {
            Some(step) if rough > 1.0 => step,
            None => (rough / 3600.0).ceil() * 3600.0,
            Some(_) => round_step(rough, AxisMeasure::Number),
        };
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        PlotAxis { low, high, log: false, ticks: (first..=last).map(|n| n as f64 * step).collect() }
    }

    /// Exactly from `low` to `high`, without ticks.
    pub(super) fn without_ticks(low: f64, high: f64) -> PlotAxis {
        PlotAxis {
            low,
            high: if high > low { high } else { low + 1.0 },
            log: false,
            ticks: Vec::new(),
        }
    }

    /// Where the value stands, 0 at the low end, 1 at the high one; outside values stand at the ends.
    pub(super) fn position_of(&self, value: f64) -> f64 {
        let place = if self.log {
            (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        place.clamp(0.0, 1.0)
    }
}

/// Nothing touches the upper edge.
const HEADROOM: f64 = 1.02;
/// Steps of a clock, seconds.
const CLOCK_STEPS: &[f64] =
    &[1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0];

/// How all moments of an axis are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MomentForm {
    /// `90`
    Seconds,
    /// `1:30`
    Minutes,
    /// `0:01:30`
    Hours,
}

impl MomentForm {
    /// What suits an axis that ends there.
    pub(super) fn of_axis(axis: &PlotAxis) -> MomentForm {
        match axis.high {
            end if end < 120.0 => MomentForm::Seconds,
            end if end < 3600.0 => MomentForm::Minutes,
            _ => MomentForm::Hours,
        }
    }

    /// The unit, for the title of the axis.
    pub(super) fn unit(self) -> &'static str {
        match self {
            MomentForm::Seconds => "s",
            MomentForm::Minutes => "min:s",
            MomentForm::Hours => "h:min:s",
        }
    }

    /// A moment in this form.
    pub(super) fn format(self, seconds: f64) -> String {
        let whole = seconds.round() as u64;
        let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
        match self {
            MomentForm::Seconds => trim_zeros(seconds),
            MomentForm::Minutes => format!("{}:{rest:02}", whole / 60),
            MomentForm::Hours => format!("{hours}:{minutes:02}:{rest:02}"),
        }
    }
}

/// The next round step: 1, 2, 5 times a power of ten; for bytes a power of two.
fn round_step(rough: f64, measure: AxisMeasure) -> f64 {
    if measure == AxisMeasure::Bytes {
        return 2f64.powf(rough.log2().ceil());
    }
    let power = 10f64.powf(rough.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|t| t * power >= rough * (1.0 - 1e-9));
    times.unwrap_or(10.0) * power
}

/// A short label: `500`, `20k`, `256 MiB`, `1 ms`.
pub(super) fn tick_label(value: f64, measure: AxisMeasure) -> String {
    let scaled = |units: &[&str], by: f64| {
        let mut value = value;
        let mut place = 0;
        while value.abs() >= by * 0.9999 && place + 1 < units.len() {
            value /= by;
            place += 1;
        }
        format!("{}{}", trim_zeros(value), units[place])
    };
    match measure {
        AxisMeasure::Number if value.abs() < 10_000.0 => trim_zeros(value),
        AxisMeasure::Number => scaled(&["", "k", "M", "G"], 1000.0),
        AxisMeasure::Bytes => scaled(&[" B", " KiB", " MiB", " GiB", " TiB"], 1024.0),
        AxisMeasure::Latency => match value {
            0.0 => "0".to_owned(),
            v if v < 0.999_9e-6 => format!("{} ns", trim_zeros(v * 1e9)),
            v if v < 0.999_9e-3 => format!("{} µs", trim_zeros(v * 1e6)),
            v if v < 0.999_9 => format!("{} ms", trim_zeros(v * 1e3)),
            v => format!("{} s", trim_zeros(v)),
        },
    }
}

/// At most three digits behind the point, without zeros at the end.
fn trim_zeros(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &PlotAxis, measure: AxisMeasure) -> Vec<String> {
        axis.ticks.iter().map(|t| tick_label(*t, measure)).collect()
    }

    #[test]
    fn steps_are_round() {
        let axis = PlotAxis::linear(21_601.0, AxisMeasure::Number);
        assert_eq!(labels(&axis, AxisMeasure::Number), ["0", "10k", "20k", "30k"]);
        let axis = PlotAxis::linear(256.0 * 1048576.0, AxisMeasure::Bytes);
        let expected = ["0 B", "128 MiB", "256 MiB", "384 MiB"];
        assert_eq!(labels(&axis, AxisMeasure::Bytes), expected);
        assert_eq!(
            labels(&PlotAxis::linear(0.0, AxisMeasure::Number), AxisMeasure::Number).len(),
            4
        );
    }

    #[test]
    fn moments_stand_at_round_times() {
        let moments = |low, high| -> Vec<String> {
            let axis = PlotAxis::time_range(low, high);
            let form = MomentForm::of_axis(&axis);
            axis.ticks.iter().map(|t| form.format(*t)).collect()
        };
        assert_eq!(moments(0.0, 37.6), ["0", "5", "10", "15", "20", "25", "30", "35"]);
        assert_eq!(moments(0.0, 3.0), ["0", "0.5", "1", "1.5", "2", "2.5", "3"]);
        assert_eq!(
            moments(0.0, 240.0),
            ["0:00", "0:30", "1:00", "1:30", "2:00", "2:30", "3:00", "3:30", "4:00"]
        );
        assert_eq!(moments(3000.0, 5400.0).last().unwrap(), "1:30:00");
        assert_eq!(
            moments(0.0, 40_000.0),
            ["0:00:00", "2:00:00", "4:00:00", "6:00:00", "8:00:00", "10:00:00"]
        );
    }

    #[test]
    fn logarithmic_axes_have_whole_decades() {
        let axis = PlotAxis::log(40e-6, 0.6);
        assert_eq!(
            labels(&axis, AxisMeasure::Latency),
            ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"]
        );
        let short = PlotAxis::log(0.0011, 0.004);
        assert_eq!(labels(&short, AxisMeasure::Latency), ["1 ms", "2 ms", "5 ms", "10 ms"]);
        assert_eq!(short.position_of(0.001), 0.0);
        assert_eq!(short.position_of(0.01), 1.0);
        assert!((axis.position_of(1e-4) - 0.2).abs() < 1e-9);
        assert_eq!(axis.position_of(0.0), 0.0);
        assert_eq!(PlotAxis::log(f64::NAN, 1.0).low, 0.001);
    }
}
