//! Simulated loads with fixed seeds, against how often each verdict may be wrong, and a measured one.
//!
//! The bands are shares found with thousands of repeats, widened by about three binomial standard errors of the
//! repeats made here, so that a wrong rule falls out and a change of the last digit does not.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::judge::SteadyRules;
use super::rate_cells::EventSpan;
use super::{LoadHistory, apply_stalls};
use crate::analysis::findings::{Stall, StallFindings, StallKind, SteadyState, SteadyVerdict};
use crate::analysis::statistics::robust::median;
use crate::archive::TallyRecord;
use crate::base::random::Rng;

/// Noise of a second, as a share of the level.
const CV: f64 = 0.05;
/// Events per second.
const RATE: f64 = 10_000.0;
/// Loads simulated of each kind.
const REPEATS: u64 = 150;
const SECOND: u64 = 1_000_000_000;

/// Normal, by Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.uniform_fraction()).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * rng.uniform_fraction()).cos()
}

/// `n` seconds of noise about 1, each `phi` of the second before.
fn noise(rng: &mut Rng, n: usize, phi: f64) -> Vec<f64> {
    let mut last = normal(rng);
    let mut next = || {
        last = phi * last + (1.0 - phi * phi).sqrt() * normal(rng);
        1.0 + CV * last
    };
    (0..n).map(|_| next()).collect()
}

fn course(rates: impl IntoIterator<Item = f64>) -> LoadHistory {
    let mut course = LoadHistory::default();
    for (second, rate) in (0..).zip(rates) {
        let (began_ns, ended_ns) = (second * SECOND, (second + 1) * SECOND);
        let events = rate.max(0.0).round() as u64;
        course.add_span(EventSpan { began_ns, ended_ns, events }, &TallyRecord::default());
    }
    course
}

fn assess(rates: impl IntoIterator<Item = f64>) -> SteadyState {
    course(rates).assess_so_far(&SteadyRules::default()).unwrap()
}

/// What came of many loads.
struct Survey {
    shares: BTreeMap<&'static str, f64>,
    /// Median begin of the steady part of those that are steady, seconds.
    t0_s: Option<f64>,
    /// The same of all.
    any_t0_s: Option<f64>,
}

impl Survey {
    /// Loads of `n` seconds whose noise depends on the second before by `phi`, shaped by `shape`.
    fn of(n: usize, phi: f64, shape: impl Fn(f64) -> f64) -> Survey {
        Survey::with(|rng| {
            let noise = noise(rng, n, phi);
            noise.iter().enumerate().map(|(i, x)| x * shape(i as f64)).collect()
        })
    }

    fn with(make: impl Fn(&mut Rng) -> Vec<f64>) -> Survey {
        let mut counts = BTreeMap::new();
        let (mut t0, mut any_t0) = (Vec::new(), Vec::new());
        for seed in 0..REPEATS {
            let shares = make(&mut Rng::new(seed, 0, 0));
            let steady = assess(shares.into_iter().map(|x| RATE * x));
            *counts.entry(steady.verdict.as_str()).or_insert(0) += 1;
            any_t0.extend(steady.t0_s);
            t0.extend(steady.t0_s.filter(|_| steady.verdict.is_steady()));
        }
        let share = |count: i32| f64::from(count) / REPEATS as f64;
        let shares = counts.into_iter().map(|(verdict, count)| (verdict, share(count))).collect();
        Survey { shares, t0_s: median(&t0), any_t0_s: median(&any_t0) }
    }

    fn share(&self, verdict: SteadyVerdict) -> f64 {
        self.shares.get(verdict.as_str()).copied().unwrap_or(0.0)
    }

    #[track_caller]
    fn expect(&self, verdict: SteadyVerdict, band: RangeInclusive<f64>) {
        let share = self.share(verdict);
        assert!(band.contains(&share), "{}: {:?} not in {band:?}", verdict.as_str(), self.shares);
    }
}

#[test]
fn a_load_that_stays_the_same_is_steady_or_too_short_to_tell() {
    // Shares in 3000 repeats: .96, .77, .41; .99, .96, .69; 1.0, .98, .82.
    for (n, phi, band) in [
        (120, 0.0, 0.91..=1.0),
        (120, 0.5, 0.66..=0.88),
        (120, 0.8, 0.28..=0.54),
        (300, 0.0, 0.95..=1.0),
        (300, 0.5, 0.90..=1.0),
        (300, 0.8, 0.56..=0.81),
        (600, 0.0, 0.96..=1.0),
        (600, 0.5, 0.95..=1.0),
        (600, 0.8, 0.72..=0.93),
    ] {
        let survey = Survey::of(n, phi, |_| 1.0);
        survey.expect(SteadyVerdict::Steady, band);
        // What is not called steady is hardly ever called worse than too short.
        let worse =
            1.0 - survey.share(SteadyVerdict::Steady) - survey.share(SteadyVerdict::TooShort);
        assert!(worse <= 0.09, "n {n} phi {phi}: {worse}");
    }
}

#[test]
fn a_warm_up_is_left_out() {
    for (tau, from, to) in [(15.0, 30.0, 60.0), (40.0, 95.0, 150.0)] {
        let survey = Survey::of(600, 0.0, |i| 1.0 - 0.7 * (-i / tau).exp());
        survey.expect(SteadyVerdict::Steady, 0.95..=1.0);
        let t0_s = survey.t0_s.unwrap();
        assert!((from..=to).contains(&t0_s), "tau {tau}: {t0_s}");
    }
    // Seen for too short a time after it, it is not steady but warming.
    let survey = Survey::of(150, 0.0, |i| 1.0 - 0.7 * (-i / 40.0).exp());
    survey.expect(SteadyVerdict::Steady, 0.0..=0.02);
    survey.expect(SteadyVerdict::Warming, 0.9..=1.0);
}

#[test]
fn a_late_change_is_seen() {
    for lost in [0.25, 0.08] {
        let survey = Survey::of(600, 0.0, |i| if i < 360.0 { 1.0 } else { 1.0 - lost });
        survey.expect(SteadyVerdict::Steady, 0.0..=0.0);
        survey.expect(SteadyVerdict::Unsteady, 0.94..=1.0);
        assert_eq!(survey.any_t0_s, Some(360.0));
    }
}

#[test]
fn a_drift_is_seen_when_it_matters() {
    let survey = Survey::of(600, 0.0, |i| 1.0 - 0.15 * i / 600.0);
    survey.expect(SteadyVerdict::Steady, 0.0..=0.0);
    survey.expect(SteadyVerdict::Slowing, 0.95..=1.0);
    let survey = Survey::of(600, 0.0, |i| 1.0 + 0.15 * i / 600.0);
    survey.expect(SteadyVerdict::Steady, 0.0..=0.04);
    survey.expect(SteadyVerdict::Warming, 0.94..=1.0);
    // 5 % is the limit: half of the loads at it pass.
    let survey = Survey::of(600, 0.0, |i| 1.0 - 0.05 * i / 600.0);
    survey.expect(SteadyVerdict::Steady, 0.55..=0.85);
}

#[test]
fn a_random_walk_is_not_steady() {
    let survey = Survey::with(|rng| {
        let mut level = 1.0;
        let mut step = |rng: &mut Rng, x: f64| {
            level *= 1.0 + 0.02 * normal(rng);
            level * x
        };
        noise(rng, 600, 0.0).into_iter().map(|x| step(rng, x)).collect()
    });
    survey.expect(SteadyVerdict::Steady, 0.0..=0.04);
}

#[test]
fn notches_are_stalls_and_no_change_of_level() {
    for (period, length, least) in [(60.0, 3.0, 0.95), (120.0, 12.0, 0.92), (5.0, 1.0, 0.95)] {
        let survey = Survey::of(600, 0.0, |i| if i % period < length { 0.1 } else { 1.0 });
        survey.expect(SteadyVerdict::SteadyWithStalls, least..=1.0);
    }
}

#[test]
fn the_level_is_that_of_the_steady_part_and_the_interval_holds_it() {
    let mut held = 0;
    for seed in 0..REPEATS {
        let noise = noise(&mut Rng::new(seed, 1, 0), 300, 0.5);
        let steady = assess(noise.iter().map(|x| RATE * x));
        let (level, precision) = (steady.level.unwrap(), steady.precision.unwrap());
        held += u64::from((level - RATE).abs() <= precision * level);
    }
    // The worth of 60 batches is itself an estimate: 91 % of 3000 intervals hold the truth. Of 150 that is 136, with
    // a standard error of 3.5.
    assert!((126..=148).contains(&held), "{held}");
}

#[test]
fn less_than_a_minute_is_told_in_words_without_a_number() {
    let steady = assess([5000.0; 14]);
    assert_eq!(steady.verdict, SteadyVerdict::TooShort);
    let why = "the load took 14.0 s: whether it is steady can be told from 60.0 s on";
    assert_eq!((steady.why, steady.level), (vec![why.to_owned()], None));
    assert_eq!(LoadHistory::default().assess_so_far(&SteadyRules::default()), None);
}

#[test]
fn an_even_load_and_an_idle_one_are_judged_too() {
    let even = assess([5000.0; 90]);
    assert_eq!((even.verdict, even.level), (SteadyVerdict::Steady, Some(5000.0)));
    assert_eq!((even.t0_s, even.length_s, even.drift), (Some(0.0), Some(90.0), Some(0.0)));
    assert!(even.why.is_empty(), "{:?}", even.why);
    let idle = assess([0.0; 90]);
    assert_eq!(idle.verdict, SteadyVerdict::TooShort, "{idle:?}");
    assert_eq!(idle.drift, None);
}

#[test]
fn few_events_per_second_are_not_taken_for_stalls() {
    // Poisson with mean 4: a second below half of the median is no rarity.
    let mut rng = Rng::new(9, 0, 0);
    let mut count = || {
        let mut left = 1.0;
        (0..).find(|_| {
            left -= rng.exponential(0.25);
            left < 0.0
        })
    };
    let steady = assess((0..600).map(|_| f64::from(count().unwrap())));
    assert_ne!(steady.verdict, SteadyVerdict::SteadyWithStalls);
    assert!((steady.level.unwrap() - 4.0).abs() < 0.3, "{steady:?}");
    assert_eq!(steady.level, steady.rate);
}

#[test]
fn a_writing_load_must_outlast_its_redo_log() {
    let mut course = course([5000.0; 120]);
    *course.tally.count_mut("writes") = 10;
    let look = |second: u64| {
        let numbers =
            [("Innodb_os_log_written", second as f64 * 1e6), ("Innodb_checkpoint_max_age", 8e7)];
        super::ServerReading::from_sample(&crate::archive::SampleRecord {
            began_ns: second * SECOND,
            ended_ns: second * SECOND,
            numbers: numbers.map(|(k, v)| (k.to_owned(), v)).into(),
            ..Default::default()
        })
    };
    course.looks = (0..=120).filter_map(look).collect();
    let steady = course.assess_so_far(&SteadyRules::default()).unwrap();
    assert_eq!(steady.verdict, SteadyVerdict::TooShort);
    assert!(steady.why[0].contains("once in 80.0 s"), "{:?}", steady.why);
    *course.tally.count_mut("writes") = 0;
    assert_eq!(
        course.assess_so_far(&SteadyRules::default()).unwrap().verdict,
        SteadyVerdict::Steady
    );
}

/// Rates per second of a measured load: MariaDB 10.11 with a redo log of 64 MB, adaptive flushing off, under updates
/// of four sessions of sysbench. Every four seconds it stops to flush.
fn furious() -> Vec<f64> {
    let text = include_str!("../../../../../tests/data/steady/furious.txt");
    let rate = |line: &str| line.split("tps: ").nth(1)?.split(' ').next()?.parse().ok();
    text.lines().filter_map(rate).collect()
}

#[test]
fn furious_flushing_is_masked_and_two_minutes_of_it_are_too_short() {
    let rates = furious();
    assert_eq!(rates.len(), 150);
    let masked = super::level::mask_stalls(&super::RateCells { step_s: 1.0, rates: rates.clone() });
    assert_eq!(masked.iter().filter(|m| **m).count(), 22);
    let steady = assess(rates);
    // Without its stalls it does more than with them.
    assert!(steady.rate.unwrap() < 0.92 * steady.level.unwrap(), "{steady:?}");
    // Between its stalls it wanders by a fifth from one ten seconds to the next.
    assert_eq!(steady.verdict, SteadyVerdict::TooShort, "{steady:?}");
    assert!(steady.precision.unwrap() > 0.05, "{steady:?}");
}

#[test]
fn what_is_known_of_stalls_stands_over_what_seconds_show() {
    let mut steady = assess([5000.0; 90]);
    let stall = Stall {
        kind: StallKind::FullStop,
        began_s: 30.0,
        seconds: 0.4,
        depth: 1.0,
        lost_events: 2000.0,
        max_s: None,
    };
    let mut stalls = StallFindings { events: vec![stall], ..StallFindings::default() };
    apply_stalls(&mut steady, &stalls, 10.0);
    assert_eq!(steady.verdict, SteadyVerdict::SteadyWithStalls);
    stalls.events[0].began_s = 5.0;
    apply_stalls(&mut steady, &stalls, 10.0);
    assert_eq!(steady.verdict, SteadyVerdict::Steady);
}
