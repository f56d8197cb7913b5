//! Statistics: formulas on plain numbers, each with its source and checked against published values and by simulation.
//! Never knows: runs, trials, words, units.
//! To add one: a file with the formula, its source, and a test whose numbers come from somewhere else.

pub(crate) mod student;
