//! How far a longer piece of work is: one line written over on a terminal, a plain line every two seconds elsewhere.

use std::io::Write;

use crate::base::terminal::sanitize_text;
use crate::base::units::show_duration;
use crate::base::{Clock, Nanos, RealClock};
use crate::workload::JobProgress;

use super::context::{TerminalFeatures, note_text};

/// Time between two looks on a terminal.
const REDRAW: Nanos = Nanos(100_000_000);
/// Time between two plain lines.
const PLAIN: Nanos = Nanos(2_000_000_000);

/// Shows progress on stderr.
pub(super) struct ProgressLine {
    clock: RealClock,
    overwrite: bool,
    quiet: bool,
    /// What is counted, and how much of it there is: a change begins a new piece of work.
    piece: (&'static str, u64),
    began: Nanos,
    done_before: u64,
    shown: Option<Nanos>,
    dirty: bool,
}

impl ProgressLine {
    /// A line for this terminal; `quiet` shows nothing, `plain` never writes over a line.
    pub(super) fn new(terminal: TerminalFeatures, quiet: bool, plain: bool) -> ProgressLine {
        let clock = RealClock::start_now();
        ProgressLine {
            clock,
            overwrite: terminal.overwrite && !plain,
            quiet,
            piece: ("", 0),
            began: clock.now(),
            done_before: 0,
            shown: None,
            dirty: false,
        }
    }

    /// Shows how far it is, now and then; a new piece of work and its end are always shown.
    pub(super) fn show(&mut self, progress: &JobProgress) {
        if self.quiet {
            return;
        }
        let now = self.clock.now();
        let piece = (progress.unit, progress.total);
        if piece != self.piece {
            self.piece = piece;
            self.began = now;
            self.done_before = progress.done;
            self.shown = None;
        }
        let pause = if self.overwrite { REDRAW } else { PLAIN };
        let through = progress.total > 0 && progress.done >= progress.total;
        let due = self.shown.is_none_or(|last| now.since(last) >= pause);
        if !due && !through {
            return;
        }
        self.shown = Some(now);
        let text = progress_text(progress, self.done_before, now.since(self.began));
        let text = sanitize_text(&text, false);
        let mut err = std::io::stderr().lock();
        let _ = if self.overwrite {
            self.dirty = true;
            let text: String = text.chars().take(terminal_width()).collect();
            write!(err, "\r\x1b[K{text}").and_then(|()| err.flush())
        } else {
            writeln!(err, "{text}")
        };
    }

    /// Takes the line away where it was written over.
    pub(super) fn finish(&mut self) {
        self.piece = ("", 0);
        if std::mem::take(&mut self.dirty) {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\x1b[K").and_then(|()| err.flush());
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Columns of the terminal, less one so that the line never wraps.
fn terminal_width() -> usize {
    let columns = rustix::termios::tcgetwinsize(std::io::stderr()).map_or(0, |size| size.ws_col);
    usize::from(if columns == 0 { 80 } else { columns }) - 1
}

/// `sbtest1: rows  412 000 of 1 000 000 (41 %)  206 000/s  3 s left`
/// `before` were done before the time began.
fn progress_text(progress: &JobProgress, before: u64, elapsed: Nanos) -> String {
    let JobProgress { label, done, total, unit } = progress;
    let seconds = elapsed.to_seconds();
    let mut text = label.clone();
    if *total == 0 && *done == 0 {
        return text;
    }
    text += &format!("  {}", group_digits(*done));
    if *total > 0 {
        let percent = 100.0 * *done as f64 / *total as f64;
        text += &format!(" of {} {unit} ({percent:.0} %)", group_digits(*total));
    } else {
        text += &format!(" {unit}");
    }
    if seconds >= 0.5 && *done > before {
        let rate = (*done - before) as f64 / seconds;
        // Seconds per second tell nothing.
        if *unit != "s" {
            text += &format!("  {}/s", group_digits(rate as u64));
        }
        if *total > *done {
            let left = (*total - *done) as f64 / rate;
            text += &format!("  {} left", show_duration(left, 2));
        }
    }
    text
}

/// `1234567` as `1 234 567`.
pub(super) fn group_digits(number: u64) -> String {
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

/// Things to know below a result.
pub(super) fn notes_text(notes: &[String]) -> String {
    notes.iter().map(|note| note_text(note)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_reads_like_a_sentence() {
        let progress = JobProgress {
            label: "sbtest1".to_owned(),
            done: 412_000,
            total: 1_000_000,
            unit: "rows",
        };
        assert_eq!(
            progress_text(&progress, 0, Nanos(2_000_000_000)),
            "sbtest1  412 000 of 1 000 000 rows (41 %)  206 000/s  3 s left"
        );
        // What was there before we looked says nothing about the rate.
        assert!(progress_text(&progress, 400_000, Nanos(2_000_000_000)).contains("  6 000/s  "));
        let unknown = JobProgress { total: 0, ..progress };
        assert_eq!(progress_text(&unknown, 0, Nanos(1)), "sbtest1  412 000 rows");
        let fresh = JobProgress { done: 0, ..unknown };
        assert_eq!(progress_text(&fresh, 0, Nanos(1)), "sbtest1");
    }

    #[test]
    fn digits_stand_in_threes() {
        assert_eq!(group_digits(0), "0");
        assert_eq!(group_digits(999), "999");
        assert_eq!(group_digits(1000), "1 000");
        assert_eq!(group_digits(1_234_567), "1 234 567");
    }
}
