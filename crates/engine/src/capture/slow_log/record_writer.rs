//! Something recorded as text of a slow log, in the way of Percona Server 8: what is read from a table can be shipped, kept
//! and given to any reader of logs.

use std::io::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use crate::capture::{DefaultDatabase, EventKind, LogRecord};

/// Appends a record. What is read from it is what was written, but for the line and doubts.
pub fn write_slow_record(recorded: &LogRecord<'_>, out: &mut Vec<u8>) {
    let put = "memory takes every write";
    let took_us = recorded.took_us.unwrap_or(0);
    if let Some(began_us) = recorded.began_us {
        let ended = UNIX_EPOCH + Duration::from_micros(began_us.saturating_add(took_us));
        writeln!(out, "# Time: {}", humantime::format_rfc3339_micros(ended)).expect(put);
    }
    out.extend_from_slice(b"# User@Host: ");
    out.extend_from_slice(recorded.user);
    out.push(b'[');
    out.extend_from_slice(recorded.user);
    out.extend_from_slice(b"] @ ");
    out.extend_from_slice(recorded.host);
    out.extend_from_slice(b" []");
    if let Some(session) = recorded.session {
        write!(out, "  Id: {session:5}").expect(put);
    }
    out.extend_from_slice(b"\n# ");
    match recorded.database {
        DefaultDatabase::Unknown => {}
        DefaultDatabase::None => out.extend_from_slice(b"Schema:   "),
        DefaultDatabase::Named(name) => {
            out.extend_from_slice(b"Schema: ");
            out.extend_from_slice(name);
            out.extend_from_slice(b"  ");
        }
    }
    let errno = recorded.errno.map_or_else(String::new, |errno| format!("Last_errno: {errno}  "));
    write!(out, "{errno}Killed: 0\n#").expect(put);
    for (key, us) in [("Query_time", recorded.took_us), ("Lock_time", recorded.locked_us)] {
        if let Some(us) = us {
            write!(out, " {key}: {}.{:06} ", us / 1_000_000, us % 1_000_000).expect(put);
        }
    }
    for (key, count) in [
        ("Rows_sent", recorded.rows_sent),
        ("Rows_examined", recorded.rows_examined),
        ("Rows_affected", recorded.rows_affected),
        ("Bytes_sent", recorded.bytes_sent),
    ] {
        if let Some(count) = count {
            write!(out, " {key}: {count} ").expect(put);
        }
    }
    if recorded.is_inner {
        out.extend_from_slice(b"\n# Stored_routine: unknown");
    }
    let began_s = recorded.began_us.unwrap_or(0) / 1_000_000;
    write!(out, "\nSET timestamp={began_s};\n").expect(put);
    let command: &[u8] = match recorded.kind {
        EventKind::Statement | EventKind::Execute => b"",
        EventKind::Connect => b"Connect",
        EventKind::InitDb => b"Init DB",
        EventKind::Prepare => b"Prepare",
        EventKind::Quit => b"Quit",
        EventKind::Other => recorded.text,
    };
    if command.is_empty() {
        out.extend_from_slice(recorded.text);
    } else {
        out.extend_from_slice(super::ADMIN);
        out.extend_from_slice(command);
    }
    out.extend_from_slice(b";\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{LogFlow, LogParser};
    use proptest::prelude::*;

    /// Statements that end: whatever a client can have sent and a server can have run.
    fn statement() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            "select",
            " 'it''s;\n# Time: 200101  1:02:03\n'",
            "\"\\\"\"",
            "`a;\nb`",
            "/* ' ;\n */",
            " -- it's\n",
            "#\n",
            "\n",
            "1",
            "\u{1f600}",
        ]);
        prop::collection::vec(piece, 1..8).prop_map(|pieces| pieces.concat().into_bytes())
    }

    fn number() -> impl Strategy<Value = Option<u64>> {
        prop::option::of(0..1_u64 << 40)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            texts in prop::collection::vec((statement(), number(), number(), number()), 1..6),
            names in prop::collection::vec("[a-z][a-z0-9_ ;]{0,8}[a-z]", 6),
            kind in prop::sample::select(vec![EventKind::Statement, EventKind::Quit,
            EventKind::InitDb]),
        ) {
            let all: Vec<LogRecord<'_>> = texts
                .iter()
                .zip(&names)
                .map(|((text, a, b, c), name)| LogRecord {
                    kind,
                    text: match kind {
                        EventKind::Statement => text.trim_ascii(),
                        EventKind::Quit => b"Quit",
                        _ => b"Init DB",
                    },
                    session: *a,
                    user: b"u",
                    host: b"10.0.0.1",
                    database: match b {
                        Some(n) if n % 3 == 0 => DefaultDatabase::None,
                        Some(_) => DefaultDatabase::Named(name.as_bytes()),
                        None => DefaultDatabase::Unknown,
                    },
                    began_us: Some(1_795_245_129_000_000 + c.unwrap_or(7)),
                    took_us: *c,
                    locked_us: *a,
                    rows_sent: *b,
                    rows_examined: *c,
                    rows_affected: *a,
                    bytes_sent: *b,
                    errno: *c,
                    is_inner: c.is_some_and(|n| n % 2 == 0),
                    ..LogRecord::default()
                })
                .collect();
            let mut log = Vec::new();
            all.iter().for_each(|recorded| write_slow_record(recorded, &mut log));
            let mut place = 0;
            LogParser::default().read_source(&mut log.as_slice(), &mut |found| {
                let found = LogRecord { line: 0, offset: 0, raw: b"", ..found.clone() };
                assert_eq!(found, all[place]);
                place += 1;
                LogFlow::Continue(())
            }).unwrap();
            prop_assert_eq!(place, all.len());
        }
    }
}
