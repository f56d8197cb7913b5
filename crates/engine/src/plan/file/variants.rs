//! The variants of a plan: written one by one, or as values along an axis.

use super::document::PlanSection;
use super::read::{KnownPlugins, read_options};
use crate::plan::{MOST_WORKERS, SweepPlan, VariantPlan, WarmPlan};

/// What `variant` was called until version 0.1.
const FORMER_KEY: &str = "way";

/// The sweep if there is one, and all variants.
pub(super) fn read_variants(
    root: &PlanSection<'_>,
    known: &KnownPlugins,
) -> (Option<SweepPlan>, Vec<VariantPlan>) {
    let section = root.read_section("sweep");
    let written: Vec<VariantPlan> = root
        .read_renamed_sections("variant", FORMER_KEY)
        .iter()
        .map(|s| read_variant(s, known))
        .collect();
    if section.is_present() {
        return read_sweep(root, &section, &written);
    }
    if written.len() > 1 {
        check_variant_names(root, &written);
    }
    (None, if written.is_empty() { vec![VariantPlan::default()] } else { written })
}

fn check_variant_names(root: &PlanSection<'_>, variants: &[VariantPlan]) {
    for (n, variant) in variants.iter().enumerate() {
        let is_taken = variants[..n].iter().any(|other| other.name == variant.name);
        if variant.name.is_empty() || is_taken {
            let why = if variant.name.is_empty() {
                format!("variant[{n}] has no name")
            } else {
                format!("two variants are called `{}`", variant.name)
            };
            let hint = "give each variant a name of its own".to_owned();
            root.add_mistake("variant", &why, Some(hint));
        }
    }
}

fn read_sweep(
    root: &PlanSection<'_>,
    section: &PlanSection<'_>,
    written: &[VariantPlan],
) -> (Option<SweepPlan>, Vec<VariantPlan>) {
    let axis = section.read_text("axis").unwrap_or_default();
    let values = section.read_texts("values").unwrap_or_default();
    section.check_unknown_keys();
    if axis.is_empty() {
        let hint = "threads, rate, or the name of a setting";
        section.add_mistake("axis", "no axis is named", Some(hint.to_owned()));
    }
    if written.len() > 1 {
        let hint = "keep at most one [[variant]]: it holds what all values share".to_owned();
        root.add_mistake("variant", "both several variants and a sweep", Some(hint));
    }
    let sweep = SweepPlan::parse_values(&axis, &values).unwrap_or_else(|wrong| {
        wrong.iter().for_each(|why| section.add_mistake("values", why, None));
        SweepPlan { axis, values: vec!["1".to_owned()], doubles: false }
    });
    let template = written.first().cloned().unwrap_or_default();
    let variants = sweep.to_variants(&template).unwrap_or_else(|wrong| {
        for why in wrong {
            section.add_mistake("values", &why, None);
        }
        vec![template]
    });
    (Some(sweep), variants)
}

fn read_variant(section: &PlanSection<'_>, known: &KnownPlugins) -> VariantPlan {
    let warm = section.read_sections("warm").into_iter().map(|warm| {
        let strategy = warm.read_text("strategy").unwrap_or_default();
        let options = read_options(&warm, "strategy", &strategy, (&known.strategies, None));
        warm.check_unknown_keys();
        WarmPlan { strategy, options }
    });
    let variant = VariantPlan {
        warm: warm.collect(),
        name: section.read_text("name").unwrap_or_default(),
        settings: section
            .read_section("set")
            .read_pairs()
            .into_iter()
            .map(|(k, v, _)| (k, v))
            .collect(),
        workers: section.read_count("workers", 1, MOST_WORKERS).map(|n| n as usize),
        per_second: section.read_rate("rate"),
        value: section.read_number("value"),
        dump_after: section.read_switch("dump-after").unwrap_or(false),
    };
    section.check_unknown_keys();
    variant
}
