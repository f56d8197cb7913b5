//! Numbers as people type and read them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// An amount of bytes, absolute or as a multiple of the buffer pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ByteSize {
    /// `16KiB`, `1G`. As in MySQL's settings, K, M, G and T are powers of 1024, whatever follows them.
    Bytes(u64),
    /// `2x-pool`.
    TimesPool(f64),
}

/// Why a text is no amount of bytes or time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}")]
pub struct UnitError {
    text: String,
    what: &'static str,
}

impl ByteSize {
    /// Bytes, where the buffer pool has `pool` bytes.
    pub fn resolve_bytes(self, pool: u64) -> u64 {
        match self {
            ByteSize::Bytes(bytes) => bytes,
            ByteSize::TimesPool(factor) => (factor * pool as f64) as u64,
        }
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<ByteSize, UnitError> {
        let wrong = || UnitError {
            text: text.to_owned(),
            what: "an amount of bytes like 16KiB, 1.5G or 2x-pool",
        };
        let (number, unit) = split_unit(text).ok_or_else(wrong)?;
        let unit = unit.to_ascii_lowercase();
        if matches!(unit.as_str(), "x-pool" | "xpool") {
            return Ok(ByteSize::TimesPool(number));
        }
        let power = match unit.trim_end_matches("ib").trim_end_matches('b') {
            "" if unit != "ib" => 0,
            "k" => 1,
            "m" => 2,
            "g" => 3,
            "t" => 4,
            _ => return Err(wrong()),
        };
        let bytes = number * 1024_f64.powi(power);
        if bytes > 9e18 {
            return Err(wrong());
        }
        // Whole numbers stay exact beyond the 53 bits of a float.
        let digits = &text.trim()[..text.trim().len() - unit.len()];
        let exact = digits.trim().parse::<u64>().ok();
        Ok(ByteSize::Bytes(exact.map_or(bytes as u64, |n| n << (10 * power))))
    }
}

impl fmt::Display for ByteSize {
    /// As one would type it: the largest unit that divides it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ByteSize::TimesPool(factor) => write!(f, "{factor}x-pool"),
            ByteSize::Bytes(bytes) => {
                for (unit, shift) in [("T", 40), ("G", 30), ("M", 20), ("K", 10)] {
                    if bytes >= 1 << shift && bytes % (1 << shift) == 0 {
                        return write!(f, "{}{unit}", bytes >> shift);
                    }
                }
                write!(f, "{bytes}")
            }
        }
    }
}

/// The longest time that a text may name: more is a slip, and clocks would overflow.
const LONGEST_TIME: Duration = Duration::from_secs(366 * 86_400);

/// Reads a time of at most a year: `5s`, `200ms`, `1m30s`, `1.5h`; a bare number is seconds.
///
/// # Errors
/// When it is no time, or longer.
pub fn parse_time(text: &str) -> Result<Duration, UnitError> {
    let wrong = |what| UnitError { text: text.to_owned(), what };
    let time = humantime::parse_duration(text.trim()).ok().or_else(|| parse_one_unit(text));
    let time = time.ok_or_else(|| wrong("a time like 5s, 200ms or 2m"))?;
    if time > LONGEST_TIME { Err(wrong("a time of at most a year")) } else { Ok(time) }
}

/// A number with one unit, which may have a fraction.
fn parse_one_unit(text: &str) -> Option<Duration> {
    let (number, unit) = split_unit(text)?;
    let scale = match unit {
        "" | "s" => 1.0,
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * scale).ok()
}

/// Reads a moment, as time since 1970: `@1795383000` in seconds, or `2026-11-22T21:30:00Z` (RFC 3339, always UTC).
///
/// # Errors
/// When it is neither.
pub fn parse_wall_time(text: &str) -> Result<Duration, UnitError> {
    let wrong = || UnitError { text: text.to_owned(), what: "a moment" };
    if let Some(seconds) = text.trim().strip_prefix('@') {
        let seconds: f64 = seconds.parse().map_err(|_| wrong())?;
        return Duration::try_from_secs_f64(seconds).map_err(|_| wrong());
    }
    let time = humantime::parse_rfc3339_weak(text.trim()).map_err(|_| wrong())?;
    time.duration_since(std::time::SystemTime::UNIX_EPOCH).map_err(|_| wrong())
}

/// Reads a whole number: `1000`, `20_000`, `1.5M`; k, M and G are powers of 1000, since these are no bytes.
///
/// # Errors
/// When it is no whole number of at least 0.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    let wrong =
        || UnitError { text: text.to_owned(), what: "a whole number like 1000, 20k or 1.5M" };
    let plain = text.trim().replace('_', "");
    if let Ok(count) = plain.parse() {
        return Ok(count);
    }
    let (number, unit) = split_unit(&plain).ok_or_else(wrong)?;
    let scale = match unit {
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        _ => return Err(wrong()),
    };
    let count = number * scale;
    let whole = (count - count.round()).abs() < 1e-6 && count < 9e15;
    if whole { Ok(count.round() as u64) } else { Err(wrong()) }
}

/// Reads a rate, per second: `500`, `20k`, `20k/s`, `300/m`; k, M and G are powers of 1000.
///
/// # Errors
/// When it is no rate above 0.
pub fn parse_rate(text: &str) -> Result<f64, UnitError> {
    let rate = parse_rate_from_zero(text)?;
    if rate > 0.0 { Ok(rate) } else { Err(rate_error(text)) }
}

fn rate_error(text: &str) -> UnitError {
    UnitError { text: text.to_owned(), what: "a rate like 500, 20k/s or 300/m" }
}

/// The same, where 0 is a rate too.
///
/// # Errors
/// When it is no rate of at least 0.
pub fn parse_rate_from_zero(text: &str) -> Result<f64, UnitError> {
    let wrong = || rate_error(text);
    // As files write numbers: 2e3.
    if let Some(rate) = text.trim().parse().ok().filter(|r: &f64| *r >= 0.0 && r.is_finite()) {
        return Ok(rate);
    }
    let (amount, per) = text.split_once('/').unwrap_or((text, "s"));
    let (number, unit) = split_unit(amount).ok_or_else(wrong)?;
    let scale = match unit.trim_end() {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        _ => return Err(wrong()),
    };
    let seconds = match per.trim() {
        "s" | "sec" | "second" => 1.0,
        "m" | "min" | "minute" => 60.0,
        "h" | "hour" => 3600.0,
        _ => return Err(wrong()),
    };
    let rate = number * scale / seconds;
    if rate.is_finite() { Ok(rate) } else { Err(wrong()) }
}

/// A rate as one would type it: `20000/s`.
pub fn show_rate(per_second: f64) -> String {
    format!("{per_second}/s")
}

/// Reads a share of one: `2%`, `0.02`.
///
/// # Errors
/// When it is no share.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let wrong = || UnitError { text: text.to_owned(), what: "a share like 2% or 0.02" };
    match split_unit(text).ok_or_else(wrong)? {
        (number, "") => Ok(number),
        (number, "%") => Ok(number / 100.0),
        _ => Err(wrong()),
    }
}

/// A number of at least 0 and what follows it.
fn split_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..end].parse().ok()?;
    Some((number, text[end..].trim_start()))
}

/// Bytes for people, three digits: `1.50 GiB`.
pub fn show_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    let digits = match value {
        _ if unit == "B" => 0,
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// A length of time for people, in whole seconds and at most so many units: `2 min 15 s`, `3 h`, `2 days`.
pub fn show_duration(seconds: f64, units: usize) -> String {
    let all = seconds.max(0.0).round() as u64;
    let days = if all < 2 * 86_400 { "day" } else { "days" };
    let parts =
        [(all / 86_400, days), (all / 3600 % 24, "h"), (all / 60 % 60, "min"), (all % 60, "s")];
    let first = parts.iter().position(|(number, _)| *number > 0).unwrap_or(parts.len() - 1);
    let shown = parts[first..].iter().take(units).enumerate();
    let told = shown.filter(|(place, (number, _))| *place == 0 || *number > 0);
    told.map(|(_, (number, unit))| format!("{number} {unit}")).collect::<Vec<_>>().join(" ")
}

/// A time as one would type it: `1m 30s`, `200ms`.
pub fn show_time(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(text: &str) -> ByteSize {
        text.parse().unwrap()
    }

    #[test]
    fn moments_are_read() {
        let read = |text| parse_wall_time(text).map(|time| time.as_millis());
        assert_eq!(read("@1795383000").unwrap(), 1_795_383_000_000);
        assert_eq!(read(" @1.5").unwrap(), 1_500);
        for text in ["2026-11-22T21:30:00Z", "2026-11-22 21:30:00"] {
            assert_eq!(read(text).unwrap(), 1_795_383_000_000, "{text}");
        }
        for text in ["", "@", "@-1", "@nan", "@1e99", "21:30", "1960-01-01T00:00:00Z", "now"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_as_people_type_them() {
        assert_eq!(size("0"), ByteSize::Bytes(0));
        assert_eq!(size("512"), ByteSize::Bytes(512));
        assert_eq!(size("16KiB"), ByteSize::Bytes(16 << 10));
        assert_eq!(size("16k"), ByteSize::Bytes(16 << 10));
        assert_eq!(size("1.5G"), ByteSize::Bytes(3 << 29));
        assert_eq!(size("2 MB"), ByteSize::Bytes(2 << 20));
        assert_eq!(size("10b"), ByteSize::Bytes(10));
        assert_eq!(size("2x-pool"), ByteSize::TimesPool(2.0));
        assert_eq!(size("0.5x-pool").resolve_bytes(100), 50);
        for wrong in ["", "G", "-1", "1Q", "1..2G", "x-pool", "1ib", "99999999T", "1G1"] {
            assert!(wrong.parse::<ByteSize>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_as_people_type_them() {
        assert_eq!(parse_time("5"), Ok(Duration::from_secs(5)));
        assert_eq!(parse_time("0"), Ok(Duration::ZERO));
        assert_eq!(parse_time("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_time("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(parse_time("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("1.5h"), Ok(Duration::from_secs(5400)));
        for wrong in ["", "s", "-1s", "5 parsecs", "1e3s"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
        for long in ["99999999999h", "367d", "1e300d"] {
            assert!(parse_time(long).is_err(), "{long}");
        }
        let too_long = parse_time("9000h").unwrap_err().to_string();
        assert!(too_long.ends_with("is not a time of at most a year"), "{too_long}");
    }

    #[test]
    fn counts_as_people_type_them() {
        assert_eq!(parse_count("0"), Ok(0));
        assert_eq!(parse_count("20_000"), Ok(20_000));
        assert_eq!(parse_count("1.1M"), Ok(1_100_000));
        assert_eq!(parse_count("18446744073709551615"), Ok(u64::MAX));
        for wrong in ["", "-1", "1.5", "k", "0.0001k", "1MB"] {
            assert!(parse_count(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_as_people_type_them() {
        assert_eq!(parse_rate("500"), Ok(500.0));
        assert_eq!(parse_rate("20k/s"), Ok(20_000.0));
        assert_eq!(parse_rate("0.5"), Ok(0.5));
        assert_eq!(parse_rate("2e3"), Ok(2000.0));
        assert_eq!(parse_rate("300/m"), Ok(5.0));
        assert_eq!(parse_rate("1.5 M / sec"), Ok(1_500_000.0));
        for wrong in ["", "0", "-5", "k", "5/x", "5//s", "5s", "inf", "nan"] {
            let message = parse_rate(wrong).unwrap_err().to_string();
            assert!(message.contains("a rate like"), "{message}");
        }
        assert_eq!(parse_rate_from_zero("0/s"), Ok(0.0));
        assert!(parse_rate_from_zero("-1").is_err());
    }

    #[test]
    fn sizes_for_people() {
        assert_eq!(show_bytes(17), "17 B");
        assert_eq!(show_bytes(1536), "1.50 KiB");
        assert_eq!(show_bytes(256 << 20), "256 MiB");
        assert_eq!(ByteSize::Bytes(3 << 29).to_string(), "1536M");
    }

    #[test]
    fn durations_for_people() {
        for (seconds, units, text) in [
            (0.0, 2, "0 s"),
            (59.4, 2, "59 s"),
            (75.0, 2, "1 min 15 s"),
            (600.0, 2, "10 min"),
            (7380.0, 2, "2 h 3 min"),
            (3725.0, 3, "1 h 2 min 5 s"),
            (7199.0, 1, "1 h"),
            (90_000.0, 2, "1 day 1 h"),
            (200_000.0, 1, "2 days"),
        ] {
            assert_eq!(show_duration(seconds, units), text);
        }
    }

    proptest! {
        #[test]
        fn a_size_survives_being_written(bytes in 0..9_000_000_000_000_000_000_u64) {
            prop_assert_eq!(size(&ByteSize::Bytes(bytes).to_string()), ByteSize::Bytes(bytes));
        }
        #[test]
        fn a_time_survives_being_written(ns in 0..1_000_000_000_000_000_u64) {
            let time = Duration::from_nanos(ns);
            prop_assert_eq!(parse_time(&show_time(time)), Ok(time));
        }
        #[test]
        fn a_rate_survives_being_written(rate in 1e-6..1e9) {
            prop_assert_eq!(parse_rate(&show_rate(rate)), Ok(rate));
        }
        #[test]
        fn a_count_survives_being_written(count: u64) {
            prop_assert_eq!(parse_count(&count.to_string()), Ok(count));
        }
        #[test]
        fn no_text_makes_the_readers_panic(text in ".*") {
            let _ = text.parse::<ByteSize>();
            let _ = parse_time(&text);
            let _ = parse_count(&text);
            let _ = parse_rate(&text);
        }
    }
}
