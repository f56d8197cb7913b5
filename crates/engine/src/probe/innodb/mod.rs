//! `SHOW ENGINE INNODB STATUS` as text, every tenth tick. Its averages per second span the time
//! since anybody last asked, so readers must use totals only; above 1 MB the server cuts its list
//! of transactions.

use super::probed_server::cell_text;
use super::{Probe, ProbeError, ProbeKind, ProbedServer, SampleValues, SamplingSchedule, redact};

/// The probe.
struct InnodbProbe;

/// What it is called in plans and samples.
pub const NAME: &str = "innodb";

/// The kind.
pub(super) const KIND: ProbeKind = ProbeKind {
    name: NAME,
    about: "SHOW ENGINE INNODB STATUS as text, every tenth tick (needs PROCESS)",
    schedule: SamplingSchedule::Ticks(10),
    asks_server: true,
    needs_server: true,
    is_default: true,
    needed_grant: Some(super::PROCESS_GRANT),
    hide_values: Some(redact::hide_innodb_values),
    build: || Box::new(InnodbProbe),
};

impl Probe for InnodbProbe {
    fn take_sample(&mut self, subject: &mut ProbedServer) -> Result<SampleValues, ProbeError> {
        let rows = subject.query_rows(STATEMENT)?;
        match rows.rows.first() {
            Some(row) => Ok(SampleValues::Text(redact::redact_text(&cell_text(row.get(2))))),
            None => Err(ProbeError::ForGood("the server does not have InnoDB".to_owned())),
        }
    }
}

pub(super) const STATEMENT: &str = "SHOW ENGINE INNODB STATUS";
