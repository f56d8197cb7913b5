//! From values to a verdict. Everything is done on logarithms, so that a ratio and its inverse weigh the same.
//!
//! The interval is Student's of the mean paired difference (Welch's where runs are not paired). Better and worse mean
//! that it lies wholly beyond the margin, same that it lies wholly within. With several variants the chances of these
//! statements are adjusted by Holm's steps before one is made. From six blocks on the signed ranks have to agree.

use super::super::findings::{
    BlockPair, ComparisonVerdict, Estimate, MetricComparison, SignedRank,
};
use super::super::number_format::format_number;
use super::super::statistics::correction::{ALPHA, holm_adjust};
use super::super::statistics::power;
use super::super::statistics::ranks;
use super::super::statistics::welch::{MeanEstimate, one_sample, welch_difference};
use super::best_of;
use super::metric::{ComparedMetric, METRICS};
use super::units::ComparisonUnit;

/// Blocks from which the signed ranks can say anything at 5 %.
pub(in crate::analysis) const RANKED_BLOCKS: usize = 6;

/// How runs of one variant belong to those of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum StudyDesign {
    /// Block by block.
    Paired,
    /// Not at all.
    Unpaired,
    /// Not at all; they are batches of one run each.
    UnpairedBatches,
}

/// When a difference counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct DecisionRule {
    /// Chance of a false statement, at this look.
    pub(in crate::analysis) alpha: f64,
    /// Differences below this share don't matter.
    pub(in crate::analysis) margin: f64,
}

/// Values of the base and of a variant, in one metric.
pub(in crate::analysis) struct ComparedValues {
    pub(in crate::analysis) variant: String,
    pub(in crate::analysis) base: String,
    pub(in crate::analysis) design: StudyDesign,
    /// By block where paired; otherwise the numbers are those of the runs, and one may be missing.
    pub(in crate::analysis) base_values: Vec<(u32, f64)>,
    pub(in crate::analysis) variant_values: Vec<(u32, f64)>,
}

impl ComparedValues {
    /// Those of two sides in a metric; of a paired design only blocks that have both.
    pub(in crate::analysis) fn new(
        base: (&str, &[&ComparisonUnit]),
        variant: (&str, &[&ComparisonUnit]),
        design: StudyDesign,
        metric: &str,
    ) -> ComparedValues {
        let of = |units: &[&ComparisonUnit]| -> Vec<(u32, f64)> {
            units.iter().filter_map(|u| Some((u.block, *u.values.get(metric)?))).collect()
        };
        let (mut base_values, mut variant_values) = (of(base.1), of(variant.1));
        if design == StudyDesign::Paired {
            let both = |block: u32, other: &[(u32, f64)]| other.iter().any(|(b, _)| *b == block);
            base_values.retain(|(block, _)| both(*block, &variant_values));
            variant_values.retain(|(block, _)| both(*block, &base_values));
        }
        ComparedValues {
            variant: variant.0.to_owned(),
            base: base.0.to_owned(),
            design,
            base_values,
            variant_values,
        }
    }

    /// Logarithms of the ratios, block by block.
    fn log_ratios(&self) -> Vec<f64> {
        self.base_values.iter().zip(&self.variant_values).map(|(b, w)| (w.1 / b.1).ln()).collect()
    }

    /// Mean difference of the logarithms.
    fn mean_difference(&self) -> Option<MeanEstimate> {
        match self.design {
            StudyDesign::Paired => one_sample(&self.log_ratios()),
            StudyDesign::Unpaired | StudyDesign::UnpairedBatches => {
                welch_difference(&log_values(&self.base_values), &log_values(&self.variant_values))
            }
        }
    }

    /// Number of blocks, or of runs of the side that has fewer.
    fn run_count(&self) -> usize {
        self.base_values.len().min(self.variant_values.len())
    }
}

/// The mean of the logarithms, as a value.
fn geometric_mean(values: &[(u32, f64)]) -> Option<f64> {
    let logs = log_values(values);
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

fn log_values(values: &[(u32, f64)]) -> Vec<f64> {
    values.iter().map(|(_, v)| v.ln()).collect()
}

/// Where the mean lies, and the chance with which its interval would just be clear of both edges of the margin.
#[derive(Clone, Copy)]
struct MarginPosition {
    /// -1 below the margin, 0 inside, 1 above.
    side: i8,
    /// The smallest chance at which this place may be called its own.
    p: f64,
    /// From the nearest edge, in logarithms.
    gap: f64,
}

/// Edges of the margin as logarithms.
fn margin_edges(margin: f64) -> (f64, f64) {
    ((1.0 - margin).max(1e-9).ln(), margin.ln_1p())
}

fn margin_position(mean: &MeanEstimate, margin: f64) -> MarginPosition {
    let (low, high) = margin_edges(margin);
    let gap = (mean.value - low).abs().min((mean.value - high).abs());
    let (side, p) = match mean.value {
        v if v > high => (1, mean.two_sided_p(high)),
        v if v < low => (-1, mean.two_sided_p(low)),
        _ => (0, mean.two_sided_p(low).max(mean.two_sided_p(high))),
    };
    MarginPosition { side, p, gap }
}

/// All comparisons of these variants, the first being the base: metric by metric, the deciding one first. `notes` hold for
/// all of them.
pub(in crate::analysis) fn judge_variants(
    sides: &[(&str, Vec<&ComparisonUnit>)],
    design: StudyDesign,
    rule: DecisionRule,
    deciding: &str,
    notes: &[String],
) -> Vec<MetricComparison> {
    let Some((base, variants)) = sides.split_first() else { return Vec::new() };
    let mut metrics: Vec<&ComparedMetric> = METRICS.iter().collect();
    metrics.sort_by_key(|m| m.name != deciding);
    let mut found = Vec::new();
    for metric in metrics {
        let values: Vec<ComparedValues> = variants
            .iter()
            .map(|variant| {
                ComparedValues::new((base.0, &base.1), (variant.0, &variant.1), design, metric.name)
            })
            .filter(|v| v.run_count() > 0 || metric.name == deciding)
            .collect();
        let decides = metric.name == deciding;
        let mut judged = judge_metric(&values, metric, rule);
        if decides {
            for one in &mut judged {
                one.decides = true;
                one.notes.extend(notes.iter().cloned());
            }
            judged.extend(best_of::compare_best_two(sides, design, rule, metric));
        }
        found.append(&mut judged);
    }
    found
}

/// One metric of all variants: their chances are adjusted together.
pub(super) fn judge_metric(
    values: &[ComparedValues],
    metric: &ComparedMetric,
    rule: DecisionRule,
) -> Vec<MetricComparison> {
    let means: Vec<Option<MeanEstimate>> =
        values.iter().map(ComparedValues::mean_difference).collect();
    let chance = |of: &dyn Fn(&MeanEstimate) -> f64| -> Vec<f64> {
        holm_adjust(&means.iter().map(|m| m.as_ref().map_or(1.0, of)).collect::<Vec<_>>())
    };
    let apart = chance(&|mean| mean.two_sided_p(0.0));
    let placed = chance(&|mean| margin_position(mean, rule.margin).p);
    let one =
        |at: usize| judge_variant(&values[at], means[at], (apart[at], placed[at]), metric, rule);
    (0..values.len()).map(one).collect()
}

/// One variant, with its chances (of a difference, of its place) adjusted for the other variants.
fn judge_variant(
    values: &ComparedValues,
    mean: Option<MeanEstimate>,
    (apart, placed): (f64, f64),
    metric: &ComparedMetric,
    rule: DecisionRule,
) -> MetricComparison {
    let mut found = MetricComparison {
        variant: values.variant.clone(),
        base: values.base.clone(),
        metric: metric.name.to_owned(),
        more_is_better: metric.more_is_better,
        paired: values.design == StudyDesign::Paired,
        ratio: Estimate { value: None, ci95: None, runs: values.run_count() as u32 },
        margin: rule.margin,
        pairs: block_pairs(values),
        uneven_runs: uneven_runs(values),
        levels: geometric_mean(&values.base_values).zip(geometric_mean(&values.variant_values)),
        ..MetricComparison::default()
    };
    let Some(mean) = mean else {
        note_single_runs(&mut found);
        return found;
    };
    let (low, high) = mean.confidence_interval(rule.alpha);
    found.ratio.value = Some(mean.value.exp());
    found.ratio.ci95 = Some((low.exp(), high.exp()));
    // A chance of alpha at this look is one of 5 % in the whole experiment.
    found.p = Some((apart * ALPHA / rule.alpha).min(1.0));
    found.detectable = Some(power::detectable_difference(mean.error, mean.df, rule.alpha));
    let place = margin_position(&mean, rule.margin);
    if placed <= rule.alpha {
        found.verdict = side_verdict(place.side, metric.more_is_better);
    } else if place.p <= rule.alpha {
        found.notes.push(
            "its interval alone would decide, but several were compared at once (Holm)".to_owned(),
        );
    }
    check_ranks(values, place.side, rule, &mut found);
    if found.verdict == ComparisonVerdict::Unsure {
        estimate_more_blocks(values, &mean, &place, rule, &mut found);
    }
    found
}

fn uneven_runs(values: &ComparedValues) -> Option<(u32, u32)> {
    let counts = (values.base_values.len() as u32, values.variant_values.len() as u32);
    (values.design == StudyDesign::Unpaired && counts.0 != counts.1).then_some(counts)
}

fn side_verdict(side: i8, more_is_better: bool) -> ComparisonVerdict {
    match (side, more_is_better) {
        (0, _) => ComparisonVerdict::Same,
        (1, true) | (-1, false) => ComparisonVerdict::Better,
        _ => ComparisonVerdict::Worse,
    }
}

/// One run on a side: a ratio, and nothing about how sure it is.
fn note_single_runs(found: &mut MetricComparison) {
    let ratio = found.levels.map(|(base, variant)| variant / base);
    found.ratio.value = ratio;
    found.notes.push(
        match ratio {
            Some(_) => "one run on a side: how much runs vary is not known",
            None => "no block has both",
        }
        .to_owned(),
    );
}

fn block_pairs(values: &ComparedValues) -> Vec<BlockPair> {
    let both = values.base_values.iter().zip(&values.variant_values).enumerate();
    both.map(|(place, (base, variant))| BlockPair {
        block: if values.design == StudyDesign::Paired { base.0 } else { place as u32 + 1 },
        base: base.1,
        variant: variant.1,
    })
    .collect()
}

/// The check without a distribution: where it can speak and does not agree, nothing is sure.
fn check_ranks(
    values: &ComparedValues,
    side: i8,
    rule: DecisionRule,
    found: &mut MetricComparison,
) {
    match values.design {
        StudyDesign::Paired => check_signed_ranks(&values.log_ratios(), side, rule, found),
        StudyDesign::Unpaired | StudyDesign::UnpairedBatches => {
            check_mann_whitney(values, rule, found);
        }
    }
}

fn check_signed_ranks(
    differences: &[f64],
    side: i8,
    rule: DecisionRule,
    found: &mut MetricComparison,
) {
    if differences.len() < RANKED_BLOCKS {
        return;
    }
    let Some((centre, Some((low, high)))) = ranks::hodges_lehmann(differences, rule.alpha) else {
        return;
    };
    found.signed_rank = Some(SignedRank {
        p: ranks::signed_rank_p(differences),
        ratio: centre.exp(),
        ci95: (low.exp(), high.exp()),
    });
    let (inner, outer) = margin_edges(rule.margin);
    let agrees = match (found.verdict, side) {
        (ComparisonVerdict::Unsure, _) => true,
        (ComparisonVerdict::Same, _) => low <= outer && high >= inner,
        (_, 1) => low > 0.0,
        _ => high < 0.0,
    };
    if !agrees {
        found.notes.push(format!(
            "Student's interval says {}, the signed ranks do not: {} .. {} % (p {})",
            found.verdict.as_str(),
            signed_percent(low),
            signed_percent(high),
            format_number(ranks::signed_rank_p(differences)),
        ));
        found.verdict = ComparisonVerdict::Unsure;
    }
}

/// A difference of logarithms in percent, with its sign.
fn signed_percent(log: f64) -> String {
    format!("{:+.1}", log.exp_m1() * 100.0)
}

fn check_mann_whitney(values: &ComparedValues, rule: DecisionRule, found: &mut MetricComparison) {
    let (base, variant) = (log_values(&values.base_values), log_values(&values.variant_values));
    let p = ranks::mann_whitney_p(&base, &variant);
    let least = ranks::least_mann_whitney_p(base.len(), variant.len());
    if values.design == StudyDesign::Unpaired {
        found.notes.push(format!(
            "Welch's test on {} against {} runs that are not paired; Mann-Whitney p {} (none \
             below {} is possible with this many runs)",
            variant.len(),
            base.len(),
            format_number(p),
            format_number(least)
        ));
    }
    let claims = matches!(found.verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse);
    if claims && least <= rule.alpha && p > rule.alpha {
        found
            .notes
            .push(format!("Welch's interval says {}, the ranks do not", found.verdict.as_str()));
        found.verdict = ComparisonVerdict::Unsure;
    }
}

/// How many blocks more would decide.
fn estimate_more_blocks(
    values: &ComparedValues,
    mean: &MeanEstimate,
    place: &MarginPosition,
    rule: DecisionRule,
    found: &mut MetricComparison,
) {
    let have = values.run_count() as u32;
    let sd = mean.error * f64::from(have).sqrt();
    match power::blocks_needed(sd, place.gap, rule.alpha) {
        Some(needed) => found.more_blocks = Some(needed.max(have + 1) - have),
        None => found.notes.push(format!(
            "so near the edge of the margin that {} blocks would not decide: another margin would",
            power::MOST_BLOCKS
        )),
    }
}
