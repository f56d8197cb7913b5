//! Hot leaves that lie side by side, as ranges of keys.

use std::collections::{HashMap, HashSet};

use super::kind::ValueKind;
use super::record::KeyValues;
use super::shape::KeyShape;
use super::tablespace::Tablespace;
use super::tree::{IndexRoot, IndexWalk, WalkStep};
use super::value::to_literal;
use crate::base::Stop;
use crate::warm::hotset::{KeyLiteral, KeyRange};

/// Most leaves of one range if nobody says: 1 MiB. Larger ranges would mix hot with less hot.
pub(in crate::warm::hotset) const RANGE_LEAVES: u64 = 64;
/// Most cold leaves between hot ones that are read with them rather than asked around: a statement costs about as
/// much as reading a page or two.
const BRIDGE: u64 = 4;
/// A bridge is worth it if there are so many hot leaves before it for each cold one.
const HOT_PER_COLD: u64 = 4;
/// Share of hot pages that may be missing before the whole index is walked, not only what is in the pool: 1 in so many.
const FEW: usize = 50;

/// What is hot of one index.
pub(in crate::warm::hotset) struct HotPages<'a> {
    /// Hot pages and their places.
    pub places: &'a HashMap<u32, u64>,
    /// All pages of the index in the pool, the hot ones among them.
    pub resident: &'a HashSet<u32>,
    /// Most leaves of one range.
    pub most: u64,
}

/// Ranges of an index, and what they leave out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::warm::hotset) struct FoundRanges {
    /// The hottest first.
    pub ranges: Vec<KeyRange>,
    /// Hot leaves in these.
    pub leaves: u64,
    /// Hot pages above the leaves: a range reads them by itself.
    pub inner: u64,
    /// Hot pages that the file does not know yet, or whose keys can't be written.
    pub missed: u64,
    /// Why a page above the leaves could not be read, if so.
    pub why: Option<String>,
}

/// Finds the ranges of an index that cover its hot leaves.
///
/// # Errors
/// When the index's root can't be read.
pub(in crate::warm::hotset) fn find_ranges(
    space: &mut Tablespace,
    root: IndexRoot,
    shape: &KeyShape,
    hot: &HotPages<'_>,
    stop: &Stop,
) -> anyhow::Result<FoundRanges> {
    // Who reads a leaf has read what is above it: that is still in the pool, or was not used since.
    let near = collect_ranges(space, root, shape, hot, &|page| hot.resident.contains(&page), stop)?;
    if near.missed == 0 || near.missed as usize <= hot.places.len() / FEW || stop.is_set() {
        return Ok(near);
    }
    collect_ranges(space, root, shape, hot, &|_| true, stop)
}

fn collect_ranges(
    space: &mut Tablespace,
    root: IndexRoot,
    shape: &KeyShape,
    hot: &HotPages<'_>,
    wanted: &dyn Fn(u32) -> bool,
    stop: &Stop,
) -> anyhow::Result<FoundRanges> {
    let mut runs = LeafRuns {
        kinds: &shape.kinds,
        hot: hot.places,
        most: hot.most,
        run: None,
        found: FoundRanges::default(),
    };
    let layout = shape.layout.clone();
    let mut walk =
        IndexWalk { space, root, layout, wanted, stop, inner: Vec::new(), lost: (0, None) };
    walk.visit_leaves(&mut |step| runs.add_step(&step))?;
    let inner = walk.inner.iter().filter(|page| hot.places.contains_key(page)).count() as u64;
    let why = walk.lost.1;
    let mut found = runs.into_found();
    found.ranges.sort_by_key(|range| range.heat);
    found.inner = inner;
    found.missed = (hot.places.len() as u64).saturating_sub(found.leaves + inner);
    found.why = why;
    Ok(found)
}

/// A key that outlives its page; `None` stands for the begin of the index.
type OwnedKey = Option<Vec<Option<Vec<u8>>>>;

/// Hot leaves side by side.
struct LeafRun {
    low: OwnedKey,
    last: OwnedKey,
    hot: u64,
    /// Sum of the places.
    heat: u64,
    /// Leaves from the first hot to the last hot one.
    leaves: u64,
    /// Cold leaves since the last hot one, and the first key of the first of them.
    gap: (u64, OwnedKey),
}

struct LeafRuns<'a> {
    kinds: &'a [ValueKind],
    hot: &'a HashMap<u32, u64>,
    most: u64,
    run: Option<LeafRun>,
    found: FoundRanges,
}

impl LeafRuns<'_> {
    fn add_step(&mut self, step: &WalkStep<'_>) {
        match step {
            WalkStep::Gap(key) => self.close_run(key.as_ref()),
            WalkStep::Leaf(page, key) => match self.hot.get(page) {
                Some(place) => self.add_hot_leaf(*place, key.as_ref()),
                None => self.add_cold_leaf(key.as_ref()),
            },
        }
    }

    fn add_hot_leaf(&mut self, place: u64, key: Option<&KeyValues<'_>>) {
        if self.run.as_ref().is_some_and(|run| run.leaves + run.gap.0 >= self.most) {
            self.close_run(key);
        }
        match &mut self.run {
            None => {
                let (low, last) = (to_owned_key(key), to_owned_key(key));
                self.run =
                    Some(LeafRun { low, last, hot: 1, heat: place, leaves: 1, gap: (0, None) });
            }
            Some(run) => {
                run.leaves += run.gap.0 + 1;
                run.gap = (0, None);
                run.hot += 1;
                run.heat += place;
                run.last = to_owned_key(key);
            }
        }
    }

    fn add_cold_leaf(&mut self, key: Option<&KeyValues<'_>>) {
        let Some(run) = &mut self.run else { return };
        if run.gap.0 == 0 {
            run.gap.1 = to_owned_key(key);
        }
        run.gap.0 += 1;
        if run.gap.0 > BRIDGE.min(run.hot / HOT_PER_COLD) {
            self.close_run(key);
        }
    }

    /// Ends a run before this key, or before the gap that it ends with.
    fn close_run(&mut self, key: Option<&KeyValues<'_>>) {
        let Some(run) = self.run.take() else { return };
        let high = if run.gap.0 > 0 { run.gap.1.clone() } else { to_owned_key(key) };
        self.push_range(&run, Some(&high));
    }

    fn into_found(mut self) -> FoundRanges {
        if let Some(run) = self.run.take() {
            let high = (run.gap.0 > 0).then(|| run.gap.1.clone());
            self.push_range(&run, high.as_ref());
        }
        self.found
    }

    fn push_range(&mut self, run: &LeafRun, high: Option<&OwnedKey>) {
        let bounds = (
            self.key_literals(&run.low),
            self.key_literals(&run.last),
            // Behind the last leaf there is no key.
            high.map_or(Some(Vec::new()), |high| self.key_literals(high)),
        );
        let (Some(low), Some(last), Some(high)) = bounds else { return };
        self.found.leaves += run.hot;
        self.found.ranges.push(KeyRange {
            low,
            last,
            high,
            pages: run.leaves,
            heat: run.heat / run.hot.max(1),
        });
    }

    /// A key in SQL, up to the first value that can't be written; `None` if that is all of it.
    fn key_literals(&self, key: &OwnedKey) -> Option<Vec<KeyLiteral>> {
        let Some(values) = key else { return Some(Vec::new()) };
        let written =
            |(kind, value): (&ValueKind, &Option<Vec<u8>>)| to_literal(kind, value.as_deref());
        let literals: Vec<KeyLiteral> = self.kinds.iter().zip(values).map_while(written).collect();
        (!literals.is_empty()).then_some(literals)
    }
}

fn to_owned_key(key: Option<&KeyValues<'_>>) -> OwnedKey {
    key.map(|values| values.iter().map(|v| v.map(<[u8]>::to_vec)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges of leaves that begin with 10, 20, ..; `.` is cold, `o` hot, `?` left out.
    fn of(leaves: &str) -> Vec<(String, String, String, u64)> {
        let hot: HashMap<u32, u64> = leaves
            .bytes()
            .enumerate()
            .filter(|(_, b)| *b == b'o')
            .map(|(i, _)| (i as u32, 1_000 - i as u64))
            .collect();
        let kinds = [ValueKind::Integer { signed: false }];
        let mut runs = LeafRuns {
            kinds: &kinds,
            hot: &hot,
            most: 64,
            run: None,
            found: FoundRanges::default(),
        };
        for (i, leaf) in leaves.bytes().enumerate() {
            let bytes = (i as u32 * 10).to_be_bytes();
            let key = (i > 0).then(|| vec![Some(&bytes[..])]);
            runs.add_step(&if leaf == b'?' {
                WalkStep::Gap(key)
            } else {
                WalkStep::Leaf(i as u32, key)
            });
        }
        let found = runs.into_found();
        assert_eq!(found.leaves, hot.len() as u64);
        let joined = |values: &[KeyLiteral]| {
            values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        let range = |r: KeyRange| (joined(&r.low), joined(&r.last), joined(&r.high), r.pages);
        found.ranges.into_iter().map(range).collect()
    }

    fn one(low: &str, last: &str, high: &str, pages: u64) -> (String, String, String, u64) {
        (low.to_owned(), last.to_owned(), high.to_owned(), pages)
    }

    #[test]
    fn neighbours_are_one_range() {
        assert_eq!(of("..oo..o."), [one("20", "30", "40", 2), one("60", "60", "70", 1)]);
        assert_eq!(of("oo"), [one("", "10", "", 2)]);
        assert_eq!(of("...."), []);
        assert_eq!(of("o?o"), [one("", "", "10", 1), one("20", "20", "", 1)]);
    }

    #[test]
    fn small_gaps_in_long_runs_are_bridged() {
        assert_eq!(of("oooo.o."), [one("", "50", "60", 6)]);
        assert_eq!(of("oooo.."), [one("", "30", "40", 4)]);
        assert_eq!(of("o.o"), [one("", "", "10", 1), one("20", "20", "", 1)]);
        assert_eq!(of("oooo.?o").len(), 2);
    }

    #[test]
    fn long_runs_are_cut() {
        let found = of(&"o".repeat(150));
        let pages: Vec<u64> = found.iter().map(|r| r.3).collect();
        assert_eq!(pages, [64, 64, 22]);
        assert!(found.windows(2).all(|w| w[0].2 == w[1].0), "they join without a gap");
    }
}
