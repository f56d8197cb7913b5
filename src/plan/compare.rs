//! What a comparison of several ways is asked to do.

/// How the data come back to the same state before each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResetPlan {
    /// Not at all.
    #[default]
    None,
    /// By a copy of the stopped server's files.
    Snapshot,
    /// By making them anew.
    Reload,
}

/// In which order the ways of a block run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderPlan {
    /// Two ways: A B, B A, A B, ... More: balanced, so that each way follows each other one equally often.
    #[default]
    Balanced,
    /// At random, by the seed.
    Shuffled,
    /// As written, in every block: drift of the machine is not told from the ways.
    Written,
}

/// What decides.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidePlan {
    /// The metric, as named in the findings: `events_per_s`, `p99_s`.
    pub metric: String,
    /// Differences below this share don't matter.
    pub margin: f64,
}

impl Default for DecidePlan {
    fn default() -> DecidePlan {
        DecidePlan { metric: "events_per_s".to_owned(), margin: 0.02 }
    }
}

/// Values along an axis; each is one of the plan's ways.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepPlan {
    /// `threads`, `rate`, or the name of a setting.
    pub axis: String,
    /// The values as typed.
    pub values: Vec<String>,
}
