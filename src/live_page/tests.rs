//! The server as readers on the same machine see it, over raw sockets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::base::{Clock as _, Nanos, RealClock, Secret, Stop};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A page that says which events it holds.
struct PlainPage;

impl PageSource for PlainPage {
    fn render_page(&self, folder: Option<&Path>, last: u64) -> anyhow::Result<RenderedPage> {
        let folder = folder.map(|folder| folder.display().to_string()).unwrap_or_default();
        Ok(RenderedPage { html: format!("<p>{folder} {last}"), metrics: "# EOF\n".to_owned() })
    }
}

fn server(patience: Nanos) -> LivePageServer {
    let token = Some(Secret::new("secret"));
    let options = PageOptions { listen: "127.0.0.1:0".parse().unwrap(), token, patience };
    LivePageServer::open(&options, Box::new(PlainPage)).unwrap()
}

fn connect(server: &LivePageServer) -> TcpStream {
    let peer = TcpStream::connect(server.address()).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer
}

/// Asks with the cookie and these fields, besides the Host.
fn ask(server: &LivePageServer, line: &str, fields: &str) -> TcpStream {
    let mut peer = connect(server);
    let port = server.address().port();
    let text = format!(
        "{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: sweat-{port}=secret\r\n{fields}\r\n"
    );
    peer.write_all(text.as_bytes()).unwrap();
    peer
}

fn answer(server: &LivePageServer, line: &str, fields: &str) -> String {
    let mut text = String::new();
    ask(server, line, fields).read_to_string(&mut text).unwrap();
    text
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let clock = RealClock::start_now();
    while !condition() {
        assert!(clock.now() < Nanos::from(PATIENCE), "{what}");
        clock.sleep_until(clock.now() + Nanos(10_000_000));
    }
}

/// A reader of events, behind the head of its answer.
struct EventReader(BufReader<TcpStream>);

impl EventReader {
    fn open(server: &LivePageServer, path: &str, fields: &str) -> EventReader {
        let mut reader = EventReader(BufReader::new(ask(server, &format!("GET {path}"), fields)));
        let head = reader.block();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("Content-Type: text/event-stream\r\n"), "{head}");
        reader
    }

    /// Lines up to an empty one.
    fn block(&mut self) -> String {
        let mut text = String::new();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "it ended after {text}");
            if line.trim_end().is_empty() {
                return text;
            }
            text += &line;
        }
    }

    /// The number and the kind of the next event.
    fn event(&mut self) -> (u64, String) {
        let text = self.block();
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().to_owned()
        };
        (field("id: ").parse().unwrap_or(0), field("event: "))
    }
}

#[test]
fn a_browser_enters_by_the_token_and_gets_the_page() {
    let server = server(Nanos(1));
    server.sender().send(PageMessage::Folder(PathBuf::from("runs/x")));
    let mut peer = connect(&server);
    let port = server.address().port();
    assert_eq!(server.url(), format!("http://127.0.0.1:{port}/?t=secret"));
    let enter = format!("GET /?t=secret HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
    peer.write_all(enter.as_bytes()).unwrap();
    let mut entered = String::new();
    peer.read_to_string(&mut entered).unwrap();
    assert!(entered.starts_with("HTTP/1.1 303 See Other\r\n"), "{entered}");
    assert!(entered.contains("Location: /\r\n") && entered.contains("HttpOnly"), "{entered}");
    until("the page of the folder", || {
        answer(&server, "GET /", "").ends_with("\r\n\r\n<p>runs/x 0")
    });
    let page = answer(&server, "GET /", "Sec-Fetch-Site: same-origin\r\n");
    for field in [
        "Content-Type: text/html; charset=utf-8\r\n",
        "Cache-Control: no-store\r\n",
        "X-Content-Type-Options: nosniff\r\n",
        "Referrer-Policy: no-referrer\r\n",
        "Content-Security-Policy: default-src 'none'; script-src 'sha256-",
        "; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n",
    ] {
        assert!(page.contains(field), "{field}: {page}");
    }
    let head = answer(&server, "HEAD /", "");
    assert!(head.contains("Content-Length: 11\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(answer(&server, "GET /metrics", "").ends_with("\r\n\r\n# EOF\n"));
}

#[test]
fn refusals_say_nothing_of_the_run() {
    let server = server(Nanos(1));
    for (line, fields, status) in [
        ("GET /x", "", "404 "),
        ("POST /", "", "405 "),
        ("DELETE /events", "", "405 "),
        ("GET /", "Sec-Fetch-Site: cross-site\r\n", "403 "),
    ] {
        let text = answer(&server, line, fields);
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{line}: {text}");
        assert!(text.contains("default-src 'none'") && !text.contains("secret"), "{text}");
    }
    for (host, cookie, status) in
        [("127.0.0.1", "secret", "403 "), ("evil.example", "secret", "403 ")]
    {
        let mut peer = connect(&server);
        let port = server.address().port();
        let text =
            format!("GET / HTTP/1.1\r\nHost: {host}\r\nCookie: sweat-{port}={cookie}\r\n\r\n");
        peer.write_all(text.as_bytes()).unwrap();
        let mut text = String::new();
        peer.read_to_string(&mut text).unwrap();
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {text}");
    }
    let mut peer = connect(&server);
    peer.write_all(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n").unwrap();
    let mut text = String::new();
    peer.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
}

#[test]
fn events_have_numbers_and_readers_resume() {
    let server = server(Nanos(10_000_000_000));
    let sender = server.sender();
    let mut reader = EventReader::open(&server, "/events?after=0", "");
    sender.send_event("step", json!({ "text": "load" }));
    sender.send_event("beat", json!({ "at_s": 1 }));
    assert_eq!(reader.event(), (1, "step".to_owned()));
    assert_eq!(reader.event(), (2, "beat".to_owned()));
    // The connection is cut; what happened meanwhile is told when it comes again.
    drop(reader);
    sender.send_event("beat", json!({ "at_s": 2 }));
    sender.send_event("beat", json!({ "at_s": 3 }));
    let mut reader = EventReader::open(&server, "/events?after=0", "Last-Event-ID: 2\r\n");
    assert_eq!((reader.event().0, reader.event().0), (3, 4));
    // One that knows events of another run is told that it has missed something.
    let mut stranger = EventReader::open(&server, "/events?after=99", "");
    assert_eq!(stranger.event(), (0, "missed".to_owned()));
    assert_eq!(stranger.event().0, 1);
    drop(stranger);
    until("one reader is left", || server.reader_count() == 1);
    let ender = std::thread::spawn(move || {
        server.end_run("done", Nanos(0), &Stop::new());
        server.reader_count()
    });
    assert_eq!(reader.event(), (5, "end".to_owned()));
    drop(reader);
    assert_eq!(ender.join().unwrap(), 0, "it waits for its readers");
}

#[test]
fn there_is_room_for_sixteen_readers() {
    let server = server(Nanos(10_000_000_000));
    let readers: Vec<EventReader> =
        (0..16).map(|_| EventReader::open(&server, "/events", "")).collect();
    let refused = answer(&server, "GET /events", "");
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.ends_with("already serving 16 readers\n"), "{refused}");
    // The page itself has room.
    assert!(answer(&server, "GET /", "").starts_with("HTTP/1.1 200 OK"));
    drop(readers);
    until("their places are free", || server.reader_count() == 0);
    EventReader::open(&server, "/events", "");
}

#[test]
fn a_reader_that_takes_nothing_is_cut_off_and_holds_nobody_up() {
    let server = server(Nanos(300_000_000));
    let sender = server.sender();
    let stopped = ask(&server, "GET /events", "");
    rustix::net::sockopt::set_socket_recv_buffer_size(&stopped, 4096).unwrap();
    let mut other = EventReader::open(&server, "/events", "");
    until("both are there", || server.reader_count() == 2);
    // It reads all along, up to the last.
    let other = std::thread::spawn(move || while other.event().1 != "beat" {});
    let text = "x".repeat(100_000);
    until("the stopped one is cut off", || {
        sender.send_event("note", json!({ "text": text }));
        server.cut_count() == 1 && server.reader_count() == 1
    });
    until("the other has all", || {
        sender.send_event("beat", json!({}));
        other.is_finished()
    });
    other.join().unwrap();
    drop(stopped);
}

#[test]
fn who_sends_never_waits() {
    let server = server(Nanos(1));
    let sender = server.sender();
    drop(server);
    (0..10_000).for_each(|n| sender.send_event("beat", json!({ "n": n })));
}
