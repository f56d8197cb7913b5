//! Settings of the variants: whether the server takes them, asked before anything starts; and whether it runs with them,
//! seen after each start. A server that rounds, ignores or couples settings would otherwise be compared with itself.

use std::collections::{BTreeMap, BTreeSet};

use super::SET_GLOBAL;
use crate::client::{Session, Target};
use crate::plan::{Mistake, Mistakes, Plan, TargetPlan, did_you_mean};
use crate::server::Settings;
use crate::server::journal::{self, VariableRefusal};
use crate::server::sandbox::validate_settings;

/// Variables whose values differ from start to start by themselves.
const RESTLESS: &[&str] = &[
    "timestamp",
    "server_uuid",
    "hostname",
    "pid_file",
    "socket",
    "port",
    "log_error",
    "general_log_file",
    "slow_query_log_file",
    "gtid_executed",
    "gtid_purged",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_slave_pos",
    "last_insert_id",
    "identity",
    "rand_seed1",
    "rand_seed2",
    "pseudo_thread_id",
    "innodb_buffer_pool_load_now",
    "innodb_buffer_pool_dump_now",
];

/// The server's variables, names in lower case.
pub(super) type ServerVariables = BTreeMap<String, String>;

/// Asks whether the settings of a plan will do, before anything is started.
///
/// # Errors
/// All mistakes together; or when nobody can be asked.
pub(super) fn check_settings(plan: &Plan) -> anyhow::Result<()> {
    let mistakes = match &plan.target {
        TargetPlan::Sandbox(sandbox) => {
            let variants: Vec<_> =
                plan.variants.iter().map(|w| (w.name.as_str(), &w.settings)).collect();
            let any = !sandbox.settings.is_empty() || variants.iter().any(|(_, s)| !s.is_empty());
            if any { validate_settings(sandbox, &variants)? } else { Vec::new() }
        }
        TargetPlan::None if has_settings(plan) => vec![
            Mistake::new("variant.set", "there is no server to set")
                .hint("add [sandbox] to the plan"),
        ],
        TargetPlan::Address(_) if has_settings(plan) && !is_allowed(plan) => vec![
            Mistake::new(
                "variant.set",
                "setting variables of a server that sweat did not start needs consent",
            )
            .hint(format!("add --allow {SET_GLOBAL}; old values are put back at the end")),
        ],
        _ => Vec::new(),
    };
    Ok(Mistakes::check(mistakes)?)
}

/// Asks a server that we did not start whether it would let the plan's variables be set; sets none.
///
/// # Errors
/// All mistakes together; or when it can't be asked.
pub(super) fn check_foreign_settings(plan: &Plan, session: &mut Session) -> anyhow::Result<()> {
    let mut mistakes = Vec::new();
    for variant in &plan.variants {
        for (name, value) in &variant.settings {
            let refusal = journal::find_refusal(session, name, &statement_value(value))?;
            let Some(refusal) = refusal else { continue };
            let (why, hint) = refusal_text(session, name, refusal)?;
            let place = format!("variant {}: {name}", variant.name);
            mistakes.push(Mistake::new(place, why).maybe_hint(hint));
        }
    }
    Ok(Mistakes::check(mistakes)?)
}

fn refusal_text(
    session: &mut Session,
    name: &str,
    refusal: VariableRefusal,
) -> anyhow::Result<(String, Option<String>)> {
    Ok(match refusal {
        VariableRefusal::Unknown => {
            let known = read_variables(session)?;
            let hint = did_you_mean(&name.to_lowercase(), known.keys().map(String::as_str));
            ("this server has no such variable".to_owned(), hint)
        }
        VariableRefusal::ReadOnly => (
            "it can only be set at the start, and sweat did not start this server".to_owned(),
            Some("use [sandbox], whose server is restarted for each variant".to_owned()),
        ),
        VariableRefusal::Denied => (
            "this account may not set variables".to_owned(),
            Some("grant it SYSTEM_VARIABLES_ADMIN (MySQL) or SUPER (MariaDB)".to_owned()),
        ),
        VariableRefusal::Value(text) => (text, None),
    })
}

fn has_settings(plan: &Plan) -> bool {
    plan.variants.iter().any(|variant| !variant.settings.is_empty())
}

fn is_allowed(plan: &Plan) -> bool {
    plan.allow.iter().any(|word| word == SET_GLOBAL)
}

/// All global variables of a server.
///
/// # Errors
/// When it can't be asked.
pub(super) fn read_variables(session: &mut Session) -> anyhow::Result<ServerVariables> {
    let rows = session.query_rows("SHOW GLOBAL VARIABLES")?;
    let cell = |row: &Vec<Option<Vec<u8>>>, at: usize| {
        let bytes = row.get(at).cloned().flatten().unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(rows.rows.iter().map(|row| (cell(row, 0).to_lowercase(), cell(row, 1))).collect())
}

/// What the server was first seen to run with: the measure for side effects of later starts.
#[derive(Debug)]
pub(super) struct FirstStart {
    settings: Settings,
    variables: ServerVariables,
}

/// Looks whether a server that has just started runs with what was asked, and what else is not as at the first start.
/// Gives notes.
///
/// # Errors
/// When it can't be asked, or a value is not as asked.
pub(super) fn check_running_settings(
    target: &Target,
    stop: &crate::base::Stop,
    asked: &Settings,
    first: &mut Option<FirstStart>,
) -> anyhow::Result<SettingRemarks> {
    let variables = read_variables(&mut target.connect(stop)?)?;
    let mut remarks = check_requested(asked, &variables)?;
    match first {
        None => *first = Some(FirstStart { settings: asked.clone(), variables }),
        Some(first) => {
            remarks.side_effects.extend(find_side_effects(first, asked, &variables));
        }
    }
    Ok(remarks)
}

/// What is to be said of the settings that a server runs with, in words.
#[derive(Debug, Default)]
pub(super) struct SettingRemarks {
    /// What could not be told for certain.
    pub(super) notes: Vec<String>,
    /// What is not as asked, or changed beside it.
    pub(super) side_effects: Vec<String>,
}

/// Compares what was asked with what the server runs with; of a name given twice the last value counts.
fn check_requested(
    asked: &Settings,
    variables: &ServerVariables,
) -> anyhow::Result<SettingRemarks> {
    let mut remarks = SettingRemarks::default();
    let mut mistakes = Vec::new();
    let last: BTreeMap<String, &String> =
        asked.iter().map(|(n, v)| (variable_name(n), v)).collect();
    for (name, value) in last {
        let Some(now) = variables.get(&name) else {
            remarks.notes.push(format!("no variable shows whether {name}={value} took effect"));
            continue;
        };
        match match_values(value, now) {
            SettingMatch::Same => {}
            SettingMatch::Rounded => {
                let text = format!("the server rounded {name}={value} to {now}");
                remarks.side_effects.push(text);
            }
            SettingMatch::Unknown => {
                let text = format!("{name} was asked as {value}, the server calls it {now}");
                remarks.notes.push(text);
            }
            SettingMatch::Other => mistakes.push(
                Mistake::new(
                    name.clone(),
                    format!("{value} was asked, and the server runs with {now}"),
                )
                .hint("give a value that the server keeps, or leave the setting out"),
            ),
        }
    }
    Mistakes::check(mistakes)?;
    Ok(remarks)
}

/// What differs from the first start and nobody asked for.
fn find_side_effects(
    first: &FirstStart,
    asked: &Settings,
    variables: &ServerVariables,
) -> Vec<String> {
    let meant: BTreeSet<String> =
        first.settings.iter().chain(asked).map(|(name, _)| variable_name(name)).collect();
    let is_meant = |name: &str| meant.contains(name) || RESTLESS.contains(&name);
    let names: BTreeSet<&String> = first.variables.keys().chain(variables.keys()).collect();
    let show = |value: Option<&String>| value.map_or("absent".to_owned(), Clone::clone);
    names
        .into_iter()
        .filter(|name| !is_meant(name) && first.variables.get(*name) != variables.get(*name))
        .map(|name| {
            let (was, now) = (show(first.variables.get(name)), show(variables.get(name)));
            format!("{name} is {now}, and {was} in the variant that started first")
        })
        .collect()
}

/// How a value fits what was asked.
#[derive(Debug, PartialEq, Eq)]
enum SettingMatch {
    /// The same, perhaps in other words.
    Same,
    /// A size that the server made a little larger.
    Rounded,
    /// Can't be told: a number for a word.
    Unknown,
    /// Another.
    Other,
}

fn match_values(asked: &str, now: &str) -> SettingMatch {
    let (asked, now) = (asked.trim(), now.trim());
    if asked.eq_ignore_ascii_case(now)
        || parse_switch(asked).is_some_and(|on| parse_switch(now) == Some(on))
    {
        return SettingMatch::Same;
    }
    if let (Some(wanted), Some(is)) = (parse_number(asked), parse_number(now)) {
        let is_size = wanted >= f64::from(1 << 20);
        return match () {
            () if (wanted - is).abs() <= 1e-9 * wanted.abs().max(1.0) => SettingMatch::Same,
            () if is_size && is > wanted && is < 2.0 * wanted => SettingMatch::Rounded,
            () => SettingMatch::Other,
        };
    }
    let parts = |text: &str| -> BTreeSet<String> {
        text.split(',').map(|part| part.trim().to_lowercase()).collect()
    };
    if now.contains(',') && parts(asked).is_subset(&parts(now)) {
        return SettingMatch::Same;
    }
    if asked.trim_end_matches('/') == now.trim_end_matches('/') {
        return SettingMatch::Same;
    }
    if parse_number(asked).is_some() { SettingMatch::Unknown } else { SettingMatch::Other }
}

fn parse_switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// A number as servers read it: `16M` is 16777216.
fn parse_number(text: &str) -> Option<f64> {
    let last = text.chars().next_back()?.to_ascii_uppercase();
    let Some(power) = "KMGTPE".find(last) else {
        return text.parse().ok().filter(|n: &f64| n.is_finite());
    };
    let digits = &text[..text.len() - 1];
    let is_whole = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
    is_whole.then(|| digits.parse::<f64>().ok().map(|n| n * 1024_f64.powi(power as i32 + 1)))?
}

/// A value as a statement takes it, which knows no `16M`.
pub(super) fn statement_value(value: &str) -> String {
    let has_suffix = value.chars().next_back().is_some_and(|c| c.is_ascii_alphabetic());
    match parse_number(value) {
        Some(number) if has_suffix => format!("{number:.0}"),
        _ => value.to_owned(),
    }
}

/// The name of a setting as the server stores it.
fn variable_name(name: &str) -> String {
    let name = name.trim_start_matches('-').replace('-', "_").to_ascii_lowercase();
    name.strip_prefix("loose_").unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(list: &[(&str, &str)]) -> Settings {
        list.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
    }

    fn runs_with(list: &[(&str, &str)]) -> ServerVariables {
        settings(list).into_iter().collect()
    }

    #[test]
    fn values_are_the_same_in_other_words() {
        for (asked, now) in [
            ("o_direct", "O_DIRECT"),
            ("1", "ON"),
            ("false", "OFF"),
            ("16M", "16777216"),
            ("0.5", "0.500000"),
            ("10", "10.000000"),
            ("mrr=on", "mrr=on,mrr_cost_based=off"),
            ("/x", "/x/"),
        ] {
            assert_eq!(match_values(asked, now), SettingMatch::Same, "{asked} {now}");
        }
        assert_eq!(match_values("200M", "268435456"), SettingMatch::Rounded);
        assert_eq!(match_values("4", "1"), SettingMatch::Other);
        assert_eq!(match_values("4", "O_DIRECT"), SettingMatch::Unknown);
        assert_eq!(match_values("fsync", "O_DIRECT"), SettingMatch::Other);
        assert_eq!(statement_value("16M"), "16777216");
        assert_eq!(statement_value("O_DIRECT"), "O_DIRECT");
        assert_eq!(statement_value("0.5"), "0.5");
    }

    #[test]
    fn a_value_that_the_server_does_not_keep_is_a_mistake_and_the_last_word_counts() {
        let now = runs_with(&[("innodb_buffer_pool_instances", "1"), ("a", "2")]);
        let asked = settings(&[("Innodb-Buffer-Pool-Instances", "4"), ("a", "1"), ("a", "2")]);
        let error = check_requested(&asked, &now).unwrap_err();
        let Mistakes(list) = error.downcast::<Mistakes>().unwrap();
        assert_eq!(list.len(), 1);
        assert_eq!(list[0].why, "4 was asked, and the server runs with 1");
        let remarks = check_requested(&settings(&[("skip_foo", "1")]), &now).unwrap();
        assert_eq!(remarks.notes, ["no variable shows whether skip_foo=1 took effect"]);
    }

    #[test]
    fn what_nobody_asked_for_is_a_side_effect() {
        let first = FirstStart {
            settings: settings(&[("instances", "1")]),
            variables: runs_with(&[("instances", "1"), ("cleaners", "1"), ("timestamp", "5")]),
        };
        let now = runs_with(&[("instances", "4"), ("cleaners", "4"), ("timestamp", "6")]);
        assert_eq!(
            find_side_effects(&first, &settings(&[("instances", "4")]), &now),
            ["cleaners is 4, and 1 in the variant that started first"]
        );
    }
}
