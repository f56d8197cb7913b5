//! What things cost that a workload measured one by one, as tables and pictures.

use std::fmt::Write as _;

use super::super::text::cost_interval;
use super::effects;
use super::escape::escape_html;
use super::tables::named_table;
use super::verdicts::{format_change, format_interval};
use crate::analysis::number_format::{UNKNOWN, format_count, format_number, format_time};
use crate::analysis::{CostChange, CostFinding, MetricComparison, speed_word};

fn time_text(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| UNKNOWN.to_owned(), format_time)
}

/// The table of one load; nothing where there is none.
pub(super) fn costs_table(costs: &[CostFinding]) -> String {
    let row = |cost: &CostFinding| {
        vec![
            ("operation", cost.name.clone()),
            ("group", cost.group.clone()),
            ("count", format_count(cost.count)),
            ("rounds", format_count(cost.rounds)),
            ("time", time_text(cost.time_s)),
            ("95 % interval", cost_interval(cost)),
            ("server CPU", time_text(cost.cpu_s)),
            ("rows/s", cost.rows_per_s.map_or_else(|| UNKNOWN.to_owned(), format_number)),
        ]
    };
    named_table(&costs.iter().map(row).collect::<Vec<_>>())
}

/// A section for each variant, or other side, against its base.
pub(super) fn change_sections(changes: &[CostChange]) -> String {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for one in changes {
        let pair = (one.change.variant.as_str(), one.change.base.as_str());
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let mut out = String::new();
    for (variant, base) in pairs {
        let own: Vec<&CostChange> = changes
            .iter()
            .filter(|one| one.change.variant == variant && one.change.base == base)
            .collect();
        let drawn = own.iter().filter(|one| one.change.ratio.ci95.is_some());
        let drawn: Vec<(String, &MetricComparison)> =
            drawn.map(|one| (one.name.clone(), &one.change)).collect();
        let row = |one: &&CostChange| {
            let verdict = match one.change.ratio.value {
                Some(_) => speed_word(one.change.verdict),
                None => "not in both",
            };
            vec![
                ("operation", one.name.clone()),
                ("base", time_text(one.base_s)),
                ("other", time_text(one.variant_s)),
                ("change", format_change(&one.change)),
                ("95 % interval", format_interval(&one.change)),
                ("verdict", verdict.to_owned()),
            ]
        };
        let picture = match drawn.is_empty() {
            true => String::new(),
            false => {
                let svg = effects::classes_svg(&drawn, "change of the time against the base");
                format!("<figure>{svg}</figure>")
            }
        };
        let _ = write!(
            out,
            "<section class=\"operations\"><h2>Operations: {} against {}</h2>{picture}{}</section>",
            escape_html(variant),
            escape_html(base),
            named_table(&own.iter().map(row).collect::<Vec<_>>())
        );
    }
    out
}
