//! What servers may send, and what none may.

use proptest::prelude::*;

use super::super::reply_scan::{ReplyField, ReplyLimits, ReplySink};
use super::frames::*;
use super::hpack::{FieldPrivacy, write_block_field};
use super::multiplexer::{FramedRequest, LineFault, OpenRefusal, StreamMultiplexer};
use super::reply_stream::StreamFault;
use super::scan_frames;
use crate::base::Nanos;

/// What a server says, frame by frame.
#[derive(Clone, Default)]
struct ServerScript(Vec<u8>);

impl ServerScript {
    fn start() -> ServerScript {
        ServerScript::default().frame(SETTINGS, 0, 0, &[])
    }
    fn frame(mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> ServerScript {
        write_frame(kind, flags, stream, payload, &mut self.0);
        self
    }
    fn setting(self, number: u16, value: u32) -> ServerScript {
        let mut payload = Vec::new();
        write_setting(number, value, &mut payload);
        self.frame(SETTINGS, 0, 0, &payload)
    }
    fn head(self, stream: u32, flags: u8, fields: &[(&str, &str)]) -> ServerScript {
        let block = block(fields);
        self.frame(HEADERS, flags | END_HEADERS, stream, &block)
    }
    fn data(self, stream: u32, flags: u8, bytes: &[u8]) -> ServerScript {
        self.frame(DATA, flags, stream, bytes)
    }
    fn code(self, kind: u8, stream: u32, code: u32) -> ServerScript {
        self.frame(kind, 0, stream, &code.to_be_bytes())
    }
    fn goaway(self, last: u32, code: u32) -> ServerScript {
        let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
        self.frame(GOAWAY, 0, 0, &payload)
    }
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        write_block_field(name, value, FieldPrivacy::Open, &mut block);
    }
    block
}

const OK: &[(&str, &str)] = &[(":status", "200")];

#[derive(Default, Debug, PartialEq)]
struct KeptReply {
    status: u16,
    fields: Vec<String>,
    body: Vec<u8>,
}

impl ReplySink for KeptReply {
    fn note_head(&mut self, status: u16, fields: &[ReplyField<'_>]) {
        self.status = status;
        let text = |field: &ReplyField<'_>| {
            format!("{}: {}", field.name, String::from_utf8_lossy(field.value))
        };
        self.fields.extend(fields.iter().map(text));
    }
    fn take_body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }
}

/// A connection with this many requests under way.
fn connection(streams: usize, limits: ReplyLimits) -> StreamMultiplexer {
    let mut all = StreamMultiplexer::new();
    let request = FramedRequest { block: &[0x82], body: &[] };
    for task in 0..streams {
        assert_eq!(all.open_stream(&request, limits, (true, true), task), Ok(task));
    }
    all.out.clear();
    all
}

/// What the reply of the first stream comes to, in pieces of any length.
fn read(script: &ServerScript, limits: ReplyLimits) -> Result<KeptReply, String> {
    let mut found = None;
    for piece in [1, 2, 5, 13, 1 << 20] {
        let mut all = connection(1, limits);
        let fed: Result<(), LineFault> =
            script.0.chunks(piece).try_for_each(|bytes| all.feed_bytes(bytes, Nanos(1)));
        let mut kept = KeptReply::default();
        all.tell_news(0, &mut kept);
        let stream = all.stream(0);
        let read = match (fed, stream.fault) {
            (Err(fault), _) => Err(format!("{fault:?}")),
            (_, Some(fault)) => Err(format!("{fault:?}")),
            (_, None) if stream.is_whole => Ok(kept),
            _ => Err("more is to come".to_owned()),
        };
        assert!(found.is_none() || found.as_ref() == Some(&read), "{read:?} in pieces of {piece}");
        found = Some(read);
    }
    found.unwrap()
}

fn body_of(script: &ServerScript) -> Result<String, String> {
    let kept = read(script, ReplyLimits::default())?;
    Ok(format!("{} {}", kept.status, String::from_utf8_lossy(&kept.body)))
}

#[test]
fn replies_are_put_together() {
    let start = ServerScript::start();
    let fields = [(":status", "200"), ("content-length", "5"), ("x", "y")];
    let plain = start.clone().head(1, 0, &fields).data(1, 0, b"hel").data(1, END_STREAM, b"lo");
    let kept = read(&plain, ReplyLimits::default()).unwrap();
    assert_eq!((kept.status, kept.body), (200, b"hello".to_vec()));
    assert_eq!(kept.fields, ["content-length: 5", "x: y"]);
    let empty = start.clone().head(1, END_STREAM, &[(":status", "204")]);
    assert_eq!(body_of(&empty).unwrap(), "204 ");
    let trailers = [("x-sum", "1")];
    let trailed = start.clone().head(1, 0, OK).data(1, 0, b"a").head(1, END_STREAM, &trailers);
    assert_eq!(body_of(&trailed).unwrap(), "200 a");
    let interim = start.clone().head(1, 0, &[(":status", "103"), ("link", "l")]);
    let interim = interim.head(1, 0, OK).data(1, END_STREAM, b"b");
    assert_eq!(body_of(&interim).unwrap(), "200 b");
    let padded = start.clone().frame(DATA, 0, 1, &[]);
    assert!(body_of(&padded).is_err(), "a body before its head");
    let padded = start.clone().frame(HEADERS, PADDED | PRIORITY | END_HEADERS, 1, &{
        let mut payload = vec![2, 0, 0, 0, 0, 16];
        payload.extend(block(OK));
        payload.extend([0, 0]);
        payload
    });
    let padded = padded.frame(DATA, PADDED | END_STREAM, 1, &[3, b'c', 0, 0, 0]);
    assert_eq!(body_of(&padded).unwrap(), "200 c");
    let whole = block(&[(":status", "200"), ("x-long", &"v".repeat(300))]);
    let (first, rest) = whole.split_at(7);
    let continued = start.clone().frame(HEADERS, END_STREAM, 1, first);
    let continued = continued.frame(CONTINUATION, 0, 1, &[]);
    let continued = continued.frame(CONTINUATION, END_HEADERS, 1, rest);
    assert_eq!(body_of(&continued).unwrap(), "200 ");
    // What is not known is passed over, and a ping is answered.
    let odd = start.frame(0x77, 0xFF, 9, b"?").frame(PING, 0, 0, b"12345678").head(1, 1, OK);
    assert_eq!(body_of(&odd).unwrap(), "200 ");
    let mut all = connection(1, ReplyLimits::default());
    all.feed_bytes(&odd.0, Nanos(1)).unwrap();
    let mut answer = Vec::new();
    write_frame(SETTINGS, ACK, 0, &[], &mut answer);
    write_frame(PING, ACK, 0, b"12345678", &mut answer);
    assert_eq!(all.out, answer);
}

#[test]
fn what_breaks_a_stream_is_named() {
    let start = ServerScript::start();
    let long = start.clone().head(1, 0, &[(":status", "200"), ("content-length", "3")]);
    for (script, why) in [
        (start.clone().code(RST_STREAM, 1, 7), "Reset(7)"),
        (start.clone().goaway(0, 0), "Unseen(0)"),
        (start.clone().goaway(0, 11), "Unseen(11)"),
        (start.clone().head(1, END_STREAM, &[("x", "y")]), "no status"),
        (start.clone().head(1, END_STREAM, &[(":status", "2x0")]), "none that was asked"),
        (start.clone().head(1, END_STREAM, &[(":status", "101")]), "none that was asked"),
        (start.clone().head(1, END_STREAM, &[(":status", "103")]), "interim"),
        (start.clone().head(1, 1, &[("x", "y"), (":status", "200")]), "pseudo"),
        (start.clone().head(1, 1, &[(":status", "200"), (":path", "/")]), "pseudo"),
        (start.clone().head(1, 1, &[(":status", "200"), ("Upper", "x")]), "an invalid field"),
        (start.clone().head(1, 1, &[(":status", "200"), ("a", "b\nc: d")]), "an invalid field"),
        (start.clone().head(1, 1, &[(":status", "200"), ("connection", "x")]), "HTTP/1"),
        (start.clone().head(1, 1, &[(":status", "200"), ("content-length", "x")]), "a number"),
        (long.clone().data(1, END_STREAM, b"ab"), "not as long"),
        (long.clone().data(1, 0, b"abcd"), "longer than its length"),
        (long.clone().head(1, 0, OK), "two heads"),
        (long.clone().head(1, 0, &[("x", "y")]), "trailers are not its end"),
        (start.clone().head(1, 0, OK).code(WINDOW_UPDATE, 1, 0), "window"),
    ] {
        let found = body_of(&script).unwrap_err();
        assert!(found.contains(why), "{found}, expected {why}");
    }
    let limits = ReplyLimits { most_body: 3, ..ReplyLimits::default() };
    let script = start.clone().head(1, 0, OK).data(1, 0, b"four");
    assert!(read(&script, limits).unwrap_err().contains("longer than is allowed"));
    let limits = ReplyLimits { is_head: true, ..ReplyLimits::default() };
    let script = start.head(1, END_STREAM, &[(":status", "200"), ("content-length", "9")]);
    assert_eq!(read(&script, limits).unwrap().status, 200);
}

#[test]
fn what_breaks_a_connection_is_named() {
    let start = ServerScript::start();
    let huge = {
        let mut script = start.clone();
        script.0.extend([0xFF, 0xFF, 0xFF, DATA, 0, 0, 0, 0, 1]);
        script
    };
    let flood = (0..10_001).fold(start.clone(), |all, _| all.frame(PING, ACK, 0, &[0; 8]));
    let endless = (0..5).fold(start.clone().frame(HEADERS, 0, 1, &[]), |all, _| {
        all.frame(CONTINUATION, 0, 1, &[0; MOST_PAYLOAD])
    });
    let flooded =
        (0..70).fold(start.clone().head(1, 0, OK), |all, _| all.data(1, 0, &[0; MOST_PAYLOAD]));
    for (script, why) in [
        (ServerScript(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), "OtherProtocol"),
        (ServerScript::default().goaway(0, 1), "OtherProtocol"),
        (huge, "longer than is allowed"),
        (flood, "carry no reply"),
        (endless, "head is too long"),
        (flooded, "more than its window"),
        (start.clone().frame(HEADERS, END_HEADERS, 1, &[0xBE]), "not in its table"),
        (start.clone().frame(HEADERS, END_HEADERS, 1, &[0x40]), "middle of a field"),
        (start.clone().frame(HEADERS, 0, 1, &[]).data(1, 0, b"a"), "not continued"),
        (start.clone().frame(CONTINUATION, 0, 1, &[]), "never began"),
        (start.clone().head(3, 0, OK), "never opened"),
        (start.clone().head(2, 0, OK), "never opened"),
        (start.clone().data(0, 0, b"a"), "never opened"),
        (start.clone().frame(PUSH_PROMISE, END_HEADERS, 1, &[0; 4]), "pushes"),
        (start.clone().frame(SETTINGS, 0, 0, &[1]), "another length"),
        (start.clone().setting(INITIAL_WINDOW, u32::MAX), "too large"),
        (start.clone().setting(MOST_FRAME, 5), "length of frames"),
        (start.clone().code(WINDOW_UPDATE, 0, 0x7FFF_FFFF), "without end"),
        (start.clone().frame(RST_STREAM, 0, 1, &[0]), "too short"),
        (start.clone().frame(GOAWAY, 0, 0, &[0]), "too short"),
        (start.clone().frame(DATA, PADDED, 1, &[9, 0]), "more padding"),
    ] {
        let found = body_of(&script).unwrap_err();
        assert!(found.contains(why), "{found}, expected {why}");
    }
}

#[test]
fn bodies_go_as_far_as_windows_let_them() {
    let mut all = StreamMultiplexer::new();
    all.feed_bytes(&ServerScript::start().setting(INITIAL_WINDOW, 10).0, Nanos(1)).unwrap();
    all.out.clear();
    let body = vec![b'x'; 70_000];
    let request = FramedRequest { block: &[0x83], body: &body };
    let place = all.open_stream(&request, ReplyLimits::default(), (false, false), 7).unwrap();
    let sent = |all: &mut StreamMultiplexer| {
        let out = std::mem::take(&mut all.out);
        let (mut rest, mut bytes, mut ends) = (&out[..], 0, false);
        while !rest.is_empty() {
            let head = FrameHead::from_bytes(rest);
            if head.kind == DATA {
                bytes += head.length;
                ends |= head.has_flag(END_STREAM);
            }
            rest = &rest[HEAD + head.length..];
        }
        (bytes, ends)
    };
    assert_eq!(sent(&mut all), (10, false));
    all.called.clear();
    let more = ServerScript::default().code(WINDOW_UPDATE, 1, 100_000);
    all.feed_bytes(&more.0, Nanos(1)).unwrap();
    assert_eq!(all.called, [7]);
    all.send_body(place, request.body);
    // The connection has a window, too.
    assert_eq!(sent(&mut all), (65_525, false));
    let more = ServerScript::default().code(WINDOW_UPDATE, 0, 100_000);
    all.feed_bytes(&more.0, Nanos(1)).unwrap();
    all.send_body(place, request.body);
    assert_eq!(sent(&mut all), (4465, true));
    // A reply may come before the body has gone; the rest is not sent then.
    all.feed_bytes(&ServerScript::default().head(1, END_STREAM, OK).0, Nanos(1)).unwrap();
    assert!(all.stream(place).is_whole);
}

#[test]
fn a_long_body_is_taken_bit_by_bit() {
    let mut all = connection(1, ReplyLimits::default());
    all.feed_bytes(&ServerScript::start().head(1, 0, OK).0, Nanos(1)).unwrap();
    all.out.clear();
    let piece = ServerScript::default().data(1, 0, &[b'x'; MOST_PAYLOAD]);
    let mut kept = KeptReply::default();
    let mut allowed = 1 << 20;
    for n in 1..=1000 {
        all.feed_bytes(&piece.0, Nanos(n)).unwrap();
        allowed -= MOST_PAYLOAD as i64;
        all.tell_news(0, &mut kept);
        kept.body.clear();
        let out = std::mem::take(&mut all.out);
        for frame in out.chunks_exact(HEAD + 4) {
            let head = FrameHead::from_bytes(frame);
            assert_eq!((head.kind, head.stream), (WINDOW_UPDATE, 1));
            allowed += i64::from(read_u32(&frame[HEAD..]));
        }
        assert!((1..=1 << 20).contains(&allowed), "{allowed}");
    }
    assert_eq!(all.stream(0).body_bytes, 1000 * MOST_PAYLOAD as u64);
}

#[test]
fn streams_are_limited_cancelled_and_used_again() {
    let mut all = connection(0, ReplyLimits::default());
    all.feed_bytes(&ServerScript::start().setting(MOST_STREAMS, 2).0, Nanos(1)).unwrap();
    let request = FramedRequest { block: &[0x82], body: &[] };
    let open = |all: &mut StreamMultiplexer, task| {
        all.open_stream(&request, ReplyLimits::default(), (false, false), task)
    };
    assert_eq!((open(&mut all, 5), open(&mut all, 6)), (Ok(0), Ok(1)));
    assert_eq!(open(&mut all, 7), Err(OpenRefusal::Full));
    assert_eq!(all.waiting_task(), Some(6));
    all.out.clear();
    all.close_stream(0);
    let mut cancelled = Vec::new();
    write_frame(RST_STREAM, 0, 1, &CANCEL.to_be_bytes(), &mut cancelled);
    assert_eq!(all.out, cancelled);
    // What still comes for it is passed over.
    let late = ServerScript::default().head(1, 0, OK).data(1, 0, b"late").code(RST_STREAM, 1, 0);
    all.feed_bytes(&late.0, Nanos(1)).unwrap();
    assert_eq!((open(&mut all, 7), all.waiting_task()), (Ok(0), Some(7)));
    let last = ServerScript::default().head(3, END_STREAM, OK).goaway(3, 0);
    all.feed_bytes(&last.0, Nanos(1)).unwrap();
    assert!(all.stream(1).is_whole && !all.is_usable());
    assert_eq!(all.stream(0).fault, Some(StreamFault::Unseen(0)));
    assert_eq!(open(&mut all, 8), Err(OpenRefusal::Closing));
    all.out.clear();
    all.close_stream(0);
    all.close_stream(1);
    assert!(all.out.is_empty() && all.open_count() == 0 && all.waiting_task().is_none());
}

#[test]
fn a_long_head_goes_in_pieces() {
    let mut all = StreamMultiplexer::new();
    all.out.clear();
    let long = vec![0x82; 40_000];
    let request = FramedRequest { block: &long, body: &[] };
    all.open_stream(&request, ReplyLimits::default(), (false, false), 0).unwrap();
    let mut rest = &all.out[..];
    let mut kinds = Vec::new();
    while !rest.is_empty() {
        let head = FrameHead::from_bytes(rest);
        kinds.push((head.kind, head.flags, head.length));
        rest = &rest[HEAD + head.length..];
    }
    let most = MOST_PAYLOAD;
    let last = 40_001 - 2 * most;
    let expected =
        [(HEADERS, END_STREAM, most), (CONTINUATION, 0, most), (CONTINUATION, END_HEADERS, last)];
    assert_eq!(kinds, expected);
}

proptest! {
    #[test]
    fn no_frames_break_it(
        frames: Vec<(u8, u8, u8, Vec<u8>)>,
        raw: Vec<u8>,
        piece: u8,
    ) {
        let piece = usize::from(piece % 40) + 1;
        let mut script = ServerScript::start();
        for (kind, flags, stream, payload) in frames {
            script = script.frame(kind % 12, flags, u32::from(stream % 6), &payload);
        }
        script.0.extend(raw);
        let whole = scan_frames(&script.0, script.0.len());
        prop_assert_eq!(whole, scan_frames(&script.0, piece));
    }
}
