//! Differences of counters. A counter that went backwards (restart, `FLUSH STATUS`) gives a gap, never a number.

use crate::archive::{Counters, RunRecord, StepRecord, Trial};
use crate::recorder::WorkloadFacts;

use super::findings::CountedValue;

/// What the counter rose by between two readings; `None` if one is missing or it went backwards.
pub(super) fn counter_rise(before: &Counters, after: &Counters, name: &str) -> Option<f64> {
    let rise = after.get(name)? - before.get(name)?;
    (rise.is_finite() && rise >= 0.0).then_some(rise)
}

/// The same for the sum of several counters: all that exist must be usable, and one must exist.
pub(super) fn rise_of_sum(before: &Counters, after: &Counters, names: &[&str]) -> Option<f64> {
    let mut sum = None;
    for name in names {
        if before.contains_key(*name) || after.contains_key(*name) {
            sum = Some(sum.unwrap_or(0.0) + counter_rise(before, after, name)?);
        }
    }
    sum
}

/// The first of the counters that has a usable difference over the step.
pub(super) fn first_counter_rise(
    step: &StepRecord,
    names: &[&'static str],
) -> Option<CountedValue> {
    names.iter().find_map(|source| {
        counter_rise(&step.before, &step.after, source).map(|value| CountedValue { value, source })
    })
}

/// The step of a load.
pub(super) fn step_of_trial<'a>(run: &'a RunRecord, trial: &Trial) -> Option<&'a StepRecord> {
    run.steps.iter().find(|step| step.number == trial.step)
}

/// A server variable at the start of the run.
pub(super) fn server_variable<'a>(run: &'a RunRecord, name: &str) -> Option<&'a str> {
    run.variables.iter().find(|v| v.name.eq_ignore_ascii_case(name)).map(|v| v.start.as_str())
}

/// What the load's workload declares of itself.
pub(super) fn declared_facts(trial: &Trial) -> WorkloadFacts {
    trial.facts.clone().unwrap_or_default()
}

/// A fact of the experiment as a number, also if it was kept as text.
pub(super) fn numeric_fact(run: &RunRecord, name: &str) -> Option<f64> {
    let value = run.meta.facts.get(name)?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).filter(|v| v.is_finite())
}

/// Size of a page in bytes: what the server says, or InnoDB's default.
pub(super) fn page_bytes(run: &RunRecord) -> f64 {
    server_variable(run, "innodb_page_size")
        .and_then(|text| text.parse().ok())
        .or_else(|| run.steps.iter().find_map(|s| s.after.get("Innodb_page_size").copied()))
        .filter(|size| *size > 0.0)
        .unwrap_or(16_384.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(pairs: &[(&str, f64)]) -> Counters {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn a_counter_that_went_backwards_is_a_gap() {
        let before = counters(&[("a", 5.0), ("b", 5.0), ("c", f64::NAN), ("e", 1.0)]);
        let after = counters(&[("a", 7.0), ("b", 4.0), ("c", 1.0), ("d", 1.0), ("e", 1.0)]);
        assert_eq!(counter_rise(&before, &after, "a"), Some(2.0));
        assert_eq!(counter_rise(&before, &after, "b"), None);
        assert_eq!(counter_rise(&before, &after, "c"), None);
        assert_eq!(counter_rise(&before, &after, "d"), None);
        assert_eq!(counter_rise(&before, &after, "e"), Some(0.0));
        assert_eq!(rise_of_sum(&before, &after, &["a", "e", "nowhere"]), Some(2.0));
        assert_eq!(rise_of_sum(&before, &after, &["a", "b"]), None);
        assert_eq!(rise_of_sum(&before, &after, &["nowhere"]), None);
    }

    #[test]
    fn the_first_usable_counter_is_named() {
        let step = StepRecord {
            before: counters(&[("x", 5.0), ("y", 5.0)]),
            after: counters(&[("x", 1.0), ("y", 9.0)]),
            ..StepRecord::default()
        };
        let found = first_counter_rise(&step, &["none", "x", "y"]).unwrap();
        assert_eq!((found.value, found.source), (4.0, "y"));
    }
}
