//! A real server's slow log shipped: each statement once, whatever happens to the log, to us and to the reader.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use sweat::base::{Clock as _, Nanos, RealClock, Secret, Stop};
use sweat::capture::ship::{LiveLog, RemoteAccess, open_live};
use sweat::capture::{EventKind, LogFlow, LogParser, LogRecord};

use crate::cli::program;
use crate::fixture::{self, Fixture};

/// How long anything may take.
const PATIENCE: Nanos = Nanos(20_000_000_000);

fn pause(ms: u64) {
    let clock = RealClock::start_now();
    clock.sleep_until(Nanos(ms * 1_000_000));
}

/// A `sweat ship` that runs.
pub(crate) struct Ship {
    child: Child,
    pub(crate) url: String,
    said: Vec<String>,
    lines: BufReader<std::process::ChildStderr>,
}

fn command(dir: &Path, words: &[&str]) -> Command {
    let mut command = program(dir, words);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

impl Ship {
    pub(crate) fn start(dir: &Path, words: &[&str]) -> Ship {
        #[expect(clippy::zombie_processes, reason = "it is waited for when it is dropped")]
        let mut child = command(dir, &[&["ship"], words].concat()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut said = Vec::new();
        loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ended: {said:?}");
            said.push(line.trim().to_owned());
            if let Some(at) = line.find("http") {
                let url = line[at..].trim().to_owned();
                return Ship { child, url, said, lines };
            }
        }
    }

    /// Everything it says until it ends.
    fn rest(&mut self) -> String {
        let mut text = String::new();
        self.lines.read_to_string(&mut text).unwrap();
        self.child.wait().unwrap();
        text
    }

    fn interrupt(&mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.rest()
    }

    fn port(&self) -> String {
        let rest = self.url.split("127.0.0.1:").nth(1).unwrap();
        rest.split('/').next().unwrap().to_owned()
    }

    /// Memory it holds, KiB.
    fn memory_kib(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Ship {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A reader that counts marked statements: `select N /* m */`.
struct Reader {
    live: Box<dyn LiveLog>,
    log: LogParser,
    found: HashMap<u64, u32>,
}

fn open(url: &str, mark: Option<&str>) -> Reader {
    let access = RemoteAccess { is_packed: true, ..RemoteAccess::default() };
    Reader::of(open_live(url, &access, mark, &Stop::new()).unwrap())
}

impl Reader {
    fn of(live: Box<dyn LiveLog>) -> Reader {
        Reader { live, log: LogParser::default(), found: HashMap::new() }
    }

    /// Reads until it has so many.
    fn until(&mut self, count: usize) {
        let clock = RealClock::start_now();
        let mut piece = vec![0; 64 << 10];
        while self.found.len() < count {
            assert!(
                clock.now() < PATIENCE,
                "{} of {count}: {:?}",
                self.found.len(),
                self.missing(count)
            );
            let found = &mut self.found;
            let on = &mut |recorded: &LogRecord<'_>| {
                let text = String::from_utf8_lossy(recorded.text);
                let number = text.strip_prefix("select ").and_then(|t| t.strip_suffix(" /* m */"));
                if let (Some(number), EventKind::Statement) = (number, recorded.kind) {
                    *found.entry(number.parse().unwrap()).or_default() += 1;
                }
                LogFlow::Continue(())
            };
            match self.live.read(&mut piece) {
                Ok(read) => {
                    let _ = self.log.push(&piece[..read], on).unwrap();
                }
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                    let _ = self.log.flush_quiet(on).unwrap();
                }
                Err(e) => panic!("{e}"),
            }
        }
        let twice: Vec<_> = self.found.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "doubled: {twice:?}");
    }

    fn missing(&self, count: usize) -> Vec<u64> {
        (0..count as u64).filter(|n| !self.found.contains_key(n)).take(9).collect()
    }
}

const LOGGED: &[(&str, &str)] = &[("slow_query_log", "ON"), ("long_query_time", "0")];

fn log_of(server: &Fixture) -> PathBuf {
    let text = server.sql("select @@datadir, @@slow_query_log_file");
    let (folder, name) = text.trim().split_once('\t').unwrap();
    Path::new(folder).join(name)
}

fn rename(server: &Fixture, log: &Path, number: usize) {
    std::fs::rename(log, format!("{}.{number}", log.display())).unwrap();
    server.sql("flush slow logs");
}

/// Sends statements with these numbers.
fn send(server: &Fixture, numbers: std::ops::Range<u64>) {
    let mut session = server.target().connect(&Stop::new()).unwrap();
    for n in numbers {
        session.query_rows(&format!("select {n} /* m */")).unwrap();
    }
}

fn ships_through_everything(server: &Fixture) {
    let (dir, log) = (server.dir.path(), log_of(server));
    let path = log.to_str().unwrap();
    let mut ship = Ship::start(dir, &[path, "--listen", "127.0.0.1:0"]);
    let address = ship.url.trim_start_matches("http://").trim_end_matches("/slow").to_owned();
    // It asks and takes nothing.
    let mut sleeper = TcpStream::connect(&address).unwrap();
    sleeper.write_all(b"GET /slow HTTP/1.1\r\n\r\n").unwrap();
    let (mut first, mut second) = (open(&ship.url, None), open(&ship.url, None));
    pause(100);
    std::thread::scope(|scope| {
        scope.spawn(|| send(server, 0..1500));
        for number in 0..10 {
            rename(server, &log, number);
            pause(20);
        }
    });
    first.until(1500);
    // Cut where it stands, after a copy, in a quiet moment; then removed under us.
    std::fs::copy(&log, format!("{path}.copy")).unwrap();
    std::fs::File::options().write(true).open(&log).unwrap().set_len(0).unwrap();
    send(server, 1500..1600);
    first.until(1600);
    std::fs::remove_file(&log).unwrap();
    send(server, 1600..1700);
    server.sql("flush slow logs");
    send(server, 1700..1800);
    first.until(1800);
    let memory = ship.memory_kib();
    // We are killed, and so is a reader.
    let (port, mark) = (ship.port(), first.live.mark_at(u64::MAX).unwrap());
    ship.child.kill().unwrap();
    let mut found = std::mem::take(&mut first.found);
    drop(first);
    send(server, 1800..1900);
    rename(server, &log, 90);
    send(server, 1900..2000);
    let ship = Ship::start(dir, &[path, "--listen", &format!("127.0.0.1:{port}")]);
    let mut again = open(&ship.url, Some(&mark));
    again.found = std::mem::take(&mut found);
    again.until(2000);
    // The other has only been slow, and found its way back by itself.
    second.until(2000);
    assert!(ship.memory_kib() < 200 << 10 && memory < 200 << 10, "{memory} KiB");
}

#[test]
fn every_statement_is_shipped_once_through_rotations_cuts_and_kills() {
    ships_through_everything(&fixture::with(LOGGED));
}

#[test]
fn every_statement_of_mysql_is_shipped_once_through_rotations_cuts_and_kills() {
    if let Some(server) = fixture::mysql_with(LOGGED) {
        ships_through_everything(&server);
    }
}

const LOOK: &str = "select @@global.slow_query_log, @@global.long_query_time, @@global.log_output, \
                    @@global.min_examined_row_limit";

fn switches_on_and_back(server: &Fixture) {
    let dir = server.dir.path();
    let socket = server.sandbox.meta().socket.display().to_string();
    let on =
        ["--turn-on", "for=1s,long_query_time=0", "--allow", "logging", "--listen", "127.0.0.1:0"];
    let server_words = ["-S", socket.as_str(), "-u", "root"];
    let words = |more: &[&'static str]| [&on[..], more, &server_words[..]].concat();
    server.sql("set global slow_query_log = OFF, global log_output = 'NONE'");
    let before = server.sql(LOOK);
    let refused = |words: &[&str]| {
        let output = command(dir, words).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let without = [&["ship", "--turn-on", "for=1s"], &server_words[..]].concat();
    let (code, said) = refused(&without);
    assert!(code == 2 && said.contains("--allow logging"), "{said}");
    let (_, said) = refused(&[&["ship", "--keep-free", "9000T"], &words(&[])[..]].concat());
    assert!(said.contains("to stay free"), "{said}");
    assert_eq!(server.sql(LOOK), before);

    // Its time is over.
    let mut old = server.target().connect(&Stop::new()).unwrap();
    let mut ship = Ship::start(dir, &words(&[]));
    assert!(
        ship.said.iter().any(|line| line.contains("sessions were already open")),
        "{:?}",
        ship.said
    );
    assert!(
        ship.said.iter().any(|line| line.contains("an empty statement takes")),
        "{:?}",
        ship.said
    );
    let mut reader = open(&ship.url, None);
    pause(100);
    send(server, 0..50);
    reader.until(50);
    let clock = RealClock::start_now();
    while server.sql(LOOK) != before {
        assert!(clock.now() < PATIENCE, "{}", server.sql(LOOK));
        pause(50);
    }
    let said = ship.interrupt();
    assert!(said.contains("its time is over") && said.contains("records shipped"), "{said}");
    // Killed: the journal says what is to be done.
    let mut ship = Ship::start(dir, &words(&[]));
    ship.child.kill().unwrap();
    assert_ne!(server.sql(LOOK), before);
    let line = ship.said.iter().find(|line| line.contains("sweat restore")).unwrap();
    let journal = line.split("sweat restore ").nth(1).unwrap();
    let (code, said) = refused(&[&["restore", journal], &server_words[..]].concat());
    assert_eq!((code, server.sql(LOOK)), (0, before.clone()), "{said}");
    // Through the table.
    let ship = Ship::start(dir, &words(&["--table"]));
    let mut reader = open(&ship.url, None);
    pause(100);
    send(server, 0..300);
    reader.until(300);
    drop(reader);
    let mut ship = ship;
    ship.interrupt();
    assert_eq!(server.sql(LOOK), before);
    old.run_command("do 1").unwrap();
}

#[test]
fn logging_is_switched_on_with_consent_and_put_back() {
    switches_on_and_back(&fixture::mariadb());
}

#[test]
fn logging_of_mysql_is_switched_on_with_consent_and_put_back() {
    if let Some(server) = fixture::mysql() {
        switches_on_and_back(&server);
    }
}

/// A certificate for localhost, made by the machine's openssl.
#[expect(clippy::disallowed_methods, reason = "the test makes itself a certificate")]
fn certificate(dir: &Path) -> Option<(PathBuf, PathBuf)> {
    let (cert, key) = (dir.join("cert.pem"), dir.join("key.pem"));
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
                 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
                 -addext basicConstraints=critical,CA:FALSE";
    let made = Command::new("openssl")
        .args(words.split_whitespace())
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&cert)
        .stderr(Stdio::null())
        .status();
    made.is_ok_and(|status| status.success()).then_some((cert, key))
}

#[test]
fn tls_and_token_guard_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("slow.log");
    std::fs::write(&log, "").unwrap();
    let Some((cert, key)) = certificate(dir.path()) else {
        fixture::record_skipped_test("openssl");
        return;
    };
    let token = dir.path().join("token");
    std::fs::write(&token, "s3cret-of-16-or-more\n").unwrap();
    let path = |path: &Path| path.display().to_string();
    let (log_path, cert_path, key_path, token_path) =
        (path(&log), path(&cert), path(&key), path(&token));
    let words = [
        log_path.as_str(),
        "--listen",
        "0.0.0.0:0",
        "--token-file",
        &token_path,
        "--tls-cert",
        &cert_path,
        "--tls-key",
        &key_path,
    ];
    let output =
        command(dir.path(), &["ship", &log_path, "--listen", "0.0.0.0:0"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("without a token"));
    assert_eq!(output.status.code(), Some(2), "it is refused");
    let short = dir.path().join("short");
    std::fs::write(&short, "s3cret\n").unwrap();
    let mut short_words = words;
    let short_path = path(&short);
    short_words[4] = &short_path;
    let output = command(dir.path(), &[&["ship"], &short_words[..]].concat()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("by guessing"));
    assert_eq!(output.status.code(), Some(2), "it is refused");
    let ship = Ship::start(dir.path(), &words);
    let url = ship.url.replace("0.0.0.0", "localhost");
    let line = std::fs::read(format!("/proc/{}/cmdline", ship.child.id())).unwrap();
    assert!(!String::from_utf8_lossy(&line).contains("s3cret-of"));
    let open = |token: &str, authority: Option<PathBuf>| {
        let access = RemoteAccess { token: Some(Secret::new(token)), authority, is_packed: true };
        open_live(&url, &access, None, &Stop::new())
    };
    assert!(open("s3cret-of-16-or-more", None).is_err(), "a certificate that nobody knows");
    let wrong = open("other", Some(cert.clone())).err().unwrap().to_string();
    assert!(wrong.contains("token"), "{wrong}");
    let mut reader = Reader::of(open("s3cret-of-16-or-more", Some(cert)).unwrap());
    pause(100);
    let mut file = std::fs::File::options().append(true).open(&log).unwrap();
    for n in 0..2000 {
        let text = format!(
            "# Time: 2026-11-21T07:12:09.637423Z\n# User@Host: r[r] @ h []  Id: 4\n\
             # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\nSET timestamp=1;\n\
             select {n} /* m */;\n"
        );
        file.write_all(text.as_bytes()).unwrap();
    }
    reader.until(2000);
}

/// Reads until the other side closes; whether it did.
fn is_closed(socket: &mut TcpStream) -> bool {
    let mut piece = [0; 256];
    loop {
        match socket.read(&mut piece) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(e) => return e.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn readers_that_are_gone_or_never_begin_leave_their_place_on_a_quiet_log() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("slow.log");
    std::fs::write(&log, "").unwrap();
    let Some((cert, key)) = certificate(dir.path()) else {
        fixture::record_skipped_test("openssl");
        return;
    };
    let path = |path: &Path| path.display().to_string();
    let (log_path, cert_path, key_path) = (path(&log), path(&cert), path(&key));
    let words = [
        log_path.as_str(),
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        &cert_path,
        "--tls-key",
        &key_path,
        "--most-readers",
        "2",
    ];
    let ship = Ship::start(dir.path(), &words);
    let address = format!("127.0.0.1:{}", ship.port());
    let url = format!("https://localhost:{}/slow", ship.port());
    let access =
        RemoteAccess { authority: Some(cert), is_packed: false, ..RemoteAccess::default() };
    let open = || open_live(&url, &access, None, &Stop::new());
    // More than are let in before they ask: one says nothing, one is in the midst of its hello, others come late.
    let mut silent = TcpStream::connect(&address).unwrap();
    let mut half = TcpStream::connect(&address).unwrap();
    half.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc").unwrap();
    let flood: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let (first, second) = (open().unwrap(), open().unwrap());
    assert!(open().err().unwrap().to_string().contains("already serving 2 readers"));
    drop((first, second));
    let clock = RealClock::start_now();
    let (third, _fourth) = loop {
        // Their places are free although the log gives nothing to send.
        match (open(), open()) {
            (Ok(third), Ok(fourth)) => break (third, fourth),
            _ => assert!(clock.now() < PATIENCE, "those who are gone are there for ever"),
        }
        pause(100);
    };
    for socket in [&mut silent, &mut half] {
        socket.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        assert!(is_closed(socket));
    }
    drop((flood, third));
}
