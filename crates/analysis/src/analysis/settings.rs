//! The server's variables that matter: those somebody set, those that changed, those every reader asks for.

use crate::archive::{RunRecord, VariableRecord};

use super::findings::VariableFinding;

/// Origins that mean that nobody set it.
const COMPILED_IN: &[&str] = &["compile-time", "compiled", "auto"];

/// Shown also at their defaults, as they decide what the numbers mean.
const ALWAYS: &[&str] = &[
    "innodb_adaptive_hash_index",
    "innodb_buffer_pool_dump_at_shutdown",
    "innodb_buffer_pool_load_at_startup",
    "innodb_buffer_pool_size",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_log_file_size",
    "innodb_old_blocks_time",
    "innodb_page_size",
    "innodb_read_ahead_threshold",
    "innodb_redo_log_capacity",
    "log_bin",
    "max_connections",
    "performance_schema",
    "query_cache_type",
    "sync_binlog",
    "table_open_cache",
];

/// Moves by itself or says nothing about the server: the server's own counters and clocks among the variables.
const NOISE: &[&str] = &[
    "gtid_binlog_pos",
    "gtid_current_pos",
    "gtid_executed",
    "identity",
    "insert_id",
    "last_insert_id",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "timestamp",
];

/// The settings to show, by name.
pub(super) fn shown_settings(run: &RunRecord) -> Vec<VariableFinding> {
    let mut found: Vec<VariableFinding> = run.variables.iter().filter_map(shown_setting).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Whether a variable changes without anybody changing it.
pub(super) fn moves_by_itself(name: &str) -> bool {
    NOISE.iter().any(|noise| noise.eq_ignore_ascii_case(name))
}

/// Whether a value of this origin was set by somebody; not if the origin is unknown.
pub(super) fn is_set_by_user(origin: Option<&str>) -> bool {
    let plain = |origin: &str| origin.to_lowercase().replace('_', "-");
    origin.is_some_and(|o| !COMPILED_IN.contains(&plain(o).as_str()))
}

fn shown_setting(variable: &VariableRecord) -> Option<VariableFinding> {
    let name = variable.name.to_lowercase();
    if moves_by_itself(&name) {
        return None;
    }
    let changed_to = variable.end.clone().filter(|end| *end != variable.start);
    let origin = variable.origin.as_ref().map(|o| o.to_lowercase().replace('_', "-"));
    let non_default = is_set_by_user(origin.as_deref());
    let shown = non_default || changed_to.is_some() || ALWAYS.contains(&name.as_str());
    shown.then(|| VariableFinding {
        name,
        start: variable.start.clone(),
        changed_to,
        origin,
        non_default,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str, start: &str, end: &str, origin: Option<&str>) -> VariableRecord {
        VariableRecord {
            name: name.to_owned(),
            start: start.to_owned(),
            end: Some(end.to_owned()),
            origin: origin.map(str::to_owned),
        }
    }

    #[test]
    fn shown_are_those_set_those_changed_and_those_everybody_asks_for() {
        let variables = vec![
            variable("sort_buffer_size", "1", "1", Some("compile-time")),
            variable("tmp_table_size", "2", "2", Some("COMMAND_LINE")),
            variable("long_query_time", "10", "1", Some("compiled")),
            variable("innodb_io_capacity", "200", "200", None),
            variable("timestamp", "1", "2", Some("sql")),
        ];
        let found = shown_settings(&RunRecord { variables, ..RunRecord::default() });
        let names: Vec<&str> = found.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["innodb_io_capacity", "long_query_time", "tmp_table_size"]);
        assert_eq!(found[1].changed_to.as_deref(), Some("1"));
        let set: Vec<bool> = found.iter().map(|s| s.non_default).collect();
        assert_eq!(set, [false, false, true]);
        assert_eq!(found[2].origin.as_deref(), Some("command-line"));
    }
}
