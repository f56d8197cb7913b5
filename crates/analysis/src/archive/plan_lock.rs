//! `plan.lock`: what a plan came to when it ran: versions, hashes, seed, variables. Whoever repeats the run sees what
//! is not the same any more.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ArchiveError;
use super::manifest;
use super::types::VariableRecord;

/// Name of the file.
pub(super) const NAME: &str = "plan.lock";

/// What a plan came to when it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanLock {
    /// Version of this file's layout.
    pub format: u32,
    /// Version of sweat.
    pub tool_version: String,
    /// SHA-256 of `plan.toml`, hexadecimal.
    pub plan_sha256: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Product and version of the server, as it says itself.
    pub server: Option<String>,
    /// The server program, if it was ours.
    pub program: Option<String>,
    /// Its SHA-256, hexadecimal.
    pub program_sha256: Option<String>,
    /// Files that the plan names, and their SHA-256.
    pub files: BTreeMap<String, String>,
    /// The machine: `kernel`, `cpu`, `cpus`, `memory_bytes`.
    pub machine: BTreeMap<String, String>,
    /// The server's variables before the first step.
    pub variables: Vec<VariableRecord>,
}

/// SHA-256 of a file, hexadecimal.
///
/// # Errors
/// When it can't be read.
pub fn file_sha256(path: &Path) -> io::Result<String> {
    manifest::hash_file(path).map(|(_, sha256)| sha256)
}

/// Reads a run's `plan.lock`; `None` where it has none.
///
/// # Errors
/// When it can't be read or understood.
pub fn read_plan_lock(dir: &Path) -> Result<Option<PlanLock>, ArchiveError> {
    let wrong =
        |why: String| ArchiveError::NotARun { path: dir.to_owned(), why: format!("{NAME}: {why}") };
    match std::fs::read(dir.join(NAME)) {
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|e| wrong(e.to_string())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(wrong(e.to_string())),
    }
}

/// Variables that differ from server to server by themselves: places and identities.
const PLACES: &[&str] =
    &["uuid", "pid", "socket", "dir", "log_error", "log_file", "host", "port", "timestamp", "gtid"];

impl PlanLock {
    /// What is not the same now, in words: `kernel: Linux 6.1, was Linux 6.0`.
    pub fn describe_changes(&self, now: &PlanLock) -> Vec<String> {
        let none = "none".to_owned();
        let mut found = Vec::new();
        let mut compare = |name: &str, was: Option<&String>, is: Option<&String>| {
            if was != is {
                let (was, is) = (was.unwrap_or(&none), is.unwrap_or(&none));
                found.push(format!("{name}: {is}, was {was}"));
            }
        };
        compare("sweat", Some(&self.tool_version), Some(&now.tool_version));
        compare("server", self.server.as_ref(), now.server.as_ref());
        compare("server program", self.program_sha256.as_ref(), now.program_sha256.as_ref());
        compare("seed", Some(&self.seed.to_string()), Some(&now.seed.to_string()));
        compare("plan", Some(&self.plan_sha256), Some(&now.plan_sha256));
        for (kind, was, is) in
            [("file ", &self.files, &now.files), ("", &self.machine, &now.machine)]
        {
            for name in was.keys().chain(is.keys()).collect::<BTreeSet<_>>() {
                compare(&format!("{kind}{name}"), was.get(name), is.get(name));
            }
        }
        let values = |lock: &PlanLock| -> BTreeMap<String, String> {
            let variables = lock.variables.iter();
            let is_place = |name: &str| PLACES.iter().any(|part| name.contains(part));
            let kept = variables.filter(|v| !is_place(&v.name));
            kept.map(|v| (v.name.clone(), v.start.clone())).collect()
        };
        let (was, is) = (values(self), values(now));
        for name in was.keys().chain(is.keys()).collect::<BTreeSet<_>>() {
            compare(&format!("variable {name}"), was.get(name), is.get(name));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_same_is_told_and_places_are_not() {
        let variable = |name: &str, start: &str| VariableRecord {
            name: name.to_owned(),
            start: start.to_owned(),
            ..VariableRecord::default()
        };
        let machine = |kernel: &str| [("kernel".to_owned(), kernel.to_owned())].into();
        let was = PlanLock {
            machine: machine("6.0"),
            variables: vec![variable("datadir", "/a"), variable("sync_binlog", "0")],
            ..PlanLock::default()
        };
        let now = PlanLock {
            machine: machine("6.1"),
            variables: vec![variable("datadir", "/b"), variable("sync_binlog", "1")],
            seed: 7,
            ..PlanLock::default()
        };
        let expected = ["seed: 7, was 0", "kernel: 6.1, was 6.0", "variable sync_binlog: 1, was 0"];
        assert_eq!(was.describe_changes(&now), expected);
        assert!(now.describe_changes(&now).is_empty());
    }
}
