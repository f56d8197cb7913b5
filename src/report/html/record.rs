//! What the run's record holds besides its numbers: costs, errors, settings, machine, plan, files.

use crate::analysis::figure::{bytes, figure};
use crate::analysis::{Findings, RawFile};

use super::escape::text;
use super::tables;

pub(super) fn costs(findings: &Findings) -> String {
    if findings.trials.is_empty() {
        return String::new();
    }
    format!("<section id=\"costs\"><h2>Cost of an event</h2>{}</section>", tables::costs(findings))
}

pub(super) fn errors(findings: &Findings) -> String {
    let table = tables::errors(findings);
    if table.is_empty() {
        return String::new();
    }
    format!("<section id=\"errors\"><h2>Errors</h2>{table}</section>")
}

pub(super) fn settings(findings: &Findings) -> String {
    if findings.settings.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = findings
        .settings
        .iter()
        .map(|s| {
            let set = if s.non_default { "set" } else { "" };
            let value = match &s.changed_to {
                Some(to) => format!("{} \u{2192} {to}", s.start),
                None => s.start.clone(),
            };
            vec![s.name.clone(), value, s.origin.clone().unwrap_or_default(), set.to_owned()]
        })
        .collect();
    details(
        "settings",
        "Settings of the server",
        &format!(
            "<p class=\"small\">Set by somebody, changed during the run, or worth knowing in \
             any case.</p>{}",
            tables::words(&["variable", "value", "origin", ""], &rows)
        ),
    )
}

pub(super) fn machine(findings: &Findings) -> String {
    let head = &findings.head;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut push = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if let Some(server) = &head.server {
        push("server", format!("{} {}", server.product, server.version));
        push("address", server.address.clone());
        push("encrypted", server.cipher.clone().unwrap_or_else(|| "no".to_owned()));
        push("on this machine", if server.local { "yes" } else { "no" }.to_owned());
    }
    let data = &findings.data;
    data.data_bytes.into_iter().for_each(|size| push("data and indexes", bytes(size)));
    data.rows.into_iter().for_each(|rows| push("rows", figure(rows)));
    data.pool_bytes.into_iter().for_each(|pool| push("buffer pool", bytes(pool)));
    for (name, value) in head.facts.iter().chain(&head.host) {
        let size = value.parse().ok().filter(|_| name.ends_with("_bytes"));
        push(name, size.map_or_else(|| value.clone(), bytes));
    }
    push("seed", head.seed.to_string());
    push("sweat", head.tool_version.clone());
    details("machine", "Server, data, machine", &tables::words(&["", ""], &rows))
}

pub(super) fn plan(findings: &Findings) -> String {
    if findings.plan.trim().is_empty() {
        return String::new();
    }
    details("plan", "Plan", &format!("<pre>{}</pre>", text(&findings.plan)))
}

pub(super) fn files(findings: &Findings) -> String {
    if findings.files.is_empty() {
        return String::new();
    }
    let row = |f: &RawFile| {
        vec![f.path.clone(), bytes(f.bytes as f64), f.sha256.clone().unwrap_or_default()]
    };
    let rows: Vec<Vec<String>> = findings.files.iter().map(row).collect();
    let folder = findings.folder.as_deref().unwrap_or(&findings.head.id);
    details(
        "files",
        "Raw files",
        &format!(
            "<p class=\"small\">In <code>{}</code></p>{}",
            text(folder),
            tables::words(&["file", "size", "SHA-256 when the run ended"], &rows)
        ),
    )
}

pub(super) fn details(id: &str, title: &str, inside: &str) -> String {
    format!(
        "<section id=\"{id}\"><details class=\"part\"><summary><h2>{title}</h2></summary>\
         {inside}</details></section>"
    )
}

pub(super) fn footer(findings: &Findings) -> String {
    format!(
        "<footer><p>Run <code>{}</code>, measured by sweat {}. All numbers come from the run's raw \
         files; every point is in <code>sweat report RUN --format csv</code>.</p></footer>",
        text(&findings.head.id),
        text(&findings.head.tool_version)
    )
}
