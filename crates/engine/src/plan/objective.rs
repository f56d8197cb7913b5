//! What shall hold, in words: `p99 < 20ms`, `errors < 0.1%`, `events_per_s > 5000`.
//! To add a metric: a variant of [`Metric`], its words in `METRICS`, and its unit in `Metric::unit`.

use std::fmt;

use super::{Mistake, did_you_mean};
use crate::base::units::{parse_rate, parse_time, show_rate, show_time};

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// The response time, seconds, below or at which this share of the events lies: 0.99 for `p99`.
    Quantile(f64),
    /// The mean response time, seconds.
    Mean,
    /// The longest response time, seconds.
    Longest,
    /// Failed events by all events, 0 to 1.
    Errors,
    /// Good events per second.
    Rate,
}

/// Unit of a metric's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// Seconds.
    Seconds,
    /// A share of one.
    Share,
    /// Events per second.
    PerSecond,
}

/// How the value stands to the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// One thing that shall hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// What is looked at.
    pub metric: Metric,
    /// How it shall stand to the bound.
    pub relation: Relation,
    /// The bound, in the metric's unit.
    pub bound: f64,
}

/// Names of metrics that are no percentile; the first of each is the one we write.
const METRICS: &[(&[&str], Metric)] = &[
    (&["mean", "avg", "average"], Metric::Mean),
    (&["max", "longest"], Metric::Longest),
    (&["errors", "error", "failed"], Metric::Errors),
    (&["events_per_s", "tps", "throughput"], Metric::Rate),
];

/// Two-letter signs first: `<=` begins with `<`.
const RELATIONS: &[(&str, Relation)] = &[
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("<", Relation::Below),
    (">", Relation::Above),
];

impl Relation {
    /// Whether a value stands so to a bound.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Relation::Below => value < bound,
            Relation::AtMost => value <= bound,
            Relation::Above => value > bound,
            Relation::AtLeast => value >= bound,
        }
    }

    /// Its sign.
    pub fn sign(self) -> &'static str {
        RELATIONS.iter().find(|(_, relation)| *relation == self).map_or("", |(sign, _)| sign)
    }

    /// Takes the sign off the beginning of a text.
    pub(super) fn split_sign(text: &str) -> Option<(Relation, &str)> {
        RELATIONS.iter().find_map(|(sign, relation)| Some((*relation, text.strip_prefix(*sign)?)))
    }
}

impl Metric {
    /// Reads a metric: `p99`, `p99.9`, `errors`.
    pub fn parse(text: &str) -> Option<Metric> {
        let text = text.trim();
        let named = METRICS.iter().find(|(names, _)| names.contains(&text));
        named.map(|(_, metric)| *metric).or_else(|| parse_percentile(text))
    }

    /// The unit of its value.
    pub fn unit(self) -> MetricUnit {
        match self {
            Metric::Quantile(_) | Metric::Mean | Metric::Longest => MetricUnit::Seconds,
            Metric::Errors => MetricUnit::Share,
            Metric::Rate => MetricUnit::PerSecond,
        }
    }
}

/// `p99`, `p99.9`, also `p999` as many tools write it.
fn parse_percentile(text: &str) -> Option<Metric> {
    let number = text.strip_prefix('p').or_else(|| text.strip_prefix('P'))?;
    // p999 is p99.9: no percentile below p100 has three digits before its point.
    let digits = number != "100" && number.chars().all(|c| c.is_ascii_digit());
    let number = match number.get(..2).zip(number.get(2..)) {
        Some((whole, rest)) if digits && !rest.is_empty() => format!("{whole}.{rest}"),
        _ => number.to_owned(),
    };
    let percent: f64 = number.parse().ok()?;
    let share = (percent * 1e8).round() / 1e10;
    (share > 0.0 && share < 1.0).then_some(Metric::Quantile(share))
}

impl Objective {
    /// Reads `METRIC OP VALUE UNIT`; blanks don't matter. `place` is where it stands, `--slo` for instance.
    ///
    /// # Errors
    /// What is wrong with it, with a hint that holds a text which works.
    pub fn parse(place: &str, text: &str) -> Result<Objective, Mistake> {
        let mistake =
            |why: String, hint: String| Mistake::new(format!("{place} {text}"), why).hint(hint);
        let sign = RELATIONS.iter().filter_map(|(sign, r)| Some((text.find(sign)?, *sign, *r)));
        // The two-letter sign stands before its own first letter in the list, and min_by_key takes the first.
        let Some((at, sign, relation)) = sign.min_by_key(|(at, ..)| *at) else {
            let why = "it has no `<` or `>`";
            return Err(mistake(
                why.to_owned(),
                "as in 'p99 < 20ms' or 'errors < 0.1%'".to_owned(),
            ));
        };
        let (name, value) = (text[..at].trim(), text[at + sign.len()..].trim());
        let Some(metric) = Metric::parse(name) else {
            return Err(mistake(format!("there is no metric `{name}`"), metric_hint(name)));
        };
        let bound = metric.unit().parse_value(value).ok_or_else(|| {
            let why = format!("`{value}` is no {}", metric.unit().value_description());
            mistake(why, format!("as in '{name} {sign} {}'", metric.unit().example_value()))
        })?;
        Ok(Objective { metric, relation, bound })
    }

    /// Whether this value meets it.
    pub fn is_met(&self, value: f64) -> bool {
        self.relation.holds(value, self.bound)
    }

    /// Whether less is better.
    pub fn is_upper_bound(&self) -> bool {
        matches!(self.relation, Relation::Below | Relation::AtMost)
    }
}

/// The metrics that could have been meant.
fn metric_hint(name: &str) -> String {
    let names = METRICS.iter().flat_map(|(names, _)| names.iter().copied());
    let percentiles = ["p50", "p90", "p95", "p99", "p99.9"];
    did_you_mean(name, names.chain(percentiles))
        .unwrap_or_else(|| "one of p50 .. p99.99, mean, max, errors, events_per_s".to_owned())
}

impl MetricUnit {
    /// Reads a value; `None` if it is none of this unit.
    pub fn parse_value(self, text: &str) -> Option<f64> {
        let value = match self {
            // A bare number would be seconds, and was most likely meant as milliseconds.
            MetricUnit::Seconds if text.ends_with(|c: char| c.is_ascii_digit()) => return None,
            MetricUnit::Seconds => parse_time(text).ok()?.as_secs_f64(),
            MetricUnit::Share => match text.strip_suffix('%') {
                Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
                None => text.parse().ok()?,
            },
            MetricUnit::PerSecond => parse_rate(text).ok()?,
        };
        let fits = match self {
            MetricUnit::Share => (0.0..=1.0).contains(&value),
            MetricUnit::Seconds | MetricUnit::PerSecond => value > 0.0 && value.is_finite(),
        };
        fits.then_some(value)
    }

    fn value_description(self) -> &'static str {
        match self {
            MetricUnit::Seconds => "time with its unit",
            MetricUnit::Share => "share between 0 and 1 or 0% and 100%",
            MetricUnit::PerSecond => "rate above 0",
        }
    }

    fn example_value(self) -> &'static str {
        match self {
            MetricUnit::Seconds => "20ms",
            MetricUnit::Share => "0.1%",
            MetricUnit::PerSecond => "5000",
        }
    }

    /// A value with its unit, as one would type it.
    fn format_value(self, value: f64) -> String {
        match self {
            // Whole nanoseconds, so that 20 ms don't become 20 ms less one.
            MetricUnit::Seconds => {
                show_time(std::time::Duration::from_nanos((value * 1e9).round() as u64))
                    .replace(' ', "")
            }
            MetricUnit::Share => format!("{}%", (value * 1e10).round() / 1e8),
            MetricUnit::PerSecond => show_rate(value),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Metric::Quantile(share) = self {
            return write!(f, "p{}", (share * 1e10).round() / 1e8);
        }
        let named = METRICS.iter().find(|(_, metric)| metric == self);
        f.write_str(named.map_or("", |(names, _)| names[0]))
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (metric, sign) = (self.metric, self.relation.sign());
        write!(f, "{metric} {sign} {}", metric.unit().format_value(self.bound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Objective, Mistake> {
        Objective::parse("--slo", text)
    }

    #[test]
    fn objectives_are_read_and_written_again() {
        for (text, metric, relation, bound, shown) in [
            ("p99<20ms", Metric::Quantile(0.99), Relation::Below, 0.02, "p99 < 20ms"),
            ("p99 <= 1.5s", Metric::Quantile(0.99), Relation::AtMost, 1.5, "p99 <= 1s500ms"),
            (" p99.9 < 500us ", Metric::Quantile(0.999), Relation::Below, 5e-4, "p99.9 < 500us"),
            ("p999<2s", Metric::Quantile(0.999), Relation::Below, 2.0, "p99.9 < 2s"),
            ("errors<0.1%", Metric::Errors, Relation::Below, 0.001, "errors < 0.1%"),
            ("errors <= 0", Metric::Errors, Relation::AtMost, 0.0, "errors <= 0%"),
            ("tps > 5k", Metric::Rate, Relation::Above, 5000.0, "events_per_s > 5000/s"),
            ("events_per_s>=10", Metric::Rate, Relation::AtLeast, 10.0, "events_per_s >= 10/s"),
            ("mean<3ms", Metric::Mean, Relation::Below, 0.003, "mean < 3ms"),
        ] {
            let objective = parse(text).unwrap();
            assert_eq!((objective.metric, objective.relation), (metric, relation), "{text}");
            assert!((objective.bound - bound).abs() < 1e-12, "{text}: {}", objective.bound);
            assert_eq!(objective.to_string(), shown);
            assert_eq!(parse(shown).unwrap(), objective, "{shown}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_the_nearest_that_works() {
        for (text, why, hint) in [
            ("p99", "no `<`", "'p99 < 20ms'"),
            ("p9 9<20ms", "no metric `p9 9`", "p99"),
            ("erors<1%", "no metric `erors`", "did you mean errors?"),
            ("p100<20ms", "no metric `p100`", "p9"),
            ("p99<20", "`20` is no time with its unit", "'p99 < 20ms'"),
            ("p99<", "`` is no time", "'p99 < 20ms'"),
            ("p99<-1ms", "`-1ms` is no time", "20ms"),
            ("errors<200%", "no share", "0.1%"),
            ("tps>fast", "no rate", "5000"),
            ("<20ms", "no metric ``", "one of"),
        ] {
            let mistake = parse(text).expect_err(text);
            assert!(mistake.why.contains(why), "{text}: {mistake}");
            assert!(mistake.hint.unwrap().contains(hint), "{text}");
        }
    }

    #[test]
    fn bounds_are_kept_or_not() {
        let below = parse("p99<20ms").unwrap();
        assert!(below.is_met(0.0199) && !below.is_met(0.02) && below.is_upper_bound());
        assert!(parse("p99<=20ms").unwrap().is_met(0.02));
        let above = parse("tps>100").unwrap();
        assert!(above.is_met(100.1) && !above.is_met(100.0) && !above.is_upper_bound());
        assert!(parse("tps>=100").unwrap().is_met(100.0));
    }
}
