//! The room `target` against real servers.
#![expect(clippy::disallowed_methods, reason = "tests wait for real time")]

use std::time::{Duration, Instant};

use sweat::base::reactor::{Reactor, WorkerTask, block_on};
use sweat::base::{RealClock, Secret, Stop, StopReason};
use sweat::client::{Error, Feature, FeatureKind, ParameterValue, ROWS_COUNTER, Session, Target};
use sweat::plan::{AddressPlan, Protocol};
use sweat::recorder::{EventErrorKind, Tally};

use crate::fixture::{self, Fixture};

/// A server, and the ways to it.
pub(crate) struct Server(pub(crate) Fixture);

impl Server {
    /// A MariaDB server, or whatever the machine's own is.
    pub(crate) fn start(settings: &[(&str, &str)]) -> Server {
        let mut all = vec![("max_allowed_packet", "64M"), ("local_infile", "ON")];
        all.extend_from_slice(settings);
        Server::of(fixture::listening(&all))
    }

    /// With an account that may do all and come from anywhere; root may not.
    pub(crate) fn of(fixture: Fixture) -> Server {
        fixture.sql("CREATE USER far@'%'; GRANT ALL ON *.* TO far@'%' WITH GRANT OPTION");
        Server(fixture)
    }

    pub(crate) fn unix(&self, user: &str, password: &str) -> AddressPlan {
        AddressPlan {
            socket: Some(self.0.sandbox.meta().socket.clone()),
            user: Some(user.into()),
            password: Some(Secret::new(password)),
            database: Some("mysql".into()),
            ..AddressPlan::default()
        }
    }

    pub(crate) fn tcp(&self, user: &str, password: &str) -> AddressPlan {
        AddressPlan {
            host: Some("127.0.0.1".into()),
            port: self.0.sandbox.meta().port,
            protocol: Some(Protocol::Tcp),
            ..self.unix(user, password)
        }
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    listener.local_addr().expect("its number").port()
}

pub(crate) fn open(plan: &AddressPlan) -> Result<Session, Error> {
    Target::new(plan)?.connect(&Stop::new())
}

pub(crate) fn root(server: &Server) -> Session {
    open(&server.unix("root", "")).expect("root may log in")
}

/// Runs one future on a reactor of its own.
pub(crate) fn on_reactor<'a>(future: impl Future<Output = ()> + 'a) {
    let reactor = Reactor::new(RealClock::start_now(), false).expect("a reactor");
    let task: WorkerTask<'a> = Box::pin(future);
    reactor.run(&mut [Some(task)], &|| false).expect("it runs");
}

/// What every session must do, whatever its socket.
pub(crate) async fn works(session: &mut Session) {
    let mut tally = Tally::default();
    let reply = session.execute(&mut tally, b"SELECT seq FROM seq_1_to_1000").await.unwrap();
    assert_eq!((reply.rows, tally.counts[ROWS_COUNTER]), (1000, 1000));
    assert!(tally.bytes_received > 1000 * 5 && tally.bytes_sent == 5 + 29);
    let statement =
        session.prepare("SELECT ?, seq FROM seq_1_to_100 WHERE seq <= ?").await.unwrap();
    assert_eq!(statement.parameters, 2);
    for n in 0..50 {
        let values = [ParameterValue::Bytes(b"some text"), ParameterValue::Int(n)];
        let reply = session.execute_prepared(&mut tally, &statement, &values).await.unwrap();
        assert_eq!(reply.rows, n as u64);
    }
    let error = session.execute(&mut tally, b"SELECT nonsense").await.unwrap_err();
    assert_eq!((error.kind, error.code), (EventErrorKind::Server, 1054));
    assert!(session.error_text().contains("nonsense"));
    assert_eq!(session.execute(&mut tally, b"DO 1").await.unwrap().rows, 0);
}

#[test]
fn sessions_work_blocking_and_on_a_reactor() {
    let server = Server::start(&[]);
    for plan in [server.unix("root", ""), server.tcp("far", "")] {
        let target = Target::new(&plan).unwrap();
        let mut session = target.connect(&Stop::new()).unwrap();
        assert!(session.identity().version.0 >= 10);
        block_on(works(&mut session));
        on_reactor(async {
            let mut session = target.open_session(&Stop::new()).await.unwrap();
            works(&mut session).await;
            session.quit().await;
        });
    }
}

/// Every word of the dialect must mean something to the server.
fn speaks(session: &mut Session) {
    let identity = session.identity().clone();
    for word in Feature::list_all() {
        let Some(name) = identity.feature_text(word) else { continue };
        let sql = match word.kind() {
            FeatureKind::Statement if name.contains('{') => {
                identity.limit_statement(Duration::from_millis(2500)).expect("it has the word")
            }
            FeatureKind::Statement => name.to_owned(),
            FeatureKind::Column => continue,
            FeatureKind::Prefix => format!("{name} SELECT 1"),
            FeatureKind::Variable => format!("SELECT @@{name}"),
            FeatureKind::Status => format!("SHOW GLOBAL STATUS LIKE '{name}'"),
            FeatureKind::Metric => {
                format!("SELECT name FROM information_schema.INNODB_METRICS WHERE name = '{name}'")
            }
            FeatureKind::Table => format!("SELECT 1 FROM {name} LIMIT 0"),
            FeatureKind::Condition => {
                format!("SELECT name FROM information_schema.INNODB_METRICS WHERE {name}")
            }
        };
        let rows = session.query_rows(&sql).unwrap_or_else(|e| panic!("{identity}: {sql}: {e}"));
        let some = matches!(
            word.kind(),
            FeatureKind::Status
                | FeatureKind::Metric
                | FeatureKind::Condition
                | FeatureKind::Prefix
        );
        assert!(!some || !rows.rows.is_empty(), "{identity}: nothing for {sql}");
    }
    let rows =
        session.query_rows(identity.feature_text(Feature::VariablesWithOrigin).unwrap()).unwrap();
    assert_eq!(rows.columns.len(), 4);
    assert!(rows.rows.len() > 300);
}

#[test]
fn the_dialect_is_understood() {
    speaks(&mut root(&Server::start(&[])));
    if let Some(fixture) = fixture::mysql_listening(&[]) {
        speaks(&mut root(&Server::of(fixture)));
    }
}

#[test]
fn errors_are_told_apart() {
    let server = Server::start(&[]);
    let mut admin = root(&server);
    admin.run_command("CREATE USER a@localhost IDENTIFIED BY 'right'").unwrap();
    assert!(open(&AddressPlan { database: None, ..server.unix("a", "right") }).is_ok());
    let error = open(&server.unix("a", "wrong")).unwrap_err();
    assert!(matches!(error, Error::Login { code: 1045, .. }), "{error}");
    assert!(error.hint().is_some() && !error.to_string().contains("wrong"));
    let error = open(&AddressPlan { database: Some("nowhere".into()), ..server.tcp("far", "") });
    assert!(matches!(error, Err(Error::Login { code: 1049, .. })), "{error:?}");
    let error = open(&AddressPlan { socket: Some("/nowhere/s".into()), ..server.unix("a", "") });
    assert!(matches!(error, Err(Error::Connect { code: 2, .. })), "{error:?}");
    let error = open(&AddressPlan { port: Some(free_port()), ..server.tcp("far", "") });
    assert!(matches!(error, Err(Error::Connect { code: 111, .. })), "{error:?}");
    let error = Target::new(&AddressPlan {
        host: Some("no.such.name.invalid".into()),
        ..server.tcp("a", "")
    });
    assert!(matches!(error, Err(Error::Connect { .. })), "{error:?}");

    let mut session = root(&server);
    assert!(matches!(session.run_command("BOGUS"), Err(Error::Server { code: 1064, .. })));
    assert!(session.is_usable());
    assert_eq!(session.query_scalar("SELECT 'alive'").unwrap().as_deref(), Some("alive"));
    admin.run_command(&format!("KILL {}", session.id())).unwrap();
    assert!(matches!(session.run_command("DO 1"), Err(Error::Lost { .. })));
    assert!(!session.is_usable());
    assert!(matches!(session.query_rows("SELECT 1"), Err(Error::Lost { .. })), "it stays lost");

    // Killed in the middle of a statement.
    let mut session = root(&server);
    let id = session.id();
    let killer = std::thread::spawn({
        let plan = server.unix("root", "");
        move || {
            std::thread::sleep(Duration::from_millis(300));
            open(&plan).unwrap().run_command(&format!("KILL {id}")).unwrap();
        }
    });
    let error = block_on(session.execute(&mut Tally::default(), b"SELECT SLEEP(20)")).unwrap_err();
    killer.join().unwrap();
    // MariaDB ends the statement with an error or closes at once; either way the session is gone next.
    if error.kind == EventErrorKind::Server {
        assert!(matches!(session.run_command("DO 1"), Err(Error::Lost { .. })));
    } else {
        assert_eq!(error.kind, EventErrorKind::Lost);
    }
}

#[test]
fn a_statement_given_up_on_ends_on_the_server_too() {
    let server = Server::start(&[]);
    let stop = Stop::new();
    let mut session = Target::new(&server.tcp("far", "")).unwrap().connect(&stop).unwrap();
    let setter = std::thread::spawn({
        let stop = stop.clone();
        move || {
            std::thread::sleep(Duration::from_millis(200));
            stop.set(StopReason::Interrupted);
        }
    });
    let began = Instant::now();
    let error = session.query_rows("SELECT SLEEP(30)").unwrap_err();
    assert!(matches!(error, Error::Abandoned), "{error}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    setter.join().unwrap();
    assert!(matches!(session.query_rows("SELECT 1"), Err(Error::Abandoned)));
    let mut admin = root(&server);
    let ended = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let running =
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE info LIKE '%SLEEP(30)'";
        admin.query_scalar(running).unwrap().as_deref() == Some("0")
    });
    assert!(ended, "the statement still runs");
}

#[test]
fn several_results() {
    let server = Server::start(&[]);
    let target = Target::new(&server.unix("root", "")).unwrap();
    let mut session = target.connect(&Stop::new()).unwrap();
    assert!(matches!(
        session.run_command("SELECT 1; SELECT 2"),
        Err(Error::Server { code: 1064, .. })
    ));
    session
        .run_command("CREATE PROCEDURE p(n INT) BEGIN SELECT 1 a; SELECT n, 2; DO 3; END")
        .unwrap();
    let mut tally = Tally::default();
    assert_eq!(block_on(session.execute(&mut tally, b"CALL p(7)")).unwrap().rows, 2);
    let statement = block_on(session.prepare("CALL p(?)")).unwrap();
    for _ in 0..3 {
        let reply =
            block_on(session.execute_prepared(&mut tally, &statement, &[ParameterValue::Int(8)]))
                .unwrap();
        assert_eq!(reply.rows, 2);
    }
    let rows = session.query_rows("CALL p(7)").unwrap();
    assert_eq!((rows.columns, rows.rows), (vec!["a".to_owned()], vec![vec![Some(b"1".to_vec())]]));

    let mut many = target.with_multi_statements().connect(&Stop::new()).unwrap();
    let sql = b"SELECT 1; DO 2; SELECT 3, 4; SELECT 5";
    assert_eq!(block_on(many.execute(&mut tally, sql)).unwrap().rows, 3);
    let error = block_on(many.execute(&mut tally, b"SELECT 1; SELECT nonsense; SELECT 2"));
    assert_eq!(error.unwrap_err().code, 1054);
    assert_eq!(many.query_scalar("SELECT 6").unwrap().as_deref(), Some("6"));
    block_on(many.close_statement(statement)).unwrap();
    assert_eq!(many.query_scalar("SELECT 7").unwrap().as_deref(), Some("7"));
}

#[test]
fn packets_of_sixteen_megabytes_and_more() {
    const CHUNK: usize = 0xFF_FFFF;
    let server = Server::start(&[]);
    let target = Target::new(&server.tcp("far", "")).unwrap();
    let mut session = target.connect(&Stop::new()).unwrap();
    let mut tally = Tally::default();
    for length in [CHUNK - 5, CHUNK - 4, CHUNK - 3, CHUNK, 40_000_000] {
        let sql = format!("SELECT REPEAT('x', {length})");
        let reply = block_on(session.execute(&mut tally, sql.as_bytes())).unwrap();
        assert_eq!(reply.rows, 1);
        let rows = session.query_rows(&sql).unwrap();
        let value = rows.rows[0][0].as_ref().unwrap();
        assert!(*value == vec![b'x'; length]);
    }
    // Statements whose packet is just short of, exactly, and over the limit of one packet.
    for length in [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 7] {
        let mut sql = b"SELECT LENGTH('".to_vec();
        sql.resize(length - 1 - 2, b'y');
        sql.extend_from_slice(b"')");
        let text = String::from_utf8(sql).unwrap();
        let expected = (length - 1 - 2 - 15).to_string();
        assert_eq!(session.query_scalar(&text).unwrap(), Some(expected));
    }
    let statement = block_on(session.prepare("SELECT LENGTH(?) = 33333333, ?")).unwrap();
    let big = vec![b'z'; 33_333_333];
    on_reactor(async {
        let mut session = target.open_session(&Stop::new()).await.unwrap();
        let statement = session.prepare("SELECT LENGTH(?), ?").await.unwrap();
        let mut tally = Tally::default();
        for _ in 0..2 {
            let values = [ParameterValue::Bytes(&big), ParameterValue::Null];
            assert_eq!(
                session.execute_prepared(&mut tally, &statement, &values).await.unwrap().rows,
                1
            );
        }
        assert!(tally.bytes_sent > 66_666_666);
        let sql = b"SELECT REPEAT('x', 40000000)";
        assert_eq!(session.execute(&mut tally, sql).await.unwrap().rows, 1);
        assert!(tally.bytes_received > 40_000_000);
    });
    let values = [ParameterValue::Bytes(&big), ParameterValue::Double(0.5)];
    assert_eq!(
        block_on(session.execute_prepared(&mut tally, &statement, &values)).unwrap().rows,
        1
    );
}

#[test]
fn files_are_sent_only_when_offered() {
    let server = Server::start(&[]);
    let mut session = root(&server);
    session.run_command("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20))").unwrap();
    let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE t";
    let mut data = Vec::new();
    for n in 0..100_000 {
        data.extend_from_slice(format!("{n}\tnumber {n}\n").as_bytes());
    }
    let reply = session.load_local(load, &mut &data[..]).unwrap();
    assert_eq!(reply.affected, 100_000);
    let last = session.query_scalar("SELECT b FROM t WHERE a = 99999").unwrap();
    assert_eq!(last.as_deref(), Some("number 99999"));
    // Duplicates are passed over by LOCAL; an empty file is a file too.
    assert_eq!(session.load_local(load, &mut &data[..100]).unwrap().affected, 0);
    assert_eq!(session.load_local(load, &mut std::io::empty()).unwrap().affected, 0);
    assert!(matches!(session.load_local("BOGUS", &mut &data[..]), Err(Error::Server { .. })));
    assert_eq!(session.load_local("DO 1", &mut &data[..]).unwrap().affected, 0);

    session.run_command("DELETE FROM t").unwrap();
    let error =
        session.run_command("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t").unwrap_err();
    assert!(matches!(error, Error::Protocol(_)), "{error}");
    assert!(matches!(session.run_command("DO 1"), Err(Error::Protocol(_))));
    let mut session = root(&server);
    assert!(matches!(session.query_rows(load), Err(Error::Protocol(_))));
    // A worker's session does not even say that it could.
    let target = Target::new(&server.unix("root", "")).unwrap();
    let mut worker = block_on(target.open_session(&Stop::new())).unwrap();
    let error = block_on(worker.execute(&mut Tally::default(), load.as_bytes())).unwrap_err();
    assert_eq!(error.kind, EventErrorKind::Server);

    // Data that can't be read to its end leaves nothing behind.
    struct Breaks(usize);
    impl std::io::Read for Breaks {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.0 == 0 {
                return Err(std::io::Error::other("broken"));
            }
            self.0 -= 1;
            let line = format!("{}\tx\n", self.0);
            buffer[..line.len()].copy_from_slice(line.as_bytes());
            Ok(line.len())
        }
    }
    let mut session = root(&server);
    let error = session.load_local(load, &mut Breaks(100_000)).unwrap_err();
    assert!(matches!(&error, Error::Lost { why, .. } if why.contains("broken")), "{error}");
    let mut session = root(&server);
    assert_eq!(session.query_scalar("SELECT COUNT(*) FROM t").unwrap().as_deref(), Some("0"));
}

#[test]
fn a_future_dropped_half_way_leaves_no_usable_session() {
    let server = Server::start(&[]);
    let target = Target::new(&server.unix("root", "")).unwrap();
    on_reactor(async {
        let mut session = target.open_session(&Stop::new()).await.unwrap();
        {
            let mut tally = Tally::default();
            let mut future = Box::pin(session.execute(&mut tally, b"SELECT SLEEP(0.2)"));
            let polled =
                std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx)));
            assert!(polled.await.is_pending());
        }
        let error = session.execute(&mut Tally::default(), b"DO 1").await.unwrap_err();
        assert_eq!(error.kind, EventErrorKind::Protocol);
        // What blocks says so instead of standing still.
        assert!(matches!(target.connect(&Stop::new()), Err(Error::Protocol(_))));
        let mut other = target.open_session(&Stop::new()).await.unwrap();
        assert!(matches!(other.query_rows("SELECT 1"), Err(Error::Protocol(_))));
        assert!(session.error_text().contains("earlier"), "{}", session.error_text());
    });
}

#[test]
fn hundreds_of_sessions_on_one_reactor() {
    // A short queue: connecting to the socket must ask again.
    let socket = Server::start(&[("max_connections", "600"), ("back_log", "20")]);
    let tcp = Server::start(&[("max_connections", "600"), ("back_log", "400")]);
    for plan in [socket.unix("root", ""), tcp.tcp("far", "")] {
        let target = Target::new(&plan).unwrap();
        let done = std::cell::Cell::new(0);
        let live = async || {
            let mut session = target.open_session(&Stop::new()).await.unwrap();
            let statement =
                session.prepare("SELECT seq FROM seq_1_to_10 WHERE seq > ?").await.unwrap();
            let mut tally = Tally::default();
            for n in 0..20 {
                let reply = session
                    .execute_prepared(&mut tally, &statement, &[ParameterValue::Int(n % 10)])
                    .await
                    .unwrap();
                assert_eq!(reply.rows, 10 - (n % 10) as u64);
            }
            session.quit().await;
            done.set(done.get() + 1);
        };
        let mut tasks: Vec<Option<WorkerTask<'_>>> = Vec::new();
        for _ in 0..300 {
            tasks.push(Some(Box::pin(live())));
        }
        let reactor = Reactor::new(RealClock::start_now(), false).unwrap();
        reactor.run(&mut tasks, &|| false).unwrap();
        drop(tasks);
        assert_eq!(done.get(), 300);
    }
}
