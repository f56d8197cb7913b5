//! How one worker sends requests: its connections by place, redirects, cookies, and the times inside an event.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use super::cookies::CookieJar;
use super::load::HttpLoad;
use super::places::OriginBook;
use super::reply_take::ReplyTake;
use super::request::{RequestDraft, write_request};
use super::samples::SampleStore;
use super::stream_group::StreamGroup;
use super::{
    BODY_BYTES, CHECK_LOCATION, CHECK_REDIRECTS, CONNECT, CONNECTIONS, FIRST_BYTE, REDIRECTS,
    STALE, STEPS, TLS,
};
use crate::base::{Clock as _, Nanos, RealClock, Stop};
use crate::client::{
    FramedRequest, Http2Connection, HttpConnection, HttpFault, HttpOrigin, HttpUrl, ReplyLimits,
    ReplySink, ReplySummary, SharedLine,
};
use crate::recorder::{EventError, StepId, StepLatency, Tally};
use crate::workload::{OpenError, WorkerContext};

/// Times of steps that are kept of one event without asking for memory.
const TIMED: usize = 8;

/// A place and the connection to it.
struct PlaceLine {
    text: String,
    origin: Arc<HttpOrigin>,
    /// One at rest; of HTTP/1.1.
    line: Option<HttpConnection>,
    /// That of the worker's group; of HTTP/2.
    shared: Option<Rc<SharedLine>>,
}

/// Bytes that are sent, and what is to be known of them.
pub(super) struct ReadyRequest<'a> {
    pub(super) bytes: &'a [u8],
    /// The body of a request of HTTP/2, whose bytes are the head only.
    pub(super) body: &'a [u8],
    pub(super) place: usize,
    pub(super) class: u16,
    pub(super) is_head: bool,
    /// Whether it may be sent twice without harm.
    pub(super) may_repeat: bool,
}

/// A request whose bytes depend on what came before.
pub(super) struct VisitRequest<'a> {
    pub(super) url: &'a HttpUrl,
    pub(super) place: usize,
    pub(super) class: u16,
    pub(super) method: &'a str,
    /// Fields of its own, before those of the load.
    pub(super) fields: &'a [String],
    /// Whether it goes to a server that the load's own fields are meant for.
    pub(super) is_base: bool,
    pub(super) body: Option<&'a [u8]>,
}

/// Why a request has no reply that counts.
pub(super) enum PageFault {
    Lost(HttpFault),
    /// The code of a check, and its words.
    Check(u16, String),
}

impl From<HttpFault> for PageFault {
    fn from(fault: HttpFault) -> PageFault {
        PageFault::Lost(fault)
    }
}

/// Whether a request may be sent twice without harm (RFC 9110, 9.2.2).
pub(super) fn may_repeat(method: &str) -> bool {
    !matches!(method, "POST" | "PATCH")
}

/// The connections of one worker.
pub(super) struct HttpSender<'w> {
    load: &'w HttpLoad,
    book: &'w OriginBook,
    samples: Option<&'w SampleStore>,
    lines: Vec<PlaceLine>,
    /// Who it shares connections with; none in HTTP/1.1.
    group: Option<Rc<StreamGroup>>,
    pub(super) clock: RealClock,
    abandon: Stop,
    jar: CookieJar,
    buffer: Vec<u8>,
    /// Times of the event's steps.
    pub(super) timed: Vec<StepLatency>,
    /// How long the event connected, and waited for the first byte.
    pub(super) connect_time: Option<Nanos>,
    pub(super) wait: Nanos,
}

/// How long it took to connect, and how long TLS took.
pub(super) type ConnectTimes = (Nanos, Option<Nanos>);

impl PlaceLine {
    fn new(origin: Arc<HttpOrigin>, group: Option<&StreamGroup>) -> PlaceLine {
        let text = origin.origin_text().to_owned();
        let shared = group.map(|group| group.line_to(&text));
        PlaceLine { text, origin, line: None, shared }
    }
}

impl<'w> HttpSender<'w> {
    pub(super) fn new(
        load: &'w HttpLoad,
        book: &'w OriginBook,
        samples: Option<&'w SampleStore>,
        part: &WorkerContext,
    ) -> anyhow::Result<HttpSender<'w>> {
        let group = load.is_http2.then(|| StreamGroup::join_group(book, load.streams));
        let line = |origin: &Arc<HttpOrigin>| PlaceLine::new(origin.clone(), group.as_deref());
        Ok(HttpSender {
            load,
            book,
            samples,
            lines: book.own()?.iter().map(line).collect(),
            group,
            clock: book.clock,
            abandon: part.abandon.clone(),
            jar: CookieJar::default(),
            buffer: Vec::new(),
            timed: Vec::with_capacity(TIMED),
            connect_time: None,
            wait: Nanos(0),
        })
    }

    /// An event begins.
    pub(super) fn begin_event(&mut self) {
        self.timed.clear();
        self.connect_time = None;
        self.wait = Nanos(0);
    }

    fn note_step(&mut self, class: u16, step: u16, time: Nanos, failed: bool) {
        let step = StepId(class * STEPS.len() as u16 + step);
        self.timed.push(StepLatency { step, time, failed });
    }

    /// A connection was made, in this event or before it.
    pub(super) fn note_connect(&mut self, class: u16, connect: Nanos, tls: Option<Nanos>) {
        self.note_step(class, CONNECT, connect, false);
        if let Some(tls) = tls {
            self.note_step(class, TLS, tls, false);
        }
        self.connect_time = Some(connect + tls.unwrap_or_default());
    }

    /// Connects to the first place before the load; gives how long it took, and how long TLS took, unless another worker's
    /// connection serves.
    pub(super) async fn open_first(&mut self) -> Result<Option<ConnectTimes>, OpenError> {
        let first = &mut self.lines[0];
        let (origin, clock, timeout) = (&first.origin, &self.clock, self.load.timeout);
        let refused = |fault: HttpFault| {
            let EventError { kind, code } = fault.to_event_error();
            OpenError { kind, code, text: fault.to_string() }
        };
        if let Some(shared) = &first.shared {
            let opening = shared.open_line(origin, clock, timeout, &self.abandon);
            let (line, is_new) = opening.await.map_err(refused)?;
            return Ok(is_new.then_some((line.connect_time, line.tls_time)));
        }
        let made = Box::pin(HttpConnection::connect(origin, clock, timeout, &self.abandon));
        let line = made.await.map_err(refused)?;
        let times = (line.connect_time, line.tls_time);
        first.line = Some(line);
        Ok(Some(times))
    }

    /// Makes a connection. Callers box it: it is rare, and its room would be part of every worker for good.
    async fn connect(
        &mut self,
        tally: &mut Tally,
        place: usize,
        class: u16,
    ) -> Result<HttpConnection, HttpFault> {
        let began = self.clock.now();
        let (origin, timeout) = (&self.lines[place].origin, self.load.timeout);
        match HttpConnection::connect(origin, &self.clock, timeout, &self.abandon).await {
            Ok(line) => {
                self.note_new_line(tally, class, (line.connect_time, line.tls_time));
                if let Some(samples) = &self.samples {
                    samples.note_tls(|| line.tls_cipher());
                }
                Ok(line)
            }
            Err(fault) => {
                self.note_step(class, CONNECT, self.clock.now().since(began), true);
                Err(fault)
            }
        }
    }

    fn note_new_line(&mut self, tally: &mut Tally, class: u16, times: ConnectTimes) {
        tally.counts[CONNECTIONS] += 1;
        self.note_connect(class, times.0, times.1);
    }

    /// The connection of HTTP/2 to a place.
    async fn shared_line(
        &mut self,
        tally: &mut Tally,
        shared: &SharedLine,
        request: &ReadyRequest<'_>,
    ) -> Result<Rc<Http2Connection>, HttpFault> {
        let began = self.clock.now();
        let (origin, timeout) = (&self.lines[request.place].origin, self.load.timeout);
        let opening = shared.open_line(origin, &self.clock, timeout, &self.abandon);
        match opening.await {
            Ok((line, is_new)) => {
                if is_new {
                    let times = (line.connect_time, line.tls_time);
                    self.note_new_line(tally, request.class, times);
                }
                Ok(line)
            }
            Err(fault) => {
                self.note_step(request.class, CONNECT, self.clock.now().since(began), true);
                Err(fault)
            }
        }
    }

    /// Sends a request over the connection that the group shares.
    async fn exchange_http2<S: ReplySink>(
        &mut self,
        tally: &mut Tally,
        shared: &SharedLine,
        request: &ReadyRequest<'_>,
        limits: ReplyLimits,
        sink: &mut S,
    ) -> Result<ReplySummary, HttpFault> {
        loop {
            let line = self.shared_line(tally, shared, request).await?;
            let sent = self.clock.now();
            let framed = FramedRequest { block: request.bytes, body: request.body };
            match line.exchange(&framed, limits, sink).await {
                Ok(reply) => {
                    self.note_reply(tally, request, reply, sent);
                    return Ok(reply);
                }
                // What the server has not looked at can be asked for again, whatever it is.
                Err(fault)
                    if line.was_used()
                        && (fault.is_unseen()
                            || fault.is_stale_connection() && request.may_repeat) =>
                {
                    tally.counts[STALE] += 1;
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    #[inline]
    fn note_reply(
        &mut self,
        tally: &mut Tally,
        request: &ReadyRequest<'_>,
        reply: ReplySummary,
        sent: Nanos,
    ) {
        tally.bytes_sent += (request.bytes.len() + request.body.len()) as u64;
        tally.bytes_received += reply.received;
        tally.counts[BODY_BYTES] += reply.body_bytes;
        self.wait = reply.first_byte.since(sent);
        self.note_step(request.class, FIRST_BYTE, self.wait, false);
    }

    /// Sends a request and reads its reply, over a connection at rest or a new one.
    #[inline]
    pub(super) async fn exchange<S: ReplySink>(
        &mut self,
        tally: &mut Tally,
        request: &ReadyRequest<'_>,
        sink: &mut S,
    ) -> Result<ReplySummary, HttpFault> {
        let load = self.load;
        let limits = ReplyLimits {
            is_head: request.is_head,
            most_body: load.most_body,
            is_http10: load.is_http10,
        };
        if let Some(shared) = self.lines[request.place].shared.clone() {
            return self.exchange_http2(tally, &shared, request, limits, sink).await;
        }
        let mut line = match self.lines[request.place].line.take() {
            Some(line) => line,
            None => Box::pin(self.connect(tally, request.place, request.class)).await?,
        };
        loop {
            let sent = self.clock.now();
            let reply = line.exchange(request.bytes, limits, &self.clock, sink).await;
            match reply {
                Ok(reply) => {
                    self.note_reply(tally, request, reply, sent);
                    if reply.keeps_alive && load.keep_alive {
                        self.lines[request.place].line = Some(line);
                    } else if !load.keep_alive {
                        line.wait_for_close().await?;
                    }
                    return Ok(reply);
                }
                // A server may close a connection at rest at any time; what it never answered is asked for again, unless
                // asking twice may do something twice.
                Err(fault)
                    if line.was_used() && fault.is_stale_connection() && request.may_repeat =>
                {
                    tally.counts[STALE] += 1;
                    drop(line);
                    line = Box::pin(self.connect(tally, request.place, request.class)).await?;
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Asks for a page: with cookies, and following redirects, as the load has it.
    pub(super) async fn ask_page(
        &mut self,
        tally: &mut Tally,
        page: &VisitRequest<'_>,
        take: &mut ReplyTake,
    ) -> Result<ReplySummary, PageFault> {
        let (mut method, mut body, mut place) = (page.method, page.body, page.place);
        let mut url = Cow::Borrowed(page.url);
        let mut hops = 0;
        loop {
            let now_s = self.unix_time_s();
            let cookies = match self.load.cookies {
                true => self.jar.field_value(&url, now_s),
                false => String::new(),
            };
            let is_home = hops == 0 || url.origin_text() == page.url.origin_text();
            let fields = page.fields;
            let is_base = is_home && page.is_base;
            let cookies = &cookies;
            let draft = RequestDraft { method, url: &url, fields, body, cookies, is_home, is_base };
            let mut bytes = std::mem::take(&mut self.buffer);
            bytes.clear();
            write_request(self.load, &draft, &mut bytes);
            take.start_reply();
            let request = ReadyRequest {
                bytes: &bytes,
                body: body.filter(|_| self.load.is_http2).unwrap_or_default(),
                place,
                class: page.class,
                is_head: method == "HEAD",
                may_repeat: may_repeat(method),
            };
            let reply = self.exchange(tally, &request, take).await;
            self.buffer = bytes;
            let reply = reply?;
            if self.load.cookies {
                let cookies = take.cookies.iter();
                cookies.for_each(|field| self.jar.store_cookie(&url, field, now_s));
            }
            let is_followed = matches!(reply.status, 301 | 302 | 303 | 307 | 308);
            let Some(location) = take.location.take().filter(|_| is_followed) else {
                return Ok(reply);
            };
            match self.load.redirects {
                0 => return Ok(reply),
                most if hops == most => {
                    let why = format!("more than {most} redirects ({})", page.url.full_text());
                    return Err(PageFault::Check(CHECK_REDIRECTS, why));
                }
                _ => hops += 1,
            }
            tally.counts[REDIRECTS] += 1;
            let refused = |why: &str| {
                let why = format!("a redirect that is not followed: {why}");
                PageFault::Check(CHECK_LOCATION, why)
            };
            let next = url.join_location(&location).map_err(refused)?;
            place = self.find_place(&next).await.map_err(|why| refused(&why))?;
            // As browsers do: what was posted is not posted again, unless the status says so (RFC 9110, 15.4).
            let becomes_get = match reply.status {
                303 => method != "HEAD",
                301 | 302 => method == "POST",
                _ => false,
            };
            if becomes_get {
                (method, body) = ("GET", None);
            }
            url = Cow::Owned(next);
        }
    }

    /// The place of an address among those that have connections.
    async fn find_place(&mut self, url: &HttpUrl) -> Result<usize, String> {
        let text = url.origin_text();
        if let Some(place) = self.lines.iter().position(|line| line.text == text) {
            return Ok(place);
        }
        let origin = self.book.find_origin(url, self.load, &self.abandon).await?;
        self.lines.push(PlaceLine::new(origin, self.group.as_deref()));
        Ok(self.lines.len() - 1)
    }

    fn unix_time_s(&self) -> i64 {
        (Nanos(self.clock.origin_unix_ns()) + self.clock.now()).0 as i64 / 1_000_000_000
    }
}
