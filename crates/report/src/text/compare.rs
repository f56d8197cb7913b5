//! Comparisons as a table: the deciding metric of each variant in full, the others in a line each.

use std::io::{self, Write};

use super::table::{TextTable, shorten_cell};
use super::{TerminalStyle, WIDTH, replace_controls, write_painted, write_paragraph};
use crate::analysis::number_format::{UNKNOWN, format_number, format_plural};
use crate::analysis::{
    CaveatLevel, ComparisonVerdict, FindingResults, MetricComparison, SetupDifference,
    metric_label, metric_value_text,
};

/// Metrics shown for each variant where there are several variants.
const SWEEP_METRICS: &[&str] = &["events_per_s", "p99_s"];
/// Differences that a summary lists; JSON and the page have them all.
const LISTED: usize = 12;
/// Beyond this ratio a percentage reads badly.
const MANY_TIMES: f64 = 2.0;
/// Beyond this ratio a number says nothing more.
const FARTHEST: f64 = 10_000.0;

/// Names of variants in the head of a table.
const NAME: usize = 14;

/// The levels that were compared (geometric means, as the page draws them), their change and the verdict.
pub(super) fn write_levels(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = findings.comparisons.first() else { return Ok(()) };
    let several = has_several(findings);
    let [base, variant] = [&first.base, &first.variant].map(|name| shorten_cell(name, NAME));
    let head: [&str; 6] = match several {
        true => ["against", &base, "variant", "change", "95 % interval", "verdict"],
        false => ["metric", &base, &variant, "change", "95 % interval", "verdict"],
    };
    let mut table = TextTable::new(&head).align_left("verdict");
    let told =
        |c: &&MetricComparison| c.decides || !several || SWEEP_METRICS.contains(&c.metric.as_str());
    for comparison in findings.comparisons.iter().filter(told) {
        let [label, _, change, interval, verdict, ..] =
            &comparison_row(comparison, several, first)[..]
        else {
            continue;
        };
        let text = |level: f64| metric_value_text(&comparison.metric, level);
        let level = |of: fn((f64, f64)) -> f64| {
            comparison.levels.map_or_else(|| UNKNOWN.to_owned(), |both| text(of(both)))
        };
        let levels = [level(|both| both.0), level(|both| both.1)];
        let cells = [label, &levels[0], &levels[1], change, interval, verdict];
        table.add_row(cells.map(String::clone).to_vec());
    }
    table.write(WIDTH, out)
}

/// Everything about comparisons: nothing where there are none.
pub(super) fn write_comparisons(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    if findings.comparisons.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write_comparison_table(findings, out)?;
    let several = has_several(findings);
    for comparison in findings.comparisons.iter().filter(|c| c.decides || is_best_of(findings, c)) {
        write_details(comparison, several, out)?;
    }
    write_notes(findings, out)
}

/// Whether several variants stand against the base.
fn has_several(findings: &FindingResults) -> bool {
    findings.comparisons.iter().filter(|c| c.decides).count() > 1
}

/// The table alone.
fn write_comparison_table(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = findings.comparisons.first() else { return Ok(()) };
    let several = has_several(findings);
    let shown = |c: &&MetricComparison| {
        c.decides
            || !several
            || SWEEP_METRICS.contains(&c.metric.as_str())
            || is_best_of(findings, c)
    };
    let mut table = TextTable::new(&[
        if several { "variant" } else { "metric" },
        if first.paired { "blocks" } else { "runs" },
        "change",
        "95 % interval",
        "verdict",
        "p",
        "can see",
    ])
    .align_left("verdict");
    for comparison in findings.comparisons.iter().filter(shown) {
        table.add_row(comparison_row(comparison, several, first));
    }
    table.write(WIDTH, out)?;
    let base = replace_controls(&first.base);
    let line = if several {
        format!("against {base}; can see: the difference shown in 8 of 10 experiments")
    } else {
        format!(
            "{} against {base}; can see: the difference shown in 8 of 10 experiments",
            replace_controls(&first.variant)
        )
    };
    write_paragraph(out, "        ", &line)
}

/// Whether it is the best variant against the second best: no deciding one, but of the deciding metric.
fn is_best_of(findings: &FindingResults, comparison: &MetricComparison) -> bool {
    let deciding = findings.comparisons.iter().find(|c| c.decides);
    !comparison.decides && deciding.is_some_and(|d| d.metric == comparison.metric)
}

fn comparison_row(
    comparison: &MetricComparison,
    several: bool,
    first: &MetricComparison,
) -> Vec<String> {
    let variant = replace_controls(&comparison.variant);
    let label = match several {
        false => metric_label(&comparison.metric).to_owned(),
        true if comparison.base != first.base => {
            format!("{variant} (best) : {}", replace_controls(&comparison.base))
        }
        true if comparison.metric == first.metric => variant,
        true => format!("{variant} {}", metric_label(&comparison.metric)),
    };
    let mark = match (comparison.verdict, comparison.decides) {
        (verdict, true) => verdict.as_str().to_owned(),
        (ComparisonVerdict::Unsure, false) => "~".to_owned(),
        (verdict, false) => verdict.as_str().to_owned(),
    };
    let (ratio, interval) = ratio_and_interval(comparison);
    vec![
        label,
        comparison.ratio.runs.to_string(),
        ratio,
        interval,
        mark,
        comparison.p.map_or_else(|| "-".to_owned(), format_p_value),
        comparison.detectable.map_or_else(|| "-".to_owned(), format_detectable),
    ]
}

/// Ratio and interval: as differences in percent, or as times where one of them is far from 1.
pub(super) fn ratio_and_interval(comparison: &MetricComparison) -> (String, String) {
    let Some(ratio) = comparison.ratio.value else { return ("-".to_owned(), "-".to_owned()) };
    let (low, high) = comparison.ratio.ci95.unwrap_or((ratio, ratio));
    let many = high > MANY_TIMES || low < 1.0 / MANY_TIMES;
    let number = |ratio: f64| match many {
        true if ratio > FARTHEST => format!(">{}", format_number(FARTHEST)),
        true if ratio < 1.0 / FARTHEST => "0".to_owned(),
        true => format_number(ratio),
        false => format!("{:+.1}", (ratio - 1.0) * 100.0),
    };
    let unit = if many { "x" } else { " %" };
    let interval = match comparison.ratio.ci95 {
        Some((low, high)) => format!("{} .. {}{unit}", number(low), number(high)),
        None => "-".to_owned(),
    };
    (format!("{}{unit}", number(ratio)), interval)
}

/// A detectable difference of logarithms: a share while it is small, a factor beyond a half.
fn format_detectable(difference: f64) -> String {
    match difference {
        d if d < 0.5 => format!("{:.1} %", d * 100.0),
        d => format!("{}x", format_number(d.exp().min(FARTHEST))),
    }
}

/// A difference in percent.
fn format_change(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// A chance: below one in ten thousand its digits say nothing.
fn format_p_value(p: f64) -> String {
    if p < 0.0001 {
        "<.0001".to_owned()
    } else {
        format!("{p:.4}").trim_start_matches('0').to_owned()
    }
}

/// The robust check, the runs behind it, and what more it would take.
fn write_details(
    comparison: &MetricComparison,
    several: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let variant = if several {
        format!("{}: ", replace_controls(&comparison.variant))
    } else {
        String::new()
    };
    if let Some(rank) = comparison.signed_rank {
        let text = format!(
            "{variant}signed ranks {} ({} .. {}), p {}",
            format_change(rank.ratio),
            format_change(rank.ci95.0),
            format_change(rank.ci95.1),
            format_p_value(rank.p)
        );
        write_paragraph(out, "Check   ", &text)?;
    }
    if !several && comparison.pairs.len() > 1 {
        let pairs: Vec<String> = comparison
            .pairs
            .iter()
            .map(|p| format!("{} : {}", format_number(p.variant), format_number(p.base)))
            .collect();
        let label = if comparison.paired { "Blocks  " } else { "Runs    " };
        let text =
            format!("{}, variant : base: {}", metric_label(&comparison.metric), pairs.join(", "));
        write_paragraph(out, label, &text)?;
    }
    if let Some(more) = comparison.more_blocks {
        let (one, many) = match comparison.paired {
            true => ("more block", "more blocks"),
            false => ("more run of each", "more runs of each"),
        };
        let more = format_plural(more.into(), one, many);
        let text = format!("{variant}{more} may decide, if runs vary as they did");
        write_paragraph(out, "More    ", &text)?;
    }
    Ok(())
}

/// What limits the verdicts, each once.
fn write_notes(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let mut said: Vec<&str> = Vec::new();
    let deciding = findings.comparisons.iter().filter(|c| c.decides || is_best_of(findings, c));
    for note in deciding.flat_map(|c| &c.notes) {
        if !said.contains(&note.as_str()) {
            said.push(note);
            write_paragraph(out, "Note    ", note)?;
        }
    }
    Ok(())
}

/// `setting innodb_flush_method: fsync -> O_DIRECT`
pub(super) fn describe_difference(d: &SetupDifference) -> String {
    format!("{} {}: {} -> {}", d.kind.as_str(), d.name, d.base, d.other)
}

/// What is not the same, those first that nobody asked for.
pub(super) fn write_differences(
    all: &[SetupDifference],
    paint: TerminalStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut ordered: Vec<&SetupDifference> = all.iter().filter(|d| !d.intended).collect();
    ordered.extend(all.iter().filter(|d| d.intended));
    for difference in ordered.iter().take(LISTED) {
        let variant = if difference.intended {
            format!("{}: ", replace_controls(&difference.variant))
        } else {
            String::new()
        };
        let text = format!("{variant}{}", describe_difference(difference));
        let painted = if difference.intended {
            "Differs ".to_owned()
        } else {
            paint.colour_level(CaveatLevel::Warn, "Differs ")
        };
        write_painted(out, "Differs ", &painted, &text)?;
    }
    if all.len() > LISTED {
        let text = format!("and {} more, all in --format json", all.len() - LISTED);
        write_paragraph(out, "Differs ", &text)?;
    }
    Ok(())
}
