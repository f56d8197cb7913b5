//! What a workload's own rules say of a load: each holds, does not, or can't be told from so few events.

use super::findings::{AuditClass, AuditFinding, AuditRate, AuditRule, AuditVerdict, ClassTimes};
use super::number_format::format_time;
use crate::archive::{RecordedErrorKind, Trial};
use crate::recorder::{
    AuditCount, Histogram, Interval, LatencyLimit, LoadAudit, Recording, SparseHistogram,
};

/// Events of a class below which nothing is said of a percentile of it: ten above the 90th.
const LEAST_EVENTS: u64 = 100;
/// By how much a mean may be above its 90th percentile, seconds (TPC-C 5.11, clause 5.2.5.6).
const MEAN_SLACK_S: f64 = 0.1;

/// What the rules say of a load of this length; `None` where its workload has none.
pub(super) fn judge_audit(trial: &Trial, seconds: f64) -> Option<AuditFinding> {
    let audit = trial.audit.as_ref()?;
    let rates = audit.rates.iter().filter_map(|rate| {
        let per_minute = rate.value(seconds)? * 60.0 / rate.per_s;
        Some(AuditRate {
            name: rate.name.clone(),
            help: rate.help.clone(),
            class: rate.class.clone(),
            count: rate.count,
            value: rate.value(seconds)?,
            efficiency: rate.most_per_minute.filter(|most| *most > 0.0).map(|m| per_minute / m),
        })
    });
    let limits = audit.limits.iter().flat_map(|limit| judge_limit(trial, limit));
    Some(AuditFinding {
        header: audit.header.clone(),
        rates: rates.collect(),
        rules: audit.counts.iter().map(judge_count).chain(limits).collect(),
        classes: audit_classes(trial, audit),
        durations: audit.durations.clone(),
    })
}

/// Limits of the workload's own that do not hold, in words.
pub(super) fn broken_limits(trial: &Trial) -> Vec<String> {
    let limits = trial.audit.iter().flat_map(|audit| &audit.limits);
    let rules = limits.filter_map(|limit| judge_limit(trial, limit).into_iter().next());
    let broken = rules.filter(|rule| rule.verdict == AuditVerdict::Broken);
    broken
        .map(|rule| {
            let [value, most] = [rule.value, rule.high].map(|s| format_time(s.unwrap_or_default()));
            format!("{} {value}, at most {most}", rule.label)
        })
        .collect()
}

/// What the rules say of a load that has just ended and whose recording holds its audit.
pub fn judge_recording(recording: &Recording) -> Option<AuditFinding> {
    let mut trial = Trial::default();
    trial.fill_totals(recording);
    let total = &recording.total;
    judge_audit(&trial, total.ended.since(total.began).to_seconds())
}

/// How events of the classes that have a limit ended.
fn audit_classes(trial: &Trial, audit: &LoadAudit) -> Vec<AuditClass> {
    let found = audit.limits.iter().filter_map(|limit| {
        let class = trial.classes.iter().position(|name| *name == limit.class)?;
        let response = trial.response.get(class)?;
        let late = SparseHistogram::from(response).count_above((limit.most_s * 1e9) as u64);
        let is_restart = |kind: &RecordedErrorKind, code: &u16| {
            *kind == RecordedErrorKind::Server && audit.restart_codes.contains(code)
        };
        let errors = |restarts: bool| -> u64 {
            let of_class = trial.errors.iter().filter(|error| error.class == limit.class);
            let wanted = of_class.filter(|error| is_restart(&error.kind, &error.code) == restarts);
            wanted.map(|error| error.count).sum()
        };
        Some(AuditClass {
            name: limit.class.clone(),
            limit_s: limit.most_s,
            in_time: response.len() - late,
            late,
            restarted: errors(true),
            failed: errors(false),
            mean_s: (!response.is_empty()).then(|| mean_s(response)),
        })
    });
    found.collect()
}

/// Response times by class in an interval of a load that runs.
pub fn interval_class_times(interval: &Interval) -> Vec<ClassTimes> {
    let response = interval.classes.iter().map(|class| class.response.clone());
    class_times(&response.enumerate().collect::<Vec<_>>())
}

/// Of classes that have any, the times.
pub(super) fn class_times(by_class: &[(usize, SparseHistogram)]) -> Vec<ClassTimes> {
    let filled = by_class.iter().filter(|(_, times)| !times.is_empty());
    let found = filled.map(|(class, times)| {
        let at = |quantile| times.value_at_quantile(quantile) as f64 / 1e9;
        let max_s = times.max_ns() as f64 / 1e9;
        ClassTimes { class: *class, events: times.len(), p95_s: at(0.95), p99_s: at(0.99), max_s }
    });
    found.collect()
}

fn judge_count(count: &AuditCount) -> AuditRule {
    AuditRule {
        clause: count.clause.clone(),
        label: count.label.clone(),
        unit: count.unit.clone(),
        value: count.value(),
        low: Some(count.band.low),
        high: count.band.high,
        samples: count.of,
        samples_needed: count.samples_needed,
        verdict: match count.verdict() {
            Some(true) => AuditVerdict::Holds,
            Some(false) => AuditVerdict::Broken,
            None => AuditVerdict::TooFew,
        },
    }
}

/// The limit at its percentile, and that the percentile is not below the mean.
fn judge_limit(trial: &Trial, limit: &LatencyLimit) -> Vec<AuditRule> {
    let class = trial.classes.iter().position(|name| *name == limit.class);
    let Some(response) = class.and_then(|class| trial.response.get(class)) else {
        return Vec::new();
    };
    let samples = response.len();
    let at = response.value_at_quantile(limit.percentile / 100.0) as f64 / 1e9;
    let rule = |clause: &str, label: String, value, low, high, holds: bool| AuditRule {
        clause: clause.to_owned(),
        label,
        unit: "s".to_owned(),
        value: (samples > 0).then_some(value),
        low,
        high,
        samples,
        samples_needed: LEAST_EVENTS,
        verdict: match (samples >= LEAST_EVENTS, holds) {
            (false, _) => AuditVerdict::TooFew,
            (true, true) => AuditVerdict::Holds,
            (true, false) => AuditVerdict::Broken,
        },
    };
    let name = format!("p{} {}", limit.percentile, limit.class);
    let mean = mean_s(response);
    vec![
        rule(&limit.clause, name, at, None, Some(limit.most_s), at <= limit.most_s),
        rule(
            "5.2.5.6",
            format!("mean {}", limit.class),
            mean,
            None,
            Some(at + MEAN_SLACK_S),
            mean <= at + MEAN_SLACK_S,
        ),
    ]
}

fn mean_s(response: &Histogram) -> f64 {
    if response.is_empty() { 0.0 } else { response.mean() / 1e9 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::ErrorRecord;
    use crate::recorder::{AuditBand, LoadAudit, NamedRate, new_histogram};

    fn trial(slow_ns: u64) -> Trial {
        let mut response = new_histogram();
        for event in 0..1000 {
            response.record(if event < 850 { 1_000_000 } else { slow_ns }).unwrap();
        }
        let count = |count, of| AuditCount {
            clause: "5.5.1.5".to_owned(),
            label: "rolled back".to_owned(),
            unit: "%".to_owned(),
            count,
            of,
            factor: 100.0,
            band: AuditBand { low: 0.9, high: Some(1.1) },
            samples_needed: 500,
        };
        let error = |class: &str, code| ErrorRecord {
            class: class.to_owned(),
            kind: RecordedErrorKind::Server,
            code,
            count: u64::from(code),
            first_text: String::new(),
        };
        let mut rate = NamedRate::per_minute("tpmC", "new orders", 300);
        rate.most_per_minute = Some(3000.0);
        Trial {
            classes: vec!["new_order".to_owned()],
            response: vec![response],
            errors: vec![
                error("new_order", 1213),
                error("new_order", 1062),
                error("payment", 1213),
            ],
            audit: Some(LoadAudit {
                header: "like".to_owned(),
                counts: vec![count(10, 1000), count(20, 1000), count(1, 100)],
                rates: vec![rate],
                limits: vec![LatencyLimit {
                    clause: "5.2.5.3".to_owned(),
                    class: "new_order".to_owned(),
                    percentile: 90.0,
                    most_s: 5.0,
                }],
                restart_codes: vec![1213],
                durations: Vec::new(),
            }),
            ..Trial::default()
        }
    }

    #[test]
    fn rules_hold_or_not_or_have_too_few_samples() {
        use AuditVerdict::{Broken, Holds, TooFew};
        let found = judge_audit(&trial(6_000_000_000), 10.0).unwrap();
        let verdicts: Vec<_> = found.rules.iter().map(|rule| rule.verdict).collect();
        assert_eq!(verdicts, [Holds, Broken, TooFew, Broken, Holds]);
        assert_eq!(found.rates[0].value, 1800.0);
        assert_eq!(found.rates[0].efficiency, Some(0.6));
        let class = found.class("new_order").unwrap();
        assert_eq!((class.in_time, class.late, class.events()), (850, 150, 1000));
        assert_eq!((class.restarted, class.failed), (1213, 1062));
        assert_eq!(found.rate_count("tpmC"), Some(300));
        let found = judge_audit(&trial(1_000_000), 10.0).unwrap();
        assert_eq!(found.rules[3].verdict, Holds);
        assert_eq!(judge_audit(&Trial::default(), 1.0), None);
    }
}
