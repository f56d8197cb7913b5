//! Hot sets brought to servers: all of it comes, in order, nothing else changes, and what can't come is said.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sweat::base::{Clock, RealClock, Stop, StopReason};
use sweat::client::{ServerProduct, Session, Target};
use sweat::plan::Options;
use sweat::server::{ServerControl, Settings};
use sweat::warm::hotset::{
    self, HotIndex, HotSet, HotSetOrigin, KeyColumn, KeyLiteral, KeyRange, ResidencyOptions,
    read_residency,
};
use sweat::warm::{STRATEGIES, WarmContext, WarmOutcome, read_pool_status};

use crate::fixture::{self, Fixture};

const ROWS: u64 = 24_000;

/// Nothing is read but what is asked for, so that pages can be counted.
const SETTINGS: &[(&str, &str)] = &[
    ("innodb_buffer_pool_size", "48M"),
    ("innodb_lru_scan_depth", "100"),
    ("innodb_read_ahead_threshold", "0"),
];

/// A server of each product that is there, with rows whose secondary keys are scattered, cold.
fn servers() -> Vec<Fixture> {
    let mut all = vec![maria()];
    all.extend(fixture::mysql_with(SETTINGS));
    all.iter_mut().skip(1).for_each(fill);
    all
}

/// The first of them, where products make no difference.
fn maria() -> Fixture {
    let mut server = fixture::with(SETTINGS);
    fill(&mut server);
    server
}

fn fill(server: &mut Fixture) {
    let rows = statements();
    server.filled_with("orders", rows.iter().map(String::as_str));
}

fn statements() -> Vec<String> {
    let mut all: Vec<String> = [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT NOT NULL PRIMARY KEY, code CHAR(32) CHARACTER SET latin1 \
         NOT NULL, pad CHAR(200) CHARACTER SET latin1 NOT NULL, KEY code (code))",
        "CREATE TABLE shop.few (a INT NOT NULL, b INT NOT NULL, pad CHAR(200) NOT NULL, \
         PRIMARY KEY (a, b))",
    ]
    .map(str::to_owned)
    .to_vec();
    let row = |id: u64| format!("({id},'{}','x')", code(id));
    for from in (0..ROWS).step_by(4_000) {
        let rows: Vec<_> = (from..from + 4_000).map(row).collect();
        all.push(format!("INSERT INTO shop.orders VALUES {}", rows.join(",")));
    }
    let rows: Vec<_> = (0..4_000u32).map(|i| format!("({},{},'y')", i / 100, i % 100)).collect();
    all.push(format!("INSERT INTO shop.few VALUES {}", rows.join(",")));
    all.push("ANALYZE TABLE shop.orders, shop.few".to_owned());
    all
}

/// The code of an order: as good as random.
fn code(id: u64) -> String {
    let mut x = id.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    format!("{:016x}{:016x}", x ^ (x >> 31), id)
}

fn open(target: &Target) -> Session {
    target.connect(&Stop::new()).expect("a session")
}

fn restart(server: &mut Fixture) {
    server.sandbox.stop().expect("the sandbox stops");
    server.sandbox.start(&Settings::new()).expect("the sandbox starts");
}

/// What users do: look up a third of the orders by their codes.
fn work(server: &Fixture) -> u64 {
    let mut session = open(server.target());
    let before = read_pool_status(&mut session).unwrap().pages_read;
    for id in (8_000..16_000).step_by(7) {
        let sql = format!("SELECT pad FROM shop.orders WHERE code = '{}'", code(id));
        assert_eq!(session.query_rows(&sql).unwrap().rows.len(), 1);
    }
    read_pool_status(&mut session).unwrap().pages_read - before
}

/// The hot set of a server, by hand: its pages of `shop` from the pool, and these ranges of keys.
fn taken(server: &Fixture) -> HotSet {
    let mut session = open(server.target());
    let own = if session.identity().product == ServerProduct::MariaDb { "SYS_" } else { "" };
    let rows = session
        .query_rows(&format!(
            "SELECT i.NAME, i.SPACE, i.INDEX_ID, s.FILE_SIZE DIV 16384, \
             SUBSTRING_INDEX(t.NAME, '/', -1) \
             FROM information_schema.INNODB_{own}INDEXES i \
             JOIN information_schema.INNODB_{own}TABLES t ON t.TABLE_ID = i.TABLE_ID \
             JOIN information_schema.INNODB_{own}TABLESPACES s ON s.SPACE = i.SPACE \
             WHERE t.NAME LIKE 'shop/%'"
        ))
        .unwrap();
    let number = |at: usize, column| rows.text_value(at, column).unwrap().parse::<u64>().unwrap();
    let mut ranks: HashMap<String, Vec<(u32, u64)>> = HashMap::new();
    for (rank, (table, index, page)) in pages(&mut session).into_iter().enumerate() {
        ranks.entry(format!("{table}.{index}")).or_default().push((page, rank as u64));
    }
    let index = |at: usize| {
        let (table, index) = (rows.text_value(at, 4).unwrap(), rows.text_value(at, 0).unwrap());
        let pages = ranks.get(&format!("{table}.{index}")).cloned().unwrap_or_default();
        let (key, ranges) = ranges(&table, &index, pages.len() as u64);
        HotIndex {
            database: "shop".to_owned(),
            table,
            clustered: index == "PRIMARY",
            index,
            space: number(at, 1) as u32,
            index_id: number(at, 2),
            file_pages: number(at, 3),
            key,
            pages,
            ranges,
            ..HotIndex::default()
        }
    };
    let mut indexes: Vec<HotIndex> = (0..rows.rows.len()).map(index).collect();
    indexes.retain(|index| !index.pages.is_empty());
    assert!(indexes.iter().map(|i| i.pages.len()).sum::<usize>() > 150, "{indexes:?}");
    let origin = HotSetOrigin {
        product: session.identity().product.name().to_owned(),
        page_bytes: 16_384,
        accesses_per_s: Some(10_000.0),
        ..HotSetOrigin::default()
    };
    HotSet { format_version: 1, origin, indexes, notes: Vec::new() }
}

/// Pages of `shop` in the pool: table, index, number; the hottest first.
fn pages(session: &mut Session) -> Vec<(String, String, u32)> {
    let rows = session
        .query_rows(
            "SELECT REPLACE(SUBSTRING_INDEX(TABLE_NAME, '.', -1), '`', ''), INDEX_NAME, \
             PAGE_NUMBER \
             FROM information_schema.INNODB_BUFFER_PAGE_LRU WHERE TABLE_NAME LIKE '`shop`.%' \
             ORDER BY LRU_POSITION DESC",
        )
        .unwrap();
    let text = |at, column| rows.text_value(at, column).unwrap();
    (0..rows.rows.len())
        .map(|at| (text(at, 0), text(at, 1), text(at, 2).parse().unwrap()))
        .collect()
}

/// Ranges of keys that hold what `work` looks up, hottest first by their places here.
fn ranges(table: &str, index: &str, pages: u64) -> (Vec<KeyColumn>, Vec<KeyRange>) {
    let column = |name: &str| KeyColumn { name: name.to_owned(), ..KeyColumn::default() };
    let range = |low: &[KeyLiteral], high: &[KeyLiteral], heat| KeyRange {
        low: low.to_vec(),
        high: high.to_vec(),
        pages: (pages / 8).max(1),
        heat,
        ..KeyRange::default()
    };
    let number = |n: u64| -> KeyLiteral { n.to_string().parse().unwrap() };
    match (table, index) {
        ("orders", "PRIMARY") => {
            let from = |i: u64| [number(8_000 + i * 1_000)];
            let all = (0..8).map(|i| range(&from(i), &from(i + 1), i * 10)).collect();
            (vec![column("id")], all)
        }
        ("orders", _) => {
            // Codes are evenly spread, so all of them are hot.
            let digit = |i: u64| format!("_latin1 x'{:02X}'", format!("{i:x}").as_bytes()[0]);
            let at = |i: u64| [digit(i).parse().unwrap(), number(0)];
            let mut all: Vec<_> = (0..15).map(|i| range(&at(i), &at(i + 1), i * 10 + 5)).collect();
            all.push(range(&at(15), &[], 155));
            (vec![column("code"), column("id")], all)
        }
        _ => {
            let from = |a: u64, b: u64| [number(a), number(b)];
            (vec![column("a"), column("b")], vec![range(&from(3, 50), &from(21, 7), 7)])
        }
    }
}

fn kept(server: &Fixture, hot: &HotSet) -> PathBuf {
    let path = server.dir.path().join("hot");
    hotset::write_hot_set(hot, &path).unwrap();
    path
}

fn load_until(
    server: &mut Fixture,
    hot: &Path,
    given: &[(&str, &str)],
    is_ours: bool,
    stop: &Stop,
) -> anyhow::Result<WarmOutcome> {
    let strategy = STRATEGIES.iter().find(|s| s.name() == "hotset").expect("in the list");
    let mut all = vec![("file".to_owned(), hot.display().to_string())];
    all.extend(given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
    let options = Options::from_given(&strategy.option_specs(), &all).expect("good options");
    let target = server.target().clone();
    let control = is_ours.then_some(&mut server.sandbox as &mut dyn ServerControl);
    let mut scene = WarmContext {
        target: &target,
        control,
        clock: RealClock::start_now(),
        stop,
        progress: &mut |p| assert!(p.total == 0 || p.done <= p.total, "{p:?}"),
    };
    strategy.warm(&options, &mut scene)
}

fn load(server: &mut Fixture, hot: &Path, given: &[(&str, &str)]) -> WarmOutcome {
    load_until(server, hot, given, true, &Stop::new()).expect("the load goes well")
}

/// All global variables, and the files of lists in the data folder.
fn state(server: &Fixture) -> (BTreeMap<String, String>, Vec<(String, String)>) {
    let rows = open(server.target()).query_rows("SHOW GLOBAL VARIABLES").unwrap();
    let variables = (0..rows.rows.len())
        .map(|i| (rows.text_value(i, 0).unwrap(), rows.text_value(i, 1).unwrap()));
    let variables = variables.collect();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(server.sandbox.datadir()).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.contains("buffer_pool") || name.contains("sweat") {
            files.push((name, std::fs::read_to_string(entry.path()).unwrap()));
        }
    }
    files.sort();
    (variables, files)
}

fn share_there(server: &Fixture, hot: &HotSet, how: ResidencyOptions) -> f64 {
    let mut session = open(server.target());
    let pool = read_pool_status(&mut session).unwrap();
    let found = read_residency(&mut session, hot, &pool, how).unwrap();
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    hotset::compute_warmth(hot, &found).share
}

const BY_PAGES: ResidencyOptions = ResidencyOptions { pages: true, rows: false };
const BY_ROWS: ResidencyOptions = ResidencyOptions { pages: false, rows: true };

#[test]
fn the_same_server_has_its_pages_back_after_a_restart() {
    for mut server in servers() {
        let own = server.sandbox.datadir().join("ib_buffer_pool");
        let cold = work(&server);
        assert!(cold > 200, "{cold}");
        let hot = taken(&server);
        let file = kept(&server, &hot);
        assert!((share_there(&server, &hot, BY_PAGES) - 1.0).abs() < 1e-9);
        for (by, most) in [("pages", cold / 100), ("keys", cold / 100), ("auto", cold / 100)] {
            restart(&mut server);
            std::fs::write(&own, "0,1\n").unwrap();
            let before = state(&server);
            assert!(share_there(&server, &hot, BY_PAGES) < 0.1);
            let warmed = load(&mut server, &file, &[("by", by)]);
            assert!(!warmed.cut && warmed.failed == 0, "{by}: {:?}", warmed.notes);
            assert_eq!(warmed.notes, [] as [String; 0], "{by}");
            assert_eq!(state(&server), before, "{by}");
            let share = share_there(&server, &hot, BY_PAGES);
            assert!(share > 0.98, "{by}: {share}");
            let late = work(&server);
            assert!(late <= most, "{by}: {late} of {cold} pages were read afterwards");
            assert!(!file.with_extension("progress").exists());
        }
    }
}

#[test]
fn a_server_with_the_same_rows_elsewhere_is_warmed_by_keys() {
    let mut all = servers();
    let hot: Vec<HotSet> = all.iter().map(taken_after_work).collect();
    // Each to each: also from one product to the other, both ways.
    for server in &mut all {
        let cold = {
            restart(server);
            work(server)
        };
        for hot in &hot {
            let other = hot.origin.product != open(server.target()).identity().product.name();
            let mut hot = hot.clone();
            // Numbers that are those of nothing here.
            hot.indexes.iter_mut().for_each(|i| i.index_id += if other { 0 } else { 100_000 });
            let file = kept(server, &hot);
            restart(server);
            let before = state(server);
            let warmed = load(server, &file, &[]);
            assert!(!warmed.cut && warmed.failed == 0, "{:?}", warmed.notes);
            assert_eq!(state(server), before);
            let late = work(server);
            assert!(late <= cold / 20, "{late} of {cold} pages were read afterwards");
            let share = share_there(server, &hot, BY_ROWS);
            assert!(share > 0.95, "{share}");
        }
    }
}

fn taken_after_work(server: &Fixture) -> HotSet {
    work(server);
    let mut session = open(server.target());
    session.query_rows("SELECT COUNT(pad) FROM shop.few WHERE a BETWEEN 4 AND 20").unwrap();
    taken(server)
}

#[test]
fn ranges_of_keys_use_the_index_they_name() {
    for mut server in servers() {
        let hot = taken_after_work(&server);
        let file = kept(&server, &hot);
        server.sql("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON");
        load(&mut server, &file, &[("by", "keys"), ("rate", "100000 pages")]);
        server.sql("SET GLOBAL general_log = OFF");
        let mut session = open(server.target());
        let sent = "SELECT DISTINCT CONVERT(argument USING utf8mb4) FROM mysql.general_log \
                    WHERE argument LIKE 'SELECT /* sweat warm */%'";
        let sent = session.query_rows(sent).unwrap();
        let mut tables = Vec::new();
        for at in 0..sent.rows.len() {
            let sql = sent.text_value(at, 0).unwrap();
            let plan = session.query_rows(&format!("EXPLAIN FORMAT=TRADITIONAL {sql}")).unwrap();
            let column =
                |name| plan.text_value(0, plan.column_index(name).unwrap()).unwrap_or_default();
            let (access, key) = (column("type"), column("key"));
            assert!(["range", "const", "ref"].contains(&access.as_str()), "{sql}: {access}");
            assert!(sql.contains(&format!("FORCE INDEX (`{key}`)")), "{sql}: {key}");
            if access == "range" && key == "PRIMARY" && sql.contains("`few`") {
                let rows: u64 = column("rows").parse().unwrap();
                assert!(rows < 3_000, "both columns bound the range: {rows} rows: {sql}");
            }
            tables.push(key);
        }
        assert!(tables.len() > 4 && tables.iter().any(|k| k == "code"), "{tables:?}");
    }
}

#[test]
fn what_was_dropped_or_rebuilt_is_said_or_read_by_its_keys() {
    let mut server = maria();
    let hot = taken_after_work(&server);
    let file = kept(&server, &hot);
    server.sql("ALTER TABLE shop.orders DROP INDEX code; DROP TABLE shop.few");
    server.sql("OPTIMIZE TABLE shop.orders");
    restart(&mut server);
    let warmed = load(&mut server, &file, &[]);
    let notes = warmed.notes.join("\n");
    assert!(notes.contains("shop.orders.code is left out: there is no such index"), "{notes}");
    assert!(notes.contains("shop.few.PRIMARY is left out: there is no such table"), "{notes}");
    let mut session = open(server.target());
    let before = read_pool_status(&mut session).unwrap().pages_read;
    let sql = "SELECT COUNT(pad) FROM shop.orders FORCE INDEX (PRIMARY) \
                   WHERE id >= 8000 AND id < 16000";
    session.query_rows(sql).unwrap();
    let late = read_pool_status(&mut session).unwrap().pages_read - before;
    assert!(late <= 2, "{late} pages of the rebuilt table were read afterwards");
}

#[test]
fn an_index_that_is_named_otherwise_ordered_is_scanned_whole() {
    let mut server = maria();
    let mut hot = taken_after_work(&server);
    for index in hot.indexes.iter_mut().filter(|i| i.index == "code") {
        index.index_id += 100_000;
        index.key[0].collation = Some("latin1_bin".to_owned());
    }
    hot.indexes.retain(|i| i.index == "code");
    let file = kept(&server, &hot);
    restart(&mut server);
    let warmed = load(&mut server, &file, &[]);
    let notes = warmed.notes.join("\n");
    assert!(notes.contains("shop.orders.code is scanned whole: code is ordered by"), "{notes}");
    let mut session = open(server.target());
    let before = read_pool_status(&mut session).unwrap().pages_read;
    session.query_rows("SELECT COUNT(code) FROM shop.orders FORCE INDEX (code)").unwrap();
    assert!(read_pool_status(&mut session).unwrap().pages_read - before <= 2);
}

#[test]
fn pages_that_the_server_leaves_out_in_silence_are_found_by_their_keys() {
    for mut server in servers() {
        let cold = work(&server);
        let mut hot = taken(&server);
        for index in &mut hot.indexes {
            // Numbers of pages beyond the file, as after a rebuild that nobody noticed.
            index.pages.iter_mut().for_each(|(page, _)| *page += 1_000_000);
        }
        let file = kept(&server, &hot);
        restart(&mut server);
        let warmed = load(&mut server, &file, &[("by", "pages")]);
        let notes = warmed.notes.join("\n");
        assert!(notes.contains("; sweat reads it by its keys instead"), "{notes}");
        let late = work(&server);
        assert!(late <= cold / 20, "{late} of {cold} pages were read afterwards");
    }
}

#[test]
fn equal_numbers_with_rows_elsewhere_are_noticed() {
    let mut server = maria();
    let cold = work(&server);
    let mut hot = taken(&server);
    for index in hot.indexes.iter_mut().filter(|i| i.index == "PRIMARY" && i.table == "orders") {
        // The right number of pages of the right index, but not those where the rows are.
        let there: Vec<u32> = index.pages.iter().map(|(page, _)| *page).collect();
        let others = (40..index.file_pages as u32).filter(|page| !there.contains(page));
        let ranks = index.pages.iter().map(|(_, rank)| *rank);
        index.pages = others.zip(ranks).collect();
        index.ranges.iter_mut().for_each(|range| range.last = range.low.clone());
    }
    hot.indexes.retain(|i| i.index == "PRIMARY" && i.table == "orders");
    let file = kept(&server, &hot);
    restart(&mut server);
    let warmed = load(&mut server, &file, &[("by", "pages")]);
    let notes = warmed.notes.join("\n");
    assert!(notes.contains("everything is read by its keys"), "{notes}");
    let mut session = open(server.target());
    let before = read_pool_status(&mut session).unwrap().pages_read;
    session
        .query_rows("SELECT COUNT(pad) FROM shop.orders WHERE id >= 8000 AND id < 16000")
        .unwrap();
    let late = read_pool_status(&mut session).unwrap().pages_read - before;
    assert!(late <= cold / 20, "{late} of {cold}");
}

#[test]
fn a_load_that_was_cut_goes_on_where_it_was() {
    for by in ["pages", "keys"] {
        for mut server in servers() {
            let hot = taken_after_work(&server);
            let file = kept(&server, &hot);
            restart(&mut server);
            let before = state(&server);
            let stop = Stop::new();
            let later = stop.clone();
            std::thread::spawn(move || {
                let clock = RealClock::start_now();
                clock.sleep_until(clock.now() + Duration::from_millis(900).into());
                later.set(StopReason::Interrupted);
            });
            let given = [("by", by), ("rate", "128 pages")];
            let first = load_until(&mut server, &file, &given, true, &stop).unwrap();
            assert!(first.cut && first.pages_read > 30, "{by}: {first:?}");
            assert_eq!(state(&server), before, "{by}");
            let there = share_there(&server, &hot, BY_PAGES);
            assert!(there < 0.9, "{by}: {there}");
            let second = load(&mut server, &file, &[("by", by), ("resume", "on")]);
            assert!(!second.cut, "{by}: {second:?}");
            let all = share_there(&server, &hot, BY_PAGES);
            assert!(all > 0.98, "{by}: {all}, before {there}: {:?}", second.notes);
            let third = load(&mut server, &file, &[("by", by), ("resume", "on")]);
            assert!(third.notes[0].contains("no record"), "{by}: {:?}", third.notes);
        }
    }
}

#[test]
fn without_consent_nothing_is_set_and_pages_are_read_by_their_keys() {
    for mut server in servers() {
        let cold = work(&server);
        let hot = taken(&server);
        let file = kept(&server, &hot);
        restart(&mut server);
        let before = state(&server);
        let stop = Stop::new();
        let refused = load_until(&mut server, &file, &[("by", "pages")], false, &stop).unwrap_err();
        assert!(refused.to_string().contains("--allow load"), "{refused:#}");
        let loads = "SELECT VARIABLE_VALUE FROM PLACE.global_status \
                     WHERE VARIABLE_NAME = 'Innodb_buffer_pool_load_status'";
        let maria = open(server.target()).identity().product == ServerProduct::MariaDb;
        let place = if maria { "information_schema" } else { "performance_schema" };
        let loads = &loads.replace("PLACE", place);
        let untouched = server.sql(loads);
        load_until(&mut server, &file, &[], false, &stop).unwrap();
        assert_eq!(state(&server), before);
        assert_eq!(server.sql(loads), untouched, "no load was asked for");
        let late = work(&server);
        assert!(late <= cold / 20, "{late} of {cold} pages were read afterwards");
        restart(&mut server);
        load_until(&mut server, &file, &[("by", "pages"), ("allow", "load")], false, &stop)
            .unwrap();
        assert_ne!(server.sql(loads), untouched);
        assert_eq!(state(&server), before);
    }
}

#[test]
fn a_copy_of_the_data_folder_has_the_same_pages() {
    for mut server in servers() {
        let cold = work(&server);
        let hot = taken(&server);
        let file = kept(&server, &hot);
        let is_mysql = open(server.target()).identity().product != ServerProduct::MariaDb;
        let empty = || if is_mysql { fixture::mysql_with(SETTINGS) } else { None };
        let mut other = empty().unwrap_or_else(|| fixture::with(SETTINGS));
        server.sandbox.stop().unwrap();
        other.sandbox.stop().unwrap();
        let data = other.sandbox.datadir().to_owned();
        std::fs::remove_dir_all(&data).unwrap();
        fixture::copy(server.sandbox.datadir(), &data);
        let _ = std::fs::remove_file(data.join("auto.cnf"));
        other.sandbox.start(&Settings::new()).unwrap();
        let warmed = load(&mut other, &file, &[("by", "pages")]);
        assert_eq!(warmed.notes, [] as [String; 0]);
        let late = work(&other);
        assert!(late <= cold / 100, "{late} of {cold} pages were read afterwards");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests may start the program")]
fn what_a_killed_load_left_is_put_back_by_restore() {
    for server in servers() {
        work(&server);
        let hot = taken(&server);
        let file = kept(&server, &hot);
        std::fs::write(server.sandbox.datadir().join("ib_buffer_pool"), "0,1\n").unwrap();
        let before = state(&server);
        let socket = server.sandbox.meta().socket.clone();
        let sweat = |words: &[&str]| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sweat"));
            command.env("SWEAT_HOME", server.dir.path()).args(words).arg("-S").arg(&socket);
            command
        };
        let hot = file.to_str().unwrap();
        let words =
            ["warm", "hotset", "load", hot, "-u", "root", "--allow", "load", "--rate", "200 pages"];
        let mut killed = sweat(&words).spawn().unwrap();
        let clock = RealClock::start_now();
        while state(&server).1 == before.1 && clock.now().to_seconds() < 5.0 {
            clock.sleep_until(clock.now() + Duration::from_millis(20).into());
        }
        killed.kill().unwrap();
        killed.wait().unwrap();
        let left = state(&server);
        assert_ne!(left.0["innodb_old_blocks_pct"], before.0["innodb_old_blocks_pct"]);
        assert_ne!(left.1, before.1, "our list is still there");
        let journals = std::fs::read_dir(server.dir.path().join("journal")).unwrap();
        let journal = journals.flatten().next().expect("a journal").path();
        let restored = sweat(&["restore", journal.to_str().unwrap(), "-u", "root"]).status();
        assert!(restored.unwrap().success());
        assert_eq!(state(&server), before);
    }
}

/// `sweat WORDS`, its exit code and what it said on stderr.
#[expect(clippy::disallowed_methods, reason = "tests may start the program")]
fn sweat(server: &Fixture, words: &[&str]) -> (Option<i32>, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_sweat"))
        .args(words)
        .args(["-u", "root", "-S"])
        .arg(&server.sandbox.meta().socket)
        .env("SWEAT_HOME", server.dir.path())
        .output()
        .expect("sweat can be run");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_file_that_says_more_than_values_is_refused_and_nothing_is_sent() {
    for server in servers() {
        work(&server);
        let hot = taken(&server);
        let file = kept(&server, &hot);
        let good = std::fs::read_to_string(&file).unwrap();
        let outfile = server.dir.path().join("outfile");
        let outfile = outfile.to_str().unwrap();
        let evil = file.with_file_name("evil.json");
        let evil = evil.to_str().unwrap();
        let connections = || -> u64 {
            let said = server.sql("SHOW GLOBAL STATUS LIKE 'Connections'");
            said.split_whitespace().last().unwrap().parse().unwrap()
        };
        let first = hot.indexes.iter().flat_map(|index| &index.ranges).next().unwrap();
        for bound in ["low", "high"] {
            let value = if bound == "low" { &first.low[0] } else { &first.high[0] };
            for bad in [
                format!("{value}) INTO OUTFILE '{outfile}' -- "),
                "(select sleep(30))".to_owned(),
                format!("{value} OR sleep(30)"),
            ] {
                let (from, to) =
                    (format!("\"{bound}\":[\"{value}\""), format!("\"{bound}\":[\"{bad}\""));
                assert!(good.contains(&from), "{from}");
                std::fs::write(evil, good.replacen(&from, &to, 1)).unwrap();
                let before = connections();
                for more in [&[][..], &["--by", "keys"], &["--allow", "load"]] {
                    let words = [&["warm", "hotset", "load", evil], more].concat();
                    let (code, said) = sweat(&server, &words);
                    assert_eq!(code, Some(2), "{said}");
                    assert!(said.contains("is not a value of a key"), "{said}");
                }
                assert_eq!(connections(), before + 1, "ours is the only one since");
                let (code, said) = sweat(&server, &["warm", "status", "--hotset", evil]);
                assert_eq!(code, Some(2), "{said}");
            }
        }
        assert!(!Path::new(outfile).exists());
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests may start the program")]
fn the_verdict_on_a_failover_is_an_exit_code() {
    for mut server in servers() {
        let hot = taken_after_work(&server);
        let file = kept(&server, &hot);
        let status = |server: &Fixture, budget: &str| {
            let output = std::process::Command::new(env!("CARGO_BIN_EXE_sweat"))
                .args(["warm", "status", "-u", "root", "--budget", budget, "--hotset"])
                .arg(&file)
                .arg("-S")
                .arg(&server.sandbox.meta().socket)
                .output()
                .unwrap();
            (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
        };
        let (code, text) = status(&server, "10");
        assert!(code == 0 && text.contains("\nready for failover"), "{code}: {text}");
        assert!(text.contains("100.0 %  shop.orders.PRIMARY\n"), "{text}");
        restart(&mut server);
        let (code, text) = status(&server, "10");
        assert!(code == 1 && text.contains("not ready for failover"), "{code}: {text}");
        let (code, _) = status(&server, "1000000");
        assert_eq!(code, 0);
    }
}
