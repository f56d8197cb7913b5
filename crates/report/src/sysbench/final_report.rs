//! The report at a checkpoint and at the end.

use super::{FSYNCS, READS, SysbenchStyle, TestFamily, WRITES, class_events, to_mib};
use crate::analysis::{LoadFigures, LogBucket};

/// Longest bar of a histogram, characters.
const LONGEST_BAR: f64 = 40.0;

/// What the final report shows beside the figures.
#[derive(Clone, Copy, Debug)]
pub struct FinalReport {
    /// What the test does.
    pub family: TestFamily,
    /// Whose report.
    pub style: SysbenchStyle,
    /// Seconds since the load began.
    pub total_s: f64,
    /// Transactions that were given up when the run was cut.
    pub unfinished: Option<u64>,
}

/// The report: the test's own figures, time and events, latency, fairness.
pub fn final_report_text(report: &FinalReport, figures: &LoadFigures) -> String {
    let mut text = match report.family {
        TestFamily::Sql => sql_text(figures),
        TestFamily::Cpu => {
            let rate = figures.rate(figures.events);
            format!("CPU speed:\n    events per second: {rate:8.2}\n\n")
        }
        TestFamily::Memory => memory_text(figures),
        TestFamily::Fileio => fileio_text(report.style, figures),
        TestFamily::Plain => "\n".to_owned(),
    };
    if let Some(unfinished) = report.unfinished {
        text += &format!("Number of unfinished transactions on forced shutdown: {unfinished}\n\n");
    }
    let is_new_fileio = report.family == TestFamily::Fileio && report.style == SysbenchStyle::V1_1;
    if !is_new_fileio {
        text += &general_text(report, figures);
    }
    text += &latency_text(figures);
    if !is_new_fileio {
        let fair = figures.fairness;
        text += &format!(
            "Threads fairness:\n    events (avg/stddev):           {:.4}/{:.2}\n    \
             execution time (avg/stddev):   {:.4}/{:.2}\n\n",
            fair.events_mean, fair.events_deviation, fair.time_mean_s, fair.time_deviation_s
        );
    }
    text
}

/// What each worker did, for `--debug`: events, and seconds inside them.
pub fn worker_text(workers: impl Iterator<Item = (u64, f64)>) -> String {
    let mut text = "DEBUG: Verbose per-thread statistics:\n\n".to_owned();
    for (number, (events, total_s)) in workers.enumerate() {
        let mean_s = total_s / events.max(1) as f64;
        text += &format!(
            "DEBUG:     thread #{number:3}: avg: {mean_s:.4}s  events: {events}\n\
             DEBUG:                  total time taken by event execution: {total_s:.4}s\n"
        );
    }
    text + "\n"
}

fn sql_text(figures: &LoadFigures) -> String {
    let (reads, writes) = (figures.count("reads"), figures.count("writes"));
    let other = figures.count("other");
    let queries = reads + writes + other;
    let mut text = format!(
        "SQL statistics:\n    queries performed:\n        \
         read:                            {reads}\n        \
         write:                           {writes}\n        \
         other:                           {other}\n        \
         total:                           {queries}\n"
    );
    let rows = [
        ("transactions:", figures.events),
        ("queries:", queries),
        ("ignored errors:", figures.errors),
        ("reconnects:", figures.reconnects),
    ];
    for (label, count) in rows {
        text += &format!("    {label:<37}{count:<6} ({:.2} per sec.)\n", figures.rate(count));
    }
    text + "\n"
}

fn memory_text(figures: &LoadFigures) -> String {
    let bytes = figures.count("bytes");
    let operations = format!(
        "Total operations: {} ({:8.2} per second)\n\n",
        figures.events,
        figures.rate(figures.events),
    );
    let transferred = match bytes {
        0 => "\n".to_owned(),
        _ => format!(
            "{:4.2} MiB transferred ({:4.2} MiB/sec)\n\n\n",
            to_mib(bytes as f64),
            to_mib(figures.rate(bytes)),
        ),
    };
    operations + &transferred
}

fn fileio_text(style: SysbenchStyle, figures: &LoadFigures) -> String {
    let rate = |name| figures.rate(figures.count(name));
    let events = |class| figures.rate(class_events(figures, class));
    let (read, written) = (rate("bytes_read"), rate("bytes_written"));
    if style == SysbenchStyle::V1_1 {
        let line = |label: &str, operations: f64, bytes: f64| {
            format!(
                "         {label:<6} IOPS={operations:.2} {:.2} MiB/s ({:.2} MB/s)\n",
                to_mib(bytes),
                bytes / 1e6
            )
        };
        return format!(
            "\nThroughput:\n{}{}         fsync: IOPS={:.2}\n\n",
            line("read:", events(READS), read),
            line("write:", events(WRITES), written),
            events(FSYNCS),
        );
    }
    format!(
        "\nFile operations:\n    reads/s:                      {:4.2}\n    \
         writes/s:                     {:4.2}\n    fsyncs/s:                     {:4.2}\n\n\
         Throughput:\n    read, MiB/s:                  {:4.2}\n    \
         written, MiB/s:               {:4.2}\n\n",
        events(READS),
        events(WRITES),
        events(FSYNCS),
        to_mib(read),
        to_mib(written),
    )
}

fn general_text(report: &FinalReport, figures: &LoadFigures) -> String {
    let (seconds, events) = (report.total_s, figures.events);
    match report.style {
        SysbenchStyle::V1_0 => format!(
            "General statistics:\n    total time:                          {seconds:.4}s\n    \
             total number of events:              {events}\n\n"
        ),
        SysbenchStyle::V1_1 => format!(
            "Throughput:\n    events/s (eps):                      {:.4}\n    \
             time elapsed:                        {seconds:.4}s\n    \
             total number of events:              {events}\n\n",
            figures.rate(events)
        ),
    }
}

fn latency_text(figures: &LoadFigures) -> String {
    let mut text = "Latency (ms):\n".to_owned();
    let line = |label: &str, ms: f64| {
        format!("         {label}:{ms:>width$.2}\n", width = 43 - label.len())
    };
    text += &line("min", figures.min_ms);
    text += &line("avg", figures.mean_ms);
    text += &line("max", figures.max_ms);
    if figures.percentiles.is_empty() {
        text += "         percentile stats:               disabled\n";
    }
    for (percentile, ms) in &figures.percentiles {
        text += &line(&format!("{percentile}th percentile"), *ms);
    }
    text += &line("sum", figures.sum_ms);
    text + "\n"
}

/// A histogram with a bar for each bucket.
pub fn histogram_text(buckets: &[LogBucket]) -> String {
    let mut text = "Latency histogram (values are in milliseconds)\n       \
                    value  ------------- distribution ------------- count\n"
        .to_owned();
    let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    for bucket in buckets {
        let stars = (bucket.count as f64 / most as f64 * LONGEST_BAR + 0.5) as usize;
        let bar = "*".repeat(stars);
        text += &format!("{:12.3} |{bar:<40} {}\n", bucket.value_ms, bucket.count);
    }
    text + " \n"
}
