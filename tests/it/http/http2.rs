//! HTTP/2: Debian's nginx with TLS and without, and a server that breaks the rules, on both engines.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use sweat::base::Stop;
use sweat::plan::EnginePlan;
use sweat::recorder::EventErrorKind;

use super::faults::{http_workload, run, run_workers};
use super::{Nginx, output_text};
use crate::cli::World;

const PREFACE: usize = 24;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status` 200 and 500, as a header block has them.
const OK: &[u8] = &[0x88];
const FAILED: &[u8] = &[0x8E];
/// Bytes of a body that a client takes before it says so.
const WINDOW: usize = 1 << 20;

/// The server's side of a connection.
struct FramePeer(TcpStream);

impl FramePeer {
    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> std::io::Result<()> {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame)
    }

    fn goaway(&mut self, last: u32, code: u32) -> std::io::Result<()> {
        self.send(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
    }

    fn answer(&mut self, stream: u32, body: &[u8]) -> std::io::Result<()> {
        self.send(HEADERS, END_HEADERS, stream, OK)?;
        self.send(DATA, END_STREAM, stream, body)
    }

    /// The next frame: kind, stream, payload.
    fn read(&mut self) -> std::io::Result<(u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head)?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        self.0.read_exact(&mut payload)?;
        Ok((head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload))
    }
}

/// What is done with a request: its stream, and which of its connection it is. Says whether the connection goes on.
type FrameAnswer = dyn Fn(&mut FramePeer, u32, usize) -> std::io::Result<bool> + Send + Sync;

/// A server on a loopback port whose settings are these; its threads end with their connections.
fn serve_frames(
    settings: &'static [u8],
    answer: impl Fn(&mut FramePeer, u32, usize) -> std::io::Result<bool> + Send + Sync + 'static,
) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer: Arc<FrameAnswer> = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || talk(FramePeer(stream), settings, &*answer));
        }
    });
    port
}

fn talk(mut peer: FramePeer, settings: &[u8], answer: &FrameAnswer) -> std::io::Result<()> {
    peer.0.set_nodelay(true)?;
    peer.0.read_exact(&mut [0; PREFACE])?;
    peer.send(SETTINGS, 0, 0, settings)?;
    let mut number = 0;
    loop {
        let (kind, stream, _) = peer.read()?;
        if kind == HEADERS {
            if !answer(&mut peer, stream, number)? {
                // Bytes that nobody reads would make this a reset, which may outrun the last frames.
                peer.0.shutdown(Shutdown::Write)?;
                while peer.read().is_ok() {}
                return Ok(());
            }
            number += 1;
        }
    }
}

/// Engines, and how many workers share a connection.
const WAYS: [(EnginePlan, &str); 3] =
    [(EnginePlan::Threads, "1"), (EnginePlan::Reactor, "1"), (EnginePlan::Reactor, "2")];

/// All events of a load on this server fail in this way.
fn check_http2_fault(port: u16, more: &[(&str, &str)], kind: EventErrorKind, text: &str) {
    for (engine, streams) in WAYS {
        let given = [&[("http2", ""), ("streams", streams)][..], more].concat();
        let recording = run(port, engine, 6, &given);
        let total = &recording.total;
        assert_eq!((total.event_count(), total.error_count()), (0, 6), "{:?}", recording.errors);
        for error in &recording.errors {
            assert_eq!(error.error.kind, kind, "{error:?}");
            assert!(error.first_text.contains(text), "{error:?}, expected {text}");
        }
    }
}

#[test]
fn streams_share_connections_of_a_real_server() {
    let Some(nginx) = Nginx::start() else { return };
    let ca = format!("--ca={}", nginx.file("cert.pem"));
    let places = [
        format!("http://127.0.0.1:{}", nginx.http2_port),
        format!("https://localhost:{}", nginx.tls_port),
    ];
    for place in places {
        for (streams, engine) in [("1", "threads"), ("8", "reactor")] {
            let world = World::new();
            let (small, big) = (format!("{place}/small"), format!("{place}/big"));
            let (streams, engine) = (format!("--streams={streams}"), format!("--engine={engine}"));
            let words = ["bench", "http", &small, &big, "--order=turn", "--checksum", "-q", &ca];
            let how = ["--http2", &streams, &engine, "--threads=16", "--events=160"];
            let done = world.run(&[&words[..], &how].concat());
            assert!(done.status.success(), "{place} {streams} {}", output_text(&done));
            let run = world.record();
            let trial = &run.trials[0];
            assert!(trial.errors.is_empty(), "{place} {streams}: {:?}", trial.errors);
            assert_eq!(trial.tally.count("body_bytes"), 80 * ((1 << 20) + 1024));
            // nginx ends a connection after 50 requests; those it has not looked at are sent again.
            let connections = trial.tally.count("connections");
            assert!((4..=40).contains(&connections), "{place} {streams}: {connections}");
            assert!(trial.event_steps.contains(&"first byte /big".to_owned()));
        }
    }
    let lines = nginx.log_lines("/small");
    assert!(lines.len() >= 320 && lines.iter().all(|line| line.ends_with(" HTTP/2.0")));
}

#[test]
fn scenarios_redirects_cookies_and_coded_bodies_go_over_streams() {
    let Some(nginx) = Nginx::start() else { return };
    let world = World::new();
    let path = world.dir.path().join("steps.toml");
    let text = "format = 1\n[headers]\nConnection = \"close\"\n[scenario.a]\nsteps = [\n\
                {get = \"/hop\", expect = {size = \"1024\"}},\n{get = \"/cookie\"},\n\
                {get = \"/cookie\", expect = {text = \"cookie:7\"}, \
                keep = {id = {header = \"X-Id\"}}},\n\
                {post = \"/post\", body = \"a={{id}}\", headers = {X-Route = \"r-{{id}}\"}},\n\
                {get = \"/packed\", expect = {text = \"as small as\"}}]\n";
    std::fs::write(&path, text).unwrap();
    let (file, url) =
        (format!("--file={}", path.display()), format!("http://127.0.0.1:{}", nginx.http2_port));
    let words = ["bench", "http", &file, &url, "--http2", "--streams=4", "--threads=8", "-q"];
    let more = ["--events=40", "--cookies", "--compressed", "--redirects=1"];
    let done = world.run(&[&words[..], &more].concat());
    assert!(done.status.success(), "{}", output_text(&done));
    let trial = &world.record().trials[0];
    assert!(trial.errors.is_empty(), "{:?}", trial.errors);
    assert_eq!(trial.tally.count("redirects"), 40);
    let posted = nginx.log_lines("/post");
    assert!(posted.len() == 40 && posted[0].starts_with("POST /post - r-4711 "), "{posted:?}");
    // A loop ends.
    let port = nginx.http2_port;
    let moved = format!("http://127.0.0.1:{port}/moved");
    let words = ["bench", "http", &moved, "--http2", "--redirects=3", "--events=2"];
    let text = output_text(&World::new().run(&words));
    assert!(text.contains("more than 3 redirects"), "{text}");
}

#[test]
fn a_server_without_http2_is_told_before_the_load() {
    let Some(nginx) = Nginx::start() else { return };
    let run = |words: &[&str]| {
        let done = World::new().run(&[&["bench", "http"][..], words, &["--events=2"]].concat());
        (done.status.code(), output_text(&done))
    };
    let (code, text) = run(&[&nginx.url("/small"), "--http2"]);
    assert!(code == Some(3) && text.contains("does not speak HTTP/2"), "{code:?} {text}");
    for (words, why) in [
        (&["--streams=2"][..], "add --http2"),
        (&["--http2", "--streams=0"], "1 to 10000 streams"),
        (&["--http2", "--no-keep-alive"], "are kept"),
        (&["--http2", "--streams=2", "--engine=threads"], "need the reactor"),
    ] {
        let url = nginx.url("/small");
        let (code, text) = run(&[&[&*url], words].concat());
        assert!(code == Some(2) && text.contains(why), "{words:?} {code:?} {text}");
    }
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let given = [("http2", ""), ("timeout", "200ms")];
    let why = http_workload(port, &given).check_ready(&Stop::new()).unwrap_err().to_string();
    assert!(why.contains("no answer within 200ms"), "{why}");
}

#[test]
fn each_way_to_fail_a_stream_has_its_name() {
    use EventErrorKind::{Lost, Protocol, Server};
    let reset = serve_frames(&[], |peer, stream, _| {
        peer.send(RST_STREAM, 0, stream, &7u32.to_be_bytes()).map(|()| true)
    });
    check_http2_fault(reset, &[], Protocol, "reset the stream: REFUSED_STREAM");
    let cut = serve_frames(&[], |peer, stream, _| {
        peer.send(HEADERS, END_HEADERS, stream, OK)?;
        peer.send(DATA, 0, stream, b"hel").map(|()| false)
    });
    check_http2_fault(cut, &[], Lost, "in the middle of the reply");
    let mute = serve_frames(&[], |_, _, _| Ok(false));
    check_http2_fault(mute, &[], Lost, "without a reply");
    let calm = serve_frames(&[], |peer, _, _| peer.goaway(0, 11).map(|()| false));
    check_http2_fault(calm, &[], Protocol, "before this request: ENHANCE_YOUR_CALM");
    let gone = serve_frames(&[], |peer, _, _| peer.goaway(0, 0).map(|()| false));
    check_http2_fault(gone, &[], Protocol, "before this request: NO_ERROR");
    let broken = serve_frames(&[], |peer, stream, _| {
        peer.send(HEADERS, END_HEADERS | END_STREAM, stream, &[0xBE]).map(|()| true)
    });
    check_http2_fault(broken, &[], Protocol, "not in its table");
    let headless = serve_frames(&[], |peer, stream, _| {
        peer.send(HEADERS, END_HEADERS | END_STREAM, stream, &[0x00, 1, b'x', 0]).map(|()| true)
    });
    check_http2_fault(headless, &[], Protocol, "its head has no status");
    let short = serve_frames(&[], |peer, stream, _| {
        // Length 3, two bytes.
        peer.send(HEADERS, END_HEADERS, stream, &[0x88, 0x0F, 0x0D, 1, b'3'])?;
        peer.send(DATA, END_STREAM, stream, b"ab").map(|()| true)
    });
    check_http2_fault(short, &[], Protocol, "not as long as its length says");
    let failed = serve_frames(&[], |peer, stream, _| {
        peer.send(HEADERS, END_HEADERS | END_STREAM, stream, FAILED).map(|()| true)
    });
    check_http2_fault(failed, &[], Server, "HTTP 500 Internal Server Error");
    let slow = serve_frames(&[], |_, _, _| Ok(true));
    let timeout = [("timeout", "200ms")];
    check_http2_fault(slow, &timeout, Lost, "no end of the reply within 200ms");
    let long = serve_frames(&[], |peer, stream, _| {
        peer.send(HEADERS, END_HEADERS, stream, OK)?;
        (0..20).try_for_each(|_| peer.send(DATA, 0, stream, &[b'x'; 4096]))?;
        Ok(true)
    });
    check_http2_fault(long, &[("max-body", "64KiB")], Protocol, "longer than");
}

#[test]
fn what_a_closing_server_has_not_looked_at_is_sent_again() {
    // Three replies per connection, and a word of farewell; what came meanwhile was not looked at.
    let port = serve_frames(&[], |peer, stream, number| {
        peer.answer(stream, b"ok")?;
        if number == 2 {
            peer.goaway(stream, 0)?;
        }
        Ok(number < 2)
    });
    for (engine, streams) in WAYS {
        let given = [("http2", ""), ("streams", streams), ("method", "POST"), ("body", "a=1")];
        let recording = run(port, engine, 30, &given);
        assert_eq!(recording.total.event_count(), 30, "{streams} {:?}", recording.errors);
    }
}

#[test]
fn a_stream_that_fails_leaves_the_others_alone() {
    let port = serve_frames(&[], |peer, stream, number| {
        match number % 3 {
            0 => peer.send(RST_STREAM, 0, stream, &2u32.to_be_bytes())?,
            _ => peer.answer(stream, b"ok")?,
        }
        Ok(true)
    });
    let recording = run(port, EnginePlan::Reactor, 30, &[("http2", ""), ("streams", "2")]);
    let total = &recording.total;
    assert_eq!((total.event_count(), total.error_count()), (20, 10), "{:?}", recording.errors);
    assert_eq!(recording.total.tally.counts[0], 1, "one connection serves all");
    assert!(recording.errors[0].first_text.contains("INTERNAL_ERROR"), "{:?}", recording.errors);
}

#[test]
fn requests_wait_where_a_server_allows_fewer_streams() {
    // At most one stream at a time.
    let port = serve_frames(&[0, 3, 0, 0, 0, 1], |peer, stream, _| {
        peer.answer(stream, b"ok").map(|()| true)
    });
    let recording = run(port, EnginePlan::Reactor, 40, &[("http2", ""), ("streams", "2")]);
    assert_eq!(recording.total.event_count(), 40, "{:?}", recording.errors);
    // The server closes in order while requests wait: they go over another connection, as nothing of them was sent.
    let port = serve_frames(&[0, 3, 0, 0, 0, 1], |peer, stream, number| {
        peer.answer(stream, b"ok")?;
        if number == 2 {
            peer.goaway(stream, 0)?;
        }
        Ok(number < 2)
    });
    let given = [("http2", ""), ("streams", "8"), ("method", "POST"), ("timeout", "20s")];
    let recording = run_workers(8, port, EnginePlan::Reactor, 60, &given);
    assert_eq!(recording.total.event_count(), 60, "{:?}", recording.errors);
}

#[test]
fn long_bodies_keep_to_their_windows() {
    const BODY: usize = 100 << 20;
    let port = serve_frames(&[], |peer, stream, _| {
        peer.send(HEADERS, END_HEADERS, stream, OK)?;
        let (mut left, mut window) = (BODY, WINDOW);
        while left > 0 {
            let count = left.min(window).min(16 << 10);
            if count > 0 {
                peer.send(DATA, 0, stream, &vec![b'x'; count])?;
                left -= count;
                window -= count;
                continue;
            }
            let (kind, of, payload) = peer.read()?;
            if (kind, of) == (WINDOW_UPDATE, stream) {
                window += u32::from_be_bytes(payload.try_into().unwrap()) as usize;
            }
        }
        // Trailers end it.
        let trailers = [0x00, 1, b'x', 1, b'y'];
        peer.send(HEADERS, END_HEADERS | END_STREAM, stream, &trailers).map(|()| true)
    });
    for (engine, checksum) in [(EnginePlan::Threads, "off"), (EnginePlan::Reactor, "on")] {
        let recording = run(port, engine, 2, &[("http2", ""), ("checksum", checksum)]);
        assert_eq!(recording.total.event_count(), 2, "{:?}", recording.errors);
        assert_eq!(recording.total.tally.counts[1], 2 * BODY as u64);
    }
}

#[test]
fn a_long_request_goes_as_the_server_takes_it() {
    const BODY: usize = 300_000;
    let port = serve_frames(&[], |peer, stream, _| {
        let mut taken = 0;
        while taken < BODY {
            let (kind, of, payload) = peer.read()?;
            if (kind, of) == (DATA, stream) {
                assert!(payload.iter().all(|byte| *byte == b'b'));
                taken += payload.len();
                let more = (payload.len() as u32).to_be_bytes();
                peer.send(WINDOW_UPDATE, 0, 0, &more)?;
                peer.send(WINDOW_UPDATE, 0, stream, &more)?;
            }
        }
        peer.answer(stream, b"ok").map(|()| true)
    });
    let body = "b".repeat(BODY);
    for engine in [EnginePlan::Threads, EnginePlan::Reactor] {
        let recording = run(port, engine, 6, &[("http2", ""), ("body", &body)]);
        assert_eq!(recording.total.event_count(), 6, "{:?}", recording.errors);
        assert!(recording.total.tally.bytes_sent > 6 * BODY as u64);
    }
}
