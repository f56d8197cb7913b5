//! How much of a hot set is in another pool, and what the part that is not would cost after a failover. Pure.
//!
//! # Weights
//! The order of heat is that of the origin's LRU list, which tells order and no counts. A page's weight falls in a
//! straight line from 2 for the hottest to 0 for the coldest, so that it is 1 on average: the hot half counts three
//! quarters. Warmth is the weight of the pages that are there, by the weight of all.
//!
//! # Extra reads
//! If the origin has `A` accesses to pages per second, and they fall on pages by their weights, then a page of weight
//! `w` out of a sum of `W` is accessed `a = A * w / W` times per second. It is read from disk once: the probability that
//! it is needed within the first second is `1 - exp(-a)`. The sum of this over the missing pages is the number of reads
//! in the first second after a failover, which is the worst one: the extra reads per second.

use std::collections::{HashMap, HashSet};

use super::{HotIndex, HotSet};
use serde::Serialize;

/// What of one index is in the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexPresence {
    /// The numbers of its pages, where they mean the same as in the hot set.
    Pages(HashSet<u32>),
    /// How many pages, where their numbers differ from the hot set's: they are taken for the hot ones.
    Filled(u64),
    /// How many of `sampled` hot places were found in the pool.
    Sampled {
        /// Found without a read from disk.
        warm: u64,
        /// Looked for.
        sampled: u64,
    },
}

/// What is in the pool, by database, table, partition and index. What is not named is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolResidency {
    /// Presence by database, table, partition and index.
    pub indexes: HashMap<(String, String, String, String), IndexPresence>,
    /// What could not be found out, in words.
    pub notes: Vec<String>,
}

/// Warmth of one index against a hot set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IndexWarmth {
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// The partition; empty if there is none.
    pub partition: String,
    /// The index.
    pub index: String,
    /// Pages in the hot set.
    pub pages_hot: u64,
    /// Those of them in the pool; an estimate where page numbers differ.
    pub pages_resident: f64,
    /// Share of the index's heat that is in the pool, 0 to 1.
    pub share: f64,
    /// Whether it was counted page by page.
    pub is_exact: bool,
}

/// Warmth against a hot set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HotWarmth {
    /// Share of all heat that is in the pool, 0 to 1; 1 for a hot set without pages.
    pub share: f64,
    /// By index, in the order of the hot set.
    pub indexes: Vec<IndexWarmth>,
    /// Pages in the hot set.
    pub pages_hot: u64,
    /// Missing pages by their share of all heat: share of one page (0 to 1), number of pages.
    pub missing: Vec<(f64, f64)>,
}

/// Whether a server could take over.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FailoverReadiness {
    /// Reads from disk in the first second after a failover beyond what a warm server has.
    pub extra_reads_per_s: f64,
    /// Most that may be.
    pub budget_per_s: f64,
    /// Whether it is within the budget.
    pub is_ready: bool,
}

/// Steps of weight by which missing pages are kept.
const STEPS: usize = 256;

/// How much of a hot set is in the pool.
pub fn compute_warmth(hot: &HotSet, resident: &PoolResidency) -> HotWarmth {
    let ranks = hot.indexes.iter().flat_map(|index| index.pages.iter().map(|(_, rank)| *rank));
    let Some(coldest) = ranks.max() else {
        return HotWarmth { share: 1.0, ..HotWarmth::default() };
    };
    let weigh = |rank: u64| 2.0 * (1.0 - (rank as f64 + 0.5) / (coldest as f64 + 1.0));
    let mut missing = vec![(0.0, 0.0); STEPS];
    let (mut all, mut there) = (0.0, 0.0);
    let mut found = HotWarmth::default();
    for index in &hot.indexes {
        let presence = resident.indexes.get(&index_key(index));
        let even = even_share(presence, index.pages.len());
        let (mut heat, mut warm, mut pages) = (0.0, 0.0, 0.0);
        for (page, rank) in &index.pages {
            let present = match presence {
                Some(IndexPresence::Pages(pages)) => f64::from(u8::from(pages.contains(page))),
                _ => even,
            };
            let weight = weigh(*rank);
            heat += weight;
            warm += weight * present;
            pages += present;
            let step = &mut missing[((weight / 2.0 * STEPS as f64) as usize).min(STEPS - 1)];
            step.0 += weight * (1.0 - present);
            step.1 += 1.0 - present;
        }
        all += heat;
        there += warm;
        found.pages_hot += index.pages.len() as u64;
        found.indexes.push(IndexWarmth {
            database: index.database.clone(),
            table: index.table.clone(),
            partition: index.partition.clone(),
            index: index.index.clone(),
            pages_hot: index.pages.len() as u64,
            pages_resident: pages,
            share: if heat > 0.0 { warm / heat } else { 1.0 },
            is_exact: !matches!(
                presence,
                Some(IndexPresence::Filled(_) | IndexPresence::Sampled { .. })
            ),
        });
    }
    found.share = if all > 0.0 { there / all } else { 1.0 };
    // A step's pages weigh nearly the same: what they weigh on average stands for each.
    let steps = missing.into_iter().filter(|(_, pages)| *pages > 0.0);
    found.missing = steps.map(|(weight, pages)| (weight / pages / all, pages)).collect();
    found
}

/// What to expect of each page where they are not told apart.
fn even_share(presence: Option<&IndexPresence>, hot: usize) -> f64 {
    match presence {
        Some(IndexPresence::Filled(cached)) => (*cached as f64 / hot.max(1) as f64).min(1.0),
        Some(IndexPresence::Sampled { warm, sampled }) => *warm as f64 / (*sampled).max(1) as f64,
        _ => 0.0,
    }
}

/// The name of an index, as [`PoolResidency`] knows it.
pub(super) fn index_key(index: &HotIndex) -> (String, String, String, String) {
    (index.database.clone(), index.table.clone(), index.partition.clone(), index.index.clone())
}

/// Whether a server of this warmth could take over from one that has so many accesses to pages per second.
pub fn assess_readiness(
    warmth: &HotWarmth,
    accesses_per_s: f64,
    budget_per_s: f64,
) -> FailoverReadiness {
    let reads = |(share, pages): &(f64, f64)| pages * (1.0 - (-accesses_per_s * share).exp());
    // A sum of nothing is -0.
    let extra_reads_per_s = warmth.missing.iter().map(reads).sum::<f64>() + 0.0;
    FailoverReadiness {
        extra_reads_per_s,
        budget_per_s,
        is_ready: extra_reads_per_s <= budget_per_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One index whose pages are hot in the order of their numbers.
    fn index(name: &str, first_rank: u64, pages: u32) -> HotIndex {
        HotIndex {
            database: "shop".to_owned(),
            table: "orders".to_owned(),
            index: name.to_owned(),
            pages: (0..pages).map(|page| (page, first_rank + u64::from(page))).collect(),
            ..HotIndex::default()
        }
    }

    fn set(indexes: Vec<HotIndex>) -> HotSet {
        HotSet { indexes, ..HotSet::default() }
    }

    fn resident(hot: &HotSet, present: &[IndexPresence]) -> PoolResidency {
        let indexes = hot.indexes.iter().map(index_key).zip(present.iter().cloned()).collect();
        PoolResidency { indexes, ..PoolResidency::default() }
    }

    #[test]
    fn all_is_one_and_none_is_zero() {
        let hot = set(vec![index("PRIMARY", 0, 100)]);
        let all = resident(&hot, &[IndexPresence::Pages((0..200).collect())]);
        let found = compute_warmth(&hot, &all);
        assert!((found.share - 1.0).abs() < 1e-12 && found.missing.is_empty(), "{found:?}");
        let none = compute_warmth(&hot, &PoolResidency::default());
        assert_eq!((none.share, none.indexes[0].pages_resident), (0.0, 0.0));
        assert!((none.missing.iter().map(|(_, pages)| pages).sum::<f64>() - 100.0).abs() < 1e-9);
        assert_eq!(compute_warmth(&HotSet::default(), &PoolResidency::default()).share, 1.0);
    }

    #[test]
    fn the_hot_half_counts_three_quarters() {
        let hot = set(vec![index("PRIMARY", 0, 1_000)]);
        let half = resident(&hot, &[IndexPresence::Pages((0..500).collect())]);
        assert!((compute_warmth(&hot, &half).share - 0.75).abs() < 1e-6);
        let other = resident(&hot, &[IndexPresence::Pages((500..1_000).collect())]);
        assert!((compute_warmth(&hot, &other).share - 0.25).abs() < 1e-6);
    }

    #[test]
    fn indexes_are_told_apart_and_estimates_are_said_to_be_some() {
        let hot = set(vec![index("PRIMARY", 0, 100), index("k", 100, 100)]);
        let there = [IndexPresence::Pages((0..100).collect()), IndexPresence::Filled(25)];
        let found = compute_warmth(&hot, &resident(&hot, &there));
        assert_eq!((found.indexes[0].share, found.indexes[0].is_exact), (1.0, true));
        assert!((found.indexes[1].share - 0.25).abs() < 1e-9 && !found.indexes[1].is_exact);
        assert!((found.share - (0.75 + 0.25 * 0.25)).abs() < 1e-6, "{}", found.share);
        let sampled = [IndexPresence::Filled(900), IndexPresence::Sampled { warm: 3, sampled: 4 }];
        let found = compute_warmth(&hot, &resident(&hot, &sampled));
        assert!((found.indexes[0].share - 1.0).abs() < 1e-9);
        assert!((found.indexes[1].share - 0.75).abs() < 1e-9);
    }

    #[test]
    fn extra_reads_are_those_of_missing_pages_in_the_first_second() {
        let hot = set(vec![index("PRIMARY", 0, 1_000)]);
        let cold = compute_warmth(&hot, &PoolResidency::default());
        // So many accesses that all pages but the very coldest are needed at once.
        let worst = assess_readiness(&cold, 1e9, 500.0);
        assert!((990.0..=1_000.0).contains(&worst.extra_reads_per_s) && !worst.is_ready);
        // So few that hardly a page is needed twice: a read for each access.
        let idle = assess_readiness(&cold, 1.0, 500.0);
        assert!((0.99..=1.0).contains(&idle.extra_reads_per_s) && idle.is_ready, "{idle:?}");
        let warm = resident(&hot, &[IndexPresence::Pages((0..1_000).collect())]);
        assert_eq!(assess_readiness(&compute_warmth(&hot, &warm), 1e9, 0.0).extra_reads_per_s, 0.0);
    }
}
