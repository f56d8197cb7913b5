//! Readiness for many sessions on one thread: an epoll loop that polls tasks, and the timers they wait for.
//!
//! A task is one worker's whole life as a future. A socket made on a thread that runs a reactor attaches itself to
//! the task being polled (`attach`); on any other thread `attach` gives `None`, the socket stays blocking, and its
//! futures never pend. So the same session code serves both engines.
//! Never knows: what the tasks do, sockets' protocols.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::event::epoll;

use super::clock::{Clock, Nanos, RealClock};

thread_local! {
    static CURRENT: RefCell<Option<Rc<Inner>>> = const { RefCell::new(None) };
}

struct Inner {
    epoll: OwnedFd,
    task: Cell<usize>,
    timers: RefCell<BinaryHeap<Reverse<(Nanos, usize)>>>,
}

/// A task: one worker's life.
pub type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Runs a future whose sockets all block; it never pends.
///
/// # Panics
/// If the future pends, which means that it was made for a reactor.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a blocking session's future never pends"),
    }
}

/// A file descriptor known to this thread's reactor; forgotten again when dropped.
pub struct Attachment {
    reactor: Rc<Inner>,
    fd: RawFd,
    task: usize,
    writing: bool,
}

/// Attaches a non-blocking descriptor to the task being polled; `None` where this thread runs no reactor.
///
/// # Errors
/// When the kernel refuses the registration.
pub fn attach(fd: BorrowedFd<'_>) -> io::Result<Option<Attachment>> {
    use std::os::fd::AsRawFd;
    let Some(reactor) = CURRENT.with_borrow(Clone::clone) else { return Ok(None) };
    let task = reactor.task.get();
    epoll::add(&reactor.epoll, fd, epoll::EventData::new_u64(task as u64), epoll::EventFlags::IN)?;
    Ok(Some(Attachment { reactor, fd: fd.as_raw_fd(), task, writing: false }))
}

/// Whether this thread runs a reactor.
pub fn is_running() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Asks that the task being polled is polled again at `at`, on the reactor's clock.
pub fn wake_at(at: Nanos) {
    CURRENT.with_borrow(|current| {
        let reactor = current.as_ref().expect("only a task on a reactor waits for a time");
        reactor.timers.borrow_mut().push(Reverse((at, reactor.task.get())));
    });
}

impl Attachment {
    /// Whether to be woken also when the socket can be written to.
    ///
    /// # Errors
    /// When the kernel refuses the change.
    pub fn want_write(&mut self, fd: BorrowedFd<'_>, want: bool) -> io::Result<()> {
        if want == self.writing {
            return Ok(());
        }
        let flags = if want {
            epoll::EventFlags::IN | epoll::EventFlags::OUT
        } else {
            epoll::EventFlags::IN
        };
        let data = epoll::EventData::new_u64(self.task as u64);
        epoll::modify(&self.reactor.epoll, fd, data, flags)?;
        self.writing = want;
        Ok(())
    }

    /// Forgets the descriptor before it is closed.
    pub fn detach(self, fd: BorrowedFd<'_>) {
        let _ = epoll::delete(&self.reactor.epoll, fd);
        debug_assert_eq!(self.fd, std::os::fd::AsRawFd::as_raw_fd(&fd));
    }
}

/// One thread's loop over many tasks.
pub struct Reactor {
    inner: Rc<Inner>,
    clock: RealClock,
}

impl Reactor {
    /// A reactor whose timers count on `clock`.
    ///
    /// # Errors
    /// When the kernel gives no epoll descriptor.
    pub fn new(clock: RealClock) -> io::Result<Reactor> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let inner = Inner { epoll, task: Cell::new(0), timers: RefCell::default() };
        Ok(Reactor { inner: Rc::new(inner), clock })
    }

    /// Polls the tasks until all are through or `abandoned` says so; it is asked at least every 100 ms.
    ///
    /// # Errors
    /// When waiting for readiness fails.
    pub fn run(
        &self,
        tasks: &mut [Option<Task<'_>>],
        abandoned: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        CURRENT.set(Some(self.inner.clone()));
        let result = self.turn(tasks, abandoned);
        for task in tasks.iter_mut() {
            *task = None;
        }
        CURRENT.set(None);
        result
    }

    fn turn(&self, tasks: &mut [Option<Task<'_>>], abandoned: &dyn Fn() -> bool) -> io::Result<()> {
        let mut left = 0;
        for index in 0..tasks.len() {
            left += usize::from(tasks[index].is_some());
            left -= self.poll(tasks, index);
        }
        let mut events = Vec::with_capacity(1024);
        while left > 0 && !abandoned() {
            let timeout =
                rustix::event::Timespec::try_from(std::time::Duration::from(self.patience()))
                    .expect("at most 100 ms");
            events.clear();
            let wait = epoll::wait(
                self.inner.epoll.as_fd(),
                rustix::buffer::spare_capacity(&mut events),
                Some(&timeout),
            );
            match wait {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            for event in &events {
                left -= self.poll(tasks, event.data.u64() as usize);
            }
            left -= self.fire(tasks);
        }
        Ok(())
    }

    /// How long to wait for readiness: until the next timer, at most 100 ms.
    fn patience(&self) -> Nanos {
        const MOST: Nanos = Nanos(100_000_000);
        match self.inner.timers.borrow().peek() {
            Some(Reverse((at, _))) => at.since(self.clock.now()).min(MOST),
            None => MOST,
        }
    }

    /// Polls the tasks whose time has come; gives how many are through.
    fn fire(&self, tasks: &mut [Option<Task<'_>>]) -> usize {
        if self.inner.timers.borrow().is_empty() {
            return 0;
        }
        let now = self.clock.now();
        let mut through = 0;
        loop {
            let due = match self.inner.timers.borrow().peek() {
                Some(Reverse((at, task))) if *at <= now => *task,
                _ => return through,
            };
            self.inner.timers.borrow_mut().pop();
            through += self.poll(tasks, due);
        }
    }

    /// Polls one task; gives 1 if that ended it.
    fn poll(&self, tasks: &mut [Option<Task<'_>>], index: usize) -> usize {
        let Some(task) = &mut tasks[index] else { return 0 };
        self.inner.task.set(index);
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            return 0;
        }
        tasks[index] = None;
        1
    }
}
