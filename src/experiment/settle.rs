//! Waiting until a server has come to rest: what a load or a start leaves to be done in the background would otherwise
//! be paid by the next load.

use std::time::Duration;

use super::run::StepRunner;
use crate::archive::{Counters, StepRecord};
use crate::base::units::show_time;
use crate::base::{Clock as _, Nanos};
use crate::workload::JobProgress;

/// Time between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// So many looks in a row must find nothing moving.
const QUIET_LOOKS: u32 = 3;
/// A gauge moves that changes by more than this share between two looks, and by more than a few.
const SHARE: f64 = 0.01;
/// So little is noise, in pages, bytes / 1024 or versions.
const FEW: f64 = 32.0;
/// CPU of a server at rest, cores.
const IDLE_CORES: f64 = 0.05;

/// What must not move any more: names of counters, the first that is there counts; what it is; from its unit to ours.
const GAUGES: &[(&[&str], &str, f64)] = &[
    (&["Innodb_buffer_pool_pages_dirty"], "dirty pages", 1.0),
    (&["Innodb_checkpoint_age"], "checkpoint age", 1.0 / 1024.0),
    (&["Innodb_history_list_length"], "history list", 1.0),
];
/// What must be nothing.
const PENDING: &[&str] =
    &["Innodb_data_pending_reads", "Innodb_data_pending_writes", "Innodb_data_pending_fsyncs"];

impl StepRunner<'_, '_, '_> {
    /// Waits until the server is at rest, for so long at most, and notes what it waited for.
    pub(super) fn wait_until_settled(
        &mut self,
        most: Duration,
        record: &mut StepRecord,
    ) -> anyhow::Result<()> {
        let clock = self.run.clock;
        let began = clock.now();
        let mut rest = SettleProgress::default();
        let mut before = self.monitoring.read_counters(&self.environment, self.run);
        loop {
            let due = clock.now() + Nanos::from(PAUSE);
            while clock.now() < due && !self.run.stop.is_set() {
                clock.sleep_until((clock.now() + Nanos(50_000_000)).min(due));
            }
            let waited = clock.now().since(began);
            let now = self.monitoring.read_counters(&self.environment, self.run);
            let moving = rest.find_activity(&before, &now, PAUSE.as_secs_f64());
            before = now;
            let label =
                moving.first().map_or("at rest".to_owned(), |what| format!("waits: {what}"));
            let (done, total) = (waited.to_seconds() as u64, most.as_secs());
            self.run.report_progress(&JobProgress { label, done, total, unit: "s" });
            if rest.is_settled() || self.run.stop.is_set() {
                break;
            }
            if waited >= Nanos::from(most) {
                let what = moving.join(", ");
                let note = format!("not at rest after {}: {what}", show_time(most));
                self.run.add_note(&note);
                record.notes.push(note);
                return Ok(());
            }
        }
        let seconds = clock.now().since(began).to_seconds();
        record.notes.push(match rest.waited_for.as_slice() {
            [] => format!("at rest after {seconds:.0} s, nothing moved"),
            list => format!("at rest after {seconds:.0} s; waited for {}", list.join(", ")),
        });
        Ok(())
    }
}

/// What was seen moving so far.
#[derive(Debug, Default)]
struct SettleProgress {
    /// Looks in a row that found nothing.
    quiet: u32,
    /// What was waited for, each once.
    waited_for: Vec<&'static str>,
}

impl SettleProgress {
    /// What moves between two looks, `seconds` apart, in words with its number.
    fn find_activity(&mut self, before: &Counters, now: &Counters, seconds: f64) -> Vec<String> {
        let mut moving: Vec<(&'static str, String)> = Vec::new();
        for (names, what, scale) in GAUGES {
            let Some(name) = names.iter().find(|name| now.contains_key(**name)) else { continue };
            let (Some(was), Some(is)) = (before.get(*name), now.get(*name)) else { continue };
            let change = (is - was).abs() * scale;
            if change > FEW && change > SHARE * was.max(*is) * scale {
                moving.push((what, format!("{what} {was:.0} to {is:.0}")));
            }
        }
        let pending: f64 = PENDING.iter().filter_map(|name| now.get(*name)).sum();
        if pending > 0.0 {
            moving.push(("pending I/O", format!("{pending:.0} pending I/O")));
        }
        let cpu = |counters: &Counters| {
            Some(counters.get("process.cpu_user_s")? + counters.get("process.cpu_system_s")?)
        };
        let cores = cpu(now).zip(cpu(before)).map_or(0.0, |(is, was)| (is - was) / seconds);
        if cores > IDLE_CORES {
            moving.push(("CPU", format!("CPU at {:.0} %", cores * 100.0)));
        }
        for (what, _) in &moving {
            if !self.waited_for.contains(what) {
                self.waited_for.push(what);
            }
        }
        self.quiet = if moving.is_empty() { self.quiet + 1 } else { 0 };
        moving.into_iter().map(|(_, words)| words).collect()
    }

    fn is_settled(&self) -> bool {
        self.quiet >= QUIET_LOOKS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(dirty: f64, history: f64, pending: f64, cpu: f64) -> Counters {
        let list = [
            ("Innodb_buffer_pool_pages_dirty", dirty),
            ("Innodb_history_list_length", history),
            ("Innodb_data_pending_writes", pending),
            ("process.cpu_user_s", cpu),
            ("process.cpu_system_s", 1.0),
        ];
        list.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn a_server_rests_when_nothing_moved_three_times_in_a_row() {
        let mut rest = SettleProgress::default();
        let still = counters(5_000.0, 10.0, 0.0, 3.0);
        for _ in 0..2 {
            assert!(rest.find_activity(&still, &still, 1.0).is_empty());
            assert!(!rest.is_settled());
        }
        let moving = rest.find_activity(&counters(9_000.0, 900.0, 0.0, 2.0), &still, 1.0);
        assert_eq!(moving, ["dirty pages 9000 to 5000", "history list 900 to 10", "CPU at 100 %"]);
        assert!(!rest.is_settled());
        for _ in 0..3 {
            rest.find_activity(&still, &counters(4_990.0, 12.0, 0.0, 3.01), 1.0);
        }
        assert!(rest.is_settled(), "a few pages and a little CPU are rest");
        assert_eq!(rest.waited_for, ["dirty pages", "history list", "CPU"]);
    }

    #[test]
    fn pending_writes_are_no_rest() {
        let mut rest = SettleProgress::default();
        let busy = counters(0.0, 0.0, 2.0, 3.0);
        assert_eq!(rest.find_activity(&busy, &busy, 1.0), ["2 pending I/O"]);
        assert!(rest.find_activity(&Counters::new(), &Counters::new(), 1.0).is_empty());
    }
}
