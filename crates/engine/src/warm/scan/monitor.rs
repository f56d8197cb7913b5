//! Works off a board: sessions that read, and the thread that looks on.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::limit::{FillLimit, next_check_delay};
use super::options::ReadLimits;
use super::work_queue::{QueueGate, WorkQueue};
use super::worker_pool::WorkerPool;
use crate::base::{Clock, Nanos, Stop};
use crate::client::Session;
use crate::warm::{PoolStatus, WarmContext, WarmEvent, read_pool_status};
use crate::workload::JobProgress;

/// Looks in a row that the server may refuse before the work ends with its words.
const REFUSED_MOST: u32 = 20;

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::warm) enum ScanEnd {
    Through,
    Full,
    Stopped,
}

/// What is to be read.
pub(in crate::warm) struct ScanJob<'a> {
    pub queue: WorkQueue,
    pub limits: &'a ReadLimits,
    /// The pool before.
    pub before: PoolStatus,
    /// What it is called in the progress.
    pub label: &'a str,
    /// Set when sessions shall give up waiting for the server.
    pub abandon: &'a Stop,
}

/// What became of it.
pub(in crate::warm) struct ScanOutcome {
    pub end: ScanEnd,
    /// Units that were not read to their end.
    pub left_out: Vec<String>,
    /// Units that could not be read, and why.
    pub failures: Vec<String>,
    /// The last look at the pool.
    pub last: PoolStatus,
}

/// Works off a board; `on_done` hears the marks of pieces that were read, and ends it with its error.
///
/// # Errors
/// When the server is gone, or `on_done` fails.
pub(in crate::warm) fn run_job(
    job: ScanJob<'_>,
    lead: &mut Session,
    context: &mut WarmContext<'_>,
    on_event: &mut dyn FnMut(&WarmEvent),
    on_done: &mut dyn FnMut(&[u64]) -> anyhow::Result<()>,
) -> anyhow::Result<ScanOutcome> {
    let ScanJob { mut queue, limits, before, label, abandon } = job;
    let sessions = limits.sessions.min(queue.pages_total().div_ceil(64).max(1));
    queue.set_allowance(limits.fill.page_allowance(&before));
    let pool = WorkerPool {
        target: context.target,
        clock: context.clock,
        abandon,
        queue: Mutex::new(queue),
        sessions,
        pool_pages: before.pages_total,
        rate: limits.page_rate(&before),
        busy: (0..sessions).map(|_| AtomicU64::new(0)).collect(),
        working: AtomicUsize::new(sessions as usize),
        broken: Mutex::new(None),
    };
    let mut watch = ScanMonitor {
        limits,
        label,
        pool: &pool,
        before,
        last: before,
        mark: before,
        refused: 0,
        end: ScanEnd::Through,
    };
    let noted = std::thread::scope(|scope| {
        for place in 0..sessions as usize {
            let pool = &pool;
            scope.spawn(move || pool.run_worker(place));
        }
        watch.run_monitor(lead, context, on_event, on_done)
    });
    let (end, last) = (watch.end, watch.last);
    noted?;
    if let Some(error) = pool.broken.into_inner().expect("set without panic") {
        if end != ScanEnd::Stopped {
            return Err(error);
        }
    }
    let queue = pool.queue.into_inner().expect("no session panics while it holds the board");
    Ok(ScanOutcome {
        end,
        left_out: queue.unread_units(),
        failures: queue.failures().to_vec(),
        last,
    })
}

/// The thread that looks on: limits, progress, stop.
struct ScanMonitor<'a, 'b> {
    limits: &'a ReadLimits,
    label: &'a str,
    pool: &'a WorkerPool<'b>,
    before: PoolStatus,
    last: PoolStatus,
    /// The look by which to tell whether the pool still grows.
    mark: PoolStatus,
    /// Looks in a row that the server refused.
    refused: u32,
    end: ScanEnd,
}

impl ScanMonitor<'_, '_> {
    fn run_monitor(
        &mut self,
        lead: &mut Session,
        context: &mut WarmContext<'_>,
        on_event: &mut dyn FnMut(&WarmEvent),
        on_done: &mut dyn FnMut(&[u64]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let clock = context.clock;
        let (mut next, mut looked) = (clock.now(), clock.now());
        loop {
            let through = self.pool.working.load(Ordering::SeqCst) == 0;
            let (events, done) = {
                let mut queue = self.pool.lock_queue();
                (queue.take_events(), queue.take_done())
            };
            events.iter().for_each(&mut *on_event);
            let noted = if done.is_empty() { Ok(()) } else { on_done(&done) };
            if noted.is_err() {
                self.pool.lock_queue().gate = QueueGate::Closed;
                return noted;
            }
            if through {
                return Ok(());
            }
            let now = clock.now();
            if context.stop.is_set() {
                self.end = ScanEnd::Stopped;
                self.pool.lock_queue().gate = QueueGate::Closed;
                self.kill_queries(lead);
            } else if self.end == ScanEnd::Full {
                // What is under way would push out what was read first.
                self.kill_queries(lead);
            } else if now >= next || self.pool.lock_queue().is_starved() {
                let read = self.last.pages_read;
                if let Err(error) = self.adjust_gate(lead) {
                    self.abort_scan(error);
                    continue;
                }
                let read = self.last.pages_read.saturating_sub(read);
                let pause = next_check_delay(&self.last, read, now.since(looked));
                looked = now;
                // Where a look is dear, look less often.
                let took = clock.now().since(now);
                next = clock.now() + pause.max(Nanos(took.0.saturating_mul(10)));
                (context.progress)(self.current_progress());
            }
            clock.sleep_until(clock.now() + Nanos(5_000_000));
        }
    }

    /// Has the server break off what our sessions run.
    fn kill_queries(&self, lead: &mut Session) {
        for busy in &self.pool.busy {
            let id = busy.load(Ordering::SeqCst);
            if id != 0 {
                // It may be through in the meantime; then there is nothing to break off.
                let _ = lead.run_command(&format!("KILL QUERY {id}"));
            }
        }
    }

    /// Ends the work of all sessions for a cause of our own.
    fn abort_scan(&self, error: anyhow::Error) {
        self.pool.lock_queue().gate = QueueGate::Closed;
        let mut broken = self.pool.broken.lock().expect("set without panic");
        broken.get_or_insert(error);
    }

    /// The pool and the load as they are now; `None` where the server refuses to say. A lost session is opened once more:
    /// it may have been ended by itself.
    fn query_pool(&mut self, lead: &mut Session) -> anyhow::Result<Option<PoolStatus>> {
        let mut looked = read_pool_status(lead);
        if looked.is_err() && !lead.is_usable() && !self.pool.abandon.is_set() {
            *lead = crate::warm::open_session(self.pool.target, self.pool.abandon)?;
            looked = read_pool_status(lead);
        }
        match looked {
            Ok(now) => {
                self.refused = 0;
                Ok(Some(now))
            }
            Err(_) if lead.is_usable() && self.refused < REFUSED_MOST => {
                self.refused += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Looks at the pool and the load, and opens or closes the gate accordingly. While the server refuses to say, nothing
    /// new begins.
    fn adjust_gate(&mut self, lead: &mut Session) -> anyhow::Result<()> {
        if self.pool.lock_queue().gate == QueueGate::Closed {
            return Ok(());
        }
        let looked = self.query_pool(lead)?;
        let mut queue = self.pool.lock_queue();
        if queue.gate == QueueGate::Closed {
            return Ok(());
        }
        let Some(now) = looked else {
            queue.gate = QueueGate::Paused;
            return Ok(());
        };
        let full = self.limits.fill.is_full(&self.mark, &now);
        if FillLimit::can_tell(&self.mark, &now) {
            self.mark = now;
        }
        queue.set_allowance(self.limits.fill.page_allowance(&now));
        if full {
            queue.gate = QueueGate::Closed;
            self.end = ScanEnd::Full;
            return Ok(());
        }
        let ours = self.pool.busy.iter().filter(|b| b.load(Ordering::SeqCst) != 0).count() as u64;
        let others = now.threads_running.saturating_sub(ours + 1);
        let calm = self.limits.max_running == 0 || others <= self.limits.max_running;
        queue.gate = if calm { QueueGate::Open } else { QueueGate::Paused };
        self.last = now;
        Ok(())
    }

    fn current_progress(&self) -> JobProgress {
        let queue = self.pool.lock_queue();
        let read = self.last.pages_read.saturating_sub(self.before.pages_read);
        let paused = if queue.gate == QueueGate::Paused { " (paused)" } else { "" };
        JobProgress {
            label: format!("{}{paused}", self.label),
            done: queue.pages_done(read),
            total: queue.pages_total(),
            unit: "pages",
        }
    }
}
