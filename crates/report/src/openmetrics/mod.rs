//! OpenMetrics 1.0 text: the final numbers of a run, for a monitor that reads files. Names are stable; units are base
//! units; what is not known is left out.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::analysis::{
    CheckFinding, FindingResults, Findings, LatencySummary, RunHeader, TrialFinding,
};

use super::{ReportFormat, ReportStyle, state_word};

/// The format.
pub(super) const FORMAT: ReportFormat = ReportFormat {
    name: "openmetrics",
    about: "the numbers for a monitor, OpenMetrics text",
    refuse: ReportFormat::shows_all,
    write: write_metrics,
};

fn write_metrics(
    findings: Findings<'_>,
    _look: ReportStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    let results = findings.results();
    let (id, heads, checks) = match findings {
        Findings::Run(run) => (run.head.id.clone(), vec![&run.head], &run.checks[..]),
        Findings::Comparison(found) => {
            (found.joined_ids(), found.runs().map(|run| &run.head).collect(), &[][..])
        }
    };
    let mut text = MetricsText { out: String::new(), run: None };
    write_runs(&heads, &mut text);
    text.run = Some(id);
    write_loads(results, &mut text);
    write_verdicts(results, checks, &mut text);
    out.write_all(text.into_text().as_bytes())
}

/// The text so far.
#[derive(Clone, Debug, Default)]
pub struct MetricsText {
    out: String,
    /// The run that all samples are of; none for what is not archived.
    run: Option<String>,
}

impl MetricsText {
    /// Begins a family. `unit` is empty or the last part of the name.
    pub fn start_family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        let _ = writeln!(self.out, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.out, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.out, "# HELP {name} {help}");
    }

    /// A sample; nothing if the value is not known.
    pub fn write_sample(&mut self, name: &str, labels: &[(&str, &str)], value: Option<f64>) {
        let Some(value) = value.filter(|v| v.is_finite()) else { return };
        self.out.push_str(name);
        let run = self.run.iter().map(|run| ("run", run.as_str()));
        let mut sign = '{';
        for (label, content) in run.chain(labels.iter().copied()) {
            let _ = write!(self.out, "{sign}{label}=\"{}\"", escape_label(content));
            sign = ',';
        }
        let _ = writeln!(self.out, "{} {value}", if sign == ',' { "}" } else { "" });
    }

    /// The whole text.
    pub fn into_text(mut self) -> String {
        self.out.push_str("# EOF\n");
        self.out
    }
}

fn escape_label(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn write_runs(heads: &[&RunHeader], text: &mut MetricsText) {
    text.start_family("sweat_run", "info", "", "What ran.");
    for head in heads {
        text.run = Some(head.id.clone());
        let server = head.server.as_ref();
        let server = server.map(|s| format!("{} {}", s.product, s.version)).unwrap_or_default();
        let labels = [
            ("name", head.name.as_str()),
            ("command", head.command.as_str()),
            ("version", head.tool_version.as_str()),
            ("server", server.as_str()),
            ("state", state_word(head.state)),
        ];
        text.write_sample("sweat_run_info", &labels, Some(1.0));
    }
    text.start_family(
        "sweat_run_started_seconds",
        "gauge",
        "seconds",
        "When it started, since 1970.",
    );
    for head in heads {
        text.run = Some(head.id.clone());
        text.write_sample("sweat_run_started_seconds", &[], Some(head.origin_unix_ns as f64 / 1e9));
    }
    text.start_family("sweat_run_seconds", "gauge", "seconds", "How long it took.");
    for head in heads {
        text.run = Some(head.id.clone());
        text.write_sample("sweat_run_seconds", &[], head.seconds);
    }
}

/// A number of a load: family, unit, help, which.
type LoadGauge = (&'static str, &'static str, &'static str, fn(&TrialFinding) -> Option<f64>);

const GAUGES: &[LoadGauge] = &[
    ("sweat_load_seconds", "seconds", "Length of the load.", |t| Some(t.seconds)),
    ("sweat_workers", "", "Sessions that ran events.", |t| Some(t.workers as f64)),
    ("sweat_events_per_second", "", "Good events per second.", |t| t.events_per_s.value),
    ("sweat_failed_ratio", "ratio", "Failed events by all.", |t| t.failed_share),
    ("sweat_unbegun_ratio", "ratio", "Arrivals due and never begun, by all due.", |t| {
        Some(t.unbegun.map_or(0.0, |u| u.share))
    }),
    ("sweat_steady", "", "1 if the load came to a steady state.", |t| {
        t.steady.as_ref().map(|s| f64::from(u8::from(s.verdict.is_steady())))
    }),
    ("sweat_stalls", "", "How often it stood still.", |t| {
        t.stalls.as_ref().map(|s| s.events.len() as f64)
    }),
    ("sweat_stall_lost_ratio", "ratio", "Share of the work lost in stalls.", |t| {
        t.stalls.as_ref().map(|s| s.lost_share)
    }),
];

fn write_loads(findings: &FindingResults, text: &mut MetricsText) {
    let of = |trial: &TrialFinding| {
        let (id, variant) = (trial.id.clone(), trial.variant.clone());
        [("load", id), ("variant", variant)]
    };
    let borrowed =
        |labels: &[(&'static str, String); 2]| -> Vec<(&'static str, String)> { labels.to_vec() };
    text.start_family("sweat_events", "counter", "", "Events that ended without an error.");
    for trial in &findings.trials {
        write_value(text, "sweat_events_total", &borrowed(&of(trial)), Some(trial.events as f64));
    }
    text.start_family(
        "sweat_errors",
        "counter",
        "",
        "Events that failed, by class, kind and code.",
    );
    for trial in &findings.trials {
        for error in &trial.errors {
            let mut labels = borrowed(&of(trial));
            labels.push(("class", error.class.clone()));
            labels.push(("kind", error.kind.to_string()));
            labels.push(("code", error.code.to_string()));
            write_value(text, "sweat_errors_total", &labels, Some(error.count as f64));
        }
    }
    for (name, help, latency) in [
        ("sweat_response_seconds", "From when an event was due to its end.", 0),
        ("sweat_service_seconds", "From when an event began to its end.", 1),
        ("sweat_lateness_seconds", "How late sweat itself was.", 2),
    ] {
        text.start_family(name, "summary", "seconds", help);
        for trial in &findings.trials {
            let all = [&trial.response, &trial.service, &trial.lateness];
            write_summary(text, name, &borrowed(&of(trial)), all[latency]);
        }
    }
    for (name, unit, help, value) in GAUGES {
        text.start_family(name, "gauge", unit, help);
        for trial in &findings.trials {
            write_value(text, name, &borrowed(&of(trial)), value(trial));
        }
    }
    text.start_family(
        "sweat_cost_per_event",
        "gauge",
        "",
        "What an event cost; the unit is in its name.",
    );
    for trial in &findings.trials {
        for item in &trial.cost {
            let mut labels = borrowed(&of(trial));
            labels.push(("cost", item.id.to_owned()));
            write_value(text, "sweat_cost_per_event", &labels, item.per_event);
        }
    }
}

fn write_value(
    text: &mut MetricsText,
    name: &str,
    labels: &[(&'static str, String)],
    value: Option<f64>,
) {
    let labels: Vec<(&str, &str)> = labels.iter().map(|(n, v)| (*n, v.as_str())).collect();
    text.write_sample(name, &labels, value);
}

fn write_summary(
    text: &mut MetricsText,
    name: &str,
    labels: &[(&'static str, String)],
    latency: &LatencySummary,
) {
    for (quantile, value) in [
        ("0.5", latency.p50_s),
        ("0.9", latency.p90_s),
        ("0.95", latency.p95_s),
        ("0.99", latency.p99_s),
        ("0.999", latency.p999_s),
        ("1.0", latency.max_s),
    ] {
        let mut labels = labels.to_vec();
        labels.push(("quantile", quantile.to_owned()));
        write_value(text, name, &labels, value);
    }
    write_value(text, &format!("{name}_count"), labels, Some(latency.events as f64));
    let sum = latency.mean_s.map(|mean| mean * latency.events as f64);
    write_value(text, &format!("{name}_sum"), labels, sum);
}

fn write_verdicts(results: &FindingResults, checks: &[CheckFinding], text: &mut MetricsText) {
    text.start_family("sweat_check", "gauge", "", "1 for the verdict that a check came to.");
    for check in checks {
        let labels = [("check", check.text.as_str()), ("verdict", check.verdict.as_str())];
        text.write_sample("sweat_check", &labels, Some(1.0));
    }
    text.start_family("sweat_caveat", "gauge", "", "1 for each caveat.");
    for caveat in &results.caveats {
        let labels = [("id", caveat.id), ("level", caveat.level.as_str())];
        text.write_sample("sweat_caveat", &labels, Some(1.0));
    }
    text.start_family(
        "sweat_change_ratio",
        "gauge",
        "ratio",
        "A variant by its base; 1.05 is 5 % more.",
    );
    for comparison in &results.comparisons {
        let labels = [
            ("variant", comparison.variant.as_str()),
            ("metric", comparison.metric.as_str()),
            ("verdict", comparison.verdict.as_str()),
        ];
        text.write_sample("sweat_change_ratio", &labels, comparison.ratio.value);
    }
}
