//! Finds a server program on this machine and asks it who it is.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::client::{ServerProduct, ServerVersion};
use crate::plan::Mistake;

use super::process;

/// File names to look for, best first. What a program is, it says itself.
const NAMES: &[&str] = &["mariadbd", "mysqld"];
/// Folders beyond `PATH`, best first.
const FOLDERS: &[&str] = &[
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/mysql/bin",
    "/usr/local/libexec",
    "/usr/local/bin",
    "/opt/homebrew/bin",
];

/// The first version of each product that a sandbox can be made of: older ones make their system tables otherwise.
const OLDEST: &[(ServerProduct, ServerVersion)] = &[
    (ServerProduct::MariaDb, ServerVersion(10, 4, 0)),
    (ServerProduct::MySql, ServerVersion(5, 7, 6)),
    (ServerProduct::Percona, ServerVersion(5, 7, 6)),
];

/// A server program and who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerProgram {
    /// The file that is started, links resolved. It may be a script around the server.
    pub path: PathBuf,
    /// The server's own file, as far as it tells: the tree around it holds what belongs to it.
    pub binary: PathBuf,
    /// The product.
    pub product: ServerProduct,
    /// The version.
    pub version: ServerVersion,
    /// What it says of itself.
    pub text: String,
}

impl ServerProgram {
    /// The given program, or the best one on this machine.
    ///
    /// # Errors
    /// When there is none, or the given one is no server; the message names the package to install.
    pub fn find(given: Option<&Path>) -> anyhow::Result<ServerProgram> {
        if let Some(path) = given {
            let usable =
                ServerProgram::query_identity(path).and_then(ServerProgram::require_supported);
            return usable.map_err(|e| program_mistake(path, &e));
        }
        let mut doubts = Vec::new();
        for path in list_candidates() {
            match ServerProgram::query_identity(&path).and_then(ServerProgram::require_supported) {
                Ok(program) => return Ok(program),
                Err(e) => doubts.push(format!("{}: {e:#}", path.display())),
            }
        }
        let hint = install_hint();
        if doubts.is_empty() {
            anyhow::bail!("no MariaDB or MySQL server is installed on this machine\nhint: {hint}");
        }
        anyhow::bail!("no working server found ({})\nhint: {hint}", doubts.join("; "))
    }

    /// Asks a program who it is.
    fn query_identity(path: &Path) -> anyhow::Result<ServerProgram> {
        let path = path.canonicalize().context("no such program")?;
        let output = process::read_stdout(&path, &["--no-defaults", "--version"])?;
        let text = output.trim().to_owned();
        let (product, version) = parse_version_text(&text).with_context(|| {
            format!(
                "is not a database server: it says \
                                                               `{text}`"
            )
        })?;
        let binary = own_binary(&text).unwrap_or_else(|| path.clone());
        Ok(ServerProgram { path, binary, product, version, text })
    }

    /// Itself, if a sandbox can be made of it.
    fn require_supported(self) -> anyhow::Result<ServerProgram> {
        let oldest = OLDEST.iter().find(|(product, _)| *product == self.product);
        if let Some((_, oldest)) = oldest.filter(|(_, oldest)| self.version < *oldest) {
            let (name, version) = (self.product.name(), self.version);
            anyhow::bail!("{name} {version} can't be a sandbox: it needs {name} {oldest} or later");
        }
        Ok(self)
    }

    /// Whether this is MariaDB rather than MySQL or Percona Server.
    pub fn is_mariadb(&self) -> bool {
        self.product == ServerProduct::MariaDb
    }

    /// The folder above `bin` or `sbin`, for a server that is not installed where it was built for.
    pub(super) fn relocated_root(&self) -> Option<&Path> {
        let bin = self.binary.parent()?;
        let root = bin.parent()?;
        let at_home = ["/usr", "/", "/usr/local"].iter().any(|home| root == Path::new(home));
        let is_bin = ["bin", "sbin", "libexec"].iter().any(|name| bin.ends_with(name));
        let has_share = root.join("share").is_dir();
        (is_bin && !at_home && has_share).then_some(root)
    }
}

fn program_mistake(path: &Path, why: &anyhow::Error) -> anyhow::Error {
    Mistake::new(format!("--server {}", path.display()), format!("{why:#}"))
        .hint("give the path of a mariadbd or mysqld program")
        .into()
}

/// All files that may be servers, best first.
fn list_candidates() -> Vec<PathBuf> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    folders.extend(FOLDERS.iter().map(PathBuf::from));
    if let Ok(list) = std::fs::read_dir("/opt") {
        let mut opt: Vec<PathBuf> = list.flatten().map(|e| e.path().join("bin")).collect();
        opt.sort();
        folders.extend(opt);
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for name in NAMES {
        for folder in &folders {
            let path = folder.join(name);
            if path.is_file() && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// How to install a server here, by the package tool that is present.
fn install_hint() -> String {
    let has = |tool: &str| {
        ["/usr/bin", "/opt/homebrew/bin", "/usr/local/bin"]
            .iter()
            .any(|folder| Path::new(folder).join(tool).exists())
    };
    let command = if has("apt-get") {
        "install it with `sudo apt-get install mariadb-server`"
    } else if has("dnf") {
        "install it with `sudo dnf install mariadb-server`"
    } else if has("brew") {
        "install it with `brew install mariadb`"
    } else {
        "install your system's package mariadb-server"
    };
    format!("{command}, or name a server program with --server PATH")
}

/// The file that a server says it is, before ` Ver `: a script shows through there.
fn own_binary(text: &str) -> Option<PathBuf> {
    let name = Path::new(text.split(" Ver ").next()?.trim());
    if name.is_absolute() && name.is_file() { name.canonicalize().ok() } else { None }
}

/// Reads `mariadbd  Ver 10.11.19-MariaDB-... for Linux` and its like.
fn parse_version_text(text: &str) -> Option<(ServerProduct, ServerVersion)> {
    let rest = &text[text.find("Ver ")? + 4..];
    let mut numbers =
        rest.split(|c: char| !c.is_ascii_digit()).take(3).map(|digits| digits.parse::<u16>());
    let version = ServerVersion(
        numbers.next()?.ok()?,
        numbers.next()?.ok()?,
        numbers.next().and_then(Result::ok).unwrap_or(0),
    );
    // A client says `Distrib` or knows no `for`; only the server's own words are wanted.
    if !rest.contains(" for ") || rest.contains("Distrib") {
        return None;
    }
    let product = if rest.contains("MariaDB") {
        ServerProduct::MariaDb
    } else if rest.contains("Percona") {
        ServerProduct::Percona
    } else {
        ServerProduct::MySql
    };
    Some((product, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_what_it_says_not_what_it_is_called() {
        let maria =
            "mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)";
        assert_eq!(
            parse_version_text(maria),
            Some((ServerProduct::MariaDb, ServerVersion(10, 11, 19)))
        );
        let mysql = "/x/mysqld  Ver 9.7.4 for Linux on x86_64 (MySQL Community Server - GPL)";
        assert_eq!(parse_version_text(mysql), Some((ServerProduct::MySql, ServerVersion(9, 7, 4))));
        let percona =
            "mysqld  Ver 8.0.35-27 for Linux on x86_64 (Percona Server (GPL), Release 27)";
        assert_eq!(
            parse_version_text(percona),
            Some((ServerProduct::Percona, ServerVersion(8, 0, 35)))
        );
        assert_eq!(
            parse_version_text("mysql  Ver 15.1 Distrib 10.11.19-MariaDB, for debian-linux"),
            None
        );
        assert_eq!(parse_version_text("true (GNU coreutils) 9.1"), None);
    }

    #[test]
    fn a_given_path_that_is_no_server_is_a_mistake_of_the_user() {
        let error = ServerProgram::find(Some(Path::new("/bin/true"))).unwrap_err();
        assert!(error.is::<Mistake>(), "{error:#}");
        assert!(error.to_string().contains("/bin/true"), "{error:#}");
        let error = ServerProgram::find(Some(Path::new("/nowhere/mysqld"))).unwrap_err();
        assert!(error.to_string().contains("no such program"), "{error:#}");
    }

    /// A program that says of itself what it is told to.
    fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = dir.join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho '{text}'\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_version_that_can_not_be_a_sandbox_is_told_before_anything_is_tried() {
        let dir = tempfile::tempdir().unwrap();
        for (text, told) in [
            ("mysqld  Ver 10.2.11-MariaDB for Linux on x86_64 (MariaDB Server)", "MariaDB 10.4.0"),
            (
                "mysqld  Ver 5.5.9 for linux2.6 on x86_64 (MySQL Community Server (GPL))",
                "MySQL 5.7.6",
            ),
            ("mysqld  Ver 5.6.51-91 for Linux on x86_64 (Percona Server (GPL))", "Server 5.7.6"),
        ] {
            let error = ServerProgram::find(Some(&script(dir.path(), "old", text))).unwrap_err();
            assert!(error.is::<Mistake>(), "{error:#}");
            let words = error.to_string();
            assert!(words.contains("can't be a sandbox") && words.contains(told), "{words}");
        }
        let text = "mysqld  Ver 10.4.0-MariaDB for Linux on x86_64 (MariaDB Server)";
        assert!(ServerProgram::find(Some(&script(dir.path(), "young", text))).is_ok());
    }

    #[test]
    fn a_script_around_a_server_belongs_to_the_tree_of_the_server() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("tree");
        for folder in ["bin", "share"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let binary = root.join("bin/mariadbd");
        let text = format!("{}  Ver 11.4.5-MariaDB for Linux on x86_64 (x)", binary.display());
        script(&root.join("bin"), "mariadbd", &text);
        let program = ServerProgram::find(Some(&script(dir.path(), "wrapper", &text))).unwrap();
        assert_eq!(program.path.file_name().unwrap(), "wrapper");
        assert_eq!((&program.binary, program.relocated_root()), (&binary, Some(root.as_path())));
    }
}
