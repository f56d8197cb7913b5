//! Whether a load came to a steady state, from when on, at which level, and how well that is known.
//!
//! The rates of its seconds (`cells`) lose their stalls, become batches, and are cut where their level changes; from
//! the last level it goes back as long as the one before is the same (`level`). What is kept must last, must not
//! drift, and must be known well (`judge`), and the server must be at rest meanwhile (`engine`). `mser` is a second
//! opinion on the begin, [`SteadyWatcher`] the same verdict while a load runs.
//! Never knows: why a stall came (that is `stalls`), what a comparison needs.

mod judge;
mod level;
mod mser;
mod rate_cells;
mod server_rest;
#[cfg(test)]
mod tests;
mod text;
mod watcher;

pub use text::steady_in_words;
pub use watcher::{SteadyOutlook, SteadyWatcher};

use super::findings::{StallFindings, SteadyState, SteadyVerdict};
use super::number_format::format_time;
use crate::archive::{RunRecord, TallyRecord, Trial};
use judge::{RequiredLength, SteadyRules};
use level::RateLevels;
use rate_cells::{EventSpan, RateCells};
use server_rest::ServerReading;

/// A load writes if more than this share of its statements does.
const WRITES: f64 = 0.01;
/// The second opinion is told if it is off by more than this, as a share of the load, ...
const SECOND_SHARE: f64 = 0.25;
/// ... and by more than this, seconds.
const SECOND_S: f64 = 30.0;

/// The verdict on a load of a run; `None` if it has no intervals.
pub(super) fn assess_steady(run: &RunRecord, trial: &Trial) -> Option<SteadyState> {
    let mut course = LoadHistory::default();
    for interval in &trial.intervals {
        course.add_span(
            EventSpan {
                began_ns: interval.began_ns,
                ended_ns: interval.ended_ns,
                events: interval.events.iter().sum(),
            },
            &interval.tally,
        );
    }
    let to_ns = course.spans.last()?.ended_ns;
    let during = |look: &ServerReading| look.is_within(trial.began_ns, to_ns);
    course.looks =
        run.samples.iter().filter_map(ServerReading::from_sample).filter(during).collect();
    course.looks.sort_by_key(ServerReading::at_ns);
    course.assess_so_far(&SteadyRules::default())
}

/// Takes in what is known of stalls, which is more than seconds can show. `began_s` is when the load began, on the
/// clock of the stalls.
pub(super) fn apply_stalls(steady: &mut SteadyState, stalls: &StallFindings, began_s: f64) {
    if !steady.verdict.is_steady() {
        return;
    }
    let from_s = began_s + steady.t0_s.unwrap_or(0.0);
    let any = stalls.events.iter().any(|stall| stall.began_s + stall.seconds > from_s);
    steady.verdict = if any { SteadyVerdict::SteadyWithStalls } else { SteadyVerdict::Steady };
}

/// What was seen of a load so far.
#[derive(Clone, Debug, Default)]
struct LoadHistory {
    spans: Vec<EventSpan>,
    tally: TallyRecord,
    looks: Vec<ServerReading>,
}

impl LoadHistory {
    fn add_span(&mut self, span: EventSpan, tally: &TallyRecord) {
        self.spans.push(span);
        self.tally.add(tally);
    }

    fn seconds(&self) -> f64 {
        let (Some(first), Some(last)) = (self.spans.first(), self.spans.last()) else { return 0.0 };
        last.ended_ns.saturating_sub(first.began_ns) as f64 / 1e9
    }

    fn is_writing(&self) -> bool {
        let [reads, writes, other] = ["reads", "writes", "other"].map(|n| self.tally.count(n));
        writes as f64 > WRITES * (reads + writes + other) as f64
    }

    fn assess_so_far(&self, rules: &SteadyRules) -> Option<SteadyState> {
        let began_ns = self.spans.first()?.began_ns;
        let cells = RateCells::from_spans(&self.spans);
        let levels =
            if cells.seconds() < rules.least_s { None } else { RateLevels::from_cells(&cells) };
        let Some(levels) = levels else {
            let why = format!(
                "the load took {}: whether it is steady can be told from {} on",
                format_time(self.seconds()),
                format_time(rules.least_s)
            );
            return Some(SteadyState { why: vec![why], ..SteadyState::default() });
        };
        let from_ns = began_ns + (levels.t0_s() * 1e9) as u64;
        let looks = server_rest::readings_between(&self.looks, from_ns, u64::MAX);
        let needs: Vec<RequiredLength> = if self.is_writing() {
            server_rest::redo_cycles(looks, rules.redo_cycles).into_iter().collect()
        } else {
            Vec::new()
        };
        let mut steady = judge::judge_levels(&levels, rules, &needs);
        for (verdict, why) in server_rest::reasons_not_at_rest(looks) {
            if steady.verdict == SteadyVerdict::Steady {
                steady.verdict = verdict;
            }
            steady.why.push(why);
        }
        let from = ((levels.t0_s() / cells.step_s).round() as usize).min(cells.rates.len());
        let kept = &cells.rates[from..];
        steady.rate = Some(kept.iter().sum::<f64>() / kept.len() as f64).filter(|r| r.is_finite());
        if steady.verdict == SteadyVerdict::Steady && levels.masked[from..].contains(&true) {
            steady.verdict = SteadyVerdict::SteadyWithStalls;
        }
        steady.why.extend(mser_disagreement(&cells, levels.t0_s()));
        Some(steady)
    }
}

/// What MSER-5 says of the begin, if it is far off.
fn mser_disagreement(cells: &RateCells, t0_s: f64) -> Option<String> {
    let cut_s = mser::mser_cut(&cells.rates)? as f64 * cells.step_s;
    let off_s = (cut_s - t0_s).abs();
    let far = off_s > SECOND_S && off_s > SECOND_SHARE * cells.seconds();
    far.then(|| {
        format!("a second opinion (MSER-5) would leave out the first {}", format_time(cut_s))
    })
}
