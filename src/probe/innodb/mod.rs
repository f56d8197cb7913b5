//! `SHOW ENGINE INNODB STATUS` as text, every tenth tick. Its averages per second span the time
//! since anybody last asked, so readers must use totals only; above 1 MB the server cuts its list
//! of transactions.

use super::probed_server::cell_text;
use super::{Probe, ProbeError, ProbeKind, ProbedServer, SampleValues, SamplingSchedule, redact};

/// The kind.
pub struct InnodbProbe;

impl ProbeKind for InnodbProbe {
    fn name(&self) -> &'static str {
        "innodb"
    }
    fn about(&self) -> &'static str {
        "SHOW ENGINE INNODB STATUS as text, every tenth tick (needs PROCESS)"
    }
    fn sampling_schedule(&self) -> SamplingSchedule {
        SamplingSchedule::Ticks(10)
    }
    fn asks_server(&self) -> bool {
        true
    }
    fn needed_grant(&self) -> Option<(&'static str, &'static str)> {
        Some(super::PROCESS_GRANT)
    }
    fn build_probe(&self) -> Box<dyn Probe> {
        Box::new(InnodbProbe)
    }
}

impl Probe for InnodbProbe {
    fn take_sample(&mut self, subject: &mut ProbedServer) -> Result<SampleValues, ProbeError> {
        let rows = subject.query_rows(STATEMENT)?;
        match rows.rows.first() {
            Some(row) => Ok(SampleValues::Text(redact::redact_text(&cell_text(row.get(2))))),
            None => Err(ProbeError::ForGood("the server has no InnoDB".to_owned())),
        }
    }
}

pub(super) const STATEMENT: &str = "SHOW ENGINE INNODB STATUS";
