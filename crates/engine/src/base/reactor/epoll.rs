//! The loop itself, on Linux.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

use rustix::event::{EventfdFlags, epoll, eventfd};

use super::WorkerTask;
use super::wait::ReadyEvents;
use crate::base::clock::{Clock, Nanos, RealClock, SPIN};

thread_local! {
    static CURRENT: RefCell<Option<Rc<ReactorState>>> = const { RefCell::new(None) };
}

/// What the loop's own bell says in place of a task's number.
const BELL: u64 = u64::MAX;

/// What other threads may touch.
struct WakeQueue {
    /// Rung when the list of called tasks is no longer empty.
    bell: OwnedFd,
    called: Mutex<Vec<usize>>,
}

/// Wakes one task, from any thread.
struct TaskWaker {
    door: Arc<WakeQueue>,
    task: usize,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let is_here = CURRENT.with_borrow(|current| match current {
            Some(inner) if Arc::ptr_eq(&inner.door, &self.door) => {
                inner.woken.borrow_mut().push(self.task);
                true
            }
            _ => false,
        });
        if is_here {
            return;
        }
        let mut called = self.door.called.lock().unwrap_or_else(PoisonError::into_inner);
        called.push(self.task);
        if called.len() == 1 {
            // It fails only when it was rung 2^64 times and never heard.
            let _ = rustix::io::write(&self.door.bell, &1u64.to_ne_bytes());
        }
    }
}

struct ReactorState {
    epoll: OwnedFd,
    door: Arc<WakeQueue>,
    clock: RealClock,
    task: Cell<usize>,
    timers: RefCell<TaskTimers>,
    woken: RefCell<Vec<usize>>,
}

/// Times that tasks wait for. Each task has one that counts, its earliest; others in the heap are outdated.
#[derive(Default)]
pub(super) struct TaskTimers {
    heap: BinaryHeap<Reverse<(Nanos, usize)>>,
    earliest: Vec<Option<Nanos>>,
}

impl TaskTimers {
    pub(super) fn add_timer(&mut self, at: Nanos, task: usize) {
        if self.earliest.len() <= task {
            self.earliest.resize(task + 1, None);
        }
        if self.earliest[task].is_none_or(|earliest| at < earliest) {
            self.earliest[task] = Some(at);
            self.heap.push(Reverse((at, task)));
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    fn next_due(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Moves the tasks whose time has come to `due`.
    fn take_due(&mut self, now: Nanos, due: &mut Vec<usize>) {
        while let Some(Reverse((at, task))) = self.heap.peek().copied() {
            if at > now {
                return;
            }
            self.heap.pop();
            if self.earliest[task] == Some(at) {
                self.earliest[task] = None;
                due.push(task);
            }
        }
    }
}

/// A file descriptor known to this thread's reactor; to be forgotten before it is closed.
pub struct FdRegistration {
    reactor: Rc<ReactorState>,
    fd: RawFd,
    task: usize,
    writing: bool,
}

/// Attaches a non-blocking descriptor to the task being polled; `None` where this thread runs no reactor.
///
/// # Errors
/// When the kernel refuses the registration.
pub fn attach_fd(fd: BorrowedFd<'_>) -> io::Result<Option<FdRegistration>> {
    let Some(reactor) = CURRENT.with_borrow(Clone::clone) else { return Ok(None) };
    let task = reactor.task.get();
    epoll::add(&reactor.epoll, fd, epoll::EventData::new_u64(task as u64), interest_flags(false))?;
    Ok(Some(FdRegistration { reactor, fd: fd.as_raw_fd(), task, writing: false }))
}

fn interest_flags(writing: bool) -> epoll::EventFlags {
    let reading = epoll::EventFlags::IN | epoll::EventFlags::ET;
    if writing { reading | epoll::EventFlags::OUT } else { reading }
}

/// Whether this thread runs a reactor.
pub fn is_running() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

fn with_current<T>(what: impl FnOnce(&ReactorState) -> T) -> T {
    CURRENT.with_borrow(|current| what(current.as_ref().expect("only tasks of a reactor ask this")))
}

/// Asks that the task being polled is polled again at `at`, on the reactor's clock.
///
/// # Panics
/// On a thread that runs no reactor.
pub fn wake_at(at: Nanos) {
    with_current(|inner| inner.timers.borrow_mut().add_timer(at, inner.task.get()));
}

/// Asks that the task being polled is polled again after `delay`.
///
/// # Panics
/// On a thread that runs no reactor.
pub fn wake_in(delay: Nanos) {
    with_current(|inner| {
        inner.timers.borrow_mut().add_timer(inner.clock.now() + delay, inner.task.get())
    });
}

/// The task being polled, for [`wake_task`].
///
/// # Panics
/// On a thread that runs no reactor.
pub fn current_task() -> usize {
    with_current(|inner| inner.task.get())
}

/// Asks that a task of this thread's reactor is polled soon; nothing happens if it is through, or if the reactor is
/// going down.
pub fn wake_task(task: usize) {
    CURRENT.with_borrow(|current| {
        if let Some(inner) = current {
            inner.woken.borrow_mut().push(task);
        }
    });
}

impl FdRegistration {
    /// Whether to be woken also when the socket can be written to.
    ///
    /// # Errors
    /// When the kernel refuses the change.
    pub fn want_write(&mut self, fd: BorrowedFd<'_>, want: bool) -> io::Result<()> {
        if want == self.writing {
            return Ok(());
        }
        let data = epoll::EventData::new_u64(self.task as u64);
        epoll::modify(&self.reactor.epoll, fd, data, interest_flags(want))?;
        self.writing = want;
        Ok(())
    }

    /// Has the descriptor wake another task of this reactor from now on; at once if it is ready.
    ///
    /// # Errors
    /// When the kernel refuses the change.
    pub fn move_to_task(&mut self, fd: BorrowedFd<'_>, task: usize) -> io::Result<()> {
        let data = epoll::EventData::new_u64(task as u64);
        epoll::modify(&self.reactor.epoll, fd, data, interest_flags(self.writing))?;
        self.task = task;
        Ok(())
    }

    /// Forgets the descriptor before it is closed.
    pub fn detach_fd(self, fd: BorrowedFd<'_>) {
        debug_assert_eq!(self.fd, fd.as_raw_fd());
        let _ = epoll::delete(&self.reactor.epoll, fd);
    }
}

/// One thread's loop over many tasks.
pub struct Reactor {
    inner: Rc<ReactorState>,
    clock: RealClock,
    precise: bool,
}

/// Takes the reactor off its thread again, however its loop ends.
struct ReactorGuard;

impl Drop for ReactorGuard {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

impl Reactor {
    /// A reactor whose timers count on `clock`. `precise`: it doesn't sleep through the last moment before a time.
    ///
    /// # Errors
    /// When the kernel gives no epoll descriptor.
    pub fn new(clock: RealClock, precise: bool) -> io::Result<Reactor> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &bell, epoll::EventData::new_u64(BELL), interest_flags(false))?;
        let inner = ReactorState {
            epoll,
            door: Arc::new(WakeQueue { bell, called: Mutex::default() }),
            clock,
            task: Cell::new(0),
            timers: RefCell::default(),
            woken: RefCell::default(),
        };
        Ok(Reactor { inner: Rc::new(inner), clock, precise })
    }

    /// Polls the tasks until all are through or `abandoned` says so; it is asked at least every 100 ms.
    ///
    /// # Errors
    /// When waiting for readiness fails.
    pub fn run(
        &self,
        tasks: &mut [Option<WorkerTask<'_>>],
        abandoned: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        let running = ReactorGuard;
        CURRENT.set(Some(self.inner.clone()));
        let result = self.run_loop(tasks, abandoned);
        for task in tasks.iter_mut() {
            *task = None;
        }
        drop(running);
        result
    }

    fn run_loop(
        &self,
        tasks: &mut [Option<WorkerTask<'_>>],
        abandoned: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        let call = |task| Waker::from(Arc::new(TaskWaker { door: self.inner.door.clone(), task }));
        let wakers: Vec<Waker> = (0..tasks.len()).map(call).collect();
        let mut left = tasks.iter().flatten().count();
        for index in 0..tasks.len() {
            left -= self.poll_task(tasks, &wakers, index);
        }
        let mut found = ReadyEvents::new();
        let mut due = Vec::with_capacity(tasks.len());
        while left > 0 && !abandoned() {
            for index in found.wait_ready(&self.inner.epoll, self.wait_timeout())? {
                if index == BELL as usize {
                    self.drain_wake_queue(&mut due);
                } else {
                    left -= self.poll_task(tasks, &wakers, index);
                }
            }
            // What is woken or falls due while these are polled waits for the next turn: sockets get theirs too.
            if self.inner.timers.borrow().next_due().is_some() {
                self.inner.timers.borrow_mut().take_due(self.clock.now(), &mut due);
            }
            due.append(&mut self.inner.woken.borrow_mut());
            for index in due.drain(..) {
                left -= self.poll_task(tasks, &wakers, index);
            }
        }
        Ok(())
    }

    /// Hears which tasks other threads have called.
    fn drain_wake_queue(&self, due: &mut Vec<usize>) {
        // Silent first: whoever calls after the list was taken rings again.
        let _ = rustix::io::read(&self.inner.door.bell, &mut [0; 8]);
        due.append(&mut self.inner.door.called.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// How long to wait for readiness: until the next timer, at most 100 ms, not at all if a task was woken.
    fn wait_timeout(&self) -> Nanos {
        const MOST: Nanos = Nanos(100_000_000);
        if !self.inner.woken.borrow().is_empty() {
            return Nanos(0);
        }
        let Some(at) = self.inner.timers.borrow().next_due() else { return MOST };
        let wait = at.since(self.clock.now());
        if self.precise { (wait - SPIN).min(MOST) } else { wait.min(MOST) }
    }

    /// Polls one task; gives 1 if that ended it.
    fn poll_task(
        &self,
        tasks: &mut [Option<WorkerTask<'_>>],
        wakers: &[Waker],
        index: usize,
    ) -> usize {
        let Some(task) = tasks.get_mut(index).and_then(Option::as_mut) else { return 0 };
        self.inner.task.set(index);
        if task.as_mut().poll(&mut Context::from_waker(&wakers[index])).is_pending() {
            return 0;
        }
        tasks[index] = None;
        1
    }
}
