//! What can be compared.

/// A metric of a way in one block.
pub(super) struct Metric {
    /// Name in the findings, with its unit.
    pub(super) name: &'static str,
    /// Other names it goes by.
    pub(super) aliases: &'static [&'static str],
    /// In a sentence.
    pub(super) title: &'static str,
    /// Whether more is better.
    pub(super) more_is_better: bool,
}

const fn less(name: &'static str, aliases: &'static [&'static str], title: &'static str) -> Metric {
    Metric { name, aliases, title, more_is_better: false }
}

const fn more(name: &'static str, aliases: &'static [&'static str], title: &'static str) -> Metric {
    Metric { name, aliases, title, more_is_better: true }
}

/// All of them, in the order shown after the one that decides. Costs are those of `cost.rs`.
pub(super) const METRICS: &[Metric] = &[
    more("events_per_s", &["tps", "rate", "throughput"], "events/s"),
    less("p50_s", &["p50", "median"], "median response time"),
    less("p95_s", &["p95"], "95th percentile of the response time"),
    less("p99_s", &["p99"], "99th percentile of the response time"),
    less("p999_s", &["p999", "p99.9"], "99.9th percentile of the response time"),
    less("mean_s", &["mean"], "mean response time"),
    more("kept_share", &[], "share of the work not lost in stalls"),
    less("server_cpu_us", &[], "server CPU per event"),
    less("context_switches", &[], "context switches per event"),
    less("pages_read", &[], "pages read per event"),
    less("pages_written", &[], "pages written per event"),
    less("redo_bytes", &[], "redo per event"),
    less("fsyncs", &[], "fsyncs per event"),
];

/// The metric of this name in the findings.
pub(super) fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|m| m.name == name || m.aliases.contains(&name))
}

/// The name in the findings of a metric as people write it: `p99_s` for `p99`. `None` if there is no such metric.
pub fn metric_name(text: &str) -> Option<&'static str> {
    metric(text.trim()).map(|m| m.name)
}

/// Names of all metrics that can decide.
pub fn metric_names() -> Vec<&'static str> {
    METRICS.iter().map(|m| m.name).collect()
}
