//! Before an experiment: what it will be able to see. During one that grows: whether it may end.

use crate::archive::{ExperimentRequest, RunRecord, TrialEnding};

use super::super::findings::{ComparisonVerdict, MetricComparison};
use super::super::statistics::correction::{ALPHA, look_schedule};
use super::super::statistics::power;
use super::judge::{ComparedValues, DecisionRule, StudyDesign, judge_metric};
use super::metric::{ComparedMetric, METRICS, find_metric};

/// Blocks before the first look if nobody said.
const FIRST: u32 = 5;
/// How much runs of a database vary where nobody measured it, as a share.
const USUAL_VARIATION: f64 = 0.02;

/// Whether an experiment that grows may end.
#[derive(Clone, Debug, PartialEq)]
pub struct InterimResult {
    /// Every variant has a verdict, or there is no further look.
    pub ends: bool,
    /// Every variant has a verdict.
    pub clear: bool,
    /// At how many blocks the next look is, if there is one.
    pub next: Option<u32>,
    /// What was seen, in words.
    pub words: String,
}

/// Blocks before the first look.
fn first_look(asked: &ExperimentRequest) -> u32 {
    if asked.blocks > 1 { asked.blocks } else { FIRST }
}

/// Chance of a false statement that each look may have.
pub(super) fn look_alpha(asked: &ExperimentRequest) -> f64 {
    asked.until_clear.map_or(ALPHA, |most| look_schedule(first_look(asked), most).level)
}

/// How looking more than once was accounted for.
pub(super) fn looks_note(asked: &ExperimentRequest, level: f64) -> Option<String> {
    let looks = look_schedule(first_look(asked), asked.until_clear?);
    (looks.at.len() > 1).then(|| {
        let at: Vec<String> = looks.at.iter().map(u32::to_string).collect();
        format!(
            "checked after {} blocks: each check has a chance of {:.2} % for a false answer, and \
             intervals are widened to it, so that all together have {:.0} %",
            at.join(", "),
            level * 100.0,
            ALPHA * 100.0
        )
    })
}

/// The same of a run whose `compared` are known.
pub(in crate::analysis) fn judge_interim_comparisons(
    run: &RunRecord,
    compared: &[MetricComparison],
) -> InterimResult {
    let deciding: Vec<&MetricComparison> = compared.iter().filter(|c| c.decides).collect();
    let asked = &run.meta.asked;
    let most = asked.until_clear.unwrap_or(asked.blocks);
    interim_result(&deciding, complete_blocks(run), first_look(asked), most)
}

/// The same from pairs of values (of the base, of the variant), variant by variant: after `pairs` blocks, in an experiment with a
/// first look at `first_look` blocks and at most `most`. `metric` is one of [`super::metric_names`]; another name counts as
/// one of which more is better.
pub fn judge_interim_pairs(
    variants: &[(String, Vec<(f64, f64)>)],
    metric_name: &str,
    margin: f64,
    first: u32,
    most: u32,
) -> (InterimResult, Vec<MetricComparison>) {
    let metric: &ComparedMetric = find_metric(metric_name).unwrap_or(&METRICS[0]);
    let rule = DecisionRule { alpha: look_schedule(first, most).level, margin };
    let numbered = |values: &dyn Fn(&(f64, f64)) -> f64, pairs: &[(f64, f64)]| {
        pairs.iter().zip(1..).map(|(pair, block)| (block, values(pair))).collect()
    };
    let values: Vec<ComparedValues> = variants
        .iter()
        .map(|(variant, pairs)| ComparedValues {
            variant: variant.clone(),
            base: "base".to_owned(),
            design: StudyDesign::Paired,
            base_values: numbered(&|pair| pair.0, pairs),
            variant_values: numbered(&|pair| pair.1, pairs),
        })
        .collect();
    let found = judge_metric(&values, metric, rule);
    let blocks = variants.iter().map(|(_, pairs)| pairs.len() as u32).min().unwrap_or(0);
    (interim_result(&found.iter().collect::<Vec<_>>(), blocks, first, most), found)
}

/// Blocks in which every variant ran.
fn complete_blocks(run: &RunRecord) -> u32 {
    let variants = super::variant_names(run);
    let has = |block: u32, variant: &str| {
        run.trials
            .iter()
            .any(|t| t.block == block && t.variant == variant && t.reason == TrialEnding::Done)
    };
    let last = run.trials.iter().map(|t| t.block).max().unwrap_or(0);
    (1..=last).filter(|block| variants.iter().all(|variant| has(*block, variant))).count() as u32
}

fn interim_result(
    found: &[&MetricComparison],
    blocks: u32,
    first: u32,
    most: u32,
) -> InterimResult {
    let plan = look_schedule(first, most);
    let next = plan.at.iter().copied().find(|n| *n > blocks);
    let last = plan.at.last().copied().unwrap_or(0);
    if !plan.at.contains(&blocks) && blocks < last {
        // Not to look is what keeps the promise.
        let words = next.map_or(String::new(), |n| format!("block {blocks} of {n} until a check"));
        return InterimResult { ends: false, clear: false, next, words };
    }
    let unsure: Vec<&str> = found
        .iter()
        .filter(|c| c.verdict == ComparisonVerdict::Unsure)
        .map(|c| c.variant.as_str())
        .collect();
    let clear = unsure.is_empty() && !found.is_empty();
    let words = match (clear, next) {
        (true, _) => format!("clear after {blocks} blocks"),
        (false, Some(n)) => {
            format!("not clear after {blocks} blocks ({}): next check after {n}", unsure.join(", "))
        }
        (false, None) => format!("not clear after {blocks} blocks, the most allowed"),
    };
    InterimResult { ends: clear || next.is_none(), clear, next, words }
}

/// What an experiment with so many blocks will be able to see, to be said before it starts. `variation` is how much
/// runs of one variant vary (standard deviation as a share), if that was measured.
pub fn detectable_before(blocks: u32, until_clear: Option<u32>, variation: Option<f64>) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let varies = variation.filter(|v| *v > 0.0).unwrap_or(USUAL_VARIATION);
    // A difference of two runs varies by the root of 2 more than a run.
    let sd = varies * std::f64::consts::SQRT_2;
    let seen = |blocks: u32, alpha: f64| {
        let n = f64::from(blocks);
        percent(power::detectable_difference(sd / n.sqrt(), n - 1.0, alpha))
    };
    let known = if variation.is_some() { "as measured" } else { "not measured yet" };
    let most = until_clear.unwrap_or(blocks);
    if most < 2 {
        return "1 block can't show a difference: how much runs vary is not known".to_owned();
    }
    let plan = match until_clear {
        Some(most) => look_schedule(if blocks > 1 { blocks } else { FIRST }, most),
        None => look_schedule(blocks, blocks),
    };
    let steps: Vec<String> = plan
        .at
        .iter()
        .map(|n| format!("{n} blocks can resolve {}", seen(*n, plan.level)))
        .collect();
    format!("{} if runs vary by {} ({known})", steps.join(", "), percent(varies))
}
