//! Which process the server is: its pid file, if a process of that number began when the server says it did.

use std::fs::read_to_string;
use std::path::Path;

use super::parse::began_unix_s;
use crate::probe::host::parse;
use crate::target::Session;

/// The server counts whole seconds, from shortly after its process began.
const SLACK_S: f64 = 10.0;

/// Process id of the server at the other end of a session; `None` if it is on another machine, or can't be told
/// for certain.
pub(in crate::probe) fn find(session: &mut Session, local: bool) -> Option<u32> {
    if !local {
        return None;
    }
    let file = session.scalar("SELECT @@pid_file").ok()??;
    let datadir = session.scalar("SELECT @@datadir").ok()??;
    let now: f64 = session.scalar("SELECT UNIX_TIMESTAMP()").ok()??.parse().ok()?;
    let uptime = session.rows("SHOW GLOBAL STATUS LIKE 'Uptime'").ok()?;
    let uptime = super::super::subject::text(uptime.rows.first()?.get(1)).parse::<f64>().ok()?;
    let pid = read_to_string(Path::new(&datadir).join(file)).ok()?.trim().parse().ok()?;
    // A container or another machine behind a tunnel may name a pid file that is there, of another server.
    let stat = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let machine = parse::stat(&read_to_string("/proc/stat").ok()?);
    let began = began_unix_s(&stat, &machine)?;
    (began - (now - uptime)).abs().le(&SLACK_S).then_some(pid)
}
