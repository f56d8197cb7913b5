//! Statistics: formulas on plain numbers, each with its source and checked against published values, against a slower
//! way to the same result, or by simulation. Every function is pure and takes finite numbers.
//! Never knows: runs, trials, words, units.
//! To add one: a file with the formula, its source, and a test whose numbers come from somewhere else.

pub mod changepoint;
pub(crate) mod correction;
pub(crate) mod least_squares;
pub(crate) mod linear_fit;
pub(crate) mod order_statistics;
pub(crate) mod power;
pub(crate) mod ranks;
pub mod robust;
pub(crate) mod student;
pub mod time_series;
pub mod trend;
pub(crate) mod welch;
