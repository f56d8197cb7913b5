//! A place to connect to: its addresses, whether they may be loaded, and TLS.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rustls::ClientConfig;

use super::url::HttpUrl;
use crate::client::transport::{ServerEndpoint, tls};
use crate::plan::{Mistake, RefusedError};

/// TLS as it was asked for, made once for all connections.
#[derive(Clone)]
pub struct WebTls(Arc<ClientConfig>);

impl std::fmt::Debug for WebTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebTls")
    }
}

impl WebTls {
    /// Reads the authorities: those of a file, or the system's. With `verifies` false any server is believed.
    ///
    /// # Errors
    /// When they can't be read, or there are none.
    pub fn new(ca: Option<&std::path::Path>, verifies: bool) -> Result<WebTls, Mistake> {
        let authorities = ca.map_or(tls::WebAuthorities::System, tls::WebAuthorities::File);
        let config = tls::web_client_config(verifies.then_some(authorities));
        Ok(WebTls(config.map_err(|error| {
            Mistake::new("--ca", error.0).hint("a file of certificates in PEM format")
        })?))
    }

    /// The same, asking servers for HTTP/2.
    #[must_use]
    pub fn with_http2(&self) -> WebTls {
        let mut config = (*self.0).clone();
        config.alpn_protocols = vec![b"h2".to_vec()];
        WebTls(Arc::new(config))
    }
}

/// What is asked of all places alike.
#[derive(Clone, Debug, Default)]
pub struct OriginSetup {
    /// Connect to this host and port, whatever URLs name.
    pub connect_to: Option<(String, u16)>,
    /// Connect through this unix socket instead.
    pub unix_socket: Option<PathBuf>,
    /// Hosts that may be loaded although they are on the open internet.
    pub allowed_hosts: Vec<String>,
    /// For places with TLS.
    pub tls: Option<WebTls>,
}

/// A place to connect to.
#[derive(Debug)]
pub struct HttpOrigin {
    name: String,
    text: String,
    endpoints: Vec<ServerEndpoint>,
    /// The address that last answered.
    good: AtomicUsize,
    tls: Option<WebTls>,
}

impl HttpOrigin {
    /// Whether it is on this machine.
    pub fn is_local(&self) -> bool {
        self.endpoints.iter().all(|endpoint| match endpoint {
            ServerEndpoint::Unix(_) => true,
            ServerEndpoint::Tcp(address) => address.ip().is_loopback(),
        })
    }

    /// Looks up the addresses of a URL's host.
    ///
    /// # Errors
    /// When there are none, or one is neither of this machine nor of a private network and the host was not allowed by name.
    pub fn resolve(url: &HttpUrl, setup: &OriginSetup) -> anyhow::Result<HttpOrigin> {
        let tls = if url.is_tls { setup.tls.clone() } else { None };
        anyhow::ensure!(
            !url.is_tls || tls.is_some(),
            "{}: no authorities are known here; --ca names a file of them",
            url.origin_text()
        );
        let made = |endpoints| HttpOrigin {
            name: url.host.clone(),
            text: url.origin_text(),
            endpoints,
            good: AtomicUsize::new(0),
            tls,
        };
        if let Some(path) = &setup.unix_socket {
            return Ok(made(vec![ServerEndpoint::Unix(path.clone())]));
        }
        let (host, port) = match &setup.connect_to {
            Some((host, port)) => (host.as_str(), *port),
            None => (url.host.as_str(), url.port),
        };
        let found = (host, port).to_socket_addrs();
        let mut found: Vec<SocketAddr> =
            found.map_err(|error| anyhow::anyhow!("look up {host}: {error}"))?.collect();
        found.sort_by_key(SocketAddr::is_ipv6);
        anyhow::ensure!(!found.is_empty(), "look up {host}: the name has no address");
        let is_allowed = setup.allowed_hosts.iter().any(|name| name.eq_ignore_ascii_case(host));
        if let Some(public) = found.iter().find(|address| !is_private(address.ip())) {
            if !is_allowed {
                return Err(RefusedError(format!(
                    "{host} ({}) is neither this machine nor in a private network\nhint: load only \
                     servers that are yours; add --allow-target={host} if this one is",
                    public.ip()
                ))
                .into());
            }
        }
        Ok(made(found.into_iter().map(ServerEndpoint::Tcp).collect()))
    }

    /// `https://host:8443`.
    pub fn origin_text(&self) -> &str {
        &self.text
    }

    pub(super) fn endpoints(&self) -> &[ServerEndpoint] {
        &self.endpoints
    }

    pub(super) fn last_good(&self) -> usize {
        self.good.load(Relaxed)
    }

    pub(super) fn note_good(&self, place: usize) {
        if self.last_good() != place {
            self.good.store(place, Relaxed);
        }
    }

    pub(super) fn tls_config(&self) -> Option<Arc<ClientConfig>> {
        self.tls.as_ref().map(|tls| tls.0.clone())
    }

    /// The name that the certificate must hold.
    pub(super) fn tls_name(&self) -> &str {
        &self.name
    }
}

/// Whether an address is of this machine or of a private network.
pub(super) fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified()
        }
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(ip) => is_private(IpAddr::V4(ip)),
            None => {
                let first = ip.segments()[0];
                let is_local = first & 0xFE00 == 0xFC00 || first & 0xFFC0 == 0xFE80;
                ip.is_loopback() || ip.is_unspecified() || is_local
            }
        },
    }
}
