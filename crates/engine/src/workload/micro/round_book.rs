//! What rounds came to, operation by operation, and the figures that are made of it. What was not measured has none.

use crate::recorder::{MeasuredCost, MeasuredFigures};

use super::operation::Operation;
use super::settings::MicroSettings;

/// What a whole round took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RoundTime {
    pub wall_ns: u64,
    /// Of the server's thread.
    pub cpu_ns: Option<u64>,
}

/// Why an operation is not measured any further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OperationEnd {
    /// A round took longer than the limit: so many units of so many were through.
    Cut { done: u64, count: u64 },
    /// An error of the server, or a wrong number of rows.
    Failed(String),
    /// The server does not do this.
    Refused(&'static str),
}

/// The rounds of an operation.
#[derive(Clone, Debug, Default, PartialEq)]
struct OperationRounds {
    /// Units of a round.
    count: u64,
    times: Vec<RoundTime>,
    end: Option<OperationEnd>,
}

/// The rounds of a load, by the operations' places.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundBook {
    operations: Vec<OperationRounds>,
    /// The operation that runs, by its place, and how many rounds of all have ended.
    pub under_way: Option<(usize, u64)>,
    /// Why there is no CPU time; `None` where there is.
    pub wall_reason: Option<&'static str>,
}

impl RoundBook {
    fn entry(&mut self, slot: usize) -> &mut OperationRounds {
        if self.operations.len() <= slot {
            self.operations.resize(slot + 1, OperationRounds::default());
        }
        &mut self.operations[slot]
    }

    /// Notes a round.
    pub(super) fn add_round(&mut self, slot: usize, count: u64, time: RoundTime) {
        let entry = self.entry(slot);
        entry.count = count;
        entry.times.push(time);
    }

    /// Notes that no round follows.
    pub(super) fn end_operation(&mut self, slot: usize, end: OperationEnd) {
        self.entry(slot).end = Some(end);
    }

    /// The figures of these operations.
    pub(super) fn sum_up(&self, settings: &MicroSettings) -> MeasuredFigures {
        let mut figures = MeasuredFigures { header: self.header(settings), ..Default::default() };
        for (slot, operation) in settings.operations.iter().enumerate() {
            let none = OperationRounds::default();
            let rounds = self.operations.get(slot).unwrap_or(&none);
            figures.notes.extend(rounds.end.as_ref().map(|end| end.to_note(operation, settings)));
            figures.costs.push(rounds.to_cost(operation, settings.rows));
        }
        figures
    }

    fn header(&self, settings: &MicroSettings) -> String {
        let cpu = match self.wall_reason {
            None => "CPU time of the server's thread".to_owned(),
            Some(why) => format!("no CPU time, as {why}"),
        };
        format!(
            "one operation: median wall time of {} rounds, each over all operations in turn; {cpu}",
            settings.rounds
        )
    }
}

impl OperationRounds {
    fn to_cost(&self, operation: &Operation, rows: u64) -> MeasuredCost {
        // Of what was cut or failed nothing is told: what it did is not what was asked.
        let times = if self.end.is_some() { &[][..] } else { &self.times[..] };
        let per_unit = |ns: u64| ns as f64 / self.count.max(1) as f64;
        let cpu: Option<Vec<f64>> = times.iter().map(|time| time.cpu_ns.map(per_unit)).collect();
        MeasuredCost {
            name: operation.name.to_owned(),
            group: operation.group.to_owned(),
            count: self.count,
            wall_ns: times.iter().map(|time| per_unit(time.wall_ns)).collect(),
            cpu_ns: cpu.unwrap_or_default(),
            rows: operation.unit_rows(rows),
            remark: self.end.as_ref().map(OperationEnd::to_remark).unwrap_or_default(),
        }
    }
}

impl OperationEnd {
    /// What stands in a table instead of figures.
    fn to_remark(&self) -> String {
        match self {
            OperationEnd::Cut { done, count } => format!("cut after {done} of {count}"),
            OperationEnd::Failed(_) => "failed".to_owned(),
            OperationEnd::Refused(_) => "left out".to_owned(),
        }
    }

    fn to_note(&self, operation: &Operation, settings: &MicroSettings) -> String {
        let name = operation.name;
        match self {
            OperationEnd::Cut { done, count } => format!(
                "[CUT] {name}: a round took longer than {}: cut after {done} of {count}",
                crate::base::units::show_time(settings.limit)
            ),
            OperationEnd::Failed(why) => format!("[FAILED] {name}: {why}"),
            OperationEnd::Refused(why) => format!("[LEFT-OUT] {name}: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::option_specs;
    use super::*;
    use crate::plan::Options;

    #[test]
    fn what_was_cut_or_failed_has_no_figure() {
        let given = [("only".to_owned(), "update".to_owned())];
        let options = Options::from_given(&option_specs(), &given).unwrap();
        let settings = MicroSettings::from_options(&options).unwrap();
        let mut book = RoundBook::default();
        let time = |wall_ns, cpu_ns| RoundTime { wall_ns, cpu_ns };
        book.add_round(0, 10, time(1_000, Some(500)));
        book.add_round(0, 10, time(2_000, Some(600)));
        book.add_round(1, 10, time(1_000, None));
        book.add_round(2, 10, time(1_000, None));
        book.end_operation(2, OperationEnd::Cut { done: 3, count: 10 });
        let figures = book.sum_up(&settings);
        assert_eq!(figures.costs.len(), 4);
        assert_eq!(figures.costs[0].wall_ns, [100.0, 200.0]);
        assert_eq!(figures.costs[0].cpu_ns, [50.0, 60.0]);
        assert_eq!((figures.costs[1].cpu_ns.len(), figures.costs[1].rows), (0, 1));
        assert_eq!(figures.costs[2].wall_ns, [] as [f64; 0]);
        assert_eq!(figures.costs[2].remark, "cut after 3 of 10");
        assert!(figures.costs[3].wall_ns.is_empty(), "it never ran");
        assert_eq!(figures.costs[3].rows, 10_000);
        assert_eq!(
            figures.notes,
            ["[CUT] update_range: a round took longer than 10s: cut after 3 of 10"]
        );
    }
}
