//! A connection, plain or in TLS, and whom to believe.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};

/// Where machines keep the authorities they believe.
const AUTHORITIES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];
/// How long a socket waits before it says that nothing comes or goes.
const PATIENCE: Duration = Duration::from_millis(200);

/// A connection.
pub(super) enum Peer {
    Plain(TcpStream),
    Server(Box<StreamOwned<ServerConnection, TcpStream>>),
    Client(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Peer {
    /// One that came to us.
    pub(super) fn accepted(socket: TcpStream, tls: Option<&Arc<ServerConfig>>) -> io::Result<Peer> {
        prepare(&socket)?;
        Ok(match tls {
            None => Peer::Plain(socket),
            Some(config) => {
                let tls = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
                Peer::Server(Box::new(StreamOwned::new(tls, socket)))
            }
        })
    }

    /// One that we made.
    pub(super) fn made(
        socket: TcpStream,
        tls: Option<(&Arc<ClientConfig>, ServerName<'static>)>,
    ) -> io::Result<Peer> {
        prepare(&socket)?;
        Ok(match tls {
            None => Peer::Plain(socket),
            Some((config, name)) => {
                let tls = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
                Peer::Client(Box::new(StreamOwned::new(tls, socket)))
            }
        })
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Peer::Plain(socket) => socket,
            Peer::Server(tls) => &tls.sock,
            Peer::Client(tls) => &tls.sock,
        }
    }

    /// Says that nothing more will come from us.
    pub(super) fn end(&mut self) {
        if let Peer::Server(tls) = self {
            tls.conn.send_close_notify();
            let _ = tls.flush();
        }
        let _ = self.socket().shutdown(std::net::Shutdown::Write);
    }

    /// Whether the other side has left. In TLS it says so in words we don't look for; writing to it tells later.
    pub(super) fn has_left(&self) -> bool {
        use rustix::net::RecvFlags;
        let mut byte = [0_u8];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(self.socket(), &mut byte[..], flags) {
            Ok((read, _)) => read == 0,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => false,
            Err(_) => true,
        }
    }
}

fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    rustix::net::sockopt::set_socket_keepalive(socket, true)?;
    Ok(())
}

impl Read for Peer {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Peer::Plain(socket) => socket.read(out),
            Peer::Server(tls) => tls.read(out),
            Peer::Client(tls) => tls.read(out),
        }
    }
}

impl Write for Peer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Peer::Plain(socket) => socket.write(bytes),
            Peer::Server(tls) => tls.write(bytes),
            Peer::Client(tls) => tls.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Peer::Plain(socket) => socket.flush(),
            Peer::Server(tls) => tls.flush(),
            Peer::Client(tls) => tls.flush(),
        }
    }
}

/// What a server shows of itself: a chain of certificates and their key, PEM.
///
/// # Errors
/// When they can't be read or don't fit.
pub fn server_config(chain: &Path, key: &Path) -> anyhow::Result<Arc<ServerConfig>> {
    let certificates = read(chain)?;
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
            for certificate in read(path)? {
                roots.add(certificate).with_context(|| format!("take {}", path.display()))?;
            }
        }
        None => {
            let there = AUTHORITIES.iter().map(Path::new).find(|path| path.exists());
            let path = there.context("this machine has no list of authorities; name one")?;
            roots.add_parsable_certificates(read(path)?);
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn read(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let what = || format!("read the certificates in {}", path.display());
    let list = CertificateDer::pem_file_iter(path).with_context(what)?;
    let list = list.collect::<Result<Vec<_>, _>>().with_context(what)?;
    anyhow::ensure!(!list.is_empty(), "{} holds no certificate", path.display());
    Ok(list)
}
