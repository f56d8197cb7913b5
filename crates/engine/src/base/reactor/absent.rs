//! Where there is no epoll: nothing ever attaches, and a reactor can't be made.

use std::io;
use std::os::fd::BorrowedFd;

use super::WorkerTask;
use crate::base::clock::{Nanos, RealClock};

/// Never made here.
pub enum FdRegistration {}

impl FdRegistration {
    /// Never called here.
    ///
    /// # Errors
    /// Never.
    pub fn want_write(&mut self, _fd: BorrowedFd<'_>, _want: bool) -> io::Result<()> {
        match *self {}
    }

    /// Never called here.
    ///
    /// # Errors
    /// Never.
    pub fn move_to_task(&mut self, _fd: BorrowedFd<'_>, _task: usize) -> io::Result<()> {
        match *self {}
    }

    /// Never called here.
    pub fn detach_fd(self, _fd: BorrowedFd<'_>) {
        match self {}
    }
}

/// Always `None`: the socket stays blocking.
///
/// # Errors
/// Never.
pub fn attach_fd(_fd: BorrowedFd<'_>) -> io::Result<Option<FdRegistration>> {
    Ok(None)
}

/// Always false.
pub fn is_running() -> bool {
    false
}

/// Never called here: no task runs.
pub fn current_task() -> usize {
    unreachable!("no task runs without a reactor")
}

/// Never called here: no task runs.
pub fn wake_task(_task: usize) {}

/// Never called here: no task runs.
pub fn wake_at(_at: Nanos) {}

/// Never called here: no task runs.
pub fn wake_in(_delay: Nanos) {}

/// Never made here.
pub enum Reactor {}

impl Reactor {
    /// Always fails.
    ///
    /// # Errors
    /// Always: it needs Linux.
    pub fn new(_clock: RealClock, _precise: bool) -> io::Result<Reactor> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "the reactor engine needs Linux"))
    }

    /// Never called here.
    ///
    /// # Errors
    /// Never.
    pub fn run(
        &self,
        _tasks: &mut [Option<WorkerTask<'_>>],
        _abandoned: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        match *self {}
    }
}
