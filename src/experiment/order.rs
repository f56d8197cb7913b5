//! In which order the variants of a block run.
//!
//! Balanced is Williams' design ("Experimental designs balanced for the estimation of residual effects of
//! treatments", 1949), its rows taken in turn by the blocks: over one turn each variant stands in each place equally often
//! and follows each other one equally often, so neither drift nor what a variant leaves behind favours one. For two variants
//! that is A B, B A; an odd number of variants needs the rows and their mirror images.

use crate::base::random::Rng;
use crate::plan::OrderPlan;

/// Stream of random numbers for orders.
const STREAM: u64 = 0x0d0e;

/// The order of so many variants in a block, from 1.
pub fn variant_order(plan: OrderPlan, variants: usize, block: u32, seed: u64) -> Vec<usize> {
    let block = block.max(1);
    match plan {
        OrderPlan::Written => (0..variants).collect(),
        OrderPlan::Balanced => williams_row(variants, block as usize - 1),
        OrderPlan::Shuffled => {
            let mut rng = Rng::new(seed, u64::from(block), STREAM);
            let mut order: Vec<usize> = (0..variants).collect();
            for last in (1..variants).rev() {
                order.swap(last, rng.uniform_below(last as u64 + 1) as usize);
            }
            order
        }
    }
}

/// A row of Williams' design. The first row is 0 1 n-1 2 n-2 ..., each other one adds 1 to all; even numbers of variants
/// have n rows, odd ones 2n, of which the second half are mirror images.
fn williams_row(variants: usize, row: usize) -> Vec<usize> {
    let rows = if variants % 2 == 0 { variants } else { 2 * variants };
    let row = row % rows.max(1);
    let first = |place: usize| match place {
        0 => 0,
        odd if odd % 2 == 1 => odd.div_ceil(2),
        even => variants - even / 2,
    };
    // For an odd number each row is followed by its mirror, so that two blocks are balanced in themselves.
    let (shift, is_mirror) = if variants % 2 == 0 { (row, false) } else { (row / 2, row % 2 == 1) };
    let mut order: Vec<usize> =
        (0..variants).map(|place| (first(place) + shift) % variants).collect();
    if is_mirror {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn two_variants_alternate() {
        let of = |block| variant_order(OrderPlan::Balanced, 2, block, 7);
        assert_eq!([of(1), of(2), of(3), of(4)], [[0, 1], [1, 0], [0, 1], [1, 0]]);
    }

    #[test]
    fn each_variant_follows_each_other_one_equally_often_and_stands_everywhere() {
        for variants in 2..=9usize {
            let rows = if variants % 2 == 0 { variants } else { 2 * variants };
            let (mut follows, mut places) = (BTreeMap::new(), BTreeMap::new());
            for block in 1..=rows {
                let order = variant_order(OrderPlan::Balanced, variants, block as u32, 1);
                for pair in order.windows(2) {
                    *follows.entry((pair[0], pair[1])).or_insert(0) += 1;
                }
                for (place, variant) in order.iter().enumerate() {
                    *places.entry((place, *variant)).or_insert(0) += 1;
                }
            }
            let each = rows / variants;
            assert_eq!(follows.len(), variants * (variants - 1), "{variants} variants");
            assert!(follows.values().all(|n| *n == each), "{variants} variants: {follows:?}");
            assert_eq!(places.len(), variants * variants);
            assert!(places.values().all(|n| *n == each), "{variants} variants: {places:?}");
        }
    }

    #[test]
    fn shuffled_orders_hold_each_variant_once_and_follow_the_seed() {
        let all: Vec<_> = (1..=20).map(|b| variant_order(OrderPlan::Shuffled, 5, b, 42)).collect();
        let again: Vec<_> =
            (1..=20).map(|b| variant_order(OrderPlan::Shuffled, 5, b, 42)).collect();
        assert_eq!(all, again);
        for order in &all {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        assert!(all.iter().any(|order| *order != all[0]), "all blocks are the same");
        assert_eq!(variant_order(OrderPlan::Written, 3, 2, 42), [0, 1, 2]);
    }
}
