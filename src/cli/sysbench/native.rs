//! The workloads that have the names of sysbench's own scripts: `prepare`, `prewarm`, `run`, `cleanup`, `help`.

use std::collections::BTreeSet;

use anyhow::Context as _;

use super::help_text;
use super::load::{LoadTest, run_test};
use super::option_table::OptionGroup;
use super::reader::{SysbenchWords, read_lax_number};
use super::server::{address_targets, check_driver, print_connect_error, try_session};
use super::settings::CommonSettings;
use super::{FAILED, OK, fail_words};
use crate::base::{Stop, kernel};
use crate::client::Target;
use crate::plan::{Mistakes, Options};
use crate::report::sysbench::TestFamily;
use crate::workload::{self, DataJob, Endpoint, JobProgress, Workload, WorkloadKind};

/// A workload with what was typed for it.
pub(super) struct NativeTest<'a> {
    pub(super) name: &'static str,
    pub(super) words: &'a SysbenchWords,
    pub(super) settings: &'a CommonSettings,
    /// Its options by today's names, as far as they were given.
    pub(super) given: Vec<(String, String)>,
    pub(super) stop: &'a Stop,
}

/// Runs a workload whose options are still to be read.
pub(super) fn run_native(
    name: &'static str,
    words: &SysbenchWords,
    settings: &CommonSettings,
    stop: &Stop,
) -> u8 {
    let console = settings.console;
    if words.command.is_none() {
        if name == "bulk_insert" {
            return OK;
        }
        console.print_fatal(
            "Command is required. Supported commands: prepare, prewarm, run, cleanup, help",
        );
        return FAILED;
    }
    let options = match words.take_test_options(|group| group == OptionGroup::Oltp) {
        Ok(options) => options,
        Err(error) => return fail_words(&error),
    };
    let given = options.plain_values();
    NativeTest { name, words, settings, given, stop }.run_command()
}

impl NativeTest<'_> {
    /// Does what the command says.
    pub(super) fn run_command(&self) -> u8 {
        let (command, style) = (self.words.command.as_deref().unwrap_or("run"), self.words.style());
        let console = self.settings.console;
        match command {
            "help" if self.name == "bulk_insert" => {
                let complaint = "'bulk_insert' test does not implement the 'help' command.";
                return fail_words(&super::reader::WordsError(complaint.to_owned()));
            }
            "help" => {
                console.print_notice(&help_text::oltp_help(self.name, style));
                return OK;
            }
            "prepare" | "run" | "cleanup" => {}
            "prewarm" | "warmup" if self.name != "bulk_insert" => {}
            other => {
                let complaint = format!("Unknown command: {other}");
                return fail_words(&super::reader::WordsError(complaint));
            }
        }
        if command == "run" {
            return self.run_load();
        }
        match self.change_data(command) {
            Ok(code) => code,
            Err(error) => {
                console.print_fatal(&format!("{error:#}"));
                FAILED
            }
        }
    }

    /// The workload, for the server that is meant.
    fn build_workload(&self, target: &Target, command: &str) -> anyhow::Result<Box<dyn Workload>> {
        let kind = workload::find_kind(self.name)?;
        let options = self.workload_options(kind, command).map_err(Mistakes)?;
        workload::build_workload(self.name, &options, Endpoint::MySql(target))
    }

    /// The options of the workload: what was given, and sysbench's defaults where they differ from ours.
    fn workload_options(
        &self,
        kind: &dyn WorkloadKind,
        command: &str,
    ) -> Result<Options, Vec<crate::plan::Mistake>> {
        let words = self.words;
        let mut all = vec![("table-size".to_owned(), "10000".to_owned())];
        let number = |name: &str| read_lax_number(words.text(name));
        for name in ["rand-spec-iter", "rand-spec-pct", "rand-spec-res"] {
            all.push((name.to_owned(), (number(name).max(0.0) as u64).to_string()));
        }
        for name in ["rand-pareto-h", "rand-zipfian-exp"] {
            all.push((name.to_owned(), number(name).to_string()));
        }
        all.push(("rand-type".to_owned(), self.settings.rand_type.clone()));
        for name in ["db-ps-mode", "mysql-ignore-errors"] {
            all.push((name.to_owned(), words.text(name).to_owned()));
        }
        if words.is_on("mysql-dry-run") {
            all.push(("mysql-dry-run".to_owned(), "on".to_owned()));
        }
        all.extend(self.given.iter().cloned());
        if let Some(every) = self.option_value("reconnect") {
            all.push(("reconnect-every".to_owned(), every.to_owned()));
        }
        if self.name.starts_with("select_random_") && command == "run" {
            all.push(("tables".to_owned(), "1".to_owned()));
        }
        let specs = kind.option_specs();
        all.retain(|(name, _)| specs.iter().any(|spec| spec.name == *name));
        for (name, value) in &mut all {
            let is_count = specs
                .iter()
                .any(|spec| spec.name == *name && spec.kind == crate::plan::OptionKind::Count);
            if is_count && value.parse::<u64>().is_err() {
                *value = (read_lax_number(value).max(0.0) as u64).to_string();
            }
        }
        Options::from_given(&specs, &all)
    }

    /// The servers: sessions of a load go to all of them in turn, data are made on the first.
    fn target(&self) -> Result<Target, String> {
        check_driver(self.words)?;
        let mut targets = address_targets(self.words, self.settings)?;
        if targets.is_empty() {
            return Err("No MySQL hosts specified, aborting".to_owned());
        }
        let first = targets.remove(0);
        Ok(first.with_siblings(targets))
    }

    fn option_value(&self, name: &str) -> Option<&str> {
        let found = self.given.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Names of the tables.
    fn table_names(&self) -> Vec<String> {
        if let Some(name) = self.option_value("table-name") {
            return vec![name.to_owned()];
        }
        let tables = match self.name {
            "bulk_insert" => self.settings.threads as f64,
            _ => self.option_value("tables").map_or(1.0, read_lax_number),
        };
        (1..=tables.max(0.0) as u64).map(|n| format!("sbtest{n}")).collect()
    }

    fn run_load(&self) -> u8 {
        let (settings, console) = (self.settings, self.settings.console);
        let is_dry = self.words.is_on("mysql-dry-run");
        let failed = |text: &str| {
            settings.print_start("");
            console.print_fatal(text);
            console.print_fatal(&format!(
                "`thread_init' function failed: {}: failed to initialize the DB driver",
                self.name
            ));
            console.print_fatal("Thread initialization failed!");
            FAILED
        };
        let target = match self.target() {
            Ok(target) => target,
            Err(fatal) => return failed(&fatal),
        };
        let workload = match self.build_workload(&target, "run") {
            Ok(workload) => workload,
            Err(error) => {
                console.print_fatal(&format!("{error:#}"));
                return FAILED;
            }
        };
        let ignored = self.words.list("mysql-ignore-errors");
        let reconnect = ["all", "2006", "2013", "2011", "2055"];
        run_test(&LoadTest {
            name: self.name,
            family: TestFamily::Sql,
            is_script: false,
            hook: None,
            explain: None,
            intro: String::new(),
            workload: &*workload,
            target: (!is_dry).then_some(&target),
            most_events: settings.events,
            reconnect: ignored.iter().any(|error| reconnect.contains(error)),
            as_text: self.words.text("db-ps-mode") == "disable",
            settings,
            stop: self.stop,
        })
    }

    /// `prepare`, `cleanup`, `prewarm`.
    fn change_data(&self, command: &str) -> anyhow::Result<u8> {
        let (settings, console) = (self.settings, self.settings.console);
        let target = self.target().map_err(anyhow::Error::msg)?;
        let workload = self.build_workload(&target, command)?;
        if settings.threads > 1 && command != "cleanup" && self.name != "bulk_insert" {
            console.print_notice("Initializing worker threads...\n\n");
        }
        if let Err(error) = try_session(&target, console) {
            console.print_fatal(&format!(
                "`sysbench.cmdline.call_command' function failed: {}: connection creation failed",
                self.name
            ));
            drop(error);
            return Ok(FAILED);
        }
        match command {
            "prepare" => self.prepare_data(&target, &*workload),
            "cleanup" => {
                for name in self.table_names() {
                    console.print_notice(&format!("Dropping table '{name}'...\n"));
                }
                let mut progress = |_: JobProgress| {};
                let mut job = DataJob {
                    threads: settings.threads,
                    seed: settings.seed,
                    stop: self.stop,
                    progress: &mut progress,
                };
                workload.cleanup_data(&mut job)?;
                Ok(OK)
            }
            _ => self.prewarm_tables(&target),
        }
    }

    fn prepare_data(&self, target: &Target, workload: &dyn Workload) -> anyhow::Result<u8> {
        let (settings, console) = (self.settings, self.settings.console);
        let names = self.table_names();
        let is_bulk = self.name == "bulk_insert";
        if is_bulk {
            for name in &names {
                console.print_notice(&format!("Creating table '{name}'...\n"));
            }
        } else if let Some(name) = self.existing_table(target, &names)? {
            let sql = workload.describe_statements().prepare;
            let sql = sql.first().map(String::as_str).unwrap_or_default();
            let text = format!("Table '{name}' already exists");
            console.print_notice(&format!("Creating table '{name}'...\n"));
            console.print_fatal(&format!(
                "mysql_drv_query() returned error 1050 ({text}) for query '{sql}'"
            ));
            console.print_fatal(&format!(
                "`sysbench.cmdline.call_command' function failed: {}: SQL error, errno = 1050, \
                 state = '42S01': {text}",
                self.name
            ));
            return Ok(FAILED);
        }
        let rows = self.option_value("table-size").map_or(10_000.0, read_lax_number) as u64;
        let mut lines = PrepareLines { names: &names, rows, begun: BTreeSet::new(), shown: 0 };
        let mut progress = |job: JobProgress| {
            let Some((name, what)) = job.label.split_once(": ") else { return };
            console.print_notice(&lines.note_progress(name, what.starts_with("index")));
        };
        let mut job = DataJob {
            threads: if is_bulk {
                settings.threads
            } else {
                settings.threads.max(kernel::core_count())
            },
            seed: settings.run_seed(),
            stop: self.stop,
            progress: &mut progress,
        };
        workload.prepare_data(&mut job)?;
        Ok(OK)
    }

    /// The first of these tables that is there.
    fn existing_table(&self, target: &Target, names: &[String]) -> anyhow::Result<Option<String>> {
        let mut session = target.connect(self.stop)?;
        let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        let found = session.query_scalar(&format!(
            "SELECT MIN(table_name) FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name IN ({})",
            list.join(",")
        ));
        found.context("look for tables")
    }

    /// Reads each table and its index into the buffer pool.
    fn prewarm_tables(&self, target: &Target) -> anyhow::Result<u8> {
        let rows = self.option_value("table-size").map_or(10_000.0, read_lax_number) as u64;
        let mut session = match target.connect(self.stop) {
            Ok(session) => session,
            Err(error) => {
                print_connect_error(target, &error, self.settings.console);
                return Ok(FAILED);
            }
        };
        session.allow_long_statements();
        for name in self.table_names() {
            self.settings.console.print_notice(&format!("Prewarming table {name}\n"));
            let statements = [
                format!("ANALYZE TABLE {name}"),
                format!(
                    "SELECT AVG(id) FROM (SELECT * FROM {name} FORCE KEY (PRIMARY) LIMIT {rows}) t"
                ),
                format!(
                    "SELECT COUNT(*) FROM (SELECT * FROM {name} WHERE k LIKE '%0%' \
                     LIMIT {rows}) t"
                ),
            ];
            for sql in statements {
                session.query_rows(&sql)?;
            }
        }
        Ok(OK)
    }
}

/// What `prepare` says of its tables, in their order, whichever of them is filled first.
struct PrepareLines<'a> {
    names: &'a [String],
    rows: u64,
    /// Tables, and whether what has begun is their index.
    begun: BTreeSet<(String, bool)>,
    /// Lines that were shown: two for each table.
    shown: usize,
}

impl PrepareLines<'_> {
    /// The lines that can be shown now.
    fn note_progress(&mut self, name: &str, is_index: bool) -> String {
        self.begun.insert((name.to_owned(), false));
        self.begun.insert((name.to_owned(), is_index));
        let mut text = String::new();
        while let Some(name) = self.names.get(self.shown / 2) {
            let is_index = self.shown % 2 == 1;
            if !self.begun.contains(&(name.clone(), is_index)) {
                break;
            }
            text += &match is_index {
                true => format!("Creating a secondary index on '{name}'...\n"),
                false => format!(
                    "Creating table '{name}'...\nInserting {} records into '{name}'\n",
                    self.rows
                ),
            };
            self.shown += 1;
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_told_in_their_order() {
        let names = ["a".to_owned(), "b".to_owned()];
        let mut lines = PrepareLines { names: &names, rows: 5, begun: BTreeSet::new(), shown: 0 };
        let first = "Creating table 'a'...\nInserting 5 records into 'a'\n";
        assert_eq!(lines.note_progress("a", false), first);
        assert_eq!(lines.note_progress("b", false), "");
        assert_eq!(lines.note_progress("b", true), "");
        let rest = lines.note_progress("a", true);
        assert_eq!(rest.lines().count(), 4, "{rest}");
    }
}
