//! The session of a worker, what is prepared on it, and how a statement is sent and its reply looked at.

use std::fmt::Write as _;

use super::draw::{SlotField, write_scalar};
use super::formula::{Formula, Scalar};
use super::program::{MixProgram, StatementPlan, StepDeed, TextPiece};
use super::sessions::FlowPlan;
use super::spec::CountCheck;
use super::values::ValueState;
use super::worker::{count_statement, write_literal};
use crate::base::Stop;
use crate::client::{
    self, CapturableStatement, CapturedResults, ParameterValue, PreparedStatement, Session,
    StatementReply, Target,
};
use crate::recorder::{EventError, EventErrorKind, Tally};
use crate::workload::{OpenError, sql};

/// Codes of expectations that a reply did not meet.
const ROWS: u16 = 1;
const AFFECTED: u16 = 2;
const COLUMNS: u16 = 3;
const VALUE: u16 = 4;
/// A column that shall be kept is not in the result.
const NO_COLUMN: u16 = 5;

/// A statement as it stands on a session.
#[derive(Debug, Default)]
enum PreparedSlot {
    /// Sent as text; where in its rows the columns stand that are kept.
    #[default]
    Text,
    Plain(PreparedStatement),
    Captured(CapturableStatement),
}

/// A session and what is prepared on it.
pub(super) struct StatementSession<'w> {
    program: &'w MixProgram,
    session: Option<Session>,
    /// By the statement's place; `None` for those that other kinds of sessions run.
    prepared: Vec<PreparedSlot>,
    /// Which statements this kind of session runs.
    used: Vec<bool>,
    /// Where the kept columns stand, by statement.
    columns: Vec<Vec<Option<usize>>>,
    text: Vec<u8>,
    parameters: Vec<ParameterValue<'static>>,
    results: CapturedResults,
    scratch: String,
    error_text: String,
}

/// The memory of a list whose values are gone.
fn recycle_parameters(mut list: Vec<ParameterValue<'_>>) -> Vec<ParameterValue<'static>> {
    list.clear();
    // An empty list has nothing that lives for less; collecting in place keeps its memory.
    list.into_iter().map(|_| ParameterValue::Null).collect()
}

fn parameter_of(value: Scalar<'_>) -> ParameterValue<'_> {
    match value {
        Scalar::Null => ParameterValue::Null,
        Scalar::Int(number) => ParameterValue::Int(number),
        Scalar::Real(number) => ParameterValue::Double(number),
        Scalar::Text(text) => ParameterValue::Bytes(text),
    }
}

/// Writes the text of a statement with its values; `shown` names those that have none yet.
pub(super) fn write_statement(
    plan: &StatementPlan,
    values: &ValueState<'_>,
    shown: &dyn Fn(SlotField) -> Option<String>,
    out: &mut Vec<u8>,
) {
    out.clear();
    for piece in &plan.pieces {
        let (place, is_paste) = match piece {
            TextPiece::Literal(text) => {
                out.extend_from_slice(text);
                continue;
            }
            TextPiece::Hole(place) => (*place, false),
            TextPiece::Paste(place) => (*place, true),
        };
        let hole = &plan.holes[place];
        if let Formula::Value(slot) = hole {
            if let Some(name) = shown(*slot) {
                out.extend_from_slice(name.as_bytes());
                continue;
            }
        }
        match is_paste {
            true => write_scalar(values.evaluate(hole), out),
            false => write_literal(values.evaluate(hole), out),
        }
    }
}

impl<'w> StatementSession<'w> {
    pub(super) fn new(program: &'w MixProgram, flow: &FlowPlan) -> StatementSession<'w> {
        let transactions: Vec<usize> = match flow {
            FlowPlan::Mix(sums) => sums.iter().map(|(place, _)| *place).collect(),
            FlowPlan::Order(entries) => entries.iter().map(|(place, ..)| *place).collect(),
        };
        let mut used = vec![false; program.statements.len()];
        for step in transactions.iter().flat_map(|place| &program.transactions[*place].steps) {
            if let StepDeed::Statement(number) = step.what {
                used[number] = true;
            }
        }
        StatementSession {
            program,
            session: None,
            prepared: Vec::new(),
            used,
            columns: Vec::new(),
            text: Vec::new(),
            parameters: Vec::new(),
            results: CapturedResults::default(),
            scratch: String::new(),
            error_text: String::new(),
        }
    }

    /// Connects and prepares.
    pub(super) async fn open(
        &mut self,
        target: &Target,
        abandon: &Stop,
        init: &[Box<[u8]>],
    ) -> Result<(), OpenError> {
        self.session = None;
        self.prepared.clear();
        let mut session = target.open_session(abandon).await?;
        for sql in init {
            let done = session.execute(&mut Tally::default(), sql).await;
            done.map_err(|event| session.error_from_event(event))?;
        }
        self.columns = vec![Vec::new(); self.program.statements.len()];
        for (number, plan) in self.program.statements.iter().enumerate() {
            let slot = match &plan.prepared {
                Some(sql) if self.used[number] => {
                    self.columns[number].clear();
                    prepare_statement(&mut session, plan, sql, &mut self.columns[number]).await?
                }
                _ => PreparedSlot::Text,
            };
            self.prepared.push(slot);
        }
        self.session = Some(session);
        Ok(())
    }

    pub(super) async fn close(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.quit().await;
        }
    }

    pub(super) fn error_text(&self) -> &str {
        &self.error_text
    }

    /// Runs a text that is no statement of the file.
    pub(super) async fn run_text(
        &mut self,
        tally: &mut Tally,
        sql: &[u8],
    ) -> Result<(), EventError> {
        let session = self.session.as_mut().expect("open comes before any event");
        session.execute(tally, sql).await?;
        tally.counts[sql::OTHER] += 1;
        Ok(())
    }

    /// Runs a statement with values drawn for it, and checks its reply.
    #[inline]
    pub(super) async fn run_statement(
        &mut self,
        tally: &mut Tally,
        values: &mut ValueState<'w>,
        number: usize,
    ) -> Result<(), EventError> {
        let plan = &self.program.statements[number];
        for hole in &plan.holes {
            values.ensure_formula(hole);
        }
        let reply = self.send_statement(tally, values, plan, number).await?;
        count_statement(tally, plan.is_read, reply.affected);
        if plan.is_captured() {
            self.keep_columns(values, plan, number)?;
        }
        self.check_reply(values, plan, reply)
    }

    #[inline]
    async fn send_statement(
        &mut self,
        tally: &mut Tally,
        values: &ValueState<'w>,
        plan: &StatementPlan,
        number: usize,
    ) -> Result<StatementReply, EventError> {
        let StatementSession { session, prepared, text, parameters, results, .. } = self;
        let session = session.as_mut().expect("open comes before any event");
        if let PreparedSlot::Text = prepared[number] {
            write_statement(plan, values, &|_| None, text);
            return match plan.is_captured() {
                true => session.execute_captured(tally, text, results).await,
                false => session.execute(tally, text).await,
            };
        }
        let mut list: Vec<ParameterValue<'_>> = std::mem::take(parameters);
        list.extend(plan.holes.iter().map(|hole| parameter_of(values.evaluate(hole))));
        let reply = match &prepared[number] {
            PreparedSlot::Captured(statement) => {
                session.execute_prepared_captured(tally, statement, &list, results).await
            }
            PreparedSlot::Plain(statement) => {
                session.execute_prepared(tally, statement, &list).await
            }
            PreparedSlot::Text => unreachable!("texts were sent above"),
        };
        *parameters = recycle_parameters(list);
        reply
    }

    /// Gives slots what the first row holds; NULL where there is none.
    fn keep_columns(
        &mut self,
        values: &mut ValueState<'w>,
        plan: &StatementPlan,
        number: usize,
    ) -> Result<(), EventError> {
        for (slot, _) in &plan.keeps {
            values.keep_value(*slot, None);
        }
        let StatementSession { results, columns, scratch, .. } = self;
        let found = results.results().iter().find(|result| result.column_count() > 0);
        let Some(result) = found.filter(|_| !plan.keeps.is_empty()) else { return Ok(()) };
        let columns = &mut columns[number];
        if columns.is_empty() {
            // A text: its columns are known only now.
            columns.extend(plan.keeps.iter().map(|(_, name)| result.column_index(name)));
        }
        let missing = columns.iter().position(Option::is_none);
        let mut at = 0;
        result.for_each_value_with(0, scratch, &mut |value| {
            for ((slot, _), column) in plan.keeps.iter().zip(&*columns) {
                if *column == Some(at) {
                    values.keep_value(*slot, value);
                }
            }
            at += 1;
        });
        match missing {
            None => Ok(()),
            Some(missing) => {
                let column = &plan.keeps[missing].1;
                Err(self.note_unmet(plan, NO_COLUMN, &format_args!("no column `{column}`")))
            }
        }
    }

    #[inline]
    fn check_reply(
        &mut self,
        values: &mut ValueState<'w>,
        plan: &StatementPlan,
        reply: StatementReply,
    ) -> Result<(), EventError> {
        let expect = &plan.expect;
        let counts = &expect.counts;
        let unmet = |check: Option<CountCheck>, count: u64| {
            check.filter(|check| !check.holds(count)).is_some()
        };
        if unmet(counts.rows, reply.rows) {
            let rows = reply.rows;
            return Err(self.note_unmet(plan, ROWS, &format_args!("the result has {rows} rows")));
        }
        if unmet(counts.affected, reply.affected) {
            let rows = reply.affected;
            return Err(self.note_unmet(plan, AFFECTED, &format_args!("{rows} rows were changed")));
        }
        if let Some(check) = counts.columns {
            let columns = self.results.results().first().map_or(0, |one| one.column_count());
            if !check.holds(columns as u64) {
                let what = format_args!("the result has {columns} columns");
                return Err(self.note_unmet(plan, COLUMNS, &what));
            }
        }
        for (column, expected) in expect.values.iter().enumerate() {
            values.ensure_formula(expected);
            self.check_value(plan, column, values.evaluate(expected))?;
        }
        Ok(())
    }

    fn check_value(
        &mut self,
        plan: &StatementPlan,
        column: usize,
        expected: Scalar<'_>,
    ) -> Result<(), EventError> {
        self.text.clear();
        write_scalar(expected, &mut self.text);
        let mut at = 0;
        let mut is_met = false;
        if let Some(result) = self.results.results().first() {
            let text = &self.text;
            result.for_each_value_with(0, &mut self.scratch, &mut |value| {
                if at == column {
                    is_met = match value {
                        None => expected == Scalar::Null,
                        Some(value) => expected != Scalar::Null && value == &text[..],
                    };
                }
                at += 1;
            });
        }
        match (is_met, column) {
            (true, _) => Ok(()),
            (false, 0) => Err(self.note_unmet(plan, VALUE, &"the first value is another")),
            (false, column) => {
                let what = format_args!("value {} of the first row is another", column + 1);
                Err(self.note_unmet(plan, VALUE, &what))
            }
        }
    }

    #[cold]
    fn note_unmet(
        &mut self,
        plan: &StatementPlan,
        code: u16,
        what: &dyn std::fmt::Display,
    ) -> EventError {
        self.error_text.clear();
        // Nothing can go wrong in writing to a string.
        let _ = write!(self.error_text, "{what} ({})", plan.place);
        EventError { kind: EventErrorKind::Check, code }
    }

    /// After an error: keeps its text, and ends the transaction that may be open.
    pub(super) async fn undo(&mut self, error: EventError, is_begun: bool) -> EventError {
        let Some(session) = &mut self.session else { return error };
        if error.kind != EventErrorKind::Check {
            self.error_text.clear();
            self.error_text.push_str(session.error_text());
        }
        if is_begun && !error.kind.ends_session() {
            let undone = session.execute(&mut Tally::default(), b"ROLLBACK").await;
            if let Err(worse) = undone {
                if worse.kind.ends_session() {
                    self.error_text.clear();
                    self.error_text.push_str(session.error_text());
                    return worse;
                }
            }
        }
        error
    }
}

async fn prepare_statement(
    session: &mut Session,
    plan: &StatementPlan,
    sql: &str,
    columns: &mut Vec<Option<usize>>,
) -> Result<PreparedSlot, client::Error> {
    if !plan.is_captured() {
        return Ok(PreparedSlot::Plain(session.prepare(sql).await?));
    }
    let statement = session.prepare_captured(sql).await?;
    columns.extend(plan.keeps.iter().map(|(_, name)| statement.column_index(name)));
    Ok(PreparedSlot::Captured(statement))
}
