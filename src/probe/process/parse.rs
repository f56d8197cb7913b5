//! Texts of `/proc/PID` to numbers. Pure; what makes no sense is passed over.

use super::super::host::parse::TICKS_PER_S;
use crate::probe::host::Numbers;

/// `/proc/PID/stat`; empty if it makes no sense. The name in it may hold spaces and parentheses.
pub(super) fn stat(text: &str) -> Numbers {
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
pub(super) fn io(text: &str) -> Numbers {
    named(text, |name| {
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
pub(super) fn status(text: &str) -> Numbers {
    named(text, |name| {
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
pub(super) fn switches(text: &str) -> Option<(f64, f64)> {
    let found = named(text, |name| {
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
fn named(text: &str, ours: fn(&str) -> Option<(&'static str, f64)>) -> Numbers {
    let line = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let (name, factor) = ours(name)?;
        let value: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
        Some((name.to_owned(), value * factor))
    };
    text.lines().filter_map(line).collect()
}

/// `/proc/PID/task/TID/schedstat`: seconds on the CPU, seconds waiting for it.
pub(super) fn schedstat(text: &str) -> Option<(f64, f64)> {
    let mut words = text.split_ascii_whitespace().map_while(|w| w.parse::<f64>().ok());
    Some((words.next()? / 1e9, words.next()? / 1e9))
}

/// `/proc/PID/stat` and the `btime` of `/proc/stat`: when the process began, seconds since 1970.
pub(super) fn began_unix_s(stat_text: &str, machine: &Numbers) -> Option<f64> {
    let find =
        |numbers: &Numbers, name: &str| numbers.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
    let after_boot = find(&stat(stat_text), "process.started_after_boot_s")?;
    Some(find(machine, "cpu.boot_unix_s")? + after_boot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::host::parse::stat as machine_stat;
    use crate::probe::recorded::{check, data};
    use proptest::prelude::*;

    #[test]
    fn a_real_process_is_read() {
        let numbers = stat(data!("process-stat.txt"));
        check(&numbers, "process.cpu_user_s", 0.04);
        check(&numbers, "process.cpu_system_s", 0.05);
        check(&numbers, "process.threads", 13.0);
        check(&numbers, "process.started_after_boot_s", 2666.07);
        let status = status(data!("process-status.txt"));
        check(&status, "process.resident_bytes", 105_516.0 * 1024.0);
        assert_eq!(io(data!("process-io.txt")).len(), 6);
        let text = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches(text), Some((12.0, 3.0)));
        assert_eq!(switches("voluntary_ctxt_switches:\t12\n"), None);
        let (ran, waited) = schedstat(data!("process-schedstat.txt")).unwrap();
        assert!((ran - 0.076_850_066).abs() < 1e-12 && (waited - 0.004_867_328).abs() < 1e-12);
        let began = began_unix_s(data!("process-stat.txt"), &machine_stat("btime 1000\n")).unwrap();
        assert!((began - 3666.07).abs() < 1e-6);
    }

    #[test]
    fn any_name_may_stand_in_stat() {
        let text = "7 (a) R (b) S 1 7 7 0 -1 0 5 0 6 0 100 200 0 0 20 0 3 0 400 9 8";
        check(&stat(text), "process.cpu_user_s", 1.0);
        check(&stat(text), "process.started_after_boot_s", 4.0);
        assert!(stat("").is_empty());
        assert!(stat("7 (x) S 1").is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_a_reader_panic(text in "(VmRSS:|rchar:|7 \\(x\\))?[ -~\n]{0,200}") {
            let _ = (stat(&text), io(&text), status(&text), schedstat(&text));
            let _ = began_unix_s(&text, &machine_stat(&text));
        }
    }
}
