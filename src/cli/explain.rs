//! `sweat explain`: what a caveat means, why it matters and what to do about it.

use clap::{ArgAction, ArgMatches, Command};

use super::arguments::positional_arg;
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::help::wrap_words;
use crate::analysis::{CauseRule, CaveatExplanation, caveat_explanations, stall_causes};
use crate::plan::{Mistake, Mistakes, nearest_name};
use crate::report;

/// Longest line of a list of ids, behind `hint: `.
const LINE: usize = 72;

pub(super) fn command() -> Command {
    Command::new("explain")
        .about("Say what a caveat means, and what to do")
        .arg(
            positional_arg("id", "ID")
                .num_args(0..)
                .action(ArgAction::Append)
                .help("Ids of caveats or causes of stalls; without one, the list of all"),
        )
        .after_help(
            "Examples:\n  sweat explain\n  sweat explain NOISE\n  \
             sweat explain too-short one-run\n  sweat explain CHECKPOINT",
        )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let typed: Vec<&String> = args.get_many("id").into_iter().flatten().collect();
    if typed.is_empty() {
        context.print_output(&report::caveat_list_text())?;
        return Ok(CommandOutcome::Done);
    }
    let (mut texts, mut mistakes) = (Vec::new(), Vec::new());
    for id in typed {
        match (find_explanation(id), find_cause(id)) {
            (Some(one), _) => texts.push(report::caveat_explanation_text(one)),
            (None, Some(cause)) => texts.push(report::stall_cause_text(cause)),
            (None, None) => mistakes.push(unknown_caveat("explain", id)),
        }
    }
    Mistakes::check(mistakes)?;
    context.print_output(&texts.join("\n"))?;
    Ok(CommandOutcome::Done)
}

/// The explanation of an id in any case, also as a report prints it: `[NOISE],`.
fn find_explanation(typed: &str) -> Option<&'static CaveatExplanation> {
    let id = typed.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    caveat_explanations().iter().find(|one| one.id.eq_ignore_ascii_case(id))
}

/// The cause of stalls that is meant.
fn find_cause(typed: &str) -> Option<&'static CauseRule> {
    let id = typed.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    stall_causes().iter().find(|one| one.id.eq_ignore_ascii_case(id))
}

/// The mistake of an id that no caveat has: with those that may be meant, or all.
pub(super) fn unknown_caveat(place: &str, typed: &str) -> Mistake {
    let near = similar_ids(typed);
    let hint = if near.is_empty() {
        format!("these ids are known:\n{}", id_lines())
    } else {
        format!("did you mean {}? `sweat explain` lists all ids", near.join(" or "))
    };
    Mistake::new(place, format!("no caveat is named {typed}")).hint(hint)
}

/// Ids that differ from the word by a typo, or share a part with it.
fn similar_ids(typed: &str) -> Vec<&'static str> {
    let word = typed.to_ascii_uppercase();
    let ids = || caveat_explanations().iter().map(|one| one.id);
    let shares = |id: &&str| word.len() >= 3 && (id.contains(&word) || word.contains(id));
    let mut near: Vec<&str> = nearest_name(typed, ids()).into_iter().collect();
    near.extend(ids().filter(shares).filter(|id| !near.contains(id)).collect::<Vec<_>>());
    near.truncate(4);
    near
}

/// All ids, in lines that fit a terminal.
fn id_lines() -> String {
    let ids: Vec<&str> = caveat_explanations().iter().map(|one| one.id).collect();
    wrap_words(&ids.join(" "), LINE)
        .iter()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_as_they_are_printed() {
        for typed in ["NOISE", "noise", "[NOISE]", "NOISE,"] {
            assert_eq!(find_explanation(typed).unwrap().id, "NOISE", "{typed}");
        }
        assert_eq!(find_cause("checkpoint,").unwrap().id, "CHECKPOINT");
        assert!(find_cause("NOISE").is_none());
        assert!(find_explanation("").is_none() && find_explanation("NOIS").is_none());
    }

    #[test]
    fn unknown_ids_get_those_that_are_near_or_all() {
        assert_eq!(similar_ids("NOIZE"), ["NOISE"]);
        assert_eq!(similar_ids("cpu"), ["FOREIGN-CPU"]);
        let mistake = unknown_caveat("--allow", "NOSUCH");
        let hint = mistake.hint.unwrap();
        assert!(hint.contains("CUT") && hint.contains("\n") && hint.contains("TLS"), "{hint}");
        assert!(hint.lines().all(|line| line.len() <= 80), "{hint}");
    }
}
