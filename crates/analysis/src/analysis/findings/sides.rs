//! What a comparison of runs says: what came of it, and what each side was measured on.

use super::{Caveat, DataSize, FindingResults, RunHeader, VariableFinding};

/// Finished runs against others.
#[derive(Clone, Debug, Default)]
pub struct ComparisonFindings {
    /// What one run has too.
    pub results: FindingResults,
    /// The base, then what is held against it.
    pub sides: [ComparedSide; 2],
}

impl ComparisonFindings {
    /// All runs, those of the base first.
    pub fn runs(&self) -> impl Iterator<Item = &ComparedRun> {
        self.sides.iter().flat_map(|side| &side.runs)
    }

    /// The names of all run folders, with commas.
    pub fn joined_ids(&self) -> String {
        self.runs().map(|run| run.head.id.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// The runs on one side of a comparison.
#[derive(Clone, Debug, Default)]
pub struct ComparedSide {
    /// What the side is called.
    pub name: String,
    /// Its runs, in the order given.
    pub runs: Vec<ComparedRun>,
}

/// What one run of a comparison measured, and on what.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// What ran, when, how it ended, on which server and host.
    pub head: RunHeader,
    /// Size of the data against the pool.
    pub data: DataSize,
    /// The server's variables that matter.
    pub settings: Vec<VariableFinding>,
    /// The plan as text.
    pub plan: String,
    /// Caveats that the user knew of when this run was measured.
    pub allowed: Vec<Caveat>,
}
