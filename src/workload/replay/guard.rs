//! What keeps a session of a replay from changing anything, and from running for ever.

use crate::recorder::{EventError, Tally};
use crate::target::{self, Identity, Session};

/// What a session is told before anything else.
pub(super) struct Guard {
    reads_only: bool,
}

/// The next transactions of the session can't write.
const READ_ONLY: &[u8] = b"SET SESSION TRANSACTION READ ONLY";

impl Guard {
    pub(super) fn new(_identity: &Identity, reads_only: bool) -> Guard {
        Guard { reads_only }
    }

    /// Puts it on a new session.
    pub(super) async fn put_on(&self, session: &mut Session) -> Result<(), target::Error> {
        self.renew(session).await.map_err(|error| session.error(error))
    }

    /// Puts it on again, as what was sent may have taken it off.
    pub(super) async fn renew(&self, session: &mut Session) -> Result<(), EventError> {
        if self.reads_only {
            session.execute(&mut Tally::default(), READ_ONLY).await?;
        }
        Ok(())
    }
}
