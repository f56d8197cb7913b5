//! The connection to NATS, as coordinator and agents use it, and what is asked of it beyond this machine.

use std::path::PathBuf;

use crate::client::{NatsAddress, NatsConnection, NatsError, NatsOptions, NkeySeed};

/// How to reach NATS.
#[derive(Clone, Debug, Default)]
pub struct LinkOptions {
    /// Where: `nats://HOST:PORT` or `tls://HOST:PORT`.
    pub url: String,
    /// File with the seed of our key.
    pub nkey_file: Option<PathBuf>,
    /// Authority of the server's certificate, PEM.
    pub tls_ca: Option<PathBuf>,
    /// Whether a server of another machine may do without keys and TLS.
    pub insecure: bool,
}

/// What beyond this machine needs a key and TLS, does without.
const UNSAFE: &str = "a NATS server on another machine needs a key and TLS, or anybody there could \
                      start loads\nhint: tls://HOST, --nkey FILE and --tls-ca FILE; in a network \
                      that you trust, --insecure-nats";

/// Connects and subscribes. `name` is shown in the server's lists.
///
/// # Errors
/// When it would be unsafe, or does not come about.
pub fn open_link(
    options: &LinkOptions,
    name: String,
    subjects: Vec<String>,
) -> Result<NatsConnection, NatsError> {
    let address = NatsAddress::parse(&options.url)?;
    let is_tls = address.tls || options.tls_ca.is_some();
    let is_safe = address.is_loopback() || is_tls && options.nkey_file.is_some();
    if !is_safe && !options.insecure {
        return Err(NatsError::Setup(UNSAFE.to_owned()));
    }
    let nkey = options.nkey_file.as_deref().map(NkeySeed::read_file).transpose()?;
    let tls_ca = options.tls_ca.clone();
    NatsConnection::open(NatsOptions { address, name, nkey, tls_ca, subjects })
}
