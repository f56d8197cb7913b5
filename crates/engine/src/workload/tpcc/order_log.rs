//! A line about each new order that was committed, as tpcc-mysql's `-t` writes it.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;

use super::transactions::TransactionEnding;
use crate::base::{Clock as _, RealClock};
use crate::recorder::EventRecord;

/// A file of lines `t_num: 0 finish: 1760000000 123456789 start: 1760000000 120000000`: the session from 0, and seconds since 1970
/// with nanoseconds.
#[derive(Debug)]
pub(super) struct OrderLog {
    clock: RealClock,
    out: Mutex<BufWriter<File>>,
}

impl OrderLog {
    /// A file of this name is written anew.
    ///
    /// # Errors
    /// When it can't be made.
    pub(super) fn create(path: &Path) -> anyhow::Result<OrderLog> {
        let file = File::create(path).with_context(|| format!("make {}", path.display()))?;
        let (clock, out) = (RealClock::start_now(), Mutex::new(BufWriter::new(file)));
        Ok(OrderLog { clock, out })
    }

    /// An event has just ended: writes it down if it was a new order that was committed.
    pub(super) fn note(
        &self,
        worker: usize,
        ending: Option<&TransactionEnding>,
        record: &EventRecord,
    ) {
        let Some(TransactionEnding::Ordered { .. }) = ending else { return };
        let finish = self.clock.origin_unix_ns() + self.clock.now().0;
        let start = finish.saturating_sub(record.ended.since(record.started).0);
        let [finish, start] = [finish, start].map(|ns| (ns / 1_000_000_000, ns % 1_000_000_000));
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk must not end a load; the file then lacks lines.
        let _ = writeln!(
            out,
            "t_num: {worker} finish: {} {} start: {} {}",
            finish.0, finish.1, start.0, start.1
        );
    }

    /// Writes what is still in memory.
    pub(super) fn flush(&self) {
        let _ = self.out.lock().unwrap_or_else(PoisonError::into_inner).flush();
    }
}
