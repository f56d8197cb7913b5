//! The result file of deliveries (clause 2.7.2.3): a line for each that was done.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;

use super::inputs::TransactionInput;
use super::terminals::DueTransaction;
use super::transactions::TransactionEnding;
use crate::plan::Mistake;
use crate::recorder::EventRecord;

const HEAD: &str = "queued_ns,warehouse,carrier,completed_ns,orders";

/// A file that results are written to: `queued_ns,warehouse,carrier,completed_ns,orders`, times of the run's clock, an order
/// for each district from 1 to 10 with blanks between, `-` where there was none.
#[derive(Debug)]
pub(super) struct DeliveryLog(Mutex<BufWriter<File>>);

impl DeliveryLog {
    /// # Errors
    /// When the file is there already, or can't be made.
    pub(super) fn create(path: &Path) -> anyhow::Result<DeliveryLog> {
        let file = match File::options().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let why = format!("{} is there already", path.display());
                let mistake = Mistake::new("--delivery-log", why);
                return Err(mistake.hint("name a file that is not there").into());
            }
            other => other.with_context(|| format!("make {}", path.display()))?,
        };
        let mut out = BufWriter::new(file);
        writeln!(out, "{HEAD}").with_context(|| format!("write {}", path.display()))?;
        Ok(DeliveryLog(Mutex::new(out)))
    }

    /// An event has ended: writes it down if it was a delivery that was done.
    pub(super) fn note(
        &self,
        transaction: &DueTransaction,
        ending: Option<&TransactionEnding>,
        record: &EventRecord,
    ) {
        let TransactionInput::Delivery { carrier } = transaction.input else { return };
        let Some(TransactionEnding::Delivered { orders }) = ending else { return };
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let warehouse = transaction.place.warehouse;
        let (queued, completed) = (record.intended.0, record.ended.0);
        // A full disk must not end a load; the file then lacks lines.
        let _ = write!(out, "{queued},{warehouse},{carrier},{completed},");
        for (place, order) in orders.iter().enumerate() {
            let blank = if place == 0 { "" } else { " " };
            let _ = match order {
                0 => write!(out, "{blank}-"),
                order => write!(out, "{blank}{order}"),
            };
        }
        let _ = writeln!(out);
    }

    /// Writes what is still in memory.
    pub(super) fn flush(&self) {
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).flush();
    }
}
