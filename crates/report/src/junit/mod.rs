//! JUnit XML: a test case for each check, one for the run itself; unsure is skipped, as no build should fail for it
//! unless asked to be strict. Build servers read the dialect of Jenkins: suites, suite, cases.

use std::io::{self, Write};

use crate::analysis::number_format::format_utc;
use crate::analysis::{
    CheckFinding, CheckOutcome, ComparedSide, FindingResults, Findings, RunHeader,
};
use crate::archive::RunState;

use super::{ReportFormat, ReportStyle, state_word};

/// The format.
pub(super) const FORMAT: ReportFormat = ReportFormat {
    name: "junit",
    about: "the checks as JUnit XML, for a build server",
    refuse: ReportFormat::shows_all,
    write: write_junit,
};

fn write_junit(findings: Findings<'_>, _look: ReportStyle, out: &mut dyn Write) -> io::Result<()> {
    let results = findings.results();
    let suite = TestSuite::of(findings);
    let broken = suite.state != RunState::Done;
    let of = |verdict: CheckOutcome| suite.checks.iter().filter(|c| c.verdict == verdict).count();
    let void = usize::from(!broken && results.void_caveat().is_some());
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        suite.checks.len() + 1,
        of(CheckOutcome::Fail),
        usize::from(broken),
        of(CheckOutcome::Unsure) + void,
        suite.seconds.unwrap_or(0.0)
    );
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"sweat\" {counts}>")?;
    writeln!(
        out,
        "  <testsuite name=\"{}\" {counts} timestamp=\"{}\">",
        escape_xml(&suite.id),
        format_utc(suite.started_unix_ns).split('.').next().unwrap_or_default()
    )?;
    write_properties(&suite.properties, out)?;
    let class = escape_xml(&suite.class);
    write_run(&suite, results, &class, out)?;
    for check in suite.checks {
        write_case(check, &class, out)?;
    }
    writeln!(out, "    <system-out>{}</system-out>", escape_xml(&results.answer.join(" ")))?;
    writeln!(out, "  </testsuite>\n</testsuites>")
}

/// What is told of a run, or of a comparison of runs.
struct TestSuite<'a> {
    id: String,
    class: String,
    state: RunState,
    why: &'a str,
    seconds: Option<f64>,
    started_unix_ns: u64,
    checks: &'a [CheckFinding],
    properties: Vec<(String, String)>,
}

impl<'a> TestSuite<'a> {
    fn of(findings: Findings<'a>) -> TestSuite<'a> {
        match findings {
            Findings::Run(run) => {
                let mut properties = run_properties("", &run.head);
                properties.extend(run.folder.iter().map(|dir| ("folder".to_owned(), dir.clone())));
                TestSuite {
                    id: run.head.id.clone(),
                    class: format!("sweat.{}.{}", run.head.command, run.head.name),
                    state: run.head.state,
                    why: run.head.why.as_deref().unwrap_or_default(),
                    seconds: run.head.seconds,
                    started_unix_ns: run.head.origin_unix_ns,
                    checks: &run.checks,
                    properties,
                }
            }
            Findings::Comparison(found) => TestSuite {
                id: found.joined_ids(),
                class: "sweat.compare".to_owned(),
                state: RunState::Done,
                why: "",
                seconds: None,
                started_unix_ns: found.runs().map(|r| r.head.origin_unix_ns).min().unwrap_or(0),
                checks: &[],
                properties: side_properties(&found.sides),
            },
        }
    }
}

/// Those of each run; names tell the side and, where it has several runs, which one.
fn side_properties(sides: &[ComparedSide; 2]) -> Vec<(String, String)> {
    let mut list = Vec::new();
    for (side, name) in sides.iter().zip(["base", "other"]) {
        for (number, run) in side.runs.iter().enumerate() {
            let prefix = match side.runs.len() {
                1 => format!("{name}."),
                _ => format!("{name}.{}.", number + 1),
            };
            list.push((format!("{prefix}run"), run.head.id.clone()));
            list.extend(run_properties(&prefix, &run.head));
        }
    }
    list
}

fn run_properties(prefix: &str, head: &RunHeader) -> Vec<(String, String)> {
    let mut list = vec![("sweat", head.tool_version.clone()), ("seed", head.seed.to_string())];
    if let Some(server) = &head.server {
        list.push(("server", format!("{} {}", server.product, server.version)));
    }
    list.into_iter().map(|(name, value)| (format!("{prefix}{name}"), value)).collect()
}

fn write_properties(list: &[(String, String)], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "    <properties>")?;
    for (name, value) in list {
        writeln!(out, "      <property name=\"{name}\" value=\"{}\"/>", escape_xml(value))?;
    }
    writeln!(out, "    </properties>")
}

/// Whether the run came to its end and can carry its claim.
fn write_run(
    suite: &TestSuite<'_>,
    results: &FindingResults,
    class: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "    <testcase classname=\"{class}\" name=\"run\" time=\"0\"")?;
    match (suite.state, results.void_caveat()) {
        (RunState::Done, None) => writeln!(out, "/>"),
        (RunState::Done, Some(void)) => {
            let why = escape_xml(&format!("{}: {}", void.id, void.evidence));
            writeln!(out, "><skipped message=\"{why}\"/></testcase>")
        }
        (state, _) => {
            let why = escape_xml(&format!("{}: {}", state_word(state), suite.why));
            writeln!(out, "><error type=\"{}\" message=\"{why}\"/></testcase>", state_word(state))
        }
    }
}

fn write_case(check: &CheckFinding, class: &str, out: &mut dyn Write) -> io::Result<()> {
    let name = escape_xml(&check.text);
    let said = escape_xml(format!("{}; {}", check.value, check.why).trim_end_matches("; "));
    write!(out, "    <testcase classname=\"{class}\" name=\"{name}\" time=\"0\">")?;
    match check.verdict {
        CheckOutcome::Pass => write!(out, "<system-out>{said}</system-out>")?,
        CheckOutcome::Fail => {
            write!(out, "<failure type=\"check\" message=\"{said}\">{said}</failure>")?
        }
        CheckOutcome::Unsure => write!(out, "<skipped message=\"unsure: {said}\"/>")?,
    }
    writeln!(out, "</testcase>")
}

/// Text as content or as the value of an attribute; XML 1.0 has no place for control characters.
fn escape_xml(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
