use crate::capture::log::tests::{Owned, all};
use crate::capture::{Confidence, EventKind, LogFlow, LogParser, LogRecord, LogTally};

fn sample(name: &str) -> Vec<u8> {
    let path = format!("{}/../../tests/data/logs/{name}.slow.log", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

/// Records in each log of the servers' own, as counted by the scripts that drove them.
/// Then those unbalanced, and those read without escapes behind nothing unbalanced.
const COUNTS: &[(&str, usize, u64, u64)] = &[
    ("mariadb10.11_default", 85, 0, 0),
    ("mariadb10.11_verbose", 88, 0, 0),
    ("mdb_after_rotate", 5, 0, 0),
    ("mdb_before_rotate", 6, 0, 0),
    ("mdb_completion_order", 4, 0, 0),
    ("mdb_unbalanced", 26, 3, 0),
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
        assert_eq!(hostile[0].confidence, Confidence::Clean);
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
    assert!(found.iter().any(|r| r.kind == EventKind::Quit));
    assert!(found.iter().any(|r| r.kind == EventKind::InitDb));
    let (found, _) = all(&sample("mariadb10.11_default"), 1 << 20);
    assert!(found.iter().all(|r| r.kind == EventKind::Statement));
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

/// A record of a session at so many seconds, that gave so many rows.
fn at(second: u64, session: u64, rows: u64, text: &str) -> String {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_795_245_129 + second);
    format!(
        "# Time: {}\n# User@Host: u[u] @ localhost []  Id: {session:5}\n\
         # Query_time: 0.1  Lock_time: 0.0 Rows_sent: {rows}  Rows_examined: 0\n\
         SET timestamp={};\n{text};\n",
        humantime::format_rfc3339_micros(time),
        1_795_245_129 + second,
    )
}

fn doubts(log: &str) -> Vec<(String, Confidence)> {
    let whole = all(log.as_bytes(), 1 << 20);
    for piece in [1, 7, 61, 1000] {
        assert_eq!(all(log.as_bytes(), piece), whole, "in pieces of {piece}");
    }
    whole.0.into_iter().map(|r| (r.text, r.confidence)).collect()
}

#[test]
fn a_perfect_head_in_a_literal_makes_what_follows_suspect() {
    let forged = format!("select 'x;\n{}' as lit", at(0, 3, 0, "drop table t"));
    let log = [at(0, 3, 1, "select 1"), at(0, 3, 0, &forged), at(0, 3, 1, "select 2")].concat();
    let found = doubts(&log);
    assert_eq!(found[0].1, Confidence::Clean);
    assert!(found[1..].iter().all(|(_, confidence)| !confidence.is_certain()), "{found:?}");
    assert_eq!(found.last().unwrap().0, "select 2");
}

#[test]
fn a_perfect_head_in_a_statement_that_gave_rows_is_text() {
    for second in [0, 30_000, 90_000] {
        let forged = format!("select 'x;\n{}' as lit", at(second, 3, 0, "drop table t"));
        let log = [at(0, 3, 1, "select 1"), at(0, 3, 1, &forged), at(0, 3, 1, "select 2")].concat();
        let found = doubts(&log);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[1].0, forged);
        assert_eq!((found[1].1, found[2].1), (Confidence::Imitates, Confidence::Clean), "{second}");
    }
    // Megabytes of it are no other.
    let many = at(0, 3, 0, "delete from t").repeat(12_000);
    let forged = format!("select 'x;\n{many}' as lit");
    let log = [at(0, 3, 1, "do 1"), at(0, 3, 1, &forged), at(0, 3, 1, "do 2")].concat();
    let (found, tally) = all(log.as_bytes(), 100_000);
    assert_eq!((found.len(), tally.imitates, tally.suspect), (3, 1, 0));
}

#[test]
fn what_looks_like_no_escapes_may_be_an_imitation_too() {
    let forged = format!("select 'x\\';\n{}' as lit", at(0, 3, 0, "delete from t"));
    let log = [at(0, 3, 1, "do 1"), at(0, 3, 1, &forged), at(0, 3, 1, "do 2")].concat();
    let found = doubts(&log);
    let delete = found.iter().find(|(text, _)| text == "delete from t");
    assert!(delete.is_none_or(|(_, confidence)| !confidence.is_certain()), "{found:?}");
    // A session that said so is believed, as far as the log tells that this was no error.
    let ok = |text: &str| {
        at(0, 3, 0, text).replace("# Query_time", "# Thread_id: 3  Errno: 0\n# Query_time")
    };
    let log = [ok("set sql_mode='NO_BACKSLASH_ESCAPES'"), ok("select '\\'"), ok("do 2")].concat();
    let found: Vec<Confidence> =
        doubts(&log).into_iter().map(|(_, confidence)| confidence).collect();
    assert_eq!(found, [Confidence::Clean, Confidence::NoEscapes, Confidence::Clean]);
}

#[test]
fn a_write_behind_something_unbalanced_is_not_certain_whatever_its_session_said() {
    let ok = |text: &str| {
        at(0, 3, 0, text).replace("# Query_time", "# Thread_id: 3  Errno: 0\n# Query_time")
    };
    let unbalanced = at(0, 4, 0, "select 'a").replace("Rows_sent: 0", "Rows_sent: 1");
    let log = [
        ok("set sql_mode='NO_BACKSLASH_ESCAPES'"),
        ok("delete from t where a = '\\'"),
        unbalanced,
        ok("delete from t where a = '\\'"),
    ];
    let found = doubts(&log.concat());
    let of_deletes: Vec<Confidence> = found
        .iter()
        .filter(|(text, _)| text.starts_with("delete"))
        .map(|(_, confidence)| *confidence)
        .collect();
    assert_eq!(of_deletes, [Confidence::NoEscapes, Confidence::Suspect], "{found:?}");
}

#[test]
fn a_banner_in_a_literal_does_not_lift_the_check_of_time() {
    let banner = "/usr/sbin/mysqld, Version: 9.7.4 (x). started with:\n\
                  Tcp port: 0  Unix socket: s\nTime                 Id Command    Argument\n";
    let yesterday = at(0, 1, 0, "drop table t");
    let forged = format!("select 'x\n{banner}{yesterday}'");
    let log = [at(86_400, 9, 1, "do 1"), at(86_401, 9, 0, &forged), at(86_402, 9, 1, "do 2")];
    let found = doubts(&log.concat());
    let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(texts, ["do 1", forged.as_str(), "do 2"]);
}

#[test]
fn a_head_far_ahead_in_a_quote_is_one_only_if_nothing_else_ends_it() {
    let late = at(25 * 3_600, 4, 0, "do 2");
    let log = [at(0, 3, 1, "do 1"), at(0, 3, 0, "select 'a"), late.clone(), late].concat();
    let found = doubts(&log);
    let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(texts, ["do 1", "select 'a", "do 2", "do 2"], "a quiet weekend");
    assert_eq!(found[1].1, Confidence::Unbalanced);
}

#[test]
fn a_session_says_which_characters_end_in_a_backslash() {
    let of = |names: &str| {
        let text = format!("select '\u{1}', 'b;\n{}'", at(0, 3, 0, "do 0"));
        let log = [at(0, 3, 0, names), at(0, 3, 1, &text), at(0, 3, 1, "do 2")].concat();
        // A character that ends in a backslash.
        let mut bytes = log.into_bytes();
        let place = bytes.iter().position(|b| *b == 1).unwrap();
        bytes.splice(place..=place, *b"\x95\\");
        all(&bytes, 1 << 20)
    };
    let (found, tally) = of("set names sjis");
    assert_eq!((found.len(), tally.ambiguous), (3, 1), "{found:?}");
    assert!(found[1].text.ends_with("do 0;\n'"));
    // A client may say what is not so: what follows is not certain.
    assert_eq!(found[2].confidence, Confidence::Suspect);
}

#[test]
fn a_comment_that_servers_run_may_end_elsewhere() {
    let log = [
        at(0, 3, 1, "do 1"),
        at(0, 3, 1, "SELECT /*!50000 '*/' */ AS q"),
        at(0, 3, 1, "select b from t where x='y'"),
        at(0, 3, 1, "do 2"),
    ];
    let found = doubts(&log.concat());
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(found[1], ("SELECT /*!50000 '*/' */ AS q".to_owned(), Confidence::Ambiguous));
    assert_eq!(found[2].1, Confidence::Suspect);
    let log = [at(0, 3, 1, "SELECT /*!50000 'a', */ 1"), at(0, 3, 1, "do 2")].concat();
    assert!(doubts(&log).iter().all(|(_, confidence)| *confidence == Confidence::Clean));
}

#[test]
fn a_comment_that_servers_run_proves_nothing() {
    let forged = format!(
        "SELECT /*!50000 \"\n{}*/;\n{}\" */ 1",
        at(0, 3, 0, "do 0"),
        at(0, 3, 1, "delete from t")
    );
    let log = [at(0, 3, 1, "do 1"), at(0, 3, 1, &forged), at(0, 3, 1, "do 2")].concat();
    let found = doubts(&log);
    let delete = found.iter().find(|(text, _)| text.starts_with("delete"));
    assert!(delete.is_none_or(|(_, confidence)| !confidence.is_certain()), "{found:?}");
}

#[test]
fn heads_without_accounts_are_read_where_a_log_has_no_others() {
    let head = "# Query_time: 0.000101  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n";
    let short = |text: &str| format!("{head}SET timestamp=1795298818;\n{text};\n");
    let log = [short("do 1"), short("select 'a;\n# Query_time: 1\n'"), short("do 2")].concat();
    let found = doubts(&log);
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|(_, confidence)| *confidence == Confidence::Clean), "{found:?}");
    // In another log they are odd, and neither they nor what stands before are certain.
    let log = [at(0, 3, 1, "do 1"), short("do 2"), at(0, 3, 1, "do 3"), at(0, 3, 1, "do 4")];
    let found = doubts(&log.concat());
    let odd: Vec<Confidence> = found.iter().map(|(_, confidence)| *confidence).collect();
    use Confidence::{Clean, Irregular};
    assert_eq!(odd, [Irregular, Irregular, Clean, Clean], "{found:?}");
    // What a log begins in the midst of says nothing of the rest.
    let cut = [at(0, 3, 1, "do 1"), at(0, 3, 1, "do 2"), at(0, 3, 1, "do 3")].concat();
    let found = doubts(&cut[cut.find("# Query_time").unwrap()..]);
    assert!(
        found.iter().all(|(_, confidence)| *confidence != Irregular || found[0].1 == Irregular)
    );
    assert_eq!(found.len(), 3);
}

#[test]
fn odd_heads_are_read_and_said() {
    let log = [at(0, 3, 1, "do 1"), at(0, 3, 1, "do 2"), at(0, 3, 1, "do 3")].concat();
    for (is, odd) in [
        ("2026-11-21T07:12:09.000000Z", ""),
        ("2026-11-21T07", "margdl"),
        ("u[u] @ localhost []  Id:     3", ""),
    ] {
        let log = log.replacen(is, odd, 2).replacen(odd, is, usize::from(!odd.is_empty()));
        let (found, tally) = all(log.as_bytes(), 1 << 20);
        let texts: Vec<&str> = found.iter().map(|r| r.text.as_str()).collect();
        assert_eq!(texts, ["do 1", "do 2", "do 3"], "{log}");
        assert!(tally.irregular > 0, "{log}");
    }
}

#[test]
fn a_head_without_a_statement_is_no_statement() {
    let bare = at(0, 3, 0, "do 0").replace("do 0;\n", "");
    let (found, tally) =
        all([at(0, 3, 1, "do 1"), bare.clone(), at(0, 3, 1, "do 2")].concat().as_bytes(), 1 << 20);
    assert_eq!((found.len(), tally.skipped.len()), (2, 1));
    assert_eq!(tally.skipped[0].line, 6);
    assert_eq!(found[1].confidence, Confidence::Suspect);
    // A statement that begins with comments like a head of another log keeps them.
    let text = "# User@Host: e[e] @ h []\n# Query_time: 1\nselect 1";
    let found = doubts(&[at(0, 3, 1, "do 1"), at(0, 3, 1, text)].concat());
    assert_eq!(found[1], (text.to_owned(), Confidence::Clean));
    let (found, tally) = all(bare.repeat(2_000).as_bytes(), 1 << 20);
    assert_eq!((found.len(), tally.skipped.len()), (0, 1));
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
        assert_eq!(
            (found[1].confidence, tally.banners),
            (Confidence::Cut, 1),
            "{cut}: {}",
            texts[1]
        );
        assert_eq!(
            found[2].confidence,
            Confidence::Suspect,
            "the banner may be in a literal, who knows"
        );
    }
    // A disk that was full and is not any more; a comment that looks like a head is not what a log writes.
    let log =
        [record("select a from\n"), record("do 2 # x\n# User@Host: a[a] @ b []\n;\n")].concat();
    let (found, _) = all(log.as_bytes(), 1 << 20);
    let doubts: Vec<Confidence> = found.iter().map(|r| r.confidence).collect();
    assert_eq!(doubts, [Confidence::Cut, Confidence::Suspect]);
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
        assert!(found[1..].iter().all(|r| !r.confidence.is_certain()), "{found:?}");
        assert!(found[0].confidence.is_certain());
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

/// Texts and tally of a log that comes in parts, with a quiet while behind each.
fn heard_in_parts(parts: &[&str]) -> (Vec<String>, LogTally) {
    let (mut log, mut texts) = (LogParser::default(), Vec::new());
    let on = &mut |r: &LogRecord<'_>| {
        texts.push(r.text.escape_ascii().to_string());
        LogFlow::Continue(())
    };
    for part in parts {
        assert!(log.push(part.as_bytes(), on).unwrap().is_continue());
        assert!(log.flush_quiet(on).unwrap().is_continue());
    }
    assert!(log.finish(on).unwrap().is_continue());
    (texts, log.tally().clone())
}

#[test]
fn more_of_what_was_given_early_is_said_whatever_it_looks_like() {
    let short = "# Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n\
                 SET timestamp=1795245129;\n";
    let usual = format!("# User@Host: u[u] @ localhost []  Id: 7\n{short}");
    // A comment behind a semicolon: of a banner's words, and of a key's where heads begin with keys.
    for (head, comment) in [
        (usual.as_str(), "# mysqld, Version: 9.7.0. started with:"),
        (short, "# Schema: of the shop, and more of it"),
    ] {
        let begin = format!("{head}select 1;\n");
        let rest = format!("{comment}\nfrom t;\n");
        let (whole, _) = all(format!("{begin}{rest}").as_bytes(), 1 << 20);
        assert_eq!(whole.len(), 1, "one statement: {whole:?}");
        let (texts, tally) = heard_in_parts(&[&begin, &rest]);
        assert_eq!(texts, ["select 1"], "{comment}");
        assert_eq!((tally.early, tally.continued), (1, 1), "{comment}");
    }
}

#[test]
fn a_server_that_dies_in_a_head_behind_a_quiet_while_takes_no_record_with_it() {
    let banner = "# Time:mysqld, Version: 9.7.0 (MySQL). started with:\n\
                  Tcp port: 3306  Unix socket: /tmp/s\nTime  Id Command    Argument\n";
    let next = format!("{banner}{}{}", at(1, 1, 1, "select 2"), at(2, 1, 1, "select 3"));
    let (texts, tally) = heard_in_parts(&[&at(0, 1, 1, "select 1"), &next]);
    assert_eq!(texts, ["select 1", "select 2", "select 3"], "{:?}", tally.skipped);
}

#[test]
fn what_is_learned_from_a_record_does_not_depend_on_a_quiet_while() {
    let begin = "lost;\n# Time: 2026-11-21T08:25:10.324468Z\nselect 1;\n";
    let keys = "# Query_time: 0.1  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n";
    let rest = format!("{keys}{keys}select 2;\n");
    let (whole, _) = all(format!("{begin}{rest}").as_bytes(), 1 << 20);
    let (texts, tally) = heard_in_parts(&[begin, &rest]);
    assert_eq!((texts.len(), tally.continued), (2, 0));
    assert_eq!(texts, whole.into_iter().map(|r| r.text).collect::<Vec<_>>());
}

#[test]
fn a_list_of_warnings_takes_no_record_with_it_in_pieces_of_any_size() {
    let keys = "# Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n";
    let head = format!("# User@Host: u[u] @ localhost []\n{keys}# Warnings\n# Warning 1 it\n");
    let next = format!("# User: u[u] @ h [10.0.0.5]\n{keys}SET timestamp=1795245129;\ndo 2;\n");
    // The warning goes on, or the statement follows, as old servers write no stamp.
    for between in ["is\nSET timestamp=1795245129;\ndo 1;\n", "do 1;\n"] {
        let log = format!("{head}{between}{next}");
        for piece in [1, 7, 61, 1 << 20] {
            let (found, _) = all(log.as_bytes(), piece);
            let texts: Vec<&str> = found.iter().map(|r| r.text.as_str()).collect();
            assert_eq!(texts, ["do 1", "do 2"], "in pieces of {piece}");
        }
        for cut in 0..log.len() {
            let (texts, _) = heard_in_parts(&[&log[..cut], &log[cut..]]);
            assert_eq!(texts, ["do 1", "do 2"], "cut at {cut}");
        }
    }
}
