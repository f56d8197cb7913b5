//! The kernel's own queue of requests for files: Linux's `io_submit`, which sysbench uses, too, and which containers allow
//! where they refuse io_uring.

use std::io;
use std::os::fd::AsRawFd as _;

use super::files::TestFile;
use super::pattern::{PageBuffer, stamp_pages};
use super::requests::{FileAction, FileRequest};
use crate::base::Nanos;
use crate::base::random::Rng;

/// How long one wait lasts at most: whoever waits looks whether it shall go on.
const WAIT_NS: libc::c_long = 50_000_000;
const READ: u16 = 0;
const WRITE: u16 = 1;

/// A request as the kernel takes it: `struct iocb`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct ControlBlock {
    data: u64,
    key_and_flags: u64,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    more_flags: u32,
    result_file: u32,
}

/// The end of a request as the kernel gives it: `struct io_event`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct CompletionEvent {
    data: u64,
    control: u64,
    result: i64,
    more: i64,
}

/// A request that has ended.
pub(super) struct EndedRequest {
    pub(super) request: FileRequest,
    /// When it was given to the kernel.
    pub(super) started: Nanos,
    pub(super) result: io::Result<()>,
}

struct QueueSlot {
    buffer: PageBuffer,
    request: Option<(FileRequest, Nanos)>,
}

/// The requests of one worker that are under way.
pub(super) struct RequestQueue {
    context: u64,
    slots: Vec<QueueSlot>,
    free: Vec<usize>,
    events: Vec<CompletionEvent>,
    stamp: u64,
    zeros: bool,
}

impl RequestQueue {
    /// Room for so many requests of at most so many bytes.
    ///
    /// # Errors
    /// When the kernel has no such queue left.
    pub(super) fn new(
        depth: usize,
        most: usize,
        zeros: bool,
        rng: &mut Rng,
    ) -> io::Result<RequestQueue> {
        let mut context = 0_u64;
        call_kernel(Call::Setup { depth, context: &mut context })?;
        let slots = (0..depth).map(|_| {
            let mut buffer = PageBuffer::new(most);
            if !zeros {
                rng.fill_bytes(buffer.as_mut_slice());
            }
            QueueSlot { buffer, request: None }
        });
        Ok(RequestQueue {
            context,
            slots: slots.collect(),
            free: (0..depth).collect(),
            events: vec![CompletionEvent::default(); depth],
            stamp: rng.next_u64(),
            zeros,
        })
    }

    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Gives a request to the kernel; there must be room.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(super) fn submit_request(
        &mut self,
        file: &TestFile,
        request: FileRequest,
        now: Nanos,
    ) -> io::Result<()> {
        let slot = *self.free.last().expect("whoever submits has made room");
        let QueueSlot { buffer, request: under_way } = &mut self.slots[slot];
        let buffer = &mut buffer.as_mut_slice()[..request.bytes];
        if request.action == FileAction::Write && !self.zeros {
            stamp_pages(buffer, &mut self.stamp);
        }
        let control = ControlBlock {
            data: slot as u64,
            opcode: if request.action == FileAction::Read { READ } else { WRITE },
            file: file.file.as_raw_fd().unsigned_abs(),
            buffer: buffer.as_mut_ptr() as u64,
            bytes: request.bytes as u64,
            offset: request.offset as i64,
            ..ControlBlock::default()
        };
        call_kernel(Call::Submit { context: self.context, control: &control })?;
        *under_way = Some((request, now));
        self.free.pop();
        Ok(())
    }

    /// Takes what has ended; waits a while for the first if told to.
    ///
    /// # Errors
    /// When the kernel can't be asked.
    pub(super) fn take_ended(
        &mut self,
        wait: bool,
        ended: &mut Vec<EndedRequest>,
    ) -> io::Result<()> {
        let least = usize::from(wait);
        let (context, events) = (self.context, &mut self.events[..]);
        let count = call_kernel(Call::Take { context, least, events })?;
        for event in &self.events[..count.min(self.events.len())] {
            let slot = usize::try_from(event.data).unwrap_or(usize::MAX);
            let Some((request, started)) =
                self.slots.get_mut(slot).and_then(|slot| slot.request.take())
            else {
                continue;
            };
            self.free.push(slot);
            let result = match event.result {
                failed @ ..0 => Err(io::Error::from_raw_os_error(-failed as i32)),
                done if done as u64 == request.bytes as u64 => Ok(()),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            };
            ended.push(EndedRequest { request, started, result });
        }
        Ok(())
    }
}

impl Drop for RequestQueue {
    fn drop(&mut self) {
        // Waits for what is under way, so that no buffer is freed that the kernel still uses. If it can't, they are kept.
        if call_kernel(Call::Destroy { context: self.context }).is_err() {
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }
}

/// The four calls.
enum Call<'a> {
    Setup { depth: usize, context: &'a mut u64 },
    Submit { context: u64, control: &'a ControlBlock },
    Take { context: u64, least: usize, events: &'a mut [CompletionEvent] },
    Destroy { context: u64 },
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "neither std nor rustix has these calls")]
fn call_kernel(call: Call<'_>) -> io::Result<usize> {
    let wait = libc::timespec { tv_sec: 0, tv_nsec: WAIT_NS };
    // SAFETY: all that is pointed to lives through the call, in the kernel's layouts and of the lengths given. Buffers of
    // requests lie in the slots of the queue, which outlive the queue's context.
    let done = unsafe {
        match call {
            Call::Setup { depth, context } => {
                libc::syscall(libc::SYS_io_setup, depth, std::ptr::from_mut(context))
            }
            Call::Submit { context, control } => {
                let list = [std::ptr::from_ref(control)];
                libc::syscall(libc::SYS_io_submit, context, 1_usize, list.as_ptr())
            }
            Call::Take { context, least, events } => libc::syscall(
                libc::SYS_io_getevents,
                context,
                least,
                events.len(),
                events.as_mut_ptr(),
                &raw const wait,
            ),
            Call::Destroy { context } => libc::syscall(libc::SYS_io_destroy, context),
        }
    };
    usize::try_from(done).map_err(|_| io::Error::last_os_error())
}

#[cfg(not(target_os = "linux"))]
fn call_kernel(_: Call<'_>) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}
