//! Which server is meant, and what sysbench says of one that can't be reached.

use std::time::Duration;

use super::console::SysbenchConsole;
use super::reader::SysbenchWords;
use super::settings::CommonSettings;
use crate::base::reactor::block_on;
use crate::base::{Secret, Stop};
use crate::client::{self, Target};
use crate::plan::{AddressPlan, Protocol, SslMode, SslPlan};

/// What is meant by the words of the connection.
///
/// # Errors
/// What is fatal about them.
pub(super) fn address_plan(
    words: &SysbenchWords,
    settings: &CommonSettings,
) -> Result<AddressPlan, String> {
    let driver = words.text("db-driver");
    if driver == "pgsql" {
        return Err("PostgreSQL is not supported, only MySQL and MariaDB are".to_owned());
    }
    if driver != "mysql" {
        return Err(format!("invalid database driver name: '{driver}'"));
    }
    let mode = words.text("db-ps-mode");
    if !["auto", "disable"].contains(&mode) {
        return Err(format!("Invalid value for db-ps-mode: {mode}"));
    }
    let sockets = words.list("mysql-socket");
    let (hosts, ports) = (words.list("mysql-host"), words.list("mysql-port"));
    if sockets.len().max(hosts.len()).max(ports.len()) > 1 {
        return Err("several hosts, ports or sockets are not supported yet: name one".to_owned());
    }
    let port = match ports.first() {
        Some(port) => Some(port.parse().map_err(|_| format!("Invalid port: {port}"))?),
        None => None,
    };
    let socket = sockets.first().map(Into::into);
    let file = |name: &str| words.given(name).filter(|path| !path.is_empty()).map(Into::into);
    let ssl = SslPlan {
        mode: Some(ssl_mode(words.given("mysql-ssl"))?),
        ca: file("mysql-ssl-ca"),
        key: file("mysql-ssl-key"),
        cert: file("mysql-ssl-cert"),
        capath: None,
    };
    let typed = Some(words.text("mysql-password")).filter(|password| !password.is_empty());
    let password = typed.map(str::to_owned).or_else(|| std::env::var("MYSQL_PWD").ok());
    Ok(AddressPlan {
        host: hosts.first().map(|host| (*host).to_owned()),
        port,
        protocol: socket.is_some().then_some(Protocol::Socket),
        socket,
        user: Some(words.text("mysql-user").to_owned()),
        password: password.map(Secret::new),
        database: Some(words.text("mysql-db").to_owned()),
        ssl,
        connect_timeout: Some(Duration::from_secs(settings.init_timeout_s)),
        // The servers of today ask for it where there is no TLS.
        get_server_public_key: true,
        ..AddressPlan::default()
    })
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
    let plan = target.plan();
    let host = plan.host.as_deref().unwrap_or("localhost");
    let place = match &plan.socket {
        Some(socket) => format!("socket '{}'", socket.display()),
        None => format!("host '{host}', port {}", plan.port.unwrap_or(3306)),
    };
    console.print_fatal(&format!("unable to connect to MySQL server on {place}, aborting..."));
    let (code, text) = match error {
        client::Error::Connect { code, .. } => {
            let text = match (&plan.socket, target.is_socket()) {
                (Some(socket), _) => format!(
                    "Can't connect to local server through socket '{}' ({code})",
                    socket.display()
                ),
                (None, true) => format!("Can't connect to local server ({code})"),
                (None, false) => format!("Can't connect to server on '{host}' ({code})"),
            };
            (2002, text)
        }
        client::Error::Login { code, text, .. } | client::Error::Server { code, text, .. } => {
            (*code, text.clone())
        }
        client::Error::Tls(text) | client::Error::TlsSetup(text) => (2026, text.clone()),
        other => (2013, other.to_string()),
    };
    console.print_fatal(&format!("error {code}: {text}"));
}

/// Whether nothing came within the time.
pub(super) fn is_timeout(error: &client::Error) -> bool {
    matches!(error, client::Error::Connect { why, .. } if why.starts_with("no answer within"))
}
