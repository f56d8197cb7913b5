//! Caveats from stalls: what a mean and its percentiles hide.

use super::super::sentences::caveat_texts;
use super::super::stalls::stalls_text;
use super::{Caveat, CaveatInput};

/// STALLS: the load stood still now and then; a mean hides it, and if they are short, percentiles do too.
pub(super) fn stalled_loads(input: &CaveatInput<'_>) -> Option<Caveat> {
    let found = |t: &&super::TrialFinding| t.stalls.as_ref().is_some_and(|s| !s.events.is_empty());
    let lost = |t: &super::TrialFinding| t.stalls.as_ref().map_or(0.0, |s| s.lost_share);
    let seen: Vec<_> = input.trials.iter().filter(found).collect();
    let worst = seen.iter().max_by(|a, b| lost(a).total_cmp(&lost(b)))?;
    let stalls = worst.stalls.as_ref()?;
    let more = match seen.len() {
        0 | 1 => String::new(),
        loads => format!("; {loads} of {} loads had stalls", input.trials.len()),
    };
    let place = super::load_names_text(input, &[worst]);
    let cause = stalls.causes.first();
    let evidence = cause.map_or_else(String::new, |c| format!(" ({})", c.evidence));
    let remedy = cause.map_or("compare the counters inside and outside the stalls", |c| c.remedy);
    Some(caveat_texts::STALLS.to_caveat(&[
        ("stalls", &stalls_text(stalls)?),
        ("where", &place),
        ("cause", &evidence),
        ("more", &more),
        ("remedy", &remedy),
    ]))
}
