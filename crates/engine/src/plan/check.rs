//! What must hold after a run, in words: an objective, or `steady`, `stalls == 0`, `tps >= 97% of base`,
//! `p99 < 20ms for 95% of seconds`. A metric may name a class: `p99 new_order < 20ms`.

use super::objective::{Metric, Objective, Relation};
use super::{Mistake, did_you_mean};

/// One check.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// As typed.
    pub text: String,
    /// What is asked.
    pub asked: CheckCondition,
    /// Only events of this class.
    pub class: Option<String>,
    /// Share of the intervals, 0 to 1, in which it must hold; the load as a whole if absent.
    pub share: Option<f64>,
}

/// What is asked of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CheckCondition {
    /// That it came to a steady state.
    Steady,
    /// That it stood still at most so often.
    Stalls(u64),
    /// That a metric stands to a bound.
    Objective(Objective),
    /// That a metric stands to a share of the base's.
    OfBase {
        /// What is looked at.
        metric: Metric,
        /// How it shall stand to the bound.
        relation: Relation,
        /// The bound by the base's value: 0.97.
        times: f64,
    },
}

/// Where a mistake in one stands.
const PLACE: &str = "--check";
/// How the share of intervals begins.
const FOR: &str = " for ";
/// How a bound by the base ends.
const OF_BASE: &str = "of base";
/// Signs, the longer first.
const SIGNS: &[(&str, Relation)] = &[
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("<", Relation::Below),
    (">", Relation::Above),
];

/// The checks of a plan's text; none if it names none.
pub fn checks_in(plan: &str) -> Vec<String> {
    let table: Option<toml::Table> = plan.parse().ok();
    let list = table.as_ref().and_then(|t| t.get("checks")?.as_array());
    list.into_iter().flatten().filter_map(|c| c.as_str().map(str::to_owned)).collect()
}

impl Check {
    /// Reads `METRIC [CLASS] OP VALUE [of base] [for SHARE of seconds]`, `steady` or `stalls OP N`.
    ///
    /// # Errors
    /// What is wrong with it, with a hint that holds a text which works.
    pub fn parse(text: &str) -> Result<Check, Mistake> {
        let (rest, share) = split_share(text)?;
        let check = |asked, class| Check { text: text.trim().to_owned(), asked, class, share };
        let words = rest.trim();
        if words == "steady" {
            return match share {
                None => Ok(check(CheckCondition::Steady, None)),
                Some(_) => {
                    Err(check_mistake(text, "a load is steady or not: leave out `for`", "steady"))
                }
            };
        }
        if words.starts_with("stalls") {
            return match share {
                None => Ok(check(CheckCondition::Stalls(parse_stall_limit(text, words)?), None)),
                Some(_) => {
                    Err(check_mistake(text, "stalls are counted over a load", "stalls == 0"))
                }
            };
        }
        let words = from_k6_syntax(words);
        let (name, class, sign, value) = split_condition(text, &words)?;
        if let Some(by_base) = value.strip_suffix(OF_BASE) {
            let asked = parse_base_condition(text, name, sign, by_base.trim())?;
            return Ok(check(asked, class));
        }
        let objective = Objective::parse(PLACE, &format!("{name} {sign} {value}"))?;
        if share.is_some() && !is_kept_per_interval(objective.metric) {
            let why = format!("{name} is not known for each interval");
            return Err(check_mistake(text, &why, "p99 < 20ms for 95% of seconds"));
        }
        Ok(check(CheckCondition::Objective(objective), class))
    }

    /// Whether it needs a run to compare with.
    pub fn needs_base(&self) -> bool {
        matches!(self.asked, CheckCondition::OfBase { .. })
    }
}

fn check_mistake(text: &str, why: &str, example: &str) -> Mistake {
    Mistake::new(format!("{PLACE} {}", text.trim()), why).hint(format!("as in '{example}'"))
}

/// Whether intervals keep this metric.
fn is_kept_per_interval(metric: Metric) -> bool {
    match metric {
        Metric::Quantile(share) => [0.5, 0.95, 0.99].contains(&share),
        Metric::Longest | Metric::Errors | Metric::Rate => true,
        Metric::Mean => false,
    }
}

/// What stands before `for 95% of seconds`, and the share.
fn split_share(text: &str) -> Result<(&str, Option<f64>), Mistake> {
    let Some((rest, tail)) = text.rsplit_once(FOR) else {
        return Ok((text, None));
    };
    let wrong = || {
        check_mistake(text, "the share of seconds is not clear", "p99 < 20ms for 95% of seconds")
    };
    let share = ["of seconds", "of intervals"].iter().find_map(|end| tail.trim().strip_suffix(end));
    let percent = share.and_then(|s| s.trim().strip_suffix('%')).ok_or_else(wrong)?;
    let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
    if !(percent > 0.0 && percent <= 100.0) {
        return Err(wrong());
    }
    Ok((rest, Some(percent / 100.0)))
}

/// `== 0`, `<= 2`, `< 3`: at most how many.
fn parse_stall_limit(text: &str, words: &str) -> Result<u64, Mistake> {
    let wrong = || check_mistake(text, "it doesn't say how many stalls are allowed", "stalls == 0");
    let rest = words.strip_prefix("stalls").unwrap_or_default().trim();
    let (sign, number) = rest.split_at(rest.find(|c: char| c.is_ascii_digit()).ok_or_else(wrong)?);
    let number: u64 = number.trim().parse().map_err(|_| wrong())?;
    match (sign.trim(), number) {
        ("=" | "==", 0) => Ok(0),
        ("<=", most) => Ok(most),
        ("<", beyond) if beyond > 0 => Ok(beyond - 1),
        _ => Err(wrong()),
    }
}

/// As k6 writes it: `p(95)<1000` is in milliseconds, `med` is p50; and `errors == 0` is at most 0.
fn from_k6_syntax(words: &str) -> String {
    let words = words.replace("errors == 0", "errors <= 0").replace("errors==0", "errors <= 0");
    let words = match words.strip_prefix("med") {
        Some(rest) if rest.trim_start().starts_with(['<', '>']) => format!("p50{rest}"),
        _ => words,
    };
    let Some((percent, rest)) = words.strip_prefix("p(").and_then(|w| w.split_once(')')) else {
        return words;
    };
    let bare = rest.trim_end().ends_with(|c: char| c.is_ascii_digit());
    format!("p{percent}{rest}{}", if bare { "ms" } else { "" })
}

/// Metric, class, sign, value.
fn split_condition<'a>(
    text: &str,
    words: &'a str,
) -> Result<(&'a str, Option<String>, &'a str, &'a str), Mistake> {
    let Some(at) = words.find(['<', '>', '=']) else {
        let names = ["steady", "stalls"];
        let near = did_you_mean(words, names).filter(|_| !words.contains(' '));
        let why = "it has no `<` or `>`";
        let hint =
            near.unwrap_or_else(|| "as in 'p99 < 20ms', 'stalls == 0' or 'steady'".to_owned());
        return Err(Mistake::new(format!("{PLACE} {text}"), why).hint(hint));
    };
    let (left, right) = words.split_at(at);
    let sign = SIGNS.iter().map(|(sign, _)| *sign).find(|sign| right.starts_with(sign));
    let sign = sign.ok_or_else(|| {
        check_mistake(text, "a measured value never equals a bound: use < or >", "p99 <= 20ms")
    })?;
    let (name, class) = match left.trim().split_once(char::is_whitespace) {
        Some((name, class)) => (name, Some(class.trim().to_owned())),
        None => (left.trim(), None),
    };
    Ok((name, class, sign, right[sign.len()..].trim()))
}

fn parse_base_condition(
    text: &str,
    name: &str,
    sign: &str,
    value: &str,
) -> Result<CheckCondition, Mistake> {
    const EXAMPLE: &str = "tps >= 97% of base";
    // The metric is read with a value that fits each of them, for the sake of the hint.
    let metric = Metric::parse(name).ok_or_else(|| {
        Objective::parse(PLACE, &format!("{name} < 1%"))
            .err()
            .unwrap_or_else(|| check_mistake(text, "there is no such metric", EXAMPLE))
    })?;
    let relation = SIGNS.iter().find(|(s, _)| *s == sign).map_or(Relation::AtLeast, |(_, r)| *r);
    let percent: Option<f64> = value.strip_suffix('%').and_then(|p| p.trim().parse().ok());
    match percent.filter(|p: &f64| *p > 0.0 && p.is_finite()) {
        Some(percent) => Ok(CheckCondition::OfBase { metric, relation, times: percent / 100.0 }),
        None => {
            Err(check_mistake(text, &format!("`{value}` is not a percentage of the base"), EXAMPLE))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objective(text: &str) -> CheckCondition {
        CheckCondition::Objective(Objective::parse("x", text).unwrap())
    }

    #[test]
    fn checks_are_read() {
        let of = |text: &str| {
            let check = Check::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(check.text, text.trim());
            (check.asked, check.class, check.share)
        };
        assert_eq!(of("steady"), (CheckCondition::Steady, None, None));
        assert_eq!(of("stalls == 0"), (CheckCondition::Stalls(0), None, None));
        assert_eq!(of("stalls<3").0, CheckCondition::Stalls(2));
        assert_eq!(of("stalls <= 2").0, CheckCondition::Stalls(2));
        assert_eq!(of("p99 < 20ms"), (objective("p99<20ms"), None, None));
        assert_eq!(of("tps > 5000").0, objective("events_per_s > 5000"));
        assert_eq!(of("errors == 0").0, objective("errors <= 0"));
        assert_eq!(of("p(95)<1000").0, objective("p95 < 1000ms"));
        assert_eq!(of("p(99.9) < 2s").0, objective("p99.9 < 2s"));
        assert_eq!(of("med<5ms").0, objective("p50 < 5ms"));
        assert_eq!(
            of("p99 new_order < 20ms for 95% of seconds"),
            (objective("p99<20ms"), Some("new_order".to_owned()), Some(0.95))
        );
        assert_eq!(
            of("tps >= 97% of base").0,
            CheckCondition::OfBase {
                metric: Metric::Rate,
                relation: Relation::AtLeast,
                times: 0.97
            }
        );
        assert!(Check::parse("p99 <= 110% of base").unwrap().needs_base());
    }

    #[test]
    fn what_is_wrong_is_said_with_something_that_works() {
        for (text, why, hint) in [
            ("p99", "no `<`", "'p99 < 20ms'"),
            ("stedy", "no `<`", "did you mean steady?"),
            ("p99 = 20ms", "never equal", "p99 <= 20ms"),
            ("eror < 1%", "no metric `eror`", "did you mean error"),
            ("tsp >= 97% of base", "no metric `tsp`", "did you mean tps?"),
            ("tps >= 97 of base", "not a percentage of the base", "97% of base"),
            ("p99 < 20", "no time with its unit", "20ms"),
            ("stalls > 0", "how many stalls", "stalls == 0"),
            ("stalls", "how many stalls", "stalls == 0"),
            ("steady for 5% of seconds", "leave out `for`", "steady"),
            ("p99.9 < 1s for 95% of seconds", "not known for each interval", "p99 < 20ms"),
            ("p99 < 1s for 200% of seconds", "not clear", "95% of seconds"),
        ] {
            let found = Check::parse(text).expect_err(text);
            assert!(found.why.contains(why), "{text}: {found}");
            let told = found.hint.unwrap_or_default();
            assert!(told.contains(hint), "{text}: {told}");
        }
    }

    #[test]
    fn checks_of_a_plan_are_found_in_its_text() {
        assert_eq!(
            checks_in("name = \"a\"\nchecks = [\"steady\", \"p99 < 1s\"]\n"),
            ["steady", "p99 < 1s"]
        );
        assert!(checks_in("name = 1").is_empty() && checks_in("= =").is_empty());
    }
}
