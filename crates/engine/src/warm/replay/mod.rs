//! Warming by recorded traffic: the statements of a log that read are sent again, each once, as fast as they go.
//! The same workload as a replay's; only what it is told differs.

use anyhow::Context as _;

use super::{WarmContext, WarmEvent, WarmOutcome, WarmStrategy, read_pool_status};
use crate::base::{Clock as _, StopReason};
use crate::driver::{self, SilenceWatch};
use crate::plan::{
    EnginePlan, LoadPlan, Mistake, Mistakes, OptionKind, OptionSpec, Options, WritesPlan,
};
use crate::recorder::{Interval, ReplayTotals, ReplayedClass};
use crate::workload::{self, Endpoint, JobProgress, Workload, WorkloadKind as _};

/// The strategy.
pub struct ReplayStrategy;

/// What a replay can be told that warming can't: it measures nothing and changes nothing.
const NOT_HERE: &[&str] =
    &["now", "classes", "from-start", "i-own-this-server", "trust-log-clients"];
/// Reasons for leaving something out that are told one by one.
const MOST_REASONS: usize = 5;

impl WarmStrategy for ReplayStrategy {
    fn name(&self) -> &'static str {
        "replay"
    }
    fn help_line(&self) -> &'static str {
        "Send the SELECTs of a log again, each once"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        let mut specs = workload::replay::ReplayKind.option_specs();
        specs.retain(|spec| !NOT_HERE.contains(&spec.name.as_str()));
        for spec in &mut specs {
            match spec.name.as_str() {
                "timing" => spec.default = "fast".to_owned(),
                "once" => spec.default = "on".to_owned(),
                "writes" => spec.kind = OptionKind::one_of(&["drop", "where", "probe"]),
                _ => {}
            }
        }
        specs
    }
    fn warm_with(
        &self,
        options: &Options,
        context: &mut WarmContext<'_>,
        _on_event: &mut dyn FnMut(&WarmEvent),
    ) -> anyhow::Result<WarmOutcome> {
        let mut given: Vec<(String, String)> =
            options.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        if context.control.is_some() {
            // A server of our own, on which nobody else is.
            given.extend(
                ["may-write", "may-disturb"].map(|name| (name.to_owned(), "on".to_owned())),
            );
        }
        let kind = &workload::replay::ReplayKind;
        let options = Options::from_given(&kind.option_specs(), &given).map_err(Mistakes)?;
        if options.text("writes").and_then(WritesPlan::from_word) == Some(WritesPlan::Execute) {
            return Err(Mistake::new("--writes execute", "warming changes nothing")
                .hint("`sweat replay` can, on a server that you name")
                .into());
        }
        let workers = workload::replay::worker_count_on(&options, context.target, context.stop)?;
        let workload = kind.build_workload(&options, Endpoint::MySql(context.target))?;
        warm_by_replay(&*workload, workers, context)
    }
}

fn warm_by_replay(
    workload: &dyn Workload,
    workers: usize,
    context: &mut WarmContext<'_>,
) -> anyhow::Result<WarmOutcome> {
    // A server that does not answer is found out here, where Ctrl-C is heard.
    drop(context.target.connect(context.stop)?);
    // Before a session of ours could be taken for that of another.
    workload.check_ready(context.stop).context("check the logs and the server")?;
    let mut lead = super::open_session(context.target, context.stop)?;
    let before = read_pool_status(&mut lead)?;
    let began = context.clock.now();
    let load =
        LoadPlan { workers, engine: EnginePlan::Auto, reconnect: false, ..LoadPlan::default() };
    let mut done = 0;
    let stop = context.stop.child_stop();
    let target = context.target.clone();
    let patience = target.control_time();
    let mut silence =
        SilenceWatch::for_load(&load, patience, &stop, move |stop| target.is_answering(stop));
    let mut on_interval = |interval: &Interval| {
        silence.iter_mut().for_each(|watch| watch.note_interval(interval));
        done += interval.tally.counts[workload::sql::READS];
        (context.progress)(JobProgress {
            label: "statements of the log".to_owned(),
            done,
            total: 0,
            unit: "statements",
        });
    };
    let recording = driver::run_load(&load, 0, workload, context.clock, &stop, &mut on_interval)?;
    if recording.reason == StopReason::TargetLost {
        anyhow::bail!("the server no longer answers");
    }
    let after = read_pool_status(&mut lead)?;
    let seconds = context.clock.now().since(began).to_seconds();
    let mut warmed = WarmOutcome::from_counters(&before, &after, seconds);
    warmed.cut = context.stop.is_set();
    let told = workload.as_recorded();
    let replayed = told.and_then(|told| told.replay_totals()).unwrap_or_default();
    if let Some(mistake) = told.and_then(|told| told.input_mistake()) {
        return Err(mistake.into());
    }
    warmed.failed = replayed.classes.iter().map(|class| class.errors_new).sum();
    warmed.notes = replay_notes(&replayed);
    if let Some(failure) = recording.failure {
        warmed.notes.push(failure);
    }
    Ok(warmed)
}

/// What there is to say of the log.
fn replay_notes(replayed: &ReplayTotals) -> Vec<String> {
    let mut notes = replayed.notes.clone();
    let failed = |class: &&ReplayedClass| class.errors_new > 0;
    for class in replayed.classes.iter().filter(failed).take(MOST_REASONS) {
        let (code, words) = class.first_error.clone().unwrap_or_default();
        let (count, digest) = (class.errors_new, to_single_line(&class.digest));
        notes.push(format!(
            "failed: {count} of `{digest}`: error {code}: {}",
            to_single_line(&words)
        ));
    }
    let sessions = match replayed.sessions {
        1 => "1 session".to_owned(),
        many => format!("{many} sessions"),
    };
    notes.push(format!("{} of {} records sent, in {sessions}", replayed.sent, replayed.records));
    let told = replayed.left_out.iter().take(MOST_REASONS);
    notes.extend(told.map(|left| format!("left out: {} ({})", left.count, left.reason)));
    let rest: u64 = replayed.left_out.iter().skip(MOST_REASONS).map(|left| left.count).sum();
    if rest > 0 {
        notes.push(format!("left out: {rest} more for other reasons"));
    }
    notes
}

/// Text of a log or a server in a line of ours: cut, and nothing in it steers a terminal.
fn to_single_line(text: &str) -> String {
    const MOST: usize = 160;
    text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
