//! One row of a log's table as something recorded.

use super::TableKind;
use crate::capture::general_log::command_kind;
use crate::capture::slow_log::parse_account;
use crate::capture::{DefaultDatabase, EventKind, LogRecord};

/// Values of a row; `None` is NULL.
pub(super) type LogRow = Vec<Option<Vec<u8>>>;

/// Name of a column, and how it is selected.
type SelectColumn = (&'static str, &'static str);

/// Columns of the slow log's table, in our order. Old servers lack some.
const SLOW: &[SelectColumn] = &[
    ("start_time", "UNIX_TIMESTAMP(start_time)"),
    ("user_host", "user_host"),
    ("query_time", "query_time"),
    ("lock_time", "lock_time"),
    ("rows_sent", "rows_sent"),
    ("rows_examined", "rows_examined"),
    ("db", "db"),
    ("sql_text", "sql_text"),
    ("thread_id", "thread_id"),
    ("rows_affected", "rows_affected"),
];
/// Columns of the general log's.
const GENERAL: &[SelectColumn] = &[
    ("event_time", "UNIX_TIMESTAMP(event_time)"),
    ("user_host", "user_host"),
    ("thread_id", "thread_id"),
    ("command_type", "command_type"),
    ("argument", "argument"),
];

/// What MySQL notes in the slow log's table for commands of the protocol: these words, without a mark.
const COMMANDS: &[&[u8]] = &[
    b"Quit",
    b"Init DB",
    b"Prepare",
    b"Execute",
    b"Reset stmt",
    b"Close stmt",
    b"Change user",
    b"Reset Connection",
    b"Statistics",
    b"Field List",
    b"Fetch",
    b"Long Data",
    b"Set option",
    b"Ping",
    b"Refresh",
    b"Debug",
    b"Processlist",
    b"Binlog Dump",
    b"Binlog Dump GTID",
    b"Register Slave",
    b"Register Replica",
    b"Connect",
    b"Connect Out",
    b"Table Dump",
    b"Delayed insert",
    b"Time",
    b"Daemon",
    b"Clone",
    b"clone",
    b"Query Attributes",
];

/// FNV-1a over all values: the same in every version of ours, as places are kept.
pub(super) fn hash_row(row: &LogRow) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    for value in row {
        take(u8::from(value.is_some()));
        for byte in value.iter().flatten() {
            take(*byte);
        }
    }
    hash
}

/// Which columns a table has.
pub(super) struct LogColumns {
    kind: TableKind,
    /// NULL for those that it lacks, so that each has its place.
    list: String,
}

impl LogColumns {
    pub(super) fn new(kind: TableKind, names: &[String]) -> LogColumns {
        let known = match kind {
            TableKind::Slow => SLOW,
            TableKind::General => GENERAL,
        };
        let has = |name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let list: Vec<&str> =
            known.iter().map(|(name, how)| if has(name) { how } else { "NULL" }).collect();
        LogColumns { kind, list: list.join(", ") }
    }

    pub(super) fn select_list(&self) -> &str {
        &self.list
    }

    /// The number of the row stands for the line.
    pub(super) fn to_record<'r>(
        &self,
        row: &'r LogRow,
        number: u64,
        is_mariadb: bool,
    ) -> LogRecord<'r> {
        let mut recorded = match self.kind {
            TableKind::Slow => slow_record(row, is_mariadb),
            TableKind::General => general_record(row),
        };
        recorded.line = number;
        recorded.offset = number - 1;
        recorded
    }
}

fn column_bytes(row: &LogRow, place: usize) -> &[u8] {
    row.get(place).and_then(Option::as_deref).unwrap_or_default()
}

fn column_number(row: &LogRow, place: usize) -> Option<u64> {
    std::str::from_utf8(column_bytes(row, place)).ok()?.parse().ok()
}

fn slow_record(row: &LogRow, is_mariadb: bool) -> LogRecord<'_> {
    let noted_us = parse_seconds_us(column_bytes(row, 0));
    let took_us = parse_duration_us(column_bytes(row, 2));
    // MariaDB notes when a statement began, MySQL when it ended, in a column of the same name.
    let began_us = match is_mariadb {
        true => noted_us,
        false => noted_us.map(|us| us.saturating_sub(took_us.unwrap_or(0))),
    };
    let text = column_bytes(row, 7);
    let (user, host, _) = parse_account(column_bytes(row, 1));
    LogRecord {
        kind: if !is_mariadb && COMMANDS.contains(&text) {
            slow_command_kind(text)
        } else {
            EventKind::Statement
        },
        text,
        session: column_number(row, 8),
        user,
        host,
        database: match column_bytes(row, 6) {
            b"" => DefaultDatabase::None,
            name => DefaultDatabase::Named(name),
        },
        began_us,
        took_us,
        locked_us: parse_duration_us(column_bytes(row, 3)),
        rows_sent: column_number(row, 4),
        rows_examined: column_number(row, 5),
        rows_affected: column_number(row, 9),
        ..LogRecord::default()
    }
}

/// The commands whose statement stands in a record of its own are not that statement.
fn slow_command_kind(command: &[u8]) -> EventKind {
    match command_kind(command) {
        Some(EventKind::Statement | EventKind::Prepare | EventKind::Execute) | None => {
            EventKind::Other
        }
        Some(kind) => kind,
    }
}

/// The argument of a command in the general log.
pub(super) fn command_argument(row: &LogRow) -> &[u8] {
    column_bytes(row, 4)
}

fn general_record(row: &LogRow) -> LogRecord<'_> {
    let (command, argument) = (column_bytes(row, 3), command_argument(row));
    let kind = command_kind(command).unwrap_or(EventKind::Other);
    let (user, host, _) = parse_account(column_bytes(row, 1));
    LogRecord {
        kind,
        text: if kind == EventKind::Other { command } else { argument },
        session: column_number(row, 2),
        user,
        host,
        began_us: parse_seconds_us(column_bytes(row, 0)),
        ..LogRecord::default()
    }
}

/// `1795245129.637423` as microseconds.
fn parse_seconds_us(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    Some(whole.parse::<u64>().ok()?.checked_mul(1_000_000)? + parse_fraction_us(part)?)
}

/// The digits behind a point as microseconds.
fn parse_fraction_us(digits: &str) -> Option<u64> {
    let mut six: String = digits.chars().take(6).collect();
    while six.len() < 6 {
        six.push('0');
    }
    six.parse().ok()
}

/// `01:02:03.000004` as microseconds.
fn parse_duration_us(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (clock, part) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':').map(str::parse::<u64>);
    let mut next = || parts.next()?.ok();
    let (hours, minutes, seconds) = (next()?, next()?, next()?);
    Some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + parse_fraction_us(part)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[&str]) -> LogRow {
        values.iter().map(|value| (*value != "NULL").then(|| value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn times_are_those_of_begins_on_all_servers() {
        let row = row(&[
            "1795245129.637423",
            "u[v] @ h [10.0.0.1]",
            "00:01:01.200173",
            "00:00:00.000002",
            "3",
            "4",
            "",
            "Quit",
            "17",
            "NULL",
        ]);
        let columns = LogColumns::new(TableKind::Slow, &[]);
        let on_mysql = columns.to_record(&row, 5, false);
        assert_eq!(on_mysql.began_us, Some(1_795_245_129_637_423 - 61_200_173));
        assert_eq!((on_mysql.kind, on_mysql.line), (EventKind::Quit, 5));
        assert_eq!((on_mysql.user, on_mysql.host), (&b"v"[..], &b"h"[..]));
        assert_eq!((on_mysql.database, on_mysql.rows_affected), (DefaultDatabase::None, None));
        let on_mariadb = columns.to_record(&row, 5, true);
        assert_eq!(on_mariadb.began_us, Some(1_795_245_129_637_423));
        assert_eq!(on_mariadb.kind, EventKind::Statement, "MariaDB notes no commands");
    }

    #[test]
    fn what_a_table_lacks_is_null() {
        let names = ["event_time", "USER_HOST", "argument"].map(str::to_owned);
        let columns = LogColumns::new(TableKind::General, &names);
        let list = "UNIX_TIMESTAMP(event_time), user_host, NULL, NULL, argument";
        assert_eq!(columns.select_list(), list);
    }

    #[test]
    fn times_of_any_precision() {
        assert_eq!(parse_seconds_us(b"5"), Some(5_000_000));
        assert_eq!(parse_seconds_us(b"5.25"), Some(5_250_000));
        assert_eq!(parse_duration_us(b"838:59:59.999999"), Some(3_020_399_999_999));
        assert_eq!(parse_duration_us(b"00:00:02"), Some(2_000_000));
        for wrong in [&b""[..], b"x", b"1:2", b"1.x"] {
            assert_eq!((parse_seconds_us(wrong), parse_duration_us(wrong)), (None, None));
        }
    }
}
