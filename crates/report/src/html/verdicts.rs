//! Sections and tables of what was judged: checks, comparisons, differences, steady state, stalls, waits, noise.

use crate::analysis::number_format::{
    UNKNOWN, format_count, format_number, format_percent, format_time, number_or_dash,
};
use crate::analysis::{
    CheckFinding, FindingResults, MetricComparison, NoiseItem, RunFindings, SetupDifference,
    TrialFinding, WaitFinding, WaitGroup,
};

use super::escape::{escape_html, sentence_html};
use super::{capitalize_first, effects, run_plots, tables};

/// A ratio as a change: `+6.0 %`.
pub(super) fn format_change(ratio: Option<f64>) -> String {
    match ratio.filter(|r| r.is_finite()) {
        Some(ratio) => format!("{:+.1} %", (ratio - 1.0) * 100.0),
        None => UNKNOWN.to_owned(),
    }
}

pub(super) fn checks_section(findings: &RunFindings) -> String {
    if findings.checks.is_empty() {
        return String::new();
    }
    let item = |check: &CheckFinding| {
        format!(
            "<li class=\"{verdict}\"><span class=\"level\">{verdict}</span> <code>{}</code> \
             <div><span class=\"evidence\">{}</span> <span class=\"remedy\">{}</span></div></li>",
            escape_html(&check.text),
            sentence_html(&check.value),
            sentence_html(&check.why),
            verdict = check.verdict.as_str(),
        )
    };
    let items: String = findings.checks.iter().map(item).collect();
    format!(
        "<section id=\"checks\"><h2>Checks</h2><ul class=\"caveats checks\">{items}</ul></section>"
    )
}

pub(super) fn comparisons_section(findings: &FindingResults) -> String {
    let all = &findings.comparisons;
    if all.is_empty() {
        return String::new();
    }
    let row = |c: &MetricComparison| {
        let interval = c.ratio.ci95.map_or_else(
            || UNKNOWN.to_owned(),
            |(low, high)| format!("{} .. {}", format_change(Some(low)), format_change(Some(high))),
        );
        let more = c.more_blocks.map_or_else(String::new, |n| format!("{n} more"));
        vec![
            (
                "metric",
                if c.variant.is_empty() {
                    c.metric.clone()
                } else {
                    format!("{} \u{b7} {}", c.variant, c.metric)
                },
            ),
            ("change", format_change(c.ratio.value)),
            ("95 % interval", interval),
            ("verdict", c.verdict.as_str().to_owned()),
            ("p", c.p.map_or_else(|| UNKNOWN.to_owned(), format_probability)),
            (
                "p by ranks",
                c.signed_rank.map_or_else(|| UNKNOWN.to_owned(), |r| format_probability(r.p)),
            ),
            ("blocks", c.ratio.runs.to_string()),
            ("would have shown", c.detectable.map_or_else(|| UNKNOWN.to_owned(), format_percent)),
            ("to decide", more),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let notes: String = all
        .iter()
        .flat_map(|c| c.notes.iter().map(move |n| (c, n)))
        .map(|(c, n)| format!("<li><b>{}</b>: {}</li>", escape_html(&c.metric), sentence_html(n)))
        .collect();
    let notes = match notes.as_str() {
        "" => String::new(),
        notes => format!("<ul class=\"small notes\">{notes}</ul>"),
    };
    format!(
        "<section id=\"comparisons\"><h2>Against {}</h2><figure>{}</figure>{}\
         <p class=\"small\">A dot is one block: this variant\u{2019}s run by the base\u{2019}s run \
         beside it. The thick stroke is the estimate, the thin one its 95 % interval; within the \
         grey zone a difference does not matter. The metric in bold decides.</p>{notes}</section>",
        escape_html(&all[0].base),
        effects::comparisons_svg(findings),
        tables::named_table(&rows)
    )
}

/// A probability: tiny ones are only said to be tiny.
fn format_probability(p: f64) -> String {
    if p < 0.0001 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}

pub(super) fn differences_section(findings: &FindingResults) -> String {
    if findings.differences.is_empty() {
        return String::new();
    }
    let row = |d: &SetupDifference| {
        let asked = if d.intended { "asked for" } else { "not asked for" };
        vec![
            d.name.clone(),
            d.kind.as_str().to_owned(),
            d.base.clone(),
            d.other.clone(),
            asked.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = findings.differences.iter().map(row).collect();
    format!(
        "<section id=\"differences\"><h2>What differs</h2>{}</section>",
        tables::text_table(&["what", "kind", "base", "other", ""], &rows)
    )
}

/// Whether each load came to a steady state, and its stalls; part of the loads' section.
pub(super) fn steady_table(findings: &FindingResults) -> String {
    let row = |(place, trial): (usize, &TrialFinding)| {
        let (steady, stalls) = (trial.steady.as_ref()?, trial.stalls.as_ref());
        let seconds = |v: Option<f64>| v.map_or_else(|| UNKNOWN.to_owned(), format_time);
        let level = match (steady.level, steady.precision) {
            (Some(level), Some(p)) => {
                format!("{} \u{b1}{}", format_number(level), format_percent(p))
            }
            (level, _) => number_or_dash(level),
        };
        Some(vec![
            ("load", run_plots::trial_name(findings, place)),
            ("steady?", steady.verdict.as_str().to_owned()),
            ("T0", seconds(steady.t0_s)),
            ("events/s from T0", level),
            (
                "drift",
                steady.drift.map_or_else(|| UNKNOWN.to_owned(), |d| format_change(Some(1.0 + d))),
            ),
            ("n eff.", number_or_dash(steady.n_eff)),
            (
                "stalls",
                stalls.map_or_else(|| UNKNOWN.to_owned(), |s| format_count(s.events.len() as u64)),
            ),
            (
                "work lost",
                stalls.map_or_else(|| UNKNOWN.to_owned(), |s| format_percent(s.lost_share)),
            ),
            ("one each", seconds(stalls.and_then(|s| s.period_s))),
            ("longest silence", seconds(stalls.and_then(|s| s.longest_silence_s))),
        ])
    };
    let rows: Vec<_> = findings.trials.iter().enumerate().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for (place, trial) in findings.trials.iter().enumerate() {
        for line in steady_reasons(trial) {
            let name = run_plots::trial_name(findings, place);
            match told.iter_mut().find(|t| t.0 == line) {
                Some((_, names)) => names.push(name),
                None => told.push((line, vec![name])),
            }
        }
    }
    let item = |(line, names): &(String, Vec<String>)| {
        let who = match &names[..] {
            [only] => only.clone(),
            several => format!("{} loads", several.len()),
        };
        format!("<li><b>{}</b>: {}</li>", escape_html(&who), sentence_html(line))
    };
    let causes: String = told.iter().map(item).collect();
    let causes = match causes.as_str() {
        "" => String::new(),
        causes => format!("<ul class=\"small notes\">{causes}</ul>"),
    };
    format!("<h3>Steady state and stalls</h3>{}{causes}", tables::named_table(&rows))
}

/// Why a load is not steady, and what its stalls came with.
fn steady_reasons(trial: &TrialFinding) -> Vec<String> {
    let why = trial.steady.iter().flat_map(|s| &s.why).map(|why| capitalize_first(why));
    let stalls = trial.stalls.iter();
    let causes = stalls.clone().flat_map(|s| &s.causes).map(|c| {
        format!("Stalls, {}: {} (`{}`, {})", format_percent(c.share), c.title, c.id, c.evidence)
    });
    let counters = stalls.clone().flat_map(|s| &s.counters).map(|c| {
        let (inside, outside) = (format_number(c.inside), format_number(c.outside));
        format!("`{}`: {inside} inside stalls, {outside} outside", c.counter)
    });
    let notes = stalls.flat_map(|s| &s.notes).map(|n| capitalize_first(n));
    why.chain(causes).chain(counters).chain(notes).collect()
}

pub(super) fn waits_section(findings: &RunFindings) -> String {
    if findings.waits.is_empty() {
        return String::new();
    }
    let row = |w: &WaitFinding| {
        let t = |v: Option<f64>| v.map_or_else(|| UNKNOWN.to_owned(), format_time);
        let name = match w.operation.as_str() {
            "" => w.instrument.clone(),
            operation => format!("{} ({operation})", w.instrument),
        };
        let coverage = w.coverage.map(|c| format!(", {}", format_percent(c))).unwrap_or_default();
        vec![
            ("instrument", name),
            ("value", w.value.clone()),
            ("waits", format_count(w.count)),
            ("in all", format_time(w.total_s)),
            ("mean", t(w.average_s)),
            ("p50", t(w.p50_s)),
            ("p90", t(w.p90_s)),
            ("p99", t(w.p99_s)),
            ("max", t(w.max_s)),
            ("from", format!("{}{coverage}", w.source.as_str())),
        ]
    };
    let rows: Vec<_> = findings.waits.iter().map(row).collect();
    let mut notes: Vec<String> = findings.waits.iter().flat_map(|w| w.notes.clone()).collect();
    let tick = findings.waits.iter().filter_map(|w| w.tick_s).fold(0.0, f64::max);
    if tick > 0.0 {
        notes.push(format!(
            "the server's clock steps by {}: nothing is more exact",
            format_time(tick)
        ));
    }
    notes.dedup();
    let notes: String = notes
        .iter()
        .map(|n| format!("<li>{}.</li>", sentence_html(&capitalize_first(n))))
        .collect();
    format!(
        "<section id=\"waits\"><h2>What the server waited for</h2>{}{}{}\
         <ul class=\"small notes\">{notes}</ul></section>",
        wait_groups_table(findings),
        tables::named_table(&rows),
        watch_cost_paragraph(findings),
    )
}

/// Waits by variant, over all its loads.
fn wait_groups_table(findings: &RunFindings) -> String {
    if findings.wait_groups.len() < 2 {
        return String::new();
    }
    let row = |g: &WaitGroup| {
        let middle = |range: Option<(f64, f64, f64)>| match range {
            Some((middle, low, high)) => {
                format!("{} ({} to {})", format_time(middle), format_time(low), format_time(high))
            }
            None => UNKNOWN.to_owned(),
        };
        let ratio = g.ratio.as_ref().and_then(|r| Some((r.value?, r.ci95))).map(|(value, ci95)| {
            let range = ci95
                .map(|(low, high)| format!(" ({} to {})", format_number(low), format_number(high)));
            format!("{}{}", format_number(value), range.unwrap_or_default())
        });
        vec![
            ("variant", if g.variant.is_empty() { g.value.clone() } else { g.variant.clone() }),
            ("instrument", g.instrument.clone()),
            ("loads", g.loads.to_string()),
            ("mean wait", middle(g.average)),
            ("p99", middle(g.p99)),
            ("waits/s", number_or_dash(g.waits_per_s)),
            ("events/s", number_or_dash(g.events_per_s)),
            ("by the first", ratio.unwrap_or_else(|| UNKNOWN.to_owned())),
            ("verdict", g.words.clone()),
        ]
    };
    let rows: Vec<_> = findings.wait_groups.iter().map(row).collect();
    tables::named_table(&rows)
}

/// What gathering the waits costs the server.
fn watch_cost_paragraph(findings: &RunFindings) -> String {
    let cost = findings.watch_cost.as_ref();
    cost.map(|c| format!("<p>{}</p>", sentence_html(&capitalize_first(&c.words))))
        .unwrap_or_default()
}

pub(super) fn noise_section(findings: &RunFindings) -> String {
    if findings.noise.is_empty() {
        return String::new();
    }
    let row = |n: &NoiseItem| {
        let value = format!("{} {}", format_number(n.value), n.unit).trim_end().to_owned();
        vec![
            n.title.to_owned(),
            n.when.clone(),
            value,
            n.level.as_str().to_owned(),
            n.remedy.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = findings.noise.iter().map(row).collect();
    format!(
        "<section id=\"noise\"><h2>How quiet the machine was</h2>{}</section>",
        tables::text_table(&["", "when", "value", "", ""], &rows)
    )
}
