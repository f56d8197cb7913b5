//! One variant against another.

use serde::Serialize;

use super::Estimate;

/// What a comparison came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComparisonVerdict {
    /// Better by more than the margin.
    Better,
    /// Worse by more than the margin.
    Worse,
    /// Within the margin.
    Same,
    /// The runs don't tell.
    #[default]
    Unsure,
}

impl ComparisonVerdict {
    /// In words, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ComparisonVerdict::Better => "better",
            ComparisonVerdict::Worse => "worse",
            ComparisonVerdict::Same => "same",
            ComparisonVerdict::Unsure => "unsure",
        }
    }
}

/// One metric of one variant against the base.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MetricComparison {
    /// The variant, or the run, that is compared.
    pub variant: String,
    /// What it is compared with.
    pub base: String,
    /// Metric, with its unit: `events_per_s`, `p99_s`, `server_cpu_us`.
    pub metric: String,
    /// Whether this metric decides.
    pub decides: bool,
    /// Whether more is better.
    pub more_is_better: bool,
    /// Whether each run of the variant belongs to one of the base: they ran in turns, block by block.
    pub paired: bool,
    /// The variant by the base: 1.05 for 5 % more. From log differences; its `runs` are blocks, or runs of the side that has
    /// fewer where they are not paired.
    pub ratio: Estimate,
    /// What is to be said.
    pub verdict: ComparisonVerdict,
    /// Differences below this share don't matter: 0.02.
    pub margin: f64,
    /// Chance of such a difference if there were none, adjusted for the number of variants and of looks.
    pub p: Option<f64>,
    /// The check that assumes no distribution: signed ranks, from six blocks.
    pub signed_rank: Option<SignedRank>,
    /// The smallest difference that these blocks would have shown in 8 of 10 experiments, as a share.
    pub detectable: Option<f64>,
    /// How many blocks more would decide, if the spread stays.
    pub more_blocks: Option<u32>,
    /// What the noise of the machine can make of two equals, as a factor, where it was not quiet.
    pub noise: Option<f64>,
    /// Whether that could have made the difference, which is why there is no verdict.
    pub within_noise: bool,
    /// Geometric mean of the base, and of the variant, in the metric's unit.
    #[serde(skip)]
    pub levels: Option<(f64, f64)>,
    /// Runs of the base, and of the variant, where these are not paired and one side has more of them.
    #[serde(skip)]
    pub uneven_runs: Option<(u32, u32)>,
    /// The runs behind it, block by block.
    pub pairs: Vec<BlockPair>,
    /// What limits the verdict, in words.
    pub notes: Vec<String>,
}

/// How much of the deciding metric a variant has, in absolute numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VariantLevel {
    /// The variant, the side of a comparison, or the load.
    pub name: String,
    /// Metric, with its unit: `events_per_s`.
    pub metric: &'static str,
    /// Geometric mean over the blocks; of a single load its rate.
    pub value: f64,
    /// What is known of its spread.
    pub range: Option<LevelRange>,
    /// The values of the blocks, in their order; empty for a single load.
    pub values: Vec<f64>,
}

/// A range about a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LevelRange {
    /// 95 % confidence interval of the mean over blocks.
    Confidence(f64, f64),
    /// From the slowest to the fastest whole interval of a single load.
    Intervals(f64, f64),
}

/// The robust check of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SignedRank {
    /// Exact two-sided probability.
    pub p: f64,
    /// Hodges-Lehmann estimate, as a ratio.
    pub ratio: f64,
    /// Its 95 % interval.
    pub ci95: (f64, f64),
}

/// The values of one block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BlockPair {
    /// Number of the block, from 1.
    pub block: u32,
    /// The base's value.
    pub base: f64,
    /// The variant's value.
    pub variant: f64,
}

/// Something that is not the same in what is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetupDifference {
    /// What it is of.
    pub kind: DifferenceKind,
    /// Its name.
    pub name: String,
    /// The variant, or the run, that differs from the base.
    pub variant: String,
    /// In the base.
    pub base: String,
    /// In the other.
    pub other: String,
    /// Whether the plan asked for it.
    pub intended: bool,
    /// A setting that nobody set, on either side: it follows from something else.
    #[serde(skip)]
    pub is_derived: bool,
}

/// What a difference is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// A variable of the server.
    Setting,
    /// The server: product, version, how it was reached.
    Server,
    /// The data.
    Data,
    /// The workload and its options.
    Workload,
    /// The load: workers and arrival.
    Load,
    /// How long the load took.
    Length,
    /// What warmed the pool.
    Warming,
    /// The client machine.
    Machine,
    /// The version of sweat.
    Tool,
}

impl DifferenceKind {
    /// In words, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            DifferenceKind::Setting => "setting",
            DifferenceKind::Server => "server",
            DifferenceKind::Data => "data",
            DifferenceKind::Workload => "workload",
            DifferenceKind::Load => "load",
            DifferenceKind::Length => "length",
            DifferenceKind::Warming => "warming",
            DifferenceKind::Machine => "machine",
            DifferenceKind::Tool => "tool",
        }
    }
}
