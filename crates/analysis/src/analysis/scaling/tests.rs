use super::super::findings::Estimate;
use super::*;
use crate::archive::{ExperimentRequest, RunMeta, SampleRecord, Trial};
use crate::recorder::new_histogram;

/// Throughput by concurrency of a Cisco server, measured by Percona and published by Baron Schwartz in "Practical
/// scalability analysis with the universal scalability law" (VividCortex, 2015), whose fit with R's `nls` is 995.6486,
/// 0.02671591, 0.0007690945.
const CISCO: [f64; 32] = [
    955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61,
    8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52,
    11151.43, 11518.63, 11806.0, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27,
    12118.04, 12140.4, 12074.39,
];

fn point(value: f64, rate: f64) -> ScalingPoint {
    ScalingPoint {
        value,
        concurrency: Some(value),
        events_per_s: Estimate::one_run(Some(rate)),
        ..ScalingPoint::default()
    }
}

fn fitted(points: impl IntoIterator<Item = (f64, f64)>) -> ScalingFinding {
    let points = points.into_iter().map(|(value, rate)| point(value, rate)).collect();
    fit_shapes(ScalingFinding {
        axis: THREADS.to_owned(),
        points,
        better: ScalingShape::Neither,
        ..ScalingFinding::default()
    })
}

fn cisco(keep: impl Fn(usize) -> bool) -> ScalingFinding {
    let all = CISCO.iter().enumerate().map(|(n, rate)| (n + 1, *rate));
    fitted(all.filter(|(n, _)| keep(*n)).map(|(n, rate)| (n as f64, rate)))
}

fn near(found: f64, expected: f64, share: f64) -> bool {
    (found / expected - 1.0).abs() < share
}

#[test]
fn the_published_points_give_the_published_parameters() {
    let scaling = cisco(|_| true);
    let law = scaling.law.unwrap();
    for (found, published) in
        [(law.lambda, 995.6486), (law.sigma, 0.026_715_91), (law.kappa, 0.000_769_094_5)]
    {
        assert!(near(found, published, 2e-6), "{found} against {published}");
    }
    // Where a minimiser of another make stops: the least squares themselves.
    assert!(near(law.lambda, 995.648_786, 1e-8) && near(law.kappa, 0.000_769_093_921, 1e-8));
    assert!(near(law.r2, 0.997_151, 1e-5), "{}", law.r2);
    let (at, low, high) = scaling.peak_n.unwrap();
    let (rate, slow, fast) = scaling.peak_rate.unwrap();
    assert!(near(at, 35.5738, 1e-5) && near(rate, 12_342.85, 1e-5), "{at} {rate}");
    assert!(low < at && at < high && high < 1.5 * low, "{low} {at} {high}");
    assert!(slow < rate && rate < fast && fast < 1.1 * slow, "{slow} {rate} {fast}");
    assert_eq!(scaling.better, ScalingShape::Law);
    assert!(near(law.rate_at(at), rate, 1e-12) && law.rate_at(at * 1.1) < rate);
    assert!(scaling.notes.iter().any(|n| n.starts_with("0 levels lie beyond")), "{scaling:?}");
}

#[test]
fn few_points_over_the_whole_range_carry_a_peak() {
    let scaling = cisco(|n| [1, 2, 4, 8, 16, 32].contains(&n));
    let (at, low, high) = scaling.peak_n.unwrap_or_else(|| panic!("{:?}", scaling.notes));
    assert!(near(at, 34.427_26, 1e-4) && low < at && at < high, "{at} {low} {high}");
    assert!(near(scaling.peak_rate.unwrap().0, 12_086.26, 1e-4));
    assert_eq!(scaling.better, ScalingShape::Neither);
}

#[test]
fn what_points_do_not_carry_is_refused_in_words() {
    let refused = |scaling: &ScalingFinding, words: &str| {
        assert_eq!((scaling.peak_n, scaling.peak_rate), (None, None));
        assert!(scaling.notes.iter().any(|n| n.contains(words)), "{words}: {:?}", scaling.notes);
        assert!(scaling_sentences(scaling).len() >= 2);
    };
    let four = cisco(|n| [1, 2, 4, 8].contains(&n));
    assert_eq!(four.law, None);
    refused(&four, "no law is fitted: 4 levels of load, at least 6");
    let ten = cisco(|n| n <= 10);
    refused(&ten, "no peak is given: it would lie at a load of more than 2 times");
    let sixteen = cisco(|n| n <= 16);
    refused(&sixteen, "no peak is given: it would lie at a load of ");
    assert!(sixteen.notes.iter().any(|n| n.contains("sigma is 0")), "{:?}", sixteen.notes);
}

#[test]
fn a_flat_top_is_no_peak() {
    // Rounded a little, or nothing is left to compare.
    let flat = fitted((0..9).map(|p| {
        let n = f64::from(1 << p);
        (n, (500.0 * n).min(8000.0) * (1.0 + 0.004 * (n * 7.0).sin()))
    }));
    assert_eq!((flat.better, flat.peak_n), (ScalingShape::TwoLines, None));
    let (one, ceiling) = flat.two_lines.unwrap();
    assert!(near(one, 500.0, 0.01) && near(ceiling, 8000.0, 0.01), "{one} {ceiling}");
    let said = scaling_sentences(&flat);
    assert!(said[1].starts_with("It levels off: from threads=16 on all rates lie"), "{said:?}");
    // The points of a noisy machine: the mean of what comes after the rise lies far below the best of them.
    let noisy = fitted(
        [9_500.0, 18_900.0, 27_000.0, 34_964.0, 16_100.0, 24_000.0, 15_400.0, 20_900.0]
            .into_iter()
            .zip(0..)
            .map(|(rate, p)| (f64::from(1 << p), rate)),
    );
    let said = scaling_sentences(&noisy);
    assert!(said[0].starts_with("The highest rate is 34 964"), "{said:?}");
    let (_, ceiling) = noisy.two_lines.unwrap_or_default();
    assert!(ceiling < 34_964.0 && !said.iter().any(|s| s.contains("levels off")), "{said:?}");
}

#[test]
fn growth_without_end_and_more_than_linear_growth_are_said() {
    let line = fitted((0..8).map(|p| (f64::from(1 << p), 500.0 * f64::from(1 << p))));
    assert_eq!((line.peak_n, line.two_lines), (None, None));
    assert!(line.notes.iter().any(|n| n.contains("grows to the end")), "{:?}", line.notes);
    let run = sweep(&[(1, 1.0, 100.0), (1, 2.0, 260.0), (1, 4.0, 480.0)]);
    let (points, _) = points::scaling_points(&run, &findings(&run), THREADS);
    assert_eq!(
        points.iter().map(|p| p.efficiency).collect::<Vec<_>>(),
        [Some(1.0), Some(1.3), Some(1.2)]
    );
    let more = (0..8).map(|p| (f64::from(1 << p), 500.0 * f64::from(1 << p)));
    let mut more: Vec<ScalingPoint> = more.map(|(n, rate)| point(n, rate)).collect();
    more[3].efficiency = Some(1.3);
    let more = fit_shapes(ScalingFinding {
        axis: THREADS.to_owned(),
        points: more,
        better: ScalingShape::Neither,
        ..ScalingFinding::default()
    });
    assert!(more.notes.iter().any(|n| n.starts_with("superlinear")), "{:?}", more.notes);
}

/// A run with one load per (block, value, rate), ten seconds each.
fn sweep(loads: &[(u32, f64, f64)]) -> RunRecord {
    let second = 1_000_000_000;
    let mut run = RunRecord {
        meta: RunMeta {
            asked: ExperimentRequest {
                axis: Some(THREADS.to_owned()),
                ..ExperimentRequest::default()
            },
            ..RunMeta::default()
        },
        ..RunRecord::default()
    };
    for (place, (block, value, rate)) in loads.iter().enumerate() {
        let began_ns = place as u64 * 20 * second;
        let mut response = new_histogram();
        // All sessions busy all the time: the mean response time is value by rate.
        response.record_n((value / rate * 1e9) as u64, (rate * 10.0) as u64).unwrap();
        run.trials.push(Trial {
            block: *block,
            value: Some(*value),
            workers: *value as usize,
            began_ns,
            ended_ns: began_ns + 10 * second,
            response: vec![response],
            ..Trial::default()
        });
        for at in [0, 5, 15] {
            let at = began_ns + at * second;
            run.samples.push(SampleRecord {
                began_ns: at,
                ended_ns: at,
                numbers: [(
                    "Threads_running".to_owned(),
                    if at % (20 * second) < 10 * second { value + 1.0 } else { 99.0 },
                )]
                .into(),
                ..SampleRecord::default()
            });
        }
    }
    run
}

fn findings(run: &RunRecord) -> Vec<TrialFinding> {
    let temperatures = vec![super::super::findings::PoolTemperature::Warm; run.trials.len()];
    super::super::trials::trial_findings(run, &temperatures)
}

#[test]
fn a_point_is_the_mean_of_its_blocks_with_an_interval() {
    let run = sweep(&[(1, 4.0, 300.0), (1, 1.0, 100.0), (2, 1.0, 110.0), (2, 4.0, 320.0)]);
    let scaling = find_scaling(&run, &findings(&run)).unwrap();
    let one = &scaling.points[0];
    assert_eq!((one.value, one.events_per_s.runs), (1.0, 2));
    assert!(near(one.events_per_s.value.unwrap(), 11_000_f64.sqrt(), 1e-9));
    // t(0.975, 1) = 12.706, standard error of the logarithms ln(1.1) / 2.
    let (low, high) = one.events_per_s.ci95.unwrap();
    assert!(near(low, 57.24, 1e-3) && near(high, 192.2, 1e-3), "{low} {high}");
    assert!((one.concurrency.unwrap() - 1.0).abs() < 0.01);
    assert_eq!((one.threads_running, scaling.points[1].threads_running), (Some(1.0), Some(4.0)));
    assert!(near(
        scaling.points[1].efficiency.unwrap(),
        96_000_f64.sqrt() / 4.0 / 11_000_f64.sqrt(),
        1e-9
    ));
    assert!(near(scaling.points[1].p99_s.unwrap(), 4.0 / 300.0, 1e-2));
}

#[test]
fn the_interval_of_a_rate_stays_above_zero() {
    let run = sweep(&[(1, 1.0, 10.0), (2, 1.0, 100.0)]);
    let (points, _) = points::scaling_points(&run, &findings(&run), THREADS);
    let (low, high) = points[0].events_per_s.ci95.unwrap();
    assert!(low > 0.0 && low < 10.0 && high > 100.0, "{low} {high}");
}

#[test]
fn the_first_level_again_shows_drift_and_is_no_point() {
    let still = sweep(&[(1, 1.0, 100.0), (1, 2.0, 180.0), (1, 1.0, 101.0)]);
    let (points, notes) = points::scaling_points(&still, &findings(&still), THREADS);
    assert_eq!((points[0].events_per_s.value, notes.len()), (Some(100.0), 0));
    let drifts = sweep(&[(1, 1.0, 100.0), (1, 2.0, 180.0), (1, 1.0, 90.0)]);
    let (_, notes) = points::scaling_points(&drifts, &findings(&drifts), THREADS);
    assert!(notes[0].contains("threads=1 gave 100 events/s at first and 90.0"), "{notes:?}");
}

#[test]
fn a_plain_load_is_no_sweep() {
    let mut run = sweep(&[(1, 1.0, 100.0)]);
    run.meta.asked.axis = None;
    assert_eq!(find_scaling(&run, &findings(&run)), None);
}
