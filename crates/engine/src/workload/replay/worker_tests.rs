//! Seats in simulated time against a server that says yes to all.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use crate::base::reactor::block_on;
use crate::base::{Nanos, Stop};
use crate::client::Target;
use crate::plan::{AddressPlan, Options, Protocol, SslMode, SslPlan};
use crate::recorder::{
    EventError, EventErrorKind, EventOutcome, EventRecord, ReplayTotals, StepLatency, Tally,
};
use crate::workload::{
    OpenError, RecordedLoad as _, WorkerContext, WorkerPace, Workload as _, WorkloadKind as _,
};

const MS: u64 = 1_000_000;
const START: Nanos = Nanos(5_000 * MS);
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// What a server heard, by connection: statements, and changes of database as `db NAME`.
type Heard = Arc<Mutex<Vec<Vec<String>>>>;

/// A server that says yes; but it has no room for the connections of some numbers, and goes away at a statement that
/// holds `die`.
struct Server {
    heard: Heard,
    target: Target,
}

fn say(to: &mut TcpStream, sequence: u8, payload: &[u8]) {
    let mut bytes = (payload.len() as u32).to_le_bytes();
    bytes[3] = sequence;
    let _ = to.write_all(&[&bytes, payload].concat());
}

fn hear(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = [0; 4];
    from.read_exact(&mut head).ok()?;
    let mut payload = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    from.read_exact(&mut payload).ok()?;
    Some(payload)
}

fn serve(mut client: TcpStream, number: usize, refuses: &Range<usize>, heard: &Heard) {
    if refuses.contains(&number) {
        return say(&mut client, 0, b"\xff\x10\x04#08004Too many connections");
    }
    let mut greeting = b"\x0a8.0.0-play\0\x07\0\0\0abcdefgh\0\xff\xf7\x2d\x02\0".to_vec();
    greeting.extend_from_slice(&[0xff, 1, 0x15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    greeting.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    say(&mut client, 0, &greeting);
    hear(&mut client);
    say(&mut client, 2, OK);
    let place = {
        let mut heard = heard.lock().unwrap();
        heard.push(Vec::new());
        heard.len() - 1
    };
    while let Some(command) = hear(&mut client) {
        let text = String::from_utf8_lossy(&command[1..]).into_owned();
        let text = match command[0] {
            3 => text,
            2 => format!("db {text}"),
            _ => return,
        };
        let dies = text.contains("die");
        // What every session is held to is not what these tests are about, but for the one that is renewed.
        if !text.starts_with("SET SESSION ") || text.ends_with("READ ONLY") {
            heard.lock().unwrap()[place].push(text);
        }
        if dies {
            return;
        }
        say(&mut client, 1, OK);
    }
}

fn server(refuses: Range<usize>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Heard::default();
    let told = heard.clone();
    std::thread::spawn(move || {
        for (number, client) in listener.incoming().map_while(Result::ok).enumerate() {
            let (told, refuses) = (told.clone(), refuses.clone());
            std::thread::spawn(move || serve(client, number, &refuses, &told));
        }
    });
    let plan = AddressPlan {
        host: Some("127.0.0.1".into()),
        port: Some(port),
        protocol: Some(Protocol::Tcp),
        user: Some("u".into()),
        ssl: SslPlan { mode: Some(SslMode::Disabled), ..SslPlan::default() },
        ..AddressPlan::default()
    };
    Server { heard, target: Target::new(&plan).unwrap() }
}

/// An event as the pace saw it: when it was due and began, milliseconds from the start, its class, its error.
type Seen = (u64, u64, u16, Option<EventError>);

/// The pace of one seat in a time of its own, in which every event takes a millisecond.
struct Sim<'a> {
    now: Nanos,
    intended: Nanos,
    started: Nanos,
    seen: &'a Mutex<Vec<Seen>>,
}

impl WorkerPace for Sim<'_> {
    fn poll_open(&mut self, _: &mut Context<'_>) -> Poll<bool> {
        Poll::Ready(true)
    }
    fn note_opened(&mut self, result: Result<(), OpenError>) {
        result.unwrap();
    }
    fn poll_load_start(&mut self, _: &mut Context<'_>) -> Poll<bool> {
        self.now = START;
        Poll::Ready(true)
    }
    fn now(&self) -> Nanos {
        self.now
    }
    fn poll_over(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
    fn poll_event_start(&mut self, _: &mut Context<'_>, own: Option<Nanos>) -> Poll<bool> {
        let Some(at) = own else { return Poll::Ready(false) };
        self.intended = at;
        self.now = self.now.max(at);
        self.started = self.now;
        Poll::Ready(true)
    }
    fn end_event(&mut self, outcome: EventOutcome, _: &Tally) -> EventRecord {
        self.now = self.now + Nanos(MS);
        let since = |at: Nanos| at.since(START).0 / MS;
        let seen = (since(self.intended), since(self.started), outcome.class.0, outcome.error);
        self.seen.lock().unwrap().push(seen);
        EventRecord { outcome, intended: self.intended, started: self.started, ended: self.now }
    }
    fn restart_event(&mut self, _: EventOutcome, _: &Tally) -> bool {
        false
    }
    fn fail_start(&mut self, _: String) {}
    fn fail_load(&mut self, _: String) {}
    fn note_steps(&mut self, _: &[StepLatency]) {}
    fn set_think_time(&mut self, _: Nanos) {}
    fn error_text(&mut self, _: EventError, _: &str) {}
    fn discard_event(&mut self) {}
    fn poll_reopen(&mut self, _: &mut Context<'_>) -> Poll<bool> {
        Poll::Ready(false)
    }
    fn note_reopened(&mut self, _: &Result<(), OpenError>) {}
    fn note_renewed(&mut self) {}
    fn note_outage(&mut self, _: Nanos) {}
}

/// A record: session, begin in milliseconds, statement.
fn log(records: &[(u64, u64, &str)], to: &Path) -> String {
    let mut text = String::new();
    for (session, at_ms, statement) in records {
        let end_us = at_ms * 1000 + 100;
        text += &format!(
            "# Time: 2026-11-21T07:12:{:02}.{:06}Z\n\
             # User@Host: u[u] @ localhost []  Id: {session:5}\n\
             # Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n\
             use a;\nSET timestamp=1795248000;\n{statement};\n",
            end_us / 1_000_000,
            end_us % 1_000_000,
        );
    }
    let path = to.join("slow.log");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn part(worker: usize, workers: usize) -> WorkerContext {
    WorkerContext {
        worker,
        workers,
        seed: 0,
        shares_thread: false,
        only_class: None,
        abandon: Stop::new(),
    }
}

/// Plays a log on one seat; gives the events in order.
fn play(
    records: &[(u64, u64, &str)],
    given: &[(&str, &str)],
    server: &Server,
) -> (Vec<Seen>, ReplayTotals) {
    let dir = tempfile::tempdir().unwrap();
    let mut all = vec![("log".to_owned(), log(records, dir.path()))];
    all.extend(given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
    let kind = super::super::ReplayKind;
    let options = Options::from_given(&kind.option_specs(), &all).unwrap();
    // What a real server is asked first, this one could not tell.
    let setup = super::super::ReplaySetup::new(&options).unwrap();
    let workload = super::super::ReplayWorkload::new(setup.clone(), server.target.clone());
    workload.setup.set(setup.into()).unwrap();
    let seen = Mutex::new(Vec::new());
    let sim = Sim { now: Nanos(0), intended: Nanos(0), started: Nanos(0), seen: &seen };
    let life: Pin<Box<dyn Future<Output = ()> + '_>> =
        workload.new_worker(part(0, 1)).unwrap().run(Box::new(sim));
    block_on(life);
    let replayed = workload.replay_totals().unwrap();
    (seen.into_inner().unwrap(), replayed)
}

/// When statements, but no connects, were due and began.
fn times(seen: &[Seen]) -> Vec<(u64, u64)> {
    seen.iter().filter(|seen| seen.2 != 0).map(|seen| (seen.0, seen.1)).collect()
}

const THREE: &[(u64, u64, &str)] =
    &[(8, 1000, "select 1"), (8, 1040, "select 2"), (8, 1300, "select 3")];

#[test]
fn recorded_times_are_kept_at_any_speed() {
    let server = server(0..0);
    let (seen, replayed) = play(THREE, &[], &server);
    // The first needs the connection, which takes until 1 ms.
    assert_eq!(times(&seen), [(0, 1), (40, 40), (300, 300)]);
    assert_eq!((replayed.sent, replayed.span_us), (3, 300_000));
    assert_eq!(replayed.lag_ns.max_ns() / MS, 1);
    let (seen, _) = play(THREE, &[("speed", "2")], &server);
    assert_eq!(times(&seen), [(0, 1), (20, 20), (150, 150)]);
    let (seen, _) = play(THREE, &[("speed", "0.5")], &server);
    assert_eq!(times(&seen), [(0, 1), (80, 80), (600, 600)]);
    let (seen, replayed) = play(THREE, &[("timing", "fast")], &server);
    assert_eq!(times(&seen), [(1, 1), (2, 2), (3, 3)]);
    assert!(replayed.lag_ns.is_empty(), "there is no schedule");
}

#[test]
fn a_session_connects_before_its_first_statement_is_due() {
    let records = &[(8, 1000, "select 1"), (9, 1500, "select 2")];
    let (seen, replayed) = play(records, &[], &server(0..0));
    let all: Vec<_> = seen.iter().map(|seen| (seen.0, seen.2)).collect();
    assert_eq!(all, [(0, 0), (0, 1), (480, 0), (500, 1)]);
    assert_eq!((replayed.sessions, replayed.sessions_at_once), (2, 1));
}

#[test]
fn each_session_has_a_connection_and_its_state_is_made_once() {
    let records: &[(u64, u64, &str)] = &[
        (8, 0, "select 1"),
        (8, 10, "set @@session.sql_mode = 'ANSI'"),
        (8, 20, "select 2"),
        (8, 25, "begin"),
        (8, 30, "select 3 for update"),
        (8, 35, "rollback"),
        (9, 50, "delete from t"),
        (9, 60, "select 4"),
    ];
    let server = server(0..0);
    let (_, replayed) = play(records, &[("timing", "fast")], &server);
    let guard = "SET SESSION TRANSACTION READ ONLY";
    let heard = server.heard.lock().unwrap();
    let heard: Vec<_> = heard.iter().filter(|all| all.iter().any(|text| text == guard)).collect();
    assert_eq!(
        heard[0][..],
        [
            guard,
            "db a",
            "select 1",
            "set @@session.sql_mode = 'ANSI'",
            guard,
            "select 2",
            "START TRANSACTION READ ONLY",
            "select 3",
            "ROLLBACK"
        ]
        .map(str::to_owned)[..]
    );
    assert_eq!(heard[1][..], [guard, "db a", "select 4"].map(str::to_owned)[..]);
    assert_eq!(heard.len(), 2);
    assert_eq!(replayed.left_out[0].reason, "writes");
    assert_eq!(replayed.left_out[0].example.as_ref().map(|e| e.1.as_str()), Some("delete from t"));
}

#[test]
fn a_lost_connection_is_made_again_with_what_the_session_had_set() {
    let records: &[(u64, u64, &str)] =
        &[(8, 0, "set @@session.sql_mode = 'ANSI'"), (8, 10, "select 'die'"), (8, 20, "select 2")];
    let server = server(0..0);
    let (seen, replayed) = play(records, &[("timing", "fast")], &server);
    let lost = EventError { kind: EventErrorKind::Server, code: 2013 };
    let errors: Vec<_> = seen.iter().filter_map(|seen| seen.3).collect();
    assert_eq!(errors, [lost]);
    assert_eq!(replayed.sent, 3);
    let heard = server.heard.lock().unwrap();
    let guard = "SET SESSION TRANSACTION READ ONLY";
    let set = "set @@session.sql_mode = 'ANSI'";
    let again = [guard, set, guard, "db a", "select 2"].map(str::to_owned);
    assert_eq!(heard.last().unwrap()[..], again[..]);
}

#[test]
fn a_server_without_room_is_asked_again_and_at_last_the_session_is_left_out() {
    let (seen, replayed) = play(&THREE[..1], &[("timing", "fast")], &server(0..2));
    let full = EventError { kind: EventErrorKind::Server, code: 1040 };
    assert_eq!(seen.iter().filter_map(|seen| seen.3).collect::<Vec<_>>(), [full; 2]);
    // Each attempt takes 1 ms; the pauses are 100 and 200 ms.
    assert_eq!(seen.iter().map(|seen| seen.1).collect::<Vec<_>>(), [0, 101, 302, 303]);
    assert_eq!(replayed.sent, 1);
    let (seen, replayed) = play(&THREE[..1], &[("timing", "fast")], &server(0..100));
    assert_eq!((seen.len(), replayed.sent), (20, 0));
    assert_eq!(replayed.left_out[0].reason, "no connection was available for its session");
    assert_eq!(replayed.left_out[0].count, 1);
}

#[test]
fn a_transaction_cut_at_the_begin_is_left_out_until_it_ends() {
    let records: &[(u64, u64, &str)] = &[
        (8, 0, "select 1"),
        (9, 1, "select 2"),
        (8, 2, "commit"),
        (8, 3, "select 3"),
        (9, 4, "begin"),
        (9, 5, "select 4"),
        (9, 6, "commit"),
    ];
    let sent = |given: &[(&str, &str)]| {
        let server = server(0..0);
        let (_, replayed) = play(records, &[given, &[("timing", "fast")]].concat(), &server);
        let cut = replayed.left_out.iter().find(|left| left.reason.contains("before the log"));
        (replayed.sent, cut.map_or(0, |left| left.count))
    };
    assert_eq!(sent(&[]), (5, 2), "its end tells that session 8 was inside one, 9 was not");
    assert_eq!(sent(&[("from-start", "on")]), (7, 0));
}
