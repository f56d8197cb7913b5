//! `sweat warm status --hotset FILE`: how much of a hot set is in a pool, and whether the server could take over.

use std::path::Path;

use clap::{ArgMatches, Command};
use serde_json::{Value, json};

use crate::client::Session;
use crate::plan::Mistake;
use crate::warm::hotset::{
    FailoverReadiness, HotSet, HotWarmth, ResidencyOptions, assess_readiness, compute_warmth,
    read_hot_set, read_residency,
};
use crate::warm::{PoolStatus, estimate_seconds};

use super::arguments::{switch_flag, value_flag, wants_json};
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::progress::{group_digits, notes_text};
use super::warm::ASK_ABOVE_BYTES;

/// The words that ask for it.
pub(super) fn add_readiness_flags(command: Command) -> Command {
    command.args([
        value_flag("hotset", "FILE").help("Show how much of this hot set is in the pool"),
        value_flag("budget", "READS")
            .value_parser(clap::value_parser!(f64))
            .requires("hotset")
            .help("Exit code 1 if a failover costs more reads per second"),
        value_flag("accesses", "N")
            .value_parser(clap::value_parser!(f64))
            .requires("hotset")
            .help("Page accesses per second to expect [default: its own]"),
        switch_flag("no-rows")
            .requires("hotset")
            .help("Skip row reads if page numbers differ: assume warm"),
    ])
}

/// Looks, prints, judges.
pub(super) fn run(
    file: &str,
    args: &ArgMatches,
    session: &mut Session,
    pool: &PoolStatus,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let hot = read_hot_set(Path::new(file))?;
    let budget = args.get_one::<f64>("budget").copied();
    let accesses = args.get_one::<f64>("accesses").copied().or(hot.origin.accesses_per_s);
    // One that was idle when it was saved says nothing of its users.
    let accesses = accesses.filter(|n| *n > 0.0);
    if budget.is_some() && accesses.is_none() {
        return Err(Mistake::new(
            "--budget",
            "the hot set's server had no accesses to its pages while it was saved",
        )
        .hint("give their number per second with --accesses")
        .into());
    }
    let mut notes = Vec::new();
    let pages = pool.total_bytes() <= ASK_ABOVE_BYTES || args.get_flag("yes");
    if !pages {
        notes.push(format!(
            "pages are not checked one by one: that would take the server about {:.0} s; add \
             --yes to do it",
            estimate_seconds(pool)
        ));
    }
    let how = ResidencyOptions { pages, rows: !args.get_flag("no-rows") };
    let resident = read_residency(session, &hot, pool, how)?;
    notes.extend(resident.notes.iter().cloned());
    let found = compute_warmth(&hot, &resident);
    let ready = accesses
        .map(|accesses| assess_readiness(&found, accesses, budget.unwrap_or(f64::INFINITY)));
    let value = || to_value(&found, accesses, ready, budget, &notes);
    context.print_result(wants_json(args), value, || {
        let top = args.get_one::<usize>("top").copied().unwrap_or(20);
        to_text(&hot, &found, ready, budget, top) + &notes_text(&notes)
    })?;
    Ok(match (budget, ready) {
        (Some(_), Some(ready)) if !ready.is_ready => CommandOutcome::Negative,
        _ => CommandOutcome::Done,
    })
}

fn to_text(
    hot: &HotSet,
    found: &HotWarmth,
    ready: Option<FailoverReadiness>,
    budget: Option<f64>,
    top: usize,
) -> String {
    let mut text = format!(
        "hot set of {} {}: {:.1} % of its heat is in the pool ({} hot pages)\n",
        hot.origin.product,
        hot.origin.version,
        found.share * 100.0,
        group_digits(found.pages_hot)
    );
    if !found.indexes.is_empty() {
        text += &format!("{:>10}  {:>10}  {:>7}  index\n", "resident", "hot", "warm");
    }
    for line in found.indexes.iter().take(top) {
        let partition = match line.partition.as_str() {
            "" => String::new(),
            name => format!(" partition {name}"),
        };
        let about = if line.is_exact { "" } else { " (estimated)" };
        text += &format!(
            "{:>10}  {:>10}  {:>5.1} %  {}.{}.{}{partition}{about}\n",
            group_digits(line.pages_resident.round() as u64),
            group_digits(line.pages_hot),
            line.share * 100.0,
            line.database,
            line.table,
            line.index
        );
    }
    if found.indexes.len() > top {
        text += &format!("... and {} more (--top)\n", found.indexes.len() - top);
    }
    if let Some(ready) = ready {
        text += &format!(
            "after a failover: about {} extra reads in the first second\n",
            group_digits(ready.extra_reads_per_s.round() as u64)
        );
        if let Some(budget) = budget {
            let verdict = if ready.is_ready { "ready" } else { "not ready" };
            text += &format!(
                "{verdict} for failover: the budget is {} per second\n",
                group_digits(budget.round() as u64)
            );
        }
    }
    text
}

fn to_value(
    found: &HotWarmth,
    accesses: Option<f64>,
    ready: Option<FailoverReadiness>,
    budget: Option<f64>,
    notes: &[String],
) -> Value {
    json!({
        "share": found.share,
        "pages_hot": found.pages_hot,
        "indexes": found.indexes,
        "accesses_per_s": accesses,
        "extra_reads_per_s": ready.map(|r| r.extra_reads_per_s),
        "budget_per_s": budget,
        "is_ready": budget.and(ready).map(|r| r.is_ready),
        "notes": notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warm::hotset::IndexWarmth;

    fn found() -> HotWarmth {
        let index = IndexWarmth {
            database: "shop".to_owned(),
            table: "orders".to_owned(),
            index: "PRIMARY".to_owned(),
            pages_hot: 2_000,
            pages_resident: 1_000.0,
            share: 0.75,
            ..IndexWarmth::default()
        };
        HotWarmth {
            share: 0.75,
            indexes: vec![index],
            pages_hot: 2_000,
            missing: vec![(1e-3, 1_000.0)],
        }
    }

    #[test]
    fn warmth_and_verdict_are_said() {
        let ready = assess_readiness(&found(), 1e6, 100.0);
        let text = to_text(&HotSet::default(), &found(), Some(ready), Some(100.0), 20);
        assert!(text.contains("75.0 % of its heat is in the pool (2 000 hot pages)"), "{text}");
        assert!(text.contains("1 000       2 000   75.0 %  shop.orders.PRIMARY (estimated)"));
        assert!(text.contains("about 1 000 extra reads in the first second"), "{text}");
        assert!(text.ends_with("not ready for failover: the budget is 100 per second\n"), "{text}");
        let unasked = to_text(&HotSet::default(), &found(), Some(ready), None, 20);
        assert!(!unasked.contains("ready for failover"));
    }

    #[test]
    fn a_verdict_is_only_given_where_a_budget_was() {
        let ready = assess_readiness(&found(), 1e6, f64::INFINITY);
        let value = to_value(&found(), Some(1e6), Some(ready), None, &[]);
        assert!(value["is_ready"].is_null());
        assert_eq!(value["indexes"][0]["pages_hot"], 2_000);
    }
}
