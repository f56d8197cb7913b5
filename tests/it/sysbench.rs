//! Command lines of sysbench, run by Debian's sysbench and by sweat: what both print, with numbers replaced, and their exit
//! codes must be the same.
#![expect(clippy::disallowed_methods, reason = "tests start peers and wait for them")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::fixture::{self, Fixture};

/// Command lines that change nothing that others need. `$DB` stands for the words that name socket, user and database,
/// `$OWN` for the folder of scripts that belong to them.
const CASES: &[&str] = &[
    "--help",
    "--version",
    "--version --help",
    "--help=off",
    "",
    "run",
    "no_such_test run",
    "--foo",
    "cpu help",
    "memory help",
    "threads help",
    "mutex help",
    "fileio help",
    "cpu",
    "cpu --foo",
    "cpu no_such_command",
    "cpu prepare",
    "memory cleanup",
    "cpu --foo --bar=1 run",
    "cpu --debug=maybe run",
    "cpu run more",
    "cpu --cpu-max-prime=x run",
    "--threads=x cpu run",
    "--threads=0 cpu run",
    "--time=x cpu run",
    "--percentile=101 cpu run",
    "--percentile=-1 cpu run",
    "--histogram --percentile=0 cpu run",
    "--rand-type=foo cpu run",
    "--verbosity=9 cpu run",
    "--thread-stack-size=1X cpu run",
    "--forced-shutdown=x cpu run",
    "--report-checkpoints=1,x cpu run",
    "oltp_read_write",
    "oltp_read_write help",
    "oltp_read_only help",
    "oltp_insert help",
    "select_random_points help",
    "select_random_ranges help",
    "bulk_insert help",
    "bulk_insert",
    "oltp_common help",
    "oltp_read_write no_such_command",
    "oltp_read_write --foo=1 run",
    "oltp_read_write --skip_trx=maybe run",
    "oltp_read_write $DB --time=1 --threads=2 run",
    "oltp_read_write $DB --time=2 --report-interval=1 run",
    "oltp_read_write $DB --events=10 --point_selects=1e1 --rand-seed=7 run",
    "oltp_read_write $DB --events=10 --mysql-dry-run run",
    "oltp_read_write $DB --events=10 --verbosity=0 run",
    "oltp_read_write $DB --events=10 --verbosity=4 --threads=2 run",
    "oltp_read_only $DB --events=20 --skip_trx --range-selects=off run",
    "oltp_point_select $DB --time=2 --report-checkpoints=1 run",
    "oltp_point_select $DB --time=1 --histogram run",
    "oltp_point_select $DB --time=2 --rate=100 --report-interval=1 run",
    "oltp_point_select $DB --events=5 --percentile=0 run",
    "oltp_point_select $DB --events=5 --percentile=99 --db-ps-mode=disable run",
    "oltp_insert $DB --events=10 run",
    "oltp_delete $DB --events=10 run",
    "oltp_update_index $DB --events=10 run",
    "oltp_update_non_index $DB --events=10 --time=0 run",
    "oltp_write_only $DB --events=50 --threads=4 run",
    "select_random_points $DB --events=10 run",
    "select_random_ranges $DB --events=10 run",
    "oltp_read_only $DB --tables=3 --time=1 run",
    "oltp_read_only $DB --mysql-db=no_such_database run",
    "oltp_read_only --mysql-socket=/nonexistent run",
    "oltp_read_only --mysql-socket=/nonexistent prepare",
    "oltp_read_only --mysql-host=127.0.0.1 --mysql-port=1 run",
    "oltp_read_only $DB --db-driver=foo run",
    "oltp_read_only $DB --db-ps-mode=foo run",
    "oltp_read_only $DB --tables=2 prewarm",
    "oltp_read_write $DB prepare",
    "--test=oltp_read_only $DB --num-threads=2 --max-requests=10 --max-time=5 run",
    "--test=/usr/share/sysbench/oltp_read_only.lua $DB --events=10 run",
    "-- cpu --events=2 run",
    "--test cpu run",
    "--test=",
    "--config-file cpu --events=2 --cpu-max-prime=10 run",
    "oltp_read_only --mysql-host= --events=1 run",
    "/usr/share/sysbench/oltp_common.lua run",
    "$OWN/reports.lua --time=3 --report-interval=2 --report-checkpoints=1 run",
    "$OWN/json.lua $DB --time=3 --report-interval=2 run",
    "$OWN/options.lua help",
    "$OWN/options.lua show",
    "$OWN/options.lua --percent=75 --events=1 run",
    "$OWN/returns.lua prepare",
    "$OWN/returns.lua cleanup",
    "$OWN/returns.lua nothing",
    "$OWN/returns.lua zero",
    "$OWN/returns.lua no",
    "$OWN/returns.lua broken",
    "oltp_read_only --mysql-ssl=maybe --mysql-socket=/nonexistent run",
    "fileio --file-test-mode=rndrd --file-rw-ratio=-1 run",
    "fileio --file-test-mode=rndrd --file-block-size=2G run",
    "fileio --file-test-mode=rndrd --file-merged-requests=-1 run",
    "fileio --file-test-mode=rndrd --file-fsync-freq=-1 run",
    "memory --memory-block-size=3K --memory-total-size=4M run",
    "mutex --threads=3 --mutex-locks=10 --mutex-loops=1 run",
    "cpu --forced-shutdown=10% --events=2 --cpu-max-prime=20 run",
    "cpu --rand-type=pareto --rand-pareto-h=2 --events=2 --cpu-max-prime=20 run",
    "oltp_read_only --table-size=-1 --mysql-dry-run --events=2 run",
    "$OWN/threads.lua --where=init --threads=4 run",
    "$OWN/threads.lua --where=init run",
    "$OWN/threads.lua --where=event run",
    "$OWN/failures.lua prepare",
    "$OWN/failures.lua --how=table --events=1 run",
    "$OWN/failures.lua --how=nothing --events=1 run",
    "$OWN/failures.lua --how --events=1 run",
];

/// Command lines on a database of their own, one after the other.
const DATA_CASES: &[&str] = &[
    "oltp_read_write $DB --tables=2 --table-size=500 prepare",
    "oltp_read_write $DB --tables=2 --table-size=500 prewarm",
    "oltp_read_write $DB --tables=2 cleanup",
    "oltp_read_write $DB cleanup",
    "bulk_insert $DB --threads=2 prepare",
    "bulk_insert $DB --threads=2 cleanup",
    "select_random_points $DB --table-size=500 prepare",
    "select_random_points $DB cleanup",
];

/// Command lines of the tests of this machine, one after the other in a folder of their own.
const SYSTEM_CASES: &[&str] = &[
    "cpu --events=3 --cpu-max-prime=2000 run",
    "cpu --cpu-max-prime=0 run",
    "cpu --events=20 --threads=2 --cpu-max-prime=200 --rand-seed=7 --verbosity=2 run",
    "memory --memory-total-size=10M run",
    "cpu --cpu-max-prime=1 --events=3 run",
    "cpu --events=2 --cpu-max-prime=10 --verbosity=4 run",
    "memory --memory-block-size=3 run",
    "memory --memory-block-size=4 run",
    "memory --memory-block-size=1X run",
    "memory --memory-block-size= run",
    "memory --memory-total-size=0 --time=1 run",
    "memory --memory-total-size=1M --verbosity=4 --threads=2 run",
    "memory --memory-total-size=10M --memory-oper=none run",
    "threads --thread-yields=0 --events=5 --verbosity=4 run",
    "mutex --mutex-locks=10 --verbosity=5 run",
    "memory --memory-oper=foo run",
    "memory --memory-oper=read --memory-access-mode=rnd --memory-total-size=10M --threads=2 run",
    "threads --events=5 run",
    "cpu --rate=-5 --time=1 run",
    "cpu --rate=-5 --events=3 run",
    "cpu --tx-rate=-5 --time=1 --report-interval=1 --histogram run",
    "threads --rate=-5 --time=1 run",
    "memory --rate=-5 --memory-total-size=1M run",
    "memory --rate=-5 --time=1 run",
    "mutex --rate=-5 --mutex-locks=100 run",
    "mutex --mutex-locks=100 --mutex-loops=100 --threads=2 run",
    "fileio run",
    "fileio --file-test-mode=foo run",
    "fileio --file-test-mode=rndrd --file-io-mode=foo run",
    "fileio --file-num=2 --file-total-size=1M --file-test-mode=rndrd --events=2 run",
    "fileio --file-num=2 --file-total-size=1M prepare",
    "fileio --file-num=2 --file-total-size=1M prepare",
    "fileio --file-num=2 --file-total-size=4M --file-test-mode=rndrd --events=2 run",
    "fileio --file-num=2 --file-total-size=1M --file-test-mode=rndrd --file-block-size=4K \
     --file-extra-flags=sync --events=3 run",
    "fileio --file-num=2 --file-total-size=1M --file-test-mode=rndrw --events=300 run",
    "fileio --file-num=2 --file-total-size=1M --file-test-mode=seqrd --events=30 run",
    "fileio --file-num=2 --file-total-size=1M --file-test-mode=rndwr --file-fsync-all --events=9 \
     run",
    "--test=fileio --file-num=2 --file-total-size=1M --file-test-mode=rndrd --max-requests=9 run",
    "fileio --file-num=2 --file-total-size=1M cleanup",
];

/// One of the two programs.
#[derive(Clone, Copy)]
struct PeerProgram<'a> {
    path: &'a Path,
    /// Its own databases, so that each has the rows that it expects.
    database: &'a str,
    /// Where it runs.
    folder: &'a Path,
}

/// What a command line gave, with what differs from run to run taken out.
#[derive(Debug, PartialEq)]
struct PeerResult {
    printed: Vec<String>,
    complained: Vec<String>,
    code: Option<i32>,
}

impl PeerProgram<'_> {
    fn run(self, server: &Fixture, line: &str) -> PeerResult {
        let socket = server.sandbox.meta().socket.display().to_string();
        let database =
            format!("--mysql-socket={socket} --mysql-user=root --mysql-db={}", self.database);
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/command_lines");
        let line = line.replace("$DB", &database).replace("$OWN", own);
        let output = Command::new(self.path)
            .args(line.split_whitespace())
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .output()
            .expect("it can be started");
        // Calls that led to an error are ours alone.
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint.split("stack traceback:").next().unwrap_or_default();
        let printed = String::from_utf8_lossy(&output.stdout);
        let printed = printed.replace(&format!("'{}.", self.database), "'database.");
        PeerResult {
            printed: plain_lines(&printed),
            complained: plain_lines(complaint),
            code: output.status.code(),
        }
    }
}

/// Lines with `N` for each number and the blanks before it; lines that are then the same as the one before are left out, as
/// buckets are as many as there are.
fn plain_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_bucket = line.split_once(" |").is_some_and(|(value, _)| value.trim().contains('.'));
        let line = if is_bucket { "a bucket".to_owned() } else { plain_line(line) };
        // Whether the last interval is shown is a matter of chance in sysbench.
        let is_again =
            lines.last() == Some(&line) || line.starts_with("[ ") && lines.contains(&line);
        if !is_again || line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

fn plain_line(line: &str) -> String {
    let mut plain = String::new();
    let mut last_digit = false;
    for c in line.chars() {
        let is_digit = c.is_ascii_digit() || (last_digit && c == '.');
        if is_digit && !last_digit {
            plain.truncate(plain.trim_end_matches([' ', '-']).len());
            plain.push_str(" N");
        } else if !is_digit {
            plain.push(c);
        }
        last_digit = is_digit;
    }
    // Counts are padded by their length.
    let parts: Vec<&str> = plain.split(" N ").map(str::trim_start).collect();
    if plain.contains(" per sec.)") { parts.join(" N ") } else { plain }
}

/// The peer, and sweat under the peer's name; none where it is not installed.
fn find_peer() -> Option<PathBuf> {
    let is_there = Command::new("sysbench").arg("--version").output().is_ok();
    let scripts = Path::new("/usr/share/sysbench/oltp_common.lua");
    if is_there && scripts.exists() {
        return Some(PathBuf::from("sysbench"));
    }
    fixture::record_skipped_test("sysbench");
    None
}

/// sweat, called sysbench.
fn sweat_as_sysbench(folder: &Path) -> PathBuf {
    let path = folder.join("sysbench");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sweat"), &path).unwrap();
    path
}

fn prepare(server: &Fixture, peer: &Path, database: &str) {
    server.sql(&format!("CREATE DATABASE {database}"));
    let program = PeerProgram { path: peer, database, folder: Path::new(".") };
    let made = program.run(server, "oltp_read_write $DB --tables=2 prepare");
    assert_eq!(made.code, Some(0), "{made:?}");
}

/// What differs, in words.
fn differences(line: &str, ours: &PeerResult, theirs: &PeerResult) -> Option<String> {
    (ours != theirs).then(|| format!("{line}\n  sweat: {ours:#?}\n  sysbench: {theirs:#?}"))
}

#[test]
fn command_lines_print_what_sysbench_prints() {
    let Some(peer) = find_peer() else { return };
    let server = fixture::mariadb();
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_sysbench(folder.path());
    for database in ["own", "peer"] {
        prepare(&server, &peer, database);
        server.sql(&format!("CREATE DATABASE {database}_data"));
    }
    let compare = |cases: &[&str], databases: [&str; 2]| -> Vec<String> {
        let [ours, theirs] = [(&own, databases[0]), (&peer, databases[1])]
            .map(|(path, database)| PeerProgram { path, database, folder: folder.path() });
        let compare =
            |line: &&str| differences(line, &ours.run(&server, line), &theirs.run(&server, line));
        cases.iter().filter_map(compare).collect()
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let data = scope.spawn(|| compare(DATA_CASES, ["own_data", "peer_data"]));
        let parts = CASES.chunks(CASES.len().div_ceil(3));
        let all: Vec<_> =
            parts.map(|part| scope.spawn(|| compare(part, ["own", "peer"]))).collect();
        let all = all.into_iter().chain([data]);
        all.flat_map(|part| part.join().expect("no part panics")).collect()
    });
    assert!(CASES.len() + DATA_CASES.len() >= 80);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn tests_of_the_system_print_what_sysbench_prints() {
    let Some(peer) = find_peer() else { return };
    let server = fixture::mariadb();
    let [place, own_files, peer_files] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let own = sweat_as_sysbench(place.path());
    let ours = PeerProgram { path: &own, database: "", folder: own_files.path() };
    let theirs = PeerProgram { path: &peer, database: "", folder: peer_files.path() };
    let compare =
        |line: &&str| differences(line, &ours.run(&server, line), &theirs.run(&server, line));
    let wrong: Vec<String> = SYSTEM_CASES.iter().filter_map(compare).collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn built_in_workloads_report_as_the_scripts_do() {
    let Some(peer) = find_peer() else { return };
    let server = fixture::mariadb();
    prepare(&server, &peer, "own");
    prepare(&server, &peer, "peer");
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_sysbench(folder.path());
    let mut wrong = Vec::new();
    for name in [
        "oltp_read_write",
        "oltp_read_only",
        "oltp_write_only",
        "oltp_point_select",
        "oltp_insert",
        "oltp_delete",
        "oltp_update_index",
        "oltp_update_non_index",
        "select_random_points",
        "select_random_ranges",
    ] {
        let ours = PeerProgram { path: &own, database: "own", folder: folder.path() };
        let theirs = PeerProgram { path: &peer, database: "peer", folder: folder.path() };
        let line = format!("{name} $DB --events=20 run");
        let ours = ours.run(&server, &format!("--native {line}"));
        wrong.extend(differences(&line, &ours, &theirs.run(&server, &line)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_words_of_a_book_do_what_they_did() {
    let server = fixture::mariadb();
    server.sql("CREATE DATABASE book");
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_sysbench(folder.path());
    let program = PeerProgram { path: &own, database: "book", folder: folder.path() };
    let made = program.run(&server, "--test=oltp --oltp-table-size=1000 $DB prepare");
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(server.sql("SELECT COUNT(*) FROM book.sbtest").trim(), "1000");
    let load = "--test=oltp --oltp-table-size=1000 $DB --max-time=1 --oltp-read-only=on \
                --max-requests=0 --num-threads=8 run";
    let ran = program.run(&server, load);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.printed.iter().any(|line| line.trim() == "write: N"), "{ran:?}");
    let again = program.run(&server, "--test=oltp $DB cleanup");
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(server.sql("SHOW TABLES IN book").trim(), "");
}

#[test]
fn sessions_are_dealt_to_all_servers_in_turn() {
    let servers = [fixture::mariadb(), fixture::mariadb()];
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_sysbench(folder.path());
    for server in &servers {
        server.sql("CREATE DATABASE dealt");
        let program = PeerProgram { path: &own, database: "dealt", folder: folder.path() };
        let made = program.run(server, "oltp_insert $DB --native --table-size=10 prepare");
        assert_eq!(made.code, Some(0), "{made:?}");
    }
    let sockets =
        servers.each_ref().map(|server| server.sandbox.meta().socket.display().to_string());
    for native in ["--native", "--native=off"] {
        let ran = Command::new(&own)
            .args(["oltp_insert", native, "--threads=4", "--events=400", "--table-size=10", "run"])
            .args(["--mysql-user=root", "--mysql-db=dealt"])
            .arg(format!("--mysql-socket={}", sockets.join(",")))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    }
    let rows = servers.each_ref().map(|server| {
        server.sql("SELECT COUNT(*) - 10 FROM dealt.sbtest1").trim().parse::<u64>().unwrap()
    });
    assert_eq!(rows[0] + rows[1], 800);
    assert!(rows.iter().all(|rows| *rows > 0), "{rows:?}");
}

#[test]
fn sessions_are_opened_anew_after_so_many_events() {
    let server = fixture::mariadb();
    server.sql("CREATE DATABASE anew");
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_sysbench(folder.path());
    let program = PeerProgram { path: &own, database: "anew", folder: folder.path() };
    let words = "oltp_point_select $DB --native --table-size=10";
    assert_eq!(program.run(&server, &format!("{words} prepare")).code, Some(0));
    let connections = || {
        let row = server.sql("SHOW GLOBAL STATUS LIKE 'Connections'");
        row.split_whitespace().last().unwrap().parse::<u64>().unwrap()
    };
    let before = connections();
    let load = format!("{words} --events=100 --reconnect=10 --format=json run");
    let socket = server.sandbox.meta().socket.display().to_string();
    let place = format!("--mysql-socket={socket} --mysql-user=root --mysql-db=anew");
    let ran = Command::new(&own).args(load.replace("$DB", &place).split_whitespace()).output();
    let ran = ran.unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    let found: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(found["summary"]["reconnects"], 10, "{found}");
    assert!((10..20).contains(&(connections() - before)));
}

#[test]
fn formats_for_programs_and_pages_are_whole_documents() {
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_sysbench(folder.path());
    let run = |words: &str| {
        let output = Command::new(&own)
            .args(["threads", "--thread-yields=10", "--time=1", "--report-interval=0.5"])
            .args(words.split_whitespace())
            .output()
            .unwrap();
        assert!(output.status.success(), "{words}");
        String::from_utf8(output.stdout).unwrap()
    };
    let stamped = run("--report-timestamps run");
    let stamp = |line: &str| line.get(10..11) == Some("T") && line.get(23..27) == Some("Z [ ");
    assert!(stamped.lines().any(|line| stamp(line) && line.contains("thds: 1 eps:")), "{stamped}");
    let json: serde_json::Value =
        serde_json::from_str(&run("--format=json --report-timestamps run")).unwrap();
    assert!(json["intervals"][0]["utc"].as_str().is_some_and(|time| time.ends_with('Z')));
    let csv = run("--format=csv --report-timestamps run");
    assert!(csv.starts_with("utc,time_s,threads,events,eps,"), "{csv}");
    let page = run("--format=html run");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("<h1>threads</h1>") && page.contains("General statistics:"), "{page}");
}

#[test]
fn errors_restart_events_or_end_the_run() {
    let server = fixture::mariadb();
    server.sql("CREATE DATABASE small");
    let folder = tempfile::tempdir().unwrap();
    let own = sweat_as_sysbench(folder.path());
    let program = PeerProgram { path: &own, database: "small", folder: folder.path() };
    let words = "oltp_read_write $DB --native --table-size=20 --threads=16";
    let made = program.run(&server, &format!("{words} prepare"));
    assert_eq!(made.code, Some(0), "{made:?}");
    let ran = program.run(&server, &format!("{words} --events=300 --time=0 --format=json run"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let fatal = program.run(&server, &format!("{words} --time=20 --mysql-ignore-errors=1 run"));
    assert_eq!(fatal.code, Some(1), "{fatal:?}");
    let said = fatal.printed.join("\n");
    assert!(said.contains("Deadlock found"), "{said}");
    assert!(!said.contains("General statistics"), "{said}");
}
