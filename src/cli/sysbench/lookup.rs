//! Where the test named on the command line comes from: sysbench itself, a file, or a module.

use std::path::{Path, PathBuf};

use crate::workload::{EndpointKind, KINDS};

/// Tests built into sysbench, and whether they make data.
pub(super) const SYSTEM_TESTS: &[(&str, bool)] =
    &[("fileio", true), ("cpu", false), ("memory", false), ("threads", false), ("mutex", false)];
/// Where sysbench's own scripts are.
pub(super) const SCRIPT_FOLDERS: [&str; 2] = ["/usr/share/sysbench", "/usr/local/share/sysbench"];
/// Where else modules are, as Lua writes it.
const MODULE_PATHS: [&str; 5] = [
    "./?.lua",
    "./?/init.lua",
    "./src/lua/?.lua",
    "/usr/local/share/lua/5.1/?.lua",
    "/usr/share/lua/5.1/?.lua",
];

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Benchmark {
    /// A script on standard input.
    StandardInput,
    /// A test built into sysbench.
    System(&'static str),
    /// One of the workloads that have the names of sysbench's own scripts, and that script if it is on disk.
    Native(&'static str, Option<PathBuf>),
    /// A script.
    Script(PathBuf),
}

/// Finds what is to be run; `None` if there is none of that name.
pub(super) fn find_benchmark(test: Option<&str>) -> Option<Benchmark> {
    let Some(test) = test.filter(|test| !matches!(*test, "-" | "")) else {
        return Some(Benchmark::StandardInput);
    };
    if let Some((name, _)) = SYSTEM_TESTS.iter().find(|(name, _)| *name == test) {
        return Some(Benchmark::System(name));
    }
    let path = Path::new(test);
    let script = if path.is_file() { Some(path.to_owned()) } else { find_module(test) };
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    match (native_name(stem), script) {
        (Some(name), script) if script.is_some() || stem == test => {
            Some(Benchmark::Native(name, script))
        }
        (_, script) => script.map(Benchmark::Script),
    }
}

/// The workload with the name of one of sysbench's scripts.
pub(super) fn native_name(name: &str) -> Option<&'static str> {
    let is_script = name.starts_with("oltp_") || name.starts_with("select_random_");
    let kinds = KINDS.iter().filter(|kind| kind.endpoint_kind() == EndpointKind::MySql);
    let found = kinds.map(|kind| kind.name()).find(|known| *known == name);
    found.filter(|_| is_script || name == "bulk_insert")
}

/// The file of a Lua module.
fn find_module(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let rocks = home.map(|home| home.join(".luarocks/share/lua/5.1/?.lua"));
    let rocks = rocks.iter().map(|path| path.to_string_lossy().into_owned());
    let scripts = SCRIPT_FOLDERS.iter().map(|folder| format!("{folder}/?.lua"));
    let fixed = MODULE_PATHS.iter().map(|path| (*path).to_owned());
    let paths = fixed.chain(rocks).chain(scripts);
    let name = name.replace('.', "/");
    paths.map(|path| PathBuf::from(path.replace('?', &name))).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_tests_files_or_modules() {
        assert_eq!(find_benchmark(None), Some(Benchmark::StandardInput));
        assert_eq!(find_benchmark(Some("-")), Some(Benchmark::StandardInput));
        assert_eq!(find_benchmark(Some("cpu")), Some(Benchmark::System("cpu")));
        assert_eq!(find_benchmark(Some("no_such_test")), None);
        assert_eq!(find_benchmark(Some("/nonexistent/oltp_read_only.lua")), None);
        let found = find_benchmark(Some("oltp_read_only"));
        assert!(matches!(found, Some(Benchmark::Native("oltp_read_only", _))), "{found:?}");
        assert_eq!(native_name("lookup"), None);
        assert_eq!(native_name("bulk_insert"), Some("bulk_insert"));
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("own.lua");
        std::fs::write(&script, "").unwrap();
        let text = script.to_string_lossy().into_owned();
        assert_eq!(find_benchmark(Some(&text)), Some(Benchmark::Script(script)));
    }
}
