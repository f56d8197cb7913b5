//! Doubts about what an open loop offered and never got done.

use super::super::figure::{count, percent, time};
use super::super::findings::{TrialFinding, Unbegun};
use super::{Case, Caveat, Level, where_seen};

/// Above this share of what was due, what is known of the response times is not what users felt.
const VOID_SHARE: f64 = 0.01;
/// Up to this share they hardly matter ...
const LITTLE_SHARE: f64 = 0.001;
/// ... unless they waited for so long.
const LITTLE_S: f64 = 0.1;

/// BACKLOG: arrivals that were due and never began. Not in a search for capacity, which goes beyond what the server holds
/// on purpose and judges each step by what it left.
pub(super) fn backlog(case: &Case<'_>) -> Option<Caveat> {
    if case.run.meta.asked.capacity.is_some() {
        return None;
    }
    let matters = |u: &Unbegun| u.share > LITTLE_SHARE || u.oldest_s > LITTLE_S;
    let left = |t: &TrialFinding| t.unbegun.filter(matters);
    let seen: Vec<&TrialFinding> = case.trials.iter().filter(|t| left(t).is_some()).collect();
    let share = |t: &TrialFinding| left(t).map_or(0.0, |u| u.share);
    let worst = seen.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let unbegun = left(worst)?;
    let more = match seen.len() {
        1 => String::new(),
        loads => format!("; {loads} of {} loads left some", case.trials.len()),
    };
    Some(Caveat {
        id: "BACKLOG",
        level: if unbegun.share > VOID_SHARE { Level::Void } else { Level::Warn },
        evidence: format!(
            "{} of what was due{} never began: {}, the oldest after waiting for {}{more}",
            percent(unbegun.share),
            where_seen(case, &[worst]),
            match unbegun.arrivals {
                1 => "1 arrival".to_owned(),
                arrivals => format!("{} arrivals", count(arrivals)),
            },
            time(unbegun.oldest_s),
        ),
        remedy: "the percentiles count them as long as they waited, which is a lower bound: offer \
                 less, give more sessions, or ask `sweat capacity` what the server holds"
            .to_owned(),
    })
}
