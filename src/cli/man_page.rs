//! The help of a command as a manual page, in the macros of man(7). What it says is what the help says: only the layout is
//! another, and flags that the help leaves to another command's stand here, too.

use clap::Command;

use super::connection::ENVIRONMENT;
use super::exit::EXIT_MEANINGS;
use super::help::{
    ROOT_END, arg_row, command_row, connecting_text, plain_values, section_args, section_headings,
};

/// Where the examples begin in the text behind a help.
const EXAMPLES: &str = "Examples:\n";
/// Variables of sweat's own, beside those of every mysql client.
const OWN_ENVIRONMENT: &[(&str, &str)] = &[
    ("SWEAT_RUNS_DIR", "Folder of run folders [default: runs]"),
    ("SWEAT_THREADS", "Default of --threads"),
    ("SWEAT_FORMAT", "Default of --format"),
    ("SWEAT_ALLOW", "Default of --allow: caveats that are accepted"),
    ("SWEAT_HOME", "Folder of sandboxes and of the journal of changes"),
    ("SWEAT_SHIP_TOKEN", "Token of a `sweat ship`"),
    ("SWEAT_SHIP_CA", "Authorities that a `sweat ship` may have its certificate from, PEM"),
];
const FILES: &[(&str, &str)] = &[
    ("/etc/my.cnf, /etc/mysql/my.cnf, ~/.my.cnf", "Option files of every mysql client"),
    ("~/.mylogin.cnf", "The login path file of the mysql clients"),
    ("~/.config/sweat/config.toml", "Your own defaults"),
    ("~/.cache/sweat", "Sandboxes, and the journal of what has to be put back"),
    ("runs", "Run folders, below the current folder"),
];

/// The page of a command. `path` holds the names that lead to it; none for the program itself.
pub(super) fn man_page(path: &[&str], command: &Command) -> String {
    let name = [&["sweat"], path].concat().join("-");
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let (version, date) = split_version(super::VERSION);
    let mut page =
        format!(".TH \"{}\" 1 \"{date}\" \"sweat {version}\" \"sweat\"\n", name.to_uppercase());
    page += &format!(".SH NAME\n{} \\- {}\n", escape_text(&name), escape_line(&about));
    let usage = plain_values(&command.clone().render_usage().to_string());
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).split_whitespace();
    let usage = usage.collect::<Vec<_>>().join(" ");
    page += &format!(".SH SYNOPSIS\n.B {}\n", escape_line(&usage));
    let long = command.get_long_about().map(ToString::to_string);
    if let Some(text) = long.filter(|text| *text != about) {
        page += ".SH DESCRIPTION\n";
        push_paragraphs(&mut page, &text);
    }
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let commands: Vec<(String, String)> = shown.map(command_row).collect();
    let heading = command.get_subcommand_help_heading().unwrap_or("Commands");
    push_section(&mut page, heading, &commands);
    for heading in section_headings(command) {
        let rows: Vec<_> = section_args(command, &heading).map(arg_row).collect();
        push_section(&mut page, &heading, &rows);
    }
    if path.is_empty() {
        page += ".SH CONNECTING\n";
        push_paragraphs(&mut page, &connecting_text());
    }
    let end = match path {
        [] => ROOT_END.to_owned(),
        _ => command.get_after_help().map(ToString::to_string).unwrap_or_default(),
    };
    let (notes, examples) = end.split_once(EXAMPLES).unwrap_or((&end, ""));
    for (heading, text) in [("NOTES", notes), ("EXAMPLES", examples)] {
        if !text.trim().is_empty() {
            page += &format!(".SH {heading}\n");
            push_paragraphs(&mut page, text);
        }
    }
    if path.is_empty() {
        push_section(&mut page, "Files", &owned_rows(FILES));
        let of_clients = ENVIRONMENT.iter();
        let of_clients = of_clients.map(|(name, flag)| ((*name).to_owned(), format!("--{flag}")));
        let variables: Vec<_> = of_clients.chain(owned_rows(OWN_ENVIRONMENT)).collect();
        push_section(&mut page, "Environment", &variables);
    }
    let codes = EXIT_MEANINGS.iter();
    let codes = codes.map(|(exit, text)| (exit.exit_code().to_string(), (*text).to_owned()));
    push_section(&mut page, "Exit status", &codes.collect::<Vec<_>>());
    let others: Vec<String> = match path.split_last() {
        None => commands.iter().map(|(sub, _)| format!("{name}-{sub}")).collect(),
        Some((_, above)) => vec![[&["sweat"], above].concat().join("-")],
    };
    let others = others.iter().map(|name| format!(".BR {} (1)", escape_text(name)));
    page += &format!(".SH SEE ALSO\n{}\n", others.collect::<Vec<_>>().join(" ,\n"));
    page
}

/// The version alone, and the date of its commit: `0.1.0 (68b0d74, 2026-11-22)`.
fn split_version(version: &str) -> (&str, &str) {
    let (number, commit) = version.split_once(" (").unwrap_or((version, ""));
    let (_, date) = commit.trim_end_matches(')').split_once(", ").unwrap_or_default();
    (number, date)
}

fn owned_rows(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn push_section(page: &mut String, heading: &str, rows: &[(String, String)]) {
    if rows.is_empty() {
        return;
    }
    *page += &format!(".SH \"{}\"\n", escape_text(&heading.to_uppercase()));
    for (typed, help) in rows {
        let help = if help.is_empty() { "\\&".to_owned() } else { escape_line(help) };
        *page += &format!(".TP\n.B {}\n{help}\n", escape_line(typed));
    }
}

/// Text whose lines are filled; indented ones stay as they are.
fn push_paragraphs(page: &mut String, text: &str) {
    let mut is_kept = false;
    for (number, line) in text.trim_matches('\n').trim_end().lines().enumerate() {
        let keeps = line.starts_with(' ');
        match (is_kept, keeps) {
            // A heading is a paragraph's begin by itself.
            (false, true) if number == 0 || page.ends_with(".PP\n") => *page += ".nf\n",
            (false, true) => *page += ".PP\n.nf\n",
            (true, false) => *page += ".fi\n",
            _ => {}
        }
        is_kept = keeps;
        *page += &match line {
            "" => ".PP\n".to_owned(),
            line => format!("{}\n", escape_line(line)),
        };
    }
    *page += if is_kept { ".fi\n" } else { "" };
}

/// A line of text: none that begins like a request is one.
fn escape_line(line: &str) -> String {
    let text = escape_text(line);
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// Dashes and quotes as they are typed, and no escapes.
fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out += "\\e",
            '-' => out += "\\-",
            '\'' => out += "\\(aq",
            '"' => out += "\\(dq",
            '`' => out += "\\(ga",
            '^' => out += "\\(ha",
            '~' => out += "\\(ti",
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{built_program, help::named_command};
    use super::*;

    fn page(path: &[&str]) -> String {
        let program = built_program();
        man_page(path, named_command(&program, path).1)
    }

    #[test]
    fn a_page_says_what_the_help_says() {
        let page = page(&["bench", "oltp_read_write"]);
        assert!(page.starts_with(".TH \"SWEAT-BENCH-OLTP_READ_WRITE\" 1 "), "{page}");
        for line in [
            ".SH SYNOPSIS",
            ".SH \"WORKLOAD\"",
            ".B \\-\\-threads N",
            ".B \\-\\-probe\\-interval TIME",
            ".B \\-\\-ssl\\-ca FILE",
            "  sweat bench oltp_read_write \\-\\-sandbox \\-\\-threads=4 \\-\\-time=10",
            ".BR sweat\\-bench (1)",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}: {page}");
        }
    }

    #[test]
    fn a_page_has_the_sections_of_a_manual() {
        let headings = |path: &[&str]| {
            let page = page(path);
            let lines = page.lines().filter_map(|line| line.strip_prefix(".SH "));
            lines.map(|line| line.trim_matches('"').to_owned()).collect::<Vec<_>>()
        };
        let found = headings(&[]);
        for heading in ["CONNECTING", "EXAMPLES", "FILES", "ENVIRONMENT", "EXIT STATUS"] {
            assert!(found.iter().any(|found| found == heading), "{heading}: {found:?}");
        }
        assert!(
            headings(&["ship"])
                .ends_with(&["EXAMPLES", "EXIT STATUS", "SEE ALSO"].map(String::from))
        );
    }

    #[test]
    fn the_date_is_that_of_the_commit() {
        assert_eq!(split_version("0.1.0 (68b0d74, 2026-11-22)"), ("0.1.0", "2026-11-22"));
        assert_eq!(split_version("0.1.0"), ("0.1.0", ""));
    }

    #[test]
    fn every_exit_code_has_its_meaning() {
        let mut codes: Vec<u8> = EXIT_MEANINGS.iter().map(|(exit, _)| exit.exit_code()).collect();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 130]);
    }

    #[test]
    fn no_text_is_a_request() {
        assert_eq!(escape_line(".5 is 'a\\b'"), "\\&.5 is \\(aqa\\eb\\(aq");
        let macros = ["TH", "SH", "B", "BR", "TP", "PP", "nf", "fi"];
        for path in [&[][..], &["bench"], &["capacity"], &["warm"], &["completion"]] {
            for line in page(path).lines().filter(|line| line.starts_with(['.', '\''])) {
                let name = line[1..].split(' ').next().unwrap_or_default();
                assert!(macros.contains(&name), "{line}");
            }
        }
    }
}
