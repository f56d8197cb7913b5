//! Rows for which an expression is computed in place of BENCHMARK()'s loop: made-up ones, or those of a table.

use crate::base::units::parse_count;
use crate::plan::Mistake;

/// Bounds of the number of made-up rows.
const ROWS_BOUNDS: (u64, u64) = (1_000, 10_000_000);
/// Stands before the expression, behind the comment.
pub(super) const ROWS_BEGIN: &str = "SELECT SUM(LENGTH(";

/// Where the rows come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExpressionRows {
    /// So many are made up, with a column `n` that counts from 1.
    Generated(u64),
    /// The table of this name, quoted.
    Table(String),
}

impl ExpressionRows {
    /// Reads a number of rows, or the name of a table.
    ///
    /// # Errors
    /// When the number can't be made up, or the name is none.
    pub(super) fn parse(text: &str) -> Result<ExpressionRows, Mistake> {
        let mistake = |why: String| Mistake::new("--through-rows", why);
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            let rows = parse_count(text).map_err(|error| mistake(error.to_string()))?;
            let is_round = rows > 0 && rows % 10_u64.pow(rows.ilog10()) == 0;
            return match is_round && (ROWS_BOUNDS.0..=ROWS_BOUNDS.1).contains(&rows) {
                true => Ok(ExpressionRows::Generated(rows)),
                false => Err(mistake(format!("{text} rows can't be made up")).hint(
                    "a digit and zeroes, from 1000 to 10000000, as in 200000; or the name of a \
                     table",
                )),
            };
        }
        let parts: Vec<&str> = text.split('.').collect();
        if parts.len() > 2 || parts.iter().any(|part| part.trim_matches('`').is_empty()) {
            return Err(mistake(format!("`{text}` is not the name of a table"))
                .hint("as in shop.orders, or a number of rows"));
        }
        let quote = |part: &&str| format!("`{}`", part.trim_matches('`').replace('`', "``"));
        Ok(ExpressionRows::Table(parts.iter().map(quote).collect::<Vec<_>>().join(".")))
    }

    /// The statement that computes an expression once for each row.
    pub(super) fn statement(&self, run: &str, expr: &str) -> String {
        format!("/* sweat {run} */ {ROWS_BEGIN}{expr})) FROM {}", self.table_reference())
    }

    /// What stands behind FROM.
    pub(super) fn table_reference(&self) -> String {
        match self {
            ExpressionRows::Table(name) => name.clone(),
            ExpressionRows::Generated(rows) => generated_rows(*rows),
        }
    }
}

/// A digit times a power of ten, as every version knows to join it: `n` is only computed where it is used.
fn generated_rows(rows: u64) -> String {
    let power = rows.max(1).ilog10();
    let digits = |count: u64, place: u32| {
        let rest: String = (1..count).map(|digit| format!(" UNION ALL SELECT {digit}")).collect();
        format!("(SELECT 0 AS d{rest}) AS d{place}")
    };
    let tables: Vec<String> = (0..power)
        .map(|place| digits(10, place))
        .chain([digits(rows / 10_u64.pow(power), power)])
        .collect();
    let terms: String =
        (0..=power).map(|place| format!(" + {} * d{place}.d", 10_u64.pow(place))).collect();
    format!("(SELECT 1{terms} AS n FROM {}) AS r", tables.join(" CROSS JOIN "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_a_number_or_a_table() {
        assert_eq!(ExpressionRows::parse("20000"), Ok(ExpressionRows::Generated(20_000)));
        assert_eq!(ExpressionRows::parse("1M"), Ok(ExpressionRows::Generated(1_000_000)));
        let table = |name: &str| ExpressionRows::Table(name.to_owned());
        assert_eq!(ExpressionRows::parse("orders"), Ok(table("`orders`")));
        assert_eq!(ExpressionRows::parse("shop.a`b"), Ok(table("`shop`.`a``b`")));
        for wrong in ["0", "900", "1500", "20000000", "a.b.c", "a.", "12x"] {
            assert!(ExpressionRows::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn made_up_rows_are_digits_joined() {
        let from = ExpressionRows::Generated(3_000).table_reference();
        assert!(from.starts_with("(SELECT 1 + 1 * d0.d + 10 * d1.d + 100 * d2.d + 1000 * d3.d AS"));
        assert_eq!(from.matches("CROSS JOIN").count(), 3);
        assert!(from.ends_with(
            "CROSS JOIN (SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2) AS d3) AS r"
        ));
        let sql = ExpressionRows::Table("`t`".to_owned()).statement("r", "md5(c)");
        assert_eq!(sql, "/* sweat r */ SELECT SUM(LENGTH(md5(c))) FROM `t`");
    }
}
