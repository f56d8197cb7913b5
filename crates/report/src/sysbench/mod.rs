//! The texts of sysbench's reports, for whoever reads them by program: banner, options, interval lines, checkpoints, the
//! final report. Pure functions over plain data.
//! Never knows: how numbers were made, verbosity, where a text goes.

mod final_report;
mod formats;
mod page;

pub use final_report::{FinalReport, final_report_text, histogram_text, worker_text};
pub use formats::{IntervalFigures, csv_header, csv_line, json_document};
pub use page::html_document;

use crate::analysis::LoadFigures;

/// The version whose command line and texts these are.
pub const VERSION: &str = "1.0.20";

/// Which sysbench's reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SysbenchStyle {
    /// 1.0, the last release.
    #[default]
    V1_0,
    /// 1.1, which never was one.
    V1_1,
}

/// What a test does, as far as its reports differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestFamily {
    /// Statements.
    Sql,
    /// `cpu`.
    Cpu,
    /// `memory`.
    Memory,
    /// `fileio`.
    Fileio,
    /// A test without figures of its own: `threads`, `mutex`, a script that sends no statement.
    Plain,
}

/// What stands above a run.
#[derive(Clone, Debug, Default)]
pub struct RunPreamble {
    /// Threads.
    pub threads: i64,
    /// Warm-up, seconds; 0 for none.
    pub warmup_s: i64,
    /// Events per second; 0 for a closed loop.
    pub rate: i64,
    /// Interval of the lines, as it was typed; empty for none.
    pub report_interval: String,
    /// Checkpoints, seconds.
    pub checkpoints: Vec<u64>,
    /// Whether debug mode is on.
    pub debug: bool,
    /// Whether results are validated.
    pub validate: bool,
    /// Seed; 0 for one from the clock.
    pub seed: i64,
    /// After how many seconds the run is cut.
    pub forced_shutdown_s: Option<i64>,
}

/// `sysbench 1.0.20 (using ...)` and a blank line.
pub fn banner_text(style: SysbenchStyle) -> String {
    match style {
        SysbenchStyle::V1_0 => {
            format!("sysbench {VERSION} (using system LuaJIT 2.1.0-beta3)\n\n")
        }
        SysbenchStyle::V1_1 => "sysbench 1.1.0 (using bundled LuaJIT 2.1.0-beta3)\n\n".to_owned(),
    }
}

/// The options of a run, to the blank line before the test's own.
pub fn preamble_text(preamble: &RunPreamble) -> String {
    let mut text = format!(
        "Running the test with following options:\nNumber of threads: {}\n",
        preamble.threads
    );
    if preamble.warmup_s > 0 {
        text += &format!("Warmup time: {}s\n", preamble.warmup_s);
    }
    if preamble.rate != 0 {
        text += &format!("Target transaction rate: {}/sec\n", preamble.rate);
    }
    if !preamble.report_interval.is_empty() {
        let every = &preamble.report_interval;
        text += &format!("Report intermediate results every {every} second(s)\n");
    }
    if !preamble.checkpoints.is_empty() {
        let list: Vec<String> = preamble.checkpoints.iter().map(u64::to_string).collect();
        text += &format!("Report checkpoint(s) at {} seconds\n", list.join(", "));
    }
    if preamble.debug {
        text += "Debug mode enabled.\n\n";
    }
    if preamble.validate {
        text += "Validation checks: on.\n\n";
    }
    text += &match preamble.seed {
        0 => "Initializing random number generator from current time\n\n".to_owned(),
        seed => format!("Initializing random number generator from seed ({seed}).\n\n"),
    };
    if let Some(seconds) = preamble.forced_shutdown_s {
        text += &format!("Forcing shutdown in {seconds} seconds\n");
    }
    text + "\n"
}

/// What an interval line shows beside the figures.
#[derive(Clone, Copy, Debug)]
pub struct IntervalHeading {
    /// What the test does.
    pub family: TestFamily,
    /// End of the interval since the load began, seconds.
    pub at_s: f64,
    /// Threads.
    pub threads: usize,
    /// Whether arrivals have a rate, which adds a line.
    pub has_rate: bool,
}

/// The line of an interval, and in an open loop the one about its queue.
pub fn interval_text(line: &IntervalHeading, figures: &LoadFigures) -> String {
    let (at, threads) = (format_seconds(line.at_s), line.threads);
    let shares = percentile_label(figures);
    let times = join_percentiles(figures, if line.family == TestFamily::Fileio { 3 } else { 2 });
    let rate = |count| figures.rate(count);
    let (reads, writes) = (figures.count("reads"), figures.count("writes"));
    let other = figures.count("other");
    let mut text = match line.family {
        TestFamily::Sql => format!(
            "[ {at}s ] thds: {threads} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) \
             lat (ms,{shares}%): {times} err/s: {:.2} reconn/s: {:.2}\n",
            rate(figures.events),
            rate(reads + writes + other),
            rate(reads),
            rate(writes),
            rate(other),
            rate(figures.errors),
            rate(figures.reconnects),
        ),
        TestFamily::Fileio => format!(
            "[ {at}s ] reads: {:.2} MiB/s writes: {:.2} MiB/s fsyncs: {:.2}/s \
             latency (ms,{shares}%): {times}\n",
            to_mib(rate(figures.count("bytes_read"))),
            to_mib(rate(figures.count("bytes_written"))),
            rate(class_events(figures, FSYNCS)),
        ),
        TestFamily::Memory => {
            format!("[ {at}s ] {:.2} MiB/sec\n", to_mib(rate(figures.count("bytes"))))
        }
        TestFamily::Cpu | TestFamily::Plain => format!(
            "[ {at}s ] thds: {threads} eps: {:.2} lat (ms,{shares}%): {times}\n",
            rate(figures.events)
        ),
    };
    if line.has_rate {
        let comma = if line.family == TestFamily::Sql { "," } else { "" };
        text += &format!(
            "[ {at}s ] queue length: {}{comma} concurrency: {}\n",
            figures.queued, figures.in_flight
        );
    }
    text
}

/// Whole seconds without a point, others as short as they are.
fn format_seconds(seconds: f64) -> String {
    let tenths = (seconds * 10.0).round() / 10.0;
    if (tenths - tenths.round()).abs() < 0.05 { format!("{tenths:.0}") } else { tenths.to_string() }
}

/// `95`, or `50/95/99.9`; `0` where none was asked for.
fn percentile_label(figures: &LoadFigures) -> String {
    let names: Vec<String> =
        figures.percentiles.iter().map(|(percentile, _)| percentile.to_string()).collect();
    if names.is_empty() { "0".to_owned() } else { names.join("/") }
}

fn join_percentiles(figures: &LoadFigures, digits: usize) -> String {
    let times: Vec<String> =
        figures.percentiles.iter().map(|(_, ms)| format!("{ms:.digits$}")).collect();
    if times.is_empty() { format!("{:.digits$}", 0.0) } else { times.join("/") }
}

/// The classes of `fileio`, by their places.
const READS: usize = 0;
const WRITES: usize = 1;
const FSYNCS: usize = 2;

fn class_events(figures: &LoadFigures, class: usize) -> u64 {
    figures.class_events.get(class).copied().unwrap_or(0)
}

fn to_mib(bytes: f64) -> f64 {
    bytes / (1024.0 * 1024.0)
}

#[cfg(test)]
mod tests;
