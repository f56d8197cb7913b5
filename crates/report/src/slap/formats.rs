//! The same figures as one JSON document and as a page.

use serde_json::{Value, json};

use super::times_text;
use crate::analysis::{SlapBlock, StatementLatency};
use crate::html::{STYLE, escape_html};

/// `blocks`: times are milliseconds, rounds go from the first connect to the last close.
pub fn json_document(blocks: &[SlapBlock], mix: &str) -> String {
    let blocks: Vec<Value> = blocks.iter().map(|block| block_value(block, mix)).collect();
    format!("{:#}\n", json!({ "blocks": blocks }))
}

fn block_value(block: &SlapBlock, mix: &str) -> Value {
    let [mean, least, most] = block.round_times_ms();
    let errors: Vec<Value> = block
        .errors()
        .into_iter()
        .map(|error| json!({"code": error.code, "count": error.count, "text": error.text}))
        .collect();
    let latencies: Vec<Value> = block.latencies().iter().map(latency_value).collect();
    json!({
        "engine": block.engine,
        "type": mix,
        "clients": block.clients,
        "queries_per_client": block.queries_per_client,
        "rounds_ms": block.rounds_ms,
        "round_ms": {"avg": mean, "min": least, "max": most},
        "queries": block.queries,
        "failed": block.failed,
        "sessions_unopened": block.unopened,
        "errors": errors,
        "statements": latencies,
    })
}

fn latency_value(latency: &StatementLatency) -> Value {
    json!({
        "statement": latency.name,
        "queries": latency.queries,
        "failed": latency.failed,
        "latency_ms": {
            "p50": latency.p50_ms,
            "p95": latency.p95_ms,
            "p99": latency.p99_ms,
            "max": latency.max_ms,
        },
    })
}

/// A page that needs nothing else. `command` is what was typed.
pub fn html_page(blocks: &[SlapBlock], command: &str) -> String {
    let rows: String = blocks.iter().map(block_row).collect();
    let sections: String = blocks.iter().map(statements_section).collect();
    let command = escape_html(command);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{command}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<header><div><p class=\"brand\">sweat slap</p>\
         <h1>Rounds</h1><p class=\"facts\"><code>{command}</code></p></div></header>\n<main>\n\
         <section><div class=\"scroll\"><table>\n<thead><tr><th>engine</th><th>clients</th>\
         <th>queries per client</th><th>rounds</th><th>mean, s</th><th>min, s</th><th>max, s</th>\
         <th>queries</th><th>failed</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\
         <p class=\"small\">A round lasts from the first connect to the last close.</p>\
         </section>\n{sections}</main>\n</body>\n</html>\n"
    )
}

fn block_row(block: &SlapBlock) -> String {
    let [mean, least, most] = block.round_times_ms().map(|ms| format!("{:.3}", ms as f64 / 1e3));
    format!(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{mean}</td><td>{least}</td>\
         <td>{most}</td><td>{}</td><td>{}</td></tr>\n",
        escape_html(&block.engine),
        block.clients,
        block.queries_per_client,
        block.rounds_ms.len(),
        block.queries,
        block.failed
    )
}

/// Latencies and errors of a block.
fn statements_section(block: &SlapBlock) -> String {
    let engine = match block.engine.as_str() {
        "" => String::new(),
        name => format!(", {}", escape_html(name)),
    };
    let row = |one: &StatementLatency| {
        format!(
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{:.3}</td><td>{:.3}</td>\
             <td>{:.3}</td><td>{:.3}</td></tr>\n",
            escape_html(&one.name),
            one.queries,
            one.failed,
            one.p50_ms,
            one.p95_ms,
            one.p99_ms,
            one.max_ms
        )
    };
    let rows: String = block.latencies().iter().map(row).collect();
    let error = |error: &crate::analysis::SlapError| {
        let times = times_text(error.count);
        format!("<li>error {}: {} ({times})</li>", error.code, escape_html(&error.text))
    };
    let errors: String = block.errors().into_iter().map(error).collect();
    let errors = if errors.is_empty() { errors } else { format!("<ul>{errors}</ul>") };
    format!(
        "<section><h2>Statements, {} clients{engine}</h2><div class=\"scroll\"><table>\n<thead><tr>\
         <th>statement</th><th>number</th><th>failed</th><th>p50, ms</th><th>p95, ms</th>\
         <th>p99, ms</th><th>max, ms</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\
         {errors}</section>\n",
        block.clients
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_escapes_what_comes_from_outside() {
        let mut block = SlapBlock::new("<e>", 1, 0);
        block.add_empty_round(0.5, "1049 <b>");
        let page = html_page(std::slice::from_ref(&block), "mysqlslap -q '<i>'");
        assert!(!page.contains("<b>") && !page.contains("<i>") && !page.contains("<e>"), "{page}");
        assert!(page.contains("<td>0.500</td>"), "{page}");
        let document: Value = serde_json::from_str(&json_document(&[block], "mixed")).unwrap();
        assert_eq!(document["blocks"][0]["rounds_ms"], json!([500]));
        assert_eq!(document["blocks"][0]["errors"][0]["code"], 1049);
    }
}
