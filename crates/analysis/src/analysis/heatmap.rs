//! How often which response time was, over time. Columns are sums of the histograms of whole intervals, so that a page
//! of an hour has no more of them than it can show; nothing is averaged.

use crate::archive::RunRecord;

use super::findings::LatencyHeatmap;

/// Most columns: about as many as a page has room for.
const COLUMNS: usize = 180;
/// Rows per factor of ten.
const ROWS_PER_DECADE: i32 = 8;
/// Highest number of rows: from 100 ns to an hour.
const ROWS: usize = 11 * ROWS_PER_DECADE as usize;
/// Lower edge of the lowest row, nanoseconds.
const LOW_NS: f64 = 100.0;

/// The response times of all loads between two moments, seconds since the origin. `None` if there is no event.
pub(super) fn build_heatmap(run: &RunRecord, began_s: f64, ended_s: f64) -> Option<LatencyHeatmap> {
    let intervals = || run.trials.iter().flat_map(|t| &t.intervals);
    let lengths = intervals().map(|i| i.ended_ns.saturating_sub(i.began_ns) as f64 / 1e9);
    let longest = lengths.fold(0.0, f64::max);
    let length = ended_s - began_s;
    if longest <= 0.0 || length <= 0.0 {
        return None;
    }
    // Whole intervals per column, so that no column gets one more than its neighbour.
    let column_s = longest * (length / COLUMNS as f64 / longest).ceil().max(1.0);
    let columns = (length / column_s).ceil() as usize;
    let mut counts = vec![0u64; columns * ROWS];
    for interval in intervals() {
        let middle = (interval.began_ns / 2 + interval.ended_ns / 2) as f64 / 1e9 - began_s;
        let column = ((middle / column_s).max(0.0) as usize).min(columns - 1);
        for (value, count) in interval.response.cells() {
            counts[column * ROWS + latency_row(*value)] += count;
        }
    }
    let used = |place: &usize| counts[*place] > 0;
    let rows = || (0..counts.len()).filter(used).map(|place| place % ROWS);
    let (lowest, highest) = (rows().min()?, rows().max()?);
    let cells = (0..counts.len()).filter(used);
    let factor = 10f64.powf(1.0 / f64::from(ROWS_PER_DECADE));
    Some(LatencyHeatmap {
        column_s,
        low_s: LOW_NS / 1e9 * factor.powi(lowest as i32),
        factor,
        rows: highest - lowest + 1,
        cells: cells.map(|at| (at / ROWS, at % ROWS - lowest, counts[at])).collect(),
    })
}

fn latency_row(value_ns: u64) -> usize {
    let decades = (value_ns as f64 / LOW_NS).max(1.0).log10();
    ((decades * f64::from(ROWS_PER_DECADE)) as usize).min(ROWS - 1)
}

#[cfg(test)]
mod tests {
    use super::super::fixture_runs;
    use super::*;

    #[test]
    fn every_event_is_in_exactly_one_cell() {
        for run in [fixture_runs::demo_run(), fixture_runs::bench_run(), fixture_runs::hour_run()] {
            let events: u64 =
                run.trials.iter().flat_map(|t| &t.intervals).map(|i| i.response.len()).sum();
            let heat = build_heatmap(&run, 0.0, run.meta.ended_ns.unwrap() as f64 / 1e9).unwrap();
            assert_eq!(heat.cells.iter().map(|c| c.2).sum::<u64>(), events);
            assert!(heat.cells.iter().all(|c| c.0 < COLUMNS && c.1 < heat.rows));
            assert!(heat.cells.windows(2).all(|w| (w[0].0, w[0].1) < (w[1].0, w[1].1)));
        }
        assert_eq!(build_heatmap(&RunRecord::default(), 0.0, 1.0), None);
    }

    #[test]
    fn a_value_lies_between_the_edges_of_its_row() {
        let edge = |row: usize| LOW_NS * 10f64.powf(row as f64 / f64::from(ROWS_PER_DECADE));
        for value in [100, 101, 999, 1_500_000, 34_000_000_000] {
            let row = latency_row(value);
            let value = value as f64;
            assert!(edge(row) <= value * 1.0001 && value < edge(row + 1), "{value} in {row}");
        }
        assert_eq!((latency_row(0), latency_row(u64::MAX)), (0, ROWS - 1));
    }
}
