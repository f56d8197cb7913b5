//! What events cost the database server.

use serde::Serialize;

use super::Estimate;

/// What the events of one load cost the server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerCostFinding {
    /// Place of the load among all.
    pub trial: usize,
    /// The part of the load that was looked at.
    pub window: CostWindow,
    /// Whether what sweat's own looks cost is taken off.
    pub own_taken_off: bool,
    /// Per good event of all classes; only what is not zero.
    pub per_event: Vec<ServerCostItem>,
    /// How the costs of classes were found; absent where there is one class only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<ClassCostMethod>,
    /// By class of events.
    pub by_class: Vec<ClassCostFinding>,
    /// Why costs of classes are missing, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_classes_why: Option<String>,
    /// Statements of the whole load, those with the most calls first.
    pub statements: Vec<DigestFinding>,
    /// Why there are none, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_statements_why: Option<String>,
    /// Where they come from, if not from counters of the server, and how many are missing there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statements_note: Option<String>,
}

/// The part of a load between two looks at the server's counters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostWindow {
    /// Whole intervals in the middle of the load, without its start and its end; otherwise all of it, with the opening of its
    /// sessions.
    pub middle: bool,
    /// Its length.
    pub seconds: f64,
    /// Good events in it.
    pub events: u64,
}

/// One thing that events cost the server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerCostItem {
    /// Name in JSON, with its unit.
    pub id: &'static str,
    /// For people.
    #[serde(skip)]
    pub title: &'static str,
    /// Unit.
    #[serde(skip)]
    pub unit: &'static str,
    /// Per good event.
    pub per_event: f64,
    /// The counters it comes from.
    pub source: String,
}

/// How the costs of classes were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassCostMethod {
    /// Each class ran alone, several times.
    Alone,
    /// Estimated from all intervals of the load, in which classes came in other numbers each time.
    Estimated,
}

/// What events of one class cost the server.
#[derive(Clone, Debug, Serialize)]
pub struct ClassCostFinding {
    /// The class.
    pub class: String,
    /// Good events that tell it.
    pub events: u64,
    /// Rounds in which it ran alone, or intervals of the load.
    pub rounds: usize,
    /// Its costs; those that are zero for all classes are left out.
    pub costs: Vec<ClassCostItem>,
    /// Its statements, where it ran alone.
    pub statements: Vec<DigestFinding>,
}

/// One thing that events of one class cost the server.
#[derive(Clone, Debug, Serialize)]
pub struct ClassCostItem {
    /// As [`ServerCostItem::id`].
    pub id: &'static str,
    /// Per good event.
    pub per_event: Estimate,
    /// Whether the load does not tell it: classes move together, or the interval is too wide.
    pub unsure: bool,
}

/// Statements of one digest in a load, or in the loads of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DigestFinding {
    /// The statement without its values, as the server writes it.
    pub text: String,
    /// Default database of the sessions.
    pub schema: String,
    /// Statements per good event.
    pub calls_per_event: f64,
    /// Rows sent per statement.
    pub rows_sent_per_call: f64,
    /// Rows read per statement.
    pub rows_examined_per_call: f64,
    /// Rows changed per statement.
    pub rows_affected_per_call: f64,
    /// Seconds in the server per statement.
    pub seconds_per_call: f64,
    /// Whether it runs so often per event that one statement could read all its rows at once.
    pub repeated: bool,
}
