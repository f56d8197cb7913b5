//! What the server waited for: by variant, by load, and what gathering it costs.

use crate::analysis::number_format::{
    UNKNOWN, format_count, format_number, format_percent, format_time, number_or_dash,
};
use crate::analysis::{RunFindings, WaitFinding, WaitGroup};

use super::escape::sentence_html;
use super::{capitalize_first, tables};

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
        let load = findings.results.trials.get(w.trial).map(|t| t.title.clone());
        let load = load.filter(|_| findings.results.trials.len() > 1).unwrap_or_default();
        vec![
            ("instrument", name),
            ("load", if load.is_empty() { w.value.clone() } else { load }),
            ("waits", format_count(w.count)),
            ("in total", format_time(w.total_s)),
            ("mean", t(w.average_s)),
            ("p50", t(w.p50_s)),
            ("p90", t(w.p90_s)),
            ("p99", t(w.p99_s)),
            ("max", t(w.max_s)),
            ("percentiles from", format!("{}{coverage}", w.source.as_str())),
        ]
    };
    let mut rows: Vec<_> = findings.waits.iter().map(row).collect();
    // Of one load nothing needs a name.
    if rows.iter().all(|row| row[1].1.is_empty()) {
        rows.iter_mut().for_each(|row| drop(row.remove(1)));
    }
    let mut notes: Vec<String> = findings.waits.iter().flat_map(|w| w.notes.clone()).collect();
    let tick = findings.waits.iter().filter_map(|w| w.tick_s).fold(0.0, f64::max);
    if tick > 0.0 {
        notes.push(format!(
            "the server's clock steps by {}: nothing is more exact",
            format_time(tick)
        ));
    }
    let mut told: Vec<String> = Vec::new();
    notes.retain(|note| {
        !told.contains(note) && {
            told.push(note.clone());
            true
        }
    });
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
            (
                "mean wait by the first variant\u{2019}s",
                ratio.unwrap_or_else(|| UNKNOWN.to_owned()),
            ),
            ("verdict", g.words.clone()),
        ]
    };
    let rows: Vec<_> = findings.wait_groups.iter().map(row).collect();
    tables::named_table(&rows)
}

/// What gathering the waits costs the server.
fn watch_cost_paragraph(findings: &RunFindings) -> String {
    let cost = findings.watch_cost.as_ref();
    cost.map(|c| format!("<p>Gathering the waits: {}.</p>", sentence_html(&c.words)))
        .unwrap_or_default()
}
