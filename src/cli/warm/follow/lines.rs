//! A follow in lines: for logs, for programs, and at its end.

use serde_json::{Value, json};

use crate::analysis::number_format::{
    format_count, format_number, format_percent, format_plural, format_time,
};
use crate::cli::progress::notes_text;
use crate::warm::follow::{FollowPhase, FollowStatus, StandbyWarmth};

/// What it does, in words.
pub(super) fn phase_text(view: &FollowStatus) -> String {
    match &view.phase {
        FollowPhase::Starting => "starting".to_owned(),
        FollowPhase::Following => match &view.source_gone {
            Some(why) => format!("no source: {why}"),
            None => "following".to_owned(),
        },
        FollowPhase::StandbyGone(why) => format!("lost the standby: {why}"),
        FollowPhase::Promoted => "promoted; nothing more is sent".to_owned(),
        FollowPhase::Swapping => {
            "promoted; nothing more is sent until the other server is read-only".to_owned()
        }
        FollowPhase::Ended => "ended".to_owned(),
    }
}

/// What holds it back, if anything.
pub(super) fn throttle_text(view: &FollowStatus) -> String {
    let mut text = format!("{} of {} at once", view.allowed, view.sessions);
    if let Some(brake) = view.throttle {
        text += &format!(", throttled by {}", brake.to_text());
    }
    text
}

/// Share of statements that were sent a moment ago.
pub(super) fn deduplicated_share(view: &FollowStatus) -> f64 {
    let counts = &view.counts;
    let all = counts.deduplicated + counts.sent + counts.lost + view.waiting;
    if all == 0 { 0.0 } else { counts.deduplicated as f64 / all as f64 }
}

/// Disk reads, of our own statements where the server tells.
pub(super) fn reads_text(view: &FollowStatus) -> String {
    let reads = &view.reads;
    let mut text = format!("{}/s", format_number(reads.misses_per_s));
    match (reads.own_misses_per_1000, reads.own_misses) {
        (Some(per_1000), Some(saved)) => {
            text += &format!(", own {} per 1000", format_number(per_1000));
            text += &format!(", saved about {}", format_count(saved as u64));
        }
        _ => {
            text += &format!(
                ", {} per 1000, {} so far",
                format_number(reads.misses_per_1000),
                format_count(reads.misses)
            )
        }
    }
    text
}

/// How hot the standby is.
pub(super) fn warmth_text(heat: &StandbyWarmth) -> String {
    let warmth = &heat.warmth;
    let mut text = format!(
        "{} of {} pages' heat resident",
        format_percent(warmth.share),
        format_count(warmth.pages_hot)
    );
    match &heat.readiness {
        None => {
            text += "; ready for failover: not known, as the active server was idle when checked";
        }
        Some(ready) => {
            let verdict = if ready.is_ready { "ready" } else { "not ready" };
            text += &format!(
                "; {verdict} for failover: {} extra reads/s of {}",
                format_number(ready.extra_reads_per_s),
                format_number(ready.budget_per_s)
            );
        }
    }
    text
}

/// What the last look at the hot set cost.
#[cfg(feature = "live-view")]
pub(super) fn cost_text(view: &FollowStatus, heat: &StandbyWarmth) -> String {
    format!(
        "checked {} ago; it took {} on the active server, {} on the standby",
        format_time((view.at_s - heat.at_s).max(0.0).round()),
        format_time(heat.active_cost_s),
        format_time(heat.standby_cost_s)
    )
}

/// `[   60 s]  following  behind 0.3 s  1 234 statements/s  ...`
pub(super) fn view_line(view: &FollowStatus) -> String {
    let mut text = format!(
        "[{:>5.0} s]  {}  behind {:.1} s  {} statements/s  deduplicated {}  {}  reads {}",
        view.at_s,
        phase_text(view),
        view.behind_s,
        format_number(view.sent_per_s),
        format_percent(deduplicated_share(view)),
        throttle_text(view),
        reads_text(view)
    );
    if let Some(lag) = view.load.lag_s {
        text += &format!("  lag {lag:.0} s");
    }
    if let Some(found) = &view.heat {
        text += &format!("  hot set {}", warmth_text(found));
    }
    text
}

/// The same for programs: one line.
pub(super) fn view_json(view: &FollowStatus) -> String {
    format!("{}\n", view_value(view))
}

fn view_value(view: &FollowStatus) -> Value {
    let why = match &view.phase {
        FollowPhase::StandbyGone(why) => Some(why),
        _ => None,
    };
    json!({
        "at_s": view.at_s,
        "phase": view.phase.as_str(),
        "why": why,
        "source": view.source,
        "source_gone": view.source_gone,
        "standby": view.standby,
        "swaps": view.swaps,
        "reconnects": view.reconnects,
        "behind_s": view.behind_s,
        "waiting": view.waiting,
        "sent_per_s": view.sent_per_s,
        "allowed": view.allowed,
        "sessions": view.sessions,
        "brake": view.throttle.map(|b| b.to_text()),
        "felt": view.load,
        "counts": view.counts,
        "reads": view.reads,
        "hot_set": view.heat.as_ref().map(|heat| warmth_value(view, heat)),
        "notes": view.notes,
    })
}

fn warmth_value(view: &FollowStatus, heat: &StandbyWarmth) -> Value {
    json!({
        "age_s": view.at_s - heat.at_s,
        "share": heat.warmth.share,
        "pages_hot": heat.warmth.pages_hot,
        "active_cost_s": heat.active_cost_s,
        "standby_cost_s": heat.standby_cost_s,
        "accesses_per_s": heat.accesses_per_s,
        "extra_reads_per_s": heat.readiness.map(|r| r.extra_reads_per_s),
        "budget_per_s": heat.readiness.map(|r| r.budget_per_s),
        "is_ready": heat.readiness.map(|r| r.is_ready),
        "indexes": heat.warmth.indexes,
    })
}

/// All of it, at the end.
pub(super) fn summary_text(view: &FollowStatus) -> String {
    let counts = &view.counts;
    let mut text = format!(
        "{}: {} of {} records sent to {} in {}\n",
        phase_text(view),
        format_count(counts.sent),
        format_count(counts.records),
        view.standby,
        format_time(view.at_s)
    );
    let left_out = [
        (counts.deduplicated, "sent a moment before"),
        (counts.writes, "writes"),
        (counts.sessions_own, "session statements: SET, BEGIN, COMMIT, USE"),
        (counts.skipped, "too old"),
        (counts.overrun, "too many at once, or too long"),
        (counts.unsent, "without a standby to send them to"),
        (counts.lost, "running when the standby was lost"),
        (counts.doubtful, "in doubt"),
        (counts.others, "no statements, read no rows of users, or failed on the active server"),
    ];
    for (number, why) in left_out.into_iter().filter(|(number, _)| *number > 0) {
        text += &format!("{:>12}  left out: {why}\n", format_count(number));
    }
    for (why, number) in &counts.reasons {
        text += &format!("{:>12}  refused: {why}\n", format_count(*number));
    }
    if counts.failed > 0 {
        let first = counts.first_error.as_ref();
        let first = first.map(|(code, words)| format!("; the first: {code} {words}"));
        let errors = format_plural(counts.failed, "error", "errors");
        text += &format!(
            "{errors} of the standby, {} of them by the time limit{}\n",
            format_count(counts.timed_out),
            first.unwrap_or_default()
        );
    }
    text += &format!("disk reads: {}\n", reads_text(view));
    if let Some(found) = &view.heat {
        text += &format!("hot set: {}\n", warmth_text(found));
    }
    text + &notes_text(&view.notes)
}
