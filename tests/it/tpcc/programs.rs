//! `tpcc_load` and `tpcc_start` as scripts call them, and the formats of those programs.
#![expect(clippy::disallowed_methods, reason = "programs are started")]

use std::path::Path;
use std::process::{Command, Output};

use crate::fixture::{self, Fixture};

/// sweat with these words, under a name of its own if that is the first of them.
fn command(dir: &Path, words: &[&str]) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_sweat"));
    let (program, words) = match words {
        [name @ ("tpcc_load" | "tpcc_start"), rest @ ..] => {
            let link = dir.join(name);
            let _ = std::os::unix::fs::symlink(program, &link);
            (link, rest)
        }
        words => (program.to_owned(), words),
    };
    let mut command = Command::new(program);
    command.args(words).current_dir(dir);
    command
}

fn run(dir: &Path, words: &[&str]) -> Output {
    command(dir, words).output().expect("sweat runs")
}

#[track_caller]
fn output(out: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, complaint) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(code), "{said}\n{complaint}");
    (said, complaint)
}

fn number(text: &str) -> f64 {
    text.trim().parse().unwrap_or_else(|_| panic!("no number: {text:?}"))
}

/// The words of a raw result by their names: `  [0] sc:257 lt:0  rt:0  fl:0`.
fn raw_results(text: &str, title: &str) -> Vec<[f64; 4]> {
    let part = text.split(title).nth(1).unwrap_or_else(|| panic!("no {title}: {text}"));
    let lines = part.lines().skip(1).take(5).enumerate();
    let read = |(row, line): (usize, &str)| {
        let rest = line.strip_prefix(&format!("  [{row}] ")).unwrap_or_else(|| panic!("{line}"));
        let mut words = rest.split_whitespace();
        ["sc:", "lt:", "rt:", "fl:"].map(|name| {
            let word = words.next().unwrap_or_default();
            number(word.strip_prefix(name).unwrap_or_else(|| panic!("{name} in {line}")))
        })
    };
    lines.map(read).collect()
}

/// New orders of the interval lines: `  10, trx: 12920, 95%: 9.483, 99%: 18.738, max_rt: 213.169, 12919|98.778, ...`.
fn interval_orders(text: &str) -> Vec<f64> {
    let part = text.split("MEASURING START.").nth(1).expect("it begins");
    let part = part.split("STOPPING THREADS").next().expect("it ends");
    let lines = part.lines().filter(|line| !line.is_empty());
    let read = |line: &str| {
        let fields: Vec<&str> = line.split(", ").collect();
        assert_eq!(fields.len(), 9, "{line}");
        number(fields[0]);
        let value = |field: &str, name: &str| number(field.strip_prefix(name).expect(name));
        let percentiles = [value(fields[2], "95%: "), value(fields[3], "99%: ")];
        assert!(percentiles[0] <= percentiles[1], "{line}");
        assert!(percentiles[1] <= value(fields[4], "max_rt: ") * 1.01, "{line}");
        for field in &fields[5..] {
            let (count, most) = field.split_once('|').expect("a count and a time");
            assert!(number(count) == 0.0 || number(most) > 0.0, "{line}");
        }
        value(fields[1], "trx: ")
    };
    lines.map(read).collect()
}

fn tpmc(text: &str) -> f64 {
    let line = text.lines().find(|line| line.ends_with(" TpmC")).expect("a line with TpmC");
    number(line.trim_end_matches("TpmC"))
}

/// What `tpcc_start` prints at its end, of a load without failures.
fn check_results(text: &str) {
    let (first, second) = (raw_results(text, "<Raw Results>"), raw_results(text, "(sum ver.)>"));
    assert_eq!(first, second);
    let orders = first[0][0] + first[0][1];
    assert!(orders > 0.0 && first.iter().all(|row| row[3] == 0.0), "{text}");
    let shown: f64 = interval_orders(text).iter().sum();
    assert!(shown > 0.0 && shown <= orders, "{text}");
    for label in ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"] {
        let line = text.lines().rfind(|line| line.trim_start().starts_with(label));
        let line = line.unwrap_or_else(|| panic!("{label}: {text}"));
        assert!(line.ends_with("[OK]") || line.ends_with("[NG] *"), "{line}");
    }
    assert!(tpmc(text) > 0.0, "{text}");
}

fn load_and_start(server: &Fixture, dir: &Path) {
    let socket = server.sandbox.meta().socket.display().to_string();
    let at = ["-S", socket.as_str()];
    let refused =
        run(dir, &[&["tpcc_load", "-d", "tpcc1", "-u", "root", "-w", "1"], &at[..]].concat());
    let (_, why) = output(&refused, 2);
    assert!(why.contains("mysqladmin create tpcc1"), "{why}");
    server.sql("CREATE DATABASE tpcc1; CREATE DATABASE old; CREATE TABLE old.new_orders (a int)");
    server.sql("CREATE USER u1@localhost IDENTIFIED BY 'hush1'; GRANT ALL ON *.* TO u1@localhost");
    for program in ["tpcc_load", "tpcc_start"] {
        let (_, why) = output(&run(dir, &[&[program, "-dold", "-uroot"], &at[..]].concat()), 2);
        assert!(why.contains("table new_orders: these tables are tpcc-mysql's"), "{why}");
    }
    // A script starts one for each part, all at once.
    let load_part = |part| {
        let words = ["tpcc_load", "localhost", "tpcc1", "u1", "hush1", "1", part, "1", "1"];
        // `localhost` is where the client library's environment says.
        let ran = command(dir, &words).env("MYSQL_UNIX_PORT", &socket).output();
        let (text, _) = output(&ran.expect("sweat runs"), 0);
        assert!(text.contains("DATA LOADING COMPLETED SUCCESSFULLY") && !text.contains("hush1"));
    };
    std::thread::scope(|scope| {
        for part in ["1", "2"] {
            scope.spawn(move || load_part(part));
        }
    });

    let by_place = ["tpcc_start", "localhost", "tpcc1", "u1", "hush1", "1", "2", "1", "2"];
    let more = ["-i", "1", "-f", "lines", "-1", "0.000001"];
    let (text, _) = output(&run(dir, &[&by_place, &more[..], &at[..]].concat()), 0);
    check_results(&text);
    assert!(text.contains("RAMP-UP TIME.(1 sec.)") && !text.contains("hush1"), "{text}");
    assert!(text.contains("Payment: 0.00%  [NG] *"), "{text}");
    let written = std::fs::read_to_string(dir.join("lines")).expect("-f writes the lines");
    assert_eq!(written.lines().count(), interval_orders(&text).len());

    let by_letter = ["tpcc_start", "-dtpcc1", "-u", "u1", "-p", "hush1", "-w", "1", "-c", "2"];
    let more = ["-r", "0", "-l", "1", "-i1"];
    let words = [&["sweat"][..], &by_letter, &more, &at].concat();
    let (text, _) = output(&run(dir, &words[1..]), 0);
    check_results(&text);
    start_on_two_databases(server, dir);
}

/// `-m` deals connections to databases in turn, and `-t` writes a line about each new order that was committed.
fn start_on_two_databases(server: &Fixture, dir: &Path) {
    let socket = server.sandbox.meta().socket.display().to_string();
    let words = |rest: &'static [&'static str]| {
        let words = ["tpcc_start", "-dtwo", "-uroot", "-w", "1", "-r", "0", "-l", "2", "-i1"];
        run(dir, &[&words, rest, &["-S", socket.as_str()]].concat())
    };
    for name in ["two_3", "two_4"] {
        let load = ["tpcc_load", "-d", name, "-uroot", "-w", "1", "-S", socket.as_str()];
        server.sql(&format!("CREATE DATABASE {name}"));
        output(&run(dir, &load), 0);
    }
    let (text, _) = output(&words(&["-c", "4", "-m", "2", "-o", "3", "-t", "orders"]), 0);
    check_results(&text);
    let committed = |name| -> f64 {
        number(&server.sql(&format!("SELECT COUNT(*) FROM {name}.orders WHERE o_id > 3000")))
    };
    let each = ["two_3", "two_4"].map(committed);
    assert!(each.iter().all(|count| *count > 0.0), "{each:?}");
    let lines = std::fs::read_to_string(dir.join("orders")).expect("-t writes the file");
    assert_eq!(lines.lines().count() as f64, each.iter().sum::<f64>());
    for line in lines.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!([words[0], words[2], words[5]], ["t_num:", "finish:", "start:"], "{line}");
        let at = |first: usize| number(words[first]) * 1e9 + number(words[first + 1]);
        assert!((0.0..4.0).contains(&number(words[1])) && at(3) >= at(6), "{line}");
    }
    let (_, why) = output(&words(&["-c", "2", "-m", "3", "-o", "3"]), 2);
    assert!(why.contains("database two_5: there is no such database"), "{why}");
}

#[test]
fn programs_of_tpcc_mysql_print_what_scripts_read() {
    let server = fixture::mariadb();
    let dir = tempfile::tempdir().expect("a folder");
    load_and_start(&server, dir.path());
    let socket = server.sandbox.meta().socket.display().to_string();
    let bench = ["bench", "tpcc", "-u", "root", "-D", "tpcc1", "--threads=2", "--time=2", "-S"];
    let shown = ["--quiet", "--format=tpcc-mysql"];
    let words = [&bench[..], &[socket.as_str()], &shown].concat();
    let (text, _) = output(&run(dir.path(), &words), 0);
    check_results(&text);
    let (table, _) = output(&run(dir.path(), &["report", "--format", "dbt2"]), 0);
    let row = table.lines().find(|line| line.trim_start().starts_with("New Order")).expect("it");
    let words: Vec<&str> = row.split_whitespace().collect();
    // New Order  45.00  0.016 : 0.030  218  5  2.29
    assert_eq!((words.len(), words[4]), (9, ":"), "{row}");
    let total = raw_results(&text, "<Raw Results>")[0];
    assert_eq!(number(words[6]), total[0] + total[1], "{table}\n{text}");
    for end in [
        " new-order transactions per minute (NOTPM)",
        " minute duration",
        " total unknown errors",
        " second(s) ramping up",
    ] {
        let line = table.lines().find(|line| line.ends_with(end));
        number(line.unwrap_or_else(|| panic!("{end}: {table}")).trim_end_matches(end));
    }
    let out = run(dir.path(), &["bench", "null", "--time=1", "--quiet", "--format=dbt2"]);
    let (_, why) = output(&out, 2);
    assert!(why.contains("it shows loads of the workload tpcc"), "{why}");
}

#[test]
fn words_of_tpcc_mysql_that_make_no_sense_are_refused_with_the_usage() {
    let dir = tempfile::tempdir().expect("a folder");
    for words in [&["tpcc_start", "-w", "five"][..], &["tpcc_start", "--foo"], &["tpcc_load"]] {
        let (_, why) = output(&run(dir.path(), words), 2);
        assert!(why.contains(&format!("usage: {}", words[0])), "{why}");
    }
    let (usage, _) = output(&run(dir.path(), &["tpcc_start", "--help"]), 0);
    assert!(usage.contains("RAMP_UP_S"), "{usage}");
}
