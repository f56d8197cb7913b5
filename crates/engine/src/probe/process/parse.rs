//! Texts of `/proc/PID` to numbers. Pure; what makes no sense is passed over.

use super::super::host::parse::TICKS_PER_S;
use crate::probe::host::NamedNumbers;

/// `/proc/PID/stat`; empty if it makes no sense. The name in it may hold spaces and parentheses.
pub(super) fn parse_stat(text: &str) -> NamedNumbers {
    let Some((_, rest)) = text.rsplit_once(')') else { return Vec::new() };
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Field numbers as proc(5) counts them; the first word after the name is field 3.
    let field = |number: usize| words.get(number - 3).and_then(|w| w.parse::<f64>().ok());
    let all = [
        ("process.minor_faults", field(10), 1.0),
        ("process.major_faults", field(12), 1.0),
        ("process.cpu_user_s", field(14), TICKS_PER_S),
        ("process.cpu_system_s", field(15), TICKS_PER_S),
        ("process.threads", field(20), 1.0),
        ("process.started_after_boot_s", field(22), TICKS_PER_S),
    ];
    all.into_iter().filter_map(|(name, v, per)| v.map(|v| (name.to_owned(), v / per))).collect()
}

/// `/proc/PID/io`.
pub(super) fn parse_io(text: &str) -> NamedNumbers {
    parse_named_lines(text, |name| {
        Some(match name {
            "rchar" => ("process.asked_read_bytes", 1.0),
            "wchar" => ("process.asked_write_bytes", 1.0),
            "syscr" => ("process.read_calls", 1.0),
            "syscw" => ("process.write_calls", 1.0),
            "read_bytes" => ("process.read_bytes", 1.0),
            "write_bytes" => ("process.write_bytes", 1.0),
            _ => return None,
        })
    })
}

/// `/proc/PID/status`: memory.
pub(super) fn parse_status(text: &str) -> NamedNumbers {
    parse_named_lines(text, |name| {
        Some(match name {
            "VmRSS" => ("process.resident_bytes", 1024.0),
            "VmHWM" => ("process.peak_resident_bytes", 1024.0),
            "VmSwap" => ("process.swapped_bytes", 1024.0),
            "RssAnon" => ("process.anonymous_bytes", 1024.0),
            _ => return None,
        })
    })
}

/// `/proc/PID/task/TID/status`: times the thread gave up the CPU, and times it was taken away.
pub(super) fn parse_switches(text: &str) -> Option<(f64, f64)> {
    let found = parse_named_lines(text, |name| {
        Some(match name {
            "voluntary_ctxt_switches" => ("v", 1.0),
            "nonvoluntary_ctxt_switches" => ("n", 1.0),
            _ => return None,
        })
    });
    let value = |name: &str| found.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
    Some((value("v")?, value("n")?))
}

/// Lines `name: number ...`, by our names and times a factor.
fn parse_named_lines(text: &str, ours: fn(&str) -> Option<(&'static str, f64)>) -> NamedNumbers {
    let line = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let (name, factor) = ours(name)?;
        let value: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
        Some((name.to_owned(), value * factor))
    };
    text.lines().filter_map(line).collect()
}

/// `/proc/PID/task/TID/schedstat`: seconds on the CPU, seconds waiting for it.
pub(super) fn parse_schedstat(text: &str) -> Option<(f64, f64)> {
    let mut words = text.split_ascii_whitespace().map_while(|w| w.parse::<f64>().ok());
    Some((words.next()? / 1e9, words.next()? / 1e9))
}

/// `/proc/PID/stat` and the `btime` of `/proc/stat`: when the process began, seconds since 1970.
pub(super) fn started_unix_s(stat_text: &str, machine: &NamedNumbers) -> Option<f64> {
    let find = |numbers: &NamedNumbers, name: &str| {
        numbers.iter().find(|(n, _)| n == name).map(|(_, v)| *v)
    };
    let after_boot = find(&parse_stat(stat_text), "process.started_after_boot_s")?;
    Some(find(machine, "cpu.boot_unix_s")? + after_boot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::host::parse::parse_stat as machine_stat;
    use crate::probe::recorded::{assert_number, data};
    use proptest::prelude::*;

    #[test]
    fn a_real_process_is_read() {
        let numbers = parse_stat(data!("process-stat.txt"));
        assert_number(&numbers, "process.cpu_user_s", 0.04);
        assert_number(&numbers, "process.cpu_system_s", 0.05);
        assert_number(&numbers, "process.threads", 13.0);
        assert_number(&numbers, "process.started_after_boot_s", 2666.07);
        let status = parse_status(data!("process-status.txt"));
        assert_number(&status, "process.resident_bytes", 105_516.0 * 1024.0);
        assert_eq!(parse_io(data!("process-io.txt")).len(), 6);
        let text = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(parse_switches(text), Some((12.0, 3.0)));
        assert_eq!(parse_switches("voluntary_ctxt_switches:\t12\n"), None);
        let (ran, waited) = parse_schedstat(data!("process-schedstat.txt")).unwrap();
        assert!((ran - 0.076_850_066).abs() < 1e-12 && (waited - 0.004_867_328).abs() < 1e-12);
        let began =
            started_unix_s(data!("process-stat.txt"), &machine_stat("btime 1000\n")).unwrap();
        assert!((began - 3666.07).abs() < 1e-6);
    }

    #[test]
    fn any_name_may_stand_in_stat() {
        let text = "7 (a) R (b) S 1 7 7 0 -1 0 5 0 6 0 100 200 0 0 20 0 3 0 400 9 8";
        assert_number(&parse_stat(text), "process.cpu_user_s", 1.0);
        assert_number(&parse_stat(text), "process.started_after_boot_s", 4.0);
        assert!(parse_stat("").is_empty());
        assert!(parse_stat("7 (x) S 1").is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_a_reader_panic(text in "(VmRSS:|rchar:|7 \\(x\\))?[ -~\n]{0,200}") {
            let _ = (parse_stat(&text), parse_io(&text), parse_status(&text),
            parse_schedstat(&text));
            let _ = started_unix_s(&text, &machine_stat(&text));
        }
    }
}
