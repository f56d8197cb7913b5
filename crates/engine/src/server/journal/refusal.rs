//! Whether a server would let a variable be set, found out without setting it.
//!
//! A `SET` of several variables checks all of them before it changes the first. So the variable is followed by one whose
//! value no server takes: if that is what the server complains about, it had nothing against the other.

use super::{check_variable_name, set_statement};
use crate::client::Session;

/// What a server has against setting a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableRefusal {
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
pub fn find_refusal(
    session: &mut Session,
    variable: &str,
    value: &str,
) -> anyhow::Result<Option<VariableRefusal>> {
    check_variable_name(variable)?;
    // Otherwise a value out of range is a warning, and the server takes the nearest.
    session.run_command("SET SESSION sql_mode = 'STRICT_ALL_TABLES'")?;
    let set = set_statement(variable, Some(value));
    let Err(error) = session.run_command(&format!("{set}, SESSION autocommit = 'neither'")) else {
        anyhow::bail!("the server set {variable} although it was asked not to");
    };
    let (code, text) = (error.server_code(), error.to_string());
    Ok(match code {
        Some(1231) if text.contains("autocommit") => None,
        Some(1193) => Some(VariableRefusal::Unknown),
        Some(1238) => Some(VariableRefusal::ReadOnly),
        Some(1227) => Some(VariableRefusal::Denied),
        Some(_) => Some(VariableRefusal::Value(text)),
        None => return Err(error.into()),
    })
}
