//! What went with the stalls and not with the time between them.
//!
//! A counter's value in each stall is compared with its values in stretches of the same length outside. A rule counts as
//! a cause if it holds in half of the stalls, four times as often as outside, and more often than chance (binomial,
//! p < 0.01). For dips, which may be nothing at all, the stalls' times must also be better placed than when the same
//! pattern is shifted along the load in a circle: that keeps the counters' own rhythm, which a plain test would not.
//! Never knows: how stalls were found.

use crate::archive::{Run, Trial};
use crate::base::random::Rng;

use super::super::counters::variable;
use super::super::figure::{figure, percent};
use super::super::findings::{Cause, InsideOutside};
use super::super::statistics::robust::{mad, median};
use super::columns::{Column, Columns, Kind, Span};
use super::rules::{Evidence, RULES, Rule};

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
pub(super) struct Scene<'a> {
    run: &'a Run,
    workers: f64,
    whole: Span,
    stalls: &'a [Span],
    /// Stretches as long as a stall, none of which touches one.
    tiles: Vec<Span>,
    length_s: f64,
    columns: Columns<'a>,
}

impl<'a> Scene<'a> {
    /// `whole`: the stretch in which stalls were looked for; `stalls` in their order.
    pub(super) fn new(run: &'a Run, trial: &Trial, whole: Span, stalls: &'a [Span]) -> Scene<'a> {
        let lengths: Vec<f64> = stalls.iter().map(|s| s.seconds()).collect();
        let length = median(&lengths).unwrap_or(1.0).max(0.05);
        let room = ((whole.seconds() / length).floor() as usize).max(1);
        let step = length * (room as f64 / OUTSIDE as f64).max(1.0);
        let tile = |n: usize| {
            let from_s = whole.from_s + n as f64 * step;
            Span { from_s, to_s: from_s + length }
        };
        let free =
            |span: &Span| span.to_s <= whole.to_s && !stalls.iter().any(|s| s.touches(*span));
        let tiles = (0..room.min(OUTSIDE)).map(tile).filter(free).collect();
        let workers = trial.workers as f64;
        let columns = Columns::of(run, trial);
        Scene { run, workers, whole, stalls, tiles, length_s: length, columns }
    }

    fn column(&self, name: &str) -> Option<Column> {
        let outside = |span: Span| !self.stalls.iter().any(|s| s.touches(span));
        self.columns.column(name, &outside)
    }

    /// Stretches outside, to compare with. Where samples are further apart than a stall is long, a stretch next to a
    /// stall shares its window: then only whole windows without any are taken.
    fn outside(&self, column: &Column) -> Vec<Span> {
        if column.spacing_s() <= self.length_s {
            return self.tiles.clone();
        }
        let free = |span: &Span| !self.stalls.iter().any(|s| s.touches(*span));
        let within = |span: &Span| span.from_s >= self.whole.from_s && span.to_s <= self.whole.to_s;
        column.middles().filter(|(window, _)| free(window) && within(window)).map(|w| w.1).collect()
    }

    /// What a column is worth outside, in the middle.
    fn usual(&self, column: &Column) -> f64 {
        let outside = self.outside(column);
        median(&outside.iter().filter_map(|s| column.worth(*s)).collect::<Vec<_>>()).unwrap_or(0.0)
    }

    /// The counters that differ most, the furthest first.
    pub(super) fn counters(&self) -> Vec<InsideOutside> {
        let mut all: Vec<InsideOutside> =
            self.columns.names().into_iter().filter_map(|name| self.compare(name)).collect();
        all.sort_by(|a, b| b.z.abs().total_cmp(&a.z.abs()));
        // What rose may be a cause, what fell is mostly the stall itself.
        let (rose, fell): (Vec<_>, Vec<_>) = all.into_iter().partition(|c| c.z > 0.0);
        rose.into_iter().take(SHOWN - 2).chain(fell.into_iter().take(2)).collect()
    }

    fn compare(&self, name: &str) -> Option<InsideOutside> {
        let column = self.column(name)?;
        let worth = |spans: &[Span]| -> Vec<f64> {
            spans.iter().filter_map(|s| column.worth(*s)).collect()
        };
        let places = self.outside(&column);
        let (inside, outside) = (worth(self.stalls), worth(&places));
        if inside.len() < self.stalls.len().div_ceil(2) || outside.len() < 5 {
            return None;
        }
        let (within, between) = (median(&inside)?, median(&outside)?);
        let (counter, one) = match column.kind {
            Kind::Gauge => (name.to_owned(), 1.0),
            Kind::Rate => (format!("{name}/s"), 1.0 / places.first()?.seconds()),
        };
        let least = (LEAST_DEVIATION * between.abs()).max(if between == 0.0 { one } else { 0.0 });
        let z = (within - between) / mad(&outside)?.max(least);
        (z.abs() >= APART).then_some(InsideOutside { counter, inside: within, outside: between, z })
    }

    /// Causes of the stalls, the best proven first. `strictly`: also by shifting them along the load.
    pub(super) fn causes(&self, strictly: bool) -> Vec<Cause> {
        RULES.iter().filter_map(|rule| self.cause(rule, strictly)).collect()
    }

    fn cause(&self, rule: &Rule, strictly: bool) -> Option<Cause> {
        let proof = Proof::new(self, rule)?;
        let count = |spans: &[Span]| spans.iter().filter(|s| proof.holds(**s)).count();
        let places = self.outside(proof.coarsest());
        let (held, held_outside) = (count(self.stalls), count(&places));
        let (stalls, outside) = (self.stalls.len(), places.len());
        let share = held as f64 / stalls as f64;
        let share_outside = held_outside as f64 / outside.max(1) as f64;
        if held == 0 || outside < 5 || share < HOLDS || share < TIMES_OUTSIDE * share_outside {
            return None;
        }
        // One more and one less than seen: few stretches outside prove little.
        let chance = (held_outside + 1) as f64 / (outside + 2) as f64;
        if at_least(held, stalls, chance) >= ALPHA {
            return None;
        }
        if strictly && self.by_shifting(&proof) >= ALPHA {
            return None;
        }
        let words: Vec<String> = proof.pieces.iter().map(|p| p.words(self)).collect();
        let evidence = format!(
            "{}; so in {held} of {stalls} {}, and in {} of the time between",
            words.join(", "),
            if stalls == 1 { "stall" } else { "stalls" },
            percent(share_outside),
        );
        Some(Cause { id: rule.id, title: rule.title, evidence, share, remedy: rule.remedy })
    }

    /// Chance that the pattern of the stalls, put anywhere else on the load, carries the rule as often.
    fn by_shifting(&self, proof: &Proof) -> f64 {
        let stalls = &self.stalls[..self.stalls.len().min(SHIFTED)];
        let length = self.whole.seconds();
        // Next to where they are they nearly carry it too.
        let spacing_s = proof.coarsest().spacing_s();
        let near = stalls.iter().map(|s| s.seconds()).fold(spacing_s, f64::max);
        let room = length - 2.0 * near;
        // There are only so many places that differ.
        let places = (room / spacing_s).floor();
        if places < 1.0 {
            return 1.0;
        }
        let seen = stalls.iter().filter(|s| proof.holds(**s)).count();
        let mut rng = Rng::new(SEED, 0, 0);
        let reached = (0..SHIFTS).filter(|_| {
            let by = near + room * rng.fraction();
            let moved = |span: &Span| {
                let from = self.whole.from_s + (span.from_s - self.whole.from_s + by) % length;
                Span { from_s: from, to_s: from + span.seconds() }
            };
            stalls.iter().filter(|s| proof.holds(moved(s))).count() >= seen
        });
        let reached = (1 + reached.count()) as f64 / (1 + SHIFTS) as f64;
        reached.max(1.0 / (1.0 + places))
    }
}

/// Chance of at least `k` of `n` where each has the chance `p`.
fn at_least(k: usize, n: usize, p: f64) -> f64 {
    let mut term = (1.0 - p).powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for i in 0..k {
        below += term;
        term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
    }
    (1.0 - below).max(0.0)
}

/// A rule with the columns that it needs.
struct Proof {
    pieces: Vec<Piece>,
}

/// One piece of evidence, ready to be looked at.
struct Piece {
    name: String,
    column: Column,
    /// At or above this; below it for what fell.
    limit: Limit,
}

enum Limit {
    AtLeast(f64),
    AtMost(f64),
    /// A share of another column.
    ShareOf(Column, f64),
    /// A share of a number.
    ShareOfNumber(f64, f64),
}

impl Proof {
    /// `None` if this server lacks one of the counters.
    fn new(scene: &Scene<'_>, rule: &Rule) -> Option<Proof> {
        let pieces: Option<Vec<Piece>> =
            rule.evidence.iter().map(|evidence| Piece::new(scene, evidence)).collect();
        Some(Proof { pieces: pieces? })
    }

    /// The column whose samples are furthest apart.
    fn coarsest(&self) -> &Column {
        let columns = self.pieces.iter().map(|piece| &piece.column);
        columns.max_by(|a, b| a.spacing_s().total_cmp(&b.spacing_s())).expect("a rule has evidence")
    }

    fn holds(&self, span: Span) -> bool {
        self.pieces.iter().all(|piece| piece.holds(span))
    }
}

impl Piece {
    fn new(scene: &Scene<'_>, evidence: &Evidence) -> Option<Piece> {
        let first = |names: &[&str]| {
            names.iter().find_map(|name| Some(((*name).to_owned(), scene.column(name)?)))
        };
        let (name, column, limit) = match *evidence {
            Evidence::Faster { counters, times, least } => {
                let (name, column) = first(counters)?;
                let column = column.into_rate();
                let limit = Limit::AtLeast((times * scene.usual(&column)).max(least));
                (name, column, limit)
            }
            Evidence::Idle { counters, share } => {
                let (name, column) = first(counters)?;
                let column = column.into_rate();
                let limit = Limit::AtMost(share * scene.usual(&column));
                (name, column, limit)
            }
            Evidence::Near { gauge, limit, share } => {
                let (name, column) = first(gauge)?;
                let limit = match first(limit) {
                    Some((_, of)) => Limit::ShareOf(of.into_gauge(), share),
                    None => {
                        let number = limit.iter().find_map(|name| variable(scene.run, name))?;
                        Limit::ShareOfNumber(number.parse().ok()?, share)
                    }
                };
                (name, column.into_gauge(), limit)
            }
            Evidence::Workers { gauge, share, least } => {
                let column = scene.column(gauge)?.into_gauge();
                (gauge.to_owned(), column, Limit::AtLeast((share * scene.workers).max(least)))
            }
        };
        Some(Piece { name, column, limit })
    }

    /// What is compared with the limit: a share for shares.
    fn worth(&self, span: Span) -> Option<f64> {
        let worth = self.column.worth(span)?;
        match &self.limit {
            Limit::AtLeast(_) | Limit::AtMost(_) => Some(worth),
            Limit::ShareOf(of, _) => of.worth(span).filter(|v| *v > 0.0).map(|of| worth / of),
            Limit::ShareOfNumber(of, _) => (*of > 0.0).then_some(worth / of),
        }
    }

    fn holds(&self, span: Span) -> bool {
        self.worth(span).is_some_and(|worth| match &self.limit {
            Limit::AtLeast(limit) => worth >= *limit,
            Limit::AtMost(limit) => worth <= *limit,
            Limit::ShareOf(_, share) | Limit::ShareOfNumber(_, share) => worth >= *share,
        })
    }

    /// The medians inside and outside, in words.
    fn words(&self, scene: &Scene<'_>) -> String {
        let middle = |spans: &[Span]| {
            median(&spans.iter().filter_map(|s| self.worth(*s)).collect::<Vec<_>>())
        };
        let (inside, outside) = (middle(scene.stalls), middle(&scene.outside(&self.column)));
        let unit = if self.column.kind == Kind::Rate { "/s" } else { "" };
        let name = &self.name;
        match self.limit {
            Limit::AtLeast(_) | Limit::AtMost(_) => {
                let number = |v: Option<f64>| v.map_or("-".to_owned(), |v| figure(v) + unit);
                format!("{name} {} inside, {} outside", number(inside), number(outside))
            }
            Limit::ShareOf(..) | Limit::ShareOfNumber(..) => {
                let share = |v: Option<f64>| v.map_or("-".to_owned(), percent);
                format!(
                    "{name} at {} of its limit inside, {} outside",
                    share(inside),
                    share(outside)
                )
            }
        }
    }
}
