//! A file of a mix as data: what was written, its formulas and texts taken apart, its names not looked up yet.

use super::formula::{Formula, FormulaName, OwnedScalar};

/// A formula as it was read.
pub(super) type NamedFormula = Formula<FormulaName>;

/// A whole file.
#[derive(Clone, Debug, Default)]
pub(super) struct MixSpec {
    /// `[set]`: what the command line may change.
    pub(super) sets: Vec<SetSpec>,
    pub(super) data: Vec<DataSpec>,
    pub(super) tables: Vec<TableSpec>,
    pub(super) values: Vec<ValueSpec>,
    pub(super) transactions: Vec<TransactionSpec>,
    pub(super) sessions: Vec<SessionSpec>,
}

/// A number or text of `[set]`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SetSpec {
    pub(super) name: String,
    pub(super) value: OwnedScalar,
}

/// A dictionary: `[data.NAME]`.
#[derive(Clone, Debug)]
pub(super) struct DataSpec {
    pub(super) name: String,
    /// `line 7: data.NAME`.
    pub(super) place: String,
    pub(super) source: DataSource,
    /// Takes each N-th row.
    pub(super) every: u64,
    /// Most rows to take.
    pub(super) most: u64,
}

/// Where the rows of a dictionary come from.
#[derive(Clone, Debug)]
pub(super) enum DataSource {
    File {
        path: String,
        /// Which field of a line, from 1; all of them without it.
        field: Option<u64>,
        delimiter: String,
        header: bool,
    },
    List(Vec<OwnedScalar>),
    /// Asked of the server before the load.
    Query(String),
}

/// A table to make: `[table.NAME]`.
#[derive(Clone, Debug)]
pub(super) struct TableSpec {
    pub(super) name: String,
    pub(super) place: String,
    pub(super) rows: NamedFormula,
    /// As many rows as fill the buffer pool so many times, instead of a number.
    pub(super) times_pool: Option<f64>,
    pub(super) columns: Vec<ColumnSpec>,
    /// As in CREATE TABLE.
    pub(super) key: Option<String>,
    pub(super) options: Option<String>,
    /// The whole statement instead of columns.
    pub(super) create: Option<String>,
    /// Statements once the rows are there.
    pub(super) after: Vec<String>,
}

/// A column of it.
#[derive(Clone, Debug)]
pub(super) struct ColumnSpec {
    pub(super) name: String,
    /// SQL type.
    pub(super) sql_type: String,
    /// `None` for one that the server fills in.
    pub(super) value: Option<ValueSpec>,
}

/// When a value is drawn anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DrawMode {
    #[default]
    Event,
    Use,
    Session,
}

/// A value: `[value.NAME]`.
#[derive(Clone, Debug)]
pub(super) struct ValueSpec {
    pub(super) name: String,
    pub(super) place: String,
    pub(super) mode: DrawMode,
    /// Share of NULLs.
    pub(super) null_share: f64,
    pub(super) rule: RuleSpec,
}

/// How a value is drawn.
#[derive(Clone, Debug)]
pub(super) enum RuleSpec {
    Int {
        low: NamedFormula,
        high: NamedFormula,
        law: LawSpec,
        scatter: bool,
        /// Of a scrambled law: over how many keys ranks are scattered.
        among: Option<NamedFormula>,
    },
    Real {
        low: NamedFormula,
        high: NamedFormula,
        digits: Option<u8>,
    },
    Letters {
        length: LengthSpec,
        letters: Vec<u8>,
    },
    Words {
        length: LengthSpec,
        data: String,
    },
    Pattern(String),
    Template(Vec<TemplatePart>),
    Pick {
        data: String,
        law: LawSpec,
        scatter: bool,
        order: PickOrder,
    },
    /// Shared: one count of all workers, without gaps; else each worker has numbers of its own.
    Unique {
        from: NamedFormula,
        is_shared: bool,
    },
    Uuid {
        version: u8,
    },
    Time {
        low: i64,
        high: i64,
    },
    Mixture(Vec<(f64, RuleSpec)>),
    Computed(NamedFormula),
    Hash(NamedFormula),
    /// A key of YCSB.
    YcsbKey {
        number: NamedFormula,
        form: YcsbKeyForm,
    },
    /// What YCSB stores in a field where it checks values: it follows from key and field.
    YcsbText {
        key: NamedFormula,
        prefix: String,
        field: NamedFormula,
        length: u64,
    },
}

/// What is behind `user` in a key of YCSB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum YcsbKeyForm {
    /// The hash of the Java program.
    Java,
    /// That of go-ycsb.
    Go,
    /// The number itself.
    Ordered,
}

/// In which order entries of a dictionary are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PickOrder {
    /// By chance.
    Random,
    /// One after the other, by each worker.
    Sequence,
    /// One after the other, all workers together.
    Shared,
}

/// How unevenly numbers are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LawSpec {
    Uniform,
    Zipfian {
        exponent: f64,
    },
    Latest {
        exponent: f64,
    },
    Pareto {
        h: f64,
    },
    Gaussian {
        draws: u32,
    },
    Special,
    Exponential {
        percentile: f64,
        share: f64,
    },
    Hotspot {
        keys: f64,
        draws: f64,
    },
    Normal {
        mean: f64,
        deviation: f64,
    },
    /// YCSB's: ranks by Zipf's law, scattered by a hash over so many keys; 0 for as many as there are.
    Scrambled {
        among: u64,
        is_go: bool,
    },
}

/// Length of a text, characters.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LengthSpec {
    Between(u64, u64),
    LogNormal { median: f64, sigma: f64 },
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TemplatePart {
    Literal(String),
    /// `{text:12}`: letters.
    Letters(usize),
    /// `{digits:12}`.
    Digits(usize),
    /// `{name}`, or `{name:08}` with zeros before it.
    Value {
        name: String,
        width: usize,
    },
}

/// A text of SQL with its holes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SqlSpec {
    pub(super) pieces: Vec<SqlPiece>,
}

/// A piece of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SqlPiece {
    Literal(String),
    /// `:name`.
    Hole(String),
    /// `{{name}}`.
    Paste(String),
}

/// `[transaction.NAME]`.
#[derive(Clone, Debug)]
pub(super) struct TransactionSpec {
    pub(super) name: String,
    pub(super) weight: f64,
    /// Percent of all, instead of a weight.
    pub(super) share: Option<f64>,
    pub(super) think: Option<PauseRule>,
    pub(super) begin: BeginSpec,
    pub(super) retry: RetrySpec,
    /// Class of its events.
    pub(super) class: String,
    pub(super) steps: Vec<StepSpec>,
}

/// Whether its steps are one transaction of the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum BeginSpec {
    /// Where more than one step changes data.
    #[default]
    Auto,
    Off,
    On,
    ReadOnly,
    Isolation(String),
}

/// After which errors it runs again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RetrySpec {
    pub(super) codes: Vec<u16>,
    pub(super) times: u64,
    pub(super) wait: Option<PauseRule>,
}

/// A step.
#[derive(Clone, Debug)]
pub(super) struct StepSpec {
    pub(super) place: String,
    pub(super) what: StepAction,
    pub(super) class: Option<String>,
    /// How often, from and to.
    pub(super) repeat: Option<(NamedFormula, NamedFormula)>,
    pub(super) chance: f64,
    pub(super) when: Option<NamedFormula>,
    /// Names of values, and the columns of the first row that they get.
    pub(super) keeps: Vec<(String, String)>,
    pub(super) expect: ExpectSpec,
    /// Sent as text, not prepared.
    pub(super) as_text: bool,
}

/// What a step does.
#[derive(Clone, Debug)]
pub(super) enum StepAction {
    Sql(SqlSpec),
    Sleep(PauseRule),
}

/// What a step's reply is checked against.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ExpectSpec {
    pub(super) rows: Option<CountCheck>,
    pub(super) affected: Option<CountCheck>,
    pub(super) columns: Option<CountCheck>,
    /// The first value of the first row.
    pub(super) value: Option<String>,
    /// The values of the first row, from the first column on.
    pub(super) values: Vec<String>,
}

/// A condition on a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CountCheck {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl CountCheck {
    pub(super) fn holds(self, count: u64) -> bool {
        (self.least..=self.most).contains(&count)
    }
}

/// A pause, drawn anew each time; times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PauseRule {
    Fixed(f64),
    Uniform(f64, f64),
    Exponential { mean: f64 },
    LogNormal { median: f64, sigma: f64 },
    Normal { mean: f64, deviation: f64 },
}

/// `[session.NAME]`: a kind of sessions.
#[derive(Clone, Debug)]
pub(super) struct SessionSpec {
    pub(super) name: String,
    pub(super) place: String,
    pub(super) share: Option<f64>,
    pub(super) workers: Option<u64>,
    pub(super) flow: FlowSpec,
    /// Statements when a session is opened.
    pub(super) init: Vec<String>,
    pub(super) think: Option<PauseRule>,
    /// Where they log in, and as whom, where it is not as all others.
    pub(super) login: LoginSpec,
    /// Events per second of all its sessions together.
    pub(super) rate: Option<f64>,
    /// Opens a new connection after so many events; 0 for never.
    pub(super) reconnect_every: u64,
}

/// How a kind of sessions logs in, as far as it differs from the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LoginSpec {
    pub(super) user: Option<String>,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    /// The environment variable that holds the password.
    pub(super) password_env: Option<String>,
}

/// Which transactions its sessions run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FlowSpec {
    /// All of the file, by weight.
    All,
    /// These, by weight.
    Mix(Vec<(String, f64)>),
    /// One after the other, each so often.
    Order(Vec<(String, u64, u64)>),
}
