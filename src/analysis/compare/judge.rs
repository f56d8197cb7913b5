//! From values to a verdict. Everything is done on logarithms, so that a ratio and its inverse weigh the same.
//!
//! The interval is Student's of the mean paired difference (Welch's where runs are not paired). Better and worse mean
//! that it lies wholly beyond the margin, same that it lies wholly within. With several ways the chances of these
//! statements are adjusted by Holm's steps before one is made. From six blocks on the signed ranks have to agree.

use super::super::figure::figure;
use super::super::findings::{Comparison, Estimate, Pair, SignedRank, Verdict};
use super::super::statistics::correction::{ALPHA, holm};
use super::super::statistics::power;
use super::super::statistics::rank;
use super::super::statistics::welch::{Mean, one_sample, welch};
use super::metric::{METRICS, Metric};
use super::race;
use super::units::Unit;

/// Blocks from which the signed ranks can say anything at 5 %.
pub(super) const RANKED_BLOCKS: usize = 6;

/// How runs of one way belong to those of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Design {
    /// Block by block.
    Paired,
    /// Not at all.
    Unpaired,
}

/// When a difference counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rule {
    /// Chance of a false statement, at this look.
    pub(super) alpha: f64,
    /// Differences below this share don't matter.
    pub(super) margin: f64,
}

/// Values of the base and of a way, in one metric.
pub(super) struct Values {
    pub(super) way: String,
    pub(super) base: String,
    pub(super) design: Design,
    /// By block where paired; otherwise the numbers are those of the runs, and one may be missing.
    pub(super) base_values: Vec<(u32, f64)>,
    pub(super) way_values: Vec<(u32, f64)>,
}

impl Values {
    /// Those of two sides in a metric; of a paired design only blocks that have both.
    pub(super) fn new(
        base: (&str, &[&Unit]),
        way: (&str, &[&Unit]),
        design: Design,
        metric: &str,
    ) -> Values {
        let of = |units: &[&Unit]| -> Vec<(u32, f64)> {
            units.iter().filter_map(|u| Some((u.block, *u.values.get(metric)?))).collect()
        };
        let (mut base_values, mut way_values) = (of(base.1), of(way.1));
        if design == Design::Paired {
            let both = |block: u32, other: &[(u32, f64)]| other.iter().any(|(b, _)| *b == block);
            base_values.retain(|(block, _)| both(*block, &way_values));
            way_values.retain(|(block, _)| both(*block, &base_values));
        }
        Values { way: way.0.to_owned(), base: base.0.to_owned(), design, base_values, way_values }
    }

    /// Logarithms of the ratios, block by block.
    fn differences(&self) -> Vec<f64> {
        self.base_values.iter().zip(&self.way_values).map(|(b, w)| (w.1 / b.1).ln()).collect()
    }

    /// Mean difference of the logarithms.
    fn mean(&self) -> Option<Mean> {
        match self.design {
            Design::Paired => one_sample(&self.differences()),
            Design::Unpaired => welch(&logs(&self.base_values), &logs(&self.way_values)),
        }
    }

    /// Number of blocks, or of runs of the side that has fewer.
    fn runs(&self) -> usize {
        self.base_values.len().min(self.way_values.len())
    }
}

fn logs(values: &[(u32, f64)]) -> Vec<f64> {
    values.iter().map(|(_, v)| v.ln()).collect()
}

/// Where the mean lies, and the chance with which its interval would just be clear of both edges of the margin.
#[derive(Clone, Copy)]
struct Place {
    /// -1 below the margin, 0 inside, 1 above.
    side: i8,
    /// The smallest chance at which this place may be called its own.
    p: f64,
    /// From the nearest edge, in logarithms.
    gap: f64,
}

/// Edges of the margin as logarithms.
fn edges(margin: f64) -> (f64, f64) {
    ((1.0 - margin).max(1e-9).ln(), margin.ln_1p())
}

fn place(mean: &Mean, margin: f64) -> Place {
    let (low, high) = edges(margin);
    let gap = (mean.value - low).abs().min((mean.value - high).abs());
    let (side, p) = match mean.value {
        v if v > high => (1, mean.p(high)),
        v if v < low => (-1, mean.p(low)),
        _ => (0, mean.p(low).max(mean.p(high))),
    };
    Place { side, p, gap }
}

/// All comparisons of these ways, the first being the base: metric by metric, the deciding one first. `notes` hold for
/// all of them.
pub(super) fn all(
    sides: &[(&str, Vec<&Unit>)],
    design: Design,
    rule: Rule,
    deciding: &str,
    notes: &[String],
) -> Vec<Comparison> {
    let Some((base, ways)) = sides.split_first() else { return Vec::new() };
    let mut metrics: Vec<&Metric> = METRICS.iter().collect();
    metrics.sort_by_key(|m| m.name != deciding);
    let mut found = Vec::new();
    for metric in metrics {
        let values: Vec<Values> = ways
            .iter()
            .map(|way| Values::new((base.0, &base.1), (way.0, &way.1), design, metric.name))
            .filter(|v| v.runs() > 0 || metric.name == deciding)
            .collect();
        let decides = metric.name == deciding;
        let mut judged = judge(&values, metric, rule);
        if decides {
            for one in &mut judged {
                one.decides = true;
                one.notes.extend(notes.iter().cloned());
            }
            judged.extend(race::best_and_second(sides, design, rule, metric));
        }
        found.append(&mut judged);
    }
    found
}

/// One metric of all ways: their chances are adjusted together.
pub(super) fn judge(values: &[Values], metric: &Metric, rule: Rule) -> Vec<Comparison> {
    let means: Vec<Option<Mean>> = values.iter().map(Values::mean).collect();
    let chance = |of: &dyn Fn(&Mean) -> f64| -> Vec<f64> {
        holm(&means.iter().map(|m| m.as_ref().map_or(1.0, of)).collect::<Vec<_>>())
    };
    let apart = chance(&|mean| mean.p(0.0));
    let placed = chance(&|mean| place(mean, rule.margin).p);
    let one = |at: usize| one(&values[at], means[at], (apart[at], placed[at]), metric, rule);
    (0..values.len()).map(one).collect()
}

/// One way, with its chances (of a difference, of its place) adjusted for the other ways.
fn one(
    values: &Values,
    mean: Option<Mean>,
    (apart, placed): (f64, f64),
    metric: &Metric,
    rule: Rule,
) -> Comparison {
    let mut found = Comparison {
        way: values.way.clone(),
        base: values.base.clone(),
        metric: metric.name.to_owned(),
        decides: false,
        more_is_better: metric.more_is_better,
        paired: values.design == Design::Paired,
        ratio: Estimate { value: None, ci95: None, runs: values.runs() as u32 },
        verdict: Verdict::Unsure,
        margin: rule.margin,
        p: None,
        signed_rank: None,
        detectable: None,
        more_blocks: None,
        noise: None,
        within_noise: false,
        pairs: pairs(values),
        notes: Vec::new(),
    };
    let Some(mean) = mean else {
        single(values, &mut found);
        return found;
    };
    let (low, high) = mean.interval(rule.alpha);
    found.ratio.value = Some(mean.value.exp());
    found.ratio.ci95 = Some((low.exp(), high.exp()));
    // A chance of alpha at this look is one of 5 % in the whole experiment.
    found.p = Some((apart * ALPHA / rule.alpha).min(1.0));
    found.detectable = Some(power::detectable(mean.error, mean.df, rule.alpha));
    let place = place(&mean, rule.margin);
    if placed <= rule.alpha {
        found.verdict = verdict(place.side, metric.more_is_better);
    } else if place.p <= rule.alpha {
        found.notes.push(
            "its interval alone would decide, but several were compared at once (Holm)".to_owned(),
        );
    }
    check(values, place.side, rule, &mut found);
    if found.verdict == Verdict::Unsure {
        more(values, &mean, &place, rule, &mut found);
    }
    found
}

fn verdict(side: i8, more_is_better: bool) -> Verdict {
    match (side, more_is_better) {
        (0, _) => Verdict::Same,
        (1, true) | (-1, false) => Verdict::Better,
        _ => Verdict::Worse,
    }
}

/// One run on a side: a ratio, and nothing about how sure it is.
fn single(values: &Values, found: &mut Comparison) {
    let mean = |v: &[(u32, f64)]| {
        let logs = logs(v);
        (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
    };
    let ratio = mean(&values.base_values).zip(mean(&values.way_values)).map(|(b, w)| (w - b).exp());
    found.ratio.value = ratio;
    found.notes.push(
        match ratio {
            Some(_) => "one run each: not comparable, as nothing is known about how much runs vary",
            None => "no block has both",
        }
        .to_owned(),
    );
}

fn pairs(values: &Values) -> Vec<Pair> {
    let both = values.base_values.iter().zip(&values.way_values).enumerate();
    both.map(|(place, (base, way))| Pair {
        block: if values.design == Design::Paired { base.0 } else { place as u32 + 1 },
        base: base.1,
        way: way.1,
    })
    .collect()
}

/// The check without a distribution: where it can speak and does not agree, nothing is sure.
fn check(values: &Values, side: i8, rule: Rule, found: &mut Comparison) {
    match values.design {
        Design::Paired => signed_ranks(&values.differences(), side, rule, found),
        Design::Unpaired => mann_whitney(values, rule, found),
    }
}

fn signed_ranks(differences: &[f64], side: i8, rule: Rule, found: &mut Comparison) {
    if differences.len() < RANKED_BLOCKS {
        return;
    }
    let Some((centre, Some((low, high)))) = rank::centre(differences, rule.alpha) else { return };
    found.signed_rank = Some(SignedRank {
        p: rank::signed_rank_p(differences),
        ratio: centre.exp(),
        ci95: (low.exp(), high.exp()),
    });
    let (inner, outer) = edges(rule.margin);
    let agrees = match (found.verdict, side) {
        (Verdict::Unsure, _) => true,
        (Verdict::Same, _) => low <= outer && high >= inner,
        (_, 1) => low > 0.0,
        _ => high < 0.0,
    };
    if !agrees {
        found.notes.push(format!(
            "Student's interval says {}, the signed ranks do not: {} .. {} % (p {})",
            found.verdict.words(),
            signed(low),
            signed(high),
            figure(rank::signed_rank_p(differences)),
        ));
        found.verdict = Verdict::Unsure;
    }
}

/// A difference of logarithms in percent, with its sign.
fn signed(log: f64) -> String {
    format!("{:+.1}", log.exp_m1() * 100.0)
}

fn mann_whitney(values: &Values, rule: Rule, found: &mut Comparison) {
    let (base, way) = (logs(&values.base_values), logs(&values.way_values));
    let p = rank::mann_whitney_p(&base, &way);
    let least = rank::least_mann_whitney_p(base.len(), way.len());
    found.notes.push(format!(
        "Welch's test on {} against {} runs that are not paired; Mann-Whitney p {} (no smaller \
         one than {} is possible with so many runs)",
        way.len(),
        base.len(),
        figure(p),
        figure(least)
    ));
    let claims = matches!(found.verdict, Verdict::Better | Verdict::Worse);
    if claims && least <= rule.alpha && p > rule.alpha {
        found
            .notes
            .push(format!("Welch's interval says {}, the ranks do not", found.verdict.words()));
        found.verdict = Verdict::Unsure;
    }
}

/// How many blocks more would decide.
fn more(values: &Values, mean: &Mean, place: &Place, rule: Rule, found: &mut Comparison) {
    let have = values.runs() as u32;
    let sd = mean.error * f64::from(have).sqrt();
    match power::blocks_needed(sd, place.gap, rule.alpha) {
        Some(needed) => found.more_blocks = Some(needed.max(have + 1) - have),
        None => found.notes.push(format!(
            "so near the edge of the margin that {} blocks would not decide: another margin would",
            power::MOST_BLOCKS
        )),
    }
}
