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

use super::socket::{ServerEndpoint, StreamSocket, TransportError, WaitLimit};
use crate::base::Stop;

/// The pipe as TLS wants it.
struct TlsIo<'a> {
    socket: &'a mut StreamSocket,
    fault: Option<TransportError>,
}

impl TlsIo<'_> {
    fn io_result(&mut self, polled: Poll<Result<usize, TransportError>>) -> io::Result<usize> {
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
    fn into_poll_error<T>(self, error: io::Error) -> Poll<Result<T, TransportError>> {
        match (self.fault, error.kind()) {
            (Some(fault), _) => Poll::Ready(Err(fault)),
            (None, io::ErrorKind::WouldBlock) => Poll::Pending,
            (None, _) => Poll::Ready(Err(error.into())),
        }
    }
}

impl io::Read for TlsIo<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let polled = self.socket.poll_recv(buffer);
        self.io_result(polled)
    }
}

impl io::Write for TlsIo<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let polled = self.socket.poll_send(bytes);
        self.io_result(polled)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection that carries bytes.
pub(in crate::client) struct Transport {
    socket: StreamSocket,
    tls: Option<Box<ClientConnection>>,
    /// What the socket did not take yet.
    unsent: Vec<u8>,
}

impl Transport {
    /// Connects; the time allowed covers what follows until `set_limit`. See `StreamSocket::connect` for `silence`.
    pub(in crate::client) async fn connect(
        endpoint: &ServerEndpoint,
        abandon: &Stop,
        time: Duration,
        silence: Duration,
    ) -> Result<Transport, TransportError> {
        let socket = StreamSocket::connect(endpoint, abandon, time, silence).await?;
        Ok(Transport { socket, tls: None, unsent: Vec::new() })
    }

    /// What ends a wait from now on, besides the stop flag.
    pub(in crate::client) fn set_limit(&mut self, limit: Option<WaitLimit>) {
        self.socket.limit = limit;
        self.unsent = Vec::new();
    }

    /// A statement begins; where there is a limit it may wait so long.
    #[inline]
    pub(in crate::client) fn restart_limit(&mut self, time: impl FnOnce() -> Duration) {
        self.socket.restart_limit(time);
    }

    /// Whether waits end by themselves.
    pub(in crate::client) fn has_limit(&self) -> bool {
        self.socket.limit.is_some()
    }

    /// Ends the connection at once, in both directions.
    pub(in crate::client) fn close(&mut self) {
        // Where that fails there is no connection any more.
        let _ = net::shutdown(&self.socket.socket, net::Shutdown::Both);
    }

    /// How long the kernel lets bytes go unconfirmed.
    #[cfg(all(test, target_os = "linux"))]
    pub(in crate::client) fn user_timeout_ms(&self) -> u32 {
        net::sockopt::tcp_user_timeout(&self.socket.socket).expect("it is TCP")
    }

    /// The process at the other end, where the kernel tells.
    pub(in crate::client) fn peer_pid(&self) -> Option<u32> {
        super::peer::peer_pid(self.socket.socket.as_fd())
    }

    /// Whether the link belongs to a reactor.
    pub(in crate::client) fn is_attached(&self) -> bool {
        self.socket.attachment.is_some()
    }

    /// Has the connection wake another task of its reactor.
    pub(in crate::client) fn attach_to(&mut self, task: usize) -> Result<(), TransportError> {
        self.socket.attach_to(task)
    }

    /// Bytes may be there to read although some were just sent: they may answer others.
    pub(in crate::client) fn expect_input(&mut self) {
        self.socket.fresh = false;
    }

    /// The protocol that TLS chose for what it carries.
    pub(in crate::client) fn alpn_protocol(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.alpn_protocol()
    }

    /// Replaces the flag that ends waiting.
    pub(in crate::client) fn set_abandon(&mut self, abandon: &Stop) {
        self.socket.abandon = abandon.clone();
    }

    /// Puts TLS on the connection.
    pub(in crate::client) async fn start_tls(
        &mut self,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<(), TransportError> {
        let tls =
            ClientConnection::new(config, name).map_err(|e| TransportError::Tls(Box::new(e)))?;
        let mut tls = Box::new(tls);
        poll_fn(|_| {
            while tls.is_handshaking() || tls.wants_write() {
                let mut tap = TlsIo { socket: &mut self.socket, fault: None };
                if tls.wants_write() {
                    if let Err(error) = tls.write_tls(&mut tap) {
                        return tap.into_poll_error(error);
                    }
                    continue;
                }
                match tls.read_tls(&mut tap) {
                    Ok(0) => return Poll::Ready(Err(TransportError::Closed)),
                    Ok(_) => {}
                    Err(error) => return tap.into_poll_error(error),
                }
                if let Err(error) = tls.process_new_packets() {
                    // The other side shall know why; whether it hears it does not matter.
                    let _ = tls.write_tls(&mut TlsIo { socket: &mut self.socket, fault: None });
                    return Poll::Ready(Err(TransportError::Tls(Box::new(error))));
                }
            }
            self.socket.want_write(false)
        })
        .await?;
        self.tls = Some(tls);
        Ok(())
    }

    /// Name of cipher and protocol version, if TLS is on.
    pub(in crate::client) fn tls_cipher(&self) -> Option<(String, String)> {
        let tls = self.tls.as_ref()?;
        let cipher = tls.negotiated_cipher_suite()?.suite().as_str()?.replace("TLS13_", "TLS_");
        let version = tls.protocol_version()?.as_str()?.replace("TLSv1_", "TLSv1.");
        Some((cipher, version))
    }

    /// Whether TLS is on.
    pub(in crate::client) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Sends; what the socket does not take at once is kept for `poll_flush`. Gives whether all went.
    #[inline]
    pub(in crate::client) fn send_bytes(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        debug_assert!(self.unsent.is_empty(), "one statement at a time");
        let mut sent = 0;
        if self.tls.is_none() {
            while sent < bytes.len() {
                match self.socket.poll_send(&bytes[sent..]) {
                    Poll::Ready(count) => sent += count?,
                    Poll::Pending => break,
                }
            }
            if sent == bytes.len() {
                self.socket.fresh = true;
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
    pub(in crate::client) fn poll_flush(&mut self) -> Poll<Result<(), TransportError>> {
        use std::io::Write;
        let mut sent = 0;
        let polled = loop {
            let step = match &mut self.tls {
                None if sent == self.unsent.len() => break Poll::Ready(Ok(())),
                None => self.socket.poll_send(&self.unsent[sent..]),
                Some(tls) if tls.wants_write() => {
                    let mut tap = TlsIo { socket: &mut self.socket, fault: None };
                    match tls.write_tls(&mut tap) {
                        Ok(_) => Poll::Ready(Ok(0)),
                        Err(error) => tap.into_poll_error(error),
                    }
                }
                Some(_) if sent == self.unsent.len() => break Poll::Ready(Ok(())),
                Some(tls) => {
                    let written = tls.writer().write(&self.unsent[sent..]);
                    Poll::Ready(written.map_err(TransportError::from))
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
        self.socket.fresh = true;
        if self.socket.want_write(false).is_pending() {
            return Poll::Pending;
        }
        polled
    }

    /// Receives some bytes, at least one.
    #[inline]
    pub(in crate::client) fn poll_recv(
        &mut self,
        buffer: &mut [u8],
    ) -> Poll<Result<usize, TransportError>> {
        match &mut self.tls {
            None => self.socket.poll_recv(buffer),
            Some(tls) => poll_recv_tls(&mut self.socket, tls, buffer),
        }
    }
}

fn poll_recv_tls(
    socket: &mut StreamSocket,
    tls: &mut ClientConnection,
    buffer: &mut [u8],
) -> Poll<Result<usize, TransportError>> {
    use std::io::Read;
    loop {
        match tls.reader().read(buffer) {
            Ok(0) => return Poll::Ready(Err(TransportError::Closed)),
            Ok(count) => return Poll::Ready(Ok(count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return Poll::Ready(Err(TransportError::Closed)),
        }
        let mut tap = TlsIo { socket: &mut *socket, fault: None };
        match tls.read_tls(&mut tap) {
            Ok(0) => return Poll::Ready(Err(TransportError::Closed)),
            Ok(_) => {}
            Err(error) => return tap.into_poll_error(error),
        }
        if let Err(error) = tls.process_new_packets() {
            return Poll::Ready(Err(TransportError::Tls(Box::new(error))));
        }
        if tls.wants_write() {
            // An answer of TLS itself (new keys); what does not go now goes with the next statement.
            let _ = tls.write_tls(&mut TlsIo { socket: &mut *socket, fault: None });
        }
    }
}
