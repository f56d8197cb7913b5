//! The engine `threads`: each worker has a thread and blocks on it. The best latency and throughput for few sessions.
//!
//! Under a closed arrival, and if there are more of them than cores, the threads run under the policy SCHED_BATCH, for the reason
//! that the reactor's do.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::thread::{Builder, Scope};

use super::arrival::ArrivalMode;
use super::load::SharedLoad;
use super::pace::{Pacer, Waiter};
use crate::base::reactor::block_on;
use crate::base::{Clock, Nanos, RealClock, kernel};
use crate::recorder::ShardWriter;
use crate::workload::{WorkerContext, Workload};

/// Room for a worker's calls; only what is used costs memory.
const STACK_BYTES: usize = 2 << 20;
/// How long a worker sleeps at most before it looks whether the load is over.
const LOOK: Nanos = Nanos(50_000_000);

/// Waits by blocking the thread.
struct BlockingWaiter<'a> {
    clock: RealClock,
    load: &'a SharedLoad,
    precise: bool,
}

impl Waiter for BlockingWaiter<'_> {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn poll_until(&mut self, at: Nanos) -> Poll<()> {
        let look = self.clock.now() + LOOK;
        if self.precise && at < look {
            self.clock.sleep_precisely_until(at);
        } else {
            self.clock.sleep_until(at.min(look));
        }
        Poll::Ready(())
    }

    /// Whoever blocks this thread looks again by itself: see `block_on`.
    fn watch_until(&mut self, _: Nanos) {}

    fn poll_enter_gate(&mut self) -> Poll<bool> {
        Poll::Ready(self.load.enter_gate())
    }

    fn leave_gate(&mut self) {
        self.load.leave_gate();
    }

    fn poll_start(&mut self) -> Poll<()> {
        self.load.wait_for_start();
        Poll::Ready(())
    }

    fn poll_yield(&mut self) -> Poll<()> {
        Poll::Ready(())
    }
}

/// What each engine is given.
#[derive(Clone, Copy)]
pub(super) struct EngineContext<'a> {
    pub(super) load: &'a SharedLoad,
    pub(super) workload: &'a dyn Workload,
    pub(super) clock: RealClock,
    pub(super) seed: u64,
    pub(super) precise: bool,
}

impl EngineContext<'_> {
    pub(super) fn worker_context(&self, worker: usize, shares_thread: bool) -> WorkerContext {
        let (workers, abandon) = (self.load.all_workers, self.load.abandon.clone());
        let worker = self.load.first_worker + worker;
        let only_class = self.load.only_class;
        WorkerContext { worker, workers, seed: self.seed, shares_thread, only_class, abandon }
    }
}

/// What a panic said.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}

/// Starts one thread per worker.
pub(super) fn start_threads<'scope>(
    scope: &'scope Scope<'scope, '_>,
    setting: EngineContext<'scope>,
    arrival: &ArrivalMode,
    writers: Vec<ShardWriter>,
) {
    for (worker, writer) in writers.into_iter().enumerate() {
        let arrival = arrival.clone();
        let life = move || {
            let life = AssertUnwindSafe(|| run_worker(setting, worker, &writer, arrival));
            if let Err(panic) = catch_unwind(life) {
                setting
                    .load
                    .fail_load(format!("worker {worker} panicked: {}", panic_message(&*panic)));
            }
        };
        let build = Builder::new().name(format!("worker {worker}")).stack_size(STACK_BYTES);
        if let Err(e) = build.spawn_scoped(scope, life) {
            setting.load.note_opened(worker, Err(format!("can't start a thread for it: {e}")));
            setting.load.note_worker_end(Nanos(0), false, false);
        }
    }
}

/// A worker's life on its thread.
fn run_worker(
    setting: EngineContext<'_>,
    worker: usize,
    writer: &ShardWriter,
    arrival: ArrivalMode,
) {
    let EngineContext { load, clock, precise, .. } = setting;
    kernel::sharpen_timers();
    // Who waits for no server has no replies to gather, and may be what measures the scheduler; where there is a core for
    // each worker, none is preempted.
    let gathers = arrival.open_schedule().is_none() && !setting.workload.needs_own_threads();
    if gathers && load.workers > kernel::core_count() {
        kernel::gather_wakeups();
    }
    let waiter = BlockingWaiter { clock, load, precise };
    let pacer = Pacer::new(load, writer, waiter, arrival, worker);
    match setting.workload.new_worker(setting.worker_context(worker, false)) {
        Ok(seat) => block_on(seat.run(Box::new(pacer))),
        Err(e) => load.note_opened(worker, Err(format!("{e:#}"))),
    }
}
