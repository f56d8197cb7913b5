//! What a lint can't see: sizes, names, lists that must be whole, words that don't belong.

use std::path::{Path, PathBuf};

/// Longest file without its tests, lines: beyond it a file has two subjects.
const FILE_LINES: usize = 500;
/// Longest line, characters.
const LINE: usize = 100;
/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] =
    &["util", "utils", "helper", "helpers", "common", "manager", "imp", "misc"];
/// Words that have another one in this house.
const OTHER_WORDS: &[&str] = &["helper", "iteration", "vu"];
/// Most functions, and most types, that may be named by a single word, percent: one word is seldom what can be searched for.
const ONE_WORD_PERCENT: [(&str, usize); 2] = [("functions", 15), ("types", 10)];
/// Types that exist twice, once for each system they are built for.
const TWINS: &[&str] = &["FdRegistration", "Reactor"];
/// Names of the prelude and of `std::{convert,ops,process,io}`, which a type of ours would hide.
const STD_NAMES: &[&str] = &[
    "Add",
    "AsMut",
    "AsRef",
    "Bound",
    "Box",
    "BufRead",
    "BufReader",
    "BufWriter",
    "Child",
    "Clone",
    "Command",
    "ControlFlow",
    "Copy",
    "Cursor",
    "Default",
    "Deref",
    "Div",
    "DoubleEndedIterator",
    "Drop",
    "Empty",
    "Eq",
    "ErrorKind",
    "ExitCode",
    "ExitStatus",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Index",
    "Into",
    "IntoIterator",
    "Iterator",
    "LineWriter",
    "Lines",
    "Mul",
    "Neg",
    "Not",
    "Option",
    "Ord",
    "Output",
    "PartialEq",
    "PartialOrd",
    "Range",
    "RangeFrom",
    "RangeInclusive",
    "Read",
    "Rem",
    "Repeat",
    "Result",
    "Seek",
    "SeekFrom",
    "Send",
    "Sink",
    "Sized",
    "Split",
    "Stdin",
    "Stdio",
    "Stdout",
    "String",
    "Sub",
    "Sync",
    "Take",
    "Termination",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
    "Vec",
    "Write",
];
/// Marks of unfinished work.
const UNFINISHED: &[&str] = &["TODO", "FIXME", "XXX", "unimplemented!", "todo!"];

struct Source {
    /// Path below the package, with slashes.
    path: String,
    text: String,
}

impl Source {
    /// The room and what lies below it, such as `probe/host/parse.rs`, whatever the crate.
    fn place(&self) -> String {
        let below = self.path.split_once("src/").map_or(self.path.as_str(), |(_, below)| below);
        let room = if self.path.starts_with("crates/report/") { "report/" } else { "" };
        format!("{room}{below}")
    }
    /// The text before its unit tests.
    fn without_tests(&self) -> &str {
        let inline = |(at, _): &(usize, &str)| {
            let line = self.text[at + 1..].lines().nth(1).unwrap_or_default();
            line.starts_with("mod ") && line.contains('{')
        };
        let end = self.text.match_indices("\n#[cfg(test)]\n").find(inline);
        &self.text[..end.map_or(self.text.len(), |(at, _)| at)]
    }
    fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.split('/').any(|part| part == "tests" || is_test_file(part))
    }
}

fn is_test_file(name: &str) -> bool {
    name == "tests.rs" || name.ends_with("_tests.rs")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_default()
}

fn sources(folders: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    for folder in folders {
        gather(&root().join(folder), &mut found);
        if *folder == "src" {
            gather(&root().join("crates"), &mut found);
        }
    }
    assert!(found.len() > 20, "the sources were not found");
    found
}

fn gather(dir: &Path, found: &mut Vec<Source>) {
    let entries = std::fs::read_dir(dir).expect("a source folder is readable");
    let mut paths: Vec<PathBuf> =
        entries.map(|e| e.expect("an entry is readable").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            gather(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source file is text");
            let path = path.strip_prefix(root()).expect("it lies below the package");
            found.push(Source { path: path.to_string_lossy().into_owned(), text });
        }
    }
}

/// Complains about all lines of these sources for which `wrong` has a reason.
fn check_lines(sources: &[Source], wrong: impl Fn(&Source, &str) -> Option<String>) {
    let mut complaints = Vec::new();
    for source in sources {
        for (number, line) in source.text.lines().enumerate() {
            if let Some(why) = wrong(source, line) {
                complaints.push(format!("{}:{}: {why}", source.path, number + 1));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// The code of a line: without its comment, and without what stands in quotes.
fn code(line: &str) -> String {
    let line = line.split("//").next().unwrap_or_default();
    line.split('"').step_by(2).collect()
}

#[test]
fn files_have_one_subject() {
    let long: Vec<String> = sources(&["src"])
        .iter()
        .filter(|s| !s.is_test())
        .map(|s| (s, s.without_tests().lines().count()))
        .filter(|(_, lines)| *lines > FILE_LINES)
        .map(|(s, lines)| format!("{}: {lines} lines without tests, at most {FILE_LINES}", s.path))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn lines_fit() {
    check_lines(&sources(&["src", "tests", "benches"]), |_, line| {
        let length = line.chars().count();
        (length > LINE && !line.trim_start().starts_with("//") && !line.contains("http"))
            .then(|| format!("{length} characters, at most {LINE}"))
    });
}

#[test]
fn names_say_what_is_inside() {
    for source in sources(&["src", "tests"]) {
        for part in source.path.split('/') {
            let name = part.trim_end_matches(".rs");
            assert!(!EMPTY_NAMES.contains(&name), "{}: `{name}` says nothing", source.path);
        }
    }
}

/// Names of types, functions and modules use the words of ARCHITECTURE.md.
#[test]
fn one_word_for_one_thing() {
    check_lines(&sources(&["src"]), |source, line| {
        if source.is_test() || !source.without_tests().contains(line) {
            return None;
        }
        let line = code(line);
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let defined = words.windows(2).filter(|pair| {
            matches!(
                pair[0],
                "fn" | "struct" | "enum" | "trait" | "mod" | "type" | "const" | "static"
            )
        });
        let name = defined.map(|pair| pair[1]).find(|name| parts(name).any(|p| is_other(&p)))?;
        Some(format!("`{name}`: this house has another word for that"))
    });
}

/// What a file defines: whether it is a function, its name, and whether it is a type of an impl.
type Definition = (bool, String, bool);

/// What a file defines outside its tests.
fn definitions(source: &Source) -> Vec<Definition> {
    let mut found = Vec::new();
    for line in source.without_tests().lines() {
        let indent = line.len() - line.trim_start().len();
        let line = code(line);
        let mut line = line.trim_start();
        if let Some(rest) = line.strip_prefix("pub") {
            line = match rest.strip_prefix('(') {
                Some(rest) => rest.split_once(')').map_or(rest, |(_, rest)| rest),
                None => rest,
            };
        }
        let words: Vec<&str> = line
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .skip_while(|word| matches!(*word, "const" | "async" | "unsafe"))
            .collect();
        if let [kind @ ("fn" | "struct" | "enum" | "trait" | "type" | "union"), name, ..] =
            words[..]
        {
            found.push((kind == "fn", name.to_owned(), kind == "type" && indent > 0));
        }
    }
    found
}

/// The files that are no tests, with what each defines.
fn production() -> Vec<(String, Vec<Definition>)> {
    let sources = sources(&["src"]).into_iter().filter(|source| !source.is_test());
    sources.map(|source| (source.path.clone(), definitions(&source))).collect()
}

#[test]
fn a_type_exists_once() {
    let mut places: std::collections::BTreeMap<String, Vec<String>> = Default::default();
    for (path, definitions) in production() {
        for (_, name, _) in
            definitions.into_iter().filter(|(function, _, inner)| !function && !inner)
        {
            assert!(!STD_NAMES.contains(&name.as_str()), "{path}: `{name}` hides one of std");
            places.entry(name).or_default().push(path.clone());
        }
    }
    places.retain(|name, places| places.len() > 1 && !TWINS.contains(&name.as_str()));
    assert!(places.is_empty(), "{places:#?}");
}

/// Prints the shares, so that they can be lowered.
#[test]
fn names_have_two_words() {
    let all: Vec<Definition> = production().into_iter().flat_map(|(_, all)| all).collect();
    for (what, most) in ONE_WORD_PERCENT {
        let names: Vec<&str> = all
            .iter()
            .filter(|(function, _, inner)| *function == (what == "functions") && !inner)
            .map(|(_, name, _)| name.as_str())
            .collect();
        let one = names.iter().filter(|name| parts(name.trim_matches('_')).count() == 1).count();
        println!(
            "{what}: {one} of {} are one word, {:.1} %",
            names.len(),
            one as f64 * 100.0 / names.len() as f64
        );
        assert!(names.len() > 500, "the {what} were not found");
        assert!(
            one * 100 <= most * names.len(),
            "{what}: {one} of {} are one word, at most {most} %",
            names.len()
        );
    }
}

fn is_other(part: &str) -> bool {
    OTHER_WORDS.iter().any(|word| part == *word || part.strip_suffix('s') == Some(word))
}

/// The words in a name: `ReadLine` and `read_line` are both read and line.
fn parts(name: &str) -> impl Iterator<Item = String> {
    let mut parts = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && after_lower) {
            parts.push(String::new());
        }
        after_lower = c.is_lowercase();
        if let (true, Some(last)) = (c != '_', parts.last_mut()) {
            last.extend(c.to_lowercase());
        }
    }
    parts.into_iter()
}

/// A comment that sends the reader to a file that is not there is worse than none.
#[test]
fn files_that_comments_name_exist() {
    let all = sources(&["src", "tests", "benches"]);
    let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let names: std::collections::BTreeSet<String> = all.iter().map(|s| file(&s.path)).collect();
    check_lines(&all, |_, line| {
        let comment = line.trim_start().strip_prefix("//")?;
        let named = comment.split('`').skip(1).step_by(2).filter(|word| word.ends_with(".rs"));
        let lost = named.map(file).find(|name| !names.contains(name))?;
        Some(format!("there is no `{lost}`"))
    });
}

#[test]
fn nothing_is_left_unfinished() {
    check_lines(&sources(&["src"]), |_, line| {
        let mark = UNFINISHED.iter().find(|mark| line.contains(**mark))?;
        Some(format!("`{mark}`"))
    });
}

/// Rust 1.85 has no let-chains.
#[test]
fn conditions_have_no_let_chains() {
    for source in sources(&["src", "tests", "benches"]) {
        let text: String = source.text.lines().map(|line| code(line) + "\n").collect();
        for start in ["if let ", "while let "] {
            for (at, _) in text.match_indices(start) {
                let line = 1 + text[..at].matches('\n').count();
                assert!(!chains(&text[at..]), "{}:{line}: a let-chain", source.path);
            }
        }
    }
}

/// Whether the condition that begins here has `&&` beside its `let`: outside brackets, before its block.
fn chains(text: &str) -> bool {
    let (mut depth, mut assigned, mut last) = (0, false, ' ');
    for c in text.chars() {
        match c {
            '{' if depth == 0 && assigned => return false,
            ';' if depth == 0 => return false,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '=' if depth == 0 => assigned = true,
            '&' if depth == 0 && assigned && last == '&' => return true,
            _ => {}
        }
        last = c;
    }
    false
}

#[test]
fn processes_are_started_in_the_room_server_only() {
    check_lines(&sources(&["src"]), |source, line| {
        let starts = code(line).contains("Command::new(")
            && source.text.contains("std::process")
            && !source.text.contains("use clap::");
        let allowed = source.place().starts_with("server/") || source.is_test();
        let in_tests = !source.without_tests().contains(line);
        (starts && !allowed && !in_tests).then(|| "starts a process".to_owned())
    });
}

/// Only the outermost rooms print: the lints see `println!`, this sees the rest.
#[test]
fn only_cli_and_report_write_to_the_terminal() {
    check_lines(&sources(&["src"]), |source, line| {
        let outer = ["cli/", "report/", "main.rs"];
        let writes = ["io::stdout()", "io::stderr()", "println!", "eprintln!", "print!("];
        let line = code(line);
        let inside =
            !outer.iter().any(|room| source.place().starts_with(room)) && !source.is_test();
        let tested = !source.without_tests().contains(line.trim());
        (inside && !tested && writes.iter().any(|w| line.contains(w)))
            .then(|| "writes to the terminal".to_owned())
    });
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = read("Cargo.toml");
    let mut section = "";
    let mut seen = 0;
    let members = ["engine", "analysis", "report"].map(|name| format!("crates/{name}/Cargo.toml"));
    let members = members.map(|path| read(&path)).concat();
    for line in manifest.lines().chain(members.lines()) {
        if line.starts_with('[') {
            section = line;
            continue;
        }
        if !section.contains("dependencies]") || !line.contains('=') || line.starts_with('#') {
            continue;
        }
        if section != "[workspace.dependencies]" {
            let is_shared = line.contains("workspace = true") || line.contains("path = ");
            assert!(is_shared, "it has no line under [workspace.dependencies]: {line}");
        } else {
            seen += 1;
            let reason = line.rsplit_once(" # ").map_or("", |(_, reason)| reason.trim());
            assert!(reason.split(' ').count() >= 2, "no reason beside it in Cargo.toml: {line}");
        }
    }
    assert!(seen > 10, "the dependencies were not found");
}

/// The folders of a room that are plugins, and the list they must be in.
const PLUGIN_LISTS: &[(&str, &str, &[&str])] = &[
    // `slap` is the load of a command of its own, which takes what no kind does: `sweat slap`.
    ("workload", "KINDS", &["fill", "slap"]),
    ("probe", "PROBES", &["noise", "waits"]),
    // `follow` has no end, and looks at two servers: a command of its own.
    ("warm", "STRATEGIES", &["follow"]),
    ("report", "FORMATS", &["slap", "statements", "sysbench", "watch"]),
];

#[test]
fn every_plugin_is_in_its_list() {
    for (room, list, others) in PLUGIN_LISTS {
        let (folder, head) = match *room {
            "report" => ("crates/report/src".to_owned(), "lib.rs"),
            room => (format!("crates/engine/src/{room}"), "mod.rs"),
        };
        let text = read(&format!("{folder}/{head}"));
        let start =
            text.find(&format!("const {list}:")).unwrap_or_else(|| panic!("{room} has no {list}"));
        let list_text = &text[start..start + text[start..].find(";\n").expect("the list ends")];
        let folders = std::fs::read_dir(root().join(folder)).expect("a room is readable");
        for folder in folders.flatten().filter(|f| f.path().is_dir()) {
            let name = folder.file_name().to_string_lossy().into_owned();
            if !others.contains(&name.as_str()) && name != "tests" {
                assert!(list_text.contains(&format!("{name}::")), "{room}/{name} is not in {list}");
            }
        }
    }
}

/// Words that are the name of a plugin or an option, and of something else: where they may stand, and as what.
const OTHER_MEANINGS: &[(&str, &str)] = &[
    ("cpu", "a controller of cgroups, a file of the system"),
    ("host", "a flag, a key of a plan, a word of logs"),
    ("http", "a scheme of addresses"),
    ("innodb", "the storage engine"),
    ("load", "a step, a section of plans"),
    ("memory", "a controller of cgroups, a mount"),
    ("null", "a word of SQL"),
    ("queries", "statements of any workload, as sysbench counts them"),
    ("status", "what a reply of HTTP says of itself"),
    ("threads", "a flag, an axis of sweeps, a word of servers"),
    ("variables", "a key of reports"),
    ("ycsb", "a format of reports"),
];

/// Warming by a replay is the workload `replay` told other things.
const TWIN_PLUGINS: &[&str] = &["warm/replay/", "workload/replay/"];

/// A plugin says what others must know of it; nobody else asks for it by its name, or by the name of an option.
#[test]
fn plugins_are_named_in_their_room_and_on_the_command_line_only() {
    let mut names: Vec<(&str, String)> = Vec::new();
    for kind in sweat::workload::KINDS {
        names.push(("workload", kind.name().to_owned()));
        let options = kind.option_specs().into_iter().map(|spec| spec.name);
        names.extend(options.filter(|name| name.contains('-')).map(|name| ("workload", name)));
    }
    names.extend(sweat::warm::STRATEGIES.iter().map(|one| ("warm", one.name().to_owned())));
    names.extend(sweat::probe::PROBES.iter().map(|one| ("probe", one.name.to_owned())));
    let mut complaints = Vec::new();
    for source in sources(&["src"]) {
        let is_outer = source.place().starts_with("cli/");
        if is_outer || source.is_test() || source.path.contains("fixture_") {
            continue;
        }
        for (number, line) in source.without_tests().lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let is_named = |name: &str| code.contains(&format!("\"{name}\""));
            for (room, name) in names.iter().filter(|(_, name)| is_named(name)) {
                let known = OTHER_MEANINGS.iter().any(|(word, _)| word == name);
                let inside = source.place().starts_with(&format!("{room}/"))
                    || TWIN_PLUGINS.iter().any(|folder| source.place().starts_with(folder));
                if !known && !inside {
                    complaints.push(format!("{}:{}: names `{name}`", source.path, number + 1));
                }
            }
            if code.contains("\"oltp_") && !source.place().starts_with("workload/") {
                complaints.push(format!("{}:{}: names the mixes", source.path, number + 1));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_plugin_is_in_the_docs() {
    let mut docs = read("README.md");
    for entry in std::fs::read_dir(root().join("docs")).expect("docs is readable").flatten() {
        docs += &std::fs::read_to_string(entry.path()).unwrap_or_default();
    }
    let workloads = sweat::workload::KINDS.iter().map(|kind| kind.name());
    let strategies = sweat::warm::STRATEGIES.iter().map(|strategy| strategy.name());
    let probes = sweat::probe::PROBES.iter().map(|probe| probe.name);
    let formats = sweat::report::FORMATS.iter().map(|format| format.name);
    let missing: Vec<&str> = workloads
        .chain(strategies)
        .chain(probes)
        .chain(formats)
        .chain(sweat::cli::command_names())
        .filter(|name| {
            !docs.contains(&format!("`{name}`")) && !docs.contains(&format!("sweat {name}"))
        })
        .collect();
    assert!(missing.is_empty(), "not in docs/ or README.md: {}", missing.join(", "));
}

#[test]
fn the_checks_themselves_can_fail() {
    assert_eq!(parts("ReadHTTPRequests").collect::<Vec<_>>(), ["read", "httprequests"]);
    assert!(parts("pending_iterations").any(|p| is_other(&p)));
    assert!(!parts("revuew").any(|p| is_other(&p)));
    let text = "pub(in a) const fn a_b() {}\nimpl X {\n    type C = D;\n}\nenum E {}\n".to_owned();
    let found = definitions(&Source { path: "src/a.rs".to_owned(), text });
    let found: Vec<_> = found.iter().map(|(f, name, inner)| (*f, name.as_str(), *inner)).collect();
    assert_eq!(found, [(true, "a_b", false), (false, "C", true), (false, "E", false)]);
    assert_eq!(code(r#"let x = "TODO"; // y"#), "let x = ; ");
    let source =
        Source { path: "src/a.rs".to_owned(), text: "a\n#[cfg(test)]\nmod tests {}\n".to_owned() };
    assert_eq!(source.without_tests(), "a");
    let outside = Source { text: "a\n#[cfg(test)]\nmod tests;\nb\n".to_owned(), ..source };
    assert_eq!(outside.without_tests(), outside.text);
    assert!(chains("if let Some(x) = f(a && b) && x > 1 {"));
    assert!(!chains("if let A { b } = f(|| a && b) { c && d }"));
}
