//! Who is looked at: the server through a session of the sampler's own, and its process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::process::ThreadCpu;
use crate::base::Stop;
use crate::base::reactor::block_on;
use crate::client::{Error, ResultSet, Session, Target};

/// How a gap begins where there is no session.
pub(super) const NO_CONNECTION: &str = "no connection";

/// Why a probe saw nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeError {
    /// This time.
    Now(String),
    /// This time and every time: a privilege or a feature is not there.
    ForGood(String),
}

/// The server looked at. Reconnects by itself, once per tick.
pub struct ProbedServer {
    target: Option<Target>,
    abandon: Stop,
    session: Option<Session>,
    /// Why this tick has no session.
    down: Option<String>,
    pid: Arc<AtomicU32>,
    /// Adds up what the server's thread of our session takes, where that is wanted.
    thread_cpu: Option<ThreadCpu>,
}

impl ProbedServer {
    /// A subject without a connection yet; `pid` is shared, 0 while not known.
    pub(super) fn new(
        target: Option<&Target>,
        abandon: &Stop,
        pid: Arc<AtomicU32>,
    ) -> ProbedServer {
        let abandon = abandon.clone();
        ProbedServer {
            target: target.cloned(),
            abandon,
            session: None,
            down: None,
            pid,
            thread_cpu: None,
        }
    }

    /// The same, which adds up the CPU time of the server's thread that answers it.
    pub(super) fn with_thread_cpu(mut self, thread_cpu: ThreadCpu) -> ProbedServer {
        self.thread_cpu = Some(thread_cpu);
        self
    }

    /// A tick's looks are through: takes in what they took of the server's thread.
    pub(super) fn count_thread_cpu(&mut self) {
        if let Some(thread_cpu) = &mut self.thread_cpu {
            thread_cpu.count();
        }
    }

    /// A new tick begins: a lost session may be opened again.
    pub(super) fn start_tick(&mut self) {
        self.down = None;
    }

    /// Process id of the server, if known and on this machine.
    pub fn pid(&self) -> Option<u32> {
        Some(self.pid.load(Ordering::Relaxed)).filter(|pid| *pid != 0)
    }

    /// Whether the server runs on this machine, as far as its address tells.
    pub fn is_local(&self) -> bool {
        self.target.as_ref().is_some_and(Target::is_local)
    }

    /// The session, opened if need be.
    ///
    /// # Errors
    /// When there is no server, or it doesn't let us in.
    pub fn open_session(&mut self) -> Result<&mut Session, ProbeError> {
        let Some(target) = &self.target else {
            return Err(ProbeError::ForGood("there is no server".to_owned()));
        };
        if let (None, Some(why)) = (&self.session, &self.down) {
            return Err(ProbeError::Now(why.clone()));
        }
        if self.session.is_none() {
            let mut session = target.connect(&self.abandon).map_err(|e| {
                let why = format!("{NO_CONNECTION}: {e}");
                self.down = Some(why.clone());
                ProbeError::Now(why)
            })?;
            if self.pid().is_none_or(|pid| !super::process::is_running(pid)) {
                let found = super::process::find_server_pid(&mut session, target.is_local());
                self.pid.store(found.unwrap_or(0), Ordering::Relaxed);
            }
            let pid = self.pid();
            if let (Some(thread_cpu), Some(pid)) = (&mut self.thread_cpu, pid) {
                thread_cpu.follow_session(&mut session, pid);
            }
            self.session = Some(session);
        }
        Ok(self.session.as_mut().expect("opened just above"))
    }

    /// Says good-bye to the server, which otherwise counts an aborted client.
    pub(super) fn close(&mut self) {
        if let Some(mut session) = self.session.take() {
            block_on(session.quit());
        }
    }

    /// Rows of a statement; errors are told apart. A session lost since the last look is opened once more: the server
    /// may have been restarted and be back.
    ///
    /// # Errors
    /// As [`ProbeError`] tells apart.
    pub fn query_rows(&mut self, sql: &str) -> Result<ResultSet, ProbeError> {
        let kept = self.session.is_some();
        match self.open_session()?.query_rows(sql) {
            Err(Error::Lost { .. }) if kept => {
                self.session = None;
                let result = self.open_session()?.query_rows(sql);
                self.map_query_error(result)
            }
            result => self.map_query_error(result),
        }
    }

    /// Drops a session that is of no use any more.
    fn map_query_error(
        &mut self,
        result: Result<ResultSet, Error>,
    ) -> Result<ResultSet, ProbeError> {
        result.map_err(|e| {
            if !matches!(e, Error::Server { .. }) {
                self.session = None;
                self.down = Some(format!("{NO_CONNECTION}: {e}"));
            }
            classify_error(&e)
        })
    }
}

/// Whether an error will come again at every look.
fn classify_error(e: &Error) -> ProbeError {
    match e {
        Error::Server { code: 1044 | 1142 | 1143 | 1227 | 1370, text, .. } => {
            ProbeError::ForGood(missing_privilege(text))
        }
        // Unknown table, column, variable, database; syntax: another product or version.
        Error::Server { code: 1049 | 1054 | 1064 | 1109 | 1146 | 1193, text, .. } => {
            ProbeError::ForGood(format!("not on this server: {text}"))
        }
        e => ProbeError::Now(e.to_string()),
    }
}

/// From the server's words to ours: which privilege is wanted.
fn missing_privilege(text: &str) -> String {
    let named = text
        .split_once("(at least one of) the ")
        .and_then(|(_, rest)| rest.split_once(" privilege"))
        .map(|(names, _)| names.to_owned());
    let denied = || text.split_once(" command denied").map(|(command, _)| command.to_owned());
    match named.or_else(denied) {
        Some(name) => format!("needs {name}"),
        None => format!("needs a privilege: {text}"),
    }
}

/// Text of a cell; NULL is empty.
pub(super) fn cell_text(cell: Option<&Option<Vec<u8>>>) -> String {
    match cell {
        Some(Some(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(code: u16, text: &str) -> ProbeError {
        classify_error(&Error::Server { code, state: String::new(), text: text.to_owned() })
    }

    #[test]
    fn the_privilege_is_named() {
        let text = "Access denied; you need (at least one of) the PROCESS privilege(s) for this \
                    operation";
        assert_eq!(server(1227, text), ProbeError::ForGood("needs PROCESS".to_owned()));
        let text = "SELECT command denied to user 'u'@'localhost' for table `x`.`threads`";
        assert_eq!(server(1142, text), ProbeError::ForGood("needs SELECT".to_owned()));
        assert_eq!(server(1227, "?"), ProbeError::ForGood("needs a privilege: ?".to_owned()));
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        assert!(matches!(server(1205, "Lock wait timeout exceeded"), ProbeError::Now(_)));
        assert!(matches!(server(1064, "You have an error"), ProbeError::ForGood(_)));
        assert!(matches!(classify_error(&Error::Abandoned), ProbeError::Now(_)));
    }
}
