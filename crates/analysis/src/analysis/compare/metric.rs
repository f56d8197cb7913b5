//! What can be compared.

use super::super::number_format::{format_bytes, format_number, format_percent, format_time};

/// A metric of a variant in one block.
pub(super) struct ComparedMetric {
    /// Name in the findings, with its unit.
    pub(super) name: &'static str,
    /// Other names it goes by.
    pub(super) aliases: &'static [&'static str],
    /// In a sentence.
    pub(super) title: &'static str,
    /// In a table, short.
    pub(super) label: &'static str,
    /// A value of it, with its unit.
    pub(super) show: fn(f64) -> String,
    /// Whether more is better.
    pub(super) more_is_better: bool,
}

const fn lower_is_better(
    name: &'static str,
    aliases: &'static [&'static str],
    title: &'static str,
    label: &'static str,
    show: fn(f64) -> String,
) -> ComparedMetric {
    ComparedMetric { name, aliases, title, label, show, more_is_better: false }
}

const fn higher_is_better(
    name: &'static str,
    aliases: &'static [&'static str],
    title: &'static str,
    label: &'static str,
    show: fn(f64) -> String,
) -> ComparedMetric {
    ComparedMetric { name, aliases, title, label, show, more_is_better: true }
}

/// All of them, in the order shown after the one that decides. Costs are those of `cost.rs`.
#[rustfmt::skip]
pub(super) const METRICS: &[ComparedMetric] = &[
    higher_is_better("events_per_s", &["tps", "rate", "throughput"], "events/s",
        "events per second", format_number),
    lower_is_better("p50_s", &["p50", "median"], "median response time",
        "p50 response time", format_time),
    lower_is_better("p95_s", &["p95"], "95th percentile of the response time",
        "p95 response time", format_time),
    lower_is_better("p99_s", &["p99"], "99th percentile of the response time",
        "p99 response time", format_time),
    lower_is_better("p999_s", &["p999", "p99.9"], "99.9th percentile of the response time",
        "p99.9 response time", format_time),
    lower_is_better("mean_s", &["mean"], "mean response time", "mean response time", format_time),
    higher_is_better("kept_share", &[], "share of the work not lost in stalls",
        "work not lost in stalls", format_percent),
    lower_is_better("server_cpu_us", &[], "server CPU per event",
        "server CPU per event", |us| format_time(us / 1e6)),
    lower_is_better("context_switches", &[], "context switches per event",
        "context switches per event", format_number),
    lower_is_better("pages_read", &[], "pages read per event",
        "pages read per event", format_number),
    lower_is_better("pages_written", &[], "pages written per event",
        "pages written per event", format_number),
    lower_is_better("redo_bytes", &[], "redo per event", "redo written per event", format_bytes),
    lower_is_better("fsyncs", &[], "fsyncs per event", "fsyncs per event", format_number),
];

/// The metric of this name in the findings.
pub(super) fn find_metric(name: &str) -> Option<&'static ComparedMetric> {
    METRICS.iter().find(|m| m.name == name || m.aliases.contains(&name))
}

/// The name in the findings of a metric as people write it: `p99_s` for `lateness_p99_s`. `None` if there is no such metric.
pub fn metric_name(text: &str) -> Option<&'static str> {
    find_metric(text.trim()).map(|m| m.name)
}

/// Names of all metrics that can decide.
pub fn metric_names() -> Vec<&'static str> {
    METRICS.iter().map(|m| m.name).collect()
}

/// A metric in plain words: `p99 response time` for `p99_s`; a name that is not known as it stands.
pub fn metric_label(name: &str) -> &str {
    find_metric(name).map_or(name, |m| m.label)
}

/// A value of a metric with its unit: `11.8 ms`.
pub fn metric_value_text(name: &str, value: f64) -> String {
    find_metric(name).map_or(format_number as fn(f64) -> String, |m| m.show)(value)
}
