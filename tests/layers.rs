//! The import table of the house. Changing it is a commit of its own, with the reason in ARCHITECTURE.md. Between crates
//! the compiler holds it, inside them this does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Each room and the rooms it may import.
const TABLE: &[(&str, &str)] = &[
    ("base", ""),
    ("plan", "base"),
    ("recorder", "base"),
    ("client", "base plan recorder"),
    ("server", "base plan client"),
    ("capture", "base plan client"),
    ("workload", "base plan recorder client capture"),
    ("driver", "base plan recorder workload"),
    ("probe", "base plan client capture"),
    ("warm", "base plan recorder client server capture workload driver"),
    ("archive", "base recorder probe"),
    ("analysis", "base plan recorder archive"),
    ("report", "plan archive analysis"),
    ("live_page", "base report"),
    ("experiment", "base plan recorder client server workload driver probe warm archive analysis"),
    ("agents", "base plan recorder client workload archive analysis experiment"),
    (
        "cli",
        "base plan recorder client server capture workload probe warm archive analysis \
         report live_page experiment agents",
    ),
];

/// Names that follow `crate::` in a source text, also inside `use crate::{a, b::c}`.
fn imports(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = text;
    while let Some(at) = rest.find("crate::") {
        rest = &rest[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let (mut depth, mut word, mut fresh) = (1, String::new(), true);
            for c in list.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    c if depth == 1 && fresh && (c.is_alphanumeric() || c == '_') => word.push(c),
                    _ => {}
                }
                if depth == 1 && (c == ',' || c == ':') || depth == 0 {
                    if fresh && !word.is_empty() {
                        found.insert(std::mem::take(&mut word));
                    }
                    word.clear();
                    fresh = c == ',';
                }
                if depth == 0 {
                    break;
                }
            }
        } else {
            found.insert(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    found
}

/// Every room and its folder: those of the program, of the crates `engine` and `analysis`, and `report`, a crate by itself.
fn rooms() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut rooms = vec![("report".to_owned(), root.join("crates/report/src"))];
    for src in ["src", "crates/engine/src", "crates/analysis/src"] {
        for entry in std::fs::read_dir(root.join(src)).expect("a crate's source is readable") {
            let path = entry.expect("its entries are readable").path();
            if path.is_dir() {
                let name = path.file_name().expect("a folder has a name").to_string_lossy();
                rooms.push((name.into_owned(), path.clone()));
            }
        }
    }
    rooms
}

fn rust_files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a source folder is readable") {
        let path = entry.expect("a source entry is readable").path();
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn rooms_import_only_what_the_table_allows() {
    let mut wrong = Vec::new();
    for (room, path) in rooms() {
        let Some((_, allowed)) = TABLE.iter().find(|(name, _)| *name == room) else {
            wrong.push(format!("room {room} is not in the table"));
            continue;
        };
        let mut files = Vec::new();
        rust_files(&path, &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a source file is text");
            for name in imports(&text) {
                let known = TABLE.iter().any(|(other, _)| *other == name);
                if known && name != room && !allowed.split(' ').any(|a| a == name) {
                    wrong.push(format!("{} imports {name}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_no_circle_and_no_arrow_that_nobody_uses() {
    let (rooms, mut wrong) = (rooms(), Vec::new());
    for (place, (room, allowed)) in TABLE.iter().enumerate() {
        let (mut files, mut used) = (Vec::new(), BTreeSet::new());
        let (_, folder) = rooms.iter().find(|(name, _)| name == room).expect("it has a folder");
        rust_files(folder, &mut files);
        for file in files {
            used.extend(imports(&std::fs::read_to_string(&file).expect("a source file is text")));
        }
        for other in allowed.split_whitespace() {
            if !TABLE[..place].iter().any(|(name, _)| *name == other) {
                wrong.push(format!("{room} -> {other} points up the table"));
            }
            if !used.contains(other) {
                wrong.push(format!("{room} -> {other} is used by nobody"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What stands after `super::` where that leads to the room's own level, in a file that lies `depth` below it.
fn uses_of_siblings(text: &str, depth: usize) -> BTreeSet<String> {
    let up = "super::".repeat(depth);
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices(&up) {
        let rest = &text[at + up.len()..];
        if text[..at].ends_with("super::") || rest.starts_with("super::") {
            continue;
        }
        let end = rest.find(';').filter(|_| rest.starts_with('{'));
        let end = end.or_else(|| rest.find(|c: char| !c.is_alphanumeric() && c != '_'));
        found.extend(imports(&format!("crate::{}", &rest[..end.unwrap_or(rest.len())])));
    }
    found
}

/// Modules of `analysis` can be read from the leaves up: none needs, by way of others, itself, and none needs what only
/// their common `mod.rs` names.
#[test]
fn analysis_has_no_circle_of_modules() {
    let room = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/analysis/src/analysis");
    let mut files = Vec::new();
    rust_files(&room, &mut files);
    let mut arrows: BTreeSet<(String, String)> = BTreeSet::new();
    let mut modules = BTreeSet::new();
    for file in files {
        let path = file.strip_prefix(&room).expect("it lies in the room").with_extension("");
        let mut parts: Vec<String> =
            path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        // Tests may look at everything.
        let for_tests = |part: &String| {
            part.contains("tests") || part.contains("fixture") || part == "simulated"
        };
        if parts.iter().any(for_tests) {
            continue;
        }
        parts.retain(|part| part != "mod");
        let Some(module) = parts.first().cloned() else { continue };
        modules.insert(module.clone());
        let text = std::fs::read_to_string(&file).expect("a source file is text");
        let text = text.split("#[cfg(test)]\nmod tests {").next().expect("there is a first part");
        let code: Vec<&str> =
            text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for other in uses_of_siblings(&code.join("\n"), parts.len()) {
            if other != module {
                arrows.insert((module.clone(), other));
            }
        }
    }
    let strange: Vec<_> = arrows.iter().filter(|(_, to)| !modules.contains(to)).collect();
    assert!(strange.is_empty(), "through mod.rs: {strange:?}");
    // What needs nothing that is left goes; what can't go is a circle.
    while let Some(leaf) =
        modules.iter().find(|module| !arrows.iter().any(|(from, _)| from == *module)).cloned()
    {
        modules.remove(&leaf);
        arrows.retain(|(_, to)| *to != leaf);
    }
    assert!(modules.is_empty(), "in circles, or above one: {arrows:?}");
}

#[test]
fn nested_imports_are_seen() {
    let text = "use crate::{base, driver::arrival, plan::{A, B}};\nuse crate::probe::X;";
    let names: Vec<_> = imports(text).into_iter().collect();
    assert_eq!(names, ["base", "driver", "plan", "probe"]);
}
