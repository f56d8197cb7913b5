//! Numbers as people read them: three significant digits, groups of three, a dash for what is not known.

pub use crate::base::calendar::format_utc;
use crate::base::units::show_duration;

/// What stands for a number that is not known.
pub const UNKNOWN: &str = "-";

/// A measured value with three significant digits; from 1000 on whole, in groups: `0.0712`, `5.12`, `29 839`.
pub fn format_number(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    let size = value.abs();
    if size >= 999.5 {
        return group_digits(value.round());
    }
    let decimals = match size {
        0.0 => 0,
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        s if s >= 0.09995 => 3,
        s if s >= 0.009_995 => 4,
        s if s >= 0.000_999_5 => 5,
        _ => 6,
    };
    format!("{value:.decimals$}")
}

/// The same for a value that may not be known.
pub fn number_or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), format_number)
}

/// A count, exact: `29 839`.
pub fn format_count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

fn group_digits(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", format_count(value.abs() as u64))
}

/// A length of time given in seconds, with the unit that suits it: `71.2 µs`, `5.12 s`, `4 min 10 s`.
pub fn format_time(seconds: f64) -> String {
    if !seconds.is_finite() {
        return UNKNOWN.to_owned();
    }
    match seconds.abs() {
        0.0 => "0 s".to_owned(),
        s if s < 999.5e-9 => format!("{} ns", format_number(seconds * 1e9)),
        s if s < 999.5e-6 => format!("{} µs", format_number(seconds * 1e6)),
        s if s < 0.9995 => format!("{} ms", format_number(seconds * 1e3)),
        s if s < 180.0 => format!("{} s", format_number(seconds)),
        s => show_duration(s, 4),
    }
}

/// The same for a time whose clock goes in steps (seconds): without digits that are finer than a step.
pub fn format_time_in_steps(seconds: f64, step_s: f64) -> String {
    let text = format_time(seconds);
    let Some((number, unit)) = text.split_once(' ') else { return text };
    let scale = match unit {
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        _ => return text,
    };
    let Some((_, decimals)) = number.split_once('.') else { return text };
    let kept = (0..=decimals.len()).rev().find(|kept| {
        let finest = scale * 10_f64.powi(-i32::try_from(*kept).unwrap_or(0));
        *kept == 0 || finest >= 10_f64.powf(step_s.log10().round()) * (1.0 - 1e-9)
    });
    format!("{:.*} {unit}", kept.unwrap_or(0), seconds / scale)
}

/// An amount of bytes with a binary unit: `489 MiB`.
pub fn format_bytes(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    let mut scaled = value;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if scaled.abs() < 999.5 {
            return format!("{} {unit}", format_number(scaled));
        }
        scaled /= 1024.0;
    }
    format!("{} TiB", format_number(scaled))
}

/// What a workload counts under this name; names of counters of bytes begin so.
pub fn format_counter(name: &str, value: f64) -> String {
    if name.starts_with("bytes") { format_bytes(value) } else { format_number(value) }
}

/// A ratio as people say it: `7.1x`.
pub fn format_ratio(ratio: f64) -> String {
    if !ratio.is_finite() {
        return UNKNOWN.to_owned();
    }
    match ratio {
        r if r >= 99.95 => format!("{}x", format_number(r)),
        r if r >= 1.995 => format!("{r:.1}x"),
        r => format!("{r:.2}x"),
    }
}

/// A share of one as percent: `0.12 %`.
pub fn format_percent(share: f64) -> String {
    if share.is_finite() {
        format!("{} %", format_number(share * 100.0))
    } else {
        UNKNOWN.to_owned()
    }
}

/// One thing or many: `1 error`, `3 errors`.
pub fn format_plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", format_count(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_no_digits_finer_than_the_clock() {
        let cases = [
            (30.1e-9, 10.036e-9, "30 ns"),
            (30.1e-9, 0.0, "30.1 ns"),
            (2.184e-6, 9.6e-9, "2.18 µs"),
            (2.184e-6, 1e-7, "2.2 µs"),
            (2.184e-6, 1e-6, "2 µs"),
            (6.02e-3, 1e-8, "6.02 ms"),
            (0.0, 1e-8, "0 s"),
        ];
        for (seconds, step, text) in cases {
            assert_eq!(format_time_in_steps(seconds, step), text, "{seconds} in steps of {step}");
        }
    }

    #[test]
    fn numbers_read_well() {
        for (value, expected) in [
            (0.0, "0"),
            (0.071_23, "0.0712"),
            (0.999_6, "1.00"),
            (5.123, "5.12"),
            (9.996, "10.0"),
            (41.26, "41.3"),
            (99.96, "100"),
            (412.4, "412"),
            (999.6, "1 000"),
            (29_839.4, "29 839"),
            (1_234_567.0, "1 234 567"),
            (-5.123, "-5.12"),
            (-29_839.0, "-29 839"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(format_number(value), expected, "{value}");
        }
        assert_eq!(number_or_dash(None), "-");
    }

    #[test]
    fn units_suit_the_size() {
        for (value, expected) in [
            (0.0, "0 s"),
            (71.2e-6, "71.2 µs"),
            (0.000_999_9, "1.00 ms"),
            (0.0123, "12.3 ms"),
            (5.12, "5.12 s"),
            (250.0, "4 min 10 s"),
            (3600.0, "1 h"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(format_time(value), expected);
        }
        assert_eq!(format_bytes(0.0), "0 B");
        assert_eq!(format_bytes(16384.0), "16.0 KiB");
        assert_eq!(format_bytes(512_753_664.0), "489 MiB");
        assert_eq!(format_bytes(1.6e9), "1.49 GiB");
        assert_eq!(format_ratio(7.111), "7.1x");
        assert_eq!(format_ratio(1.02), "1.02x");
        assert_eq!(format_percent(0.001_23), "0.123 %");
        assert_eq!(format_plural(1, "error", "errors"), "1 error");
        assert_eq!(format_plural(20_000, "event", "events"), "20 000 events");
    }
}
