//! One worker: its connections, how it sends a request, and what it holds the reply against.

use std::fmt::Write as _;

use super::{BODY_BYTES, CONNECT, CONNECTIONS, FIRST_BYTE, HttpWorkload, STALE, STEPS, TLS};
use crate::base::random::Rng;
use crate::base::{Clock as _, Nanos, RealClock};
use crate::client::{
    HttpConnection, HttpFault, HttpOrigin, ReplyField, ReplyLimits, ReplySink, ReplySummary,
    status_phrase,
};
use crate::recorder::{
    ClassId, EventError, EventErrorKind, EventOutcome, ExchangeFault, ExchangeSample, StepId,
    StepLatency, Tally,
};
use crate::workload::{OpenError, Worker, WorkerContext};

/// Stream of what a worker chooses.
const CHOICE_STREAM: u64 = 1;
/// Codes of checks that a reply did not pass.
const SIZE: u16 = 1;
const CHECKSUM: u16 = 2;
const STATUS: u16 = 3;
/// Pause after a connection that could not be made: in a closed loop a server that is gone would be asked without a breath.
const NO_CONNECTION: Nanos = Nanos(10_000_000);
/// Times of steps that are kept of one event without asking for memory.
const TIMED: usize = 8;

/// One worker.
pub(super) struct HttpWorker<'w> {
    work: &'w HttpWorkload,
    origins: &'w [HttpOrigin],
    part: WorkerContext,
    /// Places of the requests that it sends, where that is one class only.
    only: Option<&'w [u32]>,
    limits: ReplyLimits,
    /// Connections at rest, by place.
    lines: Box<[Option<HttpConnection>]>,
    rng: Rng,
    clock: RealClock,
    /// A connection that was opened before the load; its times come with the first event.
    opened: Option<(Nanos, Option<Nanos>)>,
    timed: Vec<StepLatency>,
    /// The last event could not connect.
    is_cut_off: bool,
    samples: Vec<ExchangeSample>,
    sample: ExchangeSample,
    error_text: String,
}

/// What a body is looked at for.
struct BodyLook<'w> {
    sum: Option<flate2::Crc>,
    work: &'w HttpWorkload,
}

impl ReplySink for BodyLook<'_> {
    #[inline]
    fn note_head(&mut self, _: u16, fields: &[ReplyField<'_>]) {
        if let Some(samples) = &self.work.samples {
            let server = fields.iter().find(|field| field.name.eq_ignore_ascii_case("server"));
            samples.note_server(server.map_or(b"", |field| field.value));
        }
    }
    #[inline]
    fn take_body(&mut self, bytes: &[u8]) {
        if let Some(sum) = &mut self.sum {
            sum.update(bytes);
        }
    }
}

impl<'w> HttpWorker<'w> {
    pub(super) fn new(
        work: &'w HttpWorkload,
        origins: &'w [HttpOrigin],
        part: WorkerContext,
    ) -> HttpWorker<'w> {
        let load = &work.load;
        HttpWorker {
            work,
            origins,
            limits: ReplyLimits {
                is_head: load.method == "HEAD",
                most_body: load.most_body,
                is_http10: load.is_http10,
            },
            lines: origins.iter().map(|_| None).collect(),
            rng: Rng::new(part.seed, part.worker as u64, CHOICE_STREAM),
            only: part.only_class.map(|class| work.by_class[class].as_slice()),
            clock: RealClock::start_now(),
            part,
            opened: None,
            timed: Vec::with_capacity(TIMED),
            is_cut_off: false,
            samples: Vec::new(),
            sample: ExchangeSample::default(),
            error_text: String::new(),
        }
    }

    /// The request of the next event, by its place.
    #[inline]
    fn next_request(&mut self) -> usize {
        let place = match self.only.map_or(self.work.requests.len(), <[u32]>::len) {
            1 => 0,
            count if self.work.load.in_turn => self.work.next_in_turn(count),
            count => self.rng.uniform_below(count as u64) as usize,
        };
        self.only.map_or(place, |list| list[place] as usize)
    }

    fn note_step(&mut self, class: u16, step: u16, time: Nanos, failed: bool) {
        let step = StepId(class * STEPS.len() as u16 + step);
        self.timed.push(StepLatency { step, time, failed });
    }

    fn note_connect(&mut self, class: u16, connect: Nanos, tls: Option<Nanos>) {
        self.note_step(class, CONNECT, connect, false);
        if let Some(tls) = tls {
            self.note_step(class, TLS, tls, false);
        }
        self.sample.connect = Some(connect + tls.unwrap_or_default());
    }

    async fn connect(
        &mut self,
        tally: &mut Tally,
        origin: usize,
        class: u16,
    ) -> Result<HttpConnection, HttpFault> {
        let began = self.clock.now();
        let (place, timeout) = (&self.origins[origin], self.work.load.timeout);
        let made = HttpConnection::connect(place, &self.clock, timeout, &self.part.abandon).await;
        match made {
            Ok(line) => {
                tally.counts[CONNECTIONS] += 1;
                self.note_connect(class, line.connect_time, line.tls_time);
                if let Some(samples) = &self.work.samples {
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

    /// Sends a request and reads its reply, over a connection at rest or a new one.
    #[inline]
    async fn fetch(
        &mut self,
        tally: &mut Tally,
        place: usize,
        look: &mut BodyLook<'w>,
    ) -> Result<ReplySummary, HttpFault> {
        let work = self.work;
        let request = &work.requests[place];
        let mut line = match self.lines[request.origin].take() {
            Some(line) => line,
            None => self.connect(tally, request.origin, request.class).await?,
        };
        loop {
            let sent = self.clock.now();
            let reply = line.exchange(&request.bytes, self.limits, &self.clock, look).await;
            match reply {
                Ok(reply) => {
                    tally.bytes_sent += request.bytes.len() as u64;
                    tally.bytes_received += reply.received;
                    tally.counts[BODY_BYTES] += reply.body_bytes;
                    let wait = reply.first_byte.since(sent);
                    self.note_step(request.class, FIRST_BYTE, wait, false);
                    self.sample.wait = wait;
                    if reply.keeps_alive && work.load.keep_alive {
                        self.lines[request.origin] = Some(line);
                    } else if !work.load.keep_alive {
                        line.wait_for_close().await?;
                    }
                    return Ok(reply);
                }
                // A server may close a connection at rest at any time; what it never answered is asked for again, unless
                // asking twice may do something twice.
                Err(fault)
                    if line.was_used() && fault.is_stale_connection() && work.may_repeat() =>
                {
                    tally.counts[STALE] += 1;
                    drop(line);
                    line = self.connect(tally, request.origin, request.class).await?;
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    /// What is wrong with a reply, if anything.
    #[inline]
    fn check_reply(
        &mut self,
        place: usize,
        reply: ReplySummary,
        look: BodyLook<'w>,
    ) -> Option<EventError> {
        let load = &self.work.load;
        let request = &self.work.requests[place];
        let checks = &load.checks;
        let is_expected = match checks.status.is_empty() {
            true => reply.status < 400,
            false => checks.status.iter().any(|range| range.contains(reply.status)),
        };
        if !is_expected {
            return Some(self.note_status(reply.status));
        }
        if !request.has_size(checks.size, reply.body_bytes) {
            self.sample.fault = ExchangeFault::Size;
            let size = reply.body_bytes;
            return Some(self.note_check(SIZE, place, format_args!("the body has {size} bytes")));
        }
        if let Some(sum) = look.sum {
            if !request.has_sum(sum.sum()) {
                self.sample.fault = ExchangeFault::Checksum;
                let what = format_args!("the body is another than in the first reply");
                return Some(self.note_check(CHECKSUM, place, what));
            }
        }
        None
    }

    #[cold]
    fn note_status(&mut self, status: u16) -> EventError {
        self.error_text.clear();
        // Nothing can go wrong in writing to a string.
        let _ = write!(self.error_text, "HTTP {status} {}", status_phrase(status));
        self.error_text.truncate(self.error_text.trim_end().len());
        match status {
            400.. => EventError { kind: EventErrorKind::Server, code: status },
            _ => {
                self.error_text += ", which was not expected";
                EventError { kind: EventErrorKind::Check, code: STATUS }
            }
        }
    }

    #[cold]
    fn note_check(&mut self, code: u16, place: usize, what: std::fmt::Arguments<'_>) -> EventError {
        self.error_text.clear();
        let _ = write!(self.error_text, "{what} ({})", self.work.load.urls[place].full_text());
        EventError { kind: EventErrorKind::Check, code }
    }

    #[cold]
    fn note_fault(&mut self, fault: &HttpFault) -> EventError {
        self.error_text.clear();
        let _ = write!(self.error_text, "{fault}");
        self.is_cut_off = fault.is_connect();
        self.sample.fault = match fault {
            fault if fault.is_timeout() => ExchangeFault::Timeout,
            fault if fault.is_connect() => ExchangeFault::Connect,
            _ => ExchangeFault::Receive,
        };
        if let Some(samples) = &self.work.samples {
            if !self.part.abandon.is_set() {
                samples.note_fault(&self.error_text);
            }
        }
        fault.to_event_error()
    }

    /// Keeps the event that has just ended.
    fn keep_sample(&mut self, started: Nanos, reply: Option<ReplySummary>) {
        let Some(samples) = &self.work.samples else { return };
        if reply.is_none() && self.part.abandon.is_set() {
            // It was given up: it stays under way.
            return;
        }
        samples.note_end();
        self.sample.started = Nanos(self.clock.origin_unix_ns()) + started;
        self.sample.total = self.clock.now().since(started);
        if let Some(reply) = reply {
            self.sample.status = reply.status;
            self.sample.keeps_alive = reply.keeps_alive;
            self.sample.body_bytes = reply.body_bytes;
            self.sample.received = reply.received;
            samples.note_size(reply.body_bytes);
        }
        self.samples.push(self.sample);
    }
}

impl HttpWorkload {
    /// Whether a request may be sent twice without harm (RFC 9110, 9.2.2).
    fn may_repeat(&self) -> bool {
        !matches!(self.load.method.as_str(), "POST" | "PATCH")
    }
}

impl Worker for HttpWorker<'_> {
    /// A connection that is kept is made before the load, where there is one place only.
    async fn open(&mut self) -> Result<(), OpenError> {
        if !self.work.load.keep_alive || self.origins.len() > 1 || !self.work.load.tries_first {
            return Ok(());
        }
        let timeout = self.work.load.timeout;
        let origin = &self.origins[0];
        let made = HttpConnection::connect(origin, &self.clock, timeout, &self.part.abandon).await;
        let line = made.map_err(|fault| {
            let EventError { kind, code } = fault.to_event_error();
            OpenError { kind, code, text: fault.to_string() }
        })?;
        self.opened = Some((line.connect_time, line.tls_time));
        self.lines[0] = Some(line);
        Ok(())
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        self.timed.clear();
        self.is_cut_off = false;
        self.sample = ExchangeSample::default();
        let place = self.next_request();
        let class = self.work.requests[place].class;
        if let Some((connect, tls)) = self.opened.take() {
            tally.counts[CONNECTIONS] += 1;
            self.note_connect(class, connect, tls);
        }
        let mut started = Nanos(0);
        if let Some(samples) = &self.work.samples {
            samples.note_start();
            started = self.clock.now();
        }
        let sum = self.work.load.checks.checksum.then(flate2::Crc::new);
        let mut look = BodyLook { sum, work: self.work };
        let fetched = self.fetch(tally, place, &mut look).await;
        let error = match &fetched {
            Ok(reply) => self.check_reply(place, *reply, look),
            Err(fault) => Some(self.note_fault(fault)),
        };
        if self.work.samples.is_some() {
            self.keep_sample(started, fetched.ok());
        }
        EventOutcome { class: ClassId(class), error }
    }

    fn connects_in_events(&self) -> bool {
        true
    }

    fn step_latencies(&self) -> &[StepLatency] {
        &self.timed
    }

    fn think_time(&self) -> Option<Nanos> {
        self.is_cut_off.then_some(NO_CONNECTION)
    }

    fn error_text(&self) -> &str {
        &self.error_text
    }
}

impl Drop for HttpWorker<'_> {
    fn drop(&mut self) {
        if let Some(samples) = &self.work.samples {
            samples.add_samples(&mut self.samples);
        }
    }
}
