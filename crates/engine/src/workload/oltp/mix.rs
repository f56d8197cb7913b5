//! The mixes as data: which statements an event is made of.

use super::OltpKind;
use super::statement::OltpStatement;

/// One step of an event: statements of one sort, all on one table that is drawn anew for each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MixStep {
    /// What is sent; of a pair both are sent in turn.
    pub(super) statements: &'static [OltpStatement],
    /// The option that says how often; once if there is none.
    pub(super) times: Option<&'static str>,
    /// Whether the option `range-selects` can turn it off.
    pub(super) range: bool,
}

/// A kind of event.
#[derive(Debug)]
pub struct StatementMix {
    /// Its name, that of its class too.
    pub(super) name: &'static str,
    /// One line for the help.
    pub(super) about: &'static str,
    /// Whether the steps are one transaction.
    pub(super) transaction: bool,
    /// What it does.
    pub(super) steps: &'static [MixStep],
}

const fn plain_step(statements: &'static [OltpStatement], times: Option<&'static str>) -> MixStep {
    MixStep { statements, times, range: false }
}

const fn range_step(statements: &'static [OltpStatement], times: Option<&'static str>) -> MixStep {
    MixStep { statements, times, range: true }
}

const POINT: MixStep = plain_step(&[OltpStatement::PointSelect], Some("point-selects"));
const SIMPLE: MixStep = range_step(&[OltpStatement::SimpleRange], Some("simple-ranges"));
const SUM: MixStep = range_step(&[OltpStatement::SumRange], Some("sum-ranges"));
const ORDER: MixStep = range_step(&[OltpStatement::OrderRange], Some("order-ranges"));
const DISTINCT: MixStep = range_step(&[OltpStatement::DistinctRange], Some("distinct-ranges"));
const INDEX: MixStep = plain_step(&[OltpStatement::IndexUpdate], Some("index-updates"));
const NON_INDEX: MixStep = plain_step(&[OltpStatement::NonIndexUpdate], Some("non-index-updates"));
const EXCHANGE: MixStep =
    plain_step(&[OltpStatement::Delete, OltpStatement::Insert], Some("delete-inserts"));

/// `oltp_read_write`.
pub static READ_WRITE: OltpKind = OltpKind(StatementMix {
    name: "oltp_read_write",
    about: "transactions that read by key and range, and write",
    transaction: true,
    steps: &[POINT, SIMPLE, SUM, ORDER, DISTINCT, INDEX, NON_INDEX, EXCHANGE],
});
/// `oltp_read_only`.
pub static READ_ONLY: OltpKind = OltpKind(StatementMix {
    name: "oltp_read_only",
    about: "transactions that read by key and range",
    transaction: true,
    steps: &[POINT, SIMPLE, SUM, ORDER, DISTINCT],
});
/// `oltp_write_only`.
pub static WRITE_ONLY: OltpKind = OltpKind(StatementMix {
    name: "oltp_write_only",
    about: "transactions that update, delete and insert",
    transaction: true,
    steps: &[INDEX, NON_INDEX, EXCHANGE],
});
/// `oltp_point_select`.
pub static POINT_SELECT: OltpKind = OltpKind(StatementMix {
    name: "oltp_point_select",
    about: "one row by primary key",
    transaction: false,
    steps: &[plain_step(&[OltpStatement::PointSelect], None)],
});
/// `oltp_insert`.
pub static INSERT: OltpKind = OltpKind(StatementMix {
    name: "oltp_insert",
    about: "one new row",
    transaction: false,
    steps: &[plain_step(&[OltpStatement::InsertNew], None)],
});
/// `oltp_delete`.
pub static DELETE: OltpKind = OltpKind(StatementMix {
    name: "oltp_delete",
    about: "delete one row by primary key",
    transaction: false,
    steps: &[plain_step(&[OltpStatement::Delete], None)],
});
/// `oltp_update_index`.
pub static UPDATE_INDEX: OltpKind = OltpKind(StatementMix {
    name: "oltp_update_index",
    about: "update an indexed column of one row",
    transaction: false,
    steps: &[INDEX],
});
/// `oltp_update_non_index`.
pub static UPDATE_NON_INDEX: OltpKind = OltpKind(StatementMix {
    name: "oltp_update_non_index",
    about: "update a column of one row that is in no index",
    transaction: false,
    steps: &[NON_INDEX],
});
/// `select_random_points`.
pub static SELECT_RANDOM_POINTS: OltpKind = OltpKind(StatementMix {
    name: "select_random_points",
    about: "rows of several values of an indexed column",
    transaction: false,
    steps: &[plain_step(&[OltpStatement::RandomPoints], None)],
});
/// `select_random_ranges`.
pub static SELECT_RANDOM_RANGES: OltpKind = OltpKind(StatementMix {
    name: "select_random_ranges",
    about: "count rows in several ranges of an indexed column",
    transaction: false,
    steps: &[plain_step(&[OltpStatement::RandomRanges], None)],
});
