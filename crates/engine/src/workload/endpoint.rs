//! What a workload talks to.

use crate::client::Target;

/// What sort of endpoint a kind of workload asks for; flags and checks come from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointKind {
    /// It talks to nobody.
    None,
    /// A MySQL or MariaDB server, by address or as a sandbox.
    MySql,
    /// Whatever answers at the URLs that its options name.
    Url,
}

/// The endpoint that a workload is built for.
#[derive(Clone, Copy, Debug)]
pub enum Endpoint<'a> {
    /// None.
    None,
    /// A server.
    MySql(&'a Target),
}

impl<'a> Endpoint<'a> {
    /// Of which sort it is.
    pub fn kind(self) -> EndpointKind {
        match self {
            Endpoint::None => EndpointKind::None,
            Endpoint::MySql(_) => EndpointKind::MySql,
        }
    }

    /// The server.
    ///
    /// # Errors
    /// When it is none, which [`super::build_workload`] lets nobody see.
    pub fn require_mysql(self) -> anyhow::Result<&'a Target> {
        match self {
            Endpoint::MySql(target) => Ok(target),
            Endpoint::None => anyhow::bail!("the workload was built without a server"),
        }
    }
}

impl<'a> From<Option<&'a Target>> for Endpoint<'a> {
    fn from(target: Option<&'a Target>) -> Endpoint<'a> {
        target.map_or(Endpoint::None, Endpoint::MySql)
    }
}

impl EndpointKind {
    /// What to do where it is missing; `None` where nothing is asked for.
    pub(super) fn missing_hint(self) -> Option<(&'static str, &'static str)> {
        match self {
            EndpointKind::None | EndpointKind::Url => None,
            EndpointKind::MySql => Some((
                "needs a server",
                "say where it is with -h HOST -P PORT or -S SOCKET, or use a sandbox",
            )),
        }
    }
}
