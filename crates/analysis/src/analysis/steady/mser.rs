//! A second opinion on where the warm-up ends: MSER-5 (White 1997; White, Cobb, Spratt 2000) cuts where the standard
//! error of the mean of what is left is smallest, in batches of five. It says nothing about changes after the cut.

/// Values per batch.
const BATCH: usize = 5;
/// Fewer values than this tell nothing.
const FEWEST: usize = 150;

/// How many values from the begin to leave out; `None` if the series is too short, or if the best cut lies at its
/// middle, which means that it never settled.
pub(super) fn mser_cut(values: &[f64]) -> Option<usize> {
    if values.len() < FEWEST {
        return None;
    }
    let means: Vec<f64> =
        values.chunks_exact(BATCH).map(|c| c.iter().sum::<f64>() / BATCH as f64).collect();
    let middle = means.len() / 2;
    let error = |cut: usize| {
        let rest = &means[cut..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        rest.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    };
    let best = (0..=middle).min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
    (best < middle).then_some(best * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_is_cut_off() {
        let warming: Vec<f64> =
            (0..300).map(|i| if i < 40 { 50.0 } else { 100.0 } + f64::from(i % 7)).collect();
        assert_eq!(mser_cut(&warming), Some(40));
        assert_eq!(mser_cut(&warming[..100]), None);
        let step: Vec<f64> = (0..300).map(|i| if i < 150 { 100.0 } else { 75.0 }).collect();
        assert_eq!(mser_cut(&step), None);
    }
}
