//! The page of finished runs against others.

use crate::analysis::number_format::format_plural;
use crate::analysis::{ComparedRun, ComparedSide, ComparisonFindings, FindingResults};

use super::axis::PlotAxis;
use super::escape::escape_html;
use super::plot::{Plot, PlotFrame};
use super::{costs, levels, plot_data, record, replay, sections, spectrum, verdicts};

/// All of it, in order.
pub(super) fn page_parts(findings: &ComparisonFindings) -> Vec<String> {
    let results = &findings.results;
    let mut still: Vec<(Plot, PlotFrame)> =
        vec![(spectrum::spectrum_plot(results), sections::tall_frame())];
    still.retain(|(plot, _)| !plot.is_empty());
    let time = PlotAxis::time_range(0.0, 0.0);
    vec![
        page_header(findings),
        "<main>".to_owned(),
        sections::answer_section(None, results, Vec::new()),
        levels::levels_section(&results.levels, is_paired(results)),
        sections::caveats_section(results),
        verdicts::comparisons_section(results),
        verdicts::differences_section(results),
        costs::change_sections(&results.cost_changes),
        replay::change_sections(&results.replay_changes),
        sections::loads_section(results, &still),
        record::costs_section(results),
        record::errors_section(results),
        sides_section(&findings.sides),
        "</main>".to_owned(),
        page_footer(findings),
        plot_data::data_element(still.iter().map(|(plot, _)| plot), &time, None),
    ]
}

/// Whether each load belongs to one of the other side.
fn is_paired(results: &FindingResults) -> bool {
    results.comparisons.first().is_some_and(|c| c.paired)
}

fn page_header(findings: &ComparisonFindings) -> String {
    let [base, other] = &findings.sides;
    let facts = |side: &ComparedSide| -> Vec<String> {
        let first = side.runs.first();
        first.map(|run| record::machine_facts(&run.head, &run.data)).unwrap_or_default()
    };
    let line = |facts: Vec<String>| {
        let spans = facts.iter().map(|fact| format!("<span>{}</span> ", escape_html(fact)));
        format!("<p class=\"facts\">{}</p>", spans.collect::<String>())
    };
    let runs = |side: &ComparedSide| {
        format!("{}: {}", side.name, format_plural(side.runs.len() as u64, "run", "runs"))
    };
    // What both share stands once.
    let lines = match facts(base) == facts(other) {
        true => line(vec![runs(base), runs(other)]) + &line(facts(base)),
        false => {
            let of = |side| line(std::iter::once(runs(side)).chain(facts(side)).collect());
            of(base) + &of(other)
        }
    };
    format!(
        "<header><div><p class=\"brand\">sweat <span>compare</span></p><h1>{} against {}</h1>\
         {lines}</div>\
         <button id=\"theme\" type=\"button\" hidden>dark / light</button></header>",
        escape_html(&other.name),
        escape_html(&base.name),
    )
}

/// What each run of both sides was measured on.
fn sides_section(sides: &[ComparedSide; 2]) -> String {
    let mut out = String::from("<section id=\"sides\"><h2>What was measured</h2>");
    for (side, name) in sides.iter().zip(["Base", "Other"]) {
        out += &format!("<h3>{name}: {}</h3>", escape_html(&side.name));
        out.extend(side.runs.iter().map(run_details));
    }
    out + "</section>"
}

fn run_details(run: &ComparedRun) -> String {
    let mut inside = record::machine_table(&run.head, &run.data);
    if !run.allowed.is_empty() {
        let ids: Vec<&str> = run.allowed.iter().map(|caveat| caveat.id).collect();
        inside += &format!("<p>Allowed by the user: {}.</p>", escape_html(&ids.join(", ")));
    }
    if !run.settings.is_empty() {
        inside += &record::settings_table(&run.settings);
    }
    if !run.plan.trim().is_empty() {
        inside += &format!("<pre>{}</pre>", escape_html(&run.plan));
    }
    format!(
        "<details class=\"part\"><summary><code>{}</code></summary>{inside}</details>",
        escape_html(&run.head.id)
    )
}

fn page_footer(findings: &ComparisonFindings) -> String {
    let names: Vec<String> =
        findings.runs().map(|run| format!("<code>{}</code>", escape_html(&run.head.id))).collect();
    format!(
        "<footer><p>Runs {}. All numbers come from their raw files; every point is in \
         <code>sweat report RUN --format csv</code>.</p></footer>",
        names.join(", ")
    )
}
