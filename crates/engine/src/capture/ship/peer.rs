//! A connection, plain or in TLS, and whom to believe.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rustix::net::sockopt;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};

use crate::base::http_head::is_pause;

/// Where machines keep the authorities they believe.
const AUTHORITIES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];
/// How long a socket waits before it says that nothing comes or goes.
const PATIENCE: Duration = Duration::from_millis(200);

/// A connection.
pub(super) enum PeerStream {
    Plain(TcpStream),
    Server(Box<StreamOwned<ServerConnection, TcpStream>>),
    Client(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl PeerStream {
    /// One that came to us.
    pub(super) fn from_accepted(
        socket: TcpStream,
        tls: Option<&Arc<ServerConfig>>,
    ) -> io::Result<PeerStream> {
        configure_socket(&socket)?;
        Ok(match tls {
            None => PeerStream::Plain(socket),
            Some(config) => {
                let tls = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
                PeerStream::Server(Box::new(StreamOwned::new(tls, socket)))
            }
        })
    }

    /// One that we made.
    pub(super) fn from_connected(
        socket: TcpStream,
        tls: Option<(&Arc<ClientConfig>, ServerName<'static>)>,
    ) -> io::Result<PeerStream> {
        configure_socket(&socket)?;
        Ok(match tls {
            None => PeerStream::Plain(socket),
            Some((config, name)) => {
                let tls = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
                PeerStream::Client(Box::new(StreamOwned::new(tls, socket)))
            }
        })
    }

    fn socket(&self) -> &TcpStream {
        match self {
            PeerStream::Plain(socket) => socket,
            PeerStream::Server(tls) => &tls.sock,
            PeerStream::Client(tls) => &tls.sock,
        }
    }

    /// Says that nothing more will come from us.
    pub(super) fn shutdown_write(&mut self) {
        if let PeerStream::Server(tls) = self {
            tls.conn.send_close_notify();
            let _ = tls.flush();
        }
        let _ = self.socket().shutdown(std::net::Shutdown::Write);
    }

    /// Goes through the handshake, if there is one. However slowly its bytes come, it ends when `is_late` says so.
    pub(super) fn finish_handshake(&mut self, is_late: &dyn Fn() -> bool) -> io::Result<()> {
        let PeerStream::Server(tls) = self else { return Ok(()) };
        while tls.conn.is_handshaking() {
            if is_late() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match exchange_tls(tls) {
                Ok(()) => {}
                Err(e) if is_pause(&e) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Whether the other side has left. What it says besides is passed over: it has asked already.
    pub(super) fn has_left(&mut self) -> bool {
        use rustix::net::RecvFlags;
        let mut byte = [0_u8];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(self.socket(), &mut byte[..], flags) {
            Ok((0, _)) => true,
            // In TLS that it leaves is said in its own words.
            Ok(_) => match self.read(&mut [0; 1024]) {
                Ok(read) => read == 0,
                Err(e) => !is_pause(&e),
            },
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => false,
            Err(_) => true,
        }
    }
}

/// Sends what TLS has to send, then takes what came, once: the socket waits for a moment at most.
fn exchange_tls(tls: &mut StreamOwned<ServerConnection, TcpStream>) -> io::Result<()> {
    while tls.conn.wants_write() {
        tls.conn.write_tls(&mut tls.sock)?;
    }
    if tls.conn.wants_read() && tls.conn.read_tls(&mut tls.sock)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if let Err(e) = tls.conn.process_new_packets() {
        // What is wrong is told, if it can be told at once.
        let _ = tls.conn.write_tls(&mut tls.sock);
        return Err(io::Error::other(e));
    }
    Ok(())
}

fn configure_socket(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    sockopt::set_socket_keepalive(socket, true)?;
    // Where the network ends without a word, nobody leaves; and a quiet log sends nothing that would tell.
    sockopt::set_tcp_keepidle(socket, Duration::from_secs(5))?;
    sockopt::set_tcp_keepintvl(socket, Duration::from_secs(1))?;
    sockopt::set_tcp_keepcnt(socket, 4)?;
    Ok(())
}

impl Read for PeerStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            PeerStream::Plain(socket) => socket.read(out),
            // A record that comes byte by byte would keep the library's own read busy for as long as it comes.
            PeerStream::Server(tls) => match tls.conn.reader().read(out) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    exchange_tls(tls)?;
                    tls.conn.reader().read(out)
                }
                result => result,
            },
            PeerStream::Client(tls) => tls.read(out),
        }
    }
}

impl Write for PeerStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            PeerStream::Plain(socket) => socket.write(bytes),
            PeerStream::Server(tls) => tls.write(bytes),
            PeerStream::Client(tls) => tls.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            PeerStream::Plain(socket) => socket.flush(),
            PeerStream::Server(tls) => tls.flush(),
            PeerStream::Client(tls) => tls.flush(),
        }
    }
}

/// What a server shows of itself: a chain of certificates and their key, PEM.
///
/// # Errors
/// When they can't be read or don't fit.
pub fn server_config(chain: &Path, key: &Path) -> anyhow::Result<Arc<ServerConfig>> {
    let certificates = read_certificates(chain)?;
    let private = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("read the key {}", key.display()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .with_context(|| format!("{} and {} don't fit", chain.display(), key.display()))?;
    Ok(Arc::new(config))
}

/// Whom a client believes: the authorities in this file, PEM, or those of the machine.
///
/// # Errors
/// When they can't be read.
pub(super) fn client_config(authority: Option<&Path>) -> anyhow::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    match authority {
        Some(path) => {
            for certificate in read_certificates(path)? {
                roots.add(certificate).with_context(|| format!("take {}", path.display()))?;
            }
        }
        None => {
            let there = AUTHORITIES.iter().map(Path::new).find(|path| path.exists());
            let path = there.context("this machine has no list of authorities; name one")?;
            roots.add_parsable_certificates(read_certificates(path)?);
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn read_certificates(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let what = || format!("read the certificates in {}", path.display());
    let list = CertificateDer::pem_file_iter(path).with_context(what)?;
    let list = list.collect::<Result<Vec<_>, _>>().with_context(what)?;
    anyhow::ensure!(!list.is_empty(), "{} holds no certificate", path.display());
    Ok(list)
}
