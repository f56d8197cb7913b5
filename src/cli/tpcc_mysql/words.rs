//! The words of tpcc-mysql's two programs: letters with a value, attached or apart, and the old form, values by their place.

use std::path::PathBuf;
use std::str::FromStr;

use crate::base::Secret;
use crate::base::host_port::split_host_port;
use crate::cli::connection::library_address;
use crate::plan::{AddressPlan, Mistake, Protocol};

/// One of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum TpccProgram {
    /// `tpcc_load`.
    Load,
    /// `tpcc_start`.
    Start,
}

/// A word of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TypedWord<'a> {
    /// A letter with its value.
    Letter(char, &'a str),
    /// A value that its place explains.
    Bare(&'a str),
}

/// A word, and where its value begins: in which argument, at which byte.
type PlacedWord<'a> = (TypedWord<'a>, (usize, usize));

/// A letter, its value, and where that begins.
type LetteredWord<'a> = (char, &'a str, (usize, usize));

/// Letters that both know, and those of each. Source: the programs' usage texts.
const LETTERS: &str = "hPdupwS";
const LOAD_LETTERS: &str = "lmn";
const START_LETTERS: &str = "crlifmto01234";

/// What a value by its place is called by its letter: the old form.
const LOAD_PLACES: &str = "hdupwlmn";
const START_PLACES: &str = "hdupwcrl";

impl TpccProgram {
    /// Both.
    pub(in super::super) const ALL: [TpccProgram; 2] = [TpccProgram::Load, TpccProgram::Start];

    /// What it is called by.
    pub(in super::super) fn name(self) -> &'static str {
        match self {
            TpccProgram::Load => "tpcc_load",
            TpccProgram::Start => "tpcc_start",
        }
    }

    fn letters(self) -> String {
        let own = if self == TpccProgram::Load { LOAD_LETTERS } else { START_LETTERS };
        LETTERS.to_owned() + own
    }

    fn places(self) -> &'static str {
        if self == TpccProgram::Load { LOAD_PLACES } else { START_PLACES }
    }

    /// Reads the words as far as they make sense; an argument that is a letter alone takes the next one as its value.
    fn split_words(self, args: &[String]) -> Result<Vec<PlacedWord<'_>>, Mistake> {
        let mut words = Vec::new();
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            let Some(rest) = arg.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
                words.push((TypedWord::Bare(arg), (at, 0)));
                at += 1;
                continue;
            };
            let mut chars = rest.chars();
            let letter = chars.next().unwrap_or_default();
            let attached = chars.as_str();
            if !self.letters().contains(letter) {
                let known: Vec<String> = self.letters().chars().map(|c| format!("-{c}")).collect();
                let hint = format!("it knows {}", known.join(" "));
                return Err(Mistake::new(format!("-{letter}"), "it is not known").hint(hint));
            }
            if !attached.is_empty() {
                words.push((TypedWord::Letter(letter, attached), (at, arg.len() - attached.len())));
                at += 1;
                continue;
            }
            let Some(value) = args.get(at + 1) else {
                return Err(Mistake::new(format!("-{letter}"), "its value is missing"));
            };
            words.push((TypedWord::Letter(letter, value), (at + 1, 0)));
            at += 2;
        }
        Ok(words)
    }

    /// Each value with its letter, and where it stands.
    fn lettered_words(self, args: &[String]) -> Result<Vec<LetteredWord<'_>>, Mistake> {
        let mut places = self.places().chars();
        let words = self.split_words(args)?.into_iter().map(|(word, place)| match word {
            TypedWord::Letter(letter, value) => Ok((letter, value, place)),
            TypedWord::Bare(value) => {
                let letter = places.next().ok_or_else(|| {
                    let hint = format!("values by place: {} at most", self.places().len());
                    Mistake::new(value, "there is no place for it").hint(hint)
                })?;
                Ok((letter, value, place))
            }
        });
        words.collect()
    }

    /// Where passwords stand in these arguments: in which one, from which byte on.
    pub(in super::super) fn password_places(self, args: &[String]) -> Vec<(usize, usize)> {
        // A mistake before it must not leave a password in sight: what could be read is read.
        let longest = (0..=args.len()).rev();
        let read = longest.filter_map(|end| self.lettered_words(&args[..end]).ok()).next();
        let words = read.unwrap_or_default().into_iter();
        words.filter(|(letter, ..)| *letter == 'p').map(|(.., place)| place).collect()
    }
}

/// What was asked of either program.
#[derive(Clone, Debug)]
pub(super) struct TpccWords {
    pub(super) address: AddressPlan,
    pub(super) warehouses: u64,
    pub(super) connections: u64,
    pub(super) ramp_up_s: u64,
    pub(super) measured_s: u64,
    pub(super) interval_s: u64,
    /// File for the interval lines, too.
    pub(super) report_file: Option<PathBuf>,
    /// File for a line about each committed new order.
    pub(super) order_log: Option<PathBuf>,
    /// Databases that connections are dealt to, and the number of the first; 0 for one database.
    pub(super) databases: u64,
    pub(super) first_database: u64,
    /// Limits on response times by transaction, seconds, where they are given.
    pub(super) limits_s: [Option<f64>; 5],
}

impl TpccWords {
    /// # Errors
    /// The first word that makes no sense.
    pub(super) fn from_args(program: TpccProgram, args: &[String]) -> Result<TpccWords, Mistake> {
        let mut words = TpccWords {
            address: AddressPlan {
                host: Some("localhost".to_owned()),
                user: Some("root".to_owned()),
                database: Some("tpcc".to_owned()),
                ..library_address()
            },
            warehouses: 1,
            connections: 1,
            ramp_up_s: 10,
            measured_s: 20,
            interval_s: 10,
            report_file: None,
            order_log: None,
            databases: 0,
            first_database: 0,
            limits_s: [None; 5],
        };
        for (letter, value, _) in program.lettered_words(args)? {
            words.take_value(program, letter, value)?;
        }
        if words.address.port.is_some() && words.address.host.as_deref() != Some("localhost") {
            words.address.protocol = Some(Protocol::Tcp);
        }
        Ok(words)
    }

    /// Names of the databases of a load, as tpcc-mysql makes them from the one that is given.
    pub(super) fn database_names(&self) -> Vec<String> {
        let name = self.address.database.clone().unwrap_or_default();
        match self.databases {
            0 => vec![name],
            count => (0..count).map(|n| format!("{name}_{}", n + self.first_database)).collect(),
        }
    }

    fn take_value(
        &mut self,
        program: TpccProgram,
        letter: char,
        value: &str,
    ) -> Result<(), Mistake> {
        let address = &mut self.address;
        match letter {
            'h' => {
                let place = split_host_port(value);
                let (host, port) = place.map_err(|why| Mistake::new(format!("-h {value}"), why))?;
                address.host = Some(host.to_owned());
                address.port = port.or(address.port);
            }
            'P' => address.port = Some(read_number(letter, value, 1, 65_535)?),
            'S' => {
                address.socket = Some(value.into());
                address.protocol = Some(Protocol::Socket);
            }
            'd' => address.database = Some(value.to_owned()),
            'u' => address.user = Some(value.to_owned()),
            'p' => address.password = Some(Secret::new(value)),
            'w' => self.warehouses = read_number(letter, value, 1, 1_000_000)?,
            // All parts and warehouses are loaded together, whichever are named.
            'l' | 'm' | 'n' if program == TpccProgram::Load => {
                read_number::<u64>(letter, value, 1, 1_000_000)?;
            }
            'c' => self.connections = read_number(letter, value, 1, 100_000)?,
            'r' => self.ramp_up_s = read_number(letter, value, 0, 1_000_000)?,
            'l' => self.measured_s = read_number(letter, value, 1, 1_000_000_000)?,
            'i' => self.interval_s = read_number(letter, value, 1, 1_000_000)?,
            'f' => self.report_file = Some(value.into()),
            't' => self.order_log = Some(value.into()),
            'm' => self.databases = read_number(letter, value, 0, 100_000)?,
            'o' => self.first_database = read_number(letter, value, 0, 100_000)?,
            '0'..='4' => {
                let place = letter as usize - '0' as usize;
                let limit_s: f64 = read_number(letter, value, 0.0, 1e6)?;
                self.limits_s[place] = Some(limit_s);
            }
            _ => {}
        }
        Ok(())
    }
}

/// A number within bounds.
fn read_number<T: FromStr + PartialOrd + std::fmt::Display>(
    letter: char,
    value: &str,
    least: T,
    most: T,
) -> Result<T, Mistake> {
    let number = value.trim().parse::<T>().ok().filter(|n| (&least..=&most).contains(&n));
    number.ok_or_else(|| {
        let hint = format!("{least} to {most}");
        Mistake::new(format!("-{letter}"), format!("`{value}` does not fit")).hint(hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn letters_and_places_name_the_same() {
        let by_letter =
            args("-h db1 -P 3307 -dtpcc5 -u user -psecret -w 5 -c5 -r 30 -l 40 -i 2 -f out -0 0.5");
        let by_place = args("db1:3307 tpcc5 user secret 5 5 30 40 -i 2 -f out -0 0.5");
        for words in [by_letter, by_place] {
            let read = TpccWords::from_args(TpccProgram::Start, &words).unwrap();
            let address = &read.address;
            assert_eq!(address.host.as_deref(), Some("db1"));
            assert_eq!(address.port, Some(3307));
            assert_eq!(address.database.as_deref(), Some("tpcc5"));
            assert_eq!(address.user.as_deref(), Some("user"));
            assert_eq!(address.password, Some(Secret::new("secret")));
            assert_eq!((read.warehouses, read.connections), (5, 5));
            assert_eq!((read.ramp_up_s, read.measured_s, read.interval_s), (30, 40, 2));
            assert_eq!(read.limits_s[0], Some(0.5));
        }
        let load = args("localhost tpcc5 user secret 5 1 1 5");
        let read = TpccWords::from_args(TpccProgram::Load, &load).unwrap();
        assert_eq!((read.warehouses, read.address.port), (5, None));
        let empty = ["-p", "", "-w", "2"].map(str::to_owned);
        let read = TpccWords::from_args(TpccProgram::Load, &empty).unwrap();
        assert_eq!((read.warehouses, read.address.password), (2, Some(Secret::new(""))));
    }

    #[test]
    fn connections_are_dealt_to_several_databases() {
        let line = args("-dtpcc -m 2 -o 3 -t orders");
        let read = TpccWords::from_args(TpccProgram::Start, &line).unwrap();
        assert_eq!(read.database_names(), ["tpcc_3", "tpcc_4"]);
        assert_eq!(read.order_log, Some("orders".into()));
        let read = TpccWords::from_args(TpccProgram::Start, &args("-dtpcc -o 3")).unwrap();
        assert_eq!(read.database_names(), ["tpcc"]);
    }

    #[test]
    fn words_that_make_no_sense_are_named() {
        let why =
            |program, line| TpccWords::from_args(program, &args(line)).unwrap_err().to_string();
        let start = TpccProgram::Start;
        for (line, place) in [
            ("-w", "-w"),
            ("-w 0", "-w"),
            ("-w five", "-w"),
            ("-c 5x", "-c"),
            ("-l 0", "-l"),
            ("-x 1", "-x"),
            ("--help", "--"),
            ("-m x", "-m"),
            ("-o -1", "-o"),
            ("-P 70000", "-P"),
            ("a b c d 1 2 3 4 5", "5"),
        ] {
            let said = why(start, line);
            assert!(said.starts_with(place), "{line}: {said}");
        }
        assert!(why(TpccProgram::Load, "-c 5").starts_with("-c"));
    }

    #[test]
    fn passwords_are_found_wherever_they_stand() {
        let places = |line| TpccProgram::Start.password_places(&args(line));
        assert_eq!(places("-w 5 -p hush -c 2"), [(3, 0)]);
        assert_eq!(places("-w 5 -phush"), [(2, 2)]);
        assert_eq!(places("localhost tpcc5 user hush 5 5 30 30"), [(3, 0)]);
        assert_eq!(places("-p hush -x -c"), [(1, 0)]);
        assert_eq!(places("-w 5"), []);
    }
}
