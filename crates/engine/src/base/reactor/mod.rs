//! Readiness for many sessions on one thread: an epoll loop that polls tasks, and the timers they wait for.
//!
//! A task is one worker's whole life as a future. A socket made on a thread that runs a reactor attaches itself to
//! the task being polled (`attach`); on any other thread `attach` gives `None`, the socket stays blocking, and its
//! futures never pend. So the same session code serves both engines.
//!
//! Readiness is told once per change (edge-triggered): a session tries to read or write first and pends only when
//! the kernel has nothing more. Whoever waits for a time asks again each time it pends; of several times a task has
//! asked for, the earliest counts. A task may be polled without reason at any time.
//!
//! What happens on other threads wakes a task by the waker it was polled with, from anywhere.
//!
//! Only Linux has epoll; elsewhere a reactor can't be made and only the engine `threads` runs.
//! Never knows: what the tasks do, sockets' protocols.

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod epoll;
#[cfg(all(test, target_os = "linux"))]
mod tests;
#[cfg(target_os = "linux")]
mod wait;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

#[cfg(not(target_os = "linux"))]
pub use absent::{
    FdRegistration, Reactor, attach_fd, current_task, is_running, wake_at, wake_in, wake_task,
};
#[cfg(target_os = "linux")]
pub use epoll::{
    FdRegistration, Reactor, attach_fd, current_task, is_running, wake_at, wake_in, wake_task,
};

/// A task: one worker's life.
pub type WorkerTask<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// How long a blocked thread waits at most before it polls again unasked.
const LOOK: Duration = Duration::from_millis(20);

/// Wakes a thread that is parked.
struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread. Sockets made here block, so that those futures never pend; one that waits for another
/// thread parks this one until its waker is used, and is polled now and then without that.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return output;
    }
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park_timeout(LOOK);
    }
}
