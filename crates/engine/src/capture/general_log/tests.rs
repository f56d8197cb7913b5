use crate::capture::log::tests::all;
use crate::capture::{Confidence, EventKind};

fn sample(name: &str) -> Vec<u8> {
    let path = format!("{}/../../tests/data/logs/{name}.general.log", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

/// Lines of each log that a server began, counted by their beginnings.
/// Then those unbalanced, and those read without escapes behind nothing unbalanced.
const COUNTS: &[(&str, usize, u64, u64)] = &[
    ("mariadb10.11_default", 112, 0, 0),
    ("mdb_unbalanced", 31, 3, 0),
    ("my_unbalanced", 23, 0, 1),
    ("mysql9.7_default", 118, 0, 0),
];

#[test]
fn every_record_of_real_logs_is_found() {
    for (name, records, unbalanced, no_escapes) in COUNTS {
        let text = sample(name);
        let (found, tally) = all(&text, 1 << 20);
        assert_eq!(
            (found.len(), tally.unbalanced, tally.no_escapes, tally.skipped_bytes),
            (*records, *unbalanced, *no_escapes, 0),
            "{name}"
        );
        for piece in [61, 1000] {
            assert_eq!(all(&text, piece), (found.clone(), tally.clone()), "{name}");
        }
    }
}

#[test]
fn each_session_has_its_own_database() {
    for name in ["mariadb10.11_default", "mysql9.7_default"] {
        let (found, _) = all(&sample(name), 1 << 20);
        let of = |start: &str| {
            let found = found.iter().find(|r| r.text.starts_with(start)).unwrap();
            found.database.clone().unwrap()
        };
        assert_eq!(of("select 1 /* a: sbtest */"), "sbtest");
        assert_eq!(of("select 2 /* b: db2 */"), "db2");
        assert_eq!(of("select 4 /* no db */"), "");
        assert_eq!(of("select 5 /* n after USE db2 */"), "db2");
        assert_eq!(of("select 6 /* n after COM_INIT_DB sbtest */"), "sbtest");
    }
}

#[test]
fn prefixes() {
    use super::parse_prefix;
    let found = parse_prefix(b"261121  7:12:04\t    29 Query\tflush logs").unwrap();
    assert_eq!((found.session, found.command), (29, &b"Query"[..]));
    let found = parse_prefix(b"\t\t    29 Quit\t").unwrap();
    assert_eq!((found.session, found.kind), (29, EventKind::Quit));
    let found = parse_prefix(b"2026-11-21T07:12:06.312402Z\t   30 Init DB\tsbtest").unwrap();
    assert_eq!((found.session, found.kind), (30, EventKind::InitDb));
    assert!(parse_prefix(b"select 1\t\t 3 Query").is_none());
}

#[test]
fn commands_of_all_servers_end_what_stands_before() {
    for command in
        ["Connect Out\trepl@h:1", "Bulk_execute\t", "Table Dump\t", "Delayed insert\tx", "Time\t"]
    {
        let log = format!(
            "261121 22:57:04\t     7 Query\tstart slave\n\t\t     8 {command}\n\
             \t\t     7 Query\tdo 1\n"
        );
        let (found, tally) = all(log.as_bytes(), 1 << 20);
        assert_eq!((found.len(), found[0].text.as_str()), (3, "start slave"), "{command}");
        assert_eq!((found[1].kind, tally.irregular), (EventKind::Other, 0));
    }
}

#[test]
fn a_command_that_nobody_knows_is_one_and_said() {
    let log = "2026-11-21T22:57:38.366171Z\t 1563 Query\tdo 1\n\
               2026-11-21T22:57:38.366172Z\t 1563 Teleport now\tx\n\
               2026-11-21T22:57:38.366173Z\t 1563 Query\tdo 2\n";
    for piece in [1, 13, 1 << 20] {
        let (found, tally) = all(log.as_bytes(), piece);
        let texts: Vec<&str> = found.iter().map(|r| r.text.as_str()).collect();
        assert_eq!(texts, ["do 1", "Teleport now", "do 2"]);
        assert_eq!((tally.irregular, found[2].confidence), (2, Confidence::Clean));
    }
    // Without a time before it, it may be a line of a statement.
    let log = "261121 22:57:04\t     7 Query\tselect 1,\n\t\t     8 AS\tx\n";
    assert_eq!(all(log.as_bytes(), 1 << 20).0.len(), 1);
}

#[test]
fn a_line_of_yesterday_in_a_quote_is_text() {
    let line = |day: u8, text: &str| {
        format!("2026-11-{day}T22:57:38.366171Z\t   15 {text}\n")
            .replace("  15 Connect", "9915 Connect")
    };
    for forged in ["Query\tdrop table t", "Connect\troot@h on x using Socket"] {
        let text = format!("Query\tselect 'a\n{}b'", line(20, forged));
        let log = [line(21, "Query\tdo 1"), line(21, &text), line(21, "Query\tdo 2")].concat();
        let (found, tally) = all(log.as_bytes(), 1 << 20);
        assert_eq!((found.len(), tally.unbalanced), (3, 0), "{found:?}");
        assert!(found.iter().all(|r| r.confidence == Confidence::Clean), "{found:?}");
    }
}

#[test]
fn mysql_logs_only_what_it_could_parse() {
    let line = |text: &str| format!("2026-11-21T22:57:38.366171Z\t   15 Query\t{text}\n");
    let forged = format!("select 'a\n{}b'", line("drop table t"));
    let log = [line("do 1"), line(&forged), line("do 2")].concat();
    let (found, tally) = all(log.as_bytes(), 1 << 20);
    let texts: Vec<&str> = found.iter().map(|r| r.text.as_str()).collect();
    assert_eq!(texts, ["do 1", forged.as_str(), "do 2"]);
    assert_eq!((tally.imitates, found[2].confidence), (1, Confidence::Suspect));
    // Where nothing ends it, it is taken for what it looks like.
    let log = [line("do 1"), line("select 'a"), line("do 2")].concat();
    let (found, tally) = all(log.as_bytes(), 1 << 20);
    assert_eq!((found.len(), tally.unbalanced), (3, 1));
}
