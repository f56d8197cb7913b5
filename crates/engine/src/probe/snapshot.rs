//! One look at once, for the edges of a step.

use std::collections::BTreeMap;
use std::path::Path;

use super::probed_server::cell_text;
use super::{host, noise, process, status};
use crate::client::{Error, Session};

/// Raw counters of this moment: the server's status numbers (if a session is given), its process
/// (if on this machine), the CPU, pressure and, of disks, the one that holds the server's data (all
/// where that is not known).
///
/// # Errors
/// When the server doesn't answer.
pub fn counters_now(
    session: Option<&mut Session>,
    pid: Option<u32>,
) -> Result<BTreeMap<String, f64>, Error> {
    let mut all = BTreeMap::new();
    let mut disk = None;
    if let Some(session) = session {
        let rows = session.query_rows(status::STATEMENT)?;
        let cells = rows.rows.iter().map(|r| (cell_text(r.first()), cell_text(r.get(1))));
        all.extend(status::split_numbers(cells).0);
        if pid.is_some() {
            let datadir = session.query_scalar("SELECT @@datadir")?;
            disk = datadir.and_then(|dir| host::disk::device_of_path(Path::new(&dir)));
        }
    }
    if let Some(pid) = pid {
        all.extend(process::read_counters(pid));
        all.extend(process::read_thread_counters(pid));
        all.extend(noise::read_throttled_time(pid));
    }
    all.extend(host::read_key_numbers(disk.as_deref()));
    Ok(all)
}
