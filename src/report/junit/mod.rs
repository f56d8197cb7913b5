//! JUnit XML: a test case for each check, one for the run itself; unsure is skipped, as no build should fail for it
//! unless asked to be strict. Build servers read the dialect of Jenkins: suites, suite, cases.

use std::io::{self, Write};

use crate::analysis::{CheckFinding, Findings};
use crate::archive::RunState;

use super::{ReportFormat, ReportStyle, format_utc, state_word};

/// The format.
pub(super) struct JunitReport;

impl ReportFormat for JunitReport {
    fn name(&self) -> &'static str {
        "junit"
    }
    fn about(&self) -> &'static str {
        "the checks as JUnit XML, for a build server"
    }
    fn write(
        &self,
        findings: &Findings,
        _look: ReportStyle,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let head = &findings.head;
        let broken = head.state != RunState::Done;
        let of = |verdict: &str| findings.checks.iter().filter(|c| c.verdict == verdict).count();
        let void = usize::from(!broken && findings.void_caveat().is_some());
        let counts = format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
            findings.checks.len() + 1,
            of("fail"),
            usize::from(broken),
            of("unsure") + void,
            head.seconds.unwrap_or(0.0)
        );
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        writeln!(out, "<testsuites name=\"sweat\" {counts}>")?;
        writeln!(
            out,
            "  <testsuite name=\"{}\" {counts} timestamp=\"{}\">",
            escape_xml(&head.id),
            format_utc(head.origin_unix_ns).split('.').next().unwrap_or_default()
        )?;
        write_properties(findings, out)?;
        let class = escape_xml(&format!("sweat.{}.{}", head.command, head.name));
        write_run(findings, &class, out)?;
        for check in &findings.checks {
            write_case(check, &class, out)?;
        }
        writeln!(out, "    <system-out>{}</system-out>", escape_xml(&findings.answer.join(" ")))?;
        writeln!(out, "  </testsuite>\n</testsuites>")
    }
}

fn write_properties(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let head = &findings.head;
    let mut list = vec![("sweat", head.tool_version.clone()), ("seed", head.seed.to_string())];
    if let Some(server) = &head.server {
        list.push(("server", format!("{} {}", server.product, server.version)));
    }
    list.extend(findings.folder.iter().map(|folder| ("folder", folder.clone())));
    writeln!(out, "    <properties>")?;
    for (name, value) in list {
        writeln!(out, "      <property name=\"{name}\" value=\"{}\"/>", escape_xml(&value))?;
    }
    writeln!(out, "    </properties>")
}

/// Whether the run came to its end and can carry its claim.
fn write_run(findings: &Findings, class: &str, out: &mut dyn Write) -> io::Result<()> {
    let head = &findings.head;
    write!(out, "    <testcase classname=\"{class}\" name=\"run\" time=\"0\"")?;
    match (head.state, findings.void_caveat()) {
        (RunState::Done, None) => writeln!(out, "/>"),
        (RunState::Done, Some(void)) => {
            let why = escape_xml(&format!("{}: {}", void.id, void.evidence));
            writeln!(out, "><skipped message=\"{why}\"/></testcase>")
        }
        (state, _) => {
            let why = head.why.clone().unwrap_or_default();
            let why = escape_xml(&format!("{}: {why}", state_word(state)));
            writeln!(out, "><error type=\"{}\" message=\"{why}\"/></testcase>", state_word(state))
        }
    }
}

fn write_case(check: &CheckFinding, class: &str, out: &mut dyn Write) -> io::Result<()> {
    let name = escape_xml(&check.text);
    let said = escape_xml(format!("{}; {}", check.value, check.why).trim_end_matches("; "));
    write!(out, "    <testcase classname=\"{class}\" name=\"{name}\" time=\"0\">")?;
    match check.verdict {
        "pass" => write!(out, "<system-out>{said}</system-out>")?,
        "fail" => write!(out, "<failure type=\"check\" message=\"{said}\">{said}</failure>")?,
        _ => write!(out, "<skipped message=\"unsure: {said}\"/>")?,
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
