//! The loopback port of a sandbox and the account that may use it.
//!
//! The account's password is random, made for this sandbox, and stands in one place: an option file that only we can
//! read, which goes with the sandbox. It is told to the server over the private socket.

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::base::{Secret, Stop};
use crate::client::Target;
use crate::plan::{AddressPlan, Protocol};

use super::home::random_hex;

/// The account over the port.
const ACCOUNT: &str = "sweat";

/// A port that is free now, the wanted one if it is.
///
/// # Errors
/// When the system has none.
pub(super) fn choose_free(wanted: Option<u16>) -> anyhow::Result<u16> {
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    wanted
        .filter(|port| *port != 0)
        .and_then(|port| bind(port).ok())
        .map_or_else(|| bind(0), Ok)
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .context("find a free loopback port")
}

/// Where the option file of a sandbox with a port is.
pub(super) fn option_file_path(dir: &Path) -> PathBuf {
    dir.join("client.cnf")
}

/// Makes the account and the option file; gives how to connect with it.
///
/// # Errors
/// When the server refuses or the file can't be written.
pub(super) fn create_account(
    target: &Target,
    dir: &Path,
    port: u16,
    stop: &Stop,
) -> anyhow::Result<AddressPlan> {
    let password = random_hex(16)?;
    let who = format!("'{ACCOUNT}'@'127.0.0.1'");
    let mut session = target.connect(stop)?;
    for sql in [
        format!("DROP USER IF EXISTS {who}"),
        format!("CREATE USER {who} IDENTIFIED BY '{password}'"),
        format!("GRANT ALL ON *.* TO {who} WITH GRANT OPTION"),
    ] {
        session.run_command(&sql).context("make the account for the loopback port")?;
    }
    write_option_file(&option_file_path(dir), port, &password)
        .context("write the option file for clients")?;
    Ok(AddressPlan {
        host: Some("127.0.0.1".to_owned()),
        port: Some(port),
        protocol: Some(Protocol::Tcp),
        user: Some(ACCOUNT.to_owned()),
        password: Some(Secret::new(password)),
        get_server_public_key: true,
        ..AddressPlan::default()
    })
}

fn write_option_file(path: &Path, port: u16, password: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let _ = std::fs::remove_file(path);
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    write!(
        file,
        "[client]\nprotocol=tcp\nhost=127.0.0.1\nport={port}\nuser={ACCOUNT}\npassword={password}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn a_port_in_use_is_not_chosen() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert_ne!(choose_free(Some(port)).unwrap(), port);
        assert_ne!(choose_free(None).unwrap(), 0);
    }

    #[test]
    fn only_we_can_read_the_password() {
        let dir = tempfile::tempdir().unwrap();
        let path = option_file_path(dir.path());
        write_option_file(&path, 1234, "secret").unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert!(std::fs::read_to_string(path).unwrap().contains("port=1234\n"));
    }
}
