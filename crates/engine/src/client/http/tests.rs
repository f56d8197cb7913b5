//! Replies that real servers never send, and addresses.

use proptest::prelude::*;

use super::origin::is_private;
use super::reply_scan::{ReplyField, ReplyLimits, ReplyScan, ReplySink, ScanProgress};
use super::url::HttpUrl;

#[derive(Default)]
struct KeptReply {
    heads: Vec<u16>,
    fields: usize,
    body: Vec<u8>,
}

impl ReplySink for KeptReply {
    fn note_head(&mut self, status: u16, fields: &[ReplyField<'_>]) {
        self.heads.push(status);
        self.fields += fields.len();
    }
    fn take_body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }
}

/// A reply in pieces of this length: its body, whether the connection lives on, and what was behind it.
fn scan(
    text: &[u8],
    piece: usize,
    limits: ReplyLimits,
) -> Result<(KeptReply, bool, usize), String> {
    let (mut scan, mut kept) = (ReplyScan::default(), KeptReply::default());
    scan.start_reply(limits);
    let mut at = 0;
    for bytes in text.chunks(piece) {
        match scan.feed_bytes(bytes, &mut kept)? {
            ScanProgress::More => at += bytes.len(),
            ScanProgress::Done { used } => {
                return Ok((kept, scan.keeps_alive(), text.len() - at - used));
            }
        }
    }
    match scan.ends_with_connection() {
        true => Ok((kept, scan.keeps_alive(), 0)),
        false => Err("cut".to_owned()),
    }
}

fn read(text: &str) -> Result<(u16, String, bool), String> {
    let mut found = None;
    for piece in [1, 2, 3, 7, 4096] {
        let read =
            scan(text.as_bytes(), piece, ReplyLimits::default()).map(|(kept, alive, left)| {
                assert_eq!(left, 0, "{text}");
                (kept.heads[0], String::from_utf8(kept.body).unwrap(), alive)
            });
        assert!(found.is_none() || found.as_ref() == Some(&read), "{text} in pieces of {piece}");
        found = Some(read);
    }
    found.unwrap()
}

fn ok(status: u16, body: &str, alive: bool) -> Result<(u16, String, bool), String> {
    Ok((status, body.to_owned(), alive))
}

#[test]
fn bodies_end_where_their_heads_say() {
    assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), ok(200, "hello", true));
    assert_eq!(
        read(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                    3\r\nhel\r\n2;a=b\r\nlo\r\n0\r\n\r\n"
        ),
        ok(200, "hello", true)
    );
    let trailer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\nContent-Length: 9\r\n\r\n\
                   1\r\nx\r\n00\r\nDigest: y\r\nA: b\r\n\r\n";
    assert_eq!(read(trailer), ok(200, "x", true));
    assert_eq!(read("HTTP/1.1 200 OK\r\n\r\nall of it"), ok(200, "all of it", false));
    assert_eq!(read("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx"), ok(200, "x", false));
    let kept = "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\nx";
    assert_eq!(read(kept), ok(200, "x", true));
    let parting = "HTTP/1.1 500 No\r\nConnection: foo, Close\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(read(parting), ok(500, "", false));
    assert_eq!(read("HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n"), ok(204, "", true));
    assert_eq!(read("HTTP/1.1 304 Not Modified\r\n\r\n"), ok(304, "", true));
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
                   HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    assert_eq!(read(interim), ok(200, "ok", true));
    assert_eq!(
        read("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nok"),
        ok(200, "ok", true)
    );
    let head = ReplyLimits { is_head: true, ..ReplyLimits::default() };
    let text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let (kept, alive, left) = scan(text, 9, head).unwrap();
    assert_eq!((kept.body.len(), alive, left, kept.fields), (0, true, 0, 1));
    let (_, _, left) = scan(b"HTTP/1.1 204 No\r\n\r\nbehind", 99, ReplyLimits::default()).unwrap();
    assert_eq!(left, 6);
}

#[test]
fn what_is_no_reply_is_refused() {
    for (text, why) in [
        ("garbage\r\n\r\n", "not one of HTTP"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "contradict"),
        ("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", "not a number"),
        ("HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\nhello", "not a number"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello", "not a number"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2000000000\r\n\r\nhello", "longer than is allowed"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "cut"),
        ("HTTP/1.1 200 OK\r\nContent-Le", "cut"),
        ("HTTP/1.1 101 Switching\r\n\r\n", "none that was asked for"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "not a number"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", "not a number"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello",
            "where its length says",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n12345678912345678\r\n", "too large"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", "cut"),
    ] {
        let found = read(text).unwrap_err();
        assert!(found.contains(why), "{text}: {found}");
    }
    let limits = ReplyLimits { most_body: 4, ..ReplyLimits::default() };
    for head in ["", "Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\n"] {
        let text = format!("HTTP/1.1 200 OK\r\n{head}\r\n5\r\nhello\r\n0\r\n\r\n");
        assert!(scan(text.as_bytes(), 4, limits).is_err(), "{head}");
    }
}

#[test]
fn heads_without_an_end_are_cut_off() {
    for piece in [1, 1000] {
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(100_000));
        let why = scan(endless.as_bytes(), piece, ReplyLimits::default()).err().unwrap();
        assert_eq!(why, "the head is too long");
        let fields = format!("HTTP/1.1 200 OK\r\n{}", "a: b\r\n".repeat(1000));
        let why = scan(fields.as_bytes(), piece, ReplyLimits::default()).err().unwrap();
        assert_eq!(why, "the head has too many fields");
        let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000);
        let why = scan(interim.as_bytes(), piece, ReplyLimits::default()).err().unwrap();
        assert_eq!(why, "the head is too long");
        let endless = format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}",
            "a: b\r\n".repeat(20_000)
        );
        let why = scan(endless.as_bytes(), piece, ReplyLimits::default()).err().unwrap();
        assert_eq!(why, "the fields behind the last chunk are too long");
    }
}

#[test]
fn addresses_are_taken_apart() {
    let url = |text: &str| HttpUrl::from_text(text);
    let shop = url("HTTP://Shop.test:8080/a?b=1#c").unwrap();
    assert_eq!((shop.host.as_str(), shop.port, shop.path.as_str()), ("shop.test", 8080, "/a?b=1"));
    assert_eq!((shop.host_field().as_str(), shop.is_tls), ("shop.test:8080", false));
    let plain = url("https://h").unwrap();
    assert_eq!((plain.port, plain.full_text().as_str()), (443, "https://h/"));
    assert_eq!(url("http://h?x").unwrap().path, "/?x");
    let v6 = url("http://[::1]:81/").unwrap();
    assert_eq!((v6.host.as_str(), v6.place().as_str()), ("::1", "[::1]:81"));
    for wrong in [
        "",
        "h",
        "ftp://h/",
        "http://",
        "http:///x",
        "http://h:0/",
        "http://h:x/",
        "http://::1/",
        "http://[h]/",
        "http://[::1/",
        "http://u:p@h/",
        "http://h/a b",
        "http://h/\r\nX: y",
    ] {
        assert!(url(wrong).is_err(), "{wrong}");
    }
    for (location, expected) in [
        ("/x", "http://shop.test:8080/x"),
        ("x?y", "http://shop.test:8080/x?y"),
        ("?y", "http://shop.test:8080/a?y"),
        ("//o/x", "http://o/x"),
        ("https://o/x#z", "https://o/x"),
        ("", "http://shop.test:8080/a?b=1"),
        ("/x?to=http://o/", "http://shop.test:8080/x?to=http://o/"),
    ] {
        assert_eq!(shop.join_location(location).unwrap().full_text(), expected);
    }
}

#[test]
fn only_addresses_of_ones_own_are_private() {
    for private in [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "172.31.0.1",
        "169.254.1.1",
        "0.0.0.0",
        "::1",
        "fd00::1",
        "fe80::1",
        "::ffff:10.0.0.1",
    ] {
        assert!(is_private(private.parse().unwrap()), "{private}");
    }
    for public in
        ["1.1.1.1", "172.32.0.1", "192.0.2.1", "2001:db8::1", "::ffff:8.8.8.8", "11.0.0.1"]
    {
        assert!(!is_private(public.parse().unwrap()), "{public}");
    }
}

proptest! {
    #[test]
    fn no_bytes_break_a_reply(
        start in prop::sample::select(vec![
            "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n",
        ]),
        rest: Vec<u8>, piece in 1usize..20,
    ) {
        let text = [start.as_bytes(), &rest].concat();
        let whole = scan(&text, text.len().max(1), ReplyLimits::default());
        let parts = scan(&text, piece, ReplyLimits::default());
        // However the bytes come, they mean the same.
        match (whole, parts) {
            (Ok((a, a_alive, a_left)), Ok((b, b_alive, b_left))) => {
                prop_assert_eq!((a.body, a_alive, a_left), (b.body, b_alive, b_left));
            }
            (a, b) => prop_assert_eq!(a.is_ok(), b.is_ok()),
        }
    }

    #[test]
    fn no_text_breaks_an_address(text: String, rest in "[ -~]{0,40}") {
        let _ = HttpUrl::from_text(&text);
        if let Ok(url) = HttpUrl::from_text(&format!("http://{rest}")) {
            prop_assert_eq!(HttpUrl::from_text(&url.full_text()), Ok(url.clone()));
            let _ = url.join_location(&rest);
        }
    }
}
