//! One worker: its session, its statements, and how it plays an event.

use crate::base::distribution::Distribution;
use crate::base::random::Rng;
use crate::recorder::{ClassId, ErrorKind, EventError, Outcome, Tally};
use crate::target::{self, Prepared, Reply, Session, Value};
use crate::workload::{Part, Worker};

use super::Plot;
use super::content::{C_LENGTH, PAD_LENGTH, write_groups};
use super::statement::{Statement, fill_in};

/// Statements prepared before the load; where tables make more of them, the rest is prepared when first needed.
const PREPARED_AHEAD: usize = 100;

/// Draws what goes into statements.
struct Dice<'a> {
    plot: &'a Plot,
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
struct Line<'a> {
    plot: &'a Plot,
    session: Option<Session>,
    /// By table and statement.
    prepared: Vec<Option<Prepared>>,
    /// A statement as text.
    text: Vec<u8>,
}

/// One worker.
pub(super) struct Player<'a> {
    dice: Dice<'a>,
    line: Line<'a>,
    part: Part,
    /// Values of statements with a list.
    list: Vec<Value<'static>>,
    error_text: String,
}

impl<'a> Player<'a> {
    pub(super) fn new(plot: &'a Plot, part: Part) -> Player<'a> {
        let seed = if plot.settings.seed == 0 { part.seed } else { plot.settings.seed };
        let (worker, workers) = (part.worker as u64, part.workers.max(1) as u64);
        let dice = Dice {
            plot,
            rng: Rng::new(seed, worker, 0),
            worker,
            workers,
            own: plot.in_effect().own_part(worker, workers),
            new_ids: 0,
            deleted: 1,
            c: [b'0'; C_LENGTH],
            pad: [b'0'; PAD_LENGTH],
        };
        let line = Line { plot, session: None, prepared: Vec::new(), text: Vec::new() };
        Player { dice, line, part, list: Vec::new(), error_text: String::new() }
    }

    /// All steps of an event.
    async fn play(&mut self, tally: &mut Tally) -> Result<(), EventError> {
        let plot = self.dice.plot;
        if plot.transaction {
            self.line.say(tally, b"BEGIN").await?;
        }
        for action in &plot.actions {
            let table = self.dice.table();
            for _ in 0..action.times {
                for statement in action.statements {
                    self.send(tally, *statement, table).await?;
                }
            }
        }
        if plot.transaction {
            self.line.say(tally, b"COMMIT").await?;
        }
        Ok(())
    }

    /// One statement with values drawn for it.
    async fn send(
        &mut self,
        tally: &mut Tally,
        statement: Statement,
        table: u64,
    ) -> Result<(), EventError> {
        let Player { dice, line, list, .. } = self;
        match statement {
            Statement::PointSelect | Statement::IndexUpdate => {
                let id = dice.id();
                line.run(tally, statement, table, &[Value::Uint(id)]).await
            }
            Statement::SimpleRange
            | Statement::SumRange
            | Statement::OrderRange
            | Statement::DistinctRange => {
                let id = dice.id();
                let last = id + dice.plot.settings.range_size - 1;
                line.run(tally, statement, table, &[Value::Uint(id), Value::Uint(last)]).await
            }
            Statement::NonIndexUpdate => {
                write_groups(&mut dice.rng, &mut dice.c);
                let id = dice.id();
                let values = [Value::Bytes(&dice.c), Value::Uint(id)];
                line.run(tally, statement, table, &values).await
            }
            Statement::Delete => {
                dice.deleted = dice.id();
                line.run(tally, statement, table, &[Value::Uint(dice.deleted)]).await
            }
            Statement::Insert | Statement::InsertNew => {
                let id = match statement {
                    Statement::Insert => Value::Uint(dice.deleted),
                    _ => dice.new_id(),
                };
                let k = Value::Uint(dice.id());
                write_groups(&mut dice.rng, &mut dice.c);
                write_groups(&mut dice.rng, &mut dice.pad);
                let values = [id, k, Value::Bytes(&dice.c), Value::Bytes(&dice.pad)];
                line.run(tally, statement, table, &values).await
            }
            Statement::RandomPoints => {
                list.clear();
                for _ in 0..dice.plot.settings.random_points {
                    list.push(Value::Uint(dice.own.next(&mut dice.rng)));
                }
                line.run(tally, statement, table, list).await
            }
            Statement::RandomRanges => {
                list.clear();
                for _ in 0..dice.plot.settings.random_ranges {
                    let low = dice.own.next(&mut dice.rng);
                    list.push(Value::Uint(low));
                    list.push(Value::Uint(low + dice.plot.settings.delta));
                }
                line.run(tally, statement, table, list).await
            }
        }
    }

    /// After an error of the server: keeps its text, and ends the transaction that may be open.
    async fn recover(&mut self, error: EventError) -> EventError {
        let Some(session) = &mut self.line.session else { return error };
        self.error_text.clear();
        self.error_text.push_str(session.error_text());
        if error.kind == ErrorKind::Server && self.line.plot.transaction {
            let undone = session.execute(&mut Tally::default(), b"ROLLBACK").await;
            if let Err(worse) = undone {
                if worse.kind != ErrorKind::Server {
                    self.error_text.clear();
                    return worse;
                }
            }
        }
        error
    }
}

impl Worker for Player<'_> {
    async fn open(&mut self) -> Result<(), target::Error> {
        self.line.session = None;
        let session = self.line.plot.target.open(&self.part.abandon).await?;
        self.line.session = Some(session);
        self.line.prepare_ahead().await
    }

    async fn event(&mut self, tally: &mut Tally) -> Outcome {
        let error = match self.play(tally).await {
            Ok(()) => None,
            Err(error) => Some(self.recover(error).await),
        };
        Outcome { class: ClassId(0), error }
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

impl Dice<'_> {
    /// A table's number.
    #[inline]
    fn table(&mut self) -> u64 {
        match self.plot.settings.tables {
            1 => 1,
            tables => self.rng.between(1, tables),
        }
    }

    /// An id of a row that should be there.
    #[inline]
    fn id(&mut self) -> u64 {
        self.plot.in_effect().ids.next(&mut self.rng)
    }

    /// An id for a new row: the server's to choose, or one that no other worker gives out.
    fn new_id(&mut self) -> Value<'static> {
        if self.plot.settings.auto_inc {
            return Value::Null;
        }
        let number = self.new_ids * self.workers + self.worker;
        self.new_ids += 1;
        Value::Int(i64::from(scatter(number as u32)) + i64::from(i32::MIN))
    }
}

/// Another number for each number: ids that are new and don't come in order.
fn scatter(number: u32) -> u32 {
    let mixed = (number ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b1);
    (mixed ^ (mixed >> 16)).wrapping_mul(0x85eb_ca6b)
}

impl Line<'_> {
    /// Prepares everything, unless there are so many tables that most may never be used.
    async fn prepare_ahead(&mut self) -> Result<(), target::Error> {
        self.prepared.clear();
        if self.plot.settings.as_text {
            return Ok(());
        }
        let count = self.plot.statements_per_worker();
        self.prepared.resize(count, None);
        if count > PREPARED_AHEAD {
            return Ok(());
        }
        for table in 1..=self.plot.settings.tables {
            for (statement, _) in &self.plot.texts {
                self.prepared(*statement, table).await?;
            }
        }
        Ok(())
    }

    /// The prepared statement; prepares it if that was not done yet.
    async fn prepared(
        &mut self,
        statement: Statement,
        table: u64,
    ) -> Result<Prepared, target::Error> {
        let place = self.plot.place(statement);
        let slot = (table - 1) as usize * self.plot.texts.len() + place;
        if let Some(prepared) = self.prepared[slot] {
            return Ok(prepared);
        }
        fill_in(&self.plot.texts[place].1, table, &[], &mut self.text);
        let sql = std::str::from_utf8(&self.text).expect("our own texts are ASCII");
        let session = self.session.as_mut().expect("open comes before any event");
        let prepared = session.prepare(sql).await?;
        self.prepared[slot] = Some(prepared);
        Ok(prepared)
    }

    /// Runs a statement with values.
    #[inline]
    async fn run(
        &mut self,
        tally: &mut Tally,
        statement: Statement,
        table: u64,
        values: &[Value<'_>],
    ) -> Result<(), EventError> {
        if self.plot.settings.as_text {
            let place = self.plot.place(statement);
            fill_in(&self.plot.texts[place].1, table, values, &mut self.text);
            let session = self.session.as_mut().expect("open comes before any event");
            let reply = session.execute(tally, &self.text).await?;
            note(tally, statement, &reply);
            return Ok(());
        }
        let prepared = self.prepared(statement, table).await.map_err(|e| e.event_error())?;
        let session = self.session.as_mut().expect("open comes before any event");
        let reply = session.run(tally, &prepared, values).await?;
        note(tally, statement, &reply);
        Ok(())
    }

    /// Runs a text.
    async fn say(&mut self, tally: &mut Tally, sql: &[u8]) -> Result<(), EventError> {
        let session = self.session.as_mut().expect("open comes before any event");
        session.execute(tally, sql).await?;
        tally.other += 1;
        Ok(())
    }
}

/// Counts a statement. One that could change data and changed none counts as neither read nor write.
#[inline]
fn note(tally: &mut Tally, statement: Statement, reply: &Reply) {
    if statement.reads() {
        tally.reads += 1;
    } else if reply.affected > 0 {
        tally.writes += 1;
    } else {
        tally.other += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_never_repeat() {
        let mut seen: Vec<u32> = (0..200_000).map(scatter).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 200_000);
    }
}
