//! When a watch keeps more than its samples: `Threads_running > 50 for 3s`, `rate(Innodb_row_lock_waits) > 100`,
//! `processlist(Waiting for table) > 5`, `status.took_ms > 200`, `p99 > 20ms`.

use std::fmt;
use std::time::Duration;

use super::Relation;
use crate::base::units::{parse_count, parse_time, show_time};

/// Longest time for which a condition has to hold.
const LONGEST: Duration = Duration::from_secs(3600);
/// What a trigger looks like.
const EXAMPLE: &str = "as in 'Threads_running > 50 for 3s' or 'rate(Innodb_row_lock_waits) > 100'";

/// A condition on a number that a probe samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// Name of the number, `PROBE(TEXT)` or a percentile of statement times (`p99`); its case does not matter.
    pub counter: String,
    /// Whether what it grows by per second is meant.
    pub is_rate: bool,
    /// How it has to stand to the bound.
    pub relation: Relation,
    /// The bound; of a percentile in milliseconds.
    pub bound: f64,
    /// How long that has to hold.
    pub time: Duration,
}

/// Why a text is no trigger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {why}")]
pub struct TriggerError {
    text: String,
    why: String,
    /// What to do.
    pub hint: String,
}

impl Trigger {
    /// Reads `NAME > NUMBER [for TIME]` or `rate(NAME) > NUMBER [for TIME]`; also with `>=`, `<`, `<=`.
    ///
    /// # Errors
    /// What is wrong with it, and what it should look like.
    pub fn parse(text: &str) -> Result<Trigger, TriggerError> {
        let wrong =
            |why: String| TriggerError { text: text.to_owned(), why, hint: EXAMPLE.to_owned() };
        let Some(at) = text.find(['<', '>', '=']) else {
            return Err(wrong("it has no comparison: >, >=, < or <=".to_owned()));
        };
        let (subject, rest) = text.split_at(at);
        let (relation, rest) = Relation::split_sign(rest)
            .ok_or_else(|| wrong("a comparison is one of >, >=, < and <=".to_owned()))?;
        let subject = subject.trim();
        let inner = subject.strip_prefix("rate(").or_else(|| subject.strip_prefix("rate ("));
        let (counter, is_rate) = match inner {
            Some(inner) => match inner.trim_end().strip_suffix(')') {
                Some(counter) => (counter.trim(), true),
                None => return Err(wrong("`rate(` has no `)`".to_owned())),
            },
            None => (subject, false),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let is_rows = |text: &str| {
            text.split_once('(').is_some_and(|(probe, rest)| {
                let text = rest.strip_suffix(')').unwrap_or_default().trim();
                !probe.is_empty() && probe.chars().all(is_name) && !text.is_empty()
            })
        };
        match counter {
            "" => return Err(wrong("the name of a number is missing before it".to_owned())),
            name if !name.chars().all(is_name) && !is_rows(name) => {
                return Err(wrong(format!("`{name}` is not the name of a number")));
            }
            _ => {}
        }
        let is_time = percentile_of(counter).is_some();
        if is_rate && is_time {
            return Err(wrong(format!("{counter} has no rate")));
        }
        let (bound, time) = match rest.split_once(" for ") {
            Some((bound, time)) => (bound.trim(), parse_time(time.trim())),
            None => (rest.trim(), Ok(Duration::ZERO)),
        };
        let time = time.map_err(|e| wrong(e.to_string()))?;
        if time > LONGEST {
            return Err(wrong(format!("{} is longer than an hour", show_time(time))));
        }
        let number = match is_time {
            true => parse_ms(bound),
            false => {
                bound.parse().ok().or_else(|| parse_count(bound).ok().map(|count| count as f64))
            }
        };
        let Some(bound) = number.filter(|number: &f64| number.is_finite()) else {
            return Err(wrong("behind the comparison stands no number".to_owned()));
        };
        Ok(Trigger { counter: counter.to_owned(), is_rate, relation, bound, time })
    }

    /// The percentile of the times of statements that is meant: 99.9 for `p99.9`.
    pub fn percentile(&self) -> Option<f64> {
        percentile_of(&self.counter)
    }

    /// The probe whose rows are counted, and the text that these hold: `processlist(Waiting)` or `processlist.Waiting`.
    pub fn row_text(&self) -> Option<(&str, &str)> {
        if self.percentile().is_some() {
            return None;
        }
        match self.counter.split_once('(') {
            Some((probe, rest)) => Some((probe, rest.strip_suffix(')').unwrap_or(rest).trim())),
            None => self.counter.split_once('.'),
        }
    }

    /// Whether a value is what it waits for.
    pub fn is_met(&self, value: f64) -> bool {
        self.relation.holds(value, self.bound)
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_rate {
            true => write!(f, "rate({})", self.counter)?,
            false => write!(f, "{}", self.counter)?,
        }
        write!(f, " {} {}", self.relation.sign(), self.bound)?;
        if self.percentile().is_some() {
            f.write_str(" ms")?;
        }
        match self.time {
            Duration::ZERO => Ok(()),
            time => write!(f, " for {}", show_time(time)),
        }
    }
}

/// 99.9 of `p99.9`.
fn percentile_of(name: &str) -> Option<f64> {
    let digits = name.strip_prefix(['p', 'P']).filter(|rest| !rest.starts_with('.'))?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let percentile = digits.parse().ok().filter(|_| is_number)?;
    (percentile > 0.0 && percentile < 100.0).then_some(percentile)
}

/// `20ms`, `1.5 s`, or a number of milliseconds.
fn parse_ms(text: &str) -> Option<f64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[number.len()..] {
        "" | "ms" => 1.0,
        "us" => 1e-3,
        "s" => 1e3,
        _ => return None,
    };
    number.trim().parse::<f64>().ok().map(|number| number * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn triggers_are_read_as_people_type_them() {
        let trigger = Trigger::parse("Threads_running > 50 for 3s").unwrap();
        assert_eq!((trigger.counter.as_str(), trigger.is_rate), ("Threads_running", false));
        assert_eq!((trigger.bound, trigger.time), (50.0, Duration::from_secs(3)));
        assert!(trigger.is_met(50.5) && !trigger.is_met(50.0));
        let trigger = Trigger::parse(" rate( Innodb_row_lock_waits )>=1k").unwrap();
        assert_eq!((trigger.counter.as_str(), trigger.is_rate), ("Innodb_row_lock_waits", true));
        assert!(trigger.is_met(1000.0) && trigger.time.is_zero());
        assert!(Trigger::parse("disk.vda.in_flight <= -0.5").unwrap().is_met(-1.0));
    }

    #[test]
    fn rows_are_counted_by_a_text_that_they_hold() {
        let trigger = Trigger::parse("processlist( Waiting for table ) > 5 for 2s").unwrap();
        assert_eq!(trigger.row_text(), Some(("processlist", "Waiting for table")));
        assert_eq!(trigger.to_string(), "processlist( Waiting for table ) > 5 for 2s");
        let trigger = Trigger::parse("processlist.Waiting > 5").unwrap();
        assert_eq!(trigger.row_text(), Some(("processlist", "Waiting")));
        assert_eq!(Trigger::parse("a > 5").unwrap().row_text(), None);
    }

    #[test]
    fn percentiles_of_statement_times_have_bounds_that_are_times() {
        for (text, percentile, bound_ms) in [
            ("p99 > 20ms for 3s", 99.0, 20.0),
            ("P99.9 >= 1.5s", 99.9, 1500.0),
            ("p50 > 250 us", 50.0, 0.25),
            ("p95 > 5", 95.0, 5.0),
        ] {
            let trigger = Trigger::parse(text).unwrap();
            assert_eq!((trigger.percentile(), trigger.bound), (Some(percentile), bound_ms));
            assert_eq!(trigger.row_text(), None);
            assert_eq!(Trigger::parse(&trigger.to_string()), Ok(trigger));
        }
        for other in ["p > 1", "p.9 > 1", "p100 > 1", "p0 > 1", "p1e1 > 1", "p9-9 > 1"] {
            assert_eq!(Trigger::parse(other).unwrap().percentile(), None, "{other}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, why) in [
            ("Threads_running", "it has no comparison"),
            ("> 5", "the name of a number is missing"),
            ("a = 5", "a comparison is one of"),
            ("rate(a > 5", "`rate(` has no `)`"),
            ("processlist() > 5", "is not the name of a number"),
            ("processlist(x > 5", "is not the name of a number"),
            ("a b > 5", "`a b` is not the name of a number"),
            ("a > x", "stands no number"),
            ("a > 5ms", "stands no number"),
            ("p99 > 5 parsecs", "stands no number"),
            ("p99 > inf", "stands no number"),
            ("rate(p99) > 5", "p99 has no rate"),
            ("a > inf", "stands no number"),
            ("a > 5 for ever", "is not a time"),
            ("a > 5 for 2h", "longer than an hour"),
        ] {
            let error = Trigger::parse(text).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
            assert!(error.hint.contains("rate("));
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic_and_what_is_read_can_be_written(
            name in "(rate\\()?[a-zA-Z_.]{0,8}\\)? ?|\\PC*",
            rest in "[<>=]{0,2} ?-?[0-9k.]{0,5}( for [0-9]{0,3}m?s?)?|\\PC*",
        ) {
            if let Ok(trigger) = Trigger::parse(&format!("{name}{rest}")) {
                prop_assert_eq!(Trigger::parse(&trigger.to_string()), Ok(trigger));
            }
        }
    }
}
