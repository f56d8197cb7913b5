//! A file of statements, run as it stands: each worker from the start, or all together once.
//! Never knows: what the statements do.

pub(super) mod script;
pub(super) mod split;

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;

use crate::base::reactor::block_on;
use crate::base::{Nanos, Stop};
use crate::client::{self, Session, Target};
use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Options};
use crate::recorder::{ClassId, EventOutcome, StatementRepeats, Tally, WorkloadFacts};

use super::{BoxedWorker, Endpoint, OpenError, Worker, WorkerContext, Workload, WorkloadKind, sql};

use self::script::{ScriptStatement, StatementScript};

/// Mistakes in a file that are shown; the others are as easily found once these are mended.
const SHOWN: usize = 5;

/// The kind `queries`.
pub struct QueriesKind;

impl WorkloadKind for QueriesKind {
    fn name(&self) -> &'static str {
        "queries"
    }
    fn help_line(&self) -> &'static str {
        "your own statements, from a file or --queries"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        use OptionKind::{Count, Switch, Text};
        let spec = OptionSpec::new;
        vec![
            spec("file", Text, "", "file with the statements"),
            spec("queries", Text, "", "the statements themselves"),
            spec("delimiter", Text, ";", "statement separator; \\n for line ends"),
            spec("passes", Count, "1", "times through the statements; 0: no end"),
            spec("shared", Switch, "off", "all workers share each pass"),
        ]
    }
    fn facts(&self, options: &Options) -> WorkloadFacts {
        let passes = Some(options.count("passes")).filter(|passes| *passes > 0);
        let repeats = StatementRepeats { passes, shared: options.switch("shared") };
        WorkloadFacts { repeats: Some(repeats), ..WorkloadFacts::default() }
    }
    fn ends_by_itself(&self) -> bool {
        true
    }
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let target = endpoint.require_mysql()?.clone();
        Ok(Box::new(QueriesWorkload::new(options, target)?))
    }
}

/// The statements and how to go through them.
struct QueriesWorkload {
    target: Target,
    script: StatementScript,
    /// What messages call the text.
    name: String,
    /// Statements to run, of one worker or of all together; `None` for no end.
    total: Option<u64>,
    /// Statements begun by all workers together, if they share.
    begun: Option<AtomicU64>,
}

impl QueriesWorkload {
    fn new(options: &Options, target: Target) -> anyhow::Result<QueriesWorkload> {
        let (name, text) = match (options.text("file"), options.text("queries")) {
            (Some(file), None) => {
                let text = std::fs::read(file).map_err(|e| {
                    Mistake::new(format!("--file {file}"), e.to_string()).hint("is the path right?")
                })?;
                (file.to_owned(), text)
            }
            (None, Some(text)) => ("--queries".to_owned(), text.as_bytes().to_vec()),
            (None, None) => {
                let why = "there is nothing to run";
                return Err(Mistake::new("queries", why)
                    .hint("name a file with --file, or use --queries")
                    .into());
            }
            (Some(_), Some(_)) => {
                return Err(Mistake::new("--queries", "it can't be combined with --file")
                    .hint("use one of them")
                    .into());
            }
        };
        let delimiter = unescape_text(options.text("delimiter").unwrap_or(";"));
        if delimiter.is_empty() {
            return Err(Mistake::new("--delimiter", "is empty").hint("as in ';'").into());
        }
        let script = StatementScript::new(text, &delimiter, &name)?;
        let length = script.statements.len() as u64;
        let passes = options.count("passes");
        Ok(QueriesWorkload {
            target,
            script,
            name,
            total: (passes > 0).then(|| passes.saturating_mul(length)),
            begun: options.switch("shared").then(AtomicU64::default),
        })
    }

    /// What the server says about a statement that it could not run; `None` if there is nothing to complain about.
    fn check_statement(
        &self,
        session: &mut Session,
        sql: &str,
    ) -> Result<Option<String>, client::Error> {
        const SYNTAX: [u16; 3] = [1064, 1149, 1065];
        // Unknown database, table, column, function; no database chosen; no privilege.
        const MISSING: [u16; 8] = [1049, 1146, 1054, 1305, 1046, 1142, 1143, 1044];
        match block_on(session.prepare(sql)) {
            Ok(prepared) => {
                block_on(session.close_statement(prepared))?;
                Ok(None)
            }
            Err(client::Error::Server { code, text, .. }) => {
                let wrong =
                    SYNTAX.contains(&code) || MISSING.contains(&code) && !self.script.builds;
                Ok(wrong.then(|| format!("{code} {text}")))
            }
            Err(error) => Err(error),
        }
    }
}

impl Workload for QueriesWorkload {
    fn class_names(&self) -> Vec<String> {
        self.script.classes.clone()
    }
    fn split_obstacle(&self) -> Option<&'static str> {
        self.begun.is_some().then_some("with --shared its sessions take statements from one list")
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        if part.worker == 0 {
            if let Some(begun) = &self.begun {
                begun.store(0, Ordering::Relaxed);
            }
        }
        let next = self.script.statements[0];
        let text = String::new();
        Ok(Box::new(QueriesWorker {
            reading: self,
            part,
            session: None,
            begun: 0,
            next,
            error_text: text,
        }))
    }
    /// Shows the first statement of each sort to the server, which reads it and doesn't run it.
    fn check_ready(&self, stop: &Stop) -> anyhow::Result<()> {
        let mut session = self.target.connect(stop)?;
        let mut mistakes = Vec::new();
        for chunk in &self.script.samples {
            let Ok(sql) = std::str::from_utf8(self.script.sample_bytes(chunk)) else { continue };
            let said = self.check_statement(&mut session, sql).context("check the statements")?;
            mistakes.extend(
                said.map(|why| Mistake::new(format!("{} line {}", self.name, chunk.line), why)),
            );
            if mistakes.len() == SHOWN {
                break;
            }
        }
        Ok(Mistakes::check(mistakes)?)
    }
}

/// Text as one types it, with `\n`, `\r` and `\t` for what can't be typed.
fn unescape_text(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(other) => other,
                None => b'\\',
            },
            byte => byte,
        });
    }
    out
}

/// One worker.
struct QueriesWorker<'a> {
    reading: &'a QueriesWorkload,
    part: WorkerContext,
    session: Option<Session>,
    /// Statements this worker has begun, if it doesn't share.
    begun: u64,
    next: ScriptStatement,
    error_text: String,
}

impl QueriesWorker<'_> {
    /// Number of the next statement of the pass, counted over all passes.
    fn next_number(&mut self) -> u64 {
        match &self.reading.begun {
            Some(shared) => shared.fetch_add(1, Ordering::Relaxed),
            None => {
                self.begun += 1;
                self.begun - 1
            }
        }
    }
}

impl Worker for QueriesWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        self.session = None;
        self.session = Some(self.reading.target.open_session(&self.part.abandon).await?);
        Ok(())
    }

    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        let number = self.next_number();
        if self.reading.total.is_some_and(|total| number >= total) {
            return None;
        }
        let statements = &self.reading.script.statements;
        self.next = statements[(number % statements.len() as u64) as usize];
        Some(now)
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let sql = self.reading.script.statement_bytes(self.next);
        let session = self.session.as_mut().expect("open comes before any event");
        let error = match session.execute(tally, sql).await {
            Ok(reply) => {
                if self.next.reads {
                    tally.counts[sql::READS] += 1;
                } else if reply.affected > 0 {
                    tally.counts[sql::WRITES] += 1;
                } else {
                    tally.counts[sql::OTHER] += 1;
                }
                None
            }
            Err(error) => {
                self.error_text.clear();
                self.error_text.push_str(session.error_text());
                Some(error)
            }
        };
        EventOutcome { class: ClassId(self.next.class), error }
    }

    fn error_text(&self) -> &str {
        &self.error_text
    }

    async fn close(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.quit().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::AddressPlan;

    fn reading(given: &[(&str, &str)]) -> anyhow::Result<QueriesWorkload> {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let options = Options::from_given(&QueriesKind.option_specs(), &given).unwrap();
        let plan = AddressPlan { host: Some("127.0.0.1".to_owned()), ..AddressPlan::default() };
        QueriesWorkload::new(&options, Target::new(&plan)?)
    }

    fn part(worker: usize) -> WorkerContext {
        WorkerContext {
            worker,
            workers: 2,
            seed: 1,
            shares_thread: false,
            only_class: None,
            abandon: Stop::new(),
        }
    }

    fn reader(reading: &QueriesWorkload, worker: usize) -> QueriesWorker<'_> {
        let next = reading.script.statements[0];
        let error_text = String::new();
        QueriesWorker { reading, part: part(worker), session: None, begun: 0, next, error_text }
    }

    /// The next statement of a worker, as text.
    fn next(reader: &mut QueriesWorker<'_>) -> Option<String> {
        block_on(reader.next_event_time(Nanos(5))).map(|at| {
            assert_eq!(at, Nanos(5));
            String::from_utf8_lossy(reader.reading.script.statement_bytes(reader.next)).into_owned()
        })
    }

    #[test]
    fn each_worker_runs_all_statements_as_often_as_asked() {
        let reading = reading(&[("queries", "a; b"), ("passes", "2")]).unwrap();
        for worker in 0..2 {
            let mut reader = reader(&reading, worker);
            let all: Vec<_> = std::iter::from_fn(|| next(&mut reader)).collect();
            assert_eq!(all, ["a", "b", "a", "b"]);
        }
    }

    #[test]
    fn workers_that_share_run_them_once_in_all() {
        let reading =
            reading(&[("queries", "a\nb;\nc"), ("delimiter", "\\n"), ("shared", "")]).unwrap();
        let (mut one, mut two) = (reader(&reading, 0), reader(&reading, 1));
        assert_eq!(next(&mut one).as_deref(), Some("a"));
        assert_eq!(next(&mut two).as_deref(), Some("b;"));
        assert_eq!(next(&mut one).as_deref(), Some("c"));
        assert_eq!((next(&mut one), next(&mut two)), (None, None));
        reading.new_worker(part(0)).unwrap();
        assert_eq!(next(&mut two).as_deref(), Some("a"), "another load begins anew");
    }

    #[test]
    fn without_an_end_it_goes_round() {
        let reading = reading(&[("queries", "a;b"), ("passes", "0")]).unwrap();
        let mut reader = reader(&reading, 0);
        assert!((0..1000).all(|_| next(&mut reader).is_some()));
    }

    #[test]
    fn options_that_make_no_sense_are_named() {
        let why = |given: &[(&str, &str)]| reading(given).err().unwrap().to_string();
        assert!(why(&[]).contains("nothing to run"));
        assert!(why(&[("file", "a"), ("queries", "b")]).contains("combined with --file"));
        assert!(why(&[("queries", "a"), ("delimiter", "")]).contains("--delimiter: is empty"));
        assert!(why(&[("file", "/nowhere/x.sql")]).contains("--file /nowhere/x.sql: No such file"));
        assert_eq!(why(&[("queries", " ; ")]), "--queries: holds no statement");
    }
}
