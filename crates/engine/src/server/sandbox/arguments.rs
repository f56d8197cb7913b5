//! The server's command line: what a sandbox needs, the product's own defaults for everything else.

use std::path::{Path, PathBuf};

use crate::plan::Mistake;
use crate::server::Settings;

use super::program::ServerProgram;

/// Settings that a sandbox keeps to itself.
const OURS: &[&str] = &[
    "datadir",
    "socket",
    "pid_file",
    "tmpdir",
    "log_error",
    "port",
    "bind_address",
    "user",
    "skip_networking",
    "daemonize",
    "defaults_file",
    "basedir",
    "init_file",
    "bootstrap",
    "initialize",
    "initialize_insecure",
    "mysqlx_port",
    "mysqlx_socket",
];

/// Settings that count when data is initialised: a template is made for each set of them.
const INITIAL: &[&str] = &[
    "innodb_page_size",
    "innodb_data_file_path",
    "innodb_undo_tablespaces",
    "innodb_log_files_in_group",
    "innodb_checksum_algorithm",
    "lower_case_table_names",
];

/// The places of one server.
#[derive(Clone, Debug)]
pub(super) struct SandboxPaths {
    pub(super) dir: PathBuf,
    pub(super) socket: PathBuf,
    pub(super) port: Option<u16>,
}

impl SandboxPaths {
    pub(super) fn datadir(&self) -> PathBuf {
        self.dir.join("data")
    }
    pub(super) fn error_log(&self) -> PathBuf {
        // MariaDB appends `.err` to a name that has no extension.
        self.dir.join("server.err")
    }
    pub(super) fn output_file(&self) -> PathBuf {
        self.dir.join("out")
    }
}

/// The name of a setting as the server stores it: `--loose-Max-Connections` is `max_connections`.
pub(super) fn normalize_name(name: &str) -> String {
    let name = name.trim_start_matches('-').replace('-', "_").to_ascii_lowercase();
    name.strip_prefix("loose_").unwrap_or(&name).to_owned()
}

/// Checks that settings have names and leave alone what the sandbox keeps to itself.
pub(super) fn check_settings(settings: &Settings) -> Vec<Mistake> {
    let mistake =
        |name: &str, why: &str, hint: &str| Mistake::new(format!("--set {name}"), why).hint(hint);
    let shape = "a setting is NAME=VALUE, as in --set innodb_io_capacity=1000";
    let mut mistakes = Vec::new();
    for (name, value) in settings {
        let word = normalize_name(name);
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        if word.is_empty() || !word.chars().all(good) {
            mistakes.push(mistake(name, "is not the name of a setting", shape));
        } else if OURS.contains(&word.as_str()) {
            let hint = match word.as_str() {
                "port" | "bind_address" | "skip_networking" => {
                    "--tcp lets `sweat sandbox start` listen on a free loopback port too"
                }
                _ => "leave it out",
            };
            mistakes.push(mistake(name, "the sandbox chooses this itself", hint));
        } else if value.contains('\0') {
            mistakes.push(mistake(name, "has a zero byte in its value", shape));
        }
    }
    mistakes
}

/// Those of the settings that count when data is initialised, in one order.
pub(super) fn initial_settings(settings: &Settings) -> Settings {
    let mut found: Settings = settings
        .iter()
        .map(|(name, value)| (normalize_name(name), value.clone()))
        .filter(|(name, _)| INITIAL.contains(&name.as_str()))
        .collect();
    found.sort();
    found
}

/// What every start of this program needs: no option files, its own files if it was moved, the user.
pub(super) fn base_arguments(program: &ServerProgram, datadir: &Path) -> Vec<String> {
    let mut args = vec!["--no-defaults".to_owned()];
    if let Some(root) = program.relocated_root() {
        args.push(format!("--basedir={}", root.display()));
        let first = |options: &[&str], holds: &str| {
            options.iter().map(|o| root.join(o)).find(|path| path.join(holds).exists())
        };
        let shares = ["share/mysql", "share/mariadb", "share"];
        if let Some(path) = first(&shares, "english") {
            args.push(format!("--lc-messages-dir={}", path.display()));
        }
        if let Some(path) = first(&shares, "charsets") {
            args.push(format!("--character-sets-dir={}", path.join("charsets").display()));
        }
        if let Some(path) = first(&["lib", "lib64", "lib/mysql", "lib/mariadb"], "plugin") {
            args.push(format!("--plugin-dir={}", path.join("plugin").display()));
        }
    }
    if rustix::process::geteuid().is_root() {
        args.push("--user=root".to_owned());
    }
    args.push(format!("--datadir={}", datadir.display()));
    if !program.is_mariadb() {
        // A server built for /var/lib refuses to start where its folder for files is missing.
        args.push("--secure-file-priv=NULL".to_owned());
        args.push("--loose-mysqlx=OFF".to_owned());
    }
    args
}

/// What a sandbox is started with, then what the user wants: the last word counts.
pub(super) fn serve_arguments(
    program: &ServerProgram,
    places: &SandboxPaths,
    settings: &Settings,
) -> Vec<String> {
    let mut args = base_arguments(program, &places.datadir());
    args.extend([
        format!("--socket={}", places.socket.display()),
        format!("--pid-file={}", places.datadir().join("server.pid").display()),
        format!("--tmpdir={}", places.dir.join("tmp").display()),
        format!("--log-error={}", places.error_log().display()),
        "--skip-log-bin".to_owned(),
        "--innodb-buffer-pool-load-at-startup=OFF".to_owned(),
        "--innodb-buffer-pool-dump-at-shutdown=OFF".to_owned(),
    ]);
    match places.port {
        // Without resolving names 127.0.0.1 is not `localhost`, whose root has no password.
        Some(port) => args.extend([
            "--bind-address=127.0.0.1".to_owned(),
            format!("--port={port}"),
            "--skip-name-resolve".to_owned(),
        ]),
        None => {
            args.push("--skip-networking".to_owned());
            if program.is_mariadb() {
                // Nobody listens on a socket; and from 11.4 on each start would make an RSA key first. MySQL makes its
                // keys once, in the template. A certificate among the settings switches it on again.
                args.push("--loose-ssl=0".to_owned());
            }
        }
    }
    if !program.is_mariadb() {
        // Newer versions and MariaDB do both by default.
        args.push("--innodb-flush-method=O_DIRECT".to_owned());
        args.push("--local-infile=ON".to_owned());
    }
    args.extend(settings.iter().map(|(name, value)| to_option(name, value)));
    args
}

/// A setting as a word of the command line.
pub(super) fn to_option(name: &str, value: &str) -> String {
    format!("--{}={value}", name.trim_start_matches('-').replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{ServerProduct, ServerVersion};

    fn settings(list: &[(&str, &str)]) -> Settings {
        list.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn the_sandbox_keeps_its_places_to_itself() {
        let wrong = settings(&[
            ("datadir", "/var/lib/mysql"),
            ("--Skip-Networking", "0"),
            ("", "x"),
            ("a b", "x"),
        ]);
        assert_eq!(check_settings(&wrong).len(), 4);
        let right = settings(&[("max-connections", "5"), ("s3.x", "y"), ("loose_foo", "")]);
        assert_eq!(check_settings(&right), []);
    }

    #[test]
    fn the_users_settings_come_last_and_no_option_file_is_read() {
        let program = ServerProgram {
            path: PathBuf::from("/usr/sbin/mysqld"),
            binary: PathBuf::from("/usr/sbin/mysqld"),
            product: ServerProduct::MySql,
            version: ServerVersion(8, 4, 0),
            text: String::new(),
        };
        let places =
            SandboxPaths { dir: PathBuf::from("/x"), socket: PathBuf::from("/x/s"), port: None };
        let wanted = settings(&[("innodb_flush_method", "fsync")]);
        let args = serve_arguments(&program, &places, &wanted);
        assert_eq!(args[0], "--no-defaults");
        assert_eq!(args.last().unwrap(), "--innodb-flush-method=fsync");
        assert!(args.contains(&"--skip-networking".to_owned()));
        assert!(!args.iter().any(|a| a.starts_with("--port")));
        let open = serve_arguments(&program, &SandboxPaths { port: Some(4000), ..places }, &wanted);
        assert!(!open.contains(&"--skip-networking".to_owned()));
        assert!(open.contains(&"--bind-address=127.0.0.1".to_owned()));
        assert!(open.contains(&"--skip-name-resolve".to_owned()));
    }

    #[test]
    fn only_settings_of_initialisation_make_another_template() {
        let given = settings(&[("max_connections", "5"), ("Innodb-Page-Size", "8k")]);
        assert_eq!(initial_settings(&given), settings(&[("innodb_page_size", "8k")]));
    }

    #[test]
    fn without_a_port_mariadb_makes_no_keys_unless_it_is_told_to() {
        let program = |product| ServerProgram {
            path: PathBuf::from("/usr/sbin/mariadbd"),
            binary: PathBuf::from("/usr/sbin/mariadbd"),
            product,
            version: ServerVersion(11, 8, 0),
            text: String::new(),
        };
        let places = |port| SandboxPaths { dir: "/x".into(), socket: "/x/s".into(), port };
        let off = |args: &[String]| args.iter().position(|arg| arg == "--loose-ssl=0");
        let maria = program(ServerProduct::MariaDb);
        let args = serve_arguments(&maria, &places(None), &settings(&[("ssl", "1")]));
        let on = args.iter().position(|arg| arg == "--ssl=1").unwrap();
        assert!(off(&args).unwrap() < on, "the last word counts");
        assert_eq!(off(&serve_arguments(&maria, &places(Some(4000)), &settings(&[]))), None);
        assert_eq!(
            off(&serve_arguments(&program(ServerProduct::MySql), &places(None), &settings(&[]))),
            None
        );
    }
}
