//! Texts of a file that have an inner form: SQL with holes, templates, laws, lengths, pauses, counts, times of day.

use super::formula_parser::{is_name_char, is_name_start};
use super::spec::{CountCheck, LawSpec, LengthSpec, PauseRule, SqlPiece, SqlSpec, TemplatePart};
use crate::base::Nanos;
use crate::base::units::parse_time;

/// Takes SQL apart. What stands in quotes and comments has no holes.
///
/// # Errors
/// Says what is wrong with it.
pub(super) fn parse_sql(text: &str) -> Result<SqlSpec, String> {
    let text = text.trim().trim_end_matches(';').trim_end();
    if text.is_empty() {
        return Err("the statement is empty".to_owned());
    }
    let mut spec = SqlSpec::default();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '\'' | '"' | '`' => quoted_length(rest, c)?,
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '-' if rest.starts_with("-- ") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => {
                rest.find("*/").ok_or("a comment has no end")? + "*/".len()
            }
            ':' if rest.starts_with("::") => {
                literal.push(':');
                rest = &rest[2..];
                continue;
            }
            ':' if rest[1..].starts_with(is_name_start) => {
                let end = 1 + name_length(&rest[1..], true);
                push_literal(&mut spec, &mut literal);
                spec.pieces.push(SqlPiece::Hole(rest[1..end].to_owned()));
                rest = &rest[end..];
                continue;
            }
            '{' if rest.starts_with("{{") => {
                let end = rest.find("}}").ok_or("`{{` has no `}}`")?;
                let name = rest[2..end].trim().trim_start_matches(':');
                if name.is_empty() || name_length(name, true) != name.len() {
                    return Err(format!("`{}` is not the name of a value", &rest[..end + 2]));
                }
                push_literal(&mut spec, &mut literal);
                spec.pieces.push(SqlPiece::Paste(name.to_owned()));
                rest = &rest[end + 2..];
                continue;
            }
            '?' => return Err("a `?` has no name".to_owned()),
            other => other.len_utf8(),
        };
        literal.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    push_literal(&mut spec, &mut literal);
    Ok(spec)
}

fn push_literal(spec: &mut SqlSpec, literal: &mut String) {
    if !literal.is_empty() {
        spec.pieces.push(SqlPiece::Literal(std::mem::take(literal)));
    }
}

/// Bytes of a quoted text with its quotes, at the beginning of `text`.
fn quoted_length(text: &str, quote: char) -> Result<usize, String> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote != '`' {
            chars.next();
        } else if c == quote {
            return Ok(at + 1);
        }
    }
    Err(format!("a text in {quote} has no end"))
}

/// Bytes of a name at the beginning of `text`; with a field behind a dot if there may be one.
fn name_length(text: &str, may_have_field: bool) -> usize {
    let end = text.find(|c| !is_name_char(c)).unwrap_or(text.len());
    let field = text[end..].strip_prefix('.').filter(|field| field.starts_with(is_name_start));
    match field.filter(|_| may_have_field && end > 0) {
        Some(field) => end + 1 + name_length(field, false),
        None => end,
    }
}

/// Longest text that a template or a length may ask for, bytes.
pub(super) const LONGEST_TEXT: u64 = 16 << 20;

/// Takes a template apart: `user{row:08}`, `{text:12}`, `{digits:3}`.
///
/// # Errors
/// Says what is wrong with it.
pub(super) fn parse_template(text: &str) -> Result<Vec<TemplatePart>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        if at > 0 {
            parts.push(TemplatePart::Literal(rest[..at].to_owned()));
        }
        let end = rest[at..].find('}').ok_or("`{` has no `}`")? + at;
        let inner = &rest[at + 1..end];
        let (name, width) = match inner.split_once(':') {
            Some((name, width)) => {
                let width = width.parse().map_err(|_| format!("`{width}` is not a width"))?;
                (name, width)
            }
            None => (inner, 0_usize),
        };
        let name = name.trim().trim_start_matches(':');
        if width as u64 > LONGEST_TEXT {
            return Err(format!("{width} is too wide"));
        }
        parts.push(match name {
            "text" => TemplatePart::Letters(width),
            "digits" => TemplatePart::Digits(width),
            _ if !name.is_empty() && name_length(name, true) == name.len() => {
                TemplatePart::Value { name: name.to_owned(), width }
            }
            _ => return Err(format!("`{{{inner}}}` names no value")),
        });
        rest = &rest[end + 1..];
    }
    if !rest.is_empty() {
        parts.push(TemplatePart::Literal(rest.to_owned()));
    }
    Ok(parts)
}

/// Names of laws, as `by` takes them.
pub(super) const LAWS: [&str; 10] = [
    "uniform",
    "zipfian",
    "latest",
    "pareto",
    "gaussian",
    "special",
    "exponential",
    "hotspot",
    "normal",
    "scrambled",
];

/// Reads a law: `zipfian:1.1`, `hotspot:0.05:0.6`.
///
/// # Errors
/// Says what is wrong, and what would be right.
pub(super) fn parse_law(text: &str) -> Result<LawSpec, (String, String)> {
    let mut parts = text.split(':').map(str::trim);
    let name = parts.next().unwrap_or_default();
    if name == "scrambled" {
        return parse_scrambled(text, &parts.collect::<Vec<_>>());
    }
    let numbers: Vec<Option<f64>> =
        parts.map(|part| part.parse().ok().filter(|n: &f64| n.is_finite())).collect();
    let wrong = |hint: &str| (format!("`{text}` is out of range"), hint.to_owned());
    if numbers.contains(&None) {
        return Err((
            format!("`{text}` has a part that is not a number"),
            "as in zipfian:1.1".into(),
        ));
    }
    let number = |at: usize, default: f64| numbers.get(at).copied().flatten().unwrap_or(default);
    let at_most = |count: usize| numbers.len() <= count;
    let is_share = |share: f64| share > 0.0 && share <= 1.0;
    match name {
        "uniform" if at_most(0) => Ok(LawSpec::Uniform),
        "special" if at_most(0) => Ok(LawSpec::Special),
        "zipfian" | "latest" if at_most(1) => {
            let exponent = number(0, 0.99);
            if !(exponent > 0.0 && exponent <= 100.0) {
                return Err(wrong("the exponent is above 0 and at most 100, as in zipfian:0.99"));
            }
            Ok(match name {
                "zipfian" => LawSpec::Zipfian { exponent },
                _ => LawSpec::Latest { exponent },
            })
        }
        "pareto" if at_most(1) => {
            let h = number(0, 0.2);
            let is_fit = h > 0.0 && h < 1.0;
            is_fit
                .then_some(LawSpec::Pareto { h })
                .ok_or(wrong("between 0 and 1, as in pareto:0.2"))
        }
        "gaussian" if at_most(1) => {
            let draws = number(0, 12.0);
            let is_fit = (1.0..=1000.0).contains(&draws) && draws.fract() == 0.0;
            let law = LawSpec::Gaussian { draws: draws as u32 };
            is_fit.then_some(law).ok_or(wrong("1 to 1000 draws, as in gaussian:12"))
        }
        "exponential" if at_most(2) => {
            let (percentile, share) = (number(0, 95.0), number(1, 0.857_142_857_1));
            let is_fit = percentile > 0.0 && percentile < 100.0 && is_share(share);
            is_fit
                .then_some(LawSpec::Exponential { percentile, share })
                .ok_or(wrong("a percentile and a share of the keys, as in exponential:95:0.86"))
        }
        "hotspot" if at_most(2) => {
            let (keys, draws) = (number(0, 0.2), number(1, 0.8));
            let is_fit = is_share(keys) && (0.0..=1.0).contains(&draws);
            is_fit
                .then_some(LawSpec::Hotspot { keys, draws })
                .ok_or(wrong("a share of keys and one of draws, as in hotspot:0.2:0.8"))
        }
        "normal" if numbers.len() == 2 => {
            let (mean, deviation) = (number(0, 0.0), number(1, 1.0));
            (deviation > 0.0)
                .then_some(LawSpec::Normal { mean, deviation })
                .ok_or(wrong("a mean and a deviation above 0, as in normal:100:15"))
        }
        "normal" => Err(wrong("a mean and a deviation, as in normal:100:15")),
        _ if LAWS.contains(&name) => Err((format!("`{text}` has too many parts"), name.to_owned())),
        _ => {
            let hint = crate::plan::nearest_or_all(name, LAWS);
            Err((format!("`{name}` is not a distribution"), hint))
        }
    }
}

/// YCSB's law, or go-ycsb's.
fn parse_scrambled(text: &str, programs: &[&str]) -> Result<LawSpec, (String, String)> {
    match programs {
        [] | ["java"] => Ok(LawSpec::Scrambled { among: 0, is_go: false }),
        ["go"] => Ok(LawSpec::Scrambled { among: 0, is_go: true }),
        _ => Err((format!("`{text}` is none"), "scrambled, or scrambled:go".to_owned())),
    }
}

/// Reads a length: `12`, `1..9`, `lognormal:80`, `lognormal:80:0.5`.
///
/// # Errors
/// Says what is wrong with it.
pub(super) fn parse_length(texts: &[String]) -> Result<LengthSpec, String> {
    let number = |text: &str| {
        let number = text.trim().parse::<u64>().ok().filter(|n| *n <= LONGEST_TEXT);
        number.ok_or_else(|| format!("`{text}` is not a length of 0 to {LONGEST_TEXT}"))
    };
    match texts {
        [one] => match one.strip_prefix("lognormal:") {
            Some(shape) => {
                let (median, sigma) = parse_two_numbers(shape, 0.5)?;
                let is_fit = (1.0..=LONGEST_TEXT as f64).contains(&median) && sigma >= 0.0;
                let length = LengthSpec::LogNormal { median, sigma };
                is_fit.then_some(length).ok_or_else(|| format!("`{one}` is out of range"))
            }
            None => {
                let (low, high) = one.split_once("..").unwrap_or((one, one));
                ordered_length(number(low)?, number(high)?)
            }
        },
        [low, high] => ordered_length(number(low)?, number(high)?),
        _ => Err("a length is one number or two".to_owned()),
    }
}

fn ordered_length(low: u64, high: u64) -> Result<LengthSpec, String> {
    if low > high {
        return Err(format!("the range from {low} to {high} is empty"));
    }
    Ok(LengthSpec::Between(low, high))
}

fn parse_two_numbers(text: &str, default: f64) -> Result<(f64, f64), String> {
    let (first, second) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
    let number = |text: &str| {
        let number = text.trim().parse().ok().filter(|n: &f64| n.is_finite());
        number.ok_or_else(|| format!("`{text}` is not a number"))
    };
    Ok((number(first)?, second.map_or(Ok(default), number)?))
}

/// Reads a pause: `2s`, `exp:10ms`, `uniform:1s..3s`, `lognormal:2s:0.5`, `normal:2s:500ms`.
///
/// # Errors
/// Says what is wrong with it.
pub(super) fn parse_pause(text: &str) -> Result<PauseRule, String> {
    let time = |text: &str| {
        let time = parse_time(text).map_err(|error| error.to_string())?;
        Ok::<f64, String>(Nanos::from(time).0 as f64)
    };
    let Some((name, shape)) = text.split_once(':') else {
        return Ok(PauseRule::Fixed(time(text)?));
    };
    let (first, second) = shape.split_once(':').map_or((shape, None), |(a, b)| (a, Some(b)));
    match (name.trim(), second) {
        ("exp" | "exponential", None) => Ok(PauseRule::Exponential { mean: time(first)? }),
        ("uniform", None) => {
            let (low, high) = first.split_once("..").ok_or("as in uniform:1s..3s")?;
            let (low, high) = (time(low)?, time(high)?);
            if low > high {
                return Err(format!("`{text}` ends before it begins"));
            }
            Ok(PauseRule::Uniform(low, high))
        }
        ("lognormal", sigma) => {
            let sigma = sigma.map_or(Some(0.5), |text| text.trim().parse().ok());
            let sigma = sigma.filter(|s: &f64| (0.0..=10.0).contains(s));
            let sigma = sigma.ok_or_else(|| format!("`{text}` has no sigma of 0 to 10"))?;
            Ok(PauseRule::LogNormal { median: time(first)?, sigma })
        }
        ("normal", Some(deviation)) => {
            Ok(PauseRule::Normal { mean: time(first)?, deviation: time(deviation)? })
        }
        _ => Err(format!(
            "`{text}` is not a time, exp:TIME, uniform:TIME..TIME, lognormal:TIME or \
             normal:TIME:TIME"
        )),
    }
}

/// Reads a condition on a count: `1`, `>= 1`, `< 5`, `0..10`.
///
/// # Errors
/// Says what is wrong with it.
pub(super) fn parse_count_check(text: &str) -> Result<CountCheck, String> {
    let number = |text: &str| {
        text.trim().parse::<u64>().map_err(|_| format!("`{}` is not a count", text.trim()))
    };
    let text = text.trim();
    if let Some((low, high)) = text.split_once("..") {
        let (least, most) = (number(low)?, number(high)?);
        return match least <= most {
            true => Ok(CountCheck { least, most }),
            false => Err(format!("`{text}` ends before it begins")),
        };
    }
    let most = u64::MAX;
    for (sign, check) in [
        (">=", &(|n: u64| Some((n, most))) as &dyn Fn(u64) -> Option<(u64, u64)>),
        ("<=", &|n| Some((0, n))),
        (">", &|n| Some((n.checked_add(1)?, most))),
        ("<", &|n| Some((0, n.checked_sub(1)?))),
        ("=", &|n| Some((n, n))),
        ("", &|n| Some((n, n))),
    ] {
        if let Some(rest) = text.strip_prefix(sign) {
            let bounds = check(number(rest.trim_start_matches('='))?);
            let (least, most) = bounds.ok_or_else(|| format!("`{text}` never holds"))?;
            return Ok(CountCheck { least, most });
        }
    }
    Err(format!("`{text}` is not a count"))
}

/// Reads a point of time as seconds since 1970: `2024-02-29`, `2024-02-29 12:30:00`, `now`, `now-30d`, `now+1h`.
///
/// # Errors
/// Says what is wrong with it.
pub(super) fn parse_moment(text: &str, now_s: i64) -> Result<i64, String> {
    let text = text.trim();
    if let Some(offset) = text.strip_prefix("now") {
        let offset = offset.trim();
        let (sign, length) = match offset.chars().next() {
            None => return Ok(now_s),
            Some('-') => (-1, &offset[1..]),
            Some('+') => (1, &offset[1..]),
            Some(_) => return Err(format!("`{text}` is not a time; as in now-30d")),
        };
        let length = parse_time(length.trim()).map_err(|error| error.to_string())?;
        return Ok(now_s + sign * length.as_secs() as i64);
    }
    let wrong = || format!("`{text}` is not a time; as in 2024-02-29 12:30:00 or now-30d");
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let numbers = |text: &str, by: char| -> Option<[i64; 3]> {
        let all: Vec<i64> = text.split(by).map(|n| n.parse().ok()).collect::<Option<_>>()?;
        all.try_into().ok()
    };
    let [year, month, day] = numbers(date, '-').ok_or_else(wrong)?;
    let [hour, minute, second] = numbers(time, ':').ok_or_else(wrong)?;
    let is_fit = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second);
    if !is_fit {
        return Err(wrong());
    }
    Ok(days_of_date(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Days since 1970 of a date of the Gregorian calendar: years that begin in March make the leap day the last.
fn days_of_date(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of so many days since 1970.
pub(super) fn date_of_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let piece = |piece: &SqlPiece| match piece {
            SqlPiece::Literal(text) => text.clone(),
            SqlPiece::Hole(name) => format!("<{name}>"),
            SqlPiece::Paste(name) => format!("[{name}]"),
        };
        parse_sql(text).unwrap().pieces.iter().map(piece).collect()
    }

    #[test]
    fn holes_are_where_names_are_and_not_in_quotes_and_comments() {
        for (text, expected) in [
            ("select :a, :b.c from t;", "select <a>, <b.c> from t"),
            ("select ':a', \":b\", `:c`, :d", "select ':a', \":b\", `:c`, <d>"),
            ("select 'it''s :a \\' :b', :c", "select 'it''s :a \\' :b', <c>"),
            ("select /* :a */ 1 -- :b\n, :c # :d", "select /* :a */ 1 -- :b\n, <c> # :d"),
            ("set @a := 1, b = ::x", "set @a := 1, b = :x"),
            ("select * from t{{n}} where a = :a", "select * from t[n] where a = <a>"),
            ("select :a-1", "select <a>-1"),
        ] {
            assert_eq!(shown(text), expected);
        }
        for (text, part) in [
            ("", "empty"),
            ("select 'a", "no end"),
            ("select /* a", "no end"),
            ("select ?", "`?`"),
            ("select {{a b}}", "not the name"),
            ("select {{a", "no `}}`"),
        ] {
            assert!(parse_sql(text).unwrap_err().contains(part), "{text}");
        }
    }

    #[test]
    fn templates_have_widths() {
        let parts = parse_template("u{row:08}-{text:3}{x}").unwrap();
        let value = |name: &str, width| TemplatePart::Value { name: name.to_owned(), width };
        assert_eq!(
            parts,
            [
                TemplatePart::Literal("u".to_owned()),
                value("row", 8),
                TemplatePart::Literal("-".to_owned()),
                TemplatePart::Letters(3),
                value("x", 0)
            ]
        );
        assert!(parse_template("a{b").is_err() && parse_template("{}").is_err());
    }

    #[test]
    fn laws_have_ranges() {
        assert_eq!(parse_law("zipfian:1.1"), Ok(LawSpec::Zipfian { exponent: 1.1 }));
        let hot = LawSpec::Hotspot { keys: 0.05, draws: 0.6 };
        assert_eq!(parse_law("hotspot:0.05:0.6"), Ok(hot));
        for text in [
            "zipf",
            "zipfian:0",
            "zipfian:x",
            "zipfian:1:2",
            "pareto:1",
            "hotspot:2",
            "normal:1",
            "gaussian:0",
            "exponential:100",
            "uniform:1",
        ] {
            assert!(parse_law(text).is_err(), "{text}");
        }
        assert_eq!(parse_law("zipf").unwrap_err().1, "did you mean zipfian?");
    }

    #[test]
    fn pauses_counts_and_lengths() {
        assert_eq!(parse_pause("2ms"), Ok(PauseRule::Fixed(2e6)));
        assert_eq!(parse_pause("exp:10ms"), Ok(PauseRule::Exponential { mean: 1e7 }));
        let two = PauseRule::LogNormal { median: 2e9, sigma: 0.5 };
        assert_eq!(parse_pause("lognormal:2s"), Ok(two));
        assert_eq!(parse_pause("uniform:1s..3s"), Ok(PauseRule::Uniform(1e9, 3e9)));
        assert!(parse_pause("often").is_err() && parse_pause("uniform:3s..1s").is_err());
        let check = |text| parse_count_check(text).map(|c| (c.least, c.most));
        assert_eq!(check("1"), Ok((1, 1)));
        assert_eq!(check(">= 1"), Ok((1, u64::MAX)));
        assert_eq!(check("< 3"), Ok((0, 2)));
        assert_eq!(check("0..2"), Ok((0, 2)));
        assert!(check("< 0").is_err() && check("many").is_err() && check("3..1").is_err());
        assert_eq!(parse_length(&["3..9".to_owned()]), Ok(LengthSpec::Between(3, 9)));
        assert!(parse_length(&["9".to_owned(), "3".to_owned()]).is_err());
    }

    #[test]
    fn dates_there_and_back() {
        assert_eq!(parse_moment("1970-01-01", 0), Ok(0));
        assert_eq!(parse_moment("2024-02-29 12:30:01", 0), Ok(1_709_209_801));
        assert_eq!(parse_moment("now-1d", 86_400), Ok(0));
        assert!(parse_moment("2024-13-01", 0).is_err() && parse_moment("nowhere", 0).is_err());
        for days in (-200_000..200_000).step_by(37) {
            let (year, month, day) = date_of_days(days);
            assert_eq!(days_of_date(year, month, day), days);
        }
    }
}
