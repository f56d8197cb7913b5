//! Passwords that a real server wrote into its log as they were typed: nothing that sweat shows holds them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use sweat::base::Stop;
use sweat::server::ServerControl as _;

use crate::cli::program;
use crate::fixture::{self, Fixture};
use crate::ship::Ship;

const LOGGED: &[(&str, &str)] = &[
    ("slow_query_log", "ON"),
    ("long_query_time", "0"),
    ("general_log", "ON"),
    ("slow_query_log_file", "slow.log"),
    ("general_log_file", "general.log"),
    ("log_output", "FILE"),
];

/// Statements with the secret `Hunter2..`, some that servers take and some that they refuse and log all the same.
const STATEMENTS: &[&str] = &[
    "CREATE USER s1@localhost IDENTIFIED  BY 'Hunter2One'",
    "CREATE USER s2@localhost IDENTIFIED\n\t BY 'Hunter2Two'",
    "ALTER USER s1@localhost IDENTIFIED/* it's new */BY 'Hunter2Three'",
    "GRANT SELECT ON *.* TO s2@localhost IDENTIFIED -- again\nBY 'Hunter2Four'",
    "SET  PASSWORD\tFOR s1@localhost = PASSWORD('Hunter2Five')",
    "SET /* x */ PASSWORD FOR s1@localhost = 'Hunter2Six'",
    "PREPARE s FROM 'ALTER USER s1@localhost IDENTIFIED BY ''Hunter2Seven'''",
    "EXECUTE IMMEDIATE CONCAT('ALTER USER s1@localhost IDENTI', 'FIED BY ''Hunter2Eight''')",
    "CHANGE MASTER 'c' TO MASTER_HOST='h', MASTER_PASSWORD = 'Hunter2Nine'",
    "SET GLOBAL wsrep_sst_auth = 'root:Hunter2Ten'",
    "SELECT AES_ENCRYPT('a', 'Hunter2Eleven')",
    "SELECT 1 FROM (SELECT 'x' AS passwd) t WHERE passwd = 'Hunter2Twelve'",
    "CREATE TABLE test.f (a INT) ENGINE=FEDERATED CONNECTION='mysql://u:Hunter2Fift@h/d/t'",
    "create user s9@localhost identified by Hunter2Thirteen",
    "create user it's identified by 'Hunter2Fourteen'",
    "SELECT 1 /* done */",
];

fn nothing_shown_holds_a_secret(server: &Fixture) {
    let mut session = server.target().connect(&Stop::new()).unwrap();
    for statement in STATEMENTS {
        // Those that fail are logged as well.
        let _ = session.query_rows(statement);
    }
    drop(session);
    server.sql("flush slow logs; flush general logs");
    let logs = ["slow.log", "general.log"].map(|name| server.sandbox.datadir().join(name));
    let slow = logs[0].display().to_string();
    for log in &logs {
        let path = log.display().to_string();
        for format in ["text", "json", "html"] {
            shows_none(server.dir.path(), &["digest", &path, "--format", format, "--limit", "500"]);
        }
        shows_none(server.dir.path(), &["replay", &path, "--dry-run"]);
    }
    shows_none(server.dir.path(), &["replay", &slow, "--dry-run", "--format", "json"]);
    let ship = Ship::start(server.dir.path(), &[&slow, "--listen", "127.0.0.1:0"]);
    let address = ship.url.trim_start_matches("http://").trim_end_matches("/slow").to_owned();
    let shipped = shipped(&address);
    assert!(shipped.contains("/* done */") && shipped.contains("<secret>"), "{shipped}");
    assert!(!shipped.contains("Hunter2"), "{shipped}");
}

fn shows_none(dir: &Path, words: &[&str]) {
    let output = program(dir, words).output().unwrap();
    for text in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(text).to_lowercase();
        assert!(!text.contains("hunter2"), "{words:?}\n{text}");
    }
    assert!(!output.stdout.is_empty(), "{words:?}");
}

/// What comes of the log until its last statement.
fn shipped(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"GET /slow?from=begin HTTP/1.1\r\n\r\n").unwrap();
    let (mut text, mut piece) = (Vec::new(), [0; 4096]);
    while memchr::memmem::find(&text, b"/* done */").is_none() {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&piece[..read]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn passwords_in_a_log_are_shown_nowhere() {
    nothing_shown_holds_a_secret(&fixture::with(LOGGED));
}

#[test]
fn passwords_in_a_log_of_mysql_are_shown_nowhere() {
    if let Some(server) = fixture::mysql_with(LOGGED) {
        nothing_shown_holds_a_secret(&server);
    }
}
