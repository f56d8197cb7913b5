//! What the owner of a load machine lets it load.

use std::fmt;

use super::wire::TargetOrder;
use crate::base::host_port::split_host_port;

/// The port of a server unless told otherwise.
const PORT: u16 = 3306;

/// A server that an agent may load: `HOST`, on whatever port, or `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedTarget {
    host: String,
    port: Option<u16>,
}

impl AllowedTarget {
    /// Reads `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<AllowedTarget, String> {
        let text = text.trim();
        let wrong = || format!("`{text}` is not HOST or HOST:PORT");
        let (host, port) = split_host_port(text).map_err(|_| wrong())?;
        if host.chars().any(|c| c.is_whitespace() || "/,*".contains(c)) {
            return Err(wrong());
        }
        Ok(AllowedTarget { host: host.to_ascii_lowercase(), port })
    }

    /// Whether this target is meant. Names are compared as they are written: one that means the same machine by another name
    /// is another target.
    pub(super) fn covers(&self, target: &TargetOrder) -> bool {
        let is_port = self.port.is_none_or(|port| port == target.port.unwrap_or(PORT));
        self.host == target.host.to_ascii_lowercase() && is_port
    }
}

impl fmt::Display for AllowedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.port, self.host.contains(':')) {
            (None, _) => f.write_str(&self.host),
            (Some(port), false) => write!(f, "{}:{port}", self.host),
            (Some(port), true) => write!(f, "[{}]:{port}", self.host),
        }
    }
}
