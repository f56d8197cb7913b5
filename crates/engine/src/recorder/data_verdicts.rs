//! What was found when data were held against the rules that their workload states.

use serde::{Deserialize, Serialize};

/// The findings of one look at the data, rule by rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DataVerdicts {
    /// What was looked at, in words: `5 warehouses`.
    pub subject: String,
    /// Each rule in its order.
    pub list: Vec<DataVerdict>,
}

/// What was found of one rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DataVerdict {
    /// Short name of the rule: `C1`.
    pub id: String,
    /// What it says, in a few words.
    pub rule: String,
    /// Where it stands in a specification; empty if nowhere.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub clause: String,
    /// Whether it holds.
    pub state: DataState,
    /// How many rows or groups of rows break it; 0 where it holds, and where it is not about rows.
    pub broken_rows: u64,
    /// Some of those that break it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<BrokenRow>,
    /// What else there is to say: why the rule does not apply, what was measured.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// Whether a rule holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataState {
    /// It holds.
    #[default]
    Holds,
    /// It does not hold.
    Broken,
    /// It says nothing of these data, or there are too few to tell.
    NotApplicable,
}

/// A row, or a group of rows, that breaks a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BrokenRow {
    /// Which one: `w 1, d 3`.
    pub key: String,
    /// The value that is there.
    pub found: String,
    /// The value that the rule asks for.
    pub expected: String,
}

impl DataVerdicts {
    /// The rules that are broken.
    pub fn broken(&self) -> impl Iterator<Item = &DataVerdict> {
        self.list.iter().filter(|verdict| verdict.state == DataState::Broken)
    }

    /// Whether no rule is broken.
    pub fn all_hold(&self) -> bool {
        self.broken().next().is_none()
    }

    /// Whether all rules hold, and which don't, in words.
    pub fn answer_text(&self) -> String {
        let broken: Vec<&str> = self.broken().map(|verdict| verdict.id.as_str()).collect();
        let judged = self.count(DataState::Holds) + broken.len();
        match (judged, broken.as_slice()) {
            (0, _) => "no rule applies".to_owned(),
            (1, []) => "the rule holds".to_owned(),
            (_, []) => format!("all {judged} rules hold"),
            (1, _) => format!("the rule is broken: {}", broken[0]),
            (_, ids) => format!("{} of {judged} rules broken: {}", ids.len(), ids.join(", ")),
        }
    }

    /// How many rules have this state.
    pub fn count(&self, state: DataState) -> usize {
        self.list.iter().filter(|verdict| verdict.state == state).count()
    }
}
