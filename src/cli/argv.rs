//! The raw command line before clap sees it: takes the password out of it, here and in the process list.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::base::Secret;
use crate::capture::redact::redacted_text;
use crate::plan::{LEFT_OUT, field_secret_at};

/// Longest part of a statement in a record of the command line, bytes.
const LONGEST_STATEMENT: usize = 4096;

/// The password as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum TypedPassword {
    /// Not mentioned.
    #[default]
    Absent,
    /// Bare `-p` or `--password`: to be asked for. Holds the word behind it: it may be what was meant.
    Ask(Option<Secret>),
    /// Given with the flag.
    Given(Secret),
    /// `--skip-password`: none, whatever option files say.
    Skipped,
}

/// The command line without its password.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// What clap reads; a password flag stands there bare.
    pub(super) args: Vec<OsString>,
    /// The password.
    pub(super) password: TypedPassword,
    /// What was typed, as a shell takes it again, without passwords.
    pub(super) typed: String,
}

/// Where a password begins inside an argument; `None` if the argument holds none.
fn password_at(arg: &[u8]) -> Option<usize> {
    for prefix in [&b"--password="[..], b"--mysql-password=", b"--mysql_password="] {
        if arg.starts_with(prefix) {
            return Some(prefix.len());
        }
    }
    (arg.len() > 2 && arg.starts_with(b"-p")).then_some(2)
}

/// Where the secret begins of a field of HTTP inside an argument: behind `-H`, `--header=`, or the whole argument.
fn field_at(arg: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(arg).ok()?;
    let before = ["--header=", "-H"].iter().find(|flag| text.starts_with(**flag));
    let before = before.map_or(0, |flag| flag.len());
    field_secret_at(&text[before..]).map(|at| before + at)
}

/// Takes the password out of the arguments, and writes long names with dashes (`--table_size` is `--table-size`).
pub(super) fn parse_command_line(args: Vec<OsString>) -> CommandLine {
    let mut words = CommandLine { typed: typed_text(&args), ..CommandLine::default() };
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let bytes = arg.as_bytes();
        if bytes == b"--" {
            words.args.push(arg);
            words.args.extend(args);
            break;
        }
        if let Some(at) = password_at(bytes) {
            let text = String::from_utf8_lossy(&bytes[at..]).into_owned();
            words.password = TypedPassword::Given(Secret::new(text));
            words.args.push("--password".into());
        } else if bytes == b"-p" || bytes == b"--password" {
            words.password = TypedPassword::Ask(next_word(&args));
            words.args.push("--password".into());
        } else if bytes == b"--skip-password" {
            words.password = TypedPassword::Skipped;
        } else {
            words.args.push(with_dashes(&arg));
        }
    }
    words
}

/// The command line for a record: each word quoted where a shell needs it, passwords left out (`-p` asks for one). A word
/// behind a bare `-p` that was meant as one means nothing else, so no run comes of it and nothing is recorded.
fn typed_text(args: &[OsString]) -> String {
    let mut words = vec!["sweat".to_owned()];
    let mut before: &[u8] = b"";
    for arg in args.iter().skip(1) {
        let bytes = arg.as_bytes();
        let before = std::mem::replace(&mut before, bytes);
        words.push(if before == b"--body" {
            LEFT_OUT.to_owned()
        } else if bytes.starts_with(b"--body=") {
            quote_word(&format!("--body={LEFT_OUT}"))
        } else if let Some(at) = field_at(bytes) {
            quote_word(&format!("{} {LEFT_OUT}", String::from_utf8_lossy(&bytes[..at])))
        } else if password_at(bytes).is_some() {
            let flag = bytes.starts_with(b"--").then(|| bytes.split(|b| *b == b'=').next());
            String::from_utf8_lossy(flag.flatten().unwrap_or(b"-p")).into_owned()
        } else {
            quote_word(&hide_secrets(&String::from_utf8_lossy(bytes)))
        });
    }
    words.join(" ")
}

/// Hides passwords in addresses (`http://user:password@host`) and in statements.
fn hide_secrets(word: &str) -> String {
    let mut text = word.to_owned();
    if let Some((scheme, rest)) = word.split_once("://") {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        if let Some((login, host)) = rest[..end].rsplit_once('@') {
            if let Some((user, _)) = login.split_once(':') {
                text = format!("{scheme}://{user}:{LEFT_OUT}@{host}{}", &rest[end..]);
            }
        }
    }
    if !text.contains(char::is_whitespace) {
        return text;
    }
    match text.split_once('=').filter(|(flag, _)| flag.starts_with("--")) {
        Some((flag, statement)) => format!("{flag}={}", statement_text(statement)),
        None => statement_text(&text),
    }
}

fn statement_text(statement: &str) -> String {
    redacted_text(statement.as_bytes(), LONGEST_STATEMENT)
}

/// A word as a shell reads it.
pub(super) fn quote_word(word: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_=/.,:+@%^".contains(c);
    if !word.is_empty() && word.chars().all(is_safe) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The next word, if it is no flag.
fn next_word(args: &std::vec::IntoIter<OsString>) -> Option<Secret> {
    let word = args.as_slice().first()?.to_string_lossy();
    (!word.starts_with('-')).then(|| Secret::new(word))
}

/// `--table_size=5` as `--table-size=5`; the value stays as it is.
fn with_dashes(arg: &OsStr) -> OsString {
    let bytes = arg.as_bytes();
    if !bytes.starts_with(b"--") {
        return arg.to_owned();
    }
    let end = bytes.iter().position(|b| *b == b'=').unwrap_or(bytes.len());
    let mut out = bytes.to_vec();
    for byte in &mut out[2..end] {
        if *byte == b'_' {
            *byte = b'-';
        }
    }
    OsString::from_vec(out)
}

/// Overwrites passwords in `memory`, which holds arguments that each end with a NUL: where a flag tells them, and where
/// they are known to stand, in which argument from which byte on.
fn overwrite_passwords(memory: &mut [u8], places: &[(usize, usize)]) {
    for (number, arg) in memory.split_mut(|b| *b == 0).enumerate() {
        let known = places.iter().find(|(argument, _)| *argument == number).map(|place| place.1);
        let found = known.or_else(|| password_at(arg)).or_else(|| field_at(arg));
        if let Some(at) = found.filter(|at| *at <= arg.len()) {
            for (i, byte) in arg[at..].iter_mut().enumerate() {
                *byte = if i == 0 { b'x' } else { 0 };
            }
        }
    }
}

/// Wipes passwords from this process's own arguments, where `ps` reads them, also those at these places.
/// The kernel tells where they lie; where it does not (no /proc), they stay.
pub(super) fn wipe_passwords(places: &[(usize, usize)]) {
    let Some((start, end)) = locate_arguments() else { return };
    let Some(length) = end.checked_sub(start).filter(|n| *n < 4 << 20) else { return };
    // SAFETY: the kernel placed the arguments of this process at `start..end` on the writable part of the initial
    // stack, and they stay mapped for the life of the process. Nothing else runs yet: this is called first thing in
    // `main`, before any thread is made, and std has copied nothing that borrows from them.
    #[expect(
        unsafe_code,
        reason = "the process list shows this memory, and nothing safe reaches it"
    )]
    let memory = unsafe {
        std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut::<u8>(start), length)
    };
    overwrite_passwords(memory, places);
}

/// Where the kernel says that the arguments lie: fields 48 and 49 of /proc/self/stat.
fn locate_arguments() -> Option<(usize, usize)> {
    parse_argument_range(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

fn parse_argument_range(stat: &str) -> Option<(usize, usize)> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_ascii_whitespace().skip(48 - 3);
    let start = fields.next()?.parse().ok()?;
    let end = fields.next()?.parse().ok()?;
    (start != 0).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> CommandLine {
        parse_command_line(line.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn a_password_leaves_the_words() {
        let w = words("sweat bench -uroot -psecret null");
        assert_eq!(w.password, TypedPassword::Given(Secret::new("secret")));
        assert_eq!(w.args, ["sweat", "bench", "-uroot", "--password", "null"]);
        assert_eq!(
            words("sweat --password=a=b").password,
            TypedPassword::Given(Secret::new("a=b"))
        );
        assert_eq!(
            words("sweat --mysql-password=x").password,
            TypedPassword::Given(Secret::new("x"))
        );
        assert_eq!(words("sweat -p").password, TypedPassword::Ask(None));
        assert_eq!(words("sweat --password -S s").password, TypedPassword::Ask(None));
        let meant = TypedPassword::Ask(Some(Secret::new("hush")));
        assert_eq!(words("sweat -p hush bench").password, meant);
        assert_eq!(words("sweat --password=").password, TypedPassword::Given(Secret::new("")));
        assert_eq!(words("sweat --skip-password").password, TypedPassword::Skipped);
        assert_eq!(words("sweat -P3306 --pool 1G").password, TypedPassword::Absent);
        assert_eq!(words("sweat -- -pnot").args, ["sweat", "--", "-pnot"]);
    }

    #[test]
    fn the_record_shows_what_was_typed_but_no_password() {
        let typed =
            |words: &[&str]| typed_text(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(
            typed(&["/x/sweat", "bench", "-uroot", "-phush", "null", "--table_size=5"]),
            "sweat bench -uroot -p null --table_size=5"
        );
        let long = typed(&["sweat", "bench", "--mysql-password=hush", "--password=hu sh"]);
        assert_eq!(long, "sweat bench --mysql-password --password");
        assert_eq!(typed(&["sweat", "run", "-p", "a.toml"]), "sweat run -p a.toml");
        let quoted = typed(&["sweat", "bench", "--check", "p99 < 20ms", "it's"]);
        assert_eq!(quoted, r"sweat bench --check 'p99 < 20ms' 'it'\''s'");
        let url = typed(&["sweat", "warm", "--from=https://bob:hush@db1:9700/slow"]);
        assert_eq!(url, "sweat warm '--from=https://bob:***@db1:9700/slow'");
        let statement = "--queries=create user a identified by 'hush'";
        let shown = typed(&["sweat", "bench", "queries", statement]);
        assert!(!shown.contains("hush") && shown.contains("create user a"), "{shown}");
        let fields = ["-H", "Cookie: hush", "-HX-Token: hush", "--header=Authorization:hush"];
        assert_eq!(typed(&[&["sweat", "bench"][..], &fields].concat()).matches("hush").count(), 0);
        let body = typed(&["sweat", "bench", "--body", "hush", "--body=hush", "-H", "Accept: x"]);
        assert_eq!(body, "sweat bench --body *** '--body=***' -H 'Accept: x'");
    }

    #[test]
    fn underscores_in_names_are_dashes_and_values_are_left_alone() {
        let w = words("sweat --table_size=a_b --skip_trx c_d");
        assert_eq!(w.args, ["sweat", "--table-size=a_b", "--skip-trx", "c_d"]);
    }

    #[test]
    fn blotting_leaves_no_byte_of_a_password() {
        let mut memory = b"sweat\0-psecret\0--password=secret\0--pool\0".to_vec();
        let length = memory.len();
        overwrite_passwords(&mut memory, &[]);
        assert_eq!(memory.len(), length);
        let text = String::from_utf8(memory).unwrap();
        assert!(!text.contains("ecret"), "{text:?}");
        assert!(text.contains("-px\0") && text.ends_with("--pool\0"), "{text:?}");
        let mut memory = b"sweat\0-H\0Cookie: hush\0-HX-Token:hush\0-HAccept: x\0".to_vec();
        overwrite_passwords(&mut memory, &[]);
        let text = String::from_utf8(memory).unwrap();
        assert!(!text.contains("ush") && text.contains("Accept: x"), "{text:?}");
        let mut memory = b"tpcc_load\0localhost\0db\0user\0hush\x005\0".to_vec();
        overwrite_passwords(&mut memory, &[(4, 0)]);
        let text = String::from_utf8(memory).unwrap();
        assert_eq!(text, "tpcc_load\0localhost\0db\0user\0x\0\0\0\x005\0");
    }

    #[test]
    fn the_arguments_are_where_the_kernel_says() {
        let fields: Vec<String> = (4..=52).map(|n| (n * 1000).to_string()).collect();
        let stat = format!("1 (a) b) S {}", fields.join(" "));
        assert_eq!(parse_argument_range(&stat), Some((48_000, 49_000)));
        assert!(locate_arguments().is_some());
    }
}
