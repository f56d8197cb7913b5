//! A load's intervals as rates at equal distances, whatever lengths the intervals really had.
//! Never knows: what a rate means.

/// What was done between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct EventSpan {
    /// When it began, nanoseconds.
    pub(super) began_ns: u64,
    /// When it ended, nanoseconds.
    pub(super) ended_ns: u64,
    /// Good events that ended meanwhile.
    pub(super) events: u64,
}

impl EventSpan {
    fn seconds(self) -> f64 {
        self.ended_ns.saturating_sub(self.began_ns) as f64 / 1e9
    }
}

/// Rates at equal distances.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RateCells {
    /// Length of a cell, seconds: one, or that of a usual interval if it is longer.
    pub(super) step_s: f64,
    /// Good events per second, cell by cell from the begin.
    pub(super) rates: Vec<f64>,
}

impl RateCells {
    /// Lays spans, in their order, onto equal cells; within a span events are taken as evenly spread. What is left at
    /// the end and fills no cell is left out: the last interval of a load is seldom whole.
    pub(super) fn from_spans(spans: &[EventSpan]) -> RateCells {
        let mut lengths: Vec<f64> = spans.iter().map(|s| s.seconds()).collect();
        let usual = crate::analysis::statistics::robust::median_in_place(&mut lengths);
        let step_s = usual.unwrap_or(0.0).max(1.0);
        // A clock that ticks a little short of a second still makes cells of a second.
        let step_s = if step_s < 1.05 { 1.0 } else { step_s };
        let Some(first) = spans.first() else { return RateCells { step_s, rates: Vec::new() } };
        let at = |ns: u64| ns.saturating_sub(first.began_ns) as f64 / 1e9 / step_s;
        let whole = spans.last().map_or(0, |last| (at(last.ended_ns) + SLACK) as usize);
        let mut events = vec![0.0; whole];
        for span in spans {
            let (from, to) = (at(span.began_ns), at(span.ended_ns));
            if to <= from {
                continue;
            }
            let per_cell = span.events as f64 / (to - from);
            let last = (to.ceil() as usize).min(whole);
            for (cell, events) in events.iter_mut().enumerate().take(last).skip(from as usize) {
                let share = (to.min(cell as f64 + 1.0) - from.max(cell as f64)).max(0.0);
                *events += per_cell * share;
            }
        }
        RateCells { step_s, rates: events.into_iter().map(|n| n / step_s).collect() }
    }

    /// Length of all cells, seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.rates.len() as f64 * self.step_s
    }
}

/// A last cell may lack this share of its length and still count as whole.
const SLACK: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(ends_ms: &[(u64, u64)]) -> Vec<EventSpan> {
        let mut began_ns = 7_000_000_000;
        let mut all = Vec::new();
        for (ms, events) in ends_ms {
            let ended_ns = 7_000_000_000 + ms * 1_000_000;
            all.push(EventSpan { began_ns, ended_ns, events: *events });
            began_ns = ended_ns;
        }
        all
    }

    fn near(found: &RateCells, step_s: f64, rates: &[f64]) {
        assert_eq!(found.step_s, step_s);
        assert_eq!(found.rates.len(), rates.len(), "{found:?}");
        for (found, wanted) in found.rates.iter().zip(rates) {
            assert!((found - wanted).abs() < 1e-6, "{found} for {wanted}");
        }
    }

    #[test]
    fn seconds_stay_seconds() {
        near(
            &RateCells::from_spans(&spans(&[(1000, 5), (2000, 7), (3000, 9)])),
            1.0,
            &[5.0, 7.0, 9.0],
        );
    }

    #[test]
    fn short_intervals_are_merged_and_the_rest_is_left_out() {
        let fifths: Vec<(u64, u64)> = (1..=12).map(|i| (i * 200, i)).collect();
        near(&RateCells::from_spans(&spans(&fifths)), 1.0, &[15.0, 40.0]);
    }

    #[test]
    fn long_intervals_are_cells_of_their_own() {
        near(&RateCells::from_spans(&spans(&[(10_000, 50), (20_000, 70)])), 10.0, &[5.0, 7.0]);
    }

    #[test]
    fn an_interval_that_was_read_late_is_spread_over_its_real_length() {
        let late = spans(&[(1000, 10), (3000, 20), (4000, 10), (5000, 10)]);
        near(&RateCells::from_spans(&late), 1.0, &[10.0; 5]);
    }

    #[test]
    fn nothing_is_nothing() {
        near(&RateCells::from_spans(&[]), 1.0, &[]);
        near(&RateCells::from_spans(&spans(&[(0, 5)])), 1.0, &[]);
        near(&RateCells::from_spans(&spans(&[(990, 5)])), 1.0, &[5.0]);
    }
}
