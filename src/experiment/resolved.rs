//! What a plan comes to on this day and machine, for `plan.lock`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::ground::Ground;
use super::machine;
use crate::archive::{Lock, ServerRecord, VariableRecord, sha256};
use crate::base::Stop;
use crate::plan::Plan;
use crate::target::{Session, Word};

/// Looks at everything that may make a repeat come out otherwise. What can't be found out is left out.
pub(super) fn resolve(
    plan: &Plan,
    ground: &Ground,
    server: Option<&ServerRecord>,
    run: &Path,
    stop: &Stop,
) -> Lock {
    let program = ground.pid().and_then(program_of);
    let options = plan.workload.options.iter().map(|(_, value)| value);
    let files = options.filter(|value| !value.is_empty() && Path::new(value).is_file());
    let files: BTreeMap<String, String> =
        files.filter_map(|f| Some((f.to_owned(), sha256(Path::new(f)).ok()?))).collect();
    let session = ground.target().and_then(|target| target.connect(stop).ok());
    Lock {
        format: 1,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        plan_sha256: sha256(&run.join("plan.toml")).unwrap_or_default(),
        seed: plan.seed,
        server: server.map(|server| format!("{} {}", server.product, server.version)),
        program_sha256: program.as_deref().and_then(|path| sha256(path).ok()),
        program: program.map(|path| path.display().to_string()),
        files,
        machine: machine::facts(),
        variables: session.map(|mut s| variables(&mut s)).unwrap_or_default(),
    }
}

/// The file that a process runs.
fn program_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// The server's variables with the origin of each, where it tells.
fn variables(session: &mut Session) -> Vec<VariableRecord> {
    let known = session.identity().word(Word::VariablesWithOrigin).map(str::to_owned);
    let rows = known.and_then(|statement| session.rows(&statement).ok());
    let Some(rows) = rows.or_else(|| session.rows("SHOW GLOBAL VARIABLES").ok()) else {
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
