//! Times as logs write them.

/// `2026-11-21T07:12:09.637423Z`, `2026-11-21T09:12:09.637423+02:00` or, in the server's own time zone, which is
/// not known and taken for UTC, `261121  7:12:04`: microseconds since 1970.
pub(super) fn parse_time_us(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    if text.get(4) == Some(&b'-') { parse_iso_us(text) } else { parse_short_us(text) }
}

fn parse_iso_us(text: &[u8]) -> Option<u64> {
    let part = |from: usize, to: usize| parse_digits(text.get(from..to)?);
    let is_right = text.get(7) == Some(&b'-')
        && matches!(text.get(10), Some(b'T' | b' '))
        && text.get(13) == Some(&b':')
        && text.get(16) == Some(&b':');
    if !is_right {
        return None;
    }
    let seconds = seconds_since_1970(part(0, 4)?, part(5, 7)?, part(8, 10)?)?
        + (part(11, 13)? * 60 + part(14, 16)?) * 60
        + part(17, 19)?;
    let mut rest = text.get(19..)?;
    let mut micros = 0;
    if let Some(after) = rest.strip_prefix(b".") {
        let length = after.iter().take_while(|b| b.is_ascii_digit()).count();
        let mut unit = 100_000;
        for digit in &after[..length] {
            micros += i64::from(digit - b'0') * unit;
            unit /= 10;
        }
        rest = &after[length..];
    }
    let shift = match rest {
        b"" | b"Z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let minutes = parse_digits(&[*h1, *h2])? * 60 + parse_digits(&[*m1, *m2])?;
            if *sign == b'+' { -minutes * 60 } else { minutes * 60 }
        }
        _ => return None,
    };
    u64::try_from((seconds + shift) * 1_000_000 + micros).ok()
}

/// `YYMMDD hh:mm:ss`, with a blank for the hour's first digit.
fn parse_short_us(text: &[u8]) -> Option<u64> {
    let day = text.get(..6)?;
    let mut clock = text.get(6..)?.trim_ascii().split(|b| *b == b':');
    let (hours, minutes, seconds) = (clock.next()?, clock.next()?, clock.next()?);
    let days = seconds_since_1970(
        2_000 + parse_digits(&day[..2])?,
        parse_digits(&day[2..4])?,
        parse_digits(&day[4..])?,
    )?;
    let seconds =
        days + (parse_digits(hours)? * 60 + parse_digits(minutes)?) * 60 + parse_digits(seconds)?;
    u64::try_from(seconds * 1_000_000).ok()
}

fn parse_digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 4 {
        return None;
    }
    text.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
}

/// Seconds from 1970 to the begin of a day.
fn seconds_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year < 1970 {
        return None;
    }
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    Some((days - 719_468) * 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_to_write_a_time() {
        assert_eq!(parse_time_us(b"1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse_time_us(b"2026-11-21T07:12:09.637423Z"), Some(1_795_245_129_637_423));
        assert_eq!(parse_time_us(b"2026-11-21T09:12:09.637423+02:00"), Some(1_795_245_129_637_423));
        assert_eq!(parse_time_us(b"2026-11-21T01:42:09-05:30"), Some(1_795_245_129_000_000));
        assert_eq!(parse_time_us(b"261121  7:12:09"), Some(1_795_245_129_000_000));
        assert_eq!(parse_time_us(b"000229 23:59:59"), Some(951_868_799_000_000));
        for wrong in [&b"x"[..], b"", b"2026-13-01T00:00:00Z", b"261321  7:12:09", b"2026-11-21T"] {
            assert_eq!(parse_time_us(wrong), None);
        }
    }
}
