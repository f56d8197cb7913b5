//! A strict reader of OpenMetrics 1.0 text, after its grammar: what it takes, a monitor takes.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{ReportStyle, find_format, samples};
use crate::analysis::{RunFindings, analyse_run};

fn written(findings: &RunFindings) -> String {
    let format = find_format("openmetrics").unwrap();
    String::from_utf8(format.render(findings, ReportStyle::default())).unwrap()
}

#[derive(Default)]
struct Reader {
    /// Family under way: name, kind, unit.
    family: Option<(String, String, String)>,
    done: BTreeSet<String>,
    seen: BTreeSet<String>,
    values: BTreeMap<String, f64>,
}

fn is_name(name: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    name.starts_with(first) && name.chars().all(|c| first(c) || c.is_ascii_digit())
}

/// Endings that samples of a kind may have.
fn endings(kind: &str) -> &'static [&'static str] {
    match kind {
        "counter" => &["_total", "_created"],
        "gauge" | "unknown" => &[""],
        "info" => &["_info"],
        "summary" => &["", "_count", "_sum", "_created"],
        _ => &[],
    }
}

impl Reader {
    fn read(text: &str) -> Result<BTreeMap<String, f64>, String> {
        let body = text.strip_suffix("# EOF\n").ok_or("it does not end with # EOF")?;
        let mut reader = Reader::default();
        for (number, line) in body.split_terminator('\n').enumerate() {
            reader.line(line).map_err(|why| format!("line {}: {why}: {line}", number + 1))?;
        }
        if !body.is_empty() && !body.ends_with('\n') {
            return Err("the last line does not end".to_owned());
        }
        Ok(reader.values)
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (what, name) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            return self.describe(what, name, words.next().unwrap_or(""));
        }
        self.sample(line)
    }

    fn describe(&mut self, what: &str, name: &str, text: &str) -> Result<(), String> {
        if !is_name(name) {
            return Err("no name".to_owned());
        }
        let fresh = self.family.as_ref().is_none_or(|f| f.0 != name);
        if fresh {
            if !self.done.insert(name.to_owned()) {
                return Err("a family begins twice".to_owned());
            }
            self.family = Some((name.to_owned(), "unknown".to_owned(), String::new()));
        }
        let family = self.family.as_mut().expect("it was set");
        match what {
            "TYPE" if fresh && !endings(text).is_empty() => family.1 = text.to_owned(),
            "UNIT" if name.ends_with(&format!("_{text}")) => family.2 = text.to_owned(),
            "HELP" => {}
            _ => return Err("no such description, or not here".to_owned()),
        }
        Ok(())
    }

    fn sample(&mut self, line: &str) -> Result<(), String> {
        let (family, kind, _) = self.family.clone().ok_or("a sample before its family")?;
        let end = line.find(['{', ' ']).ok_or("no value")?;
        let (name, rest) = line.split_at(end);
        let ending = name.strip_prefix(family.as_str()).ok_or("a sample of another family")?;
        if !endings(&kind).contains(&ending) {
            return Err(format!("a {kind} has no {ending}"));
        }
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest)?,
            None => (Vec::new(), rest),
        };
        let quantile = labels.iter().find(|l| l.0 == "quantile");
        if (kind == "summary" && ending.is_empty()) != quantile.is_some() {
            return Err("a quantile where there is none, or none where one is".to_owned());
        }
        if let Some((_, quantile)) = quantile {
            let quantile: f64 = quantile.parse().map_err(|_| "no quantile")?;
            if !(0.0..=1.0).contains(&quantile) {
                return Err("a quantile beyond 1".to_owned());
            }
        }
        let value: f64 = value
            .strip_prefix(' ')
            .filter(|v| !v.contains(' '))
            .and_then(|v| v.parse().ok())
            .ok_or("no value")?;
        if matches!(kind.as_str(), "counter" | "summary") && value < 0.0 {
            return Err("a count below 0".to_owned());
        }
        if kind == "info" && value != 1.0 {
            return Err("an info that is not 1".to_owned());
        }
        let mut sorted = labels;
        sorted.sort();
        if !self.seen.insert(format!("{name} {sorted:?}")) {
            return Err("a sample twice".to_owned());
        }
        *self.values.entry(name.to_owned()).or_default() += value;
        Ok(())
    }
}

/// Names and values of labels, and what follows them.
type Labels<'a> = (Vec<(String, String)>, &'a str);

/// Labels up to the closing brace, and what follows it.
fn labels(text: &str) -> Result<Labels<'_>, String> {
    let (mut found, mut rest) = (Vec::<(String, String)>::new(), text);
    loop {
        if let Some(rest) = rest.strip_prefix('}') {
            return Ok((found, rest));
        }
        if !found.is_empty() {
            rest = rest.strip_prefix(',').ok_or("no comma between labels")?;
        }
        let (name, after) = rest.split_once("=\"").ok_or("no label")?;
        if !is_name(name) || name.contains(':') || found.iter().any(|l| l.0 == name) {
            return Err("a wrong label".to_owned());
        }
        let (mut value, mut chars) = (String::new(), after.char_indices());
        let end = loop {
            match chars.next() {
                Some((at, '"')) => break at,
                Some((_, '\\')) => match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, c @ ('\\' | '"'))) => value.push(c),
                    _ => return Err("a wrong escape".to_owned()),
                },
                Some((_, c)) => value.push(c),
                None => return Err("a label does not end".to_owned()),
            }
        };
        found.push((name.to_owned(), value));
        rest = &after[end + 1..];
    }
}

#[test]
fn a_strict_reader_takes_every_run() {
    let mut hostile = samples::bench_findings();
    hostile.head.id = "a\"b\\c\nd".to_owned();
    let all = [
        samples::demo_findings(),
        hostile,
        analyse_run(&crate::archive::RunRecord::default()),
        samples::comparison_sample(),
        samples::sweep_sample(),
        samples::capacity_sample(),
    ];
    for findings in &all {
        let text = written(findings);
        let values = Reader::read(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let events: u64 = findings.results.trials.iter().map(|t| t.events).sum();
        assert_eq!(values.get("sweat_events_total").copied().unwrap_or(0.0), events as f64);
        let count = values.get("sweat_response_seconds_count").copied().unwrap_or(0.0);
        assert_eq!(count, events as f64);
    }
}

#[test]
fn the_reader_can_refuse() {
    for (text, why) in [
        ("# TYPE a gauge\na 1\n", "# EOF"),
        ("a 1\n# EOF\n", "before its family"),
        ("# TYPE a counter\na 1\n# EOF\n", "a counter has no"),
        ("# TYPE a gauge\nb 1\n# EOF\n", "another family"),
        ("# TYPE a gauge\na 1\na 1\n# EOF\n", "twice"),
        ("# TYPE a gauge\na{x=\"1\" 1\n# EOF\n", "no comma"),
        ("# TYPE a gauge\na{x=\"\\t\"} 1\n# EOF\n", "escape"),
        ("# TYPE a gauge\na one\n# EOF\n", "no value"),
        ("# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n", "no such description"),
        ("# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\n# TYPE a gauge\n# EOF\n", "begins twice"),
        ("# TYPE a summary\na 1\n# EOF\n", "quantile"),
        ("# TYPE a info\na_info 2\n# EOF\n", "not 1"),
    ] {
        let found = Reader::read(text).expect_err(text);
        assert!(found.contains(why), "{text}: {found}");
    }
}
