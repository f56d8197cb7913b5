//! `sweat digest`: what kinds of statements a log holds, and what they cost.

use std::path::{Path, PathBuf};

use clap::{ArgAction, ArgMatches, Command, builder::PossibleValuesParser};

use super::arguments::{positional_arg, switch_flag, value_flag};
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::progress::ProgressLine;
use crate::analysis::number_format::{format_bytes, format_plural};
use crate::analysis::{StatementClass, StatementFindings};
use crate::capture::classes::{ClassStats, ClassTable};
use crate::capture::{
    LogError, LogFlow, LogParser, LogTally, LogUpdate, MOST_RECORD_BYTES, SkippedRange, source,
};
use crate::plan::Mistake;
use crate::report::STATEMENT_FORMATS;
use crate::workload::JobProgress;

/// Bytes between two looks at the stop flag and the progress line.
const LOOK: u64 = 8 << 20;
/// Places of lines not understood that a note names.
const NAMED: usize = 5;

pub(super) fn command() -> Command {
    let formats: Vec<&str> = STATEMENT_FORMATS.iter().map(|(name, _)| *name).collect();
    Command::new("digest")
        .about("Show what statements a log holds, and their cost")
        .args([
            positional_arg("log", "LOG")
                .action(ArgAction::Append)
                .required(true)
                .value_parser(clap::value_parser!(PathBuf))
                .help("Log files (also .gz, .zst), folders, or - for standard input"),
            value_flag("limit", "N")
                .default_value("20")
                .value_parser(clap::value_parser!(u32).range(1..))
                .help("Classes to show, by total time"),
            value_flag("format", "FORMAT")
                .default_value("text")
                .value_parser(PossibleValuesParser::new(formats))
                .help("Format"),
            switch_flag("quiet").short('q').help("Show no progress"),
        ])
        .after_help(
            "Reads slow logs and general logs of MySQL, MariaDB and Percona Server. Statements \
             that differ only in literals form one class. Passwords are hidden; other literals are \
             not: the example of a class may contain data.\n\n\
             Examples:\n  \
             sweat digest /var/log/mysql/slow.log\n  \
             sweat digest --limit=50 --format=html logs/ > statements.html\n  \
             ssh db1 cat /var/log/mysql/slow.log | sweat digest -",
        )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let given: Vec<PathBuf> = args.get_many("log").into_iter().flatten().cloned().collect();
    let paths = source::expand_paths(&given).map_err(|e| log_mistake(&given[0], &e.to_string()))?;
    let mut reading = DigestReader::new(args, context, &paths);
    for path in &paths {
        reading.read_log(path, given.contains(path))?;
        if context.stop.is_set() {
            break;
        }
    }
    reading.line.finish();
    let has_record = reading.tallies.iter().any(|(_, tally)| tally.records > 0);
    // A log may be empty; a folder without any is another folder than the one that was meant.
    let is_meant = has_record || !reading.tallies.is_empty() && reading.others.is_empty();
    if !is_meant && reading.broken.is_none() && !context.stop.is_set() {
        return Err(log_mistake(&given[0], "there is no slow log and no general log in it"));
    }
    let limit = *args.get_one::<u32>("limit").expect("it has a default") as usize;
    let found = statement_findings(&reading, limit);
    let name = args.get_one::<String>("format").expect("it has a default");
    let format = STATEMENT_FORMATS.iter().find(|(known, _)| known == name);
    let (_, write) = format.expect("clap knows only the formats in the list");
    let mut text = Vec::new();
    write(&found, &mut text).expect("memory takes every write");
    context.print_output(&String::from_utf8_lossy(&text))?;
    if context.stop.is_set() {
        return Ok(CommandOutcome::Interrupted);
    }
    reading.broken.map_or(Ok(CommandOutcome::Done), Err)
}

/// A log that can't be read is wrong input.
fn log_mistake(path: &Path, why: &str) -> anyhow::Error {
    let hint =
        Some("give a log that the server wrote to a file, or - for standard input".to_owned());
    Mistake::new(path.display().to_string(), why).maybe_hint(hint).into()
}

/// Logs being read.
struct DigestReader<'a> {
    context: &'a CliContext,
    line: ProgressLine,
    total_bytes: u64,
    bytes: u64,
    classes: ClassTable,
    /// Logs read, with what was read of each.
    tallies: Vec<(PathBuf, LogTally)>,
    /// Whether one of them was a general log.
    has_general: bool,
    /// Files of folders that are no logs.
    others: Vec<PathBuf>,
    /// Why a log could not be read to its end.
    broken: Option<anyhow::Error>,
}

impl<'a> DigestReader<'a> {
    fn new(args: &ArgMatches, context: &'a CliContext, paths: &[PathBuf]) -> DigestReader<'a> {
        let lengths = paths.iter().filter_map(|path| path.metadata().ok()).map(|meta| meta.len());
        DigestReader {
            context,
            line: ProgressLine::new(context.terminal, args.get_flag("quiet"), false),
            total_bytes: lengths.sum(),
            bytes: 0,
            classes: ClassTable::default(),
            tallies: Vec::new(),
            has_general: false,
            others: Vec::new(),
            broken: None,
        }
    }

    /// Reads a log. What is none is wrong where it was named, and left out where it only lies in a folder.
    fn read_log(&mut self, path: &Path, is_named: bool) -> anyhow::Result<()> {
        let mut source = source::open_live(path).map_err(|e| log_mistake(path, &e.to_string()))?;
        let mut log = LogParser::default().without_early();
        let (mut seen, mut shown) = (0, 0);
        let (total, before) = (self.total_bytes, self.bytes);
        let mut is_quiet = false;
        let mut result = log.follow_source(&mut source, &mut |news| {
            is_quiet = matches!(news, LogUpdate::Idle);
            if let LogUpdate::Recorded(recorded) = news {
                self.classes.add_record(recorded);
                seen += recorded.raw.len() as u64;
                if seen < shown + LOOK {
                    return LogFlow::Continue(());
                }
                shown = seen;
                let done = (before + seen).min(total);
                self.line.show(&JobProgress {
                    label: "read".to_owned(),
                    done,
                    total,
                    unit: "bytes",
                });
            }
            if self.context.stop.is_set() { LogFlow::Break(()) } else { LogFlow::Continue(()) }
        });
        if result.is_ok() && is_quiet {
            // A log that is still written was told to end in a quiet while: its last record is whole.
            let finished = log.finish(&mut |recorded| {
                self.classes.add_record(recorded);
                LogFlow::Continue(())
            });
            result = finished.map(|_| ());
        }
        match result {
            Ok(()) => {}
            Err(LogError::Unknown) if !is_named => {
                self.others.push(path.to_owned());
                return Ok(());
            }
            Err(LogError::Unknown) => {
                return Err(log_mistake(path, "it is neither a slow log nor a general log"));
            }
            Err(LogError::Io(e)) => {
                let why = format!("{e}; read as far as line {}", log.line_number());
                self.broken = self.broken.take().or(Some(log_mistake(path, &why)));
            }
        }
        self.has_general |= log.format_name() == Some("general_log");
        self.bytes += log.tally().bytes;
        self.tallies.push((path.to_owned(), log.tally().clone()));
        Ok(())
    }
}

fn statement_findings(reading: &DigestReader<'_>, limit: usize) -> StatementFindings {
    let sorted = reading.classes.sorted_by_time();
    let total_us: u64 = sorted.iter().map(|class| class.total_us).sum();
    let timed: u64 = sorted.iter().map(|class| class.timed).sum();
    let total_s = (timed > 0).then(|| total_us as f64 / 1e6);
    StatementFindings {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        sources: reading.tallies.iter().map(|(path, _)| path.display().to_string()).collect(),
        bytes: reading.bytes,
        records: reading.tallies.iter().map(|(_, tally)| tally.records).sum(),
        statements: sorted.iter().map(|class| class.count).sum(),
        possible: reading.classes.suspect_count(),
        total_s,
        classes_in_all: sorted.len(),
        classes: sorted
            .iter()
            .take(limit)
            .map(|class| to_statement_class(class, total_s))
            .collect(),
        notes: reading_notes(reading, timed > 0),
    }
}

fn to_statement_class(class: &ClassStats, all_s: Option<f64>) -> StatementClass {
    let seconds = |us: u64| us as f64 / 1e6;
    let total_s = (class.timed > 0).then(|| seconds(class.total_us));
    StatementClass {
        digest: class.digest.clone(),
        example: class.example.clone(),
        database: class.database.clone(),
        count: class.count,
        errors: class.errors,
        total_s,
        share: total_s.zip(all_s).filter(|(_, all)| *all > 0.0).map(|(own, all)| own / all),
        p50_s: class.quantile_us(0.5).map(seconds),
        p95_s: class.quantile_us(0.95).map(seconds),
        p99_s: class.quantile_us(0.99).map(seconds),
        max_s: (class.timed > 0).then(|| seconds(class.longest_us)),
        rows_sent: class.rows_sent,
        rows_examined: class.rows_examined,
        rows_affected: class.rows_affected,
        first_unix_s: class.first_us.map(seconds),
        last_unix_s: class.last_us.map(seconds),
    }
}

/// What was left out, and what is doubtful.
fn reading_notes(reading: &DigestReader<'_>, has_times: bool) -> Vec<String> {
    let mut notes = count_notes(reading);
    for (path, tally) in &reading.tallies {
        let mut place = |what: String, places: &[SkippedRange]| {
            let lines: Vec<String> =
                places.iter().take(NAMED).map(|place| place.line.to_string()).collect();
            let place = format!("first on line {}", lines.join(", "));
            notes.push(format!("{}: {what}, {place}", path.display()));
        };
        if tally.skipped_bytes > 0 {
            let what = format!("{} bytes could not be understood", tally.skipped_bytes);
            place(what, &tally.skipped);
        }
        if tally.too_long > 0 {
            let most = format_bytes(MOST_RECORD_BYTES as f64);
            let records = format_plural(tally.too_long, "record", "records");
            place(format!("{records} of more than {most} left out"), &tally.too_long_at);
        }
    }
    for path in &reading.others {
        notes.push(format!("{}: neither a slow log nor a general log, left out", path.display()));
    }
    if let Some(broken) = &reading.broken {
        notes.push(format!("not all was read: {broken}"));
    }
    if !has_times && reading.has_general {
        notes.push("a general log has no times: classes are sorted by count".to_owned());
    }
    if reading.tallies.iter().all(|(_, tally)| tally.records == 0) && reading.bytes > 0 {
        notes.push("no record in it".to_owned());
    }
    if reading.context.stop.is_set() {
        notes.push("interrupted: this is what was read so far".to_owned());
    }
    notes
}

/// Records that are no statements, or doubtful, counted by why.
fn count_notes(reading: &DigestReader<'_>) -> Vec<String> {
    let sum =
        |of: fn(&LogTally) -> u64| reading.tallies.iter().map(|(_, tally)| of(tally)).sum::<u64>();
    let counts = [
        (reading.classes.command_count(), "records are commands of the protocol, not statements"),
        (reading.classes.inner_count(), "statements ran inside stored programs: their CALL counts"),
        (sum(|t| t.unbalanced), "statements have a quote or comment without an end"),
        (
            sum(|t| t.ambiguous),
            "statements could end elsewhere, by the session's character set or a comment like \
             /*! code */",
        ),
        (
            sum(|t| t.suspect),
            "records are only possible: they follow one of those, or a truncated start, and may \
             be text in a literal; a slow log with rows sent or errors would prove it",
        ),
        (
            sum(|t| t.imitates),
            "statements hold text that looks like records: it is text, as the server could parse \
             them",
        ),
        (
            sum(|t| t.irregular),
            "records have a head that is not as servers write it, or precede one",
        ),
        (sum(|t| t.free_text), "records could be imitated by the explain or warnings of another"),
        (sum(|t| t.no_escapes), "statements end only if a backslash hides nothing"),
        (sum(|t| t.cut), "statements are cut by the end of the log, or of the server"),
    ];
    let said = counts.iter().filter(|(count, _)| *count > 0);
    said.map(|(count, words)| format!("{count} {words}")).collect()
}
