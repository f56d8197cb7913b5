//! A histogram with only its filled cells: a few KB instead of 264, so that an hour of intervals, or thousands of
//! classes, fit in memory, and what nothing was counted in takes none.

use super::atomic_histogram::{CELLS, cell_index, lowest_cell_value};
use super::types::{HIGHEST_NS, Histogram, LOWEST_NS, empty_histogram, new_histogram};

/// The filled cells of a [`Histogram`], lowest first. Same bounds and digits, so nothing is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseHistogram {
    /// Highest value of the cell in nanoseconds, and how many fell into it.
    histogram: Vec<(u64, u64)>,
    count: u64,
}

impl SparseHistogram {
    /// Counts a value; what is beyond the bounds counts as the nearest of them.
    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    /// The same for so many of them.
    pub fn record_n(&mut self, ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        // A full histogram's cells end there.
        let last = HIGHEST_NS.next_power_of_two() - 1;
        let cell = highest_of_cell(ns.clamp(LOWEST_NS, last));
        self.count = self.count.saturating_add(count);
        match self.histogram.binary_search_by_key(&cell, |known| known.0) {
            Ok(place) => self.histogram[place].1 = self.histogram[place].1.saturating_add(count),
            Err(place) => self.histogram.insert(place, (cell, count)),
        }
    }

    /// Without values, and with room for so many cells.
    pub(super) fn with_capacity(cells: usize) -> SparseHistogram {
        SparseHistogram { histogram: Vec::with_capacity(cells), count: 0 }
    }

    /// Forgets all values; keeps the memory.
    pub(super) fn clear(&mut self) {
        self.histogram.clear();
        self.count = 0;
    }

    /// Adds a cell above all that are filled, by its place in a full histogram; gives false where that has no such cell.
    pub fn push_cell(&mut self, index: usize, count: u64) -> bool {
        if index >= CELLS {
            return false;
        }
        self.histogram.push((lowest_cell_value(index + 1) - 1, count));
        self.count = self.count.saturating_add(count);
        true
    }

    /// Adds the values of another one.
    pub fn add(&mut self, other: &SparseHistogram) {
        if self.is_empty() {
            return self.clone_from(other);
        }
        let mut sum = Vec::with_capacity(self.histogram.len().max(other.histogram.len()));
        let (mut mine, mut others) = (self.histogram.iter(), other.histogram.iter());
        let (mut one, mut two) = (mine.next(), others.next());
        while let Some(cell) = [one, two].into_iter().flatten().map(|cell| cell.0).min() {
            let take = |next: &Option<&(u64, u64)>| next.filter(|c| c.0 == cell).map(|c| c.1);
            let (a, b) = (take(&one), take(&two));
            sum.push((cell, a.unwrap_or(0).saturating_add(b.unwrap_or(0))));
            if a.is_some() {
                one = mine.next();
            }
            if b.is_some() {
                two = others.next();
            }
        }
        self.histogram = sum;
        self.count = self.count.saturating_add(other.count);
    }

    /// Mean, nanoseconds; 0 if there are none.
    pub fn mean_ns(&self) -> f64 {
        let sum: f64 = self.histogram.iter().map(|(ns, count)| *ns as f64 * *count as f64).sum();
        if self.count == 0 { 0.0 } else { sum / self.count as f64 }
    }

    /// How many values are above this one.
    pub fn count_above(&self, ns: u64) -> u64 {
        self.histogram.iter().filter(|cell| cell.0 > ns).map(|cell| cell.1).sum()
    }

    /// How many values.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Lowest value in nanoseconds; 0 if there are none.
    pub fn min_ns(&self) -> u64 {
        self.histogram.first().map_or(0, |cell| lowest_cell_value(cell_index(cell.0)))
    }

    /// Highest value in nanoseconds; 0 if there are none.
    pub fn max_ns(&self) -> u64 {
        self.histogram.last().map_or(0, |c| c.0)
    }

    /// The value in nanoseconds that a share `quantile` (0 to 1) of all values doesn't exceed
    /// (upper edge of its cell); 0 if there are none.
    pub fn value_at_quantile(&self, quantile: f64) -> u64 {
        let rank = ((quantile.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (value, count) in &self.histogram {
            seen += count;
            if seen >= rank {
                return *value;
            }
        }
        self.max_ns()
    }

    /// Its cells from the lowest: highest value of the cell in nanoseconds, and how many fell into it.
    pub fn cells(&self) -> &[(u64, u64)] {
        &self.histogram
    }

    /// The same, with the place of each cell in a full histogram instead of its value.
    pub fn indexed_cells(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.histogram.iter().map(|(ns, count)| (cell_index(*ns), *count))
    }

    /// Adds its values to a full histogram.
    pub fn add_to(&self, sum: &mut Histogram) {
        for (value, count) in &self.histogram {
            sum.saturating_record_n(*value, *count);
        }
    }

    /// As a full histogram, or as one that takes no room if there are no values.
    pub fn to_histogram(&self) -> Histogram {
        if self.is_empty() {
            return empty_histogram();
        }
        let mut full = new_histogram();
        self.add_to(&mut full);
        full
    }
}

impl From<Vec<(u64, u64)>> for SparseHistogram {
    /// From values and how many there are of each.
    fn from(histogram: Vec<(u64, u64)>) -> SparseHistogram {
        let mut all = SparseHistogram::default();
        histogram.into_iter().for_each(|(ns, count)| all.record_n(ns, count));
        all
    }
}

impl From<&Histogram> for SparseHistogram {
    fn from(full: &Histogram) -> SparseHistogram {
        let histogram = full
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
            .collect();
        SparseHistogram { histogram, count: full.len() }
    }
}

/// The highest value that a full histogram does not tell from this one.
fn highest_of_cell(ns: u64) -> u64 {
    lowest_cell_value(cell_index(ns) + 1) - 1
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
            prop_assert_eq!(sparse.max_ns(), full.max());
            prop_assert_eq!(sparse.min_ns(), full.min());
            for q in [0.01, 0.5, 0.95, 0.99, 0.999, 1.0] {
                prop_assert_eq!(sparse.value_at_quantile(q), full.value_at_quantile(q));
            }
            let mut one_by_one = SparseHistogram::default();
            values.iter().for_each(|ns| one_by_one.record(*ns));
            prop_assert_eq!(&one_by_one, &sparse);
            let mut twice = one_by_one.clone();
            twice.add(&sparse);
            prop_assert_eq!(twice.len(), 2 * full.len());
            prop_assert_eq!(twice.cells().len(), sparse.cells().len());
            prop_assert!((sparse.mean_ns() - full.mean()).abs() <= full.mean() * 1e-3);
            let again = sparse.to_histogram();
            for cell in full.iter_recorded() {
                prop_assert_eq!(again.count_at(cell.value_iterated_to()), cell.count_at_value());
            }
            prop_assert_eq!(SparseHistogram::from(&again), sparse);
        }
    }
}
