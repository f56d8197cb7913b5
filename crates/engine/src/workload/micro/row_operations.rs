//! The rest of the table of operations: those that read, change and remove rows.

use super::operation::Operation;
use super::operation::PreparedUse::{EachTime, Once as OncePrepared};
use super::operation::RowCount::{All, Exactly, OneIn};
use super::operation::TimedStep::{Read, Run, Write};
use super::operations::{INSERT_S, ONE, PLAIN, WITH_D, WITH_S, WITHOUT_D, WITHOUT_S};

/// Those that find, change and remove rows, group by group.
pub(super) const QUERYING: &[Operation] = &[
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
