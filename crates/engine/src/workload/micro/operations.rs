//! The operations, a row each, and the tables that they read.
//!
//! `t` has all rows, `u` one for ten of them, `w` one for a hundred; `m` is a copy of `t` whose values change. `s` and `d` are
//! made for a round and dropped after it.

use super::operation::PreparedUse::{EachTime, Never, Once as OncePrepared};
use super::operation::RoundStep::{Each, Once};
use super::operation::RowCount::{All, Exactly, OneIn};
use super::operation::TimedStep::{Connect, LoadText, Read, Run, Write};
use super::operation::{Operation, RoundStep};

/// What an operation has unless it says otherwise.
const PLAIN: Operation = Operation {
    name: "",
    group: "",
    before: &[],
    unit: &[],
    after: &[],
    prepared: Never,
    count: 200,
    most: Exactly(1_000_000),
    refusals: &[],
};

const ONE: super::operation::RowCount = Exactly(1);
const MAKE_S: &str = "CREATE TABLE s (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, \
    c CHAR(30) NOT NULL){engine}";
const DROP_S: RoundStep = Once("DROP TABLE s");
const DROP_D: RoundStep = Once("DROP TABLE d");
const WITH_S: &[RoundStep] = &[Once(MAKE_S)];
const WITHOUT_S: &[RoundStep] = &[DROP_S];
const WITH_D: &[RoundStep] =
    &[Once("CREATE TABLE d LIKE t"), Once("INSERT INTO d SELECT * FROM t")];
const WITHOUT_D: &[RoundStep] = &[DROP_D];
const INSERT_S: &str = "INSERT INTO s (id, k, c) VALUES ({n}, {n}, 'a row of its own')";
const MAKE_A: &str = "CREATE TABLE a{n} (id INT NOT NULL PRIMARY KEY){engine}";
const DROP_A: &str = "DROP TABLE a{n}";
/// Tables that a round may make.
const MOST_TABLES: super::operation::RowCount = Exactly(200);

/// All operations, group by group.
pub(super) const OPERATIONS: &[Operation] = &[
    // Sessions.
    Operation { name: "connect", group: "connect", unit: &[Connect], ..PLAIN },
    Operation {
        name: "connect_select_1",
        group: "connect",
        unit: &[Connect, Read("SELECT 1", ONE)],
        ..PLAIN
    },
    Operation {
        name: "connect_select_row",
        group: "connect",
        unit: &[Connect, Read("SELECT c FROM t WHERE id = {key}", ONE)],
        ..PLAIN
    },
    Operation { name: "select_1", group: "connect", unit: &[Read("SELECT 1", ONE)], ..PLAIN },
    Operation {
        name: "select_64k_text",
        group: "connect",
        unit: &[Read("SELECT REPEAT('x', 65536)", ONE)],
        ..PLAIN
    },
    // Tables.
    Operation {
        name: "create_table",
        group: "ddl",
        unit: &[Run(MAKE_A)],
        after: &[Each(DROP_A)],
        count: 20,
        most: MOST_TABLES,
        ..PLAIN
    },
    Operation {
        name: "create_table_indexes",
        group: "ddl",
        unit: &[Run("CREATE TABLE a{n} (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, \
            c CHAR(30) NOT NULL, KEY (k), KEY (c), KEY (k, c)){engine}")],
        after: &[Each(DROP_A)],
        count: 20,
        most: MOST_TABLES,
        ..PLAIN
    },
    Operation {
        name: "create_drop_table",
        group: "ddl",
        unit: &[Run(MAKE_A), Run(DROP_A)],
        count: 20,
        ..PLAIN
    },
    Operation {
        name: "drop_table",
        group: "ddl",
        before: &[Each(MAKE_A)],
        unit: &[Run(DROP_A)],
        count: 20,
        most: MOST_TABLES,
        ..PLAIN
    },
    Operation {
        name: "create_table_select",
        group: "ddl",
        unit: &[Write("CREATE TABLE a{n}{engine} SELECT * FROM t WHERE id <= 100", Exactly(100))],
        after: &[Each(DROP_A)],
        count: 20,
        most: MOST_TABLES,
        ..PLAIN
    },
    Operation {
        name: "select_many_tables",
        group: "ddl",
        before: &[Each(MAKE_A)],
        unit: &[Read("SELECT COUNT(*) FROM a{n}", ONE)],
        after: &[Each(DROP_A)],
        count: 100,
        most: MOST_TABLES,
        ..PLAIN
    },
    // Changes of tables.
    Operation {
        name: "add_column",
        group: "alter",
        before: WITH_D,
        unit: &[Run("ALTER TABLE d ADD COLUMN x{n} INT NOT NULL DEFAULT 0")],
        after: WITHOUT_D,
        count: 4,
        most: Exactly(8),
        ..PLAIN
    },
    Operation {
        name: "drop_column",
        group: "alter",
        before: &[
            Once("CREATE TABLE d LIKE t"),
            Each("ALTER TABLE d ADD COLUMN x{n} INT NOT NULL DEFAULT 0"),
            Once("INSERT INTO d (id, k, h, g, v, c) SELECT id, k, h, g, v, c FROM t"),
        ],
        unit: &[Run("ALTER TABLE d DROP COLUMN x{n}")],
        after: WITHOUT_D,
        count: 4,
        most: Exactly(8),
        ..PLAIN
    },
    Operation {
        name: "add_index",
        group: "alter",
        before: WITH_D,
        unit: &[Run("ALTER TABLE d ADD INDEX x{n} (v)")],
        after: WITHOUT_D,
        count: 4,
        most: Exactly(8),
        ..PLAIN
    },
    Operation {
        name: "drop_index",
        group: "alter",
        before: &[
            Once("CREATE TABLE d LIKE t"),
            Each("ALTER TABLE d ADD INDEX x{n} (v)"),
            Once("INSERT INTO d SELECT * FROM t"),
        ],
        unit: &[Run("ALTER TABLE d DROP INDEX x{n}")],
        after: WITHOUT_D,
        count: 4,
        most: Exactly(8),
        ..PLAIN
    },
    // New rows.
    Operation {
        name: "insert",
        group: "insert",
        before: WITH_S,
        unit: &[Write(INSERT_S, ONE)],
        after: WITHOUT_S,
        ..PLAIN
    },
    Operation {
        name: "insert_mixed_order",
        group: "insert",
        before: WITH_S,
        unit: &[Write("INSERT INTO s (id, k, c) VALUES ({mixed}, {n}, 'a row of its own')", ONE)],
        after: WITHOUT_S,
        ..PLAIN
    },
    Operation {
        name: "insert_no_key",
        group: "insert",
        before: &[Once(
            "CREATE TABLE s (id INT NOT NULL, k INT NOT NULL, \
            c CHAR(30) NOT NULL){engine}",
        )],
        unit: &[Write(INSERT_S, ONE)],
        after: WITHOUT_S,
        ..PLAIN
    },
    Operation {
        name: "insert_5_indexes",
        group: "insert",
        before: &[Once(
            "CREATE TABLE s (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, \
            c CHAR(30) NOT NULL, KEY (k), KEY (c), KEY (k, c), KEY (c, k), KEY (c(5))){engine}",
        )],
        unit: &[Write("INSERT INTO s (id, k, c) VALUES ({n}, {mixed}, 'row {mixed}')", ONE)],
        after: WITHOUT_S,
        ..PLAIN
    },
    Operation {
        name: "insert_auto_increment",
        group: "insert",
        before: &[Once(
            "CREATE TABLE s (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, \
            k INT NOT NULL, c CHAR(30) NOT NULL){engine}",
        )],
        unit: &[Write("INSERT INTO s (k, c) VALUES ({n}, 'a row of its own')", ONE)],
        after: WITHOUT_S,
        ..PLAIN
    },
    Operation {
        name: "insert_100_rows",
        group: "insert",
        before: WITH_S,
        unit: &[Write("INSERT INTO s (id, k, c) VALUES {many:100}", Exactly(100))],
        after: WITHOUT_S,
        count: 20,
        most: Exactly(1_000),
        ..PLAIN
    },
    Operation {
        name: "insert_1000_rows",
        group: "insert",
        before: WITH_S,
        unit: &[Write("INSERT INTO s (id, k, c) VALUES {many:1000}", Exactly(1_000))],
        after: WITHOUT_S,
        count: 5,
        most: Exactly(200),
        ..PLAIN
    },
    Operation {
        name: "load_1000_rows",
        group: "insert",
        before: WITH_S,
        unit: &[LoadText("LOAD DATA LOCAL INFILE 'rows' INTO TABLE s (id, k, c)", 1_000)],
        after: WITHOUT_S,
        count: 5,
        most: Exactly(200),
        refusals: &[
            (1148, "the server has local_infile=OFF"),
            (3948, "the server has local_infile=OFF"),
            (4166, "the server has local_infile=OFF"),
        ],
        ..PLAIN
    },
    Operation {
        name: "insert_select",
        group: "insert",
        before: &[Once("CREATE TABLE d LIKE t")],
        unit: &[Write("INSERT INTO d SELECT * FROM t", All)],
        after: WITHOUT_D,
        count: 1,
        most: ONE,
        ..PLAIN
    },
    Operation {
        name: "insert_duplicate",
        group: "insert",
        unit: &[Write(
            "INSERT IGNORE INTO m (id, k, h, g, v, c) VALUES ({key}, 0, 0, 0, 0, '')",
            Exactly(0),
        )],
        ..PLAIN
    },
    Operation {
        name: "insert_or_update",
        group: "insert",
        unit: &[Write(
            "INSERT INTO m (id, k, h, g, v, c) VALUES ({key}, 0, 0, 0, 0, '') \
             ON DUPLICATE KEY UPDATE v = v + 1",
            Exactly(2),
        )],
        ..PLAIN
    },
    // Single rows.
    Operation {
        name: "select_key",
        group: "key",
        unit: &[Read("SELECT c FROM t WHERE id = {key}", ONE)],
        ..PLAIN
    },
    Operation {
        name: "select_key_missing",
        group: "key",
        unit: &[Read("SELECT c FROM t WHERE id = {missing}", Exactly(0))],
        ..PLAIN
    },
    Operation {
        name: "select_key2",
        group: "key",
        unit: &[Read("SELECT c FROM t WHERE k = {key}", ONE)],
        ..PLAIN
    },
    Operation {
        name: "select_key2_covered",
        group: "key",
        unit: &[Read("SELECT id FROM t WHERE k = {key}", ONE)],
        ..PLAIN
    },
    Operation {
        name: "select_in_10",
        group: "key",
        unit: &[Read("SELECT c FROM t WHERE id IN ({in:10})", Exactly(10))],
        ..PLAIN
    },
    Operation {
        name: "select_in_100",
        group: "key",
        unit: &[Read("SELECT c FROM t WHERE id IN ({in:100})", Exactly(100))],
        ..PLAIN
    },
    Operation {
        name: "select_no_key",
        group: "key",
        unit: &[Read("SELECT c FROM t WHERE v = {key}", ONE)],
        count: 10,
        ..PLAIN
    },
    // Ranges.
    Operation {
        name: "range_key",
        group: "range",
        unit: &[Read("SELECT c FROM t WHERE id BETWEEN {low:100} AND {high:100}", Exactly(100))],
        ..PLAIN
    },
    Operation {
        name: "range_key2",
        group: "range",
        unit: &[Read("SELECT c FROM t WHERE k BETWEEN {low:100} AND {high:100}", Exactly(100))],
        ..PLAIN
    },
    Operation {
        name: "range_key_limit",
        group: "range",
        unit: &[Read("SELECT c FROM t WHERE id >= {low:100} ORDER BY id LIMIT 10", Exactly(10))],
        ..PLAIN
    },
    Operation {
        name: "range_count",
        group: "range",
        unit: &[Read("SELECT COUNT(*) FROM t WHERE id BETWEEN {low:100} AND {high:100}", ONE)],
        ..PLAIN
    },
    Operation {
        name: "select_all",
        group: "range",
        unit: &[Read("SELECT * FROM t", All)],
        count: 3,
        ..PLAIN
    },
    // Order.
    Operation {
        name: "order_by_key",
        group: "sort",
        unit: &[Read("SELECT * FROM t ORDER BY id", All)],
        count: 3,
        ..PLAIN
    },
    Operation {
        name: "order_by_key_desc",
        group: "sort",
        unit: &[Read("SELECT * FROM t ORDER BY id DESC", All)],
        count: 3,
        ..PLAIN
    },
    Operation {
        name: "order_by_key2",
        group: "sort",
        unit: &[Read("SELECT * FROM t ORDER BY k", All)],
        count: 3,
        ..PLAIN
    },
    Operation {
        name: "order_by_no_key",
        group: "sort",
        unit: &[Read("SELECT * FROM t ORDER BY v", All)],
        count: 3,
        ..PLAIN
    },
    Operation {
        name: "order_by_no_key_limit",
        group: "sort",
        unit: &[Read("SELECT * FROM t ORDER BY v LIMIT 10", Exactly(10))],
        count: 10,
        ..PLAIN
    },
    // Groups.
    Operation {
        name: "group_by_key",
        group: "group",
        unit: &[Read("SELECT h, COUNT(*) FROM t GROUP BY h", Exactly(100))],
        count: 10,
        ..PLAIN
    },
    Operation {
        name: "group_by_no_key",
        group: "group",
        unit: &[Read("SELECT g, COUNT(*) FROM t GROUP BY g", Exactly(100))],
        count: 10,
        ..PLAIN
    },
    Operation {
        name: "distinct_no_key",
        group: "group",
        unit: &[Read("SELECT DISTINCT g FROM t", Exactly(100))],
        count: 10,
        ..PLAIN
    },
    Operation {
        name: "count",
        group: "group",
        unit: &[Read("SELECT COUNT(*) FROM t", ONE)],
        count: 10,
        ..PLAIN
    },
    Operation {
        name: "count_distinct_key",
        group: "group",
        unit: &[Read("SELECT COUNT(DISTINCT h) FROM t", ONE)],
        count: 10,
        ..PLAIN
    },
    Operation {
        name: "count_distinct_no_key",
        group: "group",
        unit: &[Read("SELECT COUNT(DISTINCT c) FROM t", ONE)],
        count: 3,
        ..PLAIN
    },
    Operation {
        name: "min_max_key",
        group: "group",
        unit: &[Read("SELECT MIN(k), MAX(k) FROM t", ONE)],
        ..PLAIN
    },
    Operation {
        name: "min_max_no_key",
        group: "group",
        unit: &[Read("SELECT MIN(v), MAX(v) FROM t", ONE)],
        count: 10,
        ..PLAIN
    },
    // Joins.
    Operation {
        name: "join_2_tables",
        group: "join",
        unit: &[Read("SELECT u.id, t.c FROM u JOIN t ON t.id = u.t_id", OneIn(10))],
        count: 10,
        ..PLAIN
    },
    Operation {
        name: "join_3_tables",
        group: "join",
        unit: &[Read(
            "SELECT w.id, t.c FROM w JOIN u ON u.id = w.u_id JOIN t ON t.id = u.t_id",
            OneIn(100),
        )],
        count: 20,
        ..PLAIN
    },
    Operation {
        name: "join_no_key",
        group: "join",
        unit: &[Read("SELECT w.id, t.c FROM w JOIN t ON t.v = w.id", OneIn(100))],
        count: 3,
        ..PLAIN
    },
    Operation {
        name: "left_join",
        group: "join",
        unit: &[Read("SELECT u.id, t.c FROM u LEFT JOIN t ON t.id = u.x_id", OneIn(10))],
        count: 10,
        ..PLAIN
    },
    Operation {
        name: "left_join_missing",
        group: "join",
        unit: &[Read(
            "SELECT u.id FROM u LEFT JOIN t ON t.id = u.x_id WHERE t.id IS NULL",
            OneIn(20),
        )],
        count: 10,
        ..PLAIN
    },
    Operation {
        name: "in_subquery",
        group: "join",
        unit: &[Read("SELECT id FROM t WHERE id IN (SELECT t_id FROM u)", OneIn(10))],
        count: 10,
        ..PLAIN
    },
    // Changed rows.
    Operation {
        name: "update_key",
        group: "update",
        unit: &[Write("UPDATE m SET v = v + 1 WHERE id = {key}", ONE)],
        ..PLAIN
    },
    Operation {
        name: "update_indexed",
        group: "update",
        unit: &[Write("UPDATE m SET k = k + 1 WHERE id = {key}", ONE)],
        ..PLAIN
    },
    Operation {
        name: "update_range",
        group: "update",
        unit: &[Write(
            "UPDATE m SET v = v + 1 WHERE id BETWEEN {low:100} AND {high:100}",
            Exactly(100),
        )],
        count: 50,
        ..PLAIN
    },
    Operation {
        name: "update_all",
        group: "update",
        unit: &[Write("UPDATE m SET v = v + 1", All)],
        count: 1,
        ..PLAIN
    },
    // Removed rows.
    Operation {
        name: "delete_key",
        group: "delete",
        before: WITH_D,
        unit: &[Write("DELETE FROM d WHERE id = {scattered}", ONE)],
        after: WITHOUT_D,
        most: All,
        ..PLAIN
    },
    Operation {
        name: "delete_range",
        group: "delete",
        before: WITH_D,
        unit: &[Write("DELETE FROM d WHERE id BETWEEN {from:100} AND {to:100}", Exactly(100))],
        after: WITHOUT_D,
        count: 10,
        most: OneIn(100),
        ..PLAIN
    },
    Operation {
        name: "delete_all",
        group: "delete",
        before: WITH_D,
        unit: &[Write("DELETE FROM d", All)],
        after: WITHOUT_D,
        count: 1,
        most: ONE,
        ..PLAIN
    },
    Operation {
        name: "truncate",
        group: "delete",
        before: WITH_D,
        unit: &[Run("TRUNCATE TABLE d")],
        after: WITHOUT_D,
        count: 1,
        most: ONE,
        ..PLAIN
    },
    // Transactions.
    Operation { name: "trx_empty", group: "trx", unit: &[Run("BEGIN"), Run("COMMIT")], ..PLAIN },
    Operation {
        name: "trx_insert_commit",
        group: "trx",
        before: WITH_S,
        unit: &[Run("BEGIN"), Write(INSERT_S, ONE), Run("COMMIT")],
        after: WITHOUT_S,
        ..PLAIN
    },
    Operation {
        name: "trx_insert_rollback",
        group: "trx",
        before: WITH_S,
        unit: &[Run("BEGIN"), Write(INSERT_S, ONE), Run("ROLLBACK")],
        after: WITHOUT_S,
        ..PLAIN
    },
    Operation {
        name: "trx_100_rows_commit",
        group: "trx",
        before: WITH_S,
        unit: &[
            Run("BEGIN"),
            Write("INSERT INTO s (id, k, c) VALUES {many:100}", Exactly(100)),
            Run("COMMIT"),
        ],
        after: WITHOUT_S,
        count: 20,
        most: Exactly(1_000),
        ..PLAIN
    },
    Operation {
        name: "trx_update_commit",
        group: "trx",
        unit: &[Run("BEGIN"), Write("UPDATE m SET v = v + 1 WHERE id = {key}", ONE), Run("COMMIT")],
        ..PLAIN
    },
    Operation {
        name: "trx_update_rollback",
        group: "trx",
        unit: &[
            Run("BEGIN"),
            Write("UPDATE m SET v = v + 1 WHERE id = {key}", ONE),
            Run("ROLLBACK"),
        ],
        ..PLAIN
    },
    Operation {
        name: "trx_delete_rollback",
        group: "trx",
        before: WITH_D,
        unit: &[Run("BEGIN"), Write("DELETE FROM d WHERE id = {scattered}", ONE), Run("ROLLBACK")],
        after: WITHOUT_D,
        most: All,
        ..PLAIN
    },
    // The same as above, prepared.
    Operation {
        name: "prepared_select_1",
        group: "prepared",
        unit: &[Read("SELECT 1", ONE)],
        prepared: OncePrepared,
        ..PLAIN
    },
    Operation {
        name: "prepared_select_key",
        group: "prepared",
        unit: &[Read("SELECT c FROM t WHERE id = {key}", ONE)],
        prepared: OncePrepared,
        ..PLAIN
    },
    Operation {
        name: "prepare_select_key",
        group: "prepared",
        unit: &[Read("SELECT c FROM t WHERE id = {key}", ONE)],
        prepared: EachTime,
        ..PLAIN
    },
    Operation {
        name: "prepared_range_key",
        group: "prepared",
        unit: &[Read("SELECT c FROM t WHERE id BETWEEN {low:100} AND {high:100}", Exactly(100))],
        prepared: OncePrepared,
        ..PLAIN
    },
    Operation {
        name: "prepared_insert",
        group: "prepared",
        before: WITH_S,
        unit: &[Write(INSERT_S, ONE)],
        after: WITHOUT_S,
        prepared: OncePrepared,
        ..PLAIN
    },
    Operation {
        name: "prepared_update_key",
        group: "prepared",
        unit: &[Write("UPDATE m SET v = v + 1 WHERE id = {key}", ONE)],
        prepared: OncePrepared,
        ..PLAIN
    },
];

/// All groups, in the order of the table.
pub(super) fn group_names() -> Vec<&'static str> {
    let mut groups: Vec<&str> = OPERATIONS.iter().map(|one| one.group).collect();
    groups.dedup();
    groups
}
