//! One connection to a web server, and one exchange over it: the hot path.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use super::fault::{FaultCause, HttpFault};
use super::origin::HttpOrigin;
use super::reply_scan::{ReplyLimits, ReplyScan, ReplySink, ScanProgress};
use crate::base::{Clock as _, Nanos, RealClock, Stop};
use crate::client::transport::{Transport, TransportError, WaitLimit, tls, with_buffer};

/// Bytes asked of the socket at once.
pub(super) const READ: usize = 64 << 10;
/// How long a server may take to close a connection behind its last reply.
const PARTING: Duration = Duration::from_secs(1);

thread_local! {
    pub(super) static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A connection; after a fault it is to be dropped.
pub struct HttpConnection {
    transport: Transport,
    scan: ReplyScan,
    timeout: Duration,
    /// Requests that were answered over it.
    answered: u64,
    /// How long it took to connect, and how long TLS took behind that.
    pub connect_time: Nanos,
    /// TLS, where there is any.
    pub tls_time: Option<Nanos>,
}

/// A way to a server, with TLS where its origin asks for it, and how long that took.
pub(super) struct OpenedTransport {
    pub(super) transport: Transport,
    pub(super) connect_time: Nanos,
    pub(super) tls_time: Option<Nanos>,
}

/// Connects to the first address that answers. The time allowed holds on until the transport is given another limit.
///
/// # Errors
/// Why it can't be done.
pub(super) async fn open_transport(
    origin: &HttpOrigin,
    clock: &RealClock,
    timeout: Duration,
    abandon: &Stop,
) -> Result<OpenedTransport, HttpFault> {
    let began = clock.now();
    let mut first = origin.last_good();
    let count = origin.endpoints().len();
    let mut tried = 0;
    let mut transport = loop {
        let endpoint = &origin.endpoints()[first % count];
        match Transport::connect(endpoint, abandon, timeout, timeout).await {
            Ok(transport) => {
                origin.note_good(first % count);
                break transport;
            }
            // A name may have an address that nobody answers at.
            Err(TransportError::Os(_)) if tried + 1 < count => {
                tried += 1;
                first += 1;
            }
            Err(fault) => return Err(HttpFault(FaultCause::Connect(fault))),
        }
    };
    let connected = clock.now();
    let mut tls_time = None;
    if let Some(config) = origin.tls_config() {
        let name = tls::server_name(origin.tls_name());
        let name = name.map_err(|_| HttpFault(FaultCause::NoTlsName))?;
        let shaken = transport.start_tls(config, name).await;
        shaken.map_err(|fault| HttpFault(FaultCause::Connect(fault)))?;
        tls_time = Some(clock.now().since(connected));
    }
    Ok(OpenedTransport { transport, connect_time: connected.since(began), tls_time })
}

/// What a reply came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplySummary {
    /// The status.
    pub status: u16,
    /// When its first byte came, on the caller's clock.
    pub first_byte: Nanos,
    /// Bytes of its head.
    pub head_bytes: u64,
    /// Bytes of its body, without what stands between chunks.
    pub body_bytes: u64,
    /// Bytes received, before TLS.
    pub received: u64,
    /// Whether the connection can be used again.
    pub keeps_alive: bool,
}

impl HttpConnection {
    /// Connects, with TLS where the origin asks for it. `timeout` holds for this and for each exchange.
    ///
    /// # Errors
    /// Why it can't be done.
    pub async fn connect(
        origin: &HttpOrigin,
        clock: &RealClock,
        timeout: Duration,
        abandon: &Stop,
    ) -> Result<HttpConnection, HttpFault> {
        let made = open_transport(origin, clock, timeout, abandon).await?;
        let OpenedTransport { mut transport, connect_time, tls_time } = made;
        transport.set_limit(Some(WaitLimit::from_now(timeout)));
        let scan = ReplyScan::default();
        Ok(HttpConnection { transport, scan, timeout, answered: 0, connect_time, tls_time })
    }

    /// Whether a request was answered over it before.
    pub fn was_used(&self) -> bool {
        self.answered > 0
    }

    /// Name of the cipher and version of TLS, if it is on.
    pub fn tls_cipher(&self) -> Option<(String, String)> {
        self.transport.tls_cipher()
    }

    /// Sends a request whose bytes are ready and reads the reply to its end. Allocates nothing, unless a head comes in pieces.
    ///
    /// # Errors
    /// Why there is no whole reply.
    #[inline]
    pub async fn exchange<S: ReplySink>(
        &mut self,
        request: &[u8],
        limits: ReplyLimits,
        clock: &RealClock,
        sink: &mut S,
    ) -> Result<ReplySummary, HttpFault> {
        let timeout = self.timeout;
        self.transport.restart_limit(|| timeout);
        self.scan.start_reply(limits);
        if !self.transport.send_bytes(request)? {
            poll_fn(|_| self.transport.poll_flush()).await?;
        }
        let mut summary = ReplySummary::default();
        poll_fn(|_| self.poll_reply(clock, &mut summary, sink)).await?;
        let scan = &self.scan;
        summary.status = scan.status();
        summary.head_bytes = scan.head_bytes() as u64;
        summary.body_bytes = scan.body_bytes();
        summary.keeps_alive = scan.keeps_alive();
        self.answered += 1;
        Ok(summary)
    }

    #[inline]
    fn poll_reply<S: ReplySink>(
        &mut self,
        clock: &RealClock,
        summary: &mut ReplySummary,
        sink: &mut S,
    ) -> Poll<Result<(), HttpFault>> {
        with_buffer(&INPUT, |input| {
            if input.len() < READ {
                input.resize(READ, 0);
            }
            loop {
                let count = match self.transport.poll_recv(input) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(count)) => count,
                    Poll::Ready(Err(TransportError::Closed)) => {
                        let ended = self.scan.ends_with_connection();
                        let received = self.scan.has_begun();
                        return Poll::Ready(match ended {
                            true => Ok(()),
                            false => Err(HttpFault(FaultCause::Closed { received })),
                        });
                    }
                    Poll::Ready(Err(fault)) => return Poll::Ready(Err(fault.into())),
                };
                if summary.received == 0 {
                    summary.first_byte = clock.now();
                }
                summary.received += count as u64;
                let malformed = |why| HttpFault(FaultCause::Malformed(why));
                match self.scan.feed_bytes(&input[..count], sink).map_err(malformed)? {
                    ScanProgress::More => {}
                    ScanProgress::Done { used } if used == count => return Poll::Ready(Ok(())),
                    ScanProgress::Done { .. } => return Poll::Ready(Err(malformed(BEHIND))),
                }
            }
        })
    }

    /// Waits until the server, too, has closed a connection that it said it would close: so the time that a port must rest
    /// after a connection is the server's, and what comes behind a reply is seen.
    ///
    /// # Errors
    /// When bytes came behind the reply.
    pub async fn wait_for_close(mut self) -> Result<(), HttpFault> {
        let limit = PARTING.min(self.timeout);
        self.transport.set_limit(Some(WaitLimit::from_now(limit)));
        let polled = poll_fn(|_| {
            with_buffer(&INPUT, |input| {
                if input.len() < READ {
                    input.resize(READ, 0);
                }
                self.transport.poll_recv(input)
            })
        })
        .await;
        // That it went otherwise, or not in time, says nothing about the reply.
        match polled {
            Ok(_) => Err(HttpFault(FaultCause::Malformed(BEHIND))),
            Err(_) => Ok(()),
        }
    }
}

const BEHIND: &str = "more bytes come behind its end";
