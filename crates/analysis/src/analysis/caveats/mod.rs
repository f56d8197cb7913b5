//! Caveats as data: each named check looks at a run and says what would make its numbers mean less.
//! To add one: a function here, its line in `CHECKS`, its text in `sentences/caveat_texts.rs`, its entry in
//! `explanations.rs`, and its row in `docs/reading-results.md`.

mod backlog;
mod client;
mod explanations;
mod load;
mod machine_noise;
mod machines;
mod replay;
mod run_state;
mod server;
mod server_cost;
mod server_results;
mod setup;
mod stalls;

use crate::archive::{RunRecord, Trial};

use super::load_title::load_title;

pub(super) use client::is_too_late;
pub use explanations::{CaveatExplanation, caveat_explanations};

use super::findings::{
    Caveat, CaveatLevel, ComparisonVerdict, DataSize, MetricComparison, NoiseItem,
    ServerCostFinding, TrialFinding, VariantFinding,
};

/// What a check looks at.
pub(super) struct CaveatInput<'a> {
    pub(super) run: &'a RunRecord,
    pub(super) trials: &'a [TrialFinding],
    pub(super) variants: &'a [VariantFinding],
    pub(super) data: &'a DataSize,
    pub(super) noise: &'a [NoiseItem],
    pub(super) costs: &'a [ServerCostFinding],
}

impl CaveatInput<'_> {
    /// What a load is called in sentences.
    fn title(&self, trial: &Trial) -> String {
        load_title(self.run, trial)
    }
}

/// A named check.
type CaveatCheck = fn(&CaveatInput<'_>) -> Option<Caveat>;

/// Ids of the caveats that fail a run where they void it.
pub(super) const FAILING: &[&str] = &[ERRORS, ABANDONED];
const ERRORS: &str = "ERRORS";
const ABANDONED: &str = "ABANDONED";

/// All checks by the id of their caveat; within a level the caveats keep this order.
const CHECKS: &[(&str, CaveatCheck)] = &[
    ("CUT", run_state::cut_run),
    ("DAMAGE", run_state::damaged_archive),
    ("MACHINES-PART", machines::missing_parts),
    ("MACHINES-VOID", machines::void_parts),
    ("MACHINES-APART", machines::apart_starts),
    (ERRORS, run_state::failed_events),
    (ABANDONED, client::abandoned_events),
    ("BROKEN-DATA", run_state::broken_data),
    ("SUDDENLY-FAST", server_results::suddenly_fast),
    // What others use is said before what they do to the cores: it is what the reader can change.
    ("FOREIGN-CPU", server::foreign_cpu),
    ("NOISE", machine_noise::noisy_machine),
    ("NOT-COLD", server::not_cold),
    ("UNOPENED", client::unopened_sessions),
    ("CLIENT-BOUND", client::client_bound),
    ("MACHINES-UNEVEN", machines::uneven_machines),
    ("BEHIND", replay::behind_schedule),
    ("PART-LOAD", replay::part_load),
    ("OTHER-ROWS", replay::other_rows),
    ("BACKLOG", backlog::unbegun_arrivals),
    ("CLIPPED", client::clipped_events),
    ("THROTTLED", machine_noise::throttled_server),
    ("SWAP", machine_noise::swapped_pages),
    ("NTP-STEP", machine_noise::clock_step),
    ("VARS-CHANGED", setup::vars_changed),
    ("ERRLOG", server_results::error_log),
    ("EMPTY", server_results::empty_reads),
    ("COLD", server_results::cold_pool),
    ("PAGE-CACHE", server_results::page_cache),
    ("ORDER", setup::fixed_order),
    ("STALLS", stalls::stalled_loads),
    ("PART-TABLE", server::part_table),
    ("DATA-SIZE", server::data_size),
    ("NOT-STEADY", run_state::not_steady),
    ("TOO-SHORT", run_state::too_short),
    ("ONE-RUN", run_state::one_run),
    ("SIDE-EFFECT", server::side_effect),
    ("CONFOUNDED", setup::confounded_settings),
    ("PROBE-GAP", run_state::probe_gap),
    ("TWO-CLOCKS", replay::two_clocks),
    ("WHOLE-SECONDS", replay::whole_seconds),
    ("SAME-HOST", client::same_host),
    ("CLOSED-LOOP", client::closed_loop),
    ("DURABILITY", server::relaxed_durability),
    ("DEFAULTS", setup::default_settings),
    ("DATA-DIST", setup::key_distribution),
    ("PARAM-DIST", setup::touched_rows),
    ("ONE-USER", setup::one_user),
    ("THINK", setup::think_time),
    ("SAME-QUERY", server_results::same_query),
    ("QUERY-CACHE", server_results::query_cache),
    ("N-PLUS-1", server_cost::repeated_statements),
    ("CONNECT-PER-EVENT", server_cost::connections_per_event),
    ("LOCK-WAITS", server_cost::row_lock_waits),
    ("TLS", setup::tls_sessions),
];

/// Ids of all checks.
pub fn caveat_ids() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|(id, _)| *id)
}

/// All caveats about a run, the gravest first.
pub(super) fn find_caveats(input: &CaveatInput<'_>) -> Vec<Caveat> {
    let mut found: Vec<Caveat> = CHECKS.iter().filter_map(|(_, check)| check(input)).collect();
    found.sort_by_key(|caveat| caveat.level);
    found
}

/// Caveats about how quiet the machine was.
const OF_NOISE: &[&str] = &["NOISE", "FOREIGN-CPU"];

/// Noise voids only what it could have made: where a claim stands in spite of it, or nothing is claimed, it is a warning.
pub(super) fn relax_noise_caveats<'a>(
    found: &mut [Caveat],
    deciding: impl Iterator<Item = &'a MetricComparison>,
) {
    let claims: Vec<&MetricComparison> = deciding.filter(|c| c.ratio.ci95.is_some()).collect();
    let stands = claims.iter().any(|c| c.verdict != ComparisonVerdict::Unsure);
    if !claims.is_empty() && (stands || !claims.iter().any(|c| c.within_noise)) {
        downgrade_noise_caveats(found);
    }
    found.sort_by_key(|caveat| caveat.level);
}

/// Noise that voids becomes a warning.
pub(super) fn downgrade_noise_caveats(found: &mut [Caveat]) {
    let grave = |c: &&mut Caveat| c.level == CaveatLevel::Void && OF_NOISE.contains(&c.id);
    found.iter_mut().filter(grave).for_each(|caveat| caveat.level = CaveatLevel::Warn);
    found.sort_by_key(|caveat| caveat.level);
}

/// Names of loads for an evidence: all of them, some of them, or nothing to say if there is only one.
fn load_names_text(input: &CaveatInput<'_>, seen: &[&TrialFinding]) -> String {
    match (seen, input.trials.len()) {
        (_, 0 | 1) | ([], _) => String::new(),
        (seen, all) if seen.len() == all => " in every load".to_owned(),
        ([one], _) => format!(" in {}", one.title),
        ([one, rest @ ..], _) => format!(" in {} and {} more", one.title, rest.len()),
    }
}

#[cfg(test)]
mod tests;
