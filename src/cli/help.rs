//! Help texts: one layout for all commands, at most 80 columns, what is needed most first.
//! Start reading at `help_text`. What clap knows of a command is shown as it is; only order and layout are ours.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::arguments::{positional_arg, switch_flag};
use super::connection;
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::man_page::man_page;
use crate::plan::{Mistake, nearest_or_all};

/// Columns of a terminal that a help fits.
const WIDTH: usize = 80;
/// Column where the text of a flag begins.
const COLUMN: usize = 26;
/// Heading of what has to be said.
const REQUIRED: &str = "Required";
/// Headings that follow those of the command itself, in this order.
const LAST: &[&str] = &[
    "Options",
    "Load",
    "Workload",
    connection::SANDBOX_HEADING,
    connection::HEADING,
    super::arguments::OUTPUT_HEADING,
    "Checks",
];
/// The command that describes workloads, the flags of a load and its output; others refer to it.
const FULL: &str = "bench";
/// Headings that only that one shows.
const AFTER_LOADS: &[&str] = &[super::arguments::OUTPUT_HEADING, "Checks"];
/// The topic with all flags of the connection.
const CONNECTING: &str = "connecting";

/// The group whose names say all.
const OTHER_PROGRAMS: &str = "As other programs do";

/// Groups of commands in `sweat --help`; what is in none comes with the last.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Measure",
        &[
            "demo", "bench", "micro", "run", "init", "sweep", "capacity", "waits", "watch",
            "report", "compare", "agent", "agents", "merge", "runs", "explain", "mix",
        ],
    ),
    ("Warm", &["warm"]),
    ("Logs", &["digest", "replay", "ship"]),
    (
        OTHER_PROGRAMS,
        &["sysbench", "slap", "ycsb", "mysql-warmup", "http_load", "ab", "tpcc_load", "tpcc_start"],
    ),
    ("Machine", &["doctor", "aa", "sandbox", "restore", "completion", "help"]),
];

/// What stands behind the list of commands: where flags are shown, and examples.
pub(super) const ROOT_END: &str = "\
`sweat help COMMAND` shows the flags of a command; -h without a host does, too.
`sweat help --all COMMAND` shows them all, also those that are rarely used.

Examples:
  sweat demo --quick
  sweat bench oltp_read_write --sandbox --tables=4 --threads=8 --time=30
  sweat run docs/plans/flush-log.toml --dry-run
";

const CONNECTING_START: &str = "\
How sweat finds its server

Flags win over option files, and these over environment variables (MYSQL_HOST,
MYSQL_TCP_PORT, MYSQL_PWD, ...), as in every mysql client. Option files are
/etc/my.cnf, ~/.my.cnf, ~/.mylogin.cnf and the like; their groups are [client],
[mysql], [sweat] and others. By default sweat connects to localhost.
";

const CONNECTING_END: &str = "
sysbench's names work, too: --mysql-host, --mysql-port, --mysql-user,
--mysql-password, --mysql-socket and --mysql-db.

Examples:
  sweat doctor -h db1 -P 3307 -u bench -p
  sweat warm status -S /run/mysqld/mysqld.sock -u root
  sweat bench oltp_read_only --defaults-file ~/bench.cnf -D sbtest
";

pub(super) fn command() -> Command {
    Command::new("help")
        .about("Show the help of a command, or of `connecting`")
        .args([
            positional_arg("topic", "COMMAND").num_args(0..).help("A command, or `connecting`"),
            switch_flag("all").help("Show all flags, also those that are rarely used"),
            switch_flag("man").help("As a manual page, with all flags of the command"),
        ])
        .after_help(
            "Examples:\n  sweat help bench oltp_read_write\n  sweat help --all bench\n  \
             sweat help connecting\n  sweat help --man | man -l -\n  \
             sweat help --man bench > ~/.local/share/man/man1/sweat-bench.1",
        )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let words: Vec<&str> =
        args.get_many::<String>("topic").into_iter().flatten().map(String::as_str).collect();
    if words == [CONNECTING] {
        context.print_output(&connecting_text())?;
        return Ok(CommandOutcome::Done);
    }
    let program = super::built_program();
    let mut command = &program;
    for word in &words {
        command = command.find_subcommand(word).ok_or_else(|| {
            let mut names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            names.extend((word == &words[0]).then_some(CONNECTING));
            Mistake::new("help", format!("there is no command `{word}`"))
                .hint(nearest_or_all(word, names))
        })?;
    }
    let extent = if args.get_flag("all") { HelpExtent::All } else { HelpExtent::Usual };
    let text = match args.get_flag("man") {
        true => man_page(&words, command),
        false => help_text(&words, command, extent),
    };
    context.print_output(&text)?;
    Ok(CommandOutcome::Done)
}

/// The help that the words ask for: `--help`, `-?`, `help` as the last word of a workload's command, or `-h` without a
/// host. `-h` alone is what most people type first, and no host can begin with a dash.
pub(super) fn requested_help(program: &Command, typed: &[OsString]) -> Option<String> {
    let words: Vec<_> = typed.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    let own = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let words: Vec<&str> = words[..own].iter().map(AsRef::as_ref).collect();
    let is_long = |word: &str| word.len() > 3 && "--help".starts_with(word);
    let lone = |at: usize| words.get(at + 1).is_none_or(|next| next.starts_with('-'));
    let asks =
        |(at, word): (usize, &&str)| *word == "-?" || is_long(word) || (*word == "-h" && lone(at));
    let asked = words.iter().enumerate().any(asks);
    let ends_in_help = words.last() == Some(&"help");
    if !asked && !ends_in_help && !words.contains(&"-h") {
        return None;
    }
    let (path, command) = named_command(program, &words);
    let has_host = command.get_arguments().any(|arg| arg.get_short() == Some('h'));
    // `sweat bench oltp_read_write --threads=4 help`, as in sysbench, and `sweat CMD help`.
    let is_bare = words.len() == path.len() + 1;
    let is_workload = path.first() == Some(&FULL) && path.len() == 2;
    let is_word = ends_in_help && !path.is_empty() && (is_bare || is_workload);
    let is_asked = asked || is_word || (words.contains(&"-h") && !has_host);
    if !is_asked {
        return None;
    }
    // With the options of a script that is named.
    let mut program = super::bench::add_declared_options(program.clone(), typed);
    program.build();
    let (path, command) = named_command(&program, &words);
    Some(help_text(&path, command, HelpExtent::Usual))
}

/// The help of the command that the words name, for one that lacks its subcommand.
pub(super) fn named_help(words: &[OsString]) -> String {
    let words: Vec<_> = words.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let program = super::built_program();
    let (path, command) = named_command(&program, &words);
    help_text(&path, command, HelpExtent::Usual)
}

/// The command that the words name, and the names that lead to it.
pub(super) fn named_command<'p, 'w>(
    program: &'p Command,
    words: &[&'w str],
) -> (Vec<&'w str>, &'p Command) {
    let (mut path, mut command) = (Vec::new(), program);
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        if let Some(sub) = command.find_subcommand(word) {
            path.push(*word);
            command = sub;
        }
    }
    (path, command)
}

/// How much a help shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HelpExtent {
    /// The flags that are used most, and how to see the others.
    Usual,
    /// Every flag.
    All,
}

/// The help of a command. `path` holds the names that lead to it.
pub(super) fn help_text(path: &[&str], command: &Command, extent: HelpExtent) -> String {
    let mut text = String::new();
    let about = command.get_long_about().or(command.get_about());
    push_paragraphs(&mut text, &capitalise(&about.map(ToString::to_string).unwrap_or_default()));
    let usage = plain_values(&command.clone().render_usage().to_string());
    for (n, line) in wrap_words(&usage, WIDTH - 4).iter().enumerate() {
        text += &format!("{}{line}\n", if n == 0 { "\n" } else { "    " });
    }
    if path.is_empty() {
        push_groups(&mut text, command);
        return text + "\n" + ROOT_END;
    }
    let subcommands: Vec<(String, String)> =
        command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(command_row).collect();
    let heading = command.get_subcommand_help_heading().unwrap_or("Commands");
    let is_all = extent == HelpExtent::All;
    let is_load = heading_exists(command, "Load") && path != [FULL];
    match is_load && !is_all && !subcommands.is_empty() {
        true => {
            let heading = format!("{heading} (`sweat {FULL} --help` describes them):");
            push_names(&mut text, &heading, &subcommands);
        }
        false => push_section(&mut text, heading, &subcommands),
    }
    let mut left_out = false;
    for heading in section_headings(command) {
        // What all loads share is described by one of them.
        if is_load && !is_all && AFTER_LOADS.contains(&heading.as_str()) {
            left_out = true;
            continue;
        }
        if heading == "Workload" && is_load && path.len() == 2 && path[0] != FULL {
            text += &format!("\nOptions of the workload: `sweat {FULL} {} --help`\n", path[1]);
            continue;
        }
        let mut rows = Vec::new();
        let mut has_more = false;
        for arg in section_args(command, &heading) {
            let is_full = (is_all || path == ["report"]) && heading != connection::HEADING;
            match arg.is_hide_short_help_set() && !is_full {
                true => has_more = true,
                false => rows.push(arg_row(arg)),
            }
        }
        push_section(&mut text, &heading, &rows);
        if has_more && heading == connection::HEADING {
            text += &format!("  more: `sweat help {CONNECTING}`\n");
        } else {
            left_out |= has_more;
        }
    }
    if left_out {
        text += &format!("\nMore flags: `sweat help --all {}`\n", path.join(" "));
    }
    if let Some(end) = command.get_after_help() {
        push_paragraphs(&mut text, &end.to_string());
    }
    text
}

/// All flags that say which server, with where else that may stand.
pub(super) fn connecting_text() -> String {
    let command = connection::add_address_flags(Command::new("server"));
    let rows: Vec<_> = command.get_arguments().map(arg_row).collect();
    let mut text = CONNECTING_START.to_owned();
    push_section(&mut text, connection::HEADING, &rows);
    text + CONNECTING_END
}

fn push_groups(text: &mut String, program: &Command) {
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let is_shown = |command: &&Command| !command.is_hide_set();
    for (n, (title, names)) in GROUPS.iter().enumerate() {
        let listed = names.iter().filter_map(|name| program.find_subcommand(name));
        let others = program
            .get_subcommands()
            .filter(|command| n + 1 == GROUPS.len() && !is_grouped(command.get_name()));
        let rows: Vec<_> = listed.chain(others).filter(is_shown).map(command_row).collect();
        match *title == OTHER_PROGRAMS {
            true => push_names(text, &format!("{title}:"), &rows),
            false => push_section(text, title, &rows),
        }
    }
}

/// Commands by name alone.
fn push_names(text: &mut String, heading: &str, rows: &[(String, String)]) {
    let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    *text += &format!("\n{heading}\n");
    for line in wrap_words(&names.join(", "), WIDTH - 2) {
        *text += &format!("  {line}\n");
    }
}

/// A command's name, and what it is about.
pub(super) fn command_row(command: &Command) -> (String, String) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    (command.get_name().to_owned(), capitalise(&about))
}

fn heading_exists(command: &Command, heading: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_help_heading() == Some(heading))
}

/// Headings of a command in the order in which they are shown.
pub(super) fn section_headings(command: &Command) -> Vec<String> {
    let mut headings: Vec<String> = vec!["Arguments".to_owned(), REQUIRED.to_owned()];
    for arg in command.get_arguments() {
        let heading = heading_of(arg);
        if !LAST.contains(&heading.as_str()) && !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    headings.extend(LAST.iter().map(|heading| (*heading).to_owned()));
    headings
}

/// Flags and words of a command below a heading.
pub(super) fn section_args<'c>(
    command: &'c Command,
    heading: &'c str,
) -> impl Iterator<Item = &'c Arg> + use<'c> {
    command.get_arguments().filter(move |arg| is_shown(arg) && heading_of(arg) == heading)
}

fn is_shown(arg: &Arg) -> bool {
    !arg.is_hide_set() && !matches!(arg.get_action(), ArgAction::Help | ArgAction::Version)
}

fn heading_of(arg: &Arg) -> String {
    if arg.is_positional() {
        return "Arguments".to_owned();
    }
    match arg.is_required_set() {
        true => REQUIRED.to_owned(),
        false => arg.get_help_heading().unwrap_or("Options").to_owned(),
    }
}

/// What is typed, and what it means.
pub(super) fn arg_row(arg: &Arg) -> (String, String) {
    let names = arg.get_value_names().unwrap_or_default();
    let value = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ");
    let takes = arg.get_action().takes_values();
    let flag = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, Some(long)) => format!("--{long}"),
        (None, None) => String::new(),
    };
    let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    if arg.get_help_heading() == Some("Workload") {
        help = capitalise(&help);
    }
    let is_on = help.ends_with("[default: on]");
    let typed = match (arg.is_positional(), takes, arg.is_require_equals_set()) {
        (true, ..) => value,
        (_, false, _) => flag,
        (_, _, true) if value != "on|off" => format!("{flag}[={value}]"),
        // A switch is shown as it is typed to change it.
        (_, _, true) if is_on => format!("{flag}=off"),
        (_, _, true) => flag,
        (..) => format!("{flag} {value}"),
    };
    if !takes {
        return (typed, help);
    }
    if let Some(plain) = help.strip_suffix(" [default: off]") {
        help = plain.to_owned();
    }
    let choices = arg.get_possible_values();
    let choices: Vec<&str> = choices.iter().map(|choice| choice.get_name()).collect();
    if choices.len() > 1 && !arg.is_hide_possible_values_set() && !typed.contains('|') {
        help += &format!(": {}", choices.join(", "));
    }
    let defaults = arg.get_default_values();
    if let (Some(default), false) = (defaults.first(), help.contains("[default")) {
        help += &format!(" [default: {}]", default.to_string_lossy());
    }
    (typed, help)
}

fn push_section(text: &mut String, heading: &str, rows: &[(String, String)]) {
    if rows.is_empty() {
        return;
    }
    *text += &format!("\n{heading}:\n");
    for (typed, help) in rows {
        let lines = wrap_words(help, WIDTH - COLUMN);
        let mut lines = lines.iter();
        let room = COLUMN - 2;
        *text += &match typed.chars().count() + 2 <= room {
            true => format!("  {typed:room$}{}", lines.next().map_or("", String::as_str)),
            false => format!("  {typed}"),
        };
        text.truncate(text.trim_end().len());
        *text += "\n";
        for line in lines {
            *text += &format!("{:COLUMN$}{line}\n", "");
        }
    }
}

/// Text whose lines are filled; indented ones stay as they are.
fn push_paragraphs(text: &mut String, paragraphs: &str) {
    let between = if text.is_empty() { "" } else { "\n" };
    *text += between;
    for line in paragraphs.trim_end().lines() {
        match line.starts_with(' ') || line.is_empty() {
            true => *text += &format!("{line}\n"),
            false => wrap_words(line, WIDTH).iter().for_each(|line| *text += &format!("{line}\n")),
        }
    }
}

/// A usage line with its values as flags show them: `<HOST>` is `HOST`. What is no pair around a name stays: 'p99<20ms'.
pub(super) fn plain_values(usage: &str) -> String {
    let mut text = String::new();
    let mut rest = usage;
    while let Some((before, after)) = rest.split_once('<') {
        text += before;
        let name = after.split_once('>');
        match name.filter(|(name, _)| !name.is_empty() && !name.contains([' ', '<'])) {
            Some((name, behind)) => {
                text += name;
                rest = behind;
            }
            None => {
                text += "<";
                rest = after;
            }
        }
    }
    text + rest
}

fn capitalise(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The words of a text in lines of at most so many characters; a default is one word.
pub(super) fn wrap_words(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    let (before, default) = match text.rfind(" [default: ") {
        Some(at) if text.len() - at < width => text.split_at(at),
        _ => (text, ""),
    };
    let default = Some(default.trim()).filter(|word| !word.is_empty());
    for word in before.split_whitespace().chain(default) {
        let last = lines.last_mut().expect("it begins with one");
        if last.is_empty() {
            *last = word.to_owned();
        } else if last.chars().count() + 1 + word.chars().count() <= width {
            *last += " ";
            *last += word;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        requested_help(&super::super::called_command(&words), &words)
    }

    fn all_helps() -> Vec<(String, String)> {
        fn visit(path: &[&str], command: &Command, all: &mut Vec<(String, String)>) {
            all.push((path.join(" "), help_text(path, command, HelpExtent::Usual)));
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
                visit(&[path, &[sub.get_name()]].concat(), sub, all);
            }
        }
        let mut all = vec![(CONNECTING.to_owned(), connecting_text())];
        visit(&[], &super::super::built_program(), &mut all);
        all
    }

    #[test]
    fn every_help_fits_a_terminal_and_is_short() {
        let mut wrong = Vec::new();
        for (path, text) in all_helps() {
            // One of them has a line for each workload; those of workloads have flags of the load and of their own.
            let most = match path.as_str() {
                FULL => 76,
                path if path.starts_with(FULL) => 70,
                _ => 60,
            };
            let lines = text.lines().count();
            if lines > most {
                wrong.push(format!("sweat {path} --help has {lines} lines, at most {most}"));
            }
            let wide = text.lines().filter(|line| line.chars().count() > WIDTH);
            wrong.extend(wide.map(|line| format!("sweat {path} --help: too wide: {line}")));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_dash_h_without_a_host_asks_for_help() {
        for (line, about) in [
            ("sweat -h", "Measure:"),
            ("sweat --help", "Measure:"),
            ("sweat bench -h", "Usage: sweat bench"),
            ("sweat bench -? --threads=4", "Usage: sweat bench"),
            ("sweat bench oltp_read_write -h --sandbox", "Usage: sweat bench oltp_read_write"),
            ("sweat report -h latest", "Usage: sweat report"),
            ("sweat warm scan --hel", "Usage: sweat warm scan"),
            ("sweat bench oltp_read_write help", "Usage: sweat bench oltp_read_write"),
            ("sweat bench oltp_read_write --threads=4 help", "Usage: sweat bench oltp_read_write"),
            ("sweat bench help", "Usage: sweat bench"),
        ] {
            let text = asked(line).unwrap_or_default();
            assert!(text.contains(about), "{line}: {text}");
        }
        for line in [
            "sweat bench null -h db1",
            "sweat help bench",
            "sweat help --man help",
            "sweat doctor -h db1 --quick",
            "sweat sandbox connect my97 -- -h",
            "sweat bench null --threads=1",
        ] {
            assert_eq!(asked(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_required_comes_first_and_rare_flags_by_reference() {
        let program = super::super::built_program();
        let text =
            |path: &[&str]| help_text(path, named_command(&program, path).1, HelpExtent::Usual);
        let all = |path: &[&str]| help_text(path, named_command(&program, path).1, HelpExtent::All);
        let waits = text(&["waits"]);
        let at = |what: &str| waits.find(what).unwrap_or_else(|| panic!("{what}: {waits}"));
        assert!(at("--instrument PATTERN") < at("--threads N") && at("--threads N") < at("-h,"));
        assert!(!waits.contains("--ssl-ca") && waits.contains("more: `sweat help connecting`"));
        assert!(connecting_text().contains("--ssl-ca FILE"));
        assert!(!text(&["bench"]).contains("--probe-interval"));
        let workload = text(&["bench", "oltp_read_write"]);
        assert!(!workload.contains("--rand-zipfian-exp"), "{workload}");
        assert!(workload.contains("`sweat help --all bench oltp_read_write`"), "{workload}");
        let whole = all(&["bench", "oltp_read_write"]);
        for flag in ["--rand-zipfian-exp", "--probe-interval", "--junit", "--strict"] {
            assert!(whole.contains(flag), "{flag}: {whole}");
        }
        assert!(text(&["bench", "select_random_points"]).contains("--random-points"));
    }

    #[test]
    fn a_usage_line_has_plain_values() {
        for (usage, plain) in [
            ("sweat restore [OPTIONS] <JOURNAL>", "sweat restore [OPTIONS] JOURNAL"),
            (
                "sweat capacity --slo 'p99<20ms' WORKLOAD",
                "sweat capacity --slo 'p99<20ms' WORKLOAD",
            ),
            ("a <B>... < <C>", "a B... < C"),
        ] {
            assert_eq!(plain_values(usage), plain);
        }
        let program = super::super::built_program();
        let text =
            help_text(&["capacity"], named_command(&program, &["capacity"]).1, HelpExtent::Usual);
        assert!(text.contains("--slo 'p99<20ms'") && !text.contains("--rate"), "{text}");
    }

    #[test]
    fn flags_have_one_layout() {
        let mut text = String::new();
        let rows = [("-D, --database NAME", "Database"), ("--a-flag-of-some-length", "It is long")];
        let rows = rows.map(|(typed, help)| (typed.to_owned(), help.to_owned()));
        push_section(&mut text, "Server", &rows);
        assert_eq!(
            text,
            format!(
                "\nServer:\n  -D, --database NAME     Database\n  --a-flag-of-some-length\n{:26}It \
                 is long\n",
                ""
            )
        );
    }
}
