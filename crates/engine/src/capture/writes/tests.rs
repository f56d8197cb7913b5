use super::*;

fn half_of(text: &str) -> Option<String> {
    let half = read_half(text.as_bytes(), &AllowList::default())?;
    Some(String::from_utf8(half).unwrap())
}

#[test]
fn the_read_half_of_every_form() {
    for (text, expected) in [
        ("UPDATE t SET a = 1 WHERE b = 2", "SELECT * FROM t WHERE b = 2"),
        (
            "update ignore t as x set a = (select 1 from u where c = 3) where x.b = 'where'",
            "SELECT * FROM t as x where x.b = 'where'",
        ),
        (
            "UPDATE t SET a = b + 1 ORDER BY c DESC LIMIT 5",
            "SELECT * FROM t ORDER BY c DESC LIMIT 5",
        ),
        ("UPDATE a, b SET a.c = b.c WHERE a.d = b.d", "SELECT * FROM a, b WHERE a.d = b.d"),
        ("UPDATE a JOIN b USING (d) SET a.set = 1", "SELECT * FROM a JOIN b USING (d)"),
        ("UPDATE t SET a = CASE WHEN b THEN 1 END WHERE c;", "SELECT * FROM t WHERE c"),
        (
            "WITH x AS (SELECT 1) UPDATE t SET a = 1 WHERE b IN (SELECT * FROM x)",
            "WITH x AS (SELECT 1) SELECT * FROM t WHERE b IN (SELECT * FROM x)",
        ),
        ("DELETE FROM t", "SELECT * FROM t"),
        (
            "DELETE QUICK FROM d.t PARTITION (p0) WHERE a = 1 ORDER BY b LIMIT 1 RETURNING a",
            "SELECT * FROM d.t PARTITION (p0) WHERE a = 1 ORDER BY b LIMIT 1",
        ),
        (
            "DELETE a, b.* FROM a JOIN b ON a.c = b.c WHERE a.d = 1",
            "SELECT * FROM a JOIN b ON a.c = b.c WHERE a.d = 1",
        ),
        (
            "DELETE FROM a, d.b USING a JOIN d.b USING (c) WHERE e",
            "SELECT * FROM a JOIN d.b USING (c) WHERE e",
        ),
        (
            "INSERT INTO t (a, b) SELECT c, d FROM u WHERE e = 1 ON DUPLICATE KEY UPDATE a = 2",
            "SELECT c, d FROM u WHERE e = 1",
        ),
        (
            "INSERT t SELECT a FROM b JOIN c ON b.d = c.d FOR UPDATE",
            "SELECT a FROM b JOIN c ON b.d = c.d",
        ),
        ("REPLACE INTO t (SELECT 1) ", "(SELECT 1)"),
        (
            "INSERT INTO t WITH x AS (SELECT 1) SELECT * FROM x",
            "WITH x AS (SELECT 1) SELECT * FROM x",
        ),
        ("INSERT INTO t TABLE u RETURNING a", "TABLE u"),
    ] {
        assert_eq!(half_of(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn what_is_not_known_in_full_has_none() {
    for text in [
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t SET a = 1",
        "SELECT 1",
        "UPDATE t",
        "UPDATE t SET",
        "DELETE t",
        "DELETE FROM t FOR PORTION OF p FROM 1 TO 2",
        "UPDATE t SET a = 1 WHERE b = SLEEP(1)",
        "UPDATE t SET a = 1 WHERE f(b)",
        "UPDATE t SET a = 1 /*!50000 WHERE b = 1 */",
        "UPDATE t SET a = '\\' WHERE b = 1 -- '",
        "INSERT INTO t SELECT 1 INTO OUTFILE 'x'",
        "LOAD DATA INFILE 'x' INTO TABLE t",
        "DELETE FROM t; DELETE FROM u",
    ] {
        assert_eq!(half_of(text), None, "{text}");
    }
}

fn indexes() -> IndexCatalog {
    let names = |all: &str| all.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let index = |name: &str, columns| TableIndex { name: name.to_owned(), columns: names(columns) };
    let table = IndexedTable {
        columns: names("id k c"),
        indexes: vec![index("PRIMARY", "id"), index("k_1", "k"), index("kc", "k c")],
    };
    let mut indexes = IndexCatalog::default();
    indexes.insert_table("d", "t", table);
    indexes
}

fn probes_of(text: &str) -> Vec<String> {
    let all = index_lookups(text.as_bytes(), Some("D"), &indexes(), &AllowList::default());
    all.into_iter().map(|text| String::from_utf8(text).unwrap()).collect()
}

#[test]
fn a_new_row_is_looked_up_in_every_index() {
    let expected = [
        "SELECT 1 FROM t FORCE INDEX (`PRIMARY`) WHERE `id` = 1 LIMIT 1",
        "SELECT 1 FROM t FORCE INDEX (`k_1`) WHERE `k` = -2 AND `id` = 1 LIMIT 1",
        "SELECT 1 FROM t FORCE INDEX (`kc`) WHERE `k` = -2 AND `c` = 'x' AND `id` = 1 LIMIT 1",
    ];
    assert_eq!(probes_of("INSERT INTO t VALUES (1, -2, 'x')"), expected);
    assert_eq!(probes_of("REPLACE INTO t SET c = 'x', k = -2, id = 1"), expected);
    // Without the counter's value only what is known.
    let known = probes_of("INSERT INTO d.T (k, c) VALUES (7, NOW()), (8, NULL)");
    assert_eq!(known[0], "SELECT 1 FROM d.T FORCE INDEX (`k_1`) WHERE `k` = 7 LIMIT 1");
    assert_eq!(known.len(), 4);
    assert!(probes_of("INSERT INTO other VALUES (1)").is_empty());
    assert!(probes_of("INSERT INTO t VALUES (1)").is_empty());
}

#[test]
fn old_and_new_entries_of_changed_indexes() {
    let all = probes_of("UPDATE t SET k = k + 1 WHERE id = 5");
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(
        all[0],
        "SELECT COUNT(*) FROM (SELECT `k` AS k0, `id` AS k1 FROM t WHERE id = 5) AS o \
         STRAIGHT_JOIN t AS n FORCE INDEX (`k_1`) ON n.`k` <=> o.k0 AND n.`id` <=> o.k1"
    );
    assert!(all[1].starts_with("SELECT COUNT(*) FROM (SELECT (k + 1) AS k0, `id` AS k1 FROM t"));
    // A column that no index holds changes none.
    assert_eq!(probes_of("UPDATE t SET d = 1 WHERE id = 5"), Vec::<String>::new());
    assert_eq!(probes_of("UPDATE t SET k = DEFAULT WHERE id = 5").len(), 2);
    assert_eq!(probes_of("UPDATE t SET k = SLEEP(1) WHERE id = 5").len(), 2);
    assert_eq!(probes_of("DELETE FROM t WHERE id = 5").len(), 2);
    assert!(probes_of("DELETE t FROM t JOIN u USING (id)").is_empty());
}
