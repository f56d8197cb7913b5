//! The search for the highest rate, or the most of a quantity that a workload names, that meets the objectives: asks for one step after the other and is told what came
//! of it. A closed loop sets the scale, an almost unloaded step the floor, then a curve upwards until it fails, a
//! bisection on the logarithm of the rate, and a long step that confirms. Pure: the same verdicts give the same search.

use super::super::findings::ComparisonVerdict;
use super::super::number_format::{format_count, format_number, format_time};
use super::judge::{LIMIT, StepVerdict, is_time};
use crate::plan::{Metric, Objective};

/// Share of the closed loop's rate that counts as unloaded.
const UNLOADED: f64 = 0.05;
/// Objectives below this many times the unloaded value say more about chance than about load.
const FLOOR_FACTOR: f64 = 1.5;
/// The curve, as shares of the closed loop's rate.
const CURVE: &[f64] = &[0.1, 0.2, 0.4, 0.6, 0.8];
/// Factor from step to step beyond the curve.
const BEYOND: f64 = 1.15;
/// Highest passed and lowest failed rate closer than this factor end the bisection.
const CLOSE: f64 = 1.03;
/// Factor downwards when a confirmation fails.
const LOWER: f64 = 0.97;
/// Confirmations tried at most.
const CONFIRMATIONS: usize = 6;
/// A step that did not tell is repeated so many times longer.
const LONGER: f64 = 3.0;
/// A step in which sweat was the limit is tried so many times more.
const VOIDS: u32 = 2;
/// Values that shall lie beyond a percentile.
const BEYOND_QUANTILE: f64 = 100.0;
/// Shortest step, and longest closed loop, seconds.
const SHORTEST_S: f64 = 3.0;
const BURST_S: f64 = 10.0;

/// What is searched for, and how long it may take.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchGoal {
    /// What rises in steps of one, as the workload names it; `None` for the rate.
    pub quantity: Option<String>,
    /// What shall hold.
    pub objectives: Vec<Objective>,
    /// Seconds at the begin of each step that don't count.
    pub settle_s: f64,
    /// Longest step, seconds; one that did not tell takes three times as long.
    pub step_s: f64,
    /// How long the last step confirms, seconds.
    pub confirm_s: f64,
}

/// Where the search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchPhase {
    /// A closed loop, which sets the scale.
    Burst,
    /// An almost unloaded server.
    Unloaded,
    /// Upwards until it fails.
    Curve,
    /// Between the highest passed and the lowest failed rate.
    Bisect,
    /// The long step.
    Confirm,
}

impl SearchPhase {
    /// In words, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            SearchPhase::Burst => "burst",
            SearchPhase::Unloaded => "unloaded",
            SearchPhase::Curve => "curve",
            SearchPhase::Bisect => "bisect",
            SearchPhase::Confirm => "confirm",
        }
    }
}

/// A step that is to be run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchStep {
    /// Where the search is.
    pub phase: SearchPhase,
    /// Events per second to offer; `None` for a closed loop, and where the rate is not what rises.
    pub per_second: Option<f64>,
    /// How much of the quantity; `None` where the rate rises.
    pub scale: Option<f64>,
    /// How long in all, seconds, settling included.
    pub seconds: f64,
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct CapacitySearch {
    goal: SearchGoal,
    next: Option<SearchStep>,
    /// Rate of the closed loop, events per second.
    scale: f64,
    /// Steps of the curve done.
    curve: usize,
    /// Whether the step under way repeats one that did not tell.
    is_repeat: bool,
    /// How often the step under way was void so far.
    voids: u32,
    confirmations: usize,
    /// All there is of the quantity, once a step wanted more.
    ceiling: Option<f64>,
    /// The highest rate that passed.
    pub(super) passed: Option<f64>,
    /// The lowest rate that failed, and why.
    pub(super) failed: Option<(f64, String)>,
    pub(super) confirmed: Option<f64>,
    pub(super) ill_posed: Option<String>,
    pub(super) notes: Vec<String>,
}

impl SearchGoal {
    /// Seconds that count in a step at this rate: 100 values beyond the highest percentile, enough events for the
    /// smallest share.
    fn counted_s(&self, rate: f64) -> f64 {
        let events = |o: &Objective| match o.metric {
            Metric::Quantile(q) => BEYOND_QUANTILE / (1.0 - q).max(1e-6),
            Metric::Errors => 4.0 / o.bound.max(1e-6),
            Metric::Mean | Metric::Longest | Metric::Rate => 1_000.0,
        };
        let needed = self.objectives.iter().map(events).fold(1_000.0, f64::max);
        (needed / rate).max(SHORTEST_S).min(self.step_s)
    }
}

impl CapacitySearch {
    /// A search that begins.
    pub fn new(goal: SearchGoal) -> CapacitySearch {
        let is_rate = goal.quantity.is_none();
        let (phase, step_s) = match is_rate {
            true => (SearchPhase::Burst, goal.step_s.min(BURST_S)),
            false => (SearchPhase::Curve, goal.step_s),
        };
        let (seconds, scale) = (goal.settle_s + step_s, (!is_rate).then_some(1.0));
        CapacitySearch {
            goal,
            next: Some(SearchStep { phase, per_second: None, scale, seconds }),
            scale: 0.0,
            curve: 0,
            is_repeat: false,
            voids: 0,
            confirmations: 0,
            ceiling: None,
            passed: None,
            failed: None,
            confirmed: None,
            ill_posed: None,
            notes: Vec::new(),
        }
    }

    /// The step to run next; `None` at the end.
    pub fn next(&self) -> Option<SearchStep> {
        self.next
    }

    /// What came of the step asked for. Gives the verdict in the light of the search: the second look at a rate
    /// decides by its plain value.
    pub fn record_verdict(&mut self, judged: &StepVerdict) -> ComparisonVerdict {
        let Some(ask) = self.next.take() else { return judged.verdict };
        let rate = match ask.scale {
            Some(asked) => judged.value.unwrap_or(asked),
            None => ask.per_second.unwrap_or(judged.achieved_per_s),
        };
        if ask.scale.is_some_and(|asked| rate < asked) {
            self.ceiling = Some(rate);
        }
        // What we were late for ourselves may be a neighbour's doing: it is tried again.
        if judged.is_void && self.voids < VOIDS {
            self.voids += 1;
            self.next = Some(ask);
            return ComparisonVerdict::Unsure;
        }
        self.voids = 0;
        if ask.phase == SearchPhase::Burst {
            self.set_scale(judged);
            return ComparisonVerdict::Unsure;
        }
        let verdict = match judged.verdict {
            _ if judged.is_void => ComparisonVerdict::Worse,
            ComparisonVerdict::Unsure if self.may_repeat(ask.phase) => {
                self.is_repeat = true;
                let counted = (ask.seconds - self.goal.settle_s) * LONGER;
                self.next = Some(SearchStep { seconds: self.goal.settle_s + counted, ..ask });
                return ComparisonVerdict::Unsure;
            }
            ComparisonVerdict::Unsure if judged.is_met => ComparisonVerdict::Better,
            ComparisonVerdict::Unsure => ComparisonVerdict::Worse,
            told => told,
        };
        self.is_repeat = false;
        if ask.phase == SearchPhase::Unloaded {
            self.check_floor(rate, judged, verdict);
            return verdict;
        }
        if verdict == ComparisonVerdict::Better {
            self.passed = Some(self.passed.map_or(rate, |p| p.max(rate)));
        } else if self.failed.as_ref().is_none_or(|(failed, _)| rate < *failed) {
            self.failed = Some((rate, judged.why.clone()));
        }
        match ask.phase {
            SearchPhase::Confirm if judged.is_void => {
                let note = "no confirmation: sweat itself was late in each of its attempts";
                self.notes.push(note.to_owned());
            }
            SearchPhase::Confirm => self.record_confirmation(rate, verdict),
            _ if self.ill_posed.is_some() => self.plan_curve_step(),
            _ => self.plan_next_step(),
        }
        verdict
    }

    /// An ill-posed search draws a curve and decides nothing.
    fn may_repeat(&self, phase: SearchPhase) -> bool {
        !self.is_repeat && phase != SearchPhase::Unloaded && self.ill_posed.is_none()
    }

    fn set_scale(&mut self, judged: &StepVerdict) {
        self.scale = judged.achieved_per_s;
        if self.scale > 0.0 {
            self.plan_step(SearchPhase::Unloaded, self.scale * UNLOADED);
        } else {
            self.notes.push(
                "no event ended in the closed loop: there is nothing to search for".to_owned(),
            );
        }
    }

    /// Whether the objectives leave room above the floor.
    fn check_floor(&mut self, rate: f64, judged: &StepVerdict, verdict: ComparisonVerdict) {
        let floors = self.goal.objectives.iter().zip(&judged.values);
        let tight = floors.filter(|(objective, _)| is_time(objective)).find_map(|(o, floor)| {
            let floor = (*floor)?;
            (o.bound < FLOOR_FACTOR * floor).then(|| {
                format!(
                    "{o} is below {FLOOR_FACTOR} times what the almost unloaded server needs \
                     ({} at {} events/s): no rate follows from it",
                    format_time(floor),
                    format_number(rate),
                )
            })
        });
        self.ill_posed = tight;
        if self.ill_posed.is_some() {
            return self.plan_curve_step();
        }
        if verdict == ComparisonVerdict::Better {
            self.passed = Some(rate);
            self.plan_curve_step();
        } else {
            self.failed = Some((rate, judged.why.clone()));
            self.notes.push(if judged.is_void {
                "this machine is too busy to offer even a few events in time".to_owned()
            } else {
                "the almost unloaded server already fails".to_owned()
            });
        }
    }

    /// The next step of the curve; an ill-posed search ends with it.
    fn plan_curve_step(&mut self) {
        if self.goal.quantity.is_some() {
            return self.plan_step(SearchPhase::Curve, 2.0 * self.passed.unwrap_or(0.5));
        }
        let share = CURVE.get(self.curve).copied();
        let beyond = self.curve.saturating_sub(CURVE.len()) as i32 + 1;
        if share.is_none() && self.ill_posed.is_some() {
            return;
        }
        self.curve += 1;
        let share = share.unwrap_or_else(|| CURVE[CURVE.len() - 1] * BEYOND.powi(beyond));
        self.plan_step(SearchPhase::Curve, self.scale * share);
    }

    /// Up while nothing failed, then into the middle, then the confirmation.
    fn plan_next_step(&mut self) {
        match (self.passed, &self.failed) {
            (Some(passed), None) if self.ceiling.is_some() => self.plan_confirmation(passed),
            (Some(_), None) => self.plan_curve_step(),
            // Closing in on our own limit would say nothing about the server's.
            (Some(passed), Some((_, why))) if why.starts_with(LIMIT) => {
                self.plan_confirmation(passed);
            }
            (Some(passed), Some((failed, _))) => match self.middle(passed, *failed) {
                Some(middle) => self.plan_step(SearchPhase::Bisect, middle),
                None => self.plan_confirmation(passed),
            },
            // Of a rate the unloaded step has passed before.
            (None, _) => {
                let least = self.amount_text(1.0);
                self.notes.push(format!("{least} already fails: there is nothing to search for"));
            }
        }
    }

    /// Between what passed and what failed; `None` where they are close enough.
    fn middle(&self, passed: f64, failed: f64) -> Option<f64> {
        let middle = (passed * failed).sqrt();
        match self.goal.quantity {
            _ if failed / passed <= CLOSE => None,
            None => Some(middle),
            Some(_) if failed - passed <= 1.0 => None,
            Some(_) => Some(middle.floor().clamp(passed + 1.0, failed - 1.0)),
        }
    }

    /// So much of what rises, in words.
    pub(super) fn amount_text(&self, amount: f64) -> String {
        match &self.goal.quantity {
            None => format!("{} events/s", format_number(amount)),
            Some(name) if amount == 1.0 => format!("1 {}", name.trim_end_matches('s')),
            Some(name) => format!("{} {name}", format_count(amount as u64)),
        }
    }

    fn record_confirmation(&mut self, rate: f64, verdict: ComparisonVerdict) {
        self.confirmations += 1;
        if verdict == ComparisonVerdict::Better {
            self.confirmed = Some(rate);
            return;
        }
        let lower = match self.goal.quantity {
            None => rate * LOWER,
            Some(_) => (rate * LOWER).floor().min(rate - 1.0),
        };
        if self.confirmations < CONFIRMATIONS && lower > 0.0 {
            self.plan_confirmation(lower);
        } else {
            self.notes.push(format!(
                "{} confirmations failed, the last at {}: short steps pass there, long ones don't",
                self.confirmations,
                self.amount_text(rate)
            ));
        }
    }

    fn plan_confirmation(&mut self, rate: f64) {
        self.plan_long_step(SearchPhase::Confirm, rate, self.goal.confirm_s);
    }

    fn plan_step(&mut self, phase: SearchPhase, rate: f64) {
        let counted_s = match self.goal.quantity {
            None => self.goal.counted_s(rate),
            // How many events come of it is not known.
            Some(_) => self.goal.step_s,
        };
        self.plan_long_step(phase, rate, counted_s);
    }

    fn plan_long_step(&mut self, phase: SearchPhase, rate: f64, counted_s: f64) {
        let is_rate = self.goal.quantity.is_none();
        self.next = Some(SearchStep {
            phase,
            per_second: is_rate.then_some(rate),
            scale: (!is_rate).then_some(rate),
            seconds: self.goal.settle_s + counted_s,
        });
    }

    /// All there is of the quantity, if it all passed.
    pub(super) fn exhausted(&self) -> Option<f64> {
        self.ceiling.filter(|_| self.failed.is_none())
    }
}
