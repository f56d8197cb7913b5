//! Values of a key as they lie in a page, written in SQL so that every server reads the same.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::kind::{DIGIT_BYTES, ValueKind};
use crate::base::calendar::civil_from_days;
use crate::warm::hotset::KeyLiteral;
use crate::warm::scan::to_hex;

/// A value in SQL; `None` if it can't be written so that a hot set may hold it.
pub(super) fn to_literal(kind: &ValueKind, value: Option<&[u8]>) -> Option<KeyLiteral> {
    to_sql(kind, value)?.parse().ok()
}

fn to_sql(kind: &ValueKind, value: Option<&[u8]>) -> Option<String> {
    let Some(bytes) = value else {
        return (!matches!(kind, ValueKind::Unwritten(_))).then(|| "NULL".to_owned());
    };
    match kind {
        ValueKind::Integer { signed: true } => Some(read_signed(bytes)?.to_string()),
        ValueKind::Integer { signed: false } | ValueKind::Bits => {
            Some(read_unsigned(bytes)?.to_string())
        }
        ValueKind::Year => Some(match read_unsigned(bytes)? {
            0 => "0".to_owned(),
            year => (1900 + year).to_string(),
        }),
        ValueKind::Float => {
            let value = f32::from_le_bytes(bytes.try_into().ok()?);
            // Compared as a double, so it has to be the double that the float is.
            value.is_finite().then(|| format!("{:e}", f64::from(value)))
        }
        ValueKind::Double => {
            let value = f64::from_le_bytes(bytes.try_into().ok()?);
            value.is_finite().then(|| format!("{value:e}"))
        }
        ValueKind::Decimal { digits, fraction } => format_decimal(bytes, *digits, *fraction),
        ValueKind::Date => Some(format!("'{}'", format_date(read_unsigned(bytes)? & 0x7F_FFFF))),
        ValueKind::Datetime { fraction } => format_datetime(bytes, *fraction),
        ValueKind::Timestamp { fraction } => format_timestamp(bytes, *fraction),
        ValueKind::Time { fraction } => format_time(bytes, *fraction),
        ValueKind::Text { charset, padded } => format_text(bytes, charset, *padded),
        ValueKind::Bytes => Some(format!("x'{}'", to_hex(bytes))),
        ValueKind::Inet4 => {
            let octets: [u8; 4] = bytes.try_into().ok()?;
            Some(format!("'{}'", Ipv4Addr::from(octets)))
        }
        ValueKind::Inet6 => {
            let octets: [u8; 16] = bytes.try_into().ok()?;
            Some(format!("'{}'", Ipv6Addr::from(octets)))
        }
        ValueKind::Unwritten(_) => None,
    }
}

fn read_unsigned(bytes: &[u8]) -> Option<u64> {
    (bytes.len() <= 8).then(|| bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
}

/// The highest bit is turned round, so that bytes are in order.
fn read_signed(bytes: &[u8]) -> Option<i64> {
    let bits = 8 * u32::try_from(bytes.len()).ok().filter(|n| (1..=8).contains(n))?;
    let turned = i128::from(read_unsigned(bytes)?) - (1i128 << (bits - 1));
    i64::try_from(turned).ok()
}

/// Nine digits in four bytes, those that are left over in fewer; of negative values every bit is turned round.
fn format_decimal(bytes: &[u8], digits: usize, fraction: usize) -> Option<String> {
    let negative = bytes.first()? & 0x80 == 0;
    let turn = if negative { 0xFF } else { 0 };
    let mut bytes: Vec<u8> = bytes.iter().map(|b| b ^ turn).collect();
    bytes[0] ^= 0x80;
    let mut at = 0;
    let mut group = |count: usize| {
        let end = at + DIGIT_BYTES[count];
        let value = read_unsigned(bytes.get(at..end)?)?;
        at = end;
        Some(format!("{value:0count$}"))
    };
    let whole = digits.checked_sub(fraction)?;
    let mut text = String::new();
    if whole % 9 > 0 {
        text += &group(whole % 9)?;
    }
    for _ in 0..whole / 9 {
        text += &group(9)?;
    }
    let trimmed = text.trim_start_matches('0');
    let mut text = if trimmed.is_empty() { "0".to_owned() } else { trimmed.to_owned() };
    if fraction > 0 {
        text.push('.');
        for _ in 0..fraction / 9 {
            text += &group(9)?;
        }
        if fraction % 9 > 0 {
            text += &group(fraction % 9)?;
        }
    }
    Some(if negative { format!("-{text}") } else { text })
}

/// Day, month and year in 5, 4 and the other bits.
fn format_date(packed: u64) -> String {
    format!("{:04}-{:02}-{:02}", packed >> 9, packed >> 5 & 15, packed & 31)
}

/// Hours, minutes, seconds in 6 bits each but the hours.
fn format_clock(packed: u64) -> String {
    format!("{:02}:{:02}:{:02}", packed >> 12, packed >> 6 & 63, packed & 63)
}

/// `.250`; the unit of the bytes is a pair of digits.
fn format_fraction(value: u64, fraction: usize) -> String {
    let pairs = fraction.div_ceil(2);
    if pairs == 0 {
        return String::new();
    }
    format!(".{value:0width$}", width = pairs * 2)
}

fn format_datetime(bytes: &[u8], fraction: usize) -> Option<String> {
    let packed = read_unsigned(bytes.get(..5)?)?.checked_sub(1 << 39)?;
    let (day, time) = (packed >> 17, packed & 0x1_FFFF);
    let (month, day) = (day >> 5, day & 31);
    let rest = format_fraction(read_unsigned(bytes.get(5..)?)?, fraction);
    let (year, month) = (month / 13, month % 13);
    Some(format!("'{year:04}-{month:02}-{day:02} {}{rest}'", format_clock(time)))
}

fn format_timestamp(bytes: &[u8], fraction: usize) -> Option<String> {
    let seconds = i64::try_from(read_unsigned(bytes.get(..4)?)?).ok()?;
    let rest = format_fraction(read_unsigned(bytes.get(4..)?)?, fraction);
    if seconds == 0 {
        return Some(format!("'0000-00-00 00:00:00{rest}'"));
    }
    let (year, month, day) = civil_from_days(seconds / 86_400);
    let (h, m, s) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    Some(format!("'{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02}{rest}'"))
}

/// One number with its fraction, moved up by half of all that there are.
fn format_time(bytes: &[u8], fraction: usize) -> Option<String> {
    let packed = read_signed(bytes)?;
    let pairs = fraction.div_ceil(2);
    let bits = u32::try_from(8 * pairs).ok()?;
    let (whole, part) = (packed.unsigned_abs() >> bits, packed.unsigned_abs() & ((1 << bits) - 1));
    let sign = if packed < 0 { "-" } else { "" };
    Some(format!("'{sign}{}{}'", format_clock(whole & 0x3F_FFFF), format_fraction(part, fraction)))
}

fn format_text(bytes: &[u8], charset: &str, padded: bool) -> Option<String> {
    let spaces = if padded { bytes.iter().rev().take_while(|b| **b == b' ').count() } else { 0 };
    let bytes = &bytes[..bytes.len() - spaces];
    if charset.starts_with("utf8") {
        std::str::from_utf8(bytes).ok()?;
    }
    // MySQL before 8 knows UTF-8 of three bytes by its old name only, and all servers know that one.
    let charset = if charset == "utf8mb3" { "utf8" } else { charset };
    Some(format!("_{charset} x'{}'", to_hex(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(kind: &ValueKind, bytes: &[u8]) -> String {
        to_literal(kind, Some(bytes)).unwrap().to_string()
    }

    #[test]
    fn numbers_are_in_the_order_of_their_bytes() {
        let signed = ValueKind::Integer { signed: true };
        assert_eq!(said(&signed, &[0x80, 0, 0, 5]), "5");
        assert_eq!(said(&signed, &[0x7F, 0xFF, 0xFF]), "-1");
        assert_eq!(said(&signed, &[0; 8]), i64::MIN.to_string());
        assert_eq!(said(&ValueKind::Integer { signed: false }, &[0xFF; 8]), u64::MAX.to_string());
        assert_eq!(said(&ValueKind::Year, &[124]), "2024");
        assert_eq!(said(&ValueKind::Double, &0.1f64.to_le_bytes()), "1e-1");
        assert_eq!(said(&ValueKind::Float, &0.1f32.to_le_bytes()), "1.0000000149011612e-1");
        assert_eq!(to_literal(&ValueKind::Double, Some(&f64::NAN.to_le_bytes())), None);
        assert_eq!(to_literal(&signed, None).unwrap().to_string(), "NULL");
    }

    #[test]
    fn decimals_are_those_of_the_manual() {
        // The manual's own example: 1234567890.1234 as DECIMAL(14,4).
        let bytes = [0x81, 0x0D, 0xFB, 0x38, 0xD2, 0x04, 0xD2];
        let kind = ValueKind::Decimal { digits: 14, fraction: 4 };
        assert_eq!(said(&kind, &bytes), "1234567890.1234");
        assert_eq!(said(&kind, &bytes.map(|b| !b)), "-1234567890.1234");
        assert_eq!(said(&ValueKind::Decimal { digits: 2, fraction: 2 }, &[0x85]), "0.05");
    }

    #[test]
    fn times_are_read() {
        let date = 2024 << 9 | 2 << 5 | 29u32;
        assert_eq!(said(&ValueKind::Date, &date.to_be_bytes()[1..]), "'2024-02-29'");
        let packed =
            (1u64 << 39) + ((((2024 * 13 + 2) << 5 | 29) << 17) | (23 << 12 | 59 << 6 | 58));
        let bytes = [&packed.to_be_bytes()[3..], &[0x04, 0xD2]].concat();
        assert_eq!(
            said(&ValueKind::Datetime { fraction: 3 }, &bytes),
            "'2024-02-29 23:59:58.1234'"
        );
        let bytes = 951_782_400u32.to_be_bytes();
        assert_eq!(said(&ValueKind::Timestamp { fraction: 0 }, &bytes), "'2000-02-29 00:00:00'");
        assert_eq!(said(&ValueKind::Time { fraction: 0 }, &[0x80, 0x10, 0x83]), "'01:02:03'");
        // One second below nothing, less a quarter: -00:00:01.25
        assert_eq!(
            said(&ValueKind::Time { fraction: 2 }, &[0x7F, 0xFF, 0xFE, 231]),
            "'-00:00:01.25'"
        );
    }

    #[test]
    fn text_is_bytes_of_its_character_set() {
        let kind = |charset: &str, padded| ValueKind::Text { charset: charset.to_owned(), padded };
        assert_eq!(said(&kind("latin1", true), b"a '  "), "_latin1 x'612027'");
        assert_eq!(said(&kind("utf8mb4", false), "é ".as_bytes()), "_utf8mb4 x'C3A920'");
        assert_eq!(to_literal(&kind("utf8mb4", false), Some(&[0xC3])), None);
        assert_eq!(said(&ValueKind::Bytes, &[0, 0x27]), "x'0027'");
        assert_eq!(said(&ValueKind::Bytes, &[]), "x''");
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..40), n in 0..70usize) {
            let fraction = n % 7;
            for kind in [
                ValueKind::Integer { signed: true }, ValueKind::Integer { signed: false },
                ValueKind::Year,
                ValueKind::Float, ValueKind::Double, ValueKind::Decimal { digits: n.min(65),
                fraction: n / 2 },
                ValueKind::Date, ValueKind::Datetime { fraction },
                ValueKind::Timestamp { fraction },
                ValueKind::Time { fraction }, ValueKind::Bits, ValueKind::Bytes, ValueKind::Inet4,
                ValueKind::Inet6,
                ValueKind::Text { charset: "utf8mb4".to_owned(), padded: true },
                ValueKind::Unwritten(""),
            ] {
                let text = to_sql(&kind, Some(&bytes));
                if let Some(literal) = to_literal(&kind, Some(&bytes)) {
                    prop_assert_eq!(literal.to_string(), text.unwrap(), "as it was written");
                } else if let Some(text) = text {
                    prop_assert!(matches!(kind,
                    ValueKind::Datetime { .. } | ValueKind::Timestamp { .. }
                        | ValueKind::Time { .. }), "{} can be written, not read", text);
                }
            }
        }
    }
}
