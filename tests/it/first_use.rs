//! The commands of the README and the first one of each docs page, as a newcomer runs them: in a terminal of 80 by 24.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::cli::{self, World, nap};
use crate::fixture;

/// Most lines on the screen beside one for each step, by the first entry that fits: how a command starts, and lines.
const BUDGETS: &[(&str, usize)] = &[
    // Its figures are the answer, over the rates.
    ("bench expression", 22),
    ("bench prepare", 6),
    ("bench cleanup", 3),
    ("bench -q", 3),
    ("bench --check", 28),
    // What each class costs stands over the load.
    ("bench --isolate", 34),
    ("bench void", 24),
    ("bench", 20),
    ("capacity", 24),
    ("compare", 24),
    ("demo", 24),
    ("digest", 40),
    ("doctor", 48),
    ("explain", 20),
    ("init", 4),
    ("replay --dry-run", 24),
    ("replay", 24),
    ("report --format", 3),
    ("report void", 24),
    ("report", 20),
    // Of operations that are measured one by one each line is an answer.
    ("micro", 40),
    ("runs", 24),
    ("run --dry-run", 140),
    ("run", 24),
    ("sandbox", 10),
    ("sweep", 24),
    ("waits", 24),
    ("watch", 10),
    ("warm", 24),
    ("--help", 54),
];

/// Pages whose first command can't run here, and why.
const SKIPPED: &[(&str, &str)] = &[
    ("coming-from.md", "it lists words of other tools, and no command of its own"),
    ("sysbench.md", "it prints sysbench's own report: see the tests `sysbench`"),
    ("slap.md", "it prints mysqlslap's own blocks: see the tests `slap`"),
    ("http.md", "it needs a web server: see the tests `http`"),
    ("install.md", "it builds the program"),
    ("agents.md", "it needs several machines: see the tests `agents`"),
    ("merge.md", "it needs the runs of several machines: see the tests `share`"),
    ("ship.md", "it serves a server's own log until Ctrl-C"),
];

/// What a command is given in place of what the page says: our server, small tables, short loads.
const REPLACED: &[(&str, &str)] = &[
    ("-h db1 -P 3306 -u root -p", "CONNECTION"),
    ("-h db1 -u bench -p", "CONNECTION"),
    ("-h db1 -u root -p", "CONNECTION"),
    ("-h copy1 -u replay -p", "CONNECTION"),
    ("--warehouses=10", "--warehouses=1"),
    ("-D tpcc", "-D sbtest"),
    ("--table-size=1M", "--table-size=10k"),
    ("--table-size=100000", "--table-size=10k"),
    ("--time=30", "--time=2"),
    ("--every 1s --for 10s", "--every 200ms --for 2s"),
    ("--time=2m", "--time=2"),
    ("--time=1m", "--time=2"),
    ("--threads=8 --time=10", "--threads=8 --time=2 --no-cost"),
    ("--time=10", "--time=2"),
    ("--rate=5000", "--rate=100"),
    ("--name before", "--name before --time=2"),
    ("--name after", "--name after --time=2"),
    ("threads=1,2,4..", "threads=1,2,4 --time=1"),
    (
        "--slo 'p99<20ms' oltp_read_write",
        "--slo 'p99<50ms' --confirm=3 --step-time=3 --settle=100ms null",
    ),
    ("sweat demo --quick", "sweat demo --pool=16M --size=1x-pool --lookups=500"),
];

/// Commands beside those of the pages.
const MORE: &[&str] = &[
    "sweat bench oltp_point_select --sandbox --time=1 -q",
    "sweat run small.toml",
    "sweat bench oltp_point_select cleanup -h db1 -u bench -p -D sbtest",
];

/// Exit codes beside 0: a verdict or a check may say no.
const OTHER_EXITS: &[(&str, &[i32])] =
    &[("compare", &[1]), ("capacity", &[1]), ("bench", &[1, 5]), ("run", &[5])];

const PLAN: &str = "name = \"small\"\nblocks = 3\n[sandbox]\npool = \"16M\"\n\
    [workload]\nkind = \"oltp_point_select\"\noptions = { table_size = 2000 }\n\
    [load]\nworkers = 2\ntime = \"1s\"\n[[variant]]\nname = \"one\"\n\
    [[variant]]\nname = \"two\"\nworkers = 3\n";

const LOG: &str = "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB-log. started with:\n\
    Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n\
    Time                 Id Command    Argument\n\
    # Time: 261121  7:40:15\n\
    # User@Host: app[app] @ localhost []\n\
    # Thread_id: 9  Schema: sbtest  QC_hit: No\n\
    # Query_time: 0.000200  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0\n\
    # Rows_affected: 0  Bytes_sent: 60\n\
    SET timestamp=1795246815;\nselect 1;\n\
    # User@Host: app[app] @ localhost []\n\
    # Thread_id: 9  Schema: sbtest  QC_hit: No\n\
    # Query_time: 0.000300  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0\n\
    # Rows_affected: 0  Bytes_sent: 60\n\
    SET timestamp=1795246815;\nselect 2;\n";

/// A terminal of 80 by 24, by tmux, for one command.
pub(crate) struct Terminal<'a> {
    world: &'a World,
    /// Of this terminal alone: the server of the one before may still be ending.
    socket: PathBuf,
}

impl<'a> Terminal<'a> {
    /// A terminal of this name; the program is found in it as `sweat`.
    pub(crate) fn new(world: &'a World, name: &str) -> Terminal<'a> {
        let dir = world.dir.path();
        if !dir.join("bin").exists() {
            std::fs::create_dir(dir.join("bin")).unwrap();
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sweat"), dir.join("bin/sweat")).unwrap();
            let conf = "set -g history-limit 5000\nset -g status off\n";
            std::fs::write(dir.join("tmux.conf"), conf).unwrap();
        }
        Terminal { world, socket: dir.join(format!("tmux-{name}")) }
    }

    #[expect(clippy::disallowed_methods, reason = "the test runs the program in a terminal")]
    pub(crate) fn tmux(&self, words: &[&str]) -> Output {
        let dir = self.world.dir.path();
        let path =
            format!("{}:{}", dir.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        Command::new("tmux")
            .args(["-u", "-f", "tmux.conf", "-S"])
            .arg(&self.socket)
            .args(words)
            .current_dir(dir)
            .env_clear()
            .env("HOME", dir)
            .env("PATH", path)
            .env("LANG", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm-256color")
            .env("SWEAT_HOME", dir.join("home"))
            .output()
            .expect("tmux runs")
    }

    /// Starts a command and waits for nothing.
    pub(crate) fn start(&self, command: &str) {
        let dir = self.world.dir.path();
        let code = dir.join("code");
        drop(std::fs::remove_file(&code));
        let script = format!("{command}\necho $? > code.new\nmv code.new code\nsleep 100\n");
        std::fs::write(dir.join("script"), script).unwrap();
        let began = self.tmux(&["new-session", "-d", "-x", "80", "-y", "24", "sh script"]);
        assert!(began.status.success(), "{}", cli::err(&began));
    }

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        cli::out(&self.tmux(&["capture-pane", "-p"]))
    }

    /// Waits for the command to end; its exit code if it does within five minutes, and the lines that it leaves.
    pub(crate) fn end(&self) -> (Option<i32>, Vec<String>) {
        let code = self.world.dir.path().join("code");
        for _ in 0..3000 {
            nap(100);
            if code.exists() {
                break;
            }
        }
        // The terminal draws what was written last.
        nap(200);
        let screen = cli::out(&self.tmux(&["capture-pane", "-p", "-J", "-S", "-"]));
        self.tmux(&["kill-server"]);
        let code = std::fs::read_to_string(code).ok().map(|code| code.trim().parse().unwrap());
        let lines = screen.trim_end().lines().map(|line| line.trim_end().to_owned());
        (code, lines.collect())
    }

    /// Runs a command; its exit code if it ends in time, and the lines that it leaves.
    fn run(&self, command: &str) -> (Option<i32>, Vec<String>) {
        self.start(command);
        self.end()
    }
}

/// The commands in the examples of a page: `sh` blocks, without comments, with continued lines joined.
fn commands_of(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in page.split("\n```sh\n").skip(1) {
        let block = block.split("\n```").next().unwrap_or_default().replace("\\\n", "");
        for line in block.lines().filter(|line| line.starts_with("sweat ")) {
            let command = line.split(" #").next().unwrap_or_default();
            found.push(command.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    found
}

/// The README's commands, then the first of each page of docs.
fn commands() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let readme = commands_of(&read(&root.join("README.md")));
    assert!(readme.len() > 8, "the README's commands were not found: {readme:?}");
    let mut all: Vec<(String, String)> =
        readme.into_iter().map(|command| ("README.md".to_owned(), command)).collect();
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    pages.sort();
    for page in pages {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        if SKIPPED.iter().any(|(skipped, _)| *skipped == name) {
            continue;
        }
        let first = commands_of(&read(&page)).into_iter().next();
        let first = first.unwrap_or_else(|| panic!("docs/{name} has no command to copy"));
        all.push((name, first));
    }
    all.extend(MORE.iter().map(|command| ("more".to_owned(), (*command).to_owned())));
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|(_, command)| command.contains("report latest") || seen.insert(command.clone()));
    all
}

/// The most lines for a command with this screen.
fn budget(command: &str, is_void: bool) -> usize {
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let fits = |key: &&(&str, usize)| {
        let mut parts = key.0.split(' ');
        parts.next() == words.first().copied()
            && parts.all(|part| if part == "void" { is_void } else { words.contains(&part) })
    };
    let found = BUDGETS.iter().find(fits);
    found.unwrap_or_else(|| panic!("no budget for `{command}`")).1
}

#[test]
fn a_newcomer_reads_each_answer_on_one_screen() {
    let world = World::new();
    let dir = world.dir.path();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !has_tmux() {
        fixture::record_skipped_test("tmux");
        return;
    }
    std::os::unix::fs::symlink(root.join("docs"), dir.join("docs")).unwrap();
    std::fs::write(dir.join("slow.log"), LOG).unwrap();
    std::fs::write(dir.join("small.toml"), PLAN).unwrap();

    cli::expect(&world.run(&["sandbox", "start", "--name", "db1", "--detach"]), 0);
    let _end = SandboxesEnd(&world);
    let create = "create database sbtest";
    cli::expect(&world.run(&["sandbox", "connect", "db1", "--", "-e", create]), 0);
    let connection = format!("-S {}/home/sandbox/db1/s -u root", dir.display());

    let mut wrong = Vec::new();
    for (number, (page, typed)) in commands().into_iter().enumerate() {
        let terminal = Terminal::new(&world, &number.to_string());
        let mut command = typed.clone();
        for (from, to) in REPLACED {
            command = command.replace(from, to);
        }
        command = command.replace("CONNECTION", &connection);
        let (code, lines) = terminal.run(&command);
        let screen = lines.join("\n");
        let first = typed.split(' ').nth(1).unwrap_or_default();
        let others = OTHER_EXITS.iter().find(|(name, _)| *name == first);
        let is_expected =
            |code: i32| code == 0 || others.is_some_and(|(_, codes)| codes.contains(&code));
        if !code.is_some_and(is_expected) {
            wrong.push(format!("{page}: `{command}`: exit code {code:?}\n{screen}"));
            continue;
        }
        let most = budget(&typed, screen.contains("VOID"));
        let is_step = |line: &&String| {
            let head = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            head.is_some_and(|(head, _)| head.contains('/'))
        };
        let count = lines.len() - lines.iter().filter(is_step).count();
        if count > most {
            wrong.push(format!("{page}: `{command}`: {count} lines, at most {most}\n{screen}"));
        }
        let is_too_wide = |line: &&String| line.chars().count() > 80;
        for line in lines.iter().filter(is_too_wide) {
            wrong.push(format!("{page}: `{command}`: wider than 80 columns: {line}"));
        }
        println!("{count:>3} of {most:>2} lines  {page}: {typed}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[expect(clippy::disallowed_methods, reason = "the test runs the program in a terminal")]
pub(crate) fn has_tmux() -> bool {
    Command::new("tmux").arg("-V").output().is_ok()
}

/// Removes the servers that the commands have left running.
struct SandboxesEnd<'a>(&'a World);

impl Drop for SandboxesEnd<'_> {
    fn drop(&mut self) {
        for name in ["db1", "shop"] {
            drop(self.0.command(&["sandbox", "destroy", name]).output());
        }
    }
}

#[test]
fn examples_are_read_as_a_shell_reads_them() {
    let page = "a\n```sh\nsweat a  -b \\\n  c   # why\ncurl x\n```\n```text\nsweat no\n```\n\
        ```sh\nsweat d\n```\n";
    assert_eq!(commands_of(page), ["sweat a -b c", "sweat d"]);
    assert_eq!(budget("sweat bench x prepare --y", false), 6);
    assert_eq!(budget("sweat bench x", true), 24);
    assert_eq!(budget("sweat bench x", false), 20);
}
