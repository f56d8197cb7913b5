//! Scenarios of a file, ready to make workers, and what a dry run shows of them.

use std::path::Path;

use super::load::HttpLoad;
use super::places::OriginBook;
use super::scenario_file::{ScenarioFile, ScenarioSpec};
use super::scenario_worker::ScenarioWorker;
use super::{COUNTERS, STEPS};
use crate::base::Stop;
use crate::plan::Mistakes;
use crate::recorder::CounterSpec;
use crate::workload::mix::{BoundValues, ValueDraws};
use crate::workload::{BoxedWorker, StatementPreview, WorkerContext, Workload};

/// Events that a dry run shows of each scenario.
const SHOWN: usize = 2;
/// The seed of what is shown.
const SEED: u64 = 1;

/// Scenarios, ready to make workers.
pub(super) struct ScenarioWorkload {
    pub(super) load: HttpLoad,
    pub(super) scenarios: Vec<ScenarioSpec>,
    /// Sums of the weights up to each scenario.
    weight_sums: Vec<f64>,
    pub(super) values: BoundValues,
    pub(super) origins: OriginBook,
    /// The first of each scenario's steps among those that are timed.
    pub(super) first_steps: Vec<u16>,
    kept: Vec<(usize, String)>,
    has_shared: bool,
}

impl ScenarioWorkload {
    /// A workload that plays a file's scenarios; the load says where.
    ///
    /// # Errors
    /// Names that the file does not set.
    pub(super) fn new(
        path: &Path,
        file: ScenarioFile,
        load: HttpLoad,
    ) -> Result<ScenarioWorkload, Mistakes> {
        let ScenarioFile { values, scenarios, names, kept: kept_names, .. } = file;
        let bound = values.bind_names(path, &kept_names, &names)?;
        let mut next = (scenarios.len() * STEPS.len()) as u16;
        let first = |scenario: &ScenarioSpec| {
            next += scenario.steps.len() as u16;
            next - scenario.steps.len() as u16
        };
        let mut sum = 0.0;
        let add = |scenario: &ScenarioSpec| {
            sum += scenario.weight;
            sum
        };
        let kept = names.into_iter().enumerate().map(|(place, (_, name))| (place, name));
        Ok(ScenarioWorkload {
            first_steps: scenarios.iter().map(first).collect(),
            weight_sums: scenarios.iter().map(add).collect(),
            kept: kept.filter(|(_, name)| kept_names.contains(name)).collect(),
            has_shared: values.has_shared_values(),
            values: bound,
            origins: OriginBook::default(),
            load,
            scenarios,
        })
    }

    /// The scenario at a fraction of all weights.
    pub(super) fn scenario_at(&self, fraction: f64) -> usize {
        let last = self.weight_sums.len() - 1;
        let at = fraction * self.weight_sums[last];
        self.weight_sums.partition_point(|sum| *sum <= at).min(last)
    }

    fn describe_event(
        &self,
        scenario: &ScenarioSpec,
        values: &mut ValueDraws<'_>,
        lines: &mut Vec<String>,
    ) {
        values.begin_event();
        let mut text = Vec::new();
        for step in &scenario.steps {
            text.clear();
            text.extend_from_slice(step.method.as_bytes());
            text.push(b' ');
            text.extend_from_slice(self.load.urls[step.server].origin_text().as_bytes());
            step.path.write(values, &mut text);
            if let Some(body) = &step.body {
                text.push(b' ');
                body.write(values, &mut text);
            }
            lines.push(String::from_utf8_lossy(&text).into_owned());
        }
    }
}

impl Workload for ScenarioWorkload {
    fn class_names(&self) -> Vec<String> {
        self.scenarios.iter().map(|scenario| scenario.name.clone()).collect()
    }
    fn counters(&self) -> &'static [CounterSpec] {
        COUNTERS
    }
    fn can_run_class_alone(&self) -> bool {
        true
    }
    fn workers_per_connection(&self) -> usize {
        self.load.streams
    }
    fn loads_this_machine(&self) -> bool {
        self.origins.has_local_place()
    }
    fn split_obstacle(&self) -> Option<&'static str> {
        self.has_shared.then_some("its workers share a list or a counter")
    }
    fn step_names(&self) -> Vec<String> {
        let is_one = self.scenarios.len() == 1;
        let named = |step: &str, scenario: &ScenarioSpec| match is_one {
            true => step.to_owned(),
            false => format!("{step} {}", scenario.name),
        };
        let all = self.scenarios.iter();
        let usual = all.clone().flat_map(|scenario| STEPS.map(|step| named(step, scenario)));
        let own = all.flat_map(|scenario| {
            scenario.steps.iter().map(move |step| match is_one {
                true => step.label.clone(),
                false => format!("{}: {}", scenario.name, step.label),
            })
        });
        usual.chain(own).collect()
    }
    fn load_note(&self) -> Option<String> {
        self.load.load_note()
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        Ok(Box::new(ScenarioWorker::new(self, part)?))
    }
    fn check_ready(&self, stop: &Stop) -> anyhow::Result<()> {
        self.origins.resolve_own(self.load.urls.iter(), &self.load.setup)?;
        self.origins.try_own_places(&self.load, stop)
    }
    fn describe_statements(&self) -> StatementPreview {
        let mut load = Vec::new();
        let mut values = self.values.of_worker(SEED, 0, 1);
        for (place, name) in &self.kept {
            values.keep_value(*place, name.as_bytes());
        }
        for scenario in &self.scenarios {
            load.push(format!("-- {SHOWN} events of {}", scenario.name));
            (0..SHOWN).for_each(|_| self.describe_event(scenario, &mut values, &mut load));
        }
        StatementPreview { prepare: Vec::new(), load }
    }
}
