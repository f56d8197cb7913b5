//! What we ask of the operating system about our own threads and process; where it has no such thing, nothing happens.

use super::clock::Nanos;

/// Cores this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Makes this thread's sleeps end when they should: the kernel may else round them up by 50 us.
#[cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "prctl has no safe wrapper among our dependencies' features")
)]
pub fn sharpen_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one number, touches no memory of ours and concerns this thread only.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
    }
}

/// Puts this thread under the policy SCHED_BATCH: being woken no longer preempts whoever runs, so that replies
/// gather and one wake-up serves many of them. Needs no privilege. More throughput for many sessions, later single
/// events on a busy machine.
#[cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "sched_setscheduler has no safe wrapper")
)]
pub fn gather_wakeups() {
    // SAFETY: the parameter is a plain struct that lives through the call; 0 means this thread only.
    #[cfg(target_os = "linux")]
    unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = 0;
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters);
    }
}

/// CPU time this process has used so far: in user mode, and in the kernel.
#[expect(unsafe_code, reason = "getrusage has no safe wrapper")]
pub fn cpu_time() -> (Nanos, Nanos) {
    // SAFETY: rusage is plain numbers, for which all zeroes are valid, and getrusage only writes into it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let nanos = |t: libc::timeval| Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1000);
    (nanos(usage.ru_utime), nanos(usage.ru_stime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_grows_with_work() {
        let (user, system) = cpu_time();
        let mut sum = 0u64;
        loop {
            for i in 0..100_000u64 {
                sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(i));
            }
            let (later_user, later_system) = cpu_time();
            if later_user + later_system > user + system {
                break;
            }
        }
    }
}
