//! How many sessions a server lets us have.

use crate::client::mysql::{Error, Session};

/// Sessions of ours beside those of a load's workers: sampler and control.
pub const OWN_SESSIONS: u64 = 3;

/// Sessions that a server allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// In all.
    pub all: u64,
    /// By one account; 0 for no limit.
    pub account: u64,
    /// How many there are already, apart from the one that asks.
    pub taken: u64,
}

impl ConnectionLimits {
    /// Asks the server.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn from_session(session: &mut Session) -> Result<ConnectionLimits, Error> {
        let mut number = |sql: &str, column: usize| -> Result<u64, Error> {
            let rows = session.query_rows(sql)?;
            let value = rows.rows.first().and_then(|row| row.get(column)).cloned().flatten();
            Ok(value.and_then(|v| String::from_utf8_lossy(&v).parse().ok()).unwrap_or(0))
        };
        Ok(ConnectionLimits {
            all: number("select @@global.max_connections", 0)?,
            account: number("select @@max_user_connections", 0)?,
            taken: number("show global status like 'Threads_connected'", 1)?.saturating_sub(1),
        })
    }

    /// Most workers that a load may have; at least one, as the server may say better why there is no room.
    pub fn max_workers(&self) -> u64 {
        let free = self.all.saturating_sub(self.taken);
        let own = if self.account > 0 { free.min(self.account) } else { free };
        own.saturating_sub(OWN_SESSIONS).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_may_have_what_others_and_we_leave() {
        let of = |all, account, taken| ConnectionLimits { all, account, taken }.max_workers();
        assert_eq!(of(151, 0, 1), 147);
        assert_eq!(of(151, 20, 1), 17);
        assert_eq!(of(151, 0, 151), 1);
    }
}
