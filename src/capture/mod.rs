//! Statements from the past: readers of logs, the statement type, the read-only filter.
//! Never knows: load, threads.
