//! Logs of real servers: what was sent is what is read.

use std::path::PathBuf;

use sweat::base::Stop;
use sweat::base::random::Rng;
use sweat::capture::table_log::{TableKind, TableLog, TablePosition};
use sweat::capture::{Confidence, DefaultDatabase, EventKind, LogFlow, LogParser, LogRecord};
use sweat::server::ServerControl as _;

use crate::fixture::{self, Fixture};

/// Pieces that statements are made of: all that a lexer could stumble over, and heads of records.
const PIECES: &[&str] = &[
    "'a;\n# Time: 2020-01-01T00:00:00.000000Z\n# User@Host: e[e] @ h []  Id: 9\nb'",
    "'it''s'",
    "'\\''",
    "\"x\\\"y;\n\"",
    "/* ; ' \n */ 1",
    "-- ' ;\n 2",
    "# \" ;\n 3",
    "'\u{1f600} ;\n'",
    "0x00ff",
    "1--1",
    "'\\0\\Z'",
    "''",
    "'# administrator command: Quit;\n'",
    "'\r\n;\r\n'",
    "';\nuse x;\nSET timestamp=1;\n'",
    "';\n261121  7:12:04\t    29 Query\tselect 1'",
    "';\n2026-11-21T07:12:06.155357Z\t   27 Query\tselect 1'",
];

/// A statement of nothing but what is hard to read, and right for a server.
fn statement(rng: &mut Rng) -> String {
    let pieces = 1 + rng.uniform_below(4);
    let list: Vec<&str> =
        (0..pieces).map(|_| PIECES[rng.uniform_below(PIECES.len() as u64) as usize]).collect();
    let end = ["", " -- end", " # end", " /* end */"][rng.uniform_below(4) as usize];
    format!("select {}{end}", list.join(", "))
}

/// What was sent, by session: its default database and its statements.
type Sent = Vec<(String, String)>;

/// Sends statements in two sessions with databases of their own, in turns.
fn drive(server: &Fixture, seed: u64) -> Sent {
    let target = server.target();
    server.sql("create database one; create database two");
    let mut sessions = ["one", "two"].map(|name| {
        let mut session = target.connect(&Stop::new()).unwrap();
        session.run_command(&format!("use {name}")).unwrap();
        (name, session)
    });
    let mut rng = Rng::new(seed, 0, 0);
    let mut sent = Sent::new();
    for _ in 0..120 {
        let (name, session) = &mut sessions[rng.uniform_below(2) as usize];
        let text = statement(&mut rng);
        session.query_rows(&text).unwrap_or_else(|e| panic!("`{text}` is right: {e}"));
        sent.push(((*name).to_owned(), text));
    }
    // A server logs when it has answered: what a session did is in the log for sure when it has done another thing.
    for (_, session) in &mut sessions {
        session.run_command("do 0").unwrap();
    }
    sent
}

/// Keeps what is ours.
fn take(found: &mut Sent, r: &LogRecord<'_>) -> LogFlow {
    let text = String::from_utf8(r.text.to_vec()).unwrap();
    let is_ours = r.kind == EventKind::Statement && text.starts_with("select ");
    if let (true, DefaultDatabase::Named(name)) = (is_ours, r.database) {
        assert!(matches!(r.confidence, Confidence::Clean | Confidence::FreeText), "{text}");
        assert!(r.began_us.is_some() && r.session.is_some(), "{text}");
        found.push((String::from_utf8_lossy(name).into_owned(), text));
    }
    LogFlow::Continue(())
}

/// The statements of a log that ours sent, with their databases.
fn read(path: PathBuf, has_explain: bool) -> Sent {
    let mut file = std::fs::File::open(path).unwrap();
    let (mut log, mut found) = (LogParser::default(), Sent::new());
    log.read_source(&mut file, &mut |r| take(&mut found, r)).unwrap();
    assert_eq!(log.tally().skipped, [], "nothing is left over");
    assert_eq!(log.tally().free_text > 0, has_explain);
    found
}

const LOGGING: &[(&str, &str)] = &[
    ("slow_query_log", "ON"),
    ("long_query_time", "0"),
    ("general_log", "ON"),
    ("slow_query_log_file", "slow.log"),
    ("general_log_file", "general.log"),
    ("log_output", "FILE,TABLE"),
];

/// The same of a log in a table.
fn read_table(server: &Fixture, kind: TableKind) -> Sent {
    let mut session = server.target().connect(&Stop::new()).unwrap();
    let mut log = TableLog::open(&mut session, kind).unwrap();
    let mut found = Sent::new();
    let look = log.poll_rows(&mut session, &mut |r| take(&mut found, r)).unwrap();
    assert!(!look.has_more && !look.was_rotated && !look.has_gap, "{look:?}");
    // Nothing is given twice; a session that has just gone may be logged only now.
    let mut again = Sent::new();
    log.poll_rows(&mut session, &mut |r| take(&mut again, r)).unwrap();
    assert_eq!(again, Sent::new());
    found
}

/// Each session's statements stand in their order; those of another may come first, as the server logs a statement when
/// it has answered it.
fn compare(found: &Sent, sent: &Sent, what: &str) {
    for database in ["one", "two"] {
        let of = |all: &Sent| -> Sent {
            all.iter().filter(|(name, _)| name == database).cloned().collect()
        };
        let (found, sent) = (of(found), of(sent));
        for (place, (found, sent)) in found.iter().zip(&sent).enumerate() {
            assert_eq!(found, sent, "{what}, statement {place}");
        }
        assert_eq!(found.len(), sent.len(), "{what}");
    }
}

/// A server strips blanks and one semicolon at the end; a comment's end counts as the statement's.
fn what_was_sent_is_read(server: &Fixture, has_explain: bool) {
    let sent = drive(server, 7);
    let data = server.sandbox.datadir().to_owned();
    for name in ["slow.log", "general.log"] {
        let has_explain = has_explain && name == "slow.log";
        compare(&read(data.join(name), has_explain), &sent, name);
    }
    // MariaDB's tables hold no characters of four bytes.
    let is_mariadb = server.sql("select version()").contains("MariaDB");
    for (kind, smile) in [(TableKind::Slow, "?"), (TableKind::General, "\\xF0\\x9F\\x98\\x80")] {
        let mut sent = sent.clone();
        if is_mariadb {
            sent.iter_mut().for_each(|(_, text)| *text = text.replace('\u{1f600}', smile));
        }
        compare(&read_table(server, kind), &sent, &format!("table {kind:?}"));
    }
}

#[test]
fn what_was_sent_to_mariadb_is_read() {
    what_was_sent_is_read(&fixture::with(LOGGING), false);
}

#[test]
fn what_was_sent_to_mariadb_is_read_with_all_it_can_say() {
    let mut settings = LOGGING.to_vec();
    settings.push(("log_slow_verbosity", "query_plan,innodb,explain"));
    what_was_sent_is_read(&fixture::with(&settings), true);
}

#[test]
fn what_was_sent_to_mysql_is_read() {
    for extra in ["OFF", "ON"] {
        let mut settings = LOGGING.to_vec();
        settings.push(("log_slow_extra", extra));
        let Some(server) = fixture::mysql_with(&settings) else { return };
        what_was_sent_is_read(&server, false);
    }
}

/// Statements of a session of its own, all at the same time for a clock that is told so.
fn say(server: &Fixture, from: u64, to: u64) {
    let mut session = server.target().connect(&Stop::new()).unwrap();
    session.run_command("set timestamp = 1700000000").unwrap();
    for n in from..to {
        session.run_command(&format!("do 'number {n}', 1")).unwrap();
        session.run_command("do 'the same'").unwrap();
    }
    // A statement is in the log for sure when its session has done another.
    session.run_command("do 0").unwrap();
}

/// Neither lost nor given twice, whatever becomes of the table.
fn rotations_of_a_table(server: &Fixture) {
    let target = server.target();
    let mut session = target.connect(&Stop::new()).unwrap();
    let mut log = TableLog::open(&mut session, TableKind::Slow).unwrap();
    let (mut numbers, mut same) = (Vec::new(), 0);
    let mut take = |r: &LogRecord<'_>| {
        let text = String::from_utf8_lossy(r.text);
        if let Some(n) = text.strip_prefix("do 'number ").and_then(|t| t.strip_suffix("', 1")) {
            numbers.push(n.parse::<u64>().unwrap());
        }
        same += u64::from(text == "do 'the same'");
        LogFlow::Continue(())
    };
    say(server, 100, 101);
    log.skip_to_end(&mut session).unwrap();
    say(server, 0, 5);
    log.poll_rows(&mut session, &mut take).unwrap();
    say(server, 5, 10);
    server.sql(
        "create table mysql.slow_log_new like mysql.slow_log; \
         rename table mysql.slow_log to mysql.slow_log_old, mysql.slow_log_new to mysql.slow_log",
    );
    say(server, 10, 15);
    let kept = log.current_position().to_string();
    // Another process of ours goes on.
    let mut session = target.connect(&Stop::new()).unwrap();
    let mut log = TableLog::open(&mut session, TableKind::Slow).unwrap();
    log.resume_at(TablePosition::parse(&kept).unwrap());
    // One at a time, by an eater who is full each time.
    loop {
        let look = log
            .poll_rows(&mut session, &mut |r| {
                let _ = take(r);
                LogFlow::Break(())
            })
            .unwrap();
        assert!(!look.has_gap);
        if look.records == 0 {
            break;
        }
    }
    server.sql("truncate table mysql.slow_log");
    say(server, 15, 20);
    let look = log.poll_rows(&mut session, &mut take).unwrap();
    assert!(look.was_rotated && look.has_gap, "what was not read before is lost, and said to be");
    assert_eq!((numbers, same), ((0..20).collect(), 20));
}

#[test]
fn a_table_that_is_rotated_loses_nothing_on_mariadb() {
    rotations_of_a_table(&fixture::with(LOGGING));
}

#[test]
fn a_table_that_is_rotated_loses_nothing_on_mysql() {
    let Some(server) = fixture::mysql_with(LOGGING) else { return };
    rotations_of_a_table(&server);
}
