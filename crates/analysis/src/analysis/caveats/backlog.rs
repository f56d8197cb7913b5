//! Caveats about what an open loop offered and never got done.

use super::super::findings::{TrialFinding, UnbegunArrivals};
use super::super::number_format::{format_percent, format_plural, format_time};
use super::super::sentences::caveat_texts;
use super::{Caveat, CaveatInput, load_names_text};

/// Above this share of what was due, what is known of the response times is not what users felt.
const VOID_SHARE: f64 = 0.01;
/// Up to this share they hardly matter ...
const LITTLE_SHARE: f64 = 0.001;
/// ... unless they waited for so long.
const LITTLE_S: f64 = 0.1;

/// BACKLOG: arrivals that were due and never began. Not in a search for capacity, which goes beyond what the server holds
/// on purpose and judges each step by what it left.
pub(super) fn unbegun_arrivals(input: &CaveatInput<'_>) -> Option<Caveat> {
    if input.run.meta.asked.capacity.is_some() {
        return None;
    }
    let matters = |u: &UnbegunArrivals| u.share > LITTLE_SHARE || u.oldest_s > LITTLE_S;
    let left = |t: &TrialFinding| t.unbegun.filter(matters);
    let seen: Vec<&TrialFinding> = input.trials.iter().filter(|t| left(t).is_some()).collect();
    let share = |t: &TrialFinding| left(t).map_or(0.0, |u| u.share);
    let worst = seen.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let unbegun = left(worst)?;
    let more = match seen.len() {
        1 => String::new(),
        loads => format!("; {loads} of {} loads left some", input.trials.len()),
    };
    let caveat = if unbegun.share > VOID_SHARE {
        &caveat_texts::BACKLOG_VOID
    } else {
        &caveat_texts::BACKLOG_SOME
    };
    Some(caveat.to_caveat(&[
        ("share", &format_percent(unbegun.share)),
        ("where", &load_names_text(input, &[worst])),
        ("arrivals", &format_plural(unbegun.arrivals, "arrival", "arrivals")),
        ("oldest", &format_time(unbegun.oldest_s)),
        ("more", &more),
    ]))
}
