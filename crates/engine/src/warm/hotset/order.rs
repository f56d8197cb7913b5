//! Whether the order of heat is kept: the rank correlation of two orders of pages. Pure.

use std::collections::HashMap;

use super::HotSet;

/// Spearman's rank correlation of the saved order of heat with another one (tablespace and number of each page, the
/// hottest first), over the pages that are in both: 1 for the same order, 0 for none in common, -1 for the reverse.
/// `None` where fewer than three pages are in both.
///
/// Spearman, C.: The proof and measurement of association between two things. American Journal of Psychology 15, 1904.
pub fn rank_correlation(hot: &HotSet, now: &[(u32, u32)]) -> Option<f64> {
    let places: HashMap<(u32, u32), usize> =
        now.iter().enumerate().map(|(place, page)| (*page, place)).collect();
    let mut saved: Vec<(u64, usize)> = Vec::new();
    for index in &hot.indexes {
        let place = |page: &u32| places.get(&(index.space, *page)).copied();
        saved.extend(index.pages.iter().filter_map(|(page, rank)| Some((*rank, place(page)?))));
    }
    saved.sort_unstable();
    let mut by_place: Vec<usize> = (0..saved.len()).collect();
    by_place.sort_unstable_by_key(|at| saved[*at].1);
    // Both orders are without ties, so the sum of squared differences of ranks says it all.
    let square = |(rank, at): (usize, &usize)| (rank as f64 - *at as f64).powi(2);
    let squares: f64 = by_place.iter().enumerate().map(square).sum();
    let n = saved.len() as f64;
    (saved.len() >= 3).then(|| 1.0 - 6.0 * squares / (n * (n * n - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warm::hotset::HotIndex;

    fn hot(pages: &[u32]) -> HotSet {
        let pages = pages.iter().enumerate().map(|(rank, page)| (*page, rank as u64)).collect();
        HotSet {
            indexes: vec![HotIndex { space: 7, pages, ..HotIndex::default() }],
            ..HotSet::default()
        }
    }

    fn kept(saved: &[u32], now: &[u32]) -> f64 {
        let now: Vec<_> = now.iter().map(|page| (7, *page)).collect();
        rank_correlation(&hot(saved), &now).unwrap()
    }

    #[test]
    fn the_published_example_comes_out() {
        // Ten people by their IQ, and by their hours before the television.
        let saved = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        let now = [1, 9, 7, 10, 8, 2, 4, 3, 6, 5];
        assert!((kept(&saved, &now) + 29.0 / 165.0).abs() < 1e-12);
    }

    #[test]
    fn same_and_reverse_are_the_ends() {
        assert!((kept(&[1, 2, 3, 4], &[1, 2, 3, 4]) - 1.0).abs() < 1e-12);
        assert!((kept(&[1, 2, 3, 4], &[4, 3, 2, 1]) + 1.0).abs() < 1e-12);
        assert!((kept(&[1, 2, 3, 4], &[9, 1, 8, 2, 3, 4, 6]) - 1.0).abs() < 1e-12, "of both");
        assert_eq!(rank_correlation(&hot(&[1, 2]), &[(7, 1), (7, 2)]), None);
        assert_eq!(rank_correlation(&hot(&[1, 2, 3]), &[(8, 1), (8, 2), (8, 3)]), None);
    }
}
