//! Tests with real servers, each in a private temporary directory.

mod fixture;
mod probe;
mod sandbox;
mod target;
