//! From names to slots: the values of a file, or of a table's columns, ready to be drawn.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64};

use super::dictionary::Dictionary;
use super::draw::{DrawPart, DrawPlan, DrawRule, KeySampler, SlotField, SlotFormula, hash_bytes};
use super::formula::{Formula, FormulaName, OwnedScalar};
use super::settled::SettledNumbers;
use super::spec::{
    ColumnSpec, DrawMode, LawSpec, MixSpec, NamedFormula, PickOrder, RuleSpec, TemplatePart,
    ValueSpec,
};
use super::values::{SlotMode, SlotPlan, ValueTable};
use crate::plan::{Mistake, did_you_mean};

/// What only a server knows.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerAnswers {
    /// Rows of tables that the file does not make.
    pub(super) rows: BTreeMap<String, u64>,
    /// Rows that tables have now.
    pub(super) stored: BTreeMap<String, u64>,
    /// Highest values of columns.
    pub(super) highest: BTreeMap<(String, String), i64>,
    /// Dictionaries that are asked of it.
    pub(super) queried: BTreeMap<String, Dictionary>,
    /// Whether the rest is assumed: no server was asked.
    pub(super) is_assumed: bool,
}

/// Rows that a table is assumed to have while no server was asked.
pub(super) const ASSUMED_ROWS: u64 = 1000;

/// Why a name or a rule does not do, and what would.
pub(super) type BindError = (String, Option<String>);

/// Looks names up and makes slots of them.
pub(super) struct ValueBinder<'s> {
    spec: &'s MixSpec,
    facts: &'s ServerAnswers,
    /// Dictionaries of files and lists.
    files: &'s BTreeMap<String, Dictionary>,
    /// Of a table's rows.
    columns: &'s [ColumnSpec],
    /// Names that results give values to.
    kept: Vec<&'s str>,
    slots: Vec<SlotPlan>,
    by_name: BTreeMap<String, usize>,
    /// Values being made: one that needs itself is a mistake.
    under_way: Vec<String>,
    data: BTreeMap<String, usize>,
    dictionaries: Vec<Dictionary>,
    unique_starts: Vec<i64>,
    /// Counters that are asked how far their numbers are stored.
    followed: Vec<usize>,
}

impl<'s> ValueBinder<'s> {
    pub(super) fn new(
        spec: &'s MixSpec,
        facts: &'s ServerAnswers,
        files: &'s BTreeMap<String, Dictionary>,
        columns: &'s [ColumnSpec],
    ) -> ValueBinder<'s> {
        let steps = spec.transactions.iter().flat_map(|transaction| &transaction.steps);
        let kept = steps.flat_map(|step| &step.keeps).map(|(name, _)| name.as_str()).collect();
        ValueBinder {
            spec,
            facts,
            files,
            columns,
            kept,
            slots: Vec::new(),
            by_name: BTreeMap::new(),
            under_way: Vec::new(),
            data: BTreeMap::new(),
            dictionaries: Vec::new(),
            unique_starts: Vec::new(),
            followed: Vec::new(),
        }
    }

    /// More names that results give values to.
    pub(super) fn add_kept_names(&mut self, names: &'s [String]) {
        self.kept.extend(names.iter().map(String::as_str));
    }

    pub(super) fn into_table(self) -> ValueTable {
        let least = i64::MIN;
        let settled = self.unique_starts.iter().enumerate().map(|(counter, start)| {
            let is_followed = self.followed.contains(&counter);
            is_followed.then(|| SettledNumbers::new(start.saturating_sub(1)))
        });
        ValueTable {
            settled: settled.collect(),
            slots: self.slots,
            shared: self.dictionaries.iter().map(|_| AtomicU64::new(0)).collect(),
            dictionaries: self.dictionaries,
            unique_next: self.unique_starts.iter().map(|start| AtomicI64::new(*start)).collect(),
            unique_highest: self.unique_starts.iter().map(|_| AtomicI64::new(least)).collect(),
            unique_starts: self.unique_starts,
            life: Default::default(),
        }
    }

    /// A formula over slots.
    pub(super) fn bind_formula(
        &mut self,
        formula: &NamedFormula,
    ) -> Result<SlotFormula, BindError> {
        formula.bind(&mut |name| self.bind_name(name))
    }

    fn bind_name(&mut self, name: &FormulaName) -> Result<SlotFormula, BindError> {
        let whole = |number: u64| Ok(Formula::Constant(OwnedScalar::Int(number as i64)));
        match name {
            FormulaName::Value(name) => self.bind_value(name),
            FormulaName::Rows(table) => whole(self.rows_of(table)?),
            FormulaName::Count(data) => {
                let place = self.bind_data(data)?;
                whole(self.dictionaries[place].row_count() as u64)
            }
            FormulaName::Stored(table) => match self.facts.stored.get(table) {
                Some(rows) => whole(*rows),
                None => whole(self.rows_of(table).unwrap_or(ASSUMED_ROWS)),
            },
            FormulaName::Highest(table, column) => {
                let key = (table.clone(), column.clone());
                match self.facts.highest.get(&key) {
                    Some(number) => Ok(Formula::Constant(OwnedScalar::Int(*number))),
                    None => whole(self.rows_of(table).unwrap_or(ASSUMED_ROWS)),
                }
            }
            FormulaName::Last(name) => self.bind_last(name),
        }
    }

    /// How far the numbers of a unique value are stored: a slot of its own.
    fn bind_last(&mut self, name: &str) -> Result<SlotFormula, BindError> {
        let unique = self.slot_of(name)?;
        let is_one = self.by_name.contains_key(name);
        let DrawRule::Unique { counter, is_shared: true } = self.slots[unique].plan.rule else {
            let hint = format!("{name} = {{unique = {{from = .., step = \"shared\"}}}}");
            return Err((format!("`{name}` has no last number"), Some(hint)));
        };
        if !is_one {
            let why = format!("`{name}` is drawn for each use, so it has no last number");
            return Err((why, Some("leave out draw".to_owned())));
        }
        self.followed.push(counter);
        let key = format!("last({name})");
        let slot = match self.by_name.get(&key) {
            Some(slot) => *slot,
            None => {
                let plan = DrawPlan { null_share: 0.0, rule: DrawRule::LastUnique { counter } };
                self.add_slot(&key, SlotMode::Event, plan)
            }
        };
        self.by_name.insert(key, slot);
        Ok(Formula::Value(SlotField { slot, field: 0 }))
    }

    /// Rows of a table: as the file says, or as the server has them.
    pub(super) fn rows_of(&mut self, table: &str) -> Result<u64, BindError> {
        let own = self.spec.tables.iter().find(|spec| spec.name == table);
        if let Some(spec) = own.filter(|spec| spec.times_pool.is_none()) {
            let rows = self.bind_formula(&spec.rows)?;
            let rows = rows.as_constant().and_then(|rows| rows.borrow_scalar().to_whole());
            let rows = rows.and_then(|rows| u64::try_from(rows).ok());
            return rows.ok_or_else(|| (format!("the rows of {table} are not a number"), None));
        }
        let found = self.facts.rows.get(table).copied();
        let found = found.or(self.facts.is_assumed.then_some(ASSUMED_ROWS));
        found.ok_or_else(|| (format!("there is no table {table}"), None))
    }

    /// The dictionary of this name.
    fn bind_data(&mut self, name: &str) -> Result<usize, BindError> {
        if let Some(place) = self.data.get(name) {
            return Ok(*place);
        }
        let Some(spec) = self.spec.data.iter().find(|spec| spec.name == name) else {
            let hint = did_you_mean(name, self.spec.data.iter().map(|data| data.name.as_str()));
            return Err((format!("no data is called `{name}`"), hint));
        };
        let known = self.files.get(name).or_else(|| self.facts.queried.get(name)).cloned();
        let dictionary = match known {
            Some(dictionary) => dictionary,
            None if self.facts.is_assumed => Dictionary::stand_in(&spec.name),
            None => {
                let why = format!("data.{name} is asked of the server once the tables are there");
                return Err((why, Some("use a file or a list".to_owned())));
            }
        };
        let place = self.dictionaries.len();
        self.dictionaries.push(dictionary);
        self.data.insert(name.to_owned(), place);
        Ok(place)
    }

    /// A value by its name, or `name.field`.
    pub(super) fn bind_value(&mut self, name: &str) -> Result<SlotFormula, BindError> {
        let (base, field) = name.split_once('.').map_or((name, None), |(a, b)| (a, Some(b)));
        if let Some(set) = self.spec.sets.iter().find(|set| set.name == base) {
            return Ok(Formula::Constant(set.value.clone()));
        }
        let slot = self.slot_of(base)?;
        let field = match field {
            None => 0,
            Some(field) => self.field_of(slot, base, field)?,
        };
        Ok(Formula::Value(SlotField { slot, field }))
    }

    fn field_of(&self, slot: usize, base: &str, field: &str) -> Result<usize, BindError> {
        let data = self.slots[slot].plan.rule.picked_data();
        let Some(data) = data else {
            return Err((format!("`{base}` is not picked from data, so it has no fields"), None));
        };
        let dictionary = &self.dictionaries[data];
        let found = dictionary.field_index(field);
        let is_known = !self.facts.is_assumed || self.files.values().any(|d| d == dictionary);
        if found.is_none() && is_known {
            let names = dictionary.field_names();
            let why = format!("`{base}` has no field `{field}`");
            return Err((why, Some(format!("one of {}", names.join(", ")))));
        }
        Ok(found.unwrap_or(0))
    }

    /// The slot of a name, made where there is none yet. A value that is drawn for each use has one for each.
    fn slot_of(&mut self, name: &str) -> Result<usize, BindError> {
        if let Some(slot) = self.by_name.get(name) {
            return Ok(*slot);
        }
        let spec = self.spec;
        let columns = self.columns;
        let column = columns.iter().find(|column| column.name == name);
        let value = match column {
            Some(column) => column.value.as_ref(),
            None => spec.values.iter().find(|value| value.name == name),
        };
        if let Some(value) = value {
            let slot = self.bind_value_spec(value)?;
            let is_reused = value.mode != DrawMode::Use || column.is_some();
            if is_reused {
                self.by_name.insert(name.to_owned(), slot);
            }
            return Ok(slot);
        }
        let is_row = name == "row" && !self.columns.is_empty();
        if is_row || self.columns.is_empty() && self.kept.contains(&name) {
            let plan = DrawPlan { null_share: 0.0, rule: DrawRule::Constant };
            let slot = self.add_slot(name, SlotMode::Kept, plan);
            self.by_name.insert(name.to_owned(), slot);
            return Ok(slot);
        }
        let sets = spec.sets.iter().map(|set| set.name.as_str());
        let values = spec.values.iter().map(|value| value.name.as_str());
        let columns = self.columns.iter().map(|column| column.name.as_str());
        let all: Vec<&str> =
            values.chain(sets).chain(columns).chain(self.kept.iter().copied()).collect();
        let hint = did_you_mean(name, all).unwrap_or_else(|| {
            "define it in [value] or [set], or keep it from a result".to_owned()
        });
        Err((format!("`{name}` is never set"), Some(hint)))
    }

    fn bind_value_spec(&mut self, value: &ValueSpec) -> Result<usize, BindError> {
        if self.under_way.contains(&value.name) {
            return Err((format!("`{}` depends on itself", value.name), None));
        }
        self.under_way.push(value.name.clone());
        let rule = self.bind_rule(&value.rule, &value.name);
        self.under_way.pop();
        let mode = match value.mode {
            DrawMode::Event => SlotMode::Event,
            // What a row holds, it holds in all its columns.
            DrawMode::Use if self.columns.is_empty() => SlotMode::Use,
            DrawMode::Use => SlotMode::Event,
            DrawMode::Session => SlotMode::Session,
        };
        let plan = DrawPlan { null_share: value.null_share, rule: rule? };
        Ok(self.add_slot(&value.name, mode, plan))
    }

    fn add_slot(&mut self, name: &str, mode: SlotMode, plan: DrawPlan) -> usize {
        let mut needs = Vec::new();
        plan.rule.for_each_slot(&mut |place| needs.push(place.slot));
        needs.sort_unstable();
        needs.dedup();
        // The streams of one name are told apart by how many it has.
        let uses = self.slots.iter().filter(|slot| slot.name == name).count();
        let stream = hash_bytes(name.bytes().chain([0, uses as u8, (uses >> 8) as u8]));
        let needs = needs.into_boxed_slice();
        self.slots.push(SlotPlan { name: name.to_owned(), mode, plan, needs, stream });
        self.slots.len() - 1
    }

    fn bind_rule(&mut self, rule: &RuleSpec, name: &str) -> Result<DrawRule, BindError> {
        let plain = |why: String| (why, None);
        let scatter_seed = |is_on: bool| is_on.then(|| hash_bytes(name.bytes()));
        Ok(match rule {
            RuleSpec::Int { low, high, law, scatter, among } => {
                let scatter = scatter_seed(*scatter);
                let (low, high) = (self.bind_formula(low)?, self.bind_formula(high)?);
                let law = self.bind_law(*law, among.as_ref())?;
                return bind_int(low, high, law, scatter);
            }
            RuleSpec::Real { low, high, digits } => DrawRule::Real {
                low: self.bind_formula(low)?,
                high: self.bind_formula(high)?,
                digits: *digits,
            },
            RuleSpec::Letters { length, letters } => {
                DrawRule::Letters { length: length.clone(), letters: letters[..].into() }
            }
            RuleSpec::Words { length, data } => {
                DrawRule::Words { length: length.clone(), data: self.bind_filled_data(data)? }
            }
            RuleSpec::Pattern(pattern) => DrawRule::Pattern(pattern.as_bytes().into()),
            RuleSpec::Template(parts) => {
                let parts: Result<Vec<DrawPart>, BindError> =
                    parts.iter().map(|part| self.bind_template_part(part)).collect();
                DrawRule::Template(parts?.into())
            }
            RuleSpec::Pick { data, law, scatter, order } => {
                let scatter = scatter_seed(*scatter);
                let data = self.bind_filled_data(data)?;
                match order {
                    PickOrder::Sequence => DrawRule::PickNext { data },
                    PickOrder::Shared => DrawRule::PickShared { data },
                    PickOrder::Random => {
                        let last = self.dictionaries[data].row_count() as i64 - 1;
                        let keys = KeySampler::new(0, last, *law, scatter).map_err(plain)?;
                        DrawRule::Pick { data, keys }
                    }
                }
            }
            RuleSpec::Unique { from, is_shared } => {
                let from = self.bind_formula(from)?;
                let from = from.as_constant().and_then(|from| from.borrow_scalar().to_whole());
                let from = from.ok_or_else(|| plain("where it begins is not a number".into()))?;
                self.unique_starts.push(from);
                let counter = self.unique_starts.len() - 1;
                DrawRule::Unique { counter, is_shared: *is_shared }
            }
            RuleSpec::Uuid { version } => DrawRule::Uuid { version: *version },
            RuleSpec::Time { low, high } => DrawRule::Time { low: *low, high: *high },
            RuleSpec::Mixture(rules) => {
                let mut bound = Vec::new();
                for (number, (weight, rule)) in rules.iter().enumerate() {
                    bound.push((*weight, self.bind_rule(rule, &format!("{name}.{number}"))?));
                }
                let total = bound.iter().map(|(weight, _)| weight).sum();
                DrawRule::Mixture { total, rules: bound.into() }
            }
            RuleSpec::Computed(formula) => DrawRule::Computed(self.bind_formula(formula)?),
            RuleSpec::Hash(formula) => DrawRule::Hash(self.bind_formula(formula)?),
            RuleSpec::YcsbKey { number, form } => {
                DrawRule::YcsbKey { number: self.bind_formula(number)?, form: *form }
            }
            RuleSpec::YcsbText { key, prefix, field, length } => DrawRule::YcsbText {
                key: self.bind_formula(key)?,
                prefix: prefix.as_bytes().into(),
                field: self.bind_formula(field)?,
                length: *length as usize,
            },
        })
    }

    /// A law; of a scrambled one, over how many keys it is scattered.
    fn bind_law(
        &mut self,
        law: LawSpec,
        among: Option<&NamedFormula>,
    ) -> Result<LawSpec, BindError> {
        let (LawSpec::Scrambled { is_go, .. }, Some(among)) = (law, among) else { return Ok(law) };
        let among = self.bind_formula(among)?;
        let among = among.as_constant().and_then(|among| among.borrow_scalar().to_whole());
        let among = among.and_then(|among| u64::try_from(among).ok()).filter(|among| *among > 0);
        let why = "among is not a number of keys".to_owned();
        Ok(LawSpec::Scrambled { is_go, among: among.ok_or((why, None))? })
    }

    fn bind_filled_data(&mut self, name: &str) -> Result<usize, BindError> {
        let data = self.bind_data(name)?;
        match self.dictionaries[data].row_count() {
            0 => Err((format!("data.{name} has no rows"), None)),
            _ => Ok(data),
        }
    }

    fn bind_template_part(&mut self, part: &TemplatePart) -> Result<DrawPart, BindError> {
        Ok(match part {
            TemplatePart::Literal(text) => DrawPart::Literal(text.as_bytes().into()),
            TemplatePart::Letters(count) => DrawPart::Letters(*count),
            TemplatePart::Digits(count) => DrawPart::Digits(*count),
            TemplatePart::Value { name, width } => DrawPart::Value(self.bind_value(name)?, *width),
        })
    }

    /// Whether what a slot holds may be pasted into SQL.
    pub(super) fn may_paste(&self, place: SlotField) -> bool {
        match &self.slots[place.slot].plan.rule {
            DrawRule::Keys(_)
            | DrawRule::Between(..)
            | DrawRule::Growing { .. }
            | DrawRule::LastUnique { .. }
            | DrawRule::Unique { .. } => true,
            rule => rule.picked_data().is_some_and(|data| {
                self.facts.is_assumed || self.dictionaries[data].holds_words_only()
            }),
        }
    }

    /// Whether results give a slot its value.
    pub(super) fn is_kept(&self, place: SlotField) -> bool {
        self.slots[place.slot].mode == SlotMode::Kept
    }

    /// Looks at every value of the file, whether it is used or not.
    pub(super) fn check_values(&mut self, mistakes: &mut Vec<Mistake>) {
        let spec = self.spec;
        for value in &spec.values {
            if let Err((why, hint)) = self.slot_of(&value.name) {
                mistakes.push(Mistake::new(value.place.clone(), why).maybe_hint(hint));
            }
        }
    }
}

/// A range of whole numbers, made once where its ends are known.
fn bind_int(
    low: SlotFormula,
    high: SlotFormula,
    law: LawSpec,
    scatter: Option<u64>,
) -> Result<DrawRule, BindError> {
    let whole = |end: &SlotFormula| end.as_constant().map(|end| end.borrow_scalar().to_whole());
    match (whole(&low), whole(&high)) {
        (Some(low), Some(high)) => {
            let ends = low
                .zip(high)
                .ok_or_else(|| ("an end of the range is not a number".to_owned(), None))?;
            let keys = KeySampler::new(ends.0, ends.1, law, scatter).map_err(|why| (why, None))?;
            Ok(DrawRule::Keys(keys))
        }
        _ if scatter.is_some() => {
            let why = "a range whose ends change can't be scattered".to_owned();
            Err((why, Some("leave out scatter, or use by = \"scrambled\"".to_owned())))
        }
        _ if law == LawSpec::Uniform => Ok(DrawRule::Between(low, high)),
        _ if matches!(law, LawSpec::Scrambled { among: 0, .. }) => {
            let why = "over how many keys is it scattered? The range changes".to_owned();
            Err((why, Some("among = 1000".to_owned())))
        }
        _ => Ok(DrawRule::Growing { low, high, law }),
    }
}
