//! What a load feels like right now: rates between the last two looks, for eyes that watch it run; and what it came to
//! so far.

use std::collections::{BTreeMap, VecDeque};

use super::caveats::is_too_late;
use crate::archive::{Counters, SampleRecord};
use crate::base::Nanos;
use crate::plan::Metric;
use crate::recorder::{Histogram, Interval, SparseHistogram, new_histogram};

/// Beats kept for the curves.
const HISTORY: usize = 600;
/// Silences kept.
const MOST_SILENCES: usize = 100;
/// A silence shorter than this is none, in hundredths of a second.
const SHORTEST_SILENCE: f64 = 10.0;
/// Events that would have ended in a silence at the mean rate so far, at least: with fewer it may be chance.
const SILENCE_EVENTS: f64 = 20.0;
/// Length of a slot of `Interval::slots`.
const SLOT_NS: u64 = 10_000_000;
const SLOT_S: f64 = SLOT_NS as f64 / 1e9;

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
    /// Events under way at the end.
    pub in_flight: u64,
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

/// A load from its beginning until now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadTotals {
    /// Good events.
    pub events: u64,
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
}

/// Good events whose response times lie in a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyBand {
    /// End of the range, seconds; it begins where the one before ends.
    pub to_s: f64,
    /// How many.
    pub events: u64,
}

/// A spell in which no event ended, though many should have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveSilence {
    /// When it began, seconds since the load began.
    pub began_s: f64,
    /// How long it took, seconds.
    pub seconds: f64,
}

/// What can be said of a load while it runs that takes something away from its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LiveWarning {
    /// No event has ended for so long, seconds, though some are under way.
    StandsStill(f64),
    /// The first event failed in the interval that ended then, seconds since the load began.
    ErrorsSince(f64),
    /// sweat itself is late: the 99th percentile of that, seconds.
    StartsLate(f64),
}

/// Listens to intervals and samples.
#[derive(Clone, Debug, Default)]
pub struct LiveStats {
    began: Option<Nanos>,
    own_cpu: Option<Nanos>,
    beats: VecDeque<LiveInterval>,
    /// Response times of all good events; absent before the first interval.
    response: Option<Histogram>,
    lateness: Option<Histogram>,
    errors: u64,
    first_error_s: Option<f64>,
    /// When the last event had ended, seconds since the load began.
    last_event_s: f64,
    reconnects: u64,
    silences: VecDeque<LiveSilence>,
    /// The last hundredth of a second of the run's clock in which an event ended.
    last_busy_slot: Option<u64>,
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
        let at = |q| sparse_quantile_s(&response, q);
        let beat = LiveInterval {
            at_s: interval.ended.since(began).to_seconds(),
            events_per_s: per_second(interval.event_count() as f64, seconds),
            p50_s: at(0.5),
            p95_s: at(0.95),
            p99_s: at(0.99),
            max_s: at(1.0),
            lateness_p99_s: sparse_quantile_s(&interval.lateness, 0.99),
            errors: interval.error_count(),
            reconnects: interval.reconnects,
            backlog: interval.backlog,
            in_flight: interval.in_flight,
            own_cores: per_second(used.to_seconds(), seconds),
        };
        for (sum, new) in
            [(&mut self.response, &response), (&mut self.lateness, &interval.lateness)]
        {
            let sum = sum.get_or_insert_with(new_histogram);
            new.add_to(sum);
        }
        if beat.errors > 0 {
            self.first_error_s.get_or_insert(beat.at_s);
        }
        if interval.event_count() + beat.errors > 0 {
            self.last_event_s = beat.at_s;
        }
        self.errors += beat.errors;
        self.reconnects += beat.reconnects;
        self.find_silences(interval, began);
        self.beats.push_back(beat);
        if self.beats.len() > HISTORY {
            self.beats.pop_front();
        }
    }

    /// Keeps the silences that ended in this interval of a load that began then.
    fn find_silences(&mut self, interval: &Interval, began: Nanos) {
        let slot_of = |at: Nanos| at.0 / SLOT_NS;
        let seconds = interval.ended.since(began).to_seconds();
        let all = self.response.as_ref().map_or(0, Histogram::len) + self.errors;
        let per_slot = per_second(all as f64, seconds) * SLOT_S;
        let shortest = f64::max(SHORTEST_SILENCE, SILENCE_EVENTS / per_slot.max(f64::MIN_POSITIVE));
        let busy = interval.slots.iter().enumerate().filter(|(_, count)| **count > 0);
        for (place, _) in busy {
            let slot = slot_of(interval.began) + place as u64;
            let last = self.last_busy_slot.replace(slot);
            let Some(last) = last.filter(|last| slot.saturating_sub(last + 1) as f64 >= shortest)
            else {
                continue;
            };
            let began_s = ((last + 1) as f64 * SLOT_S - began.to_seconds()).max(0.0);
            let seconds = (slot - last - 1) as f64 * SLOT_S;
            self.silences.push_back(LiveSilence { began_s, seconds });
            if self.silences.len() > MOST_SILENCES {
                self.silences.pop_front();
            }
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

    /// Spells in which no event ended, oldest first; at most the last 100. They say nothing of a load whose rate changes
    /// on purpose.
    pub fn silences(&self) -> impl DoubleEndedIterator<Item = &LiveSilence> + ExactSizeIterator {
        self.silences.iter()
    }

    /// Events that failed since the load began.
    pub fn error_count(&self) -> u64 {
        self.errors
    }

    /// Sessions opened anew since the load began.
    pub fn reconnect_count(&self) -> u64 {
        self.reconnects
    }

    /// The load from its beginning until now.
    pub fn totals(&self) -> LoadTotals {
        let Some((response, last)) = self.response.as_ref().zip(self.last_interval()) else {
            return LoadTotals::default();
        };
        let at = |q| quantile_s(response, q);
        LoadTotals {
            events: response.len(),
            events_per_s: per_second(response.len() as f64, last.at_s),
            p50_s: at(0.5),
            p95_s: at(0.95),
            p99_s: at(0.99),
            max_s: at(1.0),
        }
    }

    /// The response times so far in `count` ranges, each as many times as wide as the one before, from the shortest to
    /// the longest; none before the first event.
    pub fn latency_bands(&self, count: usize) -> Vec<LatencyBand> {
        let Some(response) = self.response.as_ref().filter(|all| !all.is_empty()) else {
            return Vec::new();
        };
        let (shortest, longest) = (response.min().max(1) as f64, response.max().max(2) as f64);
        let ratio = (longest / shortest).max(1.0);
        let mut before = 0;
        (1..=count)
            .map(|n| {
                let to = shortest * ratio.powf(n as f64 / count as f64);
                let below = match n == count {
                    true => response.len(),
                    false => response.count_between(0, to as u64),
                };
                let events = below.saturating_sub(before);
                before = below;
                LatencyBand { to_s: to / 1e9, events }
            })
            .collect()
    }

    /// What a metric came to so far, in its unit; absent where nothing is known of it.
    pub fn metric_value(&self, metric: Metric) -> Option<f64> {
        let response = self.response.as_ref()?;
        let all = response.len() + self.errors;
        match metric {
            Metric::Quantile(q) => quantile_s(response, q),
            Metric::Mean => (!response.is_empty()).then(|| response.mean() / 1e9),
            Metric::Longest => quantile_s(response, 1.0),
            Metric::Errors => (all > 0).then(|| self.errors as f64 / all as f64),
            Metric::Rate => Some(self.totals().events_per_s),
        }
    }

    /// What takes something away from the numbers, as far as that is known now; what is worst first. `has_server` says
    /// that the load asks a server: without one, sweat's own limit is what is measured.
    pub fn warnings(&self, has_server: bool) -> Vec<LiveWarning> {
        let Some(last) = self.last_interval() else { return Vec::new() };
        let mut found = Vec::new();
        let still_s = last.at_s - self.last_event_s;
        if still_s > 0.0 && last.in_flight > 0 {
            found.push(LiveWarning::StandsStill(still_s));
        }
        found.extend(self.first_error_s.map(LiveWarning::ErrorsSince));
        let late = self.lateness.as_ref().and_then(|all| quantile_s(all, 0.99));
        let is_late = |late: &f64| has_server && is_too_late(*late, self.totals().p50_s);
        found.extend(late.filter(is_late).map(LiveWarning::StartsLate));
        found
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

fn sparse_quantile_s(histogram: &SparseHistogram, q: f64) -> Option<f64> {
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
        latencies_ms.iter().for_each(|ms| class.response.record(ms * 1_000_000));
        class.failed.record_n(1, failed);
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
    fn totals_come_from_the_sum_of_the_histograms() {
        let mut live = LiveStats::default();
        assert_eq!((live.totals(), live.latency_bands(4)), (LoadTotals::default(), Vec::new()));
        assert!(live.warnings(true).is_empty());
        live.add_interval(&interval(0, 1, &[1; 98], 0), Nanos(0));
        live.add_interval(&interval(1, 4, &[20, 1000], 4), Nanos(0));
        let all = live.totals();
        assert_eq!((all.events, all.events_per_s), (100, 25.0));
        let near = |found: Option<f64>, s: f64| (found.unwrap() / s - 1.0).abs() < 0.01;
        assert!(near(all.p50_s, 0.001) && near(all.p99_s, 0.02) && near(all.max_s, 1.0), "{all:?}");
        let bands = live.latency_bands(3);
        let counts: Vec<u64> = bands.iter().map(|band| band.events).collect();
        assert_eq!(counts.iter().sum::<u64>(), 100, "{bands:?}");
        assert_eq!(counts[0], 98, "{bands:?}");
        assert!(near(Some(bands[2].to_s), 1.0) && near(Some(bands[0].to_s), 0.01), "{bands:?}");
        assert!((live.metric_value(Metric::Errors).unwrap() - 4.0 / 104.0).abs() < 1e-9);
        assert!(near(live.metric_value(Metric::Longest), 1.0));
    }

    #[test]
    fn what_takes_something_away_is_known_while_the_load_runs() {
        let mut live = LiveStats::default();
        live.add_interval(&interval(0, 1, &[1, 1], 0), Nanos(0));
        assert!(live.warnings(true).is_empty());
        live.add_interval(&interval(1, 2, &[1], 1), Nanos(0));
        let mut late = interval(2, 3, &[], 0);
        late.lateness.record_n(1_000_000, 9);
        (late.in_flight, late.classes) = (4, Vec::new());
        live.add_interval(&late, Nanos(0));
        live.add_interval(&Interval { began: Nanos(3_000_000_000), ..late }, Nanos(0));
        let found = live.warnings(true);
        let [LiveWarning::StandsStill(still), LiveWarning::ErrorsSince(since), late] = found[..]
        else {
            panic!("{found:?}")
        };
        assert_eq!((still, since), (1.0, 2.0));
        assert!(matches!(late, LiveWarning::StartsLate(s) if (s - 0.001).abs() < 1e-5));
        assert_eq!(live.warnings(false).len(), 2);
    }

    #[test]
    fn silences_are_found_over_the_ends_of_intervals() {
        let mut live = LiveStats::default();
        let with_slots = |second: u64, slots: Vec<u32>| {
            let mut one = interval(second, second + 1, &[1; 100], 0);
            one.slots = slots;
            one
        };
        let mut slots = vec![1; 100];
        slots[70..].fill(0);
        live.add_interval(&with_slots(5, slots.clone()), Nanos(0));
        assert_eq!(live.silences().len(), 0, "it has not ended");
        slots.fill(1);
        slots[..10].fill(0);
        slots[50..65].fill(0);
        live.add_interval(&with_slots(6, slots), Nanos(0));
        // 0.15 s could be chance at 100/s.
        let found: Vec<_> = live.silences().map(|one| (one.began_s, one.seconds)).collect();
        let [(began_s, seconds)] = found[..] else { panic!("{found:?}") };
        assert!((began_s - 0.7).abs() < 1e-9 && (seconds - 0.4).abs() < 1e-9, "{found:?}");
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
