//! Findings as people and programs read them.
//! Never knows: how numbers were made, servers.
//! To add one: a folder here, its line in `FORMATS`, a golden file (`report/tests.rs`).

mod csv;
mod html;
mod json;
mod junit;
mod markdown;
mod openmetrics;
#[cfg(test)]
mod samples;
mod statements;
