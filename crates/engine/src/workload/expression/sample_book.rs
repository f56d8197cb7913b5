//! Samples of a load, and what is made of them: the cost of an expression is what a round took longer than one of the baseline.

use crate::recorder::{FigureSeries, MeasuredFigures};

use super::measuring_plan::MeasuringPlan;

/// Nanoseconds per evaluation below which an expression costs no more than the loop's own noise.
const FREE_NS: f64 = 2.0;

/// What one evaluation took in one statement, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EvaluationTime {
    pub wall_ns: f64,
    /// Of the server's thread.
    pub cpu_ns: Option<f64>,
}

/// The samples of one load: a row for each pass, in it a place for each statement.
#[derive(Clone, Debug, Default)]
pub(super) struct SampleBook {
    passes: Vec<Vec<Option<EvaluationTime>>>,
    /// Statements that ended early, and were thrown away.
    pub cut: u64,
}

/// Which statement comes at this place of a load: each pass begins with the next one, so that none always follows the same pause.
pub(super) fn slot_at(number: u64, slots: u64) -> usize {
    ((number % slots + number / slots) % slots) as usize
}

impl SampleBook {
    /// Notes a sample.
    pub(super) fn add(&mut self, pass: usize, slot: usize, time: EvaluationTime) {
        while self.passes.len() <= pass {
            self.passes.push(Vec::new());
        }
        let row = &mut self.passes[pass];
        if row.len() <= slot {
            row.resize(slot + 1, None);
        }
        row[slot] = Some(time);
    }

    /// For each pass what this statement took, by CPU or by the wall.
    fn times(&self, slot: usize, by_cpu: bool) -> Vec<Option<f64>> {
        let read = |time: &EvaluationTime| if by_cpu { time.cpu_ns } else { Some(time.wall_ns) };
        let passes = self.passes.iter();
        passes.map(|row| row.get(slot).and_then(Option::as_ref).and_then(read)).collect()
    }

    /// For each pass what this statement took longer than its baseline.
    fn nets(&self, slot: usize, baseline: usize, by_cpu: bool) -> Vec<Option<f64>> {
        let (of, off) = (self.times(slot, by_cpu), self.times(baseline, by_cpu));
        of.into_iter().zip(off).map(|(of, off)| Some(of? - off?)).collect()
    }

    /// Figures of all expressions and of each against the first.
    pub(super) fn sum_up(&self, plan: &MeasuringPlan) -> MeasuredFigures {
        let all = self.passes.iter().flatten().flatten();
        let by_cpu = plan.wall_reason.is_none() && all.clone().all(|time| time.cpu_ns.is_some());
        let mut figures =
            MeasuredFigures { header: header(plan, by_cpu), ..MeasuredFigures::default() };
        let measured: Vec<(usize, usize)> = plan.measured().collect();
        let mut first: Option<(usize, Vec<Option<f64>>)> = None;
        let (mut ratios, mut details) = (Vec::new(), Vec::new());
        for (slot, baseline) in measured {
            let name = &plan.slots[slot].name;
            let nets = self.nets(slot, baseline, by_cpu);
            let flat: Vec<f64> = nets.iter().copied().flatten().collect();
            let is_free = median(&flat).is_some_and(|net| net < FREE_NS);
            if is_free {
                figures.notes.push(format!(
                    "[FREE] {name}: less than {FREE_NS} ns above a literal; it may have been folded"
                ));
            }
            figures.series.push(series(name.clone(), "ns", flat, Some(0.0)));
            if by_cpu {
                let wall = self.nets(slot, baseline, false).into_iter().flatten().collect();
                details.push(detail(format!("{name}, wall"), wall));
            }
            match &first {
                Some((other, others)) => {
                    let ratio = ratios_of(others, &nets);
                    let title = format!("{} / {name}", plan.slots[*other].name);
                    ratios.push(series(title, "x", ratio, Some(1.0)));
                }
                None if !is_free => first = Some((slot, nets)),
                None => {}
            }
        }
        figures.series.extend(ratios.into_iter().filter(|ratio| !ratio.samples.is_empty()));
        for (slot, found) in plan.slots.iter().enumerate().filter(|(_, s)| s.baseline.is_none()) {
            let times = self.times(slot, by_cpu).into_iter().flatten().collect();
            details.push(detail(found.name.clone(), times));
        }
        figures.series.append(&mut details);
        figures.notes.extend(plan.notes.iter().cloned());
        if self.cut > 0 {
            let what = if self.cut == 1 { "statement" } else { "statements" };
            figures.notes.push(format!(
                "[CUT] {} {what} ended early, by a KILL or a limit, and thrown away",
                self.cut
            ));
        }
        figures
    }
}

fn header(plan: &MeasuringPlan, by_cpu: bool) -> String {
    let what = match plan.is_by_rows {
        true => "cost of a row, that of one with a literal taken off",
        false => "cost of an evaluation, the loop's own taken off",
    };
    match plan.wall_reason {
        _ if by_cpu => format!("{what}: CPU time of the server's thread"),
        Some(why) => format!("{what}: wall time, as {why}; whatever else ran there is in it"),
        None => format!("{what}: wall time, as the thread's CPU time was not always there"),
    }
}

fn series(name: String, unit: &str, samples: Vec<f64>, neutral: Option<f64>) -> FigureSeries {
    FigureSeries { name, unit: unit.to_owned(), samples, neutral, is_detail: false }
}

fn detail(name: String, samples: Vec<f64>) -> FigureSeries {
    FigureSeries { is_detail: true, ..series(name, "ns", samples, None) }
}

/// Pass by pass how many times as much the first costs. None where one costs no more than the loop's own noise: such a ratio
/// is the noise's.
fn ratios_of(first: &[Option<f64>], second: &[Option<f64>]) -> Vec<f64> {
    let flat: Vec<f64> = second.iter().copied().flatten().collect();
    if median(&flat).is_none_or(|net| net < FREE_NS) {
        return Vec::new();
    }
    let pairs = first.iter().zip(second).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
    pairs.filter(|(_, below)| *below > 0.0).map(|(above, below)| above / below).collect()
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::super::measuring_plan::BenchmarkSlot;
    use super::*;

    fn slot(name: &str, baseline: Option<usize>) -> BenchmarkSlot {
        BenchmarkSlot {
            name: name.to_owned(),
            sql: String::new(),
            rounds: 1000,
            expected: EvaluationTime { wall_ns: 1.0, cpu_ns: Some(1.0) },
            baseline,
        }
    }

    /// A literal of 5 ns, and two expressions.
    fn plan() -> MeasuringPlan {
        MeasuringPlan {
            slots: vec![slot("literal", None), slot("a", Some(0)), slot("b", Some(0))],
            ..MeasuringPlan::default()
        }
    }

    fn book(costs: [f64; 3], passes: usize) -> SampleBook {
        let mut book = SampleBook::default();
        for pass in 0..passes {
            // A machine that gets slower slows everything in a pass alike.
            let slower = 1.0 + pass as f64 / 100.0;
            for (slot, cost) in costs.iter().enumerate() {
                let cpu_ns = Some(cost * slower);
                book.add(pass, slot, EvaluationTime { wall_ns: cost * slower * 3.0, cpu_ns });
            }
        }
        book
    }

    fn named<'a>(figures: &'a MeasuredFigures, name: &str) -> &'a FigureSeries {
        figures.series.iter().find(|series| series.name == name).expect("the series is there")
    }

    #[test]
    fn the_loops_own_cost_is_taken_off_and_ratios_go_pass_by_pass() {
        let figures = book([5.0, 105.0, 25.0], 10).sum_up(&plan());
        assert_eq!(named(&figures, "a").samples[0], 100.0);
        assert_eq!(named(&figures, "a, wall").samples[0], 300.0);
        assert!(named(&figures, "a / b").samples.iter().all(|r| (r - 5.0).abs() < 1e-9));
        assert_eq!(named(&figures, "literal").samples[0], 5.0);
        assert!(figures.header.contains("CPU time"), "{}", figures.header);
        assert_eq!(figures.notes, [] as [String; 0]);
    }

    #[test]
    fn what_costs_no_more_than_a_literal_is_free_and_has_no_ratio() {
        let figures = book([5.0, 105.0, 6.0], 10).sum_up(&plan());
        assert!(figures.series.iter().all(|series| series.unit != "x"));
        assert!(figures.notes[0].starts_with("[FREE] b"), "{:?}", figures.notes);
    }

    #[test]
    fn a_pass_with_a_cut_statement_says_nothing_of_it() {
        let mut book = SampleBook { cut: 1, ..SampleBook::default() };
        let time = |ns| EvaluationTime { wall_ns: ns, cpu_ns: Some(ns) };
        [(0, 5.0), (2, 25.0)].iter().for_each(|(slot, ns)| book.add(0, *slot, time(*ns)));
        [(0, 5.0), (1, 45.0), (2, 25.0)].iter().for_each(|(s, ns)| book.add(1, *s, time(*ns)));
        let figures = book.sum_up(&plan());
        assert_eq!(named(&figures, "a").samples, [40.0]);
        assert_eq!(named(&figures, "b").samples, [20.0, 20.0]);
        assert_eq!(named(&figures, "a / b").samples, [2.0]);
        assert!(figures.notes[0].starts_with("[CUT] 1 statement "), "{:?}", figures.notes);
    }

    #[test]
    fn without_the_threads_time_it_is_the_wall() {
        let mut plan = plan();
        plan.wall_reason = Some("the server is on another machine");
        let figures = book([5.0, 105.0, 25.0], 3).sum_up(&plan);
        assert_eq!(named(&figures, "a").samples[0], 300.0);
        assert!(figures.header.contains("wall time, as the server is on"), "{}", figures.header);
        assert!(figures.series.iter().all(|series| !series.name.ends_with("wall")));
    }

    #[test]
    fn each_pass_has_every_statement_and_begins_with_another() {
        let order: Vec<usize> = (0..9).map(|number| slot_at(number, 3)).collect();
        assert_eq!(order, [0, 1, 2, 1, 2, 0, 2, 0, 1]);
    }
}
