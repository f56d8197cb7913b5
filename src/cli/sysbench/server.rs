//! Which server is meant, and what sysbench says of one that can't be reached.

use std::time::Duration;

use super::console::SysbenchConsole;
use super::reader::{SysbenchWords, read_lax_number};
use super::settings::CommonSettings;
use crate::base::reactor::block_on;
use crate::base::{Secret, Stop};
use crate::cli::connection::{HostPlace, library_address};
use crate::cli::option_file::{OptionFileChoice, read_host_groups};
use crate::client::{self, Target};
use crate::plan::{AddressPlan, Protocol, SslMode, SslPlan};

/// The servers that are meant by the words of the connection, in the order in which sessions take them.
///
/// # Errors
/// What is fatal about them.
pub(super) fn address_targets(
    words: &SysbenchWords,
    settings: &CommonSettings,
) -> Result<Vec<Target>, String> {
    let plans = address_plans(words, settings)?;
    let targets = plans.iter().map(|plan| {
        Target::new(plan).map_err(|error| {
            let why = error.to_string();
            let host = plan.host.as_deref().unwrap_or_default();
            match why.contains("failed to lookup address") {
                true => format!(
                    "unable to connect to MySQL server on host '{host}', port {}, aborting...\n\
                     FATAL: error 2005: Unknown server host '{host}' (-2)",
                    plan.port.unwrap_or(3306)
                ),
                false => why,
            }
        })
    });
    targets.collect()
}

/// Whether there is a driver of the name that was given, and of that mode.
///
/// # Errors
/// What is fatal about them.
pub(super) fn check_driver(words: &SysbenchWords) -> Result<(), String> {
    let (driver, mode) = (words.text("db-driver"), words.text("db-ps-mode"));
    match driver {
        "mysql" if !["auto", "disable"].contains(&mode) => {
            Err(format!("Invalid value for db-ps-mode: {mode}"))
        }
        "mysql" if words.list("mysql-socket").is_empty() && words.list("mysql-host").is_empty() => {
            Err("No MySQL hosts specified, aborting".to_owned())
        }
        "mysql" => Ok(()),
        "pgsql" => Err("PostgreSQL is not supported, only MySQL and MariaDB are".to_owned()),
        _ => Err(format!("invalid database driver name: '{driver}'")),
    }
}

/// How they are reached.
fn address_plans(
    words: &SysbenchWords,
    settings: &CommonSettings,
) -> Result<Vec<AddressPlan>, String> {
    let sockets = words.list("mysql-socket");
    let (hosts, ports) = (words.list("mysql-host"), words.list("mysql-port"));
    let file = |name: &str| words.given(name).filter(|path| !path.is_empty()).map(Into::into);
    let ssl = SslPlan {
        mode: Some(ssl_mode(words.given("mysql-ssl"))?),
        ca: file("mysql-ssl-ca"),
        key: file("mysql-ssl-key"),
        cert: file("mysql-ssl-cert"),
        capath: None,
    };
    let library = library_address();
    let typed = Some(words.text("mysql-password")).filter(|password| !password.is_empty());
    let plan = AddressPlan {
        user: Some(words.text("mysql-user").to_owned()),
        password: typed.map(Secret::new).or(library.password.clone()),
        database: Some(words.text("mysql-db").to_owned()),
        ssl,
        connect_timeout: Some(Duration::from_secs(settings.init_timeout_s)),
        ..library
    };
    if !sockets.is_empty() {
        let by_socket = |socket: &&str| AddressPlan {
            socket: Some(socket.into()),
            protocol: Some(Protocol::Socket),
            ..plan.clone()
        };
        return Ok(sockets.iter().map(by_socket).collect());
    }
    let ports: Vec<u16> = ports.iter().map(|port| read_lax_number(port) as u16).collect();
    let all = hosts.iter().flat_map(|host| ports.iter().map(move |port| (*host, *port)));
    Ok(all.map(|(host, port)| host_plan(words, host, port, &plan)).collect())
}

/// How a host is reached: with the account that option files have for it alone, where none was typed.
fn host_plan(words: &SysbenchWords, host: &str, port: u16, plan: &AddressPlan) -> AddressPlan {
    let mut plan = AddressPlan { host: Some(host.to_owned()), port: Some(port), ..plan.clone() };
    if words.is_strict() {
        return plan;
    }
    let place = HostPlace { host: host.to_owned(), port: Some(port) };
    let files = OptionFileChoice::from_environment();
    for option in read_host_groups(&files, &place.option_groups(None)) {
        let is_typed = |name: &str| words.given(name).is_some_and(|value| !value.is_empty());
        match option.name.as_str() {
            "user" if !is_typed("mysql-user") => plan.user = Some(option.value),
            "password" if !is_typed("mysql-password") => {
                plan.password = Some(Secret::new(option.value));
            }
            _ => {}
        }
    }
    plan
}

/// `on` and `off` of 1.0, and the modes of 1.1.
fn ssl_mode(text: Option<&str>) -> Result<SslMode, String> {
    match text {
        None | Some("off" | "false" | "0" | "disabled") => Ok(SslMode::Disabled),
        Some("preferred") => Ok(SslMode::Preferred),
        Some("" | "on" | "true" | "1" | "required") => Ok(SslMode::Required),
        Some("verify_ca") => Ok(SslMode::VerifyCa),
        Some("verify_identity") => Ok(SslMode::VerifyIdentity),
        Some(other) => Err(format!("Invalid value for mysql-ssl: '{other}'")),
    }
}

/// Whether a session can be opened; what is in the way is said. No statement is sent.
pub(super) fn try_session(target: &Target, console: SysbenchConsole) -> Result<(), client::Error> {
    let opened = block_on(async {
        let mut session = target.open_session(&Stop::new()).await?;
        session.quit().await;
        Ok(())
    });
    opened.inspect_err(|error| print_connect_error(target, error, console))
}

/// What a server that can't be reached is called, and why.
pub(super) fn print_connect_error(
    target: &Target,
    error: &client::Error,
    console: SysbenchConsole,
) {
    let (code, text) = match error {
        client::Error::Connect { code, .. } => (u32::from(*code), String::new()),
        client::Error::Login { code, text, .. } | client::Error::Server { code, text, .. } => {
            (u32::from(*code), text.clone())
        }
        client::Error::Tls(text) | client::Error::TlsSetup(text) => (2026, text.clone()),
        other => (2013, other.to_string()),
    };
    print_connect_failure(Some(target), code, &text, console);
}

/// The same for a session of a script: with the words that [`client::Error`] has.
#[cfg(feature = "lua")]
pub(super) fn print_script_connect_error(
    target: Option<&Target>,
    code: u32,
    text: &str,
    console: SysbenchConsole,
) {
    if let Some((_, said)) = text.split_once(&format!(": {code} ")) {
        return print_connect_failure(target, code, said, console);
    }
    let system_code = match text {
        text if text.contains("there is no such socket") => 2,
        text if text.contains("no server listens on this port") => 115,
        text if text.contains("no server listens") => 111,
        _ if text.contains("no answer within") => 110,
        _ => return print_connect_failure(target, code.max(2000), text, console),
    };
    print_connect_failure(target, system_code, "", console);
}

/// The same by number and words; numbers below 1000 are the operating system's.
pub(super) fn print_connect_failure(
    target: Option<&Target>,
    code: u32,
    text: &str,
    console: SysbenchConsole,
) {
    let plan = target.map(|target| target.plan().clone()).unwrap_or_default();
    let host = plan.host.as_deref().unwrap_or("localhost");
    let place = match &plan.socket {
        Some(socket) => format!("socket '{}'", socket.display()),
        None => format!("host '{host}', port {}", plan.port.unwrap_or(3306)),
    };
    console.print_fatal(&format!("unable to connect to MySQL server on {place}, aborting..."));
    let is_socket = target.is_some_and(Target::is_socket);
    let (code, text) = match (&plan.socket, is_socket) {
        _ if code >= 1000 => (code, text.to_owned()),
        (Some(socket), _) => {
            let socket = socket.display();
            (2002, format!("Can't connect to local server through socket '{socket}' ({code})"))
        }
        (None, true) => {
            let place = target.map(Target::address_text).unwrap_or_default();
            let socket = place.trim_start_matches("unix ");
            (2002, format!("Can't connect to local server through socket '{socket}' ({code})"))
        }
        (None, false) => (2002, format!("Can't connect to server on '{host}' ({code})")),
    };
    console.print_fatal(&format!("error {code}: {text}"));
}

/// Whether nothing came within the time.
pub(super) fn is_timeout(error: &client::Error) -> bool {
    matches!(error, client::Error::Connect { why, .. } if why.starts_with("no answer within"))
}
