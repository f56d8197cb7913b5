//! Sections and tables of what was judged: checks, comparisons, differences, steady state, stalls, noise.

use crate::analysis::number_format::{
    UNKNOWN, format_count, format_number, format_percent, format_plural, format_time,
    number_or_dash,
};
use crate::analysis::{
    CheckFinding, FindingResults, HealthLevel, MetricComparison, NoiseItem, RunFindings,
    SetupDifference, TrialFinding, metric_label, metric_value_text,
};

use super::escape::{escape_html, sentence_html};
use super::{capitalize_first, effects, tables};

/// Beyond this ratio, or below its inverse, a change is given as times, as in the text.
const MANY_TIMES: f64 = 2.0;
/// Beyond this ratio no digit matters.
const FARTHEST: f64 = 10_000.0;
/// Metrics that stand in the first table where several variants are compared.
const FIRST_METRICS: &[&str] = &["events_per_s", "p99_s"];

/// A share as a change: `+6.0 %`.
fn format_share_change(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// Whether the change reads better as times than in percent.
fn is_multiple(found: &MetricComparison) -> bool {
    let (low, high) = found.ratio.ci95.or(found.ratio.value.map(|v| (v, v))).unwrap_or((1.0, 1.0));
    high > MANY_TIMES || low < 1.0 / MANY_TIMES
}

fn ratio_text(ratio: f64, many: bool) -> String {
    match ratio {
        r if !r.is_finite() => UNKNOWN.to_owned(),
        r if many && r > FARTHEST => format!(">{}x", format_number(FARTHEST)),
        r if many && r < 1.0 / FARTHEST => "0x".to_owned(),
        r if many => format!("{}x", format_number(r)),
        r => format_share_change(r),
    }
}

/// The change against the base: `+6.0 %`, or `3.61x`.
pub(super) fn format_change(found: &MetricComparison) -> String {
    found.ratio.value.map_or_else(|| UNKNOWN.to_owned(), |r| ratio_text(r, is_multiple(found)))
}

/// The same in both forms: `+6.0 % (1.06x)`.
fn format_change_twice(found: &MetricComparison) -> String {
    let many = is_multiple(found);
    match found.ratio.value.filter(|r| r.is_finite() && *r < FARTHEST) {
        // Far from one a percentage says nothing more.
        Some(r) if many && !(0.1..10.0).contains(&r) => ratio_text(r, true),
        Some(r) if many => format!("{} ({})", ratio_text(r, true), format_share_change(r)),
        Some(r) => format!("{} ({r:.2}x)", ratio_text(r, false)),
        None => format_change(found),
    }
}

/// Its 95 % interval.
pub(super) fn format_interval(found: &MetricComparison) -> String {
    found.ratio.ci95.map_or_else(
        || UNKNOWN.to_owned(),
        |(low, high)| {
            let many = is_multiple(found);
            format!("{} to {}", ratio_text(low, many), ratio_text(high, many))
        },
    )
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
    let Some(first) = all.first() else { return String::new() };
    let several = all.iter().filter(|c| c.decides).count() > 1;
    let (shown, more): (Vec<&MetricComparison>, Vec<&MetricComparison>) =
        all.iter().partition(|c| {
            !several || c.metric == first.metric || FIRST_METRICS.contains(&c.metric.as_str())
        });
    let base = several.then_some(first.base.as_str());
    let table = |list: &[&MetricComparison], row: ComparisonCells| {
        tables::named_table(&list.iter().map(|c| row(c, base)).collect::<Vec<_>>())
    };
    let more = match more.len() {
        0 => String::new(),
        n => format!(
            "<details><summary>{n} more rows: other metrics</summary>{}</details>",
            table(&more, comparison_cells)
        ),
    };
    let title = match several {
        true => format!("Against {}", first.base),
        false => "Change in every metric".to_owned(),
    };
    let dot = match first.paired {
        true => "one block: this variant\u{2019}s load by the base\u{2019}s beside it",
        false => "a run of this side by one of the base",
    };
    format!(
        "<section id=\"comparisons\"><h2>{}</h2><figure>{}<p class=\"small\">A dot is {dot}. The \
         thick stroke is the estimate, the thin one its 95 % interval; within the gray zone a \
         difference does not matter. The metric in bold decides.</p></figure>{}{more}\
         <details><summary>Statistics</summary>{}</details>{}</section>",
        escape_html(&title),
        effects::comparisons_svg(findings),
        table(&shown, comparison_cells),
        table(&all.iter().collect::<Vec<_>>(), statistics_cells),
        comparison_notes(all),
    )
}

/// The cells of a comparison, each with the name of its column.
type ComparisonCells = fn(&MetricComparison, Option<&str>) -> Vec<(&'static str, String)>;

/// What a row of comparisons begins with: its metric, and whose it is where there are several variants.
fn row_names(c: &MetricComparison, base: Option<&str>) -> Vec<(&'static str, String)> {
    let metric = ("metric", capitalize_first(metric_label(&c.metric)));
    match base {
        None => vec![metric],
        Some(base) if base == c.base => vec![("variant", c.variant.clone()), metric],
        Some(_) => vec![("variant", format!("{} against {}", c.variant, c.base)), metric],
    }
}

fn comparison_cells(c: &MetricComparison, base: Option<&str>) -> Vec<(&'static str, String)> {
    let level = |of: fn((f64, f64)) -> f64| {
        c.levels.map_or_else(|| UNKNOWN.to_owned(), |l| metric_value_text(&c.metric, of(l)))
    };
    let mut cells = row_names(c, base);
    cells.extend([
        ("base", level(|levels| levels.0)),
        ("variant\u{a0}", level(|levels| levels.1)),
        ("change", format_change_twice(c)),
        ("95 % interval of the change", format_interval(c)),
        ("verdict", c.verdict.as_str().to_owned()),
    ]);
    cells
}

fn statistics_cells(c: &MetricComparison, base: Option<&str>) -> Vec<(&'static str, String)> {
    let mut cells = row_names(c, base);
    let more = c.more_blocks.map_or_else(|| UNKNOWN.to_owned(), |n| format!("{n} more"));
    let p = |p: Option<f64>| p.map_or_else(|| UNKNOWN.to_owned(), format_probability);
    cells.extend([
        ("p", p(c.p)),
        ("p by ranks", p(c.signed_rank.map(|ranks| ranks.p))),
        (if c.paired { "blocks" } else { "runs" }, c.ratio.runs.to_string()),
        (
            "difference shown in 8 of 10 experiments",
            c.detectable.map_or_else(|| UNKNOWN.to_owned(), detectable_text),
        ),
        (if c.paired { "blocks to decide" } else { "runs to decide" }, more),
    ]);
    cells
}

/// A detectable difference of logarithms: a share while it is small, a factor beyond a half.
fn detectable_text(difference: f64) -> String {
    match difference {
        d if d < 0.5 => format_percent(d),
        d => format!("{}x", format_number(d.exp().min(FARTHEST))),
    }
}

/// What limits the verdicts. What several metrics say alike but for their numbers stands once, in the words of the first.
fn comparison_notes(all: &[MetricComparison]) -> String {
    let letters = |note: &str| -> String { note.chars().filter(|c| c.is_alphabetic()).collect() };
    let mut told: Vec<(&MetricComparison, &str, usize)> = Vec::new();
    for (found, note) in all.iter().flat_map(|c| c.notes.iter().map(move |n| (c, n.as_str()))) {
        let is_same = |known: &(&MetricComparison, &str, usize)| {
            let alike = || known.0.metric != found.metric && letters(known.1) == letters(note);
            known.1 == note || alike()
        };
        match told.iter_mut().find(|known| is_same(known)) {
            Some(known) => known.2 += 1,
            None => told.push((found, note, 1)),
        }
    }
    let item = |(found, note, times): &(&MetricComparison, &str, usize)| match (times, all.len()) {
        (1, 2..) => format!(
            "<li><b>{}</b>: {}</li>",
            escape_html(&capitalize_first(metric_label(&found.metric))),
            sentence_html(note)
        ),
        _ => format!("<li>{}</li>", sentence_html(&capitalize_first(note))),
    };
    match told.iter().map(item).collect::<String>().as_str() {
        "" => String::new(),
        notes => format!("<ul class=\"small notes\">{notes}</ul>"),
    }
}

/// A probability: tiny ones are only said to be tiny.
fn format_probability(p: f64) -> String {
    if p < 0.0001 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}

/// What is not the same. What was asked for is known from the names of the variants: it stands folded.
pub(super) fn differences_section(findings: &FindingResults) -> String {
    let (asked, other): (Vec<&SetupDifference>, Vec<&SetupDifference>) =
        findings.differences.iter().partition(|d| d.intended);
    let several = findings.levels.len() > 2;
    let row = |d: &&SetupDifference| {
        let what = match (d.name.as_str(), d.kind.as_str()) {
            ("", kind) => kind.to_owned(),
            (name, kind) if name == kind => name.to_owned(),
            (name, kind) => format!("{kind} {name}"),
        };
        let mut cells = vec![("what", what)];
        if several {
            cells.push(("variant", d.variant.clone()));
        }
        cells.extend([("in the base", d.base.clone()), ("here", d.other.clone())]);
        cells
    };
    let table = |list: &[&SetupDifference]| {
        let rows: Vec<_> = list.iter().map(row).collect();
        tables::named_table(&rows).replace(" class=\"number\" align=\"right\"", "")
    };
    let asked = match asked.len() {
        0 => String::new(),
        n => format!(
            "<details><summary>{} that the plan asked for</summary>{}</details>",
            format_plural(n as u64, "difference", "differences"),
            table(&asked)
        ),
    };
    match (findings.differences.is_empty(), other.is_empty()) {
        (true, _) => String::new(),
        (_, true) => format!("<section id=\"differences\">{asked}</section>"),
        _ => format!(
            "<section id=\"differences\"><h2>What else differs</h2>{}{asked}</section>",
            table(&other)
        ),
    }
}

/// Whether each load came to a steady state, and its stalls; part of the loads' section.
pub(super) fn steady_table(findings: &FindingResults) -> String {
    let row = |trial: &TrialFinding| {
        let (steady, stalls) = (trial.steady.as_ref()?, trial.stalls.as_ref());
        // A load too short to be judged has nothing to tell here but that.
        steady.level.or(steady.t0_s)?;
        let seconds = |v: Option<f64>| v.map_or_else(|| UNKNOWN.to_owned(), format_time);
        let level = match (steady.level, steady.precision) {
            (Some(level), Some(p)) => {
                format!("{} \u{b1}{}", format_number(level), format_percent(p))
            }
            (level, _) => number_or_dash(level),
        };
        Some(vec![
            ("load", trial.title.clone()),
            ("steady?", steady.verdict.as_str().to_owned()),
            ("T0", seconds(steady.t0_s)),
            ("events/s from T0", level),
            (
                "drift",
                steady.drift.map_or_else(|| UNKNOWN.to_owned(), |d| format_share_change(1.0 + d)),
            ),
            ("independent intervals", number_or_dash(steady.n_eff)),
            (
                "stalls",
                stalls.map_or_else(|| UNKNOWN.to_owned(), |s| format_count(s.events.len() as u64)),
            ),
            (
                "work lost",
                stalls.map_or_else(|| UNKNOWN.to_owned(), |s| format_percent(s.lost_share)),
            ),
            ("one stall each", seconds(stalls.and_then(|s| s.period_s))),
            ("longest silence", seconds(stalls.and_then(|s| s.longest_silence_s))),
        ])
    };
    let rows: Vec<_> = findings.trials.iter().filter_map(row).collect();
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for trial in &findings.trials {
        for line in steady_reasons(trial) {
            match told.iter_mut().find(|t| t.0 == line) {
                Some((_, names)) => names.push(trial.title.clone()),
                None => told.push((line, vec![trial.title.clone()])),
            }
        }
    }
    let all = findings.trials.len();
    let item = |(line, names): &(String, Vec<String>)| {
        let who = match &names[..] {
            names if names.len() == all => return format!("<li>{}</li>", sentence_html(line)),
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
    if rows.is_empty() && causes.is_empty() {
        return String::new();
    }
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

pub(super) fn noise_section(findings: &RunFindings) -> String {
    if findings.noise.is_empty() {
        return String::new();
    }
    let row = |n: &&NoiseItem| {
        // What has no unit is, or is not, or is counted.
        let value = match (n.unit, n.value) {
            ("", 0.0) => "no".to_owned(),
            ("", 1.0) => "yes".to_owned(),
            (unit, value) => format!("{} {unit}", format_number(value)).trim_end().to_owned(),
        };
        let title = capitalize_first(n.title);
        vec![title, value, n.when.clone(), n.level.as_str().to_owned(), n.remedy.clone()]
    };
    let table = |list: &[&NoiseItem]| {
        let rows: Vec<Vec<String>> = list.iter().map(row).collect();
        tables::text_table(&["check", "worst value", "when", "level", "what to do"], &rows)
    };
    let (fine, loud): (Vec<&NoiseItem>, Vec<&NoiseItem>) =
        findings.noise.iter().partition(|n| n.level == HealthLevel::Ok);
    let loud = if loud.is_empty() { String::new() } else { table(&loud) };
    let fine = match fine.len() {
        0 => String::new(),
        n => format!(
            "<details><summary>{} fine</summary>{}</details>",
            format_plural(n as u64, "check was", "checks were"),
            table(&fine)
                .replace("<th scope=\"col\">what to do</th>", "")
                .replace("<td></td></tr>", "</tr>")
        ),
    };
    format!("<section id=\"noise\"><h2>Noise on the machine</h2>{loud}{fine}</section>")
}
