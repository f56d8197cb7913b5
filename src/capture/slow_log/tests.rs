use crate::capture::log::tests::{Owned, all};
use crate::capture::{Deed, Doubt};

fn sample(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/logs/{name}.slow.log", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

/// Records in each log of the servers' own, as counted by the scripts that drove them.
const COUNTS: &[(&str, usize, u64, u64)] = &[
    ("mariadb10.11_default", 85, 0, 0),
    ("mariadb10.11_verbose", 88, 0, 0),
    ("mdb_after_rotate", 5, 0, 0),
    ("mdb_before_rotate", 6, 0, 0),
    ("mdb_completion_order", 4, 0, 0),
    ("mdb_unbalanced", 26, 3, 1),
    ("my_after_rotate", 5, 0, 0),
    ("my_before_rotate", 6, 0, 0),
    ("my_completion_order", 5, 0, 0),
    ("my_unbalanced", 21, 0, 1),
    ("mysql9.7_default", 106, 0, 0),
    ("mysql9.7_extra", 109, 0, 0),
];

#[test]
fn every_record_of_real_logs_is_found() {
    for (name, records, unbalanced, no_escapes) in COUNTS {
        let (found, tally) = all(&sample(name), 1 << 20);
        assert_eq!(
            (found.len(), tally.unbalanced, tally.no_escapes, tally.skipped_bytes),
            (*records, *unbalanced, *no_escapes, 0),
            "{name}: {:?}",
            tally.skipped
        );
    }
}

#[test]
fn pieces_of_any_size_give_the_same() {
    for (name, ..) in COUNTS {
        let text = sample(name);
        let whole = all(&text, 1 << 20);
        for piece in [61, 1000] {
            assert_eq!(all(&text, piece), whole, "{name} in pieces of {piece}");
        }
    }
}

#[test]
fn a_head_in_a_literal_is_a_literal() {
    for name in ["mariadb10.11_default", "mysql9.7_default", "mysql9.7_extra"] {
        let (found, _) = all(&sample(name), 1 << 20);
        let hostile: Vec<&Owned> = found.iter().filter(|r| r.text.contains("evil")).collect();
        assert_eq!(hostile.len(), 1, "{name}");
        assert!(hostile[0].text.starts_with("select 'x;\n# Time: "), "{name}");
        assert!(hostile[0].text.ends_with("' as lit"), "{name}");
        assert_eq!(hostile[0].doubt, Doubt::Clean);
        assert!(found.iter().all(|r| r.session != Some(999)));
    }
}

#[test]
fn the_database_is_that_of_the_file_where_the_record_has_none() {
    let of = |name: &str, start: &str| {
        let (found, _) = all(&sample(name), 1 << 20);
        found.iter().find(|r| r.text.starts_with(start)).unwrap().database.clone()
    };
    for name in ["mariadb10.11_default", "mysql9.7_default"] {
        assert_eq!(of(name, "select 1 /* a: sbtest */").as_deref(), Some("sbtest"), "{name}");
        assert_eq!(of(name, "select 2 /* b: db2 */").as_deref(), Some("db2"), "{name}");
        assert_eq!(of(name, "select 3 /* a again */").as_deref(), Some("sbtest"), "{name}");
    }
    assert_eq!(of("mariadb10.11_default", "select 4 /* no db */").as_deref(), Some(""));
}

#[test]
fn commands_of_the_protocol_are_told_from_statements() {
    let (found, _) = all(&sample("mysql9.7_default"), 1 << 20);
    assert!(found.iter().any(|r| r.deed == Deed::Quit));
    assert!(found.iter().any(|r| r.deed == Deed::InitDb));
    let (found, _) = all(&sample("mariadb10.11_default"), 1 << 20);
    assert!(found.iter().all(|r| r.deed == Deed::Statement));
}

#[test]
fn a_log_that_was_cut_loses_only_what_is_cut() {
    let text = sample("mysql9.7_default");
    let (whole, _) = all(&text, 1 << 20);
    let (found, tally) = all(&text[1_600..text.len() - 60], 1 << 20);
    assert_eq!(tally.skipped.len(), 1, "what is left of the first record");
    assert_eq!(tally.skipped[0].line, 1);
    let texts: Vec<&str> = found.iter().map(|r| r.text.as_str()).collect();
    let all: Vec<&str> = whole.iter().map(|r| r.text.as_str()).collect();
    let from = all.windows(3).position(|w| w == &texts[..3]).unwrap();
    assert_eq!(texts[..texts.len() - 1], all[from..from + texts.len() - 1]);
    assert!(found[0].database.is_none(), "which database is in use is not known any more");
}

#[test]
fn a_perfect_head_in_a_literal_makes_what_follows_suspect() {
    let record = |text: &str| {
        format!(
            "# Time: 2026-11-21T07:12:09.637423Z\n# User@Host: u[u] @ localhost []  Id:     3\n\
             # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n\
             SET timestamp=1795245129;\n{text};\n"
        )
    };
    let forged = format!("select 'x;\n{}' as lit", record("drop table t"));
    let log = [record("select 1"), record(&forged), record("select 2")].concat();
    let (found, _) = all(log.as_bytes(), 1 << 20);
    let doubts: Vec<Doubt> = found.iter().map(|r| r.doubt).collect();
    assert_eq!(doubts[0], Doubt::Clean);
    assert!(!doubts[1..].contains(&Doubt::Clean), "{doubts:?}");
    assert_eq!(found.last().unwrap().text, "select 2");
}

/// A record of session 3 in the way of MySQL.
fn record(text: &str) -> String {
    format!(
        "# Time: 2026-11-21T07:12:09.637423Z\n# User@Host: u[u] @ localhost []  Id:     3\n\
         # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n\
         SET timestamp=1795245129;\n{text}"
    )
}

#[test]
fn a_server_that_died_in_a_record_cuts_no_other() {
    let banner = "/usr/sbin/mysqld, Version: 9.7.4 (x). started with:\n\
                  Tcp port: 0  Unix socket: s\nTime                 Id Command    Argument\n";
    for cut in ["select a from", "select 'a", "select a;\n from b\n", "select 'a;\n", "/* a;\n b"] {
        let log = [&record("do 1;\n"), &record(cut), banner, &record("do 2;\n")].concat();
        let (found, tally) = all(log.as_bytes(), 1 << 20);
        let texts: Vec<&str> = found.iter().map(|r| r.text.as_str()).collect();
        assert_eq!((texts.len(), texts[0], texts[2]), (3, "do 1", "do 2"), "{cut}");
        assert_eq!((found[1].doubt, tally.banners), (Doubt::Cut, 1), "{cut}: {}", texts[1]);
        assert_eq!(found[2].doubt, Doubt::Suspect, "the banner may be in a literal, who knows");
    }
    // A disk that was full and is not any more; a comment that looks like a head is not what a log writes.
    let log =
        [record("select a from\n"), record("do 2 # x\n# User@Host: a[a] @ b []\n;\n")].concat();
    let (found, _) = all(log.as_bytes(), 1 << 20);
    let doubts: Vec<Doubt> = found.iter().map(|r| r.doubt).collect();
    assert_eq!(doubts, [Doubt::Cut, Doubt::Suspect]);
}

#[test]
fn texts_in_a_head_that_imitate_a_record_are_never_certain() {
    let head = "# User@Host: u[u] @ localhost []\n# Thread_id: 8  Schema: d  QC_hit: No\n\
                # Query_time: 0.1  Lock_time: 0.0  Rows_sent: 2  Rows_examined: 2\n\
                # Rows_affected: 0  Bytes_sent: 216\n";
    let stamp = "SET timestamp=1795278245;\n";
    let forged = format!("{stamp}drop table t;\n{head}");
    for texts in [
        format!("#\n# explain: id\tselect_type\ttable\n# explain: 1\tSIMPLE\tx\n{forged}#\n"),
        format!("#\n# Warnings\n# Warning 1292 Truncated incorrect INTEGER value: 'a\n{forged}'\n"),
    ] {
        let log =
            [head, stamp, "do 1;\n", head, &texts, stamp, "select 2;\n", head, stamp, "do 3;\n"];
        let (found, _) = all(log.concat().as_bytes(), 1 << 20);
        assert!(found.iter().any(|r| r.text == "drop table t"), "it can't be told from a record");
        assert!(found[1..].iter().all(|r| !r.doubt.is_certain()), "{found:?}");
        assert!(found[0].doubt.is_certain());
    }
}

#[test]
fn a_head_in_the_first_literal_of_a_log_is_a_literal() {
    let text = "# Time: 2026-11-21T07:12:09.637423Z\n# User@Host: r[r] @ h []  Id: 3\n\
        # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\nSET timestamp=1;\n\
        select 'x;\n# User@Host: e[e] @ h []  Id: 9\n';\n";
    let (found, tally) = all(text.as_bytes(), 1 << 20);
    assert_eq!((found.len(), tally.unbalanced), (1, 0));
}

#[test]
fn what_is_not_understood_is_so_in_pieces_of_any_size() {
    // Found by the fuzzer: a line that is only the middle of a head, behind something strange.
    let strange = "\nno log\n# Query_time: 1  Lock_time: 0\nselect 666;\n\nmore\n";
    let text = [strange, &record("do 1;\n")].concat();
    let whole = all(text.as_bytes(), 1 << 20);
    for piece in 1..60 {
        assert_eq!(all(text.as_bytes(), piece), whole, "{piece}");
    }
}

#[test]
fn a_name_too_long_for_a_database_is_none_however_the_log_comes() {
    let long = "x".repeat(1_200);
    let log = format!(
        "# User@Host: a[a] @ localhost []  Id: 7\n\
         # Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n\
         use {long};\nSET timestamp=1795245128;\nselect 1;\n"
    );
    let whole = all(log.as_bytes(), usize::MAX);
    assert_eq!(whole.0[0].database, None);
    for piece in [61, 118, 1_024, 1_100] {
        assert_eq!(all(log.as_bytes(), piece), whole, "in pieces of {piece}");
    }
}
