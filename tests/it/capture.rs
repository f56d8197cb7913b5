//! Logs of real servers: what was sent is what is read.

use std::path::PathBuf;

use sweat::base::Stop;
use sweat::base::random::Rng;
use sweat::capture::{Database, Deed, Doubt, Log, Next};
use sweat::server::Control as _;

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
    let pieces = 1 + rng.below(4);
    let list: Vec<&str> =
        (0..pieces).map(|_| PIECES[rng.below(PIECES.len() as u64) as usize]).collect();
    let end = ["", " -- end", " # end", " /* end */"][rng.below(4) as usize];
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
        session.command(&format!("use {name}")).unwrap();
        (name, session)
    });
    let mut rng = Rng::new(seed, 0, 0);
    let mut sent = Sent::new();
    for _ in 0..120 {
        let (name, session) = &mut sessions[rng.below(2) as usize];
        let text = statement(&mut rng);
        session.rows(&text).unwrap_or_else(|e| panic!("`{text}` is right: {e}"));
        sent.push(((*name).to_owned(), text));
    }
    // A server logs when it has answered: what a session did is in the log for sure when it has done another thing.
    for (_, session) in &mut sessions {
        session.command("do 0").unwrap();
    }
    sent
}

/// The statements of a log that ours sent, with their databases.
fn read(path: PathBuf) -> Sent {
    let mut file = std::fs::File::open(path).unwrap();
    let (mut log, mut found) = (Log::default(), Sent::new());
    log.read(&mut file, &mut |r| {
        let text = String::from_utf8(r.text.to_vec()).unwrap();
        let is_ours = r.deed == Deed::Statement && text.starts_with("select ");
        if let (true, Database::Named(name)) = (is_ours, r.database) {
            assert_eq!(r.doubt, Doubt::Clean, "{text}");
            found.push((String::from_utf8_lossy(name).into_owned(), text));
        }
        Next::Continue(())
    })
    .unwrap();
    assert_eq!(log.tally().skipped, [], "nothing is left over");
    found
}

const LOGGING: &[(&str, &str)] = &[
    ("slow_query_log", "ON"),
    ("long_query_time", "0"),
    ("general_log", "ON"),
    ("slow_query_log_file", "slow.log"),
    ("general_log_file", "general.log"),
];

/// A server strips blanks and one semicolon at the end; a comment's end counts as the statement's.
fn what_was_sent_is_read(server: &Fixture) {
    let sent = drive(server, 7);
    let data = server.sandbox.datadir().to_owned();
    for name in ["slow.log", "general.log"] {
        let found = read(data.join(name));
        // Each session's statements stand in their order; those of another may come first, as the server logs a
        // statement when it has answered it.
        for database in ["one", "two"] {
            let of = |all: &Sent| -> Sent {
                all.iter().filter(|(name, _)| name == database).cloned().collect()
            };
            let (found, sent) = (of(&found), of(&sent));
            for (place, (found, sent)) in found.iter().zip(&sent).enumerate() {
                assert_eq!(found, sent, "{name}, statement {place}");
            }
            assert_eq!(found.len(), sent.len(), "{name}");
        }
    }
}

#[test]
fn what_was_sent_to_mariadb_is_read() {
    what_was_sent_is_read(&fixture::with(LOGGING));
}

#[test]
fn what_was_sent_to_mariadb_is_read_with_all_it_can_say() {
    let mut settings = LOGGING.to_vec();
    settings.push(("log_slow_verbosity", "query_plan,innodb,explain"));
    what_was_sent_is_read(&fixture::with(&settings));
}

#[test]
fn what_was_sent_to_mysql_is_read() {
    for extra in ["OFF", "ON"] {
        let mut settings = LOGGING.to_vec();
        settings.push(("log_slow_extra", extra));
        let Some(server) = fixture::mysql_with(&settings) else { return };
        what_was_sent_is_read(&server);
    }
}
