//! A variant against itself: what the machine resolves.

use super::super::findings::{AnswerSentence, ComparisonVerdict, MetricComparison};
use super::super::number_format::{format_percent, format_plural};
use super::super::sentences::answer_texts;

/// What a comparison of a variant with itself says about the machine, in sentences.
pub(in super::super) fn aa_sentences(comparisons: &[MetricComparison]) -> Vec<AnswerSentence> {
    let Some(found) = comparisons.iter().find(|c| c.decides) else { return Vec::new() };
    let (margin, blocks) =
        (format_percent(found.margin), format_plural(found.ratio.runs.into(), "block", "blocks"));
    let seen = found.detectable.map_or_else(String::new, |d| {
        format!(" Differences of {} and more show in 8 of 10 such experiments.", format_percent(d))
    });
    let row = match found.verdict {
        ComparisonVerdict::Same => &answer_texts::ITSELF_SAME,
        ComparisonVerdict::Unsure => &answer_texts::ITSELF_UNSURE,
        ComparisonVerdict::Better | ComparisonVerdict::Worse => &answer_texts::ITSELF_OTHER,
    };
    vec![row.to_sentence(&[
        ("margin", &margin),
        ("blocks", &blocks),
        ("verdict", &found.verdict.as_str()),
        ("more", &more_blocks_text(found)),
        ("seen", &seen),
    ])]
}

fn more_blocks_text(found: &MetricComparison) -> String {
    let more = found.more_blocks.filter(|more| *more > 0);
    more.map_or_else(String::new, |more| {
        format!(" {} may decide.", format_plural(more.into(), "more block", "more blocks"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture_runs::repeated_comparison;

    #[test]
    fn a_machine_resolves_what_it_finds_the_same() {
        let said = |verdict| aa_sentences(&[repeated_comparison(verdict, 5, Some(4))]).join(" ");
        assert!(
            said(ComparisonVerdict::Same)
                .starts_with("This machine can resolve 2.00 % in 5 blocks")
        );
        let unsure = said(ComparisonVerdict::Unsure);
        assert!(unsure.contains("can't resolve 2.00 %") && unsure.contains("4 more"), "{unsure}");
        assert!(unsure.contains("Differences of 3.50 % and more"), "{unsure}");
        assert!(
            said(ComparisonVerdict::Worse).contains("is worse: something other than the server")
        );
        assert!(aa_sentences(&[]).is_empty());
    }
}
