//! Moves memory: each event goes once over a block in words of 8 bytes, as sysbench's test `memory` does.

mod block;

use std::sync::OnceLock;

use block::{MemoryAccess, MemoryBlock, WORD};

use crate::base::random::Rng;
use crate::base::{Nanos, Stop};
use crate::plan::{Mistake, OptionKind, OptionSpec, Options};
use crate::recorder::{ClassId, CounterSpec, EventOutcome, Tally};
use crate::workload::local::{byte_count, give_up_event, worker_share};
use crate::workload::{
    BoxedWorker, Endpoint, EndpointKind, OpenError, Worker, WorkerContext, Workload, WorkloadKind,
};

const NAME: &str = "memory";
/// Bytes read or written.
const BYTES: usize = 0;

/// The kind `memory`.
pub struct MemoryKind;

impl WorkloadKind for MemoryKind {
    fn name(&self) -> &'static str {
        NAME
    }
    fn help_line(&self) -> &'static str {
        "this machine's memory: read or write a block, word by word"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        use OptionKind::{Size, Switch};
        let spec = OptionSpec::new;
        let words = OptionKind::one_of;
        vec![
            spec("block-size", Size, "1K", "bytes that an event goes over, a power of 2")
                .with_alias("memory-block-size"),
            spec("total-size", Size, "100G", "end after so much, all workers together")
                .with_alias("memory-total-size"),
            spec("operation", words(&["write", "read", "none"]), "write", "what is done")
                .with_alias("memory-oper"),
            spec("access-mode", words(&["seq", "rnd"]), "seq", "in order, or at random")
                .with_alias("memory-access-mode"),
            spec("scope", words(&["global", "local"]), "global", "one block, or one per worker")
                .with_alias("memory-scope"),
            spec("huge-pages", Switch, "off", "take the block from the system's huge pages")
                .with_alias("memory-hugetlb"),
        ]
    }
    fn example_args(&self) -> &'static [&'static str] {
        &["--block-size=1M --time=10", "--operation=read --access-mode=rnd --threads=2"]
    }
    fn endpoint_kind(&self) -> EndpointKind {
        EndpointKind::None
    }
    fn build_workload(
        &self,
        options: &Options,
        _: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let bytes = byte_count(options, "block-size")?;
        let total = byte_count(options, "total-size")?;
        if bytes < WORD || !bytes.is_power_of_two() {
            let why = format!("{bytes} bytes is not a power of 2 from {WORD} on");
            return Err(Mistake::new("--block-size", why).hint("as in 1K or 1M").into());
        }
        if total < bytes && total > 0 {
            let why = format!("{total} bytes is less than a block");
            let hint = format!("at least the {bytes} bytes of --block-size");
            return Err(Mistake::new("--total-size", why).hint(hint).into());
        }
        let access = match (options.text("operation"), options.text("access-mode")) {
            (Some("none"), _) => MemoryAccess::Nothing,
            (Some("read"), Some("rnd")) => MemoryAccess::ReadRandom,
            (Some("read"), _) => MemoryAccess::Read,
            (_, Some("rnd")) => MemoryAccess::WriteRandom,
            _ => MemoryAccess::Write,
        };
        Ok(Box::new(MemoryWorkload {
            bytes,
            events: if total == 0 { u64::MAX } else { total / bytes },
            access,
            huge_pages: options.switch("huge-pages"),
            shared: (options.text("scope") != Some("local")).then(OnceLock::new),
        }))
    }
}

struct MemoryWorkload {
    /// Size of the block.
    bytes: u64,
    /// Of all workers.
    events: u64,
    access: MemoryAccess,
    huge_pages: bool,
    /// The block of all workers, unless each has its own.
    shared: Option<OnceLock<Result<MemoryBlock, Mistake>>>,
}

impl MemoryWorkload {
    fn new_block(&self) -> Result<MemoryBlock, Mistake> {
        MemoryBlock::new(self.bytes, self.huge_pages)
    }
}

impl Workload for MemoryWorkload {
    fn class_names(&self) -> Vec<String> {
        vec![NAME.to_owned()]
    }
    fn split_obstacle(&self) -> Option<&'static str> {
        Some("it measures the machine that it runs on")
    }
    fn counters(&self) -> &'static [CounterSpec] {
        &[CounterSpec { name: "bytes", unit: "bytes" }]
    }
    fn needs_own_threads(&self) -> bool {
        true
    }
    fn check_ready(&self, _: &Stop) -> anyhow::Result<()> {
        let Some(shared) = &self.shared else {
            self.new_block()?;
            return Ok(());
        };
        let mistake = shared.get_or_init(|| self.new_block()).as_ref().err();
        mistake.map_or(Ok(()), |mistake| Err(mistake.clone().into()))
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        let (block, own) = match &self.shared {
            Some(shared) => (
                Some(shared.get_or_init(|| self.new_block()).as_ref().map_err(Mistake::clone)?),
                None,
            ),
            None => (None, Some(self.new_block()?)),
        };
        Ok(Box::new(MemoryWorker {
            block,
            own,
            bytes: self.bytes,
            access: self.access,
            left: worker_share(self.events, part.worker, part.workers),
            rng: Rng::new(part.seed, part.worker as u64, 0),
            stop: part.abandon,
        }))
    }
}

struct MemoryWorker<'a> {
    block: Option<&'a MemoryBlock>,
    /// Where `block` is none.
    own: Option<MemoryBlock>,
    bytes: u64,
    access: MemoryAccess,
    /// Events left of its share.
    left: u64,
    rng: Rng,
    stop: Stop,
}

impl Worker for MemoryWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        Ok(())
    }
    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let block = self.block.or(self.own.as_ref()).expect("it has one or the other");
        if !block.run_pass(self.access, &mut self.rng, &self.stop) {
            return give_up_event(ClassId(0));
        }
        self.left -= 1;
        if self.access != MemoryAccess::Nothing {
            tally.counts[BYTES] += self.bytes;
        }
        EventOutcome { class: ClassId(0), error: None }
    }
    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        (self.left > 0).then_some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(given: &[(&str, &str)]) -> String {
        let given: Vec<_> =
            given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let options = Options::from_given(&MemoryKind.option_specs(), &given).unwrap();
        let built = MemoryKind.build_workload(&options, Endpoint::None);
        built.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn sizes_that_make_no_block_are_refused() {
        for (size, why) in [
            ("3K", "--block-size: 3072 bytes is not a power of 2 from 8 on"),
            ("4", "--block-size: 4 bytes is not a power of 2 from 8 on"),
            ("2x-pool", "--block-size: there is no buffer pool to be a multiple of"),
            ("8", ""),
        ] {
            assert_eq!(refusal(&[("memory-block-size", size)]), why);
        }
        let small = [("block-size", "1M"), ("total-size", "1K")];
        assert_eq!(refusal(&small), "--total-size: 1024 bytes is less than a block");
        let endless = [("total-size".to_owned(), "0".to_owned())];
        let endless = Options::from_given(&MemoryKind.option_specs(), &endless).unwrap();
        assert!(MemoryKind.build_workload(&endless, Endpoint::None).is_ok());
    }
}
