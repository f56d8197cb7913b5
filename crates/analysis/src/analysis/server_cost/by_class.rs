//! What events of each class cost: of classes that ran alone, or estimated from a load of all.

use crate::archive::{RunRecord, Trial};

use super::super::findings::{ClassCostFinding, ClassCostItem, ClassCostMethod, Estimate};
use super::super::statistics::linear_fit::{LinearFit, MOST_CONDITION, fit_costs};
use super::super::statistics::student::student_quantile;
use super::counted::{COSTS, CountedCost, LookSpan, OwnCost, middle_looks};
use super::{LEAST_COST, digests, middle_window, whole_window};

/// An interval wider than this share of its value on either side tells nothing.
const WIDEST: f64 = 0.25;
/// Unless it is this small a share of what an event of any class costs in the mean.
const NARROW: f64 = 0.05;

/// Costs by class, how they were found, or why there are none.
pub(super) struct ClassCosts {
    pub(super) method: Option<ClassCostMethod>,
    pub(super) found: Vec<ClassCostFinding>,
    pub(super) why_not: Option<String>,
}

/// The costs of the classes of a load.
pub(super) fn class_costs(run: &RunRecord, own: Option<&OwnCost>, trial: &Trial) -> ClassCosts {
    let found = classes_alone(run, own, trial);
    if !found.is_empty() {
        return ClassCosts { method: Some(ClassCostMethod::Alone), found, why_not: None };
    }
    let is_seen = |(class, _): &(usize, &String)| {
        trial.response.get(*class).is_some_and(|times| !times.is_empty())
    };
    let seen: Vec<usize> =
        trial.classes.iter().enumerate().filter(is_seen).map(|(class, _)| class).collect();
    if seen.len() < 2 {
        return ClassCosts { method: None, found: Vec::new(), why_not: None };
    }
    match estimated_classes(run, own, trial, &seen) {
        Ok(found) => ClassCosts { method: Some(ClassCostMethod::Estimated), found, why_not: None },
        Err(why) => ClassCosts { method: None, found: Vec::new(), why_not: Some(why) },
    }
}

/// Classes that ran alone, in the order of the load's list.
fn classes_alone<'r>(
    run: &'r RunRecord,
    own: Option<&OwnCost>,
    trial: &Trial,
) -> Vec<ClassCostFinding> {
    let mut found = Vec::new();
    for class in &trial.classes {
        let is_own = |load: &&Trial| load.only_class.as_ref() == Some(class);
        let loads: Vec<&Trial> = run.class_loads.iter().filter(is_own).collect();
        // The same part of each round, so that rounds are repeats.
        let all_middle = loads.iter().all(|load| middle_window(load).is_some());
        let window = |load: &&'r Trial| {
            let span = if all_middle { middle_window(load) } else { whole_window(load) };
            span.map(|span| (*load, span))
        };
        let spans: Vec<(&Trial, LookSpan<'_>)> = loads.iter().filter_map(window).collect();
        let events: f64 = spans.iter().map(|(load, span)| span.all_events(load)).sum();
        if events < 1.0 {
            continue;
        }
        let item = |cost: &CountedCost| {
            let per_event = |(load, span): &(&Trial, LookSpan<'_>)| {
                let events = span.all_events(load);
                let amount = span.amount(run, own, cost)?;
                (events > 0.0).then(|| amount / events)
            };
            let rounds: Vec<f64> = spans.iter().filter_map(per_event).collect();
            mean_of_rounds(&rounds).map(|per_event| ClassCostItem {
                id: cost.0,
                per_event,
                unsure: false,
            })
        };
        found.push(ClassCostFinding {
            class: class.clone(),
            events: events.round() as u64,
            rounds: spans.len(),
            costs: COSTS.iter().filter_map(item).collect(),
            statements: digests::statements_of(&loads).0,
        });
    }
    drop_zeros(&mut found);
    found
}

/// The mean of the rounds with Student's interval, none of one.
fn mean_of_rounds(rounds: &[f64]) -> Option<Estimate> {
    let n = rounds.len() as f64;
    if rounds.is_empty() {
        return None;
    }
    let mean = rounds.iter().sum::<f64>() / n;
    let ci95 = (rounds.len() > 1).then(|| {
        let variance = rounds.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let half = student_quantile(0.975, n - 1.0) * (variance / n).sqrt();
        // Nothing costs less than nothing.
        ((mean - half).max(0.0), mean + half)
    });
    let runs = u32::try_from(rounds.len()).unwrap_or(u32::MAX);
    Some(Estimate { value: Some(mean), ci95, runs })
}

/// From the intervals of a load of all classes.
fn estimated_classes(
    run: &RunRecord,
    own: Option<&OwnCost>,
    trial: &Trial,
    seen: &[usize],
) -> Result<Vec<ClassCostFinding>, String> {
    let looks = middle_looks(trial);
    let spans: Vec<LookSpan<'_>> = looks.windows(2).filter_map(LookSpan::new).collect();
    let of_span = |span: &LookSpan<'_>| -> Vec<f64> {
        let events = span.class_events(trial);
        seen.iter().map(|class| events[*class]).collect()
    };
    let counts: Vec<Vec<f64>> = spans.iter().map(of_span).collect();
    let sums: Vec<f64> = (0..seen.len()).map(|c| counts.iter().map(|row| row[c]).sum()).collect();
    let empty = |class: usize| ClassCostFinding {
        class: trial.classes[class].clone(),
        events: 0,
        rounds: spans.len(),
        costs: Vec::new(),
        statements: Vec::new(),
    };
    let mut found: Vec<ClassCostFinding> = seen.iter().map(|class| empty(*class)).collect();
    for (finding, events) in found.iter_mut().zip(&sums) {
        finding.events = events.round() as u64;
    }
    let mut any = false;
    for cost in COSTS {
        let amounts: Option<Vec<f64>> =
            spans.iter().map(|span| span.amount(run, own, cost)).collect();
        let Some(amounts) = amounts else { continue };
        let Some(fit) = fit_costs(&counts, &amounts) else { continue };
        any = true;
        let mean = amounts.iter().sum::<f64>() / sums.iter().sum::<f64>();
        for (place, finding) in found.iter_mut().enumerate() {
            finding.costs.push(estimated_item(cost.0, &fit, place, mean, spans.len()));
        }
    }
    if !any {
        let why = match spans.len() < seen.len() + 6 {
            true => "the load has too few whole intervals",
            false => "the classes always come in the same numbers",
        };
        return Err(why.to_owned());
    }
    drop_zeros(&mut found);
    Ok(found)
}

fn estimated_item(
    id: &'static str,
    fit: &LinearFit,
    place: usize,
    mean: f64,
    rows: usize,
) -> ClassCostItem {
    let (value, half) = (fit.costs[place], fit.half_widths[place]);
    let is_wide = half > (WIDEST * value.abs()).max(NARROW * mean);
    let ci95 = Some(((value - half).max(0.0), (value + half).max(0.0)));
    let runs = u32::try_from(rows).unwrap_or(u32::MAX);
    ClassCostItem {
        id,
        per_event: Estimate { value: Some(value.max(0.0)), ci95, runs },
        unsure: is_wide || fit.condition > MOST_CONDITION,
    }
}

/// Leaves out what no class costs.
fn drop_zeros(found: &mut [ClassCostFinding]) {
    let is_cost = |item: &ClassCostItem| item.per_event.value.is_some_and(|v| v >= LEAST_COST);
    let kept: Vec<&'static str> = COSTS
        .iter()
        .map(|cost| cost.0)
        .filter(|id| found.iter().flat_map(|f| &f.costs).any(|i| i.id == *id && is_cost(i)))
        .collect();
    for finding in found {
        finding.costs.retain(|item| kept.contains(&item.id));
    }
}
