//! A log served and read over real sockets.

use std::fs::File;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::base::StopReason;
use crate::capture::ship::{LogServer, ServeOptions};
use crate::capture::{LogFlow, LogParser};

fn record(n: u64) -> String {
    format!(
        "# Time: 2026-11-21T07:12:09.637423Z\n# User@Host: r[r] @ h []  Id: {}\n\
         # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\nSET timestamp=1;\n\
         select {n}, 'x;\n# User@Host: e[e] @ h []  Id: 9\n';\n",
        n % 7
    )
}

fn add(path: &Path, numbers: std::ops::Range<u64>) {
    let mut file = File::options().append(true).create(true).open(path).unwrap();
    numbers.for_each(|n| file.write_all(record(n).as_bytes()).unwrap());
}

fn serving(port: u16) -> ServeOptions {
    ServeOptions {
        listen: SocketAddr::from(([127, 0, 0, 1], port)),
        token: None,
        tls: None,
        most_readers: 4,
        patience: Nanos(60_000_000_000),
    }
}

/// A server of a log, on a thread.
struct Shipping {
    address: SocketAddr,
    stop: Stop,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Shipping {
    fn start(path: &Path, plan: ServeOptions) -> Shipping {
        let mut watch = LogWatcher::open(path, 1 << 20).unwrap();
        let server = LogServer::bind(plan).unwrap();
        let (address, stop) = (server.local_address().unwrap(), Stop::new());
        let flag = stop.clone();
        let thread = std::thread::spawn(move || {
            server.run(&mut watch, &flag, &mut |_, _| Ok(())).unwrap();
        });
        Shipping { address, stop, thread: Some(thread) }
    }

    fn url(&self, rest: &str) -> String {
        format!("http://{}/slow{rest}", self.address)
    }

    fn end(&mut self) {
        self.stop.set(StopReason::Done);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    fn ask(&self, text: &str) -> String {
        let mut socket = TcpStream::connect(self.address).unwrap();
        socket.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = socket.read_to_string(&mut answer);
        answer
    }
}

impl Drop for Shipping {
    fn drop(&mut self) {
        self.end();
    }
}

/// Numbers of the statements that come until there are so many.
fn numbers(source: &mut dyn Read, log: &mut LogParser, count: usize) -> Vec<u64> {
    let clock = RealClock::start_now();
    let (mut found, mut piece) = (Vec::new(), vec![0; 5000]);
    while found.len() < count && clock.now() < Nanos(20_000_000_000) {
        let on = &mut |r: &crate::capture::LogRecord<'_>| {
            let text = String::from_utf8_lossy(r.text).into_owned();
            let number = text.strip_prefix("select ").unwrap_or_else(|| panic!("{r:?}"));
            let number = number.split(',').next().unwrap();
            found.push(number.parse().unwrap());
            LogFlow::Continue(())
        };
        match source.read(&mut piece) {
            Ok(0) => panic!("a live source ended"),
            Ok(read) => drop(log.push(&piece[..read], on).unwrap()),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => drop(log.flush_quiet(on).unwrap()),
            Err(e) => panic!("{e}"),
        }
    }
    found
}

#[test]
fn readers_get_each_record_once_plain_and_packed_while_one_of_them_sleeps() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("slow.log");
    add(&path, 0..3);
    let shipping = Shipping::start(&path, serving(0));
    let stop = Stop::new();
    // Takes its head, and then nothing.
    let mut sleeper = TcpStream::connect(shipping.address).unwrap();
    sleeper.write_all(b"GET /slow?from=begin HTTP/1.1\r\n\r\n").unwrap();
    let open = |is_packed| {
        let access = RemoteAccess { is_packed, ..RemoteAccess::default() };
        open_live(&shipping.url(""), &access, None, &stop).unwrap()
    };
    let (mut plain, mut packed) = (open(false), open(HAS_ZSTD));
    let clock = RealClock::start_now();
    clock.sleep_until(Nanos(300_000_000));
    add(&path, 3..2000);
    std::fs::rename(&path, dir.path().join("slow.log.1")).unwrap();
    add(&path, 2000..4000);
    let want: Vec<u64> = (3..4000).collect();
    for source in [&mut plain, &mut packed] {
        assert_eq!(numbers(source, &mut LogParser::default(), want.len()), want);
    }
    let status = shipping.ask("GET /status HTTP/1.1\r\n\r\n");
    let body = status.split_once("\r\n\r\n").unwrap().1;
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["readers"], &body["rotations"]), (&3.into(), &1.into()), "{body}");
    let metrics = shipping.ask("GET /metrics HTTP/1.1\r\n\r\n");
    assert!(metrics.contains("sweat_ship_rotations_total 1\n") && metrics.ends_with("# EOF\n"));
}

#[test]
fn wrong_words_get_a_status_and_too_many_readers_are_sent_away() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("slow.log");
    add(&path, 0..3);
    let plan = ServeOptions { token: Some(Secret::new("good")), most_readers: 1, ..serving(0) };
    let shipping = Shipping::start(&path, plan);
    let status = |text: &str| shipping.ask(text).lines().next().unwrap_or_default().to_owned();
    assert_eq!(status("GET /slow HTTP/1.1\r\n\r\n"), "HTTP/1.1 401 Unauthorized");
    assert_eq!(status("nonsense\r\n\r\n"), "HTTP/1.1 400 Bad Request");
    let long = format!("GET /slow HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(20_000));
    assert_eq!(status(&long), "HTTP/1.1 431 Request Header Fields Too Large");
    let good = "HTTP/1.1\r\nAuthorization: Bearer good\r\n\r\n";
    assert_eq!(status(&format!("GET /x {good}")), "HTTP/1.1 404 Not Found");
    assert_eq!(status(&format!("POST /slow {good}")), "HTTP/1.1 405 Method Not Allowed");
    let access = RemoteAccess { token: Some(Secret::new("good")), ..RemoteAccess::default() };
    let stop = Stop::new();
    let first = open_live(&shipping.url(""), &access, None, &stop).unwrap();
    let second = open_live(&shipping.url(""), &access, None, &stop);
    assert!(second.err().unwrap().to_string().contains("already serving 1 readers"));
    drop(first);
    let wrong = RemoteAccess { token: Some(Secret::new("bad")), ..RemoteAccess::default() };
    let error = open_live(&shipping.url(""), &wrong, None, &stop).err().unwrap().to_string();
    assert!(error.contains("token"), "{error}");
    let open = ServeOptions { listen: "0.0.0.0:0".parse().unwrap(), ..serving(0) };
    assert!(LogServer::bind(open).err().unwrap().to_string().contains("without a token"));
}

/// Passes bytes on until it is told to cut every connection, also in the midst of a chunk.
struct Proxy {
    address: SocketAddr,
    is_cut: Arc<AtomicBool>,
}

impl Proxy {
    fn start(to: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_cut = Arc::new(AtomicBool::new(false));
        let flag = is_cut.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let mut down = socket.unwrap();
                if flag.load(Ordering::SeqCst) {
                    continue;
                }
                let mut up = TcpStream::connect(to).unwrap();
                let (mut down2, mut up2) = (down.try_clone().unwrap(), up.try_clone().unwrap());
                std::thread::spawn(move || io::copy(&mut down2, &mut up2));
                let flag = flag.clone();
                std::thread::spawn(move || {
                    let mut piece = [0; 777];
                    while let Ok(read @ 1..) = up.read(&mut piece) {
                        if flag.load(Ordering::SeqCst) || down.write_all(&piece[..read]).is_err() {
                            break;
                        }
                    }
                    let _ = (
                        up.shutdown(std::net::Shutdown::Both),
                        down.shutdown(std::net::Shutdown::Both),
                    );
                });
            }
        });
        Proxy { address, is_cut }
    }
}

#[test]
fn a_cut_of_the_net_a_killed_server_and_a_killed_reader_lose_and_double_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("slow.log");
    add(&path, 0..3);
    let mut shipping = Shipping::start(&path, serving(0));
    let proxy = Proxy::start(shipping.address);
    let stop = Stop::new();
    let url = format!("http://{}/slow", proxy.address);
    let access = RemoteAccess { is_packed: HAS_ZSTD, ..RemoteAccess::default() };
    let mut live = open_live(&url, &access, None, &stop).unwrap();
    let mut log = LogParser::default();
    let clock = RealClock::start_now();
    clock.sleep_until(Nanos(300_000_000));
    let mut found = Vec::new();
    add(&path, 3..1500);
    found.extend(numbers(&mut live, &mut log, 400));
    // The net is cut while the log goes on and is rotated.
    proxy.is_cut.store(true, Ordering::SeqCst);
    add(&path, 1500..2500);
    std::fs::rename(&path, dir.path().join("slow.log.1")).unwrap();
    add(&path, 2500..3000);
    let mut piece = vec![0; 100];
    let until = clock.now() + Nanos(400_000_000);
    let mut rest = Vec::new();
    while clock.now() < until {
        match live.read(&mut piece) {
            Ok(read) => rest.extend_from_slice(&piece[..read]),
            Err(e) => assert_eq!(e.kind(), io::ErrorKind::WouldBlock),
        }
    }
    proxy.is_cut.store(false, Ordering::SeqCst);
    let mut all = rest.as_slice().chain(&mut live);
    found.extend(numbers(&mut all, &mut log, 2997 - found.len()));
    assert_eq!(found, (3..3000).collect::<Vec<_>>());
    assert!(live.take_notes().iter().any(|note| note.contains("reconnected")));
    // The server dies and comes back at the same port.
    let port = shipping.address.port();
    shipping.end();
    add(&path, 3000..3100);
    let _again = Shipping::start(&path, serving(port));
    assert_eq!(numbers(&mut live, &mut log, 100), (3000..3100).collect::<Vec<_>>());
    // The reader is killed; another goes on at its mark.
    let mark = live.mark_at(u64::MAX).unwrap();
    drop(live);
    add(&path, 3100..3200);
    let mut live = open_live(&url, &access, Some(&mark), &stop).unwrap();
    assert_eq!(
        numbers(&mut live, &mut LogParser::default(), 100),
        (3100..3200).collect::<Vec<_>>()
    );
}

#[test]
fn a_log_here_is_followed_and_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("slow.log");
    add(&path, 0..3);
    let (stop, access) = (Stop::new(), RemoteAccess::default());
    let place = path.to_str().unwrap();
    let mut live = open_live(place, &access, None, &stop).unwrap();
    add(&path, 3..50);
    assert_eq!(numbers(&mut live, &mut LogParser::default(), 47), (3..50).collect::<Vec<_>>());
    let mark = live.mark_at(u64::MAX).unwrap();
    drop(live);
    std::fs::rename(&path, dir.path().join("slow.log.1")).unwrap();
    add(&path, 50..60);
    let mut live = open_live(place, &access, Some(&mark), &stop).unwrap();
    assert_eq!(numbers(&mut live, &mut LogParser::default(), 10), (50..60).collect::<Vec<_>>());
    assert!(live.take_notes().is_empty());
}
