use crate::capture::Deed;
use crate::capture::log::tests::all;

fn sample(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/logs/{name}.general.log", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

/// Lines of each log that a server began, counted by their beginnings.
const COUNTS: &[(&str, usize, u64, u64)] = &[
    ("mariadb10.11_default", 112, 0, 0),
    ("mdb_unbalanced", 31, 3, 1),
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
    use super::prefix;
    let found = prefix(b"261121  7:12:04\t    29 Query\tflush logs").unwrap();
    assert_eq!((found.session, found.command), (29, &b"Query"[..]));
    let found = prefix(b"\t\t    29 Quit\t").unwrap();
    assert_eq!((found.session, found.deed), (29, Deed::Quit));
    let found = prefix(b"2026-11-21T07:12:06.312402Z\t   30 Init DB\tsbtest").unwrap();
    assert_eq!((found.session, found.deed), (30, Deed::InitDb));
    assert!(prefix(b"select 1\t\t 3 Query").is_none());
}
