//! Carries out requests: by calls, through a queue, or in mapped pages.

use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::Ordering;

use super::files::TestFile;
use super::pattern::{BlockSource, PageBuffer};
use super::queue::{EndedRequest, RequestQueue};
use super::requests::{FileAction, FileRequest, RequestStream};
use super::{BYTES_READ, BYTES_WRITTEN, FileWorkload};
use crate::base::{Nanos, Stop};
use crate::recorder::{
    ClassId, EventError, EventErrorKind, EventOutcome, EventRecord, StepId, StepLatency, Tally,
};
use crate::workload::local::give_up_event;
use crate::workload::{OpenError, Worker};

/// One worker.
pub(super) struct FileWorker<'a> {
    pub(super) load: &'a FileWorkload,
    pub(super) files: &'a [TestFile],
    pub(super) stream: RequestStream<'a>,
    pub(super) source: BlockSource,
    /// What is read goes here.
    pub(super) buffer: PageBuffer,
    pub(super) queue: Option<RequestQueue>,
    /// Requests of the queue that ended within the last event.
    pub(super) ended: Vec<EndedRequest>,
    pub(super) steps: Vec<StepLatency>,
    /// When the event began.
    pub(super) now: Nanos,
    pub(super) error_text: String,
    pub(super) stop: Stop,
}

/// Why a request did not end well.
enum RequestFailure {
    /// The load is over.
    GivenUp,
    System {
        doing: FileAction,
        file: usize,
        error: io::Error,
    },
}

impl FileWorker<'_> {
    fn run_request(
        &mut self,
        request: FileRequest,
        tally: &mut Tally,
    ) -> Result<(), RequestFailure> {
        let FileRequest { action, file, .. } = request;
        if self.queue.is_none() {
            self.run_directly(request).map_err(|error| system_failure(action, file, error))?;
            count_bytes(&request, tally);
            return Ok(());
        }
        if action == FileAction::Sync {
            self.drain_queue(tally)?;
            return self.sync_file(file).map_err(|error| system_failure(action, file, error));
        }
        while self.queue.as_ref().is_some_and(RequestQueue::is_full) {
            self.take_ended(tally)?;
        }
        let Some(queue) = &mut self.queue else { return Ok(()) };
        queue
            .submit_request(&self.files[file], request, self.now)
            .map_err(|error| system_failure(action, file, error))
    }

    fn run_directly(&mut self, request: FileRequest) -> io::Result<()> {
        let FileRequest { action, file, offset, bytes } = request;
        let TestFile { file: open, mapping, .. } = &self.files[file];
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        match (action, mapping) {
            (FileAction::Sync, _) => self.sync_file(file)?,
            (FileAction::Read, None) => {
                open.read_exact_at(&mut self.buffer.as_mut_slice()[..bytes], offset)?;
            }
            (FileAction::Write, None) => {
                open.write_all_at(self.source.next_block(bytes), offset)?;
            }
            (FileAction::Read, Some(pages)) => {
                pages.read_at(at, &mut self.buffer.as_mut_slice()[..bytes]);
            }
            (FileAction::Write, Some(pages)) => pages.write_at(at, self.source.next_block(bytes)),
        }
        Ok(())
    }

    fn sync_file(&self, file: usize) -> io::Result<()> {
        let TestFile { file, mapping, .. } = &self.files[file];
        match mapping {
            Some(pages) => pages.flush(),
            None if self.load.options.sync.data_only => file.sync_data(),
            None => file.sync_all(),
        }
    }

    /// Waits until something has ended.
    fn take_ended(&mut self, tally: &mut Tally) -> Result<(), RequestFailure> {
        let Some(queue) = &mut self.queue else { return Ok(()) };
        let first = self.ended.len();
        while self.ended.len() == first {
            if self.stop.is_set() {
                return Err(RequestFailure::GivenUp);
            }
            match queue.take_ended(true, &mut self.ended) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    return Err(system_failure(FileAction::Sync, 0, error));
                }
                _ => {}
            }
        }
        let mut failure = Ok(());
        for ended in &mut self.ended[first..] {
            let FileRequest { action, file, .. } = ended.request;
            match &mut ended.result {
                Ok(()) => count_bytes(&ended.request, tally),
                Err(error) => {
                    let error = std::mem::replace(error, io::ErrorKind::Other.into());
                    failure = Err(system_failure(action, file, error));
                }
            }
        }
        failure
    }

    fn drain_queue(&mut self, tally: &mut Tally) -> Result<(), RequestFailure> {
        while self.queue.as_ref().is_some_and(|queue| !queue.is_empty()) {
            self.take_ended(tally)?;
        }
        Ok(())
    }

    /// Keeps the text of an error; gives what the recorder counts.
    fn note_failure(&mut self, doing: FileAction, file: usize, error: &io::Error) -> EventError {
        let verb = match doing {
            FileAction::Read => "read",
            FileAction::Write => "write",
            FileAction::Sync => "synchronize",
        };
        let path = self.files.get(file).map(|file| file.path.display().to_string());
        self.error_text = format!("{verb} {}: {error}", path.unwrap_or_default());
        let code = error.raw_os_error().and_then(|code| u16::try_from(code).ok()).unwrap_or(0);
        EventError { kind: EventErrorKind::Server, code }
    }
}

fn system_failure(doing: FileAction, file: usize, error: io::Error) -> RequestFailure {
    RequestFailure::System { doing, file, error }
}

fn count_bytes(request: &FileRequest, tally: &mut Tally) {
    match request.action {
        FileAction::Read => tally.counts[BYTES_READ] += request.bytes as u64,
        FileAction::Write => tally.counts[BYTES_WRITTEN] += request.bytes as u64,
        FileAction::Sync => {}
    }
}

/// The class of an event, and the step of a queued request.
fn action_index(action: FileAction) -> u16 {
    match action {
        FileAction::Read => 0,
        FileAction::Write => 1,
        FileAction::Sync => 2,
    }
}

impl Worker for FileWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        self.load.running.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        self.ended.clear();
        let request = self.stream.next_request();
        let class = ClassId(action_index(request.action));
        let error = match self.run_request(request, tally) {
            Ok(()) => None,
            Err(RequestFailure::GivenUp) => return give_up_event(class),
            Err(RequestFailure::System { doing, file, error }) => {
                Some(self.note_failure(doing, file, &error))
            }
        };
        EventOutcome { class, error }
    }

    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        self.now = now;
        Some(now)
    }

    fn note_record(&mut self, record: &EventRecord) {
        self.steps.clear();
        self.steps.extend(self.ended.iter().map(|ended| StepLatency {
            step: StepId(action_index(ended.request.action)),
            time: record.ended.since(ended.started),
            failed: ended.result.is_err(),
        }));
    }

    fn step_latencies(&self) -> &[StepLatency] {
        &self.steps
    }

    fn error_text(&self) -> &str {
        &self.error_text
    }

    async fn close(&mut self) {
        // What is under way ends first.
        self.queue = None;
        let options = &self.load.options;
        let last = self.load.running.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && options.sync.at_end && options.mode.writes() {
            for file in 0..self.files.len() {
                let _ = self.sync_file(file);
            }
        }
    }
}
