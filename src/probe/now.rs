//! One look at once, for the edges of a step.

use std::collections::BTreeMap;
use std::path::Path;

use super::subject::text;
use super::{host, noise, process, status};
use crate::target::{Error, Session};

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
        let rows = session.rows(status::STATEMENT)?;
        let cells = rows.rows.iter().map(|r| (text(r.first()), text(r.get(1))));
        all.extend(status::split(cells).0);
        if pid.is_some() {
            let datadir = session.scalar("SELECT @@datadir")?;
            disk = datadir.and_then(|dir| host::disk::of(Path::new(&dir)));
        }
    }
    if let Some(pid) = pid {
        all.extend(process::read(pid));
        all.extend(process::threads(pid));
        all.extend(noise::throttled(pid));
    }
    all.extend(host::brief(disk.as_deref()));
    Ok(all)
}
