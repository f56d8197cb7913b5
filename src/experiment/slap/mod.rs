//! The rounds of mysqlslap: for each engine, each number of clients and each iteration, the data made anew and the list run by
//! new sessions. A run is kept in a run folder where that is asked for.
//! Never knows: words, texts, exit codes.

mod loader;
mod plan;

pub use loader::{SlapArchive, run_archived_slap};
pub use plan::{
    AroundRounds, QueryCount, RoundData, SlapEngine, SlapEvent, SlapFailure, SlapObserver, SlapPlan,
};

use std::sync::Arc;

use super::bare_load::NoSessionError;
use crate::analysis::SlapBlock;
use crate::base::reactor::block_on;
use crate::base::{Clock as _, RealClock, Stop};
use crate::client::{self, Session, Target};
use crate::plan::{LoadPlan, RefusedError};
use crate::recorder::Tally;
use crate::server::run_shell_command;
use crate::workload::slap::{
    QueryLimit, SessionNote, SlapLoad, SlapWorkload, StatementList, StatementOrder,
};
use loader::{BareLoader, RoundLoad, RoundLoader, RoundPlace};

/// A table by which a schema is known to be one that `sweat slap` made.
const MARK: &str = "_sweat_slap";

/// Runs all rounds on a target, which names no database; without one only tells what would be done. Once `stop` is set, the
/// block so far is told and the schema that was made is dropped.
///
/// # Errors
/// [`SlapFailure`], a [`RefusedError`] for a schema that is not ours to drop, or what is wrong with the plan.
pub fn run_slap(
    plan: &SlapPlan,
    target: Option<&Target>,
    observer: &SlapObserver,
    stop: &Stop,
) -> anyhow::Result<()> {
    run_rounds(plan, target, &mut BareLoader, observer, stop)
}

fn run_rounds(
    plan: &SlapPlan,
    target: Option<&Target>,
    loader: &mut dyn RoundLoader,
    observer: &SlapObserver,
    stop: &Stop,
) -> anyhow::Result<()> {
    let control = match target {
        // The session that cleans up does so after Ctrl-C, too.
        Some(target) => Some(ControlSession::open(target).map_err(SlapFailure::Connect)?),
        None => None,
    };
    let mut runner = RoundRunner { plan, target, control, loader, observer, stop, has_made: false };
    let ran = runner.run_engines();
    if ran.is_err() && runner.has_made && !plan.is_classic && !plan.keeps_schema {
        // What went wrong is told; what can't be dropped stays for the next run.
        runner.clear_schema();
    }
    ran
}

/// The session between the rounds.
struct ControlSession {
    session: Session,
}

impl ControlSession {
    fn open(target: &Target) -> Result<ControlSession, client::Error> {
        let mut session = target.clone().with_multi_statements().connect(&Stop::new())?;
        session.allow_long_statements();
        Ok(ControlSession { session })
    }
}

/// Runs the rounds one after the other.
struct RoundRunner<'a> {
    plan: &'a SlapPlan,
    target: Option<&'a Target>,
    control: Option<ControlSession>,
    loader: &'a mut dyn RoundLoader,
    observer: &'a SlapObserver,
    stop: &'a Stop,
    /// The schema is there and was made by us.
    has_made: bool,
}

impl RoundRunner<'_> {
    fn tell(&self, event: SlapEvent<'_>) {
        (self.observer)(event);
    }

    fn makes_schema(&self) -> bool {
        !matches!(self.plan.data, RoundData::None)
    }

    fn run_engines(&mut self) -> anyhow::Result<()> {
        let none = [None];
        let engines: Vec<Option<&SlapEngine>> = match self.plan.engines.as_slice() {
            [] => none.to_vec(),
            engines => engines.iter().map(Some).collect(),
        };
        for engine in engines {
            self.tell(SlapEvent::EngineBegan);
            for clients in &self.plan.clients {
                if !self.stop.is_set() {
                    self.run_block(engine, *clients)?;
                }
            }
            if self.makes_schema() && !self.plan.keeps_schema {
                self.drop_schema()?;
            }
        }
        Ok(())
    }

    /// All rounds with one engine and one number of clients.
    fn run_block(&mut self, engine: Option<&SlapEngine>, clients: usize) -> anyhow::Result<()> {
        let limit = self.query_limit(clients);
        let name = engine.map(|engine| engine.name.as_str()).unwrap_or_default();
        let mut block = SlapBlock::new(name, clients, self.reported_count(clients));
        for _ in 0..self.plan.iterations {
            if self.stop.is_set() {
                break;
            }
            self.run_round(engine, limit, &mut block)?;
        }
        if self.plan.iterations == 0 {
            (block.clients, block.queries_per_client) = (0, 0);
        } else if self.plan.count == QueryCount::Timed {
            block.queries_per_client = block.run_per_client();
        } else if self.target.is_some() && !self.plan.is_classic {
            block.lower_to_what_was_run();
        }
        self.tell(SlapEvent::StatsBegan);
        self.tell(SlapEvent::BlockEnded(&block));
        Ok(())
    }

    fn run_round(
        &mut self,
        engine: Option<&SlapEngine>,
        limit: QueryLimit,
        block: &mut SlapBlock,
    ) -> anyhow::Result<()> {
        if self.makes_schema() {
            if !self.plan.keeps_schema {
                self.drop_schema()?;
            }
            self.make_data(engine)?;
        }
        self.tell(SlapEvent::KeysBegan);
        let keys = if self.plan.has_keys { self.read_keys()? } else { Vec::new() };
        if self.plan.load.commit_every > 0 {
            self.run_statement("SET AUTOCOMMIT=0")?;
        }
        let around = &self.plan.around;
        self.run_command("pre_system", around.pre_system.as_deref())?;
        self.run_list(around.pre_queries.as_ref())?;
        let observer = self.observer.clone();
        let told = move |note: SessionNote<'_>| {
            observer(match note {
                SessionNote::Connected => SlapEvent::Connected,
                SessionNote::Statement(text) => SlapEvent::Statement(text),
            });
        };
        let mut load = self.plan.load.clone();
        load.limit = limit;
        load.keys = Arc::new(keys);
        match self.target {
            None => {
                let clock = RealClock::start_now();
                load.describe_sessions(block.clients, &mut |note| told(note));
                block.add_time(clock.now().to_seconds());
            }
            Some(target) => {
                load.listener = self.plan.tells_statements.then(|| Arc::new(told) as _);
                self.run_load(load, target, block)?;
            }
        }
        self.run_list(around.post_queries.as_ref())?;
        self.run_command("post_system", around.post_system.as_deref())
    }

    /// The measured part: from before the first connect to behind the last close.
    fn run_load(
        &mut self,
        load: SlapLoad,
        target: &Target,
        block: &mut SlapBlock,
    ) -> anyhow::Result<()> {
        let mut address = target.plan().clone();
        address.database = Some(self.plan.schema.clone());
        let workload = SlapWorkload::new(load, target.with_plan(&address)?);
        let pace = LoadPlan { workers: block.clients, ..self.plan.pace.clone() };
        let pass = u32::try_from(block.rounds_ms.len() + 1).unwrap_or(u32::MAX);
        let place = RoundPlace { engine: &block.engine, clients: block.clients, pass };
        let RoundLoad { seconds, ran } = self.loader.run_load(place, &pace, &workload, self.stop);
        match ran {
            Ok(recording) => {
                if let Some(why) = &recording.failure {
                    return Err(SlapFailure::Load(why.clone()).into());
                }
                block.add_round(seconds, &recording, workload.query_classes());
                Ok(())
            }
            Err(error) => match error.downcast_ref::<NoSessionError>() {
                Some(none) => {
                    block.add_empty_round(seconds, &none.why);
                    Ok(())
                }
                None => Err(error),
            },
        }
    }

    fn query_limit(&self, clients: usize) -> QueryLimit {
        let divided = |total: u64, keeps_rest: bool| QueryLimit::PerSession {
            each: total / clients as u64,
            extra: if keeps_rest { total % clients as u64 } else { 0 },
        };
        let length = self.plan.load.list.length();
        let all = match self.plan.load.order {
            StatementOrder::Shared => divided(length, true),
            StatementOrder::Each | StatementOrder::Random => {
                QueryLimit::PerSession { each: length, extra: 0 }
            }
        };
        match self.plan.count {
            QueryCount::List => all,
            QueryCount::PerClient(0) => all,
            QueryCount::PerClient(each) => QueryLimit::PerSession { each, extra: 0 },
            QueryCount::Total(total) if total < clients as u64 => all,
            QueryCount::Total(total) => divided(total, !self.plan.is_classic),
            QueryCount::Timed if self.target.is_none() => all,
            QueryCount::Timed => QueryLimit::None,
        }
    }

    /// What is reported as the number of statements of each client.
    fn reported_count(&self, clients: usize) -> u64 {
        let is_generated = matches!(self.plan.data, RoundData::Generated(..));
        match self.plan.count {
            QueryCount::List if is_generated => 0,
            QueryCount::List => match self.query_limit(clients) {
                QueryLimit::PerSession { each, .. } => each,
                QueryLimit::None => 0,
            },
            QueryCount::PerClient(each) => each,
            QueryCount::Total(total) => total / clients as u64,
            QueryCount::Timed => 0,
        }
    }

    /// Makes the schema and what is in it.
    fn make_data(&mut self, engine: Option<&SlapEngine>) -> anyhow::Result<()> {
        let schema = self.plan.schema.as_str();
        self.tell(SlapEvent::DataBegan);
        let create = format!("CREATE SCHEMA {}", quoted_name(schema));
        self.tell(SlapEvent::SchemaCreated(&create));
        self.tell(SlapEvent::Statement(create.as_bytes()));
        if let Some(ControlSession { session }) = &mut self.control {
            let failed = |error| SlapFailure::Schema { schema: schema.to_owned(), error };
            session.run_command(&create).map_err(failed)?;
            self.has_made = true;
            let chosen = block_on(session.select_db(&mut Tally::default(), schema.as_bytes()));
            chosen.map_err(|error| anyhow::anyhow!("use {schema}: error {}", error.code))?;
            let mark = format!("CREATE TABLE {MARK} (made_by_sweat_slap INT PRIMARY KEY)");
            run_control(session, &mark)?;
        }
        self.tell(SlapEvent::SchemaChosen(schema));
        let of_engine = |engine: &SlapEngine| match engine.options.as_str() {
            "" => format!(" Engine = {}", engine.name),
            options => format!(" Engine = {} {options}", engine.name),
        };
        let suffix = engine.map(of_engine).unwrap_or_default();
        let plan = self.plan;
        match &plan.data {
            RoundData::None => Ok(()),
            RoundData::Statements(list) => {
                for place in 0..list.statement_count() {
                    let text = String::from_utf8_lossy(list.statement_text(place));
                    let suffix = if place == 0 { &*suffix } else { "" };
                    self.run_create(&text, suffix)?;
                }
                Ok(())
            }
            RoundData::Generated(_, 0) => Ok(()),
            RoundData::Generated(sql, count) => {
                self.run_create(&sql.create, &suffix)?;
                let rows = sql.rows.iter().cycle().take(*count as usize - 1);
                rows.into_iter().try_for_each(|row| self.run_statement(row))
            }
        }
    }

    /// Drops the schema if it is there and one of ours.
    fn drop_schema(&mut self) -> anyhow::Result<()> {
        let name = quoted_name(&self.plan.schema);
        let drop = format!("DROP SCHEMA IF EXISTS {name}");
        if let Some(ControlSession { session }) = &mut self.control {
            let is_ours = self.has_made || self.plan.may_drop;
            match session.query_rows(&format!("SHOW TABLES FROM {name} LIKE '\\_sweat\\_slap'")) {
                // There is none, and nothing to drop.
                Err(client::Error::Server { code: 1049, .. }) => {
                    self.tell(SlapEvent::Statement(drop.as_bytes()));
                    return Ok(());
                }
                Ok(found) if found.rows.is_empty() && !is_ours => {
                    return Err(refused_drop(&self.plan.schema).into());
                }
                Ok(_) => {}
                Err(error) => return Err(SlapFailure::Statement { sql: drop, error }.into()),
            }
        }
        self.run_statement(&drop)?;
        self.has_made = false;
        Ok(())
    }

    /// Drops the schema that this run made, without a word.
    fn clear_schema(&mut self) {
        if let Some(ControlSession { session }) = &mut self.control {
            let drop = format!("DROP SCHEMA IF EXISTS {}", quoted_name(&self.plan.schema));
            let _ = session.run_command(&drop);
        }
    }

    fn read_keys(&mut self) -> anyhow::Result<Vec<String>> {
        const KEYS: &str = "SELECT id from t1";
        let Some(ControlSession { session }) = &mut self.control else { return Ok(Vec::new()) };
        (self.observer)(SlapEvent::Statement(KEYS.as_bytes()));
        let rows = session.query_rows(KEYS);
        let rows = rows.map_err(|error| SlapFailure::Statement { sql: KEYS.to_owned(), error })?;
        Ok((0..rows.rows.len()).filter_map(|row| rows.text_value(row, 0)).collect())
    }

    fn run_list(&mut self, list: Option<&StatementList>) -> anyhow::Result<()> {
        let Some(list) = list else { return Ok(()) };
        (0..list.statement_count()).try_for_each(|place| {
            self.run_statement(&String::from_utf8_lossy(list.statement_text(place)))
        })
    }

    /// A statement with what is said of its engine, which a message leaves out.
    fn run_create(&mut self, sql: &str, suffix: &str) -> anyhow::Result<()> {
        let failed = |error: anyhow::Error| match error.downcast::<SlapFailure>() {
            Ok(SlapFailure::Statement { error, .. }) => {
                SlapFailure::Statement { sql: sql.to_owned(), error }.into()
            }
            Ok(other) => other.into(),
            Err(other) => other,
        };
        self.run_statement(&format!("{sql}{suffix}")).map_err(failed)
    }

    fn run_statement(&mut self, sql: &str) -> anyhow::Result<()> {
        self.tell(SlapEvent::Statement(sql.as_bytes()));
        match &mut self.control {
            Some(ControlSession { session }) => Ok(run_control(session, sql)?),
            None => Ok(()),
        }
    }

    fn run_command(&self, name: &str, command: Option<&str>) -> anyhow::Result<()> {
        let Some(command) = command else { return Ok(()) };
        let status = run_shell_command(command)?;
        if status != 0 {
            self.tell(SlapEvent::CommandFailed(name, status));
        }
        Ok(())
    }
}

fn run_control(session: &mut Session, sql: &str) -> Result<(), SlapFailure> {
    let failed = |error| SlapFailure::Statement { sql: sql.to_owned(), error };
    session.run_command(sql).map(|_| ()).map_err(failed)
}

fn quoted_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn refused_drop(schema: &str) -> RefusedError {
    RefusedError(format!(
        "the schema {schema} exists and was not made by `sweat slap`: it would be dropped\n\
         hint: name another one with --create-schema, or say --allow drop"
    ))
}
