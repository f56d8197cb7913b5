//! Workers that send statements to the standby: each takes the next one, whoever's it was.

use std::time::Duration;

use super::explain;
use super::send_queue::{QueuedStatement, SendQueue, SendState};
use crate::base::random::Rng;
use crate::base::reactor::block_on;
use crate::base::{Clock, Nanos, RealClock, Stop};
use crate::client::{Error, ROWS_COUNTER, Session, SessionLimits, Target};
use crate::recorder::{EventError, EventErrorKind, Tally};

/// How long a worker waits before it opens another session.
const PAUSE: Nanos = Nanos(200_000_000);
/// One of so many statements is explained as it runs, to tell its reads from those of others.
const EXPLAIN_EACH: u64 = 16;
/// Errors by which a server says that a statement took too long: MariaDB, MySQL, killed.
const TIMED_OUT: [u16; 3] = [1969, 3024, 1317];
/// The database of sessions that have none: there are no tables of users in it.
const NOWHERE: &[u8] = b"information_schema";

/// What every worker needs.
pub(super) struct Senders<'a> {
    pub target: &'a Target,
    pub queue: &'a SendQueue,
    pub clock: RealClock,
    /// Ends it.
    pub stop: &'a Stop,
    /// Longest that a statement may take on the standby.
    pub time_limit: Duration,
    /// Whether it may be sent to a server that is not read-only.
    pub writable_too: bool,
}

/// A session with the database it is in.
struct SenderSession {
    session: Session,
    database: Vec<u8>,
    /// How often the standby had been found when it was opened: it is of no use after the next time.
    openings: u64,
}

impl Senders<'_> {
    /// The life of one worker.
    pub(super) fn run_sender(&self, worker: usize) {
        let mut open = None;
        let mut random = Rng::new(0, worker as u64, 0);
        while let Some(item) = self.queue.wait_for_statement(self.stop, &|| self.clock.now()) {
            if open
                .as_ref()
                .is_none_or(|own: &SenderSession| own.openings != self.queue.start_count())
            {
                open = self.open_session().ok();
            }
            let Some(own) = &mut open else {
                self.queue.report_suspect();
                self.queue.finish_statement(|state| state.counts.lost += 1);
                self.clock.sleep_until(self.clock.now() + PAUSE);
                continue;
            };
            let explains = random.uniform_below(EXPLAIN_EACH) == 0;
            let lives = self.send_statement(worker, own, &item, explains);
            if !lives {
                open = None;
                self.queue.report_suspect();
            }
        }
    }

    /// Sends one statement; gives whether the session can be used on.
    fn send_statement(
        &self,
        worker: usize,
        open: &mut SenderSession,
        item: &QueuedStatement,
        explains: bool,
    ) -> bool {
        self.queue.set_active_session(worker, open.session.id());
        let began = self.clock.now();
        let mut tally = Tally::default();
        let sent = self.execute_statement(open, item, explains, &mut tally);
        let took = self.clock.now().since(began);
        self.queue.set_active_session(worker, 0);
        let text = open.session.error_text().to_owned();
        self.queue.finish_statement(|state| record_outcome(state, sent, took, &tally, text));
        open.session.is_usable()
    }

    fn execute_statement(
        &self,
        open: &mut SenderSession,
        item: &QueuedStatement,
        explains: bool,
        tally: &mut Tally,
    ) -> Result<Option<explain::StatementPages>, EventError> {
        let SenderSession { session, database, .. } = open;
        let wanted = if item.database.is_empty() { NOWHERE } else { &item.database };
        if database != wanted {
            let mut switch = b"USE `".to_vec();
            wanted.iter().for_each(|b| {
                switch.extend(if *b == b'`' { &b"``"[..] } else { std::slice::from_ref(b) })
            });
            switch.push(b'`');
            block_on(session.execute(tally, &switch))?;
            *database = wanted.to_vec();
        }
        // The last look before it goes.
        if !self.queue.may_send() {
            return Err(EventError { kind: EventErrorKind::Lost, code: 0 });
        }
        if explains {
            if let Some(pages) = explain::explain_statement(session, &item.text) {
                return Ok(Some(pages));
            }
        }
        block_on(session.execute(tally, &item.text)).map(|_| None)
    }

    /// Opens a session that can't write, on a server that does not.
    fn open_session(&self) -> Result<SenderSession, Error> {
        let (openings, abandon) = (self.queue.start_count(), self.queue.abort_flag());
        let mut session = self.target.connect(&abandon)?;
        guard_session(&mut session, self.time_limit)?;
        if !self.writable_too && !is_read_only(&mut session)? {
            return Err(Error::Protocol("the standby is no longer read-only".to_owned()));
        }
        Ok(SenderSession { session, database: Vec::new(), openings })
    }
}

/// Notes what became of a statement.
fn record_outcome(
    state: &mut SendState,
    sent: Result<Option<explain::StatementPages>, EventError>,
    took: Nanos,
    tally: &Tally,
    text: String,
) {
    let counts = &mut state.counts;
    match sent {
        Err(EventError { kind: EventErrorKind::Lost | EventErrorKind::Protocol, .. }) => {
            counts.lost += 1;
            return;
        }
        Err(EventError { code, .. }) => {
            counts.failed += 1;
            counts.timed_out += u64::from(TIMED_OUT.contains(&code));
            if counts.first_error.is_none() {
                counts.first_error = Some((code, text));
            }
        }
        Ok(Some(pages)) => {
            state.explained.statements += 1;
            state.explained.pages_asked += pages.asked;
            state.explained.pages_read += pages.read;
        }
        Ok(None) => {}
    }
    counts.sent += 1;
    counts.rows += tally.counts[ROWS_COUNTER];
    counts.service_ns += took.0;
}

/// Makes a session one that can't write, waits long for no lock, and has its statements ended in time.
pub(super) fn guard_session(session: &mut Session, time_limit: Duration) -> Result<(), Error> {
    let guard = SessionLimits { time_limit: Some(time_limit), ..SessionLimits::default() };
    block_on(guard.set_up(session))?;
    // What a query cache answers warms nothing.
    match session.run_command("SET SESSION query_cache_type = OFF") {
        Ok(_) | Err(Error::Server { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether the server takes no writes from ordinary accounts.
pub(super) fn is_read_only(session: &mut Session) -> Result<bool, Error> {
    let value = session.query_scalar("SELECT @@GLOBAL.read_only")?.unwrap_or_default();
    Ok(parse_read_only(&value))
}

/// Reads the variable's value: a number, or a word in newer servers.
pub(super) fn parse_read_only(value: &str) -> bool {
    !matches!(value.trim().to_ascii_uppercase().as_str(), "" | "0" | "OFF" | "FALSE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_off_is_writable() {
        assert!(["1", "ON", "NO_LOCK", "NO_LOCK_NO_ADMIN"].into_iter().all(parse_read_only));
        assert!(!["0", "OFF", ""].into_iter().any(parse_read_only));
    }
}
