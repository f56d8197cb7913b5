//! Option files of the mysql clients: which ones there are, and what they say to us.

mod syntax;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::login_path;
use crate::plan::Mistake;
use syntax::Line;

/// Groups that speak to us.
const GROUPS: &[&str] =
    &["client", "client-server", "mysql", "client-mariadb", "mariadb-client", "sweat"];
/// Files that include files that include files: a limit, so that a circle ends.
const DEEPEST: usize = 10;

/// Which files to read, as the words said.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
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

/// One option found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// `/etc/my.cnf line 7`.
    pub(super) place: String,
    /// Name with dashes, without `loose-`.
    pub(super) name: String,
    /// Value; empty if there is none.
    pub(super) value: String,
}

/// What the files say together, in order: a later one stands over an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// The options.
    pub(super) options: Vec<Found>,
    /// Files passed over, and why.
    pub(super) warnings: Vec<String>,
    /// What makes the files unusable.
    pub(super) mistakes: Vec<Mistake>,
}

/// Reads the files.
pub(super) fn gather(choice: &Choice) -> Findings {
    let mut findings = Findings::default();
    let groups = with_suffix(GROUPS.iter().copied(), choice.suffix.as_deref());
    for (path, must) in files(choice) {
        read(&path, must, &groups, 0, &mut findings);
    }
    if !choice.no_login_paths {
        read_login(choice, &mut findings);
    }
    findings
}

fn with_suffix<'a>(groups: impl Iterator<Item = &'a str>, suffix: Option<&str>) -> Vec<String> {
    groups.flat_map(|g| [Some(g.to_owned()), suffix.map(|s| format!("{g}{s}"))]).flatten().collect()
}

/// The files in order, and whether they must exist.
fn files(choice: &Choice) -> Vec<(PathBuf, bool)> {
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

fn read(path: &Path, must: bool, groups: &[String], depth: usize, findings: &mut Findings) {
    let mistake = |why: String| Mistake { place: path.display().to_string(), why, hint: None };
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
        let warning = format!("{}: passed over, since everybody may write to it", path.display());
        findings.warnings.push(warning);
        return;
    }
    take(path, &String::from_utf8_lossy(&bytes), groups, depth, findings);
}

/// Takes what concerns us out of a file's text, and follows its includes.
fn take(path: &Path, text: &str, groups: &[String], depth: usize, findings: &mut Findings) {
    let mut ours = false;
    for (number, line) in syntax::parse(text) {
        let place = format!("{} line {number}", path.display());
        match line {
            Line::Group(group) => ours = groups.contains(&group),
            Line::Option { name, value } if ours => {
                findings.options.push(Found { place, name, value: value.unwrap_or_default() });
            }
            Line::Option { .. } => {}
            Line::Include(_) | Line::IncludeDir(_) if depth == DEEPEST => {
                let why = format!("more than {DEEPEST} files include each other");
                findings.mistakes.push(Mistake { place, why, hint: None });
            }
            Line::Include(file) => read(Path::new(&file), false, groups, depth + 1, findings),
            Line::IncludeDir(dir) => {
                for file in option_files_in(Path::new(&dir)) {
                    read(&file, false, groups, depth + 1, findings);
                }
            }
            Line::Wrong(why) => {
                let hint = Some("a line is [group], name=value, or begins with #".to_owned());
                findings.mistakes.push(Mistake { place, why: why.to_owned(), hint });
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
fn read_login(choice: &Choice, findings: &mut Findings) {
    let in_home = || choice.home.as_ref().map(|home| home.join(".mylogin.cnf"));
    let Some(path) = choice.login_file.clone().or_else(in_home) else { return };
    let mistake = |why: String, hint: Option<String>| Mistake {
        place: path.display().to_string(),
        why,
        hint,
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
    match login_path::decode(&bytes) {
        Ok(text) => {
            let names = ["client"].into_iter().chain(choice.login_path.as_deref());
            let groups = with_suffix(names, choice.suffix.as_deref());
            if choice.login_path.as_ref().is_some_and(|g| !text.contains(&format!("[{g}]"))) {
                let name = choice.login_path.as_deref().unwrap_or_default();
                return findings.mistakes.push(mistake(format!("it has no [{name}]"), None));
            }
            take(&path, &text, &groups, DEEPEST, findings);
        }
        Err(why) => findings.mistakes.push(mistake(why, None)),
    }
}

#[cfg(test)]
mod tests;
