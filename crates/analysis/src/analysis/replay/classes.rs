//! Classes of statements before and after.

use crate::recorder::{ReplayTotals, ReplayedClass};

use super::super::compare::judge_batches;
use super::super::findings::{ComparisonVerdict, MetricComparison, ReplayClassFinding};
use super::super::latency;
use super::super::number_format::format_time;

/// What a client adds to a time at the least, its own work and that of two schedulers: a difference of medians below it
/// is no fault of the server.
const CLIENT_S: f64 = 100e-6;
/// The same in round trips to a server that has nothing to do: under load both sides wait for a CPU now and then.
const ROUND_TRIPS: f64 = 3.0;

/// All classes, those that took most time first. `late_s` is how late the client itself was now and then: as long may it
/// have taken to see an answer.
pub(super) fn replayed_class_findings(
    told: &ReplayTotals,
    margin: f64,
    round_trip_s: Option<f64>,
    late_s: f64,
) -> Vec<ReplayClassFinding> {
    let floor_s = CLIENT_S.max(round_trip_s.unwrap_or(0.0) * ROUND_TRIPS).max(late_s);
    let timed = told.classes.iter().filter(|class| !class.batches.is_empty());
    let batches: Vec<&[(u64, f64)]> = timed.map(|class| &class.batches[..]).collect();
    let mut changes = judge_batches(("recorded", "replayed"), &batches, margin).into_iter();
    let took = |class: &ReplayedClass| class.replayed_ns.mean_ns() * class.replayed_ns.len() as f64;
    let all_took: f64 = told.classes.iter().map(took).sum();
    let mut one = |class: &ReplayedClass| {
        let recorded = latency::summarize_sparse(&class.recorded_ns);
        let replayed = latency::summarize_sparse(&class.replayed_ns);
        let mut change = if class.batches.is_empty() { None } else { changes.next() };
        if let Some(change) = &mut change {
            let more_s = replayed.p50_s.zip(recorded.p50_s).map(|(after, before)| after - before);
            excuse_round_trip(change, more_s, floor_s);
        }
        ReplayClassFinding {
            digest: class.digest.clone(),
            example: class.example.clone(),
            count: class.count,
            share: (all_took > 0.0).then(|| took(class) / all_took),
            recorded,
            replayed,
            errors: [class.errors_in_both, class.errors_new, class.errors_gone],
            first_error: class.first_error.clone(),
            rows_compared: class.rows_compared,
            rows_differing: class.rows_differing,
            change,
        }
    };
    let mut found: Vec<ReplayClassFinding> = told.classes.iter().map(&mut one).collect();
    found.sort_by(|a, b| b.share.unwrap_or(0.0).total_cmp(&a.share.unwrap_or(0.0)));
    found
}

/// Recorded times are the server's, replayed ones the client's: what the way there and back may make of it is no change
/// for the worse.
fn excuse_round_trip(change: &mut MetricComparison, more_s: Option<f64>, floor_s: f64) {
    let Some(more_s) = more_s.filter(|more_s| *more_s < floor_s) else { return };
    if change.verdict == ComparisonVerdict::Worse {
        change.verdict = ComparisonVerdict::Unsure;
        change.more_blocks = None;
        change.notes.push(format!(
            "its median is {} longer, and the round trip to the server, with a client that waits \
             for a CPU, may take {}: the recorded times are the server's own",
            format_time(more_s.max(0.0)),
            format_time(floor_s)
        ));
    }
}
