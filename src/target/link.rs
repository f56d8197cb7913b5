//! What carries bytes to a server and back: a socket, with TLS or without.
//! Never knows: packets, logins, statements.

use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rustix::net;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::pipe::{Endpoint, Fault, Limit, Pipe};
use crate::base::Stop;

/// The pipe as TLS wants it.
struct Tap<'a> {
    pipe: &'a mut Pipe,
    fault: Option<Fault>,
}

impl Tap<'_> {
    fn result(&mut self, polled: Poll<Result<usize, Fault>>) -> io::Result<usize> {
        match polled {
            Poll::Ready(Ok(count)) => Ok(count),
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
            Poll::Ready(Err(fault)) => {
                self.fault = Some(fault);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    /// What an error of TLS's input or output means here.
    fn verdict<T>(self, error: io::Error) -> Poll<Result<T, Fault>> {
        match (self.fault, error.kind()) {
            (Some(fault), _) => Poll::Ready(Err(fault)),
            (None, io::ErrorKind::WouldBlock) => Poll::Pending,
            (None, _) => Poll::Ready(Err(error.into())),
        }
    }
}

impl io::Read for Tap<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let polled = self.pipe.recv(buffer);
        self.result(polled)
    }
}

impl io::Write for Tap<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let polled = self.pipe.send(bytes);
        self.result(polled)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection that carries bytes.
pub(super) struct Link {
    pipe: Pipe,
    tls: Option<Box<ClientConnection>>,
    /// What the socket did not take yet.
    unsent: Vec<u8>,
}

impl Link {
    /// Connects; the time allowed covers what follows until `set_limit`. See `Pipe::connect` for `silence`.
    pub(super) async fn connect(
        endpoint: &Endpoint,
        abandon: &Stop,
        time: Duration,
        silence: Duration,
    ) -> Result<Link, Fault> {
        let pipe = Pipe::connect(endpoint, abandon, time, silence).await?;
        Ok(Link { pipe, tls: None, unsent: Vec::new() })
    }

    /// What ends a wait from now on, besides the stop flag.
    pub(super) fn set_limit(&mut self, limit: Option<Limit>) {
        self.pipe.limit = limit;
        self.unsent = Vec::new();
    }

    /// A statement begins; where there is a limit it may wait so long.
    #[inline]
    pub(super) fn restart_limit(&mut self, time: impl FnOnce() -> Duration) {
        self.pipe.restart_limit(time);
    }

    /// Whether waits end by themselves.
    pub(super) fn has_limit(&self) -> bool {
        self.pipe.limit.is_some()
    }

    /// Ends the connection at once, in both directions.
    pub(super) fn close(&mut self) {
        // Where that fails there is no connection any more.
        let _ = net::shutdown(&self.pipe.socket, net::Shutdown::Both);
    }

    /// How long the kernel lets bytes go unconfirmed.
    #[cfg(all(test, target_os = "linux"))]
    pub(super) fn user_timeout_ms(&self) -> u32 {
        net::sockopt::tcp_user_timeout(&self.pipe.socket).expect("it is TCP")
    }

    /// The process at the other end, where the kernel tells.
    pub(super) fn peer_pid(&self) -> Option<u32> {
        super::peer::pid(self.pipe.socket.as_fd())
    }

    /// Whether the link belongs to a reactor.
    pub(super) fn is_attached(&self) -> bool {
        self.pipe.attachment.is_some()
    }

    /// Replaces the flag that ends waiting.
    pub(super) fn set_abandon(&mut self, abandon: &Stop) {
        self.pipe.abandon = abandon.clone();
    }

    /// Puts TLS on the connection.
    pub(super) async fn secure(
        &mut self,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<(), Fault> {
        let tls = ClientConnection::new(config, name).map_err(|e| Fault::Tls(Box::new(e)))?;
        let mut tls = Box::new(tls);
        poll_fn(|_| {
            while tls.is_handshaking() || tls.wants_write() {
                let mut tap = Tap { pipe: &mut self.pipe, fault: None };
                if tls.wants_write() {
                    if let Err(error) = tls.write_tls(&mut tap) {
                        return tap.verdict(error);
                    }
                    continue;
                }
                match tls.read_tls(&mut tap) {
                    Ok(0) => return Poll::Ready(Err(Fault::Closed)),
                    Ok(_) => {}
                    Err(error) => return tap.verdict(error),
                }
                if let Err(error) = tls.process_new_packets() {
                    // The other side shall know why; whether it hears it does not matter.
                    let _ = tls.write_tls(&mut Tap { pipe: &mut self.pipe, fault: None });
                    return Poll::Ready(Err(Fault::Tls(Box::new(error))));
                }
            }
            self.pipe.want_write(false)
        })
        .await?;
        self.tls = Some(tls);
        Ok(())
    }

    /// Name of cipher and protocol version, if TLS is on.
    pub(super) fn cipher(&self) -> Option<(String, String)> {
        let tls = self.tls.as_ref()?;
        let cipher = tls.negotiated_cipher_suite()?.suite().as_str()?.replace("TLS13_", "TLS_");
        let version = tls.protocol_version()?.as_str()?.replace("TLSv1_", "TLSv1.");
        Some((cipher, version))
    }

    /// Whether TLS is on.
    pub(super) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Sends; what the socket does not take at once is kept for `poll_flush`. Gives whether all went.
    #[inline]
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        debug_assert!(self.unsent.is_empty(), "one statement at a time");
        let mut sent = 0;
        if self.tls.is_none() {
            while sent < bytes.len() {
                match self.pipe.send(&bytes[sent..]) {
                    Poll::Ready(count) => sent += count?,
                    Poll::Pending => break,
                }
            }
            if sent == bytes.len() {
                self.pipe.fresh = true;
                return Ok(true);
            }
        }
        self.unsent.extend_from_slice(&bytes[sent..]);
        match self.poll_flush() {
            Poll::Ready(result) => result.map(|()| true),
            Poll::Pending => Ok(false),
        }
    }

    /// Sends what is left.
    pub(super) fn poll_flush(&mut self) -> Poll<Result<(), Fault>> {
        use std::io::Write;
        let mut sent = 0;
        let polled = loop {
            let step = match &mut self.tls {
                None if sent == self.unsent.len() => break Poll::Ready(Ok(())),
                None => self.pipe.send(&self.unsent[sent..]),
                Some(tls) if tls.wants_write() => {
                    let mut tap = Tap { pipe: &mut self.pipe, fault: None };
                    match tls.write_tls(&mut tap) {
                        Ok(_) => Poll::Ready(Ok(0)),
                        Err(error) => tap.verdict(error),
                    }
                }
                Some(_) if sent == self.unsent.len() => break Poll::Ready(Ok(())),
                Some(tls) => {
                    let written = tls.writer().write(&self.unsent[sent..]);
                    Poll::Ready(written.map_err(Fault::from))
                }
            };
            match step {
                Poll::Ready(Ok(count)) => sent += count,
                Poll::Ready(Err(fault)) => break Poll::Ready(Err(fault)),
                Poll::Pending => break Poll::Pending,
            }
        };
        if polled.is_pending() {
            self.unsent.drain(..sent);
            return Poll::Pending;
        }
        self.unsent.clear();
        self.unsent.shrink_to(4096);
        self.pipe.fresh = true;
        if self.pipe.want_write(false).is_pending() {
            return Poll::Pending;
        }
        polled
    }

    /// Receives some bytes, at least one.
    #[inline]
    pub(super) fn poll_recv(&mut self, buffer: &mut [u8]) -> Poll<Result<usize, Fault>> {
        match &mut self.tls {
            None => self.pipe.recv(buffer),
            Some(tls) => recv_tls(&mut self.pipe, tls, buffer),
        }
    }
}

fn recv_tls(
    pipe: &mut Pipe,
    tls: &mut ClientConnection,
    buffer: &mut [u8],
) -> Poll<Result<usize, Fault>> {
    use std::io::Read;
    loop {
        match tls.reader().read(buffer) {
            Ok(0) => return Poll::Ready(Err(Fault::Closed)),
            Ok(count) => return Poll::Ready(Ok(count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return Poll::Ready(Err(Fault::Closed)),
        }
        let mut tap = Tap { pipe: &mut *pipe, fault: None };
        match tls.read_tls(&mut tap) {
            Ok(0) => return Poll::Ready(Err(Fault::Closed)),
            Ok(_) => {}
            Err(error) => return tap.verdict(error),
        }
        if let Err(error) = tls.process_new_packets() {
            return Poll::Ready(Err(Fault::Tls(Box::new(error))));
        }
        if tls.wants_write() {
            // An answer of TLS itself (new keys); what does not go now goes with the next statement.
            let _ = tls.write_tls(&mut Tap { pipe: &mut *pipe, fault: None });
        }
    }
}
