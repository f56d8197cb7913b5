//! Command lines of mysqlslap, run by Debian's mariadb-slap and by sweat under its name: what both print, with numbers replaced,
//! and their exit codes must be the same, but for the deviations that `docs/slap.md` names. What reaches the server, too.
#![expect(clippy::disallowed_methods, reason = "tests start peers and wait for them")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::fixture::{self, Fixture};

/// Command lines that give the same. `$S` stands for the words that name socket and user, `$X` for a schema that is there,
/// `$N` for one that is not, `$F` for a folder with files.
const CASES: &[&str] = &[
    "--nope",
    "--nope=3",
    "-z",
    "-c",
    "--concurrency",
    "--verbose=2",
    "--auto-generate-sql-unique=3 -a",
    "-i x",
    "-i -1",
    "--number-of-queries=abc",
    "--port=x",
    "--iterations=99999999999999999999999",
    "-#",
    "--protocol=foo --only-print",
    "--print-defaults -u root -q x",
    "-- a b c",
    "--defaults-file=/nonexistent -q x",
    "-a -q 'select 1'",
    "-a --create='create table t (a int)'",
    "-a --auto-generate-sql-guid-primary --auto-generate-sql-add-autoincrement",
    "-a --auto-generate-sql-load-type=key",
    "-a --number-of-queries=10 --auto-generate-sql-execute-number=10",
    "-a --csv=/nonexistent/x",
    "-q /tmp",
    "--create=/tmp -q x",
    "--only-print -a",
    "--only-print -a -vvv",
    "--only-print -a -y 2 -x 2:1 --auto-generate-sql-load-type=key \
     --auto-generate-sql-add-autoincrement",
    "--only-print -a -y 2:1 -x 2 --auto-generate-sql-load-type=update \
     --auto-generate-sql-guid-primary --auto-generate-sql-secondary-indexes=2",
    "--only-print -a -x 0 --auto-generate-sql-load-type=write \
     --auto-generate-sql-secondary-indexes=1",
    "--only-print -a -y 0 --auto-generate-sql-load-type=read --auto-generate-sql-guid-primary",
    "--only-print -a -y foo --auto-generate-sql-load-type=zzz",
    "--only-print -a --auto-generate-sql-execute-number=7 --commit=3 -i 2 -e innodb,memory",
    "--only-print -a --auto-generate-sql-unique-query-number=3 \
     --auto-generate-sql-unique-write-number=3 --auto-generate-sql-write-number=8",
    "--only-print -q 'select 1;select 2' -F ';' --number-of-queries=6 -c 2 --commit=2 -i 2",
    "--only-print -q 'select 1;select 2' -F ';' --create='create table t (a int); insert into t \
     values (1)' -e innodb,memory:max_rows=10 -c 1,2 -vvv",
    "--only-print --create='create table t (a int)' -q 'select 1' --no-drop",
    "--only-print -q 'select 1;' -F ';' --number-of-queries=3 -c 2 --as-mysqlslap",
    "--only-print --no_drop --loose-foo --loose-bar=3 --silent=maybe -q x",
    "--only-print --skip-no-drop --disable-silent --iter 2 -q x",
    "--only-print -q 'select 1' --pre-query='select 2' --post-query='select 3'",
    "--only-print -q 'select 1' --iterations=",
    "$S --create-schema=$X -q 'select 1'",
    "$S --create-schema=$X -q 'select 1' -c 1,8 -i 2 --number-of-queries=96",
    "$S --create-schema=$X -q 'select 1; select 2;  select 3 ; select 4' -F ';' -vvv",
    "$S --create-schema=$X -q $F/two.sql --number-of-queries=5",
    "$S --create-schema=$X -q $F/two.sql --csv",
    "$S --create-schema=$X -q $F/two.sql --csv=- -c 2,4",
    "$S --create-schema=$X -q 'select 1' -s",
    "$S --create-schema=$X -q 'select 1' -s --commit=1 -vvv",
    "$S --create-schema=$X -q 'select 1' -i 0",
    "$S --create-schema=$X -q 'select 1' -T",
    "$S --create-schema=$X",
    "$S --create-schema=$X -q 'select 1' -e ''",
    "$S --create-schema=$X --conc=2 -q 'select 1'",
    "$S --create-schema=$X --pre-query='select nope' -q 'select 1'",
    "$S --create-schema=$X --post-query='select nope' -q 'select 1'",
    "$S --create-schema=$X --pre-system='exit 1' --post-system='exit 3' -q 'select 1'",
    "$S --create-schema=$X --init-command='set @a=1' -q 'select @a' --detach=2 -vvv",
    "$S --create-schema=$X --commit=2 -q 'select 1;select 2;select 3' -F ';' \
     --number-of-queries=7 -vvv",
    "$S --create-schema=$X --create='create table t (a int)' -q 'select 1' --no-drop",
    "$S --create-schema=$N --create='create tabl' -q 'select 1'",
    "$S --create-schema=$N --create='create table t (a int)' -q 'insert into t values (1)' \
     -e innodb,memory -c 1,2 --number-of-queries=20 -i 2",
    "$S --create-schema=$N --create='create table t (a int);insert into t values (1)' -F ';' \
     -e innodb:comment='x' -q 'select a from t' -vvv",
    "$S --create-schema=$N -a",
    "$S --create-schema=$N -a -vv -c 1,2 -i 2 -e innodb,memory",
    "$S --create-schema=$N -a -vvv --auto-generate-sql-write-number=3 --commit=2 -i 2 \
     --auto-generate-sql-load-type=key --auto-generate-sql-add-autoincrement \
     --auto-generate-sql-execute-number=4",
    "$S --create-schema=$N -a -vvv --auto-generate-sql-add-autoincrement -y 2:1 -x 2:1 \
     --auto-generate-sql-load-type=update --auto-generate-sql-secondary-indexes=1 \
     --auto-generate-sql-write-number=5",
    "$S --create-schema=$N -a --auto-generate-sql-load-type=write --csv -e innodb",
    "$S --create-schema=$N -a --auto-generate-sql-load-type=zzz --csv",
    "$S --create-schema=$N -a -c 1,8 -i 3 --number-of-queries=96 --engine=innodb,memory --csv",
    "$S --create-schema=$N -a --auto-generate-sql-execute-number=5 -c 3",
    "-S /nonexistent -u root -q 'select 1'",
    "-h 127.0.0.1 -P 1 -u root -q 'select 1'",
    "$S -u nobody -pxx -q 'select 1'",
];

/// Command lines that give something else unless `--as-mysqlslap` is said: what ours must say then on standard error, and its
/// exit code.
const DEVIATIONS: &[(&str, &str, i32)] = &[
    ("$S --create-schema=$X -q 'select nope from nope'", "error 1146: Table '", 3),
    ("$S --create-schema=$X -q 'select 1;;select 2' -F ';'", "", 0),
    ("$S --create-schema=$X -q 'select 1' -c 2 --number-of-queries=7", "", 0),
    ("--only-print -q 'select 1' -c 4 --number-of-queries=3", "fewer than 4 clients", 2),
    ("--only-print -q 'select 1' -c 2,x,4", "`0` clients in `2,x,4`", 2),
    ("$S --create-schema=$N -q 'select 1' --csv", "error 1049: Unknown database '", 3),
];

/// One of the two programs.
#[derive(Clone, Copy)]
struct SlapProgram<'a> {
    path: &'a Path,
    /// Beginning of the names of its own schemas.
    schema: &'a str,
    folder: &'a Path,
}

/// What a command line gave, with what differs from run to run taken out.
#[derive(Debug, PartialEq)]
struct SlapResult {
    printed: Vec<String>,
    complained: Vec<String>,
    code: Option<i32>,
}

impl SlapProgram<'_> {
    fn run(self, server: &Fixture, line: &str) -> SlapResult {
        let Output { stdout, stderr, status } = self.output(server, line);
        let plain = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let text = text.replace(&format!("{}_", self.schema), "schema_");
            let text = text.replace(&format!("{}/mariadb", self.folder.display()), "mariadb");
            without_latencies(&text).lines().map(without_numbers).collect()
        };
        SlapResult { printed: plain(&stdout), complained: plain(&stderr), code: status.code() }
    }

    fn output(self, server: &Fixture, line: &str) -> Output {
        let socket = server.sandbox.meta().socket.display().to_string();
        let line = line
            .replace("$S", &format!("-S {socket} -u root"))
            .replace("$X", &format!("{}_there", self.schema))
            .replace("$N", &format!("{}_new", self.schema))
            .replace("$F", &self.folder.display().to_string());
        let words = words_of(&line);
        let files = ["defaults-file", "print-defaults"];
        let own_files = words.first().is_some_and(|word| files.iter().any(|f| word.contains(f)));
        let no_files = ["--no-defaults".to_owned()].into_iter().filter(|_| !own_files);
        Command::new(self.path)
            .args(no_files.chain(words))
            .stdin(Stdio::null())
            .output()
            .expect("it can be started")
    }
}

/// Words as a shell has them, with single quotes only.
fn words_of(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_word = false;
    for (n, part) in line.split('\'').enumerate() {
        for (m, piece) in part.split(' ').enumerate() {
            if n % 2 == 1 {
                words.last_mut().expect("there is one").push_str(part);
                is_word = true;
                break;
            }
            if m > 0 && is_word {
                words.push(String::new());
                is_word = false;
            }
            is_word |= !piece.is_empty();
            words.last_mut().expect("there is one").push_str(piece);
        }
    }
    if !is_word {
        words.pop();
    }
    words
}

/// What `-v` adds to a block goes.
fn without_latencies(text: &str) -> String {
    let mut parts = text.split("\tLatency of statements, ms ");
    let first = parts.next().unwrap_or_default().to_owned();
    let behind = |part: &str| part.split_once("\n\n").map_or("", |(_, rest)| rest).to_owned();
    parts.fold(first, |text, part| text + &behind(part))
}

fn without_numbers(line: &str) -> String {
    let mut plain = String::new();
    let mut last_digit = false;
    for c in line.chars() {
        if !c.is_ascii_digit() {
            plain.push(c);
        } else if !last_digit {
            plain.push('N');
        }
        last_digit = c.is_ascii_digit();
    }
    plain
}

/// The peer; none where it is not installed.
fn find_peer() -> Option<PathBuf> {
    let is_there = Command::new("mariadb-slap").arg("--version").output().is_ok();
    if !is_there {
        fixture::record_skipped_test("mariadb-slap");
    }
    is_there.then(|| PathBuf::from("mariadb-slap"))
}

/// sweat, called mariadb-slap.
fn sweat_as_slap(folder: &Path) -> PathBuf {
    let path = folder.join("mariadb-slap");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sweat"), &path).unwrap();
    path
}

/// Schemas and files for both programs.
fn prepare_both(server: &Fixture, folder: &Path) {
    server.sql("CREATE DATABASE own_there; CREATE DATABASE peer_there");
    std::fs::write(folder.join("two.sql"), "select 1\nselect 2\n").unwrap();
}

fn differences(line: &str, ours: &SlapResult, theirs: &SlapResult) -> Option<String> {
    (ours != theirs).then(|| format!("{line}\n  sweat: {ours:#?}\n  mariadb-slap: {theirs:#?}"))
}

#[test]
fn command_lines_print_what_mysqlslap_prints() {
    let Some(peer) = find_peer() else { return };
    let server = fixture::mariadb();
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    std::fs::write(folder.path().join("two.sql"), "select 1\nselect 2\n").unwrap();
    let compare = |part: usize, cases: &[&str]| -> Vec<String> {
        let schemas = [format!("own{part}"), format!("peer{part}")];
        let program =
            |path, n: usize| SlapProgram { path, schema: &schemas[n], folder: folder.path() };
        let (ours, theirs) = (program(&own, 0), program(&peer, 1));
        for schema in &schemas {
            server.sql(&format!("CREATE DATABASE {schema}_there"));
        }
        let mut wrong = Vec::new();
        for line in cases {
            // The peer has no such word.
            let plain = line.replace(" --as-mysqlslap", "");
            wrong.extend(differences(line, &ours.run(&server, line), &theirs.run(&server, &plain)));
            // After an error the peer leaves its schema there.
            if line.contains("create tabl") {
                server.sql(&format!("DROP SCHEMA IF EXISTS {}_new", schemas[1]));
            }
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts = CASES.chunks(CASES.len().div_ceil(4)).enumerate();
        let compare = &compare;
        let all: Vec<_> = parts.map(|(n, part)| scope.spawn(move || compare(n, part))).collect();
        all.into_iter().flat_map(|part| part.join().expect("no part panics")).collect()
    });
    assert!(CASES.len() >= 60);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn deviations_are_switched_back() {
    let Some(peer) = find_peer() else { return };
    let server = fixture::mariadb();
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    prepare_both(&server, folder.path());
    let ours = SlapProgram { path: &own, schema: "own", folder: folder.path() };
    let theirs = SlapProgram { path: &peer, schema: "peer", folder: folder.path() };
    let mut wrong = Vec::new();
    for (line, complaint, code) in DEVIATIONS {
        let found = ours.output(&server, line);
        let text = String::from_utf8_lossy(&found.stderr).into_owned();
        if !text.contains(complaint) || found.status.code() != Some(*code) {
            wrong.push(format!("{line}\n  {found:?}"));
        }
        let classic = ours.run(&server, &format!("{line} --as-mysqlslap"));
        wrong.extend(differences(line, &classic, &theirs.run(&server, line)));
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn generated_statements_are_those_of_mysqlslap_to_the_byte() {
    let Some(peer) = find_peer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    let lines = CASES.iter().filter(|line| line.starts_with("--only-print -a"));
    let printed = |program: &Path, line: &str| {
        let words = ["--no-defaults".to_owned()].into_iter().chain(words_of(line));
        Command::new(program).args(words).output().unwrap().stdout
    };
    for line in lines {
        assert!(printed(&own, line) == printed(&peer, line), "{line}");
    }
}

/// Statements that reached the server since the last look, connects and ends of sessions among them, without those that a peer
/// does not send.
fn logged_statements(server: &Fixture, schema: &str) -> Vec<String> {
    let rows = server.sql(
        "SET GLOBAL general_log = 0; \
         SELECT CONCAT(command_type, ' ', REPLACE(REPLACE(argument, '\\0', ''), '\\n', ' ')) \
         FROM mysql.general_log WHERE command_type <> 'Quit' ORDER BY event_time, thread_id; \
         TRUNCATE mysql.general_log; SET GLOBAL general_log = 1",
    );
    let is_control = |line: &str| {
        let ours = ["version_comment", "SHOW TABLES FROM", "_sweat_slap", "DROP SCHEMA"];
        let clients = ["general_log", "SELECT DATABASE()", " on  using", " on using"];
        ours.iter().chain(&clients).any(|word| line.contains(word))
    };
    let lines = rows.lines().filter(|line| !is_control(line));
    lines.map(|line| line.replace(&format!("{schema}_"), "schema_").trim().to_owned()).collect()
}

#[test]
fn the_server_gets_what_mysqlslap_sends() {
    let Some(peer) = find_peer() else { return };
    let server = fixture::with(&[("log_output", "TABLE"), ("general_log", "1")]);
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    prepare_both(&server, folder.path());
    let ours = SlapProgram { path: &own, schema: "own", folder: folder.path() };
    let theirs = SlapProgram { path: &peer, schema: "peer", folder: folder.path() };
    logged_statements(&server, "own");
    let mut wrong = Vec::new();
    for line in [
        "$S --create-schema=$X -q 'select 1;select 2;select 3' -F ';' --number-of-queries=7",
        "$S --create-schema=$X -q 'select 1;select 2;select 3' -F ';' --commit=2",
        "$S --create-schema=$X -q 'select 1;select 2' -F ';' --commit=1 --number-of-queries=2",
        "$S --create-schema=$X -q 'select 1;select 2;select 3' -F ';' --detach=2 --commit=2 \
         --number-of-queries=7 --as-mysqlslap",
        "$S --create-schema=$X -q 'select 1' --detach=3 --number-of-queries=10 --as-mysqlslap",
        "$S --create-schema=$X -q 'select 1;;select 2' -F ';' --as-mysqlslap",
        "$S --create-schema=$X -q 'select @a' --init-command='set @a=1' --pre-query='select 8' \
         --post-query='select 9' -i 2",
        "$S --create-schema=$N --create='create table t (a int);insert into t values (1)' -F ';' \
         -q 'select a from t' -e innodb,memory -i 2",
        "$S --create-schema=$N -a -y 2 -x 2 -c 1 -i 2",
        "$S --create-schema=$N -a --auto-generate-sql-write-number=2 \
         --auto-generate-sql-guid-primary",
    ] {
        let found = ours.run(&server, line);
        let own_log = logged_statements(&server, "own");
        theirs.run(&server, &line.replace(" --as-mysqlslap", ""));
        let peer_log = logged_statements(&server, "peer");
        // The one key that there is is made anew.
        let without_keys = |log: Vec<String>| -> Vec<String> {
            let cut = |line: String| line.split("WHERE id =").next().unwrap_or_default().to_owned();
            log.into_iter().map(cut).collect()
        };
        let (own_log, peer_log) = (without_keys(own_log), without_keys(peer_log));
        if own_log != peer_log || found.code != Some(0) {
            wrong.push(format!("{line}\n{found:?}\n  sweat: {own_log:#?}\n  peer: {peer_log:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Statements in the log with this beginning.
fn count_logged(server: &Fixture, beginning: &str) -> usize {
    let count = server.sql(&format!(
        "SELECT COUNT(*) FROM mysql.general_log WHERE command_type = 'Query' \
         AND argument LIKE '{beginning}%'; TRUNCATE mysql.general_log"
    ));
    count.trim().parse().unwrap()
}

#[test]
fn queries_are_all_run_and_counted() {
    let server = fixture::with(&[("log_output", "TABLE"), ("general_log", "1")]);
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    prepare_both(&server, folder.path());
    let ours = SlapProgram { path: &own, schema: "own", folder: folder.path() };
    let run = |line: &str| ours.output(&server, line);

    let table = "$S -a -c 1,8 -i 3 --number-of-queries=100 --engine=innodb,memory";
    let csv = run(&format!("{table} --csv"));
    let csv = String::from_utf8_lossy(&csv.stdout).into_owned();
    let wanted = ["innodb,mixed,", "innodb,mixed,", "memory,mixed,", "memory,mixed,"];
    let ends = [",1,100", ",8,12", ",1,100", ",8,12"];
    assert_eq!(csv.lines().count(), 4, "{csv}");
    for (n, line) in csv.lines().enumerate() {
        assert!(line.starts_with(wanted[n]) && line.ends_with(ends[n]), "{line}");
    }
    // 12 rounds.
    assert_eq!(count_logged(&server, "CREATE TABLE `t1`"), 12);
    run("$S -a -c 8 --number-of-queries=100 --auto-generate-sql-load-type=read");
    assert_eq!(count_logged(&server, "SELECT intcol1"), 100);
    run("$S -a -c 8 --number-of-queries=100 --auto-generate-sql-load-type=read");
    assert_eq!(count_logged(&server, "INSERT INTO t1"), 99);

    let seven = run("$S --create-schema=$X -q 'select 1' --number-of-queries=7 -c 2");
    assert!(String::from_utf8_lossy(&seven.stdout).contains("queries per client: 3\n"));
    assert_eq!(count_logged(&server, "select 1"), 7);
    assert_eq!(run("$S --create-schema=$X -F ';' -q 'select \"a;b\"'").status.code(), Some(0));
    run("$S --create-schema=$X -q 'select 41;select 42' -F ';' -c 4 --order=shared");
    assert_eq!(count_logged(&server, "select 4"), 2, "the list is run once by all");
    run("$S --create-schema=$X -q 'select 3' --detach=3 --number-of-queries=10");
    assert_eq!(count_logged(&server, "select 3"), 10);

    let second = run("$S --create-schema=$X -q 'select 1; select nope from nope'");
    let complaint = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(3), "{complaint}");
    assert!(complaint.contains("error 1146: "), "{complaint}");
    assert!(complaint.ends_with("errors 1 of 1\n"), "{complaint}");
    assert!(String::from_utf8_lossy(&second.stdout).starts_with("Benchmark\n"));
}

#[test]
fn a_schema_of_others_is_not_dropped() {
    let server = fixture::mariadb();
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    prepare_both(&server, folder.path());
    server.sql("CREATE TABLE own_there.t (a int); INSERT INTO own_there.t VALUES (7)");
    let ours = SlapProgram { path: &own, schema: "own", folder: folder.path() };
    let create = "--create='create table t (a int)' -q 'select 1'";
    for words in [create, "-a", "-a --as-mysqlslap"] {
        let refused = ours.output(&server, &format!("$S --create-schema=$X {words}"));
        let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains("own_there exists") && complaint.contains("--allow drop"));
        assert_eq!(server.sql("SELECT a FROM own_there.t").trim(), "7");
    }
    let kept = ours.output(&server, "$S --create-schema=$N -a --no-drop");
    assert_eq!(kept.status.code(), Some(0));
    let again = ours.output(&server, "$S --create-schema=$N -a");
    assert_eq!(again.status.code(), Some(0), "a schema of ours goes: {again:?}");
    assert_eq!(server.sql("SHOW DATABASES LIKE 'own_new'").trim(), "");
    let allowed = ours.output(&server, &format!("$S --create-schema=$X {create} --allow drop"));
    assert_eq!(allowed.status.code(), Some(0), "{allowed:?}");
    assert_eq!(server.sql("SHOW DATABASES LIKE 'own_there'").trim(), "");
}

#[test]
fn sessions_have_latin1_only_where_the_server_has_and_all_is_ascii() {
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    let ours = SlapProgram { path: &own, schema: "own", folder: folder.path() };
    for (default, found) in [("latin1", "latin1\nutf8mb4"), ("utf8mb4", "utf8mb4\nutf8mb4")] {
        let server = fixture::with(&[("character_set_server", default)]);
        prepare_both(&server, folder.path());
        server.sql("CREATE TABLE own_there.c (a varchar(20), n serial)");
        for comment in ["e", "é"] {
            let insert = "-q 'insert into c (a) values (@@character_set_client)";
            let line = format!("$S --create-schema=$X {insert} /* {comment} */'");
            assert_eq!(ours.output(&server, &line).status.code(), Some(0), "{line}");
        }
        assert_eq!(server.sql("SELECT a FROM own_there.c ORDER BY n").trim(), found);
    }
}

#[test]
fn scripts_that_read_the_report_read_ours() {
    let Some(peer) = find_peer() else { return };
    let server = fixture::mariadb();
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    prepare_both(&server, folder.path());
    let fields = |path: &Path, schema: &str| -> Vec<String> {
        let program = SlapProgram { path, schema, folder: folder.path() };
        let found = program.output(&server, "$S --create-schema=$X -q 'select 1' -c 1,4");
        let text = String::from_utf8_lossy(&found.stdout).into_owned();
        let lines = text.lines().filter(|l| l.contains("Average number of seconds to run all"));
        let field = |line: &str| line.split_whitespace().rev().nth(1).unwrap().to_owned();
        lines.map(|line| without_numbers(&field(line))).collect()
    };
    assert_eq!(fields(&own, "own"), ["N.N", "N.N"]);
    assert_eq!(fields(&own, "own"), fields(&peer, "peer"));
}

#[test]
fn latencies_and_other_formats_come_besides() {
    let server = fixture::mariadb();
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    prepare_both(&server, folder.path());
    let ours = SlapProgram { path: &own, schema: "own", folder: folder.path() };
    let printed = |line: &str| {
        let found = ours.output(&server, line);
        assert_eq!(found.status.code(), Some(0), "{found:?}");
        String::from_utf8_lossy(&found.stdout).into_owned()
    };
    let load = "$S --create-schema=$X -q 'select 1;select 2+2' -F ';'";
    let text = printed(&format!("{load} -v --number-of-queries=10 --commit=5"));
    let latencies = text.split("\n\n").nth(1).unwrap();
    let names: Vec<String> =
        latencies.lines().skip(1).map(|line| without_numbers(line.trim())).collect();
    assert!(latencies.contains("p50     p95     p99     max"), "{text}");
    assert!(names.len() == 3 && names[0].starts_with("select ? "), "{text}");
    assert!(names[1].starts_with("select ?+? ") && names[2].starts_with("commit "), "{text}");
    assert!(text.lines().all(|line| line.replace('\t', "        ").len() <= 80), "{text}");

    let document = printed(&format!("{load} --format=json -c 1,2"));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["blocks"][1]["clients"], 2);
    assert_eq!(document["blocks"][1]["queries"], 4);
    assert_eq!(document["blocks"][1]["statements"][0]["statement"], "select ?");
    let page = printed(&format!("{load} --format=html"));
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("select ?+?"), "{page}");

    let timed = printed(&format!("{load} --format=json --time=1 --rate=50 --order=random"));
    let timed: serde_json::Value = serde_json::from_str(&timed).unwrap();
    let queries = timed["blocks"][0]["queries"].as_u64().unwrap();
    assert!((10..150).contains(&queries), "{timed}");
}

#[test]
fn a_run_is_kept_where_that_is_asked_for() {
    let server = fixture::mariadb();
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    prepare_both(&server, folder.path());
    let ours = SlapProgram { path: &own, schema: "own", folder: folder.path() };
    let load = "$S --create-schema=$X -q 'select 1;select nope' -F ';' -c 1,2 -i 2";
    let plain = ours.run(&server, load);
    let kept = ours.run(&server, &format!("{load} --runs-dir=$F/runs --name=kept"));
    assert_eq!((&kept.printed, kept.code), (&plain.printed, Some(3)));
    assert!(kept.complained.last().unwrap().contains("kept in "), "{kept:?}");

    let run = sweat::archive::latest_run(&folder.path().join("runs")).unwrap();
    let page = folder.path().join("page.html");
    let report = |words: &[&str]| {
        let mut sweat = Command::new(env!("CARGO_BIN_EXE_sweat"));
        let found = sweat.arg("report").arg(&run).args(words).output().unwrap();
        String::from_utf8_lossy(&found.stdout).into_owned()
    };
    let document = report(&["--format=json"]);
    let document: serde_json::Value = serde_json::from_str(&document).expect(&document);
    assert_eq!(document["run"]["command"], "slap");
    let trials = document["trials"].as_array().unwrap();
    let shown = |t: &serde_json::Value| (t["variant"].clone(), t["pass"].clone());
    let places: Vec<_> = trials.iter().map(shown).collect();
    let place = |variant: &str, pass: u32| (variant.into(), pass.into());
    let expected = [("1 client", 1), ("1 client", 2), ("2 clients", 1), ("2 clients", 2)];
    assert_eq!(places, expected.map(|(variant, pass)| place(variant, pass)));
    for trial in trials {
        assert_eq!(trial["events"], trial["workers"], "a good statement of each client");
        assert_eq!(trial["errors"][0]["code"], 1054, "{trial}");
        assert_eq!(trial["by_class"][0]["name"], "select ?");
    }
    let text = report(&["--format=text"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    report(&["--format=html", "-o", &page.display().to_string()]);
    assert!(std::fs::read_to_string(&page).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn connects_are_part_of_a_round_and_of_no_statement() {
    let server = fixture::mariadb();
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    prepare_both(&server, folder.path());
    let ours = SlapProgram { path: &own, schema: "own", folder: folder.path() };
    let line = "$S --create-schema=$X -q 'do 1' --init-command='do sleep(0.3)' --format=json";
    let found = ours.output(&server, line);
    let block: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    let block = &block["blocks"][0];
    assert!(block["rounds_ms"][0].as_u64().unwrap() >= 300, "{block}");
    let latency = block["statements"][0]["latency_ms"]["max"].as_f64().unwrap();
    assert!(latency + 300.0 <= block["rounds_ms"][0].as_f64().unwrap() + 1.0, "{block}");
}

#[test]
fn ctrl_c_prints_the_block_so_far_and_drops_the_schema() {
    let server = fixture::mariadb();
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    let socket = server.sandbox.meta().socket.display().to_string();
    let child = Command::new(&own)
        .args(["--no-defaults", "-u", "root", "-S", &socket, "-a", "-c", "2"])
        .arg("--number-of-queries=2000000000")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Rows beyond those that are made before the load: it has begun.
    let rows = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'mysqlslap' \
                AND table_name = 't1' AND table_rows > 150";
    while server.sql(rows).trim() != "1" {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    let block = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(block.starts_with("Benchmark\n"), "{ended:?}");
    let each = block.split("queries per client: ").nth(1).and_then(|text| text.trim().parse().ok());
    let each: u64 = each.unwrap_or_else(|| panic!("{block}"));
    // What was run, not what was to be run.
    assert!((25..1_000_000).contains(&each), "{block}");
    assert_eq!(server.sql("SHOW DATABASES LIKE 'mysqlslap'").trim(), "");
}

#[test]
fn it_runs_on_mysql() {
    let Some(server) = fixture::mysql() else { return };
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_slap(folder.path());
    server.sql("CREATE DATABASE own_there");
    let ours = SlapProgram { path: &own, schema: "own", folder: folder.path() };
    for line in [
        "$S --create-schema=$N -a -c 1,8 -i 2 --number-of-queries=96 -e innodb,memory",
        "$S --create-schema=$N -a --auto-generate-sql-load-type=key --commit=3 \
         --auto-generate-sql-guid-primary --detach=4 --auto-generate-sql-execute-number=20",
        "$S --create-schema=$X -q 'select 1; select 2' -c 4 --as-mysqlslap -a",
        "$S --create-schema=$X -q 'select 1; select 2' -c 4",
    ] {
        let found = ours.run(&server, line);
        let is_refused = line.contains(" -a") && line.contains(" -q");
        assert_eq!(found.code, Some(if is_refused { 1 } else { 0 }), "{line} {found:?}");
    }
    let wrong = ours.output(&server, "$S --create-schema=$X -q 'select nope from nope'");
    assert_eq!(wrong.status.code(), Some(3), "{wrong:?}");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("error 1146: "), "{wrong:?}");
}

/// The experiment of the article on warming: a file of statements by one client, cold and warm.
#[test]
fn the_experiment_with_a_warmed_pool_runs_as_it_was_typed() {
    let server = fixture::mariadb();
    let folder = tempfile::tempdir().unwrap();
    let slap = sweat_as_slap(folder.path());
    let warmup = folder.path().join("mysql-warmup");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sweat"), &warmup).unwrap();
    server.sql(
        "CREATE DATABASE DB; USE DB; CREATE TABLE test_data (id INT PRIMARY KEY, random_str \
         VARCHAR(100), random_str2 VARCHAR(100), KEY (random_str)); \
         INSERT INTO test_data SELECT seq, MD5(seq), MD5(-seq) FROM seq_1_to_1000",
    );
    let statements: String =
        (0..20_000).map(|n| format!("select * from test_data where id={}\n", n % 1000)).collect();
    let file = folder.path().join("queries.sql");
    std::fs::write(&file, statements).unwrap();
    let socket = server.sandbox.meta().socket.display().to_string();
    let run = |program: &Path, words: &[&str]| {
        Command::new(program)
            .env("MYSQL_PWD", "")
            .args(words)
            .args(["-S", &socket])
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let file = file.display().to_string();
    let load = ["--no-defaults", "-u", "root", "--create-schema=DB", "-q", &file];
    let cold = run(&slap, &load);
    assert!(String::from_utf8_lossy(&cold.stdout).contains("per client: 20000\n"), "{cold:?}");
    let warmed = run(&warmup, &["-u", "root", "-d", "DB"]);
    let lines = String::from_utf8_lossy(&warmed.stdout).into_owned();
    assert_eq!(warmed.status.code(), Some(0), "{warmed:?}");
    assert!(lines.contains("START WARMUP FOR DB: DB"), "{lines}");
    assert!(lines.contains("SUCCESS WARMUP FOR TABLE: `DB`.`test_data`"), "{lines}");
    assert_eq!(run(&slap, &load).status.code(), Some(0));
}
