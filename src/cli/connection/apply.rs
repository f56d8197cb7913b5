//! One value, from wherever, into the address.

use std::path::PathBuf;

use crate::base::Secret;
use crate::base::units::parse_time;
use crate::plan::{AddressPlan, Mistake, Protocol, SslMode};

/// Environment variables of the mysql clients and the options they stand for.
pub(in crate::cli) const ENVIRONMENT: &[(&str, &str)] = &[
    ("USER", "user"),
    ("MYSQL_HOST", "host"),
    ("MYSQL_TCP_PORT", "port"),
    ("MYSQL_UNIX_PORT", "socket"),
    ("MYSQL_PWD", "password"),
];

/// What the client library takes from the environment, for programs that read no option files.
pub(in crate::cli) fn library_address() -> AddressPlan {
    AddressPlan {
        socket: std::env::var_os("MYSQL_UNIX_PORT").map(PathBuf::from),
        password: std::env::var("MYSQL_PWD").ok().map(Secret::new),
        // The servers of today ask for it where there is no TLS.
        get_server_public_key: true,
        ..AddressPlan::default()
    }
}

/// Puts one value into the address. `place` says where it was found. Names that are not about the address pass.
pub(in crate::cli) fn apply_option(
    plan: &mut AddressPlan,
    place: &str,
    name: &str,
    value: &str,
    mistakes: &mut Vec<Mistake>,
) {
    if let Err((why, hint)) = set_field(plan, name, value) {
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        mistakes.push(Mistake::new(place, why).maybe_hint(hint));
    }
}

/// Lays what a plan file says about the address over it; it never says a password.
pub(super) fn overlay_address(plan: &mut AddressPlan, planned: &AddressPlan) {
    fn copy_if_set<T: Clone>(to: &mut Option<T>, from: &Option<T>) {
        if from.is_some() {
            to.clone_from(from);
        }
    }
    copy_if_set(&mut plan.host, &planned.host);
    copy_if_set(&mut plan.port, &planned.port);
    copy_if_set(&mut plan.socket, &planned.socket);
    copy_if_set(&mut plan.protocol, &planned.protocol);
    copy_if_set(&mut plan.user, &planned.user);
    copy_if_set(&mut plan.database, &planned.database);
    copy_if_set(&mut plan.ssl.mode, &planned.ssl.mode);
    copy_if_set(&mut plan.ssl.ca, &planned.ssl.ca);
    copy_if_set(&mut plan.ssl.capath, &planned.ssl.capath);
    copy_if_set(&mut plan.ssl.cert, &planned.ssl.cert);
    copy_if_set(&mut plan.ssl.key, &planned.ssl.key);
    copy_if_set(&mut plan.connect_timeout, &planned.connect_timeout);
    copy_if_set(&mut plan.control_timeout, &planned.control_timeout);
    copy_if_set(&mut plan.server_public_key_path, &planned.server_public_key_path);
    plan.get_server_public_key |= planned.get_server_public_key;
    plan.enable_cleartext_plugin |= planned.enable_cleartext_plugin;
}

type InvalidValue = (String, &'static str);

fn set_field(plan: &mut AddressPlan, name: &str, value: &str) -> Result<(), InvalidValue> {
    let text = || Some(value.to_owned());
    let path = || Some(PathBuf::from(value));
    match name {
        "host" => plan.host = text(),
        "port" => plan.port = parse_port(value)?,
        "user" => plan.user = text(),
        "password" => plan.password = Some(Secret::new(value)),
        "socket" => plan.socket = path(),
        "database" => plan.database = text(),
        "protocol" => plan.protocol = Some(parse_protocol(value)?),
        "ssl-mode" => plan.ssl.mode = Some(parse_ssl_mode(value)?),
        "ssl" => plan.ssl.mode = parse_switch(value)?.then_some(SslMode::Required),
        "skip-ssl" | "disable-ssl" => {
            plan.ssl.mode = parse_switch(value)?.then_some(SslMode::Disabled).or(plan.ssl.mode);
        }
        "ssl-verify-server-cert" => {
            plan.ssl.mode =
                parse_switch(value)?.then_some(SslMode::VerifyIdentity).or(plan.ssl.mode);
        }
        "ssl-ca" => plan.ssl.ca = path(),
        "ssl-capath" => plan.ssl.capath = path(),
        "ssl-cert" => plan.ssl.cert = path(),
        "ssl-key" => plan.ssl.key = path(),
        "connect-timeout" => {
            plan.connect_timeout =
                Some(parse_time(value).map_err(|e| (e.to_string(), "seconds, as in 10"))?);
        }
        "control-timeout" => {
            plan.control_timeout =
                Some(parse_time(value).map_err(|e| (e.to_string(), "seconds, as in 30"))?);
        }
        "get-server-public-key" => plan.get_server_public_key = parse_switch(value)?,
        "server-public-key-path" => plan.server_public_key_path = path(),
        "enable-cleartext-plugin" => plan.enable_cleartext_plugin = parse_switch(value)?,
        _ => {}
    }
    Ok(())
}

/// 0 means the default, as in every mysql client.
fn parse_port(value: &str) -> Result<Option<u16>, InvalidValue> {
    match value.trim().parse() {
        Ok(0) => Ok(None),
        Ok(port) => Ok(Some(port)),
        Err(_) => Err((format!("`{value}` is not a port"), "1 to 65535, usually 3306")),
    }
}

fn parse_protocol(value: &str) -> Result<Protocol, InvalidValue> {
    match value.to_ascii_lowercase().as_str() {
        "tcp" => Ok(Protocol::Tcp),
        "socket" => Ok(Protocol::Socket),
        _ => Err((format!("`{value}` is not a way to connect"), "tcp or socket")),
    }
}

fn parse_ssl_mode(value: &str) -> Result<SslMode, InvalidValue> {
    match value.to_ascii_uppercase().replace('-', "_").as_str() {
        "DISABLED" | "OFF" => Ok(SslMode::Disabled),
        "PREFERRED" => Ok(SslMode::Preferred),
        "REQUIRED" | "ON" => Ok(SslMode::Required),
        "VERIFY_CA" => Ok(SslMode::VerifyCa),
        "VERIFY_IDENTITY" => Ok(SslMode::VerifyIdentity),
        _ => Err((
            format!("`{value}` is not an SSL mode"),
            "disabled, preferred, required, verify_ca or verify_identity",
        )),
    }
}

/// A switch of an option file; without a value it is on.
fn parse_switch(value: &str) -> Result<bool, InvalidValue> {
    match value.to_ascii_lowercase().as_str() {
        "" | "1" | "on" | "true" | "yes" => Ok(true),
        "0" | "off" | "false" | "no" => Ok(false),
        _ => Err((format!("`{value}` is neither on nor off"), "on or off")),
    }
}
