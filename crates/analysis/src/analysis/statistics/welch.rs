//! Means and differences of means with Student's t: paired (one sample of differences) and unpaired (Welch, 1947, with
//! the degrees of freedom of Satterthwaite, 1946).

use super::student;

/// A mean, or a difference of two, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeanEstimate {
    /// The number.
    pub(crate) value: f64,
    /// Its standard error.
    pub(crate) error: f64,
    /// Degrees of freedom.
    pub(crate) df: f64,
}

impl MeanEstimate {
    /// The interval that covers the truth in a share 1 - `alpha` of all experiments.
    pub(crate) fn confidence_interval(&self, alpha: f64) -> (f64, f64) {
        let half = student::student_quantile(1.0 - alpha / 2.0, self.df) * self.error;
        (self.value - half, self.value + half)
    }

    /// Two-sided chance of a value at least this far from `truth`, were that the truth.
    pub(crate) fn two_sided_p(&self, truth: f64) -> f64 {
        let away = self.value - truth;
        if self.error > 0.0 {
            return student::two_sided_p(away / self.error, self.df);
        }
        // Without any spread there is no doubt: all values are the same.
        if away == 0.0 { 1.0 } else { 0.0 }
    }
}

/// Mean and variance (with n - 1) of a sample of at least two.
pub(crate) fn mean_and_variance(sample: &[f64]) -> Option<(f64, f64)> {
    if sample.len() < 2 {
        return None;
    }
    let mean = sample.iter().sum::<f64>() / sample.len() as f64;
    let squares: f64 = sample.iter().map(|v| (v - mean) * (v - mean)).sum();
    Some((mean, squares / (sample.len() - 1) as f64))
}

/// The mean of a sample, of paired differences for instance; `None` below two.
pub(crate) fn one_sample(sample: &[f64]) -> Option<MeanEstimate> {
    let (value, variance) = mean_and_variance(sample)?;
    let n = sample.len() as f64;
    Some(MeanEstimate { value, error: (variance / n).sqrt(), df: n - 1.0 })
}

/// Mean of `b` less mean of `a`, whose variances may differ; `None` if one has fewer than two values.
pub(crate) fn welch_difference(a: &[f64], b: &[f64]) -> Option<MeanEstimate> {
    let ((mean_a, var_a), (mean_b, var_b)) = (mean_and_variance(a)?, mean_and_variance(b)?);
    let (part_a, part_b) = (var_a / a.len() as f64, var_b / b.len() as f64);
    let sum = part_a + part_b;
    let below = part_a * part_a / (a.len() - 1) as f64 + part_b * part_b / (b.len() - 1) as f64;
    let df = if below > 0.0 { sum * sum / below } else { (a.len() + b.len() - 2) as f64 };
    Some(MeanEstimate { value: mean_b - mean_a, error: sum.sqrt(), df })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-10 * want.abs().max(1.0), "{got} is not {want}");
    }

    /// The extra sleep of ten patients under two drugs: the data of Student's paper of 1908.
    const DRUG_1: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const DRUG_2: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    #[test]
    fn students_own_data_give_the_published_results() {
        let d: Vec<f64> = DRUG_1.iter().zip(DRUG_2).map(|(a, b)| b - a).collect();
        let paired = one_sample(&d).unwrap();
        near(paired.value, 1.58);
        near(paired.value / paired.error, 4.062127683382037);
        near(paired.two_sided_p(0.0), 0.00283289019738427);
        let (low, high) = paired.confidence_interval(0.05);
        near(low, 0.700_114_236_723_017_5);
        near(high, 2.459_885_763_276_983);
        let unpaired = welch_difference(&DRUG_1, &DRUG_2).unwrap();
        near(unpaired.value / unpaired.error, 1.860813467486853);
        near(unpaired.df, 17.776473516178495);
        near(unpaired.two_sided_p(0.0), 0.079_394_140_187_358_2);
    }

    #[test]
    fn too_few_say_nothing_and_no_spread_is_no_doubt() {
        assert_eq!(one_sample(&[1.0]), None);
        assert_eq!(welch_difference(&[1.0], &[1.0, 2.0]), None);
        let same = one_sample(&[0.5, 0.5, 0.5]).unwrap();
        assert_eq!(same.confidence_interval(0.05), (0.5, 0.5));
        assert_eq!((same.two_sided_p(0.5), same.two_sided_p(0.0)), (1.0, 0.0));
        assert_eq!(welch_difference(&[1.0, 1.0], &[2.0, 2.0]).unwrap().two_sided_p(0.0), 0.0);
    }
}
