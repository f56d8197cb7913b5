//! Redirects, cookies and compressed bodies: a small server that sees what is sent, on both engines.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use sweat::recorder::EventErrorKind;

use super::faults::{ENGINES, check_fault, run};

/// From a request to its reply.
type Page = dyn Fn(&str) -> Vec<u8> + Send + Sync;

/// A server on a loopback port that keeps connections; its threads end with them, the one that accepts with the process.
pub(super) fn serve_pages(page: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let page: Arc<Page> = Arc::new(page);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let page = page.clone();
            std::thread::spawn(move || answer_requests(stream, &*page));
        }
    });
    port
}

fn answer_requests(mut stream: TcpStream, page: &Page) -> Option<()> {
    let (mut text, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let whole = String::from_utf8_lossy(&text).into_owned();
        let length = whole.find("\r\n\r\n").map(|end| end + 4).map(|end| {
            let length = field(&whole[..end], "content-length");
            end + length.map_or(0, |length| length.parse::<usize>().unwrap())
        });
        if let Some(length) = length.filter(|length| text.len() >= *length) {
            stream.write_all(&page(&whole[..length])).ok()?;
            text.drain(..length);
            continue;
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(count) => text.extend_from_slice(&piece[..count]),
        }
    }
}

/// The value of a field of a request.
pub(super) fn field(request: &str, name: &str) -> Option<String> {
    let mut lines = request.lines().take_while(|line| !line.is_empty());
    lines.find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

pub(super) fn reply(status: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn moved(status: &str, to: &str) -> Vec<u8> {
    reply(status, &format!("Location: {to}\r\n"), b"over there")
}

#[test]
fn redirects_are_followed_within_the_event_and_no_secret_leaves_its_host() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = seen.clone();
    let other = serve_pages(move |request| {
        note.lock().unwrap().push(request.to_owned());
        reply("200 OK", "", b"there")
    });
    let home = serve_pages(move |request| match request.split(' ').nth(1).unwrap() {
        "/" => moved("302 Found", "next?a=http://h/"),
        "/next?a=http://h/" if field(request, "X-Api-Token").is_some() => {
            moved("307 Temporary Redirect", &format!("http://127.0.0.1:{other}/end"))
        }
        _ => reply("500 No", "", b""),
    });
    let given = [("redirects", "2"), ("header", "X-Api-Token: s"), ("header", "X-Plain: p")];
    for engine in ENGINES {
        let recording = run(home, engine, 4, &given);
        assert!(recording.errors.is_empty(), "{:?}", recording.errors);
        // Three replies, two of them short texts.
        assert_eq!((recording.total.event_count(), recording.total.tally.counts[3]), (4, 8));
        assert_eq!(recording.total.tally.counts[1], 4 * 25);
    }
    let requests = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(requests.len(), 8);
    for request in requests {
        assert_eq!(field(&request, "host"), Some(format!("127.0.0.1:{other}")));
        assert_eq!(
            (field(&request, "x-api-token"), field(&request, "x-plain").is_some()),
            (None, true)
        );
    }
    // Without the option it is a reply like any other.
    assert_eq!(run(home, ENGINES[0], 2, &[("header", "X-Api-Token: s")]).total.tally.counts[3], 0);
}

#[test]
fn what_was_posted_is_posted_again_only_where_the_status_says_so() {
    for (status, expected) in [
        ("301 Moved", "GET /b "),
        ("302 Found", "GET /b "),
        ("303 See Other", "GET /b "),
        ("307 Temporary Redirect", "POST /b "),
        ("308 Permanent Redirect", "POST /b "),
    ] {
        let port = serve_pages(move |request| match request.starts_with("POST / ") {
            true => moved(status, "/b"),
            false if request.starts_with(expected) => {
                let is_posted = expected.starts_with("POST");
                assert_eq!(request.ends_with("a=1"), is_posted, "{request}");
                reply("200 OK", "", b"")
            }
            false => reply("400 No", "", b""),
        });
        let recording = run(port, ENGINES[1], 2, &[("redirects", "1"), ("body", "a=1")]);
        assert!(recording.errors.is_empty(), "{status} {:?}", recording.errors);
    }
}

#[test]
fn a_redirect_that_can_not_be_followed_is_an_error() {
    let to = |location: &'static str| serve_pages(move |_| moved("302 Found", location));
    let five = &[("redirects", "5")];
    check_fault(to("/"), five, EventErrorKind::Check, "more than 5 redirects");
    let public = "http://192.0.2.1/";
    check_fault(to(public), five, EventErrorKind::Check, "neither this machine");
    check_fault(to("ftp://127.0.0.1/"), five, EventErrorKind::Check, "begins with http");
    check_fault(to("http://127.0.0.1:1/"), five, EventErrorKind::Lost, "connection refused");
}

#[test]
fn each_worker_keeps_its_cookies() {
    for engine in ENGINES {
        let fresh = Arc::new(AtomicUsize::new(0));
        let count = fresh.clone();
        let port = serve_pages(move |request| match field(request, "cookie").as_deref() {
            None => {
                let number = count.fetch_add(1, Relaxed);
                reply("200 OK", &format!("Set-Cookie: sid={number}; Path=/\r\n"), b"")
            }
            Some("sid=0" | "sid=1") => reply("200 OK", "", b""),
            Some(_) => reply("500 No", "", b""),
        });
        let recording = run(port, engine, 20, &[("cookies", "")]);
        assert!(recording.errors.is_empty(), "{:?}", recording.errors);
        let fresh = fresh.load(Relaxed);
        assert!((1..=2).contains(&fresh), "{fresh} requests without a cookie");
    }
}

fn gzip(text: &[u8], level: &str) -> Vec<u8> {
    let mut child = Command::new("gzip")
        .args(["-c", level])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    child.wait_with_output().unwrap().stdout
}

/// A text as brotli that spells it out (RFC 7932, 9.2): two blocks, the second of them empty.
fn plain_brotli(text: &[u8]) -> Vec<u8> {
    let head = ((text.len() - 1) << 4 | 1 << 20) as u32;
    [&head.to_le_bytes()[..3], text, &[3]].concat()
}

#[test]
fn checks_see_the_text_of_compressed_bodies() {
    let given = [("compressed", ""), ("checksum", "")];
    let count = AtomicUsize::new(0);
    let coded = ["-1", "-9"].map(|level| gzip(&b"sweat ".repeat(9000), level));
    assert_ne!(coded[0], coded[1]);
    let spelled = plain_brotli(&b"sweat ".repeat(9000));
    let port = serve_pages(move |request| {
        let accepted = field(request, "accept-encoding").unwrap_or_default();
        assert!(accepted.starts_with("gzip, br"), "{request}");
        // The same text in other bytes each time.
        match count.fetch_add(1, Relaxed) % 3 {
            2 => reply("200 OK", "Content-Encoding: br\r\n", &spelled),
            n => reply("200 OK", "Content-Encoding: gzip\r\n", &coded[n]),
        }
    });
    let recording = run(port, ENGINES[1], 6, &given);
    assert!(recording.errors.is_empty(), "{:?}", recording.errors);
    let coded = |coding: &'static str, body: Vec<u8>| {
        let fields = format!("Content-Encoding: {coding}\r\n");
        serve_pages(move |_| reply("200 OK", &fields, &body))
    };
    let whole = gzip(b"sweat sweat sweat", "-6");
    let cut = whole[..whole.len() - 5].to_vec();
    let check = |port, why| check_fault(port, &given, EventErrorKind::Check, why);
    check(coded("gzip", cut.clone()), "not whole gzip");
    check(coded("gzip", b"no gzip at all".to_vec()), "not whole gzip");
    check(coded("br", whole.clone()), "not whole brotli");
    check(coded("br", plain_brotli(b"sweat")[..5].to_vec()), "not whole brotli");
    check(coded("odd", whole), "coded as odd");
    let bomb = [("max-body", "1000"), given[0], given[1]];
    let port = coded("gzip", gzip(&[0; 10_000], "-6"));
    check_fault(port, &bomb, EventErrorKind::Check, "longer than is allowed");
    // Where no check needs the text, it is not decoded.
    assert!(run(coded("gzip", cut), ENGINES[0], 2, &given[..1]).errors.is_empty());
}
