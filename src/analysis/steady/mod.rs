//! Whether a load came to a steady state, from when on, at which level, and how well that is known.
//!
//! The rates of its seconds (`cells`) lose their stalls, become batches, and are cut where their level changes; from
//! the last level it goes back as long as the one before is the same (`level`). What is kept must last, must not
//! drift, and must be known well (`judge`), and the server must be at rest meanwhile (`engine`). `mser` is a second
//! opinion on the begin, [`Watcher`] the same verdict while a load runs.
//! Never knows: why a stall came (that is `stalls`), what a comparison needs.

mod cells;
mod engine;
mod judge;
mod level;
mod mser;
#[cfg(test)]
mod tests;
mod watch;
mod words;

pub use watch::{Outlook, Watcher};
pub use words::in_words;

use super::figure::time;
use super::findings::{Stalls, Steady, SteadyVerdict};
use crate::archive::{Run, TallyRecord, Trial};
use cells::{Cells, Span};
use engine::Look;
use judge::{Need, Rules};
use level::Levels;

/// A load writes if more than this share of its statements does.
const WRITES: f64 = 0.01;
/// The second opinion is told if it is off by more than this, as a share of the load, ...
const SECOND_SHARE: f64 = 0.25;
/// ... and by more than this, seconds.
const SECOND_S: f64 = 30.0;

/// The verdict on a load of a run; `None` if it has no intervals.
pub(super) fn of(run: &Run, trial: &Trial) -> Option<Steady> {
    let mut course = Course::default();
    for interval in &trial.intervals {
        course.add(
            Span {
                began_ns: interval.began_ns,
                ended_ns: interval.ended_ns,
                events: interval.events.iter().sum(),
            },
            interval.tally,
        );
    }
    let to_ns = course.spans.last()?.ended_ns;
    let during = |look: &Look| look.is_within(trial.began_ns, to_ns);
    course.looks = run.samples.iter().filter_map(Look::of).filter(during).collect();
    course.looks.sort_by_key(Look::at_ns);
    course.assess(&Rules::default())
}

/// Takes in what is known of stalls, which is more than seconds can show. `began_s` is when the load began, on the
/// clock of the stalls.
pub(super) fn heed_stalls(steady: &mut Steady, stalls: &Stalls, began_s: f64) {
    if !steady.verdict.is_steady() {
        return;
    }
    let from_s = began_s + steady.t0_s.unwrap_or(0.0);
    let any = stalls.events.iter().any(|stall| stall.began_s + stall.seconds > from_s);
    steady.verdict = if any { SteadyVerdict::SteadyWithStalls } else { SteadyVerdict::Steady };
}

/// What was seen of a load so far.
#[derive(Clone, Debug, Default)]
struct Course {
    spans: Vec<Span>,
    tally: TallyRecord,
    looks: Vec<Look>,
}

impl Course {
    fn add(&mut self, span: Span, tally: TallyRecord) {
        self.spans.push(span);
        self.tally.add(&tally);
    }

    fn seconds(&self) -> f64 {
        let (Some(first), Some(last)) = (self.spans.first(), self.spans.last()) else { return 0.0 };
        last.ended_ns.saturating_sub(first.began_ns) as f64 / 1e9
    }

    fn writes(&self) -> bool {
        let TallyRecord { reads, writes, other, .. } = self.tally;
        writes as f64 > WRITES * (reads + writes + other) as f64
    }

    fn assess(&self, rules: &Rules) -> Option<Steady> {
        let began_ns = self.spans.first()?.began_ns;
        let cells = Cells::of(&self.spans);
        let levels = if cells.seconds() < rules.least_s { None } else { Levels::of(&cells) };
        let Some(levels) = levels else {
            let why = format!(
                "the load took {}: whether it is steady can be told from {} on",
                time(self.seconds()),
                time(rules.least_s)
            );
            return Some(Steady { why: vec![why], ..Steady::default() });
        };
        let from_ns = began_ns + (levels.t0_s() * 1e9) as u64;
        let looks = engine::between(&self.looks, from_ns, u64::MAX);
        let needs: Vec<Need> = if self.writes() {
            engine::redo_cycles(looks, rules.redo_cycles).into_iter().collect()
        } else {
            Vec::new()
        };
        let mut steady = judge::judge(&levels, rules, &needs);
        for (verdict, why) in engine::restless(looks) {
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
        steady.why.extend(second_opinion(&cells, levels.t0_s()));
        Some(steady)
    }
}

/// What MSER-5 says of the begin, if it is far off.
fn second_opinion(cells: &Cells, t0_s: f64) -> Option<String> {
    let cut_s = mser::cut(&cells.rates)? as f64 * cells.step_s;
    let off_s = (cut_s - t0_s).abs();
    let far = off_s > SECOND_S && off_s > SECOND_SHARE * cells.seconds();
    far.then(|| format!("a second opinion (MSER-5) would leave out the first {}", time(cut_s)))
}
