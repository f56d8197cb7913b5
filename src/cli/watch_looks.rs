//! `sweat report WATCH --at TIME`: all raw looks nearest to a moment.

use std::collections::BTreeMap;

use clap::ArgMatches;
use serde_json::json;

use super::arguments::text_arg;
use super::context::CliContext;
use super::present;
use super::watch::clock_text;
use crate::analysis::number_format::format_utc;
use crate::archive::{SampleRecord, WatchReader};
use crate::plan::Mistake;
use crate::report::{ReportDetail, truncate_text};

/// Looks that are further away show another state.
pub(super) const REACH_NS: u64 = 3600 * 1_000_000_000;
/// Columns of a page.
const WIDTH: usize = 80;

/// The nearest look of each probe, with the wall time at which it was planned.
pub(super) type NearestLooks = BTreeMap<String, (u64, SampleRecord)>;

/// Prints them; `-v` does not cut long lines.
///
/// # Errors
/// When the format can't show them, there is none, or they can't be printed.
pub(super) fn show_looks(
    find: impl FnOnce() -> anyhow::Result<NearestLooks>,
    at_unix_ns: u64,
    format: &str,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<()> {
    if text_arg(args, "from").or(text_arg(args, "to")).is_some() {
        return Err(Mistake::new("--at", "is one moment, --from and --to are a span").into());
    }
    if !["text", "json"].contains(&format) {
        let why = "it can't show raw looks";
        let mistake = Mistake::new(format!("--format {format}"), why);
        return Err(mistake.hint("--format text or json").into());
    }
    let looks = find()?;
    if looks.is_empty() {
        let why = format!("no look is within an hour of {}", clock_text(at_unix_ns));
        return Err(Mistake::new("--at", why).hint("`sweat report` shows the time it has").into());
    }
    let is_full = present::report_detail(args) == ReportDetail::Full;
    let text = match format {
        "json" => format!("{:#}\n", looks_value(at_unix_ns, &looks)),
        _ => looks_text(at_unix_ns, &looks, if is_full { usize::MAX } else { WIDTH }),
    };
    context.print_output(&text)
}

/// Those of a watch.
pub(super) fn nearest_looks(reader: &mut WatchReader, at_unix_ns: u64) -> NearestLooks {
    let span = at_unix_ns.saturating_sub(REACH_NS)..at_unix_ns.saturating_add(REACH_NS);
    let mut looks = NearestLooks::new();
    reader.for_each_sample(&span, &mut |segment, sample| {
        let planned = segment.origin_unix_ns.saturating_add(sample.planned_ns);
        let distance = planned.abs_diff(at_unix_ns);
        let known = looks.get(&sample.probe);
        if known.is_none_or(|(known, _)| distance < known.abs_diff(at_unix_ns)) {
            looks.insert(sample.probe.clone(), (planned, sample));
        }
    });
    looks
}

fn looks_value(at_unix_ns: u64, looks: &NearestLooks) -> serde_json::Value {
    let look = |(probe, (planned, sample)): (&String, &(u64, SampleRecord))| {
        json!({
            "probe": probe,
            "at": format_utc(*planned),
            "took_s": sample.ended_ns.saturating_sub(sample.began_ns) as f64 / 1e9,
            "numbers": sample.numbers,
            "text": sample.text,
            "table": sample.table,
            "gap": sample.gap,
        })
    };
    json!({"at": format_utc(at_unix_ns), "looks": looks.iter().map(look).collect::<Vec<_>>()})
}

fn looks_text(at_unix_ns: u64, looks: &NearestLooks, width: usize) -> String {
    let mut text = format!("Looks nearest to {}\n", clock_text(at_unix_ns));
    let mut add = |line: &str| {
        text += &truncate_text(line, width);
        text.push('\n');
    };
    for (probe, (planned, sample)) in looks {
        let took_ms = sample.ended_ns.saturating_sub(sample.began_ns) as f64 / 1e6;
        add("");
        add(&format!("{probe}, {} (took {took_ms:.1} ms)", clock_text(*planned)));
        if let Some(gap) = &sample.gap {
            add(&format!("  nothing: {gap}"));
        }
        for (name, value) in &sample.numbers {
            add(&format!("  {name} {value}"));
        }
        let (columns, rows) =
            sample.table.split_first().map_or((&[][..], &[][..]), |(head, rows)| (&head[..], rows));
        for row in rows {
            let cells = columns.iter().zip(row).filter(|(_, value)| !value.is_empty());
            let cells: Vec<String> = cells.map(|(name, value)| format!("{name}={value}")).collect();
            add(&format!("  {}", cells.join(" ").replace('\n', " ")));
        }
        for line in sample.text.iter().flat_map(|text| text.lines()) {
            add(&format!("  {line}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_show_what_was_seen_and_fit_the_page() {
        let row = |values: [&str; 3]| values.map(str::to_owned).to_vec();
        let sample = SampleRecord {
            probe: "processlist".to_owned(),
            ended_ns: 1_500_000,
            table: vec![
                row(["ID", "DB", "INFO"]),
                row(["7", "", &format!("select\n{}", "x".repeat(90))]),
            ],
            ..SampleRecord::default()
        };
        let status = SampleRecord {
            numbers: [("Queries".to_owned(), 12.0)].into(),
            text: Some("one\ntwo".to_owned()),
            gap: Some("needs PROCESS".to_owned()),
            ..SampleRecord::default()
        };
        let looks: NearestLooks =
            [("processlist".to_owned(), (0, sample)), ("status".to_owned(), (0, status))].into();
        let text = looks_text(0, &looks, WIDTH);
        assert!(text.contains(" (took 1.5 ms)\n  ID=7 INFO=select xxx"), "{text}");
        assert!(text.contains("  nothing: needs PROCESS\n  Queries 12\n  one\n  two\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(looks_value(0, &looks)["looks"][1]["numbers"]["Queries"], 12.0);
    }
}
