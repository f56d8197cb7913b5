//! What the standby feels, asked of it a few times a second by one session of ours.

use std::path::PathBuf;

use super::senders::{guard_session, parse_read_only};
use super::status::StandbyReads;
use super::throttle::StandbyLoad;
use crate::base::{Clock, Nanos, RealClock, Stop, kernel};
use crate::client::{Error, Feature, ResultSet, Session, Target};

/// Time between two looks at the replication: it counts in seconds itself.
const LAG_EACH: Nanos = Nanos(1_000_000_000);
/// Time over which rates are told.
const SPAN: Nanos = Nanos(5_000_000_000);
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_running',\
    'Innodb_data_pending_reads','Innodb_buffer_pool_reads','Innodb_buffer_pool_read_requests')";

/// The session that looks.
pub(super) struct StandbyMonitor {
    session: Session,
    clock: RealClock,
    lag_at: Option<Nanos>,
    lag_s: Option<f64>,
    disk: Option<StandbyDisk>,
    notes: Vec<String>,
}

/// What one look saw.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StandbyStatus {
    pub is_read_only: bool,
    pub load: StandbyLoad,
    pub misses: u64,
    pub asked: u64,
}

impl StandbyMonitor {
    /// Opens the session.
    pub(super) fn open_session(
        target: &Target,
        clock: RealClock,
        abandon: &Stop,
    ) -> Result<StandbyMonitor, Error> {
        let mut session = target.connect(abandon)?;
        guard_session(&mut session, std::time::Duration::from_secs(5))?;
        let disk = if target.is_local() { StandbyDisk::from_session(&mut session)? } else { None };
        Ok(StandbyMonitor { session, clock, lag_at: None, lag_s: None, disk, notes: Vec::new() })
    }

    /// What could not be found out, in words; once.
    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// One look. `own` statements of ours are under way.
    pub(super) fn read_status(&mut self, own: u64) -> Result<StandbyStatus, Error> {
        let read_only = self.session.query_scalar("SELECT @@GLOBAL.read_only")?.unwrap_or_default();
        let mut seen =
            StandbyStatus { is_read_only: parse_read_only(&read_only), ..StandbyStatus::default() };
        let rows = self.session.query_rows(STATUS)?;
        for row in 0..rows.rows.len() {
            let Some(value) = rows.text_value(row, 1).and_then(|v| v.parse::<u64>().ok()) else {
                continue;
            };
            match rows.text_value(row, 0).unwrap_or_default().to_ascii_lowercase().as_str() {
                // Ours, and this look itself.
                "threads_running" => seen.load.running = Some(value.saturating_sub(own + 1)),
                "innodb_data_pending_reads" => seen.load.pending_reads = Some(value),
                "innodb_buffer_pool_reads" => seen.misses = value,
                "innodb_buffer_pool_read_requests" => seen.asked = value,
                _ => {}
            }
        }
        let now = self.clock.now();
        if self.lag_at.is_none_or(|at| now.since(at) >= LAG_EACH) {
            self.lag_at = Some(now);
            self.lag_s = self.read_lag()?;
        }
        seen.load.lag_s = self.lag_s;
        seen.load.busy = self.disk.as_mut().and_then(|disk| disk.busy_share(now));
        Ok(seen)
    }

    fn read_lag(&mut self) -> Result<Option<f64>, Error> {
        let identity = self.session.identity().clone();
        let (Some(sql), Some(column)) = (
            identity.feature_text(Feature::ShowReplicaStatus),
            identity.feature_text(Feature::ReplicaLag),
        ) else {
            return Ok(None);
        };
        match self.session.query_rows(sql) {
            Ok(rows) => Ok(max_lag(&rows, column)),
            Err(Error::Server { code, text, .. }) => {
                let note = format!("the standby's lag is not known: {code} {text}");
                if self.notes.is_empty() {
                    self.notes.push(note);
                }
                // No use to ask again soon.
                self.lag_at = Some(self.clock.now() + Nanos(60_000_000_000));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// The largest lag of all channels.
fn max_lag(rows: &ResultSet, column: &str) -> Option<f64> {
    let column = rows.column_index(column)?;
    let lags =
        (0..rows.rows.len()).filter_map(|row| rows.text_value(row, column)?.parse::<f64>().ok());
    lags.reduce(f64::max)
}

/// The disk of the standby's data, where it is one of this machine.
struct StandbyDisk {
    path: PathBuf,
    last: Option<(Nanos, u64)>,
}

impl StandbyDisk {
    fn from_session(session: &mut Session) -> Result<Option<StandbyDisk>, Error> {
        let rows = session.query_rows("SELECT @@GLOBAL.datadir, @@GLOBAL.hostname")?;
        let (folder, host) = (rows.text_value(0, 0).unwrap_or_default(), rows.text_value(0, 1));
        if host.as_deref() != Some(&*kernel::host_name()) {
            return Ok(None);
        }
        let Ok(stat) = rustix::fs::stat(folder.as_str()) else { return Ok(None) };
        let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
        let path = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
        Ok(path.exists().then_some(StandbyDisk { path, last: None }))
    }

    /// Share of the time since the last look that it was busy.
    fn busy_share(&mut self, now: Nanos) -> Option<f64> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let busy_ms = parse_busy_ms(&text)?;
        let last = self.last.replace((now, busy_ms))?;
        let passed_ms = now.since(last.0).0 / 1_000_000;
        (passed_ms > 0).then(|| (busy_ms.saturating_sub(last.1) as f64 / passed_ms as f64).min(1.0))
    }
}

/// Milliseconds in which the device had something to do, from its line of numbers.
fn parse_busy_ms(text: &str) -> Option<u64> {
    text.split_whitespace().nth(9)?.parse().ok()
}

/// Turns counters into rates over the last seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct StandbyRates {
    points: std::collections::VecDeque<(Nanos, CounterSample)>,
    /// Sums of what earlier lives of the server counted.
    before: CounterSample,
    first: Option<CounterSample>,
    last: CounterSample,
}

/// Counters at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CounterSample {
    pub misses: u64,
    pub asked: u64,
    pub sent: u64,
    pub service_ns: u64,
}

impl StandbyRates {
    /// The server is another one, or was restarted: its counters begin anew.
    pub(super) fn restart_counters(&mut self) {
        if let Some(first) = self.first.take() {
            self.before.misses += self.last.misses.saturating_sub(first.misses);
            self.before.asked += self.last.asked.saturating_sub(first.asked);
        }
        self.points.clear();
    }

    /// Takes in a point.
    pub(super) fn add_sample(&mut self, now: Nanos, point: CounterSample) {
        self.first.get_or_insert(point);
        self.last = point;
        self.points.push_back((now, point));
        while self.points.len() > 2 && now.since(self.points[0].0) > SPAN {
            self.points.pop_front();
        }
    }

    /// Statements per second, over the last seconds.
    pub(super) fn sent_per_s(&self) -> f64 {
        self.rate_per_s(|point| point.sent)
    }

    /// Mean time of statements since the last point but one, nanoseconds.
    pub(super) fn latency_ns(&self) -> Option<u64> {
        let mut last = self.points.iter().rev();
        let (now, before) = (last.next()?.1, last.next()?.1);
        let sent = now.sent.saturating_sub(before.sent);
        (sent > 0).then(|| now.service_ns.saturating_sub(before.service_ns) / sent)
    }

    /// Reads of the whole server.
    pub(super) fn disk_reads(&self) -> StandbyReads {
        let first = self.first.unwrap_or(self.last);
        let (misses_per_s, asked_per_s) =
            (self.rate_per_s(|p| p.misses), self.rate_per_s(|p| p.asked));
        StandbyReads {
            misses: self.before.misses + self.last.misses.saturating_sub(first.misses),
            asked: self.before.asked + self.last.asked.saturating_sub(first.asked),
            misses_per_s,
            misses_per_1000: if asked_per_s > 0.0 {
                misses_per_s / asked_per_s * 1_000.0
            } else {
                0.0
            },
            ..StandbyReads::default()
        }
    }

    fn rate_per_s(&self, of: impl Fn(&CounterSample) -> u64) -> f64 {
        let (Some(from), Some(to)) = (self.points.front(), self.points.back()) else { return 0.0 };
        let seconds = to.0.since(from.0).to_seconds();
        if seconds > 0.0 { of(&to.1).saturating_sub(of(&from.1)) as f64 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn the_channel_that_lags_most_counts() {
        let value = |text: Option<&str>| text.map(|t| t.as_bytes().to_vec());
        let rows = ResultSet {
            columns: vec!["Connection_name".into(), "Seconds_Behind_Master".into()],
            rows: vec![
                vec![value(Some("a")), value(Some("2"))],
                vec![value(Some("b")), value(None)],
                vec![value(Some("c")), value(Some("7"))],
            ],
        };
        assert_eq!(max_lag(&rows, "seconds_behind_master"), Some(7.0));
        assert_eq!(max_lag(&ResultSet::default(), "Seconds_Behind_Master"), None);
    }

    #[test]
    fn a_disk_tells_how_long_it_was_busy() {
        assert_eq!(parse_busy_ms("  1 2 3 4 5 6 7 8 9 1234 11 0 0\n"), Some(1234));
        assert_eq!(parse_busy_ms("1 2"), None);
    }

    #[test]
    fn rates_are_those_of_the_last_seconds_and_sums_outlive_a_restart() {
        let mut rates = StandbyRates::default();
        let point =
            |misses, asked, sent| CounterSample { misses, asked, sent, service_ns: sent * 500 };
        for second in 0..=20_u64 {
            rates.add_sample(
                Nanos(second * S),
                point(1_000 + second * 10, 5_000 + second * 1_000, second),
            );
        }
        let reads = rates.disk_reads();
        assert_eq!((reads.misses, reads.asked), (200, 20_000));
        assert!((reads.misses_per_s - 10.0).abs() < 1e-9);
        assert!((reads.misses_per_1000 - 10.0).abs() < 1e-9);
        assert!((rates.sent_per_s() - 1.0).abs() < 1e-9);
        assert_eq!(rates.latency_ns(), Some(500));
        assert!(rates.points.len() <= 7);
        rates.restart_counters();
        rates.add_sample(Nanos(21 * S), point(5, 50, 20));
        rates.add_sample(Nanos(22 * S), point(8, 90, 20));
        assert_eq!((rates.disk_reads().misses, rates.disk_reads().asked), (203, 20_040));
        assert_eq!(rates.latency_ns(), None);
    }
}
