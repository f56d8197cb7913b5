//! `SHOW GLOBAL STATUS`, whole and raw.

use super::probed_server::cell_text;
use super::{Probe, ProbeError, ProbeKind, ProbedServer, SampleValues, SamplingSchedule};

/// The probe.
struct StatusProbe;

/// What it is called in plans and samples.
pub const NAME: &str = "status";

/// The kind.
pub(super) const KIND: ProbeKind = ProbeKind {
    name: NAME,
    about: "SHOW GLOBAL STATUS, all counters",
    schedule: SamplingSchedule::Ticks(1),
    asks_server: true,
    needs_server: true,
    is_default: true,
    needed_grant: None,
    hide_values: None,
    build: || Box::new(StatusProbe),
};

impl Probe for StatusProbe {
    fn take_sample(&mut self, subject: &mut ProbedServer) -> Result<SampleValues, ProbeError> {
        let rows = subject.query_rows(STATEMENT)?;
        let (numbers, words) =
            split_numbers(rows.rows.iter().map(|r| (cell_text(r.first()), cell_text(r.get(1)))));
        Ok(SampleValues::Mixed(numbers, words))
    }
}

pub(super) const STATEMENT: &str = "SHOW GLOBAL STATUS";

/// Named numbers.
type StatusNumbers = Vec<(String, f64)>;
/// Named words.
type StatusTexts = Vec<(String, String)>;

/// Numbers from words; empty words are left out.
pub(super) fn split_numbers(
    rows: impl Iterator<Item = (String, String)>,
) -> (StatusNumbers, StatusTexts) {
    let (mut numbers, mut words) = (Vec::new(), Vec::new());
    for (name, value) in rows {
        match value.parse::<f64>() {
            Ok(number) if number.is_finite() => numbers.push((name, number)),
            _ if value.is_empty() => {}
            _ => words.push((name, value)),
        }
    }
    (numbers, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tsv: &str) -> (StatusNumbers, StatusTexts) {
        let cell = |c: Option<&str>| c.unwrap_or_default().to_owned();
        split_numbers(tsv.lines().map(|l| {
            let mut cells = l.split('\t');
            (cell(cells.next()), cell(cells.next()))
        }))
    }

    #[test]
    fn real_servers_are_read() {
        let (numbers, words) =
            read(include_str!("../../../../../tests/data/probe/mariadb-10.11-status.tsv"));
        let number = |name: &str| numbers.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
        assert_eq!(numbers.len() + words.len(), 562 - 14);
        assert_eq!(number("Innodb_page_size"), Some(16384.0));
        assert!(number("Uptime").unwrap() > 0.0);
        assert_eq!(number("Innodb_buffer_pool_load_status"), None);
        let load = words.iter().find(|(n, _)| n == "Innodb_buffer_pool_load_status").unwrap();
        assert!(load.1.starts_with("Buffer pool(s) load completed"));

        let (numbers, words) =
            read(include_str!("../../../../../tests/data/probe/mysql-9.7-status.tsv"));
        assert!(numbers.iter().any(|(n, _)| n == "Innodb_redo_log_current_lsn"));
        assert!(words.iter().any(|(n, v)| n == "Innodb_redo_log_enabled" && v == "ON"));
    }

    #[test]
    fn what_only_looks_like_a_number_is_a_word() {
        let (numbers, words) = read("a\tnan\nb\tinf\nc\t-1.5\nd\t\ne\t0x10\n");
        assert_eq!(numbers, [("c".to_owned(), -1.5)]);
        assert_eq!(words.len(), 3);
    }
}
