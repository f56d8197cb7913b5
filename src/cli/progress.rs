//! How far a longer piece of work is: one line written over on a terminal, a plain line every two seconds elsewhere.

use std::io::Write;
use std::time::Duration;

use crate::base::{Clock, Nanos, RealClock};
use crate::workload::Progress;

use super::desk::Terminal;

/// Time between two looks on a terminal.
const REDRAW: Nanos = Nanos(100_000_000);
/// Time between two plain lines.
const PLAIN: Nanos = Nanos(2_000_000_000);

/// Shows progress on stderr.
pub(super) struct ProgressLine {
    clock: RealClock,
    overwrite: bool,
    quiet: bool,
    label: String,
    began: Nanos,
    shown: Option<Nanos>,
    dirty: bool,
}

impl ProgressLine {
    /// A line for this terminal; `quiet` shows nothing, `plain` never writes over a line.
    pub(super) fn new(terminal: Terminal, quiet: bool, plain: bool) -> ProgressLine {
        let clock = RealClock::start();
        ProgressLine {
            clock,
            overwrite: terminal.overwrite && !plain,
            quiet,
            label: String::new(),
            began: clock.now(),
            shown: None,
            dirty: false,
        }
    }

    /// Shows how far it is, now and then; a new label and the end are always shown.
    pub(super) fn show(&mut self, progress: &Progress) {
        if self.quiet {
            return;
        }
        let now = self.clock.now();
        let fresh = progress.label != self.label;
        if fresh {
            self.finish();
            self.label.clone_from(&progress.label);
            self.began = now;
            self.shown = None;
        }
        let pause = if self.overwrite { REDRAW } else { PLAIN };
        let through = progress.total > 0 && progress.done >= progress.total;
        let due = self.shown.is_none_or(|last| now.since(last) >= pause);
        if !due && !through {
            return;
        }
        self.shown = Some(now);
        let text = describe(progress, now.since(self.began));
        let mut err = std::io::stderr().lock();
        let _ = if self.overwrite {
            self.dirty = true;
            write!(err, "\r\x1b[K{text}").and_then(|()| err.flush())
        } else {
            writeln!(err, "{text}")
        };
    }

    /// Takes the line away, for another one in its place.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.dirty) {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
        self.label.clear();
    }

    /// Leaves the last state standing and goes to a new line.
    pub(super) fn finish(&mut self) {
        if std::mem::take(&mut self.dirty) {
            let _ = writeln!(std::io::stderr().lock());
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.finish();
    }
}

/// `sbtest1: rows  412 000 of 1 000 000 (41 %)  206 000/s  3 s left`
fn describe(progress: &Progress, elapsed: Nanos) -> String {
    let Progress { label, done, total, unit } = progress;
    let seconds = elapsed.seconds();
    let mut text = label.clone();
    if *total == 0 && *done == 0 {
        return text;
    }
    text += &format!("  {}", grouped(*done));
    if *total > 0 {
        let percent = 100.0 * *done as f64 / *total as f64;
        text += &format!(" of {} {unit} ({percent:.0} %)", grouped(*total));
    } else {
        text += &format!(" {unit}");
    }
    if seconds >= 0.5 && *done > 0 {
        let rate = *done as f64 / seconds;
        text += &format!("  {}/s", grouped(rate as u64));
        if *total > *done {
            let left = Duration::from_secs_f64((*total - *done) as f64 / rate);
            text += &format!("  {} left", time_left(left));
        }
    }
    text
}

fn time_left(left: Duration) -> String {
    match left.as_secs() {
        s @ 0..=99 => format!("{s} s"),
        s @ 100..=5999 => format!("{} min", s.div_ceil(60)),
        s => format!("{:.1} h", s as f64 / 3600.0),
    }
}

/// `1234567` as `1 234 567`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_reads_like_a_sentence() {
        let progress =
            Progress { label: "sbtest1".to_owned(), done: 412_000, total: 1_000_000, unit: "rows" };
        assert_eq!(
            describe(&progress, Nanos(2_000_000_000)),
            "sbtest1  412 000 of 1 000 000 rows (41 %)  206 000/s  2 s left"
        );
        let unknown = Progress { total: 0, ..progress };
        assert_eq!(describe(&unknown, Nanos(1)), "sbtest1  412 000 rows");
        let fresh = Progress { done: 0, ..unknown };
        assert_eq!(describe(&fresh, Nanos(1)), "sbtest1");
    }

    #[test]
    fn digits_stand_in_threes() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1 000");
        assert_eq!(grouped(1_234_567), "1 234 567");
    }
}
