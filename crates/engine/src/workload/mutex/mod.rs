//! Contends for locks: each worker runs one event, which takes random ones of many mutexes and counts in between, as sysbench's
//! test `mutex` does.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use crate::base::random::Rng;
use crate::base::{Nanos, Stop};
use crate::plan::{OptionKind, OptionSpec, Options};
use crate::recorder::{ClassId, CounterSpec, EventOutcome, Tally};
use crate::workload::local::{count_between, give_up_event};
use crate::workload::{
    BoxedWorker, Endpoint, EndpointKind, OpenError, Worker, WorkerContext, Workload, WorkloadKind,
};

const NAME: &str = "mutex";
/// Mutexes taken.
const LOCKED: usize = 0;
/// Turns of the empty loop between two looks at the stop flag.
const LOOK: u64 = 1 << 20;
/// Most mutexes: 16 GiB of them.
const MOST_MUTEXES: u64 = 1 << 30;

/// The kind `mutex`.
pub struct MutexKind;

impl WorkloadKind for MutexKind {
    fn name(&self) -> &'static str {
        NAME
    }
    fn help_line(&self) -> &'static str {
        "this machine's mutexes: one long event per worker"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        let spec = |name, default, help| OptionSpec::new(name, OptionKind::Count, default, help);
        vec![
            spec("mutexes", "4096", "mutexes to choose from").with_alias("mutex-num"),
            spec("locks", "50000", "mutexes that each worker takes").with_alias("mutex-locks"),
            spec("loops", "10000", "turns of an empty loop before each").with_alias("mutex-loops"),
        ]
    }
    fn example_args(&self) -> &'static [&'static str] {
        &["--threads=64", "--threads=64 --mutexes=1 --loops=100"]
    }
    fn endpoint_kind(&self) -> EndpointKind {
        EndpointKind::None
    }
    fn ends_by_itself(&self) -> bool {
        true
    }
    fn build_workload(
        &self,
        options: &Options,
        _: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let mutexes = count_between(options, "mutexes", 1, MOST_MUTEXES)?;
        Ok(Box::new(MutexWorkload {
            mutexes: (0..mutexes).map(|_| Mutex::new(0)).collect(),
            locks: count_between(options, "locks", 1, u64::MAX)?,
            loops: options.count("loops"),
        }))
    }
}

struct MutexWorkload {
    /// Each holds how often it was taken.
    mutexes: Vec<Mutex<u64>>,
    locks: u64,
    loops: u64,
}

impl Workload for MutexWorkload {
    fn class_names(&self) -> Vec<String> {
        vec![NAME.to_owned()]
    }
    fn split_obstacle(&self) -> Option<&'static str> {
        Some("it measures the machine that it runs on")
    }
    fn counters(&self) -> &'static [CounterSpec] {
        &[CounterSpec { name: "locks", unit: "locks" }]
    }
    fn needs_own_threads(&self) -> bool {
        true
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        let rng = Rng::new(part.seed, part.worker as u64, 0);
        Ok(Box::new(MutexWorker { load: self, rng, stop: part.abandon, is_through: false }))
    }
}

struct MutexWorker<'a> {
    load: &'a MutexWorkload,
    rng: Rng,
    stop: Stop,
    /// Its only event was run.
    is_through: bool,
}

impl Worker for MutexWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        Ok(())
    }
    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let MutexWorkload { mutexes, locks, loops } = self.load;
        self.is_through = true;
        for _ in 0..*locks {
            if !spin_loops(*loops, &self.stop) {
                return give_up_event(ClassId(0));
            }
            let mutex = &mutexes[self.rng.uniform_below(mutexes.len() as u64) as usize];
            *mutex.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        tally.counts[LOCKED] += locks;
        EventOutcome { class: ClassId(0), error: None }
    }
    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        (!self.is_through).then_some(now)
    }
}

/// Counts to `loops`; `false` if it was stopped.
fn spin_loops(loops: u64, stop: &Stop) -> bool {
    let mut counted = 0;
    while counted < loops {
        if stop.is_set() {
            return false;
        }
        for _ in 0..LOOK.min(loops - counted) {
            counted += 1;
            black_box(counted);
        }
    }
    !stop.is_set()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::StopReason;

    #[test]
    fn empty_loops_stop_when_told() {
        let stop = Stop::new();
        assert!(spin_loops(0, &stop) && spin_loops(LOOK + 1, &stop));
        stop.set(StopReason::Done);
        assert!(!spin_loops(0, &stop) && !spin_loops(u64::MAX, &stop));
    }
}
