//! A histogram with only its filled cells: a few KB instead of 264, so that an hour of intervals
//! fits in memory.

use crate::recorder::{Histogram, new_histogram};

/// The filled cells of a [`Histogram`], lowest first. Same bounds and digits, so nothing is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseHistogram {
    /// Highest value of the cell in nanoseconds, and how many fell into it.
    cells: Vec<(u64, u64)>,
    count: u64,
}

impl SparseHistogram {
    /// How many values.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Highest value in nanoseconds; 0 if there are none.
    pub fn max(&self) -> u64 {
        self.cells.last().map_or(0, |c| c.0)
    }

    /// The value in nanoseconds that a share `quantile` (0 to 1) of all values doesn't exceed
    /// (upper edge of its cell); 0 if there are none.
    pub fn value_at_quantile(&self, quantile: f64) -> u64 {
        let rank = ((quantile.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (value, count) in &self.cells {
            seen += count;
            if seen >= rank {
                return *value;
            }
        }
        self.max()
    }

    /// Its cells from the lowest: highest value of the cell in nanoseconds, and how many fell into it.
    pub fn cells(&self) -> &[(u64, u64)] {
        &self.cells
    }

    /// Adds its values to a full histogram.
    pub fn add_to(&self, sum: &mut Histogram) {
        for (value, count) in &self.cells {
            sum.saturating_record_n(*value, *count);
        }
    }

    /// As a full histogram.
    pub fn histogram(&self) -> Histogram {
        let mut full = new_histogram();
        self.add_to(&mut full);
        full
    }
}

impl From<Vec<(u64, u64)>> for SparseHistogram {
    /// From its cells, lowest first.
    fn from(cells: Vec<(u64, u64)>) -> SparseHistogram {
        let count = cells.iter().fold(0_u64, |sum, cell| sum.saturating_add(cell.1));
        SparseHistogram { cells, count }
    }
}

impl From<&Histogram> for SparseHistogram {
    fn from(full: &Histogram) -> SparseHistogram {
        let cells = full
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
            .collect();
        SparseHistogram { cells, count: full.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost(values in proptest::collection::vec(1u64..4_000_000_000_000, 0..200)) {
            let mut full = new_histogram();
            for v in &values {
                full.saturating_record(*v);
            }
            let sparse = SparseHistogram::from(&full);
            prop_assert_eq!(sparse.len(), full.len());
            prop_assert_eq!(sparse.max(), full.max());
            for q in [0.01, 0.5, 0.95, 0.99, 0.999, 1.0] {
                prop_assert_eq!(sparse.value_at_quantile(q), full.value_at_quantile(q));
            }
            let again = sparse.histogram();
            for cell in full.iter_recorded() {
                prop_assert_eq!(again.count_at(cell.value_iterated_to()), cell.count_at_value());
            }
            prop_assert_eq!(SparseHistogram::from(&again), sparse);
        }
    }
}
