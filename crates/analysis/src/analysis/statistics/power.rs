//! What an experiment can see: the smallest difference it would show in 8 of 10 repeats, and how many blocks it takes to
//! show one. Source: n = ((t(1 - alpha/2) + t(0.8)) sd / difference)^2, both quantiles with n - 1 degrees of freedom
//! (Cochran and Cox, "Experimental Designs", 2.21).

use super::student::{normal_quantile, student_quantile};

/// Share of experiments that are to show the difference.
const POWER: f64 = 0.8;
/// More blocks than this are never proposed.
pub(crate) const MOST_BLOCKS: u32 = 1000;

/// How many standard errors a difference has to have.
fn errors_needed(df: f64, alpha: f64) -> f64 {
    student_quantile(1.0 - alpha / 2.0, df) + student_quantile(POWER, df)
}

/// The smallest difference seen in 8 of 10 experiments, for a mean with this standard error.
pub(crate) fn detectable_difference(error: f64, df: f64, alpha: f64) -> f64 {
    errors_needed(df, alpha) * error
}

/// How many blocks it takes in all to show this difference, if paired differences spread by `sd`; `None` beyond 1000.
pub(crate) fn blocks_needed(sd: f64, difference: f64, alpha: f64) -> Option<u32> {
    let enough = |n: u32| {
        let error = sd / f64::from(n).sqrt();
        detectable_difference(error, f64::from(n - 1), alpha) <= difference
    };
    // The normal curve is narrower than any of Student's: so many blocks are a few too few.
    let errors = normal_quantile(1.0 - alpha / 2.0) + normal_quantile(POWER);
    let few = (errors * sd / difference).powi(2);
    let few = if few < f64::from(MOST_BLOCKS) { few as u32 } else { MOST_BLOCKS };
    (few.max(2)..=MOST_BLOCKS).find(|n| enough(*n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_blocks_see_what_the_formula_says() {
        // Runs that vary by 2 % differ by 2 % times the root of 2.
        let sd = 0.02 * 2.0_f64.sqrt();
        let seen = |n: f64| detectable_difference(sd / n.sqrt(), n - 1.0, 0.05);
        let want = (2.7764451051977934 + 0.9409645772351816) * sd / 5.0_f64.sqrt();
        assert!((seen(5.0) - want).abs() < 1e-12);
        assert!((seen(5.0) - 0.0470).abs() < 5e-5);
        assert!((seen(10.0) - 0.0281).abs() < 5e-5);
        assert_eq!(blocks_needed(sd, 0.0471, 0.05), Some(5));
        assert_eq!(blocks_needed(sd, 0.0469, 0.05), Some(6));
        assert_eq!(blocks_needed(sd, 0.0, 0.05), None);
        assert_eq!(blocks_needed(0.0, 0.01, 0.05), Some(2));
    }
}
