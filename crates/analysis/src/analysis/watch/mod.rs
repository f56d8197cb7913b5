//! What a watch shows: rates and states per interval between two samples, and the stalls among them.
//! Start reading at [`WatchTable`], which takes samples in any order, and [`analyse_watch`].

mod columns;
mod stalls;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::archive::{SampleRecord, WatchEvent};

use super::statistics::robust::median;
use columns::{COUNTERS, Readings};
pub use columns::{WATCH_COLUMNS, WatchColumn, WatchUnit};
use stalls::find_slow_rows;

/// An interval that is longer than this many usual ones covers ticks without a sample.
const GAP: f64 = 1.5;

/// Samples of a watch, reduced to the numbers that are shown.
#[derive(Clone, Debug, Default)]
pub struct WatchTable {
    /// By wall time of the tick; a clock that was set back begins a new stretch.
    ticks: BTreeMap<(u64, u64), TickReading>,
    /// Nothing is known of the time between two segments.
    is_apart: bool,
}

#[derive(Clone, Debug)]
struct TickReading {
    /// Middle of the look at the server's counters, seconds since 1970.
    at_s: Option<f64>,
    values: Readings,
}

/// A look at the server's counters.
struct Look<'a> {
    segment: u64,
    /// When it was due, seconds since 1970.
    tick_s: f64,
    /// Its middle.
    at_s: f64,
    values: &'a Readings,
}

/// An interval between two samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchRow {
    /// When it ended, seconds since 1970.
    pub ended_s: f64,
    /// Its length, seconds.
    pub seconds: f64,
    /// Ticks inside it without a sample.
    pub missing: u64,
    /// What was seen, in the order of [`WATCH_COLUMNS`].
    pub values: Vec<Option<f64>>,
}

/// A stretch in which the server did less than half of what it usually does around that time.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchStall {
    /// When it began, seconds since 1970.
    pub began_s: f64,
    /// How long it lasted, as far as samples can tell, seconds.
    pub seconds: f64,
    /// The server did as good as nothing, or did not answer.
    pub is_full_stop: bool,
    /// Queries per second in it.
    pub queries_per_s: f64,
    /// What is usual around it.
    pub usual_per_s: f64,
}

/// One column over the whole span.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchFigure {
    /// Which.
    pub column: &'static WatchColumn,
    /// The middle value.
    pub median: f64,
    /// The lowest.
    pub lowest: f64,
    /// The highest.
    pub highest: f64,
}

/// Everything there is to say about a span of a watch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchFindings {
    /// Version of sweat that reads it.
    pub tool_version: String,
    /// Where it is.
    pub folder: String,
    /// `MariaDB 10.11.14 at unix /run/mysqld/mysqld.sock`.
    pub server: String,
    /// How far this machine's time zone is ahead of UTC, seconds.
    pub utc_offset_s: i64,
    /// The usual time between two samples, seconds.
    pub interval_s: Option<f64>,
    /// Samples of the server's counters.
    pub samples: u64,
    /// Intervals, the oldest first.
    pub rows: Vec<WatchRow>,
    /// Each column that has values.
    pub figures: Vec<WatchFigure>,
    /// The oldest first.
    pub stalls: Vec<WatchStall>,
    /// What happened, as it was noted.
    pub events: Vec<WatchEvent>,
    /// Folders of incidents in this span.
    pub incidents: Vec<String>,
    /// What could not be read.
    pub damage: Vec<String>,
}

impl WatchFindings {
    /// Ticks without a sample.
    pub fn missing(&self) -> u64 {
        self.rows.iter().map(|row| row.missing).sum()
    }

    /// The figure of a column, by its id.
    pub fn figure(&self, id: &str) -> Option<&WatchFigure> {
        self.figures.iter().find(|figure| figure.column.id == id)
    }
}

impl WatchTable {
    /// Samples whose segments are collections with nothing in between.
    pub fn of_collections() -> WatchTable {
        WatchTable { is_apart: true, ..WatchTable::default() }
    }

    /// Forgets all but the last ticks.
    pub fn keep_last(&mut self, ticks: usize) {
        while self.ticks.len() > ticks {
            self.ticks.pop_first();
        }
    }

    /// Takes in a sample of the segment with this number and this origin of its clock.
    pub fn add_sample(&mut self, segment: u64, origin_unix_ns: u64, sample: &SampleRecord) {
        let seen: Vec<(usize, f64)> = COUNTERS
            .iter()
            .enumerate()
            .filter_map(|(place, name)| Some((place, *sample.numbers.get(*name)?)))
            .collect();
        if seen.is_empty() {
            return;
        }
        let tick = origin_unix_ns.saturating_add(sample.planned_ns);
        let reading = self
            .ticks
            .entry((segment, tick))
            .or_insert_with(|| TickReading { at_s: None, values: Readings::default() });
        if sample.numbers.contains_key(COUNTERS[columns::QUERIES]) {
            let middle = sample.began_ns / 2 + sample.ended_ns / 2;
            reading.at_s = Some(origin_unix_ns.saturating_add(middle) as f64 / 1e9);
        }
        for (place, value) in seen {
            reading.values.set(place, value);
        }
    }
}

/// Everything there is to say about the samples of a table; what is known from elsewhere is filled in by the caller.
pub fn analyse_watch(table: &WatchTable) -> WatchFindings {
    let ticks = table.ticks.iter();
    let looks: Vec<Look<'_>> = ticks
        .filter_map(|((segment, tick_ns), tick)| {
            let tick_s = *tick_ns as f64 / 1e9;
            Some(Look { segment: *segment, tick_s, at_s: tick.at_s?, values: &tick.values })
        })
        .collect();
    let is_pair = |pair: &&[Look<'_>]| !table.is_apart || pair[0].segment == pair[1].segment;
    let pairs = || looks.windows(2).filter(is_pair);
    // By when looks were due: one that the server answered late moves its own middle, and no tick.
    let spacings: Vec<f64> =
        pairs().map(|pair| pair[1].tick_s - pair[0].tick_s).filter(|s| *s > 0.0).collect();
    let interval_s = median(&spacings);
    let mut rows: Vec<WatchRow> = Vec::new();
    for pair in pairs() {
        let seconds = pair[1].at_s - pair[0].at_s;
        if seconds <= 0.0 {
            continue;
        }
        let due = pair[1].tick_s - pair[0].tick_s;
        let usual = interval_s.unwrap_or(due);
        let missing = if due > GAP * usual { (due / usual).round() as u64 - 1 } else { 0 };
        let value = |column: &WatchColumn| column.value(pair[0].values, pair[1].values, seconds);
        let values = WATCH_COLUMNS.iter().map(value).collect();
        rows.push(WatchRow { ended_s: pair[1].at_s, seconds, missing, values });
    }
    WatchFindings {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        interval_s: interval_s.map(round_interval),
        samples: looks.len() as u64,
        figures: WATCH_COLUMNS.iter().enumerate().filter_map(|c| figure_of(c, &rows)).collect(),
        stalls: find_slow_rows(&rows),
        rows,
        ..WatchFindings::default()
    }
}

/// Looks do not begin on the nanosecond: 4.9997 s between two are 5 s.
fn round_interval(seconds: f64) -> f64 {
    let grain = if seconds < 1.0 { 0.1 } else { 1.0 };
    ((seconds / grain).round() * grain).max(grain)
}

fn figure_of(
    (place, column): (usize, &'static WatchColumn),
    rows: &[WatchRow],
) -> Option<WatchFigure> {
    let values: Vec<f64> = rows.iter().filter_map(|row| row.values[place]).collect();
    Some(WatchFigure {
        column,
        median: median(&values)?,
        lowest: values.iter().copied().reduce(f64::min)?,
        highest: values.iter().copied().reduce(f64::max)?,
    })
}
