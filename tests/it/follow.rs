//! Following an active server: the standby gets warm, nothing is written there, and every fault ends in a clear state.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sweat::base::{Clock, Nanos, RealClock, Stop, StopReason};
use sweat::capture::read_only::AllowList;
use sweat::client::{Session, Target};
use sweat::plan::WritesPlan;
use sweat::server::{ServerControl, Settings};
use sweat::warm::follow::{
    FollowCounts, FollowPhase, FollowPlan, FollowSource, FollowStatus, StandbyLimits, run_follow,
};

use crate::fixture::{self, Fixture};

const ROWS: u64 = 6_000;

/// Rows long enough that each look-up is a page of its own, and the sum of them to compare.
fn table() -> String {
    format!(
        "CREATE DATABASE shop; USE shop; \
         CREATE TABLE shop.orders (id INT PRIMARY KEY, k INT NOT NULL, \
         pad CHAR(250) NOT NULL, more CHAR(250) NOT NULL, KEY k (k)) ENGINE=InnoDB \
         CHARACTER SET latin1; \
         INSERT INTO shop.orders SELECT seq, seq * 7919 % {ROWS}, REPEAT('x', 250), \
         REPEAT('y', 250) FROM seq_1_to_{ROWS}"
    )
}

/// An active server with its log, and a standby with the same rows, cold.
struct Pair {
    active: Fixture,
    standby: Fixture,
    log: PathBuf,
    /// The standby's rows, binary log and settings; looking at them warms it, so that was before its restart.
    before: Vec<String>,
}

fn pair() -> Pair {
    let active = fixture::with(&[("log_bin", "ON"), ("long_query_time", "0")]);
    let log = active.dir.path().join("slow.log");
    let settings = [
        ("innodb_buffer_pool_size", "64M"),
        ("innodb_flush_method", "O_DIRECT"),
        // What is read ahead counts as no miss.
        ("innodb_read_ahead_threshold", "0"),
        ("log_bin", "ON"),
    ];
    let mut standby = fixture::with(&settings);
    for server in [&active, &standby] {
        server.sql(&table());
    }
    standby.sql("SET GLOBAL read_only = 1; FLUSH BINARY LOGS");
    let before = state(&standby);
    restart(&mut standby);
    standby.sql("SET GLOBAL read_only = 1");
    active.sql(&format!(
        "SET GLOBAL slow_query_log_file = '{}'; SET GLOBAL slow_query_log = 1",
        log.display()
    ));
    Pair { active, standby, log, before }
}

fn restart(server: &mut Fixture) {
    server.sandbox.stop().expect("the sandbox stops");
    server.sandbox.start(&Settings::new()).expect("the sandbox starts");
}

fn plan(source: FollowSource) -> FollowPlan {
    FollowPlan {
        source,
        active: None,
        mirror: None,
        writes: WritesPlan::Drop,
        allowed: AllowList::default(),
        window: Nanos(10_000_000_000),
        behind: Nanos(10_000_000_000),
        limits: StandbyLimits::default(),
        time_limit: Duration::from_secs(5),
        writable_too: false,
        may_write: true,
        state: None,
        database: String::new(),
        gauge_each: Nanos(0),
        budget_per_s: 500.0,
        large_too: false,
    }
}

/// A follow on a thread of its own.
struct Follow {
    stop: Stop,
    seen: Arc<Mutex<Option<FollowStatus>>>,
    thread: Option<std::thread::JoinHandle<anyhow::Result<FollowStatus>>>,
}

impl Follow {
    fn start(plan: FollowPlan, standby: &Target) -> Follow {
        let (stop, seen) = (Stop::new(), Arc::new(Mutex::new(None)));
        let (own, told, standby) = (stop.clone(), seen.clone(), standby.clone());
        let thread = std::thread::spawn(move || {
            run_follow(&plan, &standby, RealClock::start_now(), &own, &mut |view| {
                *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(view.clone());
            })
        });
        let follow = Follow { stop, seen, thread: Some(thread) };
        follow.until("it follows", |view| view.phase == FollowPhase::Following);
        // A source that is a file is at its end then; give its thread the time to open it.
        sleep(150);
        follow
    }

    /// Waits until the view is like this.
    fn until(&self, what: &str, is: impl Fn(&FollowStatus) -> bool) -> FollowStatus {
        let clock = RealClock::start_now();
        let last = clock.now() + Nanos(20_000_000_000);
        while clock.now() < last {
            let view = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(view) = view.filter(|view| is(view)) {
                return view;
            }
            let is_over = self.thread.as_ref().is_some_and(std::thread::JoinHandle::is_finished);
            assert!(!is_over, "the follow ended before {what}");
            sleep(20);
        }
        panic!("waited in vain until {what}: {:?}", self.seen.lock().unwrap());
    }

    fn end(mut self) -> FollowStatus {
        self.stop.set(StopReason::Done);
        let thread = self.thread.take().expect("it runs");
        thread.join().expect("no panic").expect("no error")
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.stop.set(StopReason::Done);
    }
}

fn sleep(ms: u64) {
    let clock = RealClock::start_now();
    clock.sleep_until(clock.now() + Nanos(ms * 1_000_000));
}

fn open(server: &Fixture) -> Session {
    server.target().connect(&Stop::new()).expect("a session")
}

fn status(session: &mut Session, name: &str) -> u64 {
    let rows = session.query_rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).unwrap();
    rows.text_value(0, 1).and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("no {name}"))
}

/// The workload: look-ups of every `step`th row by both indexes.
fn look_up(session: &mut Session, step: u64, comment: &str) -> u64 {
    let _ = session.run_command("USE shop");
    let mut count = 0;
    for id in (1..=ROWS).step_by(step as usize) {
        for sql in [
            format!("SELECT {comment} pad FROM orders WHERE id = {id}"),
            format!("SELECT {comment} COUNT(*) FROM orders WHERE k = {id}"),
        ] {
            session.query_rows(&sql).unwrap();
            count += 1;
        }
    }
    count
}

/// What must not change on the standby: rows, positions, databases, settings.
fn state(server: &Fixture) -> Vec<String> {
    let mut session = open(server);
    let mut found = Vec::new();
    for sql in [
        "CHECKSUM TABLE shop.orders",
        "SELECT @@GLOBAL.gtid_current_pos, @@GLOBAL.gtid_binlog_pos",
        "SHOW DATABASES",
        "SHOW GLOBAL VARIABLES WHERE Variable_name NOT IN ('timestamp')",
    ] {
        let rows = session.query_rows(sql).unwrap();
        found.push(format!("{rows:?}"));
    }
    found
}

/// Asserts that nothing was written or set on the standby since its restart.
fn assert_untouched(pair: &Pair) {
    let mut session = open(&pair.standby);
    let writes = session
        .query_rows(
            "SHOW GLOBAL STATUS WHERE Value > 0 AND (Variable_name IN ('Binlog_commits', \
             'Handler_update', 'Handler_delete') OR Variable_name RLIKE '^Com_(insert|update|\
             delete|replace|load|create|drop|alter|truncate|grant|revoke|lock|optimize|call)')",
        )
        .unwrap();
    assert!(writes.rows.is_empty(), "it was written: {writes:?}");
    assert_eq!(pair.before, state(&pair.standby), "something was changed there");
}

#[test]
fn the_standby_gets_warm_by_the_active_servers_reads_and_nothing_is_written_there() {
    let pair = pair();
    let plan = FollowPlan {
        active: Some(pair.active.target().clone()),
        gauge_each: Nanos(500_000_000),
        ..plan(FollowSource::File(pair.log.clone()))
    };
    let running = Follow::start(plan, pair.standby.target());
    let view = running.until("the hot set is looked at", |view| view.heat.is_some());
    let heat = view.heat.unwrap();
    assert!(heat.warmth.share < 0.3 && heat.warmth.pages_hot > 150, "cold: {heat:?}");
    // Nobody has asked the active server for anything: what it would ask of the standby is not known.
    assert!(heat.readiness.is_none() && heat.accesses_per_s.is_none(), "{heat:?}");
    let mut active = open(&pair.active);
    let mut looks = open(&pair.standby);
    let cold = status(&mut looks, "Innodb_buffer_pool_reads");
    let sent = look_up(&mut active, 12, "");
    // The same once more is known already; writes and what does something stay out.
    look_up(&mut active, 12, "");
    for sql in [
        "UPDATE orders SET pad = 'new' WHERE id = 5",
        "DELETE FROM orders WHERE id = 6",
        "SELECT GET_LOCK('mine', 1)",
        "SELECT * FROM orders WHERE id = 7 INTO OUTFILE '/tmp/never'",
        "CREATE TABLE other (id INT)",
        "SET GLOBAL max_connections = 77",
    ] {
        let _ = active.query_rows(sql);
    }
    // Our own sessions ask the active server for its version, and set what is theirs.
    let is_refused = |counts: &FollowCounts| {
        let of = |words: &str| counts.reasons.iter().any(|(reason, _)| reason.contains(words));
        of("writes a file") && of("not on the list of read-only statements")
    };
    let view = running.until("all is sent", |v| {
        let counts = &v.counts;
        let is_sent = counts.sent >= sent && counts.deduplicated >= sent;
        is_sent && counts.writes >= 2 && counts.refused >= 4 && is_refused(counts)
    });
    assert!((sent..=sent + 20).contains(&view.counts.sent), "{:?}", view.counts);
    assert_eq!((view.counts.failed, view.counts.skipped, view.counts.lost), (0, 0, 0));
    assert!(view.counts.writes >= 2 && view.counts.refused >= 4, "{:?}", view.counts);
    let warmed = status(&mut looks, "Innodb_buffer_pool_reads") - cold;
    assert!(warmed > 100, "following reads what the workload needs: {warmed}");
    assert!(view.reads.misses > 100, "and says so: {:?}", view.reads);
    let own = view.reads.own_misses_per_1000.expect("MariaDB tells of our own");
    assert!(own > 0.0 && view.reads.own_misses.is_some_and(|n| n > 50.0), "{:?}", view.reads);
    let view = running.until("the standby is warm", |view| {
        view.heat.as_ref().is_some_and(|heat| heat.warmth.share > 0.9)
    });
    let heat = view.heat.unwrap();
    let orders = heat.warmth.indexes.iter().find(|i| i.table == "orders" && i.index == "PRIMARY");
    assert!(orders.is_some_and(|index| index.share > 0.9), "{heat:?}");
    let last = running.end();
    assert_eq!(last.phase, FollowPhase::Ended);
    // The workload finds all of its pages there.
    let mut standby = open(&pair.standby);
    let warm = status(&mut standby, "Innodb_buffer_pool_reads");
    look_up(&mut standby, 12, "/* now here */");
    let missed = status(&mut standby, "Innodb_buffer_pool_reads") - warm;
    assert!(missed * 50 <= warmed, "{missed} of {warmed} reads are left");
    assert_untouched(&pair);
}

#[test]
fn a_read_half_of_writes_is_sent_where_asked() {
    let pair = pair();
    let source = FollowSource::File(pair.log.clone());
    let plan = FollowPlan { writes: WritesPlan::Probe, ..plan(source) };
    let running = Follow::start(plan, pair.standby.target());
    let mut looks = open(&pair.standby);
    let cold = status(&mut looks, "Innodb_buffer_pool_reads");
    let mut active = open(&pair.active);
    active.run_command("USE shop").unwrap();
    for id in (1..ROWS).step_by(100) {
        active.run_command(&format!("UPDATE orders SET k = k + 1 WHERE id = {id}")).unwrap();
    }
    let halved = ROWS.div_ceil(100);
    let view = running.until("all is sent", |v| v.counts.halved >= halved && v.waiting == 0);
    assert_eq!((view.counts.writes, view.counts.failed), (0, 0), "{:?}", view.counts);
    assert!(view.counts.sent >= halved, "{:?}", view.counts);
    running.until("the pages are there", |v| v.counts.sent > 0 && v.waiting == 0);
    running.end();
    assert!(status(&mut looks, "Innodb_buffer_pool_reads") - cold > 50);
    assert_untouched(&pair);
}

#[test]
fn it_goes_on_after_the_standby_died_and_stops_at_once_when_it_is_promoted() {
    let mut pair = pair();
    let running = Follow::start(plan(FollowSource::File(pair.log.clone())), pair.standby.target());
    let mut active = open(&pair.active);
    look_up(&mut active, 200, "/* 1 */");
    running.until("it sends", |view| view.counts.sent > 50);
    pair.standby.sandbox.kill();
    let view = running.until("it is missed", |v| matches!(v.phase, FollowPhase::StandbyGone(_)));
    let before = view.counts.sent;
    look_up(&mut active, 200, "/* 2 */");
    running.until("what comes meanwhile is dropped", |view| view.counts.unsent > 50);
    pair.standby.sandbox.start(&Settings::new()).expect("the standby starts");
    // It comes back writable: nothing is sent until it is a standby again.
    let view = running.until("it is back", |view| view.phase == FollowPhase::Promoted);
    assert_eq!(view.counts.sent, before);
    pair.standby.sql("SET GLOBAL read_only = 1");
    let view = running.until("it follows again", |view| view.phase == FollowPhase::Following);
    assert_eq!(view.reconnects, 1);
    look_up(&mut active, 200, "/* 1 */");
    // The same statements as before its death are sent again: its pool is cold.
    let view = running.until("it sends again", |view| view.counts.sent >= before + 60);
    assert!(view.counts.records > view.counts.sent);

    pair.standby.sql("SET GLOBAL read_only = 0");
    let view = running.until("it is promoted", |view| view.phase == FollowPhase::Promoted);
    let asked = pair.standby.sql("SHOW GLOBAL STATUS LIKE 'Com_select'");
    look_up(&mut active, 50, "/* 3 */");
    running.until("what comes is dropped", |v| v.counts.unsent >= view.counts.unsent + 100);
    let last = running.end();
    assert_eq!(last.counts.sent, view.counts.sent, "nothing more is sent");
    let count = |text: &str| text.split('\t').nth(1).unwrap().parse::<u64>().unwrap();
    let since = count(&pair.standby.sql("SHOW GLOBAL STATUS LIKE 'Com_select'")) - count(&asked);
    assert!(since < 60, "only our own looks whether it is read-only: {since}");
}

#[test]
fn what_is_too_old_is_skipped() {
    let pair = pair();
    let limits = StandbyLimits { max_lag_s: 5.0, ..StandbyLimits::default() };
    let source = FollowSource::File(pair.log.clone());
    let plan = FollowPlan { behind: Nanos(1_000_000_000), limits, ..plan(source) };
    let running = Follow::start(plan, pair.standby.target());
    // The standby hangs: each statement waits for a lock on the table until its limit.
    let mut blocker = open(&pair.standby);
    blocker.run_command("LOCK TABLES shop.orders WRITE").unwrap();
    let mut active = open(&pair.active);
    look_up(&mut active, 40, "/* while it hangs */");
    sleep(2_300);
    blocker.run_command("UNLOCK TABLES").unwrap();
    let view = running.until("the old ones are dropped", |v| v.counts.skipped > 200);
    assert!(view.counts.sent < 100, "{:?}", view.counts);
    look_up(&mut active, 200, "/* now */");
    let now = running.until("it is at now", |v| v.counts.sent >= view.counts.sent + 60);
    assert!(now.behind_s < 1.0, "{}", now.behind_s);
    running.end();
}

#[test]
fn roles_are_swapped_with_a_mirror() {
    let pair = pair();
    let servers = [&pair.active, &pair.standby];
    for server in servers {
        server.sql("SET GLOBAL log_output = 'TABLE', slow_query_log = 1, long_query_time = 0");
    }
    let (one, other) = (pair.active.target().clone(), pair.standby.target().clone());
    let plan = FollowPlan {
        active: Some(one.clone()),
        mirror: Some(FollowSource::Server(other.clone())),
        ..plan(FollowSource::Server(one.clone()))
    };
    let running = Follow::start(plan, &other);
    look_up(&mut open(&pair.active), 200, "/* there */");
    running.until("it sends", |view| view.counts.sent >= 60);
    pair.standby.sql("SET GLOBAL read_only = 0");
    let view = running.until("it waits", |view| view.phase == FollowPhase::Swapping);
    assert_eq!(view.swaps, 0);
    pair.active.sql("SET GLOBAL read_only = 1");
    let view =
        running.until("it is swapped", |v| v.swaps == 1 && v.phase == FollowPhase::Following);
    assert_eq!((view.standby, view.source), (one.address_text(), other.address_text()));
    sleep(400);
    look_up(&mut open(&pair.standby), 200, "/* here now */");
    running.until("it sends the other way", |v| v.counts.sent >= view.counts.sent + 60);
    running.end();
}

#[test]
fn a_server_that_is_not_read_only_gets_nothing() {
    let server = fixture::mariadb();
    let source = FollowSource::File(PathBuf::from("/nowhere/slow.log"));
    let (clock, stop) = (RealClock::start_now(), Stop::new());
    let error = run_follow(&plan(source.clone()), server.target(), clock, &stop, &mut |_| {});
    let error = error.expect_err("it refuses").to_string();
    assert!(error.contains("is not read-only") && error.contains("hint: "), "{error}");
    // One that is, waits for a source that is not there, and says so.
    server.sql("SET GLOBAL read_only = 1");
    let running = Follow::start(plan(source), server.target());
    let view = running.until("the source is missed", |view| view.source_gone.is_some());
    assert!(view.source_gone.unwrap().contains("/nowhere/slow.log"));
    running.end();
}

#[test]
fn what_could_do_harm_is_refused_before_anything_is_sent() {
    let log = [("slow_query_log", "ON"), ("slow_query_log_file", "slow.log")];
    let server = fixture::with(&log);
    server.sql("SET GLOBAL read_only = 1");
    let target = server.target();
    let why = |plan: FollowPlan| {
        let (clock, stop) = (RealClock::start_now(), Stop::new());
        let error = run_follow(&plan, target, clock, &stop, &mut |_| {});
        format!("{:#}", error.expect_err("it refuses"))
    };
    let nowhere = || plan(FollowSource::File(PathBuf::from("/nowhere/slow.log")));
    let root = why(FollowPlan { may_write: false, ..nowhere() });
    assert!(root.contains("could write"), "{root}");
    let itself = why(FollowPlan { active: Some(target.clone()), ..nowhere() });
    assert!(itself.contains("the server that the statements came from"), "{itself}");
    let own = server.sandbox.datadir().join("slow.log");
    let back = why(plan(FollowSource::File(own)));
    assert!(back.contains("own log"), "{back}");
}
