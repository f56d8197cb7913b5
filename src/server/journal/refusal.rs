//! Whether a server would let a variable be set, found out without setting it.
//!
//! A `SET` of several variables checks all of them before it changes the first. So the variable is followed by one whose
//! value no server takes: if that is what the server complains about, it had nothing against the other.

use super::{check_name, statement};
use crate::target::Session;

/// What a server has against setting a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such variable.
    Unknown,
    /// It can only be set when the server starts.
    ReadOnly,
    /// Our account may not.
    Denied,
    /// The value is none of its.
    Value(String),
}

/// What the server has against setting a global variable to this value; `None` for nothing. Changes nothing but the
/// SQL mode of the session.
///
/// # Errors
/// When the server can't be asked.
pub fn refuses(
    session: &mut Session,
    variable: &str,
    value: &str,
) -> anyhow::Result<Option<Refusal>> {
    check_name(variable)?;
    // Otherwise a value out of range is a warning, and the server takes the nearest.
    session.command("SET SESSION sql_mode = 'STRICT_ALL_TABLES'")?;
    let set = statement(variable, Some(value));
    let Err(error) = session.command(&format!("{set}, SESSION autocommit = 'neither'")) else {
        anyhow::bail!("the server set {variable} although it was asked not to");
    };
    let (code, text) = (error.server_code(), error.to_string());
    Ok(match code {
        Some(1231) if text.contains("autocommit") => None,
        Some(1193) => Some(Refusal::Unknown),
        Some(1238) => Some(Refusal::ReadOnly),
        Some(1227) => Some(Refusal::Denied),
        Some(_) => Some(Refusal::Value(text)),
        None => return Err(error.into()),
    })
}
