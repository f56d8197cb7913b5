//! The search against a simulated server: four servers behind one queue, Poisson arrivals, exponential service times,
//! whose response times are known exactly.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::*;
use crate::base::random::Rng;
use crate::recorder::new_histogram;

/// Servers of the queue.
const SERVERS: usize = 4;
/// Mean service time, seconds.
const SERVICE_S: f64 = 0.005;
/// Interval of a step, seconds.
const INTERVAL_S: f64 = 1.0;

/// The queue, step by step; each begins empty.
struct Queue {
    rng: Rng,
    load_s: f64,
}

impl Queue {
    fn new(seed: u64) -> Queue {
        Queue { rng: Rng::new(seed, 0, 0), load_s: 0.0 }
    }

    fn run(&mut self, ask: &SearchStep, settle_s: f64) -> StepMeasurement {
        self.load_s += ask.seconds;
        let mut response = new_histogram();
        let mut backlog = Vec::new();
        let mut note = |arrived: f64, ended: f64| {
            if ended > settle_s && arrived < ask.seconds {
                response.record(((ended - arrived) * 1e9) as u64).unwrap();
            }
        };
        let Some(rate) = ask.per_second else {
            // A closed loop keeps all servers busy.
            let mut free = [0.0; SERVERS];
            while let Some(server) = free.iter_mut().find(|f| **f < ask.seconds) {
                let began = *server;
                *server += self.rng.exponential(SERVICE_S);
                note(began, *server);
            }
            let seconds = ask.seconds - settle_s;
            return seen(None, seconds, response, backlog);
        };
        // Times as whole nanoseconds, since a heap wants an order.
        let mut free: BinaryHeap<Reverse<u64>> = (0..SERVERS).map(|_| Reverse(0)).collect();
        let mut begins: Vec<f64> = Vec::new();
        let mut arrivals: Vec<f64> = Vec::new();
        let mut at = 0.0;
        loop {
            at += self.rng.exponential(1.0 / rate);
            if at >= ask.seconds {
                break;
            }
            let Reverse(first) = free.pop().unwrap();
            let began = at.max(first as f64 / 1e9);
            let ended = began + self.rng.exponential(SERVICE_S);
            free.push(Reverse((ended * 1e9) as u64));
            arrivals.push(at);
            begins.push(began);
            // As in the driver: what has not begun at the end never does.
            if began < ask.seconds {
                note(at, ended);
            }
        }
        let mut end = settle_s + INTERVAL_S;
        while end <= ask.seconds {
            let due = arrivals.partition_point(|a| *a <= end);
            let begun = begins.partition_point(|b| *b <= end);
            backlog.push((due - begun) as u64);
            end += INTERVAL_S;
        }
        seen(Some(rate), ask.seconds - settle_s, response, backlog)
    }
}

fn seen(
    rate: Option<f64>,
    seconds: f64,
    response: crate::recorder::Histogram,
    backlog: Vec<u64>,
) -> StepMeasurement {
    StepMeasurement {
        value: None,
        offered_per_s: rate,
        seconds,
        workers: SERVERS,
        response,
        failed: 0,
        backlog,
        lateness_p99_s: Some(20e-6),
        broken_limits: Vec::new(),
    }
}

/// Share of the events of the queue that take longer than `t` at this rate: Erlang's C and the mixture of an
/// exponential service with a wait (Gross and Harris, "Fundamentals of queueing theory", 2.3).
fn longer_than(t: f64, rate: f64) -> f64 {
    let (c, mu) = (SERVERS as f64, 1.0 / SERVICE_S);
    let a = rate / mu;
    if a >= c {
        return 1.0;
    }
    let mut term = 1.0;
    let mut sum = 0.0;
    for k in 0..SERVERS {
        sum += term;
        term *= a / (k as f64 + 1.0);
    }
    let waits = term / (1.0 - a / c) / (sum + term / (1.0 - a / c));
    let drain = c * mu - rate;
    // Service alone, or service after a wait that is exponential with the drain.
    let after_wait = (drain * (-mu * t).exp() - mu * (-drain * t).exp()) / (drain - mu);
    (1.0 - waits) * (-mu * t).exp() + waits * after_wait
}

/// The highest rate at which 99 % take no longer than `bound_s`.
fn truth(bound_s: f64) -> f64 {
    let (mut low, mut high) = (1.0, SERVERS as f64 / SERVICE_S);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if longer_than(bound_s, middle) <= 0.01 { low = middle } else { high = middle }
    }
    low
}

fn goal(slo: &str) -> SearchGoal {
    let objectives = vec![Objective::parse("--slo", slo).unwrap()];
    SearchGoal { quantity: None, objectives, settle_s: 3.0, step_s: 60.0, confirm_s: 300.0 }
}

/// Searches and gives the search with its steps.
fn searched(slo: &str, seed: u64) -> (CapacitySearch, Vec<(SearchStep, ComparisonVerdict)>, f64) {
    let goal = goal(slo);
    let (mut search, mut queue) = (CapacitySearch::new(goal.clone()), Queue::new(seed));
    let mut steps = Vec::new();
    while let Some(ask) = search.next() {
        let judged = judge_step(&queue.run(&ask, goal.settle_s), &goal.objectives);
        steps.push((ask, search.record_verdict(&judged)));
        assert!(steps.len() < 60, "{steps:?}");
    }
    (search, steps, queue.load_s)
}

#[test]
fn the_highest_rate_is_found_where_the_objective_leaves_room() {
    // The unloaded p99 is that of the service time alone: 5 ms ln 100 = 23 ms.
    for slo in ["p99<40ms", "p99<60ms", "p99<100ms"] {
        let bound = Objective::parse("", slo).unwrap().bound;
        let truth = truth(bound);
        for seed in 0..6 {
            let (search, steps, _) = searched(slo, seed);
            let found = search.confirmed.unwrap_or_else(|| panic!("{slo} {seed}: {steps:?}"));
            let error = found / truth - 1.0;
            assert!((-0.05..=0.03).contains(&error), "{slo} {seed}: {found} of {truth}");
            let (failed, why) = search.failed.clone().unwrap();
            assert!(failed > found && why.contains("p99"), "{failed} {why}");
            let phases: Vec<SearchPhase> = steps.iter().map(|(ask, _)| ask.phase).collect();
            assert!(phases.starts_with(&[
                SearchPhase::Burst,
                SearchPhase::Unloaded,
                SearchPhase::Curve
            ]));
            assert_eq!(phases.last(), Some(&SearchPhase::Confirm));
        }
    }
}

#[test]
fn an_objective_at_the_unloaded_latency_is_ill_posed_and_gives_a_curve() {
    for slo in ["p99<25ms", "p99<10ms"] {
        let (search, steps, _) = searched(slo, 1);
        let why = search.ill_posed.as_ref().expect(slo);
        assert!(why.contains("below 1.5 times"), "{why}");
        assert_eq!((search.confirmed, steps.len()), (None, 7), "{steps:?}");
    }
}

#[test]
fn confirmation_goes_down_step_by_step_and_gives_up() {
    let goal = SearchGoal { confirm_s: 30.0, ..goal("p99<40ms") };
    let told = |rate: Option<f64>, verdict: ComparisonVerdict| StepVerdict {
        value: None,
        offered_per_s: rate,
        achieved_per_s: rate.unwrap_or(1000.0),
        p99_s: Some(0.01),
        verdict,
        is_met: verdict == ComparisonVerdict::Better,
        is_void: false,
        why: "because".to_owned(),
        values: vec![Some(0.01)],
    };
    let mut search = CapacitySearch::new(goal);
    let mut confirmations = Vec::new();
    while let Some(ask) = search.next() {
        let passes = ask.phase != SearchPhase::Confirm && ask.per_second.unwrap_or(0.0) <= 700.0;
        if ask.phase == SearchPhase::Confirm {
            confirmations.push(ask.per_second.unwrap());
            assert!((ask.seconds - 33.0).abs() < 1e-9);
        }
        search.record_verdict(&told(
            ask.per_second,
            if passes { ComparisonVerdict::Better } else { ComparisonVerdict::Worse },
        ));
    }
    assert_eq!(confirmations.len(), 6);
    assert!((confirmations[5] / confirmations[0] - 0.97f64.powi(5)).abs() < 1e-9);
    assert!(confirmations[0] <= 700.0 && confirmations[0] > 700.0 / 1.03);
    assert_eq!(search.confirmed, None);
    assert!(search.notes[0].starts_with("6 confirmations failed"), "{:?}", search.notes);
}

#[test]
fn a_step_in_which_we_were_the_limit_is_tried_three_times_before_it_counts() {
    let mut search = CapacitySearch::new(goal("p99<40ms"));
    let told = |rate: Option<f64>, is_void: bool| StepVerdict {
        value: None,
        offered_per_s: rate,
        achieved_per_s: rate.unwrap_or(1000.0),
        p99_s: None,
        verdict: if is_void { ComparisonVerdict::Unsure } else { ComparisonVerdict::Better },
        is_met: !is_void,
        is_void,
        why: format!("{LIMIT}: late"),
        values: vec![Some(0.01)],
    };
    search.record_verdict(&told(None, false));
    search.record_verdict(&told(Some(50.0), true));
    assert_eq!(search.next().unwrap().phase, SearchPhase::Unloaded);
    search.record_verdict(&told(Some(50.0), false));
    let curve = search.next().unwrap();
    for _ in 0..2 {
        assert_eq!(search.record_verdict(&told(curve.per_second, true)), ComparisonVerdict::Unsure);
        assert_eq!(search.next(), Some(curve));
    }
    assert_eq!(search.record_verdict(&told(curve.per_second, true)), ComparisonVerdict::Worse);
    assert_eq!(search.failed, Some((100.0, format!("{LIMIT}: late"))));
    // No bisection towards our own limit; and none of the confirmations below it would be better.
    let confirm = search.next().unwrap();
    assert_eq!((confirm.phase, confirm.per_second), (SearchPhase::Confirm, Some(50.0)));
    for _ in 0..3 {
        search.record_verdict(&told(Some(50.0), true));
    }
    assert_eq!((search.next(), search.confirmed), (None, None));
    assert!(search.notes[0].starts_with("no confirmation"), "{:?}", search.notes);
}

#[test]
fn what_does_not_tell_is_run_again_three_times_longer_and_then_taken_as_it_is() {
    let mut search = CapacitySearch::new(goal("p99<40ms"));
    let unsure = |rate: Option<f64>, is_met: bool| StepVerdict {
        value: None,
        offered_per_s: rate,
        achieved_per_s: rate.unwrap_or(1000.0),
        p99_s: None,
        verdict: ComparisonVerdict::Unsure,
        is_met,
        is_void: false,
        why: String::new(),
        values: vec![Some(0.01)],
    };
    search.record_verdict(&unsure(None, true));
    search.record_verdict(&unsure(Some(50.0), true));
    let first = search.next().unwrap();
    assert_eq!((first.phase, first.per_second), (SearchPhase::Curve, Some(100.0)));
    assert_eq!(search.record_verdict(&unsure(first.per_second, false)), ComparisonVerdict::Unsure);
    let again = search.next().unwrap();
    assert_eq!(again.per_second, first.per_second);
    assert!(((again.seconds - 3.0) / (first.seconds - 3.0) - 3.0).abs() < 1e-9);
    assert_eq!(search.record_verdict(&unsure(again.per_second, false)), ComparisonVerdict::Worse);
    assert_eq!(search.next().unwrap().phase, SearchPhase::Bisect);
}

#[test]
fn the_answer_tells_the_server_s_limit_from_ours() {
    let capacity = |first: Option<f64>, why: &str| CapacityFinding {
        objectives: vec!["p99 < 20ms".to_owned()],
        confirmed_per_s: Some(5_000.0),
        first_failing_per_s: first,
        why: Some(why.to_owned()),
        ..CapacityFinding::default()
    };
    assert_eq!(
        capacity_sentences(&capacity(Some(5_100.0), "p99 21.0 ms")),
        [
            "The server holds 5 000 events/s with p99 < 20ms.",
            "It fails at 5 100 events/s: p99 21.0 ms."
        ]
    );
    let ours = format!("{LIMIT}: late");
    assert!(
        capacity_sentences(&capacity(None, &ours))[1]
            .starts_with("No step failed because of the server")
    );
}

/// Searches for the most of a quantity of which `there` are and `held` are held; gives the amounts asked for.
fn search_amount(there: f64, held: f64) -> (CapacitySearch, Vec<(SearchPhase, f64)>) {
    let quantity = Some("warehouses".to_owned());
    let mut search = CapacitySearch::new(SearchGoal { quantity, ..goal("p90<5s") });
    let mut asked = Vec::new();
    while let Some(ask) = search.next() {
        assert_eq!(ask.per_second, None);
        let amount = ask.scale.unwrap();
        let long_s = if ask.phase == SearchPhase::Confirm { 300.0 } else { 60.0 };
        assert!((ask.seconds - 3.0 - long_s).abs() < 1e-9);
        asked.push((ask.phase, amount));
        let reached = amount.min(there);
        let verdict = match reached <= held {
            true => ComparisonVerdict::Better,
            false => ComparisonVerdict::Worse,
        };
        search.record_verdict(&StepVerdict {
            value: Some(reached),
            offered_per_s: None,
            achieved_per_s: 0.5 * reached,
            p99_s: Some(0.01),
            verdict,
            is_met: verdict == ComparisonVerdict::Better,
            is_void: false,
            why: "because".to_owned(),
            values: vec![Some(0.01)],
        });
        assert!(asked.len() < 40, "{asked:?}");
    }
    (search, asked)
}

#[test]
fn a_quantity_rises_in_whole_steps_to_the_most_that_holds() {
    for held in [1.0, 2.0, 5.0, 13.0, 16.0, 17.0, 31.0] {
        let (search, asked) = search_amount(1000.0, held);
        assert_eq!(search.confirmed, Some(held), "{asked:?}");
        assert_eq!(search.failed.as_ref().map(|failed| failed.0), Some(held + 1.0));
        assert!(asked.iter().all(|(_, amount)| amount.fract() == 0.0 && *amount >= 1.0));
        assert_eq!(asked[0], (SearchPhase::Curve, 1.0));
        assert_eq!(search.exhausted(), None);
    }
    // Beyond so many a search closes in to 3 % only.
    let (search, _) = search_amount(1e6, 500.0);
    let confirmed = search.confirmed.unwrap();
    assert!(confirmed <= 500.0 && confirmed > 500.0 / 1.03, "{confirmed}");
}

#[test]
fn a_search_ends_where_there_is_no_more_of_the_quantity() {
    let (search, asked) = search_amount(5.0, 100.0);
    assert_eq!((search.confirmed, search.exhausted()), (Some(5.0), Some(5.0)));
    let amounts: Vec<f64> = asked.iter().map(|(_, amount)| *amount).collect();
    assert_eq!(amounts, [1.0, 2.0, 4.0, 8.0, 5.0]);
    let (search, asked) = search_amount(5.0, 0.0);
    assert_eq!((search.confirmed, asked.len()), (None, 1));
    assert_eq!(search.notes, ["1 warehouse already fails: there is nothing to search for"]);
}

#[test]
fn an_amount_is_told_with_the_rate_that_it_brought() {
    let mut found = CapacityFinding {
        quantity: Some("warehouses".to_owned()),
        objectives: vec!["p90 < 5s".to_owned()],
        confirmed: Some(12.0),
        confirmed_per_s: Some(5.71),
        ..CapacityFinding::default()
    };
    let first = |found: &CapacityFinding| capacity_sentences(found)[0].text.clone();
    assert_eq!(first(&found), "The server holds 12 warehouses (5.71 events/s) with p90 < 5s.");
    found.confirmed = None;
    assert_eq!(first(&found), "No number of warehouses is confirmed with p90 < 5s.");
}
