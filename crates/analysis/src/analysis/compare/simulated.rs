//! Experiments by the thousand, with known truth and fixed seeds: how often the interval covers it, how often a verdict
//! is wrong, and what goes wrong when variants do not take turns. Bounds are the promise and the error of the simulation.

use super::super::findings::{ComparisonVerdict, MetricComparison};
use super::super::noise::{NoiseSlowdown, withdraw_noisy_verdicts};
use super::judge::{ComparedValues, DecisionRule, StudyDesign, judge_metric};
use super::metric::find_metric;
use super::sequential::judge_interim_pairs;
use crate::base::random::Rng;

/// Experiments behind each share: its standard error is 0.0056 at 0.05.
const EXPERIMENTS: u64 = 1_500;

/// How the machine changes from run to run.
#[derive(Clone, Copy, Debug)]
enum MachineDrift {
    /// Each run 1 % slower than the one before.
    Linear,
    /// Each run moves by about 1 %, up or down, from where the one before was.
    Walk,
}

/// In which order the runs are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RunOrder {
    /// A B, B A, ...
    Balanced,
    /// All of A, then all of B.
    OneAfterTheOther,
}

struct ExperimentSimulator {
    random: Rng,
    drift: MachineDrift,
    order: RunOrder,
    /// How much runs vary by themselves.
    variation: f64,
    /// What B really is by A, as a logarithm.
    effect: f64,
}

impl ExperimentSimulator {
    fn new(seed: u64) -> ExperimentSimulator {
        ExperimentSimulator {
            random: Rng::new(seed, 0, 0),
            drift: MachineDrift::Walk,
            order: RunOrder::Balanced,
            variation: 0.02,
            effect: 0.0,
        }
    }

    fn normal_deviate(&mut self) -> f64 {
        let radius = (-2.0 * f64::ln(1.0 - self.random.uniform_fraction())).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.random.uniform_fraction()).cos()
    }

    /// Values of one experiment, block by block.
    fn simulate_blocks(&mut self, blocks: u32) -> Vec<(f64, f64)> {
        let mut machine = 0.0;
        let mut runs = Vec::new();
        for _ in 0..2 * blocks {
            machine += match self.drift {
                MachineDrift::Linear => -0.01,
                MachineDrift::Walk => 0.01 * self.normal_deviate(),
            };
            runs.push(machine + self.variation * self.normal_deviate());
        }
        let pair = |block: usize| match self.order {
            RunOrder::Balanced if block % 2 == 0 => (runs[2 * block], runs[2 * block + 1]),
            RunOrder::Balanced => (runs[2 * block + 1], runs[2 * block]),
            RunOrder::OneAfterTheOther => (runs[block], runs[block + blocks as usize]),
        };
        (0..blocks as usize)
            .map(pair)
            .map(|(a, b)| (1000.0 * f64::exp(a), 1000.0 * f64::exp(b + self.effect)))
            .collect()
    }

    fn judge_blocks(&mut self, blocks: u32, margin: f64) -> MetricComparison {
        judge_simulated_pairs(&self.simulate_blocks(blocks), margin)
    }

    /// Share of experiments of which something holds.
    fn share_of_experiments(
        &mut self,
        blocks: u32,
        margin: f64,
        holds: impl Fn(&MetricComparison) -> bool,
    ) -> f64 {
        let with = (0..EXPERIMENTS).filter(|_| holds(&self.judge_blocks(blocks, margin))).count();
        with as f64 / EXPERIMENTS as f64
    }
}

fn judge_simulated_pairs(pairs: &[(f64, f64)], margin: f64) -> MetricComparison {
    let side = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).zip(1..).map(|(v, b)| (b, v));
    let values = ComparedValues {
        variant: "b".to_owned(),
        base: "a".to_owned(),
        design: StudyDesign::Paired,
        base_values: side(|p| p.0).collect(),
        variant_values: side(|p| p.1).collect(),
    };
    let rule = DecisionRule { alpha: 0.05, margin };
    judge_metric(&[values], find_metric("events_per_s").unwrap(), rule).pop().unwrap()
}

fn is_claim(found: &MetricComparison) -> bool {
    matches!(found.verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse)
}

#[test]
fn intervals_cover_the_truth_while_the_machine_drifts() {
    for drift in [MachineDrift::Walk, MachineDrift::Linear] {
        for blocks in [3, 5, 10] {
            let mut world = ExperimentSimulator {
                drift,
                effect: 0.03,
                ..ExperimentSimulator::new(u64::from(blocks))
            };
            let truth = f64::exp(0.03);
            let covers = world.share_of_experiments(blocks, 0.02, |found| {
                let (low, high) = found.ratio.ci95.unwrap();
                low <= truth && truth <= high
            });
            assert!((0.93..=0.97).contains(&covers), "{drift:?} {blocks}: {covers}");
        }
    }
}

#[test]
fn nothing_is_seldom_called_something() {
    for drift in [MachineDrift::Walk, MachineDrift::Linear] {
        for blocks in [3, 5, 10] {
            let mut world =
                ExperimentSimulator { drift, ..ExperimentSimulator::new(100 + u64::from(blocks)) };
            // Without a margin every statement that is not "unsure" is false, so this is the hardest case.
            let wrong = world.share_of_experiments(blocks, 0.0, is_claim);
            assert!(wrong <= 0.05 + 0.011, "{drift:?} {blocks}: {wrong}");
            let better = world.share_of_experiments(blocks, 0.02, |found| {
                found.verdict == ComparisonVerdict::Better
            });
            assert!(better <= 0.02, "{drift:?} {blocks}: {better}");
        }
    }
}

#[test]
fn a_variant_against_itself_is_the_same_or_unsure() {
    let mut world = ExperimentSimulator::new(7);
    for blocks in [3, 5, 10, 20] {
        let fine = (0..20).filter(|_| !is_claim(&world.judge_blocks(blocks, 0.02))).count();
        assert!(fine >= 19, "{blocks}: {fine} of 20");
    }
    // Enough blocks of runs that vary little do say "same".
    let mut quiet = ExperimentSimulator { variation: 0.005, ..ExperimentSimulator::new(8) };
    assert!(
        quiet.share_of_experiments(20, 0.02, |found| found.verdict == ComparisonVerdict::Same)
            > 0.95
    );
}

#[test]
fn one_after_the_other_is_wrong_and_more_runs_make_it_worse() {
    let wrong = |blocks: u32, drift| {
        let order = RunOrder::OneAfterTheOther;
        ExperimentSimulator { order, drift, ..ExperimentSimulator::new(30 + u64::from(blocks)) }
            .share_of_experiments(blocks, 0.0, is_claim)
    };
    let [few, some, many] = [3, 5, 10].map(|blocks| wrong(blocks, MachineDrift::Walk));
    assert!(few > 0.06 && some > 0.12 && many > 0.3, "{few} {some} {many}");
    assert!(few < some && some < many, "{few} {some} {many}");
    // A machine that only ever gets slower fools every single experiment.
    assert!(wrong(10, MachineDrift::Linear) > 0.99);
}

#[test]
fn real_effects_are_seen_as_often_as_promised() {
    // Runs that vary by 2 %, no drift beyond that of a walk of nothing: power as in the table of the documentation.
    let mut world = ExperimentSimulator {
        drift: MachineDrift::Walk,
        effect: 0.06,
        ..ExperimentSimulator::new(50)
    };
    let seen =
        world.share_of_experiments(10, 0.02, |found| found.verdict == ComparisonVerdict::Better);
    assert!(seen > 0.75, "{seen}");
    // The difference said to be detectable is the one seen in 8 of 10 experiments.
    let mut world = ExperimentSimulator { effect: 0.0470, ..ExperimentSimulator::new(51) };
    world.drift = MachineDrift::Walk;
    let seen = world.share_of_experiments(5, 0.0, is_claim);
    assert!((0.6..0.85).contains(&seen), "{seen}");
}

#[test]
fn looking_often_is_paid_for() {
    let mut world = ExperimentSimulator::new(60);
    let (mut wrong, mut careless) = (0, 0);
    for _ in 0..EXPERIMENTS {
        let pairs = world.simulate_blocks(20);
        let look = |blocks: usize| {
            let variants = [("b".to_owned(), pairs[..blocks].to_vec())];
            let (clarity, found) = judge_interim_pairs(&variants, "events_per_s", 0.0, 5, 20);
            clarity.clear && is_claim(&found[0])
        };
        wrong += usize::from([5, 10, 20].into_iter().any(look));
        let plain = |blocks: usize| is_claim(&judge_simulated_pairs(&pairs[..blocks], 0.0));
        careless += usize::from([5, 10, 20].into_iter().any(plain));
    }
    let share = |n: usize| n as f64 / EXPERIMENTS as f64;
    assert!(share(wrong) <= 0.05 + 0.007, "{}", share(wrong));
    assert!(share(careless) > 0.08, "{}", share(careless));
}

#[test]
fn many_variants_are_paid_for() {
    let mut world = ExperimentSimulator::new(70);
    let mut wrong = 0;
    for _ in 0..EXPERIMENTS / 2 {
        // Five variants that are all the base: each against its own base, which is harder than a shared one.
        let variants: Vec<(String, Vec<(f64, f64)>)> =
            (0..5).map(|variant| (variant.to_string(), world.simulate_blocks(8))).collect();
        let (_, found) = judge_interim_pairs(&variants, "events_per_s", 0.0, 8, 8);
        wrong += usize::from(found.iter().any(is_claim));
    }
    let share = wrong as f64 / EXPERIMENTS as f64;
    assert!(share <= 0.05 + 0.01, "{share}");
}

/// What a neighbour takes from a load, as a share of the machine: nothing, or up to nine tenths.
fn stolen_share(world: &mut ExperimentSimulator, often: f64) -> f64 {
    if world.random.uniform_fraction() < often {
        0.9 * world.random.uniform_fraction()
    } else {
        0.0
    }
}

/// An experiment under a neighbour that takes shares of the machine from the loads of the base and of the variant; each
/// load feels between `least` and all of what is taken.
fn disturbed_experiment(
    world: &mut ExperimentSimulator,
    blocks: u32,
    often: (f64, f64),
    least: f64,
) -> MetricComparison {
    let mut pairs = world.simulate_blocks(blocks);
    let mut slowed = (0.0, 0.0);
    for (base, variant) in &mut pairs {
        let shares = (stolen_share(world, often.0), stolen_share(world, often.1));
        let mut felt = || least + (1.0 - least) * world.random.uniform_fraction();
        *base *= 1.0 - shares.0 * felt();
        *variant *= 1.0 - shares.1 * felt();
        slowed.0 -= (1.0 - shares.0).ln() / f64::from(blocks);
        slowed.1 -= (1.0 - shares.1).ln() / f64::from(blocks);
    }
    let mut found = [judge_simulated_pairs(&pairs, 0.02)];
    let (base, variant) = slowed;
    withdraw_noisy_verdicts(found.iter_mut(), |_| NoiseSlowdown { base, variant, is_open: false });
    let [found] = found;
    found
}

#[test]
fn a_noisy_neighbour_makes_no_difference() {
    let mut world = ExperimentSimulator::new(80);
    for blocks in [3, 5, 10] {
        for often in [(0.3, 0.3), (0.9, 0.9), (1.0, 0.0), (0.0, 1.0), (0.6, 0.1)] {
            let stand = |world: &mut ExperimentSimulator| {
                is_claim(&disturbed_experiment(world, blocks, often, 0.0))
            };
            let wrong = (0..EXPERIMENTS).filter(|_| stand(&mut world)).count();
            let share = wrong as f64 / EXPERIMENTS as f64;
            assert!(share <= 0.005, "{blocks} blocks, {often:?}: {share}");
        }
    }
    // Loads of one side that feel all of it, each time: the interval alone would be sure of a difference.
    let mut alone = 0;
    for _ in 0..EXPERIMENTS {
        let found = disturbed_experiment(&mut world, 5, (1.0, 0.0), 1.0);
        assert!(!is_claim(&found), "{found:?}");
        alone += usize::from(found.within_noise);
    }
    assert!(alone > 100, "the rule had something to do: {alone}");
}

#[test]
fn effects_that_are_larger_than_the_noise_stay() {
    // As large as what a commit without a flush brings, beside a neighbour that takes a quarter of each load.
    let mut world = ExperimentSimulator { effect: 3.6_f64.ln(), ..ExperimentSimulator::new(90) };
    let (mut seen, mut stay) = (0, 0);
    for _ in 0..EXPERIMENTS {
        let found = disturbed_experiment(&mut world, 5, (0.5, 0.5), 0.0);
        let (low, high) = found.ratio.ci95.unwrap();
        assert_eq!(is_claim(&found), low > found.noise.unwrap(), "{found:?}");
        assert!(!(is_claim(&found) && found.within_noise));
        seen += u32::from(low > 1.02 || high < 0.98);
        stay += u32::from(is_claim(&found));
    }
    assert!(f64::from(stay) > 0.9 * f64::from(seen), "{stay} of {seen}");
    assert!(f64::from(stay) > 0.85 * EXPERIMENTS as f64, "{stay}");
}
