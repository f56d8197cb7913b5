//! Tests with real servers, each in a private temporary directory.

mod probe;
mod target;
