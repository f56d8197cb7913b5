//! Where to cut an index so that its pieces are of about equal size.
//!
//! Values between the smallest and the largest are guessed, weighed by the optimizer's row estimates (two index
//! dives each, no scan), and pieces that came out heavy are cut again. All it reads are pages that the scan
//! reads anyway.

use super::key::{KeyBytes, KeyKind};

/// What a split may ask about an index.
pub(super) trait KeyStatistics {
    /// Smallest and largest value that is not NULL; `None` if there is none.
    fn min_max_keys(&mut self) -> anyhow::Result<Option<(KeyBytes, KeyBytes)>>;
    /// First value not below `at`.
    fn first_key_from(&mut self, at: &KeyBytes) -> anyhow::Result<Option<KeyBytes>>;
    /// Estimated rows from `low` (included) to `high` (not included).
    fn estimate_rows(
        &mut self,
        low: Option<&KeyBytes>,
        high: Option<&KeyBytes>,
    ) -> anyhow::Result<u64>;
}

/// A range between two cuts; open where there is no key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IndexPiece {
    pub low: Option<KeyBytes>,
    pub high: Option<KeyBytes>,
    /// Its share of the index, 0 to 1.
    pub share: f64,
}

impl IndexPiece {
    /// The whole index.
    pub(super) fn whole_index() -> IndexPiece {
        IndexPiece { low: None, high: None, share: 1.0 }
    }
}

/// A range while it is being cut, with its estimated rows.
struct SplitRange {
    low: KeyBytes,
    high: KeyBytes,
    rows: u64,
    /// It ends with the largest value, which belongs to it.
    last: bool,
    /// Nothing lies between its ends that we could find.
    atom: bool,
}

/// Cuts an index into about `pieces` pieces, ascending, which together hold every value.
///
/// # Errors
/// When the server does.
pub(super) fn split_index(
    kind: &KeyKind,
    scale: &mut dyn KeyStatistics,
    chunks: u64,
) -> anyhow::Result<Vec<IndexPiece>> {
    if chunks < 2 {
        return Ok(vec![IndexPiece::whole_index()]);
    }
    let Some((low, high)) = scale.min_max_keys()? else {
        return Ok(vec![IndexPiece::whole_index()]);
    };
    let mut total = scale.estimate_rows(None, None)?;
    let mut ranges = vec![SplitRange { low, high, rows: total, last: true, atom: false }];
    // Where statistics know next to nothing, estimates are flat: then guesses are cut once and taken as even.
    let weighed = total > chunks * 16;
    for round in 0..6 {
        let heavy = total / chunks + total / chunks / 2;
        let mut next = Vec::with_capacity(ranges.len() * 2);
        let mut cut_any = false;
        for range in ranges {
            if range.atom || (round > 0 && (!weighed || range.rows <= heavy)) {
                next.push(range);
                continue;
            }
            let wanted = if weighed { range.rows * chunks / total.max(1) + 1 } else { chunks };
            let wanted = wanted.clamp(2, chunks.max(2));
            let before = next.len();
            split_range(kind, scale, range, wanted, &mut next)?;
            cut_any |= next.len() > before + 1;
        }
        ranges = next;
        // Servers never estimate a range to more than half of the table, so the sum of the parts knows better.
        total = ranges.iter().map(|r| r.rows).sum();
        if !cut_any {
            break;
        }
    }
    Ok(merge_ranges(&ranges, chunks, weighed))
}

/// Cuts one range at up to `wanted - 1` values.
fn split_range(
    kind: &KeyKind,
    scale: &mut dyn KeyStatistics,
    range: SplitRange,
    wanted: u64,
    out: &mut Vec<SplitRange>,
) -> anyhow::Result<()> {
    let mut cuts = guess_cuts(kind, scale, &range, wanted)?;
    if cuts.is_empty() && kind.wants_real_values() {
        cuts = guess_cuts(kind, scale, &range, wanted * 8)?;
    }
    if cuts.is_empty() {
        out.push(SplitRange { atom: true, ..range });
        return Ok(());
    }
    let mut low = range.low;
    for high in cuts {
        let rows = scale.estimate_rows(Some(&low), Some(&high))?;
        out.push(SplitRange { low, high: high.clone(), rows, last: false, atom: false });
        low = high;
    }
    let rows = scale.estimate_rows(Some(&low), (!range.last).then_some(&range.high))?;
    out.push(SplitRange { low, high: range.high, rows, last: range.last, atom: false });
    Ok(())
}

/// Values between the ends of a range, ascending; real ones where guesses are rough.
fn guess_cuts(
    kind: &KeyKind,
    scale: &mut dyn KeyStatistics,
    range: &SplitRange,
    chunks: u64,
) -> anyhow::Result<Vec<KeyBytes>> {
    let mut cuts: Vec<KeyBytes> = Vec::new();
    for guess in kind.keys_between(&range.low, &range.high, chunks) {
        let value =
            if kind.wants_real_values() { scale.first_key_from(&guess)? } else { Some(guess) };
        let fresh = |v: &KeyBytes| *v != range.low && *v != range.high && cuts.last() != Some(v);
        if let Some(value) = value.filter(fresh) {
            cuts.push(value);
        }
    }
    Ok(cuts)
}

/// Joins light neighbours until pieces have about the wanted weight; the first and last are open.
fn merge_ranges(ranges: &[SplitRange], chunks: u64, weighed: bool) -> Vec<IndexPiece> {
    let weight = |range: &SplitRange| if weighed { range.rows.max(1) as f64 } else { 1.0 };
    let total: f64 = ranges.iter().map(weight).sum();
    let wanted = total / chunks as f64;
    let mut found: Vec<IndexPiece> = Vec::new();
    let mut sum = 0.0;
    let mut low = None;
    for (i, range) in ranges.iter().enumerate() {
        sum += weight(range);
        let next = ranges.get(i + 1).map_or(f64::INFINITY, weight);
        if sum + next / 2.0 > wanted || i + 1 == ranges.len() {
            let high = (i + 1 < ranges.len()).then(|| range.high.clone());
            found.push(IndexPiece { low: low.take(), high: high.clone(), share: sum / total });
            (low, sum) = (high, 0.0);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index held in memory.
    struct Fake {
        keys: Vec<KeyBytes>,
        numeric: bool,
        flat: bool,
        asked: u32,
    }

    impl Fake {
        fn place(&self, at: &KeyBytes) -> usize {
            let number = |k: &KeyBytes| String::from_utf8_lossy(k).parse::<i64>().unwrap();
            self.keys.partition_point(
                |k| {
                    if self.numeric { number(k) < number(at) } else { k < at }
                },
            )
        }
    }

    impl KeyStatistics for Fake {
        fn min_max_keys(&mut self) -> anyhow::Result<Option<(KeyBytes, KeyBytes)>> {
            Ok(self.keys.first().cloned().zip(self.keys.last().cloned()))
        }
        fn first_key_from(&mut self, at: &KeyBytes) -> anyhow::Result<Option<KeyBytes>> {
            self.asked += 1;
            Ok(self.keys.get(self.place(at)).cloned())
        }
        fn estimate_rows(
            &mut self,
            low: Option<&KeyBytes>,
            high: Option<&KeyBytes>,
        ) -> anyhow::Result<u64> {
            self.asked += 1;
            let from = low.map_or(0, |k| self.place(k));
            let to = high.map_or(self.keys.len(), |k| self.place(k));
            Ok(if self.flat { 1 } else { to.saturating_sub(from) as u64 })
        }
    }

    fn numbers(keys: impl Iterator<Item = i64>) -> Fake {
        let keys = keys.map(|k| k.to_string().into_bytes()).collect();
        Fake { keys, numeric: true, flat: false, asked: 0 }
    }

    fn texts(keys: impl Iterator<Item = String>) -> Fake {
        let mut keys: Vec<KeyBytes> = keys.map(String::into_bytes).collect();
        keys.sort();
        Fake { keys, numeric: false, flat: false, asked: 0 }
    }

    /// Sizes of the pieces, after checking that they join without gap.
    fn sizes(fake: &Fake, chunks: &[IndexPiece]) -> Vec<usize> {
        assert_eq!(chunks.first().unwrap().low, None);
        assert_eq!(chunks.last().unwrap().high, None);
        assert!(chunks.windows(2).all(|w| w[0].high.is_some() && w[0].high == w[1].low));
        let place = |key: &Option<KeyBytes>, or| key.as_ref().map_or(or, |k| fake.place(k));
        let all = fake.keys.len();
        chunks.iter().map(|p| place(&p.high, all) - place(&p.low, 0)).collect()
    }

    fn check(kind: &KeyKind, mut fake: Fake, wanted: u64) -> Vec<usize> {
        let chunks = split_index(kind, &mut fake, wanted).unwrap();
        let shares: f64 = chunks.iter().map(|p| p.share).sum();
        assert!((shares - 1.0).abs() < 1e-9);
        assert!(u64::from(fake.asked) < wanted * 12 + 40, "{} questions", fake.asked);
        let sizes = sizes(&fake, &chunks);
        assert_eq!(sizes.iter().sum::<usize>(), fake.keys.len());
        sizes
    }

    #[test]
    fn even_numbers_give_even_pieces() {
        let sizes = check(&KeyKind::Integer, numbers(1..=100_000), 20);
        assert_eq!(sizes.len(), 20);
        assert!(sizes.iter().all(|s| (4_000..6_000).contains(s)), "{sizes:?}");
    }

    #[test]
    fn numbers_with_a_gap_are_balanced_by_cutting_again() {
        let keys = (0..50_000).chain(1_000_000_000..1_000_050_000);
        let sizes = check(&KeyKind::Integer, numbers(keys), 16);
        assert!(*sizes.iter().max().unwrap() < 14_000, "{sizes:?}");
        assert!(sizes.len() >= 12, "{sizes:?}");
    }

    #[test]
    fn texts_with_a_long_beginning_in_one_hand_are_balanced() {
        let keys = (0..40_000).map(|i| format!("customer-{:08}", i * 7));
        let kind = KeyKind::Text { charset: "utf8mb4".to_owned(), folded: true };
        let sizes = check(&kind, texts(keys), 16);
        assert!(*sizes.iter().max().unwrap() < 6_000, "{sizes:?}");
    }

    #[test]
    fn one_heavy_value_ends_the_cutting() {
        let keys = std::iter::repeat_n(5, 90_000).chain(6..10_000);
        let sizes = check(&KeyKind::Integer, numbers(keys), 10);
        assert!(sizes.len() >= 2 && sizes[0] >= 90_000, "{sizes:?}");
    }

    #[test]
    fn without_statistics_pieces_are_even_in_value() {
        let fake = Fake { flat: true, ..numbers(1..=1_000) };
        let sizes = check(&KeyKind::Integer, fake, 10);
        assert_eq!(sizes.len(), 10);
        assert!(sizes.iter().all(|s| (90..=110).contains(s)), "{sizes:?}");
    }

    #[test]
    fn empty_and_single_are_one_piece() {
        assert_eq!(
            split_index(&KeyKind::Integer, &mut numbers(0..0), 8).unwrap(),
            [IndexPiece::whole_index()]
        );
        assert_eq!(check(&KeyKind::Integer, numbers(7..8), 8), [1]);
        assert_eq!(check(&KeyKind::Integer, numbers(7..100), 1), [93]);
    }
}
