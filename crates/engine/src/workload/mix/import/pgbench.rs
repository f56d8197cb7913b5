//! Scripts of pgbench: meta commands and statements become the steps of one transaction.

use super::super::pieces::parse_sql;
use super::super::spec::SqlPiece;
use super::{MixText, name_of, quote};

/// A script, as far as it was read.
#[derive(Default)]
struct ScriptReader {
    mix: MixText,
    steps: Vec<String>,
    /// Conditions of the `\if`s that are open: what holds here, and what did not in the branches before.
    open: Vec<(String, Vec<String>)>,
    set: Vec<String>,
    begins: bool,
}

/// Reads a script.
///
/// # Errors
/// When there is no statement in it.
pub(super) fn read_script(text: &str) -> Result<MixText, String> {
    let mut reader = ScriptReader::default();
    let mut statement = String::new();
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with("--") {
            continue;
        }
        if let Some(meta) = trimmed.strip_prefix('\\').filter(|_| statement.trim().is_empty()) {
            reader.read_meta(meta, number + 1);
            continue;
        }
        let (sql, meta) = match trimmed.find(" \\") {
            Some(at) => (&trimmed[..at], Some(&trimmed[at + 2..])),
            None => (trimmed, None),
        };
        statement.push_str(sql);
        let is_whole = sql.ends_with(';') || meta.is_some();
        if !is_whole {
            statement.push(' ');
            continue;
        }
        for part in statement.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            reader.add_statement(part, meta, number + 1);
        }
        statement.clear();
    }
    let last = statement.trim().to_owned();
    if !last.is_empty() {
        reader.add_statement(&last, None, text.lines().count());
    }
    if reader.steps.is_empty() {
        return Err("there is no statement in it".to_owned());
    }
    let begin = if reader.begins { "begin = true\n" } else { "begin = false\n" };
    let steps = reader.steps.join(",\n  ");
    let mut mix = reader.mix;
    mix.transactions.push(format!("[transaction.script]\n{begin}steps = [\n  {steps} ]"));
    if text.contains(":scale") {
        mix.sets.push("scale = 1".to_owned());
    }
    Ok(mix)
}

impl ScriptReader {
    /// The condition under which a step here runs.
    fn condition(&self) -> Option<String> {
        let all = self.open.iter().flat_map(|(now, before)| {
            let not = before.iter().map(|one| format!("not ({one})"));
            not.chain((!now.is_empty()).then(|| format!("({now})")))
        });
        let all: Vec<String> = all.collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }

    fn add_step(&mut self, what: String) {
        let when = self.condition().map(|when| format!(", when = {}", quote(&when)));
        self.steps.push(format!("{{{what}{}}}", when.unwrap_or_default()));
    }

    fn add_statement(&mut self, sql: &str, meta: Option<&str>, line: usize) {
        let word = sql.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        if word == "begin" || sql.eq_ignore_ascii_case("start transaction") {
            self.begins = true;
            return;
        }
        if ["end", "commit"].contains(&word.as_str()) {
            return;
        }
        if sql.contains("::") {
            self.mix.add_note(format!("line {line}: a cast of PostgreSQL (::)"));
        }
        self.note_unset_names(sql, line);
        let mut what = format!("sql = {}", quote(sql));
        match meta.map(|meta| meta.split_whitespace().collect::<Vec<_>>()).as_deref() {
            None => {}
            Some([kind @ ("gset" | "aset"), prefix @ ..]) => {
                let prefix = prefix.first().copied().unwrap_or_default();
                let columns = result_columns(sql);
                self.set.extend(columns.iter().map(|column| format!("{prefix}{column}")));
                let keeps: Vec<String> = columns
                    .iter()
                    .map(|column| format!("{prefix}{column} = {}", quote(column)))
                    .collect();
                what += &format!(", keep = {{{}}}", keeps.join(", "));
                if keeps.is_empty() || *kind == "aset" {
                    self.mix.add_note(format!("line {line}: \\{kind}"));
                }
            }
            Some(other) => self.mix.add_note(format!("line {line}: \\{}", other.join(" "))),
        }
        self.add_step(what);
    }

    /// Names that pgbench would be given on its command line.
    fn note_unset_names(&mut self, sql: &str, line: usize) {
        for piece in parse_sql(sql).unwrap_or_default().pieces {
            if let SqlPiece::Hole(name) = piece {
                if name != "scale" && !self.set.contains(&name) {
                    self.mix.add_note(format!("line {line}: :{name}, which no \\set sets"));
                }
            }
        }
    }

    fn read_meta(&mut self, meta: &str, line: usize) {
        let (command, rest) = meta.split_once(char::is_whitespace).unwrap_or((meta, ""));
        let rest = rest.trim();
        match command {
            "set" => self.read_set(rest, line),
            "sleep" => {
                let mut words = rest.split_whitespace();
                let count = words.next().unwrap_or_default();
                let unit = words.next().unwrap_or("s");
                if count.parse::<u64>().is_ok() {
                    self.add_step(format!("sleep = {}", quote(&format!("{count}{unit}"))));
                } else {
                    self.mix.add_note(format!("line {line}: \\sleep {rest}"));
                }
            }
            "if" => self.open.push((rest.to_owned(), Vec::new())),
            "elif" | "else" => {
                if let Some((now, before)) = self.open.last_mut() {
                    before.push(std::mem::take(now));
                    *now = if command == "elif" { rest.to_owned() } else { String::new() };
                }
            }
            "endif" => drop(self.open.pop()),
            other => self.mix.add_note(format!("line {line}: \\{other}")),
        }
    }

    fn read_set(&mut self, rest: &str, line: usize) {
        let (name, expression) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (name, expression) = (name_of(name), expression.trim());
        if self.set.contains(&name) {
            self.mix.add_note(format!("line {line}: {name} is set a second time"));
            return;
        }
        self.set.push(name.clone());
        let rule = random_rule(expression);
        let is_known =
            rule.is_some() || super::super::formula_parser::parse_formula(expression).is_ok();
        if !is_known {
            self.mix.add_note(format!("line {line}: \\set {name} {expression} (it is 0)"));
        }
        let rule = rule.unwrap_or_else(|| match is_known {
            true => format!("{{expr = {}}}", quote(expression)),
            false => "{expr = \"0\"}".to_owned(),
        });
        self.mix.values.push(format!("{name} = {rule}"));
    }
}

/// The rule for `random(1, 100)` and its kin.
fn random_rule(expression: &str) -> Option<String> {
    let (function, rest) = expression.split_once('(')?;
    let inner = rest.trim().strip_suffix(')')?;
    let parts: Vec<&str> = split_outside(inner).into_iter().map(str::trim).collect();
    let range = |low: &str, high: &str| format!("int = [{}, {}]", quote(low), quote(high));
    let number = |text: &str| text.parse::<f64>().ok();
    match (function.trim(), &parts[..]) {
        ("random", [low, high]) => Some(format!("{{{}}}", range(low, high))),
        ("random_zipfian", [low, high, s]) => {
            let s = number(s)?;
            Some(format!("{{{}, by = \"zipfian:{s}\", draw = \"event\"}}", range(low, high)))
        }
        ("random_exponential", [low, high, p]) => {
            // The density falls by e^-p over the range.
            let percentile = 100.0 * (1.0 - (-number(p)?).exp());
            let by = format!("exponential:{percentile}:1");
            Some(format!("{{{}, by = \"{by}\"}}", range(low, high)))
        }
        ("random_gaussian", [low, high, p]) => {
            let (a, b, p) = (number(low)?, number(high)?, number(p)?);
            let (mean, deviation) = ((a + b) / 2.0, (b - a + 1.0) / (2.0 * p));
            Some(format!("{{{}, by = \"normal:{mean}:{deviation}\"}}", range(low, high)))
        }
        _ => None,
    }
}

/// Parts between commas that are in no parentheses.
pub(super) fn split_outside(text: &str) -> Vec<&str> {
    let (mut depth, mut begin) = (0_i32, 0);
    let mut parts = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// Names of the columns of a SELECT, as far as they are words.
fn result_columns(sql: &str) -> Vec<String> {
    let lower = sql.to_ascii_lowercase();
    let Some(list) = lower.strip_prefix("select ") else { return Vec::new() };
    let list = list.split(" from ").next().unwrap_or_default();
    let words = split_outside(list).into_iter().filter_map(|item| {
        let name = item.split_whitespace().last()?.rsplit('.').next()?;
        let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_word.then(|| name.to_owned())
    });
    words.collect()
}
