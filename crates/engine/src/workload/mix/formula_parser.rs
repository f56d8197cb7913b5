//! Reads formulas: `:scale * 100000`, `:n > 0 and not :done`, `rows(product)`.

use super::formula::{BinaryOperator, Formula, FormulaName, OwnedScalar};

/// Reads a formula.
///
/// # Errors
/// Says what is wrong with it.
pub(super) fn parse_formula(text: &str) -> Result<Formula<FormulaName>, String> {
    let mut parser = FormulaParser { rest: text.trim_start(), depth: 0 };
    let formula = parser.parse_level(0)?;
    match parser.rest {
        "" => Ok(formula.fold_constants()),
        rest => Err(format!("`{}` is not understood", shorten_text(rest))),
    }
}

/// The beginning of a text, for messages.
pub(super) fn shorten_text(text: &str) -> String {
    const SHOWN: usize = 24;
    let short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() { format!("{short}..") } else { short }
}

/// Deepest nesting of a formula: it is read and evaluated by recursion.
const DEEPEST: usize = 40;

struct FormulaParser<'t> {
    rest: &'t str,
    depth: usize,
}

/// Operators by how tightly they bind, loosest first; of those with a common beginning the longest first.
const LEVELS: [&[(&str, BinaryOperator)]; 5] = [
    &[("or", BinaryOperator::Or)],
    &[("and", BinaryOperator::And)],
    &[
        ("<=", BinaryOperator::LessOrEqual),
        (">=", BinaryOperator::GreaterOrEqual),
        ("<>", BinaryOperator::NotEqual),
        ("!=", BinaryOperator::NotEqual),
        ("==", BinaryOperator::Equal),
        ("=", BinaryOperator::Equal),
        ("<", BinaryOperator::Less),
        (">", BinaryOperator::Greater),
    ],
    &[("+", BinaryOperator::Add), ("-", BinaryOperator::Subtract)],
    &[
        ("*", BinaryOperator::Multiply),
        ("/", BinaryOperator::Divide),
        ("%", BinaryOperator::Remainder),
        ("div", BinaryOperator::IntegerDivide),
    ],
];

impl FormulaParser<'_> {
    fn take_symbol(&mut self, symbol: &str) -> bool {
        let Some(rest) = self.rest.get(symbol.len()..) else { return false };
        let is_same = self.rest[..symbol.len()].eq_ignore_ascii_case(symbol);
        let is_word = symbol.starts_with(|c: char| c.is_ascii_alphabetic());
        if !is_same || is_word && rest.starts_with(is_name_char) {
            return false;
        }
        self.rest = rest.trim_start();
        true
    }

    fn parse_level(&mut self, level: usize) -> Result<Formula<FormulaName>, String> {
        let Some(operators) = LEVELS.get(level) else { return self.parse_operand() };
        let mut left = self.parse_level(level + 1)?;
        loop {
            let found = operators.iter().find(|(symbol, _)| self.take_symbol(symbol));
            let Some((_, operator)) = found else { return Ok(left) };
            let right = self.parse_level(level + 1)?;
            let both = Formula::Binary(*operator, Box::new(left), Box::new(right));
            left = both.fold_constants();
        }
    }

    fn parse_operand(&mut self) -> Result<Formula<FormulaName>, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        let operand = self.parse_one_operand();
        self.depth -= 1;
        operand
    }

    fn parse_one_operand(&mut self) -> Result<Formula<FormulaName>, String> {
        if self.take_symbol("not") {
            return Ok(Formula::Not(Box::new(self.parse_operand()?)));
        }
        if self.take_symbol("-") {
            return Ok(Formula::Negate(Box::new(self.parse_operand()?)).fold_constants());
        }
        if self.take_symbol("(") {
            let inner = self.parse_level(0)?;
            return if self.take_symbol(")") { Ok(inner) } else { Err("a `)` is missing".into()) };
        }
        if self.take_symbol("null") {
            return Ok(Formula::Constant(OwnedScalar::Null));
        }
        match self.rest.chars().next() {
            None => Err("it ends too early".to_owned()),
            Some(quote @ ('\'' | '"')) => self.parse_text(quote),
            Some(c) if c.is_ascii_digit() || c == '.' => self.parse_number(),
            Some(':') => {
                self.rest = &self.rest[1..];
                let name = self.take_name()?;
                Ok(Formula::Value(FormulaName::Value(name)))
            }
            Some(c) if is_name_start(c) => self.parse_word(),
            Some(_) => Err(format!("`{}` is not understood", shorten_text(self.rest))),
        }
    }

    fn parse_text(&mut self, quote: char) -> Result<Formula<FormulaName>, String> {
        let inner = &self.rest[1..];
        let end = inner.find(quote).ok_or("a text has no end")?;
        let text = inner.as_bytes()[..end].into();
        self.rest = inner[end + 1..].trim_start();
        Ok(Formula::Constant(OwnedScalar::Text(text)))
    }

    fn parse_number(&mut self) -> Result<Formula<FormulaName>, String> {
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_');
        let mut end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let exponent = self.rest[end..].strip_prefix(['e', 'E']).map(|r| r.trim_start_matches('-'));
        if let Some(digits) = exponent.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            let tail = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            end = self.rest.len() - digits.len() + tail;
        }
        let plain = self.rest[..end].replace('_', "");
        let number = match plain.parse::<i64>() {
            Ok(number) => OwnedScalar::Int(number),
            Err(_) => match plain.parse::<f64>() {
                Ok(number) if number.is_finite() => OwnedScalar::Real(number),
                _ => return Err(format!("`{plain}` is not a number")),
            },
        };
        self.rest = self.rest[end..].trim_start();
        Ok(Formula::Constant(number))
    }

    fn take_name(&mut self) -> Result<String, String> {
        let end = self.rest.find(|c| !is_name_char(c) && c != '.').unwrap_or(self.rest.len());
        let name = self.rest[..end].trim_end_matches('.');
        if !name.starts_with(is_name_start) {
            return Err("a name belongs behind the colon".to_owned());
        }
        self.rest = self.rest[name.len()..].trim_start();
        Ok(name.to_owned())
    }

    /// A name without a colon: a function, or a value all the same.
    fn parse_word(&mut self) -> Result<Formula<FormulaName>, String> {
        let name = self.take_name()?;
        if !self.take_symbol("(") {
            return Ok(Formula::Value(FormulaName::Value(name)));
        }
        let end_call = |parser: &mut Self| match parser.take_symbol(")") {
            true => Ok(()),
            false => Err("a `)` is missing".to_owned()),
        };
        match name.as_str() {
            "rows" | "count" | "stored" | "last" => {
                let of = self.take_name()?;
                end_call(self)?;
                let what = match name.as_str() {
                    "rows" => FormulaName::Rows(of),
                    "stored" => FormulaName::Stored(of),
                    "last" => FormulaName::Last(of),
                    _ => FormulaName::Count(of),
                };
                Ok(Formula::Value(what))
            }
            "min" | "max" | "least" | "greatest" => {
                let first = self.parse_level(0)?;
                if self.take_symbol(")") {
                    return highest_in_table(&name, &first);
                }
                let operator = match name.as_str() {
                    "min" | "least" => BinaryOperator::Least,
                    _ => BinaryOperator::Greatest,
                };
                let mut all = first;
                while self.take_symbol(",") {
                    let next = self.parse_level(0)?;
                    all = Formula::Binary(operator, Box::new(all), Box::new(next)).fold_constants();
                }
                end_call(self)?;
                Ok(all)
            }
            _ => Err(format!(
                "there is no function `{name}`; there are rows, stored, count, last, min, max"
            )),
        }
    }
}

/// `max(t.id)`: not of several values, but of a column.
fn highest_in_table(
    function: &str,
    of: &Formula<FormulaName>,
) -> Result<Formula<FormulaName>, String> {
    match of {
        Formula::Value(FormulaName::Value(name)) if function == "max" => match name.split_once('.')
        {
            Some((table, column)) => {
                let highest = FormulaName::Highest(table.to_owned(), column.to_owned());
                Ok(Formula::Value(highest))
            }
            None => Err(format!("max of one value; as in max({name}.id)")),
        },
        _ => Err(format!("{function} of one value")),
    }
}

pub(super) fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

pub(super) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::mix::formula::{Scalar, parse_whole};

    /// The value of a formula in which a is 7, b is 2.5, c is the text `12`, and anything else NULL.
    fn value(text: &str) -> String {
        let formula = parse_formula(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        let found = formula.evaluate(&|name| match name {
            FormulaName::Value(name) if name == "a" => Scalar::Int(7),
            FormulaName::Value(name) if name == "b" => Scalar::Real(2.5),
            FormulaName::Value(name) if name == "c" => Scalar::Text(b"12"),
            FormulaName::Rows(_) => Scalar::Int(100),
            _ => Scalar::Null,
        });
        match found {
            Scalar::Null => "null".to_owned(),
            Scalar::Int(number) => number.to_string(),
            Scalar::Real(number) => format!("{number}"),
            Scalar::Text(text) => String::from_utf8_lossy(text).into_owned(),
        }
    }

    #[test]
    fn formulas_compute_as_one_reads_them() {
        for (text, expected) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            (":a * 10 + a % 4", "73"),
            (":b * 2", "5"),
            (":c + 1", "13"),
            ("-:a - -1", "-6"),
            ("7 / 2", "3.5"),
            ("8 / 2", "4"),
            ("7 div 2", "3"),
            (":a / 0", "null"),
            (":missing > 0", "null"),
            (":a > 0 and not :b < 1", "1"),
            ("a = 7 or missing", "1"),
            ("'x' <> \"x\"", "0"),
            ("min(:a, 3, 9)", "3"),
            ("max(1, :b)", "2.5"),
            ("rows(t) * 2", "200"),
            ("90_000", "90000"),
            ("1e3", "1000"),
            ("9223372036854775807 + 1", "9223372036854776000"),
            ("'word'", "word"),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_formula_is_refused_with_a_reason() {
        for (text, part) in [
            ("", "too early"),
            ("1 +", "too early"),
            ("(1", "`)`"),
            ("1 2", "`2` is not understood"),
            (":", "name"),
            ("'a", "no end"),
            ("sleep(1)", "no function"),
            ("max(:a)", "as in max(a.id)"),
            ("; drop table t", "not understood"),
        ] {
            let why = parse_formula(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        let deep = format!("{}1{}", "(".repeat(100), ")".repeat(100));
        assert!(parse_formula(&deep).unwrap_err().contains("too deeply"));
    }

    #[test]
    fn only_plain_numbers_are_numbers() {
        for text in ["07", "+7", "-0", "", "-", "1.0", "99999999999999999999"] {
            assert_eq!(parse_whole(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_whole(b"-12"), Some(-12));
        assert_eq!(OwnedScalar::from_typed("0.5"), OwnedScalar::Real(0.5));
        assert_eq!(OwnedScalar::from_typed("07"), OwnedScalar::Text(b"07"[..].into()));
    }
}
