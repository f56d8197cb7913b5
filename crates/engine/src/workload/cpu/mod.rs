//! Computes: each event counts the primes up to a number by trial division, as sysbench's test `cpu` does.

use crate::base::Stop;
use crate::plan::{OptionKind, OptionSpec, Options};
use crate::recorder::{ClassId, CounterSpec, EventOutcome, Tally};
use crate::workload::local::{count_between, give_up_event};
use crate::workload::{
    BoxedWorker, Endpoint, EndpointKind, OpenError, Worker, WorkerContext, Workload, WorkloadKind,
};

const NAME: &str = "cpu";
/// Primes found.
const PRIMES: usize = 0;
/// Squares of divisors must fit, and an event must end.
const HIGHEST: u64 = u32::MAX as u64;
/// Candidates between two looks at the stop flag: a few milliseconds at the most.
const LOOK: u64 = 256;

/// The kind `cpu`.
pub struct CpuKind;

impl WorkloadKind for CpuKind {
    fn name(&self) -> &'static str {
        NAME
    }
    fn help_line(&self) -> &'static str {
        "this machine's CPU: count primes by trial division"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        let highest = "each event counts the primes up to this number";
        vec![
            OptionSpec::new("max-prime", OptionKind::Count, "10000", highest)
                .with_alias("cpu-max-prime"),
        ]
    }
    fn example_args(&self) -> &'static [&'static str] {
        &["--threads=2 --time=10", "--max-prime=20000 --events=10000"]
    }
    fn endpoint_kind(&self) -> EndpointKind {
        EndpointKind::None
    }
    fn build_workload(
        &self,
        options: &Options,
        _: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        Ok(Box::new(CpuWorkload { highest: count_between(options, "max-prime", 1, HIGHEST)? }))
    }
}

struct CpuWorkload {
    /// Primes are counted up to here.
    highest: u64,
}

impl Workload for CpuWorkload {
    fn class_names(&self) -> Vec<String> {
        vec![NAME.to_owned()]
    }
    fn split_obstacle(&self) -> Option<&'static str> {
        Some("it measures the machine that it runs on")
    }
    fn counters(&self) -> &'static [CounterSpec] {
        &[CounterSpec { name: "primes", unit: "primes" }]
    }
    fn needs_own_threads(&self) -> bool {
        true
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        Ok(Box::new(PrimeWorker { highest: self.highest, stop: part.abandon }))
    }
}

struct PrimeWorker {
    highest: u64,
    stop: Stop,
}

impl Worker for PrimeWorker {
    async fn open(&mut self) -> Result<(), OpenError> {
        Ok(())
    }
    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let Some(primes) = count_primes(self.highest, &self.stop) else {
            return give_up_event(ClassId(0));
        };
        tally.counts[PRIMES] += primes;
        EventOutcome { class: ClassId(0), error: None }
    }
}

/// Primes from 3 to `highest`; `None` if stopped.
fn count_primes(highest: u64, stop: &Stop) -> Option<u64> {
    let mut primes = 0;
    for candidate in 3..=highest {
        if candidate % LOOK == 0 && stop.is_set() {
            return None;
        }
        let mut divisor = 2;
        while divisor * divisor <= candidate && remainder(candidate, divisor) != 0 {
            divisor += 1;
        }
        primes += u64::from(divisor * divisor > candidate);
    }
    Some(primes)
}

/// The remainder by a division of 64 bits, which is what is measured: compilers put one of 32 bits, which is faster, where
/// both numbers are small.
#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "there is no other way to name the instruction")]
fn remainder(number: u64, divisor: u64) -> u64 {
    debug_assert!(divisor > 0, "the instruction faults on 0");
    let rest;
    // SAFETY: the upper half of the dividend is 0 and the divisor is not, so the quotient fits; no memory is touched.
    unsafe {
        std::arch::asm!(
            "div {divisor}",
            divisor = in(reg) divisor,
            inout("rax") number => _,
            inout("rdx") 0_u64 => rest,
            options(pure, nomem, nostack),
        );
    }
    rest
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn remainder(number: u64, divisor: u64) -> u64 {
    number % divisor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::StopReason;

    #[test]
    fn primes_are_counted_from_three() {
        let count = |highest| count_primes(highest, &Stop::new());
        // There are 1,229 up to 10,000 with 2.
        assert_eq!([1, 3, 4, 9, 10_000].map(count), [0, 1, 1, 3, 1228].map(Some));
        assert_eq!((remainder(7, 7), remainder(u64::MAX, 10)), (0, 5));
    }

    #[test]
    fn an_event_is_given_up_when_told() {
        let stop = Stop::new();
        stop.set(StopReason::Done);
        assert_eq!(count_primes(HIGHEST, &stop), None);
    }

    #[test]
    fn a_highest_number_of_none_or_too_many_is_refused() {
        for given in ["0", "5G"] {
            let given = [("cpu-max-prime".to_owned(), given.to_owned())];
            let options = Options::from_given(&CpuKind.option_specs(), &given).unwrap();
            let error = CpuKind.build_workload(&options, Endpoint::None).err().unwrap();
            assert!(error.to_string().starts_with("--max-prime: "), "{error:#}");
        }
    }
}
