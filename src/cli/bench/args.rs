//! From the words of `sweat bench` to a plan.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::super::arguments::text_arg;
use super::super::connection::{self, HostRule};
use super::super::context::CliContext;
use super::super::foreign::foreign_hint;
use super::super::run_names::find_plan;
use super::super::{present, run};
use super::flags::OWN;
use crate::base::units::{parse_count, parse_rate_from_zero, parse_time, parse_wall_time};
use crate::base::{Nanos, RealClock};
use crate::plan::{
    ArrivalPlan, ArrivalSpacing, DEFAULT_RUNS_DIR, EnginePlan, IsolatePlan, LONGEST_UNTIL_STEADY,
    LoadPlan, LoadShare, MOST_WORKERS, Mistake, Mistakes, OptionKind, Plan, RateStages, TargetPlan,
    VariantPlan, nearest_or_all,
};
use crate::probe::PROBES;
use crate::workload::{DataDeed, EndpointKind, KINDS, check_options, find_kind};

/// Commands that take a workload.
pub(in super::super) const COMMANDS: &[&str] = &["bench", "capacity", "sweep", "waits"];
/// What can be done with a workload.
const DEEDS: [&str; 4] = ["prepare", "run", "cleanup", "help"];
/// The option that says how often a file of statements is run through.
const PASSES: &str = "passes";
/// Percentiles that the summary shows; 0 is sysbench's word for none.
const SHOWN: &[&str] = &["50", "95", "99", "99.9", "0"];
/// How long a load runs that is told neither a time nor a number of events.
const TIME: Duration = Duration::from_secs(10);

/// Moves the workload's name to the front, since sysbench takes options before it: `bench --tables=4 null run`.
/// `takes_value` says whether the word after this flag is its value.
pub(in super::super) fn move_workload_first(
    args: &mut [OsString],
    takes_value: &dyn Fn(&str) -> bool,
) {
    let is_one = |word: &OsString| COMMANDS.iter().any(|command| word == command);
    let Some(command) = args.iter().position(is_one) else { return };
    let rest = &mut args[command + 1..];
    let mut at = 0;
    while at < rest.len() {
        let word = rest[at].to_string_lossy();
        if KINDS.iter().any(|kind| kind.name() == word) {
            rest[..=at].rotate_right(1);
            return;
        }
        // What a sweep varies stands before the workload too: threads=1,2,4.
        let is_axis = !word.starts_with('-') && word.contains('=');
        if is_axis {
            at += 1;
            continue;
        }
        if word == "--" || !word.starts_with('-') {
            return;
        }
        at += if takes_value(&word) { 2 } else { 1 };
    }
}

/// Gives a bare word behind a workload that takes one its flag: `bench lua own.lua` is `bench lua --script=own.lua`. Of an
/// option that keeps all that it is given, every bare word is one.
pub(in super::super) fn name_bare_word(args: &mut [OsString], takes_value: &dyn Fn(&str) -> bool) {
    let is_one = |word: &OsString| COMMANDS.iter().any(|command| word == command);
    let Some(command) = args.iter().position(is_one) else { return };
    let Some(name) = args.get(command + 1) else { return };
    let kind = KINDS.iter().find(|kind| name == kind.name());
    let Some((kind, option)) = kind.and_then(|k| Some((k, k.bare_word_option()?))) else { return };
    let takes_all =
        kind.option_specs().iter().any(|s| s.name == option && s.kind == OptionKind::Lines);
    let flag = format!("--{option}");
    let mut at = command + 2;
    while let Some(word) = args.get(at).map(|word| word.to_string_lossy().into_owned()) {
        if word == "--" || word.starts_with(&flag) && !takes_all {
            return;
        }
        let is_bare = word == "-" || !word.starts_with('-');
        if is_bare && !DEEDS.contains(&word.as_str()) && !is_axis(&word, takes_all) {
            args[at] = format!("{flag}={word}").into();
            if takes_all {
                at += 1;
                continue;
            }
            return;
        }
        at += if takes_value(&word) { 2 } else { 1 };
    }
}

/// Whether a word is an axis of a sweep, `threads=1,8`; where a bare word may hold anything, its name must be one.
fn is_axis(word: &str, may_hold_anything: bool) -> bool {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || "-_".contains(c));
    word.split_once('=').is_some_and(|(name, _)| !may_hold_anything || is_name(name))
}

/// The plan that file and words name together, for so many servers if the workload takes them.
///
/// # Errors
/// All mistakes together.
pub(in super::super) fn plan_from_args(
    workload: Option<&str>,
    args: &ArgMatches,
    context: &CliContext,
    hosts: HostRule,
) -> anyhow::Result<Plan> {
    let mut mistakes = Vec::new();
    let mut plan = base_plan(workload, args, context)?;
    let specs = find_kind(&plan.workload.kind)?;
    apply_load_flags(&mut plan.load, args, specs.ends_by_itself(), &mut mistakes);
    mistakes.extend(sysbench_mistakes(args));
    if workload.is_some() {
        let mut given = workload_options(args);
        let has_end = ["events", "time", "until-steady"].iter().any(|id| is_typed(args, id));
        let has_passes = specs.option_specs().iter().any(|option| option.name == PASSES);
        if has_end && has_passes && given.iter().all(|(name, _)| name != PASSES) {
            // Whoever says when the load ends does not want it to end with the file.
            given.push((PASSES.to_owned(), "0".to_owned()));
        }
        match check_options(specs, &given) {
            Ok(options) => plan.workload.options = options,
            Err(list) => mistakes.extend(list),
        }
    }
    if let Some(list) = args.get_one::<String>("probes") {
        plan.probes.names = list.split(',').map(|name| name.trim().to_owned()).collect();
        mistakes.extend(plan.probes.names.iter().filter_map(|name| probe_mistake(name)));
    }
    if args.contains_id("interval") || args.get_one::<String>("plan").is_none() {
        plan.probes.interval = plan.load.interval;
    }
    match parse_time_flag(args, "probe-interval", &mut mistakes) {
        Some(interval) if interval < Duration::from_millis(10) => {
            mistakes.push(flag_mistake("probe-interval", "it is too short", "at least 10ms"));
        }
        Some(interval) => plan.probes.interval = interval,
        None => {}
    }
    if args.get_flag("check-data") {
        match specs.data_actions().iter().any(|action| action.deed == DataDeed::Check) {
            true => plan.check_data = Some(true),
            false => mistakes.push(flag_mistake(
                "check-data",
                &format!("{} states no rules for its data", specs.name()),
                "leave it out",
            )),
        }
    }
    apply_isolate_flags(&mut plan, args, &mut mistakes);
    plan.warmup = parse_time_flag(args, "warmup", &mut mistakes).or(plan.warmup);
    plan.warmup = plan.warmup.filter(|time| !time.is_zero());
    if plan.warmup.is_some() && specs.as_recorded().is_some() {
        let hint = "leave it out, or fill the pool before: `sweat warm --help`";
        mistakes.push(flag_mistake("warmup", "a log is replayed once, from its beginning", hint));
    }
    if let Some(seed) = parse_count_flag(args, "seed", 0, u64::MAX, &mut mistakes) {
        plan.seed = seed;
    }
    // The shares of a load must draw the same numbers: without a seed they are refused.
    if plan.seed == 0 && plan.load.share.is_none() {
        plan.seed = RealClock::start_now().origin_unix_ns() / 1000 % 1_000_000_000;
    }
    match present::allowed_caveats(args) {
        Ok(ids) => plan.allow.extend(ids),
        Err(list) => mistakes.extend(list),
    }
    Mistakes::check(mistakes)?;
    let is_one = !specs.takes_several_servers() || plan.isolate.is_some() || plan.prepare;
    let hosts = if is_one { HostRule::One } else { hosts };
    plan.target = match specs.endpoint_kind() {
        EndpointKind::MySql => connection::resolve_target(args, context, &plan.target, hosts)?,
        EndpointKind::None | EndpointKind::Url => observed_server(args, context, &plan.target)?,
    };
    plan.prepare |= matches!(plan.target, TargetPlan::Sandbox(_)) || specs.makes_data_in_run();
    Ok(plan)
}

/// The server behind an application, which is looked at meanwhile. Only words and plans name it; ours would be idle.
fn observed_server(
    args: &ArgMatches,
    context: &CliContext,
    planned: &TargetPlan,
) -> anyhow::Result<TargetPlan> {
    match planned {
        TargetPlan::Address(_) => connection::overlay_target(args, context, planned, HostRule::One),
        _ => connection::overlay_target(args, context, &TargetPlan::None, HostRule::One),
    }
}

/// `--isolate`, which only `bench` has.
fn apply_isolate_flags(plan: &mut Plan, args: &ArgMatches, mistakes: &mut Vec<Mistake>) {
    if !matches!(args.try_contains_id("isolate"), Ok(true)) {
        return;
    }
    let mut isolate = plan.isolate.unwrap_or_default();
    let (least, most) = (IsolatePlan::LEAST_ROUNDS, IsolatePlan::MOST_ROUNDS);
    if let Some(rounds) = parse_count_flag(args, "isolate", least, most, mistakes) {
        isolate.rounds = rounds as u32;
    }
    match parse_time_flag(args, "isolate-time", mistakes) {
        Some(time) if time < IsolatePlan::LEAST_TIME => {
            mistakes.push(flag_mistake("isolate-time", "it is too short", "at least 200ms"));
        }
        Some(time) => isolate.time = time,
        None => {}
    }
    plan.isolate = Some(isolate);
}

/// Whether a flag was typed.
fn is_typed(args: &ArgMatches, id: &str) -> bool {
    args.value_source(id) == Some(ValueSource::CommandLine)
}

/// What sysbench's flags ask for that is not shown here anyway.
fn sysbench_mistakes(args: &ArgMatches) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    let percentile = args.get_one::<String>("percentile").map(|text| text.trim().to_owned());
    if let Some(text) = percentile.filter(|text| !SHOWN.contains(&text.as_str())) {
        mistakes.push(flag_mistake(
            "percentile",
            &format!("{text} is not among the percentiles that are shown: {}", SHOWN.join(", ")),
            &foreign_hint("--percentile"),
        ));
    }
    let histogram = text_arg(args, "histogram");
    if is_typed(args, "histogram") && !matches!(histogram, Some("off" | "0" | "false")) {
        mistakes.push(flag_mistake(
            "histogram",
            "no histogram is printed",
            &foreign_hint("--histogram"),
        ));
    }
    mistakes
}

fn probe_mistake(name: &str) -> Option<Mistake> {
    let names: Vec<&str> = PROBES.iter().map(|probe| probe.name).collect();
    if names.contains(&name) {
        return None;
    }
    let hint = nearest_or_all(name, names.iter().copied());
    Some(flag_mistake("probes", &format!("`{name}` is not known"), &hint))
}

/// The plan of the file, or the defaults.
fn base_plan(
    workload: Option<&str>,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<Plan> {
    let mut plan = match args.get_one::<String>("plan") {
        Some(given) => {
            let runs_dir = Path::new(text_arg(args, "runs-dir").unwrap_or(DEFAULT_RUNS_DIR));
            run::read_plan(&find_plan(given, runs_dir)?, context)?.0
        }
        None => Plan {
            variants: vec![VariantPlan::default()],
            passes: 1,
            runs_dir: PathBuf::from(DEFAULT_RUNS_DIR),
            ..Plan::default()
        },
    };
    if let Some(workload) = workload {
        plan.workload.kind = workload.to_owned();
    } else if plan.workload.kind.is_empty() {
        return Err(Mistake::new("WORKLOAD", "no workload is named")
            .hint(format!("one of {}", workload_names().join(", ")))
            .into());
    }
    let has_plan = args.contains_id("plan");
    context.defaults.apply_to_plan(&mut plan, args, !has_plan);
    match args.get_one::<String>("name") {
        Some(name) => plan.name.clone_from(name),
        None if plan.name.is_empty() => plan.name.clone_from(&plan.workload.kind),
        None => {}
    }
    Ok(plan)
}

fn workload_names() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name()).collect()
}

/// The workload's own options as typed, in order.
fn workload_options(args: &ArgMatches) -> Vec<(String, String)> {
    let mut given = Vec::new();
    for id in args.ids().filter(|id| id.as_str().starts_with(OWN)) {
        let name = &id.as_str()[OWN.len()..];
        for value in args.get_many::<String>(id.as_str()).into_iter().flatten() {
            given.push((name.to_owned(), value.clone()));
        }
    }
    given
}

/// Lays the flags of a load over the plan. `ends` says that the workload comes to an end of its own.
fn apply_load_flags(
    load: &mut LoadPlan,
    args: &ArgMatches,
    ends: bool,
    mistakes: &mut Vec<Mistake>,
) {
    if let Some(workers) = parse_count_flag(args, "threads", 1, MOST_WORKERS, mistakes) {
        load.workers = workers as usize;
    }
    let told_time = parse_time_flag(args, "time", mistakes);
    let told_events = parse_count_flag(args, "events", 0, u64::MAX, mistakes);
    load.time = told_time.or(load.time).filter(|t| !t.is_zero());
    load.events = told_events.or(load.events).filter(|n| *n > 0);
    load.until_steady |= args.get_flag("until-steady");
    apply_arrival(load, args, mistakes);
    if let Some(stages) = load.arrival.stages() {
        if told_time.is_some() {
            let hint = "leave out --time; the load lasts as long as its stages";
            mistakes.push(flag_mistake("time", "the stages have times of their own", hint));
        }
        if load.until_steady {
            let hint = "leave it out, or give a rate instead of stages";
            let why = "a changing rate has no steady state";
            mistakes.push(flag_mistake("until-steady", why, hint));
        }
        load.time = Some(stages.total_time());
    }
    let endless = load.time.is_none() && load.events.is_none() && !ends;
    if endless && told_time.is_none() {
        load.time = Some(if load.until_steady { LONGEST_UNTIL_STEADY } else { TIME });
    }
    match parse_time_flag(args, "interval", mistakes) {
        Some(interval) if interval < Duration::from_millis(10) => {
            mistakes.push(flag_mistake("interval", "it is too short", "at least 10ms"));
        }
        Some(interval) => load.interval = interval,
        None => {}
    }
    load.grace = parse_time_flag(args, "grace", mistakes).unwrap_or(load.grace);
    apply_share(load, args, mistakes);
    load.reconnect |= args.get_flag("reconnect");
    load.precise |= args.get_flag("precise");
    match text_arg(args, "engine") {
        None => {}
        Some("auto") => load.engine = EnginePlan::Auto,
        Some("threads") => load.engine = EnginePlan::Threads,
        Some("reactor") => load.engine = EnginePlan::Reactor,
        Some(_) => {
            mistakes.push(flag_mistake("engine", "no such engine", "auto, threads or reactor"))
        }
    }
}

/// How far ahead a load may start: one day.
const MOST_AHEAD: Nanos = Nanos(86_400_000_000_000);

/// Which share of the load is run here, and when it starts.
fn apply_share(load: &mut LoadPlan, args: &ArgMatches, mistakes: &mut Vec<Mistake>) {
    match text_arg(args, "share").map(LoadShare::parse) {
        None => {}
        Some(Ok(share)) => load.share = Some(share),
        Some(Err(why)) => {
            let hint = "as in --share 2/3, the second of three equal shares";
            mistakes.push(flag_mistake("share", &why, hint));
        }
    }
    let Some(text) = text_arg(args, "start-at") else { return };
    let clock = RealClock::start_now();
    match parse_wall_time(text).map(|time| Nanos::from(time).0) {
        Ok(at) if at <= clock.origin_unix_ns() => {
            let hint = "name a time some seconds ahead: --start-at @$(($(date +%s) + 20))";
            mistakes.push(flag_mistake("start-at", "it has passed", hint));
        }
        Ok(at) if at - clock.origin_unix_ns() > MOST_AHEAD.0 => {
            mistakes.push(flag_mistake("start-at", "it is more than a day ahead", "in UTC"));
        }
        Ok(at) => load.start_at_unix_ns = Some(at),
        Err(e) => {
            let hint = "as in @1795383000 or 2026-11-22T21:30:00Z";
            mistakes.push(flag_mistake("start-at", &e.to_string(), hint));
        }
    }
}

fn apply_arrival(load: &mut LoadPlan, args: &ArgMatches, mistakes: &mut Vec<Mistake>) {
    if let Some(text) = args.get_one::<String>("stages") {
        match stages_arrival(text, args) {
            Ok(arrival) => load.arrival = arrival,
            Err(list) => mistakes.extend(list),
        }
        return;
    }
    let rate = args.get_one::<String>("rate").map(|text| parse_rate_from_zero(text));
    let kind = text_arg(args, "arrival");
    let think = parse_time_flag(args, "think", mistakes);
    match (rate, kind) {
        (Some(Ok(rate)), Some("constant")) if rate > 0.0 => {
            load.arrival = ArrivalPlan::Constant { per_second: rate };
        }
        (Some(Ok(rate)), None | Some("poisson")) if rate > 0.0 => {
            load.arrival = ArrivalPlan::Poisson { per_second: rate };
        }
        // As in sysbench, rate 0 is a closed loop.
        (Some(Ok(0.0)), None) => load.arrival = ArrivalPlan::default(),
        (Some(Ok(0.0)), Some("constant" | "poisson")) => {
            let hint = "leave out --arrival for a closed loop, or name a rate as in 20k/s";
            mistakes.push(flag_mistake("rate", "an open loop has a rate above 0", hint));
        }
        (Some(Err(e)), _) => {
            let hint = "events per second, as in 1000 or 20k/s";
            mistakes.push(flag_mistake("rate", &e.to_string(), hint));
        }
        (_, Some("poisson" | "constant")) => {
            mistakes.push(flag_mistake("arrival", "an open loop needs a rate", "add --rate=1000"));
        }
        (_, Some(_)) => {
            mistakes.push(flag_mistake("arrival", "no such arrival", "poisson or constant"));
        }
        (None | Some(Ok(_)), None) => {}
    }
    if let Some(think) = think {
        match &mut load.arrival {
            ArrivalPlan::Closed { think: pause } => *pause = think,
            _ => mistakes.push(flag_mistake(
                "think",
                "only a closed loop has think time",
                "leave out --rate, or --think",
            )),
        }
    }
}

/// What `--stages` and `--arrival` say together.
fn stages_arrival(text: &str, args: &ArgMatches) -> Result<ArrivalPlan, Vec<Mistake>> {
    let mut mistakes = Vec::new();
    for (name, why, hint) in [
        ("rate", "both a rate and stages", "leave out --rate, or --stages"),
        ("think", "only a closed loop has think time", "leave out --stages, or --think"),
    ] {
        if args.contains_id(name) {
            mistakes.push(flag_mistake(name, why, hint));
        }
    }
    let spacing = match text_arg(args, "arrival") {
        None | Some("poisson") => ArrivalSpacing::Poisson,
        Some("constant") => ArrivalSpacing::Constant,
        Some(_) => {
            mistakes.push(flag_mistake("arrival", "no such arrival", "poisson or constant"));
            ArrivalSpacing::Poisson
        }
    };
    let stages = RateStages::parse(text);
    let hint = "as in --stages '10s:0..500, 1m:500, 10s:500..0'";
    let wrong = stages.as_ref().err().into_iter().flatten();
    mistakes.extend(wrong.map(|why| flag_mistake("stages", why, hint)));
    match stages {
        Ok(stages) if mistakes.is_empty() => Ok(ArrivalPlan::Stages { stages, spacing }),
        _ => Err(mistakes),
    }
}

fn flag_mistake(name: &str, why: &str, hint: &str) -> Mistake {
    Mistake::new(format!("--{name}"), why).hint(hint)
}

fn parse_time_flag(args: &ArgMatches, name: &str, mistakes: &mut Vec<Mistake>) -> Option<Duration> {
    match args.get_one::<String>(name).map(|text| parse_time(text)) {
        Some(Err(e)) => {
            mistakes.push(flag_mistake(name, &e.to_string(), "as in 5s"));
            None
        }
        other => other.and_then(Result::ok),
    }
}

pub(super) fn parse_count_flag(
    args: &ArgMatches,
    name: &str,
    least: u64,
    most: u64,
    mistakes: &mut Vec<Mistake>,
) -> Option<u64> {
    match args.get_one::<String>(name).map(|text| parse_count(text))? {
        Ok(count) if (least..=most).contains(&count) => Some(count),
        Ok(count) => {
            let hint = format!("{least} to {most}");
            mistakes.push(flag_mistake(name, &format!("{count} is out of range"), &hint));
            None
        }
        Err(e) => {
            mistakes.push(flag_mistake(name, &e.to_string(), "as in 1000"));
            None
        }
    }
}

#[cfg(test)]
mod tests;
