//! A span of a watch as text, JSON or a page.

mod gnuplot;
mod json;
#[cfg(test)]
mod tests;
mod text;

use std::io::{self, Write};

use sweat_engine::base::calendar::civil_from_days;

use crate::analysis::number_format::{format_count, format_number, format_percent};
use crate::analysis::{WatchFindings, WatchStall, WatchUnit};

use super::{ReportDetail, ReportStyle, html};

/// Formats that a watch has.
pub const WATCH_FORMATS: &[&str] = &["text", "json", "html", GNUPLOT, CLASSIC];
/// Those that only a watch has, each with a line about it. The samples themselves are not findings: who reads them writes the
/// last one.
pub const WATCH_ONLY_FORMATS: &[(&str, &str)] = &[
    (GNUPLOT, "of a watch: a line per interval for gnuplot"),
    (CLASSIC, "of a watch: its status as capture scripts write it"),
];
const GNUPLOT: &str = "gnuplot";
/// The samples of the status as a capture script writes them.
pub const CLASSIC: &str = "classic";

/// Writes a span of a watch in a format of [`WATCH_FORMATS`].
///
/// # Errors
/// When it can't be written.
pub fn write_watch(
    found: &WatchFindings,
    format: &str,
    style: ReportStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        "json" => json::write_json(found, out),
        "html" => html::write_watch_page(found, out),
        GNUPLOT => gnuplot::write_intervals(found, out),
        _ => text::write_text(found, style.detail == ReportDetail::Full, out),
    }
}

/// `1 234 queries/s in the median of 10 min, 2 stalls`
pub(crate) fn headline(found: &WatchFindings) -> String {
    let Some(queries) = found.figure("queries_per_s") else {
        return "no samples of the server's counters in this span".to_owned();
    };
    let seconds: f64 = found.rows.iter().map(|row| row.seconds).sum();
    let stalls = match found.stalls.len() {
        0 => "no stalls".to_owned(),
        1 => "1 stall".to_owned(),
        many => format!("{many} stalls"),
    };
    format!(
        "{} queries/s in the median of {}, {stalls}",
        format_number(queries.median),
        sweat_engine::base::units::show_duration(seconds, 2)
    )
}

/// A value by what it counts.
pub(crate) fn value_text(value: f64, unit: WatchUnit) -> String {
    match unit {
        WatchUnit::Share => format_percent(value),
        WatchUnit::Cores => format!("{value:.2}"),
        WatchUnit::Count if value.fract() == 0.0 => format_count(value as u64),
        WatchUnit::PerSecond | WatchUnit::Count => format_number(value),
    }
}

/// Day and time of day of a time, in the time zone of the machine that reads it.
pub(crate) fn local_texts(found: &WatchFindings, unix_s: f64) -> (String, String) {
    let local = unix_s.round() as i64 + found.utc_offset_s;
    let (year, month, day) = civil_from_days(local.div_euclid(86_400));
    let second = local.rem_euclid(86_400);
    let clock = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    (format!("{year:04}-{month:02}-{day:02}"), clock)
}

/// From when to when, and how many samples.
pub(crate) fn span_text(found: &WatchFindings) -> String {
    let (Some(first), Some(last)) = (found.rows.first(), found.rows.last()) else {
        return format!("{} samples", found.samples);
    };
    let (day, from) = local_texts(found, first.ended_s - first.seconds);
    let (last_day, to) = local_texts(found, last.ended_s);
    let to = if day == last_day { to } else { format!("{last_day} {to}") };
    let minutes = found.utc_offset_s / 60;
    let zone = match minutes {
        0 => "UTC".to_owned(),
        _ => format!("UTC{:+03}:{:02}", minutes / 60, minutes.abs() % 60),
    };
    let every = found.interval_s.map(|s| format!(" every {s} s"));
    format!(
        "{day} {from} to {to} {zone}: {} samples{}, {} missing",
        found.samples,
        every.unwrap_or_default(),
        found.missing()
    )
}

/// `full stop`, `slow`
pub(crate) fn stall_word(stall: &WatchStall) -> &'static str {
    if stall.is_full_stop { "full stop" } else { "slow" }
}
