//! The mixes as data: which statements an event is made of.

use super::Oltp;
use super::statement::Statement;

/// One step of an event: statements of one sort, all on one table that is drawn anew for each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// What is sent; of a pair both are sent in turn.
    pub(super) statements: &'static [Statement],
    /// The option that says how often; once if there is none.
    pub(super) times: Option<&'static str>,
    /// Whether the option `range-selects` can turn it off.
    pub(super) range: bool,
}

/// A kind of event.
#[derive(Debug)]
pub struct Mix {
    /// Its name, that of its class too.
    pub(super) name: &'static str,
    /// One line for the help.
    pub(super) about: &'static str,
    /// Whether the steps are one transaction.
    pub(super) transaction: bool,
    /// What it does.
    pub(super) steps: &'static [Step],
}

const fn step(statements: &'static [Statement], times: Option<&'static str>) -> Step {
    Step { statements, times, range: false }
}

const fn range(statements: &'static [Statement], times: Option<&'static str>) -> Step {
    Step { statements, times, range: true }
}

const POINT: Step = step(&[Statement::PointSelect], Some("point-selects"));
const SIMPLE: Step = range(&[Statement::SimpleRange], Some("simple-ranges"));
const SUM: Step = range(&[Statement::SumRange], Some("sum-ranges"));
const ORDER: Step = range(&[Statement::OrderRange], Some("order-ranges"));
const DISTINCT: Step = range(&[Statement::DistinctRange], Some("distinct-ranges"));
const INDEX: Step = step(&[Statement::IndexUpdate], Some("index-updates"));
const NON_INDEX: Step = step(&[Statement::NonIndexUpdate], Some("non-index-updates"));
const EXCHANGE: Step = step(&[Statement::Delete, Statement::Insert], Some("delete-inserts"));

/// `oltp_read_write`.
pub static READ_WRITE: Oltp = Oltp(Mix {
    name: "oltp_read_write",
    about: "transactions that read by key and range, update, delete and insert",
    transaction: true,
    steps: &[POINT, SIMPLE, SUM, ORDER, DISTINCT, INDEX, NON_INDEX, EXCHANGE],
});
/// `oltp_read_only`.
pub static READ_ONLY: Oltp = Oltp(Mix {
    name: "oltp_read_only",
    about: "transactions that read by key and range",
    transaction: true,
    steps: &[POINT, SIMPLE, SUM, ORDER, DISTINCT],
});
/// `oltp_write_only`.
pub static WRITE_ONLY: Oltp = Oltp(Mix {
    name: "oltp_write_only",
    about: "transactions that update, delete and insert",
    transaction: true,
    steps: &[INDEX, NON_INDEX, EXCHANGE],
});
/// `oltp_point_select`.
pub static POINT_SELECT: Oltp = Oltp(Mix {
    name: "oltp_point_select",
    about: "one row by primary key",
    transaction: false,
    steps: &[step(&[Statement::PointSelect], None)],
});
/// `oltp_insert`.
pub static INSERT: Oltp = Oltp(Mix {
    name: "oltp_insert",
    about: "one new row",
    transaction: false,
    steps: &[step(&[Statement::InsertNew], None)],
});
/// `oltp_delete`.
pub static DELETE: Oltp = Oltp(Mix {
    name: "oltp_delete",
    about: "delete one row by primary key",
    transaction: false,
    steps: &[step(&[Statement::Delete], None)],
});
/// `oltp_update_index`.
pub static UPDATE_INDEX: Oltp = Oltp(Mix {
    name: "oltp_update_index",
    about: "update an indexed column of one row",
    transaction: false,
    steps: &[INDEX],
});
/// `oltp_update_non_index`.
pub static UPDATE_NON_INDEX: Oltp = Oltp(Mix {
    name: "oltp_update_non_index",
    about: "update a column of one row that is in no index",
    transaction: false,
    steps: &[NON_INDEX],
});
/// `select_random_points`.
pub static SELECT_RANDOM_POINTS: Oltp = Oltp(Mix {
    name: "select_random_points",
    about: "rows of several values of an indexed column",
    transaction: false,
    steps: &[step(&[Statement::RandomPoints], None)],
});
/// `select_random_ranges`.
pub static SELECT_RANDOM_RANGES: Oltp = Oltp(Mix {
    name: "select_random_ranges",
    about: "count rows in several ranges of an indexed column",
    transaction: false,
    steps: &[step(&[Statement::RandomRanges], None)],
});
