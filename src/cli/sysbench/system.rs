//! The tests built into sysbench: `cpu`, `memory`, `threads`, `mutex`, `fileio`.

use std::collections::BTreeMap;

use super::load::{LoadTest, run_test};
use super::lookup::SYSTEM_TESTS;
use super::option_table::{OptionGroup, find_option};
use super::reader::{SysbenchWords, TestOptions, WordsError, read_lax_number, read_size};
use super::settings::CommonSettings;
use super::{FAILED, OK, fail_words, help_text};
use crate::base::{Clock as _, Nanos, RealClock, Stop};
use crate::plan::{Mistakes, Options};
use crate::report::sysbench::TestFamily;
use crate::workload::{self, DataJob, Endpoint, JobProgress, Workload};

/// A test with its options.
struct SystemTest<'a> {
    name: &'static str,
    settings: &'a CommonSettings,
    /// What was given, by sysbench's names.
    given: BTreeMap<String, String>,
    /// As it was typed, for messages.
    typed: &'a TestOptions,
    stop: &'a Stop,
}

/// What is done with files, by mode.
const FILE_MODES: [(&str, &str); 6] = [
    ("seqwr", "Doing sequential write (creation) test"),
    ("seqrewr", "Doing sequential rewrite test"),
    ("seqrd", "Doing sequential read test"),
    ("rndrd", "Doing random read test"),
    ("rndwr", "Doing random write test"),
    ("rndrw", "Doing random r/w test"),
];
/// Ways to read and write files.
const FILE_ACCESS: [(&str, &str); 3] = [
    ("sync", "Using synchronous I/O mode"),
    ("async", "Using asynchronous I/O mode"),
    ("mmap", "Using fast mmaped I/O mode"),
];

/// What to do about files of another size.
const OTHER_SIZE: &str =
    "Did you run 'prepare' with different --file-total-size or --file-num values?";

/// Does what the command says. `values` are options that the name of the test stands for.
pub(super) fn run_system(
    name: &'static str,
    words: &SysbenchWords,
    values: &[(String, String)],
    settings: &CommonSettings,
    stop: &Stop,
) -> u8 {
    let Some(command) = words.command.as_deref() else {
        return fail_words(&WordsError(format!(
            "The '{name}' test requires a command argument. See 'sysbench {name} help'"
        )));
    };
    let options = match words.take_test_options(|group| group == OptionGroup::Test(name)) {
        Ok(options) => options,
        Err(error) => return fail_words(&error),
    };
    let has_data = SYSTEM_TESTS.iter().any(|(test, has_data)| *test == name && *has_data);
    match command {
        "help" => {
            settings.console.print_notice(&help_text::test_help(name, settings.style));
            return OK;
        }
        "run" => {}
        "prepare" | "cleanup" if has_data => {}
        "prepare" | "cleanup" => {
            return fail_words(&WordsError(format!(
                "'{name}' test does not implement the '{command}' command."
            )));
        }
        _ => return fail_words(&WordsError(format!("Unknown command: {command}"))),
    }
    let given = values.iter().cloned().chain(options.plain_values()).collect();
    let test = SystemTest { name, settings, given, typed: &options, stop };
    test.run_command(command).unwrap_or_else(|fatal| {
        settings.console.print_fatal(&fatal);
        FAILED
    })
}

impl SystemTest<'_> {
    /// The value of an option, or sysbench's default.
    fn text(&self, name: &str) -> &str {
        let default = || find_option(name, |group| group == OptionGroup::Test(self.name));
        self.given.get(name).map_or_else(
            || default().and_then(|option| option.default).unwrap_or_default(),
            String::as_str,
        )
    }

    fn count(&self, name: &str) -> u64 {
        read_lax_number(self.text(name)).max(0.0) as u64
    }

    fn size(&self, name: &str) -> u64 {
        read_size(self.text(name))
    }

    fn run_command(&self, command: &str) -> Result<u8, String> {
        self.check_options(command)?;
        let workload = self.build_workload()?;
        if command == "run" {
            return self.run_load(&*workload);
        }
        let console = self.settings.console;
        if command == "cleanup" {
            console.print_notice("Removing test files...\n");
            self.with_job(|job| workload.cleanup_data(job))?;
            return Ok(OK);
        }
        self.prepare_files(&*workload)
    }

    fn build_workload(&self) -> Result<Box<dyn Workload>, String> {
        let kind = workload::find_kind(self.name).map_err(|mistake| mistake.to_string())?;
        let given: Vec<(String, String)> = self
            .given
            .iter()
            .filter(|(name, value)| *name != "file-test-mode" || !value.is_empty())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let options = Options::from_given(&kind.option_specs(), &given)
            .map_err(|mistakes| Mistakes(mistakes).to_string())?;
        workload::build_workload(self.name, &options, Endpoint::None)
            .map_err(|error| format!("{error:#}"))
    }

    /// Says what can't be as sysbench says it.
    fn check_options(&self, command: &str) -> Result<(), String> {
        let wrong = |name: &str, end: &str| {
            let typed = match self.typed.typed_text(name).unwrap_or_else(|| self.text(name)) {
                "" => "(null)",
                typed => typed,
            };
            Err(format!("Invalid value for {name}: {typed}{end}"))
        };
        let is_one_of = |name: &str, all: &[&str]| all.contains(&self.text(name));
        match self.name {
            "cpu" if self.count("cpu-max-prime") == 0 => {
                Err(format!("Invalid value of cpu-max-prime: {}.", self.text("cpu-max-prime")))
            }
            "memory" if !is_block_size(self.size("memory-block-size")) => {
                wrong("memory-block-size", "")
            }
            "memory" if !is_one_of("memory-scope", &["global", "local"]) => {
                wrong("memory-scope", "")
            }
            "memory" if !is_one_of("memory-oper", &["read", "write", "none"]) => {
                wrong("memory-oper", "")
            }
            "memory" if !is_one_of("memory-access-mode", &["seq", "rnd"]) => {
                wrong("memory-access-mode", "")
            }
            "fileio" => self.check_file_options(command),
            _ => Ok(()),
        }
    }

    fn check_file_options(&self, command: &str) -> Result<(), String> {
        let mode = self.text("file-test-mode");
        if self.settings.preamble.validate {
            return Err("--validate is not supported: fileio writes no checksums".to_owned());
        }
        if self.count("file-num") == 0 {
            return Err("Invalid value for file-num: 0".to_owned());
        }
        if self.size("file-total-size") == 0 {
            return Err("Invalid value for file-total-size: 0".to_owned());
        }
        if self.size("file-block-size") == 0 {
            return Err("Invalid value for file-block-size: 0.".to_owned());
        }
        if let Some(flag) =
            self.open_flags().find(|flag| !["sync", "dsync", "direct"].contains(flag))
        {
            return Err(format!("Invalid value for file-extra-flags: {flag}"));
        }
        if command != "run" {
            return Ok(());
        }
        if mode.is_empty() {
            let help = help_text::test_help("fileio", self.settings.style);
            let help = help.strip_suffix('\n').unwrap_or(&help);
            return Err(format!("Missing required argument: --file-test-mode\n\n{help}"));
        }
        if !FILE_MODES.iter().any(|(name, _)| *name == mode) {
            return Err(format!("Invalid IO operations mode: {mode}."));
        }
        let access = self.text("file-io-mode");
        if !FILE_ACCESS.iter().any(|(name, _)| *name == access) {
            return Err(format!("unknown I/O mode: {access}"));
        }
        let sync = self.text("file-fsync-mode");
        if !["fsync", "fdatasync"].contains(&sync) {
            return Err(format!("Invalid fsync mode: {sync}."));
        }
        // sysbench keeps these in 32 bits, and says what came of them.
        let block = self.size("file-block-size") as i32;
        if block <= 0 {
            return Err(format!("Invalid value for file-block-size: {block}."));
        }
        for name in ["file-fsync-freq", "file-merged-requests"] {
            let number = read_lax_number(self.text(name));
            if number < 0.0 {
                return Err(format!("Invalid value for {name}: {number:.0}."));
            }
        }
        let ratio = read_lax_number(self.text("file-rw-ratio"));
        if ratio < 0.0 {
            return Err(format!("Invalid value for --file-rw-ratio: {ratio:.6}."));
        }
        Ok(())
    }

    fn with_job(
        &self,
        work: impl FnOnce(&mut DataJob<'_>) -> anyhow::Result<()>,
    ) -> Result<(), String> {
        let mut progress = |_: JobProgress| {};
        let mut job = DataJob {
            threads: self.settings.threads,
            seed: self.settings.run_seed(),
            stop: self.stop,
            progress: &mut progress,
        };
        work(&mut job).map_err(|error| format!("{error:#}"))
    }

    fn prepare_files(&self, workload: &dyn Workload) -> Result<u8, String> {
        let console = self.settings.console;
        let (files, total) = (self.count("file-num"), self.size("file-total-size"));
        let each = total / files;
        console.print_notice(&format!(
            "{files} files, {}Kb each, {}Mb total\nCreating files for the test...\n{}",
            each >> 10,
            total >> 20,
            self.flags_line()
        ));
        let folder = std::path::Path::new(".");
        let length = |number: u64| {
            std::fs::metadata(folder.join(format!("test_file.{number}"))).map(|file| file.len())
        };
        let mut written = 0;
        for number in 0..files {
            let there = length(number).ok();
            written += each.saturating_sub(there.unwrap_or(0));
            let verb = if there.is_some() { "Reusing existing" } else { "Creating" };
            console.print_notice(&format!("{verb} file test_file.{number}\n"));
        }
        let clock = RealClock::start_now();
        self.with_job(|job| workload.prepare_data(job))?;
        let seconds = clock.now().since(Nanos(0)).to_seconds().max(1e-9);
        let rate = written as f64 / 1_048_576.0 / seconds;
        console.print_notice(&match written {
            0 => "No bytes written.\n".to_owned(),
            _ => format!("{written} bytes written in {seconds:.2} seconds ({rate:.2} MiB/sec).\n"),
        });
        Ok(OK)
    }

    fn run_load(&self, workload: &dyn Workload) -> Result<u8, String> {
        let settings = self.settings;
        let family = match self.name {
            "cpu" => TestFamily::Cpu,
            "memory" => TestFamily::Memory,
            "fileio" => TestFamily::Fileio,
            _ => TestFamily::Plain,
        };
        if let Err(error) = workload.check_ready(self.stop) {
            if self.name == "fileio" {
                settings.print_preamble(&self.intro());
                let (fatal, advice) = self.explain_files(&error);
                settings.console.print_fatal(&fatal);
                settings.console.print_warning(advice);
                return Ok(FAILED);
            }
            settings.console.print_fatal(&format!("{error:#}"));
            return Err("Failed to allocate buffer!".to_owned());
        }
        Ok(run_test(&LoadTest {
            name: self.name,
            family,
            is_script: false,
            hook: None,
            explain: None,
            intro: self.intro(),
            workload,
            target: None,
            most_events: self.most_events(),
            reconnect: false,
            as_text: false,
            settings,
            stop: self.stop,
        }))
    }

    /// The events after which the test ends; 0 where it goes on.
    fn most_events(&self) -> u64 {
        let own = match self.name {
            "mutex" => self.settings.threads as u64,
            "memory" => self.size("memory-total-size") / self.size("memory-block-size").max(1),
            _ => 0,
        };
        if own == 0 { self.settings.events } else { own }
    }

    /// The first file that is not there, or is too short; something else that is in the way; with what to do.
    fn explain_files(&self, error: &anyhow::Error) -> (String, &'static str) {
        let least = self.size("file-total-size") / self.count("file-num").max(1);
        for number in 0..self.count("file-num") {
            let name = format!("test_file.{number}");
            match std::fs::metadata(&name) {
                Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                    let fatal =
                        format!("Cannot open file '{name}' errno = 2 (No such file or directory)");
                    return (fatal, "Did you forget to run the prepare step?");
                }
                Ok(file) if file.len() < least => {
                    let [size, least] = [file.len(), least].map(short_size);
                    let (size, least) = (size.trim_end(), least.trim_end());
                    let fatal = format!(
                        "Size of file '{name}' is {size}, but at least {least} is expected."
                    );
                    return (fatal, OTHER_SIZE);
                }
                _ => {}
            }
        }
        (format!("{error:#}"), OTHER_SIZE)
    }

    /// What the test says of itself before its threads start.
    fn intro(&self) -> String {
        let detail = match self.name {
            _ if !self.settings.console.shows_details() => String::new(),
            "cpu" => "Doing CPU performance benchmark\n\n".to_owned(),
            "threads" => format!(
                "Doing thread subsystem performance test\nThread yields per test: {} \
                 Locks used: {}\n",
                self.count("thread-yields"),
                self.count("thread-locks"),
            ),
            "mutex" => "Doing mutex performance test\n".to_owned(),
            _ => String::new(),
        };
        detail + &self.option_lines()
    }

    /// The options of the test as it shows them.
    fn option_lines(&self) -> String {
        match self.name {
            "cpu" => format!("Prime numbers limit: {}\n\n", self.count("cpu-max-prime")),
            "memory" => format!(
                "Running memory speed test with the following options:\n  block size: {}KiB\n  \
                 total size: {}MiB\n  operation: {}\n  scope: {}\n\n",
                self.size("memory-block-size") >> 10,
                self.size("memory-total-size") >> 20,
                self.text("memory-oper"),
                self.text("memory-scope"),
            ),
            "fileio" => self.file_intro(),
            _ => String::new(),
        }
    }

    fn open_flags(&self) -> impl Iterator<Item = &str> {
        self.text("file-extra-flags").split(',').filter(|flag| !flag.is_empty())
    }

    fn flags_line(&self) -> String {
        let shown = |flag| match flag {
            "direct" => "directio".to_owned(),
            other => format!("{other} "),
        };
        let flags: String = self.open_flags().map(shown).collect();
        let flags = if flags.is_empty() { "(none)" } else { &flags };
        format!("Extra file open flags: {flags}\n")
    }

    fn file_intro(&self) -> String {
        let (files, total) = (self.count("file-num"), self.size("file-total-size"));
        let block = self.size("file-block-size");
        let mut text = self.flags_line();
        text += &format!("{files} files, {}each\n", short_size(total / files));
        text += &format!("{}total file size\n", short_size(total));
        text += &format!("Block size {}\n", short_size(block).trim_end());
        let mode = self.text("file-test-mode");
        if mode.starts_with("rnd") {
            text += &format!("Number of IO requests: {}\n", self.settings.events);
            let ratio = read_lax_number(self.text("file-rw-ratio"));
            text += &format!("Read/Write ratio for combined random IO test: {ratio:.2}\n");
        }
        let merged = self.count("file-merged-requests");
        if merged > 0 && mode.starts_with("seq") {
            let size = short_size(merged * block);
            text += &format!("Merging requests up to {size}for sequential IO.\n");
        }
        let every = self.count("file-fsync-freq");
        if self.text("file-fsync-all") == "on" {
            text += "Calling fsync() after each write operation.\n";
        } else {
            if every > 0 {
                text +=
                    &format!("Periodic FSYNC enabled, calling fsync() each {every} requests.\n");
            }
            if self.text("file-fsync-end") == "on" {
                text += "Calling fsync() at the end of test, Enabled.\n";
            }
        }
        let said = |list: &[(&str, &str)], name: &str| {
            let found = list.iter().find(|(known, _)| *known == name);
            found.map_or_else(String::new, |(_, text)| format!("{text}\n"))
        };
        text + &said(&FILE_ACCESS, self.text("file-io-mode")) + &said(&FILE_MODES, mode)
    }
}

/// A power of 2, and at least a word.
fn is_block_size(bytes: u64) -> bool {
    bytes.is_power_of_two() && bytes >= 8
}

/// `512KiB `, with at most three decimals where it does not divide.
fn short_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let digits = format!("{size:.5}");
    // Five significant digits, as `%.5g` writes them.
    let whole = digits.split('.').next().map_or(1, str::len);
    let shown = format!("{size:.*}", 5usize.saturating_sub(whole));
    let shown = if shown.contains('.') {
        shown.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        shown
    };
    format!("{shown}{} ", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_short_as_they_are() {
        assert_eq!(short_size(524_288), "512KiB ");
        assert_eq!(short_size(1 << 20), "1MiB ");
        assert_eq!(short_size(16_384), "16KiB ");
        assert_eq!(short_size(2 << 30), "2GiB ");
        assert_eq!(short_size(1_500_000), "1.4305MiB ");
    }
}
