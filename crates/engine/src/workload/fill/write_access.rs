//! Whether the account may change a table, asked before a load that changes it.

use anyhow::Context as _;

use crate::client::Error;
use crate::client::Session;
use crate::plan::Mistake;

/// Refusals for want of a privilege: on a database, a table, a column, in general.
const DENIED: &[u16] = &[1044, 1142, 1143, 1227];
/// Refusals of a server that takes no writes: an option, a mode, a table.
const READ_ONLY: &[u16] = &[1036, 1290, 1792, 1836];

/// A privilege, and a statement that needs it and changes no row.
pub(crate) type HarmlessWrite = (&'static str, String);

/// Has the server judge statements that find no row, in a transaction that is rolled back: privileges, roles and
/// `read_only` count as they will in the load. `None` if all may be sent.
///
/// # Errors
/// When the server refuses one for another reason.
pub(crate) fn check_write_access(
    session: &mut Session,
    table: &str,
    writes: &[HarmlessWrite],
) -> anyhow::Result<Option<Mistake>> {
    session.run_command("START TRANSACTION").context("check whether the account may write")?;
    let mut missing = Vec::new();
    let mut is_read_only = false;
    for (privilege, sql) in writes {
        match session.run_command(sql) {
            Ok(_) => {}
            Err(Error::Server { code, .. }) if DENIED.contains(&code) => missing.push(*privilege),
            Err(Error::Server { code, .. }) if READ_ONLY.contains(&code) => is_read_only = true,
            Err(e) => {
                return Err(e).with_context(|| format!("check whether {table} may be changed"));
            }
        }
    }
    session.run_command("ROLLBACK").context("check whether the account may write")?;
    if !missing.is_empty() {
        let account = session.query_scalar("SELECT CURRENT_USER()")?.unwrap_or_default();
        let why = format!("the account {account} may not {} here", missing.join(", "));
        let hint = format!("grant it {}, or use a load that only reads", missing.join(", "));
        return Ok(Some(Mistake::new(format!("table {table}"), why).hint(hint)));
    }
    Ok(is_read_only.then(|| {
        let why = "the server takes no writes: read_only is on, or the table can only be read";
        Mistake::new(format!("table {table}"), why)
            .hint("use a load that only reads, or a server that takes writes")
    }))
}
