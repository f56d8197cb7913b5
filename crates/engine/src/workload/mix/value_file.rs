//! Values, dictionaries and settings of a file, for other workloads that declare theirs by the same rules.

use std::path::Path;

use super::bind::{ServerAnswers, ValueBinder};
use super::draw::{SlotFormula, write_scalar};
use super::formula::{Formula, OwnedScalar};
use super::read::{read_data, read_sets, read_values};
use super::read_steps::read_pause;
use super::spec::{DataSource, MixSpec, PauseRule, SetSpec};
use super::values::{ValueState, ValueTable};
use super::{is_shared_rule, read_dictionaries, with_file};
use crate::base::Nanos;
use crate::base::random::Rng;
use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Options, PlanSection};

/// The sections `set`, `data` and `value` of a file.
#[derive(Debug)]
pub(in crate::workload) struct ValueFile(MixSpec);

impl ValueFile {
    /// Reads them; mistakes are noted in the document.
    pub(in crate::workload) fn from_sections(root: &PlanSection<'_>) -> ValueFile {
        let data = read_data(&root.read_section("data"));
        if data.iter().any(|data| matches!(data.source, DataSource::Query(_))) {
            let hint = "use a file or a list".to_owned();
            root.add_mistake("data", "there is no server to ask a query", Some(hint));
        }
        ValueFile(MixSpec {
            sets: read_sets(&root.read_section("set")),
            data,
            values: read_values(&root.read_section("value")),
            ..MixSpec::default()
        })
    }

    /// What `[set]` names, as options.
    pub(in crate::workload) fn set_options(&self) -> Vec<OptionSpec> {
        set_options(&self.0.sets)
    }

    /// Values of `[set]` as options give them.
    pub(in crate::workload) fn take_options(&mut self, options: &Options) {
        take_set_options(&mut self.0.sets, options);
    }

    /// Whether workers share a list or a counter.
    pub(in crate::workload) fn has_shared_values(&self) -> bool {
        self.0.values.iter().any(|value| is_shared_rule(&value.rule))
    }

    /// Looks names up, each with the place where it stands; `kept` are those that replies give values to.
    ///
    /// # Errors
    /// All mistakes together, with the file's name.
    pub(in crate::workload) fn bind_names(
        &self,
        path: &Path,
        kept: &[String],
        names: &[(String, String)],
    ) -> Result<BoundValues, Mistakes> {
        let files = read_dictionaries(path, &self.0)?;
        let facts = ServerAnswers::default();
        let mut binder = ValueBinder::new(&self.0, &facts, &files, &[]);
        binder.add_kept_names(kept);
        let (mut named, mut mistakes) = (Vec::new(), Vec::new());
        binder.check_values(&mut mistakes);
        for (place, name) in names {
            match binder.bind_value(name) {
                Ok(formula) => named.push(formula),
                Err((why, hint)) => {
                    mistakes.push(Mistake::new(place.clone(), why).maybe_hint(hint));
                }
            }
        }
        Mistakes::check(mistakes).map_err(|list| with_file(path, list))?;
        Ok(BoundValues { table: binder.into_table(), named })
    }
}

/// Values whose names are looked up.
#[derive(Debug)]
pub(in crate::workload) struct BoundValues {
    table: ValueTable,
    named: Vec<SlotFormula>,
}

/// Values of one worker, by the places of their names.
pub(in crate::workload) struct ValueDraws<'p> {
    state: ValueState<'p>,
    named: &'p [SlotFormula],
}

impl BoundValues {
    /// The values of a worker.
    pub(in crate::workload) fn of_worker(
        &self,
        seed: u64,
        worker: usize,
        workers: usize,
    ) -> ValueDraws<'_> {
        let state = ValueState::of_worker(&self.table, seed, worker as u64, workers as u64);
        ValueDraws { state, named: &self.named }
    }
}

impl ValueDraws<'_> {
    /// Values of the last event are old.
    pub(in crate::workload) fn begin_event(&mut self) {
        self.state.begin_event();
    }

    /// Writes a value as text; NULL is an empty one.
    pub(in crate::workload) fn write_value(&mut self, place: usize, out: &mut Vec<u8>) {
        write_scalar(self.state.compute(&self.named[place]), out);
    }

    /// Gives a kept name its value.
    pub(in crate::workload) fn keep_value(&mut self, place: usize, value: &[u8]) {
        if let Formula::Value(name) = &self.named[place] {
            self.state.keep_value(name.slot, Some(value));
        }
    }
}

/// A pause, drawn anew each time.
#[derive(Clone, Copy, Debug)]
pub(in crate::workload) struct ThinkTime(PauseRule);

impl ThinkTime {
    /// Reads one: `2s`, `exp:10ms`.
    pub(in crate::workload) fn read_from(
        section: &PlanSection<'_>,
        key: &'static str,
    ) -> Option<ThinkTime> {
        read_pause(section, key).map(ThinkTime)
    }

    pub(in crate::workload) fn draw_time(&self, rng: &mut Rng) -> Nanos {
        Nanos(self.0.draw_ns(rng))
    }
}

/// What `[set]` names, as options.
pub(super) fn set_options(sets: &[SetSpec]) -> Vec<OptionSpec> {
    let option = |set: &SetSpec| {
        let mut default = Vec::new();
        write_scalar(set.value.borrow_scalar(), &mut default);
        let kind = match set.value {
            OwnedScalar::Int(_) => OptionKind::Count,
            OwnedScalar::Real(_) => OptionKind::Number,
            _ => OptionKind::Text,
        };
        let default = String::from_utf8_lossy(&default).into_owned();
        let is_negative = default.starts_with('-');
        let kind = if is_negative { OptionKind::Number } else { kind };
        OptionSpec::new(&set.name, kind, &default, "a value of the file's [set]")
    };
    sets.iter().map(option).collect()
}

/// Values of `[set]` as options give them.
pub(super) fn take_set_options(sets: &mut [SetSpec], options: &Options) {
    for set in sets {
        if let Some(text) = options.text(&set.name) {
            set.value = match &set.value {
                OwnedScalar::Int(_) if !text.starts_with('-') => {
                    OwnedScalar::Int(options.count(&set.name) as i64)
                }
                _ => OwnedScalar::from_typed(text),
            };
        }
    }
}
