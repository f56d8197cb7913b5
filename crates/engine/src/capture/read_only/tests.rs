use proptest::prelude::*;

use super::*;
use crate::capture::writes::read_half;

fn of(text: &str) -> FilterDecision<'_> {
    filter_statement(text.as_bytes(), &AllowList::default())
}

/// What is sent for a statement that reads.
fn sent(text: &str) -> String {
    match of(text) {
        FilterDecision::Read(sent) | FilterDecision::Set(sent) => {
            String::from_utf8(sent.into_owned()).unwrap()
        }
        other => panic!("{text}: {other:?}"),
    }
}

fn why(text: &str) -> RefusalReason {
    match of(text) {
        FilterDecision::Refused(refusal) => refusal,
        other => panic!("{text}: {other:?}"),
    }
}

fn word(text: &str) -> String {
    text.to_owned()
}

#[test]
fn what_reads_is_sent_as_it_is() {
    for text in [
        "SELECT 1",
        "select a, b from t where c = 'x' and d in (1, 2) order by a desc limit 10, 5",
        "SELECT COUNT(*) FROM `a b`.`c` AS x LEFT JOIN d USING (e, f) WHERE EXISTS (SELECT 1)",
        "(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1",
        "((SELECT a FROM t) EXCEPT (SELECT b FROM u)) LIMIT 1",
        "WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT * FROM n",
        "WITH a AS (SELECT 1), b(x, y) AS (SELECT 2, 3) SELECT * FROM a, b",
        "SELECT * FROM (SELECT 1, 2) AS d (a, b)",
        "VALUES ROW(1, 2), ROW(3, 4)",
        "TABLE t ORDER BY a LIMIT 3",
        "SELECT t.update, t.set, t.into FROM t",
        "SELECT /* plain */ a -- line\n, b # hash\n FROM t",
        "SELECT /*!40001 SQL_NO_CACHE */ * FROM t",
        "SELECT /*+ INDEX(t k_1) */ a FROM t",
        "SELECT rank() OVER w, sum(a) over (partition by b) FROM t WINDOW w AS (ORDER BY c)",
        "SELECT 'it''s', \"x\", 'a\\'b', 1.5e3, .5, 0x1F, b'01', x'41', @a, @@version, \\N",
        "SELECT a->>'$.b' FROM t WHERE JSON_CONTAINS(c, '1') AND 3 MEMBER OF (d)",
        "SELECT MATCH (a) AGAINST ('+x' IN BOOLEAN MODE) FROM t USE INDEX FOR JOIN (k)",
        "SELECT * FROM JSON_TABLE('[1]', '$[*]' COLUMNS (b VARCHAR(9) PATH '$')) AS j",
        "SELECT CONVERT(a USING utf8mb4), CAST(b AS CHAR(10) CHARACTER SET latin1) FROM t",
        "SELECT a FROM t PARTITION (p0, p1) FOR SYSTEM_TIME AS OF NOW()",
        "SELECT @a := @a + 1 FROM t, (SELECT @a := 0) x",
        "SELECT substring(a from 1 for share) FROM t",
        "SHOW FULL TABLES FROM x LIKE 'a%'",
        "SHOW CREATE TABLE `x`.`y`",
        "SHOW GLOBAL VARIABLES WHERE Variable_name = 'x'",
        "SHOW COUNT(*) WARNINGS",
        "SHOW CHARACTER SET",
        "DESCRIBE t",
        "EXPLAIN FORMAT=JSON SELECT 1",
        "EXPLAIN ANALYZE SELECT 1",
        "ANALYZE FORMAT=JSON SELECT 1",
        "DO 1 + 1",
        "SAVEPOINT a",
        "ROLLBACK TO SAVEPOINT a",
        "RELEASE SAVEPOINT a",
        "SELECT größe FROM größen",
        "SELECT a FROM `2020_sales` WHERE 2020_b = 1",
        "SELECT 5--1, 6/2, 2*/*c*/3",
    ] {
        assert_eq!(sent(text), text);
    }
    assert_eq!(sent("SELECT 1;"), "SELECT 1");
    assert_eq!(sent("SELECT 1 ; ;-- bye"), "SELECT 1 ");
}

#[test]
fn locks_and_hints_that_set_are_left_out() {
    let cases = [
        ("SELECT a FROM t WHERE b = 1 FOR UPDATE", "SELECT a FROM t WHERE b = 1"),
        ("SELECT a FROM t FOR UPDATE OF t, u.v SKIP LOCKED;", "SELECT a FROM t"),
        ("SELECT a FROM t LOCK IN SHARE MODE", "SELECT a FROM t"),
        ("SELECT a FROM t FOR SHARE NOWAIT", "SELECT a FROM t"),
        ("SELECT a FROM t FOR UPDATE WAIT 5", "SELECT a FROM t"),
        ("(SELECT a FROM t FOR UPDATE) UNION SELECT 1", "(SELECT a FROM t ) UNION SELECT 1"),
        ("SELECT (SELECT 1 FROM t LIMIT 1 FOR SHARE) x", "SELECT (SELECT 1 FROM t LIMIT 1 ) x"),
        ("SELECT /*+ SET_VAR(sql_log_bin=0) */ 1", "SELECT   1"),
        ("SELECT /*+ MAX_EXECUTION_TIME(0) BKA(t) */ 1", "SELECT   1"),
        ("SELECT a FROM t /*+ SET_VAR(a=1) */LOCK IN SHARE MODE", "SELECT a FROM t"),
        ("SELECT a FROM t /*+ BKA(t) */FOR UPDATE", "SELECT a FROM t /*+ BKA(t) */"),
        ("SELECT a FROM t /* b */FOR UPDATE", "SELECT a FROM t /* b */"),
        ("SELECT a FROM t LOCK /*+ SET_VAR(a=1) */ IN SHARE MODE", "SELECT a FROM t"),
    ];
    for (text, expected) in cases {
        assert_eq!(sent(text), expected);
    }
}

#[test]
fn what_writes_is_known_by_its_verb() {
    for text in [
        "INSERT INTO t VALUES (1), (2)",
        "insert into a.t (b, c) values (1, 2) on duplicate key update b = values(b)",
        "INSERT t SELECT * FROM u",
        "REPLACE INTO t SET a = 1",
        "UPDATE t SET a = 1 WHERE b = 2",
        "UPDATE LOW_PRIORITY IGNORE t, u SET t.a = u.a WHERE t.b = u.b",
        "DELETE FROM t WHERE a = 1",
        "DELETE a, b FROM a JOIN b USING (c)",
        "WITH x AS (SELECT 1) DELETE FROM t WHERE a IN (SELECT * FROM x)",
        "WITH x AS (SELECT 1) UPDATE t SET a = 1",
        "/* a comment */ INSERT INTO t VALUES (1)",
    ] {
        assert_eq!(of(text), FilterDecision::Write, "{text}");
    }
    let sleeps = why("INSERT INTO t SELECT SLEEP(1)");
    assert_eq!(sleeps, RefusalReason::Function(word("SLEEP")));
    assert_eq!(why("DELETE HISTORY FROM t"), RefusalReason::Verb(word("DELETE HISTORY")));
}

#[test]
fn transactions_and_databases() {
    assert_eq!(of("BEGIN"), FilterDecision::Begin { is_snapshot: false });
    assert_eq!(of("begin work"), FilterDecision::Begin { is_snapshot: false });
    assert_eq!(of("START TRANSACTION READ WRITE"), FilterDecision::Begin { is_snapshot: false });
    let snapshot = of("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
    assert_eq!(snapshot, FilterDecision::Begin { is_snapshot: true });
    assert_eq!(of("COMMIT"), FilterDecision::End);
    assert_eq!(of("ROLLBACK AND NO CHAIN"), FilterDecision::End);
    assert_eq!(of("USE `a``b`"), FilterDecision::Use(b"a`b".to_vec()));
    assert!(matches!(of("BEGIN NOT ATOMIC DELETE FROM t; END"), FilterDecision::Refused(_)));
    assert!(matches!(of("START SLAVE"), FilterDecision::Refused(_)));
}

#[test]
fn settings_of_the_session_only() {
    for text in [
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        "SET NAMES 'utf8'",
        "SET CHARACTER SET latin1",
        "SET autocommit=0, time_zone = '+00:00'",
        "SET @@session.sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), @@wait_timeout = 9",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET TRANSACTION READ ONLY",
        "SET @a = 1, @b := (SELECT MAX(id) FROM t)",
        "SET character_set_results = NULL",
        "/*!40101 SET NAMES utf8 */",
        "SET group_concat_max_len = 100000",
    ] {
        assert_eq!(sent(text), text);
    }
    for (text, name) in [
        ("SET GLOBAL read_only = 0", "global"),
        ("SET @@global.read_only = 0", "global"),
        ("SET @@GLOBAL . read_only = 0", "global"),
        ("SET autocommit = 1, GLOBAL read_only = 0", "global"),
        ("SET PERSIST max_connections = 1", "persist"),
        ("SET sql_log_bin = 0", "sql_log_bin"),
        ("SET SESSION TRANSACTION READ WRITE", "transaction"),
        ("SET transaction_read_only = 0", "transaction_read_only"),
        ("SET SESSION tx_read_only = 0", "tx_read_only"),
        ("SET NAMES gbk", "names gbk"),
        ("SET character_set_client = sjis", "names sjis"),
        ("SET sql_mode = 'ORACLE'", "sql_mode"),
        ("SET sql_mode = 0x100", "sql_mode"),
        ("SET sql_mode = @ansi", "sql_mode"),
        ("SET sql_mode = CONCAT('ORA', 'CLE')", "sql_mode"),
        ("SET max_statement_time = 0", "max_statement_time"),
        ("SET STATEMENT sql_log_bin = 0 FOR DELETE FROM t", "statement"),
        ("SET PASSWORD = 'x'", "password"),
        ("SET ROLE admin", "role"),
        ("SET group_concat_max_len = 4294967295", "group_concat_max_len"),
        ("SET sort_buffer_size = 1 << 40", "sort_buffer_size"),
    ] {
        assert_eq!(why(text), RefusalReason::Setting(word(name)), "{text}");
    }
    assert_eq!(why("SET @a = GET_LOCK('x', 1)"), RefusalReason::Function(word("GET_LOCK")));
    assert_eq!(why("SET time_zone = (SELECT f())"), RefusalReason::UnknownFunction(word("f")));
}

#[test]
fn a_statement_that_servers_may_read_in_many_ways_is_short() {
    let ones = |count| "1,".repeat(count);
    let text = |count| format!("SELECT {}1 /*!50000 + 1 */ /*!50001 + 1 */ FROM t", ones(count));
    assert!(matches!(of(&text(1_000)), FilterDecision::Read(_)));
    assert!(of(&text(500_000)) == FilterDecision::Refused(RefusalReason::Long));
    // Where all servers read the same, it may be as long as any.
    let long = format!("SELECT {}1 FROM t", ones(500_000));
    assert!(matches!(of(&long), FilterDecision::Read(_)));
}

#[test]
fn reasons() {
    use RefusalReason::*;
    for (text, expected) in [
        ("", Empty),
        ("/* only a comment */", Empty),
        (";", Empty),
        ("CREATE TABLE t (a INT)", Verb(word("CREATE TABLE"))),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT 1", Verb(word("INSERT"))),
        ("SELECT SLEEP(1)", Function(word("SLEEP"))),
        ("SELECT sleep /* */ (1)", Function(word("SLEEP"))),
        ("SELECT `sleep`(1)", Function(word("SLEEP"))),
        ("SELECT NEXT VALUE FOR s", Function(word("NEXT VALUE FOR"))),
        ("SELECT s.nextval, s.`NextVal`", Function(word("NEXTVAL"))),
        ("SELECT my_func(1)", UnknownFunction(word("my_func"))),
        ("SELECT db.my_func(1)", UnknownFunction(word("db.my_func"))),
        ("SELECT db.abs (1)", UnknownFunction(word("db.abs"))),
        ("SELECT columns(1)", UnknownFunction(word("columns"))),
        ("SELECT 1 INTO OUTFILE 'x'", Into),
        ("SELECT 1 INTO @a", Into),
        ("SELECT a FROM t PROCEDURE ANALYSE()", Verb(word("PROCEDURE"))),
        ("SELECT 1; DELETE FROM t", Several),
        ("SELECT 'a", Unreadable),
        ("SELECT (1", Unreadable),
        ("SELECT 1)", Unreadable),
        ("ALTER USER a IDENTIFIED BY <secret>", Verb(word("ALTER USER"))),
        ("SELECT <secret>", Secret),
        ("SELECT a FROM t WHERE b = '<secret>'", Secret),
        ("CREATE TEMPORARY TABLE IF NOT EXISTS a.B (c INT)", Temporary(word("b"))),
        ("PREPARE s FROM ...", Prepared),
        ("EXECUTE s USING @a", Prepared),
        ("DEALLOCATE PREPARE s", Prepared),
        ("EXECUTE IMMEDIATE 'DROP TABLE t'", Verb(word("EXECUTE"))),
        ("ANALYZE UPDATE t SET a = 1", Verb(word("ANALYZE UPDATE"))),
        ("EXPLAIN DELETE FROM t", Verb(word("EXPLAIN DELETE"))),
        ("EXPLAIN ANALYZE UPDATE t SET a = 1", Verb(word("EXPLAIN UPDATE"))),
    ] {
        assert_eq!(why(text), expected, "{text}");
    }
}

#[test]
fn where_servers_may_differ_nothing_is_sent() {
    for text in [
        // The end of a number is no blank.
        "SELECT 1e5into outfile 'x'",
        "SELECT 1.5into outfile 'x'",
        "SELECT .5into outfile 'x'",
        "SELECT 1.into outfile 'x'",
        "SELECT t.1into outfile 'x'",
        // MySQL 9 has texts in dollars.
        "SELECT $$ -- $$ into outfile 'x'",
        // In latin1 0xA0 is a blank.
        "SELECT aà into outfile 'x'",
        // Control characters begin comments and end them.
        "SELECT 1 --\u{1} 2",
        "SELECT 1 -- \0 into outfile 'x'",
        "SELECT 1 \0",
        "SELECT `a\0b`",
        // Backslashes, by sql_mode.
        "SELECT '\\', sleep(1) -- '",
        "SELECT \"\\\", sleep(1) -- \"",
        "SELECT 'a\\'' into outfile 'x' -- '",
        // Executable comments.
        "SELECT 1 /*!50000 into outfile 'x' */",
        "SELECT 1 /*! , sleep(1) */",
        "SELECT 1 /*M! , sleep(1) */",
        "SELECT 1 /*M!100100 , sleep(1) */",
        "SELECT 1 /*!99999 ' */ , sleep(1) /*! ' */",
        "SELECT 1 /*! /* */ , sleep(1) */",
        "SELECT 1 /*!50000 -- */ , sleep(1) \n */",
        "/*! CALL p() */",
        "/*!99999 SELECT */ DELETE FROM t",
        "SELECT 1 /*!1234 x */",
        "SELECT 1 /* never ends",
        "SELECT 1 /*+ 'a */ , sleep(1) /* ' */",
    ] {
        assert!(matches!(of(text), FilterDecision::Refused(_)), "{text}: {:?}", of(text));
    }
    let gbk = b"SELECT '\xbf\\' , sleep(1) -- '";
    assert!(matches!(filter_statement(gbk, &AllowList::default()), FilterDecision::Refused(_)));
}

#[test]
fn a_mode_in_which_servers_only_fail_does_not_count() {
    // Without escapes the quote has no end.
    let text = "SELECT 'it\\'s'";
    assert_eq!(sent(text), text);
    // With escapes it has none.
    let text = "SELECT 'ends in backslash\\'";
    assert_eq!(sent(text), text);
}

#[test]
fn functions_and_views_of_the_user() {
    let allowed = AllowList {
        functions: vec![word("my_func"), word("db.other")],
        views: vec![word("calling")],
        ..AllowList::default()
    };
    let of = |text: &'static str| filter_statement(text.as_bytes(), &allowed);
    assert!(matches!(of("SELECT MY_FUNC(1), `db`.Other()"), FilterDecision::Read(_)));
    assert!(matches!(
        of("SELECT other()"),
        FilterDecision::Refused(RefusalReason::UnknownFunction(_))
    ));
    assert_eq!(
        of("SELECT * FROM x.`Calling`"),
        FilterDecision::Refused(RefusalReason::View(word("calling")))
    );
    let all = AllowList { functions: vec![word("*")], ..AllowList::default() };
    assert!(matches!(filter_statement(b"SELECT anything(1)", &all), FilterDecision::Read(_)));
    assert!(matches!(filter_statement(b"SELECT sleep(1)", &all), FilterDecision::Refused(_)));
}

#[test]
fn tables_that_a_statement_names() {
    for (text, expected) in [
        ("SELECT * FROM a, b.c JOIN `D` ON x = y WHERE z IN (SELECT 1 FROM e)", "a c d e"),
        ("UPDATE a, b SET c = 1, d = 2", "a b"),
        ("INSERT INTO a (b, c) SELECT d, e FROM f", "a f"),
        ("DELETE a FROM b AS a, c USE INDEX (d) WHERE e", "a b c"),
        ("DROP TEMPORARY TABLE IF EXISTS a, b", "a b"),
        ("SELECT 1", ""),
    ] {
        assert_eq!(table_names(text.as_bytes()).join(" "), expected, "{text}");
    }
    assert_eq!(
        temporary_table(b"create or replace temporary table if not exists a.B select 1"),
        Some(TemporaryTableChange::Created(word("b")))
    );
    assert_eq!(
        temporary_table(b"DROP TEMPORARY TABLE x"),
        Some(TemporaryTableChange::Dropped(word("x")))
    );
    assert_eq!(temporary_table(b"CREATE TABLE x (a INT)"), None);
}

/// Pieces that statements are made of, and that make trouble.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "EXPLAIN ",
        "SHOW ",
        "ANALYZE ",
        "DESC ",
        "DO ",
        "USE ",
        "START TRANSACTION ",
        "SAVEPOINT ",
        "CREATE ",
        "TEMPORARY TABLE ",
        "SESSION ",
        "TRANSACTION ",
        "GLOBAL ",
        "COUNT",
        ".",
        "DELETE FROM ",
        "EXECUTE ",
        "FORMAT",
        "BEGIN ",
        "ROLLBACK TO ",
        "RECURSIVE ",
        "ON DUPLICATE KEY ",
        "LIMIT 1 ",
        "SELECT ",
        "FROM t ",
        "WHERE a ",
        "(",
        ")",
        ", ",
        "'",
        "\"",
        "`",
        "\\",
        "/*",
        "*/",
        "/*!",
        "/*!50000 ",
        "/*+ ",
        "-- ",
        "#",
        "\n",
        ";",
        "FOR ",
        "UPDATE ",
        "SHARE ",
        "LOCK IN SHARE MODE ",
        "OF t ",
        "SKIP LOCKED ",
        "INTO ",
        "SET ",
        "@a ",
        ":= ",
        "1",
        ".5",
        "e5",
        "x",
        "abs(1) ",
        "WITH ",
        "AS ",
        "UNION ",
        "INSERT ",
        "VALUES ",
        "SET_VAR(a=1) ",
        "\0",
        "\u{e9}",
        "DELETE ",
        "=",
        "names ",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|all| all.concat().into_bytes())
}

fn is_stable(text: &[u8]) {
    let allowed = AllowList::default();
    if let FilterDecision::Read(sent) = filter_statement(text, &allowed) {
        let again = filter_statement(&sent, &allowed);
        assert_eq!(
            again,
            FilterDecision::Read(Cow::Borrowed(&sent[..])),
            "{:?}",
            String::from_utf8_lossy(text)
        );
    }
    table_names(text);
    temporary_table(text);
    // Its halves are checked by themselves; here they only must not panic.
    read_half(text, &allowed);
}

proptest! {
    #[test]
    fn any_bytes_are_ruled_on(text in prop::collection::vec(any::<u8>(), 0..120)) {
        is_stable(&text);
    }

    #[test]
    fn what_is_sent_is_ruled_the_same_again(text in pieces()) {
        is_stable(&text);
    }

    #[test]
    fn what_is_sent_never_locks_or_writes(text in pieces(), before in any::<bool>()) {
        let text = if before { [b"SELECT a FROM t ", &text[..]].concat() } else { text };
        if let FilterDecision::Read(sent) = filter_statement(&text, &AllowList::default()) {
            // Seen by eyes that know no comments: outside of quotes and comments none of it is left.
            let is_plain = !sent.iter().any(|b| b"'\"`\\#*-.".contains(b));
            let text = String::from_utf8_lossy(&sent).to_ascii_uppercase();
            let is_part = |c: char| c.is_alphanumeric() || c == '_' || !c.is_ascii();
            let words: Vec<&str> =
                text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).collect();
            let locks = words.windows(2).any(|pair| pair == ["FOR", "UPDATE"]);
            // What only names something may name it INTO; a server refuses that.
            let names = ["SAVEPOINT", "ROLLBACK", "RELEASE", "USE"];
            let is_name = words.first().is_some_and(|verb| names.contains(verb));
            let writes = words.contains(&"INTO") && !is_name;
            prop_assert!(!is_plain || !(locks || writes), "{}", text);
        }
    }
}
