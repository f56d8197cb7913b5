//! Waiting for readiness with a timeout in nanoseconds: epoll_pwait2 where the kernel has it (5.11), else rounded up
//! to milliseconds. The crate rustix always rounds up, which would make every event of an open loop half a
//! millisecond late.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::base::clock::Nanos;

/// Events fetched at once.
const AT_ONCE: usize = 1024;

/// The kernel's own layout, on 32-bit machines too.
#[repr(C)]
struct KernelTimespec {
    seconds: i64,
    nanoseconds: i64,
}

/// What the last wait found.
pub(super) struct ReadyEvents {
    events: Vec<libc::epoll_event>,
    fine: bool,
}

impl ReadyEvents {
    pub(super) fn new() -> ReadyEvents {
        ReadyEvents { events: Vec::with_capacity(AT_ONCE), fine: true }
    }

    /// Waits until something is ready or the time is over, and gives the numbers of what is ready.
    ///
    /// # Errors
    /// When the kernel refuses; not when a signal interrupts, then nothing is ready.
    pub(super) fn wait_ready(
        &mut self,
        epoll: &OwnedFd,
        timeout: Nanos,
    ) -> io::Result<impl Iterator<Item = usize>> {
        self.events.clear();
        let mut count = self.call_epoll(epoll, timeout);
        if count < 0 && self.fine && is_last_errno(libc::ENOSYS) {
            self.fine = false;
            count = self.call_epoll(epoll, timeout);
        }
        let count = match usize::try_from(count) {
            Ok(count) => count,
            Err(_) if is_last_errno(libc::EINTR) => 0,
            Err(_) => return Err(io::Error::last_os_error()),
        };
        self.set_event_count(count);
        Ok(self.events.iter().map(|event| event.u64 as usize))
    }

    #[expect(unsafe_code, reason = "rustix offers no timeout finer than a millisecond")]
    fn call_epoll(&mut self, epoll: &OwnedFd, timeout: Nanos) -> libc::c_long {
        let (epoll, events) = (epoll.as_raw_fd(), self.events.as_mut_ptr());
        let at_most = AT_ONCE as libc::c_int;
        if self.fine {
            let timeout = KernelTimespec {
                seconds: (timeout.0 / 1_000_000_000) as i64,
                nanoseconds: (timeout.0 % 1_000_000_000) as i64,
            };
            let no_mask = std::ptr::null::<libc::sigset_t>();
            // SAFETY: `epoll` is open, `events` has room for AT_ONCE events, `timeout` has the kernel's layout and
            // lives through the call, and no signal mask is given.
            unsafe {
                libc::syscall(
                    libc::SYS_epoll_pwait2,
                    epoll,
                    events,
                    at_most,
                    &raw const timeout,
                    no_mask,
                    0usize,
                )
            }
        } else {
            let timeout = timeout.0.div_ceil(1_000_000).min(i32::MAX as u64) as libc::c_int;
            // SAFETY: `epoll` is open and `events` has room for AT_ONCE events.
            unsafe { libc::epoll_wait(epoll, events, at_most, timeout) as libc::c_long }
        }
    }

    #[expect(unsafe_code, reason = "the kernel has written so many events into the spare room")]
    fn set_event_count(&mut self, count: usize) {
        debug_assert!(count <= AT_ONCE);
        // SAFETY: the capacity is AT_ONCE, the kernel gives at most so many, and has written `count` of them.
        unsafe { self.events.set_len(count) }
    }
}

fn is_last_errno(errno: i32) -> bool {
    io::Error::last_os_error().raw_os_error() == Some(errno)
}

#[cfg(test)]
mod tests {
    use rustix::event::epoll;

    use super::*;
    use crate::base::clock::{Clock, RealClock};

    #[test]
    fn a_wait_lasts_as_long_as_asked_in_both_ways() {
        let clock = RealClock::start_now();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        for fine in [true, false] {
            let mut found = ReadyEvents { fine, ..ReadyEvents::new() };
            let waited = |found: &mut ReadyEvents| {
                let began = clock.now();
                assert_eq!(found.wait_ready(&epoll, Nanos(200_000)).unwrap().count(), 0);
                clock.now().since(began).0
            };
            let shortest = (0..20).map(|_| waited(&mut found)).min().unwrap();
            assert!(shortest >= 200_000);
            if fine && found.fine {
                assert!(shortest < 900_000, "{shortest} ns");
            }
        }
    }

    #[test]
    fn a_wait_on_nothing_fails() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(ReadyEvents::new().wait_ready(&file.into(), Nanos(0)).is_err());
    }
}
