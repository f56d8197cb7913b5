//! What a load would send, for those who only want to see it.

/// What a workload would send, in words that are SQL where they can be: for a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementPreview {
    /// To make the data.
    pub prepare: Vec<String>,
    /// In the load, with holes for values.
    pub load: Vec<String>,
}
