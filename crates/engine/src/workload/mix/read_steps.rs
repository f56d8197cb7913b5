//! From the text of a file to its spec: transactions, their steps, and sessions.

use super::formula::{Formula, FormulaName, OwnedScalar};
use super::formula_parser::parse_formula;
use super::pieces::{parse_count_check, parse_pause, parse_sql};
use super::read::{check_name, parse_formula_of, read_formula};
use super::spec::{
    BeginSpec, CountCheck, ExpectSpec, FlowSpec, LoginSpec, NamedFormula, PauseRule, RetrySpec,
    SessionSpec, StepAction, StepSpec, TransactionSpec,
};
use crate::base::units::parse_share;
use crate::plan::PlanSection;

/// Levels of isolation that a transaction may ask for.
const ISOLATION: [&str; 4] =
    ["read uncommitted", "read committed", "repeatable read", "serializable"];
/// Most rounds that a flow may make of one transaction.
const MOST_ROUNDS: u64 = 1_000_000;

pub(super) fn read_transactions(section: &PlanSection<'_>) -> Vec<TransactionSpec> {
    let read = |(name, transaction): (String, PlanSection<'_>)| {
        let weight = transaction.read_number("weight").unwrap_or(1.0);
        if !(weight >= 0.0 && weight.is_finite()) {
            transaction.add_mistake("weight", "it is below 0", None);
        }
        let given = transaction.read_sections("steps");
        let steps: Vec<StepSpec> = given.iter().filter_map(read_step).collect();
        if given.is_empty() {
            let hint = "steps = [ {sql = \"select 1\"} ]";
            transaction.add_own_mistake("it has no steps", Some(hint.to_owned()));
        }
        let spec = TransactionSpec {
            weight,
            share: read_share(&transaction),
            think: read_pause(&transaction, "think"),
            begin: read_begin(&transaction),
            retry: read_retry(&transaction.read_section("retry")),
            class: transaction.read_text("class").unwrap_or_else(|| name.clone()),
            steps,
            name,
        };
        transaction.check_unknown_keys();
        spec
    };
    section.named_sections().into_iter().map(read).collect()
}

/// A share of all, 0 to 1.
fn read_share(section: &PlanSection<'_>) -> Option<f64> {
    let text = section.read_text("share")?;
    match parse_share(&text) {
        Ok(share) if share <= 1.0 => Some(share),
        _ => {
            let why = format!("`{text}` is not a share");
            section.add_mistake("share", &why, Some("share = \"80%\"".to_owned()));
            None
        }
    }
}

pub(super) fn read_pause(section: &PlanSection<'_>, key: &'static str) -> Option<PauseRule> {
    match parse_pause(&section.read_text(key)?) {
        Ok(pause) => Some(pause),
        Err(why) => {
            section.add_mistake(key, &why, Some("as in 2s or exp:10ms".to_owned()));
            None
        }
    }
}

fn read_begin(section: &PlanSection<'_>) -> BeginSpec {
    let Some(text) = section.read_text("begin") else { return BeginSpec::Auto };
    let words = text.to_ascii_lowercase();
    match words.as_str() {
        "on" | "true" => return BeginSpec::On,
        "off" | "false" => return BeginSpec::Off,
        "read only" => return BeginSpec::ReadOnly,
        _ => {}
    }
    let level = words.strip_prefix("isolation ").map(str::trim);
    match level.filter(|level| ISOLATION.contains(level)) {
        Some(level) => BeginSpec::Isolation(level.to_ascii_uppercase()),
        None => {
            let hint = "true, false, \"read only\" or \"isolation serializable\"";
            let why = format!("`{text}` is not known");
            section.add_mistake("begin", &why, Some(hint.to_owned()));
            BeginSpec::Auto
        }
    }
}

fn read_retry(section: &PlanSection<'_>) -> RetrySpec {
    let texts = section.read_texts("on").unwrap_or_default();
    let codes: Option<Vec<u16>> = texts.iter().map(|text| text.parse().ok()).collect();
    if codes.as_ref().is_none_or(|codes| codes.is_empty() && section.is_present()) {
        let hint = "on = [1213, 1205]";
        section.add_mistake("on", "it is not a list of error numbers", Some(hint.to_owned()));
    }
    let spec = RetrySpec {
        codes: codes.unwrap_or_default(),
        times: section.read_count("times", 0, 1_000_000).unwrap_or(1),
        wait: read_pause(section, "wait"),
    };
    section.check_unknown_keys();
    spec
}

fn read_step(section: &PlanSection<'_>) -> Option<StepSpec> {
    if section.has_key("http") {
        section.read_text("http");
        let hint = "a step is sql or sleep; `sweat bench http` loads web servers";
        section.add_mistake("http", "requests by HTTP are not supported", Some(hint.to_owned()));
    }
    let what = match (section.has_key("sql"), section.has_key("sleep")) {
        (true, false) => section.read_text("sql").and_then(|text| match parse_sql(&text) {
            Ok(sql) => Some(StepAction::Sql(sql)),
            Err(why) => {
                section.add_mistake("sql", &why, None);
                None
            }
        }),
        (false, true) => read_pause(section, "sleep").map(StepAction::Sleep),
        _ => {
            let hint = "sql = \"..\" or sleep = \"10ms\"";
            section.add_own_mistake("a step does one thing", Some(hint.to_owned()));
            None
        }
    };
    let chance = section.read_number("chance").unwrap_or(1.0);
    if !(0.0..=1.0).contains(&chance) {
        let hint = "a share, as in 0.05";
        section.add_mistake("chance", "it is not between 0 and 1", Some(hint.to_owned()));
    }
    let keep = section.read_section("keep");
    let keeps: Vec<(String, String)> =
        keep.read_pairs().into_iter().map(|(name, column, _)| (name, column)).collect();
    keeps.iter().for_each(|(name, _)| check_name(&keep, name));
    let results = [("drop", ()), ("read", ())];
    section.read_choice("result", &results);
    let spec = StepSpec {
        place: section.place_text(),
        class: section.read_text("class"),
        repeat: read_repeat(section),
        chance,
        when: read_formula(section, "when"),
        keeps,
        expect: read_expect(&section.read_section("expect")),
        as_text: section.read_switch("text").unwrap_or(false),
        what: what.unwrap_or(StepAction::Sleep(PauseRule::Fixed(0.0))),
    };
    section.check_unknown_keys();
    Some(spec)
}

/// `repeat = 3`, `"1..5"`, `[1, 5]`, `"lines"`.
fn read_repeat(section: &PlanSection<'_>) -> Option<(NamedFormula, NamedFormula)> {
    let texts = section.read_list_or_text("repeat")?;
    let (low, high) = match &texts[..] {
        [one] => match one.split_once("..") {
            Some((low, high)) => (low.to_owned(), high.to_owned()),
            None => (one.clone(), one.clone()),
        },
        [low, high] => (low.clone(), high.clone()),
        _ => {
            section.add_mistake("repeat", "it is one number or two", None);
            return None;
        }
    };
    let low = parse_formula_of(section, "repeat", &low)?;
    Some((low, parse_formula_of(section, "repeat", &high)?))
}

fn read_expect(section: &PlanSection<'_>) -> ExpectSpec {
    let check = |key: &'static str| -> Option<CountCheck> {
        match parse_count_check(&section.read_text(key)?) {
            Ok(check) => Some(check),
            Err(why) => {
                section.add_mistake(key, &why, Some("as in 1, >= 1 or 0..10".to_owned()));
                None
            }
        }
    };
    let expect = ExpectSpec {
        rows: check("rows"),
        affected: check("affected"),
        columns: check("columns"),
        value: section.read_text("value"),
        values: match section.has_key("values") {
            true => section.read_texts("values").unwrap_or_default(),
            false => Vec::new(),
        },
    };
    section.check_unknown_keys();
    expect
}

pub(super) fn read_sessions(section: &PlanSection<'_>) -> Vec<SessionSpec> {
    let read = |(name, session): (String, PlanSection<'_>)| {
        let share = read_share(&session);
        let workers = session.read_count("workers", 1, 100_000);
        if share.is_some() && workers.is_some() {
            let hint = "leave out one of them";
            session.add_mistake("workers", "both workers and share", Some(hint.to_owned()));
        }
        let spec = SessionSpec {
            place: session.place_text(),
            share,
            workers,
            flow: read_flow(&session),
            init: session.read_texts("init").unwrap_or_default(),
            think: read_pause(&session, "think"),
            login: LoginSpec {
                user: session.read_text("user"),
                host: session.read_text("host"),
                port: session.read_count("port", 1, 65_535).map(|port| port as u16),
                password_env: session.read_text("password-env"),
            },
            rate: session.read_rate("rate"),
            reconnect_every: session.read_count("reconnect-every", 0, u64::MAX).unwrap_or(0),
            name,
        };
        session.check_unknown_keys();
        spec
    };
    section.named_sections().into_iter().map(read).collect()
}

fn read_flow(section: &PlanSection<'_>) -> FlowSpec {
    let mix = section.read_section("mix");
    let order = section.read_texts("order");
    match (mix.is_present(), order) {
        (true, Some(_)) => {
            let hint = "leave out one of them";
            section.add_mistake("order", "both order and mix", Some(hint.to_owned()));
            FlowSpec::All
        }
        (true, None) => {
            let pairs = mix.read_pairs().into_iter();
            let pairs: Vec<(String, f64)> = pairs
                .filter_map(|(name, text, _)| {
                    let weight = text.parse().ok().filter(|w: &f64| *w >= 0.0 && w.is_finite());
                    if weight.is_none() {
                        mix.add_own_mistake(&format!("`{text}` of {name} is not a weight"), None);
                    }
                    weight.map(|weight| (name, weight))
                })
                .collect();
            if pairs.iter().all(|(_, weight)| *weight == 0.0) {
                mix.add_own_mistake("nothing in it has a weight", None);
            }
            FlowSpec::Mix(pairs)
        }
        (false, Some(order)) => {
            let rounds: Vec<_> =
                order.iter().filter_map(|text| read_round(section, text)).collect();
            if order.is_empty() {
                section.add_mistake("order", "there is nothing in it", None);
            }
            FlowSpec::Order(rounds)
        }
        (false, None) => FlowSpec::All,
    }
}

/// `browse`, `browse*3`, `browse*3..7`.
fn read_round(section: &PlanSection<'_>, text: &str) -> Option<(String, u64, u64)> {
    let (name, times) = text.split_once('*').unwrap_or((text, "1"));
    let (low, high) = times.split_once("..").unwrap_or((times, times));
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|n| *n <= MOST_ROUNDS);
    match number(low).zip(number(high)).filter(|(low, high)| low <= high && *high > 0) {
        Some((low, high)) => Some((name.trim().to_owned(), low, high)),
        None => {
            let hint = "as in \"browse*3..7\"";
            let why = format!("`{text}` is not a transaction and how often");
            section.add_mistake("order", &why, Some(hint.to_owned()));
            None
        }
    }
}

/// What a check of a value reads: a number or a text.
pub(super) fn expected_value(text: &str) -> Formula<FormulaName> {
    parse_formula(text).unwrap_or_else(|_| Formula::Constant(OwnedScalar::from_typed(text)))
}
