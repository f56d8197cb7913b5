//! What cron will start soon, from its tables as far as they may be read. Timers of systemd are not looked at: only
//! systemd knows when they are due.

use std::fs::{read_dir, read_to_string};

use crate::base::kernel::{LocalTime, local_time};
use crate::probe::host::NamedNumbers;

/// How far ahead to look, minutes.
const AHEAD: u64 = 15;

/// `cron.due`: jobs of the machine's own tables that start within a quarter of an hour. Nothing where there are no
/// tables.
pub(super) fn count_due_jobs(unix_s: u64) -> NamedNumbers {
    let mut tables: Vec<String> = read_to_string("/etc/crontab").into_iter().collect();
    for entry in read_dir("/etc/cron.d").into_iter().flatten().flatten() {
        tables.extend(read_to_string(entry.path()));
    }
    if tables.is_empty() {
        return Vec::new();
    }
    let minutes: Vec<LocalTime> =
        (0..AHEAD).filter_map(|ahead| local_time(unix_s + 60 * ahead)).collect();
    let jobs = tables.iter().flat_map(|table| table.lines());
    let number = jobs.filter(|line| minutes.iter().any(|at| starts_job(line, at))).count();
    vec![("cron.due".to_owned(), number as f64)]
}

/// Whether a line of a table starts a job in this minute.
fn starts_job(line: &str, at: &LocalTime) -> bool {
    let fields: Vec<&str> = line.split_ascii_whitespace().take(6).collect();
    let [minute, hour, day, month, weekday, _] = fields[..] else { return false };
    if line.trim_start().starts_with(['#', '@']) {
        return false;
    }
    let holds = |field: &str, value: u32| field_matches(field, value) == Some(true);
    // Where both are restricted, cron takes either.
    let on_day = holds(day, at.day);
    let on_weekday = holds(weekday, at.weekday) || (at.weekday == 0 && holds(weekday, 7));
    let date = match (day.starts_with('*'), weekday.starts_with('*')) {
        (false, false) => on_day || on_weekday,
        _ => on_day && on_weekday,
    };
    holds(minute, at.minute) && holds(hour, at.hour) && holds(month, at.month) && date
}

/// `*`, `5`, `1-4`, `*/10`, `1-30/2`, lists of them, and names of days and months by their first three letters; `None`
/// for what is none of them.
fn field_matches(field: &str, value: u32) -> Option<bool> {
    let mut any = false;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse().ok().filter(|s| *s > 0)?),
            None => (part, 1),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (0, u32::MAX),
            Some((first, last)) => (parse_value(first)?, parse_value(last)?),
            None => {
                let only = parse_value(range)?;
                (only, if step > 1 { u32::MAX } else { only })
            }
        };
        any |= (first..=last).contains(&value) && (value - first) % step == 0;
    }
    Some(any)
}

fn parse_value(word: &str) -> Option<u32> {
    const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let place = |names: &[&str]| names.iter().position(|n| word.eq_ignore_ascii_case(n));
    let day = place(&DAYS).or_else(|| place(&MONTHS).map(|month| month + 1));
    word.parse().ok().or(day.and_then(|place| u32::try_from(place).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Saturday, the 21st of November, 12:35.
    const AT: LocalTime = LocalTime {
        second: 0,
        minute: 35,
        hour: 12,
        day: 21,
        month: 11,
        weekday: 6,
        year: 2026,
        utc_offset_s: 0,
    };

    #[test]
    fn a_job_starts_when_all_its_fields_fit() {
        for line in [
            "35 12 * * * root run",
            "*/5 * * * * root run",
            "0-59/5 12 * nov sat root run",
            "5,35 0-12 21 11 * root run",
            "35 12 1 * 6 root run",
        ] {
            assert!(starts_job(line, &AT), "{line}");
        }
        for line in [
            "36 12 * * * root run",
            "*/10 * * * * root run",
            "35 12 22 * * root run",
            "35 12 1 * 0 root run",
            "# 35 12 * * * root run",
            "@daily root run",
            "SHELL=/bin/sh",
            "35 12 * * x root run",
            "",
        ] {
            assert!(!starts_job(line, &AT), "{line}");
        }
        let sunday = LocalTime { weekday: 0, ..AT };
        assert!(starts_job("35 12 * * 7 root run", &sunday));
    }
}
