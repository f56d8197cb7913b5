//! What the looks of a sampler cost the server: the CPU time of the thread that answers its session, where both run on
//! this machine and the server says which thread that is.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::parse::parse_schedstat;
use crate::base::Nanos;
use crate::client::{Feature, Session};

/// The sum over all sessions so far; copies share it.
#[derive(Clone, Debug, Default)]
pub(in crate::probe) struct ThreadCpu {
    /// Nanoseconds and 1, so that 0 is "not known".
    sum: Arc<AtomicU64>,
    /// Of the thread that is followed.
    schedstat: Option<PathBuf>,
    counted: f64,
}

impl ThreadCpu {
    /// What was counted so far; `None` where no thread could be seen.
    pub(in crate::probe) fn total(&self) -> Option<Nanos> {
        self.sum.load(Ordering::Relaxed).checked_sub(1).map(Nanos)
    }

    /// Counts for the thread of a session that was just opened, from now on. A server with a pool of threads changes them
    /// between statements: there nothing is counted.
    pub(super) fn look_at(&mut self, schedstat: PathBuf) {
        self.counted = read_ran_s(&schedstat).unwrap_or(0.0);
        self.schedstat = Some(schedstat);
        let _ = self.sum.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// See there.
    pub(in crate::probe) fn follow_session(&mut self, session: &mut Session, pid: u32) {
        self.schedstat = None;
        let handling = session.query_scalar("SELECT @@thread_handling").ok().flatten();
        if !handling.is_some_and(|kind| kind.starts_with("one-thread")) {
            return;
        }
        let Some(query) = session.identity().feature_text(Feature::SessionThread) else { return };
        let thread = session.query_scalar(query).ok().flatten();
        let Some(thread) = thread.and_then(|text| text.parse::<u32>().ok()) else { return };
        let schedstat = Path::new("/proc").join(format!("{pid}/task/{thread}/schedstat"));
        if schedstat.exists() {
            self.look_at(schedstat);
        }
    }

    /// Adds what the thread ran since the last time.
    pub(in crate::probe) fn count(&mut self) {
        let Some(ran) = self.schedstat.as_deref().and_then(read_ran_s) else { return };
        let more = (ran - self.counted).max(0.0);
        self.counted = ran;
        self.sum.fetch_add((more * 1e9) as u64, Ordering::Relaxed);
    }
}

/// Seconds that a thread was on the CPU.
fn read_ran_s(schedstat: &Path) -> Option<f64> {
    parse_schedstat(&read_to_string(schedstat).ok()?).map(|(ran, _)| ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_add_up_over_sessions() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("schedstat");
        let mut cpu = ThreadCpu::default();
        assert_eq!(cpu.total(), None);
        let ran = |cpu: &mut ThreadCpu, at: u64, is_new: bool| {
            std::fs::write(&file, format!("{at} 0 1\n")).unwrap();
            if is_new {
                cpu.look_at(file.clone());
            }
            cpu.count();
            cpu.total().unwrap().0
        };
        assert_eq!(ran(&mut cpu, 5_000_000, true), 0);
        assert_eq!(ran(&mut cpu, 7_000_000, false), 2_000_000);
        // Another session, another thread.
        assert_eq!(ran(&mut cpu, 1_000_000, true), 2_000_000);
        assert_eq!(ran(&mut cpu, 2_000_000, false), 3_000_000);
        std::fs::remove_file(&file).unwrap();
        cpu.count();
        assert_eq!(cpu.total(), Some(Nanos(3_000_000)));
    }
}
