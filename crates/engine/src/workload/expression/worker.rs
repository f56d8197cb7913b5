//! One session that runs the statements in turn and notes what each took.

use std::sync::atomic::Ordering;

use crate::base::Nanos;
use crate::client::Session;
use crate::plan::Mistake;
use crate::recorder::{ClassId, EventOutcome, EventRecord, Tally};
use crate::workload::{OpenError, Worker, WorkerContext, sql};

use super::ExpressionWorkload;
use super::measuring_plan::MeasuringPlan;
use super::sample_book::{EvaluationTime, slot_at};
use crate::workload::thread_clock::ThreadClock;

/// Ended by a KILL, by MariaDB's limit, by MySQL's.
const CUT_CODES: [u16; 3] = [1317, 1969, 3024];

/// The worker; there is one.
pub(super) struct ExpressionWorker<'a> {
    work: &'a ExpressionWorkload,
    plan: &'a MeasuringPlan,
    part: WorkerContext,
    session: Option<Session>,
    clock: Option<ThreadClock>,
    /// Statements that have ended.
    done: u64,
    slot: usize,
    /// CPU time of the thread in the statement that has just ended.
    cpu_ns: Option<u64>,
    error_text: String,
}

impl<'a> ExpressionWorker<'a> {
    /// The worker of a load.
    ///
    /// # Errors
    /// When there shall be several, or the statements were not found.
    pub(super) fn new(
        work: &'a ExpressionWorkload,
        part: WorkerContext,
    ) -> anyhow::Result<ExpressionWorker<'a>> {
        if part.workers > 1 {
            let why = "expressions are measured one after the other, by one session";
            return Err(Mistake::new("--threads", why).hint("leave it at 1").into());
        }
        let plan = work.plan.get();
        let plan = plan.ok_or_else(|| anyhow::anyhow!("the expressions were not looked at"))?;
        Ok(ExpressionWorker {
            work,
            plan,
            part,
            session: None,
            clock: None,
            done: 0,
            slot: 0,
            cpu_ns: None,
            error_text: String::new(),
        })
    }

    fn slots(&self) -> u64 {
        self.plan.slots.len() as u64
    }
}

impl Worker for ExpressionWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        self.session = None;
        let mut session = self.work.target.open_session(&self.part.abandon).await?;
        for statement in self.plan.setup.iter().chain(&self.plan.fuse) {
            session.fetch_rows(statement).await?;
        }
        self.clock = ThreadClock::find(&mut session).await?.ok();
        self.session = Some(session);
        Ok(())
    }

    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        if self.done >= self.work.settings.passes * self.slots() {
            return None;
        }
        self.slot = slot_at(self.done, self.slots());
        Some(now)
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let session = self.session.as_mut().expect("open comes before any event");
        let ran = || self.clock.as_ref().and_then(ThreadClock::ran_ns);
        let before = ran();
        self.work.measuring.store(session.id(), Ordering::Release);
        let result = session.execute(tally, self.plan.slots[self.slot].sql.as_bytes()).await;
        self.work.measuring.store(0, Ordering::Release);
        self.cpu_ns = ran().zip(before).map(|(after, before)| after.saturating_sub(before));
        let class = ClassId(self.slot as _);
        let Err(error) = result else {
            tally.counts[sql::READS] += 1;
            return EventOutcome { class, error: None };
        };
        self.error_text.clear();
        self.error_text.push_str(session.error_text());
        if error.kind.ends_session() {
            // A server does not notice that its client went away, and would compute to the end.
            let _ = self.work.target.kill_statement(session.id());
        }
        EventOutcome { class, error: Some(error) }
    }

    fn note_record(&mut self, record: &EventRecord) {
        let pass = (self.done / self.slots()) as usize;
        self.done += 1;
        let slot = &self.plan.slots[self.slot];
        if let Some(error) = record.outcome.error {
            self.work.lock_book().cut += u64::from(CUT_CODES.contains(&error.code));
            return;
        }
        let per_round = |ns: u64| ns as f64 / slot.rounds as f64;
        let wall = record.ended.since(record.started);
        let is_over = self.plan.fuse.is_some() && wall >= self.plan.fuse_time;
        let time =
            EvaluationTime { wall_ns: per_round(wall.0), cpu_ns: self.cpu_ns.map(per_round) };
        let mut book = self.work.lock_book();
        // Only BENCHMARK() ends without an error when it is killed.
        let is_cut = !self.plan.is_by_rows && slot.is_cut(time);
        match is_over || is_cut {
            true => book.cut += 1,
            false => book.add(pass, self.slot, time),
        }
    }

    fn error_text(&self) -> &str {
        &self.error_text
    }

    async fn close(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.quit().await;
        }
    }
}
