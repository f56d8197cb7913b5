//! sweat called `mysql-warmup`: the words of that program as those of `sweat warm scan --plain`.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use clap::Command;

use super::arguments::words_command;
use super::option_file::{OptionFileChoice, read_option_files};
use super::translated::TranslatedCall;

const NAME: &str = "mysql-warmup";
const HELP: &str = "\
Read all tables and indexes of a database into the buffer pool

Usage: mysql-warmup [-h HOST] [-u USER] [-d DATABASE] [-p PORT] [OPTIONS]

  -h HOST        Host of the server; localhost means its socket
  -u USER        Account [default: that of the system]
  -d DATABASE    Database [default: all but those of the server]
  -p PORT        TCP port [default: 3306]
  -S PATH        Unix socket
  --help         Print help
  --version      Print the version

The password comes from MYSQL_PWD or an option file, or is asked for. Other
options are those of `sweat warm scan`, which this is, with --plain.

Examples:
  mysql-warmup -u root -d shop
";

pub(super) fn command() -> Command {
    words_command(NAME, "Warm a database as mysql-warmup does")
        .after_help("Examples:\n  sweat mysql-warmup -u root -d shop")
}

/// The words of mysql-warmup if the program is to be that: it is called so, or that is its first word.
pub(super) fn translate_call(args: &[OsString]) -> Option<TranslatedCall> {
    Some(match read_words(&called_words(args)?) {
        Ok((mut args, lacks_password)) => {
            if lacks_password {
                add_password(&mut args);
            }
            TranslatedCall::Own(args)
        }
        Err(other) => other,
    })
}

fn called_words(args: &[OsString]) -> Option<Vec<String>> {
    let is_called = |word: &OsString| Path::new(word).file_name().is_some_and(|name| name == NAME);
    let words = match args {
        [program, rest @ ..] if is_called(program) => rest,
        [_, first, rest @ ..] if *first == *NAME => rest,
        _ => return None,
    };
    Some(words.iter().map(|word| word.to_string_lossy().into_owned()).collect())
}

/// The command line in our own words, and whether it has no password.
///
/// # Errors
/// What else there is to be said.
fn read_words(words: &[String]) -> Result<(Vec<OsString>, bool), TranslatedCall> {
    // Each with our own flag for it.
    const FLAGS: [(&str, &str); 6] =
        [("-h", "-h"), ("-u", "-u"), ("-d", "-D"), ("-D", "-D"), ("-p", "-P"), ("-S", "-S")];
    let mut args: Vec<OsString> = ["sweat", "warm", "scan", "--plain"].map(OsString::from).to_vec();
    let mut lacks_password = true;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--help" | "-?" => return Err(TranslatedCall::Print(HELP.to_owned())),
            "--version" => return Err(TranslatedCall::Print(format!("{}\n", super::VERSION))),
            _ => {}
        }
        let word = if word.starts_with("-P") { word.replacen("-P", "-p", 1) } else { word.clone() };
        let Some((flag, ours)) = FLAGS.iter().find(|(flag, _)| word.starts_with(flag)) else {
            lacks_password &= !word.contains("password") && !word.contains("defaults");
            args.push(word.into());
            continue;
        };
        let value = match &word[flag.len()..] {
            "" => words.next().cloned(),
            value => Some(value.to_owned()),
        };
        let Some(value) = value else {
            return Err(TranslatedCall::Wrong(format!("{flag} has no value")));
        };
        if *flag == "-p" && value.parse::<u16>().is_err() {
            let why = format!("-p is the port, and `{value}` is none");
            return Err(TranslatedCall::Wrong(why));
        }
        args.extend([OsString::from(ours), value.into()]);
    }
    Ok((args, lacks_password))
}

/// Adds the password as it is typed, where neither the environment nor an option file has one: as mysql-warmup does, it is asked
/// for on the standard input. On a terminal nothing shows it.
fn add_password(args: &mut Vec<OsString>) {
    let variable = |name: &str| std::env::var_os(name);
    let home = variable("HOME").map(Into::into);
    let choice = OptionFileChoice { home, ..OptionFileChoice::default() };
    let found = read_option_files(&choice).options;
    if variable("MYSQL_PWD").is_some() || found.iter().any(|option| option.name == "password") {
        return;
    }
    if std::io::stdin().is_terminal() {
        args.push("--password".into());
        return;
    }
    let mut line = String::new();
    let _ = writeln!(std::io::stdout().lock(), "\nInput the mysql password:");
    let _ = std::io::stdin().read_line(&mut line);
    let password = line.trim_end_matches(['\r', '\n']);
    if !password.is_empty() {
        args.push(format!("--password={password}").into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Words = Result<(Vec<OsString>, bool), TranslatedCall>;

    fn call(line: &str) -> Words {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        read_words(&called_words(&args).unwrap())
    }

    fn warm(line: &str) -> Words {
        let args = format!("sweat warm scan --plain{line}");
        Ok((args.split(' ').map(OsString::from).collect(), true))
    }

    #[test]
    fn its_words_are_those_of_a_scan() {
        assert_eq!(call("/bin/mysql-warmup -u root -d DB"), warm(" -u root -D DB"));
        assert_eq!(call("sweat mysql-warmup -hdb1 -p 3307"), warm(" -h db1 -P 3307"));
        assert_eq!(call("mysql-warmup -S /s --rate 5M"), warm(" -S /s --rate 5M"));
        assert!(called_words(&["sweat".into(), "warm".into()]).is_none());
    }

    #[test]
    fn a_port_is_a_number() {
        assert!(matches!(call("mysql-warmup -p secret"), Err(TranslatedCall::Wrong(_))));
        assert!(matches!(call("mysql-warmup -u"), Err(TranslatedCall::Wrong(_))));
        assert!(matches!(call("mysql-warmup --version"), Err(TranslatedCall::Print(_))));
        assert!(HELP.lines().all(|line| line.len() <= 80));
    }
}
