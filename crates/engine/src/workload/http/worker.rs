//! One worker: its connections, how it sends a request, and what it holds the reply against.

use std::fmt::Write as _;

use super::load::StatusRange;
use super::reply_take::{ReplyTake, TakeSpec};
use super::sender::{HttpSender, PageFault, ReadyRequest, VisitRequest, may_repeat};
use super::{CHECK_CODING, CHECK_SIZE, CHECK_STATUS, CHECK_SUM, CONNECTIONS, HttpWorkload};
use crate::base::http_status::status_phrase;
use crate::base::random::Rng;
use crate::base::{Clock as _, Nanos};
use crate::client::{HttpFault, ReplyField, ReplySink, ReplySummary};
use crate::recorder::{
    ClassId, EventError, EventErrorKind, EventOutcome, ExchangeFault, ExchangeSample, StepLatency,
    Tally,
};
use crate::workload::{OpenError, Worker, WorkerContext};

/// Stream of what a worker chooses.
const CHOICE_STREAM: u64 = 1;
/// Pause after a connection that could not be made: in a closed loop a server that is gone would be asked without a breath.
pub(super) const NO_CONNECTION: Nanos = Nanos(10_000_000);

/// One worker.
pub(super) struct HttpWorker<'w> {
    work: &'w HttpWorkload,
    part: WorkerContext,
    /// Places of the requests that it sends, where that is one class only.
    only: Option<&'w [u32]>,
    sender: HttpSender<'w>,
    /// Where replies are kept as far as checks and redirects need them; none where nothing does.
    take: Option<Box<ReplyTake>>,
    is_head: bool,
    may_repeat: bool,
    rng: Rng,
    /// A connection that was opened before the load; its times come with the first event.
    opened: Option<(Nanos, Option<Nanos>)>,
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
    fn wants_head(&self) -> bool {
        self.work.samples.is_some()
    }
    fn wants_body(&self) -> bool {
        self.sum.is_some()
    }
}

impl<'w> HttpWorker<'w> {
    pub(super) fn new(
        work: &'w HttpWorkload,
        part: WorkerContext,
    ) -> anyhow::Result<HttpWorker<'w>> {
        let load = &work.load;
        let (sum, most) = (load.checks.checksum, load.most_body);
        let spec = TakeSpec { sum, most, ..TakeSpec::default() };
        let take = || Box::new(ReplyTake::new(spec));
        Ok(HttpWorker {
            work,
            sender: HttpSender::new(load, &work.origins, work.samples.as_ref(), &part)?,
            take: load.looks_into_replies().then(take),
            is_head: load.method == "HEAD",
            may_repeat: may_repeat(&load.method),
            rng: Rng::new(part.seed, part.worker as u64, CHOICE_STREAM),
            only: part.only_class.map(|class| work.by_class[class].as_slice()),
            part,
            opened: None,
            is_cut_off: false,
            samples: Vec::new(),
            sample: ExchangeSample::default(),
            error_text: String::new(),
        })
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

    /// Sends a request whose bytes are ready, and counts what comes.
    #[inline]
    async fn run_plain(
        &mut self,
        tally: &mut Tally,
        place: usize,
    ) -> (Option<ReplySummary>, Option<EventError>) {
        let work = self.work;
        let plan = &work.requests[place];
        let sum = work.load.checks.checksum.then(flate2::Crc::new);
        let mut look = BodyLook { sum, work };
        let request = ReadyRequest {
            bytes: &plan.bytes,
            body: work.load.body.as_deref().filter(|_| work.load.is_http2).unwrap_or_default(),
            place: plan.origin,
            class: plan.class,
            is_head: self.is_head,
            may_repeat: self.may_repeat,
        };
        match self.sender.exchange(tally, &request, &mut look).await {
            Ok(reply) => {
                let sum = look.sum.map(|sum| sum.sum());
                (Some(reply), self.check_reply(place, reply, sum))
            }
            Err(fault) => (None, Some(self.note_fault(&fault))),
        }
    }

    /// The same with cookies, redirects and bodies that are decoded.
    async fn run_page(
        &mut self,
        tally: &mut Tally,
        place: usize,
        take: &mut ReplyTake,
    ) -> (Option<ReplySummary>, Option<EventError>) {
        let work = self.work;
        let plan = &work.requests[place];
        let page = VisitRequest {
            url: &work.load.urls[place],
            place: plan.origin,
            class: plan.class,
            method: &work.load.method,
            fields: &[],
            is_base: true,
            body: work.load.body.as_deref(),
        };
        let reply = match self.sender.ask_page(tally, &page, take).await {
            Ok(reply) => reply,
            Err(PageFault::Lost(fault)) => return (None, Some(self.note_fault(&fault))),
            Err(PageFault::Check(code, why)) => {
                self.error_text = why;
                return (None, Some(EventError { kind: EventErrorKind::Check, code }));
            }
        };
        let sum = match take.spec.sum.then(|| take.text_sum()).transpose() {
            Ok(sum) => sum,
            Err(why) => {
                let error = self.note_check(CHECK_CODING, place, format_args!("{why}"));
                return (Some(reply), Some(error));
            }
        };
        (Some(reply), self.check_reply(place, reply, sum))
    }

    /// What is wrong with a reply, if anything.
    #[inline]
    fn check_reply(
        &mut self,
        place: usize,
        reply: ReplySummary,
        sum: Option<u32>,
    ) -> Option<EventError> {
        let load = &self.work.load;
        let request = &self.work.requests[place];
        let checks = &load.checks;
        if !StatusRange::accepts(&checks.status, reply.status) {
            return Some(note_status(reply.status, &mut self.error_text));
        }
        if !request.has_size(checks.size, reply.body_bytes) {
            self.sample.fault = ExchangeFault::Size;
            let size = reply.body_bytes;
            return Some(self.note_check(
                CHECK_SIZE,
                place,
                format_args!("the body has {size} bytes"),
            ));
        }
        if let Some(sum) = sum {
            if !request.has_sum(sum) {
                self.sample.fault = ExchangeFault::Checksum;
                let what = format_args!("the body is another than in the first reply");
                return Some(self.note_check(CHECK_SUM, place, what));
            }
        }
        None
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
        let clock = self.sender.clock;
        self.sample.started = Nanos(clock.origin_unix_ns()) + started;
        self.sample.total = clock.now().since(started);
        self.sample.connect = self.sender.connect_time;
        self.sample.wait = self.sender.wait;
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

/// An error of a status that is not accepted, and its words.
#[cold]
pub(super) fn note_status(status: u16, text: &mut String) -> EventError {
    text.clear();
    // Nothing can go wrong in writing to a string.
    let _ = write!(text, "HTTP {status} {}", status_phrase(status));
    text.truncate(text.trim_end().len());
    match status {
        400.. => EventError { kind: EventErrorKind::Server, code: status },
        _ => {
            *text += ", which was not expected";
            EventError { kind: EventErrorKind::Check, code: CHECK_STATUS }
        }
    }
}

impl Worker for HttpWorker<'_> {
    /// A connection that is kept is made before the load, where there is one place only.
    async fn open(&mut self) -> Result<(), OpenError> {
        let load = &self.work.load;
        if !load.keep_alive || self.work.places.len() > 1 || !load.tries_first {
            return Ok(());
        }
        self.opened = self.sender.open_first().await?;
        Ok(())
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        self.sender.begin_event();
        self.is_cut_off = false;
        self.sample = ExchangeSample::default();
        let place = self.next_request();
        let class = self.work.requests[place].class;
        if let Some((connect, tls)) = self.opened.take() {
            tally.counts[CONNECTIONS] += 1;
            self.sender.note_connect(class, connect, tls);
        }
        let mut started = Nanos(0);
        if let Some(samples) = &self.work.samples {
            samples.note_start();
            started = self.sender.clock.now();
        }
        let (reply, error) = match self.take.take() {
            None => self.run_plain(tally, place).await,
            Some(mut take) => {
                let ended = Box::pin(self.run_page(tally, place, &mut take)).await;
                self.take = Some(take);
                ended
            }
        };
        if self.work.samples.is_some() {
            self.keep_sample(started, reply);
        }
        EventOutcome { class: ClassId(class), error }
    }

    fn connects_in_events(&self) -> bool {
        true
    }

    fn step_latencies(&self) -> &[StepLatency] {
        &self.sender.timed
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
