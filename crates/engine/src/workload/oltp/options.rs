//! The options: names and defaults are those that users of sysbench know.

use crate::base::distribution::{Distribution, DistributionOptions};
use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Options};
use crate::recorder::{KeyChoice, WorkloadFacts};
use crate::workload::ErrorRule;

use super::errors;
use super::mix::StatementMix;
use super::statement::OltpStatement;

/// What was asked, checked.
#[derive(Clone, Debug)]
pub(super) struct OltpSettings {
    /// How many tables.
    pub(super) tables: u64,
    /// The name of the one table, where it is not `sbtest1`.
    pub(super) table_name: Option<String>,
    /// Rows of each.
    pub(super) table_size: u64,
    /// Whether the user said so. If not, `prepare` makes so many, and a load takes the tables as they are.
    pub(super) is_size_told: bool,
    /// Rows of a range.
    pub(super) range_size: u64,
    /// Whether the server gives out ids.
    pub(super) auto_inc: bool,
    /// Whether to do without transactions.
    pub(super) skip_trx: bool,
    /// Whether ids are in a plain index instead of the primary key.
    pub(super) secondary: bool,
    /// Whether `k` gets an index.
    pub(super) create_secondary: bool,
    /// Storage engine.
    pub(super) engine: String,
    /// What follows in CREATE TABLE.
    pub(super) table_options: String,
    /// Values in the list of `select_random_points`.
    pub(super) random_points: usize,
    /// Ranges of `select_random_ranges`.
    pub(super) random_ranges: usize,
    /// How far a range of `select_random_ranges` reaches.
    pub(super) delta: u64,
    /// What errors mean for the load.
    pub(super) error_rule: ErrorRule,
    /// Whether nothing is sent at all.
    pub(super) dry_run: bool,
    /// Whether statements are sent as text.
    pub(super) as_text: bool,
    /// Events after which a session is closed and opened again; 0 for never.
    pub(super) reconnect_every: u64,
    /// Seed of all random numbers instead of the run's; 0 for the run's.
    pub(super) seed: u64,
    /// Which rows come more often: a name.
    pub(super) rand_type: String,
    /// And its shape.
    pub(super) shape: DistributionOptions,
    /// The same over all rows.
    pub(super) ids: Distribution,
}

impl Default for OltpSettings {
    fn default() -> OltpSettings {
        let options = Options::from_given(&option_specs(), &[]).expect("no options, no mistakes");
        OltpSettings::from_options(&options).expect("the defaults fit each other")
    }
}

/// The option that says how many rows a table has.
pub(super) const SIZE_OPTION: &str = "table-size";
const MOST_HOLES: u64 = 65_535;
/// Rows of a table that `prepare` makes if nobody says how many.
const TABLE_SIZE: u64 = 10_000;
const MOST_ROWS: u64 = i32::MAX as u64;

/// What all kinds accept.
pub(super) fn option_specs() -> Vec<OptionSpec> {
    use OptionKind::{Count, Number, Switch, Text};
    let spec = OptionSpec::new;
    vec![
        spec("tables", Count, "1", "number of tables: sbtest1, sbtest2, ..."),
        spec("table-name", Text, "", "name of the only table [sbtest1]"),
        spec(SIZE_OPTION, Count, "", "rows per table [prepare: 10000; run: all there are]"),
        spec("range-size", Count, "100", "rows per range read"),
        spec("point-selects", Count, "10", "primary-key lookups per transaction"),
        spec("simple-ranges", Count, "1", "range reads per transaction"),
        spec("sum-ranges", Count, "1", "SUM() ranges per transaction"),
        spec("order-ranges", Count, "1", "ORDER BY ranges per transaction"),
        spec("distinct-ranges", Count, "1", "DISTINCT ranges per transaction"),
        spec("index-updates", Count, "1", "indexed-column updates per transaction"),
        spec("non-index-updates", Count, "1", "unindexed-column updates per transaction"),
        spec("delete-inserts", Count, "1", "deletes with re-insert per transaction"),
        spec("range-selects", Switch, "on", "off skips all range reads"),
        spec("random-points", Count, "10", "IN list length of select_random_points"),
        spec("number-of-ranges", Count, "10", "ranges per query of select_random_ranges"),
        spec("random-ranges", Count, "", "the same as --number-of-ranges"),
        spec("delta", Count, "5", "range width of select_random_ranges"),
        spec("auto-inc", Switch, "on", "let the server assign ids"),
        spec("skip-trx", Switch, "off", "run statements without transactions"),
        spec("reconnect-every", Count, "0", "events after which a session is opened anew"),
        spec("secondary", Switch, "off", "secondary index on id, no primary key"),
        spec("create-secondary", Switch, "on", "create the index on k"),
        spec("mysql-storage-engine", Text, "innodb", "storage engine of the tables"),
        spec("create-table-options", Text, "", "text appended to CREATE TABLE"),
        spec(
            "db-ps-mode",
            OptionKind::one_of(&["auto", "disable"]),
            "auto",
            "disable: send text, no prepared statements",
        ),
        spec(
            "rand-type",
            OptionKind::one_of(&Distribution::NAMES),
            "special",
            "how rows are chosen",
        ),
        spec(errors::OPTION, Text, "", "errors that restart events; others then end the load"),
        spec("mysql-dry-run", Switch, "off", "send nothing; every statement counts as other"),
        spec("rand-seed", Count, "0", "seed of the row choice; 0: the run's"),
        spec("rand-spec-iter", Count, "12", "special: numbers averaged into one"),
        spec("rand-spec-pct", Count, "1", "special: percent of rows that are hot"),
        spec("rand-spec-res", Count, "75", "special: percent of reads of hot rows"),
        spec("rand-pareto-h", Number, "0.2", "pareto: shape"),
        spec("rand-zipfian-exp", Number, "0.8", "zipfian: exponent"),
    ]
}

fn engine_mistake(engine: &str) -> Option<Mistake> {
    let is_name = engine.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let why = || format!("`{engine}` is not the name of an engine");
    (!is_name).then(|| Mistake::new("--mysql-storage-engine", why()).hint("as in innodb"))
}

fn table_name_mistake(name: Option<&str>, tables: u64) -> Option<Mistake> {
    let name = name?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_$".contains(c);
    if name.len() > 64 || !name.chars().all(is_plain) {
        let why = format!("`{name}` is not a plain name");
        return Some(Mistake::new("--table-name", why).hint("letters, digits, _ and $"));
    }
    let names_one = || Mistake::new("--table-name", "names one table").hint("leave out --tables");
    (tables > 1).then(names_one)
}

impl OltpSettings {
    /// Reads and checks the options.
    ///
    /// # Errors
    /// All mistakes together.
    pub(super) fn from_options(options: &Options) -> Result<OltpSettings, Mistakes> {
        let mut mistakes = Vec::new();
        let is_size_told = options.text(SIZE_OPTION).is_some();
        let mut ranged = |name: &str, least: u64, most: u64| {
            let value = match name {
                SIZE_OPTION if !is_size_told => TABLE_SIZE,
                name => options.count(name),
            };
            if !(least..=most).contains(&value) {
                let why = format!("{value} is not between {least} and {most}");
                mistakes.push(Mistake::new(format!("--{name}"), why));
            }
            value.clamp(least, most)
        };
        let tables = ranged("tables", 1, 1_000_000);
        let table_size = ranged(SIZE_OPTION, 1, MOST_ROWS);
        let range_size = ranged("range-size", 1, MOST_ROWS);
        let random_points = ranged("random-points", 1, MOST_HOLES);
        let other_name = options.text("random-ranges").is_some();
        let ranges = if other_name { "random-ranges" } else { "number-of-ranges" };
        let random_ranges = ranged(ranges, 1, MOST_HOLES / 2);
        let delta = ranged("delta", 0, MOST_ROWS);
        let engine = options.text("mysql-storage-engine").unwrap_or_default().to_owned();
        mistakes.extend(engine_mistake(&engine));
        let table_name = options.text("table-name").map(str::to_owned);
        mistakes.extend(table_name_mistake(table_name.as_deref(), tables));
        let error_rule = ErrorRule::from_option(
            errors::OPTION,
            options.text(errors::OPTION).unwrap_or_default(),
        );
        let error_rule = error_rule.unwrap_or_else(|mistake| {
            mistakes.push(mistake);
            ErrorRule::default()
        });
        let rand_type = options.text("rand-type").unwrap_or("special").to_owned();
        let shape = distribution_options(options);
        let ids = match Distribution::new(&rand_type, &shape, 1, table_size) {
            Ok(ids) if mistakes.is_empty() => ids,
            Ok(_) => return Err(Mistakes(mistakes)),
            Err(error) => {
                let place = "--rand-type".to_owned();
                mistakes.push(Mistake::new(place, error.to_string()));
                return Err(Mistakes(mistakes));
            }
        };
        Ok(OltpSettings {
            tables,
            table_name,
            table_size,
            error_rule,
            dry_run: options.switch("mysql-dry-run"),
            is_size_told,
            range_size,
            auto_inc: options.switch("auto-inc"),
            skip_trx: options.switch("skip-trx"),
            secondary: options.switch("secondary"),
            create_secondary: options.switch("create-secondary"),
            engine,
            table_options: options.text("create-table-options").unwrap_or_default().to_owned(),
            random_points: random_points as usize,
            random_ranges: random_ranges as usize,
            delta,
            as_text: options.text("db-ps-mode") == Some("disable"),
            reconnect_every: options.count("reconnect-every"),
            seed: options.count("rand-seed"),
            rand_type,
            shape,
            ids,
        })
    }

    /// Names of the tables.
    pub(super) fn table_names(&self) -> Vec<String> {
        let named = self.table_name.iter().cloned();
        let numbered = (1..=self.tables).map(|n| format!("sbtest{n}"));
        if self.table_name.is_some() { named.collect() } else { numbered.collect() }
    }

    /// A text of a statement for tables of these names: `{}` stands for the number, if they have one.
    pub(super) fn name_tables(&self, text: String) -> String {
        match &self.table_name {
            Some(name) => text.replace("sbtest{}", name),
            None => text,
        }
    }

    /// The same for tables of so many rows.
    pub(super) fn with_size(&self, rows: u64) -> OltpSettings {
        let table_size = rows.clamp(1, MOST_ROWS);
        let ids = Distribution::new(&self.rand_type, &self.shape, 1, table_size);
        let ids = ids.expect("its name and shape were checked, and the table is not empty");
        OltpSettings { table_size, ids, ..self.clone() }
    }

    /// The distribution over one worker's own part of the values, so that workers don't meet.
    pub(super) fn worker_distribution(&self, worker: u64, workers: u64) -> Distribution {
        let (low, high) = worker_range(self.table_size, worker, workers);
        let own = Distribution::new(&self.rand_type, &self.shape, low, high);
        own.expect("its name and shape were checked, and no part is empty")
    }
}

/// What findings must know of a mix under these options.
pub(super) fn mix_facts(mix: &StatementMix, options: &Options) -> WorkloadFacts {
    let Ok(settings) = OltpSettings::from_options(options) else { return WorkloadFacts::default() };
    let actions = mix_actions(mix, options);
    let all_are = |statement: OltpStatement| {
        actions.iter().flat_map(|action| action.statements).all(|one| *one == statement)
    };
    if all_are(OltpStatement::InsertNew) {
        return WorkloadFacts::default();
    }
    WorkloadFacts {
        one_row_per_read: all_are(OltpStatement::PointSelect),
        rows: settings.is_size_told.then(|| settings.table_size.saturating_mul(settings.tables)),
        keys: Some(KeyChoice::Drawn {
            distribution: settings.rand_type,
            shape: settings.shape,
            rows: settings.table_size,
        }),
        ..WorkloadFacts::default()
    }
}

/// First and last value of a worker's part of the values up to `size`.
fn worker_range(size: u64, worker: u64, workers: u64) -> (u64, u64) {
    (size * worker / workers, size * (worker + 1) / workers)
}

/// The shape of the distribution that the options describe.
fn distribution_options(options: &Options) -> DistributionOptions {
    DistributionOptions {
        spec_iter: u32::try_from(options.count("rand-spec-iter")).unwrap_or(u32::MAX),
        spec_pct: options.number("rand-spec-pct"),
        spec_res: options.number("rand-spec-res"),
        pareto_h: options.number("rand-pareto-h"),
        zipfian_exp: options.number("rand-zipfian-exp"),
    }
}

/// A step with how often it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MixAction {
    /// Sent in turn.
    pub(super) statements: &'static [OltpStatement],
    /// How often.
    pub(super) times: u64,
}

/// The steps of a mix that remain under these options.
pub(super) fn mix_actions(mix: &StatementMix, options: &Options) -> Vec<MixAction> {
    let ranges = options.switch("range-selects");
    let wanted = mix.steps.iter().filter(|step| ranges || !step.range);
    let times = |name: Option<&str>| name.map_or(1, |name| options.count(name));
    wanted
        .map(|step| MixAction { statements: step.statements, times: times(step.times) })
        .filter(|action| action.times > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_parts_cover_all_values() {
        for (size, workers) in [(10_000, 4), (10, 3), (7, 7), (2, 5)] {
            let parts: Vec<_> = (0..workers).map(|w| worker_range(size, w, workers)).collect();
            assert_eq!(parts[0].0, 0);
            assert_eq!(parts[workers as usize - 1].1, size);
            assert!(parts.windows(2).all(|pair| pair[0].1 == pair[1].0));
            for worker in 0..workers {
                let settings = OltpSettings { table_size: size, ..OltpSettings::default() };
                settings.worker_distribution(worker, workers);
            }
        }
    }

    #[test]
    fn a_shape_that_cannot_be_is_refused() {
        let given = [
            ("rand-type".to_owned(), "pareto".to_owned()),
            ("rand-pareto-h".to_owned(), "2".to_owned()),
        ];
        let options = Options::from_given(&option_specs(), &given).unwrap();
        let mistakes = OltpSettings::from_options(&options).unwrap_err();
        assert!(mistakes.to_string().contains("rand-pareto-h must be"), "{mistakes}");
    }
}
