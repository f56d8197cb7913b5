//! The options.

use std::path::PathBuf;

use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Options};

/// How transactions are put into statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SqlVariant {
    /// One prepared statement per step of the specification.
    Plain,
    /// Lists and inserts of many rows.
    Batched,
    /// As plain, several statements sent before their replies are read.
    Pipelined,
    /// One call per transaction.
    Procedures,
}

/// How rows travel to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadMethod {
    /// `LOAD DATA LOCAL` from memory.
    LoadData,
    /// Prepared INSERTs of many rows.
    Insert,
}

/// What was asked, checked.
#[derive(Clone, Debug)]
pub(super) struct TpccSettings {
    /// Warehouses to make; for a run 0: all that are there.
    pub(super) warehouses: u32,
    pub(super) sql: SqlVariant,
    /// Foreign keys, as clause 1.3 names them.
    pub(super) foreign_keys: bool,
    /// A primary key for the history, which the specification has none for.
    pub(super) history_key: bool,
    /// Partitions of each table by warehouse; 0 for none.
    pub(super) partitions: u32,
    pub(super) storage_engine: String,
    /// Seed of the rows; `None` for that of the data there, or of the run.
    pub(super) data_seed: Option<u64>,
    /// `None` for the cheaper one that the server allows.
    pub(super) load_method: Option<LoadMethod>,
    /// Compares each row with the one it should be.
    pub(super) verify: bool,
    /// Folder for files instead of a server.
    pub(super) csv_dir: Option<PathBuf>,
    /// As in `SET TRANSACTION ISOLATION LEVEL`.
    pub(super) isolation: String,
    /// Levels that the tests of isolation go through.
    pub(super) tested_levels: Vec<String>,
    /// Terminals that key and think, ten per warehouse.
    pub(super) paced: bool,
    /// Factor on keying and think times.
    pub(super) time_scale: f64,
    /// File for the results of deliveries.
    pub(super) delivery_log: Option<PathBuf>,
    /// File for a line about each committed new order.
    pub(super) order_log: Option<PathBuf>,
    /// Databases that sessions are dealt to, and the number of the first; 0 for the one that is named.
    pub(super) databases: u32,
    pub(super) first_database: u32,
    /// Deck of 23 cards instead of 240.
    pub(super) small_deck: bool,
    pub(super) dry_run: bool,
    /// Who made the tables that are checked; one of `check::SCHEMAS`.
    pub(super) schema: String,
}

impl Default for TpccSettings {
    fn default() -> TpccSettings {
        let options = Options::from_given(&option_specs(), &[]).expect("no options, no mistakes");
        TpccSettings::from_options(&options).expect("the defaults fit each other")
    }
}

/// Most warehouses: ids of orders and rows stay far inside their types.
const MOST_WAREHOUSES: u64 = 1_000_000;
const MOST_PARTITIONS: u64 = 1024;
const MOST_DATABASES: u64 = 100_000;

const METHODS: [&str; 3] = ["auto", "load-data", "insert"];

/// Levels of isolation, weakest first.
const ISOLATION_LEVELS: [&str; 3] = ["read-committed", "repeatable-read", "serializable"];

pub(super) fn option_specs() -> Vec<OptionSpec> {
    use OptionKind::{Count, Number, Switch, Text};
    let spec = OptionSpec::new;
    vec![
        spec("warehouses", Count, "", "warehouses [prepare: 1; run: all there are]")
            .with_alias("scale"),
        spec(
            "sql",
            OptionKind::one_of(&["plain", "batched", "pipelined", "procedures"]),
            "plain",
            "how a transaction is put into statements",
        ),
        spec("paced", Switch, "off", "terminals key and think, ten per warehouse"),
        spec("time-scale", Number, "1", "paced: factor on keying and think times"),
        spec("delivery-log", Text, "", "file for a line about each delivery"),
        spec("order-log", Text, "", "file for a line about each committed new order"),
        spec("databases", Count, "0", "deal sessions to NAME_0, NAME_1 ..; NAME is the database"),
        spec("first-database", Count, "0", "number of the first of several databases"),
        spec("mix", OptionKind::one_of(&["deck240", "deck23"]), "deck240", "deck of cards"),
        spec(
            "isolation",
            OptionKind::one_of(&ISOLATION_LEVELS),
            "",
            "isolation level [repeatable-read]",
        ),
        spec("foreign-keys", Switch, "off", "prepare: declare the foreign keys"),
        spec(
            "history-key",
            Switch,
            "off",
            "prepare: give history a primary key, which some clusters require",
        ),
        spec("partitions", Count, "0", "prepare: partitions of each table"),
        spec("mysql-storage-engine", Text, "innodb", "prepare: storage engine of the tables"),
        spec(
            "data-seed",
            Count,
            "",
            "prepare: seed of the rows [that of the rows there, or --seed]",
        ),
        spec("load-with", OptionKind::one_of(&METHODS), "auto", "prepare: how rows are sent"),
        spec("verify", Switch, "off", "prepare: compare each row with the one it should be"),
        spec("csv", Text, "", "prepare: write files into this folder, and load nothing"),
        spec("schema", OptionKind::one_of(&super::check::SCHEMAS), "auto", "check: whose tables"),
        spec("mysql-dry-run", Switch, "off", "send nothing"),
    ]
}

fn sql_variant(options: &Options) -> SqlVariant {
    match options.text("sql") {
        Some("batched") => SqlVariant::Batched,
        Some("pipelined") => SqlVariant::Pipelined,
        Some("procedures") => SqlVariant::Procedures,
        _ => SqlVariant::Plain,
    }
}

impl TpccSettings {
    /// # Errors
    /// All mistakes together.
    pub(super) fn from_options(options: &Options) -> Result<TpccSettings, Mistakes> {
        let mut mistakes = Vec::new();
        let mut count = |name: &str, most: u64| {
            let value = options.count(name);
            if value > most {
                let hint = format!("at most {most}");
                mistakes.push(Mistake::new(format!("--{name}"), "it is too large").hint(hint));
            }
            value.min(most) as u32
        };
        let warehouses = count("warehouses", MOST_WAREHOUSES);
        let partitions = count("partitions", MOST_PARTITIONS);
        let databases = count("databases", MOST_DATABASES);
        let first_database = count("first-database", MOST_DATABASES);
        if options.text("warehouses").is_some() && warehouses == 0 {
            let mistake = Mistake::new("--warehouses", "there is no load without a warehouse");
            mistakes.push(mistake.hint("at least 1"));
        }
        let engine = options.text("mysql-storage-engine").unwrap_or("innodb");
        if engine.is_empty() || !engine.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            let why = format!("`{engine}` is not the name of an engine");
            mistakes.push(Mistake::new("--mysql-storage-engine", why).hint("as in innodb"));
        }
        let time_scale = options.number("time-scale");
        if !(0.0..=1000.0).contains(&time_scale) {
            mistakes.push(Mistake::new("--time-scale", "it is out of range").hint("0 to 1000"));
        }
        let foreign_keys = options.switch("foreign-keys");
        if foreign_keys && partitions > 1 {
            let why = "partitioned tables have no foreign keys";
            mistakes.push(Mistake::new("--foreign-keys", why).hint("leave out --partitions"));
        }
        if databases > 0 && options.switch("paced") {
            let why = "paced terminals share the sessions of one database";
            mistakes.push(Mistake::new("--databases", why).hint("leave out --paced"));
        }
        Mistakes::check(mistakes)?;
        Ok(TpccSettings {
            warehouses,
            sql: sql_variant(options),
            foreign_keys,
            history_key: options.switch("history-key"),
            partitions,
            storage_engine: engine.to_owned(),
            data_seed: options.text("data-seed").map(|_| options.count("data-seed")),
            load_method: match options.text("load-with") {
                Some("load-data") => Some(LoadMethod::LoadData),
                Some("insert") => Some(LoadMethod::Insert),
                _ => None,
            },
            verify: options.switch("verify"),
            csv_dir: options.text("csv").map(PathBuf::from),
            isolation: options.text("isolation").unwrap_or(ISOLATION_LEVELS[1]).replace('-', " "),
            tested_levels: match options.text("isolation") {
                Some(level) => vec![level.replace('-', " ")],
                None => ISOLATION_LEVELS.map(|level| level.replace('-', " ")).into(),
            },
            paced: options.switch("paced"),
            time_scale,
            delivery_log: options.text("delivery-log").map(PathBuf::from),
            order_log: options.text("order-log").map(PathBuf::from),
            databases,
            first_database,
            small_deck: options.text("mix") == Some("deck23"),
            dry_run: options.switch("mysql-dry-run"),
            schema: options.text("schema").unwrap_or("auto").to_owned(),
        })
    }

    /// Statements that bring a session to the state that transactions need.
    pub(super) fn session_sql(&self) -> [String; 2] {
        [
            format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", self.isolation),
            "SET autocommit = 0".to_owned(),
        ]
    }

    /// Warehouses that `prepare` makes.
    pub(super) fn prepared_warehouses(&self) -> u32 {
        self.warehouses.max(1)
    }
}
