//! Student's t and the normal distribution, from the incomplete beta function and the error function.
//! Sources: Abramowitz and Stegun, 6.1.41 (Stirling), 7.1.6 and 7.1.14 (error function), 26.5.8 (incomplete beta),
//! 26.7.1 (Student's t).

use std::f64::consts::{PI, SQRT_2};

/// Terms of a series or a continued fraction; all converge long before.
const TERMS: usize = 10_000;
/// Smaller than the last bit of the sum.
const ENOUGH: f64 = 1e-16;
/// Keeps a continued fraction from dividing by nothing.
const TINY: f64 = 1e-300;

/// Probability that Student's t is at least as far from 0 as `t`.
pub(crate) fn two_sided_p(t: f64, df: f64) -> f64 {
    incomplete_beta(df / 2.0, 0.5, df / (df + t * t))
}

/// The value below which Student's t stays with probability `p`, 0 < p < 1.
pub(crate) fn student_quantile(p: f64, df: f64) -> f64 {
    if p < 0.5 {
        return -student_quantile(1.0 - p, df);
    }
    // The upper tail keeps its digits where 1 - cdf would lose them.
    let tail = |t: f64| 0.5 * incomplete_beta(df / 2.0, 0.5, df / (df + t * t));
    falling_root(tail, 1.0 - p)
}

/// Probability that a standard normal number is at most `z`.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The value below which a standard normal number stays with probability `p`, 0 < p < 1.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p < 0.5 {
        return -normal_quantile(1.0 - p);
    }
    falling_root(|z| 0.5 * erfc(z / SQRT_2), 1.0 - p)
}

/// Where a tail that falls from 0 on has this value: brackets, then the Illinois variant of false position (Dowell and
/// Jarratt, 1971) on logarithms, in which a tail is nearly a line.
fn falling_root(tail: impl Fn(f64) -> f64, value: f64) -> f64 {
    let above = |x: f64| (tail(x) / value).ln();
    let (mut low, mut high) = (0.0, 1.0);
    let (mut at_low, mut at_high) = (above(low), above(high));
    while at_high > 0.0 && high < 1e150 {
        (low, at_low) = (high, at_high);
        high *= 2.0;
        at_high = above(high);
    }
    let mut last = 0.0;
    for _ in 0..200 {
        let next = high - at_high * (high - low) / (at_high - at_low);
        let at_next = above(next);
        if at_next == 0.0 || !next.is_finite() || (next - last).abs() <= 1e-15 * next.abs() {
            return next;
        }
        if (at_next > 0.0) == (at_high > 0.0) {
            at_low *= 0.5;
        } else {
            (low, at_low) = (high, at_high);
        }
        (high, at_high) = (next, at_next);
        last = next;
    }
    high
}

/// 1 - erf(x): the share of a bell curve beyond x times the square root of 2, both sides.
pub(crate) fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.0 { 1.0 - erf_series(x) } else { erfc_fraction(x) }
}

/// erf(x) = 2/sqrt(pi) exp(-x^2) (x + 2x^3/3 + 4x^5/15 + ...): all terms positive, so nothing cancels.
fn erf_series(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..TERMS {
        term *= 2.0 * x * x / (2 * n + 1) as f64;
        sum += term;
        if term < sum * ENOUGH {
            break;
        }
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

/// erfc(x) = exp(-x^2)/sqrt(pi) / (x + (1/2)/(x + 1/(x + (3/2)/(x + ...)))), from the far end inwards.
fn erfc_fraction(x: f64) -> f64 {
    let mut below = x;
    for n in (1..=200).rev() {
        below = x + n as f64 / 2.0 / below;
    }
    (-x * x).exp() / PI.sqrt() / below
}

/// Logarithm of the gamma function, x > 0: Stirling's series beyond 15, where eight terms are exact to the last bit.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 15.0 {
        below += x.ln();
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = 1.0 / 12.0
        - square
            * (1.0 / 360.0
                - square
                    * (1.0 / 1260.0
                        - square
                            * (1.0 / 1680.0
                                - square * (1.0 / 1188.0 - square * 691.0 / 360_360.0))));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series / x - below
}

/// The regularised incomplete beta function I_x(a, b), for a, b > 0 and 0 <= x <= 1.
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side of the mean; the other side is its mirror.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    front.exp() / (a * beta_fraction(a, b, x))
}

/// 1 + d1/(1 + d2/(1 + ...)) of 26.5.8, by Lentz' method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let (mut value, mut c, mut d) = (1.0, 1.0, 0.0);
    for n in 1..TERMS {
        let m = (n / 2) as f64;
        let step = if n % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 / guard(1.0 + step * d);
        c = guard(1.0 + step / c);
        value *= c * d;
        if (c * d - 1.0).abs() < ENOUGH {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probability that Student's t with `df` degrees of freedom is at most `t`.
    fn cdf(t: f64, df: f64) -> f64 {
        let tail = 0.5 * incomplete_beta(df / 2.0, 0.5, df / (df + t * t));
        if t > 0.0 { 1.0 - tail } else { tail }
    }

    fn near(got: f64, want: f64, relative: f64) {
        assert!((got - want).abs() <= relative * want.abs(), "{got} is not {want}");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, df, want) in [
            (0.975, 1.0, 12.706204736174694),
            (0.975, 2.0, 4.302652729749462),
            (0.975, 4.0, 2.7764451051977934),
            (0.975, 5.0, 2.5705818356363146),
            (0.975, 9.0, 2.262157162798205),
            (0.975, 19.0, 2.0930240544083087),
            (0.975, 60.0, 2.0002978220142604),
            (0.8, 1.0, 1.3763819204711768),
            (0.8, 2.0, 1.0606601717798214),
            (0.8, 4.0, 0.9409645772351816),
            (0.8, 5.0, 0.9195437802408271),
            (0.8, 9.0, 0.8834038596855346),
            (0.8, 19.0, 0.8609505502689286),
            (0.8, 60.0, 0.8476530063566144),
            // Not a whole number, as Welch's.
            (0.975, 3.7, 2.8675207071911895),
        ] {
            let got = student_quantile(p, df);
            near(got, want, 1e-11);
            near(cdf(got, df), p, 1e-12);
            near(student_quantile(1.0 - p, df), -want, 1e-11);
        }
    }

    #[test]
    fn few_degrees_have_closed_forms() {
        // One degree is Cauchy's distribution; two have an algebraic one.
        for t in [-30.0, -2.0, -0.3, 0.0, 0.7, 1.0, 5.0, 400.0_f64] {
            near(cdf(t, 1.0), 0.5 + t.atan() / PI, 1e-12);
            near(cdf(t, 2.0), 0.5 + t / (2.0 * (2.0 + t * t).sqrt()), 1e-11);
            near(two_sided_p(t, 1.0), 1.0 - 2.0 * t.abs().atan() / PI, 1e-11);
        }
    }

    #[test]
    fn many_degrees_are_normal() {
        near(student_quantile(0.975, 1e7), normal_quantile(0.975), 1e-6);
        near(cdf(-1.3, 1e7), normal_cdf(-1.3), 1e-6);
    }

    #[test]
    fn the_normal_distribution_is_that_of_the_tables() {
        near(normal_quantile(0.975), 1.959963984540054, 1e-12);
        near(normal_quantile(0.8), 0.8416212335729143, 1e-12);
        near(normal_quantile(0.001), -3.090232306167813, 1e-11);
        near(normal_cdf(1.0), 0.8413447460685429, 1e-12);
        near(normal_cdf(-6.0), 9.865876450376946e-10, 1e-10);
        near(erfc(2.0), 0.004677734981047266, 1e-11);
        // Both ways to the same value where they meet.
        near(1.0 - erf_series(2.0), erfc_fraction(2.0), 1e-11);
    }

    #[test]
    fn gamma_is_the_factorial() {
        near(ln_gamma(0.5), PI.sqrt().ln(), 1e-13);
        near(ln_gamma(11.0), 3_628_800_f64.ln(), 1e-14);
        assert!(ln_gamma(1.0).abs() < 1e-13 && ln_gamma(2.0).abs() < 1e-13);
    }

    #[test]
    fn incomplete_beta_is_a_binomial_tail() {
        // I_p(k, n-k+1) = P(at least k of n).
        let p: f64 = 0.3;
        let tail = 1.0 - (1.0 - p).powi(4) - 4.0 * p * (1.0 - p).powi(3);
        near(incomplete_beta(2.0, 3.0, p), tail, 1e-13);
        near(incomplete_beta(3.0, 2.0, 1.0 - p), 1.0 - tail, 1e-13);
        assert_eq!(incomplete_beta(2.0, 3.0, 0.0), 0.0);
        assert_eq!(incomplete_beta(2.0, 3.0, 1.0), 1.0);
    }
}
