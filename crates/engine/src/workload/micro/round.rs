//! One round of an operation on a session: what is made ready, the timed units with their checks, what is put away.

use std::time::Duration;

use crate::base::{Clock as _, Nanos, RealClock, Stop};
use crate::client::{ParameterValue, PreparedStatement, Session, StatementReply, Target};
use crate::recorder::{EventError, EventErrorKind, Tally};
use crate::workload::sql;
use crate::workload::thread_clock::ThreadClock;

use super::operation::{Operation, PreparedUse, RoundStep, TimedStep};
use super::round_book::RoundTime;
use super::template::{SqlTemplate, ValueSource};

/// Another number of rows than there must be.
const WRONG_ROWS: EventError = EventError { kind: EventErrorKind::Check, code: 1 };
/// Removes what a round that broke off may have left.
const CLEAR: &str = "DROP TABLE IF EXISTS s, d";
/// What servers say of a statement that ran into its limit of time: MariaDB, MySQL.
const OVERTIME: [u16; 2] = [1969, 3024];

/// Longer than anything that is done around a round.
const UNLIMITED: Duration = Duration::from_secs(86_400);

/// An operation with its statements read.
pub(super) struct ReadyOperation {
    pub row: &'static Operation,
    before: Vec<ReadyStep>,
    /// None for a session that is opened.
    unit: Vec<Option<SqlTemplate>>,
    after: Vec<ReadyStep>,
}

struct ReadyStep {
    is_each: bool,
    template: SqlTemplate,
}

/// How a round ended.
#[derive(Debug, PartialEq)]
pub(super) enum RoundEnd {
    /// With all units.
    Whole(RoundTime),
    /// It took too long; so many units were through.
    Cut(u64),
    /// The server does not do this, and says why.
    Refused(&'static str),
    /// The load is over.
    GivenUp,
}

/// Why a round broke off.
#[derive(Debug)]
pub(super) struct RoundError {
    pub error: EventError,
    pub text: String,
}

/// What a round is run with.
pub(super) struct RoundContext<'a> {
    pub session: &'a mut Session,
    pub target: &'a Target,
    pub clock: RealClock,
    pub thread: Option<&'a ThreadClock>,
    pub values: &'a mut ValueSource,
    pub abandon: &'a Stop,
    /// How long all units together may take.
    pub limit: Duration,
    /// How long this side waits for one statement.
    pub patience: Duration,
    pub rows: u64,
    pub text: Vec<u8>,
}

impl ReadyOperation {
    /// Reads its statements.
    pub(super) fn new(row: &'static Operation) -> ReadyOperation {
        let around = |steps: &'static [RoundStep]| {
            let step = |step: &RoundStep| match step {
                RoundStep::Once(sql) => (false, *sql),
                RoundStep::Each(sql) => (true, *sql),
            };
            let ready =
                |(is_each, sql)| ReadyStep { is_each, template: SqlTemplate::from_sql(sql) };
            steps.iter().map(step).map(ready).collect()
        };
        ReadyOperation {
            row,
            before: around(row.before),
            unit: row.unit.iter().map(|step| step.sql().map(SqlTemplate::from_sql)).collect(),
            after: around(row.after),
        }
    }
}

impl RoundContext<'_> {
    /// Runs a round of so many units.
    ///
    /// # Errors
    /// An error of the server, a lost session, or a wrong number of rows.
    pub(super) async fn run(
        &mut self,
        operation: &ReadyOperation,
        count: u64,
        tally: &mut Tally,
    ) -> Result<RoundEnd, RoundError> {
        let ended = self.run_units(operation, count, tally).await;
        match &ended {
            Ok(RoundEnd::Whole(_)) => self.run_steps(&operation.after, count).await?,
            // What is left over is in nobody's way: it is tried once.
            _ if self.session.is_usable() => {
                let _ = self.execute(b"ROLLBACK").await;
                for step in &operation.after {
                    for number in 1..=if step.is_each { count } else { 1 } {
                        self.write_text(&step.template, number);
                        let text = std::mem::take(&mut self.text);
                        let _ = self.execute(&text).await;
                        self.text = text;
                    }
                }
                let _ = self.execute(CLEAR.as_bytes()).await;
            }
            _ => {}
        }
        ended
    }

    async fn run_units(
        &mut self,
        operation: &ReadyOperation,
        count: u64,
        tally: &mut Tally,
    ) -> Result<RoundEnd, RoundError> {
        self.session.allow_long_statements();
        self.limit_statements(UNLIMITED).await?;
        self.run_steps(&operation.before, count).await?;
        let mut prepared = Vec::new();
        if operation.row.prepared == PreparedUse::Once {
            for template in operation.unit.iter().flatten() {
                prepared.push(self.prepare(template).await?);
            }
        }
        self.limit_statements(self.limit).await?;
        let ran = |thread: Option<&ThreadClock>| thread.and_then(ThreadClock::ran_ns);
        let thread = self.thread.filter(|_| !operation.row.opens_sessions());
        let before = ran(thread);
        let limit_ns = Nanos::from(self.limit).0;
        let (mut wall_ns, mut done) = (0, 0);
        let mut cut = None;
        while done < count && cut.is_none() {
            if self.abandon.is_set() {
                return Ok(RoundEnd::GivenUp);
            }
            match self.run_unit(operation, &prepared, done + 1, tally).await {
                Ok(ns) => wall_ns += ns,
                Err(told) => {
                    let code = told.error.code;
                    let is_server = told.error.kind == EventErrorKind::Server;
                    let refusals = operation.row.refusals.iter();
                    let refusal = refusals.clone().find(|(known, _)| *known == code && is_server);
                    if let Some((_, why)) = refusal {
                        return Ok(RoundEnd::Refused(why));
                    }
                    if is_server && OVERTIME.contains(&code) {
                        return Ok(RoundEnd::Cut(done));
                    }
                    return Err(told);
                }
            }
            done += 1;
            cut = (wall_ns > limit_ns && done < count).then_some(done);
        }
        let cpu_ns = ran(thread).zip(before).map(|(after, before)| after.saturating_sub(before));
        for statement in prepared {
            let closed = self.session.close_statement(statement).await;
            closed.map_err(|error| RoundError {
                error: error.to_event_error(),
                text: error.to_string(),
            })?;
        }
        Ok(match cut {
            Some(done) => RoundEnd::Cut(done),
            None => RoundEnd::Whole(RoundTime { wall_ns, cpu_ns }),
        })
    }

    /// The server ends a statement that takes longer, and this side does not wait much longer for it.
    async fn limit_statements(&mut self, time: Duration) -> Result<(), RoundError> {
        if time != UNLIMITED {
            self.session.limit_statements(self.patience);
        }
        match self.session.identity().limit_statement(time) {
            Some(limit) => self.execute(limit.as_bytes()).await.map(|_| ()),
            None => Ok(()),
        }
    }

    async fn run_steps(&mut self, steps: &[ReadyStep], count: u64) -> Result<(), RoundError> {
        for step in steps {
            for number in 1..=if step.is_each { count } else { 1 } {
                self.write_text(&step.template, number);
                let text = std::mem::take(&mut self.text);
                let done = self.execute(&text).await;
                self.text = text;
                done?;
            }
        }
        Ok(())
    }

    fn write_text(&mut self, template: &SqlTemplate, number: u64) {
        template.write_text(number, self.values, &mut self.text);
    }

    /// A statement that is not timed and counts nowhere.
    async fn execute(&mut self, text: &[u8]) -> Result<StatementReply, RoundError> {
        let done = self.session.execute(&mut Tally::default(), text).await;
        done.map_err(|error| RoundError { error, text: self.session.error_text().to_owned() })
    }

    async fn prepare(&mut self, template: &SqlTemplate) -> Result<PreparedStatement, RoundError> {
        let prepared = self.session.prepare(&template.parameter_text()).await;
        prepared
            .map_err(|error| RoundError { error: error.to_event_error(), text: error.to_string() })
    }

    /// One unit; gives the time that its statements took.
    async fn run_unit(
        &mut self,
        operation: &ReadyOperation,
        prepared: &[PreparedStatement],
        number: u64,
        tally: &mut Tally,
    ) -> Result<u64, RoundError> {
        let mut own: Option<Session> = None;
        let (mut wall_ns, mut parameters) = (0, Vec::new());
        for (place, (step, template)) in operation.row.unit.iter().zip(&operation.unit).enumerate()
        {
            let Some(template) = template else {
                let began = self.clock.now();
                let opened = self.target.open_session(self.abandon).await;
                wall_ns += self.clock.now().since(began).0;
                own = Some(opened.map_err(|error| RoundError {
                    error: error.to_event_error(),
                    text: error.to_string(),
                })?);
                continue;
            };
            let is_prepared = operation.row.prepared != PreparedUse::Never;
            if is_prepared {
                template.draw_parameters(number, self.values, &mut parameters);
            } else if let TimedStep::LoadText(_, count) = step {
                ValueSource::write_load_text(number, *count, &mut self.text);
            } else {
                template.write_text(number, self.values, &mut self.text);
            }
            let values: Vec<ParameterValue<'_>> =
                parameters.iter().map(|value| ParameterValue::Uint(*value)).collect();
            let session = own.as_mut().unwrap_or(self.session);
            let began = self.clock.now();
            let reply = match (operation.row.prepared, step) {
                (_, TimedStep::LoadText(sql, _)) => session
                    .load_local(sql, &mut &self.text[..])
                    .map_err(|error| error.to_event_error()),
                (PreparedUse::Never, _) => session.execute(tally, &self.text).await,
                (PreparedUse::Once, _) => {
                    session.execute_prepared(tally, &prepared[place], &values).await
                }
                (PreparedUse::EachTime, _) => {
                    prepare_and_execute(session, template, &values, tally).await
                }
            };
            wall_ns += self.clock.now().since(began).0;
            let reply = reply
                .map_err(|error| RoundError { error, text: session.error_text().to_owned() })?;
            check_rows(operation.row.name, step, reply, self.rows)?;
            tally.counts[match step {
                TimedStep::Read(..) => sql::READS,
                TimedStep::Write(..) | TimedStep::LoadText(..) => sql::WRITES,
                TimedStep::Run(_) | TimedStep::Connect => sql::OTHER,
            }] += 1;
        }
        if let Some(mut session) = own {
            let began = self.clock.now();
            session.quit().await;
            wall_ns += self.clock.now().since(began).0;
        }
        Ok(wall_ns)
    }
}

/// A statement that is prepared for one use.
async fn prepare_and_execute(
    session: &mut Session,
    template: &SqlTemplate,
    values: &[ParameterValue<'_>],
    tally: &mut Tally,
) -> Result<StatementReply, EventError> {
    let prepared = session.prepare(&template.parameter_text()).await;
    let prepared = prepared.map_err(|error| error.to_event_error())?;
    let reply = session.execute_prepared(tally, &prepared, values).await?;
    session.close_statement(prepared).await.map_err(|error| error.to_event_error())?;
    Ok(reply)
}

/// Whether a statement gave or changed as many rows as it must.
fn check_rows(
    name: &str,
    step: &TimedStep,
    reply: StatementReply,
    rows: u64,
) -> Result<(), RoundError> {
    let (found, what) = match step {
        TimedStep::Read(..) => (reply.rows, "rows"),
        TimedStep::Write(..) | TimedStep::LoadText(..) => (reply.affected, "rows changed"),
        TimedStep::Connect | TimedStep::Run(_) => return Ok(()),
    };
    let expected = step.row_count().with_rows(rows);
    if found == expected {
        return Ok(());
    }
    let text = format!("{name}: {found} {what}, there must be {expected}");
    Err(RoundError { error: WRONG_ROWS, text })
}

#[cfg(test)]
mod tests {
    use super::super::operation::RowCount;
    use super::*;

    #[test]
    fn another_number_of_rows_is_an_error() {
        let reply = StatementReply { rows: 99, affected: 3, ..StatementReply::default() };
        let read = TimedStep::Read("", RowCount::OneIn(10));
        let told = check_rows("join", &read, reply, 1_000).unwrap_err();
        assert_eq!(told.error, WRONG_ROWS);
        assert_eq!(told.text, "join: 99 rows, there must be 100");
        assert!(check_rows("join", &read, reply, 990).is_ok());
        let write = TimedStep::Write("", RowCount::Exactly(3));
        assert!(check_rows("update", &write, reply, 1_000).is_ok());
        assert!(check_rows("begin", &TimedStep::Run(""), reply, 1_000).is_ok());
    }
}
