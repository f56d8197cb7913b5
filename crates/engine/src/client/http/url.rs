//! Addresses of the web: where to connect to, and what to ask for there.

use std::net::Ipv6Addr;

use crate::base::host_port::split_host_port;

/// An address with `http` or `https`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl {
    /// Whether it asks for TLS.
    pub is_tls: bool,
    /// Name or address, without the brackets of IPv6.
    pub host: String,
    /// The port, also where it is the usual one.
    pub port: u16,
    /// Path and query as they are sent: begins with `/`.
    pub path: String,
}

/// Longest address, bytes.
const LONGEST: usize = 16 << 10;

impl HttpUrl {
    /// Reads an address. What stands behind `#` is not sent; other bytes are sent as they are.
    ///
    /// # Errors
    /// Why it is none.
    pub fn from_text(text: &str) -> Result<HttpUrl, &'static str> {
        let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
        let (is_tls, rest) = if lower.starts_with("http://") {
            (false, &text[7..])
        } else if lower.starts_with("https://") {
            (true, &text[8..])
        } else {
            return Err("a URL begins with http:// or https://");
        };
        if text.len() > LONGEST {
            return Err("the URL is too long");
        }
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7F) {
            return Err("a URL has no blanks and no control characters");
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (place, path) = rest.split_at(end);
        if place.contains('@') {
            return Err("a login or token does not belong into a URL, where others see it");
        }
        let (host, port) = split_host_port(place)?;
        let is_bracketed = place.starts_with('[');
        if is_bracketed && host.parse::<Ipv6Addr>().is_err() {
            return Err("there is no IPv6 address in the brackets");
        }
        if !is_bracketed && host.contains(':') {
            return Err("an IPv6 address needs brackets");
        }
        let port = port.unwrap_or(if is_tls { 443 } else { 80 });
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(HttpUrl { is_tls, host: host.to_ascii_lowercase(), port, path })
    }

    /// What the field `Host` says: the port only where it is not the usual one.
    pub fn host_field(&self) -> String {
        let usual = if self.is_tls { 443 } else { 80 };
        match self.port == usual {
            true => self.bracketed_host(),
            false => self.place(),
        }
    }

    /// Host and port: `localhost:8080`, `[::1]:80`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.bracketed_host(), self.port)
    }

    /// `https://host:8443`, what addresses of one connection share.
    pub fn origin_text(&self) -> String {
        format!("http{}://{}", if self.is_tls { "s" } else { "" }, self.host_field())
    }

    /// The whole address.
    pub fn full_text(&self) -> String {
        self.origin_text() + &self.path
    }

    fn bracketed_host(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }

    /// The address that a reply of this one names in its field `Location`.
    ///
    /// # Errors
    /// Why it is none.
    pub fn join_location(&self, location: &str) -> Result<HttpUrl, &'static str> {
        let location = location.split('#').next().unwrap_or_default();
        // One may stand in the query, too.
        let first = location.find(['/', '?']).unwrap_or(location.len());
        if location[..first].ends_with(':') && location[first..].starts_with("//") {
            return HttpUrl::from_text(location);
        }
        if let Some(rest) = location.strip_prefix("//") {
            let secure = if self.is_tls { "s" } else { "" };
            return HttpUrl::from_text(&format!("http{secure}://{rest}"));
        }
        let own = self.path.split('?').next().unwrap_or_default();
        let path = match location.as_bytes().first() {
            None => self.path.clone(),
            Some(b'/') => location.to_owned(),
            Some(b'?') => format!("{own}{location}"),
            Some(_) => format!("{}/{location}", own.rsplit_once('/').map_or("", |(dir, _)| dir)),
        };
        HttpUrl::from_text(&format!("{}{path}", self.origin_text()))
    }
}
