//! `nats://HOST:PORT` and `tls://HOST:PORT`.

use std::fmt;
use std::net::IpAddr;

use super::NatsError;
use crate::base::host_port::split_host_port;

/// Where NATS servers listen unless told otherwise.
const PORT: u16 = 4222;

/// Where a NATS server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsAddress {
    /// Name or number of the host, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Whether TLS is asked for.
    pub tls: bool,
}

impl NatsAddress {
    /// Reads an address. A bare host is one, too.
    ///
    /// # Errors
    /// What is wrong with it. Users and passwords are refused: keys stand in files.
    pub fn parse(text: &str) -> Result<NatsAddress, NatsError> {
        let wrong = |why: &str| NatsError::Address(format!("`{text}`{why}"));
        let (scheme, rest) = text.split_once("://").unwrap_or(("nats", text));
        let tls = match scheme {
            "nats" => false,
            "tls" => true,
            _ => return Err(wrong(" is not the address of a NATS server")),
        };
        if rest.contains('@') {
            // The text itself may hold a password.
            return Err(NatsError::Address("users and passwords don't belong in it".to_owned()));
        }
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = split_host_port(rest).map_err(|why| wrong(&format!(": {why}")))?;
        let is_host = |c: char| c.is_ascii_alphanumeric() || "-_.:%".contains(c);
        if !host.chars().all(is_host) {
            return Err(wrong(": it names no host"));
        }
        Ok(NatsAddress { host: host.to_owned(), port: port.unwrap_or(PORT), tls })
    }

    /// Whether only this machine can be there.
    pub fn is_loopback(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => self.host.eq_ignore_ascii_case("localhost"),
        }
    }
}

impl fmt::Display for NatsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "tls" } else { "nats" };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}
