//! Plans in files, TOML: read with all mistakes together, written back without passwords.

mod capacity;
mod defaults;
mod document;
mod read;
mod variants;
mod write;

pub(crate) use document::{PlanSection, read_document};

pub use defaults::{DefaultSettings, KnownNames, defaults_from_toml, known_format, known_id};
pub use read::{DeclareOptions, KnownPlugins, from_toml};
pub use write::to_toml;

use super::{ArrivalPlan, EnginePlan, OrderPlan, Protocol, ResetPlan, SslMode};

/// Words of `protocol`.
const PROTOCOLS: &[(&str, Protocol)] = &[("tcp", Protocol::Tcp), ("socket", Protocol::Socket)];

/// Words of `ssl-mode`.
const SSL_MODES: &[(&str, SslMode)] = &[
    ("disabled", SslMode::Disabled),
    ("preferred", SslMode::Preferred),
    ("required", SslMode::Required),
    ("verify_ca", SslMode::VerifyCa),
    ("verify_identity", SslMode::VerifyIdentity),
];

/// Words of `engine`.
const ENGINES: &[(&str, EnginePlan)] = &[
    ("auto", EnginePlan::Auto),
    ("threads", EnginePlan::Threads),
    ("reactor", EnginePlan::Reactor),
];

/// Words of `reset`.
const RESETS: &[(&str, ResetPlan)] =
    &[("none", ResetPlan::None), ("snapshot", ResetPlan::Snapshot), ("reload", ResetPlan::Reload)];

/// Words of `order`.
const ORDERS: &[(&str, OrderPlan)] = &[
    ("balanced", OrderPlan::Balanced),
    ("shuffled", OrderPlan::Shuffled),
    ("written", OrderPlan::Written),
];

/// Words of `allow` that are consent, which can't stand in a file.
pub const CONSENT: &[&str] = &["set-global", "ps-setup", "logging"];

/// Words of `arrival`.
const ARRIVALS: &[&str] = &["closed", "constant", "poisson"];

/// The word of an arrival.
fn arrival_word(arrival: &ArrivalPlan) -> &'static str {
    match arrival {
        ArrivalPlan::Closed { .. } => ARRIVALS[0],
        ArrivalPlan::Constant { .. } => ARRIVALS[1],
        ArrivalPlan::Poisson { .. } => ARRIVALS[2],
        ArrivalPlan::Stages { spacing, .. } => spacing.as_str(),
    }
}

impl ResetPlan {
    /// Its word in plans and in the record.
    pub fn as_str(self) -> &'static str {
        find_word(RESETS, &self)
    }
}

impl OrderPlan {
    /// Its word in plans and in the record.
    pub fn as_str(self) -> &'static str {
        find_word(ORDERS, &self)
    }
}

/// The word of a value in one of these lists.
fn find_word<T: PartialEq>(list: &[(&'static str, T)], value: &T) -> &'static str {
    list.iter().find(|(_, v)| v == value).map_or("", |(word, _)| word)
}

#[cfg(test)]
mod tests;
