//! A rate that changes while a load runs: ramps and steps, one after the other.

use std::fmt;
use std::time::Duration;

use crate::base::units::{parse_rate_from_zero, parse_time, show_time};

/// Highest rate of a stage, events per second.
pub(super) const HIGHEST: f64 = 1e9;
/// Lowest rate that is not 0.
pub(super) const LOWEST: f64 = 1e-6;
/// Longest load: thirty years, far from where nanoseconds end.
const LONGEST: Duration = Duration::from_secs(30 * 366 * 86_400);

/// A part of a load whose rate stays, or moves evenly from one to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateStage {
    /// How long it lasts.
    pub time: Duration,
    /// Events per second at its begin.
    pub from: f64,
    /// Events per second at its end.
    pub to: f64,
}

/// The stages of a load in their order: at least one, and not all of them at rate 0.
#[derive(Clone, Debug, PartialEq)]
pub struct RateStages(Vec<RateStage>);

/// How the events of an open loop are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalSpacing {
    /// Evenly.
    Constant,
    /// With exponential gaps.
    Poisson,
}

impl ArrivalSpacing {
    /// Its word in plans and in the record.
    pub fn as_str(self) -> &'static str {
        match self {
            ArrivalSpacing::Constant => "constant",
            ArrivalSpacing::Poisson => "poisson",
        }
    }
}

impl RateStage {
    /// Events that are due in it.
    pub fn due_events(&self) -> f64 {
        (self.from + self.to) / 2.0 * self.time.as_secs_f64()
    }

    fn parse(text: &str) -> Result<RateStage, String> {
        let Some((time, rates)) = text.split_once(':') else {
            return Err("it has no `:` between its time and its rate".to_owned());
        };
        let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
        let time = parse_time(time).map_err(|e| e.to_string())?;
        let rate = |text: &str| parse_rate_from_zero(text).map_err(|e| e.to_string());
        let stage = RateStage { time, from: rate(from)?, to: rate(to)? };
        let is_kept = |rate: f64| rate == 0.0 || (LOWEST..=HIGHEST).contains(&rate);
        if !(is_kept(stage.from) && is_kept(stage.to)) {
            return Err(format!("a rate must be 0, or between {LOWEST} and {HIGHEST} per second"));
        }
        if time.is_zero() {
            return Err("its time is 0".to_owned());
        }
        Ok(stage)
    }
}

impl fmt::Display for RateStage {
    /// As one would type it: `10s:0..500`, `1m:500`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", show_time(self.time), self.from)?;
        if self.to != self.from { write!(f, "..{}", self.to) } else { Ok(()) }
    }
}

impl RateStages {
    /// Reads `10s:0..500, 1m:500, 10s:500..0`: of each stage its time, and its rate or where that begins and ends.
    ///
    /// # Errors
    /// What is wrong, all of it; each stage is named by its number and as it stands there.
    pub fn parse(text: &str) -> Result<RateStages, Vec<String>> {
        let (mut stages, mut wrong) = (Vec::new(), Vec::new());
        if text.trim().is_empty() {
            return Err(vec!["there are no stages".to_owned()]);
        }
        for (n, part) in text.split(',').map(str::trim).enumerate() {
            match RateStage::parse(part) {
                Ok(stage) => stages.push(stage),
                Err(_) if part.is_empty() => wrong.push(format!("stage {} is empty", n + 1)),
                Err(why) => wrong.push(format!("stage {}, `{part}`: {why}", n + 1)),
            }
        }
        let time = stages.iter().try_fold(Duration::ZERO, |sum, s| sum.checked_add(s.time));
        if time.is_none_or(|time| time > LONGEST) {
            wrong.push("they last for more than 30 years".to_owned());
        }
        if wrong.is_empty() && stages.iter().all(|s| s.from == 0.0 && s.to == 0.0) {
            wrong.push("no stage has a rate above 0".to_owned());
        }
        if wrong.is_empty() { Ok(RateStages(stages)) } else { Err(wrong) }
    }

    /// The stages in their order.
    pub fn as_slice(&self) -> &[RateStage] {
        &self.0
    }

    /// The stage so many seconds after the start, and its number from 1; the last one from its end on.
    pub fn stage_at(&self, seconds: f64) -> (usize, &RateStage) {
        let mut end_s = 0.0;
        let at = self.0.iter().position(|stage| {
            end_s += stage.time.as_secs_f64();
            seconds < end_s
        });
        let at = at.unwrap_or(self.0.len() - 1);
        (at + 1, &self.0[at])
    }

    /// How long they last together.
    pub fn total_time(&self) -> Duration {
        self.0.iter().map(|stage| stage.time).sum()
    }

    /// Events per second over all of them.
    pub fn mean_rate(&self) -> f64 {
        let due: f64 = self.0.iter().map(RateStage::due_events).sum();
        due / self.total_time().as_secs_f64()
    }
}

impl fmt::Display for RateStages {
    /// As `parse` reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, stage) in self.0.iter().enumerate() {
            write!(f, "{}{stage}", if n > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stages_are_ramps_steps_and_pauses() {
        let stages = RateStages::parse("10s:0..500, 1m:0.5k/s,5s:0 , 10s:500..0").unwrap();
        let rates: Vec<_> = stages.as_slice().iter().map(|s| (s.from, s.to)).collect();
        assert_eq!(rates, [(0.0, 500.0), (500.0, 500.0), (0.0, 0.0), (500.0, 0.0)]);
        assert_eq!(stages.total_time(), Duration::from_secs(85));
        assert_eq!(stages.mean_rate(), 35_000.0 / 85.0);
        assert_eq!(stages.to_string(), "10s:0..500, 1m:500, 5s:0, 10s:500..0");
        assert_eq!(RateStages::parse("1m30s:5").unwrap().to_string(), "1m 30s:5");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, why) in [
            ("", "there are no stages"),
            (" ", "there are no stages"),
            ("10s:5,,1s:5", "stage 2 is empty"),
            ("10s:5,", "stage 2 is empty"),
            ("10s", "stage 1, `10s`: it has no `:` between its time and its rate"),
            ("1s:5, 10parsecs:5", "stage 2, `10parsecs:5`: `10parsecs` is not a time like"),
            ("10s:5q", "stage 1, `10s:5q`: `5q` is not a rate like"),
            ("10s:-5", "stage 1, `10s:-5`: `-5` is not a rate like"),
            ("10s:0..", "stage 1, `10s:0..`: `` is not a rate like"),
            ("-1s:5", "stage 1, `-1s:5`: `-1s` is not a time like"),
            ("0s:5", "stage 1, `0s:5`: its time is 0"),
            ("10s:0..2G", "stage 1, `10s:0..2G`: a rate must be 0, or between"),
            ("10s:0, 5s:0..0", "no stage has a rate above 0"),
            ("367d:5, 1s:5", "stage 1, `367d:5`: `367d` is not a time of at most a year"),
            (&["366d:5"; 31].join(","), "they last for more than 30 years"),
        ] {
            let wrong = RateStages::parse(text).unwrap_err();
            assert!(wrong[0].starts_with(why), "{text}: {wrong:?}");
        }
        assert_eq!(RateStages::parse("1s:x, y, 3s:1").unwrap_err().len(), 2);
    }

    proptest! {
        #[test]
        fn stages_survive_being_written(
            ms in 1..10_000_000_u64, from in 1e-3..1e9, to in 1e-3..1e9
        ) {
            let time = Duration::from_millis(ms);
            let stages = RateStages(vec![
                RateStage { time, from, to },
                RateStage { time, from: to, to },
            ]);
            prop_assert_eq!(RateStages::parse(&stages.to_string()), Ok(stages));
        }
        #[test]
        fn no_text_makes_the_reader_panic(text in "[0-9a-z:.,/ -]*") {
            let _ = RateStages::parse(&text);
        }
    }
}
