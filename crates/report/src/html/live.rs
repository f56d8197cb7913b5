//! The page of a run under way: the run's own page, a line above it that follows the run, and a script that lets it grow.

use crate::analysis::{RunFindings, answer_headline};

use super::axis::PlotAxis;
use super::escape::escape_html;
use super::{
    LIVE_SCRIPT, PageHead, SCRIPT, STYLE, inline_text, plot_data, run_title, sections,
    write_page_with,
};

/// The page as it stands now; without findings, what stands there until the run has a folder. `command` is what runs,
/// `last_event` the number of the last event that the page holds already.
pub fn live_page(findings: Option<&RunFindings>, command: &str, last_event: u64) -> String {
    let strip = format!(
        "<div id=\"live\" data-event=\"{last_event}\">\
         <strong id=\"live-state\">connecting</strong> <span id=\"live-line\"></span>\
         <p id=\"live-note\" class=\"small\"></p></div>"
    );
    let title = findings.map_or_else(|| format!("sweat {command}"), |run| run_title(&run.head));
    let answer = findings.map(|run| answer_headline(&run.results)).unwrap_or_default();
    let version = findings.map_or(env!("CARGO_PKG_VERSION"), |run| &run.head.tool_version);
    let mut parts = findings.map_or_else(|| empty_parts(command), sections::page_parts);
    // Behind the header, which is taken over anew with all below it.
    parts.insert(1, strip);
    let mut page = Vec::new();
    let head = PageHead { title: &title, answer };
    write_page_with(head, version, parts, &[SCRIPT, LIVE_SCRIPT], &mut page)
        .expect("memory takes every write");
    String::from_utf8_lossy(&page).into_owned()
}

/// The page of a run that has no folder yet.
fn empty_parts(command: &str) -> Vec<String> {
    let header = format!(
        "<header><div><p class=\"brand\">sweat <span>{}</span></p><h1>starting</h1></div>\
         <button id=\"theme\" type=\"button\" hidden>dark / light</button></header>",
        escape_html(command)
    );
    let data = plot_data::data_element([], &PlotAxis::time_range(0.0, 1.0), None);
    vec![header, "<main></main>".to_owned(), "<footer></footer>".to_owned(), data]
}

/// The scripts of such a page and its style sheet, just as they stand in their elements.
pub fn inline_texts() -> ([String; 2], String) {
    ([SCRIPT, LIVE_SCRIPT].map(inline_text), inline_text(STYLE))
}

#[cfg(test)]
mod tests {
    use super::super::super::samples;
    use super::*;
    use crate::archive::RunState;

    #[test]
    fn the_page_of_a_run_under_way_is_its_own_page_and_grows() {
        let mut findings = samples::bench_findings();
        findings.head.state = RunState::Running;
        let page = live_page(Some(&findings), "bench", 7);
        let report = super::super::super::find_format("html").unwrap();
        let own = report.render(&findings, super::super::super::ReportStyle::default());
        let own = String::from_utf8(own).unwrap();
        let main = |text: &str| {
            let from = text.find("<main>").unwrap();
            text[from..text.find("<script>").unwrap()].to_owned()
        };
        assert_eq!(main(&page), main(&own), "one renderer");
        assert!(page.contains("data-event=\"7\"") && page.contains("\"y\":[0.0,"), "{page}");
        let waiting = live_page(None, "a<b", 0);
        assert!(waiting.contains("id=\"plot-data\"") && waiting.contains("a&lt;b"), "{waiting}");
    }

    /// A policy with hashes lets neither a style in an attribute nor a handler pass.
    #[test]
    fn all_that_a_policy_must_let_pass_has_a_hash() {
        let all = [
            samples::bench_findings(),
            samples::comparison_sample(),
            samples::capacity_sample(),
            samples::sweep_sample(),
            samples::replay_variants_sample(),
            samples::demo_findings(),
        ];
        let (scripts, style) = inline_texts();
        for findings in all {
            let page = live_page(Some(&findings), "run", 1);
            for script in &scripts {
                assert!(page.contains(&format!("<script>{script}</script>")));
            }
            assert!(page.contains(&format!("<style>{style}</style>")));
            assert_eq!(page.matches("<script>").count(), 2);
            assert_eq!(page.matches("<style>").count(), 1);
            let markup = page.replace(&scripts[0], "").replace(&scripts[1], "");
            for banned in [" style=", " onclick=", " onload=", "javascript:", " src=\"http"] {
                assert!(!markup.contains(banned), "{banned} in the page of {}", findings.head.id);
            }
        }
    }
}
