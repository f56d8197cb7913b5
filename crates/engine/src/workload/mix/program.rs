//! What workers run: statements with their holes, transactions and kinds of sessions, all names looked up.

use std::collections::BTreeMap;

use super::bind::{ServerAnswers, ValueBinder};
use super::dictionary::{Dictionary, is_plain_word};
use super::draw::{SlotFormula, write_scalar};
use super::read_steps::expected_value;
use super::sessions::{SessionPlan, compile_sessions};
use super::spec::{
    BeginSpec, ExpectSpec, MixSpec, PauseRule, RetrySpec, SqlPiece, SqlSpec, StepAction, StepSpec,
    TransactionSpec,
};
use super::values::ValueTable;
use crate::plan::{Mistake, Mistakes};
use crate::recorder::StepId;

/// The step that ends a transaction of the server.
const COMMIT: &str = "commit";

/// Everything that a load of a mix needs.
#[derive(Debug)]
pub(super) struct MixProgram {
    pub(super) values: ValueTable,
    pub(super) statements: Vec<StatementPlan>,
    pub(super) transactions: Vec<TransactionPlan>,
    pub(super) sessions: Vec<SessionPlan>,
    /// Classes of events.
    pub(super) classes: Vec<String>,
    /// Steps inside events that are timed.
    pub(super) steps: Vec<String>,
    /// The one that commits, where there is one.
    pub(super) commit: Option<StepId>,
}

/// A piece of a statement's text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TextPiece {
    Literal(Box<[u8]>),
    /// A value, by its place in the statement's holes.
    Hole(usize),
    /// A value that is part of the text.
    Paste(usize),
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) struct StatementPlan {
    pub(super) place: String,
    pub(super) pieces: Vec<TextPiece>,
    /// Values of its holes.
    pub(super) holes: Vec<SlotFormula>,
    /// With question marks for its holes; `None` where its text changes.
    pub(super) prepared: Option<String>,
    pub(super) is_read: bool,
    /// Slots that get columns of the first row.
    pub(super) keeps: Vec<(usize, String)>,
    pub(super) expect: ExpectPlan,
}

/// What its reply is checked against.
#[derive(Clone, Debug, Default)]
pub(super) struct ExpectPlan {
    pub(super) counts: ExpectSpec,
    /// The values of the first row, from the first column on.
    pub(super) values: Vec<SlotFormula>,
}

impl StatementPlan {
    /// Whether its rows are looked into.
    pub(super) fn is_captured(&self) -> bool {
        let expect = &self.expect;
        !self.keeps.is_empty() || !expect.values.is_empty() || expect.counts.columns.is_some()
    }
}

/// A transaction of the file: an event.
#[derive(Clone, Debug)]
pub(super) struct TransactionPlan {
    pub(super) name: String,
    pub(super) class: u16,
    pub(super) think: Option<PauseRule>,
    /// What begins it, where it is one for the server too.
    pub(super) begin: Vec<Box<[u8]>>,
    pub(super) retry: RetrySpec,
    pub(super) steps: Vec<StepPlan>,
}

/// One step of it.
#[derive(Clone, Debug)]
pub(super) struct StepPlan {
    pub(super) what: StepDeed,
    /// Where its time is noted.
    pub(super) timed: Option<StepId>,
    pub(super) repeat: Option<(SlotFormula, SlotFormula)>,
    pub(super) chance: f64,
    pub(super) when: Option<SlotFormula>,
}

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StepDeed {
    /// A statement, by its place in the list.
    Statement(usize),
    Sleep(PauseRule),
}

/// Makes a program.
///
/// # Errors
/// All mistakes together.
pub(super) fn compile_program(
    spec: &MixSpec,
    facts: &ServerAnswers,
    files: &BTreeMap<String, Dictionary>,
) -> Result<MixProgram, Mistakes> {
    let mut compiler = ProgramCompiler {
        binder: ValueBinder::new(spec, facts, files, &[]),
        mistakes: Vec::new(),
        statements: Vec::new(),
        steps: Vec::new(),
    };
    let mut mistakes = Vec::new();
    compiler.binder.check_values(&mut mistakes);
    compiler.mistakes = mistakes;
    let mut classes: Vec<String> = Vec::new();
    let mut transactions = Vec::new();
    for transaction in &spec.transactions {
        let class = place_of(&mut classes, &transaction.class);
        check_kept_order(transaction, spec, &mut compiler.mistakes);
        transactions.push(compiler.compile_transaction(transaction, class));
    }
    let sessions = compile_sessions(spec, &mut compiler.mistakes);
    let ProgramCompiler { binder, mistakes, statements, mut steps } = compiler;
    Mistakes::check(mistakes)?;
    let begins = transactions.iter().any(|transaction| !transaction.begin.is_empty());
    let commit = begins.then(|| StepId(place_of(&mut steps, COMMIT)));
    let values = binder.into_table();
    Ok(MixProgram { values, statements, transactions, sessions, classes, steps, commit })
}

/// The place of a name in a list, at its end if it was not there.
fn place_of(names: &mut Vec<String>, name: &str) -> u16 {
    let found = names.iter().position(|known| known == name);
    let place = found.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    place as u16
}

/// A value that only later steps of the same transaction keep is never there when it is used.
fn check_kept_order(transaction: &TransactionSpec, spec: &MixSpec, mistakes: &mut Vec<Mistake>) {
    let elsewhere = |name: &str| {
        let others = spec.transactions.iter().filter(|other| other.name != transaction.name);
        others.flat_map(|other| &other.steps).any(|step| keeps(step, name))
    };
    for (number, step) in transaction.steps.iter().enumerate() {
        let StepAction::Sql(sql) = &step.what else { continue };
        for piece in &sql.pieces {
            let (SqlPiece::Hole(name) | SqlPiece::Paste(name)) = piece else { continue };
            let before = &transaction.steps[..number];
            let later = transaction.steps[number..].iter().any(|step| keeps(step, name));
            if later && !before.iter().any(|step| keeps(step, name)) && !elsewhere(name) {
                let why = format!("`{name}` is used before it is kept");
                mistakes.push(Mistake::new(step.place.clone(), why));
            }
        }
    }
}

fn keeps(step: &StepSpec, name: &str) -> bool {
    step.keeps.iter().any(|(kept, _)| kept == name)
}

struct ProgramCompiler<'s> {
    binder: ValueBinder<'s>,
    mistakes: Vec<Mistake>,
    statements: Vec<StatementPlan>,
    steps: Vec<String>,
}

impl ProgramCompiler<'_> {
    /// Notes a mistake at this place, if it is one.
    fn take<T>(&mut self, place: &str, result: Result<T, (String, Option<String>)>) -> Option<T> {
        match result {
            Ok(found) => Some(found),
            Err((why, hint)) => {
                self.mistakes.push(Mistake::new(place, why).maybe_hint(hint));
                None
            }
        }
    }

    fn compile_transaction(&mut self, spec: &TransactionSpec, class: u16) -> TransactionPlan {
        let statements = spec.steps.iter().filter(|step| matches!(step.what, StepAction::Sql(_)));
        let is_single = statements.count() < 2;
        let mut number = 0;
        let mut steps = Vec::new();
        for step in &spec.steps {
            number += 1;
            let own = format!("{} {number}", spec.name);
            // What an event of one statement takes is the event's own time.
            let name = step.class.clone().or((!is_single).then_some(own));
            steps.extend(self.compile_step(step, name.as_deref()));
        }
        TransactionPlan {
            name: spec.name.clone(),
            class,
            think: spec.think,
            begin: begin_statements(spec),
            retry: spec.retry.clone(),
            steps,
        }
    }

    fn compile_step(&mut self, spec: &StepSpec, name: Option<&str>) -> Option<StepPlan> {
        let what = match &spec.what {
            StepAction::Sql(sql) => {
                let statement = self.compile_statement(spec, sql)?;
                self.statements.push(statement);
                StepDeed::Statement(self.statements.len() - 1)
            }
            StepAction::Sleep(pause) => StepDeed::Sleep(*pause),
        };
        let is_statement = matches!(what, StepDeed::Statement(_));
        let timed = name.filter(|_| is_statement || spec.class.is_some());
        let repeat = spec.repeat.as_ref().and_then(|(low, high)| {
            let low = self.binder.bind_formula(low);
            let low = self.take(&spec.place, low)?;
            let high = self.binder.bind_formula(high);
            Some((low, self.take(&spec.place, high)?))
        });
        let when = spec.when.as_ref().and_then(|when| {
            let when = self.binder.bind_formula(when);
            self.take(&spec.place, when)
        });
        Some(StepPlan {
            what,
            timed: timed.map(|name| StepId(place_of(&mut self.steps, name))),
            repeat,
            chance: spec.chance,
            when,
        })
    }

    /// Slots that get columns of a step's result.
    fn compile_keeps(&mut self, spec: &StepSpec) -> Vec<(usize, String)> {
        let mut kept = Vec::new();
        for (name, column) in &spec.keeps {
            let bound = self.binder.bind_value(name);
            match self.take(&spec.place, bound) {
                Some(SlotFormula::Value(place)) if self.binder.is_kept(place) => {
                    kept.push((place.slot, column.clone()));
                }
                Some(_) => {
                    let why = format!("`{name}` has a value already, from [value] or [set]");
                    self.take::<()>(&spec.place, Err((why, None)));
                }
                None => {}
            }
        }
        kept
    }

    fn compile_statement(&mut self, spec: &StepSpec, sql: &SqlSpec) -> Option<StatementPlan> {
        let mut pieces = Vec::new();
        let mut holes = Vec::new();
        let mut is_text = spec.as_text;
        let mut failed = false;
        for piece in &sql.pieces {
            let (name, is_paste) = match piece {
                SqlPiece::Literal(text) => {
                    push_literal(&mut pieces, text.as_bytes());
                    continue;
                }
                SqlPiece::Hole(name) => (name, false),
                SqlPiece::Paste(name) => (name, true),
            };
            let bound = self.binder.bind_value(name);
            let Some(bound) = self.take(&spec.place, bound) else {
                failed = true;
                continue;
            };
            match (&bound, is_paste) {
                (SlotFormula::Constant(constant), true) => {
                    let mut text = Vec::new();
                    write_scalar(constant.borrow_scalar(), &mut text);
                    if !is_plain_word(text.strip_prefix(b"-").unwrap_or(&text)) {
                        let why = format!("`{name}` is neither a whole number nor a word");
                        failed |= self.take::<()>(&spec.place, Err((why, None))).is_none();
                    }
                    push_literal(&mut pieces, &text);
                }
                (SlotFormula::Value(place), true) if !self.binder.may_paste(*place) => {
                    let why = format!("`{name}` can't be pasted: it may be any text");
                    let hint = "an int, a unique, or data of plain words".to_owned();
                    failed |= self.take::<()>(&spec.place, Err((why, Some(hint)))).is_none();
                }
                (_, true) => {
                    is_text = true;
                    pieces.push(TextPiece::Paste(holes.len()));
                    holes.push(bound);
                }
                (_, false) => {
                    pieces.push(TextPiece::Hole(holes.len()));
                    holes.push(bound);
                }
            }
        }
        let kept = self.compile_keeps(spec);
        let mut values = Vec::new();
        for text in spec.expect.value.iter().chain(&spec.expect.values) {
            let bound = self.binder.bind_formula(&expected_value(text));
            values.extend(self.take(&spec.place, bound));
        }
        if failed {
            return None;
        }
        let expect = ExpectPlan { counts: spec.expect.clone(), values };
        let prepared = (!is_text).then(|| prepared_text(&pieces));
        let is_read = is_read_statement(&pieces);
        let place = spec.place.clone();
        Some(StatementPlan { place, pieces, holes, prepared, is_read, keeps: kept, expect })
    }
}

fn push_literal(pieces: &mut Vec<TextPiece>, text: &[u8]) {
    if let Some(TextPiece::Literal(before)) = pieces.last_mut() {
        *before = [&**before, text].concat().into();
    } else {
        pieces.push(TextPiece::Literal(text.into()));
    }
}

fn prepared_text(pieces: &[TextPiece]) -> String {
    let text: Vec<u8> = pieces
        .iter()
        .flat_map(|piece| match piece {
            TextPiece::Literal(text) => text.to_vec(),
            TextPiece::Hole(_) | TextPiece::Paste(_) => b"?".to_vec(),
        })
        .collect();
    String::from_utf8(text).expect("it was cut from texts")
}

/// The first word of a statement, in small letters.
fn first_word(text: &[u8]) -> String {
    let begin = text.iter().position(|b| !b.is_ascii_whitespace() && *b != b'(').unwrap_or(0);
    let word = text[begin..].iter().take_while(|b| b.is_ascii_alphabetic());
    word.map(|b| b.to_ascii_lowercase() as char).collect()
}

fn is_read_statement(pieces: &[TextPiece]) -> bool {
    const WORDS: [&str; 8] =
        ["select", "show", "with", "explain", "desc", "describe", "values", "table"];
    match pieces.first() {
        Some(TextPiece::Literal(text)) => WORDS.contains(&first_word(text).as_str()),
        _ => false,
    }
}

/// What begins a transaction of the server: by itself where more than one step changes data.
fn begin_statements(spec: &TransactionSpec) -> Vec<Box<[u8]>> {
    let changes = |step: &&StepSpec| match &step.what {
        StepAction::Sql(sql) => match sql.pieces.first() {
            Some(SqlPiece::Literal(text)) => {
                let word = first_word(text.as_bytes());
                ["insert", "update", "delete", "replace"].contains(&word.as_str())
            }
            _ => false,
        },
        StepAction::Sleep(_) => false,
    };
    let text = |text: &str| text.as_bytes().into();
    match &spec.begin {
        BeginSpec::Auto if spec.steps.iter().filter(changes).count() > 1 => vec![text("BEGIN")],
        BeginSpec::Auto | BeginSpec::Off => Vec::new(),
        BeginSpec::On => vec![text("BEGIN")],
        BeginSpec::ReadOnly => vec![text("START TRANSACTION READ ONLY")],
        BeginSpec::Isolation(level) => {
            vec![text(&format!("SET TRANSACTION ISOLATION LEVEL {level}")), text("BEGIN")]
        }
    }
}
