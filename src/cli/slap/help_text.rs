//! `--help` and `--version`.

use super::option_table::{OPTIONS, SlapArg, SlapOption, SlapSource};
use crate::cli::VERSION;

/// Column where the text of an option begins.
const COLUMN: usize = 30;

/// The options, those about the connection by name only.
pub(super) fn program_help() -> String {
    let of = |is_ours: bool| -> String {
        let told = OPTIONS.iter().filter(|option| !option.help.is_empty());
        let lines = told.filter(|option| (option.source == SlapSource::Sweat) == is_ours);
        lines.map(option_line).collect()
    };
    format!(
        "Run statements by many clients at once, as mysqlslap does\n\n\
         Usage: sweat slap [OPTIONS], or sweat called mysqlslap or mariadb-slap\n\n\
         Options of mysqlslap and mariadb-slap:\n{}\n\
         Options of sweat:\n{}\n\
         Server: -h -P -u -p -S --protocol --ssl* --login-path and the others of the\n\
         mysql clients; --defaults-file, --defaults-extra-file, --no-defaults, ... first.\n\n\
         Examples:\n  \
         sweat slap -a -c 1,8,64 --number-of-queries=1000 -S /run/mysqld/mysqld.sock\n  \
         sweat slap -q queries.sql --create-schema=shop -c 8 -i 3 -v\n  \
         sweat slap -q queries.sql --create-schema=shop --runs-dir=runs\n",
        of(false),
        of(true)
    )
}

/// The line of an option, or two where its name is long.
fn option_line(option: &SlapOption) -> String {
    let short = option.short.map(|letter| format!("-{letter}, ")).unwrap_or_default();
    let value = match option.arg {
        SlapArg::Switch | SlapArg::Repeated => "",
        SlapArg::Number => "=N",
        SlapArg::Text => "=TEXT",
        SlapArg::MaybeText => "[=FILE]",
    };
    let flag = format!("  {short}--{}{value}", option.name);
    if flag.len() + 2 > COLUMN {
        return format!("{flag}\n{:COLUMN$}{}\n", "", option.help);
    }
    format!("{flag:<COLUMN$}{}\n", option.help)
}

/// `mysqlslap  Ver 1.0 Distrib ...`
pub(super) fn version_line(program: &str) -> String {
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{program}  Ver 1.0 Distrib sweat-{VERSION}, for {system} ({machine})\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_fits_a_terminal() {
        let help = program_help();
        let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:#?}");
        for word in ["-q, --query=TEXT", "--csv[=FILE]", "--as-mysqlslap"] {
            assert!(help.contains(word), "{word}");
        }
    }
}
