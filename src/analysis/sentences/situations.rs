//! Every sentence is looked at, and every doubt is raised in one situation at least.

use super::doubts;

/// Gaps of a text.
fn gaps(text: &str) -> Vec<&str> {
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).collect()
}

#[test]
fn a_gap_has_a_name() {
    for doubt in doubts::ALL {
        for text in [doubt.evidence, doubt.remedy] {
            assert!(gaps(text).iter().all(|gap| !gap.is_empty()), "{}: {text}", doubt.name);
        }
    }
}

#[test]
fn the_documentation_says_when_a_doubt_is_raised() {
    let docs = include_str!("../../../docs/reading-results.md");
    let missing: Vec<String> = doubts::ALL
        .iter()
        .filter(|doubt| {
            let mut lines = docs.lines();
            let line = lines.find(|line| line.starts_with(&format!("| `{}` |", doubt.id)));
            !line.is_some_and(|line| line.contains(doubt.when))
        })
        .map(|doubt| format!("{}: {}", doubt.id, doubt.when))
        .collect();
    assert!(missing.is_empty(), "not in docs/reading-results.md:\n{}", missing.join("\n"));
}
