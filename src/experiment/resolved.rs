//! What a plan comes to on this day and machine, for `plan.lock`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::machine;
use super::system::SystemUnderTest;
use crate::archive::{PlanLock, ServerRecord, VariableRecord, file_sha256};
use crate::base::Stop;
use crate::client::{Feature, Session};
use crate::plan::Plan;

/// Looks at everything that may make a repeat come out otherwise. What can't be found out is left out.
pub(super) fn resolve_plan(
    plan: &Plan,
    environment: &SystemUnderTest,
    server: Option<&ServerRecord>,
    run: &Path,
    stop: &Stop,
) -> PlanLock {
    let program = environment.server_pid().and_then(program_path);
    let options = plan.workload.options.iter().map(|(_, value)| value);
    let files = options.filter(|value| !value.is_empty() && Path::new(value).is_file());
    let files: BTreeMap<String, String> =
        files.filter_map(|f| Some((f.to_owned(), file_sha256(Path::new(f)).ok()?))).collect();
    let session = environment.target().and_then(|target| target.connect(stop).ok());
    PlanLock {
        format: 1,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        plan_sha256: file_sha256(&run.join("plan.toml")).unwrap_or_default(),
        seed: plan.seed,
        server: server.map(|server| format!("{} {}", server.product, server.version)),
        program_sha256: program.as_deref().and_then(|path| file_sha256(path).ok()),
        program: program.map(|path| path.display().to_string()),
        files,
        machine: machine::host_facts(),
        variables: session.map(|mut s| variable_records(&mut s)).unwrap_or_default(),
    }
}

/// The file that a process runs.
fn program_path(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// The server's variables with the origin of each, where it tells.
fn variable_records(session: &mut Session) -> Vec<VariableRecord> {
    let known = session.identity().feature_text(Feature::VariablesWithOrigin).map(str::to_owned);
    let rows = known.and_then(|statement| session.query_rows(&statement).ok());
    let Some(rows) = rows.or_else(|| session.query_rows("SHOW GLOBAL VARIABLES").ok()) else {
        return Vec::new();
    };
    let cell = |row: &Vec<Option<Vec<u8>>>, at: usize| {
        let bytes = row.get(at).cloned().flatten().unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let record = |row: &Vec<Option<Vec<u8>>>| VariableRecord {
        name: cell(row, 0).to_lowercase(),
        start: cell(row, 1),
        end: None,
        origin: Some(cell(row, 2).to_lowercase().replace(['_', ' '], "-"))
            .filter(|origin| !origin.is_empty()),
    };
    let mut list: Vec<VariableRecord> = rows.rows.iter().map(record).collect();
    list.sort_by(|a, b| a.name.cmp(&b.name));
    list
}
