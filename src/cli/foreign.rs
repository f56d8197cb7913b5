//! Words of other load testers, and what sweat says instead: one table for error messages and for docs/coming-from.md.
//! To answer one more word, add its line to `FOREIGN_WORDS`, then `UPDATE=1 cargo test foreign`.

use clap::error::{ContextKind, ContextValue};

use crate::plan::{Mistake, did_you_mean};
use crate::workload::KINDS;

/// What there is for a word of another tool.
enum Answer {
    /// The same under another name.
    Is(&'static str),
    /// Nothing, or nothing of the same shape: what to do.
    Instead(&'static str),
}
use Answer::{Instead, Is};

/// A word of other tools.
struct ForeignWord {
    tools: &'static str,
    /// A flag with its dashes, or a word.
    word: &'static str,
    answer: Answer,
}

const fn row(tools: &'static str, word: &'static str, answer: Answer) -> ForeignWord {
    ForeignWord { tools, word, answer }
}

const SYSBENCH: &str = "sysbench";
const SQL_BENCH: &str = "sql-bench";
const MYSQLSLAP: &str = "mysqlslap";
const K6: &str = "k6";
const HTTP: &str = "wrk, oha";
const HYPERFINE: &str = "hyperfine";
const PERCONA: &str = "pt-tools";
const STALK: &str = "pt-stalk";
const OTHERS: &str = "innotop, pt-mext, capture scripts";

/// All of them, by tool.
const FOREIGN_WORDS: &[ForeignWord] = &[
    row(SYSBENCH, "--max-time", Is("--time")),
    row(SYSBENCH, "--max-requests", Is("--events")),
    row(SYSBENCH, "--num-threads", Is("--threads")),
    row(SYSBENCH, "--tx-rate", Is("--rate")),
    row(SYSBENCH, "--oltp-table-size", Is("--table-size")),
    row(SYSBENCH, "--oltp-tables-count", Is("--tables")),
    row(SYSBENCH, "--oltp-table-count", Is("--tables")),
    row(SYSBENCH, "--oltp-read-only", Is("the workload oltp_read_only")),
    row(
        SYSBENCH,
        "--oltp-test-mode",
        Instead("name the workload: oltp_read_write, oltp_read_only"),
    ),
    row(SYSBENCH, "--oltp-skip-trx", Is("--skip-trx")),
    row(SYSBENCH, "--oltp-dist-type", Is("--rand-type")),
    row(SYSBENCH, "--oltp-range-size", Is("--range-size")),
    row(SYSBENCH, "--mysql-table-engine", Is("--mysql-storage-engine")),
    row(
        SYSBENCH,
        "--test",
        Instead("name the workload alone, as in `sweat bench oltp_read_write`"),
    ),
    row(SYSBENCH, "--mysql-compression", Instead("leave it out: sweat does not compress")),
    row(SYSBENCH, "--mysql-ssl-cipher", Instead("leave it out, and see --ssl-mode")),
    row(
        SYSBENCH,
        "--forced-shutdown",
        Is("--grace, the time for events that are still running at the end"),
    ),
    row(
        SYSBENCH,
        "--report-checkpoints",
        Instead("leave it out: each second is kept; --format csv prints them"),
    ),
    row(
        SYSBENCH,
        "--percentile",
        Instead("leave it out: p50 to p99.9 are shown; --format json has all, --check judges any"),
    ),
    row(
        SYSBENCH,
        "--histogram",
        Instead("leave it out: the page draws it, --format json holds it (`response_hdr_v2_b64`)"),
    ),
    row(SYSBENCH, "--verbosity", Instead("leave it out, or --quiet for less")),
    row(SYSBENCH, "--debug", Instead("leave it out: the run's folder holds all that was measured")),
    row(SYSBENCH, "--db-debug", Instead("leave it out: errors are shown with their statement")),
    row(SYSBENCH, "--validate", Instead("leave it out: results are always read to their end")),
    row(SYSBENCH, "--warmup-time", Is("--warmup")),
    row(
        SYSBENCH,
        "--thread-init-timeout",
        Instead("leave it out: a load starts when all sessions are connected"),
    ),
    row(SYSBENCH, "--thread-stack-size", Instead("leave it out")),
    row(SYSBENCH, "--luajit-cmd", Instead("sweat runs no Lua; its workloads are built in")),
    row(SYSBENCH, "--rand-init", Instead("leave it out: data are always random")),
    row(SYSBENCH, "--config-file", Is("--plan, with a plan file")),
    row(SYSBENCH, "--pgsql-host", Instead("sweat knows MySQL and MariaDB only")),
    row(SYSBENCH, "oltp", Instead("its name is oltp_read_write: `sweat bench oltp_read_write`")),
    row("sysbench-tpcc", "--scale", Is("--warehouses of `sweat bench tpcc`")),
    row("sysbench-tpcc", "--trx_level", Is("--isolation of `sweat bench tpcc`")),
    row("sysbench-tpcc", "--use_fk", Is("--foreign-keys of `sweat bench tpcc prepare`")),
    row("sysbench-tpcc", "--force_pk", Is("--history-key of `sweat bench tpcc prepare`")),
    row("tpcc-mysql", "tpcc_load", Is("`sweat tpcc_load`")),
    row("tpcc-mysql", "tpcc_start", Is("`sweat tpcc_start`")),
    row("dbt2", "datagen", Is("`sweat bench tpcc prepare --csv=DIR`")),
    row(SQL_BENCH, "run-all-tests", Is("`sweat micro`")),
    row(SQL_BENCH, "compare-results", Is("`sweat compare`")),
    row(SQL_BENCH, "--small-test", Is("--scale of `sweat micro`")),
    row(SQL_BENCH, "--skip-test", Is("--skip of `sweat micro`")),
    row(SQL_BENCH, "--create-options", Is("--engine of `sweat micro`")),
    row(SQL_BENCH, "--time-limit", Is("--limit of `sweat micro`; nothing is estimated")),
    row(MYSQLSLAP, "--concurrency", Is("--threads")),
    row(MYSQLSLAP, "--iterations", Is("--passes of `sweat bench queries`")),
    row(MYSQLSLAP, "--query", Is("--queries or --file of `sweat bench queries`")),
    row(MYSQLSLAP, "--number-of-queries", Is("--events")),
    row(MYSQLSLAP, "--create-schema", Is("-D, --database")),
    row(MYSQLSLAP, "--create", Is("--create of `sweat slap`")),
    row(MYSQLSLAP, "--auto-generate-sql", Is("--auto-generate-sql of `sweat slap`")),
    row(
        MYSQLSLAP,
        "--auto-generate-sql-load-type",
        Is("--auto-generate-sql-load-type of `sweat slap`"),
    ),
    row(MYSQLSLAP, "--no-drop", Is("--no-drop of `sweat slap`")),
    row(MYSQLSLAP, "--only-print", Is("--only-print of `sweat slap`")),
    row(MYSQLSLAP, "--detach", Is("--detach of `sweat slap`")),
    row(MYSQLSLAP, "--engine-list", Is("--mysql-storage-engine")),
    row(K6, "--vus", Is("--threads")),
    row(K6, "--duration", Is("--time")),
    row(K6, "--stage", Is("--stages, as in '30s:0..500, 2m:500'")),
    row(K6, "--rps", Is("--rate")),
    row(K6, "--summary-export", Is("--format json")),
    row(K6, "--out", Is("--format, or --openmetrics FILE")),
    row(K6, "--thresholds", Is("--check, as in --check 'p95 < 20ms'")),
    row("http_load", "http_load", Is("`sweat http_load`")),
    row("ab", "ab", Is("`sweat ab`")),
    row(HTTP, "--connections", Is("--threads: each has a connection of its own")),
    row(HTTP, "--latency", Instead("leave it out: percentiles are always shown")),
    row(HTTP, "--no-tui", Is("--plain")),
    row(HTTP, "-c", Is("--threads: each has a connection of its own")),
    row(HTTP, "-z", Is("--time")),
    row(HTTP, "-d", Is("--time")),
    row(HTTP, "-n", Is("--events")),
    row(HTTP, "-t", Is("--threads")),
    row(HTTP, "-R", Is("--rate")),
    row(HTTP, "--disable-keepalive", Is("--no-keep-alive of `sweat bench http`")),
    row(HYPERFINE, "--runs", Is("--blocks of `sweat run` and `sweat sweep`")),
    row(HYPERFINE, "--min-runs", Is("--until-clear of `sweat run`")),
    row(HYPERFINE, "--parameter-list", Is("`sweat sweep threads=1,2,4 WORKLOAD`")),
    row(HYPERFINE, "--parameter-scan", Is("`sweat sweep threads=1..64 WORKLOAD`")),
    row(HYPERFINE, "--prepare", Instead("`sweat bench WORKLOAD prepare` makes the data")),
    row(HYPERFINE, "--cleanup", Instead("`sweat bench WORKLOAD cleanup` removes the data")),
    row(HYPERFINE, "--export-markdown", Is("--markdown")),
    row(HYPERFINE, "--export-json", Is("--format json")),
    row(HYPERFINE, "--export-csv", Is("--format csv")),
    row(HYPERFINE, "--show-output", Instead("leave it out: statements have no output to show")),
    row(PERCONA, "--review", Is("`sweat digest LOG`")),
    row(PERCONA, "--since", Instead("cut the log before")),
    row(PERCONA, "--until", Instead("cut the log before")),
    row(PERCONA, "--order-by", Instead("leave it out: most time first; --format json for others")),
    row(PERCONA, "--ask-pass", Is("-p without a value")),
    row(STALK, "--variable", Is("the name in --when of `sweat watch`")),
    row(STALK, "--threshold", Is("the number in --when of `sweat watch`")),
    row(STALK, "--cycles", Is("`for TIME` in --when of `sweat watch`")),
    row(STALK, "--run-time", Is("--after of `sweat watch`")),
    row(STALK, "--sleep", Is("--pause of `sweat watch`")),
    row(STALK, "--retention-time", Is("--keep of `sweat watch`")),
    row(STALK, "--disk-bytes-free", Is("--min-free of `sweat watch`")),
    row(STALK, "--disk-pct-free", Is("--min-free of `sweat watch`")),
    row(STALK, "--dest", Is("--runs-dir of `sweat watch`")),
    row(STALK, "--collect-gdb", Instead("leave it out: sweat never stops a server to look at it")),
    row(OTHERS, "innotop", Instead("`sweat watch` samples a server")),
    row(OTHERS, "pt-mext", Instead("`sweat watch --classic DIR` writes files that it reads")),
    row(OTHERS, "RUNFILE", Is("--while-file of `sweat watch`")),
];

impl ForeignWord {
    /// `sysbench's --max-time is --time here`
    fn answer_text(&self) -> String {
        match self.answer {
            Is(ours) => format!("{}'s {} is {ours} here", self.tools, self.word),
            Instead(what) => what.to_owned(),
        }
    }

    fn to_mistake(&self) -> Mistake {
        Mistake::new(self.word, format!("this is a word of {}, not of sweat", self.tools))
            .hint(self.answer_text())
    }
}

/// What to do instead of a flag that is known, and does nothing.
pub(super) fn foreign_hint(word: &str) -> String {
    let row = FOREIGN_WORDS.iter().find(|row| row.word == word);
    row.map(ForeignWord::answer_text).unwrap_or_default()
}

/// What there is to say of words that clap refused because another tool has them; nothing if none does. `words` are all
/// that were typed: what else is foreign in them is told at once.
pub(super) fn foreign_mistakes(error: &clap::Error, words: &[String]) -> Vec<Mistake> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    if let Some(word) = context(ContextKind::InvalidSubcommand) {
        return script_mistake(word, words).or_else(|| find_word(word)).into_iter().collect();
    }
    let Some(refused) = context(ContextKind::InvalidArg) else { return Vec::new() };
    let flag = |word: &str| word.split_once('=').map_or(word, |(flag, _)| flag).to_owned();
    let refused = flag(refused);
    let mut mistakes: Vec<Mistake> = find_word(&refused).into_iter().collect();
    if !mistakes.is_empty() {
        let own = words.iter().take_while(|word| *word != "--").map(|word| flag(word));
        let others = own.filter(|word| word.starts_with("--") && *word != refused);
        mistakes.extend(others.filter_map(|word| find_word(&word)));
    }
    mistakes
}

fn find_word(word: &str) -> Option<Mistake> {
    FOREIGN_WORDS.iter().find(|row| row.word == word).map(ForeignWord::to_mistake)
}

/// A sysbench script by its path, or a workload where a command is expected.
fn script_mistake(word: &str, words: &[String]) -> Option<Mistake> {
    let name = word.rsplit('/').next().unwrap_or(word);
    let script = name.strip_suffix(".lua");
    let kind = KINDS.iter().map(|kind| kind.name()).find(|kind| *kind == script.unwrap_or(name));
    match (kind, script) {
        (Some(kind), _) => Some(
            Mistake::new(word, "this is not a command of sweat")
                .hint(format!("say `sweat bench {kind}`; it has the options of sysbench's script")),
        ),
        (None, Some(script)) => {
            let all = KINDS.iter().map(|kind| kind.name());
            let near = did_you_mean(script, all).unwrap_or_default();
            let hint = format!("{near} `sweat bench` lists the workloads that are built in");
            Some(Mistake::new(word, "sweat runs no Lua scripts").hint(hint.trim_start()))
        }
        // `sweat bench oltp_readwrite` is near to many: the nearest is what was meant.
        (None, None) if words.get(1).is_some_and(|command| command == "bench") => {
            let all = KINDS.iter().map(|kind| kind.name());
            let plain = |name: &str| name.replace(['_', '-'], "").to_lowercase();
            let meant = all.clone().find(|kind| plain(kind) == plain(name));
            let hint = meant.map(|kind| format!("did you mean {kind}?"));
            let hint = hint.or_else(|| did_you_mean(name, all))?;
            Some(Mistake::new(word, "there is no such workload").hint(hint))
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// The page of the documentation that the table makes.
    fn to_page() -> String {
        let mut text = "\
# Coming from another tool

sweat's `bench` takes the tests, options and defaults of sysbench: `sysbench oltp_read_write
--threads=8 run` is `sweat bench oltp_read_write --threads=8`. A word of another tool is answered
with sweat's own:

```text
$ sweat bench oltp_read_write --max-time=10
error: --max-time: this is a word of sysbench, not of sweat
hint: sysbench's --max-time is --time here
```

These are all the words that it knows. (This page is made from the program's own table.)
"
        .to_owned();
        let mut tool = "";
        for row in FOREIGN_WORDS {
            if row.tools != tool {
                tool = row.tools;
                write!(text, "\n## {tool}\n\n| {tool} | sweat |\n|---|---|\n").unwrap();
            }
            let answer = match row.answer {
                Is(ours) if ours.starts_with('-') => {
                    let end = ours.find([',', ' ', ':']).unwrap_or(ours.len());
                    format!("`{}`{}", &ours[..end], &ours[end..])
                }
                Is(text) | Instead(text) => text.to_owned(),
            };
            writeln!(text, "| `{}` | {answer} |", row.word).unwrap();
        }
        text
    }

    #[test]
    fn the_page_says_what_the_program_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/coming-from.md");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, to_page()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(page == to_page(), "docs/coming-from.md is old: UPDATE=1 cargo test foreign");
    }

    fn said(line: &str) -> Vec<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let program = super::super::root_command();
        let error = program.try_get_matches_from(&words).expect_err(line);
        let mistakes = foreign_mistakes(&error, &words);
        mistakes.iter().map(|m| format!("{m}; {}", m.hint.as_deref().unwrap_or("-"))).collect()
    }

    #[test]
    fn words_of_other_tools_are_answered_all_together() {
        let of_two = said("sweat bench oltp_read_write --max-time=10 --num-threads 4");
        assert_eq!(of_two.len(), 2, "{of_two:?}");
        assert_eq!(
            of_two[0],
            "--max-time: this is a word of sysbench, not of sweat; sysbench's --max-time is --time \
             here"
        );
        assert!(of_two[1].ends_with("--num-threads is --threads here"), "{of_two:?}");
        for (line, answer) in [
            ("sweat bench queries --concurrency=4", "--concurrency is --threads"),
            ("sweat bench oltp_read_write -c 4", "-c is --threads"),
            ("sweat oltp_read_write --threads=4 run", "say `sweat bench oltp_read_write`"),
            ("sweat bench oltp_read_only.lua", "say `sweat bench oltp_read_only`"),
            ("sweat /usr/share/sysbench/oltp_insert.lua run", "say `sweat bench oltp_insert`"),
            ("sweat bench /opt/own.lua", "lists the workloads that are built in"),
            ("sweat bench oltp_readwrite", "did you mean oltp_read_write?"),
        ] {
            assert!(said(line).first().is_some_and(|s| s.contains(answer)), "{:?}", said(line));
        }
        assert!(said("sweat bench null --nosuch=10").is_empty());
    }

    #[test]
    fn no_flag_of_a_load_is_taken_for_a_foreign_one() {
        let program = super::super::built_program();
        let bench = program.find_subcommand("bench").unwrap();
        for command in bench.get_subcommands().chain([bench]) {
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let flag = arg.get_long().map(|long| format!("--{long}")).unwrap_or_default();
                assert!(FOREIGN_WORDS.iter().all(|row| row.word != flag), "{flag} is our own");
            }
        }
    }
}
