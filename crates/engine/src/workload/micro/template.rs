//! Statements with holes, and the values that fill them. Every value follows from the seed and the number of the unit.

use std::io::Write as _;

use crate::base::random::Rng;

/// Keys in mixed order repeat after so many.
const MIXED_KEYS: u64 = 1 << 24;
/// Odd, so that it reaches every one of them.
const MIXED_STEP: u64 = 7_368_787;

/// What stands in a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HoleRule {
    /// `{n}`: number of the unit in its round, from 1.
    Number,
    /// `{key}`: a key of a row, all equally often.
    Key,
    /// `{missing}`: a key of no row.
    Missing,
    /// `{mixed}`: the n-th key of a new row, not in order.
    Mixed,
    /// `{scattered}`: the n-th key of a row, not in order, each once.
    Scattered,
    /// `{low:K}`: where K keys begin, anywhere.
    Low(u64),
    /// `{high:K}`: where they end.
    High(u64),
    /// `{from:K}`: where the n-th K keys begin.
    From(u64),
    /// `{to:K}`: where they end.
    To(u64),
    /// `{in:K}`: K different keys, with commas.
    List(u64),
    /// `{many:K}`: K new rows.
    Rows(u64),
    /// `{engine}`: the table's engine, if one was named.
    Engine,
}

/// A piece of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextPiece {
    Text(&'static str),
    Hole(HoleRule),
}

/// A statement with holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SqlTemplate(Vec<TextPiece>);

/// Where values come from.
#[derive(Clone, Debug)]
pub(super) struct ValueSource {
    rng: Rng,
    rows: u64,
    step: u64,
    engine: String,
    /// Where the last range began.
    low: u64,
}

impl HoleRule {
    fn from_text(text: &str) -> Option<HoleRule> {
        let (name, count) = match text.split_once(':') {
            Some((name, count)) => (name, Some(count.parse::<u64>().ok()?)),
            None => (text, None),
        };
        Some(match (name, count) {
            ("n", None) => HoleRule::Number,
            ("key", None) => HoleRule::Key,
            ("missing", None) => HoleRule::Missing,
            ("mixed", None) => HoleRule::Mixed,
            ("scattered", None) => HoleRule::Scattered,
            ("engine", None) => HoleRule::Engine,
            ("low", Some(count)) => HoleRule::Low(count),
            ("high", Some(count)) => HoleRule::High(count),
            ("from", Some(count)) => HoleRule::From(count),
            ("to", Some(count)) => HoleRule::To(count),
            ("in", Some(count)) => HoleRule::List(count),
            ("many", Some(count)) => HoleRule::Rows(count),
            _ => return None,
        })
    }
}

impl SqlTemplate {
    /// Finds the holes; what is none stays text.
    pub(super) fn from_sql(sql: &'static str) -> SqlTemplate {
        let (mut pieces, mut rest) = (Vec::new(), sql);
        while let Some((before, behind)) = rest.split_once('{') {
            let hole = behind
                .split_once('}')
                .and_then(|(name, left)| HoleRule::from_text(name).map(|rule| (rule, left)));
            let Some((rule, left)) = hole else { break };
            pieces.push(TextPiece::Text(before));
            pieces.push(TextPiece::Hole(rule));
            rest = left;
        }
        pieces.push(TextPiece::Text(rest));
        SqlTemplate(pieces)
    }

    /// Writes the statement of a unit.
    pub(super) fn write_text(&self, number: u64, values: &mut ValueSource, out: &mut Vec<u8>) {
        out.clear();
        for piece in &self.0 {
            match piece {
                TextPiece::Text(text) => out.extend_from_slice(text.as_bytes()),
                TextPiece::Hole(rule) => values.write_value(*rule, number, out),
            }
        }
    }

    /// The statement with a parameter in each hole.
    pub(super) fn parameter_text(&self) -> String {
        let text = |piece: &TextPiece| match piece {
            TextPiece::Text(text) => text,
            TextPiece::Hole(_) => "?",
        };
        self.0.iter().map(text).collect()
    }

    /// The parameters of a unit.
    pub(super) fn draw_parameters(
        &self,
        number: u64,
        values: &mut ValueSource,
        out: &mut Vec<u64>,
    ) {
        out.clear();
        for piece in &self.0 {
            if let TextPiece::Hole(rule) = piece {
                out.push(values.draw_number(*rule, number));
            }
        }
    }
}

impl ValueSource {
    /// Values for tables of so many rows.
    pub(super) fn new(seed: u64, rows: u64, engine: Option<&str>) -> ValueSource {
        let engine = engine.map_or_else(String::new, |name| format!(" ENGINE={name}"));
        ValueSource { rng: Rng::new(seed, 0, 0), rows, step: scatter_step(rows), engine, low: 1 }
    }

    fn draw_number(&mut self, rule: HoleRule, number: u64) -> u64 {
        let place = number - 1;
        match rule {
            HoleRule::Number | HoleRule::Rows(_) | HoleRule::List(_) | HoleRule::Engine => number,
            HoleRule::Key => self.rng.uniform_between(1, self.rows),
            HoleRule::Missing => self.rows + self.rng.uniform_between(1, self.rows),
            HoleRule::Mixed => place.wrapping_mul(MIXED_STEP) % MIXED_KEYS + 1,
            HoleRule::Scattered => scattered(number, self.rows, self.step),
            HoleRule::Low(count) => {
                self.low = self.rng.uniform_between(1, self.rows.saturating_sub(count) + 1);
                self.low
            }
            HoleRule::High(count) => self.low + count - 1,
            HoleRule::From(count) => place * count + 1,
            HoleRule::To(count) => number * count,
        }
    }

    fn write_value(&mut self, rule: HoleRule, number: u64, out: &mut Vec<u8>) {
        match rule {
            HoleRule::Engine => out.extend_from_slice(self.engine.as_bytes()),
            HoleRule::List(count) => {
                // One from each part of the table, so that they differ.
                let part = self.rows / count;
                for place in 0..count {
                    let key = place * part + self.rng.uniform_between(1, part);
                    let comma = if place == 0 { "" } else { "," };
                    let _ = write!(out, "{comma}{key}");
                }
            }
            HoleRule::Rows(count) => {
                for place in 0..count {
                    let id = (number - 1) * count + place + 1;
                    let comma = if place == 0 { "" } else { "," };
                    let _ = write!(out, "{comma}({id},{id},'a row of its own')");
                }
            }
            rule => {
                let _ = write!(out, "{}", self.draw_number(rule, number));
            }
        }
    }

    /// The text that `LOAD DATA` reads for a unit: new rows, a line each.
    pub(super) fn write_load_text(number: u64, count: u64, out: &mut Vec<u8>) {
        out.clear();
        for place in 0..count {
            let id = (number - 1) * count + place + 1;
            let _ = writeln!(out, "{id}\t{id}\ta row of its own");
        }
    }
}

/// The n-th of 1 to `rows` in an order of its own: each once.
pub(super) fn scattered(number: u64, rows: u64, step: u64) -> u64 {
    ((number - 1) % rows) * step % rows + 1
}

/// A step that reaches every one of so many rows, and is far from the last.
pub(super) fn scatter_step(rows: u64) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let first = (rows as f64 * 0.618) as u64 | 1;
    (first..).find(|step| divisor(*step, rows) == 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::operation::RoundStep;
    use super::super::operations::OPERATIONS;
    use super::*;

    fn text(sql: &'static str, number: u64) -> String {
        let mut out = Vec::new();
        let mut values = ValueSource::new(1, 1_000, Some("InnoDB"));
        SqlTemplate::from_sql(sql).write_text(number, &mut values, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn holes_are_filled_by_rule() {
        assert_eq!(
            text("CREATE TABLE a{n} (id INT){engine}", 3),
            "CREATE TABLE a3 (id INT) ENGINE=InnoDB"
        );
        assert_eq!(text("{from:100} {to:100}", 2), "101 200");
        assert_eq!(text("{many:2}", 2), "(3,3,'a row of its own'),(4,4,'a row of its own')");
        assert_eq!(text("{n} {what} {n}", 1), "1 {what} {n}");
        let range = text("{low:100} {high:100}", 1);
        let (low, high) = range.split_once(' ').unwrap();
        assert_eq!(low.parse::<u64>().unwrap() + 99, high.parse::<u64>().unwrap());
        let keys: BTreeSet<u64> =
            text("{in:100}", 1).split(',').map(|key| key.parse().unwrap()).collect();
        assert_eq!(keys.len(), 100);
        assert!(keys.iter().all(|key| (1..=1_000).contains(key)));
    }

    #[test]
    fn each_key_comes_once() {
        for rows in [1_000, 10_000, 123_000] {
            let step = scatter_step(rows);
            let all: BTreeSet<u64> = (1..=rows).map(|n| scattered(n, rows, step)).collect();
            assert_eq!((all.len() as u64, all.first(), all.last()), (rows, Some(&1), Some(&rows)));
        }
        let mixed: BTreeSet<String> = (1..=20_000).map(|n| text("{mixed}", n)).collect();
        assert_eq!(mixed.len(), 20_000);
    }

    #[test]
    fn a_prepared_statement_has_a_parameter_in_each_hole() {
        let template =
            SqlTemplate::from_sql("SELECT c FROM t WHERE id BETWEEN {low:9} AND {high:9}");
        assert_eq!(template.parameter_text(), "SELECT c FROM t WHERE id BETWEEN ? AND ?");
        let mut out = Vec::new();
        template.draw_parameters(1, &mut ValueSource::new(1, 1_000, None), &mut out);
        assert_eq!(out[0] + 8, out[1]);
    }

    #[test]
    fn the_table_has_no_hole_that_nothing_fills() {
        let mut names = BTreeSet::new();
        for operation in OPERATIONS {
            assert!(names.insert(operation.name), "{} is there twice", operation.name);
            let around = operation.before.iter().chain(operation.after).map(|step| match step {
                RoundStep::Once(sql) | RoundStep::Each(sql) => *sql,
            });
            for sql in around.chain(operation.unit.iter().filter_map(|step| step.sql())) {
                assert!(!text(sql, 1).contains(['{', '}']), "{}: {sql}", operation.name);
            }
        }
        assert!(names.len() >= 45);
    }
}
