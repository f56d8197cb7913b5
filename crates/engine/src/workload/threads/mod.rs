//! Switches threads: each event takes one of a few locks, yields the CPU and gives the lock back, many times, as sysbench's test
//! `threads` does.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::base::Stop;
use crate::plan::{OptionKind, OptionSpec, Options};
use crate::recorder::{ClassId, CounterSpec, EventOutcome, Tally};
use crate::workload::local::{count_between, give_up_event};
use crate::workload::{
    BoxedWorker, Endpoint, EndpointKind, OpenError, Worker, WorkerContext, Workload, WorkloadKind,
};

const NAME: &str = "threads";
/// Times that the CPU was yielded.
const YIELDS: usize = 0;
/// Most locks: each has a cache line.
const MOST_LOCKS: u64 = 1 << 20;

/// The kind `threads`.
pub struct ThreadsKind;

impl WorkloadKind for ThreadsKind {
    fn name(&self) -> &'static str {
        NAME
    }
    fn help_line(&self) -> &'static str {
        "this machine's scheduler: lock, yield, unlock"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        let spec = |name, default, help| OptionSpec::new(name, OptionKind::Count, default, help);
        vec![
            spec("yields", "1000", "times that an event locks, yields and unlocks")
                .with_alias("thread-yields"),
            spec("locks", "8", "locks that events take in turn").with_alias("thread-locks"),
        ]
    }
    fn example_args(&self) -> &'static [&'static str] {
        &["--threads=64 --time=10", "--threads=64 --locks=2"]
    }
    fn endpoint_kind(&self) -> EndpointKind {
        EndpointKind::None
    }
    fn build_workload(
        &self,
        options: &Options,
        _: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let locks = count_between(options, "locks", 1, MOST_LOCKS)?;
        Ok(Box::new(ThreadsWorkload {
            yields: count_between(options, "yields", 0, u64::MAX)?,
            locks: (0..locks).map(|_| YieldLock::default()).collect(),
            next: AtomicUsize::new(0),
        }))
    }
}

/// Alone in its cache line: those who take one do not disturb those who take another.
#[derive(Default)]
#[repr(align(128))]
struct YieldLock(Mutex<()>);

struct ThreadsWorkload {
    yields: u64,
    locks: Vec<YieldLock>,
    /// The lock of the next event.
    next: AtomicUsize,
}

impl Workload for ThreadsWorkload {
    fn class_names(&self) -> Vec<String> {
        vec![NAME.to_owned()]
    }
    fn split_obstacle(&self) -> Option<&'static str> {
        Some("it measures the machine that it runs on")
    }
    fn counters(&self) -> &'static [CounterSpec] {
        &[CounterSpec { name: "yields", unit: "yields" }]
    }
    fn needs_own_threads(&self) -> bool {
        true
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        Ok(Box::new(YieldWorker { load: self, stop: part.abandon }))
    }
}

struct YieldWorker<'a> {
    load: &'a ThreadsWorkload,
    stop: Stop,
}

impl Worker for YieldWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        Ok(())
    }
    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let ThreadsWorkload { yields, locks, next } = self.load;
        let lock = &locks[next.fetch_add(1, Ordering::Relaxed) % locks.len()].0;
        for _ in 0..*yields {
            if self.stop.is_set() {
                return give_up_event(ClassId(0));
            }
            let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
            std::thread::yield_now();
            drop(held);
        }
        tally.counts[YIELDS] += yields;
        EventOutcome { class: ClassId(0), error: None }
    }
}
