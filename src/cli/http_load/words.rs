//! The words of http_load: options with one dash, each of which may be cut to its first letters.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::plan::{MOST_WORKERS, Mistake};

/// When fetches begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FetchPace {
    /// So many at once.
    Parallel(usize),
    /// So many per second.
    Rate(f64),
}

/// When the load ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FetchEnd {
    Fetches(u64),
    Time(Duration),
}

/// What was asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FetchWords {
    pub(super) pace: FetchPace,
    pub(super) end: FetchEnd,
    pub(super) file: PathBuf,
    pub(super) checksum: bool,
    pub(super) verbose: bool,
    pub(super) timeout: Duration,
    /// Whether starts may be off by a tenth of the time between them.
    pub(super) jitter: bool,
    /// Options that change nothing.
    pub(super) ignored: Vec<String>,
    pub(super) allowed: Vec<String>,
    pub(super) ca: Option<PathBuf>,
    pub(super) insecure: bool,
}

/// All options, in the order in which a beginning is looked for, and whether a value follows.
const OPTIONS: &[(&str, bool)] = &[
    ("-checksum", false),
    ("-throttle", false),
    ("-verbose", false),
    ("-parallel", true),
    ("-rate", true),
    ("-jitter", false),
    ("-fetches", true),
    ("-seconds", true),
    ("-timeout", true),
    ("-sip", true),
    ("-cipher", true),
    ("-proxy", true),
    ("--allow-target", true),
    ("--ca", true),
    ("--insecure", false),
];

impl FetchWords {
    /// Reads the words.
    ///
    /// # Errors
    /// The first mistake.
    pub(super) fn from_args(words: &[String]) -> Result<FetchWords, Mistake> {
        let (mut pace, mut end, mut file) = (None, None, None);
        let mut found = FetchWords {
            pace: FetchPace::Parallel(1),
            end: FetchEnd::Fetches(0),
            file: PathBuf::new(),
            checksum: false,
            verbose: false,
            timeout: Duration::from_secs(60),
            jitter: false,
            ignored: Vec::new(),
            allowed: Vec::new(),
            ca: None,
            insecure: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if !word.starts_with('-') || word == "-" {
                if file.replace(PathBuf::from(word)).is_some() {
                    return Err(Mistake::new(word, "a second file of URLs"));
                }
                continue;
            }
            let (name, has_value, attached) = find_option(word)
                .ok_or_else(|| Mistake::new(word, "http_load has no such option"))?;
            let value = match (has_value, attached) {
                (false, _) => "",
                (true, Some(value)) => value,
                (true, None) => {
                    words.next().ok_or_else(|| Mistake::new(name, "a value is missing"))?
                }
            };
            match name {
                "-checksum" => found.checksum = true,
                "-verbose" => found.verbose = true,
                "-parallel" => {
                    let count: u64 = read_number(name, value, 1.0)?;
                    let fits = count <= MOST_WORKERS;
                    let workers = usize::try_from(count).ok().filter(|_| fits);
                    let workers = workers.ok_or_else(|| {
                        Mistake::new(name, format!("at most {MOST_WORKERS} at once"))
                    })?;
                    set_once(&mut pace, FetchPace::Parallel(workers), "-parallel or -rate")?;
                }
                "-rate" => {
                    let rate = read_number(name, value, f64::MIN_POSITIVE)?;
                    set_once(&mut pace, FetchPace::Rate(rate), "-parallel or -rate")?;
                }
                "-fetches" => {
                    let count = read_number(name, value, 1.0)?;
                    set_once(&mut end, FetchEnd::Fetches(count), "-fetches or -seconds")?;
                }
                "-seconds" => {
                    let time = read_seconds(name, value)?;
                    set_once(&mut end, FetchEnd::Time(time), "-fetches or -seconds")?;
                }
                "-jitter" => found.jitter = true,
                "-timeout" => found.timeout = read_seconds(name, value)?,
                "-proxy" => return Err(Mistake::new(name, "proxies are not supported")),
                "--allow-target" => found.allowed.push(value.to_owned()),
                "--ca" => found.ca = Some(PathBuf::from(value)),
                "--insecure" => found.insecure = true,
                other => found.ignored.push(other.to_owned()),
            }
        }
        let missing = |what: &str| Mistake::new("http_load", format!("{what} is missing"));
        found.pace = pace.ok_or_else(|| missing("-parallel or -rate"))?;
        found.check_jitter()?;
        found.end = end.ok_or_else(|| missing("-fetches or -seconds"))?;
        found.file = file.ok_or_else(|| missing("the file of URLs"))?;
        Ok(found)
    }

    fn check_jitter(&self) -> Result<(), Mistake> {
        match (self.jitter, self.pace) {
            (true, FetchPace::Parallel(_)) => Err(Mistake::new("-jitter", "it needs -rate")),
            _ => Ok(()),
        }
    }
}

/// The option that a word means, cut or whole: its name, whether it takes a value, and the value that is attached.
fn find_option(word: &str) -> Option<(&'static str, bool, Option<&str>)> {
    let (typed, attached) = match word.split_once('=') {
        Some((typed, value)) if typed.starts_with("--") => (typed, Some(value)),
        _ => (word, None),
    };
    let is_meant = |name: &str| match name.starts_with("--") {
        true => name == typed,
        false => typed.len() > 1 && name.starts_with(typed),
    };
    let (name, has_value) = OPTIONS.iter().find(|(name, _)| is_meant(name))?;
    Some((name, *has_value, attached))
}

fn set_once<T>(slot: &mut Option<T>, value: T, names: &str) -> Result<(), Mistake> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Mistake::new("http_load", format!("{names}: give one, once"))),
    }
}

fn read_number<N: FromStr>(name: &str, text: &str, least: f64) -> Result<N, Mistake> {
    let fits = text.parse::<f64>().is_ok_and(|number| number >= least && number.is_finite());
    let number = text.parse().ok().filter(|_| fits);
    number.ok_or_else(|| Mistake::new(name, format!("`{text}` is not a number from 1")))
}

fn read_seconds(name: &str, text: &str) -> Result<Duration, Mistake> {
    let seconds: f64 = read_number(name, text, 1e-3)?;
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| Mistake::new(name, format!("`{text}` is not a number of seconds")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<FetchWords, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        FetchWords::from_args(&words).map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn options_may_be_cut() {
        let long = read("-parallel 5 -fetches 100 -checksum urls").unwrap();
        assert_eq!(read("-p 5 -f 100 -c urls").unwrap(), long);
        assert_eq!((long.pace, long.end), (FetchPace::Parallel(5), FetchEnd::Fetches(100)));
        let rate = read("-r 700 -sec 1.5 -timeout 3 -verb urls -j -t").unwrap();
        assert_eq!((rate.pace, rate.timeout), (FetchPace::Rate(700.0), Duration::from_secs(3)));
        assert_eq!(rate.end, FetchEnd::Time(Duration::from_millis(1500)));
        assert_eq!((rate.jitter, rate.ignored), (true, vec!["-throttle".to_owned()]));
        let own = read("-p 1 -f 1 --allow-target=a --allow-target b --insecure urls").unwrap();
        assert!(own.allowed == ["a", "b"] && own.insecure);
    }

    #[test]
    fn mistakes_are_named() {
        for (line, why) in [
            ("", "-parallel or -rate is missing"),
            ("-p 5", "-fetches or -seconds is missing"),
            ("-p 5 -f 5", "the file of URLs is missing"),
            ("-p 5 -r 5 -f 5 u", "give one, once"),
            ("-p 0 -f 5 u", "`0` is not a number"),
            ("-p 5 -f x u", "`x` is not a number"),
            ("-p 5 -s -1 u", "`-1` is not a number"),
            ("-p 5 -f 5 -j u", "needs -rate"),
            ("-x 5", "no such option"),
            ("-p", "a value is missing"),
            ("-p 5 -f 5 a b", "a second file"),
            ("-proxy h:1 -p 5 -f 5 u", "proxies are not supported"),
        ] {
            let found = read(line).unwrap_err();
            assert!(found.contains(why), "{line}: {found}");
        }
    }
}
