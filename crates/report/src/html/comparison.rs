//! The page of finished runs against others.

use crate::analysis::{ComparedRun, ComparedSide, ComparisonFindings};

use super::axis::PlotAxis;
use super::escape::escape_html;
use super::plot::{Plot, PlotFrame};
use super::{record, replay, run_plots, sections, verdicts};

/// All of it, in order.
pub(super) fn page_parts(findings: &ComparisonFindings) -> Vec<String> {
    let results = &findings.results;
    let mut still: Vec<(Plot, PlotFrame)> =
        vec![(run_plots::spectrum_plot(results), sections::tall_frame())];
    still.retain(|(plot, _)| !plot.is_empty());
    let time = PlotAxis::time_range(0.0, 0.0);
    vec![
        page_header(findings),
        "<main>".to_owned(),
        sections::answer_section(None, results, Vec::new()),
        sections::caveats_section(results),
        verdicts::comparisons_section(results),
        verdicts::differences_section(results),
        replay::change_sections(&results.replay_changes),
        sections::loads_section(results, &still),
        record::costs_section(results),
        record::errors_section(results),
        sides_section(&findings.sides),
        "</main>".to_owned(),
        page_footer(findings),
        sections::data_element(still.iter().map(|(plot, _)| plot), &time),
    ]
}

fn page_header(findings: &ComparisonFindings) -> String {
    let [base, other] = &findings.sides;
    let fact = |side: &ComparedSide| {
        let server = side.runs.first().and_then(|run| run.head.server.as_ref());
        let server = server.map(|s| format!("{} {}", s.product, s.version)).unwrap_or_default();
        format!("<span>{}: {}</span>", escape_html(&side.name), escape_html(&server))
    };
    format!(
        "<header><div><p class=\"brand\">sweat <span>compare</span></p><h1>{} against {}</h1>\
         <p class=\"facts\">{} {}</p></div>\
         <button id=\"theme\" type=\"button\" hidden>dark / light</button></header>",
        escape_html(&other.name),
        escape_html(&base.name),
        fact(base),
        fact(other)
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
