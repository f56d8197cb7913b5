//! Option files of the mysql clients: which ones there are, and what they say to us.

mod syntax;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::login_path;
use crate::plan::Mistake;
use syntax::OptionFileLine;

/// Groups that speak to us.
const GROUPS: &[&str] =
    &["client", "client-server", "mysql", "client-mariadb", "mariadb-client", "sweat"];
/// Files that include files that include files: a limit, so that a circle ends.
const DEEPEST: usize = 10;

/// Which files to read, as the words said.
#[derive(Clone, Debug, Default)]
pub(super) struct OptionFileChoice {
    /// `--defaults-file`: only this one.
    pub(super) only: Option<PathBuf>,
    /// `--defaults-extra-file`: this one after those of the machine.
    pub(super) extra: Option<PathBuf>,
    /// `--defaults-group-suffix`: also groups with this at their end.
    pub(super) suffix: Option<String>,
    /// `--no-defaults`: none but the login path file.
    pub(super) none: bool,
    /// `--login-path`: this group of the login path file.
    pub(super) login_path: Option<String>,
    /// `--no-login-paths`: no login path file.
    pub(super) no_login_paths: bool,
    /// `$HOME`.
    pub(super) home: Option<PathBuf>,
    /// `$MYSQL_HOME`.
    pub(super) mysql_home: Option<PathBuf>,
    /// `$MYSQL_TEST_LOGIN_FILE`, instead of `~/.mylogin.cnf`.
    pub(super) login_file: Option<PathBuf>,
}

impl OptionFileChoice {
    /// The usual files, as the environment says where they are.
    pub(super) fn from_environment() -> OptionFileChoice {
        let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
        let suffix = variable("MYSQL_GROUP_SUFFIX").and_then(|v| v.into_string().ok());
        OptionFileChoice {
            suffix,
            home: variable("HOME").map(PathBuf::from),
            mysql_home: variable("MYSQL_HOME").map(PathBuf::from),
            login_file: variable("MYSQL_TEST_LOGIN_FILE").map(PathBuf::from),
            ..OptionFileChoice::default()
        }
    }
}

/// One option found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundOption {
    /// `/etc/my.cnf line 7`.
    pub(super) place: String,
    /// Name with dashes, without `loose-`.
    pub(super) name: String,
    /// Value; empty if there is none.
    pub(super) value: String,
}

/// What the files say together, in order: a later one stands over an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OptionFileContents {
    /// The options.
    pub(super) options: Vec<FoundOption>,
    /// Files passed over, and why.
    pub(super) warnings: Vec<String>,
    /// What makes the files unusable.
    pub(super) mistakes: Vec<Mistake>,
}

/// Reads the files.
pub(super) fn read_option_files(choice: &OptionFileChoice) -> OptionFileContents {
    read_groups(choice, GROUPS)
}

/// Reads the files, for these groups.
pub(super) fn read_groups(choice: &OptionFileChoice, groups: &[&str]) -> OptionFileContents {
    let mut findings = OptionFileContents::default();
    let groups = groups_with_suffix(groups.iter().copied(), choice.suffix.as_deref());
    for (path, must) in option_file_paths(choice) {
        read_file(&path, must, &groups, 0, &mut findings);
    }
    if !choice.no_login_paths {
        read_login_path(choice, &mut findings);
    }
    findings
}

/// What the files say in these groups, which speak of one server. Read after [`read_option_files`], which tells what is wrong
/// with the files.
pub(super) fn read_host_groups(choice: &OptionFileChoice, groups: &[String]) -> Vec<FoundOption> {
    let mut findings = OptionFileContents::default();
    for (path, _) in option_file_paths(choice) {
        read_file(&path, false, groups, 0, &mut findings);
    }
    findings.options
}

fn groups_with_suffix<'a>(
    groups: impl Iterator<Item = &'a str>,
    suffix: Option<&str>,
) -> Vec<String> {
    groups.flat_map(|g| [Some(g.to_owned()), suffix.map(|s| format!("{g}{s}"))]).flatten().collect()
}

/// The files in order, and whether they must exist.
fn option_file_paths(choice: &OptionFileChoice) -> Vec<(PathBuf, bool)> {
    if let Some(only) = &choice.only {
        return vec![(only.clone(), true)];
    }
    let mut files = Vec::new();
    if !choice.none {
        files.push((PathBuf::from("/etc/my.cnf"), false));
        files.push((PathBuf::from("/etc/mysql/my.cnf"), false));
        files.extend(choice.mysql_home.iter().map(|dir| (dir.join("my.cnf"), false)));
        files.extend(choice.extra.iter().map(|file| (file.clone(), true)));
        files.extend(choice.home.iter().map(|dir| (dir.join(".my.cnf"), false)));
    }
    files
}

fn read_file(
    path: &Path,
    must: bool,
    groups: &[String],
    depth: usize,
    findings: &mut OptionFileContents,
) {
    let mistake = |why: String| Mistake::new(path.display().to_string(), why);
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) => {
            if must {
                findings.mistakes.push(mistake(e.to_string()));
            }
            return;
        }
    };
    if fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o002 != 0) {
        let warning = format!("{}: skipped, because everyone may write to it", path.display());
        findings.warnings.push(warning);
        return;
    }
    take_options(path, &String::from_utf8_lossy(&bytes), groups, depth, findings);
}

/// Takes what concerns us out of a file's text, and follows its includes.
fn take_options(
    path: &Path,
    text: &str,
    groups: &[String],
    depth: usize,
    findings: &mut OptionFileContents,
) {
    let mut ours = false;
    for (number, line) in syntax::parse_lines(text) {
        let place = format!("{} line {number}", path.display());
        match line {
            OptionFileLine::Group(group) => ours = groups.contains(&group),
            OptionFileLine::Option { name, value } if ours => {
                findings.options.push(FoundOption {
                    place,
                    name,
                    value: value.unwrap_or_default(),
                });
            }
            OptionFileLine::Option { .. } => {}
            OptionFileLine::Include(_) | OptionFileLine::IncludeDir(_) if depth == DEEPEST => {
                let why = format!("more than {DEEPEST} files include each other");
                findings.mistakes.push(Mistake::new(place, why));
            }
            OptionFileLine::Include(file) => {
                read_file(Path::new(&file), false, groups, depth + 1, findings)
            }
            OptionFileLine::IncludeDir(dir) => {
                for file in option_files_in(Path::new(&dir)) {
                    read_file(&file, false, groups, depth + 1, findings);
                }
            }
            OptionFileLine::Wrong(why) => {
                let hint = Some("a line is [group], name=value, or starts with #".to_owned());
                findings.mistakes.push(Mistake::new(place, why).maybe_hint(hint));
            }
        }
    }
}

/// The files in a folder whose name ends in `.cnf`, by name.
fn option_files_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut files: Vec<_> =
        entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "cnf")).collect();
    files.sort();
    files
}

/// The login path file counts last; like every mysql client we refuse one that others can read.
fn read_login_path(choice: &OptionFileChoice, findings: &mut OptionFileContents) {
    let in_home = || choice.home.as_ref().map(|home| home.join(".mylogin.cnf"));
    let Some(path) = choice.login_file.clone().or_else(in_home) else { return };
    let mistake = |why: String, hint: Option<String>| {
        Mistake::new(path.display().to_string(), why).maybe_hint(hint)
    };
    let asked = choice.login_path.is_some();
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if asked => return findings.mistakes.push(mistake(e.to_string(), None)),
        Err(_) => return,
    };
    let mode = fs::metadata(&path).map_or(0, |m| m.mode());
    if mode & 0o077 != 0 {
        let why = "others may read or write it, so it is not used";
        if asked {
            let hint = Some(format!("chmod 600 {}", path.display()));
            findings.mistakes.push(mistake(why.to_owned(), hint));
        } else {
            findings.warnings.push(format!("{}: {why}", path.display()));
        }
        return;
    }
    match login_path::decode_login_file(&bytes) {
        Ok(text) => {
            let names = ["client"].into_iter().chain(choice.login_path.as_deref());
            let groups = groups_with_suffix(names, choice.suffix.as_deref());
            if choice.login_path.as_ref().is_some_and(|g| !text.contains(&format!("[{g}]"))) {
                let name = choice.login_path.as_deref().unwrap_or_default();
                return findings.mistakes.push(mistake(format!("it has no [{name}]"), None));
            }
            take_options(&path, &text, &groups, DEEPEST, findings);
        }
        Err(why) => findings.mistakes.push(mistake(why, None)),
    }
}

#[cfg(test)]
mod tests;
