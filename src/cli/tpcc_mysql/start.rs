//! `tpcc_start`.

use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

use anyhow::Context as _;

use super::super::context::CliContext;
use super::super::exit::CommandOutcome;
use super::words::TpccWords;
use super::{address_text, build_workload, check_own_tables, connect};
use crate::analysis::{interval_class_times, judge_recording};
use crate::base::{RealClock, StopReason};
use crate::client::Target;
use crate::experiment::{LoadListener, run_bare_load};
use crate::plan::{AddressPlan, LoadPlan};
use crate::recorder::{Interval, Recording};
use crate::report::tpcc_mysql as lines;

/// Shortest part of an interval that gets its line.
const LEAST_OF_INTERVAL: f64 = 0.5;

pub(super) fn run_load(words: &TpccWords, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    context.print_output(&format!(
        "{} [connection]: {}\n     [rampup]: {} (sec.)\n    [measure]: {} (sec.)\n\n",
        address_text(words),
        words.connections,
        words.ramp_up_s,
        words.measured_s
    ))?;
    let target = Target::new(&words.address)?;
    for name in words.database_names() {
        let plan = AddressPlan { database: Some(name), ..words.address.clone() };
        check_own_tables(&mut connect(&target.with_plan(&plan)?, context)?)?;
    }
    let mut options = vec![
        ("warehouses", words.warehouses.to_string()),
        ("mix", "deck23".to_owned()),
        ("databases", words.databases.to_string()),
        ("first-database", words.first_database.to_string()),
    ];
    let order_log = words.order_log.as_ref().map(|path| path.to_string_lossy().into_owned());
    options.extend(order_log.map(|path| ("order-log", path)));
    let workload = build_workload(&target, &options)?;
    workload.check_ready(&context.stop)?;
    let mut file = words
        .report_file
        .as_ref()
        .map(|path| File::create(path).with_context(|| format!("write {}", path.display())));
    let mut file = file.take().transpose()?;
    let seed = RealClock::start_now().origin_unix_ns();
    context.print_output(&format!("RAMP-UP TIME.({} sec.)\n\n", words.ramp_up_s))?;
    if words.ramp_up_s > 0 {
        let ramp = load_plan(words, words.ramp_up_s);
        let listener = LoadListener { started: &mut || {}, interval: &mut |_| {} };
        let recording = run_bare_load(&ramp, seed, &*workload, &context.stop, listener)?;
        if let Some(ended) = early_end(&recording) {
            return ended;
        }
    }
    context.print_output(&format!("{}\n", lines::MEASURING))?;
    let mut began = None;
    let mut show = |interval: &Interval| {
        let began = *began.get_or_insert(interval.began);
        let length_s = interval.ended.since(interval.began).to_seconds();
        if length_s < words.interval_s as f64 * LEAST_OF_INTERVAL {
            return;
        }
        let at_s = interval.ended.since(began).to_seconds();
        let line = lines::interval_line(at_s, &interval_class_times(interval));
        // That the reader has gone is no reason to stop a load; the end of it tells.
        let _ = context.print_output(&line);
        if let Some(file) = &mut file {
            let _ = file.write_all(line.as_bytes());
        }
    };
    let load = load_plan(words, words.measured_s);
    workload.start_load();
    let listener = LoadListener { started: &mut || {}, interval: &mut show };
    let seed = seed.wrapping_add(1);
    let mut recording = run_bare_load(&load, seed, &*workload, &context.stop, listener)?;
    recording.audit = workload.audit_load();
    print_results(&mut recording, words, context)?;
    early_end(&recording).unwrap_or(Ok(CommandOutcome::Done))
}

fn load_plan(words: &TpccWords, seconds: u64) -> LoadPlan {
    LoadPlan {
        workers: words.connections as usize,
        time: Some(Duration::from_secs(seconds)),
        interval: Duration::from_secs(words.interval_s),
        all_sessions: true,
        ..LoadPlan::default()
    }
}

fn print_results(
    recording: &mut Recording,
    words: &TpccWords,
    context: &CliContext,
) -> anyhow::Result<()> {
    context.print_output(&lines::stopping_text(recording.workers))?;
    let limits = recording.audit.iter_mut().flat_map(|audit| &mut audit.limits);
    for (limit, given) in limits.zip(words.limits_s) {
        limit.most_s = given.unwrap_or(limit.most_s);
    }
    let Some(audit) = judge_recording(recording) else { return Ok(()) };
    let total = &recording.total;
    let seconds = total.ended.since(total.began).to_seconds();
    context.print_output(&lines::results_text(&audit, seconds))?;
    let restarts = recording.audit.iter().flat_map(|audit| &audit.restart_codes);
    let restarts: Vec<u16> = restarts.copied().collect();
    for error in recording.errors.iter().filter(|one| !restarts.contains(&one.error.code)) {
        let class = recording.class_names.get(usize::from(error.class.0));
        context.print_note(&format!(
            "{} of {}: error {}: {}",
            error.count,
            class.map_or("transactions", String::as_str),
            error.error.code,
            error.first_text
        ));
    }
    Ok(())
}

/// What becomes of the program where a load did not come to its end.
fn early_end(recording: &Recording) -> Option<anyhow::Result<CommandOutcome>> {
    if let Some(why) = &recording.failure {
        return Some(Err(anyhow::anyhow!("{why}")));
    }
    match recording.reason {
        StopReason::Done => None,
        StopReason::Interrupted => Some(Ok(CommandOutcome::Interrupted)),
        StopReason::TargetLost => {
            Some(Err(anyhow::anyhow!("all connections to the server are lost")))
        }
        StopReason::Failed => Some(Err(anyhow::anyhow!("the load failed"))),
    }
}
