//! What a load feels like right now: rates between the last two looks, for eyes that watch it run.

use std::collections::{BTreeMap, VecDeque};

use crate::archive::{Counters, SampleRecord};
use crate::base::Nanos;
use crate::recorder::{Histogram, Interval};

/// Beats kept for the curves.
const HISTORY: usize = 600;

/// One interval of the load in figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveInterval {
    /// When it ended, seconds since the load began.
    pub at_s: f64,
    /// Good events per second.
    pub events_per_s: f64,
    /// Response times of good events, seconds; absent if there were none.
    pub p50_s: Option<f64>,
    /// 95th percentile.
    pub p95_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
    /// The longest.
    pub max_s: Option<f64>,
    /// 99th percentile of the lateness of our own making, seconds.
    pub lateness_p99_s: Option<f64>,
    /// Events that failed.
    pub errors: u64,
    /// Sessions opened anew.
    pub reconnects: u64,
    /// Open loop: arrivals due and not begun at the end.
    pub backlog: u64,
    /// CPU of this process, in cores.
    pub own_cores: f64,
}

/// What server and host say about themselves, as far as they do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SystemStats {
    /// Threads that run a statement.
    pub running: Option<f64>,
    /// Share of the pool that holds pages, 0 to 1.
    pub pool_filled: Option<f64>,
    /// Pages that the pool had to read from disk, per second.
    pub pool_reads_per_s: Option<f64>,
    /// Statements per second.
    pub questions_per_s: Option<f64>,
    /// CPU of the server's process, in cores.
    pub server_cores: Option<f64>,
    /// CPU of the whole host, in cores.
    pub host_cores: Option<f64>,
    /// Bytes that the host reads from its disks, per second.
    pub disk_read_bytes_per_s: Option<f64>,
    /// Bytes that the host writes to its disks, per second.
    pub disk_written_bytes_per_s: Option<f64>,
}

/// Listens to intervals and samples.
#[derive(Clone, Debug, Default)]
pub struct LiveStats {
    began: Option<Nanos>,
    own_cpu: Option<Nanos>,
    beats: VecDeque<LiveInterval>,
    errors: u64,
    reconnects: u64,
    looks: BTreeMap<String, (SampleRecord, Option<SampleRecord>)>,
}

impl LiveStats {
    /// A pulse of a load that begins now; `own_cpu` is the CPU time of this process until now.
    pub fn at_load_start(own_cpu: Nanos) -> LiveStats {
        LiveStats { own_cpu: Some(own_cpu), ..LiveStats::default() }
    }

    /// Takes in an interval. `own_cpu` is the CPU time of this process until now.
    pub fn add_interval(&mut self, interval: &Interval, own_cpu: Nanos) {
        let began = *self.began.get_or_insert(interval.began);
        let seconds = interval.length_s();
        let used = own_cpu.since(self.own_cpu.replace(own_cpu).unwrap_or(own_cpu));
        let response = interval.response_times();
        let at = |q| quantile_s(&response, q);
        let beat = LiveInterval {
            at_s: interval.ended.since(began).to_seconds(),
            events_per_s: per_second(interval.event_count() as f64, seconds),
            p50_s: at(0.5),
            p95_s: at(0.95),
            p99_s: at(0.99),
            max_s: at(1.0),
            lateness_p99_s: quantile_s(&interval.lateness, 0.99),
            errors: interval.error_count(),
            reconnects: interval.reconnects,
            backlog: interval.backlog,
            own_cores: per_second(used.to_seconds(), seconds),
        };
        self.errors += beat.errors;
        self.reconnects += beat.reconnects;
        self.beats.push_back(beat);
        if self.beats.len() > HISTORY {
            self.beats.pop_front();
        }
    }

    /// Takes in a sample.
    pub fn add_sample(&mut self, sample: SampleRecord) {
        if sample.numbers.is_empty() {
            return;
        }
        let before = self.looks.remove(&sample.probe).map(|(last, _)| last);
        self.looks.insert(sample.probe.clone(), (sample, before));
    }

    /// The last interval.
    pub fn last_interval(&self) -> Option<&LiveInterval> {
        self.beats.back()
    }

    /// The intervals so far, oldest first; at most the last 600.
    pub fn recent_intervals(
        &self,
    ) -> impl DoubleEndedIterator<Item = &LiveInterval> + ExactSizeIterator {
        self.beats.iter()
    }

    /// Events that failed since the load began.
    pub fn error_count(&self) -> u64 {
        self.errors
    }

    /// Sessions opened anew since the load began.
    pub fn reconnect_count(&self) -> u64 {
        self.reconnects
    }

    /// What server and host say about themselves.
    pub fn system_stats(&self) -> SystemStats {
        let pages = |name: &str| self.gauge_value(&format!("Innodb_buffer_pool_pages_{name}"));
        SystemStats {
            running: self.gauge_value("Threads_running"),
            pool_filled: pages("data").zip(pages("total")).map(|(data, total)| data / total),
            pool_reads_per_s: self.counter_rate(|name| name == "Innodb_buffer_pool_reads"),
            questions_per_s: self.counter_rate(|name| name == "Questions"),
            server_cores: self
                .counter_rate(|name| matches!(name, "process.cpu_user_s" | "process.cpu_system_s")),
            host_cores: self.counter_rate(|name| name == "cpu.busy_s"),
            disk_read_bytes_per_s: self
                .counter_rate(is_disk_counter("sectors_read"))
                .map(|s| s * SECTOR_BYTES),
            disk_written_bytes_per_s: self
                .counter_rate(is_disk_counter("sectors_written"))
                .map(|s| s * SECTOR_BYTES),
        }
    }

    fn gauge_value(&self, name: &str) -> Option<f64> {
        self.looks.values().find_map(|(now, _)| now.numbers.get(name).copied())
    }

    /// Growth per second of all counters of one probe that are meant, together.
    fn counter_rate(&self, meant: impl Fn(&str) -> bool) -> Option<f64> {
        let sum = |numbers: &Counters| {
            let values = numbers.iter().filter(|(name, _)| meant(name)).map(|(_, v)| *v);
            values.fold(None, |sum: Option<f64>, v| Some(sum.unwrap_or(0.0) + v))
        };
        self.looks.values().find_map(|(now, before)| {
            let before = before.as_ref()?;
            let grown = sum(&now.numbers)? - sum(&before.numbers)?;
            let seconds = now.ended_ns.saturating_sub(before.ended_ns) as f64 / 1e9;
            // A counter that fell belongs to a server that was restarted meanwhile.
            (seconds > 0.0 && grown >= 0.0).then(|| grown / seconds)
        })
    }
}

/// A sector of the kernel's disk statistics, whatever the disk's own sectors are.
const SECTOR_BYTES: f64 = 512.0;

fn is_disk_counter(counter: &str) -> impl Fn(&str) -> bool {
    move |name| name.strip_prefix("disk.").is_some_and(|rest| rest.ends_with(counter))
}

fn quantile_s(histogram: &Histogram, q: f64) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(q) as f64 / 1e9)
}

fn per_second(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::ClassTotals;

    fn interval(began_s: u64, ended_s: u64, latencies_ms: &[u64], failed: u64) -> Interval {
        let mut class = ClassTotals::default();
        latencies_ms.iter().for_each(|ms| class.response.record(ms * 1_000_000).unwrap());
        class.failed.record_n(1, failed).unwrap();
        let [began, ended] = [began_s, ended_s].map(|s| Nanos(s * 1_000_000_000));
        Interval { classes: vec![class], reconnects: 1, ..Interval::empty(began, ended) }
    }

    fn look(probe: &str, at_s: u64, numbers: &[(&str, f64)]) -> SampleRecord {
        SampleRecord {
            probe: probe.to_owned(),
            ended_ns: at_s * 1_000_000_000,
            numbers: numbers.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect(),
            ..SampleRecord::default()
        }
    }

    #[test]
    fn an_interval_becomes_a_beat() {
        let mut live = LiveStats::at_load_start(Nanos(5));
        live.add_interval(&interval(10, 12, &[1, 1, 1, 100], 3), Nanos(5));
        live.add_interval(&interval(12, 13, &[], 1), Nanos(500_000_005));
        let beats: Vec<_> = live.recent_intervals().copied().collect();
        assert_eq!((beats[0].at_s, beats[0].events_per_s, beats[0].own_cores), (2.0, 2.0, 0.0));
        assert!((beats[0].p50_s.unwrap() - 0.001).abs() < 1e-5);
        assert!((beats[0].max_s.unwrap() - 0.1).abs() < 1e-3);
        assert_eq!((beats[1].at_s, beats[1].p99_s, beats[1].own_cores), (3.0, None, 0.5));
        assert_eq!((live.error_count(), live.reconnect_count()), (4, 2));
    }

    #[test]
    fn rates_come_from_the_last_two_looks() {
        let mut live = LiveStats::default();
        let pages =
            [("Innodb_buffer_pool_pages_data", 50.0), ("Innodb_buffer_pool_pages_total", 200.0)];
        let status = |at, reads| {
            let mut sample = look("status", at, &pages);
            sample.numbers.insert("Innodb_buffer_pool_reads".to_owned(), reads);
            sample
        };
        live.add_sample(status(1, 100.0));
        assert_eq!(live.system_stats().pool_filled, Some(0.25));
        assert_eq!(live.system_stats().pool_reads_per_s, None);
        live.add_sample(status(3, 700.0));
        assert_eq!(live.system_stats().pool_reads_per_s, Some(300.0));
        live.add_sample(status(4, 5.0));
        assert_eq!(live.system_stats().pool_reads_per_s, None);
    }

    #[test]
    fn disks_and_the_two_halves_of_cpu_are_summed() {
        let mut live = LiveStats::default();
        for (at, factor) in [(1, 1.0), (2, 2.0)] {
            let numbers = [
                ("disk.vda.sectors_read", 10.0 * factor),
                ("disk.vdb.sectors_read", 30.0 * factor),
                ("process.cpu_user_s", factor),
                ("process.cpu_system_s", factor / 2.0),
            ];
            live.add_sample(look("host", at, &numbers));
        }
        let now = live.system_stats();
        assert_eq!(now.disk_read_bytes_per_s, Some(20_480.0));
        assert_eq!(now.server_cores, Some(1.5));
        assert_eq!(now.host_cores, None);
    }
}
