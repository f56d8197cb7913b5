//! A server that breaks every rule, and what a load says of it, on both engines.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use sweat::base::{RealClock, Stop};
use sweat::plan::{EnginePlan, LoadPlan, Options};
use sweat::recorder::{EventErrorKind, Recording};
use sweat::workload::{Endpoint, KINDS, Workload};

use crate::cli::{World, expect, nap, out};

/// What is sent for a request; the number says which of its connection it is.
type Answer = dyn Fn(&mut TcpStream, usize) -> std::io::Result<bool> + Send + Sync;

/// A server on a loopback port; each answer says whether the connection goes on. Its threads end with their connections, the
/// one that accepts with the process.
fn serve(
    answer: impl Fn(&mut TcpStream, usize) -> std::io::Result<bool> + Send + Sync + 'static,
) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer: Arc<Answer> = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || answer_all(stream, &*answer));
        }
    });
    port
}

fn answer_all(mut stream: TcpStream, answer: &Answer) {
    let mut head = Vec::new();
    for number in 0.. {
        head.clear();
        let mut piece = [0; 4096];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => return,
                Ok(count) => head.extend_from_slice(&piece[..count]),
            }
        }
        if !matches!(answer(&mut stream, number), Ok(true)) {
            return;
        }
    }
}

fn text_server(reply: &'static str) -> u16 {
    serve(move |stream, _| stream.write_all(reply.as_bytes()).map(|()| false))
}

pub(super) fn http_workload(port: u16, given: &[(&str, &str)]) -> Box<dyn Workload> {
    let kind = KINDS.iter().find(|kind| kind.name() == "http").unwrap();
    let url = format!("http://127.0.0.1:{port}/");
    let given = [&[("url", &*url)][..], given].concat();
    let given: Vec<_> = given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let options = Options::from_given(&kind.option_specs(), &given).unwrap();
    kind.build_workload(&options, Endpoint::None).unwrap()
}

pub(super) fn run(port: u16, engine: EnginePlan, events: u64, given: &[(&str, &str)]) -> Recording {
    run_workers(2, port, engine, events, given)
}

pub(super) fn run_workers(
    workers: usize,
    port: u16,
    engine: EnginePlan,
    events: u64,
    given: &[(&str, &str)],
) -> Recording {
    let workload = http_workload(port, given);
    let stop = Stop::new();
    workload.check_ready(&stop).unwrap();
    let plan = LoadPlan { workers, events: Some(events), engine, ..LoadPlan::default() };
    let clock = RealClock::start_now();
    sweat::driver::run_load(&plan, 1, &*workload, clock, &stop, &mut |_| {}).unwrap()
}

pub(super) const ENGINES: [EnginePlan; 2] = [EnginePlan::Threads, EnginePlan::Reactor];

/// All events of a load on this server fail in this way.
pub(super) fn check_fault(port: u16, given: &[(&str, &str)], kind: EventErrorKind, text: &str) {
    for engine in ENGINES {
        let recording = run(port, engine, 6, given);
        let total = &recording.total;
        assert_eq!((total.event_count(), total.error_count()), (0, 6), "{:?}", recording.errors);
        for error in &recording.errors {
            assert_eq!(error.error.kind, kind, "{error:?}");
            assert!(error.first_text.contains(text), "{error:?}, expected {text}");
        }
    }
}

#[test]
fn each_broken_reply_is_an_error_with_its_name() {
    use EventErrorKind::{Check, Lost, Protocol, Server};
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: ";
    let leak = |text: String| -> &'static str { text.leak() };
    let of = |reply: String| text_server(leak(reply));
    let cut = "in the middle of the reply";
    check_fault(of(format!("{ok}9\r\n\r\nhello")), &[], Lost, cut);
    check_fault(of("HTTP/1.1 200 OK\r\nContent-".to_owned()), &[], Lost, cut);
    check_fault(of(String::new()), &[], Lost, "without a reply");
    check_fault(of(format!("{ok}3\r\n\r\nhello")), &[], Protocol, "behind its end");
    check_fault(of("220 smtp.example ESMTP\r\n".to_owned()), &[], Protocol, "not one of HTTP");
    check_fault(of(format!("{ok}99\r\n\r\n")), &[("max-body", "98")], Protocol, "longer than");
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel";
    check_fault(of(chunked.to_owned()), &[], Lost, cut);
    let failed = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    check_fault(of(failed.to_owned()), &[], Server, "HTTP 503 Service Unavailable");
    let moved =
        "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    check_fault(of(moved.to_owned()), &[("expect-status", "200")], Check, "HTTP 302 Found, which");
    let short = format!("{ok}2\r\nConnection: close\r\n\r\nok");
    check_fault(of(short), &[("expect-size", "3")], Check, "the body has 2 bytes");
}

#[test]
fn a_server_that_never_comes_to_an_end_is_left_in_time() {
    // A field every 20 ms, for ever.
    let slow = serve(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        loop {
            stream.write_all(b"X: y\r\n")?;
            nap(20);
        }
    });
    let timeout = ("timeout", "200ms");
    check_fault(slow, &[timeout], EventErrorKind::Lost, "no end of the reply within 200ms");
    let endless = serve(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        loop {
            stream.write_all(&[b'x'; 4096])?;
        }
    });
    check_fault(endless, &[("max-body", "1MiB")], EventErrorKind::Protocol, "longer than");
    check_fault(endless, &[timeout], EventErrorKind::Lost, "no end of the reply within 200ms");
}

#[test]
fn a_long_body_is_counted_and_not_kept() {
    const BODY: u64 = 100 << 20;
    let port = serve(|stream, _| {
        stream
            .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n").as_bytes())?;
        let piece = [b'x'; 1 << 16];
        (0..BODY / piece.len() as u64).try_for_each(|_| stream.write_all(&piece))?;
        Ok(true)
    });
    let recording = run(port, EnginePlan::Reactor, 2, &[("checksum", "on")]);
    assert_eq!(recording.total.event_count(), 2, "{:?}", recording.errors);
    assert_eq!(recording.total.tally.counts[1], 2 * BODY);
}

#[test]
fn a_connection_that_was_closed_at_rest_is_made_again() {
    // Two replies per connection, and the second does not say that it was the last.
    let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let port = serve(move |stream, number| {
        stream.write_all(reply)?;
        Ok(number == 0)
    });
    for engine in ENGINES {
        let recording = run(port, engine, 21, &[]);
        assert_eq!(recording.total.event_count(), 21, "{:?}", recording.errors);
        assert!(recording.total.tally.counts[2] > 0, "no request was sent again");
        // What may have been done is not asked for twice.
        let posted = run(port, engine, 21, &[("method", "POST")]);
        let lost = posted.total.error_count();
        assert!(lost > 0 && lost < 21, "{:?}", posted.errors);
    }
}

#[test]
fn a_body_that_changes_is_seen() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let port = serve(move |stream, _| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let word = if number == 5 { "no" } else { "ok" };
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{word}\r\n0\r\n\r\n"
        )?;
        Ok(true)
    });
    let recording = run(port, EnginePlan::Threads, 10, &[("checksum", "on")]);
    assert_eq!((recording.total.event_count(), recording.total.error_count()), (9, 1));
    assert_eq!(recording.errors[0].error.kind, EventErrorKind::Check);
}

#[test]
fn a_server_that_is_not_there_is_told_before_the_load() {
    let gone = http_workload(1, &[]).check_ready(&Stop::new()).unwrap_err().to_string();
    assert!(gone.contains("no server listens"), "{gone}");
    let kind = KINDS.iter().find(|kind| kind.name() == "http").unwrap();
    let given = vec![("url".to_owned(), "http://no-such-host.invalid/".to_owned())];
    let options = Options::from_given(&kind.option_specs(), &given).unwrap();
    let workload = kind.build_workload(&options, Endpoint::None).unwrap();
    let gone = workload.check_ready(&Stop::new()).unwrap_err().to_string();
    assert!(gone.starts_with("look up no-such-host.invalid"), "{gone}");
}

#[test]
fn a_server_that_answers_nothing_fails_the_run() {
    let port = serve(|_, _| {
        nap(60_000);
        Ok(false)
    });
    let url = format!("http://127.0.0.1:{port}/");
    let output = World::new().run(&[
        "bench",
        "http",
        &url,
        "--threads=2",
        "--time=300ms",
        "--grace=200ms",
        "--allow=NOISE",
    ]);
    expect(&output, 1);
    let text = out(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("FAILED [ABANDONED]: no event ended well, and 2 events had"), "{text}");
    assert!(text.contains("2 events were under way at its end"), "{text}");
}

#[test]
fn latency_counts_from_when_a_request_was_due() {
    // One answer in ten takes 100 ms: at 200/s and one worker, those behind it are late through no fault of theirs.
    let port = serve(|stream, number| {
        if number % 10 == 9 {
            nap(100);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
        Ok(true)
    });
    let workload = http_workload(port, &[]);
    let stop = Stop::new();
    workload.check_ready(&stop).unwrap();
    let plan = LoadPlan {
        events: Some(40),
        arrival: sweat::plan::ArrivalPlan::Constant { per_second: 200.0 },
        grace: Duration::from_secs(10),
        ..LoadPlan::default()
    };
    let clock = RealClock::start_now();
    let recording =
        sweat::driver::run_load(&plan, 1, &*workload, clock, &stop, &mut |_| {}).unwrap();
    let class = &recording.total.classes[0];
    let slow = |histogram: &sweat::recorder::SparseHistogram| histogram.count_above(50_000_000);
    assert!(slow(&class.response) > slow(&class.service), "waiting for one's turn counts");
}
