//! A mix that a file declares: values by rules, transactions of steps, kinds of sessions, tables to make and fill.
//! Start reading at `spec.rs`, the file as data; `bind.rs` and `program.rs` look its names up, `values.rs` draws, `worker.rs`
//! plays events.
//! Never knows: what the statements mean.

mod bind;
mod dictionary;
mod draw;
mod draw_value;
mod formula;
mod formula_parser;
mod import;
mod pieces;
mod preview;
mod program;
mod read;
mod read_steps;
mod run;
mod scans;
mod scrambled;
mod server_facts;
mod sessions;
mod settled;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod value_file;
mod values;
mod worker;
mod ycsb;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context as _;

use super::{
    BoxedWorker, DataJob, Endpoint, JobProgress, StatementPreview, WorkerContext, Workload,
    WorkloadKind, fill, sql,
};
use crate::base::Stop;
use crate::base::reactor::block_on;
use crate::client::{self, Session, Target};
use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Options};
use crate::recorder::{CounterSpec, DataVerdicts, MOST_COUNTERS};

pub use self::import::{ImportedMix, import_mix, parse_properties};
pub(super) use self::value_file::{BoundValues, ThinkTime, ValueDraws, ValueFile};
pub use self::ycsb::YcsbKind;

use self::bind::ServerAnswers;
use self::dictionary::Dictionary;
use self::program::{MixProgram, StatementPlan, compile_program};
use self::server_facts::assume_pool_tables;
use self::sessions::own_logins;
use self::spec::{DataSource, MixSpec, PickOrder, RuleSpec};
use self::table::{MixTable, TableOwner, quote_name};
use self::ycsb::TableKeys;

/// The option that names the file.
const FILE: &str = "file";
/// Transactions that ran again.
const RETRIES: usize = sql::COUNTERS.len();

/// What events of a mix count.
const COUNTERS: &[CounterSpec] = &[
    sql::COUNTERS[0],
    sql::COUNTERS[1],
    sql::COUNTERS[2],
    sql::COUNTERS[3],
    CounterSpec { name: "retries", unit: "transactions" },
];
const _: () = assert!(COUNTERS.len() == RETRIES + 1 && COUNTERS.len() <= MOST_COUNTERS);

/// The kind `mix`.
pub struct MixKind;

impl WorkloadKind for MixKind {
    fn name(&self) -> &'static str {
        "mix"
    }
    fn help_line(&self) -> &'static str {
        "transactions, values and tables that a file declares"
    }
    fn bare_word_option(&self) -> Option<&'static str> {
        Some(FILE)
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        vec![OptionSpec::new(FILE, OptionKind::Text, "", "the file, as in docs/mix.md")]
    }
    /// What the file's `[set]` names are options too.
    fn option_specs_for(&self, given: &[(String, String)]) -> Result<Vec<OptionSpec>, Mistake> {
        let mut all = self.option_specs();
        let file = given.iter().rev().find(|(name, _)| name == FILE);
        let Some((_, file)) = file else { return Ok(all) };
        // A file with mistakes is told when the workload is built, all of them together.
        let Ok(spec) = read_file(Path::new(file)) else { return Ok(all) };
        all.extend(value_file::set_options(&spec.sets));
        Ok(all)
    }
    fn example_args(&self) -> &'static [&'static str] {
        &[
            "docs/mix/shop.toml --sandbox --threads=10 --time=10",
            "shop.toml --dry-run",
            "shop.toml prepare -h db1 -u bench -p -D shop --rows=1M",
        ]
    }
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let target = endpoint.require_mysql()?.clone();
        let Some(file) = options.text(FILE) else {
            return Err(Mistake::new("--file", "no file is named")
                .hint("as in: sweat bench mix docs/mix/shop.toml")
                .into());
        };
        let path = Path::new(file);
        Ok(Box::new(MixWorkload::new(path, read_file(path)?, options, target)?))
    }
}

/// The events that a file's text would send, as a dry run shows them; dictionaries that are files are not read.
///
/// # Errors
/// All mistakes of the text together.
pub fn rehearse_text(text: &str) -> Result<Vec<String>, Mistakes> {
    let mut spec = read::read_spec(text).map_err(Mistakes)?;
    for data in &mut spec.data {
        if matches!(data.source, DataSource::File { .. }) {
            data.source = DataSource::Query(String::new());
        }
    }
    let files = read_dictionaries(Path::new(""), &spec)?;
    let facts = ServerAnswers { is_assumed: true, ..ServerAnswers::default() };
    let program = compile_program(&spec, &facts, &files)?;
    let mut lines = Vec::new();
    for kind in 0..program.sessions.len() {
        preview::EventSample::new(&program, kind).describe_event(&mut lines);
    }
    Ok(lines)
}

/// Reads a file; its mistakes name it.
fn read_file(path: &Path) -> Result<MixSpec, Mistakes> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        let mistake = Mistake::new(format!("--file {shown}"), error.to_string());
        Mistakes(vec![mistake.hint("is the path right?")])
    })?;
    read::read_spec(&text).map_err(|list| with_file(path, Mistakes(list)))
}

/// Mistakes with the name of the file before the line.
fn with_file(path: &Path, Mistakes(mut list): Mistakes) -> Mistakes {
    for mistake in &mut list {
        mistake.place = format!("{} {}", path.display(), mistake.place);
    }
    Mistakes(list)
}

/// A file's mix, ready to make workers.
struct MixWorkload {
    path: PathBuf,
    /// How its tables are made.
    prepare_command: String,
    /// Whose keys its table shall have, where they are YCSB's.
    keys: Option<TableKeys>,
    /// What was asked for and is not carried.
    notes: Vec<String>,
    spec: MixSpec,
    /// Dictionaries of files and lists.
    files: BTreeMap<String, Dictionary>,
    target: Target,
    /// Those of kinds of sessions that log in elsewhere or as others, by kind.
    logins: Vec<Option<Target>>,
    /// Statements that read whole tables; known after the check.
    scans: OnceLock<Vec<String>>,
    assumed_facts: ServerAnswers,
    /// As it would be on a server that nobody asked.
    assumed: MixProgram,
    /// As it is on the server; known after the check.
    ready: OnceLock<MixProgram>,
}

impl MixWorkload {
    fn new(
        path: &Path,
        mut spec: MixSpec,
        options: &Options,
        target: Target,
    ) -> anyhow::Result<MixWorkload> {
        value_file::take_set_options(&mut spec.sets, options);
        let files = read_dictionaries(path, &spec)?;
        let assumed_facts = ServerAnswers { is_assumed: true, ..ServerAnswers::default() };
        let assumed = compile_program(&spec, &assumed_facts, &files);
        let mut mistakes = assumed.as_ref().err().map(|list| list.0.clone()).unwrap_or_default();
        let facts = assume_pool_tables(&spec);
        for table in &spec.tables {
            let made = MixTable::new(table, &spec, &files, &facts);
            mistakes.extend(made.err().into_iter().flat_map(|list| list.0));
        }
        let logins = own_logins(&spec, &target, &mut mistakes);
        Mistakes::check(mistakes).map_err(|list| with_file(path, list))?;
        let assumed = assumed?;
        let prepare_command = format!("sweat bench mix {} prepare", path.display());
        let (path, ready) = (path.to_owned(), OnceLock::new());
        Ok(MixWorkload {
            path,
            prepare_command,
            keys: None,
            notes: Vec::new(),
            spec,
            files,
            target,
            logins,
            scans: OnceLock::new(),
            assumed_facts,
            assumed,
            ready,
        })
    }

    /// Whether the tables of the file are there and have rows.
    fn check_tables(&self, session: &mut Session) -> anyhow::Result<()> {
        let mut mistakes = Vec::new();
        let facts = assume_pool_tables(&self.spec);
        for spec in &self.spec.tables {
            let table = MixTable::new(spec, &self.spec, &self.files, &facts)?;
            let sql = format!("SELECT 1 FROM {} LIMIT 1", quote_name(&spec.name));
            let why = match session.query_rows(&sql) {
                Ok(rows) if rows.rows.is_empty() && table.row_count() > 0 => "has no rows",
                Ok(_) => continue,
                Err(client::Error::Server { code: 1146, .. }) => "does not exist",
                Err(error) => {
                    return Err(error).with_context(|| format!("look at {}", spec.name));
                }
            };
            let hint = self.prepare_command.clone();
            mistakes.push(Mistake::new(format!("table {}", spec.name), why).hint(hint));
        }
        Ok(Mistakes::check(mistakes)?)
    }

    /// Where sessions of a kind log in.
    fn target_of(&self, kind: usize) -> &Target {
        self.logins.get(kind).and_then(Option::as_ref).unwrap_or(&self.target)
    }

    /// Shows every statement to the server, which reads it and doesn't run it.
    fn check_statements(&self, session: &mut Session, program: &MixProgram) -> anyhow::Result<()> {
        let mut mistakes = Vec::new();
        for plan in &program.statements {
            mistakes.extend(self.check_statement(session, plan)?);
        }
        Ok(Mistakes::check(mistakes)?)
    }

    fn check_statement(
        &self,
        session: &mut Session,
        plan: &StatementPlan,
    ) -> anyhow::Result<Option<Mistake>> {
        let Some(sql) = &plan.prepared else { return Ok(None) };
        let place = || format!("{} {}", self.path.display(), plan.place);
        let prepared = match block_on(session.prepare_captured(sql)) {
            Ok(prepared) => prepared,
            Err(client::Error::Server { code, text, .. }) => {
                return Ok(Some(Mistake::new(place(), format!("{code} {text}"))));
            }
            Err(error) => return Err(error).context("check the statements"),
        };
        let missing = plan.keeps.iter().find(|(_, name)| prepared.column_index(name).is_none());
        let missing = missing.map(|(_, column)| {
            Mistake::new(place(), format!("the result has no column `{column}`"))
        });
        block_on(session.close_statement(prepared.prepared)).context("check the statements")?;
        Ok(missing)
    }

    fn program(&self) -> anyhow::Result<&MixProgram> {
        self.ready.get().context("the mix was not checked against the server")
    }
}

/// Reads the dictionaries that are files or lists.
fn read_dictionaries(
    path: &Path,
    spec: &MixSpec,
) -> Result<BTreeMap<String, Dictionary>, Mistakes> {
    let beside = path.parent().unwrap_or(Path::new(""));
    let mut all = BTreeMap::new();
    let mut mistakes = Vec::new();
    for data in &spec.data {
        match &data.source {
            DataSource::List(list) => {
                all.insert(data.name.clone(), Dictionary::from_list(list));
            }
            DataSource::File { path: file, .. } => {
                match Dictionary::from_file(file, beside, data) {
                    Ok(dictionary) => {
                        all.insert(data.name.clone(), dictionary);
                    }
                    Err(why) => mistakes.push(Mistake::new(data.place.clone(), why)),
                }
            }
            DataSource::Query(_) => {}
        }
    }
    Mistakes::check(mistakes).map_err(|list| with_file(path, list))?;
    Ok(all)
}

/// Whether workers take values of a rule in turns, all from one place.
fn is_shared_rule(rule: &RuleSpec) -> bool {
    match rule {
        RuleSpec::Pick { order, .. } => *order == PickOrder::Shared,
        RuleSpec::Unique { is_shared, .. } => *is_shared,
        RuleSpec::Mixture(rules) => rules.iter().any(|(_, rule)| is_shared_rule(rule)),
        _ => false,
    }
}

impl Workload for MixWorkload {
    fn class_names(&self) -> Vec<String> {
        self.assumed.classes.clone()
    }
    fn split_obstacle(&self) -> Option<&'static str> {
        let shares = self.spec.values.iter().any(|value| is_shared_rule(&value.rule));
        shares.then_some("its sessions share a list or a counter (order or step = \"shared\")")
    }
    fn counters(&self) -> &'static [CounterSpec] {
        COUNTERS
    }
    fn can_run_class_alone(&self) -> bool {
        true
    }
    fn step_names(&self) -> Vec<String> {
        self.assumed.steps.clone()
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        let program = self.program()?;
        let kind = program.session_of(part.worker, part.workers)?;
        Ok(Box::new(worker::MixWorker::new(self, program, part, kind)))
    }
    fn check_ready(&self, stop: &Stop) -> anyhow::Result<()> {
        let mut session = self.target.connect(stop)?;
        self.check_tables(&mut session)?;
        if let Some(keys) = &self.keys {
            keys.check_kind(&mut session)?;
        }
        for (login, spec) in self.logins.iter().zip(&self.spec.sessions) {
            if let Some(target) = login {
                target.connect(stop).with_context(|| spec.place.clone())?;
            }
        }
        if self.ready.get().is_some() {
            return self.check_statements(&mut session, self.program()?);
        }
        let facts = self.ask_facts(&mut session)?;
        let compile = || {
            let program = compile_program(&self.spec, &facts, &self.files);
            program.map_err(|list| with_file(&self.path, list))
        };
        let _ = self.ready.set(compile()?);
        self.check_statements(&mut session, self.program()?)?;
        // Values for it are drawn from a program of its own: unique numbers are not to be lost.
        let _ = self.scans.set(scans::find_full_scans(&mut session, &compile()?));
        Ok(())
    }
    fn prepare_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        let mut session = self.target.connect(job.stop)?;
        session.allow_long_statements();
        let facts = self.size_pool_tables(&mut session, job.seed)?;
        if !self.spec.tables.is_empty() {
            fill::current_database(&mut session)?;
        }
        for spec in &self.spec.tables {
            let table = MixTable::new(spec, &self.spec, &self.files, &facts)?;
            let owner = table::table_owner(&mut session, &spec.name)?;
            if owner == TableOwner::Foreign {
                return Err(table::foreign_table(&spec.name).into());
            }
            match &spec.create {
                Some(create) if owner == TableOwner::Absent => {
                    session.run_command(create).with_context(|| spec.place.clone())?;
                }
                Some(_) => {}
                None => fill::fill_tables(&self.target, &table.filler(job.seed), job)?,
            }
            if owner != TableOwner::OursWhole {
                table::finish_table(&mut session, spec)?;
            }
        }
        Ok(())
    }
    fn load_note(&self) -> Option<String> {
        let carried = (!self.notes.is_empty()).then(|| self.notes.join("; "));
        let carried = carried.map(|notes| format!("not carried: {notes}"));
        let scans = self.scans.get().into_iter().flatten().cloned();
        let all: Vec<String> = carried.into_iter().chain(scans).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
    fn check_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<DataVerdicts> {
        let keys = self.keys.as_ref().context("a mix states no rules for its data")?;
        let mut session = self.target.connect(job.stop)?;
        session.allow_long_statements();
        keys.judge_table(&mut session)
    }
    fn describe_statements(&self) -> StatementPreview {
        preview::describe_mix(self)
    }
    fn cleanup_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        let mut session = self.target.connect(job.stop)?;
        session.allow_long_statements();
        let mut foreign = Vec::new();
        let total = self.spec.tables.len() as u64;
        // The last one made may refer to those before it.
        for (number, spec) in self.spec.tables.iter().rev().enumerate() {
            match table::table_owner(&mut session, &spec.name)? {
                TableOwner::Absent => {}
                TableOwner::Foreign => foreign.push(table::foreign_table(&spec.name)),
                TableOwner::Ours | TableOwner::OursWhole => {
                    let sql = format!("DROP TABLE {}", quote_name(&spec.name));
                    session.run_command(&sql).with_context(|| format!("drop {}", spec.name))?;
                }
            }
            let label = "drop tables".to_owned();
            (job.progress)(JobProgress { label, done: number as u64 + 1, total, unit: "tables" });
        }
        Mistakes::check(foreign).context("some tables were left unchanged")
    }
}
