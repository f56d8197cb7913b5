//! The right to change a running server.

use crate::server::ServerControl;

/// The right to change a running server.
#[derive(Clone, Debug)]
pub struct Consent {
    pub(super) source: String,
    /// The server goes when we are through with it: what is left changed on it matters to nobody.
    pub(super) own: bool,
}

impl Consent {
    /// A server that we may stop we may also change.
    pub fn from_control(_control: &dyn ServerControl) -> Consent {
        Consent::for_own_server()
    }

    /// A server that we have started for this alone.
    pub fn for_own_server() -> Consent {
        Consent { source: "a server of our own".to_owned(), own: true }
    }

    /// The user said so in words: the flag that was typed, as in `--allow load`.
    pub fn from_flag(flag: &str) -> Consent {
        Consent { source: flag.to_owned(), own: false }
    }

    /// Where it comes from.
    pub fn source(&self) -> &str {
        &self.source
    }
}
