//! The engine `reactor`: a few threads, each an epoll loop over many workers. Holds thousands of sessions in a few MB.
//!
//! Under a closed arrival its threads run under the policy SCHED_BATCH: a reply then doesn't preempt the server's
//! thread that sent it, replies gather, and one wake-up serves many. That is worth 10-40 % of throughput where client
//! and server share a machine. Under an open arrival, where being woken on time is what counts, it is left off.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::thread::{Builder, Scope};

use super::arrival::ArrivalMode;
use super::load::{LoadStart, OPENING, SharedLoad};
use super::pace::{Pacer, Waiter};
use super::threads::{EngineContext, panic_message};
use crate::base::reactor::{self, Reactor, WorkerTask};
use crate::base::{Clock, Nanos, RealClock, kernel};
use crate::recorder::ShardWriter;

/// Room for the workers' calls on one thread.
const STACK_BYTES: usize = 4 << 20;
/// How often a thread looks whether the load begins, and later whether it is over.
const LOOK_FOR_START: Nanos = Nanos(500_000);
const LOOK_FOR_END: Nanos = Nanos(20_000_000);

/// Threads for so many workers: half the cores, as a server on this machine needs the others (measured on two cores:
/// one thread did 2 to 15 % more than two), at least one and at most four, and none with nothing to do.
pub(super) fn thread_count(workers: usize) -> usize {
    (kernel::core_count() / 2).clamp(1, 4).min(workers)
}

/// What the workers of one thread share: who may open a session, who is still there.
struct ThreadShared {
    tasks: usize,
    through: Cell<usize>,
    opening: Cell<usize>,
    queue: RefCell<VecDeque<usize>>,
}

impl ThreadShared {
    /// The task that looks after the others.
    fn supervisor_task(&self) -> usize {
        self.tasks
    }
}

/// Waits by pending on the reactor of its thread.
struct ReactorWaiter<'a> {
    clock: RealClock,
    load: &'a SharedLoad,
    room: &'a ThreadShared,
}

impl Waiter for ReactorWaiter<'_> {
    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn poll_until(&mut self, at: Nanos) -> Poll<()> {
        reactor::wake_at(at);
        Poll::Pending
    }

    fn watch_until(&mut self, end: Nanos) {
        reactor::wake_at(end);
    }

    fn poll_enter_gate(&mut self) -> Poll<bool> {
        if self.load.halt.is_set() {
            return Poll::Ready(false);
        }
        if self.room.opening.get() < OPENING {
            self.room.opening.set(self.room.opening.get() + 1);
            return Poll::Ready(true);
        }
        self.room.queue.borrow_mut().push_back(reactor::current_task());
        Poll::Pending
    }

    fn leave_gate(&mut self) {
        self.room.opening.set(self.room.opening.get() - 1);
        if let Some(task) = self.room.queue.borrow_mut().pop_front() {
            reactor::wake_task(task);
        }
    }

    fn poll_start(&mut self) -> Poll<()> {
        Poll::Pending
    }

    fn poll_yield(&mut self) -> Poll<()> {
        reactor::wake_task(reactor::current_task());
        Poll::Pending
    }
}

impl Drop for ReactorWaiter<'_> {
    fn drop(&mut self) {
        self.room.through.set(self.room.through.get() + 1);
        reactor::wake_task(self.room.supervisor_task());
    }
}

/// Starts the threads, each with its share of the workers.
pub(super) fn start_threads<'scope>(
    scope: &'scope Scope<'scope, '_>,
    setting: EngineContext<'scope>,
    arrival: &ArrivalMode,
    writers: Vec<ShardWriter>,
) {
    let lanes = writers.len();
    for (shard, writer) in writers.into_iter().enumerate() {
        let arrival = arrival.clone();
        let life = move || {
            let life = AssertUnwindSafe(|| run_thread(setting, shard, lanes, &writer, arrival));
            match catch_unwind(life) {
                Ok(Ok(())) => {}
                Ok(Err(e)) => setting.load.fail_load(format!("reactor thread {shard}: {e}")),
                Err(panic) => {
                    setting
                        .load
                        .fail_load(format!("a worker panicked: {}", panic_message(&*panic)));
                }
            }
        };
        let build = Builder::new().name(format!("reactor {shard}")).stack_size(STACK_BYTES);
        if let Err(e) = build.spawn_scoped(scope, life) {
            setting.load.fail_load(format!("can't start a thread for the reactor: {e}"));
            let together = setting.workload.workers_per_connection();
            for _ in lane_workers(shard, lanes, setting.load.workers, together) {
                setting.load.note_worker_end(Nanos(0), false, false);
            }
        }
    }
}

/// The workers of a thread: `lane`, `lane + lanes`, and so on, of groups that stay together.
fn lane_workers(
    lane: usize,
    lanes: usize,
    workers: usize,
    together: usize,
) -> impl Iterator<Item = usize> {
    (0..workers).filter(move |worker| worker / together % lanes == lane)
}

/// One thread's work.
fn run_thread(
    setting: EngineContext<'_>,
    shard: usize,
    lanes: usize,
    writer: &ShardWriter,
    arrival: ArrivalMode,
) -> std::io::Result<()> {
    let EngineContext { load, clock, workload, precise, .. } = setting;
    kernel::sharpen_timers();
    if arrival.open_schedule().is_none() {
        kernel::gather_wakeups();
    }
    let together = workload.workers_per_connection();
    let workers = || lane_workers(shard, lanes, load.workers, together);
    let room = ThreadShared {
        tasks: workers().count(),
        through: Cell::new(0),
        opening: Cell::new(0),
        queue: RefCell::default(),
    };
    let room = &room;
    let mut tasks: Vec<Option<WorkerTask<'_>>> = Vec::with_capacity(room.tasks + 1);
    for worker in workers() {
        let waiter = ReactorWaiter { clock, load, room };
        let pacer = Pacer::new(load, writer, waiter, arrival.clone(), worker);
        tasks.push(match workload.new_worker(setting.worker_context(worker, true)) {
            Ok(seat) => Some(seat.run(Box::new(pacer))),
            Err(e) => {
                load.note_opened(worker, Err(format!("{e:#}")));
                None
            }
        });
    }
    drop(arrival);
    tasks.push(Some(Box::pin(supervise_workers(load, room, clock))));
    Reactor::new(clock, precise)?.run(&mut tasks, &|| load.abandon.is_set())
}

/// Wakes the workers of this thread when the load begins, and when it is over; ends after the last of them.
async fn supervise_workers(load: &SharedLoad, room: &ThreadShared, clock: RealClock) {
    let (mut begun, mut over) = (false, false);
    poll_fn(|_| {
        if room.through.get() == room.tasks {
            return Poll::Ready(());
        }
        let begins = !begun && load.load_start() != LoadStart::NotYet;
        let ends = !over && load.halt.is_set();
        begun |= begins;
        over |= ends;
        if begins || ends {
            (0..room.tasks).for_each(reactor::wake_task);
        }
        let look = if begun { LOOK_FOR_END } else { LOOK_FOR_START };
        reactor::wake_at(clock.now() + look);
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_has_a_thread_and_groups_stay_together() {
        for (workers, together) in [(7, 1), (64, 64), (65, 64), (100, 8), (3, 10)] {
            let lanes = thread_count(usize::div_ceil(workers, together));
            let mut all = Vec::new();
            for lane in 0..lanes {
                let own: Vec<usize> = lane_workers(lane, lanes, workers, together).collect();
                for group in own.chunk_by(|a, b| a / together == b / together) {
                    let whole = group[0] / together * together;
                    let end = (whole + together).min(workers);
                    assert_eq!(group, (whole..end).collect::<Vec<_>>());
                }
                all.extend(own);
            }
            all.sort_unstable();
            assert_eq!(all, (0..workers).collect::<Vec<_>>());
        }
    }
}
