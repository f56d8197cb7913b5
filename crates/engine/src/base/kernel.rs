//! What we ask of the operating system about our own threads, process and files; where it has no such thing, nothing
//! happens.

use std::path::Path;

use super::clock::Nanos;

/// Bytes of all files below a folder.
pub fn folder_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => folder_bytes(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}

/// The name of this machine, as a server on it has it in `@@hostname`.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Cores this process may use.
pub fn core_count() -> usize {
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

/// The cores this thread may run on; all that there are where the system has no such thing.
#[cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "sched_getaffinity has no safe wrapper in our dependencies")
)]
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: the set is plain bits, for which all zeroes are valid, and the call only writes into it.
    #[cfg(target_os = "linux")]
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let size = std::mem::size_of::<libc::cpu_set_t>();
        if libc::sched_getaffinity(0, size, &raw mut set) == 0 {
            let most = usize::try_from(libc::CPU_SETSIZE).unwrap_or_default();
            return (0..most).filter(|cpu| libc::CPU_ISSET(*cpu, &set)).collect();
        }
    }
    (0..core_count()).collect()
}

/// Binds this thread to one core; says whether that worked.
#[cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "sched_setaffinity has no safe wrapper in our dependencies")
)]
pub fn pin_to(cpu: usize) -> bool {
    // SAFETY: the set is plain bits that live through the call; 0 means this thread only. CPU_SET takes numbers below
    // the size of the set.
    #[cfg(target_os = "linux")]
    unsafe {
        if cpu >= usize::try_from(libc::CPU_SETSIZE).unwrap_or_default() {
            return false;
        }
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), &raw const set) == 0
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = cpu;
        false
    }
}

/// A second on the wall clock of this machine's time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// 0 to 59; 60 in a leap second.
    pub second: u32,
    /// 0 to 59.
    pub minute: u32,
    /// 0 to 23.
    pub hour: u32,
    /// Day of the month, from 1.
    pub day: u32,
    /// From 1.
    pub month: u32,
    /// From 0 for Sunday.
    pub weekday: u32,
    /// As people count them.
    pub year: i32,
    /// How far this time zone is ahead of UTC at that moment, seconds.
    pub utc_offset_s: i64,
}

/// The local time of a time, seconds since 1970.
#[expect(unsafe_code, reason = "localtime_r has no safe wrapper in our dependencies")]
pub fn local_time(unix_s: u64) -> Option<LocalTime> {
    let time = libc::time_t::try_from(unix_s).ok()?;
    // SAFETY: both are plain numbers of ours that live through the call; the `_r` form has no state of its own but
    // the time zone, which libc guards.
    let broken = unsafe {
        let mut broken: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&raw const time, &raw mut broken).is_null() {
            return None;
        }
        broken
    };
    let field = |value: libc::c_int| u32::try_from(value).ok();
    Some(LocalTime {
        second: field(broken.tm_sec)?,
        minute: field(broken.tm_min)?,
        hour: field(broken.tm_hour)?,
        day: field(broken.tm_mday)?,
        month: field(broken.tm_mon)? + 1,
        weekday: field(broken.tm_wday)?,
        year: broken.tm_year + 1900,
        utc_offset_s: broken.tm_gmtoff,
    })
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
    fn a_thread_may_be_bound_to_a_core_that_there_is() {
        let cpus = allowed_cpus();
        std::thread::spawn(move || {
            assert!(pin_to(cpus[0]));
            assert_eq!(allowed_cpus(), [cpus[0]]);
            assert!(!pin_to(usize::MAX));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn local_times_are_times() {
        let noon = local_time(1_795_262_400).unwrap();
        assert!(noon.year == 2026 && noon.utc_offset_s.abs() <= 14 * 3600, "{noon:?}");
        assert!(noon.month == 11 && (20..=22).contains(&noon.day), "{noon:?}");
        assert_eq!(local_time(1_795_262_400 + 7 * 86_400).unwrap().weekday, noon.weekday);
    }

    #[test]
    fn cpu_time_grows_with_work() {
        let (user, system) = cpu_time();
        let mut sum = 0u64;
        // A clock of ticks moves within 10 ms; this is seconds of work.
        for _ in 0..100_000 {
            for i in 0..100_000u64 {
                sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(i));
            }
            let (later_user, later_system) = cpu_time();
            if later_user + later_system > user + system {
                return;
            }
        }
        panic!("seconds of work took no CPU time");
    }
}
