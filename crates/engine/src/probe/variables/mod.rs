//! The server's variables with the origin of their values, at the start and at the end.

use super::probed_server::cell_text;
use super::{Probe, ProbeError, ProbeKind, ProbedServer, SampleValues, SamplingSchedule};

/// Name of the probe.
pub const NAME: &str = "variables";

/// The probe.
struct VariablesProbe;

/// The kind.
pub(super) const KIND: ProbeKind = ProbeKind {
    name: NAME,
    about: "global variables and where each value comes from, at start and end",
    schedule: SamplingSchedule::Ends,
    asks_server: true,
    needs_server: true,
    is_default: true,
    needed_grant: None,
    hide_values: None,
    build: || Box::new(VariablesProbe),
};

/// From the one that tells most to the one that every server has; columns are name, value, origin.
const SOURCES: &[&str] = &[
    "SELECT VARIABLE_NAME, GLOBAL_VALUE, GLOBAL_VALUE_ORIGIN \
     FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE IS NOT NULL",
    "SELECT g.VARIABLE_NAME, g.VARIABLE_VALUE, i.VARIABLE_SOURCE \
     FROM performance_schema.global_variables g \
     LEFT JOIN performance_schema.variables_info i ON i.VARIABLE_NAME = g.VARIABLE_NAME",
    SHOW,
];

/// What every server has.
pub(super) const SHOW: &str = "SHOW GLOBAL VARIABLES";

impl Probe for VariablesProbe {
    fn take_sample(&mut self, subject: &mut ProbedServer) -> Result<SampleValues, ProbeError> {
        let mut why = ProbeError::Now(String::new());
        for statement in SOURCES {
            match subject.query_rows(statement) {
                Ok(rows) if !rows.rows.is_empty() => {
                    let row = |cells: &Vec<Option<Vec<u8>>>| {
                        let name = cell_text(cells.first()).to_ascii_lowercase();
                        let value = hide_secret(&name, cell_text(cells.get(1)));
                        vec![name, value, normalize_origin(&cell_text(cells.get(2)))]
                    };
                    let mut table: Vec<_> = rows.rows.iter().map(row).collect();
                    table.sort();
                    let columns = ["name", "value", "origin"].map(str::to_owned).to_vec();
                    return Ok(SampleValues::Table(columns, table));
                }
                Ok(_) => {}
                Err(e @ ProbeError::Now(_)) => return Err(e),
                Err(e) => why = e,
            }
        }
        Err(why)
    }
}

/// Variables that servers show with a password in them.
const SECRETS: &[&str] = &["report_password", "wsrep_sst_auth"];

/// The value of a variable, unless it is a password.
pub(super) fn hide_secret(name: &str, value: String) -> String {
    let is_secret = SECRETS.iter().any(|secret| name.eq_ignore_ascii_case(secret));
    if is_secret && !value.is_empty() { "(hidden)".to_owned() } else { value }
}

/// One way to write an origin: lower case with dashes.
fn normalize_origin(raw: &str) -> String {
    match raw {
        "COMPILED" => "compile-time".to_owned(),
        raw => raw.to_ascii_lowercase().replace('_', "-"),
    }
}
