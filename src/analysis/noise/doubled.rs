//! A way against itself: what the machine resolves.

use super::super::figure::percent;
use super::super::findings::{Comparison, Verdict};

/// What a comparison of a way with itself says about the machine, in sentences.
pub(in super::super) fn against_itself(comparisons: &[Comparison]) -> Vec<String> {
    let Some(found) = comparisons.iter().find(|c| c.decides) else { return Vec::new() };
    let (margin, blocks) = (percent(found.margin), found.ratio.runs);
    let detectable = found.detectable.map(|d| {
        format!(" Differences of {} and more show in 8 of 10 such experiments.", percent(d))
    });
    let detectable = detectable.unwrap_or_default();
    let first = match found.verdict {
        Verdict::Same => format!(
            "This machine can resolve {margin} in {blocks} blocks: a way against itself is the \
             same."
        ),
        Verdict::Unsure => format!(
            "This machine can't resolve {margin} in {blocks} blocks: a way against itself leaves \
             it open.{}",
            more(found)
        ),
        Verdict::Better | Verdict::Worse => format!(
            "A way against itself is {}: something else than the server decides here, or this is \
             the one experiment in twenty that chance makes. Run it again, then `sweat doctor`.",
            found.verdict.words()
        ),
    };
    vec![first + &detectable]
}

fn more(found: &Comparison) -> String {
    let more = found.more_blocks.filter(|more| *more > 0);
    more.map(|more| format!(" {more} more would decide.")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Estimate;

    fn comparison(verdict: Verdict) -> Comparison {
        Comparison {
            way: "a-again".to_owned(),
            base: "a".to_owned(),
            metric: "events_per_s".to_owned(),
            decides: true,
            more_is_better: true,
            ratio: Estimate { value: Some(1.0), ci95: Some((0.99, 1.01)), runs: 5 },
            verdict,
            paired: true,
            margin: 0.02,
            p: None,
            signed_rank: None,
            detectable: Some(0.035),
            more_blocks: Some(4),
            pairs: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_machine_resolves_what_it_finds_the_same() {
        let said = |verdict| against_itself(&[comparison(verdict)]).join(" ");
        assert!(said(Verdict::Same).starts_with("This machine can resolve 2.00 % in 5 blocks"));
        let unsure = said(Verdict::Unsure);
        assert!(unsure.contains("can't resolve 2.00 %") && unsure.contains("4 more"), "{unsure}");
        assert!(unsure.contains("Differences of 3.50 % and more"), "{unsure}");
        assert!(said(Verdict::Worse).contains("is worse: something else than the server"));
        assert!(against_itself(&[]).is_empty());
    }
}
