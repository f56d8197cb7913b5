//! The lines that http_load prints, for scripts that read them, and what it hides. Pure functions over plain data.
//! Never knows: how numbers were made, where a text goes.

use crate::analysis::{ExchangeTotals, TimeSpread};

/// Shortest load whose rate is printed, seconds.
const LEAST_SECONDS: f64 = 0.01;

/// All lines.
pub fn totals_text(totals: &ExchangeTotals) -> String {
    let ExchangeTotals { ended, most_parallel, body_bytes, seconds, .. } = totals;
    let (bytes, fetches) = (*body_bytes as f64, *ended as f64);
    let number = general_number;
    let mut text = format!(
        "{ended} fetches, {most_parallel} max parallel, {} bytes, in {} seconds\n",
        number(bytes),
        number(*seconds)
    );
    if *ended > 0 {
        text += &format!("{} mean bytes/connection\n", number(bytes / fetches));
    }
    if *seconds > LEAST_SECONDS {
        let (rate, flow) = (number(fetches / seconds), number(bytes / seconds));
        text += &format!("{rate} fetches/sec, {flow} bytes/sec\n");
    }
    text += &spread_line("connect", totals.connects);
    text += &spread_line("first-response", totals.waits);
    for (count, what) in [
        (totals.timed_out, "timeouts"),
        (totals.bad_sums, "bad checksums"),
        (totals.bad_sizes, "bad byte counts"),
        (totals.unconnected, "without a connection"),
        (totals.broken, "without a whole reply"),
        (totals.unfinished, "unfinished"),
    ] {
        if count > 0 {
            text += &format!("{count} {what}\n");
        }
    }
    text += "HTTP response codes:\n";
    for (status, count) in &totals.statuses {
        text += &format!("  code {status:03} -- {count}\n");
    }
    text
}

fn spread_line(what: &str, spread: TimeSpread) -> String {
    if spread.count == 0 {
        return String::new();
    }
    let [mean, most, least] = [spread.mean_ms, spread.most_ms, spread.least_ms].map(general_number);
    format!("msecs/{what}: {mean} mean, {most} max, {least} min\n")
}

/// A line of progress.
pub fn progress_line(seconds: f64, started: u64, completed: u64) -> String {
    let current = started.saturating_sub(completed);
    format!(
        "--- {} secs, {started} fetches started, {completed} completed, {current} current\n",
        general_number(seconds)
    )
}

/// A number as C's `%g` writes it: six digits, no zeros at the end.
fn general_number(value: f64) -> String {
    const DIGITS: i32 = 6;
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let scientific = format!("{value:.*e}", DIGITS as usize - 1);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..DIGITS).contains(&exponent) {
        let places = (DIGITS - 1 - exponent).max(0) as usize;
        return trimmed(&format!("{value:.places$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.343149, "0.343149"),
            (8_607_360.0, "8.60736e+06"),
            (5406.634, "5406.63"),
            (2.000_09, "2.00009"),
            (999_999.5, "1e+06"),
            (123_456.0, "123456"),
            (0.000_012_345_67, "1.23457e-05"),
            (0.000_123_4, "0.0001234"),
            (100.0, "100"),
            (14.722, "14.722"),
        ] {
            assert_eq!(general_number(value), text);
        }
    }

    #[test]
    fn the_lines_are_those_of_http_load() {
        let spread =
            |mean_ms, most_ms, least_ms| TimeSpread { count: 1, mean_ms, most_ms, least_ms };
        let totals = ExchangeTotals {
            ended: 1592,
            replied: 1592,
            most_parallel: 1,
            body_bytes: 8_607_360,
            seconds: 2.000_09,
            statuses: [(200, 1590), (404, 2)].into(),
            connects: spread(0.343_149, 14.722, 0.027),
            waits: spread(0.889_324, 66.182, 0.041),
            ..ExchangeTotals::default()
        };
        let text = "1592 fetches, 1 max parallel, 8.60736e+06 bytes, in 2.00009 seconds\n\
                    5406.63 mean bytes/connection\n\
                    795.964 fetches/sec, 4.30349e+06 bytes/sec\n\
                    msecs/connect: 0.343149 mean, 14.722 max, 0.027 min\n\
                    msecs/first-response: 0.889324 mean, 66.182 max, 0.041 min\n\
                    HTTP response codes:\n  code 200 -- 1590\n  code 404 -- 2\n";
        assert_eq!(totals_text(&totals), text);
        let none = ExchangeTotals { unfinished: 2, ..ExchangeTotals::default() };
        let text = "0 fetches, 0 max parallel, 0 bytes, in 0 seconds\n2 unfinished\n\
                    HTTP response codes:\n";
        assert_eq!(totals_text(&none), text);
        let line = "--- 60.1 secs, 100 fetches started, 99 completed, 1 current\n";
        assert_eq!(progress_line(60.1, 100, 99), line);
    }
}
