//! How rate grows with load: the points of a sweep, the scalability law and its rival fitted to them, and when no peak
//! is given. Load is what was measured, rate times mean response time (Little, "A proof for the queuing formula L =
//! lambda W", 1961), not the number of threads asked for.
//! Never knows: plans, how a sweep is walked.
//! Start reading at [`find_scaling`].

mod law;
mod points;
#[cfg(test)]
mod tests;
mod two_lines;

use super::findings::{
    AnswerSentence, ScalabilityLaw, ScalingFinding, ScalingPoint, ScalingShape, TrialFinding,
};
use super::number_format::{format_number, format_percent, format_plural};
use super::sentences::answer_texts;
use super::statistics::least_squares::{DataPoint, aicc};
use crate::archive::RunRecord;
use crate::plan::{RATE, THREADS};
use law::{PeakInterval, fit_law, peak_intervals};
use two_lines::{TwoLines, fit_two_lines};

/// Fewer points carry no peak.
const LEAST_POINTS: usize = 6;
/// Fewer points don't tell a law from two lines: the correction for small samples would decide alone.
const LEAST_FOR_SHAPE: usize = 8;
/// The largest load measured, by the load at the peak, must reach this. The published points, which go to 32 of 35.6,
/// carry theirs; half of them, which go to 16 of 21.9, are a third off and don't.
const NEAR_PEAK: f64 = 0.85;
/// Nothing is said beyond this many times the largest load measured.
const FURTHEST: f64 = 2.0;
/// A law that explains less is none.
const LEAST_R2: f64 = 0.97;
/// The interval of the peak's load may be so wide, end by begin.
const WIDEST: f64 = 2.0;
/// Criteria closer than this don't tell two shapes apart (Burnham and Anderson).
const APART: f64 = 2.0;
/// A level is what so many points share, the highest by the lowest rate of them.
const LEAST_FLAT: usize = 2;
/// And begins where the rising line comes this near to the flat one.
const NEAR_CEILING: f64 = 0.95;
const FLAT: f64 = 1.1;
/// More per thread than the smallest load gives by this share is no scaling, but a cache that warms.
const SUPERLINEAR: f64 = 1.05;

/// Whether levels of load were swept, and not a setting of the server.
pub(super) fn is_load_sweep(scaling: &ScalingFinding) -> bool {
    [THREADS, RATE].contains(&&*scaling.axis)
}

/// How rate grew over a sweep; `None` for a run that is none.
pub(super) fn find_scaling(run: &RunRecord, trials: &[TrialFinding]) -> Option<ScalingFinding> {
    let axis = points::sweep_axis(run)?;
    let (points, notes) = points::scaling_points(run, trials, &axis);
    let scaling = ScalingFinding { axis, points, notes, ..ScalingFinding::default() };
    Some(if scaling.axis == THREADS { fit_shapes(scaling) } else { scaling })
}

/// Fits law and rival, and gives the peak or says why not.
fn fit_shapes(mut scaling: ScalingFinding) -> ScalingFinding {
    let data = weighted_points(&scaling.points);
    if data.len() < LEAST_POINTS {
        let levels = format_plural(data.len() as u64, "level", "levels");
        scaling.notes.push(format!(
            "no law is fitted: {levels} of load, at least {LEAST_POINTS} are needed \
             (two of them beyond the peak)"
        ));
        return scaling;
    }
    let Some(law) = fit_law(&data) else {
        scaling.notes.push("no law is fitted: at one level no event ended".to_owned());
        return scaling;
    };
    let rival = fit_two_lines(&data);
    scaling.law = Some(law);
    scaling.two_lines = rival.map(|r| (r.lambda, r.ceiling));
    scaling.better = better_shape(&data, &law, rival.as_ref());
    let peak = peak_intervals(&data, &law);
    let why = peak_refusals(&scaling, &data, &law, peak);
    if let (true, Some((at, rate))) = (why.is_empty(), peak) {
        (scaling.peak_n, scaling.peak_rate) = (Some(at), Some(rate));
        let beyond = data.iter().filter(|d| d.x > at.0).count();
        if beyond < 2 {
            let levels = format_plural(beyond as u64, "level lies", "levels lie");
            scaling.notes.push(format!("{levels} beyond the peak; two would make it surer"));
        }
    }
    scaling.notes.extend(why.into_iter().map(|why| format!("no peak is given: {why}")));
    scaling.notes.extend(shape_notes(&scaling, &law));
    scaling
}

/// The points as data, heavier where blocks agree. With a single block all weigh the same.
fn weighted_points(points: &[ScalingPoint]) -> Vec<DataPoint> {
    let known = |p: &ScalingPoint| {
        let y = p.events_per_s.value.filter(|y| *y > 0.0)?;
        Some((p.concurrency.unwrap_or(p.value), y, points::relative_variance(&p.events_per_s)))
    };
    let all: Vec<_> = points.iter().filter_map(known).collect();
    let pooled: Vec<f64> = all.iter().filter_map(|(_, _, own)| Some((*own)?.0)).collect();
    let pooled_mean = pooled.iter().sum::<f64>() / pooled.len().max(1) as f64;
    let is_known = !pooled.is_empty() && pooled_mean > 0.0;
    let weight = |y: f64, own: Option<(f64, f64)>| match own {
        _ if !is_known => 1.0,
        // A variance from few blocks says little: it is drawn towards that of all points, as if each had four
        // degrees of freedom more.
        Some((v, df)) => 1.0 / ((v * df + pooled_mean * 4.0) / (df + 4.0) * y * y),
        None => 1.0 / (pooled_mean * y * y),
    };
    all.into_iter().map(|(x, y, own)| DataPoint { x, y, weight: weight(y, own) }).collect()
}

/// Which shape describes the points better.
fn better_shape(
    data: &[DataPoint],
    law: &ScalabilityLaw,
    rival: Option<&TwoLines>,
) -> ScalingShape {
    let Some(rival) = rival else { return ScalingShape::Law };
    let of_law = aicc(law::residual_squares(data, law), data.len(), law::PARAMETERS);
    let of_rival = aicc(rival.left, data.len(), two_lines::PARAMETERS);
    match of_law.zip(of_rival) {
        Some((law, rival)) if data.len() >= LEAST_FOR_SHAPE && rival - law > APART => {
            ScalingShape::Law
        }
        Some((law, rival)) if data.len() >= LEAST_FOR_SHAPE && law - rival > APART => {
            ScalingShape::TwoLines
        }
        _ => ScalingShape::Neither,
    }
}

/// Why these points don't carry a peak; empty if they do.
fn peak_refusals(
    scaling: &ScalingFinding,
    data: &[DataPoint],
    law: &ScalabilityLaw,
    peak: Option<(PeakInterval, PeakInterval)>,
) -> Vec<String> {
    let largest = data.iter().map(|d| d.x).fold(0.0, f64::max);
    let mut why = Vec::new();
    if law.r2 < LEAST_R2 {
        let r2 = format_percent(law.r2.max(0.0));
        why.push(format!(
            "the law explains {r2} of what was seen, {} at least are needed",
            format_percent(LEAST_R2)
        ));
    }
    if scaling.better == ScalingShape::TwoLines {
        why.push(
            match find_plateau(scaling) {
                Some(_) => {
                    "the rate reaches a ceiling and stays there, without a peak: something is \
                     used up (the server's CPU?)"
                }
                None => {
                    "beyond its rise the rate goes up and down with no law: repeat \
                     (--blocks), on a quiet machine"
                }
            }
            .to_owned(),
        );
    }
    let Some(((at, low, high), _)) = peak else {
        why.push(
            "the rate grows to the end of the sweep (kappa is 0): add higher levels".to_owned(),
        );
        return why;
    };
    if largest < NEAR_PEAK * at {
        let far = if at > FURTHEST * largest {
            format!("more than {FURTHEST} times the highest level measured")
        } else {
            format_number(at)
        };
        why.push(format!(
            "it would lie at a load of {far}, and the highest measured is {}: add higher levels",
            format_number(largest)
        ));
    } else if high > WIDEST * low {
        let high = if high.is_finite() { format_number(high) } else { "infinity".to_owned() };
        why.push(format!(
            "these points put it anywhere between a load of {} and {high}: add levels around it, \
             or --blocks",
            format_number(low)
        ));
    }
    why
}

/// What the parameters say about the points.
fn shape_notes(scaling: &ScalingFinding, law: &ScalabilityLaw) -> Vec<String> {
    let mut notes = Vec::new();
    let best = scaling.points.iter().filter_map(|p| Some((p.efficiency?, p.value)));
    let best = best.fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
    if best.0 > SUPERLINEAR {
        notes.push(format!(
            "superlinear: a thread does {} of its work at the smallest level when there are {}; \
             that is not scaling but a cache that warmed, or a CPU that woke up, in between",
            format_percent(best.0),
            level_text(best.1)
        ));
    } else if law.sigma == 0.0 {
        notes.push(
            "contention and coherence can't be told apart by these points (sigma is 0 at its bound)"
                .to_owned(),
        );
    }
    if scaling.better == ScalingShape::Neither && scaling.points.len() < LEAST_FOR_SHAPE {
        notes.push(format!(
            "fewer than {LEAST_FOR_SHAPE} levels can't distinguish the law from two \
                           lines"
        ));
    }
    notes
}

/// A value as it was typed, if it is a whole number: `4`, not `4.00`.
fn level_text(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format_number(value) }
}

/// The answer in sentences, the first one alone enough.
pub(super) fn scaling_sentences(scaling: &ScalingFinding) -> Vec<AnswerSentence> {
    let rate = |p: &ScalingPoint| p.events_per_s.value;
    let done = scaling.points.iter().filter(|p| rate(p).is_some());
    let by_rate = |a: &&ScalingPoint, b: &&ScalingPoint| {
        rate(a).unwrap_or(0.0).total_cmp(&rate(b).unwrap_or(0.0))
    };
    let (Some(first), Some(best)) = (scaling.points.first(), done.max_by(by_rate)) else {
        return vec![answer_texts::SWEEP_NONE.to_sentence(&[])];
    };
    let shown = |p: &ScalingPoint| rate(p).map_or_else(|| "-".to_owned(), format_number);
    let axis = &scaling.axis;
    let mut all = vec![answer_texts::SWEEP_BEST.to_sentence(&[
        ("rate", &shown(best)),
        ("axis", axis),
        ("at", &level_text(best.value)),
        ("first", &shown(first)),
        ("from", &level_text(first.value)),
    ])];
    if let (Some(law), Some((at, low, high)), Some((peak, ..))) =
        (&scaling.law, scaling.peak_n, scaling.peak_rate)
    {
        all.push(answer_texts::SWEEP_PEAK.to_sentence(&[
            ("at", &format_number(at)),
            ("low", &format_number(low)),
            ("high", &format_number(high)),
            ("rate", &format_number(peak)),
            ("sigma", &format_percent(law.sigma)),
            ("kappa", &format_percent(law.kappa)),
        ]));
    } else if let Some((from, low, high)) = find_plateau(scaling) {
        all.push(answer_texts::SWEEP_LEVEL.to_sentence(&[
            ("axis", axis),
            ("from", &level_text(from)),
            ("low", &format_number(low)),
            ("high", &format_number(high)),
        ]));
    } else if axis == THREADS {
        let why = scaling.notes.iter().find_map(|note| note.strip_prefix("no "));
        all.extend(why.map(|why| answer_texts::SWEEP_NO_PEAK.to_sentence(&[("why", &why)])));
    }
    all
}

/// Where the rate comes to a level and stays there: from which value on, and the lowest and highest rate from there.
/// Two lines that describe the points better than the law are not enough: the points themselves have to stay together,
/// as the ceiling of the lines is a mean that may lie far below what was measured.
fn find_plateau(scaling: &ScalingFinding) -> Option<(f64, f64, f64)> {
    let (one, ceiling) = scaling.two_lines.filter(|_| scaling.better == ScalingShape::TwoLines)?;
    let is_flat =
        |p: &&ScalingPoint| p.concurrency.unwrap_or(p.value) * one >= NEAR_CEILING * ceiling;
    let from = scaling.points.iter().position(|p| is_flat(&p))?;
    let flat: Option<Vec<f64>> =
        scaling.points[from..].iter().map(|p| p.events_per_s.value).collect();
    let flat = flat.filter(|rates| rates.len() >= LEAST_FLAT)?;
    let low = flat.iter().copied().fold(f64::INFINITY, f64::min);
    let high = flat.iter().copied().fold(0.0, f64::max);
    let highest = scaling.points.iter().filter_map(|p| p.events_per_s.value).fold(0.0, f64::max);
    let is_level = high <= FLAT * low && highest <= high;
    is_level.then_some((scaling.points[from].value, low, high))
}
