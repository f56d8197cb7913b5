//! Sessions of which each statement is sent when the script says so, and that may wait for each other.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use anyhow::Context as _;

use crate::base::Stop;
use crate::client::{self, ResultSet, Session, Target};

/// How often the server is asked whether a statement that has not returned waits for a lock. It renews its list of
/// transactions only for who has not asked for 0.1 s.
const STEP: Duration = Duration::from_millis(200);
/// How long a statement may take that waits for nobody.
const MOST_STEPS: u32 = 120;

type StepReply = Result<ResultSet, client::Error>;

/// How a statement went on.
pub(super) enum SteppedOutcome {
    Done(ResultSet),
    /// It waits for a lock that another session holds.
    Waits,
}

/// A session on a thread of its own.
pub(super) struct SteppedSession {
    id: u64,
    sender: Sender<String>,
    receiver: Receiver<StepReply>,
    /// Asks the server about the other one.
    watcher: Session,
}

impl SteppedSession {
    /// Opens a session and begins a transaction of this level in it.
    ///
    /// # Errors
    /// When the server refuses.
    pub(super) fn begin(target: &Target, level: &str, stop: &Stop) -> anyhow::Result<Self> {
        let watcher = target.connect(stop)?;
        let (sender, statements) = mpsc::channel::<String>();
        let (replies, receiver) = mpsc::channel();
        let (target, stop) = (target.clone(), stop.clone());
        // A session stays on its thread, which ends with the value.
        std::thread::spawn(move || answer_statements(&target, &stop, &statements, &replies));
        let mut new = SteppedSession { id: 0, sender, receiver, watcher };
        new.id = new.value("SELECT CONNECTION_ID()")?.parse()?;
        new.run(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))?;
        new.run("START TRANSACTION")?;
        Ok(new)
    }

    /// Sends a statement, and gives its rows or that it waits.
    ///
    /// # Errors
    /// What the server says, or that it says nothing.
    pub(super) fn start(&mut self, sql: &str) -> anyhow::Result<SteppedOutcome> {
        self.sender.send(sql.to_owned()).context("the session has ended")?;
        for _ in 0..MOST_STEPS {
            match self.receiver.recv_timeout(STEP) {
                Ok(reply) => return Ok(SteppedOutcome::Done(reply?)),
                Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the session has ended"),
                Err(RecvTimeoutError::Timeout) if self.is_waiting()? => {
                    return Ok(SteppedOutcome::Waits);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        anyhow::bail!("the server does not return from: {sql}")
    }

    /// Sends a statement that waits for nobody.
    ///
    /// # Errors
    /// What the server says; or that the statement waits.
    pub(super) fn run(&mut self, sql: &str) -> anyhow::Result<ResultSet> {
        match self.start(sql)? {
            SteppedOutcome::Done(rows) => Ok(rows),
            SteppedOutcome::Waits => anyhow::bail!("another session holds a lock on: {sql}"),
        }
    }

    /// The first value of a statement that waits for nobody; empty for none.
    ///
    /// # Errors
    /// As [`SteppedSession::run`].
    pub(super) fn value(&mut self, sql: &str) -> anyhow::Result<String> {
        Ok(self.run(sql)?.text_value(0, 0).unwrap_or_default())
    }

    /// The rows of a statement that waited, once it goes on.
    ///
    /// # Errors
    /// What the server says, as of a deadlock; or that it still waits.
    pub(super) fn finish(&mut self) -> anyhow::Result<ResultSet> {
        let reply = self.receiver.recv_timeout(STEP * MOST_STEPS);
        Ok(reply.context("the statement still waits")??)
    }

    fn is_waiting(&mut self) -> anyhow::Result<bool> {
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.innodb_trx \
             WHERE trx_mysql_thread_id = {} AND trx_state = 'LOCK WAIT'",
            self.id
        );
        Ok(self.watcher.query_scalar(&sql)?.as_deref() == Some("1"))
    }
}

/// Opens a session and sends what comes until nobody asks any more.
fn answer_statements(
    target: &Target,
    stop: &Stop,
    statements: &Receiver<String>,
    replies: &Sender<StepReply>,
) {
    let mut session = match target.connect(stop) {
        Ok(session) => session,
        Err(error) => return drop(replies.send(Err(error))),
    };
    while let Ok(sql) = statements.recv() {
        if replies.send(session.query_rows(&sql)).is_err() {
            break;
        }
    }
}
