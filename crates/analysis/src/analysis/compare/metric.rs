//! What can be compared.

/// A metric of a variant in one block.
pub(super) struct ComparedMetric {
    /// Name in the findings, with its unit.
    pub(super) name: &'static str,
    /// Other names it goes by.
    pub(super) aliases: &'static [&'static str],
    /// In a sentence.
    pub(super) title: &'static str,
    /// Whether more is better.
    pub(super) more_is_better: bool,
}

const fn lower_is_better(
    name: &'static str,
    aliases: &'static [&'static str],
    title: &'static str,
) -> ComparedMetric {
    ComparedMetric { name, aliases, title, more_is_better: false }
}

const fn higher_is_better(
    name: &'static str,
    aliases: &'static [&'static str],
    title: &'static str,
) -> ComparedMetric {
    ComparedMetric { name, aliases, title, more_is_better: true }
}

/// All of them, in the order shown after the one that decides. Costs are those of `cost.rs`.
pub(super) const METRICS: &[ComparedMetric] = &[
    higher_is_better("events_per_s", &["tps", "rate", "throughput"], "events/s"),
    lower_is_better("p50_s", &["p50", "median"], "median response time"),
    lower_is_better("p95_s", &["p95"], "95th percentile of the response time"),
    lower_is_better("p99_s", &["p99"], "99th percentile of the response time"),
    lower_is_better("p999_s", &["p999", "p99.9"], "99.9th percentile of the response time"),
    lower_is_better("mean_s", &["mean"], "mean response time"),
    higher_is_better("kept_share", &[], "share of the work not lost in stalls"),
    lower_is_better("server_cpu_us", &[], "server CPU per event"),
    lower_is_better("context_switches", &[], "context switches per event"),
    lower_is_better("pages_read", &[], "pages read per event"),
    lower_is_better("pages_written", &[], "pages written per event"),
    lower_is_better("redo_bytes", &[], "redo per event"),
    lower_is_better("fsyncs", &[], "fsyncs per event"),
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
