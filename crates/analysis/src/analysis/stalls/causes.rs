//! What went with the stalls and not with the time between them.
//!
//! A counter's value in each stall is compared with its values in stretches of the same length outside. A rule counts as
//! a cause if it holds in half of the stalls, four times as often as outside, and more often than chance (binomial,
//! p < 0.01). For dips, which may be nothing at all, the stalls' times must also be better placed than when the same
//! pattern is shifted along the load in a circle: that keeps the counters' own rhythm, which a plain test would not.
//! Never knows: how stalls were found.

use crate::archive::{RunRecord, Trial};
use crate::base::random::Rng;

use super::super::counters::server_variable;
use super::super::findings::{InsideOutside, StallCause};
use super::super::number_format::{format_number, format_percent};
use super::super::statistics::robust::{mad, median};
use super::columns::{CounterColumn, CounterColumns, ReadingKind, TimeSpan};
use super::rules::{CauseEvidence, CauseRule, RULES};

/// Share of the stalls in which a cause must hold.
const HOLDS: f64 = 0.5;
/// How much more often than outside.
const TIMES_OUTSIDE: f64 = 4.0;
/// Chance of taking a coincidence for a cause.
const ALPHA: f64 = 0.01;
/// Random shifts, and their seed: the same run always gets the same answer.
const SHIFTS: usize = 2000;
const SEED: u64 = 0x57a1;
/// Stalls that take part in the shifts, at most.
const SHIFTED: usize = 60;
/// Stretches outside that are looked at, at most.
const OUTSIDE: usize = 300;
/// Counters shown, and how many deviations apart they must be.
const SHOWN: usize = 8;
const APART: f64 = 3.0;
/// A deviation is at least this share of the median: counters that never moved outside are not infinitely far.
const LEAST_DEVIATION: f64 = 0.02;

/// Stalls and the stretches between them, with what was read.
pub(super) struct StallContext<'a> {
    run: &'a RunRecord,
    workers: f64,
    whole: TimeSpan,
    stalls: &'a [TimeSpan],
    /// Stretches as long as a stall, none of which touches one.
    tiles: Vec<TimeSpan>,
    length_s: f64,
    columns: CounterColumns<'a>,
}

impl<'a> StallContext<'a> {
    /// `whole`: the stretch in which stalls were looked for; `stalls` in their order.
    pub(super) fn new(
        run: &'a RunRecord,
        trial: &Trial,
        whole: TimeSpan,
        stalls: &'a [TimeSpan],
    ) -> StallContext<'a> {
        let lengths: Vec<f64> = stalls.iter().map(|s| s.seconds()).collect();
        let length = median(&lengths).unwrap_or(1.0).max(0.05);
        let room = ((whole.seconds() / length).floor() as usize).max(1);
        let step = length * (room as f64 / OUTSIDE as f64).max(1.0);
        let tile = |n: usize| {
            let from_s = whole.from_s + n as f64 * step;
            TimeSpan { from_s, to_s: from_s + length }
        };
        let free =
            |span: &TimeSpan| span.to_s <= whole.to_s && !stalls.iter().any(|s| s.overlaps(*span));
        let tiles = (0..room.min(OUTSIDE)).map(tile).filter(free).collect();
        let workers = trial.workers as f64;
        let columns = CounterColumns::from_samples(run, trial);
        StallContext { run, workers, whole, stalls, tiles, length_s: length, columns }
    }

    fn find_column(&self, name: &str) -> Option<CounterColumn> {
        let outside = |span: TimeSpan| !self.stalls.iter().any(|s| s.overlaps(span));
        self.columns.find_column(name, &outside)
    }

    /// Stretches outside, to compare with. Where samples are further apart than a stall is long, a stretch next to a
    /// stall shares its window: then only whole windows without any are taken.
    fn spans_outside(&self, column: &CounterColumn) -> Vec<TimeSpan> {
        if column.spacing_s() <= self.length_s {
            return self.tiles.clone();
        }
        let free = |span: &TimeSpan| !self.stalls.iter().any(|s| s.overlaps(*span));
        let within =
            |span: &TimeSpan| span.from_s >= self.whole.from_s && span.to_s <= self.whole.to_s;
        column
            .window_middles()
            .filter(|(window, _)| free(window) && within(window))
            .map(|w| w.1)
            .collect()
    }

    /// What a column is worth outside, in the middle.
    fn usual_value(&self, column: &CounterColumn) -> f64 {
        let outside = self.spans_outside(column);
        median(&outside.iter().filter_map(|s| column.value_in(*s)).collect::<Vec<_>>())
            .unwrap_or(0.0)
    }

    /// The counters that differ most, the furthest first.
    pub(super) fn differing_counters(&self) -> Vec<InsideOutside> {
        let mut all: Vec<InsideOutside> = self
            .columns
            .counter_names()
            .into_iter()
            .filter_map(|name| self.compare_counter(name))
            .collect();
        all.sort_by(|a, b| b.z.abs().total_cmp(&a.z.abs()));
        // What rose may be a cause, what fell is mostly the stall itself.
        let (rose, fell): (Vec<_>, Vec<_>) = all.into_iter().partition(|c| c.z > 0.0);
        rose.into_iter().take(SHOWN - 2).chain(fell.into_iter().take(2)).collect()
    }

    fn compare_counter(&self, name: &str) -> Option<InsideOutside> {
        let column = self.find_column(name)?;
        let worth = |spans: &[TimeSpan]| -> Vec<f64> {
            spans.iter().filter_map(|s| column.value_in(*s)).collect()
        };
        let places = self.spans_outside(&column);
        let (inside, outside) = (worth(self.stalls), worth(&places));
        if inside.len() < self.stalls.len().div_ceil(2) || outside.len() < 5 {
            return None;
        }
        let (within, between) = (median(&inside)?, median(&outside)?);
        let (counter, one) = match column.kind {
            ReadingKind::Gauge => (name.to_owned(), 1.0),
            ReadingKind::Rate => (format!("{name}/s"), 1.0 / places.first()?.seconds()),
        };
        let least = (LEAST_DEVIATION * between.abs()).max(if between == 0.0 { one } else { 0.0 });
        let z = (within - between) / mad(&outside)?.max(least);
        (z.abs() >= APART).then_some(InsideOutside { counter, inside: within, outside: between, z })
    }

    /// Causes of the stalls, the best proven first. `strictly`: also by shifting them along the load.
    pub(super) fn find_causes(&self, strictly: bool) -> Vec<StallCause> {
        RULES.iter().filter_map(|rule| self.find_cause(rule, strictly)).collect()
    }

    fn find_cause(&self, rule: &CauseRule, strictly: bool) -> Option<StallCause> {
        let proof = RuleProof::new(self, rule)?;
        let count = |spans: &[TimeSpan]| spans.iter().filter(|s| proof.holds_in(**s)).count();
        let places = self.spans_outside(proof.coarsest_column());
        let (held, held_outside) = (count(self.stalls), count(&places));
        let (stalls, outside) = (self.stalls.len(), places.len());
        let share = held as f64 / stalls as f64;
        let share_outside = held_outside as f64 / outside.max(1) as f64;
        if held == 0 || outside < 5 || share < HOLDS || share < TIMES_OUTSIDE * share_outside {
            return None;
        }
        // One more and one less than seen: few stretches outside prove little.
        let chance = (held_outside + 1) as f64 / (outside + 2) as f64;
        if binomial_tail(held, stalls, chance) >= ALPHA {
            return None;
        }
        if strictly && self.shift_test_p(&proof) >= ALPHA {
            return None;
        }
        let words: Vec<String> = proof.pieces.iter().map(|p| p.medians_text(self)).collect();
        let evidence = format!(
            "{}; so in {held} of {stalls} {}, and in {} of the time between",
            words.join(", "),
            if stalls == 1 { "stall" } else { "stalls" },
            format_percent(share_outside),
        );
        Some(StallCause { id: rule.id, title: rule.title, evidence, share, remedy: rule.remedy })
    }

    /// Chance that the pattern of the stalls, put anywhere else on the load, carries the rule as often.
    fn shift_test_p(&self, proof: &RuleProof) -> f64 {
        let stalls = &self.stalls[..self.stalls.len().min(SHIFTED)];
        let length = self.whole.seconds();
        // Next to where they are they nearly carry it too.
        let spacing_s = proof.coarsest_column().spacing_s();
        let near = stalls.iter().map(|s| s.seconds()).fold(spacing_s, f64::max);
        let room = length - 2.0 * near;
        // There are only so many places that differ.
        let places = (room / spacing_s).floor();
        if places < 1.0 {
            return 1.0;
        }
        let seen = stalls.iter().filter(|s| proof.holds_in(**s)).count();
        let mut rng = Rng::new(SEED, 0, 0);
        let reached = (0..SHIFTS).filter(|_| {
            let by = near + room * rng.uniform_fraction();
            let moved = |span: &TimeSpan| {
                let from = self.whole.from_s + (span.from_s - self.whole.from_s + by) % length;
                TimeSpan { from_s: from, to_s: from + span.seconds() }
            };
            stalls.iter().filter(|s| proof.holds_in(moved(s))).count() >= seen
        });
        let reached = (1 + reached.count()) as f64 / (1 + SHIFTS) as f64;
        reached.max(1.0 / (1.0 + places))
    }
}

/// Chance of at least `k` of `n` where each has the chance `p`.
fn binomial_tail(k: usize, n: usize, p: f64) -> f64 {
    let mut term = (1.0 - p).powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for i in 0..k {
        below += term;
        term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
    }
    (1.0 - below).max(0.0)
}

/// A rule with the columns that it needs.
struct RuleProof {
    pieces: Vec<EvidenceColumn>,
}

/// One piece of evidence, ready to be looked at.
struct EvidenceColumn {
    name: String,
    column: CounterColumn,
    /// At or above this; below it for what fell.
    limit: EvidenceLimit,
}

enum EvidenceLimit {
    AtLeast(f64),
    AtMost(f64),
    /// A share of another column.
    ShareOf(CounterColumn, f64),
    /// A share of a number.
    ShareOfNumber(f64, f64),
}

impl RuleProof {
    /// `None` if this server lacks one of the counters.
    fn new(scene: &StallContext<'_>, rule: &CauseRule) -> Option<RuleProof> {
        let pieces: Option<Vec<EvidenceColumn>> =
            rule.evidence.iter().map(|evidence| EvidenceColumn::new(scene, evidence)).collect();
        Some(RuleProof { pieces: pieces? })
    }

    /// The column whose samples are furthest apart.
    fn coarsest_column(&self) -> &CounterColumn {
        let columns = self.pieces.iter().map(|piece| &piece.column);
        columns.max_by(|a, b| a.spacing_s().total_cmp(&b.spacing_s())).expect("a rule has evidence")
    }

    fn holds_in(&self, span: TimeSpan) -> bool {
        self.pieces.iter().all(|piece| piece.holds_in(span))
    }
}

impl EvidenceColumn {
    fn new(scene: &StallContext<'_>, evidence: &CauseEvidence) -> Option<EvidenceColumn> {
        let first = |names: &[&str]| {
            names.iter().find_map(|name| Some(((*name).to_owned(), scene.find_column(name)?)))
        };
        let (name, column, limit) = match *evidence {
            CauseEvidence::Faster { counters, times, least } => {
                let (name, column) = first(counters)?;
                let column = column.into_rate();
                let limit = EvidenceLimit::AtLeast((times * scene.usual_value(&column)).max(least));
                (name, column, limit)
            }
            CauseEvidence::Idle { counters, share } => {
                let (name, column) = first(counters)?;
                let column = column.into_rate();
                let limit = EvidenceLimit::AtMost(share * scene.usual_value(&column));
                (name, column, limit)
            }
            CauseEvidence::Near { gauge, limit, share } => {
                let (name, column) = first(gauge)?;
                let limit = match first(limit) {
                    Some((_, of)) => EvidenceLimit::ShareOf(of.into_gauge(), share),
                    None => {
                        let number =
                            limit.iter().find_map(|name| server_variable(scene.run, name))?;
                        EvidenceLimit::ShareOfNumber(number.parse().ok()?, share)
                    }
                };
                (name, column.into_gauge(), limit)
            }
            CauseEvidence::Workers { gauge, share, least } => {
                let column = scene.find_column(gauge)?.into_gauge();
                (
                    gauge.to_owned(),
                    column,
                    EvidenceLimit::AtLeast((share * scene.workers).max(least)),
                )
            }
        };
        Some(EvidenceColumn { name, column, limit })
    }

    /// What is compared with the limit: a share for shares.
    fn value_in(&self, span: TimeSpan) -> Option<f64> {
        let worth = self.column.value_in(span)?;
        match &self.limit {
            EvidenceLimit::AtLeast(_) | EvidenceLimit::AtMost(_) => Some(worth),
            EvidenceLimit::ShareOf(of, _) => {
                of.value_in(span).filter(|v| *v > 0.0).map(|of| worth / of)
            }
            EvidenceLimit::ShareOfNumber(of, _) => (*of > 0.0).then_some(worth / of),
        }
    }

    fn holds_in(&self, span: TimeSpan) -> bool {
        self.value_in(span).is_some_and(|worth| match &self.limit {
            EvidenceLimit::AtLeast(limit) => worth >= *limit,
            EvidenceLimit::AtMost(limit) => worth <= *limit,
            EvidenceLimit::ShareOf(_, share) | EvidenceLimit::ShareOfNumber(_, share) => {
                worth >= *share
            }
        })
    }

    /// The medians inside and outside, in words.
    fn medians_text(&self, scene: &StallContext<'_>) -> String {
        let middle = |spans: &[TimeSpan]| {
            median(&spans.iter().filter_map(|s| self.value_in(*s)).collect::<Vec<_>>())
        };
        let (inside, outside) = (middle(scene.stalls), middle(&scene.spans_outside(&self.column)));
        let unit = if self.column.kind == ReadingKind::Rate { "/s" } else { "" };
        let name = &self.name;
        match self.limit {
            EvidenceLimit::AtLeast(_) | EvidenceLimit::AtMost(_) => {
                let number = |v: Option<f64>| v.map_or("-".to_owned(), |v| format_number(v) + unit);
                format!("{name} {} inside, {} outside", number(inside), number(outside))
            }
            EvidenceLimit::ShareOf(..) | EvidenceLimit::ShareOfNumber(..) => {
                let share = |v: Option<f64>| v.map_or("-".to_owned(), format_percent);
                format!(
                    "{name} at {} of its limit inside, {} outside",
                    share(inside),
                    share(outside)
                )
            }
        }
    }
}
