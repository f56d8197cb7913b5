//! The room `target` against real servers.
#![expect(clippy::disallowed_methods, reason = "tests start servers and wait for them")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use sweat::base::reactor::{Reactor, Task, block_on};
use sweat::base::{RealClock, Secret, Stop, StopReason};
use sweat::plan::{AddressPlan, Protocol, SslMode, SslPlan};
use sweat::recorder::{ErrorKind, Tally};
use sweat::target::{Error, Session, Target, Value};

/// A private MariaDB server, ended when dropped.
struct Server {
    child: Child,
    dir: tempfile::TempDir,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A data directory made once and copied for each server.
fn template() -> &'static Path {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let done = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .arg(format!("--datadir={}", dir.path().join("data").display()))
            .arg("--user=root")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("mariadb-install-db is installed");
        assert!(done.success());
        dir
    });
    made.path()
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    listener.local_addr().expect("its number").port()
}

impl Server {
    fn start(settings: &[String]) -> Server {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let data = dir.path().join("data");
        let copied = Command::new("cp")
            .args(["-r", "--reflink=auto"])
            .args([&template().join("data"), &data])
            .status()
            .expect("cp");
        assert!(copied.success());
        let port = free_port();
        let log = std::fs::File::create(dir.path().join("log")).expect("a log");
        let child = Command::new("mariadbd")
            .args(["--no-defaults", "--user=root", "--bind-address=127.0.0.1"])
            .args(["--innodb-buffer-pool-size=32M", "--max-allowed-packet=64M"])
            .args(["--innodb-flush-log-at-trx-commit=0", "--local-infile=1"])
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", dir.path().join("s").display()))
            .arg(format!("--port={port}"))
            .args(settings)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("mariadbd is installed");
        let mut server = Server { child, dir, port };
        let began = Instant::now();
        while std::os::unix::net::UnixStream::connect(server.socket()).is_err() {
            let ended = server.child.try_wait().expect("a child");
            let log = || std::fs::read_to_string(server.dir.path().join("log"));
            assert!(ended.is_none(), "the server ended: {:?}", log());
            assert!(began.elapsed() < Duration::from_secs(60), "no server: {:?}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    fn unix(&self, user: &str, password: &str) -> AddressPlan {
        AddressPlan {
            socket: Some(self.socket()),
            user: Some(user.into()),
            password: Some(Secret::new(password)),
            database: Some("mysql".into()),
            ..AddressPlan::default()
        }
    }

    fn tcp(&self, user: &str, password: &str) -> AddressPlan {
        AddressPlan {
            host: Some("127.0.0.1".into()),
            port: Some(self.port),
            protocol: Some(Protocol::Tcp),
            ..self.unix(user, password)
        }
    }
}

fn open(plan: &AddressPlan) -> Result<Session, Error> {
    Target::new(plan)?.connect(&Stop::new())
}

fn root(server: &Server) -> Session {
    open(&server.unix("root", "")).expect("root may log in")
}

/// Runs one future on a reactor of its own.
fn on_reactor<'a>(future: impl Future<Output = ()> + 'a) {
    let reactor = Reactor::new(RealClock::start(), false).expect("a reactor");
    let task: Task<'a> = Box::pin(future);
    reactor.run(&mut [Some(task)], &|| false).expect("it runs");
}

/// What every session must do, whatever its socket.
async fn works(session: &mut Session) {
    let mut tally = Tally::default();
    let reply = session.execute(&mut tally, b"SELECT seq FROM seq_1_to_1000").await.unwrap();
    assert_eq!((reply.rows, tally.rows), (1000, 1000));
    assert!(tally.bytes_received > 1000 * 5 && tally.bytes_sent == 5 + 29);
    let statement =
        session.prepare("SELECT ?, seq FROM seq_1_to_100 WHERE seq <= ?").await.unwrap();
    assert_eq!(statement.parameters, 2);
    for n in 0..50 {
        let values = [Value::Bytes(b"some text"), Value::Int(n)];
        let reply = session.run(&mut tally, &statement, &values).await.unwrap();
        assert_eq!(reply.rows, n as u64);
    }
    let error = session.execute(&mut tally, b"SELECT nonsense").await.unwrap_err();
    assert_eq!((error.kind, error.code), (ErrorKind::Server, 1054));
    assert!(session.error_text().contains("nonsense"));
    assert_eq!(session.execute(&mut tally, b"DO 1").await.unwrap().rows, 0);
}

#[test]
fn sessions_work_blocking_and_on_a_reactor() {
    let server = Server::start(&[]);
    for plan in [server.unix("root", ""), server.tcp("root", "")] {
        let target = Target::new(&plan).unwrap();
        let mut session = target.connect(&Stop::new()).unwrap();
        assert!(session.identity().version.0 >= 10);
        block_on(works(&mut session));
        on_reactor(async {
            let mut session = target.open(&Stop::new()).await.unwrap();
            works(&mut session).await;
            session.quit().await;
        });
    }
}
