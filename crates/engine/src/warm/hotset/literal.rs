//! Values of a key as they stand in a hot set: literals of SQL in a few shapes. A file that says anything else is
//! refused, and what goes into a statement is written anew from the value, never copied from the file.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::warm::scan::{from_hex, to_hex};

/// A value of a key: a number, bytes (`x'00FF'`), text (`_utf8mb4 x'C3A9'`), a date or time or network address in
/// quotes, or NULL.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyLiteral(LiteralValue);

/// Private, so that only the reader below makes one.
#[derive(Clone, Debug, PartialEq)]
enum LiteralValue {
    Null,
    /// Digits before and after the point, and nothing else.
    Decimal {
        negative: bool,
        whole: String,
        fraction: String,
    },
    /// Finite.
    Double(f64),
    Bytes(Vec<u8>),
    Text {
        charset: &'static str,
        bytes: Vec<u8>,
    },
    Moment(TemporalValue),
    Inet4(Ipv4Addr),
    Inet6(Ipv6Addr),
}

/// A date, a time, or both, as far as a page of InnoDB can hold them: `0000-00-00` is one.
#[derive(Clone, Debug, PartialEq)]
struct TemporalValue {
    date: Option<[u32; 3]>,
    is_negative: bool,
    clock: Option<[u32; 3]>,
    /// The fraction of the second, and how many digits it has.
    fraction: Option<(u32, usize)>,
}

/// Why a text is no value of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is not a value of a key: use a number, x'..', _charset x'..', a date or time or network \
     address in quotes, or NULL"
)]
pub struct KeyLiteralError(String);

/// Longest text or bytes: more than any key of InnoDB.
const MOST_BYTES: usize = 16 << 10;
/// Most digits of a number before its point or behind it: more than any DECIMAL has.
const MOST_DIGITS: usize = 100;
/// Most columns of a key: InnoDB has 16, and those of the primary key behind them.
pub(super) const MOST_COLUMNS: usize = 64;

/// All character sets of both products, but `binary`.
const CHARSETS: &[&str] = &[
    "armscii8", "ascii", "big5", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866",
    "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew",
    "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce",
    "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8",
    "utf8mb3", "utf8mb4",
];

impl KeyLiteral {
    /// A whole number.
    pub(super) fn from_integer(number: i128) -> KeyLiteral {
        KeyLiteral(LiteralValue::Decimal {
            negative: number < 0,
            whole: number.unsigned_abs().to_string(),
            fraction: String::new(),
        })
    }

    /// Whether it is no value.
    pub(super) fn is_null(&self) -> bool {
        self.0 == LiteralValue::Null
    }

    /// The number, if it is a whole one.
    pub(super) fn as_integer(&self) -> Option<i128> {
        match &self.0 {
            LiteralValue::Decimal { negative, whole, fraction } if fraction.is_empty() => {
                let number: i128 = whole.parse().ok()?;
                Some(if *negative { -number } else { number })
            }
            _ => None,
        }
    }
}

impl fmt::Display for KeyLiteral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            LiteralValue::Null => f.write_str("NULL"),
            LiteralValue::Decimal { negative, whole, fraction } => {
                let sign = if *negative { "-" } else { "" };
                let point = if fraction.is_empty() { "" } else { "." };
                write!(f, "{sign}{whole}{point}{fraction}")
            }
            LiteralValue::Double(number) => write!(f, "{number:e}"),
            LiteralValue::Bytes(bytes) => write!(f, "x'{}'", to_hex(bytes)),
            LiteralValue::Text { charset, bytes } => write!(f, "_{charset} x'{}'", to_hex(bytes)),
            LiteralValue::Moment(moment) => write!(f, "'{moment}'"),
            LiteralValue::Inet4(address) => write!(f, "'{address}'"),
            LiteralValue::Inet6(address) => write!(f, "'{address}'"),
        }
    }
}

impl fmt::Display for TemporalValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some([year, month, day]) = self.date {
            write!(f, "{year:04}-{month:02}-{day:02}")?;
        }
        if self.date.is_some() && self.clock.is_some() {
            f.write_str(" ")?;
        }
        if self.is_negative {
            f.write_str("-")?;
        }
        if let Some([hours, minutes, seconds]) = self.clock {
            write!(f, "{hours:02}:{minutes:02}:{seconds:02}")?;
        }
        match self.fraction {
            Some((value, digits)) => write!(f, ".{value:0digits$}"),
            None => Ok(()),
        }
    }
}

impl FromStr for KeyLiteral {
    type Err = KeyLiteralError;

    fn from_str(text: &str) -> Result<KeyLiteral, KeyLiteralError> {
        // What is not understood is shown in part, and so that no byte of it reaches a terminal.
        let refused = || {
            let start: String = text.chars().take(40).collect();
            KeyLiteralError(format!("{start:?}"))
        };
        parse_value(text).map(KeyLiteral).ok_or_else(refused)
    }
}

fn parse_value(text: &str) -> Option<LiteralValue> {
    if text == "NULL" {
        return Some(LiteralValue::Null);
    }
    if let Some(rest) = text.strip_prefix('_') {
        let (name, rest) = rest.split_once(' ')?;
        let charset = CHARSETS.iter().find(|known| **known == name)?;
        return Some(LiteralValue::Text { charset, bytes: parse_bytes(rest)? });
    }
    if text.starts_with('x') {
        return Some(LiteralValue::Bytes(parse_bytes(text)?));
    }
    if let Some(rest) = text.strip_prefix('\'') {
        let inside = rest.strip_suffix('\'')?;
        return parse_temporal(inside)
            .map(LiteralValue::Moment)
            .or_else(|| inside.parse().ok().map(LiteralValue::Inet4))
            .or_else(|| inside.parse().ok().map(LiteralValue::Inet6));
    }
    parse_number(text)
}

/// `x'00FF'`.
fn parse_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("x'")?.strip_suffix('\'')?.as_bytes();
    let fits = digits.len() % 2 == 0 && digits.len() / 2 <= MOST_BYTES;
    if fits && digits.iter().all(u8::is_ascii_hexdigit) { from_hex(digits) } else { None }
}

/// `-12`, `0.05`, `1.5e-3`.
fn parse_number(text: &str) -> Option<LiteralValue> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match rest.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (rest, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let good = are_digits(whole, 1..=MOST_DIGITS)
        && fraction.is_none_or(|digits| are_digits(digits, 1..=MOST_DIGITS));
    if !good {
        return None;
    }
    if let Some(exponent) = exponent {
        are_digits(exponent.strip_prefix('-').unwrap_or(exponent), 1..=3).then_some(())?;
        return text
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .map(LiteralValue::Double);
    }
    let trimmed = whole.trim_start_matches('0');
    let whole = if trimmed.is_empty() { "0" } else { trimmed }.to_owned();
    Some(LiteralValue::Decimal {
        negative,
        whole,
        fraction: fraction.unwrap_or_default().to_owned(),
    })
}

fn are_digits(text: &str, length: std::ops::RangeInclusive<usize>) -> bool {
    length.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

/// `2024-02-29`, `2024-02-29 23:59:58.1234`, `-838:59:59`.
fn parse_temporal(text: &str) -> Option<TemporalValue> {
    let (date, clock) = match text.split_once(' ') {
        Some((date, clock)) => (Some(date), Some(clock)),
        None if text.contains(':') => (None, Some(text)),
        None => (Some(text), None),
    };
    let date = match date {
        Some(date) => Some(parse_three_numbers(date, '-', 4..=5)?),
        None => None,
    };
    let Some(clock) = clock else {
        return Some(TemporalValue { date, is_negative: false, clock: None, fraction: None });
    };
    let (is_negative, clock) = match clock.strip_prefix('-') {
        Some(rest) => (date.is_none().then_some(true)?, rest),
        None => (false, clock),
    };
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, digits)) if are_digits(digits, 1..=6) => {
            (clock, Some((digits.parse().ok()?, digits.len())))
        }
        Some(_) => return None,
        None => (clock, None),
    };
    Some(TemporalValue {
        date,
        is_negative,
        clock: Some(parse_three_numbers(clock, ':', 2..=4)?),
        fraction,
    })
}

/// Three numbers; the second and third have two digits.
fn parse_three_numbers(
    text: &str,
    between: char,
    first: std::ops::RangeInclusive<usize>,
) -> Option<[u32; 3]> {
    let mut parts = text.split(between);
    let mut number = |length| {
        let part = parts.next().filter(|part| are_digits(part, length))?;
        part.parse().ok()
    };
    let found = [number(first)?, number(2..=2)?, number(2..=2)?];
    parts.next().is_none().then_some(found)
}

impl Serialize for KeyLiteral {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KeyLiteral {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<KeyLiteral, D::Error> {
        struct LiteralVisitor;
        impl Visitor<'_> for LiteralVisitor {
            type Value = KeyLiteral;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value of a key, as text")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<KeyLiteral, E> {
                text.parse().map_err(E::custom)
            }
        }
        from.deserialize_str(LiteralVisitor)
    }
}

/// A bound of a range: no more values than a key can have, or none of them is kept.
pub(super) fn bound<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<KeyLiteral>, D::Error> {
    struct BoundVisitor;
    impl<'de> Visitor<'de> for BoundVisitor {
        type Value = Vec<KeyLiteral>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the values of a key")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut values = Vec::new();
            while let Some(value) = seq.next_element()? {
                if values.len() == MOST_COLUMNS {
                    return Err(A::Error::custom("a bound has more values than a key can have"));
                }
                values.push(value);
            }
            Ok(values)
        }
    }
    from.deserialize_seq(BoundVisitor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(text: &str) -> Result<String, KeyLiteralError> {
        text.parse::<KeyLiteral>().map(|literal| literal.to_string())
    }

    #[test]
    fn the_shapes_pass_as_they_are() {
        for text in [
            "NULL",
            "0",
            "-9223372036854775808",
            "18446744073709551615",
            "0.05",
            "-1234567890.1234",
            "1e-1",
            "1.0000000149011612e-1",
            "-1.7976931348623157e308",
            "x''",
            "x'0027FF'",
            "_utf8mb4 x'C3A920'",
            "_latin1 x'612027'",
            "'2024-02-29'",
            "'0000-00-00'",
            "'2024-02-29 23:59:58.1234'",
            "'2000-02-29 00:00:00'",
            "'-00:00:01.25'",
            "'838:59:59'",
            "'192.0.2.1'",
            "'::1'",
            "'::ffff:192.0.2.1'",
        ] {
            assert_eq!(said(text).as_deref(), Ok(text));
        }
        assert_eq!(said("007.10").as_deref(), Ok("7.10"), "written anew");
        assert_eq!(said("x'ab'").as_deref(), Ok("x'AB'"));
    }

    #[test]
    fn nothing_else_passes() {
        let long = format!("x'{}'", "00".repeat(MOST_BYTES + 1));
        let digits = "1".repeat(MOST_DIGITS + 1);
        for text in [
            "",
            "-",
            "1) INTO OUTFILE '/var/tmp/x' -- ",
            "(select sleep(3))",
            "sleep(3)",
            "@@version",
            "`id`",
            "null",
            "NULL ",
            " 1",
            "1 ",
            "+1",
            "1.",
            ".5",
            "1e",
            "1e5into",
            "1e9999",
            "0x41",
            "inf",
            "nan",
            "x'0'",
            "x'0G'",
            "x'00' OR 1",
            "x'00'' OR 1'",
            "X'00'",
            "_utf8mb4 'a'",
            "_utf8mb4  x'00'",
            "_nosuch x'00'",
            "_utf8mb4 x'00' COLLATE utf8mb4_bin",
            "'a'",
            "''",
            "'",
            "'2024-02-29' OR '1'",
            "'2024-02-29'''",
            "'2024-2-29'",
            "'2024-02-29 -01:02:03'",
            "'01:02:03.1234567'",
            "'01:02:03\\'",
            "'1.2.3.4 '",
            "'１２:00:00'",
            "\u{1b}]0;title\u{7}",
            &long,
            &digits,
        ] {
            assert!(said(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_refused_is_shown_without_its_control_bytes() {
        let error = said("\u{1b}[2Jsleep(3)").unwrap_err().to_string();
        assert!(!error.contains('\u{1b}') && error.contains("sleep(3)"), "{error}");
        assert!(said(&"y".repeat(1 << 20)).unwrap_err().to_string().len() < 300);
    }

    proptest! {
        #[test]
        fn what_passes_is_written_the_same_from_then_on(text in "[-x_'0-9a-f:. e]{0,30}") {
            if let Ok(once) = said(&text) {
                prop_assert_eq!(said(&once).unwrap(), once);
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*") {
            let _ = said(&text);
        }
    }
}
