//! One session's statements: prepared when first needed, timed, counted.

use super::statements::TpccStatement;
use crate::base::{Clock, Nanos, RealClock};
use crate::client::{
    CapturableStatement, CapturedResult, CapturedResults, ParameterValue, RowReader, Session,
    StatementPipeline,
};
use crate::recorder::{EventError, EventErrorKind, StepId, StepLatency, Tally};
use crate::workload::sql;

/// Longest list of a statement.
const LONGEST_LIST: usize = super::super::inputs::MOST_LINES;
/// A row that must be there is not.
const MISSING_ROW: u16 = 1;
/// A statement changed another number of rows than it must.
const WRONG_COUNT: u16 = 2;

/// A session and what is prepared on it.
pub(in super::super) struct TransactionRunner {
    session: Session,
    fixed: Vec<Option<CapturableStatement>>,
    /// By statement and length of its list; empty where no statement has one.
    lists: Vec<Option<CapturableStatement>>,
    results: CapturedResults,
    pipeline: StatementPipeline,
    /// What the pipeline holds, with the lengths of lists.
    piped: Vec<(TpccStatement, usize)>,
    /// What a customer with bad credit gets, in memory that is used again.
    pub(super) credit_data: Vec<u8>,
    clock: RealClock,
    steps: Vec<StepLatency>,
    error_text: String,
}

impl TransactionRunner {
    pub(in super::super) fn new(session: Session) -> TransactionRunner {
        TransactionRunner {
            session,
            fixed: vec![None; TpccStatement::COUNT],
            lists: Vec::new(),
            results: CapturedResults::default(),
            pipeline: StatementPipeline::default(),
            piped: Vec::new(),
            credit_data: Vec::new(),
            clock: RealClock::start_now(),
            steps: Vec::new(),
            error_text: String::new(),
        }
    }

    /// How long the statements of the event took.
    pub(in super::super) fn steps(&self) -> &[StepLatency] {
        &self.steps
    }

    /// An event begins.
    pub(in super::super) fn clear_steps(&mut self) {
        self.steps.clear();
    }

    /// Text of the last error.
    pub(in super::super) fn error_text(&self) -> &str {
        &self.error_text
    }

    pub(in super::super) async fn quit(&mut self) {
        self.session.quit().await;
    }

    /// Prepares a statement unless that was done.
    pub(super) async fn prepare(
        &mut self,
        statement: TpccStatement,
        count: usize,
    ) -> Result<(), EventError> {
        let is_list = statement.has_list();
        if is_list && self.lists.is_empty() {
            self.lists = vec![None; TpccStatement::COUNT * (LONGEST_LIST + 1)];
        }
        let known = match is_list {
            true => self.lists[list_place(statement, count)].is_some(),
            false => self.fixed[statement as usize].is_some(),
        };
        if known {
            return Ok(());
        }
        let sql = statement.sql_text(count);
        let prepared = self.session.prepare_captured(&sql).await.map_err(|error| {
            self.error_text = error.to_string();
            error.to_event_error()
        })?;
        match is_list {
            true => self.lists[list_place(statement, count)] = Some(prepared),
            false => self.fixed[statement as usize] = Some(prepared),
        }
        Ok(())
    }

    /// Runs a statement.
    pub(super) async fn run(
        &mut self,
        tally: &mut Tally,
        statement: TpccStatement,
        values: &[ParameterValue<'_>],
    ) -> Result<(), EventError> {
        self.prepare(statement, 1).await?;
        let prepared = self.fixed[statement as usize].as_ref().expect("it was just prepared");
        let began = self.clock.now();
        let ran = self
            .session
            .execute_prepared_captured(tally, prepared, values, &mut self.results)
            .await;
        self.note_end(tally, statement, began, ran.is_err());
        match ran {
            Ok(_) => Ok(()),
            Err(error) => Err(self.keep_error_text(error)),
        }
    }

    /// Commits or rolls back.
    pub(super) async fn end_transaction(
        &mut self,
        tally: &mut Tally,
        statement: TpccStatement,
    ) -> Result<(), EventError> {
        let text: &[u8] = if statement == TpccStatement::Commit { b"COMMIT" } else { b"ROLLBACK" };
        let began = self.clock.now();
        let ran = self.session.execute(tally, text).await;
        self.note_end(tally, statement, began, ran.is_err());
        match ran {
            Ok(_) => Ok(()),
            Err(error) => Err(self.keep_error_text(error)),
        }
    }

    /// Adds a statement to those that are sent together.
    pub(super) async fn push(
        &mut self,
        statement: TpccStatement,
        values: &[ParameterValue<'_>],
    ) -> Result<(), EventError> {
        if self.fixed[statement as usize].is_none() {
            self.prepare(statement, 1).await?;
        }
        self.push_list(statement, 1, values);
        Ok(())
    }

    /// The same for a statement with a list of this length, which was prepared. It waits for nothing, so values that are gathered for
    /// it take no room while the session does.
    pub(super) fn push_list(
        &mut self,
        statement: TpccStatement,
        count: usize,
        values: &[ParameterValue<'_>],
    ) {
        let prepared = find_prepared(&self.fixed, &self.lists, (statement, count));
        self.pipeline.push(prepared, values);
        self.piped.push((statement, count));
    }

    /// Forgets what was added and not sent.
    pub(super) fn clear_pipeline(&mut self) {
        self.pipeline.clear();
        self.piped.clear();
    }

    /// Sends what was added. Its results are there by place until the next statement. As a step it is timed as the whole
    /// round, under the name of its first statement.
    pub(super) async fn run_pipeline(&mut self, tally: &mut Tally) -> Result<(), EventError> {
        let Some((first, _)) = self.piped.first().copied() else { return Ok(()) };
        let began = self.clock.now();
        let TransactionRunner { session, fixed, lists, pipeline, piped, results, .. } = self;
        let statement_at = |place: usize| find_prepared(fixed, lists, piped[place]);
        let ran = session.execute_pipelined(tally, pipeline, statement_at, results).await;
        self.note_end(tally, first, began, ran.is_err());
        for (statement, _) in &self.piped[1..] {
            count_statement(tally, *statement);
        }
        self.clear_pipeline();
        match ran {
            Ok(()) => Ok(()),
            Err((_, error)) => Err(self.keep_error_text(error)),
        }
    }

    fn note_end(
        &mut self,
        tally: &mut Tally,
        statement: TpccStatement,
        began: Nanos,
        failed: bool,
    ) {
        let time = self.clock.now().since(began);
        self.steps.push(StepLatency { step: StepId(statement as u16), time, failed });
        count_statement(tally, statement);
    }

    fn keep_error_text(&mut self, error: EventError) -> EventError {
        self.error_text.clear();
        self.error_text.push_str(self.session.error_text());
        error
    }

    /// The result of the statement that was run last, or of the one at this place among those sent together.
    pub(super) fn result(&self, place: usize) -> Option<&CapturedResult> {
        self.results.results().get(place)
    }

    /// The results of the statements that were sent last.
    pub(super) fn results(&self) -> &[CapturedResult] {
        self.results.results()
    }

    /// The first row of the statement that was run last.
    pub(super) fn first_row(&self) -> Option<RowReader<'_>> {
        self.result(0)?.row(0)
    }

    /// Reads the first row of a statement that must have given one.
    pub(super) fn read_row<T>(
        &mut self,
        statement: TpccStatement,
        place: usize,
        read: impl FnOnce(RowReader<'_>) -> Option<T>,
    ) -> Result<T, EventError> {
        match self.result(place).and_then(|result| result.row(0)).and_then(read) {
            Some(value) => Ok(value),
            None => Err(self.fail(MISSING_ROW, statement, "a row is missing, or holds NULL")),
        }
    }

    /// Checks how many rows the statement at this place has changed.
    pub(super) fn expect_changed(
        &mut self,
        statement: TpccStatement,
        place: usize,
        wanted: u64,
    ) -> Result<(), EventError> {
        let changed = self.result(place).map_or(0, |result| result.affected);
        if changed == wanted {
            return Ok(());
        }
        let why = format!("changed {changed} rows instead of {wanted}");
        Err(self.fail(WRONG_COUNT, statement, &why))
    }

    /// Puts the text of an earlier error back.
    pub(super) fn restore_error(&mut self, error: EventError, text: String) -> EventError {
        self.error_text = text;
        error
    }

    fn fail(&mut self, code: u16, statement: TpccStatement, why: &str) -> EventError {
        self.error_text = format!("{}: {why}", statement.step_name());
        EventError { kind: EventErrorKind::Check, code }
    }
}

/// A statement that was prepared, with a list of this length if it has one.
fn find_prepared<'a>(
    fixed: &'a [Option<CapturableStatement>],
    lists: &'a [Option<CapturableStatement>],
    (statement, count): (TpccStatement, usize),
) -> &'a CapturableStatement {
    let prepared = match statement.has_list() {
        true => &lists[list_place(statement, count)],
        false => &fixed[statement as usize],
    };
    prepared.as_ref().expect("it was prepared before it is used")
}

fn list_place(statement: TpccStatement, count: usize) -> usize {
    statement as usize * (LONGEST_LIST + 1) + count
}

/// Counts a statement by what its text does.
fn count_statement(tally: &mut Tally, statement: TpccStatement) {
    let counter = match (statement.is_boundary(), statement.is_read()) {
        (true, _) => sql::OTHER,
        (false, true) => sql::READS,
        (false, false) => sql::WRITES,
    };
    tally.counts[counter] += 1;
}
