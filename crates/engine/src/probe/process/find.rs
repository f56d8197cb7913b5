//! Which process the server is: the socket's other end or its pid file, if that process began when
//! the server says.

use std::fs::read_to_string;
use std::path::Path;

use super::parse::started_unix_s;
use crate::client::Session;
use crate::probe::host::parse;

/// The server counts whole seconds, from shortly after its process began.
const SLACK_S: f64 = 10.0;

/// Process id of the server at the other end of a session; `None` if it is on another machine, or
/// can't be told for certain.
pub(in crate::probe) fn find_server_pid(session: &mut Session, local: bool) -> Option<u32> {
    if !local {
        return None;
    }
    let now: f64 = session.query_scalar("SELECT UNIX_TIMESTAMP()").ok()??.parse().ok()?;
    let uptime = session.query_rows("SHOW GLOBAL STATUS LIKE 'Uptime'").ok()?.text_value(0, 1)?;
    let began = now - uptime.parse::<f64>().ok()?;
    let candidates = [session.peer_pid(), read_pid_file(session)];
    candidates.into_iter().flatten().find(|pid| started_at(*pid, began) == Some(true))
}

/// What the server's pid file says.
fn read_pid_file(session: &mut Session) -> Option<u32> {
    let file = session.query_scalar("SELECT @@pid_file").ok()??;
    let datadir = session.query_scalar("SELECT @@datadir").ok()??;
    read_to_string(Path::new(&datadir).join(file)).ok()?.trim().parse().ok()
}

/// Whether a process began at a time. A socket may have been opened by a service manager for its
/// server, and a container, or a machine behind a tunnel, may name a pid file that is here too, of
/// another server.
fn started_at(pid: u32, unix_s: f64) -> Option<bool> {
    let stat = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let machine = parse::parse_stat(&read_to_string("/proc/stat").ok()?);
    Some((started_unix_s(&stat, &machine)? - unix_s).abs() <= SLACK_S)
}
