//! Hot sets taken from servers: ranges of keys hold exactly the rows of the leaves that they stand for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sweat::base::{Nanos, RealClock, Stop, StopReason};
use sweat::client::{ServerProduct, Session};
use sweat::server::ServerControl;
use sweat::warm::hotset::{
    self, HotIndex, HotSet, KeyLiteral, KeyRange, SaveLimit, SaveOutcome, SavePlan, range_condition,
};
use sweat::warm::{TableChoice, WarmContext};

use crate::fixture::{self, Fixture};

const SETTINGS: &[(&str, &str)] =
    &[("innodb_buffer_pool_size", "96M"), ("innodb_read_ahead_threshold", "0")];
/// Too small for the data: only then the server moves what is used again, here at once.
const SMALL: &[(&str, &str)] = &[
    ("innodb_buffer_pool_size", "16M"),
    ("innodb_lru_scan_depth", "100"),
    ("innodb_read_ahead_threshold", "0"),
    ("innodb_old_blocks_time", "0"),
];

/// Columns with a value of row `n`, as good as random. Each gets an index of its own.
const COLUMNS: &[(&str, &str)] = &[
    ("ti TINYINT", "CRC32(n) % 256 - 128"),
    ("tu TINYINT UNSIGNED", "CRC32(n + 1) % 256"),
    ("si SMALLINT", "IF(n % 7 = 0, NULL, CRC32(n + 2) % 65536 - 32768)"),
    ("mi MEDIUMINT", "CRC32(n + 3) % 16777216 - 8388608"),
    ("mu MEDIUMINT UNSIGNED NOT NULL", "CRC32(n + 4) % 16777216"),
    ("it INT", "CAST(CRC32(n + 5) AS SIGNED) - 2147483648"),
    ("bi BIGINT", "(CAST(CRC32(n + 6) AS SIGNED) - 2147483648) * 4294967296 + n"),
    ("bu BIGINT UNSIGNED", "CRC32(n + 7) * 4294967296 + CRC32(n)"),
    ("fl FLOAT", "(CRC32(n + 8) - 2147483648) / 977"),
    ("db DOUBLE", "IF(n % 11 = 0, NULL, (CRC32(n + 9) - 2147483648) * 1.1e-10)"),
    ("de DECIMAL(20,4)", "(CRC32(n + 10) - 2147483648) / 7"),
    ("dl DECIMAL(38,20)", "(CRC32(n + 11) - 2147483648) / 999999937"),
    ("da DATE", "DATE_ADD('1000-01-01', INTERVAL CRC32(n + 12) % 3000000 DAY)"),
    ("dt DATETIME", "DATE_ADD('1970-01-01', INTERVAL CRC32(n + 13) SECOND)"),
    ("d3 DATETIME(3)", "DATE_ADD('1999-01-01', INTERVAL CRC32(n + 14) * 1000 MICROSECOND)"),
    ("d6 DATETIME(6)", "DATE_ADD('2001-01-01', INTERVAL CRC32(n + 15) MICROSECOND)"),
    ("ts TIMESTAMP NULL", "FROM_UNIXTIME(86400 + CRC32(n + 16) % 2000000000)"),
    ("t6 TIMESTAMP(6) NULL", "IF(n % 5 = 0, NULL, FROM_UNIXTIME(CRC32(n + 17) / 3))"),
    ("tm TIME", "SEC_TO_TIME(CRC32(n + 18) % 6000000 - 3000000)"),
    ("t2 TIME(2)", "SEC_TO_TIME((CRC32(n + 19) % 600000000 - 300000000) / 100)"),
    ("t7 TIME(6)", "SEC_TO_TIME((CRC32(n + 20) - 2147483648) / 1000000)"),
    ("yr YEAR", "1901 + CRC32(n + 21) % 254"),
    ("cl CHAR(20) CHARACTER SET latin1", "SUBSTR(SHA2(n, 256), 1, n % 21)"),
    ("cu CHAR(20)", "CONCAT(IF(n % 3, 'ж', ''), SUBSTR(SHA2(n + 1, 256), 1, n % 19))"),
    ("vl VARCHAR(300) CHARACTER SET latin1", "REPEAT(SHA2(n + 2, 256), 1 + n % 4)"),
    ("vu VARCHAR(100)", "IF(n % 13 = 0, NULL, CONCAT(SHA2(n + 3, 256), IF(n % 2, '  ', 'é''')))"),
    ("vc VARCHAR(50) CHARACTER SET utf8mb3", "SUBSTR(SHA2(n + 4, 256), 1, 30)"),
    ("vb2 VARCHAR(40) COLLATE utf8mb4_bin", "SUBSTR(HEX(SHA2(n + 5, 256)), 1, 40)"),
    ("wi CHAR(10) CHARACTER SET utf16", "SUBSTR(SHA2(n + 6, 256), 1, 9)"),
    ("uc CHAR(10) CHARACTER SET ucs2", "SUBSTR(SHA2(n + 7, 256), 1, n % 11)"),
    ("bn BINARY(12)", "UNHEX(SUBSTR(SHA2(n + 8, 256), 1, 2 * (n % 13)))"),
    ("vb VARBINARY(400)", "UNHEX(REPEAT(SHA2(n + 9, 256), 1 + n % 12))"),
    ("bt BIT(13)", "CRC32(n + 22) % 8192"),
];

const ROWS: u32 = 1_500;

fn types(format: &str) -> Vec<String> {
    let name = |column: &str| column.split(' ').next().unwrap().to_owned();
    let columns: Vec<&str> = COLUMNS.iter().map(|(column, _)| *column).collect();
    let keys: Vec<String> = COLUMNS.iter().map(|(c, _)| format!("KEY ({})", name(c))).collect();
    let values: Vec<&str> = COLUMNS.iter().map(|(_, value)| *value).collect();
    vec![
        format!(
            "CREATE TABLE types_{format} (p VARCHAR(30) NOT NULL, id INT UNSIGNED NOT NULL, {}, \
             en ENUM('z','a') NOT NULL, {}, KEY down (it DESC), KEY mixed (si, vu DESC, da), \
             UNIQUE KEY uni (id, bu), KEY later (yr, en, it), PRIMARY KEY (p, id)) \
             ROW_FORMAT={format} CHARSET=utf8mb4",
            columns.join(", "),
            keys.join(", ")
        ),
        format!(
            "INSERT INTO types_{format} SELECT SUBSTR(SHA2(n DIV 3, 256), 1, 5 + n % 20), n, {}, \
             1 + n % 2 FROM seq WHERE n <= {ROWS}",
            values.join(", ")
        ),
    ]
}

/// What the server of either product is filled with.
fn statements(product: ServerProduct) -> Vec<String> {
    let mut all: Vec<String> = [
        "CREATE DATABASE `shop-1`",
        "USE `shop-1`",
        "SET sql_mode = 'NO_UNSIGNED_SUBTRACTION', time_zone = '+00:00'",
        "CREATE TABLE dg (i INT NOT NULL PRIMARY KEY)",
        "INSERT INTO dg VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
        "CREATE TABLE seq (n INT NOT NULL PRIMARY KEY)",
        "INSERT INTO seq SELECT 1 + a.i + 10*b.i + 100*c.i + 1000*d.i FROM dg a, dg b, dg c, dg d",
    ]
    .map(str::to_owned)
    .to_vec();
    for format in ["dynamic", "compact", "redundant"] {
        all.extend(types(format));
    }
    let more = [
        // Columns added and dropped in an instant change how rows lie, and how many columns may be NULL.
        "CREATE TABLE `in-stant` (p VARCHAR(40) NOT NULL PRIMARY KEY, a INT, b INT, KEY a (a)) \
         CHARSET=utf8mb4",
        "INSERT INTO `in-stant` SELECT SHA2(n, 256), n * 17 % 1009, n FROM seq WHERE n <= 800",
        "ALTER TABLE `in-stant` ADD c1 INT, ADD c2 INT, ADD c3 INT, ADD c4 INT, ADD c5 INT, \
         ADD c6 INT, ADD c7 INT, ADD c8 INT, ALGORITHM=INSTANT",
        "INSERT INTO `in-stant` SELECT SHA2(n, 256), n * 17 % 1009, n, 1, 2, 3, 4, 5, 6, 7, 8 \
         FROM seq WHERE n > 800 AND n <= 3000",
        "ALTER TABLE `in-stant` DROP COLUMN b, ALGORITHM=INSTANT",
        "CREATE TABLE parts (id INT NOT NULL PRIMARY KEY, k INT, pad CHAR(100), KEY k (k)) \
         PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 \
         (PARTITION P0 VALUES LESS THAN (2000), PARTITION `p-1` VALUES LESS THAN MAXVALUE)",
        "INSERT INTO parts SELECT n, CRC32(n) % 5000, 'x' FROM seq WHERE n <= 4000",
        "CREATE TABLE uniq (b INT NOT NULL, a INT NOT NULL, pad CHAR(100), UNIQUE KEY zz (b), \
         UNIQUE KEY aa (a))",
        "INSERT INTO uniq SELECT n, 10001 - n, 'x' FROM seq WHERE n <= 2000",
        "CREATE TABLE virt (id INT NOT NULL PRIMARY KEY, a INT, v INT AS (a * 3 - 7) VIRTUAL, \
         s VARCHAR(20) AS (CONCAT('k', a)) STORED, KEY v (v), KEY s (s))",
        "INSERT INTO virt (id, a) SELECT n, CRC32(n) % 100000 FROM seq WHERE n <= 4000",
        "CREATE TABLE nokey (a INT, pad CHAR(50), KEY a (a))",
        "INSERT INTO nokey SELECT CRC32(n) % 3000, 'x' FROM seq WHERE n <= 4000",
        "CREATE TABLE odd (id INT NOT NULL PRIMARY KEY, t TEXT, e ENUM('b','a') NOT NULL, \
         KEY cut (t(10)), KEY e (e), FULLTEXT KEY words (t))",
        "INSERT INTO odd SELECT n, SHA2(n, 256), 1 + n % 2 FROM seq WHERE n <= 2000",
        "CREATE TABLE packed (id INT NOT NULL PRIMARY KEY, pad CHAR(100)) \
         ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
        "INSERT INTO packed SELECT n, 'x' FROM seq WHERE n <= 2000",
        "SET GLOBAL innodb_file_per_table = OFF",
        "CREATE TABLE sys_1 (id INT NOT NULL PRIMARY KEY, k INT, KEY k (k))",
        "CREATE TABLE sys_2 (id INT NOT NULL PRIMARY KEY, k INT, KEY k (k))",
        "SET GLOBAL innodb_file_per_table = ON",
        "INSERT INTO sys_1 SELECT n, -n FROM seq WHERE n <= 2000",
        "INSERT INTO sys_2 SELECT -n, n * 3 FROM seq WHERE n <= 3000",
    ];
    all.extend(more.map(str::to_owned));
    if product != ServerProduct::MariaDb {
        let own = [
            "CREATE TABLESPACE several ADD DATAFILE 'several.ibd'",
            "CREATE TABLE gen_1 (id INT NOT NULL PRIMARY KEY, k INT, KEY k (k)) TABLESPACE several",
            "CREATE TABLE `gen_2!` (id INT NOT NULL PRIMARY KEY, k INT, KEY k (k)) \
             TABLESPACE several",
            "INSERT INTO gen_1 SELECT n, CRC32(n) FROM seq WHERE n <= 2000",
            "INSERT INTO `gen_2!` SELECT -n, CRC32(n) % 777 FROM seq WHERE n <= 3000",
        ];
        all.extend(own.map(str::to_owned));
    }
    all
}

/// A server with all that, everything of it in the pool.
fn filled(mut server: Fixture) -> Fixture {
    let product = open(&server).identity().product;
    let all = statements(product);
    server.filled_with("hotset-types", all.iter().map(String::as_str));
    touch(&server);
    server
}

fn servers(settings: &[(&str, &str)]) -> Vec<Fixture> {
    let mut all = vec![fixture::with(settings)];
    all.extend(fixture::mysql_with(settings));
    all.into_iter().map(filled).collect()
}

fn open(server: &Fixture) -> Session {
    let mut session = server.target().connect(&Stop::new()).expect("a session");
    session.run_command("SET sql_mode = '', time_zone = '+00:00'").unwrap();
    session
}

fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Reads every index.
fn touch(server: &Fixture) {
    let mut session = open(server);
    let indexes = session
        .query_rows(
            "SELECT DISTINCT TABLE_NAME, INDEX_NAME FROM information_schema.STATISTICS \
             WHERE TABLE_SCHEMA = 'shop-1' AND INDEX_TYPE = 'BTREE'",
        )
        .unwrap();
    assert!(indexes.rows.len() > 100);
    for at in 0..indexes.rows.len() {
        let (table, index) =
            (indexes.text_value(at, 0).unwrap(), indexes.text_value(at, 1).unwrap());
        let (table, index) = (quote(&table), quote(&index));
        session
            .query_rows(&format!(
                "SELECT COUNT(*), MAX(1) FROM `shop-1`.{table} FORCE INDEX ({index})"
            ))
            .unwrap();
    }
    session.query_rows("SELECT SUM(LENGTH(pad)) FROM `shop-1`.nokey USE INDEX ()").unwrap();
    let cut = "SELECT COUNT(*) FROM `shop-1`.odd FORCE INDEX (cut) WHERE t BETWEEN '0' AND 'g'";
    session.query_rows(cut).unwrap();
}

fn plan() -> SavePlan {
    let tables = vec![TableChoice { database: "shop-1".to_owned(), table: None }];
    SavePlan { tables, range_leaves: 1, ..SavePlan::default() }
}

fn save_until(server: &Fixture, plan: &SavePlan, stop: &Stop) -> anyhow::Result<SaveOutcome> {
    let mut scene = WarmContext {
        target: server.target(),
        control: None,
        clock: RealClock::start_now(),
        stop,
        progress: &mut |p| assert!(p.total == 0 || p.done <= p.total, "{p:?}"),
    };
    hotset::save_hot_set(plan, &mut scene)
}

fn save(server: &Fixture, plan: &SavePlan) -> SaveOutcome {
    let saved = save_until(server, plan, &Stop::new()).expect("saving goes well");
    assert!(!saved.cut);
    saved
}

/// Rows of each page in the pool, as InnoDB counts them.
fn records(session: &mut Session) -> HashMap<(u32, u32), u64> {
    let rows = session
        .query_rows(
            "SELECT SPACE, PAGE_NUMBER, NUMBER_RECORDS FROM information_schema.INNODB_BUFFER_PAGE \
             WHERE PAGE_TYPE = 'INDEX'",
        )
        .unwrap();
    let number = |at: usize, column| rows.text_value(at, column).unwrap().parse::<u64>().unwrap();
    (0..rows.rows.len())
        .map(|at| ((number(at, 0) as u32, number(at, 1) as u32), number(at, 2)))
        .collect()
}

fn count(session: &mut Session, index: &HotIndex, range: &KeyRange) -> u64 {
    let partition = match index.partition.as_str() {
        "" => String::new(),
        name => format!("PARTITION ({})", quote(name)),
    };
    let sql = format!(
        "SELECT COUNT(*) FROM `shop-1`.{} {partition} FORCE INDEX ({}) WHERE {}",
        quote(&index.table),
        quote(&index.index),
        range_condition(&index.key, range)
    );
    let count = session.query_scalar(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    count.unwrap().parse().unwrap()
}

/// Whether a range with one value less than the key has columns holds more than its leaf.
fn is_short(index: &HotIndex) -> bool {
    index.ranges.iter().any(|r| {
        let short = |key: &[KeyLiteral]| !key.is_empty() && key.len() < index.key.len();
        short(&r.low) || short(&r.high)
    })
}

/// Every range of one leaf holds as many rows as InnoDB says that the leaf has.
fn check_leaves(session: &mut Session, hot: &HotSet) -> (u64, u64) {
    let records = records(session);
    let (mut leaves, mut indexes) = (0, 0);
    for index in hot.indexes.iter().filter(|i| i.whole.is_none()) {
        let name = format!("{} {} {}", index.table, index.partition, index.index);
        let pages: HashMap<u64, u32> = index.pages.iter().map(|(p, place)| (*place, *p)).collect();
        let mut all = 0;
        for range in &index.ranges {
            assert_eq!(range.pages, 1, "{name}");
            assert_eq!(range.last, range.low, "{name}");
            let rows = count(session, index, range);
            let page = pages[&range.heat];
            let expected = records[&(index.space, page)];
            // MariaDB keeps a row of its own in a table that was changed in an instant.
            let own = u64::from(index.table == "in-stant" && range.low.is_empty());
            let right = if is_short(index) {
                rows >= expected
            } else {
                rows == expected || rows + own == expected
            };
            let said = range_condition(&index.key, range);
            assert!(right, "{name}: page {page} has {expected} rows, {rows} are found: {said}");
            all += rows;
        }
        leaves += index.ranges.len() as u64;
        indexes += 1;
        let whole = KeyRange::default();
        let expected = count(session, index, &whole);
        if is_short(index) {
            assert!(all >= expected, "{name}: {all} of {expected}");
        } else {
            assert_eq!(all, expected, "{name}");
        }
    }
    (indexes, leaves)
}

fn why<'a>(hot: &'a HotSet, table: &str, index: &str) -> &'a str {
    let found = hot.indexes.iter().find(|i| i.table == table && i.index == index);
    let found = found.unwrap_or_else(|| panic!("{table}.{index} is not in the pool"));
    found.whole.as_deref().unwrap_or("")
}

#[test]
fn keys_of_every_type_part_the_rows_as_the_leaves_do() {
    for server in servers(SETTINGS) {
        let saved = save(&server, &plan());
        let mut session = open(&server);
        let (indexes, leaves) = check_leaves(&mut session, &saved.hot);
        let product = session.identity().product;
        println!("{product:?}: {indexes} indexes, {leaves} leaves");
        assert!(indexes > 125 && leaves > 800, "{indexes} indexes, {leaves} leaves");
        assert_eq!(saved.pages_missed, 0);
        let hot = &saved.hot;
        assert!(why(hot, "nokey", "GEN_CLUST_INDEX").contains("no key of their own"));
        assert!(why(hot, "odd", "cut").contains("first characters of t"));
        assert!(why(hot, "odd", "e").contains("enum"));
        assert!(why(hot, "packed", "PRIMARY").contains("compressed"));
        let without: Vec<_> = hot
            .indexes
            .iter()
            .filter(|i| i.whole.is_some() && !["nokey", "odd", "packed"].contains(&&*i.table))
            .map(|i| (&i.table, &i.partition, &i.index, i.whole.as_deref()))
            .collect();
        assert!(without.is_empty(), "{without:?}");
        let parts = hot.indexes.iter().filter(|i| i.table == "parts");
        let names: std::collections::BTreeSet<String> =
            parts.map(|i| i.partition.to_lowercase()).collect();
        assert_eq!(names.len(), 4, "{names:?}");
        let rows = |table: &str| {
            let clustered = |i: &&HotIndex| i.table == table && i.clustered;
            hot.indexes.iter().find(clustered).map(|i| i.index.as_str())
        };
        assert_eq!(rows("uniq"), Some("zz"), "the first unique key orders the rows");
        assert_eq!(rows("types_dynamic"), Some("PRIMARY"));
    }
}

#[test]
fn pages_of_other_sizes_are_read_too() {
    for bytes in ["4k", "64k"] {
        let settings = [SETTINGS, &[("innodb_page_size", bytes)]].concat();
        let mut server = fixture::with(&settings);
        let mut all: Vec<String> = statements(ServerProduct::MariaDb).into_iter().take(7).collect();
        all.push(
            "CREATE TABLE t (p VARCHAR(60) NOT NULL PRIMARY KEY, k INT, pad CHAR(150), KEY k (k))"
                .to_owned(),
        );
        all.push("INSERT INTO t SELECT SHA2(n, 224), CRC32(n) % 999, 'x' FROM seq".to_owned());
        server.filled_with(&format!("hotset-{bytes}"), all.iter().map(String::as_str));
        let mut session = open(&server);
        session.query_rows("SELECT SUM(LENGTH(pad)) FROM `shop-1`.t").unwrap();
        session.query_rows("SELECT COUNT(k) FROM `shop-1`.t FORCE INDEX (k)").unwrap();
        session.query_rows("SELECT COUNT(*) FROM `shop-1`.seq").unwrap();
        let saved = save(&server, &plan());
        let (indexes, leaves) = check_leaves(&mut session, &saved.hot);
        assert!(indexes >= 3 && leaves > 20, "{bytes}: {indexes} indexes, {leaves} leaves");
        drop(session);
        part_of_a_tree(&mut server, bytes);
    }
}

/// Of a cold server whose users read a part of an index, that part is found, without reading the rest of the tree.
fn part_of_a_tree(server: &mut Fixture, bytes: &str) {
    server.sandbox.stop().unwrap();
    server.sandbox.start(&sweat::server::Settings::new()).unwrap();
    let mut session = open(server);
    let part = "p >= '3' AND p < '5'";
    let sum = format!("SELECT SUM(LENGTH(pad)), COUNT(*) FROM `shop-1`.t WHERE {part}");
    let wanted: u64 = session.query_rows(&sum).unwrap().text_value(0, 1).unwrap().parse().unwrap();
    let saved = save(server, &SavePlan { range_leaves: 0, ..plan() });
    let rows = saved.hot.indexes.iter().find(|i| i.table == "t" && i.clustered).unwrap();
    assert_eq!((saved.pages_missed, rows.whole.as_deref()), (0, None), "{bytes}");
    let found: u64 = rows.ranges.iter().map(|range| count(&mut session, rows, range)).sum();
    let of_part: u64 = rows
        .ranges
        .iter()
        .map(|range| {
            let said = range_condition(&rows.key, range);
            let sql = format!("SELECT COUNT(*) FROM `shop-1`.t WHERE ({said}) AND {part}");
            session.query_scalar(&sql).unwrap().unwrap().parse::<u64>().unwrap()
        })
        .sum();
    assert_eq!(of_part, wanted, "{bytes}: all that was read is in a range");
    assert!(found < wanted * 3, "{bytes}: {found} rows in ranges, {wanted} were read");
    assert!(saved.pages_read < 40, "{bytes}: {} pages read", saved.pages_read);
}

#[test]
fn only_what_is_hot_is_saved_and_the_hottest_first() {
    for server in servers(SMALL) {
        let mut session = open(&server);
        for _ in 0..3 {
            session
                .query_rows("SELECT SUM(LENGTH(pad)) FROM `shop-1`.uniq FORCE INDEX (zz)")
                .unwrap();
            session
                .query_rows(
                    "SELECT SUM(mu) FROM `shop-1`.types_dynamic FORCE INDEX (mu) WHERE mu \
                BETWEEN 1000000 AND 5000000",
                )
                .unwrap();
        }
        let saved = save(&server, &plan());
        let hot = &saved.hot;
        let find = |table: &str, index: &str| {
            let it = |i: &&HotIndex| i.table == table && i.index == index;
            hot.indexes.iter().find(it).expect("it was used")
        };
        let mean = |index: &HotIndex| {
            let places: u64 = index.pages.iter().map(|(_, place)| *place).sum();
            places as f64 / index.pages.len() as f64 / saved.pages_in_pool as f64
        };
        let (zz, mu) = (find("uniq", "zz"), find("types_dynamic", "mu"));
        assert!(mean(zz) < 0.25, "{}", mean(zz));
        let hottest: Vec<_> =
            mu.ranges.iter().filter(|r| r.heat * 4 < saved.pages_in_pool).collect();
        let rows: u64 = hottest.iter().map(|range| count(&mut session, mu, range)).sum();
        assert!(rows > 200 && rows < u64::from(ROWS), "{rows} rows");
        let pages: u64 = hot.indexes.iter().map(|i| i.pages.len() as u64).sum();
        assert_eq!(pages, saved.pages_in_pool);
        let mut places: Vec<u64> =
            hot.indexes.iter().flat_map(|i| i.pages.iter().map(|(_, place)| *place)).collect();
        places.sort_unstable();
        assert!(places.iter().enumerate().all(|(i, place)| i as u64 == *place));
        let part = save(&server, &SavePlan { most: SaveLimit::Share(0.25), ..plan() });
        let kept: u64 = part.hot.indexes.iter().map(|i| i.pages.len() as u64).sum();
        assert_eq!(kept, part.pages_in_pool.div_ceil(4));
        assert!(part.hot.indexes.iter().any(|i| i.table == "uniq"));
        assert!(part.hot.indexes.len() < hot.indexes.len());
    }
}

#[test]
fn files_of_a_copy_serve_and_without_files_the_pages_are_kept() {
    let server = filled(fixture::with(SETTINGS));
    let saved = save(&server, &plan());
    let empty = server.dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let blind = save(&server, &SavePlan { datadir: Some(empty), ..plan() });
    assert_eq!(blind.pages_in_pool, saved.pages_in_pool);
    assert!(blind.hot.indexes.iter().all(|i| i.ranges.is_empty() && !i.pages.is_empty()));
    assert!(why(&blind.hot, "uniq", "zz").contains("its file can't be used"));
    let copy = server.dir.path().join("copy");
    fixture::copy(server.sandbox.datadir(), &copy);
    // Other bytes in the middle of a page above the leaves: seen by its checksum.
    let root = saved.hot.indexes.iter().find(|i| i.table == "virt" && i.index == "s").unwrap();
    let path = copy.join("shop@002d1/virt.ibd");
    let mut bytes = std::fs::read(&path).unwrap();
    let lowest = root.pages.iter().map(|(page, _)| *page).min().unwrap() as usize;
    bytes[lowest * 16_384 + 200] ^= 0x55;
    std::fs::write(&path, bytes).unwrap();
    let copied = save(&server, &SavePlan { datadir: Some(copy), ..plan() });
    let same = |hot: &HotSet| {
        let kept = hot.indexes.iter().filter(|i| i.table != "virt");
        kept.map(|i| (i.table.clone(), i.index.clone(), i.ranges.len())).collect::<Vec<_>>()
    };
    assert_eq!(same(&copied.hot), same(&saved.hot));
    let said = why(&copied.hot, "virt", "s");
    assert!(said.contains("damaged"), "{said}");
    assert_eq!(why(&copied.hot, "virt", "v"), "");
}

#[test]
fn a_stop_leaves_no_hot_set_and_a_stranger_is_told_what_it_needs() {
    let server = fixture::mariadb();
    let stop = Stop::new();
    stop.set(StopReason::Interrupted);
    if let Ok(saved) = save_until(&server, &SavePlan::default(), &stop) {
        assert!(saved.cut && saved.hot.indexes.is_empty());
    }
    let mut session = open(&server);
    session.run_command("CREATE USER stranger@localhost").unwrap();
    let plan = sweat::plan::AddressPlan {
        socket: Some(server.sandbox.meta().socket.clone()),
        user: Some("stranger".to_owned()),
        ..sweat::plan::AddressPlan::default()
    };
    let target = sweat::client::Target::new(&plan).unwrap();
    let mut scene = WarmContext {
        target: &target,
        control: None,
        clock: RealClock::start_now(),
        stop: &Stop::new(),
        progress: &mut |_| {},
    };
    let error = hotset::save_hot_set(&SavePlan::default(), &mut scene).unwrap_err();
    assert!(format!("{error:#}").contains("privilege PROCESS"), "{error:#}");
}

#[test]
fn the_command_writes_a_file_that_load_reads() {
    let server = filled(fixture::with(SETTINGS));
    let path = server.dir.path().join("hot.zst");
    let socket = server.sandbox.meta().socket.clone();
    let words = |path: &Path| -> Vec<PathBuf> {
        let words = ["warm", "hotset", "save", "--quiet", "-u", "root", "-S"].map(PathBuf::from);
        [&words[..], &[socket.clone(), path.to_owned()]].concat()
    };
    let (code, out, err) = sweat(&words(&path));
    assert_eq!(code, Some(0), "{err}");
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.starts_with("saved ") && out.contains(" key ranges, to "), "{out}");
    assert!(out.contains("note: shop-1.odd.cut has no key ranges"), "{out}");
    let hot = hotset::read_hot_set(&path).unwrap();
    assert!(hot.indexes.len() > 100);
    assert!(hot.origin.accesses_per_s.is_some());
    assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20);
    let nowhere = server.dir.path().join("none/hot");
    let (code, _, err) = sweat(&words(&nowhere));
    assert_eq!(code, Some(3));
    assert!(err.contains("write") && err.contains("none/hot"), "{err}");
}

#[expect(clippy::disallowed_methods, reason = "tests may start the program they test")]
fn sweat(words: &[PathBuf]) -> (Option<i32>, String, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_sweat"))
        .args(words)
        .output()
        .expect("sweat can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn accesses_are_counted_while_users_work() {
    let server = fixture::mariadb();
    let saved = save(&server, &SavePlan { watch: Nanos(200_000_000), ..SavePlan::default() });
    assert!(saved.hot.origin.accesses_per_s.is_some_and(|rate| rate < 2_000.0));
}
