//! What holds for every test: the common options checked, with the old names of some of them.

use std::time::Duration;

use super::console::{SysbenchConsole, print_now};
use super::reader::{SysbenchWords, read_lax_number, read_size};
use crate::base::distribution::Distribution;
use crate::report::sysbench::{RunPreamble, SysbenchStyle};

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputFormat {
    Text,
    Json,
    Csv,
    Html,
}

/// The common options, checked.
#[derive(Debug)]
pub(super) struct CommonSettings {
    pub(super) console: SysbenchConsole,
    pub(super) threads: usize,
    /// 0 for no limit.
    pub(super) events: u64,
    /// Seconds; 0 for no limit.
    pub(super) time_s: u64,
    pub(super) warmup_s: u64,
    /// Events per second; 0 for a closed loop.
    pub(super) rate: i64,
    /// Zero for none.
    pub(super) report_interval: Duration,
    /// Seconds since the start.
    pub(super) checkpoints: Vec<u64>,
    /// None to disable.
    pub(super) percentiles: Vec<f64>,
    pub(super) histogram: bool,
    /// Seconds after the limit of time at which the load is cut.
    pub(super) forced_shutdown_s: Option<u64>,
    pub(super) init_timeout_s: u64,
    pub(super) seed: u64,
    /// Which rows are drawn more often.
    pub(super) rand_type: String,
    pub(super) strict: bool,
    pub(super) style: SysbenchStyle,
    pub(super) format: OutputFormat,
    /// Whether intervals show the time on the wall clock.
    pub(super) timestamps: bool,
    /// What stands above a run.
    pub(super) preamble: RunPreamble,
}

/// Limits that hold where none was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct DefaultLimits {
    /// Seconds.
    pub(super) time_s: u64,
    pub(super) events: u64,
}

impl CommonSettings {
    /// Checks the options; `None` where one of them can't be, which was said.
    pub(super) fn from_words(
        words: &SysbenchWords,
        limits: DefaultLimits,
    ) -> Option<CommonSettings> {
        let verbosity = words.int("verbosity");
        if !(0..=5).contains(&verbosity) {
            print_now(&format!("Invalid value for verbosity: {}\n", verbosity as u8));
            return None;
        }
        let console = SysbenchConsole::new(verbosity, words.is_on("debug"));
        check_settings(words, console, limits).map_err(|fatal| console.print_fatal(&fatal)).ok()
    }
}

/// The settings, or what is fatal about them.
fn check_settings(
    words: &SysbenchWords,
    console: SysbenchConsole,
    limits: DefaultLimits,
) -> Result<CommonSettings, String> {
    let percentiles = read_percentiles(words.text("percentile"))?;
    let histogram = words.is_on("histogram");
    if histogram && percentiles.is_empty() {
        return Err("--histogram cannot be used with --percentile=0".to_owned());
    }
    let rand_type = match words.given("rand-type") {
        None if words.style() == SysbenchStyle::V1_1 => "uniform",
        _ => words.text("rand-type"),
    };
    if !Distribution::NAMES.contains(&rand_type) {
        return Err(format!("Invalid random numbers distribution: {rand_type}."));
    }
    let OldLimits { threads, events, time, rate } = read_limits(words, console, limits);
    match threads {
        0 => return Err(format!("Invalid value for --threads: {threads}.\n")),
        ..0 => return Err("Memory allocation failure.\n".to_owned()),
        _ => {}
    }
    if read_size(words.text("thread-stack-size")) == 0 {
        return Err("Invalid value for thread-stack-size: 0.\n".to_owned());
    }
    let forced = read_forced_shutdown(words.text("forced-shutdown"), time)?;
    let checkpoints = read_checkpoints(&words.list("report-checkpoints"))?;
    let format = read_format(words)?;
    let every = words.text("report-interval");
    let every_s = match read_lax_number(every) {
        // A page shows the load over time.
        0.0 if format == OutputFormat::Html => 1.0,
        seconds => seconds,
    };
    let warmup_s = words.int("warmup-time").max(0);
    let preamble = RunPreamble {
        threads,
        warmup_s,
        rate,
        report_interval: if every_s == 0.0 { String::new() } else { every.to_owned() },
        checkpoints: checkpoints.clone(),
        debug: words.is_on("debug"),
        validate: words.is_on("validate"),
        seed: words.int("rand-seed"),
        forced_shutdown_s: forced,
    };
    let positive = |value: i64| u64::try_from(value).unwrap_or(0);
    Ok(CommonSettings {
        console,
        threads: positive(threads) as usize,
        events: positive(events),
        time_s: positive(time),
        warmup_s: positive(warmup_s),
        rate,
        report_interval: Duration::try_from_secs_f64(every_s).unwrap_or_default(),
        checkpoints,
        percentiles,
        histogram,
        forced_shutdown_s: forced.map(|at| positive(at.saturating_sub(time))),
        init_timeout_s: positive(words.int("thread-init-timeout")).max(1),
        seed: positive(words.int("rand-seed")),
        rand_type: rand_type.to_owned(),
        strict: words.is_strict(),
        style: words.style(),
        format,
        timestamps: words.is_on("report-timestamps"),
        preamble,
    })
}

/// Limits by today's names or by the old ones, as they were given.
struct OldLimits {
    threads: i64,
    events: i64,
    time: i64,
    rate: i64,
}

fn read_limits(
    words: &SysbenchWords,
    console: SysbenchConsole,
    limits: DefaultLimits,
) -> OldLimits {
    let renamed = |old: &str, new: &str, is_set: fn(i64) -> bool| {
        let value = words.int(old);
        if !is_set(value) {
            return None;
        }
        console.print_warning(&format!("--{old} is deprecated, use --{new} instead"));
        Some(value)
    };
    let threads = renamed("num-threads", "threads", |count| count != 1)
        .unwrap_or_else(|| words.int("threads"));
    let given = |name: &str| words.given(name).map(|_| words.int(name));
    let events = renamed("max-requests", "events", |count| count > 0)
        .or_else(|| given("events"))
        .or_else(|| words.given("max-requests").map(|_| 0))
        .unwrap_or(limits.events as i64);
    // An old name with 0 changes nothing where the limit is the one of today.
    let is_old = limits.time_s == 0;
    let time = renamed("max-time", "time", |seconds| seconds > 0)
        .or_else(|| given("time"))
        .or_else(|| words.given("max-time").filter(|_| is_old).map(|_| 0))
        .unwrap_or(limits.time_s as i64);
    let rate = renamed("tx-rate", "rate", |rate| rate != 0).unwrap_or_else(|| words.int("rate"));
    OldLimits { threads, events, time, rate }
}

fn read_format(words: &SysbenchWords) -> Result<OutputFormat, String> {
    if !["1.0", "1.1"].contains(&words.text("report-style")) {
        let given = words.text("report-style");
        return Err(format!("Invalid value for --report-style: '{given}'"));
    }
    match words.text("format") {
        "text" => Ok(OutputFormat::Text),
        "json" => Ok(OutputFormat::Json),
        "csv" => Ok(OutputFormat::Csv),
        "html" => Ok(OutputFormat::Html),
        other => Err(format!("Invalid value for --format: '{other}'")),
    }
}

/// `95`, `99.9`, `50,95,99.9`; nothing for `0`.
fn read_percentiles(text: &str) -> Result<Vec<f64>, String> {
    let list: Vec<f64> = text.split(',').map(read_lax_number).collect();
    match list.iter().find(|percentile| !(0.0..=100.0).contains(*percentile)) {
        Some(wrong) => Err(format!("Invalid value for --percentile: {wrong}")),
        None => Ok(list.into_iter().filter(|percentile| *percentile > 0.0).collect()),
    }
}

/// When a load is cut: seconds, or percent of the limit, after the limit.
fn read_forced_shutdown(text: &str, time: i64) -> Result<Option<i64>, String> {
    if text.eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    let wrong = || format!("Invalid value for --forced-shutdown: '{text}'");
    let after = match text.strip_suffix('%') {
        Some(percent) => time * percent.parse::<i64>().map_err(|_| wrong())? / 100,
        None if text.is_empty() => 0,
        None => text.parse::<i64>().map_err(|_| wrong())?,
    };
    Ok((time > 0).then_some(time + after))
}

fn read_checkpoints(list: &[&str]) -> Result<Vec<u64>, String> {
    let read = |text: &&str| {
        text.parse::<u64>().map_err(|_| format!("Invalid value for --report-checkpoints: '{text}'"))
    };
    let mut checkpoints = list.iter().map(read).collect::<Result<Vec<u64>, String>>()?;
    checkpoints.sort_unstable();
    Ok(checkpoints)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: DefaultLimits = DefaultLimits { time_s: 10, events: 0 };
    const BOOK: DefaultLimits = DefaultLimits { time_s: 0, events: 10_000 };

    fn settings(line: &str, limits: DefaultLimits) -> Result<CommonSettings, String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let words = SysbenchWords::from_args(&args).unwrap();
        check_settings(&words, SysbenchConsole::new(0, false), limits)
    }

    fn fatal(line: &str) -> String {
        settings(line, TODAY).err().unwrap()
    }

    #[test]
    fn what_cannot_be_is_said_as_sysbench_says_it() {
        assert_eq!(fatal("--threads=0"), "Invalid value for --threads: 0.\n");
        assert_eq!(fatal("--percentile=101"), "Invalid value for --percentile: 101");
        assert_eq!(
            fatal("--histogram --percentile=0"),
            "--histogram cannot be used with --percentile=0"
        );
        assert_eq!(fatal("--rand-type=foo"), "Invalid random numbers distribution: foo.");
        assert_eq!(fatal("--forced-shutdown=x"), "Invalid value for --forced-shutdown: 'x'");
        assert_eq!(
            fatal("--report-checkpoints=1,a"),
            "Invalid value for --report-checkpoints: 'a'"
        );
        assert_eq!(fatal("--thread-stack-size=1X"), "Invalid value for thread-stack-size: 0.\n");
    }

    #[test]
    fn old_names_hold_with_the_limits_of_their_time() {
        let old = settings("--num-threads=8 --max-time=60 --max-requests=0", BOOK).unwrap();
        assert_eq!((old.threads, old.time_s, old.events), (8, 60, 0));
        let old = settings("", BOOK).unwrap();
        assert_eq!((old.time_s, old.events), (0, 10_000));
        let new = settings("--max-time=0 --max-requests=0 --events=5", TODAY).unwrap();
        assert_eq!((new.time_s, new.events), (10, 5));
        let both = settings("--tx-rate=100 --rate=200 --max-time=3 --time=2", TODAY).unwrap();
        assert_eq!((both.rate, both.time_s), (100, 3));
    }

    #[test]
    fn percentiles_and_intervals_may_have_fractions() {
        let found = settings("--percentile=50,95,99.9 --report-interval=0.5", TODAY).unwrap();
        assert_eq!(found.percentiles, [50.0, 95.0, 99.9]);
        assert_eq!(found.report_interval, Duration::from_millis(500));
        assert!(settings("--percentile=0", TODAY).unwrap().percentiles.is_empty());
        let cut = settings("--forced-shutdown=10%", TODAY).unwrap();
        assert_eq!((cut.preamble.forced_shutdown_s, cut.forced_shutdown_s), (Some(11), Some(1)));
        assert_eq!(settings("--report-checkpoints=2,1", TODAY).unwrap().checkpoints, [1, 2]);
    }
}
