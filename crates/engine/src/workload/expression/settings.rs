//! What the user says of the expressions to measure.

use std::time::Duration;

use crate::client::ValueSort;
use crate::plan::{Mistake, OptionKind, OptionSpec, Options};

use super::expression_rows::ExpressionRows;

/// The option that holds the expressions.
pub(super) const EXPR: &str = "expr";
/// Most expressions of one load.
const MOST_EXPRESSIONS: usize = 16;
/// Passes after which a load without an end ends, so that its samples have room.
const MOST_PASSES: u64 = 10_000;
/// How long statements may be, seconds.
const PER_BOUNDS_S: (f64, f64) = (0.001, 5.0);

/// The options, checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExpressionSettings {
    pub expressions: Vec<String>,
    /// Run in each session before anything is measured, behind SET.
    pub assignment: Option<String>,
    /// What is taken off; a literal of the result's type if there is none.
    pub baseline: Option<String>,
    /// The type of the results; found out if there is none.
    pub sort: Option<ValueSort>,
    /// How long a statement shall take.
    pub per: Duration,
    pub passes: u64,
    /// Whether expressions may change something.
    pub effects: bool,
    /// Rows to compute them for, in place of BENCHMARK().
    pub rows: Option<ExpressionRows>,
}

pub(super) fn option_specs() -> Vec<OptionSpec> {
    use OptionKind::{Count, Lines, Switch, Text, Time};
    let spec = OptionSpec::new;
    let sorts = OptionKind::one_of(&["auto", "int", "text", "real", "decimal"]);
    vec![
        spec(EXPR, Lines, "", "an expression; may be given again, or as a bare word"),
        spec("assign", Text, "@x = 'hello world'", "variables that expressions use"),
        spec("baseline", Text, "", "what is taken off, instead of a literal"),
        spec("type", sorts, "auto", "type of the literal"),
        spec("per", Time, "50ms", "length of a statement"),
        spec("passes", Count, "20", "times through all expressions; 0: no end"),
        spec("effects", Switch, "off", "let expressions assign and write"),
        spec("through-rows", Text, "", "over N made-up rows (column n), or a table's"),
    ]
}

impl ExpressionSettings {
    /// Checks the options.
    ///
    /// # Errors
    /// The first mistake.
    pub(super) fn from_options(options: &Options) -> Result<ExpressionSettings, Mistake> {
        let lines = options.text(EXPR).unwrap_or_default().lines();
        let expressions: Vec<String> =
            lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
        if expressions.is_empty() {
            return Err(Mistake::new("expression", "there is nothing to measure")
                .hint("as in sweat bench expression 'md5(@x)'"));
        }
        if expressions.len() > MOST_EXPRESSIONS {
            return Err(Mistake::new("--expr", format!("more than {MOST_EXPRESSIONS}"))
                .hint("measure some of them first"));
        }
        let given = |name: &str| options.given_text(name).map(str::to_owned);
        let effects = options.switch("effects");
        let baseline = given("baseline");
        expressions.iter().chain(&baseline).try_for_each(|text| refuse_unopened(text))?;
        if !effects {
            expressions.iter().chain(&baseline).try_for_each(|text| refuse_assignments(text))?;
        }
        let per = options.time("per").unwrap_or_default();
        if !(PER_BOUNDS_S.0..=PER_BOUNDS_S.1).contains(&per.as_secs_f64()) {
            return Err(Mistake::new("--per", "must be 1ms to 5s").hint("as in 50ms"));
        }
        let passes = match options.count("passes") {
            0 => MOST_PASSES,
            passes => passes.min(MOST_PASSES),
        };
        Ok(ExpressionSettings {
            expressions,
            assignment: given("assign"),
            baseline,
            sort: match options.text("type") {
                Some("int") => Some(ValueSort::Int),
                Some("text") => Some(ValueSort::Text),
                Some("real") => Some(ValueSort::Real),
                Some("decimal") => Some(ValueSort::Decimal),
                _ => None,
            },
            per,
            passes,
            effects,
            rows: options.given_text("through-rows").map(ExpressionRows::parse).transpose()?,
        })
    }
}

/// An assignment changes what the next evaluation sees.
fn refuse_assignments(text: &str) -> Result<(), Mistake> {
    match has_assignment(text) {
        false => Ok(()),
        true => Err(Mistake::new(text, "[EFFECTS] it assigns a variable in each evaluation")
            .hint("add --effects to measure it anyway")),
    }
}

/// What closes the call around it is no expression: `1)+(2` would be timed as a loop over 1.
fn refuse_unopened(text: &str) -> Result<(), Mistake> {
    match closes_unopened(text) {
        false => Ok(()),
        true => Err(Mistake::new(text, "it is not one expression")
            .hint("a `)` in it closes what it has not opened")),
    }
}

/// Whether there is a `:=` outside quotes.
fn has_assignment(text: &str) -> bool {
    unquoted(text).contains(":=")
}

/// Whether a `)` outside quotes and comments has no `(` before it.
fn closes_unopened(text: &str) -> bool {
    let mut open = 0_usize;
    unquoted(text).bytes().any(|byte| {
        match byte {
            b'(' => open += 1,
            b')' if open == 0 => return true,
            b')' => open -= 1,
            _ => {}
        }
        false
    })
}

/// The text with a blank for what is in quotes and comments; comments that servers run (`/*!`) stay.
fn unquoted(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_comment = rest.starts_with("/*") && !rest[2..].starts_with(['!', 'M']);
        let length = match c {
            '\'' | '"' | '`' => quoted_length(rest, c),
            '/' if is_comment => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            _ => {
                kept.push(c);
                rest = &rest[c.len_utf8()..];
                continue;
            }
        };
        kept.push(' ');
        rest = &rest[length..];
    }
    kept
}

/// How long what is in quotes at the beginning of a text is, with the quotes.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if quote != '`' => drop(chars.next()),
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(given: &[(&str, &str)]) -> Result<ExpressionSettings, Mistake> {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        ExpressionSettings::from_options(&Options::from_given(&option_specs(), &given).unwrap())
    }

    #[test]
    fn each_line_is_an_expression() {
        let found = settings(&[("expr", "md5(@x)"), ("expr", " sha1(@x), ")]).unwrap();
        assert_eq!(found.expressions, ["md5(@x)", "sha1(@x),"]);
        assert_eq!(found.per, Duration::from_millis(50));
        assert_eq!(found.passes, 20);
        assert_eq!(found.assignment.as_deref(), Some("@x = 'hello world'"));
        assert_eq!(settings(&[("expr", "1"), ("passes", "0")]).unwrap().passes, MOST_PASSES);
        let why = settings(&[]).unwrap_err().to_string();
        assert!(why.contains("nothing to measure"), "{why}");
        assert!(settings(&[("expr", "1"), ("per", "1m")]).is_err());
        assert!(settings(&[("expr", "1"), ("through-rows", "1500")]).is_err());
        let rows = settings(&[("expr", "1"), ("through-rows", "2k")]).unwrap().rows;
        assert_eq!(rows, Some(ExpressionRows::Generated(2_000)));
        assert!(settings(&[("expr", &"1\n".repeat(17))]).is_err());
    }

    #[test]
    fn assignments_are_refused_unless_allowed() {
        let why = settings(&[("expr", "@x := @x + 1")]).unwrap_err().to_string();
        assert!(why.contains("[EFFECTS]"), "{why}");
        assert!(settings(&[("expr", "@x := @x + 1"), ("effects", "on")]).is_ok());
        for harmless in ["':='", "'it\\'s :='", "\":=\"", "`a:=b`", "a = ':' '='"] {
            assert!(!has_assignment(harmless), "{harmless}");
        }
        assert!(has_assignment("concat('a', @y:=1)"));
    }

    #[test]
    fn a_text_that_closes_what_it_has_not_opened_is_no_expression() {
        for text in ["1)+(2", "1) from mysql.user where (1", "1) -- ", "'a' ')') ", "1 /*! ) */"] {
            let why = settings(&[("expr", text)]).unwrap_err().to_string();
            assert!(why.contains("not one expression"), "{text}: {why}");
        }
        for text in ["(1)+(2)", "concat(')', \")\", `)`)", "1 /* ) */", "')\\')'", "'a)", "/*"] {
            assert!(!closes_unopened(text), "{text}");
        }
    }
}
