//! A socket that blocks or belongs to a reactor, and how to wait for it.
//! Never knows: TLS, packets.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType};

use crate::base::reactor::{self, FdRegistration};
use crate::base::{Clock, Nanos, RealClock, Stop};

/// How often a blocking wait looks whether it was abandoned.
const LOOK: Duration = Duration::from_millis(200);
const LOOK_SLICE: Timespec = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
/// Pause before asking again where a unix socket's queue was full.
const QUEUE_FULL: Nanos = Nanos(5_000_000);
/// Reads in a row after which a task of a reactor lets others run, and the stop flag be seen: a result may come faster than
/// it is read.
const TURN: u32 = 32;

/// A connection that is gone is an error, not a signal. Where the flag is unknown Rust ignores the signal.
#[cfg(not(target_vendor = "apple"))]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
const NO_SIGNAL: SendFlags = SendFlags::empty();

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::client) enum ServerEndpoint {
    /// A unix socket.
    Unix(PathBuf),
    /// A resolved address.
    Tcp(SocketAddr),
}

/// Why bytes can't be had or given.
#[derive(Clone, Debug)]
pub(in crate::client) enum TransportError {
    /// The other side closed the connection.
    Closed,
    /// The operating system says so.
    Os(Errno),
    /// We were told to give up.
    Abandoned,
    /// The time allowed is over.
    TimedOut(Duration),
    /// Neither this connection nor a second one brought a sign of life.
    Silent(Duration),
    /// TLS does not like what came.
    Tls(Box<rustls::Error>),
}

impl From<Errno> for TransportError {
    fn from(errno: Errno) -> TransportError {
        TransportError::Os(errno)
    }
}

impl From<io::Error> for TransportError {
    fn from(error: io::Error) -> TransportError {
        Errno::from_io_error(&error).map_or(TransportError::Closed, TransportError::Os)
    }
}

/// Whether a server lives, asked beside a connection that waits; blocks, and gives up when the flag is set.
pub(in crate::client) type LivenessCheck = Arc<dyn Fn(&Stop) -> bool + Send + Sync>;

/// When waiting ends that nobody told to end.
pub(in crate::client) struct WaitLimit {
    clock: RealClock,
    /// How long one wait may take at most, and how long this one may.
    most: Nanos,
    time: Nanos,
    began: Nanos,
    end: Nanos,
    /// Asked at the end, if there is one: where the server lives, waiting goes on. Only for a socket that blocks.
    witness: Option<LivenessCheck>,
}

impl WaitLimit {
    /// From now on so long.
    pub(in crate::client) fn from_now(time: Duration) -> WaitLimit {
        let (clock, time) = (RealClock::start_now(), Nanos::from(time));
        WaitLimit { clock, most: time, time, began: Nanos(0), end: time, witness: None }
    }

    /// The same, with somebody to ask.
    pub(in crate::client) fn with_liveness_check(
        time: Duration,
        witness: LivenessCheck,
    ) -> WaitLimit {
        WaitLimit { witness: Some(witness), ..WaitLimit::from_now(time) }
    }

    /// A wait begins anew.
    fn restart(&mut self, time: Duration) {
        self.time = self.most.min(time.into());
        self.began = self.clock.now();
        self.end = self.began + self.time;
    }

    /// Time left; none where somebody was asked and the server does not live.
    fn time_left(&mut self, abandon: &Stop) -> Result<Nanos, TransportError> {
        let left = self.end.since(self.clock.now());
        if left > Nanos(0) {
            return Ok(left);
        }
        match &self.witness {
            None => Err(TransportError::TimedOut(self.time.into())),
            Some(witness) if witness(abandon) => {
                self.end = self.clock.now() + self.time;
                Ok(self.time)
            }
            Some(_) if abandon.is_set() => Err(TransportError::Abandoned),
            Some(_) => Err(TransportError::Silent(self.time.into())),
        }
    }

    /// Bytes have come: a sign of life, but no reason to go on reading for ever.
    fn note_received(&mut self, abandon: &Stop) -> Result<(), TransportError> {
        let now = self.clock.now();
        if abandon.is_set() && now.since(self.began) > Nanos::from(LOOK) {
            return Err(TransportError::Abandoned);
        }
        if self.witness.is_some() {
            self.end = now + self.time;
        } else if now >= self.end {
            return Err(TransportError::TimedOut(self.time.into()));
        }
        Ok(())
    }
}

/// The socket itself and how to wait for it.
pub(super) struct StreamSocket {
    pub(super) socket: OwnedFd,
    /// Present on a reactor's thread; absent where the socket blocks.
    pub(super) attachment: Option<FdRegistration>,
    pub(super) abandon: Stop,
    /// Until the login is through that of the login, then what its session is given.
    pub(super) limit: Option<WaitLimit>,
    /// Something was just sent: no answer can be there yet, so wait before reading.
    pub(super) fresh: bool,
    /// Reads since the last wait.
    reads: u32,
    /// On a unix socket that blocks: a read there is also woken when the server takes what was sent, which costs one more
    /// switch of threads for each statement.
    waits_by_poll: bool,
}

impl StreamSocket {
    /// Connects; the time allowed covers what follows until the limit is replaced. A way to the server that takes no bytes
    /// for the time of `silence` is cut.
    pub(super) async fn connect(
        endpoint: &ServerEndpoint,
        abandon: &Stop,
        time: Duration,
        silence: Duration,
    ) -> Result<StreamSocket, TransportError> {
        let limit = WaitLimit::from_now(time);
        let family = match endpoint {
            ServerEndpoint::Unix(_) => AddressFamily::UNIX,
            ServerEndpoint::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            ServerEndpoint::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        };
        let socket = open_stream_socket(family)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        let made = loop {
            let result = match endpoint {
                ServerEndpoint::Unix(path) => net::connect(&socket, &SocketAddrUnix::new(path)?),
                ServerEndpoint::Tcp(address) => net::connect(&socket, address),
            };
            match result {
                Ok(()) => break true,
                Err(Errno::INPROGRESS | Errno::INTR) => break false,
                Err(Errno::AGAIN) => {
                    if abandon.is_set() {
                        return Err(TransportError::Abandoned);
                    }
                    if limit.clock.now() >= limit.end {
                        return Err(TransportError::TimedOut(time));
                    }
                    sleep_for(QUEUE_FULL).await;
                }
                Err(errno) => return Err(errno.into()),
            }
        };
        if family != AddressFamily::UNIX {
            sockopt::set_tcp_nodelay(&socket, true)?;
            enable_keepalive(&socket, silence)?;
        }
        let attachment = reactor::attach_fd(socket.as_fd())?;
        let (abandon, limit) = (abandon.clone(), Some(limit));
        let waits_by_poll = family == AddressFamily::UNIX && attachment.is_none();
        let (fresh, reads) = (false, 0);
        let mut pipe =
            StreamSocket { socket, attachment, abandon, limit, fresh, reads, waits_by_poll };
        if !made {
            pipe.wait_until_connected().await?;
        }
        if pipe.attachment.is_none() {
            rustix::io::ioctl_fionbio(&pipe.socket, false)?;
            sockopt::set_socket_timeout(&pipe.socket, Timeout::Recv, Some(LOOK))?;
            sockopt::set_socket_timeout(&pipe.socket, Timeout::Send, Some(LOOK))?;
        }
        Ok(pipe)
    }

    /// Receives some bytes.
    #[inline]
    pub(super) fn poll_recv(&mut self, buffer: &mut [u8]) -> Poll<Result<usize, TransportError>> {
        if self.fresh && self.attachment.is_some() {
            self.fresh = false;
            return self.poll_limit();
        }
        if self.reads >= TURN && self.attachment.is_some() {
            self.reads = 0;
            reactor::wake_task(reactor::current_task());
            return Poll::Pending;
        }
        loop {
            match self.receive_bytes(buffer) {
                Ok(0) => return Poll::Ready(Err(TransportError::Closed)),
                Ok(count) => return Poll::Ready(self.note_received().map(|()| count)),
                Err(Errno::AGAIN) => match self.poll_limit() {
                    Poll::Pending if self.attachment.is_none() => {}
                    other => return other,
                },
                Err(Errno::INTR) => {}
                Err(errno) => return Poll::Ready(Err(errno.into())),
            }
        }
    }

    /// Reads what is there; a socket that blocks waits for it.
    #[inline]
    fn receive_bytes(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        if !self.waits_by_poll {
            return rustix::io::read(&self.socket, buffer);
        }
        loop {
            if !std::mem::take(&mut self.fresh) {
                match net::recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT) {
                    Err(Errno::AGAIN) => {}
                    done => return done.map(|(count, _)| count),
                }
            }
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            if rustix::event::poll(&mut fds, Some(&LOOK_SLICE))? == 0 {
                return Err(Errno::AGAIN);
            }
        }
    }

    /// Sends some bytes.
    #[inline]
    pub(super) fn poll_send(&mut self, bytes: &[u8]) -> Poll<Result<usize, TransportError>> {
        loop {
            match net::send(&self.socket, bytes, NO_SIGNAL) {
                Ok(count) => return Poll::Ready(Ok(count)),
                Err(Errno::AGAIN) => match self.poll_limit() {
                    Poll::Pending if self.attachment.is_none() => {}
                    Poll::Pending => return self.want_write(true).map_ok(|()| 0),
                    other => return other,
                },
                Err(Errno::INTR) => {}
                Err(errno) => return Poll::Ready(Err(errno.into())),
            }
        }
    }

    /// A statement begins; a session with a limit may wait so long for it.
    #[inline]
    pub(super) fn restart_limit(&mut self, time: impl FnOnce() -> Duration) {
        self.reads = 0;
        if let Some(limit) = &mut self.limit {
            limit.restart(time());
        }
    }

    /// Whether to read on, now that bytes have come. What comes without end leaves no other moment to ask.
    #[inline]
    fn note_received(&mut self) -> Result<(), TransportError> {
        self.reads += 1;
        match &mut self.limit {
            Some(limit) => limit.note_received(&self.abandon),
            None if self.abandon.is_set() => Err(TransportError::Abandoned),
            None => Ok(()),
        }
    }

    /// Whether waiting makes sense at all: `Pending` if so.
    fn poll_limit(&mut self) -> Poll<Result<usize, TransportError>> {
        self.reads = 0;
        if self.attachment.is_none() && self.abandon.is_set() {
            return Poll::Ready(Err(TransportError::Abandoned));
        }
        let Some(limit) = &mut self.limit else { return Poll::Pending };
        match limit.time_left(&self.abandon) {
            Ok(left) if self.attachment.is_some() => reactor::wake_in(left),
            Ok(_) => {}
            Err(fault) => return Poll::Ready(Err(fault)),
        }
        Poll::Pending
    }

    /// Says to the reactor whether to wait for room; pends if so.
    pub(super) fn want_write(&mut self, want: bool) -> Poll<Result<(), TransportError>> {
        if let Some(attachment) = &mut self.attachment {
            if let Err(error) = attachment.want_write(self.socket.as_fd(), want) {
                return Poll::Ready(Err(error.into()));
            }
        }
        if want { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    /// Has the socket wake another task of its reactor.
    pub(super) fn attach_to(&mut self, task: usize) -> Result<(), TransportError> {
        match &mut self.attachment {
            Some(attachment) => Ok(attachment.move_to_task(self.socket.as_fd(), task)?),
            None => Ok(()),
        }
    }

    /// Waits until a connection under way is made.
    async fn wait_until_connected(&mut self) -> Result<(), TransportError> {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut asked = false;
        poll_fn(|_| {
            if let (Some(attachment), false) = (&mut self.attachment, asked) {
                asked = true;
                if let Err(error) = attachment.want_write(self.socket.as_fd(), true) {
                    return Poll::Ready(Err(error.into()));
                }
            }
            loop {
                let timeout = if self.attachment.is_some() { &now } else { &LOOK_SLICE };
                let mut fds = [PollFd::new(&self.socket, PollFlags::OUT)];
                match rustix::event::poll(&mut fds, Some(timeout)) {
                    Ok(0) => match self.poll_limit() {
                        Poll::Pending if self.attachment.is_none() => {}
                        other => return other.map_ok(|_| ()),
                    },
                    Ok(_) => break,
                    Err(Errno::INTR) => {}
                    Err(errno) => return Poll::Ready(Err(errno.into())),
                }
            }
            match sockopt::socket_error(&self.socket) {
                Ok(Ok(())) => self.want_write(false),
                Ok(Err(errno)) | Err(errno) => Poll::Ready(Err(errno.into())),
            }
        })
        .await
    }
}

/// Has the kernel end a connection over which nothing goes any more: bytes that nobody confirms, or a server that a long wait
/// is for. A frozen server's kernel still confirms; that is what limits are for.
fn enable_keepalive(socket: &OwnedFd, silence: Duration) -> Result<(), Errno> {
    let probe = (silence / 3).max(Duration::from_secs(1));
    sockopt::set_socket_keepalive(socket, true)?;
    #[cfg(not(target_vendor = "apple"))]
    {
        sockopt::set_tcp_keepidle(socket, probe)?;
        sockopt::set_tcp_keepintvl(socket, probe)?;
    }
    #[cfg(target_os = "linux")]
    {
        let ms = u32::try_from(silence.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(socket, ms)?;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = probe;
    Ok(())
}

/// A socket that no child process inherits.
#[cfg(not(target_vendor = "apple"))]
fn open_stream_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    net::socket_with(family, SocketType::STREAM, net::SocketFlags::CLOEXEC, None)
}

/// The same in two steps, where there is no other way.
#[cfg(target_vendor = "apple")]
fn open_stream_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let socket = net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(socket)
}

/// Waits a little, on a reactor or not.
async fn sleep_for(delay: Nanos) {
    let clock = RealClock::start_now();
    if !reactor::is_running() {
        clock.sleep_until(delay);
        return;
    }
    poll_fn(|_| {
        let left = delay.since(clock.now());
        if left == Nanos(0) {
            return Poll::Ready(());
        }
        reactor::wake_in(left);
        Poll::Pending
    })
    .await;
}
