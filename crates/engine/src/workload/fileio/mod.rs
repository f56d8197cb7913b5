//! Reads and writes files: each event is one request, as in sysbench's test `fileio`.

mod files;
mod options;
mod pattern;
mod queue;
mod requests;
mod worker;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use files::TestFile;
use options::{FileAccess, FileOptions};
use pattern::{BlockSource, PageBuffer};
use queue::RequestQueue;
use requests::RequestStream;
use worker::FileWorker;

use crate::base::random::Rng;
use crate::base::{Nanos, Stop};
use crate::plan::{OptionSpec, Options};
use crate::recorder::CounterSpec;
use crate::workload::{
    BoxedWorker, DataJob, Endpoint, EndpointKind, WorkerContext, Workload, WorkloadKind,
};

/// Bytes read.
const BYTES_READ: usize = 0;
/// Bytes written.
const BYTES_WRITTEN: usize = 1;

/// The kind `fileio`.
pub struct FileIoKind;

impl WorkloadKind for FileIoKind {
    fn name(&self) -> &'static str {
        "fileio"
    }
    fn help_line(&self) -> &'static str {
        "this machine's files: read, write and fsync them"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        options::option_specs()
    }
    fn example_args(&self) -> &'static [&'static str] {
        &[
            "prepare --dir=/data/test --total-size=1G",
            "--dir=/data/test --total-size=1G --mode=rndrw --threads=4",
            "cleanup --dir=/data/test",
        ]
    }
    fn endpoint_kind(&self) -> EndpointKind {
        EndpointKind::None
    }
    fn build_workload(
        &self,
        options: &Options,
        _: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        Ok(Box::new(FileWorkload {
            options: FileOptions::from_options(options)?,
            files: OnceLock::new(),
            sequence: AtomicU64::new(0),
            running: AtomicUsize::new(0),
        }))
    }
}

struct FileWorkload {
    options: FileOptions,
    /// Open, or why not.
    files: OnceLock<Result<Vec<TestFile>, String>>,
    /// Sequential requests made by all workers.
    sequence: AtomicU64,
    /// Workers that are not through.
    running: AtomicUsize,
}

impl FileWorkload {
    fn open_files(&self) -> anyhow::Result<&[TestFile]> {
        let open = || files::open_files(&self.options).map_err(|error| format!("{error:#}"));
        let files = self.files.get_or_init(open).as_ref();
        files.map(Vec::as_slice).map_err(|why| anyhow::anyhow!("{why}"))
    }
}

impl Workload for FileWorkload {
    fn class_names(&self) -> Vec<String> {
        ["read", "write", "fsync"].map(str::to_owned).to_vec()
    }
    fn split_obstacle(&self) -> Option<&'static str> {
        Some("it measures the machine that it runs on")
    }
    fn counters(&self) -> &'static [CounterSpec] {
        &[
            CounterSpec { name: "bytes_read", unit: "bytes" },
            CounterSpec { name: "bytes_written", unit: "bytes" },
        ]
    }
    fn step_names(&self) -> Vec<String> {
        let queued = matches!(self.options.access, FileAccess::Queue { .. });
        let names: &[&str] = if queued { &["queued read", "queued write"] } else { &[] };
        names.iter().map(|name| (*name).to_owned()).collect()
    }
    fn needs_own_threads(&self) -> bool {
        true
    }
    fn check_ready(&self, _: &Stop) -> anyhow::Result<()> {
        files::check_files(&self.options)?;
        self.open_files().map(|_| ())
    }
    fn prepare_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        files::prepare_files(&self.options, job)
    }
    fn cleanup_data(&self, _: &mut DataJob<'_>) -> anyhow::Result<()> {
        files::remove_files(&self.options)
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        let FileOptions { block, merged, zeros, file_bytes, access, .. } = &self.options;
        let most = usize::try_from(block.saturating_mul(*merged).min(*file_bytes))?;
        let [requests, data, mut queued] =
            [0, 1, 2].map(|stream| Rng::new(part.seed, part.worker as u64, stream));
        let queue = match access {
            FileAccess::Queue { depth } => {
                let depth = usize::try_from(*depth)?;
                let queue = RequestQueue::new(depth, most, *zeros, &mut queued);
                Some(queue.map_err(|error| {
                    anyhow::anyhow!(
                        "the system has no queue for {depth} requests: {error}\nhint: a smaller \
                         --queue-depth, fewer --threads, or more as root: sysctl fs.aio-max-nr"
                    )
                })?)
            }
            FileAccess::Calls | FileAccess::Pages => None,
        };
        Ok(Box::new(FileWorker {
            load: self,
            files: self.open_files()?,
            stream: RequestStream::new(&self.options, &self.sequence, requests),
            source: BlockSource::new(most, *zeros, data),
            buffer: PageBuffer::new(most),
            queue,
            ended: Vec::new(),
            steps: Vec::new(),
            now: Nanos(0),
            error_text: String::new(),
            stop: part.abandon,
        }))
    }
}
