//! A way against itself: what the machine resolves.

use super::super::figure::{percent, plural};
use super::super::findings::{Comparison, Verdict};
use super::super::sentences::{Said, answers};

/// What a comparison of a way with itself says about the machine, in sentences.
pub(in super::super) fn against_itself(comparisons: &[Comparison]) -> Vec<Said> {
    let Some(found) = comparisons.iter().find(|c| c.decides) else { return Vec::new() };
    let (margin, blocks) =
        (percent(found.margin), plural(found.ratio.runs.into(), "block", "blocks"));
    let seen = found.detectable.map_or_else(String::new, |d| {
        format!(" Differences of {} and more show in 8 of 10 such experiments.", percent(d))
    });
    let row = match found.verdict {
        Verdict::Same => &answers::ITSELF_SAME,
        Verdict::Unsure => &answers::ITSELF_UNSURE,
        Verdict::Better | Verdict::Worse => &answers::ITSELF_OTHER,
    };
    vec![row.say(&[
        ("margin", &margin),
        ("blocks", &blocks),
        ("verdict", &found.verdict.words()),
        ("more", &more(found)),
        ("seen", &seen),
    ])]
}

fn more(found: &Comparison) -> String {
    let more = found.more_blocks.filter(|more| *more > 0);
    more.map_or_else(String::new, |more| {
        format!(" {} may decide.", plural(more.into(), "more block", "more blocks"))
    })
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
            noise: None,
            within_noise: false,
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
