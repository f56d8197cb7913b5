//! What a workload's rules ask of a load besides speed, as data: counts with the band that they must lie in, rates with names of
//! their own. The workload counts; whether a number will do is decided by whoever reads the run.

use serde::{Deserialize, Serialize};

/// Counts and rates of one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadAudit {
    /// What every report of the load says first.
    pub header: String,
    /// What must lie in a band.
    pub counts: Vec<AuditCount>,
    /// Rates under the names that the workload's users know.
    pub rates: Vec<NamedRate>,
    /// How long events of a class may take.
    pub limits: Vec<LatencyLimit>,
    /// How long what is no event took, how often.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub durations: Vec<DurationCounts>,
    /// Error codes of the server after which an event is begun again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restart_codes: Vec<u16>,
}

/// How often something took how long that is no event, as thinking between two of them: counted in bins of equal width.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DurationCounts {
    /// Where it is asked for: `5.6.3`.
    pub clause: String,
    /// What took so long, in a few words.
    pub label: String,
    /// Width of a bin, seconds; the first begins at 0.
    pub bin_s: f64,
    /// How many fell into each bin.
    pub counts: Vec<u64>,
    /// How many were longer than the last bin reaches.
    pub longer: u64,
}

/// How long events of a class may take at a percentile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyLimit {
    /// Where the rule stands.
    pub clause: String,
    /// Name of the class.
    pub class: String,
    /// The percentile, 0 to 100.
    pub percentile: f64,
    /// At most so long, seconds.
    pub most_s: f64,
}

/// A share or a mean: `factor * count / of`, which must lie in its band.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditCount {
    /// Where the rule stands: `5.5.1.5`.
    pub clause: String,
    /// What is counted, in a few words.
    pub label: String,
    /// Unit of the value: `%`.
    pub unit: String,
    /// How many were.
    pub count: u64,
    /// Of how many.
    pub of: u64,
    /// From the ratio to the value in its unit.
    pub factor: f64,
    /// Where the value must lie.
    pub band: AuditBand,
    /// Below so many nothing can be said.
    pub samples_needed: u64,
}

/// Bounds of a value, both included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditBand {
    /// At least.
    pub low: f64,
    /// At most; `None` where there is no such bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl AuditCount {
    /// The value in its unit; `None` where there was nothing to count.
    pub fn value(&self) -> Option<f64> {
        (self.of > 0).then(|| self.factor * self.count as f64 / self.of as f64)
    }

    /// Whether the value lies in its band; `None` where too few were counted to tell.
    pub fn verdict(&self) -> Option<bool> {
        let value = self.value().filter(|_| self.of >= self.samples_needed)?;
        Some(value >= self.band.low && self.band.high.is_none_or(|high| value <= high))
    }
}

/// A rate under a name of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedRate {
    /// Its name: `tpmC`.
    pub name: String,
    /// What it counts, in a few words.
    pub help: String,
    /// How many there were in the load.
    pub count: u64,
    /// The class whose good events are what it counts; `None` where they are not all of a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The length of time that it is given for, seconds.
    pub per_s: f64,
    /// The most that the workload's pace allows, per minute; `None` where there is no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_per_minute: Option<f64>,
}

impl NamedRate {
    /// A rate for a minute.
    pub fn per_minute(name: &str, help: &str, count: u64) -> NamedRate {
        let [name, help] = [name, help].map(str::to_owned);
        NamedRate { name, help, count, class: None, per_s: 60.0, most_per_minute: None }
    }

    /// The rate over a load of this length.
    pub fn value(&self, length_s: f64) -> Option<f64> {
        (length_s > 0.0).then(|| self.count as f64 * self.per_s / length_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_samples_are_no_verdict() {
        let count = |count, of| AuditCount {
            clause: String::new(),
            label: String::new(),
            unit: "%".to_owned(),
            count,
            of,
            factor: 100.0,
            band: AuditBand { low: 0.9, high: Some(1.1) },
            samples_needed: 1000,
        };
        assert_eq!(count(10, 999).verdict(), None);
        assert_eq!(count(10, 1000).verdict(), Some(true));
        assert_eq!(count(12, 1000).verdict(), Some(false));
        assert_eq!(count(0, 0).value(), None);
        let rate = NamedRate::per_minute("tpmC", "new orders", 30);
        assert_eq!(rate.value(2.0), Some(900.0));
        assert_eq!(rate.value(0.0), None);
    }
}
