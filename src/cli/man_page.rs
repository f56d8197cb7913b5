//! The help of a command as a manual page, in the macros of man(7). What it says is what the help says: only the layout is
//! another, and flags that the help leaves to another command's stand here, too.

use clap::Command;

use super::help::{
    arg_row, command_row, connecting_text, plain_values, section_args, section_headings,
};

/// The page of a command. `path` holds the names that lead to it; none for the program itself.
pub(super) fn man_page(path: &[&str], command: &Command) -> String {
    let name = [&["sweat"], path].concat().join("-");
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut page =
        format!(".TH \"{}\" 1 \"\" \"sweat {}\" \"sweat\"\n", name.to_uppercase(), super::VERSION);
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
    if let Some(end) = command.get_after_help() {
        page += ".SH NOTES\n";
        push_paragraphs(&mut page, &end.to_string());
    }
    let others: Vec<String> = match path.split_last() {
        None => commands.iter().map(|(sub, _)| format!("{name}-{sub}")).collect(),
        Some((_, above)) => vec![[&["sweat"], above].concat().join("-")],
    };
    let others = others.iter().map(|name| format!(".BR {} (1)", escape_text(name)));
    page += &format!(".SH SEE ALSO\n{}\n", others.collect::<Vec<_>>().join(" ,\n"));
    page
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
    for line in text.trim_end().lines() {
        let keeps = line.starts_with(' ');
        match (is_kept, keeps) {
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
