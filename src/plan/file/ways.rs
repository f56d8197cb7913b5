//! The ways of a plan: written one by one, or as values along an axis.

use super::document::Section;
use super::read::{Known, read_options};
use crate::plan::{MOST_WORKERS, SweepPlan, WarmPlan, WayPlan};

/// The sweep if there is one, and all ways.
pub(super) fn read_ways(root: &Section<'_>, known: &Known) -> (Option<SweepPlan>, Vec<WayPlan>) {
    let section = root.section("sweep");
    let written: Vec<WayPlan> = root.sections("way").iter().map(|s| read_way(s, known)).collect();
    if section.is_there() {
        return read_sweep(root, &section, &written);
    }
    if written.len() > 1 {
        check_names(root, &written);
    }
    (None, if written.is_empty() { vec![WayPlan::default()] } else { written })
}

fn check_names(root: &Section<'_>, ways: &[WayPlan]) {
    for (n, way) in ways.iter().enumerate() {
        let is_taken = ways[..n].iter().any(|other| other.name == way.name);
        if way.name.is_empty() || is_taken {
            let why = if way.name.is_empty() {
                format!("way[{n}] has no name")
            } else {
                format!("two ways are called `{}`", way.name)
            };
            let hint = "give each way a name of its own".to_owned();
            root.complain("way", &why, Some(hint));
        }
    }
}

fn read_sweep(
    root: &Section<'_>,
    section: &Section<'_>,
    written: &[WayPlan],
) -> (Option<SweepPlan>, Vec<WayPlan>) {
    let axis = section.text("axis").unwrap_or_default();
    let values = section.texts("values").unwrap_or_default();
    section.done();
    if axis.is_empty() {
        let hint = "threads, rate, or the name of a setting".to_owned();
        section.complain("axis", "no axis is named", Some(hint));
    }
    if written.len() > 1 {
        let hint = "keep at most one [[way]]: what all values have in common".to_owned();
        root.complain("way", "both several ways and a sweep", Some(hint));
    }
    let sweep = SweepPlan::read(&axis, &values).unwrap_or_else(|wrong| {
        wrong.iter().for_each(|why| section.complain("values", why, None));
        SweepPlan { axis, values: vec!["1".to_owned()], doubles: false }
    });
    let template = written.first().cloned().unwrap_or_default();
    let ways = sweep.ways(&template).unwrap_or_else(|wrong| {
        for why in wrong {
            section.complain("values", &why, None);
        }
        vec![template]
    });
    (Some(sweep), ways)
}

fn read_way(section: &Section<'_>, known: &Known) -> WayPlan {
    let warm = section.sections("warm").into_iter().map(|warm| {
        let strategy = warm.text("strategy").unwrap_or_default();
        let options = read_options(&warm, "strategy", &strategy, &known.strategies);
        warm.done();
        WarmPlan { strategy, options }
    });
    let per_second = section.number("rate");
    if per_second.is_some_and(|rate| rate <= 0.0) {
        section.complain("rate", "it must be above 0", Some("events per second".to_owned()));
    }
    let way = WayPlan {
        warm: warm.collect(),
        name: section.text("name").unwrap_or_default(),
        settings: section.section("set").pairs().into_iter().map(|(k, v, _)| (k, v)).collect(),
        workers: section.count("workers", 1, MOST_WORKERS).map(|n| n as usize),
        per_second,
        value: section.number("value"),
        dump_after: section.switch("dump-after").unwrap_or(false),
    };
    section.done();
    way
}
