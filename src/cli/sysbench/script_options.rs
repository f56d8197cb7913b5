//! The options of sysbench's own scripts, and those that tests of 0.4 and 0.5 had.

use super::option_table::ArgKind::{Bool, Double, Int, Text};
use super::option_table::OptionGroup::{Legacy, Oltp};
use super::option_table::OptionSource::V1_1;
use super::option_table::{SysbenchOption, newer, option};

const NO: Option<&str> = None;
const EMPTY: Option<&str> = Some("");
const ON: Option<&str> = Some("on");
const OFF: Option<&str> = Some("off");
const ZERO: Option<&str> = Some("0");
const ONE: Option<&str> = Some("1");

/// The table, in the order of help.
pub(super) const SCRIPT_OPTIONS: &[SysbenchOption] = &[
    option(
        Oltp,
        "auto_inc",
        Bool,
        ON,
        "Use AUTO_INCREMENT column as Primary Key (for MySQL), or its alternatives in other DBMS. \
         When disabled, use client-generated IDs",
    ),
    option(
        Oltp,
        "create_secondary",
        Bool,
        ON,
        "Create a secondary index in addition to the PRIMARY KEY",
    ),
    newer(option(Oltp, "create_table_options", Text, EMPTY, "Extra CREATE TABLE options"), V1_1),
    option(
        Oltp,
        "delete_inserts",
        Double,
        ONE,
        "Number of DELETE/INSERT combinations per transaction",
    ),
    option(Oltp, "delta", Double, Some("5"), "Size of BETWEEN ranges"),
    option(
        Oltp,
        "distinct_ranges",
        Double,
        ONE,
        "Number of SELECT DISTINCT queries per transaction",
    ),
    option(Oltp, "index_updates", Double, ONE, "Number of UPDATE index queries per transaction"),
    option(Oltp, "mysql_storage_engine", Text, Some("innodb"), "Storage engine, if MySQL is used"),
    option(
        Oltp,
        "non_index_updates",
        Double,
        ONE,
        "Number of UPDATE non-index queries per transaction",
    ),
    option(
        Oltp,
        "number_of_ranges",
        Double,
        Some("10"),
        "Number of random BETWEEN ranges per SELECT",
    ),
    option(Oltp, "order_ranges", Double, ONE, "Number of SELECT ORDER BY queries per transaction"),
    option(
        Oltp,
        "pgsql_variant",
        Text,
        NO,
        "Use this PostgreSQL variant when running with the PostgreSQL driver. The only currently \
         supported variant is 'redshift'. When enabled, create_secondary is automatically \
         disabled, and delete_inserts is set to 0",
    ),
    option(
        Oltp,
        "point_selects",
        Double,
        Some("10"),
        "Number of point SELECT queries per transaction",
    ),
    option(
        Oltp,
        "random_points",
        Double,
        Some("10"),
        "Number of random points in the IN() clause in generated SELECTs",
    ),
    option(Oltp, "range_selects", Bool, ON, "Enable/disable all range SELECT queries"),
    option(Oltp, "range_size", Double, Some("100"), "Range size for range SELECT queries"),
    newer(
        option(
            Oltp,
            "reconnect",
            Double,
            ZERO,
            "Reconnect after every N events. The default (0) is to not reconnect",
        ),
        V1_1,
    ),
    option(Oltp, "secondary", Bool, OFF, "Use a secondary index in place of the PRIMARY KEY"),
    option(
        Oltp,
        "simple_ranges",
        Double,
        ONE,
        "Number of simple range SELECT queries per transaction",
    ),
    option(
        Oltp,
        "skip_trx",
        Bool,
        OFF,
        "Don't start explicit transactions and execute all queries in the AUTOCOMMIT mode",
    ),
    option(Oltp, "sum_ranges", Double, ONE, "Number of SELECT SUM() queries per transaction"),
    option(Oltp, "table_size", Double, Some("10000"), "Number of rows per table"),
    option(Oltp, "tables", Double, ONE, "Number of tables"),
    option(Legacy, "oltp-test-mode", Text, Some("complex"), "simple, complex or nontrx"),
    option(Legacy, "oltp-nontrx-mode", Text, Some("select"), "what nontrx sends"),
    option(Legacy, "oltp-table-name", Text, Some("sbtest"), "name of the table"),
    option(Legacy, "oltp-table-size", Double, Some("10000"), "rows of a table"),
    option(Legacy, "oltp-tables-count", Double, ONE, "tables of 0.5"),
    option(Legacy, "oltp-read-only", Bool, OFF, "only reads"),
    option(Legacy, "oltp-skip-trx", Bool, OFF, "no transactions"),
    option(Legacy, "oltp-range-size", Double, Some("100"), "rows of a range"),
    option(Legacy, "oltp-point-selects", Double, Some("10"), "lookups"),
    option(Legacy, "oltp-simple-ranges", Double, ONE, "ranges"),
    option(Legacy, "oltp-sum-ranges", Double, ONE, "sums"),
    option(Legacy, "oltp-order-ranges", Double, ONE, "sorted ranges"),
    option(Legacy, "oltp-distinct-ranges", Double, ONE, "distinct ranges"),
    option(Legacy, "oltp-index-updates", Double, ONE, "updates of k"),
    option(Legacy, "oltp-non-index-updates", Double, ONE, "updates of c"),
    option(Legacy, "oltp-auto-inc", Bool, ON, "ids from the server"),
    option(Legacy, "oltp-secondary", Bool, OFF, "no primary key"),
    option(Legacy, "oltp-dist-type", Text, Some("special"), "distribution of rows"),
    option(Legacy, "oltp-dist-iter", Int, Some("12"), "numbers averaged"),
    option(Legacy, "oltp-dist-pct", Int, ONE, "hot rows, percent"),
    option(Legacy, "oltp-dist-res", Int, Some("75"), "reads of hot rows, percent"),
    option(Legacy, "oltp-user-delay-min", Int, ZERO, "think time, microseconds"),
    option(Legacy, "oltp-user-delay-max", Int, ZERO, "think time, microseconds"),
    option(Legacy, "mysql-table-engine", Text, Some("innodb"), "storage engine"),
    option(Legacy, "mysql-engine-trx", Text, Some("auto"), "whether it has transactions"),
    option(Legacy, "myisam-max-rows", Double, Some("1000000"), "MAX_ROWS of MyISAM"),
    option(Legacy, "init-rng", Bool, OFF, "seed from the clock"),
];

/// Options that only one of the OLTP scripts has.
pub(super) const ONE_SCRIPT_ONLY: &[(&str, &str)] = &[
    ("random_points", "select_random_points"),
    ("delta", "select_random_ranges"),
    ("number_of_ranges", "select_random_ranges"),
];
