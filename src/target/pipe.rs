//! A socket that blocks or belongs to a reactor, and how to wait for it.
//! Never knows: TLS, packets.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::task::Poll;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, SendFlags, SocketAddrUnix, SocketType};

use crate::base::reactor::{self, Attachment};
use crate::base::{Clock, Nanos, RealClock, Stop};

/// How often a blocking wait looks whether it was abandoned.
const LOOK: Duration = Duration::from_millis(200);
/// Pause before asking again where a unix socket's queue was full.
const QUEUE_FULL: Nanos = Nanos(5_000_000);

/// A connection that is gone is an error, not a signal. Where the flag is unknown Rust ignores the signal.
#[cfg(not(target_vendor = "apple"))]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
const NO_SIGNAL: SendFlags = SendFlags::empty();

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// A unix socket.
    Unix(PathBuf),
    /// A resolved address.
    Tcp(SocketAddr),
}

/// Why bytes can't be had or given.
#[derive(Debug)]
pub(super) enum Fault {
    /// The other side closed the connection.
    Closed,
    /// The operating system says so.
    Os(Errno),
    /// We were told to give up.
    Abandoned,
    /// The time for connecting is over.
    TimedOut,
    /// TLS does not like what came.
    Tls(Box<rustls::Error>),
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Fault {
        Fault::Os(errno)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Errno::from_io_error(&error).map_or(Fault::Closed, Fault::Os)
    }
}

/// The socket itself and how to wait for it.
pub(super) struct Pipe {
    pub(super) socket: OwnedFd,
    /// Present on a reactor's thread; absent where the socket blocks.
    pub(super) attachment: Option<Attachment>,
    pub(super) abandon: Stop,
    /// End of the time to connect and log in.
    pub(super) deadline: Option<(RealClock, Nanos)>,
    /// Something was just sent: no answer can be there yet, so wait before reading.
    pub(super) fresh: bool,
}

impl Pipe {
    /// Connects; the time allowed covers what follows until the deadline is taken away.
    pub(super) async fn connect(
        endpoint: &Endpoint,
        abandon: &Stop,
        time: Duration,
    ) -> Result<Pipe, Fault> {
        let clock = RealClock::start();
        let end = Nanos::from(time);
        let family = match endpoint {
            Endpoint::Unix(_) => AddressFamily::UNIX,
            Endpoint::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Endpoint::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        };
        let socket = stream(family)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        let made = loop {
            let result = match endpoint {
                Endpoint::Unix(path) => net::connect(&socket, &SocketAddrUnix::new(path)?),
                Endpoint::Tcp(address) => net::connect(&socket, address),
            };
            match result {
                Ok(()) => break true,
                Err(Errno::INPROGRESS | Errno::INTR) => break false,
                Err(Errno::AGAIN) => {
                    if abandon.is_set() {
                        return Err(Fault::Abandoned);
                    }
                    if clock.now() >= end {
                        return Err(Fault::TimedOut);
                    }
                    pause(QUEUE_FULL).await;
                }
                Err(errno) => return Err(errno.into()),
            }
        };
        if family != AddressFamily::UNIX {
            sockopt::set_tcp_nodelay(&socket, true)?;
            sockopt::set_socket_keepalive(&socket, true)?;
        }
        let attachment = reactor::attach(socket.as_fd())?;
        let deadline = Some((clock, end));
        let mut pipe =
            Pipe { socket, attachment, abandon: abandon.clone(), deadline, fresh: false };
        if !made {
            pipe.connected().await?;
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
    pub(super) fn recv(&mut self, buffer: &mut [u8]) -> Poll<Result<usize, Fault>> {
        if self.fresh && self.attachment.is_some() {
            self.fresh = false;
            return self.patience();
        }
        loop {
            match rustix::io::read(&self.socket, &mut *buffer) {
                Ok(0) => return Poll::Ready(Err(Fault::Closed)),
                Ok(count) => return Poll::Ready(Ok(count)),
                Err(Errno::AGAIN) => match self.patience() {
                    Poll::Pending if self.attachment.is_none() => {}
                    other => return other,
                },
                Err(Errno::INTR) => {}
                Err(errno) => return Poll::Ready(Err(errno.into())),
            }
        }
    }

    /// Sends some bytes.
    #[inline]
    pub(super) fn send(&mut self, bytes: &[u8]) -> Poll<Result<usize, Fault>> {
        loop {
            match net::send(&self.socket, bytes, NO_SIGNAL) {
                Ok(count) => return Poll::Ready(Ok(count)),
                Err(Errno::AGAIN) => match self.patience() {
                    Poll::Pending if self.attachment.is_none() => {}
                    Poll::Pending => return self.want_write(true).map_ok(|()| 0),
                    other => return other,
                },
                Err(Errno::INTR) => {}
                Err(errno) => return Poll::Ready(Err(errno.into())),
            }
        }
    }

    /// Whether waiting makes sense at all: `Pending` if so.
    fn patience(&self) -> Poll<Result<usize, Fault>> {
        if self.attachment.is_none() && self.abandon.is_set() {
            return Poll::Ready(Err(Fault::Abandoned));
        }
        let Some((clock, end)) = &self.deadline else { return Poll::Pending };
        let left = end.since(clock.now());
        if left == Nanos(0) {
            return Poll::Ready(Err(Fault::TimedOut));
        }
        if self.attachment.is_some() {
            reactor::wake_in(left);
        }
        Poll::Pending
    }

    /// Says to the reactor whether to wait for room; pends if so.
    pub(super) fn want_write(&mut self, want: bool) -> Poll<Result<(), Fault>> {
        if let Some(attachment) = &mut self.attachment {
            if let Err(error) = attachment.want_write(self.socket.as_fd(), want) {
                return Poll::Ready(Err(error.into()));
            }
        }
        if want { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    /// Waits until a connection under way is made.
    async fn connected(&mut self) -> Result<(), Fault> {
        let slice = Timespec::try_from(LOOK).expect("a constant fits");
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
                let timeout = if self.attachment.is_some() { &now } else { &slice };
                let mut fds = [PollFd::new(&self.socket, PollFlags::OUT)];
                match rustix::event::poll(&mut fds, Some(timeout)) {
                    Ok(0) => match self.patience() {
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

/// A socket that no child process inherits.
#[cfg(not(target_vendor = "apple"))]
fn stream(family: AddressFamily) -> Result<OwnedFd, Errno> {
    net::socket_with(family, SocketType::STREAM, net::SocketFlags::CLOEXEC, None)
}

/// The same in two steps, where there is no other way.
#[cfg(target_vendor = "apple")]
fn stream(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let socket = net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(socket)
}

/// Waits a little, on a reactor or not.
async fn pause(delay: Nanos) {
    let clock = RealClock::start();
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
