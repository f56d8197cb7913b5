//! What tests of probes share: texts recorded on real machines, and a look at one number.

use super::host::NamedNumbers;

/// A recorded text of `tests/data/probe/`.
macro_rules! data {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/probe/", $name))
    };
}
pub(super) use data;

#[track_caller]
pub(super) fn assert_number(numbers: &NamedNumbers, name: &str, value: f64) {
    let found = numbers.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}"));
    assert!((found.1 - value).abs() < 1e-6, "{name} is {}", found.1);
}
