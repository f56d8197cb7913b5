//! The import table of the house. Changing it is a commit of its own, with the reason in ARCHITECTURE.md.

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
    ("probe", "base plan client"),
    ("warm", "base plan recorder client server capture workload driver"),
    ("archive", "base plan recorder probe"),
    ("analysis", "base plan recorder probe archive"),
    ("report", "base plan archive analysis"),
    (
        "experiment",
        "base plan recorder client server capture workload driver probe warm archive analysis",
    ),
    (
        "cli",
        "base plan recorder client server capture workload driver probe warm archive analysis \
         report experiment",
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
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(&src).expect("src is readable") {
        let path = entry.expect("an entry of src is readable").path();
        if !path.is_dir() {
            continue;
        }
        let room = path.file_name().expect("a folder has a name").to_string_lossy().into_owned();
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
fn nested_imports_are_seen() {
    let text = "use crate::{base, driver::arrival, plan::{A, B}};\nuse crate::probe::X;";
    let names: Vec<_> = imports(text).into_iter().collect();
    assert_eq!(names, ["base", "driver", "plan", "probe"]);
}
