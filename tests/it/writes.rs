//! Read halves of writes against real servers: what the SELECT finds is what the write changes.

use std::collections::BTreeSet;

use sweat::base::Stop;
use sweat::capture::read_only::{AllowList, FilterDecision, filter_statement};
use sweat::capture::writes::{IndexCatalog, index_lookups, read_half};
use sweat::client::{ServerProduct, Session};

use crate::fixture::{self, Fixture};

const SETUP: &str = "
CREATE DATABASE d;
USE d;
CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, c VARCHAR(20) NOT NULL, KEY k_1 (k),
  KEY ck (c, k));
CREATE TABLE u (id INT PRIMARY KEY, k INT NOT NULL, c VARCHAR(20) NOT NULL);
CREATE TABLE w (id INT PRIMARY KEY AUTO_INCREMENT, k INT, c VARCHAR(20));
INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, 4, 'd'), (5, 5, 'e'),
  (6, 6, 'it''s'),
  (7, 7, 'set'), (8, 8, 'where'), (9, 9, 'x;y'), (10, 10, '/* z */');
INSERT INTO u SELECT id, k, c FROM t WHERE id <= 6;
";

/// Which rows of `t`, by all that may stand in a condition.
const WHERE: &[&str] = &[
    "",
    "WHERE id = 3",
    "WHERE id BETWEEN 2 AND 5",
    "WHERE c = 'it''s' OR c = 'where'",
    "WHERE c = 'it\\'s'",
    "WHERE c IN ('set', \"where\", 'x;y')",
    "WHERE k > 2 AND NOT (id % 2)",
    "WHERE id IN (SELECT id FROM u WHERE k > 3)",
    "WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id ORDER BY u.k LIMIT 1)",
    "WHERE CASE WHEN k < 4 THEN 1 ELSE 0 END",
    "WHERE c LIKE '%/*%' -- a comment\n OR id = 1",
    "WHERE /* limit 1 */ id <= 4 /* where */",
    "WHERE k + INTERVAL(id, 2, 5) > 4",
];

/// What may follow, where one table is written.
const LIMITS: &[&str] = &["", " ORDER BY id DESC LIMIT 2"];

/// A write, and rows that it changes for each row that its read half finds.
struct Case {
    text: String,
    rows: u64,
}

fn corpus() -> Vec<Case> {
    let mut all = Vec::new();
    for condition in WHERE {
        for limit in LIMITS {
            let tail = format!("{condition}{limit}");
            for text in [
                format!("UPDATE t SET k = k + 1000 {tail}"),
                format!("update low_priority t set c = 'set where', k = (select 50 + 50) {tail};"),
                format!("DELETE FROM t {tail}"),
                format!("INSERT INTO w (k, c) SELECT k, c FROM t {tail}"),
                format!("REPLACE INTO w (k, c) (SELECT k, c FROM d.t {tail})"),
            ] {
                all.push(Case { text, rows: 1 });
            }
        }
        let qualified = condition.replace("id", "t.id").replace("u.t.id", "u.id");
        let qualified = qualified.replace("t.t.id", "t.id").replace(" k", " t.k");
        let qualified = qualified.replace("(k", "(t.k").replace(" c ", " t.c ");
        if condition.contains("SELECT") {
            continue;
        }
        for (text, rows) in [
            (format!("UPDATE t JOIN u ON t.id = u.id SET t.k = 77, u.k = 78 {qualified}"), 2),
            (format!("DELETE t FROM t, d.u AS u {}", and(&qualified)), 1),
            (format!("DELETE FROM t, u USING t JOIN u USING (id) {qualified}"), 2),
        ] {
            all.push(Case { text, rows });
        }
    }
    all.push(Case {
        text: "WITH x AS (SELECT 3 AS n) DELETE FROM t WHERE id <= (SELECT n FROM x)".to_owned(),
        rows: 1,
    });
    all
}

fn and(condition: &str) -> String {
    match condition.strip_prefix("WHERE") {
        Some(rest) => format!("WHERE t.id = u.id AND ({rest}\n)"),
        None => "WHERE t.id = u.id".to_owned(),
    }
}

fn compare(fixture: &Fixture) {
    fixture.sql(SETUP);
    let mut session = fixture.target().connect(&Stop::new()).unwrap();
    session.run_command("USE d").unwrap();
    let is_maria = session.identity().product == ServerProduct::MariaDb;
    let corpus = corpus();
    assert!(corpus.len() >= 100, "{}", corpus.len());
    let mut found = BTreeSet::new();
    for Case { text, rows } in &corpus {
        // MariaDB takes no WITH before a DELETE.
        if is_maria && text.starts_with("WITH") {
            continue;
        }
        let allowed = AllowList::default();
        let half = read_half(text.as_bytes(), &allowed).unwrap_or_else(|| panic!("{text}"));
        assert!(matches!(filter_statement(&half, &allowed), FilterDecision::Read(_)));
        let half = String::from_utf8(half).unwrap();
        let explained = session.query_rows(&format!("EXPLAIN {half}"));
        explained.unwrap_or_else(|e| panic!("{text}\n{half}\n{e}"));
        let read = session.query_rows(&half).unwrap().rows.len() as u64;
        session.run_command("BEGIN").unwrap();
        let changed = session.run_command(text.trim_end_matches(';'));
        let changed = changed.unwrap_or_else(|e| panic!("{text}\n{e}")).affected;
        session.run_command("ROLLBACK").unwrap();
        assert_eq!(changed, read * rows, "{text}\n{half}");
        found.insert(read);
    }
    assert!(found.len() > 4, "all find the same: {found:?}");
}

/// Look-ups run, and by the index that they are for.
fn look_up(fixture: &Fixture) {
    let mut session = fixture.target().connect(&Stop::new()).unwrap();
    let indexes = IndexCatalog::read_catalog(&mut session).unwrap();
    assert_eq!(indexes.table("d", "T").unwrap().primary_key(), ["id"]);
    assert_eq!(indexes.table("d", "t").unwrap().indexes.len(), 3);
    session.run_command("USE d").unwrap();
    for (text, names) in [
        ("INSERT INTO t VALUES (11, 11, 'new')", &["PRIMARY", "ck", "k_1"][..]),
        ("REPLACE INTO t SET id = 3, k = 4, c = 'x'", &["PRIMARY", "ck", "k_1"]),
        ("UPDATE t SET k = k + 1 WHERE id = 5", &["ck", "k_1"]),
        ("UPDATE d.t AS a SET a.c = CONCAT(a.c, '!') WHERE a.k > 5 ORDER BY id LIMIT 2", &["ck"]),
        ("UPDATE t SET id = 50 WHERE id = 5", &["PRIMARY", "ck", "k_1"]),
        ("DELETE FROM t WHERE c = 'a'", &["ck", "k_1"]),
    ] {
        let all = index_lookups(text.as_bytes(), Some("d"), &indexes, &AllowList::default());
        let mut used = BTreeSet::new();
        for probe in all {
            let probe = String::from_utf8(probe).unwrap();
            session.query_rows(&probe).unwrap_or_else(|e| panic!("{text}\n{probe}\n{e}"));
            used.extend(key_of(&mut session, &probe, names));
        }
        assert_eq!(used.iter().map(String::as_str).collect::<Vec<_>>(), names, "{text}");
    }
}

/// The index that a look-up forces, if its plan has it or the server was done while planning.
fn key_of(session: &mut Session, probe: &str, names: &[&str]) -> Option<String> {
    let forced = |name: &&&str| probe.contains(&format!("FORCE INDEX (`{name}`)"));
    let name = names.iter().find(forced)?;
    let plan = session.query_rows(&format!("EXPLAIN FORMAT=TRADITIONAL {probe}"));
    let plan = plan.or_else(|_| session.query_rows(&format!("EXPLAIN {probe}"))).unwrap();
    let key = plan.column_index("key").unwrap();
    let uses = (0..plan.rows.len()).any(|row| plan.text_value(row, key).as_deref() == Some(*name));
    let has_no_plan = (0..plan.rows.len()).all(|row| plan.text_value(row, key).is_none());
    assert!(uses || has_no_plan, "{probe}: {plan:?}");
    Some((*name).to_string())
}

#[test]
fn halves_find_what_writes_change_on_mariadb() {
    let fixture = fixture::mariadb();
    compare(&fixture);
    look_up(&fixture);
}

#[test]
fn halves_find_what_writes_change_on_mysql() {
    let Some(fixture) = fixture::mysql() else { return };
    compare(&fixture);
    look_up(&fixture);
}
