//! What the run's record holds besides its numbers: costs, errors, settings, machine, plan, files.

use crate::analysis::number_format::{
    format_bytes, format_count, format_number, format_time, number_or_dash,
};
use crate::analysis::{
    DataSize, FindingResults, MachineFinding, RawFile, RunFindings, RunHeader, TrialFinding,
    VariableFinding,
};

use super::super::state_word;
use super::escape::escape_html;
use super::tables;

/// The machines that shared the load.
pub(super) fn machines_section(machines: &[MachineFinding]) -> String {
    if machines.is_empty() {
        return String::new();
    }
    let time = |seconds: Option<f64>| seconds.map_or_else(|| "-".to_owned(), format_time);
    let has_loads = machines.iter().any(|machine| !machine.load.is_empty());
    let row = |machine: &MachineFinding| {
        let load = has_loads.then(|| machine.load.clone());
        let own = vec![
            machine.name.clone(),
            machine.share.clone(),
            state_word(machine.state).to_owned(),
            format_count(machine.workers as u64),
            number_or_dash(machine.events_per_s),
            time(machine.p50_s),
            time(machine.p99_s),
            time(machine.lateness_p99_s),
            time(Some(machine.started_s)),
        ];
        load.into_iter().chain(own).collect()
    };
    let head = [
        "machine",
        "share",
        "state",
        "workers",
        "events/s",
        "p50",
        "p99",
        "lateness p99",
        "started after the first",
    ];
    let rows: Vec<Vec<String>> = machines.iter().map(row).collect();
    let load = if has_loads { &["load"][..] } else { &[] };
    let table = tables::number_table(&[load, &head[..]].concat(), &rows);
    format!("<section id=\"machines\"><h2>Machines</h2>{table}</section>")
}

pub(super) fn costs_section(findings: &FindingResults) -> String {
    if findings.trials.is_empty() {
        return String::new();
    }
    format!(
        "<section id=\"costs\"><h2>Cost of an event</h2>{}</section>",
        tables::costs_table(findings)
    )
}

pub(super) fn errors_section(findings: &FindingResults) -> String {
    let table = tables::errors_table(findings);
    if table.is_empty() {
        return String::new();
    }
    format!("<section id=\"errors\"><h2>Errors</h2>{table}</section>")
}

/// Server, pool, data, machine in a line.
pub(super) fn machine_facts(head: &RunHeader, data: &DataSize) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(server) = &head.server {
        let version = server.version_number();
        let sandbox = if server.sandbox { ", sandbox" } else { "" };
        let observed = if server.observed { ", observed" } else { "" };
        facts.push(format!("{} {version}{sandbox}{observed}", server.product));
    }
    facts.extend(data.pool_bytes.map(|pool| format!("pool {}", format_bytes(pool))));
    facts.extend(data.data_bytes.map(|size| match data.class {
        Some(class) => format!("data {} ({})", format_bytes(size), class.as_str()),
        None => format!("data {}", format_bytes(size)),
    }));
    let host = |name: &str| head.host.get(name);
    facts.extend(host("cpu").cloned());
    facts.extend(
        host("cpus").map(|n| if n == "1" { "1 core".into() } else { format!("{n} cores") }),
    );
    let memory = host("memory_bytes").and_then(|text| text.parse().ok());
    facts.extend(memory.map(|bytes| format!("{} of memory", format_bytes(bytes))));
    facts
}

pub(super) fn settings_section(findings: &RunFindings) -> String {
    if findings.settings.is_empty() {
        return String::new();
    }
    details_section("settings", "Settings of the server", &settings_table(&findings.settings))
}

pub(super) fn settings_table(settings: &[VariableFinding]) -> String {
    let row = |s: &VariableFinding| {
        let set = if s.non_default { "set" } else { "" };
        let value = match &s.changed_to {
            Some(to) => format!("{} \u{2192} {to}", s.start),
            None => s.start.clone(),
        };
        vec![s.name.clone(), value, s.origin.clone().unwrap_or_default(), set.to_owned()]
    };
    let rows: Vec<Vec<String>> = settings.iter().map(row).collect();
    format!(
        "<p class=\"small\">Set by a user, changed during the run, or generally relevant.</p>{}",
        tables::text_table(&["variable", "value", "origin", ""], &rows)
    )
}

pub(super) fn machine_section(findings: &RunFindings) -> String {
    let mut table = machine_table(&findings.head, &findings.data);
    if let Some(text) = findings.results.trials.iter().find_map(TrialFinding::dealt_text) {
        let said = format!("Hosts: {text}; figures of the server are those of the first.");
        table += &format!("<p>{}</p>", escape_html(&said));
    }
    details_section("machine", "Server, data, machine", &table)
}

pub(super) fn machine_table(head: &RunHeader, data: &DataSize) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut push = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if let Some(server) = &head.server {
        let label = if server.observed { "database, observed" } else { "server" };
        push(label, format!("{} {}", server.product, server.version));
        push("address", server.address.clone());
        push("encrypted", server.cipher.clone().unwrap_or_else(|| "no".to_owned()));
        push("on this machine", if server.local { "yes" } else { "no" }.to_owned());
    }
    data.data_bytes.into_iter().for_each(|size| push("data and indexes", format_bytes(size)));
    data.rows.into_iter().for_each(|rows| push("rows", format_number(rows)));
    data.pool_bytes.into_iter().for_each(|pool| push("buffer pool", format_bytes(pool)));
    for (name, value) in head.facts.iter().chain(&head.host) {
        let size = value.parse().ok().filter(|_| name.ends_with("_bytes"));
        push(name, size.map_or_else(|| value.clone(), format_bytes));
    }
    push("seed", head.seed.to_string());
    push("sweat", head.tool_version.clone());
    tables::text_table(&["", ""], &rows)
}

pub(super) fn plan_section(findings: &RunFindings) -> String {
    if findings.plan.trim().is_empty() {
        return String::new();
    }
    details_section("plan", "Plan", &format!("<pre>{}</pre>", escape_html(&findings.plan)))
}

pub(super) fn files_section(findings: &RunFindings) -> String {
    if findings.files.is_empty() {
        return String::new();
    }
    let row = |f: &RawFile| {
        vec![f.path.clone(), format_bytes(f.bytes as f64), f.sha256.clone().unwrap_or_default()]
    };
    let rows: Vec<Vec<String>> = findings.files.iter().map(row).collect();
    let folder = findings.folder.as_deref().unwrap_or(&findings.head.id);
    details_section(
        "files",
        "Raw files",
        &format!(
            "<p class=\"small\">In <code>{}</code></p>{}",
            escape_html(folder),
            tables::text_table(&["file", "size", "SHA-256 when the run ended"], &rows)
        ),
    )
}

pub(super) fn details_section(id: &str, title: &str, inside: &str) -> String {
    format!(
        "<section id=\"{id}\"><details class=\"part\"><summary><h2>{title}</h2></summary>\
         {inside}</details></section>"
    )
}

pub(super) fn page_footer(findings: &RunFindings) -> String {
    format!(
        "<footer><p>Run <code>{}</code>, measured by sweat {}. All numbers come from the run's raw \
         files; every point is in <code>sweat report RUN --format csv</code>.</p></footer>",
        escape_html(&findings.head.id),
        escape_html(&findings.head.tool_version)
    )
}
