//! What a load counted besides events.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a load counted: `bytes_received` and `bytes_sent`, and the workload's counters by the names that it gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TallyRecord(BTreeMap<String, u64>);

impl TallyRecord {
    /// What was counted under this name; 0 if nothing was.
    pub fn count(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// The same to be changed.
    pub fn count_mut(&mut self, name: &str) -> &mut u64 {
        self.0.entry(name.to_owned()).or_insert(0)
    }

    /// All that was counted, by name.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &TallyRecord) {
        for (name, count) in &other.0 {
            let sum = self.count_mut(name);
            *sum = sum.saturating_add(*count);
        }
    }
}
