//! Everything there is to say about one run.

use crate::archive::{RunCommand, RunMeta, RunRecord, RunState, TrialEnding};

use super::compare::InterimResult;
use super::findings::{
    AnswerSentence, Caveat, CaveatLevel, ComparisonVerdict, DataSize, FindingResults,
    ReplayFinding, RunFindings, RunHeader, SizeClass,
};
use super::{
    answer, capacity, caveats, checks, compare, costs, counters, machines, noise, replay, scaling,
    sentences, server_cost, settings, timeline, trials, variants, waits, warming,
};

/// Facts that have a place of their own in the findings.
const PLACED_FACTS: &[&str] =
    &["data_bytes", "error_log", "loads_this_machine", "own_cost", "pool_bytes", "rows"];

/// Everything there is to say about a run.
pub fn analyse_run(run: &RunRecord) -> RunFindings {
    let trials = trials::trial_findings(run, &timeline::pool_temperatures(run));
    let variants = variants::variant_findings(run, &trials);
    let data = data_size(run);
    let scaling = scaling::find_scaling(run, &trials);
    let capacity = capacity::find_capacity(run, &trials);
    let noise = noise::noise_of_run(run);
    let costs = server_cost::server_costs(run);
    let mut caveats = caveats::find_caveats(&caveats::CaveatInput {
        run,
        trials: &trials,
        variants: &variants,
        data: &data,
        noise: &noise,
        costs: &costs,
    });
    let waits = waits::wait_findings(run);
    let cost_changes = costs::changes_between_variants(run, &trials, &noise);
    // Levels of load and steps of a search are no alternatives of which one is better; nor are rates of rounds.
    let is_load = capacity.is_some() || scaling.as_ref().is_some_and(scaling::is_load_sweep);
    let is_compared = !is_load && cost_changes.is_empty();
    let compared = is_compared.then(|| compare::compare_variants(run, &trials, &noise));
    let compared = compared.unwrap_or_default();
    let (mut replays, mut replay_changes) =
        (replay::replay_findings(run), replay::changes_between_variants(run));
    replay::apply_noise(run, &noise, &mut replays, &mut replay_changes);
    let classes = replays.iter().flat_map(|r| r.classes.iter().filter_map(|c| c.change.as_ref()));
    let deciding = compared.comparisons.iter().filter(|c| c.decides);
    let of_costs = cost_changes.iter().map(|one| &one.change);
    caveats::relax_noise_caveats(&mut caveats, deciding.chain(classes).chain(of_costs));
    let is_counted =
        compared.comparisons.is_empty() && warming::are_reads_counted(&variants, &trials);
    if run.meta.command == RunCommand::Aa || is_counted {
        caveats::downgrade_noise_caveats(&mut caveats);
    }
    let (allowed, caveats) =
        caveats.into_iter().partition(|caveat| run.meta.allow.iter().any(|id| id == caveat.id));
    let results = FindingResults {
        caveats,
        allowed,
        trials,
        comparisons: compared.comparisons,
        levels: compared.levels,
        differences: compared.differences,
        replay_changes,
        cost_changes,
        ..FindingResults::default()
    };
    complete_findings(
        run,
        RunFindings {
            results,
            head: run_header(&run.meta),
            data,
            machines: machines::machine_findings(run),
            variants,
            scaling,
            capacity,
            replays,
            wait_groups: waits::wait_groups(run, &waits),
            waits,
            watch_cost: waits::tracing_cost(run),
            server_costs: costs,
            noise,
            timeline: timeline::build_timeline(run),
            settings: settings::shown_settings(run),
            plan: run.plan.clone(),
            checks: Vec::new(),
            folder: None,
            files: Vec::new(),
        },
    )
}

/// What rests on all other findings: verdicts that a void takes away, the answer, and checks.
fn complete_findings(run: &RunRecord, mut findings: RunFindings) -> RunFindings {
    if findings.results.void_caveat().is_some() {
        withdraw_verdicts(&mut findings.results, &mut findings.replays);
    }
    findings.results.answer = answer_of_run(run, &findings);
    findings.checks = checks::judge_plan_checks(run, &findings);
    findings
}

/// What a run under way says so far: that it has not ended takes nothing away from it.
pub fn analyse_so_far(mut run: RunRecord) -> RunFindings {
    if run.meta.state != RunState::Running {
        return analyse_run(&run);
    }
    run.meta.state = RunState::Done;
    // A file that is being written ends anywhere.
    run.damage.clear();
    let intervals = run.trials.iter().flat_map(|trial| &trial.intervals).map(|one| one.ended_ns);
    let last = intervals.chain(run.samples.iter().map(|sample| sample.ended_ns)).max().unwrap_or(0);
    for step in run.steps.iter_mut().filter(|step| step.ended_ns.is_none()) {
        step.ended_ns = Some(last.max(step.began_ns));
    }
    for trial in run.trials.iter_mut().filter(|trial| trial.reason == TrialEnding::Cut) {
        trial.reason = TrialEnding::Done;
    }
    let mut findings = analyse_run(&run);
    findings.head.state = RunState::Running;
    findings
}

/// Whether a run that adds blocks until the answer is clear has come to its end. To be asked after each block.
pub fn judge_interim(run: &RunRecord) -> InterimResult {
    compare::judge_interim_comparisons(run, &analyse_run(run).results.comparisons)
}

/// The answer in sentences; of a run that can't support it, what was seen.
fn answer_of_run(run: &RunRecord, found: &RunFindings) -> Vec<AnswerSentence> {
    let of_variants = compare::comparison_sentences(&found.results.comparisons, &[]);
    let of_variants_told = !of_variants.is_empty();
    let mut answer = match (&found.capacity, &found.scaling) {
        (Some(capacity), _) => capacity::capacity_sentences(capacity),
        _ if of_variants_told => of_variants,
        _ if !found.results.cost_changes.is_empty() => {
            costs::change_sentences(&found.results.cost_changes)
        }
        (_, Some(scaling)) => scaling::scaling_sentences(scaling),
        _ => {
            let noise = match noise::is_noisy(&found.noise, &run.meta.allow) {
                true => noise::mean_slowdown(&[(run, &found.noise)], |_| true).exp(),
                false => 1.0,
            };
            answer::answer_sentences(
                &found.variants,
                &found.results.trials,
                &found.timeline.phases,
                noise,
            )
        }
    };
    answer.extend(server_cost::database_sentence(run, found));
    if !found.replays.is_empty() {
        // What was replayed comes first, unless variants of it are compared.
        let at = if of_variants_told { answer.len() } else { 0 };
        let changes = replay::change_sentences(&found.results.replay_changes);
        answer.splice(at..at, changes.into_iter().chain(replay::replay_sentences(&found.replays)));
    }
    if found.head.command == RunCommand::Waits {
        let of_waits = waits::wait_sentences(&found.waits, &found.wait_groups);
        if !of_waits.is_empty() && waits::is_without_load(&found.results.trials) {
            answer.clear();
        }
        answer.splice(0..0, of_waits);
    }
    if found.head.command == RunCommand::Aa {
        answer.splice(0..0, noise::aa_sentences(&found.results.comparisons));
    }
    if found.results.void_caveat().is_some() { sentences::mark_unreliable(answer) } else { answer }
}

/// No verdict stands beside void.
pub(super) fn withdraw_verdicts(results: &mut FindingResults, replays: &mut [ReplayFinding]) {
    let of_replays = replays.iter_mut().flat_map(|replay| &mut replay.classes);
    let of_changes = results.replay_changes.iter_mut().map(|one| &mut one.change);
    let of_costs = results.cost_changes.iter_mut().map(|one| &mut one.change);
    let all = results.comparisons.iter_mut().chain(of_changes).chain(of_costs);
    for one in all.chain(of_replays.filter_map(|class| class.change.as_mut())) {
        if one.verdict != ComparisonVerdict::Unsure {
            one.notes.push("no verdict, as the run is void".to_owned());
            one.verdict = ComparisonVerdict::Unsure;
        }
    }
}

impl FindingResults {
    /// The gravest caveat, if it voids the run.
    pub fn void_caveat(&self) -> Option<&Caveat> {
        self.caveats.first().filter(|caveat| caveat.level == CaveatLevel::Void)
    }

    /// What the first line calls a run that can't support its claim.
    pub fn void_word(&self) -> &'static str {
        if self.has_failed() { "FAILED" } else { "VOID" }
    }

    /// Whether the run failed: the server answered too many events with errors that nobody expects, or none at all.
    pub fn has_failed(&self) -> bool {
        let fails = |c: &Caveat| c.level == CaveatLevel::Void && caveats::FAILING.contains(&c.id);
        self.caveats.iter().any(fails)
    }
}

fn run_header(meta: &RunMeta) -> RunHeader {
    let words = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let facts = meta.facts.iter().filter(|(name, _)| !PLACED_FACTS.contains(&name.as_str()));
    RunHeader {
        id: meta.id.clone(),
        name: meta.name.clone(),
        question: meta.asked.question.clone().filter(|text| !text.trim().is_empty()),
        command: meta.command.clone(),
        command_line: meta.command_line.clone(),
        defaults: meta.defaults.clone(),
        tool_version: meta.tool_version.clone(),
        origin_unix_ns: meta.origin_unix_ns,
        seconds: meta.ended_ns.map(|ns| ns as f64 / 1e9),
        state: meta.state,
        why: meta.why.clone(),
        seed: meta.seed,
        server: meta.server.clone(),
        host: meta.host.clone(),
        facts: facts.map(|(name, value)| (name.clone(), words(value))).collect(),
    }
}

/// Data against pool: in memory below 0.8, borderline to 1.5, I/O-bound above.
fn data_size(run: &RunRecord) -> DataSize {
    let page_bytes = counters::page_bytes(run);
    let pages = || run.steps.iter().find_map(|s| s.after.get("Innodb_buffer_pool_pages_total"));
    let pool_bytes = counters::numeric_fact(run, "pool_bytes")
        .or_else(|| counters::server_variable(run, "innodb_buffer_pool_size")?.parse().ok())
        .or_else(|| Some(pages()? * page_bytes))
        .filter(|pool: &f64| *pool > 0.0);
    // What the load can't reach needs no room in the pool.
    let share = counters::numeric_fact(run, "reached_share").unwrap_or(1.0);
    let data_bytes = counters::numeric_fact(run, "data_bytes").map(|bytes| bytes * share);
    let ratio = data_bytes.zip(pool_bytes).map(|(data, pool)| data / pool);
    let class = ratio.map(|ratio| match ratio {
        r if r < 0.8 => SizeClass::InMemory,
        r if r <= 1.5 => SizeClass::Borderline,
        _ => SizeClass::IoBound,
    });
    DataSize {
        data_bytes,
        pool_bytes,
        rows: counters::numeric_fact(run, "rows"),
        page_bytes,
        ratio,
        class,
    }
}
