//! The operations, a row each, and the tables that they read.
//!
//! `t` has all rows, `u` one for ten of them, `w` one for a hundred; `m` is a copy of `t` whose values change. `s` and `d` are
//! made for a round and dropped after it.

use super::operation::PreparedUse::Never;
use super::operation::RoundStep::{Each, Once};
use super::operation::RowCount::{All, Exactly};
use super::operation::TimedStep::{Connect, LoadText, Read, Run, Write};
use super::operation::{Operation, RoundStep};
use super::row_operations::QUERYING;

/// What an operation has unless it says otherwise.
pub(super) const PLAIN: Operation = Operation {
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

pub(super) const ONE: super::operation::RowCount = Exactly(1);
const MAKE_S: &str = "CREATE TABLE s (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, \
    c CHAR(30) NOT NULL){engine}";
const DROP_S: RoundStep = Once("DROP TABLE s");
const DROP_D: RoundStep = Once("DROP TABLE d");
pub(super) const WITH_S: &[RoundStep] = &[Once(MAKE_S)];
pub(super) const WITHOUT_S: &[RoundStep] = &[DROP_S];
pub(super) const WITH_D: &[RoundStep] =
    &[Once("CREATE TABLE d LIKE t"), Once("INSERT INTO d SELECT * FROM t")];
pub(super) const WITHOUT_D: &[RoundStep] = &[DROP_D];
pub(super) const INSERT_S: &str = "INSERT INTO s (id, k, c) VALUES ({n}, {n}, 'a row of its own')";
const MAKE_A: &str = "CREATE TABLE a{n} (id INT NOT NULL PRIMARY KEY){engine}";
const DROP_A: &str = "DROP TABLE a{n}";
/// Tables that a round may make.
const MOST_TABLES: super::operation::RowCount = Exactly(200);

/// Those that make sessions, tables and rows, group by group.
const MAKING: &[Operation] = &[
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
];

/// All operations, group by group.
pub(super) fn operations() -> impl Iterator<Item = &'static Operation> + Clone {
    MAKING.iter().chain(QUERYING)
}

/// All groups, in the order of the table.
pub(super) fn group_names() -> Vec<&'static str> {
    let mut groups: Vec<&str> = operations().map(|one| one.group).collect();
    groups.dedup();
    groups
}
