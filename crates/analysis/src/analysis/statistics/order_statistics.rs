//! Between which of the sorted values a quantile of their source lies. Exact from the binomial distribution: the number
//! of values below the quantile q is binomial with n and q (David and Nagaraja, "Order Statistics", 7.1).

use super::student::{incomplete_beta, normal_quantile};

/// Share left outside, both ends together.
const OUTSIDE: f64 = 0.05;

/// Ranks, from 1, of the sorted values between which the quantile `q` of their source lies in at least 95 % of all
/// samples of `n`. Rank 0 means that no value is surely below it, rank n + 1 that none is surely above.
pub(crate) fn quantile_interval(n: u64, q: f64) -> (u64, u64) {
    // P(fewer than `rank` values are below the quantile) falls with fewer: begin where the normal curve says.
    let fewer = |rank: u64| match rank {
        0 => 0.0,
        r if r > n => 1.0,
        r => incomplete_beta((n - r + 1) as f64, r as f64, 1.0 - q),
    };
    let spread = normal_quantile(1.0 - OUTSIDE / 2.0) * (n as f64 * q * (1.0 - q)).sqrt();
    let start = |at: f64| (at.round().max(0.0) as u64).min(n + 1);
    let mut low = start(n as f64 * q - spread);
    while low > 0 && fewer(low) > OUTSIDE / 2.0 {
        low -= 1;
    }
    while low < n && fewer(low + 1) <= OUTSIDE / 2.0 {
        low += 1;
    }
    let mut high = start(n as f64 * q + spread);
    while high <= n && 1.0 - fewer(high) > OUTSIDE / 2.0 {
        high += 1;
    }
    while high > 1 && 1.0 - fewer(high - 1) <= OUTSIDE / 2.0 {
        high -= 1;
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_binomial_distribution() {
        for (n, q, want) in [
            // The sign test's interval of a median, as in every table.
            (10, 0.5, (2, 9)),
            (100, 0.5, (40, 61)),
            (1_000, 0.99, (983, 997)),
            (10_000, 0.99, (9_880, 9_920)),
            (100_000, 0.999, (99_880, 99_920)),
            // So few can't bound a high quantile from above.
            (20, 0.95, (17, 21)),
            (60, 0.99, (58, 61)),
            (0, 0.5, (0, 1)),
        ] {
            assert_eq!(quantile_interval(n, q), want, "{n} {q}");
        }
    }
}
