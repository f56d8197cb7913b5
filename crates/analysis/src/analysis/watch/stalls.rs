//! Intervals in which a server did much less than around them.
//!
//! The usual rate of an interval is the median of the 61 around it, so that a day's rise and fall is none. An interval is
//! slow below half of that, if at least 100 queries were to be expected: by chance alone a count of 100 falls below 50
//! once in millions (5 standard deviations).

use super::super::statistics::robust::median;
use super::{WatchRow, WatchStall};

/// Intervals to each side that say what is usual.
const BESIDE: usize = 30;
/// Fewer say nothing.
const FEWEST: usize = 5;
/// Below this share of the usual rate is slow.
const SLOW: f64 = 0.5;
/// Below this share is a full stop.
const STOP: f64 = 0.05;
/// Queries to be expected in an interval that can be called slow.
const EXPECTED: f64 = 100.0;

/// Slow intervals, neighbours as one.
pub(super) fn find_slow_rows(rows: &[WatchRow]) -> Vec<WatchStall> {
    // Queries are the first column.
    let rate = |row: &WatchRow| row.values.first().copied().flatten();
    let mut stalls: Vec<WatchStall> = Vec::new();
    let mut before = None;
    for (place, row) in rows.iter().enumerate() {
        let Some(queries) = rate(row) else { continue };
        let around = &rows[place.saturating_sub(BESIDE)..(place + BESIDE + 1).min(rows.len())];
        let around: Vec<f64> = around.iter().filter_map(rate).collect();
        let usual = median(&around).filter(|_| around.len() >= FEWEST).unwrap_or_default();
        let is_slow = queries < SLOW * usual && usual * row.seconds >= EXPECTED;
        if !is_slow {
            continue;
        }
        let is_next = before.replace(place).is_some_and(|last| last + 1 == place);
        match stalls.last_mut().filter(|_| is_next) {
            Some(stall) => {
                let all = stall.seconds + row.seconds;
                stall.queries_per_s =
                    (stall.queries_per_s * stall.seconds + queries * row.seconds) / all;
                stall.seconds = all;
                stall.is_full_stop |= queries < STOP * usual;
            }
            None => stalls.push(WatchStall {
                began_s: row.ended_s - row.seconds,
                seconds: row.seconds,
                is_full_stop: queries < STOP * usual,
                queries_per_s: queries,
                usual_per_s: usual,
            }),
        }
    }
    stalls
}
