//! The words of ab: letters as getopt reads them, with the value attached or behind.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::base::Secret;
use crate::client::HttpUrl;
use crate::plan::{MOST_WORKERS, Mistake};

/// Letters with a value, and without.
const WITH_VALUE: &str = "nctsbTpuvmPAgXeBZfHCxyzE";
const ALONE: &str = "klriqdSVIhw";
/// Letters whose values are secrets.
const SECRET: &str = "APC";
/// Requests where only a time is given.
const TIMED_REQUESTS: u64 = 50_000;

/// What was asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AbWords {
    pub(super) url: HttpUrl,
    pub(super) requests: u64,
    pub(super) concurrency: usize,
    pub(super) time: Option<Duration>,
    pub(super) timeout: Duration,
    pub(super) keep_alive: bool,
    pub(super) lengths_vary: bool,
    pub(super) method: String,
    pub(super) body_file: Option<PathBuf>,
    pub(super) content_type: String,
    pub(super) fields: Vec<Secret>,
    pub(super) login: Option<Secret>,
    pub(super) percentages_file: Option<PathBuf>,
    pub(super) gnuplot_file: Option<PathBuf>,
    pub(super) no_percentages: bool,
    pub(super) no_deviation: bool,
    pub(super) allowed: Vec<String>,
    pub(super) ca: Option<PathBuf>,
    pub(super) insecure: bool,
}

/// A letter or a long name with its value, or a bare word.
enum AbWord<'a> {
    Letter(char, &'a str),
    Long(&'a str, &'a str),
    Bare(&'a str),
}

/// Takes the words apart; `told` hears each with the place of its value: in which word, at which byte.
///
/// # Errors
/// A letter that ab has not, or one whose value is missing.
fn split_words<'a>(
    words: &'a [String],
    told: &mut dyn FnMut(AbWord<'a>, (usize, usize)),
) -> Result<(), Mistake> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let next = words.get(at + 1);
        let missing = |name: &str| Mistake::new(name.to_owned(), "a value is missing");
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            match (name, value) {
                ("insecure", _) => told(AbWord::Long(name, ""), (at, 0)),
                (_, Some(value)) => told(AbWord::Long(name, value), (at, 0)),
                (_, None) => {
                    at += 1;
                    told(AbWord::Long(name, next.ok_or_else(|| missing(word))?), (at, 0));
                }
            }
            at += 1;
            continue;
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            told(AbWord::Bare(word), (at, 0));
            at += 1;
            continue;
        };
        for (place, letter) in letters.char_indices() {
            let rest = &letters[place + letter.len_utf8()..];
            if ALONE.contains(letter) {
                told(AbWord::Letter(letter, ""), (at, 0));
                continue;
            }
            if !WITH_VALUE.contains(letter) {
                return Err(Mistake::new(format!("-{letter}"), "ab has no such option"));
            }
            if rest.is_empty() {
                let value = next.ok_or_else(|| missing(&format!("-{letter}")))?;
                at += 1;
                told(AbWord::Letter(letter, value), (at, 0));
            } else {
                told(AbWord::Letter(letter, rest), (at, word.len() - rest.len()));
            }
            break;
        }
        at += 1;
    }
    Ok(())
}

/// Where secrets stand among the words.
pub(super) fn secret_places(words: &[String]) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    // What is wrong with the words is told when they are read.
    let _ = split_words(words, &mut |word, place| match word {
        AbWord::Letter(letter, _) if SECRET.contains(letter) => places.push(place),
        AbWord::Letter('H', field) => {
            let at = crate::plan::field_secret_at(field);
            places.extend(at.map(|at| (place.0, place.1 + at)));
        }
        _ => {}
    });
    places
}

impl AbWords {
    /// Reads the words.
    ///
    /// # Errors
    /// The first mistake.
    pub(super) fn from_args(words: &[String]) -> Result<AbWords, Mistake> {
        let mut list = Vec::new();
        split_words(words, &mut |word, _| list.push(word))?;
        let mut urls = list.iter().filter_map(|word| match word {
            AbWord::Bare(url) => Some(*url),
            _ => None,
        });
        let text = urls.next().ok_or_else(|| Mistake::new("URL", "it is missing"))?;
        if urls.next().is_some() {
            return Err(Mistake::new("URL", "ab takes one"));
        }
        let with_scheme =
            if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = HttpUrl::from_text(&with_scheme)
            .map_err(|why| Mistake::new("URL", why).hint("as in http://localhost:8080/"))?;
        if with_scheme.splitn(4, '/').nth(3).is_none() {
            return Err(Mistake::new("URL", "it has no path").hint(format!("{text}/")));
        }
        let mut found = AbWords::new(url);
        for word in list {
            match word {
                AbWord::Letter(letter, value) => found.take_letter(letter, value)?,
                AbWord::Long("allow-target", value) => found.allowed.push(value.to_owned()),
                AbWord::Long("ca", value) => found.ca = Some(PathBuf::from(value)),
                AbWord::Long("insecure", _) => found.insecure = true,
                AbWord::Long(name, _) => {
                    return Err(Mistake::new(format!("--{name}"), "ab has no such option"));
                }
                AbWord::Bare(_) => {}
            }
        }
        if found.requests < found.concurrency as u64 {
            let why = "there can't be fewer requests than are made at once";
            return Err(Mistake::new("-n", why).hint(format!("-n {}", found.concurrency)));
        }
        Ok(found)
    }

    fn new(url: HttpUrl) -> AbWords {
        AbWords {
            url,
            requests: 1,
            concurrency: 1,
            time: None,
            timeout: Duration::from_secs(30),
            keep_alive: false,
            lengths_vary: false,
            method: "GET".to_owned(),
            body_file: None,
            content_type: "text/plain".to_owned(),
            fields: Vec::new(),
            login: None,
            percentages_file: None,
            gnuplot_file: None,
            no_percentages: false,
            no_deviation: false,
            allowed: Vec::new(),
            ca: None,
            insecure: false,
        }
    }

    fn take_letter(&mut self, letter: char, value: &str) -> Result<(), Mistake> {
        let path = || Some(PathBuf::from(value));
        match letter {
            'n' => self.requests = read_count(letter, value, u64::MAX)?,
            'c' => self.concurrency = read_count(letter, value, MOST_WORKERS)? as usize,
            't' => {
                self.time = Some(Duration::from_secs(read_count(letter, value, 1 << 32)?));
                self.requests = TIMED_REQUESTS;
            }
            's' => self.timeout = Duration::from_secs(read_count(letter, value, 1 << 32)?),
            'k' => self.keep_alive = true,
            'l' => self.lengths_vary = true,
            'i' => "HEAD".clone_into(&mut self.method),
            'm' => value.clone_into(&mut self.method),
            'p' => {
                self.body_file = path();
                "POST".clone_into(&mut self.method);
            }
            'u' => {
                self.body_file = path();
                "PUT".clone_into(&mut self.method);
            }
            'T' => value.clone_into(&mut self.content_type),
            'C' => self.fields.push(Secret::new(format!("Cookie: {value}"))),
            'H' => self.fields.push(Secret::new(value)),
            'A' => self.login = Some(Secret::new(value)),
            'e' => self.percentages_file = path(),
            'g' => self.gnuplot_file = path(),
            'd' => self.no_percentages = true,
            'S' => self.no_deviation = true,
            'r' | 'q' | 'v' | 'b' => {}
            other => {
                return Err(Mistake::new(format!("-{other}"), "sweat does not have this of ab"));
            }
        }
        Ok(())
    }
}

fn read_count(letter: char, text: &str, most: u64) -> Result<u64, Mistake> {
    let number = u64::from_str(text).ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| {
        Mistake::new(format!("-{letter}"), format!("`{text}` is not a number from 1"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn read(line: &str) -> Result<AbWords, String> {
        AbWords::from_args(&words(line)).map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn letters_are_read_as_ab_reads_them() {
        let plain = read("-n 100 -c 8 -k http://h/").unwrap();
        assert_eq!((plain.requests, plain.concurrency, plain.keep_alive), (100, 8, true));
        assert_eq!(read("-kn100 -c8 h/").unwrap(), plain);
        let timed = read("-t 5 -c 10 http://h/").unwrap();
        assert_eq!((timed.requests, timed.time), (50_000, Some(Duration::from_secs(5))));
        assert_eq!(read("-t 5 -n 7 http://h/").unwrap().requests, 7);
        let posted = read("-p f -T a/b -C a=b -H X:y -A u:p -s 3 -l -r -q -v 4 h/x").unwrap();
        assert_eq!((posted.method.as_str(), posted.content_type.as_str()), ("POST", "a/b"));
        assert_eq!(posted.fields[0], Secret::new("Cookie: a=b"));
        assert_eq!((posted.login, posted.lengths_vary), (Some(Secret::new("u:p")), true));
        assert_eq!(read("-i h/x").unwrap().method, "HEAD");
        let own = read("--allow-target=a --allow-target b --insecure --ca f https://h/").unwrap();
        assert!(own.allowed == ["a", "b"] && own.insecure && own.ca.is_some());
    }

    #[test]
    fn mistakes_are_named() {
        for (line, why) in [
            ("", "URL: it is missing"),
            ("http://h", "it has no path"),
            ("h/ h/", "ab takes one"),
            ("-n 2 -c 3 h/", "fewer requests"),
            ("-n 0 h/", "`0` is not a number"),
            ("-Q h/", "-Q: ab has no such option"),
            ("-n", "-n: a value is missing"),
            ("-X p:1 h/", "-X: sweat does not have this"),
            ("--what 1 h/", "--what: ab has no such option"),
        ] {
            let found = read(line).unwrap_err();
            assert!(found.contains(why), "{line}: {found}");
        }
    }

    #[test]
    fn secrets_are_found_where_they_stand() {
        let line = "-kA u:p -Pq:r -C s=1 -H Authorization:x -H A:b h/";
        assert_eq!(secret_places(&words(line)), [(1, 0), (2, 2), (4, 0), (6, 14)]);
    }
}
