//! How long statements took, all of them since the server was started, as it counts them itself: MySQL 8 or later. Raw
//! counts by bucket, named by the bucket's upper end in milliseconds.

use super::probed_server::cell_text;
use super::{Probe, ProbeError, ProbeKind, ProbedServer, SampleValues, SamplingSchedule};
use crate::client::{Error, Session};

/// The probe.
struct StatementTimesProbe;

/// What it is called in plans and samples.
pub const NAME: &str = "statement_times";
/// Begins the name of each number; the upper end of its bucket in milliseconds follows.
pub const UP_TO_MS: &str = "statement_times.up_to_ms.";
/// The server's table.
pub const SOURCE: &str = "performance_schema.events_statements_histogram_global";

/// The kind.
pub(super) const KIND: ProbeKind = ProbeKind {
    name: NAME,
    about: "how long statements took, by the server's histogram (MySQL 8 or later)",
    schedule: SamplingSchedule::Ticks(1),
    asks_server: true,
    needs_server: true,
    is_default: false,
    needed_grant: None,
    hide_values: None,
    build: || Box::new(StatementTimesProbe),
};

impl Probe for StatementTimesProbe {
    fn take_sample(&mut self, subject: &mut ProbedServer) -> Result<SampleValues, ProbeError> {
        let rows = subject.query_rows(&statement())?;
        let number = |row: &Vec<Option<Vec<u8>>>| {
            let up_to_ps: f64 = cell_text(row.first()).parse().ok()?;
            let count: f64 = cell_text(row.get(1)).parse().ok()?;
            Some((format!("{UP_TO_MS}{}", up_to_ps / 1e9), count))
        };
        Ok(SampleValues::Numbers(rows.rows.iter().filter_map(number).collect()))
    }
}

fn statement() -> String {
    format!("SELECT BUCKET_TIMER_HIGH, COUNT_BUCKET FROM {SOURCE} WHERE COUNT_BUCKET > 0")
}

/// Whether a server counts them, and the account may read it; blocks.
///
/// # Errors
/// Says in words why there is nothing.
pub fn check_statement_times(session: &mut Session) -> Result<(), String> {
    let found = session.query_rows(&statement()).map_err(|error| match error {
        Error::Server { code: 1146, .. } => {
            format!("it has no {SOURCE}: MySQL has it since 8.0, MariaDB does not")
        }
        error => error.to_string(),
    })?;
    if !found.rows.is_empty() {
        return Ok(());
    }
    match session.query_scalar("SELECT @@performance_schema") {
        Ok(Some(on)) if on != "0" => Err(format!("{SOURCE} counts nothing")),
        _ => Err("performance_schema is off".to_owned()),
    }
}
