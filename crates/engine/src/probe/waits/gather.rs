//! The thread that reads summaries before and after, and the ring in between.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;

use anyhow::Context as _;

use super::ring::{RingRow, WaitRing};
use super::{ClockCalibration, GatheredWaits, WaitInstrument};
use crate::base::{Clock as _, Nanos, RealClock, Stop, StopReason};
use crate::client::{ResultSet, Session, Target, quote_instruments};

/// Time between two reads of the ring.
const EVERY: Nanos = Nanos(1_000_000_000);
/// How long the last reads may take.
const LAST: Nanos = Nanos(20_000_000_000);

/// The same where the server did not answer when it was last asked, and where somebody waits for us to stop.
const SILENT: Nanos = Nanos(200_000_000);
const STOPPED: Nanos = Nanos(500_000_000);
/// How often to look which of these it is.
const LOOK: Nanos = Nanos(50_000_000);

/// What to gather.
#[derive(Clone, Debug)]
pub struct GatherOptions {
    /// Full names of the instruments, which count already.
    pub names: Vec<String>,
    /// Whether single waits are kept by the server, to be read.
    pub rows: bool,
    /// Whether nothing was counted before.
    pub fresh: bool,
}

/// Waits being gathered, from a thread and a session of their own. Dropping it gives up.
#[derive(Debug)]
pub struct WaitGatherer {
    id: u64,
    /// Carries the order; closing it ends the gathering.
    orders: Option<Sender<GatherOptions>>,
    told: Receiver<GatherEvent>,
    abandon: Stop,
    thread: Option<JoinHandle<()>>,
    target: Target,
    clock: RealClock,
    /// Set by whoever wants us to stop.
    stop: Stop,
}

/// What the thread says.
enum GatherEvent {
    /// Its session is open: its connection id.
    Opened(u64),
    /// The first summaries are read.
    Began,
    /// All is read.
    Ended(Box<GatheredWaits>),
    Failed(anyhow::Error),
}

impl WaitGatherer {
    /// Opens the session, before instruments are switched on, so that it can be left out.
    ///
    /// # Errors
    /// When the server can't be reached.
    pub fn connect(target: &Target, clock: RealClock, stop: &Stop) -> anyhow::Result<WaitGatherer> {
        let abandon = Stop::new();
        let (orders, ordered) = mpsc::channel();
        let (out, told) = mpsc::channel();
        let (asked, limit) = (target.clone(), abandon.clone());
        let thread =
            std::thread::Builder::new().name("probe-waits".to_owned()).spawn(move || {
                let last = gather_waits(&asked, &limit, clock, &ordered, &out);
                // Nobody may want it any more.
                let _ = out.send(last.unwrap_or_else(GatherEvent::Failed));
            })?;
        let mut gatherer = WaitGatherer {
            id: 0,
            orders: Some(orders),
            told,
            abandon,
            thread: Some(thread),
            target: target.clone(),
            clock,
            stop: stop.clone(),
        };
        if let GatherEvent::Opened(id) = gatherer.wait_for_event()? {
            gatherer.id = id;
        }
        Ok(gatherer)
    }

    /// Connection id of its session.
    pub fn connection_id(&self) -> u64 {
        self.id
    }

    /// Begins to gather; returns once the first summaries are read.
    ///
    /// # Errors
    /// When the server is gone, or refuses.
    pub fn start_gathering(&mut self, order: GatherOptions) -> anyhow::Result<()> {
        if let Some(orders) = &self.orders {
            // A thread that is gone has told why.
            let _ = orders.send(order);
        }
        self.wait_for_event().map(drop)
    }

    /// Reads the ring and the summaries a last time, and gives what was gathered.
    ///
    /// # Errors
    /// When the server went away or takes too long.
    pub fn stop(mut self) -> anyhow::Result<GatheredWaits> {
        self.orders = None;
        let told = self.wait_for_event()?;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        match told {
            GatherEvent::Ended(waits) => Ok(*waits),
            _ => anyhow::bail!("no waits were gathered"),
        }
    }

    fn wait_for_event(&self) -> anyhow::Result<GatherEvent> {
        let began = self.clock.now();
        loop {
            match self.told.recv_timeout(LOOK.into()) {
                Ok(GatherEvent::Failed(error)) => return Err(error),
                Ok(told) => return Ok(told),
                Err(_) if self.clock.now().since(began) < self.wait_limit() => {}
                Err(_) => anyhow::bail!("the server takes too long to report its waits"),
            }
        }
    }

    fn wait_limit(&self) -> Nanos {
        match (self.target.is_silent(), self.stop.is_set()) {
            (true, _) => SILENT,
            (false, true) => STOPPED,
            (false, false) => LAST,
        }
    }
}

impl Drop for WaitGatherer {
    fn drop(&mut self) {
        // A thread that still waits for a silent server ends by itself soon; nobody waits for it.
        self.orders = None;
        self.abandon.set(StopReason::Done);
    }
}

/// The thread: opens a session, waits for the order, gathers until it is enough.
fn gather_waits(
    target: &Target,
    limit: &Stop,
    clock: RealClock,
    ordered: &Receiver<GatherOptions>,
    out: &Sender<GatherEvent>,
) -> anyhow::Result<GatherEvent> {
    let mut session = target.connect(limit)?;
    let _ = out.send(GatherEvent::Opened(session.id()));
    let Ok(order) = ordered.recv() else { return Ok(GatherEvent::Began) };
    let before = WaitSummaries::read(&mut session, &order.names)?;
    let ring_rows = read_ring_size(&mut session);
    let newest = if order.rows && !order.fresh { newest_wait_end_ps(&mut session)? } else { 0 };
    let waits = GatheredWaits { began: clock.now(), ring_rows, ..GatheredWaits::default() };
    let ring = WaitRing::starting_after(newest);
    let mut drainer = RingDrainer { session, order, clock, ring, marks: Vec::new(), waits };
    let _ = out.send(GatherEvent::Began);
    drainer.run(ordered);
    Ok(GatherEvent::Ended(Box::new(drainer.finish_reads(&before)?)))
}

/// What the thread holds.
struct RingDrainer {
    session: Session,
    order: GatherOptions,
    clock: RealClock,
    ring: WaitRing,
    /// For each read that found rows: when it was on our clock, how long it took, the newest end it saw (ps).
    marks: Vec<(Nanos, Nanos, u64)>,
    waits: GatheredWaits,
}

impl RingDrainer {
    fn run(&mut self, wake: &Receiver<GatherOptions>) {
        let mut next = self.clock.now() + EVERY;
        loop {
            let pause = next.since(self.clock.now());
            if !matches!(wake.recv_timeout(pause.into()), Err(RecvTimeoutError::Timeout)) {
                break;
            }
            if self.order.rows {
                if let Err(e) = self.drain_ring() {
                    self.waits.notes.push(format!("the ring could not be read: {e:#}"));
                    self.order.rows = false;
                }
            }
            next = (next + EVERY).max(self.clock.now() + Nanos(EVERY.0 / 4));
        }
    }

    /// One read of the ring.
    fn drain_ring(&mut self) -> anyhow::Result<()> {
        let names = &self.order.names;
        let several = names.len() > 1;
        let sql = format!(
            "SELECT THREAD_ID, EVENT_ID, TIMER_END, TIMER_WAIT, OPERATION{} \
             FROM performance_schema.events_waits_history_long \
             WHERE TIMER_END > {} AND EVENT_NAME IN ({})",
            if several { ", EVENT_NAME" } else { "" },
            self.ring.since_ps(),
            quote_instruments(names)
        );
        let began = self.clock.now();
        let rows = self.session.query_rows(&sql).context("read events_waits_history_long")?;
        let took = self.clock.now().since(began);
        let only = names.first().filter(|_| !several);
        let rows = parse_ring_rows(&rows, only.map(String::as_str));
        let new = self.ring.add_rows(&rows);
        self.waits.drains += 1;
        self.waits.drain_time = self.waits.drain_time + took;
        if new > 0 {
            self.waits.drains_with_rows += 1;
            let middle = began + Nanos(took.0 / 2);
            self.marks.push((middle, took, self.ring.newest_ps()));
        }
        Ok(())
    }

    /// The last reads.
    fn finish_reads(&mut self, before: &WaitSummaries) -> anyhow::Result<GatheredWaits> {
        self.waits.ended = self.clock.now();
        // The newest wait of the last read is as old as the end of the load: it tells nothing about clocks.
        self.waits.calibration = calibrate_clock(&self.marks);
        if self.order.rows {
            self.drain_ring()?;
        }
        // After the rows: each of them has been counted then.
        let after = WaitSummaries::read(&mut self.session, &self.order.names)?;
        self.waits.tick_ps = self.ring.tick_ps();
        let fresh = self.order.fresh;
        let names = self.order.names.iter();
        self.waits.instruments = names
            .map(|name| {
                let mut instrument = after.diff_since(before, name, fresh);
                instrument.operations = self.ring.operations_of(name);
                instrument
            })
            .collect();
        Ok(std::mem::take(&mut self.waits))
    }
}

/// The server's clock against ours, between the first and the last read that found rows.
fn calibrate_clock(marks: &[(Nanos, Nanos, u64)]) -> Option<ClockCalibration> {
    let (first, last) = (marks.first()?, marks.last()?);
    let client_s = last.0.since(first.0).to_seconds();
    (client_s > 0.5).then(|| ClockCalibration {
        server_s: last.2.saturating_sub(first.2) as f64 / 1e12,
        client_s,
        slack_s: (first.1.to_seconds() + last.1.to_seconds()) / 2.0,
    })
}

/// Counts by instrument, and by instrument and object.
#[derive(Debug, Default)]
struct WaitSummaries {
    /// Count, sum in picoseconds, longest in picoseconds.
    total: HashMap<String, (u64, u64, u64)>,
    /// Count by object.
    objects: HashMap<(String, String), u64>,
}

impl WaitSummaries {
    fn read(session: &mut Session, names: &[String]) -> anyhow::Result<WaitSummaries> {
        let list = quote_instruments(names);
        let mut summaries = WaitSummaries::default();
        let rows = session
            .query_rows(&format!(
                "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT, MAX_TIMER_WAIT \
                 FROM performance_schema.events_waits_summary_global_by_event_name \
                 WHERE EVENT_NAME IN ({list})"
            ))
            .context("read events_waits_summary_global_by_event_name")?;
        for at in 0..rows.rows.len() {
            let name = rows.text_value(at, 0).unwrap_or_default();
            let entry =
                (cell_number(&rows, at, 1), cell_number(&rows, at, 2), cell_number(&rows, at, 3));
            summaries.total.insert(name, entry);
        }
        let rows = session
            .query_rows(&format!(
                "SELECT EVENT_NAME, OBJECT_INSTANCE_BEGIN, COUNT_STAR \
                 FROM performance_schema.events_waits_summary_by_instance \
                 WHERE EVENT_NAME IN ({list}) AND COUNT_STAR > 0"
            ))
            .context("read events_waits_summary_by_instance")?;
        for at in 0..rows.rows.len() {
            let text = |column| rows.text_value(at, column).unwrap_or_default();
            summaries.objects.insert((text(0), text(1)), cell_number(&rows, at, 2));
        }
        Ok(summaries)
    }

    /// What was counted since an earlier reading. `fresh` says that the earlier one was of nothing at all.
    fn diff_since(&self, before: &WaitSummaries, name: &str, fresh: bool) -> WaitInstrument {
        let now = self.total.get(name).copied().unwrap_or_default();
        let was = before.total.get(name).copied().unwrap_or_default();
        // Somebody may have emptied the table meanwhile: then all there is was counted since.
        let was = if now.0 < was.0 { (0, 0, 0) } else { was };
        let of = self.objects.iter().filter(|((instrument, _), _)| instrument == name);
        let rises: Vec<u64> = of
            .map(|(key, count)| match before.objects.get(key) {
                Some(was) if was <= count => count - was,
                _ => *count,
            })
            .filter(|count| *count > 0)
            .collect();
        WaitInstrument {
            name: name.to_owned(),
            count: now.0 - was.0,
            sum_ps: now.1.saturating_sub(was.1),
            // A maximum that has grown was made meanwhile; one that has not tells nothing.
            max_ps: (fresh || now.2 > was.2).then_some(now.2).filter(|_| now.0 > was.0),
            objects: rises.len() as u64,
            busiest: rises.iter().copied().max().unwrap_or(0),
            operations: Vec::new(),
        }
    }
}

fn cell_number(rows: &ResultSet, row: usize, column: usize) -> u64 {
    rows.text_value(row, column).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn read_ring_size(session: &mut Session) -> Option<u64> {
    let sql = "SELECT @@performance_schema_events_waits_history_long_size";
    session.query_scalar(sql).ok().flatten()?.parse().ok()
}

/// End of the newest wait in the ring, picoseconds.
fn newest_wait_end_ps(session: &mut Session) -> anyhow::Result<u64> {
    let sql = "SELECT MAX(TIMER_END) FROM performance_schema.events_waits_history_long";
    let newest = session.query_scalar(sql).context("read events_waits_history_long")?;
    Ok(newest.and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// Rows of the ring; those that make no sense (a wait that has not ended) are passed over.
fn parse_ring_rows(rows: &ResultSet, only: Option<&str>) -> Vec<RingRow> {
    let cell = |row: usize, column: usize| -> Option<&str> {
        std::str::from_utf8(rows.rows.get(row)?.get(column)?.as_deref()?).ok()
    };
    let parse = |row: usize| {
        Some(RingRow {
            thread: cell(row, 0)?.parse().ok()?,
            event: cell(row, 1)?.parse().ok()?,
            ended_ps: cell(row, 2)?.parse().ok()?,
            wait_ps: cell(row, 3)?.parse().ok()?,
            operation: cell(row, 4).unwrap_or_default().to_owned(),
            instrument: only.or_else(|| cell(row, 5))?.to_owned(),
        })
    };
    (0..rows.rows.len()).filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summaries(total: (u64, u64, u64), objects: &[(&str, u64)]) -> WaitSummaries {
        let objects = objects.iter().map(|(o, n)| (("i".to_owned(), (*o).to_owned()), *n));
        WaitSummaries {
            total: HashMap::from([("i".to_owned(), total)]),
            objects: objects.collect(),
        }
    }

    #[test]
    fn summaries_are_differenced_and_a_maximum_only_where_it_is_ours() {
        let before = summaries((10, 1000, 700), &[("a", 4), ("b", 6)]);
        let after = summaries((110, 51_000, 700), &[("a", 94), ("b", 6), ("c", 10)]);
        let found = after.diff_since(&before, "i", false);
        assert_eq!((found.count, found.sum_ps, found.max_ps), (100, 50_000, None));
        assert_eq!((found.objects, found.busiest), (2, 90));
        let grown = summaries((110, 51_000, 800), &[]);
        assert_eq!(grown.diff_since(&before, "i", false).max_ps, Some(800));
        assert_eq!(after.diff_since(&WaitSummaries::default(), "i", true).max_ps, Some(700));
        // Emptied by somebody meanwhile.
        let emptied = summaries((5, 50, 20), &[("a", 2)]);
        let found = emptied.diff_since(&before, "i", false);
        assert_eq!((found.count, found.sum_ps, found.objects), (5, 50, 1));
        assert_eq!(after.diff_since(&before, "j", false).count, 0);
    }

    #[test]
    fn rows_are_read_with_and_without_their_instrument() {
        let row =
            |cells: &[&str]| cells.iter().map(|c| Some(c.as_bytes().to_vec())).collect::<Vec<_>>();
        let mut unended = row(&["1", "2", "3", "4", "lock"]);
        unended[2] = None;
        let rows = ResultSet {
            columns: Vec::new(),
            rows: vec![row(&["7", "8", "900", "40", "shared_lock"]), unended],
        };
        let read = parse_ring_rows(&rows, Some("i"));
        assert_eq!(read.len(), 1);
        assert_eq!((read[0].thread, read[0].event, read[0].wait_ps), (7, 8, 40));
        assert_eq!(read[0].instrument, "i");
        assert!(parse_ring_rows(&rows, None).is_empty());
    }

    #[test]
    fn the_clock_is_held_against_ours_between_reads() {
        let second = |n: u64| Nanos(n * 1_000_000_000);
        let marks = [
            (second(1), Nanos(20_000_000), 5_000_000_000_000),
            (second(9), Nanos(40_000_000), 13_000_000_000_000),
        ];
        let found = calibrate_clock(&marks).unwrap();
        assert_eq!((found.server_s, found.client_s), (8.0, 8.0));
        assert!((found.slack_s - 0.03).abs() < 1e-12);
        assert_eq!(calibrate_clock(&marks[..1]), None);
        assert_eq!(calibrate_clock(&[]), None);
    }
}
