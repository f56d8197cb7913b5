//! What is shown of each interval, and which counters it comes from.

/// Counters and gauges that are kept of a sample.
pub(super) const COUNTERS: &[&str] = &[
    "Queries",
    "Uptime",
    "Com_select",
    "Com_insert",
    "Com_insert_select",
    "Com_update",
    "Com_update_multi",
    "Com_delete",
    "Com_delete_multi",
    "Com_replace",
    "Com_replace_select",
    "Com_commit",
    "Threads_running",
    "Threads_connected",
    "Innodb_row_lock_waits",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_total",
    "process.cpu_user_s",
    "process.cpu_system_s",
    "cpu.busy_s",
    "load.over_1_min",
];

/// Places of those that others need.
pub(super) const QUERIES: usize = 0;
const UPTIME: usize = 1;
const READ_REQUESTS: usize = 15;
const READS: usize = 16;
const DIRTY: usize = 17;
const PAGES: usize = 18;

/// The numbers of one tick; NaN where there is none.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Readings([f64; COUNTERS.len()]);

impl Default for Readings {
    fn default() -> Readings {
        Readings([f64::NAN; COUNTERS.len()])
    }
}

impl Readings {
    pub(super) fn set(&mut self, place: usize, value: f64) {
        self.0[place] = value;
    }

    fn get(&self, place: usize) -> Option<f64> {
        Some(self.0[place]).filter(|value| !value.is_nan())
    }
}

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchUnit {
    /// Something by second.
    PerSecond,
    /// How many there are.
    Count,
    /// 0 to 1.
    Share,
    /// Seconds of CPU by second.
    Cores,
}

/// How a column is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnSource {
    /// Growth of the sum of some counters by second.
    Rate(&'static [usize]),
    /// The value at the end.
    Gauge(usize),
    /// Share of read requests that found their page in the pool.
    HitRatio,
    /// Share of the pool's pages that are dirty.
    DirtyShare,
}
use ColumnSource::{DirtyShare, Gauge, HitRatio, Rate};

/// One thing that is shown of each interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchColumn {
    /// Key in JSON.
    pub id: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// What it counts.
    pub unit: WatchUnit,
    source: ColumnSource,
}

const fn column(
    id: &'static str,
    title: &'static str,
    unit: WatchUnit,
    source: ColumnSource,
) -> WatchColumn {
    WatchColumn { id, title, unit, source }
}

/// All of them, in the order in which they are shown.
pub const WATCH_COLUMNS: &[WatchColumn] = &[
    column("queries_per_s", "queries/s", WatchUnit::PerSecond, Rate(&[QUERIES])),
    column("selects_per_s", "selects/s", WatchUnit::PerSecond, Rate(&[2])),
    column("changes_per_s", "changes/s", WatchUnit::PerSecond, Rate(&[3, 4, 5, 6, 7, 8, 9, 10])),
    column("commits_per_s", "commits/s", WatchUnit::PerSecond, Rate(&[11])),
    column("threads_running", "threads running", WatchUnit::Count, Gauge(12)),
    column("threads_connected", "threads connected", WatchUnit::Count, Gauge(13)),
    column("row_lock_waits_per_s", "row lock waits/s", WatchUnit::PerSecond, Rate(&[14])),
    column("pool_hit_ratio", "pool hit ratio", WatchUnit::Share, HitRatio),
    column("pool_dirty_share", "dirty share of pool", WatchUnit::Share, DirtyShare),
    column("server_cpu_cores", "server CPU, cores", WatchUnit::Cores, Rate(&[19, 20])),
    column("machine_cpu_cores", "machine CPU, cores", WatchUnit::Cores, Rate(&[21])),
    column("load_1_min", "load over 1 min", WatchUnit::Cores, Gauge(22)),
];

impl WatchColumn {
    /// The value of an interval; `None` where it is not known: after a restart, or where nothing was sampled.
    pub(super) fn value(&self, from: &Readings, to: &Readings, seconds: f64) -> Option<f64> {
        let is_other_server = from.get(UPTIME).zip(to.get(UPTIME)).is_some_and(|(a, b)| b < a);
        let rise = |place: usize| {
            let (before, after) = from.get(place).zip(to.get(place))?;
            (after >= before && !is_other_server).then_some(after - before)
        };
        match self.source {
            Rate(places) => {
                // A server that lacks one of several counters has the others.
                let rises: Vec<f64> = places.iter().filter_map(|place| rise(*place)).collect();
                (!rises.is_empty()).then(|| rises.iter().sum::<f64>() / seconds)
            }
            Gauge(place) => to.get(place),
            HitRatio => {
                let (requests, reads) = rise(READ_REQUESTS).zip(rise(READS))?;
                (requests > 0.0).then(|| (1.0 - reads / requests).max(0.0))
            }
            DirtyShare => {
                let (dirty, pages) = to.get(DIRTY).zip(to.get(PAGES))?;
                (pages > 0.0).then(|| dirty / pages)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_their_counters() {
        for (place, name) in [
            (QUERIES, "Queries"),
            (UPTIME, "Uptime"),
            (READ_REQUESTS, "Innodb_buffer_pool_read_requests"),
            (READS, "Innodb_buffer_pool_reads"),
            (DIRTY, "Innodb_buffer_pool_pages_dirty"),
            (PAGES, "Innodb_buffer_pool_pages_total"),
            (2, "Com_select"),
            (10, "Com_replace_select"),
            (11, "Com_commit"),
            (12, "Threads_running"),
            (14, "Innodb_row_lock_waits"),
            (20, "process.cpu_system_s"),
            (21, "cpu.busy_s"),
            (22, "load.over_1_min"),
        ] {
            assert_eq!(COUNTERS[place], name);
        }
    }
}
