//! Values of an index's first column: how they are asked for, written in SQL, and how to find values in between.
//!
//! A value in between need not exist, and need not even lie where we think it does: ranges are built as
//! `k < a`, `a <= k < b`, `k >= b`, which together hold every row whatever `a` and `b` are. A bad guess costs
//! balance, never a page.

use crate::base::calendar::{civil_from_days, days_from_civil};
use crate::warm::catalog::CatalogColumn;
use crate::warm::names::quote_identifier;

/// How the values of a column are written and compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// Whole numbers, years.
    Integer,
    /// Decimals, floating point.
    Number,
    /// Dates and times of day on a date.
    Moment,
    /// Text in a character set whose bytes or characters we can count through.
    Text { charset: String, folded: bool },
    /// Bytes.
    Bytes,
    /// MariaDB's UUID type.
    Uuid,
}

/// A value as the server gave it: digits and dates as text, text and bytes raw.
pub(super) type KeyBytes = Vec<u8>;

/// Character sets of several bytes per character that we can't count through.
const WIDE: &[&str] = &[
    "big5", "cp932", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "sjis", "ucs2", "ujis",
    "utf16", "utf16le", "utf32",
];

impl KeyKind {
    /// The kind of a column; `None` if its index is scanned in one piece.
    pub(super) fn from_column(column: &CatalogColumn) -> Option<KeyKind> {
        match column.data_type.as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "year" => {
                Some(KeyKind::Integer)
            }
            "decimal" | "float" | "double" => Some(KeyKind::Number),
            "date" | "datetime" | "timestamp" => Some(KeyKind::Moment),
            "char" | "varchar" => {
                let charset = column.charset.clone()?;
                let collation = column.collation.as_deref().unwrap_or_default();
                let folded = !collation.ends_with("_bin");
                (!WIDE.contains(&charset.as_str())).then_some(KeyKind::Text { charset, folded })
            }
            "binary" | "varbinary" => Some(KeyKind::Bytes),
            "uuid" => Some(KeyKind::Uuid),
            _ => None,
        }
    }

    /// Whether values in between should be replaced by real ones: they make the next halving sharper.
    pub(super) fn wants_real_values(&self) -> bool {
        matches!(self, KeyKind::Text { .. } | KeyKind::Bytes | KeyKind::Uuid)
    }

    /// An expression of the column whose text [`KeyKind::parse_key`] understands.
    pub(super) fn sql_expression(&self, of: &str) -> String {
        match self {
            KeyKind::Text { .. } | KeyKind::Bytes => format!("HEX({of})"),
            _ => of.to_owned(),
        }
    }

    /// A value from the text of its expression.
    pub(super) fn parse_key(&self, text: &[u8]) -> Option<KeyBytes> {
        match self {
            KeyKind::Text { .. } | KeyKind::Bytes => from_hex(text),
            _ => Some(text.to_vec()),
        }
    }

    /// A value in SQL.
    pub(super) fn sql_literal(&self, key: &KeyBytes) -> String {
        let text = || String::from_utf8_lossy(key).into_owned();
        match self {
            KeyKind::Integer | KeyKind::Number => text(),
            KeyKind::Moment | KeyKind::Uuid => format!("'{}'", text()),
            KeyKind::Text { charset, .. } => format!("_{charset} x'{}'", to_hex(key)),
            KeyKind::Bytes => format!("x'{}'", to_hex(key)),
        }
    }

    /// Up to `pieces - 1` values between two, ascending; none if there is no room.
    pub(super) fn keys_between(
        &self,
        low: &KeyBytes,
        high: &KeyBytes,
        chunks: u64,
    ) -> Vec<KeyBytes> {
        match self {
            KeyKind::Integer => split_integers(low, high, chunks).unwrap_or_default(),
            KeyKind::Number => split_numbers(low, high, chunks).unwrap_or_default(),
            KeyKind::Moment => split_times(low, high, chunks).unwrap_or_default(),
            KeyKind::Text { charset, folded } => {
                if charset.starts_with("utf8") {
                    split_characters(low, high, chunks, *folded)
                } else {
                    split_letters(low, high, chunks, *folded)
                        .unwrap_or_else(|| split_bytes(low, high, chunks))
                }
            }
            KeyKind::Bytes => split_bytes(low, high, chunks),
            KeyKind::Uuid => split_uuids(low, chunks),
        }
    }
}

/// The part of a WHERE that holds the values from `low` (included) to `high` (not included).
pub(super) fn key_condition(
    kind: &KeyKind,
    column: &str,
    low: Option<&KeyBytes>,
    high: Option<&KeyBytes>,
) -> String {
    let column = quote_identifier(column);
    let from = low.map(|key| format!("{column} >= {}", kind.sql_literal(key)));
    let to = high.map(|key| format!("{column} < {}", kind.sql_literal(key)));
    match (from, to) {
        (Some(from), Some(to)) => format!("{from} AND {to}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => format!("{column} IS NOT NULL"),
    }
}

fn parse_text<T: std::str::FromStr>(key: &KeyBytes) -> Option<T> {
    std::str::from_utf8(key).ok()?.trim().parse().ok()
}

fn split_integers(low: &KeyBytes, high: &KeyBytes, chunks: u64) -> Option<Vec<KeyBytes>> {
    let (low, high): (i128, i128) = (parse_text(low)?, parse_text(high)?);
    let steps = i128::from(chunks.max(1)).min(high - low);
    let at = |i: i128| (low + (high - low) * i / steps).to_string().into_bytes();
    Some((1..steps).map(at).collect())
}

fn split_numbers(low: &KeyBytes, high: &KeyBytes, chunks: u64) -> Option<Vec<KeyBytes>> {
    let (low, high): (f64, f64) = (parse_text(low)?, parse_text(high)?);
    if !(high > low && high.is_finite() && low.is_finite()) {
        return None;
    }
    let share = |i: u64| i as f64 / chunks as f64;
    let values = (1..chunks).map(|i| low * (1.0 - share(i)) + high * share(i));
    // Enough digits for the step, and never an exponent: those compare as floating point.
    let step = (high - low) / chunks.max(1) as f64;
    let digits = (2.0 - step.log10().floor()).clamp(0.0, 30.0) as usize;
    let mut keys: Vec<KeyBytes> = values.map(|v| format!("{v:.digits$}").into_bytes()).collect();
    keys.dedup();
    Some(keys)
}

/// Moments, counted in seconds: `2024-02-29`, `2024-02-29 12:30:00`.
fn split_times(low: &KeyBytes, high: &KeyBytes, chunks: u64) -> Option<Vec<KeyBytes>> {
    let only_date = low.len() <= 10 && high.len() <= 10;
    let unit = if only_date { 86_400 } else { 1 };
    let (low, high) = (parse_seconds(low)? / unit, parse_seconds(high)? / unit);
    let steps = i64::try_from(chunks.max(1)).ok()?.min(high - low);
    let at = |i: i64| format_time((low + (high - low) * i / steps) * unit, only_date).into_bytes();
    Some((1..steps).map(at).collect())
}

fn parse_seconds(key: &KeyBytes) -> Option<i64> {
    let text = std::str::from_utf8(key).ok()?;
    let number = |from: usize, to: usize| text.get(from..to).and_then(|t| t.parse::<i64>().ok());
    let (year, month, day) = (number(0, 4)?, number(5, 7)?.max(1), number(8, 10)?.max(1));
    let time = match (number(11, 13), number(14, 16), number(17, 19)) {
        (Some(h), Some(m), Some(s)) => h * 3600 + m * 60 + s,
        _ => 0,
    };
    Some(days_from_civil(year, month, day) * 86_400 + time)
}

fn format_time(seconds: i64, only_date: bool) -> String {
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
    let date = format!("{year:04}-{month:02}-{day:02}");
    if only_date {
        return date;
    }
    let s = seconds.rem_euclid(86_400);
    format!("{date} {:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}

/// How many leading items two values share.
fn common_prefix_len<T: PartialEq>(low: &[T], high: &[T]) -> usize {
    low.iter().zip(high).take_while(|(a, b)| a == b).count()
}

/// Between two byte strings, by the six bytes after what they share.
fn split_bytes(low: &[u8], high: &[u8], chunks: u64) -> Vec<KeyBytes> {
    let at = common_prefix_len(low, high);
    let number = |key: &[u8]| (at..at + 6).fold(0u64, |n, i| n << 8 | byte_at(key, i));
    let (from, to) = (number(low), number(high));
    let steps = chunks.max(1).min(to.saturating_sub(from));
    let mut keys = Vec::new();
    for i in 1..steps {
        let value = from + ((u128::from(to - from) * u128::from(i)) / u128::from(steps)) as u64;
        keys.push([&low[..at], &value.to_be_bytes()[2..]].concat());
    }
    keys
}

fn byte_at(key: &[u8], at: usize) -> u64 {
    key.get(at).copied().map_or(0, u64::from)
}

/// Letters and digits in an order that every collation keeps; where case does not count, one case is enough.
/// Numbers and hexadecimal text get by with fewer.
const DIGITS: &[u8] = b"0123456789";
const HEXADECIMAL: &[u8] = b"0123456789abcdef";
const FOLDED: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const EXACT: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Between two ASCII texts, by three letters or digits after what they share; `None` if they are not ASCII there.
fn split_letters(low: &[u8], high: &[u8], chunks: u64, folded: bool) -> Option<Vec<KeyBytes>> {
    let (low, high) = if folded {
        (low.to_ascii_lowercase(), high.to_ascii_lowercase())
    } else {
        (low.to_vec(), high.to_vec())
    };
    let at = common_prefix_len(&low, &high);
    let tail = |key: &[u8]| key.iter().skip(at).take(3).copied().collect::<Vec<u8>>();
    let (from, to) = (tail(&low), tail(&high));
    if !from.is_ascii() || !to.is_ascii() {
        return None;
    }
    let spelled = |letters: &[u8]| from.iter().chain(&to).all(|b| letters.contains(b));
    let whole = if folded { FOLDED } else { EXACT };
    let fewest = [DIGITS, HEXADECIMAL].into_iter().find(|letters| spelled(letters));
    let alphabet = fewest.unwrap_or(whole);
    let size = alphabet.len() as u64;
    let digit = |byte: Option<&u8>| {
        byte.map_or(0, |b| alphabet.iter().take_while(|a| *a < b).count() as u64).min(size - 1)
    };
    let number = |tail: &[u8]| (0..3).fold(0, |n, i| n * size + digit(tail.get(i)));
    let (mut from, mut to) = (number(&from), number(&to));
    if from >= to {
        // Signs, or an order unlike that of the bytes: try the whole alphabet.
        (from, to) = (0, size * size * size - 1);
    }
    let steps = chunks.max(1).min(to - from);
    let write = |value: u64| {
        let digits = [value / (size * size), value / size % size, value % size];
        let tail = digits.map(|d| alphabet[d as usize]);
        [&low[..at], &tail].concat()
    };
    Some((1..steps).map(|i| write(from + (to - from) * i / steps)).collect())
}

/// Between two UTF-8 texts: letters if they are ASCII after what they share, else by the next character's number.
fn split_characters(low: &[u8], high: &[u8], chunks: u64, folded: bool) -> Vec<KeyBytes> {
    if let Some(keys) = split_letters(low, high, chunks, folded) {
        return keys;
    }
    let (Ok(low), Ok(high)) = (std::str::from_utf8(low), std::str::from_utf8(high)) else {
        return Vec::new();
    };
    let (low, high): (Vec<char>, Vec<char>) = (low.chars().collect(), high.chars().collect());
    let at = common_prefix_len(&low, &high);
    let number = |key: &[char]| key.get(at).map_or(0x20, |c| u64::from(u32::from(*c)));
    let (from, to) = (number(&low), number(&high));
    let steps = chunks.max(1).min(to.saturating_sub(from));
    let write = |value: u64| {
        let next = u32::try_from(value).ok().and_then(char::from_u32)?;
        let text: String = low[..at].iter().copied().chain([next]).collect();
        Some(text.into_bytes())
    };
    (1..steps).filter_map(|i| write(from + (to - from) * i / steps)).collect()
}

/// MariaDB keeps UUIDs of versions below 6 with their last segment first, so that is what must vary.
fn split_uuids(low: &KeyBytes, chunks: u64) -> Vec<KeyBytes> {
    let last_first = low.get(14).is_none_or(|version| *version < b'6');
    let version = low.get(14).copied().map_or('4', char::from);
    let write = |i: u64| {
        let part = i * 0x1_0000_0000 / chunks.max(1);
        let text = if last_first {
            format!("00000000-0000-{version}000-8000-{part:08x}0000")
        } else {
            format!("{part:08x}-0000-{version}000-8000-000000000000")
        };
        text.into_bytes()
    };
    (1..chunks).map(write).collect()
}

pub(in crate::warm) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

pub(in crate::warm) fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    text.chunks(2).map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
