//! What is printed while rounds run and behind them.

use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::print_complaint;
use crate::analysis::SlapBlock;
use crate::base::kernel;
use crate::experiment::{RoundData, SlapEvent, SlapPlan};
use crate::report::slap as texts;
use crate::workload::slap::LoadMix;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SlapFormat {
    #[default]
    Text,
    Json,
    Html,
}

/// Where lines of values go.
#[derive(Debug)]
pub(super) enum CsvSink {
    Stdout,
    File(File),
}

/// What is to be printed.
#[derive(Debug, Default)]
pub(super) struct SlapOutput {
    /// How often `-v`.
    pub(super) verbosity: u32,
    /// No blocks.
    pub(super) silent: bool,
    /// Nothing is run.
    pub(super) only_print: bool,
    /// No latencies.
    pub(super) is_classic: bool,
    pub(super) csv: Option<CsvSink>,
    pub(super) format: SlapFormat,
    /// What lines of values call the statements.
    pub(super) mix: String,
    /// What the program used itself.
    pub(super) debug_info: bool,
}

/// `-v` as often as this tells phases, and statements.
const PHASES: u32 = 2;
const STATEMENTS: u32 = 3;

/// Prints what it is told.
#[derive(Debug)]
pub(super) struct SlapPrinter {
    output: SlapOutput,
    program: String,
    blocks: Mutex<Vec<SlapBlock>>,
}

impl SlapPrinter {
    pub(super) fn new(output: SlapOutput, program: &str) -> SlapPrinter {
        SlapPrinter { output, program: program.to_owned(), blocks: Mutex::default() }
    }

    fn lock_blocks(&self) -> MutexGuard<'_, Vec<SlapBlock>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anything failed in the load.
    pub(super) fn has_errors(&self) -> bool {
        self.lock_blocks().iter().any(SlapBlock::has_errors)
    }

    /// What is said before the rounds.
    pub(super) fn print_start(&self, plan: &SlapPlan) {
        if matches!(plan.data, RoundData::Generated(..)) {
            self.print_phase("Building Create Statements for Auto");
            self.print_phase("Building Query Statements for Auto");
            if LoadMix::from_word(&self.output.mix) == LoadMix::Key {
                self.print_phase("Generating SELECT for keys Statements for Auto");
            }
        }
        self.print_phase("Parsing engines to use.");
    }

    pub(super) fn print_event(&self, event: SlapEvent<'_>) {
        match event {
            SlapEvent::EngineBegan => self.print_phase("Starting Concurrency Test"),
            SlapEvent::DataBegan => self.print_phase("Loading Pre-data"),
            SlapEvent::KeysBegan => self.print_phase("Generating primary key list"),
            SlapEvent::StatsBegan => self.print_phase("Generating stats"),
            // mysqlslap tells this statement twice.
            SlapEvent::SchemaCreated(sql) if !self.output.only_print => {
                self.print_statement(sql.as_bytes());
            }
            SlapEvent::SchemaChosen(schema) if self.output.only_print => {
                print_now(&format!("use {schema};\n"));
            }
            SlapEvent::SchemaCreated(_) | SlapEvent::SchemaChosen(_) => {}
            SlapEvent::Statement(text) => self.print_statement(text),
            SlapEvent::Connected if self.output.verbosity >= STATEMENTS => {
                print_now("connected!\n");
            }
            SlapEvent::Connected => {}
            SlapEvent::CommandFailed(name, status) => {
                print_complaint(&format!("Warning: Execution of {name} option returned {status}."))
            }
            SlapEvent::BlockEnded(block) => self.print_block(block),
        }
    }

    fn print_phase(&self, text: &str) {
        if self.output.verbosity >= PHASES {
            print_now(&format!("{text}\n"));
        }
    }

    fn print_statement(&self, text: &[u8]) {
        if self.output.only_print || self.output.verbosity >= STATEMENTS {
            let text = String::from_utf8_lossy(text);
            print_now(&format!("{};\n", text.trim_end_matches('\0')));
        }
    }

    fn print_block(&self, block: &SlapBlock) {
        let output = &self.output;
        let shows_text = output.format == SlapFormat::Text && !output.only_print;
        if shows_text && !output.silent && output.csv.is_none() {
            print_now(&texts::block_text(block));
            if output.verbosity > 0 && !output.is_classic {
                print_now(&texts::latency_text(block));
            }
        }
        let line = || texts::csv_line(block, &output.mix);
        match &output.csv {
            None => {}
            Some(CsvSink::Stdout) => print_now(&line()),
            Some(CsvSink::File(file)) => {
                let mut file = file;
                if let Err(error) = file.write_all(line().as_bytes()) {
                    print_complaint(&format!(
                        "{}: can't write the csv file: {error}",
                        self.program
                    ));
                }
            }
        }
        self.print_errors(block);
        self.lock_blocks().push(block.clone());
    }

    fn print_errors(&self, block: &SlapBlock) {
        if !self.output.is_classic {
            let text = texts::errors_text(block, &self.program);
            if !text.is_empty() {
                print_complaint(text.trim_end());
            }
            return;
        }
        for error in block.errors() {
            let (program, code, text) = (&self.program, error.code, &error.text);
            print_complaint(&format!("{program}: Error when connecting to server: {code} {text}"));
        }
    }

    /// What is said when all is over.
    pub(super) fn print_end(&self, line: &str) {
        let blocks = self.lock_blocks();
        match self.output.format {
            SlapFormat::Text => {}
            SlapFormat::Json => print_now(&texts::json_document(&blocks, &self.output.mix)),
            SlapFormat::Html => print_now(&texts::html_page(&blocks, line)),
        }
        if self.output.debug_info {
            print_complaint(&usage_text());
        }
    }
}

/// Writes to standard output at once. That the reader has gone is no reason to stop a load.
pub(super) fn print_now(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// What this process used, in the five lines of the clients; what the system does not tell is 0.
fn usage_text() -> String {
    let (user, system) = kernel::cpu_time();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let word = line.and_then(|line| line.split_whitespace().next());
        word.and_then(|word| word.parse().ok()).unwrap_or(0)
    };
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let field = |n: usize| fields.get(n).copied().unwrap_or("0");
    format!(
        "\nUser time {:.2}, System time {:.2}\n\
         Maximum resident set size {}, Integral resident set size 0\n\
         Non-physical pagefaults {}, Physical pagefaults {}, Swaps 0\n\
         Blocks in 0 out 0, Messages in 0 out 0, Signals 0\n\
         Voluntary context switches {}, Involuntary context switches {}",
        user.to_seconds(),
        system.to_seconds(),
        value("VmHWM:"),
        field(8),
        field(10),
        value("voluntary_ctxt_switches:"),
        value("nonvoluntary_ctxt_switches:")
    )
}
