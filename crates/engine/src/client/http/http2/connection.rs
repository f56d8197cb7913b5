//! One connection of HTTP/2, which the workers of one thread share, and one exchange over it: the hot path.
//!
//! One of the tasks that wait reads for all, and wakes those whose replies have come; when its own has come it hands the
//! reading on. Requests that begin in the same turn of the reactor are sent together, at the beginning of the next.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use super::super::connection::{INPUT, OpenedTransport, READ, ReplySummary, open_transport};
use super::super::fault::{FaultCause, HttpFault};
use super::super::origin::HttpOrigin;
use super::super::reply_scan::{ReplyLimits, ReplySink};
use super::multiplexer::{FramedRequest, LineFault, OpenRefusal, StreamMultiplexer};
use super::reply_stream::StreamFault;
use crate::base::{Clock as _, Nanos, RealClock, Stop, reactor};
use crate::client::transport::{Transport, TransportError, WaitLimit, with_buffer};

/// A connection; after a fault of its own it gives no more streams.
pub struct Http2Connection {
    inner: RefCell<LineState>,
    timeout: Duration,
    clock: RealClock,
    /// How long it took to connect, and how long TLS took behind that.
    pub connect_time: Nanos,
    /// TLS, where there is any.
    pub tls_time: Option<Nanos>,
}

struct LineState {
    transport: Transport,
    streams: StreamMultiplexer,
    /// Whether others may send in the same turn.
    is_shared: bool,
    /// Whether the transport has bytes left to send.
    is_flushing: bool,
    /// The task that sends what is to be sent, next turn.
    flusher: Option<usize>,
    /// The task that reads, and the one that the socket wakes.
    reader: Option<usize>,
    attached: usize,
    /// Tasks that wait until the server allows another stream.
    waiting: VecDeque<usize>,
    end: Option<HttpFault>,
    answered: u64,
}

/// A request under way; ends its stream when it goes.
struct StreamTicket<'c> {
    line: &'c Http2Connection,
    place: Option<usize>,
    task: usize,
    deadline: Nanos,
    sent: Nanos,
}

impl Http2Connection {
    /// Connects, with TLS where the origin asks for it, and waits for the server's settings. `is_shared`: more than one task of
    /// this thread will use it. The clock is that of all who do.
    ///
    /// # Errors
    /// Why it can't be done; a server that does not speak HTTP/2 is one reason.
    pub async fn connect(
        origin: &HttpOrigin,
        clock: &RealClock,
        timeout: Duration,
        abandon: &Stop,
        is_shared: bool,
    ) -> Result<Http2Connection, HttpFault> {
        let made = open_transport(origin, clock, timeout, abandon).await.map_err(explain_tls)?;
        let OpenedTransport { mut transport, connect_time, tls_time } = made;
        if tls_time.is_some() && transport.alpn_protocol() != Some(&b"h2"[..]) {
            let why = "its TLS does not choose it";
            return Err(HttpFault(FaultCause::NotHttp2(why)));
        }
        let mut streams = StreamMultiplexer::new();
        send_frames(&mut transport, &mut streams.out).await?;
        let mut read = 0;
        poll_fn(|_| {
            while !streams.has_settings {
                let fed = read_once(&mut transport, &mut streams, clock, &mut read);
                match fed {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(fault)) => return Poll::Ready(Err(explain_start(fault))),
                }
            }
            Poll::Ready(Ok(()))
        })
        .await?;
        send_frames(&mut transport, &mut streams.out).await?;
        let is_attached = transport.is_attached();
        // On a reactor each request has a limit of its own.
        transport.set_limit((!is_attached).then(|| WaitLimit::from_now(timeout)));
        let attached = if is_attached { reactor::current_task() } else { 0 };
        let inner = LineState {
            transport,
            streams,
            is_shared: is_shared && is_attached,
            is_flushing: false,
            flusher: None,
            reader: None,
            attached,
            waiting: VecDeque::new(),
            end: None,
            answered: 0,
        };
        Ok(Http2Connection {
            inner: RefCell::new(inner),
            timeout,
            clock: *clock,
            connect_time,
            tls_time,
        })
    }

    /// Whether requests can still begin.
    pub fn is_usable(&self) -> bool {
        let inner = self.inner.borrow();
        inner.end.is_none() && inner.streams.is_usable()
    }

    /// Whether a request was answered over it before.
    pub fn was_used(&self) -> bool {
        self.inner.borrow().answered > 0
    }

    /// Name of the cipher and version of TLS, if it is on.
    pub fn tls_cipher(&self) -> Option<(String, String)> {
        self.inner.borrow().transport.tls_cipher()
    }

    /// Sends a request and waits for the end of its reply. `first_byte` of what it gives is on the connection's clock.
    ///
    /// # Errors
    /// Why there is no whole reply. Other requests go on unless the connection itself is broken.
    pub async fn exchange<S: ReplySink>(
        &self,
        request: &FramedRequest<'_>,
        limits: ReplyLimits,
        sink: &mut S,
    ) -> Result<ReplySummary, HttpFault> {
        let now = self.clock.now();
        let is_attached = self.inner.borrow().transport.is_attached();
        let task = if is_attached { reactor::current_task() } else { 0 };
        let deadline = now + self.timeout.into();
        let mut ticket = StreamTicket { line: self, place: None, task, deadline, sent: now };
        poll_fn(|_| self.poll_exchange(&mut ticket, request, limits, sink)).await
    }

    fn poll_exchange<S: ReplySink>(
        &self,
        ticket: &mut StreamTicket<'_>,
        request: &FramedRequest<'_>,
        limits: ReplyLimits,
        sink: &mut S,
    ) -> Poll<Result<ReplySummary, HttpFault>> {
        let mut inner = self.inner.borrow_mut();
        let inner = &mut *inner;
        let task = ticket.task;
        let mut reads = true;
        let place = match ticket.place {
            Some(place) => place,
            None => {
                let wants = (sink.wants_head(), sink.wants_body());
                match self.start_request(inner, ticket, request, limits, wants) {
                    Ok(Some(place)) => place,
                    Ok(None) => return self.poll_deadline(ticket),
                    Err(fault) => return Poll::Ready(Err(fault)),
                }
            }
        };
        inner.streams.send_body(place, request.body);
        if inner.flusher == Some(task) {
            inner.flusher = None;
            inner.flush_frames();
            reads = false;
        }
        loop {
            if inner.streams.stream(place).has_news() {
                inner.streams.tell_news(place, sink);
            }
            if let Some(ended) = inner.take_reply(place, ticket.sent) {
                return Poll::Ready(ended);
            }
            if let Some(end) = inner.end_of(place) {
                return Poll::Ready(Err(end));
            }
            if !reads || inner.reader != Some(task) {
                break;
            }
            if inner.read_frames(&self.clock, task).is_pending() {
                break;
            }
            inner.streams.send_body(place, request.body);
            if !inner.transport.is_attached() {
                inner.flush_frames();
            }
        }
        if inner.flusher.is_none() {
            inner.flush_frames();
        }
        self.poll_deadline(ticket)
    }

    /// Opens a stream for a request and has it sent; gives its place where a reply may be read at once.
    fn start_request(
        &self,
        inner: &mut LineState,
        ticket: &mut StreamTicket<'_>,
        request: &FramedRequest<'_>,
        limits: ReplyLimits,
        wants: (bool, bool),
    ) -> Result<Option<usize>, HttpFault> {
        let task = ticket.task;
        if inner.end.is_some() {
            // It waited for a stream, and nothing of it was sent.
            return Err(HttpFault(FaultCause::Unseen(0)));
        }
        let place = match inner.streams.open_stream(request, limits, wants, task) {
            Ok(place) => place,
            Err(OpenRefusal::Closing) => return Err(HttpFault(FaultCause::Unseen(0))),
            Err(OpenRefusal::Full) => {
                if !inner.waiting.contains(&task) {
                    inner.waiting.push_back(task);
                }
                return Ok(None);
            }
        };
        ticket.place = Some(place);
        ticket.sent = self.clock.now();
        inner.waiting.retain(|waiting| *waiting != task);
        let timeout = self.timeout;
        inner.transport.restart_limit(|| timeout);
        if inner.reader.is_none() {
            inner.hand_reading_to(Some(task));
        }
        if inner.is_shared && inner.flusher.is_none() {
            inner.flusher = Some(task);
            reactor::wake_task(task);
        } else if !inner.is_shared {
            inner.flush_frames();
        }
        // On a reactor no reply can be there yet.
        Ok((!inner.transport.is_attached()).then_some(place))
    }

    /// Waits on, or no longer.
    fn poll_deadline<T>(&self, ticket: &StreamTicket<'_>) -> Poll<Result<T, HttpFault>> {
        let left = ticket.deadline.since(self.clock.now());
        if left == Nanos(0) {
            let fault = TransportError::TimedOut(self.timeout);
            return Poll::Ready(Err(fault.into()));
        }
        if reactor::is_running() {
            reactor::wake_in(left);
        }
        Poll::Pending
    }
}

impl LineState {
    /// What a stream came to, if it has come to its end.
    fn take_reply(&mut self, place: usize, sent: Nanos) -> Option<Result<ReplySummary, HttpFault>> {
        let stream = self.streams.stream(place);
        if let Some(fault) = stream.fault {
            return Some(Err(HttpFault(match fault {
                StreamFault::Reset(code) => FaultCause::Reset(code),
                StreamFault::Malformed(why) => FaultCause::Malformed(why),
                StreamFault::Unseen(code) => FaultCause::Unseen(code),
            })));
        }
        if !stream.is_whole {
            return None;
        }
        let summary = ReplySummary {
            status: stream.status,
            first_byte: stream.first_byte.unwrap_or(sent),
            head_bytes: stream.head_bytes,
            body_bytes: stream.body_bytes,
            received: stream.received,
            keeps_alive: true,
        };
        self.answered += 1;
        Some(Ok(summary))
    }

    /// What the end of the connection means for a stream.
    fn end_of(&self, place: usize) -> Option<HttpFault> {
        let has_begun = self.streams.stream(place).received > 0;
        Some(match self.end.as_ref()? {
            HttpFault(FaultCause::Closed { .. }) => {
                HttpFault(FaultCause::Closed { received: has_begun })
            }
            fault => fault.clone(),
        })
    }

    /// Reads what has come and wakes those whom it is for, but not the task that reads.
    fn read_frames(&mut self, clock: &RealClock, task: usize) -> Poll<()> {
        let mut read = 0;
        match read_once(&mut self.transport, &mut self.streams, clock, &mut read) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(fault)) => self.end_line(fault),
        }
        if self.streams.has_room() {
            self.waiting.iter().copied().for_each(reactor::wake_task);
        }
        self.wake_called(task);
        Poll::Ready(())
    }

    fn wake_called(&mut self, but: usize) {
        for called in self.streams.called.drain(..) {
            if called != but {
                reactor::wake_task(called);
            }
        }
    }

    /// The connection is at its end, and all who wait must hear it.
    fn end_line(&mut self, fault: HttpFault) {
        let code = self.streams.goaway.map(|(_, code)| code).filter(|code| *code != 0);
        let fault = match (code, fault) {
            // Why it ended was said before.
            (Some(code), HttpFault(FaultCause::Closed { .. } | FaultCause::Transport(_))) => {
                HttpFault(FaultCause::Ended(code))
            }
            (_, fault) => fault,
        };
        self.end.get_or_insert(fault);
        self.streams.call_all();
        self.streams.called.extend(self.waiting.drain(..));
    }

    /// Sends what is to be sent, as far as it goes now.
    fn flush_frames(&mut self) {
        if self.end.is_some() {
            return;
        }
        let sent = loop {
            if self.is_flushing {
                match self.transport.poll_flush() {
                    Poll::Pending => return,
                    Poll::Ready(Err(fault)) => break Err(fault),
                    Poll::Ready(Ok(())) => self.is_flushing = false,
                }
            }
            if self.streams.out.is_empty() {
                break Ok(());
            }
            let sent = self.transport.send_bytes(&self.streams.out);
            self.streams.out.clear();
            self.streams.out.shrink_to(READ);
            match sent {
                Ok(is_all) => self.is_flushing = !is_all,
                Err(fault) => break Err(fault),
            }
        };
        // Others' replies may be there while this is sent.
        self.transport.expect_input();
        if let Err(fault) = sent {
            self.end_line(fault.into());
            self.wake_called(usize::MAX);
        }
    }

    fn hand_reading_to(&mut self, task: Option<usize>) {
        self.reader = task;
        let Some(task) = task else { return };
        if self.transport.is_attached() && self.attached != task {
            self.attached = task;
            if let Err(fault) = self.transport.attach_to(task) {
                self.end_line(fault.into());
                self.wake_called(usize::MAX);
            }
        }
    }
}

impl Drop for StreamTicket<'_> {
    fn drop(&mut self) {
        // It is borrowed only where a panic is under way.
        let Ok(mut inner) = self.line.inner.try_borrow_mut() else { return };
        inner.waiting.retain(|task| *task != self.task);
        if let Some(task) = inner.waiting.front() {
            reactor::wake_task(*task);
        }
        let Some(place) = self.place else { return };
        inner.streams.close_stream(place);
        if inner.flusher == Some(self.task) {
            inner.flusher = None;
        }
        let was_reader = inner.reader == Some(self.task);
        let must_flush = inner.flusher.is_none() && !inner.streams.out.is_empty();
        if !was_reader && !must_flush {
            return;
        }
        let next = inner.streams.waiting_task();
        if was_reader {
            inner.hand_reading_to(next);
            // What was read may be more than what the socket tells of.
            next.into_iter().for_each(reactor::wake_task);
        }
        if must_flush && next.is_some() {
            inner.flusher = next;
            next.into_iter().for_each(reactor::wake_task);
        }
    }
}

/// Reads once and takes what came; `read` counts the bytes.
fn read_once(
    transport: &mut Transport,
    streams: &mut StreamMultiplexer,
    clock: &RealClock,
    read: &mut usize,
) -> Poll<Result<(), HttpFault>> {
    with_buffer(&INPUT, |input| {
        if input.len() < READ {
            input.resize(READ, 0);
        }
        let count = match transport.poll_recv(input) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(count)) => count,
            Poll::Ready(Err(TransportError::Closed)) => {
                let received = *read > 0;
                return Poll::Ready(Err(HttpFault(FaultCause::Closed { received })));
            }
            Poll::Ready(Err(fault)) => return Poll::Ready(Err(fault.into())),
        };
        *read += count;
        let fed = streams.feed_bytes(&input[..count], clock.now());
        Poll::Ready(fed.map_err(|fault| {
            HttpFault(match fault {
                LineFault::OtherProtocol => FaultCause::NotHttp2("it answers otherwise"),
                LineFault::Broken(why) => FaultCause::Malformed(why),
            })
        }))
    })
}

/// A server that wants none of the protocols that TLS offers says so in an alert.
fn explain_tls(fault: HttpFault) -> HttpFault {
    use rustls::AlertDescription::NoApplicationProtocol;
    match &fault.0 {
        FaultCause::Connect(TransportError::Tls(error))
            if **error == rustls::Error::AlertReceived(NoApplicationProtocol) =>
        {
            HttpFault(FaultCause::NotHttp2("its TLS refuses it"))
        }
        _ => fault,
    }
}

/// What a fault before the server's settings means.
fn explain_start(fault: HttpFault) -> HttpFault {
    match fault.0 {
        FaultCause::Closed { .. } => {
            HttpFault(FaultCause::NotHttp2("it closes the connection at once"))
        }
        FaultCause::Transport(fault) => HttpFault(FaultCause::Connect(fault)),
        other => HttpFault(other),
    }
}

async fn send_frames(transport: &mut Transport, out: &mut Vec<u8>) -> Result<(), HttpFault> {
    let sent = transport.send_bytes(out);
    out.clear();
    if !sent? {
        poll_fn(|_| transport.poll_flush()).await?;
    }
    transport.expect_input();
    Ok(())
}
