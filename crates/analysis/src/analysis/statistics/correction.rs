//! Many questions of the same data: more than one variant against the base (Holm, 1979), more than one look at an experiment
//! that grows (Pocock, 1977).

/// Chance of a false answer that an experiment may have as a whole.
pub(crate) const ALPHA: f64 = 0.05;
/// Fewest blocks at which it makes sense to look.
const FEWEST: u32 = 2;
/// Blocks at the first look from which the levels of `LEVELS` hold.
const FIRST: u32 = 5;
/// Chance that each of 1, 2, .. looks may have when each has twice the blocks of the one before and the first has five.
/// Pocock's constants are for known variance (0.0294, 0.0208, ..): with Student's t of few blocks they are too
/// generous, so these come from simulated t tests (1.6 million experiments each, rounded down). A test repeats it.
const LEVELS: &[f64] = &[ALPHA, 0.0279, 0.0195, 0.0151, 0.0122];
/// The same for a first look at two to four blocks, rounded to the least of them.
const LEVELS_EARLY: &[f64] = &[ALPHA, 0.0262, 0.0182, 0.0140, 0.0115];

/// Chances adjusted for being asked together: each is that of the smallest family error at which Holm's steps would
/// reject it. In the order given.
pub(crate) fn holm_adjust(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|&a, &b| chances[a].total_cmp(&chances[b]));
    let mut adjusted = vec![1.0; chances.len()];
    let mut largest: f64 = 0.0;
    for (step, &place) in order.iter().enumerate() {
        largest = largest.max(chances[place] * (chances.len() - step) as f64);
        adjusted[place] = largest.min(1.0);
    }
    adjusted
}

/// When an experiment that grows is looked at, and how sure each look has to be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LookSchedule {
    /// Numbers of blocks, rising.
    pub(crate) at: Vec<u32>,
    /// Chance of a false answer that each look may have.
    pub(crate) level: f64,
}

/// Looks at `first` blocks, at twice, four times as many, ..., the last at `most`. At most five: what lies between the
/// fourth and the last is not looked at.
pub(crate) fn look_schedule(first: u32, most: u32) -> LookSchedule {
    let levels = if first >= FIRST { LEVELS } else { LEVELS_EARLY };
    let mut at = vec![first.max(FEWEST).min(most.max(FEWEST))];
    while let Some(next) = at.last().map(|n| n.saturating_mul(2)).filter(|n| *n < most) {
        if at.len() + 1 == levels.len() {
            break;
        }
        at.push(next);
    }
    if at.last().is_some_and(|last| *last < most) {
        at.push(most);
    }
    let level = levels[at.len() - 1];
    LookSchedule { at, level }
}

#[cfg(test)]
mod tests {
    use super::super::student::{normal_cdf, normal_quantile};
    use super::super::welch::one_sample;
    use super::*;
    use crate::base::random::Rng;

    #[test]
    fn holm_is_that_of_the_textbook() {
        // Aickin and Gensler, 1996: 0.01 0.02 0.022 0.09 of four become 0.04 0.06 0.06 0.09.
        let adjusted = holm_adjust(&[0.09, 0.01, 0.022, 0.02]);
        let want = [0.09, 0.04, 0.06, 0.06];
        assert!(adjusted.iter().zip(want).all(|(a, w)| (a - w).abs() < 1e-12), "{adjusted:?}");
        assert_eq!(holm_adjust(&[]), Vec::<f64>::new());
        assert_eq!(holm_adjust(&[0.7, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn looks_double() {
        let at = |first, most| look_schedule(first, most).at;
        assert_eq!(at(5, 20), [5, 10, 20]);
        assert_eq!(at(5, 5), [5]);
        assert_eq!(at(5, 3), [3]);
        assert_eq!(at(5, 8), [5, 8]);
        assert_eq!(at(3, 12), [3, 6, 12]);
        assert_eq!(at(5, 1000), [5, 10, 20, 40, 1000]);
        assert_eq!(at(0, 0), [2]);
        assert_eq!(look_schedule(5, 5).level, 0.05);
        assert_eq!(look_schedule(5, 20).level, 0.0195);
        assert!(look_schedule(3, 12).level < look_schedule(5, 20).level);
    }

    /// Chance that a mean of nothing but noise of known spread looks like something at one of these looks, when each look
    /// has this chance: Armitage, McPherson and Rowe's recursion (1969), on a grid.
    fn chance_of_any(at: &[u32], level: f64) -> f64 {
        const POINTS: usize = 400;
        let z = normal_quantile(1.0 - level / 2.0);
        let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        // Sums so far that did not look like anything, and their density times the width of a step.
        let mut grid = vec![(0.0, 1.0)];
        let (mut blocks, mut chance) = (0.0, 0.0);
        for next in at.iter().map(|n| f64::from(*n)) {
            let spread = (next - blocks).sqrt();
            let bound = z * next.sqrt();
            let leaves =
                |sum: f64| normal_cdf((sum - bound) / spread) + normal_cdf((-bound - sum) / spread);
            chance += grid.iter().map(|(sum, weight)| weight * leaves(*sum)).sum::<f64>();
            let width = 2.0 * bound / POINTS as f64;
            let point = |place: usize| {
                let sum = -bound + (place as f64 + 0.5) * width;
                let from = |(s, weight): &(f64, f64)| weight * density((sum - s) / spread) / spread;
                (sum, grid.iter().map(from).sum::<f64>() * width)
            };
            grid = (0..POINTS).map(point).collect();
            blocks = next;
        }
        chance
    }

    #[test]
    fn pococks_constants_come_out_of_the_integral() {
        // Table 2.1 of Jennison and Turnbull: evenly spaced looks, 0.05 in all.
        for (at, level) in
            [(vec![1, 2], 0.0294), (vec![1, 2, 3], 0.0221), (vec![1, 2, 3, 4], 0.0182)]
        {
            let chance = chance_of_any(&at, level);
            assert!((chance - 0.05).abs() < 2e-4, "{at:?}: {chance}");
        }
        // Ours, each with twice the blocks of the one before: the well-known 0.0221 would be too generous.
        assert!((chance_of_any(&[5, 10, 20], 0.02079) - 0.05).abs() < 2e-4);
        assert!(chance_of_any(&[5, 10, 20], 0.0221) > 0.0525);
        assert!(chance_of_any(&[5, 10, 20], look_schedule(5, 20).level) < 0.05);
        // An early look at fewer blocks than planned between two others costs no more.
        assert!(chance_of_any(&[5, 10, 12], 0.0208) < 0.05);
    }

    /// Share of experiments without any effect that look like one at some look, by Student's t.
    fn false_answers(at: &[u32], level: f64, experiments: u32) -> f64 {
        let mut random = Rng::new(20, u64::from(at[0]), 3);
        let most = at[at.len() - 1] as usize;
        let wrong = (0..experiments).filter(|_| {
            let noise: Vec<f64> = (0..most).map(|_| normal(&mut random)).collect();
            at.iter().any(|n| one_sample(&noise[..*n as usize]).unwrap().two_sided_p(0.0) <= level)
        });
        wrong.count() as f64 / f64::from(experiments)
    }

    fn normal(random: &mut Rng) -> f64 {
        let radius = (-2.0 * f64::ln(1.0 - random.uniform_fraction())).sqrt();
        radius * (2.0 * std::f64::consts::PI * random.uniform_fraction()).cos()
    }

    #[test]
    fn simulated_looks_keep_their_promise() {
        // 20 000 experiments: the standard error of the share is 0.0015.
        for (first, most) in [(5, 10), (5, 20), (2, 8), (3, 12)] {
            let looks = look_schedule(first, most);
            let wrong = false_answers(&looks.at, looks.level, 20_000);
            assert!((0.043..0.0535).contains(&wrong), "{:?}: {wrong}", looks.at);
        }
        // Looking three times at 5 % each is what must not be done.
        assert!(false_answers(&[5, 10, 20], 0.05, 20_000) > 0.09);
    }
}
