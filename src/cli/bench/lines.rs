//! The load in plain lines: one per interval.

use crate::analysis::number_format::{UNKNOWN, format_count, format_number, format_time};
use crate::analysis::{LiveInterval, SteadyOutlook, steady_in_words};
use crate::workload::JobProgress;

/// `[   3 s]  3 998 events/s  p50 1.92 ms  p95 ...`
pub(super) fn interval_line(beat: &LiveInterval) -> String {
    let shown = |seconds: Option<f64>| seconds.map_or_else(|| UNKNOWN.to_owned(), format_time);
    let mut line = format!(
        "[{:>5.*} s]  {:>9} events/s  p50 {}  p95 {}  p99 {}  max {}  errors {}",
        if beat.at_s.fract().abs() < 0.01 { 0 } else { 1 },
        beat.at_s,
        format_number(beat.events_per_s),
        shown(beat.p50_s),
        shown(beat.p95_s),
        shown(beat.p99_s),
        shown(beat.max_s),
        beat.errors,
    );
    if beat.reconnects > 0 {
        line += &format!("  reconnects {}", beat.reconnects);
    }
    if let Some(lateness) = beat.lateness_p99_s {
        line += &format!("  lateness p99 {}", format_time(lateness));
    }
    if beat.backlog > 0 {
        line += &format!("  backlog {}", beat.backlog);
    }
    line
}

/// `[   3 s]  select_key  212 of 858 rounds (25 %)`
pub(super) fn work_line(at_s: f64, progress: &JobProgress) -> String {
    format!("[{at_s:>5.0} s]  {}", work_text(progress))
}

/// `select_key  212 of 858 rounds (25 %)`
pub(in super::super) fn work_text(progress: &JobProgress) -> String {
    let JobProgress { label, done, total, unit } = progress;
    let percent = 100.0 * *done as f64 / (*total).max(1) as f64;
    format!("{label}  {} of {} {unit} ({percent:.0} %)", format_count(*done), format_count(*total))
}

/// `[  70 s]  steady from 20.0 s on at 5 000 events/s (known to 0.80 %)`
pub(super) fn outlook_line(outlook: &SteadyOutlook) -> String {
    format!("[{:>5.0} s]  {}", outlook.at_s, steady_in_words(&outlook.steady))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_work_names_what_is_under_way() {
        let label = "select_key".to_owned();
        let progress = JobProgress { label, done: 212, total: 858, unit: "rounds" };
        assert_eq!(work_line(3.0004, &progress), "[    3 s]  select_key  212 of 858 rounds (25 %)");
    }

    #[test]
    fn a_line_says_what_the_interval_felt_like() {
        let beat = LiveInterval {
            at_s: 3.0004,
            events_per_s: 3998.4,
            p50_s: Some(0.00192),
            p99_s: Some(0.0118),
            max_s: Some(0.412),
            errors: 2,
            ..LiveInterval::default()
        };
        assert_eq!(
            interval_line(&beat),
            "[    3 s]      3 998 events/s  p50 1.92 ms  p95 -  p99 11.8 ms  max 412 ms  errors 2"
        );
        let beat = LiveInterval {
            at_s: 0.5,
            backlog: 7,
            reconnects: 1,
            lateness_p99_s: Some(4e-5),
            ..beat
        };
        assert!(
            interval_line(&beat)
                .ends_with("errors 2  reconnects 1  lateness p99 40.0 µs  backlog 7"),
            "{}",
            interval_line(&beat)
        );
        assert!(interval_line(&beat).starts_with("[  0.5 s]"), "{}", interval_line(&beat));
    }
}
