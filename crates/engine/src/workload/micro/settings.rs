//! The options, checked.

use std::time::Duration;

use super::choice::choose_operations;
use super::operation::Operation;
use crate::base::units::show_time;
use crate::plan::{Mistake, OptionKind, OptionSpec, Options};

/// Rows of the largest table: a multiple of this, so that every part of it is whole.
const ROWS_UNIT: u64 = 1_000;
const MOST_ROWS: u64 = 10_000_000;
/// Most rounds.
const MOST_ROUNDS: u64 = 10_000;
/// Bounds of `--per` and `--limit`.
const PER_BOUNDS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(5));
const LIMIT_BOUNDS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(3_600));
/// Bounds of `--scale`.
const SCALE_BOUNDS: (f64, f64) = (0.0001, 1_000.0);
/// Longest name of the schema: names of locks are no longer than 64.
const LONGEST_SCHEMA: usize = 48;

/// How operations are measured.
#[derive(Clone, Debug)]
pub(super) struct MicroSettings {
    pub operations: Vec<&'static Operation>,
    /// Rows of the largest table.
    pub rows: u64,
    pub rounds: u64,
    /// How long a round of an operation shall take.
    pub per: Duration,
    /// Instead: how many times the units of the table of operations.
    pub scale: Option<f64>,
    /// After so long a round is cut.
    pub limit: Duration,
    pub schema: String,
    pub engine: Option<String>,
}

pub(super) fn option_specs() -> Vec<OptionSpec> {
    use OptionKind::{Count, Text, Time};
    let spec = OptionSpec::new;
    vec![
        spec("only", Text, "", "operations or groups to run, with *; all if none"),
        spec("skip", Text, "", "operations or groups to leave out"),
        spec("rows", Count, "10000", "rows of the largest table"),
        spec("rounds", Count, "10", "times that each operation is measured"),
        spec("per", Time, "20ms", "length of a round of an operation"),
        spec("count-scale", Text, "", "fixed counts instead: the usual ones times this"),
        spec("limit", Time, "10s", "cut an operation whose round takes longer"),
        spec("schema", Text, "sweat_micro", "schema to make, use and drop"),
        spec("mysql-storage-engine", Text, "", "engine of the tables"),
    ]
}

impl MicroSettings {
    /// Rounds of all operations, with those of the first pass, which is in no figure.
    pub(super) fn all_rounds(&self) -> u64 {
        (self.rounds + 1) * self.operations.len() as u64
    }

    /// Checks the options.
    ///
    /// # Errors
    /// The first mistake.
    pub(super) fn from_options(options: &Options) -> Result<MicroSettings, Mistake> {
        let given = |name: &str| options.given_text(name);
        let list = |name: &str| given(name).unwrap_or_default();
        let operations = choose_operations(list("only"), list("skip"))?;
        let rows = options.count("rows");
        if rows == 0 || rows % ROWS_UNIT != 0 || rows > MOST_ROWS {
            return Err(Mistake::new(
                "--rows",
                format!("{rows} is not a multiple of {ROWS_UNIT} in range"),
            )
            .hint(format!("{ROWS_UNIT} to {MOST_ROWS}, as in 100000")));
        }
        let rounds = options.count("rounds");
        if !(1..=MOST_ROUNDS).contains(&rounds) {
            return Err(Mistake::new("--rounds", format!("{rounds} is out of range"))
                .hint(format!("1 to {MOST_ROUNDS}; fewer than 6 give no interval")));
        }
        let time = |name: &str, (least, most): (Duration, Duration), range: &str| {
            let time = options.time(name).unwrap_or_default();
            match (least..=most).contains(&time) {
                true => Ok(time),
                false => {
                    let why = format!("{} is out of range", show_time(time));
                    Err(Mistake::new(format!("--{name}"), why).hint(range))
                }
            }
        };
        let scale = given("count-scale").map(|text| match text.parse::<f64>() {
            Ok(scale) if (SCALE_BOUNDS.0..=SCALE_BOUNDS.1).contains(&scale) => Ok(scale),
            _ => Err(Mistake::new("--scale", format!("`{text}` is not a number in range"))
                .hint("0.0001 to 1000; 1 for the usual counts")),
        });
        Ok(MicroSettings {
            operations,
            rows,
            rounds,
            per: time("per", PER_BOUNDS, "1ms to 5s")?,
            scale: scale.transpose()?,
            limit: time("limit", LIMIT_BOUNDS, "10ms to 1h")?,
            schema: plain_name("--schema", given("schema").unwrap_or_default())?,
            engine: given("mysql-storage-engine")
                .map(|name| plain_name("--engine", name))
                .transpose()?,
        })
    }
}

/// A name that needs no quotes.
fn plain_name(flag: &str, name: &str) -> Result<String, Mistake> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_plain && !name.is_empty() && name.len() <= LONGEST_SCHEMA {
        true => Ok(name.to_owned()),
        false => Err(Mistake::new(flag, format!("`{name}` is not a plain name"))
            .hint(format!("letters, digits and _, at most {LONGEST_SCHEMA}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(given: &[(&str, &str)]) -> Result<MicroSettings, Mistake> {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        MicroSettings::from_options(&Options::from_given(&option_specs(), &given).unwrap())
    }

    #[test]
    fn options_have_bounds() {
        let found = settings(&[("only", "update"), ("count-scale", "0.5")]).unwrap();
        assert_eq!((found.operations.len(), found.rows, found.rounds), (4, 10_000, 10));
        assert_eq!((found.scale, found.schema.as_str()), (Some(0.5), "sweat_micro"));
        for (name, value) in [
            ("only", "no_such"),
            ("rows", "1500"),
            ("rows", "0"),
            ("rounds", "0"),
            ("per", "1us"),
            ("limit", "2h"),
            ("count-scale", "many"),
            ("schema", "a`b"),
            ("mysql-storage-engine", "InnoDB; DROP"),
        ] {
            assert!(settings(&[(name, value)]).is_err(), "{name}={value}");
        }
        let why = settings(&[("per", "6s")]).unwrap_err().to_string();
        assert!(why.contains("--per: 6s is out of range"), "{why}");
    }
}
