//! One worker: its session, its statements, and how it plays an event.

use crate::base::distribution::Distribution;
use crate::base::random::Rng;
use crate::client::{self, ParameterValue, PreparedStatement, Session, StatementReply};
use crate::recorder::{ClassId, EventError, EventErrorKind, EventOutcome, Tally};
use crate::workload::{ErrorPolicy, OpenError, Worker, WorkerContext, sql};

use super::OltpWorkload;
use super::content::{C_LENGTH, PAD_LENGTH, write_groups};
use super::errors;
use super::statement::{OltpStatement, fill_in};

/// Statements prepared before the load; where tables make more of them, the rest is prepared when first needed.
const PREPARED_AHEAD: usize = 100;

/// Draws what goes into statements.
struct KeyGenerator<'a> {
    workload: &'a OltpWorkload,
    rng: Rng,
    worker: u64,
    workers: u64,
    /// Draws from this worker's own part of the values.
    own: Distribution,
    /// New ids given out so far.
    new_ids: u64,
    /// The id that was deleted last.
    deleted: u64,
    c: [u8; C_LENGTH],
    pad: [u8; PAD_LENGTH],
}

/// The session and what is prepared on it.
struct StatementRunner<'a> {
    workload: &'a OltpWorkload,
    session: Option<Session>,
    /// By table and statement.
    prepared: Vec<Option<PreparedStatement>>,
    /// A statement as text.
    text: Vec<u8>,
    /// What failed last: a statement and its table, or one that begins or ends a transaction.
    failed: Option<(OltpStatement, u64)>,
}

/// One worker.
pub(super) struct OltpWorker<'a> {
    keys: KeyGenerator<'a>,
    line: StatementRunner<'a>,
    part: WorkerContext,
    /// Values of statements with a list.
    list: Vec<ParameterValue<'static>>,
    error_text: String,
    /// Events that this session has run.
    session_events: u64,
    /// Whether the event that has just ended left another session behind.
    is_new_session: bool,
}

impl<'a> OltpWorker<'a> {
    pub(super) fn new(workload: &'a OltpWorkload, part: WorkerContext) -> OltpWorker<'a> {
        let seed = if workload.settings.seed == 0 { part.seed } else { workload.settings.seed };
        let (worker, workers) = (part.worker as u64, part.workers.max(1) as u64);
        let keys = KeyGenerator {
            workload,
            rng: Rng::new(seed, worker, 0),
            worker,
            workers,
            own: workload.effective_settings().worker_distribution(worker, workers),
            new_ids: 0,
            deleted: 1,
            c: [b'0'; C_LENGTH],
            pad: [b'0'; PAD_LENGTH],
        };
        let line = StatementRunner {
            workload,
            session: None,
            prepared: Vec::new(),
            text: Vec::new(),
            failed: None,
        };
        OltpWorker {
            keys,
            line,
            part,
            list: Vec::new(),
            error_text: String::new(),
            session_events: 0,
            is_new_session: false,
        }
    }

    /// All steps of an event.
    async fn run_steps(&mut self, tally: &mut Tally) -> Result<(), EventError> {
        let workload = self.keys.workload;
        if workload.transaction {
            self.line.run_text(tally, b"BEGIN").await?;
        }
        for action in &workload.actions {
            let table = self.keys.draw_table();
            for _ in 0..action.times {
                for statement in action.statements {
                    let sent = self.send_statement(tally, *statement, table).await;
                    if sent.is_err() {
                        self.line.failed = Some((*statement, table));
                        return sent;
                    }
                }
            }
        }
        if workload.transaction {
            self.line.run_text(tally, b"COMMIT").await?;
        }
        Ok(())
    }

    /// Another session where this one has run as many events as it shall; the time that takes is the event's.
    async fn renew_session(&mut self) -> Result<(), EventError> {
        let settings = &self.line.workload.settings;
        self.session_events += 1;
        if self.session_events < settings.reconnect_every || settings.dry_run {
            return Ok(());
        }
        self.close().await;
        match self.open().await {
            Ok(()) => {
                self.is_new_session = true;
                Ok(())
            }
            Err(error) => {
                self.error_text = error.text;
                // Even where the server answered there is no session now.
                let is_over = error.kind.ends_session();
                let kind = if is_over { error.kind } else { EventErrorKind::Lost };
                Err(EventError { kind, code: error.code })
            }
        }
    }

    /// One statement with values drawn for it.
    async fn send_statement(
        &mut self,
        tally: &mut Tally,
        statement: OltpStatement,
        table: u64,
    ) -> Result<(), EventError> {
        let OltpWorker { keys, line, list, .. } = self;
        match statement {
            OltpStatement::PointSelect | OltpStatement::IndexUpdate => {
                let id = keys.draw_id();
                line.run_statement(tally, statement, table, &[ParameterValue::Uint(id)]).await
            }
            OltpStatement::SimpleRange
            | OltpStatement::SumRange
            | OltpStatement::OrderRange
            | OltpStatement::DistinctRange => {
                let id = keys.draw_id();
                let last = id + keys.workload.settings.range_size - 1;
                line.run_statement(
                    tally,
                    statement,
                    table,
                    &[ParameterValue::Uint(id), ParameterValue::Uint(last)],
                )
                .await
            }
            OltpStatement::NonIndexUpdate => {
                write_groups(&mut keys.rng, &mut keys.c);
                let id = keys.draw_id();
                let values = [ParameterValue::Bytes(&keys.c), ParameterValue::Uint(id)];
                line.run_statement(tally, statement, table, &values).await
            }
            OltpStatement::Delete => {
                keys.deleted = keys.draw_id();
                line.run_statement(tally, statement, table, &[ParameterValue::Uint(keys.deleted)])
                    .await
            }
            OltpStatement::Insert | OltpStatement::InsertNew => {
                let id = match statement {
                    OltpStatement::Insert => ParameterValue::Uint(keys.deleted),
                    _ => keys.new_id(),
                };
                let k = ParameterValue::Uint(keys.draw_id());
                write_groups(&mut keys.rng, &mut keys.c);
                write_groups(&mut keys.rng, &mut keys.pad);
                let values =
                    [id, k, ParameterValue::Bytes(&keys.c), ParameterValue::Bytes(&keys.pad)];
                line.run_statement(tally, statement, table, &values).await
            }
            OltpStatement::RandomPoints => {
                list.clear();
                for _ in 0..keys.workload.settings.random_points {
                    list.push(ParameterValue::Uint(keys.own.next_key(&mut keys.rng)));
                }
                line.run_statement(tally, statement, table, list).await
            }
            OltpStatement::RandomRanges => {
                list.clear();
                for _ in 0..keys.workload.settings.random_ranges {
                    let low = keys.own.next_key(&mut keys.rng);
                    list.push(ParameterValue::Uint(low));
                    list.push(ParameterValue::Uint(low + keys.workload.settings.delta));
                }
                line.run_statement(tally, statement, table, list).await
            }
        }
    }

    /// After an error of the server: keeps its text, and ends the transaction that may be open.
    async fn handle_error(&mut self, error: EventError) -> EventError {
        let Some(session) = &mut self.line.session else { return error };
        self.error_text.clear();
        self.error_text.push_str(session.error_text());
        if error.kind == EventErrorKind::Server && self.line.workload.transaction {
            let undone = session.execute(&mut Tally::default(), b"ROLLBACK").await;
            if let Err(worse) = undone {
                if worse.kind != EventErrorKind::Server {
                    self.error_text.clear();
                    return worse;
                }
            }
        }
        error
    }
}

impl Worker for OltpWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        self.line.session = None;
        self.session_events = 0;
        if self.line.workload.settings.dry_run {
            return Ok(());
        }
        let target = self.line.workload.target.of_session(self.part.worker);
        let session = target.open_session(&self.part.abandon).await?;
        self.line.session = Some(session);
        Ok(self.line.prepare_ahead().await?)
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let mut error = match self.run_steps(tally).await {
            Ok(()) => None,
            Err(error) => Some(self.handle_error(error).await),
        };
        self.is_new_session = false;
        if error.is_none() && self.line.workload.settings.reconnect_every > 0 {
            error = self.renew_session().await.err();
        }
        EventOutcome { class: ClassId(0), error }
    }

    fn has_reopened_session(&self) -> bool {
        self.is_new_session
    }

    fn error_policy(&self, error: EventError) -> ErrorPolicy {
        self.line.workload.settings.error_rule.policy(error)
    }

    fn failure_text(&self, error: EventError) -> String {
        let sql = match self.line.failed {
            Some(_) if self.line.workload.settings.as_text => {
                String::from_utf8_lossy(&self.line.text).into_owned()
            }
            Some((statement, table)) => {
                let place = self.line.workload.text_index(statement);
                self.line.workload.texts[place].1.replace("{}", &table.to_string())
            }
            None => "BEGIN or COMMIT".to_owned(),
        };
        errors::describe_failure(error, &self.error_text, &sql)
    }

    fn error_text(&self) -> &str {
        &self.error_text
    }

    async fn close(&mut self) {
        if let Some(mut session) = self.line.session.take() {
            session.quit().await;
        }
    }
}

impl KeyGenerator<'_> {
    /// A table's number.
    #[inline]
    fn draw_table(&mut self) -> u64 {
        match self.workload.settings.tables {
            1 => 1,
            tables => self.rng.uniform_between(1, tables),
        }
    }

    /// An id of a row that should be there.
    #[inline]
    fn draw_id(&mut self) -> u64 {
        self.workload.effective_settings().ids.next_key(&mut self.rng)
    }

    /// An id for a new row: the server's to choose, or one that no other worker gives out.
    fn new_id(&mut self) -> ParameterValue<'static> {
        if self.workload.settings.auto_inc {
            return ParameterValue::Null;
        }
        let number = self.new_ids * self.workers + self.worker;
        self.new_ids += 1;
        ParameterValue::Int(i64::from(scatter_id(number as u32)) + i64::from(i32::MIN))
    }
}

/// Another number for each number: ids that are new and don't come in order.
fn scatter_id(number: u32) -> u32 {
    let mixed = (number ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b1);
    (mixed ^ (mixed >> 16)).wrapping_mul(0x85eb_ca6b)
}

impl StatementRunner<'_> {
    /// Prepares everything, unless there are so many tables that most may never be used.
    async fn prepare_ahead(&mut self) -> Result<(), client::Error> {
        self.prepared.clear();
        if self.workload.settings.as_text {
            return Ok(());
        }
        let count = self.workload.statements_per_worker();
        self.prepared.resize(count, None);
        if count > PREPARED_AHEAD {
            return Ok(());
        }
        for table in 1..=self.workload.settings.tables {
            for (statement, _) in &self.workload.texts {
                self.prepared_statement(*statement, table).await?;
            }
        }
        Ok(())
    }

    /// The prepared statement; prepares it if that was not done yet.
    async fn prepared_statement(
        &mut self,
        statement: OltpStatement,
        table: u64,
    ) -> Result<PreparedStatement, client::Error> {
        let place = self.workload.text_index(statement);
        let slot = (table - 1) as usize * self.workload.texts.len() + place;
        if let Some(prepared) = self.prepared[slot] {
            return Ok(prepared);
        }
        fill_in(&self.workload.texts[place].1, table, &[], &mut self.text);
        let sql = std::str::from_utf8(&self.text).expect("our own texts are ASCII");
        let session = self.session.as_mut().expect("open comes before any event");
        let prepared = session.prepare(sql).await?;
        self.prepared[slot] = Some(prepared);
        Ok(prepared)
    }

    /// Runs a statement with values.
    #[inline]
    async fn run_statement(
        &mut self,
        tally: &mut Tally,
        statement: OltpStatement,
        table: u64,
        values: &[ParameterValue<'_>],
    ) -> Result<(), EventError> {
        if self.workload.settings.dry_run {
            tally.counts[sql::OTHER] += 1;
            return Ok(());
        }
        if self.workload.settings.as_text {
            let place = self.workload.text_index(statement);
            fill_in(&self.workload.texts[place].1, table, values, &mut self.text);
            let session = self.session.as_mut().expect("open comes before any event");
            let reply = session.execute(tally, &self.text).await?;
            count_statement(tally, statement, &reply);
            return Ok(());
        }
        let prepared =
            self.prepared_statement(statement, table).await.map_err(|e| e.to_event_error())?;
        let session = self.session.as_mut().expect("open comes before any event");
        let reply = session.execute_prepared(tally, &prepared, values).await?;
        count_statement(tally, statement, &reply);
        Ok(())
    }

    /// Runs a text.
    async fn run_text(&mut self, tally: &mut Tally, sql: &[u8]) -> Result<(), EventError> {
        if self.workload.settings.dry_run {
            tally.counts[sql::OTHER] += 1;
            return Ok(());
        }
        self.failed = None;
        let session = self.session.as_mut().expect("open comes before any event");
        session.execute(tally, sql).await?;
        tally.counts[sql::OTHER] += 1;
        Ok(())
    }
}

/// Counts a statement. One that could change data and changed none counts as neither read nor write.
#[inline]
fn count_statement(tally: &mut Tally, statement: OltpStatement, reply: &StatementReply) {
    if statement.is_read() {
        tally.counts[sql::READS] += 1;
    } else if reply.affected > 0 {
        tally.counts[sql::WRITES] += 1;
    } else {
        tally.counts[sql::OTHER] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_never_repeat() {
        let mut seen: Vec<u32> = (0..200_000).map(scatter_id).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 200_000);
    }
}
